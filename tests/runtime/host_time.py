"""Measure the Python part of a launch: a compiled kernel that does nothing stands in for a real one.

Usage: python tests/runtime/host_time.py FOLDER, where FOLDER holds ``generated_sample``. It runs
without TRITON_INTERPRET and without a GPU: tensors are on the CPU, and the calls to the driver that
a CPU has no answer to (current device, current stream) are replaced by functions as cheap as they.
"""

import importlib
import sys
import timeit
from types import SimpleNamespace

import torch
import triton
from triton.runtime.jit import JITFunction

sys.path.insert(0, sys.argv[1])
runtime = importlib.import_module("generated_sample._runtime")
rmsnorm = importlib.import_module("generated_sample.rmsnorm")
grouped = importlib.import_module("generated_sample.grouped")
vector_add = importlib.import_module("generated_sample.vector_add")


class FakeCompiled:
    """What ``JITFunction.warmup`` returns, with a ``run`` that takes anything."""

    function = 1
    packed_metadata = ()

    @staticmethod
    def run(*arguments):
        return None


def microseconds(function, number=20_000):
    return min(timeit.repeat(function, number=number, repeat=15)) / number * 1e6


def main():
    x, y, weight = torch.randn(64, 128), torch.randn(64, 128), torch.randn(128)
    out, bias = torch.empty_like(x), torch.randn(4)
    JITFunction.warmup = lambda *arguments, **options: FakeCompiled()
    triton.runtime.driver = SimpleNamespace(
        active=SimpleNamespace(get_current_stream=lambda index: 0)
    )
    runtime._current_device = lambda: None
    runtime.Op._runs_reference = lambda *arguments: False
    cases = {
        "rmsnorm(x, weight)": lambda: rmsnorm.rmsnorm(x, weight),
        "rmsnorm(x, weight, out=out)": lambda: rmsnorm.rmsnorm(x, weight, out=out),
        "vector_add(x, y)": lambda: vector_add.vector_add(x, y),
        "grouped(x, bias, seed=...), two kernels": lambda: grouped.grouped(
            x, bias, seed=7, drop=True, groups=4
        ),
        "registered rmsnorm": lambda: torch.ops.tilegen.rmsnorm_3fa2c1d0(x, weight, 1e-6),
        "torch.empty_strided alone": lambda: torch.empty_strided(
            (64, 128), (128, 1), dtype=torch.float32, device=x.device
        ),
    }
    for name, case in cases.items():
        case()
        print(f"{microseconds(case):7.2f} us  {name}")


if __name__ == "__main__":
    main()
