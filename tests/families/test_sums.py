"""Sums over rows that a pass carries along: right at every edge, and the same bits in each run."""

import importlib
import math
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tilegen.build import build_named
from tilegen.families import order
from tilegen.families.program import Statement
from tilegen.families.summed import find
from tilegen.targets import TARGETS

SPECS = Path(__file__).with_name("sums_specs.py")
Tensors = Sequence[torch.Tensor]


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Any]]:
    """Gives the module of a spec, on a GPU of two multiprocessors: programs go over several tiles."""
    folder = tmp_path_factory.mktemp("sums")
    build = ["build", str(SPECS), "--out", str(folder / "sums_kernels")]
    subprocess.run([sys.executable, "-m", "tilegen", *build], check=True, capture_output=True)
    sys.path.insert(0, str(folder))
    runtime = importlib.import_module("sums_kernels._runtime")
    whole = runtime.target_of
    runtime.target_of = lambda device: replace(whole(device), multiprocessors=2)
    yield lambda name: importlib.import_module(f"sums_kernels.{name}")
    sys.path.remove(str(folder))


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    made = torch.Generator().manual_seed(sum(shape) + seed)
    return torch.randn(shape, generator=made)


def inputs(name: str, rows: int, columns: int) -> list[torch.Tensor]:
    """Operands of a spec; those with outer dimensions have three of them."""
    m, n = rows, columns
    return {
        "weighted": lambda: [numbers(m, n), numbers(n), numbers(m, n, seed=1)],
        "scaled_and_shifted": lambda: [
            numbers(3, m, n), numbers(3, n), numbers(n), numbers(3, m, n, seed=1)
        ],
        "biased": lambda: [numbers(m, n), numbers(n), numbers(m, n, seed=1)],
        "squashed": lambda: [numbers(m, n), numbers(n), numbers(), numbers(m, n, seed=1)],
        "folded": lambda: [numbers(m, 3 * n), numbers(n), numbers(m, 3 * n, seed=1)],
        "counted": lambda: [numbers(m, n)],
        "columns_alone": lambda: [numbers(3, m, n)],
        "across": lambda: [numbers(m, 3, n), numbers(3, n), numbers(m, 3, n, seed=1)],
    }[name]()  # fmt: skip


NAMES = (
    "weighted", "scaled_and_shifted", "biased", "squashed", "folded", "counted", "columns_alone",
    "across",
)  # fmt: skip
WHOLE = ("weighted", "scaled_and_shifted", "folded", "counted")


def run(module: Any, tensors: Tensors, schedule: str = "", tile: int = 0) -> Tensors:
    """Launch a module's kernels, with a small tile if one is given."""
    runtime, op = sys.modules[f"{module.__package__}._runtime"], module.OP
    params = tuple(param.default for param in op.params)
    binding = runtime.bind(op, tensors, params)
    layouts = runtime.output_layouts(op, tensors, binding)
    plan = runtime.Plan(op, op.variants[()], binding, list(tensors), layouts, None)
    choices = runtime.Choices(schedule=schedule or None)
    plan.launch(choices)
    forced = [
        runtime.Config(**{**config.values, "TILE": tile or config["TILE"]})
        for config in choices.chosen
    ]
    call = plan.prepare(runtime.Choices(forced, schedule=schedule or None))
    pointers = [tensor.data_ptr() for tensor in tensors]
    results: Tensors = call(list(tensors), pointers, params, None)
    run.kernels = call.record.kernels  # type: ignore[attr-defined]
    return results


def exact(module: Any, tensors: Tensors) -> Tensors:
    """The results in fp64."""
    op = module.OP
    params = tuple(param.default for param in op.params)
    if op.name == "folded":
        x, weight, grad = (t.double() for t in tensors)
        held = x.reshape(len(x), 3, len(weight))
        largest = held.amax(-1, keepdim=True)
        result = (held - largest) * grad.reshape(held.shape)
        return result.flatten(1), (result * weight).sum((0, 1)), largest[..., 0]
    results = op.variants[()].reference(*tensors, *params, compute=torch.float64)
    return (results,) if isinstance(results, torch.Tensor) else results


def check(module: Any, tensors: Tensors, schedule: str = "", tile: int = 0) -> None:
    """Compare with fp64: an error of a sum grows with the square root of its count."""
    results = run(module, tensors, schedule, tile)
    for result, right in zip(results, exact(module, tensors), strict=True):
        if module.OP.name == "columns_alone":
            torch.testing.assert_close(result.double(), right.half().double(), rtol=2e-3, atol=2e-3)
        elif right.is_floating_point():
            count = max(1.0, math.sqrt(max(t.numel() for t in tensors)))
            torch.testing.assert_close(result.double(), right, rtol=2e-5, atol=1e-6 * count)
        else:
            assert torch.equal(result, right)


@pytest.mark.parametrize("tile", [1, 64])
@pytest.mark.parametrize(("rows", "columns"), [
    (1, 1), (2, 3), (3, 17), (17, 128), (33, 1), (17, 17), (5, 1000), (64, 16),
])  # fmt: skip
@pytest.mark.parametrize("name", NAMES)
def test_right_at_the_edges(module: Any, name: str, rows: int, columns: int, tile: int) -> None:
    whole = name in WHOLE
    width = 1 << (columns - 1).bit_length()
    if tile and whole:
        tile = width * (1 if tile == 1 else 4)  # one row at a time, or four
    elif tile:
        tile = 16 if tile == 1 else 64
    check(module(name), inputs(name, rows, columns), "sums" if whole else "columns", tile)


@pytest.mark.parametrize("name", NAMES)
def test_same_bits_in_each_run(module: Any, name: str) -> None:
    tensors = inputs(name, 70, 33)
    tile = 64 if name in WHOLE else 256
    first, again = (run(module(name), tensors, tile=tile) for _ in range(2))
    assert all(torch.equal(one, two) for one, two in zip(first, again, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_any_strides(module: Any, name: str) -> None:
    """Transposed, sliced and expanded operands, the last of them without rows of their own."""
    tensors = inputs(name, 17, 33)
    laid = [t.mT.contiguous().mT if t.dim() > 1 else t for t in tensors]
    check(module(name), laid)
    laid = [torch.stack([t, t], -1)[..., 1] for t in tensors]
    check(module(name), laid)
    if name != "folded":
        check(module(name), [t[..., :1, :].expand(t.shape) if t.dim() > 1 else t for t in tensors])


@pytest.mark.parametrize("name", NAMES)
def test_no_rows_give_sums_of_zero(module: Any, name: str) -> None:
    if name == "counted":
        pytest.skip("a mean of nothing is no number")
    check(module(name), inputs(name, 0, 17))


@pytest.mark.parametrize("name", ["biased", "squashed", "columns_alone", "across"])
def test_no_columns(module: Any, name: str) -> None:
    check(module(name), inputs(name, 5, 0))


def test_rows_that_do_not_count_may_hold_anything(module: Any) -> None:
    """Past the last row, 0 / 0 comes of what a tile is padded with."""
    x, weight, grad = inputs("weighted", 5, 16)
    op = module("weighted")
    results = run(op, [x, weight, grad], "sums", 16 * 8)
    assert all(result.isfinite().all() for result in results)


def test_a_row_that_no_config_holds_goes_stage_by_stage(module: Any) -> None:
    tensors = inputs("weighted", 3, 40_000)
    results = run(module("weighted"), tensors)
    assert run.kernels == (  # type: ignore[attr-defined]
        "_weighted_stage_1_loop", "_weighted_stage_2_columns", "_weighted_stage_2_join",
    )  # fmt: skip
    for result, right in zip(results, exact(module("weighted"), tensors), strict=True):
        torch.testing.assert_close(result.double(), right, rtol=2e-5, atol=1e-4)


@pytest.mark.parametrize("name", WHOLE)
def test_the_stages_compute_the_same(module: Any, name: str) -> None:
    check(module(name), inputs(name, 17, 33), "block")
    assert not any(kernel.endswith("_sums") for kernel in run.kernels)  # type: ignore[attr-defined]


# ---- which graphs are of the form, and the order of a step ---------------------------------------


@pytest.mark.parametrize(
    ("name", "rows", "outer", "columns", "whole"),
    [
        ("weighted", "M", "", "N", True),
        ("scaled_and_shifted", "S", "B", "N", True),
        ("folded", "MH", "", "D", True),
        ("squashed", "M", "", "N", False),
        ("columns_alone", "M", "B", "N", False),
        ("across", "S", "B", "N", False),
    ],
)
def test_parts_of_dimensions(name: str, rows: str, outer: str, columns: str, whole: bool) -> None:
    form = find(build_named(SPECS, name, TARGETS).variants[0].graph)
    assert form is not None
    found = form.rows, form.outer, form.columns, form.whole
    assert found == (tuple(rows), tuple(outer), tuple(columns), whole)


@pytest.mark.parametrize("name", ["both_ways", "sinkhorn", "last_best", "kept_dims", "outer"])
def test_other_graphs_keep_their_stages(name: str) -> None:
    hostile = SPECS.parents[1] / "hostile" / "hostile_specs.py"
    assert find(build_named(hostile, name, TARGETS).variants[0].graph) is None


def test_a_step_holds_no_more_than_it_must() -> None:
    """Loads go to their first use, values as far as their operands live, sums come first."""
    body = [
        Statement("load", "g", pointer="g_rows + cols"),
        Statement("load", "x", pointer="x_rows + cols"),
        Statement("assign", "both", "g * g"),
        Statement("assign", "total", "tl.sum(x, axis=1)"),
        Statement("assign", "mean", "tl.sum(both * total, axis=1)"),
        Statement("store", value="both * mean", pointer="y_rows + cols"),
    ]
    step = Statement("assign", "carried", "carried + tl.where(in_rows, g * total, 0.0)")
    lines = order.late(order.once_known(step, body))
    assert [line.target for line in lines] == [
        "x", "total", "g", "both", "carried", "mean", ""
    ]  # fmt: skip
