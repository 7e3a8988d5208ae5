"""What `tilegen explain` tells: as text (golden), and as data."""

import json

import pytest
from analysis_ops import op
from golden import Golden

from tilegen.explain import explain
from tilegen.records import Records
from tilegen.schedule.proof import proofs
from tilegen.targets import TARGETS, get

CASES = {
    "softmax": {"M": 16384, "N": 8192},
    "rope": {"B": 4, "S": 4096, "H": 32, "D": 64, "P": 4096},
}


@pytest.mark.parametrize("name", CASES)
def test_text(name: str, golden: Golden) -> None:
    golden.check(f"explain/{name}.txt", explain(op(name), CASES[name], get("h200")).text())


def test_numbers_of_a_known_case() -> None:
    """rmsnorm, 16384x8192: 0.126 ms at the copy rate of 4.27 TB/s."""
    found = explain(op("rmsnorm"), {"M": 16384, "N": 8192}, get("h200"))
    assert found.traffic == 2 * 16384 * 8192 * 2 + 8192 * 2
    assert found.bound == "memory"
    assert found.floor_microseconds == pytest.approx(125.7, abs=0.1)
    assert found.floor_datasheet_microseconds == pytest.approx(111.8, abs=0.1)
    assert found.eager_kernels == 6
    block, loop, _ = found.schedules
    assert (block.read_again, loop.read_again) == (0, 2 * 16384 * 8192)
    assert found.choice.startswith("loop with")  # its second sweep hits L1


def test_refusals_of_the_partitioner_are_told() -> None:
    text = explain(op("top_p_sample"), {}, get("h200")).text(rejected=False)
    assert "rows in registers only: argmax has no online form" in text
    assert "rejected" not in text


def test_records_of_the_compiler_are_shown() -> None:
    name = "_softmax_block 2 TILE=8192 num_warps=4"
    said = {"key": "k-0", "registers": 47, "shared": 32, "spill": 8}
    stored: Records = {
        "3.6.0": {"softmax": {name: said}},
        "3.9.0": {"softmax": {name: said | {"shared": 64, "spill": 0}}},
    }
    programs = op("softmax").programs
    known = proofs("softmax", programs, {"sm_90": stored}, {"_softmax_block": "k"})
    found = explain(op("softmax"), {}, get("h200"), proofs=known)
    (config,) = (
        c for c in found.space if c.kind == "block" and c.config == "TILE=8192 num_warps=4"
    )
    assert config.compiled["3.6.0"].items() >= {"registers": 47, "shared": 32, "spill": 8}.items()
    text = found.text()
    assert "Triton 3.6.0: 32 B, 47 registers, 8 B spilled: only where no other fits" in text
    assert "Triton 3.9.0: 64 B, 47 registers, 0 B spilled" in text
    assert text.count("unproven") == sum(c.verdict == "kept" for c in found.space) - 1


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
@pytest.mark.parametrize("dtype", ["fp8e5m2", "f16", "f32", "f64"])
def test_every_target_and_type(target, dtype: str) -> None:
    for name in ("swiglu", "add_layernorm"):
        found = explain(op(name), {}, target, dtype)
        json.dumps(found.to_json())
        assert found.text()
        kept = [c for c in found.space if c.verdict == "kept"]
        assert kept
        assert all(0 < c.occupancy <= 1 for c in kept)


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="softmax: no size K = 3; its dimensions are M, N"):
        explain(op("softmax"), {"K": 3}, get("h200"))
    with pytest.raises(ValueError, match="N = 0"):
        explain(op("softmax"), {"N": 0}, get("h200"))
    with pytest.raises(ValueError, match="i8 is no floating dtype: f64, f32"):
        explain(op("softmax"), {}, get("h200"), "i8")
