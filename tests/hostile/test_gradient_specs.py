"""Each spec of `gradient_specs.py`: results and gradients, interpreted, against PyTorch's in fp64."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

SPECS = Path(__file__).with_name("gradient_specs.py")


def draw(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def positive(*shape: int) -> torch.Tensor:
    return draw(*shape).abs() + 0.2


def entropy(x: torch.Tensor) -> torch.Tensor:
    return -(x.softmax(-1) * x.log_softmax(-1)).sum(-1)


def nested(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    inner = (x / (1.5 + w.sigmoid()) + x).softmax(-1) + x
    return x * (inner.var(-1, correction=0, keepdim=True) + 0.1).rsqrt()


def tangle(x: torch.Tensor, y: torch.Tensor, w: torch.Tensor, r: torch.Tensor) -> Any:
    r = r[:, None]
    inner = (0.5 + (w + r + x / (1.5 + r.abs())).abs()).sqrt()
    a = (0.5 + (torch.maximum(w + r, r * w) + inner).abs()).sqrt() + w * r * y + x
    spread = (w + x).var(-1, correction=0, keepdim=True)
    scaled = (a - (x * x).mean(-1, keepdim=True)) * (spread + 0.1).rsqrt()
    low = torch.minimum(a * (y + x).sum(-1, keepdim=True), scaled)
    return a, low + (x * x).sum(-1, keepdim=True) * y


def gathered(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    return x[:, i].sum(-1)


Right = Callable[..., Any]
CASES: dict[str, tuple[Right, list[tuple[Any, ...]]]] = {
    "largest_of_output": (lambda x: (x.exp(), x.exp().amax(-1)), [(draw(3, 17),), (draw(2, 3000),)]),
    "log_of_rest": (
        lambda x: (x.sigmoid(), torch.nn.functional.logsigmoid(-x)), [(draw(17) + 3,)],
    ),
    "entropy": (lambda x: (x.softmax(-1), entropy(x)), [(draw(3, 7),), (draw(2, 3000),)]),
    "entropy_alone": (entropy, [(draw(3, 7),), (draw(3, 8),), (draw(2, 3000),)]),
    "signs": (lambda x, eps=0.0: (x / (x.abs() + eps)).sum(-1), [(draw(3, 3),), (draw(1, 17),)]),
    "ratio_of_ratio": (lambda x, s: (x / s[:, None]) / x, [(positive(3, 5), positive(3))]),
    "nested": (nested, [(draw(3, 8), positive(8)), (draw(4, 7), positive(7))]),
    "softmax_and_lse": (lambda x: (x.softmax(-1), x.logsumexp(-1)), [(draw(3, 17),)]),
    "distilled": (
        lambda x, t: (x.softmax(-1) * t).sum(-1) + (t * x.log_softmax(-1)).sum(-1),
        [(draw(3, 17), draw(3, 17))],
    ),
    "gathered": (gathered, [(draw(3, 17), torch.tensor([0, 5, 5, 16, 2]))]),
    "tangle": (tangle, [(draw(3, 7), draw(3, 7), draw(7), draw(3))]),
    "powered": (lambda x, n=3.0: x**n, [(positive(17),), (positive(5), 2.5), (draw(7), 2.0)]),
    "counted": (
        lambda x, p: (x * x * p).sum(-1) / p.sum(), [(draw(3, 17), draw(17) > 0.3)],
    ),
    "crossed": (lambda x, w: x * w.T, [(draw(3, 5), draw(5, 3))]),
}  # fmt: skip


def leaves(given: tuple[Any, ...], dtype: torch.dtype) -> tuple[Any, ...]:
    """The arguments, floats as leaves of a type."""
    floats = [isinstance(a, torch.Tensor) and a.is_floating_point() for a in given]
    made = zip(given, floats, strict=True)
    return tuple(a.to(dtype, copy=True).requires_grad_() if real else a for a, real in made)


def results(made: Any) -> list[torch.Tensor]:
    return [made] if isinstance(made, torch.Tensor) else list(made)


@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients(op: Callable[[str], Any], name: str) -> None:
    right, draws = CASES[name]
    for given in draws:
        ours, exact = leaves(given, torch.float32), leaves(given, torch.float64)
        found, wanted = results(op(name)(*ours)), results(right(*exact))
        upstream = [draw(*w.shape) for w in wanted]
        torch.autograd.backward(found, upstream)
        torch.autograd.backward(wanted, [u.double() for u in upstream])
        for one, other in zip(found, wanted, strict=True):
            torch.testing.assert_close(one.double(), other, rtol=2e-5, atol=2e-5)
        for one, other in zip(ours, exact, strict=True):
            if isinstance(one, torch.Tensor) and one.requires_grad:
                torch.testing.assert_close(one.grad.double(), other.grad, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_rounded_result_is_kept_only_where_that_does_no_harm(
    op: Callable[[str], Any], dtype: torch.dtype
) -> None:
    x = torch.tensor([[0.0, 1.0, 3.0]], dtype=dtype, requires_grad=True)
    (grad,) = torch.autograd.grad(op("largest_of_output")(x)[1].sum(), x)
    assert grad[0, :2].tolist() == [0.0, 0.0]
    assert abs(grad[0, 2].item() - 20.0855) < 0.1
    x = torch.tensor([0.0, 6.0, 9.0], dtype=dtype, requires_grad=True)
    (grad,) = torch.autograd.grad(op("log_of_rest")(x)[1].sum(), x)
    torch.testing.assert_close(grad.float(), -x.detach().float().sigmoid(), rtol=1e-2, atol=1e-2)
    wide = (draw(3, 33) * 12).to(dtype).requires_grad_()
    (grad,) = torch.autograd.grad(op("entropy")(wide)[1].sum(), wide)
    assert grad.isfinite().all()


def test_a_choice_of_two_numbers_is_fp64_in_fp64(op: Callable[[str], Any]) -> None:
    x, p = draw(3, 17).double(), draw(17) > 0.3
    torch.testing.assert_close(
        op("counted")(x, p), (x * x * p).sum(-1) / p.sum(), rtol=1e-14, atol=0
    )


def test_vmap_goes_one_by_one_where_a_batch_is_no_leading_dim(op: Callable[[str], Any]) -> None:
    x, w = draw(4, 3, 5), draw(5, 3)
    torch.testing.assert_close(torch.vmap(op("crossed"), in_dims=(0, None))(x, w), x * w.T)


def test_an_empty_batch_has_gradients_of_zero_in_the_reference(op: Callable[[str], Any]) -> None:
    x, w = torch.empty(0, 8, requires_grad=True), positive(8).requires_grad_()
    op("nested")(x, w, backend="torch").sum().backward()
    assert torch.equal(w.grad, torch.zeros(8))
    assert x.grad.shape == (0, 8)
