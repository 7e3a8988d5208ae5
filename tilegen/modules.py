"""The modules of a folder of specs: rendered, formatted and proven, in several processes."""

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tilegen import errors
from tilegen.build import build_files
from tilegen.ir.graph import Span
from tilegen.manifest import entry, module_file
from tilegen.prove import prove
from tilegen.render.writer import format_python
from tilegen.stamp import helper_files
from tilegen.targets import Target

#: Files that a process takes at once: ruff takes them together.
SHARE = 4

Watch = Callable[[Iterable[int], int], Iterator[int]]
"""Wraps the counts of files that are done, of so many, for one who shows the progress."""


@dataclass(frozen=True)
class Module:
    """One op as it is written.

    Attributes:
        name: of the op.
        text: of the module.
        entry: what the manifest says of it, besides the file's hash.
        span: of the spec.
    """

    name: str
    text: str
    entry: dict[str, Any]
    span: Span

    @property
    def file(self) -> str:
        """The name of the module, in its folder."""
        return module_file(self.name)


@dataclass(frozen=True)
class Modules:
    """Those of a folder of specs, in its order.

    Attributes:
        all: the modules.
        helpers: files that the specs import, besides those of tilegen.
    """

    all: tuple[Module, ...]
    helpers: tuple[Path, ...]


@dataclass(frozen=True)
class _Made:
    """What came of a share of the files."""

    files: Sequence[Path]
    modules: tuple[Module, ...] = ()
    helpers: tuple[Path, ...] = ()
    mistakes: tuple[errors.SpecError, ...] = ()


def make_modules(
    files: Sequence[Path],
    out: Path,
    targets: Sequence[Target],
    runtime: str,
    watch: Watch | None = None,
) -> Modules:
    """Build spec files, in memory.

    Args:
        files: of specs.
        out: the folder that they are for, with the compiler's records.
        targets: that they are for.
        runtime: the formatted `_runtime.py` that will lie beside them.
        watch: hears how many files are done.

    Raises:
        BuildFailed: at least one mistake; all mistakes of all specs are in it.
    """
    shares = [files[at : at + SHARE] for at in range(0, len(files), SHARE)]
    make = partial(_make, out=out, targets=tuple(targets), runtime=runtime)
    made: list[_Made] = []

    def done() -> Iterator[int]:
        for one in _in_processes(make, shares):
            made.append(one)
            yield sum(len(each.files) for each in made)

    for _ in watch(done(), len(files)) if watch else done():
        pass
    made.sort(key=lambda one: one.files[0])
    modules = tuple(module for one in made for module in one.modules)
    mistakes = [mistake for one in made for mistake in one.mistakes] + _twice(modules)
    if mistakes:
        raise errors.BuildFailed(mistakes)
    helpers = sorted({helper for one in made for helper in one.helpers})
    return Modules(modules, tuple(helpers))


def _in_processes(
    make: Callable[[Sequence[Path]], _Made], shares: Sequence[Sequence[Path]]
) -> Iterator[_Made]:
    """Make all shares, as they come; by forks of this process, where those are cheap and safe."""
    able = sys.platform == "linux" and threading.active_count() == 1
    jobs = min(len(shares), len(os.sched_getaffinity(0)) if able else 1)
    if jobs <= 1:
        yield from map(make, shares)
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("fork")) as pool:
        for future in as_completed([pool.submit(make, share) for share in shares]):
            yield future.result()


def _make(files: Sequence[Path], out: Path, targets: tuple[Target, ...], runtime: str) -> _Made:
    loaded_before = set(sys.modules)
    try:
        built = build_files(files, targets)
    except errors.BuildFailed as failed:
        return _Made(files, mistakes=failed.errors)
    texts = format_python({module_file(op.traced.name): op.text for op in built})
    proofs = prove(built, texts, runtime, out, targets)
    modules = tuple(
        Module(
            op.traced.name, texts[module_file(op.traced.name)],
            entry(op, targets, proofs[op.traced.name]), op.loaded.source.span,
        )
        for op in built
    )  # fmt: skip
    helpers = helper_files(set(sys.modules) - loaded_before)
    return _Made(files, modules, tuple(helpers))


def _twice(modules: Iterable[Module]) -> list[errors.SpecError]:
    """Specs of one name in one folder would overwrite each other."""
    seen: dict[str, str] = {}
    found: list[errors.SpecError] = []
    for module in modules:
        if module.name in seen:
            found.append(
                errors.BadResult(
                    f"two specs are named {module.name!r}: the other is in {seen[module.name]}",
                    module.span, "rename one of them",
                )
            )  # fmt: skip
        seen.setdefault(module.name, module.entry["spec"])
    return found
