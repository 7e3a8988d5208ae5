"""What a forward may save of its products, so that its backward need not multiply once more.

The gradient of an epilogue starts from its pre-activation: the last value that all uses of a
product have in common, and that is linear in it. To write and read it moves few bytes beside the flops of the product, for
any contracted dimension of more than some hundreds.

It is rounded to the type of the product's operands, which is what eager PyTorch saves as well.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Final

from tilegen.ir import types
from tilegen.ir.graph import Graph, Node
from tilegen.ir.types import DType

#: Sizes that stand for dimensions of any size, and bytes for elements of any type.
USUAL_SIZE, USUAL_BYTES = 4096, 2

#: Ops that end in no activation yet.
_LINEAR: Final = ("add", "sub", "mul", "neg", "cast", "narrow")

#: 16-bit flops of tensor cores in the time of a byte: from 156 (A100) to 295 (H100).
FLOPS_PER_BYTE = 200


@dataclass(frozen=True, slots=True)
class Kept:
    """A value to save in place of the products that it is made of.

    Attributes:
        name: what it is called in the spec, or else "product".
        dtype: what it is stored in.
        saves: whether that costs less time than the products.
    """

    name: str
    dtype: DType
    saves: bool


def elements(graph: Graph, dims: Iterable[str]) -> float:
    """How many elements these dimensions have, usually."""
    return prod(graph.dims[dim].size or USUAL_SIZE for dim in dims if dim != "One")


def usual_bytes(graph: Graph, dims: Iterable[str]) -> float:
    """Bytes of a tensor with these dimensions, usually."""
    return USUAL_BYTES * elements(graph, dims)


def multiplying(graph: Graph, node: Node) -> float:
    """The bytes that memory moves in the time of a product; 0 of anything else."""
    if node.op != "contract":
        return 0.0
    return 2 * elements(graph, (*node.dims, *node.attrs["over"])) / FLOPS_PER_BYTE


def saving_one(graph: Graph, node: Node) -> float:
    """Bytes that move if a value is saved: written once, and read once."""
    return 2 * usual_bytes(graph, node.dims)


def kept(graph: Graph, own: set[Node]) -> Mapping[Node, Kept]:
    """The values of a gradient that may be saved in place of products.

    Args:
        graph: the gradient's.
        own: those of its nodes that the forward computes.
    """
    users: dict[Node, dict[Node, None]] = {}
    for node in graph.nodes:
        for arg in node.args:
            users.setdefault(arg, {})[node] = None
    ends = {output.value for output in graph.outputs}
    products: dict[Node, list[Node]] = {}
    for node in graph.nodes:
        if node.op == "contract" and node in own:
            products.setdefault(_last_common(node, users, own - ends), []).append(node)
    return {
        value: Kept(
            value.name or (value.op == "narrow" and value.args[0].name) or "product",
            _stored_in(graph, value, of[0]),
            sum(multiplying(graph, node) for node in of) > saving_one(graph, value),
        )
        for value, of in products.items()
    }


def _last_common(node: Node, users: Mapping[Node, Mapping[Node, None]], inside: set[Node]) -> Node:
    """The last linear value of the forward through which all uses of a product go."""
    while node in inside and len(users[node]) == 1:
        (user,) = users[node]
        alike = user.dims == node.dims and user.dtype.kind == node.dtype.kind == "float"
        if user not in inside or user.op not in _LINEAR or not alike:
            break
        node = user
    return node


def _stored_in(graph: Graph, value: Node, product: Node) -> DType:
    """The type in which a value is saved: that which it was rounded to, or that of the operands."""
    if value.dtype.kind == "int":
        return types.i32
    to: DType | None = value.attrs.get("to")
    if to is not None and (to.bits or to.like):
        return to
    operand: DType = product.attrs["operand"]
    if operand.kind != "float" or _compared(graph, value):
        return types.real
    return types.bf16 if operand.bits == 8 else operand


def _compared(graph: Graph, value: Node) -> bool:
    """Whether two values that are both made of this one are compared, as with a row's maximum.

    The maximum is saved as it was; no rounded value would be equal to it.
    """
    made = {value}
    for node in graph.nodes:
        if not made.isdisjoint(node.args):
            made.add(node)
            compares = node.dtype.kind == "bool" and len(node.args) > 1
            if compares and all(a in made and a.dtype.kind == "float" for a in node.args):
                return True
    return False
