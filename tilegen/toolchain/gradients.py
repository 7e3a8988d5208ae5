"""Gradients in the bench: the backward of our ops against those of eager, torch.compile and Liger.

All contestants go through autograd. Each records its graph once, from the same inputs, and what is
timed is ``torch.autograd.grad`` on it with the same upstream gradients: from what the forward
saved to all gradients. A case of both parts, a loss, is timed from its inputs to their gradients.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import torch

from tilegen.toolchain import peers, planning
from tilegen.toolchain.cases import Case, bytes_of
from tilegen.toolchain.contest import Contestant, Race, Settings, ready
from tilegen.toolchain.timing import Call, Restored
from tilegen.toolchain.verdict import LARGEST_ERROR, Verdict, as_tuple, judge, reference_outputs

LARGEST_ERROR_SUM: Final = 1e-1  # of a scalar: terms of both signs, in bf16 before they are added
LARGEST_ERROR_SOFTMAX: Final = 1e-1  # eager rounds log-probabilities near -11 to bf16

Tensors = Sequence[torch.Tensor]


class Problem:
    """The gradients of one case: its inputs, its upstream gradients, and what they should give.

    Attributes:
        op, backward: as the module declares them.
        given: arguments of the op.
        both: whether the forward is timed as well; the objective is the first output's mean.
        sources: by the name of an input, the result of the backward that is its gradient.
        upstream: by the name of an output.
    """

    def __init__(self, case: Case, module: Any, runtime: Any, tensors: Tensors) -> None:
        self.case = case
        self.module = module
        self.runtime = runtime
        self.tensors = tuple(tensors)
        self.op = module.OP
        self.backward = module.BACKWARD
        self.given = planning.arguments(module, tensors)
        self.both = case.part == "both"
        variant = self.op.variants[self.op.variant_key(self.given.tensors, self.given.params)]
        self.sources: Mapping[str, str] = variant.gradients
        self.upstream = self._upstream()

    def _upstream(self) -> dict[str, torch.Tensor]:
        """Draw normal numbers; for an objective, return what its mean passes down."""
        binding = self.runtime.bind(self.op, self.given.tensors, self.given.params)
        layouts = self.runtime.output_layouts(self.op, self.given.tensors, binding)
        device = self.tensors[0].device
        generator = torch.Generator(device).manual_seed(1)
        found: dict[str, torch.Tensor] = {}
        for at, (output, layout) in enumerate(zip(self.op.outputs, layouts, strict=False)):
            shape, dtype = layout.shape, layout.dtype
            if output.name not in self.op.gradients.upstream:
                continue
            if not self.both:
                drawn = torch.randn(shape, dtype=dtype, device=device, generator=generator)
            elif at == 0:
                share = 1 / max(1, torch.Size(shape).numel())
                drawn = torch.full(shape, share, dtype=dtype, device=device)
            else:
                drawn = torch.zeros((), dtype=dtype, device=device).expand(shape)
            found[output.name] = drawn
        return found

    @cached_property
    def arguments(self) -> planning.Arguments:
        """What autograd gives to our backward."""
        flags = (True,) if self.op.saved else ()
        with torch.no_grad():
            results = as_tuple(self.op.overload(*self.given.all, *flags))
        known = dict(zip((o.name for o in self.op.inputs), self.given.tensors, strict=True))
        known |= dict(zip((o.name for o in self.op.results), results, strict=True))
        for name in self.op.gradients.alike:
            tensor = known[name]
            known[name] = None if tensor is None else tensor.new_empty(()).expand(tensor.shape)
        for output, name in self.op.gradients.upstream.items():
            known[name] = self.upstream[output]
        taken = tuple(known.get(operand.name) for operand in self.backward.inputs)
        return planning.Arguments(taken, self.given.params)

    @property
    def wanted(self) -> tuple[bool, ...]:
        """Which results of our backward a call asks for: those that are some input's gradient."""
        return tuple(output.name in self.sources.values() for output in self.backward.outputs)

    def results(self) -> tuple[torch.Tensor, ...]:
        """Return the results of our backward, without autograd."""
        with torch.no_grad():
            return as_tuple(self.backward.overload(*self.arguments.all, self.wanted))

    def bytes(self) -> int:
        """Return the bytes that must move: what is read, once a part, and what is written."""
        taken = [tensor for tensor in self.arguments.tensors if tensor is not None]
        moved = bytes_of((*taken, *self.results()))
        if self.both:
            with torch.no_grad():
                outputs = as_tuple(getattr(self.module, self.case.op)(*self.tensors))
            moved += bytes_of((*self.tensors, *outputs))
        return moved

    def expected(self) -> dict[str, torch.Tensor]:
        """Return the gradient of each input by autograd of the module's reference in fp64."""
        names = [operand.name for operand in self.op.inputs]
        with torch.enable_grad():
            leaves = {
                name: tensor.double().requires_grad_() if name in self.sources else tensor
                for name, tensor in zip(names, self.given.tensors, strict=True)
                if tensor is not None
            }
            inputs = [leaves.get(name) for name in names]
            results = reference_outputs(self.module, self.runtime, inputs, self.given.params)
            pairs = [
                (result, self.upstream[output.name].double().reshape(result.shape))
                for output, result in zip(self.op.outputs, results, strict=False)
                if output.name in self.upstream
            ]
            sources = [name for name in leaves if name in self.sources]
            made = torch.autograd.grad(
                [result for result, _ in pairs],
                [leaves[name] for name in sources],
                [gradient for _, gradient in pairs],
            )
        return dict(zip(sources, made, strict=True))

    def call(self, function: peers.Function | None, overwrites: str = "") -> Call | None:
        """Record ``function`` and return its backward, or both parts as one call.

        Args:
            overwrites: "inputs" or "upstream" for a function that writes gradients over them: it
                works on copies, which are fresh before each call.
        """
        if function is None:
            return None
        inputs: Tensors = self.tensors
        upstream = self.upstream
        if overwrites == "inputs":
            inputs = [tensor.clone() for tensor in inputs]
        elif overwrites:
            upstream = {name: tensor.clone() for name, tensor in upstream.items()}
        names = [operand.name for operand in self.op.inputs]
        leaves = [
            tensor.detach().requires_grad_(name in self.sources)
            for name, tensor in zip(names, inputs, strict=False)
        ]
        call = self._recorded(function, leaves, upstream)
        pairs = [*zip(inputs, self.tensors, strict=True)] if overwrites == "inputs" else []
        if overwrites == "upstream":
            pairs = [(upstream[name], tensor) for name, tensor in self.upstream.items()]
        return Restored(call, lambda: _copy(pairs)) if pairs else call

    def _recorded(
        self, function: peers.Function, leaves: Tensors, upstream: Mapping[str, torch.Tensor]
    ) -> Call:
        sources = [leaf for leaf in leaves if leaf.requires_grad]
        if self.both:
            return lambda: torch.autograd.grad(function(*leaves), sources)
        results = zip(self.op.outputs, as_tuple(function(*leaves)), strict=False)
        kept = [(result, upstream[o.name]) for o, result in results if o.name in upstream]
        outputs, given = [result for result, _ in kept], [gradient for _, gradient in kept]
        return lambda: torch.autograd.grad(outputs, sources, given, retain_graph=True)


def _copy(pairs: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> None:
    """Copy without telling autograd, which takes a saved input that changes for a mistake."""
    for target, source in pairs:
        target.data.copy_(source)


def race(case: Case, module: Any, runtime: Any, tensors: Tensors, settings: Settings) -> Race:
    """Return our op and its peers, each with its graph recorded."""
    problem = Problem(case, module, runtime, tensors)
    contestants = list(_contestants(problem, settings))
    moved = problem.bytes()
    expected = problem.expected()
    return Race(
        contestants,
        lambda _, results: judge_gradients(problem, list(expected), results, [*expected.values()]),
        lambda: _record(problem),
        moved,
    )


def _contestants(problem: Problem, settings: Settings) -> Iterator[Contestant]:
    """Yield our op first, then its peers; eager is PyTorch's own op, and the spec op by op."""
    case, both = problem.case, problem.both
    public = getattr(problem.module, case.op)
    ours = _mean(public) if both else public
    yield ready("tilegen", lambda: problem.call(ours))
    by_op = planning.eager_reference(problem.module, problem.runtime, problem.given)
    by_op = _mean(by_op) if both else by_op
    eager = (peers.LOSSES if both else peers.EAGER).get(case.op)
    library = peers.liger_loss if both else peers.liger_in_place
    overwrites = peers.LIGER_OVERWRITES.get(case.op, "")
    makers: Mapping[str, Callable[[], Call | None]] = {
        "eager": lambda: problem.call(eager or by_op),
        "compile": lambda: _compiled(problem, eager or by_op),
        "liger": lambda: problem.call(library(case.op), overwrites),
    }
    for name in settings.peers:
        if name not in makers:
            continue
        entry = ready(name, makers[name])
        if isinstance(entry.call, Restored):
            entry.record = {"path": name, "overwrites": overwrites}
        yield entry
        if name == "eager" and eager is not None:
            yield ready("op by op", lambda: problem.call(by_op))


def _mean(function: peers.Function) -> peers.Function:
    return lambda *tensors: as_tuple(function(*tensors))[0].mean()


def _compiled(problem: Problem, function: peers.Function) -> Call | None:
    """Compile both parts; one that donates its saved tensors to the backward runs that only once."""
    if problem.both:
        return problem.call(peers.compiled(function))
    import torch._functorch.config

    config: Any = torch._functorch.config
    with config.patch(donated_buffer=False):
        call = problem.call(peers.compiled(function))
        if call is not None:
            call()
    return call


def judge_gradients(
    problem: Problem, names: Sequence[str], results: Tensors, expected: Tensors
) -> Verdict:
    """Compare gradients with fp64 ones; ``names`` say what they are of."""
    worst = 0.0
    for name, result, reference in zip(names, results, expected, strict=True):
        largest = LARGEST_ERROR if reference.dim() else LARGEST_ERROR_SUM
        verdict = judge([result], [reference], largest)
        if problem.both and not verdict.complaint:
            # The labels' elements are nearly all of the norm: the others are looked at alone.
            rest = [_without_labels(problem, tensor) for tensor in (result, reference)]
            beside = judge(rest[:1], rest[1:], LARGEST_ERROR_SOFTMAX)
            verdict = Verdict(verdict.error, beside.complaint)
        if verdict.complaint:
            said = verdict.complaint.replace("output 0", f"gradient of {name}")
            return Verdict(verdict.error, said)
        worst = max(worst, verdict.error)
    return Verdict(worst)


def _without_labels(problem: Problem, gradient: torch.Tensor) -> torch.Tensor:
    labels = next(tensor for tensor in problem.tensors if not tensor.dtype.is_floating_point)
    return gradient.detach().scatter(1, labels[:, None], 0.0)


def _record(problem: Problem) -> dict[str, Any]:
    """Return the kernels and configs of our backward, which ran last; of both parts in order."""
    found = planning.record(problem.runtime.last_launch())
    if not problem.both:
        return found
    with torch.no_grad():
        getattr(problem.module, problem.case.op)(*problem.tensors)
    first = planning.record(problem.runtime.last_launch())
    return found | {name: first[name] + found[name] for name in ("kernels", "configs")}
