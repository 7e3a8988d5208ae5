"""From nodes to the statements of one kernel."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tilegen.analysis.padding import padding
from tilegen.families import online
from tilegen.families.layout import Layout, output_places
from tilegen.families.program import Statement
from tilegen.ir import types
from tilegen.ir.graph import Graph, Node, Output, Span
from tilegen.render.triton import Printer

INLINE = ("const", "param", "size", "index")

#: Gives the source line of a span.
LineOf = Callable[[Span], str]


@dataclass
class Names:
    """Hands out names that no argument, helper or other variable of the kernel has."""

    taken: set[str]

    def __call__(self, wish: str) -> str:
        """A free name, as near to the wish as may be."""
        name, count = wish, 2
        while name in self.taken:
            name, count = f"{wish}_{count}", count + 1
        self.taken.add(name)
        return name


@dataclass
class Comments:
    """The spec's lines, each given once."""

    line_of: LineOf
    said: set[str] = field(default_factory=set)

    def of(self, node: Node) -> str:
        """The statement that a node came from, unless it was said before."""
        if node.span is None:
            return ""
        line = self.line_of(node.span)
        if line in self.said:
            return ""
        self.said.add(line)
        return line


class Lowering:
    """Emits the statements of one kernel, in order, keeping what is already a variable."""

    def __init__(
        self,
        graph: Graph,
        layout: Layout,
        names: Names,
        comments: Comments,
        others: dict[Node, float],
        columns: tuple[str, ...],
    ) -> None:
        self.graph, self.layout, self.free, self.comments = graph, layout, names, comments
        self.others, self.columns = others, columns
        self.policies: dict[str, str] = {}
        self.names: dict[Node, str] = {}
        self.loaded: dict[Node, None] = {}
        self.printer = Printer(self.names)

    @property
    def params(self) -> tuple[str, ...]:
        """The run-time parameters of the graph, in signature order."""
        return tuple(param.name for param in self.graph.params if param.kind in ("float", "int"))

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Variables made inside are gone afterwards, as those of a loop's body are."""
        before, taken = dict(self.names), set(self.free.taken)
        yield
        self.names.clear()
        self.names.update(before)
        self.free.taken = taken

    def bind(self, node: Node, name: str) -> None:
        """From now on `node` is this variable."""
        self.names[node] = name

    def emit(self, roots: Sequence[Node], keep: Iterable[Node] = ()) -> list[Statement]:
        """Statements after which `roots` can be printed; `keep` nodes get variables."""
        nodes = self._pending(roots)
        uses: dict[Node, int] = dict.fromkeys(keep, 2)
        for node in nodes:
            for arg in node.args:
                uses[arg] = uses.get(arg, 0) + 1
        statements: list[Statement] = []
        for node in nodes:
            if node.op == "param" and node not in self.names:
                self.bind(node, node.attrs["param"])
            elif node.op == "size":
                self.bind(node, self.layout.size(node.attrs["dim"]))
            elif node.op == "index":
                self.bind(node, self.layout.position(node.dims[0]))
            elif node.op == "load":
                statements.append(self._load(node))
            elif node.op == "reduce":
                statements.append(self._assign(node, self._reduction(node)))
            elif node.op == "uniform":
                statements.append(self._assign(node, self._uniform(node)))
            elif node.op not in INLINE and (node.name or uses.get(node, 0) > 1):
                statements.append(self._assign(node, self.printer.text(node)))
        return statements

    def _pending(self, roots: Sequence[Node]) -> list[Node]:
        """What must be computed for `roots`, stopping at what is already a variable."""
        order: dict[Node, None] = {}

        def visit(node: Node) -> None:
            if node in order or node in self.names:
                return
            for arg in node.args if node.op != "load" else self.load_args(node):
                visit(arg)
            order[node] = None

        for root in roots:
            visit(root)
        return list(order)

    def load_args(self, node: Node) -> list[Node]:
        """The arguments of a load that are computed; plain positions are part of its address."""
        dims: tuple[str, ...] = node.attrs["dims"]
        computed = [
            arg
            for dim, arg in zip(dims, node.args, strict=False)
            if not (arg.op == "index" and arg.dims == (dim,))
        ]
        return computed + list(node.args[len(dims) :])

    def _assign(self, node: Node, value: str) -> Statement:
        if node.name:
            wish = node.name
        elif node.op == "reduce":
            wish = f"row_{node.attrs['monoid']}"
        else:
            wish = {"exp": "exps"}.get(node.op, node.op if node.op == "uniform" else f"{node.op}s")
        name = self.free(wish)
        self.bind(node, name)
        return Statement("assign", name, value, comment=self.comments.of(node))

    def _load(self, node: Node) -> Statement:
        tensor: str = node.attrs["tensor"]
        dims: tuple[str, ...] = node.attrs["dims"]
        places: list[tuple[str, Node | None, str]] = []
        for dim, arg in zip(dims, node.args, strict=False):
            plain = arg.op == "index" and arg.dims == (dim,)
            places.append((dim, None, "") if plain else (dim, arg, self.printer.text(arg, 8)))
        pointer = self.layout.address(tensor, places)
        mask = self.layout.mask(node.dims)
        if node.attrs.get("guarded"):
            guard = self.printer.text(node.args[-1], 5)
            mask = f"{mask} & {guard}" if mask else guard
        wish = node.name or tensor
        fixed = [arg.attrs["value"] for arg in node.args if arg.op == "const"]
        if fixed and not node.name:
            wish = f"{tensor}_{'_'.join(map(str, fixed))}"
        name = self.free(wish)
        self.bind(node, name)
        self.loaded[node] = None
        return Statement(
            "load", name, pointer=pointer, mask=mask, other=self._other(node) if mask else "",
            policy=self.policies.get(tensor, ""), real=node.dtype is types.real,
        )  # fmt: skip

    def _other(self, node: Node) -> str:
        if node.dtype.kind == "bool":
            return "False"
        if node.dtype.kind == "int":
            return "0"
        value = self.others.get(node, 0.0)
        return f'float("{value}")' if math.isinf(value) else repr(value)

    def operand_of(self, node: Node, identity: float) -> str:
        """A reduction's operand with padded columns at the identity."""
        x = node.args[0]
        text = self.printer.text(x)
        mask = self.layout.mask(self.columns)
        if not mask or padding(x, self.others, self.columns) == identity:
            return text
        if x.dtype.kind == "bool":
            fill = "True" if identity else "False"
        elif x.dtype.kind == "int":
            fill = {-math.inf: str(-(2**63)), math.inf: str(2**63 - 1)}.get(identity, "0")
        else:
            fill = f'float("{identity}")' if math.isinf(identity) else repr(identity)
        return f"tl.where({mask}, {text}, {fill})"

    def _reduction(self, node: Node) -> str:
        monoid = online.TABLE[node.attrs["monoid"]]
        text = self.operand_of(node, monoid.identity)
        if "{index}" in monoid.registers:
            return monoid.registers.format(
                x=text, index=self.layout.position(self.columns[0]), axis=1
            )
        group = self.layout.group(self.columns[0])
        for axis in range(len(group.variables), 0, -1):
            text = monoid.registers.format(x=text, axis=axis)
        return text

    def _uniform(self, node: Node) -> str:
        seed, *positions = node.args
        dims: tuple[str, ...] = node.attrs["dims"]
        text = ""
        for dim, position in zip(dims, positions, strict=True):
            here = self.printer.text(position, 9)
            text = f"({text}) * {self.layout.size(dim)} + {here}" if text else here
        return f"uniform({self.printer.text(seed)}, {self._row_major(dims, positions) or text})"

    def _row_major(self, dims: tuple[str, ...], positions: Sequence[Node]) -> str:
        """The position over whole groups, where a draw covers them in order."""
        plain = all(
            p.op == "index" and p.dims == (d,) for d, p in zip(dims, positions, strict=True)
        )
        groups = [group for group in self.layout.groups if set(group.dims) & set(dims)]
        if not plain or tuple(dim for group in groups for dim in group.dims) != dims:
            return ""
        text = groups[0].linear
        for group in groups[1:]:
            total = " * ".join(self.layout.size(dim) for dim in group.dims)
            text = (
                f"{text} * ({total}) + {group.linear}"
                if "*" in total
                else f"{text} * {total} + {group.linear}"
            )
        return text

    def store(self, output: Output, alone: str = "") -> list[Statement]:
        """The stores of an output, where `alone` holds if it is given."""
        statements = []
        for places, value in output_places(output):
            pointer = self.layout.address(output.name, places)
            if not output.dims and self.layout.groups[0].linear == "rows":
                pointer = f"{pointer} + rows"
            masks = [text for text in (self.layout.mask(output.dims), alone) if text]
            mask = " & ".join(f"({text})" if "=" in text else text for text in masks)
            text = self.printer.text(value)
            if output.dtype.kind == "float" or value.dtype.kind == "float":
                text = f"narrow({text}, {output.name}_ptr.dtype.element_ty)"
            statements.append(
                Statement(
                    "store", value=text, pointer=pointer, mask=mask, comment=self.comments.of(value)
                )
            )
        return statements

    def values(self, outputs: Sequence[Output]) -> list[Node]:
        """What the stores of these outputs need."""
        return [value for output in outputs for _, value in output_places(output)]
