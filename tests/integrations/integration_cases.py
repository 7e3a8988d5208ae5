"""The modules beside their namesakes in torch.nn: inputs for each, and one comparison of both."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from tilegen.integrations import nn as knn

Inputs = Callable[..., tuple[torch.Tensor, ...]]

#: Kernels run here: on a GPU, else in the interpreter where that is on.
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

#: Relative and absolute, of values around 1. In bf16 both sides round once, and torch's own
#: backward rounds between its steps too.
TOLERANCES = {torch.float32: (1e-5, 1e-5), torch.bfloat16: (2e-2, 2e-2)}


class GatedReference(nn.Module):
    """What SwiGLU and GEGLU compute, in torch."""

    def __init__(self, activation: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.activation = activation

    def forward(self, gate: torch.Tensor, up: torch.Tensor | None = None) -> torch.Tensor:
        if up is None:
            gate, up = gate.chunk(2, -1)
        return self.activation(gate.float()).mul(up.float()).to(gate.dtype)


@dataclass(frozen=True)
class Case:
    name: str
    ours: Callable[..., nn.Module]
    torchs: Callable[[], nn.Module]
    inputs: Inputs

    def __str__(self) -> str:
        return self.name


def normal(*shape: int) -> Inputs:
    return lambda **options: (torch.randn(shape, **options),)


def normals(*shape: int) -> Inputs:
    return lambda **options: (torch.randn(shape, **options), torch.randn(shape, **options))


def transposed(*shape: int) -> Inputs:
    return lambda **options: (torch.randn(shape, **options).transpose(-1, -2),)


def labelled(*shape: int, classes: int, ignore: int | None = None, masked: int = 0) -> Inputs:
    """Logits with the classes in dim 1 (0 of one row), and labels of which some are ignored."""

    def inputs(**options: Any) -> tuple[torch.Tensor, ...]:
        wide = (shape[0], classes, *shape[1:]) if shape else (classes,)
        target = torch.randint(classes, shape, device=options["device"])
        if ignore is not None:
            target.flatten()[:masked] = ignore
        return torch.randn(wide, **options), target

    return inputs


def distributions(*shape: int) -> Inputs:
    return lambda **options: (
        torch.randn(shape, **options).log_softmax(-1),
        torch.randn(shape, **options).softmax(-1),
    )


def case(name: str, inputs: Inputs, *arguments: Any, label: str = "", **options: Any) -> Case:
    """A case of a module that torch has too."""
    ours, torchs = getattr(knn, name), getattr(nn, name)
    given = [f"{key}={value}" for key, value in options.items() if key != "weight"]
    return Case(
        " ".join((name, *map(str, arguments), *given, *filter(None, [label]))),
        lambda **more: ours(*arguments, **options, **more),
        lambda: torchs(*arguments, **options),
        inputs,
    )


def gated(name: str, inputs: Inputs, activation: Any, label: str, **options: Any) -> Case:
    ours = getattr(knn, name)
    return Case(
        f"{name} {label}",
        lambda **more: ours(**options, **more),
        lambda: GatedReference(activation),
        inputs,
    )


def tanh_gelu(x: torch.Tensor) -> torch.Tensor:
    return F.gelu(x, approximate="tanh")


#: One of each module: what is compiled, and what runs without the interpreter.
FEW = (
    case("RMSNorm", normal(2, 3, 24), 24),
    case("LayerNorm", normal(2, 3, 24), 24),
    case("GroupNorm", normal(2, 6, 3, 5), 2, 6),
    case("GELU", normal(3, 17)),
    case("SiLU", normal(3, 17)),
    case("Softmax", normal(2, 3, 17), -1),
    case("LogSoftmax", normal(2, 3, 17), -1),
    case("CrossEntropyLoss", labelled(6, classes=11, ignore=-100, masked=2)),
    case("MSELoss", normals(4, 9)),
    case("KLDivLoss", distributions(4, 9), reduction="batchmean"),
    gated("SwiGLU", normal(2, 3, 16), F.silu, "of halves"),
    gated("GEGLU", normals(2, 3, 8), F.gelu, "of two"),
)

MORE = (
    case("RMSNorm", normal(3, 24), 24, eps=1e-3),
    case("RMSNorm", normal(2, 3, 4), (3, 4), label="two dims"),
    case("RMSNorm", normal(5, 24), 24, elementwise_affine=False),
    case("RMSNorm", normal(24), 24, label="one row"),
    case("RMSNorm", transposed(2, 24, 5), 24, label="transposed"),
    case("RMSNorm", normal(0, 24), 24, label="empty"),
    case("LayerNorm", normal(5, 24), 24, bias=False),
    case("LayerNorm", normal(2, 3, 4), (3, 4), label="two dims"),
    case("LayerNorm", normal(5, 24), 24, elementwise_affine=False),
    case("LayerNorm", transposed(2, 24, 5), 24, label="transposed"),
    case("LayerNorm", normal(2, 0, 24), 24, label="empty"),
    case("GroupNorm", normal(3, 6), 2, 6, label="no positions"),
    case("GroupNorm", normal(3, 6, 4), 3, 6, affine=False),
    case("GroupNorm", normal(3, 6, 4), 2, 6, bias=False),
    case("GroupNorm", transposed(2, 6, 4, 3), 2, 6, eps=1e-3, label="transposed"),
    case("GroupNorm", normal(0, 6, 4), 2, 6, label="empty"),
    case("GELU", normal(3, 17), approximate="tanh"),
    case("GELU", normal(), label="scalar"),
    case("GELU", normal(0, 4), label="empty"),
    case("SiLU", transposed(3, 17), label="transposed"),
    case("Softmax", normal(2, 3, 4), 1),
    case("Softmax", normal(9), 0, label="one row"),
    case("Softmax", normal(0, 9), 1, label="empty"),
    case("LogSoftmax", normal(2, 3, 4), 0),
    case("LogSoftmax", normal(4, 9), 1),
    case("CrossEntropyLoss", labelled(6, classes=11), reduction="none"),
    case("CrossEntropyLoss", labelled(6, classes=11, ignore=3, masked=1), ignore_index=3),
    case("CrossEntropyLoss", labelled(6, classes=11), reduction="sum", label_smoothing=0.1),
    case("CrossEntropyLoss", labelled(6, classes=11, ignore=-100, masked=1), label_smoothing=0.2),
    case("CrossEntropyLoss", labelled(6, classes=11, ignore=-100, masked=6), label="all ignored"),
    case("CrossEntropyLoss", labelled(classes=11), label="one row"),
    case("CrossEntropyLoss", labelled(0, classes=11), reduction="sum", label="empty"),
    case("CrossEntropyLoss", labelled(2, 3, classes=5), label="positions"),
    case("CrossEntropyLoss", distributions(4, 9), label="probabilities"),
    case("MSELoss", normals(7), label="one dim"),
    case("MSELoss", normals(2, 3, 4), reduction="sum"),
    case("MSELoss", normals(0, 4), label="empty"),
    case("KLDivLoss", distributions(4, 9)),
    case("KLDivLoss", distributions(9), reduction="sum", label="one row"),
    case("KLDivLoss", distributions(4, 9), reduction="none"),
    gated("SwiGLU", normals(3, 9), F.silu, "of two"),
    gated("GEGLU", normal(3, 18), tanh_gelu, "of halves", approximate="tanh"),
)

CASES = FEW + MORE


def compare(
    case: Case,
    dtype: torch.dtype = torch.float32,
    *,
    backend: str = "auto",
    compiled: bool = False,
) -> None:
    """Hold outputs and all gradients of a case against torch.nn's, from one state."""
    torch.manual_seed(0)
    torchs = case.torchs().to(DEVICE, dtype)
    for parameter in torchs.parameters():
        nn.init.normal_(parameter)
    ours = case.ours(backend=backend).to(DEVICE, dtype)
    ours.load_state_dict(torchs.state_dict())
    inputs = case.inputs(dtype=dtype, device=DEVICE)
    called = torch.compile(ours, backend="aot_eager", fullgraph=True) if compiled else ours
    results, expected = run(called, ours, inputs), run(torchs, torchs, inputs)
    rtol, atol = TOLERANCES[dtype]
    torch.testing.assert_close(results, expected, rtol=rtol, atol=atol, equal_nan=True)


def run(
    called: Callable[..., torch.Tensor], module: nn.Module, inputs: tuple[torch.Tensor, ...]
) -> dict[str, torch.Tensor]:
    """The output of a module, and the gradients of its floating inputs and its parameters."""
    given = [x.detach().requires_grad_(x.is_floating_point()) for x in inputs]
    y = called(*given)
    leaves = {f"input {at}": x for at, x in enumerate(given) if x.requires_grad}
    leaves |= dict(module.named_parameters())
    upstream = torch.linspace(0.5, 1.5, y.numel(), dtype=y.dtype, device=y.device).view(y.shape)
    grads = torch.autograd.grad(y, list(leaves.values()), upstream)
    return {"output": y.detach(), **dict(zip(leaves, grads, strict=True))}
