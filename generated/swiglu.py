"""SwiGLU after its two products (Shazeer, arXiv:2002.05202).

gate and up may be the halves of one tensor: strides are free.

Built by tilegen 0.1.0 from specs/swiglu.py (spec b6209388, templates d13e90b1).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 3*N*e bytes (e: bytes of an element)
Work: 5*N flops, 2*N of them exponentials, roots and quotients
Bound: memory on every target
Eager PyTorch: 3 kernels, 2.7 times the bytes
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
    sigmoid,
    tile_shape,
    widen,
)

_FLAT_1 = (
    Config(TILE=512, num_warps=2),  # 0 B shared, 32 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 32 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=8),  # 0 B shared, 32 registers on sm_90, else unproven
)
_FLAT_2 = (
    Config(TILE=512, num_warps=4),  # 0 B shared, 22 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 0 B shared, 22 registers on sm_90, else unproven
)
_FLAT_3 = (
    Config(TILE=512, num_warps=8),  # 0 B shared, 37 registers on sm_90, else unproven
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
    Config(TILE=1024, num_warps=1),  # 0 B shared, 62 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 0 B shared, 32 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 31 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=1),  # 0 B shared, 62 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 0 B shared, 32 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 0 B shared, 31 registers on sm_90, else unproven
)
_TILED_2 = (
    Config(TILE=1024, num_warps=1),  # 0 B shared, 54 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 0 B shared, 37 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 26 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 0 B shared, 27 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 0 B shared, 37 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 0 B shared, 26 registers on sm_90, else unproven
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
    Config(TILE=512, num_warps=2),  # 0 B shared, 32 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 32 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=8),  # 0 B shared, 32 registers on sm_90, else unproven
)
_BACKWARD_FLAT_2 = (
    Config(TILE=512, num_warps=4),  # 0 B shared, 30 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 0 B shared, 30 registers on sm_90, else unproven
)
_BACKWARD_FLAT_3 = (
    Config(TILE=512, num_warps=8),  # 0 B shared, 40 registers on sm_90, else unproven
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
    Config(TILE=1024, num_warps=1),  # 0 B shared, 64 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 0 B shared, 46 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 32 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=1),  # 0 B shared, 64 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 0 B shared, 46 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 0 B shared, 32 registers on sm_90, else unproven
)
_BACKWARD_TILED_2 = (
    Config(TILE=1024, num_warps=1),  # 0 B shared, 48 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 0 B shared, 32 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 24 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 0 B shared, 18 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 0 B shared, 32 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 0 B shared, 24 registers on sm_90, else unproven
)
_BACKWARD_TILED_3 = (
    Config(TILE=1024, num_warps=2),  # 0 B shared, 40 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 30 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 0 B shared, 30 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 0 B shared, 30 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=8),  # 0 B shared, 30 registers on sm_90, else unproven
    Config(TILE=4096, num_warps=8),  # 0 B shared, 30 registers on sm_90, else unproven
)
_BACKWARD_TILED_4 = (
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
    (("gfx90a", "gfx942", "gfx950"), (4,), _BACKWARD_TILED_1),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (4,), _BACKWARD_TILED_2),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BACKWARD_TILED_2),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BACKWARD_TILED_3),
    (("gfx90a", "gfx942", "gfx950"), (1, 2), _BACKWARD_TILED_4),
)


# Loads: "evict_last" keeps what a kernel reads in L2 over what it writes, and a row until its last
# sweep, which is "evict_first". On an H200 that is 2 to 10 percent of the copy rate.
@triton.jit
def _swiglu_flat(
    gate_ptr,
    up_ptr,
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

    gate = tl.load(gate_ptr + offsets, mask=inside, other=0.0, eviction_policy="evict_last").to(
        FLOAT
    )
    up = tl.load(up_ptr + offsets, mask=inside, other=0.0, eviction_policy="evict_last").to(FLOAT)
    # return silu(gate) * up
    tl.store(
        out_ptr + offsets, narrow(gate * sigmoid(gate) * up, out_ptr.dtype.element_ty), mask=inside
    )


@triton.jit
def _swiglu_tiled(
    gate_ptr,
    up_ptr,
    out_ptr,
    SIZE_1,
    SIZE_2,
    SIZE_3,
    gate_0,
    gate_1,
    gate_2,
    gate_3,
    up_0,
    up_1,
    up_2,
    up_3,
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
    gate_axes = gate_ptr + axis_0 * gate_0 + axis_1 * gate_1
    up_axes = up_ptr + axis_0 * up_0 + axis_1 * up_1
    out_axes = out_ptr + axis_0 * out_0 + axis_1 * out_1

    gate = tl.load(
        gate_axes + axis_2 * gate_2 + axis_3 * gate_3,
        mask=inside,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    up = tl.load(
        up_axes + axis_2 * up_2 + axis_3 * up_3,
        mask=inside,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # return silu(gate) * up
    tl.store(
        out_axes + axis_2 * out_2 + axis_3 * out_3,
        narrow(gate * sigmoid(gate) * up, out_ptr.dtype.element_ty),
        mask=inside,
    )


@triton.jit
def _swiglu_backward_flat(
    gate_ptr,
    up_ptr,
    grad_out_ptr,
    grad_gate_ptr,
    grad_up_ptr,
    NUMEL,
    BLOCK: tl.constexpr,
    EVEN: tl.constexpr,
    NEEDS_GRAD_GATE: tl.constexpr,
    NEEDS_GRAD_UP: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program computes BLOCK neighbouring elements of contiguous tensors."""
    start = tl.program_id(0).to(INT) * BLOCK
    offsets = start + tl.arange(0, BLOCK)
    inside = below(offsets, NUMEL, EVEN)

    grad_out = tl.load(
        grad_out_ptr + offsets, mask=inside, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    up = tl.load(up_ptr + offsets, mask=inside, other=0.0, eviction_policy="evict_last").to(FLOAT)
    gate = tl.load(gate_ptr + offsets, mask=inside, other=0.0, eviction_policy="evict_last").to(
        FLOAT
    )
    # return silu(gate) * up
    value = grad_out * up
    value_2 = sigmoid(gate)
    grad_gate = value * value_2 + value * gate * (value_2 * (1.0 - value_2))
    grad_up = grad_out * (gate * value_2)
    if NEEDS_GRAD_GATE:
        tl.store(
            grad_gate_ptr + offsets, narrow(grad_gate, grad_gate_ptr.dtype.element_ty), mask=inside
        )
    if NEEDS_GRAD_UP:
        tl.store(grad_up_ptr + offsets, narrow(grad_up, grad_up_ptr.dtype.element_ty), mask=inside)


@triton.jit
def _swiglu_backward_tiled(
    gate_ptr,
    up_ptr,
    grad_out_ptr,
    grad_gate_ptr,
    grad_up_ptr,
    SIZE_1,
    SIZE_2,
    SIZE_3,
    grad_out_0,
    grad_out_1,
    grad_out_2,
    grad_out_3,
    up_0,
    up_1,
    up_2,
    up_3,
    gate_0,
    gate_1,
    gate_2,
    gate_3,
    grad_gate_0,
    grad_gate_1,
    grad_gate_2,
    grad_gate_3,
    grad_up_0,
    grad_up_1,
    grad_up_2,
    grad_up_3,
    BLOCK_0: tl.constexpr,
    BLOCK_1: tl.constexpr,
    EVEN_0: tl.constexpr,
    EVEN_1: tl.constexpr,
    NEEDS_GRAD_GATE: tl.constexpr,
    NEEDS_GRAD_UP: tl.constexpr,
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
    up_axes = up_ptr + axis_0 * up_0 + axis_1 * up_1
    gate_axes = gate_ptr + axis_0 * gate_0 + axis_1 * gate_1
    grad_gate_axes = grad_gate_ptr + axis_0 * grad_gate_0 + axis_1 * grad_gate_1
    grad_up_axes = grad_up_ptr + axis_0 * grad_up_0 + axis_1 * grad_up_1

    grad_out = tl.load(
        grad_out_axes + axis_2 * grad_out_2 + axis_3 * grad_out_3,
        mask=inside,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    up = tl.load(
        up_axes + axis_2 * up_2 + axis_3 * up_3,
        mask=inside,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    gate = tl.load(
        gate_axes + axis_2 * gate_2 + axis_3 * gate_3,
        mask=inside,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # return silu(gate) * up
    value = grad_out * up
    value_2 = sigmoid(gate)
    grad_gate = value * value_2 + value * gate * (value_2 * (1.0 - value_2))
    grad_up = grad_out * (gate * value_2)
    if NEEDS_GRAD_GATE:
        tl.store(
            grad_gate_axes + axis_2 * grad_gate_2 + axis_3 * grad_gate_3,
            narrow(grad_gate, grad_gate_ptr.dtype.element_ty),
            mask=inside,
        )
    if NEEDS_GRAD_UP:
        tl.store(
            grad_up_axes + axis_2 * grad_up_2 + axis_3 * grad_up_3,
            narrow(grad_up, grad_up_ptr.dtype.element_ty),
            mask=inside,
        )


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""

    axes = call.axes(("N",), limit=4, reorder=True)

    if axes.flat(("gate", "up", "out")) and call.takes("flat"):

        def flat_time(config: Config) -> float:
            work = Work(reads=2, writes=1, flops=5, special=2, held_wide=2)
            return flat_cost(config, call.target, work, call.element_size, axes.total)

        config = call.choose(FLAT_CONFIGS, flat_time)
        block = config["TILE"]
        return Launch(
            Step(
                _swiglu_flat,
                grid=(cdiv(axes.total, block),),
                tensors=("gate", "up", "out"),
                integers=(axes.total,),
                constants={"BLOCK": block, "EVEN": axes.total % block == 0},
                config=config,
            )
        )

    axes = call.axes(("N",), limit=4)
    height, length = axes.sizes[2:]
    outer = axes.sizes[0] * axes.sizes[1]

    def tiled_time(config: Config) -> float:
        work = Work(reads=2, writes=1, flops=5, special=2, held_wide=2)
        return flat_cost(config, call.target, work, call.element_size, outer * height * length)

    config = call.choose(TILED_CONFIGS, tiled_time)
    block_0, block_1 = tile_shape(
        axes.crossed(-2), height, length, config["TILE"], call.element_size
    )
    tiles = cdiv(height, block_0) * cdiv(length, block_1)
    return Launch(
        Step(
            _swiglu_tiled,
            grid=(outer * tiles,),
            tensors=("gate", "up", "out"),
            integers=(
                *axes.sizes[1:],
                *axes.strides("gate"),
                *axes.strides("up"),
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


def _plan_backward(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""

    axes = call.axes(("N",), limit=4, reorder=True)

    if axes.flat(("gate", "up", "grad_out", "grad_gate", "grad_up")) and call.takes("flat"):

        def flat_time(config: Config) -> float:
            work = Work(reads=3, writes=2, flops=12, special=2, held=3, held_wide=4)
            return flat_cost(config, call.target, work, call.element_size, axes.total)

        config = call.choose(BACKWARD_FLAT_CONFIGS, flat_time)
        block = config["TILE"]
        return Launch(
            Step(
                _swiglu_backward_flat,
                grid=(cdiv(axes.total, block),),
                tensors=("gate", "up", "grad_out", "grad_gate", "grad_up"),
                integers=(axes.total,),
                constants={
                    "BLOCK": block,
                    "EVEN": axes.total % block == 0,
                    "NEEDS_GRAD_GATE": call.needs("grad_gate"),
                    "NEEDS_GRAD_UP": call.needs("grad_up"),
                },
                config=config,
            )
        )

    axes = call.axes(("N",), limit=4)
    height, length = axes.sizes[2:]
    outer = axes.sizes[0] * axes.sizes[1]

    def tiled_time(config: Config) -> float:
        work = Work(reads=3, writes=2, flops=12, special=2, held=3, held_wide=4)
        return flat_cost(config, call.target, work, call.element_size, outer * height * length)

    config = call.choose(BACKWARD_TILED_CONFIGS, tiled_time)
    block_0, block_1 = tile_shape(
        axes.crossed(-2), height, length, config["TILE"], call.element_size
    )
    tiles = cdiv(height, block_0) * cdiv(length, block_1)
    return Launch(
        Step(
            _swiglu_backward_tiled,
            grid=(outer * tiles,),
            tensors=("gate", "up", "grad_out", "grad_gate", "grad_up"),
            integers=(
                *axes.sizes[1:],
                *axes.strides("grad_out"),
                *axes.strides("up"),
                *axes.strides("gate"),
                *axes.strides("grad_gate"),
                *axes.strides("grad_up"),
            ),
            constants={
                "BLOCK_0": block_0,
                "BLOCK_1": block_1,
                "EVEN_0": height % block_0 == 0,
                "EVEN_1": length % block_1 == 0,
                "NEEDS_GRAD_GATE": call.needs("grad_gate"),
                "NEEDS_GRAD_UP": call.needs("grad_up"),
            },
            config=config,
        )
    )


def reference(gate, up, *, compute):
    """SwiGLU after its two products (Shazeer, arXiv:2002.05202).

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    gate = widen(gate, compute)
    up = widen(up, compute)
    return gate * torch.sigmoid(gate) * up


def reference_backward(gate, up, grad_out, *, compute):
    """The gradient of `reference`, as the kernels compute it."""
    gate = widen(gate, compute)
    up = widen(up, compute)
    grad_out = widen(grad_out, compute)
    # return silu(gate) * up
    value = grad_out * up
    value_2 = torch.sigmoid(gate)
    grad_gate = value * value_2 + value * gate * (value_2 * (1.0 - value_2))
    grad_up = grad_out * (gate * value_2)
    return grad_gate, grad_up


BACKWARD = Op(
    name="swiglu_backward",
    spec_hash="b6209388",
    inputs=(Operand("gate", ("N",)), Operand("up", ("N",)), Operand("grad_out", ("N",))),
    outputs=(Output("grad_gate", ("N",), like="gate"), Output("grad_up", ("N",), like="up")),
    fold="N",
    shards={"N": ()},
    partial=True,
    variants={
        (): Variant(_plan_backward, reference_backward),
    },
)
OP = Op(
    name="swiglu",
    spec_hash="b6209388",
    inputs=(Operand("gate", ("N",)), Operand("up", ("N",))),
    outputs=(Output("out", ("N",), like="gate"),),
    fold="N",
    inplace=("gate", "up"),
    preserve_strides=True,
    shards={"N": ()},
    gradients=Gradients({"out": "grad_out"}, BACKWARD),
    variants={
        (): Variant(_plan, reference, gradients={"gate": "grad_gate", "up": "grad_up"}),
    },
)


def swiglu(
    gate: torch.Tensor,
    up: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> torch.Tensor:
    """SwiGLU after its two products (Shazeer, arXiv:2002.05202).

    gate and up may be the halves of one tensor: strides are free.

    Args:
        gate: [N], floats.
        up: [N], floats.
        out: where to write out.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        out: [N], the type of gate.
        N may stand for several dimensions.
    """
    tensors = (gate, up)
    params = ()
    return OP(tensors, params, out, backend, autotune)
