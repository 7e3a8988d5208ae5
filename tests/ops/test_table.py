"""Every row of the op table: its fold against its torch text, on fp64, integers and booleans."""

import itertools
import math
from typing import Any

import pytest
import torch

from tilegen.ir.ops import ADD, AND, CALL, COMPARE, MULTIPLY, OR, SHIFT, TABLE, UNARY, XOR, Op

INF, NAN = math.inf, math.nan
REALS = (
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.0, INF, -INF, NAN, 1e-30, -1e-30,
    1e-300, 1e30, -1e30, 1e300, 9.0, 20.0, -20.0, 36.9, 88.0, -88.0, 710.0, -710.0, -750.0, 1024.0,
    -1074.0, 1e-9, -1e-9, 0.1, 7.0,
)  # fmt: skip
PAIRS = (
    0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, -2.0, INF, -INF, NAN, 1e-30, 1e30, 1e300, -1e300, 710.0,
)  # fmt: skip
TRIPLES = (0.0, -0.0, 1.0, -1.0, 2.5, INF, -INF, NAN)
INTEGERS = (0, 1, -1, 2, 3, -3, 5, -7, 31, 62, 1000, -1000)
BOOLEANS = (False, True)

Number = float | int | bool

NAMES: dict[str, Any] = {
    "torch": torch,
    "where": torch.where,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
}
DTYPES = {"float": torch.float64, "int": torch.int64, "bool": torch.bool}
#: The error that the two libraries' functions may have between them; the other ops are exact.
ULPS = {
    "exp": 2, "exp2": 2, "expm1": 2, "log": 2, "log1p": 2, "log2": 2, "sqrt": 1, "rsqrt": 2,
    "tanh": 4, "sigmoid": 4, "erf": 4, "gelu": 1, "sin": 2, "cos": 2, "pow": 4,
}  # fmt: skip
#: Their error is in units of the argument's last place: 1 + erf(x) is a difference below 0.
CANCELLING = ("gelu",)
#: The sign of a zero is not defined here, by IEEE 754 as little as by PyTorch.
UNSIGNED = ("maximum", "minimum", "clamp", "relu")

ROWS = [(op, kind) for op in TABLE.values() for kind in op.takes]


def arguments(op: Op, kind: str) -> list[tuple[Number, ...]]:
    """What a row is tried with: all combinations of a list of edge values."""
    values: dict[str, tuple[Number, ...]]
    values = {"float": (REALS, PAIRS, TRIPLES)[op.arity - 1], "int": INTEGERS, "bool": BOOLEANS}
    lists = [values[kind]] * op.arity
    if op.name == "where":
        lists[0] = BOOLEANS
    return list(itertools.product(*lists))


def by_torch(op: Op, kind: str, args: tuple[Number, ...]) -> Number | None:
    """The row's torch text on these numbers, or None where PyTorch refuses."""
    dtypes = [DTYPES[kind]] * op.arity
    if op.name == "where":
        dtypes[0] = torch.bool
    tensors = {
        name: torch.tensor(arg, dtype=dtype)
        for name, arg, dtype in zip("abc", args, dtypes, strict=False)
    }
    text = op.torch.format(*tensors)
    try:
        result = eval(text, {**NAMES, **tensors})
    except RuntimeError:
        return None
    number: Number = result.item()
    return number


def by_fold(op: Op, args: tuple[Number, ...]) -> Number | None:
    """The row's fold, or None where it refuses, as the passes see it."""
    try:
        result = op.fold(*args)
    except (ArithmeticError, ValueError, TypeError):
        return None
    # Integers are int64 in the other column.
    return result if isinstance(result, float) or abs(result) < 2**63 else None


def agree(op: Op, args: tuple[Number, ...], a: Number, b: Number) -> bool:
    if not isinstance(a, float) or math.isnan(a):
        return a == b or (math.isnan(a) and math.isnan(b))
    if a == b:
        return op.name in UNSIGNED or math.copysign(1, a) == math.copysign(1, b)
    unit = math.ulp(args[0] if op.name in CANCELLING else b)
    return math.isfinite(a) and abs(a - b) <= ULPS.get(op.name, 0) * unit


@pytest.mark.parametrize(("op", "kind"), ROWS, ids=[f"{op.name}-{kind}" for op, kind in ROWS])
def test_fold_agrees_with_torch(op: Op, kind: str) -> None:
    wrong, compared = [], 0
    for args in arguments(op, kind):
        ours, theirs = by_fold(op, args), by_torch(op, kind, args)
        if ours is None or theirs is None or _unshiftable(op, args):
            continue
        compared += 1
        if not agree(op, args, ours, theirs):
            wrong.append(f"{op.name}{args}: fold {ours!r}, torch {theirs!r}")
    assert not wrong, "\n".join(wrong)
    assert compared >= min(2**op.arity, len(arguments(op, kind)) // 2)


def _unshiftable(op: Op, args: tuple[Number, ...]) -> bool:
    return op.name in ("shl", "shr") and not 0 <= args[1] < 64


@pytest.mark.parametrize("op", TABLE.values(), ids=TABLE)
def test_real_arguments_never_fail(op: Op) -> None:
    """A fold that raises would leave the constant in the kernel, which nobody would notice."""
    if "float" in op.takes:
        assert [args for args in arguments(op, "float") if by_fold(op, args) is None] == []


@pytest.mark.parametrize(("op", "kind"), ROWS, ids=[f"{op.name}-{kind}" for op, kind in ROWS])
def test_fold_gives_the_type_that_the_row_says(op: Op, kind: str) -> None:
    result = {"real": "float", "bool": "bool", "same": kind}[op.result]
    wanted = {"float": float, "int": int, "bool": bool}[result]
    given = {type(by_fold(op, args)) for args in arguments(op, kind)} - {type(None)}
    assert given == {wanted}


@pytest.mark.parametrize("op", TABLE.values(), ids=TABLE)
def test_rows_make_sense(op: Op) -> None:
    assert TABLE[op.name] is op
    assert op.result in ("real", "bool", "same")
    assert op.takes
    assert set(op.takes) <= set(DTYPES)
    assert op.flops >= 0
    assert op.special >= 0
    for text in (op.triton, op.torch):
        assert text.format(*"abc"[: op.arity])
        assert all(f"{{{i}}}" in text for i in range(op.arity))


@pytest.mark.parametrize("op", TABLE.values(), ids=TABLE)
def test_levels_are_those_of_the_text(op: Op) -> None:
    """By them the printer places parentheses."""
    levels = {"|": OR, "^": XOR, "&": AND, "<<": SHIFT, ">>": SHIFT, "+": ADD, "-": ADD}
    levels |= {"*": MULTIPLY, "/": MULTIPLY}
    for text in (op.torch, op.triton):
        if text.endswith(")"):
            assert op.level == CALL
        elif op.arity == 1:
            assert op.level == UNARY
        else:
            assert op.level == levels.get(text.split(" ")[1], COMPARE)
