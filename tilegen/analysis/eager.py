"""What eager PyTorch does for the same graph: one kernel an op, each reading and writing tensors."""

from dataclasses import dataclass

import sympy

from tilegen.analysis.cost import ZERO, count, element
from tilegen.ir.graph import Graph, Node

#: No kernel of their own: views, scalars, tensors that are there already, and the rounding that
#: arithmetic in the inputs' own types has done.
_FREE = (
    "load", "const", "param", "size", "index", "state", "parameter", "detach", "expand", "narrow",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Eager:
    """Kernels and bytes, op by op, in the inputs' own types."""

    kernels: int
    bytes: sympy.Expr


def eager(graph: Graph) -> Eager:
    """Count the kernels of a graph as it was traced, and the bytes that they move."""
    kernels = 0
    moved = ZERO
    for node in graph.nodes:
        if _is_view(node):
            continue
        kernels += 1
        moved += _size(graph, node) + sum((_read(graph, node, arg) for arg in node.args), ZERO)
    return Eager(kernels, sympy.expand(moved))


def _is_view(node: Node) -> bool:
    """Scalars on the host, and what PyTorch gives as a view: a half of a tensor."""
    return node.op in _FREE or (not node.dims and not _tensors(node)) or _slices(node)


def _tensors(node: Node) -> list[Node]:
    return [arg for arg in node.args if arg.op not in ("const", "param", "size")]


def _slices(node: Node) -> bool:
    return node.op == "take" and node.args[1].op == "const"


def _read(graph: Graph, node: Node, arg: Node) -> sympy.Expr:
    """Bytes read of one argument; a gather reads what it gives."""
    if arg.op in ("const", "param", "size", "index"):
        return ZERO
    if node.op == "take" and arg is node.args[0]:
        return _size(graph, node)
    return _size(graph, arg)


def _size(graph: Graph, node: Node) -> sympy.Expr:
    return count(graph, node.dims) * _element(graph, node)


def _element(graph: Graph, node: Node) -> sympy.Expr:
    """Bytes of an element of a value: as stored, or as the op's floats are."""
    if node.op == "load":
        operand = graph.operand(node.attrs["tensor"])
        return element(operand.name, operand.dtype)
    if node.dtype.bits:
        return sympy.Rational(node.dtype.bits, 8)
    if node.dtype.kind != "float":
        return sympy.Integer(1 if node.dtype.kind == "bool" else 8)
    floats = [o for o in graph.operands if o.dtype.kind == "float"]
    return element(floats[0].name, floats[0].dtype) if floats else sympy.Integer(4)
