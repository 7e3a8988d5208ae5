"""Drop elements with probability rate, scale up the rest, add the residual.

The mask is a function of the seed and the position alone, so that a backward can draw it again.

Built by tilegen 0.1.0 from specs/dropout_residual_add.py (spec 0b10f04d, templates d13e90b1).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 3*N*e + i bytes (e: bytes of an element, i: bytes of an index)
Work: 34*N flops, N of them exponentials, roots and quotients
Bound: memory on every target
Eager PyTorch: 5 kernels, 3.3 times the bytes
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
    Param,
    Step,
    Variant,
    Work,
    below,
    by_class,
    cdiv,
    flat_cost,
    narrow,
    positions,
    scalar,
    tile_shape,
    uniform,
    uniform_line,
    uniform_reference,
    widen,
)

_FLAT_1 = (
    Config(TILE=512, num_warps=2),  # 0 B shared, 27 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 27 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=8),  # 0 B shared, 27 registers on sm_90, else unproven
)
_FLAT_2 = (
    Config(TILE=512, num_warps=4),  # 0 B shared, 22 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 0 B shared, 22 registers on sm_90, else unproven
)
_FLAT_3 = (
    Config(TILE=512, num_warps=8),  # 1024 B shared, 32 registers on sm_90, else unproven
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
    Config(TILE=1024, num_warps=1),  # 0 B shared, 127 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 0 B shared, 77 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 48 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=1),  # 0 B shared, 127 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 0 B shared, 77 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 0 B shared, 48 registers on sm_90, else unproven
)
_TILED_2 = (
    Config(TILE=1024, num_warps=1),  # 0 B shared, 52 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 0 B shared, 34 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 28 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 0 B shared, 29 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 0 B shared, 34 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 0 B shared, 28 registers on sm_90, else unproven
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

_BACKWARD_FLAT_1 = (
    Config(TILE=512, num_warps=2),  # 0 B shared, 28 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 28 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=8),  # 0 B shared, 28 registers on sm_90, else unproven
)
_BACKWARD_FLAT_2 = (
    Config(TILE=512, num_warps=4),  # 0 B shared, 20 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 0 B shared, 20 registers on sm_90, else unproven
)
_BACKWARD_FLAT_3 = (
    Config(TILE=512, num_warps=8),  # 1024 B shared, 30 registers on sm_90, else unproven
)
_BACKWARD_FLAT_4 = (
    Config(TILE=512, num_warps=1),  # 0 B shared, unproven
    Config(TILE=1024, num_warps=2),  # 0 B shared, unproven
    Config(TILE=2048, num_warps=4),  # 0 B shared, unproven
    Config(TILE=4096, num_warps=8),  # 0 B shared, unproven
)
#: Neighbouring elements of contiguous tensors, TILE to a program; by architecture class and element size in bytes.
BACKWARD_FLAT_CONFIGS = by_class(
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2), _BACKWARD_FLAT_1),
    (("gfx90a", "gfx942", "gfx950"), (4,), _BACKWARD_FLAT_1),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (4,), _BACKWARD_FLAT_2),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BACKWARD_FLAT_2),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BACKWARD_FLAT_3),
    (("gfx90a", "gfx942", "gfx950"), (1, 2), _BACKWARD_FLAT_4),
)

_BACKWARD_TILED_1 = (
    Config(TILE=1024, num_warps=1),  # 0 B shared, 158 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 0 B shared, 85 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 47 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=1),  # 0 B shared, 158 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 0 B shared, 85 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 0 B shared, 47 registers on sm_90, else unproven
)
_BACKWARD_TILED_2 = (
    Config(TILE=1024, num_warps=1),  # 0 B shared, 44 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 0 B shared, 32 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 27 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 0 B shared, 28 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 0 B shared, 32 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 0 B shared, 27 registers on sm_90, else unproven
)
_BACKWARD_TILED_3 = (
    Config(TILE=1024, num_warps=1),  # at most 4096 B shared, unproven
    Config(TILE=1024, num_warps=2),  # at most 4096 B shared, unproven
    Config(TILE=2048, num_warps=1),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=2),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=1),  # at most 16384 B shared, unproven
)
#: Tiles of TILE elements over strided axes; by architecture class and element size in bytes.
BACKWARD_TILED_CONFIGS = by_class(
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2), _BACKWARD_TILED_1),
    (
        ("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120", "gfx90a", "gfx942", "gfx950"),
        (4,),
        _BACKWARD_TILED_1,
    ),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BACKWARD_TILED_1),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BACKWARD_TILED_2),
    (("gfx90a", "gfx942", "gfx950"), (1, 2), _BACKWARD_TILED_3),
)


# Loads: "evict_last" keeps what a kernel reads in L2 over what it writes, and a row until its last
# sweep, which is "evict_first". On an H200 that is 2 to 10 percent of the copy rate.
@triton.jit
def _dropout_residual_add_flat(
    x_ptr,
    residual_ptr,
    seed_ptr,
    out_ptr,
    NUMEL,
    rate,
    BLOCK: tl.constexpr,
    EVEN: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program computes BLOCK neighbouring elements of contiguous tensors."""
    start = tl.program_id(0).to(INT) * BLOCK
    offsets = start + tl.arange(0, BLOCK)
    inside = below(offsets, NUMEL, EVEN)
    rate = scalar(rate, FLOAT)

    residual = tl.load(
        residual_ptr + offsets, mask=inside, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    seed = tl.load(seed_ptr)
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0, eviction_policy="evict_last").to(FLOAT)
    # keep = uniform(seed, N) >= rate
    uniforms = uniform_line(seed, start, BLOCK)
    keep = uniforms >= rate
    # kept = where(keep, x / (1.0 - rate), 0.0)
    kept = tl.where(keep, x / (1.0 - rate), 0.0)
    # return residual + kept
    tl.store(out_ptr + offsets, narrow(residual + kept, out_ptr.dtype.element_ty), mask=inside)


@triton.jit
def _dropout_residual_add_tiled(
    x_ptr,
    residual_ptr,
    seed_ptr,
    out_ptr,
    SIZE_1,
    SIZE_2,
    SIZE_3,
    residual_0,
    residual_1,
    residual_2,
    residual_3,
    x_0,
    x_1,
    x_2,
    x_3,
    out_0,
    out_1,
    out_2,
    out_3,
    rate,
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
    residual_axes = residual_ptr + axis_0 * residual_0 + axis_1 * residual_1
    x_axes = x_ptr + axis_0 * x_0 + axis_1 * x_1
    out_axes = out_ptr + axis_0 * out_0 + axis_1 * out_1

    rate = scalar(rate, FLOAT)

    residual = tl.load(
        residual_axes + axis_2 * residual_2 + axis_3 * residual_3,
        mask=inside,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    seed = tl.load(seed_ptr)
    x = tl.load(
        x_axes + axis_2 * x_2 + axis_3 * x_3, mask=inside, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    # keep = uniform(seed, N) >= rate
    uniforms = uniform(seed, ((axis_0 * SIZE_1 + axis_1) * SIZE_2 + axis_2) * SIZE_3 + axis_3)
    keep = uniforms >= rate
    # kept = where(keep, x / (1.0 - rate), 0.0)
    kept = tl.where(keep, x / (1.0 - rate), 0.0)
    # return residual + kept
    tl.store(
        out_axes + axis_2 * out_2 + axis_3 * out_3,
        narrow(residual + kept, out_ptr.dtype.element_ty),
        mask=inside,
    )


@triton.jit
def _dropout_residual_add_backward_flat(
    seed_ptr,
    grad_out_ptr,
    grad_x_ptr,
    NUMEL,
    rate,
    BLOCK: tl.constexpr,
    EVEN: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program computes BLOCK neighbouring elements of contiguous tensors."""
    start = tl.program_id(0).to(INT) * BLOCK
    offsets = start + tl.arange(0, BLOCK)
    inside = below(offsets, NUMEL, EVEN)
    rate = scalar(rate, FLOAT)

    seed = tl.load(seed_ptr)
    grad_out = tl.load(
        grad_out_ptr + offsets, mask=inside, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    # keep = uniform(seed, N) >= rate
    uniforms = uniform_line(seed, start, BLOCK)
    keep = uniforms >= rate
    grad_x = tl.where(keep, grad_out, 0.0) / (1.0 - rate)
    tl.store(grad_x_ptr + offsets, narrow(grad_x, grad_x_ptr.dtype.element_ty), mask=inside)


@triton.jit
def _dropout_residual_add_backward_tiled(
    seed_ptr,
    grad_out_ptr,
    grad_x_ptr,
    SIZE_1,
    SIZE_2,
    SIZE_3,
    grad_out_0,
    grad_out_1,
    grad_out_2,
    grad_out_3,
    grad_x_0,
    grad_x_1,
    grad_x_2,
    grad_x_3,
    rate,
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
    grad_out_axes = grad_out_ptr + axis_0 * grad_out_0 + axis_1 * grad_out_1
    grad_x_axes = grad_x_ptr + axis_0 * grad_x_0 + axis_1 * grad_x_1

    rate = scalar(rate, FLOAT)

    seed = tl.load(seed_ptr)
    grad_out = tl.load(
        grad_out_axes + axis_2 * grad_out_2 + axis_3 * grad_out_3,
        mask=inside,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # keep = uniform(seed, N) >= rate
    uniforms = uniform(seed, ((axis_0 * SIZE_1 + axis_1) * SIZE_2 + axis_2) * SIZE_3 + axis_3)
    keep = uniforms >= rate
    grad_x = tl.where(keep, grad_out, 0.0) / (1.0 - rate)
    tl.store(
        grad_x_axes + axis_2 * grad_x_2 + axis_3 * grad_x_3,
        narrow(grad_x, grad_x_ptr.dtype.element_ty),
        mask=inside,
    )


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""

    axes = call.axes(("N",), limit=4)

    if axes.flat(("x", "residual", "out")) and call.takes("flat"):

        def flat_time(config: Config) -> float:
            work = Work(reads=2, writes=1, flops=34, special=1, held=2, held_wide=3)
            return flat_cost(config, call.target, work, call.element_size, axes.total)

        config = call.choose(FLAT_CONFIGS, flat_time)
        block = config["TILE"]
        return Launch(
            Step(
                _dropout_residual_add_flat,
                grid=(cdiv(axes.total, block),),
                tensors=("x", "residual", "seed", "out"),
                integers=(axes.total,),
                params=("rate",),
                constants={"BLOCK": block, "EVEN": axes.total % block == 0},
                config=config,
            )
        )

    axes = call.axes(("N",), limit=4)
    height, length = axes.sizes[2:]
    outer = axes.sizes[0] * axes.sizes[1]

    def tiled_time(config: Config) -> float:
        work = Work(reads=2, writes=1, flops=117, special=1, held=2, held_wide=3)
        return flat_cost(config, call.target, work, call.element_size, outer * height * length)

    config = call.choose(TILED_CONFIGS, tiled_time)
    block_0, block_1 = tile_shape(
        axes.crossed(-2), height, length, config["TILE"], call.element_size
    )
    tiles = cdiv(height, block_0) * cdiv(length, block_1)
    return Launch(
        Step(
            _dropout_residual_add_tiled,
            grid=(outer * tiles,),
            tensors=("x", "residual", "seed", "out"),
            integers=(
                *axes.sizes[1:],
                *axes.strides("residual"),
                *axes.strides("x"),
                *axes.strides("out"),
            ),
            params=("rate",),
            constants={
                "BLOCK_0": block_0,
                "BLOCK_1": block_1,
                "EVEN_0": height % block_0 == 0,
                "EVEN_1": length % block_1 == 0,
            },
            config=config,
        )
    )


def _plan_backward(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""

    axes = call.axes(("N",), limit=4)

    if axes.flat(("x", "grad_out", "grad_x")) and call.takes("flat"):

        def flat_time(config: Config) -> float:
            work = Work(reads=1, writes=1, flops=33, special=1, held=1.5, held_wide=2)
            return flat_cost(config, call.target, work, call.element_size, axes.total)

        config = call.choose(BACKWARD_FLAT_CONFIGS, flat_time)
        block = config["TILE"]
        return Launch(
            Step(
                _dropout_residual_add_backward_flat,
                grid=(cdiv(axes.total, block),),
                tensors=("seed", "grad_out", "grad_x"),
                integers=(axes.total,),
                params=("rate",),
                constants={"BLOCK": block, "EVEN": axes.total % block == 0},
                config=config,
            )
        )

    axes = call.axes(("N",), limit=4)
    height, length = axes.sizes[2:]
    outer = axes.sizes[0] * axes.sizes[1]

    def tiled_time(config: Config) -> float:
        work = Work(reads=1, writes=1, flops=116, special=1, held=1.5, held_wide=2)
        return flat_cost(config, call.target, work, call.element_size, outer * height * length)

    config = call.choose(BACKWARD_TILED_CONFIGS, tiled_time)
    block_0, block_1 = tile_shape(
        axes.crossed(-2), height, length, config["TILE"], call.element_size
    )
    tiles = cdiv(height, block_0) * cdiv(length, block_1)
    return Launch(
        Step(
            _dropout_residual_add_backward_tiled,
            grid=(outer * tiles,),
            tensors=("seed", "grad_out", "grad_x"),
            integers=(*axes.sizes[1:], *axes.strides("grad_out"), *axes.strides("grad_x")),
            params=("rate",),
            constants={
                "BLOCK_0": block_0,
                "BLOCK_1": block_1,
                "EVEN_0": height % block_0 == 0,
                "EVEN_1": length % block_1 == 0,
            },
            config=config,
        )
    )


def reference(x, residual, seed, rate, *, compute):
    """Drop elements with probability rate, scale up the rest, add the residual.

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    N = x.shape[0]
    x = widen(x, compute)
    residual = widen(residual, compute)
    # keep = uniform(seed, N) >= rate
    keep = uniform_reference(seed, positions(x.device, N)).to(compute or torch.float32) >= rate
    # kept = where(keep, x / (1.0 - rate), 0.0)
    kept = torch.where(keep, x / (1.0 - rate), 0.0)
    return residual + kept


def reference_backward(x, seed, grad_out, rate, *, compute):
    """The gradient of `reference`, as the kernels compute it."""
    N = x.shape[0]
    grad_out = widen(grad_out, compute)
    # keep = uniform(seed, N) >= rate
    keep = uniform_reference(seed, positions(x.device, N)).to(compute or torch.float32) >= rate
    grad_x = torch.where(keep, grad_out, 0.0) / (1.0 - rate)
    return grad_x


BACKWARD = Op(
    name="dropout_residual_add_backward",
    spec_hash="0b10f04d",
    inputs=(Operand("x", ("N",)), Operand("seed", (), kind="int"), Operand("grad_out", ("N",))),
    params=(Param("rate", "float", 0.1),),
    outputs=(Output("grad_x", ("N",), like="x"),),
    fold="N",
    partial=True,
    variants={
        (): Variant(_plan_backward, reference_backward),
    },
)
OP = Op(
    name="dropout_residual_add",
    spec_hash="0b10f04d",
    inputs=(Operand("x", ("N",)), Operand("residual", ("N",)), Operand("seed", (), kind="int")),
    params=(Param("rate", "float", 0.1),),
    outputs=(Output("out", ("N",), like="x"),),
    fold="N",
    inplace=("x", "residual"),
    positional=True,
    gradients=Gradients({"out": "grad_out"}, BACKWARD, alike=("x",)),
    variants={
        (): Variant(_plan, reference, gradients={"x": "grad_x", "residual": "grad_out"}),
    },
)


def dropout_residual_add(
    x: torch.Tensor,
    residual: torch.Tensor,
    seed: torch.Tensor,
    rate: float = 0.1,
    *,
    out: torch.Tensor | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> torch.Tensor:
    """Drop elements with probability rate, scale up the rest, add the residual.

    The mask is a function of the seed and the position alone, so that a backward can draw it again.

    Args:
        x: [N], floats.
        residual: [N], floats.
        seed: [], integers.
        rate: float.
        out: where to write out.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        out: [N], the type of x.
        N may stand for several dimensions.
    """
    tensors = (x, residual, seed)
    params = (rate,)
    return OP(tensors, params, out, backend, autotune)
