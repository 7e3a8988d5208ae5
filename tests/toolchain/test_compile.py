"""`compile` on a few of the generated modules: real compilers, in processes of their own."""

import importlib
import json
import shutil
from pathlib import Path

import pytest
import triton

from tilegen import records, targets
from tilegen.toolchain.compile import (
    NothingToCompile,
    ask,
    main_compile,
    modules_in,
    ptx_records,
    request,
    start_worker,
)

GENERATED = Path(__file__).parents[2] / "generated"
A100, H200, MI300X = targets.get("a100"), targets.get("h200"), targets.get("mi300x")
VERSION = triton.__version__


FEW = """

def _few(table):
    return {key: configs[:1] for key, configs in table.items() if key[1] in (2, 4)}


for _name in [name for name in globals() if name.endswith("_CONFIGS")]:
    globals()[_name] = _few(globals()[_name])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two modules, with one config for each kind of kernel and size 2 or 4, and their runtime."""
    out = tmp_path_factory.mktemp("compiled") / "kernels"
    out.mkdir()
    for name in ("__init__", "_runtime", "silu", "rmsnorm_quant_fp8"):
        shutil.copy(GENERATED / f"{name}.py", out)
    for name in ("silu", "rmsnorm_quant_fp8"):
        path = out / f"{name}.py"
        path.write_text(path.read_text() + FEW)
    return out


@pytest.fixture(scope="module")
def worker():
    process = start_worker(GENERATED)
    yield process
    process.communicate()


@pytest.fixture(scope="module")
def compiled(folder):
    return main_compile(folder, (A100, MI300X), ["silu"], jobs=2)


def test_every_config_of_the_table_has_a_record_of_each_target(folder, compiled):
    assert compiled.errors == compiled.failed == []
    assert compiled.written == ["compiled/sm_80.json", "compiled/gfx942.json"]
    for architecture in ("sm_80", "gfx942"):
        found = records.read(folder, architecture)[VERSION]["silu"]
        assert {name.split()[0] for name in found} >= {"_silu_flat"}
        assert {name.split()[1] for name in found} == {"2", "4"}
        for name, record in found.items():
            assert set(record) == {"key", "shared", "registers", "spill"}
            assert 8 <= record["registers"] <= 255
            assert (record["shared"], record["spill"]) == (0, 0), name


def test_only_what_changed_is_compiled_again(folder, compiled):
    before = records.read(folder, "sm_80")[VERSION]["silu"]
    again = main_compile(folder, (A100,), ["silu"], jobs=1)
    assert (again.compiled, again.kept, again.written) == (0, len(before), [])
    path = folder / "silu.py"
    text = path.read_text()
    kernel = text.index("def _silu_flat")
    changed = text[kernel:].replace("tl.store(", "tl.debug_barrier()\n    tl.store(", 1)
    assert changed != text[kernel:]
    path.write_text(text[:kernel] + changed)
    try:
        once_more = main_compile(folder, (A100,), ["silu"], jobs=1)
    finally:
        path.write_text(text)
    flat = sum(name.startswith("_silu_flat ") for name in before)
    assert (once_more.compiled, once_more.kept) == (flat, len(before) - flat)


def test_a_type_that_a_target_lacks_is_a_recorded_rejection(folder, compiled):
    """And records of modules and kernels that are gone go, but not those of other configs."""
    stored = records.read(folder, "sm_80")
    stored[VERSION]["gone"] = {"_gone 2": {"key": "x"}}
    silu = {n: r for n, r in stored[VERSION]["silu"].items() if not n.startswith("_silu_flat ")}
    like = next(r for n, r in silu.items() if n.startswith("_silu_tiled "))
    removed = {"_silu_tiled 2 TILE=65536 num_warps=1": like | {"failed": "too much"}}
    old = {"_silu_tiled 2 TILE=512 num_warps=64": like | {"key": "00000000-00000000"}}
    stored[VERSION]["silu"] |= removed | old
    records.write(folder, "sm_80", stored)
    done = main_compile(folder, (A100,), ["rmsnorm_quant_fp8"], jobs=1)
    found = records.read(folder, "sm_80")[VERSION]["rmsnorm_quant_fp8"]
    assert done.rejected == done.compiled == len(found) > 0
    assert {record["rejected"] for record in found.values()} == {
        "fp8e4m3 is not supported on sm_80"
    }
    stored = records.read(folder, "sm_80")
    assert set(stored[VERSION]) == {"silu", "rmsnorm_quant_fp8"}
    assert stored[VERSION]["silu"] == silu | removed


def test_a_module_that_is_not_there_is_named(folder, tmp_path):
    with pytest.raises(NothingToCompile, match="no module of gelu; it has rmsnorm_quant_fp8, silu"):
        modules_in(folder, ["gelu"])
    with pytest.raises(NothingToCompile, match="build the specs first"):
        modules_in(tmp_path, [])


def test_an_architecture_that_was_not_built_is_an_error_of_the_op(worker):
    asked = request("silu", H200, {}) | {"architecture": "sm_75"}
    _, end = ask(worker, asked)
    assert "not built for sm_75" in end["error"]


@pytest.mark.parametrize("op", ["softmax", "rmsnorm"])
def test_bf16_rows_load_16_bytes_a_thread_and_nothing_is_fp64(worker, op):
    saved = len(importlib.import_module(f"generated.{op}").OP.saved)  # one number a row
    first = first_entries(op)
    found, end = ask(worker, request(op, H200, {}, ptx=True, only=first))
    assert end == {"done": op, "triton": VERSION}
    assert sorted(found) == sorted(first)
    for name, record in found.items():
        assert record["f64"] == record["local"] == record["spill"] == 0, name
        assert record["wide_loads"] > 0, name
        assert record["narrow_loads"] == 0, name
        assert record["wide_stores"] > 0, name
        assert record["narrow_stores"] == saved, name


def test_a_row_kernel_reduces_through_shared_memory(worker):
    """A cross-warp reduction keeps four bytes a warp: what the compiler says, and not an estimate."""
    (first,) = first_entries("softmax")[:1]
    found, _ = ask(worker, request("softmax", H200, {}, only=[first]))
    warps = int(first.split("num_warps=")[1].split()[0])
    assert found[first]["shared"] == 4 * warps


def first_entries(op):
    """The first bf16 config of several warps of a block kernel for sm_90, from its table."""
    module = importlib.import_module(f"generated.{op}")
    config = next(c for c in module.BLOCK_CONFIGS["sm_90", 2] if c["num_warps"] > 1)
    values = " ".join(f"{name}={value}" for name, value in config.values.items())
    return [f"_{op}_block 2 {values}"]


def test_ptx_records_count_the_instructions_of_entries(folder):
    before = sorted(path.name for path in folder.iterdir())
    found = ptx_records(folder, "silu", A100, 4)
    assert {name.split()[1] for name in found} == {"4"}
    for name, record in found.items():
        inputs = 2 if "_backward_" in name else 1
        assert record["wide_loads"] == inputs * record["wide_stores"] > 0, name
        assert record["narrow_loads"] == record["f64"] == record["mma"] == 0, name
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_worker_that_dies_is_an_error_and_not_a_hang(tmp_path):
    process = start_worker(tmp_path, python="false")
    _, end = ask(process, {"op": "silu"})
    assert "error" in end
    assert json.dumps(end)
