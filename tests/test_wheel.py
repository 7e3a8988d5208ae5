"""The wheel holds what an installed tilegen needs: templates, starter specs, the catalogue."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_wheel_holds_templates_and_kernels(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
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
