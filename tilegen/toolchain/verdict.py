"""Whether a contestant of the bench computes the op, before it is timed.

The yardstick is the module's reference in fp64. This finds wrong kernels and wrong peers;
`tilegen check` is what holds our kernels to their rounding errors.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch

LARGEST_ERROR: Final = 1e-2  # of ||y - r|| / ||r||: bf16, op by op, stays under 6e-3
LARGEST_ERROR_FP8: Final = 5e-2  # a mantissa of 3 bits, on a value that op by op is bf16 before
LARGEST_SHARE: Final = 1e-3  # of integers that differ: ties, and values on a rounding boundary


@dataclass(frozen=True)
class Verdict:
    """The largest relative error of the outputs, and what is wrong with them, if anything."""

    error: float
    complaint: str = ""


def as_tuple(results: Any) -> tuple[torch.Tensor, ...]:
    """Return one result or several as a tuple."""
    return (results,) if isinstance(results, torch.Tensor) else tuple(results)


def reference_outputs(
    module: Any, runtime: Any, tensors: Sequence[torch.Tensor | None], params: Sequence[Any]
) -> tuple[torch.Tensor, ...]:
    """Return the outputs of a module's reference in fp64, unrounded, of the spec's dimensions."""
    op = module.OP
    folded = [runtime.fold(o, t, op.fold) for o, t in zip(op.inputs, tensors, strict=True)]
    variant = op.variants[op.variant_key(tensors, params)]
    return as_tuple(variant.reference(*folded, *params, compute=torch.float64))


def judge(
    results: Sequence[torch.Tensor],
    expected: Sequence[torch.Tensor],
    largest: float = LARGEST_ERROR,
) -> Verdict:
    """Compare outputs with fp64 ones; a peer may have fewer of them (a loss without its lse)."""
    worst = 0.0
    for at, (result, reference) in enumerate(zip(results, expected, strict=False)):
        if result.numel() != reference.numel():
            said = f"output {at} is {list(result.shape)}, expected {list(reference.shape)}"
            return Verdict(float("inf"), said)
        result = result.reshape(reference.shape)
        if not reference.dtype.is_floating_point:
            step = 1 if reference.dtype == torch.int8 else 0  # a quantised value may be one off
            distance = (result.to(torch.int64) - reference.to(torch.int64)).abs()
            share = (distance > step).double().mean().item()
            if share > LARGEST_SHARE:
                return Verdict(share, f"output {at}: {share:.2%} of its integers differ")
            worst = max(worst, share)
            continue
        error = _relative_error(result, reference)
        limit = LARGEST_ERROR_FP8 if result.dtype.itemsize == 1 else largest
        if not error <= limit:  # NaN is no good either
            return Verdict(error, f"output {at}: relative error {error:.2e}")
        worst = max(worst, error)
    return Verdict(worst)


def judge_dropout(result: torch.Tensor, x: torch.Tensor, residual: torch.Tensor) -> Verdict:
    """Judge a dropout with random bits of its own: elements kept or dropped, one in ten dropped."""
    kept = residual.double() + x.double() / 0.9
    is_kept = (result.double() - kept).abs() < (result.double() - residual.double()).abs()
    verdict = judge([result], [torch.where(is_kept, kept, residual.double())])
    # What is small beside the residual rounds away, kept or not.
    told = (kept - residual.double()).abs() > 2 * torch.finfo(result.dtype).eps * kept.abs()
    share = is_kept[told].double().mean().item()
    chance = 5 * (0.9 * 0.1 / max(1, int(told.sum()))) ** 0.5  # five standard deviations
    if not verdict.complaint and abs(share - 0.9) > chance:
        return Verdict(verdict.error, f"{share:.1%} of the elements are kept, expected 90%")
    return verdict


def _relative_error(result: torch.Tensor, reference: torch.Tensor) -> float:
    """Return ||result - reference|| / ||reference||, where both are finite; NaN must match."""
    result, reference = result.double(), reference.double()
    finite = reference.isfinite()
    if not torch.equal(result.isnan(), reference.isnan()):
        return float("nan")
    same = torch.where(finite, 0.0, result == reference).logical_or(finite | reference.isnan())
    if not bool(same.all()):
        return float("nan")
    difference = torch.where(finite, result - reference, 0.0).norm()
    scale = torch.where(finite, reference, 0.0).norm()
    return float(difference / scale) if scale > 0 else float(difference)
