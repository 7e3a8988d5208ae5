"""What is compiled: every kernel with every config of its table, each at a few points."""

import importlib
from pathlib import Path

import pytest

from tilegen.build import build_files
from tilegen.records import entry_name
from tilegen.schedule.proof import proofs
from tilegen.targets import TARGETS
from tilegen.toolchain.entries import entries
from tilegen.toolchain.worker import element_sizes

SPECS = Path(__file__).parents[2] / "specs"


@pytest.mark.parametrize("architecture", ["sm_90", "gfx942"])
@pytest.mark.parametrize("name", ["bias_gelu", "groupnorm", "rope", "silu", "softmax"])
def test_all_that_a_proof_asks_for_is_compiled(name: str, architecture: str) -> None:
    module = importlib.import_module(f"generated.{name}")
    runtime = importlib.import_module("generated._runtime")
    (target,) = [row for row in runtime.TARGETS if row.architecture == architecture][:1]
    found = list(entries(module, runtime, target, element_sizes(module, architecture)))
    assert all(len({point.name for point in points}) == 1 for points in found)
    (op,) = build_files([SPECS / f"{name}.py"], TARGETS)
    wanted = {
        entry_name(kernel, size, config.values)
        for kind, kernels in proofs(name, op.programs, {}, {}).kernels.items()
        for (of, size), configs in getattr(module, f"{kind.upper()}_CONFIGS").items()
        for config in configs
        for kernel in kernels
        if of == architecture
    }
    assert {points[0].name for points in found} == wanted


def test_a_block_is_compiled_for_one_row_and_for_many() -> None:
    module = importlib.import_module("generated.softmax")
    runtime = importlib.import_module("generated._runtime")
    (target,) = (row for row in runtime.TARGETS if row.name == "h200")
    blocks = [p for p in entries(module, runtime, target, [2]) if "_block " in p[0].name]
    for points in blocks:
        tile = points[0].kernel.config["TILE"]
        shapes = [(p.kernel.constants["BLOCK_M"], p.kernel.constants["BLOCK_N"]) for p in points]
        assert shapes == [(1, tile), (tile // 128, 128)]


def test_a_tile_is_compiled_along_and_across() -> None:
    module = importlib.import_module("generated.rope")
    runtime = importlib.import_module("generated._runtime")
    (target,) = (row for row in runtime.TARGETS if row.name == "h200")
    for points in entries(module, runtime, target, [2]):
        along, across = [p.kernel.constants for p in points]
        assert across["BLOCK_1"] < along["BLOCK_1"]
