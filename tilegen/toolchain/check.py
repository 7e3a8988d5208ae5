"""Checks that what was built is right: every schedule, every config, on inputs that break kernels.

The same check runs on a CPU, in Triton's interpreter, on small shapes, and on a GPU, compiled, on
real ones. Outputs and workspaces start out poisoned, tensors lie between poisoned guards, and each
launch is repeated: the same bits must come again.
"""

import json
import multiprocessing
import random
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from tilegen import errors
from tilegen.spec.trace import Variant
from tilegen.toolchain import compare
from tilegen.toolchain.backward import through_autograd, with_upstream
from tilegen.toolchain.baseline import Baseline, agrees, baseline, evaluate, oracle_results
from tilegen.toolchain.inputs import Draw, Inputs, draw
from tilegen.toolchain.interpreter import prepare
from tilegen.toolchain.matrix import Launching, draws
from tilegen.toolchain.shapes import shape
from tilegen.toolchain.subject import Subject, backward_of, subjects, variant_name
from tilegen.toolchain.trial import bits, launch, out_layout, verdict


@dataclass(frozen=True)
class Record:
    """One output of one launch, or one comparison of an oracle.

    Attributes:
        case: what the inputs were drawn from, in words; it can be drawn again.
        launch: schedule and config, or "oracle".
        error: largest error against fp64; steps for quantised outputs.
        bound: what is allowed there.
        reason: what is wrong; empty if nothing is.
    """

    op: str
    variant: str
    case: str
    launch: str
    output: str
    ok: bool
    error: float = 0.0
    bound: float = 0.0
    reason: str = ""

    def __str__(self) -> str:
        place = f"{self.op}({self.variant})" if self.variant else self.op
        return f"{place} [{self.case}] {self.launch}: {self.output}: {self.reason or 'ok'}"


@dataclass
class Report:
    """All records of a check."""

    records: list[Record] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def failures(self) -> list[Record]:
        """What was wrong."""
        return [record for record in self.records if not record.ok]

    @property
    def ok(self) -> bool:
        """Whether everything was right (and something was looked at)."""
        return bool(self.records) and not self.failures

    def to_json(self) -> str:
        """The report as JSON, with what it ran on."""
        device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu, interpreter"
        body = {
            "device": device, "torch": torch.__version__, "ok": self.ok, "seconds": self.seconds,
            "records": [asdict(record) for record in self.records],
        }  # fmt: skip
        return json.dumps(body, indent=1) + "\n"


def run_check(
    ops: Iterable[Subject],
    *,
    full: bool = False,
    seed: int = 0,
    gradients: bool = True,
    progress: Callable[[str], None] = lambda name: None,
) -> Report:
    """Check ops, and the gradient of each.

    Args:
        ops: what to check, as `subjects` finds it.
        full: the whole matrix, where else it is sampled.
        gradients: whether gradients are checked too.
        seed: of shapes and inputs; the same seed gives the same check.
        progress: told the name of each op before it is checked.
    """
    device = prepare()
    report = Report()
    for op in ops:
        progress(op.name)
        start = time.perf_counter()
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for variant in op.traced.variants:
                report.records += check_variant(op, variant, device, full=full, seed=seed)
                if gradients:
                    report.records += check_gradients(op, variant, device, full=full, seed=seed)
        report.seconds[op.name] = round(time.perf_counter() - start, 3)
    return report


def run_apart(
    specs: Path,
    folder: Path,
    names: Sequence[str],
    jobs: int,
    *,
    full: bool = False,
    seed: int = 0,
    progress: Callable[[str], None] = lambda name: None,
) -> Report:
    """Check ops in several processes, which share the GPU; the report is that of one process.

    Args:
        specs: a folder of specs, or one spec file.
        folder: where they were built to.
        names: of the ops; the first are begun first.
        jobs: processes.
        full: the whole matrix, where else it is sampled.
        seed: of shapes and inputs.
        progress: told the name of each op once it is checked.
    """
    context = multiprocessing.get_context("spawn")  # a process that was forked has no CUDA
    with ProcessPoolExecutor(min(jobs, len(names)), context, _one_thread) as pool:
        running: dict[Future[Report], str] = {
            pool.submit(_check_one, specs, folder, name, full, seed): name for name in names
        }
        try:
            for done in as_completed(running):
                done.result()
                progress(running[done])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    report = Report()
    for one in (future.result() for future in running):
        report.records += one.records
        report.seconds |= one.seconds
    return report


def _one_thread() -> None:
    """Processes side by side leave each other their cores."""
    torch.set_num_threads(1)


def _check_one(specs: Path, folder: Path, name: str, full: bool, seed: int) -> Report:
    prepare()
    return run_check(subjects(specs, folder, [name])[0], full=full, seed=seed)


def check_variant(
    subject: Subject, variant: Variant, device: torch.device, *, full: bool, seed: int
) -> Iterator[Record]:
    """All records of one variant."""
    chance = random.Random(f"{subject.name} {variant.key} {seed}")
    if subject.traced.spec.oracle:
        yield from _check_oracle(subject, variant, chance, device)
    for how, launches in draws(subject, variant, device, full=full, chance=chance):
        yield from check_draw(subject, variant, how, launches, device)


def check_gradients(
    subject: Subject, variant: Variant, device: torch.device, *, full: bool, seed: int
) -> Iterator[Record]:
    """All records of the gradients of one variant."""
    chance = random.Random(f"{subject.name} {variant.key} {seed} backward")
    yield from check_autograd(subject, variant, chance, device)
    backward = backward_of(subject, variant)
    if backward is not None:
        for how, launches in draws(backward, variant, device, full=full, chance=chance):
            yield from check_draw(backward, variant, how, launches, device)


def check_draw(
    subject: Subject,
    variant: Variant,
    how: Draw,
    launches: Sequence[Launching],
    device: torch.device,
) -> Iterator[Record]:
    """One set of inputs under several launches."""
    inputs = draw(subject, variant, how, device)
    right = baseline(subject, variant, how, inputs, device)
    for at, launching in enumerate(launches):
        yield from _check_launch(subject, variant, how, inputs, right, launching, at)


def _check_launch(
    subject: Subject,
    variant: Variant,
    how: Draw,
    inputs: Inputs,
    right: Baseline,
    launching: Launching,
    at: int,
) -> Iterator[Record]:
    def record(output: str, verdict: compare.Verdict) -> Record:
        return Record(
            subject.name, variant_name(subject, variant), str(how), str(launching), output,
            verdict.ok, verdict.error, verdict.bound, verdict.reason,
        )  # fmt: skip

    def wrong(reason: str) -> Record:
        return record("*", compare.Verdict(False, reason=reason))

    # Of a result that is not wanted nothing may be written: first into memory that shows it.
    layout = out_layout(subject, launching, at + 1 if how.wanted else how.seed + at)
    try:
        results, intact = launch(subject, inputs, launching, layout, 0)
        twice = at == 0 or how.seed % 4 == 0
        again = launch(subject, inputs, launching, layout, 1)[0] if twice else results
    except Exception as error:
        yield wrong(f"{type(error).__name__}: {error}")
        return
    if not inputs.untouched():
        yield wrong("an input, or memory beside one, was written")
    if not intact:
        yield wrong("memory beside an output was written")
    for place, result in enumerate(results):  # what is saved is no result where `out` is given
        name = subject.results[place]
        if inputs.wanted is not None and not inputs.wanted[place]:
            if layout == "new" and result.numel():
                yield record(name, compare.Verdict(False, reason="not wanted, and not empty"))
        elif not torch.equal(bits(result), bits(again[place])):
            yield record(name, compare.Verdict(False, reason="a second launch gave other bits"))
        else:
            yield record(name, verdict(subject, variant, result, right, place))


def check_autograd(
    subject: Subject, variant: Variant, chance: random.Random, device: torch.device
) -> Iterator[Record]:
    """The whole way, through PyTorch's autograd, for each set of inputs that need a gradient."""
    if not getattr(subject.op.variants[variant.key], "gradients", None):
        return
    how = Draw(shape(subject, 33, chance), torch.float32, layout="mixed 3", seed=3, defaults=False)
    place = subject.name, variant_name(subject, variant), str(how)
    try:
        inputs = with_upstream(subject, variant, how, device)
        for asked, name, found in through_autograd(subject, variant, how, inputs):
            yield Record(
                *place, f"autograd of {', '.join(asked)}", name,
                found.ok, found.error, found.bound, found.reason,
            )  # fmt: skip
    except Exception as error:
        yield Record(*place, "autograd", "*", False, reason=f"{type(error).__name__}: {error}")


# ---- the oracle ---------------------------------------------------------------------------------


def _check_oracle(
    subject: Subject, variant: Variant, chance: random.Random, device: torch.device
) -> Iterator[Record]:
    """The fp64 reference against the oracle: finds what was traced wrong."""
    for at, inner in enumerate((5, 17, 40)):
        how = Draw(shape(subject, inner, chance), torch.float64, seed=2 * at, defaults=at == 0)
        inputs = draw(subject, variant, how, device)
        function = subject.op.variants[variant.key].reference
        exact = evaluate(subject, function, inputs, torch.float64)
        try:
            given = subject.kinds(variant)[: len(subject.op.outputs)]
            reason = agrees(oracle_results(subject, inputs), exact[: len(given)], given)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
        yield Record(
            subject.name, variant_name(subject, variant), str(how), "oracle", "*", not reason,
            reason=reason,
        )  # fmt: skip


# ---- the command --------------------------------------------------------------------------------


def main_check(
    specs: Path,
    out_folder: Path,
    names: Sequence[str] = (),
    *,
    full: bool = False,
    seed: int = 0,
    jobs: int = 1,
    json_path: Path | None = None,
    say: Callable[[str], Any] = print,
    progress: Callable[[str, int], None] = lambda name, total: None,
) -> int:
    """Check the modules in a folder against their specs, and say what is wrong.

    Args:
        specs: a folder of specs, or one spec file.
        out_folder: where they were built to.
        names: only these ops.
        full: the whole matrix.
        seed: of shapes and inputs.
        jobs: processes; each checks one op at a time.
        json_path: where to write all records.
        say: told each line of the result.
        progress: told the name of each op, and how many there are.

    Returns:
        The exit status: 0 if everything is right.

    Raises:
        BuildFailed: a spec cannot be read.
        MissingModule: a spec was not built.
    """
    prepare()
    found, mistakes = subjects(specs, out_folder, names)
    if mistakes:
        raise errors.BuildFailed(mistakes)

    def told(name: str) -> None:
        progress(name, len(found))

    if jobs > 1 and len(found) > 1:
        ordered = [op.name for op in found]
        report = run_apart(specs, out_folder, ordered, jobs, full=full, seed=seed, progress=told)
    else:
        report = run_check(found, full=full, seed=seed, progress=told)
    if json_path is not None:
        json_path.write_text(report.to_json())
    for line in summary(report):
        say(line)
    return 0 if report.ok else 1


def summary(report: Report) -> Iterator[str]:
    """One line for each op, and one for each of its first failures."""
    for op, seconds in report.seconds.items():
        records = [record for record in report.records if record.op == op]
        failures = [record for record in records if not record.ok]
        state = f"{len(failures)} wrong" if failures else "ok"
        yield f"{op}: {len(records)} comparisons, {state} ({seconds:.1f} s)"
        for record in failures[:5]:
            yield f"  {record}"
