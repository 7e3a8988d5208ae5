"""RMS-normalise each head of the queries or the keys, then rotate its halves.

As in Qwen3; the rotation is that of rope (Su et al., arXiv:2104.09864).

Built by tilegen 0.1.0 from specs/qk_norm_rope.py (spec ffec5b43, templates d13e90b1).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 4*B*D*H*S*e + B*S*i + 2*D*e*Min(P, B*S) + 2*D*e bytes (e: bytes of an element, i: bytes of an index)
Work: 14*B*D*H*S + 6*B*H*S flops, 2*B*H*S of them exponentials, roots and quotients
Bound: memory on every target
Eager PyTorch: 15 kernels, 8.4 times the bytes
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
    take_last,
    tile_shape,
    widen,
)

_BLOCK_1 = (
    Config(TILE=512, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 2048 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
)
_BLOCK_2 = (
    Config(TILE=512, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 2048 B shared, unproven
    Config(TILE=512, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=512, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=1024, num_warps=2),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 16384 B shared, unproven
)
_BLOCK_3 = (
    Config(TILE=512, num_warps=1, registers=71),  # 128 B shared
    Config(TILE=512, num_warps=2, registers=48),  # 256 B shared
    Config(TILE=1024, num_warps=1, registers=164),  # 128 B shared
    Config(TILE=4096, num_warps=4, registers=193),  # 512 B shared
    Config(TILE=4096, num_warps=16, registers=50),  # 128 B shared
    Config(TILE=8192, num_warps=16, registers=94),  # 256 B shared
)
_BLOCK_4 = (
    Config(TILE=512, num_warps=1, registers=76),  # 0 B shared
    Config(TILE=512, num_warps=2, registers=55),  # 256 B shared
    Config(TILE=1024, num_warps=1, registers=160),  # 32 B shared
    Config(TILE=4096, num_warps=4, registers=157),  # 512 B shared
    Config(TILE=4096, num_warps=16, registers=48),  # 128 B shared
    Config(TILE=8192, num_warps=16, registers=79),  # 256 B shared
)
_BLOCK_5 = (
    Config(TILE=512, num_warps=1, registers=92),  # 16 B shared
    Config(TILE=512, num_warps=2, registers=64),  # 512 B shared
    Config(TILE=1024, num_warps=1, registers=167),  # 32 B shared
    Config(TILE=4096, num_warps=4, registers=220),  # 512 B shared
    Config(TILE=4096, num_warps=16, registers=64),  # 128 B shared
    Config(TILE=8192, num_warps=16, registers=100),  # 256 B shared
)
_BLOCK_6 = (
    Config(TILE=512, num_warps=1, registers=222),  # 32 B shared
    Config(TILE=512, num_warps=2, registers=126),  # 64 B shared
    Config(TILE=512, num_warps=4, registers=79),  # 1024 B shared
    Config(TILE=512, num_warps=8, registers=61),  # 64 B shared
    Config(TILE=1024, num_warps=2, registers=224),  # 128 B shared
    Config(TILE=4096, num_warps=16, registers=128),  # 512 B shared
)
_BLOCK_7 = (
    Config(TILE=512, num_warps=1),  # at most 1024 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 32768 B shared, unproven
)
#: Whole rows in registers, TILE elements to a program; by architecture class and element size in bytes.
BLOCK_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2, 4), _BLOCK_1),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BLOCK_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BLOCK_2),
    (("sm_90",), (1,), _BLOCK_3),
    (("sm_90",), (2,), _BLOCK_4),
    (("sm_90",), (4,), _BLOCK_5),
    (("sm_90",), (8,), _BLOCK_6),
    (("gfx90a", "gfx942", "gfx950"), (1, 2, 4), _BLOCK_7),
)

_LOOP_1 = (
    Config(TILE=2048, num_warps=4),  # at most 1024 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 1024 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 4096 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 8192 B shared, unproven
)
_LOOP_2 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 32768 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 32768 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 65536 B shared, unproven
)
_LOOP_3 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
)
_LOOP_4 = (
    Config(TILE=2048, num_warps=4, registers=48),  # 16 B shared, 64 registers in split rows
    Config(TILE=2048, num_warps=8, registers=32),  # 4096 B shared, 40 registers in split rows
    Config(TILE=4096, num_warps=8, registers=48),  # 32 B shared, 59 registers in split rows
    Config(TILE=8192, num_warps=8, registers=103),  # 32 B shared
    Config(TILE=8192, num_warps=16, registers=50),  # 64 B shared, 59 registers in split rows
    Config(TILE=16384, num_warps=32, registers=42),  # 128 B shared, 64 registers in split rows
)
_LOOP_5 = (
    Config(TILE=2048, num_warps=4, registers=60),  # 16 B shared, 64 registers in split rows
    Config(TILE=2048, num_warps=8, registers=38),  # 32 B shared, 40 registers in split rows
    Config(TILE=4096, num_warps=8, registers=70),  # 32 B shared
    Config(TILE=8192, num_warps=8, registers=126),  # 32 B shared
    Config(TILE=8192, num_warps=16, registers=64),  # 64 B shared
    Config(TILE=16384, num_warps=32, registers=60),  # 128 B shared, 63 registers in split rows
)
_LOOP_6 = (
    Config(TILE=2048, num_warps=4, registers=80),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=48),  # 32 B shared
    Config(TILE=2048, num_warps=16, registers=32),  # 64 B shared, 34 registers in split rows
    Config(TILE=8192, num_warps=8, registers=170),  # 32 B shared, 174 registers in split rows
    Config(TILE=8192, num_warps=4, registers=255, spills=2),  # 16 B shared, 44 B spilled
    Config(TILE=16384, num_warps=16, registers=128, spills=2),  # 64 B shared, 96 B spilled
)
_LOOP_7 = (
    Config(TILE=2048, num_warps=4, registers=168),  # 32 B shared
    Config(TILE=2048, num_warps=8, registers=88),  # 64 B shared
    Config(TILE=2048, num_warps=16, registers=60),  # 128 B shared
    Config(TILE=4096, num_warps=8, registers=170),  # 64 B shared
    Config(TILE=4096, num_warps=4, registers=255, spills=2),  # 32 B shared, 28 B spilled
    Config(TILE=8192, num_warps=16, registers=128, spills=2),  # 128 B shared, 36 B spilled
)
_LOOP_8 = (
    Config(TILE=2048, num_warps=4),  # at most 512 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 1024 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 4096 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 4096 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 8192 B shared, unproven
)
_LOOP_9 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 16384 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 32768 B shared, unproven
)
#: Sweeps over one row, TILE elements at a time; by architecture class and element size in bytes.
LOOP_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2), _LOOP_1),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (4,), _LOOP_2),
    (("gfx90a", "gfx942", "gfx950"), (8,), _LOOP_2),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _LOOP_3),
    (("sm_90",), (1,), _LOOP_4),
    (("sm_90",), (2,), _LOOP_5),
    (("sm_90",), (4,), _LOOP_6),
    (("sm_90",), (8,), _LOOP_7),
    (("gfx90a", "gfx942", "gfx950"), (1,), _LOOP_8),
    (("gfx90a", "gfx942", "gfx950"), (2, 4), _LOOP_9),
)

_BACKWARD_BLOCK_1 = (
    Config(TILE=512, num_warps=1),  # at most 1024 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=32),  # at most 16384 B shared, unproven
)
_BACKWARD_BLOCK_2 = (
    Config(TILE=512, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 2048 B shared, unproven
    Config(TILE=512, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=1024, num_warps=2),  # at most 4096 B shared, unproven
    Config(TILE=1024, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 16384 B shared, unproven
)
_BACKWARD_BLOCK_3 = (
    Config(TILE=512, num_warps=2),  # at most 2048 B shared, unproven
    Config(TILE=512, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=512, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=1024, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=1024, num_warps=8),  # at most 4096 B shared, unproven
    Config(TILE=1024, num_warps=16),  # at most 4096 B shared, unproven
)
_BACKWARD_BLOCK_4 = (
    Config(TILE=512, num_warps=1, registers=78),  # 128 B shared
    Config(TILE=1024, num_warps=1, registers=149),  # 128 B shared
    Config(TILE=4096, num_warps=4, registers=150),  # 512 B shared
    Config(TILE=4096, num_warps=8, registers=80),  # 32 B shared
    Config(TILE=4096, num_warps=16, registers=49),  # 64 B shared
    Config(TILE=8192, num_warps=32, registers=47),  # 128 B shared
)
_BACKWARD_BLOCK_5 = (
    Config(TILE=512, num_warps=1, registers=84),  # 0 B shared
    Config(TILE=1024, num_warps=1, registers=143),  # 0 B shared
    Config(TILE=4096, num_warps=4, registers=158),  # 512 B shared
    Config(TILE=4096, num_warps=8, registers=83),  # 32 B shared
    Config(TILE=4096, num_warps=16, registers=51),  # 64 B shared
    Config(TILE=8192, num_warps=32, registers=51),  # 128 B shared
)
_BACKWARD_BLOCK_6 = (
    Config(TILE=512, num_warps=1, registers=96),  # 0 B shared
    Config(TILE=512, num_warps=2, registers=60),  # 512 B shared
    Config(TILE=512, num_warps=4, registers=40),  # 512 B shared
    Config(TILE=1024, num_warps=2, registers=124),  # 512 B shared
    Config(TILE=1024, num_warps=4, registers=56),  # 512 B shared
    Config(TILE=4096, num_warps=16, registers=60),  # 64 B shared
)
_BACKWARD_BLOCK_7 = (
    Config(TILE=512, num_warps=2, registers=116),  # 64 B shared
    Config(TILE=512, num_warps=4, registers=72),  # 1024 B shared
    Config(TILE=512, num_warps=8, registers=44),  # 64 B shared
    Config(TILE=1024, num_warps=4, registers=117),  # 1024 B shared
    Config(TILE=1024, num_warps=8, registers=70),  # 128 B shared
    Config(TILE=1024, num_warps=16, registers=44),  # 128 B shared
)
_BACKWARD_BLOCK_8 = (
    Config(TILE=512, num_warps=1),  # at most 1024 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 32768 B shared, unproven
)
_BACKWARD_BLOCK_9 = (
    Config(TILE=512, num_warps=1),  # at most 1024 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 16384 B shared, unproven
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
    (("gfx90a", "gfx942", "gfx950"), (1, 2), _BACKWARD_BLOCK_8),
    (("gfx90a", "gfx942", "gfx950"), (4,), _BACKWARD_BLOCK_9),
)

_BACKWARD_LOOP_1 = (
    Config(TILE=2048, num_warps=4),  # at most 1024 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 1024 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 4096 B shared, unproven
    Config(TILE=16384, num_warps=32),  # at most 8192 B shared, unproven
)
_BACKWARD_LOOP_2 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=32),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=32),  # at most 8192 B shared, unproven
)
_BACKWARD_LOOP_3 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=32),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=32),  # at most 16384 B shared, unproven
)
_BACKWARD_LOOP_4 = (
    Config(TILE=2048, num_warps=4, registers=83),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=32),  # 32 B shared, 42 registers in split rows
    Config(TILE=4096, num_warps=4, registers=158),  # 16 B shared
    Config(TILE=8192, num_warps=8, registers=162),  # 32 B shared
    Config(TILE=8192, num_warps=16, registers=62),  # 64 B shared, 78 registers in split rows
    Config(TILE=16384, num_warps=32, registers=64, spills=2),  # 128 B shared, 52 B spilled
)
_BACKWARD_LOOP_5 = (
    Config(TILE=2048, num_warps=4, registers=96),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=48),  # 32 B shared
    Config(TILE=4096, num_warps=4, registers=150),  # 16 B shared
    Config(TILE=8192, num_warps=8, registers=161),  # 32 B shared
    Config(TILE=8192, num_warps=16, registers=78),  # 64 B shared
    Config(TILE=16384, num_warps=32, registers=64, spills=2),  # 128 B shared, 100 B spilled
)
_BACKWARD_LOOP_6 = (
    Config(TILE=2048, num_warps=4, registers=84),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=56),  # 32 B shared, 62 registers in split rows
    Config(TILE=2048, num_warps=16, registers=54),  # 64 B shared
    Config(TILE=4096, num_warps=16, registers=64),  # 64 B shared
    Config(TILE=4096, num_warps=32, registers=54),  # 128 B shared
    Config(TILE=8192, num_warps=32, registers=50),  # 128 B shared, 64 registers in split rows
)
_BACKWARD_LOOP_7 = (
    Config(TILE=2048, num_warps=4, registers=142),  # 32 B shared, 146 registers in split rows
    Config(TILE=2048, num_warps=8, registers=98),  # 64 B shared
    Config(TILE=2048, num_warps=16, registers=62),  # 128 B shared
    Config(TILE=2048, num_warps=32, registers=52),  # 256 B shared
    Config(TILE=4096, num_warps=8, registers=140),  # 64 B shared, 148 registers in split rows
    Config(TILE=4096, num_warps=32, registers=48),  # 256 B shared
)
_BACKWARD_LOOP_8 = (
    Config(TILE=2048, num_warps=4),  # at most 1024 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 4096 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 16384 B shared, unproven
)
_BACKWARD_LOOP_9 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 16384 B shared, unproven
)
_BACKWARD_LOOP_10 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
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
    (("gfx90a", "gfx942", "gfx950"), (1, 2), _BACKWARD_LOOP_8),
    (("gfx90a", "gfx942", "gfx950"), (4,), _BACKWARD_LOOP_9),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BACKWARD_LOOP_10),
)

_BACKWARD_SUMS_1 = (
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 66576 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 66576 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 66592 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 132128 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 132160 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=32, num_stages=3),  # at most 132224 B shared, unproven
)
_BACKWARD_SUMS_2 = (
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 132112 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 132128 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 132160 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 16416 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 32832 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=32, num_stages=1),  # at most 32896 B shared, unproven
)
_BACKWARD_SUMS_3 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 132112 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 132160 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 2064 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 4128 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 4128 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 8256 B shared, unproven
)
_BACKWARD_SUMS_4 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=1),  # at most 2080 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 4160 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 2080 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 4160 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 4160 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 8320 B shared, unproven
)
_BACKWARD_SUMS_5 = (
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3, registers=171),  # 65584 B shared
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=3, registers=255),  # 131120 B shared
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=3, registers=128),  # 131152 B shared
    Config(
        TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3, registers=255, spills=1
    ),  # 65680 B shared, 104 B spilled
    Config(
        TILE=4096, PROGRAMS=2, num_warps=4, num_stages=3, registers=255, spills=1
    ),  # 65680 B shared, 104 B spilled
    Config(
        TILE=8192, PROGRAMS=1, num_warps=32, num_stages=3, registers=64, spills=1
    ),  # 131216 B shared, 44 B spilled
)
_BACKWARD_SUMS_6 = (
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=175),  # 131120 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=100),  # 131152 B shared
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=1, registers=255),  # 8192 B shared
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=1, registers=128),  # 16384 B shared
    Config(
        TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3, registers=255, spills=1
    ),  # 131216 B shared, 212 B spilled
    Config(
        TILE=8192, PROGRAMS=1, num_warps=32, num_stages=1, registers=64, spills=1
    ),  # 32768 B shared, 64 B spilled
)
_BACKWARD_SUMS_7 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3, registers=254),  # 131224 B shared
    Config(TILE=2048, PROGRAMS=1, num_warps=16, num_stages=3, registers=84),  # 131160 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=1, registers=176),  # 4096 B shared
    Config(
        TILE=4096, PROGRAMS=2, num_warps=4, num_stages=1, registers=255, spills=1
    ),  # 2048 B shared, 448 B spilled
    Config(
        TILE=8192, PROGRAMS=1, num_warps=8, num_stages=1, registers=255, spills=1
    ),  # 4096 B shared, 40 B spilled
    Config(
        TILE=8192, PROGRAMS=1, num_warps=16, num_stages=1, registers=128, spills=1
    ),  # 8192 B shared, 52 B spilled
)
_BACKWARD_SUMS_8 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=1, registers=174),  # 4096 B shared
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=1, registers=174),  # 4096 B shared
    Config(
        TILE=4096, PROGRAMS=1, num_warps=8, num_stages=1, registers=255, spills=1
    ),  # 4096 B shared, 204 B spilled
    Config(
        TILE=2048, PROGRAMS=1, num_warps=4, num_stages=1, registers=255, spills=2
    ),  # 4096 B shared, 692 B spilled
    Config(
        TILE=2048, PROGRAMS=2, num_warps=4, num_stages=1, registers=255, spills=2
    ),  # 4096 B shared, 692 B spilled
    Config(
        TILE=4096, PROGRAMS=1, num_warps=16, num_stages=1, registers=128, spills=2
    ),  # 8192 B shared, 292 B spilled
)
_BACKWARD_SUMS_9 = (
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=1),  # at most 4112 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 4112 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 16448 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 16448 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=32, num_stages=1),  # at most 32896 B shared, unproven
)
_BACKWARD_SUMS_10 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 4128 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 16512 B shared, unproven
)
_BACKWARD_SUMS_11 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 33808 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 16416 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=4, num_stages=1),  # at most 16400 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 32800 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 16400 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 32800 B shared, unproven
)
_BACKWARD_SUMS_12 = (
    Config(TILE=8192, PROGRAMS=1, num_warps=4, num_stages=1),  # at most 8208 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 16416 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 8208 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 16416 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 16416 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 32832 B shared, unproven
)
_BACKWARD_SUMS_13 = (
    Config(TILE=8192, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 132112 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 132128 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 132160 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 32832 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 32800 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 65600 B shared, unproven
)
_BACKWARD_SUMS_14 = (
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 132128 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 8208 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 16416 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 32832 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 16416 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 32832 B shared, unproven
)
#: Whole rows in registers, TILE elements at a time, in PROGRAMS programs an SM; by architecture class and element size in bytes.
BACKWARD_SUMS_CONFIGS = by_class(
    (("sm_80", "sm_100"), (1,), _BACKWARD_SUMS_1),
    (("sm_89", "sm_86", "sm_120"), (1,), _BACKWARD_SUMS_2),
    (("sm_80", "sm_100"), (2,), _BACKWARD_SUMS_2),
    (("sm_80", "sm_100"), (4,), _BACKWARD_SUMS_3),
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (8,), _BACKWARD_SUMS_4),
    (("sm_90",), (1,), _BACKWARD_SUMS_5),
    (("sm_90",), (2,), _BACKWARD_SUMS_6),
    (("sm_90",), (4,), _BACKWARD_SUMS_7),
    (("sm_90",), (8,), _BACKWARD_SUMS_8),
    (("sm_89", "sm_86", "sm_120"), (2,), _BACKWARD_SUMS_9),
    (("sm_89", "sm_86", "sm_120"), (4,), _BACKWARD_SUMS_10),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BACKWARD_SUMS_10),
    (("gfx90a", "gfx942"), (1,), _BACKWARD_SUMS_11),
    (("gfx90a", "gfx942"), (2,), _BACKWARD_SUMS_12),
    (("gfx90a", "gfx942", "gfx950"), (4,), _BACKWARD_SUMS_12),
    (("gfx950",), (1,), _BACKWARD_SUMS_13),
    (("gfx950",), (2,), _BACKWARD_SUMS_14),
)

_BACKWARD_COLUMNS_1 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 50192 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 99344 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 99392 B shared, unproven
)
_BACKWARD_COLUMNS_2 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 99344 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 99392 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=4, num_stages=1),  # at most 2064 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 2064 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 4128 B shared, unproven
)
_BACKWARD_COLUMNS_3 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=1),  # at most 4128 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 4128 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 16512 B shared, unproven
)
_BACKWARD_COLUMNS_4 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3, registers=96),  # 25088 B shared
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3, registers=76),  # 25088 B shared
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=1, registers=62),  # 2048 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3, registers=216),  # 50176 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=99),  # 50176 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=64),  # 50176 B shared
)
_BACKWARD_COLUMNS_5 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3, registers=79),  # 49664 B shared
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=3, registers=79),  # 49664 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3, registers=205),  # 99328 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=122),  # 99328 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=78),  # 99328 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3, registers=78),  # 99328 B shared
)
_BACKWARD_COLUMNS_6 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3, registers=125),  # 99072 B shared
    Config(TILE=2048, PROGRAMS=4, num_warps=4, num_stages=1, registers=128),  # 1024 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3, registers=168),  # 198144 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=126),  # 198144 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=4, num_stages=1, registers=255),  # 1024 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=1, registers=134),  # 2048 B shared
)
_BACKWARD_COLUMNS_7 = (
    Config(
        TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3, registers=128
    ),  # 197632 B shared, 168 registers in split rows
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3, registers=128),  # 197632 B shared
    Config(TILE=2048, PROGRAMS=1, num_warps=16, num_stages=3, registers=81),  # 197632 B shared
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=1, registers=178),  # 2048 B shared
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=1, registers=128),  # 4096 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=1, registers=128),  # 8192 B shared
)
_BACKWARD_COLUMNS_8 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 99344 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 99392 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3),  # at most 99392 B shared, unproven
)
_BACKWARD_COLUMNS_9 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 99344 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=4, num_stages=1),  # at most 8208 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 197648 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 197664 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 16400 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 16416 B shared, unproven
)
_BACKWARD_COLUMNS_10 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 197664 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 197696 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 197760 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 2080 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 4160 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 8320 B shared, unproven
)
_BACKWARD_COLUMNS_11 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 50208 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=4, num_stages=1),  # at most 4112 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 99344 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 99392 B shared, unproven
)
_BACKWARD_COLUMNS_12 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 99344 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 8208 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=4, num_stages=1),  # at most 8208 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 8208 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 16416 B shared, unproven
    Config(TILE=4096, PROGRAMS=4, num_warps=4, num_stages=1),  # at most 8208 B shared, unproven
)
_BACKWARD_COLUMNS_13 = (
    Config(TILE=2048, PROGRAMS=4, num_warps=4, num_stages=1),  # at most 4112 B shared, unproven
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 4112 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 16448 B shared, unproven
    Config(TILE=4096, PROGRAMS=4, num_warps=4, num_stages=1),  # at most 4112 B shared, unproven
)
_BACKWARD_COLUMNS_14 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 50192 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 50192 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 99344 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 99360 B shared, unproven
    Config(TILE=4096, PROGRAMS=4, num_warps=4, num_stages=1),  # at most 16400 B shared, unproven
    Config(TILE=4096, PROGRAMS=4, num_warps=8, num_stages=1),  # at most 16416 B shared, unproven
)
#: Tiles of TILE elements over rows and columns, in PROGRAMS programs an SM; by architecture class and element size in bytes.
BACKWARD_COLUMNS_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1,), _BACKWARD_COLUMNS_1),
    (("sm_80",), (2,), _BACKWARD_COLUMNS_1),
    (("sm_80", "sm_89", "sm_86", "sm_120"), (4,), _BACKWARD_COLUMNS_2),
    (
        ("sm_80", "sm_89", "sm_86", "sm_120", "gfx90a", "gfx942", "gfx950"),
        (8,),
        _BACKWARD_COLUMNS_3,
    ),
    (("sm_90",), (1,), _BACKWARD_COLUMNS_4),
    (("sm_90",), (2,), _BACKWARD_COLUMNS_5),
    (("sm_90",), (4,), _BACKWARD_COLUMNS_6),
    (("sm_90",), (8,), _BACKWARD_COLUMNS_7),
    (("sm_100",), (2,), _BACKWARD_COLUMNS_8),
    (("gfx90a", "gfx942"), (1,), _BACKWARD_COLUMNS_9),
    (("sm_100",), (4,), _BACKWARD_COLUMNS_9),
    (("sm_100",), (8,), _BACKWARD_COLUMNS_10),
    (("sm_89", "sm_86", "sm_120"), (2,), _BACKWARD_COLUMNS_11),
    (("gfx90a", "gfx942"), (2,), _BACKWARD_COLUMNS_12),
    (("gfx950",), (4,), _BACKWARD_COLUMNS_12),
    (("gfx90a", "gfx942"), (4,), _BACKWARD_COLUMNS_13),
    (("gfx950",), (1, 2), _BACKWARD_COLUMNS_14),
)


# Loads: "evict_last" keeps what a kernel reads in L2 over what it writes, and a row until its last
# sweep, which is "evict_first". On an H200 that is 2 to 10 percent of the copy rate.
@triton.jit
def _qk_norm_rope_block(
    x_ptr,
    weight_ptr,
    cos_ptr,
    sin_ptr,
    position_ptr,
    out_ptr,
    rstd_ptr,
    ROWS,
    ROWS_1,
    ROWS_2,
    D,
    P,
    position_row_0,
    position_row_1,
    position_row_2,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    x_stride_Two,
    weight_col,
    weight_stride_Two,
    cos_col,
    cos_stride_P,
    sin_col,
    sin_stride_P,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    out_stride_Two,
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
    in_cols = below(cols, D, EVEN_N)
    in_rows = below(rows, ROWS, EVEN_M)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    position_rows = (
        position_ptr + row_0 * position_row_0 + row_1 * position_row_1 + row_2 * position_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2

    eps = scalar(eps, FLOAT)

    position = tl.load(position_rows, mask=in_rows, other=0, eviction_policy="evict_last")
    x_0 = tl.load(
        x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    x = tl.load(
        x_rows + cols * x_col + x_stride_Two,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    if EARLY:
        weight_0 = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        )
        weight_1 = tl.load(
            weight_ptr + cols * weight_col + weight_stride_Two,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        )
    # c = take(cos, position, P)
    valid = (position >= 0) & (position < P)
    if EARLY:
        c = tl.load(
            cos_ptr + cols * cos_col + tl.cast(position, INT) * cos_stride_P,
            mask=in_rows & in_cols & valid,
            other=0.0,
            eviction_policy="evict_last",
        )
        s = tl.load(
            sin_ptr + cols * sin_col + tl.cast(position, INT) * sin_stride_P,
            mask=in_rows & in_cols & valid,
            other=0.0,
            eviction_policy="evict_last",
        )
    # rstd = rsqrt(mean(x * x, (Two, D)) + eps)
    row_sum = tl.sum(x_0 * x_0 + x * x, axis=1, keep_dims=True)
    rstd = tl.rsqrt(row_sum / (tl.cast(2, FLOAT) * tl.cast(D, FLOAT)) + eps)
    if not EARLY:
        weight_0 = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        )
    # first, second = unstack(x * rstd * weight, Two)
    first = x_0 * rstd * weight_0.to(FLOAT)
    if not EARLY:
        weight_1 = tl.load(
            weight_ptr + cols * weight_col + weight_stride_Two,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        )
    second = x * rstd * weight_1.to(FLOAT)
    if not EARLY:
        c = tl.load(
            cos_ptr + cols * cos_col + tl.cast(position, INT) * cos_stride_P,
            mask=in_rows & in_cols & valid,
            other=0.0,
            eviction_policy="evict_last",
        )
        s = tl.load(
            sin_ptr + cols * sin_col + tl.cast(position, INT) * sin_stride_P,
            mask=in_rows & in_cols & valid,
            other=0.0,
            eviction_policy="evict_last",
        )
    # return stack(first * c - second * s, second * c + first * s, dim=Two)
    tl.store(
        out_rows + cols * out_col,
        narrow(first * c.to(FLOAT) - second * s.to(FLOAT), out_ptr.dtype.element_ty),
        mask=in_rows & in_cols,
    )
    tl.store(
        out_rows + cols * out_col + out_stride_Two,
        narrow(second * c.to(FLOAT) + first * s.to(FLOAT), out_ptr.dtype.element_ty),
        mask=in_rows & in_cols,
    )
    if NEEDS_RSTD:
        tl.store(rstd_rows, narrow(rstd, rstd_ptr.dtype.element_ty), mask=in_rows)


@triton.jit
def _qk_norm_rope_loop(
    x_ptr,
    weight_ptr,
    cos_ptr,
    sin_ptr,
    position_ptr,
    out_ptr,
    rstd_ptr,
    ROWS_1,
    ROWS_2,
    D,
    P,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    x_stride_Two,
    position_row_0,
    position_row_1,
    position_row_2,
    weight_col,
    cos_col,
    cos_stride_P,
    weight_stride_Two,
    sin_col,
    sin_stride_P,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    out_stride_Two,
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
    position_rows = (
        position_ptr + row_0 * position_row_0 + row_1 * position_row_1 + row_2 * position_row_2
    )
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2

    eps = scalar(eps, FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(0, D, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, D, EVEN)

        x_0 = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        x = tl.load(
            x_rows + cols * x_col + x_stride_Two,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        # rstd = rsqrt(mean(x * x, (Two, D)) + eps)
        total = total + tl.sum(x_0 * x_0 + x * x, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)

    rstd = tl.rsqrt(row_sum / (tl.cast(2, FLOAT) * tl.cast(D, FLOAT)) + eps)
    position = tl.load(position_rows)
    # c = take(cos, position, P)
    valid = (position >= 0) & (position < P)

    for start in range(0, D, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, D, EVEN)

        x_0 = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        weight_0 = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # first, second = unstack(x * rstd * weight, Two)
        first = x_0 * rstd * weight_0
        c = tl.load(
            cos_ptr + cols * cos_col + tl.cast(position, INT) * cos_stride_P,
            mask=in_cols & valid,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        x = tl.load(
            x_rows + cols * x_col + x_stride_Two,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        weight_1 = tl.load(
            weight_ptr + cols * weight_col + weight_stride_Two,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        second = x * rstd * weight_1
        s = tl.load(
            sin_ptr + cols * sin_col + tl.cast(position, INT) * sin_stride_P,
            mask=in_cols & valid,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        # return stack(first * c - second * s, second * c + first * s, dim=Two)
        tl.store(
            out_rows + cols * out_col,
            narrow(first * c - second * s, out_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )
        tl.store(
            out_rows + cols * out_col + out_stride_Two,
            narrow(second * c + first * s, out_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )

    if NEEDS_RSTD:
        tl.store(rstd_rows, narrow(rstd, rstd_ptr.dtype.element_ty))


@triton.jit
def _qk_norm_rope_partial(
    x_ptr,
    partial_total_ptr,
    ROWS_1,
    ROWS_2,
    D,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    x_stride_Two,
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
    stop = tl.minimum((split + 1) * CHUNK, D)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x_0 = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        x = tl.load(x_rows + cols * x_col + x_stride_Two, mask=in_cols, other=0.0).to(FLOAT)
        # rstd = rsqrt(mean(x * x, (Two, D)) + eps)
        total = total + tl.sum(x_0 * x_0 + x * x, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, row_sum)


@triton.jit
def _qk_norm_rope_finish(
    partial_total_ptr,
    x_ptr,
    weight_ptr,
    cos_ptr,
    sin_ptr,
    position_ptr,
    out_ptr,
    rstd_ptr,
    ROWS_1,
    ROWS_2,
    D,
    P,
    position_row_0,
    position_row_1,
    position_row_2,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    weight_col,
    cos_col,
    cos_stride_P,
    x_stride_Two,
    weight_stride_Two,
    sin_col,
    sin_stride_P,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    out_stride_Two,
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
    stop = tl.minimum((split + 1) * CHUNK, D)
    leads = rows * 0 + split == 0
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    position_rows = (
        position_ptr + row_0 * position_row_0 + row_1 * position_row_1 + row_2 * position_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2

    eps = scalar(eps, FLOAT)

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_sum = tl.sum(total, axis=0, keep_dims=True)
    # rstd = rsqrt(mean(x * x, (Two, D)) + eps)
    rstd = tl.rsqrt(row_sum / (tl.cast(2, FLOAT) * tl.cast(D, FLOAT)) + eps)
    position = tl.load(position_rows)
    # c = take(cos, position, P)
    valid = (position >= 0) & (position < P)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x_0 = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        weight_0 = tl.load(weight_ptr + cols * weight_col, mask=in_cols, other=0.0).to(FLOAT)
        # first, second = unstack(x * rstd * weight, Two)
        first = x_0 * rstd * weight_0
        c = tl.load(
            cos_ptr + cols * cos_col + tl.cast(position, INT) * cos_stride_P,
            mask=in_cols & valid,
            other=0.0,
        ).to(FLOAT)
        x = tl.load(x_rows + cols * x_col + x_stride_Two, mask=in_cols, other=0.0).to(FLOAT)
        weight_1 = tl.load(
            weight_ptr + cols * weight_col + weight_stride_Two, mask=in_cols, other=0.0
        ).to(FLOAT)
        second = x * rstd * weight_1
        s = tl.load(
            sin_ptr + cols * sin_col + tl.cast(position, INT) * sin_stride_P,
            mask=in_cols & valid,
            other=0.0,
        ).to(FLOAT)
        # return stack(first * c - second * s, second * c + first * s, dim=Two)
        tl.store(
            out_rows + cols * out_col,
            narrow(first * c - second * s, out_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )
        tl.store(
            out_rows + cols * out_col + out_stride_Two,
            narrow(second * c + first * s, out_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )

    if NEEDS_RSTD:
        tl.store(rstd_rows, narrow(rstd, rstd_ptr.dtype.element_ty), mask=leads)


@triton.jit
def _qk_norm_rope_backward_stage_1_columns(
    x_ptr,
    cos_ptr,
    sin_ptr,
    position_ptr,
    rstd_ptr,
    grad_out_ptr,
    grad_weight_0_parts_ptr,
    grad_weight_1_parts_ptr,
    ROWS,
    ROWS_1,
    ROWS_2,
    D,
    P,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    grad_out_stride_Two,
    position_row_0,
    position_row_1,
    position_row_2,
    cos_col,
    cos_stride_P,
    sin_col,
    sin_stride_P,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    x_stride_Two,
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
    blocks = tl.cdiv(D, BLOCK_N)
    block = tl.program_id(0) % blocks
    program = tl.program_id(0) // blocks
    part = program + tl.zeros((1, 1), INT)
    cols = block * BLOCK_N + tl.arange(0, BLOCK_N)[None, :].to(INT)
    in_cols = below(cols, D, EVEN_N)

    grad_weight_0 = tl.full((BLOCK_M, BLOCK_N), 0.0, FLOAT)
    grad_weight_1 = tl.full((BLOCK_M, BLOCK_N), 0.0, FLOAT)
    for tile in tl.range(program, tl.cdiv(ROWS, BLOCK_M), PROGRAMS, num_stages=STAGES):
        rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)[:, None].to(INT)
        in_rows = below(rows, ROWS, EVEN_M)
        row_2 = rows % ROWS_2
        row_1 = rows // ROWS_2 % ROWS_1
        row_0 = rows // ROWS_2 // ROWS_1
        grad_out_rows = (
            grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
        )
        position_rows = (
            position_ptr + row_0 * position_row_0 + row_1 * position_row_1 + row_2 * position_row_2
        )
        x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
        rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2

        position = tl.load(position_rows, mask=in_rows, other=0, eviction_policy="evict_last")
        # c = take(cos, position, P)
        valid = (position >= 0) & (position < P)
        c = tl.load(
            cos_ptr + cols * cos_col + tl.cast(position, INT) * cos_stride_P,
            mask=in_rows & in_cols & valid,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        s = tl.load(
            sin_ptr + cols * sin_col + tl.cast(position, INT) * sin_stride_P,
            mask=in_rows & in_cols & valid,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        grad_out_0 = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_rows & in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        grad_out_1 = tl.load(
            grad_out_rows + cols * grad_out_col + grad_out_stride_Two,
            mask=in_rows & in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        # first, second = unstack(x * rstd * weight, Two)
        grad_second = grad_out_1 * c + -grad_out_0 * s
        grad_first = grad_out_1 * s + grad_out_0 * c
        rstd = tl.load(rstd_rows, mask=in_rows, other=0.0, eviction_policy="evict_last").to(FLOAT)
        x = tl.load(
            x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        grad_weight_0 = grad_weight_0 + tl.where(
            in_rows,
            (tl.where(False, grad_second, 0.0) + tl.where(True, grad_first, 0.0)) * (x * rstd),
            0.0,
        )
        x_2 = tl.load(
            x_rows + cols * x_col + x_stride_Two,
            mask=in_rows & in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        grad_weight_1 = grad_weight_1 + tl.where(
            in_rows,
            (tl.where(True, grad_second, 0.0) + tl.where(False, grad_first, 0.0)) * (x_2 * rstd),
            0.0,
        )

    tl.store(
        grad_weight_0_parts_ptr + part * D + cols,
        tl.sum(grad_weight_0, axis=0, keep_dims=True),
        mask=in_cols,
    )
    tl.store(
        grad_weight_1_parts_ptr + part * D + cols,
        tl.sum(grad_weight_1, axis=0, keep_dims=True),
        mask=in_cols,
    )


@triton.jit
def _qk_norm_rope_backward_stage_1_join(
    grad_weight_0_parts_ptr,
    grad_weight_1_parts_ptr,
    grad_weight_ptr,
    D,
    grad_weight_col,
    grad_weight_stride_Two,
    PARTS,
    BLOCK_S: tl.constexpr,
    BLOCK_N: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program adds up the partial sums of BLOCK_N columns."""
    blocks = tl.cdiv(D, BLOCK_N)
    cols = tl.program_id(0) % blocks * BLOCK_N + tl.arange(0, BLOCK_N)[None, :].to(INT)
    in_cols = cols < D

    grad_weight_0 = tl.full((BLOCK_S, BLOCK_N), 0.0, FLOAT)
    grad_weight_1 = tl.full((BLOCK_S, BLOCK_N), 0.0, FLOAT)
    for start in range(0, PARTS, BLOCK_S):
        parts = start + tl.arange(0, BLOCK_S)[:, None].to(INT)
        grad_weight_0 += tl.load(
            grad_weight_0_parts_ptr + parts * D + cols, mask=(parts < PARTS) & in_cols, other=0
        )
        grad_weight_1 += tl.load(
            grad_weight_1_parts_ptr + parts * D + cols, mask=(parts < PARTS) & in_cols, other=0
        )
    grad_weight_0 = tl.sum(grad_weight_0, axis=0, keep_dims=True)
    grad_weight_1 = tl.sum(grad_weight_1, axis=0, keep_dims=True)
    tl.store(
        grad_weight_ptr + cols * grad_weight_col,
        narrow(grad_weight_0, grad_weight_ptr.dtype.element_ty),
        mask=in_cols,
    )
    tl.store(
        grad_weight_ptr + cols * grad_weight_col + grad_weight_stride_Two,
        narrow(grad_weight_1, grad_weight_ptr.dtype.element_ty),
        mask=in_cols,
    )


@triton.jit
def _qk_norm_rope_backward_stage_2_block(
    x_ptr,
    weight_ptr,
    cos_ptr,
    sin_ptr,
    position_ptr,
    rstd_ptr,
    grad_out_ptr,
    grad_x_ptr,
    ROWS,
    ROWS_1,
    ROWS_2,
    D,
    P,
    position_row_0,
    position_row_1,
    position_row_2,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    grad_out_stride_Two,
    weight_col,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    weight_stride_Two,
    x_stride_Two,
    cos_col,
    cos_stride_P,
    sin_col,
    sin_stride_P,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    grad_x_stride_Two,
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
    in_cols = below(cols, D, EVEN_N)
    in_rows = below(rows, ROWS, EVEN_M)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    position_rows = (
        position_ptr + row_0 * position_row_0 + row_1 * position_row_1 + row_2 * position_row_2
    )
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    position = tl.load(position_rows, mask=in_rows, other=0, eviction_policy="evict_last")
    grad_out_1 = tl.load(
        grad_out_rows + cols * grad_out_col + grad_out_stride_Two,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    grad_out_0 = tl.load(
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
    weight_2 = tl.load(
        weight_ptr + cols * weight_col + weight_stride_Two,
        mask=in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    x_2 = tl.load(
        x_rows + cols * x_col + x_stride_Two,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # c = take(cos, position, P)
    valid = (position >= 0) & (position < P)
    c = tl.load(
        cos_ptr + cols * cos_col + tl.cast(position, INT) * cos_stride_P,
        mask=in_rows & in_cols & valid,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    s = tl.load(
        sin_ptr + cols * sin_col + tl.cast(position, INT) * sin_stride_P,
        mask=in_rows & in_cols & valid,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    rstd = tl.load(rstd_rows, mask=in_rows, other=0.0, eviction_policy="evict_last").to(FLOAT)
    # first, second = unstack(x * rstd * weight, Two)
    grad_second = grad_out_1 * c + -grad_out_0 * s
    grad_first = grad_out_1 * s + grad_out_0 * c
    value = (tl.where(False, grad_second, 0.0) + tl.where(True, grad_first, 0.0)) * weight
    value_2 = (tl.where(True, grad_second, 0.0) + tl.where(False, grad_first, 0.0)) * weight_2
    # rstd = rsqrt(mean(x * x, (Two, D)) + eps)
    row_sum = tl.sum(value * x + value_2 * x_2, axis=1, keep_dims=True)
    value_3 = 2.0 * (
        -0.5 * row_sum * (rstd * rstd * rstd) / (tl.cast(2, FLOAT) * tl.cast(D, FLOAT))
    )
    grad_x_0 = value * rstd + value_3 * x
    grad_x_1 = value_2 * rstd + value_3 * x_2
    tl.store(
        grad_x_rows + cols * grad_x_col,
        narrow(grad_x_0, grad_x_ptr.dtype.element_ty),
        mask=in_rows & in_cols,
    )
    tl.store(
        grad_x_rows + cols * grad_x_col + grad_x_stride_Two,
        narrow(grad_x_1, grad_x_ptr.dtype.element_ty),
        mask=in_rows & in_cols,
    )


@triton.jit
def _qk_norm_rope_backward_stage_2_loop(
    x_ptr,
    weight_ptr,
    cos_ptr,
    sin_ptr,
    position_ptr,
    rstd_ptr,
    grad_out_ptr,
    grad_x_ptr,
    ROWS_1,
    ROWS_2,
    D,
    P,
    position_row_0,
    position_row_1,
    position_row_2,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    grad_out_stride_Two,
    cos_col,
    cos_stride_P,
    sin_col,
    sin_stride_P,
    weight_col,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    weight_stride_Two,
    x_stride_Two,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    grad_x_stride_Two,
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
    position_rows = (
        position_ptr + row_0 * position_row_0 + row_1 * position_row_1 + row_2 * position_row_2
    )
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    position = tl.load(position_rows)
    # c = take(cos, position, P)
    valid = (position >= 0) & (position < P)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(0, D, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, D, EVEN)

        grad_out_1 = tl.load(
            grad_out_rows + cols * grad_out_col + grad_out_stride_Two,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        c = tl.load(
            cos_ptr + cols * cos_col + tl.cast(position, INT) * cos_stride_P,
            mask=in_cols & valid,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        grad_out_0 = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        s = tl.load(
            sin_ptr + cols * sin_col + tl.cast(position, INT) * sin_stride_P,
            mask=in_cols & valid,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        # first, second = unstack(x * rstd * weight, Two)
        grad_second = grad_out_1 * c + -grad_out_0 * s
        grad_first = grad_out_1 * s + grad_out_0 * c
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        weight_2 = tl.load(
            weight_ptr + cols * weight_col + weight_stride_Two,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        x_2 = tl.load(
            x_rows + cols * x_col + x_stride_Two,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        # rstd = rsqrt(mean(x * x, (Two, D)) + eps)
        total = total + tl.sum(
            (tl.where(False, grad_second, 0.0) + tl.where(True, grad_first, 0.0)) * weight * x
            + (tl.where(True, grad_second, 0.0) + tl.where(False, grad_first, 0.0))
            * weight_2
            * x_2,
            axis=1,
            keep_dims=True,
        )

    row_sum = tl.sum(total, axis=0, keep_dims=True)

    rstd = tl.load(rstd_rows).to(FLOAT)
    value = 2.0 * (-0.5 * row_sum * (rstd * rstd * rstd) / (tl.cast(2, FLOAT) * tl.cast(D, FLOAT)))

    for start in range(0, D, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, D, EVEN)

        grad_out_1 = tl.load(
            grad_out_rows + cols * grad_out_col + grad_out_stride_Two,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        c = tl.load(
            cos_ptr + cols * cos_col + tl.cast(position, INT) * cos_stride_P,
            mask=in_cols & valid,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        grad_out_0 = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        s = tl.load(
            sin_ptr + cols * sin_col + tl.cast(position, INT) * sin_stride_P,
            mask=in_cols & valid,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        grad_second = grad_out_1 * c + -grad_out_0 * s
        grad_first = grad_out_1 * s + grad_out_0 * c
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        grad_x_0 = (
            tl.where(False, grad_second, 0.0) + tl.where(True, grad_first, 0.0)
        ) * weight * rstd + value * x
        weight_2 = tl.load(
            weight_ptr + cols * weight_col + weight_stride_Two,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        x_2 = tl.load(
            x_rows + cols * x_col + x_stride_Two,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        grad_x_1 = (
            tl.where(True, grad_second, 0.0) + tl.where(False, grad_first, 0.0)
        ) * weight_2 * rstd + value * x_2
        tl.store(
            grad_x_rows + cols * grad_x_col,
            narrow(grad_x_0, grad_x_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )
        tl.store(
            grad_x_rows + cols * grad_x_col + grad_x_stride_Two,
            narrow(grad_x_1, grad_x_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )


@triton.jit
def _qk_norm_rope_backward_stage_2_partial(
    x_ptr,
    weight_ptr,
    cos_ptr,
    sin_ptr,
    position_ptr,
    grad_out_ptr,
    partial_total_ptr,
    ROWS_1,
    ROWS_2,
    D,
    P,
    position_row_0,
    position_row_1,
    position_row_2,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    grad_out_stride_Two,
    cos_col,
    cos_stride_P,
    sin_col,
    sin_stride_P,
    weight_col,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    weight_stride_Two,
    x_stride_Two,
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
    stop = tl.minimum((split + 1) * CHUNK, D)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    position_rows = (
        position_ptr + row_0 * position_row_0 + row_1 * position_row_1 + row_2 * position_row_2
    )
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2

    position = tl.load(position_rows)
    # c = take(cos, position, P)
    valid = (position >= 0) & (position < P)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        grad_out_1 = tl.load(
            grad_out_rows + cols * grad_out_col + grad_out_stride_Two, mask=in_cols, other=0.0
        ).to(FLOAT)
        c = tl.load(
            cos_ptr + cols * cos_col + tl.cast(position, INT) * cos_stride_P,
            mask=in_cols & valid,
            other=0.0,
        ).to(FLOAT)
        grad_out_0 = tl.load(grad_out_rows + cols * grad_out_col, mask=in_cols, other=0.0).to(FLOAT)
        s = tl.load(
            sin_ptr + cols * sin_col + tl.cast(position, INT) * sin_stride_P,
            mask=in_cols & valid,
            other=0.0,
        ).to(FLOAT)
        # first, second = unstack(x * rstd * weight, Two)
        grad_second = grad_out_1 * c + -grad_out_0 * s
        grad_first = grad_out_1 * s + grad_out_0 * c
        weight = tl.load(weight_ptr + cols * weight_col, mask=in_cols, other=0.0).to(FLOAT)
        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        weight_2 = tl.load(
            weight_ptr + cols * weight_col + weight_stride_Two, mask=in_cols, other=0.0
        ).to(FLOAT)
        x_2 = tl.load(x_rows + cols * x_col + x_stride_Two, mask=in_cols, other=0.0).to(FLOAT)
        # rstd = rsqrt(mean(x * x, (Two, D)) + eps)
        total = total + tl.sum(
            (tl.where(False, grad_second, 0.0) + tl.where(True, grad_first, 0.0)) * weight * x
            + (tl.where(True, grad_second, 0.0) + tl.where(False, grad_first, 0.0))
            * weight_2
            * x_2,
            axis=1,
            keep_dims=True,
        )

    row_sum = tl.sum(total, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, row_sum)


@triton.jit
def _qk_norm_rope_backward_stage_2_finish(
    partial_total_ptr,
    x_ptr,
    weight_ptr,
    cos_ptr,
    sin_ptr,
    position_ptr,
    rstd_ptr,
    grad_out_ptr,
    grad_x_ptr,
    ROWS_1,
    ROWS_2,
    D,
    P,
    position_row_0,
    position_row_1,
    position_row_2,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    grad_out_stride_Two,
    cos_col,
    cos_stride_P,
    sin_col,
    sin_stride_P,
    weight_col,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    weight_stride_Two,
    x_stride_Two,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    grad_x_stride_Two,
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
    stop = tl.minimum((split + 1) * CHUNK, D)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    position_rows = (
        position_ptr + row_0 * position_row_0 + row_1 * position_row_1 + row_2 * position_row_2
    )
    rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_sum = tl.sum(total, axis=0, keep_dims=True)
    position = tl.load(position_rows)
    # c = take(cos, position, P)
    valid = (position >= 0) & (position < P)
    rstd = tl.load(rstd_rows).to(FLOAT)
    # rstd = rsqrt(mean(x * x, (Two, D)) + eps)
    value = 2.0 * (-0.5 * row_sum * (rstd * rstd * rstd) / (tl.cast(2, FLOAT) * tl.cast(D, FLOAT)))

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        grad_out_1 = tl.load(
            grad_out_rows + cols * grad_out_col + grad_out_stride_Two, mask=in_cols, other=0.0
        ).to(FLOAT)
        c = tl.load(
            cos_ptr + cols * cos_col + tl.cast(position, INT) * cos_stride_P,
            mask=in_cols & valid,
            other=0.0,
        ).to(FLOAT)
        grad_out_0 = tl.load(grad_out_rows + cols * grad_out_col, mask=in_cols, other=0.0).to(FLOAT)
        s = tl.load(
            sin_ptr + cols * sin_col + tl.cast(position, INT) * sin_stride_P,
            mask=in_cols & valid,
            other=0.0,
        ).to(FLOAT)
        # first, second = unstack(x * rstd * weight, Two)
        grad_second = grad_out_1 * c + -grad_out_0 * s
        grad_first = grad_out_1 * s + grad_out_0 * c
        weight = tl.load(weight_ptr + cols * weight_col, mask=in_cols, other=0.0).to(FLOAT)
        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        grad_x_0 = (
            tl.where(False, grad_second, 0.0) + tl.where(True, grad_first, 0.0)
        ) * weight * rstd + value * x
        weight_2 = tl.load(
            weight_ptr + cols * weight_col + weight_stride_Two, mask=in_cols, other=0.0
        ).to(FLOAT)
        x_2 = tl.load(x_rows + cols * x_col + x_stride_Two, mask=in_cols, other=0.0).to(FLOAT)
        grad_x_1 = (
            tl.where(True, grad_second, 0.0) + tl.where(False, grad_first, 0.0)
        ) * weight_2 * rstd + value * x_2
        tl.store(
            grad_x_rows + cols * grad_x_col,
            narrow(grad_x_0, grad_x_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )
        tl.store(
            grad_x_rows + cols * grad_x_col + grad_x_stride_Two,
            narrow(grad_x_1, grad_x_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )


@triton.jit
def _qk_norm_rope_backward_sums(
    x_ptr,
    weight_ptr,
    cos_ptr,
    sin_ptr,
    position_ptr,
    rstd_ptr,
    grad_out_ptr,
    grad_x_ptr,
    grad_weight_0_parts_ptr,
    grad_weight_1_parts_ptr,
    ROWS,
    ROWS_1,
    ROWS_2,
    D,
    P,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    grad_out_stride_Two,
    position_row_0,
    position_row_1,
    position_row_2,
    cos_col,
    cos_stride_P,
    sin_col,
    sin_stride_P,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    rstd_row_0,
    rstd_row_1,
    rstd_row_2,
    x_stride_Two,
    weight_col,
    weight_stride_Two,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    grad_x_stride_Two,
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
    in_cols = below(cols, D, EVEN_N)

    grad_weight_0 = tl.full((BLOCK_M, BLOCK_N), 0.0, FLOAT)
    grad_weight_1 = tl.full((BLOCK_M, BLOCK_N), 0.0, FLOAT)
    for tile in tl.range(program, tl.cdiv(ROWS, BLOCK_M), PROGRAMS, num_stages=STAGES):
        rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)[:, None].to(INT)
        in_rows = below(rows, ROWS, EVEN_M)
        row_2 = rows % ROWS_2
        row_1 = rows // ROWS_2 % ROWS_1
        row_0 = rows // ROWS_2 // ROWS_1
        grad_out_rows = (
            grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
        )
        position_rows = (
            position_ptr + row_0 * position_row_0 + row_1 * position_row_1 + row_2 * position_row_2
        )
        x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
        rstd_rows = rstd_ptr + row_0 * rstd_row_0 + row_1 * rstd_row_1 + row_2 * rstd_row_2
        grad_x_rows = (
            grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2
        )

        position = tl.load(position_rows, mask=in_rows, other=0, eviction_policy="evict_last")
        # c = take(cos, position, P)
        valid = (position >= 0) & (position < P)
        c = tl.load(
            cos_ptr + cols * cos_col + tl.cast(position, INT) * cos_stride_P,
            mask=in_rows & in_cols & valid,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        s = tl.load(
            sin_ptr + cols * sin_col + tl.cast(position, INT) * sin_stride_P,
            mask=in_rows & in_cols & valid,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        grad_out_0 = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_rows & in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        grad_out_1 = tl.load(
            grad_out_rows + cols * grad_out_col + grad_out_stride_Two,
            mask=in_rows & in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        # first, second = unstack(x * rstd * weight, Two)
        grad_second = grad_out_1 * c + -grad_out_0 * s
        grad_first = grad_out_1 * s + grad_out_0 * c
        rstd = tl.load(rstd_rows, mask=in_rows, other=0.0, eviction_policy="evict_last").to(FLOAT)
        x = tl.load(
            x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        value = tl.where(False, grad_second, 0.0) + tl.where(True, grad_first, 0.0)
        if NEEDS_GRAD_WEIGHT:
            grad_weight_0 = grad_weight_0 + tl.where(in_rows, value * (x * rstd), 0.0)
        value_2 = tl.where(True, grad_second, 0.0) + tl.where(False, grad_first, 0.0)
        x_2 = tl.load(
            x_rows + cols * x_col + x_stride_Two,
            mask=in_rows & in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        if NEEDS_GRAD_WEIGHT:
            grad_weight_1 = grad_weight_1 + tl.where(in_rows, value_2 * (x_2 * rstd), 0.0)
        weight = tl.load(
            weight_ptr + cols * weight_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        value_3 = value * weight
        weight_2 = tl.load(
            weight_ptr + cols * weight_col + weight_stride_Two,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        value_4 = value_2 * weight_2
        # rstd = rsqrt(mean(x * x, (Two, D)) + eps)
        row_sum = tl.sum(value_3 * x + value_4 * x_2, axis=1, keep_dims=True)
        value_5 = 2.0 * (
            -0.5 * row_sum * (rstd * rstd * rstd) / (tl.cast(2, FLOAT) * tl.cast(D, FLOAT))
        )
        grad_x_0 = value_3 * rstd + value_5 * x
        grad_x_1 = value_4 * rstd + value_5 * x_2
        if NEEDS_GRAD_X:
            tl.store(
                grad_x_rows + cols * grad_x_col,
                narrow(grad_x_0, grad_x_ptr.dtype.element_ty),
                mask=in_rows & in_cols,
            )
            tl.store(
                grad_x_rows + cols * grad_x_col + grad_x_stride_Two,
                narrow(grad_x_1, grad_x_ptr.dtype.element_ty),
                mask=in_rows & in_cols,
            )

    if NEEDS_GRAD_WEIGHT:
        tl.store(
            grad_weight_0_parts_ptr + part * D + cols,
            tl.sum(grad_weight_0, axis=0, keep_dims=True),
            mask=in_cols,
        )
        tl.store(
            grad_weight_1_parts_ptr + part * D + cols,
            tl.sum(grad_weight_1, axis=0, keep_dims=True),
            mask=in_cols,
        )


@triton.jit
def _qk_norm_rope_backward_join(
    grad_weight_0_parts_ptr,
    grad_weight_1_parts_ptr,
    grad_weight_ptr,
    D,
    grad_weight_col,
    grad_weight_stride_Two,
    PARTS,
    BLOCK_S: tl.constexpr,
    BLOCK_N: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program adds up the partial sums of BLOCK_N columns."""
    blocks = tl.cdiv(D, BLOCK_N)
    cols = tl.program_id(0) % blocks * BLOCK_N + tl.arange(0, BLOCK_N)[None, :].to(INT)
    in_cols = cols < D

    grad_weight_0 = tl.full((BLOCK_S, BLOCK_N), 0.0, FLOAT)
    grad_weight_1 = tl.full((BLOCK_S, BLOCK_N), 0.0, FLOAT)
    for start in range(0, PARTS, BLOCK_S):
        parts = start + tl.arange(0, BLOCK_S)[:, None].to(INT)
        grad_weight_0 += tl.load(
            grad_weight_0_parts_ptr + parts * D + cols, mask=(parts < PARTS) & in_cols, other=0
        )
        grad_weight_1 += tl.load(
            grad_weight_1_parts_ptr + parts * D + cols, mask=(parts < PARTS) & in_cols, other=0
        )
    grad_weight_0 = tl.sum(grad_weight_0, axis=0, keep_dims=True)
    grad_weight_1 = tl.sum(grad_weight_1, axis=0, keep_dims=True)
    tl.store(
        grad_weight_ptr + cols * grad_weight_col,
        narrow(grad_weight_0, grad_weight_ptr.dtype.element_ty),
        mask=in_cols,
    )
    tl.store(
        grad_weight_ptr + cols * grad_weight_col + grad_weight_stride_Two,
        narrow(grad_weight_1, grad_weight_ptr.dtype.element_ty),
        mask=in_cols,
    )


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("B", "S", "H"), limit=3, spare_last=True)
    cols = call.axes(("D",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=2, writes=2, flops=14, joins=1, held=4, held_wide=5)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=2, writes=2, flops=14.25, rereads=2, joins=1, passes=2, held=2.4, held_wide=3
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=2,
            writes=2,
            flops=14.625,
            special=0.25,
            rereads=2,
            joins=1,
            passes=2,
            held=2.4,
            held_wide=3,
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
                _qk_norm_rope_partial,
                grid=(rows.total * splits,),
                tensors=("x", "partial_total"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    call.stride("x", "Two"),
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
                _qk_norm_rope_finish,
                grid=(rows.total * splits,),
                tensors=("partial_total", "x", "weight", "cos", "sin", "position", "out", "rstd"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    call.sizes["P"],
                    *rows.strides("position"),
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    cols.strides("weight")[0],
                    cols.strides("cos")[0],
                    call.stride("cos", "P"),
                    call.stride("x", "Two"),
                    call.stride("weight", "Two"),
                    cols.strides("sin")[0],
                    call.stride("sin", "P"),
                    *rows.strides("out"),
                    cols.strides("out")[0],
                    call.stride("out", "Two"),
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
                _qk_norm_rope_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "weight", "cos", "sin", "position", "out", "rstd"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    call.sizes["P"],
                    *rows.strides("position"),
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    call.stride("x", "Two"),
                    cols.strides("weight")[0],
                    call.stride("weight", "Two"),
                    cols.strides("cos")[0],
                    call.stride("cos", "P"),
                    cols.strides("sin")[0],
                    call.stride("sin", "P"),
                    *rows.strides("out"),
                    cols.strides("out")[0],
                    call.stride("out", "Two"),
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
            _qk_norm_rope_loop,
            grid=(rows.total,),
            tensors=("x", "weight", "cos", "sin", "position", "out", "rstd"),
            integers=(
                *rows.sizes[1:],
                cols.total,
                call.sizes["P"],
                *rows.strides("x"),
                cols.strides("x")[0],
                call.stride("x", "Two"),
                *rows.strides("position"),
                cols.strides("weight")[0],
                cols.strides("cos")[0],
                call.stride("cos", "P"),
                call.stride("weight", "Two"),
                cols.strides("sin")[0],
                call.stride("sin", "P"),
                *rows.strides("out"),
                cols.strides("out")[0],
                call.stride("out", "Two"),
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
    call = call.among("x", "weight", "cos", "sin", "position", "rstd", "grad_out", "grad_weight")
    rows = call.axes(("B", "S", "H"), limit=3, spare_last=True)
    cols = call.axes(("D",), limit=1)
    columns = cols.total

    def columns_time(config: Config) -> float:
        work = Work(reads=4, writes=0, flops=19, rereads=2, held=4.25, held_wide=5.95)
        return columns_cost(config, call.target, work, call.element_size, rows.total, columns)

    config = call.choose(BACKWARD_COLUMNS_CONFIGS, columns_time)
    block_m, block_n = tile_shape(
        rows.crossed(), rows.total, columns, config["TILE"], call.element_size
    )
    blocks = cdiv(columns, block_n)
    programs = programs_of(config, call.target, cdiv(rows.total, block_m), blocks)
    return Launch(
        Step(
            _qk_norm_rope_backward_stage_1_columns,
            grid=(programs * blocks,),
            tensors=(
                "x",
                "cos",
                "sin",
                "position",
                "rstd",
                "grad_out",
                "grad_weight_0_parts",
                "grad_weight_1_parts",
            ),
            integers=(
                rows.total,
                *rows.sizes[1:],
                cols.total,
                call.sizes["P"],
                *rows.strides("grad_out"),
                cols.strides("grad_out")[0],
                call.stride("grad_out", "Two"),
                *rows.strides("position"),
                cols.strides("cos")[0],
                call.stride("cos", "P"),
                cols.strides("sin")[0],
                call.stride("sin", "P"),
                *rows.strides("x"),
                cols.strides("x")[0],
                *rows.strides("rstd"),
                call.stride("x", "Two"),
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
            _qk_norm_rope_backward_stage_1_join,
            grid=(cdiv(columns, join_tile(config, programs, columns)[1]),),
            tensors=("grad_weight_0_parts", "grad_weight_1_parts", "grad_weight"),
            integers=(
                cols.total,
                cols.strides("grad_weight")[0],
                call.stride("grad_weight", "Two"),
                programs,
            ),
            constants={
                "BLOCK_S": join_tile(config, programs, columns)[0],
                "BLOCK_N": join_tile(config, programs, columns)[1],
            },
            config=config,
        )
        if call.needs("grad_weight")
        else None,
        workspaces={
            "grad_weight_0_parts": ((programs, columns), call.float),
            "grad_weight_1_parts": ((programs, columns), call.float),
        },
    )


def _plan_backward_stage_2(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    call = call.among("x", "weight", "cos", "sin", "position", "rstd", "grad_out", "grad_x")
    rows = call.axes(("B", "S", "H"), limit=3, spare_last=True)
    cols = call.axes(("D",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=4, writes=2, flops=25, joins=1, held=5, held_wide=9)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BACKWARD_BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=4, writes=2, flops=40.25, rereads=4, joins=1, passes=2, held=2.475, held_wide=3.75
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, BACKWARD_LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=4,
            writes=2,
            flops=40.75,
            special=0.125,
            rereads=4,
            joins=1,
            passes=2,
            held=2.475,
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
                _qk_norm_rope_backward_stage_2_partial,
                grid=(rows.total * splits,),
                tensors=("x", "weight", "cos", "sin", "position", "grad_out", "partial_total"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    call.sizes["P"],
                    *rows.strides("position"),
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    call.stride("grad_out", "Two"),
                    cols.strides("cos")[0],
                    call.stride("cos", "P"),
                    cols.strides("sin")[0],
                    call.stride("sin", "P"),
                    cols.strides("weight")[0],
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    call.stride("weight", "Two"),
                    call.stride("x", "Two"),
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
                _qk_norm_rope_backward_stage_2_finish,
                grid=(rows.total * splits,),
                tensors=(
                    "partial_total",
                    "x",
                    "weight",
                    "cos",
                    "sin",
                    "position",
                    "rstd",
                    "grad_out",
                    "grad_x",
                ),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    call.sizes["P"],
                    *rows.strides("position"),
                    *rows.strides("rstd"),
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    call.stride("grad_out", "Two"),
                    cols.strides("cos")[0],
                    call.stride("cos", "P"),
                    cols.strides("sin")[0],
                    call.stride("sin", "P"),
                    cols.strides("weight")[0],
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    call.stride("weight", "Two"),
                    call.stride("x", "Two"),
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
                    call.stride("grad_x", "Two"),
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
                _qk_norm_rope_backward_stage_2_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "weight", "cos", "sin", "position", "rstd", "grad_out", "grad_x"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    call.sizes["P"],
                    *rows.strides("position"),
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    call.stride("grad_out", "Two"),
                    cols.strides("weight")[0],
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    call.stride("weight", "Two"),
                    call.stride("x", "Two"),
                    cols.strides("cos")[0],
                    call.stride("cos", "P"),
                    cols.strides("sin")[0],
                    call.stride("sin", "P"),
                    *rows.strides("rstd"),
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
                    call.stride("grad_x", "Two"),
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
            _qk_norm_rope_backward_stage_2_loop,
            grid=(rows.total,),
            tensors=("x", "weight", "cos", "sin", "position", "rstd", "grad_out", "grad_x"),
            integers=(
                *rows.sizes[1:],
                cols.total,
                call.sizes["P"],
                *rows.strides("position"),
                *rows.strides("grad_out"),
                cols.strides("grad_out")[0],
                call.stride("grad_out", "Two"),
                cols.strides("cos")[0],
                call.stride("cos", "P"),
                cols.strides("sin")[0],
                call.stride("sin", "P"),
                cols.strides("weight")[0],
                *rows.strides("x"),
                cols.strides("x")[0],
                call.stride("weight", "Two"),
                call.stride("x", "Two"),
                *rows.strides("rstd"),
                *rows.strides("grad_x"),
                cols.strides("grad_x")[0],
                call.stride("grad_x", "Two"),
            ),
            constants={"LANES": config["TILE"] // vector, "VECTOR": vector, "EVEN": even},
            config=config,
        )
    )


def _plan_backward(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("B", "S", "H"), limit=3, spare_last=True)
    cols = call.axes(("D",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def sums_time(config: Config) -> float:
        work = Work(reads=4, writes=2, flops=31, rereads=4, joins=1, held=5.525, held_wide=5.95)
        return sums_cost(config, call.target, work, call.element_size, rows.total, width)

    sums = least(call, BACKWARD_SUMS_CONFIGS, sums_time)

    if call.takes("sums", fits(sums)):
        config = call.choose(BACKWARD_SUMS_CONFIGS, sums_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        programs = programs_of(config, call.target, cdiv(rows.total, block_m), 1)
        return Launch(
            Step(
                _qk_norm_rope_backward_sums,
                grid=(programs,),
                tensors=(
                    "x",
                    "weight",
                    "cos",
                    "sin",
                    "position",
                    "rstd",
                    "grad_out",
                    "grad_x",
                    "grad_weight_0_parts",
                    "grad_weight_1_parts",
                ),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    call.sizes["P"],
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    call.stride("grad_out", "Two"),
                    *rows.strides("position"),
                    cols.strides("cos")[0],
                    call.stride("cos", "P"),
                    cols.strides("sin")[0],
                    call.stride("sin", "P"),
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("rstd"),
                    call.stride("x", "Two"),
                    cols.strides("weight")[0],
                    call.stride("weight", "Two"),
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
                    call.stride("grad_x", "Two"),
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
                _qk_norm_rope_backward_join,
                grid=(cdiv(columns, join_tile(config, programs, columns)[1]),),
                tensors=("grad_weight_0_parts", "grad_weight_1_parts", "grad_weight"),
                integers=(
                    cols.total,
                    cols.strides("grad_weight")[0],
                    call.stride("grad_weight", "Two"),
                    programs,
                ),
                constants={
                    "BLOCK_S": join_tile(config, programs, columns)[0],
                    "BLOCK_N": join_tile(config, programs, columns)[1],
                },
                config=config,
            )
            if call.needs("grad_weight")
            else None,
            workspaces={
                "grad_weight_0_parts": ((programs, columns), call.float),
                "grad_weight_1_parts": ((programs, columns), call.float),
            },
        )

    # A row is too wide: stage after stage.
    return in_stages(
        _plan_backward_stage_1(call) if call.needs("grad_weight") else None,
        _plan_backward_stage_2(call) if call.needs("grad_x") else None,
    )


def reference(x, weight, cos, sin, position, eps, *, compute):
    """RMS-normalise each head of the queries or the keys, then rotate its halves.

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    D = cos.shape[1]
    x = widen(x.unflatten(3, (2, D)), compute)
    weight = widen(weight.unflatten(0, (2, D)), compute)
    cos = widen(cos.permute(1, 0), compute)
    sin = widen(sin.permute(1, 0), compute)
    # rstd = rsqrt(mean(x * x, (Two, D)) + eps)
    rstd = torch.rsqrt((x * x).mean((3, 4)) + eps)
    # first, second = unstack(x * rstd * weight, Two)
    value = x * rstd[:, :, :, None, None] * weight
    first = value.select(3, 0)
    # c = take(cos, position, P)
    c = take_last(cos, position[:, :, None])
    second = value.select(3, 1)
    # s = take(sin, position, P)
    s = take_last(sin, position[:, :, None])
    return torch.stack(
        (
            first * c[:, :, None, :] - second * s[:, :, None, :],
            second * c[:, :, None, :] + first * s[:, :, None, :],
        ),
        3,
    ).flatten(3, 4), rstd


def reference_backward(x, weight, cos, sin, position, rstd, grad_out, eps, *, compute):
    """The gradient of `reference`, as the kernels compute it."""
    D = cos.shape[1]
    x = widen(x.unflatten(3, (2, D)), compute)
    weight = widen(weight.unflatten(0, (2, D)), compute)
    cos = widen(cos.permute(1, 0), compute)
    sin = widen(sin.permute(1, 0), compute)
    rstd = widen(rstd, compute)
    grad_out = widen(grad_out.unflatten(3, (2, D)), compute)
    value = grad_out.select(3, 1)
    # c = take(cos, position, P)
    c = take_last(cos, position[:, :, None])
    value_2 = grad_out.select(3, 0)
    # s = take(sin, position, P)
    s = take_last(sin, position[:, :, None])
    # first, second = unstack(x * rstd * weight, Two)
    grad_second = value * c[:, :, None, :] + -value_2 * s[:, :, None, :]
    grad_first = value * s[:, :, None, :] + value_2 * c[:, :, None, :]
    value_3 = torch.where(
        (torch.arange(2, device=x.device) == 1)[:, None], grad_second[:, :, :, None, :], 0.0
    ) + torch.where(
        (torch.arange(2, device=x.device) == 0)[:, None], grad_first[:, :, :, None, :], 0.0
    )
    value_4 = value_3 * weight
    # rstd = rsqrt(mean(x * x, (Two, D)) + eps)
    grad_rstd = (value_4 * x).sum((3, 4))
    grad_x = (
        value_4 * rstd[:, :, :, None, None]
        + (2.0 * (-0.5 * grad_rstd * (rstd * rstd * rstd) / (float(2) * float(D))))[
            :, :, :, None, None
        ]
        * x
    )
    grad_weight = (value_3 * (x * rstd[:, :, :, None, None])).sum((0, 1, 2))
    return grad_x.flatten(3, 4), grad_weight.flatten(0, 1)


BACKWARD = Op(
    name="qk_norm_rope_backward",
    spec_hash="ffec5b43",
    inputs=(
        Operand("x", ("B", "S", "H", ("Two", "D"))),
        Operand("weight", (("Two", "D"),)),
        Operand("cos", ("P", "D")),
        Operand("sin", ("P", "D")),
        Operand("position", ("B", "S"), kind="int"),
        Operand("rstd", ("B", "S", "H")),
        Operand("grad_out", ("B", "S", "H", ("Two", "D"))),
    ),
    params=(Param("eps", "float", 1e-06),),
    outputs=(
        Output("grad_x", ("B", "S", "H", ("Two", "D")), like="x"),
        Output("grad_weight", (("Two", "D"),), like="weight"),
    ),
    fold="B",
    static_sizes={"Two": 2},
    shards={"B": ("grad_weight",), "S": ("grad_weight",), "H": ("grad_weight",)},
    partial=True,
    variants={
        (): Variant(_plan_backward, reference_backward),
    },
)
OP = Op(
    name="qk_norm_rope",
    spec_hash="ffec5b43",
    inputs=(
        Operand("x", ("B", "S", "H", ("Two", "D"))),
        Operand("weight", (("Two", "D"),)),
        Operand("cos", ("P", "D")),
        Operand("sin", ("P", "D")),
        Operand("position", ("B", "S"), kind="int"),
    ),
    params=(Param("eps", "float", 1e-06),),
    outputs=(Output("out", ("B", "S", "H", ("Two", "D")), like="x"),),
    saved=(Output("rstd", ("B", "S", "H"), dtype="float"),),
    fold="B",
    static_sizes={"Two": 2},
    inplace=("x",),
    shards={"B": (), "S": (), "H": ()},
    gradients=Gradients({"out": "grad_out"}, BACKWARD),
    variants={
        (): Variant(_plan, reference, gradients={"x": "grad_x", "weight": "grad_weight"}),
    },
)


def qk_norm_rope(
    x: torch.Tensor,
    weight: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    position: torch.Tensor,
    eps: float = 1e-06,
    *,
    out: torch.Tensor | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> torch.Tensor:
    """RMS-normalise each head of the queries or the keys, then rotate its halves.

    As in Qwen3; the rotation is that of rope (Su et al., arXiv:2104.09864).

    Args:
        x: [B, S, H, Two * D], floats.
        weight: [Two * D], floats.
        cos: [P, D], floats.
        sin: [P, D], floats.
        position: [B, S], integers.
        eps: float.
        out: where to write out.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        out: [B, S, H, Two * D], the type of x.
        B may stand for several dimensions.
    """
    tensors = (x, weight, cos, sin, position)
    params = (eps,)
    return OP(tensors, params, out, backend, autotune)
