"""Add a linear layer's bias, then GELU (Hendrycks and Gimpel, arXiv:1606.08415).

Built by tilegen 0.1.0 from specs/bias_gelu.py (spec bec6fd0e, templates e77a4a87).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 2*M*N*e + N*e bytes (e: bytes of an element)
Work: 13*M*N flops, M*N of them exponentials, roots and quotients
Bound: memory on every target
Eager PyTorch: 2 kernels, 2.0 times the bytes
"""

import torch
import triton
import triton.language as tl

from ._runtime import (
    Call,
    Config,
    Launch,
    Op,
    Operand,
    Output,
    Param,
    Step,
    Variant,
    Work,
    below,
    by_class,
    cdiv,
    exact_gelu,
    flat_cost,
    narrow,
    sigmoid,
    tile_shape,
    widen,
)

_TILED_1 = (
    Config(TILE=1024, num_warps=1),  # 128 B shared, 64 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 0 B shared, 36 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 2048 B shared, 32 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=1),  # 256 B shared, 123 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 256 B shared, 62 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 2048 B shared, 36 registers on sm_90, else unproven
)
_TILED_2 = (
    Config(TILE=1024, num_warps=1),  # 256 B shared, 242 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 0 B shared, 120 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 1024 B shared, 64 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 0 B shared, 44 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 512 B shared, 242 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 1024 B shared, 120 registers on sm_90, else unproven
)
_TILED_3 = (
    Config(TILE=1024, num_warps=1),  # at most 4096 B shared, unproven
    Config(TILE=1024, num_warps=2),  # at most 4096 B shared, unproven
    Config(TILE=2048, num_warps=1),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=2),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=1),  # at most 16384 B shared, unproven
)
#: Tiles of TILE elements over strided axes; by architecture class and element size in bytes.
TILED_CONFIGS = by_class(
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2), _TILED_1),
    (
        ("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120", "gfx90a", "gfx942", "gfx950"),
        (4,),
        _TILED_1,
    ),
    (("gfx90a", "gfx942", "gfx950"), (8,), _TILED_1),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _TILED_2),
    (("gfx90a", "gfx942", "gfx950"), (1, 2), _TILED_3),
)


@triton.jit
def _bias_gelu_none_tiled(
    x_ptr,
    bias_ptr,
    out_ptr,
    M,
    SIZE_M_1,
    SIZE_M_2,
    N,
    x_M_0,
    x_M_1,
    x_M_2,
    x_N,
    bias_N,
    out_M_0,
    out_M_1,
    out_M_2,
    out_N,
    BLOCK_0: tl.constexpr,
    BLOCK_1: tl.constexpr,
    EVEN_0: tl.constexpr,
    EVEN_1: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program computes one tile of (M) by (N)."""
    tile = tl.program_id(0).to(INT)
    tiles_1 = tl.cdiv(N, BLOCK_1)
    n = (tile % tiles_1) * BLOCK_1 + tl.arange(0, BLOCK_1)[None, :]
    m = (tile // tiles_1) * BLOCK_0 + tl.arange(0, BLOCK_0)[:, None]
    in_n = below(n, N, EVEN_1)
    in_m = below(m, M, EVEN_0)
    m_2 = m % SIZE_M_2
    m_1 = m // SIZE_M_2 % SIZE_M_1
    m_0 = m // SIZE_M_2 // SIZE_M_1
    x_m = x_ptr + m_0 * x_M_0 + m_1 * x_M_1 + m_2 * x_M_2
    out_m = out_ptr + m_0 * out_M_0 + m_1 * out_M_1 + m_2 * out_M_2

    x = tl.load(x_m + n * x_N, mask=in_m & in_n, other=0.0, eviction_policy="evict_last").to(FLOAT)
    bias = tl.load(bias_ptr + n * bias_N, mask=in_n, other=0.0, eviction_policy="evict_last").to(
        FLOAT
    )
    # return gelu(x + bias, approximate=approximate)
    tl.store(
        out_m + n * out_N, narrow(exact_gelu(x + bias), out_ptr.dtype.element_ty), mask=in_m & in_n
    )


@triton.jit
def _bias_gelu_tanh_tiled(
    x_ptr,
    bias_ptr,
    out_ptr,
    M,
    SIZE_M_1,
    SIZE_M_2,
    N,
    x_M_0,
    x_M_1,
    x_M_2,
    x_N,
    bias_N,
    out_M_0,
    out_M_1,
    out_M_2,
    out_N,
    BLOCK_0: tl.constexpr,
    BLOCK_1: tl.constexpr,
    EVEN_0: tl.constexpr,
    EVEN_1: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program computes one tile of (M) by (N)."""
    tile = tl.program_id(0).to(INT)
    tiles_1 = tl.cdiv(N, BLOCK_1)
    n = (tile % tiles_1) * BLOCK_1 + tl.arange(0, BLOCK_1)[None, :]
    m = (tile // tiles_1) * BLOCK_0 + tl.arange(0, BLOCK_0)[:, None]
    in_n = below(n, N, EVEN_1)
    in_m = below(m, M, EVEN_0)
    m_2 = m % SIZE_M_2
    m_1 = m // SIZE_M_2 % SIZE_M_1
    m_0 = m // SIZE_M_2 // SIZE_M_1
    x_m = x_ptr + m_0 * x_M_0 + m_1 * x_M_1 + m_2 * x_M_2
    out_m = out_ptr + m_0 * out_M_0 + m_1 * out_M_1 + m_2 * out_M_2

    x = tl.load(x_m + n * x_N, mask=in_m & in_n, other=0.0, eviction_policy="evict_last").to(FLOAT)
    bias = tl.load(bias_ptr + n * bias_N, mask=in_n, other=0.0, eviction_policy="evict_last").to(
        FLOAT
    )
    # return gelu(x + bias, approximate=approximate)
    value = x + bias
    tl.store(
        out_m + n * out_N,
        narrow(
            value * sigmoid(1.5957691216057308 * (value + 0.044715 * (value * value * value))),
            out_ptr.dtype.element_ty,
        ),
        mask=in_m & in_n,
    )


def _plan_none(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""

    axes_0 = call.axes(("M",), limit=3, spare_last=True)
    axes_1 = call.axes(("N",), limit=1)
    height, length = axes_0.total, axes_1.total
    outer = 1

    def tiled_time(config: Config) -> float:
        work = Work(reads=1, writes=1, flops=13, special=1, held_wide=2)
        return flat_cost(config, call.target, work, call.element_size, outer * height * length)

    config = call.choose(TILED_CONFIGS, tiled_time)
    block_0, block_1 = tile_shape(
        axes_0.crossed(), height, length, config["TILE"], call.element_size
    )
    tiles = cdiv(height, block_0) * cdiv(length, block_1)
    return Launch(
        Step(
            _bias_gelu_none_tiled,
            grid=(outer * tiles,),
            tensors=("x", "bias", "out"),
            integers=(
                axes_0.total,
                *axes_0.sizes[1:],
                axes_1.total,
                *axes_0.strides("x"),
                axes_1.strides("x")[0],
                axes_1.strides("bias")[0],
                *axes_0.strides("out"),
                axes_1.strides("out")[0],
            ),
            constants={
                "BLOCK_0": block_0,
                "BLOCK_1": block_1,
                "EVEN_0": height % block_0 == 0,
                "EVEN_1": length % block_1 == 0,
            },
            config=config,
        )
    )


def _plan_tanh(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""

    axes_0 = call.axes(("M",), limit=3, spare_last=True)
    axes_1 = call.axes(("N",), limit=1)
    height, length = axes_0.total, axes_1.total
    outer = 1

    def tiled_time(config: Config) -> float:
        work = Work(reads=1, writes=1, flops=10, special=2, held_wide=2)
        return flat_cost(config, call.target, work, call.element_size, outer * height * length)

    config = call.choose(TILED_CONFIGS, tiled_time)
    block_0, block_1 = tile_shape(
        axes_0.crossed(), height, length, config["TILE"], call.element_size
    )
    tiles = cdiv(height, block_0) * cdiv(length, block_1)
    return Launch(
        Step(
            _bias_gelu_tanh_tiled,
            grid=(outer * tiles,),
            tensors=("x", "bias", "out"),
            integers=(
                axes_0.total,
                *axes_0.sizes[1:],
                axes_1.total,
                *axes_0.strides("x"),
                axes_1.strides("x")[0],
                axes_1.strides("bias")[0],
                *axes_0.strides("out"),
                axes_1.strides("out")[0],
            ),
            constants={
                "BLOCK_0": block_0,
                "BLOCK_1": block_1,
                "EVEN_0": height % block_0 == 0,
                "EVEN_1": length % block_1 == 0,
            },
            config=config,
        )
    )


def reference_none(x, bias, approximate, *, compute):
    """Add a linear layer's bias, then GELU (Hendrycks and Gimpel, arXiv:1606.08415).

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x = widen(x, compute)
    bias = widen(bias, compute)
    return torch.nn.functional.gelu(x + bias)


def reference_tanh(x, bias, approximate, *, compute):
    """Add a linear layer's bias, then GELU (Hendrycks and Gimpel, arXiv:1606.08415).

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x = widen(x, compute)
    bias = widen(bias, compute)
    # return gelu(x + bias, approximate=approximate)
    value = x + bias
    return value * torch.sigmoid(1.5957691216057308 * (value + 0.044715 * (value * value * value)))


OP = Op(
    name="bias_gelu",
    spec_hash="bec6fd0e",
    inputs=(Operand("x", ("M", "N")), Operand("bias", ("N",))),
    params=(Param("approximate", "literal", "tanh", choices=("none", "tanh")),),
    outputs=(Output("out", ("M", "N"), like="x"),),
    fold="M",
    specialize=("approximate",),
    inplace=("x",),
    preserve_strides=True,
    variants={
        ("none",): Variant(_plan_none, reference_none),
        ("tanh",): Variant(_plan_tanh, reference_tanh),
    },
)


def bias_gelu(
    x: torch.Tensor,
    bias: torch.Tensor,
    approximate: str = "tanh",
    *,
    out: torch.Tensor | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> torch.Tensor:
    """Add a linear layer's bias, then GELU (Hendrycks and Gimpel, arXiv:1606.08415).

    Args:
        x: [M, N], floats.
        bias: [N], floats.
        approximate: 'none' or 'tanh'.
        out: where to write out.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        out: [M, N], the type of x.
        M may stand for several dimensions.
    """
    tensors = (x, bias)
    params = (approximate,)
    return OP(tensors, params, out, backend, autotune)
