"""RMS-normalise each head of the queries or the keys, then rotate its halves.

As in Qwen3; the rotation is that of rope (Su et al., arXiv:2104.09864).

Built by tilegen 0.1.0 from specs/qk_norm_rope.py (spec d00ab77b, templates e77a4a87).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 4*B*D*H*S*e + B*S*i + 2*D*e*Min(P, B*S) + 2*D*e bytes (e: bytes of an element, i: bytes of an index)
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
    Config(TILE=512, num_warps=1, registers=64),  # 128 B shared
    Config(TILE=512, num_warps=2, registers=47),  # 256 B shared
    Config(TILE=1024, num_warps=1, registers=167),  # 128 B shared
    Config(TILE=4096, num_warps=4, registers=197),  # 512 B shared
    Config(TILE=4096, num_warps=16, registers=40),  # 64 B shared
    Config(TILE=8192, num_warps=16, registers=79),  # 64 B shared
)
_BLOCK_4 = (
    Config(TILE=512, num_warps=1, registers=72),  # 0 B shared
    Config(TILE=512, num_warps=2, registers=48),  # 256 B shared
    Config(TILE=1024, num_warps=1, registers=129),  # 0 B shared
    Config(TILE=4096, num_warps=4, registers=157),  # 512 B shared
    Config(TILE=4096, num_warps=16, registers=49),  # 64 B shared
    Config(TILE=8192, num_warps=16, registers=64),  # 64 B shared
)
_BLOCK_5 = (
    Config(TILE=512, num_warps=1, registers=88),  # 0 B shared
    Config(TILE=512, num_warps=2, registers=64),  # 512 B shared
    Config(TILE=1024, num_warps=1, registers=167),  # 0 B shared
    Config(TILE=4096, num_warps=4, registers=218),  # 512 B shared
    Config(TILE=4096, num_warps=16, registers=64),  # 64 B shared
    Config(TILE=8192, num_warps=16, registers=91),  # 64 B shared
)
_BLOCK_6 = (
    Config(TILE=512, num_warps=1, registers=220),  # 0 B shared
    Config(TILE=512, num_warps=2, registers=123),  # 64 B shared
    Config(TILE=512, num_warps=4, registers=72),  # 1024 B shared
    Config(TILE=512, num_warps=8, registers=48),  # 64 B shared
    Config(TILE=1024, num_warps=2, registers=221),  # 128 B shared
    Config(TILE=4096, num_warps=16, registers=126),  # 512 B shared
)
_BLOCK_7 = (
    Config(TILE=512, num_warps=1),  # at most 1024 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 32768 B shared, unproven
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
    Config(TILE=2048, num_warps=4, registers=48),  # 16 B shared, 72 registers in split rows
    Config(TILE=2048, num_warps=8, registers=36),  # 32 B shared
    Config(TILE=4096, num_warps=8, registers=48),  # 32 B shared, 73 registers in split rows
    Config(TILE=8192, num_warps=8, registers=97),  # 32 B shared
    Config(TILE=8192, num_warps=16, registers=53),  # 64 B shared, 74 registers in split rows
    Config(TILE=16384, num_warps=32, registers=42),  # 128 B shared, 64 registers in split rows
)
_LOOP_5 = (
    Config(TILE=2048, num_warps=4, registers=72),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=40),  # 32 B shared
    Config(TILE=4096, num_warps=8, registers=72),  # 32 B shared
    Config(TILE=8192, num_warps=8, registers=123),  # 32 B shared
    Config(TILE=8192, num_warps=16, registers=64),  # 64 B shared
    Config(TILE=16384, num_warps=32, registers=60),  # 128 B shared
)
_LOOP_6 = (
    Config(TILE=2048, num_warps=4, registers=80),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=52),  # 32 B shared
    Config(TILE=2048, num_warps=16, registers=34),  # 64 B shared
    Config(TILE=8192, num_warps=8, registers=168),  # 32 B shared
    Config(TILE=8192, num_warps=4, registers=255, spills=True),  # 16 B shared, 40 B spilled
    Config(TILE=16384, num_warps=16, registers=128, spills=True),  # 64 B shared, 104 B spilled
)
_LOOP_7 = (
    Config(TILE=2048, num_warps=4, registers=166),  # 32 B shared, 168 registers in split rows
    Config(TILE=2048, num_warps=8, registers=98),  # 64 B shared
    Config(TILE=2048, num_warps=16, registers=56),  # 128 B shared
    Config(TILE=4096, num_warps=8, registers=170),  # 64 B shared
    Config(TILE=4096, num_warps=4, registers=255, spills=True),  # 32 B shared, 36 B spilled
    Config(TILE=8192, num_warps=16, registers=128, spills=True),  # 128 B shared, 132 B spilled
)
_LOOP_8 = (
    Config(TILE=2048, num_warps=4),  # at most 512 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 1024 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 4096 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 4096 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 8192 B shared, unproven
)
_LOOP_9 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 16384 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 32768 B shared, unproven
)
#: Sweeps over one row, TILE elements at a time; by architecture class and element size in bytes.
LOOP_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2), _LOOP_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (4,), _LOOP_2),
    (("gfx90a", "gfx942", "gfx950"), (8,), _LOOP_2),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _LOOP_3),
    (("sm_90",), (1,), _LOOP_4),
    (("sm_90",), (2,), _LOOP_5),
    (("sm_90",), (4,), _LOOP_6),
    (("sm_90",), (8,), _LOOP_7),
    (("gfx90a", "gfx942", "gfx950"), (1,), _LOOP_8),
    (("gfx90a", "gfx942", "gfx950"), (2, 4), _LOOP_9),
)


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
    position_rows = (
        position_ptr + row_0 * position_row_0 + row_1 * position_row_1 + row_2 * position_row_2
    )
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

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
    stop = tl.minimum((split + 1) * CHUNK, D)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
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
                _qk_norm_rope_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "weight", "cos", "sin", "position", "out"),
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
            constants={"LANES": config["TILE"] // vector, "VECTOR": vector, "EVEN": even},
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
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        out: [B, S, H, Two * D], the type of x.
        B may stand for several dimensions.
    """
    tensors = (x, weight, cos, sin, position)
    params = (eps,)
    return OP(tensors, params, out, backend, autotune)
