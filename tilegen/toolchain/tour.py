"""The tour: each op once against PyTorch, and its time where there is a GPU.

It shows that an installation works; `tilegen check` is what proves kernels right, and
`tilegen bench` what times them. Without a GPU kernels run in Triton's interpreter, on small
tensors; times would say nothing there.
"""

import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tilegen import errors
from tilegen.spec.trace import TracedSpec, Variant
from tilegen.toolchain import planning
from tilegen.toolchain.baseline import evaluate, oracle_results
from tilegen.toolchain.cases import CASES
from tilegen.toolchain.compare import largest_error
from tilegen.toolchain.inputs import Draw, Inputs, draw
from tilegen.toolchain.interpreter import prepare
from tilegen.toolchain.shapes import shape
from tilegen.toolchain.subject import Subject, subjects
from tilegen.toolchain.timing import DeviceClock, interleave
from tilegen.toolchain.verdict import judge

#: Elements of a row on a CPU: no multiple of a tile.
SMALL = 70
ROUNDS, REPEATS = 3, 10


@dataclass(frozen=True)
class Stop:
    """One op of the tour.

    Attributes:
        shapes: of its tensors.
        against: "oracle" (the spec's own expression in PyTorch) or "reference".
        error: the largest difference from that in fp64, over all outputs.
        complaint: what is wrong; empty if nothing is.
        ms: milliseconds of the op, on a GPU.
        eager_ms: those of eager PyTorch, op by op.
    """

    op: str
    shapes: str
    against: str
    error: float
    complaint: str
    ms: float | None = None
    eager_ms: float | None = None


def tour(specs: Path, folder: Path, progress: Callable[[str, int], None]) -> Iterator[Stop]:
    """Visit every op of a folder of specs whose modules are in `folder`.

    Raises:
        BuildFailed: a spec cannot be read.
        MissingModule: a spec was not built.
    """
    device = prepare()
    found, mistakes = subjects(specs, folder)
    if mistakes:
        raise errors.BuildFailed(mistakes)
    for subject in found:
        progress(subject.name, len(found))
        with torch.no_grad(), warnings.catch_warnings():
            # NumPy's, in the interpreter: a division in a branch that where() does not take.
            warnings.simplefilter("ignore")
            yield _visit(subject, device)


def _visit(subject: Subject, device: torch.device) -> Stop:
    variant = default_variant(subject.traced)
    inputs = _inputs(subject, variant, device)
    shown = ", ".join(
        "x".join(map(str, t.shape)) or "scalar" for t in inputs.tensors if t is not None
    )
    against = "oracle" if subject.traced.spec.oracle else "reference"
    try:
        results = _as_tuple(_call(subject, inputs)())
        if against == "oracle":
            expected = oracle_results(subject, inputs)
        else:
            function = subject.op.variants[variant.key].reference
            expected = evaluate(subject, function, inputs, torch.float64)
        right = [_plain(e.reshape(r.shape)) for r, e in zip(results, expected, strict=True)]
        given = [_plain(result) for result in results]
        error = max(largest_error(g, r.double()) for g, r in zip(given, right, strict=True))
        complaint = judge(given, right).complaint
    except Exception as problem:
        return Stop(
            subject.name, shown, against, float("nan"), f"{type(problem).__name__}: {problem}"
        )
    times = _times(subject, inputs, device) if device.type == "cuda" else ()
    return Stop(subject.name, shown, against, error, complaint, *times)


def default_variant(traced: TracedSpec) -> Variant:
    """The variant that a call with the required arguments only takes."""
    params = {param.name: param for param in traced.params}

    def default(name: str) -> Any:
        param = params.get(name)
        if param is None:
            return False
        if param.optional:
            return param.default is not None
        if param.required:
            return False if param.kind == "bool" else param.choices[0]
        return param.default

    key = tuple(default(name) for name in traced.specialising)
    return next(variant for variant in traced.variants if variant.key == key)


def _inputs(subject: Subject, variant: Variant, device: torch.device) -> Inputs:
    """Small inputs of any op on a CPU; on a GPU those of the bench, for ops that it knows."""
    case = next((case for case in CASES if case.op == subject.name), None)
    if device.type == "cuda" and case is not None:
        given = planning.arguments(subject.module, case.inputs(device))
        return Inputs(given.tensors, given.params, (), ())
    how = Draw(shape(subject, SMALL, random.Random(0)), torch.float32)
    return draw(subject, variant, how, device)


def _call(subject: Subject, inputs: Inputs) -> Callable[[], Any]:
    """A call of the public function, by name: its arguments stand in the spec's order."""
    function = getattr(subject.module, subject.name)
    names = [operand.name for operand in subject.traced.operands]
    names += [param.name for param in subject.traced.params]
    arguments = dict(zip(names, (*inputs.tensors, *inputs.params), strict=True))
    return lambda: function(**arguments)


def _times(subject: Subject, inputs: Inputs, device: torch.device) -> tuple[float, float]:
    """Milliseconds of the op and of its reference in eager PyTorch."""
    given = planning.Arguments(inputs.tensors, inputs.params)
    eager = planning.eager_reference(subject.module, subject.runtime, given)
    tensors = [tensor for tensor in inputs.tensors if tensor is not None]
    calls: dict[str, Callable[[], object]] = {
        "op": _call(subject, inputs), "eager": lambda: eager(*tensors),
    }  # fmt: skip
    for call in calls.values():
        call()
    found = interleave(DeviceClock(device), calls, ROUNDS, dict.fromkeys(calls, REPEATS))
    return found["op"].ms, found["eager"].ms


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """Floats in fp64, which all of PyTorch takes (fp8 it does not); the rest as it is."""
    return tensor.double() if tensor.is_floating_point() else tensor


def _as_tuple(results: Any) -> tuple[torch.Tensor, ...]:
    return (results,) if isinstance(results, torch.Tensor) else tuple(results)


def where() -> str:
    """What the kernels run on, in words."""
    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return "Triton's interpreter on the CPU"


def rows(stops: Sequence[Stop]) -> Iterator[tuple[str, ...]]:
    """The cells of the tour's table."""
    for stop in stops:
        cells: tuple[str, ...] = (
            stop.op,
            stop.shapes,
            stop.against,
            stop.complaint or f"{stop.error:.1e}",
        )
        if stop.ms is not None and stop.eager_ms is not None:
            cells += (f"{stop.ms:.3f}", f"{stop.eager_ms:.3f}")
        yield cells
