"""What the manifest keeps of an op's search: the configs considered, each with its verdict."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from tilegen.analysis.cost import cost, plain
from tilegen.analysis.eager import eager
from tilegen.build import BuiltOp
from tilegen.families.program import Program, Schedule
from tilegen.schedule.demand import Demand, demands
from tilegen.schedule.proof import UNPROVEN, Proofs, Said
from tilegen.schedule.search import Key, Values, considered
from tilegen.schedule.space import NO_PROOFS, kept, keys, proven
from tilegen.targets import TARGETS, Target


def manifest_entry(
    op: BuiltOp, targets: Sequence[Target] = TARGETS, proofs: Proofs = NO_PROOFS
) -> dict[str, Any]:
    """Costs in closed form, and the search behind each table of configs, as plain data.

    `search` maps a table to what was considered: for each class and element size, configs (as
    `TILE/num_warps`) by verdict: kept ones (with those of them that have no record of the compiler
    or spill), and those rejected by each budget or by the compiler. What the compiler said stands
    in `removed`; all other reasons with their numbers follow from `space.verdicts`, and
    `tilegen explain` prints them.
    """
    programs = op.programs
    by_op = eager(op.traced.variants[0].graph)
    return {
        "cost": [
            {schedule.kind: _cost(program, schedule) for schedule in program.schedules}
            for program in op.variants[0].programs
        ],
        "eager": {"kernels": by_op.kernels, "bytes": str(plain(by_op.bytes))},
        "search": {
            table: _search(demand, keys(tuple(targets)), proofs)
            for table, demand in demands(programs).items()
        },
    }


def _cost(program: Program, schedule: Schedule) -> dict[str, Any]:
    found = cost(program, schedule)
    texts = {
        "read": found.read,
        "written": found.written,
        "read_again": found.again,
        "workspace": found.workspace,
        "flops": found.flops,
        "special": found.special,
    }
    return {name: str(plain(e)) for name, e in texts.items() if e} | {"passes": found.passes}


def _search(demand: Demand, keys: tuple[Key, ...], proofs: Proofs) -> list[dict[str, Any]]:
    """Rows of equal verdicts, each with the classes and sizes that it holds for."""
    rows: dict[tuple[Any, ...], list[str]] = {}
    verdicts: dict[tuple[Any, ...], dict[str, Any]] = {}
    stand = proven(demand, keys, proofs)
    for key, chosen in kept(demand, keys).items():
        found = _by_verdict(demand, key, chosen, stand[key])
        removed = {
            _short(values): proofs.of(demand.table, key, values).fault
            for values in chosen
            if values not in stand[key]
        }
        row = (*found, *found.values(), *removed.items())
        verdicts[row] = found | ({"removed": removed} if removed else {})
        rows.setdefault(row, []).append(f"{key.target.architecture}/{key.size}")
    return [{"for": " ".join(served), **verdicts[row]} for row, served in rows.items()]


def _by_verdict(
    demand: Demand, key: Key, chosen: tuple[Values, ...], stand: Mapping[Values, Said]
) -> dict[str, str]:
    found: dict[str, list[str]] = {"kept": [_short(values) for values in stand]}
    groups = {
        "unproven": [values for values, said in stand.items() if said == UNPROVEN],
        "spills": [values for values, said in stand.items() if said.spill],
    }
    for name, configs in groups.items():
        if configs:
            all_of_them = name == "unproven" and len(configs) == len(stand)
            found[name] = ["all"] if all_of_them else [_short(values) for values in configs]
    return {why: " ".join(configs) for why, configs in found.items()} | _refused(
        demand, key, chosen
    )


@cache
def _refused(demand: Demand, key: Key, chosen: tuple[Values, ...]) -> dict[str, str]:
    """The configs that the search did not keep, by what was against them."""
    found: dict[str, list[str]] = {}
    for verdict in considered(demand, key):
        if verdict.values not in chosen:
            why = verdict.reason.split(":")[0] or "rank"
            found.setdefault(why, []).append(_short(verdict.values))
    return {why: " ".join(configs) for why, configs in found.items()}


@cache
def _short(values: Values) -> str:
    return "/".join(str(value) for _, value in values)
