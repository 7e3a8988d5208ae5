"""The kernels of a module as they are launched, for each config of its tables.

The module's own plan decides: it is asked for calls of representative shapes on tensors without
memory, with its schedule and config forced. So constants, strides and alignment are real ones. Of
all that a config may be launched with, a few points stand for the rest:

- floating inputs of 1, 2, 4 and 8 bytes are all fp8e5m2, bf16, fp32 or fp64, unless the spec says
  otherwise; integers are int64;
- tensors are contiguous and aligned, sizes are multiples of 16, and blocks are full;
- a block holds one wide row, and rows of 128 columns;
- a tile lies along the tensors, and across the first of them (which goes through shared memory);
- a loop goes over 131,072 columns; a split shares two rows of as many.
"""

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from unittest import mock

import torch

from tilegen.records import entry_name
from tilegen.toolchain import planning
from tilegen.toolchain.subject import SCHEDULES

DTYPES: Final = {1: torch.float8_e5m2, 2: torch.bfloat16, 4: torch.float32, 8: torch.float64}
WIDE_ROW: Final = 131_072
"""Columns of the rows that loop and split kernels are compiled for."""
NARROW_ROW: Final = 128
"""Columns of rows that share a block."""


@dataclass(frozen=True)
class Entry:
    """One kernel with one config, at one point.

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


def entries(
    module: Any, runtime: Any, target: Any, sizes: Sequence[int]
) -> Iterator[tuple[Entry, ...]]:
    """Yield every kernel of a module with every config of ``target``'s architecture.

    Each comes as its points, which share a name.

    Args:
        target: a row of the runtime's table.
        sizes: element sizes in bytes.
    """
    for element_size in sizes:
        found: dict[str, dict[str, Entry]] = {}
        for op in ops(module):
            for key in op.variants:
                for entry in _of_variant(op, runtime, target, element_size, key):
                    found.setdefault(entry.name, {}).setdefault(point_of(entry), entry)
        yield from (tuple(points.values()) for points in found.values())


def ops(module: Any) -> tuple[Any, ...]:
    """Return the op of a module, and its backward if that has kernels of its own."""
    backward = getattr(module, "BACKWARD", None)
    return (module.OP,) if backward is None else (module.OP, backward)


def point_of(entry: Entry) -> str:
    """Return all that decides what the compiler makes of an entry besides its kernel's text."""
    kernel = entry.kernel
    signature = [
        (str(a.dtype), a.data_ptr() % 16 == 0)
        if isinstance(a, torch.Tensor)
        else (type(a).__name__, a == 1, isinstance(a, int) and a % 16 == 0, _is_wide(a))
        for a in entry.arguments
    ]
    return str(
        (signature, sorted((n, str(v)) for n, v in kernel.constants.items()), kernel.options)
    )


def _is_wide(value: Any) -> bool:
    return isinstance(value, int) and not -(2**31) <= value < 2**31


def _of_variant(
    op: Any, runtime: Any, target: Any, element_size: int, key: tuple[Any, ...]
) -> Iterator[Entry]:
    for schedule, ending in SCHEDULES.items():
        given = _arguments(op, element_size, key, "block", 16)
        choices = runtime.Choices(schedule=schedule)
        try:
            launch = _plan(op, runtime, given, target).launch(choices)
        except runtime.NoConfig:
            continue  # the compiler took them all out
        if not any(step.kernel.__name__.endswith(f"_{ending}") for step in launch.steps):
            continue  # a plan without this schedule takes another
        for at, space in enumerate(choices.spaces):
            for config in space:
                chosen = (*choices.chosen[:at], config, *choices.chosen[at + 1 :])
                width = config.values.get("TILE", 4096)
                calls = [_arguments(op, element_size, key, schedule, width)]
                if schedule == "block" and width > NARROW_ROW:
                    calls.append(_arguments(op, element_size, key, schedule, NARROW_ROW))
                if schedule == "tiled":
                    calls.append(_crossed(calls[0]))
                for call in calls:
                    forced = runtime.Choices(chosen, schedule=schedule)
                    yield from _of_call(op, runtime, call, target, forced, element_size)


def _crossed(given: planning.Arguments) -> planning.Arguments:
    """Return the arguments with the first tensor of several dims transposed in memory."""
    tensors = list(given.tensors)
    for at, tensor in enumerate(tensors):
        if tensor is not None and tensor.dim() > 1:
            tensors[at] = tensor.mT.contiguous().mT
            break
    return planning.Arguments(tuple(tensors), given.params)


def _of_call(
    op: Any,
    runtime: Any,
    given: planning.Arguments,
    target: Any,
    choices: Any,
    element_size: int,
) -> Iterator[Entry]:
    plan = _plan(op, runtime, given, target)
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
        config = kernel.config.values if kernel.config else {}
        name = entry_name(kernel.jit.__name__, element_size, config)
        yield Entry(name, kernel, arguments, dtypes)


def _plan(op: Any, runtime: Any, given: planning.Arguments, target: Any) -> Any:
    with mock.patch.object(runtime, "target_of", return_value=target):
        # All that may be wanted is compiled.
        return planning.make_plan(
            op, runtime, given, target=target, wanted=[True] * len(op.results)
        )


# ---- representative calls -----------------------------------------------------------------------


def _arguments(
    op: Any,
    element_size: int,
    key: tuple[Any, ...],
    schedule: str,
    width: int,
) -> planning.Arguments:
    """Return arguments without memory; rows have ``width`` columns where a block holds them."""
    chosen = dict(zip(op.specialize, key, strict=True))
    rows, columns = _dims(op)
    wide = schedule in ("loop", "split")
    width = WIDE_ROW if wide else width
    outer = 16 if width >= 256 and schedule != "split" else 1  # rows are split along one dim alone
    sizes = _sizes(op, rows, columns, width, outer, few=schedule == "split")
    tensors = tuple(
        None if chosen.get(operand.name) is False else _tensor(operand, sizes, element_size)
        for operand in op.inputs
    )
    return planning.Arguments(tensors, tuple(_param(p, chosen, sizes) for p in op.params))


def _dims(op: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the dims that a plan goes over as rows and as columns, from its own questions.

    It asks for the axes of its rows, then for those of its columns. Of an elementwise plan, these
    are groups of dims, and those of the first are its rows.
    """
    plan = next(iter(op.variants.values())).plan
    asked: list[tuple[str, ...]] = []

    class Questions:
        def axes(self, dims: tuple[str, ...], limit: int, **_: bool) -> Any:
            asked.append(dims)
            return mock.MagicMock(sizes=(2,) * limit, total=2)

        def needs(self, *_: str) -> bool:
            return True

        def among(self, *_: str) -> "Questions":
            return self

    with contextlib.suppress(AttributeError, TypeError):  # it asks for more than axes
        plan(Questions())
    rows = asked[0]
    columns = (dim for dims in asked[1:] for dim in dims)
    return rows, tuple(dim for dim in dict.fromkeys(columns) if dim not in rows)


def _sizes(
    op: Any, rows: Sequence[str], columns: Sequence[str], width: int, outer: int, *, few: bool
) -> dict[str, int]:
    """Return a size for each dim: multiples of 16 wherever the spec leaves a choice.

    Args:
        width: of all columns together.
        outer: of each dim of columns but the last.
        few: whether there are only a few rows.
    """
    sizes = dict(op.static_sizes)
    dims = {d for o in (*op.inputs, *op.results) for entry in o.dims for d in _names(entry)}
    lanes = list(columns) or [rows[-1]]
    for dim in lanes[:-1]:
        sizes.setdefault(dim, outer)
    used = math.prod(sizes[dim] for dim in lanes[:-1])
    sizes.setdefault(lanes[-1], max(1, width // used))
    free = [dim for dim in rows if dim not in sizes]
    for dim in free:
        sizes[dim] = 2 if few else 16 if len(free) > 1 else 4096
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
