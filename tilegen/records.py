"""What the compiler said of each config: ``compiled/<architecture>.json`` beside the modules.

A file maps Triton version, op and entry to a record. An entry is a kernel, an element size in
bytes and a config: ``"_softmax_block 2 TILE=4096 num_warps=4"``. A record has

- ``key``: the hash of the kernel's text by `kernel_hashes`, a dash, and a hash of everything else
  that decides what is compiled. `build` asks whether the first still holds, `compile` both;
- ``registers``, ``shared`` and ``spill`` (bytes), or else ``rejected`` (the target has no such
  dtype) or ``failed`` (what the compiler said);
- ``fastest``, if a measurement found the config the fastest of its table although it spills.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
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


def holds(record: Mapping[str, Any], text_hash: str | None) -> bool:
    """Whether a record speaks of a kernel whose text has that hash."""
    return text_hash is not None and record["key"].partition("-")[0] == text_hash


def entry_name(kernel: str, size: int, values: Mapping[str, int]) -> str:
    """The name of an entry: a kernel, an element size in bytes and a config."""
    return " ".join((kernel, str(size), *(f"{name}={value}" for name, value in values.items())))


# ---- the text of a kernel -----------------------------------------------------------------------


#: A function with decorators, or a constant, at the top level of a module that ruff formatted.
_BLOCK: Final = re.compile(
    r"^((?:@[^\n]+\n)+def (\w+)\(|(\w+)(?:: \w+)? = )[^\n]*\n(?:[ )\]}][^\n]*\n|\n)*", re.MULTILINE
)
_REMARKS: Final = re.compile(r'^ *#[^\n]*\n|^ *"""(?:.|\n)*?"""\n|^\n', re.MULTILINE)


def kernel_hashes(module: str, runtime: str) -> dict[str, str]:
    """A hash of each kernel of a module: of its text, and of the helpers and constants it uses.

    Comments and docstrings do not count.

    Args:
        module: the formatted text of a module.
        runtime: that of the ``_runtime.py`` beside it.
    """
    helpers = _blocks(runtime)
    own = _blocks(module)
    there = helpers | own
    found = {}
    for kernel, (text, _) in own.items():
        if text.startswith("@triton.jit\n"):
            used = {kernel}
            waiting = [kernel]
            while waiting:
                more = there[waiting.pop()][1] & there.keys() - used
                used |= more
                waiting += more
            texts = "".join(there[name][0] for name in sorted(used))
            found[kernel] = hashlib.sha256(texts.encode()).hexdigest()[:8]
    return found


@lru_cache(maxsize=4)
def _blocks(text: str) -> dict[str, tuple[str, frozenset[str]]]:
    """Decorated functions and constants by name: the text, and all words in it."""
    found = {}
    for block in _BLOCK.finditer(text):
        plain = _REMARKS.sub("", block[0])
        found[block[2] or block[3]] = plain, frozenset(re.findall(r"\w+", plain))
    return found


# ---- the file -----------------------------------------------------------------------------------


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
