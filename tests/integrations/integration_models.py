"""Small models: one of torch.nn's modules, and a block that trains."""

from collections.abc import Callable

import torch
from integration_cases import DEVICE
from torch import nn
from torch.nn import functional as F

from tilegen.integrations import nn as knn
from tilegen.integrations.catalogue import rope

VOCABULARY, WIDTH, HEADS, LENGTH = 32, 16, 2, 4


class Mixed(nn.Module):
    """Every kind of module that is swapped, and a few that must not be."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.conv = nn.Sequential(nn.Conv1d(WIDTH, WIDTH, 1), nn.GroupNorm(4, WIDTH), nn.SiLU())
        self.mlp = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH), nn.GELU())
        self.gate = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Softmax(-1), nn.Dropout(0.0))
        self.norm = nn.RMSNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)
        self.logs = nn.LogSoftmax(-1)
        self.losses = nn.ModuleDict(
            {
                "label": nn.CrossEntropyLoss(label_smoothing=0.1),
                "prior": nn.KLDivLoss(reduction="batchmean"),
                "size": nn.MSELoss(),
            }
        )

    def logits(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        x = x + self.conv(x.transpose(1, 2)).transpose(1, 2)
        x = x + self.mlp(x) * self.gate(x)
        y: torch.Tensor = self.head(self.norm(x))
        return y

    def forward(self, tokens: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        logits = self.logits(tokens).flatten(0, 1)
        logs = self.logs(logits)
        flat = torch.full_like(logits, 1 / VOCABULARY)
        loss: torch.Tensor = self.losses["label"](logits, target.flatten())
        return loss + self.losses["prior"](logs, flat) + self.losses["size"](logits, flat)


class Block(nn.Module):
    """A language model of one block; `kernels` says whose norms, gate, rotary and loss it has."""

    def __init__(self, kernels: bool) -> None:
        super().__init__()
        norm = knn.RMSNorm if kernels else nn.RMSNorm
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.before, self.between = norm(WIDTH), norm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)
        self.gated: Callable[..., torch.Tensor] = knn.SwiGLU() if kernels else eager_swiglu
        self.rotate = rope if kernels else eager_rope
        self.loss = knn.CrossEntropyLoss() if kernels else nn.CrossEntropyLoss()
        half = WIDTH // HEADS // 2
        angles = torch.outer(torch.arange(LENGTH), 100.0 ** (-torch.arange(half) / half))
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        inputs, target = tokens[:, :-1], tokens[:, 1:]
        x = self.embed(inputs)
        x = x + self.attend(self.before(x))
        x = x + self.down(self.gated(self.up(self.between(x))))
        logits = F.linear(x, self.embed.weight)
        loss: torch.Tensor = self.loss(logits.flatten(0, 1), target.flatten())
        return loss

    def attend(self, x: torch.Tensor) -> torch.Tensor:
        heads = self.qkv(x).unflatten(-1, (3 * HEADS, WIDTH // HEADS))
        position = torch.arange(x.shape[1], device=x.device).expand(x.shape[:2])
        turned = self.rotate(heads[..., : 2 * HEADS, :], self.cos, self.sin, position)
        q, k = turned.transpose(1, 2).chunk(2, 1)
        v = heads[..., 2 * HEADS :, :].transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


def eager_swiglu(x: torch.Tensor) -> torch.Tensor:
    gate, up = x.chunk(2, -1)
    return F.silu(gate) * up


def eager_rope(
    x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, position: torch.Tensor
) -> torch.Tensor:
    first, second = x.chunk(2, -1)
    c, s = cos[position].unsqueeze(-2), sin[position].unsqueeze(-2)
    return torch.cat((first * c - second * s, second * c + first * s), -1)


def trained(kernels: bool, steps: int, *, compiled: bool = False) -> torch.Tensor:
    """Losses of a block over some steps of AdamW on sequences that count upwards."""
    torch.manual_seed(0)
    model = Block(kernels).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    called = torch.compile(model, backend="aot_eager", fullgraph=True) if compiled else model
    start = torch.randint(VOCABULARY, (steps, 1, 1), device=DEVICE)
    batches = (start + torch.arange(LENGTH + 1, device=DEVICE)) % VOCABULARY
    losses = []
    for tokens in batches:
        loss = called(tokens)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)


def check_training(steps: int, *, compiled: bool = False) -> None:
    """Hold the losses of a block of kernels against those of an eager one.

    Both compute in fp32 and differ in the order of their sums: by 1e-7 in a step, which AdamW
    amplifies where a gradient is near zero. A wrong gradient is off by 1e-1 within ten steps.
    """
    losses = trained(True, steps, compiled=compiled)
    torch.testing.assert_close(losses, trained(False, steps), rtol=1e-3, atol=0)
    if steps >= 50:
        assert losses[-5:].mean() < 0.5 * losses[:5].mean()
