"""RMS-normalise each head of the queries or the keys, then rotate its halves.

As in Qwen3; the rotation is that of rope (Su et al., arXiv:2104.09864).

Built by tilegen 0.1.0 from specs/qk_norm_rope.py (spec d00ab77b, templates 950bbb1d).
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
    Param,
    Step,
    Variant,
    block_cost,
    cdiv,
    fold,
    loop_cost,
    minimum,
    narrow,
    next_power_of_2,
    scalar,
    split_row,
    splits_pay,
    take_last,
    widen,
)

#: Columns that one program holds in registers; wider rows are swept block by block.
WIDEST_BLOCK = 32768

#: Configs of the block kernels.
BLOCK_CONFIGS = {
    ("sm_80", 2): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("sm_80", 4): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("sm_90", 2): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("sm_90", 4): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("sm_100", 2): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("sm_100", 4): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("sm_89", 2): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("sm_89", 4): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("sm_86", 2): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("sm_86", 4): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("sm_120", 2): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("sm_120", 4): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("gfx90a", 2): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("gfx90a", 4): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("gfx942", 2): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("gfx942", 4): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("gfx950", 2): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("gfx950", 4): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
}

#: Configs of the loop kernels.
LOOP_CONFIGS = {
    ("sm_80", 2): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("sm_80", 4): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("sm_90", 2): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("sm_90", 4): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("sm_100", 2): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("sm_100", 4): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("sm_89", 2): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("sm_89", 4): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("sm_86", 2): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("sm_86", 4): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("sm_120", 2): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("sm_120", 4): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("gfx90a", 2): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("gfx90a", 4): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("gfx942", 2): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("gfx942", 4): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("gfx950", 2): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("gfx950", 4): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
}


@triton.jit
def _qk_norm_rope_block(
    x_ptr,
    weight_ptr,
    cos_ptr,
    sin_ptr,
    position_ptr,
    out_ptr,
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
    weight_col,
    position_row_0,
    position_row_1,
    position_row_2,
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
    eps,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program holds BLOCK_M whole rows in registers."""
    rows = tl.program_id(0).to(INT) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    cols = tl.arange(0, BLOCK_N)[None, :]
    in_cols = cols < D
    in_rows = rows < ROWS
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    position_rows = (
        position_ptr + row_0 * position_row_0 + row_1 * position_row_1 + row_2 * position_row_2
    )
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    eps = scalar(eps, FLOAT)

    x_0 = tl.load(
        x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_first"
    ).to(FLOAT)
    x = tl.load(
        x_rows + cols * x_col + x_stride_Two,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_first",
    ).to(FLOAT)
    # rstd = rsqrt(mean(x * x, (Two, D)) + eps)
    row_sum = tl.sum(x_0 * x_0 + x * x, axis=1, keep_dims=True)
    rstd = tl.rsqrt(row_sum / (2 * D) + eps)
    weight_0 = tl.load(
        weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    # first, second = unstack(x * rstd * weight, Two)
    first = x_0 * rstd * weight_0
    position = tl.load(position_rows, mask=in_rows, other=0)
    # c = take(cos, position, P)
    ands = (position >= 0) & (position < P)
    cos = tl.load(
        cos_ptr + cols * cos_col + position * cos_stride_P,
        mask=in_rows & in_cols & ands,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    weight_1 = tl.load(
        weight_ptr + cols * weight_col + weight_stride_Two,
        mask=in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    second = x * rstd * weight_1
    sin = tl.load(
        sin_ptr + cols * sin_col + position * sin_stride_P,
        mask=in_rows & in_cols & ands,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # return stack(first * c - second * s, second * c + first * s, dim=Two)
    tl.store(
        out_rows + cols * out_col,
        narrow(first * cos - second * sin, out_ptr.dtype.element_ty),
        mask=in_rows & in_cols,
    )
    tl.store(
        out_rows + cols * out_col + out_stride_Two,
        narrow(second * cos + first * sin, out_ptr.dtype.element_ty),
        mask=in_rows & in_cols,
    )


@triton.jit
def _qk_norm_rope_loop(
    x_ptr,
    weight_ptr,
    cos_ptr,
    sin_ptr,
    position_ptr,
    out_ptr,
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
    eps,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program goes over one row 2 times, block by block."""
    rows = tl.program_id(0).to(INT) + tl.arange(0, 1)[:, None]
    lane = tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    position_rows = (
        position_ptr + row_0 * position_row_0 + row_1 * position_row_1 + row_2 * position_row_2
    )
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    eps = scalar(eps, FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(0, D, LANES * VECTOR):
        cols = start + lane
        in_cols = cols < D
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

    rstd = tl.rsqrt(row_sum / (2 * D) + eps)
    position = tl.load(position_rows)
    # c = take(cos, position, P)
    ands = (position >= 0) & (position < P)

    for start in range(0, D, LANES * VECTOR):
        cols = start + lane
        in_cols = cols < D
        x_0 = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        weight_0 = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # first, second = unstack(x * rstd * weight, Two)
        first = x_0 * rstd * weight_0
        cos = tl.load(
            cos_ptr + cols * cos_col + position * cos_stride_P,
            mask=in_cols & ands,
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
        sin = tl.load(
            sin_ptr + cols * sin_col + position * sin_stride_P,
            mask=in_cols & ands,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        # return stack(first * c - second * s, second * c + first * s, dim=Two)
        tl.store(
            out_rows + cols * out_col,
            narrow(first * cos - second * sin, out_ptr.dtype.element_ty),
            mask=in_cols,
        )
        tl.store(
            out_rows + cols * out_col + out_stride_Two,
            narrow(second * cos + first * sin, out_ptr.dtype.element_ty),
            mask=in_cols,
        )


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
    eps,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    SPLITS: tl.constexpr,
    CHUNK: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program reduces one chunk of a row to its partial states."""
    split = tl.program_id(0) % SPLITS
    rows = (tl.program_id(0) // SPLITS).to(INT) + tl.arange(0, 1)[:, None]
    stop = tl.minimum((split + 1) * CHUNK, D)
    lane = tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2

    eps = scalar(eps, FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = cols < stop
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
    eps,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    SPLITS: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK_S: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program joins the partial states of a row, then goes over one chunk of it."""
    split = tl.program_id(0) % SPLITS
    rows = (tl.program_id(0) // SPLITS).to(INT) + tl.arange(0, 1)[:, None]
    stop = tl.minimum((split + 1) * CHUNK, D)
    lane = tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    position_rows = (
        position_ptr + row_0 * position_row_0 + row_1 * position_row_1 + row_2 * position_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    eps = scalar(eps, FLOAT)

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_sum = tl.sum(total, axis=0, keep_dims=True)
    # rstd = rsqrt(mean(x * x, (Two, D)) + eps)
    rstd = tl.rsqrt(row_sum / (2 * D) + eps)
    position = tl.load(position_rows)
    # c = take(cos, position, P)
    ands = (position >= 0) & (position < P)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = cols < stop
        x_0 = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        weight_0 = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # first, second = unstack(x * rstd * weight, Two)
        first = x_0 * rstd * weight_0
        cos = tl.load(
            cos_ptr + cols * cos_col + position * cos_stride_P,
            mask=in_cols & ands,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        x = tl.load(
            x_rows + cols * x_col + x_stride_Two,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        weight_1 = tl.load(
            weight_ptr + cols * weight_col + weight_stride_Two,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        second = x * rstd * weight_1
        sin = tl.load(
            sin_ptr + cols * sin_col + position * sin_stride_P,
            mask=in_cols & ands,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        # return stack(first * c - second * s, second * c + first * s, dim=Two)
        tl.store(
            out_rows + cols * out_col,
            narrow(first * cos - second * sin, out_ptr.dtype.element_ty),
            mask=in_cols,
        )
        tl.store(
            out_rows + cols * out_col + out_stride_Two,
            narrow(second * cos + first * sin, out_ptr.dtype.element_ty),
            mask=in_cols,
        )


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("B", "S", "H"), limit=3)
    cols = call.axes(("D",), limit=1)
    width = next_power_of_2(cols.total)
    if call.takes("split", splits_pay(call.target, rows.total, cols.total)):
        config = call.choose(
            LOOP_CONFIGS, lambda config: loop_cost(config, call.target, rows.total, cols.total)
        )
        splits, chunk = split_row(call.target, rows.total, cols.total, config["TILE"])
        vector = max(1, 16 // call.element_size)
        lanes = {"LANES": config["TILE"] // vector, "VECTOR": vector}
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
                params=("eps",),
                constants={**lanes, "SPLITS": splits, "CHUNK": chunk},
                config=config,
            ),
            Step(
                _qk_norm_rope_finish,
                grid=(rows.total * splits,),
                tensors=("partial_total", "x", "weight", "cos", "sin", "position", "out"),
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
                ),
                params=("eps",),
                constants={
                    **lanes,
                    "CHUNK": chunk,
                    "SPLITS": splits,
                    "BLOCK_S": next_power_of_2(splits),
                },
                config=config,
            ),
            workspaces={
                "partial_total": ((rows.total, splits), call.float),
            },
        )
    if call.takes("block", width <= WIDEST_BLOCK):
        config = call.choose(
            BLOCK_CONFIGS, lambda config: block_cost(config, call.target, rows.total, width)
        )
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        return Launch(
            Step(
                _qk_norm_rope_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "weight", "cos", "sin", "position", "out"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    call.sizes["P"],
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    call.stride("x", "Two"),
                    cols.strides("weight")[0],
                    *rows.strides("position"),
                    cols.strides("cos")[0],
                    call.stride("cos", "P"),
                    call.stride("weight", "Two"),
                    cols.strides("sin")[0],
                    call.stride("sin", "P"),
                    *rows.strides("out"),
                    cols.strides("out")[0],
                    call.stride("out", "Two"),
                ),
                params=("eps",),
                constants={"BLOCK_M": block_m, "BLOCK_N": width},
                config=config,
            )
        )

    config = call.choose(
        LOOP_CONFIGS, lambda config: loop_cost(config, call.target, rows.total, cols.total)
    )
    vector = max(1, 16 // call.element_size)
    return Launch(
        Step(
            _qk_norm_rope_loop,
            grid=(rows.total,),
            tensors=("x", "weight", "cos", "sin", "position", "out"),
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
            ),
            params=("eps",),
            constants={"LANES": config["TILE"] // vector, "VECTOR": vector},
            config=config,
        )
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
    ).flatten(3, 4)


OP = Op(
    name="qk_norm_rope",
    spec_hash="d00ab77b",
    inputs=(
        Operand("x", ("B", "S", "H", ("Two", "D"))),
        Operand("weight", (("Two", "D"),)),
        Operand("cos", ("P", "D")),
        Operand("sin", ("P", "D")),
        Operand("position", ("B", "S"), kind="int"),
    ),
    params=(Param("eps", "float", 1e-06),),
    outputs=(Output("out", ("B", "S", "H", ("Two", "D")), like="x"),),
    fold="B",
    static_sizes={"Two": 2},
    inplace=("x",),
    variants={
        (): Variant(_plan, reference),
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
        autotune: time all configs for these shapes, and remember the fastest.

    Returns:
        out: [B, S, H, Two * D], the type of x.
        B may stand for several dimensions.
    """
    tensors = (x, weight, cos, sin, position)
    params = (eps,)
    return OP(tensors, params, out, backend, autotune)
