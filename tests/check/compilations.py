"""What a check would compile on a GPU, told without one."""

import random
from collections.abc import Hashable, Iterator

import torch

from tilegen.toolchain.inputs import Inputs, draw
from tilegen.toolchain.matrix import Launching, Matrix, plan
from tilegen.toolchain.subject import Subject

CPU = torch.device("cpu")


class OnGpu(Matrix):
    """The matrix of a GPU, planned on a CPU."""

    _interpreted = False


def launches(op: Subject, *, full: bool = False) -> Iterator[tuple[Inputs, Launching]]:
    """Everything that the matrix of an op (or of a backward) launches."""
    for variant in op.traced.variants:
        chance = random.Random(f"{op.name} {variant.key} 0")
        matrix = OnGpu(op, variant, CPU, full, chance)
        for part in (matrix.edges, matrix.structures, matrix.configs, matrix.subsets):
            for how, launchings in part():
                inputs = draw(op, variant, how, CPU)
                yield from ((inputs, launching) for launching in launchings)


def compilations(op: Subject, inputs: Inputs, launching: Launching) -> Iterator[Hashable]:
    """What Triton would know the kernels of a launch by."""
    runtime = op.runtime
    choices = runtime.Choices(launching.configs, schedule=launching.schedule)
    call = plan(op, inputs, None).prepare(choices)
    tensors = [None if t is None else (t.dtype, t.data_ptr() % 16 == 0) for t in inputs.tensors]
    tensors += [(made.dtype, True) for made in call.allocations]
    for kernel in call.kernels:
        numbers = (*kernel.integers, *kernel.scalars(inputs.params))
        yield (
            kernel.jit.__name__, kernel.tensors(tensors), tuple(map(_specialised, numbers)),
            str(kernel.constants), str(kernel.config),
        )  # fmt: skip


def _specialised(value: object) -> Hashable:
    if not isinstance(value, int):
        return type(value)
    return value == 1, value % 16 == 0, abs(value) >= 2**31
