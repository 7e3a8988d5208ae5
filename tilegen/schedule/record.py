"""What the manifest keeps of an op's search: the configs considered, each with its verdict."""

from collections.abc import Sequence
from typing import Any

from tilegen.analysis.cost import cost, plain
from tilegen.analysis.eager import eager
from tilegen.build import BuiltOp
from tilegen.families.program import Program, Schedule
from tilegen.schedule.demand import Demand, demands
from tilegen.schedule.search import Key, Values, considered
from tilegen.schedule.space import kept, keys
from tilegen.targets import TARGETS, Target


def manifest_entry(op: BuiltOp, targets: Sequence[Target] = TARGETS) -> dict[str, Any]:
    """Costs in closed form, and the search of each kind of schedule, as plain data.

    `search` maps a kind to what was considered: for each class and element size, configs (as
    `TILE/num_warps`) by verdict: kept ones, and those rejected by each budget. The
    reasons with their numbers follow from `space.verdicts`; `tilegen explain` prints them.
    """
    programs = [program for variant in op.variants for program in variant.programs]
    by_op = eager(op.traced.variants[0].graph)
    return {
        "cost": [
            {schedule.kind: _cost(program, schedule) for schedule in program.schedules}
            for program in op.variants[0].programs
        ],
        "eager": {"kernels": by_op.kernels, "bytes": str(plain(by_op.bytes))},
        "search": {
            kind: _search(demand, keys(tuple(targets)))
            for kind, demand in demands(programs).items()
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


def _search(demand: Demand, keys: tuple[Key, ...]) -> list[dict[str, Any]]:
    """Rows of equal verdicts, each with the classes and sizes that it holds for."""
    rows: dict[tuple[str, ...], list[str]] = {}
    verdicts: dict[tuple[str, ...], dict[str, str]] = {}
    for key, chosen in kept(demand, keys).items():
        found = _by_verdict(demand, key, chosen)
        row = (*found, *found.values())
        verdicts[row] = found
        rows.setdefault(row, []).append(f"{key.target.architecture}/{key.size}")
    return [{"for": " ".join(served), **verdicts[row]} for row, served in rows.items()]


def _by_verdict(demand: Demand, key: Key, chosen: Sequence[Values]) -> dict[str, str]:
    found: dict[str, list[str]] = {"kept": []}
    for verdict in considered(demand, key):
        why = "kept" if verdict.values in chosen else verdict.reason.split(":")[0] or "rank"
        found.setdefault(why, []).append("/".join(str(value) for _, value in verdict.values))
    return {why: " ".join(configs) for why, configs in found.items()}
