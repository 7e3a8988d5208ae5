"""Predicted shared memory against the compiler's, which needs no GPU."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from schedule_ops import KEYS, asked

from tilegen.schedule.space import verdicts

ROOT = Path(__file__).parents[2]
OPS = ("softmax", "add_rmsnorm")


def predictions(architecture: str) -> dict[tuple[str, str], int]:
    """Of two kept configs of each kind, with 2-byte floats: predicted shared memory."""
    key = next(k for k in KEYS if (k.target.architecture, k.size) == (architecture, 2))
    found = {}
    for name in OPS:
        for kind in ("block", "loop"):
            kept = [v for v in verdicts(asked(name)[kind], key, KEYS) if v.kept]
            for verdict in (kept[0], kept[-1]):
                values = " ".join(f"{n}={v}" for n, v in verdict.values)
                found[name, f"_{name}_{kind} 2 {values}"] = verdict.shared
    return found


@pytest.mark.parametrize("architecture", ["sm_90", "gfx942"])
def test_the_compiler_takes_no_more(architecture: str, compile_environment: dict[str, str]) -> None:
    expected = predictions(architecture)
    script = Path(__file__).with_name("compile_configs.py")
    command = [
        sys.executable,
        str(script),
        str(ROOT / "generated"),
        architecture,
        json.dumps(list(expected)),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False,
        env=compile_environment | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    compiled = json.loads(done.stdout)
    assert {name for _, name in expected} == set(compiled), done.stderr[-2000:]
    for (_, name), predicted in expected.items():
        assert compiled[name] <= predicted, name
