"""LayerScale: a branch, scaled per channel, onto the residual (Touvron, arXiv:2103.17239).

Built by tilegen 0.1.0 from specs/scale_residual_add.py (spec f3e75cc6, templates e77a4a87).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 3*M*N*e + N*e bytes (e: bytes of an element)
Work: 2*M*N flops
Bound: memory on every target
Eager PyTorch: 2 kernels, 1.7 times the bytes
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
    Step,
    Variant,
    Work,
    below,
    by_class,
    cdiv,
    flat_cost,
    narrow,
    tile_shape,
    widen,
)

_TILED_1 = (
    Config(TILE=1024, num_warps=1),  # 4096 B shared, 98 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 4096 B shared, 62 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 4096 B shared, 39 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=1),  # 4096 B shared, 168 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 8192 B shared, 92 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 8192 B shared, 55 registers on sm_90, else unproven
)
_TILED_2 = (
    Config(TILE=1024, num_warps=1),  # 8192 B shared, 220 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 8192 B shared, 72 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 8192 B shared, 40 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 8192 B shared, 32 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 16384 B shared, 168 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 16384 B shared, 79 registers on sm_90, else unproven
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
def _scale_residual_add_tiled(
    x_ptr,
    residual_ptr,
    scale_ptr,
    out_ptr,
    M,
    SIZE_M_1,
    SIZE_M_2,
    N,
    residual_M_0,
    residual_M_1,
    residual_M_2,
    residual_N,
    scale_N,
    x_M_0,
    x_M_1,
    x_M_2,
    x_N,
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
    residual_m = residual_ptr + m_0 * residual_M_0 + m_1 * residual_M_1 + m_2 * residual_M_2
    x_m = x_ptr + m_0 * x_M_0 + m_1 * x_M_1 + m_2 * x_M_2
    out_m = out_ptr + m_0 * out_M_0 + m_1 * out_M_1 + m_2 * out_M_2

    residual = tl.load(
        residual_m + n * residual_N, mask=in_m & in_n, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    scale = tl.load(scale_ptr + n * scale_N, mask=in_n, other=0.0, eviction_policy="evict_last").to(
        FLOAT
    )
    x = tl.load(x_m + n * x_N, mask=in_m & in_n, other=0.0, eviction_policy="evict_last").to(FLOAT)
    # return residual + scale * x
    tl.store(
        out_m + n * out_N, narrow(residual + scale * x, out_ptr.dtype.element_ty), mask=in_m & in_n
    )


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""

    axes_0 = call.axes(("M",), limit=3, spare_last=True)
    axes_1 = call.axes(("N",), limit=1)
    height, length = axes_0.total, axes_1.total
    outer = 1

    def tiled_time(config: Config) -> float:
        work = Work(reads=2, writes=1, flops=2, held=1.5, held_wide=3)
        return flat_cost(config, call.target, work, call.element_size, outer * height * length)

    config = call.choose(TILED_CONFIGS, tiled_time)
    block_0, block_1 = tile_shape(
        axes_0.crossed(), height, length, config["TILE"], call.element_size
    )
    tiles = cdiv(height, block_0) * cdiv(length, block_1)
    return Launch(
        Step(
            _scale_residual_add_tiled,
            grid=(outer * tiles,),
            tensors=("x", "residual", "scale", "out"),
            integers=(
                axes_0.total,
                *axes_0.sizes[1:],
                axes_1.total,
                *axes_0.strides("residual"),
                axes_1.strides("residual")[0],
                axes_1.strides("scale")[0],
                *axes_0.strides("x"),
                axes_1.strides("x")[0],
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


def reference(x, residual, scale, *, compute):
    """LayerScale: a branch, scaled per channel, onto the residual (Touvron, arXiv:2103.17239).

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x = widen(x, compute)
    residual = widen(residual, compute)
    scale = widen(scale, compute)
    return residual + scale * x


OP = Op(
    name="scale_residual_add",
    spec_hash="f3e75cc6",
    inputs=(Operand("x", ("M", "N")), Operand("residual", ("M", "N")), Operand("scale", ("N",))),
    outputs=(Output("out", ("M", "N"), like="x"),),
    fold="M",
    inplace=("x", "residual"),
    preserve_strides=True,
    variants={
        (): Variant(_plan, reference),
    },
)


def scale_residual_add(
    x: torch.Tensor,
    residual: torch.Tensor,
    scale: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> torch.Tensor:
    """LayerScale: a branch, scaled per channel, onto the residual (Touvron, arXiv:2103.17239).

    Args:
        x: [M, N], floats.
        residual: [M, N], floats.
        scale: [N], floats.
        out: where to write out.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        out: [M, N], the type of x.
        M may stand for several dimensions.
    """
    tensors = (x, residual, scale)
    params = ()
    return OP(tensors, params, out, backend, autotune)
