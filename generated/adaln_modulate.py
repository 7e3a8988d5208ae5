"""Modulate normalised tokens by the condition of their sample (DiT, arXiv:2212.09748).

Built by tilegen 0.1.0 from specs/adaln_modulate.py (spec a6a63a77, templates d13e90b1).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 2*B*N*S*e + 2*B*N*e bytes (e: bytes of an element)
Work: 3*B*N*S flops
Bound: memory on every target
Eager PyTorch: 3 kernels, 2.0 times the bytes
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
    Config(TILE=1024, num_warps=1),  # 1024 B shared, 64 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 2048 B shared, 32 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 31 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=1),  # 1024 B shared, 92 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 2048 B shared, 56 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 4096 B shared, 40 registers on sm_90, else unproven
)
_TILED_2 = (
    Config(TILE=1024, num_warps=1),  # 4096 B shared, 94 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=2),  # 2048 B shared, 52 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=4),  # 0 B shared, 32 registers on sm_90, else unproven
    Config(TILE=1024, num_warps=8),  # 0 B shared, 29 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=2),  # 8192 B shared, 94 registers on sm_90, else unproven
    Config(TILE=2048, num_warps=4),  # 4096 B shared, 52 registers on sm_90, else unproven
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
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 99344 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 99392 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3),  # at most 99392 B shared, unproven
)
_BACKWARD_COLUMNS_2 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 50240 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=16, num_stages=3),  # at most 50240 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 99344 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 99392 B shared, unproven
)
_BACKWARD_COLUMNS_3 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99392 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 99456 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 4128 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 16512 B shared, unproven
)
_BACKWARD_COLUMNS_4 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3, registers=60),  # 8448 B shared
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3, registers=60),  # 8448 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3, registers=155),  # 16896 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=94),  # 17408 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=56),  # 16896 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3, registers=56),  # 16896 B shared
)
_BACKWARD_COLUMNS_5 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3, registers=64),  # 16896 B shared
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3, registers=64),  # 16896 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3, registers=126),  # 33792 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=102),  # 33792 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=64),  # 33792 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3, registers=64),  # 33792 B shared
)
_BACKWARD_COLUMNS_6 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3, registers=58),  # 33792 B shared
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3, registers=58),  # 33792 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3, registers=128),  # 67584 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=99),  # 67584 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=63),  # 67584 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3, registers=63),  # 67584 B shared
)
_BACKWARD_COLUMNS_7 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3, registers=126),  # 67584 B shared
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3, registers=108),  # 67584 B shared
    Config(TILE=2048, PROGRAMS=1, num_warps=16, num_stages=3, registers=58),  # 67584 B shared
    Config(TILE=2048, PROGRAMS=2, num_warps=16, num_stages=3, registers=58),  # 67584 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=167),  # 133120 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=102),  # 133120 B shared
)
_BACKWARD_COLUMNS_8 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99392 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 99456 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=16, num_stages=3),  # at most 99456 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 197696 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 197760 B shared, unproven
)
_BACKWARD_COLUMNS_9 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 50192 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 99344 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 99392 B shared, unproven
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
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 50192 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 16448 B shared, unproven
    Config(TILE=4096, PROGRAMS=4, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
)
_BACKWARD_COLUMNS_13 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 16512 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=4, num_stages=1),  # at most 4128 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 4128 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 16512 B shared, unproven
)
_BACKWARD_COLUMNS_14 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 25616 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 25616 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 50192 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 50192 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
)
#: Tiles of TILE elements over rows and columns, in PROGRAMS programs an SM; by architecture class and element size in bytes.
BACKWARD_COLUMNS_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1,), _BACKWARD_COLUMNS_1),
    (("sm_80", "sm_100"), (2,), _BACKWARD_COLUMNS_1),
    (("sm_100",), (4,), _BACKWARD_COLUMNS_1),
    (("sm_80",), (4,), _BACKWARD_COLUMNS_2),
    (("sm_80", "sm_89", "sm_86", "sm_120", "gfx950"), (8,), _BACKWARD_COLUMNS_3),
    (("sm_90",), (1,), _BACKWARD_COLUMNS_4),
    (("sm_90",), (2,), _BACKWARD_COLUMNS_5),
    (("sm_90",), (4,), _BACKWARD_COLUMNS_6),
    (("sm_90",), (8,), _BACKWARD_COLUMNS_7),
    (("sm_100",), (8,), _BACKWARD_COLUMNS_8),
    (("sm_89", "sm_86", "sm_120"), (2,), _BACKWARD_COLUMNS_9),
    (("gfx950",), (4,), _BACKWARD_COLUMNS_9),
    (("sm_89", "sm_86", "sm_120"), (4,), _BACKWARD_COLUMNS_10),
    (("gfx90a", "gfx942", "gfx950"), (1,), _BACKWARD_COLUMNS_11),
    (("gfx90a", "gfx942"), (2,), _BACKWARD_COLUMNS_11),
    (("gfx90a", "gfx942"), (4,), _BACKWARD_COLUMNS_12),
    (("gfx90a", "gfx942"), (8,), _BACKWARD_COLUMNS_13),
    (("gfx950",), (2,), _BACKWARD_COLUMNS_14),
)


# Loads: "evict_last" keeps what a kernel reads in L2 over what it writes, and a row until its last
# sweep, which is "evict_first". On an H200 that is 2 to 10 percent of the copy rate.
@triton.jit
def _adaln_modulate_tiled(
    x_ptr,
    scale_ptr,
    shift_ptr,
    out_ptr,
    SIZE_B_1,
    S,
    N,
    x_B_0,
    x_B_1,
    x_S,
    x_N,
    scale_B_0,
    scale_B_1,
    scale_N,
    shift_B_0,
    shift_B_1,
    shift_N,
    out_B_0,
    out_B_1,
    out_S,
    out_N,
    BLOCK_0: tl.constexpr,
    BLOCK_1: tl.constexpr,
    EVEN_0: tl.constexpr,
    EVEN_1: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program computes one tile of (S) by (N)."""
    tile = tl.program_id(0).to(INT)
    tiles_1 = tl.cdiv(N, BLOCK_1)
    tiles_0 = tl.cdiv(S, BLOCK_0)
    n = (tile % tiles_1) * BLOCK_1 + tl.arange(0, BLOCK_1)[None, :]
    s = (tile // tiles_1 % tiles_0) * BLOCK_0 + tl.arange(0, BLOCK_0)[:, None]
    in_n = below(n, N, EVEN_1)
    in_s = below(s, S, EVEN_0)
    b = tile // tiles_1 // tiles_0 + tl.zeros((1, 1), INT)
    b_1 = b % SIZE_B_1
    b_0 = b // SIZE_B_1
    x_b = x_ptr + b_0 * x_B_0 + b_1 * x_B_1
    scale_b = scale_ptr + b_0 * scale_B_0 + b_1 * scale_B_1
    shift_b = shift_ptr + b_0 * shift_B_0 + b_1 * shift_B_1
    out_b = out_ptr + b_0 * out_B_0 + b_1 * out_B_1

    x = tl.load(
        x_b + s * x_S + n * x_N, mask=in_s & in_n, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    scale = tl.load(scale_b + n * scale_N, mask=in_n, other=0.0, eviction_policy="evict_last").to(
        FLOAT
    )
    shift = tl.load(shift_b + n * shift_N, mask=in_n, other=0.0, eviction_policy="evict_last").to(
        FLOAT
    )
    # return x * (1.0 + scale) + shift
    tl.store(
        out_b + s * out_S + n * out_N,
        narrow(x * (1.0 + scale) + shift, out_ptr.dtype.element_ty),
        mask=in_s & in_n,
    )


@triton.jit
def _adaln_modulate_backward_columns(
    x_ptr,
    scale_ptr,
    grad_out_ptr,
    grad_x_ptr,
    grad_scale_parts_ptr,
    grad_shift_parts_ptr,
    OUTER_1,
    S,
    ROWS_1,
    ROWS_2,
    N,
    grad_out_outer_0,
    grad_out_outer_1,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    x_outer_0,
    x_outer_1,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    scale_outer_0,
    scale_outer_1,
    scale_col,
    grad_x_outer_0,
    grad_x_outer_1,
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
    NEEDS_GRAD_SHIFT: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program goes over tiles of BLOCK_M rows by BLOCK_N columns, and carries their sums along."""
    blocks = tl.cdiv(N, BLOCK_N)
    block = tl.program_id(0) % blocks
    program = tl.program_id(0) // blocks % PROGRAMS
    outer = (tl.program_id(0) // blocks // PROGRAMS).to(INT) + tl.zeros((1, 1), INT)
    outer_1 = outer % OUTER_1
    outer_0 = outer // OUTER_1
    part = outer * PROGRAMS + program
    cols = block * BLOCK_N + tl.arange(0, BLOCK_N)[None, :].to(INT)
    in_cols = below(cols, N, EVEN_N)
    grad_out_outer = grad_out_ptr + outer_0 * grad_out_outer_0 + outer_1 * grad_out_outer_1
    x_outer = x_ptr + outer_0 * x_outer_0 + outer_1 * x_outer_1
    scale_outer = scale_ptr + outer_0 * scale_outer_0 + outer_1 * scale_outer_1
    grad_x_outer = grad_x_ptr + outer_0 * grad_x_outer_0 + outer_1 * grad_x_outer_1

    grad_scale = tl.full((BLOCK_M, BLOCK_N), 0.0, FLOAT)
    grad_shift = tl.full((BLOCK_M, BLOCK_N), 0.0, FLOAT)
    for tile in tl.range(program, tl.cdiv(S, BLOCK_M), PROGRAMS, num_stages=STAGES):
        rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)[:, None].to(INT)
        in_rows = below(rows, S, EVEN_M)
        row_2 = rows % ROWS_2
        row_1 = rows // ROWS_2 % ROWS_1
        row_0 = rows // ROWS_2 // ROWS_1
        grad_out_rows = (
            grad_out_outer
            + row_0 * grad_out_row_0
            + row_1 * grad_out_row_1
            + row_2 * grad_out_row_2
        )
        x_rows = x_outer + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
        grad_x_rows = (
            grad_x_outer + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2
        )

        grad_out = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_rows & in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        if NEEDS_GRAD_SHIFT:
            grad_shift = grad_shift + tl.where(in_rows, grad_out, 0.0)
        x = tl.load(
            x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        if NEEDS_GRAD_SCALE:
            grad_scale = grad_scale + tl.where(in_rows, grad_out * x, 0.0)
        scale = tl.load(
            scale_outer + cols * scale_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        grad_x = grad_out * (1.0 + scale)
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
    if NEEDS_GRAD_SHIFT:
        tl.store(
            grad_shift_parts_ptr + part * N + cols,
            tl.sum(grad_shift, axis=0, keep_dims=True),
            mask=in_cols,
        )


@triton.jit
def _adaln_modulate_backward_join(
    grad_scale_parts_ptr,
    grad_shift_parts_ptr,
    grad_scale_ptr,
    grad_shift_ptr,
    OUTER_1,
    N,
    grad_scale_outer_0,
    grad_scale_outer_1,
    grad_scale_col,
    grad_shift_outer_0,
    grad_shift_outer_1,
    grad_shift_col,
    PARTS,
    BLOCK_S: tl.constexpr,
    BLOCK_N: tl.constexpr,
    NEEDS_GRAD_SCALE: tl.constexpr,
    NEEDS_GRAD_SHIFT: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program adds up the partial sums of BLOCK_N columns."""
    blocks = tl.cdiv(N, BLOCK_N)
    cols = tl.program_id(0) % blocks * BLOCK_N + tl.arange(0, BLOCK_N)[None, :].to(INT)
    in_cols = cols < N
    outer = (tl.program_id(0) // blocks).to(INT) + tl.zeros((1, 1), INT)
    outer_1 = outer % OUTER_1
    outer_0 = outer // OUTER_1
    grad_scale_outer = grad_scale_ptr + outer_0 * grad_scale_outer_0 + outer_1 * grad_scale_outer_1
    grad_shift_outer = grad_shift_ptr + outer_0 * grad_shift_outer_0 + outer_1 * grad_shift_outer_1

    grad_scale = tl.full((BLOCK_S, BLOCK_N), 0.0, FLOAT)
    grad_shift = tl.full((BLOCK_S, BLOCK_N), 0.0, FLOAT)
    for start in range(0, PARTS, BLOCK_S):
        parts = start + tl.arange(0, BLOCK_S)[:, None].to(INT)
        grad_scale += tl.load(
            grad_scale_parts_ptr + (outer * PARTS + parts) * N + cols,
            mask=(parts < PARTS) & in_cols,
            other=0,
        )
        grad_shift += tl.load(
            grad_shift_parts_ptr + (outer * PARTS + parts) * N + cols,
            mask=(parts < PARTS) & in_cols,
            other=0,
        )
    grad_scale = tl.sum(grad_scale, axis=0, keep_dims=True)
    grad_shift = tl.sum(grad_shift, axis=0, keep_dims=True)
    if NEEDS_GRAD_SCALE:
        tl.store(
            grad_scale_outer + cols * grad_scale_col,
            narrow(grad_scale, grad_scale_ptr.dtype.element_ty),
            mask=in_cols,
        )
    if NEEDS_GRAD_SHIFT:
        tl.store(
            grad_shift_outer + cols * grad_shift_col,
            narrow(grad_shift, grad_shift_ptr.dtype.element_ty),
            mask=in_cols,
        )


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""

    axes_0 = call.axes(("B",), limit=2, spare_last=True)
    axes_1 = call.axes(("S",), limit=1)
    axes_2 = call.axes(("N",), limit=1)
    height, length = axes_1.total, axes_2.total
    outer = axes_0.total

    def tiled_time(config: Config) -> float:
        work = Work(reads=1, writes=1, flops=3, held=1.5, held_wide=3)
        return flat_cost(config, call.target, work, call.element_size, outer * height * length)

    config = call.choose(TILED_CONFIGS, tiled_time)
    block_0, block_1 = tile_shape(
        axes_1.crossed(), height, length, config["TILE"], call.element_size
    )
    tiles = cdiv(height, block_0) * cdiv(length, block_1)
    return Launch(
        Step(
            _adaln_modulate_tiled,
            grid=(outer * tiles,),
            tensors=("x", "scale", "shift", "out"),
            integers=(
                *axes_0.sizes[1:],
                axes_1.total,
                axes_2.total,
                *axes_0.strides("x"),
                axes_1.strides("x")[0],
                axes_2.strides("x")[0],
                *axes_0.strides("scale"),
                axes_2.strides("scale")[0],
                *axes_0.strides("shift"),
                axes_2.strides("shift")[0],
                *axes_0.strides("out"),
                axes_1.strides("out")[0],
                axes_2.strides("out")[0],
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
    rows = call.axes(("S",), limit=3, spare_last=True)
    outer = call.axes(("B",), limit=2, spare_last=True)
    cols = call.axes(("N",), limit=1)
    columns = cols.total

    def columns_time(config: Config) -> float:
        work = Work(reads=3, writes=1, flops=5, held=2.975, held_wide=3.4)
        return columns_cost(
            config, call.target, work, call.element_size, rows.total, columns, outer.total
        )

    config = call.choose(BACKWARD_COLUMNS_CONFIGS, columns_time)
    block_m, block_n = tile_shape(
        rows.crossed(), rows.total, columns, config["TILE"], call.element_size
    )
    blocks = cdiv(columns, block_n)
    programs = programs_of(config, call.target, cdiv(rows.total, block_m), outer.total * blocks)
    return Launch(
        Step(
            _adaln_modulate_backward_columns,
            grid=(outer.total * programs * blocks,),
            tensors=("x", "scale", "grad_out", "grad_x", "grad_scale_parts", "grad_shift_parts"),
            integers=(
                outer.sizes[1],
                rows.total,
                *rows.sizes[1:],
                cols.total,
                *outer.strides("grad_out"),
                *rows.strides("grad_out"),
                cols.strides("grad_out")[0],
                *outer.strides("x"),
                *rows.strides("x"),
                cols.strides("x")[0],
                *outer.strides("scale"),
                cols.strides("scale")[0],
                *outer.strides("grad_x"),
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
                "NEEDS_GRAD_SHIFT": call.needs("grad_shift"),
            },
            config=config,
        ),
        Step(
            _adaln_modulate_backward_join,
            grid=(outer.total * cdiv(columns, join_tile(config, programs, columns)[1]),),
            tensors=("grad_scale_parts", "grad_shift_parts", "grad_scale", "grad_shift"),
            integers=(
                outer.sizes[1],
                cols.total,
                *outer.strides("grad_scale"),
                cols.strides("grad_scale")[0],
                *outer.strides("grad_shift"),
                cols.strides("grad_shift")[0],
                programs,
            ),
            constants={
                "BLOCK_S": join_tile(config, programs, columns)[0],
                "BLOCK_N": join_tile(config, programs, columns)[1],
                "NEEDS_GRAD_SCALE": call.needs("grad_scale"),
                "NEEDS_GRAD_SHIFT": call.needs("grad_shift"),
            },
            config=config,
        )
        if call.needs("grad_scale", "grad_shift")
        else None,
        workspaces={
            "grad_scale_parts": ((outer.total, programs, columns), call.float),
            "grad_shift_parts": ((outer.total, programs, columns), call.float),
        },
    )


def reference(x, scale, shift, *, compute):
    """Modulate normalised tokens by the condition of their sample (DiT, arXiv:2212.09748).

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x = widen(x, compute)
    scale = widen(scale, compute)
    shift = widen(shift, compute)
    return x * (1.0 + scale)[:, None, :] + shift[:, None, :]


def reference_backward(x, scale, shift, grad_out, *, compute):
    """The gradient of `reference`, as the kernels compute it."""
    x = widen(x, compute)
    scale = widen(scale, compute)
    grad_out = widen(grad_out, compute)
    grad_x = grad_out * (1.0 + scale)[:, None, :]
    grad_scale = (grad_out * x).sum(1)
    grad_shift = grad_out.sum(1)
    return grad_x, grad_scale, grad_shift


BACKWARD = Op(
    name="adaln_modulate_backward",
    spec_hash="a6a63a77",
    inputs=(
        Operand("x", ("B", "S", "N")),
        Operand("scale", ("B", "N")),
        Operand("shift", ("B", "N")),
        Operand("grad_out", ("B", "S", "N")),
    ),
    outputs=(
        Output("grad_x", ("B", "S", "N"), like="x"),
        Output("grad_scale", ("B", "N"), like="scale"),
        Output("grad_shift", ("B", "N"), like="shift"),
    ),
    fold="B",
    shards={"B": (), "S": ("grad_scale", "grad_shift"), "N": ()},
    partial=True,
    variants={
        (): Variant(_plan_backward, reference_backward),
    },
)
OP = Op(
    name="adaln_modulate",
    spec_hash="a6a63a77",
    inputs=(
        Operand("x", ("B", "S", "N")),
        Operand("scale", ("B", "N")),
        Operand("shift", ("B", "N")),
    ),
    outputs=(Output("out", ("B", "S", "N"), like="x"),),
    fold="B",
    inplace=("x",),
    preserve_strides=True,
    shards={"B": (), "S": (), "N": ()},
    gradients=Gradients({"out": "grad_out"}, BACKWARD, alike=("shift",)),
    variants={
        (): Variant(
            _plan,
            reference,
            gradients={"x": "grad_x", "scale": "grad_scale", "shift": "grad_shift"},
        ),
    },
)


def adaln_modulate(
    x: torch.Tensor,
    scale: torch.Tensor,
    shift: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> torch.Tensor:
    """Modulate normalised tokens by the condition of their sample (DiT, arXiv:2212.09748).

    Args:
        x: [B, S, N], floats.
        scale: [B, N], floats.
        shift: [B, N], floats.
        out: where to write out.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        out: [B, S, N], the type of x.
        B may stand for several dimensions.
    """
    tensors = (x, scale, shift)
    params = ()
    return OP(tensors, params, out, backend, autotune)
