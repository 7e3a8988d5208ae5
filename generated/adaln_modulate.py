"""Modulate normalised tokens by the condition of their sample (DiT, arXiv:2212.09748).

Built by tilegen 0.1.0 from specs/adaln_modulate.py (spec a6a63a77, templates e77a4a87).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 2*B*N*S*e + 2*B*N*e bytes (e: bytes of an element)
Work: 3*B*N*S flops
Bound: memory on every target
Eager PyTorch: 3 kernels, 2.0 times the bytes
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
    Config(TILE=1024, num_warps=1),  # 1024 B shared, 64 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 2048 B shared, 32 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 30 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=1),  # 1024 B shared, 92 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 2048 B shared, 56 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 4096 B shared, 40 registers on sm_90, else unproven
)
_TILED_2 = (
    Config(TILE=1024, num_warps=1),  # 4096 B shared, 94 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 2048 B shared, 52 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 32 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 0 B shared, 29 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 8192 B shared, 94 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 4096 B shared, 52 registers on sm_90, else unproven
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
def _adaln_modulate_tiled(
    x_ptr,
    scale_ptr,
    shift_ptr,
    out_ptr,
    B,
    SIZE_B_1,
    S,
    N,
    x_B_0,
    x_B_1,
    x_S,
    x_N,
    scale_B_0,
    scale_B_1,
    scale_N,
    shift_B_0,
    shift_B_1,
    shift_N,
    out_B_0,
    out_B_1,
    out_S,
    out_N,
    BLOCK_0: tl.constexpr,
    BLOCK_1: tl.constexpr,
    EVEN_0: tl.constexpr,
    EVEN_1: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program computes one tile of (S) by (N)."""
    tile = tl.program_id(0).to(INT)
    tiles_1 = tl.cdiv(N, BLOCK_1)
    tiles_0 = tl.cdiv(S, BLOCK_0)
    n = (tile % tiles_1) * BLOCK_1 + tl.arange(0, BLOCK_1)[None, :]
    s = (tile // tiles_1 % tiles_0) * BLOCK_0 + tl.arange(0, BLOCK_0)[:, None]
    in_n = below(n, N, EVEN_1)
    in_s = below(s, S, EVEN_0)
    b = tile // tiles_1 // tiles_0 + tl.zeros((1, 1), INT)
    b_1 = b % SIZE_B_1
    b_0 = b // SIZE_B_1
    x_b = x_ptr + b_0 * x_B_0 + b_1 * x_B_1
    scale_b = scale_ptr + b_0 * scale_B_0 + b_1 * scale_B_1
    shift_b = shift_ptr + b_0 * shift_B_0 + b_1 * shift_B_1
    out_b = out_ptr + b_0 * out_B_0 + b_1 * out_B_1

    x = tl.load(
        x_b + s * x_S + n * x_N, mask=in_s & in_n, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    scale = tl.load(scale_b + n * scale_N, mask=in_n, other=0.0, eviction_policy="evict_last").to(
        FLOAT
    )
    shift = tl.load(shift_b + n * shift_N, mask=in_n, other=0.0, eviction_policy="evict_last").to(
        FLOAT
    )
    # return x * (1.0 + scale) + shift
    tl.store(
        out_b + s * out_S + n * out_N,
        narrow(x * (1.0 + scale) + shift, out_ptr.dtype.element_ty),
        mask=in_s & in_n,
    )


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""

    axes_0 = call.axes(("B",), limit=2, spare_last=True)
    axes_1 = call.axes(("S",), limit=1)
    axes_2 = call.axes(("N",), limit=1)
    height, length = axes_1.total, axes_2.total
    outer = axes_0.total

    def tiled_time(config: Config) -> float:
        work = Work(reads=1, writes=1, flops=3, held=1.5, held_wide=3)
        return flat_cost(config, call.target, work, call.element_size, outer * height * length)

    config = call.choose(TILED_CONFIGS, tiled_time)
    block_0, block_1 = tile_shape(
        axes_1.crossed(), height, length, config["TILE"], call.element_size
    )
    tiles = cdiv(height, block_0) * cdiv(length, block_1)
    return Launch(
        Step(
            _adaln_modulate_tiled,
            grid=(outer * tiles,),
            tensors=("x", "scale", "shift", "out"),
            integers=(
                axes_0.total,
                *axes_0.sizes[1:],
                axes_1.total,
                axes_2.total,
                *axes_0.strides("x"),
                axes_1.strides("x")[0],
                axes_2.strides("x")[0],
                *axes_0.strides("scale"),
                axes_2.strides("scale")[0],
                *axes_0.strides("shift"),
                axes_2.strides("shift")[0],
                *axes_0.strides("out"),
                axes_1.strides("out")[0],
                axes_2.strides("out")[0],
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


def reference(x, scale, shift, *, compute):
    """Modulate normalised tokens by the condition of their sample (DiT, arXiv:2212.09748).

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x = widen(x, compute)
    scale = widen(scale, compute)
    shift = widen(shift, compute)
    return x * (1.0 + scale)[:, None, :] + shift[:, None, :]


OP = Op(
    name="adaln_modulate",
    spec_hash="a6a63a77",
    inputs=(
        Operand("x", ("B", "S", "N")),
        Operand("scale", ("B", "N")),
        Operand("shift", ("B", "N")),
    ),
    outputs=(Output("out", ("B", "S", "N"), like="x"),),
    fold="B",
    inplace=("x",),
    preserve_strides=True,
    variants={
        (): Variant(_plan, reference),
    },
)


def adaln_modulate(
    x: torch.Tensor,
    scale: torch.Tensor,
    shift: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> torch.Tensor:
    """Modulate normalised tokens by the condition of their sample (DiT, arXiv:2212.09748).

    Args:
        x: [B, S, N], floats.
        scale: [B, N], floats.
        shift: [B, N], floats.
        out: where to write out.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        out: [B, S, N], the type of x.
        B may stand for several dimensions.
    """
    tensors = (x, scale, shift)
    params = ()
    return OP(tensors, params, out, backend, autotune)
