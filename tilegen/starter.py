"""Starter specs: one commented spec of each family, to change into one's own."""

import keyword
import re
from pathlib import Path

from tilegen.errors import TilegenError
from tilegen.paths import template_folder


def families() -> tuple[str, ...]:
    """The families that have a starter spec."""
    return tuple(sorted(file.stem for file in _folder().glob("*.py")))


def write_starter(family: str, name: str, folder: Path) -> Path:
    """Write the starter spec of a family as `folder/name.py`; the path.

    Raises:
        TilegenError: there is no such family, `name` is no name of an op, or the file exists.
    """
    if family not in families():
        raise TilegenError(f"unknown family {family!r}: there are {', '.join(families())}")
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
        raise TilegenError(f"{name!r} is no name for an op: use a Python identifier")
    from tilegen.render.reserved import is_reserved  # what follows it takes long to load

    if is_reserved(name, template_folder()):
        raise TilegenError(f"an op cannot be called {name!r}: modules need the name themselves")
    path = folder / f"{name}.py"
    if path.exists():
        raise TilegenError(f"{path} exists: choose another name")
    text = (_folder() / f"{family}.py").read_text(encoding="utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(re.sub(r"\bstarter\b", name, text), encoding="utf-8")
    return path


def _folder() -> Path:
    return template_folder() / "starters"
