"""Symmetric int8 with one scale a row (Dettmers et al., arXiv:2208.07339).

x is about q * scale.

Built by tilegen 0.1.0 from specs/row_quant_int8.py (spec 8edcb161, templates d13e90b1).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: M*N*e + M*N + 4*M bytes (e: bytes of an element)
Work: 5*M*N + 3*M flops, M*N + M of them exponentials, roots and quotients
Bound: memory on every target
Eager PyTorch: 8 kernels, 8.0 times the bytes
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
    maximum,
    nan_max,
    narrow,
    next_power_of_2,
    round_even,
    split_cost,
    split_row,
    widen,
)

_BLOCK_1 = (
    Config(TILE=4096, num_warps=2),  # at most 128 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 128 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 256 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 256 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 512 B shared, unproven
    Config(TILE=32768, num_warps=32),  # at most 1024 B shared, unproven
)
_BLOCK_2 = (
    Config(TILE=512, num_warps=1),  # at most 64 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 128 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 512 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 512 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 1024 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 2048 B shared, unproven
)
_BLOCK_3 = (
    Config(TILE=4096, num_warps=2, registers=80),  # 128 B shared
    Config(TILE=4096, num_warps=8, registers=31),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=78),  # 256 B shared
    Config(TILE=8192, num_warps=8, registers=47),  # 256 B shared
    Config(TILE=16384, num_warps=8, registers=80),  # 512 B shared
    Config(TILE=32768, num_warps=32, registers=52),  # 1024 B shared
)
_BLOCK_4 = (
    Config(TILE=4096, num_warps=2, registers=80),  # 128 B shared
    Config(TILE=4096, num_warps=8, registers=30),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=77),  # 256 B shared
    Config(TILE=8192, num_warps=8, registers=47),  # 256 B shared
    Config(TILE=16384, num_warps=8, registers=80),  # 512 B shared
    Config(TILE=32768, num_warps=32, registers=47),  # 1024 B shared
)
_BLOCK_5 = (
    Config(TILE=4096, num_warps=2, registers=80),  # 128 B shared
    Config(TILE=4096, num_warps=8, registers=30),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=79),  # 256 B shared
    Config(TILE=8192, num_warps=8, registers=46),  # 256 B shared
    Config(TILE=16384, num_warps=8, registers=78),  # 512 B shared
    Config(TILE=32768, num_warps=32, registers=46),  # 1024 B shared
)
_BLOCK_6 = (
    Config(TILE=512, num_warps=1, registers=66),  # 0 B shared
    Config(TILE=1024, num_warps=1, registers=110),  # 0 B shared
    Config(TILE=4096, num_warps=2, registers=194),  # 256 B shared
    Config(TILE=4096, num_warps=8, registers=66),  # 256 B shared
    Config(TILE=8192, num_warps=4, registers=194),  # 512 B shared
    Config(TILE=16384, num_warps=16, registers=118),  # 1024 B shared
)
_BLOCK_7 = (
    Config(TILE=4096, num_warps=4),  # at most 256 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 256 B shared, unproven
    Config(TILE=8192, num_warps=2),  # at most 512 B shared, unproven
    Config(TILE=16384, num_warps=4),  # at most 1024 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 2048 B shared, unproven
)
#: Whole rows in registers, TILE elements to a program; by architecture class and element size in bytes.
BLOCK_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2, 4), _BLOCK_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BLOCK_2),
    (("sm_90",), (1,), _BLOCK_3),
    (("sm_90",), (2,), _BLOCK_4),
    (("sm_90",), (4,), _BLOCK_5),
    (("sm_90",), (8,), _BLOCK_6),
    (("gfx90a", "gfx942", "gfx950"), (1, 2, 4, 8), _BLOCK_7),
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
    Config(TILE=8192, num_warps=32),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 65536 B shared, unproven
)
_LOOP_3 = (
    Config(TILE=2048, num_warps=4, registers=32),  # 16 B shared, 72 registers in split rows
    Config(TILE=2048, num_warps=8, registers=25),  # 32 B shared, 74 registers in split rows
    Config(TILE=8192, num_warps=4, registers=33),  # 16 B shared, 80 registers in split rows
    Config(TILE=8192, num_warps=16, registers=32),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=37),  # 32 B shared, 43 registers in split rows
    Config(TILE=32768, num_warps=32, registers=35),  # 128 B shared
)
_LOOP_4 = (
    Config(TILE=2048, num_warps=4, registers=32),  # 16 B shared, 72 registers in split rows
    Config(TILE=2048, num_warps=8, registers=31),  # 32 B shared, 74 registers in split rows
    Config(TILE=8192, num_warps=4, registers=46),  # 16 B shared, 48 registers in split rows
    Config(TILE=8192, num_warps=16, registers=32),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=45),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=32),  # 128 B shared
)
_LOOP_5 = (
    Config(TILE=2048, num_warps=4, registers=31),  # 16 B shared, 72 registers in split rows
    Config(TILE=2048, num_warps=8, registers=33),  # 32 B shared, 73 registers in split rows
    Config(TILE=8192, num_warps=4, registers=43),  # 16 B shared, 46 registers in split rows
    Config(TILE=8192, num_warps=16, registers=34),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=48),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=34),  # 128 B shared
)
_LOOP_6 = (
    Config(TILE=2048, num_warps=4, registers=72),  # 32 B shared, 238 registers in split rows
    Config(TILE=2048, num_warps=8, registers=64),  # 64 B shared, 190 registers in split rows
    Config(TILE=8192, num_warps=4, registers=255),  # 32 B shared
    Config(
        TILE=2048, num_warps=16, registers=44, spills=2
    ),  # 128 B shared, 128 registers in split rows, 4 B spilled
    Config(
        TILE=8192, num_warps=32, registers=58, spills=2
    ),  # 256 B shared, 64 registers in split rows, 40 B spilled
    Config(TILE=16384, num_warps=32, registers=64, spills=2),  # 256 B shared, 4 B spilled
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
    Config(TILE=8192, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 65536 B shared, unproven
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


# Loads: "evict_last" keeps what a kernel reads in L2 over what it writes, and a row until its last
# sweep, which is "evict_first". On an H200 that is 2 to 10 percent of the copy rate.
@triton.jit
def _row_quant_int8_block(
    x_ptr,
    q_ptr,
    scale_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    q_row_0,
    q_row_1,
    q_row_2,
    q_col,
    scale_row_0,
    scale_row_1,
    scale_row_2,
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
    q_rows = q_ptr + row_0 * q_row_0 + row_1 * q_row_1 + row_2 * q_row_2
    scale_rows = scale_ptr + row_0 * scale_row_0 + row_1 * scale_row_1 + row_2 * scale_row_2

    x = tl.load(
        x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    # scale = cast(maximum(max(abs(x)), 1e-12) / i8.max, f32)
    row_max = nan_max(tl.where(in_cols, tl.abs(x), float("-inf")), 1)
    scale = narrow(maximum(row_max, 1e-12) / 127.0, tl.float32).to(FLOAT)
    # q = cast(round(x / scale), i8)
    q = narrow(round_even(x / scale), tl.int8)
    tl.store(q_rows + cols * q_col, q, mask=in_rows & in_cols)
    tl.store(scale_rows, narrow(scale, scale_ptr.dtype.element_ty), mask=in_rows)


@triton.jit
def _row_quant_int8_loop(
    x_ptr,
    q_ptr,
    scale_ptr,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    q_row_0,
    q_row_1,
    q_row_2,
    q_col,
    scale_row_0,
    scale_row_1,
    scale_row_2,
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
    q_rows = q_ptr + row_0 * q_row_0 + row_1 * q_row_1 + row_2 * q_row_2
    scale_rows = scale_ptr + row_0 * scale_row_0 + row_1 * scale_row_1 + row_2 * scale_row_2

    largest = tl.full((LANES, 1), float("-inf"), FLOAT)
    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # scale = cast(maximum(max(abs(x)), 1e-12) / i8.max, f32)
        largest = maximum(largest, nan_max(tl.where(in_cols, tl.abs(x), float("-inf")), 1))

    row_max = nan_max(largest, 0)

    scale = narrow(maximum(row_max, 1e-12) / 127.0, tl.float32).to(FLOAT)

    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        # q = cast(round(x / scale), i8)
        q = narrow(round_even(x / scale), tl.int8)
        tl.store(q_rows + cols * q_col, q, mask=in_cols, cache_modifier=".cs")

    tl.store(scale_rows, narrow(scale, scale_ptr.dtype.element_ty))


@triton.jit
def _row_quant_int8_partial(
    x_ptr,
    partial_largest_ptr,
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

    largest = tl.full((LANES, 1), float("-inf"), FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        # scale = cast(maximum(max(abs(x)), 1e-12) / i8.max, f32)
        largest = maximum(largest, nan_max(tl.where(in_cols, tl.abs(x), float("-inf")), 1))

    row_max = nan_max(largest, 0)
    tl.store(partial_largest_ptr + rows * SPLITS + split, row_max)


@triton.jit
def _row_quant_int8_finish(
    partial_largest_ptr,
    x_ptr,
    q_ptr,
    scale_ptr,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    q_row_0,
    q_row_1,
    q_row_2,
    q_col,
    scale_row_0,
    scale_row_1,
    scale_row_2,
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
    leads = rows * 0 + split == 0
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    q_rows = q_ptr + row_0 * q_row_0 + row_1 * q_row_1 + row_2 * q_row_2
    scale_rows = scale_ptr + row_0 * scale_row_0 + row_1 * scale_row_1 + row_2 * scale_row_2

    splits = tl.arange(0, BLOCK_S)[:, None]
    largest = tl.load(
        partial_largest_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=float("-inf")
    )
    row_max = nan_max(largest, 0)
    # scale = cast(maximum(max(abs(x)), 1e-12) / i8.max, f32)
    scale = narrow(maximum(row_max, 1e-12) / 127.0, tl.float32).to(FLOAT)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        # q = cast(round(x / scale), i8)
        q = narrow(round_even(x / scale), tl.int8)
        tl.store(q_rows + cols * q_col, q, mask=in_cols, cache_modifier=".cs")

    tl.store(scale_rows, narrow(scale, scale_ptr.dtype.element_ty), mask=leads)


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("M",), limit=3, spare_last=True)
    cols = call.axes(("N",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=1, writes=0.5, flops=5, special=1, joins=1)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=1,
            writes=0.5,
            flops=5.25,
            special=1,
            rereads=1,
            joins=1,
            passes=2,
            held=0.6,
            held_wide=0.75,
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=1,
            writes=0.5,
            flops=5.625,
            special=1.125,
            rereads=1,
            joins=1,
            passes=2,
            held=0.6,
            held_wide=0.75,
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
                _row_quant_int8_partial,
                grid=(rows.total * splits,),
                tensors=("x", "partial_largest"),
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
                _row_quant_int8_finish,
                grid=(rows.total * splits,),
                tensors=("partial_largest", "x", "q", "scale"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("q"),
                    cols.strides("q")[0],
                    *rows.strides("scale"),
                ),
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
                "partial_largest": ((rows.total, splits), call.float),
            },
        )

    if call.takes("block", block <= loop):
        config = call.choose(BLOCK_CONFIGS, block_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        return Launch(
            Step(
                _row_quant_int8_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "q", "scale"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("q"),
                    cols.strides("q")[0],
                    *rows.strides("scale"),
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
            _row_quant_int8_loop,
            grid=(rows.total,),
            tensors=("x", "q", "scale"),
            integers=(
                *rows.sizes[1:],
                cols.total,
                *rows.strides("x"),
                cols.strides("x")[0],
                *rows.strides("q"),
                cols.strides("q")[0],
                *rows.strides("scale"),
            ),
            constants={"LANES": config["TILE"] // vector, "VECTOR": vector, "EVEN": even},
            config=config,
        )
    )


def reference(x, *, compute):
    """Symmetric int8 with one scale a row (Dettmers et al., arXiv:2208.07339).

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x = widen(x, compute)
    # scale = cast(maximum(max(abs(x)), 1e-12) / i8.max, f32)
    scale = widen(convert(torch.abs(x).amax(-1).clamp(min=1e-12) / 127.0, torch.float32), compute)
    # q = cast(round(x / scale), i8)
    q = convert(torch.round(x / scale[:, None]), torch.int8)
    return q, scale


OP = Op(
    name="row_quant_int8",
    spec_hash="8edcb161",
    inputs=(Operand("x", ("M", "N")),),
    outputs=(
        Output("q", ("M", "N"), dtype=torch.int8),
        Output("scale", ("M",), dtype=torch.float32),
    ),
    fold="M",
    inplace=("x",),
    nonempty=("N",),
    shards={"M": ()},
    variants={
        (): Variant(_plan, reference),
    },
)


def row_quant_int8(
    x: torch.Tensor,
    *,
    out: tuple[torch.Tensor, torch.Tensor] | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Symmetric int8 with one scale a row (Dettmers et al., arXiv:2208.07339).

    x is about q * scale.

    Args:
        x: [M, N], floats.
        out: where to write q, scale.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        q: [M, N], i8.
        scale: [M], f32.
        M may stand for several dimensions.
    """
    tensors = (x,)
    params = ()
    return OP(tensors, params, out, backend, autotune)
