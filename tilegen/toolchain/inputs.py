"""Inputs of a check: values that break kernels, in every layout, between poisoned guards."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

import torch

from tilegen.ir.graph import Operand, Param
from tilegen.spec.domains import Domain
from tilegen.spec.trace import Variant
from tilegen.toolchain.shapes import Shape
from tilegen.toolchain.subject import Subject

FLOATS = (
    torch.float32, torch.bfloat16, torch.float16, torch.float64,
    torch.float8_e4m3fn, torch.float8_e5m2,
)  # fmt: skip
LAYOUTS = ("contiguous", "transposed", "sliced", "expanded", "offset 1", "offset 3", "padded")
VALUES = ("normal", "offset", "constant", "huge", "lowest", "sorted", "zeros", "special")

#: Elements before and after each tensor, NaN or garbage: a read or a write there shows.
GUARD = 64

_GARBAGE = 0x5B


@dataclass(frozen=True)
class Draw:
    """What one set of inputs is drawn from.

    Attributes:
        shape: the sizes.
        dtype: of the floating tensors.
        values: one of VALUES.
        layout: a layout for all tensors, or "mixed N": a rotation over all of them.
        defaults: whether params keep their defaults.
        mixed: whether floating tensors after the first are fp32 (bf16 where that is the first's).
        wanted: the results that are asked of a backward; all of them if empty.
    """

    shape: Shape
    dtype: torch.dtype
    values: str = "normal"
    layout: str = "contiguous"
    seed: int = 0
    defaults: bool = True
    mixed: bool = False
    wanted: tuple[str, ...] = ()

    def __str__(self) -> str:
        dtype = str(self.dtype).removeprefix("torch.") + (" and fp32" if self.mixed else "")
        asked = f", for {' and '.join(self.wanted)}" if self.wanted else ""
        return f"{self.shape}; {dtype}, {self.values}, {self.layout}, seed {self.seed}{asked}"


@dataclass(frozen=True)
class Inputs:
    """Arguments of one call; absent optional ones are None.

    Attributes:
        wanted: which results are asked for; None for the outputs of a forward.
        source: what the reference takes, where that is something else: for a backward the inputs
            of the forward, then the upstream gradients.
    """

    tensors: tuple[torch.Tensor | None, ...]
    params: tuple[Any, ...]
    buffers: tuple[torch.Tensor, ...] = field(repr=False)
    before: tuple[torch.Tensor, ...] = field(repr=False)
    wanted: tuple[bool, ...] | None = None
    source: "Inputs | None" = field(default=None, repr=False)

    def untouched(self) -> bool:
        """Whether no input (nor anything around it) was written."""
        pairs = zip(self.buffers, self.before, strict=True)
        return all(torch.equal(now, before) for now, before in pairs)


@singledispatch
def draw(subject: Subject, variant: Variant, how: Draw, device: torch.device) -> Inputs:
    """Inputs of one variant; those of a backward are in `backward`."""
    generator = torch.Generator(device).manual_seed(how.seed)
    given = {operand.name for operand in variant.graph.operands}
    tensors: list[torch.Tensor | None] = []
    buffers: list[torch.Tensor] = []
    for at, operand in enumerate(subject.traced.operands):
        if operand.name not in given:
            tensors.append(None)
            continue
        shape = stored_shape(operand, how.shape, subject.op.fold)
        layout = how.layout
        if layout.startswith("mixed"):
            layout = LAYOUTS[(at + int(layout[5:])) % len(LAYOUTS)]
        dtype = _dtype(subject, operand, how, at)
        domain = _domain(subject, operand.name)
        if domain.rows and len(shape) < 2 and layout == "expanded":
            layout = "contiguous"
        values = _values(operand, shape, domain, how, generator, device)
        tensor, buffer = place(values, dtype, layout)
        tensors.append(tensor)
        buffers.append(buffer.view(torch.uint8))
    params = _params(subject, variant, how)
    return Inputs(tuple(tensors), params, tuple(buffers), tuple(b.clone() for b in buffers))


def stored_shape(operand: Operand, shape: Shape, fold: str | None) -> tuple[int, ...]:
    """The shape of an operand in memory, leading dimensions included."""
    result: list[int] = []
    for group in operand.stored:
        if group == (fold,):
            result += shape.leading
        result.append(math.prod(shape.sizes[dim] for dim in group))
    return tuple(result)


# ---- types and params ---------------------------------------------------------------------------


def _domain(subject: Subject, name: str) -> Domain:
    return Domain.parse(
        subject.traced.spec.domain.get(name, ""), subject.traced.variants[0].graph.dims
    )


def _dtype(subject: Subject, operand: Operand, how: Draw, at: int) -> torch.dtype:
    declared = subject.op.operand(operand.name)
    if declared.dtypes:
        pinned: torch.dtype = declared.dtypes[how.seed % len(declared.dtypes)]
        return pinned
    if operand.dtype.kind == "float":
        return torch.float32 if how.mixed and at else how.dtype
    if operand.dtype.kind == "bool":
        return torch.bool
    return (torch.int64, torch.int32)[how.seed % 2]


def _params(subject: Subject, variant: Variant, how: Draw) -> tuple[Any, ...]:
    chosen = dict(zip(subject.traced.specialising, variant.key, strict=True))
    return tuple(
        _param(param, chosen.get(param.name), how, _domain(subject, param.name))
        for param in subject.traced.params
    )


def _param(param: Param, chosen: Any, how: Draw, domain: Domain) -> Any:
    if param.kind == "size":
        return how.shape.sizes[param.dim]
    if param.kind == "static":
        return param.default
    if param.optional and not chosen:
        return None
    if param.kind in ("bool", "literal"):
        return chosen
    if param.kind == "int":
        return param.default if param.default is not None and how.defaults else how.seed % 5
    if param.default is not None and how.defaults:
        return float(param.default)
    # A default of 1 or 0 would hide a scale that was dropped.
    share = 0.25 + (how.seed % 7) / 10
    low, high = domain.ends(how.shape.sizes)
    if low is not None and high is not None:
        return low + share * (high - low) / 2
    value = float(param.default) * (0.5 + share) if param.default else share
    return value + (low or 0.0) if high is None else high - value


# ---- values -------------------------------------------------------------------------------------


def _values(
    operand: Operand,
    shape: tuple[int, ...],
    domain: Domain,
    how: Draw,
    generator: torch.Generator,
    device: torch.device,
) -> torch.Tensor:
    """Values in fp64, int64 or bool, in the operand's domain."""
    if operand.dtype.kind == "bool":
        return torch.rand(shape, generator=generator, device=device) < 0.5
    if operand.dtype.kind == "int":
        low, high = integers(domain, how.shape.sizes)
        found = torch.randint(low, high, shape, generator=generator, device=device)
        # Params are small (see `_param`): some positions must equal one, as an ignored label does.
        found.view(-1)[::3] = low + (found.view(-1)[::3] - low) % 5
        if how.values == "special" and domain != Domain() and found.dim() and found.numel():
            # Out of range is defined (it reads nothing) and comes with the other special values.
            found.view(-1)[0] = low - 1
            found.view(-1)[-1] = high
        return found
    x = torch.randn(shape, generator=generator, device=device, dtype=torch.float64)
    small = how.dtype.itemsize == 1
    x = _STRUCTURES[how.values](x, small) if x.numel() and x.dim() else x
    return inside(x, domain, how.shape.sizes)


def integers(domain: Domain, sizes: Mapping[str, int]) -> tuple[int, int]:
    """The integers of a domain, the last one excluded; a hundred where it has no end."""
    low, high = domain.ends(sizes)
    first = None if low is None else int(low) + domain.above
    last = None if high is None else int(high) + (not domain.below)
    if first is None:
        first = 0 if last is None else last - 100
    return first, first + 100 if last is None else max(last, first + 1)


def inside(x: torch.Tensor, domain: Domain, sizes: Mapping[str, int]) -> torch.Tensor:
    """Values of a domain, made of any values."""
    if domain.rows:
        return (torch.log_softmax if domain.low is None else torch.softmax)(x, -1)
    low, high = domain.ends(sizes)
    if low is not None and high is not None:
        share = x.sigmoid() * (0.999 if domain.below else 1.0)
        return low + (share.clamp_min(1e-3) if domain.above else share) * (high - low)
    away = x.abs().clamp_min(1e-3) if domain.above or domain.below else x.abs()
    if low is not None:
        return low + away
    return x if high is None else high - away


def _offset(x: torch.Tensor, small: bool) -> torch.Tensor:
    return x + (100.0 if small else 1000.0)


def _constant(x: torch.Tensor, small: bool) -> torch.Tensor:
    return x[..., :1].expand(x.shape).clone()


def _huge(x: torch.Tensor, small: bool) -> torch.Tensor:
    """One huge entry in every second row."""
    rows = x.view(-1, x.shape[-1])
    rows[::2, rows.shape[1] // 2] = 300.0 if small else 1e4
    return x


def _lowest(x: torch.Tensor, small: bool) -> torch.Tensor:
    """Rows of the lowest value of fp8 (it is clamped to that of the type), as padding might be."""
    x.view(-1, x.shape[-1])[::2] = -57344.0 if small else -448.0
    return x


def _zeros(x: torch.Tensor, small: bool) -> torch.Tensor:
    x.view(-1)[: -(-x.numel() // 2)] = 0.0
    return x


def _special(x: torch.Tensor, small: bool) -> torch.Tensor:
    """Rows with -inf alone, one NaN, one +inf, one -inf; the others stay as they are."""
    rows = x.view(-1, x.shape[-1])
    middle = rows.shape[1] // 2
    marks = ((slice(None), -math.inf), (middle, math.nan), (middle, math.inf), (middle, -math.inf))
    for row, (at, value) in zip(rows[:-1], marks, strict=False):
        row[at] = value
    return x


_STRUCTURES: dict[str, Callable[[torch.Tensor, bool], torch.Tensor]] = {
    "normal": lambda x, small: x,
    "offset": _offset,
    "constant": _constant,
    "huge": _huge,
    "lowest": _lowest,
    "sorted": lambda x, small: x.sort(-1).values,
    "zeros": _zeros,
    "special": _special,
}


# ---- layouts ------------------------------------------------------------------------------------


def place(
    values: torch.Tensor, dtype: torch.dtype, layout: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """These values in a dtype and a layout, and the poisoned buffer that the view lies in.

    An expanded tensor has the values of its first slice everywhere.
    """
    values = narrowed(values, dtype)
    view, buffer = blank(tuple(values.shape), dtype, layout, values.device)
    if layout == "expanded" and values.dim():
        view.as_strided((1, *view.shape[1:]), view.stride(), view.storage_offset()).copy_(
            values[:1]
        )
    else:
        view.copy_(values)
    return view, buffer


def blank(
    shape: Sequence[int],
    dtype: torch.dtype,
    layout: str,
    device: torch.device,
    poison: int = 0,
    own: Sequence[int] | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """A tensor with this layout (or dense strides of its `own`) in a poisoned buffer, and that."""
    order = list(range(len(shape)))
    if layout == "transposed" and len(shape) > 1:
        order[-2:] = [order[-1], order[-2]]
    step = 2 if layout == "sliced" else 1
    strides = [0] * len(shape)
    for axis in reversed(order):
        strides[axis] = step
        step *= max(1, shape[axis]) + (layout == "padded")
    if layout == "expanded" and shape:
        strides[0] = 0
    strides = list(own) if own is not None else strides
    shift = int(layout[-1]) if layout.startswith("offset") else 0
    buffer = poisoned(step + shift + 2 * GUARD, dtype, device, poison)
    return buffer.as_strided(tuple(shape), tuple(strides), GUARD + shift), buffer


def poisoned(count: int, dtype: torch.dtype, device: torch.device, poison: int = 0) -> torch.Tensor:
    """Memory full of NaN (poison 0) or 7 (poison 1); integers and booleans of garbage."""
    buffer = torch.empty(count, dtype=dtype, device=device)
    if dtype.is_floating_point:
        return buffer.copy_(torch.full((), 7.0 if poison else math.nan, device=device))
    return buffer.fill_(poison == 0 if dtype == torch.bool else _GARBAGE - 50 * poison)


def narrowed(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Values in a storage dtype; finite ones stay finite."""
    if not dtype.is_floating_point or dtype == torch.float64:
        return values.to(dtype)
    most = torch.finfo(dtype).max
    finite = values.clamp(-most, most)
    return torch.where(values.isfinite(), finite, values).to(dtype)


class poisoned_allocations:
    """PyTorch fills new memory with NaN, or with the largest integer."""

    def __init__(self, poison: int) -> None:
        self.on = poison == 0
        self.before = (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        )

    def __enter__(self) -> None:
        if self.on:
            torch.use_deterministic_algorithms(True, warn_only=True)

    def __exit__(self, *error: object) -> None:
        torch.use_deterministic_algorithms(self.before[0], warn_only=self.before[1])
