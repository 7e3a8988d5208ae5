"""What is kept fits every GPU it is kept for, and what is not kept has its reason."""

import math
import re
from dataclasses import replace

import pytest
from schedule_ops import KEYS, NAMES, asked, op

from tilegen.manifest import entry
from tilegen.schedule import budgets
from tilegen.schedule.predict import MOST_REGISTERS, registers_needed
from tilegen.schedule.search import MOST_KEPT, Key, considered, slowness, tile_of, wider
from tilegen.schedule.space import NO_PROOFS, kept, spaces, verdicts
from tilegen.targets import TARGETS, get

CASES = [(name, kind) for name in NAMES for kind in asked(name)]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_kept_configs_fit_every_gpu_of_their_class(name: str, kind: str) -> None:
    demand = asked(name)[kind]
    for key, chosen in kept(demand, KEYS).items():
        assert 0 < len(chosen) <= MOST_KEPT
        assert len(set(chosen)) == len(chosen)
        for target in (t for t in TARGETS if t.architecture == key.target.architecture):
            for config in map(dict, chosen):
                own = Key(target, key.size)
                tile = tile_of(demand, own, config["TILE"], config["num_warps"])
                tile = tile._replace(stages=config.get("num_stages", 0))
                threads = tile.threads
                assert threads <= target.max_threads_per_program
                assert demand.kind.shared.need(tile) <= target.shared_per_program
                needed = budgets.registers(tile)
                if not demand.only:
                    lacking = needed - min(MOST_REGISTERS, target.registers_per_sm // threads)
                    allowed = (
                        demand.kind.lacks if tuple(config.items()) in wider(demand, key) else 0
                    )
                    assert lacking * threads <= allowed


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_each_config_is_kept_or_has_a_reason(name: str, kind: str) -> None:
    demand = asked(name)[kind]
    for key in KEYS:
        found = verdicts(demand, key, KEYS)
        assert {v.values for v in found if v.kept} == set(kept(demand, KEYS)[key])
        assert all(bool(v.reason) != v.kept for v in found)


def test_reasons_say_what_is_too_much() -> None:
    reasons = "\n".join(
        v.reason for key in KEYS for v in verdicts(asked("add_layernorm")["loop"], key, KEYS)
    )
    for pattern in (
        r"threads: 2048 of at most 1024", r"registers: \d+ a thread of at most \d+ ",
        r"loads: \d+ bytes a thread",
        r"elements: \d+ a thread of at most 64", r"rank: at most [01]\.\d+ of the best",
    ):  # fmt: skip
        assert re.search(pattern, reasons), pattern


def test_a_gpu_with_little_shared_memory_refuses_wide_lanes() -> None:
    little = replace(get("h200"), shared_per_program=8192)
    found = considered(asked("softmax")["loop"], Key(little, 2))
    reasons = {v.config["TILE"]: v.reason for v in found if v.config["num_warps"] == 16}
    assert reasons[32_768] == "shared memory: 16384 B of at most 8192"
    assert reasons[16_384] == ""


def test_bounds_are_where_a_budget_is_spent() -> None:
    """The tile that sympy solved for needs exactly what there is."""
    demand, target = asked("add_layernorm")["loop"], get("h200")
    for warps in (4, 16):
        tile = tile_of(demand, Key(target, 2), 0, warps)
        most = budgets.limits(demand.kind.shared, tile)
        threads = warps * 32
        needed = registers_needed(demand.work, most.registers / threads, 2)
        assert needed == pytest.approx(min(255, 65_536 / threads))
        shared = most.shared * 4 * 2 / 16  # fp32 states of lanes of 16 bytes
        assert shared == pytest.approx(target.shared_per_program)


def test_rows_up_to_a_tile_have_a_config_on_every_gpu() -> None:
    for name in ("softmax", "add_layernorm", "top_p_sample"):
        widest = {
            max(dict(c)["TILE"] for c in own) for own in kept(asked(name)["block"], KEYS).values()
        }
        assert min(widest) >= 4096
    widest = {
        max(dict(c)["TILE"] for c in own)
        for own in kept(asked("top_p_sample")["block"], KEYS).values()
    }
    assert widest == {32_768}  # it has no loop


def test_ratios_are_to_the_best() -> None:
    slow = slowness(asked("softmax")["block"], KEYS[0])
    assert all(min(at) == 1.0 for at in zip(*slow.values(), strict=True))
    assert set(slow) == {
        v.values for v in considered(asked("softmax")["block"], KEYS[0]) if not v.reason
    }


@pytest.mark.parametrize("name", NAMES)
def test_tables_serve_each_key_once(name: str) -> None:
    for space in spaces(op(name).programs, TARGETS):
        served = [
            (architecture, size)
            for row in space.rows
            for architectures, sizes in row.serves
            for architecture in architectures
            for size in sizes
        ]
        assert sorted(served) == sorted({(k.target.architecture, k.size) for k in KEYS})
        assert len(space.rows) <= 14  # of 36 keys
        assert all(
            re.fullmatch(r"(at most )?\d+ B shared, unproven", c.note)
            for row in space.rows
            for c in row.configs
        )


def test_one_target_alone() -> None:
    tables = spaces(op("softmax").programs, [get("l4")])
    classes = {a for space in tables for row in space.rows for of, _ in row.serves for a in of}
    assert classes == {"sm_89"}


def test_the_manifest_holds_all_that_was_considered() -> None:
    found = entry(op("softmax"), TARGETS, NO_PROOFS)
    assert found["cost"][0]["loop"]["read_again"] == "M*N*e"
    assert found["eager"] == {"kernels": 4, "bytes": "7*M*N*e + 3*M*e"}
    for kind, rows in found["search"].items():
        assert sum(len(row["for"].split()) for row in rows) == len(KEYS)
        of_key = {len(considered(asked("softmax")[kind], key)) for key in KEYS}
        own = ("for", "unproven")
        listed = {sum(len(v.split()) for k, v in row.items() if k not in own) for row in rows}
        assert listed == of_key
        assert math.prod(len(row["kept"]) for row in rows)
