"""The blocks of Llama, Qwen2 and Qwen3 in transformers, and the loss of its causal language models.

Imported only for a model that has modules of transformers.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from types import FunctionType
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from transformers.activations import SiLUActivation
from transformers.loss.loss_utils import ForCausalLMLoss
from transformers.modeling_utils import PreTrainedModel
from transformers.models.llama import modeling_llama
from transformers.models.qwen2 import modeling_qwen2
from transformers.models.qwen3 import modeling_qwen3

from tilegen.integrations import catalogue
from tilegen.integrations.nn.base import KernelModule, takes
from tilegen.integrations.nn.losses import label_losses

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_ROTARY = "apply_rotary_pos_emb"


class _Norm(KernelModule):
    """A norm that rounds to the type of its input before the weight: the op rmsnorm_llama.

    A weight of another dtype than the input, by which transformers widens the result, is left to
    its code.
    """

    weight: torch.Tensor
    variance_epsilon: float

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        """Return the normalised rows, [..., N]."""
        weight, eps = self.weight, self.variance_epsilon
        if weight.dtype != hidden_states.dtype or not takes(hidden_states):
            plain: torch.Tensor = super().forward(hidden_states)
            return plain
        y: torch.Tensor = catalogue.rmsnorm_llama(hidden_states, weight, eps, backend=self.backend)
        return y


class _GatedMLP(KernelModule):
    """Two products, the op swiglu, a product. The activation is not called as a module."""

    gate_proj: nn.Module
    up_proj: nn.Module
    down_proj: nn.Module

    @classmethod
    def refuses(cls, module: nn.Module) -> str | None:
        """Refuse one with another activation than SiLU, or with hooks on it."""
        activation = module.act_fn
        if not isinstance(activation, (nn.SiLU, SiLUActivation)):
            return f"its activation is {type(activation).__name__}"
        if any(getattr(activation, kind) for kind in _HOOKS):
            return "its activation has hooks"
        return None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return [..., hidden size] of the same."""
        gated = catalogue.swiglu(self.gate_proj(x), self.up_proj(x), backend=self.backend)
        y: torch.Tensor = self.down_proj(gated)
        return y


def rotate(
    rotary: Callable[..., tuple[torch.Tensor, torch.Tensor]],
    backend: str,
    q: torch.Tensor,
    k: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    unsqueeze_dim: int = 1,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Rotate queries and keys by the op rope.

    Args:
        rotary: transformers' function, which gets what the op does not take: another layout, heads
            of which a part rotates, and tables of another dtype.
        backend: that of the op.
        q: [B, H, S, D], or [B, S, H, D] with `unsqueeze_dim=2`.
        k: the same with its own number of heads.
        cos: [B or 1, S, D], two equal halves.
        sin: the same.
        unsqueeze_dim: where the heads are.
    """
    alike = all(x.dtype == cos.dtype and x.shape[-1] == cos.shape[-1] for x in (q, k))
    if not (alike and takes(q) and q.dim() == 4 and cos.dim() == 3 and unsqueeze_dim in (1, 2)):
        return rotary(q, k, cos, sin, unsqueeze_dim)
    half = cos.shape[-1] // 2
    tables = cos[..., :half].flatten(0, 1), sin[..., :half].flatten(0, 1)
    batch, length = cos.shape[:2]
    rows = torch.arange(batch * length, device=q.device).view(batch, length)
    rows = rows.expand(q.shape[0], length)
    if unsqueeze_dim == 2:
        one, other = (catalogue.rope(x, *tables, rows, backend=backend) for x in (q, k))
        return one, other
    one, other = (
        catalogue.rope(x.transpose(1, 2), *tables, rows, backend=backend).transpose(1, 2)
        for x in (q, k)
    )
    return one, other


def _rotating(forward: Callable[..., Any]) -> Mapping[str, Callable[..., Any]]:
    """Return, by backend, an attention's forward that finds `rotate` where it looks for the rotary.

    transformers has no place to put a rotary in: a forward looks it up among the globals of its
    module. To replace it there would change every model of the process, so the forward's code gets
    globals of its own. They have no `__name__`, by which torch.compile would find the module's.
    """
    plain = inspect.unwrap(forward)
    assert isinstance(plain, FunctionType)
    if _ROTARY not in plain.__code__.co_names:
        return {}
    made = {}
    for backend in ("auto", "triton", "torch"):
        names = dict(plain.__globals__)
        names[_ROTARY] = partial(rotate, names[_ROTARY], backend)
        del names["__name__"]
        made[backend] = FunctionType(
            plain.__code__, names, plain.__name__, plain.__defaults__, plain.__closure__
        )
        made[backend].__kwdefaults__ = plain.__kwdefaults__
    return made


class _Rotary(KernelModule):
    """An attention that rotates queries and keys by the op rope; the rest is transformers'."""

    forwards: Mapping[str, Callable[..., Any]]

    @classmethod
    def refuses(cls, module: nn.Module) -> str | None:
        """Refuse one of a version of transformers that rotates elsewhere."""
        return None if cls.forwards else f"its forward calls no {_ROTARY}"

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Take and return what transformers' attention does."""
        return self.forwards[self.backend](self, *args, **kwargs)


class LlamaRMSNorm(_Norm, modeling_llama.LlamaRMSNorm):
    """Llama's norm."""


class Qwen2RMSNorm(_Norm, modeling_qwen2.Qwen2RMSNorm):
    """Qwen2's norm."""


class Qwen3RMSNorm(_Norm, modeling_qwen3.Qwen3RMSNorm):
    """Qwen3's norm."""


class LlamaMLP(_GatedMLP, modeling_llama.LlamaMLP):
    """Llama's MLP."""


class Qwen2MLP(_GatedMLP, modeling_qwen2.Qwen2MLP):
    """Qwen2's MLP."""


class Qwen3MLP(_GatedMLP, modeling_qwen3.Qwen3MLP):
    """Qwen3's MLP."""


class LlamaAttention(_Rotary, modeling_llama.LlamaAttention):
    """Llama's attention."""

    forwards = _rotating(modeling_llama.LlamaAttention.forward)


class Qwen2Attention(_Rotary, modeling_qwen2.Qwen2Attention):
    """Qwen2's attention."""

    forwards = _rotating(modeling_qwen2.Qwen2Attention.forward)


class Qwen3Attention(_Rotary, modeling_qwen3.Qwen3Attention):
    """Qwen3's attention."""

    forwards = _rotating(modeling_qwen3.Qwen3Attention.forward)


#: The modules of transformers, and what each becomes.
MODULES: Mapping[type[nn.Module], type[KernelModule]] = {
    modeling_llama.LlamaAttention: LlamaAttention,
    modeling_llama.LlamaMLP: LlamaMLP,
    modeling_llama.LlamaRMSNorm: LlamaRMSNorm,
    modeling_qwen2.Qwen2Attention: Qwen2Attention,
    modeling_qwen2.Qwen2MLP: Qwen2MLP,
    modeling_qwen2.Qwen2RMSNorm: Qwen2RMSNorm,
    modeling_qwen3.Qwen3Attention: Qwen3Attention,
    modeling_qwen3.Qwen3MLP: Qwen3MLP,
    modeling_qwen3.Qwen3RMSNorm: Qwen3RMSNorm,
}


def causal_lm_loss(
    logits: torch.Tensor,
    labels: torch.Tensor | None,
    vocab_size: int,
    num_items_in_batch: torch.Tensor | int | None = None,
    ignore_index: int = -100,
    shift_labels: torch.Tensor | None = None,
    *,
    backend: str = "auto",
    **_: Any,
) -> torch.Tensor:
    """Return the loss of a causal language model, as transformers' ForCausalLMLoss does, by cross_entropy.

    Logits are read in their own dtype, without the fp32 copy of them.

    Args:
        logits: [B, S, V].
        labels: [B, S]; token s is compared with the logits at s - 1.
        vocab_size: V.
        num_items_in_batch: what the sum is divided by; the number of labels if None.
        ignore_index: the label that costs nothing.
        shift_labels: [B, S], labels that were shifted already.
        backend: that of the op.
    """
    if shift_labels is None:
        assert labels is not None
        shift_labels = F.pad(labels, (0, 1), value=ignore_index)[..., 1:]
    target = shift_labels.reshape(-1).to(logits.device)
    losses = label_losses(logits.view(-1, vocab_size), target, ignore_index, backend=backend)
    if num_items_in_batch is None:
        return losses.sum() / (target != ignore_index).sum()
    if isinstance(num_items_in_batch, torch.Tensor):
        num_items_in_batch = num_items_in_batch.to(losses.device)
    return losses.sum() / num_items_in_batch


def swap_loss(module: nn.Module, backend: str) -> bool:
    """Give a causal language model `causal_lm_loss`; return whether it had transformers' own."""
    if not (isinstance(module, PreTrainedModel) and module.loss_type == "ForCausalLM"):
        return False
    current = module.loss_function
    if current is ForCausalLMLoss or _is_ours(current):
        module.loss_function = partial(causal_lm_loss, backend=backend)
    return current is ForCausalLMLoss


def restore_loss(module: nn.Module) -> None:
    """Give a causal language model transformers' loss again if it has ours."""
    if isinstance(module, PreTrainedModel) and _is_ours(vars(module).get("_loss_function")):
        del module._loss_function


def _is_ours(function: object) -> bool:
    return isinstance(function, partial) and function.func is causal_lm_loss
