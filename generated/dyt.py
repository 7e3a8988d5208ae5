"""Dynamic tanh, which stands in for a norm; alpha is learned (Zhu et al., arXiv:2503.10622).

Built by tilegen 0.1.0 from specs/dyt.py (spec 7a590c66, templates d13e90b1).
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
    by_class,
    cdiv,
    columns_cost,
    flat_cost,
    join_tile,
    narrow,
    programs_of,
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
    Config(TILE=1024, num_warps=4, spills=2),  # 1024 B shared, 96 registers, 4 B spilled
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

_BACKWARD_COLUMNS_1 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 25632 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=3),  # at most 25632 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 50240 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3),  # at most 50240 B shared, unproven
)
_BACKWARD_COLUMNS_2 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 50192 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 50192 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 99344 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 16400 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 16416 B shared, unproven
)
_BACKWARD_COLUMNS_3 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99392 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 99456 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 4128 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 16512 B shared, unproven
)
_BACKWARD_COLUMNS_4 = (
    Config(
        TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3, registers=75
    ),  # 10240 B shared, 98 registers in split rows
    Config(
        TILE=2048, PROGRAMS=4, num_warps=8, num_stages=3, registers=75
    ),  # 10240 B shared, 98 registers in split rows
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=173),  # 18432 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=74),  # 18432 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3, registers=173),  # 18432 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3, registers=74),  # 18432 B shared
)
_BACKWARD_COLUMNS_5 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3, registers=80),  # 18432 B shared
    Config(
        TILE=2048, PROGRAMS=4, num_warps=8, num_stages=3, registers=80
    ),  # 18432 B shared, 98 registers in split rows
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=178),  # 34816 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=89),  # 34816 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3, registers=178),  # 34816 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3, registers=89),  # 34816 B shared
)
_BACKWARD_COLUMNS_6 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3, registers=168),  # 38912 B shared
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3, registers=168),  # 38912 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=179),  # 71680 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=1, registers=181),  # 4096 B shared
    Config(
        TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3, registers=255, spills=2
    ),  # 71680 B shared, 360 B spilled
    Config(
        TILE=4096, PROGRAMS=2, num_warps=4, num_stages=1, registers=255, spills=2
    ),  # 4096 B shared, 144 B spilled
)
_BACKWARD_COLUMNS_7 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3, registers=201),  # 67584 B shared
    Config(TILE=2048, PROGRAMS=1, num_warps=16, num_stages=3, registers=116),  # 67584 B shared
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3, registers=201),  # 67584 B shared
    Config(
        TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3, registers=255, spills=2
    ),  # 71680 B shared, 608 B spilled
    Config(
        TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=255, spills=2
    ),  # 133120 B shared, 464 B spilled
    Config(
        TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=128, spills=2
    ),  # 133120 B shared, 396 B spilled
)
_BACKWARD_COLUMNS_8 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99392 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 99456 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 99392 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 197696 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 197760 B shared, unproven
)
_BACKWARD_COLUMNS_9 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 50192 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
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
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 50192 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 16448 B shared, unproven
    Config(TILE=4096, PROGRAMS=4, num_warps=4, num_stages=1),  # at most 4112 B shared, unproven
)
_BACKWARD_COLUMNS_12 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 4128 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 16512 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=4, num_stages=1),  # at most 4128 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 4128 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
)
_BACKWARD_COLUMNS_13 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 25616 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 50192 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 50192 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 16416 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
)
#: Tiles of TILE elements over rows and columns, in PROGRAMS programs an SM; by architecture class and element size in bytes.
BACKWARD_COLUMNS_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1,), _BACKWARD_COLUMNS_1),
    (("sm_80", "sm_100"), (2,), _BACKWARD_COLUMNS_1),
    (("gfx90a", "gfx942", "gfx950"), (1,), _BACKWARD_COLUMNS_2),
    (("gfx90a", "gfx942"), (2,), _BACKWARD_COLUMNS_2),
    (("sm_80", "sm_100"), (4,), _BACKWARD_COLUMNS_2),
    (("sm_80", "sm_89", "sm_86", "sm_120", "gfx950"), (8,), _BACKWARD_COLUMNS_3),
    (("sm_90",), (1,), _BACKWARD_COLUMNS_4),
    (("sm_90",), (2,), _BACKWARD_COLUMNS_5),
    (("sm_90",), (4,), _BACKWARD_COLUMNS_6),
    (("sm_90",), (8,), _BACKWARD_COLUMNS_7),
    (("sm_100",), (8,), _BACKWARD_COLUMNS_8),
    (("sm_89", "sm_86", "sm_120"), (2,), _BACKWARD_COLUMNS_9),
    (("gfx950",), (4,), _BACKWARD_COLUMNS_9),
    (("sm_89", "sm_86", "sm_120"), (4,), _BACKWARD_COLUMNS_10),
    (("gfx90a", "gfx942"), (4,), _BACKWARD_COLUMNS_11),
    (("gfx90a", "gfx942"), (8,), _BACKWARD_COLUMNS_12),
    (("gfx950",), (2,), _BACKWARD_COLUMNS_13),
)


# Loads: "evict_last" keeps what a kernel reads in L2 over what it writes, and a row until its last
# sweep, which is "evict_first". On an H200 that is 2 to 10 percent of the copy rate.
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
def _dyt_backward_columns(
    x_ptr,
    alpha_ptr,
    weight_ptr,
    grad_out_ptr,
    grad_x_ptr,
    grad_alpha_parts_ptr,
    grad_weight_parts_ptr,
    grad_bias_parts_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    weight_col,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
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
    NEEDS_GRAD_ALPHA: tl.constexpr,
    NEEDS_GRAD_WEIGHT: tl.constexpr,
    NEEDS_GRAD_BIAS: tl.constexpr,
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

    alpha = tl.load(alpha_ptr).to(FLOAT)

    grad_alpha = tl.full((BLOCK_M, BLOCK_N), 0.0, FLOAT)
    grad_weight = tl.full((BLOCK_M, BLOCK_N), 0.0, FLOAT)
    grad_bias = tl.full((BLOCK_M, BLOCK_N), 0.0, FLOAT)
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

        grad_out = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_rows & in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        if NEEDS_GRAD_BIAS:
            grad_bias = grad_bias + tl.where(in_rows, grad_out, 0.0)
        x = tl.load(
            x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # return weight * tanh(alpha * x) + bias
        value = tanh(alpha * x)
        if NEEDS_GRAD_WEIGHT:
            grad_weight = grad_weight + tl.where(in_rows, grad_out * value, 0.0)
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        value_2 = grad_out * weight * (1.0 - value * value)
        if NEEDS_GRAD_ALPHA:
            grad_alpha = grad_alpha + tl.where(in_rows & in_cols, value_2 * x, 0.0)
        grad_x = value_2 * alpha
        if NEEDS_GRAD_X:
            tl.store(
                grad_x_rows + cols * grad_x_col,
                narrow(grad_x, grad_x_ptr.dtype.element_ty),
                mask=in_rows & in_cols,
            )

    if NEEDS_GRAD_ALPHA:
        tl.store(
            grad_alpha_parts_ptr + part * blocks + block,
            tl.sum(tl.sum(grad_alpha, axis=1, keep_dims=True), axis=0, keep_dims=True),
        )
    if NEEDS_GRAD_WEIGHT:
        tl.store(
            grad_weight_parts_ptr + part * N + cols,
            tl.sum(grad_weight, axis=0, keep_dims=True),
            mask=in_cols,
        )
    if NEEDS_GRAD_BIAS:
        tl.store(
            grad_bias_parts_ptr + part * N + cols,
            tl.sum(grad_bias, axis=0, keep_dims=True),
            mask=in_cols,
        )


@triton.jit
def _dyt_backward_join(
    grad_alpha_parts_ptr,
    grad_alpha_ptr,
    PARTS,
    BLOCK_S: tl.constexpr,
    BLOCK_N: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program adds up partial sums."""
    outer = tl.zeros((1, 1), INT)

    grad_alpha = tl.full((BLOCK_S, BLOCK_N), 0.0, FLOAT)
    for start in range(0, PARTS, BLOCK_S):
        parts = start + tl.arange(0, BLOCK_S)[:, None].to(INT)
        grad_alpha += tl.load(grad_alpha_parts_ptr + parts, mask=parts < PARTS, other=0)
    grad_alpha = tl.sum(grad_alpha, axis=0, keep_dims=True)
    tl.store(grad_alpha_ptr + outer, narrow(grad_alpha, grad_alpha_ptr.dtype.element_ty))


@triton.jit
def _dyt_backward_join_2(
    grad_weight_parts_ptr,
    grad_bias_parts_ptr,
    grad_weight_ptr,
    grad_bias_ptr,
    N,
    grad_weight_col,
    grad_bias_col,
    PARTS,
    BLOCK_S: tl.constexpr,
    BLOCK_N: tl.constexpr,
    NEEDS_GRAD_WEIGHT: tl.constexpr,
    NEEDS_GRAD_BIAS: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program adds up the partial sums of BLOCK_N columns."""
    blocks = tl.cdiv(N, BLOCK_N)
    cols = tl.program_id(0) % blocks * BLOCK_N + tl.arange(0, BLOCK_N)[None, :].to(INT)
    in_cols = cols < N

    grad_weight = tl.full((BLOCK_S, BLOCK_N), 0.0, FLOAT)
    grad_bias = tl.full((BLOCK_S, BLOCK_N), 0.0, FLOAT)
    for start in range(0, PARTS, BLOCK_S):
        parts = start + tl.arange(0, BLOCK_S)[:, None].to(INT)
        grad_weight += tl.load(
            grad_weight_parts_ptr + parts * N + cols, mask=(parts < PARTS) & in_cols, other=0
        )
        grad_bias += tl.load(
            grad_bias_parts_ptr + parts * N + cols, mask=(parts < PARTS) & in_cols, other=0
        )
    grad_weight = tl.sum(grad_weight, axis=0, keep_dims=True)
    grad_bias = tl.sum(grad_bias, axis=0, keep_dims=True)
    if NEEDS_GRAD_WEIGHT:
        tl.store(
            grad_weight_ptr + cols * grad_weight_col,
            narrow(grad_weight, grad_weight_ptr.dtype.element_ty),
            mask=in_cols,
        )
    if NEEDS_GRAD_BIAS:
        tl.store(
            grad_bias_ptr + cols * grad_bias_col,
            narrow(grad_bias, grad_bias_ptr.dtype.element_ty),
            mask=in_cols,
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


def _plan_backward(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("M",), limit=3, spare_last=True)
    cols = call.axes(("N",), limit=1)
    columns = cols.total

    def columns_time(config: Config) -> float:
        work = Work(reads=2, writes=1, flops=26, special=2, rereads=1, held=5.1, held_wide=5.95)
        return columns_cost(config, call.target, work, call.element_size, rows.total, columns)

    config = call.choose(BACKWARD_COLUMNS_CONFIGS, columns_time)
    block_m, block_n = tile_shape(
        rows.crossed(), rows.total, columns, config["TILE"], call.element_size
    )
    blocks = cdiv(columns, block_n)
    programs = programs_of(config, call.target, cdiv(rows.total, block_m), blocks)
    return Launch(
        Step(
            _dyt_backward_columns,
            grid=(programs * blocks,),
            tensors=(
                "x",
                "alpha",
                "weight",
                "grad_out",
                "grad_x",
                "grad_alpha_parts",
                "grad_weight_parts",
                "grad_bias_parts",
            ),
            integers=(
                rows.total,
                *rows.sizes[1:],
                cols.total,
                *rows.strides("grad_out"),
                cols.strides("grad_out")[0],
                cols.strides("weight")[0],
                *rows.strides("x"),
                cols.strides("x")[0],
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
                "NEEDS_GRAD_ALPHA": call.needs("grad_alpha"),
                "NEEDS_GRAD_WEIGHT": call.needs("grad_weight"),
                "NEEDS_GRAD_BIAS": call.needs("grad_bias"),
            },
            config=config,
        ),
        Step(
            _dyt_backward_join,
            grid=(1,),
            tensors=("grad_alpha_parts", "grad_alpha"),
            integers=(programs * blocks,),
            constants={
                "BLOCK_S": join_tile(config, programs * blocks, 1)[0],
                "BLOCK_N": join_tile(config, programs * blocks, 1)[1],
            },
            config=config,
        )
        if call.needs("grad_alpha")
        else None,
        Step(
            _dyt_backward_join_2,
            grid=(cdiv(columns, join_tile(config, programs, columns)[1]),),
            tensors=("grad_weight_parts", "grad_bias_parts", "grad_weight", "grad_bias"),
            integers=(
                cols.total,
                cols.strides("grad_weight")[0],
                cols.strides("grad_bias")[0],
                programs,
            ),
            constants={
                "BLOCK_S": join_tile(config, programs, columns)[0],
                "BLOCK_N": join_tile(config, programs, columns)[1],
                "NEEDS_GRAD_WEIGHT": call.needs("grad_weight"),
                "NEEDS_GRAD_BIAS": call.needs("grad_bias"),
            },
            config=config,
        )
        if call.needs("grad_weight", "grad_bias")
        else None,
        workspaces={
            "grad_alpha_parts": ((programs, blocks), call.float),
            "grad_weight_parts": ((programs, columns), call.float),
            "grad_bias_parts": ((programs, columns), call.float),
        },
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
