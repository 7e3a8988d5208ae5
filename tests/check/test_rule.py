"""The rule that decides whether a kernel is right: what it accepts, and what it does not."""

import math

import pytest
import torch

from tilegen.toolchain import compare

X = torch.tensor([1.0, -2.0, 3.0, 100.0], dtype=torch.float64)


def nudged(x: torch.Tensor, dtype: torch.dtype, steps: int) -> torch.Tensor:
    """The values in a dtype, the last one some representable values up."""
    x = x.to(dtype)
    integer = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
    bits = x.clone().view(integer)
    bits[-1] += steps
    return bits.view(dtype)


FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e5m2)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_one_rounding_is_allowed_and_not_more(dtype: torch.dtype) -> None:
    assert compare.floats(X.to(dtype), X, 0.0).ok
    exact = X.to(dtype).double()
    assert compare.floats(exact.to(dtype), exact, 0.0).error == 0.0
    verdict = compare.floats(nudged(exact, dtype, 1), exact, 0.0)
    assert not verdict.ok
    assert "element 3" in verdict.reason


@pytest.mark.parametrize(("factor", "ok"), [(2.0, False), (3.0, True)])
def test_a_multiple_of_eagers_error_is_allowed(factor: float, ok: bool) -> None:
    actual = (X + 2.9e-3).float()
    assert compare.floats(actual, X, 1e-3, factor).ok is ok
    assert compare.floats(actual, X, 2e-3, factor).ok


def test_an_error_anywhere_counts() -> None:
    actual = X.float()
    actual[0] += 1e-3
    assert not compare.floats(actual, X, 1e-4).ok
    assert compare.floats(actual, X, 1e-3).ok


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_nan_and_infinity_must_be_where_fp64_has_them(value: float) -> None:
    with_it = X.clone()
    with_it[1] = value
    assert compare.floats(with_it.float(), with_it, 1.0).ok
    assert not compare.floats(X.float(), with_it, 1e30).ok
    assert not compare.floats(with_it.float(), X, 1e30).ok
    if math.isinf(value):
        assert not compare.floats(-with_it.float(), with_it, 1e30).ok


def test_what_overflows_the_output_is_infinite_or_saturated() -> None:
    exact = torch.tensor([1e6, -1e6], dtype=torch.float64)
    assert compare.floats(exact.half(), exact, 0.0).ok
    assert not compare.floats(torch.full((2,), math.inf).half(), exact, 0.0).ok
    most = torch.tensor([448.0, -448.0]).to(torch.float8_e4m3fn)
    assert compare.floats(most, exact, 0.0).ok
    nan = torch.tensor([math.nan, -448.0]).to(torch.float8_e4m3fn)
    assert not compare.floats(nan, exact, 0.0).ok


def test_overflow_of_eager_fp32_excuses_the_kernels() -> None:
    exact = torch.tensor([1.0, 2.0], dtype=torch.float64)
    actual = torch.tensor([1.0, math.nan])
    assert not compare.floats(actual, exact, 1.0).ok
    assert compare.floats(actual, exact, 1.0, overflowed=torch.tensor([False, True])).ok
    assert not compare.floats(actual, exact, 1.0, overflowed=torch.tensor([True, False])).ok


def test_zeros_and_denormals() -> None:
    exact = torch.tensor([0.0, 1e-40], dtype=torch.float64)
    assert compare.floats(torch.zeros(2), exact, 0.0).ok
    assert not compare.floats(torch.tensor([1e-30, 0.0]), exact, 0.0).ok
    assert not compare.floats(torch.tensor([0.0, 1e-37]), exact, 0.0).ok


def test_empty_outputs() -> None:
    nothing = torch.empty(0, 3, dtype=torch.float64)
    assert compare.floats(nothing.float(), nothing, 0.0).ok
    assert compare.exactly(nothing.long(), nothing.long()).ok
    assert compare.quantised(nothing.to(torch.int8), nothing.to(torch.int8), nothing).ok


def test_integers_and_booleans_are_exact() -> None:
    exact = torch.tensor([1, 2, 3])
    assert compare.exactly(exact.int(), exact).ok
    assert not compare.exactly(exact + torch.tensor([0, 0, 1]), exact).ok
    assert not compare.exactly(torch.tensor([True, True]), torch.tensor([True, False])).ok


SCORES = torch.tensor([[1.0, 5.0, 5.0 - 1e-9, 2.0]], dtype=torch.float64)


@pytest.mark.parametrize(("index", "error", "ok"), [
    (1, 0.0, True), (2, 0.0, False), (2, 1e-9, True), (3, 1e-9, False), (4, 9.0, False), (-1, 9.0, False),
])  # fmt: skip
def test_an_index_may_be_that_of_a_tie(index: int, error: float, ok: bool) -> None:
    scores = compare.Scores(SCORES, error)
    assert compare.indices(torch.tensor([index]), torch.tensor([1]), scores).ok is ok


def test_a_nan_is_no_tie() -> None:
    scores = SCORES.clone()
    scores[0, 2] = math.nan
    verdict = compare.indices(torch.tensor([1]), torch.tensor([2]), compare.Scores(scores, 9.0))
    assert not verdict.ok


@pytest.mark.parametrize("dtype", [torch.int8, torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
def test_quantised_values_may_be_one_step_off_where_they_are_near_one(dtype: torch.dtype) -> None:
    exact = torch.linspace(-100, 100, 200).to(dtype)
    assert compare.quantised(exact, exact, exact).ok
    assert compare.quantised(nudged(exact, dtype, 1), exact, exact).ok
    assert not compare.quantised(nudged(exact, dtype, 2), exact, exact).ok
    # Truncation in place of rounding would put half of them one step off.
    bits = exact.view(torch.uint8).clone()
    bits[100:] += 1
    many = bits.view(dtype)
    assert not compare.quantised(many, exact, exact).ok
    assert compare.quantised(many, exact, many).ok


def test_steps_count_representable_values() -> None:
    codes = torch.arange(127, dtype=torch.uint8).view(torch.float8_e4m3fn)
    assert compare.steps(codes).tolist() == list(range(127))
    pair = torch.tensor([-0.0, 0.0]).to(torch.float8_e4m3fn)
    assert compare.steps(pair).tolist() == [0, 0]
    negative = (-codes.float()).to(torch.float8_e4m3fn)
    assert compare.steps(negative).tolist() == [-code for code in range(127)]


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
def test_nan_is_one_value_whatever_its_bits(dtype: torch.dtype) -> None:
    codes = [0x7F, 0xFF] + ([0x7D, 0xFE] if dtype == torch.float8_e5m2 else [])
    nans = torch.tensor(codes, dtype=torch.uint8).view(dtype)
    assert len(set(compare.steps(nans).tolist())) == 1
    exact = torch.tensor([1.0] * 60 + [math.nan] * len(codes)).to(dtype)
    actual = torch.cat([exact[:60].view(torch.uint8), nans.view(torch.uint8)]).view(dtype)
    assert compare.quantised(actual, exact, exact).ok
    most = torch.full_like(exact.float(), 400.0).to(dtype)
    assert not compare.quantised(most, exact, exact).ok
    assert not compare.quantised(exact, most, exact).ok
