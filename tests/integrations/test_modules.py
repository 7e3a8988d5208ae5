"""The modules are drop-ins: torch's outputs, gradients, state, repr, init and errors."""

import inspect
from typing import Any

import pytest
import torch
from integration_cases import CASES, FEW, Case, compare
from torch import nn

from tilegen.integrations import nn as knn
from tilegen.integrations.swapping import TORCH


@pytest.mark.parametrize("backend", ["auto", "triton", "torch"])
@pytest.mark.parametrize("case", FEW, ids=str)
def test_each_backend_gives_what_torch_gives(case: Case, backend: str) -> None:
    compare(case, backend=backend)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_in_bf16(case: Case) -> None:
    compare(case, torch.bfloat16)


@pytest.mark.parametrize("backend", ["auto", "torch"])
@pytest.mark.parametrize("case", CASES[len(FEW) :], ids=str)
def test_options_shapes_and_strides(case: Case, backend: str) -> None:
    compare(case, backend=backend)


@pytest.mark.parametrize("case", FEW, ids=str)
def test_compiled_without_a_graph_break(case: Case) -> None:
    compare(case, compiled=True)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_state_and_repr_are_torchs(case: Case) -> None:
    ours, torchs = case.ours(), case.torchs()
    assert list(ours.state_dict()) == list(torchs.state_dict())
    torch.testing.assert_close(ours.state_dict(), torchs.state_dict())
    if type(torchs) in TORCH:
        assert repr(ours) == repr(torchs)
        assert isinstance(ours, type(torchs))


@pytest.mark.parametrize("kind", TORCH, ids=lambda kind: kind.__name__)
def test_signatures_are_torchs_and_a_backend(kind: type[nn.Module]) -> None:
    ours, torchs = (inspect.signature(each).parameters for each in (TORCH[kind], kind))
    added = {"backend"} | ({"bias"} if kind is nn.GroupNorm else set())  # older torch has no bias
    assert set(torchs) <= set(ours) <= set(torchs) | added
    assert [*ours][: len(torchs)] == [*torchs]
    assert [p.default for p in torchs.values()] == [ours[name].default for name in torchs]


def test_the_backend_is_checked_and_shown() -> None:
    assert repr(knn.SiLU(backend="torch")) == "SiLU(backend=torch)"
    assert repr(knn.GEGLU()) == "GEGLU(approximate='none')"
    with pytest.raises(ValueError, match="backend is 'cuda'"):
        knn.RMSNorm(8, backend="cuda")


@pytest.mark.parametrize(
    ("name", "arguments", "inputs"),
    [
        ("RMSNorm", (8,), (torch.ones(2, 7),)),
        ("LayerNorm", (8,), (torch.ones(2, 7),)),
        ("LayerNorm", (8,), (torch.ones(2, 8, dtype=torch.int64),)),
        ("LayerNorm", (8,), (torch.ones(2, 8, dtype=torch.float64),)),
        ("GroupNorm", (2, 4), (torch.ones(2, 6),)),
        ("GroupNorm", (4, 4), (torch.ones(1, 4),)),
        ("GroupNorm", (2, 4), (torch.ones(4),)),
        ("GELU", ("cubic",), (torch.ones(2),)),
        ("CrossEntropyLoss", (), (torch.ones(3, 5), torch.zeros(2, dtype=torch.int64))),
        ("CrossEntropyLoss", (None, None, -100, None, "max"), (torch.ones(3, 5), torch.zeros(3))),
        ("MSELoss", (), (torch.ones(2, 3), torch.ones(2, 4))),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_torch_refuses_raises_torchs_error(name: str, arguments: Any, inputs: Any) -> None:
    with pytest.raises((RuntimeError, ValueError, NotImplementedError)) as torchs:
        getattr(nn, name)(*arguments)(*inputs)
    with pytest.raises(torchs.type) as ours:
        getattr(knn, name)(*arguments)(*inputs)
    assert str(ours.value) == str(torchs.value)


@pytest.mark.parametrize("label", [-1, 5])
@pytest.mark.parametrize("backend", ["auto", "torch"])
def test_a_label_that_is_no_class_raises(label: int, backend: str) -> None:
    with pytest.raises(RuntimeError, match="a label is no class"):
        knn.CrossEntropyLoss(backend=backend)(torch.ones(2, 5), torch.tensor([0, label]))


def test_class_weights_are_torchs() -> None:
    logits, target, weight = torch.randn(4, 3), torch.tensor([0, 1, 2, 1]), torch.rand(3)
    ours, torchs = knn.CrossEntropyLoss(weight), nn.CrossEntropyLoss(weight)
    assert list(ours.state_dict()) == ["weight"]
    torch.testing.assert_close(ours(logits, target), torchs(logits, target), rtol=0, atol=0)


@pytest.mark.parametrize("kind", ["RMSNorm", "LayerNorm"])
def test_half_inputs_take_fp32_weights_as_on_a_cpu(kind: str) -> None:
    x = torch.randn(3, 8).bfloat16()
    y, expected = getattr(knn, kind)(8)(x), getattr(nn, kind)(8)(x)
    torch.testing.assert_close(y, expected, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("case", FEW, ids=str)
def test_autocast_gives_torchs_dtype(case: Case) -> None:
    inputs = case.inputs(dtype=torch.bfloat16, device="cpu")
    with torch.autocast("cpu", torch.bfloat16):
        ours, torchs = case.ours()(*inputs), case.torchs()(*inputs)
    torch.testing.assert_close(ours, torchs, rtol=2e-2, atol=2e-2)


@pytest.mark.gpu
@pytest.mark.parametrize("case", FEW, ids=str)
def test_autocast_on_a_gpu_gives_torchs_dtype(case: Case) -> None:
    inputs = case.inputs(dtype=torch.bfloat16, device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        ours, torchs = case.ours().cuda()(*inputs), case.torchs().cuda()(*inputs)
    # torch 2.11 leaves rms_norm in bf16, later versions do not.
    same = not isinstance(case.torchs(), nn.RMSNorm)
    torch.testing.assert_close(ours, torchs, rtol=2e-2, atol=2e-2, check_dtype=same)


def test_a_gradient_of_a_gradient_takes_the_torch_backend() -> None:
    x = torch.randn(2, 8, requires_grad=True)
    (grad,) = torch.autograd.grad(
        knn.RMSNorm(8, backend="torch")(x).square().sum(), x, create_graph=True
    )
    (ours,) = torch.autograd.grad(grad.sum(), x)
    (grad,) = torch.autograd.grad(nn.RMSNorm(8)(x).square().sum(), x, create_graph=True)
    (torchs,) = torch.autograd.grad(grad.sum(), x)
    torch.testing.assert_close(ours, torchs, rtol=1e-4, atol=1e-5)
    (grad,) = torch.autograd.grad(knn.RMSNorm(8)(x).square().sum(), x, create_graph=True)
    with pytest.raises(NotImplementedError, match="double backward"):
        grad.sum().backward()


def test_a_gated_unit_wants_an_even_row() -> None:
    with pytest.raises(ValueError, match="7 is odd"):
        knn.SwiGLU()(torch.ones(2, 7))
