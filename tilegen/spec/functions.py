"""The pointwise functions of the language, and those on positions, gathers and random numbers."""

import math

from tilegen import errors
from tilegen.ir import types
from tilegen.ir.types import DType
from tilegen.spec.dims import DimType
from tilegen.spec.places import here
from tilegen.spec.value import (
    Number,
    Value,
    alike,
    as_value,
    build,
    constant,
    pointwise,
    union,
)

Operand = Value | Number


def exp(x: Operand) -> Value:
    """e to the x."""
    return pointwise("exp", x)


def exp2(x: Operand) -> Value:
    """2 to the x."""
    return pointwise("exp2", x)


def expm1(x: Operand) -> Value:
    """exp(x) - 1, exact near 0."""
    return pointwise("expm1", x)


def log(x: Operand) -> Value:
    """Natural logarithm."""
    return pointwise("log", x)


def log1p(x: Operand) -> Value:
    """log(1 + x), exact near 0."""
    return pointwise("log1p", x)


def log2(x: Operand) -> Value:
    """Logarithm to base 2."""
    return pointwise("log2", x)


def sqrt(x: Operand) -> Value:
    """Square root."""
    return pointwise("sqrt", x)


def rsqrt(x: Operand) -> Value:
    """Reciprocal square root."""
    return pointwise("rsqrt", x)


def tanh(x: Operand) -> Value:
    """Hyperbolic tangent."""
    return pointwise("tanh", x)


def sigmoid(x: Operand) -> Value:
    """1 / (1 + exp(-x))."""
    return pointwise("sigmoid", x)


def erf(x: Operand) -> Value:
    """Error function."""
    return pointwise("erf", x)


def sin(x: Operand) -> Value:
    """Sine of radians."""
    return pointwise("sin", x)


def cos(x: Operand) -> Value:
    """Cosine of radians."""
    return pointwise("cos", x)


def abs(x: Operand) -> Value:
    """Absolute value."""
    return pointwise("abs", x)


def floor(x: Operand) -> Value:
    """The largest integer not above x."""
    return pointwise("floor", x)


def round(x: Operand) -> Value:
    """The nearest integer, half to even."""
    return pointwise("round", x)


def maximum(a: Operand, b: Operand) -> Value:
    """The larger of the two; NaN if one is NaN."""
    return pointwise("maximum", a, b)


def minimum(a: Operand, b: Operand) -> Value:
    """The smaller of the two; NaN if one is NaN."""
    return pointwise("minimum", a, b)


def clamp(x: Operand, low: Operand, high: Operand) -> Value:
    """x, not below low, not above high."""
    return pointwise("clamp", x, low, high)


def where(condition: Operand, a: Operand, b: Operand) -> Value:
    """a where the condition holds, else b."""
    if as_value(condition).node.dtype.kind == "float":
        raise errors.BadType("the condition of where() is real", here(), "compare it: x > 0")
    return pointwise("where", condition, a, b)


def relu(x: Operand) -> Value:
    """max(x, 0)."""
    return pointwise("relu", x)


def silu(x: Operand) -> Value:
    """x sigmoid(x): the sigmoid-weighted linear unit (Elfwing et al., 2017)."""
    return as_value(x) * sigmoid(x)


def gelu(x: Operand, approximate: str = "none") -> Value:
    """The Gaussian error linear unit (Hendrycks and Gimpel, 2016).

    `approximate="none"` is x (1 + erf(x / sqrt(2))) / 2, an op of its own. `approximate="tanh"` is
    the usual approximation, written as x sigmoid(2 u), which is the same function as
    x (1 + tanh(u)) / 2 with one exponential.
    """
    if approximate == "none":
        return pointwise("gelu", x)
    if approximate == "tanh":
        v = as_value(x)
        return v * sigmoid(2.0 * math.sqrt(2.0 / math.pi) * (v + 0.044715 * (v * v * v)))
    raise errors.BadOption(f"gelu(approximate={approximate!r})", here(), 'it is "none" or "tanh"')


def softplus(x: Operand) -> Value:
    """log(1 + exp(x)), without overflow."""
    return maximum(x, 0.0) + log1p(exp(-abs(x)))


def mish(x: Operand) -> Value:
    """x tanh(softplus(x)) (Misra, 2019)."""
    return as_value(x) * tanh(softplus(x))


def leaky_relu(x: Operand, slope: Operand = 0.01) -> Value:
    """x where it is positive, else slope x."""
    return where(as_value(x) > 0.0, x, as_value(x) * slope)


def elu(x: Operand, alpha: Operand = 1.0) -> Value:
    """x where it is positive, else alpha (exp(x) - 1) (Clevert et al., 2015)."""
    return where(as_value(x) > 0.0, x, expm1(minimum(x, 0.0)) * alpha)


def cast(x: Operand, dtype: DType) -> Value:
    """Round x to `dtype`; as the last op of an output, the output's storage type.

    Floats to integers saturate and truncate; fp8 saturates.
    """
    if not isinstance(dtype, DType):
        raise errors.BadType(f"cast to {dtype!r}", here(), "write bf16, f32, i8, x.dtype ...")
    value = as_value(x)
    return build("cast", [value.node], value.dims, types.computed(dtype), to=dtype)


def detach(x: Operand) -> Value:
    """x, without a gradient."""
    value = as_value(x)
    return build("detach", [value.node], value.dims, value.node.dtype)


def index(d: DimType) -> Value:
    """The position along d, an integer."""
    return build("index", [], (d,), types.integer)


def size(d: DimType) -> Value:
    """The size of d, an integer."""
    if d.size is not None:
        return constant(d.size)
    return build("size", [], (), types.integer, dim=d.__name__)


def take(x: Value, i: Value | int, d: DimType | None = None) -> Value:
    """x at position i of d (its last dimension if d is None).

    Shared names align. Out of range gives 0 and reads nothing. The dimensions of i stand where d
    stood.
    """
    along = d or (x.dims[-1] if x.dims else None)
    if along is None or along not in x.dims:
        name = along.__name__ if along else "any"
        raise errors.UnknownDimension(f"take along {name}, which the tensor lacks", here())
    at = as_value(i)
    if at.node.dtype.kind != "int":
        raise errors.BadType("take at a position that is no integer", here())
    rest = tuple(k for k in x.dims if k is not along)
    place = x.dims.index(along)
    new = tuple(k for k in at.dims if k not in rest)
    dims = (*rest[:place], *new, *rest[place:])
    return build("take", [x.node, at.node], dims, x.node.dtype, dim=along.__name__)


def stack(*xs: Operand, dim: DimType) -> Value:
    """The values beside each other along a new dimension of fixed size."""
    if dim.size != len(xs):
        raise errors.MismatchedDimensions(
            f"stack of {len(xs)} values along {dim.__name__} of size {dim.size}", here()
        )
    values = alike([as_value(x) for x in xs])
    dims = union(values)
    if dim in dims:
        raise errors.RepeatedDimension(f"stack along {dim.__name__}, which a value has", here())
    nodes = [value.node for value in values]
    return build("stack", nodes, (*dims, dim), nodes[0].dtype, dim=dim.__name__)


def unstack(x: Value, dim: DimType) -> tuple[Value, ...]:
    """The parts of x along a dimension of fixed size."""
    if dim.size is None:
        raise errors.MismatchedDimensions(
            f"unstack along {dim.__name__}, whose size is not fixed",
            here(),
            f"class {dim.__name__}(Dim, size=...)",
        )
    return tuple(take(x, position, dim) for position in range(dim.size))


def uniform(seed: Value | int, *dims: DimType) -> Value:
    """Uniform numbers in [0, 1): Philox 4x32-10 at the row-major position (Salmon et al., 2011)."""
    if as_value(seed).node.dims:
        raise errors.BadType(
            "the seed of uniform has dimensions", here(),
            "one seed is for all elements: an Index[()] or an int; positions tell them apart",
        )  # fmt: skip
    positions = [index(dim).node for dim in dims]
    names = tuple(dim.__name__ for dim in dims)
    return build("uniform", [as_value(seed).node, *positions], dims, types.real, dims=names)
