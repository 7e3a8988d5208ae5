"""Spec files: found, imported under a time limit, and searched for specs."""

import importlib.util
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from tilegen import errors
from tilegen.ir.graph import Span
from tilegen.spec.families import Spec
from tilegen.spec.source import SpecSource

#: Seconds that a spec file may take to import.
PATIENCE = 20


@dataclass(frozen=True)
class LoadedSpec:
    """A spec, its source, and its file as it is shown and recorded (relative where possible)."""

    spec: Spec[..., Any]
    source: SpecSource
    shown: str


def spec_files(path: Path) -> list[Path]:
    """The spec files of a folder, in order; names that start with an underscore are helpers.

    Raises:
        FileNotFoundError: there is no such file or folder.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise FileNotFoundError(f"no spec file or folder at {path}")
    return sorted(file for file in path.glob("*.py") if not file.name.startswith("_"))


def load_folder(path: Path) -> tuple[list[LoadedSpec], list[errors.SpecError]]:
    """All specs of a folder or file, and what was wrong with files that could not be loaded."""
    return load_files(spec_files(path))


def load_files(files: Sequence[Path]) -> tuple[list[LoadedSpec], list[errors.SpecError]]:
    """All specs of some files of a folder, and what was wrong with those that cannot be loaded."""
    loaded: list[LoadedSpec] = []
    mistakes: list[errors.SpecError] = []
    before = set(sys.modules)
    for file in files:
        try:
            loaded += _specs_of(_import(file.absolute()), file)
        except errors.SpecError as mistake:
            mistakes.append(mistake)
    if files:
        _forget(set(sys.modules) - before, files[0].parent.resolve())
    return loaded, mistakes


def _forget(names: set[str], folder: Path) -> None:
    """Drop helpers of this folder from the module table: another may have some of that name."""
    for name in names:
        file = getattr(sys.modules[name], "__file__", None)
        if file and Path(file).is_relative_to(folder):
            del sys.modules[name]


def _specs_of(module: ModuleType, file: Path) -> list[LoadedSpec]:
    """The specs that a file defines, in order; those it imports are another file's."""
    found = [
        LoadedSpec(value, SpecSource.of(value.fn), shown(file))
        for value in vars(module).values()
        if isinstance(value, Spec) and value.fn.__module__ == module.__name__
    ]
    if not found:
        raise errors.BrokenFile(
            "no spec in this file", Span(str(file), 1, 0, 1, 1),
            "decorate a function with @elementwise or @rowwise; a file of helpers starts with _",
        )  # fmt: skip
    return found


def shown(file: Path) -> str:
    """A path as it is recorded: relative to its project, the same from any working folder.

    The project is the nearest folder above with a `pyproject.toml` or a `.git`; without one, the
    path is relative to the parent's parent.
    """
    full = file.resolve()
    for folder in full.parents:
        if (folder / "pyproject.toml").exists() or (folder / ".git").exists():
            return full.relative_to(folder).as_posix()
    return full.relative_to(full.parents[min(1, len(full.parents) - 1)]).as_posix()


def _import(file: Path) -> ModuleType:
    name = f"tilegen_specs.{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise errors.BrokenFile(
            "this is no Python file", Span(str(file), 1, 0, 1, 1), "a spec is a .py file"
        )
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(file.parent))
    try:
        with _time_limit(file):
            spec.loader.exec_module(module)
    except errors.SpecError as error:
        error.span = error.span or _place(error, file)
        raise
    except SyntaxError as error:
        line, column = error.lineno or 1, max(0, (error.offset or 1) - 1)
        place = Span(error.filename or str(file), line, column, line, column + 1)
        raise errors.BrokenFile(f"syntax error: {error.msg}", place) from error
    except (Exception, SystemExit) as error:
        raise errors.BrokenFile(f"{type(error).__name__}: {error}", _place(error, file)) from error
    finally:
        sys.path.remove(str(file.parent))
    return module


def _place(error: BaseException, file: Path) -> Span:
    """The line of the file that the error passed through last."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename) == file and frame.lineno
    ]
    line = lines[-1] if lines else 1
    return Span(str(file), line, 0, line, 1)


@contextmanager
def _time_limit(file: Path) -> Iterator[None]:
    """Stop an import that hangs (in the main thread, where signals can)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        line = _hanging_line(frame, file)
        raise errors.BrokenFile(
            f"importing it took more than {PATIENCE} s", Span(str(file), line, 0, line, 1),
            "a spec file only defines functions: do no work at import",
        )  # fmt: skip

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _hanging_line(frame: FrameType | None, file: Path) -> int:
    while frame is not None:
        if Path(frame.f_code.co_filename) == file:
            return frame.f_lineno
        frame = frame.f_back
    return 1
