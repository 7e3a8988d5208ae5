"""Why an op's module is as it is: its roofline, its search space, and what was refused."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod
from typing import Any

from tilegen.analysis.cost import Cost, Floor, cost, count, floor, least, plain, value
from tilegen.analysis.eager import eager
from tilegen.analysis.facts import representative
from tilegen.build import BuiltOp
from tilegen.families.program import Program, Schedule
from tilegen.ir import types
from tilegen.ir.graph import Graph
from tilegen.render.parts import RenderedPart, RenderedVariant
from tilegen.schedule.budgets import registers
from tilegen.schedule.config import next_power_of_2
from tilegen.schedule.demand import Demand, demands, work_of
from tilegen.schedule.kinds import KINDS
from tilegen.schedule.predict import programs_resident
from tilegen.schedule.proof import Proofs
from tilegen.schedule.search import Key, Verdict, tile_of
from tilegen.schedule.space import NO_PROOFS, keys, verdicts
from tilegen.targets import TARGETS, Target


@dataclass(frozen=True, slots=True)
class ScheduleFacts:
    """One way to compute an op at the given sizes.

    Attributes:
        kind: of the schedule.
        read_again: bytes that later passes read once more.
        passes: over the rows.
        flops: of this schedule.
        special: special functions among them.
        microseconds: predicted, of its best kept config; None if none can hold a row.
        config: that config.
        spills: whether it does; then another schedule is taken, if one can be.
        stage: of the op, from 1.
    """

    kind: str
    read_again: float
    passes: int
    flops: float
    special: float
    microseconds: float | None
    config: str
    spills: bool
    stage: int = 1


@dataclass(frozen=True, slots=True)
class ConfigFacts:
    """One config of the search space.

    Attributes:
        kind: of the schedule; its table, where that is of a part of the module.
        config: its values.
        shared: predicted bytes of shared memory of a program.
        registers: predicted registers of a thread.
        programs: of it that an SM runs at once.
        occupancy: warps of an SM in use, as a share.
        verdict: `kept`, or why it was rejected.
        compiled: by Triton version, what the compiler said of the worst of its kernels.
    """

    kind: str
    config: str
    shared: int
    registers: int
    programs: int
    occupancy: float
    verdict: str
    compiled: dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Explanation:
    """What `tilegen explain` tells of one variant of an op, on one target."""

    op: str
    variant: str
    target: str
    dtype: str
    sizes: dict[str, int]
    formulas: dict[str, str]
    traffic: float
    flops: float
    special: float
    intensity: float
    bound: str
    floor_microseconds: float
    floor_datasheet_microseconds: float
    eager_kernels: int
    eager_traffic: float
    schedules: tuple[ScheduleFacts, ...]
    choice: str
    space: tuple[ConfigFacts, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    def text(self, *, rejected: bool = True) -> str:
        """For a terminal: lines of at most 100 columns, without colours."""
        return "\n".join(_lines(self, rejected)) + "\n"


def explain(
    op: BuiltOp,
    sizes: Mapping[str, int],
    target: Target,
    dtype: str = "bf16",
    proofs: Proofs = NO_PROOFS,
    variant: int = 0,
    targets: Sequence[Target] = TARGETS,
    backward: bool = False,
) -> Explanation:
    """Explain one variant of an op.

    Args:
        op: a built op.
        sizes: of its dimensions; those that are missing get usual ones.
        target: a GPU.
        dtype: of its floats, in the names of the spec language.
        proofs: what the compiler said, by `tilegen.prove.proofs_of`.
        variant: which combination of specialising arguments; the first by default.
        targets: those that the module was built for.
        backward: its gradient instead.

    Raises:
        ValueError: no gradient has kernels, an unknown dimension, a size below 1, or no such floating dtype.
    """
    part, source = _part(op, variant, backward=backward)
    programs, graph = part.programs, part.graph
    for name, given in sizes.items():
        if name not in graph.dims or given < 1:
            known = ", ".join(graph.dims)
            raise ValueError(f"{graph.name}: no size {name} = {given}; its dimensions are {known}")
    size = _bytes(dtype)
    here = {**representative(programs), **sizes}
    by_op = eager(source)
    first = least(programs)
    moved, flops, special = (
        value(e, here, size) for e in (first.traffic, first.flops, first.special)
    )
    bound: Floor = floor(moved, flops, special, target)
    asked = demands([p for v in op.variants for p in _programs(v, backward=backward)])
    table = keys(tuple(dict.fromkeys((*targets, target))))
    row = next(k for k in table if (k.target.architecture, k.size) == (target.architecture, size))
    spaces = {name: verdicts(demand, row, table, proofs) for name, demand in asked.items()}
    key = Key(target, size)
    stages = [
        [_schedule(program, one, spaces, key, here, at) for one in program.schedules]
        for at, program in enumerate(programs, 1)
    ]
    space = tuple(
        _config(asked[name], verdict, key, proofs) for name, of in spaces.items() for verdict in of
    )
    return Explanation(
        graph.name, _variant_name(op, variant), target.name, dtype,
        {d: here[d] for d in graph.dims if d != "One"}, _formulas(first, by_op.bytes),
        moved, flops, special, flops / moved, bound.bound, 1e6 * bound.seconds,
        1e6 * max(bound.datasheet, bound.flops, bound.special), by_op.kernels,
        value(by_op.bytes, here, size), tuple(one for of in stages for one in of),
        _choices(programs, stages),
        space,
        (
            *_kept(op.variants[variant]), *_cuts(part),
            *(note for program in programs for note in program.notes),
        ),
    )  # fmt: skip


def _part(op: BuiltOp, variant: int, *, backward: bool) -> tuple[RenderedPart, Graph]:
    """What is explained, and the graph that eager PyTorch would run."""
    rendered = op.variants[variant]
    if not backward:
        return rendered, op.traced.variants[variant].graph
    if rendered.backward is None or rendered.saving is None:
        raise ValueError(f"{op.traced.name} has no gradient with kernels of its own")
    return rendered.backward, rendered.saving.gradient.graph


def _programs(variant: RenderedVariant, *, backward: bool) -> tuple[Program, ...]:
    part = variant.backward if backward else variant
    return part.programs if part else ()


def _kept(variant: RenderedVariant) -> tuple[str, ...]:
    """What the forward keeps for the gradient, and what that costs it."""
    if variant.saving is None:
        return ()
    gradient, own = variant.saving.gradient, set(variant.saving.saved)
    kept = [o.name for o in gradient.graph.operands if o.name not in gradient.upstream.values()]
    kept = [name for name in kept if name not in variant.saving.alike]
    bytes_of = [o for o in variant.graph.outputs if not o.public and o.name in own]
    cost = " + ".join(str(4 * count(variant.graph, o.dims)) for o in bytes_of)
    written = f"; the forward writes {cost} bytes for it" if cost else ""
    return (f"a gradient starts from {', '.join(kept) or 'upstream gradients alone'}{written}",)


def _choices(programs: Sequence[Program], schedules: Sequence[Sequence[ScheduleFacts]]) -> str:
    """What an op takes: the one pass over all of it if a config allows that, else stage by stage."""
    pairs = list(zip(programs, schedules, strict=True))
    if programs[-1].stages:
        *pairs, whole = pairs
        if any(s.microseconds is not None and not s.spills for s in whole[1]):
            return _choice(*whole)
    return ", then ".join(_choice(*pair) for pair in pairs)


def _choice(program: Program, schedules: Sequence[ScheduleFacts]) -> str:
    """The schedule that a stage takes; an elementwise one is flat wherever tensors allow it."""
    timed = [s for s in schedules if s.microseconds is not None]
    if not timed:
        return "none: a row does not fit"
    best = min(timed if program.compared else timed[:1], key=lambda s: (s.spills, s.microseconds))
    return f"{best.kind} with {best.config}"


def _cuts(variant: RenderedPart) -> tuple[str, ...]:
    """Where and why an op takes several stages."""
    stages = [program for program in variant.programs if not program.stages]
    if len(variant.programs) == 1:
        return ()
    reduced = [f"({', '.join(p.reduced)})" if p.reduced else "nothing" for p in stages]
    rows = "rows that no config holds take " * (len(stages) < len(variant.programs))
    handed = f": {', '.join(variant.handed)} in memory between them" if variant.handed else ""
    return (f"{rows}{len(reduced)} stages, which reduce {', then '.join(reduced)}{handed}",)


def _bytes(dtype: str) -> int:
    floats = {t.name: t.bits // 8 for t in types.STORAGE if t.kind == "float"}
    if dtype not in floats:
        raise ValueError(f"{dtype} is no floating dtype: {', '.join(floats)}")
    return floats[dtype]


def _variant_name(op: BuiltOp, variant: int) -> str:
    pairs = zip(op.traced.specialising, op.variants[variant].key, strict=True)
    return ", ".join(f"{name}={given}" for name, given in pairs)


def _formulas(first: Cost, eager_bytes: Any) -> dict[str, str]:
    return {
        "traffic": str(plain(first.traffic)),
        "flops": str(plain(first.flops)),
        "special": str(plain(first.special)),
        "eager traffic": str(plain(eager_bytes)),
    }


def _schedule(
    program: Program, schedule: Schedule, spaces: Mapping[str, Sequence[Verdict]],
    key: Key, sizes: Mapping[str, int], stage: int,
) -> ScheduleFacts:  # fmt: skip
    """Bytes, work and predicted time of one schedule."""
    one = cost(program, schedule)
    work = work_of(program, schedule)
    kind = KINDS[schedule.kind]
    rows = prod(sizes[dim] for dim in program.rows)
    columns = prod(
        next_power_of_2(sizes[dim]) if kind.whole else sizes[dim] for dim in program.columns
    )
    target, size = key.target, key.size
    times = {
        verdict: kind.cost(verdict.config, target, work, size, rows, columns)
        for verdict in spaces[schedule.table]
        if verdict.kept
    }
    ranks = {v: (seconds == math.inf, v.spills, seconds) for v, seconds in times.items()}
    best = min(ranks, key=lambda verdict: ranks[verdict], default=None)
    seconds = times[best] if best else math.inf
    return ScheduleFacts(
        schedule.kind, value(one.again, sizes, size), one.passes, value(one.flops, sizes, size),
        value(one.special, sizes, size), None if seconds == math.inf else 1e6 * seconds,
        _values(best) if best else "removed by the compiler", bool(best and best.spills > 1), stage,
    )  # fmt: skip


def _values(verdict: Verdict) -> str:
    return " ".join(f"{name}={given}" for name, given in verdict.values)


def _config(demand: Demand, verdict: Verdict, key: Key, proofs: Proofs) -> ConfigFacts:
    """A config with what is predicted and what the compiler said of it."""
    config, target = verdict.config, key.target
    threads = config["num_warps"] * target.warp_size
    needed = registers(tile_of(demand, key, config["TILE"], config["num_warps"]))
    resident = programs_resident(target, threads, needed, verdict.shared)
    compiled = {
        version: asdict(said)
        for version, said in proofs.by_version(demand.table, key, verdict.values).items()
    }
    return ConfigFacts(
        demand.table, _values(verdict), verdict.shared, needed, resident,
        min(1.0, resident * threads / target.max_threads_per_sm),
        "kept" if verdict.kept else verdict.reason, compiled,
    )  # fmt: skip


# ---- text ---------------------------------------------------------------------------------------


def _lines(e: Explanation, rejected: bool) -> Iterator[str]:
    sizes = ", ".join(f"{dim} = {size}" for dim, size in e.sizes.items())
    variant = f" ({e.variant})" if e.variant else ""
    yield f"{e.op}{variant} on {e.target}, {e.dtype}: {sizes}"
    yield ""
    yield f"  traffic    {_amount(e.traffic)}B = {e.formulas['traffic']}"
    yield f"  flops      {_amount(e.flops).strip()} = {e.formulas['flops']}"
    yield f"  special    {_amount(e.special).strip()} = {e.formulas['special']}"
    yield f"  intensity  {e.intensity:.2f} flops a byte: bound by {e.bound}"
    yield (
        f"  floor      {e.floor_microseconds:.1f} us "
        f"({e.floor_datasheet_microseconds:.1f} us by the datasheet)"
    )
    yield (
        f"  eager      {e.eager_kernels} kernels, each a pass, {_amount(e.eager_traffic)}B = "
        f"{e.formulas['eager traffic']}: {e.eager_traffic / e.traffic:.1f} times the bytes"
    )
    yield ""
    yield "schedules (predicted at sizes rounded up to powers of two)"
    for s in e.schedules:
        never = "no row needs it" if s.kind == "split" else "no config holds a row"
        time = never if s.microseconds is None else f"{s.microseconds:8.1f} us"
        passes = "1 pass" if s.passes == 1 else f"{s.passes} passes"
        again = f", {_amount(s.read_again)}B read again" if s.read_again else ""
        special = _amount(s.special).strip()
        stage = f"{s.stage}: " if e.schedules[-1].stage > 1 else ""
        yield f"  {stage}{s.kind:6} {time}  {s.config}; {passes}{again}; {special} special functions"
    yield f"  choice: {e.choice}"
    for note in e.notes:
        yield f"  {note}"
    for kind in dict.fromkeys(c.kind for c in e.space):
        yield ""
        yield f"{kind} configs: shared memory, registers, programs an SM, occupancy"
        for c in e.space:
            if c.kind == kind and c.verdict == "kept":
                yield f"  {_row(c)}"
                yield from (f"      {_record(v, r)}" for v, r in c.compiled.items())
                if not any(said["complete"] for said in c.compiled.values()):
                    yield "      unproven: no record of the compiler"
        if rejected:
            for c in e.space:
                if c.kind == kind and c.verdict != "kept":
                    yield f"  rejected {c.config}: {c.verdict}"


def _row(c: ConfigFacts) -> str:
    return (
        f"{c.config:40} {c.shared:7} B {c.registers:4} registers {c.programs:3} programs "
        f"{100 * c.occupancy:4.0f}%"
    )


def _record(version: str, said: Mapping[str, Any]) -> str:
    if said["rejected"]:
        return f"Triton {version}: {said['rejected']}"
    part = "" if said["complete"] else "; not all kernels"
    spill = f"{said['spill']} B spilled"
    if said["spill"]:
        spill += ", the fastest all the same" if said["fastest"] else ": only where no other fits"
    return f"Triton {version}: {said['shared']} B, {said['registers']} registers, {spill}{part}"


def _amount(number: float) -> str:
    """A count with a prefix: 1.23 G."""
    for prefix, unit in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= unit:
            return f"{number / unit:.2f} {prefix}"
    return f"{number:.0f} "
