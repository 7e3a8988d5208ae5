"""What the compiler said of each config: ``compiled/<architecture>.json`` beside the modules.

A file maps Triton version, op and entry to a record. An entry is a kernel, an element size in
bytes and a config: ``"_softmax_block 2 TILE=4096 num_warps=4"``. A record has ``key``, which tells
whether it still holds, and ``registers``, ``shared`` and ``spill`` (bytes), or else ``rejected``
(the target has no such dtype) or ``failed`` (what the compiler said).
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

FOLDER: Final = "compiled"

Records = dict[str, dict[str, dict[str, dict[str, Any]]]]
"""By Triton version, op, entry."""


def read(out: Path, architecture: str) -> Records:
    """Return the records of an architecture class; none if there is no file."""
    path = out / FOLDER / f"{architecture}.json"
    if not path.is_file():
        return {}
    records: Records = json.loads(path.read_text(encoding="utf-8"))
    return records


def write(out: Path, architecture: str, records: Records) -> bool:
    """Write the records of an architecture class if they changed; return whether they did."""
    path = out / FOLDER / f"{architecture}.json"
    text = "\n".join(_lines(records)) + "\n"
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return True


def _lines(records: Mapping[str, Mapping[str, Mapping[str, Mapping[str, Any]]]]) -> Iterator[str]:
    """Yield sorted JSON with one line for each entry, so that a changed config is one line."""
    yield "{"
    versions = sorted(records)
    for version in versions:
        yield f" {json.dumps(version)}: {{"
        ops = sorted(records[version])
        for op in ops:
            yield f"  {json.dumps(op)}: {{"
            names = sorted(records[version][op])
            for name in names:
                record = json.dumps(records[version][op][name], sort_keys=True)
                yield f"   {json.dumps(name)}: {record}{_comma(name, names)}"
            yield f"  }}{_comma(op, ops)}"
        yield f" }}{_comma(version, versions)}"
    yield "}"


def _comma(item: str, items: list[str]) -> str:
    return "" if item == items[-1] else ","
