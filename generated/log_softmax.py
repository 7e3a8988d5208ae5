"""Logarithm of the softmax of each row, without forming the softmax.

Built by tilegen 0.1.0 from specs/log_softmax.py (spec 0a8f983a, templates d13e90b1).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 2*M*N*e bytes (e: bytes of an element)
Work: 5*M*N + 3*M flops, M*N + M of them exponentials, roots and quotients
Bound: memory on every target
Eager PyTorch: 6 kernels, 4.0 times the bytes
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
    exp,
    least,
    logsumexp_end,
    logsumexp_step,
    loop_cost,
    lowest_padded,
    nan_max,
    narrow,
    next_power_of_2,
    split_cost,
    split_row,
    widen,
)

_BLOCK_1 = (
    Config(TILE=4096, num_warps=4),  # at most 256 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 256 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 512 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 512 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 1024 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 2048 B shared, unproven
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
    Config(TILE=8192, num_warps=4, registers=95),  # 256 B shared
    Config(TILE=8192, num_warps=8, registers=48),  # 256 B shared
    Config(TILE=16384, num_warps=8, registers=96),  # 512 B shared
    Config(TILE=32768, num_warps=16, registers=96),  # 1024 B shared
)
_BLOCK_4 = (
    Config(TILE=4096, num_warps=4, registers=55),  # 128 B shared
    Config(TILE=4096, num_warps=8, registers=32),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=93),  # 256 B shared
    Config(TILE=8192, num_warps=8, registers=52),  # 256 B shared
    Config(TILE=16384, num_warps=8, registers=96),  # 512 B shared
    Config(TILE=32768, num_warps=16, registers=101),  # 1024 B shared
)
_BLOCK_5 = (
    Config(TILE=4096, num_warps=4, registers=73),  # 128 B shared
    Config(TILE=4096, num_warps=8, registers=40),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=124),  # 256 B shared
    Config(TILE=8192, num_warps=8, registers=76),  # 256 B shared
    Config(TILE=16384, num_warps=8, registers=124),  # 512 B shared
    Config(TILE=32768, num_warps=16, registers=125),  # 1024 B shared
)
_BLOCK_6 = (
    Config(TILE=512, num_warps=1, registers=78),  # 32 B shared
    Config(TILE=1024, num_warps=1, registers=157),  # 64 B shared
    Config(TILE=4096, num_warps=8, registers=119),  # 512 B shared
    Config(TILE=4096, num_warps=2, registers=255, spills=2),  # 512 B shared, 96 B spilled
    Config(TILE=8192, num_warps=4, registers=255, spills=2),  # 1024 B shared, 172 B spilled
    Config(TILE=16384, num_warps=16, registers=128, spills=2),  # 2048 B shared, 172 B spilled
)
#: Whole rows in registers, TILE elements to a program; by architecture class and element size in bytes.
BLOCK_CONFIGS = by_class(
    (
        ("sm_80", "sm_100", "sm_89", "sm_86", "sm_120", "gfx90a", "gfx942", "gfx950"),
        (1, 2, 4),
        _BLOCK_1,
    ),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BLOCK_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BLOCK_2),
    (("sm_90",), (1,), _BLOCK_3),
    (("sm_90",), (2,), _BLOCK_4),
    (("sm_90",), (4,), _BLOCK_5),
    (("sm_90",), (8,), _BLOCK_6),
)

_LOOP_1 = (
    Config(TILE=2048, num_warps=4),  # at most 1024 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 4096 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=32768, num_warps=32),  # at most 16384 B shared, unproven
)
_LOOP_2 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 2048 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 16384 B shared, unproven
)
_LOOP_3 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=32),  # at most 32768 B shared, unproven
)
_LOOP_4 = (
    Config(TILE=2048, num_warps=4, registers=31),  # 16 B shared, 83 registers in split rows
    Config(TILE=8192, num_warps=4, registers=96),  # 16 B shared
    Config(TILE=8192, num_warps=8, registers=48),  # 32 B shared
    Config(TILE=8192, num_warps=16, registers=39),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=101),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=52),  # 128 B shared
)
_LOOP_5 = (
    Config(TILE=2048, num_warps=4, registers=32),  # 16 B shared, 83 registers in split rows
    Config(TILE=8192, num_warps=4, registers=80),  # 16 B shared
    Config(TILE=8192, num_warps=8, registers=47),  # 32 B shared
    Config(TILE=8192, num_warps=16, registers=32),  # 64 B shared, 37 registers in split rows
    Config(TILE=16384, num_warps=8, registers=80),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=49),  # 128 B shared
)
_LOOP_6 = (
    Config(TILE=2048, num_warps=4, registers=40),  # 16 B shared, 83 registers in split rows
    Config(TILE=2048, num_warps=8, registers=32),  # 32 B shared, 83 registers in split rows
    Config(TILE=2048, num_warps=16, registers=32),  # 64 B shared, 84 registers in split rows
    Config(TILE=8192, num_warps=4, registers=182),  # 16 B shared
    Config(TILE=8192, num_warps=8, registers=80),  # 32 B shared
    Config(TILE=16384, num_warps=32, registers=45),  # 128 B shared
)
_LOOP_7 = (
    Config(TILE=2048, num_warps=4, registers=240),  # 32 B shared, 255 registers in split rows
    Config(TILE=2048, num_warps=8, registers=96),  # 64 B shared, 255 registers in split rows
    Config(TILE=4096, num_warps=8, registers=240),  # 64 B shared
    Config(
        TILE=2048, num_warps=16, registers=54, spills=2
    ),  # 128 B shared, 128 registers in split rows, 932 B spilled
    Config(
        TILE=4096, num_warps=16, registers=120, spills=2
    ),  # 128 B shared, 128 registers in split rows, 20 B spilled
    Config(TILE=8192, num_warps=32, registers=64, spills=2),  # 256 B shared, 280 B spilled
)
_LOOP_8 = (
    Config(TILE=8192, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 16384 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 32768 B shared, unproven
)
_LOOP_9 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
)
#: Sweeps over one row, TILE elements at a time; by architecture class and element size in bytes.
LOOP_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2), _LOOP_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (4,), _LOOP_2),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _LOOP_3),
    (("sm_90",), (1,), _LOOP_4),
    (("sm_90",), (2,), _LOOP_5),
    (("sm_90",), (4,), _LOOP_6),
    (("sm_90",), (8,), _LOOP_7),
    (("gfx90a", "gfx942", "gfx950"), (1, 2, 4), _LOOP_8),
    (("gfx90a", "gfx942", "gfx950"), (8,), _LOOP_9),
)

_BACKWARD_BLOCK_1 = (
    Config(TILE=1024, num_warps=1),  # at most 16 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 64 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 128 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 256 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 512 B shared, unproven
)
_BACKWARD_BLOCK_2 = (
    Config(TILE=1024, num_warps=1),  # at most 32 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 128 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 128 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 128 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 256 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 512 B shared, unproven
)
_BACKWARD_BLOCK_3 = (
    Config(TILE=512, num_warps=1),  # at most 64 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 64 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 128 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 512 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 512 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 1024 B shared, unproven
)
_BACKWARD_BLOCK_4 = (
    Config(TILE=1024, num_warps=1, registers=63),  # 0 B shared
    Config(TILE=4096, num_warps=2, registers=96),  # 8 B shared
    Config(TILE=4096, num_warps=8, registers=32),  # 32 B shared
    Config(TILE=8192, num_warps=4, registers=80),  # 16 B shared
    Config(TILE=16384, num_warps=8, registers=80),  # 32 B shared
    Config(TILE=32768, num_warps=16, registers=114),  # 64 B shared
)
_BACKWARD_BLOCK_5 = (
    Config(TILE=1024, num_warps=1, registers=64),  # 0 B shared
    Config(TILE=4096, num_warps=2, registers=128),  # 8 B shared
    Config(TILE=4096, num_warps=8, registers=40),  # 32 B shared
    Config(TILE=8192, num_warps=4, registers=102),  # 16 B shared
    Config(TILE=16384, num_warps=8, registers=102),  # 32 B shared
    Config(TILE=32768, num_warps=16, registers=113),  # 64 B shared
)
_BACKWARD_BLOCK_6 = (
    Config(TILE=1024, num_warps=1, registers=80),  # 0 B shared
    Config(TILE=4096, num_warps=2, registers=144),  # 8 B shared
    Config(TILE=4096, num_warps=8, registers=48),  # 32 B shared
    Config(TILE=4096, num_warps=16, registers=32),  # 64 B shared
    Config(TILE=8192, num_warps=4, registers=128),  # 16 B shared
    Config(TILE=16384, num_warps=32, registers=37),  # 128 B shared
)
_BACKWARD_BLOCK_7 = (
    Config(TILE=512, num_warps=1, registers=120),  # 0 B shared
    Config(TILE=512, num_warps=2, registers=72),  # 64 B shared
    Config(TILE=1024, num_warps=1, registers=240),  # 0 B shared
    Config(TILE=4096, num_warps=4, registers=248),  # 512 B shared
    Config(TILE=4096, num_warps=16, registers=74),  # 512 B shared
    Config(TILE=8192, num_warps=16, registers=128),  # 1024 B shared
)
_BACKWARD_BLOCK_8 = (
    Config(TILE=4096, num_warps=1),  # at most 32 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 32 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 32 B shared, unproven
    Config(TILE=8192, num_warps=2),  # at most 64 B shared, unproven
    Config(TILE=16384, num_warps=4),  # at most 128 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 256 B shared, unproven
)
_BACKWARD_BLOCK_9 = (
    Config(TILE=512, num_warps=1),  # at most 32 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 256 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 256 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 512 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 1024 B shared, unproven
)
#: Whole rows in registers, TILE elements to a program; by architecture class and element size in bytes.
BACKWARD_BLOCK_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2), _BACKWARD_BLOCK_1),
    (("gfx90a", "gfx942", "gfx950"), (4,), _BACKWARD_BLOCK_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (4,), _BACKWARD_BLOCK_2),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BACKWARD_BLOCK_3),
    (("sm_90",), (1,), _BACKWARD_BLOCK_4),
    (("sm_90",), (2,), _BACKWARD_BLOCK_5),
    (("sm_90",), (4,), _BACKWARD_BLOCK_6),
    (("sm_90",), (8,), _BACKWARD_BLOCK_7),
    (("gfx90a", "gfx942", "gfx950"), (1, 2), _BACKWARD_BLOCK_8),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BACKWARD_BLOCK_9),
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
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 65536 B shared, unproven
)
_BACKWARD_LOOP_3 = (
    Config(TILE=2048, num_warps=4, registers=32),  # 16 B shared
    Config(TILE=4096, num_warps=4, registers=32),  # 16 B shared
    Config(TILE=8192, num_warps=4, registers=45),  # 16 B shared
    Config(TILE=8192, num_warps=16, registers=32),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=45),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=32),  # 128 B shared
)
_BACKWARD_LOOP_4 = (
    Config(TILE=2048, num_warps=4, registers=32),  # 16 B shared
    Config(TILE=4096, num_warps=4, registers=39),  # 16 B shared
    Config(TILE=8192, num_warps=4, registers=80),  # 16 B shared, 84 registers in split rows
    Config(TILE=8192, num_warps=16, registers=32),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=80),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=39),  # 128 B shared
)
_BACKWARD_LOOP_5 = (
    Config(TILE=2048, num_warps=4, registers=32),  # 16 B shared, 35 registers in split rows
    Config(TILE=4096, num_warps=4, registers=48),  # 16 B shared, 55 registers in split rows
    Config(TILE=8192, num_warps=4, registers=99),  # 16 B shared
    Config(TILE=16384, num_warps=8, registers=128),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=51),  # 128 B shared, 54 registers in split rows
    Config(TILE=8192, num_warps=16, registers=52, spills=2),  # 64 B shared, 8 B spilled
)
_BACKWARD_LOOP_6 = (
    Config(TILE=2048, num_warps=4, registers=92),  # 32 B shared
    Config(TILE=2048, num_warps=8, registers=56),  # 64 B shared
    Config(TILE=2048, num_warps=16, registers=40),  # 128 B shared
    Config(TILE=8192, num_warps=16, registers=120),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=255, spills=2),  # 32 B shared, 116 B spilled
    Config(TILE=16384, num_warps=32, registers=64, spills=2),  # 256 B shared, 80 B spilled
)
_BACKWARD_LOOP_7 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 131072 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 131072 B shared, unproven
)
_BACKWARD_LOOP_8 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
)
_BACKWARD_LOOP_9 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
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
    (("gfx90a", "gfx942", "gfx950"), (1, 2, 4), _BACKWARD_LOOP_7),
    (("gfx950",), (8,), _BACKWARD_LOOP_7),
    (("gfx90a",), (8,), _BACKWARD_LOOP_8),
    (("gfx942",), (8,), _BACKWARD_LOOP_9),
)


# Loads: "evict_last" keeps what a kernel reads in L2 over what it writes, and a row until its last
# sweep, which is "evict_first". On an H200 that is 2 to 10 percent of the copy rate.
@triton.jit
def _log_softmax_block(
    x_ptr,
    out_ptr,
    row_value_ptr,
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
    row_value_row_0,
    row_value_row_1,
    row_value_row_2,
    row_sum_row_0,
    row_sum_row_1,
    row_sum_row_2,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    NEEDS_ROW_VALUE: tl.constexpr,
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
    row_value_rows = (
        row_value_ptr + row_0 * row_value_row_0 + row_1 * row_value_row_1 + row_2 * row_value_row_2
    )
    row_sum_rows = (
        row_sum_ptr + row_0 * row_sum_row_0 + row_1 * row_sum_row_1 + row_2 * row_sum_row_2
    )

    x = lowest_padded(
        tl.load(
            x_rows + cols * x_col,
            mask=in_rows & in_cols,
            other=float("-inf"),
            eviction_policy="evict_last",
        ),
        in_rows & in_cols,
        FLOAT,
    )
    # shifted = x - detach(max(x))
    row_max = nan_max(x, 1)
    row_top = tl.where(row_max == float("-inf"), 0.0, row_max)
    shifted = x - row_top
    row_total = tl.sum(exp(shifted), axis=1, keep_dims=True)
    # return shifted - log(sum(exp(shifted)))
    tl.store(
        out_rows + cols * out_col,
        narrow(shifted - tl.log(row_total), out_ptr.dtype.element_ty),
        mask=in_rows & in_cols,
    )
    if NEEDS_ROW_VALUE:
        tl.store(row_value_rows, narrow(row_top, row_value_ptr.dtype.element_ty), mask=in_rows)
    if NEEDS_ROW_SUM:
        tl.store(row_sum_rows, narrow(row_total, row_sum_ptr.dtype.element_ty), mask=in_rows)


@triton.jit
def _log_softmax_loop(
    x_ptr,
    out_ptr,
    row_value_ptr,
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
    row_value_row_0,
    row_value_row_1,
    row_value_row_2,
    row_sum_row_0,
    row_sum_row_1,
    row_sum_row_2,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    NEEDS_ROW_VALUE: tl.constexpr,
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
    row_value_rows = (
        row_value_ptr + row_0 * row_value_row_0 + row_1 * row_value_row_1 + row_2 * row_value_row_2
    )
    row_sum_rows = (
        row_sum_ptr + row_0 * row_sum_row_0 + row_1 * row_sum_row_1 + row_2 * row_sum_row_2
    )

    top = tl.full((LANES, 1), -3.4028234663852886e38, FLOAT)
    total = tl.full((LANES, 1), 0.0, FLOAT)
    cols = lane
    in_cols = below(cols, N, EVEN)

    next_x = tl.load(
        x_rows + cols * x_col, mask=in_cols, other=float("-inf"), eviction_policy="evict_last"
    )

    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)
        x = lowest_padded(next_x, in_cols, FLOAT)

        next_cols = cols + LANES * VECTOR
        in_next = next_cols < N
        next_x = tl.load(
            x_rows + next_cols * x_col,
            mask=in_next,
            other=float("-inf"),
            eviction_policy="evict_last",
        )

        # shifted = x - detach(max(x))
        top, total = logsumexp_step(top, total, x)

    row_top, row_total = logsumexp_end(top, total)

    # return shifted - log(sum(exp(shifted)))
    value = tl.log(row_total)

    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        x = lowest_padded(
            tl.load(
                x_rows + cols * x_col,
                mask=in_cols,
                other=float("-inf"),
                eviction_policy="evict_first",
            ),
            in_cols,
            FLOAT,
        )
        shifted = x - row_top
        tl.store(
            out_rows + cols * out_col,
            narrow(shifted - value, out_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )

    if NEEDS_ROW_VALUE:
        tl.store(row_value_rows, narrow(row_top, row_value_ptr.dtype.element_ty))
    if NEEDS_ROW_SUM:
        tl.store(row_sum_rows, narrow(row_total, row_sum_ptr.dtype.element_ty))


@triton.jit
def _log_softmax_partial(
    x_ptr,
    partial_top_ptr,
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

    top = tl.full((LANES, 1), -3.4028234663852886e38, FLOAT)
    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x = lowest_padded(
            tl.load(x_rows + cols * x_col, mask=in_cols, other=float("-inf")), in_cols, FLOAT
        )
        # shifted = x - detach(max(x))
        top, total = logsumexp_step(top, total, x)

    row_top, row_total = logsumexp_end(top, total)
    tl.store(partial_top_ptr + rows * SPLITS + split, row_top)
    tl.store(partial_total_ptr + rows * SPLITS + split, row_total)


@triton.jit
def _log_softmax_finish(
    partial_top_ptr,
    partial_total_ptr,
    x_ptr,
    out_ptr,
    row_value_ptr,
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
    row_value_row_0,
    row_value_row_1,
    row_value_row_2,
    row_sum_row_0,
    row_sum_row_1,
    row_sum_row_2,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    SPLITS: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK_S: tl.constexpr,
    NEEDS_ROW_VALUE: tl.constexpr,
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
    row_value_rows = (
        row_value_ptr + row_0 * row_value_row_0 + row_1 * row_value_row_1 + row_2 * row_value_row_2
    )
    row_sum_rows = (
        row_sum_ptr + row_0 * row_sum_row_0 + row_1 * row_sum_row_1 + row_2 * row_sum_row_2
    )

    splits = tl.arange(0, BLOCK_S)[:, None]
    top = tl.load(
        partial_top_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=-3.4028234663852886e38
    )
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_top, row_total = logsumexp_end(top, total)
    # return shifted - log(sum(exp(shifted)))
    value = tl.log(row_total)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x = lowest_padded(
            tl.load(x_rows + cols * x_col, mask=in_cols, other=float("-inf")), in_cols, FLOAT
        )
        # shifted = x - detach(max(x))
        shifted = x - row_top
        tl.store(
            out_rows + cols * out_col,
            narrow(shifted - value, out_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )

    if NEEDS_ROW_VALUE:
        tl.store(row_value_rows, narrow(row_top, row_value_ptr.dtype.element_ty), mask=leads)
    if NEEDS_ROW_SUM:
        tl.store(row_sum_rows, narrow(row_total, row_sum_ptr.dtype.element_ty), mask=leads)


@triton.jit
def _log_softmax_backward_block(
    x_ptr,
    row_value_ptr,
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
    row_sum_row_0,
    row_sum_row_1,
    row_sum_row_2,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    row_value_row_0,
    row_value_row_1,
    row_value_row_2,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    EARLY: tl.constexpr,
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
    row_sum_rows = (
        row_sum_ptr + row_0 * row_sum_row_0 + row_1 * row_sum_row_1 + row_2 * row_sum_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    row_value_rows = (
        row_value_ptr + row_0 * row_value_row_0 + row_1 * row_value_row_1 + row_2 * row_value_row_2
    )
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    grad_out = tl.load(
        grad_out_rows + cols * grad_out_col,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    row_sum = tl.load(row_sum_rows, mask=in_rows, other=0.0, eviction_policy="evict_last").to(FLOAT)
    if EARLY:
        x = tl.load(
            x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
        )
    row_value = tl.load(row_value_rows, mask=in_rows, other=0.0, eviction_policy="evict_last").to(
        FLOAT
    )
    row_sum_2 = tl.sum(-grad_out, axis=1, keep_dims=True)
    if not EARLY:
        x = tl.load(
            x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
        )
    # shifted = x - detach(max(x))
    shifted = x.to(FLOAT) - row_value
    grad_x = grad_out + row_sum_2 / row_sum * exp(shifted)
    tl.store(
        grad_x_rows + cols * grad_x_col,
        narrow(grad_x, grad_x_ptr.dtype.element_ty),
        mask=in_rows & in_cols,
    )


@triton.jit
def _log_softmax_backward_loop(
    x_ptr,
    row_value_ptr,
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
    row_value_row_0,
    row_value_row_1,
    row_value_row_2,
    row_sum_row_0,
    row_sum_row_1,
    row_sum_row_2,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
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
    row_value_rows = (
        row_value_ptr + row_0 * row_value_row_0 + row_1 * row_value_row_1 + row_2 * row_value_row_2
    )
    row_sum_rows = (
        row_sum_ptr + row_0 * row_sum_row_0 + row_1 * row_sum_row_1 + row_2 * row_sum_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

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
        total = total + tl.sum(-grad_out, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)

    row_value = tl.load(row_value_rows).to(FLOAT)
    row_sum_2 = tl.load(row_sum_rows).to(FLOAT)
    # return shifted - log(sum(exp(shifted)))
    value = row_sum / row_sum_2

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
        # shifted = x - detach(max(x))
        shifted = x - row_value
        grad_x = grad_out + value * exp(shifted)
        tl.store(
            grad_x_rows + cols * grad_x_col,
            narrow(grad_x, grad_x_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )


@triton.jit
def _log_softmax_backward_partial(
    grad_out_ptr,
    partial_total_ptr,
    ROWS_1,
    ROWS_2,
    N,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
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

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        grad_out = tl.load(grad_out_rows + cols * grad_out_col, mask=in_cols, other=0.0).to(FLOAT)
        total = total + tl.sum(-grad_out, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, row_sum)


@triton.jit
def _log_softmax_backward_finish(
    partial_total_ptr,
    x_ptr,
    row_value_ptr,
    row_sum_ptr,
    grad_out_ptr,
    grad_x_ptr,
    ROWS_1,
    ROWS_2,
    N,
    row_value_row_0,
    row_value_row_1,
    row_value_row_2,
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
    row_value_rows = (
        row_value_ptr + row_0 * row_value_row_0 + row_1 * row_value_row_1 + row_2 * row_value_row_2
    )
    row_sum_rows = (
        row_sum_ptr + row_0 * row_sum_row_0 + row_1 * row_sum_row_1 + row_2 * row_sum_row_2
    )
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_sum = tl.sum(total, axis=0, keep_dims=True)
    row_value = tl.load(row_value_rows).to(FLOAT)
    row_sum_2 = tl.load(row_sum_rows).to(FLOAT)
    # return shifted - log(sum(exp(shifted)))
    value = row_sum / row_sum_2

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        grad_out = tl.load(grad_out_rows + cols * grad_out_col, mask=in_cols, other=0.0).to(FLOAT)
        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        # shifted = x - detach(max(x))
        shifted = x - row_value
        grad_x = grad_out + value * exp(shifted)
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
        work = Work(reads=1, writes=1, flops=5, special=1, joins=2)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=1,
            writes=1,
            flops=7.125,
            special=1.25,
            rereads=1,
            joins=1,
            passes=2,
            ahead=1,
            held=1.05,
            held_wide=2.1,
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=1,
            writes=1,
            flops=7.625,
            special=1.375,
            rereads=1,
            joins=2,
            passes=2,
            held=0.6,
            held_wide=0.9,
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
                _log_softmax_partial,
                grid=(rows.total * splits,),
                tensors=("x", "partial_top", "partial_total"),
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
                _log_softmax_finish,
                grid=(rows.total * splits,),
                tensors=("partial_top", "partial_total", "x", "out", "row_value", "row_sum"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("out"),
                    cols.strides("out")[0],
                    *rows.strides("row_value"),
                    *rows.strides("row_sum"),
                ),
                constants={
                    "LANES": config["TILE"] // vector,
                    "VECTOR": vector,
                    "EVEN": even,
                    "SPLITS": splits,
                    "CHUNK": chunk,
                    "BLOCK_S": next_power_of_2(splits),
                    "NEEDS_ROW_VALUE": call.needs("row_value"),
                    "NEEDS_ROW_SUM": call.needs("row_sum"),
                },
                config=config,
            ),
            workspaces={
                "partial_top": ((rows.total, splits), call.float),
                "partial_total": ((rows.total, splits), call.float),
            },
        )

    if call.takes("block", block <= loop):
        config = call.choose(BLOCK_CONFIGS, block_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        return Launch(
            Step(
                _log_softmax_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "out", "row_value", "row_sum"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("out"),
                    cols.strides("out")[0],
                    *rows.strides("row_value"),
                    *rows.strides("row_sum"),
                ),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_N": width,
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                    "NEEDS_ROW_VALUE": call.needs("row_value"),
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
            _log_softmax_loop,
            grid=(rows.total,),
            tensors=("x", "out", "row_value", "row_sum"),
            integers=(
                *rows.sizes[1:],
                cols.total,
                *rows.strides("x"),
                cols.strides("x")[0],
                *rows.strides("out"),
                cols.strides("out")[0],
                *rows.strides("row_value"),
                *rows.strides("row_sum"),
            ),
            constants={
                "LANES": config["TILE"] // vector,
                "VECTOR": vector,
                "EVEN": even,
                "NEEDS_ROW_VALUE": call.needs("row_value"),
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
        work = Work(reads=2, writes=1, flops=6, special=1, joins=1, held=1.5, held_wide=2)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BACKWARD_BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=2,
            writes=1,
            flops=6.25,
            special=1,
            rereads=1,
            joins=1,
            passes=2,
            held=0.9,
            held_wide=1.2,
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, BACKWARD_LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=2,
            writes=1,
            flops=6.375,
            special=1.125,
            rereads=1,
            joins=1,
            passes=2,
            held=0.9,
            held_wide=1.2,
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
                _log_softmax_backward_partial,
                grid=(rows.total * splits,),
                tensors=("grad_out", "partial_total"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
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
                _log_softmax_backward_finish,
                grid=(rows.total * splits,),
                tensors=("partial_total", "x", "row_value", "row_sum", "grad_out", "grad_x"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("row_value"),
                    *rows.strides("row_sum"),
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
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
            },
        )

    if call.takes("block", block <= loop):
        config = call.choose(BACKWARD_BLOCK_CONFIGS, block_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        return Launch(
            Step(
                _log_softmax_backward_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "row_value", "row_sum", "grad_out", "grad_x"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    *rows.strides("row_sum"),
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("row_value"),
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
                ),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_N": width,
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                    "EARLY": width <= 4096,
                },
                config=config,
            )
        )

    config = call.choose(BACKWARD_LOOP_CONFIGS, loop_time)
    vector = max(1, 16 // call.element_size)
    even = columns > 0 and columns % config["TILE"] == 0
    return Launch(
        Step(
            _log_softmax_backward_loop,
            grid=(rows.total,),
            tensors=("x", "row_value", "row_sum", "grad_out", "grad_x"),
            integers=(
                *rows.sizes[1:],
                cols.total,
                *rows.strides("grad_out"),
                cols.strides("grad_out")[0],
                *rows.strides("row_value"),
                *rows.strides("row_sum"),
                *rows.strides("x"),
                cols.strides("x")[0],
                *rows.strides("grad_x"),
                cols.strides("grad_x")[0],
            ),
            constants={"LANES": config["TILE"] // vector, "VECTOR": vector, "EVEN": even},
            config=config,
        )
    )


def reference(x, *, compute):
    """Logarithm of the softmax of each row, without forming the softmax.

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x = widen(x, compute)
    # shifted = x - detach(max(x))
    shifted = x - x.amax(-1).detach()[:, None]
    return (
        shifted - torch.log(torch.exp(shifted).sum(-1))[:, None],
        x.amax(-1).detach(),
        torch.exp(shifted).sum(-1),
    )


def reference_backward(x, row_value, row_sum, grad_out, *, compute):
    """The gradient of `reference`, as the kernels compute it."""
    x = widen(x, compute)
    row_value = widen(row_value, compute)
    row_sum = widen(row_sum, compute)
    grad_out = widen(grad_out, compute)
    # shifted = x - detach(max(x))
    shifted = x - row_value[:, None]
    grad_x = grad_out + ((-grad_out).sum(-1) / row_sum)[:, None] * torch.exp(shifted)
    return grad_x


BACKWARD = Op(
    name="log_softmax_backward",
    spec_hash="0a8f983a",
    inputs=(
        Operand("x", ("M", "N")),
        Operand("row_value", ("M",)),
        Operand("row_sum", ("M",)),
        Operand("grad_out", ("M", "N")),
    ),
    outputs=(Output("grad_x", ("M", "N"), like="x"),),
    fold="M",
    shards={"M": ()},
    partial=True,
    variants={
        (): Variant(_plan_backward, reference_backward),
    },
)
OP = Op(
    name="log_softmax",
    spec_hash="0a8f983a",
    inputs=(Operand("x", ("M", "N")),),
    outputs=(Output("out", ("M", "N"), like="x"),),
    saved=(Output("row_value", ("M",), dtype="float"), Output("row_sum", ("M",), dtype="float")),
    fold="M",
    inplace=("x",),
    nonempty=("N",),
    shards={"M": ()},
    gradients=Gradients({"out": "grad_out"}, BACKWARD),
    variants={
        (): Variant(_plan, reference, gradients={"x": "grad_x"}),
    },
)


def log_softmax(
    x: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> torch.Tensor:
    """Logarithm of the softmax of each row, without forming the softmax.

    Args:
        x: [M, N], floats.
        out: where to write out.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        out: [M, N], the type of x.
        M may stand for several dimensions.
    """
    tensors = (x,)
    params = ()
    return OP(tensors, params, out, backend, autotune)
