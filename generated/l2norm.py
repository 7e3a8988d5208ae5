"""Divide each row by its Euclidean norm, or by eps where that is larger.

Built by tilegen 0.1.0 from specs/l2norm.py (spec 4e0889c5, templates d13e90b1).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 2*M*N*e bytes (e: bytes of an element)
Work: 3*M*N + 2*M flops, M of them exponentials, roots and quotients
Bound: memory on every target
Eager PyTorch: 5 kernels, 3.0 times the bytes
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
    least,
    loop_cost,
    maximum,
    narrow,
    next_power_of_2,
    scalar,
    split_cost,
    split_row,
    widen,
)

_BLOCK_1 = (
    Config(TILE=4096, num_warps=4),  # at most 128 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 128 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 256 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 256 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 512 B shared, unproven
    Config(TILE=32768, num_warps=32),  # at most 1024 B shared, unproven
)
_BLOCK_2 = (
    Config(TILE=512, num_warps=1),  # at most 64 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 128 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 512 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 512 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 1024 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 2048 B shared, unproven
)
_BLOCK_3 = (
    Config(TILE=4096, num_warps=4, registers=48),  # 128 B shared
    Config(TILE=4096, num_warps=8, registers=32),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=80),  # 256 B shared
    Config(TILE=8192, num_warps=8, registers=47),  # 256 B shared
    Config(TILE=16384, num_warps=8, registers=80),  # 512 B shared
    Config(TILE=32768, num_warps=32, registers=64),  # 1024 B shared
)
_BLOCK_4 = (
    Config(TILE=4096, num_warps=4, registers=51),  # 128 B shared
    Config(TILE=4096, num_warps=8, registers=32),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=78),  # 256 B shared
    Config(TILE=8192, num_warps=8, registers=47),  # 256 B shared
    Config(TILE=16384, num_warps=8, registers=79),  # 512 B shared
    Config(TILE=32768, num_warps=32, registers=48),  # 1024 B shared
)
_BLOCK_5 = (
    Config(TILE=4096, num_warps=4, registers=58),  # 128 B shared
    Config(TILE=4096, num_warps=8, registers=32),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=124),  # 256 B shared
    Config(TILE=8192, num_warps=8, registers=58),  # 256 B shared
    Config(TILE=16384, num_warps=8, registers=124),  # 512 B shared
    Config(TILE=32768, num_warps=32, registers=58),  # 1024 B shared
)
_BLOCK_6 = (
    Config(TILE=512, num_warps=1, registers=66),  # 32 B shared
    Config(TILE=1024, num_warps=1, registers=116),  # 64 B shared
    Config(TILE=4096, num_warps=8, registers=84),  # 512 B shared
    Config(TILE=4096, num_warps=2, registers=254, spills=2),  # 512 B shared, 48 B spilled
    Config(TILE=8192, num_warps=4, registers=255, spills=2),  # 1024 B shared, 224 B spilled
    Config(TILE=16384, num_warps=16, registers=128, spills=2),  # 2048 B shared, 168 B spilled
)
_BLOCK_7 = (
    Config(TILE=4096, num_warps=1),  # at most 256 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 256 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 256 B shared, unproven
    Config(TILE=8192, num_warps=2),  # at most 512 B shared, unproven
    Config(TILE=16384, num_warps=4),  # at most 1024 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 2048 B shared, unproven
)
#: Whole rows in registers, TILE elements to a program; by architecture class and element size in bytes.
BLOCK_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2, 4), _BLOCK_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BLOCK_2),
    (("sm_90",), (1,), _BLOCK_3),
    (("sm_90",), (2,), _BLOCK_4),
    (("sm_90",), (4,), _BLOCK_5),
    (("sm_90",), (8,), _BLOCK_6),
    (("gfx90a", "gfx942", "gfx950"), (1, 2, 4, 8), _BLOCK_7),
)

_LOOP_1 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 2048 B shared, unproven
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
    Config(TILE=8192, num_warps=32),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 65536 B shared, unproven
)
_LOOP_3 = (
    Config(TILE=2048, num_warps=4, registers=32),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=29),  # 4096 B shared, 32 registers in split rows
    Config(TILE=8192, num_warps=4, registers=32),  # 16 B shared
    Config(TILE=8192, num_warps=16, registers=32),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=42),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=36),  # 128 B shared
)
_LOOP_4 = (
    Config(TILE=2048, num_warps=4, registers=32),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=32),  # 32 B shared
    Config(TILE=8192, num_warps=4, registers=56),  # 16 B shared
    Config(TILE=8192, num_warps=16, registers=32),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=59),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=32),  # 128 B shared
)
_LOOP_5 = (
    Config(TILE=2048, num_warps=4, registers=40),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=34),  # 32 B shared
    Config(TILE=8192, num_warps=4, registers=94),  # 16 B shared
    Config(TILE=8192, num_warps=16, registers=38),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=96),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=50),  # 128 B shared
)
_LOOP_6 = (
    Config(TILE=2048, num_warps=4, registers=56),  # 32 B shared
    Config(TILE=2048, num_warps=8, registers=40),  # 64 B shared
    Config(TILE=2048, num_warps=16, registers=32),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=162),  # 32 B shared
    Config(TILE=8192, num_warps=32, registers=36),  # 256 B shared
    Config(TILE=16384, num_warps=32, registers=52),  # 256 B shared
)
_LOOP_7 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 32768 B shared, unproven
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
    Config(TILE=8192, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 65536 B shared, unproven
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
    Config(TILE=4096, num_warps=2),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 64 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 128 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 128 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 256 B shared, unproven
    Config(TILE=32768, num_warps=32),  # at most 512 B shared, unproven
)
_BACKWARD_BLOCK_2 = (
    Config(TILE=512, num_warps=1),  # at most 32 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 256 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 256 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 512 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 1024 B shared, unproven
)
_BACKWARD_BLOCK_3 = (
    Config(TILE=512, num_warps=1),  # at most 64 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 64 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 128 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 512 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 512 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 1024 B shared, unproven
)
_BACKWARD_BLOCK_4 = (
    Config(TILE=4096, num_warps=2, registers=144),  # 8 B shared
    Config(TILE=4096, num_warps=8, registers=48),  # 32 B shared
    Config(TILE=8192, num_warps=4, registers=144),  # 16 B shared
    Config(TILE=8192, num_warps=8, registers=80),  # 32 B shared
    Config(TILE=16384, num_warps=8, registers=147),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=64, spills=2),  # 128 B shared, 52 B spilled
)
_BACKWARD_BLOCK_5 = (
    Config(TILE=4096, num_warps=2, registers=141),  # 8 B shared
    Config(TILE=4096, num_warps=8, registers=46),  # 32 B shared
    Config(TILE=8192, num_warps=4, registers=141),  # 16 B shared
    Config(TILE=8192, num_warps=8, registers=78),  # 32 B shared
    Config(TILE=16384, num_warps=8, registers=144),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=64, spills=2),  # 128 B shared, 44 B spilled
)
_BACKWARD_BLOCK_6 = (
    Config(TILE=512, num_warps=1, registers=61),  # 0 B shared
    Config(TILE=1024, num_warps=1, registers=95),  # 0 B shared
    Config(TILE=4096, num_warps=2, registers=163),  # 8 B shared
    Config(TILE=4096, num_warps=8, registers=47),  # 32 B shared
    Config(TILE=8192, num_warps=4, registers=163),  # 16 B shared
    Config(TILE=16384, num_warps=16, registers=83),  # 64 B shared
)
_BACKWARD_BLOCK_7 = (
    Config(TILE=512, num_warps=1, registers=96),  # 0 B shared
    Config(TILE=1024, num_warps=1, registers=200),  # 0 B shared
    Config(TILE=4096, num_warps=8, registers=159),  # 512 B shared
    Config(TILE=512, num_warps=2, registers=64, spills=2),  # 64 B shared, 4 B spilled
    Config(TILE=4096, num_warps=4, registers=255, spills=2),  # 512 B shared, 4 B spilled
    Config(TILE=8192, num_warps=16, registers=128, spills=2),  # 1024 B shared, 16 B spilled
)
_BACKWARD_BLOCK_8 = (
    Config(TILE=4096, num_warps=4),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 64 B shared, unproven
    Config(TILE=8192, num_warps=2),  # at most 128 B shared, unproven
    Config(TILE=16384, num_warps=4),  # at most 256 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 512 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 512 B shared, unproven
)
#: Whole rows in registers, TILE elements to a program; by architecture class and element size in bytes.
BACKWARD_BLOCK_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2), _BACKWARD_BLOCK_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (4,), _BACKWARD_BLOCK_2),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BACKWARD_BLOCK_2),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BACKWARD_BLOCK_3),
    (("sm_90",), (1,), _BACKWARD_BLOCK_4),
    (("sm_90",), (2,), _BACKWARD_BLOCK_5),
    (("sm_90",), (4,), _BACKWARD_BLOCK_6),
    (("sm_90",), (8,), _BACKWARD_BLOCK_7),
    (("gfx90a", "gfx942", "gfx950"), (1, 2, 4), _BACKWARD_BLOCK_8),
)

_BACKWARD_LOOP_1 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=32768, num_warps=32),  # at most 32768 B shared, unproven
)
_BACKWARD_LOOP_2 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 65536 B shared, unproven
)
_BACKWARD_LOOP_3 = (
    Config(TILE=2048, num_warps=4, registers=31),  # 16 B shared, 32 registers in split rows
    Config(TILE=2048, num_warps=8, registers=26),  # 32 B shared
    Config(TILE=4096, num_warps=4, registers=32),  # 16 B shared, 36 registers in split rows
    Config(TILE=8192, num_warps=16, registers=31),  # 64 B shared, 32 registers in split rows
    Config(TILE=16384, num_warps=8, registers=44),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=32),  # 128 B shared
)
_BACKWARD_LOOP_4 = (
    Config(TILE=2048, num_warps=4, registers=32),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=36),  # 32 B shared
    Config(TILE=4096, num_warps=4, registers=40),  # 16 B shared
    Config(TILE=8192, num_warps=16, registers=30),  # 64 B shared, 32 registers in split rows
    Config(TILE=16384, num_warps=8, registers=84),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=46),  # 128 B shared
)
_BACKWARD_LOOP_5 = (
    Config(TILE=2048, num_warps=4, registers=44),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=43),  # 32 B shared
    Config(TILE=4096, num_warps=4, registers=54),  # 16 B shared
    Config(TILE=8192, num_warps=16, registers=51),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=103),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=60),  # 128 B shared
)
_BACKWARD_LOOP_6 = (
    Config(TILE=2048, num_warps=4, registers=64),  # 32 B shared
    Config(TILE=2048, num_warps=8, registers=48),  # 64 B shared
    Config(TILE=2048, num_warps=16, registers=40),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=174),  # 32 B shared
    Config(TILE=8192, num_warps=16, registers=64),  # 128 B shared
    Config(TILE=16384, num_warps=32, registers=60),  # 256 B shared
)
_BACKWARD_LOOP_7 = (
    Config(TILE=8192, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 4096 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 4096 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 8192 B shared, unproven
)
_BACKWARD_LOOP_8 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 131072 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 131072 B shared, unproven
)
_BACKWARD_LOOP_9 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
)
#: Sweeps over one row, TILE elements at a time; by architecture class and element size in bytes.
BACKWARD_LOOP_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2, 4), _BACKWARD_LOOP_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BACKWARD_LOOP_2),
    (("sm_90",), (1,), _BACKWARD_LOOP_3),
    (("sm_90",), (2,), _BACKWARD_LOOP_4),
    (("sm_90",), (4,), _BACKWARD_LOOP_5),
    (("sm_90",), (8,), _BACKWARD_LOOP_6),
    (("gfx90a", "gfx942", "gfx950"), (1,), _BACKWARD_LOOP_7),
    (("gfx90a", "gfx942", "gfx950"), (2, 4), _BACKWARD_LOOP_8),
    (("gfx950",), (8,), _BACKWARD_LOOP_8),
    (("gfx90a", "gfx942"), (8,), _BACKWARD_LOOP_9),
)


# Loads: "evict_last" keeps what a kernel reads in L2 over what it writes, and a row until its last
# sweep, which is "evict_first". On an H200 that is 2 to 10 percent of the copy rate.
@triton.jit
def _l2norm_block(
    x_ptr,
    out_ptr,
    row_sum_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    row_sum_row_0,
    row_sum_row_1,
    row_sum_row_2,
    eps,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    NEEDS_ROW_SUM: tl.constexpr,
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
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    row_sum_rows = (
        row_sum_ptr + row_0 * row_sum_row_0 + row_1 * row_sum_row_1 + row_2 * row_sum_row_2
    )

    eps = scalar(eps, FLOAT)

    x = tl.load(
        x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    # square = maximum(sum(x * x), eps * eps)
    row_sum = tl.sum(x * x, axis=1, keep_dims=True)
    square = maximum(row_sum, eps * eps)
    # return x * rsqrt(square)
    tl.store(
        out_rows + cols * out_col,
        narrow(x * tl.rsqrt(square), out_ptr.dtype.element_ty),
        mask=in_rows & in_cols,
    )
    if NEEDS_ROW_SUM:
        tl.store(row_sum_rows, narrow(row_sum, row_sum_ptr.dtype.element_ty), mask=in_rows)


@triton.jit
def _l2norm_loop(
    x_ptr,
    out_ptr,
    row_sum_ptr,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    row_sum_row_0,
    row_sum_row_1,
    row_sum_row_2,
    eps,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    NEEDS_ROW_SUM: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program goes over one row twice, block by block."""
    rows = tl.program_id(0).to(INT) + tl.arange(0, 1)[:, None]
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    row_sum_rows = (
        row_sum_ptr + row_0 * row_sum_row_0 + row_1 * row_sum_row_1 + row_2 * row_sum_row_2
    )

    eps = scalar(eps, FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # square = maximum(sum(x * x), eps * eps)
        total = total + tl.sum(x * x, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)

    square = maximum(row_sum, eps * eps)
    # return x * rsqrt(square)
    value = tl.rsqrt(square)

    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        tl.store(
            out_rows + cols * out_col,
            narrow(x * value, out_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )

    if NEEDS_ROW_SUM:
        tl.store(row_sum_rows, narrow(row_sum, row_sum_ptr.dtype.element_ty))


@triton.jit
def _l2norm_partial(
    x_ptr,
    partial_total_ptr,
    ROWS_1,
    ROWS_2,
    N,
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
    stop = tl.minimum((split + 1) * CHUNK, N)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        # square = maximum(sum(x * x), eps * eps)
        total = total + tl.sum(x * x, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, row_sum)


@triton.jit
def _l2norm_finish(
    partial_total_ptr,
    x_ptr,
    out_ptr,
    row_sum_ptr,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    row_sum_row_0,
    row_sum_row_1,
    row_sum_row_2,
    eps,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    SPLITS: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK_S: tl.constexpr,
    NEEDS_ROW_SUM: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program joins the partial states of a row, then goes over one chunk of it."""
    split = (tl.program_id(0) % SPLITS).to(INT)
    rows = (tl.program_id(0) // SPLITS).to(INT) + tl.arange(0, 1)[:, None]
    stop = tl.minimum((split + 1) * CHUNK, N)
    leads = rows * 0 + split == 0
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    row_sum_rows = (
        row_sum_ptr + row_0 * row_sum_row_0 + row_1 * row_sum_row_1 + row_2 * row_sum_row_2
    )

    eps = scalar(eps, FLOAT)

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_sum = tl.sum(total, axis=0, keep_dims=True)
    # square = maximum(sum(x * x), eps * eps)
    square = maximum(row_sum, eps * eps)
    # return x * rsqrt(square)
    value = tl.rsqrt(square)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        tl.store(
            out_rows + cols * out_col,
            narrow(x * value, out_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )

    if NEEDS_ROW_SUM:
        tl.store(row_sum_rows, narrow(row_sum, row_sum_ptr.dtype.element_ty), mask=leads)


@triton.jit
def _l2norm_backward_block(
    x_ptr,
    row_sum_ptr,
    grad_out_ptr,
    grad_x_ptr,
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
    row_sum_row_0,
    row_sum_row_1,
    row_sum_row_2,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
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
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    row_sum_rows = (
        row_sum_ptr + row_0 * row_sum_row_0 + row_1 * row_sum_row_1 + row_2 * row_sum_row_2
    )
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    eps = scalar(eps, FLOAT)

    grad_out = tl.load(
        grad_out_rows + cols * grad_out_col,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    x = tl.load(
        x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    row_sum = tl.load(row_sum_rows, mask=in_rows, other=0.0, eviction_policy="evict_last").to(FLOAT)
    # square = maximum(sum(x * x), eps * eps)
    value = eps * eps
    square = maximum(row_sum, value)
    # return x * rsqrt(square)
    value_2 = tl.rsqrt(square)
    row_sum_2 = tl.sum(grad_out * x, axis=1, keep_dims=True)
    grad_square = -0.5 * row_sum_2 * (value_2 * value_2 * value_2)
    grad_x = grad_out * value_2 + 2.0 * tl.where(row_sum >= value, grad_square, 0.0) * x
    tl.store(
        grad_x_rows + cols * grad_x_col,
        narrow(grad_x, grad_x_ptr.dtype.element_ty),
        mask=in_rows & in_cols,
    )


@triton.jit
def _l2norm_backward_loop(
    x_ptr,
    row_sum_ptr,
    grad_out_ptr,
    grad_x_ptr,
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
    row_sum_row_0,
    row_sum_row_1,
    row_sum_row_2,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    eps,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
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
    row_sum_rows = (
        row_sum_ptr + row_0 * row_sum_row_0 + row_1 * row_sum_row_1 + row_2 * row_sum_row_2
    )
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    eps = scalar(eps, FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

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

    row_sum = tl.sum(total, axis=0, keep_dims=True)

    row_sum_2 = tl.load(row_sum_rows).to(FLOAT)
    # square = maximum(sum(x * x), eps * eps)
    value = eps * eps
    square = maximum(row_sum_2, value)
    # return x * rsqrt(square)
    value_2 = tl.rsqrt(square)
    grad_square = -0.5 * row_sum * (value_2 * value_2 * value_2)
    value_3 = 2.0 * tl.where(row_sum_2 >= value, grad_square, 0.0)

    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        grad_out = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        grad_x = grad_out * value_2 + value_3 * x
        tl.store(
            grad_x_rows + cols * grad_x_col,
            narrow(grad_x, grad_x_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )


@triton.jit
def _l2norm_backward_partial(
    x_ptr,
    grad_out_ptr,
    partial_total_ptr,
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
    stop = tl.minimum((split + 1) * CHUNK, N)
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

    row_sum = tl.sum(total, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, row_sum)


@triton.jit
def _l2norm_backward_finish(
    partial_total_ptr,
    x_ptr,
    row_sum_ptr,
    grad_out_ptr,
    grad_x_ptr,
    ROWS_1,
    ROWS_2,
    N,
    row_sum_row_0,
    row_sum_row_1,
    row_sum_row_2,
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
    eps,
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
    stop = tl.minimum((split + 1) * CHUNK, N)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    row_sum_rows = (
        row_sum_ptr + row_0 * row_sum_row_0 + row_1 * row_sum_row_1 + row_2 * row_sum_row_2
    )
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    eps = scalar(eps, FLOAT)

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_sum = tl.sum(total, axis=0, keep_dims=True)
    row_sum_2 = tl.load(row_sum_rows).to(FLOAT)
    # square = maximum(sum(x * x), eps * eps)
    value = eps * eps
    square = maximum(row_sum_2, value)
    # return x * rsqrt(square)
    value_2 = tl.rsqrt(square)
    grad_square = -0.5 * row_sum * (value_2 * value_2 * value_2)
    value_3 = 2.0 * tl.where(row_sum_2 >= value, grad_square, 0.0)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        grad_out = tl.load(grad_out_rows + cols * grad_out_col, mask=in_cols, other=0.0).to(FLOAT)
        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        grad_x = grad_out * value_2 + value_3 * x
        tl.store(
            grad_x_rows + cols * grad_x_col,
            narrow(grad_x, grad_x_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("M",), limit=3, spare_last=True)
    cols = call.axes(("N",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=1, writes=1, flops=3, joins=1)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=1, writes=1, flops=3.25, rereads=1, joins=1, passes=2, held=0.6, held_wide=0.75
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=1,
            writes=1,
            flops=3.5,
            special=0.125,
            rereads=1,
            joins=1,
            passes=2,
            held=0.6,
            held_wide=0.75,
        )
        return split_cost(config, call.target, work, call.element_size, rows.total, columns)

    split = least(call, LOOP_CONFIGS, split_time)

    if call.takes("split", split < min(block, loop)):
        config = call.choose(LOOP_CONFIGS, split_time)
        splits, chunk = split_row(call.target, rows.total, columns, config["TILE"])
        vector = max(1, 16 // call.element_size)
        even = columns > 0 and columns % config["TILE"] == 0
        return Launch(
            Step(
                _l2norm_partial,
                grid=(rows.total * splits,),
                tensors=("x", "partial_total"),
                integers=(*rows.sizes[1:], cols.total, *rows.strides("x"), cols.strides("x")[0]),
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
                _l2norm_finish,
                grid=(rows.total * splits,),
                tensors=("partial_total", "x", "out", "row_sum"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("out"),
                    cols.strides("out")[0],
                    *rows.strides("row_sum"),
                ),
                params=("eps",),
                constants={
                    "LANES": config["TILE"] // vector,
                    "VECTOR": vector,
                    "EVEN": even,
                    "SPLITS": splits,
                    "CHUNK": chunk,
                    "BLOCK_S": next_power_of_2(splits),
                    "NEEDS_ROW_SUM": call.needs("row_sum"),
                },
                config=config,
            ),
            workspaces={
                "partial_total": ((rows.total, splits), call.float),
            },
        )

    if call.takes("block", block <= loop):
        config = call.choose(BLOCK_CONFIGS, block_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        return Launch(
            Step(
                _l2norm_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "out", "row_sum"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("out"),
                    cols.strides("out")[0],
                    *rows.strides("row_sum"),
                ),
                params=("eps",),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_N": width,
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                    "NEEDS_ROW_SUM": call.needs("row_sum"),
                },
                config=config,
            )
        )

    config = call.choose(LOOP_CONFIGS, loop_time)
    vector = max(1, 16 // call.element_size)
    even = columns > 0 and columns % config["TILE"] == 0
    return Launch(
        Step(
            _l2norm_loop,
            grid=(rows.total,),
            tensors=("x", "out", "row_sum"),
            integers=(
                *rows.sizes[1:],
                cols.total,
                *rows.strides("x"),
                cols.strides("x")[0],
                *rows.strides("out"),
                cols.strides("out")[0],
                *rows.strides("row_sum"),
            ),
            params=("eps",),
            constants={
                "LANES": config["TILE"] // vector,
                "VECTOR": vector,
                "EVEN": even,
                "NEEDS_ROW_SUM": call.needs("row_sum"),
            },
            config=config,
        )
    )


def _plan_backward(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("M",), limit=3, spare_last=True)
    cols = call.axes(("N",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=2, writes=1, flops=5, joins=1, held_wide=2)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BACKWARD_BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=2, writes=1, flops=5.25, rereads=2, joins=1, passes=2, held=0.675, held_wide=1.35
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, BACKWARD_LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=2, writes=1, flops=5.75, rereads=2, joins=1, passes=2, held=0.675, held_wide=1.35
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
                _l2norm_backward_partial,
                grid=(rows.total * splits,),
                tensors=("x", "grad_out", "partial_total"),
                integers=(
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
                _l2norm_backward_finish,
                grid=(rows.total * splits,),
                tensors=("partial_total", "x", "row_sum", "grad_out", "grad_x"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("row_sum"),
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
                ),
                params=("eps",),
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
            },
        )

    if call.takes("block", block <= loop):
        config = call.choose(BACKWARD_BLOCK_CONFIGS, block_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        return Launch(
            Step(
                _l2norm_backward_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "row_sum", "grad_out", "grad_x"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("row_sum"),
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
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

    config = call.choose(BACKWARD_LOOP_CONFIGS, loop_time)
    vector = max(1, 16 // call.element_size)
    even = columns > 0 and columns % config["TILE"] == 0
    return Launch(
        Step(
            _l2norm_backward_loop,
            grid=(rows.total,),
            tensors=("x", "row_sum", "grad_out", "grad_x"),
            integers=(
                *rows.sizes[1:],
                cols.total,
                *rows.strides("grad_out"),
                cols.strides("grad_out")[0],
                *rows.strides("x"),
                cols.strides("x")[0],
                *rows.strides("row_sum"),
                *rows.strides("grad_x"),
                cols.strides("grad_x")[0],
            ),
            params=("eps",),
            constants={"LANES": config["TILE"] // vector, "VECTOR": vector, "EVEN": even},
            config=config,
        )
    )


def reference(x, eps, *, compute):
    """Divide each row by its Euclidean norm, or by eps where that is larger.

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x = widen(x, compute)
    # square = maximum(sum(x * x), eps * eps)
    square = (x * x).sum(-1).clamp(min=eps * eps)
    return x * torch.rsqrt(square)[:, None], (x * x).sum(-1)


def reference_backward(x, row_sum, grad_out, eps, *, compute):
    """The gradient of `reference`, as the kernels compute it."""
    x = widen(x, compute)
    row_sum = widen(row_sum, compute)
    grad_out = widen(grad_out, compute)
    # square = maximum(sum(x * x), eps * eps)
    value = eps * eps
    square = row_sum.clamp(min=value)
    # return x * rsqrt(square)
    value_2 = torch.rsqrt(square)
    grad_square = -0.5 * (grad_out * x).sum(-1) * (value_2 * value_2 * value_2)
    grad_x = (
        grad_out * value_2[:, None]
        + (2.0 * torch.where(row_sum >= value, grad_square, 0.0))[:, None] * x
    )
    return grad_x


BACKWARD = Op(
    name="l2norm_backward",
    spec_hash="4e0889c5",
    inputs=(Operand("x", ("M", "N")), Operand("row_sum", ("M",)), Operand("grad_out", ("M", "N"))),
    params=(Param("eps", "float", 1e-12),),
    outputs=(Output("grad_x", ("M", "N"), like="x"),),
    fold="M",
    shards={"M": ()},
    partial=True,
    variants={
        (): Variant(_plan_backward, reference_backward),
    },
)
OP = Op(
    name="l2norm",
    spec_hash="4e0889c5",
    inputs=(Operand("x", ("M", "N")),),
    params=(Param("eps", "float", 1e-12),),
    outputs=(Output("out", ("M", "N"), like="x"),),
    saved=(Output("row_sum", ("M",), dtype="float"),),
    fold="M",
    inplace=("x",),
    shards={"M": ()},
    gradients=Gradients({"out": "grad_out"}, BACKWARD),
    variants={
        (): Variant(_plan, reference, gradients={"x": "grad_x"}),
    },
)


def l2norm(
    x: torch.Tensor,
    eps: float = 1e-12,
    *,
    out: torch.Tensor | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> torch.Tensor:
    """Divide each row by its Euclidean norm, or by eps where that is larger.

    Args:
        x: [M, N], floats.
        eps: float.
        out: where to write out.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        out: [M, N], the type of x.
        M may stand for several dimensions.
    """
    tensors = (x,)
    params = (eps,)
    return OP(tensors, params, out, backend, autotune)
