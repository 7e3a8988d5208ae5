"""Modulate normalised tokens by the condition of their sample (DiT, arXiv:2212.09748).

Built by tilegen 0.1.0 from specs/adaln_modulate.py (spec a6a63a77, templates 950bbb1d).
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
def _adaln_modulate_tiled(
    x_ptr,
    scale_ptr,
    shift_ptr,
    out_ptr,
    SIZE_0,
    SIZE_1,
    SIZE_2,
    SIZE_3,
    x_0,
    x_1,
    x_2,
    x_3,
    scale_0,
    scale_1,
    scale_2,
    scale_3,
    shift_0,
    shift_1,
    shift_2,
    shift_3,
    out_0,
    out_1,
    out_2,
    out_3,
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
    scale_axes = scale_ptr + axis_0 * scale_0 + axis_1 * scale_1
    shift_axes = shift_ptr + axis_0 * shift_0 + axis_1 * shift_1
    out_axes = out_ptr + axis_0 * out_0 + axis_1 * out_1

    x = tl.load(x_axes + axis_2 * x_2 + axis_3 * x_3, mask=inside, other=0.0).to(FLOAT)
    scale = tl.load(
        scale_axes + axis_2 * scale_2 + axis_3 * scale_3,
        mask=inside,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    shift = tl.load(
        shift_axes + axis_2 * shift_2 + axis_3 * shift_3,
        mask=inside,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # return x * (1.0 + scale) + shift
    tl.store(
        out_axes + axis_2 * out_2 + axis_3 * out_3,
        narrow(x * (1.0 + scale) + shift, out_ptr.dtype.element_ty),
        mask=inside,
    )


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    axes = call.axes(("B", "S", "N"), limit=4)
    config = call.choose(TILED_CONFIGS, lambda config: flat_cost(config, call.target, axes.total))
    block_0, block_1 = tile_shape(axes, config["TILE"])
    tiles = cdiv(axes.sizes[2], block_0) * cdiv(axes.sizes[3], block_1)
    return Launch(
        Step(
            _adaln_modulate_tiled,
            grid=(axes.sizes[0] * axes.sizes[1] * tiles,),
            tensors=("x", "scale", "shift", "out"),
            integers=(
                *axes.sizes,
                *axes.strides("x"),
                *axes.strides("scale"),
                *axes.strides("shift"),
                *axes.strides("out"),
            ),
            constants={"BLOCK_0": block_0, "BLOCK_1": block_1},
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
        autotune: time all configs for these shapes, and remember the fastest.

    Returns:
        out: [B, S, N], the type of x.
        B may stand for several dimensions.
    """
    tensors = (x, scale, shift)
    params = ()
    return OP(tensors, params, out, backend, autotune)
