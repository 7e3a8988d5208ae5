"""Normalise each row to mean 0 and variance 1 (Ba et al., arXiv:1607.06450).

Built by tilegen 0.1.0 from specs/layernorm.py (spec 93853039, templates e77a4a87).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 2*M*N*e + N*e bytes (e: bytes of an element)
Work: 7*M*N + 9*M flops, 4*M of them exponentials, roots and quotients
Bound: memory on every target
Eager PyTorch: 7 kernels, 4.0 times the bytes
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
    Config(TILE=512, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 16384 B shared, unproven
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
    Config(TILE=8192, num_warps=8),  # at most 32768 B shared, unproven
)
_BLOCK_3 = (
    Config(TILE=512, num_warps=1, registers=51),  # 512 B shared
    Config(TILE=1024, num_warps=1, registers=64),  # 512 B shared
    Config(TILE=4096, num_warps=2, registers=128),  # 2048 B shared
    Config(TILE=4096, num_warps=8, registers=40),  # 64 B shared
    Config(TILE=8192, num_warps=4, registers=127),  # 8192 B shared
    Config(TILE=16384, num_warps=16, registers=64),  # 128 B shared
)
_BLOCK_4 = (
    Config(TILE=512, num_warps=1, registers=59),  # 0 B shared
    Config(TILE=1024, num_warps=1, registers=72),  # 0 B shared
    Config(TILE=4096, num_warps=2, registers=167),  # 1024 B shared
    Config(TILE=4096, num_warps=8, registers=47),  # 64 B shared
    Config(TILE=8192, num_warps=4, registers=111),  # 4096 B shared
    Config(TILE=16384, num_warps=16, registers=76),  # 128 B shared
)
_BLOCK_5 = (
    Config(TILE=512, num_warps=1, registers=64),  # 0 B shared
    Config(TILE=1024, num_warps=1, registers=68),  # 0 B shared
    Config(TILE=4096, num_warps=2, registers=226),  # 2048 B shared
    Config(TILE=4096, num_warps=8, registers=64),  # 64 B shared
    Config(TILE=8192, num_warps=4, registers=128),  # 2048 B shared
    Config(TILE=16384, num_warps=16, registers=66),  # 128 B shared
)
_BLOCK_6 = (
    Config(TILE=512, num_warps=1, registers=127),  # 0 B shared
    Config(TILE=1024, num_warps=1, registers=227),  # 0 B shared
    Config(TILE=4096, num_warps=4, registers=254),  # 4096 B shared
    Config(TILE=4096, num_warps=8, registers=152),  # 1024 B shared
    Config(TILE=8192, num_warps=8, registers=254),  # 2048 B shared
    Config(TILE=512, num_warps=2, registers=80, spills=True),  # 128 B shared, 8 B spilled
)
_BLOCK_7 = (
    Config(TILE=4096, num_warps=1),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=2),  # at most 16384 B shared, unproven
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
    Config(TILE=16384, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=32768, num_warps=32),  # at most 32768 B shared, unproven
)
_LOOP_2 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 65536 B shared, unproven
)
_LOOP_3 = (
    Config(TILE=2048, num_warps=4, registers=32),  # 48 B shared
    Config(TILE=2048, num_warps=8, registers=29),  # 4096 B shared, 33 registers in split rows
    Config(TILE=8192, num_warps=4, registers=56),  # 48 B shared
    Config(TILE=8192, num_warps=8, registers=32),  # 96 B shared, 38 registers in split rows
    Config(TILE=16384, num_warps=8, registers=46),  # 96 B shared, 48 registers in split rows
    Config(TILE=32768, num_warps=32, registers=35),  # 384 B shared, 38 registers in split rows
)
_LOOP_4 = (
    Config(TILE=2048, num_warps=4, registers=32),  # 48 B shared
    Config(TILE=2048, num_warps=8, registers=32),  # 96 B shared
    Config(TILE=8192, num_warps=4, registers=80),  # 48 B shared, 96 registers in split rows
    Config(TILE=8192, num_warps=8, registers=57),  # 96 B shared, 60 registers in split rows
    Config(TILE=16384, num_warps=8, registers=93),  # 96 B shared, 100 registers in split rows
    Config(TILE=32768, num_warps=32, registers=62),  # 384 B shared
)
_LOOP_5 = (
    Config(TILE=2048, num_warps=4, registers=44),  # 48 B shared
    Config(TILE=2048, num_warps=8, registers=34),  # 96 B shared
    Config(TILE=8192, num_warps=4, registers=100),  # 48 B shared, 102 registers in split rows
    Config(TILE=8192, num_warps=8, registers=64),  # 96 B shared
    Config(TILE=16384, num_warps=8, registers=102),  # 96 B shared
    Config(TILE=32768, num_warps=32, registers=64),  # 384 B shared
)
_LOOP_6 = (
    Config(TILE=2048, num_warps=4, registers=80),  # 96 B shared
    Config(TILE=2048, num_warps=8, registers=58),  # 192 B shared
    Config(TILE=8192, num_warps=4, registers=168),  # 96 B shared
    Config(TILE=8192, num_warps=8, registers=128),  # 192 B shared
    Config(TILE=16384, num_warps=16, registers=100),  # 384 B shared, 110 registers in split rows
    Config(TILE=16384, num_warps=32, registers=64, spills=True),  # 768 B shared, 104 B spilled
)
_LOOP_7 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 131072 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 131072 B shared, unproven
)
_LOOP_8 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
)
_LOOP_9 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 32768 B shared, unproven
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
    (("gfx950",), (8,), _LOOP_7),
    (("gfx90a",), (8,), _LOOP_8),
    (("gfx942",), (8,), _LOOP_9),
)


@triton.jit
def _layernorm_block(
    x_ptr,
    weight_ptr,
    y_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    weight_col,
    y_row_0,
    y_row_1,
    y_row_2,
    y_col,
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
    y_rows = y_ptr + row_0 * y_row_0 + row_1 * y_row_1 + row_2 * y_row_2

    eps = scalar(eps, FLOAT)

    x = tl.load(
        x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    if EARLY:
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        )
    # y = (x - mean(x)) * rstd * weight
    row_sum = tl.sum(x, axis=1, keep_dims=True)
    rough_mean = row_sum / N
    centred = x - rough_mean
    row_rest, row_squares = deviations(tl.where(in_cols, centred, 0.0), 1)
    shift = row_rest / N
    row_mean = rough_mean + shift
    row_spread = maximum(row_squares - row_rest * shift, 0.0)
    # rstd = rsqrt(variance(x) + eps)
    rstd = tl.rsqrt(row_spread / N + eps)
    if not EARLY:
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        )
    y = (x - row_mean) * rstd * weight.to(FLOAT)
    tl.store(y_rows + cols * y_col, narrow(y, y_ptr.dtype.element_ty), mask=in_rows & in_cols)


@triton.jit
def _layernorm_loop(
    x_ptr,
    weight_ptr,
    y_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    weight_col,
    y_row_0,
    y_row_1,
    y_row_2,
    y_col,
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
    y_rows = y_ptr + row_0 * y_row_0 + row_1 * y_row_1 + row_2 * y_row_2

    eps = scalar(eps, FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    squares = tl.full((LANES, 1), 0.0, FLOAT)
    count = tl.full((LANES, 1), 0.0, FLOAT)
    cols = lane
    in_cols = below(cols, N, EVEN)
    x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last").to(
        FLOAT
    )
    shift = block_mean(x, in_cols, EVEN)

    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # y = (x - mean(x)) * rstd * weight
        total, squares, count = moments_step(total, squares, count, x, shift, in_cols, EVEN)

    row_mean, row_spread, row_count = moments_end(shift, total, squares, count)

    # rstd = rsqrt(variance(x) + eps)
    rstd = tl.rsqrt(row_spread / N + eps)

    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        y = (x - row_mean) * rstd * weight
        tl.store(
            y_rows + cols * y_col,
            narrow(y, y_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )


@triton.jit
def _layernorm_partial(
    x_ptr,
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

    total = tl.full((LANES, 1), 0.0, FLOAT)
    squares = tl.full((LANES, 1), 0.0, FLOAT)
    count = tl.full((LANES, 1), 0.0, FLOAT)
    cols = split * CHUNK + lane
    in_cols = below(cols, stop, EVEN)
    x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
    shift = block_mean(x, in_cols, EVEN)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        # y = (x - mean(x)) * rstd * weight
        total, squares, count = moments_step(total, squares, count, x, shift, in_cols, EVEN)

    row_mean, row_spread, row_count = moments_end(shift, total, squares, count)
    tl.store(partial_mean_ptr + rows * SPLITS + split, row_mean)
    tl.store(partial_spread_ptr + rows * SPLITS + split, row_spread)
    tl.store(partial_count_ptr + rows * SPLITS + split, row_count)


@triton.jit
def _layernorm_finish(
    partial_mean_ptr,
    partial_spread_ptr,
    partial_count_ptr,
    x_ptr,
    weight_ptr,
    y_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    weight_col,
    y_row_0,
    y_row_1,
    y_row_2,
    y_col,
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
    y_rows = y_ptr + row_0 * y_row_0 + row_1 * y_row_1 + row_2 * y_row_2

    eps = scalar(eps, FLOAT)

    splits = tl.arange(0, BLOCK_S)[:, None]
    mean = tl.load(partial_mean_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    spread = tl.load(partial_spread_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    count = tl.load(partial_count_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_mean, row_spread, row_count = moments_join(mean, spread, count)
    # rstd = rsqrt(variance(x) + eps)
    rstd = tl.rsqrt(row_spread / N + eps)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        weight = tl.load(weight_ptr + cols * weight_col, mask=in_cols, other=0.0).to(FLOAT)
        # y = (x - mean(x)) * rstd * weight
        y = (x - row_mean) * rstd * weight
        tl.store(
            y_rows + cols * y_col,
            narrow(y, y_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )


@triton.jit
def _layernorm_bias_block(
    x_ptr,
    weight_ptr,
    bias_ptr,
    y_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    weight_col,
    bias_col,
    y_row_0,
    y_row_1,
    y_row_2,
    y_col,
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
    y_rows = y_ptr + row_0 * y_row_0 + row_1 * y_row_1 + row_2 * y_row_2

    eps = scalar(eps, FLOAT)

    x = tl.load(
        x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    if EARLY:
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        )
        bias = tl.load(
            bias_ptr + cols * bias_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        )
    # y = (x - mean(x)) * rstd * weight
    row_sum = tl.sum(x, axis=1, keep_dims=True)
    rough_mean = row_sum / N
    centred = x - rough_mean
    row_rest, row_squares = deviations(tl.where(in_cols, centred, 0.0), 1)
    shift = row_rest / N
    row_mean = rough_mean + shift
    row_spread = maximum(row_squares - row_rest * shift, 0.0)
    # rstd = rsqrt(variance(x) + eps)
    rstd = tl.rsqrt(row_spread / N + eps)
    if not EARLY:
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        )
    y = (x - row_mean) * rstd * weight.to(FLOAT)
    if not EARLY:
        bias = tl.load(
            bias_ptr + cols * bias_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        )
    # y = y + bias
    y = y + bias.to(FLOAT)
    tl.store(y_rows + cols * y_col, narrow(y, y_ptr.dtype.element_ty), mask=in_rows & in_cols)


@triton.jit
def _layernorm_bias_loop(
    x_ptr,
    weight_ptr,
    bias_ptr,
    y_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    weight_col,
    bias_col,
    y_row_0,
    y_row_1,
    y_row_2,
    y_col,
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
    y_rows = y_ptr + row_0 * y_row_0 + row_1 * y_row_1 + row_2 * y_row_2

    eps = scalar(eps, FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    squares = tl.full((LANES, 1), 0.0, FLOAT)
    count = tl.full((LANES, 1), 0.0, FLOAT)
    cols = lane
    in_cols = below(cols, N, EVEN)
    x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last").to(
        FLOAT
    )
    shift = block_mean(x, in_cols, EVEN)

    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # y = (x - mean(x)) * rstd * weight
        total, squares, count = moments_step(total, squares, count, x, shift, in_cols, EVEN)

    row_mean, row_spread, row_count = moments_end(shift, total, squares, count)

    # rstd = rsqrt(variance(x) + eps)
    rstd = tl.rsqrt(row_spread / N + eps)

    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        y = (x - row_mean) * rstd * weight
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


@triton.jit
def _layernorm_bias_partial(
    x_ptr,
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

    total = tl.full((LANES, 1), 0.0, FLOAT)
    squares = tl.full((LANES, 1), 0.0, FLOAT)
    count = tl.full((LANES, 1), 0.0, FLOAT)
    cols = split * CHUNK + lane
    in_cols = below(cols, stop, EVEN)
    x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
    shift = block_mean(x, in_cols, EVEN)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        # y = (x - mean(x)) * rstd * weight
        total, squares, count = moments_step(total, squares, count, x, shift, in_cols, EVEN)

    row_mean, row_spread, row_count = moments_end(shift, total, squares, count)
    tl.store(partial_mean_ptr + rows * SPLITS + split, row_mean)
    tl.store(partial_spread_ptr + rows * SPLITS + split, row_spread)
    tl.store(partial_count_ptr + rows * SPLITS + split, row_count)


@triton.jit
def _layernorm_bias_finish(
    partial_mean_ptr,
    partial_spread_ptr,
    partial_count_ptr,
    x_ptr,
    weight_ptr,
    bias_ptr,
    y_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    weight_col,
    bias_col,
    y_row_0,
    y_row_1,
    y_row_2,
    y_col,
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
    y_rows = y_ptr + row_0 * y_row_0 + row_1 * y_row_1 + row_2 * y_row_2

    eps = scalar(eps, FLOAT)

    splits = tl.arange(0, BLOCK_S)[:, None]
    mean = tl.load(partial_mean_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    spread = tl.load(partial_spread_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    count = tl.load(partial_count_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_mean, row_spread, row_count = moments_join(mean, spread, count)
    # rstd = rsqrt(variance(x) + eps)
    rstd = tl.rsqrt(row_spread / N + eps)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        weight = tl.load(weight_ptr + cols * weight_col, mask=in_cols, other=0.0).to(FLOAT)
        # y = (x - mean(x)) * rstd * weight
        y = (x - row_mean) * rstd * weight
        bias = tl.load(bias_ptr + cols * bias_col, mask=in_cols, other=0.0).to(FLOAT)
        # y = y + bias
        y = y + bias
        tl.store(
            y_rows + cols * y_col,
            narrow(y, y_ptr.dtype.element_ty),
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
        work = Work(reads=1, writes=1, flops=7, joins=2, held=1.5, held_wide=2)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=1, writes=1, flops=6.75, rereads=1, joins=2, passes=2, held=0.6, held_wide=1.2
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=1, writes=1, flops=7.625, rereads=1, joins=3, passes=2, held=0.6, held_wide=1.2
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
                _layernorm_partial,
                grid=(rows.total * splits,),
                tensors=("x", "partial_mean", "partial_spread", "partial_count"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
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
                _layernorm_finish,
                grid=(rows.total * splits,),
                tensors=("partial_mean", "partial_spread", "partial_count", "x", "weight", "y"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    cols.strides("weight")[0],
                    *rows.strides("y"),
                    cols.strides("y")[0],
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
                _layernorm_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "weight", "y"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    cols.strides("weight")[0],
                    *rows.strides("y"),
                    cols.strides("y")[0],
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
            _layernorm_loop,
            grid=(rows.total,),
            tensors=("x", "weight", "y"),
            integers=(
                rows.total,
                *rows.sizes[1:],
                cols.total,
                *rows.strides("x"),
                cols.strides("x")[0],
                cols.strides("weight")[0],
                *rows.strides("y"),
                cols.strides("y")[0],
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
        work = Work(reads=1, writes=1, flops=8, joins=2, held=2, held_wide=2)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=1, writes=1, flops=7.75, rereads=1, joins=2, passes=2, held=1.2, held_wide=1.2
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=1, writes=1, flops=8.625, rereads=1, joins=3, passes=2, held=1.2, held_wide=1.2
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
                _layernorm_bias_partial,
                grid=(rows.total * splits,),
                tensors=("x", "partial_mean", "partial_spread", "partial_count"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
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
                _layernorm_bias_finish,
                grid=(rows.total * splits,),
                tensors=(
                    "partial_mean",
                    "partial_spread",
                    "partial_count",
                    "x",
                    "weight",
                    "bias",
                    "y",
                ),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    cols.strides("weight")[0],
                    cols.strides("bias")[0],
                    *rows.strides("y"),
                    cols.strides("y")[0],
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
                _layernorm_bias_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "weight", "bias", "y"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    cols.strides("weight")[0],
                    cols.strides("bias")[0],
                    *rows.strides("y"),
                    cols.strides("y")[0],
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
            _layernorm_bias_loop,
            grid=(rows.total,),
            tensors=("x", "weight", "bias", "y"),
            integers=(
                rows.total,
                *rows.sizes[1:],
                cols.total,
                *rows.strides("x"),
                cols.strides("x")[0],
                cols.strides("weight")[0],
                cols.strides("bias")[0],
                *rows.strides("y"),
                cols.strides("y")[0],
            ),
            params=("eps",),
            constants={"LANES": config["TILE"] // vector, "VECTOR": vector, "EVEN": even},
            config=config,
        )
    )


def reference(x, weight, bias, eps, *, compute):
    """Normalise each row to mean 0 and variance 1 (Ba et al., arXiv:1607.06450).

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x = widen(x, compute)
    weight = widen(weight, compute)
    # rstd = rsqrt(variance(x) + eps)
    rstd = torch.rsqrt(x.var(-1, correction=0) + eps)
    # y = (x - mean(x)) * rstd * weight
    y = (x - x.mean(-1)[:, None]) * rstd[:, None] * weight
    return y


def reference_bias(x, weight, bias, eps, *, compute):
    """Normalise each row to mean 0 and variance 1 (Ba et al., arXiv:1607.06450).

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x = widen(x, compute)
    weight = widen(weight, compute)
    bias = widen(bias, compute)
    # rstd = rsqrt(variance(x) + eps)
    rstd = torch.rsqrt(x.var(-1, correction=0) + eps)
    # y = (x - mean(x)) * rstd * weight
    y = (x - x.mean(-1)[:, None]) * rstd[:, None] * weight
    # y = y + bias
    y_2 = y + bias
    return y_2


OP = Op(
    name="layernorm",
    spec_hash="93853039",
    inputs=(
        Operand("x", ("M", "N")),
        Operand("weight", ("N",)),
        Operand("bias", ("N",), optional=True),
    ),
    params=(Param("eps", "float", 1e-05),),
    outputs=(Output("y", ("M", "N"), like="x"),),
    fold="M",
    specialize=("bias",),
    inplace=("x",),
    variants={
        (False,): Variant(_plan, reference),
        (True,): Variant(_plan_bias, reference_bias),
    },
)


def layernorm(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    eps: float = 1e-05,
    *,
    out: torch.Tensor | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> torch.Tensor:
    """Normalise each row to mean 0 and variance 1 (Ba et al., arXiv:1607.06450).

    Args:
        x: [M, N], floats.
        weight: [N], floats.
        bias: [N], floats, or None.
        eps: float.
        out: where to write y.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        y: [M, N], the type of x.
        M may stand for several dimensions.
    """
    tensors = (x, weight, bias)
    params = (eps,)
    return OP(tensors, params, out, backend, autotune)
