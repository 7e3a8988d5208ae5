"""What the bench writes: JSON with the conditions of every number, and a table."""

import json
import math
import platform
import statistics
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import torch
import triton

from tilegen.version import VERSION

SCHEMA: Final = 1
OURS: Final = "tilegen"
NO_PEERS: Final = ("registered op",)


def start(device: torch.device, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return an empty result with the conditions of the run."""
    return {
        "schema": SCHEMA,
        "device": _device(device),
        "versions": _versions(),
        "settings": dict(settings),
        "copy": [],
        "cases": [],
        "not_run": [],
    }


def _device(device: torch.device) -> dict[str, Any]:
    properties = torch.cuda.get_device_properties(device)
    return {
        "name": properties.name,
        "capability": [properties.major, properties.minor],
        "multiprocessors": properties.multi_processor_count,
        "memory_bytes": properties.total_memory,
        "driver": _driver(),
    }


def _driver() -> str:
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.split("\n")[0].strip()


def _versions() -> dict[str, str]:
    found = {
        "tilegen": VERSION,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "cuda": torch.version.cuda or torch.version.hip or "none",
    }
    for name in ("liger-kernel", "helion"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def save(result: Mapping[str, Any], out: Path) -> None:
    """Write ``bench.json``."""
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=1)
    (out / "bench.json").write_text(text + "\n", encoding="utf-8")


def by_name(case: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the contestants of a case that were timed."""
    return {entry["name"]: entry for entry in case["contestants"] if "ms" in entry}


def best_peer(case: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the fastest contestant that is not ours."""
    others = [e for n, e in by_name(case).items() if n != OURS and n not in NO_PEERS]
    if case["suite"] == "host":
        others = [entry for entry in others if entry["name"] == "hand-written"]
    return min(others, key=lambda entry: entry["ms"], default=None)


def ratio(case: Mapping[str, Any]) -> float | None:
    """Return the time of the best peer over ours: above 1 we are faster."""
    ours, peer = by_name(case).get(OURS), best_peer(case)
    return peer["ms"] / ours["ms"] if ours and peer else None


def share(case: Mapping[str, Any], entry: Mapping[str, Any], copy: Sequence[float]) -> float:
    """Return the rate at which the bytes of a case moved, as a share of the copy rate."""
    return float(case["bytes"] / (entry["ms"] * 1e-3) / statistics.median(copy))


def label(case: Mapping[str, Any]) -> str:
    """Return the op of a case, with what is timed where its suite does not say so."""
    return f"{case['op']} fwd+bwd" if case.get("part") == "both" else str(case["op"])


def line(case: Mapping[str, Any], copy: Sequence[float]) -> str:
    """Return one row of the table."""
    timed = by_name(case)
    head = f"{label(case):22} {case['shape']:14}"
    if OURS not in timed:
        ours = next(entry for entry in case["contestants"] if entry["name"] == OURS)
        return f"{head} NOT TIMED: {ours['complaint']}"
    ours, peer = timed[OURS], best_peer(case)
    parts = [head, f"{ours['ms']:9.5f}"]
    if case["suite"] in ("small", "host"):
        parts.append(f"{'':6} {'':6}")
    else:
        rate = case["bytes"] / (ours["ms"] * 1e-3) / 1e12
        parts.append(f"{rate:6.3f} {share(case, ours, copy):6.3f}")
    if peer is None:
        parts.append("no peer")
    else:
        parts.append(f"{peer['name']:12} {peer['ms']:9.5f} {peer['ms'] / ours['ms']:6.3f}")
    parts.append(config_text(ours))
    return " ".join(parts)


def config_text(entry: Mapping[str, Any]) -> str:
    """Return the kernels and configs of our entry in short."""
    found = []
    for name, config in zip(entry.get("kernels", ()), entry.get("configs", ()), strict=True):
        values = " ".join(f"{k}={v}" for k, v in (config or {}).items())
        found.append(f"{name.rsplit('_', 1)[-1]}({values.replace('num_', '')})")
    return " ".join(found)


def table(result: Mapping[str, Any]) -> str:
    """Return the table of a run, with what was not timed and geometric means at its end."""
    return "\n".join(_table_lines(result)) + "\n"


def _table_lines(result: Mapping[str, Any]) -> Iterator[str]:
    device, versions, copy = result["device"], result["versions"], result["copy"]
    yield f"{device['name']}, driver {device['driver']}; " + ", ".join(
        f"{name} {version}" for name, version in versions.items()
    )
    if copy:
        yield f"copy: {statistics.median(copy) / 1e12:.3f} TB/s " + (
            f"({', '.join(f'{rate / 1e12:.3f}' for rate in copy)})"
        )
    for suite in dict.fromkeys(case["suite"] for case in result["cases"]):
        cases = [case for case in result["cases"] if case["suite"] == suite]
        yield ""
        yield f"{suite + ': op':22} {'shape':14} {'ms':>9} {'TB/s':>6} {'share':>6} {'best peer':12} {'ms':>9} {'ratio':>6}"
        for case in cases:
            yield line(case, copy)
        for op in dict.fromkeys(case["op"] for case in cases):
            ratios = [r for c in cases if c["op"] == op and (r := ratio(c)) is not None]
            if len(ratios) > 1:
                yield f"  geometric mean of {len(ratios)} {op}: {geometric_mean(ratios):.3f}"
        ratios = [r for case in cases if (r := ratio(case)) is not None]
        if ratios:
            yield f"  geometric mean of all {len(ratios)}: {geometric_mean(ratios):.3f}"
    yield from _complaints(result)


def _complaints(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield who was not timed, and why; an absent package once."""
    grouped: dict[str, list[str]] = {}
    for case in result["cases"]:
        for entry in case["contestants"]:
            if entry["complaint"] and entry["complaint"] != "has no such kernel":
                text = f"{entry['name']}: {entry['complaint']}"
                grouped.setdefault(text, []).append(f"{case['op']} {case['shape']}")
    if grouped or result["not_run"]:
        yield ""
    for text, cases in grouped.items():
        more = f" and {len(cases) - 3} more" if len(cases) > 3 else ""
        yield f"not timed: {text} ({', '.join(cases[:3])}{more})"
    yield from (f"not run: {text}" for text in result["not_run"])


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of positive numbers."""
    return math.exp(statistics.fmean(map(math.log, values)))
