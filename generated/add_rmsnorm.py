"""Add the residual stream, then RMS-normalise each row.

y normalises the unrounded sum; h is that sum as it is stored, rounded.

Built by tilegen 0.1.0 from specs/add_rmsnorm.py (spec 76e34d14, templates d13e90b1).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 4*M*N*e + N*e bytes (e: bytes of an element)
Work: 5*M*N + 3*M flops, 2*M of them exponentials, roots and quotients
Bound: memory on every target
Eager PyTorch: 7 kernels, 2.8 times the bytes
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
    columns_cost,
    fits,
    in_stages,
    join_tile,
    least,
    loop_cost,
    narrow,
    next_power_of_2,
    programs_of,
    scalar,
    split_cost,
    split_row,
    sums_cost,
    tile_shape,
    widen,
)

_BLOCK_1 = (
    Config(TILE=1024, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 32768 B shared, unproven
)
_BLOCK_2 = (
    Config(TILE=512, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 2048 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
)
_BLOCK_3 = (
    Config(TILE=1024, num_warps=1, registers=71),  # 128 B shared
    Config(TILE=4096, num_warps=2, registers=127),  # 256 B shared
    Config(TILE=4096, num_warps=8, registers=39),  # 128 B shared
    Config(TILE=4096, num_warps=16, registers=32),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=128),  # 512 B shared
    Config(TILE=16384, num_warps=32, registers=39),  # 512 B shared
)
_BLOCK_4 = (
    Config(TILE=1024, num_warps=1, registers=67),  # 32 B shared
    Config(TILE=4096, num_warps=2, registers=124),  # 256 B shared
    Config(TILE=4096, num_warps=8, registers=41),  # 128 B shared
    Config(TILE=4096, num_warps=16, registers=30),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=112),  # 512 B shared
    Config(TILE=16384, num_warps=32, registers=36),  # 512 B shared
)
_BLOCK_5 = (
    Config(TILE=1024, num_warps=1, registers=72),  # 32 B shared
    Config(TILE=4096, num_warps=2, registers=150),  # 512 B shared
    Config(TILE=4096, num_warps=8, registers=46),  # 128 B shared
    Config(TILE=4096, num_warps=16, registers=31),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=148),  # 512 B shared
    Config(TILE=16384, num_warps=32, registers=47),  # 512 B shared
)
_BLOCK_6 = (
    Config(TILE=512, num_warps=1, registers=90),  # 32 B shared
    Config(TILE=512, num_warps=2, registers=64),  # 64 B shared
    Config(TILE=1024, num_warps=1, registers=178),  # 64 B shared
    Config(TILE=4096, num_warps=4, registers=218),  # 1024 B shared
    Config(TILE=4096, num_warps=16, registers=78),  # 512 B shared
    Config(TILE=8192, num_warps=16, registers=120),  # 1024 B shared
)
_BLOCK_7 = (
    Config(TILE=4096, num_warps=1),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=2),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 65536 B shared, unproven
)
_BLOCK_8 = (
    Config(TILE=512, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
)
#: Whole rows in registers, TILE elements to a program; by architecture class and element size in bytes.
BLOCK_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2, 4), _BLOCK_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BLOCK_2),
    (("sm_90",), (1,), _BLOCK_3),
    (("sm_90",), (2,), _BLOCK_4),
    (("sm_90",), (4,), _BLOCK_5),
    (("sm_90",), (8,), _BLOCK_6),
    (("gfx90a", "gfx942", "gfx950"), (1, 2, 4), _BLOCK_7),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BLOCK_8),
)

_LOOP_1 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 16384 B shared, unproven
    Config(TILE=32768, num_warps=32),  # at most 32768 B shared, unproven
)
_LOOP_2 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 65536 B shared, unproven
)
_LOOP_3 = (
    Config(TILE=2048, num_warps=4, registers=40),  # 16 B shared
    Config(TILE=8192, num_warps=8, registers=57),  # 32 B shared, 63 registers in split rows
    Config(TILE=8192, num_warps=16, registers=40),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=92),  # 32 B shared, 127 registers in split rows
    Config(TILE=16384, num_warps=16, registers=64),  # 64 B shared
    Config(TILE=32768, num_warps=32, registers=63),  # 128 B shared, 64 registers in split rows
)
_LOOP_4 = (
    Config(TILE=2048, num_warps=4, registers=37),  # 16 B shared, 40 registers in split rows
    Config(TILE=8192, num_warps=8, registers=62),  # 32 B shared, 64 registers in split rows
    Config(TILE=8192, num_warps=16, registers=40),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=130),  # 32 B shared
    Config(TILE=16384, num_warps=16, registers=78),  # 64 B shared
    Config(TILE=32768, num_warps=32, registers=64),  # 128 B shared
)
_LOOP_5 = (
    Config(TILE=2048, num_warps=4, registers=43),  # 16 B shared
    Config(TILE=8192, num_warps=8, registers=98),  # 32 B shared
    Config(TILE=8192, num_warps=16, registers=51),  # 64 B shared, 52 registers in split rows
    Config(TILE=16384, num_warps=8, registers=174),  # 32 B shared
    Config(TILE=16384, num_warps=16, registers=100),  # 64 B shared
    Config(TILE=32768, num_warps=32, registers=64, spills=2),  # 128 B shared, 116 B spilled
)
_LOOP_6 = (
    Config(TILE=2048, num_warps=4, registers=96),  # 32 B shared
    Config(TILE=2048, num_warps=8, registers=60),  # 64 B shared
    Config(TILE=2048, num_warps=16, registers=56),  # 128 B shared
    Config(TILE=8192, num_warps=16, registers=100),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=255, spills=2),  # 32 B shared, 132 B spilled
    Config(TILE=16384, num_warps=32, registers=64, spills=2),  # 256 B shared, 112 B spilled
)
_LOOP_7 = (
    Config(TILE=2048, num_warps=4),  # at most 512 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 4096 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 8192 B shared, unproven
)
_LOOP_8 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 131072 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 131072 B shared, unproven
)
_LOOP_9 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
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
    (("gfx90a", "gfx942", "gfx950"), (1,), _LOOP_7),
    (("gfx90a", "gfx942", "gfx950"), (2, 4), _LOOP_8),
    (("gfx950",), (8,), _LOOP_8),
    (("gfx90a", "gfx942"), (8,), _LOOP_9),
)

_BACKWARD_BLOCK_1 = (
    Config(TILE=1024, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 32768 B shared, unproven
)
_BACKWARD_BLOCK_2 = (
    Config(TILE=1024, num_warps=1),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
)
_BACKWARD_BLOCK_3 = (
    Config(TILE=512, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
)
_BACKWARD_BLOCK_4 = (
    Config(TILE=1024, num_warps=1, registers=80),  # 128 B shared
    Config(TILE=4096, num_warps=2, registers=159),  # 256 B shared
    Config(TILE=4096, num_warps=8, registers=48),  # 32 B shared
    Config(TILE=4096, num_warps=16, registers=32),  # 64 B shared
    Config(TILE=8192, num_warps=4, registers=151),  # 512 B shared
    Config(TILE=16384, num_warps=32, registers=48),  # 128 B shared
)
_BACKWARD_BLOCK_5 = (
    Config(TILE=1024, num_warps=1, registers=80),  # 0 B shared
    Config(TILE=4096, num_warps=2, registers=168),  # 256 B shared
    Config(TILE=4096, num_warps=8, registers=48),  # 32 B shared
    Config(TILE=4096, num_warps=16, registers=32),  # 64 B shared
    Config(TILE=8192, num_warps=4, registers=168),  # 512 B shared
    Config(TILE=16384, num_warps=32, registers=50),  # 128 B shared
)
_BACKWARD_BLOCK_6 = (
    Config(TILE=1024, num_warps=1, registers=112),  # 0 B shared
    Config(TILE=4096, num_warps=2, registers=254),  # 512 B shared
    Config(TILE=4096, num_warps=4, registers=128),  # 512 B shared
    Config(TILE=4096, num_warps=16, registers=36),  # 64 B shared
    Config(TILE=8192, num_warps=4, registers=254),  # 512 B shared
    Config(TILE=16384, num_warps=16, registers=106),  # 64 B shared
)
_BACKWARD_BLOCK_7 = (
    Config(TILE=512, num_warps=1, registers=150),  # 0 B shared
    Config(TILE=1024, num_warps=1, registers=255),  # 0 B shared
    Config(TILE=4096, num_warps=8, registers=181),  # 512 B shared
    Config(TILE=4096, num_warps=16, registers=107),  # 512 B shared
    Config(TILE=4096, num_warps=4, registers=255, spills=2),  # 1024 B shared, 320 B spilled
    Config(TILE=8192, num_warps=16, registers=128, spills=2),  # 1024 B shared, 224 B spilled
)
_BACKWARD_BLOCK_8 = (
    Config(TILE=4096, num_warps=1),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=2),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 65536 B shared, unproven
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
    Config(TILE=2048, num_warps=4),  # at most 1024 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 4096 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=32768, num_warps=32),  # at most 16384 B shared, unproven
)
_BACKWARD_LOOP_2 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 16384 B shared, unproven
)
_BACKWARD_LOOP_3 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=32),  # at most 32768 B shared, unproven
)
_BACKWARD_LOOP_4 = (
    Config(TILE=2048, num_warps=4, registers=32),  # 16 B shared
    Config(TILE=8192, num_warps=8, registers=40),  # 32 B shared, 52 registers in split rows
    Config(TILE=8192, num_warps=16, registers=36),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=50),  # 32 B shared, 54 registers in split rows
    Config(TILE=16384, num_warps=16, registers=37),  # 64 B shared, 40 registers in split rows
    Config(TILE=32768, num_warps=32, registers=36),  # 128 B shared, 46 registers in split rows
)
_BACKWARD_LOOP_5 = (
    Config(TILE=2048, num_warps=4, registers=34),  # 16 B shared, 40 registers in split rows
    Config(TILE=8192, num_warps=16, registers=40),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=86),  # 32 B shared, 127 registers in split rows
    Config(TILE=32768, num_warps=32, registers=54),  # 128 B shared
    Config(
        TILE=8192, num_warps=8, registers=48, spills=2
    ),  # 32 B shared, 64 registers in split rows, 4 B spilled
    Config(TILE=16384, num_warps=16, registers=64, spills=2),  # 64 B shared, 8 B spilled
)
_BACKWARD_LOOP_6 = (
    Config(TILE=2048, num_warps=4, registers=40),  # 16 B shared, 44 registers in split rows
    Config(TILE=2048, num_warps=8, registers=40),  # 32 B shared
    Config(TILE=8192, num_warps=4, registers=104),  # 16 B shared, 120 registers in split rows
    Config(TILE=8192, num_warps=8, registers=80),  # 32 B shared
    Config(TILE=8192, num_warps=16, registers=64),  # 64 B shared
    Config(TILE=16384, num_warps=32, registers=42),  # 128 B shared
)
_BACKWARD_LOOP_7 = (
    Config(TILE=2048, num_warps=4, registers=72),  # 32 B shared, 76 registers in split rows
    Config(TILE=2048, num_warps=8, registers=44),  # 64 B shared, 48 registers in split rows
    Config(TILE=2048, num_warps=16, registers=40),  # 128 B shared
    Config(TILE=4096, num_warps=4, registers=94),  # 32 B shared, 112 registers in split rows
    Config(TILE=4096, num_warps=16, registers=64),  # 128 B shared
    Config(TILE=8192, num_warps=32, registers=42),  # 256 B shared
)
_BACKWARD_LOOP_8 = (
    Config(TILE=2048, num_warps=4),  # at most 512 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 4096 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 8192 B shared, unproven
)
_BACKWARD_LOOP_9 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 16384 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 32768 B shared, unproven
)
_BACKWARD_LOOP_10 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
)
#: Sweeps over one row, TILE elements at a time; by architecture class and element size in bytes.
BACKWARD_LOOP_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2), _BACKWARD_LOOP_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (4,), _BACKWARD_LOOP_2),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BACKWARD_LOOP_3),
    (("sm_90",), (1,), _BACKWARD_LOOP_4),
    (("sm_90",), (2,), _BACKWARD_LOOP_5),
    (("sm_90",), (4,), _BACKWARD_LOOP_6),
    (("sm_90",), (8,), _BACKWARD_LOOP_7),
    (("gfx90a", "gfx942", "gfx950"), (1,), _BACKWARD_LOOP_8),
    (("gfx90a", "gfx942", "gfx950"), (2, 4), _BACKWARD_LOOP_9),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BACKWARD_LOOP_10),
)

_BACKWARD_SUMS_1 = (
    Config(TILE=8192, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 66576 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 66576 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 66592 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 132128 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 132160 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=32, num_stages=3),  # at most 132224 B shared, unproven
)
_BACKWARD_SUMS_2 = (
    Config(TILE=8192, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 132112 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 132128 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 132160 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=32, num_stages=3),  # at most 132224 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=32, num_stages=1),  # at most 32896 B shared, unproven
)
_BACKWARD_SUMS_3 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 66592 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 66576 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 132160 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 4128 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=32, num_stages=1),  # at most 16512 B shared, unproven
)
_BACKWARD_SUMS_4 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 132128 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 132160 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 2080 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 4160 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 8320 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=32, num_stages=1),  # at most 16640 B shared, unproven
)
_BACKWARD_SUMS_5 = (
    Config(TILE=8192, PROGRAMS=2, num_warps=8, num_stages=3, registers=128),  # 65568 B shared
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=3, registers=255),  # 131104 B shared
    Config(TILE=16384, PROGRAMS=1, num_warps=16, num_stages=3, registers=128),  # 131136 B shared
    Config(
        TILE=8192, PROGRAMS=1, num_warps=4, num_stages=3, registers=255, spills=1
    ),  # 65552 B shared, 132 B spilled
    Config(
        TILE=8192, PROGRAMS=2, num_warps=4, num_stages=3, registers=255, spills=1
    ),  # 65552 B shared, 132 B spilled
    Config(
        TILE=16384, PROGRAMS=1, num_warps=32, num_stages=3, registers=64, spills=1
    ),  # 131200 B shared, 40 B spilled
)
_BACKWARD_SUMS_6 = (
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=3, registers=128),  # 131104 B shared
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=3, registers=88),  # 131136 B shared
    Config(TILE=8192, PROGRAMS=1, num_warps=32, num_stages=3, registers=61),  # 131200 B shared
    Config(
        TILE=8192, PROGRAMS=1, num_warps=4, num_stages=3, registers=255, spills=1
    ),  # 131088 B shared, 280 B spilled
    Config(
        TILE=16384, PROGRAMS=1, num_warps=8, num_stages=1, registers=255, spills=1
    ),  # 8192 B shared, 4 B spilled
    Config(
        TILE=16384, PROGRAMS=1, num_warps=32, num_stages=1, registers=64, spills=1
    ),  # 32768 B shared, 56 B spilled
)
_BACKWARD_SUMS_7 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3, registers=62),  # 65576 B shared
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3, registers=76),  # 65560 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=62),  # 131144 B shared
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=1, registers=164),  # 4096 B shared
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=1, registers=83),  # 8192 B shared
    Config(TILE=8192, PROGRAMS=1, num_warps=32, num_stages=1, registers=52),  # 16384 B shared
)
_BACKWARD_SUMS_8 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3, registers=252),  # 131120 B shared
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3, registers=124),  # 131152 B shared
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=1, registers=252),  # 4096 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=1, registers=236),  # 4096 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=1, registers=126),  # 8192 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=32, num_stages=1, registers=64),  # 16384 B shared
)
_BACKWARD_SUMS_9 = (
    Config(TILE=8192, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 66576 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 66592 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 66624 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 16416 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 16416 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 32832 B shared, unproven
)
_BACKWARD_SUMS_10 = (
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 66592 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 4112 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 16448 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=32, num_stages=1),  # at most 32896 B shared, unproven
)
_BACKWARD_SUMS_11 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 66576 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 66592 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 4128 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=32, num_stages=1),  # at most 16512 B shared, unproven
)
_BACKWARD_SUMS_12 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=1),  # at most 2080 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 2080 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 4160 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 4160 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 8320 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=32, num_stages=1),  # at most 16640 B shared, unproven
)
_BACKWARD_SUMS_13 = (
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 33808 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 33824 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=4, num_stages=1),  # at most 16400 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 32800 B shared, unproven
    Config(TILE=16384, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 16400 B shared, unproven
    Config(TILE=32768, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 32800 B shared, unproven
)
_BACKWARD_SUMS_14 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 33808 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=4, num_stages=1),  # at most 8208 B shared, unproven
    Config(TILE=16384, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 8208 B shared, unproven
    Config(TILE=16384, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 16416 B shared, unproven
    Config(TILE=32768, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 16416 B shared, unproven
    Config(TILE=32768, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 32832 B shared, unproven
)
_BACKWARD_SUMS_15 = (
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 16448 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 4112 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 16448 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 16448 B shared, unproven
)
_BACKWARD_SUMS_16 = (
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 16512 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 4128 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 16512 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 16512 B shared, unproven
)
_BACKWARD_SUMS_17 = (
    Config(TILE=8192, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 66576 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 66592 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 66576 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 132112 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 132128 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 132160 B shared, unproven
)
_BACKWARD_SUMS_18 = (
    Config(TILE=8192, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 132112 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 132128 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 132160 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=4, num_stages=1),  # at most 8208 B shared, unproven
    Config(TILE=16384, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 8208 B shared, unproven
    Config(TILE=16384, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 32832 B shared, unproven
)
_BACKWARD_SUMS_19 = (
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 132160 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 4112 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 16448 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 16448 B shared, unproven
)
_BACKWARD_SUMS_20 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 132128 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 132160 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 16512 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 16512 B shared, unproven
)
#: Whole rows in registers, TILE elements at a time, in PROGRAMS programs an SM; by architecture class and element size in bytes.
BACKWARD_SUMS_CONFIGS = by_class(
    (("sm_80", "sm_100"), (1,), _BACKWARD_SUMS_1),
    (("sm_80", "sm_100"), (2,), _BACKWARD_SUMS_2),
    (("sm_80", "sm_100"), (4,), _BACKWARD_SUMS_3),
    (("sm_80", "sm_100"), (8,), _BACKWARD_SUMS_4),
    (("sm_90",), (1,), _BACKWARD_SUMS_5),
    (("sm_90",), (2,), _BACKWARD_SUMS_6),
    (("sm_90",), (4,), _BACKWARD_SUMS_7),
    (("sm_90",), (8,), _BACKWARD_SUMS_8),
    (("sm_89", "sm_86", "sm_120"), (1,), _BACKWARD_SUMS_9),
    (("sm_89", "sm_86", "sm_120"), (2,), _BACKWARD_SUMS_10),
    (("sm_89", "sm_86", "sm_120"), (4,), _BACKWARD_SUMS_11),
    (("sm_89", "sm_86", "sm_120"), (8,), _BACKWARD_SUMS_12),
    (("gfx90a", "gfx942"), (1,), _BACKWARD_SUMS_13),
    (("gfx90a", "gfx942"), (2,), _BACKWARD_SUMS_14),
    (("gfx90a", "gfx942"), (4,), _BACKWARD_SUMS_15),
    (("gfx90a", "gfx942"), (8,), _BACKWARD_SUMS_16),
    (("gfx950",), (1,), _BACKWARD_SUMS_17),
    (("gfx950",), (2,), _BACKWARD_SUMS_18),
    (("gfx950",), (4,), _BACKWARD_SUMS_19),
    (("gfx950",), (8,), _BACKWARD_SUMS_20),
)

_BACKWARD_COLUMNS_1 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 33824 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=3),  # at most 33824 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 66592 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 66624 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 66592 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3),  # at most 66624 B shared, unproven
)
_BACKWARD_COLUMNS_2 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 66592 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 66624 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=16, num_stages=3),  # at most 66688 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 132128 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 132160 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 132224 B shared, unproven
)
_BACKWARD_COLUMNS_3 = (
    Config(
        TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3, registers=32
    ),  # 8192 B shared, 40 registers in split rows
    Config(
        TILE=2048, PROGRAMS=4, num_warps=8, num_stages=3, registers=32
    ),  # 8192 B shared, 40 registers in split rows
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=48),  # 16384 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=32),  # 16384 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3, registers=48),  # 16384 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3, registers=32),  # 16384 B shared
)
_BACKWARD_COLUMNS_4 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3, registers=40),  # 16384 B shared
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=3, registers=40),  # 16384 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=48),  # 32768 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=40),  # 32768 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3, registers=48),  # 32768 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3, registers=40),  # 32768 B shared
)
_BACKWARD_COLUMNS_5 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3, registers=48),  # 33024 B shared
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=3, registers=48),  # 33024 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=64),  # 66048 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=60),  # 66048 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3, registers=64),  # 66048 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3, registers=60),  # 66048 B shared
)
_BACKWARD_COLUMNS_6 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3, registers=64),  # 66048 B shared
    Config(TILE=2048, PROGRAMS=2, num_warps=16, num_stages=3, registers=64),  # 66048 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3, registers=126),  # 132096 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=64),  # 132096 B shared
    Config(
        TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3, registers=72, spills=2
    ),  # 66048 B shared, 96 registers in split rows, 4 B spilled
    Config(
        TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=78, spills=2
    ),  # 132096 B shared, 4 B spilled
)
_BACKWARD_COLUMNS_7 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 66592 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 66624 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 66688 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=4, num_stages=1),  # at most 2080 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=1),  # at most 4160 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 8320 B shared, unproven
)
_BACKWARD_COLUMNS_8 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 9232 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=4, num_stages=3),  # at most 9232 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 17424 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 17440 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 17424 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 17440 B shared, unproven
)
_BACKWARD_COLUMNS_9 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 66592 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 66592 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=4, num_stages=1),  # at most 8208 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 132128 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 132160 B shared, unproven
    Config(TILE=4096, PROGRAMS=4, num_warps=4, num_stages=1),  # at most 16400 B shared, unproven
)
_BACKWARD_COLUMNS_10 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 33808 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 33824 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=4, num_stages=1),  # at most 4112 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
    Config(TILE=4096, PROGRAMS=4, num_warps=4, num_stages=1),  # at most 4112 B shared, unproven
    Config(TILE=4096, PROGRAMS=4, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
)
_BACKWARD_COLUMNS_11 = (
    Config(TILE=2048, PROGRAMS=4, num_warps=4, num_stages=1),  # at most 4128 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 16512 B shared, unproven
    Config(TILE=4096, PROGRAMS=4, num_warps=4, num_stages=1),  # at most 4128 B shared, unproven
    Config(TILE=4096, PROGRAMS=4, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
)
_BACKWARD_COLUMNS_12 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 17424 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 33808 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 33824 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 33808 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 33824 B shared, unproven
    Config(TILE=4096, PROGRAMS=4, num_warps=8, num_stages=3),  # at most 33824 B shared, unproven
)
#: Tiles of TILE elements over rows and columns, in PROGRAMS programs an SM; by architecture class and element size in bytes.
BACKWARD_COLUMNS_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2), _BACKWARD_COLUMNS_1),
    (("sm_80", "sm_100", "gfx950"), (4,), _BACKWARD_COLUMNS_1),
    (("sm_89", "sm_86", "sm_120"), (4,), _BACKWARD_COLUMNS_2),
    (("sm_80", "sm_100"), (8,), _BACKWARD_COLUMNS_2),
    (("sm_90",), (1,), _BACKWARD_COLUMNS_3),
    (("sm_90",), (2,), _BACKWARD_COLUMNS_4),
    (("sm_90",), (4,), _BACKWARD_COLUMNS_5),
    (("sm_90",), (8,), _BACKWARD_COLUMNS_6),
    (("sm_89", "sm_86", "sm_120"), (8,), _BACKWARD_COLUMNS_7),
    (("gfx90a", "gfx942"), (1,), _BACKWARD_COLUMNS_8),
    (("gfx950",), (1, 8), _BACKWARD_COLUMNS_9),
    (("gfx90a", "gfx942"), (2,), _BACKWARD_COLUMNS_9),
    (("gfx90a", "gfx942"), (4,), _BACKWARD_COLUMNS_10),
    (("gfx90a", "gfx942"), (8,), _BACKWARD_COLUMNS_11),
    (("gfx950",), (2,), _BACKWARD_COLUMNS_12),
)


# Loads: "evict_last" keeps what a kernel reads in L2 over what it writes, and a row until its last
# sweep, which is "evict_first". On an H200 that is 2 to 10 percent of the copy rate.
@triton.jit
def _add_rmsnorm_block(
    x_ptr,
    residual_ptr,
    weight_ptr,
    y_ptr,
    h_ptr,
    rstd_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    residual_row_0,
    residual_row_1,
    residual_row_2,
    residual_col,
    weight_col,
    y_row_0,
    y_row_1,
    y_row_2,
    y_col,
    h_row_0,
    h_row_1,
    h_row_2,
    h_col,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    eps,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    EARLY: tl.constexpr,
    NEEDS_RSTD: tl.constexpr,
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
    residual_rows = (
        residual_ptr + row_0 * residual_row_0 + row_1 * residual_row_1 + row_2 * residual_row_2
    )
    y_rows = y_ptr + row_0 * y_row_0 + row_1 * y_row_1 + row_2 * y_row_2
    h_rows = h_ptr + row_0 * h_row_0 + row_1 * h_row_1 + row_2 * h_row_2
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2

    eps = scalar(eps, FLOAT)

    x = tl.load(
        x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    residual = tl.load(
        residual_rows + cols * residual_col,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    if EARLY:
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        )
    # h = x + residual
    h = x + residual
    # rstd = rsqrt(mean(h * h) + eps)
    row_sum = tl.sum(h * h, axis=1, keep_dims=True)
    rstd = tl.rsqrt(row_sum / N + eps)
    if not EARLY:
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        )
    # y = h * rstd * weight
    y = h * rstd * weight.to(FLOAT)
    tl.store(y_rows + cols * y_col, narrow(y, y_ptr.dtype.element_ty), mask=in_rows & in_cols)
    tl.store(h_rows + cols * h_col, narrow(h, h_ptr.dtype.element_ty), mask=in_rows & in_cols)
    if NEEDS_RSTD:
        tl.store(rstd_rows, narrow(rstd, rstd_ptr.dtype.element_ty), mask=in_rows)


@triton.jit
def _add_rmsnorm_loop(
    x_ptr,
    residual_ptr,
    weight_ptr,
    y_ptr,
    h_ptr,
    rstd_ptr,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    residual_row_0,
    residual_row_1,
    residual_row_2,
    residual_col,
    weight_col,
    y_row_0,
    y_row_1,
    y_row_2,
    y_col,
    h_row_0,
    h_row_1,
    h_row_2,
    h_col,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    eps,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    NEEDS_RSTD: tl.constexpr,
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
    residual_rows = (
        residual_ptr + row_0 * residual_row_0 + row_1 * residual_row_1 + row_2 * residual_row_2
    )
    y_rows = y_ptr + row_0 * y_row_0 + row_1 * y_row_1 + row_2 * y_row_2
    h_rows = h_ptr + row_0 * h_row_0 + row_1 * h_row_1 + row_2 * h_row_2
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2

    eps = scalar(eps, FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        residual = tl.load(
            residual_rows + cols * residual_col,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        # h = x + residual
        h = x + residual
        # rstd = rsqrt(mean(h * h) + eps)
        total = total + tl.sum(h * h, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)

    rstd = tl.rsqrt(row_sum / N + eps)

    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        residual = tl.load(
            residual_rows + cols * residual_col,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        h = x + residual
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # y = h * rstd * weight
        y = h * rstd * weight
        tl.store(
            y_rows + cols * y_col,
            narrow(y, y_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )
        tl.store(
            h_rows + cols * h_col,
            narrow(h, h_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )

    if NEEDS_RSTD:
        tl.store(rstd_rows, narrow(rstd, rstd_ptr.dtype.element_ty))


@triton.jit
def _add_rmsnorm_partial(
    x_ptr,
    residual_ptr,
    partial_total_ptr,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    residual_row_0,
    residual_row_1,
    residual_row_2,
    residual_col,
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
    residual_rows = (
        residual_ptr + row_0 * residual_row_0 + row_1 * residual_row_1 + row_2 * residual_row_2
    )

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        residual = tl.load(residual_rows + cols * residual_col, mask=in_cols, other=0.0).to(FLOAT)
        # h = x + residual
        h = x + residual
        # rstd = rsqrt(mean(h * h) + eps)
        total = total + tl.sum(h * h, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, row_sum)


@triton.jit
def _add_rmsnorm_finish(
    partial_total_ptr,
    x_ptr,
    residual_ptr,
    weight_ptr,
    y_ptr,
    h_ptr,
    rstd_ptr,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    residual_row_0,
    residual_row_1,
    residual_row_2,
    residual_col,
    weight_col,
    y_row_0,
    y_row_1,
    y_row_2,
    y_col,
    h_row_0,
    h_row_1,
    h_row_2,
    h_col,
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
    NEEDS_RSTD: tl.constexpr,
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
    residual_rows = (
        residual_ptr + row_0 * residual_row_0 + row_1 * residual_row_1 + row_2 * residual_row_2
    )
    y_rows = y_ptr + row_0 * y_row_0 + row_1 * y_row_1 + row_2 * y_row_2
    h_rows = h_ptr + row_0 * h_row_0 + row_1 * h_row_1 + row_2 * h_row_2
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2

    eps = scalar(eps, FLOAT)

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_sum = tl.sum(total, axis=0, keep_dims=True)
    # rstd = rsqrt(mean(h * h) + eps)
    rstd = tl.rsqrt(row_sum / N + eps)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        residual = tl.load(residual_rows + cols * residual_col, mask=in_cols, other=0.0).to(FLOAT)
        # h = x + residual
        h = x + residual
        weight = tl.load(weight_ptr + cols * weight_col, mask=in_cols, other=0.0).to(FLOAT)
        # y = h * rstd * weight
        y = h * rstd * weight
        tl.store(
            y_rows + cols * y_col,
            narrow(y, y_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )
        tl.store(
            h_rows + cols * h_col,
            narrow(h, h_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )

    if NEEDS_RSTD:
        tl.store(rstd_rows, narrow(rstd, rstd_ptr.dtype.element_ty), mask=leads)


@triton.jit
def _add_rmsnorm_backward_stage_1_columns(
    h_ptr,
    rstd_ptr,
    grad_y_ptr,
    grad_weight_parts_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    grad_y_row_0,
    grad_y_row_1,
    grad_y_row_2,
    grad_y_col,
    h_row_0,
    h_row_1,
    h_row_2,
    h_col,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    PROGRAMS,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    STAGES: tl.constexpr,
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

    grad_weight = tl.full((BLOCK_M, BLOCK_N), 0.0, FLOAT)
    for tile in tl.range(program, tl.cdiv(M, BLOCK_M), PROGRAMS, num_stages=STAGES):
        rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)[:, None].to(INT)
        in_rows = below(rows, M, EVEN_M)
        row_2 = rows % ROWS_2
        row_1 = rows // ROWS_2 % ROWS_1
        row_0 = rows // ROWS_2 // ROWS_1
        grad_y_rows = (
            grad_y_ptr + row_0 * grad_y_row_0 + row_1 * grad_y_row_1 + row_2 * grad_y_row_2
        )
        h_rows = h_ptr + row_0 * h_row_0 + row_1 * h_row_1 + row_2 * h_row_2
        rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2

        rstd = tl.load(rstd_rows, mask=in_rows, other=0.0, eviction_policy="evict_last").to(FLOAT)
        h = tl.load(
            h_rows + cols * h_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        grad_y = tl.load(
            grad_y_rows + cols * grad_y_col,
            mask=in_rows & in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        grad_weight = grad_weight + tl.where(in_rows, grad_y * (h * rstd), 0.0)

    tl.store(
        grad_weight_parts_ptr + part * N + cols,
        tl.sum(grad_weight, axis=0, keep_dims=True),
        mask=in_cols,
    )


@triton.jit
def _add_rmsnorm_backward_stage_1_join(
    grad_weight_parts_ptr,
    grad_weight_ptr,
    N,
    grad_weight_col,
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

    grad_weight = tl.full((BLOCK_S, BLOCK_N), 0.0, FLOAT)
    for start in range(0, PARTS, BLOCK_S):
        parts = start + tl.arange(0, BLOCK_S)[:, None].to(INT)
        grad_weight += tl.load(
            grad_weight_parts_ptr + parts * N + cols, mask=(parts < PARTS) & in_cols, other=0
        )
    grad_weight = tl.sum(grad_weight, axis=0, keep_dims=True)
    tl.store(
        grad_weight_ptr + cols * grad_weight_col,
        narrow(grad_weight, grad_weight_ptr.dtype.element_ty),
        mask=in_cols,
    )


@triton.jit
def _add_rmsnorm_backward_stage_2_block(
    weight_ptr,
    h_ptr,
    rstd_ptr,
    grad_y_ptr,
    grad_h_ptr,
    grad_x_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    grad_y_row_0,
    grad_y_row_1,
    grad_y_row_2,
    grad_y_col,
    weight_col,
    h_row_0,
    h_row_1,
    h_row_2,
    h_col,
    grad_h_row_0,
    grad_h_row_1,
    grad_h_row_2,
    grad_h_col,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
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
    grad_y_rows = grad_y_ptr + row_0 * grad_y_row_0 + row_1 * grad_y_row_1 + row_2 * grad_y_row_2
    h_rows = h_ptr + row_0 * h_row_0 + row_1 * h_row_1 + row_2 * h_row_2
    grad_h_rows = grad_h_ptr + row_0 * grad_h_row_0 + row_1 * grad_h_row_1 + row_2 * grad_h_row_2
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    grad_y = tl.load(
        grad_y_rows + cols * grad_y_col,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    weight = tl.load(
        weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    h = tl.load(
        h_rows + cols * h_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    if EARLY:
        grad_h = tl.load(
            grad_h_rows + cols * grad_h_col,
            mask=in_rows & in_cols,
            other=0.0,
            eviction_policy="evict_last",
        )
    rstd = tl.load(rstd_rows, mask=in_rows, other=0.0, eviction_policy="evict_last").to(FLOAT)
    # y = h * rstd * weight
    value = grad_y * weight
    # rstd = rsqrt(mean(h * h) + eps)
    grad_rstd = tl.sum(value * h, axis=1, keep_dims=True)
    if not EARLY:
        grad_h = tl.load(
            grad_h_rows + cols * grad_h_col,
            mask=in_rows & in_cols,
            other=0.0,
            eviction_policy="evict_last",
        )
    grad_x = (
        grad_h.to(FLOAT) + value * rstd + 2.0 * (-0.5 * grad_rstd * (rstd * rstd * rstd) / N) * h
    )
    tl.store(
        grad_x_rows + cols * grad_x_col,
        narrow(grad_x, grad_x_ptr.dtype.element_ty),
        mask=in_rows & in_cols,
    )


@triton.jit
def _add_rmsnorm_backward_stage_2_loop(
    weight_ptr,
    h_ptr,
    rstd_ptr,
    grad_y_ptr,
    grad_h_ptr,
    grad_x_ptr,
    ROWS_1,
    ROWS_2,
    N,
    grad_y_row_0,
    grad_y_row_1,
    grad_y_row_2,
    grad_y_col,
    weight_col,
    h_row_0,
    h_row_1,
    h_row_2,
    h_col,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    grad_h_row_0,
    grad_h_row_1,
    grad_h_row_2,
    grad_h_col,
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
    grad_y_rows = grad_y_ptr + row_0 * grad_y_row_0 + row_1 * grad_y_row_1 + row_2 * grad_y_row_2
    h_rows = h_ptr + row_0 * h_row_0 + row_1 * h_row_1 + row_2 * h_row_2
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2
    grad_h_rows = grad_h_ptr + row_0 * grad_h_row_0 + row_1 * grad_h_row_1 + row_2 * grad_h_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        grad_y = tl.load(
            grad_y_rows + cols * grad_y_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        h = tl.load(
            h_rows + cols * h_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # rstd = rsqrt(mean(h * h) + eps)
        total = total + tl.sum(grad_y * weight * h, axis=1, keep_dims=True)

    grad_rstd = tl.sum(total, axis=0, keep_dims=True)

    rstd = tl.load(rstd_rows).to(FLOAT)
    value = 2.0 * (-0.5 * grad_rstd * (rstd * rstd * rstd) / N)

    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        grad_h = tl.load(
            grad_h_rows + cols * grad_h_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        grad_y = tl.load(
            grad_y_rows + cols * grad_y_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        h = tl.load(
            h_rows + cols * h_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        grad_x = grad_h + grad_y * weight * rstd + value * h
        tl.store(
            grad_x_rows + cols * grad_x_col,
            narrow(grad_x, grad_x_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )


@triton.jit
def _add_rmsnorm_backward_stage_2_partial(
    weight_ptr,
    h_ptr,
    grad_y_ptr,
    partial_total_ptr,
    ROWS_1,
    ROWS_2,
    N,
    grad_y_row_0,
    grad_y_row_1,
    grad_y_row_2,
    grad_y_col,
    weight_col,
    h_row_0,
    h_row_1,
    h_row_2,
    h_col,
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
    grad_y_rows = grad_y_ptr + row_0 * grad_y_row_0 + row_1 * grad_y_row_1 + row_2 * grad_y_row_2
    h_rows = h_ptr + row_0 * h_row_0 + row_1 * h_row_1 + row_2 * h_row_2

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        grad_y = tl.load(grad_y_rows + cols * grad_y_col, mask=in_cols, other=0.0).to(FLOAT)
        weight = tl.load(weight_ptr + cols * weight_col, mask=in_cols, other=0.0).to(FLOAT)
        h = tl.load(h_rows + cols * h_col, mask=in_cols, other=0.0).to(FLOAT)
        # rstd = rsqrt(mean(h * h) + eps)
        total = total + tl.sum(grad_y * weight * h, axis=1, keep_dims=True)

    grad_rstd = tl.sum(total, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, grad_rstd)


@triton.jit
def _add_rmsnorm_backward_stage_2_finish(
    partial_total_ptr,
    weight_ptr,
    h_ptr,
    rstd_ptr,
    grad_y_ptr,
    grad_h_ptr,
    grad_x_ptr,
    ROWS_1,
    ROWS_2,
    N,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    grad_h_row_0,
    grad_h_row_1,
    grad_h_row_2,
    grad_h_col,
    grad_y_row_0,
    grad_y_row_1,
    grad_y_row_2,
    grad_y_col,
    weight_col,
    h_row_0,
    h_row_1,
    h_row_2,
    h_col,
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
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2
    grad_h_rows = grad_h_ptr + row_0 * grad_h_row_0 + row_1 * grad_h_row_1 + row_2 * grad_h_row_2
    grad_y_rows = grad_y_ptr + row_0 * grad_y_row_0 + row_1 * grad_y_row_1 + row_2 * grad_y_row_2
    h_rows = h_ptr + row_0 * h_row_0 + row_1 * h_row_1 + row_2 * h_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    grad_rstd = tl.sum(total, axis=0, keep_dims=True)
    rstd = tl.load(rstd_rows).to(FLOAT)
    # rstd = rsqrt(mean(h * h) + eps)
    value = 2.0 * (-0.5 * grad_rstd * (rstd * rstd * rstd) / N)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        grad_h = tl.load(grad_h_rows + cols * grad_h_col, mask=in_cols, other=0.0).to(FLOAT)
        grad_y = tl.load(grad_y_rows + cols * grad_y_col, mask=in_cols, other=0.0).to(FLOAT)
        weight = tl.load(weight_ptr + cols * weight_col, mask=in_cols, other=0.0).to(FLOAT)
        h = tl.load(h_rows + cols * h_col, mask=in_cols, other=0.0).to(FLOAT)
        grad_x = grad_h + grad_y * weight * rstd + value * h
        tl.store(
            grad_x_rows + cols * grad_x_col,
            narrow(grad_x, grad_x_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )


@triton.jit
def _add_rmsnorm_backward_sums(
    weight_ptr,
    h_ptr,
    rstd_ptr,
    grad_y_ptr,
    grad_h_ptr,
    grad_x_ptr,
    grad_weight_parts_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    grad_y_row_0,
    grad_y_row_1,
    grad_y_row_2,
    grad_y_col,
    h_row_0,
    h_row_1,
    h_row_2,
    h_col,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    grad_h_row_0,
    grad_h_row_1,
    grad_h_row_2,
    grad_h_col,
    weight_col,
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
    NEEDS_GRAD_WEIGHT: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program goes over tiles of BLOCK_M whole rows, and carries their sums along."""
    program = tl.program_id(0)
    part = program + tl.zeros((1, 1), INT)
    cols = tl.arange(0, BLOCK_N)[None, :].to(INT)
    in_cols = below(cols, N, EVEN_N)

    grad_weight = tl.full((BLOCK_M, BLOCK_N), 0.0, FLOAT)
    for tile in tl.range(program, tl.cdiv(M, BLOCK_M), PROGRAMS, num_stages=STAGES):
        rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)[:, None].to(INT)
        in_rows = below(rows, M, EVEN_M)
        row_2 = rows % ROWS_2
        row_1 = rows // ROWS_2 % ROWS_1
        row_0 = rows // ROWS_2 // ROWS_1
        grad_y_rows = (
            grad_y_ptr + row_0 * grad_y_row_0 + row_1 * grad_y_row_1 + row_2 * grad_y_row_2
        )
        h_rows = h_ptr + row_0 * h_row_0 + row_1 * h_row_1 + row_2 * h_row_2
        rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2
        grad_h_rows = (
            grad_h_ptr + row_0 * grad_h_row_0 + row_1 * grad_h_row_1 + row_2 * grad_h_row_2
        )
        grad_x_rows = (
            grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2
        )

        rstd = tl.load(rstd_rows, mask=in_rows, other=0.0, eviction_policy="evict_last").to(FLOAT)
        h = tl.load(
            h_rows + cols * h_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        grad_y = tl.load(
            grad_y_rows + cols * grad_y_col,
            mask=in_rows & in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        if NEEDS_GRAD_WEIGHT:
            grad_weight = grad_weight + tl.where(in_rows, grad_y * (h * rstd), 0.0)
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # y = h * rstd * weight
        value = grad_y * weight
        # rstd = rsqrt(mean(h * h) + eps)
        grad_rstd = tl.sum(value * h, axis=1, keep_dims=True)
        grad_h = tl.load(
            grad_h_rows + cols * grad_h_col,
            mask=in_rows & in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        grad_x = grad_h + value * rstd + 2.0 * (-0.5 * grad_rstd * (rstd * rstd * rstd) / N) * h
        if NEEDS_GRAD_X:
            tl.store(
                grad_x_rows + cols * grad_x_col,
                narrow(grad_x, grad_x_ptr.dtype.element_ty),
                mask=in_rows & in_cols,
            )

    if NEEDS_GRAD_WEIGHT:
        tl.store(
            grad_weight_parts_ptr + part * N + cols,
            tl.sum(grad_weight, axis=0, keep_dims=True),
            mask=in_cols,
        )


@triton.jit
def _add_rmsnorm_backward_join(
    grad_weight_parts_ptr,
    grad_weight_ptr,
    N,
    grad_weight_col,
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

    grad_weight = tl.full((BLOCK_S, BLOCK_N), 0.0, FLOAT)
    for start in range(0, PARTS, BLOCK_S):
        parts = start + tl.arange(0, BLOCK_S)[:, None].to(INT)
        grad_weight += tl.load(
            grad_weight_parts_ptr + parts * N + cols, mask=(parts < PARTS) & in_cols, other=0
        )
    grad_weight = tl.sum(grad_weight, axis=0, keep_dims=True)
    tl.store(
        grad_weight_ptr + cols * grad_weight_col,
        narrow(grad_weight, grad_weight_ptr.dtype.element_ty),
        mask=in_cols,
    )


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("M",), limit=3, spare_last=True)
    cols = call.axes(("N",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=2, writes=2, flops=5, joins=1, held=2, held_wide=2)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=2, writes=2, flops=6.25, rereads=2, joins=1, passes=2, held=1.2, held_wide=1.35
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=2,
            writes=2,
            flops=6.625,
            special=0.25,
            rereads=2,
            joins=1,
            passes=2,
            held=1.2,
            held_wide=1.35,
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
                _add_rmsnorm_partial,
                grid=(rows.total * splits,),
                tensors=("x", "residual", "partial_total"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("residual"),
                    cols.strides("residual")[0],
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
                _add_rmsnorm_finish,
                grid=(rows.total * splits,),
                tensors=("partial_total", "x", "residual", "weight", "y", "h", "rstd"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("residual"),
                    cols.strides("residual")[0],
                    cols.strides("weight")[0],
                    *rows.strides("y"),
                    cols.strides("y")[0],
                    *rows.strides("h"),
                    cols.strides("h")[0],
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
                    "NEEDS_RSTD": call.needs("rstd"),
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
                _add_rmsnorm_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "residual", "weight", "y", "h", "rstd"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("residual"),
                    cols.strides("residual")[0],
                    cols.strides("weight")[0],
                    *rows.strides("y"),
                    cols.strides("y")[0],
                    *rows.strides("h"),
                    cols.strides("h")[0],
                    *rows.strides("rstd"),
                ),
                params=("eps",),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_N": width,
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                    "EARLY": width <= 4096,
                    "NEEDS_RSTD": call.needs("rstd"),
                },
                config=config,
            )
        )

    config = call.choose(LOOP_CONFIGS, loop_time)
    vector = max(1, 16 // call.element_size)
    even = columns > 0 and columns % config["TILE"] == 0
    return Launch(
        Step(
            _add_rmsnorm_loop,
            grid=(rows.total,),
            tensors=("x", "residual", "weight", "y", "h", "rstd"),
            integers=(
                *rows.sizes[1:],
                cols.total,
                *rows.strides("x"),
                cols.strides("x")[0],
                *rows.strides("residual"),
                cols.strides("residual")[0],
                cols.strides("weight")[0],
                *rows.strides("y"),
                cols.strides("y")[0],
                *rows.strides("h"),
                cols.strides("h")[0],
                *rows.strides("rstd"),
            ),
            params=("eps",),
            constants={
                "LANES": config["TILE"] // vector,
                "VECTOR": vector,
                "EVEN": even,
                "NEEDS_RSTD": call.needs("rstd"),
            },
            config=config,
        )
    )


def _plan_backward_stage_1(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    call = call.among("weight", "h", "rstd", "grad_y", "grad_weight")
    rows = call.axes(("M",), limit=3, spare_last=True)
    cols = call.axes(("N",), limit=1)
    columns = cols.total

    def columns_time(config: Config) -> float:
        work = Work(reads=2, writes=0, flops=3, held=1.7, held_wide=2.55)
        return columns_cost(config, call.target, work, call.element_size, rows.total, columns)

    config = call.choose(BACKWARD_COLUMNS_CONFIGS, columns_time)
    block_m, block_n = tile_shape(
        rows.crossed(), rows.total, columns, config["TILE"], call.element_size
    )
    blocks = cdiv(columns, block_n)
    programs = programs_of(config, call.target, cdiv(rows.total, block_m), blocks)
    return Launch(
        Step(
            _add_rmsnorm_backward_stage_1_columns,
            grid=(programs * blocks,),
            tensors=("h", "rstd", "grad_y", "grad_weight_parts"),
            integers=(
                rows.total,
                *rows.sizes[1:],
                cols.total,
                *rows.strides("grad_y"),
                cols.strides("grad_y")[0],
                *rows.strides("h"),
                cols.strides("h")[0],
                *rows.strides("rstd"),
                programs,
            ),
            constants={
                "BLOCK_M": block_m,
                "BLOCK_N": block_n,
                "EVEN_M": rows.total % block_m == 0,
                "EVEN_N": columns % block_n == 0,
                "STAGES": config["num_stages"],
            },
            config=config,
        ),
        Step(
            _add_rmsnorm_backward_stage_1_join,
            grid=(cdiv(columns, join_tile(config, programs, columns)[1]),),
            tensors=("grad_weight_parts", "grad_weight"),
            integers=(cols.total, cols.strides("grad_weight")[0], programs),
            constants={
                "BLOCK_S": join_tile(config, programs, columns)[0],
                "BLOCK_N": join_tile(config, programs, columns)[1],
            },
            config=config,
        )
        if call.needs("grad_weight")
        else None,
        workspaces={
            "grad_weight_parts": ((programs, columns), call.float),
        },
    )


def _plan_backward_stage_2(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    call = call.among("weight", "h", "rstd", "grad_y", "grad_h", "grad_x")
    rows = call.axes(("M",), limit=3, spare_last=True)
    cols = call.axes(("N",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=3, writes=1, flops=7, joins=1, held=2, held_wide=3)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BACKWARD_BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=3, writes=1, flops=8.25, rereads=2, joins=1, passes=2, held=1.2, held_wide=2.4
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, BACKWARD_LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=3,
            writes=1,
            flops=8.75,
            special=0.125,
            rereads=2,
            joins=1,
            passes=2,
            held=1.2,
            held_wide=2.4,
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
                _add_rmsnorm_backward_stage_2_partial,
                grid=(rows.total * splits,),
                tensors=("weight", "h", "grad_y", "partial_total"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("grad_y"),
                    cols.strides("grad_y")[0],
                    cols.strides("weight")[0],
                    *rows.strides("h"),
                    cols.strides("h")[0],
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
                _add_rmsnorm_backward_stage_2_finish,
                grid=(rows.total * splits,),
                tensors=("partial_total", "weight", "h", "rstd", "grad_y", "grad_h", "grad_x"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("rstd"),
                    *rows.strides("grad_h"),
                    cols.strides("grad_h")[0],
                    *rows.strides("grad_y"),
                    cols.strides("grad_y")[0],
                    cols.strides("weight")[0],
                    *rows.strides("h"),
                    cols.strides("h")[0],
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
                _add_rmsnorm_backward_stage_2_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("weight", "h", "rstd", "grad_y", "grad_h", "grad_x"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("grad_y"),
                    cols.strides("grad_y")[0],
                    cols.strides("weight")[0],
                    *rows.strides("h"),
                    cols.strides("h")[0],
                    *rows.strides("grad_h"),
                    cols.strides("grad_h")[0],
                    *rows.strides("rstd"),
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
            _add_rmsnorm_backward_stage_2_loop,
            grid=(rows.total,),
            tensors=("weight", "h", "rstd", "grad_y", "grad_h", "grad_x"),
            integers=(
                *rows.sizes[1:],
                cols.total,
                *rows.strides("grad_y"),
                cols.strides("grad_y")[0],
                cols.strides("weight")[0],
                *rows.strides("h"),
                cols.strides("h")[0],
                *rows.strides("rstd"),
                *rows.strides("grad_h"),
                cols.strides("grad_h")[0],
                *rows.strides("grad_x"),
                cols.strides("grad_x")[0],
            ),
            constants={"LANES": config["TILE"] // vector, "VECTOR": vector, "EVEN": even},
            config=config,
        )
    )


def _plan_backward(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("M",), limit=3, spare_last=True)
    cols = call.axes(("N",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def sums_time(config: Config) -> float:
        work = Work(reads=3, writes=1, flops=10, rereads=1, joins=1, held=2.55, held_wide=3.4)
        return sums_cost(config, call.target, work, call.element_size, rows.total, width)

    sums = least(call, BACKWARD_SUMS_CONFIGS, sums_time)

    if call.takes("sums", fits(sums)):
        config = call.choose(BACKWARD_SUMS_CONFIGS, sums_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        programs = programs_of(config, call.target, cdiv(rows.total, block_m), 1)
        return Launch(
            Step(
                _add_rmsnorm_backward_sums,
                grid=(programs,),
                tensors=("weight", "h", "rstd", "grad_y", "grad_h", "grad_x", "grad_weight_parts"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("grad_y"),
                    cols.strides("grad_y")[0],
                    *rows.strides("h"),
                    cols.strides("h")[0],
                    *rows.strides("rstd"),
                    *rows.strides("grad_h"),
                    cols.strides("grad_h")[0],
                    cols.strides("weight")[0],
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
                    programs,
                ),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_N": width,
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                    "STAGES": config["num_stages"],
                    "NEEDS_GRAD_X": call.needs("grad_x"),
                    "NEEDS_GRAD_WEIGHT": call.needs("grad_weight"),
                },
                config=config,
            ),
            Step(
                _add_rmsnorm_backward_join,
                grid=(cdiv(columns, join_tile(config, programs, columns)[1]),),
                tensors=("grad_weight_parts", "grad_weight"),
                integers=(cols.total, cols.strides("grad_weight")[0], programs),
                constants={
                    "BLOCK_S": join_tile(config, programs, columns)[0],
                    "BLOCK_N": join_tile(config, programs, columns)[1],
                },
                config=config,
            )
            if call.needs("grad_weight")
            else None,
            workspaces={
                "grad_weight_parts": ((programs, columns), call.float),
            },
        )

    # A row is too wide: stage after stage.
    return in_stages(
        _plan_backward_stage_1(call) if call.needs("grad_weight") else None,
        _plan_backward_stage_2(call) if call.needs("grad_x") else None,
    )


def reference(x, residual, weight, eps, *, compute):
    """Add the residual stream, then RMS-normalise each row.

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x = widen(x, compute)
    residual = widen(residual, compute)
    weight = widen(weight, compute)
    # h = x + residual
    h = x + residual
    # rstd = rsqrt(mean(h * h) + eps)
    rstd = torch.rsqrt((h * h).mean(-1) + eps)
    # y = h * rstd * weight
    y = h * rstd[:, None] * weight
    return y, h, rstd


def reference_backward(weight, h, rstd, grad_y, grad_h, eps, *, compute):
    """The gradient of `reference`, as the kernels compute it."""
    N = weight.shape[0]
    weight = widen(weight, compute)
    h = widen(h, compute)
    rstd = widen(rstd, compute)
    grad_y = widen(grad_y, compute)
    grad_h = widen(grad_h, compute)
    # y = h * rstd * weight
    value = grad_y * weight
    # rstd = rsqrt(mean(h * h) + eps)
    grad_rstd = (value * h).sum(-1)
    grad_x = (
        grad_h
        + value * rstd[:, None]
        + (2.0 * (-0.5 * grad_rstd * (rstd * rstd * rstd) / float(N)))[:, None] * h
    )
    grad_weight = (grad_y * (h * rstd[:, None])).sum(0)
    return grad_x, grad_weight


BACKWARD = Op(
    name="add_rmsnorm_backward",
    spec_hash="76e34d14",
    inputs=(
        Operand("weight", ("N",)),
        Operand("h", ("M", "N")),
        Operand("rstd", ("M",)),
        Operand("grad_y", ("M", "N")),
        Operand("grad_h", ("M", "N")),
    ),
    params=(Param("eps", "float", 1e-06),),
    outputs=(Output("grad_x", ("M", "N"), like="h"), Output("grad_weight", ("N",), like="weight")),
    fold="M",
    shards={"M": ("grad_weight",)},
    partial=True,
    variants={
        (): Variant(_plan_backward, reference_backward),
    },
)
OP = Op(
    name="add_rmsnorm",
    spec_hash="76e34d14",
    inputs=(Operand("x", ("M", "N")), Operand("residual", ("M", "N")), Operand("weight", ("N",))),
    params=(Param("eps", "float", 1e-06),),
    outputs=(Output("y", ("M", "N"), like="x"), Output("h", ("M", "N"), like="x")),
    saved=(Output("rstd", ("M",), dtype="float"),),
    fold="M",
    inplace=("x", "residual"),
    shards={"M": ()},
    gradients=Gradients({"y": "grad_y", "h": "grad_h"}, BACKWARD),
    variants={
        (): Variant(
            _plan,
            reference,
            gradients={"x": "grad_x", "residual": "grad_x", "weight": "grad_weight"},
        ),
    },
)


def add_rmsnorm(
    x: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor,
    eps: float = 1e-06,
    *,
    out: tuple[torch.Tensor, torch.Tensor] | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Add the residual stream, then RMS-normalise each row.

    y normalises the unrounded sum; h is that sum as it is stored, rounded.

    Args:
        x: [M, N], floats.
        residual: [M, N], floats.
        weight: [N], floats.
        eps: float.
        out: where to write y, h.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        y: [M, N], the type of x.
        h: [M, N], the type of x.
        M may stand for several dimensions.
    """
    tensors = (x, residual, weight)
    params = (eps,)
    return OP(tensors, params, out, backend, autotune)
