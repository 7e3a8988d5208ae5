"""What the bench compares with: eager PyTorch, torch.compile, Liger and Helion.

Eager is what one would write in PyTorch; ops without an entry take the reference of their module,
op by op. torch.compile gets the same function. Liger and Helion are imported only if a case has a
kernel of theirs, and need not be installed.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import torch
from torch.nn import functional as F

Function = Callable[..., Any]


def _rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, at: torch.Tensor) -> Any:
    first, second = x.chunk(2, -1)
    c, s = cos[at].unsqueeze(2), sin[at].unsqueeze(2)
    return torch.cat((first * c - second * s, second * c + first * s), -1)


def _rotate_pairs(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, at: torch.Tensor) -> Any:
    first, second = x[..., ::2], x[..., 1::2]
    c, s = cos[at].unsqueeze(2), sin[at].unsqueeze(2)
    return torch.stack((first * c - second * s, second * c + first * s), -1).flatten(-2)


def _rms(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return F.rms_norm(x, x.shape[-1:], weight, 1e-6)


def _add_rms(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Any:
    h = x + residual
    return F.rms_norm(h, h.shape[-1:], weight, 1e-6), h


def _add_layer(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> Any:
    h = x + residual
    return F.layer_norm(h, h.shape[-1:], weight, None, 1e-5), h


def _drop(x: torch.Tensor, residual: torch.Tensor, seed: torch.Tensor) -> torch.Tensor:
    return residual + F.dropout(x, 0.1)


EAGER: Final[Mapping[str, Function]] = {
    "vector_add": lambda x, y: x + y,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "gelu_erf": lambda x: F.gelu(x),
    "silu": lambda x: F.silu(x),
    "relu_squared": lambda x: F.relu(x).square(),
    "swiglu": lambda gate, up: F.silu(gate) * up,
    "geglu": lambda gate, up: F.gelu(gate, approximate="tanh") * up,
    "bias_gelu": lambda x, bias: F.gelu(x + bias, approximate="tanh"),
    "scale_residual_add": lambda x, residual, scale: torch.addcmul(residual, x, scale),
    "dyt": lambda x, alpha, weight, bias: torch.addcmul(bias, weight, torch.tanh(alpha * x)),
    "adaln_modulate": lambda x, scale, shift: x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1),
    "dropout_residual_add": _drop,
    "rope": _rotate,
    "rope_interleaved": _rotate_pairs,
    "softmax": lambda x: torch.softmax(x, -1),
    "log_softmax": lambda x: torch.log_softmax(x, -1),
    "logsumexp": lambda x: torch.logsumexp(x, -1),
    "scaled_masked_softmax": lambda x: torch.softmax(x * 1.0, -1),
    "rmsnorm": _rms,
    "add_rmsnorm": _add_rms,
    "layernorm": lambda x, weight, bias: F.layer_norm(x, x.shape[-1:], weight, bias, 1e-5),
    "add_layernorm": _add_layer,
    "groupnorm": lambda x, weight, bias: F.group_norm(x, 32, weight, bias, 1e-5),
    "groupnorm_silu": lambda x, weight, bias: F.silu(F.group_norm(x, 32, weight, bias, 1e-5)),
    "l2norm": lambda x: F.normalize(x, dim=-1, eps=1e-12),
    "cross_entropy": lambda logits, target: F.cross_entropy(logits, target, reduction="none"),
    "kl_div": lambda log_q, p: F.kl_div(log_q, p, reduction="none").sum(-1),
    "mse_loss": lambda x, target: F.mse_loss(x, target),
}


LOSSES: Final[Mapping[str, Function]] = {
    "cross_entropy": lambda logits, target: F.cross_entropy(logits, target),
}
"""One number, as a training step wants it: for cases that time forward and backward together."""


def compiled(function: Function) -> Function:
    """Return ``function`` under torch.compile in its default mode, from an empty cache."""
    torch._dynamo.reset()
    made: Function = torch.compile(function, dynamic=False)
    return made


def liger(op: str) -> Function | None:
    """Return Liger's kernel for ``op``, or None if it has none.

    Raises:
        ImportError: Liger is not installed.
    """
    make = _LIGER.get(op)
    return make() if make else None


def _liger_ops() -> Any:
    from liger_kernel import ops

    return ops


def _apply(name: str, *after: Any) -> Callable[[], Function]:
    """Return a maker of ``ops.<name>.apply(*tensors, *after)``."""

    def make() -> Function:
        apply = getattr(_liger_ops(), name).apply
        return lambda *tensors: apply(*tensors, *after)

    return make


def _liger_cross_entropy() -> Function:
    apply = _liger_ops().LigerCrossEntropyFunction.apply
    return lambda logits, target: apply(logits, target, None, -100, 0.0, 0.0, "none")[0]


def _liger_add_rms() -> Function:
    apply = _liger_ops().LigerFusedAddRMSNormFunction.apply
    return lambda x, residual, weight: apply(x, residual, weight, 1e-6, 0.0, "llama", False)


_LIGER: Final[Mapping[str, Callable[[], Function]]] = {
    "swiglu": _apply("LigerSiLUMulFunction"),
    "geglu": _apply("LigerGELUMulFunction"),
    "relu_squared": _apply("LigerReLUSquaredFunction"),
    "dyt": _apply("LigerDyTFunction"),
    "softmax": _apply("LigerSoftmaxFunction"),
    "rmsnorm": _apply("LigerRMSNormFunction", 1e-6, 0.0, "llama", False),
    "rmsnorm_llama": _apply("LigerRMSNormFunction", 1e-6, 0.0, "llama", False),
    "rmsnorm_gemma": _apply("LigerRMSNormFunction", 1e-6, 1.0, "gemma", False),
    "add_rmsnorm": _liger_add_rms,
    "layernorm": _apply("LigerLayerNormFunction", 1e-5),
    "groupnorm": _apply("LigerGroupNormFunction", 256, 32, 1e-5),
    "cross_entropy": _liger_cross_entropy,
}


def liger_loss(op: str) -> Function | None:
    """Return Liger's kernel for the loss ``op`` of ``LOSSES``, or None if it has none.

    Raises:
        ImportError: Liger is not installed.
    """
    if op != "cross_entropy":
        return None
    apply = _liger_ops().LigerCrossEntropyFunction.apply
    return lambda logits, target: apply(logits, target, None, -100, 0.0, 0.0, "mean")[0]


def liger_in_place(op: str) -> Function | None:
    """Return Liger's kernel for ``op`` as it differentiates fastest, or None if it has none.

    That of RMSNorm writes its gradient over the upstream one, which saves filling a new tensor.

    Raises:
        ImportError: Liger is not installed.
    """
    if op == "rmsnorm":
        return _apply("LigerRMSNormFunction", 1e-6, 0.0, "llama", True)()
    return liger(op)


LIGER_OVERWRITES: Final[Mapping[str, str]] = {
    "rmsnorm": "upstream",
    "swiglu": "inputs",
    "geglu": "inputs",
    "cross_entropy": "inputs",
}
"""What Liger's gradients are written over: it gets copies of its own, fresh ones for each call."""


def helion(op: str) -> Function | None:
    """Return a Helion kernel for ``op`` with the config it picks untuned, or None.

    Raises:
        ImportError: Helion is not installed.
    """
    if op not in ("softmax", "rmsnorm", "layernorm", "cross_entropy"):
        return None
    from tilegen.toolchain import helion_kernels

    made: Function = getattr(helion_kernels, op)
    return made
