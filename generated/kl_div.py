"""Kullback-Leibler divergence KL(p || q) of each row; q is given by its logarithms.

Built by tilegen 0.1.0 from specs/kl_div.py (spec f3089e94, templates d13e90b1).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 2*M*N*e + 4*M bytes (e: bytes of an element)
Work: 6*M*N flops, M*N of them exponentials, roots and quotients
Bound: memory on every target
Eager PyTorch: 6 kernels, 6.5 times the bytes
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
    block_cost,
    by_class,
    cdiv,
    flat_cost,
    least,
    loop_cost,
    narrow,
    next_power_of_2,
    split_cost,
    split_row,
    tile_shape,
    widen,
)

_BLOCK_1 = (
    Config(TILE=4096, num_warps=2),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 64 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 128 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 128 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 256 B shared, unproven
    Config(TILE=32768, num_warps=32),  # at most 512 B shared, unproven
)
_BLOCK_2 = (
    Config(TILE=512, num_warps=1),  # at most 32 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 256 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 256 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 512 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 1024 B shared, unproven
)
_BLOCK_3 = (
    Config(TILE=512, num_warps=1),  # at most 64 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 64 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 128 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 512 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 512 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 1024 B shared, unproven
)
_BLOCK_4 = (
    Config(TILE=4096, num_warps=2, registers=107),  # 128 B shared
    Config(TILE=4096, num_warps=8, registers=32),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=107),  # 256 B shared
    Config(TILE=8192, num_warps=8, registers=40),  # 256 B shared
    Config(TILE=16384, num_warps=8, registers=106),  # 512 B shared
    Config(TILE=32768, num_warps=32, registers=42),  # 1024 B shared
)
_BLOCK_5 = (
    Config(TILE=4096, num_warps=2, registers=120),  # 128 B shared
    Config(TILE=4096, num_warps=8, registers=34),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=125),  # 256 B shared
    Config(TILE=8192, num_warps=8, registers=39),  # 256 B shared
    Config(TILE=16384, num_warps=8, registers=119),  # 512 B shared
    Config(TILE=32768, num_warps=32, registers=39),  # 1024 B shared
)
_BLOCK_6 = (
    Config(TILE=512, num_warps=1, registers=60),  # 16 B shared
    Config(TILE=1024, num_warps=1, registers=66),  # 32 B shared
    Config(TILE=4096, num_warps=2, registers=138),  # 128 B shared
    Config(TILE=4096, num_warps=8, registers=48),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=138),  # 256 B shared
    Config(TILE=16384, num_warps=16, registers=64),  # 512 B shared
)
_BLOCK_7 = (
    Config(TILE=512, num_warps=1, registers=116),  # 32 B shared
    Config(TILE=512, num_warps=2, registers=64),  # 64 B shared
    Config(TILE=1024, num_warps=1, registers=212),  # 64 B shared
    Config(TILE=4096, num_warps=4, registers=216),  # 512 B shared
    Config(TILE=4096, num_warps=8, registers=122),  # 512 B shared
    Config(TILE=8192, num_warps=16, registers=121),  # 1024 B shared
)
_BLOCK_8 = (
    Config(TILE=4096, num_warps=4),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 64 B shared, unproven
    Config(TILE=8192, num_warps=2),  # at most 128 B shared, unproven
    Config(TILE=16384, num_warps=4),  # at most 256 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 512 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 512 B shared, unproven
)
#: Whole rows in registers, TILE elements to a program; by architecture class and element size in bytes.
BLOCK_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2), _BLOCK_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (4,), _BLOCK_2),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BLOCK_2),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BLOCK_3),
    (("sm_90",), (1,), _BLOCK_4),
    (("sm_90",), (2,), _BLOCK_5),
    (("sm_90",), (4,), _BLOCK_6),
    (("sm_90",), (8,), _BLOCK_7),
    (("gfx90a", "gfx942", "gfx950"), (1, 2, 4), _BLOCK_8),
)

_LOOP_1 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=32768, num_warps=32),  # at most 32768 B shared, unproven
)
_LOOP_2 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=32),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 65536 B shared, unproven
)
_LOOP_3 = (
    Config(TILE=2048, num_warps=4, registers=32),  # 16 B shared, 34 registers in split rows
    Config(TILE=2048, num_warps=8, registers=31),  # 32 B shared, 34 registers in split rows
    Config(TILE=4096, num_warps=4, registers=72),  # 16 B shared
    Config(TILE=4096, num_warps=8, registers=32),  # 32 B shared, 34 registers in split rows
    Config(TILE=8192, num_warps=16, registers=32),  # 64 B shared
    Config(TILE=32768, num_warps=32, registers=54),  # 128 B shared
)
_LOOP_4 = (
    Config(TILE=2048, num_warps=4, registers=32),  # 16 B shared, 36 registers in split rows
    Config(TILE=2048, num_warps=8, registers=32),  # 32 B shared, 34 registers in split rows
    Config(TILE=4096, num_warps=4, registers=71),  # 16 B shared
    Config(TILE=4096, num_warps=8, registers=32),  # 32 B shared, 36 registers in split rows
    Config(TILE=8192, num_warps=16, registers=32),  # 64 B shared, 40 registers in split rows
    Config(TILE=32768, num_warps=32, registers=64, spills=2),  # 128 B shared, 12 B spilled
)
_LOOP_5 = (
    Config(TILE=2048, num_warps=4, registers=56),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=32),  # 32 B shared, 34 registers in split rows
    Config(TILE=4096, num_warps=4, registers=66),  # 16 B shared
    Config(TILE=4096, num_warps=8, registers=36),  # 32 B shared, 40 registers in split rows
    Config(TILE=8192, num_warps=16, registers=32),  # 64 B shared, 42 registers in split rows
    Config(TILE=32768, num_warps=32, registers=64, spills=2),  # 128 B shared, 4 B spilled
)
_LOOP_6 = (
    Config(TILE=2048, num_warps=4, registers=128),  # 32 B shared
    Config(TILE=2048, num_warps=8, registers=76),  # 64 B shared
    Config(TILE=2048, num_warps=16, registers=48),  # 128 B shared
    Config(TILE=2048, num_warps=32, registers=32),  # 256 B shared
    Config(TILE=8192, num_warps=16, registers=128),  # 128 B shared
    Config(TILE=16384, num_warps=32, registers=64, spills=2),  # 256 B shared, 432 B spilled
)
_LOOP_7 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 65536 B shared, unproven
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
    (("gfx90a", "gfx942"), (8,), _LOOP_8),
)

_BACKWARD_TILED_1 = (
    Config(TILE=1024, num_warps=1),  # 4096 B shared, 240 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 4096 B shared, 126 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 4096 B shared, 64 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 8192 B shared, 212 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 8192 B shared, 120 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=8),  # 8192 B shared, 64 registers on sm_90, else unproven
)
_BACKWARD_TILED_2 = (
    Config(TILE=1024, num_warps=2),  # 8192 B shared, 255 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 8192 B shared, 128 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 8192 B shared, 74 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 16384 B shared, 250 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=8),  # 16384 B shared, 128 registers on sm_90, else unproven
    Config(TILE=4096, num_warps=8),  # 32768 B shared, 248 registers on sm_90, else unproven
)
_BACKWARD_TILED_3 = (
    Config(TILE=1024, num_warps=1),  # at most 4096 B shared, unproven
    Config(TILE=1024, num_warps=2),  # at most 4096 B shared, unproven
    Config(TILE=2048, num_warps=1),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=2),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 16384 B shared, unproven
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
def _kl_div_block(
    log_q_ptr,
    p_ptr,
    out_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    p_row_0,
    p_row_1,
    p_row_2,
    p_col,
    log_q_row_0,
    log_q_row_1,
    log_q_row_2,
    log_q_col,
    out_row_0,
    out_row_1,
    out_row_2,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
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
    p_rows = p_ptr + row_0 * p_row_0 + row_1 * p_row_1 + row_2 * p_row_2
    log_q_rows = log_q_ptr + row_0 * log_q_row_0 + row_1 * log_q_row_1 + row_2 * log_q_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    p = tl.load(
        p_rows + cols * p_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    log_q = tl.load(
        log_q_rows + cols * log_q_col,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # term = where(p == 0.0, 0.0, p * (log(p) - log_q))
    term = tl.where(p == 0.0, 0.0, p * (tl.log(p) - log_q))
    # return sum(term)
    row_sum = tl.sum(term, axis=1, keep_dims=True)
    tl.store(out_rows, narrow(row_sum, out_ptr.dtype.element_ty), mask=in_rows)


@triton.jit
def _kl_div_loop(
    log_q_ptr,
    p_ptr,
    out_ptr,
    ROWS_1,
    ROWS_2,
    N,
    p_row_0,
    p_row_1,
    p_row_2,
    p_col,
    log_q_row_0,
    log_q_row_1,
    log_q_row_2,
    log_q_col,
    out_row_0,
    out_row_1,
    out_row_2,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program goes over one row once, block by block."""
    rows = tl.program_id(0).to(INT) + tl.arange(0, 1)[:, None]
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    p_rows = p_ptr + row_0 * p_row_0 + row_1 * p_row_1 + row_2 * p_row_2
    log_q_rows = log_q_ptr + row_0 * log_q_row_0 + row_1 * log_q_row_1 + row_2 * log_q_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        p = tl.load(p_rows + cols * p_col, mask=in_cols, other=0.0).to(FLOAT)
        log_q = tl.load(log_q_rows + cols * log_q_col, mask=in_cols, other=0.0).to(FLOAT)
        # term = where(p == 0.0, 0.0, p * (log(p) - log_q))
        term = tl.where(p == 0.0, 0.0, p * (tl.log(p) - log_q))
        # return sum(term)
        total = total + tl.sum(term, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)

    tl.store(out_rows, narrow(row_sum, out_ptr.dtype.element_ty))


@triton.jit
def _kl_div_partial(
    log_q_ptr,
    p_ptr,
    partial_total_ptr,
    ROWS_1,
    ROWS_2,
    N,
    p_row_0,
    p_row_1,
    p_row_2,
    p_col,
    log_q_row_0,
    log_q_row_1,
    log_q_row_2,
    log_q_col,
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
    p_rows = p_ptr + row_0 * p_row_0 + row_1 * p_row_1 + row_2 * p_row_2
    log_q_rows = log_q_ptr + row_0 * log_q_row_0 + row_1 * log_q_row_1 + row_2 * log_q_row_2

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        p = tl.load(p_rows + cols * p_col, mask=in_cols, other=0.0).to(FLOAT)
        log_q = tl.load(log_q_rows + cols * log_q_col, mask=in_cols, other=0.0).to(FLOAT)
        # term = where(p == 0.0, 0.0, p * (log(p) - log_q))
        term = tl.where(p == 0.0, 0.0, p * (tl.log(p) - log_q))
        # return sum(term)
        total = total + tl.sum(term, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, row_sum)


@triton.jit
def _kl_div_finish(
    partial_total_ptr,
    out_ptr,
    ROWS_1,
    ROWS_2,
    out_row_0,
    out_row_1,
    out_row_2,
    SPLITS: tl.constexpr,
    BLOCK_S: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program joins the partial states of a row."""
    rows = tl.program_id(0).to(INT) + tl.arange(0, 1)[:, None]
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_sum = tl.sum(total, axis=0, keep_dims=True)

    # return sum(term)
    tl.store(out_rows, narrow(row_sum, out_ptr.dtype.element_ty))


@triton.jit
def _kl_div_backward_tiled(
    log_q_ptr,
    p_ptr,
    grad_out_ptr,
    grad_log_q_ptr,
    grad_p_ptr,
    M,
    SIZE_M_1,
    SIZE_M_2,
    N,
    p_M_0,
    p_M_1,
    p_M_2,
    p_N,
    grad_out_M_0,
    grad_out_M_1,
    grad_out_M_2,
    log_q_M_0,
    log_q_M_1,
    log_q_M_2,
    log_q_N,
    grad_log_q_M_0,
    grad_log_q_M_1,
    grad_log_q_M_2,
    grad_log_q_N,
    grad_p_M_0,
    grad_p_M_1,
    grad_p_M_2,
    grad_p_N,
    BLOCK_0: tl.constexpr,
    BLOCK_1: tl.constexpr,
    EVEN_0: tl.constexpr,
    EVEN_1: tl.constexpr,
    NEEDS_GRAD_LOG_Q: tl.constexpr,
    NEEDS_GRAD_P: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program computes one tile of (M) by (N)."""
    tile = tl.program_id(0).to(INT)
    tiles_1 = tl.cdiv(N, BLOCK_1)
    n = (tile % tiles_1) * BLOCK_1 + tl.arange(0, BLOCK_1)[None, :]
    m = (tile // tiles_1) * BLOCK_0 + tl.arange(0, BLOCK_0)[:, None]
    in_n = below(n, N, EVEN_1)
    in_m = below(m, M, EVEN_0)
    m_2 = m % SIZE_M_2
    m_1 = m // SIZE_M_2 % SIZE_M_1
    m_0 = m // SIZE_M_2 // SIZE_M_1
    p_m = p_ptr + m_0 * p_M_0 + m_1 * p_M_1 + m_2 * p_M_2
    grad_out_m = grad_out_ptr + m_0 * grad_out_M_0 + m_1 * grad_out_M_1 + m_2 * grad_out_M_2
    log_q_m = log_q_ptr + m_0 * log_q_M_0 + m_1 * log_q_M_1 + m_2 * log_q_M_2
    grad_log_q_m = (
        grad_log_q_ptr + m_0 * grad_log_q_M_0 + m_1 * grad_log_q_M_1 + m_2 * grad_log_q_M_2
    )
    grad_p_m = grad_p_ptr + m_0 * grad_p_M_0 + m_1 * grad_p_M_1 + m_2 * grad_p_M_2

    p = tl.load(p_m + n * p_N, mask=in_m & in_n, other=0.0, eviction_policy="evict_last").to(FLOAT)
    grad_out = tl.load(grad_out_m, mask=in_m, other=0.0, eviction_policy="evict_last").to(FLOAT)
    log_q = tl.load(
        log_q_m + n * log_q_N, mask=in_m & in_n, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    # term = where(p == 0.0, 0.0, p * (log(p) - log_q))
    value = tl.where(p == 0.0, 0.0, grad_out)
    value_2 = value * p
    grad_log_q = -value_2
    grad_p = value * (tl.log(p) - log_q) + value_2 / p
    if NEEDS_GRAD_LOG_Q:
        tl.store(
            grad_log_q_m + n * grad_log_q_N,
            narrow(grad_log_q, grad_log_q_ptr.dtype.element_ty),
            mask=in_m & in_n,
        )
    if NEEDS_GRAD_P:
        tl.store(
            grad_p_m + n * grad_p_N, narrow(grad_p, grad_p_ptr.dtype.element_ty), mask=in_m & in_n
        )


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("M",), limit=3, spare_last=True)
    cols = call.axes(("N",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=2, writes=0, flops=6, special=1, joins=1, held_wide=2)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(reads=2, writes=0, flops=6.25, special=1, joins=1, held=0.675, held_wide=1.35)
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(reads=2, writes=0, flops=6.25, special=1, joins=2, held=0.675, held_wide=1.35)
        return split_cost(config, call.target, work, call.element_size, rows.total, columns)

    split = least(call, LOOP_CONFIGS, split_time)

    if call.takes("split", split < min(block, loop)):
        config = call.choose(LOOP_CONFIGS, split_time)
        splits, chunk = split_row(call.target, rows.total, columns, config["TILE"])
        vector = max(1, 16 // call.element_size)
        even = columns > 0 and columns % config["TILE"] == 0
        return Launch(
            Step(
                _kl_div_partial,
                grid=(rows.total * splits,),
                tensors=("log_q", "p", "partial_total"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("p"),
                    cols.strides("p")[0],
                    *rows.strides("log_q"),
                    cols.strides("log_q")[0],
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
                _kl_div_finish,
                grid=(rows.total,),
                tensors=("partial_total", "out"),
                integers=(*rows.sizes[1:], *rows.strides("out")),
                constants={"SPLITS": splits, "BLOCK_S": next_power_of_2(splits)},
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
                _kl_div_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("log_q", "p", "out"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("p"),
                    cols.strides("p")[0],
                    *rows.strides("log_q"),
                    cols.strides("log_q")[0],
                    *rows.strides("out"),
                ),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_N": width,
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                },
                config=config,
            )
        )

    config = call.choose(LOOP_CONFIGS, loop_time)
    vector = max(1, 16 // call.element_size)
    even = columns > 0 and columns % config["TILE"] == 0
    return Launch(
        Step(
            _kl_div_loop,
            grid=(rows.total,),
            tensors=("log_q", "p", "out"),
            integers=(
                *rows.sizes[1:],
                cols.total,
                *rows.strides("p"),
                cols.strides("p")[0],
                *rows.strides("log_q"),
                cols.strides("log_q")[0],
                *rows.strides("out"),
            ),
            constants={"LANES": config["TILE"] // vector, "VECTOR": vector, "EVEN": even},
            config=config,
        )
    )


def _plan_backward(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""

    axes_0 = call.axes(("M",), limit=3, spare_last=True)
    axes_1 = call.axes(("N",), limit=1)
    height, length = axes_0.total, axes_1.total
    outer = 1

    def tiled_time(config: Config) -> float:
        work = Work(reads=2, writes=2, flops=9, special=2, held=4, held_wide=5)
        return flat_cost(config, call.target, work, call.element_size, outer * height * length)

    config = call.choose(BACKWARD_TILED_CONFIGS, tiled_time)
    block_0, block_1 = tile_shape(
        axes_0.crossed(), height, length, config["TILE"], call.element_size
    )
    tiles = cdiv(height, block_0) * cdiv(length, block_1)
    return Launch(
        Step(
            _kl_div_backward_tiled,
            grid=(outer * tiles,),
            tensors=("log_q", "p", "grad_out", "grad_log_q", "grad_p"),
            integers=(
                axes_0.total,
                *axes_0.sizes[1:],
                axes_1.total,
                *axes_0.strides("p"),
                axes_1.strides("p")[0],
                *axes_0.strides("grad_out"),
                *axes_0.strides("log_q"),
                axes_1.strides("log_q")[0],
                *axes_0.strides("grad_log_q"),
                axes_1.strides("grad_log_q")[0],
                *axes_0.strides("grad_p"),
                axes_1.strides("grad_p")[0],
            ),
            constants={
                "BLOCK_0": block_0,
                "BLOCK_1": block_1,
                "EVEN_0": height % block_0 == 0,
                "EVEN_1": length % block_1 == 0,
                "NEEDS_GRAD_LOG_Q": call.needs("grad_log_q"),
                "NEEDS_GRAD_P": call.needs("grad_p"),
            },
            config=config,
        )
    )


def reference(log_q, p, *, compute):
    """Kullback-Leibler divergence KL(p || q) of each row; q is given by its logarithms.

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    log_q = widen(log_q, compute)
    p = widen(p, compute)
    # term = where(p == 0.0, 0.0, p * (log(p) - log_q))
    term = torch.where(p == 0.0, 0.0, p * (torch.log(p) - log_q))
    return term.sum(-1)


def reference_backward(log_q, p, grad_out, *, compute):
    """The gradient of `reference`, as the kernels compute it."""
    log_q = widen(log_q, compute)
    p = widen(p, compute)
    grad_out = widen(grad_out, compute)
    # term = where(p == 0.0, 0.0, p * (log(p) - log_q))
    value = torch.where(p == 0.0, 0.0, grad_out[:, None])
    value_2 = value * p
    grad_log_q = -value_2
    grad_p = value * (torch.log(p) - log_q) + value_2 / p
    return grad_log_q, grad_p


BACKWARD = Op(
    name="kl_div_backward",
    spec_hash="f3089e94",
    inputs=(Operand("log_q", ("M", "N")), Operand("p", ("M", "N")), Operand("grad_out", ("M",))),
    outputs=(
        Output("grad_log_q", ("M", "N"), like="log_q"),
        Output("grad_p", ("M", "N"), like="p"),
    ),
    fold="M",
    shards={"M": (), "N": ()},
    partial=True,
    variants={
        (): Variant(_plan_backward, reference_backward),
    },
)
OP = Op(
    name="kl_div",
    spec_hash="f3089e94",
    inputs=(Operand("log_q", ("M", "N")), Operand("p", ("M", "N"))),
    outputs=(Output("out", ("M",), dtype="float"),),
    fold="M",
    inplace=("log_q", "p"),
    shards={"M": (), "N": ("out",)},
    gradients=Gradients({"out": "grad_out"}, BACKWARD),
    variants={
        (): Variant(_plan, reference, gradients={"log_q": "grad_log_q", "p": "grad_p"}),
    },
)


def kl_div(
    log_q: torch.Tensor,
    p: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> torch.Tensor:
    """Kullback-Leibler divergence KL(p || q) of each row; q is given by its logarithms.

    Args:
        log_q: [M, N], floats.
        p: [M, N], floats.
        out: where to write out.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        out: [M], fp32 (fp64 for fp64 inputs).
        M may stand for several dimensions.
    """
    tensors = (log_q, p)
    params = ()
    return OP(tensors, params, out, backend, autotune)
