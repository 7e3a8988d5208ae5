"""The cases of the bench: ops with shapes, and their inputs.

Shapes are those that the project promises a speed for. Inputs are normal numbers, drawn on the
device from a fixed seed; bytes are those that must move: each input once, each output once.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import torch

SUITES: Final = ("row", "small", "elementwise", "host", "backward", "more")
"""Groups of cases, in the order in which a full run takes them."""

NOT_IN_ALL: Final = ("backward", "more")
"""Suites that run only when they are named."""

Tensors = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Case:
    """One op at one shape.

    Attributes:
        suite: "row" and "elementwise" are timed one call at a time, with a cold L2; "small" from a
            CUDA graph; "host" is the time that a call takes on the CPU; "backward" is of gradients.
        sizes: of the op's first tensor, as its maker below takes them.
        part: what is timed: "forward", "backward", or "both", from inputs to gradients.
    """

    suite: str
    op: str
    sizes: tuple[int, ...]
    dtype: torch.dtype = torch.bfloat16
    part: str = "forward"

    @property
    def shape(self) -> str:
        """The sizes as text: "4096x32000"."""
        return "x".join(map(str, self.sizes))

    def inputs(self, device: torch.device) -> Tensors:
        """Draw the tensor arguments on ``device``."""
        generator = torch.Generator(device).manual_seed(0)
        return MAKERS[self.op](Draw(device, self.dtype, generator), self.sizes)


@dataclass(frozen=True)
class Draw:
    """Random tensors of one device and dtype."""

    device: torch.device
    dtype: torch.dtype
    generator: torch.Generator

    def normal(self, *sizes: int) -> torch.Tensor:
        """Normal numbers in the case's dtype."""
        return torch.randn(sizes, dtype=self.dtype, device=self.device, generator=self.generator)

    def uniform(self, *sizes: int) -> torch.Tensor:
        """Numbers in [0, 1) in fp32."""
        return torch.rand(sizes, device=self.device, generator=self.generator)

    def below(self, high: int, *sizes: int) -> torch.Tensor:
        """Integers in [0, high)."""
        return torch.randint(high, sizes, device=self.device, generator=self.generator)


Maker = Callable[[Draw, Sequence[int]], Tensors]


def _one(draw: Draw, sizes: Sequence[int]) -> Tensors:
    return (draw.normal(*sizes),)


def _two(draw: Draw, sizes: Sequence[int]) -> Tensors:
    return draw.normal(*sizes), draw.normal(*sizes)


def _weighted(draw: Draw, sizes: Sequence[int]) -> Tensors:
    return draw.normal(*sizes), draw.normal(sizes[-1])


def _affine(draw: Draw, sizes: Sequence[int]) -> Tensors:
    return draw.normal(*sizes), draw.normal(sizes[-1]), draw.normal(sizes[-1])


def _two_weighted(draw: Draw, sizes: Sequence[int]) -> Tensors:
    return draw.normal(*sizes), draw.normal(*sizes), draw.normal(sizes[-1])


def _dyt(draw: Draw, sizes: Sequence[int]) -> Tensors:
    n = sizes[-1]
    return draw.normal(*sizes), draw.normal(), draw.normal(n), draw.normal(n)


def _adaln(draw: Draw, sizes: Sequence[int]) -> Tensors:
    batch, _, n = sizes
    return draw.normal(*sizes), draw.normal(batch, n), draw.normal(batch, n)


def _dropout(draw: Draw, sizes: Sequence[int]) -> Tensors:
    return draw.normal(*sizes), draw.normal(*sizes), torch.tensor(7, device=draw.device)


def _rope(draw: Draw, sizes: Sequence[int]) -> Tensors:
    batch, length, _, width = sizes
    angle = draw.uniform(length, width // 2) * 6.28
    position = torch.arange(length, device=draw.device).expand(batch, length).contiguous()
    cos, sin = angle.cos().to(draw.dtype), angle.sin().to(draw.dtype)
    return draw.normal(*sizes), cos, sin, position


def _normed_rope(draw: Draw, sizes: Sequence[int]) -> Tensors:
    x, *tables = _rope(draw, sizes)
    return x, draw.normal(sizes[-1]), *tables


def _channels(draw: Draw, sizes: Sequence[int]) -> Tensors:
    return draw.normal(*sizes), draw.normal(sizes[1]), draw.normal(sizes[1])


def _labelled(draw: Draw, sizes: Sequence[int]) -> Tensors:
    return draw.normal(*sizes), draw.below(sizes[1], sizes[0])


def _distributions(draw: Draw, sizes: Sequence[int]) -> Tensors:
    log_q, p = draw.normal(*sizes).log_softmax(-1), draw.normal(*sizes).softmax(-1)
    return log_q, p


def _sampled(draw: Draw, sizes: Sequence[int]) -> Tensors:
    seed = torch.tensor(7, device=draw.device)
    return draw.normal(*sizes), seed, torch.full((sizes[0],), 0.9, device=draw.device)


MAKERS: Final[dict[str, Maker]] = {
    "vector_add": _two,
    "gelu_tanh": _one,
    "gelu_erf": _one,
    "silu": _one,
    "relu_squared": _one,
    "swiglu": _two,
    "geglu": _two,
    "bias_gelu": _weighted,
    "scale_residual_add": _two_weighted,
    "dyt": _dyt,
    "adaln_modulate": _adaln,
    "dropout_residual_add": _dropout,
    "rope": _rope,
    "rope_interleaved": _rope,
    "softmax": _one,
    "log_softmax": _one,
    "logsumexp": _one,
    "scaled_masked_softmax": _one,
    "rmsnorm": _weighted,
    "rmsnorm_llama": _weighted,
    "rmsnorm_gemma": _weighted,
    "add_rmsnorm": _two_weighted,
    "layernorm": _affine,
    "add_layernorm": _two_weighted,
    "groupnorm": _channels,
    "groupnorm_silu": _channels,
    "l2norm": _one,
    "qk_norm_rope": _normed_rope,
    "cross_entropy": _labelled,
    "kl_div": _distributions,
    "rmsnorm_quant_fp8": _weighted,
    "row_quant_int8": _one,
    "mse_loss": _two,
    "top_p_sample": _sampled,
}


def _cases(suite: str, ops: str, *shapes: tuple[int, ...], part: str = "forward") -> Iterable[Case]:
    return (Case(suite, op, sizes, part=part) for op in ops.split() for sizes in shapes)


def _backward(ops: str, *shapes: tuple[int, ...], part: str = "backward") -> Iterable[Case]:
    return _cases("backward", ops, *shapes, part=part)


_SOFTMAX: Final = ((4096, 4096), (32768, 1024), (16384, 8192), (4096, 32000), (2048, 131072))
_NORM: Final = ((32768, 1024), (16384, 8192), (8192, 16384))
_IMAGE: Final = (32, 256, 64, 64)
_HEADS: Final = (4, 4096, 32, 128)

CASES: Final[tuple[Case, ...]] = (
    *_cases("row", "softmax log_softmax", *_SOFTMAX),
    *_cases("row", "rmsnorm add_rmsnorm layernorm", *_NORM),
    *_cases("row", "cross_entropy", (8192, 32000), (4096, 128256)),
    *_cases("row", "groupnorm", _IMAGE),
    *_cases(
        "small", "softmax rmsnorm layernorm swiglu", *((rows, 4096) for rows in (1, 4, 16, 64))
    ),
    *_cases("elementwise", "rope", _HEADS),
    *_cases("elementwise", "swiglu geglu", (16384, 11008)),
    *_cases("elementwise", "vector_add gelu_tanh gelu_erf silu relu_squared", (16384, 8192)),
    *_cases("elementwise", "bias_gelu scale_residual_add dyt", (16384, 8192)),
    *_cases("elementwise", "dropout_residual_add", (16384, 8192)),
    *_cases("elementwise", "adaln_modulate", (8, 4096, 4096)),
    *_cases("host", "vector_add rmsnorm softmax add_rmsnorm", (64, 4096)),
    *_backward("rmsnorm add_rmsnorm layernorm", *_NORM),
    *_backward("softmax log_softmax", (16384, 8192)),
    *_backward("swiglu geglu", (16384, 11008)),
    *_backward("cross_entropy", (8192, 32000), (4096, 128256), part="both"),
    *_backward("bias_gelu dyt", (16384, 8192)),
    *_backward("rope", _HEADS),
    *_backward("groupnorm", _IMAGE),
    *_cases("more", "rmsnorm_llama rmsnorm_gemma add_layernorm l2norm logsumexp", (16384, 8192)),
    *_cases("more", "rmsnorm_quant_fp8 row_quant_int8 kl_div mse_loss", (16384, 8192)),
    *_cases("more", "groupnorm_silu", _IMAGE),
    *_cases("more", "qk_norm_rope rope_interleaved", _HEADS),
    *_cases("more", "scaled_masked_softmax", (4, 16, 2048, 2048)),
    *_cases("more", "top_p_sample", (512, 32000)),
)


def select(suites: Sequence[str], ops: Sequence[str] = (), shape: str = "") -> tuple[Case, ...]:
    """Return the cases of some suites, of some ops (all if none), of one shape.

    Raises:
        ValueError: no case is left; the message names what there is.
    """
    wanted = [
        suite
        for suite in SUITES
        if suite in suites or (suite not in NOT_IN_ALL and "all" in suites)
    ]
    unknown = set(ops) - set(MAKERS)
    if unknown:
        raise ValueError(f"no op {', '.join(sorted(unknown))}; there are: {', '.join(MAKERS)}")
    found = tuple(
        case
        for suite in wanted
        for case in CASES
        if case.suite == suite and (not ops or case.op in ops) and shape in ("", case.shape)
    )
    if not found:
        raise ValueError(f"no case in {', '.join(suites)} of {', '.join(ops) or 'any op'} {shape}")
    return found


def bytes_of(tensors: Iterable[torch.Tensor]) -> int:
    """Return the bytes of these tensors, each element once (expanded dims count once)."""
    total = 0
    for tensor in tensors:
        numel = 1
        for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
            numel *= size if stride else 1
        total += numel * tensor.element_size()
    return total
