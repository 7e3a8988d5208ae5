"""Ops on sharded tensors, in groups of two and of four processes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAUNCH = Path(__file__).parent / "launch.py"


@pytest.mark.parametrize("world", [2, 4])
def test_ops_on_shares(world: int, tmp_path: Path, compile_environment: dict[str, str]) -> None:
    report = tmp_path / "report.json"
    environment = compile_environment | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(
        [sys.executable, str(LAUNCH), str(world), str(tmp_path / "store"), str(report)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    found = json.loads(report.read_text(encoding="utf-8"))
    wrong = [f"{name}: {what[-2000:]}" for name, what in found.items() if what]
    assert found
    assert not wrong, f"{len(wrong)} of {len(found)} checks\n" + "\n".join(wrong[:5])


def test_an_op_does_not_load_dtensor(compile_environment: dict[str, str]) -> None:
    script = (
        "import sys, torch\n"
        "from generated.rmsnorm import rmsnorm\n"
        "x = torch.randn(2, 8, requires_grad=True)\n"
        "rmsnorm(x, torch.randn(8)).sum().backward()\n"
        "print('torch.distributed.tensor' in sys.modules)"
    )
    environment = compile_environment | {"PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=120
    )
    assert ran.stdout.strip() == "False", ran.stderr
