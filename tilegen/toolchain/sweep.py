"""Every schedule and config of our kernels for a case: what the cost functions are tuned with.

Plans take a forced schedule and forced configs from their `Choices`. Of a case with a backward the
backward op alone is swept, and called without autograd.
"""

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch

from tilegen.toolchain import planning, report
from tilegen.toolchain.cases import Case, bytes_of
from tilegen.toolchain.gradients import Problem, judge_gradients
from tilegen.toolchain.subject import SCHEDULES
from tilegen.toolchain.timing import DeviceClock, interleave, repeats_for
from tilegen.toolchain.verdict import Verdict, judge, reference_outputs

WIDEST_TRIED: Final = 65_536
"""Columns of the widest block that is tried: wider ones take minutes to compile."""

WHOLE: Final = ("block", "sums")
"""Schedules of whole rows in registers."""

NEAR_BEST: Final = 1.3
"""Trials that took longer than this times the fastest keep their first, short timing."""

MOST_SHOWN: Final = 10
"""Rows of the table of a backward."""


@dataclass(frozen=True)
class Swept:
    """What is swept: a call of one op.

    Attributes:
        wanted: the results to compute; None for the outputs.
        judge: of the results.
    """

    op: Any
    given: planning.Arguments
    wanted: tuple[bool, ...] | None
    judge: Callable[[Sequence[torch.Tensor]], Verdict]


@dataclass
class Trial:
    """One schedule with one choice of configs."""

    schedule: str
    configs: tuple[Any, ...]
    call: Callable[[], Sequence[torch.Tensor]]
    record: dict[str, Any]
    complaint: str = ""
    ms: float | None = None


def run(
    cases: Sequence[Case], out: Path, settings: Any, extra: str = "", package: str = ""
) -> list[dict[str, Any]]:
    """Sweep over cases, print a table of each, write ``sweep.json`` and return what it holds."""
    from tilegen.toolchain.bench import Modules, copy_rate

    device = torch.device("cuda", torch.cuda.current_device())
    modules = Modules(package)
    copy = copy_rate(device, settings)
    print(f"copy: {copy / 1e12:.3f} TB/s")
    found = []
    for case in cases:
        with torch.no_grad():
            found.append(sweep(case, modules, device, settings, extra))
        for row in table(found[-1], copy):
            print(row, flush=True)
        out.mkdir(parents=True, exist_ok=True)
        conditions = report.start(device, settings.__dict__) | {"copy": [copy], "sweeps": found}
        (out / "sweep.json").write_text(json.dumps(conditions, indent=1) + "\n", encoding="utf-8")
        torch.cuda.empty_cache()
    return found


def sweep(
    case: Case, modules: Any, device: torch.device, settings: Any, extra: str
) -> dict[str, Any]:
    """Check and time all schedules and configs of one case."""
    module, runtime = modules[case.op], modules.runtime
    swept = _swept(case, module, runtime, device)
    trials = list(_trials(module, runtime, swept, extra))
    with ThreadPoolExecutor(8) as pool:  # compiling is what takes long
        list(pool.map(_compile, trials))
    outputs: Sequence[torch.Tensor] = ()
    for trial in trials:
        if not trial.complaint:
            outputs = trial.call()
            trial.complaint = swept.judge(outputs).complaint
    _time(trials, device, settings)
    return {
        "op": case.op,
        "shape": case.shape,
        "part": "forward" if case.part == "forward" else "backward",
        "bytes": bytes_of(t for t in (*swept.given.tensors, *outputs) if t is not None),
        "trials": [
            {"schedule": t.schedule, "ms": t.ms, "complaint": t.complaint} | t.record
            for t in trials
        ],
    }


def _swept(case: Case, module: Any, runtime: Any, device: torch.device) -> Swept:
    tensors = case.inputs(device)
    if case.part == "forward":
        given = planning.arguments(module, tensors)
        outputs = reference_outputs(module, runtime, given.tensors, given.params)
        return Swept(module.OP, given, None, lambda results: judge(results, outputs))
    problem = Problem(case, module, runtime, tensors)
    expected = problem.expected()
    names = [output.name for output in problem.backward.outputs]
    sources = {result: name for name, result in problem.sources.items()}

    def verdict(results: Sequence[torch.Tensor]) -> Verdict:
        taken = {n: r for n, r in zip(names, results, strict=True) if sources.get(n) in expected}
        gradients = [expected[sources[name]] for name in taken]
        return judge_gradients(problem, list(taken), [*taken.values()], gradients)

    return Swept(problem.backward, problem.arguments, problem.wanted, verdict)


def _time(trials: Sequence[Trial], device: torch.device, settings: Any) -> None:
    """Time trials, in turns those that are near the best."""
    clock = DeviceClock(device)
    right = {str(at): trial for at, trial in enumerate(trials) if not trial.complaint}
    for trial in right.values():
        trial.ms = sorted(clock.times(trial.call, 5))[2]
    best = min((trial.ms or 0.0 for trial in right.values()), default=0.0)
    near = {at: t for at, t in right.items() if t.ms is not None and t.ms <= NEAR_BEST * best}
    repeats = {at: repeats_for((t.ms or 0.0) + 0.1, settings.budget) for at, t in near.items()}
    calls = {at: trial.call for at, trial in near.items()}
    for at, timing in interleave(clock, calls, settings.rounds, repeats).items():
        trials[int(at)].ms = timing.ms


def _compile(trial: Trial) -> None:
    """Run a trial once; what a config that does not fit or compile says is its complaint."""
    try:
        trial.call()
    except Exception as error:
        trial.complaint = _said(error)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:120]


def _trials(module: Any, runtime: Any, swept: Swept, extra: str) -> Iterator[Trial]:
    """Yield each different launch once; a config that no launch can be made of with why not."""
    seen: set[str] = set()

    def plan() -> Any:
        return planning.make_plan(swept.op, runtime, swept.given, wanted=swept.wanted)

    for schedule in _schedules(module, swept):
        choices = runtime.Choices(schedule=schedule)
        try:
            plan().launch(choices)
        except runtime.NoConfig:
            continue
        for at, space in enumerate(choices.spaces):
            for config in (*space, *_extra_configs(runtime, space[0], extra)):
                chosen = (*choices.chosen[:at], config, *choices.chosen[at + 1 :])
                try:
                    call = plan().prepare(runtime.Choices(chosen, schedule=schedule))
                except Exception as error:
                    yield _unmade(schedule, chosen, error)
                    continue
                key = repr([(k.jit.__name__, k.grid, k.constants, k.options) for k in call.kernels])
                if key in seen:
                    continue
                seen.add(key)
                record = planning.record(call.record) | {
                    "constants": [_plain(kernel.constants) for kernel in call.kernels],
                    "grids": [kernel.grid[0] for kernel in call.kernels],
                }
                yield Trial(schedule, chosen, _bound(call, swept.given), record)


def _unmade(schedule: str, configs: tuple[Any, ...], error: Exception) -> Trial:
    """Return a trial without a launch."""
    record = {
        "path": "",
        "kernels": [schedule] * len(configs),
        "configs": [dict(config.values) for config in configs],
        "constants": [{}],
        "grids": [0],
    }
    return Trial(schedule, configs, tuple, record, _said(error))


def _schedules(module: Any, swept: Swept) -> Sequence[str]:
    """Return the schedules that an op has kernels for, without blocks that are too wide."""
    tensors = [tensor for tensor in swept.given.tensors if tensor is not None and tensor.dim()]
    columns = max((tensor.shape[-1] for tensor in tensors), default=1)
    backward = f"_{module.OP.name}_backward"
    kernels = [n for n in vars(module) if n.startswith(backward) == (swept.op is not module.OP)]
    found = [
        name
        for name, ending in SCHEDULES.items()
        if any(kernel.endswith(f"_{ending}") for kernel in kernels)
    ]
    return [name for name in found if name not in WHOLE or columns <= WIDEST_TRIED]


def _plain(constants: dict[str, Any]) -> dict[str, Any]:
    return {k: v if isinstance(v, int) else str(v) for k, v in constants.items()}


def _bound(call: Any, given: planning.Arguments) -> Callable[[], Sequence[torch.Tensor]]:
    pointers = [None if tensor is None else tensor.data_ptr() for tensor in given.tensors]

    def bound() -> Sequence[torch.Tensor]:
        results: Sequence[torch.Tensor] = call(given.tensors, list(pointers), given.params, None)
        return results

    return bound


def _extra_configs(runtime: Any, like: Any, extra: str) -> Iterator[Any]:
    """Yield the product of "TILE=4096,8192 num_warps=8,16" as configs with the values of ``like``.

    Symbols that a space does not have are for other spaces.
    """
    lists = dict(part.split("=") for part in extra.split())
    wanted = {n: [int(v) for v in text.split(",")] for n, text in lists.items()}
    usable = {n: v for n, v in wanted.items() if n in like.values or n.islower()}
    if not usable or (any(map(str.isupper, wanted)) and not any(map(str.isupper, usable))):
        return
    for values in itertools.product(*usable.values()):
        yield runtime.Config(**(like.values | dict(zip(usable, values, strict=True))))


def table(swept: dict[str, Any], copy: float) -> Iterator[str]:
    """Yield the rows of one case, fastest first."""
    backward = swept["part"] == "backward"
    yield f"\n{swept['op']} {swept['shape']}{' backward' if backward else ''}"
    trials = sorted(swept["trials"], key=lambda trial: trial["ms"] or float("inf"))
    shown = trials[: MOST_SHOWN if backward else len(trials)]
    yield from (_row(swept, trial, copy) for trial in shown)
    if len(trials) > len(shown):
        failed = sum(trial["ms"] is None for trial in trials)
        yield f"  and {len(trials) - len(shown)} more, of which {failed} failed: see sweep.json"


def _row(swept: dict[str, Any], trial: dict[str, Any], copy: float) -> str:
    """Return one row of the table."""
    text = report.config_text(trial)
    if trial["ms"] is None:
        return f"  {trial['schedule']:7} {'':9} {'':6} {text}: {trial['complaint']}"
    sizes = " ".join(
        f"{k}={v}" for k, v in trial["constants"][0].items() if k not in ("INT", "FLOAT")
    )
    share = swept["bytes"] / (trial["ms"] * 1e-3) / copy
    return (
        f"  {trial['schedule']:7} {trial['ms']:9.5f} {share:6.3f} {text} [{sizes}] "
        f"grid {trial['grids'][0]}"
    )
