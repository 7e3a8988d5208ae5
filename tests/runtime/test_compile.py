"""Jit helpers compile for GPUs that are not here; see ``compile_helpers.py``."""

import subprocess
import sys
from pathlib import Path


def test_helpers_compile(sample_folder: Path, compile_environment: dict[str, str]) -> None:
    script = Path(__file__).parent / "compile_helpers.py"
    command = [sys.executable, script, sample_folder]
    result = subprocess.run(command, capture_output=True, text=True, env=compile_environment)
    assert result.returncode == 0, result.stderr[-3000:]
    assert result.stdout.splitlines() == [f"compiled for {arch}" for arch in ("90", "80", "gfx942")]


def test_on_a_cpu_without_the_interpreter_the_reference_runs(
    sample_folder: Path, compile_environment: dict[str, str]
) -> None:
    code = """
import torch
from generated_sample import _runtime
from generated_sample.rmsnorm import rmsnorm
x, weight = torch.randn(4, 8), torch.randn(8)
expected = torch.nn.functional.rms_norm(x, (8,), weight, 1e-6)
torch.testing.assert_close(rmsnorm(x, weight), expected)
assert _runtime.last_launch().path == "torch"
torch.testing.assert_close(torch.ops.tilegen.rmsnorm_3fa2c1d0(x, weight, 1e-6), expected)
try:
    rmsnorm(x, weight, backend="triton")
except ValueError as error:
    print(error)
"""
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=compile_environment | {"PYTHONPATH": str(sample_folder)},
    )
    assert result.returncode == 0, result.stderr[-3000:]
    assert result.stdout == (
        'rmsnorm: backend="triton" needs tensors on a GPU, got cpu; to interpret kernels on a CPU '
        "set TRITON_INTERPRET=1 before triton is imported\n"
    )
