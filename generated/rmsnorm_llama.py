"""RMSNorm as in Llama's model code: the row rounds to x's dtype before the weight.

Built by tilegen 0.1.0 from specs/rmsnorm_llama.py (spec 1bf4bfaa, templates d13e90b1).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 2*M*N*e + N*e bytes (e: bytes of an element)
Work: 5*M*N + 3*M flops, 2*M of them exponentials, roots and quotients
Bound: memory on every target
Eager PyTorch: 7 kernels, 5.0 times the bytes
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
    convert,
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
    Config(TILE=8192, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 65536 B shared, unproven
)
_BLOCK_2 = (
    Config(TILE=512, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
)
_BLOCK_3 = (
    Config(TILE=512, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 2048 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
)
_BLOCK_4 = (
    Config(TILE=1024, num_warps=1, registers=64),  # 128 B shared
    Config(TILE=4096, num_warps=2, registers=96),  # 256 B shared
    Config(TILE=4096, num_warps=8, registers=32),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=80),  # 512 B shared
    Config(TILE=16384, num_warps=8, registers=80),  # 512 B shared
    Config(TILE=32768, num_warps=16, registers=128),  # 1024 B shared
)
_BLOCK_5 = (
    Config(TILE=1024, num_warps=1, registers=64),  # 32 B shared
    Config(TILE=4096, num_warps=2, registers=108),  # 256 B shared
    Config(TILE=4096, num_warps=8, registers=37),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=91),  # 512 B shared
    Config(TILE=16384, num_warps=8, registers=128),  # 512 B shared
    Config(TILE=32768, num_warps=16, registers=128),  # 1024 B shared
)
_BLOCK_6 = (
    Config(TILE=512, num_warps=1, registers=43),  # 16 B shared
    Config(TILE=1024, num_warps=1, registers=64),  # 32 B shared
    Config(TILE=4096, num_warps=2, registers=143),  # 512 B shared
    Config(TILE=4096, num_warps=8, registers=47),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=124),  # 512 B shared
    Config(TILE=16384, num_warps=16, registers=62),  # 512 B shared
)
_BLOCK_7 = (
    Config(TILE=512, num_warps=1, registers=90),  # 32 B shared
    Config(TILE=1024, num_warps=1, registers=155),  # 64 B shared
    Config(TILE=4096, num_warps=4, registers=168),  # 1024 B shared
    Config(TILE=4096, num_warps=8, registers=102),  # 512 B shared
    Config(TILE=8192, num_warps=16, registers=102),  # 1024 B shared
    Config(TILE=512, num_warps=2, registers=56, spills=2),  # 64 B shared, 8 B spilled
)
_BLOCK_8 = (
    Config(TILE=4096, num_warps=1),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=2),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 65536 B shared, unproven
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
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 65536 B shared, unproven
)
_LOOP_3 = (
    Config(TILE=2048, num_warps=4, registers=32),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=30),  # 4096 B shared
    Config(TILE=8192, num_warps=4, registers=43),  # 16 B shared, 51 registers in split rows
    Config(TILE=8192, num_warps=16, registers=32),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=47),  # 32 B shared, 48 registers in split rows
    Config(TILE=32768, num_warps=32, registers=32),  # 128 B shared, 41 registers in split rows
)
_LOOP_4 = (
    Config(TILE=2048, num_warps=4, registers=28),  # 16 B shared, 31 registers in split rows
    Config(TILE=2048, num_warps=8, registers=32),  # 32 B shared
    Config(TILE=8192, num_warps=4, registers=66),  # 16 B shared
    Config(TILE=8192, num_warps=16, registers=32),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=64),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=43),  # 128 B shared
)
_LOOP_5 = (
    Config(TILE=2048, num_warps=4, registers=38),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=32),  # 32 B shared
    Config(TILE=8192, num_warps=4, registers=96),  # 16 B shared
    Config(TILE=8192, num_warps=16, registers=40),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=98),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=54),  # 128 B shared
)
_LOOP_6 = (
    Config(TILE=2048, num_warps=4, registers=56),  # 32 B shared
    Config(TILE=2048, num_warps=8, registers=44),  # 64 B shared
    Config(TILE=2048, num_warps=16, registers=32),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=166),  # 32 B shared, 168 registers in split rows
    Config(TILE=8192, num_warps=16, registers=64),  # 128 B shared
    Config(TILE=16384, num_warps=32, registers=50),  # 256 B shared, 54 registers in split rows
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
    Config(TILE=1024, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 65536 B shared, unproven
)
_BACKWARD_BLOCK_2 = (
    Config(TILE=1024, num_warps=1),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
)
_BACKWARD_BLOCK_3 = (
    Config(TILE=512, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 2048 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
)
_BACKWARD_BLOCK_4 = (
    Config(TILE=1024, num_warps=1, registers=72),  # 128 B shared
    Config(TILE=4096, num_warps=2, registers=143),  # 256 B shared
    Config(TILE=4096, num_warps=8, registers=46),  # 32 B shared
    Config(TILE=8192, num_warps=4, registers=143),  # 512 B shared
    Config(TILE=16384, num_warps=8, registers=144),  # 32 B shared
    Config(TILE=32768, num_warps=16, registers=128, spills=2),  # 64 B shared, 44 B spilled
)
_BACKWARD_BLOCK_5 = (
    Config(TILE=1024, num_warps=1, registers=77),  # 0 B shared
    Config(TILE=4096, num_warps=2, registers=143),  # 256 B shared
    Config(TILE=4096, num_warps=8, registers=48),  # 32 B shared
    Config(TILE=8192, num_warps=4, registers=146),  # 512 B shared
    Config(TILE=16384, num_warps=8, registers=148),  # 32 B shared
    Config(TILE=32768, num_warps=16, registers=128, spills=2),  # 64 B shared, 48 B spilled
)
_BACKWARD_BLOCK_6 = (
    Config(TILE=1024, num_warps=1, registers=88),  # 0 B shared
    Config(TILE=4096, num_warps=2, registers=168),  # 512 B shared
    Config(TILE=4096, num_warps=4, registers=95),  # 512 B shared
    Config(TILE=4096, num_warps=8, registers=54),  # 32 B shared
    Config(TILE=8192, num_warps=4, registers=176),  # 512 B shared
    Config(TILE=16384, num_warps=16, registers=94),  # 64 B shared
)
_BACKWARD_BLOCK_7 = (
    Config(TILE=512, num_warps=1, registers=102),  # 0 B shared
    Config(TILE=512, num_warps=2, registers=76),  # 64 B shared
    Config(TILE=1024, num_warps=1, registers=195),  # 0 B shared
    Config(TILE=4096, num_warps=4, registers=254),  # 1024 B shared
    Config(TILE=4096, num_warps=8, registers=141),  # 512 B shared
    Config(TILE=8192, num_warps=16, registers=128, spills=2),  # 1024 B shared, 24 B spilled
)
_BACKWARD_BLOCK_8 = (
    Config(TILE=4096, num_warps=1),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=2),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 65536 B shared, unproven
)
#: Whole rows in registers, TILE elements to a program; by architecture class and element size in bytes.
BACKWARD_BLOCK_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2), _BACKWARD_BLOCK_1),
    (("gfx90a", "gfx942", "gfx950"), (4,), _BACKWARD_BLOCK_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (4,), _BACKWARD_BLOCK_2),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BACKWARD_BLOCK_2),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BACKWARD_BLOCK_3),
    (("sm_90",), (1,), _BACKWARD_BLOCK_4),
    (("sm_90",), (2,), _BACKWARD_BLOCK_5),
    (("sm_90",), (4,), _BACKWARD_BLOCK_6),
    (("sm_90",), (8,), _BACKWARD_BLOCK_7),
    (("gfx90a", "gfx942", "gfx950"), (1, 2), _BACKWARD_BLOCK_8),
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
    Config(TILE=2048, num_warps=4, registers=32),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=32),  # 32 B shared
    Config(TILE=4096, num_warps=4, registers=32),  # 16 B shared, 38 registers in split rows
    Config(TILE=8192, num_warps=16, registers=32),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=56),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=34),  # 128 B shared, 48 registers in split rows
)
_BACKWARD_LOOP_4 = (
    Config(TILE=2048, num_warps=4, registers=36),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=31),  # 32 B shared, 32 registers in split rows
    Config(TILE=4096, num_warps=4, registers=50),  # 16 B shared, 52 registers in split rows
    Config(TILE=8192, num_warps=16, registers=32),  # 64 B shared, 36 registers in split rows
    Config(TILE=16384, num_warps=8, registers=108),  # 32 B shared, 128 registers in split rows
    Config(TILE=32768, num_warps=32, registers=50),  # 128 B shared, 52 registers in split rows
)
_BACKWARD_LOOP_5 = (
    Config(TILE=2048, num_warps=4, registers=52),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=40),  # 32 B shared
    Config(TILE=4096, num_warps=4, registers=79),  # 16 B shared
    Config(TILE=8192, num_warps=16, registers=64),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=122),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=64, spills=2),  # 128 B shared, 60 B spilled
)
_BACKWARD_LOOP_6 = (
    Config(TILE=2048, num_warps=4, registers=64),  # 32 B shared, 70 registers in split rows
    Config(TILE=2048, num_warps=8, registers=32),  # 64 B shared, 48 registers in split rows
    Config(TILE=2048, num_warps=16, registers=54),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=230),  # 32 B shared
    Config(TILE=8192, num_warps=16, registers=74),  # 128 B shared
    Config(TILE=16384, num_warps=32, registers=64, spills=2),  # 256 B shared, 36 B spilled
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

_BACKWARD_SUMS_1 = (
    Config(TILE=8192, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 99344 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 99344 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 197664 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 197696 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=32, num_stages=3),  # at most 197760 B shared, unproven
)
_BACKWARD_SUMS_2 = (
    Config(TILE=8192, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 99344 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 99392 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 4112 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=32, num_stages=1),  # at most 32896 B shared, unproven
)
_BACKWARD_SUMS_3 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 50192 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 99392 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 4128 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=32, num_stages=1),  # at most 16512 B shared, unproven
)
_BACKWARD_SUMS_4 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99392 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 2080 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 4160 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 8320 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=32, num_stages=1),  # at most 16640 B shared, unproven
)
_BACKWARD_SUMS_5 = (
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=3, registers=128),  # 49184 B shared
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=3, registers=255),  # 98336 B shared
    Config(TILE=16384, PROGRAMS=1, num_warps=16, num_stages=3, registers=128),  # 98368 B shared
    Config(
        TILE=8192, PROGRAMS=1, num_warps=4, num_stages=3, registers=255, spills=1
    ),  # 49168 B shared, 132 B spilled
    Config(
        TILE=8192, PROGRAMS=2, num_warps=4, num_stages=3, registers=255, spills=1
    ),  # 49168 B shared, 132 B spilled
    Config(
        TILE=16384, PROGRAMS=1, num_warps=32, num_stages=3, registers=64, spills=1
    ),  # 98432 B shared, 16 B spilled
)
_BACKWARD_SUMS_6 = (
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=3, registers=128),  # 98336 B shared
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=3, registers=255),  # 196640 B shared
    Config(TILE=16384, PROGRAMS=1, num_warps=16, num_stages=3, registers=128),  # 196672 B shared
    Config(TILE=16384, PROGRAMS=1, num_warps=32, num_stages=3, registers=64),  # 196736 B shared
    Config(
        TILE=8192, PROGRAMS=1, num_warps=4, num_stages=3, registers=255, spills=2
    ),  # 98320 B shared, 552 B spilled
    Config(
        TILE=8192, PROGRAMS=2, num_warps=4, num_stages=3, registers=255, spills=2
    ),  # 98320 B shared, 552 B spilled
)
_BACKWARD_SUMS_7 = (
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=80),  # 98344 B shared
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=1, registers=138),  # 4096 B shared
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=3, registers=128),  # 196648 B shared
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=1, registers=87),  # 8192 B shared
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=3, registers=83),  # 196680 B shared
    Config(TILE=8192, PROGRAMS=1, num_warps=32, num_stages=3, registers=55),  # 196744 B shared
)
_BACKWARD_SUMS_8 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3, registers=248),  # 98352 B shared
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3, registers=248),  # 98352 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=238),  # 196688 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=128),  # 196752 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=32, num_stages=3, registers=64),  # 196880 B shared
    Config(
        TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3, registers=128, spills=1
    ),  # 98384 B shared, 8 B spilled
)
_BACKWARD_SUMS_9 = (
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 4128 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 197664 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 197696 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=32, num_stages=3),  # at most 197760 B shared, unproven
)
_BACKWARD_SUMS_10 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99392 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 197696 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 197760 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=32, num_stages=3),  # at most 197888 B shared, unproven
)
_BACKWARD_SUMS_11 = (
    Config(TILE=8192, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 50192 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 16416 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 99392 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=32, num_stages=3),  # at most 99456 B shared, unproven
)
_BACKWARD_SUMS_12 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 50192 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 99392 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 4128 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=32, num_stages=1),  # at most 16512 B shared, unproven
)
_BACKWARD_SUMS_13 = (
    Config(TILE=8192, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 50192 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 50240 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=4, num_stages=1),  # at most 16400 B shared, unproven
    Config(TILE=16384, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 16400 B shared, unproven
    Config(TILE=32768, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 32800 B shared, unproven
)
_BACKWARD_SUMS_14 = (
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 50192 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
    Config(TILE=16384, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 8208 B shared, unproven
    Config(TILE=16384, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 16416 B shared, unproven
    Config(TILE=32768, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 16416 B shared, unproven
    Config(TILE=32768, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 32832 B shared, unproven
)
_BACKWARD_SUMS_15 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
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
    Config(TILE=8192, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 50192 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 99344 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 99392 B shared, unproven
    Config(TILE=32768, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 32800 B shared, unproven
    Config(TILE=32768, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 65600 B shared, unproven
)
_BACKWARD_SUMS_18 = (
    Config(TILE=8192, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 99344 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 99392 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=4, num_stages=1),  # at most 8208 B shared, unproven
    Config(TILE=16384, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 8208 B shared, unproven
    Config(TILE=16384, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 32832 B shared, unproven
)
_BACKWARD_SUMS_19 = (
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 99392 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 4112 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 16448 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 16448 B shared, unproven
)
_BACKWARD_SUMS_20 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99392 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 16512 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 16512 B shared, unproven
)
#: Whole rows in registers, TILE elements at a time, in PROGRAMS programs an SM; by architecture class and element size in bytes.
BACKWARD_SUMS_CONFIGS = by_class(
    (("sm_80", "sm_100"), (1,), _BACKWARD_SUMS_1),
    (("sm_100",), (2,), _BACKWARD_SUMS_1),
    (("sm_80", "sm_89", "sm_86", "sm_120"), (2,), _BACKWARD_SUMS_2),
    (("sm_80",), (4,), _BACKWARD_SUMS_3),
    (("sm_80", "sm_89", "sm_86", "sm_120"), (8,), _BACKWARD_SUMS_4),
    (("sm_90",), (1,), _BACKWARD_SUMS_5),
    (("sm_90",), (2,), _BACKWARD_SUMS_6),
    (("sm_90",), (4,), _BACKWARD_SUMS_7),
    (("sm_90",), (8,), _BACKWARD_SUMS_8),
    (("sm_100",), (4,), _BACKWARD_SUMS_9),
    (("sm_100",), (8,), _BACKWARD_SUMS_10),
    (("sm_89", "sm_86", "sm_120"), (1,), _BACKWARD_SUMS_11),
    (("sm_89", "sm_86", "sm_120"), (4,), _BACKWARD_SUMS_12),
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
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 17440 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=3),  # at most 17440 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 33856 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 33824 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3),  # at most 33856 B shared, unproven
    Config(TILE=4096, PROGRAMS=4, num_warps=16, num_stages=3),  # at most 33856 B shared, unproven
)
_BACKWARD_COLUMNS_2 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 33824 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=3),  # at most 33824 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 66592 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 66624 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 66592 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3),  # at most 66624 B shared, unproven
)
_BACKWARD_COLUMNS_3 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 66592 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 66624 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=16, num_stages=3),  # at most 66688 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 132128 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 132160 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 132224 B shared, unproven
)
_BACKWARD_COLUMNS_4 = (
    Config(
        TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3, registers=32
    ),  # 8192 B shared, 40 registers in split rows
    Config(
        TILE=2048, PROGRAMS=4, num_warps=8, num_stages=3, registers=32
    ),  # 8192 B shared, 40 registers in split rows
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=40),  # 16384 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3, registers=52),  # 16384 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3, registers=40),  # 16384 B shared
    Config(TILE=4096, PROGRAMS=4, num_warps=16, num_stages=3, registers=40),  # 16384 B shared
)
_BACKWARD_COLUMNS_5 = (
    Config(
        TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3, registers=39
    ),  # 16384 B shared, 40 registers in split rows
    Config(
        TILE=2048, PROGRAMS=4, num_warps=8, num_stages=3, registers=39
    ),  # 16384 B shared, 40 registers in split rows
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=39),  # 32768 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3, registers=48),  # 32768 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3, registers=39),  # 32768 B shared
    Config(TILE=4096, PROGRAMS=4, num_warps=16, num_stages=3, registers=39),  # 32768 B shared
)
_BACKWARD_COLUMNS_6 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3, registers=48),  # 33024 B shared
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=3, registers=48),  # 33024 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=64),  # 66048 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=60),  # 66048 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3, registers=64),  # 66048 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3, registers=60),  # 66048 B shared
)
_BACKWARD_COLUMNS_7 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3, registers=64),  # 66048 B shared
    Config(TILE=2048, PROGRAMS=2, num_warps=16, num_stages=3, registers=40),  # 66048 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3, registers=128),  # 132096 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=64),  # 132096 B shared
    Config(
        TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3, registers=72, spills=2
    ),  # 66048 B shared, 96 registers in split rows, 4 B spilled
    Config(
        TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=78, spills=2
    ),  # 132096 B shared, 4 B spilled
)
_BACKWARD_COLUMNS_8 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 9248 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=3),  # at most 9248 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 17424 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 17440 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3),  # at most 17472 B shared, unproven
    Config(TILE=4096, PROGRAMS=4, num_warps=8, num_stages=3),  # at most 17440 B shared, unproven
)
_BACKWARD_COLUMNS_9 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 66592 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 66624 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 66688 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=4, num_stages=1),  # at most 2080 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=1),  # at most 4160 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 8320 B shared, unproven
)
_BACKWARD_COLUMNS_10 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 9232 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=4, num_stages=3),  # at most 9232 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 17424 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 17440 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 17424 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 17440 B shared, unproven
)
_BACKWARD_COLUMNS_11 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 66592 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 66592 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=4, num_stages=1),  # at most 8208 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 132128 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 132160 B shared, unproven
    Config(TILE=4096, PROGRAMS=4, num_warps=4, num_stages=1),  # at most 16400 B shared, unproven
)
_BACKWARD_COLUMNS_12 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 33808 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 33824 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=4, num_stages=1),  # at most 4112 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
    Config(TILE=4096, PROGRAMS=4, num_warps=4, num_stages=1),  # at most 4112 B shared, unproven
    Config(TILE=4096, PROGRAMS=4, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
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
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 17424 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 33808 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 33824 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 33808 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 33824 B shared, unproven
    Config(TILE=4096, PROGRAMS=4, num_warps=8, num_stages=3),  # at most 33824 B shared, unproven
)
#: Tiles of TILE elements over rows and columns, in PROGRAMS programs an SM; by architecture class and element size in bytes.
BACKWARD_COLUMNS_CONFIGS = by_class(
    (("sm_80", "sm_100"), (1, 2), _BACKWARD_COLUMNS_1),
    (("sm_89", "sm_86", "sm_120"), (2,), _BACKWARD_COLUMNS_2),
    (("sm_80", "sm_100", "gfx950"), (4,), _BACKWARD_COLUMNS_2),
    (("sm_89", "sm_86", "sm_120"), (4,), _BACKWARD_COLUMNS_3),
    (("sm_80", "sm_100"), (8,), _BACKWARD_COLUMNS_3),
    (("sm_90",), (1,), _BACKWARD_COLUMNS_4),
    (("sm_90",), (2,), _BACKWARD_COLUMNS_5),
    (("sm_90",), (4,), _BACKWARD_COLUMNS_6),
    (("sm_90",), (8,), _BACKWARD_COLUMNS_7),
    (("sm_89", "sm_86", "sm_120"), (1,), _BACKWARD_COLUMNS_8),
    (("sm_89", "sm_86", "sm_120"), (8,), _BACKWARD_COLUMNS_9),
    (("gfx90a", "gfx942"), (1,), _BACKWARD_COLUMNS_10),
    (("gfx950",), (1, 8), _BACKWARD_COLUMNS_11),
    (("gfx90a", "gfx942"), (2,), _BACKWARD_COLUMNS_11),
    (("gfx90a", "gfx942"), (4,), _BACKWARD_COLUMNS_12),
    (("gfx90a", "gfx942"), (8,), _BACKWARD_COLUMNS_13),
    (("gfx950",), (2,), _BACKWARD_COLUMNS_14),
)


# Loads: "evict_last" keeps what a kernel reads in L2 over what it writes, and a row until its last
# sweep, which is "evict_first". On an H200 that is 2 to 10 percent of the copy rate.
@triton.jit
def _rmsnorm_llama_block(
    x_ptr,
    weight_ptr,
    out_ptr,
    rstd_ptr,
    M,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    weight_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
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
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2

    eps = scalar(eps, FLOAT)

    x = tl.load(
        x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    if EARLY:
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        )
    # rstd = rsqrt(mean(x * x) + eps)
    row_sum = tl.sum(x * x, axis=1, keep_dims=True)
    rstd = tl.rsqrt(row_sum / N + eps)
    # normed = cast(x * rstd, x.dtype)
    normed = narrow(x * rstd, x_ptr.dtype.element_ty).to(FLOAT)
    if not EARLY:
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        )
    # return normed * weight
    tl.store(
        out_rows + cols * out_col,
        narrow(normed * weight.to(FLOAT), out_ptr.dtype.element_ty),
        mask=in_rows & in_cols,
    )
    if NEEDS_RSTD:
        tl.store(rstd_rows, narrow(rstd, rstd_ptr.dtype.element_ty), mask=in_rows)


@triton.jit
def _rmsnorm_llama_loop(
    x_ptr,
    weight_ptr,
    out_ptr,
    rstd_ptr,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    weight_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
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
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2

    eps = scalar(eps, FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # rstd = rsqrt(mean(x * x) + eps)
        total = total + tl.sum(x * x, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)

    rstd = tl.rsqrt(row_sum / N + eps)

    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        # normed = cast(x * rstd, x.dtype)
        normed = narrow(x * rstd, x_ptr.dtype.element_ty).to(FLOAT)
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # return normed * weight
        tl.store(
            out_rows + cols * out_col,
            narrow(normed * weight, out_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )

    if NEEDS_RSTD:
        tl.store(rstd_rows, narrow(rstd, rstd_ptr.dtype.element_ty))


@triton.jit
def _rmsnorm_llama_partial(
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
        # rstd = rsqrt(mean(x * x) + eps)
        total = total + tl.sum(x * x, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, row_sum)


@triton.jit
def _rmsnorm_llama_finish(
    partial_total_ptr,
    x_ptr,
    weight_ptr,
    out_ptr,
    rstd_ptr,
    ROWS_1,
    ROWS_2,
    N,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    weight_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
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
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2

    eps = scalar(eps, FLOAT)

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_sum = tl.sum(total, axis=0, keep_dims=True)
    # rstd = rsqrt(mean(x * x) + eps)
    rstd = tl.rsqrt(row_sum / N + eps)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        # normed = cast(x * rstd, x.dtype)
        normed = narrow(x * rstd, x_ptr.dtype.element_ty).to(FLOAT)
        weight = tl.load(weight_ptr + cols * weight_col, mask=in_cols, other=0.0).to(FLOAT)
        # return normed * weight
        tl.store(
            out_rows + cols * out_col,
            narrow(normed * weight, out_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )

    if NEEDS_RSTD:
        tl.store(rstd_rows, narrow(rstd, rstd_ptr.dtype.element_ty), mask=leads)


@triton.jit
def _rmsnorm_llama_backward_stage_1_columns(
    x_ptr,
    rstd_ptr,
    grad_out_ptr,
    grad_weight_parts_ptr,
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
        grad_out_rows = (
            grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
        )
        x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
        rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2

        rstd = tl.load(rstd_rows, mask=in_rows, other=0.0, eviction_policy="evict_last").to(FLOAT)
        x = tl.load(
            x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # normed = cast(x * rstd, x.dtype)
        normed = narrow(x * rstd, x_ptr.dtype.element_ty).to(FLOAT)
        grad_out = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_rows & in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        grad_weight = grad_weight + tl.where(in_rows, grad_out * normed, 0.0)

    tl.store(
        grad_weight_parts_ptr + part * N + cols,
        tl.sum(grad_weight, axis=0, keep_dims=True),
        mask=in_cols,
    )


@triton.jit
def _rmsnorm_llama_backward_stage_1_join(
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
def _rmsnorm_llama_backward_stage_2_block(
    x_ptr,
    weight_ptr,
    rstd_ptr,
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
    weight_col,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
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
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    grad_out = tl.load(
        grad_out_rows + cols * grad_out_col,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    weight = tl.load(
        weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    x = tl.load(
        x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    rstd = tl.load(rstd_rows, mask=in_rows, other=0.0, eviction_policy="evict_last").to(FLOAT)
    # normed = cast(x * rstd, x.dtype)
    grad_normed = grad_out * weight
    # rstd = rsqrt(mean(x * x) + eps)
    grad_rstd = tl.sum(grad_normed * x, axis=1, keep_dims=True)
    grad_x = grad_normed * rstd + 2.0 * (-0.5 * grad_rstd * (rstd * rstd * rstd) / N) * x
    tl.store(
        grad_x_rows + cols * grad_x_col,
        narrow(grad_x, grad_x_ptr.dtype.element_ty),
        mask=in_rows & in_cols,
    )


@triton.jit
def _rmsnorm_llama_backward_stage_2_loop(
    x_ptr,
    weight_ptr,
    rstd_ptr,
    grad_out_ptr,
    grad_x_ptr,
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
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
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
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2
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
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # normed = cast(x * rstd, x.dtype)
        grad_normed = grad_out * weight
        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # rstd = rsqrt(mean(x * x) + eps)
        total = total + tl.sum(grad_normed * x, axis=1, keep_dims=True)

    grad_rstd = tl.sum(total, axis=0, keep_dims=True)

    rstd = tl.load(rstd_rows).to(FLOAT)
    value = 2.0 * (-0.5 * grad_rstd * (rstd * rstd * rstd) / N)

    for start in range(0, N, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, N, EVEN)

        grad_out = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        grad_normed = grad_out * weight
        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        grad_x = grad_normed * rstd + value * x
        tl.store(
            grad_x_rows + cols * grad_x_col,
            narrow(grad_x, grad_x_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )


@triton.jit
def _rmsnorm_llama_backward_stage_2_partial(
    x_ptr,
    weight_ptr,
    grad_out_ptr,
    partial_total_ptr,
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
        weight = tl.load(weight_ptr + cols * weight_col, mask=in_cols, other=0.0).to(FLOAT)
        # normed = cast(x * rstd, x.dtype)
        grad_normed = grad_out * weight
        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        # rstd = rsqrt(mean(x * x) + eps)
        total = total + tl.sum(grad_normed * x, axis=1, keep_dims=True)

    grad_rstd = tl.sum(total, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, grad_rstd)


@triton.jit
def _rmsnorm_llama_backward_stage_2_finish(
    partial_total_ptr,
    x_ptr,
    weight_ptr,
    rstd_ptr,
    grad_out_ptr,
    grad_x_ptr,
    ROWS_1,
    ROWS_2,
    N,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
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
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    grad_rstd = tl.sum(total, axis=0, keep_dims=True)
    rstd = tl.load(rstd_rows).to(FLOAT)
    # rstd = rsqrt(mean(x * x) + eps)
    value = 2.0 * (-0.5 * grad_rstd * (rstd * rstd * rstd) / N)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        grad_out = tl.load(grad_out_rows + cols * grad_out_col, mask=in_cols, other=0.0).to(FLOAT)
        weight = tl.load(weight_ptr + cols * weight_col, mask=in_cols, other=0.0).to(FLOAT)
        # normed = cast(x * rstd, x.dtype)
        grad_normed = grad_out * weight
        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        grad_x = grad_normed * rstd + value * x
        tl.store(
            grad_x_rows + cols * grad_x_col,
            narrow(grad_x, grad_x_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )


@triton.jit
def _rmsnorm_llama_backward_sums(
    x_ptr,
    weight_ptr,
    rstd_ptr,
    grad_out_ptr,
    grad_x_ptr,
    grad_weight_parts_ptr,
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
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
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
        grad_out_rows = (
            grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
        )
        x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
        rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2
        grad_x_rows = (
            grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2
        )

        rstd = tl.load(rstd_rows, mask=in_rows, other=0.0, eviction_policy="evict_last").to(FLOAT)
        x = tl.load(
            x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # normed = cast(x * rstd, x.dtype)
        normed = narrow(x * rstd, x_ptr.dtype.element_ty).to(FLOAT)
        grad_out = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_rows & in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        if NEEDS_GRAD_WEIGHT:
            grad_weight = grad_weight + tl.where(in_rows, grad_out * normed, 0.0)
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        grad_normed = grad_out * weight
        # rstd = rsqrt(mean(x * x) + eps)
        grad_rstd = tl.sum(grad_normed * x, axis=1, keep_dims=True)
        grad_x = grad_normed * rstd + 2.0 * (-0.5 * grad_rstd * (rstd * rstd * rstd) / N) * x
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
def _rmsnorm_llama_backward_join(
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
        work = Work(reads=1, writes=1, flops=5, joins=1, held=1.5, held_wide=2)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=1, writes=1, flops=5.25, rereads=1, joins=1, passes=2, held=0.9, held_wide=1.2
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=1,
            writes=1,
            flops=5.625,
            special=0.25,
            rereads=1,
            joins=1,
            passes=2,
            held=0.9,
            held_wide=1.2,
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
                _rmsnorm_llama_partial,
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
                _rmsnorm_llama_finish,
                grid=(rows.total * splits,),
                tensors=("partial_total", "x", "weight", "out", "rstd"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    cols.strides("weight")[0],
                    *rows.strides("out"),
                    cols.strides("out")[0],
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
                _rmsnorm_llama_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "weight", "out", "rstd"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    cols.strides("weight")[0],
                    *rows.strides("out"),
                    cols.strides("out")[0],
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
            _rmsnorm_llama_loop,
            grid=(rows.total,),
            tensors=("x", "weight", "out", "rstd"),
            integers=(
                *rows.sizes[1:],
                cols.total,
                *rows.strides("x"),
                cols.strides("x")[0],
                cols.strides("weight")[0],
                *rows.strides("out"),
                cols.strides("out")[0],
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
    call = call.among("x", "weight", "rstd", "grad_out", "grad_weight")
    rows = call.axes(("M",), limit=3, spare_last=True)
    cols = call.axes(("N",), limit=1)
    columns = cols.total

    def columns_time(config: Config) -> float:
        work = Work(reads=2, writes=0, flops=4, held=2.125, held_wide=2.55)
        return columns_cost(config, call.target, work, call.element_size, rows.total, columns)

    config = call.choose(BACKWARD_COLUMNS_CONFIGS, columns_time)
    block_m, block_n = tile_shape(
        rows.crossed(), rows.total, columns, config["TILE"], call.element_size
    )
    blocks = cdiv(columns, block_n)
    programs = programs_of(config, call.target, cdiv(rows.total, block_m), blocks)
    return Launch(
        Step(
            _rmsnorm_llama_backward_stage_1_columns,
            grid=(programs * blocks,),
            tensors=("x", "rstd", "grad_out", "grad_weight_parts"),
            integers=(
                rows.total,
                *rows.sizes[1:],
                cols.total,
                *rows.strides("grad_out"),
                cols.strides("grad_out")[0],
                *rows.strides("x"),
                cols.strides("x")[0],
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
            _rmsnorm_llama_backward_stage_1_join,
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
    call = call.among("x", "weight", "rstd", "grad_out", "grad_x")
    rows = call.axes(("M",), limit=3, spare_last=True)
    cols = call.axes(("N",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=2, writes=1, flops=6, joins=1, held=1.5, held_wide=3)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BACKWARD_BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=2, writes=1, flops=7.25, rereads=2, joins=1, passes=2, held=0.975, held_wide=1.35
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, BACKWARD_LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=2,
            writes=1,
            flops=7.75,
            special=0.125,
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
                _rmsnorm_llama_backward_stage_2_partial,
                grid=(rows.total * splits,),
                tensors=("x", "weight", "grad_out", "partial_total"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    cols.strides("weight")[0],
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
                _rmsnorm_llama_backward_stage_2_finish,
                grid=(rows.total * splits,),
                tensors=("partial_total", "x", "weight", "rstd", "grad_out", "grad_x"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("rstd"),
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    cols.strides("weight")[0],
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
                _rmsnorm_llama_backward_stage_2_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "weight", "rstd", "grad_out", "grad_x"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    cols.strides("weight")[0],
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("rstd"),
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
                ),
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
            _rmsnorm_llama_backward_stage_2_loop,
            grid=(rows.total,),
            tensors=("x", "weight", "rstd", "grad_out", "grad_x"),
            integers=(
                *rows.sizes[1:],
                cols.total,
                *rows.strides("grad_out"),
                cols.strides("grad_out")[0],
                cols.strides("weight")[0],
                *rows.strides("x"),
                cols.strides("x")[0],
                *rows.strides("rstd"),
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
        work = Work(reads=2, writes=1, flops=10, rereads=1, joins=1, held=2.55, held_wide=3.4)
        return sums_cost(config, call.target, work, call.element_size, rows.total, width)

    sums = least(call, BACKWARD_SUMS_CONFIGS, sums_time)

    if call.takes("sums", fits(sums)):
        config = call.choose(BACKWARD_SUMS_CONFIGS, sums_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        programs = programs_of(config, call.target, cdiv(rows.total, block_m), 1)
        return Launch(
            Step(
                _rmsnorm_llama_backward_sums,
                grid=(programs,),
                tensors=("x", "weight", "rstd", "grad_out", "grad_x", "grad_weight_parts"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("rstd"),
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
                _rmsnorm_llama_backward_join,
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


def reference(x, weight, eps, *, compute):
    """RMSNorm as in Llama's model code: the row rounds to x's dtype before the weight.

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x_dtype = x.dtype
    x = widen(x, compute)
    weight = widen(weight, compute)
    # rstd = rsqrt(mean(x * x) + eps)
    rstd = torch.rsqrt((x * x).mean(-1) + eps)
    # normed = cast(x * rstd, x.dtype)
    normed = widen(convert(x * rstd[:, None], x_dtype), compute)
    return normed * weight, rstd


def reference_backward(x, weight, rstd, grad_out, eps, *, compute):
    """The gradient of `reference`, as the kernels compute it."""
    N = x.shape[1]
    x_dtype = x.dtype
    x = widen(x, compute)
    weight = widen(weight, compute)
    rstd = widen(rstd, compute)
    grad_out = widen(grad_out, compute)
    # normed = cast(x * rstd, x.dtype)
    grad_normed = grad_out * weight
    # rstd = rsqrt(mean(x * x) + eps)
    grad_rstd = (grad_normed * x).sum(-1)
    grad_x = (
        grad_normed * rstd[:, None]
        + (2.0 * (-0.5 * grad_rstd * (rstd * rstd * rstd) / float(N)))[:, None] * x
    )
    normed = widen(convert(x * rstd[:, None], x_dtype), compute)
    grad_weight = (grad_out * normed).sum(0)
    return grad_x, grad_weight


BACKWARD = Op(
    name="rmsnorm_llama_backward",
    spec_hash="1bf4bfaa",
    inputs=(
        Operand("x", ("M", "N")),
        Operand("weight", ("N",)),
        Operand("rstd", ("M",)),
        Operand("grad_out", ("M", "N")),
    ),
    params=(Param("eps", "float", 1e-06),),
    outputs=(Output("grad_x", ("M", "N"), like="x"), Output("grad_weight", ("N",), like="weight")),
    fold="M",
    shards={"M": ("grad_weight",)},
    partial=True,
    variants={
        (): Variant(_plan_backward, reference_backward),
    },
)
OP = Op(
    name="rmsnorm_llama",
    spec_hash="1bf4bfaa",
    inputs=(Operand("x", ("M", "N")), Operand("weight", ("N",))),
    params=(Param("eps", "float", 1e-06),),
    outputs=(Output("out", ("M", "N"), like="x"),),
    saved=(Output("rstd", ("M",), dtype="float"),),
    fold="M",
    inplace=("x",),
    shards={"M": ()},
    gradients=Gradients({"out": "grad_out"}, BACKWARD),
    variants={
        (): Variant(_plan, reference, gradients={"x": "grad_x", "weight": "grad_weight"}),
    },
)


def rmsnorm_llama(
    x: torch.Tensor,
    weight: torch.Tensor,
    eps: float = 1e-06,
    *,
    out: torch.Tensor | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> torch.Tensor:
    """RMSNorm as in Llama's model code: the row rounds to x's dtype before the weight.

    Args:
        x: [M, N], floats.
        weight: [N], floats.
        eps: float.
        out: where to write out.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        out: [M, N], the type of x.
        M may stand for several dimensions.
    """
    tensors = (x, weight)
    params = (eps,)
    return OP(tensors, params, out, backend, autotune)
