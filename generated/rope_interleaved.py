"""Rotary embedding that pairs neighbours, as in the paper (Su et al., arXiv:2104.09864).

Row p of cos and sin belongs to position p.

Built by tilegen 0.1.0 from specs/rope_interleaved.py (spec d00b7186, templates 950bbb1d).
Rebuild with `tilegen build`; edits are overwritten.

"""

import torch
import triton
import triton.language as tl

from ._runtime import (
    Call,
    Config,
    Kernel,
    Launch,
    Op,
    Operand,
    Output,
    Step,
    Variant,
    cdiv,
    flat_cost,
    fold,
    narrow,
    take_last,
    tile_shape,
    widen,
)

#: Configs of the tiled kernels.
TILED_CONFIGS = {
    ("sm_80", 2): (
        Config(TILE=1024, num_warps=4),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=8),  # 0 B shared
    ),
    ("sm_80", 4): (
        Config(TILE=1024, num_warps=4),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=8),  # 0 B shared
    ),
    ("sm_90", 2): (
        Config(TILE=1024, num_warps=4),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=8),  # 0 B shared
    ),
    ("sm_90", 4): (
        Config(TILE=1024, num_warps=4),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=8),  # 0 B shared
    ),
    ("sm_100", 2): (
        Config(TILE=1024, num_warps=4),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=8),  # 0 B shared
    ),
    ("sm_100", 4): (
        Config(TILE=1024, num_warps=4),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=8),  # 0 B shared
    ),
    ("sm_89", 2): (
        Config(TILE=1024, num_warps=4),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=8),  # 0 B shared
    ),
    ("sm_89", 4): (
        Config(TILE=1024, num_warps=4),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=8),  # 0 B shared
    ),
    ("sm_86", 2): (
        Config(TILE=1024, num_warps=4),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=8),  # 0 B shared
    ),
    ("sm_86", 4): (
        Config(TILE=1024, num_warps=4),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=8),  # 0 B shared
    ),
    ("sm_120", 2): (
        Config(TILE=1024, num_warps=4),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=8),  # 0 B shared
    ),
    ("sm_120", 4): (
        Config(TILE=1024, num_warps=4),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=8),  # 0 B shared
    ),
    ("gfx90a", 2): (
        Config(TILE=1024, num_warps=4),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=8),  # 0 B shared
    ),
    ("gfx90a", 4): (
        Config(TILE=1024, num_warps=4),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=8),  # 0 B shared
    ),
    ("gfx942", 2): (
        Config(TILE=1024, num_warps=4),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=8),  # 0 B shared
    ),
    ("gfx942", 4): (
        Config(TILE=1024, num_warps=4),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=8),  # 0 B shared
    ),
    ("gfx950", 2): (
        Config(TILE=1024, num_warps=4),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=8),  # 0 B shared
    ),
    ("gfx950", 4): (
        Config(TILE=1024, num_warps=4),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=8),  # 0 B shared
    ),
}


@triton.jit
def _rope_interleaved_tiled(
    x_ptr,
    cos_ptr,
    sin_ptr,
    position_ptr,
    out_ptr,
    SIZE_0,
    SIZE_1,
    SIZE_2,
    SIZE_3,
    P,
    x_0,
    x_1,
    x_2,
    x_3,
    position_0,
    position_1,
    position_2,
    position_3,
    cos_0,
    cos_1,
    cos_2,
    cos_3,
    cos_stride_P,
    x_stride_Two,
    sin_0,
    sin_1,
    sin_2,
    sin_3,
    sin_stride_P,
    out_0,
    out_1,
    out_2,
    out_3,
    out_stride_Two,
    BLOCK_0: tl.constexpr,
    BLOCK_1: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program computes one tile of the last two axes."""
    tile = tl.program_id(0).to(INT)
    tiles_3 = tl.cdiv(SIZE_3, BLOCK_1)
    tiles_2 = tl.cdiv(SIZE_2, BLOCK_0)
    axis_3 = (tile % tiles_3) * BLOCK_1 + tl.arange(0, BLOCK_1)[None, :]
    axis_2 = (tile // tiles_3 % tiles_2) * BLOCK_0 + tl.arange(0, BLOCK_0)[:, None]
    outer = tile // tiles_3 // tiles_2
    axis_1 = outer % SIZE_1
    axis_0 = outer // SIZE_1
    inside = (axis_2 < SIZE_2) & (axis_3 < SIZE_3)
    x_axes = x_ptr + axis_0 * x_0 + axis_1 * x_1
    position_axes = position_ptr + axis_0 * position_0 + axis_1 * position_1
    cos_axes = cos_ptr + axis_0 * cos_0 + axis_1 * cos_1
    sin_axes = sin_ptr + axis_0 * sin_0 + axis_1 * sin_1
    out_axes = out_ptr + axis_0 * out_0 + axis_1 * out_1

    x_0 = tl.load(x_axes + axis_2 * x_2 + axis_3 * x_3, mask=inside, other=0.0).to(FLOAT)
    position = tl.load(
        position_axes + axis_2 * position_2 + axis_3 * position_3,
        mask=inside,
        other=0,
        eviction_policy="evict_last",
    )
    # c = take(cos, position, P)
    ands = (position >= 0) & (position < P)
    cos = tl.load(
        cos_axes + axis_2 * cos_2 + axis_3 * cos_3 + position * cos_stride_P,
        mask=inside & ands,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    x_1 = tl.load(x_axes + axis_2 * x_2 + axis_3 * x_3 + x_stride_Two, mask=inside, other=0.0).to(
        FLOAT
    )
    sin = tl.load(
        sin_axes + axis_2 * sin_2 + axis_3 * sin_3 + position * sin_stride_P,
        mask=inside & ands,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # return stack(even * c - odd * s, odd * c + even * s, dim=Two)
    tl.store(
        out_axes + axis_2 * out_2 + axis_3 * out_3,
        narrow(x_0 * cos - x_1 * sin, out_ptr.dtype.element_ty),
        mask=inside,
    )
    tl.store(
        out_axes + axis_2 * out_2 + axis_3 * out_3 + out_stride_Two,
        narrow(x_1 * cos + x_0 * sin, out_ptr.dtype.element_ty),
        mask=inside,
    )


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    axes = call.axes(("B", "S", "H", "D"), limit=4)
    config = call.choose(TILED_CONFIGS, lambda config: flat_cost(config, call.target, axes.total))
    block_0, block_1 = tile_shape(axes, config["TILE"])
    tiles = cdiv(axes.sizes[2], block_0) * cdiv(axes.sizes[3], block_1)
    return Launch(
        Step(
            _rope_interleaved_tiled,
            grid=(axes.sizes[0] * axes.sizes[1] * tiles,),
            tensors=("x", "cos", "sin", "position", "out"),
            integers=(
                *axes.sizes,
                call.sizes["P"],
                *axes.strides("x"),
                *axes.strides("position"),
                *axes.strides("cos"),
                call.stride("cos", "P"),
                call.stride("x", "Two"),
                *axes.strides("sin"),
                call.stride("sin", "P"),
                *axes.strides("out"),
                call.stride("out", "Two"),
            ),
            constants={"BLOCK_0": block_0, "BLOCK_1": block_1},
            config=config,
        )
    )


def reference(x, cos, sin, position, *, compute):
    """Rotary embedding that pairs neighbours, as in the paper (Su et al., arXiv:2104.09864).

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    D = cos.shape[1]
    x = widen(x.unflatten(3, (D, 2)), compute)
    cos = widen(cos.permute(1, 0), compute)
    sin = widen(sin.permute(1, 0), compute)
    # even, odd = unstack(x, Two)
    even = x.select(4, 0)
    # c = take(cos, position, P)
    c = take_last(cos, position[:, :, None])
    odd = x.select(4, 1)
    # s = take(sin, position, P)
    s = take_last(sin, position[:, :, None])
    return torch.stack(
        (
            even * c[:, :, None, :] - odd * s[:, :, None, :],
            odd * c[:, :, None, :] + even * s[:, :, None, :],
        ),
        4,
    ).flatten(3, 4)


OP = Op(
    name="rope_interleaved",
    spec_hash="d00b7186",
    inputs=(
        Operand("x", ("B", "S", "H", ("D", "Two"))),
        Operand("cos", ("P", "D")),
        Operand("sin", ("P", "D")),
        Operand("position", ("B", "S"), kind="int"),
    ),
    outputs=(Output("out", ("B", "S", "H", ("D", "Two")), like="x"),),
    fold="B",
    static_sizes={"Two": 2},
    inplace=("x",),
    variants={
        (): Variant(_plan, reference),
    },
)


def rope_interleaved(
    x: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    position: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> torch.Tensor:
    """Rotary embedding that pairs neighbours, as in the paper (Su et al., arXiv:2104.09864).

    Row p of cos and sin belongs to position p.

    Args:
        x: [B, S, H, D * Two], floats.
        cos: [P, D], floats.
        sin: [P, D], floats.
        position: [B, S], integers.
        out: where to write out.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time all configs for these shapes, and remember the fastest.

    Returns:
        out: [B, S, H, D * Two], the type of x.
        B may stand for several dimensions.
    """
    tensors = (x, cos, sin, position)
    params = ()
    return OP(tensors, params, out, backend, autotune)
