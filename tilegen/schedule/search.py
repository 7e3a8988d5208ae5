"""The search: enumerate configs, reject with a reason, rank by predicted time, keep a few.

No one config is best for all shapes, so what is kept is a portfolio: greedily, the config that
brings the predicted times at representative shapes nearest to the best of all, until six are kept.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, NamedTuple

from tilegen.analysis.statements import VECTOR_BYTES
from tilegen.schedule.budgets import Limits, Tile, limits, registers
from tilegen.schedule.config import Config
from tilegen.schedule.demand import Demand
from tilegen.schedule.kinds import Kind
from tilegen.schedule.predict import MOST_REGISTERS, Work, programs_resident
from tilegen.targets import Target

#: Configs of one kernel kind, architecture class and element size that stand in a module.
MOST_KEPT: Final = 6
#: Stands for the time of a row that a config cannot hold: worse than any time of the others.
UNFIT: Final = 1e6
#: A config this many times as slow as the best is of no use at a shape.
FAR: Final = 2.0
#: Wider rows of an op without a loop are refused. Up to here configs that spill are kept, if no
#: other holds the row.
WIDEST_BLOCK: Final = 32_768

Values = tuple[tuple[str, int], ...]
"""A config as pairs, in the order that a module prints."""


class Verdict(NamedTuple):
    """One config, what it needs, and whether it is kept; `reason` says why not.

    Attributes:
        values: tile sizes and compiler options, in the order that a module prints.
        shared: predicted shared memory of a program, bytes.
        registers: predicted registers of a thread.
        kept: it stands in the module.
        spills: by `Said.spills`, what goes before it.
        proven: registers of a thread, by the compiler; 0 if that is not known.
        reason: of a rejection; empty for a kept config.
    """

    values: Values
    shared: int
    registers: int
    kept: bool = False
    spills: int = 0
    proven: int = 0
    reason: str = ""

    @property
    def config(self) -> Config:
        """As the cost functions take it."""
        return dict(self.values) | ({"registers": self.proven} if self.proven else {})


@dataclass(frozen=True, eq=False, slots=True)
class Key:
    """An architecture class and an element size in bytes, with the GPU that stands for it.

    Compared by identity: targets are large, and keys are looked up often.

    Attributes:
        like: another key of this size, whose GPU has the same limits.
    """

    target: Target
    size: int
    like: "Key | None" = None

    @property
    def alike(self) -> "Key":
        """One key for all that have the same limits."""
        return self.like or self

    @property
    def limits(self) -> tuple[int, ...]:
        """All that a config must fit."""
        target = self.target
        return (
            self.size, target.warp_size, target.registers_per_sm, target.shared_per_program,
            target.shared_per_sm, target.max_threads_per_sm, target.max_threads_per_program,
        )  # fmt: skip


def considered(demand: Demand, key: Key) -> tuple[Verdict, ...]:
    """All configs for a key; those without a reason fit the GPU.

    Where wider rows have no other schedule, those that spill least are let through for them.
    """
    return _considered(_budgeted(demand), key.alike)


@cache
def _budgeted(demand: Demand) -> Demand:
    """A demand without what the budgets do not ask for."""
    work = demand.work
    budgeted = Work(0, 0, 0, held=work.held, held_wide=work.held_wide)
    if demand.kind.pipelined:
        budgeted = budgeted._replace(reads=work.reads, rereads=work.rereads)
    return replace(demand, table="", work=budgeted)


def fitting(demand: Demand, key: Key) -> frozenset[Values]:
    """The configs that fit the GPU."""
    return _fitting(_budgeted(demand), key.alike)


@cache
def _fitting(demand: Demand, key: Key) -> frozenset[Values]:
    return frozenset(v.values for v in _considered(demand, key) if not v.reason)


@cache
def _considered(demand: Demand, key: Key) -> tuple[Verdict, ...]:
    """The same; all ops that ask the same of the budgets share it."""
    tiles = demand.kind.tried("TILE")
    found = [
        verdict
        for warps in demand.kind.tried("num_warps")
        for elements in tiles
        for verdict in _judged(demand, tile_of(demand, key, elements, warps))
    ]
    if demand.only:
        saved = _last_resort(found, tiles, key.target)
        found = [v._replace(reason="") if v in saved else v for v in found]
    return tuple(found)


@cache
def by_values(demand: Demand, key: Key) -> dict[Values, Verdict]:
    """The same by their values."""
    return {verdict.values: verdict for verdict in considered(demand, key)}


def tile_of(demand: Demand, key: Key, elements: int, warps: int) -> Tile:
    """A tile of a schedule as budgets see it."""
    shared_row = demand.shared_row
    return Tile(demand.work, key.target, key.size, warps, elements, shared_row=shared_row)


def _judged(demand: Demand, tile: Tile) -> Iterator[Verdict]:
    """The configs of a tile and warps, with the reason if one does not fit.

    Without programs or stages in the kind, these are no part of a config.
    """
    target, kind = tile.target, demand.kind
    needed = registers(tile)
    most = limits(kind.shared, tile)
    unfit = _refusal(kind, tile, most, needed)
    for programs in kind.tried("PROGRAMS") or (0,):
        given = {"TILE": tile.elements, "PROGRAMS": programs, "num_warps": tile.warps}
        for stages in kind.tried("num_stages") or (0,):
            given["num_stages"] = stages
            values: Values = tuple(pair for pair in given.items() if pair[1])
            shared = kind.shared.need(tile._replace(stages=stages))
            reason = unfit
            if not reason and (tile.elements > most.shared or shared > target.shared_per_program):
                reason = f"shared memory: {shared} B of at most {target.shared_per_program}"
            if programs and not reason:
                at_once = programs_resident(target, tile.threads, needed, shared)
                if programs > at_once:
                    reason = f"programs: {programs} an SM of at most {at_once} at once"
            yield Verdict(values, shared, needed, reason=reason)


def _refusal(kind: Kind, tile: Tile, most: Limits, needed: int) -> str:
    """What is against a tile and warps, whatever shared memory they need."""
    size, threads, elements = tile.size, tile.threads, tile.elements
    if threads > tile.target.max_threads_per_program:
        return f"threads: {threads} of at most {tile.target.max_threads_per_program}"
    if elements * size < threads * min(VECTOR_BYTES, 8 * size):
        return f"loads: {elements * size // threads} bytes a thread, too few for a wide one"
    most_elements = kind.elements or VECTOR_BYTES // size
    if elements > most_elements * threads:
        return f"elements: {elements // threads} a thread of at most {most_elements}"
    if elements > most.registers:
        return (
            f"registers: {needed} a thread of at most {most.most_registers} "
            f"(a tile of at most {most.registers:.0f} elements)"
        )
    return ""


@cache
def wider(demand: Demand, key: Key) -> tuple[Values, ...]:
    """Configs that may spill a little for rows twice as wide as others hold, if that pays; or none.

    Of those with the most loads in flight the one whose threads lack the fewest registers together,
    with the fewest programs.
    """
    target, kind = key.target, demand.kind
    if not kind.lacks:
        return ()
    held = max((dict(values)["TILE"] for values in fitting(demand, key)), default=0)

    def lacking(verdict: Verdict) -> int:
        return _lacking(verdict, target) * verdict.config["num_warps"] * target.warp_size

    def rank(verdict: Verdict) -> tuple[int, int]:
        return lacking(verdict), verdict.config["PROGRAMS"]

    found = [
        v
        for v in considered(demand, key)
        if v.config["TILE"] == 2 * held
        and v.config["num_stages"] == max(kind.tried("num_stages"))
        and v.shared <= target.shared_per_program
        and v.reason.startswith("registers")
        and lacking(v) <= kind.lacks
    ]
    return (min(found, key=rank).values,) if found else ()


def _lacking(verdict: Verdict, target: Target) -> int:
    """Registers that a thread needs and has not."""
    threads = verdict.config["num_warps"] * target.warp_size
    return verdict.registers - min(MOST_REGISTERS, target.registers_per_sm // threads)


def _last_resort(found: Sequence[Verdict], tiles: Sequence[int], target: Target) -> list[Verdict]:
    """Configs that spill, for rows that no other config holds: those that spill least."""
    widest = max((v.config["TILE"] for v in found if not v.reason), default=0)

    def spilled(verdict: Verdict) -> tuple[int, int]:
        return _lacking(verdict, target), verdict.config["num_warps"]

    saved = []
    for tile in tiles:
        if widest < tile <= WIDEST_BLOCK:
            spilling = [
                v
                for v in found
                if v.config["TILE"] == tile and v.reason.split(":")[0] in ("registers", "elements")
            ]
            saved.append(min(spilling, key=spilled))
    return saved


def predicted(
    demand: Demand, key: Key, config: Config, rows: int, columns: int
) -> float:  # fmt: skip
    """Seconds of a config at one shape."""
    return demand.kind.cost(config, key.target, demand.work, key.size, rows, columns)


@cache
def slowness(demand: Demand, key: Key) -> dict[Values, tuple[float, ...]]:
    """Of each config that fits: its predicted time at each shape, in that of the best config."""
    shapes, cost = demand.kind.shapes, demand.kind.cost
    target, work, size = key.target, demand.work, key.size
    times = {}
    for verdict in considered(demand, key):
        if not verdict.reason:
            config = dict(verdict.values)
            times[verdict.values] = [cost(config, target, work, size, *s) for s in shapes]
    best = [min(at) for at in zip(*times.values(), strict=True)]
    return {
        values: tuple(
            min(UNFIT, a / b) if b < math.inf else 1.0 for a, b in zip(own, best, strict=True)
        )
        for values, own in times.items()
    }


def portfolio(
    slow: Mapping[Values, Sequence[float]], *, general: bool = False
) -> tuple[Values, ...]:  # fmt: skip
    """At most six configs that together come near the best at all shapes, in order of their worth.

    Once no other brings them nearer, the smallest follow; or, if `general`, those that are near the
    best at most shapes: what is measured may differ from what is predicted.
    """
    alone = dict.fromkeys(slow, 0.0)
    if general:
        alone = {values: sum(min(ratio, FAR) for ratio in own) for values, own in slow.items()}
    left = dict(slow)
    chosen: list[Values] = []
    now: Sequence[float] = [UNFIT] * len(next(iter(slow.values()), ()))
    while left and len(chosen) < MOST_KEPT:
        best = min((sum(map(min, now, own)), alone[v], v) for v, own in left.items())[2]
        chosen.append(best)
        now = list(map(min, now, left.pop(best)))
    return tuple(chosen)


def worse(
    slow: Mapping[Values, Sequence[float]], other: Sequence[Values], own: Sequence[Values]
) -> float:
    """How much slower `other` is than `own` where it is worst; infinity if one of it does not fit."""
    if not own or not other or any(values not in slow for values in other):
        return math.inf
    times = [
        [min(at) for at in zip(*(slow[values] for values in configs), strict=True)]
        for configs in (other, own)
    ]
    return float(max(theirs - ours for theirs, ours in zip(*times, strict=True)))


def outranked(demand: Demand, key: Key, verdict: Verdict) -> str:
    """How near a config comes to the best of its shapes."""
    ratios = slowness(demand, key)[verdict.values]
    at = min(range(len(ratios)), key=lambda place: ratios[place])
    rows, columns = demand.kind.shapes[at]
    shape = f"{rows}x{columns}" if demand.kind.rows else f"{columns} elements"
    return f"rank: at most {1 / ratios[at]:.3f} of the best predicted speed (at {shape})"
