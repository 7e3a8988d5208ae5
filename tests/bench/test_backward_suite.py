"""The backward in the bench, on a CPU: whose gradients are timed, what they move, what is swept."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from tilegen.toolchain import bench, contest, gradients, peers, report, sweep
from tilegen.toolchain.cases import CASES, Case
from tilegen.toolchain.timing import Restored, restored

CPU = torch.device("cpu")
SETTINGS = bench.Settings(rounds=2, budget=1.0, peers=("eager", "compile", "liger", "helion"))
SIZES = {"rope": (2, 5, 3, 16), "groupnorm": (2, 64, 3, 3)}
CASES_HERE = sorted({(case.op, case.part) for case in CASES if case.suite == "backward"})


class OwnClock:
    """0.5 ms for everything."""

    def __init__(self, *_, **__):
        pass

    def times(self, call, repeats):
        call()
        return [0.5] * repeats


@pytest.fixture
def modules(monkeypatch):
    """The catalogue on the references of its ops, without a GPU's clock and compiler."""
    monkeypatch.setattr(contest, "DeviceClock", OwnClock)
    monkeypatch.setattr(peers, "compiled", lambda function: function)
    found = bench.Modules("generated")
    found.runtime.LAUNCHES.clear()
    monkeypatch.setattr(found.runtime, "INTERPRETING", False)
    yield found
    found.runtime.LAUNCHES.clear()


def case_of(op, part="backward", sizes=None):
    return Case("backward", op, sizes or SIZES.get(op, (6, 40)), part=part)


def run(op, modules, part="backward"):
    with torch.no_grad():  # as a whole run does
        case = bench.run_case(case_of(op, part), modules, CPU, SETTINGS)
    return case, {entry["name"]: entry for entry in case["contestants"]}


@pytest.mark.parametrize(("op", "part"), CASES_HERE)
def test_all_gradients_agree_and_are_timed(modules, op, part):
    case, found = run(op, modules, part)
    assert case["part"] == part
    assert [name for name in found if name != "op by op"] == [
        "tilegen",
        "eager",
        "compile",
        "liger",
    ]
    for name in ("tilegen", "eager", "op by op", "compile"):
        assert found[name]["complaint"] == ""
        assert found[name]["ms"] == 0.5
        assert 0 < found[name]["error"] < 1e-2
    assert found["tilegen"]["path"] == "torch"


def test_bytes_are_those_of_what_a_backward_reads_and_writes(modules):
    wide, row, column = 2 * 6 * 40, 2 * 40, 4 * 6
    both = (2 * wide + 8 * 6 + 2 * column) + (wide + 8 * 6 + column) + (column + 4)
    expected = {
        ("rmsnorm", "backward"): 3 * wide + 2 * row + column,
        ("add_rmsnorm", "backward"): 4 * wide + 2 * row + column,
        ("layernorm", "backward"): 3 * wide + 3 * row + 2 * column + 2,  # bias: its dtype alone
        ("softmax", "backward"): 3 * wide,
        ("swiglu", "backward"): 5 * wide,
        ("cross_entropy", "both"): both,
    }
    assert {key: run(key[0], modules, key[1])[0]["bytes"] for key in expected} == expected


def test_a_wrong_gradient_is_not_timed(modules, monkeypatch):
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return torch.softmax(x, -1)

        @staticmethod
        def backward(ctx, gradient):
            return gradient

    monkeypatch.setattr(peers, "EAGER", {"softmax": Wrong.apply})
    _, found = run("softmax", modules)
    assert found["eager"]["complaint"].startswith("wrong: gradient of x: relative error")
    assert "ms" not in found["eager"]
    assert found["op by op"]["ms"] == 0.5


def test_a_loss_gradient_is_wrong_if_it_is_right_at_the_labels_alone(modules):
    case = case_of("cross_entropy", "both", (64, 4096))
    tensors = case.inputs(CPU)
    problem = gradients.Problem(case, modules["cross_entropy"], modules.runtime, tensors)
    (expected,) = problem.expected().values()
    target = tensors[1]
    rows = torch.arange(64)
    lazy = torch.zeros_like(expected)
    lazy[rows, target] = expected[rows, target]
    judged = gradients.judge_gradients(problem, ["logits"], [lazy], [expected])
    assert judged.complaint.startswith("gradient of logits")
    right = gradients.judge_gradients(problem, ["logits"], [expected.bfloat16()], [expected])
    assert right.complaint == ""


class InPlace(torch.autograd.Function):
    """Writes the gradients over the inputs, behind autograd's back."""

    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return torch.nn.functional.silu(gate) * up

    @staticmethod
    def backward(ctx, gradient):
        gate, up = ctx.saved_tensors
        with torch.enable_grad():
            leaves = [tensor.detach().clone().requires_grad_() for tensor in (gate, up)]
            result = torch.nn.functional.silu(leaves[0]) * leaves[1]
            made = torch.autograd.grad(result, leaves, gradient)
        gate.data.copy_(made[0])
        up.data.copy_(made[1])
        return gate.view_as(gate), up.view_as(up)


def test_a_peer_that_overwrites_has_inputs_of_its_own_fresh_for_each_call(modules, monkeypatch):
    monkeypatch.setattr(peers, "liger_in_place", lambda op: InPlace.apply)
    _, found = run("swiglu", modules)
    assert found["liger"]["complaint"] == ""  # judged after a second call
    assert found["liger"]["overwrites"] == "inputs"
    assert found["eager"]["error"] < 1e-2
    assert "overwrites" not in found["eager"]


def test_restoring_is_no_part_of_the_call():
    done = []
    call = Restored(lambda: done.append("call"), lambda: done.append("restore"))
    call()
    assert done == ["call"]
    restored(call)()
    assert done == ["call", "restore", "call"]
    assert restored(done.clear) == done.clear


def test_ours_says_what_its_backward_ran(modules, monkeypatch):
    monkeypatch.setattr(modules.runtime, "INTERPRETING", True)
    case = case_of("cross_entropy", "both")
    tensors = case.inputs(CPU)
    module = modules["cross_entropy"]
    race = gradients.race(case, module, modules.runtime, tensors, bench.Settings(peers=()))
    contest.check(race)
    (ours,) = race.contestants
    forward, backward = ours.record["kernels"]
    assert "backward" in backward
    assert "backward" not in forward
    assert len(ours.record["configs"]) == 2


def test_the_table_names_what_is_timed_in_both_parts(modules):
    case, _ = run("cross_entropy", modules, "both")
    assert report.line(case, [1e12]).startswith("cross_entropy fwd+bwd")
    case, _ = run("softmax", modules)
    assert report.line(case, [1e12]).startswith("softmax  ")


def test_a_sweep_of_a_backward_tries_its_schedules_and_configs(modules, monkeypatch):
    monkeypatch.setattr(modules.runtime, "INTERPRETING", True)
    monkeypatch.setattr(sweep, "DeviceClock", OwnClock)
    # the interpreter takes one kernel at a time
    monkeypatch.setattr(sweep, "ThreadPoolExecutor", lambda _: ThreadPoolExecutor(1))
    extra = "TILE=512 num_warps=2 num_stages=2 PROGRAMS=1"
    swept = sweep.sweep(case_of("rmsnorm"), modules, CPU, SETTINGS, extra)
    trials = swept["trials"]
    assert {trial["schedule"] for trial in trials} >= {"sums", "block", "loop"}
    assert all("_backward_" in name for trial in trials for name in trial["kernels"])
    assert all(trial["ms"] == 0.5 for trial in trials if not trial["complaint"])
    assert any(config["TILE"] == 512 for trial in trials for config in trial["configs"])
    assert swept["part"] == "backward"
    rows = list(sweep.table(swept, 1e12))
    assert rows[0] == "\nrmsnorm 6x40 backward"
    assert len(rows) <= 1 + sweep.MOST_SHOWN + 1


def test_trials_far_from_the_best_keep_their_first_timing():
    class Told:
        def __init__(self, _):
            pass

        def times(self, call, repeats):
            return [call()] * repeats

    def trial(ms):
        return sweep.Trial("block", (), lambda: ms, {})

    trials = [trial(1.0), trial(1.2), trial(9.0)]
    asked = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep, "DeviceClock", Told)
        real = sweep.interleave
        patch.setattr(
            sweep,
            "interleave",
            lambda c, calls, *rest: asked.extend(calls) or real(c, calls, *rest),
        )
        sweep._time(trials, CPU, SETTINGS)
    assert [one.ms for one in trials] == [1.0, 1.2, 9.0]
    assert asked == ["0", "1"]
