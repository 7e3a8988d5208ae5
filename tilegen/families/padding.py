"""What padded lanes of a tile hold, so that a reduction masks only where it must."""

import math
from collections.abc import Iterable

from tilegen.families import online
from tilegen.ir.graph import Node, topological
from tilegen.ir.ops import TABLE


def padding(node: Node, others: dict[Node, float], columns: tuple[str, ...]) -> float | None:
    """The value in padded columns, or None where it is not known.

    A row whose statistics are not finite gives NaN or infinity in its real columns too, so a
    known 0 or -inf is taken to survive a product with, or the subtraction of, a row's statistic.
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
    first = known[0]
    if node.op in ("mul", "div") and 0.0 in known[: 1 if node.op == "div" else 2]:
        return 0.0
    if node.op in ("sub", "add") and first == -math.inf and known[1] is None:
        return -math.inf if not set(node.args[1].dims) & set(columns) else None
    return None


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
