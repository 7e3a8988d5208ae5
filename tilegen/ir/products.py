"""The gradient of a product: two products more.

For c = sum of a b over some dimensions, the gradient of a is that of c times b, summed over what
a lacks; and the other way round. A dimension that both have is a batch dimension of all three.
"""

from collections.abc import Iterator

from tilegen.ir import types
from tilegen.ir.build import Builder
from tilegen.ir.graph import Node
from tilegen.ir.types import DType


def of_factors(build: Builder, node: Node, upstream: Node) -> Iterator[tuple[Node, Node]]:
    """The operands of a product, and the gradient that it passes to each.

    The upstream gradient was computed, so it is rounded to the type of the operand that it
    multiplies (rule 5 of the language).
    """
    a, b = node.args
    yield a, _gradient(build, node, upstream, a, b)
    yield b, _gradient(build, node, upstream, b, a)


def _gradient(build: Builder, node: Node, upstream: Node, of: Node, other: Node) -> Node:
    """The upstream gradient times the other operand, over the dimensions that this one lacks."""
    lacks = tuple(dim for dim in node.dims if dim not in of.dims)
    along = tuple(dim for dim in lacks if dim in upstream.dims)
    alike = tuple(dim for dim in lacks if dim not in upstream.dims)
    if alike:
        other = build.reduce("sum", other, alike)
    if not along:
        return build.op("mul", upstream, other)
    to = _multiplied(node.attrs["operand"])
    factors = build.narrow(upstream, to), _in_type(build, other, node.attrs["operand"], to)
    return build.contract(*factors, along, to, node.attrs["accumulator"])


def _multiplied(operand: DType) -> DType:
    """The type in which a gradient is multiplied: of 8 bits are too few, without a scale."""
    return types.bf16 if operand.bits == 8 else operand


def _in_type(build: Builder, factor: Node, held: DType, to: DType) -> Node:
    """An operand of the product, or a sum of one, in the type of the gradient's operands."""
    summed = factor.op == "reduce"
    return build.narrow(factor, to) if summed or held != to else factor
