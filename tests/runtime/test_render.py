import ast
import subprocess
import sys
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from tilegen.render.runtime import render_runtime

from .conftest import ROOT, target_rows


def test_ruff_finds_nothing(sample_folder: Path) -> None:
    path = sample_folder / "generated_sample" / "_runtime.py"
    command = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--no-cache",
        "--config",
        ROOT / "pyproject.toml",
    ]
    result = subprocess.run([*command, path], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


def test_mypy_finds_nothing_outside_jit_functions(sample_folder: Path) -> None:
    path = sample_folder / "generated_sample" / "_runtime.py"
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", ROOT / "pyproject.toml"]
    result = subprocess.run([*command, path], capture_output=True, text=True)
    first = first_jit_line(path.read_text())
    lines = [line for line in result.stdout.splitlines() if ": error:" in line]
    assert [line for line in lines if int(line.split(":")[1]) < first] == []


def first_jit_line(text: str) -> int:
    """Return where the helpers begin: after them there is nothing but jit functions and Philox."""
    return text[: text.index("# --- Helpers")].count("\n")


def test_imports_only_torch_triton_and_the_standard_library(runtime_text: str) -> None:
    roots = set()
    for node in ast.walk(ast.parse(runtime_text)):
        if isinstance(node, ast.Import):
            roots |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            roots.add((node.module or "").split(".")[0])
    assert roots - set(sys.stdlib_module_names) == {"torch", "triton"}


def test_imports_stand_in_one_block(runtime_text: str) -> None:
    body = ast.parse(runtime_text).body
    imports = [at for at, node in enumerate(body) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert imports == list(range(1, 1 + len(imports)))
    assert ast.get_docstring(ast.parse(runtime_text))


def test_rows_keep_their_values(runtime, runtime_text: str) -> None:
    for row, rendered in zip(target_rows(), runtime.TARGETS, strict=True):
        for name in ("name", "capability", "bandwidth", "l2_bytes", "device_names"):
            assert getattr(rendered, name) == row[name]


def test_a_row_without_a_fact_is_refused() -> None:
    row = target_rows()[0]
    del row["bandwidth"]
    with pytest.raises(UndefinedError, match="bandwidth"):
        render_runtime([row], ROOT / "templates")


def test_parts_are_short() -> None:
    parts = list((ROOT / "templates" / "runtime").glob("*.jinja"))
    assert parts
    assert {
        part.name: lines for part in parts if (lines := part.read_text().count("\n")) > 350
    } == {}
