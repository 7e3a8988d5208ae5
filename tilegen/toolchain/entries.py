"""The kernels of a module as they are launched, one for each config of its tables.

The module's own plan decides: it is asked for calls of representative shapes on tensors without
memory, with its schedule and config forced. So constants, strides and alignment are real ones.
"""

import contextlib
import inspect
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from unittest import mock

import torch
import triton

from tilegen.toolchain import planning

SCHEDULES: Final = {
    "flat": "flat",
    "strided": "strided",
    "tiled": "tiled",
    "block": "block",
    "loop": "loop",
    "split": "partial",
}
"""Schedules, each with what its first kernel is called by."""
DTYPES: Final = {1: torch.float8_e5m2, 2: torch.bfloat16, 4: torch.float32, 8: torch.float64}
WIDE_ROW: Final = 131_072
"""Columns of the rows that loop and split kernels are compiled for."""


@dataclass(frozen=True)
class Entry:
    """One kernel with one config.

    Attributes:
        name: kernel, element size and config: what records are kept by.
        kernel: the runtime's, with constants and options.
        arguments: tensors (without memory), integers and params of a launch.
        dtypes: of inputs and outputs.
    """

    name: str
    kernel: Any
    arguments: tuple[Any, ...]
    dtypes: tuple[torch.dtype, ...]

    def source(self) -> str:
        """Return the text of the kernel, of what it calls and of the constants it reads."""
        return "\n".join(_sources(self.kernel.jit))


def entries(module: Any, runtime: Any, target: Any, sizes: Sequence[int]) -> Iterator[Entry]:
    """Yield every kernel of a module with every config of ``target``'s architecture.

    Args:
        target: a row of the runtime's table.
        sizes: element sizes in bytes.
    """
    seen: set[str] = set()
    for element_size in sizes:
        for key in module.OP.variants:
            for entry in _of_variant(module, runtime, target, element_size, key):
                if entry.name not in seen:
                    seen.add(entry.name)
                    yield entry


def _of_variant(
    module: Any, runtime: Any, target: Any, element_size: int, key: tuple[Any, ...]
) -> Iterator[Entry]:
    for schedule, ending in SCHEDULES.items():
        given = _arguments(module, runtime, element_size, key, "block", 16)
        choices = runtime.Choices(schedule=schedule)
        launch = _plan(module, runtime, given, target).launch(choices)
        if not launch.steps[0].kernel.__name__.endswith(f"_{ending}"):
            continue  # a plan without this schedule takes another
        for at, space in enumerate(choices.spaces):
            for config in space:
                chosen = (*choices.chosen[:at], config, *choices.chosen[at + 1 :])
                width = config.values.get("TILE", 4096)
                fitting = _arguments(module, runtime, element_size, key, schedule, width)
                forced = runtime.Choices(chosen, schedule=schedule)
                yield from _of_call(module, runtime, fitting, target, forced, element_size)


def _of_call(
    module: Any,
    runtime: Any,
    given: planning.Arguments,
    target: Any,
    choices: Any,
    element_size: int,
) -> Iterator[Entry]:
    plan = _plan(module, runtime, given, target)
    call = plan.prepare(choices)
    meta = torch.device("meta")
    made = [
        torch.empty_strided(*layout[:2], dtype=layout.dtype, device=meta)
        for layout in call.allocations
    ]
    tensors = [*given.tensors, *made]
    dtypes = tuple(t.dtype for t in given.tensors if t is not None)
    dtypes += tuple(layout.dtype for layout in plan.layouts)
    for kernel in call.kernels:
        arguments = (*kernel.tensors(tensors), *kernel.integers, *kernel.scalars(given.params))
        config = (
            " ".join(f"{k}={v}" for k, v in kernel.config.values.items()) if kernel.config else ""
        )
        name = f"{kernel.jit.__name__} {element_size} {config}".rstrip()
        yield Entry(name, kernel, arguments, dtypes)


def _plan(module: Any, runtime: Any, given: planning.Arguments, target: Any) -> Any:
    with mock.patch.object(runtime, "target_of", return_value=target):
        return planning.make_plan(module, runtime, given, target=target)


# ---- representative calls -----------------------------------------------------------------------


def _arguments(
    module: Any,
    runtime: Any,
    element_size: int,
    key: tuple[Any, ...],
    schedule: str,
    width: int,
) -> planning.Arguments:
    """Return arguments without memory; rows have ``width`` columns where a block holds them."""
    op = module.OP
    chosen = dict(zip(op.specialize, key, strict=True))
    rows, columns = _dims(op)
    wide = schedule in ("loop", "split")
    sizes = _sizes(op, rows, columns, WIDE_ROW if wide else width, 2 if schedule == "split" else 16)
    tensors = tuple(
        None if chosen.get(operand.name) is False else _tensor(operand, sizes, element_size)
        for operand in op.inputs
    )
    return planning.Arguments(tensors, tuple(_param(p, chosen, sizes) for p in op.params))


def _dims(op: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the dims that a plan goes over as rows and as columns, from its own questions."""
    plan = next(iter(op.variants.values())).plan
    asked: list[tuple[str, ...]] = []

    class Asked(Exception):
        """Ends a plan that has asked for its axes."""

    class Questions:
        def axes(self, dims: tuple[str, ...], limit: int, **_: bool) -> Any:
            asked.append(dims)
            if len(asked) == 2:
                raise Asked
            return mock.MagicMock()

    with contextlib.suppress(Asked, AttributeError, TypeError):
        plan(Questions())
    return asked[0], asked[1] if len(asked) > 1 and asked[1] != asked[0] else ()


def _sizes(
    op: Any, rows: Sequence[str], columns: Sequence[str], width: int, row_size: int
) -> dict[str, int]:
    """Return a size for each dim: multiples of 16 wherever the spec leaves a choice."""
    sizes = dict(op.static_sizes)
    dims = {d for o in (*op.inputs, *op.outputs) for entry in o.dims for d in _names(entry)}
    lanes = list(columns) or [rows[-1]]
    for dim in lanes[:-1]:
        sizes.setdefault(dim, 16 if width >= 256 else 1)
    used = math.prod(sizes[dim] for dim in lanes[:-1])
    sizes.setdefault(lanes[-1], max(1, width // used))
    free = [dim for dim in rows if dim not in sizes]
    for dim in free:
        sizes[dim] = row_size if len(free) > 1 else row_size * 256
    if not columns and len(rows) == 1:
        sizes[rows[0]] = 1 << 22
    for dim in dims - {"One"}:
        sizes.setdefault(dim, 4096)
    return sizes


def _names(entry: Any) -> tuple[str, ...]:
    return (entry,) if isinstance(entry, str) else tuple(entry)


def _tensor(operand: Any, sizes: Mapping[str, int], element_size: int) -> torch.Tensor:
    shape = [math.prod(sizes[dim] for dim in _names(entry)) for entry in operand.dims]
    by_kind = {"float": DTYPES[element_size], "int": torch.int64, "bool": torch.bool}
    dtype = operand.dtypes[0] if operand.dtypes else by_kind[operand.kind]
    return torch.empty(shape, dtype=dtype, device="meta")


def _param(param: Any, chosen: Mapping[str, Any], sizes: Mapping[str, int]) -> Any:
    if param.kind == "size":
        return sizes[param.dim]
    if param.kind in ("bool", "literal"):
        return chosen.get(param.name, param.default)
    if param.optional and chosen.get(param.name) is False:
        return None
    if param.default is None:
        return 0.5 if param.kind == "float" else 5
    return param.default


# ---- the source of a kernel ---------------------------------------------------------------------


def _sources(function: Any) -> Iterator[str]:
    """Yield the source of a jit function, of those it calls, and the constants that they read."""
    seen: set[str] = set()
    waiting = [function]
    while waiting:
        plain = _plain(waiting.pop())
        name = f"{plain.__module__.rsplit('.', 1)[-1]}.{plain.__qualname__}"
        if name in seen:
            continue
        seen.add(name)
        yield inspect.getsource(plain)
        for used in plain.__code__.co_names:
            value = plain.__globals__.get(used)
            if isinstance(value, (int, float, str, triton.language.constexpr)):
                yield f"{used} = {value}"
            elif hasattr(value, "fn") and callable(value):
                waiting.append(value)


def _plain(function: Any) -> Any:
    """Return the Python function inside a jit or constexpr function."""
    while hasattr(function, "fn"):
        function = function.fn
    return function
