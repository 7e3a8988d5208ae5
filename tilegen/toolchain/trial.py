"""One launch of a check: into poisoned memory, between guards, and what the rule says of it."""

import math

import torch

from tilegen.spec.trace import Variant
from tilegen.toolchain import compare
from tilegen.toolchain.baseline import Baseline
from tilegen.toolchain.inputs import LAYOUTS, Inputs, blank, poisoned_allocations
from tilegen.toolchain.matrix import Launching
from tilegen.toolchain.subject import Backward, Subject, factor


def out_layout(subject: Subject, launching: Launching, turn: int) -> str:
    """Where the outputs go: to new tensors, or to `out` in some layout.

    Only outputs like those that the op allocates let an elementwise kernel be a flat one, and
    those of a backward have no others. What a forward saves, it saves beside new ones alone.
    """
    if launching.schedule == "flat" or isinstance(subject, Backward):
        return ("new", "own")[turn % 2]
    if subject.op.saved and turn % 2:
        return "new"
    return ("new", "own", *LAYOUTS[1:])[turn % (len(LAYOUTS) + 1)]


def launch(
    subject: Subject, inputs: Inputs, launching: Launching, layout: str, poison: int
) -> tuple[tuple[torch.Tensor, ...], bool]:
    """The outputs, and whether memory beside them is as it was, and results that nobody wanted.

    Outputs that the op allocates are poisoned by PyTorch; with a layout they are given as `out`.
    """
    runtime, op = subject.runtime, subject.op
    binding = runtime.bind(op, inputs.tensors, inputs.params)
    layouts = runtime.output_layouts(op, inputs.tensors, binding)[: len(op.outputs)]
    layout = "own" if layout == "expanded" else layout
    device = next(tensor.device for tensor in inputs.tensors if tensor is not None)

    def outputs() -> list[tuple[torch.Tensor, torch.Tensor]]:
        own = layout == "own"
        return [
            blank(item.shape, item.dtype, layout, device, poison, item.strides if own else None)
            for item in layouts
        ]

    given = [] if layout == "new" else outputs()
    with poisoned_allocations(poison):
        results = launching.run(subject, inputs, tuple(view for view, _ in given) or None)
    kept = tuple(result.clone(memory_format=torch.contiguous_format) for result in results)
    wanted = inputs.wanted or (True,) * len(layouts)
    fresh = outputs() if given else []
    for (view, buffer), (old, clean), asked in zip(given, fresh, wanted, strict=False):
        if asked:
            view.copy_(old)
        if not torch.equal(bits(buffer), bits(clean)):
            return kept, False
    return kept, True


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of a tensor: NaN equals itself there."""
    return tensor.clone(memory_format=torch.contiguous_format).view(-1).view(torch.uint8)


def verdict(
    subject: Subject, variant: Variant, result: torch.Tensor, right: Baseline, at: int
) -> compare.Verdict:
    """What the rule says of one result."""
    exact, eager, kind = right.exact[at], right.eager[at], subject.kinds(variant)[at]
    actual = result.reshape(exact.shape)
    scores = right.scores[at]
    if kind == "index" and scores is not None:
        return compare.indices(actual, exact, scores)
    if kind == "exact":
        return compare.exactly(actual, exact)
    if kind == "quantised":
        return compare.quantised(actual, exact.to(actual.dtype), eager.to(actual.dtype))
    if isinstance(subject, Backward):
        # Where autograd has NaN (0 * inf in some term) a formula with other terms has anything.
        actual = torch.where(exact.isnan(), math.nan, actual)
    # Of a statistic that is infinite or NaN nothing follows but NaN.
    saved = at >= len(subject.op.outputs)
    overflowed = ~exact.isfinite() if saved else exact.isfinite() & ~eager.isfinite()
    roundings = 2 if kind == "rounded" else 1
    return compare.floats(actual, exact, right.errors[at], factor(variant), overflowed, roundings)
