"""Putting a build on disk: formatted, compared with what is there, and all or nothing.

The manifest holds a hash of each file as it was written. A file that is neither that nor what
the build would write now was edited by hand; a file that the manifest does not know was never
tilegen's. Neither is overwritten without being told to.
"""

import difflib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from tilegen.errors import TilegenError

MANIFEST = "manifest.json"

#: Lines of differences that a refusal to overwrite shows.
MOST_LINES = 40


class State(Enum):
    """How a file on disk relates to the build."""

    FRESH = "up to date"
    STALE = "stale"
    MISSING = "missing"
    EDITED = "edited by hand"
    FOREIGN = "not built by tilegen"
    ORPHANED = "orphaned"


@dataclass(frozen=True)
class FileState:
    """One file: its name, its state, and how it differs (a unified diff) where it does."""

    name: str
    state: State
    diff: str = ""


class HandEdited(TilegenError):
    """A file that the build would overwrite holds somebody's own work."""


def content_hash(text: str) -> str:
    """A hash of a file's text, as the manifest holds it."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_text(path: Path) -> str:
    """The text of a generated file; what is no UTF-8 differs from anything that was generated."""
    return path.read_text(encoding="utf-8", errors="replace")


def format_python(files: Mapping[str, str]) -> dict[str, str]:
    """The files as ruff formats them, at 100 columns, in one run.

    Raises:
        TilegenError: ruff is missing or refuses a file: an error of the templates.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        options = ["--isolated", "--no-cache", "--line-length", "100", "--target-version", "py311"]
        run = subprocess.run(
            [sys.executable, "-m", "ruff", "format", *options, folder],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if run.returncode:
            raise TilegenError(f"ruff could not format what was built:\n{run.stderr}")
        return {name: Path(folder, name).read_text(encoding="utf-8") for name in files}


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder; empty if there is none.

    Raises:
        TilegenError: it is no manifest.
    """
    file = folder / MANIFEST
    if not file.exists():
        return {}
    try:
        manifest: dict[str, Any] = json.loads(read_text(file))
        complaint = "" if _is_manifest(manifest) else "files or ops are missing or wrong"
    except json.JSONDecodeError as error:
        complaint = str(error)
    if complaint:
        raise TilegenError(f"{file} is damaged ({complaint}): delete it and build again")
    return manifest


def _is_manifest(manifest: Any) -> bool:
    """Whether it names files of its own folder, and each op a spec and one of those files."""
    if not isinstance(manifest, dict):
        return False
    files, ops = manifest.get("files"), manifest.get("ops")
    if not isinstance(files, dict) or not isinstance(ops, dict):
        return False
    plain = all(Path(name).name == name for name in files)
    return plain and all(
        isinstance(op, dict) and isinstance(op.get("spec"), str) and op.get("file") in files
        for op in ops.values()
    )


def compare(folder: Path, files: Mapping[str, str], recorded: Mapping[str, str]) -> list[FileState]:
    """What a build of `files` would find in `folder`, whose manifest recorded these hashes.

    A recorded file that is not built any more is orphaned, or edited by hand if it is that too.
    """
    found = []
    for name, text in files.items():
        path = folder / name
        if not path.exists():
            found.append(FileState(name, State.MISSING))
            continue
        old = read_text(path)
        if old == text:
            found.append(FileState(name, State.FRESH))
        else:
            found.append(FileState(name, _changed(old, recorded.get(name)), _diff(name, old, text)))
    for name, written in recorded.items():
        path = folder / name
        if name not in files and path.exists():
            old = read_text(path)
            edited = content_hash(old) != written
            found.append(
                FileState(name, State.EDITED, _diff(name, old, ""))
                if edited
                else FileState(name, State.ORPHANED)
            )
    return found


def _changed(old: str, written: str | None) -> State:
    if written is None:
        return State.FOREIGN
    return State.STALE if content_hash(old) == written else State.EDITED


def _diff(name: str, old: str, new: str) -> str:
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True),
        f"{name} (on disk)", f"{name} (built)",
    )  # fmt: skip
    return "".join(lines)


def write(
    folder: Path, files: Mapping[str, str], states: Iterable[FileState], *, force: bool
) -> list[str]:
    """Write what changed and remove orphans; the names of files touched.

    Raises:
        HandEdited: a file was edited by hand or is not tilegen's, and `force` is false. Nothing
            is written then.
    """
    states = list(states)
    held = [state for state in states if state.state in (State.EDITED, State.FOREIGN)]
    if held and not force:
        raise HandEdited(_held(folder, held))
    folder.mkdir(parents=True, exist_ok=True)
    touched = []
    for state in states:
        if state.state is State.FRESH:
            continue
        if state.name in files:
            replace_file(folder / state.name, files[state.name])
        else:
            (folder / state.name).unlink()
        touched.append(state.name)
    return touched


def _held(folder: Path, held: Iterable[FileState]) -> str:
    """Which files stopped a build, why, and what to do."""
    lines = [f"{folder / state.name} is {state.state.value}; nothing was written" for state in held]
    diffs = [line for s in held if s.state is State.EDITED for line in s.diff.splitlines()]
    if len(diffs) > MOST_LINES:
        diffs = ["--check shows the differences"]
    hint = "hint: move a change into the spec or a template; --force overwrites these files"
    return "\n".join([*lines, *diffs, hint])


def replace_file(path: Path, text: str) -> None:
    """Write a file so that no reader ever sees half of it."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
