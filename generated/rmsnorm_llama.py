"""RMSNorm as in Llama's model code: the row rounds to x's dtype before the weight.

Built by tilegen 0.1.0 from specs/rmsnorm_llama.py (spec 1bf4bfaa, templates e77a4a87).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 2*M*N*e + N*e bytes (e: bytes of an element)
Work: 5*M*N + 3*M flops, 2*M of them exponentials, roots and quotients
Bound: memory on every target
Eager PyTorch: 7 kernels, 5.0 times the bytes
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
    convert,
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
    Config(TILE=8192, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 65536 B shared, unproven
)
_BLOCK_2 = (
    Config(TILE=512, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
)
_BLOCK_3 = (
    Config(TILE=512, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 2048 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
)
_BLOCK_4 = (
    Config(TILE=1024, num_warps=1, registers=63),  # 128 B shared
    Config(TILE=4096, num_warps=2, registers=95),  # 256 B shared
    Config(TILE=4096, num_warps=8, registers=32),  # 32 B shared
    Config(TILE=8192, num_warps=4, registers=82),  # 512 B shared
    Config(TILE=16384, num_warps=8, registers=80),  # 32 B shared
    Config(TILE=32768, num_warps=16, registers=127),  # 64 B shared
)
_BLOCK_5 = (
    Config(TILE=1024, num_warps=1, registers=62),  # 0 B shared
    Config(TILE=4096, num_warps=2, registers=108),  # 256 B shared
    Config(TILE=4096, num_warps=8, registers=32),  # 32 B shared
    Config(TILE=8192, num_warps=4, registers=78),  # 512 B shared
    Config(TILE=16384, num_warps=8, registers=79),  # 32 B shared
    Config(TILE=32768, num_warps=16, registers=106),  # 64 B shared
)
_BLOCK_6 = (
    Config(TILE=512, num_warps=1, registers=43),  # 0 B shared
    Config(TILE=1024, num_warps=1, registers=68),  # 0 B shared
    Config(TILE=4096, num_warps=2, registers=146),  # 512 B shared
    Config(TILE=4096, num_warps=8, registers=45),  # 32 B shared
    Config(TILE=8192, num_warps=4, registers=126),  # 512 B shared
    Config(TILE=16384, num_warps=16, registers=78),  # 64 B shared
)
_BLOCK_7 = (
    Config(TILE=512, num_warps=1, registers=90),  # 0 B shared
    Config(TILE=512, num_warps=2, registers=53),  # 64 B shared
    Config(TILE=1024, num_warps=1, registers=154),  # 0 B shared
    Config(TILE=4096, num_warps=4, registers=160),  # 1024 B shared
    Config(TILE=4096, num_warps=8, registers=101),  # 512 B shared
    Config(TILE=8192, num_warps=16, registers=101),  # 1024 B shared
)
_BLOCK_8 = (
    Config(TILE=4096, num_warps=1),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=2),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 65536 B shared, unproven
)
#: Whole rows in registers, TILE elements to a program; by architecture class and element size in bytes.
BLOCK_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2), _BLOCK_1),
    (("gfx90a", "gfx942", "gfx950"), (4,), _BLOCK_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (4,), _BLOCK_2),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BLOCK_2),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BLOCK_3),
    (("sm_90",), (1,), _BLOCK_4),
    (("sm_90",), (2,), _BLOCK_5),
    (("sm_90",), (4,), _BLOCK_6),
    (("sm_90",), (8,), _BLOCK_7),
    (("gfx90a", "gfx942", "gfx950"), (1, 2), _BLOCK_8),
)

_LOOP_1 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 16384 B shared, unproven
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
    Config(TILE=2048, num_warps=4, registers=32),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=29),  # 32 B shared
    Config(TILE=8192, num_warps=4, registers=45),  # 16 B shared
    Config(TILE=8192, num_warps=16, registers=32),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=44),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=32),  # 128 B shared, 45 registers in split rows
)
_LOOP_4 = (
    Config(TILE=2048, num_warps=4, registers=31),  # 16 B shared, 32 registers in split rows
    Config(TILE=2048, num_warps=8, registers=32),  # 32 B shared
    Config(TILE=8192, num_warps=4, registers=64),  # 16 B shared
    Config(TILE=8192, num_warps=16, registers=32),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=74),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=43),  # 128 B shared
)
_LOOP_5 = (
    Config(TILE=2048, num_warps=4, registers=40),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=32),  # 32 B shared
    Config(TILE=8192, num_warps=4, registers=96),  # 16 B shared
    Config(TILE=8192, num_warps=16, registers=40),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=100),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=64),  # 128 B shared
)
_LOOP_6 = (
    Config(TILE=2048, num_warps=4, registers=56),  # 32 B shared
    Config(TILE=2048, num_warps=8, registers=40),  # 64 B shared
    Config(TILE=2048, num_warps=16, registers=32),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=164),  # 32 B shared, 168 registers in split rows
    Config(TILE=8192, num_warps=16, registers=64),  # 128 B shared
    Config(TILE=16384, num_warps=32, registers=64),  # 256 B shared
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
def _rmsnorm_llama_block(
    x_ptr,
    weight_ptr,
    out_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    weight_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
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
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    eps = scalar(eps, FLOAT)

    x = tl.load(
        x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    if EARLY:
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        )
    # rstd = rsqrt(mean(x * x) + eps)
    row_sum = tl.sum(x * x, axis=1, keep_dims=True)
    rstd = tl.rsqrt(row_sum / N + eps)
    # normed = cast(x * rstd, x.dtype)
    normed = narrow(x * rstd, x_ptr.dtype.element_ty).to(FLOAT)
    if not EARLY:
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        )
    # return normed * weight
    tl.store(
        out_rows + cols * out_col,
        narrow(normed * weight.to(FLOAT), out_ptr.dtype.element_ty),
        mask=in_rows & in_cols,
    )


@triton.jit
def _rmsnorm_llama_loop(
    x_ptr,
    weight_ptr,
    out_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    weight_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
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
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    eps = scalar(eps, FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # rstd = rsqrt(mean(x * x) + eps)
        total = total + tl.sum(x * x, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)

    rstd = tl.rsqrt(row_sum / N + eps)

    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        # normed = cast(x * rstd, x.dtype)
        normed = narrow(x * rstd, x_ptr.dtype.element_ty).to(FLOAT)
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # return normed * weight
        tl.store(
            out_rows + cols * out_col,
            narrow(normed * weight, out_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )


@triton.jit
def _rmsnorm_llama_partial(
    x_ptr,
    partial_total_ptr,
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
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        # rstd = rsqrt(mean(x * x) + eps)
        total = total + tl.sum(x * x, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, row_sum)


@triton.jit
def _rmsnorm_llama_finish(
    partial_total_ptr,
    x_ptr,
    weight_ptr,
    out_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    weight_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
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
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    eps = scalar(eps, FLOAT)

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_sum = tl.sum(total, axis=0, keep_dims=True)
    # rstd = rsqrt(mean(x * x) + eps)
    rstd = tl.rsqrt(row_sum / N + eps)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        # normed = cast(x * rstd, x.dtype)
        normed = narrow(x * rstd, x_ptr.dtype.element_ty).to(FLOAT)
        weight = tl.load(weight_ptr + cols * weight_col, mask=in_cols, other=0.0).to(FLOAT)
        # return normed * weight
        tl.store(
            out_rows + cols * out_col,
            narrow(normed * weight, out_ptr.dtype.element_ty),
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
        work = Work(reads=1, writes=1, flops=5, joins=1, held=1.5, held_wide=2)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=1, writes=1, flops=5.25, rereads=1, joins=1, passes=2, held=0.9, held_wide=1.2
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=1,
            writes=1,
            flops=5.625,
            special=0.25,
            rereads=1,
            joins=1,
            passes=2,
            held=0.9,
            held_wide=1.2,
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
                _rmsnorm_llama_partial,
                grid=(rows.total * splits,),
                tensors=("x", "partial_total"),
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
                _rmsnorm_llama_finish,
                grid=(rows.total * splits,),
                tensors=("partial_total", "x", "weight", "out"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    cols.strides("weight")[0],
                    *rows.strides("out"),
                    cols.strides("out")[0],
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
                _rmsnorm_llama_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "weight", "out"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    cols.strides("weight")[0],
                    *rows.strides("out"),
                    cols.strides("out")[0],
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
            _rmsnorm_llama_loop,
            grid=(rows.total,),
            tensors=("x", "weight", "out"),
            integers=(
                rows.total,
                *rows.sizes[1:],
                cols.total,
                *rows.strides("x"),
                cols.strides("x")[0],
                cols.strides("weight")[0],
                *rows.strides("out"),
                cols.strides("out")[0],
            ),
            params=("eps",),
            constants={"LANES": config["TILE"] // vector, "VECTOR": vector, "EVEN": even},
            config=config,
        )
    )


def reference(x, weight, eps, *, compute):
    """RMSNorm as in Llama's model code: the row rounds to x's dtype before the weight.

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x_dtype = x.dtype
    x = widen(x, compute)
    weight = widen(weight, compute)
    # rstd = rsqrt(mean(x * x) + eps)
    rstd = torch.rsqrt((x * x).mean(-1) + eps)
    # normed = cast(x * rstd, x.dtype)
    normed = widen(convert(x * rstd[:, None], x_dtype), compute)
    return normed * weight


OP = Op(
    name="rmsnorm_llama",
    spec_hash="1bf4bfaa",
    inputs=(Operand("x", ("M", "N")), Operand("weight", ("N",))),
    params=(Param("eps", "float", 1e-06),),
    outputs=(Output("out", ("M", "N"), like="x"),),
    fold="M",
    inplace=("x",),
    variants={
        (): Variant(_plan, reference),
    },
)


def rmsnorm_llama(
    x: torch.Tensor,
    weight: torch.Tensor,
    eps: float = 1e-06,
    *,
    out: torch.Tensor | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> torch.Tensor:
    """RMSNorm as in Llama's model code: the row rounds to x's dtype before the weight.

    Args:
        x: [M, N], floats.
        weight: [N], floats.
        eps: float.
        out: where to write out.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        out: [M, N], the type of x.
        M may stand for several dimensions.
    """
    tensors = (x, weight)
    params = (eps,)
    return OP(tensors, params, out, backend, autotune)
