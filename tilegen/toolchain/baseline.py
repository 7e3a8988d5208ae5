"""What a kernel is compared with: the fp64 reference, eager PyTorch's error, and the oracle."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, singledispatch
from typing import Any

import torch
import torch.nn.functional as F

from tilegen.ir import types
from tilegen.ir.graph import Graph, Output
from tilegen.render.eager import reference
from tilegen.spec.trace import Variant
from tilegen.toolchain import compare
from tilegen.toolchain.inputs import Draw, Inputs, draw
from tilegen.toolchain.subject import Backward, Subject

#: Eager's error is taken over at least so many rows (elements, if nothing is reduced). The values of
#: a row share the errors of its statistics, and eager may be exact on a few rows by luck: on one row
#: of 10,000 columns, qk_norm_rope in the same arithmetic broke the rule in 3 of 100 draws.
ENOUGH = 512
#: Elements at most in a draw that has rows added.
MOST_ELEMENTS = 1 << 24
#: Draws at most, where there are no rows to add. A loss of one value broke the rule in 7 of 1000
#: draws when it was compared with eager's worst of 12, in none with its worst of 64.
MOST_DRAWS = 64
#: Of gradients fewer: each takes a graph, and has a value for each column at least.
MOST_GRADIENTS = 7

#: Seeds that are so far apart draw the same types and params (see `inputs`).
SEED_STEP = 840

#: How far an oracle may be from the fp64 reference, as a share of the largest value.
ORACLE_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Baseline:
    """What the outputs of one set of inputs should be.

    Attributes:
        exact: in fp64, in the dimensions of the spec (leading ones folded).
        eager: in fp32, which is what kernels compute in (fp64 for fp64 inputs).
        errors: the largest error of eager PyTorch, by output.
        scores: of index outputs.
    """

    exact: tuple[torch.Tensor, ...]
    eager: tuple[torch.Tensor, ...]
    errors: tuple[float, ...]
    scores: tuple[compare.Scores | None, ...]


def evaluate(
    subject: Subject,
    function: Callable[..., Any],
    inputs: Inputs,
    compute: torch.dtype | None,
) -> tuple[torch.Tensor, ...]:
    """A reference on the folded inputs; results are not rounded."""
    fold = subject.runtime.fold
    folded = [
        fold(operand, tensor, subject.op.fold)
        for operand, tensor in zip(subject.op.inputs, inputs.tensors, strict=True)
    ]
    results = function(*folded, *inputs.params, compute=compute)
    return (results,) if isinstance(results, torch.Tensor) else tuple(results)


Evaluate = Callable[[Inputs, torch.dtype | None], tuple[torch.Tensor, ...]]
"""Results of inputs in a type of arithmetic; None for eager PyTorch in the inputs' types."""


@singledispatch
def evaluator(subject: Subject, variant: Variant) -> Evaluate:
    """What the results of a variant are compared with; that of a backward is in `backward`."""
    return partial(evaluate, subject, subject.op.variants[variant.key].reference)


def baseline(
    subject: Subject, variant: Variant, how: Draw, inputs: Inputs, device: torch.device
) -> Baseline:
    """What is right for these inputs, and how far eager PyTorch is from it."""
    run = evaluator(subject, variant)
    given = inputs.source or inputs
    exact = run(given, torch.float64)
    eager = run(given, _arithmetic(how))
    errors = eager_errors(run, how, given, exact)
    for other in more_draws(subject, how):
        drawn = draw(subject, variant, other, device)
        found = eager_errors(run, other, drawn.source or drawn, None)
        grown = {dim for dim, size in other.shape.sizes.items() if size != how.shape.sizes[dim]}
        for at, output in enumerate(subject.op.results):
            if grown <= _dims(output):  # sums along what has grown are longer ones
                errors[at] = max(errors[at], found[at])
    slack = rounding_of_inputs(subject, variant, how, inputs)
    errors = [max(pair) for pair in zip(errors, slack, strict=True)]
    errors = floored(errors, exact, how)
    if isinstance(subject, Backward):
        # A gradient of one number is a long sum and one sample of an error, and eager's may be a
        # lucky one (on an H200, 2.5 times as large was seen).
        errors = [
            4 * e if value.numel() == 1 else e for e, value in zip(errors, exact, strict=True)
        ]
    errors = [
        max(pair) for pair in zip(errors, _slack_of_statistics(subject, how, inputs), strict=True)
    ]
    scores = tuple(
        _scores(subject, variant, at, how, inputs) if kind == "index" else None
        for at, kind in enumerate(subject.kinds(variant))
    )
    return Baseline(exact, eager, tuple(errors), scores)


@singledispatch
def rounding_of_inputs(
    subject: Subject, variant: Variant, how: Draw, inputs: Inputs
) -> Sequence[float]:
    """What rounding of the inputs alone costs each result: nothing, where they are exact."""
    return (0.0,) * len(subject.results)


def _dims(output: Any) -> set[str]:
    """The dimensions of a result, those of flat ones among them."""
    groups = ((entry,) if isinstance(entry, str) else entry for entry in output.dims)
    return {dim for group in groups for dim in group}


def more_draws(subject: Subject, how: Draw) -> Iterator[Draw]:
    """Draws beside this one, until there are enough values that do not share their errors.

    One draw with more rows, or several where all dimensions are reduced. A gradient that sums over
    rows is compared with draws of as many rows.
    """
    sizes = how.shape.sizes
    graph = subject.traced.variants[0].graph
    walked = [dim for dim in graph.dims if dim not in subject.gathered]
    shared = set(subject.columns)
    if subject.family == "elementwise" and how.values != "constant":
        shared = set()
    leading = 1 if subject.op.fold in shared else math.prod(how.shape.leading)
    count = leading * math.prod(sizes[dim] for dim in walked if dim not in shared)
    elements = math.prod((*how.shape.leading, *(sizes[dim] for dim in walked)))
    wanted = math.ceil(ENOUGH / max(1, count))
    if wanted == 1:
        return
    grows = [dim for dim in walked if dim not in shared and dim not in subject.static]
    other = replace(how, layout="contiguous", seed=how.seed + SEED_STEP)
    repeats = min(MOST_DRAWS, wanted) - 1 if not grows else 0
    if isinstance(subject, Backward):
        summed = grows and not all(grows[0] in _dims(output) for output in subject.op.results)
        repeats = min(MOST_GRADIENTS, wanted - 1) if summed or not grows else 0
    for again in range(1, repeats + 1):
        yield replace(other, seed=how.seed + SEED_STEP * again)
    if not grows:
        return
    times = min(wanted, max(2, MOST_ELEMENTS // max(1, elements)))
    larger = {**sizes, grows[0]: sizes[grows[0]] * times}
    yield replace(other, shape=replace(how.shape, sizes=larger))


def floored(errors: Sequence[float], exact: Sequence[torch.Tensor], how: Draw) -> list[float]:
    """Errors of eager PyTorch, none less than one rounding of the arithmetic at the largest value.

    Less is luck; fp64 errs as much.
    """
    unit = torch.finfo(_arithmetic(how)).eps / (1 if how.dtype == torch.float64 else 2)
    return [max(error, unit * _largest(value)) for error, value in zip(errors, exact, strict=True)]


def _slack_of_statistics(subject: Subject, how: Draw, inputs: Inputs) -> list[float]:
    """One rounding at the largest input for what the forward saves, of which nothing cancels.

    A mean near 0 of values around 1 is as far off as one around 1; what follows from it, the
    gradients, is held to the rule.
    """
    floats = [t for t in inputs.tensors if t is not None and t.is_floating_point()]
    unit = torch.finfo(_arithmetic(how)).eps
    scale = unit * max((_largest(t.double()) for t in floats), default=0.0)
    return [0.0] * len(subject.op.outputs) + [scale] * len(subject.op.saved)


def _largest(exact: torch.Tensor) -> float:
    finite = exact[exact.isfinite()] if exact.is_floating_point() else exact.new_empty(0)
    return float(finite.abs().max()) if finite.numel() else 0.0


def _arithmetic(how: Draw) -> torch.dtype:
    return torch.float64 if how.dtype == torch.float64 else torch.float32


def eager_errors(
    run: Evaluate,
    how: Draw,
    inputs: Inputs,
    exact: tuple[torch.Tensor, ...] | None,
) -> list[float]:
    """The largest error of eager PyTorch in the inputs' dtype (at least that of its fp32).

    PyTorch has no arithmetic in fp8: there it is that of fp32. Nothing is more exact than fp64:
    there it is that of fp32 on the same values, scaled to the precision of fp64, twice because
    the reference errs too.
    """
    if how.dtype == torch.float64:
        single = replace(inputs, tensors=tuple(map(_single, inputs.tensors)))
        exact = run(single, torch.float64)
        eager = run(single, torch.float32)
        share = 2 * torch.finfo(torch.float64).eps / torch.finfo(torch.float32).eps
        return [share * compare.largest_error(*pair) for pair in zip(eager, exact, strict=True)]
    exact = exact or run(inputs, torch.float64)
    computes: list[torch.dtype | None] = [torch.float32]
    if how.dtype.itemsize == 2 or (how.mixed and how.dtype.itemsize > 1):
        computes.append(None)
    found = [run(inputs, compute) for compute in computes]
    return [
        max(compare.largest_error(result, value) for result in results)
        for value, *results in zip(exact, *found, strict=True)
    ]


def _single(tensor: torch.Tensor | None) -> torch.Tensor | None:
    return tensor.float() if tensor is not None and tensor.dtype == torch.float64 else tensor


# ---- what an index output was taken of ----------------------------------------------------------


def _scores(
    subject: Subject, variant: Variant, at: int, how: Draw, inputs: Inputs
) -> compare.Scores:
    """The scores of an argmax or argmin, its dimension (or dimensions, flattened) last."""
    graph = variant.graph
    reduction = graph.outputs[at].value
    x, over = reduction.args[0], reduction.attrs["over"]
    kept = tuple(dim for dim in graph.outputs[at].dims)
    stored = tuple((dim,) for dim in (*kept, *graph.ordered(over)))
    probe = _compiled(subject, replace(graph, outputs=(Output("scores", x, stored, types.real),)))
    exact, eager = (
        evaluate(subject, probe, inputs, compute)[0].flatten(len(kept))
        for compute in (torch.float64, _arithmetic(how))
    )
    return compare.Scores(exact, compare.largest_error(eager, exact))


def _compiled(subject: Subject, graph: Graph) -> Callable[..., Any]:
    """The reference of a graph that is in no module, as a function."""
    body = reference(graph, subject.traced.params, lambda span: "")
    names = [*(o.name for o in subject.traced.operands), *(p.name for p in subject.traced.params)]
    lines = [f"def probe({', '.join(names)}, *, compute):"]
    lines += [f"    {line.target} = {line.value}" for line in body.lines]
    lines += [f"    return {', '.join(body.results)}"]
    namespace = {**vars(subject.runtime), "torch": torch}
    exec("\n".join(lines), namespace)
    function: Callable[..., Any] = namespace["probe"]
    return function


# ---- the oracle ---------------------------------------------------------------------------------


def oracle_results(subject: Subject, inputs: Inputs) -> tuple[torch.Tensor, ...]:
    """The oracle of the spec on fp64 copies of the inputs.

    Raises:
        Exception: whatever the expression raises.
    """
    names = [*(o.name for o in subject.traced.operands), *(p.name for p in subject.traced.params)]
    tensors = (
        None if tensor is None
        else tensor.double() if tensor.is_floating_point() else tensor.clone()
        for tensor in inputs.tensors
    )  # fmt: skip
    arguments = dict(zip(names, (*tensors, *inputs.params), strict=True))
    results = eval(subject.traced.spec.oracle or "", {"torch": torch, "F": F} | arguments)
    return (results,) if isinstance(results, torch.Tensor) else tuple(results)


def agrees(
    results: Sequence[torch.Tensor], exact: Sequence[torch.Tensor], what: Sequence[str]
) -> str:
    """What is wrong between an oracle and the fp64 reference; empty if nothing is."""
    if len(results) != len(exact):
        return f"the oracle gives {len(results)} results, the spec {len(exact)}"
    for at, (given, value, kind) in enumerate(zip(results, exact, what, strict=True)):
        if given.numel() != value.numel():
            return (
                f"result {at}: the oracle gives {list(given.shape)}, the spec {list(value.shape)}"
            )
        ours, theirs = value.double().flatten(), given.double().flatten()
        if kind == "quantised":
            step = 0.14 * ours.abs() if given.is_floating_point() else torch.ones_like(ours)
            wrong = (ours - theirs).abs() > step
        else:
            scale = float(ours[ours.isfinite()].abs().max()) if ours.isfinite().any() else 1.0
            tolerance = ORACLE_TOLERANCE * max(scale, 1e-30)
            if given.dtype == torch.float32:
                tolerance = torch.finfo(torch.float32).eps * scale
            wrong = ~(((ours - theirs).abs() <= tolerance) | (ours == theirs))
            wrong &= ~(ours.isnan() & theirs.isnan())
        if wrong.any():
            first = int(wrong.nonzero()[0])
            return (
                f"result {at}: the oracle gives {theirs[first].item():.12g}, the spec "
                f"{ours[first].item():.12g} (element {first}; {int(wrong.sum())} such)"
            )
    return ""
