"""Dynamic tanh, which stands in for a norm; alpha is learned (Zhu et al., arXiv:2503.10622).

Built by tilegen 0.1.0 from specs/dyt.py (spec 7a590c66, templates 950bbb1d).
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
    tanh,
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
def _dyt_tiled(
    x_ptr,
    alpha_ptr,
    weight_ptr,
    bias_ptr,
    out_ptr,
    SIZE_0,
    SIZE_1,
    SIZE_2,
    SIZE_3,
    weight_0,
    weight_1,
    weight_2,
    weight_3,
    x_0,
    x_1,
    x_2,
    x_3,
    bias_0,
    bias_1,
    bias_2,
    bias_3,
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
    weight_axes = weight_ptr + axis_0 * weight_0 + axis_1 * weight_1
    x_axes = x_ptr + axis_0 * x_0 + axis_1 * x_1
    bias_axes = bias_ptr + axis_0 * bias_0 + axis_1 * bias_1
    out_axes = out_ptr + axis_0 * out_0 + axis_1 * out_1

    weight = tl.load(
        weight_axes + axis_2 * weight_2 + axis_3 * weight_3,
        mask=inside,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    alpha = tl.load(alpha_ptr).to(FLOAT)
    x = tl.load(x_axes + axis_2 * x_2 + axis_3 * x_3, mask=inside, other=0.0).to(FLOAT)
    bias = tl.load(
        bias_axes + axis_2 * bias_2 + axis_3 * bias_3,
        mask=inside,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # return weight * tanh(alpha * x) + bias
    tl.store(
        out_axes + axis_2 * out_2 + axis_3 * out_3,
        narrow(weight * tanh(alpha * x) + bias, out_ptr.dtype.element_ty),
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
            _dyt_tiled,
            grid=(axes.sizes[0] * axes.sizes[1] * tiles,),
            tensors=("x", "alpha", "weight", "bias", "out"),
            integers=(
                *axes.sizes,
                *axes.strides("weight"),
                *axes.strides("x"),
                *axes.strides("bias"),
                *axes.strides("out"),
            ),
            constants={"BLOCK_0": block_0, "BLOCK_1": block_1},
            config=config,
        )
    )


def reference(x, alpha, weight, bias, *, compute):
    """Dynamic tanh, which stands in for a norm; alpha is learned (Zhu et al., arXiv:2503.10622).

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x = widen(x, compute)
    alpha = widen(alpha, compute)
    weight = widen(weight, compute)
    bias = widen(bias, compute)
    return weight * torch.tanh(alpha * x) + bias


OP = Op(
    name="dyt",
    spec_hash="7a590c66",
    inputs=(
        Operand("x", ("M", "N")),
        Operand("alpha", ()),
        Operand("weight", ("N",)),
        Operand("bias", ("N",)),
    ),
    outputs=(Output("out", ("M", "N"), like="x"),),
    fold="M",
    inplace=("x",),
    preserve_strides=True,
    variants={
        (): Variant(_plan, reference),
    },
)


def dyt(
    x: torch.Tensor,
    alpha: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> torch.Tensor:
    """Dynamic tanh, which stands in for a norm; alpha is learned (Zhu et al., arXiv:2503.10622).

    Args:
        x: [M, N], floats.
        alpha: [], floats.
        weight: [N], floats.
        bias: [N], floats.
        out: where to write out.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time all configs for these shapes, and remember the fastest.

    Returns:
        out: [M, N], the type of x.
        M may stand for several dimensions.
    """
    tensors = (x, alpha, weight, bias)
    params = ()
    return OP(tensors, params, out, backend, autotune)
