"""Plots of a bench run; they need matplotlib."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tilegen.toolchain import report

COLOURS: Final = {
    "tilegen": "#1f77b4",
    "eager": "#bbbbbb",
    "op by op": "#777777",
    "compile": "#ff7f0e",
    "liger": "#2ca02c",
    "helion": "#9467bd",
    "hand-written": "#8c564b",
    "registered op": "#17becf",
}
"""One colour a contestant, the same in all plots."""


def draw(result: Mapping[str, Any], out: Path) -> list[Path]:
    """Draw one plot per suite of a run and return the files; none if matplotlib is missing."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        return []
    paths = []
    for suite in dict.fromkeys(case["suite"] for case in result["cases"]):
        cases = [c for c in result["cases"] if c["suite"] == suite and report.by_name(c)]
        if not cases:
            continue
        figure, axes = pyplot.subplots(figsize=(9, 1.2 + 0.42 * len(cases)))
        _bars(axes, cases, result)
        properties = result["versions"]
        axes.set_title(
            f"{suite}: {result['device']['name']}, torch {properties['torch']}, "
            f"Triton {properties['triton']}",
            fontsize=10,
        )
        figure.tight_layout()
        paths.append(out / f"{suite}.png")
        figure.savefig(paths[-1], dpi=110)
        pyplot.close(figure)
    return paths


def _bars(axes: Any, cases: Sequence[Mapping[str, Any]], result: Mapping[str, Any]) -> None:
    """Draw a group of bars for each case: share of the copy rate, or microseconds."""
    timed = cases[0]["suite"] in ("small", "host")
    names = [n for n in COLOURS if any(n in report.by_name(case) for case in cases)]
    height = 0.8 / max(1, len(names))
    for at, name in enumerate(names):
        places, lengths = [], []
        for row, case in enumerate(cases):
            entry = report.by_name(case).get(name)
            if entry is not None:
                places.append(row + (at - (len(names) - 1) / 2) * height)
                share = 0.0 if timed else report.share(case, entry, result["copy"])
                lengths.append(entry["ms"] * 1e3 if timed else share)
        axes.barh(places, lengths, height, label=name, color=COLOURS[name])
    axes.set_yticks(
        range(len(cases)), [f"{report.label(c)} {c['shape']}" for c in cases], fontsize=8
    )
    axes.invert_yaxis()
    if timed:
        axes.set_xlabel("microseconds a call")
    else:
        axes.axvline(1.0, color="black", linewidth=0.8)
        rate = statistics.median(result["copy"]) / 1e12
        axes.set_xlabel(f"share of the copy rate ({rate:.2f} TB/s)")
    axes.legend(fontsize=8, loc="lower right")
