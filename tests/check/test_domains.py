"""Domains of arguments: what a spec may say, and what a check draws then."""

import pytest
import torch

from tilegen.spec.domains import Domain
from tilegen.toolchain.inputs import inside, integers

DIMS = {"N": 7, "V": 1}


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("", Domain()),
        ("<= 0", Domain(high=0.0)),
        ("< -1.5", Domain(high=-1.5, below=True)),
        ("> 2", Domain(low=2.0, above=True)),
        ("in [0, N)", Domain(0.0, "N", below=True)),
        ("in (-1, 1]", Domain(-1.0, 1.0, above=True)),
        ("probability", Domain(0.0, 1.0, rows="probability")),
    ],
)
def test_what_a_spec_says(text: str, domain: Domain) -> None:
    assert Domain.parse(text, DIMS) == domain


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("positive", "no domain"),
        (">0", "no domain"),
        ("in [0, K)", "K is no dimension"),
        ("in [1, 0]", "no values"),
        ("in [0, 0)", "no values"),
    ],
)
def test_what_a_spec_may_not_say(text: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        Domain.parse(text, DIMS)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("", 0, 100),
        ("in [0, N)", 0, 7),
        ("in (0, N]", 1, 8),
        ("in [0, V)", 0, 1),
        (">= 3", 3, 103),
        ("> 3", 4, 104),
        ("<= -3", -102, -2),
        ("< -3", -103, -3),
    ],
)
def test_integers_from_the_first_to_before_the_last(text: str, low: int, high: int) -> None:
    assert integers(Domain.parse(text, DIMS), DIMS) == (low, high)


@pytest.mark.parametrize(
    "text",
    ["<= 0", "< -1.5", ">= 0", "> 2", "in [0, 1]", "in (0, 1)", "in [-2, 3)", "in [0, N)"],
)
def test_drawn_values_lie_inside(text: str) -> None:
    x = torch.tensor([-1e30, -3.0, 0.0, 1e-9, 0.5, 40.0, 1e30], dtype=torch.float64)
    domain = Domain.parse(text, DIMS)
    low, high = domain.ends(DIMS)
    drawn = inside(x, domain, DIMS)
    assert len(set(drawn.tolist())) > 2
    if low is not None:
        assert bool(((drawn > low) if domain.above else (drawn >= low)).all())
    if high is not None:
        assert bool(((drawn < high) if domain.below else (drawn <= high)).all())


@pytest.mark.parametrize("text", ["probability", "log-probability"])
def test_drawn_rows_are_distributions(text: str) -> None:
    drawn = inside(torch.randn(3, 9, dtype=torch.float64), Domain.parse(text, DIMS), DIMS)
    rows = drawn if text == "probability" else drawn.exp()
    torch.testing.assert_close(rows.sum(-1), torch.ones(3, dtype=torch.float64))
