"""The jinja2 environment and where its templates lie."""

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import jinja2

from tilegen.errors import TilegenError


def template_folder() -> Path:
    """The templates of a checkout, else those of the installed package."""
    checkout = Path(__file__).parents[2] / "templates"
    if checkout.is_dir():
        return checkout
    packaged = Path(str(resources.files("tilegen") / "templates"))
    if packaged.is_dir():
        return packaged
    raise TilegenError(f"templates are neither in {checkout} nor in {packaged}: reinstall tilegen")


def environment(folder: Path) -> jinja2.Environment:
    """Templates print what they are given: nothing undefined, no stray blank lines."""
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    found.filters["tuple"] = python_tuple
    return found


def python_tuple(names: Sequence[str]) -> str:
    """Names as a tuple of strings."""
    text = ", ".join(f'"{name}"' for name in names)
    return f"({text},)" if len(names) == 1 else f"({text})"
