"""The bench on a CPU with a clock that is told times: who is timed, what is written."""

import importlib
import json
from types import SimpleNamespace

import pytest
import torch

from tilegen.toolchain import bench, contest, plots, report
from tilegen.toolchain.cases import CASES, MAKERS, NOT_IN_ALL, SUITES, Case, bytes_of, select

CPU = torch.device("cpu")
SETTINGS = bench.Settings(rounds=2, budget=1.0, peers=("eager", "compile", "liger", "helion"))
CONDITIONS = {
    "schema": report.SCHEMA,
    "device": {"name": "a GPU", "driver": "1"},
    "versions": {"torch": "2", "triton": "3"},
    "settings": {},
    "not_run": [],
}


class OwnClock:
    """0.5 ms for everything."""

    def __init__(self, *_, **__):
        pass

    def times(self, call, repeats):
        call()
        return [0.5] * repeats


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch):
    monkeypatch.setattr(contest, "DeviceClock", OwnClock)
    monkeypatch.setattr(contest, "HostClock", OwnClock)
    monkeypatch.setattr(contest, "capture", lambda call, calls: SimpleNamespace(replay=call))
    monkeypatch.setattr(bench.peers, "compiled", lambda function: function)


@pytest.fixture
def modules(monkeypatch):
    """The catalogue, on the references of its ops: they are quick, and right by themselves."""
    found = bench.Modules("generated")
    found.runtime.LAUNCHES.clear()
    monkeypatch.setattr(found.runtime, "INTERPRETING", False)
    yield found
    found.runtime.LAUNCHES.clear()


def entries(case):
    return {entry["name"]: entry for entry in case["contestants"]}


def test_a_case_times_ours_and_the_peers_that_are_there(modules):
    case = bench.run_case(Case("row", "softmax", (6, 40)), modules, CPU, SETTINGS)
    found = entries(case)
    assert list(found) == ["tilegen", "eager", "compile", "liger", "helion"]
    assert found["tilegen"]["ms"] == 0.5
    assert found["tilegen"]["rounds"] == [0.5, 0.5]
    assert found["tilegen"]["path"] == "torch"
    assert 0 < found["tilegen"]["error"] < 4e-3
    assert case["bytes"] == 2 * 6 * 40 * 2
    for name in ("liger", "helion"):
        if importlib.util.find_spec({"liger": "liger_kernel"}.get(name, name)) is None:
            assert "not installed" in found[name]["complaint"]
            assert "ms" not in found[name]


def test_a_wrong_contestant_is_not_timed(modules, monkeypatch):
    wrong = {**bench.peers.EAGER, "softmax": lambda x: torch.softmax(x * 1.1, -1)}
    monkeypatch.setattr(bench.peers, "EAGER", wrong)
    case = bench.run_case(Case("row", "softmax", (6, 40)), modules, CPU, SETTINGS)
    eager = entries(case)["eager"]
    assert eager["complaint"].startswith("wrong: output 0: relative error")
    assert "ms" not in eager
    assert report.best_peer(case) is None


def test_a_kernel_of_ours_that_is_wrong_is_not_timed(modules, monkeypatch):
    module = modules["silu"]
    right = module.silu
    monkeypatch.setattr(module, "silu", lambda x: 1.1 * right(x))
    case = bench.run_case(Case("row", "silu", (6, 40)), modules, CPU, SETTINGS)
    assert "ms" not in entries(case)["tilegen"]
    assert "NOT TIMED: wrong" in report.line(case, [1e12])


def test_a_peer_that_fails_says_why(modules, monkeypatch):
    def failing(*_):
        raise RuntimeError("out of\n  luck")

    monkeypatch.setattr(bench.peers, "EAGER", {**bench.peers.EAGER, "silu": failing})
    case = bench.run_case(Case("row", "silu", (6, 40)), modules, CPU, SETTINGS)
    assert entries(case)["eager"]["complaint"] == "RuntimeError: out of luck"
    assert entries(case)["tilegen"]["ms"] == 0.5


def test_an_error_that_leaves_the_gpu_unusable_ends_the_run(modules, monkeypatch):
    def lost(*_):
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    monkeypatch.setattr(bench.peers, "EAGER", {**bench.peers.EAGER, "silu": lost})
    with pytest.raises(RuntimeError, match="illegal memory"):
        bench.run_case(Case("row", "silu", (6, 40)), modules, CPU, SETTINGS)


def test_small_inputs_are_timed_per_call_of_a_graph(modules):
    case = bench.run_case(Case("small", "swiglu", (1, 64)), modules, CPU, SETTINGS)
    assert entries(case)["tilegen"]["ms"] == 0.5 / contest.GRAPH_CALLS


@pytest.mark.parametrize("op", sorted(MAKERS))
def test_every_op_has_inputs_that_it_takes_and_an_eager_peer_that_agrees(modules, op):
    sizes = {3: (2, 5, 64), 4: (2, 64, 3, 3)}
    (case, *_) = [case for case in CASES if case.op == op]
    chosen = sizes.get(len(case.sizes), (6, 128))
    if "rope" in op:
        chosen = (2, 5, 3, 16)
    found = entries(bench.run_case(Case("more", op, chosen), modules, CPU, SETTINGS))
    assert found["tilegen"]["complaint"] == ""
    assert found["eager"]["complaint"] == ""


def test_the_json_says_all_of_every_number_and_the_plots_are_drawn(modules, tmp_path):
    cases = [
        bench.run_case(Case(suite, op, (6, 40)), modules, CPU, SETTINGS)
        for suite, op in (("row", "softmax"), ("row", "log_softmax"), ("small", "softmax"))
    ]
    result = CONDITIONS | {"copy": [1e9, 2e9, 4e9], "cases": cases, "not_run": ["row a 1x1: late"]}
    report.save(result, tmp_path)
    read = json.loads((tmp_path / "bench.json").read_text())
    assert read["cases"] == cases
    for case in read["cases"]:
        assert set(case) == {"suite", "op", "shape", "dtype", "part", "bytes", "contestants"}
        for entry in case["contestants"]:
            assert {"name", "path", "error", "complaint"} <= set(entry)
            assert ("ms" in entry) == (not entry["complaint"])
        assert {"kernels", "configs"} <= set(entries(case)["tilegen"])
    table = report.table(read)
    assert "copy: 0.002 TB/s" in table
    assert "geometric mean of all 2: 1.000" in table
    assert "not run: row a 1x1: late" in table
    pytest.importorskip("matplotlib")
    assert [path.name for path in plots.draw(read, tmp_path)] == ["row.png", "small.png"]
    assert (tmp_path / "row.png").stat().st_size > 1000


def test_shares_and_ratios():
    def entry(name, ms):
        return {"name": name, "ms": ms, "complaint": ""}

    case = {
        "suite": "row", "op": "a", "shape": "1", "bytes": 2_000_000,
        "contestants": [entry("tilegen", 1.0), entry("eager", 3.0), entry("compile", 0.5)],
    }  # fmt: skip
    assert report.best_peer(case)["name"] == "compile"
    assert report.ratio(case) == 0.5
    assert report.share(case, case["contestants"][0], [1e9, 4e9, 9e9]) == 0.5


def test_the_host_suite_calls_an_op_that_saves_for_its_backward(modules):
    found = entries(bench.run_case(Case("host", "rmsnorm", (6, 40)), modules, CPU, SETTINGS))
    assert found["registered op"]["complaint"] == ""


def test_host_time_is_compared_with_the_hand_written_launcher_alone():
    entries = [
        {"name": name, "ms": ms, "complaint": ""}
        for name, ms in (
            ("tilegen", 2.0),
            ("hand-written", 3.0),
            ("registered op", 0.1),
            ("eager", 1.0),
        )
    ]
    case = {"suite": "host", "op": "a", "shape": "1", "bytes": 1, "contestants": entries}
    assert report.ratio(case) == 1.5


def test_every_case_that_the_project_promises_a_speed_for_is_there():
    assert {case.suite for case in CASES} == set(SUITES)
    shapes = {(case.op, case.shape) for case in CASES}
    for op in ("softmax", "log_softmax"):
        for shape in ("4096x4096", "32768x1024", "16384x8192", "4096x32000", "2048x131072"):
            assert (op, shape) in shapes
    for op in ("rmsnorm", "add_rmsnorm", "layernorm"):
        for shape in ("32768x1024", "16384x8192", "8192x16384"):
            assert (op, shape) in shapes
    assert ("cross_entropy", "8192x32000") in shapes
    assert ("cross_entropy", "4096x128256") in shapes
    assert ("groupnorm", "32x256x64x64") in shapes
    big = [case for case in CASES if case.suite == "elementwise" and case.op != "rope"]
    assert all(torch.Size(case.sizes).numel() * 2 >= 256e6 for case in big)


def test_selecting_cases():
    assert {case.suite for case in select(["all"])} == set(SUITES) - set(NOT_IN_ALL)
    assert [case.op for case in select(["row"], ["groupnorm"])] == ["groupnorm"]
    assert len(select(["row"], ["softmax"], "4096x32000")) == 1
    with pytest.raises(ValueError, match="no op gelu; there are: vector_add"):
        select(["all"], ["gelu"])
    with pytest.raises(ValueError, match="no case in small of groupnorm"):
        select(["small"], ["groupnorm"])


def test_bytes_count_expanded_elements_once():
    assert bytes_of([torch.zeros(1, 8).expand(4, 8), torch.zeros(3, dtype=torch.int8)]) == 32 + 3


def test_without_a_gpu_there_is_a_message(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert bench.main(["--out", str(tmp_path)]) == 1
    assert "needs a GPU" in capsys.readouterr().err
