"""Wrong answers are seen: what the bench compares before it times."""

import torch

from tilegen.toolchain.verdict import judge, judge_dropout

REFERENCE = torch.linspace(-3.0, 3.0, 64, dtype=torch.float64)


def test_rounding_to_bf16_passes():
    verdict = judge([REFERENCE.bfloat16()], [REFERENCE])
    assert verdict.complaint == ""
    assert 1e-4 < verdict.error < 4e-3


def test_a_scaled_result_is_wrong():
    assert "relative error" in judge([REFERENCE * 1.02], [REFERENCE]).complaint


def test_one_unwritten_element_is_wrong():
    result = REFERENCE.clone()
    result[5] = torch.nan
    assert judge([result], [REFERENCE]).complaint


def test_nan_where_the_reference_has_it_passes_and_infinities_must_agree():
    reference = REFERENCE.clone()
    reference[0], reference[1] = torch.nan, torch.inf
    assert judge([reference.float()], [reference]).complaint == ""
    other = reference.clone()
    other[1] = -torch.inf
    assert judge([other], [reference]).complaint


def test_a_wrong_second_output_is_wrong_and_a_missing_one_is_not():
    assert judge([REFERENCE, -REFERENCE], [REFERENCE, REFERENCE]).complaint
    assert judge([REFERENCE], [REFERENCE, REFERENCE]).complaint == ""


def test_a_wrong_shape_is_wrong():
    assert "expected [64]" in judge([REFERENCE[:32]], [REFERENCE]).complaint


def test_integers_are_exact_and_quantised_ones_may_be_one_off():
    index = torch.arange(64)
    assert "integers differ" in judge([index + 1], [index]).complaint
    quantised = index.to(torch.int8)
    assert judge([quantised + 1], [quantised]).complaint == ""
    assert "integers differ" in judge([quantised + 2], [quantised]).complaint


def test_dropout_by_other_bits_is_judged_by_what_it_keeps():
    generator = torch.Generator().manual_seed(0)
    x, residual = torch.randn(2, 20_000, generator=generator)
    keep = torch.rand(20_000, generator=generator) >= 0.1
    right = residual + torch.where(keep, x / 0.9, 0.0)
    assert judge_dropout(right, x, residual).complaint == ""
    assert judge_dropout(residual + torch.where(keep, x, 0.0), x, residual).complaint
    assert "kept" in judge_dropout(residual + x / 0.9, x, residual).complaint
