"""RMS-normalise each head of the queries or the keys, then rotate its halves.

As in Qwen3; the rotation is that of rope (Su et al., arXiv:2104.09864).

Built by tilegen 0.1.0 from specs/qk_norm_rope.py (spec ffec5b43, templates 83e67773).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 4*B*D*H*S*e + 4*B*H*S + B*S*i + 2*D*e*Min(P, B*S) + 2*D*e bytes (e: bytes of an element, i: bytes of an index)
Work: 14*B*D*H*S + 6*B*H*S flops, 2*B*H*S of them exponentials, roots and quotients
Bound: memory on every target
Eager PyTorch: 15 kernels, 8.4 times the bytes
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
    block_cost,
    by_class,
    cdiv,
    in_stages,
    least,
    loop_cost,
    narrow,
    next_power_of_2,
    scalar,
    split_cost,
    split_row,
    take_last,
    widen,
)

_BLOCK_1 = (
    Config(TILE=512, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 2048 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
)
_BLOCK_2 = (
    Config(TILE=512, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 2048 B shared, unproven
    Config(TILE=512, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=512, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=1024, num_warps=2),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 16384 B shared, unproven
)
_BLOCK_3 = (
    Config(TILE=512, num_warps=1),  # at most 1024 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 32768 B shared, unproven
)
#: Whole rows in registers, TILE elements to a program; by architecture class and element size in bytes.
BLOCK_CONFIGS = by_class(
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2, 4), _BLOCK_1),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BLOCK_1),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BLOCK_2),
    (("gfx90a", "gfx942", "gfx950"), (1, 2, 4), _BLOCK_3),
)

_LOOP_1 = (
    Config(TILE=2048, num_warps=4),  # at most 1024 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 1024 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 4096 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 8192 B shared, unproven
)
_LOOP_2 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
)
_LOOP_3 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
)
_LOOP_4 = (
    Config(TILE=2048, num_warps=4),  # at most 512 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 1024 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 4096 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 4096 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 8192 B shared, unproven
)
_LOOP_5 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 16384 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 32768 B shared, unproven
)
#: Sweeps over one row, TILE elements at a time; by architecture class and element size in bytes.
LOOP_CONFIGS = by_class(
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2), _LOOP_1),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (4,), _LOOP_2),
    (("gfx90a", "gfx942", "gfx950"), (8,), _LOOP_2),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _LOOP_3),
    (("gfx90a", "gfx942", "gfx950"), (1,), _LOOP_4),
    (("gfx90a", "gfx942", "gfx950"), (2, 4), _LOOP_5),
)

_BACKWARD_BLOCK_1 = (
    Config(TILE=512, num_warps=1),  # at most 1024 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 1024 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 16384 B shared, unproven
)
_BACKWARD_BLOCK_2 = (
    Config(TILE=512, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 2048 B shared, unproven
    Config(TILE=512, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=1024, num_warps=2),  # at most 4096 B shared, unproven
    Config(TILE=1024, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 16384 B shared, unproven
)
_BACKWARD_BLOCK_3 = (
    Config(TILE=512, num_warps=2),  # at most 2048 B shared, unproven
    Config(TILE=512, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=512, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=1024, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=1024, num_warps=8),  # at most 4096 B shared, unproven
    Config(TILE=1024, num_warps=16),  # at most 4096 B shared, unproven
)
_BACKWARD_BLOCK_4 = (
    Config(TILE=512, num_warps=1),  # at most 1024 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 32768 B shared, unproven
)
#: Whole rows in registers, TILE elements to a program; by architecture class and element size in bytes.
BACKWARD_BLOCK_CONFIGS = by_class(
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2), _BACKWARD_BLOCK_1),
    (("gfx90a", "gfx942", "gfx950"), (4,), _BACKWARD_BLOCK_1),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (4,), _BACKWARD_BLOCK_2),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BACKWARD_BLOCK_2),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BACKWARD_BLOCK_3),
    (("gfx90a", "gfx942", "gfx950"), (1, 2), _BACKWARD_BLOCK_4),
)

_BACKWARD_LOOP_1 = (
    Config(TILE=2048, num_warps=4),  # at most 1024 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 1024 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 4096 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 8192 B shared, unproven
)
_BACKWARD_LOOP_2 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=32),  # at most 8192 B shared, unproven
)
_BACKWARD_LOOP_3 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=32),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=32),  # at most 16384 B shared, unproven
)
_BACKWARD_LOOP_4 = (
    Config(TILE=2048, num_warps=4),  # at most 1024 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 4096 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 16384 B shared, unproven
)
_BACKWARD_LOOP_5 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 16384 B shared, unproven
)
_BACKWARD_LOOP_6 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
)
#: Sweeps over one row, TILE elements at a time; by architecture class and element size in bytes.
BACKWARD_LOOP_CONFIGS = by_class(
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2), _BACKWARD_LOOP_1),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (4,), _BACKWARD_LOOP_2),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BACKWARD_LOOP_3),
    (("gfx90a", "gfx942", "gfx950"), (1, 2), _BACKWARD_LOOP_4),
    (("gfx90a", "gfx942", "gfx950"), (4,), _BACKWARD_LOOP_5),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BACKWARD_LOOP_6),
)


@triton.jit
def _qk_norm_rope_block(
    x_ptr,
    weight_ptr,
    cos_ptr,
    sin_ptr,
    position_ptr,
    out_ptr,
    rstd_ptr,
    ROWS,
    ROWS_1,
    ROWS_2,
    D,
    P,
    position_row_0,
    position_row_1,
    position_row_2,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    x_stride_Two,
    weight_col,
    weight_stride_Two,
    cos_col,
    cos_stride_P,
    sin_col,
    sin_stride_P,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    out_stride_Two,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    eps,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    EARLY: tl.constexpr,
    NEEDS_RSTD: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program holds BLOCK_M whole rows in registers."""
    rows = tl.program_id(0).to(INT) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    cols = tl.arange(0, BLOCK_N)[None, :].to(INT)
    in_cols = below(cols, D, EVEN_N)
    in_rows = below(rows, ROWS, EVEN_M)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    position_rows = (
        position_ptr + row_0 * position_row_0 + row_1 * position_row_1 + row_2 * position_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2

    eps = scalar(eps, FLOAT)

    position = tl.load(position_rows, mask=in_rows, other=0, eviction_policy="evict_last")
    x_0 = tl.load(
        x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    x = tl.load(
        x_rows + cols * x_col + x_stride_Two,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    if EARLY:
        weight_0 = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        )
        weight_1 = tl.load(
            weight_ptr + cols * weight_col + weight_stride_Two,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        )
    # c = take(cos, position, P)
    valid = (position >= 0) & (position < P)
    if EARLY:
        c = tl.load(
            cos_ptr + cols * cos_col + tl.cast(position, INT) * cos_stride_P,
            mask=in_rows & in_cols & valid,
            other=0.0,
            eviction_policy="evict_last",
        )
        s = tl.load(
            sin_ptr + cols * sin_col + tl.cast(position, INT) * sin_stride_P,
            mask=in_rows & in_cols & valid,
            other=0.0,
            eviction_policy="evict_last",
        )
    # rstd = rsqrt(mean(x * x, (Two, D)) + eps)
    row_sum = tl.sum(x_0 * x_0 + x * x, axis=1, keep_dims=True)
    rstd = tl.rsqrt(row_sum / (tl.cast(2, FLOAT) * tl.cast(D, FLOAT)) + eps)
    if not EARLY:
        weight_0 = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        )
    # first, second = unstack(x * rstd * weight, Two)
    first = x_0 * rstd * weight_0.to(FLOAT)
    if not EARLY:
        weight_1 = tl.load(
            weight_ptr + cols * weight_col + weight_stride_Two,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        )
    second = x * rstd * weight_1.to(FLOAT)
    if not EARLY:
        c = tl.load(
            cos_ptr + cols * cos_col + tl.cast(position, INT) * cos_stride_P,
            mask=in_rows & in_cols & valid,
            other=0.0,
            eviction_policy="evict_last",
        )
        s = tl.load(
            sin_ptr + cols * sin_col + tl.cast(position, INT) * sin_stride_P,
            mask=in_rows & in_cols & valid,
            other=0.0,
            eviction_policy="evict_last",
        )
    # return stack(first * c - second * s, second * c + first * s, dim=Two)
    tl.store(
        out_rows + cols * out_col,
        narrow(first * c.to(FLOAT) - second * s.to(FLOAT), out_ptr.dtype.element_ty),
        mask=in_rows & in_cols,
    )
    tl.store(
        out_rows + cols * out_col + out_stride_Two,
        narrow(second * c.to(FLOAT) + first * s.to(FLOAT), out_ptr.dtype.element_ty),
        mask=in_rows & in_cols,
    )
    if NEEDS_RSTD:
        tl.store(rstd_rows, narrow(rstd, rstd_ptr.dtype.element_ty), mask=in_rows)


@triton.jit
def _qk_norm_rope_loop(
    x_ptr,
    weight_ptr,
    cos_ptr,
    sin_ptr,
    position_ptr,
    out_ptr,
    rstd_ptr,
    ROWS,
    ROWS_1,
    ROWS_2,
    D,
    P,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    x_stride_Two,
    position_row_0,
    position_row_1,
    position_row_2,
    weight_col,
    cos_col,
    cos_stride_P,
    weight_stride_Two,
    sin_col,
    sin_stride_P,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    out_stride_Two,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    eps,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    NEEDS_RSTD: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program goes over one row twice, block by block."""
    rows = tl.program_id(0).to(INT) + tl.arange(0, 1)[:, None]
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    position_rows = (
        position_ptr + row_0 * position_row_0 + row_1 * position_row_1 + row_2 * position_row_2
    )
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2

    eps = scalar(eps, FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(0, D, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, D, EVEN)

        x_0 = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        x = tl.load(
            x_rows + cols * x_col + x_stride_Two,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        # rstd = rsqrt(mean(x * x, (Two, D)) + eps)
        total = total + tl.sum(x_0 * x_0 + x * x, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)

    rstd = tl.rsqrt(row_sum / (tl.cast(2, FLOAT) * tl.cast(D, FLOAT)) + eps)
    position = tl.load(position_rows)
    # c = take(cos, position, P)
    valid = (position >= 0) & (position < P)

    for start in range(0, D, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, D, EVEN)

        x_0 = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        weight_0 = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # first, second = unstack(x * rstd * weight, Two)
        first = x_0 * rstd * weight_0
        c = tl.load(
            cos_ptr + cols * cos_col + tl.cast(position, INT) * cos_stride_P,
            mask=in_cols & valid,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        x = tl.load(
            x_rows + cols * x_col + x_stride_Two,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        weight_1 = tl.load(
            weight_ptr + cols * weight_col + weight_stride_Two,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        second = x * rstd * weight_1
        s = tl.load(
            sin_ptr + cols * sin_col + tl.cast(position, INT) * sin_stride_P,
            mask=in_cols & valid,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        # return stack(first * c - second * s, second * c + first * s, dim=Two)
        tl.store(
            out_rows + cols * out_col,
            narrow(first * c - second * s, out_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )
        tl.store(
            out_rows + cols * out_col + out_stride_Two,
            narrow(second * c + first * s, out_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )

    if NEEDS_RSTD:
        tl.store(rstd_rows, narrow(rstd, rstd_ptr.dtype.element_ty))


@triton.jit
def _qk_norm_rope_partial(
    x_ptr,
    partial_total_ptr,
    ROWS,
    ROWS_1,
    ROWS_2,
    D,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    x_stride_Two,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    SPLITS: tl.constexpr,
    CHUNK: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program reduces one chunk of a row to its partial states."""
    split = (tl.program_id(0) % SPLITS).to(INT)
    rows = (tl.program_id(0) // SPLITS).to(INT) + tl.arange(0, 1)[:, None]
    stop = tl.minimum((split + 1) * CHUNK, D)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x_0 = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        x = tl.load(x_rows + cols * x_col + x_stride_Two, mask=in_cols, other=0.0).to(FLOAT)
        # rstd = rsqrt(mean(x * x, (Two, D)) + eps)
        total = total + tl.sum(x_0 * x_0 + x * x, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, row_sum)


@triton.jit
def _qk_norm_rope_finish(
    partial_total_ptr,
    x_ptr,
    weight_ptr,
    cos_ptr,
    sin_ptr,
    position_ptr,
    out_ptr,
    rstd_ptr,
    ROWS,
    ROWS_1,
    ROWS_2,
    D,
    P,
    position_row_0,
    position_row_1,
    position_row_2,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    weight_col,
    cos_col,
    cos_stride_P,
    x_stride_Two,
    weight_stride_Two,
    sin_col,
    sin_stride_P,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    out_stride_Two,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    eps,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    SPLITS: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK_S: tl.constexpr,
    NEEDS_RSTD: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program joins the partial states of a row, then goes over one chunk of it."""
    split = (tl.program_id(0) % SPLITS).to(INT)
    rows = (tl.program_id(0) // SPLITS).to(INT) + tl.arange(0, 1)[:, None]
    stop = tl.minimum((split + 1) * CHUNK, D)
    leads = rows * 0 + split == 0
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    position_rows = (
        position_ptr + row_0 * position_row_0 + row_1 * position_row_1 + row_2 * position_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2

    eps = scalar(eps, FLOAT)

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_sum = tl.sum(total, axis=0, keep_dims=True)
    # rstd = rsqrt(mean(x * x, (Two, D)) + eps)
    rstd = tl.rsqrt(row_sum / (tl.cast(2, FLOAT) * tl.cast(D, FLOAT)) + eps)
    position = tl.load(position_rows)
    # c = take(cos, position, P)
    valid = (position >= 0) & (position < P)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x_0 = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        weight_0 = tl.load(weight_ptr + cols * weight_col, mask=in_cols, other=0.0).to(FLOAT)
        # first, second = unstack(x * rstd * weight, Two)
        first = x_0 * rstd * weight_0
        c = tl.load(
            cos_ptr + cols * cos_col + tl.cast(position, INT) * cos_stride_P,
            mask=in_cols & valid,
            other=0.0,
        ).to(FLOAT)
        x = tl.load(x_rows + cols * x_col + x_stride_Two, mask=in_cols, other=0.0).to(FLOAT)
        weight_1 = tl.load(
            weight_ptr + cols * weight_col + weight_stride_Two, mask=in_cols, other=0.0
        ).to(FLOAT)
        second = x * rstd * weight_1
        s = tl.load(
            sin_ptr + cols * sin_col + tl.cast(position, INT) * sin_stride_P,
            mask=in_cols & valid,
            other=0.0,
        ).to(FLOAT)
        # return stack(first * c - second * s, second * c + first * s, dim=Two)
        tl.store(
            out_rows + cols * out_col,
            narrow(first * c - second * s, out_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )
        tl.store(
            out_rows + cols * out_col + out_stride_Two,
            narrow(second * c + first * s, out_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )

    if NEEDS_RSTD:
        tl.store(rstd_rows, narrow(rstd, rstd_ptr.dtype.element_ty), mask=leads)


@triton.jit
def _qk_norm_rope_backward_stage_1_block(
    x_ptr,
    cos_ptr,
    sin_ptr,
    position_ptr,
    rstd_ptr,
    grad_out_ptr,
    grad_weight_ptr,
    D,
    ROWS_1,
    ROWS_2,
    COLS_0,
    COLS_1,
    P,
    position_col_0,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col_0,
    grad_out_col_1,
    grad_out_stride_Two,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col_0,
    x_col_1,
    rstd_col_0,
    rstd_col_1,
    x_stride_Two,
    cos_row_0,
    cos_row_1,
    cos_row_2,
    cos_stride_P,
    sin_row_0,
    sin_row_1,
    sin_row_2,
    sin_stride_P,
    grad_weight_row_0,
    grad_weight_row_1,
    grad_weight_row_2,
    grad_weight_stride_Two,
    BLOCK_M: tl.constexpr,
    BLOCK_0: tl.constexpr,
    BLOCK_1: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    NEEDS_GRAD_WEIGHT: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program holds BLOCK_M whole rows in registers."""
    rows = tl.program_id(0).to(INT) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None, None]
    cols_0 = tl.arange(0, BLOCK_0)[None, :, None].to(INT)
    cols_1 = tl.arange(0, BLOCK_1)[None, None, :].to(INT)
    in_cols_0 = below(cols_0, COLS_0, EVEN_N)
    in_cols_1 = below(cols_1, COLS_1, EVEN_N)
    in_rows = below(rows, D, EVEN_M)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    cos_rows = cos_ptr + row_0 * cos_row_0 + row_1 * cos_row_1 + row_2 * cos_row_2
    sin_rows = sin_ptr + row_0 * sin_row_0 + row_1 * sin_row_1 + row_2 * sin_row_2
    grad_weight_rows = (
        grad_weight_ptr
        + row_0 * grad_weight_row_0
        + row_1 * grad_weight_row_1
        + row_2 * grad_weight_row_2
    )

    position = tl.load(
        position_ptr + cols_0 * position_col_0,
        mask=in_cols_0,
        other=0,
        eviction_policy="evict_last",
    )
    grad_out_1 = tl.load(
        grad_out_rows + cols_0 * grad_out_col_0 + cols_1 * grad_out_col_1 + grad_out_stride_Two,
        mask=in_rows & in_cols_0 & in_cols_1,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    grad_out_0 = tl.load(
        grad_out_rows + cols_0 * grad_out_col_0 + cols_1 * grad_out_col_1,
        mask=in_rows & in_cols_0 & in_cols_1,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    x = tl.load(
        x_rows + cols_0 * x_col_0 + cols_1 * x_col_1,
        mask=in_rows & in_cols_0 & in_cols_1,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    rstd = tl.load(
        rstd_ptr + cols_0 * rstd_col_0 + cols_1 * rstd_col_1,
        mask=in_cols_0 & in_cols_1,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    x_2 = tl.load(
        x_rows + cols_0 * x_col_0 + cols_1 * x_col_1 + x_stride_Two,
        mask=in_rows & in_cols_0 & in_cols_1,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # c = take(cos, position, P)
    valid = (position >= 0) & (position < P)
    c = tl.load(
        cos_rows + tl.cast(position, INT) * cos_stride_P,
        mask=in_rows & in_cols_0 & valid,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    s = tl.load(
        sin_rows + tl.cast(position, INT) * sin_stride_P,
        mask=in_rows & in_cols_0 & valid,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # first, second = unstack(x * rstd * weight, Two)
    grad_second = grad_out_1 * c + -grad_out_0 * s
    grad_first = grad_out_1 * s + grad_out_0 * c
    grad_weight_0 = tl.sum(
        tl.sum(
            (tl.where(False, grad_second, 0.0) + tl.where(True, grad_first, 0.0)) * (x * rstd),
            axis=2,
            keep_dims=True,
        ),
        axis=1,
        keep_dims=True,
    )
    grad_weight_1 = tl.sum(
        tl.sum(
            (tl.where(True, grad_second, 0.0) + tl.where(False, grad_first, 0.0)) * (x_2 * rstd),
            axis=2,
            keep_dims=True,
        ),
        axis=1,
        keep_dims=True,
    )
    if NEEDS_GRAD_WEIGHT:
        tl.store(
            grad_weight_rows, narrow(grad_weight_0, grad_weight_ptr.dtype.element_ty), mask=in_rows
        )
        tl.store(
            grad_weight_rows + grad_weight_stride_Two,
            narrow(grad_weight_1, grad_weight_ptr.dtype.element_ty),
            mask=in_rows,
        )


@triton.jit
def _qk_norm_rope_backward_stage_1_loop(
    x_ptr,
    cos_ptr,
    sin_ptr,
    position_ptr,
    rstd_ptr,
    grad_out_ptr,
    grad_weight_ptr,
    D,
    ROWS_1,
    ROWS_2,
    COLS_0,
    COLS_1,
    P,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col_0,
    grad_out_col_1,
    grad_out_stride_Two,
    position_col_0,
    cos_row_0,
    cos_row_1,
    cos_row_2,
    cos_stride_P,
    sin_row_0,
    sin_row_1,
    sin_row_2,
    sin_stride_P,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col_0,
    x_col_1,
    rstd_col_0,
    rstd_col_1,
    x_stride_Two,
    grad_weight_row_0,
    grad_weight_row_1,
    grad_weight_row_2,
    grad_weight_stride_Two,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    WIDTH: tl.constexpr,
    NEEDS_GRAD_WEIGHT: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program goes over one row once, block by block."""
    rows = tl.program_id(0).to(INT) + tl.arange(0, 1)[:, None]
    HEIGHT: tl.constexpr = LANES * VECTOR // WIDTH
    lane = tl.arange(0, LANES)[:, None].to(INT) * VECTOR
    lane_0 = lane // WIDTH
    # not `lane % WIDTH`, of which the compiler cannot tell that neighbours are contiguous
    lane_1 = lane - lane_0 * WIDTH + tl.arange(0, VECTOR)[None, :]
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    cos_rows = cos_ptr + row_0 * cos_row_0 + row_1 * cos_row_1 + row_2 * cos_row_2
    sin_rows = sin_ptr + row_0 * sin_row_0 + row_1 * sin_row_1 + row_2 * sin_row_2
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    grad_weight_rows = (
        grad_weight_ptr
        + row_0 * grad_weight_row_0
        + row_1 * grad_weight_row_1
        + row_2 * grad_weight_row_2
    )

    total = tl.full((LANES, 1), 0.0, FLOAT)
    total_2 = tl.full((LANES, 1), 0.0, FLOAT)
    blocks = tl.cdiv(COLS_1, WIDTH)
    for block in range(tl.cdiv(COLS_0, HEIGHT) * blocks):
        cols_0 = block // blocks * HEIGHT + lane_0
        cols_1 = block % blocks * WIDTH + lane_1
        in_cols_0 = below(cols_0, COLS_0, EVEN)
        in_cols_1 = below(cols_1, COLS_1, EVEN)

        grad_out_1 = tl.load(
            grad_out_rows + cols_0 * grad_out_col_0 + cols_1 * grad_out_col_1 + grad_out_stride_Two,
            mask=in_cols_0 & in_cols_1,
            other=0.0,
        ).to(FLOAT)
        position = tl.load(position_ptr + cols_0 * position_col_0, mask=in_cols_0, other=0)
        # c = take(cos, position, P)
        valid = (position >= 0) & (position < P)
        c = tl.load(
            cos_rows + tl.cast(position, INT) * cos_stride_P, mask=in_cols_0 & valid, other=0.0
        ).to(FLOAT)
        grad_out_0 = tl.load(
            grad_out_rows + cols_0 * grad_out_col_0 + cols_1 * grad_out_col_1,
            mask=in_cols_0 & in_cols_1,
            other=0.0,
        ).to(FLOAT)
        s = tl.load(
            sin_rows + tl.cast(position, INT) * sin_stride_P, mask=in_cols_0 & valid, other=0.0
        ).to(FLOAT)
        # first, second = unstack(x * rstd * weight, Two)
        grad_second = grad_out_1 * c + -grad_out_0 * s
        grad_first = grad_out_1 * s + grad_out_0 * c
        x = tl.load(
            x_rows + cols_0 * x_col_0 + cols_1 * x_col_1, mask=in_cols_0 & in_cols_1, other=0.0
        ).to(FLOAT)
        rstd = tl.load(
            rstd_ptr + cols_0 * rstd_col_0 + cols_1 * rstd_col_1,
            mask=in_cols_0 & in_cols_1,
            other=0.0,
        ).to(FLOAT)
        x_2 = tl.load(
            x_rows + cols_0 * x_col_0 + cols_1 * x_col_1 + x_stride_Two,
            mask=in_cols_0 & in_cols_1,
            other=0.0,
        ).to(FLOAT)
        total = total + tl.sum(
            (tl.where(False, grad_second, 0.0) + tl.where(True, grad_first, 0.0)) * (x * rstd),
            axis=1,
            keep_dims=True,
        )
        total_2 = total_2 + tl.sum(
            (tl.where(True, grad_second, 0.0) + tl.where(False, grad_first, 0.0)) * (x_2 * rstd),
            axis=1,
            keep_dims=True,
        )

    grad_weight_0 = tl.sum(total, axis=0, keep_dims=True)
    grad_weight_1 = tl.sum(total_2, axis=0, keep_dims=True)

    if NEEDS_GRAD_WEIGHT:
        tl.store(grad_weight_rows, narrow(grad_weight_0, grad_weight_ptr.dtype.element_ty))
        tl.store(
            grad_weight_rows + grad_weight_stride_Two,
            narrow(grad_weight_1, grad_weight_ptr.dtype.element_ty),
        )


@triton.jit
def _qk_norm_rope_backward_stage_1_partial(
    x_ptr,
    cos_ptr,
    sin_ptr,
    position_ptr,
    rstd_ptr,
    grad_out_ptr,
    partial_total_ptr,
    partial_total_2_ptr,
    D,
    ROWS_1,
    ROWS_2,
    COLS_0,
    COLS_1,
    P,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col_0,
    grad_out_col_1,
    grad_out_stride_Two,
    position_col_0,
    cos_row_0,
    cos_row_1,
    cos_row_2,
    cos_stride_P,
    sin_row_0,
    sin_row_1,
    sin_row_2,
    sin_stride_P,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col_0,
    x_col_1,
    rstd_col_0,
    rstd_col_1,
    x_stride_Two,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    SPLITS: tl.constexpr,
    CHUNK: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program reduces one chunk of a row to its partial states."""
    split = (tl.program_id(0) % SPLITS).to(INT)
    rows = (tl.program_id(0) // SPLITS).to(INT) + tl.arange(0, 1)[:, None]
    stop = tl.minimum((split + 1) * CHUNK, COLS_1)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    cos_rows = cos_ptr + row_0 * cos_row_0 + row_1 * cos_row_1 + row_2 * cos_row_2
    sin_rows = sin_ptr + row_0 * sin_row_0 + row_1 * sin_row_1 + row_2 * sin_row_2
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2

    total = tl.full((LANES, 1), 0.0, FLOAT)
    total_2 = tl.full((LANES, 1), 0.0, FLOAT)
    cols_0 = tl.zeros((1, 1), INT)
    in_cols_0 = below(cols_0, COLS_0, True)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols_1 = start + lane
        in_cols_1 = below(cols_1, stop, EVEN)

        grad_out_1 = tl.load(
            grad_out_rows + cols_0 * grad_out_col_0 + cols_1 * grad_out_col_1 + grad_out_stride_Two,
            mask=in_cols_0 & in_cols_1,
            other=0.0,
        ).to(FLOAT)
        position = tl.load(position_ptr + cols_0 * position_col_0, mask=in_cols_0, other=0)
        # c = take(cos, position, P)
        valid = (position >= 0) & (position < P)
        c = tl.load(
            cos_rows + tl.cast(position, INT) * cos_stride_P, mask=in_cols_0 & valid, other=0.0
        ).to(FLOAT)
        grad_out_0 = tl.load(
            grad_out_rows + cols_0 * grad_out_col_0 + cols_1 * grad_out_col_1,
            mask=in_cols_0 & in_cols_1,
            other=0.0,
        ).to(FLOAT)
        s = tl.load(
            sin_rows + tl.cast(position, INT) * sin_stride_P, mask=in_cols_0 & valid, other=0.0
        ).to(FLOAT)
        # first, second = unstack(x * rstd * weight, Two)
        grad_second = grad_out_1 * c + -grad_out_0 * s
        grad_first = grad_out_1 * s + grad_out_0 * c
        x = tl.load(
            x_rows + cols_0 * x_col_0 + cols_1 * x_col_1, mask=in_cols_0 & in_cols_1, other=0.0
        ).to(FLOAT)
        rstd = tl.load(
            rstd_ptr + cols_0 * rstd_col_0 + cols_1 * rstd_col_1,
            mask=in_cols_0 & in_cols_1,
            other=0.0,
        ).to(FLOAT)
        x_2 = tl.load(
            x_rows + cols_0 * x_col_0 + cols_1 * x_col_1 + x_stride_Two,
            mask=in_cols_0 & in_cols_1,
            other=0.0,
        ).to(FLOAT)
        total = total + tl.sum(
            (tl.where(False, grad_second, 0.0) + tl.where(True, grad_first, 0.0)) * (x * rstd),
            axis=1,
            keep_dims=True,
        )
        total_2 = total_2 + tl.sum(
            (tl.where(True, grad_second, 0.0) + tl.where(False, grad_first, 0.0)) * (x_2 * rstd),
            axis=1,
            keep_dims=True,
        )

    grad_weight_0 = tl.sum(total, axis=0, keep_dims=True)
    grad_weight_1 = tl.sum(total_2, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, grad_weight_0)
    tl.store(partial_total_2_ptr + rows * SPLITS + split, grad_weight_1)


@triton.jit
def _qk_norm_rope_backward_stage_1_finish(
    partial_total_ptr,
    partial_total_2_ptr,
    grad_weight_ptr,
    D,
    ROWS_1,
    ROWS_2,
    COLS_0,
    COLS_1,
    grad_weight_row_0,
    grad_weight_row_1,
    grad_weight_row_2,
    grad_weight_stride_Two,
    SPLITS: tl.constexpr,
    BLOCK_S: tl.constexpr,
    NEEDS_GRAD_WEIGHT: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program joins the partial states of a row."""
    rows = tl.program_id(0).to(INT) + tl.arange(0, 1)[:, None]
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    grad_weight_rows = (
        grad_weight_ptr
        + row_0 * grad_weight_row_0
        + row_1 * grad_weight_row_1
        + row_2 * grad_weight_row_2
    )

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    total_2 = tl.load(partial_total_2_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    grad_weight_0 = tl.sum(total, axis=0, keep_dims=True)
    grad_weight_1 = tl.sum(total_2, axis=0, keep_dims=True)

    if NEEDS_GRAD_WEIGHT:
        tl.store(grad_weight_rows, narrow(grad_weight_0, grad_weight_ptr.dtype.element_ty))
        tl.store(
            grad_weight_rows + grad_weight_stride_Two,
            narrow(grad_weight_1, grad_weight_ptr.dtype.element_ty),
        )


@triton.jit
def _qk_norm_rope_backward_stage_2_block(
    x_ptr,
    weight_ptr,
    cos_ptr,
    sin_ptr,
    position_ptr,
    rstd_ptr,
    grad_out_ptr,
    grad_x_ptr,
    ROWS,
    ROWS_1,
    ROWS_2,
    D,
    P,
    position_row_0,
    position_row_1,
    position_row_2,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    grad_out_stride_Two,
    weight_col,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    weight_stride_Two,
    x_stride_Two,
    cos_col,
    cos_stride_P,
    sin_col,
    sin_stride_P,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    grad_x_stride_Two,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    NEEDS_GRAD_X: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program holds BLOCK_M whole rows in registers."""
    rows = tl.program_id(0).to(INT) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    cols = tl.arange(0, BLOCK_N)[None, :].to(INT)
    in_cols = below(cols, D, EVEN_N)
    in_rows = below(rows, ROWS, EVEN_M)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    position_rows = (
        position_ptr + row_0 * position_row_0 + row_1 * position_row_1 + row_2 * position_row_2
    )
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    position = tl.load(position_rows, mask=in_rows, other=0, eviction_policy="evict_last")
    grad_out_1 = tl.load(
        grad_out_rows + cols * grad_out_col + grad_out_stride_Two,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    grad_out_0 = tl.load(
        grad_out_rows + cols * grad_out_col,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    weight = tl.load(
        weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    x = tl.load(
        x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    weight_2 = tl.load(
        weight_ptr + cols * weight_col + weight_stride_Two,
        mask=in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    x_2 = tl.load(
        x_rows + cols * x_col + x_stride_Two,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # c = take(cos, position, P)
    valid = (position >= 0) & (position < P)
    c = tl.load(
        cos_ptr + cols * cos_col + tl.cast(position, INT) * cos_stride_P,
        mask=in_rows & in_cols & valid,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    s = tl.load(
        sin_ptr + cols * sin_col + tl.cast(position, INT) * sin_stride_P,
        mask=in_rows & in_cols & valid,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    rstd = tl.load(rstd_rows, mask=in_rows, other=0.0, eviction_policy="evict_last")
    # first, second = unstack(x * rstd * weight, Two)
    grad_second = grad_out_1 * c + -grad_out_0 * s
    grad_first = grad_out_1 * s + grad_out_0 * c
    value = (tl.where(False, grad_second, 0.0) + tl.where(True, grad_first, 0.0)) * weight
    value_2 = (tl.where(True, grad_second, 0.0) + tl.where(False, grad_first, 0.0)) * weight_2
    # rstd = rsqrt(mean(x * x, (Two, D)) + eps)
    row_sum = tl.sum(value * x + value_2 * x_2, axis=1, keep_dims=True)
    value_3 = 2.0 * (
        -0.5
        * row_sum
        * (rstd.to(FLOAT) * rstd.to(FLOAT) * rstd.to(FLOAT))
        / (tl.cast(2, FLOAT) * tl.cast(D, FLOAT))
    )
    grad_x_0 = value * rstd.to(FLOAT) + value_3 * x
    grad_x_1 = value_2 * rstd.to(FLOAT) + value_3 * x_2
    if NEEDS_GRAD_X:
        tl.store(
            grad_x_rows + cols * grad_x_col,
            narrow(grad_x_0, grad_x_ptr.dtype.element_ty),
            mask=in_rows & in_cols,
        )
        tl.store(
            grad_x_rows + cols * grad_x_col + grad_x_stride_Two,
            narrow(grad_x_1, grad_x_ptr.dtype.element_ty),
            mask=in_rows & in_cols,
        )


@triton.jit
def _qk_norm_rope_backward_stage_2_loop(
    x_ptr,
    weight_ptr,
    cos_ptr,
    sin_ptr,
    position_ptr,
    rstd_ptr,
    grad_out_ptr,
    grad_x_ptr,
    ROWS,
    ROWS_1,
    ROWS_2,
    D,
    P,
    position_row_0,
    position_row_1,
    position_row_2,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    grad_out_stride_Two,
    cos_col,
    cos_stride_P,
    sin_col,
    sin_stride_P,
    weight_col,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    weight_stride_Two,
    x_stride_Two,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    grad_x_stride_Two,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    NEEDS_GRAD_X: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program goes over one row twice, block by block."""
    rows = tl.program_id(0).to(INT) + tl.arange(0, 1)[:, None]
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    position_rows = (
        position_ptr + row_0 * position_row_0 + row_1 * position_row_1 + row_2 * position_row_2
    )
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    position = tl.load(position_rows)
    # c = take(cos, position, P)
    valid = (position >= 0) & (position < P)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(0, D, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, D, EVEN)

        grad_out_1 = tl.load(
            grad_out_rows + cols * grad_out_col + grad_out_stride_Two,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        c = tl.load(
            cos_ptr + cols * cos_col + tl.cast(position, INT) * cos_stride_P,
            mask=in_cols & valid,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        grad_out_0 = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        s = tl.load(
            sin_ptr + cols * sin_col + tl.cast(position, INT) * sin_stride_P,
            mask=in_cols & valid,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        # first, second = unstack(x * rstd * weight, Two)
        grad_second = grad_out_1 * c + -grad_out_0 * s
        grad_first = grad_out_1 * s + grad_out_0 * c
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        weight_2 = tl.load(
            weight_ptr + cols * weight_col + weight_stride_Two,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        x_2 = tl.load(
            x_rows + cols * x_col + x_stride_Two,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        # rstd = rsqrt(mean(x * x, (Two, D)) + eps)
        total = total + tl.sum(
            (tl.where(False, grad_second, 0.0) + tl.where(True, grad_first, 0.0)) * weight * x
            + (tl.where(True, grad_second, 0.0) + tl.where(False, grad_first, 0.0))
            * weight_2
            * x_2,
            axis=1,
            keep_dims=True,
        )

    row_sum = tl.sum(total, axis=0, keep_dims=True)

    rstd = tl.load(rstd_rows).to(FLOAT)
    value = 2.0 * (-0.5 * row_sum * (rstd * rstd * rstd) / (tl.cast(2, FLOAT) * tl.cast(D, FLOAT)))

    for start in range(0, D, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, D, EVEN)

        grad_out_1 = tl.load(
            grad_out_rows + cols * grad_out_col + grad_out_stride_Two,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        c = tl.load(
            cos_ptr + cols * cos_col + tl.cast(position, INT) * cos_stride_P,
            mask=in_cols & valid,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        grad_out_0 = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        s = tl.load(
            sin_ptr + cols * sin_col + tl.cast(position, INT) * sin_stride_P,
            mask=in_cols & valid,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        grad_second = grad_out_1 * c + -grad_out_0 * s
        grad_first = grad_out_1 * s + grad_out_0 * c
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        grad_x_0 = (
            tl.where(False, grad_second, 0.0) + tl.where(True, grad_first, 0.0)
        ) * weight * rstd + value * x
        weight_2 = tl.load(
            weight_ptr + cols * weight_col + weight_stride_Two,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        x_2 = tl.load(
            x_rows + cols * x_col + x_stride_Two,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        grad_x_1 = (
            tl.where(True, grad_second, 0.0) + tl.where(False, grad_first, 0.0)
        ) * weight_2 * rstd + value * x_2
        if NEEDS_GRAD_X:
            tl.store(
                grad_x_rows + cols * grad_x_col,
                narrow(grad_x_0, grad_x_ptr.dtype.element_ty),
                mask=in_cols,
                cache_modifier=".cs",
            )
            tl.store(
                grad_x_rows + cols * grad_x_col + grad_x_stride_Two,
                narrow(grad_x_1, grad_x_ptr.dtype.element_ty),
                mask=in_cols,
                cache_modifier=".cs",
            )


@triton.jit
def _qk_norm_rope_backward_stage_2_partial(
    x_ptr,
    weight_ptr,
    cos_ptr,
    sin_ptr,
    position_ptr,
    grad_out_ptr,
    partial_total_ptr,
    ROWS,
    ROWS_1,
    ROWS_2,
    D,
    P,
    position_row_0,
    position_row_1,
    position_row_2,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    grad_out_stride_Two,
    cos_col,
    cos_stride_P,
    sin_col,
    sin_stride_P,
    weight_col,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    weight_stride_Two,
    x_stride_Two,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    SPLITS: tl.constexpr,
    CHUNK: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program reduces one chunk of a row to its partial states."""
    split = (tl.program_id(0) % SPLITS).to(INT)
    rows = (tl.program_id(0) // SPLITS).to(INT) + tl.arange(0, 1)[:, None]
    stop = tl.minimum((split + 1) * CHUNK, D)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    position_rows = (
        position_ptr + row_0 * position_row_0 + row_1 * position_row_1 + row_2 * position_row_2
    )
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2

    position = tl.load(position_rows)
    # c = take(cos, position, P)
    valid = (position >= 0) & (position < P)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        grad_out_1 = tl.load(
            grad_out_rows + cols * grad_out_col + grad_out_stride_Two, mask=in_cols, other=0.0
        ).to(FLOAT)
        c = tl.load(
            cos_ptr + cols * cos_col + tl.cast(position, INT) * cos_stride_P,
            mask=in_cols & valid,
            other=0.0,
        ).to(FLOAT)
        grad_out_0 = tl.load(grad_out_rows + cols * grad_out_col, mask=in_cols, other=0.0).to(FLOAT)
        s = tl.load(
            sin_ptr + cols * sin_col + tl.cast(position, INT) * sin_stride_P,
            mask=in_cols & valid,
            other=0.0,
        ).to(FLOAT)
        # first, second = unstack(x * rstd * weight, Two)
        grad_second = grad_out_1 * c + -grad_out_0 * s
        grad_first = grad_out_1 * s + grad_out_0 * c
        weight = tl.load(weight_ptr + cols * weight_col, mask=in_cols, other=0.0).to(FLOAT)
        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        weight_2 = tl.load(
            weight_ptr + cols * weight_col + weight_stride_Two, mask=in_cols, other=0.0
        ).to(FLOAT)
        x_2 = tl.load(x_rows + cols * x_col + x_stride_Two, mask=in_cols, other=0.0).to(FLOAT)
        # rstd = rsqrt(mean(x * x, (Two, D)) + eps)
        total = total + tl.sum(
            (tl.where(False, grad_second, 0.0) + tl.where(True, grad_first, 0.0)) * weight * x
            + (tl.where(True, grad_second, 0.0) + tl.where(False, grad_first, 0.0))
            * weight_2
            * x_2,
            axis=1,
            keep_dims=True,
        )

    row_sum = tl.sum(total, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, row_sum)


@triton.jit
def _qk_norm_rope_backward_stage_2_finish(
    partial_total_ptr,
    x_ptr,
    weight_ptr,
    cos_ptr,
    sin_ptr,
    position_ptr,
    rstd_ptr,
    grad_out_ptr,
    grad_x_ptr,
    ROWS,
    ROWS_1,
    ROWS_2,
    D,
    P,
    position_row_0,
    position_row_1,
    position_row_2,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    grad_out_stride_Two,
    cos_col,
    cos_stride_P,
    sin_col,
    sin_stride_P,
    weight_col,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    weight_stride_Two,
    x_stride_Two,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    grad_x_stride_Two,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    SPLITS: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK_S: tl.constexpr,
    NEEDS_GRAD_X: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program joins the partial states of a row, then goes over one chunk of it."""
    split = (tl.program_id(0) % SPLITS).to(INT)
    rows = (tl.program_id(0) // SPLITS).to(INT) + tl.arange(0, 1)[:, None]
    stop = tl.minimum((split + 1) * CHUNK, D)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    position_rows = (
        position_ptr + row_0 * position_row_0 + row_1 * position_row_1 + row_2 * position_row_2
    )
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_sum = tl.sum(total, axis=0, keep_dims=True)
    position = tl.load(position_rows)
    # c = take(cos, position, P)
    valid = (position >= 0) & (position < P)
    rstd = tl.load(rstd_rows).to(FLOAT)
    # rstd = rsqrt(mean(x * x, (Two, D)) + eps)
    value = 2.0 * (-0.5 * row_sum * (rstd * rstd * rstd) / (tl.cast(2, FLOAT) * tl.cast(D, FLOAT)))

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        grad_out_1 = tl.load(
            grad_out_rows + cols * grad_out_col + grad_out_stride_Two, mask=in_cols, other=0.0
        ).to(FLOAT)
        c = tl.load(
            cos_ptr + cols * cos_col + tl.cast(position, INT) * cos_stride_P,
            mask=in_cols & valid,
            other=0.0,
        ).to(FLOAT)
        grad_out_0 = tl.load(grad_out_rows + cols * grad_out_col, mask=in_cols, other=0.0).to(FLOAT)
        s = tl.load(
            sin_ptr + cols * sin_col + tl.cast(position, INT) * sin_stride_P,
            mask=in_cols & valid,
            other=0.0,
        ).to(FLOAT)
        # first, second = unstack(x * rstd * weight, Two)
        grad_second = grad_out_1 * c + -grad_out_0 * s
        grad_first = grad_out_1 * s + grad_out_0 * c
        weight = tl.load(weight_ptr + cols * weight_col, mask=in_cols, other=0.0).to(FLOAT)
        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        grad_x_0 = (
            tl.where(False, grad_second, 0.0) + tl.where(True, grad_first, 0.0)
        ) * weight * rstd + value * x
        weight_2 = tl.load(
            weight_ptr + cols * weight_col + weight_stride_Two, mask=in_cols, other=0.0
        ).to(FLOAT)
        x_2 = tl.load(x_rows + cols * x_col + x_stride_Two, mask=in_cols, other=0.0).to(FLOAT)
        grad_x_1 = (
            tl.where(True, grad_second, 0.0) + tl.where(False, grad_first, 0.0)
        ) * weight_2 * rstd + value * x_2
        if NEEDS_GRAD_X:
            tl.store(
                grad_x_rows + cols * grad_x_col,
                narrow(grad_x_0, grad_x_ptr.dtype.element_ty),
                mask=in_cols,
                cache_modifier=".cs",
            )
            tl.store(
                grad_x_rows + cols * grad_x_col + grad_x_stride_Two,
                narrow(grad_x_1, grad_x_ptr.dtype.element_ty),
                mask=in_cols,
                cache_modifier=".cs",
            )


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("B", "S", "H"), limit=3, spare_last=True)
    cols = call.axes(("D",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=2, writes=2, flops=14, joins=1, held=4, held_wide=5)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=2, writes=2, flops=14.25, rereads=2, joins=1, passes=2, held=2.4, held_wide=3
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=2,
            writes=2,
            flops=14.625,
            special=0.25,
            rereads=2,
            joins=1,
            passes=2,
            held=2.4,
            held_wide=3,
        )
        return split_cost(config, call.target, work, call.element_size, rows.total, columns)

    split = least(call, LOOP_CONFIGS, split_time)

    if call.takes("split", split < min(block, loop)):
        config = call.choose(LOOP_CONFIGS, split_time)
        splits, chunk = split_row(call.target, rows.total, columns, config["TILE"])
        vector = max(1, 16 // call.element_size)
        even = columns > 0 and columns % config["TILE"] == 0
        return Launch(
            Step(
                _qk_norm_rope_partial,
                grid=(rows.total * splits,),
                tensors=("x", "partial_total"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    call.stride("x", "Two"),
                ),
                constants={
                    "LANES": config["TILE"] // vector,
                    "VECTOR": vector,
                    "EVEN": even,
                    "SPLITS": splits,
                    "CHUNK": chunk,
                },
                config=config,
            ),
            Step(
                _qk_norm_rope_finish,
                grid=(rows.total * splits,),
                tensors=("partial_total", "x", "weight", "cos", "sin", "position", "out", "rstd"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    call.sizes["P"],
                    *rows.strides("position"),
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    cols.strides("weight")[0],
                    cols.strides("cos")[0],
                    call.stride("cos", "P"),
                    call.stride("x", "Two"),
                    call.stride("weight", "Two"),
                    cols.strides("sin")[0],
                    call.stride("sin", "P"),
                    *rows.strides("out"),
                    cols.strides("out")[0],
                    call.stride("out", "Two"),
                    *rows.strides("rstd"),
                ),
                params=("eps",),
                constants={
                    "LANES": config["TILE"] // vector,
                    "VECTOR": vector,
                    "EVEN": even,
                    "SPLITS": splits,
                    "CHUNK": chunk,
                    "BLOCK_S": next_power_of_2(splits),
                    "NEEDS_RSTD": call.needs("rstd"),
                },
                config=config,
            ),
            workspaces={
                "partial_total": ((rows.total, splits), call.float),
            },
        )

    if call.takes("block", block <= loop):
        config = call.choose(BLOCK_CONFIGS, block_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        return Launch(
            Step(
                _qk_norm_rope_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "weight", "cos", "sin", "position", "out", "rstd"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    call.sizes["P"],
                    *rows.strides("position"),
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    call.stride("x", "Two"),
                    cols.strides("weight")[0],
                    call.stride("weight", "Two"),
                    cols.strides("cos")[0],
                    call.stride("cos", "P"),
                    cols.strides("sin")[0],
                    call.stride("sin", "P"),
                    *rows.strides("out"),
                    cols.strides("out")[0],
                    call.stride("out", "Two"),
                    *rows.strides("rstd"),
                ),
                params=("eps",),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_N": width,
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                    "EARLY": width <= 4096,
                    "NEEDS_RSTD": call.needs("rstd"),
                },
                config=config,
            )
        )

    config = call.choose(LOOP_CONFIGS, loop_time)
    vector = max(1, 16 // call.element_size)
    even = columns > 0 and columns % config["TILE"] == 0
    return Launch(
        Step(
            _qk_norm_rope_loop,
            grid=(rows.total,),
            tensors=("x", "weight", "cos", "sin", "position", "out", "rstd"),
            integers=(
                rows.total,
                *rows.sizes[1:],
                cols.total,
                call.sizes["P"],
                *rows.strides("x"),
                cols.strides("x")[0],
                call.stride("x", "Two"),
                *rows.strides("position"),
                cols.strides("weight")[0],
                cols.strides("cos")[0],
                call.stride("cos", "P"),
                call.stride("weight", "Two"),
                cols.strides("sin")[0],
                call.stride("sin", "P"),
                *rows.strides("out"),
                cols.strides("out")[0],
                call.stride("out", "Two"),
                *rows.strides("rstd"),
            ),
            params=("eps",),
            constants={
                "LANES": config["TILE"] // vector,
                "VECTOR": vector,
                "EVEN": even,
                "NEEDS_RSTD": call.needs("rstd"),
            },
            config=config,
        )
    )


def _plan_backward_stage_1(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    call = call.among("x", "weight", "cos", "sin", "position", "rstd", "grad_out", "grad_weight")
    rows = call.axes(("D",), limit=3, spare_last=True)
    cols_0 = call.axes(("B", "S"), limit=1)
    cols_1 = call.axes(("H",), limit=1)
    height, length = cols_0.total, cols_1.total
    columns = height * length
    width = next_power_of_2(height) * next_power_of_2(length)

    def block_time(config: Config) -> float:
        work = Work(reads=4, writes=0, flops=19.375, joins=4, held=3.625, held_wide=6.5)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BACKWARD_BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(reads=4, writes=0, flops=19.875, joins=2, held=2.25, held_wide=3.3)
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, BACKWARD_LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(reads=4, writes=0, flops=19.875, joins=4, held=2.25, held_wide=3.3)
        return split_cost(config, call.target, work, call.element_size, rows.total, columns)

    split = least(call, BACKWARD_LOOP_CONFIGS, split_time)

    if height == 1 and call.takes("split", split < min(block, loop)):
        config = call.choose(BACKWARD_LOOP_CONFIGS, split_time)
        splits, chunk = split_row(call.target, rows.total, columns, config["TILE"])
        vector = max(1, 16 // call.element_size)
        even = columns > 0 and columns % config["TILE"] == 0
        return Launch(
            Step(
                _qk_norm_rope_backward_stage_1_partial,
                grid=(rows.total * splits,),
                tensors=(
                    "x",
                    "cos",
                    "sin",
                    "position",
                    "rstd",
                    "grad_out",
                    "partial_total",
                    "partial_total_2",
                ),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols_0.total,
                    cols_1.total,
                    call.sizes["P"],
                    *rows.strides("grad_out"),
                    cols_0.strides("grad_out")[0],
                    cols_1.strides("grad_out")[0],
                    call.stride("grad_out", "Two"),
                    cols_0.strides("position")[0],
                    *rows.strides("cos"),
                    call.stride("cos", "P"),
                    *rows.strides("sin"),
                    call.stride("sin", "P"),
                    *rows.strides("x"),
                    cols_0.strides("x")[0],
                    cols_1.strides("x")[0],
                    cols_0.strides("rstd")[0],
                    cols_1.strides("rstd")[0],
                    call.stride("x", "Two"),
                ),
                constants={
                    "LANES": config["TILE"] // vector,
                    "VECTOR": vector,
                    "EVEN": even,
                    "SPLITS": splits,
                    "CHUNK": chunk,
                },
                config=config,
            ),
            Step(
                _qk_norm_rope_backward_stage_1_finish,
                grid=(rows.total,),
                tensors=("partial_total", "partial_total_2", "grad_weight"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols_0.total,
                    cols_1.total,
                    *rows.strides("grad_weight"),
                    call.stride("grad_weight", "Two"),
                ),
                constants={
                    "SPLITS": splits,
                    "BLOCK_S": next_power_of_2(splits),
                    "NEEDS_GRAD_WEIGHT": call.needs("grad_weight"),
                },
                config=config,
            ),
            workspaces={
                "partial_total": ((rows.total, splits), call.float),
                "partial_total_2": ((rows.total, splits), call.float),
            },
        )

    if call.takes("block", block <= loop):
        config = call.choose(BACKWARD_BLOCK_CONFIGS, block_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        return Launch(
            Step(
                _qk_norm_rope_backward_stage_1_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "cos", "sin", "position", "rstd", "grad_out", "grad_weight"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols_0.total,
                    cols_1.total,
                    call.sizes["P"],
                    cols_0.strides("position")[0],
                    *rows.strides("grad_out"),
                    cols_0.strides("grad_out")[0],
                    cols_1.strides("grad_out")[0],
                    call.stride("grad_out", "Two"),
                    *rows.strides("x"),
                    cols_0.strides("x")[0],
                    cols_1.strides("x")[0],
                    cols_0.strides("rstd")[0],
                    cols_1.strides("rstd")[0],
                    call.stride("x", "Two"),
                    *rows.strides("cos"),
                    call.stride("cos", "P"),
                    *rows.strides("sin"),
                    call.stride("sin", "P"),
                    *rows.strides("grad_weight"),
                    call.stride("grad_weight", "Two"),
                ),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_0": next_power_of_2(height),
                    "BLOCK_1": next_power_of_2(length),
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                    "NEEDS_GRAD_WEIGHT": call.needs("grad_weight"),
                },
                config=config,
            )
        )

    config = call.choose(BACKWARD_LOOP_CONFIGS, loop_time)
    vector = max(1, 16 // call.element_size)
    span = min(config["TILE"], max(vector, next_power_of_2(length)))
    even = columns > 0 and length % span == 0 and height % (config["TILE"] // span) == 0
    return Launch(
        Step(
            _qk_norm_rope_backward_stage_1_loop,
            grid=(rows.total,),
            tensors=("x", "cos", "sin", "position", "rstd", "grad_out", "grad_weight"),
            integers=(
                rows.total,
                *rows.sizes[1:],
                cols_0.total,
                cols_1.total,
                call.sizes["P"],
                *rows.strides("grad_out"),
                cols_0.strides("grad_out")[0],
                cols_1.strides("grad_out")[0],
                call.stride("grad_out", "Two"),
                cols_0.strides("position")[0],
                *rows.strides("cos"),
                call.stride("cos", "P"),
                *rows.strides("sin"),
                call.stride("sin", "P"),
                *rows.strides("x"),
                cols_0.strides("x")[0],
                cols_1.strides("x")[0],
                cols_0.strides("rstd")[0],
                cols_1.strides("rstd")[0],
                call.stride("x", "Two"),
                *rows.strides("grad_weight"),
                call.stride("grad_weight", "Two"),
            ),
            constants={
                "LANES": config["TILE"] // vector,
                "VECTOR": vector,
                "EVEN": even,
                "WIDTH": span,
                "NEEDS_GRAD_WEIGHT": call.needs("grad_weight"),
            },
            config=config,
        )
    )


def _plan_backward_stage_2(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    call = call.among("x", "weight", "cos", "sin", "position", "rstd", "grad_out", "grad_x")
    rows = call.axes(("B", "S", "H"), limit=3, spare_last=True)
    cols = call.axes(("D",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=4, writes=2, flops=25, joins=1, held=5, held_wide=9)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BACKWARD_BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=4, writes=2, flops=40.25, rereads=4, joins=1, passes=2, held=2.475, held_wide=3.75
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, BACKWARD_LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=4,
            writes=2,
            flops=40.75,
            special=0.125,
            rereads=4,
            joins=1,
            passes=2,
            held=2.475,
            held_wide=3.75,
        )
        return split_cost(config, call.target, work, call.element_size, rows.total, columns)

    split = least(call, BACKWARD_LOOP_CONFIGS, split_time)

    if call.takes("split", split < min(block, loop)):
        config = call.choose(BACKWARD_LOOP_CONFIGS, split_time)
        splits, chunk = split_row(call.target, rows.total, columns, config["TILE"])
        vector = max(1, 16 // call.element_size)
        even = columns > 0 and columns % config["TILE"] == 0
        return Launch(
            Step(
                _qk_norm_rope_backward_stage_2_partial,
                grid=(rows.total * splits,),
                tensors=("x", "weight", "cos", "sin", "position", "grad_out", "partial_total"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    call.sizes["P"],
                    *rows.strides("position"),
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    call.stride("grad_out", "Two"),
                    cols.strides("cos")[0],
                    call.stride("cos", "P"),
                    cols.strides("sin")[0],
                    call.stride("sin", "P"),
                    cols.strides("weight")[0],
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    call.stride("weight", "Two"),
                    call.stride("x", "Two"),
                ),
                constants={
                    "LANES": config["TILE"] // vector,
                    "VECTOR": vector,
                    "EVEN": even,
                    "SPLITS": splits,
                    "CHUNK": chunk,
                },
                config=config,
            ),
            Step(
                _qk_norm_rope_backward_stage_2_finish,
                grid=(rows.total * splits,),
                tensors=(
                    "partial_total",
                    "x",
                    "weight",
                    "cos",
                    "sin",
                    "position",
                    "rstd",
                    "grad_out",
                    "grad_x",
                ),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    call.sizes["P"],
                    *rows.strides("position"),
                    *rows.strides("rstd"),
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    call.stride("grad_out", "Two"),
                    cols.strides("cos")[0],
                    call.stride("cos", "P"),
                    cols.strides("sin")[0],
                    call.stride("sin", "P"),
                    cols.strides("weight")[0],
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    call.stride("weight", "Two"),
                    call.stride("x", "Two"),
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
                    call.stride("grad_x", "Two"),
                ),
                constants={
                    "LANES": config["TILE"] // vector,
                    "VECTOR": vector,
                    "EVEN": even,
                    "SPLITS": splits,
                    "CHUNK": chunk,
                    "BLOCK_S": next_power_of_2(splits),
                    "NEEDS_GRAD_X": call.needs("grad_x"),
                },
                config=config,
            ),
            workspaces={
                "partial_total": ((rows.total, splits), call.float),
            },
        )

    if call.takes("block", block <= loop):
        config = call.choose(BACKWARD_BLOCK_CONFIGS, block_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        return Launch(
            Step(
                _qk_norm_rope_backward_stage_2_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "weight", "cos", "sin", "position", "rstd", "grad_out", "grad_x"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    call.sizes["P"],
                    *rows.strides("position"),
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    call.stride("grad_out", "Two"),
                    cols.strides("weight")[0],
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    call.stride("weight", "Two"),
                    call.stride("x", "Two"),
                    cols.strides("cos")[0],
                    call.stride("cos", "P"),
                    cols.strides("sin")[0],
                    call.stride("sin", "P"),
                    *rows.strides("rstd"),
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
                    call.stride("grad_x", "Two"),
                ),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_N": width,
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                    "NEEDS_GRAD_X": call.needs("grad_x"),
                },
                config=config,
            )
        )

    config = call.choose(BACKWARD_LOOP_CONFIGS, loop_time)
    vector = max(1, 16 // call.element_size)
    even = columns > 0 and columns % config["TILE"] == 0
    return Launch(
        Step(
            _qk_norm_rope_backward_stage_2_loop,
            grid=(rows.total,),
            tensors=("x", "weight", "cos", "sin", "position", "rstd", "grad_out", "grad_x"),
            integers=(
                rows.total,
                *rows.sizes[1:],
                cols.total,
                call.sizes["P"],
                *rows.strides("position"),
                *rows.strides("grad_out"),
                cols.strides("grad_out")[0],
                call.stride("grad_out", "Two"),
                cols.strides("cos")[0],
                call.stride("cos", "P"),
                cols.strides("sin")[0],
                call.stride("sin", "P"),
                cols.strides("weight")[0],
                *rows.strides("x"),
                cols.strides("x")[0],
                call.stride("weight", "Two"),
                call.stride("x", "Two"),
                *rows.strides("rstd"),
                *rows.strides("grad_x"),
                cols.strides("grad_x")[0],
                call.stride("grad_x", "Two"),
            ),
            constants={
                "LANES": config["TILE"] // vector,
                "VECTOR": vector,
                "EVEN": even,
                "NEEDS_GRAD_X": call.needs("grad_x"),
            },
            config=config,
        )
    )


def _plan_backward(call: Call) -> Launch:
    """Stage after stage;  in memory between them."""
    return in_stages(
        _plan_backward_stage_1(call) if call.needs("grad_weight") else None,
        _plan_backward_stage_2(call) if call.needs("grad_x") else None,
    )


def reference(x, weight, cos, sin, position, eps, *, compute):
    """RMS-normalise each head of the queries or the keys, then rotate its halves.

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    D = cos.shape[1]
    x = widen(x.unflatten(3, (2, D)), compute)
    weight = widen(weight.unflatten(0, (2, D)), compute)
    cos = widen(cos.permute(1, 0), compute)
    sin = widen(sin.permute(1, 0), compute)
    # rstd = rsqrt(mean(x * x, (Two, D)) + eps)
    rstd = torch.rsqrt((x * x).mean((3, 4)) + eps)
    # first, second = unstack(x * rstd * weight, Two)
    value = x * rstd[:, :, :, None, None] * weight
    first = value.select(3, 0)
    # c = take(cos, position, P)
    c = take_last(cos, position[:, :, None])
    second = value.select(3, 1)
    # s = take(sin, position, P)
    s = take_last(sin, position[:, :, None])
    return torch.stack(
        (
            first * c[:, :, None, :] - second * s[:, :, None, :],
            second * c[:, :, None, :] + first * s[:, :, None, :],
        ),
        3,
    ).flatten(3, 4), rstd


def reference_backward(x, weight, cos, sin, position, rstd, grad_out, eps, *, compute):
    """The gradient of `reference`, as the kernels compute it."""
    D = cos.shape[1]
    x = widen(x.unflatten(3, (2, D)), compute)
    weight = widen(weight.unflatten(0, (2, D)), compute)
    cos = widen(cos.permute(1, 0), compute)
    sin = widen(sin.permute(1, 0), compute)
    rstd = widen(rstd, compute)
    grad_out = widen(grad_out.unflatten(3, (2, D)), compute)
    value = grad_out.select(3, 1)
    # c = take(cos, position, P)
    c = take_last(cos, position[:, :, None])
    value_2 = grad_out.select(3, 0)
    # s = take(sin, position, P)
    s = take_last(sin, position[:, :, None])
    # first, second = unstack(x * rstd * weight, Two)
    grad_second = value * c[:, :, None, :] + -value_2 * s[:, :, None, :]
    grad_first = value * s[:, :, None, :] + value_2 * c[:, :, None, :]
    value_3 = torch.where(
        (torch.arange(2, device=x.device) == 1)[:, None], grad_second[:, :, :, None, :], 0.0
    ) + torch.where(
        (torch.arange(2, device=x.device) == 0)[:, None], grad_first[:, :, :, None, :], 0.0
    )
    value_4 = value_3 * weight
    # rstd = rsqrt(mean(x * x, (Two, D)) + eps)
    grad_rstd = (value_4 * x).sum((3, 4))
    grad_x = (
        value_4 * rstd[:, :, :, None, None]
        + (2.0 * (-0.5 * grad_rstd * (rstd * rstd * rstd) / (float(2) * float(D))))[
            :, :, :, None, None
        ]
        * x
    )
    grad_weight = (value_3 * (x * rstd[:, :, :, None, None])).sum((0, 1, 2))
    return grad_x.flatten(3, 4), grad_weight.flatten(0, 1)


BACKWARD = Op(
    name="qk_norm_rope_backward",
    spec_hash="ffec5b43",
    inputs=(
        Operand("x", ("B", "S", "H", ("Two", "D"))),
        Operand("weight", (("Two", "D"),)),
        Operand("cos", ("P", "D")),
        Operand("sin", ("P", "D")),
        Operand("position", ("B", "S"), kind="int"),
        Operand("rstd", ("B", "S", "H")),
        Operand("grad_out", ("B", "S", "H", ("Two", "D"))),
    ),
    params=(Param("eps", "float", 1e-06),),
    outputs=(
        Output("grad_x", ("B", "S", "H", ("Two", "D")), like="x"),
        Output("grad_weight", (("Two", "D"),), like="weight"),
    ),
    fold="B",
    static_sizes={"Two": 2},
    shards={"B": ("grad_weight",), "S": ("grad_weight",), "H": ("grad_weight",)},
    partial=True,
    variants={
        (): Variant(_plan_backward, reference_backward),
    },
)
OP = Op(
    name="qk_norm_rope",
    spec_hash="ffec5b43",
    inputs=(
        Operand("x", ("B", "S", "H", ("Two", "D"))),
        Operand("weight", (("Two", "D"),)),
        Operand("cos", ("P", "D")),
        Operand("sin", ("P", "D")),
        Operand("position", ("B", "S"), kind="int"),
    ),
    params=(Param("eps", "float", 1e-06),),
    outputs=(Output("out", ("B", "S", "H", ("Two", "D")), like="x"),),
    saved=(Output("rstd", ("B", "S", "H"), dtype="float"),),
    fold="B",
    static_sizes={"Two": 2},
    inplace=("x",),
    shards={"B": (), "S": (), "H": ()},
    gradients=Gradients({"out": "grad_out"}, BACKWARD),
    variants={
        (): Variant(_plan, reference, gradients={"x": "grad_x", "weight": "grad_weight"}),
    },
)


def qk_norm_rope(
    x: torch.Tensor,
    weight: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    position: torch.Tensor,
    eps: float = 1e-06,
    *,
    out: torch.Tensor | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> torch.Tensor:
    """RMS-normalise each head of the queries or the keys, then rotate its halves.

    As in Qwen3; the rotation is that of rope (Su et al., arXiv:2104.09864).

    Args:
        x: [B, S, H, Two * D], floats.
        weight: [Two * D], floats.
        cos: [P, D], floats.
        sin: [P, D], floats.
        position: [B, S], integers.
        eps: float.
        out: where to write out.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        out: [B, S, H, Two * D], the type of x.
        B may stand for several dimensions.
    """
    tensors = (x, weight, cos, sin, position)
    params = (eps,)
    return OP(tensors, params, out, backend, autotune)
