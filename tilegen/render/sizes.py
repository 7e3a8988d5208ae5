"""The sizes of dimensions in an eager reference."""

from collections.abc import Mapping
from dataclasses import dataclass

from tilegen.ir.graph import DimInfo, Graph, Param


@dataclass(frozen=True, slots=True)
class Line:
    """One statement of a reference, with the line of the spec that it came from."""

    target: str
    value: str
    comment: str = ""


class Sizes:
    """Sizes of dimensions, defined only where the body uses them."""

    def __init__(self, graph: Graph, params: tuple[Param, ...]) -> None:
        self.dims: Mapping[str, DimInfo] = graph.dims
        self.rules = self._rules(graph, params)
        self.used: dict[str, None] = {}

    def __call__(self, dim: str) -> str:
        """A fixed size as a number, else a name that `lines` defines."""
        fixed = self.dims[dim].size
        if fixed is not None:
            return str(fixed)
        self.used[dim] = None
        return dim

    def lines(self) -> list[Line]:
        """Definitions of the sizes in use, those they are made of first."""
        needed: dict[str, None] = {}

        def need(dim: str) -> None:
            for other in self.rules[dim][1]:
                need(other)
            needed[dim] = None

        for dim in self.used:
            need(dim)
        return [Line(dim, self.rules[dim][0]) for dim in needed]

    def _rules(
        self, graph: Graph, params: tuple[Param, ...]
    ) -> dict[str, tuple[str, tuple[str, ...]]]:
        """For each dimension: an expression of its size, and the dimensions in it."""
        rules: dict[str, tuple[str, tuple[str, ...]]] = {
            param.dim: (param.name, ()) for param in params if param.kind == "size"
        }
        for operand in graph.operands:
            for axis, group in enumerate(operand.stored):
                if len(group) == 1:
                    rules.setdefault(group[0], (f"{operand.name}.shape[{axis}]", ()))
        for operand in graph.operands:
            for axis, group in enumerate(operand.stored):
                unknown = [d for d in group if d not in rules and self.dims[d].size is None]
                if len(unknown) == 1:
                    others = tuple(dim for dim in group if dim != unknown[0])
                    shape = " // ".join(
                        (f"{operand.name}.shape[{axis}]",
                         *(str(self.dims[d].size or d) for d in others))
                    )  # fmt: skip
                    free = tuple(d for d in others if self.dims[d].size is None)
                    rules[unknown[0]] = (shape, free)
        return rules
