"""Elementwise ops: contiguous tensors as one line of elements, others as strided tiles.

Where every tensor has all dimensions, only strides can tell them apart, and the general kernel
takes up to four strided axes. Otherwise neighbouring dimensions that the same tensors have form a
group; a program computes a tile of the last two groups, and reads each tensor in the shape that
it has there: a bias is a row of the tile, a position of the outer dimensions a scalar.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tilegen.families.early import loads_first
from tilegen.families.layout import Group, Layout, joined, membership, positional, walked
from tilegen.families.lower import Comments, LineOf, Lowering
from tilegen.families.names import Names, taken
from tilegen.families.program import (
    Argument,
    Kernel,
    Let,
    Program,
    Schedule,
    Statement,
    Sweep,
    names_text,
    needs,
    settled,
    space_name,
)
from tilegen.families.sweeps import read_once
from tilegen.ir.graph import Graph, Node

#: Strided axes that a kernel takes.
MOST_AXES = 4

#: Grid and constants of the kernels, over the variables of their schedules.
LAUNCHES = {
    "flat": ("cdiv(axes.total, block)", (("BLOCK", "block"), ("EVEN", "axes.total % block == 0"))),
    "tiled": (
        "outer * tiles",
        (
            ("BLOCK_0", "block_0"),
            ("BLOCK_1", "block_1"),
            ("EVEN_0", "height % block_0 == 0"),
            ("EVEN_1", "length % block_1 == 0"),
        ),
    ),
}


def plan(graph: Graph, suffix: str, line_of: LineOf, part: str = "") -> Program:
    """The kernels of a graph without reductions; their tables of configs are those of a part."""
    dims = walked(graph)
    make = _Maker(graph, f"_{graph.name}{suffix}", dims, line_of, part)
    groups = joined(membership(graph, dims), MOST_AXES)
    schedules = [make.flat()] if _all_alike(graph, dims) else []
    schedules.append(make.tiled(groups) if len(groups) > 1 else make.strided())
    return Program(graph, suffix, dims, (), tuple(schedules))


def _side_by_side(statement: Statement, groups: tuple[Group, ...]) -> Statement:
    """Pairs along the last axis of a tile as one line of twice the length.

    The compiler makes wide accesses along the last axis alone, and that of a pair is two long.
    """
    tall, wide = groups[-2:]
    position = wide.linear
    pattern = rf"\b{position} \* \(2 \* (\w+)\)"
    if statement.kind not in ("pair", "join") or not re.search(pattern, statement.pointer):
        return statement
    height = "BLOCK_0" if re.search(rf"\b{tall.mask}\b", statement.mask) else "1"
    return replace(
        statement,
        pointer=re.sub(pattern, rf"{position}_pairs * \1", statement.pointer),
        mask=re.sub(rf"\b{wide.mask}\b", f"{wide.mask}_pairs", statement.mask),
        shape=f"({height}, BLOCK_1, 2)",
    )


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
    part: str

    def flat(self) -> Schedule:
        """One line of elements."""
        sizes = (Argument(("NUMEL",), "axes.total"),)
        group = Group("axes", "axes", self.dims, ("offsets",), (), 0, "inside", "offsets", sizes)
        doc = "A program computes BLOCK neighbouring elements of contiguous tensors."
        kernel = self._kernel("flat", (group,), doc)
        full = [operand.name for operand in self.graph.operands if operand.dims]
        full += [output.name for output in self.graph.outputs]
        reorder = "" if positional(self.graph) else ", reorder=True"
        return Schedule(
            "flat",
            space_name("flat", self.part),
            ("flat_cost", "axes.total"),
            (kernel,),
            possible=f"axes.flat({names_text(full)})",
            before=(
                Let("axes", f"call.axes({names_text(self.dims)}, limit={MOST_AXES}{reorder})"),
            ),
            lets=(Let("block", 'config["TILE"]'),),
        )

    def strided(self) -> Schedule:
        """Tiles over the last two of up to four strided axes."""
        sizes = (Argument(("SIZE_1", "SIZE_2", "SIZE_3"), "*axes.sizes[1:]"),)
        variables = ("axis_0", "axis_1", "axis_2", "axis_3")
        linear = "((axis_0 * SIZE_1 + axis_1) * SIZE_2 + axis_2) * SIZE_3 + axis_3"
        group = Group(
            "axes", "axes", self.dims, variables, ("0", "1", "2", "3"), 2, "inside", linear, sizes
        )
        doc = "A program computes one tile of the last two axes."
        before = (
            Let("axes", f"call.axes({names_text(self.dims)}, limit={MOST_AXES})"),
            Let("height, length", "axes.sizes[2:]"),
            Let("outer", "axes.sizes[0] * axes.sizes[1]"),
        )
        return self._tiles(self._kernel("strided", (group,), doc), before, "axes.crossed(-2)")

    def tiled(self, groups: Sequence[tuple[tuple[str, ...], bool]]) -> Schedule:
        """Tiles over the last two groups of dimensions; an outer group is one position."""
        spare = MOST_AXES - len(groups)
        made = tuple(
            self._group(
                dims, place, 1 + (spare if not place else 0), mixed, inner=place >= len(groups) - 2
            )
            for place, (dims, mixed) in enumerate(groups)
        )
        outer, inner = ("(" + ", ".join(dims) + ")" for dims, _ in groups[-2:])
        doc = f"A program computes one tile of {outer} by {inner}."
        *rest, tall, wide = made
        before = (
            *(group.axes for group in made),
            Let("height, length", f"{tall.plan}.total, {wide.plan}.total"),
            Let("outer", " * ".join(f"{group.plan}.total" for group in rest) or "1"),
        )
        return self._tiles(self._kernel("tiled", made, doc), before, f"{tall.plan}.crossed()")

    def _tiles(self, kernel: Kernel, before: tuple[Let, ...], crossed: str) -> Schedule:
        """Tiles of `height` by `length` elements, `outer` times."""
        shape = f'tile_shape({crossed}, height, length, config["TILE"], call.element_size)'
        return Schedule(
            "tiled",
            space_name("tiled", self.part),
            ("flat_cost", "outer * height * length"),
            (kernel,),
            before=before,
            lets=(
                Let("block_0, block_1", shape),
                Let("tiles", "cdiv(height, block_0) * cdiv(length, block_1)"),
            ),
        )

    def _group(
        self, dims: tuple[str, ...], place: int, axes: int, mixed: bool, *, inner: bool
    ) -> Group:
        """One group: `axes` is how many strided axes it may be at a call."""
        plan, total = f"axes_{place}", "_".join(dims)
        position = total.lower()
        sizes = [Argument((total,), f"{plan}.total")]
        variables: tuple[str, ...] = (position,)
        strides: tuple[str, ...] = (total,)
        if axes > 1:
            places = range(axes)
            variables = tuple(f"{position}_{axis}" for axis in places)
            strides = tuple(f"{total}_{axis}" for axis in places)
            inner_sizes = tuple(f"SIZE_{total}_{axis}" for axis in places[1:])
            sizes.append(Argument(inner_sizes, f"*{plan}.sizes[1:]"))
        once = 0 if inner and axes == 1 else axes
        mask = f"in_{position}" if inner else ""
        return Group(
            plan, position, dims, variables, strides, once, mask, position, tuple(sizes), mixed,
            counted=place > 0,
        )  # fmt: skip

    def _kernel(self, kind: str, walked: tuple[Group, ...], doc: str) -> Kernel:
        layout = Layout(self.graph, walked)
        low = Lowering(self.graph, layout, Names(taken(self.graph)), Comments(self.line_of), {}, ())
        low.policies = read_once(self.graph)
        body = loads_first(low, self.graph.outputs)
        body += low.emit(low.values(self.graph.outputs))
        for output in self.graph.outputs:
            body += low.store(output)
        tensors = (*(o.name for o in self.graph.arguments), *(o.name for o in self.graph.outputs))
        if kind == "tiled":
            body = [_side_by_side(statement, walked) for statement in body]
        (sweep,) = settled([Sweep((), (), tuple(body), ())])
        grid, constants = LAUNCHES["flat" if kind == "flat" else "tiled"]
        floats = [param.name for param in self.graph.params if param.kind == "float"]
        return Kernel(
            f"{self.name}_{'flat' if kind == 'flat' else 'tiled'}",
            f"elementwise_{kind}",
            doc,
            tensors,
            layout.integers,
            low.params,
            layout.offsets,
            (sweep,),
            grid,
            (*constants, *needs(self.graph.outputs, (sweep,)).items()),
            facts={
                "floats": floats,
                "renamed": low.renamed,
                "groups": walked if kind == "tiled" else (),
                "pairs": any(statement.shape for statement in body),
            },
        )
