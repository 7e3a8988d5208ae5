"""Defaults of a spec's parameters must be values that a call could give."""

from inspect import Parameter
from typing import Any

from tilegen.errors import BadAnnotation
from tilegen.ir.graph import Operand, Param, Span

KINDS: dict[str, type | tuple[type, ...]] = {
    "float": (float, int),
    "int": int,
    "static": int,
    "size": int,
    "bool": bool,
}


def check_default(parameter: Parameter, item: Operand | Param, span: Span | None) -> None:
    """Refuse a default that the parameter's own type does not admit.

    Raises:
        BadAnnotation: it does not.
    """
    default: Any = parameter.default
    if default is parameter.empty or (default is None and item.optional):
        return
    if isinstance(item, Operand):
        fits, wanted = False, "a tensor has no default, or it is `| None` with the default None"
    elif item.kind == "literal":
        fits, wanted = default in item.choices, f"one of {', '.join(map(repr, item.choices))}"
    else:
        # True is an int to Python; here it is a mistake.
        fits = isinstance(default, KINDS[item.kind])
        fits = fits and (item.kind == "bool" or not isinstance(default, bool))
        wanted = "an int" if item.kind in ("int", "static", "size") else f"a {item.kind}"
    if not fits:
        raise BadAnnotation(f"the default of {parameter.name!r} is {default!r}", span, wanted)
