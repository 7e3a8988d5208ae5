"""What autograd sees of an op: gradients where they are due, and what is kept and launched for them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from generated import _runtime
from generated.add_rmsnorm import add_rmsnorm
from generated.cross_entropy import cross_entropy
from generated.dropout_residual_add import dropout_residual_add
from generated.layernorm import layernorm
from generated.mse_loss import mse_loss
from generated.qk_norm_rope import qk_norm_rope
from generated.rmsnorm import OP, rmsnorm
from generated.rmsnorm_quant_fp8 import rmsnorm_quant_fp8
from generated.rope import rope
from generated.row_quant_int8 import row_quant_int8
from generated.scale_residual_add import scale_residual_add
from generated.silu import silu
from generated.softmax import softmax
from generated.top_p_sample import top_p_sample
from generated.vector_add import vector_add

randn = torch.randn


def leaf(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, dtype=dtype, requires_grad=True)


# ---- which gradients ---------------------------------------------------------------------------


@pytest.mark.parametrize("needs", [(True, False), (False, True), (True, True)])
def test_only_what_needs_a_gradient_gets_one_and_is_computed(needs: tuple[bool, bool]) -> None:
    x, weight = randn(6, 8).requires_grad_(needs[0]), randn(8).requires_grad_(needs[1])
    _runtime.LAUNCHES.clear()
    rmsnorm(x, weight).sum().backward()
    assert [t.grad is not None for t in (x, weight)] == list(needs)
    last = _runtime.last_launch()
    assert last.op == "rmsnorm_backward"
    # The sums over rows that the gradient of weight is have a kernel to add them up.
    assert [kernel.split("_")[-1] for kernel in last.kernels] == ["sums", "join"][: 1 + needs[1]]
    call = next(c for c in _runtime.LAUNCHES.calls.values() if c.record is last)
    assert call.kernels[0].constants["NEEDS_GRAD_X"] == needs[0]


def test_a_plain_call_is_a_node_of_its_own_and_others_the_registered_op() -> None:
    x, weight = leaf(4, 8), leaf(8)
    plain = rmsnorm(x, weight)
    with Seen() as seen:
        registered = rmsnorm(x, weight)
    assert plain.grad_fn.name() == "rmsnormBackward"
    assert registered.grad_fn.name().startswith("Generated")
    assert [name.startswith("tilegen.rmsnorm_") for name in seen.names] == [True]
    upstream = randn(4, 8)
    for one, other in zip(
        torch.autograd.grad(plain, (x, weight), upstream),
        torch.autograd.grad(registered, (x, weight), upstream),
        strict=True,
    ):
        assert torch.equal(one, other)


class Seen(TorchDispatchMode):
    """What PyTorch dispatches."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def test_without_recording_nothing_is_recorded() -> None:
    x, weight = leaf(4, 8), leaf(8)
    for context in (torch.no_grad, torch.inference_mode):
        with context():
            y = rmsnorm(x, weight)
        assert not y.requires_grad
        assert y.grad_fn is None
    assert rmsnorm(x, weight).requires_grad


def test_an_upstream_gradient_is_passed_on_as_it_is() -> None:
    x, y = leaf(4, 8), leaf(4, 8)
    result = vector_add(x, y)
    _runtime.LAUNCHES.last = None
    result.backward(torch.ones(4, 8))
    assert _runtime.last_launch() is None
    assert torch.equal(x.grad, y.grad)


@pytest.mark.parametrize("used", [(True, False), (False, True), (True, True)])
def test_an_output_that_nothing_was_made_of(used: tuple[bool, bool]) -> None:
    x, residual, weight = leaf(4, 8), leaf(4, 8), leaf(8)
    results = add_rmsnorm(x, residual, weight)
    expected = F.rms_norm(x + residual, (8,), weight, 1e-6), x + residual
    total = sum(r.square().sum() for r, use in zip(results, used, strict=True) if use)
    right = sum(r.square().sum() for r, use in zip(expected, used, strict=True) if use)
    gradients = torch.autograd.grad(total, (x, residual, weight), allow_unused=True)
    rights = torch.autograd.grad(right, (x, residual, weight), allow_unused=True)
    for gradient, exact in zip(gradients, rights, strict=True):
        # A custom function cannot say that a weight has no part in an output: 0 is right as well.
        exact = torch.zeros(8) if exact is None else exact
        torch.testing.assert_close(gradient, exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("backend", ["auto", "torch"])
def test_a_spec_without_gradients_gives_constants(backend: str) -> None:
    x, weight, top_p = leaf(4, 8), leaf(8), torch.full((4,), 0.9, requires_grad=True)
    results = [
        *rmsnorm_quant_fp8(x, weight, backend=backend),
        *row_quant_int8(x, backend=backend),
        top_p_sample(x, torch.tensor(3), top_p, backend=backend),
    ]
    assert not any(result.requires_grad for result in results)


@pytest.mark.parametrize("backend", ["auto", "torch"])
def test_tensors_that_the_spec_gives_no_gradient(backend: str) -> None:
    x, cos, sin = leaf(2, 3, 2, 8), leaf(5, 4), leaf(5, 4)
    position = torch.randint(0, 5, (2, 3))
    rope(x, cos, sin, position, backend=backend).square().sum().backward()
    assert x.grad is not None
    assert cos.grad is sin.grad is None
    weight = leaf(8)
    y = qk_norm_rope(x.detach(), weight, cos, sin, position, backend=backend)
    y.square().sum().backward()
    assert weight.grad is not None
    assert cos.grad is sin.grad is None


def test_integers_beside_floats() -> None:
    logits, target = leaf(4, 9), torch.tensor([0, 3, -100, 8])
    loss, lse = cross_entropy(logits, target)
    (loss.sum() + lse.sum()).backward()
    x, residual = leaf(40), leaf(40)
    dropout_residual_add(x, residual, torch.tensor(3), 0.5).sum().backward()
    assert torch.equal(residual.grad, torch.ones(40))
    assert set(x.grad.tolist()) == {0.0, 2.0}


def test_a_forward_that_saved_nothing_says_so_in_the_backward() -> None:
    """As a graph that was exported without gradients calls it."""
    x, weight = leaf(4, 8), leaf(8)
    y, _ = OP.overload(x, weight, 1e-6, False)
    with pytest.raises(RuntimeError, match=r"^rmsnorm: the forward was called with save=False"):
        y.sum().backward()


def test_an_upstream_gradient_that_is_none_costs_nothing() -> None:
    class Stop(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, *grads: torch.Tensor) -> None:
            return None

    x, weight = leaf(4, 8), leaf(8)
    y = rmsnorm(x, weight)
    _runtime.LAUNCHES.last = None
    Stop.apply(y).sum().backward()
    assert x.grad is weight.grad is _runtime.last_launch() is None


# ---- what is kept ------------------------------------------------------------------------------


@contextmanager
def counting() -> Iterator[dict[int, int]]:
    """The bytes of what is saved meanwhile, by the address of its memory."""
    kept: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield kept


M, N = 6, 32
KEPT: list[tuple[str, Callable[[], Any], int]] = [
    ("vector_add", lambda: vector_add(leaf(M, N), leaf(M, N)), 0),
    ("rmsnorm: x, weight, rstd", lambda: rmsnorm(leaf(M, N), leaf(N)), M * N + N + M),
    (
        "layernorm: x, weight, rstd and the mean, no bias",
        lambda: layernorm(leaf(M, N), leaf(N), leaf(N)), M * N + N + 2 * M,
    ),
    ("silu: x", lambda: silu(leaf(M, N)), M * N),
    ("softmax: its result", lambda: softmax(leaf(M, N)), M * N),
    (
        "add_rmsnorm: the sum that it returns, weight, rstd",
        lambda: add_rmsnorm(leaf(M, N), leaf(M, N), leaf(N)), M * N + N + M,
    ),
    ("scale_residual_add: x, scale", lambda: scale_residual_add(leaf(M, N), leaf(M, N), leaf(N)),
     M * N + N),
    ("dropout: its seed alone", lambda: dropout_residual_add(leaf(N), leaf(N), torch.tensor(3)), 2),
]  # fmt: skip


@pytest.mark.parametrize(("call", "elements"), [k[1:] for k in KEPT], ids=[k[0] for k in KEPT])
def test_no_more_is_kept_than_the_backward_takes(call: Callable[[], Any], elements: int) -> None:
    with counting() as kept:
        call()
    assert sum(kept.values()) == 4 * elements


def test_a_saved_tensor_that_is_changed_in_place_is_an_error() -> None:
    x, weight = leaf(4, 8), leaf(8)
    h = x * 1.0
    y = rmsnorm(h, weight)
    h.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    probability = softmax(x)
    probability.mul_(2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        probability.sum().backward()


@pytest.mark.parametrize("backend", ["auto", "torch"])
def test_out_is_a_change_in_place(backend: str) -> None:
    """What autograd saved elsewhere may not be overwritten unnoticed."""
    x, other = leaf(8), torch.randn(8)
    product = x * other
    vector_add(torch.ones(8), torch.ones(8), out=other, backend=backend)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_out_and_gradients_exclude_each_other() -> None:
    x, weight = leaf(4, 8), leaf(8)
    with pytest.raises(ValueError, match=r"^rmsnorm: out cannot be given while an input requires"):
        rmsnorm(x, weight, out=torch.empty(4, 8))
    with pytest.raises(ValueError, match=r"^rmsnorm: out for out requires a gradient"):
        rmsnorm(x.detach(), weight.detach(), out=leaf(4, 8))
    with torch.no_grad():
        out = leaf(4, 8)
        assert rmsnorm(x, weight, out=out) is out


# ---- the values --------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(0, 8), (4, 0), (2, 0, 3, 8), (2, 3, 4, 8), (8,), (1, 1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_gradients_have_the_shape_and_dtype_of_their_tensor(
    shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    shape = shape if len(shape) > 1 else (1, *shape)
    for weights in {dtype, torch.float32}:
        x, weight, bias = leaf(*shape, dtype=dtype), *(
            leaf(shape[-1], dtype=weights) for _ in range(2)
        )  # fmt: skip
        layernorm(x, weight, bias).sum().backward()
        for tensor in (x, weight, bias):
            assert (tensor.grad.shape, tensor.grad.dtype) == (tensor.shape, tensor.dtype)
        if 0 in shape:
            assert not any(t.grad.any() for t in (x, weight, bias))


def test_fp64_gradients_are_those_of_fp64() -> None:
    x, weight = leaf(2, 3, 17, dtype=torch.float64), leaf(17, dtype=torch.float64)
    upstream = torch.randn(2, 3, 17, dtype=torch.float64)
    ours = torch.autograd.grad(rmsnorm(x, weight), (x, weight), upstream)
    right = torch.autograd.grad(F.rms_norm(x, (17,), weight, 1e-6), (x, weight), upstream)
    torch.testing.assert_close(ours, right, rtol=1e-13, atol=1e-13)


def test_a_loss_over_nothing_has_gradients_of_zero() -> None:
    x, target = leaf(0, 4), leaf(0, 4)
    mse_loss(x, target).backward()
    assert x.grad.shape == target.grad.shape == (0, 4)


# ---- what there is not -------------------------------------------------------------------------


def test_a_double_backward_is_refused_by_name() -> None:
    x, weight = leaf(4, 8), leaf(8)
    (gradient,) = torch.autograd.grad(rmsnorm(x, weight).sum(), x, create_graph=True)
    with pytest.raises(NotImplementedError, match=r"rmsnorm_backward .* double backward"):
        gradient.sum().backward()
    y = rmsnorm(x, weight, backend="torch")
    (gradient,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
    gradient.square().sum().backward()


def test_a_gradient_that_is_passed_on_may_be_differentiated_again() -> None:
    x, y = leaf(4, 8), leaf(4, 8)
    (gradient,) = torch.autograd.grad(vector_add(x, y).pow(3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(gradient.sum(), y)
    torch.testing.assert_close(second, 6 * (x + y))


@pytest.mark.parametrize("transform", [
    lambda f, x: torch.func.grad(lambda x: f(x).sum())(x),
    lambda f, x: torch.func.vjp(f, x),
    lambda f, x: torch.func.jacrev(f)(x),
    lambda f, x: torch.func.grad(lambda x: torch.vmap(f)(x.unsqueeze(1)).sum())(x),
    lambda f, x: torch.vmap(torch.func.grad(lambda x: f(x).sum()))(x.unsqueeze(1)),
])  # fmt: skip
def test_functional_gradients_are_refused_by_name(transform: Any) -> None:
    x, weight = torch.randn(4, 8), torch.randn(8)
    with pytest.raises(NotImplementedError, match=r"^rmsnorm: torch.func.grad, vjp and jacrev"):
        transform(lambda x: rmsnorm(x, weight), x)
    transform(lambda x: rmsnorm(x, weight, backend="torch"), x)


def test_functional_gradients_of_something_else_are_not() -> None:
    x, weight = torch.randn(4, 8), torch.randn(8)
    gradient = torch.func.grad(lambda x: (x * rmsnorm(weight.expand(4, 8), weight)).sum())(x)
    torch.testing.assert_close(gradient, rmsnorm(weight.expand(4, 8), weight))


def test_forward_mode_is_refused_by_name() -> None:
    x, weight = torch.randn(4, 8), torch.randn(8)
    with pytest.raises(NotImplementedError, match=r"^rmsnorm has no forward-mode gradient"):
        torch.func.jvp(lambda x: rmsnorm(x, weight), (x,), (x,))
    with (
        torch.autograd.forward_ad.dual_level(),
        pytest.raises(NotImplementedError, match=r"^rmsnorm has no forward-mode gradient"),
    ):
        rmsnorm(torch.autograd.forward_ad.make_dual(x, x), weight)
