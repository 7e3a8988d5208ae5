"""The kernels of a module as they are launched, for each config of its tables.

The module's own plan decides: it is asked for calls of representative shapes on tensors without
memory, with its schedule and config forced. So constants, strides and alignment are real ones. Of
all that a config may be launched with, a few points stand for the rest:

- floating inputs of 1, 2, 4 and 8 bytes are all fp8e5m2, bf16, fp32 or fp64, unless the spec says
  otherwise; integers are int64;
- tensors are contiguous and aligned, sizes are multiples of 16, and blocks are full;
- a block holds one wide row, and rows of 128 columns; so does a tile that sums rows;
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
from tilegen.schedule.kinds import KINDS
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
                for entry in _Compiled(op, key, runtime, target, element_size).entries():
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


@dataclass(frozen=True)
class _Stage:
    """What a plan, or one stage of it, goes over.

    Attributes:
        name: a part of the names of its kernels; empty for a plan without stages.
        rows: dims; of an elementwise plan those of its first axes.
        columns: dims.
    """

    name: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class _Compiled:
    """A variant of an op as it is compiled for one target and element size."""

    op: Any
    key: tuple[Any, ...]
    runtime: Any
    target: Any
    element_size: int

    def entries(self) -> Iterator[Entry]:
        """Yield its kernels with every config, at every point."""
        for schedule in SCHEDULES:
            with contextlib.suppress(self.runtime.NoConfig):  # the compiler took them all out
                for stage in self._stages(schedule):
                    made = self._of_stage(schedule, stage)
                    yield from (entry for entry in made if stage.name in entry.name)

    def _stages(self, schedule: str) -> list[_Stage]:
        """Return the stages of a plan with this schedule, by the axes that each asks for."""
        asked: dict[str, list[tuple[str, ...]]] = {}
        axes = self.runtime.Call.axes

        def recorded(call: Any, dims: tuple[str, ...], *args: Any, **options: Any) -> Any:
            asked.setdefault(call.leader, []).append(dims)
            return axes(call, dims, *args, **options)

        small = dict.fromkeys(_dims(self.op), 16) | dict(self.op.static_sizes)
        with mock.patch.object(self.runtime.Call, "axes", recorded):
            self._plan(self._given(small)).launch(self.runtime.Choices(schedule=schedule))
        stages = []
        for at, (rows, *rest) in enumerate(asked.values(), 1):
            columns = dict.fromkeys(dim for dims in rest for dim in dims if dim not in rows)
            stages.append(_Stage(f"_stage_{at}_" if len(asked) > 1 else "", rows, tuple(columns)))
        return stages

    def _of_stage(self, schedule: str, stage: _Stage) -> Iterator[Entry]:
        choices = self.runtime.Choices(schedule=schedule)
        launch = self._plan(self._arguments("block", stage, 16)).launch(choices)
        if not any(
            step.kernel.__name__.endswith(f"_{SCHEDULES[schedule]}") for step in launch.steps
        ):
            return  # a plan without this schedule takes another
        for at, space in enumerate(choices.spaces):
            for config in space:
                chosen = (*choices.chosen[:at], config, *choices.chosen[at + 1 :])
                forced = self.runtime.Choices(chosen, schedule=schedule)
                width = config.values.get("TILE", 4096)
                calls = [self._arguments(schedule, stage, width)]
                if KINDS[schedule].whole and width > NARROW_ROW:
                    calls.append(self._arguments(schedule, stage, NARROW_ROW))
                if schedule == "tiled":
                    calls.append(_crossed(calls[0]))
                for call in calls:
                    made = self._of_call(call, forced)
                    # Other stages run with configs of theirs, for which this width is not.
                    yield from (entry for entry in made if entry.kernel.config == config)

    def _of_call(self, given: planning.Arguments, choices: Any) -> Iterator[Entry]:
        plan = self._plan(given)
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
            name = entry_name(kernel.jit.__name__, self.element_size, config)
            yield Entry(name, kernel, arguments, dtypes)

    def _plan(self, given: planning.Arguments) -> Any:
        with mock.patch.object(self.runtime, "target_of", return_value=self.target):
            # All that may be wanted is compiled.
            wanted = [True] * len(self.op.results)
            return planning.make_plan(
                self.op, self.runtime, given, target=self.target, wanted=wanted
            )

    def _arguments(self, schedule: str, stage: _Stage, width: int) -> planning.Arguments:
        """Return arguments without memory; rows have ``width`` columns where a block holds them."""
        few = schedule == "split"
        width = WIDE_ROW if few or schedule == "loop" else width
        outer = 16 if width >= 256 and not few else 1  # rows are split along one dim alone
        return self._given(_sizes(self.op, stage, width, outer, few=few))

    def _given(self, sizes: Mapping[str, int]) -> planning.Arguments:
        chosen = dict(zip(self.op.specialize, self.key, strict=True))
        tensors = tuple(
            None if chosen.get(o.name) is False else _tensor(o, sizes, self.element_size)
            for o in self.op.inputs
        )
        return planning.Arguments(tensors, tuple(_param(p, chosen, sizes) for p in self.op.params))


def _crossed(given: planning.Arguments) -> planning.Arguments:
    """Return the arguments with the first tensor of several dims transposed in memory."""
    tensors = list(given.tensors)
    for at, tensor in enumerate(tensors):
        if tensor is not None and tensor.dim() > 1:
            tensors[at] = tensor.mT.contiguous().mT
            break
    return planning.Arguments(tuple(tensors), given.params)


# ---- representative calls -----------------------------------------------------------------------


def _sizes(op: Any, stage: _Stage, width: int, outer: int, *, few: bool) -> dict[str, int]:
    """Return a size for each dim: multiples of 16 wherever the spec leaves a choice.

    Args:
        width: of all columns together.
        outer: of each dim of columns but the last.
        few: whether there are only a few rows.
    """
    sizes = dict(op.static_sizes)
    rows, columns = stage.rows, stage.columns
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
    for dim in _dims(op):
        sizes.setdefault(dim, 4096)
    return sizes


def _dims(op: Any) -> set[str]:
    entries = (entry for o in (*op.inputs, *op.results) for entry in o.dims)
    return {dim for entry in entries for dim in _names(entry)} - {"One"}


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
