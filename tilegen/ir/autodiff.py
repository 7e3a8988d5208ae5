"""Reverse mode over a graph: the gradient of a traced spec, as a graph of its own.

A value's gradient is the sum of what its users pass back. Where a user has dimensions that the
value lacks, the value was broadcast along them, and the gradient is summed over them; what a
reduction passes back has fewer dimensions than its operand, and broadcasts. Pointwise ops have
their gradients in the op table; the few others are in `_STRUCTURAL`.

The graph starts from the forward's operands, and computes again what it needs of the forward;
`ir/saving.py` then replaces some of that by loads of what the forward saved.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from tilegen import errors
from tilegen.ir import types
from tilegen.ir.build import Builder
from tilegen.ir.derivatives import of_argument
from tilegen.ir.graph import DimInfo, Graph, Node, Operand, Output
from tilegen.ir.products import of_factors
from tilegen.ir.types import DType

Passed = Iterator[tuple[Node, Node]]
"""Arguments of a node, and the gradient that it passes to each."""


@dataclass(frozen=True, slots=True)
class Gradient:
    """The gradient of a graph.

    Attributes:
        graph: from operands, and from the upstream gradient of each output, to gradients.
        upstream: the operand that holds the upstream gradient of each output that has one.
        results: for each differentiated operand the name of its gradient: an output of the graph,
            or an upstream gradient that is passed on as it is; empty if it is zero.
    """

    graph: Graph
    upstream: Mapping[str, str]
    results: Mapping[str, str]


def differentiable(graph: Graph) -> tuple[str, ...]:
    """The operands that a gradient can have: those of a floating type."""
    return tuple(o.name for o in graph.operands if types.computed(o.dtype).kind == "float")


def gradient(graph: Graph, wanted: tuple[str, ...]) -> Gradient:
    """Differentiate the floating outputs of a graph by these operands."""
    used = {o.name for o in graph.operands} | {o.name for o in graph.outputs}
    used |= {param.name for param in graph.params}
    dims = dict(graph.dims)
    reverse = _Reverse(Builder(dims))
    upstream: dict[str, str] = {}
    operands: list[Operand] = []
    for output in graph.outputs:
        if output.value.dtype.kind == "float":
            name = _free(f"grad_{output.name}", used)
            upstream[output.name] = name
            operands.append(Operand(name, output.stored, types.real))
            if any("One" in group for group in output.stored):
                dims.setdefault("One", DimInfo("One", 1))
            reverse.add(output.value, _upstream(reverse.build, operands[-1]), ())
    reverse.run(graph)
    loads = {node.attrs["tensor"]: node for node in graph.nodes if node.op == "load"}
    stored = {operand.name: operand.stored for operand in operands}
    results: dict[str, str] = {}
    outputs: list[Output] = []
    for name in wanted:
        operand, value = graph.operand(name), reverse.total(loads[name])
        if value is None:
            results[name] = ""
        elif value.op == "load" and stored.get(value.attrs["tensor"]) == operand.stored:
            results[name] = value.attrs["tensor"]
        else:
            value = reverse.build.expand(value, graph.ordered(operand.dims))
            known = next((o for o in outputs if _alike(o.value, value)), None)
            if known is None:
                called = _free(f"grad_{name}", used)
                known = Output(called, value, operand.stored, _stored_type(operand), optional=True)
                outputs.append(known)
            results[name] = known.name
    whole = Graph(graph.name, dims, (*graph.operands, *operands), graph.params, tuple(outputs))
    return Gradient(whole, upstream, results)


def _alike(one: Node, other: Node) -> bool:
    """Whether two values are one under two names."""
    return (one.op, one.args, one.attrs) == (other.op, other.args, other.attrs)


def _free(wish: str, used: set[str]) -> str:
    name, count = wish, 2
    while name in used:
        name, count = f"{wish}_{count}", count + 1
    used.add(name)
    return name


def _stored_type(operand: Operand) -> DType:
    return operand.dtype if operand.dtype.bits else types.like(operand.name, "float")


def _upstream(build: Builder, operand: Operand) -> Node:
    """The upstream gradient of an output, in the dimensions of its value."""
    positions = tuple(
        build.const(0) if dim == "One" else build.index(dim) for dim in operand.dims
    )  # fmt: skip
    attrs = {"tensor": operand.name, "dims": operand.dims}
    return Node("load", positions, build.union(*positions), dtype=types.real, attrs=attrs)


class _Reverse:
    """Gradients of nodes, from the outputs backwards."""

    def __init__(self, build: Builder) -> None:
        self.build = build
        #: What was passed to a node so far, by the dimensions along which it was broadcast.
        self.passed: dict[Node, dict[tuple[str, ...], Node]] = {}
        self.totals: dict[Node, Node | None] = {}

    def add(self, node: Node, gradient: Node, broadcast: tuple[str, ...]) -> None:
        """Pass a gradient to a node, which its user broadcast along these dimensions."""
        parts = self.passed.setdefault(node, {})
        known = parts.get(broadcast)
        parts[broadcast] = self.build.op("add", known, gradient) if known else gradient

    def total(self, node: Node) -> Node | None:
        """The gradient of a node, once all its users have passed theirs; None if it has none."""
        if node not in self.totals:
            self.totals[node] = self._total(node)
        return self.totals[node]

    def _total(self, node: Node) -> Node | None:
        total = None
        for broadcast, value in self.passed.get(node, {}).items():
            part = self._summed(value, broadcast)
            total = self.build.op("add", total, part) if total else part
        if total is not None and node.name and total.op not in ("load", "const", "param"):
            total = replace(total, name=f"grad_{node.name}", span=node.span)
        return total

    def _summed(self, value: Node, broadcast: tuple[str, ...]) -> Node:
        """A gradient summed over the dimensions of a broadcast, along some of which it is one."""
        build = self.build
        over = tuple(dim for dim in broadcast if dim in value.dims)
        alike = tuple(dim for dim in broadcast if dim not in value.dims)
        if over:
            value = build.reduce("sum", value, over)
        return build.op("mul", value, build.real_count(alike)) if alike else value

    def run(self, graph: Graph) -> None:
        """Pass gradients from the outputs to the loads."""
        varies: set[Node] = set()  # what depends on a tensor at all
        for node in graph.nodes:
            if node.op == "load" or varies & set(node.args):
                varies.add(node)
        for node in reversed(graph.nodes):
            upstream = self.total(node) if node.dtype.kind == "float" else None
            if upstream is None:
                continue
            build = replace(self.build, span=node.span)
            for arg, gradient in _passed(build, node, upstream):
                if arg not in varies or arg.dtype.kind != "float":
                    continue
                self.add(arg, gradient, self._broadcast(arg, node))

    def _broadcast(self, arg: Node, user: Node) -> tuple[str, ...]:
        """The dimensions along which a user broadcasts its argument; a stack makes a new one.

        What a product passes is summed over them already.
        """
        if user.op == "contract":
            return ()
        new = {user.attrs["dim"]} if user.op == "stack" else set()
        return tuple(d for d in self.build.dims if d in set(user.dims) - set(arg.dims) - new)


def _passed(build: Builder, node: Node, upstream: Node) -> Passed:
    """What a node passes to those of its arguments that have a gradient.

    A gradient may lack dimensions of the node: it is the same along them.
    """
    rule = next((rule for holds, rule in _PATTERNS if holds(node)), _STRUCTURAL.get(node.op))
    if rule is not None:
        yield from rule(build, node, upstream)
        return
    for position, arg in enumerate(node.args):
        passed = of_argument(build, node, position, upstream) if arg.dtype.kind == "float" else None
        if passed is not None:
            yield arg, passed


# ---- what is not pointwise, or has a better gradient as a whole ---------------------------------


def _cast(build: Builder, node: Node, upstream: Node) -> Passed:
    yield node.args[0], upstream


def _nothing(build: Builder, node: Node, upstream: Node) -> Passed:
    yield from ()


def _stack(build: Builder, node: Node, upstream: Node) -> Passed:
    for position, part in enumerate(node.args):
        yield part, _taken(build, upstream, build.const(position), node.attrs["dim"])


def _taken(build: Builder, x: Node, position: Node, dim: str) -> Node:
    """x at a position along a dimension; itself if it is the same everywhere."""
    if dim not in x.dims:
        return x
    wanted = {*position.dims, *(name for name in x.dims if name != dim)}
    dims = tuple(name for name in build.dims if name in wanted)
    return Node("take", (x, position), dims, dtype=x.dtype, attrs={"dim": dim})


def _take(build: Builder, node: Node, upstream: Node) -> Passed:
    """The gradient goes where the position points to; the sums over equal positions follow.

    Positions along the dimension itself that are a shift or a reversal are undone instead.
    """
    (x, position), dim = node.args, node.attrs["dim"]
    if dim not in position.dims:
        here = build.op("eq", build.index(dim), position)
        yield x, build.op("where", here, upstream, build.const(0.0))
        return
    source = _solved(build, position, dim, build.index(dim))
    if source is None:
        raise errors.Unschedulable(
            f"the gradient of a take along {dim} at positions along it", node.span,
            f"use index({dim}) once, plus, minus or from something that is the same along {dim}; "
            "or give the positions a dimension of their own; or switch gradients off: grad=False",
        )  # fmt: skip
    along = build.expand(upstream, build.union(upstream, source))
    yield x, _taken(build, along, source, dim)


def _solved(build: Builder, value: Node, dim: str, target: Node) -> Node | None:
    """The position along a dimension at which a value equals a target; None if hard to say."""
    if value.op == "index":
        return target
    sides = value.args if value.op in ("add", "sub", "neg") else ()
    varying = [side for side in sides if dim in side.dims]
    if len(varying) != 1:
        return None
    inner, rest = varying[0], [side for side in sides if side is not varying[0]]
    if value.op == "neg":
        target = build.op("neg", target)
    elif value.op == "add" or inner is sides[1]:
        left, right = (target, rest[0]) if value.op == "add" else (rest[0], target)
        target = build.op("sub", left, right)
    else:
        target = build.op("add", target, rest[0])
    return _solved(build, inner, dim, target)


def _reduce(build: Builder, node: Node, upstream: Node) -> Passed:
    x = node.args[0]
    made = _REDUCTIONS.get(node.attrs["monoid"])
    if made is not None:
        yield x, made(build, node, upstream)


def _mean(build: Builder, node: Node, upstream: Node) -> Node:
    return build.op("div", upstream, build.real_count(node.attrs["over"]))


def _extreme(build: Builder, node: Node, upstream: Node) -> Node:
    """Elements that tie share the gradient evenly, as those of `amax` do."""
    ties = build.op("eq", node.args[0], node)
    share = build.op("where", ties, build.const(1.0), build.const(0.0))
    count = build.reduce("sum", share, node.attrs["over"])
    return build.op("where", ties, build.op("div", upstream, count), build.const(0.0))


def _variance(build: Builder, node: Node, upstream: Node) -> Node:
    x, over = node.args[0], node.attrs["over"]
    count = build.real_count(over, node.attrs["correction"])
    slope = build.op("div", build.op("mul", build.const(2.0), upstream), count)
    mean = replace(build.reduce("mean", x, over), name="row_mean")
    return build.op("mul", slope, build.op("sub", x, mean))


def _logsumexp(build: Builder, node: Node, upstream: Node) -> Node:
    return build.op("mul", upstream, build.op("exp", build.op("sub", node.args[0], node)))


_REDUCTIONS: Mapping[str, Callable[[Builder, Node, Node], Node]] = {
    "sum": lambda build, node, upstream: upstream,
    "mean": _mean,
    "max": _extreme,
    "min": _extreme,
    "variance": _variance,
    "logsumexp": _logsumexp,
}


def _state(build: Builder, node: Node, upstream: Node) -> Passed:
    """States of a log-sum-exp: the maximum m, and the sum l of exp(x - m).

    A result that is made of both does not depend on m, so m has no gradient, and is a constant to l.
    """
    reduction = node.args[0]
    if node.attrs["position"] == 1:
        shifted = build.op("sub", reduction.args[0], build.state(reduction, 0))
        yield reduction.args[0], build.op("mul", upstream, build.op("exp", shifted))


_STRUCTURAL: Mapping[str, Callable[[Builder, Node, Node], Passed]] = {
    "load": _nothing,
    "detach": _nothing,
    "uniform": _nothing,
    "cast": _cast,
    "narrow": _cast,
    "stack": _stack,
    "take": _take,
    "reduce": _reduce,
    "contract": of_factors,
    "state": _state,
}


def softmax_of(node: Node) -> Node | None:
    """The log-sum-exp whose states m and l make a node a softmax, exp(x - m) / l; else None.

    Where nothing is visible, l is 1 in place of 0.
    """
    if node.op != "div" or node.args[0].op != "exp" or node.args[0].args[0].op != "sub":
        return None
    x, top = node.args[0].args[0].args
    total = node.args[1].args[2] if node.args[1].op == "where" else node.args[1]
    states = top.op == total.op == "state" and (top.attrs["position"], total.attrs["position"]) == (
        0,
        1,
    )
    if not states or top.args[0] is not total.args[0] or top.args[0].args[0] is not x:
        return None
    return top.args[0]


def _softmax(build: Builder, node: Node, upstream: Node) -> Passed:
    """The gradient of a softmax needs nothing but its result."""
    reduction = softmax_of(node)
    assert reduction is not None
    along = build.op("mul", upstream, node)
    shift = build.reduce("sum", along, reduction.attrs["over"])
    yield reduction.args[0], build.op("mul", node, build.op("sub", upstream, shift))


def _square(build: Builder, node: Node, upstream: Node) -> Passed:
    yield node.args[0], build.op("mul", build.op("mul", build.const(2.0), upstream), node.args[0])


_PATTERNS: tuple[tuple[Callable[[Node], bool], Callable[[Builder, Node, Node], Passed]], ...] = (
    (lambda node: softmax_of(node) is not None, _softmax),
    (lambda node: node.op == "mul" and node.args[0] is node.args[1], _square),
)
