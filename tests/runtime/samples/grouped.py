"""Two kernels with a workspace, two outputs, and every kind of argument.

y = x * scale (+ or *) bias, dropped where uniform(seed) >= keep; total sums y over each row.
"""

import torch
import triton
import triton.language as tl

from ._runtime import (
    Call,
    Launch,
    Op,
    Operand,
    Output,
    Param,
    Step,
    Variant,
    narrow,
    next_power_of_2,
    scalar,
    uniform,
    uniform_reference,
)


@triton.jit
def _grouped_map(
    x_ptr, bias_ptr, wide_ptr, N, R, x_m, x_g, x_r, bias_g, scale, seed, HAS_BIAS: tl.constexpr,
    MODE: tl.constexpr, DROP: tl.constexpr, BLOCK: tl.constexpr, INT: tl.constexpr,
    FLOAT: tl.constexpr
):  # fmt: skip
    row = tl.program_id(0).to(INT)
    n = tl.arange(0, BLOCK)
    mask = n < N
    y = tl.load(x_ptr + row * x_m + n // R * x_g + n % R * x_r, mask=mask, other=0.0).to(
        FLOAT
    ) * scalar(scale, FLOAT)
    if HAS_BIAS:
        bias = tl.load(bias_ptr + n // R * bias_g, mask=mask, other=0.0).to(FLOAT)
        if MODE == "add":
            y = y + bias
        else:
            y = y * bias
    if DROP:
        y = tl.where(uniform(seed, row * N + n) < 0.5, y, 0.0)
    tl.store(wide_ptr + row * N + n, y, mask=mask)


@triton.jit
def _grouped_finish(wide_ptr, y_ptr, total_ptr, N, R, y_m, y_g, y_r, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    n = tl.arange(0, BLOCK)
    mask = n < N
    y = tl.load(wide_ptr + row * N + n, mask=mask, other=0.0)
    tl.store(
        y_ptr + row * y_m + n // R * y_g + n % R * y_r, narrow(y, y_ptr.dtype.element_ty), mask=mask
    )
    tl.store(total_ptr + row, tl.sum(y, 0))


def _plan(has_bias, mode, drop):
    def plan(call: Call) -> Launch:
        rows = call.axes(("M",), limit=1)
        total = call.sizes["G"] * call.sizes["R"]
        block = {"BLOCK": next_power_of_2(total)}
        return Launch(
            Step(
                _grouped_map,
                grid=(rows.total,),
                tensors=("x", "bias", "wide"),
                integers=(
                    total,
                    max(1, call.sizes["R"]),
                    *rows.strides("x"),
                    call.stride("x", "G"),
                    call.stride("x", "R"),
                    call.stride("bias", "G"),
                ),
                params=("scale", "seed"),
                constants={"HAS_BIAS": has_bias, "MODE": mode, "DROP": drop, **block},
            ),
            Step(
                _grouped_finish,
                grid=(rows.total,),
                tensors=("wide", "y", "total"),
                integers=(
                    total,
                    max(1, call.sizes["R"]),
                    *rows.strides("y"),
                    call.stride("y", "G"),
                    call.stride("y", "R"),
                ),
                constants=block,
            ),
            workspaces={"wide": ((rows.total, total), call.float)},
        )

    return plan


def _reference(has_bias, mode, drop):
    def reference(x, bias, scale, seed, mode_, drop_, groups, fixed, *, compute=torch.float32):
        assert (bias is not None, mode_, drop_, fixed) == (has_bias, mode, drop, 7)
        y = x.to(compute) * scale
        if bias is not None:
            spread = bias.to(compute).repeat_interleave(x.shape[1] // bias.shape[0])
            y = y + spread if mode == "add" else y * spread
        if drop:
            positions = torch.arange(y.numel(), device=x.device).view(y.shape)
            y = torch.where(uniform_reference(seed, positions) < 0.5, y, 0.0)
        return y.to(x.dtype), y.sum(1)

    return reference


OP = Op(
    name="grouped",
    spec_hash="77777777",
    inputs=(Operand("x", ("M", ("G", "R"))), Operand("bias", ("G",), optional=True)),
    params=(
        Param("scale", "float", 1.0),
        Param("seed", "int", 0),
        Param("mode", "literal", "add", choices=("add", "mul")),
        Param("drop", "bool", False),
        Param("groups", "size", dim="G"),
        Param("fixed", "static", 7),
    ),
    outputs=(Output("y", ("M", ("G", "R")), like="x"), Output("total", ("M",), dtype="float")),
    fold="M",
    specialize=("bias", "mode", "drop"),
    inplace=("x",),
    variants={
        key: Variant(_plan(*key), _reference(*key))
        for key in [(b, m, d) for b in (False, True) for m in ("add", "mul") for d in (False, True)]
    },
)


def grouped(
    x, bias, scale=1.0, seed=0, mode="add", drop=False, *, groups, fixed=7, out=None,
    backend="auto", autotune=False
):  # fmt: skip
    return OP((x, bias), (scale, seed, mode, drop, groups, fixed), out, backend, autotune)
