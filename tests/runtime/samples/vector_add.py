"""z = x + y over any dims: a flat kernel for contiguous tensors, a strided one for the others."""

import torch
import triton
import triton.language as tl

from ._runtime import Call, Config, Launch, Op, Operand, Output, Step, Variant, cdiv, narrow

FLAT_CONFIGS = {
    ("sm_80", 2): (Config(BLOCK=1024, num_warps=4), Config(BLOCK=2048, num_warps=8)),
    ("sm_90", 2): (Config(BLOCK=1024, num_warps=4), Config(BLOCK=4096, num_warps=8)),
    ("sm_90", 4): (Config(BLOCK=1024, num_warps=4),),
}


@triton.jit
def _vector_add_flat(
    x_ptr, y_ptr, z_ptr, N, BLOCK: tl.constexpr, INT: tl.constexpr, FLOAT: tl.constexpr
):
    offsets = tl.program_id(0).to(INT) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < N
    x = tl.load(x_ptr + offsets, mask=mask).to(FLOAT)
    y = tl.load(y_ptr + offsets, mask=mask).to(FLOAT)
    tl.store(z_ptr + offsets, narrow(x + y, z_ptr.dtype.element_ty), mask=mask)


@triton.jit
def _vector_add_strided(
    x_ptr, y_ptr, z_ptr, total, N1, N2, N3, x_0, x_1, x_2, x_3, y_0, y_1, y_2, y_3, z_0, z_1, z_2,
    z_3, BLOCK: tl.constexpr, INT: tl.constexpr, FLOAT: tl.constexpr
):  # fmt: skip
    flat = tl.program_id(0).to(INT) * BLOCK + tl.arange(0, BLOCK)
    mask = flat < total
    i_3 = flat % N3
    i_2 = flat // N3 % N2
    i_1 = flat // N3 // N2 % N1
    i_0 = flat // N3 // N2 // N1
    x_offsets = i_0 * x_0 + i_1 * x_1 + i_2 * x_2 + i_3 * x_3
    y_offsets = i_0 * y_0 + i_1 * y_1 + i_2 * y_2 + i_3 * y_3
    z_offsets = i_0 * z_0 + i_1 * z_1 + i_2 * z_2 + i_3 * z_3
    x = tl.load(x_ptr + x_offsets, mask=mask).to(FLOAT)
    y = tl.load(y_ptr + y_offsets, mask=mask).to(FLOAT)
    tl.store(z_ptr + z_offsets, narrow(x + y, z_ptr.dtype.element_ty), mask=mask)


def _plan(call: Call) -> Launch:
    axes = call.axes(("N",), limit=4, reorder=True)
    flat = axes.sizes[-1] == axes.total and all(
        axes.strides(name)[-1] == 1 for name in ("x", "y", "z")
    )
    config = call.choose(FLAT_CONFIGS, lambda config: cdiv(axes.total, config["BLOCK"]))
    grid = (cdiv(axes.total, config["BLOCK"]),)
    constants = {"BLOCK": config["BLOCK"]}
    tensors = ("x", "y", "z")
    if flat:
        return Launch(
            Step(
                _vector_add_flat,
                grid=grid,
                tensors=tensors,
                integers=(axes.total,),
                constants=constants,
                config=config,
            )
        )
    return Launch(
        Step(
            _vector_add_strided,
            grid=grid,
            tensors=tensors,
            integers=(
                axes.total,
                *axes.sizes[1:],
                *axes.strides("x"),
                *axes.strides("y"),
                *axes.strides("z"),
            ),
            constants=constants,
            config=config,
        )
    )


def reference(x, y, *, compute=torch.float32):
    return (x.to(compute) + y.to(compute)).to(x.dtype)


OP = Op(
    name="vector_add",
    spec_hash="0a1b2c3d",
    inputs=(Operand("x", ("N",)), Operand("y", ("N",))),
    outputs=(Output("z", ("N",), like="x"),),
    fold="N",
    inplace=("x", "y"),
    preserve_strides=True,
    variants={(): Variant(_plan, reference)},
)


def vector_add(x, y, *, out=None, backend="auto", autotune=False):
    return OP((x, y), (), out, backend, autotune)
