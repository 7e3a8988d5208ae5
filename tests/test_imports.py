"""Who may import what: building needs no GPU libraries, and each heavy library has its place."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tilegen"

#: Libraries and the parts of tilegen that may import them.
PLACES = {
    "torch": ("toolchain", "integrations"),
    "triton": ("toolchain", "integrations"),
    "transformers": ("integrations",),
    "jinja2": ("render",),
    "sympy": ("analysis", "schedule"),
    "typer": ("cli.py",),
}

MODULES = sorted(PACKAGE.rglob("*.py"))


def imports(tree: ast.AST) -> Iterator[str]:
    """The modules that a file imports, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_a_library_stays_in_its_place(file: Path) -> None:
    part = file.relative_to(PACKAGE).parts[0]
    for name in imports(ast.parse(file.read_text(encoding="utf-8"))):
        places = PLACES.get(name.partition(".")[0])
        assert places is None or part in places, f"{name} belongs in {', '.join(places or ())}"


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_only_the_command_line_reaches_into_the_toolchain(file: Path) -> None:
    part = file.relative_to(PACKAGE).parts[0]
    if part in ("toolchain", "integrations", "cli.py", "__main__.py"):
        return
    for name in imports(ast.parse(file.read_text(encoding="utf-8"))):
        assert not name.startswith(("tilegen.toolchain", "tilegen.integrations", "tilegen.cli"))


#: The packages of the pipeline, each of which may import those before it.
ORDER = ("targets", "ir", "spec", "families", "analysis", "schedule", "render")


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_packages_import_earlier_ones(file: Path) -> None:
    part = file.relative_to(PACKAGE).parts[0]
    if part not in ORDER:
        return
    later = {*ORDER[ORDER.index(part) + 1 :], "build", "modules", "prove", "manifest", "explain"}
    for name in imports(ast.parse(file.read_text(encoding="utf-8"))):
        _, _, own = name.partition("tilegen.")
        assert own.split(".")[0] not in later, name


def test_generated_modules_import_torch_and_triton_only() -> None:
    for file in sorted((ROOT / "generated").glob("[!_]*.py")):
        names = set(imports(ast.parse(file.read_text(encoding="utf-8"))))
        assert names <= {"torch", "triton", "triton.language"}, file.name


def loaded_by(code: str, *unwanted: str) -> set[str]:
    """Those of some libraries that a fresh process has loaded once it ran `code`."""
    script = f"{code}\nimport sys\nprint(*(n for n in {unwanted!r} if n in sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(run.stdout.splitlines()[-1].split())


def test_a_build_loads_neither_torch_nor_triton() -> None:
    code = (
        "import pathlib, tilegen.build, tilegen.folder, tilegen.targets\n"
        "tilegen.folder.check_folder(\n"
        "    pathlib.Path('specs'), pathlib.Path('generated'), tilegen.targets.TARGETS)"
    )
    assert loaded_by(code, "torch", "triton", "numpy") == set()


def test_the_command_line_loads_nothing_heavy() -> None:
    heavy = ("torch", "triton", "sympy", "jinja2", "numpy", "tilegen.build", "rich.progress")
    assert loaded_by("import tilegen.cli", *heavy) == set()


def test_a_build_with_nothing_to_do_loads_nothing_heavy(tmp_path: Path) -> None:
    build = (
        "import pathlib, tilegen.folder, tilegen.targets\n"
        "tilegen.folder.build_folder(pathlib.Path('specs'),\n"
        f"    pathlib.Path({str(tmp_path / 'out')!r}), tilegen.targets.TARGETS)"
    )
    assert loaded_by(build, "jinja2") == {"jinja2"}
    assert loaded_by(build, "torch", "triton", "sympy", "jinja2", "tilegen.build") == set()
