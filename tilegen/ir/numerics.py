"""The rewrites that change a rounding: each with its condition and its reason, in one table.

The register form of a reduction reads a row that a program holds whole; the online form updates
a tuple of states block by block. Both start from the same node.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from tilegen.ir.build import Builder
from tilegen.ir.graph import Graph, Node, Output, Span, rewrite, topological
from tilegen.ir.ops import TABLE
from tilegen.ir.passes import share
from tilegen.ir.types import DType


@dataclass(frozen=True)
class Rewrite:
    """One rewrite: what it does, when it may, and why it is sound.

    Attributes:
        everywhere: whether it serves every schedule; else those that meet the condition ask for it.
    """

    name: str
    condition: str
    reason: str
    apply: Callable[[Graph], Graph]
    everywhere: bool = True


def recognise_logsumexp(graph: Graph) -> Graph:
    """`sum(exp(x - max(x)))` and that `x - max(x)` read the states of one log-sum-exp over x.

    So does a maximum that is saved for a backward: it is subtracted there as it is here.
    """
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

    def saved(output: Output) -> Output:
        top = output.value
        if output.public or top.op != "reduce" or (*top.args, top.attrs["over"]) not in shifted:
            return output
        build = Builder(graph.dims, top.span)
        whole = build.reduce("logsumexp", top.args[0], top.attrs["over"])
        return replace(output, value=replace(build.state(whole, 0), name=top.name))

    graph = replace(graph, outputs=tuple(map(saved, graph.outputs)))
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
        if node not in seen and (node.op in TABLE or node.op in ("cast", "narrow")):
            seen.add(node)
            found.add(node.span)
            stack.extend(node.args)
    return found


def _is_discontinuous(node: Node) -> bool:
    if node.op in ("cast", "narrow"):
        to: DType = node.attrs["to"]
        return to.kind != "float" or to.bits == 8
    return node.op in ("round", "floor", "floordiv", "mod") or (
        node.op in TABLE and TABLE[node.op].result == "bool"
    )


def _measured(node: Node) -> bool:
    """Whether a value is made of data, not of parameters alone."""
    return any(part.op in ("reduce", "state", "load") for part in topological((node,)))


def two_passes(graph: Graph) -> Graph:
    """Variances by the corrected two-pass algorithm (Chan, Golub and LeVeque, 1983).

    The first pass gives a mean m. The second sums x - m and its square: what m is off by is the
    mean of the one, and the other, less the product of both, is the sum of squares around the
    corrected mean. So a constant row has the variance 0 and x - mean(x) = 0, exactly.
    """
    states: dict[Node, tuple[Node, ...]] = {}

    def moments(node: Node) -> tuple[Node, ...]:
        """The mean, and the sum of squares around it."""
        if node not in states:
            states[node] = _two_pass_moments(Builder(graph.dims, node.span), node)
        return states[node]

    def of_state(node: Node) -> Node | None:
        if node.op != "state" or node.args[0].attrs.get("monoid") != "variance":
            return None
        position: int = node.attrs["position"]
        return moments(node.args[0])[position]

    def of_whole(node: Node) -> Node | None:
        if node.op != "reduce" or node.attrs["monoid"] != "variance":
            return None
        return finalised(Builder(graph.dims, node.span), node, moments(node))

    return share(rewrite(rewrite(graph, of_state), of_whole))


def _two_pass_moments(build: Builder, node: Node) -> tuple[Node, Node]:
    x, over = node.args[0], node.attrs["over"]
    count = build.real_count(over)
    rough = named(build.reduce("mean", x, over), "rough_mean")
    sums = build.reduce("deviations", named(build.op("sub", x, rough), "centred"), over)
    rest, squares = build.state(sums, 0), build.state(sums, 1)
    shift = named(build.op("div", rest, count), "shift")
    spread = build.op("sub", squares, build.op("mul", rest, shift))
    # Rounding must not make it negative: a standard deviation of a constant row would be NaN.
    spread = named(build.op("maximum", spread, build.const(0.0)), "row_spread")
    return named(build.op("add", rough, shift), "row_mean"), spread


def in_registers(graph: Graph) -> Graph:
    """Composite reductions as the plain ones that a row in registers allows.

    mean: sum / count. variance: as `two_passes` has it. logsumexp: maximum, then the sum of
    exponentials.
    """
    graph = two_passes(graph)
    states: dict[Node, tuple[Node, Node]] = {}

    def of(node: Node) -> tuple[Node, Node]:
        if node not in states:
            states[node] = _exponentials(Builder(graph.dims, node.span), node)
        return states[node]

    def rule(node: Node) -> Node | None:
        build = Builder(graph.dims, node.span)
        if node.op == "state" and node.args[0].attrs.get("monoid") == "logsumexp":
            position: int = node.attrs["position"]
            return of(node.args[0])[position]
        if node.op != "reduce" or node.attrs["monoid"] != "mean":
            return None
        return mean_of(build, node)

    def finish(node: Node) -> Node | None:
        if node.op != "reduce" or node.attrs["monoid"] != "logsumexp":
            return None
        return finalised(Builder(graph.dims, node.span), node, of(node))

    return share(rewrite(rewrite(graph, rule), finish))


def mean_of(build: Builder, node: Node) -> Node:
    """A mean as the sum over the count."""
    total = build.reduce("sum", node.args[0], node.attrs["over"])
    return build.op("div", total, build.real_count(node.attrs["over"]))


def named(node: Node, name: str) -> Node:
    """The node under a name for its variable."""
    return replace(node, name=name)


def _exponentials(build: Builder, node: Node) -> tuple[Node, Node]:
    """The states of a log-sum-exp, by plain reductions over the whole row."""
    x, over = node.args[0], node.attrs["over"]
    top = build.reduce("max", x, over)
    lowest = build.op("eq", top, build.const(-math.inf))
    top = named(build.op("where", lowest, build.const(0.0), top), "row_top")
    exps = build.op("exp", build.op("sub", x, top))
    return top, named(build.reduce("sum", exps, over), "row_total")


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
        "the states of the variance hold the mean",
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
    Rewrite(
        "two_passes",
        "a schedule that holds a row in registers",
        "more accurate than moments that are updated online; the correction makes constant rows "
        "exact, and its sum shares the reduction of the squares",
        two_passes,
        everywhere=False,
    ),
)


def improve(graph: Graph) -> Graph:
    """Run the `REWRITES` that serve every schedule."""
    for step in REWRITES:
        if step.everywhere:
            graph = step.apply(graph)
    return graph
