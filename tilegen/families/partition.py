"""Where a graph is cut into stages, each of which kernels of one shape can compute.

A stage reduces over one set of dimensions. A reduction over another set starts a new stage, and
so does a result with dimensions that no row of the stage has: it would be reduced once for each of
them. What passes from stage to stage is the reductions themselves, which are small, in memory;
everything else is computed again from the inputs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tilegen import errors
from tilegen.families.names import Names, taken
from tilegen.families.summed import find
from tilegen.ir import types
from tilegen.ir.build import Builder
from tilegen.ir.graph import Graph, Node, Operand, Output, topological

Key = tuple[int, tuple[str, ...]]
"""A stage: how many stages it needs before it, and the dimensions that it reduces."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of a graph.

    Attributes:
        family: whose kernels compute it.
        graph: the part; what it reads of earlier ones are operands, what it leaves outputs.
        internal: the outputs that it leaves for later parts.
        fused: it is all of the graph, in one pass, for calls that allow it; the other stages are
            for those that do not.
    """

    family: str
    graph: Graph
    internal: tuple[Output, ...]
    fused: bool = False


def partition(graph: Graph) -> tuple[Stage, ...]:
    """The stages of a graph, in the order in which they run.

    Raises:
        Unschedulable: it has products, which no family computes yet.
    """
    product = next((node for node in graph.nodes if node.op == "contract"), None)
    if product is not None:
        raise errors.Unschedulable(
            "a product of two tensors", product.span,
            "no family builds products yet; sum(a * b, K) is one for small K",
        )  # fmt: skip
    home = _homes(graph)
    if not home:
        return (Stage("elementwise", graph, ()),)
    form = find(graph)
    if form and not form.whole:
        return (Stage("sums", graph, ()),)
    stages = _cut(graph, home)
    return (*stages, Stage("sums", graph, (), fused=True)) if form else stages


def _cut(graph: Graph, home: Mapping[Node, Key]) -> tuple[Stage, ...]:
    """The stages of an op, of one set of reduced dimensions each."""
    last = max(home.values())
    placed = {output.name: _place(output, home) for output in graph.outputs}
    if len(set(home.values())) == 1 and all(placed.values()):
        return (Stage("rowwise", graph, ()),)
    end: Key = (last[0] + 1, ())
    wanted: dict[Key, list[Output]] = {key: [] for key in sorted({*home.values(), end})}
    for output in graph.outputs:
        wanted[placed[output.name] or end].append(output)
    stages = []
    used = {o.name for o in graph.operands} | {o.name for o in graph.outputs}
    free = Names(taken(graph) | used)
    known: dict[Node, Output] = {}
    for key in reversed(wanted):
        roots = tuple(output.value for output in wanted[key])
        for node in _borrowed(roots, key, home):
            if node not in known:
                known[node] = _left(graph, node, free)
                if known[node] not in graph.outputs:
                    wanted[home[node]].append(known[node])
        if wanted[key]:
            stages.append(_stage(graph, key, wanted[key], home, known))
    return tuple(reversed(stages))


def _homes(graph: Graph) -> dict[Node, Key]:
    """The stage of each reduction, and of the states read of it."""
    home: dict[Node, Key] = {}
    for node in graph.nodes:
        if node.op == "state":
            home[node] = home[node.args[0]]
        if node.op == "reduce":
            over = graph.ordered(node.attrs["over"])
            below = [home[part] for part in topological(node.args) if part in home]
            home[node] = max((at + (dims != over) for at, dims in below), default=0), over
    return home


def _place(output: Output, home: Mapping[Node, Key]) -> Key | None:
    """The stage that stores an output; None if that is one of its own, without a reduction."""
    parts = topological((output.value,))
    below = {home[part] for part in parts if part in home}
    level = max((at for at, _ in below), default=0)
    candidates = [key for key in below or set(home.values()) if key[0] == level]
    if len(candidates) != 1:
        return None
    (key,) = candidates
    walked = {dim for node, of in home.items() if of == key for dim in node.args[0].dims}
    walked |= {part.attrs["dim"] for part in parts if part.op == "stack"}
    return key if set(output.dims) <= walked else None


def _borrowed(roots: tuple[Node, ...], key: Key, home: Mapping[Node, Key]) -> Iterator[Node]:
    """The reductions, or their states, of earlier stages that these values need first."""
    seen: set[Node] = set()
    stack = list(reversed(roots))
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if home.get(node, key) != key:
            yield node
        else:
            stack.extend(reversed(node.args))


def _left(graph: Graph, node: Node, free: Names) -> Output:
    """A reduction as a result that later stages read: one of the op's own where that is as exact."""
    dtype = {"float": types.real, "int": types.i64, "bool": types.bool_}[node.dtype.kind]
    stored = tuple((dim,) for dim in graph.ordered(node.dims))
    for output in graph.outputs:
        exact = output.value is node and (output.dtype, output.stored) == (dtype, stored)
        if exact and not output.optional:
            return output
    whole = node.args[0] if node.op == "state" else node
    position = f"_{node.attrs['position']}" if node.op == "state" else ""
    name = free(node.name or f"row_{whole.attrs['monoid']}{position}")
    return Output(name, node, stored, dtype, public=False)


def _stage(
    graph: Graph, key: Key, outputs: Sequence[Output], home: Mapping[Node, Key],
    known: Mapping[Node, Output],
) -> Stage:  # fmt: skip
    """The part of a graph that ends in these outputs; reductions of other stages are loaded."""
    build = Builder(graph.dims)
    done: dict[Node, Node] = {}
    loaded: dict[str, Operand] = {}
    for node in topological(tuple(output.value for output in outputs)):
        if home.get(node, key) == key:
            done[node] = replace(node, args=tuple(done[arg] for arg in node.args))
        elif node in known:
            left = known[node]
            dtype = types.f32 if left.dtype is types.real else left.dtype
            loaded[left.name] = Operand(left.name, left.stored, dtype)
            positions = tuple(build.index(dim) for dim in left.dims)
            attrs = {"tensor": left.name, "dims": left.dims}
            done[node] = Node("load", positions, left.dims, dtype=node.dtype, attrs=attrs)
        else:
            done[node] = node  # beneath a reduction that is loaded
    ends = tuple(replace(output, value=done[output.value]) for output in outputs)
    part = replace(graph, outputs=ends)
    read = {node.attrs["tensor"] for node in part.nodes if node.op == "load"}
    read |= {output.dtype.like for output in outputs}
    operands = tuple(o for o in (*graph.operands, *loaded.values()) if o.name in read)
    results = {output.name for output in graph.outputs}
    internal = tuple(output for output in outputs if output.name not in results)
    part = replace(part, operands=operands)
    family = "elementwise" if not key[1] else "sums" if find(part) else "rowwise"
    return Stage(family, part, internal)
