"""Row reductions: the dimensions that a reduction touches are columns, all others rows.

Schedules, by the size of a row: rows held in registers (`block`: many short rows a program, or
one long one), sweeps over a wide row with online monoids (`loop`), and a few giant rows shared by
several programs that leave partial states to a second kernel (`split`).
"""

from collections.abc import Mapping
from dataclasses import replace

from tilegen.families import online, sweeps
from tilegen.families.early import MOST_COLUMNS, loads_first, or_late
from tilegen.families.layout import (
    Group,
    Layout,
    column_group,
    joined,
    membership,
    row_group,
    total_of,
    walked,
)
from tilegen.families.lower import Comments, LineOf, Lowering
from tilegen.families.names import Names, taken
from tilegen.families.padding import choose_others
from tilegen.families.program import (
    EARLY,
    Argument,
    Kernel,
    Let,
    Program,
    Schedule,
    Sweep,
    Workspace,
    needed,
    needs,
    settled,
    space_name,
)
from tilegen.ir.build import Builder
from tilegen.ir.graph import Graph, Node, rewrite
from tilegen.ir.numerics import finalised, in_registers, mean_of
from tilegen.ir.passes import share

#: Sweeps over memory beyond which a loop over a wide row is not worth having.
MOST_SWEEPS = 4

#: How a program goes over a row: LANES lanes of VECTOR neighbours (16 bytes) at a time.
LANES: tuple[Let, ...] = (
    Let("vector", "max(1, 16 // call.element_size)"),
    Let("even", 'columns > 0 and columns % config["TILE"] == 0'),
)
LANE_CONSTANTS = {"LANES": 'config["TILE"] // vector', "VECTOR": "vector", "EVEN": "even"}

#: The same over two axes: a block is `span` columns of the inner one wide.
TWO_AXES = (
    LANES[0],
    Let("span", 'min(config["TILE"], max(vector, next_power_of_2(length)))'),
    Let("even", 'columns > 0 and length % span == 0 and height % (config["TILE"] // span) == 0'),
)


def plan(graph: Graph, suffix: str, line_of: LineOf, part: str = "") -> Program:
    """The kernels of a graph whose reductions are all over the same dimensions.

    Their tables of configs are those of a part of the module.
    """
    reduced = {dim for n in graph.nodes if n.op == "reduce" for dim in n.attrs["over"]}
    columns = graph.ordered(reduced)
    rows = tuple(dim for dim in walked(graph) if dim not in columns)
    make = _Maker(graph, suffix, rows, columns, line_of, part)
    looped = _looped(graph)
    levels = sweeps.levels(looped)
    depth = max(levels.values())
    offline = [node for node in levels if not online.TABLE[node.attrs["monoid"]].states]
    if offline:
        return make.program(f"{offline[0].attrs['monoid']} has no online form")
    if depth + 1 > MOST_SWEEPS:
        return make.program(f"{depth} reductions depend on one another")
    return make.program("", looped)


def _looped(graph: Graph) -> Graph:
    """The graph as sweeps compute it: a mean is a sum over a count, composites by their states."""
    whole: dict[Node, Node] = {}

    def rule(node: Node) -> Node | None:
        build = Builder(graph.dims, node.span)
        if node.op == "state":
            reduction = whole.get(node.args[0], node.args[0])
            return replace(build.state(reduction, node.attrs["position"]), name=node.name)
        if node.op != "reduce":
            return None
        if node.attrs["monoid"] == "mean":
            return mean_of(build, node)
        if node.attrs["monoid"] not in ("variance", "logsumexp"):
            return None
        raw = replace(node, name="")
        value = finalised(build, node, (build.state(raw, 0), build.state(raw, 1)))
        value = replace(value, name=node.name)
        whole[value] = raw
        return value

    return share(rewrite(graph, rule))


class _Maker:
    """Makes the kernels of one variant."""

    def __init__(
        self,
        graph: Graph,
        suffix: str,
        rows: tuple[str, ...],
        columns: tuple[str, ...],
        line_of: LineOf,
        part: str,
    ) -> None:
        self.graph, self.rows, self.columns, self.line_of = graph, rows, columns, line_of
        self.part = part
        self.name, self.suffix = f"_{graph.name}{suffix}", suffix
        self.column_axes = min(len(columns), 2)
        self.row_total = total_of(rows, "ROWS")
        self.column_total = total_of(columns, "COLS")

    def _column_groups(self) -> tuple[Group, ...]:
        """One axis of columns, or two: apart where only some tensors have both."""
        if len(self.columns) == 1:
            return (column_group(self.columns),)
        apart = joined(membership(self.graph, self.columns), 2)
        if len(apart) == 1:
            names, mask = ("cols_0", "cols_1"), "in_cols_0 & in_cols_1"
            sizes = (Argument(("COLS_0", "COLS_1"), "*cols.sizes"),)
            linear = "cols_0 * COLS_1 + cols_1"
            strides = ("col_0", "col_1")
            return (Group("cols", "cols", self.columns, names, strides, 0, mask, linear, sizes),)
        return tuple(
            Group(
                f"cols_{at}", f"cols_{at}", dims, (f"cols_{at}",), (f"col_{at}",), 0,
                f"in_cols_{at}", f"cols_{at}", (Argument((f"COLS_{at}",), f"cols_{at}.total"),),
                mixed,
            )
            for at, (dims, mixed) in enumerate(apart)
        )  # fmt: skip

    def program(self, registers_only: str, looped: Graph | None = None) -> Program:
        """All schedules: rows in registers, and, unless there is a reason against them, sweeps."""
        notes: tuple[str, ...] = (
            (f"rows in registers only: {registers_only}",) if registers_only else ()
        )
        schedules = [self.block(alone=looped is None)]
        if looped is not None:
            schedules.append(self.loop(looped))
            depth = max(sweeps.levels(looped).values())
            if depth == 1:
                schedules.append(self.split(looped))
            else:
                notes = (f"no split rows: {depth} reductions depend on one another",)
        apart = self._apart()
        if apart:
            notes += (
                f"the elements of a row of {apart} lie apart in memory: slower than predicted",
            )
        refusal = None if looped else ('block == float("inf")', self._too_wide())
        return Program(
            self.graph, self.suffix, self.rows, self.columns, tuple(schedules), self._lets(),
            compared=True, refusal=refusal, notes=notes,
        )  # fmt: skip

    def _apart(self) -> str:
        """A tensor of whole rows whose innermost dimension is not reduced; empty if there is none."""
        full = [o for o in self.graph.operands if set(self.columns) <= set(o.dims)]
        inner = {*self.columns, *(d.name for d in self.graph.dims.values() if d.size is not None)}
        return next((o.name for o in full if o.dims[-1] not in inner), "")

    def _too_wide(self) -> str:
        return (
            f"{self.graph.name}: a row has {{columns}} columns, {{width}} when padded to a power "
            f"of two, and no config of {space_name('block', self.part)} holds as many in registers"
        )

    def _lets(self) -> tuple[Let, ...]:
        """Axes of rows and columns; `width` is what a row takes in registers."""
        groups = self._column_groups()
        lets = [group.axes for group in (row_group(self.rows, ""), *groups)]
        if self.column_axes == 1:
            return (
                *lets,
                Let("columns", "cols.total"),
                Let("width", "next_power_of_2(columns)"),
            )
        sizes = "cols_0.total, cols_1.total" if len(groups) > 1 else "cols.sizes"
        return (
            *lets,
            Let("height, length", sizes),
            Let("columns", "height * length"),
            Let("width", "next_power_of_2(height) * next_power_of_2(length)"),
        )

    def lowering(self, graph: Graph, row_mask: str) -> Lowering:
        layout = Layout(graph, (row_group(self.rows, row_mask), *self._column_groups()))
        values = tuple(output.value for output in graph.outputs)
        # A state that is handed on is an argument of this prefix.
        tensors = [*(o.name for o in graph.operands), *(o.name for o in graph.outputs)]
        handed = {n.removeprefix("partial_") for n in tensors if n.startswith("partial_")}
        return Lowering(
            graph, layout, Names(taken(graph) | handed), Comments(self.line_of),
            choose_others(values, self.columns), self.columns,
        )  # fmt: skip

    def kernel(
        self, kind: str, doc: str, low: Lowering, passes: tuple[Sweep, ...], tensors: tuple[str, ...],
        grid: str, constants: Mapping[str, str], **facts: object,
    ) -> Kernel:  # fmt: skip
        """A kernel from what its lowering gathered."""
        passes = settled(passes)
        facts = {
            "row_total": self.row_total,
            "has_rows": bool(self.rows),
            "column_axes": self.column_axes,
            "column_total": self.column_total,
            "loops": any(sweep.body for sweep in passes),
            "floats": [param.name for param in self.graph.params if param.kind == "float"],
            "renamed": low.renamed,
            "split": False,
            "joins": (),
            "saves": tuple(needed(o) for o in self.graph.outputs if o.optional and not o.public),
            "leads": any("leads" in line.mask for sweep in passes for line in sweep.after),
            **facts,
        }
        return Kernel(
            f"{self.name}_{kind}", f"row_{'block' if kind == 'block' else 'sweeps'}", doc, tensors,
            low.layout.integers, low.params, low.layout.offsets, passes, grid,
            tuple({**constants, **needs(self.graph.outputs, passes)}.items()), facts=facts,
        )  # fmt: skip

    def tensors(self, *, inputs: bool = True, outputs: bool = True) -> tuple[str, ...]:
        names = [operand.name for operand in self.graph.arguments] if inputs else []
        return (*names, *(output.name for output in self.graph.outputs if outputs))

    def block(self, *, alone: bool) -> Schedule:
        """Rows in registers."""
        graph = in_registers(self.graph)
        low = self.lowering(graph, "in_rows")
        low.policies = sweeps.read_once(graph)
        body = loads_first(low, graph.outputs)
        body += low.emit(low.values(graph.outputs))
        for output in graph.outputs:
            body += low.store(output)
        early = {EARLY: f"width <= {MOST_COLUMNS}"} if any(line.early for line in body) else {}
        blocks = {"BLOCK_N": "width"}
        if self.column_axes == 2:
            blocks = {
                "BLOCK_0": "next_power_of_2(height)",
                "BLOCK_1": "next_power_of_2(length)",
            }
        even = {"EVEN_M": "rows.total % block_m == 0", "EVEN_N": "columns == width"}
        kernel = self.kernel(
            "block", "A program holds BLOCK_M whole rows in registers.", low,
            (Sweep((), (), tuple(or_late(body)), ()),), self.tensors(),
            "cdiv(rows.total, block_m)", {"BLOCK_M": "block_m", **blocks, **even, **early},
        )  # fmt: skip
        fits = 'max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))'
        return Schedule(
            "block", space_name("block", self.part), ("block_cost", "rows.total", "width"), (kernel,),
            preferred="" if alone else "block <= loop", lets=(Let("block_m", fits),),
        )  # fmt: skip

    def loop(self, graph: Graph) -> Schedule:
        """Sweeps over one wide row."""
        low = self.lowering(graph, "")
        passes = sweeps.all_sweeps(low, self.rows)
        count = sum(bool(sweep.body) for sweep in passes)
        times = {1: "once", 2: "twice"}.get(count, f"{count} times")
        doc = f"A program goes over one row {times}, block by block."
        lets, constants = LANES, LANE_CONSTANTS
        if self.column_axes == 2:
            lets, constants = TWO_AXES, {**LANE_CONSTANTS, "WIDTH": "span"}
        kernel = self.kernel("loop", doc, low, passes, self.tensors(), "rows.total", constants)
        return Schedule(
            "loop", space_name("loop", self.part), ("loop_cost", "rows.total", "columns"), (kernel,),
            lets=lets, passes=count,
        )  # fmt: skip

    def split(self, graph: Graph) -> Schedule:
        """A few giant rows: partial states, then their join and what follows from it."""
        low = self.lowering(graph, "")
        first, states = sweeps.partial_sweep(low)
        partials = tuple(f"partial_{state.name}" for state in states)
        used = {node.attrs["tensor"] for node in low.loaded}
        inputs = tuple(operand.name for operand in graph.operands if operand.name in used)
        chunks = {**LANE_CONSTANTS, "SPLITS": "splits", "CHUNK": "chunk"}
        partial = self.kernel(
            "partial", "A program reduces one chunk of a row to its partial states.", low, (first,),
            (*inputs, *partials), "rows.total * splits", chunks, split=True,
        )  # fmt: skip
        low = self.lowering(graph, "")
        last = sweeps.finishing_sweep(low, states)
        used = {node.attrs["tensor"] for node in low.loaded}
        inputs = tuple(operand.name for operand in graph.operands if operand.name in used)
        wide = bool(last.body)
        if not wide:
            low.layout.groups = low.layout.groups[:1]  # it goes over no columns
        doc = "A program joins the partial states of a row" + (
            ", then goes over one chunk of it." if wide else "."
        )
        joins = {**(chunks if wide else {"SPLITS": "splits"}), "BLOCK_S": "next_power_of_2(splits)"}
        finish = self.kernel(
            "finish", doc, low, (last,), (*partials, *inputs, *self.tensors(inputs=False)),
            f"rows.total{' * splits' if wide else ''}", joins, split=wide, joins=states
        )  # fmt: skip
        workspaces = tuple(
            Workspace(
                name, ("rows.total", "splits"), state.dtype.removeprefix("tl."), self.rows, "splits"
            )
            for name, state in zip(partials, states, strict=True)
        )
        chosen = 'split_row(call.target, rows.total, columns, config["TILE"])'
        return Schedule(
            "split", space_name("loop", self.part), ("split_cost", "rows.total", "columns"), (partial, finish),
            possible="height == 1" if self.column_axes == 2 else "",
            preferred="split < min(block, loop)", lets=(Let("splits, chunk", chosen), *LANES),
            passes=1 + wide, workspaces=workspaces,
        )  # fmt: skip
