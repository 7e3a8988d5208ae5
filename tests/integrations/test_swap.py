"""A swap keeps a model's numbers and everything that hangs on its modules, and says what it did."""

import copy
import pickle
from typing import Any

import pytest
import torch
from integration_cases import DEVICE
from integration_models import VOCABULARY, Mixed
from torch import nn
from torch.nn.utils import parametrize

from tilegen.integrations import nn as knn
from tilegen.integrations import restore, swap
from tilegen.integrations.nn import KernelModule

SWAPPED = {
    "conv.1": "GroupNorm",
    "conv.2": "SiLU",
    "mlp.0": "LayerNorm",
    "mlp.2": "GELU",
    "gate.1": "Softmax",
    "norm": "RMSNorm",
    "logs": "LogSoftmax",
    "losses.label": "CrossEntropyLoss",
    "losses.prior": "KLDivLoss",
    "losses.size": "MSELoss",
}


class OwnNorm(nn.LayerNorm):
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return super().forward(input) + 1.0


def sample(dtype: torch.dtype = torch.float32) -> tuple[Mixed, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    model = Mixed().to(DEVICE, dtype)
    tokens = torch.randint(VOCABULARY, (2, 5), device=DEVICE)
    return model, tokens, tokens.roll(-1, 1)


def results(model: Mixed, *batch: torch.Tensor) -> dict[str, torch.Tensor]:
    """Logits, loss and the gradient of every parameter."""
    model.zero_grad()
    loss = model(*batch)
    loss.backward()
    grads = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    return {"logits": model.logits(batch[0]).detach(), "loss": loss.detach(), **grads}


@pytest.mark.parametrize("backend", ["auto", "triton", "torch"])
def test_a_models_logits_and_gradients_stay(backend: str) -> None:
    model, *batch = sample()
    expected = results(model, *batch)
    report = swap(model, backend=backend)
    assert report.swapped == SWAPPED
    assert not report.left
    torch.testing.assert_close(results(model, *batch), expected, rtol=1e-4, atol=1e-5)


def test_in_bf16() -> None:
    model, *batch = sample(torch.bfloat16)
    expected = results(model, *batch)
    swap(model)
    torch.testing.assert_close(results(model, *batch), expected, rtol=5e-2, atol=5e-2)


def test_compiled_before_and_after() -> None:
    model, *batch = sample()
    expected = model(*batch)
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    compiled(*batch)
    swap(model)
    torch.testing.assert_close(compiled(*batch), expected, rtol=1e-4, atol=1e-5)


def test_restore_undoes_it() -> None:
    model, *batch = sample()
    text, expected = repr(model), results(model, *batch)
    swap(model, backend="torch")
    assert repr(model) != text
    restore(model)
    assert repr(model) == text
    assert not any(isinstance(module, KernelModule) for module in model.modules())
    assert not any("backend" in vars(module) for module in model.modules())
    torch.testing.assert_close(results(model, *batch), expected, rtol=1e-6, atol=1e-6)


def test_an_optimizer_goes_on() -> None:
    (model, *batch), (plain, *_) = sample(), sample()
    steps = [torch.optim.AdamW(each.parameters(), lr=1e-2) for each in (model, plain)]
    before = list(model.parameters())
    for at in range(3):
        if at == 1:
            swap(model)
        for each, step in zip((model, plain), steps, strict=True):
            step.zero_grad()
            each(*batch).backward()
            step.step()
    assert all(old is new for old, new in zip(before, model.parameters(), strict=True))
    torch.testing.assert_close(model.state_dict(), plain.state_dict(), rtol=1e-3, atol=1e-4)


def test_modules_stay_who_they_are() -> None:
    model, *batch = sample()
    model.eval()
    norm, calls = model.norm, []
    norm.register_forward_hook(lambda *_: calls.append("forward"))
    norm.register_full_backward_hook(lambda *_: calls.append("backward"))
    norm.note = "kept"
    keys = list(model.state_dict())
    swap(model)
    assert model.norm is norm
    assert norm.note == "kept"
    assert not norm.training
    assert list(model.state_dict()) == keys
    model(*batch).backward()
    assert calls == ["forward", "backward"]


def test_a_module_in_two_places_is_swapped_once() -> None:
    norm = nn.LayerNorm(4)
    model = nn.Sequential(norm, nn.Linear(4, 4), norm)
    assert swap(model).swapped == {"0": "LayerNorm"}
    assert model[0] is model[2] is norm


def test_a_model_may_be_one_module() -> None:
    norm = nn.RMSNorm(4)
    report = swap(norm)
    assert report.swapped == {"": "RMSNorm"}
    assert str(report) == "the model: RMSNorm"
    assert str(swap(norm)) == "nothing to swap: no module of a kind that has kernels"
    assert isinstance(norm, knn.RMSNorm)


def test_a_second_call_changes_the_backend() -> None:
    model, *_ = sample()
    swap(model)
    assert swap(model, backend="torch").swapped == {}
    assert model.norm.backend == "torch"


def test_only_chooses() -> None:
    model, *_ = sample()
    report = swap(model, only=lambda path, module: isinstance(module, nn.GELU) or path == "norm")
    assert report.swapped == {"mlp.2": "GELU", "norm": "RMSNorm"}
    assert not report.left


def replaced_forward() -> nn.Module:
    norm = nn.LayerNorm(4)
    norm.forward = lambda x: x
    return norm


def parametrized() -> nn.Module:
    norm = nn.LayerNorm(4)
    parametrize.register_parametrization(norm, "weight", nn.Identity())
    return norm


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (OwnNorm(4), "OwnNorm is a subclass of LayerNorm"),
        (parametrized(), "ParametrizedLayerNorm is a subclass of LayerNorm"),
        (replaced_forward(), "its forward was replaced"),
        (nn.SiLU(inplace=True), "it works in place"),
        (nn.CrossEntropyLoss(torch.ones(3)), "it has class weights"),
        (nn.MSELoss(reduction="sum"), "its reduction is 'sum'"),
        (nn.KLDivLoss(log_target=True), "its targets are logarithms"),
        (nn.KLDivLoss(reduction="none"), "it does not reduce"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_left_has_a_reason(module: nn.Module, reason: str) -> None:
    kind = type(module)
    report = swap(nn.Sequential(module))
    assert report.left == {"0": reason}
    assert type(module) is kind
    assert str(report) == f"0: left, {reason}"


def test_an_unknown_backend_swaps_nothing() -> None:
    model, *_ = sample()
    with pytest.raises(ValueError, match="backend is 'cuda'"):
        swap(model, backend="cuda")
    with pytest.raises(TypeError, match=r"takes a torch.nn.Module, got int"):
        swap(3)  # type: ignore[arg-type]
    assert type(model.norm) is nn.RMSNorm


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_keep_their_kernels(copied: Any) -> None:
    model, *batch = sample()
    swap(model, backend="torch")
    twin = copied(model)
    assert type(twin.norm) is knn.RMSNorm
    assert twin.norm.backend == "torch"
    torch.testing.assert_close(twin(*batch), model(*batch), rtol=0, atol=0)


def test_torchs_encoder_trains_and_infers() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).to(DEVICE)
    x = torch.randn(2, 3, 8, device=DEVICE)
    expected = model(x)
    assert len(swap(model).swapped) == 4
    torch.testing.assert_close(model(x), expected, rtol=1e-4, atol=1e-5)
    with torch.no_grad():
        torch.testing.assert_close(model.eval()(x), expected, rtol=1e-4, atol=1e-5)
