"""The jinja2 environment."""

from collections.abc import Sequence
from pathlib import Path

import jinja2


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
    found.filters["total"] = "{}.total".format
    return found


def python_tuple(names: Sequence[str]) -> str:
    """Names as a tuple of strings."""
    text = ", ".join(f'"{name}"' for name in names)
    return f"({text},)" if len(names) == 1 else f"({text})"
