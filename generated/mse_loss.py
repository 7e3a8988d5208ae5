"""Mean squared error over all elements, one scalar.

Built by tilegen 0.1.0 from specs/mse_loss.py (spec d67fdad1, templates 950bbb1d).
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
    loop_cost,
    minimum,
    narrow,
    next_power_of_2,
    scalar,
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
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program holds BLOCK_M whole rows in registers."""
    rows = tl.program_id(0).to(INT) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None, None]
    cols_0 = tl.arange(0, BLOCK_0)[None, :, None]
    cols_1 = tl.arange(0, BLOCK_1)[None, None, :]
    in_cols = (cols_0 < COLS_0) & (cols_1 < COLS_1)
    in_rows = rows < 1

    x = tl.load(
        x_ptr + cols_0 * x_col_0 + cols_1 * x_col_1,
        mask=in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    target = tl.load(
        target_ptr + cols_0 * target_col_0 + cols_1 * target_col_1,
        mask=in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # error = x - target
    error = x - target
    # return mean(error * error, (M, N))
    row_sum = tl.sum(tl.sum(error * error, axis=2, keep_dims=True), axis=1, keep_dims=True)
    tl.store(out_ptr + rows, narrow(row_sum / (M * N), out_ptr.dtype.element_ty))


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
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program goes over one row once, block by block."""
    rows = tl.program_id(0).to(INT) + tl.arange(0, 1)[:, None]
    lane = tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for cols_0 in range(0, COLS_0):
        for start in range(0, COLS_1, LANES * VECTOR):
            cols_1 = start + lane
            in_cols = cols_1 < COLS_1
            x = tl.load(
                x_ptr + cols_0 * x_col_0 + cols_1 * x_col_1,
                mask=in_cols,
                other=0.0,
                eviction_policy="evict_last",
            ).to(FLOAT)
            target = tl.load(
                target_ptr + cols_0 * target_col_0 + cols_1 * target_col_1,
                mask=in_cols,
                other=0.0,
                eviction_policy="evict_last",
            ).to(FLOAT)
            # error = x - target
            error = x - target
            # return mean(error * error, (M, N))
            total = total + tl.sum(error * error, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)

    tl.store(out_ptr + rows, narrow(row_sum / (M * N), out_ptr.dtype.element_ty))


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
    SPLITS: tl.constexpr,
    CHUNK: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program reduces one chunk of a row to its partial states."""
    split = tl.program_id(0) % SPLITS
    rows = (tl.program_id(0) // SPLITS).to(INT) + tl.arange(0, 1)[:, None]
    stop = tl.minimum((split + 1) * CHUNK, COLS_1)
    lane = tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]

    total = tl.full((LANES, 1), 0.0, FLOAT)
    cols_0 = 0
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols_1 = start + lane
        in_cols = cols_1 < stop
        x = tl.load(
            x_ptr + cols_0 * x_col_0 + cols_1 * x_col_1,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        target = tl.load(
            target_ptr + cols_0 * target_col_0 + cols_1 * target_col_1,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
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
    COLS_0,
    COLS_1,
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
    tl.store(out_ptr + rows, narrow(row_sum / (M * N), out_ptr.dtype.element_ty))


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes((), limit=3)
    cols = call.axes(("M", "N"), limit=2)
    width = next_power_of_2(cols.sizes[0]) * next_power_of_2(cols.sizes[1])
    if cols.sizes[0] == 1 and call.takes("split", splits_pay(call.target, rows.total, cols.total)):
        config = call.choose(
            LOOP_CONFIGS, lambda config: loop_cost(config, call.target, rows.total, cols.total)
        )
        splits, chunk = split_row(call.target, rows.total, cols.total, config["TILE"])
        vector = max(1, 16 // call.element_size)
        lanes = {"LANES": config["TILE"] // vector, "VECTOR": vector}
        return Launch(
            Step(
                _mse_loss_partial,
                grid=(rows.total * splits,),
                tensors=("x", "target", "partial_total"),
                integers=(*cols.sizes, *cols.strides("x"), *cols.strides("target")),
                constants={**lanes, "SPLITS": splits, "CHUNK": chunk},
                config=config,
            ),
            Step(
                _mse_loss_finish,
                grid=(rows.total,),
                tensors=("partial_total", "out"),
                integers=(*cols.sizes, call.sizes["M"], call.sizes["N"]),
                constants={"SPLITS": splits, "BLOCK_S": next_power_of_2(splits)},
                config=config,
            ),
            workspaces={
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
                    "BLOCK_0": next_power_of_2(cols.sizes[0]),
                    "BLOCK_1": next_power_of_2(cols.sizes[1]),
                },
                config=config,
            )
        )

    config = call.choose(
        LOOP_CONFIGS, lambda config: loop_cost(config, call.target, rows.total, cols.total)
    )
    vector = max(1, 16 // call.element_size)
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
            constants={"LANES": config["TILE"] // vector, "VECTOR": vector},
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


OP = Op(
    name="mse_loss",
    spec_hash="d67fdad1",
    inputs=(Operand("x", ("M", "N")), Operand("target", ("M", "N"))),
    outputs=(Output("out", (), dtype="float"),),
    fold="M",
    inplace=("x", "target"),
    variants={
        (): Variant(_plan, reference),
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
        autotune: time all configs for these shapes, and remember the fastest.

    Returns:
        out: [], fp32 (fp64 for fp64 inputs).
        M may stand for several dimensions.
    """
    tensors = (x, target)
    params = ()
    return OP(tensors, params, out, backend, autotune)
