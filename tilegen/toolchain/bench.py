"""The bench: kernels of the catalogue against eager PyTorch, torch.compile, Liger and Helion.

Every contestant is checked against an fp64 reference, warmed up, and timed in turns with the others
(see `contest` and `timing`; `gradients` for the backward). It needs torch and Triton only:
`python -m tilegen.toolchain.bench --out DIR` runs it from a checkout. It writes ``bench.json``
after each case, then ``table.txt`` and plots.
"""

import argparse
import importlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import torch

from tilegen.toolchain import contest, gradients, peers, planning, report
from tilegen.toolchain.cases import NOT_IN_ALL, SUITES, Case, bytes_of, select
from tilegen.toolchain.contest import PEERS, Contestant, Race, Settings, ready
from tilegen.toolchain.timing import FLUSH_BYTES, Call, DeviceClock, interleave
from tilegen.toolchain.verdict import Verdict, judge, judge_dropout, reference_outputs

COPY_BYTES: Final = 2 * 2**30


class Modules:
    """The generated modules, by op, and their runtime."""

    def __init__(self, package: str = "") -> None:
        self.package = package or _package()
        self.runtime: Any = importlib.import_module(f"{self.package}._runtime")

    def __getitem__(self, op: str) -> Any:
        return importlib.import_module(f"{self.package}.{op}")


def _package() -> str:
    """Return the catalogue: ``generated`` in a checkout, ``tilegen.kernels`` in a wheel."""
    try:
        importlib.import_module("generated._runtime")
    except ImportError:
        return "tilegen.kernels"
    return "generated"


def run_case(
    case: Case, modules: Modules, device: torch.device, settings: Settings
) -> dict[str, Any]:
    """Check and time all contestants of one case; the result is one entry of ``bench.json``."""
    tensors = case.inputs(device)
    module = modules[case.op]
    with torch.set_grad_enabled(case.part != "forward"):
        make = _race if case.part == "forward" else gradients.race
        race = make(case, module, modules.runtime, tensors, settings)
        contest.check(race)
        timings = contest.timings(case.suite, race.contestants, device, settings)
    return _head(case, race.bytes) | {
        "contestants": [contest.entry(one, timings.get(one.name)) for one in race.contestants],
    }


def _head(case: Case, moved: int) -> dict[str, Any]:
    """Return what the JSON says of a case itself."""
    return {
        "suite": case.suite,
        "op": case.op,
        "shape": case.shape,
        "dtype": str(case.dtype).removeprefix("torch."),
        "part": case.part,
        "bytes": moved,
    }


def _race(
    case: Case, module: Any, runtime: Any, tensors: Sequence[torch.Tensor], settings: Settings
) -> Race:
    """Return our op and its peers on one set of inputs."""
    arguments = planning.arguments(module, tensors)
    contestants = list(_contestants(case, module, runtime, arguments, tensors, settings))
    outputs = planning.poisoned_call(contestants[0].call) if contestants[0].call else ()
    moved = bytes_of((*tensors, *outputs))
    del outputs
    expected = reference_outputs(module, runtime, arguments.tensors, arguments.params)
    expected = expected[: len(module.OP.outputs)]  # what it saves beside them only a backward sees

    def verdict(name: str, results: Sequence[torch.Tensor]) -> Verdict:
        if case.op == "dropout_residual_add" and name in PEERS:
            return judge_dropout(results[0], tensors[0], tensors[1])
        return judge(results, expected)

    return Race(contestants, verdict, lambda: planning.record(runtime.last_launch()), moved)


def _contestants(
    case: Case,
    module: Any,
    runtime: Any,
    arguments: planning.Arguments,
    tensors: Sequence[torch.Tensor],
    settings: Settings,
) -> Iterator[Contestant]:
    """Yield our op first, then its peers, each ready to call or with the reason why not."""
    public = getattr(module, case.op)
    yield ready("tilegen", lambda: lambda: public(*tensors))
    if case.suite == "host":
        yield ready("hand-written", lambda: planning.hand_written(module, runtime, arguments))
        overload = module.OP.overload
        flags = (False,) if module.OP.saved else ()
        yield ready("registered op", lambda: lambda: overload(*arguments.all, *flags))
    eager = peers.EAGER.get(case.op) or planning.eager_reference(module, runtime, arguments)
    makers: Mapping[str, Callable[[], peers.Function | None]] = {
        "eager": lambda: eager,
        "compile": lambda: peers.compiled(eager),
        "liger": lambda: peers.liger(case.op),
        "helion": lambda: peers.helion(case.op),
    }
    for name in settings.peers:
        if case.suite == "host" and name in ("liger", "helion"):
            continue
        yield ready(name, lambda name=name: _bound(makers[name](), tensors))  # type: ignore[misc]


def _bound(function: peers.Function | None, tensors: Sequence[torch.Tensor]) -> Call | None:
    return None if function is None else lambda: function(*tensors)


def copy_rate(device: torch.device, settings: Settings) -> float:
    """Return the rate of a large copy_ in bytes/s, read and written."""
    source = torch.randn(COPY_BYTES // 2, dtype=torch.bfloat16, device=device)
    target = torch.empty_like(source)
    clock = DeviceClock(device)
    timing = interleave(
        clock, {"copy": lambda: target.copy_(source)}, settings.rounds, {"copy": 10}
    )["copy"]
    return 2 * COPY_BYTES / (timing.ms * 1e-3)


def run(
    cases: Sequence[Case],
    out: Path,
    settings: Settings,
    package: str = "",
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Run cases on the current GPU and return what was written to ``out / "bench.json"``."""
    begin = time.monotonic()
    device = torch.device("cuda", torch.cuda.current_device())
    modules = Modules(package)
    result = report.start(device, settings.__dict__ | {"flush_bytes": FLUSH_BYTES})
    say(f"compiled in {compile_all(cases, modules, device):.0f} s")
    with torch.no_grad():
        result["copy"].append(copy_rate(device, settings))
        for number, case in enumerate(cases, 1):
            if time.monotonic() - begin > settings.seconds:
                result["not_run"].append(f"{case.suite} {case.op} {case.shape}: out of time")
                continue
            entry = _guarded(case, modules, device, settings)
            result["cases"].append(entry)
            if number % 12 == 0:
                result["copy"].append(copy_rate(device, settings))
            report.save(result, out)
            elapsed = time.monotonic() - begin
            say(f"[{number}/{len(cases)} {elapsed:.0f} s] {report.line(entry, result['copy'])}")
        result["copy"].append(copy_rate(device, settings))
    result["seconds"] = time.monotonic() - begin
    report.save(result, out)
    return result


def compile_all(cases: Sequence[Case], modules: Modules, device: torch.device) -> float:
    """Call our op of each case once, so that kernels compile at the same time; return seconds.

    An error shows again, and is recorded, when the case runs.
    """
    begin = time.monotonic()

    def compile_one(case: Case) -> None:
        with torch.no_grad(), suppress(Exception):
            tensors = case.inputs(device)
            getattr(modules[case.op], case.op)(*tensors)
            if case.part != "forward":
                gradients.Problem(case, modules[case.op], modules.runtime, tensors).results()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(compile_one, cases))
    torch.cuda.synchronize(device)
    torch.cuda.empty_cache()
    return time.monotonic() - begin


def _guarded(
    case: Case, modules: Modules, device: torch.device, settings: Settings
) -> dict[str, Any]:
    """Run a case; an error of our own op or of the harness is its result."""
    try:
        return run_case(case, modules, device, settings)
    except torch.cuda.OutOfMemoryError as error:
        said = contest.said(error)
    except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
        said = contest.said(error)
    finally:
        torch.cuda.empty_cache()
    return _head(case, 0) | {
        "contestants": [{"name": "tilegen", "error": None, "complaint": said}],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from a command line; see ``--help``."""
    parser = argparse.ArgumentParser("tilegen bench", description="Time ops on a GPU.")
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument(
        "--suite",
        default="all",
        help=f"of {', '.join(SUITES)}; all is without {' and '.join(NOT_IN_ALL)}",
    )
    parser.add_argument("--ops", default="", help="only these ops, with commas")
    parser.add_argument("--shape", default="", help='only this shape, for example "4096x32000"')
    parser.add_argument("--peers", default=",".join(PEERS), help="contestants besides our own")
    parser.add_argument("--seconds", type=float, default=360.0, help="begin no case after that")
    parser.add_argument("--quick", action="store_true", help="2 short rounds")
    parser.add_argument("--sweep", action="store_true", help="time every schedule and config")
    parser.add_argument("--try", dest="extra", default="", help='"TILE=4096,8192 num_warps=8,16"')
    parser.add_argument("--package", default="", help="of the modules; default: the catalogue")
    parser.add_argument("--no-plots", action="store_true")
    taken = parser.parse_args(arguments)
    ops = tuple(filter(None, taken.ops.split(",")))
    try:
        cases = select(taken.suite.split(","), ops, taken.shape)
    except ValueError as error:
        parser.error(str(error))
    if not torch.cuda.is_available():
        print("error: the bench needs a GPU; torch.cuda sees none", file=sys.stderr)
        return 1
    names = tuple(filter(None, taken.peers.split(",")))
    rounds, budget = (2, 5.0) if taken.quick else (Settings.rounds, Settings.budget)
    settings = Settings(taken.seconds, rounds, budget, names)
    if taken.sweep:
        from tilegen.toolchain import sweep

        sweep.run(cases, taken.out, settings, taken.extra, taken.package)
        return 0
    result = run(cases, taken.out, settings, taken.package, lambda line: print(line, flush=True))
    table = report.table(result)
    (taken.out / "table.txt").write_text(table, encoding="utf-8")
    print(table)
    if not taken.no_plots:
        from tilegen.toolchain import plots

        for path in plots.draw(result, taken.out):
            print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
