"""Every schedule and config of our kernels for a case: what the cost functions are tuned with.

Plans take a forced schedule and forced configs from their `Choices`.
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
from tilegen.toolchain.subject import SCHEDULES
from tilegen.toolchain.timing import DeviceClock, interleave, repeats_for
from tilegen.toolchain.verdict import judge, reference_outputs

WIDEST_TRIED: Final = 65_536
"""Columns of the widest block that is tried: wider ones take minutes to compile."""


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
    tensors = case.inputs(device)
    module, runtime = modules[case.op], modules.runtime
    given = planning.arguments(module, tensors)
    trials = list(_trials(module, runtime, given, extra))
    expected = reference_outputs(module, runtime, given.tensors, given.params)
    with ThreadPoolExecutor(8) as pool:  # compiling is what takes long
        list(pool.map(_compile, trials))
    outputs: Sequence[torch.Tensor] = ()
    for trial in trials:
        if not trial.complaint:
            outputs = trial.call()
            trial.complaint = judge(outputs, expected).complaint
    del expected
    good = {str(at): trial.call for at, trial in enumerate(trials) if not trial.complaint}
    clock = DeviceClock(device)
    repeats = {
        at: repeats_for(sorted(clock.times(call, 3))[1] + 0.1, settings.budget)
        for at, call in good.items()
    }
    for at, timing in interleave(clock, good, settings.rounds, repeats).items():
        trials[int(at)].ms = timing.ms
    return {
        "op": case.op,
        "shape": case.shape,
        "bytes": bytes_of((*tensors, *outputs)),
        "trials": [
            {"schedule": t.schedule, "ms": t.ms, "complaint": t.complaint} | t.record
            for t in trials
        ],
    }


def _compile(trial: Trial) -> None:
    """Run a trial once; what a config that does not fit or compile says is its complaint."""
    try:
        trial.call()
    except Exception as error:
        trial.complaint = f"{type(error).__name__}: {' '.join(str(error).split())}"[:120]


def _trials(module: Any, runtime: Any, given: planning.Arguments, extra: str) -> Iterator[Trial]:
    """Yield each different launch once."""
    seen: set[str] = set()
    for schedule in _schedules(module, given):
        choices = runtime.Choices(schedule=schedule)
        planning.make_plan(module.OP, runtime, given).launch(choices)
        for at, space in enumerate(choices.spaces):
            for config in (*space, *_extra_configs(runtime, space[0], extra)):
                chosen = (*choices.chosen[:at], config, *choices.chosen[at + 1 :])
                plan = planning.make_plan(module.OP, runtime, given)
                call = plan.prepare(runtime.Choices(chosen, schedule=schedule))
                key = repr([(k.jit.__name__, k.grid, k.constants, k.options) for k in call.kernels])
                if key in seen:
                    continue
                seen.add(key)
                record = planning.record(call.record) | {
                    "constants": [_plain(kernel.constants) for kernel in call.kernels],
                    "grids": [kernel.grid[0] for kernel in call.kernels],
                }
                yield Trial(schedule, chosen, _bound(call, given), record)


def _schedules(module: Any, given: planning.Arguments) -> Sequence[str]:
    """Return the schedules that a module has kernels for, without blocks that are too wide."""
    columns = max((t.shape[-1] for t in given.tensors if t is not None and t.dim()), default=1)
    found = [
        name
        for name, ending in SCHEDULES.items()
        if any(kernel.endswith(f"_{ending}") for kernel in vars(module))
    ]
    return [name for name in found if name != "block" or columns <= WIDEST_TRIED]


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
    yield f"\n{swept['op']} {swept['shape']}"
    trials = sorted(swept["trials"], key=lambda trial: trial["ms"] or float("inf"))
    for trial in trials:
        text = report.config_text(trial)
        sizes = " ".join(
            f"{k}={v}" for k, v in trial["constants"][0].items() if k not in ("INT", "FLOAT")
        )
        if trial["ms"] is None:
            yield f"  {trial['schedule']:6} {'':9} {'':6} {text}: {trial['complaint']}"
        else:
            share = swept["bytes"] / (trial["ms"] * 1e-3) / copy
            yield f"  {trial['schedule']:6} {trial['ms']:9.5f} {share:6.3f} {text} [{sizes}] grid {trial['grids'][0]}"
