"""The manifest of a folder of modules: where each came from, and the hash it was written with.

It is JSON with a stable order, so that a diff shows what changed and nothing else.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from tilegen.analysis.cost import cost, plain
from tilegen.analysis.eager import eager
from tilegen.build import BuiltOp
from tilegen.families.program import Program, Schedule
from tilegen.ir import types
from tilegen.render.module import short_hash
from tilegen.render.parts import RenderedVariant
from tilegen.schedule.demand import Demand, demands
from tilegen.schedule.proof import Proofs, Said
from tilegen.schedule.search import Key, Values, considered
from tilegen.schedule.space import kept, keys, proven
from tilegen.targets import Target
from tilegen.version import VERSION


def entry(op: BuiltOp, targets: Sequence[Target], proofs: Proofs) -> dict[str, Any]:
    """What the manifest says of one op, besides its file's hash."""
    return {
        "spec": op.loaded.shown,
        "spec_hash": short_hash(op.traced.source.text),
        "file": module_file(op.traced.name),
        "family": op.traced.spec.family,
        "variants": [_variant(variant) for variant in op.variants],
        **_considered(op, targets, proofs),
    }


def module_file(name: str) -> str:
    """The file of an op."""
    return f"{name}.py"


def _variant(variant: RenderedVariant) -> dict[str, Any]:
    """One combination of specialising arguments and its stages."""
    return {
        "key": list(variant.key),
        "internal": [output.name for output in variant.internal],
        "stages": [_stage(program) for program in variant.programs],
    }


def _stage(program: Program) -> dict[str, Any]:
    """The ways to compute one stage."""
    return {
        "rows": list(program.rows),
        "columns": list(program.columns),
        "schedules": [
            {
                "kind": schedule.kind,
                "kernels": [kernel.name for kernel in schedule.kernels],
                "passes": schedule.passes,
            }
            for schedule in program.schedules
        ],
        "notes": list(program.notes),
    }


def _considered(op: BuiltOp, targets: Sequence[Target], proofs: Proofs) -> dict[str, Any]:
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
        "unproven": [values for values, said in stand.items() if said.unknown],
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


def manifest_text(
    ops: Mapping[str, Any], files: Mapping[str, str], targets: Sequence[Target], templates: str
) -> str:
    """The manifest as JSON.

    Args:
        ops: entries by op.
        files: the hash of every file of the folder, by name.
        targets: the GPUs that the folder was built for; what dtypes they lack is said.
        templates: the hash of the templates.
    """
    content = {
        "tilegen": VERSION,
        "templates": templates,
        "targets": [target.name for target in targets],
        "rejected": {
            target.name: f"no {', '.join(lacks)} on {target.architecture}"
            for target in targets
            if (lacks := [t.name for t in types.STORAGE if t.name not in target.dtypes])
        },
        "files": dict(sorted(files.items())),
        "ops": dict(sorted(ops.items())),
    }
    return json.dumps(content, indent=1) + "\n"
