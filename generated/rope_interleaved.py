"""Rotary embedding that pairs neighbours, as in the paper (Su et al., arXiv:2104.09864).

Row p of cos and sin belongs to position p.

Built by tilegen 0.1.0 from specs/rope_interleaved.py (spec d32e12b0, templates d13e90b1).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 4*B*D*H*S*e + B*S*i + 2*D*e*Min(P, B*S) bytes (e: bytes of an element, i: bytes of an index)
Work: 6*B*D*H*S flops
Bound: memory on every target
Eager PyTorch: 9 kernels, 4.5 times the bytes
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
    take_last,
    tile_shape,
    widen,
)

_TILED_1 = (
    Config(TILE=1024, num_warps=1),  # 1024 B shared, 86 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 2048 B shared, 51 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 2048 B shared, 32 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=1),  # 512 B shared, 108 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 2048 B shared, 96 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 4096 B shared, 51 registers on sm_90, else unproven
)
_TILED_2 = (
    Config(TILE=1024, num_warps=1),  # 1024 B shared, 84 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 4096 B shared, 64 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 4096 B shared, 32 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 4096 B shared, 27 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 2048 B shared, 84 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 8192 B shared, 64 registers on sm_90, else unproven
)
_TILED_3 = (
    Config(TILE=1024, num_warps=2),  # 8192 B shared, 80 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 8192 B shared, 48 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 8192 B shared, 34 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 16384 B shared, 80 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=8),  # 16384 B shared, 48 registers on sm_90, else unproven
    Config(TILE=4096, num_warps=8),  # 16384 B shared, 48 registers on sm_90, else unproven
)
_TILED_4 = (
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
    (("gfx90a", "gfx942", "gfx950"), (4,), _TILED_1),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (4,), _TILED_2),
    (("gfx90a", "gfx942", "gfx950"), (8,), _TILED_2),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _TILED_3),
    (("gfx90a", "gfx942", "gfx950"), (1, 2), _TILED_4),
)

_BACKWARD_TILED_1 = (
    Config(TILE=1024, num_warps=1),  # 1024 B shared, 85 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 2048 B shared, 48 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 32 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=1),  # 512 B shared, 106 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 2048 B shared, 88 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 4096 B shared, 48 registers on sm_90, else unproven
)
_BACKWARD_TILED_2 = (
    Config(TILE=1024, num_warps=1),  # 0 B shared, 84 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 2048 B shared, 64 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 34 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 0 B shared, 30 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 2048 B shared, 84 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 4096 B shared, 64 registers on sm_90, else unproven
)
_BACKWARD_TILED_3 = (
    Config(TILE=1024, num_warps=2),  # 0 B shared, 80 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 52 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 0 B shared, 34 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 0 B shared, 80 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=8),  # 0 B shared, 48 registers on sm_90, else unproven
    Config(TILE=4096, num_warps=8),  # 0 B shared, 48 registers on sm_90, else unproven
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
def _rope_interleaved_tiled(
    x_ptr,
    cos_ptr,
    sin_ptr,
    position_ptr,
    out_ptr,
    SIZE_B_S_1,
    H,
    D,
    P,
    position_B_S_0,
    position_B_S_1,
    x_stride_Two,
    x_B_S_0,
    x_B_S_1,
    x_H,
    cos_D,
    cos_stride_P,
    sin_D,
    sin_stride_P,
    out_stride_Two,
    out_B_S_0,
    out_B_S_1,
    out_H,
    BLOCK_0: tl.constexpr,
    BLOCK_1: tl.constexpr,
    EVEN_0: tl.constexpr,
    EVEN_1: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program computes one tile of (H) by (D)."""
    tile = tl.program_id(0).to(INT)
    tiles_1 = tl.cdiv(D, BLOCK_1)
    tiles_0 = tl.cdiv(H, BLOCK_0)
    d = (tile % tiles_1) * BLOCK_1 + tl.arange(0, BLOCK_1)[None, :]
    h = (tile // tiles_1 % tiles_0) * BLOCK_0 + tl.arange(0, BLOCK_0)[:, None]
    in_d = below(d, D, EVEN_1)
    in_h = below(h, H, EVEN_0)
    d_pairs = (tile % tiles_1) * (2 * BLOCK_1) + tl.arange(0, 2 * BLOCK_1)[None, :]
    in_d_pairs = below(d_pairs, 2 * D, EVEN_1)
    b_s = tile // tiles_1 // tiles_0 + tl.zeros((1, 1), INT)
    b_s_1 = b_s % SIZE_B_S_1
    b_s_0 = b_s // SIZE_B_S_1
    position_b_s = position_ptr + b_s_0 * position_B_S_0 + b_s_1 * position_B_S_1
    x_b_s = x_ptr + b_s_0 * x_B_S_0 + b_s_1 * x_B_S_1
    out_b_s = out_ptr + b_s_0 * out_B_S_0 + b_s_1 * out_B_S_1

    position = tl.load(position_b_s, eviction_policy="evict_last")
    x_0, x_1 = tl.split(
        tl.reshape(
            tl.load(
                x_b_s + h * x_H + d_pairs * x_stride_Two,
                mask=in_h & in_d_pairs,
                other=0.0,
                eviction_policy="evict_last",
            ).to(FLOAT),
            (BLOCK_0, BLOCK_1, 2),
        )
    )
    # c = take(cos, position, P)
    valid = (position >= 0) & (position < P)
    c = tl.load(
        cos_ptr + d * cos_D + tl.cast(position, INT) * cos_stride_P,
        mask=in_d & valid,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    s = tl.load(
        sin_ptr + d * sin_D + tl.cast(position, INT) * sin_stride_P,
        mask=in_d & valid,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # return stack(even * c - odd * s, odd * c + even * s, dim=Two)
    tl.store(
        out_b_s + h * out_H + d_pairs * out_stride_Two,
        tl.reshape(
            narrow(tl.join(x_0 * c - x_1 * s, x_1 * c + x_0 * s), out_ptr.dtype.element_ty),
            (BLOCK_0, 2 * BLOCK_1),
        ),
        mask=in_h & in_d_pairs,
    )


@triton.jit
def _rope_interleaved_backward_tiled(
    cos_ptr,
    sin_ptr,
    position_ptr,
    grad_out_ptr,
    grad_x_ptr,
    SIZE_B_S_1,
    H,
    D,
    P,
    position_B_S_0,
    position_B_S_1,
    grad_out_stride_Two,
    grad_out_B_S_0,
    grad_out_B_S_1,
    grad_out_H,
    cos_D,
    cos_stride_P,
    sin_D,
    sin_stride_P,
    grad_x_stride_Two,
    grad_x_B_S_0,
    grad_x_B_S_1,
    grad_x_H,
    BLOCK_0: tl.constexpr,
    BLOCK_1: tl.constexpr,
    EVEN_0: tl.constexpr,
    EVEN_1: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program computes one tile of (H) by (D)."""
    tile = tl.program_id(0).to(INT)
    tiles_1 = tl.cdiv(D, BLOCK_1)
    tiles_0 = tl.cdiv(H, BLOCK_0)
    d = (tile % tiles_1) * BLOCK_1 + tl.arange(0, BLOCK_1)[None, :]
    h = (tile // tiles_1 % tiles_0) * BLOCK_0 + tl.arange(0, BLOCK_0)[:, None]
    in_d = below(d, D, EVEN_1)
    in_h = below(h, H, EVEN_0)
    d_pairs = (tile % tiles_1) * (2 * BLOCK_1) + tl.arange(0, 2 * BLOCK_1)[None, :]
    in_d_pairs = below(d_pairs, 2 * D, EVEN_1)
    b_s = tile // tiles_1 // tiles_0 + tl.zeros((1, 1), INT)
    b_s_1 = b_s % SIZE_B_S_1
    b_s_0 = b_s // SIZE_B_S_1
    position_b_s = position_ptr + b_s_0 * position_B_S_0 + b_s_1 * position_B_S_1
    grad_out_b_s = grad_out_ptr + b_s_0 * grad_out_B_S_0 + b_s_1 * grad_out_B_S_1
    grad_x_b_s = grad_x_ptr + b_s_0 * grad_x_B_S_0 + b_s_1 * grad_x_B_S_1

    position = tl.load(position_b_s, eviction_policy="evict_last")
    grad_out_0, grad_out_1 = tl.split(
        tl.reshape(
            tl.load(
                grad_out_b_s + h * grad_out_H + d_pairs * grad_out_stride_Two,
                mask=in_h & in_d_pairs,
                other=0.0,
                eviction_policy="evict_last",
            ).to(FLOAT),
            (BLOCK_0, BLOCK_1, 2),
        )
    )
    # c = take(cos, position, P)
    valid = (position >= 0) & (position < P)
    c = tl.load(
        cos_ptr + d * cos_D + tl.cast(position, INT) * cos_stride_P,
        mask=in_d & valid,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    s = tl.load(
        sin_ptr + d * sin_D + tl.cast(position, INT) * sin_stride_P,
        mask=in_d & valid,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # even, odd = unstack(x, Two)
    grad_odd = grad_out_1 * c + -grad_out_0 * s
    grad_even = grad_out_1 * s + grad_out_0 * c
    grad_x_0 = tl.where(False, grad_odd, 0.0) + tl.where(True, grad_even, 0.0)
    grad_x_1 = tl.where(True, grad_odd, 0.0) + tl.where(False, grad_even, 0.0)
    tl.store(
        grad_x_b_s + h * grad_x_H + d_pairs * grad_x_stride_Two,
        tl.reshape(
            narrow(tl.join(grad_x_0, grad_x_1), grad_x_ptr.dtype.element_ty), (BLOCK_0, 2 * BLOCK_1)
        ),
        mask=in_h & in_d_pairs,
    )


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""

    axes_0 = call.axes(("B", "S"), limit=2, spare_last=True)
    axes_1 = call.axes(("H",), limit=1)
    axes_2 = call.axes(("D",), limit=1)
    height, length = axes_1.total, axes_2.total
    outer = axes_0.total

    def tiled_time(config: Config) -> float:
        work = Work(reads=2, writes=2, flops=6, held=2, held_wide=4)
        return flat_cost(config, call.target, work, call.element_size, outer * height * length)

    config = call.choose(TILED_CONFIGS, tiled_time)
    block_0, block_1 = tile_shape(
        axes_1.crossed(), height, length, config["TILE"], call.element_size
    )
    tiles = cdiv(height, block_0) * cdiv(length, block_1)
    return Launch(
        Step(
            _rope_interleaved_tiled,
            grid=(outer * tiles,),
            tensors=("x", "cos", "sin", "position", "out"),
            integers=(
                *axes_0.sizes[1:],
                axes_1.total,
                axes_2.total,
                call.sizes["P"],
                *axes_0.strides("position"),
                call.stride("x", "Two"),
                *axes_0.strides("x"),
                axes_1.strides("x")[0],
                axes_2.strides("cos")[0],
                call.stride("cos", "P"),
                axes_2.strides("sin")[0],
                call.stride("sin", "P"),
                call.stride("out", "Two"),
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


def _plan_backward(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""

    axes_0 = call.axes(("B", "S"), limit=2, spare_last=True)
    axes_1 = call.axes(("H",), limit=1)
    axes_2 = call.axes(("D",), limit=1)
    height, length = axes_1.total, axes_2.total
    outer = axes_0.total

    def tiled_time(config: Config) -> float:
        work = Work(reads=2, writes=2, flops=13, held=3, held_wide=5)
        return flat_cost(config, call.target, work, call.element_size, outer * height * length)

    config = call.choose(BACKWARD_TILED_CONFIGS, tiled_time)
    block_0, block_1 = tile_shape(
        axes_1.crossed(), height, length, config["TILE"], call.element_size
    )
    tiles = cdiv(height, block_0) * cdiv(length, block_1)
    return Launch(
        Step(
            _rope_interleaved_backward_tiled,
            grid=(outer * tiles,),
            tensors=("cos", "sin", "position", "grad_out", "grad_x"),
            integers=(
                *axes_0.sizes[1:],
                axes_1.total,
                axes_2.total,
                call.sizes["P"],
                *axes_0.strides("position"),
                call.stride("grad_out", "Two"),
                *axes_0.strides("grad_out"),
                axes_1.strides("grad_out")[0],
                axes_2.strides("cos")[0],
                call.stride("cos", "P"),
                axes_2.strides("sin")[0],
                call.stride("sin", "P"),
                call.stride("grad_x", "Two"),
                *axes_0.strides("grad_x"),
                axes_1.strides("grad_x")[0],
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


def reference_backward(x, cos, sin, position, grad_out, *, compute):
    """The gradient of `reference`, as the kernels compute it."""
    D = cos.shape[1]
    cos = widen(cos.permute(1, 0), compute)
    sin = widen(sin.permute(1, 0), compute)
    grad_out = widen(grad_out.unflatten(3, (D, 2)), compute)
    value = grad_out.select(4, 1)
    # c = take(cos, position, P)
    c = take_last(cos, position[:, :, None])
    value_2 = grad_out.select(4, 0)
    # s = take(sin, position, P)
    s = take_last(sin, position[:, :, None])
    # even, odd = unstack(x, Two)
    grad_odd = value * c[:, :, None, :] + -value_2 * s[:, :, None, :]
    grad_even = value * s[:, :, None, :] + value_2 * c[:, :, None, :]
    grad_x = torch.where(
        torch.arange(2, device=x.device) == 1, grad_odd[:, :, :, :, None], 0.0
    ) + torch.where(torch.arange(2, device=x.device) == 0, grad_even[:, :, :, :, None], 0.0)
    return grad_x.flatten(3, 4)


BACKWARD = Op(
    name="rope_interleaved_backward",
    spec_hash="d32e12b0",
    inputs=(
        Operand("x", ("B", "S", "H", ("D", "Two"))),
        Operand("cos", ("P", "D")),
        Operand("sin", ("P", "D")),
        Operand("position", ("B", "S"), kind="int"),
        Operand("grad_out", ("B", "S", "H", ("D", "Two"))),
    ),
    outputs=(Output("grad_x", ("B", "S", "H", ("D", "Two")), like="x"),),
    fold="B",
    static_sizes={"Two": 2},
    shards={"B": (), "S": (), "H": ()},
    partial=True,
    variants={
        (): Variant(_plan_backward, reference_backward),
    },
)
OP = Op(
    name="rope_interleaved",
    spec_hash="d32e12b0",
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
    shards={"B": (), "S": (), "H": ()},
    gradients=Gradients({"out": "grad_out"}, BACKWARD, alike=("x",)),
    variants={
        (): Variant(_plan, reference, gradients={"x": "grad_x"}),
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
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        out: [B, S, H, D * Two], the type of x.
        B may stand for several dimensions.
    """
    tensors = (x, cos, sin, position)
    params = ()
    return OP(tensors, params, out, backend, autotune)
