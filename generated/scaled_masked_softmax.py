"""Softmax of scaled attention scores, under an additive mask that the heads share.

The causal mask is aligned bottom-right: the last query sees every key.

Built by tilegen 0.1.0 from specs/scaled_masked_softmax.py (spec f6320ef9, templates d13e90b1).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: 2*B*H*S*T*e bytes (e: bytes of an element)
Work: 6*B*H*S*T + 3*B*H*S flops, B*H*S*T + B*H*S of them exponentials, roots and quotients
Bound: memory on every target
Eager PyTorch: 5 kernels, 4.5 times the bytes
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
    exp,
    finite_max,
    fits,
    in_stages,
    join_tile,
    least,
    logsumexp_end,
    logsumexp_step,
    loop_cost,
    lowest_padded,
    nan_max,
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
    Config(TILE=1024, num_warps=1),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=2),  # at most 256 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 256 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 256 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 512 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 1024 B shared, unproven
)
_BLOCK_2 = (
    Config(TILE=512, num_warps=1),  # at most 64 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 64 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 128 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 512 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 512 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 1024 B shared, unproven
)
_BLOCK_3 = (
    Config(TILE=1024, num_warps=1, registers=64),  # 0 B shared
    Config(TILE=4096, num_warps=2, registers=121),  # 8 B shared
    Config(TILE=4096, num_warps=4, registers=63),  # 16 B shared
    Config(TILE=4096, num_warps=8, registers=32),  # 32 B shared
    Config(TILE=8192, num_warps=4, registers=96),  # 16 B shared
    Config(TILE=16384, num_warps=16, registers=64),  # 64 B shared
)
_BLOCK_4 = (
    Config(TILE=1024, num_warps=1, registers=63),  # 0 B shared
    Config(TILE=4096, num_warps=2, registers=114),  # 8 B shared
    Config(TILE=4096, num_warps=4, registers=66),  # 16 B shared
    Config(TILE=4096, num_warps=8, registers=40),  # 32 B shared
    Config(TILE=8192, num_warps=4, registers=114),  # 16 B shared
    Config(TILE=16384, num_warps=16, registers=64),  # 64 B shared
)
_BLOCK_5 = (
    Config(TILE=1024, num_warps=1, registers=70),  # 0 B shared
    Config(TILE=4096, num_warps=2, registers=160),  # 8 B shared
    Config(TILE=4096, num_warps=4, registers=72),  # 16 B shared
    Config(TILE=4096, num_warps=8, registers=46),  # 32 B shared
    Config(TILE=8192, num_warps=4, registers=132),  # 16 B shared
    Config(TILE=16384, num_warps=16, registers=81),  # 64 B shared
)
_BLOCK_6 = (
    Config(TILE=512, num_warps=1, registers=80),  # 0 B shared
    Config(TILE=512, num_warps=2, registers=60),  # 64 B shared
    Config(TILE=1024, num_warps=1, registers=166),  # 0 B shared
    Config(TILE=4096, num_warps=4, registers=167),  # 512 B shared
    Config(TILE=4096, num_warps=8, registers=96),  # 512 B shared
    Config(TILE=8192, num_warps=16, registers=98),  # 1024 B shared
)
_BLOCK_7 = (
    Config(TILE=4096, num_warps=4),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 64 B shared, unproven
    Config(TILE=8192, num_warps=2),  # at most 128 B shared, unproven
    Config(TILE=8192, num_warps=8),  # at most 128 B shared, unproven
    Config(TILE=16384, num_warps=4),  # at most 256 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 512 B shared, unproven
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
    Config(TILE=4096, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=16384, num_warps=8),  # at most 8192 B shared, unproven
)
_LOOP_2 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 2048 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=32),  # at most 8192 B shared, unproven
)
_LOOP_3 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=32),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=32),  # at most 16384 B shared, unproven
)
_LOOP_4 = (
    Config(TILE=2048, num_warps=4, registers=48),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=32),  # 32 B shared
    Config(TILE=4096, num_warps=4, registers=123),  # 16 B shared
    Config(TILE=4096, num_warps=8, registers=57),  # 32 B shared
    Config(TILE=8192, num_warps=4, registers=238),  # 16 B shared
    Config(TILE=16384, num_warps=8, registers=238),  # 32 B shared
)
_LOOP_5 = (
    Config(TILE=2048, num_warps=4, registers=56),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=32),  # 32 B shared
    Config(TILE=4096, num_warps=4, registers=128),  # 16 B shared
    Config(TILE=4096, num_warps=8, registers=60),  # 32 B shared
    Config(TILE=8192, num_warps=4, registers=192),  # 16 B shared
    Config(TILE=16384, num_warps=8, registers=192),  # 32 B shared
)
_LOOP_6 = (
    Config(TILE=2048, num_warps=4, registers=76),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=48),  # 32 B shared
    Config(TILE=2048, num_warps=16, registers=32),  # 64 B shared
    Config(TILE=4096, num_warps=4, registers=184),  # 16 B shared
    Config(TILE=4096, num_warps=16, registers=40),  # 64 B shared
    Config(TILE=8192, num_warps=32, registers=48),  # 128 B shared
)
_LOOP_7 = (
    Config(TILE=2048, num_warps=4, registers=242),  # 32 B shared
    Config(TILE=2048, num_warps=8, registers=154),  # 64 B shared
    Config(TILE=2048, num_warps=32, registers=48),  # 256 B shared
    Config(TILE=4096, num_warps=8, registers=244),  # 64 B shared
    Config(TILE=2048, num_warps=16, registers=64, spills=2),  # 128 B shared, 8 B spilled
    Config(TILE=4096, num_warps=32, registers=64, spills=2),  # 256 B shared, 4 B spilled
)
_LOOP_8 = (
    Config(TILE=2048, num_warps=4),  # at most 2048 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 4096 B shared, unproven
    Config(TILE=4096, num_warps=8),  # at most 4096 B shared, unproven
    Config(TILE=8192, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=16384, num_warps=16),  # at most 16384 B shared, unproven
)
_LOOP_9 = (
    Config(TILE=2048, num_warps=4),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=8),  # at most 8192 B shared, unproven
    Config(TILE=2048, num_warps=16),  # at most 8192 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 16384 B shared, unproven
    Config(TILE=4096, num_warps=16),  # at most 16384 B shared, unproven
    Config(TILE=8192, num_warps=16),  # at most 32768 B shared, unproven
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
    Config(TILE=4096, num_warps=2, registers=148),  # 1024 B shared
    Config(TILE=4096, num_warps=8, registers=48),  # 128 B shared
    Config(TILE=8192, num_warps=4, registers=148),  # 1024 B shared
    Config(TILE=8192, num_warps=8, registers=80),  # 1024 B shared
    Config(TILE=16384, num_warps=8, registers=151),  # 1024 B shared
    Config(TILE=32768, num_warps=32, registers=64, spills=2),  # 1024 B shared, 52 B spilled
)
_BACKWARD_BLOCK_5 = (
    Config(TILE=4096, num_warps=2, registers=157),  # 1024 B shared
    Config(TILE=4096, num_warps=8, registers=48),  # 1024 B shared
    Config(TILE=8192, num_warps=4, registers=154),  # 1024 B shared
    Config(TILE=8192, num_warps=8, registers=80),  # 1024 B shared
    Config(TILE=16384, num_warps=8, registers=156),  # 1024 B shared
    Config(TILE=32768, num_warps=32, registers=64, spills=2),  # 1024 B shared, 40 B spilled
)
_BACKWARD_BLOCK_6 = (
    Config(TILE=512, num_warps=1, registers=80),  # 1024 B shared
    Config(TILE=1024, num_warps=1, registers=96),  # 1024 B shared
    Config(TILE=4096, num_warps=2, registers=160),  # 1024 B shared
    Config(TILE=4096, num_warps=8, registers=48),  # 1024 B shared
    Config(TILE=8192, num_warps=4, registers=160),  # 1024 B shared
    Config(TILE=16384, num_warps=16, registers=90),  # 1024 B shared
)
_BACKWARD_BLOCK_7 = (
    Config(TILE=512, num_warps=1, registers=80),  # 1024 B shared
    Config(TILE=512, num_warps=2, registers=56),  # 2048 B shared
    Config(TILE=4096, num_warps=4, registers=230),  # 2048 B shared
    Config(TILE=4096, num_warps=8, registers=121),  # 2048 B shared
    Config(TILE=8192, num_warps=16, registers=120),  # 2048 B shared
    Config(TILE=1024, num_warps=1, registers=154, spills=2),  # 1024 B shared, 8 B spilled
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
    Config(TILE=2048, num_warps=4, registers=72),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=44),  # 4096 B shared
    Config(TILE=4096, num_warps=4, registers=32),  # 16 B shared, 37 registers in split rows
    Config(TILE=8192, num_warps=16, registers=32),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=63),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=32),  # 128 B shared, 39 registers in split rows
)
_BACKWARD_LOOP_4 = (
    Config(TILE=2048, num_warps=4, registers=64),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=40),  # 32 B shared
    Config(TILE=4096, num_warps=4, registers=52),  # 16 B shared
    Config(TILE=8192, num_warps=16, registers=40),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=127),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=49),  # 128 B shared
)
_BACKWARD_LOOP_5 = (
    Config(TILE=2048, num_warps=4, registers=64),  # 16 B shared
    Config(TILE=2048, num_warps=8, registers=44),  # 32 B shared
    Config(TILE=4096, num_warps=4, registers=80),  # 16 B shared, 88 registers in split rows
    Config(TILE=8192, num_warps=16, registers=62),  # 64 B shared
    Config(TILE=16384, num_warps=8, registers=170),  # 32 B shared
    Config(TILE=32768, num_warps=32, registers=64, spills=2),  # 128 B shared, 76 B spilled
)
_BACKWARD_LOOP_6 = (
    Config(TILE=2048, num_warps=4, registers=128),  # 32 B shared
    Config(TILE=2048, num_warps=8, registers=64),  # 64 B shared
    Config(TILE=2048, num_warps=16, registers=40),  # 128 B shared
    Config(TILE=8192, num_warps=16, registers=88),  # 128 B shared
    Config(
        TILE=8192, num_warps=4, registers=245, spills=2
    ),  # 32 B shared, 252 registers in split rows, 8 B spilled
    Config(TILE=16384, num_warps=32, registers=64, spills=2),  # 256 B shared, 132 B spilled
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
    Config(TILE=8192, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 66576 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 66592 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 66624 B shared, unproven
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
    Config(TILE=16384, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 16448 B shared, unproven
)
_BACKWARD_SUMS_3 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 66624 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 66592 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 132128 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 132160 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 4160 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 8320 B shared, unproven
)
_BACKWARD_SUMS_4 = (
    Config(TILE=8192, PROGRAMS=1, num_warps=4, num_stages=3, registers=206),  # 32768 B shared
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=3, registers=149),  # 32768 B shared
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=3, registers=95),  # 32768 B shared
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=3, registers=209),  # 65536 B shared
    Config(TILE=16384, PROGRAMS=1, num_warps=16, num_stages=3, registers=123),  # 65536 B shared
    Config(
        TILE=16384, PROGRAMS=1, num_warps=32, num_stages=3, registers=64, spills=1
    ),  # 65536 B shared, 4 B spilled
)
_BACKWARD_SUMS_5 = (
    Config(TILE=8192, PROGRAMS=1, num_warps=4, num_stages=3, registers=182),  # 65536 B shared
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=3, registers=98),  # 65536 B shared
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=3, registers=78),  # 65536 B shared
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=3, registers=141),  # 131072 B shared
    Config(TILE=16384, PROGRAMS=1, num_warps=16, num_stages=3, registers=98),  # 131072 B shared
    Config(TILE=16384, PROGRAMS=1, num_warps=32, num_stages=3, registers=64),  # 131072 B shared
)
_BACKWARD_SUMS_6 = (
    Config(TILE=8192, PROGRAMS=1, num_warps=4, num_stages=3, registers=179),  # 131072 B shared
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=3, registers=102),  # 131072 B shared
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=3, registers=64),  # 131072 B shared
    Config(TILE=8192, PROGRAMS=1, num_warps=32, num_stages=3, registers=53),  # 131072 B shared
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=1, registers=224),  # 4096 B shared
    Config(TILE=16384, PROGRAMS=1, num_warps=16, num_stages=1, registers=124),  # 8192 B shared
)
_BACKWARD_SUMS_7 = (
    Config(
        TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3, registers=116
    ),  # 65792 B shared, 128 registers in split rows
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3, registers=194),  # 65792 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=198),  # 131584 B shared
    Config(
        TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3, registers=255, spills=1
    ),  # 131584 B shared, 52 B spilled
    Config(
        TILE=8192, PROGRAMS=1, num_warps=8, num_stages=1, registers=255, spills=1
    ),  # 4096 B shared, 24 B spilled
    Config(
        TILE=8192, PROGRAMS=1, num_warps=16, num_stages=1, registers=128, spills=1
    ),  # 8192 B shared, 52 B spilled
)
_BACKWARD_SUMS_8 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 66624 B shared, unproven
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 66592 B shared, unproven
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 132160 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 16512 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 16512 B shared, unproven
)
_BACKWARD_SUMS_9 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 66592 B shared, unproven
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 66624 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 8320 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 4160 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 8320 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=32, num_stages=1),  # at most 16640 B shared, unproven
)
_BACKWARD_SUMS_10 = (
    Config(TILE=8192, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 33808 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 33824 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=4, num_stages=1),  # at most 16400 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 32800 B shared, unproven
    Config(TILE=16384, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 16400 B shared, unproven
    Config(TILE=32768, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 32800 B shared, unproven
)
_BACKWARD_SUMS_11 = (
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 66592 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=4, num_stages=1),  # at most 8208 B shared, unproven
    Config(TILE=16384, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 8208 B shared, unproven
    Config(TILE=16384, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 16416 B shared, unproven
    Config(TILE=32768, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 16416 B shared, unproven
    Config(TILE=32768, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 32832 B shared, unproven
)
_BACKWARD_SUMS_12 = (
    Config(TILE=2048, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 33824 B shared, unproven
    Config(TILE=16384, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 4112 B shared, unproven
    Config(TILE=16384, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
    Config(TILE=16384, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 16448 B shared, unproven
    Config(TILE=32768, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 8224 B shared, unproven
    Config(TILE=32768, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 16448 B shared, unproven
)
_BACKWARD_SUMS_13 = (
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 4128 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=8192, PROGRAMS=2, num_warps=16, num_stages=1),  # at most 16512 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=1),  # at most 8256 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=16, num_stages=1),  # at most 16512 B shared, unproven
)
_BACKWARD_SUMS_14 = (
    Config(TILE=8192, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 33808 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 66576 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 66592 B shared, unproven
    Config(TILE=16384, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 66576 B shared, unproven
    Config(TILE=32768, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 132128 B shared, unproven
    Config(TILE=32768, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 132160 B shared, unproven
)
_BACKWARD_SUMS_15 = (
    Config(TILE=8192, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 66576 B shared, unproven
    Config(TILE=8192, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 66592 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=4, num_stages=3),  # at most 132112 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=8, num_stages=3),  # at most 132128 B shared, unproven
    Config(TILE=16384, PROGRAMS=1, num_warps=16, num_stages=3),  # at most 132160 B shared, unproven
    Config(TILE=16384, PROGRAMS=2, num_warps=4, num_stages=1),  # at most 8208 B shared, unproven
)
#: Whole rows in registers, TILE elements at a time, in PROGRAMS programs an SM; by architecture class and element size in bytes.
BACKWARD_SUMS_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1,), _BACKWARD_SUMS_1),
    (("sm_80", "sm_100"), (2,), _BACKWARD_SUMS_1),
    (("sm_89", "sm_86", "sm_120"), (2,), _BACKWARD_SUMS_2),
    (("sm_80", "sm_100"), (4,), _BACKWARD_SUMS_2),
    (("sm_80", "sm_100"), (8,), _BACKWARD_SUMS_3),
    (("sm_90",), (1,), _BACKWARD_SUMS_4),
    (("sm_90",), (2,), _BACKWARD_SUMS_5),
    (("sm_90",), (4,), _BACKWARD_SUMS_6),
    (("sm_90",), (8,), _BACKWARD_SUMS_7),
    (("sm_89", "sm_86", "sm_120"), (4,), _BACKWARD_SUMS_8),
    (("gfx950",), (8,), _BACKWARD_SUMS_8),
    (("sm_89", "sm_86", "sm_120"), (8,), _BACKWARD_SUMS_9),
    (("gfx90a", "gfx942"), (1,), _BACKWARD_SUMS_10),
    (("gfx90a", "gfx942"), (2,), _BACKWARD_SUMS_11),
    (("gfx950",), (4,), _BACKWARD_SUMS_11),
    (("gfx90a", "gfx942"), (4,), _BACKWARD_SUMS_12),
    (("gfx90a", "gfx942"), (8,), _BACKWARD_SUMS_13),
    (("gfx950",), (1,), _BACKWARD_SUMS_14),
    (("gfx950",), (2,), _BACKWARD_SUMS_15),
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
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3, registers=40),  # 8320 B shared
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=3, registers=40),  # 8320 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=40),  # 16416 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3, registers=80),  # 16416 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3, registers=40),  # 16416 B shared
    Config(TILE=4096, PROGRAMS=4, num_warps=16, num_stages=3, registers=40),  # 16416 B shared
)
_BACKWARD_COLUMNS_5 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3, registers=44),  # 16512 B shared
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=3, registers=44),  # 16512 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=46),  # 32832 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3, registers=60),  # 32832 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3, registers=46),  # 32832 B shared
    Config(TILE=4096, PROGRAMS=4, num_warps=16, num_stages=3, registers=46),  # 32832 B shared
)
_BACKWARD_COLUMNS_6 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3, registers=44),  # 32896 B shared
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=3, registers=44),  # 32896 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=54),  # 65664 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=40),  # 65664 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3, registers=54),  # 65664 B shared
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3, registers=40),  # 65664 B shared
)
_BACKWARD_COLUMNS_7 = (
    Config(TILE=2048, PROGRAMS=2, num_warps=4, num_stages=3, registers=72),  # 65792 B shared
    Config(TILE=2048, PROGRAMS=2, num_warps=8, num_stages=3, registers=48),  # 65792 B shared
    Config(TILE=2048, PROGRAMS=2, num_warps=16, num_stages=3, registers=40),  # 65792 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=4, num_stages=3, registers=72),  # 65792 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=8, num_stages=3, registers=48),  # 65792 B shared
    Config(TILE=4096, PROGRAMS=1, num_warps=16, num_stages=3, registers=40),  # 65792 B shared
)
_BACKWARD_COLUMNS_8 = (
    Config(TILE=2048, PROGRAMS=4, num_warps=8, num_stages=3),  # at most 9248 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=4, num_stages=3),  # at most 17424 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=8, num_stages=3),  # at most 17440 B shared, unproven
    Config(TILE=4096, PROGRAMS=2, num_warps=16, num_stages=3),  # at most 17472 B shared, unproven
    Config(TILE=4096, PROGRAMS=4, num_warps=8, num_stages=1),  # at most 16416 B shared, unproven
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
def _scaled_masked_softmax_block(
    x_ptr,
    out_ptr,
    ROWS,
    ROWS_1,
    ROWS_2,
    T,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    scale,
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
    in_cols = below(cols, T, EVEN_N)
    in_rows = below(rows, ROWS, EVEN_M)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    scale = scalar(scale, FLOAT)

    x = tl.load(
        x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    # score = x * scale
    score = x * scale
    # return softmax(score, where=visible)
    row_max = nan_max(tl.where(in_cols, score, float("-inf")), 1)
    row_top = tl.where(row_max == float("-inf"), 0.0, row_max)
    exps = exp(score - row_top)
    row_total = tl.sum(tl.where(in_cols, exps, 0.0), axis=1, keep_dims=True)
    tl.store(
        out_rows + cols * out_col,
        narrow(exps * (1.0 / row_total), out_ptr.dtype.element_ty),
        mask=in_rows & in_cols,
    )


@triton.jit
def _scaled_masked_softmax_loop(
    x_ptr,
    out_ptr,
    ROWS_1,
    ROWS_2,
    T,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    scale,
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
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    scale = scalar(scale, FLOAT)

    top = tl.full((LANES, 1), -3.4028234663852886e38, FLOAT)
    total = tl.full((LANES, 1), 0.0, FLOAT)
    cols = lane
    in_cols = below(cols, T, EVEN)

    next_x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last")

    for start in range(0, T, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, T, EVEN)
        x = next_x.to(FLOAT)

        next_cols = cols + LANES * VECTOR
        in_next = next_cols < T
        next_x = tl.load(
            x_rows + next_cols * x_col, mask=in_next, other=0.0, eviction_policy="evict_last"
        )

        # score = x * scale
        score = x * scale
        # return softmax(score, where=visible)
        top, total = logsumexp_step(top, total, tl.where(in_cols, score, float("-inf")))

    row_top, row_total = logsumexp_end(top, total)

    reciprocal = 1.0 / row_total

    for start in range(0, T, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, T, EVEN)

        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        score = x * scale
        tl.store(
            out_rows + cols * out_col,
            narrow(exp(score - row_top) * reciprocal, out_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )


@triton.jit
def _scaled_masked_softmax_partial(
    x_ptr,
    partial_top_ptr,
    partial_total_ptr,
    ROWS_1,
    ROWS_2,
    T,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    scale,
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
    stop = tl.minimum((split + 1) * CHUNK, T)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2

    scale = scalar(scale, FLOAT)

    top = tl.full((LANES, 1), -3.4028234663852886e38, FLOAT)
    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        # score = x * scale
        score = x * scale
        # return softmax(score, where=visible)
        top, total = logsumexp_step(top, total, tl.where(in_cols, score, float("-inf")))

    row_top, row_total = logsumexp_end(top, total)
    tl.store(partial_top_ptr + rows * SPLITS + split, row_top)
    tl.store(partial_total_ptr + rows * SPLITS + split, row_total)


@triton.jit
def _scaled_masked_softmax_finish(
    partial_top_ptr,
    partial_total_ptr,
    x_ptr,
    out_ptr,
    ROWS_1,
    ROWS_2,
    T,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    scale,
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
    stop = tl.minimum((split + 1) * CHUNK, T)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    scale = scalar(scale, FLOAT)

    splits = tl.arange(0, BLOCK_S)[:, None]
    top = tl.load(
        partial_top_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=-3.4028234663852886e38
    )
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_top, row_total = logsumexp_end(top, total)
    # return softmax(score, where=visible)
    reciprocal = 1.0 / row_total

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        # score = x * scale
        score = x * scale
        tl.store(
            out_rows + cols * out_col,
            narrow(exp(score - row_top) * reciprocal, out_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )


@triton.jit
def _scaled_masked_softmax_backward_block(
    out_ptr,
    grad_out_ptr,
    grad_x_ptr,
    ROWS,
    ROWS_1,
    ROWS_2,
    T,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    scale,
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
    in_cols = below(cols, T, EVEN_N)
    in_rows = below(rows, ROWS, EVEN_M)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    scale = scalar(scale, FLOAT)

    out = tl.load(
        out_rows + cols * out_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    grad_out = tl.load(
        grad_out_rows + cols * grad_out_col,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # return softmax(score, where=visible)
    row_sum = tl.sum(grad_out * out, axis=1, keep_dims=True)
    # score = x * scale
    grad_score = out * (grad_out - row_sum)
    grad_x = grad_score * scale
    tl.store(
        grad_x_rows + cols * grad_x_col,
        narrow(grad_x, grad_x_ptr.dtype.element_ty),
        mask=in_rows & in_cols,
    )


@triton.jit
def _scaled_masked_softmax_backward_loop(
    out_ptr,
    grad_out_ptr,
    grad_x_ptr,
    ROWS_1,
    ROWS_2,
    T,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    scale,
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
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    scale = scalar(scale, FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(0, T, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, T, EVEN)

        grad_out = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        out = tl.load(
            out_rows + cols * out_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # return softmax(score, where=visible)
        total = total + tl.sum(grad_out * out, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)

    for start in range(0, T, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, T, EVEN)

        out = tl.load(
            out_rows + cols * out_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        grad_out = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        # score = x * scale
        grad_score = out * (grad_out - row_sum)
        grad_x = grad_score * scale
        tl.store(
            grad_x_rows + cols * grad_x_col,
            narrow(grad_x, grad_x_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )


@triton.jit
def _scaled_masked_softmax_backward_partial(
    out_ptr,
    grad_out_ptr,
    partial_total_ptr,
    ROWS_1,
    ROWS_2,
    T,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
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
    stop = tl.minimum((split + 1) * CHUNK, T)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        grad_out = tl.load(grad_out_rows + cols * grad_out_col, mask=in_cols, other=0.0).to(FLOAT)
        out = tl.load(out_rows + cols * out_col, mask=in_cols, other=0.0).to(FLOAT)
        # return softmax(score, where=visible)
        total = total + tl.sum(grad_out * out, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, row_sum)


@triton.jit
def _scaled_masked_softmax_backward_finish(
    partial_total_ptr,
    out_ptr,
    grad_out_ptr,
    grad_x_ptr,
    ROWS_1,
    ROWS_2,
    T,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    scale,
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
    stop = tl.minimum((split + 1) * CHUNK, T)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    scale = scalar(scale, FLOAT)

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_sum = tl.sum(total, axis=0, keep_dims=True)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        out = tl.load(out_rows + cols * out_col, mask=in_cols, other=0.0).to(FLOAT)
        grad_out = tl.load(grad_out_rows + cols * grad_out_col, mask=in_cols, other=0.0).to(FLOAT)
        # score = x * scale
        grad_score = out * (grad_out - row_sum)
        grad_x = grad_score * scale
        tl.store(
            grad_x_rows + cols * grad_x_col,
            narrow(grad_x, grad_x_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )


@triton.jit
def _scaled_masked_softmax_causal_block(
    x_ptr,
    out_ptr,
    ROWS,
    ROWS_1,
    ROWS_2,
    T,
    S,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    scale,
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
    in_cols = below(cols, T, EVEN_N)
    in_rows = below(rows, ROWS, EVEN_M)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    scale = scalar(scale, FLOAT)

    x = tl.load(
        x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    # visible = index(T) <= index(S) + size(T) - size(S) if causal else None
    visible = cols <= (rows % S) + T - S
    # score = x * scale
    score = x * scale
    # return softmax(score, where=visible)
    value = tl.where(visible, score, float("-inf"))
    row_max = nan_max(tl.where(in_cols, value, float("-inf")), 1)
    row_top = tl.where(row_max == float("-inf"), 0.0, row_max)
    exps = exp(value - row_top)
    row_total = tl.sum(tl.where(in_cols, exps, 0.0), axis=1, keep_dims=True)
    tl.store(
        out_rows + cols * out_col,
        narrow(exps * (1.0 / tl.where(row_total == 0.0, 1.0, row_total)), out_ptr.dtype.element_ty),
        mask=in_rows & in_cols,
    )


@triton.jit
def _scaled_masked_softmax_causal_loop(
    x_ptr,
    out_ptr,
    ROWS_1,
    ROWS_2,
    T,
    S,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    scale,
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
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    scale = scalar(scale, FLOAT)

    top = tl.full((LANES, 1), -3.4028234663852886e38, FLOAT)
    total = tl.full((LANES, 1), 0.0, FLOAT)
    cols = lane
    in_cols = below(cols, T, EVEN)

    next_x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last")

    for start in range(0, T, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, T, EVEN)
        x = next_x.to(FLOAT)

        next_cols = cols + LANES * VECTOR
        in_next = next_cols < T
        next_x = tl.load(
            x_rows + next_cols * x_col, mask=in_next, other=0.0, eviction_policy="evict_last"
        )

        # visible = index(T) <= index(S) + size(T) - size(S) if causal else None
        visible = cols <= (rows % S) + T - S
        # score = x * scale
        score = x * scale
        # return softmax(score, where=visible)
        top, total = logsumexp_step(
            top, total, tl.where(in_cols, tl.where(visible, score, float("-inf")), float("-inf"))
        )

    row_top, row_total = logsumexp_end(top, total)

    reciprocal = 1.0 / tl.where(row_total == 0.0, 1.0, row_total)

    for start in range(0, T, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, T, EVEN)

        visible = cols <= (rows % S) + T - S
        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        score = x * scale
        tl.store(
            out_rows + cols * out_col,
            narrow(
                exp(tl.where(visible, score, float("-inf")) - row_top) * reciprocal,
                out_ptr.dtype.element_ty,
            ),
            mask=in_cols,
            cache_modifier=".cs",
        )


@triton.jit
def _scaled_masked_softmax_causal_partial(
    x_ptr,
    partial_top_ptr,
    partial_total_ptr,
    ROWS_1,
    ROWS_2,
    T,
    S,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    scale,
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
    stop = tl.minimum((split + 1) * CHUNK, T)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2

    scale = scalar(scale, FLOAT)

    top = tl.full((LANES, 1), -3.4028234663852886e38, FLOAT)
    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        # visible = index(T) <= index(S) + size(T) - size(S) if causal else None
        visible = cols <= (rows % S) + T - S
        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        # score = x * scale
        score = x * scale
        # return softmax(score, where=visible)
        top, total = logsumexp_step(
            top, total, tl.where(in_cols, tl.where(visible, score, float("-inf")), float("-inf"))
        )

    row_top, row_total = logsumexp_end(top, total)
    tl.store(partial_top_ptr + rows * SPLITS + split, row_top)
    tl.store(partial_total_ptr + rows * SPLITS + split, row_total)


@triton.jit
def _scaled_masked_softmax_causal_finish(
    partial_top_ptr,
    partial_total_ptr,
    x_ptr,
    out_ptr,
    ROWS_1,
    ROWS_2,
    T,
    S,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    scale,
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
    stop = tl.minimum((split + 1) * CHUNK, T)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    scale = scalar(scale, FLOAT)

    splits = tl.arange(0, BLOCK_S)[:, None]
    top = tl.load(
        partial_top_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=-3.4028234663852886e38
    )
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_top, row_total = logsumexp_end(top, total)
    # return softmax(score, where=visible)
    reciprocal = 1.0 / tl.where(row_total == 0.0, 1.0, row_total)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        # visible = index(T) <= index(S) + size(T) - size(S) if causal else None
        visible = cols <= (rows % S) + T - S
        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        # score = x * scale
        score = x * scale
        tl.store(
            out_rows + cols * out_col,
            narrow(
                exp(tl.where(visible, score, float("-inf")) - row_top) * reciprocal,
                out_ptr.dtype.element_ty,
            ),
            mask=in_cols,
            cache_modifier=".cs",
        )


@triton.jit
def _scaled_masked_softmax_backward_causal_block(
    out_ptr,
    grad_out_ptr,
    grad_x_ptr,
    ROWS,
    ROWS_1,
    ROWS_2,
    T,
    S,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    scale,
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
    in_cols = below(cols, T, EVEN_N)
    in_rows = below(rows, ROWS, EVEN_M)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    scale = scalar(scale, FLOAT)

    out = tl.load(
        out_rows + cols * out_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    grad_out = tl.load(
        grad_out_rows + cols * grad_out_col,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # visible = index(T) <= index(S) + size(T) - size(S) if causal else None
    visible = cols <= (rows % S) + T - S
    # return softmax(score, where=visible)
    row_sum = tl.sum(grad_out * out, axis=1, keep_dims=True)
    # score = x * scale
    grad_score = tl.where(visible, out * (grad_out - row_sum), 0.0)
    grad_x = grad_score * scale
    tl.store(
        grad_x_rows + cols * grad_x_col,
        narrow(grad_x, grad_x_ptr.dtype.element_ty),
        mask=in_rows & in_cols,
    )


@triton.jit
def _scaled_masked_softmax_backward_causal_loop(
    out_ptr,
    grad_out_ptr,
    grad_x_ptr,
    ROWS_1,
    ROWS_2,
    T,
    S,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    scale,
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
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    scale = scalar(scale, FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(0, T, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, T, EVEN)

        grad_out = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        out = tl.load(
            out_rows + cols * out_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # return softmax(score, where=visible)
        total = total + tl.sum(grad_out * out, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)

    for start in range(0, T, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, T, EVEN)

        # visible = index(T) <= index(S) + size(T) - size(S) if causal else None
        visible = cols <= (rows % S) + T - S
        out = tl.load(
            out_rows + cols * out_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        grad_out = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        # score = x * scale
        grad_score = tl.where(visible, out * (grad_out - row_sum), 0.0)
        grad_x = grad_score * scale
        tl.store(
            grad_x_rows + cols * grad_x_col,
            narrow(grad_x, grad_x_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )


@triton.jit
def _scaled_masked_softmax_backward_causal_finish(
    partial_total_ptr,
    out_ptr,
    grad_out_ptr,
    grad_x_ptr,
    ROWS_1,
    ROWS_2,
    T,
    S,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    scale,
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
    stop = tl.minimum((split + 1) * CHUNK, T)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2

    scale = scalar(scale, FLOAT)

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_sum = tl.sum(total, axis=0, keep_dims=True)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        # visible = index(T) <= index(S) + size(T) - size(S) if causal else None
        visible = cols <= (rows % S) + T - S
        out = tl.load(out_rows + cols * out_col, mask=in_cols, other=0.0).to(FLOAT)
        grad_out = tl.load(grad_out_rows + cols * grad_out_col, mask=in_cols, other=0.0).to(FLOAT)
        # score = x * scale
        grad_score = tl.where(visible, out * (grad_out - row_sum), 0.0)
        grad_x = grad_score * scale
        tl.store(
            grad_x_rows + cols * grad_x_col,
            narrow(grad_x, grad_x_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )


@triton.jit
def _scaled_masked_softmax_mask_block(
    x_ptr,
    mask_ptr,
    out_ptr,
    ROWS,
    ROWS_1,
    ROWS_2,
    T,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    mask_row_0,
    mask_row_1,
    mask_row_2,
    mask_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    scale,
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
    in_cols = below(cols, T, EVEN_N)
    in_rows = below(rows, ROWS, EVEN_M)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    mask_rows = mask_ptr + row_0 * mask_row_0 + row_1 * mask_row_1 + row_2 * mask_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    scale = scalar(scale, FLOAT)

    x = tl.load(
        x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    mask = lowest_padded(
        tl.load(
            mask_rows + cols * mask_col,
            mask=in_rows & in_cols,
            other=float("-inf"),
            eviction_policy="evict_last",
        ),
        in_rows & in_cols,
        FLOAT,
    )
    # score = x * scale
    score = x * scale
    # score = score + mask
    score = score + mask
    # return softmax(score, where=visible)
    row_max = nan_max(score, 1)
    row_top = tl.where(row_max == float("-inf"), 0.0, row_max)
    exps = exp(score - row_top)
    row_total = tl.sum(exps, axis=1, keep_dims=True)
    tl.store(
        out_rows + cols * out_col,
        narrow(exps * (1.0 / row_total), out_ptr.dtype.element_ty),
        mask=in_rows & in_cols,
    )


@triton.jit
def _scaled_masked_softmax_mask_loop(
    x_ptr,
    mask_ptr,
    out_ptr,
    ROWS_1,
    ROWS_2,
    T,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    mask_row_0,
    mask_row_1,
    mask_row_2,
    mask_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    scale,
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
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    mask_rows = mask_ptr + row_0 * mask_row_0 + row_1 * mask_row_1 + row_2 * mask_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    scale = scalar(scale, FLOAT)

    top = tl.full((LANES, 1), -3.4028234663852886e38, FLOAT)
    total = tl.full((LANES, 1), 0.0, FLOAT)
    cols = lane
    in_cols = below(cols, T, EVEN)

    next_x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last")
    next_mask = tl.load(
        mask_rows + cols * mask_col, mask=in_cols, other=float("-inf"), eviction_policy="evict_last"
    )

    for start in range(0, T, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, T, EVEN)
        x = next_x.to(FLOAT)
        mask = lowest_padded(next_mask, in_cols, FLOAT)

        next_cols = cols + LANES * VECTOR
        in_next = next_cols < T
        next_x = tl.load(
            x_rows + next_cols * x_col, mask=in_next, other=0.0, eviction_policy="evict_last"
        )
        next_mask = tl.load(
            mask_rows + next_cols * mask_col,
            mask=in_next,
            other=float("-inf"),
            eviction_policy="evict_last",
        )

        # score = x * scale
        score = x * scale
        # score = score + mask
        score = score + mask
        # return softmax(score, where=visible)
        top, total = logsumexp_step(top, total, score)

    row_top, row_total = logsumexp_end(top, total)

    reciprocal = 1.0 / row_total

    for start in range(0, T, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, T, EVEN)

        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        score = x * scale
        mask = lowest_padded(
            tl.load(
                mask_rows + cols * mask_col,
                mask=in_cols,
                other=float("-inf"),
                eviction_policy="evict_first",
            ),
            in_cols,
            FLOAT,
        )
        score = score + mask
        tl.store(
            out_rows + cols * out_col,
            narrow(exp(score - row_top) * reciprocal, out_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )


@triton.jit
def _scaled_masked_softmax_mask_partial(
    x_ptr,
    mask_ptr,
    partial_top_ptr,
    partial_total_ptr,
    ROWS_1,
    ROWS_2,
    T,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    mask_row_0,
    mask_row_1,
    mask_row_2,
    mask_col,
    scale,
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
    stop = tl.minimum((split + 1) * CHUNK, T)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    mask_rows = mask_ptr + row_0 * mask_row_0 + row_1 * mask_row_1 + row_2 * mask_row_2

    scale = scalar(scale, FLOAT)

    top = tl.full((LANES, 1), -3.4028234663852886e38, FLOAT)
    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        # score = x * scale
        score = x * scale
        mask = lowest_padded(
            tl.load(mask_rows + cols * mask_col, mask=in_cols, other=float("-inf")), in_cols, FLOAT
        )
        # score = score + mask
        score = score + mask
        # return softmax(score, where=visible)
        top, total = logsumexp_step(top, total, score)

    row_top, row_total = logsumexp_end(top, total)
    tl.store(partial_top_ptr + rows * SPLITS + split, row_top)
    tl.store(partial_total_ptr + rows * SPLITS + split, row_total)


@triton.jit
def _scaled_masked_softmax_mask_finish(
    partial_top_ptr,
    partial_total_ptr,
    x_ptr,
    mask_ptr,
    out_ptr,
    ROWS_1,
    ROWS_2,
    T,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    mask_row_0,
    mask_row_1,
    mask_row_2,
    mask_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    scale,
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
    stop = tl.minimum((split + 1) * CHUNK, T)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    mask_rows = mask_ptr + row_0 * mask_row_0 + row_1 * mask_row_1 + row_2 * mask_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    scale = scalar(scale, FLOAT)

    splits = tl.arange(0, BLOCK_S)[:, None]
    top = tl.load(
        partial_top_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=-3.4028234663852886e38
    )
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_top, row_total = logsumexp_end(top, total)
    # return softmax(score, where=visible)
    reciprocal = 1.0 / row_total

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        # score = x * scale
        score = x * scale
        mask = lowest_padded(
            tl.load(mask_rows + cols * mask_col, mask=in_cols, other=float("-inf")), in_cols, FLOAT
        )
        # score = score + mask
        score = score + mask
        tl.store(
            out_rows + cols * out_col,
            narrow(exp(score - row_top) * reciprocal, out_ptr.dtype.element_ty),
            mask=in_cols,
            cache_modifier=".cs",
        )


@triton.jit
def _scaled_masked_softmax_backward_mask_stage_1_block(
    out_ptr,
    grad_out_ptr,
    grad_x_ptr,
    row_sum_ptr,
    ROWS,
    ROWS_1,
    ROWS_2,
    T,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    row_sum_row_0,
    row_sum_row_1,
    row_sum_row_2,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    NEEDS_GRAD_X: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program holds BLOCK_M whole rows in registers."""
    rows = tl.program_id(0).to(INT) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    cols = tl.arange(0, BLOCK_N)[None, :].to(INT)
    in_cols = below(cols, T, EVEN_N)
    in_rows = below(rows, ROWS, EVEN_M)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2
    row_sum_rows = (
        row_sum_ptr + row_0 * row_sum_row_0 + row_1 * row_sum_row_1 + row_2 * row_sum_row_2
    )

    scale = scalar(scale, FLOAT)

    out = tl.load(
        out_rows + cols * out_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    grad_out = tl.load(
        grad_out_rows + cols * grad_out_col,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # return softmax(score, where=visible)
    row_sum = tl.sum(grad_out * out, axis=1, keep_dims=True)
    # score = x * scale
    grad_score = out * (grad_out - row_sum)
    grad_x = grad_score * scale
    if NEEDS_GRAD_X:
        tl.store(
            grad_x_rows + cols * grad_x_col,
            narrow(grad_x, grad_x_ptr.dtype.element_ty),
            mask=in_rows & in_cols,
        )
    tl.store(row_sum_rows, narrow(row_sum, row_sum_ptr.dtype.element_ty), mask=in_rows)


@triton.jit
def _scaled_masked_softmax_backward_mask_stage_1_loop(
    out_ptr,
    grad_out_ptr,
    grad_x_ptr,
    row_sum_ptr,
    ROWS_1,
    ROWS_2,
    T,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    row_sum_row_0,
    row_sum_row_1,
    row_sum_row_2,
    scale,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    NEEDS_GRAD_X: tl.constexpr,
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
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2
    row_sum_rows = (
        row_sum_ptr + row_0 * row_sum_row_0 + row_1 * row_sum_row_1 + row_2 * row_sum_row_2
    )

    scale = scalar(scale, FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(0, T, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, T, EVEN)

        grad_out = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        out = tl.load(
            out_rows + cols * out_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # return softmax(score, where=visible)
        total = total + tl.sum(grad_out * out, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)

    for start in range(0, T, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, T, EVEN)

        out = tl.load(
            out_rows + cols * out_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        grad_out = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        # score = x * scale
        grad_score = out * (grad_out - row_sum)
        grad_x = grad_score * scale
        if NEEDS_GRAD_X:
            tl.store(
                grad_x_rows + cols * grad_x_col,
                narrow(grad_x, grad_x_ptr.dtype.element_ty),
                mask=in_cols,
                cache_modifier=".cs",
            )

    tl.store(row_sum_rows, narrow(row_sum, row_sum_ptr.dtype.element_ty))


@triton.jit
def _scaled_masked_softmax_backward_mask_stage_1_partial(
    out_ptr,
    grad_out_ptr,
    partial_total_ptr,
    ROWS_1,
    ROWS_2,
    T,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
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
    stop = tl.minimum((split + 1) * CHUNK, T)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        grad_out = tl.load(grad_out_rows + cols * grad_out_col, mask=in_cols, other=0.0).to(FLOAT)
        out = tl.load(out_rows + cols * out_col, mask=in_cols, other=0.0).to(FLOAT)
        # return softmax(score, where=visible)
        total = total + tl.sum(grad_out * out, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)
    tl.store(partial_total_ptr + rows * SPLITS + split, row_sum)


@triton.jit
def _scaled_masked_softmax_backward_mask_stage_1_finish(
    partial_total_ptr,
    out_ptr,
    grad_out_ptr,
    grad_x_ptr,
    row_sum_ptr,
    ROWS_1,
    ROWS_2,
    T,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    row_sum_row_0,
    row_sum_row_1,
    row_sum_row_2,
    scale,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    SPLITS: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK_S: tl.constexpr,
    NEEDS_GRAD_X: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program joins the partial states of a row, then goes over one chunk of it."""
    split = (tl.program_id(0) % SPLITS).to(INT)
    rows = (tl.program_id(0) // SPLITS).to(INT) + tl.arange(0, 1)[:, None]
    stop = tl.minimum((split + 1) * CHUNK, T)
    leads = rows * 0 + split == 0
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2
    row_sum_rows = (
        row_sum_ptr + row_0 * row_sum_row_0 + row_1 * row_sum_row_1 + row_2 * row_sum_row_2
    )

    scale = scalar(scale, FLOAT)

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_sum = tl.sum(total, axis=0, keep_dims=True)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        out = tl.load(out_rows + cols * out_col, mask=in_cols, other=0.0).to(FLOAT)
        grad_out = tl.load(grad_out_rows + cols * grad_out_col, mask=in_cols, other=0.0).to(FLOAT)
        # score = x * scale
        grad_score = out * (grad_out - row_sum)
        grad_x = grad_score * scale
        if NEEDS_GRAD_X:
            tl.store(
                grad_x_rows + cols * grad_x_col,
                narrow(grad_x, grad_x_ptr.dtype.element_ty),
                mask=in_cols,
                cache_modifier=".cs",
            )

    # return softmax(score, where=visible)
    tl.store(row_sum_rows, narrow(row_sum, row_sum_ptr.dtype.element_ty), mask=leads)


@triton.jit
def _scaled_masked_softmax_backward_mask_stage_2_columns(
    out_ptr,
    grad_out_ptr,
    row_sum_ptr,
    grad_mask_parts_ptr,
    OUTER_1,
    H,
    ROWS_1,
    ROWS_2,
    T,
    out_outer_0,
    out_outer_1,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    grad_out_outer_0,
    grad_out_outer_1,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    row_sum_outer_0,
    row_sum_outer_1,
    row_sum_row_0,
    row_sum_row_1,
    row_sum_row_2,
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
    blocks = tl.cdiv(T, BLOCK_N)
    block = tl.program_id(0) % blocks
    program = tl.program_id(0) // blocks % PROGRAMS
    outer = (tl.program_id(0) // blocks // PROGRAMS).to(INT) + tl.zeros((1, 1), INT)
    outer_1 = outer % OUTER_1
    outer_0 = outer // OUTER_1
    part = outer * PROGRAMS + program
    cols = block * BLOCK_N + tl.arange(0, BLOCK_N)[None, :].to(INT)
    in_cols = below(cols, T, EVEN_N)
    out_outer = out_ptr + outer_0 * out_outer_0 + outer_1 * out_outer_1
    grad_out_outer = grad_out_ptr + outer_0 * grad_out_outer_0 + outer_1 * grad_out_outer_1
    row_sum_outer = row_sum_ptr + outer_0 * row_sum_outer_0 + outer_1 * row_sum_outer_1

    grad_mask = tl.full((BLOCK_M, BLOCK_N), 0.0, FLOAT)
    for tile in tl.range(program, tl.cdiv(H, BLOCK_M), PROGRAMS, num_stages=STAGES):
        rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)[:, None].to(INT)
        in_rows = below(rows, H, EVEN_M)
        row_2 = rows % ROWS_2
        row_1 = rows // ROWS_2 % ROWS_1
        row_0 = rows // ROWS_2 // ROWS_1
        out_rows = out_outer + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
        grad_out_rows = (
            grad_out_outer
            + row_0 * grad_out_row_0
            + row_1 * grad_out_row_1
            + row_2 * grad_out_row_2
        )
        row_sum_rows = (
            row_sum_outer + row_0 * row_sum_row_0 + row_1 * row_sum_row_1 + row_2 * row_sum_row_2
        )

        row_sum = tl.load(row_sum_rows, mask=in_rows, other=0.0, eviction_policy="evict_last").to(
            FLOAT
        )
        grad_out = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_rows & in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        out = tl.load(
            out_rows + cols * out_col,
            mask=in_rows & in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        # score = x * scale
        grad_score = out * (grad_out - row_sum)
        grad_mask = grad_mask + tl.where(in_rows, grad_score, 0.0)

    tl.store(
        grad_mask_parts_ptr + part * T + cols,
        tl.sum(grad_mask, axis=0, keep_dims=True),
        mask=in_cols,
    )


@triton.jit
def _scaled_masked_softmax_backward_mask_stage_2_join(
    grad_mask_parts_ptr,
    grad_mask_ptr,
    OUTER_1,
    T,
    grad_mask_outer_0,
    grad_mask_outer_1,
    grad_mask_col,
    PARTS,
    BLOCK_S: tl.constexpr,
    BLOCK_N: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program adds up the partial sums of BLOCK_N columns."""
    blocks = tl.cdiv(T, BLOCK_N)
    cols = tl.program_id(0) % blocks * BLOCK_N + tl.arange(0, BLOCK_N)[None, :].to(INT)
    in_cols = cols < T
    outer = (tl.program_id(0) // blocks).to(INT) + tl.zeros((1, 1), INT)
    outer_1 = outer % OUTER_1
    outer_0 = outer // OUTER_1
    grad_mask_outer = grad_mask_ptr + outer_0 * grad_mask_outer_0 + outer_1 * grad_mask_outer_1

    grad_mask = tl.full((BLOCK_S, BLOCK_N), 0.0, FLOAT)
    for start in range(0, PARTS, BLOCK_S):
        parts = start + tl.arange(0, BLOCK_S)[:, None].to(INT)
        grad_mask += tl.load(
            grad_mask_parts_ptr + (outer * PARTS + parts) * T + cols,
            mask=(parts < PARTS) & in_cols,
            other=0,
        )
    grad_mask = tl.sum(grad_mask, axis=0, keep_dims=True)
    tl.store(
        grad_mask_outer + cols * grad_mask_col,
        narrow(grad_mask, grad_mask_ptr.dtype.element_ty),
        mask=in_cols,
    )


@triton.jit
def _scaled_masked_softmax_backward_mask_sums(
    out_ptr,
    grad_out_ptr,
    grad_x_ptr,
    grad_mask_parts_ptr,
    OUTER_1,
    H,
    ROWS_1,
    ROWS_2,
    T,
    out_outer_0,
    out_outer_1,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    grad_out_outer_0,
    grad_out_outer_1,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    grad_x_outer_0,
    grad_x_outer_1,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    PROGRAMS,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    STAGES: tl.constexpr,
    NEEDS_GRAD_X: tl.constexpr,
    NEEDS_GRAD_MASK: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program goes over tiles of BLOCK_M whole rows, and carries their sums along."""
    program = tl.program_id(0) % PROGRAMS
    outer = (tl.program_id(0) // PROGRAMS).to(INT) + tl.zeros((1, 1), INT)
    outer_1 = outer % OUTER_1
    outer_0 = outer // OUTER_1
    part = outer * PROGRAMS + program
    cols = tl.arange(0, BLOCK_N)[None, :].to(INT)
    in_cols = below(cols, T, EVEN_N)
    out_outer = out_ptr + outer_0 * out_outer_0 + outer_1 * out_outer_1
    grad_out_outer = grad_out_ptr + outer_0 * grad_out_outer_0 + outer_1 * grad_out_outer_1
    grad_x_outer = grad_x_ptr + outer_0 * grad_x_outer_0 + outer_1 * grad_x_outer_1

    scale = scalar(scale, FLOAT)

    grad_mask = tl.full((BLOCK_M, BLOCK_N), 0.0, FLOAT)
    for tile in tl.range(program, tl.cdiv(H, BLOCK_M), PROGRAMS, num_stages=STAGES):
        rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)[:, None].to(INT)
        in_rows = below(rows, H, EVEN_M)
        row_2 = rows % ROWS_2
        row_1 = rows // ROWS_2 % ROWS_1
        row_0 = rows // ROWS_2 // ROWS_1
        out_rows = out_outer + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
        grad_out_rows = (
            grad_out_outer
            + row_0 * grad_out_row_0
            + row_1 * grad_out_row_1
            + row_2 * grad_out_row_2
        )
        grad_x_rows = (
            grad_x_outer + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2
        )

        grad_out = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_rows & in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        out = tl.load(
            out_rows + cols * out_col,
            mask=in_rows & in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        # return softmax(score, where=visible)
        row_sum = tl.sum(grad_out * out, axis=1, keep_dims=True)
        # score = x * scale
        grad_score = out * (grad_out - row_sum)
        if NEEDS_GRAD_MASK:
            grad_mask = grad_mask + tl.where(in_rows, grad_score, 0.0)
        grad_x = grad_score * scale
        if NEEDS_GRAD_X:
            tl.store(
                grad_x_rows + cols * grad_x_col,
                narrow(grad_x, grad_x_ptr.dtype.element_ty),
                mask=in_rows & in_cols,
            )

    if NEEDS_GRAD_MASK:
        tl.store(
            grad_mask_parts_ptr + part * T + cols,
            tl.sum(grad_mask, axis=0, keep_dims=True),
            mask=in_cols,
        )


@triton.jit
def _scaled_masked_softmax_backward_mask_join(
    grad_mask_parts_ptr,
    grad_mask_ptr,
    OUTER_1,
    T,
    grad_mask_outer_0,
    grad_mask_outer_1,
    grad_mask_col,
    PARTS,
    BLOCK_S: tl.constexpr,
    BLOCK_N: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program adds up the partial sums of BLOCK_N columns."""
    blocks = tl.cdiv(T, BLOCK_N)
    cols = tl.program_id(0) % blocks * BLOCK_N + tl.arange(0, BLOCK_N)[None, :].to(INT)
    in_cols = cols < T
    outer = (tl.program_id(0) // blocks).to(INT) + tl.zeros((1, 1), INT)
    outer_1 = outer % OUTER_1
    outer_0 = outer // OUTER_1
    grad_mask_outer = grad_mask_ptr + outer_0 * grad_mask_outer_0 + outer_1 * grad_mask_outer_1

    grad_mask = tl.full((BLOCK_S, BLOCK_N), 0.0, FLOAT)
    for start in range(0, PARTS, BLOCK_S):
        parts = start + tl.arange(0, BLOCK_S)[:, None].to(INT)
        grad_mask += tl.load(
            grad_mask_parts_ptr + (outer * PARTS + parts) * T + cols,
            mask=(parts < PARTS) & in_cols,
            other=0,
        )
    grad_mask = tl.sum(grad_mask, axis=0, keep_dims=True)
    tl.store(
        grad_mask_outer + cols * grad_mask_col,
        narrow(grad_mask, grad_mask_ptr.dtype.element_ty),
        mask=in_cols,
    )


@triton.jit
def _scaled_masked_softmax_mask_causal_block(
    x_ptr,
    mask_ptr,
    out_ptr,
    ROWS,
    ROWS_1,
    ROWS_2,
    T,
    S,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    mask_row_0,
    mask_row_1,
    mask_row_2,
    mask_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    scale,
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
    in_cols = below(cols, T, EVEN_N)
    in_rows = below(rows, ROWS, EVEN_M)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    mask_rows = mask_ptr + row_0 * mask_row_0 + row_1 * mask_row_1 + row_2 * mask_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    scale = scalar(scale, FLOAT)

    x = tl.load(
        x_rows + cols * x_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    mask = tl.load(
        mask_rows + cols * mask_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    # visible = index(T) <= index(S) + size(T) - size(S) if causal else None
    visible = cols <= (rows % S) + T - S
    # score = x * scale
    score = x * scale
    # score = score + mask
    score = score + mask
    # return softmax(score, where=visible)
    value = tl.where(visible, score, float("-inf"))
    row_max = nan_max(tl.where(in_cols, value, float("-inf")), 1)
    row_top = tl.where(row_max == float("-inf"), 0.0, row_max)
    exps = exp(value - row_top)
    row_total = tl.sum(tl.where(in_cols, exps, 0.0), axis=1, keep_dims=True)
    tl.store(
        out_rows + cols * out_col,
        narrow(exps * (1.0 / tl.where(row_total == 0.0, 1.0, row_total)), out_ptr.dtype.element_ty),
        mask=in_rows & in_cols,
    )


@triton.jit
def _scaled_masked_softmax_mask_causal_loop(
    x_ptr,
    mask_ptr,
    out_ptr,
    ROWS_1,
    ROWS_2,
    T,
    S,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    mask_row_0,
    mask_row_1,
    mask_row_2,
    mask_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    scale,
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
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    mask_rows = mask_ptr + row_0 * mask_row_0 + row_1 * mask_row_1 + row_2 * mask_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    scale = scalar(scale, FLOAT)

    top = tl.full((LANES, 1), -3.4028234663852886e38, FLOAT)
    total = tl.full((LANES, 1), 0.0, FLOAT)
    cols = lane
    in_cols = below(cols, T, EVEN)

    next_x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_last")
    next_mask = tl.load(
        mask_rows + cols * mask_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
    )

    for start in range(0, T, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, T, EVEN)
        x = next_x.to(FLOAT)
        mask = next_mask.to(FLOAT)

        next_cols = cols + LANES * VECTOR
        in_next = next_cols < T
        next_x = tl.load(
            x_rows + next_cols * x_col, mask=in_next, other=0.0, eviction_policy="evict_last"
        )
        next_mask = tl.load(
            mask_rows + next_cols * mask_col, mask=in_next, other=0.0, eviction_policy="evict_last"
        )

        # visible = index(T) <= index(S) + size(T) - size(S) if causal else None
        visible = cols <= (rows % S) + T - S
        # score = x * scale
        score = x * scale
        # score = score + mask
        score = score + mask
        # return softmax(score, where=visible)
        top, total = logsumexp_step(
            top, total, tl.where(in_cols, tl.where(visible, score, float("-inf")), float("-inf"))
        )

    row_top, row_total = logsumexp_end(top, total)

    reciprocal = 1.0 / tl.where(row_total == 0.0, 1.0, row_total)

    for start in range(0, T, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, T, EVEN)

        visible = cols <= (rows % S) + T - S
        x = tl.load(
            x_rows + cols * x_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        score = x * scale
        mask = tl.load(
            mask_rows + cols * mask_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        score = score + mask
        tl.store(
            out_rows + cols * out_col,
            narrow(
                exp(tl.where(visible, score, float("-inf")) - row_top) * reciprocal,
                out_ptr.dtype.element_ty,
            ),
            mask=in_cols,
            cache_modifier=".cs",
        )


@triton.jit
def _scaled_masked_softmax_mask_causal_partial(
    x_ptr,
    mask_ptr,
    partial_top_ptr,
    partial_total_ptr,
    ROWS_1,
    ROWS_2,
    T,
    S,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    mask_row_0,
    mask_row_1,
    mask_row_2,
    mask_col,
    scale,
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
    stop = tl.minimum((split + 1) * CHUNK, T)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    mask_rows = mask_ptr + row_0 * mask_row_0 + row_1 * mask_row_1 + row_2 * mask_row_2

    scale = scalar(scale, FLOAT)

    top = tl.full((LANES, 1), -3.4028234663852886e38, FLOAT)
    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        # visible = index(T) <= index(S) + size(T) - size(S) if causal else None
        visible = cols <= (rows % S) + T - S
        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        # score = x * scale
        score = x * scale
        mask = tl.load(mask_rows + cols * mask_col, mask=in_cols, other=0.0).to(FLOAT)
        # score = score + mask
        score = score + mask
        # return softmax(score, where=visible)
        top, total = logsumexp_step(
            top, total, tl.where(in_cols, tl.where(visible, score, float("-inf")), float("-inf"))
        )

    row_top, row_total = logsumexp_end(top, total)
    tl.store(partial_top_ptr + rows * SPLITS + split, row_top)
    tl.store(partial_total_ptr + rows * SPLITS + split, row_total)


@triton.jit
def _scaled_masked_softmax_mask_causal_finish(
    partial_top_ptr,
    partial_total_ptr,
    x_ptr,
    mask_ptr,
    out_ptr,
    ROWS_1,
    ROWS_2,
    T,
    S,
    x_row_0,
    x_row_1,
    x_row_2,
    x_col,
    mask_row_0,
    mask_row_1,
    mask_row_2,
    mask_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    scale,
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
    stop = tl.minimum((split + 1) * CHUNK, T)
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    x_rows = x_ptr + row_0 * x_row_0 + row_1 * x_row_1 + row_2 * x_row_2
    mask_rows = mask_ptr + row_0 * mask_row_0 + row_1 * mask_row_1 + row_2 * mask_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    scale = scalar(scale, FLOAT)

    splits = tl.arange(0, BLOCK_S)[:, None]
    top = tl.load(
        partial_top_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=-3.4028234663852886e38
    )
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_top, row_total = logsumexp_end(top, total)
    # return softmax(score, where=visible)
    reciprocal = 1.0 / tl.where(row_total == 0.0, 1.0, row_total)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        # visible = index(T) <= index(S) + size(T) - size(S) if causal else None
        visible = cols <= (rows % S) + T - S
        x = tl.load(x_rows + cols * x_col, mask=in_cols, other=0.0).to(FLOAT)
        # score = x * scale
        score = x * scale
        mask = tl.load(mask_rows + cols * mask_col, mask=in_cols, other=0.0).to(FLOAT)
        # score = score + mask
        score = score + mask
        tl.store(
            out_rows + cols * out_col,
            narrow(
                exp(tl.where(visible, score, float("-inf")) - row_top) * reciprocal,
                out_ptr.dtype.element_ty,
            ),
            mask=in_cols,
            cache_modifier=".cs",
        )


@triton.jit
def _scaled_masked_softmax_backward_mask_causal_stage_1_block(
    out_ptr,
    grad_out_ptr,
    grad_x_ptr,
    row_sum_ptr,
    ROWS,
    ROWS_1,
    ROWS_2,
    T,
    S,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    row_sum_row_0,
    row_sum_row_1,
    row_sum_row_2,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    NEEDS_GRAD_X: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program holds BLOCK_M whole rows in registers."""
    rows = tl.program_id(0).to(INT) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    cols = tl.arange(0, BLOCK_N)[None, :].to(INT)
    in_cols = below(cols, T, EVEN_N)
    in_rows = below(rows, ROWS, EVEN_M)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2
    row_sum_rows = (
        row_sum_ptr + row_0 * row_sum_row_0 + row_1 * row_sum_row_1 + row_2 * row_sum_row_2
    )

    scale = scalar(scale, FLOAT)

    out = tl.load(
        out_rows + cols * out_col, mask=in_rows & in_cols, other=0.0, eviction_policy="evict_last"
    ).to(FLOAT)
    grad_out = tl.load(
        grad_out_rows + cols * grad_out_col,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    # visible = index(T) <= index(S) + size(T) - size(S) if causal else None
    visible = cols <= (rows % S) + T - S
    # return softmax(score, where=visible)
    row_sum = tl.sum(grad_out * out, axis=1, keep_dims=True)
    # score = x * scale
    grad_score = tl.where(visible, out * (grad_out - row_sum), 0.0)
    grad_x = grad_score * scale
    if NEEDS_GRAD_X:
        tl.store(
            grad_x_rows + cols * grad_x_col,
            narrow(grad_x, grad_x_ptr.dtype.element_ty),
            mask=in_rows & in_cols,
        )
    tl.store(row_sum_rows, narrow(row_sum, row_sum_ptr.dtype.element_ty), mask=in_rows)


@triton.jit
def _scaled_masked_softmax_backward_mask_causal_stage_1_loop(
    out_ptr,
    grad_out_ptr,
    grad_x_ptr,
    row_sum_ptr,
    ROWS_1,
    ROWS_2,
    T,
    S,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    row_sum_row_0,
    row_sum_row_1,
    row_sum_row_2,
    scale,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    NEEDS_GRAD_X: tl.constexpr,
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
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2
    row_sum_rows = (
        row_sum_ptr + row_0 * row_sum_row_0 + row_1 * row_sum_row_1 + row_2 * row_sum_row_2
    )

    scale = scalar(scale, FLOAT)

    total = tl.full((LANES, 1), 0.0, FLOAT)
    for start in range(0, T, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, T, EVEN)

        grad_out = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        out = tl.load(
            out_rows + cols * out_col, mask=in_cols, other=0.0, eviction_policy="evict_last"
        ).to(FLOAT)
        # return softmax(score, where=visible)
        total = total + tl.sum(grad_out * out, axis=1, keep_dims=True)

    row_sum = tl.sum(total, axis=0, keep_dims=True)

    for start in range(0, T, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, T, EVEN)

        # visible = index(T) <= index(S) + size(T) - size(S) if causal else None
        visible = cols <= (rows % S) + T - S
        out = tl.load(
            out_rows + cols * out_col, mask=in_cols, other=0.0, eviction_policy="evict_first"
        ).to(FLOAT)
        grad_out = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_cols,
            other=0.0,
            eviction_policy="evict_first",
        ).to(FLOAT)
        # score = x * scale
        grad_score = tl.where(visible, out * (grad_out - row_sum), 0.0)
        grad_x = grad_score * scale
        if NEEDS_GRAD_X:
            tl.store(
                grad_x_rows + cols * grad_x_col,
                narrow(grad_x, grad_x_ptr.dtype.element_ty),
                mask=in_cols,
                cache_modifier=".cs",
            )

    tl.store(row_sum_rows, narrow(row_sum, row_sum_ptr.dtype.element_ty))


@triton.jit
def _scaled_masked_softmax_backward_mask_causal_stage_1_finish(
    partial_total_ptr,
    out_ptr,
    grad_out_ptr,
    grad_x_ptr,
    row_sum_ptr,
    ROWS_1,
    ROWS_2,
    T,
    S,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    row_sum_row_0,
    row_sum_row_1,
    row_sum_row_2,
    scale,
    LANES: tl.constexpr,
    VECTOR: tl.constexpr,
    EVEN: tl.constexpr,
    SPLITS: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK_S: tl.constexpr,
    NEEDS_GRAD_X: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program joins the partial states of a row, then goes over one chunk of it."""
    split = (tl.program_id(0) % SPLITS).to(INT)
    rows = (tl.program_id(0) // SPLITS).to(INT) + tl.arange(0, 1)[:, None]
    stop = tl.minimum((split + 1) * CHUNK, T)
    leads = rows * 0 + split == 0
    lane = (tl.arange(0, LANES)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]).to(INT)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
    grad_out_rows = (
        grad_out_ptr + row_0 * grad_out_row_0 + row_1 * grad_out_row_1 + row_2 * grad_out_row_2
    )
    grad_x_rows = grad_x_ptr + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2
    row_sum_rows = (
        row_sum_ptr + row_0 * row_sum_row_0 + row_1 * row_sum_row_1 + row_2 * row_sum_row_2
    )

    scale = scalar(scale, FLOAT)

    splits = tl.arange(0, BLOCK_S)[:, None]
    total = tl.load(partial_total_ptr + rows * SPLITS + splits, mask=splits < SPLITS, other=0.0)
    row_sum = tl.sum(total, axis=0, keep_dims=True)

    for start in range(split * CHUNK, stop, LANES * VECTOR):
        cols = start + lane
        in_cols = below(cols, stop, EVEN)

        # visible = index(T) <= index(S) + size(T) - size(S) if causal else None
        visible = cols <= (rows % S) + T - S
        out = tl.load(out_rows + cols * out_col, mask=in_cols, other=0.0).to(FLOAT)
        grad_out = tl.load(grad_out_rows + cols * grad_out_col, mask=in_cols, other=0.0).to(FLOAT)
        # score = x * scale
        grad_score = tl.where(visible, out * (grad_out - row_sum), 0.0)
        grad_x = grad_score * scale
        if NEEDS_GRAD_X:
            tl.store(
                grad_x_rows + cols * grad_x_col,
                narrow(grad_x, grad_x_ptr.dtype.element_ty),
                mask=in_cols,
                cache_modifier=".cs",
            )

    # return softmax(score, where=visible)
    tl.store(row_sum_rows, narrow(row_sum, row_sum_ptr.dtype.element_ty), mask=leads)


@triton.jit
def _scaled_masked_softmax_backward_mask_causal_stage_2_columns(
    out_ptr,
    grad_out_ptr,
    row_sum_ptr,
    grad_mask_parts_ptr,
    OUTER_1,
    H,
    ROWS_1,
    ROWS_2,
    T,
    S,
    out_outer_0,
    out_outer_1,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    grad_out_outer_0,
    grad_out_outer_1,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    row_sum_outer_0,
    row_sum_outer_1,
    row_sum_row_0,
    row_sum_row_1,
    row_sum_row_2,
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
    blocks = tl.cdiv(T, BLOCK_N)
    block = tl.program_id(0) % blocks
    program = tl.program_id(0) // blocks % PROGRAMS
    outer = (tl.program_id(0) // blocks // PROGRAMS).to(INT) + tl.zeros((1, 1), INT)
    outer_1 = outer % OUTER_1
    outer_0 = outer // OUTER_1
    part = outer * PROGRAMS + program
    cols = block * BLOCK_N + tl.arange(0, BLOCK_N)[None, :].to(INT)
    in_cols = below(cols, T, EVEN_N)
    out_outer = out_ptr + outer_0 * out_outer_0 + outer_1 * out_outer_1
    grad_out_outer = grad_out_ptr + outer_0 * grad_out_outer_0 + outer_1 * grad_out_outer_1
    row_sum_outer = row_sum_ptr + outer_0 * row_sum_outer_0 + outer_1 * row_sum_outer_1

    grad_mask = tl.full((BLOCK_M, BLOCK_N), 0.0, FLOAT)
    for tile in tl.range(program, tl.cdiv(H, BLOCK_M), PROGRAMS, num_stages=STAGES):
        rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)[:, None].to(INT)
        in_rows = below(rows, H, EVEN_M)
        row_2 = rows % ROWS_2
        row_1 = rows // ROWS_2 % ROWS_1
        row_0 = rows // ROWS_2 // ROWS_1
        out_rows = out_outer + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
        grad_out_rows = (
            grad_out_outer
            + row_0 * grad_out_row_0
            + row_1 * grad_out_row_1
            + row_2 * grad_out_row_2
        )
        row_sum_rows = (
            row_sum_outer + row_0 * row_sum_row_0 + row_1 * row_sum_row_1 + row_2 * row_sum_row_2
        )

        row_sum = tl.load(row_sum_rows, mask=in_rows, other=0.0, eviction_policy="evict_last").to(
            FLOAT
        )
        grad_out = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_rows & in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        out = tl.load(
            out_rows + cols * out_col,
            mask=in_rows & in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        # visible = index(T) <= index(S) + size(T) - size(S) if causal else None
        visible = cols <= (outer % S) + T - S
        # score = x * scale
        grad_score = tl.where(visible, out * (grad_out - row_sum), 0.0)
        grad_mask = grad_mask + tl.where(in_rows, grad_score, 0.0)

    tl.store(
        grad_mask_parts_ptr + part * T + cols,
        tl.sum(grad_mask, axis=0, keep_dims=True),
        mask=in_cols,
    )


@triton.jit
def _scaled_masked_softmax_backward_mask_causal_sums(
    out_ptr,
    grad_out_ptr,
    grad_x_ptr,
    grad_mask_parts_ptr,
    OUTER_1,
    H,
    ROWS_1,
    ROWS_2,
    T,
    S,
    out_outer_0,
    out_outer_1,
    out_row_0,
    out_row_1,
    out_row_2,
    out_col,
    grad_out_outer_0,
    grad_out_outer_1,
    grad_out_row_0,
    grad_out_row_1,
    grad_out_row_2,
    grad_out_col,
    grad_x_outer_0,
    grad_x_outer_1,
    grad_x_row_0,
    grad_x_row_1,
    grad_x_row_2,
    grad_x_col,
    PROGRAMS,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    STAGES: tl.constexpr,
    NEEDS_GRAD_X: tl.constexpr,
    NEEDS_GRAD_MASK: tl.constexpr,
    INT: tl.constexpr,
    FLOAT: tl.constexpr,
):
    """A program goes over tiles of BLOCK_M whole rows, and carries their sums along."""
    program = tl.program_id(0) % PROGRAMS
    outer = (tl.program_id(0) // PROGRAMS).to(INT) + tl.zeros((1, 1), INT)
    outer_1 = outer % OUTER_1
    outer_0 = outer // OUTER_1
    part = outer * PROGRAMS + program
    cols = tl.arange(0, BLOCK_N)[None, :].to(INT)
    in_cols = below(cols, T, EVEN_N)
    out_outer = out_ptr + outer_0 * out_outer_0 + outer_1 * out_outer_1
    grad_out_outer = grad_out_ptr + outer_0 * grad_out_outer_0 + outer_1 * grad_out_outer_1
    grad_x_outer = grad_x_ptr + outer_0 * grad_x_outer_0 + outer_1 * grad_x_outer_1

    scale = scalar(scale, FLOAT)

    grad_mask = tl.full((BLOCK_M, BLOCK_N), 0.0, FLOAT)
    for tile in tl.range(program, tl.cdiv(H, BLOCK_M), PROGRAMS, num_stages=STAGES):
        rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)[:, None].to(INT)
        in_rows = below(rows, H, EVEN_M)
        row_2 = rows % ROWS_2
        row_1 = rows // ROWS_2 % ROWS_1
        row_0 = rows // ROWS_2 // ROWS_1
        out_rows = out_outer + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2
        grad_out_rows = (
            grad_out_outer
            + row_0 * grad_out_row_0
            + row_1 * grad_out_row_1
            + row_2 * grad_out_row_2
        )
        grad_x_rows = (
            grad_x_outer + row_0 * grad_x_row_0 + row_1 * grad_x_row_1 + row_2 * grad_x_row_2
        )

        grad_out = tl.load(
            grad_out_rows + cols * grad_out_col,
            mask=in_rows & in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        out = tl.load(
            out_rows + cols * out_col,
            mask=in_rows & in_cols,
            other=0.0,
            eviction_policy="evict_last",
        ).to(FLOAT)
        # return softmax(score, where=visible)
        row_sum = tl.sum(grad_out * out, axis=1, keep_dims=True)
        # visible = index(T) <= index(S) + size(T) - size(S) if causal else None
        visible = cols <= (outer % S) + T - S
        # score = x * scale
        grad_score = tl.where(visible, out * (grad_out - row_sum), 0.0)
        if NEEDS_GRAD_MASK:
            grad_mask = grad_mask + tl.where(in_rows, grad_score, 0.0)
        grad_x = grad_score * scale
        if NEEDS_GRAD_X:
            tl.store(
                grad_x_rows + cols * grad_x_col,
                narrow(grad_x, grad_x_ptr.dtype.element_ty),
                mask=in_rows & in_cols,
            )

    if NEEDS_GRAD_MASK:
        tl.store(
            grad_mask_parts_ptr + part * T + cols,
            tl.sum(grad_mask, axis=0, keep_dims=True),
            mask=in_cols,
        )


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("B", "H", "S"), limit=3, spare_last=True)
    cols = call.axes(("T",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=1, writes=1, flops=6, special=1, joins=2)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=1,
            writes=1,
            flops=10.125,
            special=2.25,
            rereads=1,
            joins=1,
            passes=2,
            ahead=1,
            held=1.75,
            held_wide=2.1,
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=1,
            writes=1,
            flops=10.625,
            special=2.375,
            rereads=1,
            joins=2,
            passes=2,
            held=0.75,
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
                _scaled_masked_softmax_partial,
                grid=(rows.total * splits,),
                tensors=("x", "partial_top", "partial_total"),
                integers=(*rows.sizes[1:], cols.total, *rows.strides("x"), cols.strides("x")[0]),
                params=("scale",),
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
                _scaled_masked_softmax_finish,
                grid=(rows.total * splits,),
                tensors=("partial_top", "partial_total", "x", "out"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("out"),
                    cols.strides("out")[0],
                ),
                params=("scale",),
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
                "partial_top": ((rows.total, splits), call.float),
                "partial_total": ((rows.total, splits), call.float),
            },
        )

    if call.takes("block", block <= loop):
        config = call.choose(BLOCK_CONFIGS, block_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        return Launch(
            Step(
                _scaled_masked_softmax_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "out"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("out"),
                    cols.strides("out")[0],
                ),
                params=("scale",),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_N": width,
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                },
                config=config,
            )
        )

    config = call.choose(LOOP_CONFIGS, loop_time)
    vector = max(1, 16 // call.element_size)
    even = columns > 0 and columns % config["TILE"] == 0
    return Launch(
        Step(
            _scaled_masked_softmax_loop,
            grid=(rows.total,),
            tensors=("x", "out"),
            integers=(
                *rows.sizes[1:],
                cols.total,
                *rows.strides("x"),
                cols.strides("x")[0],
                *rows.strides("out"),
                cols.strides("out")[0],
            ),
            params=("scale",),
            constants={"LANES": config["TILE"] // vector, "VECTOR": vector, "EVEN": even},
            config=config,
        )
    )


def _plan_backward(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("B", "H", "S"), limit=3, spare_last=True)
    cols = call.axes(("T",), limit=1)
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
            reads=2, writes=1, flops=5.25, rereads=2, joins=1, passes=2, held=0.675, held_wide=1.35
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
                _scaled_masked_softmax_backward_partial,
                grid=(rows.total * splits,),
                tensors=("out", "grad_out", "partial_total"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    *rows.strides("out"),
                    cols.strides("out")[0],
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
                _scaled_masked_softmax_backward_finish,
                grid=(rows.total * splits,),
                tensors=("partial_total", "out", "grad_out", "grad_x"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("out"),
                    cols.strides("out")[0],
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
                ),
                params=("scale",),
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
                _scaled_masked_softmax_backward_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("out", "grad_out", "grad_x"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("out"),
                    cols.strides("out")[0],
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
                ),
                params=("scale",),
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
            _scaled_masked_softmax_backward_loop,
            grid=(rows.total,),
            tensors=("out", "grad_out", "grad_x"),
            integers=(
                *rows.sizes[1:],
                cols.total,
                *rows.strides("grad_out"),
                cols.strides("grad_out")[0],
                *rows.strides("out"),
                cols.strides("out")[0],
                *rows.strides("grad_x"),
                cols.strides("grad_x")[0],
            ),
            params=("scale",),
            constants={"LANES": config["TILE"] // vector, "VECTOR": vector, "EVEN": even},
            config=config,
        )
    )


def _plan_causal(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("B", "H", "S"), limit=3, spare_last=True)
    cols = call.axes(("T",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=1, writes=1, flops=8, special=1, joins=2)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=1,
            writes=1,
            flops=14.125,
            special=2.25,
            rereads=1,
            joins=1,
            passes=2,
            ahead=1,
            held=1.75,
            held_wide=2.1,
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=1,
            writes=1,
            flops=14.625,
            special=2.375,
            rereads=1,
            joins=2,
            passes=2,
            held=0.75,
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
                _scaled_masked_softmax_causal_partial,
                grid=(rows.total * splits,),
                tensors=("x", "partial_top", "partial_total"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    call.sizes["S"],
                    *rows.strides("x"),
                    cols.strides("x")[0],
                ),
                params=("scale",),
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
                _scaled_masked_softmax_causal_finish,
                grid=(rows.total * splits,),
                tensors=("partial_top", "partial_total", "x", "out"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    call.sizes["S"],
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("out"),
                    cols.strides("out")[0],
                ),
                params=("scale",),
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
                "partial_top": ((rows.total, splits), call.float),
                "partial_total": ((rows.total, splits), call.float),
            },
        )

    if call.takes("block", block <= loop):
        config = call.choose(BLOCK_CONFIGS, block_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        return Launch(
            Step(
                _scaled_masked_softmax_causal_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "out"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    call.sizes["S"],
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("out"),
                    cols.strides("out")[0],
                ),
                params=("scale",),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_N": width,
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                },
                config=config,
            )
        )

    config = call.choose(LOOP_CONFIGS, loop_time)
    vector = max(1, 16 // call.element_size)
    even = columns > 0 and columns % config["TILE"] == 0
    return Launch(
        Step(
            _scaled_masked_softmax_causal_loop,
            grid=(rows.total,),
            tensors=("x", "out"),
            integers=(
                *rows.sizes[1:],
                cols.total,
                call.sizes["S"],
                *rows.strides("x"),
                cols.strides("x")[0],
                *rows.strides("out"),
                cols.strides("out")[0],
            ),
            params=("scale",),
            constants={"LANES": config["TILE"] // vector, "VECTOR": vector, "EVEN": even},
            config=config,
        )
    )


def _plan_backward_causal(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("B", "H", "S"), limit=3, spare_last=True)
    cols = call.axes(("T",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=2, writes=1, flops=7, joins=1, held_wide=2)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BACKWARD_BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=2, writes=1, flops=7.25, rereads=2, joins=1, passes=2, held=0.675, held_wide=1.35
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, BACKWARD_LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=2, writes=1, flops=7.25, rereads=2, joins=1, passes=2, held=0.675, held_wide=1.35
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
                _scaled_masked_softmax_backward_partial,
                grid=(rows.total * splits,),
                tensors=("out", "grad_out", "partial_total"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    *rows.strides("out"),
                    cols.strides("out")[0],
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
                _scaled_masked_softmax_backward_causal_finish,
                grid=(rows.total * splits,),
                tensors=("partial_total", "out", "grad_out", "grad_x"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    call.sizes["S"],
                    *rows.strides("out"),
                    cols.strides("out")[0],
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
                ),
                params=("scale",),
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
                _scaled_masked_softmax_backward_causal_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("out", "grad_out", "grad_x"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    call.sizes["S"],
                    *rows.strides("out"),
                    cols.strides("out")[0],
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
                ),
                params=("scale",),
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
            _scaled_masked_softmax_backward_causal_loop,
            grid=(rows.total,),
            tensors=("out", "grad_out", "grad_x"),
            integers=(
                *rows.sizes[1:],
                cols.total,
                call.sizes["S"],
                *rows.strides("grad_out"),
                cols.strides("grad_out")[0],
                *rows.strides("out"),
                cols.strides("out")[0],
                *rows.strides("grad_x"),
                cols.strides("grad_x")[0],
            ),
            params=("scale",),
            constants={"LANES": config["TILE"] // vector, "VECTOR": vector, "EVEN": even},
            config=config,
        )
    )


def _plan_mask(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("B", "H", "S"), limit=3, spare_last=True)
    cols = call.axes(("T",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=2, writes=1, flops=7, special=1, joins=2, held=2, held_wide=2)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=2,
            writes=1,
            flops=12.125,
            special=2.25,
            rereads=2,
            joins=1,
            passes=2,
            ahead=1,
            held=3.15,
            held_wide=3.5,
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=2,
            writes=1,
            flops=12.625,
            special=2.375,
            rereads=2,
            joins=2,
            passes=2,
            held=1.35,
            held_wide=1.5,
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
                _scaled_masked_softmax_mask_partial,
                grid=(rows.total * splits,),
                tensors=("x", "mask", "partial_top", "partial_total"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("mask"),
                    cols.strides("mask")[0],
                ),
                params=("scale",),
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
                _scaled_masked_softmax_mask_finish,
                grid=(rows.total * splits,),
                tensors=("partial_top", "partial_total", "x", "mask", "out"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("mask"),
                    cols.strides("mask")[0],
                    *rows.strides("out"),
                    cols.strides("out")[0],
                ),
                params=("scale",),
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
                "partial_top": ((rows.total, splits), call.float),
                "partial_total": ((rows.total, splits), call.float),
            },
        )

    if call.takes("block", block <= loop):
        config = call.choose(BLOCK_CONFIGS, block_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        return Launch(
            Step(
                _scaled_masked_softmax_mask_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "mask", "out"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("mask"),
                    cols.strides("mask")[0],
                    *rows.strides("out"),
                    cols.strides("out")[0],
                ),
                params=("scale",),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_N": width,
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                },
                config=config,
            )
        )

    config = call.choose(LOOP_CONFIGS, loop_time)
    vector = max(1, 16 // call.element_size)
    even = columns > 0 and columns % config["TILE"] == 0
    return Launch(
        Step(
            _scaled_masked_softmax_mask_loop,
            grid=(rows.total,),
            tensors=("x", "mask", "out"),
            integers=(
                *rows.sizes[1:],
                cols.total,
                *rows.strides("x"),
                cols.strides("x")[0],
                *rows.strides("mask"),
                cols.strides("mask")[0],
                *rows.strides("out"),
                cols.strides("out")[0],
            ),
            params=("scale",),
            constants={"LANES": config["TILE"] // vector, "VECTOR": vector, "EVEN": even},
            config=config,
        )
    )


def _plan_backward_mask_stage_1(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    call = call.among("out", "grad_out", "grad_x", "row_sum")
    rows = call.axes(("B", "H", "S"), limit=3, spare_last=True)
    cols = call.axes(("T",), limit=1)
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
            reads=2, writes=1, flops=5.25, rereads=2, joins=1, passes=2, held=0.675, held_wide=1.35
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
                _scaled_masked_softmax_backward_mask_stage_1_partial,
                grid=(rows.total * splits,),
                tensors=("out", "grad_out", "partial_total"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    *rows.strides("out"),
                    cols.strides("out")[0],
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
                _scaled_masked_softmax_backward_mask_stage_1_finish,
                grid=(rows.total * splits,),
                tensors=("partial_total", "out", "grad_out", "grad_x", "row_sum"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("out"),
                    cols.strides("out")[0],
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
                    *rows.strides("row_sum"),
                ),
                params=("scale",),
                constants={
                    "LANES": config["TILE"] // vector,
                    "VECTOR": vector,
                    "EVEN": even,
                    "SPLITS": splits,
                    "CHUNK": chunk,
                    "BLOCK_S": next_power_of_2(splits),
                    "NEEDS_GRAD_X": call.needs("grad_x"),
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
                _scaled_masked_softmax_backward_mask_stage_1_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("out", "grad_out", "grad_x", "row_sum"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("out"),
                    cols.strides("out")[0],
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
                    *rows.strides("row_sum"),
                ),
                params=("scale",),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_N": width,
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                    "NEEDS_GRAD_X": call.needs("grad_x"),
                },
                config=config,
            )
        )

    config = call.choose(BACKWARD_LOOP_CONFIGS, loop_time)
    vector = max(1, 16 // call.element_size)
    even = columns > 0 and columns % config["TILE"] == 0
    return Launch(
        Step(
            _scaled_masked_softmax_backward_mask_stage_1_loop,
            grid=(rows.total,),
            tensors=("out", "grad_out", "grad_x", "row_sum"),
            integers=(
                *rows.sizes[1:],
                cols.total,
                *rows.strides("grad_out"),
                cols.strides("grad_out")[0],
                *rows.strides("out"),
                cols.strides("out")[0],
                *rows.strides("grad_x"),
                cols.strides("grad_x")[0],
                *rows.strides("row_sum"),
            ),
            params=("scale",),
            constants={
                "LANES": config["TILE"] // vector,
                "VECTOR": vector,
                "EVEN": even,
                "NEEDS_GRAD_X": call.needs("grad_x"),
            },
            config=config,
        )
    )


def _plan_backward_mask_stage_2(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    call = call.among("mask", "out", "grad_out", "row_sum", "grad_mask")
    rows = call.axes(("H",), limit=3, spare_last=True)
    outer = call.axes(("B", "S"), limit=2, spare_last=True)
    cols = call.axes(("T",), limit=1)
    columns = cols.total

    def columns_time(config: Config) -> float:
        work = Work(reads=2, writes=0, flops=3, held=1.7, held_wide=2.55)
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
            _scaled_masked_softmax_backward_mask_stage_2_columns,
            grid=(outer.total * programs * blocks,),
            tensors=("out", "grad_out", "row_sum", "grad_mask_parts"),
            integers=(
                outer.sizes[1],
                rows.total,
                *rows.sizes[1:],
                cols.total,
                *outer.strides("out"),
                *rows.strides("out"),
                cols.strides("out")[0],
                *outer.strides("grad_out"),
                *rows.strides("grad_out"),
                cols.strides("grad_out")[0],
                *outer.strides("row_sum"),
                *rows.strides("row_sum"),
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
            _scaled_masked_softmax_backward_mask_stage_2_join,
            grid=(outer.total * cdiv(columns, join_tile(config, programs, columns)[1]),),
            tensors=("grad_mask_parts", "grad_mask"),
            integers=(
                outer.sizes[1],
                cols.total,
                *outer.strides("grad_mask"),
                cols.strides("grad_mask")[0],
                programs,
            ),
            constants={
                "BLOCK_S": join_tile(config, programs, columns)[0],
                "BLOCK_N": join_tile(config, programs, columns)[1],
            },
            config=config,
        )
        if call.needs("grad_mask")
        else None,
        workspaces={
            "grad_mask_parts": ((outer.total, programs, columns), call.float),
        },
    )


def _plan_backward_mask(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("H",), limit=3, spare_last=True)
    outer = call.axes(("B", "S"), limit=2, spare_last=True)
    cols = call.axes(("T",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def sums_time(config: Config) -> float:
        work = Work(reads=2, writes=1, flops=6, joins=1, held=2.55, held_wide=2.55)
        return sums_cost(
            config, call.target, work, call.element_size, rows.total, width, outer.total
        )

    sums = least(call, BACKWARD_SUMS_CONFIGS, sums_time)

    if call.takes("sums", fits(sums)):
        config = call.choose(BACKWARD_SUMS_CONFIGS, sums_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        programs = programs_of(config, call.target, cdiv(rows.total, block_m), outer.total)
        return Launch(
            Step(
                _scaled_masked_softmax_backward_mask_sums,
                grid=(outer.total * programs,),
                tensors=("out", "grad_out", "grad_x", "grad_mask_parts"),
                integers=(
                    outer.sizes[1],
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    *outer.strides("out"),
                    *rows.strides("out"),
                    cols.strides("out")[0],
                    *outer.strides("grad_out"),
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    *outer.strides("grad_x"),
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
                    programs,
                ),
                params=("scale",),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_N": width,
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                    "STAGES": config["num_stages"],
                    "NEEDS_GRAD_X": call.needs("grad_x"),
                    "NEEDS_GRAD_MASK": call.needs("grad_mask"),
                },
                config=config,
            ),
            Step(
                _scaled_masked_softmax_backward_mask_join,
                grid=(outer.total * cdiv(columns, join_tile(config, programs, columns)[1]),),
                tensors=("grad_mask_parts", "grad_mask"),
                integers=(
                    outer.sizes[1],
                    cols.total,
                    *outer.strides("grad_mask"),
                    cols.strides("grad_mask")[0],
                    programs,
                ),
                constants={
                    "BLOCK_S": join_tile(config, programs, columns)[0],
                    "BLOCK_N": join_tile(config, programs, columns)[1],
                },
                config=config,
            )
            if call.needs("grad_mask")
            else None,
            workspaces={
                "grad_mask_parts": ((outer.total, programs, columns), call.float),
            },
        )

    # A row is too wide: stage after stage.
    return in_stages(
        _plan_backward_mask_stage_1(call) if call.needs("grad_x", "row_sum") else None,
        _plan_backward_mask_stage_2(call) if call.needs("grad_mask") else None,
    )


def _plan_mask_causal(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("B", "H", "S"), limit=3, spare_last=True)
    cols = call.axes(("T",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=2, writes=1, flops=9, special=1, joins=2, held=2, held_wide=2)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=2,
            writes=1,
            flops=16.125,
            special=2.25,
            rereads=2,
            joins=1,
            passes=2,
            ahead=1,
            held=3.15,
            held_wide=3.5,
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=2,
            writes=1,
            flops=16.625,
            special=2.375,
            rereads=2,
            joins=2,
            passes=2,
            held=1.35,
            held_wide=1.5,
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
                _scaled_masked_softmax_mask_causal_partial,
                grid=(rows.total * splits,),
                tensors=("x", "mask", "partial_top", "partial_total"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    call.sizes["S"],
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("mask"),
                    cols.strides("mask")[0],
                ),
                params=("scale",),
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
                _scaled_masked_softmax_mask_causal_finish,
                grid=(rows.total * splits,),
                tensors=("partial_top", "partial_total", "x", "mask", "out"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    call.sizes["S"],
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("mask"),
                    cols.strides("mask")[0],
                    *rows.strides("out"),
                    cols.strides("out")[0],
                ),
                params=("scale",),
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
                "partial_top": ((rows.total, splits), call.float),
                "partial_total": ((rows.total, splits), call.float),
            },
        )

    if call.takes("block", block <= loop):
        config = call.choose(BLOCK_CONFIGS, block_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        return Launch(
            Step(
                _scaled_masked_softmax_mask_causal_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("x", "mask", "out"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    call.sizes["S"],
                    *rows.strides("x"),
                    cols.strides("x")[0],
                    *rows.strides("mask"),
                    cols.strides("mask")[0],
                    *rows.strides("out"),
                    cols.strides("out")[0],
                ),
                params=("scale",),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_N": width,
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                },
                config=config,
            )
        )

    config = call.choose(LOOP_CONFIGS, loop_time)
    vector = max(1, 16 // call.element_size)
    even = columns > 0 and columns % config["TILE"] == 0
    return Launch(
        Step(
            _scaled_masked_softmax_mask_causal_loop,
            grid=(rows.total,),
            tensors=("x", "mask", "out"),
            integers=(
                *rows.sizes[1:],
                cols.total,
                call.sizes["S"],
                *rows.strides("x"),
                cols.strides("x")[0],
                *rows.strides("mask"),
                cols.strides("mask")[0],
                *rows.strides("out"),
                cols.strides("out")[0],
            ),
            params=("scale",),
            constants={"LANES": config["TILE"] // vector, "VECTOR": vector, "EVEN": even},
            config=config,
        )
    )


def _plan_backward_mask_causal_stage_1(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    call = call.among("out", "grad_out", "grad_x", "row_sum")
    rows = call.axes(("B", "H", "S"), limit=3, spare_last=True)
    cols = call.axes(("T",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=2, writes=1, flops=7, joins=1, held_wide=2)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BACKWARD_BLOCK_CONFIGS, block_time)

    def loop_time(config: Config) -> float:
        work = Work(
            reads=2, writes=1, flops=7.25, rereads=2, joins=1, passes=2, held=0.675, held_wide=1.35
        )
        return loop_cost(config, call.target, work, call.element_size, rows.total, columns)

    loop = least(call, BACKWARD_LOOP_CONFIGS, loop_time)

    def split_time(config: Config) -> float:
        work = Work(
            reads=2, writes=1, flops=7.25, rereads=2, joins=1, passes=2, held=0.675, held_wide=1.35
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
                _scaled_masked_softmax_backward_mask_stage_1_partial,
                grid=(rows.total * splits,),
                tensors=("out", "grad_out", "partial_total"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    *rows.strides("out"),
                    cols.strides("out")[0],
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
                _scaled_masked_softmax_backward_mask_causal_stage_1_finish,
                grid=(rows.total * splits,),
                tensors=("partial_total", "out", "grad_out", "grad_x", "row_sum"),
                integers=(
                    *rows.sizes[1:],
                    cols.total,
                    call.sizes["S"],
                    *rows.strides("out"),
                    cols.strides("out")[0],
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
                    *rows.strides("row_sum"),
                ),
                params=("scale",),
                constants={
                    "LANES": config["TILE"] // vector,
                    "VECTOR": vector,
                    "EVEN": even,
                    "SPLITS": splits,
                    "CHUNK": chunk,
                    "BLOCK_S": next_power_of_2(splits),
                    "NEEDS_GRAD_X": call.needs("grad_x"),
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
                _scaled_masked_softmax_backward_mask_causal_stage_1_block,
                grid=(cdiv(rows.total, block_m),),
                tensors=("out", "grad_out", "grad_x", "row_sum"),
                integers=(
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    call.sizes["S"],
                    *rows.strides("out"),
                    cols.strides("out")[0],
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
                    *rows.strides("row_sum"),
                ),
                params=("scale",),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_N": width,
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                    "NEEDS_GRAD_X": call.needs("grad_x"),
                },
                config=config,
            )
        )

    config = call.choose(BACKWARD_LOOP_CONFIGS, loop_time)
    vector = max(1, 16 // call.element_size)
    even = columns > 0 and columns % config["TILE"] == 0
    return Launch(
        Step(
            _scaled_masked_softmax_backward_mask_causal_stage_1_loop,
            grid=(rows.total,),
            tensors=("out", "grad_out", "grad_x", "row_sum"),
            integers=(
                *rows.sizes[1:],
                cols.total,
                call.sizes["S"],
                *rows.strides("grad_out"),
                cols.strides("grad_out")[0],
                *rows.strides("out"),
                cols.strides("out")[0],
                *rows.strides("grad_x"),
                cols.strides("grad_x")[0],
                *rows.strides("row_sum"),
            ),
            params=("scale",),
            constants={
                "LANES": config["TILE"] // vector,
                "VECTOR": vector,
                "EVEN": even,
                "NEEDS_GRAD_X": call.needs("grad_x"),
            },
            config=config,
        )
    )


def _plan_backward_mask_causal_stage_2(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    call = call.among("mask", "out", "grad_out", "row_sum", "grad_mask")
    rows = call.axes(("H",), limit=3, spare_last=True)
    outer = call.axes(("B", "S"), limit=2, spare_last=True)
    cols = call.axes(("T",), limit=1)
    columns = cols.total

    def columns_time(config: Config) -> float:
        work = Work(reads=2, writes=0, flops=5, held=1.7, held_wide=2.55)
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
            _scaled_masked_softmax_backward_mask_causal_stage_2_columns,
            grid=(outer.total * programs * blocks,),
            tensors=("out", "grad_out", "row_sum", "grad_mask_parts"),
            integers=(
                outer.sizes[1],
                rows.total,
                *rows.sizes[1:],
                cols.total,
                call.sizes["S"],
                *outer.strides("out"),
                *rows.strides("out"),
                cols.strides("out")[0],
                *outer.strides("grad_out"),
                *rows.strides("grad_out"),
                cols.strides("grad_out")[0],
                *outer.strides("row_sum"),
                *rows.strides("row_sum"),
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
            _scaled_masked_softmax_backward_mask_stage_2_join,
            grid=(outer.total * cdiv(columns, join_tile(config, programs, columns)[1]),),
            tensors=("grad_mask_parts", "grad_mask"),
            integers=(
                outer.sizes[1],
                cols.total,
                *outer.strides("grad_mask"),
                cols.strides("grad_mask")[0],
                programs,
            ),
            constants={
                "BLOCK_S": join_tile(config, programs, columns)[0],
                "BLOCK_N": join_tile(config, programs, columns)[1],
            },
            config=config,
        )
        if call.needs("grad_mask")
        else None,
        workspaces={
            "grad_mask_parts": ((outer.total, programs, columns), call.float),
        },
    )


def _plan_backward_mask_causal(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("H",), limit=3, spare_last=True)
    outer = call.axes(("B", "S"), limit=2, spare_last=True)
    cols = call.axes(("T",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def sums_time(config: Config) -> float:
        work = Work(reads=2, writes=1, flops=8, joins=1, held=2.55, held_wide=2.55)
        return sums_cost(
            config, call.target, work, call.element_size, rows.total, width, outer.total
        )

    sums = least(call, BACKWARD_SUMS_CONFIGS, sums_time)

    if call.takes("sums", fits(sums)):
        config = call.choose(BACKWARD_SUMS_CONFIGS, sums_time)
        block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
        programs = programs_of(config, call.target, cdiv(rows.total, block_m), outer.total)
        return Launch(
            Step(
                _scaled_masked_softmax_backward_mask_causal_sums,
                grid=(outer.total * programs,),
                tensors=("out", "grad_out", "grad_x", "grad_mask_parts"),
                integers=(
                    outer.sizes[1],
                    rows.total,
                    *rows.sizes[1:],
                    cols.total,
                    call.sizes["S"],
                    *outer.strides("out"),
                    *rows.strides("out"),
                    cols.strides("out")[0],
                    *outer.strides("grad_out"),
                    *rows.strides("grad_out"),
                    cols.strides("grad_out")[0],
                    *outer.strides("grad_x"),
                    *rows.strides("grad_x"),
                    cols.strides("grad_x")[0],
                    programs,
                ),
                params=("scale",),
                constants={
                    "BLOCK_M": block_m,
                    "BLOCK_N": width,
                    "EVEN_M": rows.total % block_m == 0,
                    "EVEN_N": columns == width,
                    "STAGES": config["num_stages"],
                    "NEEDS_GRAD_X": call.needs("grad_x"),
                    "NEEDS_GRAD_MASK": call.needs("grad_mask"),
                },
                config=config,
            ),
            Step(
                _scaled_masked_softmax_backward_mask_join,
                grid=(outer.total * cdiv(columns, join_tile(config, programs, columns)[1]),),
                tensors=("grad_mask_parts", "grad_mask"),
                integers=(
                    outer.sizes[1],
                    cols.total,
                    *outer.strides("grad_mask"),
                    cols.strides("grad_mask")[0],
                    programs,
                ),
                constants={
                    "BLOCK_S": join_tile(config, programs, columns)[0],
                    "BLOCK_N": join_tile(config, programs, columns)[1],
                },
                config=config,
            )
            if call.needs("grad_mask")
            else None,
            workspaces={
                "grad_mask_parts": ((outer.total, programs, columns), call.float),
            },
        )

    # A row is too wide: stage after stage.
    return in_stages(
        _plan_backward_mask_causal_stage_1(call) if call.needs("grad_x", "row_sum") else None,
        _plan_backward_mask_causal_stage_2(call) if call.needs("grad_mask") else None,
    )


def reference(x, mask, scale, causal, *, compute):
    """Softmax of scaled attention scores, under an additive mask that the heads share.

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x = widen(x, compute)
    # score = x * scale
    score = x * scale
    return torch.softmax(score, -1)


def reference_backward(mask, out, grad_out, scale, causal, *, compute):
    """The gradient of `reference`, as the kernels compute it."""
    out = widen(out, compute)
    grad_out = widen(grad_out, compute)
    # score = x * scale
    grad_score = out * (grad_out - (grad_out * out).sum(-1)[:, :, :, None])
    grad_x = grad_score * scale
    return grad_x, None


def reference_causal(x, mask, scale, causal, *, compute):
    """Softmax of scaled attention scores, under an additive mask that the heads share.

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    T = x.shape[3]
    S = x.shape[2]
    x = widen(x, compute)
    # visible = index(T) <= index(S) + size(T) - size(S) if causal else None
    visible = (
        torch.arange(T, device=x.device) <= (torch.arange(S, device=x.device) + T - S)[:, None]
    )
    # score = x * scale
    score = x * scale
    # return softmax(score, where=visible)
    value = torch.where(visible, score, -torch.inf)
    value_2 = torch.exp(value - finite_max(value, -1, keepdim=True)).sum(-1)
    return (
        torch.exp(value - finite_max(value, -1)[:, :, :, None])
        / torch.where(value_2 == 0.0, 1.0, value_2)[:, :, :, None]
    )


def reference_backward_causal(mask, out, grad_out, scale, causal, *, compute):
    """The gradient of `reference_causal`, as the kernels compute it."""
    T = out.shape[3]
    S = out.shape[2]
    out = widen(out, compute)
    grad_out = widen(grad_out, compute)
    # visible = index(T) <= index(S) + size(T) - size(S) if causal else None
    visible = (
        torch.arange(T, device=out.device) <= (torch.arange(S, device=out.device) + T - S)[:, None]
    )
    # score = x * scale
    grad_score = torch.where(
        visible, out * (grad_out - (grad_out * out).sum(-1)[:, :, :, None]), 0.0
    )
    grad_x = grad_score * scale
    return grad_x, None


def reference_mask(x, mask, scale, causal, *, compute):
    """Softmax of scaled attention scores, under an additive mask that the heads share.

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    x = widen(x, compute)
    mask = widen(mask, compute)
    # score = x * scale
    score = x * scale
    # score = score + mask
    score_2 = score + mask[:, None, :, :]
    return torch.softmax(score_2, -1)


def reference_backward_mask(mask, out, grad_out, scale, causal, *, compute):
    """The gradient of `reference_mask`, as the kernels compute it."""
    out = widen(out, compute)
    grad_out = widen(grad_out, compute)
    # score = x * scale
    grad_score = out * (grad_out - (grad_out * out).sum(-1)[:, :, :, None])
    grad_x = grad_score * scale
    grad_mask = grad_score.sum(1)
    return grad_x, grad_mask


def reference_mask_causal(x, mask, scale, causal, *, compute):
    """Softmax of scaled attention scores, under an additive mask that the heads share.

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    T = x.shape[3]
    S = x.shape[2]
    x = widen(x, compute)
    mask = widen(mask, compute)
    # visible = index(T) <= index(S) + size(T) - size(S) if causal else None
    visible = (
        torch.arange(T, device=x.device) <= (torch.arange(S, device=x.device) + T - S)[:, None]
    )
    # score = x * scale
    score = x * scale
    # score = score + mask
    score_2 = score + mask[:, None, :, :]
    # return softmax(score, where=visible)
    value = torch.where(visible, score_2, -torch.inf)
    value_2 = torch.exp(value - finite_max(value, -1, keepdim=True)).sum(-1)
    return (
        torch.exp(value - finite_max(value, -1)[:, :, :, None])
        / torch.where(value_2 == 0.0, 1.0, value_2)[:, :, :, None]
    )


def reference_backward_mask_causal(mask, out, grad_out, scale, causal, *, compute):
    """The gradient of `reference_mask_causal`, as the kernels compute it."""
    T = mask.shape[2]
    S = mask.shape[1]
    out = widen(out, compute)
    grad_out = widen(grad_out, compute)
    # visible = index(T) <= index(S) + size(T) - size(S) if causal else None
    visible = (
        torch.arange(T, device=mask.device)
        <= (torch.arange(S, device=mask.device) + T - S)[:, None]
    )
    # score = x * scale
    grad_score = torch.where(
        visible, out * (grad_out - (grad_out * out).sum(-1)[:, :, :, None]), 0.0
    )
    grad_x = grad_score * scale
    grad_mask = grad_score.sum(1)
    return grad_x, grad_mask


BACKWARD = Op(
    name="scaled_masked_softmax_backward",
    spec_hash="f6320ef9",
    inputs=(
        Operand("mask", ("B", "S", "T"), optional=True),
        Operand("out", ("B", "H", "S", "T")),
        Operand("grad_out", ("B", "H", "S", "T")),
    ),
    params=(Param("scale", "float", 1.0), Param("causal", "bool", False)),
    outputs=(
        Output("grad_x", ("B", "H", "S", "T"), like="out"),
        Output("grad_mask", ("B", "S", "T"), like="mask"),
    ),
    fold="B",
    specialize=("mask", "causal"),
    shards={"B": (), "H": ("grad_mask",)},
    partial=True,
    variants={
        (False, False): Variant(_plan_backward, reference_backward),
        (False, True): Variant(_plan_backward_causal, reference_backward_causal),
        (True, False): Variant(
            _plan_backward_mask,
            reference_backward_mask,
            (Output("row_sum", ("B", "H", "S"), dtype="float", serves=("grad_mask",)),),
        ),
        (True, True): Variant(
            _plan_backward_mask_causal,
            reference_backward_mask_causal,
            (Output("row_sum", ("B", "H", "S"), dtype="float", serves=("grad_mask",)),),
        ),
    },
)
OP = Op(
    name="scaled_masked_softmax",
    spec_hash="f6320ef9",
    inputs=(Operand("x", ("B", "H", "S", "T")), Operand("mask", ("B", "S", "T"), optional=True)),
    params=(Param("scale", "float", 1.0), Param("causal", "bool", False)),
    outputs=(Output("out", ("B", "H", "S", "T"), like="x"),),
    fold="B",
    specialize=("mask", "causal"),
    inplace=("x",),
    shards={"B": (), "H": ()},
    gradients=Gradients({"out": "grad_out"}, BACKWARD, alike=("mask",)),
    variants={
        (False, False): Variant(_plan, reference, gradients={"x": "grad_x"}),
        (False, True): Variant(_plan_causal, reference_causal, gradients={"x": "grad_x"}),
        (True, False): Variant(
            _plan_mask, reference_mask, gradients={"x": "grad_x", "mask": "grad_mask"}
        ),
        (True, True): Variant(
            _plan_mask_causal, reference_mask_causal, gradients={"x": "grad_x", "mask": "grad_mask"}
        ),
    },
)


def scaled_masked_softmax(
    x: torch.Tensor,
    mask: torch.Tensor | None = None,
    scale: float = 1.0,
    causal: bool = False,
    *,
    out: torch.Tensor | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> torch.Tensor:
    """Softmax of scaled attention scores, under an additive mask that the heads share.

    The causal mask is aligned bottom-right: the last query sees every key.

    Args:
        x: [B, H, S, T], floats.
        mask: [B, S, T], floats, or None.
        scale: float.
        causal: bool.
        out: where to write out.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        out: [B, H, S, T], the type of x.
        B may stand for several dimensions.
    """
    tensors = (x, mask)
    params = (scale, causal)
    return OP(tensors, params, out, backend, autotune)
