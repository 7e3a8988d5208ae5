"""GELU by the error function (Hendrycks and Gimpel, arXiv:1606.08415).

Built by tilegen 0.1.0 from specs/gelu_erf.py (spec aa1c54ce, templates d13e90b1).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 2*N*e bytes (e: bytes of an element)
Work: 12*N flops, N of them exponentials, roots and quotients
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
    erf,
    exact_gelu,
    exp,
    flat_cost,
    narrow,
    tile_shape,
    widen,
)

_FLAT_1 = (
    Config(TILE=512, num_warps=2),  # 0 B shared, 31 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 31 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=8),  # 0 B shared, 31 registers on sm_90, else unproven
)
_FLAT_2 = (
    Config(TILE=512, num_warps=4),  # 0 B shared, 20 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 0 B shared, 20 registers on sm_90, else unproven
)
_FLAT_3 = (
    Config(TILE=512, num_warps=8),  # 0 B shared, 30 registers on sm_90, else unproven
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
        (4, 8),
        _TILED_1,
    ),
    (("gfx90a", "gfx942", "gfx950"), (1, 2), _TILED_2),
)

_BACKWARD_FLAT_1 = (
    Config(TILE=512, num_warps=2),  # 0 B shared, 40 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 40 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=8),  # 0 B shared, 40 registers on sm_90, else unproven
)
_BACKWARD_FLAT_2 = (
    Config(TILE=512, num_warps=4),  # 0 B shared, 31 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 0 B shared, 31 registers on sm_90, else unproven
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
    Config(TILE=1024, num_warps=2),  # 0 B shared, 40 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 32 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=1),  # 0 B shared, 64 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 0 B shared, 40 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 0 B shared, 32 registers on sm_90, else unproven
)
_BACKWARD_TILED_2 = (
    Config(TILE=1024, num_warps=1),  # 0 B shared, 62 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 0 B shared, 36 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 22 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 0 B shared, 24 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 0 B shared, 36 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 0 B shared, 22 registers on sm_90, else unproven
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
def _gelu_erf_flat(
    x_ptr,
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
    # return gelu(x)
    tl.store(out_ptr + offsets, narrow(exact_gelu(x), out_ptr.dtype.element_ty), mask=inside)


@triton.jit
def _gelu_erf_tiled(
    x_ptr,
    out_ptr,
    SIZE_1,
    SIZE_2,
    SIZE_3,
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
    out_axes = out_ptr + axis_0 * out_0 + axis_1 * out_1

    x = tl.load(
        x_axes + axis_2 * x_2 + axis_3 * x_3, mask=inside, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    # return gelu(x)
    tl.store(
        out_axes + axis_2 * out_2 + axis_3 * out_3,
        narrow(exact_gelu(x), out_ptr.dtype.element_ty),
        mask=inside,
    )


@triton.jit
def _gelu_erf_backward_flat(
    x_ptr,
    grad_out_ptr,
    grad_x_ptr,
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

    grad_out = tl.load(
        grad_out_ptr + offsets, mask=inside, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0, eviction_policy="evict_last").to(FLOAT)
    grad_x = grad_out * (
        0.5 + 0.5 * erf(x * 0.7071067811865476) + x * (0.3989422804014327 * exp(-0.5 * (x * x)))
    )
    tl.store(grad_x_ptr + offsets, narrow(grad_x, grad_x_ptr.dtype.element_ty), mask=inside)


@triton.jit
def _gelu_erf_backward_tiled(
    x_ptr,
    grad_out_ptr,
    grad_x_ptr,
    SIZE_1,
    SIZE_2,
    SIZE_3,
    grad_out_0,
    grad_out_1,
    grad_out_2,
    grad_out_3,
    x_0,
    x_1,
    x_2,
    x_3,
    grad_x_0,
    grad_x_1,
    grad_x_2,
    grad_x_3,
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
    x_axes = x_ptr + axis_0 * x_0 + axis_1 * x_1
    grad_x_axes = grad_x_ptr + axis_0 * grad_x_0 + axis_1 * grad_x_1

    grad_out = tl.load(
        grad_out_axes + axis_2 * grad_out_2 + axis_3 * grad_out_3,
        mask=inside,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    x = tl.load(
        x_axes + axis_2 * x_2 + axis_3 * x_3, mask=inside, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    grad_x = grad_out * (
        0.5 + 0.5 * erf(x * 0.7071067811865476) + x * (0.3989422804014327 * exp(-0.5 * (x * x)))
    )
    tl.store(
        grad_x_axes + axis_2 * grad_x_2 + axis_3 * grad_x_3,
        narrow(grad_x, grad_x_ptr.dtype.element_ty),
        mask=inside,
    )


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""

    axes = call.axes(("N",), limit=4, reorder=True)

    if axes.flat(("x", "out")) and call.takes("flat"):

        def flat_time(config: Config) -> float:
            work = Work(reads=1, writes=1, flops=12, special=1)
            return flat_cost(config, call.target, work, call.element_size, axes.total)

        config = call.choose(FLAT_CONFIGS, flat_time)
        block = config["TILE"]
        return Launch(
            Step(
                _gelu_erf_flat,
                grid=(cdiv(axes.total, block),),
                tensors=("x", "out"),
                integers=(axes.total,),
                constants={"BLOCK": block, "EVEN": axes.total % block == 0},
                config=config,
            )
        )

    axes = call.axes(("N",), limit=4)
    height, length = axes.sizes[2:]
    outer = axes.sizes[0] * axes.sizes[1]

    def tiled_time(config: Config) -> float:
        work = Work(reads=1, writes=1, flops=12, special=1)
        return flat_cost(config, call.target, work, call.element_size, outer * height * length)

    config = call.choose(TILED_CONFIGS, tiled_time)
    block_0, block_1 = tile_shape(
        axes.crossed(-2), height, length, config["TILE"], call.element_size
    )
    tiles = cdiv(height, block_0) * cdiv(length, block_1)
    return Launch(
        Step(
            _gelu_erf_tiled,
            grid=(outer * tiles,),
            tensors=("x", "out"),
            integers=(*axes.sizes[1:], *axes.strides("x"), *axes.strides("out")),
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

    if axes.flat(("x", "grad_out", "grad_x")) and call.takes("flat"):

        def flat_time(config: Config) -> float:
            work = Work(reads=2, writes=1, flops=26, special=2, held_wide=2)
            return flat_cost(config, call.target, work, call.element_size, axes.total)

        config = call.choose(BACKWARD_FLAT_CONFIGS, flat_time)
        block = config["TILE"]
        return Launch(
            Step(
                _gelu_erf_backward_flat,
                grid=(cdiv(axes.total, block),),
                tensors=("x", "grad_out", "grad_x"),
                integers=(axes.total,),
                constants={"BLOCK": block, "EVEN": axes.total % block == 0},
                config=config,
            )
        )

    axes = call.axes(("N",), limit=4)
    height, length = axes.sizes[2:]
    outer = axes.sizes[0] * axes.sizes[1]

    def tiled_time(config: Config) -> float:
        work = Work(reads=2, writes=1, flops=26, special=2, held_wide=2)
        return flat_cost(config, call.target, work, call.element_size, outer * height * length)

    config = call.choose(BACKWARD_TILED_CONFIGS, tiled_time)
    block_0, block_1 = tile_shape(
        axes.crossed(-2), height, length, config["TILE"], call.element_size
    )
    tiles = cdiv(height, block_0) * cdiv(length, block_1)
    return Launch(
        Step(
            _gelu_erf_backward_tiled,
            grid=(outer * tiles,),
            tensors=("x", "grad_out", "grad_x"),
            integers=(
                *axes.sizes[1:],
                *axes.strides("grad_out"),
                *axes.strides("x"),
                *axes.strides("grad_x"),
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


def reference(x, *, compute):
    """GELU by the error function (Hendrycks and Gimpel, arXiv:1606.08415).

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x = widen(x, compute)
    return torch.nn.functional.gelu(x)


def reference_backward(x, grad_out, *, compute):
    """The gradient of `reference`, as the kernels compute it."""
    x = widen(x, compute)
    grad_out = widen(grad_out, compute)
    grad_x = grad_out * (
        0.5
        + 0.5 * torch.erf(x * 0.7071067811865476)
        + x * (0.3989422804014327 * torch.exp(-0.5 * (x * x)))
    )
    return grad_x


BACKWARD = Op(
    name="gelu_erf_backward",
    spec_hash="aa1c54ce",
    inputs=(Operand("x", ("N",)), Operand("grad_out", ("N",))),
    outputs=(Output("grad_x", ("N",), like="x"),),
    fold="N",
    shards={"N": ()},
    partial=True,
    variants={
        (): Variant(_plan_backward, reference_backward),
    },
)
OP = Op(
    name="gelu_erf",
    spec_hash="aa1c54ce",
    inputs=(Operand("x", ("N",)),),
    outputs=(Output("out", ("N",), like="x"),),
    fold="N",
    inplace=("x",),
    preserve_strides=True,
    shards={"N": ()},
    gradients=Gradients({"out": "grad_out"}, BACKWARD),
    variants={
        (): Variant(_plan, reference, gradients={"x": "grad_x"}),
    },
)


def gelu_erf(
    x: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> torch.Tensor:
    """GELU by the error function (Hendrycks and Gimpel, arXiv:1606.08415).

    Args:
        x: [N], floats.
        out: where to write out.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        out: [N], the type of x.
        N may stand for several dimensions.
    """
    tensors = (x,)
    params = ()
    return OP(tensors, params, out, backend, autotune)
