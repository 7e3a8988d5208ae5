"""A backward as an op that is checked: its inputs, and autograd as its reference.

Its inputs are what the forward keeps and an upstream gradient for each output. What is kept comes
from the forward's reference in fp64, rounded to storage, so that a mistake in a forward kernel does
not show here, nor one here there; `through_autograd` goes the whole way.
"""

import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from tilegen.spec.trace import Variant
from tilegen.toolchain import compare
from tilegen.toolchain.baseline import (
    MOST_GRADIENTS,
    SEED_STEP,
    Evaluate,
    eager_errors,
    evaluate,
    evaluator,
    floored,
    rounding_of_inputs,
)
from tilegen.toolchain.inputs import LAYOUTS, Draw, Inputs, blank, draw, place
from tilegen.toolchain.shapes import subsets
from tilegen.toolchain.subject import Backward, Subject, factor

#: Layouts of upstream gradients; "scalar" is that of `y.sum().backward()`: stride 0 everywhere.
UPSTREAM_LAYOUTS = (*LAYOUTS, "scalar")


def upstream_names(subject: Subject) -> tuple[str, ...]:
    """The outputs that have an upstream gradient, in the op's order."""
    known = subject.op.gradients.upstream
    return tuple(output.name for output in subject.op.outputs if output.name in known)


def sources(subject: Subject, variant: Variant) -> dict[str, str]:
    """For each input that has a gradient, the result (or upstream gradient) that holds it."""
    found: dict[str, str] = dict(subject.op.variants[variant.key].gradients)
    return found


# ---- inputs -------------------------------------------------------------------------------------


def with_upstream(subject: Subject, variant: Variant, how: Draw, device: torch.device) -> Inputs:
    """Inputs of a forward, followed by upstream gradients of its outputs."""
    given = draw(subject, variant, how, device)
    op, runtime = subject.op, subject.runtime
    layouts = runtime.output_layouts(
        op, given.tensors, runtime.bind(op, given.tensors, given.params)
    )
    generator = torch.Generator(device).manual_seed(how.seed + 1)
    tensors, buffers = list(given.tensors), list(given.buffers)
    wanted = upstream_names(subject)
    for at, (output, layout) in enumerate(zip(op.outputs, layouts, strict=False)):
        if output.name in wanted:
            values = torch.randn(
                layout.shape, generator=generator, device=device, dtype=torch.float64
            )
            view, buffer = _placed(values, layout.dtype, _upstream_layout(how, at))
            tensors.append(view)
            buffers.append(buffer.view(torch.uint8))
    before = tuple(buffer.clone() for buffer in buffers)
    return Inputs(tuple(tensors), given.params, tuple(buffers), before)


def _upstream_layout(how: Draw, at: int) -> str:
    """Dense upstream gradients beside dense inputs (a flat kernel needs both), or one in turn."""
    if how.layout == "contiguous":
        return "scalar" if how.seed % 4 == 2 else "contiguous"
    if how.layout.startswith("mixed"):
        turn = how.seed + at + int(how.layout[5:])
        return UPSTREAM_LAYOUTS[turn % len(UPSTREAM_LAYOUTS)]
    return how.layout


def _placed(
    values: torch.Tensor, dtype: torch.dtype, layout: str
) -> tuple[torch.Tensor, torch.Tensor]:
    if layout != "scalar":
        return place(values, dtype, layout)
    one, buffer = place(values.flatten()[0], dtype, "contiguous")
    return one.expand(values.shape), buffer


@draw.register
def draw_backward(subject: Backward, variant: Variant, how: Draw, device: torch.device) -> Inputs:
    """Inputs of a backward: of those that only tell a shape and a dtype every element is poison."""
    forward = subject.forward
    source = with_upstream(forward, variant, how, device)
    count = len(forward.op.inputs)
    names = [o.name for o in forward.op.inputs]
    names += [forward.op.gradients.upstream[name] for name in upstream_names(forward)]
    known = dict(zip(names, source.tensors, strict=True))
    given = replace(source, tensors=source.tensors[:count])
    buffers = list(source.buffers)
    for name, view, buffer in [*_kept(subject, variant, given), *_alike(subject, known)]:
        known[name] = view
        buffers.append(buffer.view(torch.uint8))
    asked = how.wanted or subject.present(variant)
    return Inputs(
        tuple(known[o.name] for o in subject.op.inputs), source.params, tuple(buffers),
        tuple(buffer.clone() for buffer in buffers),
        tuple(name in asked for name in subject.results), source,
    )  # fmt: skip


Placed = Iterator[tuple[str, torch.Tensor, torch.Tensor]]
"""Tensors by name, and the buffers that they lie in."""


def _kept(subject: Backward, variant: Variant, given: Inputs) -> Placed:
    """The results of the forward that the backward takes, as the op stores them."""
    for name, (value, dtype) in _exactly_kept(subject, variant, given).items():
        view, buffer = blank(tuple(value.shape), dtype, "contiguous", value.device)
        view.copy_(subject.runtime.convert(value, dtype))
        yield name, view, buffer


def _exactly_kept(
    subject: Backward, variant: Variant, given: Inputs
) -> dict[str, tuple[torch.Tensor, torch.dtype]]:
    """The results of the forward that the backward takes, in fp64, and their storage types."""
    op, runtime = subject.forward.op, subject.runtime
    taken = {operand.name for operand in subject.op.inputs}
    if taken.isdisjoint(subject.forward.results):
        return {}
    function = op.variants[variant.key].reference
    exact = evaluate(subject.forward, function, given, torch.float64)
    binding = runtime.bind(op, given.tensors, given.params)
    layouts = runtime.output_layouts(op, given.tensors, binding)
    return {
        output.name: (value.reshape(layout.shape), layout.dtype)
        for output, value, layout in zip(op.results, exact, layouts, strict=True)
        if output.name in taken
    }


def _alike(subject: Backward, known: dict[str, torch.Tensor | None]) -> Placed:
    for name in subject.forward.op.gradients.alike:
        tensor = known[name]
        if tensor is not None:
            yield name, *blank(tuple(tensor.shape), tensor.dtype, "contiguous", tensor.device)


# ---- the reference ------------------------------------------------------------------------------


@evaluator.register
def gradient_evaluator(subject: Backward, variant: Variant) -> Evaluate:
    """Autograd through the forward's reference, in the order of the backward's results."""
    forward = subject.forward
    held = sources(forward, variant)

    def run(inputs: Inputs, compute: torch.dtype | None) -> tuple[torch.Tensor, ...]:
        found = gradients(forward, variant, inputs, compute)
        by_result = {held[name]: value for name, value in found.items() if name in held}
        nothing = torch.empty(0, dtype=torch.float64)
        return tuple(by_result.get(name, nothing) for name in subject.results)

    return run


def gradients(
    subject: Subject, variant: Variant, inputs: Inputs, compute: torch.dtype | None
) -> dict[str, torch.Tensor]:
    """The gradient of each floating input, in the type of arithmetic, by autograd in PyTorch.

    Args:
        subject: the forward.
        variant: of it.
        inputs: those of the forward, then upstream gradients.
        compute: the type of arithmetic; None for eager PyTorch, op by op in the inputs' types.
    """
    op = subject.op
    count = len(op.inputs)
    folded = [
        None if tensor is None else subject.runtime.fold(operand, tensor, op.fold).clone(
            memory_format=torch.contiguous_format
        )
        for operand, tensor in zip(op.inputs, inputs.tensors[:count], strict=True)
    ]  # fmt: skip
    leaves = {
        operand.name: tensor if compute is None else tensor.to(compute)
        for operand, tensor in zip(op.inputs, folded, strict=True)
        if tensor is not None and tensor.is_floating_point()
    }
    function = op.variants[variant.key].reference
    if compute is not None:
        function = _unrounded(
            function, dict(zip((o.name for o in op.inputs), folded, strict=True)), leaves
        )
    with torch.enable_grad():
        for leaf in leaves.values():
            leaf.requires_grad_()
        results = function(*folded, *inputs.params, compute=compute)
        results = (results,) if isinstance(results, torch.Tensor) else results
        by_name = dict(zip((o.name for o in op.results), results, strict=True))
        pairs = [
            (by_name[name], upstream.reshape(by_name[name].shape).to(by_name[name].dtype))
            for name, upstream in zip(upstream_names(subject), inputs.tensors[count:], strict=True)
            if upstream is not None
        ]
        made = torch.autograd.grad(
            [result for result, _ in pairs], list(leaves.values()),
            [upstream for _, upstream in pairs], materialize_grads=True,
        )  # fmt: skip
    return dict(zip(leaves, made, strict=True))


class _StraightThrough(torch.autograd.Function):
    """A rounding of the spec, which its gradient passes unrounded, as that of the kernels does."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, rounded: torch.Tensor) -> torch.Tensor:
        return rounded.to(x.dtype)

    @staticmethod
    def backward(ctx: Any, *upstream: torch.Tensor) -> tuple[torch.Tensor, None]:
        return upstream[0], None


def _unrounded(
    function: Callable[..., Any],
    folded: dict[str, torch.Tensor | None],
    leaves: dict[str, torch.Tensor],
) -> Callable[..., Any]:
    """A reference that starts from wide leaves, with every gradient in the type of arithmetic.

    The reference is given tensors in their storage types, which its casts go by; PyTorch would
    round the gradient at each change of type. So what widens an operand takes the same view of its
    leaf, and what rounds passes gradients through.
    """
    scope: dict[str, Any] = function.__globals__
    by_storage = {
        tensor.untyped_storage().data_ptr(): leaves[name]
        for name, tensor in folded.items()
        if tensor is not None and name in leaves
    }

    def widen(x: torch.Tensor, compute: torch.dtype) -> torch.Tensor:
        leaf = by_storage.get(x.untyped_storage().data_ptr())
        if leaf is None:
            return x.to(compute)
        return leaf.as_strided(x.shape, x.stride(), x.storage_offset())

    def convert(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        rounded: torch.Tensor = scope["convert"](x.detach(), dtype)
        if not (x.is_floating_point() and dtype.is_floating_point):
            return rounded
        through: torch.Tensor = _StraightThrough.apply(x, rounded)  # type: ignore[no-untyped-call]
        return through

    changed = types.FunctionType(
        function.__code__,
        {**scope, "widen": widen, "convert": convert},
        closure=function.__closure__,
    )
    changed.__kwdefaults__ = function.__kwdefaults__
    return changed


@rounding_of_inputs.register
def rounding_of_kept(
    subject: Backward, variant: Variant, how: Draw, inputs: Inputs
) -> Sequence[float]:
    """How far gradients move because what is kept was rounded to a narrow type.

    Op-by-op PyTorch rounds the same values, except in three cases: it has no arithmetic in fp8, it
    widens a sum of bf16 and fp32 that the op stores in bf16, and where it overflows its error is
    that of fp32.
    """
    if how.dtype.itemsize > 2 or inputs.source is None:
        return (0.0,) * len(subject.results)
    count = len(subject.forward.op.inputs)
    given = replace(inputs.source, tensors=inputs.source.tensors[:count])
    kept = _exactly_kept(subject, variant, given)
    tensors = tuple(
        kept[operand.name][0] if operand.name in kept else tensor
        for operand, tensor in zip(subject.op.inputs, inputs.tensors, strict=True)
    )
    function = subject.op.variants[variant.key].reference
    pair = (
        evaluate(subject, function, one, torch.float64)
        for one in (inputs, replace(inputs, tensors=tensors))
    )
    return tuple(
        0.0 if one is None else compare.largest_error(one, other)
        for one, other in zip(*pair, strict=True)
    )


# ---- the whole way ------------------------------------------------------------------------------


def through_autograd(
    subject: Subject, variant: Variant, how: Draw, inputs: Inputs
) -> Iterator[tuple[tuple[str, ...], str, compare.Verdict]]:
    """For each subset of inputs that need a gradient: those, one of them, and what the rule says.

    Args:
        subject: the forward.
        variant: of it.
        how: what the inputs were drawn from.
        inputs: those of the forward, then upstream gradients.
    """

    def run(given: Inputs, compute: torch.dtype | None) -> tuple[torch.Tensor, ...]:
        return tuple(gradients(subject, variant, given, compute).values())

    exact = gradients(subject, variant, inputs, torch.float64)
    # Eager may be exact on a few rows by luck: its worst of several draws counts.
    again = [replace(how, seed=how.seed + SEED_STEP * at) for at in range(1, MOST_GRADIENTS + 1)]
    device = inputs.buffers[0].device
    drawn = [inputs, *(with_upstream(subject, variant, other, device) for other in again)]
    found = [eager_errors(run, how, given, None) for given in drawn]
    errors = floored(list(map(max, zip(*found, strict=True))), tuple(exact.values()), how)
    allowed = dict(zip(exact, errors, strict=True))
    held = sources(subject, variant)
    for asked in subsets([name for name in exact if name in held], how.seed):
        made = recorded(subject, inputs, asked)
        for name, gradient in made.items():
            actual = gradient.reshape(exact[name].shape)
            yield asked, name, compare.floats(actual, exact[name], allowed[name], factor(variant))


def recorded(subject: Subject, inputs: Inputs, asked: Sequence[str]) -> dict[str, torch.Tensor]:
    """The gradients of these inputs, as PyTorch gets them from a call of the op."""
    names = [operand.name for operand in subject.op.inputs]
    with torch.enable_grad():
        leaves = [
            None if tensor is None else tensor.detach().requires_grad_(name in asked)
            for name, tensor in zip(names, inputs.tensors, strict=False)
        ]
        results = subject.op(leaves, inputs.params)
        results = (results,) if isinstance(results, torch.Tensor) else results
        by_name = dict(zip((o.name for o in subject.op.outputs), results, strict=True))
        pairs = zip(names, leaves, strict=True)
        wrt = {name: leaf for name, leaf in pairs if leaf is not None and name in asked}
        made = torch.autograd.grad(
            [by_name[name] for name in upstream_names(subject)], list(wrt.values()),
            inputs.tensors[len(names) :], materialize_grads=True,
        )  # fmt: skip
    return dict(zip(wrt, made, strict=True))
