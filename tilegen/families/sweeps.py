"""Passes over a wide row: which reductions each makes, and what it keeps for the next."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tilegen.families import online
from tilegen.families.early import ready
from tilegen.families.lower import INLINE, Lowering
from tilegen.families.names import Names
from tilegen.families.program import Accumulator, Statement, Sweep
from tilegen.ir.graph import Graph, Node, Output, topological


def levels(graph: Graph) -> dict[Node, int]:
    """How many reductions, each needing the one before, end in each reduction."""
    depth: dict[Node, int] = {}
    for node in graph.nodes:
        below = max((depth[arg] for arg in node.args), default=0)
        depth[node] = below + (node.op == "reduce")
    return {node: level for node, level in depth.items() if node.op == "reduce"}


def read_once(graph: Graph) -> dict[str, str]:
    """Policies of a kernel that reads everything once: what is read outlasts what is written.

    Measured on an H200 (Triton 3.6): 2 to 4 percent of the copy rate on elementwise ops and on
    rows held in registers, against no hint; `evict_first` costs as much.
    """
    return {operand.name: "evict_last" for operand in graph.operands if operand.dims}


def policies(
    graph: Graph, rows: tuple[str, ...], columns: tuple[str, ...], *, last: bool
) -> dict[str, str]:
    """A row that is read again stays in cache until its last sweep; what all rows read stays.

    Without these hints a sweep over 32,000 columns loses a tenth of its speed on an H200.
    """
    found = {}
    for operand in graph.operands:
        if set(operand.dims) & set(columns):
            done = last and set(operand.dims) & set(rows)
            found[operand.name] = "evict_first" if done else "evict_last"
    return found


def is_wide(value: Node, columns: tuple[str, ...]) -> bool:
    """Whether a value has columns."""
    return bool(set(value.dims) & set(columns))


def all_sweeps(low: Lowering, rows: tuple[str, ...]) -> tuple[Sweep, ...]:
    """The sweeps of a kernel that goes over whole rows."""
    depth = levels(low.graph)
    last = max(depth.values())
    again = any(is_wide(output.value, low.columns) for output in low.graph.outputs) or last > 1
    early = _early_loads(low)
    passes = []
    for level in range(1, last + 1):
        low.policies = policies(low.graph, rows, low.columns, last=False) if again else {}
        reduces = [node for node, at in depth.items() if at == level]
        sweep, _ = _reducing(low, reduces)
        heavy = any(node.attrs["monoid"] == "logsumexp" for node in reduces)
        passes.append(_ahead(sweep, low, rows) if heavy else sweep)
    passes[0] = replace(passes[0], before=(*early, *passes[0].before))
    low.policies = policies(low.graph, rows, low.columns, last=True)
    passes.append(_storing(low, low.graph.outputs))
    return tuple(passes)


def _early_loads(low: Lowering) -> list[Statement]:
    """Loads on whole rows that need no statistic, ahead of the sweeps that hide their latency."""
    narrow = [o for o in low.graph.outputs if not is_wide(o.value, low.columns)]
    nodes = topological(tuple(low.values(narrow)))
    loads = [node for node in ready(nodes) if not is_wide(node, low.columns)]
    return low.emit(loads, keep=loads)


def partial_sweep(low: Lowering) -> tuple[Sweep, tuple[Accumulator, ...]]:
    """The sweep over a chunk, ending in the stores of its partial states."""
    low.policies = {}
    sweep, handed = _reducing(low, list(levels(low.graph)))
    finals = [name for statement in sweep.after for name in statement.target.split(", ")]
    stores = tuple(
        Statement("store", value=final, pointer=f"partial_{state.name}_ptr + rows * SPLITS + split")
        for final, state in zip(finals, handed, strict=True)
    )
    return replace(sweep, after=(*sweep.after, *stores)), handed


def finishing_sweep(low: Lowering, handed: tuple[Accumulator, ...]) -> Sweep:
    """What follows once the partial states of a row lie in a column of lanes each."""
    low.policies = {}
    for state in handed:
        low.free(state.name)
    remaining = iter(handed)
    ends = []
    for node in levels(low.graph):
        monoid = online.TABLE[node.attrs["monoid"]]
        names = {part: next(remaining).name for part, _ in monoid.handed}
        ends.append(_end(low, node, (monoid.join or monoid.end).format(**names)))
    sweep = _storing(low, low.graph.outputs, alone="leads")
    return replace(sweep, before=(*ends, *sweep.before))


def _reducing(low: Lowering, reduces: Sequence[Node]) -> tuple[Sweep, tuple[Accumulator, ...]]:
    """One pass that takes in these reductions, and the partial states that it could hand on."""
    before = _hoist(low, [node.args[0] for node in reduces])
    carried: list[tuple[Node, dict[str, str]]] = []
    sample: list[Statement] = []
    accumulators: list[Accumulator] = []
    handed: list[Accumulator] = []
    for node in reduces:
        monoid = online.TABLE[node.attrs["monoid"]]
        kind = {"float": "FLOAT", "int": "tl.int64", "bool": "tl.int32"}[node.dtype.kind]
        dtype = monoid.dtype or kind
        names = {state: low.free(state) for state in monoid.states}
        for state, start in zip(monoid.states, monoid.starts, strict=True):
            accumulators.append(Accumulator(names[state], _start(start, dtype), dtype))
        for part, start in monoid.handed:
            name = names.get(part) or low.free(part)
            handed.append(Accumulator(name, _start(start, dtype), dtype))
        if monoid.sample[0]:
            names[monoid.sample[0]] = low.free(monoid.sample[0])
            sample += _sampled(low, node, names[monoid.sample[0]])
        carried.append((node, names))
    with low.scope():
        body = low.emit([node.args[0] for node in reduces])
        body += [_step(low, node, names) for node, names in carried]
    after = []
    for node, names in carried:
        after.append(_end(low, node, online.TABLE[node.attrs["monoid"]].end.format(**names)))
    sweep = Sweep(
        tuple(before), tuple(accumulators), tuple(body), tuple(after), sample=tuple(sample)
    )
    return sweep, tuple(handed)


def _sampled(low: Lowering, node: Node, name: str) -> list[Statement]:
    """What the first block, which the sweep then finds in L1, tells of the row."""
    text = online.TABLE[node.attrs["monoid"]].sample[1]
    with low.scope():
        lines = low.emit([node.args[0]])
        x, valid = low.printer.text(node.args[0]), low.layout.mask(low.columns)
        return [*lines, Statement("assign", name, text.format(x=x, valid=valid))]


def _ahead(sweep: Sweep, low: Lowering, rows: tuple[str, ...]) -> Sweep:
    """The sweep with the loads of a row issued one block ahead of their use.

    For sweeps whose exponentials keep a program busy: there it gains two to five percent of the
    copy rate on an H200. Plain sums are over too soon, and lose as much by it.
    """
    ahead: list[Statement] = []
    arrived: list[Statement] = []
    body: list[Statement] = []
    free = Names(low.free.taken | {name for line in sweep.body for name in line.target.split(", ")})
    for statement in sweep.body:
        names = set(re.findall(r"[A-Za-z_]\w*", statement.pointer))
        streamed = statement.kind == "load" and statement.mask == low.layout.mask(low.columns)
        wide = any(set(o.dims) & set(rows) for o in low.graph.operands if o.name in _base(names))
        if not streamed or not wide or names & {s.target for s in sweep.body}:
            body.append(statement)
            continue
        loaded = free(f"next_{statement.target}")
        ahead.append(replace(statement, target=loaded, real=False, whole=False))
        arrived.append(Statement("assign", statement.target, statement.widened(loaded)))
    return replace(sweep, ahead=tuple(ahead), arrived=tuple(arrived), body=tuple(body))


def _base(names: set[str]) -> set[str]:
    """The operands whose row addresses are among these names."""
    return {name.removesuffix("_rows") for name in names if name.endswith("_rows")}


def _start(value: float, dtype: str) -> str:
    if dtype != "FLOAT":
        limits = {float("-inf"): str(-(2**63)), float("inf"): str(2**63 - 1)}
        return limits.get(value, str(int(value)) if abs(value) < 2 else str(value))
    return f'float("{value}")' if abs(value) == float("inf") else repr(value)


def _step(low: Lowering, node: Node, names: Mapping[str, str]) -> Statement:
    monoid = online.TABLE[node.attrs["monoid"]]
    x = low.printer.text(node.args[0])
    if not monoid.sample[0]:
        x = low.operand_of(node, monoid.identity)
    text = monoid.step.format(x=x, valid=low.layout.mask(low.columns), **names)
    states = ", ".join(names[state] for state in monoid.states)
    return Statement("assign", states, text, comment=low.comments.of(node))


def _end(low: Lowering, node: Node, text: str) -> Statement:
    """Join the states of a row; from here on the reduction is a variable."""
    monoid = online.TABLE[node.attrs["monoid"]]
    wishes = (node.name,) if node.name and len(monoid.finals) == 1 else monoid.finals
    finals = tuple(low.free(wish) for wish in wishes)
    if len(finals) == 1:
        low.bind(node, finals[0])
    for part in low.graph.nodes:
        if part.op == "state" and part.args[0] is node:
            low.bind(part, finals[part.attrs["position"]])
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
            body += [replace(store, policy=".cs") for store in low.store(output)]
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
