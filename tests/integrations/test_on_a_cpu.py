"""Without the interpreter; see ``on_a_cpu.py``."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_modules_are_torchs_without_the_interpreter(compile_environment: dict[str, str]) -> None:
    script = Path(__file__).with_name("on_a_cpu.py")
    run = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False,
        env=compile_environment | {"PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-3000:]
    assert 'backend="triton" needs tensors on a GPU' in run.stdout
