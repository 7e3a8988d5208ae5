"""What the kernels of a schedule ask of a GPU, for one element: the input of the search."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from tilegen.analysis.statements import VECTOR_BYTES, Pass, Shape, passes
from tilegen.families.program import Program, Schedule
from tilegen.ir.types import DType
from tilegen.schedule.kinds import KINDS, Kind
from tilegen.schedule.predict import Work

#: Element size at which the cost of tensors with a type of their own is expressed.
USUAL_SIZE = 2
#: Of what lives in the body of a loop, the compiler holds this share at once (layernorm and
#: add_rmsnorm, 32 and 64 elements a thread); with blocks loaded ahead it is more (softmax).
LOOP_HOLDS, AHEAD_HOLDS = 0.6, 1.4
#: The same where a loop carries sums of tiles (gradient of an RMS norm in rows of 8192 and 16384).
CARRY_HOLDS = 0.85


@dataclass(frozen=True, slots=True)
class Demand:
    """What the search knows of the schedules that share a table of configs.

    Attributes:
        table: names the table ("block", "backward_block").
        kind: that the table is of.
        work: for one element of the tile.
        shared_row: whether rows of a tile share a tensor, which may change its layout.
        only: whether wider rows have no other schedule.
    """

    table: str
    kind: Kind
    work: Work
    shared_row: bool = False
    only: bool = False


@cache
def work_of(program: Program, schedule: Schedule) -> Work:
    """What one element of a tile costs, all kernels of the schedule together."""
    graph = program.graph
    found = [one for kernel in schedule.kernels for one in passes(kernel, graph.operands)]
    wide = _from_memory(program)
    reads: Counter[str] = Counter()
    every: Counter[str] = Counter()
    writes: Counter[str] = Counter()
    for one in found:
        loads = _wide(one, wide, store=False)
        reads |= loads  # the most in one pass
        every += loads
        writes += _wide(one, wide, store=True)
    types = {operand.name: operand.dtype for operand in graph.operands}
    types |= {output.name: output.dtype for output in graph.outputs}
    size = {name: _relative(dtype) for name, dtype in types.items()}
    read = sum(size[name] * count for name, count in reads.items())
    again = sum(size[name] * count for name, count in every.items()) - read
    if KINDS[schedule.kind].pipelined:  # what rows share, and each step loads
        shared = (a for one in found for a in one.accesses if not a.store and a.tensor not in wide)
        again += sum(size[a.tensor] for a in shared if a.shape is Shape.ELEMENT)
    looping = [one for one in found if one.loops]
    share = CARRY_HOLDS if KINDS[schedule.kind].pipelined else 1.0
    return Work(
        reads=read,
        writes=sum(size[name] * count for name, count in writes.items()),
        flops=sum(_each(one.flops) for one in found),
        special=sum(_each(one.special) for one in found),
        rereads=again,
        joins=sum(one.reductions for one in found),
        passes=max(1, len(looping)),
        ahead=int(any(one.ahead for one in found)),
        held=max(share * _held(one, USUAL_SIZE) for one in found),
        held_wide=max(share * _held(one, 4) for one in found),
    )


def demands(programs: Sequence[Program]) -> dict[str, Demand]:
    """By table, the most that any variant of an op asks of its configs.

    Only schedules of the kind that a table is named for count: split rows have the loop's configs.
    """
    users: dict[str, list[tuple[Program, Schedule]]] = {}
    for program in programs:
        for schedule in program.schedules:
            if KINDS[schedule.kind].doc:
                users.setdefault(schedule.table, []).append((program, schedule))
    return {table: _demand(table, of) for table, of in users.items()}


def _demand(table: str, users: Sequence[tuple[Program, Schedule]]) -> Demand:
    kind = KINDS[users[0][1].kind]
    shared = any(
        program.rows and operand.dims and not set(operand.dims) & set(program.rows)
        for program, _ in users
        for operand in program.graph.operands
    )
    only = kind.sole and any(len(program.schedules) == 1 for program, _ in users)
    work = _coarse(_most(work_of(program, schedule) for program, schedule in users))
    return Demand(table, kind, work, shared, only)


def works(program: Program) -> dict[str, str]:
    """By kind of schedule, its `Work` as a module writes it: without what is the default."""
    found = {}
    for schedule in program.schedules:
        work = work_of(program, schedule)
        values = [
            f"{name}={value:g}"
            for name, value in work._asdict().items()
            if value != Work._field_defaults.get(name)
        ]
        found[schedule.kind] = ", ".join(values)
    return found


def _most(works: Iterable[Work]) -> Work:
    return Work(*(max(values) for values in zip(*works, strict=True)))


def _coarse(work: Work) -> Work:
    """The same demand with rounded work, so that ops alike share one search.

    Everything is rounded up, so that budgets hold.
    """
    return work._replace(
        reads=_halves(work.reads),
        writes=_halves(work.writes),
        rereads=_halves(work.rereads),
        flops=2.0 ** math.ceil(math.log2(max(work.flops, 4))),
        special=float(math.ceil(work.special)),
        joins=min(work.joins, 2),
        held=_tenths(work.held),
        held_wide=_tenths(work.held_wide),
    )


def _held(one: Pass, size: int) -> float:
    """Words that a pass holds for an element."""
    share = (AHEAD_HOLDS if one.ahead else LOOP_HOLDS) if one.loops else 1.0
    return share * one.held[size]


def _halves(count: float) -> float:
    return math.ceil(2 * count) / 2


def _from_memory(program: Program) -> set[str]:
    """Tensors that every program reads or writes at places of its own; others stay in cache."""
    rows, columns = set(program.rows), set(program.columns)
    found = {output.name for output in program.graph.outputs}
    for operand in program.graph.operands:
        own = set(operand.dims)
        by_row = columns <= own and (own & rows or not rows)
        if by_row if columns else rows <= own:
            found.add(operand.name)
    return found


def _wide(one: Pass, tensors: set[str], *, store: bool) -> Counter[str]:
    return Counter(
        access.tensor
        for access in one.accesses
        if access.shape is Shape.ELEMENT and access.store == store and access.tensor in tensors
    )


def _relative(dtype: DType) -> float:
    """The size of an element, in that of the op's floats where these have two bytes."""
    bits = dtype.bits or {"float": 8 * USUAL_SIZE, "int": 64, "bool": 8}[dtype.kind]
    return bits / (8 * USUAL_SIZE)


def _each(counts: Mapping[Shape, int]) -> float:
    return (
        float(counts.get(Shape.ELEMENT, 0)) + counts.get(Shape.LANE, 0) * USUAL_SIZE / VECTOR_BYTES
    )


def _tenths(count: float) -> float:
    return math.ceil(round(10 * count, 6)) / 10
