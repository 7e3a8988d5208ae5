"""Add two tensors of one shape.

Built by tilegen 0.1.0 from specs/vector_add.py (spec 0ff9e01d, templates d13e90b1).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 3*N*e bytes (e: bytes of an element)
Work: N flops
Bound: memory on every target
Eager PyTorch: one kernel, 1.0 times the bytes
"""

import torch
import triton
import triton.language as tl

from ._runtime import (
    Call,
    Config,
    Gradients,
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

_FLAT_1 = (
    Config(TILE=512, num_warps=2),  # 0 B shared, 25 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 25 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=8),  # 0 B shared, 25 registers on sm_90, else unproven
)
_FLAT_2 = (
    Config(TILE=512, num_warps=4),  # 0 B shared, 22 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 0 B shared, 22 registers on sm_90, else unproven
)
_FLAT_3 = (
    Config(TILE=512, num_warps=8),  # 0 B shared, 22 registers on sm_90, else unproven
)
_FLAT_4 = (
    Config(TILE=512, num_warps=1),  # 0 B shared, unproven
    Config(TILE=1024, num_warps=2),  # 0 B shared, unproven
    Config(TILE=2048, num_warps=4),  # 0 B shared, unproven
    Config(TILE=4096, num_warps=8),  # 0 B shared, unproven
)
#: Neighbouring elements of contiguous tensors, TILE to a program; by architecture class and element size in bytes.
FLAT_CONFIGS = by_class(
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2), _FLAT_1),
    (("gfx90a", "gfx942", "gfx950"), (4,), _FLAT_1),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (4,), _FLAT_2),
    (("gfx90a", "gfx942", "gfx950"), (8,), _FLAT_2),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _FLAT_3),
    (("gfx90a", "gfx942", "gfx950"), (1, 2), _FLAT_4),
)

_TILED_1 = (
    Config(TILE=1024, num_warps=1),  # 0 B shared, 48 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 0 B shared, 31 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 24 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=1),  # 0 B shared, 48 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 0 B shared, 31 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 0 B shared, 24 registers on sm_90, else unproven
)
_TILED_2 = (
    Config(TILE=1024, num_warps=1),  # 0 B shared, 30 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 0 B shared, 20 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 16 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 0 B shared, 18 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 0 B shared, 20 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 0 B shared, 16 registers on sm_90, else unproven
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


# Loads: "evict_last" keeps what a kernel reads in L2 over what it writes, and a row until its last
# sweep, which is "evict_first". On an H200 that is 2 to 10 percent of the copy rate.
@triton.jit
def _vector_add_flat(
    x_ptr,
    y_ptr,
    out_ptr,
    NUMEL,
    BLOCK: tl.constexpr,
    EVEN: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program computes BLOCK neighbouring elements of contiguous tensors."""
    start = tl.program_id(0).to(INT) * BLOCK
    offsets = start + tl.arange(0, BLOCK)
    inside = below(offsets, NUMEL, EVEN)

    x = tl.load(x_ptr + offsets, mask=inside, other=0.0, eviction_policy="evict_last").to(FLOAT)
    y = tl.load(y_ptr + offsets, mask=inside, other=0.0, eviction_policy="evict_last").to(FLOAT)
    # return x + y
    tl.store(out_ptr + offsets, narrow(x + y, out_ptr.dtype.element_ty), mask=inside)


@triton.jit
def _vector_add_tiled(
    x_ptr,
    y_ptr,
    out_ptr,
    SIZE_1,
    SIZE_2,
    SIZE_3,
    x_0,
    x_1,
    x_2,
    x_3,
    y_0,
    y_1,
    y_2,
    y_3,
    out_0,
    out_1,
    out_2,
    out_3,
    BLOCK_0: tl.constexpr,
    BLOCK_1: tl.constexpr,
    EVEN_0: tl.constexpr,
    EVEN_1: tl.constexpr,
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
    inside = below(axis_2, SIZE_2, EVEN_0) & below(axis_3, SIZE_3, EVEN_1)
    x_axes = x_ptr + axis_0 * x_0 + axis_1 * x_1
    y_axes = y_ptr + axis_0 * y_0 + axis_1 * y_1
    out_axes = out_ptr + axis_0 * out_0 + axis_1 * out_1

    x = tl.load(
        x_axes + axis_2 * x_2 + axis_3 * x_3, mask=inside, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    y = tl.load(
        y_axes + axis_2 * y_2 + axis_3 * y_3, mask=inside, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    # return x + y
    tl.store(
        out_axes + axis_2 * out_2 + axis_3 * out_3,
        narrow(x + y, out_ptr.dtype.element_ty),
        mask=inside,
    )


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""

    axes = call.axes(("N",), limit=4, reorder=True)

    if axes.flat(("x", "y", "out")) and call.takes("flat"):

        def flat_time(config: Config) -> float:
            work = Work(reads=2, writes=1, flops=1, held_wide=2)
            return flat_cost(config, call.target, work, call.element_size, axes.total)

        config = call.choose(FLAT_CONFIGS, flat_time)
        block = config["TILE"]
        return Launch(
            Step(
                _vector_add_flat,
                grid=(cdiv(axes.total, block),),
                tensors=("x", "y", "out"),
                integers=(axes.total,),
                constants={"BLOCK": block, "EVEN": axes.total % block == 0},
                config=config,
            )
        )

    axes = call.axes(("N",), limit=4)
    height, length = axes.sizes[2:]
    outer = axes.sizes[0] * axes.sizes[1]

    def tiled_time(config: Config) -> float:
        work = Work(reads=2, writes=1, flops=1, held_wide=2)
        return flat_cost(config, call.target, work, call.element_size, outer * height * length)

    config = call.choose(TILED_CONFIGS, tiled_time)
    block_0, block_1 = tile_shape(
        axes.crossed(-2), height, length, config["TILE"], call.element_size
    )
    tiles = cdiv(height, block_0) * cdiv(length, block_1)
    return Launch(
        Step(
            _vector_add_tiled,
            grid=(outer * tiles,),
            tensors=("x", "y", "out"),
            integers=(
                *axes.sizes[1:],
                *axes.strides("x"),
                *axes.strides("y"),
                *axes.strides("out"),
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


def reference(x, y, *, compute):
    """Add two tensors of one shape.

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x = widen(x, compute)
    y = widen(y, compute)
    return x + y


OP = Op(
    name="vector_add",
    spec_hash="0ff9e01d",
    inputs=(Operand("x", ("N",)), Operand("y", ("N",))),
    outputs=(Output("out", ("N",), like="x"),),
    fold="N",
    inplace=("x", "y"),
    preserve_strides=True,
    shards={"N": ()},
    gradients=Gradients({"out": "grad_out"}),
    variants={
        (): Variant(_plan, reference, gradients={"x": "grad_out", "y": "grad_out"}),
    },
)


def vector_add(
    x: torch.Tensor,
    y: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> torch.Tensor:
    """Add two tensors of one shape.

    Args:
        x: [N], floats.
        y: [N], floats.
        out: where to write out.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        out: [N], the type of x.
        N may stand for several dimensions.
    """
    tensors = (x, y)
    params = ()
    return OP(tensors, params, out, backend, autotune)
