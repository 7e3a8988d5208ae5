"""LayerScale: a branch, scaled per channel, onto the residual (Touvron, arXiv:2103.17239).

Built by tilegen 0.1.0 from specs/scale_residual_add.py (spec f3e75cc6, templates d13e90b1).
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
    by_class,
    cdiv,
    columns_cost,
    flat_cost,
    join_tile,
    narrow,
    programs_of,
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

_BACKWARD_COLUMNS_1 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 25632 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=3),  # at most 25632 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 50240 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3),  # at most 50240 B shared, unproven
    Config(TILE=4096, PROGRAMS=4, num_warps=16, num_stages=1),  # at most 16448 B shared, unproven
)
_BACKWARD_COLUMNS_2 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99392 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 99392 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 197664 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 197696 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 197760 B shared, unproven
)
_BACKWARD_COLUMNS_3 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99392 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 99456 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 8320 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=4, num_stages=1),  # at most 2080 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=1),  # at most 4160 B shared, unproven
)
_BACKWARD_COLUMNS_4 = (
    Config(
        TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3, registers=48
    ),  # 10240 B shared, 60 registers in split rows
    Config(
        TILE=2048, PROGRAMS=4, num_warps=8, num_stages=3, registers=48
    ),  # 10240 B shared, 60 registers in split rows
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=58),  # 18432 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=46),  # 18432 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3, registers=46),  # 18432 B shared
    Config(TILE=4096, PROGRAMS=4, num_warps=16, num_stages=1, registers=49),  # 16384 B shared
)
_BACKWARD_COLUMNS_5 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3, registers=40),  # 18432 B shared
    Config(
        TILE=2048, PROGRAMS=4, num_warps=8, num_stages=3, registers=40
    ),  # 18432 B shared, 60 registers in split rows
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=56),  # 34816 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=50),  # 34816 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3, registers=50),  # 34816 B shared
    Config(TILE=4096, PROGRAMS=4, num_warps=16, num_stages=3, registers=50),  # 34816 B shared
)
_BACKWARD_COLUMNS_6 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3, registers=48),  # 34816 B shared
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3, registers=64),  # 34816 B shared
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3, registers=48),  # 34816 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3, registers=108),  # 67584 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=64),  # 67584 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=60),  # 67584 B shared
)
_BACKWARD_COLUMNS_7 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3, registers=64),  # 67584 B shared
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3, registers=96),  # 67584 B shared
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3, registers=64),  # 67584 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3, registers=128),  # 133120 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=104),  # 133120 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=64),  # 133120 B shared
)
_BACKWARD_COLUMNS_8 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 25632 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=3),  # at most 25632 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 50240 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3),  # at most 50240 B shared, unproven
    Config(TILE=4096, PROGRAMS=4, num_warps=16, num_stages=3),  # at most 50240 B shared, unproven
)
_BACKWARD_COLUMNS_9 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 13344 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 25632 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 25664 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 25616 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 25632 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3),  # at most 25664 B shared, unproven
)
_BACKWARD_COLUMNS_10 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 50192 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 50240 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 99344 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 99392 B shared, unproven
)
_BACKWARD_COLUMNS_11 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 25616 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 25616 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 50192 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 16400 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 16416 B shared, unproven
)
_BACKWARD_COLUMNS_12 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99392 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 16512 B shared, unproven
    Config(TILE=4096, PROGRAMS=4, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
)
_BACKWARD_COLUMNS_13 = (
    Config(TILE=2048, PROGRAMS=4, num_warps=4, num_stages=1),  # at most 4128 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 16512 B shared, unproven
    Config(TILE=4096, PROGRAMS=4, num_warps=4, num_stages=1),  # at most 4128 B shared, unproven
    Config(TILE=4096, PROGRAMS=4, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
)
_BACKWARD_COLUMNS_14 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 25616 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 50192 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 50192 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 16416 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
)
#: Tiles of TILE elements over rows and columns, in PROGRAMS programs an SM; by architecture class and element size in bytes.
BACKWARD_COLUMNS_CONFIGS = by_class(
    (("sm_80", "sm_100"), (1,), _BACKWARD_COLUMNS_1),
    (("sm_80",), (2,), _BACKWARD_COLUMNS_1),
    (("sm_89", "sm_86", "sm_120"), (2,), _BACKWARD_COLUMNS_2),
    (("sm_80", "sm_100", "gfx950"), (4,), _BACKWARD_COLUMNS_2),
    (("sm_100",), (8,), _BACKWARD_COLUMNS_2),
    (("sm_80", "sm_89", "sm_86", "sm_120"), (8,), _BACKWARD_COLUMNS_3),
    (("sm_90",), (1,), _BACKWARD_COLUMNS_4),
    (("sm_90",), (2,), _BACKWARD_COLUMNS_5),
    (("sm_90",), (4,), _BACKWARD_COLUMNS_6),
    (("sm_90",), (8,), _BACKWARD_COLUMNS_7),
    (("sm_100",), (2,), _BACKWARD_COLUMNS_8),
    (("sm_89", "sm_86", "sm_120"), (1,), _BACKWARD_COLUMNS_9),
    (("sm_89", "sm_86", "sm_120"), (4,), _BACKWARD_COLUMNS_10),
    (("gfx90a", "gfx942", "gfx950"), (1,), _BACKWARD_COLUMNS_11),
    (("gfx90a", "gfx942"), (2,), _BACKWARD_COLUMNS_11),
    (("gfx90a", "gfx942"), (4,), _BACKWARD_COLUMNS_12),
    (("gfx950",), (8,), _BACKWARD_COLUMNS_12),
    (("gfx90a", "gfx942"), (8,), _BACKWARD_COLUMNS_13),
    (("gfx950",), (2,), _BACKWARD_COLUMNS_14),
)


# Loads: "evict_last" keeps what a kernel reads in L2 over what it writes, and a row until its last
# sweep, which is "evict_first". On an H200 that is 2 to 10 percent of the copy rate.
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
def _scale_residual_add_backward_columns(
    x_ptr,
    scale_ptr,
    grad_out_ptr,
    grad_x_ptr,
    grad_scale_parts_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    scale_col,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    PROGRAMS,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    STAGES: tl.constexpr,
    NEEDS_GRAD_X: tl.constexpr,
    NEEDS_GRAD_SCALE: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program goes over tiles of BLOCK_M rows by BLOCK_N columns, and carries their sums along."""
    blocks = tl.cdiv(N, BLOCK_N)
    block = tl.program_id(0) % blocks
    program = tl.program_id(0) // blocks
    part = program + tl.zeros((1, 1), INT)
    cols = block * BLOCK_N + tl.arange(0, BLOCK_N)[None, :].to(INT)
    in_cols = below(cols, N, EVEN_N)

    grad_scale = tl.full((BLOCK_M, BLOCK_N), 0.0, FLOAT)
    for tile in tl.range(program, tl.cdiv(M, BLOCK_M), PROGRAMS, num_stages=STAGES):
        rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)[:, None].to(INT)
        in_rows = below(rows, M, EVEN_M)
        row_2 = rows % ROWS_2
        row_1 = rows // ROWS_2 % ROWS_1
        row_0 = rows // ROWS_2 // ROWS_1
        grad_out_rows = (
            grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
        )
        x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
        grad_x_rows = (
            grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2
        )

        x = tl.load(
            x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        grad_out = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_rows & in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        if NEEDS_GRAD_SCALE:
            grad_scale = grad_scale + tl.where(in_rows, grad_out * x, 0.0)
        scale = tl.load(
            scale_ptr + cols * scale_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        grad_x = grad_out * scale
        if NEEDS_GRAD_X:
            tl.store(
                grad_x_rows + cols * grad_x_col,
                narrow(grad_x, grad_x_ptr.dtype.element_ty),
                mask=in_rows & in_cols,
            )

    if NEEDS_GRAD_SCALE:
        tl.store(
            grad_scale_parts_ptr + part * N + cols,
            tl.sum(grad_scale, axis=0, keep_dims=True),
            mask=in_cols,
        )


@triton.jit
def _scale_residual_add_backward_join(
    grad_scale_parts_ptr,
    grad_scale_ptr,
    N,
    grad_scale_col,
    PARTS,
    BLOCK_S: tl.constexpr,
    BLOCK_N: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program adds up the partial sums of BLOCK_N columns."""
    blocks = tl.cdiv(N, BLOCK_N)
    cols = tl.program_id(0) % blocks * BLOCK_N + tl.arange(0, BLOCK_N)[None, :].to(INT)
    in_cols = cols < N

    grad_scale = tl.full((BLOCK_S, BLOCK_N), 0.0, FLOAT)
    for start in range(0, PARTS, BLOCK_S):
        parts = start + tl.arange(0, BLOCK_S)[:, None].to(INT)
        grad_scale += tl.load(
            grad_scale_parts_ptr + parts * N + cols, mask=(parts < PARTS) & in_cols, other=0
        )
    grad_scale = tl.sum(grad_scale, axis=0, keep_dims=True)
    tl.store(
        grad_scale_ptr + cols * grad_scale_col,
        narrow(grad_scale, grad_scale_ptr.dtype.element_ty),
        mask=in_cols,
    )


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
    rows = call.axes(("M",), limit=3, spare_last=True)
    cols = call.axes(("N",), limit=1)
    columns = cols.total

    def columns_time(config: Config) -> float:
        work = Work(reads=2, writes=1, flops=3, rereads=1, held=2.125, held_wide=2.55)
        return columns_cost(config, call.target, work, call.element_size, rows.total, columns)

    config = call.choose(BACKWARD_COLUMNS_CONFIGS, columns_time)
    block_m, block_n = tile_shape(
        rows.crossed(), rows.total, columns, config["TILE"], call.element_size
    )
    blocks = cdiv(columns, block_n)
    programs = programs_of(config, call.target, cdiv(rows.total, block_m), blocks)
    return Launch(
        Step(
            _scale_residual_add_backward_columns,
            grid=(programs * blocks,),
            tensors=("x", "scale", "grad_out", "grad_x", "grad_scale_parts"),
            integers=(
                rows.total,
                *rows.sizes[1:],
                cols.total,
                *rows.strides("grad_out"),
                cols.strides("grad_out")[0],
                *rows.strides("x"),
                cols.strides("x")[0],
                cols.strides("scale")[0],
                *rows.strides("grad_x"),
                cols.strides("grad_x")[0],
                programs,
            ),
            constants={
                "BLOCK_M": block_m,
                "BLOCK_N": block_n,
                "EVEN_M": rows.total % block_m == 0,
                "EVEN_N": columns % block_n == 0,
                "STAGES": config["num_stages"],
                "NEEDS_GRAD_X": call.needs("grad_x"),
                "NEEDS_GRAD_SCALE": call.needs("grad_scale"),
            },
            config=config,
        ),
        Step(
            _scale_residual_add_backward_join,
            grid=(cdiv(columns, join_tile(config, programs, columns)[1]),),
            tensors=("grad_scale_parts", "grad_scale"),
            integers=(cols.total, cols.strides("grad_scale")[0], programs),
            constants={
                "BLOCK_S": join_tile(config, programs, columns)[0],
                "BLOCK_N": join_tile(config, programs, columns)[1],
            },
            config=config,
        )
        if call.needs("grad_scale")
        else None,
        workspaces={
            "grad_scale_parts": ((programs, columns), call.float),
        },
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
