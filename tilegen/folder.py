"""A folder of specs and the folder of modules that is built from it: written, or only compared.

A build owns what its manifest records, and no more:

- a spec that is gone leaves an orphan, which the next build of its folder removes;
- a spec file built by itself updates its own ops and leaves all others alone, as a folder of
  specs leaves those of another one;
- files that no build wrote are never overwritten unasked, and a user's own ``__init__.py`` stays.

The pipeline is imported only when there is something to build.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from tilegen import stamp
from tilegen.errors import TilegenError
from tilegen.paths import template_folder
from tilegen.render import writer
from tilegen.render.writer import MANIFEST, FileState, State
from tilegen.spec.load import shown, spec_files
from tilegen.targets import Target

if TYPE_CHECKING:
    from tilegen.modules import Watch

PACKAGE = "__init__.py"
PACKAGE_TEXT = '"""Kernels built by tilegen."""\n'


@dataclass(frozen=True)
class Report:
    """What a build did or, where nothing was written, would do.

    Attributes:
        ops: how many ops the folder holds.
        states: the files that the specs stand for; empty if the stamp said that all is fresh.
        touched: files that were written or removed.
        notes: what the user should know besides.
    """

    ops: int
    states: tuple[FileState, ...] = ()
    touched: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def fresh(self) -> bool:
        """Whether the folder was what the specs say before anything was written."""
        return all(state.state is State.FRESH for state in self.states)


def build_folder(
    specs: Path,
    out: Path,
    targets: Sequence[Target],
    *,
    force: bool = False,
    watch: "Watch | None" = None,
) -> Report:
    """Build a folder of specs, or one file, into the folder `out`.

    Args:
        force: overwrite what was edited by hand or is not tilegen's.
        watch: wraps the counts of spec files that are done, to show progress.

    Raises:
        BuildFailed: there are mistakes in specs. Nothing was written.
        HandEdited: a file holds somebody's own work. Nothing was written.
        TilegenError: `specs` or `out` cannot be used.
        OSError: a file cannot be read or written.
    """
    _check_paths(specs, out)
    # One file by itself cannot tell whether the rest of the folder is fresh.
    inputs = "" if specs.is_file() else stamp.input_hash(specs, out, _names(targets))
    if inputs and stamp.is_fresh(out, inputs):
        return Report(len(writer.read_manifest(out)["ops"]))
    rendered = _render(specs, out, targets, watch)
    touched = writer.write(out, rendered.files, rendered.states, force=force)
    if inputs:
        stamp.set_stamp(out, inputs, rendered.helpers)
    elif touched:
        stamp.drop_stamp(out)
    return rendered.report(touched)


def check_folder(
    specs: Path, out: Path, targets: Sequence[Target], *, watch: "Watch | None" = None
) -> Report:
    """Compare `out` with what a build would write there, and write nothing.

    Raises:
        BuildFailed: there are mistakes in specs.
        TilegenError: `specs` or `out` cannot be used.
        OSError: a file cannot be read.
    """
    _check_paths(specs, out)
    return _render(specs, out, targets, watch).report()


def _check_paths(specs: Path, out: Path) -> None:
    if not spec_files(specs):
        raise TilegenError(f"no spec files in {specs}: a spec is a .py file there")
    folder = specs if specs.is_dir() else specs.parent
    if out.resolve() == folder.resolve():
        raise TilegenError(
            f"--out {out} is the folder of the specs: give the modules one of their own"
        )
    for place in (out, *out.parents):
        if place.exists() and not place.is_dir():
            raise TilegenError(f"--out {out}: {place} is a file, not a folder")


def _names(targets: Iterable[Target]) -> list[str]:
    return [target.name for target in targets]


@dataclass(frozen=True)
class _Rendered:
    """The files of a build, the manifest last, how those on disk differ, and what specs import."""

    ops: int
    files: dict[str, str]
    states: tuple[FileState, ...]
    notes: tuple[str, ...]
    helpers: tuple[Path, ...]

    def report(self, touched: Iterable[str] = ()) -> Report:
        return Report(self.ops, self.states, tuple(touched), self.notes)


def _render(specs: Path, out: Path, targets: Sequence[Target], watch: "Watch | None") -> _Rendered:
    """Everything that a build would write, in memory."""
    from tilegen.manifest import manifest_text
    from tilegen.modules import make_modules
    from tilegen.render.module import template_hash
    from tilegen.render.runtime import RUNTIME, render_runtime

    old = writer.read_manifest(out)
    templates = template_folder()
    runtime = render_runtime([asdict(target) for target in targets], templates)
    files = writer.format_python({RUNTIME: runtime})
    made = make_modules(spec_files(specs), out, targets, files[RUNTIME], watch)
    files |= {module.file: module.text for module in made.all}
    old_files: dict[str, str] = old.get("files", {})
    if PACKAGE in old_files or _may_write_package(out / PACKAGE):
        files[PACKAGE] = PACKAGE_TEXT

    entries = {module.name: module.entry for module in made.all}
    kept = {
        name: item
        for name, item in old.get("ops", {}).items()
        if name not in entries and not _owns(specs, item["spec"])
    }
    kept_files = {item["file"]: old_files[item["file"]] for item in kept.values()}
    recorded = {name: text for name, text in old_files.items() if name not in kept_files}
    states = writer.compare(out, files, recorded)

    hashes = kept_files | {name: writer.content_hash(text) for name, text in files.items()}
    files[MANIFEST] = manifest_text(
        kept | entries, hashes, tuple(targets), template_hash(templates)
    )
    states.append(_manifest_state(out, files[MANIFEST]))
    notes = _notes(out, old, kept, targets, template_hash(templates))
    return _Rendered(len(kept | entries), files, tuple(states), notes, made.helpers)


def _may_write_package(path: Path) -> bool:
    """Whether there is no `__init__.py` of the user's own."""
    return not path.exists() or writer.read_text(path) == PACKAGE_TEXT


def _owns(specs: Path, recorded: str) -> bool:
    """Whether a build of `specs` speaks for the spec file that a manifest recorded."""
    if specs.is_file():
        return recorded == shown(specs)
    return PurePosixPath(recorded).parent == PurePosixPath(shown(specs / "any.py")).parent


def _manifest_state(out: Path, text: str) -> FileState:
    """The manifest is tilegen's own: it cannot be edited, only out of date."""
    (state,) = writer.compare(out, {MANIFEST: text}, {})
    if state.state is State.FOREIGN:
        return FileState(MANIFEST, State.STALE, state.diff)
    return state


def _notes(
    out: Path,
    old: Mapping[str, Any],
    kept: Mapping[str, Any],
    targets: Iterable[Target],
    templates: str,
) -> tuple[str, ...]:
    """Modules that were left alone, but no longer fit the `_runtime.py` beside them."""
    alike = old.get("targets") == _names(targets) and old.get("templates") == templates
    if not kept or alike:
        return ()
    folders = sorted({str(PurePosixPath(item["spec"]).parent) for item in kept.values()})
    again = " and ".join(f"`tilegen build {folder} --out {out}`" for folder in folders)
    return (
        f"{len(kept)} other ops in {out} were built with other templates or targets: "
        f"rebuild them with {again}",
    )
