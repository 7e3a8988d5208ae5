"""Sums over rows, carried along: one pass over memory, and a kernel that adds up its partial sums.

Programs are as many as the GPU runs at once. Each goes over tiles of rows, computes what a row
gives (reductions along it and results with its shape included), and carries the sums of what it
saw in registers, element by element of the tile, so that no step joins threads for them. Its partial
sums go to a workspace, which a second kernel adds up in a fixed order: the same bits in each run.

Where other reductions need whole rows, a tile holds them (`sums`); rows that no config holds go
stage by stage. Elsewhere tiles are blocks of columns (`columns`), and any row fits.
"""

from collections.abc import Sequence
from dataclasses import replace

from tilegen.families import order, sweeps
from tilegen.families.early import ready
from tilegen.families.layout import Group, Layout, column_group, row_group, total_of
from tilegen.families.lower import Comments, LineOf, Lowering
from tilegen.families.names import Names, taken
from tilegen.families.padding import choose_others
from tilegen.families.program import (
    Accumulator,
    Argument,
    Kernel,
    Let,
    Program,
    Schedule,
    Statement,
    Sweep,
    Workspace,
    needed,
    needs,
    settled,
    space_name,
)
from tilegen.families.summed import Summed, find
from tilegen.ir.graph import Graph, Node, Output, topological
from tilegen.ir.numerics import in_registers

#: Types of the sums of values of a kind, and the identity.
STATES = {"float": ("FLOAT", "0.0"), "int": ("tl.int64", "0")}


def plan(graph: Graph, suffix: str, line_of: LineOf, part: str = "") -> Program:
    """The kernels of a graph with sums over rows, whose form `find` gives.

    Their tables of configs are those of a part of the module.
    """
    held = in_registers(graph)
    form = find(held)
    if form is None:
        raise ValueError(f"{graph.name}: the sums are of no form that one pass can carry along")
    return _Maker(graph, held, form, suffix, line_of, part).program()


class _Maker:
    """Makes the kernels of one variant."""

    def __init__(
        self,
        graph: Graph,
        held: Graph,
        form: Summed,
        suffix: str,
        line_of: LineOf,
        part: str,
    ) -> None:
        self.graph, self.held, self.form = graph, held, form
        self.suffix, self.line_of, self.part = suffix, line_of, part
        self.kind = "sums" if form.whole else "columns"
        self.column_total = total_of(form.columns, "COLS")
        read = {operand.name for operand in graph.operands}
        free = Names(taken(graph) | read)
        #: Names of the carried sums, and of the workspaces of the partial ones.
        self.carried = {node: free(name) for node, name in self._wishes().items()}
        free.taken |= {output.name for output in graph.outputs}
        self.partials = {node: free(f"{name}_parts") for node, name in self.carried.items()}

    def _wishes(self) -> dict[Node, str]:
        """The name of each sum: its own, or that of the result which is made of it."""
        found: dict[Node, str] = {}
        for output in self.held.outputs:
            for node in topological((output.value,)):
                if node in self.form.sums and node not in found:
                    found[node] = node.name or output.name
        return found

    def program(self) -> Program:
        """The one schedule, and what a plan knows before it chooses a config."""
        form = self.form
        rows = (*form.outer, *form.rows)
        return Program(
            self.graph, self.suffix, self.graph.ordered(rows), form.columns, (self.schedule(),),
            self._lets(), compared=form.whole,
        )  # fmt: skip

    def _lets(self) -> tuple[Let, ...]:
        form = self.form
        groups = (row_group(form.rows, ""), *self._outer_group(), column_group(form.columns))
        lets = [*(group.axes for group in groups), Let("columns", "cols.total")]
        if form.whole:
            lets.append(Let("width", "next_power_of_2(columns)"))
        return tuple(lets)

    def schedule(self) -> Schedule:
        """The pass, then a kernel for each shape that sums have."""
        form = self.form
        tile: tuple[Let, ...]
        if form.whole:
            tile = (
                Let("block_m", 'max(1, min(config["TILE"] // width, next_power_of_2(rows.total)))'),
            )
            places, sizes = "outer.total" if form.outer else "1", ("rows.total", "width")
        else:
            shape = (
                'tile_shape(rows.crossed(), rows.total, columns, config["TILE"], call.element_size)'
            )
            tile = (Let("block_m, block_n", shape), Let("blocks", "cdiv(columns, block_n)"))
            places, sizes = (
                "outer.total * blocks" if form.outer else "blocks",
                ("rows.total", "columns"),
            )
        wanted = f"programs_of(config, call.target, cdiv(rows.total, block_m), {places})"
        time = (f"{self.kind}_cost", *sizes, *(("outer.total",) if form.outer else ()))
        joins = tuple(
            self.join(of, f"join{f'_{at}' if at > 1 else ''}")
            for at, of in enumerate(self._classes(), 1)
        )
        return Schedule(
            self.kind, space_name(self.kind, self.part), time, (self.walk(), *joins),
            preferred="fits(sums)" if form.whole else "",
            lets=(*tile, Let("programs", wanted)),
            workspaces=tuple(self._workspace(node) for node in self.carried),
        )  # fmt: skip

    # ---- the pass ---------------------------------------------------------------------------------

    def walk(self) -> Kernel:
        """The kernel that goes over the rows."""
        form, graph = self.form, self.held
        first = form.columns[:1]  # several are one axis
        layout = Layout(
            graph,
            (
                *self._outer_group(),
                row_group(self.form.rows, "in_rows"),
                column_group(self.form.columns),
            ),
        )
        values = tuple(output.value for output in graph.outputs)
        low = Lowering(
            graph, layout, Names(taken(graph) | {*self.carried.values()}), Comments(self.line_of),
            choose_others(values, first), first,
        )  # fmt: skip
        low.policies = sweeps.read_once(graph)
        before = self._ahead(low)
        stored = [output for output in graph.outputs if not form.after(output)]
        body = low.emit([*(node.args[0] for node in self.carried), *low.values(stored)])
        for node in self.carried:
            body = order.once_known(self._step(low, node), body)
        for output in stored:
            body += low.store(output)
        sweep = Sweep(
            tuple(before), tuple(map(self._accumulator, self.carried)), tuple(order.late(body)),
            tuple(map(self._left, self.carried)),
        )  # fmt: skip
        read = tuple(operand.name for operand in graph.arguments)
        tensors = (*read, *(output.name for output in stored), *self.partials.values())
        doc = "A program goes over tiles of BLOCK_M whole rows, and carries their sums along."
        if not form.whole:
            doc = "A program goes over tiles of BLOCK_M rows by BLOCK_N columns, and carries their sums along."
        blocks = "" if form.whole else " * blocks"
        constants = {
            "BLOCK_M": "block_m",
            "BLOCK_N": "width" if form.whole else "block_n",
            "EVEN_M": "rows.total % block_m == 0",
            "EVEN_N": "columns == width" if form.whole else "columns % block_n == 0",
            "STAGES": 'config["num_stages"]',
        }
        outside = {o.name for o in layout.offsets if o.name.endswith("_outer")}
        facts = {
            "whole": form.whole,
            "outer": bool(form.outer),
            "row_total": total_of(form.rows, "ROWS"),
            "column_total": self.column_total,
            "outside": [o for o in layout.offsets if o.name in outside],
            "inside": [o for o in layout.offsets if o.name not in outside],
        }
        return self._kernel(
            self.kind, "sums", doc, low, sweep, tensors,
            (Argument(("PROGRAMS",), "programs"),),
            f"{'outer.total * ' if form.outer else ''}programs{blocks}", constants, facts,
        )  # fmt: skip

    def _ahead(self, low: Lowering) -> list[Statement]:
        """The loads of what is one number for a program.

        What rows share but columns do not stays in the loop. It comes from L2 through the pipeline,
        in the layout that the tile has, and lives in registers only while it is needed. Loaded ahead
        it had a layout of its own where a row is short for the warps, and whole tiles were converted
        (rows of 1024, 8 warps: 254 registers instead of 170, and a pass through shared memory).
        """
        placed = {*self.form.rows, *self.form.columns}
        nodes = topological(tuple(low.values(low.graph.outputs)))
        loads = [node for node in ready(nodes) if not set(node.dims) & placed]
        return low.emit(loads, keep=loads)

    def _accumulator(self, node: Node) -> Accumulator:
        dtype, start = STATES[node.dtype.kind]
        wide = set(node.args[0].dims) & set(self.form.columns)
        return Accumulator(
            self.carried[node], start, dtype, f"(BLOCK_M, {'BLOCK_N' if wide else '1'})"
        )

    def _step(self, low: Lowering, node: Node) -> Statement:
        """Take a tile into a sum. Rows that do not exist must not count, whatever they hold."""
        mask = "in_rows"
        if set(node.attrs["over"]) & set(self.form.columns):
            mask = "in_rows & in_cols"
        text = low.printer.text(node.args[0])
        dtype, start = STATES[node.dtype.kind]
        text = text if dtype == "FLOAT" else f"({text}).to({dtype})"
        name = self.carried[node]
        return Statement(
            "assign", name, f"{name} + tl.where({mask}, {text}, {start})",
            comment=low.comments.of(node), when=self._when(node),
        )  # fmt: skip

    def _when(self, node: Node) -> str:
        """The constants of which one says that a sum is wanted; empty if it always is."""
        users = [output for output in self.held.outputs if node in topological((output.value,))]
        wanted = [needed(output) for output in users]
        return " or ".join(wanted) if all(wanted) else ""

    def _left(self, node: Node) -> Statement:
        """The store of a program's partial sums."""
        value, pointer = self.carried[node], f"{self.partials[node]}_ptr"
        if self.form.keeps_columns(node):
            place, mask = f"part * {self.column_total} + cols", "in_cols"
        else:
            place, mask = "part" if self.form.whole else "part * blocks + block", ""
            if set(node.args[0].dims) & set(self.form.columns):
                value = f"tl.sum({value}, axis=1, keep_dims=True)"
        value = f"tl.sum({value}, axis=0, keep_dims=True)"
        return Statement(
            "store", value=value, pointer=f"{pointer} + {place}", mask=mask, when=self._when(node)
        )

    def _workspace(self, node: Node) -> Workspace:
        columns = (
            "columns" if self.form.keeps_columns(node) else "1" if self.form.whole else "blocks"
        )
        shape = ("programs", columns)
        dims = self.form.columns if self.form.keeps_columns(node) else ()
        dtype = STATES[node.dtype.kind][0].removeprefix("tl.")
        return Workspace(
            self.partials[node], (*(("outer.total",) if self.form.outer else ()), *shape), dtype,
            (*self.form.outer, *dims), "programs",
        )  # fmt: skip

    # ---- the kernels after it -----------------------------------------------------------------------

    def _classes(self) -> list[list[Output]]:
        """The outputs that are made of sums, by the shape that their sums have."""
        found: dict[tuple[bool, bool], list[Output]] = {}
        for output in self.held.outputs:
            if self.form.after(output):
                node = self._sums(output)[0]
                key = self.form.keeps_outer(node), self.form.keeps_columns(node)
                found.setdefault(key, []).append(output)
        return list(found.values())

    def _sums(self, *outputs: Output) -> list[Node]:
        """The sums that outputs are made of, in order."""
        nodes = topological(tuple(output.value for output in outputs))
        return [node for node in nodes if node in self.carried]

    def join(self, outputs: Sequence[Output], ending: str) -> Kernel:
        """The kernel that adds up the partial sums behind outputs of one shape."""
        form, sums = self.form, self._sums(*outputs)
        by_column = form.keeps_columns(sums[0])
        by_place = bool(form.outer) and form.keeps_outer(sums[0])
        groups = (*(self._outer_group() if by_place else (_nowhere(),)),)
        layout = Layout(
            self.held, (*groups, *((column_group(self.form.columns),) if by_column else ()))
        )
        low = Lowering(
            self.held, layout, Names(taken(self.held) | {*self.carried.values()}),
            Comments(self.line_of), {}, (),
        )  # fmt: skip
        for node in sums:
            low.bind(node, self.carried[node])
        after = low.emit(low.values(outputs))
        for output in outputs:
            after += low.store(output)
        parts = ["programs"]
        parts += ["outer.total"] if form.outer and not by_place else []
        parts += ["blocks"] if not (form.whole or by_column) else []
        text = " * ".join(parts)
        shape = f"join_tile(config, {text}, {'columns' if by_column else '1'})"
        grid = f"cdiv(columns, {shape}[1])" if by_column else "1"
        accumulators = tuple(
            replace(self._accumulator(node), shape="(BLOCK_S, BLOCK_N)") for node in sums
        )
        facts = {
            "column_total": self.column_total if by_column else "",
            "outer": by_place,
            "partials": [(self.carried[node], self.partials[node]) for node in sums],
            "offsets": list(layout.offsets),
        }
        return self._kernel(
            ending, "join", "A program adds up the partial sums of BLOCK_N columns." if by_column
            else "A program adds up partial sums.",
            low, Sweep((), accumulators, (), tuple(after)),
            (*(self.partials[node] for node in sums), *(output.name for output in outputs)),
            (Argument(("PARTS",), text),), f"outer.total * {grid}" if by_place else grid,
            {"BLOCK_S": f"{shape}[0]", "BLOCK_N": f"{shape}[1]"}, facts,
            tuple(o.name for o in outputs) if all(o.optional for o in outputs) else (),
        )  # fmt: skip

    # ---- what both are made of ----------------------------------------------------------------------

    def _outer_group(self) -> tuple[Group, ...]:
        if not self.form.outer:
            return ()
        names = ("outer_0", "outer_1")
        sizes = (
            Argument((total_of(self.form.outer, "OUTER"),), "outer.total"),
            Argument(("OUTER_1",), "outer.sizes[1]"),
        )
        return (Group("outer", "outer", self.form.outer, names, names, 2, "", "outer", sizes),)

    def _kernel(
        self, ending: str, template: str, doc: str, low: Lowering, sweep: Sweep,
        tensors: tuple[str, ...], more: tuple[Argument, ...], grid: str,
        constants: dict[str, str], facts: dict[str, object], serves: tuple[str, ...] = (),
    ) -> Kernel:  # fmt: skip
        """A kernel from what its lowering gathered."""
        (sweep,) = settled([sweep])
        floats = [param.name for param in self.graph.params if param.kind == "float"]
        return Kernel(
            f"_{self.graph.name}{self.suffix}_{ending}", f"row_{template}", doc, tensors,
            (*low.layout.integers, *more), low.params, low.layout.offsets, (sweep,), grid,
            tuple({**constants, **needs(self.graph.outputs, (sweep,))}.items()), serves,
            {"floats": floats, "renamed": low.renamed, **facts},
        )  # fmt: skip


def _nowhere() -> Group:
    """Stands for outer dimensions where there are none: the one place, as a tile of one element."""
    return Group("", "outer", (), (), (), 0, "", "outer", ())
