"""What the model picks, against times measured on an H200 (Triton 3.6, bf16).

measured_h200.json holds milliseconds by case, kind of schedule and TILE/num_warps (for sums
TILE/PROGRAMS/num_warps/num_stages), up to 1.15 of the best of each case. Run with -s to see the table.
"""

import json
from functools import cache
from math import isinf
from pathlib import Path

import pytest
from schedule_ops import KEYS, asked, key_of, op

from tilegen.explain import explain
from tilegen.prove import proofs_of
from tilegen.schedule.demand import work_of
from tilegen.schedule.kinds import KINDS
from tilegen.schedule.proof import Proofs
from tilegen.schedule.search import Values
from tilegen.schedule.space import kept, proven
from tilegen.targets import TARGETS, get

GENERATED = Path(__file__).parents[2] / "generated"

Times = dict[str, dict[str, float]]
MEASURED: dict[str, Times] = json.loads(Path(__file__).with_name("measured_h200.json").read_text())
#: Dimensions of each op, as the shapes in the file list them; two dimensions for most.
DIMS = {
    "cross_entropy": "M V",
    "rope": "B S H D",
    "rope_interleaved": "B S H D",
    "groupnorm": "B G C HW",
    "swiglu": "N",
    "gelu_tanh": "N",
    "dropout_residual_add": "N",
    "gelu_erf": "N",
}
SUFFIXES = {"layernorm": "_bias", "bias_gelu": "_tanh"}
#: A pick may be this much slower than the best: two runs of one config differ by as much.
MOST = 1.08


@cache
def said_of(name: str) -> Proofs:
    """What the compiler said of the kernels that are committed."""
    return proofs_of(op(name), GENERATED, TARGETS)


def picked(case: str) -> tuple[str, str]:
    """Schedule and TILE/num_warps that a call of a case gets."""
    name, sizes = case.split(" ")
    dims = DIMS.get(name, "M N").split()
    suffixes = [variant.suffix for variant in op(name).variants]
    found = explain(
        op(name), dict(zip(dims, map(int, sizes.split("x")), strict=True)), get("h200"), "bf16",
        variant=suffixes.index(SUFFIXES.get(name, "")), proofs=said_of(name),
    )  # fmt: skip
    kind, _, values = found.choice.partition(" with ")
    return kind, "/".join(pair.split("=")[1] for pair in values.split())


def picked_backward(case: str) -> tuple[str, str]:
    """The same for the sums of a backward pass."""
    name, sizes = case.replace("_backward", "").split(" ")
    rows, columns = map(int, sizes.split("x"))
    suffix = SUFFIXES.get(name, "")
    backward = next(one.backward for one in op(name).variants if one.suffix == suffix)
    assert backward is not None
    found = [(program, s) for program in backward.programs for s in program.schedules]
    program, schedule = next(pair for pair in found if pair[1].kind == "sums")
    key, table = key_of("sm_90", 2), proven(asked(name)[schedule.table], KEYS, said_of(name))
    work, cost = work_of(program, schedule), KINDS[schedule.kind].cost

    def rank(values: Values) -> tuple[bool, int, float]:
        seconds = cost(dict(values), key.target, work, key.size, rows, columns)
        return isinf(seconds), table[key][values].spills, seconds

    config = min(table[key], key=rank)
    return schedule.kind, "/".join(str(value) for _, value in config)


@pytest.mark.parametrize("case", MEASURED)
def test_picks_are_near_the_best(case: str) -> None:
    times = MEASURED[case]
    best, kind, config = min((ms, k, c) for k, of in times.items() for c, ms in of.items())
    pick, values = (picked_backward if "_backward" in case else picked)(case)
    slower = times.get(pick, {}).get(values, 2 * best) / best
    print(f"{case:36} {pick:5} {values:8} {slower:.3f} of {kind} {config}: {best} ms")
    assert slower <= MOST, f"{pick} {values}"


@pytest.mark.parametrize("case", MEASURED)
def test_the_autotuner_may_find_the_best(case: str) -> None:
    """A config within 2.5% of the best stands in the table of its schedule."""
    times = MEASURED[case]
    best = min(ms for of in times.values() for ms in of.values())
    good = {(k, c) for k, of in times.items() for c, ms in of.items() if ms <= 1.025 * best}
    name = case.split()[0]
    listed = {
        (kind.removeprefix("backward_"), "/".join(str(v) for _, v in values))
        for kind, demand in asked(name.removesuffix("_backward")).items()
        if kind.startswith("backward_") == name.endswith("_backward")
        for values in kept(demand, KEYS)[key_of("sm_90", 2)]
    }
    assert good & listed, f"none of {sorted(good)}"
