"""Add a linear layer's bias, then GELU (Hendrycks and Gimpel, arXiv:1606.08415).

Built by tilegen 0.1.0 from specs/bias_gelu.py (spec bec6fd0e, templates 83e67773).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 2*M*N*e + N*e bytes (e: bytes of an element)
Work: 13*M*N flops, M*N of them exponentials, roots and quotients
Bound: memory on every target
Eager PyTorch: 2 kernels, 2.0 times the bytes
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
    erf,
    exact_gelu,
    exp,
    flat_cost,
    least,
    loop_cost,
    narrow,
    next_power_of_2,
    sigmoid,
    split_cost,
    split_row,
    tile_shape,
    widen,
)

_TILED_1 = (
    Config(TILE=1024, num_warps=1),  # 128 B shared, 64 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 0 B shared, 36 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 2048 B shared, 32 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=1),  # 256 B shared, 123 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 256 B shared, 62 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 2048 B shared, 36 registers on sm_90, else unproven
)
_TILED_2 = (
    Config(TILE=1024, num_warps=1),  # 256 B shared, 242 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 0 B shared, 120 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 1024 B shared, 64 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 0 B shared, 44 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 512 B shared, 242 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 1024 B shared, 120 registers on sm_90, else unproven
)
_TILED_3 = (
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
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _TILED_2),
    (("gfx90a", "gfx942", "gfx950"), (1, 2), _TILED_3),
)

_BACKWARD_BLOCK_1 = (
    Config(TILE=512, num_warps=1),  # at most 8 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 16 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 64 B shared, unproven
    Config(TILE=8192, num_warps=32),  # at most 128 B shared, unproven
)
_BACKWARD_BLOCK_2 = (
    Config(TILE=512, num_warps=1),  # at most 32 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 256 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 256 B shared, unproven
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
    Config(TILE=1024, num_warps=1),  # at most 16 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 64 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 128 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 128 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 256 B shared, unproven
)
#: Whole rows in registers, TILE elements to a program; by architecture class and element size in bytes.
BACKWARD_BLOCK_CONFIGS = by_class(
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2), _BACKWARD_BLOCK_1),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (4,), _BACKWARD_BLOCK_2),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BACKWARD_BLOCK_2),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BACKWARD_BLOCK_3),
    (("gfx90a", "gfx942", "gfx950"), (1, 2, 4), _BACKWARD_BLOCK_4),
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
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=32),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=32),  # at most 16384 B shared, unproven
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
    Config(TILE=8192, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 16384 B shared, unproven
)
#: Sweeps over one row, TILE elements at a time; by architecture class and element size in bytes.
BACKWARD_LOOP_CONFIGS = by_class(
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2, 4), _BACKWARD_LOOP_1),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BACKWARD_LOOP_1),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BACKWARD_LOOP_2),
    (("gfx90a", "gfx942", "gfx950"), (1, 2), _BACKWARD_LOOP_3),
    (("gfx90a", "gfx942", "gfx950"), (4,), _BACKWARD_LOOP_4),
)


@triton.jit
def _bias_gelu_none_tiled(
    x_ptr,
    bias_ptr,
    out_ptr,
    M,
    SIZE_M_1,
    SIZE_M_2,
    N,
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

    x = tl.load(x_m + n * x_N, mask=in_m & in_n, other=0.0, eviction_policy="evict_last").to(FLOAT)
    bias = tl.load(bias_ptr + n * bias_N, mask=in_n, other=0.0, eviction_policy="evict_last").to(
        FLOAT
    )
    # return gelu(x + bias, approximate=approximate)
    tl.store(
        out_m + n * out_N, narrow(exact_gelu(x + bias), out_ptr.dtype.element_ty), mask=in_m & in_n
    )


@triton.jit
def _bias_gelu_backward_none_block(
    x_ptr,
    bias_ptr,
    grad_out_ptr,
    grad_x_ptr,
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
    bias_row_0,
    bias_row_1,
    bias_row_2,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    grad_bias_row_0,
    grad_bias_row_1,
    grad_bias_row_2,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    NEEDS_GRAD_X: tl.constexpr,
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
    bias_rows = bias_ptr + row_0 * bias_row_0 + row_1 * bias_row_1 + row_2 * bias_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2
    grad_bias_rows = (
        grad_bias_ptr + row_0 * grad_bias_row_0 + row_1 * grad_bias_row_1 + row_2 * grad_bias_row_2
    )

    grad_out = tl.load(
        grad_out_rows + cols * grad_out_col,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    x = tl.load(
        x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    bias = tl.load(bias_rows, mask=in_rows, other=0.0, eviction_policy="evict_last").to(FLOAT)
    # return gelu(x + bias, approximate=approximate)
    value = x + bias
    grad_x = grad_out * (
        0.5
        + 0.5 * erf(value * 0.7071067811865476)
        + value * (0.3989422804014327 * exp(-0.5 * (value * value)))
    )
    grad_bias = tl.sum(grad_x, axis=1, keep_dims=True)
    if NEEDS_GRAD_X:
        tl.store(
            grad_x_rows + cols * grad_x_col,
            narrow(grad_x, grad_x_ptr.dtype.element_ty),
            mask=in_rows & in_cols,
        )
    if NEEDS_GRAD_BIAS:
        tl.store(grad_bias_rows, narrow(grad_bias, grad_bias_ptr.dtype.element_ty), mask=in_rows)


@triton.jit
def _bias_gelu_backward_none_loop(
    x_ptr,
    bias_ptr,
    grad_out_ptr,
    grad_x_ptr,
    grad_bias_ptr,
    N,
    ROWS_1,
    ROWS_2,
    M,
    bias_row_0,
    bias_row_1,
    bias_row_2,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    grad_bias_row_0,
    grad_bias_row_1,
    grad_bias_row_2,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    NEEDS_GRAD_X: tl.constexpr,
    NEEDS_GRAD_BIAS: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program goes over one row twice, block by block."""
    rows = tl.program_id(0).to(INT) + tl.arange(0, 1)[:, None]
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    bias_rows = bias_ptr + row_0 * bias_row_0 + row_1 * bias_row_1 + row_2 * bias_row_2
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2
    grad_bias_rows = (
        grad_bias_ptr + row_0 * grad_bias_row_0 + row_1 * grad_bias_row_1 + row_2 * grad_bias_row_2
    )

    bias = tl.load(bias_rows).to(FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(0, M, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, M, EVEN)

        grad_out = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # return gelu(x + bias, approximate=approximate)
        value = x + bias
        grad_x = grad_out * (
            0.5
            + 0.5 * erf(value * 0.7071067811865476)
            + value * (0.3989422804014327 * exp(-0.5 * (value * value)))
        )
        total = total + tl.sum(grad_x, axis=1, keep_dims=True)

    grad_bias = tl.sum(total, axis=0, keep_dims=True)

    for start in range(0, M, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, M, EVEN)

        grad_out = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        value = x + bias
        grad_x = grad_out * (
            0.5
            + 0.5 * erf(value * 0.7071067811865476)
            + value * (0.3989422804014327 * exp(-0.5 * (value * value)))
        )
        if NEEDS_GRAD_X:
            tl.store(
                grad_x_rows + cols * grad_x_col,
                narrow(grad_x, grad_x_ptr.dtype.element_ty),
                mask=in_cols,
                cache_modifier=".cs",
            )

    if NEEDS_GRAD_BIAS:
        tl.store(grad_bias_rows, narrow(grad_bias, grad_bias_ptr.dtype.element_ty))


@triton.jit
def _bias_gelu_backward_none_partial(
    x_ptr,
    bias_ptr,
    grad_out_ptr,
    partial_total_ptr,
    N,
    ROWS_1,
    ROWS_2,
    M,
    bias_row_0,
    bias_row_1,
    bias_row_2,
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
    bias_rows = bias_ptr + row_0 * bias_row_0 + row_1 * bias_row_1 + row_2 * bias_row_2
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2

    bias = tl.load(bias_rows).to(FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        grad_out = tl.load(grad_out_rows + cols * grad_out_col, mask=in_cols, other=0.0).to(FLOAT)
        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        # return gelu(x + bias, approximate=approximate)
        value = x + bias
        grad_x = grad_out * (
            0.5
            + 0.5 * erf(value * 0.7071067811865476)
            + value * (0.3989422804014327 * exp(-0.5 * (value * value)))
        )
        total = total + tl.sum(grad_x, axis=1, keep_dims=True)

    grad_bias = tl.sum(total, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, grad_bias)


@triton.jit
def _bias_gelu_backward_none_finish(
    partial_total_ptr,
    x_ptr,
    bias_ptr,
    grad_out_ptr,
    grad_x_ptr,
    grad_bias_ptr,
    N,
    ROWS_1,
    ROWS_2,
    M,
    bias_row_0,
    bias_row_1,
    bias_row_2,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    grad_bias_row_0,
    grad_bias_row_1,
    grad_bias_row_2,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    SPLITS: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK_S: tl.constexpr,
    NEEDS_GRAD_X: tl.constexpr,
    NEEDS_GRAD_BIAS: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program joins the partial states of a row, then goes over one chunk of it."""
    split = (tl.program_id(0) % SPLITS).to(INT)
    rows = (tl.program_id(0) // SPLITS).to(INT) + tl.arange(0, 1)[:, None]
    stop = tl.minimum((split + 1) * CHUNK, M)
    leads = rows * 0 + split == 0
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    bias_rows = bias_ptr + row_0 * bias_row_0 + row_1 * bias_row_1 + row_2 * bias_row_2
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2
    grad_bias_rows = (
        grad_bias_ptr + row_0 * grad_bias_row_0 + row_1 * grad_bias_row_1 + row_2 * grad_bias_row_2
    )

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    grad_bias = tl.sum(total, axis=0, keep_dims=True)
    bias = tl.load(bias_rows).to(FLOAT)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        grad_out = tl.load(grad_out_rows + cols * grad_out_col, mask=in_cols, other=0.0).to(FLOAT)
        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        # return gelu(x + bias, approximate=approximate)
        value = x + bias
        grad_x = grad_out * (
            0.5
            + 0.5 * erf(value * 0.7071067811865476)
            + value * (0.3989422804014327 * exp(-0.5 * (value * value)))
        )
        if NEEDS_GRAD_X:
            tl.store(
                grad_x_rows + cols * grad_x_col,
                narrow(grad_x, grad_x_ptr.dtype.element_ty),
                mask=in_cols,
                cache_modifier=".cs",
            )

    if NEEDS_GRAD_BIAS:
        tl.store(grad_bias_rows, narrow(grad_bias, grad_bias_ptr.dtype.element_ty), mask=leads)


@triton.jit
def _bias_gelu_tanh_tiled(
    x_ptr,
    bias_ptr,
    out_ptr,
    M,
    SIZE_M_1,
    SIZE_M_2,
    N,
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

    x = tl.load(x_m + n * x_N, mask=in_m & in_n, other=0.0, eviction_policy="evict_last").to(FLOAT)
    bias = tl.load(bias_ptr + n * bias_N, mask=in_n, other=0.0, eviction_policy="evict_last").to(
        FLOAT
    )
    # return gelu(x + bias, approximate=approximate)
    value = x + bias
    tl.store(
        out_m + n * out_N,
        narrow(
            value * sigmoid(1.5957691216057308 * (value + 0.044715 * (value * value * value))),
            out_ptr.dtype.element_ty,
        ),
        mask=in_m & in_n,
    )


@triton.jit
def _bias_gelu_backward_tanh_block(
    x_ptr,
    bias_ptr,
    grad_out_ptr,
    grad_x_ptr,
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
    bias_row_0,
    bias_row_1,
    bias_row_2,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    grad_bias_row_0,
    grad_bias_row_1,
    grad_bias_row_2,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    NEEDS_GRAD_X: tl.constexpr,
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
    bias_rows = bias_ptr + row_0 * bias_row_0 + row_1 * bias_row_1 + row_2 * bias_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2
    grad_bias_rows = (
        grad_bias_ptr + row_0 * grad_bias_row_0 + row_1 * grad_bias_row_1 + row_2 * grad_bias_row_2
    )

    grad_out = tl.load(
        grad_out_rows + cols * grad_out_col,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    x = tl.load(
        x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    bias = tl.load(bias_rows, mask=in_rows, other=0.0, eviction_policy="evict_last").to(FLOAT)
    # return gelu(x + bias, approximate=approximate)
    value = x + bias
    value_2 = value * value
    value_3 = sigmoid(1.5957691216057308 * (value + 0.044715 * (value_2 * value)))
    value_4 = grad_out * value * (value_3 * (1.0 - value_3)) * 1.5957691216057308
    value_5 = value_4 * 0.044715
    grad_x = grad_out * value_3 + value_4 + value_5 * value_2 + 2.0 * (value_5 * value) * value
    grad_bias = tl.sum(grad_x, axis=1, keep_dims=True)
    if NEEDS_GRAD_X:
        tl.store(
            grad_x_rows + cols * grad_x_col,
            narrow(grad_x, grad_x_ptr.dtype.element_ty),
            mask=in_rows & in_cols,
        )
    if NEEDS_GRAD_BIAS:
        tl.store(grad_bias_rows, narrow(grad_bias, grad_bias_ptr.dtype.element_ty), mask=in_rows)


@triton.jit
def _bias_gelu_backward_tanh_loop(
    x_ptr,
    bias_ptr,
    grad_out_ptr,
    grad_x_ptr,
    grad_bias_ptr,
    N,
    ROWS_1,
    ROWS_2,
    M,
    bias_row_0,
    bias_row_1,
    bias_row_2,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    grad_bias_row_0,
    grad_bias_row_1,
    grad_bias_row_2,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    NEEDS_GRAD_X: tl.constexpr,
    NEEDS_GRAD_BIAS: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program goes over one row twice, block by block."""
    rows = tl.program_id(0).to(INT) + tl.arange(0, 1)[:, None]
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    bias_rows = bias_ptr + row_0 * bias_row_0 + row_1 * bias_row_1 + row_2 * bias_row_2
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2
    grad_bias_rows = (
        grad_bias_ptr + row_0 * grad_bias_row_0 + row_1 * grad_bias_row_1 + row_2 * grad_bias_row_2
    )

    bias = tl.load(bias_rows).to(FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(0, M, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, M, EVEN)

        grad_out = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # return gelu(x + bias, approximate=approximate)
        value = x + bias
        value_2 = value * value
        value_3 = sigmoid(1.5957691216057308 * (value + 0.044715 * (value_2 * value)))
        value_4 = grad_out * value * (value_3 * (1.0 - value_3)) * 1.5957691216057308
        value_5 = value_4 * 0.044715
        grad_x = grad_out * value_3 + value_4 + value_5 * value_2 + 2.0 * (value_5 * value) * value
        total = total + tl.sum(grad_x, axis=1, keep_dims=True)

    grad_bias = tl.sum(total, axis=0, keep_dims=True)

    for start in range(0, M, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, M, EVEN)

        grad_out = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        value = x + bias
        value_2 = value * value
        value_3 = sigmoid(1.5957691216057308 * (value + 0.044715 * (value_2 * value)))
        value_4 = grad_out * value * (value_3 * (1.0 - value_3)) * 1.5957691216057308
        value_5 = value_4 * 0.044715
        grad_x = grad_out * value_3 + value_4 + value_5 * value_2 + 2.0 * (value_5 * value) * value
        if NEEDS_GRAD_X:
            tl.store(
                grad_x_rows + cols * grad_x_col,
                narrow(grad_x, grad_x_ptr.dtype.element_ty),
                mask=in_cols,
                cache_modifier=".cs",
            )

    if NEEDS_GRAD_BIAS:
        tl.store(grad_bias_rows, narrow(grad_bias, grad_bias_ptr.dtype.element_ty))


@triton.jit
def _bias_gelu_backward_tanh_partial(
    x_ptr,
    bias_ptr,
    grad_out_ptr,
    partial_total_ptr,
    N,
    ROWS_1,
    ROWS_2,
    M,
    bias_row_0,
    bias_row_1,
    bias_row_2,
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
    bias_rows = bias_ptr + row_0 * bias_row_0 + row_1 * bias_row_1 + row_2 * bias_row_2
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2

    bias = tl.load(bias_rows).to(FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        grad_out = tl.load(grad_out_rows + cols * grad_out_col, mask=in_cols, other=0.0).to(FLOAT)
        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        # return gelu(x + bias, approximate=approximate)
        value = x + bias
        value_2 = value * value
        value_3 = sigmoid(1.5957691216057308 * (value + 0.044715 * (value_2 * value)))
        value_4 = grad_out * value * (value_3 * (1.0 - value_3)) * 1.5957691216057308
        value_5 = value_4 * 0.044715
        grad_x = grad_out * value_3 + value_4 + value_5 * value_2 + 2.0 * (value_5 * value) * value
        total = total + tl.sum(grad_x, axis=1, keep_dims=True)

    grad_bias = tl.sum(total, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, grad_bias)


@triton.jit
def _bias_gelu_backward_tanh_finish(
    partial_total_ptr,
    x_ptr,
    bias_ptr,
    grad_out_ptr,
    grad_x_ptr,
    grad_bias_ptr,
    N,
    ROWS_1,
    ROWS_2,
    M,
    bias_row_0,
    bias_row_1,
    bias_row_2,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    grad_bias_row_0,
    grad_bias_row_1,
    grad_bias_row_2,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    SPLITS: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK_S: tl.constexpr,
    NEEDS_GRAD_X: tl.constexpr,
    NEEDS_GRAD_BIAS: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program joins the partial states of a row, then goes over one chunk of it."""
    split = (tl.program_id(0) % SPLITS).to(INT)
    rows = (tl.program_id(0) // SPLITS).to(INT) + tl.arange(0, 1)[:, None]
    stop = tl.minimum((split + 1) * CHUNK, M)
    leads = rows * 0 + split == 0
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    bias_rows = bias_ptr + row_0 * bias_row_0 + row_1 * bias_row_1 + row_2 * bias_row_2
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2
    grad_bias_rows = (
        grad_bias_ptr + row_0 * grad_bias_row_0 + row_1 * grad_bias_row_1 + row_2 * grad_bias_row_2
    )

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    grad_bias = tl.sum(total, axis=0, keep_dims=True)
    bias = tl.load(bias_rows).to(FLOAT)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        grad_out = tl.load(grad_out_rows + cols * grad_out_col, mask=in_cols, other=0.0).to(FLOAT)
        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        # return gelu(x + bias, approximate=approximate)
        value = x + bias
        value_2 = value * value
        value_3 = sigmoid(1.5957691216057308 * (value + 0.044715 * (value_2 * value)))
        value_4 = grad_out * value * (value_3 * (1.0 - value_3)) * 1.5957691216057308
        value_5 = value_4 * 0.044715
        grad_x = grad_out * value_3 + value_4 + value_5 * value_2 + 2.0 * (value_5 * value) * value
        if NEEDS_GRAD_X:
            tl.store(
                grad_x_rows + cols * grad_x_col,
                narrow(grad_x, grad_x_ptr.dtype.element_ty),
                mask=in_cols,
                cache_modifier=".cs",
            )

    if NEEDS_GRAD_BIAS:
        tl.store(grad_bias_rows, narrow(grad_bias, grad_bias_ptr.dtype.element_ty), mask=leads)


def _plan_none(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""

    axes_0 = call.axes(("M",), limit=3, spare_last=True)
    axes_1 = call.axes(("N",), limit=1)
    height, length = axes_0.total, axes_1.total
    outer = 1

    def tiled_time(config: Config) -> float:
        work = Work(reads=1, writes=1, flops=13, special=1, held_wide=2)
        return flat_cost(config, call.target, work, call.element_size, outer * height * length)

    config = call.choose(TILED_CONFIGS, tiled_time)
    block_0, block_1 = tile_shape(
        axes_0.crossed(), height, length, config["TILE"], call.element_size
    )
    tiles = cdiv(height, block_0) * cdiv(length, block_1)
    return Launch(
        Step(
            _bias_gelu_none_tiled,
            grid=(outer * tiles,),
            tensors=("x", "bias", "out"),
            integers=(
                axes_0.total,
                *axes_0.sizes[1:],
                axes_1.total,
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


def _plan_backward_none(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("N",), limit=3, spare_last=True)
    cols = call.axes(("M",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=2, writes=1, flops=28, special=2, joins=1, held=1.5, held_wide=2)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BACKWARD_BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=2,
            writes=1,
            flops=55.25,
            special=4,
            rereads=2,
            joins=1,
            passes=2,
            held=0.975,
            held_wide=1.35,
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, BACKWARD_LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=2,
            writes=1,
            flops=55.25,
            special=4,
            rereads=2,
            joins=1,
            passes=2,
            held=0.975,
            held_wide=1.35,
        )
        return split_cost(config, call.target, work, call.element_size, rows.total, columns)

    split = least(call, BACKWARD_LOOP_CONFIGS, split_time)

    if call.takes("split", split < min(block, loop)):
        config = call.choose(BACKWARD_LOOP_CONFIGS, split_time)
        splits, chunk = split_row(call.target, rows.total, columns, config["TILE"])
        vector = max(1, 16 // call.element_size)
        even = columns > 0 and columns % config["TILE"] == 0
        return Launch(
            Step(
                _bias_gelu_backward_none_partial,
                grid=(rows.total * splits,),
                tensors=("x", "bias", "grad_out", "partial_total"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("bias"),
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
                _bias_gelu_backward_none_finish,
                grid=(rows.total * splits,),
                tensors=("partial_total", "x", "bias", "grad_out", "grad_x", "grad_bias"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("bias"),
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
                    *rows.strides("grad_bias"),
                ),
                constants={
                    "LANES": config["TILE"] // vector,
                    "VECTOR": vector,
                    "EVEN": even,
                    "SPLITS": splits,
                    "CHUNK": chunk,
                    "BLOCK_S": next_power_of_2(splits),
                    "NEEDS_GRAD_X": call.needs("grad_x"),
                    "NEEDS_GRAD_BIAS": call.needs("grad_bias"),
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
                _bias_gelu_backward_none_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "bias", "grad_out", "grad_x", "grad_bias"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("bias"),
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
                    *rows.strides("grad_bias"),
                ),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_N": width,
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                    "NEEDS_GRAD_X": call.needs("grad_x"),
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
            _bias_gelu_backward_none_loop,
            grid=(rows.total,),
            tensors=("x", "bias", "grad_out", "grad_x", "grad_bias"),
            integers=(
                rows.total,
                *rows.sizes[1:],
                cols.total,
                *rows.strides("bias"),
                *rows.strides("grad_out"),
                cols.strides("grad_out")[0],
                *rows.strides("x"),
                cols.strides("x")[0],
                *rows.strides("grad_x"),
                cols.strides("grad_x")[0],
                *rows.strides("grad_bias"),
            ),
            constants={
                "LANES": config["TILE"] // vector,
                "VECTOR": vector,
                "EVEN": even,
                "NEEDS_GRAD_X": call.needs("grad_x"),
                "NEEDS_GRAD_BIAS": call.needs("grad_bias"),
            },
            config=config,
        )
    )


def _plan_tanh(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""

    axes_0 = call.axes(("M",), limit=3, spare_last=True)
    axes_1 = call.axes(("N",), limit=1)
    height, length = axes_0.total, axes_1.total
    outer = 1

    def tiled_time(config: Config) -> float:
        work = Work(reads=1, writes=1, flops=10, special=2, held_wide=2)
        return flat_cost(config, call.target, work, call.element_size, outer * height * length)

    config = call.choose(TILED_CONFIGS, tiled_time)
    block_0, block_1 = tile_shape(
        axes_0.crossed(), height, length, config["TILE"], call.element_size
    )
    tiles = cdiv(height, block_0) * cdiv(length, block_1)
    return Launch(
        Step(
            _bias_gelu_tanh_tiled,
            grid=(outer * tiles,),
            tensors=("x", "bias", "out"),
            integers=(
                axes_0.total,
                *axes_0.sizes[1:],
                axes_1.total,
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


def _plan_backward_tanh(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("N",), limit=3, spare_last=True)
    cols = call.axes(("M",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=2, writes=1, flops=24, special=2, joins=1, held=5.5, held_wide=6)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BACKWARD_BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=2,
            writes=1,
            flops=47.25,
            special=4,
            rereads=2,
            joins=1,
            passes=2,
            held=3.375,
            held_wide=3.75,
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, BACKWARD_LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=2,
            writes=1,
            flops=47.25,
            special=4,
            rereads=2,
            joins=1,
            passes=2,
            held=3.375,
            held_wide=3.75,
        )
        return split_cost(config, call.target, work, call.element_size, rows.total, columns)

    split = least(call, BACKWARD_LOOP_CONFIGS, split_time)

    if call.takes("split", split < min(block, loop)):
        config = call.choose(BACKWARD_LOOP_CONFIGS, split_time)
        splits, chunk = split_row(call.target, rows.total, columns, config["TILE"])
        vector = max(1, 16 // call.element_size)
        even = columns > 0 and columns % config["TILE"] == 0
        return Launch(
            Step(
                _bias_gelu_backward_tanh_partial,
                grid=(rows.total * splits,),
                tensors=("x", "bias", "grad_out", "partial_total"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("bias"),
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
                _bias_gelu_backward_tanh_finish,
                grid=(rows.total * splits,),
                tensors=("partial_total", "x", "bias", "grad_out", "grad_x", "grad_bias"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("bias"),
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
                    *rows.strides("grad_bias"),
                ),
                constants={
                    "LANES": config["TILE"] // vector,
                    "VECTOR": vector,
                    "EVEN": even,
                    "SPLITS": splits,
                    "CHUNK": chunk,
                    "BLOCK_S": next_power_of_2(splits),
                    "NEEDS_GRAD_X": call.needs("grad_x"),
                    "NEEDS_GRAD_BIAS": call.needs("grad_bias"),
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
                _bias_gelu_backward_tanh_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "bias", "grad_out", "grad_x", "grad_bias"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("bias"),
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
                    *rows.strides("grad_bias"),
                ),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_N": width,
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                    "NEEDS_GRAD_X": call.needs("grad_x"),
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
            _bias_gelu_backward_tanh_loop,
            grid=(rows.total,),
            tensors=("x", "bias", "grad_out", "grad_x", "grad_bias"),
            integers=(
                rows.total,
                *rows.sizes[1:],
                cols.total,
                *rows.strides("bias"),
                *rows.strides("grad_out"),
                cols.strides("grad_out")[0],
                *rows.strides("x"),
                cols.strides("x")[0],
                *rows.strides("grad_x"),
                cols.strides("grad_x")[0],
                *rows.strides("grad_bias"),
            ),
            constants={
                "LANES": config["TILE"] // vector,
                "VECTOR": vector,
                "EVEN": even,
                "NEEDS_GRAD_X": call.needs("grad_x"),
                "NEEDS_GRAD_BIAS": call.needs("grad_bias"),
            },
            config=config,
        )
    )


def reference_none(x, bias, approximate, *, compute):
    """Add a linear layer's bias, then GELU (Hendrycks and Gimpel, arXiv:1606.08415).

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x = widen(x, compute)
    bias = widen(bias, compute)
    return torch.nn.functional.gelu(x + bias)


def reference_backward_none(x, bias, grad_out, approximate, *, compute):
    """The gradient of `reference_none`, as the kernels compute it."""
    x = widen(x, compute)
    bias = widen(bias, compute)
    grad_out = widen(grad_out, compute)
    # return gelu(x + bias, approximate=approximate)
    value = x + bias
    grad_x = grad_out * (
        0.5
        + 0.5 * torch.erf(value * 0.7071067811865476)
        + value * (0.3989422804014327 * torch.exp(-0.5 * (value * value)))
    )
    grad_bias = grad_x.sum(0)
    return grad_x, grad_bias


def reference_tanh(x, bias, approximate, *, compute):
    """Add a linear layer's bias, then GELU (Hendrycks and Gimpel, arXiv:1606.08415).

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x = widen(x, compute)
    bias = widen(bias, compute)
    # return gelu(x + bias, approximate=approximate)
    value = x + bias
    return value * torch.sigmoid(1.5957691216057308 * (value + 0.044715 * (value * value * value)))


def reference_backward_tanh(x, bias, grad_out, approximate, *, compute):
    """The gradient of `reference_tanh`, as the kernels compute it."""
    x = widen(x, compute)
    bias = widen(bias, compute)
    grad_out = widen(grad_out, compute)
    # return gelu(x + bias, approximate=approximate)
    value = x + bias
    value_2 = value * value
    value_3 = torch.sigmoid(1.5957691216057308 * (value + 0.044715 * (value_2 * value)))
    value_4 = grad_out * value * (value_3 * (1.0 - value_3)) * 1.5957691216057308
    value_5 = value_4 * 0.044715
    grad_x = grad_out * value_3 + value_4 + value_5 * value_2 + 2.0 * (value_5 * value) * value
    grad_bias = grad_x.sum(0)
    return grad_x, grad_bias


BACKWARD = Op(
    name="bias_gelu_backward",
    spec_hash="bec6fd0e",
    inputs=(Operand("x", ("M", "N")), Operand("bias", ("N",)), Operand("grad_out", ("M", "N"))),
    params=(Param("approximate", "literal", "tanh", choices=("none", "tanh")),),
    outputs=(Output("grad_x", ("M", "N"), like="x"), Output("grad_bias", ("N",), like="bias")),
    fold="M",
    specialize=("approximate",),
    shards={"M": ("grad_bias",), "N": ()},
    partial=True,
    variants={
        ("none",): Variant(_plan_backward_none, reference_backward_none),
        ("tanh",): Variant(_plan_backward_tanh, reference_backward_tanh),
    },
)
OP = Op(
    name="bias_gelu",
    spec_hash="bec6fd0e",
    inputs=(Operand("x", ("M", "N")), Operand("bias", ("N",))),
    params=(Param("approximate", "literal", "tanh", choices=("none", "tanh")),),
    outputs=(Output("out", ("M", "N"), like="x"),),
    fold="M",
    specialize=("approximate",),
    inplace=("x",),
    preserve_strides=True,
    shards={"M": (), "N": ()},
    gradients=Gradients({"out": "grad_out"}, BACKWARD),
    variants={
        ("none",): Variant(
            _plan_none, reference_none, gradients={"x": "grad_x", "bias": "grad_bias"}
        ),
        ("tanh",): Variant(
            _plan_tanh, reference_tanh, gradients={"x": "grad_x", "bias": "grad_bias"}
        ),
    },
)


def bias_gelu(
    x: torch.Tensor,
    bias: torch.Tensor,
    approximate: str = "tanh",
    *,
    out: torch.Tensor | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> torch.Tensor:
    """Add a linear layer's bias, then GELU (Hendrycks and Gimpel, arXiv:1606.08415).

    Args:
        x: [M, N], floats.
        bias: [N], floats.
        approximate: 'none' or 'tanh'.
        out: where to write out.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        out: [M, N], the type of x.
        M may stand for several dimensions.
    """
    tensors = (x, bias)
    params = (approximate,)
    return OP(tensors, params, out, backend, autotune)
