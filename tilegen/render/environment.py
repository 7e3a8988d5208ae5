"""The jinja2 environment."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import jinja2

from tilegen.families.program import names_text
from tilegen.schedule.demand import works


@cache
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
    found.filters["literal"] = _literal
    return found


def _literal(value: object) -> str:
    """Return a Python literal on one line: floats as 4.27e12, integers as 65_536."""
    if jinja2.is_undefined(value):
        return str(value)  # raises, and names the key
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_literal(key)}: {_literal(value[key])}' for key in value)}}}"
    if isinstance(value, tuple):
        items = ", ".join(map(_literal, value))
        return f"({items},)" if len(value) == 1 else f"({items})"
    if isinstance(value, float) and abs(value) >= 1e6:
        mantissa, exponent = f"{value:.9e}".split("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    return f"{value:_}" if isinstance(value, int) and value >= 10_000 else repr(value)
