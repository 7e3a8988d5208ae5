"""Row reductions: the dimensions that a reduction touches are columns, all others rows.

Schedules, by the size of a row: rows held in registers (`block`: many short rows a program, or
one long one), sweeps over a wide row with online monoids (`loop`), and a few giant rows shared by
several programs that leave partial states to a second kernel (`split`).
"""

from dataclasses import replace

from tilegen import errors
from tilegen.analysis.padding import choose_others
from tilegen.families import online, sweeps
from tilegen.families.layout import Group, Layout, membership
from tilegen.families.lower import Comments, LineOf, Lowering, Names
from tilegen.families.names import taken
from tilegen.families.program import Argument, Kernel, Program, Schedule, Sweep, Workspace
from tilegen.ir.build import Builder
from tilegen.ir.graph import Graph, Node, rewrite
from tilegen.ir.numerics import finalised, in_registers, register_states
from tilegen.ir.passes import share

#: Sweeps over memory beyond which a loop over a wide row is not worth having.
MOST_SWEEPS = 4


def plan(graph: Graph, suffix: str, line_of: LineOf) -> Program:
    """The kernels of a rowwise op.

    Raises:
        FamilyMismatch: there is no reduction.
        Unschedulable: its reductions are not over the same dimensions.
    """
    columns = _columns(graph)
    rows = tuple(dim for dim in _iterated(graph) if dim not in columns)
    make = _Maker(graph, suffix, rows, columns, line_of)
    schedules = [Schedule("block", (make.block(),))]
    looped = _looped(_two_passes(graph))
    levels = sweeps.levels(looped)
    depth = max(levels.values())
    notes = []
    offline = [node for node in levels if not online.TABLE[node.attrs["monoid"]].states]
    if offline:
        notes.append(f"rows in registers only: {offline[0].attrs['monoid']} has no online form")
    elif depth + 1 > MOST_SWEEPS:
        notes.append(f"rows in registers only: {depth} reductions depend on one another")
    else:
        kernel = make.loop(looped)
        passes = sum(bool(sweep.body) for sweep in kernel.sweeps)
        schedules.append(Schedule("loop", (kernel,), passes))
        single = _looped(graph)
        depth = max(sweeps.levels(single).values())
        if depth == 1:
            schedules.append(make.split(single))
        else:
            notes.append(f"no split rows: {depth} reductions depend on one another")
    return Program(graph, suffix, rows, columns, tuple(schedules), notes=tuple(notes))


def _iterated(graph: Graph) -> tuple[str, ...]:
    """The dimensions that a kernel walks over."""
    found = {dim for node in graph.nodes for dim in node.dims}
    stacked = {node.attrs["dim"] for node in graph.nodes if node.op == "stack"}
    return graph.ordered(found - stacked)


def _columns(graph: Graph) -> tuple[str, ...]:
    """The reduced dimensions, which all reductions must share."""
    reduces = [node for node in graph.nodes if node.op == "reduce"]
    if not reduces:
        raise errors.FamilyMismatch("a rowwise op without a reduction", None, "use @elementwise")
    first = set(reduces[0].attrs["over"])
    for node in reduces:
        if set(node.attrs["over"]) != first:
            raise errors.Unschedulable(
                f"one reduction runs over ({', '.join(sorted(first))}), another over "
                f"({', '.join(sorted(node.attrs['over']))})",
                node.span,
                "reduce over the same dimensions everywhere, or split the spec in two",
            )
    if len(first) > 2:
        merged = ", ".join(graph.ordered(first))
        raise errors.Unschedulable(f"a reduction over three or more dimensions ({merged})")
    return graph.ordered(first)


def _two_passes(graph: Graph) -> Graph:
    """Variances as the mean square of the centred row, in a sweep of its own.

    The sweep reads the row from L1 or L2, and costs less than moments that are updated online:
    0.93 of the copy rate against 0.87 for layernorm at 16384x8192 on an H200.
    """

    def rule(node: Node) -> Node | None:
        if node.op != "state" or node.args[0].attrs.get("monoid") != "variance":
            return None
        found = register_states(Builder(graph.dims, node.span), node.args[0], states)
        position: int = node.attrs["position"]
        return found[position]

    def finish(node: Node) -> Node | None:
        if node.op != "reduce" or node.attrs["monoid"] != "variance":
            return None
        build = Builder(graph.dims, node.span)
        return finalised(build, node, register_states(build, node, states))

    states: dict[Node, tuple[Node, ...]] = {}
    return share(rewrite(rewrite(graph, rule), finish))


def _looped(graph: Graph) -> Graph:
    """The graph as sweeps compute it: a mean is a sum over a count, composites by their states."""
    whole: dict[Node, Node] = {}

    def rule(node: Node) -> Node | None:
        build = Builder(graph.dims, node.span)
        if node.op == "state":
            reduction = whole[node.args[0]]
            return replace(build.state(reduction, node.attrs["position"]), name=node.name)
        if node.op != "reduce":
            return None
        if node.attrs["monoid"] == "mean":
            total = build.reduce("sum", node.args[0], node.attrs["over"])
            return build.op("div", total, build.real_count(node.attrs["over"]))
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
    ) -> None:
        self.graph, self.rows, self.columns, self.line_of = graph, rows, columns, line_of
        self.name = f"_{graph.name}{suffix}"
        self.row_total = rows[0] if len(rows) == 1 else "ROWS"
        self.column_total = columns[0] if len(columns) == 1 else "COLS"

    def _row_group(self, mask: str) -> Group:
        names = ("row_0", "row_1", "row_2")
        sizes = (
            Argument((self.row_total,), "rows.total"),
            Argument(("ROWS_1", "ROWS_2"), "*rows.sizes[1:]"),
        )
        return Group(
            "rows", "rows", self.rows, names, names, 3, mask, "rows", sizes if self.rows else ()
        )

    def _column_groups(self) -> tuple[Group, ...]:
        """One axis of columns, or two: apart where only some tensors have both."""
        if len(self.columns) == 1:
            sizes = (Argument((self.column_total,), "cols.total"),)
            return (
                Group(
                    "cols", "cols", self.columns, ("cols",), ("col",), 0, "in_cols", "cols", sizes
                ),
            )
        if len(membership(self.graph, self.columns)) == 1:
            names, mask = ("cols_0", "cols_1"), "in_cols_0 & in_cols_1"
            sizes = (Argument(("COLS_0", "COLS_1"), "*cols.sizes"),)
            linear = "cols_0 * COLS_1 + cols_1"
            strides = ("col_0", "col_1")
            return (Group("cols", "cols", self.columns, names, strides, 0, mask, linear, sizes),)
        return tuple(
            Group(
                f"cols_{at}", f"cols_{at}", (dim,), (f"cols_{at}",), (f"col_{at}",), 0,
                f"in_cols_{at}", f"cols_{at}", (Argument((f"COLS_{at}",), f"cols_{at}.total"),),
            )
            for at, dim in enumerate(self.columns)
        )  # fmt: skip

    def lowering(self, graph: Graph, row_mask: str) -> Lowering:
        layout = Layout(graph, (self._row_group(row_mask), *self._column_groups()))
        values = tuple(output.value for output in graph.outputs)
        return Lowering(
            graph, layout, Names(taken(graph)), Comments(self.line_of),
            choose_others(values, self.columns), self.columns,
        )  # fmt: skip

    def kernel(
        self, kind: str, doc: str, low: Lowering, passes: tuple[Sweep, ...], tensors: tuple[str, ...],
        **facts: object,
    ) -> Kernel:  # fmt: skip
        """A kernel from what its lowering gathered."""
        facts = {
            "row_total": self.row_total,
            "has_rows": bool(self.rows),
            "column_axes": len(self.columns),
            "apart": len(self._column_groups()) > 1,
            "column_total": self.column_total,
            "loops": any(sweep.body for sweep in passes),
            "floats": [param.name for param in self.graph.params if param.kind == "float"],
            "renamed": low.renamed,
            "split": False,
            "joins": (),
            "leads": any("leads" in line.mask for sweep in passes for line in sweep.after),
            **facts,
        }
        return Kernel(
            f"{self.name}_{kind}", f"row_{'block' if kind == 'block' else 'sweeps'}", doc, tensors,
            low.layout.integers, low.params, low.layout.offsets, passes, facts,
        )  # fmt: skip

    def tensors(self, *, inputs: bool = True, outputs: bool = True) -> tuple[str, ...]:
        names = [operand.name for operand in self.graph.operands] if inputs else []
        return (*names, *(output.name for output in self.graph.outputs if outputs))

    def block(self) -> Kernel:
        """Rows in registers."""
        graph = in_registers(self.graph)
        low = self.lowering(graph, "in_rows")
        low.policies = sweeps.read_once(graph)
        body = low.emit(low.values(graph.outputs))
        for output in graph.outputs:
            body += low.store(output)
        doc = "A program holds BLOCK_M whole rows in registers."
        return self.kernel("block", doc, low, (Sweep((), (), tuple(body), ()),), self.tensors())

    def loop(self, graph: Graph) -> Kernel:
        """Sweeps over one wide row."""
        low = self.lowering(graph, "")
        passes = sweeps.all_sweeps(low, self.rows)
        count = sum(bool(sweep.body) for sweep in passes)
        times = {1: "once", 2: "twice"}.get(count, f"{count} times")
        doc = f"A program goes over one row {times}, block by block."
        return self.kernel("loop", doc, low, passes, self.tensors(), split=False)

    def split(self, graph: Graph) -> Schedule:
        """A few giant rows: partial states, then their join and what follows from it."""
        low = self.lowering(graph, "")
        first, states = sweeps.partial_sweep(low)
        partials = tuple(f"partial_{state.name}" for state in states)
        used = {node.attrs["tensor"] for node in low.loaded}
        inputs = tuple(operand.name for operand in graph.operands if operand.name in used)
        partial = self.kernel(
            "partial", "A program reduces one chunk of a row to its partial states.", low, (first,),
            (*inputs, *partials), split=True,
        )  # fmt: skip
        low = self.lowering(graph, "")
        last = sweeps.finishing_sweep(low, states)
        used = {node.attrs["tensor"] for node in low.loaded}
        inputs = tuple(operand.name for operand in graph.operands if operand.name in used)
        wide = bool(last.body)
        doc = "A program joins the partial states of a row" + (
            ", then goes over one chunk of it." if wide else "."
        )
        finish = self.kernel(
            "finish", doc, low, (last,), (*partials, *inputs, *self.tensors(inputs=False)),
            split=wide, joins=states
        )  # fmt: skip
        workspaces = tuple(
            Workspace(name, "(rows.total, splits)", state.dtype)
            for name, state in zip(partials, states, strict=True)
        )
        return Schedule("split", (partial, finish), 1 + wide, workspaces)
