"""The ops of `generated/`, and benign inputs for them."""

import random
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from tilegen.spec.load import load_folder
from tilegen.spec.trace import Variant
from tilegen.toolchain.inputs import Draw, Inputs, draw
from tilegen.toolchain.shapes import Shape, shape
from tilegen.toolchain.subject import Subject, load_module, subject

ROOT = Path(__file__).parents[2]
LOADED = {item.spec.name: item for item in load_folder(ROOT / "specs")[0]}
OPS = tuple(LOADED)
CPU = torch.device("cpu")
HAS_GPU = torch.cuda.is_available()

gpu = pytest.mark.gpu
needs_gpu = pytest.mark.skipif(not HAS_GPU, reason="no GPU")


@cache
def of(name: str) -> Subject:
    return subject(LOADED[name], ROOT / "generated")


def function(name: str) -> Any:
    """The public function of an op."""
    return getattr(load_module(ROOT / "generated", name), name)


def variants(*names: str) -> list[Any]:
    """Every variant of these ops (of all, if none is named), as parameters of a test."""
    return [
        pytest.param(name, variant, id=f"{name}-{'-'.join(map(str, variant.key))}".rstrip("-"))
        for name in names or OPS
        for variant in of(name).traced.variants
    ]


def sizes(name: str, inner: int = 19, seed: int = 1) -> Shape:
    return shape(of(name), inner, random.Random(seed), 8, ())


def inputs(
    name: str, variant: Variant, item: Shape | None = None, layout: str = "contiguous",
    dtype: torch.dtype = torch.float32, seed: int = 0,
) -> Inputs:  # fmt: skip
    how = Draw(item or sizes(name), dtype, layout=layout, seed=seed)
    return draw(of(name), variant, how, CPU)


def call(name: str, given: Inputs, **options: Any) -> tuple[torch.Tensor, ...]:
    """The public call: what the op gives, as a tuple."""
    results = function(name)(*arguments(name, given), **options)
    return (results,) if isinstance(results, torch.Tensor) else results


def arguments(name: str, given: Inputs) -> list[Any]:
    """Tensors and params in the order of the signature."""
    traced = of(name).traced
    names = [*(o.name for o in traced.operands), *(p.name for p in traced.params)]
    values = dict(zip(names, (*given.tensors, *given.params), strict=True))
    return [values[name] for name in traced.order]


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors have the same values, NaN at the same places, whatever their strides."""
    return torch.equal(one.double().nan_to_num(123.0), other.double().nan_to_num(123.0)) and (
        one.dtype == other.dtype
    )


def leaves(name: str, variant: Variant, given: Inputs) -> tuple[Inputs, list[torch.Tensor]]:
    """The inputs again, where those that have a gradient require it (views stay views), and these."""
    known = of(name).op.variants[variant.key].gradients
    tensors = [
        t.detach().requires_grad_() if t is not None and o.name in known else t
        for o, t in zip(of(name).op.inputs, given.tensors, strict=True)
    ]
    return replace(given, tensors=tuple(tensors)), [
        t for t in tensors if t is not None and t.requires_grad
    ]


def upstream_of(results: tuple[torch.Tensor, ...], seed: int = 7) -> list[torch.Tensor]:
    """Upstream gradients of the results that have one."""
    generator = torch.Generator().manual_seed(seed)
    wanted = [result for result in results if result.requires_grad]
    return [
        torch.randn(t.shape, generator=generator, dtype=torch.float64).to(t.dtype) for t in wanted
    ]


def gradients(
    name: str, variant: Variant, given: Inputs, upstream: list[torch.Tensor] | None = None,
    **options: Any,
) -> tuple[torch.Tensor, ...]:  # fmt: skip
    """The gradients of all inputs that have one, by default with random upstream gradients."""
    inputs_, wanted = leaves(name, variant, given)
    results = call(name, inputs_, **options)
    differentiable = [result for result in results if result.requires_grad]
    return torch.autograd.grad(differentiable, wanted, upstream or upstream_of(results))
