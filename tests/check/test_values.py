"""Rows on which kernels like these have been wrong, with the values that must come out."""

from pathlib import Path

import pytest
import torch

from tilegen.spec.load import load_folder
from tilegen.toolchain import check
from tilegen.toolchain.inputs import Inputs
from tilegen.toolchain.matrix import Launching, plan, schedules
from tilegen.toolchain.subject import Subject, subject

ROOT = Path(__file__).parents[2]
LOADED = {item.spec.name: item for item in load_folder(ROOT / "specs")[0]}
SCHEDULES = ("block", "loop", "split")
DEVICE = check.prepare()


def of(name: str) -> Subject:
    return subject(LOADED[name], ROOT / "generated")


def run(op: Subject, schedule: str, *tensors: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    """One output, by the first config of a schedule."""
    inputs = Inputs(tensors, tuple(param.default for param in op.op.params), (), ())
    choices = op.runtime.Choices(schedule=schedule)
    plan(op, inputs, (out,)).launch(choices)
    Launching(schedule, choices.spaces[0][:1]).run(op, inputs, (out,))
    return out


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16], ids=str)
@pytest.mark.parametrize("columns", [97, 1000])
def test_constant_rows_have_no_spread(schedule: str, dtype: torch.dtype, columns: int) -> None:
    """Their mean is exact, so x - mean(x) is 0, though their sum is rounded."""
    x = torch.tensor([0.1, -1234.567, 1e-3, 2 / 3], dtype=torch.float64, device=DEVICE).to(dtype)
    x = x[:, None].expand(4, columns).contiguous()
    assert bool((x.sum(-1) / columns != x[:, 0]).any()) or dtype == torch.float16
    weight = torch.ones(columns, dtype=dtype, device=DEVICE)
    bias = torch.full_like(weight, 0.25)
    y = run(of("layernorm"), schedule, x, weight, bias, out=torch.empty_like(x))
    assert y.unique().tolist() == [0.25]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_large_offsets_leave_the_spread(schedule: str) -> None:
    x = torch.randn(3, 200, generator=torch.Generator().manual_seed(0)).to(DEVICE) + 4096.0
    weight = torch.ones(200, device=DEVICE)
    bias = torch.zeros(200, device=DEVICE)
    y = run(of("layernorm"), schedule, x, weight, bias, out=torch.empty_like(x))
    exact = torch.nn.functional.layer_norm(x.double(), (200,))
    # One rounding of the mean, 2.4e-4, is all that is lost.
    assert float((y - exact).abs().max()) < 3e-4


FP8 = [torch.float8_e4m3fn, torch.float8_e5m2]


@pytest.mark.parametrize("dtype", FP8, ids=str)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_padding_of_fp8_is_below_its_lowest_value(schedule: str, dtype: torch.dtype) -> None:
    """Triton casts the -inf of padded lanes to what these rows hold."""
    x = torch.full((2, 33), torch.finfo(dtype).min, device=DEVICE).to(dtype)
    out = torch.empty(2, 33, device=DEVICE)
    assert run(of("softmax"), schedule, x, out=out).tolist() == [[pytest.approx(1 / 33)] * 33] * 2


@pytest.mark.gpu  # the interpreter reads the infinities of fp8 as numbers
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_rows_of_nothing_but_minus_infinity_in_fp8(schedule: str) -> None:
    x = torch.full((2, 97), -torch.inf, device=DEVICE).to(torch.float8_e5m2)
    y = run(of("log_softmax"), schedule, x, out=torch.empty_like(x))
    assert bool(y.float().isnan().all())


def test_every_schedule_is_there() -> None:
    x = torch.zeros(2, 200, device=DEVICE)
    inputs = Inputs((x,), (), (), ())
    assert set(schedules(of("softmax"), inputs)) == set(SCHEDULES)
