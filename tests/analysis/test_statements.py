"""What is counted of the statements of a kernel."""

import pytest
from analysis_ops import op

from tilegen.analysis.statements import Pass, Shape, passes


def read(name: str, kind: str) -> tuple[Pass, ...]:
    variant = op(name).variants[0]
    schedule = next(one for one in variant.programs[0].schedules if one.kind == kind)
    return passes(schedule.kernels[0], variant.graph.operands)


def test_rows_and_elements_are_told_apart() -> None:
    (one,) = read("rmsnorm", "block")
    assert one.flops[Shape.ELEMENT] == 4
    assert one.flops[Shape.ROW] == 3
    assert one.special[Shape.ROW] == 2
    assert [(a.tensor, a.store) for a in one.accesses] == [
        ("x", False),
        ("weight", False),
        ("out", True),
    ]
    assert one.reductions == 1


def test_sweeps_count_what_they_do_again() -> None:
    first, second = read("add_rmsnorm", "loop")
    assert first.loops
    assert second.loops
    assert first.flops[Shape.ELEMENT] == 3  # the sum, its square, the total
    assert second.flops[Shape.ELEMENT] == 3  # the sum again, and two products
    loads = [[a.tensor for a in one.accesses if not a.store] for one in (first, second)]
    assert loads == [["x", "residual"], ["x", "residual", "weight"]]


def test_a_gather_of_one_element_is_a_row_access() -> None:
    (one,) = read("cross_entropy", "block")
    shapes = {(a.tensor, a.shape) for a in one.accesses}
    assert ("logits", Shape.ELEMENT) in shapes
    assert ("logits", Shape.ROW) in shapes
    assert ("target", Shape.ROW) in shapes


@pytest.mark.parametrize(("name", "size", "held"), [
    ("vector_add", 4, 2.0),  # two loaded values, whose sum takes the place of one
    ("vector_add", 8, 4.0),
    ("layernorm", 2, 1.5),  # a packed half, and what is centred
    ("add_layernorm", 2, 2.0),  # the sum, and what is centred
    ("add_rmsnorm", 4, 2.0),
])  # fmt: skip
def test_live_values(name: str, size: int, held: float) -> None:
    kind = "flat" if name == "vector_add" else "block"
    assert read(name, kind)[0].held[size] == held
