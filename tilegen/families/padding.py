"""What padded lanes of a tile hold, so that a reduction masks only where it must."""

import math
from collections.abc import Iterable
from typing import Final

from tilegen.families import online
from tilegen.ir.graph import Node, topological
from tilegen.ir.ops import TABLE


def padding(node: Node, others: dict[Node, float], columns: tuple[str, ...]) -> float | None:
    """The value in padded columns, or None where it is not known.

    A row whose statistics are not finite gives NaN or infinity in its real columns too, so a
    known 0 or -inf is taken to survive a product with, or the subtraction of, a row's statistic,
    and a 0 a product with what is finite where statistics are.
    """
    if node.op == "const":
        return float(node.attrs["value"])
    if not set(node.dims) & set(columns):
        return None
    if node.op == "load":
        # One that lacks a column has real values where only that column is padded.
        return others.get(node, 0.0) if set(columns) <= set(node.dims) else None
    if node.op == "cast":
        return padding(node.args[0], others, columns)
    if node.op not in TABLE:
        return None
    known = [padding(arg, others, columns) for arg in node.args]
    if None not in known:
        try:
            return float(TABLE[node.op].fold(*known))
        except (ArithmeticError, ValueError, TypeError):
            return None
    first, second = known[0], known[-1]
    if node.op == "mul" and (
        (first == 0.0 and _finite(node.args[1], others, columns))
        or (second == 0.0 and _finite(node.args[0], others, columns))
    ):
        return 0.0
    of_row = not set(node.args[-1].dims) & set(columns)
    if node.op == "div" and first == 0.0 and of_row:
        return 0.0
    return -math.inf if node.op in ("sub", "add") and first == -math.inf and of_row else None


#: Ops whose results are finite, as far as these exponents reach, where their arguments are.
_FINITE: Final = (
    "add", "sub", "mul", "neg", "abs", "maximum", "minimum", "clamp", "where", "cast", "tanh",
    "sigmoid", "erf", "sin", "cos", "floor", "round", *(op.name for op in TABLE.values() if op.result == "bool"),
)  # fmt: skip


def _finite(node: Node, others: dict[Node, float], columns: tuple[str, ...]) -> bool:
    """Whether a value is finite in padded columns, if the statistics of its row are."""
    if node.op == "const" or not set(node.dims) & set(columns):
        return True
    known = padding(node, others, columns)
    if known is not None:
        return math.isfinite(known)
    if node.op == "load":
        return True  # real values: they reach the real columns too
    if node.op == "div" and not set(node.args[1].dims) & set(columns):
        return _finite(node.args[0], others, columns)
    return node.op in _FINITE and all(_finite(arg, others, columns) for arg in node.args)


def choose_others(roots: Iterable[Node], columns: tuple[str, ...]) -> dict[Node, float]:
    """What each load gives in padded columns: 0, or -inf where that saves a mask."""
    nodes = topological(tuple(roots))
    reductions = [node for node in nodes if node.op == "reduce"]
    # A guarded load gives 0 out of range, which is no padded lane.
    loads = [
        node
        for node in nodes
        if node.op == "load" and node.dtype.kind == "float" and not node.attrs.get("guarded")
    ]
    others = dict.fromkeys(loads, 0.0)

    def masks(candidate: dict[Node, float]) -> int:
        return sum(
            padding(node.args[0], candidate, columns) != online.TABLE[node.attrs["monoid"]].identity
            for node in reductions
        )

    for load in loads:
        trial = {**others, load: -math.inf}
        if masks(trial) < masks(others):
            others = trial
    return others
