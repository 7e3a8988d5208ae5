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

from tilegen.toolchain.entries import Entry, entries
from tilegen.toolchain.resources import ptx_statistics, usage
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


def compiled(entry: Entry, architecture: str) -> Any:
    """Return Triton's compiled kernel of an entry; ``activate`` comes first."""
    kernel = entry.kernel
    options = kernel.constants | kernel.options
    return kernel.jit.warmup(*entry.arguments, grid=kernel.grid, **options)


def key_of(entry: Entry, architecture: str) -> str:
    """Return a hash of all that decides what the compiler makes of an entry."""
    kernel = entry.kernel
    signature = [
        (str(a.dtype), a.data_ptr() % 16 == 0)
        if isinstance(a, torch.Tensor)
        else (type(a).__name__, a == 1, isinstance(a, int) and a % 16 == 0, _is_wide(a))
        for a in entry.arguments
    ]
    constants = {name: str(value) for name, value in kernel.constants.items()}
    parts = [entry.source(), signature, constants, kernel.options, architecture]
    text = json.dumps([*parts, triton.__version__], default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _is_wide(value: Any) -> bool:
    return isinstance(value, int) and not -(2**31) <= value < 2**31


def record(
    entry: Entry, architecture: str, key: str, refused: Sequence[str], ptx: bool
) -> dict[str, Any]:
    """Return the record of an entry: its resources, or why there are none."""
    if refused:
        return {"key": key, "rejected": f"{refused[0]} is not supported on {architecture}"}
    try:
        built = compiled(entry, architecture)
        found = asdict(usage(built.asm, built.metadata.shared, architecture))
    except Exception as error:
        return {
            "key": key,
            "failed": f"{type(error).__name__}: {' '.join(str(error).split())}"[:200],
        }
    statistics = ptx_statistics(built.asm["ptx"]) if ptx and "ptx" in built.asm else {}
    return {"key": key} | found | statistics


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
    known = request["known"]
    activate(architecture)
    sizes = request.get("element_sizes") or element_sizes(module, architecture)
    for entry in entries(module, runtime, target, sizes):
        wanted = request.get("only")
        if wanted and entry.name not in wanted:
            continue
        key = key_of(entry, architecture)
        if key in known.get(entry.name, ()) and not request.get("ptx"):
            yield entry.name, None
            continue
        names = [_DTYPE_NAMES.get(dtype, str(dtype)) for dtype in entry.dtypes]
        refused = [name for name in names if name not in request["dtypes"]]
        yield entry.name, record(entry, architecture, key, refused, request.get("ptx", False))


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
