"""The runtime of the generated kernels: what every module beside this file imports.

A module declares its op as data (``Op``, ``Operand``, ``Output``, ``Param``), its kernels, and a
``_plan`` that turns the sizes and strides of one call into a ``Launch``. Everything between the
public function and the kernel is here, in this order:

- **targets**: facts about GPUs, and which row describes the one that runs;
- **declarations**: what a module says about its op, its configs and its launches;
- **binding**: sizes by name, leading dims, every check and its error;
- **layouts** and **outs**: what is allocated, whether views share elements, what ``out`` may be;
- **axes and calls**: neighbouring dims merged into few strides, and what else a ``_plan`` may ask;
- **reference**, **launches**, **planning**, **tuning**: from a bound call to a prepared one;
- **autograd**, **sharding** and **library**: gradients, DTensor's rule and the registered PyTorch op;
- **ops**: the public call and its fast path;
- **helpers** and what follows: functions that kernels, references and plans call. The jit functions
  are the same compiled and interpreted.

A call builds one key from what planning and compiling depend on: shape, strides, dtype, device and
16-byte alignment of each tensor, and the specialising arguments. A key that is known leads to a
prepared call, which allocates the outputs and launches compiled kernels. A new key is bound,
checked and planned first. Data never decides and nothing synchronises, so after one warm call a
CUDA graph can capture an op.

The one state is ``LAUNCHES``: prepared calls, tuned configs, and what ran last.

With TRITON_INTERPRET=1, kernels run in Triton's interpreter on CPU tensors; without it, CPU tensors
take the eager PyTorch reference.
"""

import math
import os
import re
import struct
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import count
from numbers import Integral, Real
from operator import itemgetter
from typing import Any, Final, NamedTuple, cast

import torch
import triton
import triton.language as tl
from torch.autograd import forward_ad


@dataclass(frozen=True)
class Target:
    """Facts about one GPU: bytes and bytes/s of the whole device unless per SM or program, Hz."""

    name: str
    device_names: tuple[str, ...]
    backend: str
    architecture: str
    capability: tuple[int, int]
    multiprocessors: int
    registers_per_sm: int
    shared_per_program: int
    shared_per_sm: int
    max_threads_per_sm: int
    warp_size: int
    l2_bytes: int
    bandwidth: float
    measured_copy: float | None
    peak: Mapping[str, float] = field(hash=False)
    special_per_clock: int
    clock_hz: float
    lacks: tuple[str, ...]


TARGETS = (
    Target(
        name="a100",
        device_names=("A100",),
        backend="cuda",
        architecture="sm_80",
        capability=(8, 0),
        multiprocessors=108,
        registers_per_sm=65_536,
        shared_per_program=166_912,
        shared_per_sm=167_936,
        max_threads_per_sm=2048,
        warp_size=32,
        l2_bytes=41_943_040,
        bandwidth=2.039e12,
        measured_copy=None,
        peak={
            "f64": 9.7e12,
            "f32": 1.95e13,
            "f16": 3.12e14,
            "bf16": 3.12e14,
            "fp8e5m2": 3.12e14,
            "i8": 6.24e14,
        },
        special_per_clock=16,
        clock_hz=1.41e9,
        lacks=("fp8e4m3",),
    ),
    Target(
        name="h100",
        device_names=("H100",),
        backend="cuda",
        architecture="sm_90",
        capability=(9, 0),
        multiprocessors=132,
        registers_per_sm=65_536,
        shared_per_program=232_448,
        shared_per_sm=233_472,
        max_threads_per_sm=2048,
        warp_size=32,
        l2_bytes=52_428_800,
        bandwidth=3.35e12,
        measured_copy=None,
        peak={
            "f64": 3.35e13,
            "f32": 6.69e13,
            "f16": 9.894e14,
            "bf16": 9.894e14,
            "fp8e4m3": 1.9789e15,
            "fp8e5m2": 1.9789e15,
            "i8": 1.9789e15,
        },
        special_per_clock=16,
        clock_hz=1.98e9,
        lacks=(),
    ),
    Target(
        name="h200",
        device_names=("H200",),
        backend="cuda",
        architecture="sm_90",
        capability=(9, 0),
        multiprocessors=132,
        registers_per_sm=65_536,
        shared_per_program=232_448,
        shared_per_sm=233_472,
        max_threads_per_sm=2048,
        warp_size=32,
        l2_bytes=62_914_560,
        bandwidth=4.8e12,
        measured_copy=4.27e12,
        peak={
            "f64": 3.35e13,
            "f32": 6.69e13,
            "f16": 9.894e14,
            "bf16": 9.894e14,
            "fp8e4m3": 1.9789e15,
            "fp8e5m2": 1.9789e15,
            "i8": 1.9789e15,
        },
        special_per_clock=16,
        clock_hz=1.98e9,
        lacks=(),
    ),
    Target(
        name="b200",
        device_names=("B200",),
        backend="cuda",
        architecture="sm_100",
        capability=(10, 0),
        multiprocessors=148,
        registers_per_sm=65_536,
        shared_per_program=232_448,
        shared_per_sm=233_472,
        max_threads_per_sm=2048,
        warp_size=32,
        l2_bytes=132_644_864,
        bandwidth=7.7e12,
        measured_copy=None,
        peak={
            "f64": 3.7e13,
            "f32": 7.5e13,
            "f16": 2.25e15,
            "bf16": 2.25e15,
            "fp8e4m3": 4.5e15,
            "fp8e5m2": 4.5e15,
            "i8": 4.5e15,
        },
        special_per_clock=16,
        clock_hz=1.965e9,
        lacks=(),
    ),
    Target(
        name="l4",
        device_names=("NVIDIA L4",),
        backend="cuda",
        architecture="sm_89",
        capability=(8, 9),
        multiprocessors=58,
        registers_per_sm=65_536,
        shared_per_program=101_376,
        shared_per_sm=102_400,
        max_threads_per_sm=1536,
        warp_size=32,
        l2_bytes=50_331_648,
        bandwidth=3e11,
        measured_copy=None,
        peak={
            "f64": 4.73e11,
            "f32": 3.03e13,
            "f16": 1.21e14,
            "bf16": 1.21e14,
            "fp8e4m3": 2.425e14,
            "fp8e5m2": 2.425e14,
            "i8": 2.425e14,
        },
        special_per_clock=16,
        clock_hz=2.04e9,
        lacks=(),
    ),
    Target(
        name="l40s",
        device_names=("L40S",),
        backend="cuda",
        architecture="sm_89",
        capability=(8, 9),
        multiprocessors=142,
        registers_per_sm=65_536,
        shared_per_program=101_376,
        shared_per_sm=102_400,
        max_threads_per_sm=1536,
        warp_size=32,
        l2_bytes=100_663_296,
        bandwidth=8.64e11,
        measured_copy=None,
        peak={
            "f64": 1.43e12,
            "f32": 9.16e13,
            "f16": 3.6205e14,
            "bf16": 3.6205e14,
            "fp8e4m3": 7.33e14,
            "fp8e5m2": 7.33e14,
            "i8": 7.33e14,
        },
        special_per_clock=16,
        clock_hz=2.52e9,
        lacks=(),
    ),
    Target(
        name="rtx3090",
        device_names=("RTX 3090",),
        backend="cuda",
        architecture="sm_86",
        capability=(8, 6),
        multiprocessors=82,
        registers_per_sm=65_536,
        shared_per_program=101_376,
        shared_per_sm=102_400,
        max_threads_per_sm=1536,
        warp_size=32,
        l2_bytes=6_291_456,
        bandwidth=9.36e11,
        measured_copy=None,
        peak={
            "f64": 5.56e11,
            "f32": 3.56e13,
            "f16": 7.12e13,
            "bf16": 7.12e13,
            "fp8e5m2": 7.12e13,
            "i8": 2.84e14,
        },
        special_per_clock=16,
        clock_hz=1.695e9,
        lacks=("fp8e4m3",),
    ),
    Target(
        name="rtx4090",
        device_names=("RTX 4090",),
        backend="cuda",
        architecture="sm_89",
        capability=(8, 9),
        multiprocessors=128,
        registers_per_sm=65_536,
        shared_per_program=101_376,
        shared_per_sm=102_400,
        max_threads_per_sm=1536,
        warp_size=32,
        l2_bytes=75_497_472,
        bandwidth=1.008e12,
        measured_copy=None,
        peak={
            "f64": 1.29e12,
            "f32": 8.26e13,
            "f16": 1.652e14,
            "bf16": 1.652e14,
            "fp8e4m3": 3.303e14,
            "fp8e5m2": 3.303e14,
            "i8": 6.606e14,
        },
        special_per_clock=16,
        clock_hz=2.52e9,
        lacks=(),
    ),
    Target(
        name="rtx5090",
        device_names=("RTX 5090",),
        backend="cuda",
        architecture="sm_120",
        capability=(12, 0),
        multiprocessors=170,
        registers_per_sm=65_536,
        shared_per_program=101_376,
        shared_per_sm=102_400,
        max_threads_per_sm=1536,
        warp_size=32,
        l2_bytes=100_663_296,
        bandwidth=1.792e12,
        measured_copy=None,
        peak={
            "f64": 1.64e12,
            "f32": 1.048e14,
            "f16": 2.095e14,
            "bf16": 2.095e14,
            "fp8e4m3": 4.19e14,
            "fp8e5m2": 4.19e14,
            "i8": 8.38e14,
        },
        special_per_clock=16,
        clock_hz=2.407e9,
        lacks=(),
    ),
    Target(
        name="mi250",
        device_names=("MI250",),
        backend="hip",
        architecture="gfx90a",
        capability=(9, 0),
        multiprocessors=104,
        registers_per_sm=131_072,
        shared_per_program=65_536,
        shared_per_sm=65_536,
        max_threads_per_sm=2048,
        warp_size=64,
        l2_bytes=8_388_608,
        bandwidth=1.6384e12,
        measured_copy=None,
        peak={
            "f64": 2.26e13,
            "f32": 2.26e13,
            "f16": 1.81e14,
            "bf16": 1.81e14,
            "fp8e4m3": 1.81e14,
            "fp8e5m2": 1.81e14,
            "i8": 1.81e14,
        },
        special_per_clock=16,
        clock_hz=1.7e9,
        lacks=(),
    ),
    Target(
        name="mi300x",
        device_names=("MI300X",),
        backend="hip",
        architecture="gfx942",
        capability=(9, 4),
        multiprocessors=304,
        registers_per_sm=131_072,
        shared_per_program=65_536,
        shared_per_sm=65_536,
        max_threads_per_sm=2048,
        warp_size=64,
        l2_bytes=33_554_432,
        bandwidth=5.3e12,
        measured_copy=None,
        peak={
            "f64": 8.17e13,
            "f32": 1.634e14,
            "f16": 1.3074e15,
            "bf16": 1.3074e15,
            "fp8e4m3": 1.3074e15,
            "fp8e5m2": 1.3074e15,
            "i8": 2.6149e15,
        },
        special_per_clock=16,
        clock_hz=2.1e9,
        lacks=(),
    ),
    Target(
        name="mi355x",
        device_names=("MI355X",),
        backend="hip",
        architecture="gfx950",
        capability=(9, 5),
        multiprocessors=256,
        registers_per_sm=131_072,
        shared_per_program=163_840,
        shared_per_sm=163_840,
        max_threads_per_sm=2048,
        warp_size=64,
        l2_bytes=33_554_432,
        bandwidth=8e12,
        measured_copy=None,
        peak={
            "f64": 7.86e13,
            "f32": 1.573e14,
            "f16": 2.5166e15,
            "bf16": 2.5166e15,
            "fp8e4m3": 5.0332e15,
            "fp8e5m2": 5.0332e15,
            "i8": 5.0332e15,
        },
        special_per_clock=32,
        clock_hz=2.4e9,
        lacks=(),
    ),
)


def target_of(device: torch.device) -> Target:
    """Return the row of ``device``, with the SM count of the driver.

    A GPU whose name is in no row takes the nearest by capability, then by shared memory. A CPU
    takes the first row: the interpreter needs some sizes, and no particular ones.
    """
    if device.type == "cpu":
        return TARGETS[0]
    properties = torch.cuda.get_device_properties(device)
    backend = "hip" if torch.version.hip else "cuda"
    rows = [row for row in TARGETS if row.backend == backend] or list(TARGETS)
    named = [row for row in rows if any(map(_is_named(properties.name), row.device_names))]
    capability = 10 * properties.major + properties.minor
    shared = getattr(properties, "shared_memory_per_block_optin", rows[0].shared_per_program)
    nearest = min(
        named or rows,
        key=lambda row: (
            abs(10 * row.capability[0] + row.capability[1] - capability),
            abs(row.shared_per_program - shared),
        ),
    )
    return replace(nearest, multiprocessors=properties.multi_processor_count)


def _is_named(device_name: str) -> Callable[[str], bool]:
    """Return whether a part is in ``device_name`` as whole words: "L4" is not in "NVIDIA L40S"."""
    return lambda part: bool(re.search(rf"\b{re.escape(part)}\b", device_name, re.IGNORECASE))


# --- Declarations: what a module says about its op, its configs and its launches


Dims = tuple[str | tuple[str, ...], ...]
"""Stored dims in order; a tuple of names is one stored dim, their row-major product."""


class Config:
    """One entry of an autotune space: tile sizes in upper case, compiler options in lower case.

    ``Config(TILE=4096, num_warps=8)["TILE"]`` is 4096. The compiler said how many ``registers`` a
    thread takes, where that is known. One that ``spills`` is the choice where no other of its table
    holds a row (1), or where no other schedule does either (2).
    """

    __slots__ = ("options", "registers", "spills", "values")

    def __init__(self, registers: int = 0, spills: int = 0, **values: int) -> None:
        self.registers = registers
        self.spills = spills
        self.values = values
        self.options = {name: value for name, value in values.items() if name.islower()}

    def __getitem__(self, name: str) -> int:
        return self.values[name]

    def get(self, name: str, default: int) -> int:
        """Return a value, or what the compiler said of ``registers``."""
        return self.registers or default if name == "registers" else self.values.get(name, default)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self.values == other.values

    def __hash__(self) -> int:
        return hash(frozenset(self.values.items()))

    def __repr__(self) -> str:
        return f"Config({', '.join(f'{name}={value}' for name, value in self.values.items())})"


@dataclass(frozen=True)
class Operand:
    """A tensor argument.

    Attributes:
        kind: "float" (any floating dtype), "int" (any integer dtype) or "bool".
        dtypes: the only dtypes accepted, where the spec pins them.
        optional: may be None, which is another variant.
    """

    name: str
    dims: Dims
    kind: str = "float"
    dtypes: tuple[torch.dtype, ...] | None = None
    optional: bool = False


@dataclass(frozen=True)
class Param:
    """An argument that is no tensor.

    Attributes:
        kind: "float" or "int" (run-time); "bool" or "literal" (a variant each); "size" (the size
            of ``dim``); "static" (the value of the build, ``default``).
        choices: what a literal may be.
        optional: may be None, which is another variant.
    """

    name: str
    kind: str
    default: float | int | bool | str | None = None
    dim: str | None = None
    choices: tuple[str | int, ...] = ()
    optional: bool = False


@dataclass(frozen=True)
class Output:
    """A result: the dtype of input ``like``, or ``dtype``.

    ``dtype="float"`` is fp32, or fp64 when any floating input is. The dim "One" has size 1. An
    internal result ``serves`` the results that are made of it.
    """

    name: str
    dims: Dims
    like: str | None = None
    dtype: torch.dtype | str | None = None
    serves: tuple[str, ...] = ()


class Step:
    """One kernel launch. Arguments are tensors, integers, params, then constants, in that order.

    ``tensors`` are names of inputs, outputs and workspaces; ``params`` are names of run-time
    params. The runtime adds the constants INT (type of offsets) and FLOAT (type of arithmetic)
    where the kernel has them. Only grid axis 0 has no limit of 65,535.
    """

    __slots__ = ("config", "constants", "grid", "integers", "kernel", "params", "tensors")

    def __init__(
        self,
        kernel: Any,
        *,
        grid: tuple[int, ...],
        tensors: tuple[str, ...],
        integers: tuple[int, ...] = (),
        params: tuple[str, ...] = (),
        constants: Mapping[str, Any] | None = None,
        config: Config | None = None,
    ) -> None:
        self.kernel = kernel
        self.grid = (*grid, 1, 1)[:3]
        self.tensors = tensors
        self.integers = integers
        self.params = params
        self.constants = dict(constants or {})
        self.config = config


class Launch:
    """What one call runs: steps in order (None for one whose results nobody wants), and workspaces.

    Workspaces are by name (shape, dtype); the steps share them.
    """

    __slots__ = ("steps", "workspaces")

    def __init__(
        self,
        *steps: Step | None,
        workspaces: Mapping[str, tuple[tuple[int, ...], torch.dtype]] | None = None,
    ) -> None:
        self.steps = tuple(step for step in steps if step is not None)
        self.workspaces = dict(workspaces or {})


def in_stages(*launches: Launch | None) -> Launch:
    """Return one launch of all their steps, in order; workspaces of one name stay apart.

    None is a stage whose results nobody wants.
    """
    steps: list[Step] = []
    workspaces: dict[str, tuple[tuple[int, ...], torch.dtype]] = {}
    for stage, launch in enumerate(launches, 1):
        if launch is None:
            continue
        names = {name: f"{name} of stage {stage}" for name in launch.workspaces}
        workspaces |= {names[name]: space for name, space in launch.workspaces.items()}
        for step in launch.steps:
            step.tensors = tuple(names.get(name, name) for name in step.tensors)
            steps.append(step)
    return Launch(*steps, workspaces=workspaces)


class Variant(NamedTuple):
    """The code of one combination of specialising arguments.

    Attributes:
        plan: what a call launches.
        reference: the spec in eager PyTorch.
        internal: results that kernels leave for later ones, and that no caller sees.
        gradients: for each input that has a gradient, its name among the results of the backward,
            or that of the upstream gradient which is passed on to it.
    """

    plan: Callable[["Call"], Launch]
    reference: Callable[..., Any]
    internal: tuple[Output, ...] = ()
    gradients: Mapping[str, str] = {}


class Record(NamedTuple):
    """What a call ran: path is "triton", "interpreter" or "torch"; one config per kernel."""

    op: str
    path: str
    kernels: tuple[str, ...] = ()
    configs: tuple[Config | None, ...] = ()

    @property
    def config(self) -> Config | None:
        """The config of the first kernel."""
        return self.configs[0] if self.configs else None


def cdiv(numerator: int, denominator: int) -> int:
    """Return the quotient rounded up, for example the number of blocks that cover a size."""
    return -(-numerator // denominator)


def next_power_of_2(n: int) -> int:
    """Return the least power of two that is at least ``n``, and 1 for 0."""
    return 1 << max(0, n - 1).bit_length()


def product(sizes: Iterable[int]) -> int:
    """Return the product, as ``math.prod``, which torch.compile cannot trace with symbolic sizes."""
    result = 1
    for size in sizes:
        result *= size
    return result


def _dims_of(entry: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return the dims that one stored dim is the product of."""
    return (entry,) if isinstance(entry, str) else entry


# --- Binding: sizes by name, and every check of the arguments


class Binding(NamedTuple):
    """The dims of one call.

    ``sizes`` has each named dim; the fold dim counts its leading dims in. ``extents`` has the axes
    of each: one, or for the fold dim its leading dims and its own.
    """

    sizes: dict[str, int]
    extents: dict[str, tuple[int, ...]]


Tensors = Sequence[torch.Tensor | None]
"""The inputs of a call, in the order of ``Op.inputs``; an optional one may be None."""


def bind(op: "Op", inputs: Tensors, params: Sequence[Any]) -> Binding:
    """Check the arguments of a call and return the size of every named dim.

    Raises:
        TypeError: no tensor, or a wrong dtype, device or rank; a param of a wrong type.
        ValueError: sizes that contradict each other, a param out of its choices.
    """
    _check_tensors(op, inputs)
    check_params(op, params)
    known = _Sizes(op.name)
    for dim, size in op.static_sizes.items():
        known.claim(dim, size, "the spec")
    for param, value in zip(op.params, params, strict=True):
        if param.kind == "size" and param.dim is not None and value is not None:
            known.claim(param.dim, value, param.name)
    flats = []
    for operand, tensor in zip(op.inputs, inputs, strict=True):
        if tensor is not None:
            flats += _claim_dims(op, known, operand, tensor)
    known.fold_leading(op.fold)
    known.solve(flats)
    extents: dict[str, tuple[int, ...]] = {dim: (size,) for dim, size in known.sizes.items()}
    if known.leading:
        extents[op.fold or ""] = known.extents
    return Binding(known.sizes, extents)


def _check_tensors(op: "Op", inputs: Tensors) -> None:
    first: tuple[str, torch.device] | None = None
    for operand, tensor in zip(op.inputs, inputs, strict=True):
        if tensor is None and operand.optional:
            continue
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(
                f"{op.name}: {operand.name} must be a tensor, got {type(tensor).__name__}"
            )
        if tensor.layout != torch.strided:
            raise TypeError(f"{op.name}: {operand.name} is {tensor.layout}, expected torch.strided")
        if not _accepts(operand, tensor.dtype):
            wanted = " or ".join(map(str, operand.dtypes or (_KIND_NAMES[operand.kind],)))
            raise TypeError(f"{op.name}: {operand.name} is {tensor.dtype}, expected {wanted}")
        if first is None:
            first = (operand.name, tensor.device)
        elif tensor.device != first[1]:
            raise TypeError(
                f"{op.name}: {operand.name} is on {tensor.device}, but {first[0]} is on {first[1]}"
            )
        _check_rank(op, operand, tensor)


_KIND_NAMES: Final = {"float": "a floating dtype", "int": "an integer dtype", "bool": "torch.bool"}


def _accepts(operand: Operand, dtype: torch.dtype) -> bool:
    if operand.dtypes is not None:
        return dtype in operand.dtypes
    if operand.kind == "float":
        return dtype.is_floating_point
    is_bool = dtype == torch.bool
    return is_bool if operand.kind == "bool" else not (is_bool or _is_inexact(dtype))


def _is_inexact(dtype: torch.dtype) -> bool:
    return dtype.is_floating_point or dtype.is_complex


def _check_rank(op: "Op", operand: Operand, tensor: torch.Tensor) -> None:
    extra = tensor.dim() - len(operand.dims)
    folds = op.fold in operand.dims
    if extra < 0 or (extra > 0 and not folds):
        least = "at least " if folds else ""
        raise TypeError(
            f"{op.name}: {operand.name} has {tensor.dim()} dims ({list(tensor.shape)}), expected "
            f"{least}{len(operand.dims)} ({_dims_text(operand.dims)})"
        )


_PARAM_TYPES: Final[Mapping[str, Any]] = {
    "float": (Real, torch.SymInt, torch.SymFloat),
    "int": (Integral, torch.SymInt),
    "size": (Integral, torch.SymInt),
    "static": (Integral, torch.SymInt),
    "bool": bool,
    "literal": (str, int),
}


def check_params(op: "Op", params: Sequence[Any]) -> None:
    """Raise TypeError or ValueError unless each param is what the spec says."""
    for param, value in zip(op.params, params, strict=True):
        if value is None and param.optional:
            continue
        if not isinstance(value, _PARAM_TYPES[param.kind]):
            raise TypeError(
                f"{op.name}: {param.name} must be {_a(param.kind)}, got {type(value).__name__}"
            )
        if param.kind == "literal" and value not in param.choices:
            choices = ", ".join(map(repr, param.choices))
            raise ValueError(f"{op.name}: {param.name} is {value!r}, expected one of {choices}")
        if param.kind == "static" and value != param.default:
            raise ValueError(
                f"{op.name}: {param.name} = {value}, but this build fixed it at {param.default}; "
                f"rebuild the module for another value"
            )
        if param.kind == "size" and value < 1:
            raise ValueError(f"{op.name}: {param.name} = {value}, expected a size of at least 1")


def _a(kind: str) -> str:
    return {"int": "an int", "size": "an int", "static": "an int"}.get(kind, f"a {kind}")


def _claim_dims(
    op: "Op", known: "_Sizes", operand: Operand, tensor: torch.Tensor
) -> list[tuple["_Source", tuple[str, ...], int]]:
    """Claim the sizes of the plain dims of ``tensor`` and return its flat ones."""
    detail = f" ({operand.name} is {list(tensor.shape)}, stored as {_dims_text(operand.dims)})"
    source = _Source(operand.name, detail)
    sizes = list(tensor.shape)
    if op.fold in operand.dims:
        at = operand.dims.index(op.fold)
        extra = len(sizes) - len(operand.dims)
        known.claim_leading(tuple(sizes[at : at + extra]), source)
        del sizes[at : at + extra]
    flats = []
    for entry, size in zip(operand.dims, sizes, strict=True):
        if isinstance(entry, str):
            known.claim(entry, size, source)
        else:
            flats.append((source, entry, size))
    return flats


class _Source(NamedTuple):
    """Where a size came from: the argument, and its shape for the error."""

    name: str
    detail: str = ""


class _Sizes:
    """Sizes by dim name, each with the argument that it came from."""

    def __init__(self, op: str) -> None:
        self.op = op
        self.sizes: dict[str, int] = {}
        self.sources: dict[str, _Source] = {}
        self.leading: tuple[int, ...] = ()
        self.extents: tuple[int, ...] = ()
        self.leader: _Source | None = None

    def claim(self, dim: str, size: int, source: _Source | str) -> None:
        """Set the size of ``dim``, or raise ValueError if it is known to be another one."""
        source = _Source(source) if isinstance(source, str) else source
        known = self.sizes.setdefault(dim, size)
        first = self.sources.setdefault(dim, source)
        if known != size:
            hint = (
                "; a stored size of 1 does not broadcast: expand it" if 1 in (size, known) else ""
            )
            raise ValueError(
                f"{self.op}: {source.name} has {dim} = {size}, but {first.name} has "
                f"{dim} = {known}{first.detail or source.detail}{hint}"
            )

    def claim_leading(self, leading: tuple[int, ...], source: _Source) -> None:
        """Set the leading dims of the fold dim, or raise ValueError if they were others."""
        if self.leader is None:
            self.leader, self.leading = source, leading
        if self.leading != leading:
            hint = "; leading dims do not broadcast: expand them"
            raise ValueError(
                f"{self.op}: {source.name} has leading dims {list(leading)}, but "
                f"{self.leader.name} has {list(self.leading)}{self.leader.detail}{hint}"
            )

    def fold_leading(self, fold: str | None) -> None:
        """Count the leading dims in the size of the fold dim."""
        if fold is not None and self.leading:
            self.extents = (*self.leading, self.sizes[fold])
            self.sizes[fold] = product(self.extents)

    def solve(self, flats: Sequence[tuple[_Source, tuple[str, ...], int]]) -> None:
        """Bind the names of flat dims, each of which may have one that no other tells."""
        while flats:
            waiting = [flat for flat in flats if not self._settle(*flat)]
            if len(waiting) == len(flats):
                source, names, size = waiting[0]
                raise ValueError(
                    f"{self.op}: {source.name} has {_dims_text((names,))[1:-1]} = {size}, and "
                    f"nothing tells {' from '.join(n for n in names if n not in self.sizes)}"
                )
            flats = waiting

    def _settle(self, source: _Source, names: tuple[str, ...], size: int) -> bool:
        unknown = [name for name in names if name not in self.sizes]
        if len(unknown) > 1:
            return False
        known = product(self.sizes[name] for name in names if name in self.sizes)
        rest = size // known if known else 0
        if known * rest != size or not (unknown or known == size):
            said = " * ".join(f"{n} = {self.sizes[n]}" for n in names if n in self.sizes)
            relation = "is no multiple of" if unknown else "is not"
            raise ValueError(
                f"{self.op}: {source.name} has {_dims_text((names,))[1:-1]} = {size}, which "
                f"{relation} {said}{source.detail}"
            )
        if unknown:
            self.claim(unknown[0], rest, source)
        return True


def _dims_text(dims: Dims) -> str:
    """Return dims as a spec writes them: "[M, Flat[G, R]]"."""
    entries = (dim if isinstance(dim, str) else f"Flat[{', '.join(dim)}]" for dim in dims)
    return f"[{', '.join(entries)}]"


# --- Layouts: strides by name, what is allocated, and whether views share elements


class Layout(NamedTuple):
    """Shape, strides (in elements) and dtype of an output."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return row-major strides of ``shape``, as PyTorch counts them for empty tensors too."""
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def axis_strides(
    dims: Dims, strides: Sequence[int], binding: Binding, fold: str | None
) -> dict[str, tuple[int, ...]]:
    """Return the strides of each named dim of a stored tensor, one for each axis of the dim."""
    result: dict[str, tuple[int, ...]] = {}
    remaining = list(strides)
    for entry in dims:
        if entry == "One":
            del remaining[0]
        elif entry == fold:
            count = len(binding.extents[fold])
            result[fold] = tuple(remaining[:count])
            del remaining[:count]
        else:
            step = remaining.pop(0)
            names = _dims_of(entry)
            result.update(dict.fromkeys(names, ()))  # a copy keeps this order
            for name in reversed(names):
                inner = contiguous_strides(binding.extents[name])
                result[name] = tuple(step * stride for stride in inner)
                step *= max(binding.sizes[name], 1)
    return result


def output_layouts(op: "Op", inputs: Tensors, binding: Binding) -> tuple[Layout, ...]:
    """Return the layout of each result: contiguous, or like the operands (preserve_strides)."""
    by_name = {o.name: t for o, t in zip(op.inputs, inputs, strict=True) if t is not None}
    layouts = []
    for output in op.results:
        if is_absent(output, by_name):
            layouts.append(Layout((0,), (1,), torch.float32))
            continue
        layout = output_layout(output, binding, op.fold, by_name)
        if op.preserve_strides and 0 not in layout.shape:
            strides = _shared_strides(op, output, by_name, binding)
            layout = layout._replace(strides=strides or layout.strides)
        layouts.append(layout)
    return tuple(layouts)


def output_layout(
    output: Output, binding: Binding, fold: str | None, inputs: Mapping[str, torch.Tensor]
) -> Layout:
    """Return the layout of a contiguous output."""
    shape = stored_shape(output.dims, binding, fold)
    return Layout(shape, contiguous_strides(shape), _output_dtype(output, inputs))


def is_absent(output: Output, inputs: Mapping[str, torch.Tensor]) -> bool:
    """Return whether a result is the gradient of an optional input that is not there."""
    return output.like is not None and output.like not in inputs


def unwanted(layout: Layout) -> Layout:
    """Return what stands in place of a result that a call does without: no elements."""
    return layout._replace(shape=(0,), strides=(1,))


def stored_shape(dims: Dims, binding: Binding, fold: str | None) -> tuple[int, ...]:
    """Return the stored shape of ``dims``: the fold dim unfolds, flat dims are products."""
    shape: list[int] = []
    for entry in dims:
        if entry == "One":
            shape.append(1)
        elif entry == fold:
            shape.extend(binding.extents[fold])
        else:
            names = _dims_of(entry)
            shape.append(product(binding.sizes[name] for name in names))
    return tuple(shape)


def _output_dtype(output: Output, inputs: Mapping[str, torch.Tensor]) -> torch.dtype:
    if output.like is not None:
        return inputs[output.like].dtype
    if isinstance(output.dtype, torch.dtype):
        return output.dtype
    wide = any(tensor.dtype == torch.float64 for tensor in inputs.values())
    return torch.float64 if wide else torch.float32


def _shared_strides(
    op: "Op", output: Output, inputs: Mapping[str, torch.Tensor], binding: Binding
) -> tuple[int, ...] | None:
    """Return the dense strides that all operands with every dim of the output share, or None."""
    if any(entry == "One" or not isinstance(entry, str) for entry in output.dims):
        return None
    shape = stored_shape(output.dims, binding, op.fold)
    orders = []
    for operand in op.inputs:
        if operand.name in inputs and set(operand.dims) == set(output.dims):
            strides = inputs[operand.name].stride()
            by_dim = axis_strides(operand.dims, strides, binding, op.fold)
            orders.append(_dense_order(shape, [s for d in output.dims for s in by_dim[str(d)]]))
    if not orders or orders[0] is None or any(order != orders[0] for order in orders):
        return None
    order = orders[0]
    dense = contiguous_strides([shape[axis] for axis in order])
    return tuple(dense[order.index(axis)] for axis in range(len(shape)))


def _dense_order(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...] | None:
    """Return the axes from outermost to innermost if they fill memory densely, else None.

    Axes of size 1 are nowhere in memory; they come first, so that they change no order.
    """
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    inner = [axis for axis, size in enumerate(shape) if size != 1]
    inner.sort(key=lambda axis: -strides[axis])
    step = 1
    for axis in reversed(inner):
        if strides[axis] != step:
            return None
        step *= shape[axis]
    return (*ones, *inner)


def span_of(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Return the elements from the first to the last of a view, both included; 0 if it is empty."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))


def has_internal_overlap(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Return whether two indices of a view address one element."""
    axes = [(step, size - 1) for size, step in zip(shape, strides, strict=True) if size > 1]
    if 0 in shape or not axes:
        return False
    for at, (step, most) in enumerate(axes):
        others = [(s, -m, m) for s, m in axes[:at] + axes[at + 1 :]]
        if _reaches(0, [(step, 1, most), *others]):
            return True
    return False


def shares_element(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Return whether two views have a byte in common. Interleaved columns, say, have none."""
    if one.numel() == 0 or other.numel() == 0:
        return False
    width, other_width = one.element_size(), other.element_size()
    terms = [(1, 1 - other_width, width - 1)]
    terms += [(s * width, 0, n - 1) for n, s in zip(one.shape, one.stride(), strict=True)]
    terms += [(s * other_width, 1 - n, 0) for n, s in zip(other.shape, other.stride(), strict=True)]
    return _reaches(other.data_ptr() - one.data_ptr(), terms)


def _reaches(target: int, terms: Sequence[tuple[int, int, int]]) -> bool:
    """Return whether some ``n`` in [low, high] per (step, low, high) sum to ``target`` as step * n.

    The widest step goes first. The reach of the others leaves it one or two values in any layout
    that comes from slicing, so the search stays short.
    """
    merged: dict[int, tuple[int, int]] = {}
    for step, low, high in terms:
        known = merged.get(step, (0, 0))
        merged[step] = (known[0] + low, known[1] + high)
    merged.pop(0, None)
    return _search(target, sorted((step, *ends) for step, ends in merged.items()))


def _search(target: int, terms: list[tuple[int, int, int]]) -> bool:
    if not terms:
        return target == 0
    *rest, (step, low, high) = terms
    least = sum(s * bottom for s, bottom, _ in rest)
    most = sum(s * top for s, _, top in rest)
    first = max(low, -((most - target) // step))
    last = min(high, (target - least) // step)
    return any(_search(target - step * n, rest) for n in range(first, last + 1))


def _hip_alignment(tensor: torch.Tensor) -> tuple[bool, bool]:
    """Return what Triton's HIP backend compiles in: 16-byte alignment, and 32-bit offsets."""
    small = tensor.untyped_storage().nbytes() < 2**31
    return tensor.data_ptr() % 16 == 0, small


# --- Outs: what may be passed as out=


def check_outs(
    op: "Op", outs: Sequence[torch.Tensor], layouts: Sequence[Layout], inputs: Tensors
) -> None:
    """Raise ValueError unless each of ``outs`` has the shape, dtype and device of its output."""
    device = next(tensor.device for tensor in inputs if tensor is not None)
    for at, (tensor, layout) in enumerate(zip(outs, layouts, strict=True)):
        empty = torch.empty(0, dtype=layout.dtype, device=device)
        check_out(op, at, tensor, empty, layout.shape)


def check_out(
    op: "Op",
    at: int,
    out: torch.Tensor,
    result: torch.Tensor,
    shape: Sequence[int] | None = None,
) -> None:
    """Raise ValueError unless ``out`` can take ``result``, the output at that position."""
    name = "out" if len(op.outputs) == 1 else f"out for {op.outputs[at].name}"
    shape = result.shape if shape is None else shape
    wrong = (
        (list(out.shape) != list(shape), list(out.shape), list(shape)),
        (out.dtype != result.dtype, out.dtype, result.dtype),
        (out.device != result.device, out.device, result.device),
    )
    for differs, got, expected in wrong:
        if differs:
            raise ValueError(f"{op.name}: {name} is {got}, expected {expected}")
    if has_internal_overlap(out.shape, out.stride()):
        raise ValueError(
            f"{op.name}: elements of {name} share memory (shape {list(out.shape)}, strides "
            f"{list(out.stride())})"
        )


def byte_spans(tensors: Tensors) -> tuple[int, ...]:
    """Return the bytes from the first to the last element of each tensor."""
    return tuple(
        0 if tensor is None else span_of(tensor.shape, tensor.stride()) * tensor.element_size()
        for tensor in tensors
    )


def check_aliases(
    op: "Op",
    inputs: Tensors,
    outs: Sequence[torch.Tensor],
    pointers: Sequence[int | None],
    spans: Sequence[int],
) -> None:
    """Raise ValueError if an output would overwrite what is still to be read, or another output.

    An output may be the very view of an input that each program reads where it writes.
    """
    count = len(inputs)
    for at in range(count, len(pointers)):
        start = pointers[at] or 0
        end = start + spans[at]
        for before in range(at):
            other = pointers[before]
            if other is not None and start < other + spans[before] and other < end:
                _check_pair(op, (*inputs, *outs), before, at)


def _check_pair(op: "Op", tensors: Tensors, before: int, at: int) -> None:
    """Raise ValueError if output ``at`` shares elements with the tensor ``before`` it."""
    one, out = tensors[before], tensors[at]
    if one is None or out is None or not shares_element(one, out):
        return
    name = op.outputs[at - len(op.inputs)].name
    if before >= len(op.inputs):
        other = op.outputs[before - len(op.inputs)].name
        raise ValueError(f"{op.name}: out for {name} shares memory with out for {other}")
    operand = op.inputs[before]
    same = (one.data_ptr(), one.shape, one.stride(), one.dtype) == (
        out.data_ptr(),
        out.shape,
        out.stride(),
        out.dtype,
    )
    if operand.name not in op.inplace:
        raise ValueError(
            f"{op.name}: out for {name} shares memory with {operand.name}, which is still read "
            f"when {name} is written"
        )
    if not same:
        raise ValueError(
            f"{op.name}: out for {name} shares memory with {operand.name}, but is another view; "
            f"only the very same view can be overwritten"
        )


# --- Axes and calls: what a plan may ask


class Axes(NamedTuple):
    """Iteration axes, outermost first: sizes, and strides in elements for each tensor."""

    sizes: tuple[int, ...]
    total: int
    by_tensor: Mapping[str, tuple[int, ...]]

    def strides(self, name: str) -> tuple[int, ...]:
        """Return the strides of a tensor, 0 along axes that it lacks, all 0 if it is absent."""
        return self.by_tensor.get(name) or (0,) * len(self.sizes)

    def flat(self, names: tuple[str, ...]) -> bool:
        """Return whether the elements of these tensors, which have all axes, form one line."""
        line = all(self.strides(name)[-1] == 1 for name in names)
        return self.total <= 1 or (line and math.prod(self.sizes[:-1]) == 1)

    def crossed(self, *axes: int) -> bool:
        """Return whether a tensor is contiguous along one of these axes (along any, if none is given).

        The caller means axes that are not the last of the op.
        """
        own = axes or range(len(self.sizes))
        steps = self.by_tensor.values()
        return any(self.sizes[axis] > 1 and any(s[axis] == 1 for s in steps) for axis in own)


class TooManyAxes(Exception):
    """A plan asked for fewer axes than the strides allow; the runtime copies and plans again."""

    def __init__(self, dims: tuple[str, ...], axes: Mapping[str, int]) -> None:
        super().__init__(dims, axes)
        self.dims = dims
        self.axes = axes


def merge_axes(axes: Iterable[tuple[int, tuple[int, ...]]]) -> list[tuple[int, tuple[int, ...]]]:
    """Merge neighbouring (size, strides) axes that are contiguous in every tensor; drop size 1."""
    merged: list[tuple[int, tuple[int, ...]]] = []
    for size, strides in axes:
        if size == 1:
            continue
        if merged:
            outer_size, outer = merged[-1]
            if all(wide == size * step for wide, step in zip(outer, strides, strict=True)):
                merged[-1] = (outer_size * size, strides)
                continue
        merged.append((size, strides))
    return merged


Cost = Callable[[Config], float]
"""Predicted time of a config; only comparisons count."""


def last_if_spilling(cost: Cost) -> Cost:
    """Return the cost with that of configs that spill above all others."""
    return lambda config: cost(config) + SPILLED[config.spills]


class NoConfig(RuntimeError):
    """A table has no config that a GPU can run."""


class Choices:
    """The configs of one plan, in order of its ``choose`` calls.

    ``forced`` replaces the first choices (autotune tries them), ``refused`` ones are out;
    ``schedule`` replaces the plan's choice of one (checks try them all).
    """

    def __init__(
        self,
        forced: Sequence[Config] = (),
        refused: frozenset[Config] = frozenset(),
        schedule: str | None = None,
    ) -> None:
        self.forced = forced
        self.refused = refused
        self.schedule = schedule
        self.spaces: list[tuple[Config, ...]] = []
        self.chosen: list[Config] = []

    def pick(self, space: Sequence[Config], cost: Cost) -> Config:
        """Return the forced config, or the first of those with the least cost."""
        allowed = tuple(config for config in space if config not in self.refused)
        if not allowed:
            said = f"it refused {list(space)}" if space else "none compiled for it"
            raise NoConfig(f"no config fits this GPU: {said}")
        at = len(self.spaces)
        self.spaces.append(allowed)
        forced = at < len(self.forced)
        self.chosen.append(self.forced[at] if forced else min(allowed, key=last_if_spilling(cost)))
        return self.chosen[-1]


class Call:
    """One call, as a plan sees it: sizes, strides, dtypes and the GPU, and never the data.

    Attributes:
        sizes: of each named dim; the fold dim counts its leading dims in.
        target: facts about the GPU.
        element_size: bytes of the widest floating input among those with most dims, or else 1.
        leader: the last output of the stage that asks; empty for a plan without stages.
    """

    def __init__(
        self,
        op: "Op",
        binding: Binding,
        strides: Mapping[str, Mapping[str, tuple[int, ...]]],
        dtypes: Mapping[str, torch.dtype],
        target: Target,
        choices: Choices,
        wanted: frozenset[str] = frozenset(),
    ) -> None:
        self.op = op
        self.sizes = binding.sizes
        self.target = target
        self.element_size = _element_size(strides, dtypes)
        self._wanted = wanted
        self._extents = binding.extents
        self._strides = strides
        self._dtypes = dtypes
        self._choices = choices
        self.leader = ""

    def among(self, *names: str) -> "Call":
        """Return the call as a stage sees it: these tensors alone, an output of it last."""
        part = copy(self)
        part._strides = {name: self._strides[name] for name in names if name in self._strides}
        part.leader = names[-1]
        return part

    @property
    def float(self) -> torch.dtype:
        """The type of arithmetic: fp64 if an input is fp64."""
        wide = any(dtype == torch.float64 for dtype in self._dtypes.values())
        return torch.float64 if wide else torch.float32

    def needs(self, *names: str) -> bool:
        """Return whether one of these results is wanted, or serves one that is."""
        return not self._wanted.isdisjoint(names)

    def takes(self, schedule: str, preferred: bool = True) -> bool:
        """Return whether the plan uses a schedule that fits: the preferred or the forced one."""
        forced = self._choices.schedule
        return preferred if forced is None else forced == schedule

    def stride(self, name: str, dim: str) -> int:
        """Return the stride of a tensor along ``dim`` in elements, 0 if it lacks the dim.

        The axes of the fold dim count as one; where they are not, the runtime copies the tensor.
        """
        strides = self._strides.get(name, {}).get(dim, (0,))
        if len(strides) == 1:
            return strides[0]
        axes = [(size, (step,)) for size, step in zip(self._extents[dim], strides, strict=True)]
        merged = merge_axes(axes)
        if len(merged) > 1:
            raise TooManyAxes((dim,), dict.fromkeys(self._strides, 1) | {name: len(merged)})
        return merged[0][1][0] if merged else 0

    def axes(
        self, dims: tuple[str, ...], limit: int, *, reorder: bool = False, spare_last: bool = False
    ) -> Axes:
        """Return the axes of ``dims`` in row-major order, merged, padded to ``limit``.

        Axes to spare have size 1. They come first, or, with ``spare_last``, last: a kernel that
        divides a position by the sizes of all axes but the first then divides by 1, which the
        compiler drops. Two integer divisions ahead of the first load are 5 percent of a small row.

        With ``reorder``, axes are sorted by the strides of one output first, so that
        transposed dense tensors merge as well; the order of elements is then the output's.
        """
        sizes = [size for dim in dims for size in self._extents[dim]]
        columns = [self._columns(name, dims) for name in self._strides]
        axes = list(zip(sizes, zip(*columns, strict=True), strict=True))
        if 0 in sizes:
            axes = [(0, (0,) * len(columns))]
        elif reorder:
            at = list(self._strides).index(self.leader or self.op.outputs[0].name)
            axes.sort(key=lambda axis: -axis[1][at])
        merged = merge_axes(axes)
        if len(merged) > limit:
            raise TooManyAxes(dims, self._axes_alone(axes))
        spare = [(1, (0,) * len(columns))] * (limit - len(merged))
        merged = merged + spare if spare_last else spare + merged
        by_tensor = zip(*(strides for _, strides in merged), strict=True)
        named = dict(zip(self._strides, by_tensor, strict=True))
        return Axes(tuple(size for size, _ in merged), product(sizes), named)

    def line(self, dims: tuple[str, ...]) -> Axes:
        """Return ``dims`` as one axis that no tensor has strides along: kernels take it apart."""
        total = product(self.sizes[dim] for dim in dims)
        return Axes((total,), total, {})

    def _columns(self, name: str, dims: tuple[str, ...]) -> list[int]:
        strides = self._strides[name]
        zeros = (0,)
        return [s for d in dims for s in strides.get(d, zeros * len(self._extents[d]))]

    def _axes_alone(self, axes: Sequence[tuple[int, tuple[int, ...]]]) -> dict[str, int]:
        """Return the axes that each tensor would leave if it alone decided."""
        return {
            name: len(merge_axes((size, (strides[at],)) for size, strides in axes))
            for at, name in enumerate(self._strides)
        }

    def choose(
        self,
        space: Mapping[tuple[str, int], Sequence[Config]],
        cost: Cost,
    ) -> Config:
        """Return the config of ``space`` that costs least; the first of equal ones.

        ``space`` is keyed by (architecture class, element size in bytes). A GPU that the module
        was not built for takes the nearest older class, or else the nearest newer one.
        """
        return self._choices.pick(_nearest_space(space, self.target, self.element_size), cost)


def _element_size(
    strides: Mapping[str, Mapping[str, tuple[int, ...]]], dtypes: Mapping[str, torch.dtype]
) -> int:
    """Return bytes of what most of the traffic is: a row statistic in fp32 changes nothing."""
    dims = {name: len(strides.get(name, ())) for name in dtypes if dtypes[name].is_floating_point}
    most = max(dims.values(), default=0)
    return max((dtypes[name].itemsize for name in dims if dims[name] == most), default=1)


def _nearest_space(
    space: Mapping[tuple[str, int], Sequence[Config]], target: Target, element_size: int
) -> Sequence[Config]:
    def distance(key: tuple[str, int]) -> tuple[bool, bool, int, int]:
        architecture, size = key
        number = _architecture_number(architecture)
        own = _architecture_number(target.architecture)
        foreign = architecture[:3] != target.architecture[:3]
        return foreign, number > own, abs(number - own), abs(size - element_size)

    key = (target.architecture, element_size)
    return space[key] if key in space else space[min(space, key=distance)]


def _architecture_number(architecture: str) -> int:
    """Return the order of an architecture class: 90 for sm_90, 0x942 for gfx942."""
    if architecture.startswith("gfx"):
        return int(architecture[3:], 16)
    return int(re.sub(r"\D", "", architecture) or 0)


# --- Reference: prepared calls of eager PyTorch


class ReferenceCall:
    """A prepared call of the eager reference."""

    __slots__ = ("layouts", "op", "record", "reference", "spans", "wanted")

    def __init__(
        self,
        op: "Op",
        reference: Callable[..., Any],
        layouts: Sequence[Layout],
        wanted: Sequence[bool] | None,
    ) -> None:
        self.op = op
        self.reference = reference
        self.layouts = layouts
        self.wanted = wanted
        self.record = Record(op.name, "torch")
        self.spans: tuple[int, ...] = ()

    def __call__(
        self,
        inputs: Tensors,
        pointers: Sequence[int | None],
        params: Sequence[Any],
        out: Sequence[torch.Tensor] | None,
    ) -> Sequence[torch.Tensor]:
        """Return the outputs, in ``out`` if it is given."""
        results = evaluate(self.op, self.reference, inputs, params, self.layouts)
        if out is not None:
            for target, result in zip(out, results, strict=False):
                target.copy_(result)
            return out
        own = [self._own(*pair, inputs) for pair in zip(results, self.layouts, strict=True)]
        if self.wanted is None:
            return own[: len(self.op.outputs)]
        return [t if want else t.new_empty(0) for t, want in zip(own, self.wanted, strict=True)]

    def _own(self, result: torch.Tensor, layout: Layout, inputs: Tensors) -> torch.Tensor:
        """Return ``result`` in the layout of the op, never a view of an input."""
        storages = [t.untyped_storage()._cdata for t in inputs if t is not None]
        if result.stride() == layout.strides and result.untyped_storage()._cdata not in storages:
            return result
        own = torch.empty_strided(
            layout.shape, layout.strides, dtype=layout.dtype, device=result.device
        )
        return own.copy_(result)


def traced(op: "Op", inputs: Tensors, params: Sequence[Any]) -> tuple[torch.Tensor, ...]:
    """Run the reference of a call where PyTorch sees every op of it.

    Inputs that have no gradient in the spec have none here either.
    """
    binding = bind(op, inputs, params)
    variant = op.variants[op.variant_key(inputs, params)]
    layouts = output_layouts(op, inputs, binding)
    op.check_reductions(binding, layouts)
    taken = [
        tensor.detach() if tensor is not None and o.name not in variant.gradients else tensor
        for o, tensor in zip(op.inputs, inputs, strict=True)
    ]
    return tuple(evaluate(op, variant.reference, taken, params, layouts))


def evaluate(
    op: "Op",
    reference: Callable[..., Any],
    inputs: Tensors,
    params: Sequence[Any],
    layouts: Sequence[Layout],
) -> list[torch.Tensor]:
    """Run a reference on exactly the declared dims and unfold the leading dims of its results."""
    if all(0 in layout.shape for layout in layouts):
        # PyTorch has no maximum over nothing, even where nothing is done with it.
        first = next(tensor for tensor in inputs if tensor is not None)
        needing = [t.sum() for t in inputs if t is not None and t.requires_grad]
        nothing = torch.stack(needing).sum() * 0.0 if needing else first.new_zeros(())
        return [nothing.to(dtype).expand(shape).clone() for shape, _, dtype in layouts]
    wide = any(tensor is not None and tensor.dtype == torch.float64 for tensor in inputs)
    compute = torch.float64 if wide else torch.float32
    folded = [fold(*pair, op.fold) for pair in zip(op.inputs, inputs, strict=True)]
    results = reference(*folded, *params, compute=compute)
    results = (results,) if isinstance(results, torch.Tensor) else results
    first = next(tensor for tensor in inputs if tensor is not None)
    return [
        first.new_empty(0)
        if result is None
        else convert(result, layout.dtype).reshape(layout.shape)
        for result, layout in zip(results, layouts, strict=True)
    ]


def fold(operand: Operand, tensor: torch.Tensor | None, dim: str | None) -> torch.Tensor | None:
    """Return ``tensor`` with the leading dims of ``dim`` flattened into it."""
    if tensor is None or dim not in operand.dims:
        return tensor
    at = operand.dims.index(dim)
    extra = tensor.dim() - len(operand.dims)
    return tensor.flatten(at, at + extra) if extra else tensor


# --- Launches: the launch cache, and the prepared calls in it


INTERPRETING: Final = bool(triton.knobs.runtime.interpret)

_current_device: Final = getattr(torch._C, "_cuda_getDevice", torch.cuda.current_device)

_MOST_CALLS: Final = 1 << 14  # of prepared calls; a server with ragged sizes would grow for ever
_INT32_SPAN: Final = 2**31 - 2**24  # what the last, partial tile adds must not wrap either


class LaunchCache:
    """Prepared calls by key, tuned configs by bucket, and what ran last."""

    def __init__(self) -> None:
        self.calls: dict[tuple[Any, ...], ReferenceCall | KernelCall] = {}
        self.tuned: dict[tuple[Any, ...], tuple[Config, ...]] = {}
        self.last: Record | None = None

    def add(self, key: tuple[Any, ...], call: "ReferenceCall | KernelCall") -> None:
        """Remember a prepared call; start over when there are too many."""
        if len(self.calls) >= _MOST_CALLS:
            self.calls.clear()
        self.calls[key] = call

    def clear(self) -> None:
        """Forget everything."""
        self.calls.clear()
        self.tuned.clear()
        self.last = None


LAUNCHES: Final = LaunchCache()


def last_launch() -> Record | None:
    """Return what the last call of any op ran, or None before the first."""
    return LAUNCHES.last


Launches = tuple[tuple[Any, ...], ...]
"""Compiled kernels, each with all that a launch takes but pointers and scalars."""


class ConfigRefused(RuntimeError):
    """A config needs more shared memory or threads than the GPU has."""

    def __init__(self, config: Config | None, reason: Exception) -> None:
        super().__init__(f"{config}: {reason}")
        self.config = config


class Kernel:
    """One kernel of a prepared call, with the positions of its tensors and scalars."""

    __slots__ = ("config", "constants", "grid", "integers", "jit", "options", "scalars", "tensors")

    def __init__(
        self,
        step: Step,
        tensors: Sequence[int | None],
        scalars: Sequence[int],
        types: Mapping[str, tl.dtype],
    ) -> None:
        names = step.kernel.arg_names
        known = {name: types[name] for name in types if name in names} | step.constants
        first = len(names) - len(known)
        if first != len(tensors) + len(step.integers) + len(scalars) or set(names[first:]) != set(
            known
        ):
            raise TypeError(f"{step.kernel.__name__}{tuple(names)} does not fit its Step")
        self.jit = step.kernel
        self.grid = step.grid
        self.config = step.config
        self.tensors = pick(tensors)
        self.integers = step.integers
        self.scalars = pick(scalars)
        self.constants = {name: known[name] for name in names[first:]}
        self.options = {} if INTERPRETING else _options(step.config)

    def launch(self, tensors: Sequence[Any], scalars: Sequence[Any]) -> None:
        """Launch through Triton's own cache: in the interpreter, and for launch hooks."""
        arguments = (*self.tensors(tensors), *self.integers, *self.scalars(scalars))
        self.jit[self.grid](*arguments, **self.constants, **self.options)

    def compile(self, tensors: Sequence[Any], scalars: Sequence[Any]) -> tuple[Any, ...]:
        """Return what a launch of the compiled kernel takes, without launching it."""
        arguments = (*self.tensors(tensors), *self.integers, *self.scalars(scalars))
        try:
            compiled = self.jit.warmup(*arguments, grid=self.grid, **self.constants, **self.options)
            run = compiled.run  # loads the binary
        except triton.OutOfResources as error:
            raise ConfigRefused(self.config, error) from error
        start = (compiled.function, compiled.packed_metadata, None, None, None)
        constants = tuple(self.constants.values())
        return run, self.grid, start, self.tensors, self.integers, self.scalars, constants


def _options(config: Config | None) -> dict[str, Any]:
    """Return compiler options. Fusion is set because its default differs between versions."""
    return {"enable_fp_fusion": True} | (config.options if config else {})


def pick(positions: Sequence[int | None]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """Return a function that takes the items at ``positions``; None gives None."""
    if len(positions) > 1 and None not in positions:
        return itemgetter(*positions)
    return lambda items: tuple(None if at is None else items[at] for at in positions)


class KernelCall:
    """A prepared call of kernels: everything but pointers and scalars is fixed.

    Tensors are inputs, outputs and workspaces, in that order; kernels pick theirs by position.

    Attributes:
        allocations: what each call allocates: outputs, unless ``out`` is given, and workspaces.
        copies: (sizes, strides) of the views of inputs that are made contiguous, by position.
        through: ``out`` has strides that no kernel takes: it is filled by a copy.
        wide: which params are passed as the bits of a double.
        special: positions of the scalars whose values Triton specialises on.
        outputs: how many of the allocations are returned.
        compiled: launches by those values.
        simple: neither copies nor doubles, so that a known call only allocates and launches.
        launches: those of a simple call without special scalars, once they are compiled.
        current_stream: of a device index, by Triton's driver.
    """

    __slots__ = (
        "allocations",
        "compiled",
        "copies",
        "current_stream",
        "device",
        "index",
        "kernels",
        "launches",
        "outputs",
        "record",
        "simple",
        "spans",
        "special",
        "through",
        "wide",
    )

    def __init__(
        self,
        op: "Op",
        kernels: Sequence[Kernel],
        record: Record,
        allocations: Sequence[Layout],
        copies: Mapping[int, tuple[tuple[int, ...], tuple[int, ...]]],
        device: torch.device,
        *,
        outputs: int,
        through: bool,
        wide: bool,
    ) -> None:
        self.kernels = tuple(kernels)
        self.record = record
        self.allocations = tuple(allocations)
        self.copies = copies
        self.device = device
        self.index = device.index
        self.through = through
        self.outputs = outputs
        self.wide = tuple(p.kind == "float" for p in op.params) if wide else ()
        kinds = {"int", "float"} if wide else {"int"}
        self.special = tuple(at for at, p in enumerate(op.params) if p.kind in kinds)
        self.simple = not (wide or copies or through)
        self.compiled: dict[tuple[Any, ...], Launches] = {}
        self.launches: Launches | None = None
        self.spans: tuple[int, ...] = ()

    def __call__(
        self,
        inputs: Tensors,
        pointers: list[int | None],
        params: Sequence[Any],
        out: Sequence[torch.Tensor] | None,
    ) -> Sequence[torch.Tensor]:
        """Return the outputs: ``out``, or new tensors. ``pointers`` are of inputs and ``out``."""
        launches = self.launches
        if launches is None and self.simple:
            launches = self.compiled.get(self._specialized(params))
        if launches is None or _has_hooks() or _current_device() != self.index:
            return self._with_care(inputs, params, out)
        device = self.device
        made = [
            torch.empty_strided(shape, strides, dtype=dtype, device=device)
            for shape, strides, dtype in self.allocations
        ]
        for tensor in made:
            pointers.append(tensor.data_ptr())
        stream = self.current_stream(self.index)
        for run, grid, start, tensors, integers, scalars, constants in launches:
            run(*grid, stream, *start, *tensors(pointers), *integers, *scalars(params), *constants)
        return made[: self.outputs] if out is None else out

    def _specialized(self, scalars: Sequence[Any]) -> tuple[Any, ...]:
        return tuple([_specialization(scalars[at]) for at in self.special])

    def _with_care(
        self, inputs: Tensors, params: Sequence[Any], out: Sequence[torch.Tensor] | None
    ) -> Sequence[torch.Tensor]:
        """Run any call: the first, one with copies, doubles, hooks or on another device."""
        taken = self._copied(inputs) if self.copies else inputs
        direct = None if self.through else out
        made = [
            torch.empty_strided(shape, strides, dtype=dtype, device=self.device)
            for shape, strides, dtype in self.allocations
        ]
        with nullcontext() if self.index is None else torch.cuda.device(self.index):
            scalars = _with_bits(params, self.wide) if self.wide else params
            self._run([*taken, *(direct or ()), *made], scalars)
        if out is None or direct is not None:
            return made[: self.outputs] if out is None else out
        for target, result in zip(out, made, strict=False):
            target.copy_(result)
        return out

    def _copied(self, inputs: Tensors) -> Tensors:
        taken = list(inputs)
        for at, (sizes, strides) in self.copies.items():
            tensor = taken[at]
            if tensor is not None:
                view = tensor.as_strided(sizes, strides, tensor.storage_offset())
                taken[at] = view.contiguous()
        return taken

    def _run(self, tensors: Tensors, scalars: Sequence[Any]) -> None:
        if INTERPRETING or _has_hooks():
            for kernel in self.kernels:
                kernel.launch(tensors, scalars)
            return
        key = self._specialized(scalars)
        if key not in self.compiled:
            # All are compiled before the first is launched, so that a refusal changes nothing.
            self.current_stream = triton.runtime.driver.active.get_current_stream
            self.compiled[key] = tuple(kernel.compile(tensors, scalars) for kernel in self.kernels)
            if self.simple and not self.special:
                self.launches = self.compiled[key]
        pointers = [None if tensor is None else tensor.data_ptr() for tensor in tensors]
        stream = self.current_stream(self.index)
        for run, grid, start, pick_tensors, integers, pick_scalars, constants in self.compiled[key]:
            arguments = (*pick_tensors(pointers), *integers, *pick_scalars(scalars), *constants)
            run(*grid, stream, *start, *arguments)


def _has_hooks() -> bool:
    """Return whether a profiler listens: Triton's own launch then tells it what it needs."""
    enter, leave = triton.knobs.runtime.launch_enter_hook, triton.knobs.runtime.launch_exit_hook
    return bool(getattr(enter, "calls", enter) or getattr(leave, "calls", leave))


def _with_bits(params: Sequence[Any], wide: Sequence[bool]) -> list[Any]:
    """Return params with the bits of a double in place of each float; ``scalar`` casts them back.

    Triton passes a Python float as fp32.
    """
    return [
        struct.unpack("<q", struct.pack("<d", value))[0] if float64 and value is not None else value
        for value, float64 in zip(params, wide, strict=True)
    ]


def _specialization(value: int | None) -> tuple[bool, bool, int] | None:
    """Return what Triton compiles into a kernel of an integer: 1, multiples of 16, the width."""
    if value is None:
        return None
    width = 32 if -(2**31) <= value < 2**31 else 64 if value < 2**63 else 65
    return value == 1, value % 16 == 0, width


# --- Planning: from a bound call to a prepared one


AUTOTUNE: Final = os.environ.get("TILEGEN_AUTOTUNE", "") not in ("", "0")


_LANGUAGE_NAMES: Final = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float8_e4m3fn: "fp8e4m3",
    torch.float8_e5m2: "fp8e5m2",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.bool: "bool_",
}


class Plan:
    """What planning one call needs, and what it changes when strides are too many.

    ``strides`` are by tensor and dim. ``copies`` grows, and ``direct`` turns off, until the plan
    finds few enough axes; ``direct`` means that kernels write ``out`` and no copy does. Of the
    results those of ``wanted`` are computed; without it the outputs are, and the call returns them
    alone.
    """

    def __init__(
        self,
        op: "Op",
        variant: Variant,
        binding: Binding,
        inputs: Tensors,
        layouts: Sequence[Layout],
        out: Sequence[torch.Tensor] | None,
        wanted: Sequence[bool] | None = None,
    ) -> None:
        self.op = op
        self.variant = variant
        self.binding = binding
        self.inputs = {o.name: t for o, t in zip(op.inputs, inputs, strict=True) if t is not None}
        self.layouts = list(layouts)
        self.out = out
        self.direct = out is not None
        self.copies: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {}
        self.strides: dict[str, dict[str, tuple[int, ...]]] = {}
        for operand in op.inputs:
            if operand.name in self.inputs:
                strides = self.inputs[operand.name].stride()
                self.strides[operand.name] = axis_strides(operand.dims, strides, binding, op.fold)
        self.internal = [
            output_layout(output, binding, op.fold, self.inputs) for output in variant.internal
        ]
        self.returned = op.outputs if wanted is None else op.results
        flags = wanted or [True] * len(op.outputs)
        self.wanted = frozenset(o.name for o, want in zip(op.results, flags, strict=False) if want)
        stored = [layout.strides for layout in (*layouts, *self.internal)]
        if out:
            stored[: len(out)] = [t.stride() for t in out]
        for output, strides in zip((*op.results, *variant.internal), stored, strict=True):
            if is_absent(output, self.inputs):
                continue
            self.strides[output.name] = axis_strides(output.dims, strides, binding, op.fold)
        self.device = next(iter(self.inputs.values())).device
        self.target = target_of(self.device)

    def launch(self, choices: Choices) -> Launch:
        """Return the launch, after as many copies as it takes to merge axes."""
        dtypes = {name: tensor.dtype for name, tensor in self.inputs.items()}
        for _ in range(4 * len(self.strides)):
            choices.spaces.clear()
            choices.chosen.clear()
            call = Call(
                self.op, self.binding, self.strides, dtypes, self.target, choices, self._needed()
            )
            try:
                return self.variant.plan(call)
            except TooManyAxes as excess:
                self._relieve(excess)
        raise RuntimeError(f"{self.op.name}: its dims cannot be merged into few enough axes")

    def _needed(self) -> frozenset[str]:
        """Return the names of the wanted results, and of the internal ones that serve them."""
        serving = {o.name for o in self.variant.internal if not self.wanted.isdisjoint(o.serves)}
        return self.wanted | serving

    def _relieve(self, excess: TooManyAxes) -> None:
        """Remove the cause of most axes: an input's strides, the outputs', then a broadcast.

        A tensor that leaves one axis alone is in nobody's way, so some other leaves several.
        """
        by_axes = [name for name in self.inputs if name in excess.axes]
        by_axes.sort(key=lambda name: -excess.axes[name])
        for name in by_axes:
            own = [dim for dim in excess.dims if dim in self.strides[name]]
            if self._copy_helps(name, own, excess) and self._copy(name, own):
                return
        if (
            any(excess.axes.get(o.name, 1) > 1 for o in self.op.results)
            and self._straighten_outputs()
        ):
            return
        for name in by_axes:
            if excess.axes[name] > 1 and self._copy(name, excess.dims):
                return
        raise RuntimeError(
            f"{self.op.name}: {', '.join(excess.dims)} are in another order in memory for a result "
            f"than for the operands, and that leaves more axes than the kernel takes; write the "
            f"result in the operands' order, and permute it"
        )

    def _copy_helps(self, name: str, own: Sequence[str], excess: TooManyAxes) -> bool:
        """Return whether an input leaves fewer axes once it is contiguous in its own dims."""
        sizes = {dim: self.binding.sizes[dim] for dim in excess.dims}
        strides = dict.fromkeys(excess.dims, 0)
        strides.update(zip(own, contiguous_strides([sizes[dim] for dim in own]), strict=True))
        axes = [(sizes[dim], (strides[dim],)) for dim in excess.dims]
        return len(merge_axes(axes)) < excess.axes[name]

    def _copy(self, name: str, first: Sequence[str]) -> bool:
        """Plan a contiguous copy of an input, dims ``first`` outermost; False if it is planned."""
        operand, tensor = self.op.operand(name), self.inputs[name]
        own = axis_strides(operand.dims, tensor.stride(), self.binding, self.op.fold)
        dims = [*first, *(dim for dim in own if dim not in first)]
        extents = self.binding.extents
        sizes = tuple(size for dim in dims for size in extents[dim])
        strides = tuple(s for dim in dims for s in own.get(dim, (0,) * len(extents[dim])))
        if self.copies.get(name) == (sizes, strides):
            return False
        if name not in self.copies:
            warnings.warn(
                f"{self.op.name}: {name} is copied in each such call, because its strides "
                f"{list(tensor.stride())} leave more axes than the kernel takes; pass a "
                f"contiguous tensor to avoid it",
                stacklevel=8,
            )
        self.copies[name] = (sizes, strides)
        dense = iter(contiguous_strides(sizes))
        self.strides[name] = {dim: tuple(next(dense) for _ in extents[dim]) for dim in dims}
        return True

    def _straighten_outputs(self) -> bool:
        """Plan contiguous outputs, copied into ``out`` if it is given; False if they are planned."""
        dense = [
            layout._replace(strides=contiguous_strides(layout.shape)) for layout in self.layouts
        ]
        if dense == self.layouts and not self.direct:
            return False
        self.layouts, self.direct = dense, False
        for output, layout in zip(self.op.results, dense, strict=True):
            if is_absent(output, self.inputs):
                continue
            self.strides[output.name] = axis_strides(
                output.dims, layout.strides, self.binding, self.op.fold
            )
        return True

    def prepare(self, choices: Choices) -> KernelCall:
        """Return the prepared call of the launch that ``choices`` leads to."""
        if self.device.type == "cuda":
            self._check_dtypes()
        launch = Launch() if self._is_empty() else self.launch(choices)
        results = zip(self.returned, self.layouts, strict=False)
        allocated = [layout if o.name in self.wanted else unwanted(layout) for o, layout in results]
        given = len(self.op.outputs) if self.direct else 0
        workspaces = self.internal + [
            Layout(tuple(shape), contiguous_strides(shape), dtype)
            for shape, dtype in launch.workspaces.values()
        ]
        wide = any(tensor.dtype == torch.float64 for tensor in self.inputs.values())
        types = {
            "INT": tl.int64 if self._spans_int64(workspaces) else tl.int32,
            "FLOAT": tl.float64 if wide else tl.float32,
        }
        steps = [step for step in launch.steps if product(step.grid)]
        return KernelCall(
            self.op,
            [self.kernel(step, launch, types) for step in steps],
            self._record(steps),
            [*allocated[given:], *workspaces],
            {
                at: self.copies[o.name]
                for at, o in enumerate(self.op.inputs)
                if o.name in self.copies
            },
            self.device,
            outputs=len(self.returned),
            through=self.out is not None and not self.direct,
            wide=wide,
        )

    def _is_empty(self) -> bool:
        """Return whether no result that is wanted has elements."""
        results = zip(self.op.results, self.layouts, strict=True)
        return all(0 in layout.shape for o, layout in results if o.name in self.wanted)

    def _check_dtypes(self) -> None:
        """Raise TypeError for a storage type that the GPU's compiler does not take."""
        dtypes = {name: tensor.dtype for name, tensor in self.inputs.items()}
        results = zip(self.op.results, self.layouts, strict=True)
        dtypes |= {o.name: layout.dtype for o, layout in results if o.name in self.wanted}
        for name, dtype in dtypes.items():
            if _LANGUAGE_NAMES.get(dtype) in self.target.lacks:
                raise TypeError(
                    f"{self.op.name}: {name} is {dtype}, but {_LANGUAGE_NAMES[dtype]} is not "
                    f"supported on {self.target.architecture} ({self.target.name}); "
                    f'backend="torch" runs the reference'
                )

    def kernel(self, step: Step, launch: Launch, types: Mapping[str, Any]) -> Kernel:
        """Return a step as a prepared kernel, which knows its tensors by their positions."""
        op = self.op
        results = (*self.returned, *self.variant.internal)
        names = [*(o.name for o in op.inputs), *(o.name for o in results), *launch.workspaces]
        places = {name: at for at, name in enumerate(names)}
        absent = {operand.name for operand in op.inputs} - set(self.inputs)
        # A kernel touches nothing of a result that is not wanted: any address will do.
        spare = places[next(iter(self.inputs))]
        tensors = [None if name in absent else places.get(name, spare) for name in step.tensors]
        params = [param.name for param in op.params]
        return Kernel(step, tensors, [params.index(name) for name in step.params], types)

    def _record(self, steps: Sequence[Step]) -> Record:
        path = "interpreter" if INTERPRETING else "triton"
        kernels = tuple(step.kernel.__name__ for step in steps)
        return Record(self.op.name, path, kernels, tuple(step.config for step in steps))

    def _spans_int64(self, workspaces: Sequence[Layout]) -> bool:
        """Return whether offsets of any tensor, or counts of its elements, leave int32."""
        views = [(layout.shape, layout.strides) for layout in (*self.layouts, *workspaces)]
        views += [(tensor.shape, tensor.stride()) for tensor in self.inputs.values()]
        views += [(tensor.shape, tensor.stride()) for tensor in self.out or ()]
        return any(
            max(span_of(shape, strides), product(shape)) >= _INT32_SPAN for shape, strides in views
        )

    def bucket(self, key: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return what a tuned config is remembered by: sizes up to the next power of two."""
        sizes = tuple((dim, next_power_of_2(size)) for dim, size in self.binding.sizes.items())
        dtypes = tuple(tensor.dtype for tensor in self.inputs.values())
        aligned = tuple(tensor.data_ptr() % 16 == 0 for tensor in self.inputs.values())
        return self.op, key, sizes, dtypes, aligned, self.device


# --- Tuning: configs tried on the GPU, only when asked


def tune(plan: Plan, params: Sequence[Any], key: tuple[Any, ...]) -> tuple[Config, ...]:
    """Return the fastest configs for the bucket of a call, one for each choice of its plan.

    Choices are searched one after the other, each with the best of the others so far. Outputs of
    the trials are scratch tensors. The interpreter has no speed: there the first cost decides.
    """
    bucket = plan.bucket(key)
    known = LAUNCHES.tuned.get(bucket)
    if known is not None:
        return known
    choices = Choices()
    plan.launch(choices)
    best = list(choices.chosen)
    for at, space in enumerate(choices.spaces):
        times = {
            config: _time(plan, params, [*best[:at], config, *best[at + 1 :]]) for config in space
        }
        best[at] = min(times, key=lambda config: times[config])
    LAUNCHES.tuned[bucket] = tuple(best)
    return LAUNCHES.tuned[bucket]


def _time(plan: Plan, params: Sequence[Any], configs: Sequence[Config]) -> float:
    """Return the median milliseconds of a call with ``configs``; infinity if one does not fit."""
    call = plan.prepare(Choices(configs))
    inputs = [plan.inputs.get(operand.name) for operand in plan.op.inputs]
    pointers = [None if tensor is None else tensor.data_ptr() for tensor in inputs]
    try:
        call(inputs, list(pointers), params, None)
    except ConfigRefused:
        return float("inf")
    with torch.cuda.device(plan.device):
        return float(
            triton.testing.do_bench(
                lambda: call(inputs, list(pointers), params, None), return_mode="median"
            )
        )


# --- Autograd: what a registered op keeps for its backward, and how that runs


_PLAIN: Final = frozenset((torch.Tensor, torch.nn.Parameter, type(None)))


class Gradients(NamedTuple):
    """How an op is differentiated.

    Attributes:
        upstream: for each output that has a gradient, the backward's input for that.
        op: the backward; None where upstream gradients are all that is passed on.
        alike: inputs of the backward that only tell a shape and a dtype.
    """

    upstream: Mapping[str, str]
    op: "Op | None" = None
    alike: tuple[str, ...] = ()


def is_plain(inputs: Tensors) -> bool:
    """Return whether nothing but autograd can want to see a call with these inputs."""
    return (
        not torch.compiler.is_compiling()
        and _PLAIN.issuperset(map(type, inputs))
        and not torch._C._len_torch_dispatch_stack()
        and not torch._C._are_functorch_transforms_active()
        and forward_ad._current_level < 0
    )


def is_dual(tensor: torch.Tensor | None) -> bool:
    """Return whether a tensor carries a forward-mode gradient."""
    if tensor is None or torch.compiler.is_compiling() or forward_ad._current_level < 0:
        return False
    return cast(Any, forward_ad.unpack_dual)(tensor).tangent is not None


def in_functional_gradient() -> bool:
    """Return whether a transform of torch.func differentiates around the call."""
    if torch.compiler.is_compiling() or not torch._C._are_functorch_transforms_active():
        return False
    levels = torch._C._functorch.get_interpreter_stack() or ()
    return any(level.key() == torch._C._functorch.TransformType.Grad for level in levels)


def recorded(tensor: torch.Tensor) -> bool:
    """Return whether autograd follows a tensor, or what is behind a batched one, which hides it."""
    while not tensor.requires_grad:
        if torch.compiler.is_compiling() or not torch._C._functorch.is_functorch_wrapped_tensor(
            tensor
        ):
            return False
        tensor = torch._C._functorch.get_unwrapped(tensor)
    return True


def differentiation(op: "Op") -> tuple[Callable[..., Any], Callable[..., None]]:
    """Return the backward of a registered op, and what sets up its context."""
    if op.partial:
        return _refuse(op), lambda ctx, inputs, output: None
    if op.gradients is None:
        return _constant(op), _mark_all
    return _backward(op, op.gradients), _setup(op, op.gradients)


def recorder(op: "Op") -> Callable[..., Any]:
    """Return the registered op, forward and backward, without the dispatcher, for plain tensors."""
    backward, setup = differentiation(op)

    def forward(ctx: Any, *arguments: Any) -> Any:
        results = launched(op, arguments)
        setup(ctx, arguments, results)
        return results

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    node = cast(Any, type(op.name, (torch.autograd.Function,), members))
    return cast(Callable[..., Any], node.apply)


def _kept(gradients: Gradients) -> list[str]:
    """Return the inputs of a backward whose memory the forward keeps."""
    taken = gradients.op.inputs if gradients.op else ()
    known = {*gradients.upstream.values(), *gradients.alike}
    return [operand.name for operand in taken if operand.name not in known]


def _described(gradients: Gradients) -> list[str]:
    """Return what the backward may need the shape of; an only output always has a gradient."""
    return [*gradients.alike, *(gradients.upstream if len(gradients.upstream) > 1 else ())]


def _setup(op: "Op", gradients: Gradients) -> Callable[..., None]:
    names = [*(o.name for o in op.inputs), *(o.name for o in op.results)]
    kept = pick([names.index(name) for name in _kept(gradients)])
    described = pick([names.index(name) for name in _described(gradients)])
    constant = pick([at for at, o in enumerate(op.results) if o.name not in gradients.upstream])
    count, last = len(op.inputs), len(op.inputs) + len(op.params)

    def setup(ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        results = (output,) if isinstance(output, torch.Tensor) else output
        tensors = (*inputs[:count], *results)
        ctx.save_for_backward(*kept(tensors))
        ctx.likes = [t if t is None else (t.shape, t.dtype) for t in described(tensors)]
        ctx.params = inputs[count:last]
        ctx.sources = op.variants[op.variant_key(inputs[:count], ctx.params)].gradients
        ctx.whole = not op.saved or inputs[last]
        ctx.mark_non_differentiable(*constant(results))
        ctx.set_materialize_grads(False)

    return setup


def _backward(op: "Op", gradients: Gradients) -> Callable[..., Any]:
    kept, described = _kept(gradients), _described(gradients)
    total = len(op.inputs) + len(op.params) + bool(op.saved)

    def backward(ctx: Any, *grads: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        some = next((grad for grad in grads if grad is not None), None)
        if some is None:
            return (None,) * total
        if not ctx.whole:
            raise RuntimeError(
                f"{op.name}: the forward was called with save=False, and kept too little for a "
                f"gradient"
            )
        known: dict[Any, Any] = dict(zip(kept, ctx.saved_tensors, strict=True))
        likes = dict(zip(described, ctx.likes, strict=True))
        for name in gradients.alike:
            known[name] = likes[name] and _blank(some, *likes[name])
        for output, grad in zip(op.results, grads, strict=True):
            if output.name in gradients.upstream:
                given = _zeros(some, *likes[output.name]) if grad is None else grad
                known[gradients.upstream[output.name]] = given
        needs = zip(op.inputs, ctx.needs_input_grad, strict=False)
        sources = [ctx.sources.get(o.name) if need else None for o, need in needs]
        if gradients.op is not None:
            known |= _results(gradients.op, known, ctx.params, sources)
        return (*(known.get(source) for source in sources), *(None,) * (total - len(sources)))

    return backward


def _results(
    op: "Op", known: Mapping[Any, Any], params: Sequence[Any], sources: Sequence[str | None]
) -> dict[str, torch.Tensor]:
    """Return the results of a backward that are among ``sources``."""
    wanted = [output.name in sources for output in op.outputs]
    if not any(wanted):
        return {}
    inputs = [known.get(o.name) for o in op.inputs]
    if is_plain(inputs) and not torch.is_grad_enabled() and not any(map(_in_batch, inputs)):
        made = op.launch(inputs, params, None, "auto", False, tuple(wanted))
    else:
        made = op.overload(*inputs, *params, wanted)
    made = (made,) if isinstance(made, torch.Tensor) else made
    return dict(zip((o.name for o in op.outputs), made, strict=True))


def _in_batch(tensor: torch.Tensor | None) -> bool:
    """Return whether a gradient is one of a batch, as ``is_grads_batched`` asks for."""
    return tensor is not None and torch._C._functorch.is_legacy_batchedtensor(tensor)


def _blank(some: torch.Tensor, shape: torch.Size, dtype: torch.dtype) -> torch.Tensor:
    """Return a tensor of one element in memory; the backward reads its shape and dtype alone."""
    return some.new_empty((), dtype=dtype).expand(shape)


def _zeros(some: torch.Tensor, shape: torch.Size, dtype: torch.dtype) -> torch.Tensor:
    """Return the upstream gradient of an output that nothing was made of, a DTensor if ``some`` is."""
    return some.new_zeros((), dtype=dtype).expand(shape)


def _mark_all(ctx: Any, inputs: Sequence[Any], output: Any) -> None:
    ctx.mark_non_differentiable(*((output,) if isinstance(output, torch.Tensor) else output))


def _constant(op: "Op") -> Callable[..., Any]:
    """Return the backward of an op whose spec switches gradients off."""
    count = len(op.inputs) + len(op.params)
    return lambda ctx, *grads: (None,) * count


def _refuse(op: "Op") -> Callable[..., Any]:
    def backward(ctx: Any, *grads: Any) -> Any:
        raise NotImplementedError(
            f"{op.name} is a gradient and has none of its own: a double backward needs "
            f'backend="torch"'
        )

    return backward


# --- Sharding: what DTensor may split over processes


def tell_dtensor(op: "Op") -> None:
    """Register how the op may be sharded, where DTensor is in use and does not know it yet."""
    if "torch.distributed.tensor" not in sys.modules:
        return
    # Here because it takes most of a second to import.
    from torch.distributed.tensor import DTensor
    from torch.distributed.tensor._op_schema import RuntimeSchemaInfo
    from torch.distributed.tensor.experimental import register_sharding

    propagator, overload = DTensor._op_dispatcher.sharding_propagator, cast(Any, op.overload)
    if overload in propagator.op_strategy_funcs:
        return
    register_sharding(overload)(_acceptable(op))
    # DTensor remembers a call by its tensors and by all arguments from the first integer on. The
    # sizes of results depend on the params that are sizes and on the flags that come last.
    sizes = [at for at, param in enumerate(op.params) if param.kind == "size"]
    first = len(op.inputs) + min((*sizes, len(op.params)))
    propagator.op_to_schema_info[overload] = RuntimeSchemaInfo(first, needs_pytree=True)


def _acceptable(op: "Op") -> Callable[..., Any]:
    """Return the rule: along one axis of the mesh nothing is split, or one axis of one dim is."""

    def rule(*arguments: Any) -> list[tuple[list[Any], list[Any]]]:
        from torch.distributed.tensor import Partial, Replicate, Shard

        tensors, _, wanted = split(op, arguments)
        flags = wanted or (True,) * len(op.results)
        ranks = [(o.dims, t.ndim) for o, t in zip(op.inputs, tensors, strict=True) if t is not None]
        leading = max((rank - len(dims) for dims, rank in ranks), default=0)

        def placed(dims: Dims, dim: str, offset: int) -> Any:
            axis = _axis(dims, dim, op.fold, leading)
            return Replicate() if axis is None else Shard(axis + offset)

        def placements(dim: str, offset: int) -> tuple[list[Any], list[Any]]:
            terms = op.shards.get(dim, ())
            results = [
                Partial() if output.name in terms else placed(output.dims, dim, offset)
                for output in op.results
            ]
            results = [p if want else Replicate() for p, want in zip(results, flags, strict=True)]
            inputs = [
                None if tensor is None else placed(operand.dims, dim, offset)
                for operand, tensor in zip(op.inputs, tensors, strict=True)
            ]
            return results, inputs + [None] * (len(arguments) - len(inputs))

        axes = [(dim, at) for dim in op.shards for at in range(1 + leading * (dim == op.fold))]
        return [placements(dim, offset) for dim, offset in (("", 0), *axes)]

    return rule


def _axis(dims: Dims, dim: str, fold: str | None, leading: int) -> int | None:
    """Return the first axis of a dim in a tensor of these dims; None if it has no such dim."""
    if dim not in dims:
        return None
    at = dims.index(dim)
    return at + leading * (fold in dims[:at])


# --- Library: registered PyTorch ops


_LIBRARY: Final = cast(Any, torch.library.Library)("tilegen", "FRAGMENT")  # ops vanish with it

_SCHEMA_TYPES: Final = {
    "float": "float",
    "int": "SymInt",
    "size": "SymInt",
    "static": "SymInt",
    "bool": "bool",
}


def register(op: "Op", name: str) -> Callable[..., Any]:
    """Define the PyTorch op ``tilegen::<name>`` and return it.

    A folder with a module of the same spec may have taken the name: then a number is added, so that
    each module runs its own kernels.

    It returns all results. An op that saves something takes a last argument ``save``, a backward
    takes ``wanted``, a flag for each result; in place of what is not asked for they return empty
    tensors. The schema has no defaults: the dispatcher would drop arguments that equal them.
    """
    name = next(free for free in _numbered(name) if not hasattr(torch.ops.tilegen, free))

    def implementation(*arguments: Any) -> Any:
        return launched(op, arguments)

    _LIBRARY.define(f"{name}{_schema(op)}", tags=(torch.Tag.pt2_compliant_tag,))
    for key in ("CPU", "CUDA"):
        _LIBRARY.impl(name, implementation, key)
    library = cast(Any, torch.library)
    qualified = f"tilegen::{name}"
    library.register_fake(qualified, _fake(op), lib=_LIBRARY)
    backward, setup = differentiation(op)
    library.register_autograd(qualified, backward, setup_context=setup, lib=_LIBRARY)
    library.register_vmap(qualified, _batched(op), lib=_LIBRARY)
    overload: Callable[..., Any] = getattr(torch.ops.tilegen, name).default
    return overload


def _numbered(name: str) -> Iterator[str]:
    """Yield a name, then the same with numbers from 2 on."""
    yield name
    yield from (f"{name}_{number}" for number in count(2))


def _schema(op: "Op") -> str:
    arguments = [f"Tensor{'?' * operand.optional} {operand.name}" for operand in op.inputs]
    for param in op.params:
        literal = "str" if param.choices and isinstance(param.choices[0], str) else "int"
        kind = _SCHEMA_TYPES.get(param.kind, literal)
        arguments.append(f"{kind}{'?' * param.optional} {param.name}")
    if op.partial:
        arguments.append("bool[] wanted")
    elif op.saved:
        arguments.append("bool save")
    results = ", ".join(["Tensor"] * len(op.results))
    return f"({', '.join(arguments)}) -> {results if len(op.results) == 1 else f'({results})'}"


def split(op: "Op", arguments: Sequence[Any]) -> tuple[Any, Any, tuple[bool, ...] | None]:
    """Return the tensors, params and wanted results of a call of the registered op."""
    first, last = len(op.inputs), len(op.inputs) + len(op.params)
    wanted = None
    if op.partial:
        wanted = tuple(arguments[last])
    elif op.saved:
        wanted = (True,) * len(op.outputs) + (bool(arguments[last]),) * len(op.saved)
    return arguments[:first], arguments[first:last], wanted


def launched(op: "Op", arguments: Sequence[Any]) -> Any:
    """Run a call of the registered op on real tensors, whatever records or traces around it."""
    inputs, params, wanted = split(op, arguments)
    return op.launch(inputs, params, None, "auto", False, wanted)


def _fake(op: "Op") -> Callable[..., Any]:
    """Return a function that gives empty results in the layouts of the real ones.

    DTensor asks it for the results of the whole tensors before it looks for a rule of sharding, so
    that this is where the rule is registered.
    """

    def fake(*arguments: Any) -> Any:
        tell_dtensor(op)
        inputs, params, wanted = split(op, arguments)
        layouts = output_layouts(op, inputs, bind(op, inputs, params))
        flags = wanted or (True,) * len(layouts)
        first = next(tensor for tensor in inputs if tensor is not None)
        made = [
            layout if want else unwanted(layout)
            for layout, want in zip(layouts, flags, strict=True)
        ]
        results = [
            first.new_empty_strided(shape, strides, dtype=dtype) for shape, strides, dtype in made
        ]
        return results[0] if len(results) == 1 else tuple(results)

    return fake


def _batched(op: "Op") -> Callable[..., Any]:
    """Return the rule of ``torch.vmap``: a batch is one more leading dim, or else a loop.

    It is a leading dim where exactly the tensors with the dim that those fold into are batched,
    all these and the results begin with it, and nothing depends on positions along it.
    """
    leading = [operand.dims[:1] == (op.fold,) for operand in op.inputs]
    inside = [o.dims for o in op.inputs if any(op.fold in _dims_of(entry) for entry in o.dims)]
    inside += [output.dims for output in op.results]
    foldable = not (op.partial or op.positional) and op.fold is not None
    foldable = foldable and all(dims[:1] == (op.fold,) for dims in inside)

    def rule(info: Any, in_dims: Sequence[int | None], *arguments: Any) -> Any:
        pairs = list(zip(arguments, in_dims, strict=True))
        tensors = zip(pairs, leading, strict=False)
        if foldable and all(
            (dim is not None) == lead for (a, dim), lead in tensors if a is not None
        ):
            results = op.overload(*(a if dim is None else a.movedim(dim, 0) for a, dim in pairs))
            return results, 0 if isinstance(results, torch.Tensor) else (0,) * len(results)
        parts = [
            op.overload(*(a if dim is None else a.select(dim, at) for a, dim in pairs))
            for at in range(info.batch_size)
        ]
        if isinstance(parts[0], torch.Tensor):
            return torch.stack(parts), 0
        stacked = tuple(torch.stack(one) for one in zip(*parts, strict=True))
        return stacked, (0,) * len(stacked)

    return rule


# --- Ops: the public call, its fast path, the registered PyTorch op


_IS_HIP: Final = torch.version.hip is not None


class Op:
    """An op: what it takes and gives, and the code of its variants.

    Args:
        name: as in the spec.
        spec_hash: of the spec; the PyTorch op is ``tilegen::<name>_<spec_hash>``.
        inputs: tensor arguments, in order.
        params: other arguments, in order, after the tensors.
        outputs: results, in order.
        variants: by the values of ``specialize``, in order; for an optional argument that is no
            bool and no literal, whether it is present.
        fold: the dim that leading dims of a call fold into.
        static_sizes: dims whose size the spec fixes.
        specialize: names of the arguments that choose a variant.
        inplace: inputs that each program reads where it writes, so ``out`` may be the same view.
        preserve_strides: outputs take the dense strides that their operands share.
        nonempty: dims that a maximum or another reduction without an identity runs over.
        shards: dims that may be split over processes, each with the results that are sums over
            it then: of these a process has a term.
        saved: results that only a backward sees.
        gradients: how it is differentiated; None for results that are constants to autograd.
        positional: whether results depend on positions along the fold dim, or on its size.
        partial: whether a call says which outputs it wants, as that of a backward does.
    """

    def __init__(
        self,
        *,
        name: str,
        spec_hash: str,
        inputs: Sequence[Operand],
        outputs: Sequence[Output],
        variants: Mapping[tuple[Any, ...], Variant],
        params: Sequence[Param] = (),
        fold: str | None = None,
        static_sizes: Mapping[str, int] | None = None,
        specialize: Sequence[str] = (),
        inplace: Sequence[str] = (),
        preserve_strides: bool = False,
        nonempty: Sequence[str] = (),
        shards: Mapping[str, Sequence[str]] | None = None,
        saved: Sequence[Output] = (),
        gradients: Gradients | None = None,
        positional: bool = False,
        partial: bool = False,
    ) -> None:
        self.name = name
        self.inputs = tuple(inputs)
        self.params = tuple(params)
        self.outputs = tuple(outputs)
        self.saved = tuple(saved)
        self.results = (*self.outputs, *self.saved)
        self.gradients = gradients
        self.positional = positional
        self.partial = partial
        self.variants = dict(variants)
        self.fold = fold
        self.static_sizes = dict(static_sizes or {})
        self.specialize = tuple(specialize)
        self.inplace = frozenset(inplace)
        self.preserve_strides = preserve_strides
        self.nonempty = tuple(nonempty)
        self.shards = dict(shards or {})
        self._floats = self._positions(lambda param: param.kind == "float")
        self._integers = self._positions(lambda param: param.kind == "int")
        self._keyed = self._positions(lambda param: param.kind not in ("float", "int"))
        self._optional = self._positions(lambda param: param.optional)
        arguments = {o.name: (at, False) for at, o in enumerate(self.inputs)}
        for at, param in enumerate(self.params, len(self.inputs)):
            arguments[param.name] = at, param.kind in ("bool", "literal")
        self._choosing = tuple(arguments[name] for name in self.specialize)
        self.overload = register(self, f"{name}_{spec_hash}")
        self._record = recorder(self)

    def _positions(self, test: Callable[[Param], bool]) -> tuple[int, ...]:
        return tuple(at for at, param in enumerate(self.params) if test(param))

    def operand(self, name: str) -> Operand:
        """Return the input called ``name``."""
        return next(operand for operand in self.inputs if operand.name == name)

    def __call__(
        self,
        inputs: Tensors,
        params: Sequence[Any] = (),
        out: torch.Tensor | Sequence[torch.Tensor] | None = None,
        backend: str = "auto",
        autotune: bool = False,
    ) -> Any:
        """Run the op: the one output, or a tuple of several.

        Plain tensors go straight to the launcher, with a node of autograd around it where gradients
        are recorded. Under torch.compile, transforms and modes and for tensor subclasses, the call
        becomes the registered PyTorch op.

        Raises:
            TypeError: rank, dtype, device, or something that is no tensor.
            ValueError: sizes, ``out``, ``backend``, or a param out of its choices.
            NotImplementedError: forward-mode differentiation.
        """
        if not is_plain(inputs):
            return self._dispatch(inputs, params, out, backend)
        if not self._recording(inputs):
            return self.launch(inputs, params, out, backend, autotune)
        if out is not None or backend != "auto":
            return self._dispatch(inputs, params, out, backend)
        return self._public(self._results(self._record, inputs, params, True))

    def launch(
        self,
        inputs: Tensors,
        params: Sequence[Any],
        out: torch.Tensor | Sequence[torch.Tensor] | None,
        backend: str,
        autotune: bool,
        wanted: tuple[bool, ...] | None = None,
    ) -> Any:
        """Run the op on real tensors, whatever records or traces around it.

        ``wanted`` says which results to compute; all are returned then, else the outputs alone.
        """
        outs = None if out is None else self._outs(out)
        pointers: list[int | None] = []
        parts: list[Any] = [self, backend, autotune, wanted]
        for tensor in inputs if outs is None else (*inputs, *outs):
            if tensor is None:
                pointers.append(None)
                parts.append(None)
                continue
            pointer = tensor.data_ptr()
            pointers.append(pointer)
            aligned = pointer & 15 if not _IS_HIP else _hip_alignment(tensor)
            parts += (tensor.shape, tensor.stride(), tensor.dtype, tensor.device, aligned)
        if self.params:
            params = self._add_params(parts, params)
        key = tuple(parts)
        call = LAUNCHES.calls.get(key)
        if call is None:
            results, call = self._first_call(key, inputs, pointers, params, outs)
        else:
            if outs is not None:
                check_aliases(self, inputs, outs, pointers, call.spans)
            results = call(inputs, pointers, params, outs)
        if outs is not None:
            torch.autograd.graph.increment_version(outs)  # kernels write behind autograd's back
        LAUNCHES.last = call.record
        return results[0] if len(results) == 1 else tuple(results)

    def _outs(self, out: torch.Tensor | Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        outs = (out,) if isinstance(out, torch.Tensor) else tuple(out)
        names = ", ".join(output.name for output in self.outputs)
        if len(outs) != len(self.outputs):
            raise ValueError(f"{self.name}: out has {len(outs)} tensors, expected {names}")
        for output, tensor in zip(self.outputs, outs, strict=True):
            if not isinstance(tensor, torch.Tensor):
                raise TypeError(
                    f"{self.name}: out for {output.name} must be a tensor, "
                    f"got {type(tensor).__name__}"
                )
            if tensor.requires_grad and torch.is_grad_enabled():
                raise ValueError(
                    f"{self.name}: out for {output.name} requires a gradient, and none passes "
                    f"through a write to it; call it under torch.no_grad()"
                )
        return outs

    def _add_params(self, parts: list[Any], params: Sequence[Any]) -> Sequence[Any]:
        """Add to a key what params specialise on; return params with floats as Python floats."""
        for at in self._keyed:
            parts.append(params[at])
        for at in self._optional:
            parts.append(params[at] is None)
        for at in self._floats:
            if type(params[at]) is not float:
                check_params(self, params)
                if params[at] is not None:
                    params = [*params[:at], float(params[at]), *params[at + 1 :]]
        for at in self._integers:
            if type(params[at]) is not int:
                check_params(self, params)
        return params

    def _first_call(
        self,
        key: tuple[Any, ...],
        inputs: Tensors,
        pointers: list[int | None],
        params: Sequence[Any],
        outs: tuple[torch.Tensor, ...] | None,
    ) -> tuple[Sequence[torch.Tensor], "ReferenceCall | KernelCall"]:
        """Bind, check, plan and run a call whose key is new."""
        _, backend, autotune, wanted, *_ = key
        binding = bind(self, inputs, params)
        layouts = output_layouts(self, inputs, binding)
        self.check_reductions(binding, layouts)
        if outs is not None:
            check_outs(self, outs, layouts[: len(outs)], inputs)
            check_aliases(self, inputs, outs, pointers, byte_spans((*inputs, *outs)))
        chosen = self.variant_key(inputs, params)
        variant = self.variants[chosen]
        flags = wanted or [at < len(self.outputs) for at in range(len(layouts))]
        call: ReferenceCall | KernelCall
        # Kernels walk over all outputs together: where one is empty, they would write no other.
        pairs = zip(layouts, flags, strict=True)
        partly_empty = len({0 in layout.shape for layout, want in pairs if want}) > 1
        if partly_empty or self._runs_reference(backend, inputs):
            call = ReferenceCall(self, variant.reference, layouts, wanted)
            results = call(inputs, pointers, params, outs)
        else:
            forced: tuple[Config, ...] = ()
            if (autotune or AUTOTUNE) and not INTERPRETING:
                trial = Plan(self, variant, binding, inputs, layouts, None, wanted)
                forced = tune(trial, params, chosen)
            plan = Plan(self, variant, binding, inputs, layouts, outs, wanted)
            results, call = self._first_launch(plan, forced, inputs, pointers, params)
        call.spans = byte_spans((*inputs, *(outs or ())))
        LAUNCHES.add(key, call)
        return results, call

    def check_reductions(self, binding: Binding, layouts: Sequence[Layout]) -> None:
        """Raise ValueError if an output would be a maximum or minimum over nothing."""
        for dim in self.nonempty:
            if binding.sizes[dim] == 0 and not all(0 in layout.shape for layout in layouts):
                name = next(o.name for o in self.inputs if any(dim in _dims_of(e) for e in o.dims))
                raise ValueError(
                    f"{self.name}: {name} has {dim} = 0, and a maximum or minimum over nothing "
                    f"has no value"
                )

    def _first_launch(
        self,
        plan: Plan,
        forced: Sequence[Config],
        inputs: Tensors,
        pointers: list[int | None],
        params: Sequence[Any],
    ) -> tuple[Sequence[torch.Tensor], KernelCall]:
        """Prepare and run a call; a config that the GPU refuses is out, and the next one runs."""
        refused: frozenset[Config] = frozenset()
        while True:
            call = plan.prepare(Choices(forced, refused))
            try:
                return call(inputs, list(pointers), params, plan.out), call
            except ConfigRefused as refusal:
                if refusal.config is None or refusal.config in refused:
                    raise
                refused |= {refusal.config}

    def variant_key(self, inputs: Tensors, params: Sequence[Any]) -> tuple[Any, ...]:
        """Return the key of the variant that these arguments choose."""
        if not self.specialize:
            return ()
        given = (*inputs, *params)
        return tuple([given[at] if told else given[at] is not None for at, told in self._choosing])

    def _runs_reference(self, backend: str, inputs: Tensors) -> bool:
        """Return whether a call runs the reference; on a CPU kernels need the interpreter."""
        if backend not in ("auto", "triton", "torch"):
            raise ValueError(
                f'{self.name}: backend is {backend!r}, expected "auto", "triton" or "torch"'
            )
        device = next(tensor.device.type for tensor in inputs if tensor is not None)
        if device == "cuda" or (device == "cpu" and INTERPRETING):
            return backend == "torch"
        if backend == "triton":
            raise ValueError(
                f'{self.name}: backend="triton" needs tensors on a GPU, got {device}; to interpret '
                f"kernels on a CPU set TRITON_INTERPRET=1 before triton is imported"
            )
        return True

    def _dispatch(
        self,
        inputs: Tensors,
        params: Sequence[Any],
        out: torch.Tensor | Sequence[torch.Tensor] | None,
        backend: str,
    ) -> Any:
        """Run the op as PyTorch sees it: the registered op, or the traceable reference."""
        for operand, tensor in zip(self.inputs, inputs, strict=True):
            if not isinstance(tensor, torch.Tensor) and not (tensor is None and operand.optional):
                bind(self, inputs, params)  # says what is wrong
            if backend != "torch" and is_dual(tensor):
                raise NotImplementedError(
                    f'{self.name} has no forward-mode gradient; backend="torch" has one'
                )
        recording = torch.is_grad_enabled() and any(t is not None and recorded(t) for t in inputs)
        if recording and out is not None:
            raise ValueError(
                f"{self.name}: out cannot be given while an input requires a gradient; call it "
                f"under torch.no_grad()"
            )
        if self._runs_reference(backend, inputs) and backend == "torch":
            results = traced(self, inputs, params)
        else:
            if recording and in_functional_gradient():
                raise NotImplementedError(
                    f"{self.name}: torch.func.grad, vjp and jacrev do not reach the gradient of a "
                    f'registered op; torch.autograd.grad does, or backend="torch"'
                )
            results = self._results(self.overload, inputs, params, recording)
        if out is None:
            return self._public(results)
        for at, (target, value) in enumerate(zip(self._outs(out), results, strict=False)):
            check_out(self, at, target, value)
            target.copy_(value)
        return out

    def _results(
        self, run: Callable[..., Any], inputs: Tensors, params: Sequence[Any], recording: bool
    ) -> tuple[torch.Tensor, ...]:
        """Run the registered op, or its recorder, which save for a backward if autograd records."""
        made = run(*inputs, *params, recording) if self.saved else run(*inputs, *params)
        return (made,) if isinstance(made, torch.Tensor) else made

    def _public(self, results: tuple[torch.Tensor, ...]) -> Any:
        """Return what the public function does: the one output, or a tuple of several."""
        count = len(self.outputs)
        return results[0] if count == 1 else tuple(results[:count])

    @staticmethod
    def _recording(inputs: Tensors) -> bool:
        """Return whether autograd records a call with these inputs."""
        if torch.is_grad_enabled():
            for tensor in inputs:
                if tensor is not None and tensor.requires_grad:
                    return True
        return False


# --- Helpers: jit functions that kernels call, the same compiled and interpreted
#
# No libdevice: its functions raise TypeError in the interpreter. A loop over coefficients is
# written out, since a Python float that is assigned becomes fp32 in the interpreter.


_INTERPRETED: tl.constexpr = tl.constexpr(triton.knobs.runtime.interpret)


@triton.jit
def scalar(x, FLOAT: tl.constexpr):
    """Return a float parameter as FLOAT. For fp64 the launcher passes the bits of the double."""
    if tl.float64 == FLOAT:
        return tl.full((), x, tl.int64).to(tl.float64, bitcast=True)
    else:
        return tl.full((), x, FLOAT)


@triton.jit
def at_least_32(x):
    """Return integers in at least 32 bits, as arithmetic on them is done."""
    if x.dtype.primitive_bitwidth < 32:
        return x.to(tl.int32)
    else:
        return x


@triton.jit
def maximum(a, b):
    """Return the larger, NaN if either is NaN, as in PyTorch."""
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def minimum(a, b):
    """Return the smaller, NaN if either is NaN, as in PyTorch."""
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def nan_max(x, axis: tl.constexpr):
    """Return the maximum over ``axis``, which stays with size 1; NaN if any is NaN."""
    if _INTERPRETED:
        most = tl.max(x, axis, keep_dims=True)
        if x.dtype.is_floating():
            nans = tl.max((x != x).to(tl.int32), axis, keep_dims=True)
            most = tl.where(nans > 0, float("nan"), most)
        return most.to(x.dtype)
    else:
        return tl.reduce(x, axis, maximum, keep_dims=True)


@triton.jit
def nan_min(x, axis: tl.constexpr):
    """Return the minimum over ``axis``, which stays with size 1; NaN if any is NaN."""
    if _INTERPRETED:
        least = tl.min(x, axis, keep_dims=True)
        if x.dtype.is_floating():
            nans = tl.max((x != x).to(tl.int32), axis, keep_dims=True)
            least = tl.where(nans > 0, float("nan"), least)
        return least.to(x.dtype)
    else:
        return tl.reduce(x, axis, minimum, keep_dims=True)


@triton.jit
def _first_index(hit, index, axis: tl.constexpr):
    """Return the least ``index`` where ``hit``."""
    beyond = tl.full((), (1 << (index.dtype.primitive_bitwidth - 1)) - 1, index.dtype)
    return tl.min(tl.where(hit, index, beyond), axis, keep_dims=True)


@triton.jit
def arg_max(x, index, axis: tl.constexpr):
    """Return the first ``index`` (signed integers that broadcast with x) of the maximum.

    NaN counts as the largest, as in PyTorch. ``axis`` stays with size 1.
    """
    return _first_index((x == nan_max(x, axis)) | (x != x), index, axis)


@triton.jit
def arg_min(x, index, axis: tl.constexpr):
    """Return the first ``index`` (signed integers that broadcast with x) of the minimum.

    NaN counts as the smallest, as in PyTorch. ``axis`` stays with size 1.
    """
    return _first_index((x == nan_min(x, axis)) | (x != x), index, axis)


@triton.jit
def round_even(x):
    """Round fp32 or fp64 to the nearest integer, halves to even; the sign of zero stays.

    Above 2^23 (2^52) all values are whole; below, adding that number rounds. A product gives the
    sign: in Triton 3.6 a minus subtracts from 0, which makes no -0.
    """
    size = tl.abs(x)
    if x.dtype == tl.float64:
        whole = (size + 4503599627370496.0) - 4503599627370496.0
        rounds = (size > 0.0) & (size < 4503599627370496.0)
    else:
        whole = (size + 8388608.0) - 8388608.0
        rounds = (size > 0.0) & (size < 8388608.0)
    return tl.where(rounds, tl.where(x < 0.0, whole * -1.0, whole), x)


@triton.jit
def expm1(x):
    """Return exp(x) - 1 for fp32 or fp64, precise near 0 too.

    With x = k ln 2 + r, it is 2^k (exp(r) - 1) + (2^k - 1), where exp(r) - 1 is its Taylor series
    (|r| <= 0.35). 2^k is built at half its size, since k may be one too many for the exponent.
    """
    if x.dtype == tl.float64:
        inside = tl.minimum(tl.maximum(x, -50.0), 710.0)
        k = tl.floor(inside * 1.4426950408889634 + 0.5)
        r = (inside - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10
        half = ((k.to(tl.int64) + 1022) << 52).to(tl.float64, bitcast=True)
        series = r * (1 / 87178291200) + 1 / 6227020800
        series = series * r + 1 / 479001600
        series = series * r + 1 / 39916800
        series = series * r + 1 / 3628800
        series = series * r + 1 / 362880
        series = series * r + 1 / 40320
    else:
        inside = tl.minimum(tl.maximum(x, -30.0), 89.0)
        k = tl.floor(inside * 1.4426950408889634 + 0.5)
        r = (inside - k * 0.693359375) + k * 2.12194440e-4
        half = ((k.to(tl.int32) + 126) << 23).to(tl.float32, bitcast=True)
        series = r * (1 / 362880) + 1 / 40320
    series = series * r + 1 / 5040
    series = series * r + 1 / 720
    series = series * r + 1 / 120
    series = series * r + 1 / 24
    series = series * r + 1 / 6
    series = series * r + 1 / 2
    small = r + r * r * series
    result = tl.where(k == 0.0, small, (half * small + (half - 0.5)) * 2.0)
    return tl.where((x == 0.0) | (x != x), x, result)


@triton.jit
def _with_sign(size, x):
    """Return the fp32 ``size``, which is not negative, with the sign of ``x``: one instruction."""
    sign = x.to(tl.int32, bitcast=True) & -2147483648
    return (size.to(tl.int32, bitcast=True) | sign).to(tl.float32, bitcast=True)


@triton.jit
def tanh(x):
    """Return tanh(x) for fp32 or fp64, precise near 0 too.

    fp32: below 1 an odd polynomial (fitted; relative error 6e-8), above it 1 - r^2 with
    r^2 = 2 / (exp(2 |x|) + 1): a reciprocal root is one instruction, a quotient is six.
    fp64: with e = expm1(2 |x|), e / (e + 2) for small x and 1 - 2 / (e + 2) for others, where the
    error of the quotient counts less.
    """
    size = tl.abs(x)
    if x.dtype == tl.float64:
        e = expm1(2.0 * size)
        quotient = tl.where(e < 2.0, e, 2.0) / (e + 2.0)
        size = tl.where(e < 2.0, quotient, 1.0 - quotient)
        return tl.where((x == 0.0) | (x != x), x, tl.where(x < 0.0, -size, size))
    else:
        square = x * x
        series = square * 1.0582687e-3 - 6.2593478e-3
        series = series * square + 2.0359788e-2
        series = series * square - 5.3498775e-2
        series = series * square + 0.13326415
        series = series * square - 0.33332989
        near = size + size * (square * series)
        root = tl.rsqrt(0.5 * tl.exp2(size * 2.8853900817779268) + 0.5)
        far = 1.0 - root * root
        return _with_sign(tl.where(size < 1.0, near, far), x)


@triton.jit
def erf(x):
    """Return the error function for fp32 or fp64, precise near 0 too.

    fp32: below 0.95 an odd polynomial, above it 1 - 2^p with p a polynomial in |x| (both fitted;
    relative errors 2e-8). p falls without end, so 2^p is 0 for large and infinite x.
    """
    if x.dtype == tl.float64:
        return tl.erf(x)
    else:
        size = tl.abs(x)
        square = x * x
        series = square * -5.8622652e-4 + 4.9675293e-3
        series = series * square - 2.674884e-2
        series = series * square + 0.1128132
        series = series * square - 0.37612447
        series = series * square + 0.12837914
        near = size + size * series
        exponent = size * -1.7434919e-3 + 2.1989876e-2
        exponent = exponent * size - 0.1299572
        exponent = exponent * size - 0.94105661
        exponent = exponent * size - 1.6144813
        exponent = exponent * size - 3.1677815e-3
        far = 1.0 - tl.exp2(exponent)
        return _with_sign(tl.where(size < 0.95, near, far), x)


@triton.jit
def exact_gelu(x):
    """Return x (1 + erf(x / sqrt(2))) / 2 for fp32 or fp64; it takes less than erf alone.

    fp32: max(x, 0) - |x| 2^p with p a polynomial in |x| (fitted; error 4e-8, and 3e-8 of the result
    above 0). p falls without end, so 2^p is 0 for large |x|, and -inf gives 0 * inf, NaN as in
    PyTorch; the bound keeps +inf. The absolute value is no instruction, for operands may have one.
    """
    if x.dtype == tl.float64:
        return 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    else:
        size = tl.abs(tl.minimum(x, 16.0))
        exponent = size * -2.772394e-6 + 3.8623552e-5
        exponent = exponent * size - 1.8254088e-4
        exponent = exponent * size - 1.458946e-4
        exponent = exponent * size + 7.0755444e-3
        exponent = exponent * size - 5.2505095e-2
        exponent = exponent * size - 0.45920488
        exponent = exponent * size - 1.1511058
        exponent = exponent * size - 1.0
        return maximum(x, 0.0) - size * tl.exp2(exponent)


@triton.jit
def log1p(x):
    """Return log(1 + x) for fp32 or fp64, precise near 0 too.

    u = 1 + x rounds; what it loses is kept in c. With u = 2^k (1 + f) and s = f / (2 + f),
    log(1 + f) is f - s (f - R), R = 2 s^2 / 3 + 2 s^4 / 5 + ... (the series of atanh; |s| <= 0.172).
    """
    u = 1.0 + x
    c = tl.where(x < 1.0, x - (u - 1.0), 1.0 - (u - x))
    if x.dtype == tl.float64:
        bits = u.to(tl.int64, bitcast=True)
        exponent = (bits - 0x3FE6A09E667F3BCD) >> 52
        f = (bits - (exponent << 52)).to(tl.float64, bitcast=True) - 1.0
        k = exponent.to(tl.float64)
        whole = k * 6.93147180369123816490e-01
        rest = k * 1.90821492927058770002e-10 + c / u
        s = f / (f + 2.0)
        t = s * s
        series = t * (2 / 21) + 2 / 19
        series = series * t + 2 / 17
        series = series * t + 2 / 15
        series = series * t + 2 / 13
        series = series * t + 2 / 11
        series = series * t + 2 / 9
    else:
        bits = u.to(tl.int32, bitcast=True)
        exponent = (bits - 0x3F3504F3) >> 23
        f = (bits - (exponent << 23)).to(tl.float32, bitcast=True) - 1.0
        k = exponent.to(tl.float32)
        whole = k * 0.693359375
        rest = k * -2.12194440e-4 + c / u
        s = f / (f + 2.0)
        t = s * s
        series = t * (2 / 11) + 2 / 9
    series = series * t + 2 / 7
    series = series * t + 2 / 5
    series = series * t + 2 / 3
    result = whole + (f - (s * (f - t * series) - rest))
    result = tl.where(x == -1.0, float("-inf"), tl.where(x < -1.0, float("nan"), result))
    return tl.where((x == 0.0) | (x != x) | (x == float("inf")), x, result)


# --- Narrowing: a computed value to a storage dtype


@triton.constexpr_function
def _most(dtype):
    """Return the largest finite value of an fp8 type."""
    if dtype == tl.float8e4nv:
        return 448.0
    return 240.0 if dtype == tl.float8e4b8 else 57344.0


@triton.constexpr_function
def _lowest(dtype):
    """Return the lowest value of an integer type."""
    return -(1 << (dtype.primitive_bitwidth - 1)) if dtype.is_int_signed() else 0


@triton.constexpr_function
def _highest(dtype):
    """Return the highest value of an integer type."""
    return (1 << (dtype.primitive_bitwidth - dtype.is_int_signed())) - 1


@triton.jit
def narrow(x, dtype: tl.constexpr):
    """Return ``x`` in a storage dtype.

    Float to float rounds to nearest even, from fp64 through fp32 to what is narrower; fp8
    saturates, infinities too. Float to integer truncates and saturates, NaN gives 0. Integers
    wrap. NaN stays NaN. Anything but 0 is True.
    """
    if x.dtype == dtype:
        return x
    elif dtype == tl.int1:
        return x != 0
    elif dtype.is_int():
        if x.dtype.is_floating():
            return _saturate(x, dtype)
        else:
            return x.to(dtype)
    elif dtype.primitive_bitwidth >= 32:
        return x.to(dtype)
    elif dtype.is_fp8():
        return _to_fp8(x.to(tl.float32), dtype)
    elif dtype == tl.bfloat16:
        return _to_bf16(x.to(tl.float32))
    else:
        return x.to(tl.float32).to(dtype)


@triton.jit
def _saturate(x, dtype: tl.constexpr):
    """Truncate a float to an integer type. The bounds are powers of two, so floats hold them."""
    lowest: tl.constexpr = _lowest(dtype)
    highest: tl.constexpr = _highest(dtype)
    below: tl.constexpr = lowest * 1.0
    above: tl.constexpr = (highest + 1) * 1.0
    whole = tl.where((x >= below) & (x < above), x, 0.0).to(dtype)
    return tl.where(x >= above, highest, tl.where(x < below, lowest, whole))


@triton.jit
def _to_bf16(x):
    """Round fp32 to bf16. The interpreter truncates, so there it is done on the bits."""
    if _INTERPRETED:
        bits = x.to(tl.uint32, bitcast=True)
        bits = tl.where(x != x, 0x7FC00000, bits + 0x7FFF + ((bits >> 16) & 1))
        return (bits >> 16).to(tl.uint16).to(tl.bfloat16, bitcast=True)
    else:
        return x.to(tl.bfloat16)


@triton.jit
def _to_fp8(x, dtype: tl.constexpr):
    """Round fp32 to fp8 and saturate. Triton 3.6 has no cast from fp32 to e5m2 before sm_89."""
    most: tl.constexpr = _most(dtype)
    x = tl.where(x > most, most, tl.where(x < -most, -most, x))
    if _INTERPRETED or dtype == tl.float8e5:
        return _fp8_bits(x, dtype).to(dtype, bitcast=True)
    else:
        return x.to(dtype)


@triton.jit
def _fp8_bits(x, dtype: tl.constexpr):
    """Return the bits of fp32 ``x``, in range, as fp8: the interpreter's own cast loses carries.

    Normal values round by an addition below the kept mantissa, then change their bias. For others
    an fp32 whose last place is one unit of theirs is added, and the mantissa counts the units.
    """
    mantissa: tl.constexpr = dtype.fp_mantissa_width
    bias: tl.constexpr = dtype.exponent_bias
    drop: tl.constexpr = 23 - mantissa
    units: tl.constexpr = 2.0 ** (24 - bias - mantissa)
    size = tl.abs(x)
    bits = size.to(tl.int32, bitcast=True)
    kept = (bits + ((1 << (drop - 1)) - 1) + ((bits >> drop) & 1)) >> drop
    normal = kept - ((127 - bias) << mantissa)
    counted = (size + units).to(tl.int32, bitcast=True) & 0x7FFFFF
    code = tl.where(size < 2.0 ** (1 - bias), counted, normal)
    negative = x.to(tl.int32, bitcast=True) < 0
    if dtype == tl.float8e4b8 or dtype == tl.float8e5b16:
        negative = negative & (code > 0)  # these have no -0: its code is NaN
        code = tl.where(x != x, 0x80, tl.where(negative, code | 0x80, code))
    else:
        code = tl.where(x != x, 0x7F, tl.where(negative, code | 0x80, code))
    return code.to(tl.uint8)


# --- Random numbers: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3")


@triton.jit
def _philox_words(seed, counter):
    """Return the four words of Philox 4x32-10 for a 64-bit key and non-negative counters."""
    counter = counter.to(tl.uint64)
    key = tl.full((), seed, tl.uint64)
    key_0 = key.to(tl.uint32)
    key_1 = (key >> 32).to(tl.uint32)
    word_0 = counter.to(tl.uint32)
    word_1 = (counter >> 32).to(tl.uint32)
    word_2 = word_0 & 0
    word_3 = word_0 & 0
    first = tl.full((), 0xD2511F53, tl.uint32)
    second = tl.full((), 0xCD9E8D57, tl.uint32)
    for _ in tl.static_range(10):
        high_0 = tl.umulhi(word_0, first)
        high_2 = tl.umulhi(word_2, second)
        low_0 = tl.mul(word_0, first, sanitize_overflow=False)
        low_2 = tl.mul(word_2, second, sanitize_overflow=False)
        word_0 = high_2 ^ word_1 ^ key_0
        word_2 = high_0 ^ word_3 ^ key_1
        word_1 = low_2
        word_3 = low_0
        key_0 = tl.add(key_0, tl.full((), 0x9E3779B9, tl.uint32), sanitize_overflow=False)
        key_1 = tl.add(key_1, tl.full((), 0xBB67AE85, tl.uint32), sanitize_overflow=False)
    return word_0, word_1, word_2, word_3


@triton.jit
def _unit_interval(word):
    """Return the top 24 bits of a word as fp32 in [0, 1)."""
    return (word >> 8).to(tl.int32).to(tl.float32) * 5.9604644775390625e-08


@triton.jit
def uniform(seed, position):
    """Return fp32 in [0, 1) for an integer seed (64 bits) and non-negative positions.

    The key is the seed, the counter position // 4, and position % 4 picks the word.
    """
    lane = position & 3
    word_0, word_1, word_2, word_3 = _philox_words(seed, position >> 2)
    low_half = tl.where(lane == 0, word_0, word_1)
    return _unit_interval(tl.where(lane < 2, low_half, tl.where(lane == 2, word_2, word_3)))


@triton.jit
def uniform_line(seed, start, BLOCK: tl.constexpr):
    """Return `uniform` at the BLOCK positions from `start` on, both multiples of four.

    One call of the generator serves four neighbours: a quarter of the work.
    """
    counter = (start >> 2) + tl.arange(0, BLOCK // 4)
    word_0, word_1, word_2, word_3 = _philox_words(seed, counter)
    words = tl.join(tl.join(word_0, word_2), tl.join(word_1, word_3))
    return _unit_interval(tl.reshape(words, (BLOCK,)))


def uniform_reference(seed: int, position: torch.Tensor) -> torch.Tensor:
    """Return the same bits as ``uniform``: fp32 of the shape of ``position`` (an integer tensor)."""
    counter = position.long() >> 2
    zeros = torch.zeros_like(counter)
    words = _philox((counter & 0xFFFFFFFF, counter >> 32, zeros, zeros), seed)
    word = torch.stack(words).gather(0, (position.long() & 3)[None])[0]
    return (word >> 8).float() * 2.0**-24


def _philox(words: tuple[torch.Tensor, ...], seed: int) -> tuple[torch.Tensor, ...]:
    """Return Philox 4x32-10 of a counter of four 32-bit words, each in an int64 tensor."""
    keys = (seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF)
    for _ in range(10):
        product_0, product_2 = words[0] * 0xD2511F53, words[2] * 0xCD9E8D57  # mod 2^64
        words = (
            ((product_2 >> 32) ^ words[1] ^ keys[0]) & 0xFFFFFFFF,
            product_2 & 0xFFFFFFFF,
            ((product_0 >> 32) ^ words[3] ^ keys[1]) & 0xFFFFFFFF,
            product_0 & 0xFFFFFFFF,
        )
        keys = ((keys[0] + 0x9E3779B9) & 0xFFFFFFFF, (keys[1] + 0xBB67AE85) & 0xFFFFFFFF)
    return words


# --- Masks


@triton.jit
def below(position, size, EVEN: tl.constexpr):
    """Return which positions exist.

    Where tiles fill the size (`EVEN`) that is a constant, and the compiler drops the mask: worth
    5 percent of the copy rate to layernorm of 8192 columns on an H200.
    """
    if EVEN:
        return tl.full(position.shape, True, tl.int1)
    else:
        return position < size


@triton.jit
def lowest_padded(x, mask, FLOAT: tl.constexpr):
    """Return what was loaded as FLOAT, with -inf where masked.

    A load does so itself with `other`, except for fp8: to that Triton casts -inf as the lowest
    finite value, which a row may hold too.
    """
    if x.dtype.is_fp8():
        return tl.where(mask, x.to(FLOAT), float("-inf"))
    else:
        return x.to(FLOAT)


# --- Exponentials


@triton.jit
def exp(x):
    """Return e to the x. For fp32 as a power of two, whose instruction flushes denormal results:
    `tl.exp` keeps them, at three more instructions for each element.
    """
    if x.dtype == tl.float64:
        return tl.exp(x)
    else:
        return tl.exp2(x * 1.4426950408889634)


@triton.jit
def sigmoid(x):
    """Return 1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + exp(-x))


# --- Online reductions: states of lanes (a column), a step for a block of values, and their join


@triton.jit
def logsumexp_step(top, total, x):
    """Take a block into running maxima and sums of exp(x - top).

    The maximum is taken once for all values of a lane, so that one more exponential serves them
    all; `top` starts at the lowest fp32, not at -inf, so that no difference is NaN.
    """
    new_top = maximum(top, nan_max(x, 1))
    kept = total * exp(top - new_top)
    return new_top, kept + tl.sum(exp(x - new_top), axis=1, keep_dims=True)


@triton.jit
def logsumexp_end(top, total):
    """Join the states of all lanes."""
    row_top = nan_max(top, 0)
    return row_top, tl.sum(total * exp(top - row_top), axis=0, keep_dims=True)


@triton.jit
def _add_pairs(a, b, other_a, other_b):
    return a + other_a, b + other_b


@triton.jit
def _sum_pairs(a, b, axis: tl.constexpr):
    """Sum two blocks over ``axis``, which stays with size 1: one pass through shared memory."""
    if _INTERPRETED:
        return tl.sum(a, axis, keep_dims=True), tl.sum(b, axis, keep_dims=True)
    else:
        return tl.reduce((a, b), axis, _add_pairs, keep_dims=True)


@triton.jit
def deviations(centred, AXES: tl.constexpr):
    """Return the sums of values and of their squares over axes 1 to ``AXES``."""
    rest, squares = _sum_pairs(centred, centred * centred, AXES)
    if AXES == 2:
        rest, squares = _sum_pairs(rest, squares, 1)
    return rest, squares


@triton.jit
def block_mean(x, valid, EVEN: tl.constexpr):
    """Return the mean of a block; 0 if it is empty."""
    if EVEN:
        held = x.shape[0] * x.shape[1]
    else:
        held = tl.maximum(_sum_block(tl.where(valid, x * 0.0 + 1.0, 0.0)), 1.0)
        x = tl.where(valid, x, 0.0)
    return _sum_block(x) / held


@triton.jit
def _sum_block(x):
    return tl.sum(tl.sum(x, axis=1, keep_dims=True), axis=0, keep_dims=True)


@triton.jit
def moments_step(total, squares, count, x, shift, valid, EVEN: tl.constexpr):
    """Take a block into sums of x - shift and of its square.

    The shift is the mean of the first block, so that its square is at most as many times the
    variance as there are blocks: no more cancels in the end (Chan et al., 1983).
    """
    if EVEN:
        distance = x - shift
        count += x.shape[1]
    else:
        distance = tl.where(valid, x - shift, 0.0)
        count += tl.sum(tl.where(valid, distance * 0.0 + 1.0, 0.0), axis=1, keep_dims=True)
    total += tl.sum(distance, axis=1, keep_dims=True)
    return total, squares + tl.sum(distance * distance, axis=1, keep_dims=True), count


@triton.jit
def _add_triples(a, b, c, other_a, other_b, other_c):
    return a + other_a, b + other_b, c + other_c


@triton.jit
def moments_end(shift, total, squares, count):
    """Return mean, sum of squared distances from it, and count of all lanes together."""
    if _INTERPRETED:
        total = tl.sum(total, axis=0, keep_dims=True)
        squares = tl.sum(squares, axis=0, keep_dims=True)
        count = tl.sum(count, axis=0, keep_dims=True)
    else:
        total, squares, count = tl.reduce((total, squares, count), 0, _add_triples, keep_dims=True)
    average = total / tl.maximum(count, 1.0)
    return shift + average, maximum(squares - total * average, 0.0), count


@triton.jit
def _merge_moments(mean, spread, count, other_mean, other_spread, other_count):
    """Merge two groups (Chan et al., 1979)."""
    total = count + other_count
    step = other_mean - mean
    share = other_count / tl.maximum(total, 1.0)
    return mean + step * share, spread + other_spread + step * step * count * share, total


@triton.jit
def moments_join(mean, spread, count):
    """Join the moments of programs that share a row."""
    if _INTERPRETED:
        total = tl.sum(count, axis=0, keep_dims=True)
        row_mean = tl.sum(mean * count, axis=0, keep_dims=True) / tl.maximum(total, 1.0)
        rest = tl.sum((mean - row_mean) * count, axis=0, keep_dims=True)
        row_mean += rest / tl.maximum(total, 1.0)
        distance = mean - row_mean
        inner = spread + count * distance * distance
        return row_mean, tl.sum(inner, axis=0, keep_dims=True), total
    else:
        return tl.reduce((mean, spread, count), 0, _merge_moments, keep_dims=True)


# --- Arithmetic that Python has and Triton lacks


@triton.jit
def floor_divide(a, b):
    """Return the quotient rounded down, as Python does; Triton's integers round to zero."""
    if (a * b).dtype.is_floating():
        rest = a % b
        quotient = (a - rest) / b
        quotient = tl.where((rest != 0.0) & ((b < 0.0) != (rest < 0.0)), quotient - 1.0, quotient)
        whole = tl.floor(quotient)
        whole = tl.where(quotient - whole > 0.5, whole + 1.0, whole)
        return tl.where(b == 0.0, a / b, whole)
    else:
        quotient = a // b
        return tl.where((a % b != 0) & ((a < 0) != (b < 0)), quotient - 1, quotient)


@triton.jit
def floor_mod(a, b):
    """Return the remainder with the sign of b, as Python does."""
    if (a * b).dtype.is_floating():
        rest = a % b
        return tl.where((rest != 0.0) & ((b < 0.0) != (rest < 0.0)), rest + b, rest)
    else:
        rest = a % b
        return tl.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


@triton.jit
def power(x, y):
    """Return x to the y, in fp64 inside: the exponent multiplies the error of a logarithm."""
    both = x + y == x  # of both shapes
    wide = tl.where(both, x, x).to(tl.float64)
    exponent = tl.where(both, y, y).to(tl.float64)
    size = tl.exp2(exponent * tl.log2(tl.abs(wide)))
    size = tl.where((tl.abs(wide) == 1.0) & (exponent == exponent), 1.0, size)
    whole = exponent == tl.floor(exponent)
    odd = whole & (tl.floor(exponent * 0.5) * 2.0 != exponent)
    negative = wide.to(tl.int64, bitcast=True) < 0
    result = tl.where(odd & negative, -size, size)
    nothing = (wide < 0.0) & (wide > float("-inf")) & (exponent != float("inf")) & ~whole
    result = tl.where(nothing, float("nan"), result)
    result = tl.where((exponent == 0.0) | (wide == 1.0), 1.0, result)
    return result.to((x + y).dtype)


# --- Eager helpers: what the references use besides torch itself


def widen(x: torch.Tensor, compute: torch.dtype | None) -> torch.Tensor:
    """Return ``x`` in the type of arithmetic; as it is if that is None."""
    return x if compute is None else x.to(compute)


def at_least_int32(x: torch.Tensor) -> torch.Tensor:
    """Return integers in at least 32 bits, as arithmetic on them is done."""
    return x.int() if x.dtype.itemsize < 4 else x


def convert(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return ``x`` in a storage type: floats saturate into integers (truncated) and fp8."""
    if not x.dtype.is_floating_point:
        return x.to(dtype)
    if dtype.itemsize == 1 and dtype.is_floating_point:
        limit = torch.finfo(dtype).max
        return x.clamp(-limit, limit).to(dtype)
    if dtype.is_floating_point or dtype == torch.bool:
        return x.to(dtype)
    limits = torch.iinfo(dtype)
    wide = torch.nan_to_num(x, nan=0.0).double()
    whole = wide.clamp(float(limits.min), float(limits.max)).trunc()
    if dtype != torch.int64:
        return whole.to(dtype)
    top = whole >= 2.0**63
    return torch.where(top, limits.max, torch.where(top, 0.0, whole).to(dtype))


def scalar_tensor(value: Any, device: torch.device, compute: torch.dtype | None) -> torch.Tensor:
    """Return a number as a tensor of the type of arithmetic; truth values and integers stay so."""
    kinds = {bool: torch.bool, int: torch.int64}
    dtype = kinds.get(type(value)) or compute or torch.float32
    return torch.tensor(value, dtype=dtype, device=device)


def take_last(x: torch.Tensor, index: torch.Tensor | int) -> torch.Tensor:
    """Return ``x`` at ``index`` of its last axis; out of range gives 0.

    The other axes of ``x`` broadcast with those of ``index``.
    """
    at = torch.as_tensor(index, device=x.device).long()
    shape = torch.broadcast_shapes(x.shape[:-1], at.shape)
    inside = (at >= 0) & (at < x.shape[-1])
    if x.shape[-1] == 0:
        return x.new_zeros(shape)
    places = at.clamp(0, x.shape[-1] - 1).expand(shape).unsqueeze(-1)
    found = torch.gather(x.expand(*shape, x.shape[-1]), -1, places).squeeze(-1)
    return torch.where(inside, found, torch.zeros((), dtype=x.dtype, device=x.device))


def finite_max(x: torch.Tensor, axes: Any, *, keepdim: bool = False) -> torch.Tensor:
    """Return the maximum over ``axes``, and 0 where it is -inf, as that of nothing is."""
    if x.numel() == 0:
        return x.sum(axes, keepdim=keepdim)
    top = x.amax(axes, keepdim=keepdim)
    return torch.where(top == -torch.inf, torch.zeros_like(top), top)


def positions(device: torch.device, *sizes: int) -> torch.Tensor:
    """Return the row-major position of each element of a tensor of these sizes."""
    total = 1
    for size in sizes:
        total *= size
    return torch.arange(total, device=device).view(sizes)


# --- Predicted times. Constants are seconds and bytes of an H200, from the probes in each line.

#: Each step of a program, from its loads to its stores: fitted to all sweeps.
LATENCY: Final = 0.4e-6
#: What each warp but the first adds to a join of a row: the last one had to wait for its turn
#: (layernorm of 8192 columns: with 4 warps 0.96 of copy, with 16 only 0.73).
JOIN: Final = 0.06e-6
#: How much less it is without other programs on the SM (a guess).
ALONE: Final = 0.95
#: An SM starts no more than one program in this time (gelu in tiles of 512: 81 ns).
DISPATCH: Final = 0.08e-6
#: Between two kernels of one stream.
LAUNCH: Final = 2e-6
#: Registers of a thread besides its share of the tile: addresses, sizes, statistics.
OWN_REGISTERS: Final = 12
#: What the compiler keeps besides the live values, as a share of them. With both, most compiled
#: kernels of whole rows lie between 0.6 and 1.1 of the prediction.
SPARE: Final = 1.15
#: Registers that an instruction can name.
MOST_REGISTERS: Final = 255
#: Programs that one SM runs at once, whatever their size.
MOST_PROGRAMS: Final = 32
#: Bytes that one SM takes in a clock, when it has the memory for itself.
SM_BYTES_PER_CLOCK: Final = 64
#: A warp issues on one of the four schedulers of an SM; half of that its own loads and stores hide.
ISSUE: Final = 2
#: Instructions for each element loaded or stored: conversion, mask, share of the address.
OVERHEAD: Final = 1
#: How much deeper a block loaded ahead makes the loads in flight.
AHEAD: Final = 0.25
#: Rows in flight on an SM, in units of its shared memory (which is L1 as well; on AMD a guess):
#: above the first share some are read again from L2, at the second all (softmax of 32000 columns:
#: 2 rows in flight 1.00 of the best time, 5 rows 1.24).
L1_KEEPS, L1_MISSES = 0.25, 2.0
#: Rate of the L2 cache, in that of memory.
L2_RATE: Final = 2.0
#: The same for the rows in flight on all SMs, in L2 (softmax of 131072 columns: two programs an SM,
#: 1.15 of L2, missed nearly all).
L2_KEEPS, L2_MISSES = 0.6, 1.2
#: Wide rows in registers against a sweep that is alike otherwise: 1.02 to 1.05 from 8192 columns on,
#: nothing at 4096. A sweep whose tile is wider than the row is taken to lose as much.
BLOCK_MARGIN, WIDE = 1.05, 8192
#: Seconds that a config which spills counts for, besides its own: more than another of its table
#: takes (1), or another schedule (2).
SPILLED: Final = (0.0, 1e3, 1e6)
#: Programs for each SM that splitting rows aims at.
SPLIT_PROGRAMS: Final = 4
#: Bytes of a row that a tile of rows by columns takes at most: one 16-byte access for each lane of two
#: warps. What all rows share, such as a bias, is then loaded once for several (bias_gelu: 0.89 to 0.98
#: of copy).
TILE_BYTES: Final = 1024
#: What a step of a loop over pipelined tiles takes besides its arithmetic, and each join of threads
#: in it: by the latencies of barriers and shuffles (rmsnorm backward, one row of 1024 a step in one
#: program an SM: 0.53 us).
STEP, JOINED = 0.15e-6, 0.15e-6
#: Instructions of such a loop, if it joins threads, for each that is counted: copies to shared memory and from it, and their
#: addresses (rmsnorm backward of 32768x1024: 0.19 us for each 1024 elements of a step).
ISSUED: Final = 1.75
#: What each row of a tile adds to that: loads, results and joins of its own (rmsnorm backward, a step of
#: 8192 elements: 1.6 us as one row, 1.9 us as eight).
ROW: Final = 0.04e-6
#: How sharply a walk turns from what it moves to what it computes.
WALK_BEND: Final = 12
#: What each warp but the first adds to a join in such a loop, where barriers of all warps follow each
#: other (rmsnorm backward 8192x16384: 8 warps 0.210 ms, 16 0.212, 32 0.214).
LOOP_JOIN: Final = 3e-9
#: Where warps outnumber the vectors of a row, they lie side by side over several rows, and what rows
#: have for themselves is converted to a layout that copies it to all of them. By the square of warps
#: side by side times rows, up to the most that was measured (rmsnorm backward of 32768x1024, tiles of
#: 8192: 8 warps 0.061 ms, 16 0.065, 32 0.105; of 16384: 8 warps 0.063, 16 0.080, 32 0.174).
BESIDE, MOST_BESIDE = 0.3e-9, 128
#: What such warps cost besides where no loads are ahead: each step waits for its conversions as well
#: (32768x1024, tiles of 4096 in 4 programs: 4 warps 0.063 ms, 8 0.099; of 8192 in 2: 0.071, 0.114).
UNSTAGED: Final = 2.0
#: Adding up partial sums: each step of it waits for L2 with nothing beside it, and they are written
#: and read at this share of the memory's rate, when nothing else is under way (rmsnorm backward of
#: 16384x8192: each further program an SM, 8.6 MB of sums, takes 7 us; of 32768x1024 2 to 6 us).
JOIN_STEP, PARTIAL_RATE = 1e-6, 0.5
#: How many times as fast what all programs read comes from L2: it adds little to what moves (a guess).
SHARED_RATE: Final = 8.0
#: Bytes that a lane takes at once.
LANE_BYTES: Final = 16
#: Columns of partial sums that a program adds up, and how many of them a thread holds.
JOIN_COLUMNS, JOIN_ELEMENTS = 32, 32
#: How sharply the rate bends where the bytes in flight just suffice (softmax of 4096x32000 in one
#: program an SM: 0.77 of copy; of 16384x8192 in four: 0.94).
BEND: Final = 4


class Work(NamedTuple):
    """What a kernel does for one element of its tile.

    Attributes:
        reads: tensors read from memory, in elements of the op's widest float.
        rereads: those read again by later passes, from L1 or L2 where the row still is there.
        writes: tensors written.
        flops: operations on floats.
        special: of them, those of the special-function unit.
        joins: joins over the threads of a program.
        passes: sweeps over the row.
        ahead: blocks that a sweep loads ahead in registers.
        held: words of 4 bytes alive at once, where elements have 2 bytes or fewer.
        held_wide: the same where they have 4; with 8 it is twice as much.
    """

    reads: float
    writes: float
    flops: float
    special: float = 0.0
    rereads: float = 0.0
    joins: int = 0
    passes: int = 1
    ahead: int = 0
    held: float = 1.0
    held_wide: float = 1.0


def registers_needed(work: Work, elements: float, size: int) -> float:
    """Registers of a thread that holds ``elements`` of a tile: its own, and the live values.

    OWN_REGISTERS + elements * SPARE * max(1, held): packed halves are converted at once, so that no
    value takes less than a word for long.
    """
    held = work.held if size < 4 else work.held_wide * (size / 4)
    return OWN_REGISTERS + elements * SPARE * max(1.0, held)


def programs_resident(target: Target, threads: int, registers: float, shared: int) -> int:
    """Programs that one SM runs at once: by threads, registers, shared memory; at least one."""
    fit = min(
        target.max_threads_per_sm // threads,
        int(target.registers_per_sm // (min(registers, MOST_REGISTERS) * threads)),
        target.shared_per_sm // (shared + 1024),  # the driver keeps a KiB for itself
        MOST_PROGRAMS,
    )
    return max(1, fit)


def run_time(
    target: Target, programs: int, resident: int, warps: int, steps: int, moved: float,
    flops: float, special: float, joins: int, ahead: float = 0,
) -> float:  # fmt: skip
    """Seconds for ``programs``, each of which moves ``moved`` bytes in ``steps`` alike.

    A program waits LATENCY in each step, for its joins and for its arithmetic; in the rest it moves
    bytes. The r - 1 others on its SM hide its arithmetic, and are in the way of its joins. With d
    tiles of each in flight, an SM asks for u = r * d * transfer / (transfer + waiting) of its share
    of the memory, and gets u / (1 + u ** BEND) ** (1 / BEND). Flops and special functions are bounds
    of their own.
    """
    sms = target.multiprocessors
    busy = programs if programs < sms else sms
    bandwidth = target.measured_copy or 0.9 * target.bandwidth
    rate = min(bandwidth / busy, SM_BYTES_PER_CLOCK * target.clock_hz)
    lanes = target.peak["f32"] / sms / 2
    here = share(programs, resident, sms)
    issue = ISSUE * (flops + special) / lanes / warps
    join = JOIN * (warps - 1) * (1 - ALONE / here)
    waiting = LATENCY * steps + issue / here + join * joins
    transfer = (moved or 1.0) / rate
    asked = here * (1 + AHEAD * ahead) * transfer / (transfer + waiting)
    got = asked / math.pow(1 + asked**BEND, 1 / BEND)
    uneven = max(1.0, cdiv(programs, sms) * busy / programs) if programs < resident * sms else 1.0
    memory = moved * programs / (busy * rate * got) * uneven
    units = target.special_per_clock * target.clock_hz
    arithmetic = max(flops / lanes, special / units) * programs / busy * uneven
    return LAUNCH + max(memory, arithmetic, DISPATCH * programs / sms)


def share(programs: int, resident: int, sms: int) -> float:
    """Programs on an SM at once, where there are fewer than it could run; at least one."""
    return min(float(resident), max(1.0, programs / sms))


def flat_cost(config: Config, target: Target, work: Work, size: int, elements: int) -> float:
    """Predicted seconds of an elementwise config for ``elements`` of ``size`` bytes."""
    elements = next_power_of_2(elements)
    tile, warps = config["TILE"], config["num_warps"]
    return run_time(
        target, cdiv(elements, tile), resident(config, target, work, size, tile), warps, 1,
        min(tile, elements) * size * (work.reads + work.writes),
        tile * (work.flops + OVERHEAD * (work.reads + work.writes)), tile * work.special, 0,
    )  # fmt: skip


def block_cost(
    config: Config, target: Target, work: Work, size: int, rows: int, width: int
) -> float:
    """Predicted seconds of holding rows of ``width`` columns in registers; infinity if they do not fit."""
    rows = next_power_of_2(rows)
    if width > config["TILE"]:
        return math.inf
    tall = min(config["TILE"] // width, rows)
    tile, warps = tall * width, config["num_warps"]
    return (BLOCK_MARGIN if width >= WIDE else 1.0) * run_time(
        target, cdiv(rows, tall), resident(config, target, work, size, tile), warps, 1,
        tile * size * (work.reads + work.writes),
        tile * (work.flops + OVERHEAD * (work.reads + work.writes)), tile * work.special,
        work.joins,
    )  # fmt: skip


def loop_cost(
    config: Config, target: Target, work: Work, size: int, rows: int, columns: int
) -> float:
    """Predicted seconds of sweeping over rows, one a program.

    What a later pass reads again comes from L1 or L2 as far as the rows in flight lie there.
    """
    rows, columns = next_power_of_2(rows), next_power_of_2(columns)
    tile, warps = config["TILE"], config["num_warps"]
    most = resident(config, target, work, size, tile)
    again = columns * size * work.rereads
    row = again / max(1, work.passes - 1) * share(rows, most, target.multiprocessors)
    from_l2 = between(row / target.shared_per_sm, L1_KEEPS, L1_MISSES)
    missed = between(row * min(rows, target.multiprocessors) / target.l2_bytes, L2_KEEPS, L2_MISSES)
    missed = min(missed, from_l2)
    steps, elements = cdiv(columns, tile), max(columns, tile)
    return (BLOCK_MARGIN if columns < tile else 1.0) * run_time(
        target, rows, most, warps, work.passes * steps,
        columns * size * (work.reads + work.writes) + again * (missed + (from_l2 - missed) / L2_RATE),
        elements * (work.flops + OVERHEAD * (work.reads + work.rereads + work.writes)),
        elements * work.special, work.joins, min(work.ahead, steps - 1),
    )  # fmt: skip


def between(value: float, low: float, high: float) -> float:
    """How far a value is on the way from ``low``, 0, to ``high``, 1."""
    return min(1.0, max(0.0, (value - low) / (high - low)))


def resident(config: Config, target: Target, work: Work, size: int, tile: int) -> int:
    """Programs of a config that one SM runs at once, with ``tile`` elements each.

    By the registers that the compiler took, where its config says so: with those that are predicted,
    add_rmsnorm of 16384 columns was taken for two programs of 108 registers where it is one of 138.
    """
    threads = config["num_warps"] * target.warp_size
    needed = registers_needed(work, max(1.0, tile / threads), size)
    return programs_resident(target, threads, config.get("registers", needed), 0)


def split_cost(
    config: Config, target: Target, work: Work, size: int, rows: int, columns: int
) -> float:
    """Predicted seconds of sharing each row: partial states, then their join; infinity for one part.

    The second kernel reads rows from L2 if all of them fit.
    """
    rows, columns = next_power_of_2(rows), next_power_of_2(columns)
    splits, chunk = split_row(target, rows, columns, config["TILE"])
    if splits == 1:
        return math.inf
    steps, again = chunk // config["TILE"], chunk * size * work.rereads
    missed = min(1.0, rows * columns * size * work.rereads / target.l2_bytes)
    flops = chunk * (work.flops + OVERHEAD * (work.reads + work.rereads + work.writes))
    return LAUNCH + LATENCY + run_time(
        target, rows * splits, resident(config, target, work, size, config["TILE"]),
        config["num_warps"], steps * work.passes,
        chunk * size * (work.reads + work.writes) + again * (missed + (1 - missed) / L2_RATE),
        flops, chunk * work.special, work.joins + 1, min(work.ahead, steps - 1),
    )  # fmt: skip


def split_row(target: Target, rows: int, columns: int, tile: int) -> tuple[int, int]:
    """Return how many programs share a row, and how many columns each takes."""
    wanted = max(1, SPLIT_PROGRAMS * target.multiprocessors // next_power_of_2(rows))
    chunk = tile * max(1, cdiv(next_power_of_2(columns), wanted * tile))
    return cdiv(columns, chunk), chunk


def sums_cost(
    config: Config, target: Target, work: Work, size: int, rows: int, width: int, places: int = 1
) -> float:
    """Predicted seconds of carrying sums over rows of ``width`` columns, held whole in registers.

    The sums are of ``rows`` rows at each of ``places``; infinity if the rows do not fit.
    """
    if width > config["TILE"]:
        return math.inf
    rows = next_power_of_2(rows)
    tall = min(config["TILE"] // width, rows)
    return _carrying(config, target, work, size, (tall, width), rows, width, places)


def columns_cost(
    config: Config, target: Target, work: Work, size: int, rows: int, columns: int, places: int = 1
) -> float:
    """Predicted seconds of carrying sums over rows in blocks of columns."""
    rows, columns = next_power_of_2(rows), next_power_of_2(columns)
    tile = tile_shape(False, rows, columns, config["TILE"], size)
    return _carrying(config, target, work, size, tile, rows, columns, places)


def _carrying(
    config: Config, target: Target, work: Work, size: int, tile: tuple[int, int], rows: int,
    columns: int, places: int,
) -> float:  # fmt: skip
    """Seconds of programs that go over tiles of rows, and of the kernel that adds up their sums.

    With s stages, s tiles of a program are in flight; but it works on one after the other, and is
    never done before that. Other programs on its SM hide what it waits for, not what it issues.
    """
    tall, wide = tile
    steps, blocks = cdiv(rows, tall), places * cdiv(columns, wide)
    sharing = programs_of(config, target, steps, blocks)
    steps, warps, elements = cdiv(steps, sharing), config["num_warps"], tall * wide
    ahead = config["num_stages"] - 1
    shared = int(ahead * elements * size * (work.reads + work.rereads))
    threads = warps * target.warp_size
    needed = config.get("registers", registers_needed(work, max(1.0, elements / threads), size))
    operations = work.flops + OVERHEAD * (work.reads + work.rereads + work.writes)
    here = max(1.0, sharing * blocks / target.multiprocessors)
    lanes = target.peak["f32"] / target.multiprocessors / 2 * min(1.0, here * warps / 4)
    vectors = wide * size / (LANE_BYTES * target.warp_size)
    beside = min(MOST_BESIDE, tall * max(1.0, warps / vectors)) if tall > 1 else 1.0
    waiting = STEP + work.joins * (JOINED + LOOP_JOIN * (warps - 1))
    issuing = elements * operations / lanes
    if work.joins:
        issuing = ISSUED * issuing + ROW * tall + BESIDE * beside * beside
    alone = steps * (waiting + here * issuing)
    if work.joins and not ahead and tall > 1 and warps > vectors:
        alone *= UNSTAGED
    stored = work.writes / (work.reads + work.writes or 1.0)  # no step waits for it
    moving = run_time(
        target, sharing * blocks, programs_resident(target, threads, needed, shared), warps, steps,
        steps * elements * size * (work.reads + work.writes + work.rereads / SHARED_RATE),
        steps * elements * operations, steps * elements * work.special, steps * work.joins,
        (ahead + stored) / AHEAD,
    )  # fmt: skip
    walk = math.pow(moving**WALK_BEND + alone**WALK_BEND, 1 / WALK_BEND)
    height, _ = join_tile(config, sharing, columns)
    partial = 8.0 * sharing * blocks * wide / (PARTIAL_RATE * target.bandwidth)
    return walk + LAUNCH + JOIN_STEP * cdiv(sharing, height) + partial


def programs_of(config: Config, target: Target, tiles: int, apart: int) -> int:
    """Return how many programs share tiles of rows that there are ``apart`` times.

    All run at once: PROGRAMS on each SM.
    """
    return max(1, min(tiles, config["PROGRAMS"] * target.multiprocessors // max(1, apart)))


def join_tile(config: Config, parts: int, columns: int) -> tuple[int, int]:
    """Return how many of ``parts`` partial sums a program takes at once, of how many columns."""
    wide = min(JOIN_COLUMNS, next_power_of_2(columns))
    most = 32 * JOIN_ELEMENTS * config["num_warps"] // wide
    return min(most, next_power_of_2(parts)), wide


def fits(seconds: float) -> bool:
    """Return whether a config holds a row and hardly spills: what its predicted time tells."""
    return seconds < SPILLED[2]


def tile_shape(
    crossed: bool, height: int, length: int, elements: int, size: int
) -> tuple[int, int]:
    """Return the sizes of a tile of about ``elements`` of ``size`` bytes over two axes.

    Where a tensor is contiguous along the first of the two (``crossed``), tiles are square, so
    that its accesses too cover whole cache lines.
    """
    widest = math.isqrt(elements) if crossed else min(elements, TILE_BYTES // size)
    block_1 = min(next_power_of_2(length), next_power_of_2(max(1, widest)))
    return min(next_power_of_2(height), max(1, elements // block_1)), block_1


def least(
    call: Call, space: Mapping[tuple[str, int], Sequence[Config]], cost: Callable[[Config], float]
) -> float:
    """Return the least cost of a config of ``space`` for a call; infinity if none fits."""
    configs = _nearest_space(space, call.target, call.element_size)
    return min(map(last_if_spilling(cost), configs), default=math.inf)


def by_class(
    *rows: tuple[tuple[str, ...], tuple[int, ...], tuple[Config, ...]],
) -> dict[tuple[str, int], tuple[Config, ...]]:
    """Return the configs of each architecture class and element size in bytes."""
    return {
        (architecture, size): configs
        for architectures, sizes, configs in rows
        for architecture in architectures
        for size in sizes
    }
