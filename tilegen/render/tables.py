"""The tables of configs of a module, which change with what the compiler said of its kernels."""

import re
from collections.abc import Sequence
from typing import Final

from tilegen.paths import template_folder
from tilegen.render.environment import environment
from tilegen.schedule.space import Space

#: From the first row of the first table to the remark above the first kernel of a formatted module.
_TABLES: Final = re.compile(r"^_[A-Z]+_1 = .*?(?=^# )", re.MULTILINE | re.DOTALL)


def render_tables(spaces: Sequence[Space]) -> str:
    """The tables of an op, before they are formatted."""
    return environment(template_folder()).get_template("tables.py.jinja").render(spaces=spaces)


def with_tables(module: str, tables: str) -> str:
    """A formatted module with other tables, formatted as well."""
    return _TABLES.sub(lambda _: tables.rstrip("\n") + "\n\n\n", module, count=1)
