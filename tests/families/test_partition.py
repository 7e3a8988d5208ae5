"""Where graphs are cut into stages, and what passes between them."""

from pathlib import Path

import pytest

from tilegen import errors
from tilegen.build import BuiltOp, build_files, build_named
from tilegen.explain import explain
from tilegen.spec.load import spec_files
from tilegen.targets import TARGETS, get

HOSTILE = Path(__file__).parents[1] / "hostile" / "hostile_specs.py"
SPECS = Path(__file__).parents[2] / "specs"


def built(name: str) -> BuiltOp:
    return build_named(HOSTILE, name, TARGETS)


@pytest.mark.parametrize(
    ("name", "columns", "internal"),
    [
        ("both_ways", [("M",), ("N",), ()], []),  # its results are what it needs
        ("sinkhorn", [("N",), ("M",)], ["row_logsumexp_2"]),
        ("last_best", [("N",), ("M",)], ["best", "row_all"]),
        ("outer", [("N",), ()], ["row_sum_2"]),
        ("three_biases", [("C", "H", "W")], []),
    ],
)
def test_stages(name: str, columns: list[tuple[str, ...]], internal: list[str]) -> None:
    (variant,) = built(name).variants
    assert [program.columns for program in variant.programs] == columns
    assert [output.name for output in variant.internal] == internal


def test_stages_are_explained() -> None:
    text = explain(built("both_ways"), {}, get("h200")).text(rejected=False)
    assert "3 stages, which reduce (M), then (N), then nothing: total, top in memory" in text


def test_what_every_op_of_the_catalogue_needs_fits_one_stage() -> None:
    for op in build_files(spec_files(SPECS), TARGETS):
        assert all(len(variant.programs) == 1 for variant in op.variants), op.traced.name


def test_a_stage_reads_what_it_needs_and_no_more() -> None:
    first, second = built("outer").variants[0].programs
    assert [operand.name for operand in first.graph.operands] == ["x"]
    assert [operand.name for operand in second.graph.operands] == ["b", "row_sum_2"]


def test_no_output_may_overwrite_what_a_later_stage_reads() -> None:
    assert "inplace" not in built("sinkhorn").text


def test_a_rowwise_op_reduces(tmp_path: Path) -> None:
    spec = tmp_path / "plain.py"
    spec.write_text(
        "from tilegen import M, N, Tensor, Value, rowwise\n\n\n"
        '@rowwise\ndef plain(x: Tensor[M, N]) -> Value:\n    """Twice."""\n    return x * 2\n'
    )
    with pytest.raises(errors.BuildFailed, match="without a reduction"):
        build_files([spec], TARGETS)
