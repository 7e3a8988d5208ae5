"""Compiles the kernels of generated modules in a process of its own, without a GPU.

Requests come as JSON lines on standard input and answers go to standard output; `compile` starts
these processes. They must not have TRITON_INTERPRET in their environment. Usage:
``python -m tilegen.toolchain.worker FOLDER``.
"""

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import torch
import triton
from triton.backends.compiler import GPUTarget

from tilegen.records import kernel_hashes
from tilegen.toolchain.entries import Entry, entries, point_of
from tilegen.toolchain.resources import Usage, ptx_statistics, usage
from tilegen.toolchain.subject import load_module

_DTYPE_NAMES: Final = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float8_e4m3fn: "fp8e4m3",
    torch.float8_e5m2: "fp8e5m2",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.bool: "bool_",
}


def gpu_target(architecture: str) -> GPUTarget:
    """Return Triton's target of an architecture class: "sm_90", "gfx942"."""
    if architecture.startswith("gfx"):
        return GPUTarget("hip", architecture, 64)
    return GPUTarget("cuda", int(architecture.removeprefix("sm_")), 32)


def activate(architecture: str) -> None:
    """Make Triton compile for an architecture: a driver that only knows its target stands in."""
    target = gpu_target(architecture)
    driver = SimpleNamespace(
        get_current_target=lambda: target,
        get_current_device=lambda: architecture,  # what Triton keeps its caches by
        get_current_stream=lambda device: 0,
    )
    triton.runtime.driver.set_active(driver)


def compiled(entry: Entry) -> Any:
    """Return Triton's compiled kernel of an entry; ``activate`` comes first."""
    kernel = entry.kernel
    options = kernel.constants | kernel.options
    return kernel.jit.warmup(*entry.arguments, grid=kernel.grid, **options)


def key_of(points: Sequence[Entry], text_hash: str, architecture: str) -> str:
    """Return the hash of a kernel's text, and that of all else that the compiler depends on."""
    parts = [*map(point_of, points), architecture, triton.__version__]
    return f"{text_hash}-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]}"


Needs = dict[tuple[Any, str], dict[str, int]]
"""What was compiled, by kernel and point: some kernels are the same for several configs."""


def record(
    points: Sequence[Entry], architecture: str, key: str, known: Needs, ptx: bool
) -> dict[str, Any]:
    """Return the record of an entry: the most that a point of it needs, or what went wrong."""
    found = []
    for entry in points:
        place = entry.kernel.jit, point_of(entry)
        try:
            if place not in known:
                known[place] = needs(entry, architecture, ptx)
        except Exception as error:
            said = f"{type(error).__name__}: {' '.join(str(error).split())}"
            return {"key": key, "failed": said[:200]}
        found.append(known[place])
    # The first point is the usual one: its instructions are counted, and the needs of all.
    most = {name: max(point[name] for point in found) for name in Usage.__annotations__}
    return {"key": key} | found[0] | most


def needs(entry: Entry, architecture: str, ptx: bool) -> dict[str, int]:
    """Return what a kernel needs, and on request what its PTX counts."""
    built = compiled(entry)
    found = asdict(usage(built.asm, built.metadata.shared, architecture))
    return found | (ptx_statistics(built.asm["ptx"]) if ptx and "ptx" in built.asm else {})


def records(
    request: Mapping[str, Any], folder: Path
) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Yield name and record of each entry of an op; None where the known one still holds."""
    module = load_module(folder, request["op"])
    runtime = load_module(folder, "_runtime")
    architecture = request["architecture"]
    target = next((row for row in runtime.TARGETS if row.architecture == architecture), None)
    if target is None:
        raise LookupError(
            f"{folder} is not built for {architecture}: build it with such a --target"
        )
    files = (folder / f"{name}.py" for name in (request["op"], "_runtime"))
    hashes = kernel_hashes(*(file.read_text(encoding="utf-8") for file in files))
    known = request["known"]
    activate(architecture)
    needed: Needs = {}
    there = element_sizes(module, architecture)
    sizes = [size for size in there if size in request.get("element_sizes", there)]
    for points in entries(module, runtime, target, sizes):
        name, kernel = points[0].name, points[0].kernel.jit.__name__
        wanted = request.get("only")
        if wanted and name not in wanted:
            continue
        key = key_of(points, hashes[kernel], architecture)
        if key in known.get(name, ()) and not request.get("ptx"):
            yield name, None
            continue
        names = [_DTYPE_NAMES.get(dtype, str(dtype)) for dtype in points[0].dtypes]
        refused = [dtype for dtype in names if dtype not in request["dtypes"]]
        if refused:
            said = f"{refused[0]} is not supported on {architecture}"
            yield name, {"key": key, "rejected": said}
            continue
        yield name, record(points, architecture, key, needed, request.get("ptx", False))


def element_sizes(module: Any, architecture: str) -> list[int]:
    """Return the element sizes that a module's tables have configs for on an architecture."""
    tables = [table for name, table in vars(module).items() if name.endswith("_CONFIGS")]
    return sorted({size for table in tables for own, size in table if own == architecture})


def main() -> None:
    """Answer requests until standard input ends."""
    folder = Path(sys.argv[1])
    answers = sys.stdout
    sys.stdout = sys.stderr  # whatever a compiler prints must not mix with answers
    for line in sys.stdin:
        request = json.loads(line)
        try:
            for name, found in records(request, folder):
                print(json.dumps({"name": name, "record": found}), file=answers, flush=True)
            done = {"done": request["op"], "triton": triton.__version__}
        except Exception as error:
            done = {"done": request["op"], "error": f"{type(error).__name__}: {error}"}
        print(json.dumps(done), file=answers, flush=True)


if __name__ == "__main__":
    main()
