"""Expressions of a graph as Triton text."""

import math
from collections.abc import Collection, Mapping

from tilegen.ir import types
from tilegen.ir.graph import Node
from tilegen.ir.ops import CALL, TABLE, UNARY


class Printer:
    """Prints nodes, given the names of those that are already variables."""

    def __init__(self, names: Mapping[Node, str], widened: Collection[Node] = ()) -> None:
        self.names, self.widened = names, widened

    def text(self, node: Node, level: int = 0) -> str:
        """The expression of `node`, in parentheses if it binds looser than `level`."""
        text, own = self._expression(node)
        return f"({text})" if own < level else text

    def _expression(self, node: Node) -> tuple[str, int]:
        if node in self.names:
            return self.names[node], CALL
        if node.op == "const":
            return number(node), UNARY if _negative(node) else CALL
        if node.op == "cast":
            return self._cast(node), CALL
        if node.op == "expand":  # a store broadcasts what it stores
            return self._expression(node.args[0])
        row = TABLE[node.op]
        if row.level == CALL:
            args = [self.text(arg, 0) for arg in node.args]
            if len(args) == 1 and is_scalar(node.args[0]):
                args = [f"tl.cast({args[0]}, FLOAT)"]
            text = row.triton.format(*args)
            # Triton makes fp32 of two numbers, whatever the arithmetic is in.
            numbers = node.op == "where" and all(map(is_scalar, node.args[1:]))
            return f"{text}.to(FLOAT)" if numbers and node.dtype.kind == "float" else text, CALL
        if row.arity == 1:
            return row.triton.format(self.text(node.args[0], row.level)), row.level
        left, right = (_plain_number(arg, node) for arg in node.args)
        text = row.triton.format(self.text(left, row.level), self.text(right, row.level + 1))
        return text, row.level

    def _cast(self, node: Node) -> str:
        source, to = node.args[0], node.attrs["to"]
        text = self.text(source, 0)
        if to is types.real:
            if is_scalar(source):
                return f"tl.cast({text}, FLOAT)"
            return f"{self.text(source, CALL)}.to(FLOAT)"
        if to is types.integer:
            return f"{self.text(source, CALL)}.to(tl.int32)"
        storage = f"{to.like}_ptr.dtype.element_ty" if to.like else f"tl.{to.triton}"
        narrowed = f"narrow({text}, {storage})"
        if to.kind != "float":
            return f"at_least_32({narrowed})" if node in self.widened else narrowed
        # The interpreter has no conversion of an fp8 zero to fp64.
        return f"{narrowed}.to(tl.float32).to(FLOAT)" if to.bits == 8 else f"{narrowed}.to(FLOAT)"


def _plain_number(arg: Node, user: Node) -> Node:
    """An integer argument as it is where a tensor beside it makes it real anyway."""
    real = any(not is_scalar(other) for other in user.args if other is not arg)
    return arg.args[0] if arg.op == "cast" and is_scalar(arg) and real else arg


def number(node: Node) -> str:
    """A constant as Triton takes it."""
    value = node.attrs["value"]
    if isinstance(value, float) and not math.isfinite(value):
        return 'float("nan")' if math.isnan(value) else f'float("{value}")'
    return repr(value)


def _negative(node: Node) -> bool:
    value = node.attrs["value"]
    return isinstance(value, float | int) and math.copysign(1.0, value) < 0


def is_scalar(node: Node) -> bool:
    """Whether the kernel holds this as a scalar argument or constant, not as a tensor."""
    return not node.dims and node.op != "load" and all(is_scalar(arg) for arg in node.args)
