"""A build reads what `tilegen compile` left in its folder, and says so in tables and manifest."""

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tilegen import records

Run = Callable[..., Any]
FINE = {"registers": 40, "shared": 64, "spill": 0}


def module(project: Any, out: str = "generated") -> Any:
    """The built module of `total`, imported."""
    sys.path.insert(0, str(project.folder))
    try:
        return importlib.import_module(f"{out}.total")
    finally:
        sys.path.pop(0)


@pytest.fixture
def elsewhere(built: Any) -> Iterator[str]:
    """The folder under a name that no other test has imported."""
    name = f"kernels_{abs(hash(built.folder))}"
    (built.folder / "generated").rename(built.folder / name)
    yield name
    for loaded in [m for m in sys.modules if m.partition(".")[0] == name]:
        del sys.modules[loaded]


def record(folder: Path, **odd: dict[str, Any]) -> None:
    """Write records of all configs of `total` on an H200, bf16; `odd` ones by TILE and warps."""
    text, runtime = ((folder / f"{name}.py").read_text() for name in ("total", "_runtime"))
    hashes = records.kernel_hashes(text, runtime)
    manifest = json.loads((folder / "manifest.json").read_text())
    found = {}
    for kind, rows in manifest["ops"]["total"]["search"].items():
        (row,) = (row for row in rows if "sm_90/2" in row["for"].split())
        endings = {"block": ["block"], "loop": ["loop", "partial", "finish"]}[kind]
        for config in row["kept"].split():
            tile, warps = map(int, config.split("/"))
            for ending in endings:
                kernel = f"_total_{ending}"
                name = records.entry_name(kernel, 2, {"TILE": tile, "num_warps": warps})
                said = odd.get(f"{ending}_{tile}_{warps}", FINE)
                found[name] = {"key": f"{hashes[kernel]}-0", **said}
    records.write(folder, "sm_90", {"3.6.0": {"total": found}})


def kept(folder: Path, kind: str) -> list[str]:
    manifest = json.loads((folder / "manifest.json").read_text())
    rows = manifest["ops"]["total"]["search"][kind]
    (row,) = (row for row in rows if "sm_90/2" in row["for"].split())
    return list(row["kept"].split())


def test_records_change_tables_and_are_inputs_of_the_build(
    built: Any, elsewhere: str, tilegen: Run
) -> None:
    folder = built.folder / elsewhere
    first, second, *rest = kept(folder, "block")
    spilling = {f"block_{first.replace('/', '_')}": FINE | {"spill": 8}}
    failing = {f"block_{second.replace('/', '_')}": {"failed": "it crashed"}}
    record(folder, **spilling, **failing)
    stale = tilegen("build", "specs", "--out", elsewhere, "--check")
    assert stale.status == 1
    assert f"stale: {elsewhere}/total.py" in stale.out
    assert "scale.py" not in stale.out.splitlines()[-1]
    assert tilegen("build", "specs", "--out", elsewhere).status == 0
    assert kept(folder, "block") == [*rest, first]
    assert tilegen("build", "specs", "--out", elsewhere, "--check").status == 0
    assert tilegen("build", "specs", "--out", elsewhere).out.startswith(
        f"{elsewhere}: 2 ops, nothing to do"
    )
    shown = tilegen("explain", "total", "--out", elsewhere, "--all").out
    tile, warps = second.split("/")
    assert (
        f"rejected TILE={tile} num_warps={warps}: compiler: Triton 3.6.0: "
        "_total_block does not compile: it crashed"
    ) in shown
    assert "8 B spilled: only where no other fits" in shown

    (folder / "compiled" / "sm_90.json").unlink()
    assert tilegen("build", "specs", "--out", elsewhere).status == 0
    assert kept(folder, "block") == [first, second, *rest]


def test_a_changed_kernel_loses_its_records(built: Any, elsewhere: str, tilegen: Run) -> None:
    folder = built.folder / elsewhere
    first, *rest = kept(folder, "block")
    record(folder, **{f"block_{first.replace('/', '_')}": FINE | {"spill": 8}})
    assert tilegen("build", "specs", "--out", elsewhere).status == 0
    assert kept(folder, "block") == [*rest, first]
    spec = built.read("specs/total.py")
    built.write("specs/total.py", spec.replace("Add each row up.", "Add up each row."))
    assert tilegen("build", "specs", "--out", elsewhere).status == 0
    assert kept(folder, "block") == [*rest, first]
    built.write("specs/total.py", spec.replace("sum(x)", "sum(x * x)"))
    assert tilegen("build", "specs", "--out", elsewhere).status == 0
    assert kept(folder, "block") == [first, *rest]


def test_a_call_avoids_what_spills(built: Any, elsewhere: str, tilegen: Run) -> None:
    folder = built.folder / elsewhere
    blocks = kept(folder, "block")
    record(folder, **{f"block_{c.replace('/', '_')}": FINE | {"spill": 8} for c in blocks[:-1]})
    assert tilegen("build", "specs", "--out", elsewhere).status == 0
    total = module(built, elsewhere)
    runtime = importlib.import_module(f"{elsewhere}._runtime")
    space = total.BLOCK_CONFIGS["sm_90", 2]
    assert [config.spills for config in space] == [0, *[2] * (len(blocks) - 1)]
    (target,) = (row for row in runtime.TARGETS if row.name == "h200")
    times = {config: float(place) for place, config in enumerate(reversed(space))}
    only = space[0]
    assert runtime.Choices().pick(space, times.__getitem__) == only
    assert (
        runtime.Choices().pick(space, lambda c: float("inf") if c == only else times[c])
        == (space[-1])
    )
    call = type("Call", (), {"target": target, "element_size": 2})
    assert runtime.least(call, total.BLOCK_CONFIGS, times.__getitem__) == times[only]
    some = runtime.least(
        call, total.BLOCK_CONFIGS, lambda c: float("inf") if c == only else times[c]
    )
    assert 1e3 <= some < float("inf")
    assert "spills" not in only.options
    with pytest.raises(runtime.NoConfig, match="none compiled for it"):
        runtime.Choices().pick((), times.__getitem__)
