"""The last step of a build: configs in the light of what the compiler said of their kernels.

`tilegen compile` leaves records beside the modules. One holds while the text of its kernel is what
was compiled, so that kernels are rendered and formatted first, and the tables of configs after.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from tilegen import records
from tilegen.build import BuiltOp
from tilegen.manifest import module_file
from tilegen.paths import template_folder
from tilegen.render.runtime import RUNTIME, render_runtime
from tilegen.render.tables import render_tables, with_tables
from tilegen.render.writer import format_python
from tilegen.schedule.proof import Proofs, proofs
from tilegen.schedule.space import spaces
from tilegen.targets import Target, architectures


def prove(
    built: Iterable[BuiltOp],
    files: dict[str, str],
    runtime: str,
    out: Path,
    targets: Sequence[Target],
) -> dict[str, Proofs]:
    """Bring the tables of modules up to the records in a folder.

    Args:
        built: ops.
        files: their formatted modules, by name; those with records change.
        runtime: the formatted runtime beside them.
        out: the folder.
        targets: that they were built for.

    Returns:
        What the records say, by op.
    """
    stored = {name: records.read(out, name) for name in architectures(targets)}
    found, tables = {}, {}
    for op in built:
        name = module_file(op.traced.name)
        found[op.traced.name] = own = _proofs(op, files[name], runtime, stored)
        if any(entries for versions in own.stored.values() for entries in versions.values()):
            tables[name] = render_tables(spaces(op.programs, targets, own))
    for name, text in format_python(tables).items() if tables else ():
        files[name] = with_tables(files[name], text)
    return found


def proofs_of(op: BuiltOp, out: Path, targets: Sequence[Target]) -> Proofs:
    """What the records in a folder say of one op, as it would be built now."""
    runtime = render_runtime([asdict(target) for target in targets], template_folder())
    files = format_python({RUNTIME: runtime, "module.py": op.text})
    stored = {name: records.read(out, name) for name in architectures(targets)}
    return _proofs(op, files["module.py"], files[RUNTIME], stored)


def _proofs(
    op: BuiltOp, module: str, runtime: str, stored: Mapping[str, records.Records]
) -> Proofs:
    if not any(stored.values()):
        return Proofs()
    hashes = records.kernel_hashes(module, runtime)
    return proofs(op.traced.name, op.programs, stored, hashes)
