"""What the README says is so: its code is the repository's, its commands exist, its example runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from tilegen.cli import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
PYTHON = [text for language, text in BLOCKS if language == "python"]
SHELL = [text for language, text in BLOCKS if language == "console"]
COMMANDS = re.findall(
    r"tilegen [a-z]+[^`\n]*", "\n".join(SHELL + re.findall(r"`([^`\n]+)`", README))
)


def test_the_spec_is_the_repositorys() -> None:
    assert PYTHON[0] in (ROOT / "specs/rmsnorm.py").read_text(encoding="utf-8")


def test_the_excerpt_is_the_repositorys() -> None:
    module = (ROOT / "generated/rmsnorm.py").read_text(encoding="utf-8")
    assert PYTHON[1] in module, "copy the excerpt anew from generated/rmsnorm.py"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_exists_with_its_options(command: str) -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    _, name, *rest = command.split()
    assert name in commands
    known = {option for param in commands[name].params for option in param.opts}
    for option in rest:
        assert not option.startswith("--") or option in known


def test_every_command_is_in_the_table() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert {
        row.split()[1] for row in re.findall(r"^\| `(tilegen [^`]+)`", README, re.MULTILINE)
    } == (set(commands))


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^\$ make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_links_lead_somewhere() -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", README):
        assert link.startswith("https://") or (ROOT / link).exists(), link


def test_names_of_the_language_table_exist() -> None:
    import tilegen

    table = README.split("## The language")[1].split("##")[0]
    spoken = {word for cell in re.findall(r"`([^`]+)`", table) for word in re.findall(r"\w+", cell)}
    functions = {name for name in tilegen.__all__ if callable(getattr(tilegen, name))}
    lower = {name for name in functions if name.islower()}
    assert lower <= spoken, "not in the README's table"


@pytest.mark.parametrize("example", [e for e in PYTHON if "tilegen.integrations" in e])
def test_an_example_of_training_runs(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(example, {})
    assert capsys.readouterr().out in ("", "1: SiLU\n2: LayerNorm\n")


def test_the_example_of_a_project_runs(tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/softplus_bias.py").write_text(PYTHON[2])
    (tmp_path / "use.py").write_text(PYTHON[3] + "assert y.shape == (2, 128, 512)\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("TRITON_INTERPRET", None)
    lines = [line.removeprefix("$ tilegen ").split() for line in SHELL[1].splitlines()]
    for command in (["-m", "tilegen", *lines[0]], ["use.py"]):
        run = subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
