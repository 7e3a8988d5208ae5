"""Putting a build on disk: formatted, compared with what is there, and all or nothing.

The manifest holds a hash of each file as it was written. A file that is neither that nor what
the build would write now was edited by hand, and is not overwritten without being told to.
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


class State(Enum):
    """How a file on disk relates to the build."""

    FRESH = "up to date"
    STALE = "stale"
    MISSING = "missing"
    EDITED = "edited by hand"
    ORPHANED = "orphaned"


@dataclass(frozen=True)
class FileState:
    """One file: its name, its state, and how it differs (a unified diff) where it does."""

    name: str
    state: State
    diff: str = ""


class HandEdited(TilegenError):
    """A generated file was changed by hand."""


def content_hash(text: str) -> str:
    """A hash of a file's text, as the manifest holds it."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def format_python(files: Mapping[str, str]) -> dict[str, str]:
    """The files as ruff formats them, at 100 columns, in one run.

    Raises:
        TilegenError: ruff is missing or refuses a file: an error of the templates.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text)
        options = ["--isolated", "--no-cache", "--line-length", "100", "--target-version", "py311"]
        run = subprocess.run(
            [sys.executable, "-m", "ruff", "format", *options, folder],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if run.returncode:
            raise TilegenError(f"ruff could not format what was built:\n{run.stderr}")
        return {name: Path(folder, name).read_text() for name in files}


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder; empty if there is none.

    Raises:
        TilegenError: it is no JSON.
    """
    file = folder / MANIFEST
    if not file.exists():
        return {}
    try:
        manifest: dict[str, Any] = json.loads(file.read_text())
    except json.JSONDecodeError as error:
        raise TilegenError(f"{file} is damaged ({error}): delete it and build again") from error
    return manifest


def compare(folder: Path, files: Mapping[str, str], recorded: Mapping[str, str]) -> list[FileState]:
    """What a build of `files` would find in `folder`, whose manifest recorded these hashes."""
    found = []
    for name, text in files.items():
        path = folder / name
        if not path.exists():
            found.append(FileState(name, State.MISSING))
            continue
        old = path.read_text()
        if old == text:
            found.append(FileState(name, State.FRESH))
            continue
        edited = name in recorded and content_hash(old) != recorded[name]
        found.append(
            FileState(name, State.EDITED if edited else State.STALE, _diff(name, old, text))
        )
    for name in recorded:
        if name not in files and (folder / name).exists():
            found.append(FileState(name, State.ORPHANED))
    return found


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
        HandEdited: a file was edited by hand, and `force` is false. Nothing is written then.
    """
    states = list(states)
    edited = [state for state in states if state.state is State.EDITED]
    if edited and not force:
        names = ", ".join(state.name for state in edited)
        raise HandEdited(
            f"edited by hand: {names} in {folder}\n{''.join(s.diff for s in edited)}"
            "hint: move the change into the spec or a template, or overwrite it with --force"
        )
    folder.mkdir(parents=True, exist_ok=True)
    touched = []
    for state in states:
        if state.state is State.ORPHANED:
            (folder / state.name).unlink()
            touched.append(state.name)
        elif state.state is not State.FRESH:
            _replace(folder / state.name, files[state.name])
            touched.append(state.name)
    return touched


def _replace(path: Path, text: str) -> None:
    """Write a file so that no reader ever sees half of it."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> bool:
    """Write the manifest if it changed; whether it did."""
    text = json.dumps(manifest, indent=1, sort_keys=False) + "\n"
    path = folder / MANIFEST
    if path.exists() and path.read_text() == text:
        return False
    _replace(path, text)
    return True
