# mypy: ignore-errors
"""Helion kernels for the bench; importing this needs Helion.

As Helion's documentation writes them. They run with the config that Helion picks without a search:
a search takes minutes a shape.
"""

import helion
import helion.language as hl
import torch


@helion.kernel(autotune_effort="none", static_shapes=True)
def softmax(x: torch.Tensor) -> torch.Tensor:
    """Softmax of each row of [M, N]."""
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        out[tile, :] = torch.nn.functional.softmax(x[tile, :].to(torch.float32), dim=1).to(x.dtype)
    return out


@helion.kernel(autotune_effort="none", static_shapes=True)
def rmsnorm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """RMS norm of each row of [M, N], eps 1e-6."""
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        row = x[tile, :].to(torch.float32)
        inverse = torch.rsqrt(torch.mean(row * row, dim=-1) + 1e-6)
        out[tile, :] = (row * inverse[:, None] * weight[:].to(torch.float32)).to(out.dtype)
    return out


@helion.kernel(autotune_effort="none", static_shapes=True)
def layernorm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Layer norm of each row of [M, N], eps 1e-5."""
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        row = x[tile, :].to(torch.float32)
        centered = row - torch.mean(row, dim=-1)[:, None]
        inverse = torch.rsqrt(torch.mean(centered * centered, dim=-1) + 1e-5)
        scaled = centered * inverse[:, None] * weight[:].to(torch.float32)
        out[tile, :] = (scaled + bias[:].to(torch.float32)).to(x.dtype)
    return out


@helion.kernel(
    autotune_effort="none",
    static_shapes=True,
    ignore_warnings=[helion.exc.TensorOperationInWrapper],
)
def cross_entropy(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Cross entropy of each row of [M, V] with its label."""
    rows, classes = logits.shape
    losses = torch.zeros([rows], dtype=torch.float32, device=logits.device)
    flat = logits.view(-1)
    for tile in hl.tile(rows):
        at = tile.index * classes + target[tile]
        label = hl.load(flat, [at]).to(torch.float32)
        row = logits[tile, :].to(torch.float32)
        top = torch.amax(row, dim=-1, keepdim=True)
        total = torch.sum(torch.exp(row - top), dim=1, keepdim=True)
        losses[tile] = (top + torch.log(total)).squeeze(-1) - label
    return losses
