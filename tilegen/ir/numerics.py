"""The rewrites that change a rounding: each with its condition and its reason, in one table.

The register form of a reduction reads a row that a program holds whole; the online form updates
a tuple of states block by block. Both start from the same node.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from tilegen.ir.build import Builder
from tilegen.ir.graph import Graph, Node, Span, rewrite, topological
from tilegen.ir.ops import TABLE
from tilegen.ir.passes import share
from tilegen.ir.types import DType


@dataclass(frozen=True)
class Rewrite:
    """One rewrite: what it does, when it may, and why it is sound."""

    name: str
    condition: str
    reason: str
    apply: Callable[[Graph], Graph]


def recognise_logsumexp(graph: Graph) -> Graph:
    """`sum(exp(x - max(x)))` and that `x - max(x)` read the states of one log-sum-exp over x."""
    found = {
        node.args[0].args[0]
        for node in graph.nodes
        if node.op == "reduce"
        and node.attrs["monoid"] == "sum"
        and node.args[0].op == "exp"
        and _below_maximum(node.args[0].args[0]) == node.attrs["over"]
    }
    shifted = {(node.args[0], node.args[1].attrs["over"]) for node in found}

    def rule(node: Node) -> Node | None:
        build = Builder(graph.dims, node.span)
        if _below_maximum(node) and (node.args[0], node.args[1].attrs["over"]) in shifted:
            x, largest = node.args
            reduction = build.reduce("logsumexp", x, largest.attrs["over"])
            return replace(node, args=(x, build.state(reduction, 0)))
        if node.op != "reduce" or node.attrs["monoid"] != "sum" or node.args[0].op != "exp":
            return None
        difference = node.args[0].args[0]
        top = difference.args[1] if difference.op == "sub" else None
        if top is None or top.op != "state" or top.args[0].attrs["over"] != node.attrs["over"]:
            return None
        return build.state(top.args[0], 1) if difference.args[0] is top.args[0].args[0] else None

    return share(rewrite(graph, rule))


def _below_maximum(node: Node) -> tuple[str, ...]:
    """The dimensions of the maximum in `x - max(x)`; none if the node is something else."""
    if node.op != "sub" or node.args[1].op != "reduce":
        return ()
    x, top = node.args
    is_maximum = top.attrs["monoid"] == "max" and top.args[0] is x
    over: tuple[str, ...] = top.attrs["over"]
    return over if is_maximum else ()


def share_moments(graph: Graph) -> Graph:
    """The mean of a value whose variance is taken too is a state of that variance."""
    corrections = {
        (node.args[0], node.attrs["over"]): node.attrs["correction"]
        for node in graph.nodes
        if node.op == "reduce" and node.attrs["monoid"] == "variance"
    }

    def rule(node: Node) -> Node | None:
        if node.op != "reduce" or node.attrs["monoid"] != "mean":
            return None
        correction = corrections.get((node.args[0], node.attrs["over"]))
        if correction is None:
            return None
        build = Builder(graph.dims, node.span)
        variance = build.reduce("variance", node.args[0], node.attrs["over"], correction=correction)
        return build.state(variance, 0)

    return share(rewrite(graph, rule))


def multiply_by_reciprocals(graph: Graph) -> Graph:
    """A division of every element by one value of its row is a product with its reciprocal."""
    exact = _before_discontinuities(graph)

    def rule(node: Node) -> Node | None:
        if node.op != "div" or node.span in exact or node.dtype.kind != "float":
            return None
        x, divisor = node.args
        if len(divisor.dims) >= len(node.dims) or not _measured(divisor):
            return None
        build = Builder(graph.dims, node.span)
        reciprocal = build.op("div", build.const(1.0), divisor)
        return replace(build.op("mul", x, reciprocal), name=node.name)

    return share(rewrite(graph, rule))


def _before_discontinuities(graph: Graph) -> set[Span | None]:
    """Where values come from that a rounding to integers or fp8, or a comparison, looks at."""
    found: set[Span | None] = set()
    stack = [arg for node in graph.nodes if _is_discontinuous(node) for arg in node.args]
    seen: set[Node] = set()
    while stack:
        node = stack.pop()
        if node not in seen and (node.op in TABLE or node.op == "cast"):
            seen.add(node)
            found.add(node.span)
            stack.extend(node.args)
    return found


def _is_discontinuous(node: Node) -> bool:
    if node.op == "cast":
        to: DType = node.attrs["to"]
        return to.kind != "float" or to.bits == 8
    return node.op in ("round", "floor", "floordiv", "mod") or (
        node.op in TABLE and TABLE[node.op].result == "bool"
    )


def _measured(node: Node) -> bool:
    """Whether a value is made of data, not of parameters alone."""
    return any(part.op in ("reduce", "state", "load") for part in topological((node,)))


def in_registers(graph: Graph) -> Graph:
    """Composite reductions as the plain ones that a row in registers allows.

    mean: sum / count. variance: the mean square of the centred row (two passes over registers,
    more accurate than Welford's). logsumexp: maximum, then the sum of exponentials.
    """

    states: dict[Node, tuple[Node, ...]] = {}

    def rule(node: Node) -> Node | None:
        build = Builder(graph.dims, node.span)
        if node.op == "state":
            position: int = node.attrs["position"]
            return register_states(build, node.args[0], states)[position]
        if node.op != "reduce" or node.attrs["monoid"] != "mean":
            return None
        total = build.reduce("sum", node.args[0], node.attrs["over"])
        return build.op("div", total, build.real_count(node.attrs["over"]))

    return share(_finalise(rewrite(graph, rule), states))


def named(node: Node, name: str) -> Node:
    """The node under a name for its variable."""
    return replace(node, name=name)


def register_states(
    build: Builder, node: Node, states: dict[Node, tuple[Node, ...]]
) -> tuple[Node, ...]:
    """The states of a reduction, by plain reductions over the whole row."""
    if node in states:
        return states[node]
    x, over = node.args[0], node.attrs["over"]
    if node.attrs["monoid"] == "variance":
        count = build.real_count(over)
        mean = named(build.op("div", build.reduce("sum", x, over), count), "row_mean")
        centred = named(build.op("sub", x, mean), "centred")
        states[node] = (mean, build.reduce("sum", build.op("mul", centred, centred), over))
    else:
        top = build.reduce("max", x, over)
        lowest = build.op("eq", top, build.const(-math.inf))
        top = named(build.op("where", lowest, build.const(0.0), top), "row_top")
        exps = build.op("exp", build.op("sub", x, top))
        total = named(build.reduce("sum", exps, over), "row_total")
        states[node] = (top, total)
    return states[node]


def _finalise(graph: Graph, states: dict[Node, tuple[Node, ...]]) -> Graph:
    """What a reduction with a tuple of states gives in the end."""

    def rule(node: Node) -> Node | None:
        if node.op != "reduce" or node.attrs["monoid"] not in ("variance", "logsumexp"):
            return None
        build = Builder(graph.dims, node.span)
        found = register_states(build, node, states)
        return finalised(build, node, found)

    return rewrite(graph, rule)


def finalised(build: Builder, node: Node, states: tuple[Node, ...]) -> Node:
    """The value of a reduction, from its states."""
    if node.attrs["monoid"] == "variance":
        count = build.real_count(node.attrs["over"], node.attrs["correction"])
        return build.op("div", states[1], count)
    top, total = states
    infinite = build.op("eq", top, build.const(math.inf))
    return build.op("where", infinite, top, build.op("add", top, build.op("log", total)))


REWRITES: tuple[Rewrite, ...] = (
    Rewrite(
        "recognise_logsumexp",
        "a sum of exp(x - max(x)) over the same dimensions as the maximum",
        "the online form needs one pass over a wide row instead of two",
        recognise_logsumexp,
    ),
    Rewrite(
        "share_moments",
        "mean and variance of one value over the same dimensions",
        "Welford's states hold the mean",
        share_moments,
    ),
    Rewrite(
        "multiply_by_reciprocals",
        "the divisor is one value for many elements, and no rounding to integers or fp8 and no "
        "comparison follows",
        "a division costs a reciprocal and several products for each element; the product is at "
        "most one unit in the last place further off",
        multiply_by_reciprocals,
    ),
)


def improve(graph: Graph) -> Graph:
    """Run `REWRITES`."""
    for step in REWRITES:
        graph = step.apply(graph)
    return graph
