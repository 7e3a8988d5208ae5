"""Cross entropy of each row with its label, plus z_loss * lse^2 (PaLM, arXiv:2204.02311).

A row with the label ignore_index costs 0; softcap is Gemma 2's (arXiv:2408.00118).

Built by tilegen 0.1.0 from specs/cross_entropy.py (spec 42770796, templates d13e90b1).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: M*V*e + M*i + 8*M bytes (e: bytes of an element, i: bytes of an index)
Work: 4*M*V + 12*M flops, M*V + M of them exponentials, roots and quotients
Bound: memory on every target
Eager PyTorch: 8 kernels, 1.0 times the bytes
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
    scalar,
    scalar_tensor,
    split_cost,
    split_row,
    take_last,
    tanh,
    tile_shape,
    widen,
)

_BLOCK_1 = (
    Config(TILE=512, num_warps=1),  # at most 8 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 8 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 16 B shared, unproven
    Config(TILE=1024, num_warps=2),  # at most 16 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 64 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 512 B shared, unproven
)
_BLOCK_2 = (
    Config(TILE=512, num_warps=1),  # at most 16 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 16 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 128 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 256 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 512 B shared, unproven
    Config(TILE=32768, num_warps=32),  # at most 1024 B shared, unproven
)
_BLOCK_3 = (
    Config(TILE=1024, num_warps=1),  # at most 128 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 512 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 512 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 512 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 1024 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 2048 B shared, unproven
)
_BLOCK_4 = (
    Config(TILE=512, num_warps=1, registers=64),  # 0 B shared
    Config(TILE=512, num_warps=2, registers=32),  # 16 B shared
    Config(TILE=1024, num_warps=1, registers=79),  # 0 B shared
    Config(TILE=1024, num_warps=2, registers=56),  # 32 B shared
    Config(TILE=4096, num_warps=16, registers=32),  # 128 B shared
    Config(TILE=32768, num_warps=16, registers=128, spills=2),  # 1024 B shared, 52 B spilled
)
_BLOCK_5 = (
    Config(TILE=512, num_warps=1, registers=64),  # 0 B shared
    Config(TILE=512, num_warps=2, registers=32),  # 16 B shared
    Config(TILE=1024, num_warps=1, registers=79),  # 32 B shared
    Config(TILE=1024, num_warps=2, registers=48),  # 32 B shared
    Config(TILE=4096, num_warps=16, registers=32),  # 128 B shared
    Config(TILE=32768, num_warps=16, registers=128, spills=2),  # 1024 B shared, 52 B spilled
)
_BLOCK_6 = (
    Config(TILE=512, num_warps=1, registers=63),  # 16 B shared
    Config(TILE=512, num_warps=2, registers=32),  # 16 B shared
    Config(TILE=4096, num_warps=16, registers=32),  # 128 B shared
    Config(TILE=8192, num_warps=8, registers=80),  # 256 B shared
    Config(TILE=16384, num_warps=8, registers=216),  # 512 B shared
    Config(TILE=32768, num_warps=32, registers=64, spills=2),  # 1024 B shared, 80 B spilled
)
_BLOCK_7 = (
    Config(TILE=1024, num_warps=1, registers=252),  # 64 B shared
    Config(TILE=4096, num_warps=8, registers=222),  # 512 B shared
    Config(TILE=4096, num_warps=16, registers=108),  # 512 B shared
    Config(TILE=4096, num_warps=2, registers=255, spills=2),  # 512 B shared, 2820 B spilled
    Config(TILE=8192, num_warps=4, registers=255, spills=2),  # 1024 B shared, 3088 B spilled
    Config(TILE=16384, num_warps=32, registers=64, spills=2),  # 2048 B shared, 928 B spilled
)
_BLOCK_8 = (
    Config(TILE=512, num_warps=1),  # at most 4 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 8 B shared, unproven
    Config(TILE=1024, num_warps=2),  # at most 8 B shared, unproven
    Config(TILE=2048, num_warps=1),  # at most 16 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 32 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 256 B shared, unproven
)
_BLOCK_9 = (
    Config(TILE=4096, num_warps=1),  # at most 256 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 256 B shared, unproven
    Config(TILE=8192, num_warps=2),  # at most 512 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 512 B shared, unproven
    Config(TILE=16384, num_warps=4),  # at most 1024 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 2048 B shared, unproven
)
#: Whole rows in registers, TILE elements to a program; by architecture class and element size in bytes.
BLOCK_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2), _BLOCK_1),
    (("gfx90a", "gfx942", "gfx950"), (4,), _BLOCK_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (4,), _BLOCK_2),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BLOCK_3),
    (("sm_90",), (1,), _BLOCK_4),
    (("sm_90",), (2,), _BLOCK_5),
    (("sm_90",), (4,), _BLOCK_6),
    (("sm_90",), (8,), _BLOCK_7),
    (("gfx90a", "gfx942", "gfx950"), (1, 2), _BLOCK_8),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BLOCK_9),
)

_LOOP_1 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 8192 B shared, unproven
)
_LOOP_2 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=32),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 32768 B shared, unproven
)
_LOOP_3 = (
    Config(TILE=2048, num_warps=4, registers=32),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=32),  # 32 B shared
    Config(TILE=4096, num_warps=4, registers=72),  # 16 B shared
    Config(TILE=4096, num_warps=8, registers=32),  # 32 B shared
    Config(TILE=4096, num_warps=16, registers=32),  # 64 B shared
    Config(TILE=8192, num_warps=4, registers=96),  # 16 B shared
)
_LOOP_4 = (
    Config(TILE=2048, num_warps=4, registers=40),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=32),  # 32 B shared
    Config(TILE=4096, num_warps=4, registers=70),  # 16 B shared
    Config(TILE=4096, num_warps=8, registers=40),  # 32 B shared
    Config(TILE=4096, num_warps=16, registers=32),  # 64 B shared
    Config(TILE=8192, num_warps=4, registers=128),  # 16 B shared
)
_LOOP_5 = (
    Config(TILE=2048, num_warps=4, registers=54),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=32),  # 32 B shared
    Config(TILE=4096, num_warps=4, registers=96),  # 16 B shared
    Config(TILE=4096, num_warps=8, registers=57),  # 32 B shared
    Config(TILE=4096, num_warps=16, registers=40),  # 64 B shared
    Config(TILE=8192, num_warps=4, registers=202),  # 16 B shared
)
_LOOP_6 = (
    Config(TILE=2048, num_warps=4, registers=255),  # 32 B shared
    Config(TILE=2048, num_warps=8, registers=158),  # 64 B shared
    Config(TILE=2048, num_warps=16, registers=90),  # 128 B shared
    Config(TILE=2048, num_warps=32, registers=56),  # 256 B shared
    Config(TILE=4096, num_warps=4, registers=255, spills=2),  # 32 B shared, 1872 B spilled
    Config(TILE=8192, num_warps=8, registers=255, spills=2),  # 64 B shared, 1872 B spilled
)
_LOOP_7 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
)
#: Sweeps over one row, TILE elements at a time; by architecture class and element size in bytes.
LOOP_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2), _LOOP_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120", "gfx90a", "gfx942", "gfx950"), (4,), _LOOP_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _LOOP_2),
    (("sm_90",), (1,), _LOOP_3),
    (("sm_90",), (2,), _LOOP_4),
    (("sm_90",), (4,), _LOOP_5),
    (("sm_90",), (8,), _LOOP_6),
    (("gfx90a", "gfx942", "gfx950"), (1, 2, 8), _LOOP_7),
)

_BACKWARD_TILED_1 = (
    Config(TILE=1024, num_warps=1),  # 4096 B shared, 96 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 4096 B shared, 68 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 4096 B shared, 48 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=1),  # 4096 B shared, 234 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 8192 B shared, 127 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 8192 B shared, 64 registers on sm_90, else unproven
)
_BACKWARD_TILED_2 = (
    Config(TILE=1024, num_warps=1),  # at most 8192 B shared, unproven
    Config(TILE=1024, num_warps=2),  # at most 8192 B shared, unproven
    Config(TILE=1024, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=1024, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=2),  # at most 16384 B shared, unproven
    Config(TILE=2048, num_warps=4),  # at most 16384 B shared, unproven
)
_BACKWARD_TILED_3 = (
    Config(TILE=1024, num_warps=2),  # 8192 B shared, 220 registers
    Config(TILE=1024, num_warps=4),  # 8192 B shared, 120 registers
    Config(TILE=1024, num_warps=8),  # 8192 B shared, 76 registers
    Config(TILE=1024, num_warps=1, spills=2),  # 8192 B shared, 255 registers, 168 B spilled
    Config(TILE=2048, num_warps=2, spills=2),  # 16384 B shared, 255 registers, 620 B spilled
    Config(TILE=2048, num_warps=4, spills=2),  # 16384 B shared, 222 registers, 16 B spilled
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
    (
        ("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120", "gfx90a", "gfx942", "gfx950"),
        (4,),
        _BACKWARD_TILED_1,
    ),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BACKWARD_TILED_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BACKWARD_TILED_2),
    (("sm_90",), (8,), _BACKWARD_TILED_3),
    (("gfx90a", "gfx942", "gfx950"), (1, 2), _BACKWARD_TILED_4),
)


# Loads: "evict_last" keeps what a kernel reads in L2 over what it writes, and a row until its last
# sweep, which is "evict_first". On an H200 that is 2 to 10 percent of the copy rate.
@triton.jit
def _cross_entropy_block(
    logits_ptr,
    target_ptr,
    loss_ptr,
    lse_ptr,
    M,
    ROWS_1,
    ROWS_2,
    V,
    target_row_0,
    target_row_1,
    target_row_2,
    logits_row_0,
    logits_row_1,
    logits_row_2,
    logits_col,
    logits_stride_V,
    loss_row_0,
    loss_row_1,
    loss_row_2,
    lse_row_0,
    lse_row_1,
    lse_row_2,
    ignore_index,
    z_loss,
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
    in_cols = below(cols, V, EVEN_N)
    in_rows = below(rows, M, EVEN_M)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    target_rows = target_ptr + row_0 * target_row_0 + row_1 * target_row_1 + row_2 * target_row_2
    logits_rows = logits_ptr + row_0 * logits_row_0 + row_1 * logits_row_1 + row_2 * logits_row_2
    loss_rows = loss_ptr + row_0 * loss_row_0 + row_1 * loss_row_1 + row_2 * loss_row_2
    lse_rows = lse_ptr + row_0 * lse_row_0 + row_1 * lse_row_1 + row_2 * lse_row_2

    z_loss = scalar(z_loss, FLOAT)

    target = tl.load(target_rows, mask=in_rows, other=0, eviction_policy="evict_last")
    logits = lowest_padded(
        tl.load(
            logits_rows + cols * logits_col,
            mask=in_rows & in_cols,
            other=float("-inf"),
            eviction_policy="evict_last",
        ),
        in_rows & in_cols,
        FLOAT,
    )
    label = tl.load(
        logits_rows + tl.cast(target, INT) * logits_stride_V,
        mask=in_rows & ((target >= 0) & (target < V)),
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # lse = logsumexp(logits)
    row_max = nan_max(logits, 1)
    row_top = tl.where(row_max == float("-inf"), 0.0, row_max)
    row_total = tl.sum(exp(logits - row_top), axis=1, keep_dims=True)
    lse = tl.where(row_top == float("inf"), row_top, row_top + tl.log(row_total))
    # loss = where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    loss = tl.where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    tl.store(loss_rows, narrow(loss, loss_ptr.dtype.element_ty), mask=in_rows)
    tl.store(lse_rows, narrow(lse, lse_ptr.dtype.element_ty), mask=in_rows)


@triton.jit
def _cross_entropy_loop(
    logits_ptr,
    target_ptr,
    loss_ptr,
    lse_ptr,
    ROWS_1,
    ROWS_2,
    V,
    target_row_0,
    target_row_1,
    target_row_2,
    logits_row_0,
    logits_row_1,
    logits_row_2,
    logits_stride_V,
    logits_col,
    loss_row_0,
    loss_row_1,
    loss_row_2,
    lse_row_0,
    lse_row_1,
    lse_row_2,
    ignore_index,
    z_loss,
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
    target_rows = target_ptr + row_0 * target_row_0 + row_1 * target_row_1 + row_2 * target_row_2
    logits_rows = logits_ptr + row_0 * logits_row_0 + row_1 * logits_row_1 + row_2 * logits_row_2
    loss_rows = loss_ptr + row_0 * loss_row_0 + row_1 * loss_row_1 + row_2 * loss_row_2
    lse_rows = lse_ptr + row_0 * lse_row_0 + row_1 * lse_row_1 + row_2 * lse_row_2

    z_loss = scalar(z_loss, FLOAT)

    target = tl.load(target_rows)
    label = tl.load(
        logits_rows + tl.cast(target, INT) * logits_stride_V,
        mask=((target >= 0) & (target < V)),
        other=0.0,
    ).to(FLOAT)

    top = tl.full((LANES, 1), -3.4028234663852886e38, FLOAT)
    total = tl.full((LANES, 1), 0.0, FLOAT)
    cols = lane
    in_cols = below(cols, V, EVEN)

    next_logits = tl.load(logits_rows + cols * logits_col, mask=in_cols, other=float("-inf"))

    for start in range(0, V, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, V, EVEN)
        logits = lowest_padded(next_logits, in_cols, FLOAT)

        next_cols = cols + LANES * VECTOR
        in_next = next_cols < V
        next_logits = tl.load(
            logits_rows + next_cols * logits_col, mask=in_next, other=float("-inf")
        )

        # lse = logsumexp(logits)
        top, total = logsumexp_step(top, total, logits)

    row_top, row_total = logsumexp_end(top, total)

    lse = tl.where(row_top == float("inf"), row_top, row_top + tl.log(row_total))
    # loss = where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    loss = tl.where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    tl.store(loss_rows, narrow(loss, loss_ptr.dtype.element_ty))
    tl.store(lse_rows, narrow(lse, lse_ptr.dtype.element_ty))


@triton.jit
def _cross_entropy_partial(
    logits_ptr,
    partial_top_ptr,
    partial_total_ptr,
    ROWS_1,
    ROWS_2,
    V,
    logits_row_0,
    logits_row_1,
    logits_row_2,
    logits_col,
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
    stop = tl.minimum((split + 1) * CHUNK, V)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    logits_rows = logits_ptr + row_0 * logits_row_0 + row_1 * logits_row_1 + row_2 * logits_row_2

    top = tl.full((LANES, 1), -3.4028234663852886e38, FLOAT)
    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        logits = lowest_padded(
            tl.load(logits_rows + cols * logits_col, mask=in_cols, other=float("-inf")),
            in_cols,
            FLOAT,
        )
        # lse = logsumexp(logits)
        top, total = logsumexp_step(top, total, logits)

    row_top, row_total = logsumexp_end(top, total)
    tl.store(partial_top_ptr + rows * SPLITS + split, row_top)
    tl.store(partial_total_ptr + rows * SPLITS + split, row_total)


@triton.jit
def _cross_entropy_finish(
    partial_top_ptr,
    partial_total_ptr,
    logits_ptr,
    target_ptr,
    loss_ptr,
    lse_ptr,
    ROWS_1,
    ROWS_2,
    V,
    target_row_0,
    target_row_1,
    target_row_2,
    logits_row_0,
    logits_row_1,
    logits_row_2,
    logits_stride_V,
    loss_row_0,
    loss_row_1,
    loss_row_2,
    lse_row_0,
    lse_row_1,
    lse_row_2,
    ignore_index,
    z_loss,
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
    target_rows = target_ptr + row_0 * target_row_0 + row_1 * target_row_1 + row_2 * target_row_2
    logits_rows = logits_ptr + row_0 * logits_row_0 + row_1 * logits_row_1 + row_2 * logits_row_2
    loss_rows = loss_ptr + row_0 * loss_row_0 + row_1 * loss_row_1 + row_2 * loss_row_2
    lse_rows = lse_ptr + row_0 * lse_row_0 + row_1 * lse_row_1 + row_2 * lse_row_2

    z_loss = scalar(z_loss, FLOAT)

    splits = tl.arange(0, BLOCK_S)[:, None]
    top = tl.load(
        partial_top_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=-3.4028234663852886e38
    )
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_top, row_total = logsumexp_end(top, total)

    target = tl.load(target_rows)
    # lse = logsumexp(logits)
    lse = tl.where(row_top == float("inf"), row_top, row_top + tl.log(row_total))
    label = tl.load(
        logits_rows + tl.cast(target, INT) * logits_stride_V,
        mask=((target >= 0) & (target < V)),
        other=0.0,
    ).to(FLOAT)
    # loss = where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    loss = tl.where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    tl.store(loss_rows, narrow(loss, loss_ptr.dtype.element_ty))
    tl.store(lse_rows, narrow(lse, lse_ptr.dtype.element_ty))


@triton.jit
def _cross_entropy_backward_tiled(
    logits_ptr,
    target_ptr,
    lse_ptr,
    grad_loss_ptr,
    grad_lse_ptr,
    grad_logits_ptr,
    M,
    SIZE_M_1,
    SIZE_M_2,
    V,
    target_M_0,
    target_M_1,
    target_M_2,
    grad_loss_M_0,
    grad_loss_M_1,
    grad_loss_M_2,
    grad_lse_M_0,
    grad_lse_M_1,
    grad_lse_M_2,
    lse_M_0,
    lse_M_1,
    lse_M_2,
    logits_M_0,
    logits_M_1,
    logits_M_2,
    logits_V,
    grad_logits_M_0,
    grad_logits_M_1,
    grad_logits_M_2,
    grad_logits_V,
    ignore_index,
    z_loss,
    BLOCK_0: tl.constexpr,
    BLOCK_1: tl.constexpr,
    EVEN_0: tl.constexpr,
    EVEN_1: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program computes one tile of (M) by (V)."""
    tile = tl.program_id(0).to(INT)
    tiles_1 = tl.cdiv(V, BLOCK_1)
    v = (tile % tiles_1) * BLOCK_1 + tl.arange(0, BLOCK_1)[None, :]
    m = (tile // tiles_1) * BLOCK_0 + tl.arange(0, BLOCK_0)[:, None]
    in_v = below(v, V, EVEN_1)
    in_m = below(m, M, EVEN_0)
    m_2 = m % SIZE_M_2
    m_1 = m // SIZE_M_2 % SIZE_M_1
    m_0 = m // SIZE_M_2 // SIZE_M_1
    target_m = target_ptr + m_0 * target_M_0 + m_1 * target_M_1 + m_2 * target_M_2
    grad_loss_m = grad_loss_ptr + m_0 * grad_loss_M_0 + m_1 * grad_loss_M_1 + m_2 * grad_loss_M_2
    grad_lse_m = grad_lse_ptr + m_0 * grad_lse_M_0 + m_1 * grad_lse_M_1 + m_2 * grad_lse_M_2
    lse_m = lse_ptr + m_0 * lse_M_0 + m_1 * lse_M_1 + m_2 * lse_M_2
    logits_m = logits_ptr + m_0 * logits_M_0 + m_1 * logits_M_1 + m_2 * logits_M_2
    grad_logits_m = (
        grad_logits_ptr + m_0 * grad_logits_M_0 + m_1 * grad_logits_M_1 + m_2 * grad_logits_M_2
    )

    z_loss = scalar(z_loss, FLOAT)

    target = tl.load(target_m, mask=in_m, other=0, eviction_policy="evict_last")
    grad_loss = tl.load(grad_loss_m, mask=in_m, other=0.0, eviction_policy="evict_last").to(FLOAT)
    grad_lse = tl.load(grad_lse_m, mask=in_m, other=0.0, eviction_policy="evict_last").to(FLOAT)
    lse = tl.load(lse_m, mask=in_m, other=0.0, eviction_policy="evict_last").to(FLOAT)
    logits = tl.load(
        logits_m + v * logits_V, mask=in_m & in_v, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    # loss = where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    value = tl.where(target == ignore_index, 0.0, grad_loss)
    # label = take(logits, target)
    grad_label = -value
    # lse = logsumexp(logits)
    grad_lse_2 = grad_lse + value * (z_loss * lse) + value * lse * z_loss + value
    grad_logits = tl.where(v == target, grad_label, 0.0) + grad_lse_2 * exp(logits - lse)
    tl.store(
        grad_logits_m + v * grad_logits_V,
        narrow(grad_logits, grad_logits_ptr.dtype.element_ty),
        mask=in_m & in_v,
    )


@triton.jit
def _cross_entropy_softcap_block(
    logits_ptr,
    target_ptr,
    loss_ptr,
    lse_ptr,
    M,
    ROWS_1,
    ROWS_2,
    V,
    target_row_0,
    target_row_1,
    target_row_2,
    logits_row_0,
    logits_row_1,
    logits_row_2,
    logits_col,
    logits_stride_V,
    loss_row_0,
    loss_row_1,
    loss_row_2,
    lse_row_0,
    lse_row_1,
    lse_row_2,
    ignore_index,
    z_loss,
    softcap,
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
    in_cols = below(cols, V, EVEN_N)
    in_rows = below(rows, M, EVEN_M)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    target_rows = target_ptr + row_0 * target_row_0 + row_1 * target_row_1 + row_2 * target_row_2
    logits_rows = logits_ptr + row_0 * logits_row_0 + row_1 * logits_row_1 + row_2 * logits_row_2
    loss_rows = loss_ptr + row_0 * loss_row_0 + row_1 * loss_row_1 + row_2 * loss_row_2
    lse_rows = lse_ptr + row_0 * lse_row_0 + row_1 * lse_row_1 + row_2 * lse_row_2

    z_loss = scalar(z_loss, FLOAT)
    softcap = scalar(softcap, FLOAT)

    target = tl.load(target_rows, mask=in_rows, other=0, eviction_policy="evict_last")
    logits = tl.load(
        logits_rows + cols * logits_col,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    logits_2 = tl.load(
        logits_rows + tl.cast(target, INT) * logits_stride_V,
        mask=in_rows & ((target >= 0) & (target < V)),
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # logits = softcap * tanh(logits / softcap)
    logits_3 = softcap * tanh(logits / softcap)
    # lse = logsumexp(logits)
    row_max = nan_max(tl.where(in_cols, logits_3, float("-inf")), 1)
    row_top = tl.where(row_max == float("-inf"), 0.0, row_max)
    row_total = tl.sum(tl.where(in_cols, exp(logits_3 - row_top), 0.0), axis=1, keep_dims=True)
    lse = tl.where(row_top == float("inf"), row_top, row_top + tl.log(row_total))
    # label = take(logits, target)
    label = tl.where((target >= 0) & (target < V), softcap * tanh(logits_2 / softcap), 0.0)
    # loss = where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    loss = tl.where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    tl.store(loss_rows, narrow(loss, loss_ptr.dtype.element_ty), mask=in_rows)
    tl.store(lse_rows, narrow(lse, lse_ptr.dtype.element_ty), mask=in_rows)


@triton.jit
def _cross_entropy_softcap_loop(
    logits_ptr,
    target_ptr,
    loss_ptr,
    lse_ptr,
    ROWS_1,
    ROWS_2,
    V,
    target_row_0,
    target_row_1,
    target_row_2,
    logits_row_0,
    logits_row_1,
    logits_row_2,
    logits_stride_V,
    logits_col,
    loss_row_0,
    loss_row_1,
    loss_row_2,
    lse_row_0,
    lse_row_1,
    lse_row_2,
    ignore_index,
    z_loss,
    softcap,
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
    target_rows = target_ptr + row_0 * target_row_0 + row_1 * target_row_1 + row_2 * target_row_2
    logits_rows = logits_ptr + row_0 * logits_row_0 + row_1 * logits_row_1 + row_2 * logits_row_2
    loss_rows = loss_ptr + row_0 * loss_row_0 + row_1 * loss_row_1 + row_2 * loss_row_2
    lse_rows = lse_ptr + row_0 * lse_row_0 + row_1 * lse_row_1 + row_2 * lse_row_2

    z_loss = scalar(z_loss, FLOAT)
    softcap = scalar(softcap, FLOAT)

    target = tl.load(target_rows)
    logits = tl.load(
        logits_rows + tl.cast(target, INT) * logits_stride_V,
        mask=((target >= 0) & (target < V)),
        other=0.0,
    ).to(FLOAT)

    top = tl.full((LANES, 1), -3.4028234663852886e38, FLOAT)
    total = tl.full((LANES, 1), 0.0, FLOAT)
    cols = lane
    in_cols = below(cols, V, EVEN)

    next_logits_2 = tl.load(logits_rows + cols * logits_col, mask=in_cols, other=0.0)

    for start in range(0, V, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, V, EVEN)
        logits_2 = next_logits_2.to(FLOAT)

        next_cols = cols + LANES * VECTOR
        in_next = next_cols < V
        next_logits_2 = tl.load(logits_rows + next_cols * logits_col, mask=in_next, other=0.0)

        # logits = softcap * tanh(logits / softcap)
        logits_3 = softcap * tanh(logits_2 / softcap)
        # lse = logsumexp(logits)
        top, total = logsumexp_step(top, total, tl.where(in_cols, logits_3, float("-inf")))

    row_top, row_total = logsumexp_end(top, total)

    lse = tl.where(row_top == float("inf"), row_top, row_top + tl.log(row_total))
    # label = take(logits, target)
    label = tl.where((target >= 0) & (target < V), softcap * tanh(logits / softcap), 0.0)
    # loss = where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    loss = tl.where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    tl.store(loss_rows, narrow(loss, loss_ptr.dtype.element_ty))
    tl.store(lse_rows, narrow(lse, lse_ptr.dtype.element_ty))


@triton.jit
def _cross_entropy_softcap_partial(
    logits_ptr,
    partial_top_ptr,
    partial_total_ptr,
    ROWS_1,
    ROWS_2,
    V,
    logits_row_0,
    logits_row_1,
    logits_row_2,
    logits_col,
    softcap,
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
    stop = tl.minimum((split + 1) * CHUNK, V)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    logits_rows = logits_ptr + row_0 * logits_row_0 + row_1 * logits_row_1 + row_2 * logits_row_2

    softcap = scalar(softcap, FLOAT)

    top = tl.full((LANES, 1), -3.4028234663852886e38, FLOAT)
    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        logits = tl.load(logits_rows + cols * logits_col, mask=in_cols, other=0.0).to(FLOAT)
        # logits = softcap * tanh(logits / softcap)
        logits_2 = softcap * tanh(logits / softcap)
        # lse = logsumexp(logits)
        top, total = logsumexp_step(top, total, tl.where(in_cols, logits_2, float("-inf")))

    row_top, row_total = logsumexp_end(top, total)
    tl.store(partial_top_ptr + rows * SPLITS + split, row_top)
    tl.store(partial_total_ptr + rows * SPLITS + split, row_total)


@triton.jit
def _cross_entropy_softcap_finish(
    partial_top_ptr,
    partial_total_ptr,
    logits_ptr,
    target_ptr,
    loss_ptr,
    lse_ptr,
    ROWS_1,
    ROWS_2,
    V,
    target_row_0,
    target_row_1,
    target_row_2,
    logits_row_0,
    logits_row_1,
    logits_row_2,
    logits_stride_V,
    loss_row_0,
    loss_row_1,
    loss_row_2,
    lse_row_0,
    lse_row_1,
    lse_row_2,
    ignore_index,
    z_loss,
    softcap,
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
    target_rows = target_ptr + row_0 * target_row_0 + row_1 * target_row_1 + row_2 * target_row_2
    logits_rows = logits_ptr + row_0 * logits_row_0 + row_1 * logits_row_1 + row_2 * logits_row_2
    loss_rows = loss_ptr + row_0 * loss_row_0 + row_1 * loss_row_1 + row_2 * loss_row_2
    lse_rows = lse_ptr + row_0 * lse_row_0 + row_1 * lse_row_1 + row_2 * lse_row_2

    z_loss = scalar(z_loss, FLOAT)
    softcap = scalar(softcap, FLOAT)

    splits = tl.arange(0, BLOCK_S)[:, None]
    top = tl.load(
        partial_top_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=-3.4028234663852886e38
    )
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_top, row_total = logsumexp_end(top, total)

    target = tl.load(target_rows)
    # lse = logsumexp(logits)
    lse = tl.where(row_top == float("inf"), row_top, row_top + tl.log(row_total))
    # label = take(logits, target)
    valid = (target >= 0) & (target < V)
    logits = tl.load(
        logits_rows + tl.cast(target, INT) * logits_stride_V, mask=valid, other=0.0
    ).to(FLOAT)
    label = tl.where(valid, softcap * tanh(logits / softcap), 0.0)
    # loss = where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    loss = tl.where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    tl.store(loss_rows, narrow(loss, loss_ptr.dtype.element_ty))
    tl.store(lse_rows, narrow(lse, lse_ptr.dtype.element_ty))


@triton.jit
def _cross_entropy_backward_softcap_tiled(
    logits_ptr,
    target_ptr,
    lse_ptr,
    grad_loss_ptr,
    grad_lse_ptr,
    grad_logits_ptr,
    M,
    SIZE_M_1,
    SIZE_M_2,
    V,
    target_M_0,
    target_M_1,
    target_M_2,
    grad_loss_M_0,
    grad_loss_M_1,
    grad_loss_M_2,
    grad_lse_M_0,
    grad_lse_M_1,
    grad_lse_M_2,
    lse_M_0,
    lse_M_1,
    lse_M_2,
    logits_M_0,
    logits_M_1,
    logits_M_2,
    logits_V,
    grad_logits_M_0,
    grad_logits_M_1,
    grad_logits_M_2,
    grad_logits_V,
    ignore_index,
    z_loss,
    softcap,
    BLOCK_0: tl.constexpr,
    BLOCK_1: tl.constexpr,
    EVEN_0: tl.constexpr,
    EVEN_1: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program computes one tile of (M) by (V)."""
    tile = tl.program_id(0).to(INT)
    tiles_1 = tl.cdiv(V, BLOCK_1)
    v = (tile % tiles_1) * BLOCK_1 + tl.arange(0, BLOCK_1)[None, :]
    m = (tile // tiles_1) * BLOCK_0 + tl.arange(0, BLOCK_0)[:, None]
    in_v = below(v, V, EVEN_1)
    in_m = below(m, M, EVEN_0)
    m_2 = m % SIZE_M_2
    m_1 = m // SIZE_M_2 % SIZE_M_1
    m_0 = m // SIZE_M_2 // SIZE_M_1
    target_m = target_ptr + m_0 * target_M_0 + m_1 * target_M_1 + m_2 * target_M_2
    grad_loss_m = grad_loss_ptr + m_0 * grad_loss_M_0 + m_1 * grad_loss_M_1 + m_2 * grad_loss_M_2
    grad_lse_m = grad_lse_ptr + m_0 * grad_lse_M_0 + m_1 * grad_lse_M_1 + m_2 * grad_lse_M_2
    lse_m = lse_ptr + m_0 * lse_M_0 + m_1 * lse_M_1 + m_2 * lse_M_2
    logits_m = logits_ptr + m_0 * logits_M_0 + m_1 * logits_M_1 + m_2 * logits_M_2
    grad_logits_m = (
        grad_logits_ptr + m_0 * grad_logits_M_0 + m_1 * grad_logits_M_1 + m_2 * grad_logits_M_2
    )

    z_loss = scalar(z_loss, FLOAT)
    softcap = scalar(softcap, FLOAT)

    target = tl.load(target_m, mask=in_m, other=0, eviction_policy="evict_last")
    grad_loss = tl.load(grad_loss_m, mask=in_m, other=0.0, eviction_policy="evict_last").to(FLOAT)
    grad_lse = tl.load(grad_lse_m, mask=in_m, other=0.0, eviction_policy="evict_last").to(FLOAT)
    lse = tl.load(lse_m, mask=in_m, other=0.0, eviction_policy="evict_last").to(FLOAT)
    logits = tl.load(
        logits_m + v * logits_V, mask=in_m & in_v, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    # loss = where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    value = tl.where(target == ignore_index, 0.0, grad_loss)
    # label = take(logits, target)
    grad_label = -value
    # lse = logsumexp(logits)
    grad_lse_2 = grad_lse + value * (z_loss * lse) + value * lse * z_loss + value
    # logits = softcap * tanh(logits / softcap)
    value_2 = tanh(logits / softcap)
    logits_2 = softcap * value_2
    grad_logits = tl.where(v == target, grad_label, 0.0) + grad_lse_2 * exp(logits_2 - lse)
    grad_logits = grad_logits * softcap * (1.0 - value_2 * value_2) / softcap
    tl.store(
        grad_logits_m + v * grad_logits_V,
        narrow(grad_logits, grad_logits_ptr.dtype.element_ty),
        mask=in_m & in_v,
    )


@triton.jit
def _cross_entropy_label_smoothing_block(
    logits_ptr,
    target_ptr,
    loss_ptr,
    lse_ptr,
    M,
    ROWS_1,
    ROWS_2,
    V,
    target_row_0,
    target_row_1,
    target_row_2,
    logits_row_0,
    logits_row_1,
    logits_row_2,
    logits_col,
    logits_stride_V,
    loss_row_0,
    loss_row_1,
    loss_row_2,
    lse_row_0,
    lse_row_1,
    lse_row_2,
    ignore_index,
    label_smoothing,
    z_loss,
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
    in_cols = below(cols, V, EVEN_N)
    in_rows = below(rows, M, EVEN_M)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    target_rows = target_ptr + row_0 * target_row_0 + row_1 * target_row_1 + row_2 * target_row_2
    logits_rows = logits_ptr + row_0 * logits_row_0 + row_1 * logits_row_1 + row_2 * logits_row_2
    loss_rows = loss_ptr + row_0 * loss_row_0 + row_1 * loss_row_1 + row_2 * loss_row_2
    lse_rows = lse_ptr + row_0 * lse_row_0 + row_1 * lse_row_1 + row_2 * lse_row_2

    label_smoothing = scalar(label_smoothing, FLOAT)
    z_loss = scalar(z_loss, FLOAT)

    target = tl.load(target_rows, mask=in_rows, other=0, eviction_policy="evict_last")
    logits = lowest_padded(
        tl.load(
            logits_rows + cols * logits_col,
            mask=in_rows & in_cols,
            other=float("-inf"),
            eviction_policy="evict_last",
        ),
        in_rows & in_cols,
        FLOAT,
    )
    label = tl.load(
        logits_rows + tl.cast(target, INT) * logits_stride_V,
        mask=in_rows & ((target >= 0) & (target < V)),
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # lse = logsumexp(logits)
    row_max = nan_max(logits, 1)
    row_top = tl.where(row_max == float("-inf"), 0.0, row_max)
    row_total = tl.sum(exp(logits - row_top), axis=1, keep_dims=True)
    lse = tl.where(row_top == float("inf"), row_top, row_top + tl.log(row_total))
    # smooth = where(label_smoothing > 0.0, mean(logits), 0.0)
    row_sum = tl.sum(tl.where(in_cols, logits, 0.0), axis=1, keep_dims=True)
    smooth = tl.where(label_smoothing > 0.0, row_sum / V, 0.0)
    # label = (1.0 - label_smoothing) * label + label_smoothing * smooth
    label_2 = (1.0 - label_smoothing) * label + label_smoothing * smooth
    # loss = where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    loss = tl.where(target == ignore_index, 0.0, lse - label_2 + z_loss * lse * lse)
    tl.store(loss_rows, narrow(loss, loss_ptr.dtype.element_ty), mask=in_rows)
    tl.store(lse_rows, narrow(lse, lse_ptr.dtype.element_ty), mask=in_rows)


@triton.jit
def _cross_entropy_label_smoothing_loop(
    logits_ptr,
    target_ptr,
    loss_ptr,
    lse_ptr,
    ROWS_1,
    ROWS_2,
    V,
    target_row_0,
    target_row_1,
    target_row_2,
    logits_row_0,
    logits_row_1,
    logits_row_2,
    logits_stride_V,
    logits_col,
    loss_row_0,
    loss_row_1,
    loss_row_2,
    lse_row_0,
    lse_row_1,
    lse_row_2,
    ignore_index,
    label_smoothing,
    z_loss,
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
    target_rows = target_ptr + row_0 * target_row_0 + row_1 * target_row_1 + row_2 * target_row_2
    logits_rows = logits_ptr + row_0 * logits_row_0 + row_1 * logits_row_1 + row_2 * logits_row_2
    loss_rows = loss_ptr + row_0 * loss_row_0 + row_1 * loss_row_1 + row_2 * loss_row_2
    lse_rows = lse_ptr + row_0 * lse_row_0 + row_1 * lse_row_1 + row_2 * lse_row_2

    label_smoothing = scalar(label_smoothing, FLOAT)
    z_loss = scalar(z_loss, FLOAT)

    target = tl.load(target_rows)
    label = tl.load(
        logits_rows + tl.cast(target, INT) * logits_stride_V,
        mask=((target >= 0) & (target < V)),
        other=0.0,
    ).to(FLOAT)

    top = tl.full((LANES, 1), -3.4028234663852886e38, FLOAT)
    total = tl.full((LANES, 1), 0.0, FLOAT)
    total_2 = tl.full((LANES, 1), 0.0, FLOAT)
    cols = lane
    in_cols = below(cols, V, EVEN)

    next_logits = tl.load(logits_rows + cols * logits_col, mask=in_cols, other=0.0)

    for start in range(0, V, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, V, EVEN)
        logits = next_logits.to(FLOAT)

        next_cols = cols + LANES * VECTOR
        in_next = next_cols < V
        next_logits = tl.load(logits_rows + next_cols * logits_col, mask=in_next, other=0.0)

        # lse = logsumexp(logits)
        top, total = logsumexp_step(top, total, tl.where(in_cols, logits, float("-inf")))
        # smooth = where(label_smoothing > 0.0, mean(logits), 0.0)
        total_2 = total_2 + tl.sum(logits, axis=1, keep_dims=True)

    row_top, row_total = logsumexp_end(top, total)
    row_sum = tl.sum(total_2, axis=0, keep_dims=True)

    lse = tl.where(row_top == float("inf"), row_top, row_top + tl.log(row_total))
    smooth = tl.where(label_smoothing > 0.0, row_sum / V, 0.0)
    # label = (1.0 - label_smoothing) * label + label_smoothing * smooth
    label_2 = (1.0 - label_smoothing) * label + label_smoothing * smooth
    # loss = where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    loss = tl.where(target == ignore_index, 0.0, lse - label_2 + z_loss * lse * lse)
    tl.store(loss_rows, narrow(loss, loss_ptr.dtype.element_ty))
    tl.store(lse_rows, narrow(lse, lse_ptr.dtype.element_ty))


@triton.jit
def _cross_entropy_label_smoothing_partial(
    logits_ptr,
    partial_top_ptr,
    partial_total_ptr,
    partial_total_2_ptr,
    ROWS_1,
    ROWS_2,
    V,
    logits_row_0,
    logits_row_1,
    logits_row_2,
    logits_col,
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
    stop = tl.minimum((split + 1) * CHUNK, V)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    logits_rows = logits_ptr + row_0 * logits_row_0 + row_1 * logits_row_1 + row_2 * logits_row_2

    top = tl.full((LANES, 1), -3.4028234663852886e38, FLOAT)
    total = tl.full((LANES, 1), 0.0, FLOAT)
    total_2 = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        logits = tl.load(logits_rows + cols * logits_col, mask=in_cols, other=0.0).to(FLOAT)
        # lse = logsumexp(logits)
        top, total = logsumexp_step(top, total, tl.where(in_cols, logits, float("-inf")))
        # smooth = where(label_smoothing > 0.0, mean(logits), 0.0)
        total_2 = total_2 + tl.sum(logits, axis=1, keep_dims=True)

    row_top, row_total = logsumexp_end(top, total)
    row_sum = tl.sum(total_2, axis=0, keep_dims=True)
    tl.store(partial_top_ptr + rows * SPLITS + split, row_top)
    tl.store(partial_total_ptr + rows * SPLITS + split, row_total)
    tl.store(partial_total_2_ptr + rows * SPLITS + split, row_sum)


@triton.jit
def _cross_entropy_label_smoothing_finish(
    partial_top_ptr,
    partial_total_ptr,
    partial_total_2_ptr,
    logits_ptr,
    target_ptr,
    loss_ptr,
    lse_ptr,
    ROWS_1,
    ROWS_2,
    V,
    target_row_0,
    target_row_1,
    target_row_2,
    logits_row_0,
    logits_row_1,
    logits_row_2,
    logits_stride_V,
    loss_row_0,
    loss_row_1,
    loss_row_2,
    lse_row_0,
    lse_row_1,
    lse_row_2,
    ignore_index,
    label_smoothing,
    z_loss,
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
    target_rows = target_ptr + row_0 * target_row_0 + row_1 * target_row_1 + row_2 * target_row_2
    logits_rows = logits_ptr + row_0 * logits_row_0 + row_1 * logits_row_1 + row_2 * logits_row_2
    loss_rows = loss_ptr + row_0 * loss_row_0 + row_1 * loss_row_1 + row_2 * loss_row_2
    lse_rows = lse_ptr + row_0 * lse_row_0 + row_1 * lse_row_1 + row_2 * lse_row_2

    label_smoothing = scalar(label_smoothing, FLOAT)
    z_loss = scalar(z_loss, FLOAT)

    splits = tl.arange(0, BLOCK_S)[:, None]
    top = tl.load(
        partial_top_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=-3.4028234663852886e38
    )
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    total_2 = tl.load(partial_total_2_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_top, row_total = logsumexp_end(top, total)
    row_sum = tl.sum(total_2, axis=0, keep_dims=True)

    target = tl.load(target_rows)
    # lse = logsumexp(logits)
    lse = tl.where(row_top == float("inf"), row_top, row_top + tl.log(row_total))
    label = tl.load(
        logits_rows + tl.cast(target, INT) * logits_stride_V,
        mask=((target >= 0) & (target < V)),
        other=0.0,
    ).to(FLOAT)
    # smooth = where(label_smoothing > 0.0, mean(logits), 0.0)
    smooth = tl.where(label_smoothing > 0.0, row_sum / V, 0.0)
    # label = (1.0 - label_smoothing) * label + label_smoothing * smooth
    label_2 = (1.0 - label_smoothing) * label + label_smoothing * smooth
    # loss = where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    loss = tl.where(target == ignore_index, 0.0, lse - label_2 + z_loss * lse * lse)
    tl.store(loss_rows, narrow(loss, loss_ptr.dtype.element_ty))
    tl.store(lse_rows, narrow(lse, lse_ptr.dtype.element_ty))


@triton.jit
def _cross_entropy_backward_label_smoothing_tiled(
    logits_ptr,
    target_ptr,
    lse_ptr,
    grad_loss_ptr,
    grad_lse_ptr,
    grad_logits_ptr,
    M,
    SIZE_M_1,
    SIZE_M_2,
    V,
    target_M_0,
    target_M_1,
    target_M_2,
    grad_loss_M_0,
    grad_loss_M_1,
    grad_loss_M_2,
    grad_lse_M_0,
    grad_lse_M_1,
    grad_lse_M_2,
    lse_M_0,
    lse_M_1,
    lse_M_2,
    logits_M_0,
    logits_M_1,
    logits_M_2,
    logits_V,
    grad_logits_M_0,
    grad_logits_M_1,
    grad_logits_M_2,
    grad_logits_V,
    ignore_index,
    label_smoothing,
    z_loss,
    BLOCK_0: tl.constexpr,
    BLOCK_1: tl.constexpr,
    EVEN_0: tl.constexpr,
    EVEN_1: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program computes one tile of (M) by (V)."""
    tile = tl.program_id(0).to(INT)
    tiles_1 = tl.cdiv(V, BLOCK_1)
    v = (tile % tiles_1) * BLOCK_1 + tl.arange(0, BLOCK_1)[None, :]
    m = (tile // tiles_1) * BLOCK_0 + tl.arange(0, BLOCK_0)[:, None]
    in_v = below(v, V, EVEN_1)
    in_m = below(m, M, EVEN_0)
    m_2 = m % SIZE_M_2
    m_1 = m // SIZE_M_2 % SIZE_M_1
    m_0 = m // SIZE_M_2 // SIZE_M_1
    target_m = target_ptr + m_0 * target_M_0 + m_1 * target_M_1 + m_2 * target_M_2
    grad_loss_m = grad_loss_ptr + m_0 * grad_loss_M_0 + m_1 * grad_loss_M_1 + m_2 * grad_loss_M_2
    grad_lse_m = grad_lse_ptr + m_0 * grad_lse_M_0 + m_1 * grad_lse_M_1 + m_2 * grad_lse_M_2
    lse_m = lse_ptr + m_0 * lse_M_0 + m_1 * lse_M_1 + m_2 * lse_M_2
    logits_m = logits_ptr + m_0 * logits_M_0 + m_1 * logits_M_1 + m_2 * logits_M_2
    grad_logits_m = (
        grad_logits_ptr + m_0 * grad_logits_M_0 + m_1 * grad_logits_M_1 + m_2 * grad_logits_M_2
    )

    label_smoothing = scalar(label_smoothing, FLOAT)
    z_loss = scalar(z_loss, FLOAT)

    target = tl.load(target_m, mask=in_m, other=0, eviction_policy="evict_last")
    grad_loss = tl.load(grad_loss_m, mask=in_m, other=0.0, eviction_policy="evict_last").to(FLOAT)
    grad_lse = tl.load(grad_lse_m, mask=in_m, other=0.0, eviction_policy="evict_last").to(FLOAT)
    lse = tl.load(lse_m, mask=in_m, other=0.0, eviction_policy="evict_last").to(FLOAT)
    logits = tl.load(
        logits_m + v * logits_V, mask=in_m & in_v, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    # loss = where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    value = tl.where(target == ignore_index, 0.0, grad_loss)
    # label = (1.0 - label_smoothing) * label + label_smoothing * smooth
    grad_label = -value
    # smooth = where(label_smoothing > 0.0, mean(logits), 0.0)
    grad_smooth = grad_label * label_smoothing
    # label = take(logits, target)
    grad_label = grad_label * (1.0 - label_smoothing)
    # lse = logsumexp(logits)
    grad_lse_2 = grad_lse + value * (z_loss * lse) + value * lse * z_loss + value
    grad_logits = (
        tl.where(label_smoothing > 0.0, grad_smooth, 0.0) / V
        + tl.where(v == target, grad_label, 0.0)
        + grad_lse_2 * exp(logits - lse)
    )
    tl.store(
        grad_logits_m + v * grad_logits_V,
        narrow(grad_logits, grad_logits_ptr.dtype.element_ty),
        mask=in_m & in_v,
    )


@triton.jit
def _cross_entropy_label_smoothing_softcap_block(
    logits_ptr,
    target_ptr,
    loss_ptr,
    lse_ptr,
    M,
    ROWS_1,
    ROWS_2,
    V,
    target_row_0,
    target_row_1,
    target_row_2,
    logits_row_0,
    logits_row_1,
    logits_row_2,
    logits_col,
    logits_stride_V,
    loss_row_0,
    loss_row_1,
    loss_row_2,
    lse_row_0,
    lse_row_1,
    lse_row_2,
    ignore_index,
    label_smoothing,
    z_loss,
    softcap,
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
    in_cols = below(cols, V, EVEN_N)
    in_rows = below(rows, M, EVEN_M)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    target_rows = target_ptr + row_0 * target_row_0 + row_1 * target_row_1 + row_2 * target_row_2
    logits_rows = logits_ptr + row_0 * logits_row_0 + row_1 * logits_row_1 + row_2 * logits_row_2
    loss_rows = loss_ptr + row_0 * loss_row_0 + row_1 * loss_row_1 + row_2 * loss_row_2
    lse_rows = lse_ptr + row_0 * lse_row_0 + row_1 * lse_row_1 + row_2 * lse_row_2

    label_smoothing = scalar(label_smoothing, FLOAT)
    z_loss = scalar(z_loss, FLOAT)
    softcap = scalar(softcap, FLOAT)

    target = tl.load(target_rows, mask=in_rows, other=0, eviction_policy="evict_last")
    logits = tl.load(
        logits_rows + cols * logits_col,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    logits_2 = tl.load(
        logits_rows + tl.cast(target, INT) * logits_stride_V,
        mask=in_rows & ((target >= 0) & (target < V)),
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # logits = softcap * tanh(logits / softcap)
    logits_3 = softcap * tanh(logits / softcap)
    # lse = logsumexp(logits)
    row_max = nan_max(tl.where(in_cols, logits_3, float("-inf")), 1)
    row_top = tl.where(row_max == float("-inf"), 0.0, row_max)
    row_total = tl.sum(tl.where(in_cols, exp(logits_3 - row_top), 0.0), axis=1, keep_dims=True)
    lse = tl.where(row_top == float("inf"), row_top, row_top + tl.log(row_total))
    # label = take(logits, target)
    label = tl.where((target >= 0) & (target < V), softcap * tanh(logits_2 / softcap), 0.0)
    # smooth = where(label_smoothing > 0.0, mean(logits), 0.0)
    row_sum = tl.sum(logits_3, axis=1, keep_dims=True)
    smooth = tl.where(label_smoothing > 0.0, row_sum / V, 0.0)
    # label = (1.0 - label_smoothing) * label + label_smoothing * smooth
    label = (1.0 - label_smoothing) * label + label_smoothing * smooth
    # loss = where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    loss = tl.where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    tl.store(loss_rows, narrow(loss, loss_ptr.dtype.element_ty), mask=in_rows)
    tl.store(lse_rows, narrow(lse, lse_ptr.dtype.element_ty), mask=in_rows)


@triton.jit
def _cross_entropy_label_smoothing_softcap_loop(
    logits_ptr,
    target_ptr,
    loss_ptr,
    lse_ptr,
    ROWS_1,
    ROWS_2,
    V,
    target_row_0,
    target_row_1,
    target_row_2,
    logits_row_0,
    logits_row_1,
    logits_row_2,
    logits_stride_V,
    logits_col,
    loss_row_0,
    loss_row_1,
    loss_row_2,
    lse_row_0,
    lse_row_1,
    lse_row_2,
    ignore_index,
    label_smoothing,
    z_loss,
    softcap,
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
    target_rows = target_ptr + row_0 * target_row_0 + row_1 * target_row_1 + row_2 * target_row_2
    logits_rows = logits_ptr + row_0 * logits_row_0 + row_1 * logits_row_1 + row_2 * logits_row_2
    loss_rows = loss_ptr + row_0 * loss_row_0 + row_1 * loss_row_1 + row_2 * loss_row_2
    lse_rows = lse_ptr + row_0 * lse_row_0 + row_1 * lse_row_1 + row_2 * lse_row_2

    label_smoothing = scalar(label_smoothing, FLOAT)
    z_loss = scalar(z_loss, FLOAT)
    softcap = scalar(softcap, FLOAT)

    target = tl.load(target_rows)
    logits = tl.load(
        logits_rows + tl.cast(target, INT) * logits_stride_V,
        mask=((target >= 0) & (target < V)),
        other=0.0,
    ).to(FLOAT)

    top = tl.full((LANES, 1), -3.4028234663852886e38, FLOAT)
    total = tl.full((LANES, 1), 0.0, FLOAT)
    total_2 = tl.full((LANES, 1), 0.0, FLOAT)
    cols = lane
    in_cols = below(cols, V, EVEN)

    next_logits_2 = tl.load(logits_rows + cols * logits_col, mask=in_cols, other=0.0)

    for start in range(0, V, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, V, EVEN)
        logits_2 = next_logits_2.to(FLOAT)

        next_cols = cols + LANES * VECTOR
        in_next = next_cols < V
        next_logits_2 = tl.load(logits_rows + next_cols * logits_col, mask=in_next, other=0.0)

        # logits = softcap * tanh(logits / softcap)
        logits_3 = softcap * tanh(logits_2 / softcap)
        # lse = logsumexp(logits)
        top, total = logsumexp_step(top, total, tl.where(in_cols, logits_3, float("-inf")))
        # smooth = where(label_smoothing > 0.0, mean(logits), 0.0)
        total_2 = total_2 + tl.sum(logits_3, axis=1, keep_dims=True)

    row_top, row_total = logsumexp_end(top, total)
    row_sum = tl.sum(total_2, axis=0, keep_dims=True)

    lse = tl.where(row_top == float("inf"), row_top, row_top + tl.log(row_total))
    # label = take(logits, target)
    label = tl.where((target >= 0) & (target < V), softcap * tanh(logits / softcap), 0.0)
    smooth = tl.where(label_smoothing > 0.0, row_sum / V, 0.0)
    # label = (1.0 - label_smoothing) * label + label_smoothing * smooth
    label = (1.0 - label_smoothing) * label + label_smoothing * smooth
    # loss = where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    loss = tl.where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    tl.store(loss_rows, narrow(loss, loss_ptr.dtype.element_ty))
    tl.store(lse_rows, narrow(lse, lse_ptr.dtype.element_ty))


@triton.jit
def _cross_entropy_label_smoothing_softcap_partial(
    logits_ptr,
    partial_top_ptr,
    partial_total_ptr,
    partial_total_2_ptr,
    ROWS_1,
    ROWS_2,
    V,
    logits_row_0,
    logits_row_1,
    logits_row_2,
    logits_col,
    softcap,
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
    stop = tl.minimum((split + 1) * CHUNK, V)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    logits_rows = logits_ptr + row_0 * logits_row_0 + row_1 * logits_row_1 + row_2 * logits_row_2

    softcap = scalar(softcap, FLOAT)

    top = tl.full((LANES, 1), -3.4028234663852886e38, FLOAT)
    total = tl.full((LANES, 1), 0.0, FLOAT)
    total_2 = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        logits = tl.load(logits_rows + cols * logits_col, mask=in_cols, other=0.0).to(FLOAT)
        # logits = softcap * tanh(logits / softcap)
        logits_2 = softcap * tanh(logits / softcap)
        # lse = logsumexp(logits)
        top, total = logsumexp_step(top, total, tl.where(in_cols, logits_2, float("-inf")))
        # smooth = where(label_smoothing > 0.0, mean(logits), 0.0)
        total_2 = total_2 + tl.sum(logits_2, axis=1, keep_dims=True)

    row_top, row_total = logsumexp_end(top, total)
    row_sum = tl.sum(total_2, axis=0, keep_dims=True)
    tl.store(partial_top_ptr + rows * SPLITS + split, row_top)
    tl.store(partial_total_ptr + rows * SPLITS + split, row_total)
    tl.store(partial_total_2_ptr + rows * SPLITS + split, row_sum)


@triton.jit
def _cross_entropy_label_smoothing_softcap_finish(
    partial_top_ptr,
    partial_total_ptr,
    partial_total_2_ptr,
    logits_ptr,
    target_ptr,
    loss_ptr,
    lse_ptr,
    ROWS_1,
    ROWS_2,
    V,
    target_row_0,
    target_row_1,
    target_row_2,
    logits_row_0,
    logits_row_1,
    logits_row_2,
    logits_stride_V,
    loss_row_0,
    loss_row_1,
    loss_row_2,
    lse_row_0,
    lse_row_1,
    lse_row_2,
    ignore_index,
    label_smoothing,
    z_loss,
    softcap,
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
    target_rows = target_ptr + row_0 * target_row_0 + row_1 * target_row_1 + row_2 * target_row_2
    logits_rows = logits_ptr + row_0 * logits_row_0 + row_1 * logits_row_1 + row_2 * logits_row_2
    loss_rows = loss_ptr + row_0 * loss_row_0 + row_1 * loss_row_1 + row_2 * loss_row_2
    lse_rows = lse_ptr + row_0 * lse_row_0 + row_1 * lse_row_1 + row_2 * lse_row_2

    label_smoothing = scalar(label_smoothing, FLOAT)
    z_loss = scalar(z_loss, FLOAT)
    softcap = scalar(softcap, FLOAT)

    splits = tl.arange(0, BLOCK_S)[:, None]
    top = tl.load(
        partial_top_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=-3.4028234663852886e38
    )
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    total_2 = tl.load(partial_total_2_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_top, row_total = logsumexp_end(top, total)
    row_sum = tl.sum(total_2, axis=0, keep_dims=True)

    target = tl.load(target_rows)
    # lse = logsumexp(logits)
    lse = tl.where(row_top == float("inf"), row_top, row_top + tl.log(row_total))
    # label = take(logits, target)
    valid = (target >= 0) & (target < V)
    logits = tl.load(
        logits_rows + tl.cast(target, INT) * logits_stride_V, mask=valid, other=0.0
    ).to(FLOAT)
    label = tl.where(valid, softcap * tanh(logits / softcap), 0.0)
    # smooth = where(label_smoothing > 0.0, mean(logits), 0.0)
    smooth = tl.where(label_smoothing > 0.0, row_sum / V, 0.0)
    # label = (1.0 - label_smoothing) * label + label_smoothing * smooth
    label = (1.0 - label_smoothing) * label + label_smoothing * smooth
    # loss = where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    loss = tl.where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    tl.store(loss_rows, narrow(loss, loss_ptr.dtype.element_ty))
    tl.store(lse_rows, narrow(lse, lse_ptr.dtype.element_ty))


@triton.jit
def _cross_entropy_backward_label_smoothing_softcap_tiled(
    logits_ptr,
    target_ptr,
    lse_ptr,
    grad_loss_ptr,
    grad_lse_ptr,
    grad_logits_ptr,
    M,
    SIZE_M_1,
    SIZE_M_2,
    V,
    target_M_0,
    target_M_1,
    target_M_2,
    grad_loss_M_0,
    grad_loss_M_1,
    grad_loss_M_2,
    grad_lse_M_0,
    grad_lse_M_1,
    grad_lse_M_2,
    lse_M_0,
    lse_M_1,
    lse_M_2,
    logits_M_0,
    logits_M_1,
    logits_M_2,
    logits_V,
    grad_logits_M_0,
    grad_logits_M_1,
    grad_logits_M_2,
    grad_logits_V,
    ignore_index,
    label_smoothing,
    z_loss,
    softcap,
    BLOCK_0: tl.constexpr,
    BLOCK_1: tl.constexpr,
    EVEN_0: tl.constexpr,
    EVEN_1: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program computes one tile of (M) by (V)."""
    tile = tl.program_id(0).to(INT)
    tiles_1 = tl.cdiv(V, BLOCK_1)
    v = (tile % tiles_1) * BLOCK_1 + tl.arange(0, BLOCK_1)[None, :]
    m = (tile // tiles_1) * BLOCK_0 + tl.arange(0, BLOCK_0)[:, None]
    in_v = below(v, V, EVEN_1)
    in_m = below(m, M, EVEN_0)
    m_2 = m % SIZE_M_2
    m_1 = m // SIZE_M_2 % SIZE_M_1
    m_0 = m // SIZE_M_2 // SIZE_M_1
    target_m = target_ptr + m_0 * target_M_0 + m_1 * target_M_1 + m_2 * target_M_2
    grad_loss_m = grad_loss_ptr + m_0 * grad_loss_M_0 + m_1 * grad_loss_M_1 + m_2 * grad_loss_M_2
    grad_lse_m = grad_lse_ptr + m_0 * grad_lse_M_0 + m_1 * grad_lse_M_1 + m_2 * grad_lse_M_2
    lse_m = lse_ptr + m_0 * lse_M_0 + m_1 * lse_M_1 + m_2 * lse_M_2
    logits_m = logits_ptr + m_0 * logits_M_0 + m_1 * logits_M_1 + m_2 * logits_M_2
    grad_logits_m = (
        grad_logits_ptr + m_0 * grad_logits_M_0 + m_1 * grad_logits_M_1 + m_2 * grad_logits_M_2
    )

    label_smoothing = scalar(label_smoothing, FLOAT)
    z_loss = scalar(z_loss, FLOAT)
    softcap = scalar(softcap, FLOAT)

    target = tl.load(target_m, mask=in_m, other=0, eviction_policy="evict_last")
    grad_loss = tl.load(grad_loss_m, mask=in_m, other=0.0, eviction_policy="evict_last").to(FLOAT)
    grad_lse = tl.load(grad_lse_m, mask=in_m, other=0.0, eviction_policy="evict_last").to(FLOAT)
    lse = tl.load(lse_m, mask=in_m, other=0.0, eviction_policy="evict_last").to(FLOAT)
    logits = tl.load(
        logits_m + v * logits_V, mask=in_m & in_v, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    # loss = where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    value = tl.where(target == ignore_index, 0.0, grad_loss)
    # label = (1.0 - label_smoothing) * label + label_smoothing * smooth
    grad_label = -value
    # smooth = where(label_smoothing > 0.0, mean(logits), 0.0)
    grad_smooth = grad_label * label_smoothing
    # label = take(logits, target)
    grad_label = grad_label * (1.0 - label_smoothing)
    # lse = logsumexp(logits)
    grad_lse_2 = grad_lse + value * (z_loss * lse) + value * lse * z_loss + value
    # logits = softcap * tanh(logits / softcap)
    value_2 = tanh(logits / softcap)
    logits_2 = softcap * value_2
    grad_logits = (
        tl.where(label_smoothing > 0.0, grad_smooth, 0.0) / V
        + tl.where(v == target, grad_label, 0.0)
        + grad_lse_2 * exp(logits_2 - lse)
    )
    grad_logits = grad_logits * softcap * (1.0 - value_2 * value_2) / softcap
    tl.store(
        grad_logits_m + v * grad_logits_V,
        narrow(grad_logits, grad_logits_ptr.dtype.element_ty),
        mask=in_m & in_v,
    )


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("M",), limit=3, spare_last=True)
    cols = call.axes(("V",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=1, writes=0, flops=4, special=1, joins=2, held=0.5)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=1, writes=0, flops=5.125, special=1.25, joins=1, ahead=1, held=1.05, held_wide=2.1
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=1, writes=0, flops=5.625, special=1.375, joins=2, held=0.45, held_wide=0.9
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
                _cross_entropy_partial,
                grid=(rows.total * splits,),
                tensors=("logits", "partial_top", "partial_total"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("logits"),
                    cols.strides("logits")[0],
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
                _cross_entropy_finish,
                grid=(rows.total,),
                tensors=("partial_top", "partial_total", "logits", "target", "loss", "lse"),
                integers=(
                    *rows.sizes[1:],
                    call.sizes["V"],
                    *rows.strides("target"),
                    *rows.strides("logits"),
                    call.stride("logits", "V"),
                    *rows.strides("loss"),
                    *rows.strides("lse"),
                ),
                params=("ignore_index", "z_loss"),
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
                _cross_entropy_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("logits", "target", "loss", "lse"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("target"),
                    *rows.strides("logits"),
                    cols.strides("logits")[0],
                    call.stride("logits", "V"),
                    *rows.strides("loss"),
                    *rows.strides("lse"),
                ),
                params=("ignore_index", "z_loss"),
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
            _cross_entropy_loop,
            grid=(rows.total,),
            tensors=("logits", "target", "loss", "lse"),
            integers=(
                *rows.sizes[1:],
                cols.total,
                *rows.strides("target"),
                *rows.strides("logits"),
                call.stride("logits", "V"),
                cols.strides("logits")[0],
                *rows.strides("loss"),
                *rows.strides("lse"),
            ),
            params=("ignore_index", "z_loss"),
            constants={"LANES": config["TILE"] // vector, "VECTOR": vector, "EVEN": even},
            config=config,
        )
    )


def _plan_backward(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""

    axes_0 = call.axes(("M",), limit=3, spare_last=True)
    axes_1 = call.axes(("V",), limit=1)
    height, length = axes_0.total, axes_1.total
    outer = 1

    def tiled_time(config: Config) -> float:
        work = Work(reads=1, writes=1, flops=6, special=1)
        return flat_cost(config, call.target, work, call.element_size, outer * height * length)

    config = call.choose(BACKWARD_TILED_CONFIGS, tiled_time)
    block_0, block_1 = tile_shape(
        axes_0.crossed(), height, length, config["TILE"], call.element_size
    )
    tiles = cdiv(height, block_0) * cdiv(length, block_1)
    return Launch(
        Step(
            _cross_entropy_backward_tiled,
            grid=(outer * tiles,),
            tensors=("logits", "target", "lse", "grad_loss", "grad_lse", "grad_logits"),
            integers=(
                axes_0.total,
                *axes_0.sizes[1:],
                axes_1.total,
                *axes_0.strides("target"),
                *axes_0.strides("grad_loss"),
                *axes_0.strides("grad_lse"),
                *axes_0.strides("lse"),
                *axes_0.strides("logits"),
                axes_1.strides("logits")[0],
                *axes_0.strides("grad_logits"),
                axes_1.strides("grad_logits")[0],
            ),
            params=("ignore_index", "z_loss"),
            constants={
                "BLOCK_0": block_0,
                "BLOCK_1": block_1,
                "EVEN_0": height % block_0 == 0,
                "EVEN_1": length % block_1 == 0,
            },
            config=config,
        )
    )


def _plan_softcap(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("M",), limit=3, spare_last=True)
    cols = call.axes(("V",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=1, writes=0, flops=21, special=4, joins=2)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=1,
            writes=0,
            flops=22.125,
            special=4.25,
            joins=1,
            ahead=1,
            held=1.75,
            held_wide=2.1,
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=1, writes=0, flops=22.625, special=4.375, joins=2, held=0.75, held_wide=0.9
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
                _cross_entropy_softcap_partial,
                grid=(rows.total * splits,),
                tensors=("logits", "partial_top", "partial_total"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("logits"),
                    cols.strides("logits")[0],
                ),
                params=("softcap",),
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
                _cross_entropy_softcap_finish,
                grid=(rows.total,),
                tensors=("partial_top", "partial_total", "logits", "target", "loss", "lse"),
                integers=(
                    *rows.sizes[1:],
                    call.sizes["V"],
                    *rows.strides("target"),
                    *rows.strides("logits"),
                    call.stride("logits", "V"),
                    *rows.strides("loss"),
                    *rows.strides("lse"),
                ),
                params=("ignore_index", "z_loss", "softcap"),
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
                _cross_entropy_softcap_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("logits", "target", "loss", "lse"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("target"),
                    *rows.strides("logits"),
                    cols.strides("logits")[0],
                    call.stride("logits", "V"),
                    *rows.strides("loss"),
                    *rows.strides("lse"),
                ),
                params=("ignore_index", "z_loss", "softcap"),
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
            _cross_entropy_softcap_loop,
            grid=(rows.total,),
            tensors=("logits", "target", "loss", "lse"),
            integers=(
                *rows.sizes[1:],
                cols.total,
                *rows.strides("target"),
                *rows.strides("logits"),
                call.stride("logits", "V"),
                cols.strides("logits")[0],
                *rows.strides("loss"),
                *rows.strides("lse"),
            ),
            params=("ignore_index", "z_loss", "softcap"),
            constants={"LANES": config["TILE"] // vector, "VECTOR": vector, "EVEN": even},
            config=config,
        )
    )


def _plan_backward_softcap(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""

    axes_0 = call.axes(("M",), limit=3, spare_last=True)
    axes_1 = call.axes(("V",), limit=1)
    height, length = axes_0.total, axes_1.total
    outer = 1

    def tiled_time(config: Config) -> float:
        work = Work(reads=1, writes=1, flops=28, special=5, held=2, held_wide=2)
        return flat_cost(config, call.target, work, call.element_size, outer * height * length)

    config = call.choose(BACKWARD_TILED_CONFIGS, tiled_time)
    block_0, block_1 = tile_shape(
        axes_0.crossed(), height, length, config["TILE"], call.element_size
    )
    tiles = cdiv(height, block_0) * cdiv(length, block_1)
    return Launch(
        Step(
            _cross_entropy_backward_softcap_tiled,
            grid=(outer * tiles,),
            tensors=("logits", "target", "lse", "grad_loss", "grad_lse", "grad_logits"),
            integers=(
                axes_0.total,
                *axes_0.sizes[1:],
                axes_1.total,
                *axes_0.strides("target"),
                *axes_0.strides("grad_loss"),
                *axes_0.strides("grad_lse"),
                *axes_0.strides("lse"),
                *axes_0.strides("logits"),
                axes_1.strides("logits")[0],
                *axes_0.strides("grad_logits"),
                axes_1.strides("grad_logits")[0],
            ),
            params=("ignore_index", "z_loss", "softcap"),
            constants={
                "BLOCK_0": block_0,
                "BLOCK_1": block_1,
                "EVEN_0": height % block_0 == 0,
                "EVEN_1": length % block_1 == 0,
            },
            config=config,
        )
    )


def _plan_label_smoothing(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("M",), limit=3, spare_last=True)
    cols = call.axes(("V",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=1, writes=0, flops=5, special=1, joins=3, held=0.5)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=1,
            writes=0,
            flops=6.375,
            special=1.25,
            joins=2,
            ahead=1,
            held=1.575,
            held_wide=3.15,
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=1, writes=0, flops=6.875, special=1.375, joins=4, held=0.675, held_wide=1.35
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
                _cross_entropy_label_smoothing_partial,
                grid=(rows.total * splits,),
                tensors=("logits", "partial_top", "partial_total", "partial_total_2"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("logits"),
                    cols.strides("logits")[0],
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
                _cross_entropy_label_smoothing_finish,
                grid=(rows.total,),
                tensors=(
                    "partial_top",
                    "partial_total",
                    "partial_total_2",
                    "logits",
                    "target",
                    "loss",
                    "lse",
                ),
                integers=(
                    *rows.sizes[1:],
                    call.sizes["V"],
                    *rows.strides("target"),
                    *rows.strides("logits"),
                    call.stride("logits", "V"),
                    *rows.strides("loss"),
                    *rows.strides("lse"),
                ),
                params=("ignore_index", "label_smoothing", "z_loss"),
                constants={"SPLITS": splits, "BLOCK_S": next_power_of_2(splits)},
                config=config,
            ),
            workspaces={
                "partial_top": ((rows.total, splits), call.float),
                "partial_total": ((rows.total, splits), call.float),
                "partial_total_2": ((rows.total, splits), call.float),
            },
        )

    if call.takes("block", block <= loop):
        config = call.choose(BLOCK_CONFIGS, block_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        return Launch(
            Step(
                _cross_entropy_label_smoothing_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("logits", "target", "loss", "lse"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("target"),
                    *rows.strides("logits"),
                    cols.strides("logits")[0],
                    call.stride("logits", "V"),
                    *rows.strides("loss"),
                    *rows.strides("lse"),
                ),
                params=("ignore_index", "label_smoothing", "z_loss"),
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
            _cross_entropy_label_smoothing_loop,
            grid=(rows.total,),
            tensors=("logits", "target", "loss", "lse"),
            integers=(
                *rows.sizes[1:],
                cols.total,
                *rows.strides("target"),
                *rows.strides("logits"),
                call.stride("logits", "V"),
                cols.strides("logits")[0],
                *rows.strides("loss"),
                *rows.strides("lse"),
            ),
            params=("ignore_index", "label_smoothing", "z_loss"),
            constants={"LANES": config["TILE"] // vector, "VECTOR": vector, "EVEN": even},
            config=config,
        )
    )


def _plan_backward_label_smoothing(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""

    axes_0 = call.axes(("M",), limit=3, spare_last=True)
    axes_1 = call.axes(("V",), limit=1)
    height, length = axes_0.total, axes_1.total
    outer = 1

    def tiled_time(config: Config) -> float:
        work = Work(reads=1, writes=1, flops=8, special=2)
        return flat_cost(config, call.target, work, call.element_size, outer * height * length)

    config = call.choose(BACKWARD_TILED_CONFIGS, tiled_time)
    block_0, block_1 = tile_shape(
        axes_0.crossed(), height, length, config["TILE"], call.element_size
    )
    tiles = cdiv(height, block_0) * cdiv(length, block_1)
    return Launch(
        Step(
            _cross_entropy_backward_label_smoothing_tiled,
            grid=(outer * tiles,),
            tensors=("logits", "target", "lse", "grad_loss", "grad_lse", "grad_logits"),
            integers=(
                axes_0.total,
                *axes_0.sizes[1:],
                axes_1.total,
                *axes_0.strides("target"),
                *axes_0.strides("grad_loss"),
                *axes_0.strides("grad_lse"),
                *axes_0.strides("lse"),
                *axes_0.strides("logits"),
                axes_1.strides("logits")[0],
                *axes_0.strides("grad_logits"),
                axes_1.strides("grad_logits")[0],
            ),
            params=("ignore_index", "label_smoothing", "z_loss"),
            constants={
                "BLOCK_0": block_0,
                "BLOCK_1": block_1,
                "EVEN_0": height % block_0 == 0,
                "EVEN_1": length % block_1 == 0,
            },
            config=config,
        )
    )


def _plan_label_smoothing_softcap(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("M",), limit=3, spare_last=True)
    cols = call.axes(("V",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=1, writes=0, flops=22, special=4, joins=3)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=1,
            writes=0,
            flops=23.375,
            special=4.25,
            joins=2,
            ahead=1,
            held=2.275,
            held_wide=3.15,
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=1, writes=0, flops=23.875, special=4.375, joins=4, held=0.975, held_wide=1.35
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
                _cross_entropy_label_smoothing_softcap_partial,
                grid=(rows.total * splits,),
                tensors=("logits", "partial_top", "partial_total", "partial_total_2"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("logits"),
                    cols.strides("logits")[0],
                ),
                params=("softcap",),
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
                _cross_entropy_label_smoothing_softcap_finish,
                grid=(rows.total,),
                tensors=(
                    "partial_top",
                    "partial_total",
                    "partial_total_2",
                    "logits",
                    "target",
                    "loss",
                    "lse",
                ),
                integers=(
                    *rows.sizes[1:],
                    call.sizes["V"],
                    *rows.strides("target"),
                    *rows.strides("logits"),
                    call.stride("logits", "V"),
                    *rows.strides("loss"),
                    *rows.strides("lse"),
                ),
                params=("ignore_index", "label_smoothing", "z_loss", "softcap"),
                constants={"SPLITS": splits, "BLOCK_S": next_power_of_2(splits)},
                config=config,
            ),
            workspaces={
                "partial_top": ((rows.total, splits), call.float),
                "partial_total": ((rows.total, splits), call.float),
                "partial_total_2": ((rows.total, splits), call.float),
            },
        )

    if call.takes("block", block <= loop):
        config = call.choose(BLOCK_CONFIGS, block_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        return Launch(
            Step(
                _cross_entropy_label_smoothing_softcap_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("logits", "target", "loss", "lse"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("target"),
                    *rows.strides("logits"),
                    cols.strides("logits")[0],
                    call.stride("logits", "V"),
                    *rows.strides("loss"),
                    *rows.strides("lse"),
                ),
                params=("ignore_index", "label_smoothing", "z_loss", "softcap"),
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
            _cross_entropy_label_smoothing_softcap_loop,
            grid=(rows.total,),
            tensors=("logits", "target", "loss", "lse"),
            integers=(
                *rows.sizes[1:],
                cols.total,
                *rows.strides("target"),
                *rows.strides("logits"),
                call.stride("logits", "V"),
                cols.strides("logits")[0],
                *rows.strides("loss"),
                *rows.strides("lse"),
            ),
            params=("ignore_index", "label_smoothing", "z_loss", "softcap"),
            constants={"LANES": config["TILE"] // vector, "VECTOR": vector, "EVEN": even},
            config=config,
        )
    )


def _plan_backward_label_smoothing_softcap(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""

    axes_0 = call.axes(("M",), limit=3, spare_last=True)
    axes_1 = call.axes(("V",), limit=1)
    height, length = axes_0.total, axes_1.total
    outer = 1

    def tiled_time(config: Config) -> float:
        work = Work(reads=1, writes=1, flops=30, special=6, held=2, held_wide=2)
        return flat_cost(config, call.target, work, call.element_size, outer * height * length)

    config = call.choose(BACKWARD_TILED_CONFIGS, tiled_time)
    block_0, block_1 = tile_shape(
        axes_0.crossed(), height, length, config["TILE"], call.element_size
    )
    tiles = cdiv(height, block_0) * cdiv(length, block_1)
    return Launch(
        Step(
            _cross_entropy_backward_label_smoothing_softcap_tiled,
            grid=(outer * tiles,),
            tensors=("logits", "target", "lse", "grad_loss", "grad_lse", "grad_logits"),
            integers=(
                axes_0.total,
                *axes_0.sizes[1:],
                axes_1.total,
                *axes_0.strides("target"),
                *axes_0.strides("grad_loss"),
                *axes_0.strides("grad_lse"),
                *axes_0.strides("lse"),
                *axes_0.strides("logits"),
                axes_1.strides("logits")[0],
                *axes_0.strides("grad_logits"),
                axes_1.strides("grad_logits")[0],
            ),
            params=("ignore_index", "label_smoothing", "z_loss", "softcap"),
            constants={
                "BLOCK_0": block_0,
                "BLOCK_1": block_1,
                "EVEN_0": height % block_0 == 0,
                "EVEN_1": length % block_1 == 0,
            },
            config=config,
        )
    )


def reference(logits, target, ignore_index, label_smoothing, z_loss, softcap, *, compute):
    """Cross entropy of each row with its label, plus z_loss * lse^2 (PaLM, arXiv:2204.02311).

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    logits = widen(logits, compute)
    # lse = logsumexp(logits)
    lse = torch.logsumexp(logits, -1)
    # label = take(logits, target)
    label = take_last(logits, target)
    # loss = where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    loss = torch.where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    return loss, lse


def reference_backward(
    logits,
    target,
    lse,
    grad_loss,
    grad_lse,
    ignore_index,
    label_smoothing,
    z_loss,
    softcap,
    *,
    compute,
):
    """The gradient of `reference`, as the kernels compute it."""
    V = logits.shape[1]
    logits = widen(logits, compute)
    lse = widen(lse, compute)
    grad_loss = widen(grad_loss, compute)
    grad_lse = widen(grad_lse, compute)
    # loss = where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    value = torch.where(target == ignore_index, 0.0, grad_loss)
    # label = take(logits, target)
    grad_label = -value
    # lse = logsumexp(logits)
    grad_lse_2 = grad_lse + value * (z_loss * lse) + value * lse * z_loss + value
    grad_logits = torch.where(
        torch.arange(V, device=logits.device) == target[:, None], grad_label[:, None], 0.0
    ) + grad_lse_2[:, None] * torch.exp(logits - lse[:, None])
    return grad_logits


def reference_softcap(logits, target, ignore_index, label_smoothing, z_loss, softcap, *, compute):
    """Cross entropy of each row with its label, plus z_loss * lse^2 (PaLM, arXiv:2204.02311).

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    logits = widen(logits, compute)
    # logits = softcap * tanh(logits / softcap)
    logits_2 = softcap * torch.tanh(logits / softcap)
    # lse = logsumexp(logits)
    lse = torch.logsumexp(logits_2, -1)
    # label = take(logits, target)
    label = take_last(logits_2, target)
    # loss = where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    loss = torch.where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    return loss, lse


def reference_backward_softcap(
    logits,
    target,
    lse,
    grad_loss,
    grad_lse,
    ignore_index,
    label_smoothing,
    z_loss,
    softcap,
    *,
    compute,
):
    """The gradient of `reference_softcap`, as the kernels compute it."""
    V = logits.shape[1]
    logits = widen(logits, compute)
    lse = widen(lse, compute)
    grad_loss = widen(grad_loss, compute)
    grad_lse = widen(grad_lse, compute)
    # loss = where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    value = torch.where(target == ignore_index, 0.0, grad_loss)
    # label = take(logits, target)
    grad_label = -value
    # lse = logsumexp(logits)
    grad_lse_2 = grad_lse + value * (z_loss * lse) + value * lse * z_loss + value
    # logits = softcap * tanh(logits / softcap)
    value_2 = torch.tanh(logits / softcap)
    logits_2 = softcap * value_2
    grad_logits = torch.where(
        torch.arange(V, device=logits.device) == target[:, None], grad_label[:, None], 0.0
    ) + grad_lse_2[:, None] * torch.exp(logits_2 - lse[:, None])
    grad_logits_2 = grad_logits * softcap * (1.0 - value_2 * value_2) / softcap
    return grad_logits_2


def reference_label_smoothing(
    logits, target, ignore_index, label_smoothing, z_loss, softcap, *, compute
):
    """Cross entropy of each row with its label, plus z_loss * lse^2 (PaLM, arXiv:2204.02311).

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    logits = widen(logits, compute)
    # lse = logsumexp(logits)
    lse = torch.logsumexp(logits, -1)
    # label = take(logits, target)
    label = take_last(logits, target)
    # smooth = where(label_smoothing > 0.0, mean(logits), 0.0)
    smooth = torch.where(
        scalar_tensor(label_smoothing > 0.0, logits.device, compute), logits.mean(-1), 0.0
    )
    # label = (1.0 - label_smoothing) * label + label_smoothing * smooth
    label_2 = (1.0 - label_smoothing) * label + label_smoothing * smooth
    # loss = where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    loss = torch.where(target == ignore_index, 0.0, lse - label_2 + z_loss * lse * lse)
    return loss, lse


def reference_backward_label_smoothing(
    logits,
    target,
    lse,
    grad_loss,
    grad_lse,
    ignore_index,
    label_smoothing,
    z_loss,
    softcap,
    *,
    compute,
):
    """The gradient of `reference_label_smoothing`, as the kernels compute it."""
    V = logits.shape[1]
    logits = widen(logits, compute)
    lse = widen(lse, compute)
    grad_loss = widen(grad_loss, compute)
    grad_lse = widen(grad_lse, compute)
    # loss = where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    value = torch.where(target == ignore_index, 0.0, grad_loss)
    # label = (1.0 - label_smoothing) * label + label_smoothing * smooth
    grad_label = -value
    # smooth = where(label_smoothing > 0.0, mean(logits), 0.0)
    grad_smooth = grad_label * label_smoothing
    # label = take(logits, target)
    grad_label_2 = grad_label * (1.0 - label_smoothing)
    # lse = logsumexp(logits)
    grad_lse_2 = grad_lse + value * (z_loss * lse) + value * lse * z_loss + value
    grad_logits = (
        (
            torch.where(
                scalar_tensor(label_smoothing > 0.0, logits.device, compute), grad_smooth, 0.0
            )
            / float(V)
        )[:, None]
        + torch.where(
            torch.arange(V, device=logits.device) == target[:, None], grad_label_2[:, None], 0.0
        )
        + grad_lse_2[:, None] * torch.exp(logits - lse[:, None])
    )
    return grad_logits


def reference_label_smoothing_softcap(
    logits, target, ignore_index, label_smoothing, z_loss, softcap, *, compute
):
    """Cross entropy of each row with its label, plus z_loss * lse^2 (PaLM, arXiv:2204.02311).

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    logits = widen(logits, compute)
    # logits = softcap * tanh(logits / softcap)
    logits_2 = softcap * torch.tanh(logits / softcap)
    # lse = logsumexp(logits)
    lse = torch.logsumexp(logits_2, -1)
    # label = take(logits, target)
    label = take_last(logits_2, target)
    # smooth = where(label_smoothing > 0.0, mean(logits), 0.0)
    smooth = torch.where(
        scalar_tensor(label_smoothing > 0.0, logits.device, compute), logits_2.mean(-1), 0.0
    )
    # label = (1.0 - label_smoothing) * label + label_smoothing * smooth
    label_2 = (1.0 - label_smoothing) * label + label_smoothing * smooth
    # loss = where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    loss = torch.where(target == ignore_index, 0.0, lse - label_2 + z_loss * lse * lse)
    return loss, lse


def reference_backward_label_smoothing_softcap(
    logits,
    target,
    lse,
    grad_loss,
    grad_lse,
    ignore_index,
    label_smoothing,
    z_loss,
    softcap,
    *,
    compute,
):
    """The gradient of `reference_label_smoothing_softcap`, as the kernels compute it."""
    V = logits.shape[1]
    logits = widen(logits, compute)
    lse = widen(lse, compute)
    grad_loss = widen(grad_loss, compute)
    grad_lse = widen(grad_lse, compute)
    # loss = where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    value = torch.where(target == ignore_index, 0.0, grad_loss)
    # label = (1.0 - label_smoothing) * label + label_smoothing * smooth
    grad_label = -value
    # smooth = where(label_smoothing > 0.0, mean(logits), 0.0)
    grad_smooth = grad_label * label_smoothing
    # label = take(logits, target)
    grad_label_2 = grad_label * (1.0 - label_smoothing)
    # lse = logsumexp(logits)
    grad_lse_2 = grad_lse + value * (z_loss * lse) + value * lse * z_loss + value
    # logits = softcap * tanh(logits / softcap)
    value_2 = torch.tanh(logits / softcap)
    logits_2 = softcap * value_2
    grad_logits = (
        (
            torch.where(
                scalar_tensor(label_smoothing > 0.0, logits.device, compute), grad_smooth, 0.0
            )
            / float(V)
        )[:, None]
        + torch.where(
            torch.arange(V, device=logits.device) == target[:, None], grad_label_2[:, None], 0.0
        )
        + grad_lse_2[:, None] * torch.exp(logits_2 - lse[:, None])
    )
    grad_logits_2 = grad_logits * softcap * (1.0 - value_2 * value_2) / softcap
    return grad_logits_2


BACKWARD = Op(
    name="cross_entropy_backward",
    spec_hash="42770796",
    inputs=(
        Operand("logits", ("M", "V")),
        Operand("target", ("M",), kind="int"),
        Operand("lse", ("M",)),
        Operand("grad_loss", ("M",)),
        Operand("grad_lse", ("M",)),
    ),
    params=(
        Param("ignore_index", "int", -100),
        Param("label_smoothing", "float", None, optional=True),
        Param("z_loss", "float", 0.0),
        Param("softcap", "float", None, optional=True),
    ),
    outputs=(Output("grad_logits", ("M", "V"), like="logits"),),
    fold="M",
    specialize=("label_smoothing", "softcap"),
    shards={"M": ()},
    partial=True,
    variants={
        (False, False): Variant(_plan_backward, reference_backward),
        (False, True): Variant(_plan_backward_softcap, reference_backward_softcap),
        (True, False): Variant(_plan_backward_label_smoothing, reference_backward_label_smoothing),
        (True, True): Variant(
            _plan_backward_label_smoothing_softcap, reference_backward_label_smoothing_softcap
        ),
    },
)
OP = Op(
    name="cross_entropy",
    spec_hash="42770796",
    inputs=(Operand("logits", ("M", "V")), Operand("target", ("M",), kind="int")),
    params=(
        Param("ignore_index", "int", -100),
        Param("label_smoothing", "float", None, optional=True),
        Param("z_loss", "float", 0.0),
        Param("softcap", "float", None, optional=True),
    ),
    outputs=(Output("loss", ("M",), dtype="float"), Output("lse", ("M",), dtype="float")),
    fold="M",
    specialize=("label_smoothing", "softcap"),
    shards={"M": ()},
    gradients=Gradients({"loss": "grad_loss", "lse": "grad_lse"}, BACKWARD),
    variants={
        (False, False): Variant(_plan, reference, gradients={"logits": "grad_logits"}),
        (False, True): Variant(
            _plan_softcap, reference_softcap, gradients={"logits": "grad_logits"}
        ),
        (True, False): Variant(
            _plan_label_smoothing, reference_label_smoothing, gradients={"logits": "grad_logits"}
        ),
        (True, True): Variant(
            _plan_label_smoothing_softcap,
            reference_label_smoothing_softcap,
            gradients={"logits": "grad_logits"},
        ),
    },
)


def cross_entropy(
    logits: torch.Tensor,
    target: torch.Tensor,
    ignore_index: int = -100,
    label_smoothing: float | None = None,
    z_loss: float = 0.0,
    softcap: float | None = None,
    *,
    out: tuple[torch.Tensor, torch.Tensor] | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Cross entropy of each row with its label, plus z_loss * lse^2 (PaLM, arXiv:2204.02311).

    A row with the label ignore_index costs 0; softcap is Gemma 2's (arXiv:2408.00118).

    Args:
        logits: [M, V], floats.
        target: [M], integers.
        ignore_index: int.
        label_smoothing: float, or None.
        z_loss: float.
        softcap: float, or None.
        out: where to write loss, lse.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        loss: [M], fp32 (fp64 for fp64 inputs).
        lse: [M], fp32 (fp64 for fp64 inputs).
        M may stand for several dimensions.
    """
    tensors = (logits, target)
    params = (ignore_index, label_smoothing, z_loss, softcap)
    return OP(tensors, params, out, backend, autotune)
