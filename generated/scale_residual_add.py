"""LayerScale: a branch, scaled per channel, onto the residual (Touvron, arXiv:2103.17239).

Built by tilegen 0.1.0 from specs/scale_residual_add.py (spec f3e75cc6, templates 950bbb1d).
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
def _scale_residual_add_tiled(
    x_ptr,
    residual_ptr,
    scale_ptr,
    out_ptr,
    SIZE_0,
    SIZE_1,
    SIZE_2,
    SIZE_3,
    residual_0,
    residual_1,
    residual_2,
    residual_3,
    scale_0,
    scale_1,
    scale_2,
    scale_3,
    x_0,
    x_1,
    x_2,
    x_3,
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
    residual_axes = residual_ptr + axis_0 * residual_0 + axis_1 * residual_1
    scale_axes = scale_ptr + axis_0 * scale_0 + axis_1 * scale_1
    x_axes = x_ptr + axis_0 * x_0 + axis_1 * x_1
    out_axes = out_ptr + axis_0 * out_0 + axis_1 * out_1

    residual = tl.load(
        residual_axes + axis_2 * residual_2 + axis_3 * residual_3, mask=inside, other=0.0
    ).to(FLOAT)
    scale = tl.load(
        scale_axes + axis_2 * scale_2 + axis_3 * scale_3,
        mask=inside,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    x = tl.load(x_axes + axis_2 * x_2 + axis_3 * x_3, mask=inside, other=0.0).to(FLOAT)
    # return residual + scale * x
    tl.store(
        out_axes + axis_2 * out_2 + axis_3 * out_3,
        narrow(residual + scale * x, out_ptr.dtype.element_ty),
        mask=inside,
    )


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    axes = call.axes(("M", "N"), limit=4)
    config = call.choose(TILED_CONFIGS, lambda config: flat_cost(config, call.target, axes.total))
    block_0, block_1 = tile_shape(axes, config["TILE"])
    tiles = cdiv(axes.sizes[2], block_0) * cdiv(axes.sizes[3], block_1)
    return Launch(
        Step(
            _scale_residual_add_tiled,
            grid=(axes.sizes[0] * axes.sizes[1] * tiles,),
            tensors=("x", "residual", "scale", "out"),
            integers=(
                *axes.sizes,
                *axes.strides("residual"),
                *axes.strides("scale"),
                *axes.strides("x"),
                *axes.strides("out"),
            ),
            constants={"BLOCK_0": block_0, "BLOCK_1": block_1},
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
        autotune: time all configs for these shapes, and remember the fastest.

    Returns:
        out: [M, N], the type of x.
        M may stand for several dimensions.
    """
    tensors = (x, residual, scale)
    params = ()
    return OP(tensors, params, out, backend, autotune)
