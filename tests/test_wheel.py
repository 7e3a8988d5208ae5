"""The wheel holds what an installed tilegen needs: templates, starter specs, the catalogue."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    (built,) = folder.glob("*.whl")
    return built


def test_modules_run_the_kernels_of_the_wheel(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = (
        "import sys, torch\n"
        "from tilegen.integrations import nn\n"
        "nn.RMSNorm(8)(torch.ones(2, 8)).sum().backward()\n"
        "print('tilegen.kernels.rmsnorm' in sys.modules, 'generated' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert run.stdout == "True False\n"


def test_the_wheel_holds_templates_and_kernels(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())

    def held(source: str, place: str, *patterns: str) -> set[str]:
        files = {file for pattern in patterns for file in (ROOT / source).rglob(pattern)}
        assert files
        return {f"{place}/{file.relative_to(ROOT / source).as_posix()}" for file in files}

    expected = held("tilegen", "tilegen", "*.py")
    expected |= held("templates", "tilegen/templates", "*.jinja", "*.py")
    expected |= held("generated", "tilegen/kernels", "*.py", "*.json")
    assert expected <= names
    extra = {name for name in names - expected if ".dist-info/" not in name}
    assert extra <= {"tilegen/py.typed"}
