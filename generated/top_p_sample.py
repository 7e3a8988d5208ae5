"""Sample among the likeliest tokens that reach top_p together (Holtzman, arXiv:1904.09751).

They are those above a threshold found by bisection, and one is drawn by the Gumbel maximum.

Built by tilegen 0.1.0 from specs/top_p_sample.py (spec 23ad1d28, templates d13e90b1).
Rebuild with `tilegen build`; edits are overwritten.

Traffic: M*V*e + M*e + 8*M + i bytes (e: bytes of an element, i: bytes of an index)
Work: 199*M*V + 123*M flops, 5*M*V of them exponentials, roots and quotients
Bound: flops on a100, h100, h200, b200, rtx3090, rtx4090, rtx5090, mi250, mi300x, mi355x; memory on l4, l40s
Eager PyTorch: 207 kernels, 147.0 times the bytes
"""

import torch
import triton
import triton.language as tl

from ._runtime import (
    Call,
    Config,
    Launch,
    Op,
    Operand,
    Output,
    Param,
    Step,
    Variant,
    Work,
    arg_max,
    below,
    block_cost,
    by_class,
    cdiv,
    exp,
    least,
    nan_max,
    next_power_of_2,
    positions,
    scalar,
    uniform,
    uniform_reference,
    widen,
)

_BLOCK_1 = (
    Config(TILE=512, num_warps=1),  # at most 64 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 64 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 128 B shared, unproven
    Config(TILE=1024, num_warps=2),  # at most 128 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 512 B shared, unproven
    Config(TILE=32768, num_warps=32),  # at most 4096 B shared, unproven
)
_BLOCK_2 = (
    Config(TILE=512, num_warps=1, registers=80),  # 0 B shared
    Config(TILE=512, num_warps=2, registers=63),  # 16 B shared
    Config(TILE=1024, num_warps=2, registers=117),  # 32 B shared
    Config(TILE=1024, num_warps=1, registers=255, spills=2),  # 0 B shared, 12 B spilled
    Config(TILE=4096, num_warps=4, registers=255, spills=2),  # 128 B shared, 4 B spilled
    Config(TILE=32768, num_warps=32, registers=64, spills=2),  # 1024 B shared, 1200 B spilled
)
_BLOCK_3 = (
    Config(TILE=512, num_warps=1, registers=80),  # 0 B shared
    Config(TILE=512, num_warps=2, registers=63),  # 16 B shared
    Config(TILE=1024, num_warps=2, registers=117),  # 32 B shared
    Config(TILE=4096, num_warps=4, registers=255),  # 128 B shared
    Config(TILE=1024, num_warps=1, registers=255, spills=2),  # 32 B shared, 8 B spilled
    Config(TILE=32768, num_warps=32, registers=64, spills=2),  # 1024 B shared, 1024 B spilled
)
_BLOCK_4 = (
    Config(TILE=512, num_warps=1, registers=95),  # 16 B shared
    Config(TILE=512, num_warps=2, registers=63),  # 16 B shared
    Config(TILE=1024, num_warps=2, registers=126),  # 32 B shared
    Config(TILE=4096, num_warps=4, registers=255),  # 128 B shared
    Config(TILE=1024, num_warps=1, registers=255, spills=2),  # 32 B shared, 8 B spilled
    Config(TILE=32768, num_warps=32, registers=64, spills=2),  # 1024 B shared, 1220 B spilled
)
_BLOCK_5 = (
    Config(TILE=512, num_warps=1, registers=158),  # 16 B shared
    Config(TILE=512, num_warps=2, registers=128),  # 64 B shared
    Config(TILE=1024, num_warps=2, registers=168),  # 128 B shared
    Config(TILE=1024, num_warps=1, registers=255, spills=2),  # 32 B shared, 176 B spilled
    Config(TILE=4096, num_warps=4, registers=255, spills=2),  # 512 B shared, 648 B spilled
    Config(TILE=32768, num_warps=32, registers=64, spills=2),  # 4096 B shared, 28544 B spilled
)
_BLOCK_6 = (
    Config(TILE=512, num_warps=1),  # at most 8 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 16 B shared, unproven
    Config(TILE=1024, num_warps=2),  # at most 16 B shared, unproven
    Config(TILE=2048, num_warps=1),  # at most 32 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 64 B shared, unproven
    Config(TILE=32768, num_warps=8),  # at most 512 B shared, unproven
)
_BLOCK_7 = (
    Config(TILE=512, num_warps=1),  # at most 32 B shared, unproven
    Config(TILE=512, num_warps=2),  # at most 32 B shared, unproven
    Config(TILE=512, num_warps=4),  # at most 32 B shared, unproven
    Config(TILE=1024, num_warps=1),  # at most 64 B shared, unproven
    Config(TILE=4096, num_warps=4),  # at most 256 B shared, unproven
    Config(TILE=32768, num_warps=16),  # at most 2048 B shared, unproven
)
#: Whole rows in registers, TILE elements to a program; by architecture class and element size in bytes.
BLOCK_CONFIGS = by_class(
    (("sm_80", "sm_100", "sm_89", "sm_86", "sm_120"), (1, 2, 4, 8), _BLOCK_1),
    (("sm_90",), (1,), _BLOCK_2),
    (("sm_90",), (2,), _BLOCK_3),
    (("sm_90",), (4,), _BLOCK_4),
    (("sm_90",), (8,), _BLOCK_5),
    (("gfx90a", "gfx942", "gfx950"), (1, 2, 4), _BLOCK_6),
    (("gfx90a", "gfx942", "gfx950"), (8,), _BLOCK_7),
)


# Loads: "evict_last" keeps what a kernel reads in L2 over what it writes, and a row until its last
# sweep, which is "evict_first". On an H200 that is 2 to 10 percent of the copy rate.
@triton.jit
def _top_p_sample_block(
    logits_ptr,
    seed_ptr,
    top_p_ptr,
    out_ptr,
    M,
    ROWS_1,
    ROWS_2,
    V,
    logits_row_0,
    logits_row_1,
    logits_row_2,
    logits_col,
    top_p_row_0,
    top_p_row_1,
    top_p_row_2,
    out_row_0,
    out_row_1,
    out_row_2,
    temperature,
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
    in_cols = below(cols, V, EVEN_N)
    in_rows = below(rows, M, EVEN_M)
    row_2 = rows % ROWS_2
    row_1 = rows // ROWS_2 % ROWS_1
    row_0 = rows // ROWS_2 // ROWS_1
    logits_rows = logits_ptr + row_0 * logits_row_0 + row_1 * logits_row_1 + row_2 * logits_row_2
    top_p_rows = top_p_ptr + row_0 * top_p_row_0 + row_1 * top_p_row_1 + row_2 * top_p_row_2
    out_rows = out_ptr + row_0 * out_row_0 + row_1 * out_row_1 + row_2 * out_row_2

    temperature = scalar(temperature, FLOAT)

    logits = tl.load(
        logits_rows + cols * logits_col,
        mask=in_rows & in_cols,
        other=0.0,
        eviction_policy="evict_last",
    ).to(FLOAT)
    top_p = tl.load(top_p_rows, mask=in_rows, other=0.0, eviction_policy="evict_last").to(FLOAT)
    seed = tl.load(seed_ptr)
    # z = logits / temperature
    z = logits / temperature
    # p = softmax(z)
    row_max = nan_max(tl.where(in_cols, z, float("-inf")), 1)
    row_top = tl.where(row_max == float("-inf"), 0.0, row_max)
    exps = exp(z - row_top)
    row_total = tl.sum(tl.where(in_cols, exps, 0.0), axis=1, keep_dims=True)
    p = exps / row_total
    # high = max(p)
    high = nan_max(tl.where(in_cols, p, float("-inf")), 1)
    # low = 0.0 * high
    low = 0.0 * high
    # middle = 0.5 * (low + high)
    middle = 0.5 * (low + high)
    # enough = sum(where(p >= middle, p, 0.0)) >= top_p
    row_sum = tl.sum(tl.where(in_cols, tl.where(p >= middle, p, 0.0), 0.0), axis=1, keep_dims=True)
    enough = row_sum >= top_p
    # low, high = where(enough, middle, low), where(enough, high, middle)
    low = tl.where(enough, middle, low)
    high = tl.where(enough, high, middle)
    middle = 0.5 * (low + high)
    row_sum_2 = tl.sum(
        tl.where(in_cols, tl.where(p >= middle, p, 0.0), 0.0), axis=1, keep_dims=True
    )
    enough = row_sum_2 >= top_p
    low = tl.where(enough, middle, low)
    high = tl.where(enough, high, middle)
    middle = 0.5 * (low + high)
    row_sum_3 = tl.sum(
        tl.where(in_cols, tl.where(p >= middle, p, 0.0), 0.0), axis=1, keep_dims=True
    )
    enough = row_sum_3 >= top_p
    low = tl.where(enough, middle, low)
    high = tl.where(enough, high, middle)
    middle = 0.5 * (low + high)
    row_sum_4 = tl.sum(
        tl.where(in_cols, tl.where(p >= middle, p, 0.0), 0.0), axis=1, keep_dims=True
    )
    enough = row_sum_4 >= top_p
    low = tl.where(enough, middle, low)
    high = tl.where(enough, high, middle)
    middle = 0.5 * (low + high)
    row_sum_5 = tl.sum(
        tl.where(in_cols, tl.where(p >= middle, p, 0.0), 0.0), axis=1, keep_dims=True
    )
    enough = row_sum_5 >= top_p
    low = tl.where(enough, middle, low)
    high = tl.where(enough, high, middle)
    middle = 0.5 * (low + high)
    row_sum_6 = tl.sum(
        tl.where(in_cols, tl.where(p >= middle, p, 0.0), 0.0), axis=1, keep_dims=True
    )
    enough = row_sum_6 >= top_p
    low = tl.where(enough, middle, low)
    high = tl.where(enough, high, middle)
    middle = 0.5 * (low + high)
    row_sum_7 = tl.sum(
        tl.where(in_cols, tl.where(p >= middle, p, 0.0), 0.0), axis=1, keep_dims=True
    )
    enough = row_sum_7 >= top_p
    low = tl.where(enough, middle, low)
    high = tl.where(enough, high, middle)
    middle = 0.5 * (low + high)
    row_sum_8 = tl.sum(
        tl.where(in_cols, tl.where(p >= middle, p, 0.0), 0.0), axis=1, keep_dims=True
    )
    enough = row_sum_8 >= top_p
    low = tl.where(enough, middle, low)
    high = tl.where(enough, high, middle)
    middle = 0.5 * (low + high)
    row_sum_9 = tl.sum(
        tl.where(in_cols, tl.where(p >= middle, p, 0.0), 0.0), axis=1, keep_dims=True
    )
    enough = row_sum_9 >= top_p
    low = tl.where(enough, middle, low)
    high = tl.where(enough, high, middle)
    middle = 0.5 * (low + high)
    row_sum_10 = tl.sum(
        tl.where(in_cols, tl.where(p >= middle, p, 0.0), 0.0), axis=1, keep_dims=True
    )
    enough = row_sum_10 >= top_p
    low = tl.where(enough, middle, low)
    high = tl.where(enough, high, middle)
    middle = 0.5 * (low + high)
    row_sum_11 = tl.sum(
        tl.where(in_cols, tl.where(p >= middle, p, 0.0), 0.0), axis=1, keep_dims=True
    )
    enough = row_sum_11 >= top_p
    low = tl.where(enough, middle, low)
    high = tl.where(enough, high, middle)
    middle = 0.5 * (low + high)
    row_sum_12 = tl.sum(
        tl.where(in_cols, tl.where(p >= middle, p, 0.0), 0.0), axis=1, keep_dims=True
    )
    enough = row_sum_12 >= top_p
    low = tl.where(enough, middle, low)
    high = tl.where(enough, high, middle)
    middle = 0.5 * (low + high)
    row_sum_13 = tl.sum(
        tl.where(in_cols, tl.where(p >= middle, p, 0.0), 0.0), axis=1, keep_dims=True
    )
    enough = row_sum_13 >= top_p
    low = tl.where(enough, middle, low)
    high = tl.where(enough, high, middle)
    middle = 0.5 * (low + high)
    row_sum_14 = tl.sum(
        tl.where(in_cols, tl.where(p >= middle, p, 0.0), 0.0), axis=1, keep_dims=True
    )
    enough = row_sum_14 >= top_p
    low = tl.where(enough, middle, low)
    high = tl.where(enough, high, middle)
    middle = 0.5 * (low + high)
    row_sum_15 = tl.sum(
        tl.where(in_cols, tl.where(p >= middle, p, 0.0), 0.0), axis=1, keep_dims=True
    )
    enough = row_sum_15 >= top_p
    low = tl.where(enough, middle, low)
    high = tl.where(enough, high, middle)
    middle = 0.5 * (low + high)
    row_sum_16 = tl.sum(
        tl.where(in_cols, tl.where(p >= middle, p, 0.0), 0.0), axis=1, keep_dims=True
    )
    enough = row_sum_16 >= top_p
    low = tl.where(enough, middle, low)
    high = tl.where(enough, high, middle)
    middle = 0.5 * (low + high)
    row_sum_17 = tl.sum(
        tl.where(in_cols, tl.where(p >= middle, p, 0.0), 0.0), axis=1, keep_dims=True
    )
    enough = row_sum_17 >= top_p
    low = tl.where(enough, middle, low)
    high = tl.where(enough, high, middle)
    middle = 0.5 * (low + high)
    row_sum_18 = tl.sum(
        tl.where(in_cols, tl.where(p >= middle, p, 0.0), 0.0), axis=1, keep_dims=True
    )
    enough = row_sum_18 >= top_p
    low = tl.where(enough, middle, low)
    high = tl.where(enough, high, middle)
    middle = 0.5 * (low + high)
    row_sum_19 = tl.sum(
        tl.where(in_cols, tl.where(p >= middle, p, 0.0), 0.0), axis=1, keep_dims=True
    )
    enough = row_sum_19 >= top_p
    low = tl.where(enough, middle, low)
    high = tl.where(enough, high, middle)
    middle = 0.5 * (low + high)
    row_sum_20 = tl.sum(
        tl.where(in_cols, tl.where(p >= middle, p, 0.0), 0.0), axis=1, keep_dims=True
    )
    enough = row_sum_20 >= top_p
    low = tl.where(enough, middle, low)
    high = tl.where(enough, high, middle)
    middle = 0.5 * (low + high)
    row_sum_21 = tl.sum(
        tl.where(in_cols, tl.where(p >= middle, p, 0.0), 0.0), axis=1, keep_dims=True
    )
    enough = row_sum_21 >= top_p
    low = tl.where(enough, middle, low)
    high = tl.where(enough, high, middle)
    middle = 0.5 * (low + high)
    row_sum_22 = tl.sum(
        tl.where(in_cols, tl.where(p >= middle, p, 0.0), 0.0), axis=1, keep_dims=True
    )
    enough = row_sum_22 >= top_p
    low = tl.where(enough, middle, low)
    high = tl.where(enough, high, middle)
    middle = 0.5 * (low + high)
    row_sum_23 = tl.sum(
        tl.where(in_cols, tl.where(p >= middle, p, 0.0), 0.0), axis=1, keep_dims=True
    )
    enough = row_sum_23 >= top_p
    low = tl.where(enough, middle, low)
    high = tl.where(enough, high, middle)
    middle = 0.5 * (low + high)
    row_sum_24 = tl.sum(
        tl.where(in_cols, tl.where(p >= middle, p, 0.0), 0.0), axis=1, keep_dims=True
    )
    enough = row_sum_24 >= top_p
    low = tl.where(enough, middle, low)
    # gumbel = -log(-log(uniform(seed, M, V)))
    uniforms = uniform(seed, rows * V + cols)
    gumbel = -tl.log(-tl.log(uniforms))
    # return argmax(where(p >= low, z + gumbel, -float("inf")))
    row_argmax = arg_max(
        tl.where(in_cols, tl.where(p >= low, z + gumbel, float("-inf")), float("-inf")), cols, 1
    )
    tl.store(out_rows, row_argmax, mask=in_rows)


def _plan(call: Call) -> Launch:
    """Kernel, config and grid for one set of shapes, strides and dtypes."""
    rows = call.axes(("M",), limit=3, spare_last=True)
    cols = call.axes(("V",), limit=1)
    columns = cols.total
    width = next_power_of_2(columns)

    def block_time(config: Config) -> float:
        work = Work(reads=1, writes=0, flops=199, special=5, joins=28, held=3, held_wide=3)
        return block_cost(config, call.target, work, call.element_size, rows.total, width)

    block = least(call, BLOCK_CONFIGS, block_time)
    if block == float("inf"):
        raise ValueError(
            f"top_p_sample: a row has {columns} columns, {width} when padded to a power of two, and no config of BLOCK_CONFIGS holds as many in registers"
        )

    config = call.choose(BLOCK_CONFIGS, block_time)
    block_m = max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))
    return Launch(
        Step(
            _top_p_sample_block,
            grid=(cdiv(rows.total, block_m),),
            tensors=("logits", "seed", "top_p", "out"),
            integers=(
                rows.total,
                *rows.sizes[1:],
                cols.total,
                *rows.strides("logits"),
                cols.strides("logits")[0],
                *rows.strides("top_p"),
                *rows.strides("out"),
            ),
            params=("temperature",),
            constants={
                "BLOCK_M": block_m,
                "BLOCK_N": width,
                "EVEN_M": rows.total % block_m == 0,
                "EVEN_N": columns == width,
            },
            config=config,
        )
    )


def reference(logits, seed, top_p, temperature, *, compute):
    """Sample among the likeliest tokens that reach top_p together (Holtzman, arXiv:1904.09751).

    The spec in eager PyTorch, op by op. `compute` is the type of arithmetic; None keeps that of
    the inputs. Tensors have the spec's dimensions, results are not rounded to their storage type.
    """
    M = logits.shape[0]
    V = logits.shape[1]
    logits = widen(logits, compute)
    top_p = widen(top_p, compute)
    # z = logits / temperature
    z = logits / temperature
    # p = softmax(z)
    p = torch.softmax(z, -1)
    # high = max(p)
    high = p.amax(-1)
    # low = 0.0 * high
    low = 0.0 * high
    # middle = 0.5 * (low + high)
    middle = 0.5 * (low + high)
    # enough = sum(where(p >= middle, p, 0.0)) >= top_p
    enough = torch.where(p >= middle[:, None], p, 0.0).sum(-1) >= top_p
    # low, high = where(enough, middle, low), where(enough, high, middle)
    low_2 = torch.where(enough, middle, low)
    high_2 = torch.where(enough, high, middle)
    middle_2 = 0.5 * (low_2 + high_2)
    enough_2 = torch.where(p >= middle_2[:, None], p, 0.0).sum(-1) >= top_p
    low_3 = torch.where(enough_2, middle_2, low_2)
    high_3 = torch.where(enough_2, high_2, middle_2)
    middle_3 = 0.5 * (low_3 + high_3)
    enough_3 = torch.where(p >= middle_3[:, None], p, 0.0).sum(-1) >= top_p
    low_4 = torch.where(enough_3, middle_3, low_3)
    high_4 = torch.where(enough_3, high_3, middle_3)
    middle_4 = 0.5 * (low_4 + high_4)
    enough_4 = torch.where(p >= middle_4[:, None], p, 0.0).sum(-1) >= top_p
    low_5 = torch.where(enough_4, middle_4, low_4)
    high_5 = torch.where(enough_4, high_4, middle_4)
    middle_5 = 0.5 * (low_5 + high_5)
    enough_5 = torch.where(p >= middle_5[:, None], p, 0.0).sum(-1) >= top_p
    low_6 = torch.where(enough_5, middle_5, low_5)
    high_6 = torch.where(enough_5, high_5, middle_5)
    middle_6 = 0.5 * (low_6 + high_6)
    enough_6 = torch.where(p >= middle_6[:, None], p, 0.0).sum(-1) >= top_p
    low_7 = torch.where(enough_6, middle_6, low_6)
    high_7 = torch.where(enough_6, high_6, middle_6)
    middle_7 = 0.5 * (low_7 + high_7)
    enough_7 = torch.where(p >= middle_7[:, None], p, 0.0).sum(-1) >= top_p
    low_8 = torch.where(enough_7, middle_7, low_7)
    high_8 = torch.where(enough_7, high_7, middle_7)
    middle_8 = 0.5 * (low_8 + high_8)
    enough_8 = torch.where(p >= middle_8[:, None], p, 0.0).sum(-1) >= top_p
    low_9 = torch.where(enough_8, middle_8, low_8)
    high_9 = torch.where(enough_8, high_8, middle_8)
    middle_9 = 0.5 * (low_9 + high_9)
    enough_9 = torch.where(p >= middle_9[:, None], p, 0.0).sum(-1) >= top_p
    low_10 = torch.where(enough_9, middle_9, low_9)
    high_10 = torch.where(enough_9, high_9, middle_9)
    middle_10 = 0.5 * (low_10 + high_10)
    enough_10 = torch.where(p >= middle_10[:, None], p, 0.0).sum(-1) >= top_p
    low_11 = torch.where(enough_10, middle_10, low_10)
    high_11 = torch.where(enough_10, high_10, middle_10)
    middle_11 = 0.5 * (low_11 + high_11)
    enough_11 = torch.where(p >= middle_11[:, None], p, 0.0).sum(-1) >= top_p
    low_12 = torch.where(enough_11, middle_11, low_11)
    high_12 = torch.where(enough_11, high_11, middle_11)
    middle_12 = 0.5 * (low_12 + high_12)
    enough_12 = torch.where(p >= middle_12[:, None], p, 0.0).sum(-1) >= top_p
    low_13 = torch.where(enough_12, middle_12, low_12)
    high_13 = torch.where(enough_12, high_12, middle_12)
    middle_13 = 0.5 * (low_13 + high_13)
    enough_13 = torch.where(p >= middle_13[:, None], p, 0.0).sum(-1) >= top_p
    low_14 = torch.where(enough_13, middle_13, low_13)
    high_14 = torch.where(enough_13, high_13, middle_13)
    middle_14 = 0.5 * (low_14 + high_14)
    enough_14 = torch.where(p >= middle_14[:, None], p, 0.0).sum(-1) >= top_p
    low_15 = torch.where(enough_14, middle_14, low_14)
    high_15 = torch.where(enough_14, high_14, middle_14)
    middle_15 = 0.5 * (low_15 + high_15)
    enough_15 = torch.where(p >= middle_15[:, None], p, 0.0).sum(-1) >= top_p
    low_16 = torch.where(enough_15, middle_15, low_15)
    high_16 = torch.where(enough_15, high_15, middle_15)
    middle_16 = 0.5 * (low_16 + high_16)
    enough_16 = torch.where(p >= middle_16[:, None], p, 0.0).sum(-1) >= top_p
    low_17 = torch.where(enough_16, middle_16, low_16)
    high_17 = torch.where(enough_16, high_16, middle_16)
    middle_17 = 0.5 * (low_17 + high_17)
    enough_17 = torch.where(p >= middle_17[:, None], p, 0.0).sum(-1) >= top_p
    low_18 = torch.where(enough_17, middle_17, low_17)
    high_18 = torch.where(enough_17, high_17, middle_17)
    middle_18 = 0.5 * (low_18 + high_18)
    enough_18 = torch.where(p >= middle_18[:, None], p, 0.0).sum(-1) >= top_p
    low_19 = torch.where(enough_18, middle_18, low_18)
    high_19 = torch.where(enough_18, high_18, middle_18)
    middle_19 = 0.5 * (low_19 + high_19)
    enough_19 = torch.where(p >= middle_19[:, None], p, 0.0).sum(-1) >= top_p
    low_20 = torch.where(enough_19, middle_19, low_19)
    high_20 = torch.where(enough_19, high_19, middle_19)
    middle_20 = 0.5 * (low_20 + high_20)
    enough_20 = torch.where(p >= middle_20[:, None], p, 0.0).sum(-1) >= top_p
    low_21 = torch.where(enough_20, middle_20, low_20)
    high_21 = torch.where(enough_20, high_20, middle_20)
    middle_21 = 0.5 * (low_21 + high_21)
    enough_21 = torch.where(p >= middle_21[:, None], p, 0.0).sum(-1) >= top_p
    low_22 = torch.where(enough_21, middle_21, low_21)
    high_22 = torch.where(enough_21, high_21, middle_21)
    middle_22 = 0.5 * (low_22 + high_22)
    enough_22 = torch.where(p >= middle_22[:, None], p, 0.0).sum(-1) >= top_p
    low_23 = torch.where(enough_22, middle_22, low_22)
    high_23 = torch.where(enough_22, high_22, middle_22)
    middle_23 = 0.5 * (low_23 + high_23)
    enough_23 = torch.where(p >= middle_23[:, None], p, 0.0).sum(-1) >= top_p
    low_24 = torch.where(enough_23, middle_23, low_23)
    high_24 = torch.where(enough_23, high_23, middle_23)
    middle_24 = 0.5 * (low_24 + high_24)
    enough_24 = torch.where(p >= middle_24[:, None], p, 0.0).sum(-1) >= top_p
    low_25 = torch.where(enough_24, middle_24, low_24)
    # gumbel = -log(-log(uniform(seed, M, V)))
    gumbel = -torch.log(
        -torch.log(
            uniform_reference(seed, positions(logits.device, M, V)).to(compute or torch.float32)
        )
    )
    return torch.where(p >= low_25[:, None], z + gumbel, -torch.inf).argmax(-1)


OP = Op(
    name="top_p_sample",
    spec_hash="23ad1d28",
    inputs=(
        Operand("logits", ("M", "V")),
        Operand("seed", (), kind="int"),
        Operand("top_p", ("M",)),
    ),
    params=(Param("temperature", "float", 1.0),),
    outputs=(Output("out", ("M",), dtype=torch.int64),),
    fold="M",
    inplace=("logits",),
    nonempty=("V",),
    positional=True,
    variants={
        (): Variant(_plan, reference),
    },
)


def top_p_sample(
    logits: torch.Tensor,
    seed: torch.Tensor,
    top_p: torch.Tensor,
    temperature: float = 1.0,
    *,
    out: torch.Tensor | None = None,
    backend: str = "auto",
    autotune: bool = False,
) -> torch.Tensor:
    """Sample among the likeliest tokens that reach top_p together (Holtzman, arXiv:1904.09751).

    They are those above a threshold found by bisection, and one is drawn by the Gumbel maximum.

    Args:
        logits: [M, V], floats.
        seed: [], integers.
        top_p: [M], floats.
        temperature: float.
        out: where to write out.
        backend: "triton", "torch" (the eager reference) or "auto".
        autotune: time the configs of the schedule at hand, and remember the fastest.

    Returns:
        out: [M], i64.
        M may stand for several dimensions.
    """
    tensors = (logits, seed, top_p)
    params = (temperature,)
    return OP(tensors, params, out, backend, autotune)
