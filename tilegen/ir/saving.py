"""What the forward saves for the backward: outputs, row statistics, or nothing but inputs.

The gradient of a graph computes again what it needs of the forward. Here some of these values are
replaced by loads of what the forward left in memory: results of the op where that reads fewer
bytes; what products were added up to, which is less than to multiply again (see `ir/kept.py`);
and statistics of rows, which are small beside the pass over a row that each of them saves.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

from tilegen import errors
from tilegen.ir import types
from tilegen.ir.autodiff import Gradient
from tilegen.ir.build import Builder
from tilegen.ir.graph import Graph, Node, Operand, Output, rewrite
from tilegen.ir.kept import Kept, kept, multiplying, saving_one, usual_bytes
from tilegen.ir.numerics import finalised
from tilegen.ir.ops import TABLE
from tilegen.ir.passes import share
from tilegen.ir.statistics import forward_nodes, statistics
from tilegen.ir.types import DType


@dataclass(frozen=True, slots=True)
class Saving:
    """A gradient that starts from what the forward saved.

    Attributes:
        gradient: with loads in place of what was saved; its operands are those that are read, and
            those whose shape or type is needed.
        forward: the forward with what else it saves among its outputs: not public, and optional.
        saved: names of what is saved, each an output of the forward.
        alike: names of operands that give shapes and types alone.
    """

    gradient: Gradient
    forward: Graph
    saved: tuple[str, ...]
    alike: tuple[str, ...]


def saving(
    forward: Graph, gradient: Gradient, keep: Sequence[str] | None, present: Iterable[str] = ()
) -> Saving:
    """Choose what to save.

    Args:
        forward: the graph that was differentiated.
        gradient: its gradient.
        keep: names of the results, pre-activations and statistics to save; None to choose by bytes.
        present: operands that the backward takes even if it reads nothing of them.

    Raises:
        BadOption: `keep` names something that cannot be saved.
    """
    forward, gradient = _shared(forward, gradient)
    own = forward_nodes(gradient)
    results = {
        output.name: output
        for output in forward.outputs
        if output.value in own
        and output.value.op != "load"
        and output.value.dims
        and ("One",) not in output.stored
    }
    products = kept(gradient.graph, own & set(forward.nodes))
    if keep is None:
        products = {node: product for node, product in products.items() if product.saves}
        safe = {n: o for n, o in results.items() if _is_safe(gradient, forward, o, products)}
        chosen = _cheapest(gradient, safe, products)
    else:
        chosen = [results[name] for name in keep if name in results]
    known = {output.value: output for output in chosen}
    names = _names(forward, gradient)
    sums = {
        node: _private(forward, node, product.name, product.dtype, names)
        for node, product in products.items()
        if node not in known
    }
    able = {*results, *(output.name for output in sums.values())}
    sums = {node: o for node, o in sums.items() if keep is None or o.name in keep}
    made, stands_for = _loading(gradient, {**known, **sums})
    stats = _statistics_of(forward, made, stands_for, names)
    if keep is not None:
        _check_names(keep, able | {output.name for output in stats.values()})
        stats = {node: output for node, output in stats.items() if output.name in keep}
    made, _ = _loading(_like_saved(made, chosen), stats)
    read = {node.attrs["tensor"] for node in made.graph.nodes if node.op == "load"}
    more = (*(output for output in sums.values() if output.name in read), *stats.values())
    private = tuple(output for output in more if not output.public)
    saved = tuple(dict.fromkeys(o.name for o in (*chosen, *more)))
    alike = _alike(forward, made, present)
    return Saving(
        _reading(forward, made, alike),
        replace(forward, outputs=(*forward.outputs, *private)), saved, alike,
    )  # fmt: skip


def _check_names(keep: Sequence[str], able: set[str]) -> None:
    unknown = sorted(set(keep) - able)
    if unknown:
        raise errors.BadOption(
            f"save= names {unknown[0]!r}, which the backward cannot start from",
            None, f"what it can: {', '.join(sorted(able)) or 'nothing'}",
        )  # fmt: skip


def _shared(forward: Graph, gradient: Gradient) -> tuple[Graph, Gradient]:
    """Both with common subexpressions once, so that nodes of one are found in the other."""
    count = len(forward.outputs)
    outputs = (*forward.outputs, *gradient.graph.outputs)
    joint = _by_states(share(replace(gradient.graph, outputs=outputs)))
    graph = replace(gradient.graph, outputs=joint.outputs[count:])
    return replace(forward, outputs=joint.outputs[:count]), replace(gradient, graph=graph)


def _by_states(graph: Graph) -> Graph:
    """A graph in which a reduction whose states are used is used by them alone."""
    reductions = {node.args[0] for node in graph.nodes if node.op == "state"}
    if not reductions:
        return graph

    def value(node: Node) -> Node:
        if node not in reductions:
            return node
        build = Builder(graph.dims, node.span)
        states = tuple(build.state(node, at) for at in range(2))
        return replace(finalised(build, node, states), name=node.name)

    def rule(node: Node) -> Node | None:
        if node.op == "state" or reductions.isdisjoint(node.args):
            return None
        return replace(node, args=tuple(map(value, node.args)))

    outputs = tuple(replace(output, value=value(output.value)) for output in graph.outputs)
    return share(rewrite(replace(graph, outputs=outputs), rule))


#: Ops that pass a rounding error on as it is, or next to other values.
_BENIGN: Final = (
    "mul", "add", "sub", "neg", "where", "cast", "narrow", "detach", "expand", "take", "stack",
    "reduce", "contract",
)  # fmt: skip
#: Ops, with the place of an argument, that make much of an error in it once something was added.
_SINGULAR: Final = {("div", 1), ("log", 0), ("log2", 0), ("sqrt", 0), ("rsqrt", 0), ("pow", 0)}


def _is_safe(
    gradient: Gradient, forward: Graph, output: Output, products: Mapping[Node, Kept]
) -> bool:
    """Whether a gradient may start from a result as it is stored."""
    product = products.get(output.value)
    rounded_anyway = product is not None and product.dtype is not types.real
    return _exact(output) or rounded_anyway or _bears_rounding(gradient, forward, output)


def _bears_rounding(gradient: Gradient, forward: Graph, output: Output) -> bool:
    """Whether a gradient may start from a result that was rounded to its storage type.

    What the forward makes of it further must be benign: 1 - y is 0 for a rounded y, and its
    logarithm no number. So must the gradient be, beyond the op's own formula, which is made to start
    from the result; and no comparison holds any more. Statistics of rows are saved as they were.
    """
    known = set(forward.nodes)
    made, stands_for = _loading(gradient, {output.value: output})
    whole = {stands_for[node] for node in statistics(made)}
    rounded: dict[Node, bool] = {output.value: False}  # and whether something was added
    for node in gradient.graph.nodes:
        places = [at for at, arg in enumerate(node.args) if arg in rounded]
        if not places or node in rounded or node in whole:
            continue
        if node.dtype.kind == "bool":
            return False
        added = any(rounded[node.args[at]] for at in places)
        if node in known and node.op not in _BENIGN and not (node.op == "div" and places == [0]):
            return False
        if added and any((node.op, at) in _SINGULAR for at in places):
            return False
        rounded[node] = added or node.op in ("add", "sub", "reduce", "contract")
    return True


def _cheapest(
    gradient: Gradient, results: Mapping[str, Output], products: Mapping[Node, Kept]
) -> list[Output]:
    """The results whose use reads the fewest bytes; of equals the one with the least work."""
    best: tuple[tuple[float, int], list[Output]] | None = None
    for count in range(len(results) + 1):
        for chosen in combinations(results.values(), count):
            cost = _cost(gradient, chosen, products)
            if best is None or cost < best[0]:
                best = cost, list(chosen)
    assert best is not None
    return best[1]


def _cost(
    gradient: Gradient, chosen: Sequence[Output], products: Mapping[Node, Kept]
) -> tuple[float, int]:
    """Bytes that move, and special functions, with these results loaded."""
    graph = gradient.graph
    loaded = {output.value: output.dims for output in chosen}
    read: dict[str, float] = {}
    work = 0
    for node in _until(gradient, {*loaded, *products}):
        if node in loaded:
            read[f"saved {id(node)}"] = usual_bytes(graph, loaded[node])
        elif node in products:
            read[f"saved {id(node)}"] = saving_one(graph, node)
        elif node.op == "load":
            read[node.attrs["tensor"]] = usual_bytes(graph, node.attrs["dims"])
        elif node.op == "contract":
            read[f"product {id(node)}"] = multiplying(graph, node)
        else:
            work += TABLE[node.op].special if node.op in TABLE else 0
    return sum(read.values()), work


def _until(gradient: Gradient, known: set[Node]) -> set[Node]:
    """The nodes that a gradient computes, and those of the known ones that it starts from."""
    stack = [output.value for output in gradient.graph.outputs]
    seen: set[Node] = set()
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack.extend(() if node in known else node.args)
    return seen


def _statistics_of(
    forward: Graph, made: Gradient, stands_for: Mapping[Node, Node], names: set[str]
) -> dict[Node, Output]:
    """The statistics that a gradient reads, as outputs of the forward."""
    there = set(forward.nodes)
    multiplies = any(node.op == "contract" for node in there)
    stats: dict[Node, Output] = {}
    for node in statistics(made):
        value = stands_for[node]
        # A kernel that multiplies has no rows at hand for what only a gradient wants.
        if value in there or not multiplies:
            same = next((o for o in forward.outputs if o.value is value and _exact(o)), None)
            stats[node] = same or _statistic(forward, value, names)
    return stats


def _exact(output: Output) -> bool:
    """Whether an output stores its value unrounded, each dimension by itself."""
    plain = all(len(group) == 1 and group != ("One",) for group in output.stored)
    return output.dtype is types.real and plain


def _names(forward: Graph, gradient: Gradient) -> set[str]:
    names = {operand.name for operand in gradient.graph.operands} | set(gradient.graph.dims)
    names |= {output.name for output in (*gradient.graph.outputs, *forward.outputs)}
    return names | {param.name for param in forward.params}


def _statistic(forward: Graph, node: Node, names: set[str]) -> Output:
    """A value of whole rows as an output that no caller sees."""
    value, wish = node, node.name or f"row_{node.attrs.get('monoid', 'value')}"
    if node.op == "state":
        wish = ("row_top", "row_total")[node.attrs["position"]]
        if node.attrs["position"] == 0:
            value = _maximum_of_something(Builder(forward.dims, node.span), node)
    dtype = types.real if node.dtype.kind == "float" else types.i64
    return _private(forward, value, wish, dtype, names)


def _private(forward: Graph, value: Node, wish: str, dtype: DType, names: set[str]) -> Output:
    """A value as an output that no caller sees."""
    name, count = wish, 2
    while name in names:
        name, count = f"{wish}_{count}", count + 1
    names.add(name)
    stored = tuple((dim,) for dim in forward.ordered(value.dims))
    return Output(name, value, stored, dtype, public=False, optional=True)


def _maximum_of_something(build: Builder, top: Node) -> Node:
    """The maximum of a log-sum-exp, or 0 where it is one of nothing: there each family has its own."""
    nothing = build.op("eq", build.state(top.args[0], 1), build.const(0.0))
    return build.op("where", nothing, build.const(0.0), top)


def _loading(
    gradient: Gradient, saved: Mapping[Node, Output]
) -> tuple[Gradient, Mapping[Node, Node]]:
    """The gradient with loads of what was saved, and what each of its nodes was before."""
    graph = gradient.graph
    build = Builder(graph.dims)
    operands = []
    loads: dict[Node, Node] = {}
    for node, output in saved.items():
        dtype = types.real if node.dtype.kind == "float" else output.dtype
        operands.append(Operand(output.name, output.stored, dtype))
        places = tuple(build.index(dim) for dim in output.dims)
        attrs = {"tensor": output.name, "dims": output.dims}
        loads[node] = Node("load", places, node.dims, dtype=node.dtype, attrs=attrs)
    done: dict[Node, Node] = dict(loads)
    for node in graph.nodes:
        if node not in done:
            args = tuple(done[arg] for arg in node.args)
            done[node] = node if args == node.args else replace(node, args=args)
    outputs = tuple(replace(output, value=done[output.value]) for output in graph.outputs)
    graph = replace(graph, operands=(*graph.operands, *operands), outputs=outputs)
    return replace(gradient, graph=graph), {new: old for old, new in done.items()}


def _like_saved(gradient: Gradient, chosen: Sequence[Output]) -> Gradient:
    """The gradient with types named after saved results, where these have the type of an input."""
    names = {output.dtype: types.like(output.name, "float") for output in chosen}
    outputs = tuple(replace(o, dtype=names.get(o.dtype, o.dtype)) for o in gradient.graph.outputs)
    return replace(gradient, graph=replace(gradient.graph, outputs=outputs))


def _alike(forward: Graph, gradient: Gradient, present: Iterable[str]) -> tuple[str, ...]:
    """The operands that are not read, but tell the shape or type of a gradient, or a variant."""
    graph = gradient.graph
    read = {node.attrs["tensor"] for node in graph.nodes if node.op == "load"}
    attrs = (value for node in graph.nodes for value in node.attrs.values())
    wanted = {value.like for value in attrs if isinstance(value, DType)} | set(present)
    wanted |= {output.dtype.like for output in graph.outputs}
    used = {dim for node in graph.nodes for dim in node.dims}
    used |= {node.attrs["dim"] for node in graph.nodes if node.op == "size"}
    used |= {dim for output in graph.outputs for dim in output.dims}
    known = {dim for o in graph.operands if o.name in read | wanted for dim in o.dims}
    for operand in forward.operands:
        if set(operand.dims) & (used - known):
            wanted.add(operand.name)
            known |= set(operand.dims)
    return tuple(o.name for o in forward.operands if o.name in wanted - read)


def _reading(forward: Graph, gradient: Gradient, alike: tuple[str, ...]) -> Gradient:
    """The gradient with the operands that it takes alone: inputs, saved values, upstream ones."""
    graph = gradient.graph
    read = {node.attrs["tensor"] for node in graph.nodes if node.op == "load"} | set(alike)
    own = [o for o in graph.operands if o.name in read]
    order = {o.name: at for at, o in enumerate(forward.operands)}
    upstream = set(gradient.upstream.values())
    own.sort(key=lambda o: (order.get(o.name, len(order)), o.name in upstream))
    return replace(gradient, graph=replace(graph, operands=tuple(own)))
