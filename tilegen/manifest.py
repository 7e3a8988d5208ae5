"""The manifest of a folder of modules: where each came from, and the hash it was written with.

It is JSON with a stable order, so that a diff shows what changed and nothing else.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tilegen.build import BuiltOp
from tilegen.families.program import Program
from tilegen.ir import types
from tilegen.render.module import short_hash
from tilegen.render.parts import RenderedVariant
from tilegen.schedule.proof import Proofs
from tilegen.schedule.record import manifest_entry
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
        **manifest_entry(op, targets, proofs),
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
