"""Dynamic tanh, which stands in for a norm; alpha is learned (Zhu et al., arXiv:2503.10622).

Built by tilegen 0.1.0 from specs/dyt.py (spec 7a590c66, templates 83e67773).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 2*M*N*e + 2*N*e + e bytes (e: bytes of an element)
Work: 18*M*N flops, 2*M*N of them exponentials, roots and quotients
Bound: memory on every target
Eager PyTorch: 4 kernels, 4.0 times the bytes
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
    in_stages,
    least,
    loop_cost,
    narrow,
    next_power_of_2,
    split_cost,
    split_row,
    tanh,
    tile_shape,
    widen,
)

_TILED_1 = (
    Config(TILE=1024, num_warps=1),  # 512 B shared, 80 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 0 B shared, 40 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 2048 B shared, 32 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=1),  # 512 B shared, 168 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 2048 B shared, 80 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 4096 B shared, 52 registers on sm_90, else unproven
)
_TILED_2 = (
    Config(TILE=1024, num_warps=1),  # at most 8192 B shared, unproven
    Config(TILE=1024, num_warps=2),  # at most 8192 B shared, unproven
    Config(TILE=1024, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=1024, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=2),  # at most 16384 B shared, unproven
    Config(TILE=2048, num_warps=4),  # at most 16384 B shared, unproven
)
_TILED_3 = (
    Config(TILE=1024, num_warps=1),  # 256 B shared, 254 registers
    Config(TILE=1024, num_warps=2),  # 0 B shared, 189 registers
    Config(TILE=1024, num_warps=8),  # 0 B shared, 60 registers
    Config(TILE=2048, num_warps=2),  # 512 B shared, 255 registers
    Config(TILE=2048, num_warps=4),  # 1024 B shared, 189 registers
    Config(TILE=1024, num_warps=4, spills=True),  # 1024 B shared, 96 registers, 4 B spilled
)
_TILED_4 = (
    Config(TILE=1024, num_warps=1),  # at most 4096 B shared, unproven
    Config(TILE=1024, num_warps=2),  # at most 4096 B shared, unproven
    Config(TILE=2048, num_warps=1),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=2),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=1),  # at most 16384 B shared, unproven
)
#: Tiles of TILE elements over strided axes; by architecture class and element size in bytes.
TILED_CONFIGS = by_class(
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2), _TILED_1),
    (
        ("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120", "gfx90a", "gfx942", "gfx950"),
        (4,),
        _TILED_1,
    ),
    (("gfx90a", "gfx942", "gfx950"), (8,), _TILED_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _TILED_2),
    (("sm_90",), (8,), _TILED_3),
    (("gfx90a", "gfx942", "gfx950"), (1, 2), _TILED_4),
)

_BACKWARD_TILED_1 = (
    Config(TILE=1024, num_warps=1),  # at most 8192 B shared, unproven
    Config(TILE=1024, num_warps=2),  # at most 8192 B shared, unproven
    Config(TILE=1024, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=1),  # at most 16384 B shared, unproven
    Config(TILE=2048, num_warps=2),  # at most 16384 B shared, unproven
    Config(TILE=2048, num_warps=4),  # at most 16384 B shared, unproven
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

_BACKWARD_BLOCK_1 = (
    Config(TILE=512, num_warps=1),  # at most 8 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 8 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 64 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 128 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 256 B shared, unproven
)
_BACKWARD_BLOCK_2 = (
    Config(TILE=512, num_warps=1),  # at most 32 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 32 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 256 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 256 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 512 B shared, unproven
)
_BACKWARD_BLOCK_3 = (
    Config(TILE=512, num_warps=1),  # at most 64 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 64 B shared, unproven
    Config(TILE=512, num_warps=4),  # at most 64 B shared, unproven
    Config(TILE=512, num_warps=8),  # at most 64 B shared, unproven
    Config(TILE=1024, num_warps=2),  # at most 128 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 512 B shared, unproven
)
_BACKWARD_BLOCK_4 = (
    Config(TILE=4096, num_warps=1),  # at most 32 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 32 B shared, unproven
    Config(TILE=8192, num_warps=2),  # at most 64 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 64 B shared, unproven
    Config(TILE=16384, num_warps=4),  # at most 128 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 256 B shared, unproven
)
_BACKWARD_BLOCK_5 = (
    Config(TILE=512, num_warps=1),  # at most 8 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 16 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 64 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 128 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 256 B shared, unproven
)
#: Whole rows in registers, TILE elements to a program; by architecture class and element size in bytes.
BACKWARD_BLOCK_CONFIGS = by_class(
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2), _BACKWARD_BLOCK_1),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (4,), _BACKWARD_BLOCK_2),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BACKWARD_BLOCK_2),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BACKWARD_BLOCK_3),
    (("gfx90a", "gfx942", "gfx950"), (1, 2), _BACKWARD_BLOCK_4),
    (("gfx90a", "gfx942", "gfx950"), (4,), _BACKWARD_BLOCK_5),
)

_BACKWARD_LOOP_1 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
)
_BACKWARD_LOOP_2 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 16384 B shared, unproven
)
_BACKWARD_LOOP_3 = (
    Config(TILE=2048, num_warps=4),  # at most 1024 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 4096 B shared, unproven
)
_BACKWARD_LOOP_4 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 4096 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 16384 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 32768 B shared, unproven
)
_BACKWARD_LOOP_5 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
)
#: Sweeps over one row, TILE elements at a time; by architecture class and element size in bytes.
BACKWARD_LOOP_CONFIGS = by_class(
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2, 8), _BACKWARD_LOOP_1),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (4,), _BACKWARD_LOOP_2),
    (("gfx90a", "gfx942", "gfx950"), (1, 2), _BACKWARD_LOOP_3),
    (("gfx90a", "gfx942", "gfx950"), (4,), _BACKWARD_LOOP_4),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BACKWARD_LOOP_5),
)


@triton.jit
def _dyt_tiled(
    x_ptr,
    alpha_ptr,
    weight_ptr,
    bias_ptr,
    out_ptr,
    M,
    SIZE_M_1,
    SIZE_M_2,
    N,
    weight_N,
    x_M_0,
    x_M_1,
    x_M_2,
    x_N,
    bias_N,
    out_M_0,
    out_M_1,
    out_M_2,
    out_N,
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
    x_m = x_ptr + m_0 * x_M_0 + m_1 * x_M_1 + m_2 * x_M_2
    out_m = out_ptr + m_0 * out_M_0 + m_1 * out_M_1 + m_2 * out_M_2

    weight = tl.load(
        weight_ptr + n * weight_N, mask=in_n, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    alpha = tl.load(alpha_ptr).to(FLOAT)
    x = tl.load(x_m + n * x_N, mask=in_m & in_n, other=0.0, eviction_policy="evict_last").to(FLOAT)
    bias = tl.load(bias_ptr + n * bias_N, mask=in_n, other=0.0, eviction_policy="evict_last").to(
        FLOAT
    )
    # return weight * tanh(alpha * x) + bias
    tl.store(
        out_m + n * out_N,
        narrow(weight * tanh(alpha * x) + bias, out_ptr.dtype.element_ty),
        mask=in_m & in_n,
    )


@triton.jit
def _dyt_backward_stage_1_block(
    x_ptr,
    alpha_ptr,
    grad_out_ptr,
    grad_weight_ptr,
    grad_bias_ptr,
    N,
    ROWS_1,
    ROWS_2,
    M,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    grad_weight_row_0,
    grad_weight_row_1,
    grad_weight_row_2,
    grad_bias_row_0,
    grad_bias_row_1,
    grad_bias_row_2,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    NEEDS_GRAD_WEIGHT: tl.constexpr,
    NEEDS_GRAD_BIAS: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program holds BLOCK_M whole rows in registers."""
    rows = tl.program_id(0).to(INT) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    cols = tl.arange(0, BLOCK_N)[None, :].to(INT)
    in_cols = below(cols, M, EVEN_N)
    in_rows = below(rows, N, EVEN_M)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    grad_weight_rows = (
        grad_weight_ptr
        + row_0 * grad_weight_row_0
        + row_1 * grad_weight_row_1
        + row_2 * grad_weight_row_2
    )
    grad_bias_rows = (
        grad_bias_ptr + row_0 * grad_bias_row_0 + row_1 * grad_bias_row_1 + row_2 * grad_bias_row_2
    )

    grad_out = tl.load(
        grad_out_rows + cols * grad_out_col,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    alpha = tl.load(alpha_ptr).to(FLOAT)
    x = tl.load(
        x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    grad_weight = tl.sum(grad_out * tanh(alpha * x), axis=1, keep_dims=True)
    grad_bias = tl.sum(grad_out, axis=1, keep_dims=True)
    if NEEDS_GRAD_WEIGHT:
        tl.store(
            grad_weight_rows, narrow(grad_weight, grad_weight_ptr.dtype.element_ty), mask=in_rows
        )
    if NEEDS_GRAD_BIAS:
        tl.store(grad_bias_rows, narrow(grad_bias, grad_bias_ptr.dtype.element_ty), mask=in_rows)


@triton.jit
def _dyt_backward_stage_1_loop(
    x_ptr,
    alpha_ptr,
    grad_out_ptr,
    grad_weight_ptr,
    grad_bias_ptr,
    N,
    ROWS_1,
    ROWS_2,
    M,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    grad_weight_row_0,
    grad_weight_row_1,
    grad_weight_row_2,
    grad_bias_row_0,
    grad_bias_row_1,
    grad_bias_row_2,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    NEEDS_GRAD_WEIGHT: tl.constexpr,
    NEEDS_GRAD_BIAS: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program goes over one row once, block by block."""
    rows = tl.program_id(0).to(INT) + tl.arange(0, 1)[:, None]
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    grad_weight_rows = (
        grad_weight_ptr
        + row_0 * grad_weight_row_0
        + row_1 * grad_weight_row_1
        + row_2 * grad_weight_row_2
    )
    grad_bias_rows = (
        grad_bias_ptr + row_0 * grad_bias_row_0 + row_1 * grad_bias_row_1 + row_2 * grad_bias_row_2
    )

    alpha = tl.load(alpha_ptr).to(FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    total_2 = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(0, M, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, M, EVEN)

        grad_out = tl.load(grad_out_rows + cols * grad_out_col, mask=in_cols, other=0.0).to(FLOAT)
        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        total = total + tl.sum(grad_out * tanh(alpha * x), axis=1, keep_dims=True)
        total_2 = total_2 + tl.sum(grad_out, axis=1, keep_dims=True)

    grad_weight = tl.sum(total, axis=0, keep_dims=True)
    grad_bias = tl.sum(total_2, axis=0, keep_dims=True)

    if NEEDS_GRAD_WEIGHT:
        tl.store(grad_weight_rows, narrow(grad_weight, grad_weight_ptr.dtype.element_ty))
    if NEEDS_GRAD_BIAS:
        tl.store(grad_bias_rows, narrow(grad_bias, grad_bias_ptr.dtype.element_ty))


@triton.jit
def _dyt_backward_stage_1_partial(
    x_ptr,
    alpha_ptr,
    grad_out_ptr,
    partial_total_ptr,
    partial_total_2_ptr,
    N,
    ROWS_1,
    ROWS_2,
    M,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
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
    stop = tl.minimum((split + 1) * CHUNK, M)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2

    alpha = tl.load(alpha_ptr).to(FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    total_2 = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        grad_out = tl.load(grad_out_rows + cols * grad_out_col, mask=in_cols, other=0.0).to(FLOAT)
        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        total = total + tl.sum(grad_out * tanh(alpha * x), axis=1, keep_dims=True)
        total_2 = total_2 + tl.sum(grad_out, axis=1, keep_dims=True)

    grad_weight = tl.sum(total, axis=0, keep_dims=True)
    grad_bias = tl.sum(total_2, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, grad_weight)
    tl.store(partial_total_2_ptr + rows * SPLITS + split, grad_bias)


@triton.jit
def _dyt_backward_stage_1_finish(
    partial_total_ptr,
    partial_total_2_ptr,
    grad_weight_ptr,
    grad_bias_ptr,
    N,
    ROWS_1,
    ROWS_2,
    M,
    grad_weight_row_0,
    grad_weight_row_1,
    grad_weight_row_2,
    grad_bias_row_0,
    grad_bias_row_1,
    grad_bias_row_2,
    SPLITS: tl.constexpr,
    BLOCK_S: tl.constexpr,
    NEEDS_GRAD_WEIGHT: tl.constexpr,
    NEEDS_GRAD_BIAS: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program joins the partial states of a row."""
    rows = tl.program_id(0).to(INT) + tl.arange(0, 1)[:, None]
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    grad_weight_rows = (
        grad_weight_ptr
        + row_0 * grad_weight_row_0
        + row_1 * grad_weight_row_1
        + row_2 * grad_weight_row_2
    )
    grad_bias_rows = (
        grad_bias_ptr + row_0 * grad_bias_row_0 + row_1 * grad_bias_row_1 + row_2 * grad_bias_row_2
    )

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    total_2 = tl.load(partial_total_2_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    grad_weight = tl.sum(total, axis=0, keep_dims=True)
    grad_bias = tl.sum(total_2, axis=0, keep_dims=True)

    if NEEDS_GRAD_WEIGHT:
        tl.store(grad_weight_rows, narrow(grad_weight, grad_weight_ptr.dtype.element_ty))
    if NEEDS_GRAD_BIAS:
        tl.store(grad_bias_rows, narrow(grad_bias, grad_bias_ptr.dtype.element_ty))


@triton.jit
def _dyt_backward_stage_2_block(
    x_ptr,
    alpha_ptr,
    weight_ptr,
    grad_out_ptr,
    grad_alpha_ptr,
    COLS_0,
    COLS_1,
    grad_out_col_0,
    grad_out_col_1,
    weight_col_1,
    x_col_0,
    x_col_1,
    BLOCK_M: tl.constexpr,
    BLOCK_0: tl.constexpr,
    BLOCK_1: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    NEEDS_GRAD_ALPHA: tl.constexpr,
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

    grad_out = tl.load(
        grad_out_ptr + cols_0 * grad_out_col_0 + cols_1 * grad_out_col_1,
        mask=in_cols_0 & in_cols_1,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    weight = tl.load(
        weight_ptr + cols_1 * weight_col_1, mask=in_cols_1, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    alpha = tl.load(alpha_ptr).to(FLOAT)
    x = tl.load(
        x_ptr + cols_0 * x_col_0 + cols_1 * x_col_1,
        mask=in_cols_0 & in_cols_1,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # return weight * tanh(alpha * x) + bias
    value = tanh(alpha * x)
    grad_alpha = tl.sum(
        tl.sum(grad_out * weight * (1.0 - value * value) * x, axis=2, keep_dims=True),
        axis=1,
        keep_dims=True,
    )
    if NEEDS_GRAD_ALPHA:
        tl.store(grad_alpha_ptr + rows, narrow(grad_alpha, grad_alpha_ptr.dtype.element_ty))


@triton.jit
def _dyt_backward_stage_2_loop(
    x_ptr,
    alpha_ptr,
    weight_ptr,
    grad_out_ptr,
    grad_alpha_ptr,
    COLS_0,
    COLS_1,
    grad_out_col_0,
    grad_out_col_1,
    weight_col_1,
    x_col_0,
    x_col_1,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    WIDTH: tl.constexpr,
    NEEDS_GRAD_ALPHA: tl.constexpr,
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

    alpha = tl.load(alpha_ptr).to(FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    blocks = tl.cdiv(COLS_1, WIDTH)
    for block in range(tl.cdiv(COLS_0, HEIGHT) * blocks):
        cols_0 = block // blocks * HEIGHT + lane_0
        cols_1 = block % blocks * WIDTH + lane_1
        in_cols_0 = below(cols_0, COLS_0, EVEN)
        in_cols_1 = below(cols_1, COLS_1, EVEN)

        grad_out = tl.load(
            grad_out_ptr + cols_0 * grad_out_col_0 + cols_1 * grad_out_col_1,
            mask=in_cols_0 & in_cols_1,
            other=0.0,
        ).to(FLOAT)
        weight = tl.load(weight_ptr + cols_1 * weight_col_1, mask=in_cols_1, other=0.0).to(FLOAT)
        x = tl.load(
            x_ptr + cols_0 * x_col_0 + cols_1 * x_col_1, mask=in_cols_0 & in_cols_1, other=0.0
        ).to(FLOAT)
        # return weight * tanh(alpha * x) + bias
        value = tanh(alpha * x)
        total = total + tl.sum(
            grad_out * weight * (1.0 - value * value) * x, axis=1, keep_dims=True
        )

    grad_alpha = tl.sum(total, axis=0, keep_dims=True)

    if NEEDS_GRAD_ALPHA:
        tl.store(grad_alpha_ptr + rows, narrow(grad_alpha, grad_alpha_ptr.dtype.element_ty))


@triton.jit
def _dyt_backward_stage_2_partial(
    x_ptr,
    alpha_ptr,
    weight_ptr,
    grad_out_ptr,
    partial_total_ptr,
    COLS_0,
    COLS_1,
    grad_out_col_0,
    grad_out_col_1,
    weight_col_1,
    x_col_0,
    x_col_1,
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

    alpha = tl.load(alpha_ptr).to(FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    cols_0 = tl.zeros((1, 1), INT)
    in_cols_0 = below(cols_0, COLS_0, True)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols_1 = start + lane
        in_cols_1 = below(cols_1, stop, EVEN)

        grad_out = tl.load(
            grad_out_ptr + cols_0 * grad_out_col_0 + cols_1 * grad_out_col_1,
            mask=in_cols_0 & in_cols_1,
            other=0.0,
        ).to(FLOAT)
        weight = tl.load(weight_ptr + cols_1 * weight_col_1, mask=in_cols_1, other=0.0).to(FLOAT)
        x = tl.load(
            x_ptr + cols_0 * x_col_0 + cols_1 * x_col_1, mask=in_cols_0 & in_cols_1, other=0.0
        ).to(FLOAT)
        # return weight * tanh(alpha * x) + bias
        value = tanh(alpha * x)
        total = total + tl.sum(
            grad_out * weight * (1.0 - value * value) * x, axis=1, keep_dims=True
        )

    grad_alpha = tl.sum(total, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, grad_alpha)


@triton.jit
def _dyt_backward_stage_2_finish(
    partial_total_ptr,
    grad_alpha_ptr,
    COLS_0,
    COLS_1,
    SPLITS: tl.constexpr,
    BLOCK_S: tl.constexpr,
    NEEDS_GRAD_ALPHA: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program joins the partial states of a row."""
    rows = tl.program_id(0).to(INT) + tl.arange(0, 1)[:, None]

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    grad_alpha = tl.sum(total, axis=0, keep_dims=True)

    if NEEDS_GRAD_ALPHA:
        tl.store(grad_alpha_ptr + rows, narrow(grad_alpha, grad_alpha_ptr.dtype.element_ty))


@triton.jit
def _dyt_backward_stage_3_tiled(
    x_ptr,
    alpha_ptr,
    weight_ptr,
    grad_out_ptr,
    grad_x_ptr,
    M,
    SIZE_M_1,
    SIZE_M_2,
    N,
    grad_out_M_0,
    grad_out_M_1,
    grad_out_M_2,
    grad_out_N,
    weight_N,
    x_M_0,
    x_M_1,
    x_M_2,
    x_N,
    grad_x_M_0,
    grad_x_M_1,
    grad_x_M_2,
    grad_x_N,
    BLOCK_0: tl.constexpr,
    BLOCK_1: tl.constexpr,
    EVEN_0: tl.constexpr,
    EVEN_1: tl.constexpr,
    NEEDS_GRAD_X: tl.constexpr,
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
    grad_x_m = grad_x_ptr + m_0 * grad_x_M_0 + m_1 * grad_x_M_1 + m_2 * grad_x_M_2

    grad_out = tl.load(
        grad_out_m + n * grad_out_N, mask=in_m & in_n, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    weight = tl.load(
        weight_ptr + n * weight_N, mask=in_n, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    alpha = tl.load(alpha_ptr).to(FLOAT)
    x = tl.load(x_m + n * x_N, mask=in_m & in_n, other=0.0, eviction_policy="evict_last").to(FLOAT)
    # return weight * tanh(alpha * x) + bias
    value = tanh(alpha * x)
    grad_x = grad_out * weight * (1.0 - value * value) * alpha
    if NEEDS_GRAD_X:
        tl.store(
            grad_x_m + n * grad_x_N, narrow(grad_x, grad_x_ptr.dtype.element_ty), mask=in_m & in_n
        )


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""

    axes_0 = call.axes(("M",), limit=3, spare_last=True)
    axes_1 = call.axes(("N",), limit=1)
    height, length = axes_0.total, axes_1.total
    outer = 1

    def tiled_time(config: Config) -> float:
        work = Work(reads=1, writes=1, flops=18, special=2, held=1.5, held_wide=3)
        return flat_cost(config, call.target, work, call.element_size, outer * height * length)

    config = call.choose(TILED_CONFIGS, tiled_time)
    block_0, block_1 = tile_shape(
        axes_0.crossed(), height, length, config["TILE"], call.element_size
    )
    tiles = cdiv(height, block_0) * cdiv(length, block_1)
    return Launch(
        Step(
            _dyt_tiled,
            grid=(outer * tiles,),
            tensors=("x", "alpha", "weight", "bias", "out"),
            integers=(
                axes_0.total,
                *axes_0.sizes[1:],
                axes_1.total,
                axes_1.strides("weight")[0],
                *axes_0.strides("x"),
                axes_1.strides("x")[0],
                axes_1.strides("bias")[0],
                *axes_0.strides("out"),
                axes_1.strides("out")[0],
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


def _plan_backward_stage_1(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    call = call.among("x", "alpha", "weight", "bias", "grad_out", "grad_weight", "grad_bias")
    rows = call.axes(("N",), limit=3, spare_last=True)
    cols = call.axes(("M",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=2, writes=0, flops=19, special=2, joins=2, held_wide=2)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BACKWARD_BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(reads=2, writes=0, flops=19.5, special=2, joins=2, held=0.75, held_wide=1.5)
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, BACKWARD_LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(reads=2, writes=0, flops=19.5, special=2, joins=4, held=0.75, held_wide=1.5)
        return split_cost(config, call.target, work, call.element_size, rows.total, columns)

    split = least(call, BACKWARD_LOOP_CONFIGS, split_time)

    if call.takes("split", split < min(block, loop)):
        config = call.choose(BACKWARD_LOOP_CONFIGS, split_time)
        splits, chunk = split_row(call.target, rows.total, columns, config["TILE"])
        vector = max(1, 16 // call.element_size)
        even = columns > 0 and columns % config["TILE"] == 0
        return Launch(
            Step(
                _dyt_backward_stage_1_partial,
                grid=(rows.total * splits,),
                tensors=("x", "alpha", "grad_out", "partial_total", "partial_total_2"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
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
                _dyt_backward_stage_1_finish,
                grid=(rows.total,),
                tensors=("partial_total", "partial_total_2", "grad_weight", "grad_bias"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("grad_weight"),
                    *rows.strides("grad_bias"),
                ),
                constants={
                    "SPLITS": splits,
                    "BLOCK_S": next_power_of_2(splits),
                    "NEEDS_GRAD_WEIGHT": call.needs("grad_weight"),
                    "NEEDS_GRAD_BIAS": call.needs("grad_bias"),
                },
                config=config,
            ),
            workspaces={
                "partial_total": ((rows.total, splits), call.float),
                "partial_total_2": ((rows.total, splits), call.float),
            },
        )

    if call.takes("block", block <= loop):
        config = call.choose(BACKWARD_BLOCK_CONFIGS, block_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        return Launch(
            Step(
                _dyt_backward_stage_1_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "alpha", "grad_out", "grad_weight", "grad_bias"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("grad_weight"),
                    *rows.strides("grad_bias"),
                ),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_N": width,
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                    "NEEDS_GRAD_WEIGHT": call.needs("grad_weight"),
                    "NEEDS_GRAD_BIAS": call.needs("grad_bias"),
                },
                config=config,
            )
        )

    config = call.choose(BACKWARD_LOOP_CONFIGS, loop_time)
    vector = max(1, 16 // call.element_size)
    even = columns > 0 and columns % config["TILE"] == 0
    return Launch(
        Step(
            _dyt_backward_stage_1_loop,
            grid=(rows.total,),
            tensors=("x", "alpha", "grad_out", "grad_weight", "grad_bias"),
            integers=(
                rows.total,
                *rows.sizes[1:],
                cols.total,
                *rows.strides("grad_out"),
                cols.strides("grad_out")[0],
                *rows.strides("x"),
                cols.strides("x")[0],
                *rows.strides("grad_weight"),
                *rows.strides("grad_bias"),
            ),
            constants={
                "LANES": config["TILE"] // vector,
                "VECTOR": vector,
                "EVEN": even,
                "NEEDS_GRAD_WEIGHT": call.needs("grad_weight"),
                "NEEDS_GRAD_BIAS": call.needs("grad_bias"),
            },
            config=config,
        )
    )


def _plan_backward_stage_2(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    call = call.among("x", "alpha", "weight", "grad_out", "grad_alpha")
    rows = call.axes((), limit=3, spare_last=True)
    cols_0 = call.axes(("M",), limit=1)
    cols_1 = call.axes(("N",), limit=1)
    height, length = cols_0.total, cols_1.total
    columns = height * length
    width = next_power_of_2(height) * next_power_of_2(length)

    def block_time(config: Config) -> float:
        work = Work(reads=2, writes=0, flops=22, special=2, joins=2, held=2.5, held_wide=4)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BACKWARD_BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(reads=2, writes=0, flops=22.25, special=2, joins=1, held=1.575, held_wide=2.55)
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, BACKWARD_LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(reads=2, writes=0, flops=22.25, special=2, joins=2, held=1.575, held_wide=2.55)
        return split_cost(config, call.target, work, call.element_size, rows.total, columns)

    split = least(call, BACKWARD_LOOP_CONFIGS, split_time)

    if height == 1 and call.takes("split", split < min(block, loop)):
        config = call.choose(BACKWARD_LOOP_CONFIGS, split_time)
        splits, chunk = split_row(call.target, rows.total, columns, config["TILE"])
        vector = max(1, 16 // call.element_size)
        even = columns > 0 and columns % config["TILE"] == 0
        return Launch(
            Step(
                _dyt_backward_stage_2_partial,
                grid=(rows.total * splits,),
                tensors=("x", "alpha", "weight", "grad_out", "partial_total"),
                integers=(
                    cols_0.total,
                    cols_1.total,
                    cols_0.strides("grad_out")[0],
                    cols_1.strides("grad_out")[0],
                    cols_1.strides("weight")[0],
                    cols_0.strides("x")[0],
                    cols_1.strides("x")[0],
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
                _dyt_backward_stage_2_finish,
                grid=(rows.total,),
                tensors=("partial_total", "grad_alpha"),
                integers=(cols_0.total, cols_1.total),
                constants={
                    "SPLITS": splits,
                    "BLOCK_S": next_power_of_2(splits),
                    "NEEDS_GRAD_ALPHA": call.needs("grad_alpha"),
                },
                config=config,
            ),
            workspaces={
                "partial_total": ((rows.total, splits), call.float),
            },
        )

    if call.takes("block", block <= loop):
        config = call.choose(BACKWARD_BLOCK_CONFIGS, block_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        return Launch(
            Step(
                _dyt_backward_stage_2_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "alpha", "weight", "grad_out", "grad_alpha"),
                integers=(
                    cols_0.total,
                    cols_1.total,
                    cols_0.strides("grad_out")[0],
                    cols_1.strides("grad_out")[0],
                    cols_1.strides("weight")[0],
                    cols_0.strides("x")[0],
                    cols_1.strides("x")[0],
                ),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_0": next_power_of_2(height),
                    "BLOCK_1": next_power_of_2(length),
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                    "NEEDS_GRAD_ALPHA": call.needs("grad_alpha"),
                },
                config=config,
            )
        )

    config = call.choose(BACKWARD_LOOP_CONFIGS, loop_time)
    vector = max(1, 16 // call.element_size)
    span = min(config["TILE"], max(vector, next_power_of_2(length)))
    even = columns > 0 and length % span == 0 and height % (config["TILE"] // span) == 0
    return Launch(
        Step(
            _dyt_backward_stage_2_loop,
            grid=(rows.total,),
            tensors=("x", "alpha", "weight", "grad_out", "grad_alpha"),
            integers=(
                cols_0.total,
                cols_1.total,
                cols_0.strides("grad_out")[0],
                cols_1.strides("grad_out")[0],
                cols_1.strides("weight")[0],
                cols_0.strides("x")[0],
                cols_1.strides("x")[0],
            ),
            constants={
                "LANES": config["TILE"] // vector,
                "VECTOR": vector,
                "EVEN": even,
                "WIDTH": span,
                "NEEDS_GRAD_ALPHA": call.needs("grad_alpha"),
            },
            config=config,
        )
    )


def _plan_backward_stage_3(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    call = call.among("x", "alpha", "weight", "grad_out", "grad_x")

    axes_0 = call.axes(("M",), limit=3, spare_last=True)
    axes_1 = call.axes(("N",), limit=1)
    height, length = axes_0.total, axes_1.total
    outer = 1

    def tiled_time(config: Config) -> float:
        work = Work(reads=2, writes=1, flops=21, special=2, held=2, held_wide=3)
        return flat_cost(config, call.target, work, call.element_size, outer * height * length)

    config = call.choose(BACKWARD_TILED_CONFIGS, tiled_time)
    block_0, block_1 = tile_shape(
        axes_0.crossed(), height, length, config["TILE"], call.element_size
    )
    tiles = cdiv(height, block_0) * cdiv(length, block_1)
    return Launch(
        Step(
            _dyt_backward_stage_3_tiled,
            grid=(outer * tiles,),
            tensors=("x", "alpha", "weight", "grad_out", "grad_x"),
            integers=(
                axes_0.total,
                *axes_0.sizes[1:],
                axes_1.total,
                *axes_0.strides("grad_out"),
                axes_1.strides("grad_out")[0],
                axes_1.strides("weight")[0],
                *axes_0.strides("x"),
                axes_1.strides("x")[0],
                *axes_0.strides("grad_x"),
                axes_1.strides("grad_x")[0],
            ),
            constants={
                "BLOCK_0": block_0,
                "BLOCK_1": block_1,
                "EVEN_0": height % block_0 == 0,
                "EVEN_1": length % block_1 == 0,
                "NEEDS_GRAD_X": call.needs("grad_x"),
            },
            config=config,
        )
    )


def _plan_backward(call: Call) -> Launch:
    """Stage after stage;  in memory between them."""
    return in_stages(
        _plan_backward_stage_1(call) if call.needs("grad_weight", "grad_bias") else None,
        _plan_backward_stage_2(call) if call.needs("grad_alpha") else None,
        _plan_backward_stage_3(call) if call.needs("grad_x") else None,
    )


def reference(x, alpha, weight, bias, *, compute):
    """Dynamic tanh, which stands in for a norm; alpha is learned (Zhu et al., arXiv:2503.10622).

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x = widen(x, compute)
    alpha = widen(alpha, compute)
    weight = widen(weight, compute)
    bias = widen(bias, compute)
    return weight * torch.tanh(alpha * x) + bias


def reference_backward(x, alpha, weight, bias, grad_out, *, compute):
    """The gradient of `reference`, as the kernels compute it."""
    x = widen(x, compute)
    alpha = widen(alpha, compute)
    weight = widen(weight, compute)
    grad_out = widen(grad_out, compute)
    # return weight * tanh(alpha * x) + bias
    value = torch.tanh(alpha * x)
    value_2 = grad_out * weight * (1.0 - value * value)
    grad_x = value_2 * alpha
    grad_alpha = (value_2 * x).sum((0, 1))
    grad_weight = (grad_out * value).sum(0)
    grad_bias = grad_out.sum(0)
    return grad_x, grad_alpha, grad_weight, grad_bias


BACKWARD = Op(
    name="dyt_backward",
    spec_hash="7a590c66",
    inputs=(
        Operand("x", ("M", "N")),
        Operand("alpha", ()),
        Operand("weight", ("N",)),
        Operand("bias", ("N",)),
        Operand("grad_out", ("M", "N")),
    ),
    outputs=(
        Output("grad_x", ("M", "N"), like="x"),
        Output("grad_alpha", (), like="alpha"),
        Output("grad_weight", ("N",), like="weight"),
        Output("grad_bias", ("N",), like="bias"),
    ),
    fold="M",
    shards={"M": ("grad_alpha", "grad_weight", "grad_bias"), "N": ("grad_alpha",)},
    partial=True,
    variants={
        (): Variant(_plan_backward, reference_backward),
    },
)
OP = Op(
    name="dyt",
    spec_hash="7a590c66",
    inputs=(
        Operand("x", ("M", "N")),
        Operand("alpha", ()),
        Operand("weight", ("N",)),
        Operand("bias", ("N",)),
    ),
    outputs=(Output("out", ("M", "N"), like="x"),),
    fold="M",
    inplace=("x",),
    preserve_strides=True,
    shards={"M": (), "N": ()},
    gradients=Gradients({"out": "grad_out"}, BACKWARD, alike=("bias",)),
    variants={
        (): Variant(
            _plan,
            reference,
            gradients={
                "x": "grad_x",
                "alpha": "grad_alpha",
                "weight": "grad_weight",
                "bias": "grad_bias",
            },
        ),
    },
)


def dyt(
    x: torch.Tensor,
    alpha: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> torch.Tensor:
    """Dynamic tanh, which stands in for a norm; alpha is learned (Zhu et al., arXiv:2503.10622).

    Args:
        x: [M, N], floats.
        alpha: [], floats.
        weight: [N], floats.
        bias: [N], floats.
        out: where to write out.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        out: [M, N], the type of x.
        M may stand for several dimensions.
    """
    tensors = (x, alpha, weight, bias)
    params = ()
    return OP(tensors, params, out, backend, autotune)
