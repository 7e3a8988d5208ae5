"""A small project of a user's, and the command line run in it."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tilegen.cli import main

SCALE = """\
from tilegen import M, N, Tensor, Value, elementwise


@elementwise
def scale(x: Tensor[M, N], weight: Tensor[N]) -> Value:
    \"\"\"Scale each column.\"\"\"
    return x * weight
"""

TOTAL = """\
from tilegen import M, N, Tensor, Value, rowwise, sum


@rowwise(grad=False)
def total(x: Tensor[M, N]) -> Value:
    \"\"\"Add each row up.\"\"\"
    return sum(x)
"""


@dataclass(frozen=True)
class Outcome:
    """What a run of the command line left."""

    status: int
    out: str
    err: str


@dataclass(frozen=True)
class Project:
    """A project folder; the working folder while a test runs."""

    folder: Path

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def contents(self, folder: str = "generated") -> dict[str, tuple[bytes, int]]:
        """Every file with its bytes and the time it was written."""
        return {
            file.name: (file.read_bytes(), file.stat().st_mtime_ns)
            for file in sorted((self.folder / folder).glob("*"))
            if file.is_file()
        }


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Two specs in `specs`, nothing built."""
    monkeypatch.chdir(tmp_path)
    made = Project(tmp_path)
    made.write("pyproject.toml", "")
    made.write("specs/scale.py", SCALE)
    made.write("specs/total.py", TOTAL)
    return made


@pytest.fixture
def tilegen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    """Run `tilegen` with these arguments."""

    def run(*arguments: str) -> Outcome:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["tilegen", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        said = capsys.readouterr()
        return Outcome(int(stopped.value.code or 0), said.out, said.err)

    return run


@pytest.fixture(scope="session")
def _built_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The modules of the two specs, built once for all tests."""
    from tilegen.folder import build_folder
    from tilegen.targets import TARGETS

    folder = tmp_path_factory.mktemp("built")
    for name, text in {
        "pyproject.toml": "",
        "specs/scale.py": SCALE,
        "specs/total.py": TOTAL,
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    build_folder(folder / "specs", folder / "generated", TARGETS)
    return folder


@pytest.fixture
def built(project: Project, _built_once: Path) -> Project:
    """The project, built."""
    shutil.copytree(_built_once / "generated", project.folder / "generated")
    return project
