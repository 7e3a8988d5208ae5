"""The op table: the one home of every pointwise op.

A row holds an op's arity, the type of its result, its text in Triton and in PyTorch, how many
flops it counts for, how many of them go to the special-function unit, and what it gives for
arguments of known value (`fold`: for constants, and to know what padded lanes hold). Texts are
format strings over the arguments; `level` is the precedence of the text, by which the printer
places parentheses. Gradients are formulas over the upstream gradient g, the arguments a, b, c and
the result y, in the ops of this table; `derivatives` makes nodes of them. Adding an op is adding a
row: the tests run over the table.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from tilegen.ir.types import Kind

# Precedence of a Python expression, loosest first.
CONDITIONAL, COMPARE, OR, XOR, AND, SHIFT, ADD, MULTIPLY, UNARY, POWER, CALL = range(11)

# What an op takes.
REALS: tuple[Kind, ...] = ("float",)
NUMBERS: tuple[Kind, ...] = ("float", "int")
INTEGERS: tuple[Kind, ...] = ("int",)
BITS: tuple[Kind, ...] = ("int", "bool")
ALL: tuple[Kind, ...] = ("float", "int", "bool")

Number = float | int | bool


@dataclass(frozen=True, slots=True)
class Op:
    """A row of the table.

    Attributes:
        name: of the op in a graph.
        arity: number of arguments.
        result: "real", "bool", or "same" (the common type of the arguments).
        triton: text in a kernel; plain names are helpers of `_runtime.py`.
        torch: text in a reference.
        fold: the value for known arguments.
        level: precedence of both texts.
        flops: counted for one element.
        special: evaluations of the special-function unit for one element.
        takes: the kinds that the common type of its arguments may have.
        gradient: for each argument its gradient, which at a kink is PyTorch's; empty if it has
            none, as where the op is piecewise constant.
    """

    name: str
    arity: int
    result: str
    triton: str
    torch: str
    fold: Callable[..., Number]
    level: int = CALL
    flops: int = 1
    special: int = 0
    takes: tuple[Kind, ...] = REALS
    gradient: tuple[str, ...] = ()

    @property
    def integers(self) -> bool:
        """Whether integer arguments stay integers (else they become real)."""
        return "int" in self.takes


def _overflowing(function: Callable[[float], float]) -> Callable[[float], float]:
    """The function with infinity in place of an OverflowError."""

    def safe(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return math.inf

    return safe


def _quotient(a: float, b: float) -> float:
    if b != 0:
        return a / b
    sign = math.copysign(1.0, a) * math.copysign(1.0, b)
    return math.nan if a == 0 or math.isnan(a) else sign * math.inf


def _floor_quotient(a: float, b: float) -> float:
    return _quotient(a, b) if b == 0 and isinstance(b, float) else a // b


def _remainder(a: float, b: float) -> float:
    """The remainder that has the sign of b; a zero has that of a, as in PyTorch."""
    if not isinstance(a, float):
        return a % b
    if math.isinf(a) or b == 0:
        return math.nan
    rest = math.fmod(a, b)
    return rest + b if rest != 0 and (rest < 0) != (b < 0) else rest


def _logarithm(function: Callable[[float], float], pole: float) -> Callable[[float], float]:
    """The logarithm with -infinity at its pole and NaN below it."""
    return lambda a: function(a) if a > pole else -math.inf if a == pole else math.nan


def _power(a: float, b: float) -> float:
    odd = math.isfinite(b) and b % 2 == 1
    infinity = math.copysign(math.inf, a) if odd else math.inf
    try:
        return math.pow(a, b)
    except OverflowError:
        return infinity
    except ValueError:
        return infinity if a == 0 else math.nan


def _larger(a: float, b: float) -> float:
    return math.nan if math.isnan(a) or math.isnan(b) else max(a, b)


def _smaller(a: float, b: float) -> float:
    return math.nan if math.isnan(a) or math.isnan(b) else min(a, b)


def _clamp(x: float, low: float, high: float) -> float:
    return _smaller(_larger(x, low), high)


def _root(a: float) -> float:
    return math.sqrt(a) if a >= 0 else math.nan


def _whole(function: Callable[[float], int]) -> Callable[[float], float]:
    """A rounding to integers as a float; infinities, NaN and the sign of zero pass through."""
    return lambda a: math.copysign(function(a), a) if math.isfinite(a) else a


_exp = _overflowing(math.exp)

_ARITHMETIC = (
    Op(
        "add", 2, "same", "{0} + {1}", "{0} + {1}", lambda a, b: a + b, ADD, takes=NUMBERS,
        gradient=("g", "g"),
    ),
    Op(
        "sub", 2, "same", "{0} - {1}", "{0} - {1}", lambda a, b: a - b, ADD, takes=NUMBERS,
        gradient=("g", "-g"),
    ),
    Op(
        "mul", 2, "same", "{0} * {1}", "{0} * {1}", lambda a, b: a * b, MULTIPLY, takes=NUMBERS,
        gradient=("g * b", "g * a"),
    ),
    Op(
        "div", 2, "real", "{0} / {1}", "{0} / {1}", _quotient, MULTIPLY, special=1,
        gradient=("g / b", "-(g / b) * y"),
    ),
    Op(
        "floordiv", 2, "same", "floor_divide({0}, {1})", "torch.floor_divide({0}, {1})",
        _floor_quotient, flops=4, takes=NUMBERS,
    ),
    Op(
        "mod", 2, "same", "floor_mod({0}, {1})", "torch.remainder({0}, {1})",
        _remainder, flops=4, takes=NUMBERS,
        gradient=("g", "-g * floordiv(a, b)"),
    ),
    Op(
        "pow", 2, "real", "power({0}, {1})", "torch.pow({0}, {1})", _power, flops=8, special=2,
        gradient=(
            "where(b == 0.0, 0.0, g * b * pow(a, b - 1.0))",
            "where((a == 0.0) & (b >= 0.0), 0.0, g * y * log(a))",
        ),
    ),
    Op(
        "neg", 1, "same", "-{0}", "-{0}", lambda a: -a, UNARY, takes=NUMBERS,
        gradient=("-g",),
    ),
)  # fmt: skip

_BITS = (
    Op("and", 2, "same", "{0} & {1}", "{0} & {1}", lambda a, b: a & b, AND, takes=BITS),
    Op("or", 2, "same", "{0} | {1}", "{0} | {1}", lambda a, b: a | b, OR, takes=BITS),
    Op("xor", 2, "same", "{0} ^ {1}", "{0} ^ {1}", lambda a, b: a ^ b, XOR, takes=BITS),
    Op(
        "not", 1, "same", "~{0}", "~{0}",
        lambda a: (not a) if isinstance(a, bool) else ~a, UNARY, takes=BITS,
    ),
    Op("shl", 2, "same", "{0} << {1}", "{0} << {1}", lambda a, b: a << b, SHIFT, takes=INTEGERS),
    Op("shr", 2, "same", "{0} >> {1}", "{0} >> {1}", lambda a, b: a >> b, SHIFT, takes=INTEGERS),
)  # fmt: skip

_COMPARISONS = (
    Op("lt", 2, "bool", "{0} < {1}", "{0} < {1}", lambda a, b: a < b, COMPARE, takes=ALL),
    Op("le", 2, "bool", "{0} <= {1}", "{0} <= {1}", lambda a, b: a <= b, COMPARE, takes=ALL),
    Op("eq", 2, "bool", "{0} == {1}", "{0} == {1}", lambda a, b: a == b, COMPARE, takes=ALL),
    Op("ne", 2, "bool", "{0} != {1}", "{0} != {1}", lambda a, b: a != b, COMPARE, takes=ALL),
    Op("gt", 2, "bool", "{0} > {1}", "{0} > {1}", lambda a, b: a > b, COMPARE, takes=ALL),
    Op("ge", 2, "bool", "{0} >= {1}", "{0} >= {1}", lambda a, b: a >= b, COMPARE, takes=ALL),
)

_SELECTION = (
    Op(
        "where", 3, "same", "tl.where({0}, {1}, {2})", "where({0}, {1}, {2})",
        lambda c, a, b: a if c else b, takes=ALL,
        gradient=("", "where(a, g, 0.0)", "where(a, 0.0, g)"),
    ),
    Op(
        "maximum", 2, "same", "maximum({0}, {1})", "maximum({0}, {1})", _larger, takes=ALL,
        gradient=(
            "where(a < b, 0.0, where(a == b, 0.5 * g, g))",
            "where(b < a, 0.0, where(a == b, 0.5 * g, g))",
        ),
    ),
    Op(
        "minimum", 2, "same", "minimum({0}, {1})", "minimum({0}, {1})", _smaller, takes=ALL,
        gradient=(
            "where(a > b, 0.0, where(a == b, 0.5 * g, g))",
            "where(b > a, 0.0, where(a == b, 0.5 * g, g))",
        ),
    ),
    Op(
        "clamp", 3, "same", "minimum(maximum({0}, {1}), {2})",
        "minimum(maximum({0}, {1}), {2})", _clamp, flops=2, takes=NUMBERS,
        gradient=(
            "where((a >= b) & (a <= c), g, 0.0)",
            "where((b < c) & (a < b), g, 0.0)",
            "where((a > c) | (c < b), g, 0.0)",
        ),
    ),
    Op(
        "relu", 1, "same", "maximum({0}, 0.0)", "torch.relu({0})", lambda a: _larger(a, 0.0),
        gradient=("where(a <= 0.0, 0.0, g)",),
    ),
)  # fmt: skip

_FUNCTIONS = (
    Op(
        "exp", 1, "real", "exp({0})", "torch.exp({0})", _exp, special=1,
        gradient=("g * y",),
    ),
    Op(
        "exp2", 1, "real", "tl.exp2({0})", "torch.exp2({0})",
        _overflowing(lambda a: 2.0**a), special=1,
        gradient=("g * y * 0.6931471805599453",),
    ),
    Op(
        "expm1", 1, "real", "expm1({0})", "torch.expm1({0})", _overflowing(math.expm1), special=1,
        gradient=("g * (y + 1.0)",),
    ),
    Op(
        "log", 1, "real", "tl.log({0})", "torch.log({0})", _logarithm(math.log, 0), special=1,
        gradient=("g / a",),
    ),
    Op(
        "log1p", 1, "real", "log1p({0})", "torch.log1p({0})",
        _logarithm(math.log1p, -1), special=1,
        gradient=("g / (a + 1.0)",),
    ),
    Op(
        "log2", 1, "real", "tl.log2({0})", "torch.log2({0})",
        _logarithm(math.log2, 0), special=1,
        gradient=("g / (a * 0.6931471805599453)",),
    ),
    Op(
        "sqrt", 1, "real", "tl.sqrt({0})", "torch.sqrt({0})", _root, special=1,
        gradient=("0.5 * g / y",),
    ),
    Op(
        "rsqrt", 1, "real", "tl.rsqrt({0})", "torch.rsqrt({0})",
        lambda a: _quotient(1.0, _root(a)), special=1,
        gradient=("-0.5 * g * (y * y * y)",),
    ),
    Op(
        "tanh", 1, "real", "tanh({0})", "torch.tanh({0})", math.tanh, special=2, flops=15,
        gradient=("g * (1.0 - y * y)",),
    ),
    Op(
        "sigmoid", 1, "real", "sigmoid({0})", "torch.sigmoid({0})",
        lambda a: 1 / (1 + _exp(-a)),
        special=2, flops=3,
        gradient=("g * (y * (1.0 - y))",),
    ),
    Op(
        "erf", 1, "real", "erf({0})", "torch.erf({0})", math.erf, special=1, flops=16,
        gradient=("g * (1.1283791670955126 * exp(-(a * a)))",),
    ),
    Op(
        "gelu", 1, "real", "exact_gelu({0})", "torch.nn.functional.gelu({0})",
        lambda a: 0.5 * a * (1.0 + math.erf(a * math.sqrt(0.5))), special=1, flops=12,
        gradient=(
            "g * (0.5 + 0.5 * erf(a * 0.7071067811865476) + "
            "a * (0.3989422804014327 * exp(-0.5 * (a * a))))",
        ),
    ),
    Op(
        "sin", 1, "real", "tl.sin({0})", "torch.sin({0})",
        lambda a: math.sin(a) if math.isfinite(a) else math.nan, special=1,
        gradient=("g * cos(a)",),
    ),
    Op(
        "cos", 1, "real", "tl.cos({0})", "torch.cos({0})",
        lambda a: math.cos(a) if math.isfinite(a) else math.nan, special=1,
        gradient=("-g * sin(a)",),
    ),
    Op(
        "abs", 1, "same", "tl.abs({0})", "torch.abs({0})", abs, takes=NUMBERS,
        gradient=("where(a > 0.0, g, where(a < 0.0, -g, 0.0))",),
    ),
    Op("floor", 1, "real", "tl.floor({0})", "torch.floor({0})", _whole(math.floor)),
    Op("round", 1, "real", "round_even({0})", "torch.round({0})", _whole(round)),
)  # fmt: skip

TABLE: dict[str, Op] = {
    op.name: op
    for op in (*_ARITHMETIC, *_BITS, *_COMPARISONS, *_SELECTION, *_FUNCTIONS)
}  # fmt: skip
