"""Natural logarithm of the sum of the exponentials of each row.

Built by tilegen 0.1.0 from specs/logsumexp.py (spec 81e0b294, templates d13e90b1).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: M*N*e + 4*M bytes (e: bytes of an element)
Work: 4*M*N + 6*M flops, M*N + M of them exponentials, roots and quotients
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
    block_cost,
    by_class,
    cdiv,
    exp,
    flat_cost,
    least,
    logsumexp_end,
    logsumexp_step,
    loop_cost,
    lowest_padded,
    nan_max,
    narrow,
    next_power_of_2,
    split_cost,
    split_row,
    tile_shape,
    widen,
)

_BLOCK_1 = (
    Config(TILE=2048, num_warps=1),  # at most 128 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 256 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 256 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 512 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 1024 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 2048 B shared, unproven
)
_BLOCK_2 = (
    Config(TILE=1024, num_warps=1),  # at most 128 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 512 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 512 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 512 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 1024 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 2048 B shared, unproven
)
_BLOCK_3 = (
    Config(TILE=2048, num_warps=1, registers=76),  # 64 B shared
    Config(TILE=4096, num_warps=2, registers=78),  # 128 B shared
    Config(TILE=4096, num_warps=4, registers=45),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=78),  # 256 B shared
    Config(TILE=16384, num_warps=8, registers=78),  # 512 B shared
    Config(TILE=32768, num_warps=16, registers=78),  # 1024 B shared
)
_BLOCK_4 = (
    Config(TILE=2048, num_warps=1, registers=76),  # 64 B shared
    Config(TILE=4096, num_warps=2, registers=77),  # 128 B shared
    Config(TILE=4096, num_warps=4, registers=46),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=78),  # 256 B shared
    Config(TILE=16384, num_warps=8, registers=78),  # 512 B shared
    Config(TILE=32768, num_warps=16, registers=78),  # 1024 B shared
)
_BLOCK_5 = (
    Config(TILE=2048, num_warps=1, registers=72),  # 64 B shared
    Config(TILE=4096, num_warps=2, registers=77),  # 128 B shared
    Config(TILE=4096, num_warps=4, registers=45),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=77),  # 256 B shared
    Config(TILE=16384, num_warps=8, registers=79),  # 512 B shared
    Config(TILE=32768, num_warps=16, registers=80),  # 1024 B shared
)
_BLOCK_6 = (
    Config(TILE=1024, num_warps=1, registers=122),  # 64 B shared
    Config(TILE=4096, num_warps=2, registers=240),  # 512 B shared
    Config(TILE=4096, num_warps=4, registers=154),  # 512 B shared
    Config(TILE=4096, num_warps=8, registers=80),  # 512 B shared
    Config(TILE=8192, num_warps=4, registers=255),  # 1024 B shared
    Config(TILE=16384, num_warps=16, registers=128),  # 2048 B shared
)
_BLOCK_7 = (
    Config(TILE=4096, num_warps=1),  # at most 16 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 16 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16 B shared, unproven
    Config(TILE=8192, num_warps=2),  # at most 32 B shared, unproven
    Config(TILE=16384, num_warps=4),  # at most 64 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 128 B shared, unproven
)
#: Whole rows in registers, TILE elements to a program; by architecture class and element size in bytes.
BLOCK_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1,), _BLOCK_1),
    (
        ("sm_80", "sm_100", "sm_89", "sm_86", "sm_120", "gfx90a", "gfx942", "gfx950"),
        (2, 4),
        _BLOCK_1,
    ),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BLOCK_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BLOCK_2),
    (("sm_90",), (1,), _BLOCK_3),
    (("sm_90",), (2,), _BLOCK_4),
    (("sm_90",), (4,), _BLOCK_5),
    (("sm_90",), (8,), _BLOCK_6),
    (("gfx90a", "gfx942", "gfx950"), (1,), _BLOCK_7),
)

_LOOP_1 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 65536 B shared, unproven
)
_LOOP_2 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=32),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=32),  # at most 32768 B shared, unproven
)
_LOOP_3 = (
    Config(TILE=2048, num_warps=4, registers=32),  # 16 B shared, 80 registers in split rows
    Config(TILE=2048, num_warps=8, registers=26),  # 32 B shared, 80 registers in split rows
    Config(TILE=4096, num_warps=4, registers=48),  # 16 B shared
    Config(TILE=4096, num_warps=8, registers=32),  # 32 B shared, 48 registers in split rows
    Config(TILE=8192, num_warps=8, registers=48),  # 32 B shared
    Config(TILE=16384, num_warps=8, registers=120),  # 32 B shared
)
_LOOP_4 = (
    Config(TILE=2048, num_warps=4, registers=31),  # 16 B shared, 80 registers in split rows
    Config(TILE=2048, num_warps=8, registers=30),  # 32 B shared, 80 registers in split rows
    Config(TILE=4096, num_warps=4, registers=48),  # 16 B shared
    Config(TILE=4096, num_warps=8, registers=31),  # 32 B shared, 48 registers in split rows
    Config(TILE=8192, num_warps=8, registers=48),  # 32 B shared
    Config(TILE=16384, num_warps=8, registers=80),  # 32 B shared
)
_LOOP_5 = (
    Config(TILE=2048, num_warps=4, registers=40),  # 16 B shared, 80 registers in split rows
    Config(TILE=2048, num_warps=8, registers=32),  # 32 B shared, 80 registers in split rows
    Config(TILE=4096, num_warps=4, registers=71),  # 16 B shared
    Config(TILE=4096, num_warps=8, registers=40),  # 32 B shared, 48 registers in split rows
    Config(TILE=8192, num_warps=8, registers=72),  # 32 B shared
    Config(TILE=16384, num_warps=8, registers=186),  # 32 B shared
)
_LOOP_6 = (
    Config(TILE=2048, num_warps=4, registers=164),  # 32 B shared, 246 registers in split rows
    Config(TILE=2048, num_warps=8, registers=90),  # 64 B shared, 246 registers in split rows
    Config(
        TILE=2048, num_warps=16, registers=56, spills=2
    ),  # 128 B shared, 128 registers in split rows, 2176 B spilled
    Config(
        TILE=2048, num_warps=32, registers=38, spills=2
    ),  # 256 B shared, 64 registers in split rows, 3872 B spilled
    Config(TILE=4096, num_warps=4, registers=255, spills=2),  # 32 B shared, 460 B spilled
    Config(TILE=8192, num_warps=32, registers=64, spills=2),  # 256 B shared, 252 B spilled
)
_LOOP_7 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 32768 B shared, unproven
)
#: Sweeps over one row, TILE elements at a time; by architecture class and element size in bytes.
LOOP_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2, 4), _LOOP_1),
    (("gfx90a", "gfx942", "gfx950"), (8,), _LOOP_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _LOOP_2),
    (("sm_90",), (1,), _LOOP_3),
    (("sm_90",), (2,), _LOOP_4),
    (("sm_90",), (4,), _LOOP_5),
    (("sm_90",), (8,), _LOOP_6),
    (("gfx90a", "gfx942", "gfx950"), (1, 2, 4), _LOOP_7),
)

_BACKWARD_TILED_1 = (
    Config(TILE=1024, num_warps=1),  # 8192 B shared, 98 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 8192 B shared, 78 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 8192 B shared, 48 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=1),  # 16384 B shared, 164 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 16384 B shared, 156 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 16384 B shared, 79 registers on sm_90, else unproven
)
_BACKWARD_TILED_2 = (
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
        (4, 8),
        _BACKWARD_TILED_1,
    ),
    (("gfx90a", "gfx942", "gfx950"), (1, 2), _BACKWARD_TILED_2),
)


# Loads: "evict_last" keeps what a kernel reads in L2 over what it writes, and a row until its last
# sweep, which is "evict_first". On an H200 that is 2 to 10 percent of the copy rate.
@triton.jit
def _logsumexp_block(
    x_ptr,
    out_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
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
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    x = lowest_padded(
        tl.load(
            x_rows + cols * x_col,
            mask=in_rows & in_cols,
            other=float("-inf"),
            eviction_policy="evict_last",
        ),
        in_rows & in_cols,
        FLOAT,
    )
    # return tilegen.logsumexp(x)
    row_max = nan_max(x, 1)
    row_top = tl.where(row_max == float("-inf"), 0.0, row_max)
    row_total = tl.sum(exp(x - row_top), axis=1, keep_dims=True)
    tl.store(
        out_rows,
        narrow(
            tl.where(row_top == float("inf"), row_top, row_top + tl.log(row_total)),
            out_ptr.dtype.element_ty,
        ),
        mask=in_rows,
    )


@triton.jit
def _logsumexp_loop(
    x_ptr,
    out_ptr,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
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
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    top = tl.full((LANES, 1), -3.4028234663852886e38, FLOAT)
    total = tl.full((LANES, 1), 0.0, FLOAT)
    cols = lane
    in_cols = below(cols, N, EVEN)

    next_x = tl.load(x_rows + cols * x_col, mask=in_cols, other=float("-inf"))

    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)
        x = lowest_padded(next_x, in_cols, FLOAT)

        next_cols = cols + LANES * VECTOR
        in_next = next_cols < N
        next_x = tl.load(x_rows + next_cols * x_col, mask=in_next, other=float("-inf"))

        # return tilegen.logsumexp(x)
        top, total = logsumexp_step(top, total, x)

    row_top, row_total = logsumexp_end(top, total)

    tl.store(
        out_rows,
        narrow(
            tl.where(row_top == float("inf"), row_top, row_top + tl.log(row_total)),
            out_ptr.dtype.element_ty,
        ),
    )


@triton.jit
def _logsumexp_partial(
    x_ptr,
    partial_top_ptr,
    partial_total_ptr,
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

    top = tl.full((LANES, 1), -3.4028234663852886e38, FLOAT)
    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x = lowest_padded(
            tl.load(x_rows + cols * x_col, mask=in_cols, other=float("-inf")), in_cols, FLOAT
        )
        # return tilegen.logsumexp(x)
        top, total = logsumexp_step(top, total, x)

    row_top, row_total = logsumexp_end(top, total)
    tl.store(partial_top_ptr + rows * SPLITS + split, row_top)
    tl.store(partial_total_ptr + rows * SPLITS + split, row_total)


@triton.jit
def _logsumexp_finish(
    partial_top_ptr,
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
    top = tl.load(
        partial_top_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=-3.4028234663852886e38
    )
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_top, row_total = logsumexp_end(top, total)

    # return tilegen.logsumexp(x)
    tl.store(
        out_rows,
        narrow(
            tl.where(row_top == float("inf"), row_top, row_top + tl.log(row_total)),
            out_ptr.dtype.element_ty,
        ),
    )


@triton.jit
def _logsumexp_backward_tiled(
    x_ptr,
    out_ptr,
    grad_out_ptr,
    grad_x_ptr,
    M,
    SIZE_M_1,
    SIZE_M_2,
    N,
    grad_out_M_0,
    grad_out_M_1,
    grad_out_M_2,
    x_M_0,
    x_M_1,
    x_M_2,
    x_N,
    out_M_0,
    out_M_1,
    out_M_2,
    grad_x_M_0,
    grad_x_M_1,
    grad_x_M_2,
    grad_x_N,
    BLOCK_0: tl.constexpr,
    BLOCK_1: tl.constexpr,
    EVEN_0: tl.constexpr,
    EVEN_1: tl.constexpr,
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
    grad_out_m = grad_out_ptr + m_0 * grad_out_M_0 + m_1 * grad_out_M_1 + m_2 * grad_out_M_2
    x_m = x_ptr + m_0 * x_M_0 + m_1 * x_M_1 + m_2 * x_M_2
    out_m = out_ptr + m_0 * out_M_0 + m_1 * out_M_1 + m_2 * out_M_2
    grad_x_m = grad_x_ptr + m_0 * grad_x_M_0 + m_1 * grad_x_M_1 + m_2 * grad_x_M_2

    grad_out = tl.load(grad_out_m, mask=in_m, other=0.0, eviction_policy="evict_last").to(FLOAT)
    x = tl.load(x_m + n * x_N, mask=in_m & in_n, other=0.0, eviction_policy="evict_last").to(FLOAT)
    out = tl.load(out_m, mask=in_m, other=0.0, eviction_policy="evict_last").to(FLOAT)
    grad_x = grad_out * exp(x - out)
    tl.store(grad_x_m + n * grad_x_N, narrow(grad_x, grad_x_ptr.dtype.element_ty), mask=in_m & in_n)


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("M",), limit=3, spare_last=True)
    cols = call.axes(("N",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=1, writes=0, flops=4, special=1, joins=2)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=1, writes=0, flops=5.125, special=1.25, joins=1, ahead=1, held=1.05, held_wide=2.1
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(reads=1, writes=0, flops=5.625, special=1.375, joins=2)
        return split_cost(config, call.target, work, call.element_size, rows.total, columns)

    split = least(call, LOOP_CONFIGS, split_time)

    if call.takes("split", split < min(block, loop)):
        config = call.choose(LOOP_CONFIGS, split_time)
        splits, chunk = split_row(call.target, rows.total, columns, config["TILE"])
        vector = max(1, 16 // call.element_size)
        even = columns > 0 and columns % config["TILE"] == 0
        return Launch(
            Step(
                _logsumexp_partial,
                grid=(rows.total * splits,),
                tensors=("x", "partial_top", "partial_total"),
                integers=(*rows.sizes[1:], cols.total, *rows.strides("x"), cols.strides("x")[0]),
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
                _logsumexp_finish,
                grid=(rows.total,),
                tensors=("partial_top", "partial_total", "out"),
                integers=(*rows.sizes[1:], *rows.strides("out")),
                constants={"SPLITS": splits, "BLOCK_S": next_power_of_2(splits)},
                config=config,
            ),
            workspaces={
                "partial_top": ((rows.total, splits), call.float),
                "partial_total": ((rows.total, splits), call.float),
            },
        )

    if call.takes("block", block <= loop):
        config = call.choose(BLOCK_CONFIGS, block_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        return Launch(
            Step(
                _logsumexp_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "out"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
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
            _logsumexp_loop,
            grid=(rows.total,),
            tensors=("x", "out"),
            integers=(
                *rows.sizes[1:],
                cols.total,
                *rows.strides("x"),
                cols.strides("x")[0],
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
        work = Work(reads=1, writes=1, flops=3, special=1)
        return flat_cost(config, call.target, work, call.element_size, outer * height * length)

    config = call.choose(BACKWARD_TILED_CONFIGS, tiled_time)
    block_0, block_1 = tile_shape(
        axes_0.crossed(), height, length, config["TILE"], call.element_size
    )
    tiles = cdiv(height, block_0) * cdiv(length, block_1)
    return Launch(
        Step(
            _logsumexp_backward_tiled,
            grid=(outer * tiles,),
            tensors=("x", "out", "grad_out", "grad_x"),
            integers=(
                axes_0.total,
                *axes_0.sizes[1:],
                axes_1.total,
                *axes_0.strides("grad_out"),
                *axes_0.strides("x"),
                axes_1.strides("x")[0],
                *axes_0.strides("out"),
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


def reference(x, *, compute):
    """Natural logarithm of the sum of the exponentials of each row.

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x = widen(x, compute)
    return torch.logsumexp(x, -1)


def reference_backward(x, out, grad_out, *, compute):
    """The gradient of `reference`, as the kernels compute it."""
    x = widen(x, compute)
    out = widen(out, compute)
    grad_out = widen(grad_out, compute)
    grad_x = grad_out[:, None] * torch.exp(x - out[:, None])
    return grad_x


BACKWARD = Op(
    name="logsumexp_backward",
    spec_hash="81e0b294",
    inputs=(Operand("x", ("M", "N")), Operand("out", ("M",)), Operand("grad_out", ("M",))),
    outputs=(Output("grad_x", ("M", "N"), like="x"),),
    fold="M",
    shards={"M": (), "N": ()},
    partial=True,
    variants={
        (): Variant(_plan_backward, reference_backward),
    },
)
OP = Op(
    name="logsumexp",
    spec_hash="81e0b294",
    inputs=(Operand("x", ("M", "N")),),
    outputs=(Output("out", ("M",), dtype="float"),),
    fold="M",
    inplace=("x",),
    shards={"M": ()},
    gradients=Gradients({"out": "grad_out"}, BACKWARD),
    variants={
        (): Variant(_plan, reference, gradients={"x": "grad_x"}),
    },
)


def logsumexp(
    x: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> torch.Tensor:
    """Natural logarithm of the sum of the exponentials of each row.

    Args:
        x: [M, N], floats.
        out: where to write out.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        out: [M], fp32 (fp64 for fp64 inputs).
        M may stand for several dimensions.
    """
    tensors = (x,)
    params = ()
    return OP(tensors, params, out, backend, autotune)
