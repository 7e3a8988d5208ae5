"""Kernels that map one jit helper over a vector; tests launch them directly."""

import triton
import triton.language as tl

from ._runtime import (
    arg_max,
    arg_min,
    expm1,
    log1p,
    maximum,
    minimum,
    nan_max,
    nan_min,
    narrow,
    round_even,
    scalar,
    tanh,
    uniform,
)


@triton.jit
def map_unary(x_ptr, y_ptr, N, NAME: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < N
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    if NAME == "tanh":
        y = tanh(x)
    elif NAME == "log1p":
        y = log1p(x)
    elif NAME == "expm1":
        y = expm1(x)
    else:
        y = round_even(x)
    tl.store(y_ptr + offsets, y, mask=mask)


@triton.jit
def map_binary(a_ptr, b_ptr, y_ptr, LARGER: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    a = tl.load(a_ptr + offsets)
    b = tl.load(b_ptr + offsets)
    if LARGER:
        y = maximum(a, b)
    else:
        y = minimum(a, b)
    tl.store(y_ptr + offsets, y)


@triton.jit
def map_narrow(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < N
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, narrow(x, y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def reduce_rows(x_ptr, y_ptr, where_ptr, LARGER: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, M)[:, None]
    columns = tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + rows * N + columns)
    if LARGER:
        tl.store(y_ptr + rows, nan_max(x, 1))
        tl.store(where_ptr + rows, arg_max(x, columns, 1).to(tl.int64))
    else:
        tl.store(y_ptr + rows, nan_min(x, 1))
        tl.store(where_ptr + rows, arg_min(x, columns, 1).to(tl.int64))


@triton.jit
def store_scalar(y_ptr, x, FLOAT: tl.constexpr):
    tl.store(y_ptr, scalar(x, FLOAT))


@triton.jit
def draw(y_ptr, seed, start, BLOCK: tl.constexpr, INT: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, uniform(seed, start + offsets.to(INT)))
