"""The model of time: choices at known shapes, and properties that any such model must have."""

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from schedule_ops import asked, op

from tilegen.explain import explain
from tilegen.render.runtime import cost_model, render_runtime
from tilegen.schedule import predict
from tilegen.schedule.config import cdiv, next_power_of_2
from tilegen.schedule.predict import Work
from tilegen.targets import TARGETS, Target, get

H200 = get("h200")
ROWS = Work(reads=1, writes=1, flops=5, special=1, joins=2)
SWEEPS = Work(reads=1, writes=1, flops=9, special=2.25, rereads=1, joins=1, passes=2, held_wide=1.5)


def config(tile: int, warps: int) -> dict[str, int]:
    return {"TILE": tile, "num_warps": warps}


def chosen(
    name: str, target: str = "h200", dtype: str = "bf16", **sizes: int
) -> tuple[str, dict[str, int]]:
    kind, _, values = explain(op(name), sizes, get(target), dtype).choice.partition(" with ")
    pairs = (pair.split("=") for pair in values.split())
    return kind, {key: int(number) for key, number in pairs}


# ---- choices on an H200 -------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "columns", "kind"), [
    (4096, 4096, "block"),
    (32768, 1024, "block"),
    (16384, 8192, "loop"),  # the second sweep finds its row in L1: 0.97 of copy, a block 0.94
    (4096, 32000, "loop"),  # one block an SM overlaps nothing: 0.74 of copy, a loop 0.94
    (2048, 131072, "loop"),
    (4, 1048576, "split"),
])  # fmt: skip
def test_schedule_of_softmax(rows: int, columns: int, kind: str) -> None:
    assert chosen("softmax", M=rows, N=columns)[0] == kind


def test_short_rows_go_several_to_a_program() -> None:
    _, values = chosen("softmax", M=32768, N=1024)
    assert 2048 <= values["TILE"] <= 8192


@pytest.mark.parametrize("name", ["rmsnorm", "softmax"])
@pytest.mark.parametrize("rows", [1, 16, 64])
def test_few_rows_get_enough_warps(name: str, rows: int) -> None:
    """What counts is the time of one program."""
    kind, values = chosen(name, M=rows, N=4096)
    assert kind == "block"
    assert values == {"TILE": 4096, "num_warps": 8}  # within 5% of the best peer


def test_wide_rows_in_flight_fit_in_l2() -> None:
    """2048x131072: two programs an SM had more in flight than L2 holds."""
    _, values = chosen("softmax", M=2048, N=131072)
    resident = predict.resident(values, H200, SWEEPS, 2, values["TILE"])
    assert resident == 1
    assert resident * H200.multiprocessors * 131072 * 2 <= predict.L2_MISSES * H200.l2_bytes


def test_cross_entropy_sweeps_wide_vocabularies() -> None:
    assert chosen("cross_entropy", M=8192, V=32000)[0] == "loop"
    assert chosen("cross_entropy", M=4096, V=128256)[0] == "loop"


# ---- the probes that the constants come from ----------------------------------------------------


def share_of_copy(seconds: float, rows: int, columns: int) -> float:
    assert H200.measured_copy
    return 4 * rows * columns / H200.measured_copy / (seconds - predict.LAUNCH)


@pytest.mark.parametrize(("rows", "columns", "values", "measured"), [
    (16384, 8192, config(8192, 16), 0.949),
    (4096, 32768, config(32768, 16), 0.72),
])  # fmt: skip
def test_measured_blocks(rows: int, columns: int, values: dict[str, int], measured: float) -> None:
    predicted = share_of_copy(
        predict.block_cost(values, H200, ROWS, 2, rows, columns), rows, columns
    )
    assert predicted == pytest.approx(measured, abs=0.08)


def test_measured_misses() -> None:
    """Two programs an SM, each with a row of 256 KiB to read again: 0.70 of copy."""
    values = config(16384, 16)
    assert predict.resident(values, H200, SWEEPS, 2, values["TILE"]) == 2
    seconds = predict.loop_cost(values, H200, SWEEPS, 2, 2048, 131072)
    assert share_of_copy(seconds, 2048, 131072) == pytest.approx(0.70, abs=0.08)


# ---- properties ---------------------------------------------------------------------------------

Cost = Callable[[dict[str, int], Target, Work, int, int, int], float]
COSTS: tuple[tuple[Cost, Work], ...] = (
    (predict.block_cost, ROWS),
    (predict.loop_cost, SWEEPS),
    (lambda c, t, w, s, rows, columns: predict.flat_cost(c, t, w, s, rows * columns), ROWS),
)


@pytest.mark.parametrize(("cost", "work"), COSTS)
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_time_grows_with_rows_and_is_never_below_the_floor(
    cost: Cost, work: Work, target: Target
) -> None:
    for tile, warps, size in ((4096, 8, 2), (2048, 4, 4)):
        times = [
            cost(config(tile, warps), target, work, size, rows, 2048)
            for rows in (1, 64, 4096, 2**18)
        ]
        assert times == sorted(times)
        floor = 2 * 2**18 * 2048 * size / (target.measured_copy or target.bandwidth)
        assert floor < times[-1] < math.inf


@pytest.mark.parametrize(("cost", "work"), COSTS)
def test_one_pick_for_a_bucket(cost: Cost, work: Work) -> None:
    """Sizes up to the next power of two cost the same: the padded width is the plan's own."""
    at = (config(4096, 8), H200, work, 2)
    assert cost(*at, 33, 4096) == cost(*at, 64, 4096) != cost(*at, 65, 4096)
    assert predict.loop_cost(*at, 8, 32000) == predict.loop_cost(*at, 8, 32768)
    assert predict.split_cost(*at, 8, 32000) == predict.split_cost(*at, 8, 32768)


def test_a_split_needs_two_parts_and_grows_with_columns() -> None:
    at = (config(4096, 8), H200, SWEEPS, 2)
    assert predict.split_cost(*at, 4096, 4096) == math.inf
    times = [predict.split_cost(*at, 2, columns) for columns in (2**16, 2**20, 2**24)]
    assert times == sorted(times)
    assert H200.measured_copy
    assert times[-1] > 2 * 2 * 2**24 * 2 / H200.measured_copy


def test_a_row_that_does_not_fit_costs_infinity() -> None:
    assert predict.block_cost(config(4096, 8), H200, ROWS, 2, 16, 8192) == math.inf


def test_special_functions_bound_what_has_many() -> None:
    many = ROWS._replace(special=40)
    assert predict.flat_cost(config(1024, 4), H200, many, 2, 2**28) > 5 * predict.flat_cost(
        config(1024, 4), H200, ROWS, 2, 2**28
    )


@pytest.mark.parametrize(
    ("rows", "columns", "tile"), [(1, 10**7, 4096), (3, 300_001, 8192), (50, 70_000, 2048)]
)
def test_splits_cover_a_row(rows: int, columns: int, tile: int) -> None:
    splits, chunk = predict.split_row(H200, rows, columns, tile)
    assert chunk % tile == 0
    assert (splits - 1) * chunk < columns <= splits * chunk
    assert rows * splits <= predict.SPLIT_PROGRAMS * H200.multiprocessors


def test_small_programs_fill_an_sm() -> None:
    assert predict.programs_resident(H200, 128, 32, 0) == 16  # 2048 threads
    assert predict.programs_resident(H200, 512, 128, 0) == 1  # all registers
    assert predict.programs_resident(H200, 128, 32, 100_000) == 2  # shared memory
    assert predict.programs_resident(H200, 32, 16, 0) == predict.MOST_PROGRAMS


# ---- what is emitted ----------------------------------------------------------------------------


def emitted() -> dict[str, Any]:
    """The functions as a module of a build has them."""
    root = Path(__file__).parents[2]
    rows = [{f: getattr(t, f) for f in t.__dataclass_fields__} for t in TARGETS]
    text = render_runtime(rows, root / "templates")
    assert cost_model() in text
    names: dict[str, Any] = {"cdiv": cdiv, "next_power_of_2": next_power_of_2}
    head = "import math\nfrom typing import Any, Final, NamedTuple\nConfig = Target = Any\n"
    exec(head + cost_model(), names)
    return names


def test_the_launcher_picks_by_the_same_arithmetic() -> None:
    """The text that a build prints, on its own, gives what the search ranked by."""
    names = emitted()
    demand = asked("softmax")
    for target, size in itertools.product((H200, get("mi300x")), (1, 2, 4, 8)):
        for rows, columns in ((7, 300), (4096, 4096), (3, 500_000)):
            block = (
                config(8192, 8),
                target,
                demand["block"].work,
                size,
                rows,
                next_power_of_2(columns),
            )
            loop = (config(4096, 8), target, demand["loop"].work, size, rows, columns)
            assert names["block_cost"](*block) == predict.block_cost(*block)
            assert names["loop_cost"](*loop) == predict.loop_cost(*loop)
            assert names["split_cost"](*loop) == predict.split_cost(*loop)
            flat = (config(1024, 4), target, demand["block"].work, size, rows * columns)
            assert names["flat_cost"](*flat) == predict.flat_cost(*flat)


def test_modules_hold_the_work_that_was_counted() -> None:
    from tilegen.schedule.demand import work_of, works

    text = op("softmax").text
    variant = op("softmax").variants[0]
    for schedule in variant.programs[0].schedules:
        literal = f"Work({works(variant.programs[0])[schedule.kind]})"
        assert literal in text
        assert eval(literal, {"Work": Work}) == pytest.approx(
            work_of(variant.programs[0], schedule)
        )
