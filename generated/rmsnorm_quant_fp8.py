"""RMSNorm, then e4m3 (Micikevicius et al., arXiv:2209.05433) with one scale a row.

The normalised row is about q * scale.

Built by tilegen 0.1.0 from specs/rmsnorm_quant_fp8.py (spec 5423a70b, templates d13e90b1).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: M*N*e + M*N + 4*M + N*e bytes (e: bytes of an element)
Work: 9*M*N + 6*M flops, M*N + 3*M of them exponentials, roots and quotients
Bound: memory on every target
Eager PyTorch: 13 kernels, 10.0 times the bytes
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
    maximum,
    nan_max,
    narrow,
    next_power_of_2,
    scalar,
    widen,
)

_BLOCK_1 = (
    Config(TILE=4096, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=32768, num_warps=32),  # at most 65536 B shared, unproven
)
_BLOCK_2 = (
    Config(TILE=1024, num_warps=1),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
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
    Config(TILE=4096, num_warps=4, registers=76),  # 8192 B shared
    Config(TILE=4096, num_warps=8, registers=32),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=146),  # 8192 B shared
    Config(TILE=8192, num_warps=8, registers=63),  # 256 B shared
    Config(TILE=16384, num_warps=8, registers=127),  # 512 B shared
    Config(TILE=32768, num_warps=32, registers=63),  # 1024 B shared
)
_BLOCK_5 = (
    Config(TILE=4096, num_warps=4, registers=76),  # 8192 B shared
    Config(TILE=4096, num_warps=8, registers=40),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=145),  # 8192 B shared
    Config(TILE=8192, num_warps=8, registers=78),  # 256 B shared
    Config(TILE=16384, num_warps=8, registers=120),  # 512 B shared
    Config(TILE=32768, num_warps=32, registers=63),  # 1024 B shared
)
_BLOCK_6 = (
    Config(TILE=1024, num_warps=1, registers=72),  # 512 B shared
    Config(TILE=4096, num_warps=2, registers=142),  # 2048 B shared
    Config(TILE=4096, num_warps=4, registers=78),  # 8192 B shared
    Config(TILE=4096, num_warps=8, registers=47),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=147),  # 8192 B shared
    Config(TILE=16384, num_warps=16, registers=80),  # 512 B shared
)
_BLOCK_7 = (
    Config(TILE=512, num_warps=1, registers=90),  # 4096 B shared
    Config(TILE=512, num_warps=2, registers=62),  # 4096 B shared
    Config(TILE=1024, num_warps=1, registers=156),  # 4096 B shared
    Config(TILE=4096, num_warps=4, registers=180),  # 32768 B shared
    Config(TILE=4096, num_warps=8, registers=96),  # 256 B shared
    Config(TILE=8192, num_warps=16, registers=96),  # 512 B shared
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
    Config(TILE=8192, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=32768, num_warps=32),  # at most 32768 B shared, unproven
)
_LOOP_2 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 65536 B shared, unproven
)
_LOOP_3 = (
    Config(TILE=2048, num_warps=4, registers=32),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=27),  # 32 B shared
    Config(TILE=4096, num_warps=4, registers=32),  # 16 B shared
    Config(TILE=8192, num_warps=4, registers=48),  # 16 B shared
    Config(TILE=16384, num_warps=8, registers=48),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=32),  # 128 B shared
)
_LOOP_4 = (
    Config(TILE=2048, num_warps=4, registers=32),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=30),  # 32 B shared
    Config(TILE=4096, num_warps=4, registers=40),  # 16 B shared
    Config(TILE=8192, num_warps=4, registers=75),  # 16 B shared
    Config(TILE=16384, num_warps=8, registers=64),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=46),  # 128 B shared
)
_LOOP_5 = (
    Config(TILE=2048, num_warps=4, registers=38),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=35),  # 32 B shared
    Config(TILE=4096, num_warps=4, registers=56),  # 16 B shared
    Config(TILE=8192, num_warps=4, registers=96),  # 16 B shared
    Config(TILE=16384, num_warps=8, registers=108),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=63),  # 128 B shared
)
_LOOP_6 = (
    Config(TILE=2048, num_warps=4, registers=82),  # 32 B shared
    Config(TILE=2048, num_warps=8, registers=61),  # 64 B shared
    Config(TILE=2048, num_warps=16, registers=45),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=213),  # 32 B shared
    Config(TILE=8192, num_warps=8, registers=136),  # 64 B shared
    Config(TILE=16384, num_warps=32, registers=64, spills=2),  # 256 B shared, 76 B spilled
)
_LOOP_7 = (
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 65536 B shared, unproven
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


# Loads: "evict_last" keeps what a kernel reads in L2 over what it writes, and a row until its last
# sweep, which is "evict_first". On an H200 that is 2 to 10 percent of the copy rate.
@triton.jit
def _rmsnorm_quant_fp8_block(
    x_ptr,
    weight_ptr,
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
    weight_col,
    q_row_0,
    q_row_1,
    q_row_2,
    q_col,
    scale_row_0,
    scale_row_1,
    scale_row_2,
    eps,
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

    eps = scalar(eps, FLOAT)

    x = tl.load(
        x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    weight = tl.load(
        weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    # y = x * rsqrt(mean(x * x) + eps) * weight
    row_sum = tl.sum(x * x, axis=1, keep_dims=True)
    y = x * tl.rsqrt(row_sum / N + eps) * weight
    # scale = cast(maximum(max(abs(y)), 1e-12) / fp8e4m3.max, f32)
    row_max = nan_max(tl.where(in_cols, tl.abs(y), float("-inf")), 1)
    scale = narrow(maximum(row_max, 1e-12) / 448.0, tl.float32).to(FLOAT)
    # q = cast(y / scale, fp8e4m3)
    q = narrow(y / scale, tl.float8e4nv).to(tl.float32).to(FLOAT)
    tl.store(q_rows + cols * q_col, narrow(q, q_ptr.dtype.element_ty), mask=in_rows & in_cols)
    tl.store(scale_rows, narrow(scale, scale_ptr.dtype.element_ty), mask=in_rows)


@triton.jit
def _rmsnorm_quant_fp8_loop(
    x_ptr,
    weight_ptr,
    q_ptr,
    scale_ptr,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    weight_col,
    q_row_0,
    q_row_1,
    q_row_2,
    q_col,
    scale_row_0,
    scale_row_1,
    scale_row_2,
    eps,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program goes over one row 3 times, block by block."""
    rows = tl.program_id(0).to(INT) + tl.arange(0, 1)[:, None]
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    q_rows = q_ptr + row_0 * q_row_0 + row_1 * q_row_1 + row_2 * q_row_2
    scale_rows = scale_ptr + row_0 * scale_row_0 + row_1 * scale_row_1 + row_2 * scale_row_2

    eps = scalar(eps, FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # y = x * rsqrt(mean(x * x) + eps) * weight
        total = total + tl.sum(x * x, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)

    value = tl.rsqrt(row_sum / N + eps)

    largest = tl.full((LANES, 1), float("-inf"), FLOAT)
    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        y = x * value * weight
        # scale = cast(maximum(max(abs(y)), 1e-12) / fp8e4m3.max, f32)
        largest = maximum(largest, nan_max(tl.where(in_cols, tl.abs(y), float("-inf")), 1))

    row_max = nan_max(largest, 0)

    scale = narrow(maximum(row_max, 1e-12) / 448.0, tl.float32).to(FLOAT)

    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        y = x * value * weight
        # q = cast(y / scale, fp8e4m3)
        q = narrow(y / scale, tl.float8e4nv).to(tl.float32).to(FLOAT)
        tl.store(
            q_rows + cols * q_col,
            narrow(q, q_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )

    tl.store(scale_rows, narrow(scale, scale_ptr.dtype.element_ty))


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("M",), limit=3, spare_last=True)
    cols = call.axes(("N",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=1, writes=0.5, flops=9, special=1, joins=2, held_wide=2)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=1,
            writes=0.5,
            flops=11.5,
            special=1,
            rereads=2,
            joins=2,
            passes=3,
            held=0.675,
            held_wide=1.35,
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, LOOP_CONFIGS, loop_time)

    if call.takes("block", block <= loop):
        config = call.choose(BLOCK_CONFIGS, block_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        return Launch(
            Step(
                _rmsnorm_quant_fp8_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "weight", "q", "scale"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    cols.strides("weight")[0],
                    *rows.strides("q"),
                    cols.strides("q")[0],
                    *rows.strides("scale"),
                ),
                params=("eps",),
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
            _rmsnorm_quant_fp8_loop,
            grid=(rows.total,),
            tensors=("x", "weight", "q", "scale"),
            integers=(
                *rows.sizes[1:],
                cols.total,
                *rows.strides("x"),
                cols.strides("x")[0],
                cols.strides("weight")[0],
                *rows.strides("q"),
                cols.strides("q")[0],
                *rows.strides("scale"),
            ),
            params=("eps",),
            constants={"LANES": config["TILE"] // vector, "VECTOR": vector, "EVEN": even},
            config=config,
        )
    )


def reference(x, weight, eps, *, compute):
    """RMSNorm, then e4m3 (Micikevicius et al., arXiv:2209.05433) with one scale a row.

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x = widen(x, compute)
    weight = widen(weight, compute)
    # y = x * rsqrt(mean(x * x) + eps) * weight
    y = x * torch.rsqrt((x * x).mean(-1) + eps)[:, None] * weight
    # scale = cast(maximum(max(abs(y)), 1e-12) / fp8e4m3.max, f32)
    scale = widen(convert(torch.abs(y).amax(-1).clamp(min=1e-12) / 448.0, torch.float32), compute)
    # q = cast(y / scale, fp8e4m3)
    q = widen(convert(y / scale[:, None], torch.float8_e4m3fn), compute)
    return q, scale


OP = Op(
    name="rmsnorm_quant_fp8",
    spec_hash="5423a70b",
    inputs=(Operand("x", ("M", "N")), Operand("weight", ("N",))),
    params=(Param("eps", "float", 1e-06),),
    outputs=(
        Output("q", ("M", "N"), dtype=torch.float8_e4m3fn),
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


def rmsnorm_quant_fp8(
    x: torch.Tensor,
    weight: torch.Tensor,
    eps: float = 1e-06,
    *,
    out: tuple[torch.Tensor, torch.Tensor] | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """RMSNorm, then e4m3 (Micikevicius et al., arXiv:2209.05433) with one scale a row.

    The normalised row is about q * scale.

    Args:
        x: [M, N], floats.
        weight: [N], floats.
        eps: float.
        out: where to write q, scale.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        q: [M, N], fp8e4m3.
        scale: [M], f32.
        M may stand for several dimensions.
    """
    tensors = (x, weight)
    params = (eps,)
    return OP(tensors, params, out, backend, autotune)
