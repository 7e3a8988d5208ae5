"""What the check of gradients looks at: subsets, layouts, poison, and autograd as it is."""

import random
import warnings
from pathlib import Path

import pytest
import torch

from tilegen.spec.load import load_folder
from tilegen.toolchain import backward, check, matrix
from tilegen.toolchain.inputs import Draw, draw
from tilegen.toolchain.matrix import Launching
from tilegen.toolchain.shapes import Shape, subsets
from tilegen.toolchain.subject import Backward, Subject, backward_of, subject

ROOT = Path(__file__).parents[2]
LOADED = {item.spec.name: item for item in load_folder(ROOT / "specs")[0]}
CPU = torch.device("cpu")

check.prepare()


def of(name: str) -> Subject:
    return subject(LOADED[name], ROOT / "generated")


def backward_op(name: str) -> Backward:
    op = of(name)
    found = backward_of(op, op.traced.variants[0])
    assert found is not None
    return found


def test_an_op_that_passes_gradients_on_has_no_backward_of_its_own() -> None:
    op = of("vector_add")
    assert backward_of(op, op.traced.variants[0]) is None
    with torch.no_grad():
        records = list(check.check_gradients(op, op.traced.variants[0], CPU, full=False, seed=0))
    assert {record.launch for record in records} == {
        "autograd of x, y", "autograd of x", "autograd of y",
    }  # fmt: skip
    assert all(record.ok for record in records)


def test_subsets_are_all_each_alone_and_one_more() -> None:
    assert subsets(["x"], 3) == [("x",)]
    assert subsets(["x", "y"], 3) == [("x", "y"), ("x",), ("y",)]
    assert subsets(["x", "y", "z"], 1)[-1] == ("x", "z")


def test_every_subset_layout_and_schedule_is_in_the_sample() -> None:
    op = backward_op("layernorm")
    variant = op.traced.variants[-1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = list(matrix.draws(op, variant, CPU, full=False, chance=random.Random(0)))
    assert {how.wanted for how, _ in made} >= {("grad_x",), ("grad_weight",), ("grad_bias",), ()}
    assert {one.schedule for _, launches in made for one in launches} >= {"block", "loop", "split"}


@pytest.mark.parametrize(("layout", "seed", "strides"), [
    ("contiguous", 0, (9, 1)), ("contiguous", 2, (0, 0)), ("sliced", 1, (18, 2)),
    ("transposed", 1, (1, 4)), ("expanded", 1, (0, 1)),
])  # fmt: skip
def test_upstream_gradients_take_every_layout(
    layout: str, seed: int, strides: tuple[int, ...]
) -> None:
    op = of("rmsnorm")
    how = Draw(Shape({"M": 4, "N": 9}), torch.float32, layout=layout, seed=seed)
    upstream = backward.with_upstream(op, op.traced.variants[0], how, CPU).tensors[-1]
    assert upstream is not None
    assert upstream.stride() == strides


def test_the_upstream_gradient_of_a_loss_is_one_value() -> None:
    op = of("mse_loss")
    how = Draw(Shape({"M": 4, "N": 9}), torch.float32, seed=2)
    upstream = backward.with_upstream(op, op.traced.variants[0], how, CPU).tensors[-1]
    assert upstream is not None
    assert upstream.shape == ()


def test_what_only_tells_a_shape_is_poison() -> None:
    op = backward_op("dyt")
    how = Draw(Shape({"M": 2, "N": 5}), torch.float32)
    given = draw(op, op.traced.variants[0], how, CPU)
    known = dict(zip((o.name for o in op.op.inputs), given.tensors, strict=True))
    assert known["bias"] is not None
    assert bool(known["bias"].isnan().all())


def test_casts_of_the_spec_do_not_round_the_reference_gradient() -> None:
    """In PyTorch a gradient takes the type of each value that it passes."""
    op = of("rmsnorm_llama")
    how = Draw(Shape({"M": 3, "N": 40}), torch.bfloat16)
    given = backward.with_upstream(op, op.traced.variants[0], how, CPU)
    found = backward.gradients(op, op.traced.variants[0], given, torch.float64)
    assert all(value.dtype == torch.float64 for value in found.values())
    assert not torch.equal(found["x"], found["x"].bfloat16().double())
    x, weight, upstream = (t.double() for t in given.tensors if t is not None)
    rstd = torch.rsqrt((x * x).mean(-1, keepdim=True) + given.params[0])
    along = upstream * weight
    right = along * rstd - x * rstd**3 * (along * x).mean(-1, keepdim=True)
    torch.testing.assert_close(found["x"], right, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("dtype", "mixed", "rounds"), [
    (torch.bfloat16, True, True), (torch.float8_e5m2, False, True), (torch.float32, False, False),
])  # fmt: skip
def test_a_backward_may_err_by_what_the_rounding_of_its_inputs_costs(
    dtype: torch.dtype, mixed: bool, rounds: bool
) -> None:
    op = backward_op("add_rmsnorm")
    how = Draw(Shape({"M": 3, "N": 9}), dtype, mixed=mixed)
    variant = op.traced.variants[0]
    moved = backward.rounding_of_kept(op, variant, how, draw(op, variant, how, CPU))
    assert all((0 < move < 1) is rounds for move in moved)


def test_thirty_runs_give_the_same_bits() -> None:
    op = backward_op("rmsnorm")
    how = Draw(Shape({"M": 5, "N": 70}), torch.float32, layout="mixed 1")
    given = draw(op, op.traced.variants[0], how, CPU)
    runs = [Launching().run(op, given, None) for _ in range(30)]
    for run in runs[1:]:
        assert all(torch.equal(one, other) for one, other in zip(run, runs[0], strict=True))
