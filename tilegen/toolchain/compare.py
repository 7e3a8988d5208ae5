"""The rule: when a kernel's result is right.

Per output tensor, the largest error against fp64 is at most twice that of op-by-op eager PyTorch
in the inputs' dtype (three times with a softcap), plus one rounding of the output's dtype. NaN and
infinities are where fp64 has them. Integers and booleans are exact, except for an index where the
fp64 value at it ties with the best; quantised values are at most one step off.
"""

import math
from dataclasses import dataclass

import torch

#: Steps at which values may be one step off: twice as many as those of eager fp32, and this share.
ONE_OFF_SHARE = 0.02


@dataclass(frozen=True)
class Verdict:
    """What the rule says of one output.

    Attributes:
        ok: whether the output is right.
        error: its largest error (steps or positions for what is no float).
        bound: what was allowed there.
        reason: what is wrong; empty if nothing is.
    """

    ok: bool
    error: float = 0.0
    bound: float = 0.0
    reason: str = ""


@dataclass(frozen=True)
class Scores:
    """What an argmax or argmin was taken of, in fp64 with its dimension last, and eager's error."""

    exact: torch.Tensor
    error: float


def floats(
    actual: torch.Tensor,
    exact: torch.Tensor,
    eager_error: float,
    factor: float = 2.0,
    overflowed: torch.Tensor | None = None,
    roundings: int = 1,
) -> Verdict:
    """The rule for floating outputs.

    Args:
        actual: the kernel's result, in its storage dtype.
        exact: the result in fp64, not rounded.
        eager_error: the largest error of eager PyTorch.
        factor: how many times that is allowed.
        overflowed: where eager fp32 has no finite value, though fp64 has one.
        roundings: 2 where a cast of the spec rounds `exact` too, perhaps the other way.
    """
    dtype = actual.dtype
    most = torch.finfo(dtype).max
    got = actual.double()
    bound = factor * eager_error + roundings * rounding(exact, dtype)
    wanted = stored(exact, dtype)
    regular = got.isfinite() & wanted.isfinite()
    # At the edge of the range a value may round either way.
    edge = (torch.minimum(wanted.abs(), got.abs()) + bound >= most) & (got * wanted > 0)
    alike = regular | (got == wanted) | (got.isnan() & wanted.isnan()) | edge
    if overflowed is not None:
        alike |= overflowed & ~got.isfinite()
    if not bool(alike.all()):
        at = int((~alike).flatten().nonzero()[0])
        return Verdict(
            False, math.inf, 0.0,
            f"{got.flatten()[at].item()} where fp64 gives {wanted.flatten()[at].item()} "
            f"(element {at}; {int((~alike).sum())} such)",
        )  # fmt: skip
    error = torch.where(regular, (got - exact.clamp(-most, most)).abs(), 0.0)
    excess = torch.where(regular, error - bound, 0.0)
    if error.numel() == 0:
        return Verdict(True)
    at = int(excess.flatten().argmax())
    worst, allowed = float(error.flatten()[at]), float(bound.flatten()[at])
    if worst <= allowed:
        return Verdict(True, float(error.max()), allowed)
    return Verdict(
        False, worst, allowed,
        f"error {worst:.3g} is more than {allowed:.3g} (element {at}: "
        f"{got.flatten()[at].item():.9g}, fp64 gives {exact.flatten()[at].item():.9g}; "
        f"{int((excess > 0).sum())} such)",
    )  # fmt: skip


def stored(exact: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """fp64 values rounded to a storage dtype, in fp64; fp8 saturates."""
    if dtype.itemsize == 1:
        most = torch.finfo(dtype).max
        exact = exact.clamp(-most, most)
    return exact.to(dtype).double()


def rounding(exact: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Half the distance to the next value of the dtype, and what flushing denormals loses."""
    facts = torch.finfo(dtype)
    finite = exact.abs().nan_to_num(0.0, posinf=0.0).clamp_min(facts.smallest_normal)
    normal = torch.ldexp(torch.ones_like(exact), torch.frexp(finite).exponent - 1)
    flushed = torch.finfo(torch.float64 if dtype == torch.float64 else torch.float32).tiny
    return normal * (facts.eps / 2 * (1 + 2.0**-20)) + flushed


def largest_error(result: torch.Tensor, exact: torch.Tensor) -> float:
    """The largest difference where both are finite."""
    result = result.double()
    difference = (result - exact).abs()
    difference = difference[result.isfinite() & exact.isfinite()]
    return float(difference.max()) if difference.numel() else 0.0


def exactly(actual: torch.Tensor, exact: torch.Tensor) -> Verdict:
    """The rule for integers and booleans."""
    wrong = actual.to(exact.dtype) != exact
    if not bool(wrong.any()):
        return Verdict(True)
    at = int(wrong.flatten().nonzero()[0])
    return Verdict(
        False, math.inf, 0.0,
        f"{actual.flatten()[at].item()} where fp64 gives {exact.flatten()[at].item()} "
        f"(element {at}; {int(wrong.sum())} such)",
    )  # fmt: skip


def indices(actual: torch.Tensor, exact: torch.Tensor, scores: Scores) -> Verdict:
    """The rule for an argmax or argmin: another index is right if its score ties with the best.

    A tie is a difference within twice the error that eager PyTorch has on the scores.
    """
    size = scores.exact.shape[-1]
    if bool(((actual < 0) | (actual >= size)).any()):
        return Verdict(False, math.inf, 0.0, f"an index is not in [0, {size})")
    best = scores.exact.gather(-1, exact.unsqueeze(-1)).squeeze(-1)
    chosen = scores.exact.gather(-1, actual.unsqueeze(-1)).squeeze(-1)
    gap = torch.where((actual == exact) | (chosen == best), 0.0, (chosen - best).abs())
    allowed = 2 * scores.error
    worst = float(gap.max()) if gap.numel() else 0.0
    if not bool(gap.isnan().any()) and worst <= allowed:
        return Verdict(True, worst, allowed)
    at = int((~(gap <= allowed)).flatten().nonzero()[0])
    return Verdict(
        False, worst, allowed,
        f"index {actual.flatten()[at].item()} with {chosen.flatten()[at].item():.9g}, but "
        f"{exact.flatten()[at].item()} has {best.flatten()[at].item():.9g} (element {at})",
    )  # fmt: skip


def quantised(actual: torch.Tensor, exact: torch.Tensor, eager: torch.Tensor) -> Verdict:
    """The rule for values rounded to few steps.

    Args:
        actual: the kernel's integers or fp8 values.
        exact: those of the fp64 reference, in the same dtype.
        eager: those of eager fp32, in the same dtype; where they are off, so may the kernel's be.
    """
    if actual.dtype.is_floating_point:
        nan = actual.double().isnan()
        if not torch.equal(nan, exact.double().isnan()):
            return Verdict(False, math.inf, 0.0, "NaN is not where fp64 has it")
    off = (steps(actual) - steps(exact)).abs()
    if off.numel() == 0:
        return Verdict(True)
    worst = int(off.max())
    if worst > 1:
        at = int(off.flatten().argmax())
        return Verdict(False, worst, 1.0, f"{worst} steps off (element {at})")
    near = int((steps(eager) != steps(exact)).sum())
    allowed = max(1, 2 * near, math.ceil(ONE_OFF_SHARE * off.numel()))
    count = int(off.sum())
    if count > allowed:
        return Verdict(False, 1.0, 1.0, f"{count} values of {off.numel()} are one step off")
    return Verdict(True, worst, 1.0)


def steps(values: torch.Tensor) -> torch.Tensor:
    """Values as integers that count the representable ones between them.

    NaN is one value above all others, whatever its sign and payload: GPUs and PyTorch choose
    different ones.
    """
    if not values.dtype.is_floating_point:
        return values.long()
    bits = values.contiguous().view(torch.int8).long()
    magnitude = bits & 0x7F
    signed = torch.where(bits < 0, -magnitude, magnitude)
    return torch.where(values.contiguous().float().isnan(), 0x80, signed)
