"""The sampled check of every op in `generated/`: all schedules and configs, edges, dtypes, layouts."""

from pathlib import Path

import pytest
import torch

from tilegen.spec.load import load_folder
from tilegen.toolchain import check
from tilegen.toolchain.subject import Subject, subject

ROOT = Path(__file__).parents[2]
LOADED = {item.spec.name: item for item in load_folder(ROOT / "specs")[0]}


def of(name: str) -> Subject:
    return subject(LOADED[name], ROOT / "generated")


#: Ops of every kind, whose sampled matrix is also looked at itself.
COMPLETE = ("softmax", "vector_add", "layernorm")
#: Those whose gradients' matrix is a test, one of each kind of schedule; the others' gradients are
#: tested through autograd, in tests/cases.
DIFFERENTIATED = (*COMPLETE, "bias_gelu")


@pytest.mark.parametrize("name", LOADED)
def test_every_schedule_and_config_is_right(name: str) -> None:
    op = of(name)
    report = check.run_check([op], gradients=name in DIFFERENTIATED)
    assert report.ok, "\n".join(map(str, report.failures[:8]))
    if name in COMPLETE:
        nothing_is_left_out(op, report.records)


def nothing_is_left_out(op: Subject, records: list[check.Record]) -> None:
    """Every dtype, layout, structure, schedule and config was met."""
    cases = " ".join(record.case for record in records)
    launches = {record.launch for record in records}
    for word in ("float32", "bfloat16", "float16", "float64", "float8_e4m3fn", "float8_e5m2",
                 "normal", "offset", "constant", "huge", "sorted", "zeros", "special",
                 "contiguous", "transposed", "sliced", "expanded", "offset 1", "offset 3", "padded"):  # fmt: skip
        assert word in cases
    kinds = {launch.split(" ")[0] for launch in launches} - {"oracle", "as", "autograd"}
    families = {"elementwise": {"flat", "tiled"}, "rowwise": {"block", "loop", "split"}}
    sums = {"sums", "columns"} if op.name == "layernorm" else set()
    assert kinds == families[op.family] | sums
    gradients = op.op.variants[op.traced.variants[-1].key].gradients
    outputs = {record.output for record in records}
    assert outputs >= {*gradients, *op.results}
    assert "as chosen" in launches
    spaces = [value for key, value in vars(op.module).items() if key.endswith("_CONFIGS")]
    key = (op.runtime.TARGETS[0].architecture, 4)
    for config in (config for space in spaces for config in space[key]):
        assert any(str(config) in launch for launch in launches), config


def test_the_same_seed_gives_the_same_check() -> None:
    one, two, other = (
        check.run_check([of("silu")], seed=seed, gradients=False).records for seed in (1, 1, 2)
    )
    assert one == two
    assert one != other


def test_a_report_is_written_and_told(tmp_path: Path) -> None:
    lines: list[str] = []
    path = tmp_path / "report.json"
    status = check.main_check(
        ROOT / "specs" / "relu_squared.py", ROOT / "generated", json_path=path, say=lines.append
    )
    assert status == 0
    assert "relu_squared" in lines[0]
    assert ", ok (" in lines[0]
    assert '"ok": true' in path.read_text()


def test_an_op_that_was_not_built(tmp_path: Path) -> None:
    with pytest.raises(check.errors.TilegenError, match=r"has no module silu.py: build the spec"):
        check.main_check(ROOT / "specs" / "silu.py", tmp_path)
    with pytest.raises(check.errors.TilegenError, match="has no spec named nothing"):
        check.main_check(ROOT / "specs", ROOT / "generated", ["nothing"])


def test_the_check_leaves_settings_as_they_were() -> None:
    check.run_check([of("relu_squared")])
    assert not torch.are_deterministic_algorithms_enabled()
