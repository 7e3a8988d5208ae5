"""Inputs that broke row kernels: rows 13 to 20 of the list, in the forward."""

import math

import pytest
import torch
import torch.nn.functional as F
from cases_ops import function, of

from tilegen.toolchain import matrix

INF, NAN = math.inf, math.nan


def scheduled(name: str, schedule: str, tensors: list[torch.Tensor | None], params: tuple) -> tuple:
    """The outputs of an op under a schedule, with its smallest config that fits."""
    given = matrix.Inputs(tuple(tensors), params, (), ())
    launching = next(
        item for item in matrix.launchings(of(name), given) if item.schedule == schedule
    )
    return tuple(launching.run(of(name), given, None)[: len(of(name).op.outputs)])


SCHEDULES = ("block", "loop", "split")


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("size", [3, 17, 2, 31, 1000])
@pytest.mark.parametrize("mean", [1e3, -1e4, 0.0])
def test_13_padded_lanes_stay_out_of_the_variance(size: int, mean: float, schedule: str) -> None:
    x = torch.randn(4, size) + mean
    weight, bias = torch.randn(size), torch.randn(size)
    (y,) = scheduled("layernorm", schedule, [x, weight, bias], (1e-5,))
    exact = F.layer_norm(x.double(), (size,), weight.double(), bias.double(), 1e-5)
    eager = F.layer_norm(x, (size,), weight, bias, 1e-5)
    # The mean itself rounds.
    allowed = 2 * (eager - exact).abs().max() + 1e-6 + 4 * 2**-24 * abs(mean) / x.std(-1).min()
    assert (y - exact).abs().max() <= allowed


@pytest.mark.parametrize("shape", [(2, 48, 5, 7), (1, 48, 1, 1), (2, 48, 33)])
@pytest.mark.parametrize("name", ["groupnorm", "groupnorm_silu"])
def test_14_groups_of_three_channels(name: str, shape: tuple[int, ...]) -> None:
    x, weight, bias = torch.randn(shape), torch.randn(48), torch.randn(48)
    y = function(name)(x, weight, bias, 16)
    exact = F.group_norm(x.double(), 16, weight.double(), bias.double())
    exact = F.silu(exact) if name.endswith("silu") else exact
    assert (y - exact).abs().max() < 2e-6
    assert (y - exact).norm() / exact.norm() < 2e-7


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_15_one_column(schedule: str) -> None:
    x, weight, bias = torch.full((3, 1), 1e6), torch.randn(1), torch.randn(1)
    (y,) = scheduled("layernorm", schedule, [x, weight, bias], (1e-5,))
    assert torch.equal(y, bias.expand(3, 1))


@pytest.mark.parametrize("schedule", ["loop", "split"])
@pytest.mark.parametrize("where", [0, 99_999, 54_321])
def test_16_one_finite_logit_among_100_000(where: int, schedule: str) -> None:
    logits = torch.full((1, 100_000), -INF)
    logits[0, where] = 10.0
    loss, lse = scheduled(
        "cross_entropy", schedule, [logits, torch.tensor([where])], (-100, None, 0.0, None)
    )
    assert loss.tolist() == [0.0]
    assert lse.tolist() == [10.0]


@pytest.mark.parametrize("rows", [3, 1])
def test_17_every_label_is_ignored(rows: int) -> None:
    logits = torch.randn(rows, 11)
    logits[0, 3] = NAN
    loss, _ = function("cross_entropy")(logits, torch.full((rows,), -100))
    assert loss.tolist() == [0.0] * rows
    assert math.isnan(loss[:0].mean())
    other, _ = function("cross_entropy")(logits[1:], torch.full((rows - 1,), 7), ignore_index=7)
    assert other.tolist() == [0.0] * (rows - 1)


def test_18_each_row_has_its_own_loss() -> None:
    logits, target = torch.randn(6, 37), torch.tensor([0, 36, -100, 5, -100, 17])
    loss, _ = function("cross_entropy")(logits, target)
    torch.testing.assert_close(loss, F.cross_entropy(logits, target, reduction="none"))
    assert len(set(loss.tolist())) == 5


def test_19_what_was_given_is_not_overwritten() -> None:
    x, target = torch.randn(5, 40), torch.randint(0, 40, (5,))
    before = x.clone()
    p = function("softmax")(x)
    kept = p.clone()
    loss, lse = function("cross_entropy")(p, target)
    loss.add_(1.0)
    lse.zero_()
    assert torch.equal(x, before)
    assert torch.equal(p, kept)
    again, _ = function("cross_entropy")(p, target)
    torch.testing.assert_close(again + 1.0, loss)


def special_rows() -> torch.Tensor:
    x = torch.randn(6, 45)
    x[0] = -INF
    x[1, 17] = NAN
    x[2, 44] = INF
    x[3, :40] = -INF
    x[4, 0] = -INF
    return x


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("name", "right"), [
    ("softmax", lambda x: torch.softmax(x, -1)),
    ("log_softmax", lambda x: torch.log_softmax(x, -1)),
    ("logsumexp", lambda x: torch.logsumexp(x, -1)),
])  # fmt: skip
def test_20_nan_and_infinity_stay_in_their_rows(name: str, right: object, schedule: str) -> None:
    x = special_rows()
    (y,) = scheduled(name, schedule, [x], ())
    torch.testing.assert_close(y, right(x), equal_nan=True)
    assert y[3:].isnan().sum() == 0


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_20_a_row_with_nothing_visible_is_zero(schedule: str) -> None:
    x = torch.randn(1, 2, 7, 5)  # the causal mask leaves the first two queries no key
    (y,) = scheduled("scaled_masked_softmax", schedule, [x, None], (1.0, True))
    assert torch.equal(y[:, :, :2], torch.zeros(1, 2, 2, 5))
    torch.testing.assert_close(y[:, :, 2:].sum(-1), torch.ones(1, 2, 5))
