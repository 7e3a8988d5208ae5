"""Records of the compiler: one line a config, sorted, and kept while a kernel's text is the same."""

import json
import re
from pathlib import Path

from tilegen import records

GENERATED = Path(__file__).parents[2] / "generated"

RECORDS = {
    "3.9.0": {"softmax": {"_b 2": {"spill": 0, "key": "b"}, "_a 2": {"key": "a", "shared": 16}}},
    "3.6.0": {"softmax": {"_a 2": {"key": "c", "rejected": "fp8e4m3 is not supported on sm_80"}}},
}


def test_records_come_back_and_have_a_line_each(tmp_path):
    assert records.write(tmp_path, "sm_90", RECORDS)
    assert records.read(tmp_path, "sm_90") == RECORDS
    text = (tmp_path / "compiled" / "sm_90.json").read_text()
    assert json.loads(text) == RECORDS
    lines = text.splitlines()
    assert lines[:4] == [
        "{",
        ' "3.6.0": {',
        '  "softmax": {',
        '   "_a 2": {"key": "c", "rejected": "fp8e4m3 is not supported on sm_80"}',
    ]
    assert lines.index('   "_a 2": {"key": "a", "shared": 16},') + 1 == lines.index(
        '   "_b 2": {"key": "b", "spill": 0}'
    )


def test_the_same_records_are_not_written_again(tmp_path):
    assert records.write(tmp_path, "sm_90", RECORDS)
    assert not records.write(tmp_path, "sm_90", RECORDS)


def test_there_may_be_no_records(tmp_path):
    assert records.read(tmp_path, "sm_90") == {}


RUNTIME = """
from typing import Final

import triton

SCALE: Final = triton.language.constexpr(2.0)
TARGETS = (1,)


@triton.jit
def widen(x):
    \"\"\"Return it in fp32.\"\"\"
    return helper(x) * SCALE


@triton.jit
def helper(x):
    return x


def least(
    call,
):
    return 1


@triton.jit
def apart(x):
    return x
"""
MODULE = """
_FLAT_1 = (Config(TILE=512, num_warps=1),)  # unproven


@triton.jit
def _op_flat(
    x_ptr,
    BLOCK: tl.constexpr,
):
    # return x
    tl.store(
        x_ptr,
        widen(tl.load(x_ptr)),
    )


@triton.jit
def _op_tiled(x_ptr):
    tl.store(x_ptr, 1)


def _plan(call):
    return least(call)
"""


def changed(module: str = MODULE, runtime: str = RUNTIME) -> set[str]:
    """Kernels whose hash is another one than before."""
    before, after = records.kernel_hashes(MODULE, RUNTIME), records.kernel_hashes(module, runtime)
    assert set(before) == {"_op_flat", "_op_tiled"}
    return {name for name in before if after.get(name) != before[name]}


def test_a_hash_changes_with_the_kernel_and_what_it_uses() -> None:
    assert changed(MODULE.replace("load(x_ptr)", "load(x_ptr + 1)")) == {"_op_flat"}
    assert changed(MODULE.replace("x_ptr, 1", "x_ptr, 2")) == {"_op_tiled"}
    assert changed(
        runtime=RUNTIME.replace("return x\n\n\ndef least", "return -x\n\n\ndef least")
    ) == {"_op_flat"}
    assert changed(runtime=RUNTIME.replace("2.0", "3.0")) == {"_op_flat"}


def test_a_hash_is_the_same_whatever_else_changes() -> None:
    for old, new in (
        ("unproven", "0 B shared, 16 registers"),
        ("# return x", "# return x + 0"),
        ("least(call)", "least(call, 1)"),
        ("TILE=512", "TILE=1024"),
    ):
        assert old in MODULE
        assert changed(MODULE.replace(old, new)) == set()
    for old, new in (
        ("Return it in fp32.", "Return it wide.\n\n    Always.\n    "),
        ("(1,)", "(2,)"),
        ("return 1", "return 2"),
        ("def apart(x):\n    return x", "def apart(x):\n    return -x"),
    ):
        assert old in RUNTIME
        assert changed(runtime=RUNTIME.replace(old, new)) == set()


def test_every_kernel_of_the_catalogue_has_a_hash() -> None:
    runtime = (GENERATED / "_runtime.py").read_text()
    for path in GENERATED.glob("[a-z]*.py"):
        text = path.read_text()
        kernels = set(re.findall(r"^@triton\.jit\ndef (\w+)", text, re.MULTILINE))
        assert set(records.kernel_hashes(text, runtime)) == kernels, path.name


def test_a_record_holds_for_its_text() -> None:
    assert records.holds({"key": "0123abcd-ffffffff"}, "0123abcd")
    assert not records.holds({"key": "0123abcd-ffffffff"}, "ffffffff")
    assert not records.holds({"key": "0123abcd-ffffffff"}, None)
