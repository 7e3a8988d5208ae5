"""Add the residual stream, then RMS-normalise each row.

y normalises the unrounded sum; h is that sum as it is stored, rounded.

Built by tilegen 0.1.0 from specs/add_rmsnorm.py (spec 76e34d14, templates e77a4a87).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 4*M*N*e + N*e bytes (e: bytes of an element)
Work: 5*M*N + 3*M flops, 2*M of them exponentials, roots and quotients
Bound: memory on every target
Eager PyTorch: 7 kernels, 2.8 times the bytes
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
    by_class,
    cdiv,
    least,
    loop_cost,
    narrow,
    next_power_of_2,
    scalar,
    split_cost,
    split_row,
    widen,
)

_BLOCK_1 = (
    Config(TILE=1024, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 32768 B shared, unproven
)
_BLOCK_2 = (
    Config(TILE=512, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 2048 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
)
_BLOCK_3 = (
    Config(TILE=1024, num_warps=1, registers=66),  # 128 B shared
    Config(TILE=4096, num_warps=2, registers=146),  # 256 B shared
    Config(TILE=4096, num_warps=8, registers=32),  # 32 B shared
    Config(TILE=4096, num_warps=16, registers=32),  # 64 B shared
    Config(TILE=8192, num_warps=4, registers=128),  # 512 B shared
    Config(TILE=16384, num_warps=32, registers=32),  # 128 B shared
)
_BLOCK_4 = (
    Config(TILE=1024, num_warps=1, registers=64),  # 0 B shared
    Config(TILE=4096, num_warps=2, registers=128),  # 256 B shared
    Config(TILE=4096, num_warps=8, registers=40),  # 32 B shared
    Config(TILE=4096, num_warps=16, registers=28),  # 64 B shared
    Config(TILE=8192, num_warps=4, registers=108),  # 512 B shared
    Config(TILE=16384, num_warps=32, registers=36),  # 128 B shared
)
_BLOCK_5 = (
    Config(TILE=1024, num_warps=1, registers=72),  # 0 B shared
    Config(TILE=4096, num_warps=2, registers=144),  # 512 B shared
    Config(TILE=4096, num_warps=8, registers=46),  # 32 B shared
    Config(TILE=4096, num_warps=16, registers=30),  # 64 B shared
    Config(TILE=8192, num_warps=4, registers=148),  # 512 B shared
    Config(TILE=16384, num_warps=32, registers=51),  # 128 B shared
)
_BLOCK_6 = (
    Config(TILE=512, num_warps=1, registers=90),  # 0 B shared
    Config(TILE=512, num_warps=2, registers=56),  # 64 B shared
    Config(TILE=1024, num_warps=1, registers=164),  # 0 B shared
    Config(TILE=4096, num_warps=4, registers=216),  # 1024 B shared
    Config(TILE=4096, num_warps=16, registers=73),  # 512 B shared
    Config(TILE=8192, num_warps=16, registers=117),  # 1024 B shared
)
_BLOCK_7 = (
    Config(TILE=4096, num_warps=1),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=2),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 65536 B shared, unproven
)
_BLOCK_8 = (
    Config(TILE=512, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
)
#: Whole rows in registers, TILE elements to a program; by architecture class and element size in bytes.
BLOCK_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2, 4), _BLOCK_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BLOCK_2),
    (("sm_90",), (1,), _BLOCK_3),
    (("sm_90",), (2,), _BLOCK_4),
    (("sm_90",), (4,), _BLOCK_5),
    (("sm_90",), (8,), _BLOCK_6),
    (("gfx90a", "gfx942", "gfx950"), (1, 2, 4), _BLOCK_7),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BLOCK_8),
)

_LOOP_1 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 16384 B shared, unproven
    Config(TILE=32768, num_warps=32),  # at most 32768 B shared, unproven
)
_LOOP_2 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 65536 B shared, unproven
)
_LOOP_3 = (
    Config(TILE=2048, num_warps=4, registers=40),  # 16 B shared
    Config(TILE=8192, num_warps=8, registers=40),  # 32 B shared, 63 registers in split rows
    Config(TILE=8192, num_warps=16, registers=40),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=80),  # 32 B shared, 128 registers in split rows
    Config(TILE=16384, num_warps=16, registers=40),  # 64 B shared, 64 registers in split rows
    Config(TILE=32768, num_warps=32, registers=52),  # 128 B shared, 63 registers in split rows
)
_LOOP_4 = (
    Config(TILE=2048, num_warps=4, registers=32),  # 16 B shared, 40 registers in split rows
    Config(TILE=8192, num_warps=8, registers=64),  # 32 B shared
    Config(TILE=8192, num_warps=16, registers=40),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=138),  # 32 B shared
    Config(TILE=16384, num_warps=16, registers=64),  # 64 B shared
    Config(TILE=32768, num_warps=32, registers=64),  # 128 B shared
)
_LOOP_5 = (
    Config(TILE=2048, num_warps=4, registers=48),  # 16 B shared
    Config(TILE=8192, num_warps=8, registers=96),  # 32 B shared
    Config(TILE=8192, num_warps=16, registers=52),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=174),  # 32 B shared
    Config(TILE=16384, num_warps=16, registers=98),  # 64 B shared
    Config(TILE=32768, num_warps=32, registers=64, spills=True),  # 128 B shared, 152 B spilled
)
_LOOP_6 = (
    Config(TILE=2048, num_warps=4, registers=96),  # 32 B shared
    Config(TILE=2048, num_warps=8, registers=48),  # 64 B shared
    Config(TILE=2048, num_warps=16, registers=56),  # 128 B shared
    Config(TILE=8192, num_warps=16, registers=96),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=255, spills=True),  # 32 B shared, 176 B spilled
    Config(TILE=16384, num_warps=32, registers=64, spills=True),  # 256 B shared, 124 B spilled
)
_LOOP_7 = (
    Config(TILE=2048, num_warps=4),  # at most 512 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 4096 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 8192 B shared, unproven
)
_LOOP_8 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 131072 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 131072 B shared, unproven
)
_LOOP_9 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
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
    (("gfx90a", "gfx942", "gfx950"), (1,), _LOOP_7),
    (("gfx90a", "gfx942", "gfx950"), (2, 4), _LOOP_8),
    (("gfx950",), (8,), _LOOP_8),
    (("gfx90a", "gfx942"), (8,), _LOOP_9),
)


@triton.jit
def _add_rmsnorm_block(
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
    # rstd = rsqrt(mean(h * h) + eps)
    row_sum = tl.sum(h * h, axis=1, keep_dims=True)
    rstd = tl.rsqrt(row_sum / N + eps)
    if not EARLY:
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        )
    # y = h * rstd * weight
    y = h * rstd * weight.to(FLOAT)
    tl.store(y_rows + cols * y_col, narrow(y, y_ptr.dtype.element_ty), mask=in_rows & in_cols)
    tl.store(h_rows + cols * h_col, narrow(h, h_ptr.dtype.element_ty), mask=in_rows & in_cols)


@triton.jit
def _add_rmsnorm_loop(
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
        # h = x + residual
        h = x + residual
        # rstd = rsqrt(mean(h * h) + eps)
        total = total + tl.sum(h * h, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)

    rstd = tl.rsqrt(row_sum / N + eps)

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
        # y = h * rstd * weight
        y = h * rstd * weight
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
def _add_rmsnorm_partial(
    x_ptr,
    residual_ptr,
    partial_total_ptr,
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
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        residual = tl.load(residual_rows + cols * residual_col, mask=in_cols, other=0.0).to(FLOAT)
        # h = x + residual
        h = x + residual
        # rstd = rsqrt(mean(h * h) + eps)
        total = total + tl.sum(h * h, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, row_sum)


@triton.jit
def _add_rmsnorm_finish(
    partial_total_ptr,
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
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_sum = tl.sum(total, axis=0, keep_dims=True)
    # rstd = rsqrt(mean(h * h) + eps)
    rstd = tl.rsqrt(row_sum / N + eps)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        residual = tl.load(residual_rows + cols * residual_col, mask=in_cols, other=0.0).to(FLOAT)
        # h = x + residual
        h = x + residual
        weight = tl.load(weight_ptr + cols * weight_col, mask=in_cols, other=0.0).to(FLOAT)
        # y = h * rstd * weight
        y = h * rstd * weight
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
        work = Work(reads=2, writes=2, flops=5, joins=1, held=2, held_wide=2)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=2, writes=2, flops=6.25, rereads=2, joins=1, passes=2, held=1.2, held_wide=1.35
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=2,
            writes=2,
            flops=6.625,
            special=0.25,
            rereads=2,
            joins=1,
            passes=2,
            held=1.2,
            held_wide=1.35,
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
                _add_rmsnorm_partial,
                grid=(rows.total * splits,),
                tensors=("x", "residual", "partial_total"),
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
                _add_rmsnorm_finish,
                grid=(rows.total * splits,),
                tensors=("partial_total", "x", "residual", "weight", "y", "h"),
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
                "partial_total": ((rows.total, splits), call.float),
            },
        )

    if call.takes("block", block <= loop):
        config = call.choose(BLOCK_CONFIGS, block_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        return Launch(
            Step(
                _add_rmsnorm_block,
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
            _add_rmsnorm_loop,
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


def reference(x, residual, weight, eps, *, compute):
    """Add the residual stream, then RMS-normalise each row.

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x = widen(x, compute)
    residual = widen(residual, compute)
    weight = widen(weight, compute)
    # h = x + residual
    h = x + residual
    # rstd = rsqrt(mean(h * h) + eps)
    rstd = torch.rsqrt((h * h).mean(-1) + eps)
    # y = h * rstd * weight
    y = h * rstd[:, None] * weight
    return y, h


OP = Op(
    name="add_rmsnorm",
    spec_hash="76e34d14",
    inputs=(Operand("x", ("M", "N")), Operand("residual", ("M", "N")), Operand("weight", ("N",))),
    params=(Param("eps", "float", 1e-06),),
    outputs=(Output("y", ("M", "N"), like="x"), Output("h", ("M", "N"), like="x")),
    fold="M",
    inplace=("x", "residual"),
    variants={
        (): Variant(_plan, reference),
    },
)


def add_rmsnorm(
    x: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor,
    eps: float = 1e-06,
    *,
    out: tuple[torch.Tensor, torch.Tensor] | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Add the residual stream, then RMS-normalise each row.

    y normalises the unrounded sum; h is that sum as it is stored, rounded.

    Args:
        x: [M, N], floats.
        residual: [M, N], floats.
        weight: [N], floats.
        eps: float.
        out: where to write y, h.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        y: [M, N], the type of x.
        h: [M, N], the type of x.
        M may stand for several dimensions.
    """
    tensors = (x, residual, weight)
    params = (eps,)
    return OP(tensors, params, out, backend, autotune)
