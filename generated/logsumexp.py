"""Natural logarithm of the sum of the exponentials of each row.

Built by tilegen 0.1.0 from specs/logsumexp.py (spec 81e0b294, templates 950bbb1d).
Rebuild with `tilegen build`; edits are overwritten.

"""

import torch
import triton
import triton.language as tl

from ._runtime import (
    Call,
    Config,
    Kernel,
    Launch,
    Op,
    Operand,
    Output,
    Step,
    Variant,
    block_cost,
    cdiv,
    fold,
    logsumexp_end,
    logsumexp_step,
    loop_cost,
    minimum,
    nan_max,
    narrow,
    next_power_of_2,
    split_row,
    splits_pay,
    widen,
)

#: Columns that one program holds in registers; wider rows are swept block by block.
WIDEST_BLOCK = 32768

#: Configs of the block kernels.
BLOCK_CONFIGS = {
    ("sm_80", 2): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("sm_80", 4): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("sm_90", 2): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("sm_90", 4): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("sm_100", 2): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("sm_100", 4): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("sm_89", 2): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("sm_89", 4): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("sm_86", 2): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("sm_86", 4): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("sm_120", 2): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("sm_120", 4): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("gfx90a", 2): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("gfx90a", 4): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("gfx942", 2): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("gfx942", 4): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("gfx950", 2): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
    ("gfx950", 4): (
        Config(TILE=1024, num_warps=2),  # 0 B shared
        Config(TILE=2048, num_warps=4),  # 0 B shared
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
        Config(TILE=32768, num_warps=16),  # 0 B shared
    ),
}

#: Configs of the loop kernels.
LOOP_CONFIGS = {
    ("sm_80", 2): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("sm_80", 4): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("sm_90", 2): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("sm_90", 4): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("sm_100", 2): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("sm_100", 4): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("sm_89", 2): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("sm_89", 4): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("sm_86", 2): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("sm_86", 4): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("sm_120", 2): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("sm_120", 4): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("gfx90a", 2): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("gfx90a", 4): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("gfx942", 2): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("gfx942", 4): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("gfx950", 2): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
    ("gfx950", 4): (
        Config(TILE=4096, num_warps=4),  # 0 B shared
        Config(TILE=8192, num_warps=8),  # 0 B shared
        Config(TILE=16384, num_warps=16),  # 0 B shared
    ),
}


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
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program holds BLOCK_M whole rows in registers."""
    rows = tl.program_id(0).to(INT) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    cols = tl.arange(0, BLOCK_N)[None, :]
    in_cols = cols < N
    in_rows = rows < M
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    x = tl.load(
        x_rows + cols * x_col,
        mask=in_rows & in_cols,
        other=float("-inf"),
        eviction_policy="evict_first",
    ).to(FLOAT)
    # return tilegen.logsumexp(x)
    row_max = nan_max(x, 1)
    row_top = tl.where(row_max == float("-inf"), 0.0, row_max)
    row_total = tl.sum(tl.exp(x - row_top), axis=1, keep_dims=True)
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
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program goes over one row once, block by block."""
    rows = tl.program_id(0).to(INT) + tl.arange(0, 1)[:, None]
    lane = tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    top = tl.full((LANES, 1), -3.4028234663852886e38, FLOAT)
    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = cols < N
        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=float("-inf"), eviction_policy="evict_first"
        ).to(FLOAT)
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
    SPLITS: tl.constexpr,
    CHUNK: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program reduces one chunk of a row to its partial states."""
    split = tl.program_id(0) % SPLITS
    rows = (tl.program_id(0) // SPLITS).to(INT) + tl.arange(0, 1)[:, None]
    stop = tl.minimum((split + 1) * CHUNK, N)
    lane = tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2

    top = tl.full((LANES, 1), -3.4028234663852886e38, FLOAT)
    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = cols < stop
        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=float("-inf"), eviction_policy="evict_last"
        ).to(FLOAT)
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
    M,
    ROWS_1,
    ROWS_2,
    N,
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


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("M",), limit=3)
    cols = call.axes(("N",), limit=1)
    width = next_power_of_2(cols.total)
    if call.takes("split", splits_pay(call.target, rows.total, cols.total)):
        config = call.choose(
            LOOP_CONFIGS, lambda config: loop_cost(config, call.target, rows.total, cols.total)
        )
        splits, chunk = split_row(call.target, rows.total, cols.total, config["TILE"])
        vector = max(1, 16 // call.element_size)
        lanes = {"LANES": config["TILE"] // vector, "VECTOR": vector}
        return Launch(
            Step(
                _logsumexp_partial,
                grid=(rows.total * splits,),
                tensors=("x", "partial_top", "partial_total"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                ),
                constants={**lanes, "SPLITS": splits, "CHUNK": chunk},
                config=config,
            ),
            Step(
                _logsumexp_finish,
                grid=(rows.total,),
                tensors=("partial_top", "partial_total", "out"),
                integers=(rows.total, *rows.sizes[1:], cols.total, *rows.strides("out")),
                constants={"SPLITS": splits, "BLOCK_S": next_power_of_2(splits)},
                config=config,
            ),
            workspaces={
                "partial_top": ((rows.total, splits), call.float),
                "partial_total": ((rows.total, splits), call.float),
            },
        )
    if call.takes("block", width <= WIDEST_BLOCK):
        config = call.choose(
            BLOCK_CONFIGS, lambda config: block_cost(config, call.target, rows.total, width)
        )
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
                constants={"BLOCK_M": block_m, "BLOCK_N": width},
                config=config,
            )
        )

    config = call.choose(
        LOOP_CONFIGS, lambda config: loop_cost(config, call.target, rows.total, cols.total)
    )
    vector = max(1, 16 // call.element_size)
    return Launch(
        Step(
            _logsumexp_loop,
            grid=(rows.total,),
            tensors=("x", "out"),
            integers=(
                rows.total,
                *rows.sizes[1:],
                cols.total,
                *rows.strides("x"),
                cols.strides("x")[0],
                *rows.strides("out"),
            ),
            constants={"LANES": config["TILE"] // vector, "VECTOR": vector},
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


OP = Op(
    name="logsumexp",
    spec_hash="81e0b294",
    inputs=(Operand("x", ("M", "N")),),
    outputs=(Output("out", ("M",), dtype="float"),),
    fold="M",
    inplace=("x",),
    variants={
        (): Variant(_plan, reference),
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
        autotune: time all configs for these shapes, and remember the fastest.

    Returns:
        out: [M], fp32 (fp64 for fp64 inputs).
        M may stand for several dimensions.
    """
    tensors = (x,)
    params = ()
    return OP(tensors, params, out, backend, autotune)
