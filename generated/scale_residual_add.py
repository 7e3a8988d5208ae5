"""LayerScale: a branch, scaled per channel, onto the residual (Touvron, arXiv:2103.17239).

Built by tilegen 0.1.0 from specs/scale_residual_add.py (spec f3e75cc6, templates 83e67773).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 3*M*N*e + N*e bytes (e: bytes of an element)
Work: 2*M*N flops
Bound: memory on every target
Eager PyTorch: 2 kernels, 1.7 times the bytes
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
    least,
    loop_cost,
    narrow,
    next_power_of_2,
    split_cost,
    split_row,
    tile_shape,
    widen,
)

_TILED_1 = (
    Config(TILE=1024, num_warps=1),  # 4096 B shared, 98 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 4096 B shared, 62 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 4096 B shared, 39 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=1),  # 4096 B shared, 168 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 8192 B shared, 92 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 8192 B shared, 55 registers on sm_90, else unproven
)
_TILED_2 = (
    Config(TILE=1024, num_warps=1),  # 8192 B shared, 220 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 8192 B shared, 72 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 8192 B shared, 40 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 8192 B shared, 32 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 16384 B shared, 168 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 16384 B shared, 79 registers on sm_90, else unproven
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
    Config(TILE=1024, num_warps=1),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 256 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 256 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 256 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 512 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 1024 B shared, unproven
)
_BACKWARD_BLOCK_2 = (
    Config(TILE=512, num_warps=1),  # at most 64 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 64 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 128 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 512 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 512 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 1024 B shared, unproven
)
_BACKWARD_BLOCK_3 = (
    Config(TILE=4096, num_warps=1),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 64 B shared, unproven
    Config(TILE=8192, num_warps=2),  # at most 128 B shared, unproven
    Config(TILE=16384, num_warps=4),  # at most 256 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 512 B shared, unproven
)
#: Whole rows in registers, TILE elements to a program; by architecture class and element size in bytes.
BACKWARD_BLOCK_CONFIGS = by_class(
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2, 4), _BACKWARD_BLOCK_1),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BACKWARD_BLOCK_1),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BACKWARD_BLOCK_2),
    (("gfx90a", "gfx942", "gfx950"), (1, 2, 4), _BACKWARD_BLOCK_3),
)

_BACKWARD_LOOP_1 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=32768, num_warps=32),  # at most 32768 B shared, unproven
)
_BACKWARD_LOOP_2 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 65536 B shared, unproven
)
_BACKWARD_LOOP_3 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 131072 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 131072 B shared, unproven
)
_BACKWARD_LOOP_4 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
)
#: Sweeps over one row, TILE elements at a time; by architecture class and element size in bytes.
BACKWARD_LOOP_CONFIGS = by_class(
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2, 4), _BACKWARD_LOOP_1),
    (("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BACKWARD_LOOP_2),
    (("gfx90a", "gfx942", "gfx950"), (1, 2, 4), _BACKWARD_LOOP_3),
    (("gfx950",), (8,), _BACKWARD_LOOP_3),
    (("gfx90a", "gfx942"), (8,), _BACKWARD_LOOP_4),
)


@triton.jit
def _scale_residual_add_tiled(
    x_ptr,
    residual_ptr,
    scale_ptr,
    out_ptr,
    M,
    SIZE_M_1,
    SIZE_M_2,
    N,
    residual_M_0,
    residual_M_1,
    residual_M_2,
    residual_N,
    scale_N,
    x_M_0,
    x_M_1,
    x_M_2,
    x_N,
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
    residual_m = residual_ptr + m_0 * residual_M_0 + m_1 * residual_M_1 + m_2 * residual_M_2
    x_m = x_ptr + m_0 * x_M_0 + m_1 * x_M_1 + m_2 * x_M_2
    out_m = out_ptr + m_0 * out_M_0 + m_1 * out_M_1 + m_2 * out_M_2

    residual = tl.load(
        residual_m + n * residual_N, mask=in_m & in_n, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    scale = tl.load(scale_ptr + n * scale_N, mask=in_n, other=0.0, eviction_policy="evict_last").to(
        FLOAT
    )
    x = tl.load(x_m + n * x_N, mask=in_m & in_n, other=0.0, eviction_policy="evict_last").to(FLOAT)
    # return residual + scale * x
    tl.store(
        out_m + n * out_N, narrow(residual + scale * x, out_ptr.dtype.element_ty), mask=in_m & in_n
    )


@triton.jit
def _scale_residual_add_backward_block(
    x_ptr,
    scale_ptr,
    grad_out_ptr,
    grad_x_ptr,
    grad_scale_ptr,
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
    scale_row_0,
    scale_row_1,
    scale_row_2,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    grad_scale_row_0,
    grad_scale_row_1,
    grad_scale_row_2,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    NEEDS_GRAD_X: tl.constexpr,
    NEEDS_GRAD_SCALE: tl.constexpr,
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
    scale_rows = scale_ptr + row_0 * scale_row_0 + row_1 * scale_row_1 + row_2 * scale_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2
    grad_scale_rows = (
        grad_scale_ptr
        + row_0 * grad_scale_row_0
        + row_1 * grad_scale_row_1
        + row_2 * grad_scale_row_2
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
    scale = tl.load(scale_rows, mask=in_rows, other=0.0, eviction_policy="evict_last")
    grad_x = grad_out * scale.to(FLOAT)
    grad_scale = tl.sum(grad_out * x, axis=1, keep_dims=True)
    if NEEDS_GRAD_X:
        tl.store(
            grad_x_rows + cols * grad_x_col,
            narrow(grad_x, grad_x_ptr.dtype.element_ty),
            mask=in_rows & in_cols,
        )
    if NEEDS_GRAD_SCALE:
        tl.store(grad_scale_rows, narrow(grad_scale, grad_scale_ptr.dtype.element_ty), mask=in_rows)


@triton.jit
def _scale_residual_add_backward_loop(
    x_ptr,
    scale_ptr,
    grad_out_ptr,
    grad_x_ptr,
    grad_scale_ptr,
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
    scale_row_0,
    scale_row_1,
    scale_row_2,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    grad_scale_row_0,
    grad_scale_row_1,
    grad_scale_row_2,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    NEEDS_GRAD_X: tl.constexpr,
    NEEDS_GRAD_SCALE: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program goes over one row twice, block by block."""
    rows = tl.program_id(0).to(INT) + tl.arange(0, 1)[:, None]
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    scale_rows = scale_ptr + row_0 * scale_row_0 + row_1 * scale_row_1 + row_2 * scale_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2
    grad_scale_rows = (
        grad_scale_ptr
        + row_0 * grad_scale_row_0
        + row_1 * grad_scale_row_1
        + row_2 * grad_scale_row_2
    )

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
        total = total + tl.sum(grad_out * x, axis=1, keep_dims=True)

    grad_scale = tl.sum(total, axis=0, keep_dims=True)

    scale = tl.load(scale_rows).to(FLOAT)

    for start in range(0, M, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, M, EVEN)

        grad_out = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        grad_x = grad_out * scale
        if NEEDS_GRAD_X:
            tl.store(
                grad_x_rows + cols * grad_x_col,
                narrow(grad_x, grad_x_ptr.dtype.element_ty),
                mask=in_cols,
                cache_modifier=".cs",
            )

    if NEEDS_GRAD_SCALE:
        tl.store(grad_scale_rows, narrow(grad_scale, grad_scale_ptr.dtype.element_ty))


@triton.jit
def _scale_residual_add_backward_partial(
    x_ptr,
    grad_out_ptr,
    partial_total_ptr,
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

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        grad_out = tl.load(grad_out_rows + cols * grad_out_col, mask=in_cols, other=0.0).to(FLOAT)
        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        total = total + tl.sum(grad_out * x, axis=1, keep_dims=True)

    grad_scale = tl.sum(total, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, grad_scale)


@triton.jit
def _scale_residual_add_backward_finish(
    partial_total_ptr,
    scale_ptr,
    grad_out_ptr,
    grad_x_ptr,
    grad_scale_ptr,
    N,
    ROWS_1,
    ROWS_2,
    M,
    scale_row_0,
    scale_row_1,
    scale_row_2,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    grad_scale_row_0,
    grad_scale_row_1,
    grad_scale_row_2,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    SPLITS: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK_S: tl.constexpr,
    NEEDS_GRAD_X: tl.constexpr,
    NEEDS_GRAD_SCALE: tl.constexpr,
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
    scale_rows = scale_ptr + row_0 * scale_row_0 + row_1 * scale_row_1 + row_2 * scale_row_2
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2
    grad_scale_rows = (
        grad_scale_ptr
        + row_0 * grad_scale_row_0
        + row_1 * grad_scale_row_1
        + row_2 * grad_scale_row_2
    )

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    grad_scale = tl.sum(total, axis=0, keep_dims=True)
    scale = tl.load(scale_rows).to(FLOAT)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        grad_out = tl.load(grad_out_rows + cols * grad_out_col, mask=in_cols, other=0.0).to(FLOAT)
        grad_x = grad_out * scale
        if NEEDS_GRAD_X:
            tl.store(
                grad_x_rows + cols * grad_x_col,
                narrow(grad_x, grad_x_ptr.dtype.element_ty),
                mask=in_cols,
                cache_modifier=".cs",
            )

    if NEEDS_GRAD_SCALE:
        tl.store(grad_scale_rows, narrow(grad_scale, grad_scale_ptr.dtype.element_ty), mask=leads)


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""

    axes_0 = call.axes(("M",), limit=3, spare_last=True)
    axes_1 = call.axes(("N",), limit=1)
    height, length = axes_0.total, axes_1.total
    outer = 1

    def tiled_time(config: Config) -> float:
        work = Work(reads=2, writes=1, flops=2, held=1.5, held_wide=3)
        return flat_cost(config, call.target, work, call.element_size, outer * height * length)

    config = call.choose(TILED_CONFIGS, tiled_time)
    block_0, block_1 = tile_shape(
        axes_0.crossed(), height, length, config["TILE"], call.element_size
    )
    tiles = cdiv(height, block_0) * cdiv(length, block_1)
    return Launch(
        Step(
            _scale_residual_add_tiled,
            grid=(outer * tiles,),
            tensors=("x", "residual", "scale", "out"),
            integers=(
                axes_0.total,
                *axes_0.sizes[1:],
                axes_1.total,
                *axes_0.strides("residual"),
                axes_1.strides("residual")[0],
                axes_1.strides("scale")[0],
                *axes_0.strides("x"),
                axes_1.strides("x")[0],
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


def _plan_backward(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("N",), limit=3, spare_last=True)
    cols = call.axes(("M",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=2, writes=1, flops=3, joins=1, held=2, held_wide=3)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BACKWARD_BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=2, writes=1, flops=3.25, rereads=1, joins=1, passes=2, held=0.675, held_wide=1.35
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, BACKWARD_LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=2, writes=1, flops=3.25, rereads=1, joins=1, passes=2, held=0.675, held_wide=1.35
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
                _scale_residual_add_backward_partial,
                grid=(rows.total * splits,),
                tensors=("x", "grad_out", "partial_total"),
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
                _scale_residual_add_backward_finish,
                grid=(rows.total * splits,),
                tensors=("partial_total", "scale", "grad_out", "grad_x", "grad_scale"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("scale"),
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
                    *rows.strides("grad_scale"),
                ),
                constants={
                    "LANES": config["TILE"] // vector,
                    "VECTOR": vector,
                    "EVEN": even,
                    "SPLITS": splits,
                    "CHUNK": chunk,
                    "BLOCK_S": next_power_of_2(splits),
                    "NEEDS_GRAD_X": call.needs("grad_x"),
                    "NEEDS_GRAD_SCALE": call.needs("grad_scale"),
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
                _scale_residual_add_backward_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "scale", "grad_out", "grad_x", "grad_scale"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("scale"),
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
                    *rows.strides("grad_scale"),
                ),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_N": width,
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                    "NEEDS_GRAD_X": call.needs("grad_x"),
                    "NEEDS_GRAD_SCALE": call.needs("grad_scale"),
                },
                config=config,
            )
        )

    config = call.choose(BACKWARD_LOOP_CONFIGS, loop_time)
    vector = max(1, 16 // call.element_size)
    even = columns > 0 and columns % config["TILE"] == 0
    return Launch(
        Step(
            _scale_residual_add_backward_loop,
            grid=(rows.total,),
            tensors=("x", "scale", "grad_out", "grad_x", "grad_scale"),
            integers=(
                rows.total,
                *rows.sizes[1:],
                cols.total,
                *rows.strides("grad_out"),
                cols.strides("grad_out")[0],
                *rows.strides("x"),
                cols.strides("x")[0],
                *rows.strides("scale"),
                *rows.strides("grad_x"),
                cols.strides("grad_x")[0],
                *rows.strides("grad_scale"),
            ),
            constants={
                "LANES": config["TILE"] // vector,
                "VECTOR": vector,
                "EVEN": even,
                "NEEDS_GRAD_X": call.needs("grad_x"),
                "NEEDS_GRAD_SCALE": call.needs("grad_scale"),
            },
            config=config,
        )
    )


def reference(x, residual, scale, *, compute):
    """LayerScale: a branch, scaled per channel, onto the residual (Touvron, arXiv:2103.17239).

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x = widen(x, compute)
    residual = widen(residual, compute)
    scale = widen(scale, compute)
    return residual + scale * x


def reference_backward(x, scale, grad_out, *, compute):
    """The gradient of `reference`, as the kernels compute it."""
    x = widen(x, compute)
    scale = widen(scale, compute)
    grad_out = widen(grad_out, compute)
    grad_x = grad_out * scale
    grad_scale = (grad_out * x).sum(0)
    return grad_x, grad_scale


BACKWARD = Op(
    name="scale_residual_add_backward",
    spec_hash="f3e75cc6",
    inputs=(Operand("x", ("M", "N")), Operand("scale", ("N",)), Operand("grad_out", ("M", "N"))),
    outputs=(Output("grad_x", ("M", "N"), like="x"), Output("grad_scale", ("N",), like="scale")),
    fold="M",
    shards={"M": ("grad_scale",), "N": ()},
    partial=True,
    variants={
        (): Variant(_plan_backward, reference_backward),
    },
)
OP = Op(
    name="scale_residual_add",
    spec_hash="f3e75cc6",
    inputs=(Operand("x", ("M", "N")), Operand("residual", ("M", "N")), Operand("scale", ("N",))),
    outputs=(Output("out", ("M", "N"), like="x"),),
    fold="M",
    inplace=("x", "residual"),
    preserve_strides=True,
    shards={"M": (), "N": ()},
    gradients=Gradients({"out": "grad_out"}, BACKWARD),
    variants={
        (): Variant(
            _plan,
            reference,
            gradients={"x": "grad_x", "residual": "grad_out", "scale": "grad_scale"},
        ),
    },
)


def scale_residual_add(
    x: torch.Tensor,
    residual: torch.Tensor,
    scale: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> torch.Tensor:
    """LayerScale: a branch, scaled per channel, onto the residual (Touvron, arXiv:2103.17239).

    Args:
        x: [M, N], floats.
        residual: [M, N], floats.
        scale: [N], floats.
        out: where to write out.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        out: [M, N], the type of x.
        M may stand for several dimensions.
    """
    tensors = (x, residual, scale)
    params = ()
    return OP(tensors, params, out, backend, autotune)
