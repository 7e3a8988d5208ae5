"""The autotune spaces of an op: its table for the module, and all that was considered."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from tilegen.analysis.statements import ELEMENT_SIZES
from tilegen.families.program import Program
from tilegen.schedule.budgets import NONE
from tilegen.schedule.demand import USUAL_SIZE, Demand, demands
from tilegen.schedule.kinds import KINDS
from tilegen.schedule.proof import Proofs, Said
from tilegen.schedule.search import (
    MOST_KEPT,
    Key,
    Values,
    Verdict,
    by_values,
    considered,
    fitting,
    outranked,
    portfolio,
    slowness,
    wider,
    worse,
)
from tilegen.targets import Target, architectures

#: Sizes share a row if no shape loses more than this share of the best time: less than the model
#: can tell apart, and it keeps tables short.
SAME: Final = 0.08
WORD: Final = 4
"""Bytes of a register."""


@dataclass(frozen=True, slots=True)
class ConfigText:
    """One config and what its comment says."""

    text: str
    note: str


@dataclass(frozen=True, slots=True)
class SpaceRow:
    """Configs, and the architecture classes and element sizes that they serve."""

    name: str
    configs: tuple[ConfigText, ...]
    serves: tuple[tuple[tuple[str, ...], tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class Space:
    """A table of configs."""

    name: str
    doc: str
    rows: tuple[SpaceRow, ...]


#: Of an op that was never compiled.
NO_PROOFS: Final = Proofs()


def spaces(
    programs: Sequence[Program], targets: Sequence[Target], proofs: Proofs = NO_PROOFS
) -> tuple[Space, ...]:
    """The tables of an op: those of the forward first, each in the order of `KINDS`."""

    def place(demand: Demand) -> tuple[bool, int]:
        return demand.table != demand.kind.name, list(KINDS).index(demand.kind.name)

    classes = keys(tuple(targets))
    asked = sorted(demands(programs).values(), key=place)
    return tuple(_space(demand, classes, proofs) for demand in asked)


@cache
def keys(targets: tuple[Target, ...]) -> tuple[Key, ...]:
    """All keys of a table. One GPU stands for a class: the tightest budgets, else a measured one."""
    classes = [[t for t in targets if t.architecture == name] for name in architectures(targets)]
    chosen = [
        min(of, key=lambda t: (t.shared_per_program, t.registers_per_sm, t.measured_copy is None))
        for of in classes
    ]
    found: dict[tuple[int, ...], Key] = {}
    made = []
    for target, size in itertools.product(chosen, ELEMENT_SIZES):
        key = Key(target, size)
        made.append(replace(key, like=found.get(key.limits)))
        found.setdefault(key.limits, made[-1])
    return tuple(made)


@cache
def kept(demand: Demand, keys: tuple[Key, ...]) -> dict[Key, tuple[Values, ...]]:
    """The configs that stand in the module for each key.

    Keys of one maker and element size are ranked together, at a GPU with a measured copy rate, else
    at that with the most bandwidth for an SM, which is the hardest to keep busy. A class that one of
    those configs does not fit is ranked by itself.
    Element sizes share a row where that costs less than the model can tell.
    """
    general = demand.kind.pipelined
    found: dict[Key, tuple[Values, ...]] = {}
    groups: dict[tuple[str, int], list[Key]] = {}
    for size in sorted(ELEMENT_SIZES, key=lambda size: abs(size - USUAL_SIZE)):
        for key in keys:
            if key.size == size:
                groups.setdefault((key.target.backend, size), []).append(key)
    for group in groups.values():
        slow = slowness(demand, max(group, key=_rank))
        own = portfolio(slow, general=general)
        for other in dict.fromkeys(found.values()):
            if worse(slow, other, own) <= SAME:
                own = other
                break
        for key in group:
            fits = fitting(demand, key)
            good = (
                own and fits.issuperset(own) and (not demand.only or _widest(fits) == _widest(own))
            )
            found[key] = (
                own if good else portfolio(_ranked(demand, key, slow, fits), general=general)
            )
    return {key: tuple(sorted(_with_wider(demand, key, found[key]))) for key in keys}


def _with_wider(demand: Demand, key: Key, chosen: tuple[Values, ...]) -> tuple[Values, ...]:
    """The configs, with one for wider rows in place of that of least worth, if there is one."""
    other = wider(demand, key)
    return (*chosen[: MOST_KEPT - len(other)], *other)


def _ranked(
    demand: Demand, key: Key, slow: Mapping[Values, tuple[float, ...]], fits: Collection[Values]
) -> Mapping[Values, tuple[float, ...]]:
    """Slowness at a key that the configs of its group do not fit.

    Where loads are staged, classes differ in shared memory more than in what is fast: those that
    fit are taken as they were ranked for the group.
    """
    left = {values: ratios for values, ratios in slow.items() if values in fits}
    return left if demand.kind.pipelined and left else slowness(demand, key)


def _widest(configs: Collection[Values]) -> int:
    return max((dict(values)["TILE"] for values in configs), default=0)


def _rank(key: Key) -> tuple[bool, float]:
    target = key.target
    return target.measured_copy is not None, target.bandwidth / target.multiprocessors


@cache
def proven(demand: Demand, keys: tuple[Key, ...], proofs: Proofs) -> dict[Key, dict[Values, Said]]:
    """What stands in the module for each key, with what the compiler said of it.

    Records only take configs out, or put those that spill behind all others.
    """
    found = {}
    for key, chosen in kept(demand, keys).items():
        said = {values: _said(demand, key, values, proofs) for values in chosen}
        stay = [values for values in chosen if not said[values].fault]
        found[key] = {values: said[values] for values in sorted(stay, key=lambda v: said[v].spills)}
    return found


def _said(demand: Demand, key: Key, values: Values, proofs: Proofs) -> Said:
    """What the compiler said of a config; where that pays, it may spill a little."""
    said = proofs.of(demand.table, key, values)
    if not demand.kind.lacks:
        return said
    threads = dict(values)["num_warps"] * key.target.warp_size
    allowed = WORD * demand.kind.lacks // threads
    return replace(said, allowed=allowed, wider=values in wider(demand, key))


def verdicts(
    demand: Demand, key: Key, keys: tuple[Key, ...], proofs: Proofs = NO_PROOFS
) -> tuple[Verdict, ...]:
    """All configs considered for a key: kept, or with the reason why not."""
    chosen = kept(demand, keys)[key]
    return tuple(
        _verdict(verdict, _said(demand, key, verdict.values, proofs))
        if verdict.values in chosen
        else verdict
        if verdict.reason
        else verdict._replace(reason=outranked(demand, key, verdict))
        for verdict in considered(demand, key)
    )


def _verdict(verdict: Verdict, said: Said) -> Verdict:
    """One of the best, unless the compiler is against it."""
    if said.fault:
        return verdict._replace(reason=f"compiler: {said.fault}")
    return verdict._replace(kept=True, spills=said.spills, proven=said.held, reason="")


def _space(demand: Demand, keys: tuple[Key, ...], proofs: Proofs) -> Space:
    name = demand.table.upper()
    by_row: dict[tuple[tuple[Values, int, bool, int], ...], list[Key]] = {}
    found = proven(demand, keys, proofs)
    for key, configs in found.items():
        row = tuple((v, said.spills, said.fastest, said.held) for v, said in configs.items())
        by_row.setdefault(row, []).append(key)
    rows = []
    for place, (row, served) in enumerate(by_row.items(), 1):
        texts = tuple(
            ConfigText(
                _text(values, spills, held),
                _note(demand, values, {key: found[key][values] for key in served}),
            )
            for values, spills, _, held in row
        )
        rows.append(SpaceRow(f"_{name}_{place}", texts, _rectangles(served)))
    return Space(f"{name}_CONFIGS", demand.kind.doc, tuple(rows))


def _rectangles(keys: Sequence[Key]) -> tuple[tuple[tuple[str, ...], tuple[int, ...]], ...]:
    """Keys as products of architecture classes and element sizes."""
    sizes: dict[tuple[str, ...], list[int]] = {}
    for size in ELEMENT_SIZES:
        classes = tuple(key.target.architecture for key in keys if key.size == size)
        if classes:
            sizes.setdefault(classes, []).append(size)
    return tuple((classes, tuple(of)) for classes, of in sizes.items())


def _text(values: Values, spills: int, held: int) -> str:
    given = [f"{name}={value}" for name, value in values]
    said = [f"registers={held}"] * bool(held) + [f"spills={spills}"] * bool(spills)
    return f"Config({', '.join(given + said)})"


def _note(demand: Demand, values: Values, served: Mapping[Key, Said]) -> str:
    """The most that the config needs for any key that it serves, and where that is unproven."""
    known = [said for said in served.values() if said.complete and not said.rejected]
    if not known:
        most = max(by_values(demand, key)[values].shared for key in served)
        return f"{'' if demand.kind.shared is NONE else 'at most '}{most} B shared, unproven"
    spill = max(said.spill for said in known)
    needs = f"{max(s.shared for s in known)} B shared"
    registers = max(s.registers for s in known)
    if any(s.held != registers for s in known):  # else the config says so
        needs += f", {registers} registers" + " in split rows" * any(s.held for s in known)
    if spill:
        needs += f", {spill} B spilled" + ", fastest" * known[0].fastest
    classes = dict.fromkeys(key.target.architecture for key in served)
    unproven = {key.target.architecture for key, said in served.items() if not said.complete}
    if not unproven:
        return needs
    proven = [name for name in classes if name not in unproven]
    if len(proven) == 1:
        return f"{needs} on {proven[0]}, else unproven"
    if len(unproven) == 1:
        return f"{needs}, unproven on {min(unproven)}"
    return f"{needs}, unproven in part"
