"""Root-mean-square norm of rows, one block per program."""

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
    cdiv,
    narrow,
    next_power_of_2,
    scalar,
)

BLOCK_CONFIGS = {
    ("sm_80", 2): (Config(TILE=4096, num_warps=4), Config(TILE=8192, num_warps=8)),
    ("sm_90", 2): (Config(TILE=4096, num_warps=4), Config(TILE=8192, num_warps=8)),
    ("sm_90", 4): (Config(TILE=2048, num_warps=4), Config(TILE=4096, num_warps=4)),
}


@triton.jit
def _rmsnorm_block(
    x_ptr, weight_ptr, y_ptr, M, M1, M2, N, x_m0, x_m1, x_m2, x_n, weight_n, y_m0, y_m1, y_m2, y_n,
    eps, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, INT: tl.constexpr, FLOAT: tl.constexpr
):  # fmt: skip
    eps = scalar(eps, FLOAT)
    m = tl.program_id(0).to(INT) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    n = tl.arange(0, BLOCK_N)[None, :].to(INT)
    m_2 = m % M2
    m_1 = m // M2 % M1
    m_0 = m // M2 // M1
    mask = (m < M) & (n < N)
    x_rows = x_ptr + m_0 * x_m0 + m_1 * x_m1 + m_2 * x_m2
    y_rows = y_ptr + m_0 * y_m0 + m_1 * y_m1 + m_2 * y_m2
    x = tl.load(x_rows + n * x_n, mask=mask, other=0.0).to(FLOAT)
    weight = tl.load(weight_ptr + n * weight_n, mask=n < N, other=0.0).to(FLOAT)
    mean = tl.sum(x * x, 1, keep_dims=True) / N
    y = x * tl.rsqrt(mean + eps) * weight
    tl.store(y_rows + n * y_n, narrow(y, y_ptr.dtype.element_ty), mask=mask)


def _block_time(config: Config, call: Call, rows: int, cols: int) -> float:
    programs = cdiv(rows, max(1, config["TILE"] // next_power_of_2(cols)))
    return cdiv(programs, call.target.multiprocessors) * config["TILE"]


def _plan(call: Call) -> Launch:
    rows = call.axes(("M",), limit=3)
    cols = call.axes(("N",), limit=1)
    config = call.choose(
        BLOCK_CONFIGS, lambda config: _block_time(config, call, rows.total, cols.total)
    )
    block_n = next_power_of_2(cols.total)
    block_m = max(1, config["TILE"] // block_n)
    return Launch(
        Step(
            _rmsnorm_block,
            grid=(cdiv(rows.total, block_m),),
            tensors=("x", "weight", "y"),
            integers=(
                rows.total,
                rows.sizes[1],
                rows.sizes[2],
                cols.total,
                *rows.strides("x"),
                *cols.strides("x"),
                *cols.strides("weight"),
                *rows.strides("y"),
                *cols.strides("y"),
            ),
            params=("eps",),
            constants={"BLOCK_M": block_m, "BLOCK_N": block_n},
            config=config,
        )
    )


def reference(x, weight, eps=1e-6, *, compute=torch.float32):
    wide = x.to(compute)
    scale = torch.rsqrt((wide * wide).mean(-1, keepdim=True) + eps)
    return (wide * scale * weight.to(compute)).to(x.dtype)


OP = Op(
    name="rmsnorm",
    spec_hash="3fa2c1d0",
    inputs=(Operand("x", ("M", "N")), Operand("weight", ("N",))),
    params=(Param("eps", "float", 1e-6),),
    outputs=(Output("y", ("M", "N"), like="x"),),
    fold="M",
    variants={(): Variant(_plan, reference)},
)


def rmsnorm(x, weight, eps=1e-6, *, out=None, backend="auto", autotune=False):
    return OP((x, weight), (eps,), out, backend, autotune)
