"""Eager's error, which a kernel may have twice, is no luck of a few rows."""

import math
from pathlib import Path

import pytest
import torch

from tilegen.spec.load import load_folder
from tilegen.toolchain import baseline, check, compare
from tilegen.toolchain.inputs import Draw, draw
from tilegen.toolchain.shapes import Shape
from tilegen.toolchain.subject import Subject, subject

ROOT = Path(__file__).parents[2]
LOADED = {item.spec.name: item for item in load_folder(ROOT / "specs")[0]}
CPU = torch.device("cpu")

check.prepare()


def of(name: str) -> Subject:
    return subject(LOADED[name], ROOT / "generated")


def more(name: str, shape: Shape, values: str = "normal") -> list[Draw]:
    return list(baseline.more_draws(of(name), Draw(shape, torch.float32, values, "expanded", 3)))


HEADS = {"B": 1, "S": 2, "H": 1, "Two": 2, "D": 9, "P": 3}


@pytest.mark.parametrize(("name", "shape", "values", "sizes"), [
    ("rmsnorm", Shape({"M": 3, "N": 100}), "normal", {"M": 513, "N": 100}),
    ("rmsnorm", Shape({"M": 2, "N": 100}, (2, 2)), "normal", {"M": 128, "N": 100}),
    ("qk_norm_rope", Shape(HEADS), "normal", {**HEADS, "B": 256}),
    ("silu", Shape({"N": 100}), "normal", {"N": 600}),
    ("bias_gelu", Shape({"M": 2, "N": 100}), "constant", {"M": 512, "N": 100}),
])  # fmt: skip
def test_a_shape_gets_more_rows(
    name: str, shape: Shape, values: str, sizes: dict[str, int]
) -> None:
    (other,) = more(name, shape, values)
    assert other.shape.sizes == sizes
    assert other.shape.leading == shape.leading
    assert (other.values, other.layout) == (values, "contiguous")


@pytest.mark.parametrize(("name", "sizes", "values"), [
    ("mse_loss", {"M": 3, "N": 4}, "normal"),
    ("silu", {"N": 100}, "constant"),
])  # fmt: skip
def test_without_rows_there_are_more_draws(name: str, sizes: dict[str, int], values: str) -> None:
    others = more(name, Shape(sizes), values)
    assert len(others) == baseline.MOST_DRAWS - 1
    assert len({other.seed for other in others}) == len(others)


def test_enough_rows_are_left_alone() -> None:
    assert more("rmsnorm", Shape({"M": 512, "N": 4})) == []


def test_more_draws_have_the_same_types_and_params() -> None:
    op = of("cross_entropy")
    variant = op.traced.variants[-1]
    how = Draw(Shape({"M": 2, "V": 9}), torch.float32, seed=5, defaults=False)
    (other,) = baseline.more_draws(op, how)
    one, two = (draw(op, variant, item, CPU) for item in (how, other))
    assert one.params == two.params
    assert [t.dtype for t in one.tensors if t is not None] == [
        t.dtype for t in two.tensors if t is not None
    ]


def test_one_row_is_not_held_to_eagers_luck() -> None:
    """Over seeds, eager's error on a row alone varies by far more than what kernels are held to."""
    op = of("l2norm")
    variant = op.traced.variants[0]
    function = op.op.variants[variant.key].reference
    alone, held = [], []
    for seed in range(8):
        how = Draw(Shape({"M": 1, "N": 300}), torch.float32, "constant", seed=seed)
        inputs = draw(op, variant, how, CPU)
        exact, eager = (
            baseline.evaluate(op, function, inputs, compute)[0]
            for compute in (torch.float64, torch.float32)
        )
        alone.append(compare.largest_error(eager, exact) / float(exact.abs().max()))
        held.append(baseline.baseline(op, variant, how, inputs, CPU).errors[0])
    assert max(alone) > 2 * min(alone)
    assert min(held) > 0.25 * max(held)
    assert all(math.isfinite(error) and error < 1e-5 for error in held)
