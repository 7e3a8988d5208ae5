"""Making nodes inside passes: dimensions and types follow from the arguments."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tilegen.ir import types
from tilegen.ir.graph import DimInfo, Node, Span
from tilegen.ir.ops import TABLE
from tilegen.ir.types import DType

Number = float | int | bool


@dataclass(frozen=True)
class Builder:
    """Makes nodes of one graph, in place of `source` (whose span they take)."""

    dims: Mapping[str, DimInfo]
    span: Span | None = None

    def union(self, *nodes: Node) -> tuple[str, ...]:
        """The dimensions of all these nodes, in the graph's order."""
        wanted = {dim for node in nodes for dim in node.dims}
        return tuple(name for name in self.dims if name in wanted)

    def const(self, value: Number, dtype: DType | None = None) -> Node:
        """A constant."""
        kind = types.real if isinstance(value, float) else types.integer
        dtype = dtype or (types.bool_ if isinstance(value, bool) else kind)
        return Node("const", dtype=dtype, attrs={"value": value})

    def index(self, dim: str) -> Node:
        """The position along a dimension."""
        return Node("index", dims=(dim,), dtype=types.integer)

    def size(self, dim: str) -> Node:
        """The size of a dimension: a constant where it is fixed."""
        fixed = self.dims[dim].size
        if fixed is not None:
            return self.const(fixed)
        return Node("size", dtype=types.integer, attrs={"dim": dim})

    def op(self, name: str, *args: Node) -> Node:
        """A row of the op table."""
        typed = args[1:] if name == "where" else args
        kinds = {arg.dtype.kind for arg in typed}
        shared = (
            types.real if "float" in kinds else types.integer if "int" in kinds else types.bool_
        )
        dtype = {"real": types.real, "bool": types.bool_, "same": shared}[TABLE[name].result]
        return Node(name, args, self.union(*args), dtype=dtype, span=self.span)

    def cast(self, node: Node, to: DType) -> Node:
        """A change of type."""
        return Node("cast", (node,), node.dims, dtype=types.computed(to), attrs={"to": to})

    def expand(self, node: Node, dims: tuple[str, ...]) -> Node:
        """A value along all of these dimensions; itself if it has them."""
        if set(node.dims) == set(dims):
            return node
        return Node("expand", (node,), dims, dtype=node.dtype)

    def reduce(self, monoid: str, node: Node, over: tuple[str, ...], **attrs: Any) -> Node:
        """A reduction over one or more dimensions."""
        dims = tuple(dim for dim in node.dims if dim not in over)
        dtype = types.integer if monoid in ("argmax", "argmin") else node.dtype
        dtype = types.bool_ if monoid in ("any", "all") else dtype
        return Node(
            "reduce", (node,), dims, dtype=dtype,
            attrs={"monoid": monoid, "over": over, **attrs}, span=self.span,
        )  # fmt: skip

    def contract(
        self, a: Node, b: Node, over: tuple[str, ...], operand: DType, accumulator: DType
    ) -> Node:
        """A sum of products over dimensions of both."""
        dims = tuple(dim for dim in self.union(a, b) if dim not in over)
        attrs = {"over": over, "operand": operand, "accumulator": accumulator}
        dtype = types.computed(accumulator)
        return Node("contract", (a, b), dims, dtype=dtype, attrs=attrs, span=self.span)

    def narrow(self, node: Node, to: DType) -> Node:
        """A value rounded to a storage type."""
        return Node("narrow", (node,), node.dims, dtype=node.dtype, attrs={"to": to})

    def state(self, reduction: Node, position: int) -> Node:
        """One component of a reduction's tuple of states."""
        return Node(
            "state", (reduction,), reduction.dims, dtype=types.real,
            attrs={"position": position}, span=self.span,
        )  # fmt: skip

    def real_count(self, over: tuple[str, ...], correction: int = 0) -> Node:
        """How many elements a reduction takes, less a correction, as a real number."""
        total = self.cast(self.size(over[0]), types.real)
        for dim in over[1:]:
            total = self.op("mul", total, self.cast(self.size(dim), types.real))
        if correction:
            total = self.op("sub", total, self.const(float(correction)))
        return total

    def zero(self, dtype: DType) -> Node:
        """Zero of a type."""
        return self.const({"float": 0.0, "int": 0, "bool": False}[dtype.kind], dtype)
