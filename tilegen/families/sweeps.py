"""Passes over a wide row: which reductions each makes, and what it keeps for the next."""

from collections.abc import Sequence

from tilegen.families import online
from tilegen.families.lower import INLINE, Lowering
from tilegen.families.program import Accumulator, Statement, Sweep
from tilegen.ir.graph import Graph, Node, Output, topological


def levels(graph: Graph) -> dict[Node, int]:
    """How many reductions, each needing the one before, end in each reduction."""
    depth: dict[Node, int] = {}
    for node in graph.nodes:
        below = max((depth[arg] for arg in node.args), default=0)
        depth[node] = below + (node.op == "reduce")
    return {node: level for node, level in depth.items() if node.op == "reduce"}


def policies(
    graph: Graph, rows: tuple[str, ...], columns: tuple[str, ...], *, last: bool
) -> dict[str, str]:
    """Eviction policies: what is shared by rows stays in cache, a row until its last sweep."""
    found = {}
    for operand in graph.operands:
        wide = set(operand.dims) & set(columns)
        if wide and set(operand.dims) & set(rows):
            found[operand.name] = "evict_first" if last else "evict_last"
        elif wide:
            found[operand.name] = "evict_last"
    return found


def is_wide(value: Node, columns: tuple[str, ...]) -> bool:
    """Whether a value has columns."""
    return bool(set(value.dims) & set(columns))


def all_sweeps(low: Lowering, rows: tuple[str, ...]) -> tuple[Sweep, ...]:
    """The sweeps of a kernel that goes over whole rows."""
    depth = levels(low.graph)
    last = max(depth.values())
    stores = [o for o in low.graph.outputs if is_wide(o.value, low.columns)]
    passes = []
    for level in range(1, last + 1):
        final = level == last and not stores
        low.policies = policies(low.graph, rows, low.columns, last=final)
        sweep, _ = _reducing(low, [node for node, at in depth.items() if at == level])
        passes.append(sweep)
    low.policies = policies(low.graph, rows, low.columns, last=True)
    passes.append(_storing(low, low.graph.outputs))
    return tuple(passes)


def partial_sweep(low: Lowering) -> tuple[Sweep, tuple[Accumulator, ...]]:
    """The sweep over a chunk, ending in the stores of its states."""
    low.policies = policies(low.graph, (), low.columns, last=False)
    sweep, states = _reducing(low, list(levels(low.graph)))
    ends = [statement.target.split(", ") for statement in sweep.after]
    finals = [name for names in ends for name in names]
    stores = tuple(
        Statement("store", value=final, pointer=f"partial_{state.name}_ptr + rows * SPLITS + split")
        for final, state in zip(finals, states, strict=True)
    )
    return Sweep(sweep.before, sweep.accumulators, sweep.body, (*sweep.after, *stores)), states


def finishing_sweep(low: Lowering, states: tuple[Accumulator, ...]) -> Sweep:
    """What follows once the partial states of a row lie in a column of lanes each."""
    low.policies = policies(low.graph, (), low.columns, last=True)
    for state in states:
        low.free(state.name)
    remaining = iter(states)
    ends = []
    for node in levels(low.graph):
        monoid = online.TABLE[node.attrs["monoid"]]
        names = tuple(next(remaining).name for _ in monoid.states)
        ends.append(_end(low, node, names))
    sweep = _storing(low, low.graph.outputs, alone="split == 0")
    return Sweep((*ends, *sweep.before), (), sweep.body, sweep.after)


def _reducing(low: Lowering, reduces: Sequence[Node]) -> tuple[Sweep, tuple[Accumulator, ...]]:
    """One pass that takes in these reductions."""
    before = _hoist(low, [node.args[0] for node in reduces])
    carried: list[tuple[Node, tuple[str, ...]]] = []
    accumulators: list[Accumulator] = []
    for node in reduces:
        monoid = online.TABLE[node.attrs["monoid"]]
        names = tuple(low.free(name) for name in monoid.states)
        kind = {"float": "FLOAT", "int": "tl.int64", "bool": "tl.int32"}[node.dtype.kind]
        dtype = monoid.dtype or kind
        accumulators += [
            Accumulator(name, _start(start, dtype), dtype)
            for name, start in zip(names, monoid.starts, strict=True)
        ]
        carried.append((node, names))
    with low.scope():
        body = low.emit([node.args[0] for node in reduces])
        body += [_step(low, node, names) for node, names in carried]
    after = [_end(low, node, names) for node, names in carried]
    return Sweep(tuple(before), tuple(accumulators), tuple(body), tuple(after)), tuple(accumulators)


def _start(value: float, dtype: str) -> str:
    if dtype != "FLOAT":
        limits = {float("-inf"): str(-(2**63)), float("inf"): str(2**63 - 1)}
        return limits.get(value, str(int(value)) if abs(value) < 2 else str(value))
    return f'float("{value}")' if abs(value) == float("inf") else repr(value)


def _step(low: Lowering, node: Node, names: tuple[str, ...]) -> Statement:
    monoid = online.TABLE[node.attrs["monoid"]]
    if monoid.masked:
        x = low.printer.text(node.args[0])
    else:
        x = low.operand_of(node, monoid.identity)
    states = dict(zip(monoid.states, names, strict=True))
    text = monoid.step.format(x=x, valid=low.layout.mask(low.columns), **states)
    return Statement("assign", ", ".join(names), text, comment=low.comments.of(node))


def _end(low: Lowering, node: Node, names: tuple[str, ...]) -> Statement:
    """Join the lanes; from here on the reduction is a variable."""
    monoid = online.TABLE[node.attrs["monoid"]]
    wishes = (node.name,) if node.name and len(monoid.finals) == 1 else monoid.finals
    finals = tuple(low.free(wish) for wish in wishes)
    if len(finals) == 1:
        low.bind(node, finals[0])
    for part in low.graph.nodes:
        if part.op == "state" and part.args[0] is node:
            low.bind(part, finals[part.attrs["position"]])
    text = monoid.end.format(**dict(zip(monoid.states, names, strict=True)))
    return Statement("assign", ", ".join(finals), text)


def _storing(low: Lowering, outputs: Sequence[Output], alone: str = "") -> Sweep:
    """The last pass: results with columns in its loop, those of whole rows after it."""
    wide = [output for output in outputs if is_wide(output.value, low.columns)]
    narrow = [output for output in outputs if not is_wide(output.value, low.columns)]
    before = _hoist(low, low.values(wide))
    body: list[Statement] = []
    with low.scope():
        body = low.emit(low.values(wide))
        for output in wide:
            body += low.store(output)
    after = low.emit(low.values(narrow))
    for output in narrow:
        after += low.store(output, alone if wide else "")
    return Sweep(tuple(before), (), tuple(body), tuple(after))


def _hoist(low: Lowering, roots: Sequence[Node]) -> list[Statement]:
    """Variables for the row-level values that a pass over columns uses."""
    wanted: dict[Node, None] = {}
    for node in topological(tuple(roots)):
        if not is_wide(node, low.columns):
            continue
        args = node.args if node.op != "load" else low.load_args(node)
        for arg in args:
            if not is_wide(arg, low.columns) and not _free_of_cost(arg):
                wanted[arg] = None
    return low.emit(list(wanted), keep=wanted)


def _free_of_cost(node: Node) -> bool:
    """Whether a value is made of parameters and constants alone."""
    return all(part.op in INLINE or part.args for part in topological((node,))) and not any(
        part.op in ("load", "reduce", "state", "uniform") for part in topological((node,))
    )
