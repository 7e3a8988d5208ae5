"""The jinja2 environment."""

from pathlib import Path

import jinja2

from tilegen.families.program import names_text
from tilegen.schedule.demand import works


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
    found.filters["tuple"] = names_text
    found.filters["works"] = works
    return found
