"""What records of the compiler do to the tables of an op: they take configs out, or put them last."""

from typing import Any

import pytest
from schedule_ops import KEYS, asked, key_of, op

from tilegen.explain import explain
from tilegen.manifest import entry
from tilegen.records import entry_name
from tilegen.schedule.proof import UNPROVEN, Proofs, Said, proofs
from tilegen.schedule.search import Values
from tilegen.schedule.space import NO_PROOFS, ConfigText, kept, proven, spaces, verdicts
from tilegen.targets import TARGETS, get

KEY = key_of("sm_90", 2)
KERNELS = {
    "block": ["_softmax_block"],
    "loop": ["_softmax_loop", "_softmax_partial", "_softmax_finish"],
}
HASHES = {name: "0123abcd" for names in KERNELS.values() for name in names}
FINE = {"registers": 40, "shared": 64, "spill": 0}


def chosen(kind: str = "block") -> tuple[Values, ...]:
    return kept(asked("softmax")[kind], KEYS)[KEY]


def records(
    kind: str = "block", version: str = "3.6.0", key: str = "0123abcd-f", **odd: dict[str, Any]
) -> dict[str, Any]:
    """Records of all configs kept for sm_90 and 2 bytes: fine, but for the first one's kernels."""
    found = {}
    for place, values in enumerate(chosen(kind)):
        for kernel in KERNELS[kind]:
            said = odd.get(kernel, FINE) if place == 0 else FINE
            found[entry_name(kernel, 2, dict(values))] = {"key": key} | said
    return {"sm_90": {version: {"softmax": found}}}


def made(stored: dict[str, Any]) -> Proofs:
    return proofs("softmax", op("softmax").programs, stored, HASHES)


def table(found: Proofs, kind: str = "block") -> list[ConfigText]:
    """The configs of the module's table for sm_90 and 2 bytes."""
    (space,) = (
        s for s in spaces(op("softmax").programs, TARGETS, found)
        if s.name == f"{kind.upper()}_CONFIGS"
    )  # fmt: skip
    (row,) = (
        r for r in space.rows if any("sm_90" in classes and 2 in of for classes, of in r.serves)
    )
    return list(row.configs)


def text(values: Values, said: str = "") -> str:
    return f"Config({', '.join(f'{n}={v}' for n, v in values)}{said})"


def fine(values: Values) -> str:
    return text(values, ", registers=40")


def reason(found: Proofs, kind: str = "block") -> str:
    """Why the first config is not kept; empty if it is."""
    (verdict,) = (
        v for v in verdicts(asked("softmax")[kind], KEY, KEYS, found) if v.values == chosen(kind)[0]
    )
    return verdict.reason


def test_without_records_everything_stays_and_is_unproven() -> None:
    found = proven(asked("softmax")["block"], KEYS, made({}))
    assert {said for of in found.values() for said in of.values()} == {UNPROVEN}
    assert [c.text for c in table(made({}))] == [text(v) for v in chosen()]
    assert entry(op("softmax"), TARGETS, NO_PROOFS)["search"]["block"][0]["unproven"] == "all"


def test_records_prove_configs() -> None:
    found = made(records())
    said = proven(asked("softmax")["block"], KEYS, found)
    assert set(said[KEY].values()) == {Said(shared=64, registers=40, held=40)}
    assert set(said[key_of("sm_90", 4)].values()) == {UNPROVEN}
    assert [c.text for c in table(found)] == [fine(v) for v in chosen()]
    rows = entry(op("softmax"), TARGETS, found)["search"]["block"]
    assert [row["for"] for row in rows if "unproven" not in row] == ["sm_90/2"]


def test_a_config_that_spills_is_last() -> None:
    found = made(records(_softmax_block=FINE | {"spill": 24}))
    first, *rest = chosen()
    assert [c.text for c in table(found)] == [
        *map(fine, rest), text(first, ", registers=40, spills=2"),
    ]  # fmt: skip
    assert reason(found) == ""
    (row,) = (
        row for row in entry(op("softmax"), TARGETS, found)["search"]["block"]
        if row["for"] == "sm_90/2"
    )  # fmt: skip
    assert row["spills"] == row["kept"].split()[-1] == "/".join(str(v) for _, v in first)


def test_unless_it_was_measured_fastest() -> None:
    found = made(records(_softmax_block=FINE | {"spill": 24, "fastest": True}))
    assert [c.text for c in table(found)] == [fine(v) for v in chosen()]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (FINE | {"shared": 232_449}, "Triton 3.6.0: 232449 B shared of at most 232448"),
        ({"failed": "it crashed"}, "Triton 3.6.0: _softmax_block does not compile: it crashed"),
    ],
)
def test_a_config_that_cannot_run_is_out(said: dict[str, Any], why: str) -> None:
    found = made(records(_softmax_block=said))
    assert [c.text for c in table(found)] == [fine(v) for v in chosen()[1:]]
    assert reason(found) == f"compiler: {why}"
    rows = entry(op("softmax"), TARGETS, found)["search"]["block"]
    removed = {row["for"]: row["removed"] for row in rows if "removed" in row}
    assert removed == {"sm_90/2": {"/".join(str(v) for _, v in chosen()[0]): why}}
    shown = explain(op("softmax"), {}, get("h200"), proofs=found)
    values = " ".join(f"{n}={v}" for n, v in chosen()[0])
    assert f"rejected {values}: compiler: {why}" in shown.text()


def test_a_record_of_another_text_says_nothing() -> None:
    for said in ({"failed": "it crashed"}, FINE | {"spill": 24}, FINE):
        found = made(records(key="76543210-f", _softmax_block=said))
        assert set(proven(asked("softmax")["block"], KEYS, found)[KEY].values()) == {UNPROVEN}
        assert reason(found) == ""


@pytest.mark.parametrize("kernel", KERNELS["loop"])
def test_any_kernel_of_a_config_can_take_it_out(kernel: str) -> None:
    found = made(records("loop", **{kernel: {"failed": "it crashed"}}))
    assert reason(found, "loop") == f"compiler: Triton 3.6.0: {kernel} does not compile: it crashed"
    assert len(table(found, "loop")) == len(chosen("loop")) - 1


def test_a_config_is_proven_when_all_its_kernels_are() -> None:
    stored = records("loop")
    for values in chosen("loop"):
        del stored["sm_90"]["3.6.0"]["softmax"][entry_name("_softmax_finish", 2, dict(values))]
    said = proven(asked("softmax")["loop"], KEYS, made(stored))[KEY]
    assert set(said.values()) == {UNPROVEN}


def test_the_reference_compiler_gives_the_numbers_and_any_other_may_refuse() -> None:
    stored = records(_softmax_block=FINE | {"registers": 36})
    stored["sm_90"] |= records(version="3.10.0", _softmax_block=FINE | {"registers": 48})["sm_90"]
    stored["sm_90"] |= records(version="3.9.0", _softmax_block=FINE | {"registers": 39})["sm_90"]
    first = chosen()[0]
    assert made(stored).of("block", KEY, first).registers == 36
    assert list(made(stored).by_version("block", KEY, first)) == ["3.6.0", "3.9.0", "3.10.0"]
    other = {"sm_90": {v: r for v, r in stored["sm_90"].items() if v != "3.6.0"}}
    assert made(other).of("block", KEY, first).registers == 48
    stored["sm_90"] |= records(version="3.9.0", _softmax_block={"failed": "no"})["sm_90"]
    assert made(stored).of("block", KEY, first).fault.startswith("Triton 3.9.0: ")


def test_comments_say_what_is_proven() -> None:
    """Together with its comment, a config takes at most a line of 100 columns."""
    assert {c.note.partition(", ")[2] for c in table(made({}))} == {"unproven"}
    assert {c.note for c in table(made(records()))} == {"64 B shared"}  # the config has the rest
    wide = {"registers": 255, "shared": 131_072, "spill": 1000}
    found = table(made(records(_softmax_block=wide)))
    assert found[-1].note == "131072 B shared, 1000 B spilled"
    assert {c.note for c in found[:-1]} == {"64 B shared"}
    fastest = table(made(records(_softmax_block=FINE | {"spill": 24, "fastest": True})))
    assert fastest[0].note == "64 B shared, 24 B spilled, fastest"
    assert all(len(f"    {c.text},  # {c.note}") <= 100 for c in (*found, *fastest))


def test_registers_of_split_rows_are_only_told() -> None:
    """The choice among sweeps goes by the registers of a sweep."""
    (first, *_) = table(made(records("loop", _softmax_finish=FINE | {"registers": 90})), "loop")
    assert first.text == fine(chosen("loop")[0])
    assert first.note == "64 B shared, 90 registers in split rows"


def test_comments_of_a_whole_class_name_it() -> None:
    entries = {
        entry_name("_silu_flat", key.size, dict(values)): {"key": "0123abcd-f", **FINE}
        for key, of in kept(asked("silu")["flat"], KEYS).items()
        for values in of
    }
    stored = {"sm_90": {"3.6.0": {"silu": entries}}}
    found = proofs("silu", op("silu").programs, stored, {"_silu_flat": "0123abcd"})
    (space,) = (s for s in spaces(op("silu").programs, TARGETS, found) if s.name == "FLAT_CONFIGS")
    (row, *_) = (r for r in space.rows if any("sm_90" in classes for classes, _ in r.serves))
    assert {c.note for c in row.configs} == {"64 B shared, 40 registers on sm_90, else unproven"}


def test_a_table_may_lose_all_its_configs() -> None:
    stored = records()
    for record in stored["sm_90"]["3.6.0"]["softmax"].values():
        record["failed"] = "it crashed"
    found = made(stored)
    assert table(found) == []
    shown = explain(op("softmax"), {"N": 64}, get("h200"), proofs=found)
    assert shown.choice.startswith("loop with")


def test_explain_prefers_what_does_not_spill() -> None:
    stored = records()
    sizes = {"M": 4096, "N": 4096}
    assert explain(op("softmax"), sizes, get("h200"), proofs=made(stored)).choice.startswith(
        "block"
    )
    for record in stored["sm_90"]["3.6.0"]["softmax"].values():
        record["spill"] = 8
    assert explain(op("softmax"), sizes, get("h200"), proofs=made(stored)).choice.startswith("loop")
