"""The gradient formulas of the op table, as nodes.

A formula is Python text over g (the upstream gradient), a, b, c (the arguments) and y (the
result); its operators and functions are ops of the table.
"""

import ast
from collections.abc import Mapping
from functools import cache

from tilegen.ir.build import Builder
from tilegen.ir.graph import Node
from tilegen.ir.ops import CALL, TABLE

OPERATORS: Mapping[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Eq: "eq",
    ast.Gt: "gt",
    ast.GtE: "ge",
}

#: A bound n that is a number makes a clamp of it, and PyTorch passes all of the gradient at it.
AT_NUMBERS = {
    "maximum": "where(x >= n, g, 0.0)",
    "minimum": "where(x <= n, g, 0.0)",
}


def of_argument(build: Builder, node: Node, position: int, upstream: Node) -> Node | None:
    """The gradient that a pointwise node passes to one of its arguments; None if there is none."""
    if node.op in AT_NUMBERS and is_number(node.args[1 - position]):
        values = {"g": upstream, "x": node.args[position], "n": node.args[1 - position]}
        return evaluated(build, AT_NUMBERS[node.op], values)
    formulas = TABLE[node.op].gradient
    if not formulas or not formulas[position]:
        return None
    values = {"g": upstream, "y": node, **dict(zip("abc", node.args, strict=False))}
    return evaluated(build, formulas[position], values)


def is_number(node: Node) -> bool:
    """Whether a value is a number to PyTorch, and no tensor: made of parameters by operators."""
    plain = node.op in ("const", "param", "size", "cast")
    operator = node.op in TABLE and TABLE[node.op].level != CALL
    return not node.dims and (plain or operator) and all(is_number(arg) for arg in node.args)


def evaluated(build: Builder, formula: str, values: Mapping[str, Node]) -> Node:
    """The node of a formula whose variables are these nodes."""
    return _node(build, _parsed(formula), values)


@cache
def _parsed(formula: str) -> ast.expr:
    return ast.parse(formula, mode="eval").body


def _node(build: Builder, part: ast.expr, values: Mapping[str, Node]) -> Node:
    match part:
        case ast.Name(name):
            return values[name]
        case ast.Constant(value) if isinstance(value, float):
            return build.const(value)
        case ast.UnaryOp(ast.USub(), ast.Constant(value)) if isinstance(value, float):
            return build.const(-value)
        case ast.UnaryOp(ast.USub(), operand):
            return build.op("neg", _node(build, operand, values))
        case ast.BinOp(left, operator, right) | ast.Compare(left, [operator], [right]):
            sides = (_node(build, left, values), _node(build, right, values))
            return build.op(OPERATORS[type(operator)], *sides)
        case ast.Call(ast.Name(name), args):
            return build.op(name, *(_node(build, arg, values) for arg in args))
    raise ValueError(f"a gradient formula has {ast.unparse(part)!r}")
