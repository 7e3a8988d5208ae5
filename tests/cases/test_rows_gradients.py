"""Inputs that broke the gradients of row kernels: rows 13 to 20 of the list, under each schedule."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from cases_ops import function

from generated import _runtime

INF, NAN = math.inf, math.nan
SCHEDULES = ("block", "loop", "split", "preferred")


@pytest.fixture(params=SCHEDULES)
def schedule(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The schedule of all kernels, those of backwards included."""
    if request.param != "preferred":
        monkeypatch.setattr(
            _runtime.Call, "takes", lambda call, name, preferred=True: name == request.param
        )
    _runtime.LAUNCHES.clear()
    yield request.param
    _runtime.LAUNCHES.clear()


def leaf(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone().requires_grad_()


def gradients(
    run: Callable[..., torch.Tensor], given: list[torch.Tensor], upstream: torch.Tensor,
    dtype: torch.dtype | None = None,
) -> tuple[torch.Tensor, ...]:  # fmt: skip
    leaves = [leaf(t if dtype is None else t.to(dtype)) for t in given]
    result = run(*leaves)
    return torch.autograd.grad(result, leaves, upstream.to(result.dtype))


@pytest.mark.parametrize("size", [3, 17, 2, 31])
@pytest.mark.parametrize("mean", [1e3, -1e4])
def test_13_padded_lanes_stay_out(size: int, mean: float, schedule: str) -> None:
    given = [torch.randn(4, size) + mean, torch.randn(size), torch.randn(size)]
    upstream = torch.randn(4, size)

    def eager(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, (size,), weight, bias, 1e-5)

    ours = gradients(function("layernorm"), given, upstream)
    exact = gradients(eager, given, upstream, torch.float64)
    theirs = gradients(eager, given, upstream)
    for one, right, other in zip(ours, exact, theirs, strict=True):
        # The mean itself rounds, by which each deviation is off.
        allowed = 2 * (other - right).abs().max() + 1e-5 * right.abs().max()
        allowed += 16 * 2**-24 * abs(mean) / given[0].std(-1).min() * right.abs().max()
        assert (one - right).abs().max() <= allowed


@pytest.mark.parametrize("shape", [(2, 48, 5, 7), (1, 48, 1, 1), (2, 48, 33)])
@pytest.mark.parametrize("name", ["groupnorm", "groupnorm_silu"])
def test_14_groups_of_three_channels(name: str, shape: tuple[int, ...]) -> None:
    given = [torch.randn(shape), torch.randn(48), torch.randn(48)]
    upstream = torch.randn(shape)

    def eager(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        y = F.group_norm(x, 16, weight, bias)
        return F.silu(y) if name.endswith("silu") else y

    ours = gradients(lambda *tensors: function(name)(*tensors, 16), given, upstream)
    exact = gradients(eager, given, upstream, torch.float64)
    for one, right in zip(ours, exact, strict=True):
        assert (one - right).norm() < 1e-6 * right.norm()


def test_15_one_column(schedule: str) -> None:
    given = [torch.full((3, 1), 1e6), torch.randn(1), torch.randn(1)]
    upstream = torch.randn(3, 1)
    x, weight, bias = gradients(function("layernorm"), given, upstream)
    assert not x.any()
    assert not weight.any()
    torch.testing.assert_close(bias, upstream.sum(0))


@pytest.mark.parametrize("schedule", ["loop", "split", "preferred"], indirect=True)
def test_16_one_finite_logit_among_many(schedule: str) -> None:
    classes = 100_000 if schedule == "preferred" else 5_000
    logits, target = torch.full((1, classes), -INF), torch.tensor([4_321])
    logits[0, target] = 10.0
    (gradient,) = gradients(
        lambda x: function("cross_entropy")(x, target)[0], [logits], torch.ones(1)
    )
    assert not gradient.any()


@pytest.mark.parametrize("smoothing", [None, 0.1])
def test_17_every_label_is_ignored(smoothing: float | None, schedule: str) -> None:
    """The gradients are 0 even of rows whose logits make a NaN."""
    logits, target = torch.randn(3, 11), torch.full((3,), -100)
    logits[0, 3] = NAN
    logits[1] = -INF

    def run(x: torch.Tensor) -> torch.Tensor:
        return function("cross_entropy")(x, target, label_smoothing=smoothing)[0]

    (gradient,) = gradients(run, [logits[2:].expand(3, 11)], torch.ones(3))
    assert not gradient.any()
    (gradient,) = gradients(run, [logits], torch.ones(3))
    assert not gradient.nan_to_num().any()


@pytest.mark.parametrize("smoothing", [None, 0.1])
def test_18_each_row_is_scaled_by_its_own(smoothing: float | None, schedule: str) -> None:
    logits, target = torch.randn(6, 37), torch.tensor([0, 36, -100, 5, -100, 17])
    upstream = torch.tensor([1.0, -2.0, 3.0, 0.0, 1e3, 0.5])
    (ours,) = gradients(
        lambda x: function("cross_entropy")(x, target, label_smoothing=smoothing)[0],
        [logits], upstream,
    )  # fmt: skip
    (right,) = gradients(
        lambda x: F.cross_entropy(x, target, reduction="none", label_smoothing=smoothing or 0.0),
        [logits], upstream,
    )  # fmt: skip
    torch.testing.assert_close(ours, right, rtol=1e-5, atol=1e-6)
    assert not ours[[2, 3, 4]].any()


def test_19_nothing_that_was_saved_is_overwritten(schedule: str) -> None:
    x, target = torch.randn(5, 40), torch.randint(0, 40, (5,))

    def run(x: torch.Tensor, softmax: Any, loss: Any) -> torch.Tensor:
        probability = softmax(x)
        return loss(probability, target) + probability.square().sum(-1)

    ours = leaf(x)
    total = run(ours, function("softmax"), lambda *given: function("cross_entropy")(*given)[0])
    first = torch.autograd.grad(total.sum(), ours, retain_graph=True)
    # Other calls of the same shapes take memory in between.
    run(x, function("softmax"), lambda *given: function("cross_entropy")(*given)[0])
    again = torch.autograd.grad(total.sum(), ours)
    right = leaf(x)
    theirs = run(
        right, lambda x: torch.softmax(x, -1), lambda *g: F.cross_entropy(*g, reduction="none")
    )
    assert torch.equal(*first, *again)
    torch.testing.assert_close(
        first, torch.autograd.grad(theirs.sum(), right), rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize(("name", "right"), [
    ("softmax", lambda x: torch.softmax(x, -1)),
    ("log_softmax", lambda x: torch.log_softmax(x, -1)),
    ("logsumexp", lambda x: torch.logsumexp(x, -1)),
])  # fmt: skip
def test_20_nan_and_infinity_stay_in_their_rows(
    name: str, right: Callable[[torch.Tensor], torch.Tensor], schedule: str
) -> None:
    x = torch.randn(6, 45)
    x[0], x[1, 17], x[2, 44], x[3, :40], x[4, 0] = -INF, NAN, INF, -INF, -INF
    upstream = torch.randn(right(x).shape)
    (ours,) = gradients(function(name), [x], upstream)
    (theirs,) = gradients(right, [x], upstream)
    torch.testing.assert_close(ours[3:], theirs[3:], rtol=1e-5, atol=1e-5)
    assert not ours[3:].isnan().any()
    assert ours[1:3].isnan().all(-1).tolist() == theirs[1:3].isnan().all(-1).tolist()


def test_20_a_row_with_nothing_visible_has_gradients_of_zero(schedule: str) -> None:
    x, upstream = torch.randn(1, 2, 7, 5), torch.randn(1, 2, 7, 5)
    (gradient,) = gradients(
        lambda x: function("scaled_masked_softmax")(x, None, 1.0, True), [x], upstream
    )
    assert not gradient[:, :, :2].any()
    assert not gradient.isnan().any()
    assert gradient[:, :, 2:].any()
