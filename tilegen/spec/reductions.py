"""The reductions of the language: `f(x, over=last dimension, or one, or several)`."""

import math

from tilegen import errors
from tilegen.ir import types
from tilegen.ir.types import DType
from tilegen.spec.dims import DimType, Over
from tilegen.spec.functions import cast, exp
from tilegen.spec.functions import where as select
from tilegen.spec.places import here
from tilegen.spec.value import Value, build


def _reduce(monoid: str, x: Value, over: Over | None, dtype: DType, **attrs: object) -> Value:
    if not isinstance(x, Value):
        raise errors.UnsupportedFunction(
            f"{monoid}() of {type(x).__name__}",
            here(),
            "a reduction takes one value: maximum(a, b)",
        )
    if not x.dims:
        raise errors.MismatchedDimensions(f"{monoid}() of a value without dimensions", here())
    dims: tuple[DimType, ...]
    dims = (x.dims[-1],) if over is None else over if isinstance(over, tuple) else (over,)
    if not dims or (monoid in ("argmax", "argmin") and len(dims) > 1):
        raise errors.MismatchedDimensions(f"{monoid}() over {len(dims)} dimensions", here())
    for dim in dims:
        if dim not in x.dims:
            had = ", ".join(d.__name__ for d in x.dims)
            raise errors.UnknownDimension(
                f"{monoid}() over {dim.__name__}, but the value has [{had}]", here()
            )
    rest = tuple(dim for dim in x.dims if dim not in dims)
    names = tuple(dim.__name__ for dim in dims)
    return build("reduce", [x.node], rest, dtype, monoid=monoid, over=names, **attrs)


def _state(reduction: Value, position: int) -> Value:
    """One component of a reduction's tuple of states."""
    return build("state", [reduction.node], reduction.dims, types.real, position=position)


def _real(x: Value) -> Value:
    return x if x.node.dtype.kind == "float" else cast(x, types.real)


def _counted(x: Value) -> Value:
    """Booleans as 0 and 1."""
    return cast(x, types.integer) if isinstance(x, Value) and x.node.dtype.kind == "bool" else x


def sum(x: Value, over: Over | None = None) -> Value:
    """Sum; 0 over an empty dimension."""
    counted = _counted(x)
    return _reduce("sum", counted, over, counted.node.dtype)


def mean(x: Value, over: Over | None = None) -> Value:
    """Arithmetic mean."""
    return _reduce("mean", _real(x), over, types.real)


def max(x: Value, over: Over | None = None) -> Value:
    """Largest value; NaN if one is NaN."""
    return _reduce("max", x, over, x.node.dtype)


def min(x: Value, over: Over | None = None) -> Value:
    """Smallest value; NaN if one is NaN."""
    return _reduce("min", x, over, x.node.dtype)


def argmax(x: Value, over: DimType | None = None) -> Value:
    """First position of the largest value; NaN counts as largest."""
    return _reduce("argmax", _counted(x), over, types.integer)


def argmin(x: Value, over: DimType | None = None) -> Value:
    """First position of the smallest value; NaN counts as smallest."""
    return _reduce("argmin", _counted(x), over, types.integer)


def any(x: Value, over: Over | None = None) -> Value:
    """Whether one holds."""
    return _reduce("any", _truth(x), over, types.bool_)


def all(x: Value, over: Over | None = None) -> Value:
    """Whether all hold."""
    return _reduce("all", _truth(x), over, types.bool_)


def _truth(x: Value) -> Value:
    return x if x.node.dtype.kind == "bool" else x != 0


def variance(x: Value, over: Over | None = None, *, correction: int = 0) -> Value:
    """Mean square distance from the mean; `correction=1` divides by n - 1.

    Sums of what is shifted by a part's mean, in passes over a wide row (Chan et al., 1983).
    """
    return _reduce("variance", _real(x), over, types.real, correction=correction)


def _masked(x: Value, mask: Value | None) -> Value:
    return _real(x) if mask is None else select(mask, _real(x), -math.inf)


def logsumexp(x: Value, over: Over | None = None, *, where: Value | None = None) -> Value:
    """log(sum(exp(x))), without overflow; -inf where nothing is visible."""
    return _reduce("logsumexp", _masked(x, where), over, types.real)


def softmax(x: Value, over: Over | None = None, *, where: Value | None = None) -> Value:
    """exp(x) / sum(exp(x)), without overflow.

    With `where`, hidden places are 0, and so is a row in which nothing is visible; without it a
    row of -inf gives NaN, as in PyTorch.
    """
    visible = _masked(x, where)
    reduction = _reduce("logsumexp", visible, over, types.real)
    top, total = _state(reduction, 0), _state(reduction, 1)
    if where is not None:
        total = select(total == 0.0, 1.0, total)
    return exp(visible - top) / total
