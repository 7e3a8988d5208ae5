"""Add the residual stream, then layer-normalise each row.

y normalises the unrounded sum; h is that sum as it is stored, rounded.

Built by tilegen 0.1.0 from specs/add_layernorm.py (spec f5dda980, templates e77a4a87).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 4*M*N*e + N*e bytes (e: bytes of an element)
Work: 8*M*N + 9*M flops, 4*M of them exponentials, roots and quotients
Bound: memory on every target
Eager PyTorch: 8 kernels, 2.8 times the bytes
"""

import torch
import triton
import triton.language as tl

from ._runtime import (
    Call,
    Config,
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
    block_mean,
    by_class,
    cdiv,
    deviations,
    least,
    loop_cost,
    maximum,
    moments_end,
    moments_join,
    moments_step,
    narrow,
    next_power_of_2,
    scalar,
    split_cost,
    split_row,
    widen,
)

_BLOCK_1 = (
    Config(TILE=1024, num_warps=1),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
)
_BLOCK_2 = (
    Config(TILE=512, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 2048 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
)
_BLOCK_3 = (
    Config(TILE=1024, num_warps=1, registers=78),  # 512 B shared
    Config(TILE=4096, num_warps=2, registers=156),  # 2048 B shared
    Config(TILE=4096, num_warps=4, registers=77),  # 8192 B shared
    Config(TILE=4096, num_warps=8, registers=40),  # 64 B shared
    Config(TILE=8192, num_warps=4, registers=161),  # 8192 B shared
    Config(TILE=16384, num_warps=16, registers=64),  # 128 B shared
)
_BLOCK_4 = (
    Config(TILE=1024, num_warps=1, registers=72),  # 0 B shared
    Config(TILE=4096, num_warps=2, registers=162),  # 1024 B shared
    Config(TILE=4096, num_warps=4, registers=80),  # 4096 B shared
    Config(TILE=4096, num_warps=8, registers=48),  # 64 B shared
    Config(TILE=8192, num_warps=4, registers=144),  # 4096 B shared
    Config(TILE=16384, num_warps=16, registers=86),  # 128 B shared
)
_BLOCK_5 = (
    Config(TILE=1024, num_warps=1, registers=96),  # 0 B shared
    Config(TILE=4096, num_warps=2, registers=254),  # 2048 B shared
    Config(TILE=4096, num_warps=4, registers=128),  # 2048 B shared
    Config(TILE=4096, num_warps=8, registers=64),  # 64 B shared
    Config(TILE=8192, num_warps=4, registers=168),  # 2048 B shared
    Config(TILE=16384, num_warps=16, registers=96),  # 128 B shared
)
_BLOCK_6 = (
    Config(TILE=512, num_warps=1, registers=126),  # 0 B shared
    Config(TILE=1024, num_warps=1, registers=240),  # 0 B shared
    Config(TILE=4096, num_warps=8, registers=164),  # 1024 B shared
    Config(TILE=512, num_warps=2, registers=80, spills=True),  # 128 B shared, 8 B spilled
    Config(TILE=4096, num_warps=4, registers=255, spills=True),  # 4096 B shared, 108 B spilled
    Config(TILE=8192, num_warps=16, registers=128, spills=True),  # 2048 B shared, 120 B spilled
)
_BLOCK_7 = (
    Config(TILE=4096, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=2),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 65536 B shared, unproven
)
#: Whole rows in registers, TILE elements to a program; by architecture class and element size in bytes.
BLOCK_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2, 4), _BLOCK_1),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BLOCK_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BLOCK_2),
    (("sm_90",), (1,), _BLOCK_3),
    (("sm_90",), (2,), _BLOCK_4),
    (("sm_90",), (4,), _BLOCK_5),
    (("sm_90",), (8,), _BLOCK_6),
    (("gfx90a", "gfx942", "gfx950"), (1, 2, 4), _BLOCK_7),
)

_LOOP_1 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 16384 B shared, unproven
)
_LOOP_2 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
    Config(TILE=8192, num_warps=32),  # at most 32768 B shared, unproven
)
_LOOP_3 = (
    Config(TILE=2048, num_warps=4, registers=40),  # 48 B shared
    Config(TILE=2048, num_warps=8, registers=32),  # 4096 B shared, 36 registers in split rows
    Config(TILE=8192, num_warps=4, registers=160),  # 48 B shared
    Config(TILE=8192, num_warps=8, registers=64),  # 96 B shared
    Config(TILE=8192, num_warps=16, registers=40),  # 192 B shared
    Config(TILE=16384, num_warps=32, registers=49),  # 384 B shared
)
_LOOP_4 = (
    Config(TILE=2048, num_warps=4, registers=48),  # 48 B shared
    Config(TILE=2048, num_warps=8, registers=32),  # 96 B shared
    Config(TILE=8192, num_warps=4, registers=148),  # 48 B shared, 168 registers in split rows
    Config(TILE=8192, num_warps=8, registers=98),  # 96 B shared
    Config(TILE=8192, num_warps=16, registers=54),  # 192 B shared
    Config(TILE=16384, num_warps=32, registers=62),  # 384 B shared
)
_LOOP_5 = (
    Config(TILE=2048, num_warps=4, registers=51),  # 48 B shared, 56 registers in split rows
    Config(TILE=2048, num_warps=8, registers=38),  # 96 B shared
    Config(TILE=8192, num_warps=4, registers=172),  # 48 B shared, 254 registers in split rows
    Config(TILE=8192, num_warps=8, registers=124),  # 96 B shared
    Config(TILE=16384, num_warps=32, registers=54),  # 384 B shared
    Config(TILE=8192, num_warps=16, registers=64, spills=True),  # 192 B shared, 8 B spilled
)
_LOOP_6 = (
    Config(TILE=2048, num_warps=4, registers=98),  # 96 B shared, 100 registers in split rows
    Config(TILE=2048, num_warps=8, registers=64),  # 192 B shared
    Config(TILE=2048, num_warps=16, registers=64),  # 384 B shared
    Config(TILE=8192, num_warps=16, registers=100),  # 384 B shared, 102 registers in split rows
    Config(TILE=8192, num_warps=32, registers=64),  # 768 B shared
    Config(TILE=4096, num_warps=16, registers=64, spills=True),  # 384 B shared, 16 B spilled
)
_LOOP_7 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 16384 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 32768 B shared, unproven
)
_LOOP_8 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
)
#: Sweeps over one row, TILE elements at a time; by architecture class and element size in bytes.
LOOP_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2, 4), _LOOP_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _LOOP_2),
    (("sm_90",), (1,), _LOOP_3),
    (("sm_90",), (2,), _LOOP_4),
    (("sm_90",), (4,), _LOOP_5),
    (("sm_90",), (8,), _LOOP_6),
    (("gfx90a", "gfx942", "gfx950"), (1, 2, 4), _LOOP_7),
    (("gfx90a", "gfx942", "gfx950"), (8,), _LOOP_8),
)


@triton.jit
def _add_layernorm_block(
    x_ptr,
    residual_ptr,
    weight_ptr,
    y_ptr,
    h_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    residual_row_0,
    residual_row_1,
    residual_row_2,
    residual_col,
    weight_col,
    y_row_0,
    y_row_1,
    y_row_2,
    y_col,
    h_row_0,
    h_row_1,
    h_row_2,
    h_col,
    eps,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    EARLY: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program holds BLOCK_M whole rows in registers."""
    rows = tl.program_id(0).to(INT) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    cols = tl.arange(0, BLOCK_N)[None, :].to(INT)
    in_cols = below(cols, N, EVEN_N)
    in_rows = below(rows, M, EVEN_M)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    residual_rows = (
        residual_ptr + row_0 * residual_row_0 + row_1 * residual_row_1 + row_2 * residual_row_2
    )
    y_rows = y_ptr + row_0 * y_row_0 + row_1 * y_row_1 + row_2 * y_row_2
    h_rows = h_ptr + row_0 * h_row_0 + row_1 * h_row_1 + row_2 * h_row_2

    eps = scalar(eps, FLOAT)

    x = tl.load(
        x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    residual = tl.load(
        residual_rows + cols * residual_col,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    if EARLY:
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        )
    # h = x + residual
    h = x + residual
    # y = (h - mean(h)) * rstd * weight
    row_sum = tl.sum(h, axis=1, keep_dims=True)
    rough_mean = row_sum / N
    centred = h - rough_mean
    row_rest, row_squares = deviations(tl.where(in_cols, centred, 0.0), 1)
    shift = row_rest / N
    row_mean = rough_mean + shift
    row_spread = maximum(row_squares - row_rest * shift, 0.0)
    # rstd = rsqrt(variance(h) + eps)
    rstd = tl.rsqrt(row_spread / N + eps)
    if not EARLY:
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        )
    y = (h - row_mean) * rstd * weight.to(FLOAT)
    tl.store(y_rows + cols * y_col, narrow(y, y_ptr.dtype.element_ty), mask=in_rows & in_cols)
    tl.store(h_rows + cols * h_col, narrow(h, h_ptr.dtype.element_ty), mask=in_rows & in_cols)


@triton.jit
def _add_layernorm_loop(
    x_ptr,
    residual_ptr,
    weight_ptr,
    y_ptr,
    h_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    residual_row_0,
    residual_row_1,
    residual_row_2,
    residual_col,
    weight_col,
    y_row_0,
    y_row_1,
    y_row_2,
    y_col,
    h_row_0,
    h_row_1,
    h_row_2,
    h_col,
    eps,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
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
    residual_rows = (
        residual_ptr + row_0 * residual_row_0 + row_1 * residual_row_1 + row_2 * residual_row_2
    )
    y_rows = y_ptr + row_0 * y_row_0 + row_1 * y_row_1 + row_2 * y_row_2
    h_rows = h_ptr + row_0 * h_row_0 + row_1 * h_row_1 + row_2 * h_row_2

    eps = scalar(eps, FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    squares = tl.full((LANES, 1), 0.0, FLOAT)
    count = tl.full((LANES, 1), 0.0, FLOAT)
    cols = lane
    in_cols = below(cols, N, EVEN)
    x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last").to(
        FLOAT
    )
    residual = tl.load(
        residual_rows + cols * residual_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    # h = x + residual
    h = x + residual
    shift = block_mean(h, in_cols, EVEN)

    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        residual = tl.load(
            residual_rows + cols * residual_col,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        h = x + residual
        # y = (h - mean(h)) * rstd * weight
        total, squares, count = moments_step(total, squares, count, h, shift, in_cols, EVEN)

    row_mean, row_spread, row_count = moments_end(shift, total, squares, count)

    # rstd = rsqrt(variance(h) + eps)
    rstd = tl.rsqrt(row_spread / N + eps)

    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        residual = tl.load(
            residual_rows + cols * residual_col,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        h = x + residual
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        y = (h - row_mean) * rstd * weight
        tl.store(
            y_rows + cols * y_col,
            narrow(y, y_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )
        tl.store(
            h_rows + cols * h_col,
            narrow(h, h_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )


@triton.jit
def _add_layernorm_partial(
    x_ptr,
    residual_ptr,
    partial_mean_ptr,
    partial_spread_ptr,
    partial_count_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    residual_row_0,
    residual_row_1,
    residual_row_2,
    residual_col,
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
    stop = tl.minimum((split + 1) * CHUNK, N)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    residual_rows = (
        residual_ptr + row_0 * residual_row_0 + row_1 * residual_row_1 + row_2 * residual_row_2
    )

    total = tl.full((LANES, 1), 0.0, FLOAT)
    squares = tl.full((LANES, 1), 0.0, FLOAT)
    count = tl.full((LANES, 1), 0.0, FLOAT)
    cols = split * CHUNK + lane
    in_cols = below(cols, stop, EVEN)
    x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
    residual = tl.load(residual_rows + cols * residual_col, mask=in_cols, other=0.0).to(FLOAT)
    # h = x + residual
    h = x + residual
    shift = block_mean(h, in_cols, EVEN)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        residual = tl.load(residual_rows + cols * residual_col, mask=in_cols, other=0.0).to(FLOAT)
        h = x + residual
        # y = (h - mean(h)) * rstd * weight
        total, squares, count = moments_step(total, squares, count, h, shift, in_cols, EVEN)

    row_mean, row_spread, row_count = moments_end(shift, total, squares, count)
    tl.store(partial_mean_ptr + rows * SPLITS + split, row_mean)
    tl.store(partial_spread_ptr + rows * SPLITS + split, row_spread)
    tl.store(partial_count_ptr + rows * SPLITS + split, row_count)


@triton.jit
def _add_layernorm_finish(
    partial_mean_ptr,
    partial_spread_ptr,
    partial_count_ptr,
    x_ptr,
    residual_ptr,
    weight_ptr,
    y_ptr,
    h_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    residual_row_0,
    residual_row_1,
    residual_row_2,
    residual_col,
    weight_col,
    y_row_0,
    y_row_1,
    y_row_2,
    y_col,
    h_row_0,
    h_row_1,
    h_row_2,
    h_col,
    eps,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    SPLITS: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK_S: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program joins the partial states of a row, then goes over one chunk of it."""
    split = (tl.program_id(0) % SPLITS).to(INT)
    rows = (tl.program_id(0) // SPLITS).to(INT) + tl.arange(0, 1)[:, None]
    stop = tl.minimum((split + 1) * CHUNK, N)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    residual_rows = (
        residual_ptr + row_0 * residual_row_0 + row_1 * residual_row_1 + row_2 * residual_row_2
    )
    y_rows = y_ptr + row_0 * y_row_0 + row_1 * y_row_1 + row_2 * y_row_2
    h_rows = h_ptr + row_0 * h_row_0 + row_1 * h_row_1 + row_2 * h_row_2

    eps = scalar(eps, FLOAT)

    splits = tl.arange(0, BLOCK_S)[:, None]
    mean = tl.load(partial_mean_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    spread = tl.load(partial_spread_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    count = tl.load(partial_count_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_mean, row_spread, row_count = moments_join(mean, spread, count)
    # rstd = rsqrt(variance(h) + eps)
    rstd = tl.rsqrt(row_spread / N + eps)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        residual = tl.load(residual_rows + cols * residual_col, mask=in_cols, other=0.0).to(FLOAT)
        # h = x + residual
        h = x + residual
        weight = tl.load(weight_ptr + cols * weight_col, mask=in_cols, other=0.0).to(FLOAT)
        # y = (h - mean(h)) * rstd * weight
        y = (h - row_mean) * rstd * weight
        tl.store(
            y_rows + cols * y_col,
            narrow(y, y_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )
        tl.store(
            h_rows + cols * h_col,
            narrow(h, h_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )


@triton.jit
def _add_layernorm_bias_block(
    x_ptr,
    residual_ptr,
    weight_ptr,
    bias_ptr,
    y_ptr,
    h_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    residual_row_0,
    residual_row_1,
    residual_row_2,
    residual_col,
    weight_col,
    bias_col,
    y_row_0,
    y_row_1,
    y_row_2,
    y_col,
    h_row_0,
    h_row_1,
    h_row_2,
    h_col,
    eps,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    EARLY: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program holds BLOCK_M whole rows in registers."""
    rows = tl.program_id(0).to(INT) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    cols = tl.arange(0, BLOCK_N)[None, :].to(INT)
    in_cols = below(cols, N, EVEN_N)
    in_rows = below(rows, M, EVEN_M)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    residual_rows = (
        residual_ptr + row_0 * residual_row_0 + row_1 * residual_row_1 + row_2 * residual_row_2
    )
    y_rows = y_ptr + row_0 * y_row_0 + row_1 * y_row_1 + row_2 * y_row_2
    h_rows = h_ptr + row_0 * h_row_0 + row_1 * h_row_1 + row_2 * h_row_2

    eps = scalar(eps, FLOAT)

    x = tl.load(
        x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    residual = tl.load(
        residual_rows + cols * residual_col,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    if EARLY:
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        )
        bias = tl.load(
            bias_ptr + cols * bias_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        )
    # h = x + residual
    h = x + residual
    # y = (h - mean(h)) * rstd * weight
    row_sum = tl.sum(h, axis=1, keep_dims=True)
    rough_mean = row_sum / N
    centred = h - rough_mean
    row_rest, row_squares = deviations(tl.where(in_cols, centred, 0.0), 1)
    shift = row_rest / N
    row_mean = rough_mean + shift
    row_spread = maximum(row_squares - row_rest * shift, 0.0)
    # rstd = rsqrt(variance(h) + eps)
    rstd = tl.rsqrt(row_spread / N + eps)
    if not EARLY:
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        )
    y = (h - row_mean) * rstd * weight.to(FLOAT)
    if not EARLY:
        bias = tl.load(
            bias_ptr + cols * bias_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        )
    # y = y + bias
    y = y + bias.to(FLOAT)
    tl.store(y_rows + cols * y_col, narrow(y, y_ptr.dtype.element_ty), mask=in_rows & in_cols)
    tl.store(h_rows + cols * h_col, narrow(h, h_ptr.dtype.element_ty), mask=in_rows & in_cols)


@triton.jit
def _add_layernorm_bias_loop(
    x_ptr,
    residual_ptr,
    weight_ptr,
    bias_ptr,
    y_ptr,
    h_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    residual_row_0,
    residual_row_1,
    residual_row_2,
    residual_col,
    weight_col,
    bias_col,
    y_row_0,
    y_row_1,
    y_row_2,
    y_col,
    h_row_0,
    h_row_1,
    h_row_2,
    h_col,
    eps,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
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
    residual_rows = (
        residual_ptr + row_0 * residual_row_0 + row_1 * residual_row_1 + row_2 * residual_row_2
    )
    y_rows = y_ptr + row_0 * y_row_0 + row_1 * y_row_1 + row_2 * y_row_2
    h_rows = h_ptr + row_0 * h_row_0 + row_1 * h_row_1 + row_2 * h_row_2

    eps = scalar(eps, FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    squares = tl.full((LANES, 1), 0.0, FLOAT)
    count = tl.full((LANES, 1), 0.0, FLOAT)
    cols = lane
    in_cols = below(cols, N, EVEN)
    x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last").to(
        FLOAT
    )
    residual = tl.load(
        residual_rows + cols * residual_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    # h = x + residual
    h = x + residual
    shift = block_mean(h, in_cols, EVEN)

    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        residual = tl.load(
            residual_rows + cols * residual_col,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        h = x + residual
        # y = (h - mean(h)) * rstd * weight
        total, squares, count = moments_step(total, squares, count, h, shift, in_cols, EVEN)

    row_mean, row_spread, row_count = moments_end(shift, total, squares, count)

    # rstd = rsqrt(variance(h) + eps)
    rstd = tl.rsqrt(row_spread / N + eps)

    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        residual = tl.load(
            residual_rows + cols * residual_col,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        h = x + residual
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        y = (h - row_mean) * rstd * weight
        bias = tl.load(
            bias_ptr + cols * bias_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # y = y + bias
        y = y + bias
        tl.store(
            y_rows + cols * y_col,
            narrow(y, y_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )
        tl.store(
            h_rows + cols * h_col,
            narrow(h, h_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )


@triton.jit
def _add_layernorm_bias_partial(
    x_ptr,
    residual_ptr,
    partial_mean_ptr,
    partial_spread_ptr,
    partial_count_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    residual_row_0,
    residual_row_1,
    residual_row_2,
    residual_col,
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
    stop = tl.minimum((split + 1) * CHUNK, N)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    residual_rows = (
        residual_ptr + row_0 * residual_row_0 + row_1 * residual_row_1 + row_2 * residual_row_2
    )

    total = tl.full((LANES, 1), 0.0, FLOAT)
    squares = tl.full((LANES, 1), 0.0, FLOAT)
    count = tl.full((LANES, 1), 0.0, FLOAT)
    cols = split * CHUNK + lane
    in_cols = below(cols, stop, EVEN)
    x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
    residual = tl.load(residual_rows + cols * residual_col, mask=in_cols, other=0.0).to(FLOAT)
    # h = x + residual
    h = x + residual
    shift = block_mean(h, in_cols, EVEN)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        residual = tl.load(residual_rows + cols * residual_col, mask=in_cols, other=0.0).to(FLOAT)
        h = x + residual
        # y = (h - mean(h)) * rstd * weight
        total, squares, count = moments_step(total, squares, count, h, shift, in_cols, EVEN)

    row_mean, row_spread, row_count = moments_end(shift, total, squares, count)
    tl.store(partial_mean_ptr + rows * SPLITS + split, row_mean)
    tl.store(partial_spread_ptr + rows * SPLITS + split, row_spread)
    tl.store(partial_count_ptr + rows * SPLITS + split, row_count)


@triton.jit
def _add_layernorm_bias_finish(
    partial_mean_ptr,
    partial_spread_ptr,
    partial_count_ptr,
    x_ptr,
    residual_ptr,
    weight_ptr,
    bias_ptr,
    y_ptr,
    h_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    residual_row_0,
    residual_row_1,
    residual_row_2,
    residual_col,
    weight_col,
    bias_col,
    y_row_0,
    y_row_1,
    y_row_2,
    y_col,
    h_row_0,
    h_row_1,
    h_row_2,
    h_col,
    eps,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    SPLITS: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK_S: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program joins the partial states of a row, then goes over one chunk of it."""
    split = (tl.program_id(0) % SPLITS).to(INT)
    rows = (tl.program_id(0) // SPLITS).to(INT) + tl.arange(0, 1)[:, None]
    stop = tl.minimum((split + 1) * CHUNK, N)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    residual_rows = (
        residual_ptr + row_0 * residual_row_0 + row_1 * residual_row_1 + row_2 * residual_row_2
    )
    y_rows = y_ptr + row_0 * y_row_0 + row_1 * y_row_1 + row_2 * y_row_2
    h_rows = h_ptr + row_0 * h_row_0 + row_1 * h_row_1 + row_2 * h_row_2

    eps = scalar(eps, FLOAT)

    splits = tl.arange(0, BLOCK_S)[:, None]
    mean = tl.load(partial_mean_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    spread = tl.load(partial_spread_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    count = tl.load(partial_count_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_mean, row_spread, row_count = moments_join(mean, spread, count)
    # rstd = rsqrt(variance(h) + eps)
    rstd = tl.rsqrt(row_spread / N + eps)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        residual = tl.load(residual_rows + cols * residual_col, mask=in_cols, other=0.0).to(FLOAT)
        # h = x + residual
        h = x + residual
        weight = tl.load(weight_ptr + cols * weight_col, mask=in_cols, other=0.0).to(FLOAT)
        # y = (h - mean(h)) * rstd * weight
        y = (h - row_mean) * rstd * weight
        bias = tl.load(bias_ptr + cols * bias_col, mask=in_cols, other=0.0).to(FLOAT)
        # y = y + bias
        y = y + bias
        tl.store(
            y_rows + cols * y_col,
            narrow(y, y_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )
        tl.store(
            h_rows + cols * h_col,
            narrow(h, h_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("M",), limit=3, spare_last=True)
    cols = call.axes(("N",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=2, writes=2, flops=8, joins=2, held=2, held_wide=2)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=2, writes=2, flops=8.75, rereads=2, joins=2, passes=2, held=1.2, held_wide=1.65
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=2, writes=2, flops=9.625, rereads=2, joins=3, passes=2, held=1.2, held_wide=1.65
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
                _add_layernorm_partial,
                grid=(rows.total * splits,),
                tensors=("x", "residual", "partial_mean", "partial_spread", "partial_count"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("residual"),
                    cols.strides("residual")[0],
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
                _add_layernorm_finish,
                grid=(rows.total * splits,),
                tensors=(
                    "partial_mean",
                    "partial_spread",
                    "partial_count",
                    "x",
                    "residual",
                    "weight",
                    "y",
                    "h",
                ),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("residual"),
                    cols.strides("residual")[0],
                    cols.strides("weight")[0],
                    *rows.strides("y"),
                    cols.strides("y")[0],
                    *rows.strides("h"),
                    cols.strides("h")[0],
                ),
                params=("eps",),
                constants={
                    "LANES": config["TILE"] // vector,
                    "VECTOR": vector,
                    "EVEN": even,
                    "SPLITS": splits,
                    "CHUNK": chunk,
                    "BLOCK_S": next_power_of_2(splits),
                },
                config=config,
            ),
            workspaces={
                "partial_mean": ((rows.total, splits), call.float),
                "partial_spread": ((rows.total, splits), call.float),
                "partial_count": ((rows.total, splits), call.float),
            },
        )

    if call.takes("block", block <= loop):
        config = call.choose(BLOCK_CONFIGS, block_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        return Launch(
            Step(
                _add_layernorm_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "residual", "weight", "y", "h"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("residual"),
                    cols.strides("residual")[0],
                    cols.strides("weight")[0],
                    *rows.strides("y"),
                    cols.strides("y")[0],
                    *rows.strides("h"),
                    cols.strides("h")[0],
                ),
                params=("eps",),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_N": width,
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                    "EARLY": width <= 4096,
                },
                config=config,
            )
        )

    config = call.choose(LOOP_CONFIGS, loop_time)
    vector = max(1, 16 // call.element_size)
    even = columns > 0 and columns % config["TILE"] == 0
    return Launch(
        Step(
            _add_layernorm_loop,
            grid=(rows.total,),
            tensors=("x", "residual", "weight", "y", "h"),
            integers=(
                rows.total,
                *rows.sizes[1:],
                cols.total,
                *rows.strides("x"),
                cols.strides("x")[0],
                *rows.strides("residual"),
                cols.strides("residual")[0],
                cols.strides("weight")[0],
                *rows.strides("y"),
                cols.strides("y")[0],
                *rows.strides("h"),
                cols.strides("h")[0],
            ),
            params=("eps",),
            constants={"LANES": config["TILE"] // vector, "VECTOR": vector, "EVEN": even},
            config=config,
        )
    )


def _plan_bias(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("M",), limit=3, spare_last=True)
    cols = call.axes(("N",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=2, writes=2, flops=9, joins=2, held=3, held_wide=3)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=2, writes=2, flops=9.75, rereads=2, joins=2, passes=2, held=1.8, held_wide=1.8
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=2, writes=2, flops=10.625, rereads=2, joins=3, passes=2, held=1.8, held_wide=1.8
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
                _add_layernorm_bias_partial,
                grid=(rows.total * splits,),
                tensors=("x", "residual", "partial_mean", "partial_spread", "partial_count"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("residual"),
                    cols.strides("residual")[0],
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
                _add_layernorm_bias_finish,
                grid=(rows.total * splits,),
                tensors=(
                    "partial_mean",
                    "partial_spread",
                    "partial_count",
                    "x",
                    "residual",
                    "weight",
                    "bias",
                    "y",
                    "h",
                ),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("residual"),
                    cols.strides("residual")[0],
                    cols.strides("weight")[0],
                    cols.strides("bias")[0],
                    *rows.strides("y"),
                    cols.strides("y")[0],
                    *rows.strides("h"),
                    cols.strides("h")[0],
                ),
                params=("eps",),
                constants={
                    "LANES": config["TILE"] // vector,
                    "VECTOR": vector,
                    "EVEN": even,
                    "SPLITS": splits,
                    "CHUNK": chunk,
                    "BLOCK_S": next_power_of_2(splits),
                },
                config=config,
            ),
            workspaces={
                "partial_mean": ((rows.total, splits), call.float),
                "partial_spread": ((rows.total, splits), call.float),
                "partial_count": ((rows.total, splits), call.float),
            },
        )

    if call.takes("block", block <= loop):
        config = call.choose(BLOCK_CONFIGS, block_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        return Launch(
            Step(
                _add_layernorm_bias_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "residual", "weight", "bias", "y", "h"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("residual"),
                    cols.strides("residual")[0],
                    cols.strides("weight")[0],
                    cols.strides("bias")[0],
                    *rows.strides("y"),
                    cols.strides("y")[0],
                    *rows.strides("h"),
                    cols.strides("h")[0],
                ),
                params=("eps",),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_N": width,
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                    "EARLY": width <= 4096,
                },
                config=config,
            )
        )

    config = call.choose(LOOP_CONFIGS, loop_time)
    vector = max(1, 16 // call.element_size)
    even = columns > 0 and columns % config["TILE"] == 0
    return Launch(
        Step(
            _add_layernorm_bias_loop,
            grid=(rows.total,),
            tensors=("x", "residual", "weight", "bias", "y", "h"),
            integers=(
                rows.total,
                *rows.sizes[1:],
                cols.total,
                *rows.strides("x"),
                cols.strides("x")[0],
                *rows.strides("residual"),
                cols.strides("residual")[0],
                cols.strides("weight")[0],
                cols.strides("bias")[0],
                *rows.strides("y"),
                cols.strides("y")[0],
                *rows.strides("h"),
                cols.strides("h")[0],
            ),
            params=("eps",),
            constants={"LANES": config["TILE"] // vector, "VECTOR": vector, "EVEN": even},
            config=config,
        )
    )


def reference(x, residual, weight, bias, eps, *, compute):
    """Add the residual stream, then layer-normalise each row.

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x = widen(x, compute)
    residual = widen(residual, compute)
    weight = widen(weight, compute)
    # h = x + residual
    h = x + residual
    # rstd = rsqrt(variance(h) + eps)
    rstd = torch.rsqrt(h.var(-1, correction=0) + eps)
    # y = (h - mean(h)) * rstd * weight
    y = (h - h.mean(-1)[:, None]) * rstd[:, None] * weight
    return y, h


def reference_bias(x, residual, weight, bias, eps, *, compute):
    """Add the residual stream, then layer-normalise each row.

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x = widen(x, compute)
    residual = widen(residual, compute)
    weight = widen(weight, compute)
    bias = widen(bias, compute)
    # h = x + residual
    h = x + residual
    # rstd = rsqrt(variance(h) + eps)
    rstd = torch.rsqrt(h.var(-1, correction=0) + eps)
    # y = (h - mean(h)) * rstd * weight
    y = (h - h.mean(-1)[:, None]) * rstd[:, None] * weight
    # y = y + bias
    y_2 = y + bias
    return y_2, h


OP = Op(
    name="add_layernorm",
    spec_hash="f5dda980",
    inputs=(
        Operand("x", ("M", "N")),
        Operand("residual", ("M", "N")),
        Operand("weight", ("N",)),
        Operand("bias", ("N",), optional=True),
    ),
    params=(Param("eps", "float", 1e-05),),
    outputs=(Output("y", ("M", "N"), like="x"), Output("h", ("M", "N"), like="x")),
    fold="M",
    specialize=("bias",),
    inplace=("x", "residual"),
    variants={
        (False,): Variant(_plan, reference),
        (True,): Variant(_plan_bias, reference_bias),
    },
)


def add_layernorm(
    x: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    eps: float = 1e-05,
    *,
    out: tuple[torch.Tensor, torch.Tensor] | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Add the residual stream, then layer-normalise each row.

    y normalises the unrounded sum; h is that sum as it is stored, rounded.

    Args:
        x: [M, N], floats.
        residual: [M, N], floats.
        weight: [N], floats.
        bias: [N], floats, or None.
        eps: float.
        out: where to write y, h.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        y: [M, N], the type of x.
        h: [M, N], the type of x.
        M may stand for several dimensions.
    """
    tensors = (x, residual, weight, bias)
    params = (eps,)
    return OP(tensors, params, out, backend, autotune)
