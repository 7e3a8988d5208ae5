"""The gradients of the op table: against sympy, against differences in fp64, and at kinks against PyTorch.

Every row goes through: one whose gradient nobody checks fails, and so does one without a gradient
that is not piecewise constant.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest
import sympy
import torch

from tilegen.ir import types
from tilegen.ir.build import Builder
from tilegen.ir.derivatives import of_argument
from tilegen.ir.graph import Node
from tilegen.ir.ops import TABLE, Op

BUILD = Builder({})
UPSTREAM = 1.5
REAL_ROWS = [op for op in TABLE.values() if "float" in op.takes]
WITH_GRADIENT = [op for op in TABLE.values() if op.gradient]
POSITIONS = [(op, at) for op in WITH_GRADIENT for at, formula in enumerate(op.gradient) if formula]
IDS = [f"{op.name}-{'abc'[at]}" for op, at in POSITIONS]

#: Away from kinks and steps: no two are equal, and no quotient of two is whole.
SMOOTH = ("-2.3", "-0.7", "-0.31", "0.29", "0.61", "1.7", "3.2")
EDGES = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.5, 3.0, 100.0, -800.0, math.inf, -math.inf, math.nan)


def arguments(op: Op) -> list[Node]:
    """Nodes that stand for tensors, the condition of `where` for one of truth values."""
    return [
        Node("load", dtype=types.bool_ if _is_condition(op, at) else types.real)
        for at in range(op.arity)
    ]


def _is_condition(op: Op, position: int) -> bool:
    return op.name == "where" and position == 0


def points(op: Op, values: Sequence[Any]) -> Iterable[tuple[Any, ...]]:
    columns = [(False, True) if _is_condition(op, at) else values for at in range(op.arity)]
    return itertools.product(*columns)


class Formula:
    """The gradient by one argument, as the nodes that `derivatives` makes of the row's text."""

    def __init__(self, op: Op, position: int, numbers: Mapping[int, float] | None = None) -> None:
        self.args = arguments(op)
        for at, value in (numbers or {}).items():
            self.args[at] = BUILD.const(value)
        self.result, self.upstream = BUILD.op(op.name, *self.args), Node("load", dtype=types.real)
        node = of_argument(BUILD, self.result, position, self.upstream)
        assert node is not None
        self.node = node

    def value(
        self,
        rules: Callable[[str], Callable[..., Any]],
        args: Sequence[Any],
        g: Any,
        constant: Callable[[str], Any] = float,
    ) -> Any:
        """The value, by what `rules` says of an op's name and `constant` of a number's text."""
        known = {self.upstream: g, **dict(zip(self.args, args, strict=True))}

        def of(node: Node) -> Any:
            if node not in known:
                known[node] = (
                    constant(repr(node.attrs["value"]))
                    if node.op == "const"
                    else rules(node.op)(*map(of, node.args))
                )
            return known[node]

        return of(self.node)

    def number(self, *args: float) -> float:
        return float(self.value(lambda name: TABLE[name].fold, args, UPSTREAM))


# ---- sympy -------------------------------------------------------------------------------------


class Whole(sympy.Function):  # type: ignore[misc]
    """The largest integer below: sympy's own floor has no derivative, where this has 0."""

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        return sympy.Integer(0)


def _chosen(condition: Any, a: Any, b: Any) -> sympy.Expr:
    return sympy.Piecewise((a, condition), (b, True))


#: What the rows are, by their definition; nothing here is taken from the table.
DEFINITIONS: Mapping[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "floordiv": lambda a, b: Whole(a / b),
    "mod": lambda a, b: a - b * Whole(a / b),
    "pow": lambda a, b: a**b,
    "neg": lambda a: -a,
    "and": sympy.And,
    "or": sympy.Or,
    "lt": sympy.Lt,
    "le": sympy.Le,
    "eq": sympy.Eq,
    "gt": sympy.Gt,
    "ge": sympy.Ge,
    "where": _chosen,
    "maximum": lambda a, b: _chosen(a > b, a, b),
    "minimum": lambda a, b: _chosen(a < b, a, b),
    "clamp": lambda x, low, high: _chosen(
        low > high, high, _chosen(x < low, low, _chosen(x > high, high, x))
    ),
    "relu": lambda a: _chosen(a > 0, a, 0),
    "exp": sympy.exp,
    "exp2": lambda a: 2**a,
    "expm1": lambda a: sympy.exp(a) - 1,
    "log": sympy.log,
    "log1p": lambda a: sympy.log(1 + a),
    "log2": lambda a: sympy.log(a) / sympy.log(2),
    "sqrt": sympy.sqrt,
    "rsqrt": lambda a: 1 / sympy.sqrt(a),
    "tanh": sympy.tanh,
    "sigmoid": lambda a: 1 / (1 + sympy.exp(-a)),
    "erf": sympy.erf,
    "gelu": lambda a: a * (1 + sympy.erf(a / sympy.sqrt(2))) / 2,
    "sin": sympy.sin,
    "cos": sympy.cos,
    "abs": lambda a: _chosen(a > 0, a, -a),
}


@pytest.mark.parametrize(("op", "position"), POSITIONS, ids=IDS)
def test_the_formula_is_the_derivative(op: Op, position: int) -> None:
    """As expressions of sympy, to as many digits as the constants in a formula have."""
    symbols = [
        sympy.Symbol(name) if _is_condition(op, at) else sympy.Symbol(name, real=True)
        for at, name in enumerate("abc"[: op.arity])
    ]
    g = sympy.Symbol("g", real=True)
    formula = sympy.sympify(
        Formula(op, position).value(DEFINITIONS.__getitem__, symbols, g, sympy.Rational)
    )
    derivative = g * sympy.diff(DEFINITIONS[op.name](*symbols), symbols[position])
    compared = 0
    for point in points(op, [sympy.Rational(text) for text in SMOOTH]):
        values = {g: sympy.Rational(3, 2), **dict(zip(symbols, point, strict=True))}
        ours, right = (
            part.subs(values).replace(Whole, sympy.floor).evalf(30)
            for part in (formula, derivative)
        )
        if not right.is_real or len(set(point)) < len(point):
            continue
        compared += 1
        assert abs(ours - right) <= 4e-16 * (1 + abs(right)), (point, ours, right)
    assert compared >= 3


# ---- finite differences ------------------------------------------------------------------------


def difference(op: Op, point: Sequence[Any], position: int, step: float = 1e-4) -> float:
    """A central difference of fourth order of the row's fold."""

    def at(steps: int) -> float:
        moved = [*point]
        moved[position] += steps * step
        return float(op.fold(*moved))

    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)


@pytest.mark.parametrize("op", REAL_ROWS, ids=[op.name for op in REAL_ROWS])
def test_the_formula_is_the_slope(op: Op) -> None:
    """Of a row without a gradient, or of an argument without one, the slope is 0."""
    compared = 0
    for position in range(op.arity):
        if _is_condition(op, position):
            continue
        has_one = bool(op.gradient) and bool(op.gradient[position])
        formula = Formula(op, position) if has_one else None
        for point in points(op, [float(text) for text in SMOOTH]):
            if len(set(point)) < len(point) or math.isnan(op.fold(*point)):
                continue
            compared += 1
            slope = UPSTREAM * difference(op, point, position)
            ours = formula.number(*point) if formula else 0.0
            assert math.isclose(ours, slope, rel_tol=1e-8, abs_tol=1e-9), (point, ours, slope)
    assert compared >= 3


@pytest.mark.parametrize("op", TABLE.values(), ids=TABLE)
def test_only_rows_of_real_numbers_have_a_gradient_for_each_argument(op: Op) -> None:
    assert len(op.gradient) in (0, op.arity)
    if op.gradient:
        assert "float" in op.takes
        assert op.result in ("real", "same")


# ---- kinks -------------------------------------------------------------------------------------

#: What a reference calls for tensors, where the row's own text is for a kernel.
BY_TORCH = {"clamp": "torch.clamp({0}, {1}, {2})", "where": "torch.where({0}, {1}, {2})"}
NAMES = {
    "inf": math.inf,
    "nan": math.nan,
    "torch": torch,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
}


def by_autograd(text: str, args: Sequence[Any], position: int) -> float:
    """The gradient of a text in PyTorch by one argument; those that are floats are tensors."""
    tensors = {
        name: torch.tensor(arg, dtype=torch.float64 if isinstance(arg, float) else None)
        for name, arg in zip("abc", args, strict=False)
    }
    wanted = tensors["abc"[position]].requires_grad_()
    result = eval(text.format(*"abc"), {**NAMES, **tensors})
    (gradient,) = torch.autograd.grad(result, wanted, torch.tensor(UPSTREAM).double())
    return float(gradient)


def same(ours: float, right: float) -> bool:
    if math.isnan(right) or math.isnan(ours):
        return math.isnan(right) and math.isnan(ours)
    return ours == right or math.isclose(ours, right, rel_tol=1e-14, abs_tol=1e-15)


@pytest.mark.parametrize(("op", "position"), POSITIONS, ids=IDS)
def test_edges_and_ties_have_the_gradient_of_pytorch(op: Op, position: int) -> None:
    formula, text = Formula(op, position), BY_TORCH.get(op.name, op.torch)
    wrong = [
        f"{op.name}{point}: {ours}, in PyTorch {right}"
        for point in points(op, EDGES)
        for ours, right in [(formula.number(*point), by_autograd(text, point, position))]
        if not same(ours, right)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("name", "bound"), [("maximum", "min"), ("minimum", "max")])
@pytest.mark.parametrize("position", [0, 1])
def test_a_bound_that_is_a_number_passes_all_at_a_tie(name: str, bound: str, position: int) -> None:
    for number, x in itertools.product(EDGES, EDGES):
        formula = Formula(TABLE[name], position, {1 - position: number})
        args = [x, x]
        args[1 - position] = number
        right = by_autograd(f"{{0}}.clamp({bound}={number})", [x], 0)
        assert formula.number(*args) == right


def test_bounds_of_clamp_that_are_numbers() -> None:
    for x, low, high in itertools.product(EDGES, EDGES, EDGES):
        formula = Formula(TABLE["clamp"], 0, {1: low, 2: high})
        assert formula.number(x, low, high) == by_autograd(f"{{0}}.clamp({low}, {high})", [x], 0)
