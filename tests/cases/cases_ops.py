"""The ops of `generated/`, and benign inputs for them."""

import random
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
