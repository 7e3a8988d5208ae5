"""The passes that every graph goes through, in the order of `PASSES`.

Each is a plain function from graph to graph. These keep every rounding; rewrites that change one
are in `ir/numerics.py`.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tilegen import errors
from tilegen.ir import types
from tilegen.ir.build import Builder
from tilegen.ir.graph import Graph, Node, rewrite
from tilegen.ir.ops import TABLE


def drop_detach(graph: Graph) -> Graph:
    """`detach` speaks to the gradient alone."""
    return rewrite(graph, lambda node: node.args[0] if node.op == "detach" else None)


def resolve_takes(graph: Graph) -> Graph:
    """Push each gather down to the loads, where it becomes their index expression.

    `take(f(a, b), i)` is `f(take(a, i), take(b, i))`; what is out of range gives 0 and is not
    read.
    """

    def rule(node: Node) -> Node | None:
        if node.op != "take":
            return None
        source, position = node.args
        dim: str = node.attrs["dim"]
        build = Builder(graph.dims, node.span)
        if source.op == "stack" and source.attrs["dim"] == dim and position.op == "const":
            part: Node = source.args[position.attrs["value"]]
            return part
        size = graph.dims[dim].size
        if position.op == "const" and size is not None:
            if not 0 <= position.attrs["value"] < size:
                return build.zero(source.dtype)
            return _substitute(source, dim, position, None, build, {})
        inside = build.op(
            "and", build.op("ge", position, build.const(0)),
            build.op("lt", position, build.size(dim)),
        )  # fmt: skip
        moved = _substitute(source, dim, position, inside, build, {})
        if moved.op == "load":
            return replace(moved, name=node.name)
        return build.op("where", inside, moved, build.zero(source.dtype))

    return rewrite(graph, rule)


def _substitute(
    node: Node, dim: str, position: Node, guard: Node | None, build: Builder, done: dict[Node, Node]
) -> Node:
    """`node` with the position along `dim` replaced; loads there are read only under `guard`."""
    if dim not in node.dims:
        return node
    if node in done:
        return done[node]
    if node.op == "index":
        return position
    over: tuple[str, ...] = node.attrs.get("over", ())
    if dim in over:
        return node
    if not set(over).isdisjoint(position.dims):
        raise errors.Unschedulable(
            f"a take along {dim} of a sum over {over[0]}, at positions that differ along it",
            node.span, f"give the positions another dimension than {over[0]}",
        )  # fmt: skip
    args = tuple(_substitute(arg, dim, position, guard, build, done) for arg in node.args)
    if node.op == "expand":
        wanted = {*position.dims, *(name for name in node.dims if name != dim)}
        return build.expand(args[0], tuple(name for name in build.dims if name in wanted))
    attrs = dict(node.attrs)
    if node.op == "load" and guard is not None:
        count = len(attrs["dims"])
        old = args[count:]
        args = (*args[:count], build.op("and", old[0], guard) if old else guard)
        attrs["guarded"] = True
    dims = tuple(name for name in build.union(*args) if name not in over)
    done[node] = replace(node, args=args, dims=dims, attrs=attrs, name="")
    return done[node]


def split_stacks(graph: Graph) -> Graph:
    """Remove the dimensions that `stack` and constant gathers address one by one.

    A value with such a dimension becomes as many values as the dimension is long; an output ends
    in a `stack` of its components, which the store unrolls.
    """
    for dim in _stacked(graph):
        size = graph.dims[dim].size
        assert size is not None
        split = _Splitter(graph, dim, size)
        outputs = []
        for output in graph.outputs:
            value = output.value
            if dim in value.dims:
                parts = tuple(split.component(value, position) for position in range(size))
                value = replace(value, op="stack", args=parts, attrs={"dim": dim})
            else:
                value = split.component(value, 0)
            outputs.append(replace(output, value=value))
        graph = replace(graph, outputs=tuple(outputs))
    return graph


def _stacked(graph: Graph) -> list[str]:
    found: dict[str, None] = {}
    for node in graph.nodes:
        if node.op == "stack":
            found[node.attrs["dim"]] = None
        if node.op == "load":
            for arg, dim in zip(node.args, node.attrs["dims"], strict=False):
                if arg.op == "const" and graph.dims[dim].size is not None:
                    found[dim] = None
    return list(found)


class _Splitter:
    """Rewrites values into their components along one dimension."""

    def __init__(self, graph: Graph, dim: str, size: int) -> None:
        self.dims, self.dim, self.size = graph.dims, dim, size
        self.done: dict[tuple[Node, int], Node] = {}

    def component(self, node: Node, position: int) -> Node:
        """`node` at `position` along the dimension (the node, rebuilt, where it lacks it)."""
        key = (node, position if self.dim in node.dims else 0)
        if key not in self.done:
            self.done[key] = self._component(node, key[1])
        return self.done[key]

    def _component(self, node: Node, position: int) -> Node:
        if node.op == "index" and node.dims == (self.dim,):
            return Node("const", dtype=types.integer, attrs={"value": position})
        if node.op == "stack" and node.attrs["dim"] == self.dim:
            return self.component(node.args[position], position)
        if node.op == "reduce" and self.dim in node.attrs["over"]:
            return self._reduction(node)
        if node.op == "contract" and self.dim in node.attrs["over"]:
            return self._product(node)
        args = tuple(self.component(arg, position) for arg in node.args)
        dims = tuple(name for name in node.dims if name != self.dim)
        name = f"{node.name}_{position}" if node.name and self.dim in node.dims else node.name
        if node.op in ("load", "uniform"):
            name = node.name
        return replace(node, args=args, dims=dims, name=name)

    def _reduction(self, node: Node) -> Node:
        """A reduction over the dimension: its components are combined one by one."""
        build = Builder(self.dims, node.span)
        over: tuple[str, ...] = node.attrs["over"]
        monoid: str = node.attrs["monoid"]
        if monoid == "mean":
            total = build.reduce("sum", node.args[0], over)
            return replace(
                build.op("div", self._reduction(total), build.real_count(over)), name=node.name
            )
        combine = {"sum": "add", "max": "maximum", "min": "minimum", "any": "or", "all": "and"}
        if monoid not in combine:
            raise errors.Unschedulable(
                f"{monoid} over {self.dim}, which the spec also takes apart", node.span,
                "write it with mean, sum or max",
            )  # fmt: skip
        rest = tuple(name for name in over if name != self.dim)
        parts = [self.component(node.args[0], position) for position in range(self.size)]
        if monoid in ("sum", "max", "min") or not rest:
            joined = parts[0]
            for part in parts[1:]:
                joined = build.op(combine[monoid], joined, part)
            return build.reduce(monoid, joined, rest) if rest else joined
        raise errors.Unschedulable(f"{monoid} over several dimensions", node.span)

    def _product(self, node: Node) -> Node:
        """A product that sums over the dimension: the sum of those of its components."""
        build = Builder(self.dims, node.span)
        rest = tuple(name for name in node.attrs["over"] if name != self.dim)
        kinds = node.attrs["operand"], node.attrs["accumulator"]
        total = None
        for position in range(self.size):
            a, b = (self.component(arg, position) for arg in node.args)
            part = build.contract(a, b, rest, *kinds) if rest else build.op("mul", a, b)
            total = build.op("add", total, part) if total else part
        assert total is not None
        return replace(total, name=node.name)


def expand_variance_of_stacks(graph: Graph) -> Graph:
    """A variance over a dimension that is taken apart, as the mean square of the difference."""
    stacked = set(_stacked(graph))

    def rule(node: Node) -> Node | None:
        if node.op != "reduce" or node.attrs["monoid"] != "variance":
            return None
        over: tuple[str, ...] = node.attrs["over"]
        if not stacked & set(over):
            return None
        build = Builder(graph.dims, node.span)
        centred = build.op("sub", node.args[0], build.reduce("mean", node.args[0], over))
        total = build.reduce("sum", build.op("mul", centred, centred), over)
        return build.op("div", total, build.real_count(over, node.attrs["correction"]))

    return rewrite(graph, rule)


def fold_constants(graph: Graph) -> Graph:
    """Pointwise ops of constants, exactly as Python's floats give them."""

    def rule(node: Node) -> Node | None:
        if node.op not in TABLE or not node.args or any(a.op != "const" for a in node.args):
            return None
        try:
            value = TABLE[node.op].fold(*(arg.attrs["value"] for arg in node.args))
        except (ArithmeticError, ValueError, TypeError):
            return None
        return Node("const", dtype=node.dtype, attrs={"value": value})

    return rewrite(graph, rule)


def share(graph: Graph) -> Graph:
    """Common subexpressions once."""
    seen: dict[Any, Node] = {}

    def rule(node: Node) -> Node:
        if node.op in ("parameter", "loop"):
            return node
        key = (node.op, node.args, node.dims, node.dtype, _frozen(node.attrs))
        return seen.setdefault(key, node)

    return rewrite(graph, rule)


def _frozen(attrs: Any) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((key, repr(value)) for key, value in attrs.items()))


PASSES: tuple[Callable[[Graph], Graph], ...] = (
    drop_detach,
    resolve_takes,
    expand_variance_of_stacks,
    split_stacks,
    fold_constants,
    share,
)


def simplify(graph: Graph) -> Graph:
    """Run `PASSES`."""
    for step in PASSES:
        graph = step(graph)
    return graph
