"""What a generated module would launch, asked of the module itself.

The bench and `compile` go through here: they plan a call as the runtime does, without running it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

Call = Callable[[], object]


@dataclass(frozen=True)
class Arguments:
    """The arguments of an op, complete: absent tensors are None, params have their defaults."""

    tensors: tuple[torch.Tensor | None, ...]
    params: tuple[Any, ...]

    @property
    def all(self) -> tuple[Any, ...]:
        """Tensors, then params: the order of the registered op."""
        return (*self.tensors, *self.params)


def arguments(
    module: Any, tensors: Sequence[torch.Tensor | None], params: Sequence[Any] = ()
) -> Arguments:
    """Complete the arguments of a module's op: optional tensors left out, params at defaults."""
    op = module.OP
    absent = (None,) * (len(op.inputs) - len(tensors))
    defaults = tuple(param.default for param in op.params[len(params) :])
    return Arguments((*tensors, *absent), (*params, *defaults))


def make_plan(
    op: Any,
    runtime: Any,
    given: Arguments,
    out: Sequence[torch.Tensor] | None = None,
    target: Any = None,
    wanted: Sequence[bool] | None = None,
) -> Any:
    """Return the runtime's plan of a call, for the GPU of its tensors or for ``target``."""
    binding = runtime.bind(op, given.tensors, given.params)
    layouts = runtime.output_layouts(op, given.tensors, binding)
    variant = op.variants[op.variant_key(given.tensors, given.params)]
    plan = runtime.Plan(op, variant, binding, given.tensors, layouts, out, wanted)
    if target is not None:
        plan.target = target
    return plan


def record(launched: Any) -> dict[str, Any]:
    """Return a launch record as JSON: path, kernels, and the config of each."""
    configs = [None if c is None else dict(c.values) for c in launched.configs]
    return {"path": launched.path, "kernels": list(launched.kernels), "configs": configs}


def poisoned_call(call: Call) -> tuple[torch.Tensor, ...]:
    """Return the outputs of a call into memory that is likely to hold NaN where it writes nothing.

    The first call shows what is allocated; blocks of those sizes are filled and given back, and
    the allocator hands them to the second.
    """
    first = call()
    results = (first,) if isinstance(first, torch.Tensor) else tuple(first)  # type: ignore[arg-type]
    poison = [
        torch.full((t.numel() * t.element_size(),), 0xFF, dtype=torch.uint8, device=t.device)
        for t in results
    ]
    del first, results, poison
    second = call()
    return (second,) if isinstance(second, torch.Tensor) else tuple(second)  # type: ignore[arg-type]


def eager_reference(module: Any, runtime: Any, given: Arguments) -> Callable[..., Any]:
    """Return the module's reference op by op in the inputs' own types, rounded at its end."""
    op = module.OP
    binding = runtime.bind(op, given.tensors, given.params)
    layouts = runtime.output_layouts(op, given.tensors, binding)
    reference = op.variants[op.variant_key(given.tensors, given.params)].reference
    absent = given.tensors[len([t for t in given.tensors if t is not None]) :]

    def eager(*tensors: torch.Tensor) -> Any:
        inputs = (*tensors, *absent)
        folded = [runtime.fold(o, t, op.fold) for o, t in zip(op.inputs, inputs, strict=True)]
        results = reference(*folded, *given.params, compute=None)
        results = (results,) if isinstance(results, torch.Tensor) else results
        rounded = tuple(
            (result if result.dtype == to.dtype else runtime.convert(result, to.dtype)).reshape(
                to.shape
            )
            for result, to in zip(results[: len(op.outputs)], layouts, strict=False)
        )
        return rounded if len(rounded) > 1 else rounded[0]

    return eager


def hand_written(module: Any, runtime: Any, given: Arguments) -> Call:
    """Return what one would write by hand around the same kernels: allocate, ``kernel[grid]``.

    Everything that a launcher would compute from shapes and strides is a constant here, so that
    this is the fastest such launcher.
    """
    op = module.OP
    plan = make_plan(op, runtime, given)
    launch = plan.launch(runtime.Choices())
    device = plan.device
    spaces = [(tuple(shape), dtype) for shape, dtype in launch.workspaces.values()]
    types = {"INT": runtime.tl.int32, "FLOAT": runtime.tl.float32}
    kernels = [plan.kernel(step, launch, types) for step in launch.steps]
    outputs = [(layout.shape, layout.dtype) for layout in plan.layouts[: len(op.outputs)]]
    first, *rest = [
        (k.jit[k.grid], k.tensors, k.integers, k.scalars(given.params), k) for k in kernels
    ]

    def call() -> object:
        made = [torch.empty(shape, dtype=dtype, device=device) for shape, dtype in outputs]
        made += [torch.empty(shape, dtype=dtype, device=device) for shape, dtype in spaces]
        tensors = (*given.tensors, *made)
        for start, pick, integers, scalars, kernel in (first, *rest):
            start(*pick(tensors), *integers, *scalars, **kernel.constants, **kernel.options)
        return made[: len(outputs)] if len(outputs) > 1 else made[0]

    return call
