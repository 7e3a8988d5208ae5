"""Elementwise ops: contiguous tensors as one line of elements, others as strided tiles."""

from dataclasses import dataclass

from tilegen import errors
from tilegen.families.layout import Group, Layout
from tilegen.families.lower import Comments, LineOf, Lowering, Names
from tilegen.families.names import taken
from tilegen.families.program import Argument, Kernel, Program, Schedule, Sweep
from tilegen.ir.graph import Graph, Node


def plan(graph: Graph, suffix: str, line_of: LineOf) -> Program:
    """The kernels of an elementwise op.

    Raises:
        FamilyMismatch: there is a reduction.
    """
    for node in graph.nodes:
        if node.op == "reduce":
            raise errors.FamilyMismatch(
                f"{node.attrs['monoid']}() in an elementwise op", node.span, "use @rowwise"
            )
    found = {dim for node in graph.nodes for dim in node.dims}
    stacked = {node.attrs["dim"] for node in graph.nodes if node.op == "stack"}
    dims = graph.ordered(found - stacked)
    make = _Maker(graph, f"_{graph.name}{suffix}", dims, line_of)
    schedules = [make.flat()] if _all_alike(graph, dims) else []
    return Program(graph, suffix, dims, (), (*schedules, make.tiled()))


def _all_alike(graph: Graph, dims: tuple[str, ...]) -> bool:
    """Whether every tensor is a scalar or has all dimensions, each at its own position."""
    return all(_plain(node, dims) for node in graph.nodes if node.op == "load") and all(
        output.dims == dims for output in graph.outputs
    )


def _plain(node: Node, dims: tuple[str, ...]) -> bool:
    own = all(
        arg.op == "index" and arg.dims == (dim,)
        for dim, arg in zip(node.attrs["dims"], node.args, strict=False)
    )
    return own and not node.attrs.get("guarded") and node.attrs["dims"] in ((), dims)


@dataclass(frozen=True)
class _Maker:
    """Makes the kernels of one variant."""

    graph: Graph
    name: str
    dims: tuple[str, ...]
    line_of: LineOf

    def flat(self) -> Schedule:
        """One line of elements."""
        sizes = (Argument(("NUMEL",), "axes.total"),)
        group = Group("axes", self.dims, ("offsets",), (), 0, "inside", "offsets", sizes)
        doc = "A program computes BLOCK neighbouring elements of contiguous tensors."
        return Schedule("flat", (self._kernel("flat", group, doc),))

    def tiled(self) -> Schedule:
        """Tiles over the last two of up to four strided axes."""
        sizes = (Argument(("SIZE_0", "SIZE_1", "SIZE_2", "SIZE_3"), "*axes.sizes"),)
        variables = ("axis_0", "axis_1", "axis_2", "axis_3")
        linear = "((axis_0 * SIZE_1 + axis_1) * SIZE_2 + axis_2) * SIZE_3 + axis_3"
        group = Group(
            "axes", self.dims, variables, ("0", "1", "2", "3"), 2, "inside", linear, sizes
        )
        doc = "A program computes one tile of the last two axes."
        return Schedule("tiled", (self._kernel("tiled", group, doc),))

    def _kernel(self, kind: str, group: Group, doc: str) -> Kernel:
        layout = Layout(self.graph, (group,))
        names = Names(taken(self.graph))
        low = Lowering(self.graph, layout, names, Comments(self.line_of), {}, ())
        low.policies = self._policies()
        body = low.emit(low.values(self.graph.outputs))
        for output in self.graph.outputs:
            body += low.store(output)
        tensors = (*(o.name for o in self.graph.operands), *(o.name for o in self.graph.outputs))
        return Kernel(
            f"{self.name}_{kind}", f"elementwise_{kind}", doc, tensors, layout.integers, low.params,
            layout.offsets, (Sweep((), (), tuple(body), ()),),
            {"floats": [param.name for param in self.graph.params if param.kind == "float"]},
        )  # fmt: skip

    def _policies(self) -> dict[str, str]:
        """What every program reads again stays in cache."""
        wide = len(self.dims)
        return {
            operand.name: "evict_last"
            for operand in self.graph.operands
            if operand.dims and len(set(operand.dims) & set(self.dims)) < wide
        }
