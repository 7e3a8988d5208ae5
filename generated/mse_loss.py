"""Mean squared error over all elements, one scalar.

Built by tilegen 0.1.0 from specs/mse_loss.py (spec d67fdad1, templates d13e90b1).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 2*M*N*e + 4 bytes (e: bytes of an element)
Work: 3*M*N + 2 flops, 1 of them exponentials, roots and quotients
Bound: memory on every target
Eager PyTorch: 3 kernels, 3.5 times the bytes
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
    Config(TILE=2048, num_warps=1),  # at most 32 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 64 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 128 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 256 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 512 B shared, unproven
)
_BLOCK_2 = (
    Config(TILE=1024, num_warps=1),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 256 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 256 B shared, unproven
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
    Config(TILE=8192, num_warps=8),  # at most 1024 B shared, unproven
)
_BLOCK_4 = (
    Config(TILE=2048, num_warps=1, registers=46),  # 0 B shared
    Config(TILE=4096, num_warps=2, registers=36),  # 8 B shared
    Config(TILE=4096, num_warps=4, registers=29),  # 16 B shared
    Config(TILE=8192, num_warps=4, registers=36),  # 16 B shared
    Config(TILE=16384, num_warps=8, registers=32),  # 32 B shared
    Config(TILE=32768, num_warps=16, registers=32),  # 64 B shared
)
_BLOCK_5 = (
    Config(TILE=2048, num_warps=1, registers=64),  # 0 B shared
    Config(TILE=4096, num_warps=2, registers=34),  # 8 B shared
    Config(TILE=4096, num_warps=4, registers=34),  # 16 B shared
    Config(TILE=8192, num_warps=4, registers=32),  # 16 B shared
    Config(TILE=16384, num_warps=8, registers=32),  # 32 B shared
    Config(TILE=32768, num_warps=16, registers=32),  # 64 B shared
)
_BLOCK_6 = (
    Config(TILE=1024, num_warps=1, registers=66),  # 0 B shared
    Config(TILE=4096, num_warps=2, registers=38),  # 8 B shared
    Config(TILE=4096, num_warps=4, registers=38),  # 16 B shared
    Config(TILE=4096, num_warps=8, registers=38),  # 32 B shared
    Config(TILE=8192, num_warps=4, registers=38),  # 16 B shared
    Config(TILE=16384, num_warps=16, registers=38),  # 64 B shared
)
_BLOCK_7 = (
    Config(TILE=512, num_warps=1, registers=64),  # 0 B shared
    Config(TILE=512, num_warps=2, registers=32),  # 16 B shared
    Config(TILE=1024, num_warps=1, registers=64),  # 0 B shared
    Config(TILE=4096, num_warps=4, registers=36),  # 32 B shared
    Config(TILE=4096, num_warps=8, registers=32),  # 64 B shared
    Config(TILE=8192, num_warps=8, registers=32),  # 64 B shared
)
#: Whole rows in registers, TILE elements to a program; by architecture class and element size in bytes.
BLOCK_CONFIGS = by_class(
    (
        ("sm_80", "sm_100", "sm_89", "sm_86", "sm_120", "gfx90a", "gfx942", "gfx950"),
        (1, 2),
        _BLOCK_1,
    ),
    (("gfx90a", "gfx942", "gfx950"), (4,), _BLOCK_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (4,), _BLOCK_2),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BLOCK_2),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BLOCK_3),
    (("sm_90",), (1,), _BLOCK_4),
    (("sm_90",), (2,), _BLOCK_5),
    (("sm_90",), (4,), _BLOCK_6),
    (("sm_90",), (8,), _BLOCK_7),
)

_LOOP_1 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=32768, num_warps=32),  # at most 32768 B shared, unproven
)
_LOOP_2 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=32),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 65536 B shared, unproven
)
_LOOP_3 = (
    Config(TILE=2048, num_warps=4, registers=22),  # 16 B shared, 34 registers in split rows
    Config(TILE=2048, num_warps=8, registers=19),  # 32 B shared, 34 registers in split rows
    Config(TILE=4096, num_warps=4, registers=32),  # 16 B shared, 34 registers in split rows
    Config(TILE=4096, num_warps=8, registers=22),  # 32 B shared, 34 registers in split rows
    Config(TILE=8192, num_warps=8, registers=32),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=32),  # 128 B shared
)
_LOOP_4 = (
    Config(TILE=2048, num_warps=4, registers=32),  # 16 B shared, 34 registers in split rows
    Config(TILE=2048, num_warps=8, registers=25),  # 32 B shared, 34 registers in split rows
    Config(TILE=4096, num_warps=4, registers=32),  # 16 B shared, 34 registers in split rows
    Config(TILE=4096, num_warps=8, registers=32),  # 32 B shared, 34 registers in split rows
    Config(TILE=8192, num_warps=8, registers=38),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=38),  # 128 B shared
)
_LOOP_5 = (
    Config(TILE=2048, num_warps=4, registers=34),  # 16 B shared, 40 registers in split rows
    Config(TILE=2048, num_warps=8, registers=31),  # 32 B shared, 34 registers in split rows
    Config(TILE=4096, num_warps=4, registers=44),  # 16 B shared
    Config(TILE=4096, num_warps=8, registers=36),  # 32 B shared, 40 registers in split rows
    Config(TILE=8192, num_warps=8, registers=44),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=37),  # 128 B shared
)
_LOOP_6 = (
    Config(TILE=2048, num_warps=4, registers=52),  # 32 B shared
    Config(TILE=2048, num_warps=8, registers=32),  # 64 B shared
    Config(TILE=2048, num_warps=16, registers=32),  # 128 B shared
    Config(TILE=2048, num_warps=32, registers=32),  # 256 B shared
    Config(TILE=16384, num_warps=32, registers=44),  # 256 B shared
    Config(TILE=8192, num_warps=8, registers=64, spills=2),  # 64 B shared, 4 B spilled
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

_BACKWARD_FLAT_1 = (
    Config(TILE=512, num_warps=2),  # 0 B shared, 32 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 32 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=8),  # 0 B shared, 32 registers on sm_90, else unproven
)
_BACKWARD_FLAT_2 = (
    Config(TILE=512, num_warps=4),  # 0 B shared, 21 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 0 B shared, 21 registers on sm_90, else unproven
)
_BACKWARD_FLAT_3 = (
    Config(TILE=512, num_warps=8),  # 0 B shared, 28 registers on sm_90, else unproven
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
    Config(TILE=1024, num_warps=1),  # 4096 B shared, 64 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 4096 B shared, 44 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 4096 B shared, 32 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=1),  # 4096 B shared, 118 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 8192 B shared, 64 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 8192 B shared, 40 registers on sm_90, else unproven
)
_BACKWARD_TILED_2 = (
    Config(TILE=1024, num_warps=1),  # 8192 B shared, 126 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 8192 B shared, 76 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 8192 B shared, 48 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 8192 B shared, 37 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 16384 B shared, 96 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 16384 B shared, 64 registers on sm_90, else unproven
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
def _mse_loss_block(
    x_ptr,
    target_ptr,
    out_ptr,
    COLS_0,
    COLS_1,
    M,
    N,
    x_col_0,
    x_col_1,
    target_col_0,
    target_col_1,
    BLOCK_M: tl.constexpr,
    BLOCK_0: tl.constexpr,
    BLOCK_1: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program holds BLOCK_M whole rows in registers."""
    rows = tl.program_id(0).to(INT) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None, None]
    cols_0 = tl.arange(0, BLOCK_0)[None, :, None].to(INT)
    cols_1 = tl.arange(0, BLOCK_1)[None, None, :].to(INT)
    in_cols_0 = below(cols_0, COLS_0, EVEN_N)
    in_cols_1 = below(cols_1, COLS_1, EVEN_N)
    in_rows = below(rows, 1, EVEN_M)

    x = tl.load(
        x_ptr + cols_0 * x_col_0 + cols_1 * x_col_1,
        mask=in_cols_0 & in_cols_1,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    target = tl.load(
        target_ptr + cols_0 * target_col_0 + cols_1 * target_col_1,
        mask=in_cols_0 & in_cols_1,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # error = x - target
    error = x - target
    # return mean(error * error, (M, N))
    row_sum = tl.sum(tl.sum(error * error, axis=2, keep_dims=True), axis=1, keep_dims=True)
    tl.store(
        out_ptr + rows,
        narrow(row_sum / (tl.cast(M, FLOAT) * tl.cast(N, FLOAT)), out_ptr.dtype.element_ty),
    )


@triton.jit
def _mse_loss_loop(
    x_ptr,
    target_ptr,
    out_ptr,
    COLS_0,
    COLS_1,
    M,
    N,
    x_col_0,
    x_col_1,
    target_col_0,
    target_col_1,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    WIDTH: tl.constexpr,
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

    total = tl.full((LANES, 1), 0.0, FLOAT)
    blocks = tl.cdiv(COLS_1, WIDTH)
    for block in range(tl.cdiv(COLS_0, HEIGHT) * blocks):
        cols_0 = block // blocks * HEIGHT + lane_0
        cols_1 = block % blocks * WIDTH + lane_1
        in_cols_0 = below(cols_0, COLS_0, EVEN)
        in_cols_1 = below(cols_1, COLS_1, EVEN)

        x = tl.load(
            x_ptr + cols_0 * x_col_0 + cols_1 * x_col_1, mask=in_cols_0 & in_cols_1, other=0.0
        ).to(FLOAT)
        target = tl.load(
            target_ptr + cols_0 * target_col_0 + cols_1 * target_col_1,
            mask=in_cols_0 & in_cols_1,
            other=0.0,
        ).to(FLOAT)
        # error = x - target
        error = x - target
        # return mean(error * error, (M, N))
        total = total + tl.sum(error * error, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)

    tl.store(
        out_ptr + rows,
        narrow(row_sum / (tl.cast(M, FLOAT) * tl.cast(N, FLOAT)), out_ptr.dtype.element_ty),
    )


@triton.jit
def _mse_loss_partial(
    x_ptr,
    target_ptr,
    partial_total_ptr,
    COLS_0,
    COLS_1,
    x_col_0,
    x_col_1,
    target_col_0,
    target_col_1,
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

    total = tl.full((LANES, 1), 0.0, FLOAT)
    cols_0 = tl.zeros((1, 1), INT)
    in_cols_0 = below(cols_0, COLS_0, True)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols_1 = start + lane
        in_cols_1 = below(cols_1, stop, EVEN)

        x = tl.load(
            x_ptr + cols_0 * x_col_0 + cols_1 * x_col_1, mask=in_cols_0 & in_cols_1, other=0.0
        ).to(FLOAT)
        target = tl.load(
            target_ptr + cols_0 * target_col_0 + cols_1 * target_col_1,
            mask=in_cols_0 & in_cols_1,
            other=0.0,
        ).to(FLOAT)
        # error = x - target
        error = x - target
        # return mean(error * error, (M, N))
        total = total + tl.sum(error * error, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, row_sum)


@triton.jit
def _mse_loss_finish(
    partial_total_ptr,
    out_ptr,
    M,
    N,
    SPLITS: tl.constexpr,
    BLOCK_S: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program joins the partial states of a row."""
    rows = tl.program_id(0).to(INT) + tl.arange(0, 1)[:, None]

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_sum = tl.sum(total, axis=0, keep_dims=True)

    # return mean(error * error, (M, N))
    tl.store(
        out_ptr + rows,
        narrow(row_sum / (tl.cast(M, FLOAT) * tl.cast(N, FLOAT)), out_ptr.dtype.element_ty),
    )


@triton.jit
def _mse_loss_backward_flat(
    x_ptr,
    target_ptr,
    grad_out_ptr,
    grad_x_ptr,
    grad_target_ptr,
    NUMEL,
    M,
    N,
    BLOCK: tl.constexpr,
    EVEN: tl.constexpr,
    NEEDS_GRAD_X: tl.constexpr,
    NEEDS_GRAD_TARGET: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program computes BLOCK neighbouring elements of contiguous tensors."""
    start = tl.program_id(0).to(INT) * BLOCK
    offsets = start + tl.arange(0, BLOCK)
    inside = below(offsets, NUMEL, EVEN)

    grad_out = tl.load(grad_out_ptr).to(FLOAT)
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0, eviction_policy="evict_last").to(FLOAT)
    target = tl.load(target_ptr + offsets, mask=inside, other=0.0, eviction_policy="evict_last").to(
        FLOAT
    )
    # error = x - target
    error = x - target
    grad_x = 2.0 * (grad_out / (tl.cast(M, FLOAT) * tl.cast(N, FLOAT))) * error
    grad_target = -grad_x
    if NEEDS_GRAD_X:
        tl.store(grad_x_ptr + offsets, narrow(grad_x, grad_x_ptr.dtype.element_ty), mask=inside)
    if NEEDS_GRAD_TARGET:
        tl.store(
            grad_target_ptr + offsets,
            narrow(grad_target, grad_target_ptr.dtype.element_ty),
            mask=inside,
        )


@triton.jit
def _mse_loss_backward_tiled(
    x_ptr,
    target_ptr,
    grad_out_ptr,
    grad_x_ptr,
    grad_target_ptr,
    SIZE_1,
    SIZE_2,
    SIZE_3,
    M,
    N,
    x_0,
    x_1,
    x_2,
    x_3,
    target_0,
    target_1,
    target_2,
    target_3,
    grad_x_0,
    grad_x_1,
    grad_x_2,
    grad_x_3,
    grad_target_0,
    grad_target_1,
    grad_target_2,
    grad_target_3,
    BLOCK_0: tl.constexpr,
    BLOCK_1: tl.constexpr,
    EVEN_0: tl.constexpr,
    EVEN_1: tl.constexpr,
    NEEDS_GRAD_X: tl.constexpr,
    NEEDS_GRAD_TARGET: tl.constexpr,
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
    target_axes = target_ptr + axis_0 * target_0 + axis_1 * target_1
    grad_x_axes = grad_x_ptr + axis_0 * grad_x_0 + axis_1 * grad_x_1
    grad_target_axes = grad_target_ptr + axis_0 * grad_target_0 + axis_1 * grad_target_1

    grad_out = tl.load(grad_out_ptr).to(FLOAT)
    x = tl.load(
        x_axes + axis_2 * x_2 + axis_3 * x_3, mask=inside, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    target = tl.load(
        target_axes + axis_2 * target_2 + axis_3 * target_3,
        mask=inside,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # error = x - target
    error = x - target
    grad_x = 2.0 * (grad_out / (tl.cast(M, FLOAT) * tl.cast(N, FLOAT))) * error
    grad_target = -grad_x
    if NEEDS_GRAD_X:
        tl.store(
            grad_x_axes + axis_2 * grad_x_2 + axis_3 * grad_x_3,
            narrow(grad_x, grad_x_ptr.dtype.element_ty),
            mask=inside,
        )
    if NEEDS_GRAD_TARGET:
        tl.store(
            grad_target_axes + axis_2 * grad_target_2 + axis_3 * grad_target_3,
            narrow(grad_target, grad_target_ptr.dtype.element_ty),
            mask=inside,
        )


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes((), limit=3, spare_last=True)
    cols = call.axes(("M", "N"), limit=2)
    height, length = cols.sizes
    columns = height * length
    width = next_power_of_2(height) * next_power_of_2(length)

    def block_time(config: Config) -> float:
        work = Work(reads=2, writes=0, flops=3, joins=2, held_wide=2)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(reads=2, writes=0, flops=3.25, joins=1, held_wide=1.35)
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(reads=2, writes=0, flops=3.25, joins=2, held_wide=1.35)
        return split_cost(config, call.target, work, call.element_size, rows.total, columns)

    split = least(call, LOOP_CONFIGS, split_time)

    if height == 1 and call.takes("split", split < min(block, loop)):
        config = call.choose(LOOP_CONFIGS, split_time)
        splits, chunk = split_row(call.target, rows.total, columns, config["TILE"])
        vector = max(1, 16 // call.element_size)
        even = columns > 0 and columns % config["TILE"] == 0
        return Launch(
            Step(
                _mse_loss_partial,
                grid=(rows.total * splits,),
                tensors=("x", "target", "partial_total"),
                integers=(*cols.sizes, *cols.strides("x"), *cols.strides("target")),
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
                _mse_loss_finish,
                grid=(rows.total,),
                tensors=("partial_total", "out"),
                integers=(call.sizes["M"], call.sizes["N"]),
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
                _mse_loss_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "target", "out"),
                integers=(
                    *cols.sizes,
                    call.sizes["M"],
                    call.sizes["N"],
                    *cols.strides("x"),
                    *cols.strides("target"),
                ),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_0": next_power_of_2(height),
                    "BLOCK_1": next_power_of_2(length),
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                },
                config=config,
            )
        )

    config = call.choose(LOOP_CONFIGS, loop_time)
    vector = max(1, 16 // call.element_size)
    span = min(config["TILE"], max(vector, next_power_of_2(length)))
    even = columns > 0 and length % span == 0 and height % (config["TILE"] // span) == 0
    return Launch(
        Step(
            _mse_loss_loop,
            grid=(rows.total,),
            tensors=("x", "target", "out"),
            integers=(
                *cols.sizes,
                call.sizes["M"],
                call.sizes["N"],
                *cols.strides("x"),
                *cols.strides("target"),
            ),
            constants={
                "LANES": config["TILE"] // vector,
                "VECTOR": vector,
                "EVEN": even,
                "WIDTH": span,
            },
            config=config,
        )
    )


def _plan_backward(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""

    axes = call.axes(("M", "N"), limit=4, reorder=True)

    if axes.flat(("x", "target", "grad_x", "grad_target")) and call.takes("flat"):

        def flat_time(config: Config) -> float:
            work = Work(reads=2, writes=2, flops=3, held=2, held_wide=2)
            return flat_cost(config, call.target, work, call.element_size, axes.total)

        config = call.choose(BACKWARD_FLAT_CONFIGS, flat_time)
        block = config["TILE"]
        return Launch(
            Step(
                _mse_loss_backward_flat,
                grid=(cdiv(axes.total, block),),
                tensors=("x", "target", "grad_out", "grad_x", "grad_target"),
                integers=(axes.total, call.sizes["M"], call.sizes["N"]),
                constants={
                    "BLOCK": block,
                    "EVEN": axes.total % block == 0,
                    "NEEDS_GRAD_X": call.needs("grad_x"),
                    "NEEDS_GRAD_TARGET": call.needs("grad_target"),
                },
                config=config,
            )
        )

    axes = call.axes(("M", "N"), limit=4)
    height, length = axes.sizes[2:]
    outer = axes.sizes[0] * axes.sizes[1]

    def tiled_time(config: Config) -> float:
        work = Work(reads=2, writes=2, flops=3, held=2, held_wide=2)
        return flat_cost(config, call.target, work, call.element_size, outer * height * length)

    config = call.choose(BACKWARD_TILED_CONFIGS, tiled_time)
    block_0, block_1 = tile_shape(
        axes.crossed(-2), height, length, config["TILE"], call.element_size
    )
    tiles = cdiv(height, block_0) * cdiv(length, block_1)
    return Launch(
        Step(
            _mse_loss_backward_tiled,
            grid=(outer * tiles,),
            tensors=("x", "target", "grad_out", "grad_x", "grad_target"),
            integers=(
                *axes.sizes[1:],
                call.sizes["M"],
                call.sizes["N"],
                *axes.strides("x"),
                *axes.strides("target"),
                *axes.strides("grad_x"),
                *axes.strides("grad_target"),
            ),
            constants={
                "BLOCK_0": block_0,
                "BLOCK_1": block_1,
                "EVEN_0": height % block_0 == 0,
                "EVEN_1": length % block_1 == 0,
                "NEEDS_GRAD_X": call.needs("grad_x"),
                "NEEDS_GRAD_TARGET": call.needs("grad_target"),
            },
            config=config,
        )
    )


def reference(x, target, *, compute):
    """Mean squared error over all elements, one scalar.

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x = widen(x, compute)
    target = widen(target, compute)
    # error = x - target
    error = x - target
    return (error * error).mean((0, 1))


def reference_backward(x, target, grad_out, *, compute):
    """The gradient of `reference`, as the kernels compute it."""
    M = x.shape[0]
    N = x.shape[1]
    x = widen(x, compute)
    target = widen(target, compute)
    grad_out = widen(grad_out, compute)
    # error = x - target
    error = x - target
    grad_x = 2.0 * (grad_out / (float(M) * float(N))) * error
    grad_target = -grad_x
    return grad_x, grad_target


BACKWARD = Op(
    name="mse_loss_backward",
    spec_hash="d67fdad1",
    inputs=(Operand("x", ("M", "N")), Operand("target", ("M", "N")), Operand("grad_out", ())),
    outputs=(
        Output("grad_x", ("M", "N"), like="x"),
        Output("grad_target", ("M", "N"), like="target"),
    ),
    fold="M",
    partial=True,
    variants={
        (): Variant(_plan_backward, reference_backward),
    },
)
OP = Op(
    name="mse_loss",
    spec_hash="d67fdad1",
    inputs=(Operand("x", ("M", "N")), Operand("target", ("M", "N"))),
    outputs=(Output("out", (), dtype="float"),),
    fold="M",
    inplace=("x", "target"),
    gradients=Gradients({"out": "grad_out"}, BACKWARD),
    variants={
        (): Variant(_plan, reference, gradients={"x": "grad_x", "target": "grad_target"}),
    },
)


def mse_loss(
    x: torch.Tensor,
    target: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> torch.Tensor:
    """Mean squared error over all elements, one scalar.

    Args:
        x: [M, N], floats.
        target: [M, N], floats.
        out: where to write out.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        out: [], fp32 (fp64 for fp64 inputs).
        M may stand for several dimensions.
    """
    tensors = (x, target)
    params = ()
    return OP(tensors, params, out, backend, autotune)
