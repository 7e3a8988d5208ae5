"""Add the residual stream, then RMS-normalise each row.

y normalises the unrounded sum; h is that sum as it is stored, rounded.

Built by tilegen 0.1.0 from specs/add_rmsnorm.py (spec 76e34d14, templates 83e67773).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 4*M*N*e + 4*M + N*e bytes (e: bytes of an element)
Work: 5*M*N + 3*M flops, 2*M of them exponentials, roots and quotients
Bound: memory on every target
Eager PyTorch: 7 kernels, 2.7 times the bytes
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
    Config(TILE=4096, num_warps=1),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=2),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 65536 B shared, unproven
)
_BLOCK_4 = (
    Config(TILE=512, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
)
#: Whole rows in registers, TILE elements to a program; by architecture class and element size in bytes.
BLOCK_CONFIGS = by_class(
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2, 4), _BLOCK_1),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BLOCK_2),
    (("gfx90a", "gfx942", "gfx950"), (1, 2, 4), _BLOCK_3),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BLOCK_4),
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
    Config(TILE=2048, num_warps=4),  # at most 512 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 4096 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 8192 B shared, unproven
)
_LOOP_4 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 131072 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 131072 B shared, unproven
)
_LOOP_5 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
)
#: Sweeps over one row, TILE elements at a time; by architecture class and element size in bytes.
LOOP_CONFIGS = by_class(
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2, 4), _LOOP_1),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _LOOP_2),
    (("gfx90a", "gfx942", "gfx950"), (1,), _LOOP_3),
    (("gfx90a", "gfx942", "gfx950"), (2, 4), _LOOP_4),
    (("gfx950",), (8,), _LOOP_4),
    (("gfx90a", "gfx942"), (8,), _LOOP_5),
)

_BACKWARD_BLOCK_1 = (
    Config(TILE=1024, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 32768 B shared, unproven
)
_BACKWARD_BLOCK_2 = (
    Config(TILE=1024, num_warps=1),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
)
_BACKWARD_BLOCK_3 = (
    Config(TILE=512, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
)
_BACKWARD_BLOCK_4 = (
    Config(TILE=4096, num_warps=1),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=2),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 65536 B shared, unproven
)
#: Whole rows in registers, TILE elements to a program; by architecture class and element size in bytes.
BACKWARD_BLOCK_CONFIGS = by_class(
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2), _BACKWARD_BLOCK_1),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (4,), _BACKWARD_BLOCK_2),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BACKWARD_BLOCK_2),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BACKWARD_BLOCK_3),
    (("gfx90a", "gfx942", "gfx950"), (1, 2, 4), _BACKWARD_BLOCK_4),
)

_BACKWARD_LOOP_1 = (
    Config(TILE=2048, num_warps=4),  # at most 1024 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 4096 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=32768, num_warps=32),  # at most 16384 B shared, unproven
)
_BACKWARD_LOOP_2 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 16384 B shared, unproven
)
_BACKWARD_LOOP_3 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=32),  # at most 32768 B shared, unproven
)
_BACKWARD_LOOP_4 = (
    Config(TILE=2048, num_warps=4),  # at most 512 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 4096 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 8192 B shared, unproven
)
_BACKWARD_LOOP_5 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 16384 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 32768 B shared, unproven
)
_BACKWARD_LOOP_6 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
)
#: Sweeps over one row, TILE elements at a time; by architecture class and element size in bytes.
BACKWARD_LOOP_CONFIGS = by_class(
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2), _BACKWARD_LOOP_1),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (4,), _BACKWARD_LOOP_2),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BACKWARD_LOOP_3),
    (("gfx90a", "gfx942", "gfx950"), (1,), _BACKWARD_LOOP_4),
    (("gfx90a", "gfx942", "gfx950"), (2, 4), _BACKWARD_LOOP_5),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BACKWARD_LOOP_6),
)


@triton.jit
def _add_rmsnorm_block(
    x_ptr,
    residual_ptr,
    weight_ptr,
    y_ptr,
    h_ptr,
    rstd_ptr,
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
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2

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
    if NEEDS_RSTD:
        tl.store(rstd_rows, narrow(rstd, rstd_ptr.dtype.element_ty), mask=in_rows)


@triton.jit
def _add_rmsnorm_loop(
    x_ptr,
    residual_ptr,
    weight_ptr,
    y_ptr,
    h_ptr,
    rstd_ptr,
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
    residual_rows = (
        residual_ptr + row_0 * residual_row_0 + row_1 * residual_row_1 + row_2 * residual_row_2
    )
    y_rows = y_ptr + row_0 * y_row_0 + row_1 * y_row_1 + row_2 * y_row_2
    h_rows = h_ptr + row_0 * h_row_0 + row_1 * h_row_1 + row_2 * h_row_2
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2

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

    if NEEDS_RSTD:
        tl.store(rstd_rows, narrow(rstd, rstd_ptr.dtype.element_ty))


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
    rstd_ptr,
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
    stop = tl.minimum((split + 1) * CHUNK, N)
    leads = rows * 0 + split == 0
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
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2

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

    if NEEDS_RSTD:
        tl.store(rstd_rows, narrow(rstd, rstd_ptr.dtype.element_ty), mask=leads)


@triton.jit
def _add_rmsnorm_backward_stage_1_block(
    h_ptr,
    rstd_ptr,
    grad_y_ptr,
    grad_weight_ptr,
    N,
    ROWS_1,
    ROWS_2,
    M,
    grad_y_row_0,
    grad_y_row_1,
    grad_y_row_2,
    grad_y_col,
    h_row_0,
    h_row_1,
    h_row_2,
    h_col,
    rstd_col,
    grad_weight_row_0,
    grad_weight_row_1,
    grad_weight_row_2,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    NEEDS_GRAD_WEIGHT: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program holds BLOCK_M whole rows in registers."""
    rows = tl.program_id(0).to(INT) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    cols = tl.arange(0, BLOCK_N)[None, :].to(INT)
    in_cols = below(cols, M, EVEN_N)
    in_rows = below(rows, N, EVEN_M)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    grad_y_rows = grad_y_ptr + row_0 * grad_y_row_0 + row_1 * grad_y_row_1 + row_2 * grad_y_row_2
    h_rows = h_ptr + row_0 * h_row_0 + row_1 * h_row_1 + row_2 * h_row_2
    grad_weight_rows = (
        grad_weight_ptr
        + row_0 * grad_weight_row_0
        + row_1 * grad_weight_row_1
        + row_2 * grad_weight_row_2
    )

    grad_y = tl.load(
        grad_y_rows + cols * grad_y_col,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    h = tl.load(
        h_rows + cols * h_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    rstd = tl.load(
        rstd_ptr + cols * rstd_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    grad_weight = tl.sum(grad_y * (h * rstd), axis=1, keep_dims=True)
    if NEEDS_GRAD_WEIGHT:
        tl.store(
            grad_weight_rows, narrow(grad_weight, grad_weight_ptr.dtype.element_ty), mask=in_rows
        )


@triton.jit
def _add_rmsnorm_backward_stage_1_loop(
    h_ptr,
    rstd_ptr,
    grad_y_ptr,
    grad_weight_ptr,
    N,
    ROWS_1,
    ROWS_2,
    M,
    grad_y_row_0,
    grad_y_row_1,
    grad_y_row_2,
    grad_y_col,
    h_row_0,
    h_row_1,
    h_row_2,
    h_col,
    rstd_col,
    grad_weight_row_0,
    grad_weight_row_1,
    grad_weight_row_2,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    NEEDS_GRAD_WEIGHT: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program goes over one row once, block by block."""
    rows = tl.program_id(0).to(INT) + tl.arange(0, 1)[:, None]
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    grad_y_rows = grad_y_ptr + row_0 * grad_y_row_0 + row_1 * grad_y_row_1 + row_2 * grad_y_row_2
    h_rows = h_ptr + row_0 * h_row_0 + row_1 * h_row_1 + row_2 * h_row_2
    grad_weight_rows = (
        grad_weight_ptr
        + row_0 * grad_weight_row_0
        + row_1 * grad_weight_row_1
        + row_2 * grad_weight_row_2
    )

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(0, M, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, M, EVEN)

        grad_y = tl.load(grad_y_rows + cols * grad_y_col, mask=in_cols, other=0.0).to(FLOAT)
        h = tl.load(h_rows + cols * h_col, mask=in_cols, other=0.0).to(FLOAT)
        rstd = tl.load(rstd_ptr + cols * rstd_col, mask=in_cols, other=0.0).to(FLOAT)
        total = total + tl.sum(grad_y * (h * rstd), axis=1, keep_dims=True)

    grad_weight = tl.sum(total, axis=0, keep_dims=True)

    if NEEDS_GRAD_WEIGHT:
        tl.store(grad_weight_rows, narrow(grad_weight, grad_weight_ptr.dtype.element_ty))


@triton.jit
def _add_rmsnorm_backward_stage_1_partial(
    h_ptr,
    rstd_ptr,
    grad_y_ptr,
    partial_total_ptr,
    N,
    ROWS_1,
    ROWS_2,
    M,
    grad_y_row_0,
    grad_y_row_1,
    grad_y_row_2,
    grad_y_col,
    h_row_0,
    h_row_1,
    h_row_2,
    h_col,
    rstd_col,
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
    stop = tl.minimum((split + 1) * CHUNK, M)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    grad_y_rows = grad_y_ptr + row_0 * grad_y_row_0 + row_1 * grad_y_row_1 + row_2 * grad_y_row_2
    h_rows = h_ptr + row_0 * h_row_0 + row_1 * h_row_1 + row_2 * h_row_2

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        grad_y = tl.load(grad_y_rows + cols * grad_y_col, mask=in_cols, other=0.0).to(FLOAT)
        h = tl.load(h_rows + cols * h_col, mask=in_cols, other=0.0).to(FLOAT)
        rstd = tl.load(rstd_ptr + cols * rstd_col, mask=in_cols, other=0.0).to(FLOAT)
        total = total + tl.sum(grad_y * (h * rstd), axis=1, keep_dims=True)

    grad_weight = tl.sum(total, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, grad_weight)


@triton.jit
def _add_rmsnorm_backward_stage_1_finish(
    partial_total_ptr,
    grad_weight_ptr,
    N,
    ROWS_1,
    ROWS_2,
    M,
    grad_weight_row_0,
    grad_weight_row_1,
    grad_weight_row_2,
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
    grad_weight = tl.sum(total, axis=0, keep_dims=True)

    if NEEDS_GRAD_WEIGHT:
        tl.store(grad_weight_rows, narrow(grad_weight, grad_weight_ptr.dtype.element_ty))


@triton.jit
def _add_rmsnorm_backward_stage_2_block(
    weight_ptr,
    h_ptr,
    rstd_ptr,
    grad_y_ptr,
    grad_h_ptr,
    grad_x_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    grad_y_row_0,
    grad_y_row_1,
    grad_y_row_2,
    grad_y_col,
    weight_col,
    h_row_0,
    h_row_1,
    h_row_2,
    h_col,
    grad_h_row_0,
    grad_h_row_1,
    grad_h_row_2,
    grad_h_col,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    EARLY: tl.constexpr,
    NEEDS_GRAD_X: tl.constexpr,
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
    grad_y_rows = grad_y_ptr + row_0 * grad_y_row_0 + row_1 * grad_y_row_1 + row_2 * grad_y_row_2
    h_rows = h_ptr + row_0 * h_row_0 + row_1 * h_row_1 + row_2 * h_row_2
    grad_h_rows = grad_h_ptr + row_0 * grad_h_row_0 + row_1 * grad_h_row_1 + row_2 * grad_h_row_2
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    grad_y = tl.load(
        grad_y_rows + cols * grad_y_col,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    weight = tl.load(
        weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    h = tl.load(
        h_rows + cols * h_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    if EARLY:
        grad_h = tl.load(
            grad_h_rows + cols * grad_h_col,
            mask=in_rows & in_cols,
            other=0.0,
            eviction_policy="evict_last",
        )
    rstd = tl.load(rstd_rows, mask=in_rows, other=0.0, eviction_policy="evict_last")
    # y = h * rstd * weight
    value = grad_y * weight
    # rstd = rsqrt(mean(h * h) + eps)
    grad_rstd = tl.sum(value * h, axis=1, keep_dims=True)
    if not EARLY:
        grad_h = tl.load(
            grad_h_rows + cols * grad_h_col,
            mask=in_rows & in_cols,
            other=0.0,
            eviction_policy="evict_last",
        )
    grad_x = (
        grad_h.to(FLOAT)
        + value * rstd.to(FLOAT)
        + 2.0 * (-0.5 * grad_rstd * (rstd.to(FLOAT) * rstd.to(FLOAT) * rstd.to(FLOAT)) / N) * h
    )
    if NEEDS_GRAD_X:
        tl.store(
            grad_x_rows + cols * grad_x_col,
            narrow(grad_x, grad_x_ptr.dtype.element_ty),
            mask=in_rows & in_cols,
        )


@triton.jit
def _add_rmsnorm_backward_stage_2_loop(
    weight_ptr,
    h_ptr,
    rstd_ptr,
    grad_y_ptr,
    grad_h_ptr,
    grad_x_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    grad_y_row_0,
    grad_y_row_1,
    grad_y_row_2,
    grad_y_col,
    weight_col,
    h_row_0,
    h_row_1,
    h_row_2,
    h_col,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    grad_h_row_0,
    grad_h_row_1,
    grad_h_row_2,
    grad_h_col,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
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
    grad_y_rows = grad_y_ptr + row_0 * grad_y_row_0 + row_1 * grad_y_row_1 + row_2 * grad_y_row_2
    h_rows = h_ptr + row_0 * h_row_0 + row_1 * h_row_1 + row_2 * h_row_2
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2
    grad_h_rows = grad_h_ptr + row_0 * grad_h_row_0 + row_1 * grad_h_row_1 + row_2 * grad_h_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        grad_y = tl.load(
            grad_y_rows + cols * grad_y_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        h = tl.load(
            h_rows + cols * h_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # rstd = rsqrt(mean(h * h) + eps)
        total = total + tl.sum(grad_y * weight * h, axis=1, keep_dims=True)

    grad_rstd = tl.sum(total, axis=0, keep_dims=True)

    rstd = tl.load(rstd_rows).to(FLOAT)
    value = 2.0 * (-0.5 * grad_rstd * (rstd * rstd * rstd) / N)

    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        grad_h = tl.load(
            grad_h_rows + cols * grad_h_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        grad_y = tl.load(
            grad_y_rows + cols * grad_y_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        h = tl.load(
            h_rows + cols * h_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        grad_x = grad_h + grad_y * weight * rstd + value * h
        if NEEDS_GRAD_X:
            tl.store(
                grad_x_rows + cols * grad_x_col,
                narrow(grad_x, grad_x_ptr.dtype.element_ty),
                mask=in_cols,
                cache_modifier=".cs",
            )


@triton.jit
def _add_rmsnorm_backward_stage_2_partial(
    weight_ptr,
    h_ptr,
    grad_y_ptr,
    partial_total_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    grad_y_row_0,
    grad_y_row_1,
    grad_y_row_2,
    grad_y_col,
    weight_col,
    h_row_0,
    h_row_1,
    h_row_2,
    h_col,
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
    grad_y_rows = grad_y_ptr + row_0 * grad_y_row_0 + row_1 * grad_y_row_1 + row_2 * grad_y_row_2
    h_rows = h_ptr + row_0 * h_row_0 + row_1 * h_row_1 + row_2 * h_row_2

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        grad_y = tl.load(grad_y_rows + cols * grad_y_col, mask=in_cols, other=0.0).to(FLOAT)
        weight = tl.load(weight_ptr + cols * weight_col, mask=in_cols, other=0.0).to(FLOAT)
        h = tl.load(h_rows + cols * h_col, mask=in_cols, other=0.0).to(FLOAT)
        # rstd = rsqrt(mean(h * h) + eps)
        total = total + tl.sum(grad_y * weight * h, axis=1, keep_dims=True)

    grad_rstd = tl.sum(total, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, grad_rstd)


@triton.jit
def _add_rmsnorm_backward_stage_2_finish(
    partial_total_ptr,
    weight_ptr,
    h_ptr,
    rstd_ptr,
    grad_y_ptr,
    grad_h_ptr,
    grad_x_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    grad_h_row_0,
    grad_h_row_1,
    grad_h_row_2,
    grad_h_col,
    grad_y_row_0,
    grad_y_row_1,
    grad_y_row_2,
    grad_y_col,
    weight_col,
    h_row_0,
    h_row_1,
    h_row_2,
    h_col,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
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
    stop = tl.minimum((split + 1) * CHUNK, N)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2
    grad_h_rows = grad_h_ptr + row_0 * grad_h_row_0 + row_1 * grad_h_row_1 + row_2 * grad_h_row_2
    grad_y_rows = grad_y_ptr + row_0 * grad_y_row_0 + row_1 * grad_y_row_1 + row_2 * grad_y_row_2
    h_rows = h_ptr + row_0 * h_row_0 + row_1 * h_row_1 + row_2 * h_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    grad_rstd = tl.sum(total, axis=0, keep_dims=True)
    rstd = tl.load(rstd_rows).to(FLOAT)
    # rstd = rsqrt(mean(h * h) + eps)
    value = 2.0 * (-0.5 * grad_rstd * (rstd * rstd * rstd) / N)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        grad_h = tl.load(grad_h_rows + cols * grad_h_col, mask=in_cols, other=0.0).to(FLOAT)
        grad_y = tl.load(grad_y_rows + cols * grad_y_col, mask=in_cols, other=0.0).to(FLOAT)
        weight = tl.load(weight_ptr + cols * weight_col, mask=in_cols, other=0.0).to(FLOAT)
        h = tl.load(h_rows + cols * h_col, mask=in_cols, other=0.0).to(FLOAT)
        grad_x = grad_h + grad_y * weight * rstd + value * h
        if NEEDS_GRAD_X:
            tl.store(
                grad_x_rows + cols * grad_x_col,
                narrow(grad_x, grad_x_ptr.dtype.element_ty),
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
                tensors=("partial_total", "x", "residual", "weight", "y", "h", "rstd"),
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
                _add_rmsnorm_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "residual", "weight", "y", "h", "rstd"),
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
            _add_rmsnorm_loop,
            grid=(rows.total,),
            tensors=("x", "residual", "weight", "y", "h", "rstd"),
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
    call = call.among("weight", "h", "rstd", "grad_y", "grad_weight")
    rows = call.axes(("N",), limit=3, spare_last=True)
    cols = call.axes(("M",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=2, writes=0, flops=3, joins=1, held=1.5, held_wide=3)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BACKWARD_BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(reads=2, writes=0, flops=3.25, joins=1, held=0.975, held_wide=1.95)
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, BACKWARD_LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(reads=2, writes=0, flops=3.25, joins=2, held=0.975, held_wide=1.95)
        return split_cost(config, call.target, work, call.element_size, rows.total, columns)

    split = least(call, BACKWARD_LOOP_CONFIGS, split_time)

    if call.takes("split", split < min(block, loop)):
        config = call.choose(BACKWARD_LOOP_CONFIGS, split_time)
        splits, chunk = split_row(call.target, rows.total, columns, config["TILE"])
        vector = max(1, 16 // call.element_size)
        even = columns > 0 and columns % config["TILE"] == 0
        return Launch(
            Step(
                _add_rmsnorm_backward_stage_1_partial,
                grid=(rows.total * splits,),
                tensors=("h", "rstd", "grad_y", "partial_total"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("grad_y"),
                    cols.strides("grad_y")[0],
                    *rows.strides("h"),
                    cols.strides("h")[0],
                    cols.strides("rstd")[0],
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
                _add_rmsnorm_backward_stage_1_finish,
                grid=(rows.total,),
                tensors=("partial_total", "grad_weight"),
                integers=(rows.total, *rows.sizes[1:], cols.total, *rows.strides("grad_weight")),
                constants={
                    "SPLITS": splits,
                    "BLOCK_S": next_power_of_2(splits),
                    "NEEDS_GRAD_WEIGHT": call.needs("grad_weight"),
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
                _add_rmsnorm_backward_stage_1_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("h", "rstd", "grad_y", "grad_weight"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("grad_y"),
                    cols.strides("grad_y")[0],
                    *rows.strides("h"),
                    cols.strides("h")[0],
                    cols.strides("rstd")[0],
                    *rows.strides("grad_weight"),
                ),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_N": width,
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                    "NEEDS_GRAD_WEIGHT": call.needs("grad_weight"),
                },
                config=config,
            )
        )

    config = call.choose(BACKWARD_LOOP_CONFIGS, loop_time)
    vector = max(1, 16 // call.element_size)
    even = columns > 0 and columns % config["TILE"] == 0
    return Launch(
        Step(
            _add_rmsnorm_backward_stage_1_loop,
            grid=(rows.total,),
            tensors=("h", "rstd", "grad_y", "grad_weight"),
            integers=(
                rows.total,
                *rows.sizes[1:],
                cols.total,
                *rows.strides("grad_y"),
                cols.strides("grad_y")[0],
                *rows.strides("h"),
                cols.strides("h")[0],
                cols.strides("rstd")[0],
                *rows.strides("grad_weight"),
            ),
            constants={
                "LANES": config["TILE"] // vector,
                "VECTOR": vector,
                "EVEN": even,
                "NEEDS_GRAD_WEIGHT": call.needs("grad_weight"),
            },
            config=config,
        )
    )


def _plan_backward_stage_2(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    call = call.among("weight", "h", "rstd", "grad_y", "grad_h", "grad_x")
    rows = call.axes(("M",), limit=3, spare_last=True)
    cols = call.axes(("N",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=3, writes=1, flops=7, joins=1, held=2, held_wide=3)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BACKWARD_BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=3, writes=1, flops=8.25, rereads=2, joins=1, passes=2, held=1.2, held_wide=2.4
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, BACKWARD_LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=3,
            writes=1,
            flops=8.75,
            special=0.125,
            rereads=2,
            joins=1,
            passes=2,
            held=1.2,
            held_wide=2.4,
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
                _add_rmsnorm_backward_stage_2_partial,
                grid=(rows.total * splits,),
                tensors=("weight", "h", "grad_y", "partial_total"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("grad_y"),
                    cols.strides("grad_y")[0],
                    cols.strides("weight")[0],
                    *rows.strides("h"),
                    cols.strides("h")[0],
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
                _add_rmsnorm_backward_stage_2_finish,
                grid=(rows.total * splits,),
                tensors=("partial_total", "weight", "h", "rstd", "grad_y", "grad_h", "grad_x"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("rstd"),
                    *rows.strides("grad_h"),
                    cols.strides("grad_h")[0],
                    *rows.strides("grad_y"),
                    cols.strides("grad_y")[0],
                    cols.strides("weight")[0],
                    *rows.strides("h"),
                    cols.strides("h")[0],
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
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
                _add_rmsnorm_backward_stage_2_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("weight", "h", "rstd", "grad_y", "grad_h", "grad_x"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("grad_y"),
                    cols.strides("grad_y")[0],
                    cols.strides("weight")[0],
                    *rows.strides("h"),
                    cols.strides("h")[0],
                    *rows.strides("grad_h"),
                    cols.strides("grad_h")[0],
                    *rows.strides("rstd"),
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
                ),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_N": width,
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                    "EARLY": width <= 4096,
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
            _add_rmsnorm_backward_stage_2_loop,
            grid=(rows.total,),
            tensors=("weight", "h", "rstd", "grad_y", "grad_h", "grad_x"),
            integers=(
                rows.total,
                *rows.sizes[1:],
                cols.total,
                *rows.strides("grad_y"),
                cols.strides("grad_y")[0],
                cols.strides("weight")[0],
                *rows.strides("h"),
                cols.strides("h")[0],
                *rows.strides("rstd"),
                *rows.strides("grad_h"),
                cols.strides("grad_h")[0],
                *rows.strides("grad_x"),
                cols.strides("grad_x")[0],
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
    return y, h, rstd


def reference_backward(weight, h, rstd, grad_y, grad_h, eps, *, compute):
    """The gradient of `reference`, as the kernels compute it."""
    N = weight.shape[0]
    weight = widen(weight, compute)
    h = widen(h, compute)
    rstd = widen(rstd, compute)
    grad_y = widen(grad_y, compute)
    grad_h = widen(grad_h, compute)
    # y = h * rstd * weight
    value = grad_y * weight
    # rstd = rsqrt(mean(h * h) + eps)
    grad_rstd = (value * h).sum(-1)
    grad_x = (
        grad_h
        + value * rstd[:, None]
        + (2.0 * (-0.5 * grad_rstd * (rstd * rstd * rstd) / float(N)))[:, None] * h
    )
    grad_weight = (grad_y * (h * rstd[:, None])).sum(0)
    return grad_x, grad_weight


BACKWARD = Op(
    name="add_rmsnorm_backward",
    spec_hash="76e34d14",
    inputs=(
        Operand("weight", ("N",)),
        Operand("h", ("M", "N")),
        Operand("rstd", ("M",)),
        Operand("grad_y", ("M", "N")),
        Operand("grad_h", ("M", "N")),
    ),
    params=(Param("eps", "float", 1e-06),),
    outputs=(Output("grad_x", ("M", "N"), like="h"), Output("grad_weight", ("N",), like="weight")),
    fold="M",
    shards={"M": ("grad_weight",)},
    partial=True,
    variants={
        (): Variant(_plan_backward, reference_backward),
    },
)
OP = Op(
    name="add_rmsnorm",
    spec_hash="76e34d14",
    inputs=(Operand("x", ("M", "N")), Operand("residual", ("M", "N")), Operand("weight", ("N",))),
    params=(Param("eps", "float", 1e-06),),
    outputs=(Output("y", ("M", "N"), like="x"), Output("h", ("M", "N"), like="x")),
    saved=(Output("rstd", ("M",), dtype="float"),),
    fold="M",
    inplace=("x", "residual"),
    shards={"M": ()},
    gradients=Gradients({"y": "grad_y", "h": "grad_h"}, BACKWARD),
    variants={
        (): Variant(
            _plan,
            reference,
            gradients={"x": "grad_x", "residual": "grad_x", "weight": "grad_weight"},
        ),
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
