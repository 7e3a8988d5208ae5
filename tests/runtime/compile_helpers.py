"""Compile every jit helper for GPUs that are not here; run in a process without TRITON_INTERPRET.

Usage: python compile_helpers.py FOLDER, where FOLDER holds a package ``generated_sample`` with
``_runtime.py``. Prints one line per kernel and target, and the error of the first that fails.
"""

import importlib
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

sys.path.insert(0, sys.argv[1])
runtime = importlib.import_module("generated_sample._runtime")

arg_max, arg_min, expm1, log1p = runtime.arg_max, runtime.arg_min, runtime.expm1, runtime.log1p
maximum, minimum, narrow = runtime.maximum, runtime.minimum, runtime.narrow
nan_max, nan_min, round_even = runtime.nan_max, runtime.nan_min, runtime.round_even
scalar, tanh, uniform = runtime.scalar, runtime.tanh, runtime.uniform

TARGETS = (
    GPUTarget("cuda", 90, 32),
    GPUTarget("cuda", 80, 32),
    GPUTarget("hip", "gfx942", 64),
)


@triton.jit
def _map(x_ptr, y_ptr, eps, FLOAT: tl.constexpr):
    offsets = tl.arange(0, 256)
    x = tl.load(x_ptr + offsets).to(FLOAT) * scalar(eps, FLOAT)
    y = tanh(x) + log1p(x) + expm1(x) + round_even(x)
    y = maximum(y, x) + minimum(y, 1.0)
    tl.store(y_ptr + offsets, narrow(y, y_ptr.dtype.element_ty))


@triton.jit
def _reduce(x_ptr, y_ptr, eps, FLOAT: tl.constexpr):
    rows = tl.arange(0, 16)[:, None]
    columns = tl.arange(0, 32)[None, :]
    x = tl.load(x_ptr + rows * 32 + columns).to(FLOAT)
    most = nan_max(x, 1) + nan_min(x, 1) + scalar(eps, FLOAT)
    where = arg_max(x, columns, 1) + arg_min(x, columns, 1)
    y = most + where.to(FLOAT) + x
    tl.store(y_ptr + rows * 32 + columns, narrow(y, y_ptr.dtype.element_ty))


@triton.jit
def _draw(x_ptr, y_ptr, seed, FLOAT: tl.constexpr):
    offsets = tl.arange(0, 256)
    y = uniform(seed, offsets).to(FLOAT)
    tl.store(y_ptr + offsets, narrow(y, y_ptr.dtype.element_ty))


def build(kernel, target, source, result, float_type, scalar_type):
    """Compile ``kernel`` and return the shared memory and the assembly."""
    constants = {"FLOAT": float_type}
    names = kernel.arg_names
    signature = dict(zip(names, (source, result, scalar_type, "constexpr"), strict=True))
    if scalar_type == "constexpr":
        constants[names[2]] = 1
    options = {"enable_fp_fusion": True}
    built = triton.compile(
        ASTSource(fn=kernel, signature=signature, constexprs=constants), target, options
    )
    return built.asm.get("ptx") or built.asm["amdgcn"]


def main():
    for target in TARGETS:
        results = ["*fp32", "*bf16", "*fp8e5", "*u8", "*i64"]
        if target.arch != 80:
            results.append("*fp8e4nv")
        for kernel in (_map, _reduce):
            for result in results if kernel is _map else ["*fp32"]:
                text = build(kernel, target, "*bf16", result, tl.float32, "fp32")
                assert not any(word in text for word in (".f64", "_f64")), (kernel, target, result)
            for scalar_type in ("i64", "constexpr"):
                build(kernel, target, "*fp64", "*fp64", tl.float64, scalar_type)
        build(_map, target, "*fp64", "*bf16", tl.float64, "i32")
        for seed in ("i32", "u64", "constexpr"):
            build(_draw, target, "*fp32", "*fp32", tl.float32, seed)
        print("compiled for", target.arch)


if __name__ == "__main__":
    main()
