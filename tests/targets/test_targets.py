import dataclasses
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tilegen.targets import TARGETS, Target, architectures, get

LANGUAGE = ["f64", "f32", "f16", "bf16", "fp8e4m3", "fp8e5m2", "i8", "u8", "i32", "i64", "bool_"]

every = pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)

# Operations per SM and clock, from the whitepapers' descriptions of one SM (CU): vector f32, vector
# f64, and the matrix rate of f16 with fp32 accumulation. An independent road to the peaks.
RATES = {
    "a100": (128, 64, 2048),
    "h100": (256, 128, 4096),
    "h200": (256, 128, 4096),
    "b200": (256, 128, 8192),
    "l4": (256, 4, 1024),
    "l40s": (256, 4, 1024),
    "rtx3090": (256, 4, 512),
    "rtx4090": (256, 4, 512),
    "rtx5090": (256, 4, 512),
    "mi250": (128, 128, 1024),
    "mi300x": (256, 128, 2048),
    "mi355x": (256, 128, 4096),
}

# What torch reports, and the row meant by it; None: no row of ours.
REPORTED = {
    "NVIDIA A100-SXM4-80GB": "a100",
    "NVIDIA A100 80GB PCIe": "a100",
    "NVIDIA H100 80GB HBM3": "h100",
    "NVIDIA H100 PCIe": "h100",
    "NVIDIA H200": "h200",
    "NVIDIA B200": "b200",
    "NVIDIA L4": "l4",
    "NVIDIA L40S": "l40s",
    "NVIDIA L40": None,
    "NVIDIA H20": None,
    "NVIDIA GeForce RTX 3090": "rtx3090",
    "NVIDIA GeForce RTX 4090": "rtx4090",
    "NVIDIA GeForce RTX 5090": "rtx5090",
    "AMD INSTINCT MI250 (MCM) OAM AC MBA": "mi250",
    "AMD Instinct MI250X/MI250": "mi250",
    "AMD Instinct MI300X": "mi300x",
    "AMD Instinct MI355X": "mi355x",
}


def test_the_table_holds_the_gpus_promised() -> None:
    assert [t.name for t in TARGETS] == list(RATES)


@every
def test_units(target: Target) -> None:
    assert 0.2e12 < target.bandwidth < 10e12
    assert 16 << 30 <= target.memory_bytes <= 512 << 30
    assert 4 << 20 <= target.l2_bytes <= 256 << 20
    assert 1e9 < target.clock_hz < 3e9
    assert 50 < target.multiprocessors < 400
    assert 48 << 10 <= target.shared_per_program <= target.shared_per_sm <= 256 << 10
    assert target.registers_per_sm in (1 << 16, 1 << 17)
    assert target.max_threads_per_program <= target.max_threads_per_sm
    assert target.max_threads_per_sm % target.warp_size == 0
    assert target.special_per_clock in (16, 32)
    assert target.vector_bytes == 16
    assert target.sources
    assert all("http" not in source for source in target.sources)


@every
def test_a_measured_copy_is_below_the_datasheet(target: Target) -> None:
    if target.measured_copy is not None:
        assert 0.7 < target.measured_copy / target.bandwidth < 1


def test_the_measured_h200() -> None:
    h200 = get("h200")
    assert h200.measured_copy == 4.27e12
    assert (h200.multiprocessors, h200.shared_per_program) == (132, 232_448)


@every
def test_peaks_follow_from_units_and_clock(target: Target) -> None:
    per_clock = target.multiprocessors * target.clock_hz
    f32, f64, f16 = RATES[target.name]
    assert target.peak["f32"] == pytest.approx(f32 * per_clock, rel=0.012)
    assert target.peak["f64"] == pytest.approx(f64 * per_clock, rel=0.03)
    # Data-centre parts quote the matrix units at a lower boost clock than the vector units.
    assert 0.91 < target.peak["f16"] / (f16 * per_clock) < 1.001


@every
def test_peaks_and_dtypes_agree(target: Target) -> None:
    assert target.dtypes <= set(LANGUAGE)
    assert set(LANGUAGE) - target.dtypes <= {"fp8e4m3"}
    floats = {d for d in target.dtypes if d[0] in "fb" and d != "bool_"}
    assert set(target.peak) == floats | {"i8"}
    assert target.peak["bf16"] == target.peak["f16"]
    for fp8 in {"fp8e4m3", "fp8e5m2"} & target.dtypes:
        # Native fp8 doubles f16; where Triton widens, it equals it.
        native = target.architecture not in ("sm_80", "sm_86", "gfx90a", "gfx942")
        ratio = target.peak[fp8] / target.peak["f16"]
        assert ratio == pytest.approx(2 if native else 1, rel=0.015)


def test_one_architecture_has_one_set_of_facts() -> None:
    per_gpu = {
        *("name", "device_names", "multiprocessors", "l2_bytes", "memory_bytes", "bandwidth"),
        *("measured_copy", "peak", "clock_hz", "sources"),
    }
    shared = [f.name for f in dataclasses.fields(Target) if f.name not in per_gpu]
    for architecture in architectures(TARGETS):
        rows = [t for t in TARGETS if t.architecture == architecture]
        for field in shared:
            assert len({getattr(t, field) for t in rows}) == 1, (architecture, field)


@every
def test_backend_capability_and_architecture_agree(target: Target) -> None:
    major, minor = target.capability
    if target.backend == "cuda":
        assert target.architecture == f"sm_{major}{minor}"
        assert target.warp_size == 32
        assert target.async_copy
        assert target.tma == (major >= 9)
        kind = {9: "wgmma", 10: "tcgen05"}.get(major, "mma")
        assert target.matrix_unit == kind
    else:
        assert target.architecture.startswith(f"gfx{major}{minor}")
        assert target.warp_size == 64
        assert not target.tma
        assert target.matrix_unit == "mfma"


@pytest.mark.parametrize(("reported", "name"), REPORTED.items())
def test_reported_names_find_one_row(reported: str, name: str | None) -> None:
    found = {
        t.name
        for t in TARGETS
        for part in t.device_names
        if re.search(rf"(?<!\w){re.escape(part)}(?!\w)", reported, re.IGNORECASE)
    }
    assert found == ({name} if name else set())


def test_rows_are_frozen_and_hashable() -> None:
    assert len(set(TARGETS)) == len(TARGETS)
    with pytest.raises(dataclasses.FrozenInstanceError):
        TARGETS[0].name = "other"  # type: ignore[misc]


@every
def test_get(target: Target) -> None:
    assert get(target.name) is target


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("h20", "h200"), ("H200", "h200"), ("RTX 4090", "rtx4090"), ("mi300", "mi300x")],
)
def test_an_unknown_name_is_refused_with_the_closest(wrong: str, meant: str) -> None:
    known = ", ".join(RATES)
    text = f'unknown GPU "{wrong}". Did you mean "{meant}"? Known: {known}.'
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        get(wrong)


def test_a_name_close_to_none_is_refused_without_a_guess() -> None:
    with pytest.raises(ValueError, match=r'^unknown GPU "tpu"\. Known: a100, ') as error:
        get("tpu")
    assert "Did you mean" not in str(error.value)


def test_architectures_are_each_named_once_in_order() -> None:
    assert architectures(TARGETS) == (
        *("sm_80", "sm_90", "sm_100", "sm_89", "sm_86", "sm_120"),
        *("gfx90a", "gfx942", "gfx950"),
    )
    assert architectures([get("l4"), get("rtx4090"), get("h200")]) == ("sm_89", "sm_90")
    assert architectures([]) == ()


def test_the_compiler_agrees(tmp_path: Path) -> None:
    """A few entries of the table against Triton itself; no GPU is needed."""
    asked = [
        *(("a100", "fp8e4nv"), ("a100", "fp8e5"), ("h200", "fp8e4nv"), ("mi300x", "fp8e4nv")),
        *(("rtx4090", "shared"), ("h200", "shared"), ("b200", "shared")),
    ]
    questions = []
    for name, question in asked:
        target = get(name)
        arch = target.architecture
        questions.append(
            (
                target.backend,
                int(arch[3:]) if arch[:3] == "sm_" else arch,
                target.warp_size,
                question,
            )
        )
    clean = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    run = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("probe.py")), json.dumps(questions)],
        env=clean | {"TRITON_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout.splitlines()[-1])
    tile, stages = report["tile"], report["stages"]
    buffer = (tile["BM"] + tile["BN"]) * tile["BK"] * 2
    ours = {"fp8e4nv": "fp8e4m3", "fp8e5": "fp8e5m2"}
    for (name, question), answer in zip(asked, report["answers"], strict=True):
        target = get(name)
        if question == "shared":
            buffers = {"stages": stages, "stages - 1": stages - 1}[target.pipeline_buffers]
            assert answer == buffers * buffer + target.pipeline_extra, name
        else:
            assert answer == (ours[question] in target.dtypes), (name, question)
