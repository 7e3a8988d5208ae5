"""Nodes by hand: dimensions and types follow from the arguments."""

from typing import Any

from tilegen.ir import types
from tilegen.ir.graph import Node, Region
from tilegen.ir.ops import TABLE
from tilegen.ir.types import DType


class Maker:
    """Makes nodes whose dimensions are in this order."""

    def __init__(self, order: str) -> None:
        self.order = order.split()

    def dims(self, *nodes: Node) -> tuple[str, ...]:
        have = {dim for node in nodes for dim in node.dims}
        return tuple(name for name in self.order if name in have)

    def const(self, value: float | int | bool) -> Node:
        kinds = {bool: types.bool_, int: types.integer, float: types.real}
        return Node("const", dtype=kinds[type(value)], attrs={"value": value})

    def index(self, dim: str) -> Node:
        return Node("index", dims=(dim,), dtype=types.integer)

    def size(self, dim: str) -> Node:
        return Node("size", dtype=types.integer, attrs={"dim": dim})

    def op(self, op: str, *args: Node | float, name: str = "") -> Node:
        nodes = tuple(arg if isinstance(arg, Node) else self.const(arg) for arg in args)
        dtype = nodes[-1].dtype
        dtype = {"real": types.real, "bool": types.bool_, "same": dtype}[TABLE[op].result]
        return Node(op, nodes, self.dims(*nodes), dtype=dtype, name=name)

    def load(
        self, tensor: str, dims: str, *args: Node, dtype: DType = types.real, **attrs: Any
    ) -> Node:
        """`args` are the indices, then a guard if there is one."""
        stored = tuple(dims.split())
        if len(args) > len(stored):
            attrs["guarded"] = True
        return Node(
            "load", args, self.dims(*args), dtype=dtype,
            attrs={"tensor": tensor, "dims": stored, **attrs}, name=tensor,
        )  # fmt: skip

    def real(self, x: Node) -> Node:
        return Node("cast", (x,), x.dims, dtype=types.real, attrs={"to": types.real})

    def narrow(self, x: Node, to: DType) -> Node:
        return Node("narrow", (x,), x.dims, dtype=x.dtype, attrs={"to": to})

    def reduce(self, monoid: str, x: Node, over: str) -> Node:
        dims = tuple(dim for dim in x.dims if dim != over)
        return Node(
            "reduce", (x,), dims, dtype=x.dtype, attrs={"monoid": monoid, "over": (over,)}
        )  # fmt: skip

    def contract(self, a: Node, b: Node, over: str, operand: DType) -> Node:
        dims = tuple(dim for dim in self.dims(a, b) if dim != over)
        attrs = {"over": (over,), "operand": operand, "accumulator": types.f32}
        return Node("contract", (a, b), dims, dtype=types.real, attrs=attrs)

    def parameter(self, name: str, dims: str = "", dtype: DType = types.real) -> Node:
        return Node("parameter", dims=tuple(dims.split()), dtype=dtype, name=name)

    def loop(
        self,
        extent: Node,
        initial: tuple[Node, ...],
        parameters: tuple[Node, ...],
        results: tuple[Node, ...],
    ) -> tuple[Node, ...]:
        """The items of a loop."""
        region = Region(parameters, results)
        attrs = {"region": region, "extent": extent, "carried": len(initial)}
        loop = Node("loop", initial, dtype=types.integer, attrs=attrs)
        return tuple(
            Node("item", (loop,), value.dims, dtype=value.dtype, attrs={"position": position})
            for position, value in enumerate(results)
        )
