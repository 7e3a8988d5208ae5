"""Group norm (Wu and He, arXiv:1803.08494), then SiLU, as in a diffusion U-Net's blocks.

Built by tilegen 0.1.0 from specs/groupnorm_silu.py (spec bf8a903e, templates d13e90b1).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 2*B*C*G*HW*e + 2*C*G*e bytes (e: bytes of an element)
Work: 12*B*C*G*HW + 10*B*G flops, 2*B*C*G*HW + 4*B*G of them exponentials, roots and quotients
Bound: memory on every target
Eager PyTorch: 10 kernels, 7.5 times the bytes
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
    block_mean,
    by_class,
    cdiv,
    deviations,
    in_stages,
    least,
    loop_cost,
    maximum,
    moments_end,
    moments_join,
    moments_step,
    narrow,
    next_power_of_2,
    scalar,
    sigmoid,
    split_cost,
    split_row,
    widen,
)

_BLOCK_1 = (
    Config(TILE=1024, num_warps=1),  # at most 16 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 64 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 128 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 256 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 512 B shared, unproven
)
_BLOCK_2 = (
    Config(TILE=512, num_warps=1),  # at most 32 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 256 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 256 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 512 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 1024 B shared, unproven
)
_BLOCK_3 = (
    Config(TILE=512, num_warps=1),  # at most 64 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 64 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 128 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 512 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 512 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 1024 B shared, unproven
)
_BLOCK_4 = (
    Config(TILE=1024, num_warps=1, registers=64),  # 0 B shared
    Config(TILE=4096, num_warps=2, registers=146),  # 128 B shared
    Config(TILE=4096, num_warps=8, registers=40),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=96),  # 256 B shared
    Config(TILE=16384, num_warps=8, registers=128),  # 512 B shared
    Config(TILE=32768, num_warps=16, registers=128),  # 1024 B shared
)
_BLOCK_5 = (
    Config(TILE=1024, num_warps=1, registers=64),  # 32 B shared
    Config(TILE=4096, num_warps=2, registers=128),  # 128 B shared
    Config(TILE=4096, num_warps=8, registers=48),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=128),  # 256 B shared
    Config(TILE=16384, num_warps=8, registers=128),  # 512 B shared
    Config(TILE=32768, num_warps=16, registers=127),  # 1024 B shared
)
_BLOCK_6 = (
    Config(TILE=512, num_warps=1, registers=64),  # 16 B shared
    Config(TILE=1024, num_warps=1, registers=80),  # 32 B shared
    Config(TILE=4096, num_warps=2, registers=174),  # 256 B shared
    Config(TILE=4096, num_warps=8, registers=48),  # 256 B shared
    Config(TILE=8192, num_warps=4, registers=176),  # 512 B shared
    Config(TILE=16384, num_warps=16, registers=86),  # 1024 B shared
)
_BLOCK_7 = (
    Config(TILE=512, num_warps=1, registers=126),  # 32 B shared
    Config(TILE=512, num_warps=2, registers=96),  # 128 B shared
    Config(TILE=1024, num_warps=1, registers=240),  # 64 B shared
    Config(TILE=4096, num_warps=8, registers=170),  # 1024 B shared
    Config(TILE=4096, num_warps=4, registers=255, spills=2),  # 1024 B shared, 96 B spilled
    Config(TILE=8192, num_warps=16, registers=128, spills=2),  # 2048 B shared, 160 B spilled
)
_BLOCK_8 = (
    Config(TILE=4096, num_warps=1),  # at most 32 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 32 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 32 B shared, unproven
    Config(TILE=8192, num_warps=2),  # at most 64 B shared, unproven
    Config(TILE=16384, num_warps=4),  # at most 128 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 256 B shared, unproven
)
#: Whole rows in registers, TILE elements to a program; by architecture class and element size in bytes.
BLOCK_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2), _BLOCK_1),
    (("gfx90a", "gfx942", "gfx950"), (4,), _BLOCK_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (4,), _BLOCK_2),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BLOCK_2),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BLOCK_3),
    (("sm_90",), (1,), _BLOCK_4),
    (("sm_90",), (2,), _BLOCK_5),
    (("sm_90",), (4,), _BLOCK_6),
    (("sm_90",), (8,), _BLOCK_7),
    (("gfx90a", "gfx942", "gfx950"), (1, 2), _BLOCK_8),
)

_LOOP_1 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 8192 B shared, unproven
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
    Config(TILE=2048, num_warps=4, registers=32),  # 48 B shared
    Config(TILE=4096, num_warps=4, registers=35),  # 48 B shared, 40 registers in split rows
    Config(TILE=8192, num_warps=4, registers=60),  # 48 B shared
    Config(TILE=8192, num_warps=16, registers=32),  # 192 B shared
    Config(TILE=16384, num_warps=8, registers=64),  # 96 B shared
    Config(TILE=32768, num_warps=32, registers=45),  # 384 B shared
)
_LOOP_4 = (
    Config(TILE=2048, num_warps=4, registers=36),  # 48 B shared
    Config(TILE=4096, num_warps=4, registers=44),  # 48 B shared
    Config(TILE=8192, num_warps=4, registers=70),  # 48 B shared
    Config(TILE=8192, num_warps=16, registers=40),  # 192 B shared
    Config(TILE=16384, num_warps=8, registers=79),  # 96 B shared
    Config(TILE=32768, num_warps=32, registers=37, spills=2),  # 384 B shared, 8 B spilled
)
_LOOP_5 = (
    Config(TILE=2048, num_warps=4, registers=44),  # 48 B shared
    Config(TILE=4096, num_warps=4, registers=56),  # 48 B shared
    Config(TILE=8192, num_warps=4, registers=128),  # 48 B shared
    Config(TILE=8192, num_warps=16, registers=40),  # 192 B shared
    Config(TILE=16384, num_warps=8, registers=128),  # 96 B shared
    Config(TILE=32768, num_warps=32, registers=50),  # 384 B shared, 54 registers in split rows
)
_LOOP_6 = (
    Config(TILE=2048, num_warps=4, registers=124),  # 96 B shared
    Config(TILE=2048, num_warps=8, registers=80),  # 192 B shared
    Config(TILE=2048, num_warps=16, registers=52),  # 384 B shared, 54 registers in split rows
    Config(TILE=8192, num_warps=8, registers=241),  # 192 B shared
    Config(TILE=8192, num_warps=4, registers=255, spills=2),  # 96 B shared, 256 B spilled
    Config(TILE=16384, num_warps=32, registers=64, spills=2),  # 768 B shared, 324 B spilled
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

_BACKWARD_BLOCK_1 = (
    Config(TILE=512, num_warps=1),  # at most 32 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 32 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 256 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 256 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 512 B shared, unproven
)
_BACKWARD_BLOCK_2 = (
    Config(TILE=512, num_warps=1),  # at most 64 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 64 B shared, unproven
    Config(TILE=512, num_warps=4),  # at most 64 B shared, unproven
    Config(TILE=512, num_warps=8),  # at most 64 B shared, unproven
    Config(TILE=1024, num_warps=2),  # at most 128 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 512 B shared, unproven
)
_BACKWARD_BLOCK_3 = (
    Config(TILE=512, num_warps=1, registers=64),  # 0 B shared
    Config(TILE=512, num_warps=2, registers=40),  # 16 B shared
    Config(TILE=1024, num_warps=1, registers=124),  # 0 B shared
    Config(TILE=4096, num_warps=4, registers=96),  # 128 B shared
    Config(TILE=4096, num_warps=16, registers=40),  # 128 B shared
    Config(TILE=8192, num_warps=16, registers=64),  # 256 B shared
)
_BACKWARD_BLOCK_4 = (
    Config(TILE=512, num_warps=1, registers=64),  # 0 B shared
    Config(TILE=512, num_warps=2, registers=39),  # 16 B shared
    Config(TILE=1024, num_warps=1, registers=80),  # 32 B shared
    Config(TILE=4096, num_warps=4, registers=96),  # 128 B shared
    Config(TILE=4096, num_warps=16, registers=32),  # 128 B shared
    Config(TILE=8192, num_warps=16, registers=63),  # 256 B shared
)
_BACKWARD_BLOCK_5 = (
    Config(TILE=512, num_warps=1, registers=64),  # 16 B shared
    Config(TILE=512, num_warps=2, registers=40),  # 16 B shared
    Config(TILE=1024, num_warps=1, registers=96),  # 32 B shared
    Config(TILE=4096, num_warps=4, registers=96),  # 128 B shared
    Config(TILE=4096, num_warps=16, registers=40),  # 128 B shared
    Config(TILE=8192, num_warps=16, registers=64),  # 256 B shared
)
_BACKWARD_BLOCK_6 = (
    Config(TILE=512, num_warps=1, registers=232),  # 32 B shared
    Config(TILE=512, num_warps=2, registers=120),  # 64 B shared
    Config(TILE=512, num_warps=4, registers=72),  # 64 B shared
    Config(TILE=512, num_warps=8, registers=48),  # 64 B shared
    Config(TILE=1024, num_warps=2, registers=232),  # 128 B shared
    Config(TILE=4096, num_warps=16, registers=123),  # 512 B shared
)
_BACKWARD_BLOCK_7 = (
    Config(TILE=1024, num_warps=1),  # at most 16 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 64 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 128 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 128 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 256 B shared, unproven
)
#: Whole rows in registers, TILE elements to a program; by architecture class and element size in bytes.
BACKWARD_BLOCK_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2, 4), _BACKWARD_BLOCK_1),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BACKWARD_BLOCK_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BACKWARD_BLOCK_2),
    (("sm_90",), (1,), _BACKWARD_BLOCK_3),
    (("sm_90",), (2,), _BACKWARD_BLOCK_4),
    (("sm_90",), (4,), _BACKWARD_BLOCK_5),
    (("sm_90",), (8,), _BACKWARD_BLOCK_6),
    (("gfx90a", "gfx942", "gfx950"), (1, 2, 4), _BACKWARD_BLOCK_7),
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
    Config(TILE=4096, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 16384 B shared, unproven
)
_BACKWARD_LOOP_3 = (
    Config(TILE=2048, num_warps=4, registers=32),  # 16 B shared, 43 registers in split rows
    Config(TILE=2048, num_warps=8, registers=32),  # 32 B shared, 36 registers in split rows
    Config(TILE=4096, num_warps=4, registers=96),  # 16 B shared
    Config(TILE=4096, num_warps=8, registers=62),  # 32 B shared
    Config(TILE=4096, num_warps=16, registers=32),  # 64 B shared, 36 registers in split rows
    Config(TILE=8192, num_warps=16, registers=62),  # 64 B shared
)
_BACKWARD_LOOP_4 = (
    Config(TILE=2048, num_warps=4, registers=53),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=40),  # 32 B shared
    Config(TILE=4096, num_warps=4, registers=70),  # 16 B shared
    Config(TILE=4096, num_warps=8, registers=63),  # 32 B shared
    Config(TILE=4096, num_warps=16, registers=40),  # 64 B shared
    Config(TILE=8192, num_warps=16, registers=64),  # 64 B shared
)
_BACKWARD_LOOP_5 = (
    Config(TILE=2048, num_warps=4, registers=72),  # 16 B shared
    Config(TILE=4096, num_warps=4, registers=128),  # 16 B shared
    Config(TILE=4096, num_warps=8, registers=80),  # 32 B shared
    Config(TILE=8192, num_warps=8, registers=128),  # 32 B shared
    Config(TILE=8192, num_warps=16, registers=100),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=128),  # 32 B shared
)
_BACKWARD_LOOP_6 = (
    Config(TILE=2048, num_warps=4, registers=240),  # 32 B shared
    Config(TILE=2048, num_warps=8, registers=128),  # 64 B shared
    Config(TILE=4096, num_warps=8, registers=240),  # 64 B shared
    Config(TILE=4096, num_warps=16, registers=128),  # 128 B shared
    Config(TILE=4096, num_warps=4, registers=255, spills=2),  # 32 B shared, 836 B spilled
    Config(TILE=8192, num_warps=16, registers=128, spills=2),  # 128 B shared, 508 B spilled
)
_BACKWARD_LOOP_7 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 32768 B shared, unproven
)
#: Sweeps over one row, TILE elements at a time; by architecture class and element size in bytes.
BACKWARD_LOOP_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2), _BACKWARD_LOOP_1),
    (
        ("sm_80", "sm_100", "sm_89", "sm_86", "sm_120", "gfx90a", "gfx942", "gfx950"),
        (8,),
        _BACKWARD_LOOP_1,
    ),
    (("gfx90a", "gfx942", "gfx950"), (1, 2), _BACKWARD_LOOP_2),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (4,), _BACKWARD_LOOP_2),
    (("sm_90",), (1,), _BACKWARD_LOOP_3),
    (("sm_90",), (2,), _BACKWARD_LOOP_4),
    (("sm_90",), (4,), _BACKWARD_LOOP_5),
    (("sm_90",), (8,), _BACKWARD_LOOP_6),
    (("gfx90a", "gfx942", "gfx950"), (4,), _BACKWARD_LOOP_7),
)


# Loads: "evict_last" keeps what a kernel reads in L2 over what it writes, and a row until its last
# sweep, which is "evict_first". On an H200 that is 2 to 10 percent of the copy rate.
@triton.jit
def _groupnorm_silu_block(
    x_ptr,
    weight_ptr,
    bias_ptr,
    out_ptr,
    row_mean_ptr,
    rstd_ptr,
    ROWS,
    ROWS_1,
    ROWS_2,
    COLS_0,
    COLS_1,
    C,
    HW,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col_0,
    x_col_1,
    weight_row_0,
    weight_row_1,
    weight_row_2,
    weight_col_0,
    bias_row_0,
    bias_row_1,
    bias_row_2,
    bias_col_0,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col_0,
    out_col_1,
    row_mean_row_0,
    row_mean_row_1,
    row_mean_row_2,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    eps,
    BLOCK_M: tl.constexpr,
    BLOCK_0: tl.constexpr,
    BLOCK_1: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    EARLY: tl.constexpr,
    NEEDS_ROW_MEAN: tl.constexpr,
    NEEDS_RSTD: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program holds BLOCK_M whole rows in registers."""
    rows = tl.program_id(0).to(INT) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None, None]
    cols_0 = tl.arange(0, BLOCK_0)[None, :, None].to(INT)
    cols_1 = tl.arange(0, BLOCK_1)[None, None, :].to(INT)
    in_cols_0 = below(cols_0, COLS_0, EVEN_N)
    in_cols_1 = below(cols_1, COLS_1, EVEN_N)
    in_rows = below(rows, ROWS, EVEN_M)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    weight_rows = weight_ptr + row_0 * weight_row_0 + row_1 * weight_row_1 + row_2 * weight_row_2
    bias_rows = bias_ptr + row_0 * bias_row_0 + row_1 * bias_row_1 + row_2 * bias_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    row_mean_rows = (
        row_mean_ptr + row_0 * row_mean_row_0 + row_1 * row_mean_row_1 + row_2 * row_mean_row_2
    )
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2

    eps = scalar(eps, FLOAT)

    x = tl.load(
        x_rows + cols_0 * x_col_0 + cols_1 * x_col_1,
        mask=in_rows & in_cols_0 & in_cols_1,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    if EARLY:
        weight = tl.load(
            weight_rows + cols_0 * weight_col_0,
            mask=in_rows & in_cols_0,
            other=0.0,
            eviction_policy="evict_last",
        )
        bias = tl.load(
            bias_rows + cols_0 * bias_col_0,
            mask=in_rows & in_cols_0,
            other=0.0,
            eviction_policy="evict_last",
        )
    # normed = (x - mean(x, (C, HW))) * rstd
    row_sum = tl.sum(tl.sum(x, axis=2, keep_dims=True), axis=1, keep_dims=True)
    value = tl.cast(C, FLOAT) * tl.cast(HW, FLOAT)
    rough_mean = row_sum / value
    centred = x - rough_mean
    row_rest, row_squares = deviations(tl.where(in_cols_0 & in_cols_1, centred, 0.0), 2)
    shift = row_rest / value
    row_mean = rough_mean + shift
    row_spread = maximum(row_squares - row_rest * shift, 0.0)
    # rstd = rsqrt(variance(x, (C, HW)) + eps)
    rstd = tl.rsqrt(row_spread / value + eps)
    normed = (x - row_mean) * rstd
    if not EARLY:
        weight = tl.load(
            weight_rows + cols_0 * weight_col_0,
            mask=in_rows & in_cols_0,
            other=0.0,
            eviction_policy="evict_last",
        )
        bias = tl.load(
            bias_rows + cols_0 * bias_col_0,
            mask=in_rows & in_cols_0,
            other=0.0,
            eviction_policy="evict_last",
        )
    # return silu(normed * weight + bias)
    value_2 = normed * weight.to(FLOAT) + bias.to(FLOAT)
    tl.store(
        out_rows + cols_0 * out_col_0 + cols_1 * out_col_1,
        narrow(value_2 * sigmoid(value_2), out_ptr.dtype.element_ty),
        mask=in_rows & in_cols_0 & in_cols_1,
    )
    if NEEDS_ROW_MEAN:
        tl.store(row_mean_rows, narrow(row_mean, row_mean_ptr.dtype.element_ty), mask=in_rows)
    if NEEDS_RSTD:
        tl.store(rstd_rows, narrow(rstd, rstd_ptr.dtype.element_ty), mask=in_rows)


@triton.jit
def _groupnorm_silu_loop(
    x_ptr,
    weight_ptr,
    bias_ptr,
    out_ptr,
    row_mean_ptr,
    rstd_ptr,
    ROWS_1,
    ROWS_2,
    COLS_0,
    COLS_1,
    C,
    HW,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col_0,
    x_col_1,
    weight_row_0,
    weight_row_1,
    weight_row_2,
    weight_col_0,
    bias_row_0,
    bias_row_1,
    bias_row_2,
    bias_col_0,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col_0,
    out_col_1,
    row_mean_row_0,
    row_mean_row_1,
    row_mean_row_2,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    eps,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    WIDTH: tl.constexpr,
    NEEDS_ROW_MEAN: tl.constexpr,
    NEEDS_RSTD: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program goes over one row twice, block by block."""
    rows = tl.program_id(0).to(INT) + tl.arange(0, 1)[:, None]
    HEIGHT: tl.constexpr = LANES * VECTOR // WIDTH
    lane = tl.arange(0, LANES)[:, None].to(INT) * VECTOR
    lane_0 = lane // WIDTH
    # not `lane % WIDTH`, of which the compiler cannot tell that neighbours are contiguous
    lane_1 = lane - lane_0 * WIDTH + tl.arange(0, VECTOR)[None, :]
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    weight_rows = weight_ptr + row_0 * weight_row_0 + row_1 * weight_row_1 + row_2 * weight_row_2
    bias_rows = bias_ptr + row_0 * bias_row_0 + row_1 * bias_row_1 + row_2 * bias_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    row_mean_rows = (
        row_mean_ptr + row_0 * row_mean_row_0 + row_1 * row_mean_row_1 + row_2 * row_mean_row_2
    )
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2

    eps = scalar(eps, FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    squares = tl.full((LANES, 1), 0.0, FLOAT)
    count = tl.full((LANES, 1), 0.0, FLOAT)
    blocks = tl.cdiv(COLS_1, WIDTH)
    cols_0 = lane_0
    cols_1 = lane_1
    in_cols_0 = below(cols_0, COLS_0, EVEN)
    in_cols_1 = below(cols_1, COLS_1, EVEN)
    x = tl.load(
        x_rows + cols_0 * x_col_0 + cols_1 * x_col_1,
        mask=in_cols_0 & in_cols_1,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    shift = block_mean(x, in_cols_0 & in_cols_1, EVEN)

    for block in range(tl.cdiv(COLS_0, HEIGHT) * blocks):
        cols_0 = block // blocks * HEIGHT + lane_0
        cols_1 = block % blocks * WIDTH + lane_1
        in_cols_0 = below(cols_0, COLS_0, EVEN)
        in_cols_1 = below(cols_1, COLS_1, EVEN)

        x = tl.load(
            x_rows + cols_0 * x_col_0 + cols_1 * x_col_1,
            mask=in_cols_0 & in_cols_1,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        # normed = (x - mean(x, (C, HW))) * rstd
        total, squares, count = moments_step(
            total, squares, count, x, shift, in_cols_0 & in_cols_1, EVEN
        )

    row_mean, row_spread, row_count = moments_end(shift, total, squares, count)

    # rstd = rsqrt(variance(x, (C, HW)) + eps)
    rstd = tl.rsqrt(row_spread / (tl.cast(C, FLOAT) * tl.cast(HW, FLOAT)) + eps)

    blocks = tl.cdiv(COLS_1, WIDTH)
    for block in range(tl.cdiv(COLS_0, HEIGHT) * blocks):
        cols_0 = block // blocks * HEIGHT + lane_0
        cols_1 = block % blocks * WIDTH + lane_1
        in_cols_0 = below(cols_0, COLS_0, EVEN)
        in_cols_1 = below(cols_1, COLS_1, EVEN)

        x = tl.load(
            x_rows + cols_0 * x_col_0 + cols_1 * x_col_1,
            mask=in_cols_0 & in_cols_1,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        normed = (x - row_mean) * rstd
        weight = tl.load(
            weight_rows + cols_0 * weight_col_0,
            mask=in_cols_0,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        bias = tl.load(
            bias_rows + cols_0 * bias_col_0,
            mask=in_cols_0,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        # return silu(normed * weight + bias)
        value = normed * weight + bias
        tl.store(
            out_rows + cols_0 * out_col_0 + cols_1 * out_col_1,
            narrow(value * sigmoid(value), out_ptr.dtype.element_ty),
            mask=in_cols_0 & in_cols_1,
            cache_modifier=".cs",
        )

    if NEEDS_ROW_MEAN:
        tl.store(row_mean_rows, narrow(row_mean, row_mean_ptr.dtype.element_ty))
    if NEEDS_RSTD:
        tl.store(rstd_rows, narrow(rstd, rstd_ptr.dtype.element_ty))


@triton.jit
def _groupnorm_silu_partial(
    x_ptr,
    partial_mean_ptr,
    partial_spread_ptr,
    partial_count_ptr,
    ROWS_1,
    ROWS_2,
    COLS_0,
    COLS_1,
    x_row_0,
    x_row_1,
    x_row_2,
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
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2

    total = tl.full((LANES, 1), 0.0, FLOAT)
    squares = tl.full((LANES, 1), 0.0, FLOAT)
    count = tl.full((LANES, 1), 0.0, FLOAT)
    cols_0 = tl.zeros((1, 1), INT)
    in_cols_0 = below(cols_0, COLS_0, True)
    cols_1 = split * CHUNK + lane
    in_cols_1 = below(cols_1, stop, EVEN)
    x = tl.load(
        x_rows + cols_0 * x_col_0 + cols_1 * x_col_1, mask=in_cols_0 & in_cols_1, other=0.0
    ).to(FLOAT)
    shift = block_mean(x, in_cols_0 & in_cols_1, EVEN)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols_1 = start + lane
        in_cols_1 = below(cols_1, stop, EVEN)

        x = tl.load(
            x_rows + cols_0 * x_col_0 + cols_1 * x_col_1, mask=in_cols_0 & in_cols_1, other=0.0
        ).to(FLOAT)
        # normed = (x - mean(x, (C, HW))) * rstd
        total, squares, count = moments_step(
            total, squares, count, x, shift, in_cols_0 & in_cols_1, EVEN
        )

    row_mean, row_spread, row_count = moments_end(shift, total, squares, count)
    tl.store(partial_mean_ptr + rows * SPLITS + split, row_mean)
    tl.store(partial_spread_ptr + rows * SPLITS + split, row_spread)
    tl.store(partial_count_ptr + rows * SPLITS + split, row_count)


@triton.jit
def _groupnorm_silu_finish(
    partial_mean_ptr,
    partial_spread_ptr,
    partial_count_ptr,
    x_ptr,
    weight_ptr,
    bias_ptr,
    out_ptr,
    row_mean_ptr,
    rstd_ptr,
    ROWS_1,
    ROWS_2,
    COLS_0,
    COLS_1,
    C,
    HW,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col_0,
    x_col_1,
    weight_row_0,
    weight_row_1,
    weight_row_2,
    weight_col_0,
    bias_row_0,
    bias_row_1,
    bias_row_2,
    bias_col_0,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col_0,
    out_col_1,
    row_mean_row_0,
    row_mean_row_1,
    row_mean_row_2,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    eps,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    SPLITS: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK_S: tl.constexpr,
    NEEDS_ROW_MEAN: tl.constexpr,
    NEEDS_RSTD: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program joins the partial states of a row, then goes over one chunk of it."""
    split = (tl.program_id(0) % SPLITS).to(INT)
    rows = (tl.program_id(0) // SPLITS).to(INT) + tl.arange(0, 1)[:, None]
    stop = tl.minimum((split + 1) * CHUNK, COLS_1)
    leads = rows * 0 + split == 0
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    weight_rows = weight_ptr + row_0 * weight_row_0 + row_1 * weight_row_1 + row_2 * weight_row_2
    bias_rows = bias_ptr + row_0 * bias_row_0 + row_1 * bias_row_1 + row_2 * bias_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    row_mean_rows = (
        row_mean_ptr + row_0 * row_mean_row_0 + row_1 * row_mean_row_1 + row_2 * row_mean_row_2
    )
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2

    eps = scalar(eps, FLOAT)

    splits = tl.arange(0, BLOCK_S)[:, None]
    mean = tl.load(partial_mean_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    spread = tl.load(partial_spread_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    count = tl.load(partial_count_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_mean, row_spread, row_count = moments_join(mean, spread, count)
    # rstd = rsqrt(variance(x, (C, HW)) + eps)
    rstd = tl.rsqrt(row_spread / (tl.cast(C, FLOAT) * tl.cast(HW, FLOAT)) + eps)

    cols_0 = tl.zeros((1, 1), INT)
    in_cols_0 = below(cols_0, COLS_0, True)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols_1 = start + lane
        in_cols_1 = below(cols_1, stop, EVEN)

        x = tl.load(
            x_rows + cols_0 * x_col_0 + cols_1 * x_col_1, mask=in_cols_0 & in_cols_1, other=0.0
        ).to(FLOAT)
        # normed = (x - mean(x, (C, HW))) * rstd
        normed = (x - row_mean) * rstd
        weight = tl.load(weight_rows + cols_0 * weight_col_0, mask=in_cols_0, other=0.0).to(FLOAT)
        bias = tl.load(bias_rows + cols_0 * bias_col_0, mask=in_cols_0, other=0.0).to(FLOAT)
        # return silu(normed * weight + bias)
        value = normed * weight + bias
        tl.store(
            out_rows + cols_0 * out_col_0 + cols_1 * out_col_1,
            narrow(value * sigmoid(value), out_ptr.dtype.element_ty),
            mask=in_cols_0 & in_cols_1,
            cache_modifier=".cs",
        )

    if NEEDS_ROW_MEAN:
        tl.store(row_mean_rows, narrow(row_mean, row_mean_ptr.dtype.element_ty), mask=leads)
    if NEEDS_RSTD:
        tl.store(rstd_rows, narrow(rstd, rstd_ptr.dtype.element_ty), mask=leads)


@triton.jit
def _groupnorm_silu_backward_stage_1_block(
    x_ptr,
    weight_ptr,
    bias_ptr,
    row_mean_ptr,
    rstd_ptr,
    grad_out_ptr,
    grad_weight_ptr,
    grad_bias_ptr,
    ROWS,
    ROWS_1,
    ROWS_2,
    COLS_0,
    COLS_1,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col_0,
    grad_out_col_1,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col_0,
    x_col_1,
    row_mean_row_0,
    row_mean_row_1,
    row_mean_row_2,
    row_mean_col_0,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    rstd_col_0,
    weight_row_0,
    weight_row_1,
    weight_row_2,
    bias_row_0,
    bias_row_1,
    bias_row_2,
    grad_weight_row_0,
    grad_weight_row_1,
    grad_weight_row_2,
    grad_bias_row_0,
    grad_bias_row_1,
    grad_bias_row_2,
    BLOCK_M: tl.constexpr,
    BLOCK_0: tl.constexpr,
    BLOCK_1: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    NEEDS_GRAD_WEIGHT: tl.constexpr,
    NEEDS_GRAD_BIAS: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program holds BLOCK_M whole rows in registers."""
    rows = tl.program_id(0).to(INT) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None, None]
    cols_0 = tl.arange(0, BLOCK_0)[None, :, None].to(INT)
    cols_1 = tl.arange(0, BLOCK_1)[None, None, :].to(INT)
    in_cols_0 = below(cols_0, COLS_0, EVEN_N)
    in_cols_1 = below(cols_1, COLS_1, EVEN_N)
    in_rows = below(rows, ROWS, EVEN_M)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    row_mean_rows = (
        row_mean_ptr + row_0 * row_mean_row_0 + row_1 * row_mean_row_1 + row_2 * row_mean_row_2
    )
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2
    weight_rows = weight_ptr + row_0 * weight_row_0 + row_1 * weight_row_1 + row_2 * weight_row_2
    bias_rows = bias_ptr + row_0 * bias_row_0 + row_1 * bias_row_1 + row_2 * bias_row_2
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
        grad_out_rows + cols_0 * grad_out_col_0 + cols_1 * grad_out_col_1,
        mask=in_rows & in_cols_0 & in_cols_1,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    x = tl.load(
        x_rows + cols_0 * x_col_0 + cols_1 * x_col_1,
        mask=in_rows & in_cols_0 & in_cols_1,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    row_mean = tl.load(
        row_mean_rows + cols_0 * row_mean_col_0,
        mask=in_rows & in_cols_0,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    rstd = tl.load(
        rstd_rows + cols_0 * rstd_col_0,
        mask=in_rows & in_cols_0,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    weight = tl.load(weight_rows, mask=in_rows, other=0.0, eviction_policy="evict_last").to(FLOAT)
    bias = tl.load(bias_rows, mask=in_rows, other=0.0, eviction_policy="evict_last").to(FLOAT)
    # normed = (x - mean(x, (C, HW))) * rstd
    normed = (x - row_mean) * rstd
    # return silu(normed * weight + bias)
    value = normed * weight + bias
    value_2 = sigmoid(value)
    value_3 = grad_out * value_2 + grad_out * value * (value_2 * (1.0 - value_2))
    grad_weight = tl.sum(tl.sum(value_3 * normed, axis=2, keep_dims=True), axis=1, keep_dims=True)
    grad_bias = tl.sum(tl.sum(value_3, axis=2, keep_dims=True), axis=1, keep_dims=True)
    if NEEDS_GRAD_WEIGHT:
        tl.store(
            grad_weight_rows, narrow(grad_weight, grad_weight_ptr.dtype.element_ty), mask=in_rows
        )
    if NEEDS_GRAD_BIAS:
        tl.store(grad_bias_rows, narrow(grad_bias, grad_bias_ptr.dtype.element_ty), mask=in_rows)


@triton.jit
def _groupnorm_silu_backward_stage_1_loop(
    x_ptr,
    weight_ptr,
    bias_ptr,
    row_mean_ptr,
    rstd_ptr,
    grad_out_ptr,
    grad_weight_ptr,
    grad_bias_ptr,
    ROWS_1,
    ROWS_2,
    COLS_0,
    COLS_1,
    weight_row_0,
    weight_row_1,
    weight_row_2,
    bias_row_0,
    bias_row_1,
    bias_row_2,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col_0,
    grad_out_col_1,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col_0,
    x_col_1,
    row_mean_row_0,
    row_mean_row_1,
    row_mean_row_2,
    row_mean_col_0,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    rstd_col_0,
    grad_weight_row_0,
    grad_weight_row_1,
    grad_weight_row_2,
    grad_bias_row_0,
    grad_bias_row_1,
    grad_bias_row_2,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    WIDTH: tl.constexpr,
    NEEDS_GRAD_WEIGHT: tl.constexpr,
    NEEDS_GRAD_BIAS: tl.constexpr,
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
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    weight_rows = weight_ptr + row_0 * weight_row_0 + row_1 * weight_row_1 + row_2 * weight_row_2
    bias_rows = bias_ptr + row_0 * bias_row_0 + row_1 * bias_row_1 + row_2 * bias_row_2
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    row_mean_rows = (
        row_mean_ptr + row_0 * row_mean_row_0 + row_1 * row_mean_row_1 + row_2 * row_mean_row_2
    )
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2
    grad_weight_rows = (
        grad_weight_ptr
        + row_0 * grad_weight_row_0
        + row_1 * grad_weight_row_1
        + row_2 * grad_weight_row_2
    )
    grad_bias_rows = (
        grad_bias_ptr + row_0 * grad_bias_row_0 + row_1 * grad_bias_row_1 + row_2 * grad_bias_row_2
    )

    weight = tl.load(weight_rows).to(FLOAT)
    bias = tl.load(bias_rows).to(FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    total_2 = tl.full((LANES, 1), 0.0, FLOAT)
    blocks = tl.cdiv(COLS_1, WIDTH)
    for block in range(tl.cdiv(COLS_0, HEIGHT) * blocks):
        cols_0 = block // blocks * HEIGHT + lane_0
        cols_1 = block % blocks * WIDTH + lane_1
        in_cols_0 = below(cols_0, COLS_0, EVEN)
        in_cols_1 = below(cols_1, COLS_1, EVEN)

        grad_out = tl.load(
            grad_out_rows + cols_0 * grad_out_col_0 + cols_1 * grad_out_col_1,
            mask=in_cols_0 & in_cols_1,
            other=0.0,
        ).to(FLOAT)
        x = tl.load(
            x_rows + cols_0 * x_col_0 + cols_1 * x_col_1, mask=in_cols_0 & in_cols_1, other=0.0
        ).to(FLOAT)
        row_mean = tl.load(row_mean_rows + cols_0 * row_mean_col_0, mask=in_cols_0, other=0.0).to(
            FLOAT
        )
        rstd = tl.load(rstd_rows + cols_0 * rstd_col_0, mask=in_cols_0, other=0.0).to(FLOAT)
        # normed = (x - mean(x, (C, HW))) * rstd
        normed = (x - row_mean) * rstd
        # return silu(normed * weight + bias)
        value = normed * weight + bias
        value_2 = sigmoid(value)
        total = total + tl.sum(
            (grad_out * value_2 + grad_out * value * (value_2 * (1.0 - value_2))) * normed,
            axis=1,
            keep_dims=True,
        )
        total_2 = total_2 + tl.sum(
            grad_out * value_2 + grad_out * value * (value_2 * (1.0 - value_2)),
            axis=1,
            keep_dims=True,
        )

    grad_weight = tl.sum(total, axis=0, keep_dims=True)
    grad_bias = tl.sum(total_2, axis=0, keep_dims=True)

    if NEEDS_GRAD_WEIGHT:
        tl.store(grad_weight_rows, narrow(grad_weight, grad_weight_ptr.dtype.element_ty))
    if NEEDS_GRAD_BIAS:
        tl.store(grad_bias_rows, narrow(grad_bias, grad_bias_ptr.dtype.element_ty))


@triton.jit
def _groupnorm_silu_backward_stage_1_partial(
    x_ptr,
    weight_ptr,
    bias_ptr,
    row_mean_ptr,
    rstd_ptr,
    grad_out_ptr,
    partial_total_ptr,
    partial_total_2_ptr,
    ROWS_1,
    ROWS_2,
    COLS_0,
    COLS_1,
    weight_row_0,
    weight_row_1,
    weight_row_2,
    bias_row_0,
    bias_row_1,
    bias_row_2,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col_0,
    grad_out_col_1,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col_0,
    x_col_1,
    row_mean_row_0,
    row_mean_row_1,
    row_mean_row_2,
    row_mean_col_0,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    rstd_col_0,
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
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    weight_rows = weight_ptr + row_0 * weight_row_0 + row_1 * weight_row_1 + row_2 * weight_row_2
    bias_rows = bias_ptr + row_0 * bias_row_0 + row_1 * bias_row_1 + row_2 * bias_row_2
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    row_mean_rows = (
        row_mean_ptr + row_0 * row_mean_row_0 + row_1 * row_mean_row_1 + row_2 * row_mean_row_2
    )
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2

    weight = tl.load(weight_rows).to(FLOAT)
    bias = tl.load(bias_rows).to(FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    total_2 = tl.full((LANES, 1), 0.0, FLOAT)
    cols_0 = tl.zeros((1, 1), INT)
    in_cols_0 = below(cols_0, COLS_0, True)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols_1 = start + lane
        in_cols_1 = below(cols_1, stop, EVEN)

        grad_out = tl.load(
            grad_out_rows + cols_0 * grad_out_col_0 + cols_1 * grad_out_col_1,
            mask=in_cols_0 & in_cols_1,
            other=0.0,
        ).to(FLOAT)
        x = tl.load(
            x_rows + cols_0 * x_col_0 + cols_1 * x_col_1, mask=in_cols_0 & in_cols_1, other=0.0
        ).to(FLOAT)
        row_mean = tl.load(row_mean_rows + cols_0 * row_mean_col_0, mask=in_cols_0, other=0.0).to(
            FLOAT
        )
        rstd = tl.load(rstd_rows + cols_0 * rstd_col_0, mask=in_cols_0, other=0.0).to(FLOAT)
        # normed = (x - mean(x, (C, HW))) * rstd
        normed = (x - row_mean) * rstd
        # return silu(normed * weight + bias)
        value = normed * weight + bias
        value_2 = sigmoid(value)
        total = total + tl.sum(
            (grad_out * value_2 + grad_out * value * (value_2 * (1.0 - value_2))) * normed,
            axis=1,
            keep_dims=True,
        )
        total_2 = total_2 + tl.sum(
            grad_out * value_2 + grad_out * value * (value_2 * (1.0 - value_2)),
            axis=1,
            keep_dims=True,
        )

    grad_weight = tl.sum(total, axis=0, keep_dims=True)
    grad_bias = tl.sum(total_2, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, grad_weight)
    tl.store(partial_total_2_ptr + rows * SPLITS + split, grad_bias)


@triton.jit
def _groupnorm_silu_backward_stage_1_finish(
    partial_total_ptr,
    partial_total_2_ptr,
    grad_weight_ptr,
    grad_bias_ptr,
    ROWS_1,
    ROWS_2,
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
def _groupnorm_silu_backward_stage_2_block(
    x_ptr,
    weight_ptr,
    bias_ptr,
    row_mean_ptr,
    rstd_ptr,
    grad_out_ptr,
    grad_x_ptr,
    ROWS,
    ROWS_1,
    ROWS_2,
    COLS_0,
    COLS_1,
    C,
    HW,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col_0,
    grad_out_col_1,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col_0,
    x_col_1,
    row_mean_row_0,
    row_mean_row_1,
    row_mean_row_2,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    weight_row_0,
    weight_row_1,
    weight_row_2,
    weight_col_0,
    bias_row_0,
    bias_row_1,
    bias_row_2,
    bias_col_0,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col_0,
    grad_x_col_1,
    BLOCK_M: tl.constexpr,
    BLOCK_0: tl.constexpr,
    BLOCK_1: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program holds BLOCK_M whole rows in registers."""
    rows = tl.program_id(0).to(INT) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None, None]
    cols_0 = tl.arange(0, BLOCK_0)[None, :, None].to(INT)
    cols_1 = tl.arange(0, BLOCK_1)[None, None, :].to(INT)
    in_cols_0 = below(cols_0, COLS_0, EVEN_N)
    in_cols_1 = below(cols_1, COLS_1, EVEN_N)
    in_rows = below(rows, ROWS, EVEN_M)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    row_mean_rows = (
        row_mean_ptr + row_0 * row_mean_row_0 + row_1 * row_mean_row_1 + row_2 * row_mean_row_2
    )
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2
    weight_rows = weight_ptr + row_0 * weight_row_0 + row_1 * weight_row_1 + row_2 * weight_row_2
    bias_rows = bias_ptr + row_0 * bias_row_0 + row_1 * bias_row_1 + row_2 * bias_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    grad_out = tl.load(
        grad_out_rows + cols_0 * grad_out_col_0 + cols_1 * grad_out_col_1,
        mask=in_rows & in_cols_0 & in_cols_1,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    x = tl.load(
        x_rows + cols_0 * x_col_0 + cols_1 * x_col_1,
        mask=in_rows & in_cols_0 & in_cols_1,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    row_mean = tl.load(row_mean_rows, mask=in_rows, other=0.0, eviction_policy="evict_last").to(
        FLOAT
    )
    rstd = tl.load(rstd_rows, mask=in_rows, other=0.0, eviction_policy="evict_last").to(FLOAT)
    weight = tl.load(
        weight_rows + cols_0 * weight_col_0,
        mask=in_rows & in_cols_0,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    bias = tl.load(
        bias_rows + cols_0 * bias_col_0,
        mask=in_rows & in_cols_0,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # normed = (x - mean(x, (C, HW))) * rstd
    value = x - row_mean
    normed = value * rstd
    # return silu(normed * weight + bias)
    value_2 = normed * weight + bias
    value_3 = sigmoid(value_2)
    grad_normed = (grad_out * value_3 + grad_out * value_2 * (value_3 * (1.0 - value_3))) * weight
    # rstd = rsqrt(variance(x, (C, HW)) + eps)
    grad_rstd = tl.sum(tl.sum(grad_normed * value, axis=2, keep_dims=True), axis=1, keep_dims=True)
    value_4 = tl.cast(C, FLOAT) * tl.cast(HW, FLOAT)
    value_5 = grad_normed * rstd
    row_sum = tl.sum(tl.sum(-value_5, axis=2, keep_dims=True), axis=1, keep_dims=True)
    grad_x = (
        2.0 * (-0.5 * grad_rstd * (rstd * rstd * rstd)) / value_4 * value
        + value_5
        + row_sum / value_4
    )
    tl.store(
        grad_x_rows + cols_0 * grad_x_col_0 + cols_1 * grad_x_col_1,
        narrow(grad_x, grad_x_ptr.dtype.element_ty),
        mask=in_rows & in_cols_0 & in_cols_1,
    )


@triton.jit
def _groupnorm_silu_backward_stage_2_loop(
    x_ptr,
    weight_ptr,
    bias_ptr,
    row_mean_ptr,
    rstd_ptr,
    grad_out_ptr,
    grad_x_ptr,
    ROWS_1,
    ROWS_2,
    COLS_0,
    COLS_1,
    C,
    HW,
    row_mean_row_0,
    row_mean_row_1,
    row_mean_row_2,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col_0,
    grad_out_col_1,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col_0,
    x_col_1,
    weight_row_0,
    weight_row_1,
    weight_row_2,
    weight_col_0,
    bias_row_0,
    bias_row_1,
    bias_row_2,
    bias_col_0,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col_0,
    grad_x_col_1,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    WIDTH: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program goes over one row twice, block by block."""
    rows = tl.program_id(0).to(INT) + tl.arange(0, 1)[:, None]
    HEIGHT: tl.constexpr = LANES * VECTOR // WIDTH
    lane = tl.arange(0, LANES)[:, None].to(INT) * VECTOR
    lane_0 = lane // WIDTH
    # not `lane % WIDTH`, of which the compiler cannot tell that neighbours are contiguous
    lane_1 = lane - lane_0 * WIDTH + tl.arange(0, VECTOR)[None, :]
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    row_mean_rows = (
        row_mean_ptr + row_0 * row_mean_row_0 + row_1 * row_mean_row_1 + row_2 * row_mean_row_2
    )
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    weight_rows = weight_ptr + row_0 * weight_row_0 + row_1 * weight_row_1 + row_2 * weight_row_2
    bias_rows = bias_ptr + row_0 * bias_row_0 + row_1 * bias_row_1 + row_2 * bias_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    row_mean = tl.load(row_mean_rows).to(FLOAT)
    rstd = tl.load(rstd_rows).to(FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    total_2 = tl.full((LANES, 1), 0.0, FLOAT)
    blocks = tl.cdiv(COLS_1, WIDTH)
    for block in range(tl.cdiv(COLS_0, HEIGHT) * blocks):
        cols_0 = block // blocks * HEIGHT + lane_0
        cols_1 = block % blocks * WIDTH + lane_1
        in_cols_0 = below(cols_0, COLS_0, EVEN)
        in_cols_1 = below(cols_1, COLS_1, EVEN)

        grad_out = tl.load(
            grad_out_rows + cols_0 * grad_out_col_0 + cols_1 * grad_out_col_1,
            mask=in_cols_0 & in_cols_1,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        x = tl.load(
            x_rows + cols_0 * x_col_0 + cols_1 * x_col_1,
            mask=in_cols_0 & in_cols_1,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        # normed = (x - mean(x, (C, HW))) * rstd
        value = x - row_mean
        normed = value * rstd
        weight = tl.load(
            weight_rows + cols_0 * weight_col_0,
            mask=in_cols_0,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        bias = tl.load(
            bias_rows + cols_0 * bias_col_0, mask=in_cols_0, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # return silu(normed * weight + bias)
        value_2 = normed * weight + bias
        value_3 = sigmoid(value_2)
        grad_normed = (
            grad_out * value_3 + grad_out * value_2 * (value_3 * (1.0 - value_3))
        ) * weight
        # rstd = rsqrt(variance(x, (C, HW)) + eps)
        total = total + tl.sum(grad_normed * value, axis=1, keep_dims=True)
        total_2 = total_2 + tl.sum(-(grad_normed * rstd), axis=1, keep_dims=True)

    grad_rstd = tl.sum(total, axis=0, keep_dims=True)
    row_sum = tl.sum(total_2, axis=0, keep_dims=True)

    value = tl.cast(C, FLOAT) * tl.cast(HW, FLOAT)
    value_2 = 2.0 * (-0.5 * grad_rstd * (rstd * rstd * rstd)) / value
    value_3 = row_sum / value

    blocks = tl.cdiv(COLS_1, WIDTH)
    for block in range(tl.cdiv(COLS_0, HEIGHT) * blocks):
        cols_0 = block // blocks * HEIGHT + lane_0
        cols_1 = block % blocks * WIDTH + lane_1
        in_cols_0 = below(cols_0, COLS_0, EVEN)
        in_cols_1 = below(cols_1, COLS_1, EVEN)

        x = tl.load(
            x_rows + cols_0 * x_col_0 + cols_1 * x_col_1,
            mask=in_cols_0 & in_cols_1,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        value_4 = x - row_mean
        grad_out = tl.load(
            grad_out_rows + cols_0 * grad_out_col_0 + cols_1 * grad_out_col_1,
            mask=in_cols_0 & in_cols_1,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        normed = value_4 * rstd
        weight = tl.load(
            weight_rows + cols_0 * weight_col_0,
            mask=in_cols_0,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        bias = tl.load(
            bias_rows + cols_0 * bias_col_0,
            mask=in_cols_0,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        value_5 = normed * weight + bias
        value_6 = sigmoid(value_5)
        grad_normed = (
            grad_out * value_6 + grad_out * value_5 * (value_6 * (1.0 - value_6))
        ) * weight
        grad_x = value_2 * value_4 + grad_normed * rstd + value_3
        tl.store(
            grad_x_rows + cols_0 * grad_x_col_0 + cols_1 * grad_x_col_1,
            narrow(grad_x, grad_x_ptr.dtype.element_ty),
            mask=in_cols_0 & in_cols_1,
            cache_modifier=".cs",
        )


@triton.jit
def _groupnorm_silu_backward_stage_2_partial(
    x_ptr,
    weight_ptr,
    bias_ptr,
    row_mean_ptr,
    rstd_ptr,
    grad_out_ptr,
    partial_total_ptr,
    partial_total_2_ptr,
    ROWS_1,
    ROWS_2,
    COLS_0,
    COLS_1,
    row_mean_row_0,
    row_mean_row_1,
    row_mean_row_2,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col_0,
    grad_out_col_1,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col_0,
    x_col_1,
    weight_row_0,
    weight_row_1,
    weight_row_2,
    weight_col_0,
    bias_row_0,
    bias_row_1,
    bias_row_2,
    bias_col_0,
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
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    row_mean_rows = (
        row_mean_ptr + row_0 * row_mean_row_0 + row_1 * row_mean_row_1 + row_2 * row_mean_row_2
    )
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    weight_rows = weight_ptr + row_0 * weight_row_0 + row_1 * weight_row_1 + row_2 * weight_row_2
    bias_rows = bias_ptr + row_0 * bias_row_0 + row_1 * bias_row_1 + row_2 * bias_row_2

    row_mean = tl.load(row_mean_rows).to(FLOAT)
    rstd = tl.load(rstd_rows).to(FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    total_2 = tl.full((LANES, 1), 0.0, FLOAT)
    cols_0 = tl.zeros((1, 1), INT)
    in_cols_0 = below(cols_0, COLS_0, True)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols_1 = start + lane
        in_cols_1 = below(cols_1, stop, EVEN)

        grad_out = tl.load(
            grad_out_rows + cols_0 * grad_out_col_0 + cols_1 * grad_out_col_1,
            mask=in_cols_0 & in_cols_1,
            other=0.0,
        ).to(FLOAT)
        x = tl.load(
            x_rows + cols_0 * x_col_0 + cols_1 * x_col_1, mask=in_cols_0 & in_cols_1, other=0.0
        ).to(FLOAT)
        # normed = (x - mean(x, (C, HW))) * rstd
        value = x - row_mean
        normed = value * rstd
        weight = tl.load(weight_rows + cols_0 * weight_col_0, mask=in_cols_0, other=0.0).to(FLOAT)
        bias = tl.load(bias_rows + cols_0 * bias_col_0, mask=in_cols_0, other=0.0).to(FLOAT)
        # return silu(normed * weight + bias)
        value_2 = normed * weight + bias
        value_3 = sigmoid(value_2)
        grad_normed = (
            grad_out * value_3 + grad_out * value_2 * (value_3 * (1.0 - value_3))
        ) * weight
        # rstd = rsqrt(variance(x, (C, HW)) + eps)
        total = total + tl.sum(grad_normed * value, axis=1, keep_dims=True)
        total_2 = total_2 + tl.sum(-(grad_normed * rstd), axis=1, keep_dims=True)

    grad_rstd = tl.sum(total, axis=0, keep_dims=True)
    row_sum = tl.sum(total_2, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, grad_rstd)
    tl.store(partial_total_2_ptr + rows * SPLITS + split, row_sum)


@triton.jit
def _groupnorm_silu_backward_stage_2_finish(
    partial_total_ptr,
    partial_total_2_ptr,
    x_ptr,
    weight_ptr,
    bias_ptr,
    row_mean_ptr,
    rstd_ptr,
    grad_out_ptr,
    grad_x_ptr,
    ROWS_1,
    ROWS_2,
    COLS_0,
    COLS_1,
    C,
    HW,
    row_mean_row_0,
    row_mean_row_1,
    row_mean_row_2,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col_0,
    x_col_1,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col_0,
    grad_out_col_1,
    weight_row_0,
    weight_row_1,
    weight_row_2,
    weight_col_0,
    bias_row_0,
    bias_row_1,
    bias_row_2,
    bias_col_0,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col_0,
    grad_x_col_1,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    SPLITS: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK_S: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program joins the partial states of a row, then goes over one chunk of it."""
    split = (tl.program_id(0) % SPLITS).to(INT)
    rows = (tl.program_id(0) // SPLITS).to(INT) + tl.arange(0, 1)[:, None]
    stop = tl.minimum((split + 1) * CHUNK, COLS_1)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    row_mean_rows = (
        row_mean_ptr + row_0 * row_mean_row_0 + row_1 * row_mean_row_1 + row_2 * row_mean_row_2
    )
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    weight_rows = weight_ptr + row_0 * weight_row_0 + row_1 * weight_row_1 + row_2 * weight_row_2
    bias_rows = bias_ptr + row_0 * bias_row_0 + row_1 * bias_row_1 + row_2 * bias_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    total_2 = tl.load(partial_total_2_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    grad_rstd = tl.sum(total, axis=0, keep_dims=True)
    row_sum = tl.sum(total_2, axis=0, keep_dims=True)
    row_mean = tl.load(row_mean_rows).to(FLOAT)
    rstd = tl.load(rstd_rows).to(FLOAT)
    # rstd = rsqrt(variance(x, (C, HW)) + eps)
    value = tl.cast(C, FLOAT) * tl.cast(HW, FLOAT)
    value_2 = 2.0 * (-0.5 * grad_rstd * (rstd * rstd * rstd)) / value
    # normed = (x - mean(x, (C, HW))) * rstd
    value_3 = row_sum / value

    cols_0 = tl.zeros((1, 1), INT)
    in_cols_0 = below(cols_0, COLS_0, True)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols_1 = start + lane
        in_cols_1 = below(cols_1, stop, EVEN)

        x = tl.load(
            x_rows + cols_0 * x_col_0 + cols_1 * x_col_1, mask=in_cols_0 & in_cols_1, other=0.0
        ).to(FLOAT)
        value_4 = x - row_mean
        grad_out = tl.load(
            grad_out_rows + cols_0 * grad_out_col_0 + cols_1 * grad_out_col_1,
            mask=in_cols_0 & in_cols_1,
            other=0.0,
        ).to(FLOAT)
        normed = value_4 * rstd
        weight = tl.load(weight_rows + cols_0 * weight_col_0, mask=in_cols_0, other=0.0).to(FLOAT)
        bias = tl.load(bias_rows + cols_0 * bias_col_0, mask=in_cols_0, other=0.0).to(FLOAT)
        # return silu(normed * weight + bias)
        value_5 = normed * weight + bias
        value_6 = sigmoid(value_5)
        grad_normed = (
            grad_out * value_6 + grad_out * value_5 * (value_6 * (1.0 - value_6))
        ) * weight
        grad_x = value_2 * value_4 + grad_normed * rstd + value_3
        tl.store(
            grad_x_rows + cols_0 * grad_x_col_0 + cols_1 * grad_x_col_1,
            narrow(grad_x, grad_x_ptr.dtype.element_ty),
            mask=in_cols_0 & in_cols_1,
            cache_modifier=".cs",
        )


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("B", "G"), limit=3, spare_last=True)
    cols_0 = call.axes(("C",), limit=1)
    cols_1 = call.axes(("HW",), limit=1)
    height, length = cols_0.total, cols_1.total
    columns = height * length
    width = next_power_of_2(height) * next_power_of_2(length)

    def block_time(config: Config) -> float:
        work = Work(reads=1, writes=1, flops=12, special=2, joins=4, held=1.5, held_wide=2)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=1,
            writes=1,
            flops=12.75,
            special=2,
            rereads=1,
            joins=2,
            passes=2,
            held=0.675,
            held_wide=1.05,
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=1,
            writes=1,
            flops=13.625,
            special=2,
            rereads=1,
            joins=3,
            passes=2,
            held=0.675,
            held_wide=1.05,
        )
        return split_cost(config, call.target, work, call.element_size, rows.total, columns)

    split = least(call, LOOP_CONFIGS, split_time)

    if height == 1 and call.takes("split", split < min(block, loop)):
        config = call.choose(LOOP_CONFIGS, split_time)
        splits, chunk = split_row(call.target, rows.total, columns, config["TILE"])
        vector = max(1, 16 // call.element_size)
        even = columns > 0 and columns % config["TILE"] == 0
        return Launch(
            Step(
                _groupnorm_silu_partial,
                grid=(rows.total * splits,),
                tensors=("x", "partial_mean", "partial_spread", "partial_count"),
                integers=(
                    *rows.sizes[1:],
                    cols_0.total,
                    cols_1.total,
                    *rows.strides("x"),
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
                _groupnorm_silu_finish,
                grid=(rows.total * splits,),
                tensors=(
                    "partial_mean",
                    "partial_spread",
                    "partial_count",
                    "x",
                    "weight",
                    "bias",
                    "out",
                    "row_mean",
                    "rstd",
                ),
                integers=(
                    *rows.sizes[1:],
                    cols_0.total,
                    cols_1.total,
                    call.sizes["C"],
                    call.sizes["HW"],
                    *rows.strides("x"),
                    cols_0.strides("x")[0],
                    cols_1.strides("x")[0],
                    *rows.strides("weight"),
                    cols_0.strides("weight")[0],
                    *rows.strides("bias"),
                    cols_0.strides("bias")[0],
                    *rows.strides("out"),
                    cols_0.strides("out")[0],
                    cols_1.strides("out")[0],
                    *rows.strides("row_mean"),
                    *rows.strides("rstd"),
                ),
                params=("eps",),
                constants={
                    "LANES": config["TILE"] // vector,
                    "VECTOR": vector,
                    "EVEN": even,
                    "SPLITS": splits,
                    "CHUNK": chunk,
                    "BLOCK_S": next_power_of_2(splits),
                    "NEEDS_ROW_MEAN": call.needs("row_mean"),
                    "NEEDS_RSTD": call.needs("rstd"),
                },
                config=config,
            ),
            workspaces={
                "partial_mean": ((rows.total, splits), call.float),
                "partial_spread": ((rows.total, splits), call.float),
                "partial_count": ((rows.total, splits), call.float),
            },
        )

    if call.takes("block", block <= loop):
        config = call.choose(BLOCK_CONFIGS, block_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        return Launch(
            Step(
                _groupnorm_silu_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "weight", "bias", "out", "row_mean", "rstd"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols_0.total,
                    cols_1.total,
                    call.sizes["C"],
                    call.sizes["HW"],
                    *rows.strides("x"),
                    cols_0.strides("x")[0],
                    cols_1.strides("x")[0],
                    *rows.strides("weight"),
                    cols_0.strides("weight")[0],
                    *rows.strides("bias"),
                    cols_0.strides("bias")[0],
                    *rows.strides("out"),
                    cols_0.strides("out")[0],
                    cols_1.strides("out")[0],
                    *rows.strides("row_mean"),
                    *rows.strides("rstd"),
                ),
                params=("eps",),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_0": next_power_of_2(height),
                    "BLOCK_1": next_power_of_2(length),
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                    "EARLY": width <= 4096,
                    "NEEDS_ROW_MEAN": call.needs("row_mean"),
                    "NEEDS_RSTD": call.needs("rstd"),
                },
                config=config,
            )
        )

    config = call.choose(LOOP_CONFIGS, loop_time)
    vector = max(1, 16 // call.element_size)
    span = min(config["TILE"], max(vector, next_power_of_2(length)))
    even = columns > 0 and length % span == 0 and height % (config["TILE"] // span) == 0
    return Launch(
        Step(
            _groupnorm_silu_loop,
            grid=(rows.total,),
            tensors=("x", "weight", "bias", "out", "row_mean", "rstd"),
            integers=(
                *rows.sizes[1:],
                cols_0.total,
                cols_1.total,
                call.sizes["C"],
                call.sizes["HW"],
                *rows.strides("x"),
                cols_0.strides("x")[0],
                cols_1.strides("x")[0],
                *rows.strides("weight"),
                cols_0.strides("weight")[0],
                *rows.strides("bias"),
                cols_0.strides("bias")[0],
                *rows.strides("out"),
                cols_0.strides("out")[0],
                cols_1.strides("out")[0],
                *rows.strides("row_mean"),
                *rows.strides("rstd"),
            ),
            params=("eps",),
            constants={
                "LANES": config["TILE"] // vector,
                "VECTOR": vector,
                "EVEN": even,
                "WIDTH": span,
                "NEEDS_ROW_MEAN": call.needs("row_mean"),
                "NEEDS_RSTD": call.needs("rstd"),
            },
            config=config,
        )
    )


def _plan_backward_stage_1(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    call = call.among(
        "x", "weight", "bias", "row_mean", "rstd", "grad_out", "grad_weight", "grad_bias"
    )
    rows = call.axes(("G", "C"), limit=3, spare_last=True)
    cols_0 = call.axes(("B",), limit=1)
    cols_1 = call.axes(("HW",), limit=1)
    height, length = cols_0.total, cols_1.total
    columns = height * length
    width = next_power_of_2(height) * next_power_of_2(length)

    def block_time(config: Config) -> float:
        work = Work(reads=2, writes=0, flops=16, special=2, joins=4, held=3.5, held_wide=4)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BACKWARD_BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(reads=2, writes=0, flops=22.5, special=2, joins=2, held=2.25, held_wide=2.7)
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, BACKWARD_LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(reads=2, writes=0, flops=22.5, special=2, joins=4, held=2.25, held_wide=2.7)
        return split_cost(config, call.target, work, call.element_size, rows.total, columns)

    split = least(call, BACKWARD_LOOP_CONFIGS, split_time)

    if height == 1 and call.takes("split", split < min(block, loop)):
        config = call.choose(BACKWARD_LOOP_CONFIGS, split_time)
        splits, chunk = split_row(call.target, rows.total, columns, config["TILE"])
        vector = max(1, 16 // call.element_size)
        even = columns > 0 and columns % config["TILE"] == 0
        return Launch(
            Step(
                _groupnorm_silu_backward_stage_1_partial,
                grid=(rows.total * splits,),
                tensors=(
                    "x",
                    "weight",
                    "bias",
                    "row_mean",
                    "rstd",
                    "grad_out",
                    "partial_total",
                    "partial_total_2",
                ),
                integers=(
                    *rows.sizes[1:],
                    cols_0.total,
                    cols_1.total,
                    *rows.strides("weight"),
                    *rows.strides("bias"),
                    *rows.strides("grad_out"),
                    cols_0.strides("grad_out")[0],
                    cols_1.strides("grad_out")[0],
                    *rows.strides("x"),
                    cols_0.strides("x")[0],
                    cols_1.strides("x")[0],
                    *rows.strides("row_mean"),
                    cols_0.strides("row_mean")[0],
                    *rows.strides("rstd"),
                    cols_0.strides("rstd")[0],
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
                _groupnorm_silu_backward_stage_1_finish,
                grid=(rows.total,),
                tensors=("partial_total", "partial_total_2", "grad_weight", "grad_bias"),
                integers=(
                    *rows.sizes[1:],
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
                _groupnorm_silu_backward_stage_1_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=(
                    "x",
                    "weight",
                    "bias",
                    "row_mean",
                    "rstd",
                    "grad_out",
                    "grad_weight",
                    "grad_bias",
                ),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols_0.total,
                    cols_1.total,
                    *rows.strides("grad_out"),
                    cols_0.strides("grad_out")[0],
                    cols_1.strides("grad_out")[0],
                    *rows.strides("x"),
                    cols_0.strides("x")[0],
                    cols_1.strides("x")[0],
                    *rows.strides("row_mean"),
                    cols_0.strides("row_mean")[0],
                    *rows.strides("rstd"),
                    cols_0.strides("rstd")[0],
                    *rows.strides("weight"),
                    *rows.strides("bias"),
                    *rows.strides("grad_weight"),
                    *rows.strides("grad_bias"),
                ),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_0": next_power_of_2(height),
                    "BLOCK_1": next_power_of_2(length),
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
    span = min(config["TILE"], max(vector, next_power_of_2(length)))
    even = columns > 0 and length % span == 0 and height % (config["TILE"] // span) == 0
    return Launch(
        Step(
            _groupnorm_silu_backward_stage_1_loop,
            grid=(rows.total,),
            tensors=(
                "x",
                "weight",
                "bias",
                "row_mean",
                "rstd",
                "grad_out",
                "grad_weight",
                "grad_bias",
            ),
            integers=(
                *rows.sizes[1:],
                cols_0.total,
                cols_1.total,
                *rows.strides("weight"),
                *rows.strides("bias"),
                *rows.strides("grad_out"),
                cols_0.strides("grad_out")[0],
                cols_1.strides("grad_out")[0],
                *rows.strides("x"),
                cols_0.strides("x")[0],
                cols_1.strides("x")[0],
                *rows.strides("row_mean"),
                cols_0.strides("row_mean")[0],
                *rows.strides("rstd"),
                cols_0.strides("rstd")[0],
                *rows.strides("grad_weight"),
                *rows.strides("grad_bias"),
            ),
            constants={
                "LANES": config["TILE"] // vector,
                "VECTOR": vector,
                "EVEN": even,
                "WIDTH": span,
                "NEEDS_GRAD_WEIGHT": call.needs("grad_weight"),
                "NEEDS_GRAD_BIAS": call.needs("grad_bias"),
            },
            config=config,
        )
    )


def _plan_backward_stage_2(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    call = call.among("x", "weight", "bias", "row_mean", "rstd", "grad_out", "grad_x")
    rows = call.axes(("B", "G"), limit=3, spare_last=True)
    cols_0 = call.axes(("C",), limit=1)
    cols_1 = call.axes(("HW",), limit=1)
    height, length = cols_0.total, cols_1.total
    columns = height * length
    width = next_power_of_2(height) * next_power_of_2(length)

    def block_time(config: Config) -> float:
        work = Work(reads=2, writes=1, flops=22, special=2, joins=4, held=3.5625, held_wide=4.25)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BACKWARD_BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=2,
            writes=1,
            flops=37.5,
            special=4,
            rereads=2,
            joins=2,
            passes=2,
            held=2.2875,
            held_wide=2.85,
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, BACKWARD_LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=2,
            writes=1,
            flops=38.125,
            special=4.25,
            rereads=2,
            joins=2,
            passes=2,
            held=2.2875,
            held_wide=2.85,
        )
        return split_cost(config, call.target, work, call.element_size, rows.total, columns)

    split = least(call, BACKWARD_LOOP_CONFIGS, split_time)

    if height == 1 and call.takes("split", split < min(block, loop)):
        config = call.choose(BACKWARD_LOOP_CONFIGS, split_time)
        splits, chunk = split_row(call.target, rows.total, columns, config["TILE"])
        vector = max(1, 16 // call.element_size)
        even = columns > 0 and columns % config["TILE"] == 0
        return Launch(
            Step(
                _groupnorm_silu_backward_stage_2_partial,
                grid=(rows.total * splits,),
                tensors=(
                    "x",
                    "weight",
                    "bias",
                    "row_mean",
                    "rstd",
                    "grad_out",
                    "partial_total",
                    "partial_total_2",
                ),
                integers=(
                    *rows.sizes[1:],
                    cols_0.total,
                    cols_1.total,
                    *rows.strides("row_mean"),
                    *rows.strides("rstd"),
                    *rows.strides("grad_out"),
                    cols_0.strides("grad_out")[0],
                    cols_1.strides("grad_out")[0],
                    *rows.strides("x"),
                    cols_0.strides("x")[0],
                    cols_1.strides("x")[0],
                    *rows.strides("weight"),
                    cols_0.strides("weight")[0],
                    *rows.strides("bias"),
                    cols_0.strides("bias")[0],
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
                _groupnorm_silu_backward_stage_2_finish,
                grid=(rows.total * splits,),
                tensors=(
                    "partial_total",
                    "partial_total_2",
                    "x",
                    "weight",
                    "bias",
                    "row_mean",
                    "rstd",
                    "grad_out",
                    "grad_x",
                ),
                integers=(
                    *rows.sizes[1:],
                    cols_0.total,
                    cols_1.total,
                    call.sizes["C"],
                    call.sizes["HW"],
                    *rows.strides("row_mean"),
                    *rows.strides("rstd"),
                    *rows.strides("x"),
                    cols_0.strides("x")[0],
                    cols_1.strides("x")[0],
                    *rows.strides("grad_out"),
                    cols_0.strides("grad_out")[0],
                    cols_1.strides("grad_out")[0],
                    *rows.strides("weight"),
                    cols_0.strides("weight")[0],
                    *rows.strides("bias"),
                    cols_0.strides("bias")[0],
                    *rows.strides("grad_x"),
                    cols_0.strides("grad_x")[0],
                    cols_1.strides("grad_x")[0],
                ),
                constants={
                    "LANES": config["TILE"] // vector,
                    "VECTOR": vector,
                    "EVEN": even,
                    "SPLITS": splits,
                    "CHUNK": chunk,
                    "BLOCK_S": next_power_of_2(splits),
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
                _groupnorm_silu_backward_stage_2_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "weight", "bias", "row_mean", "rstd", "grad_out", "grad_x"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols_0.total,
                    cols_1.total,
                    call.sizes["C"],
                    call.sizes["HW"],
                    *rows.strides("grad_out"),
                    cols_0.strides("grad_out")[0],
                    cols_1.strides("grad_out")[0],
                    *rows.strides("x"),
                    cols_0.strides("x")[0],
                    cols_1.strides("x")[0],
                    *rows.strides("row_mean"),
                    *rows.strides("rstd"),
                    *rows.strides("weight"),
                    cols_0.strides("weight")[0],
                    *rows.strides("bias"),
                    cols_0.strides("bias")[0],
                    *rows.strides("grad_x"),
                    cols_0.strides("grad_x")[0],
                    cols_1.strides("grad_x")[0],
                ),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_0": next_power_of_2(height),
                    "BLOCK_1": next_power_of_2(length),
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
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
            _groupnorm_silu_backward_stage_2_loop,
            grid=(rows.total,),
            tensors=("x", "weight", "bias", "row_mean", "rstd", "grad_out", "grad_x"),
            integers=(
                *rows.sizes[1:],
                cols_0.total,
                cols_1.total,
                call.sizes["C"],
                call.sizes["HW"],
                *rows.strides("row_mean"),
                *rows.strides("rstd"),
                *rows.strides("grad_out"),
                cols_0.strides("grad_out")[0],
                cols_1.strides("grad_out")[0],
                *rows.strides("x"),
                cols_0.strides("x")[0],
                cols_1.strides("x")[0],
                *rows.strides("weight"),
                cols_0.strides("weight")[0],
                *rows.strides("bias"),
                cols_0.strides("bias")[0],
                *rows.strides("grad_x"),
                cols_0.strides("grad_x")[0],
                cols_1.strides("grad_x")[0],
            ),
            constants={
                "LANES": config["TILE"] // vector,
                "VECTOR": vector,
                "EVEN": even,
                "WIDTH": span,
            },
            config=config,
        )
    )


def _plan_backward(call: Call) -> Launch:
    """Stage after stage."""
    return in_stages(
        _plan_backward_stage_1(call) if call.needs("grad_weight", "grad_bias") else None,
        _plan_backward_stage_2(call) if call.needs("grad_x") else None,
    )


def reference(x, weight, bias, groups, eps, *, compute):
    """Group norm (Wu and He, arXiv:1803.08494), then SiLU, as in a diffusion U-Net's blocks.

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    G = groups
    C = x.shape[1] // G
    x = widen(x.unflatten(1, (G, C)), compute)
    weight = widen(weight.unflatten(0, (G, C)), compute)
    bias = widen(bias.unflatten(0, (G, C)), compute)
    # rstd = rsqrt(variance(x, (C, HW)) + eps)
    rstd = torch.rsqrt(x.var((2, 3), correction=0) + eps)
    # normed = (x - mean(x, (C, HW))) * rstd
    normed = (x - x.mean((2, 3))[:, :, None, None]) * rstd[:, :, None, None]
    # return silu(normed * weight + bias)
    value = normed * weight[:, :, None] + bias[:, :, None]
    return (value * torch.sigmoid(value)).flatten(1, 2), x.mean((2, 3)), rstd


def reference_backward(x, weight, bias, row_mean, rstd, grad_out, groups, eps, *, compute):
    """The gradient of `reference`, as the kernels compute it."""
    G = groups
    C = x.shape[1] // G
    HW = x.shape[2]
    x = widen(x.unflatten(1, (G, C)), compute)
    weight = widen(weight.unflatten(0, (G, C)), compute)
    bias = widen(bias.unflatten(0, (G, C)), compute)
    row_mean = widen(row_mean, compute)
    rstd = widen(rstd, compute)
    grad_out = widen(grad_out.unflatten(1, (G, C)), compute)
    # normed = (x - mean(x, (C, HW))) * rstd
    value = x - row_mean[:, :, None, None]
    normed = value * rstd[:, :, None, None]
    # return silu(normed * weight + bias)
    value_2 = normed * weight[:, :, None] + bias[:, :, None]
    value_3 = torch.sigmoid(value_2)
    value_4 = grad_out * value_3 + grad_out * value_2 * (value_3 * (1.0 - value_3))
    grad_normed = value_4 * weight[:, :, None]
    # rstd = rsqrt(variance(x, (C, HW)) + eps)
    grad_rstd = (grad_normed * value).sum((2, 3))
    value_5 = float(C) * float(HW)
    value_6 = grad_normed * rstd[:, :, None, None]
    grad_x = (
        (2.0 * (-0.5 * grad_rstd * (rstd * rstd * rstd)) / value_5)[:, :, None, None] * value
        + value_6
        + ((-value_6).sum((2, 3)) / value_5)[:, :, None, None]
    )
    grad_weight = (value_4 * normed).sum((0, 3))
    grad_bias = value_4.sum((0, 3))
    return grad_x.flatten(1, 2), grad_weight.flatten(0, 1), grad_bias.flatten(0, 1)


BACKWARD = Op(
    name="groupnorm_silu_backward",
    spec_hash="bf8a903e",
    inputs=(
        Operand("x", ("B", ("G", "C"), "HW")),
        Operand("weight", (("G", "C"),)),
        Operand("bias", (("G", "C"),)),
        Operand("row_mean", ("B", "G")),
        Operand("rstd", ("B", "G")),
        Operand("grad_out", ("B", ("G", "C"), "HW")),
    ),
    params=(Param("groups", "size", 32, dim="G"), Param("eps", "float", 1e-05)),
    outputs=(
        Output("grad_x", ("B", ("G", "C"), "HW"), like="x"),
        Output("grad_weight", (("G", "C"),), like="weight"),
        Output("grad_bias", (("G", "C"),), like="bias"),
    ),
    fold="HW",
    shards={"B": ("grad_weight", "grad_bias")},
    partial=True,
    variants={
        (): Variant(_plan_backward, reference_backward),
    },
)
OP = Op(
    name="groupnorm_silu",
    spec_hash="bf8a903e",
    inputs=(
        Operand("x", ("B", ("G", "C"), "HW")),
        Operand("weight", (("G", "C"),)),
        Operand("bias", (("G", "C"),)),
    ),
    params=(Param("groups", "size", 32, dim="G"), Param("eps", "float", 1e-05)),
    outputs=(Output("out", ("B", ("G", "C"), "HW"), like="x"),),
    saved=(
        Output("row_mean", ("B", "G"), dtype="float"),
        Output("rstd", ("B", "G"), dtype="float"),
    ),
    fold="HW",
    inplace=("x",),
    shards={"B": ()},
    gradients=Gradients({"out": "grad_out"}, BACKWARD),
    variants={
        (): Variant(
            _plan,
            reference,
            gradients={"x": "grad_x", "weight": "grad_weight", "bias": "grad_bias"},
        ),
    },
)


def groupnorm_silu(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    groups: int = 32,
    eps: float = 1e-05,
    *,
    out: torch.Tensor | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> torch.Tensor:
    """Group norm (Wu and He, arXiv:1803.08494), then SiLU, as in a diffusion U-Net's blocks.

    Args:
        x: [B, G * C, HW], floats.
        weight: [G * C], floats.
        bias: [G * C], floats.
        groups: the size of G.
        eps: float.
        out: where to write out.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        out: [B, G * C, HW], the type of x.
        HW may stand for several dimensions.
    """
    tensors = (x, weight, bias)
    params = (groups, eps)
    return OP(tensors, params, out, backend, autotune)
