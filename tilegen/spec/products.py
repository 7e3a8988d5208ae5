"""The types in which a product multiplies (rule 5 of the language): its operands, narrowed.

A tensor stays in its stored type, so that tensor cores take it as it is. What was computed is
rounded to the stored type of the other operand; if both were computed, to that of the spec's
first floating tensor. An explicit cast says the type itself: `cast(x, f32)` keeps fp32.

The types of two tensors may be known only at the call. They must be equal then, and the launcher
refuses others: no type is chosen behind a user's back. Types that the spec fixes may differ: both
operands are brought to the narrowest type that holds either.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tilegen import errors
from tilegen.ir import types
from tilegen.ir.graph import Node, Operand
from tilegen.ir.rules import is_held
from tilegen.ir.types import DType
from tilegen.spec.places import here


@dataclass(frozen=True, slots=True)
class Factors:
    """The operands of a product as it multiplies them.

    Attributes:
        nodes: the two, each in the type `operand`.
        operand: that type.
        accumulator: the type of the sum.
    """

    nodes: tuple[Node, Node]
    operand: DType
    accumulator: DType


def factors(a: Node, b: Node, tensors: Sequence[Operand]) -> Factors:
    """Bring two values to the type in which they are multiplied.

    Args:
        a: the left operand.
        b: the right one.
        tensors: the tensors of the spec.

    Raises:
        BadType: their types do not go together, or are none that can be multiplied.
    """
    a, b = _counted(a, b), _counted(b, a)
    if a.dtype != b.dtype:
        raise errors.BadType(
            "a product of integers and floats", here(),
            "cast the integers: cast(x, bf16) @ w, or cast(x, w.dtype) @ w",
        )  # fmt: skip
    held = _held(a, tensors), _held(b, tensors)
    operand = _operand(held, a.dtype, tensors)
    whole = operand.kind == "int"
    nodes = _narrowed(a, held[0], operand), _narrowed(b, held[1], operand)
    return Factors(nodes, operand, types.i32 if whole else types.real)


def _counted(node: Node, other: Node) -> Node:
    """Booleans as 0 and 1 in the type of the other operand."""
    if node.dtype.kind != "bool" or other.dtype.kind == "bool":
        return node
    return Node("cast", (node,), node.dims, dtype=other.dtype, attrs={"to": other.dtype})


def _held(node: Node, tensors: Sequence[Operand]) -> DType | None:
    """The storage type that a value is in without a further rounding; None if it was computed."""
    while node.op in ("take", "detach"):
        node = node.args[0]
    if node.op == "load":
        return _stored(node.attrs["tensor"], node.dtype, tensors)
    to: DType = node.attrs["to"] if node.op == "cast" else types.real
    if to.like:
        return _stored(to.like, to, tensors)
    return to if to.bits else None


def _stored(name: str, dtype: DType, tensors: Sequence[Operand]) -> DType:
    """The type in which a tensor is stored: fixed, or known at the call."""
    fixed = next((t.dtype for t in tensors if t.name == name and t.dtype.bits), None)
    return fixed or types.like(name, dtype.kind)


def _operand(
    held: tuple[DType | None, DType | None], dtype: DType, tensors: Sequence[Operand]
) -> DType:
    """The type in which to multiply values that are held in these types."""
    a, b = held[0] or held[1], held[1] or held[0]
    if a is None or b is None:
        same = (t for t in tensors if types.computed(t.dtype) == dtype)
        first = next((_stored(t.name, dtype, tensors) for t in same), dtype)
        a = b = types.f32 if first is types.real else first
    if dtype.kind == "float":
        return _holding(a, b)
    if a != b or a.bits != 8 or a.kind != "int":
        raise errors.BadType(
            f"a product of {a} and {b}", here(),
            'integers are multiplied as int8 by int8, or as uint8 by uint8: dtypes={"x": i8}; or '
            "cast both to floats",
        )  # fmt: skip
    return a


def _holding(a: DType, b: DType) -> DType:
    """The narrowest floating type that holds the values of both; the fixed one of two if one is."""
    if a == b or not b.bits:
        return a
    if not a.bits:
        return b
    if a.bits != b.bits:
        return max(a, b, key=lambda dtype: dtype.bits)
    return types.f16 if a.bits == 8 else types.f32


def _narrowed(node: Node, held: DType | None, operand: DType) -> Node:
    """A value in the type of the operands; as it is where that may be its type at the call."""
    maybe = held is not None and operand != types.f32 and not (held.bits and operand.bits)
    if is_held(node, operand) and (held == operand or maybe):
        return node
    return Node("narrow", (node,), node.dims, dtype=node.dtype, attrs={"to": operand})
