"""From nodes to the statements of one kernel."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tilegen.families import online
from tilegen.families.layout import Layout, output_places
from tilegen.families.names import RESERVED, Names
from tilegen.families.padding import padding
from tilegen.families.printer import Printer, is_scalar
from tilegen.families.program import Statement, needed
from tilegen.ir import types
from tilegen.ir.graph import Graph, Node, Output, Span
from tilegen.ir.integers import widened
from tilegen.ir.ops import AND, POWER

INLINE = ("const", "param", "size", "index")

#: Names for the values of unnamed nodes, by op.
WISHES = {"exp": "exps", "and": "valid", "uniform": "uniforms", "cast": "rounded"}

#: Gives the source line of a span.
LineOf = Callable[[Span], str]


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
        self.free.taken |= layout.reserved()
        #: Parameters whose names the kernel needs itself, with the names that they have there.
        self.renamed = {
            param.name: self.free(f"{param.name}_value")
            for param in graph.params
            if param.name in RESERVED | set(graph.dims) | layout.reserved()
        }
        self.others, self.columns = others, columns
        self.policies: dict[str, str] = {}
        self.names: dict[Node, str] = {}
        self.loaded: dict[Node, None] = {}
        self._params: set[str] = set()
        self.widened = widened(tuple(output.value for output in graph.outputs))
        self.printer = Printer(self.names, self.widened)

    @property
    def params(self) -> tuple[str, ...]:
        """The run-time parameters that the kernel uses, in signature order."""
        return tuple(param.name for param in self.graph.params if param.name in self._params)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Variables made inside are gone afterwards, as those of a loop's body are."""
        before, taken = dict(self.names), set(self.free.taken)
        yield
        self.names.clear()
        self.names.update(before)
        self.free.taken = taken

    def bind(self, node: Node, name: str) -> None:
        """From now on `node` is this variable, or this expression over one."""
        self.names[node] = name

    def emit(self, roots: Sequence[Node], keep: Iterable[Node] = ()) -> list[Statement]:
        """Statements after which `roots` can be printed; `keep` nodes get variables."""
        nodes = self._pending(roots)
        uses: dict[Node, int] = dict.fromkeys(keep, 2)
        for node in nodes:
            for arg in node.args:
                uses[arg] = uses.get(arg, 0) + 1
        last = dict.fromkeys((*roots, *keep), len(nodes))
        for place, node in reversed(list(enumerate(nodes))):
            # What is no variable is printed, and with it its arguments, where it is used.
            here = place if self._is_variable(node, uses) else last.get(node, place)
            for arg in node.args:
                last[arg] = max(last.get(arg, 0), here)
        statements: list[Statement] = []
        holder: dict[str, Node] = {}
        for place, node in enumerate(nodes):
            if node in self.names:
                continue
            if node.op in INLINE:
                self._inline(node)
            elif node.op == "load":
                statements.append(self._load(node, nodes))
            elif node.op == "reduce" and "{axes}" in online.TABLE[node.attrs["monoid"]].registers:
                statements.append(self._states(node))
            elif self._is_variable(node, uses):
                text = self._computed(node)
                over = holder.get(node.name)
                if over is not None and last.get(over, place) <= place:
                    self.bind(node, self.names[over])
                else:
                    self.bind(node, self.free(_wish(node)))
                if node.name:
                    holder[node.name] = node
                statements.append(
                    Statement("assign", self.names[node], text, comment=self.comments.of(node))
                )
        return statements

    def _is_variable(self, node: Node, uses: Mapping[Node, int]) -> bool:
        """Whether a value gets a variable: it has a name or several uses, and is no plain number."""
        if node.op in ("load", "reduce", "uniform") or node.name:
            return True
        return uses.get(node, 0) > 1 and not (node.op == "cast" and is_scalar(node))

    def _inline(self, node: Node) -> None:
        """Parameters, sizes and positions are printed where they are used."""
        if node.op == "param":
            self._params.add(node.attrs["param"])
            name: str = node.attrs["param"]
            self.bind(node, self.renamed.get(name, name))
        elif node.op == "size":
            self.bind(node, self.layout.size(node.attrs["dim"]))
        elif node.op == "index":
            self.bind(node, self.layout.position(node.dims[0]))

    def _computed(self, node: Node) -> str:
        if node.op == "reduce":
            return self._reduction(node)
        return self._uniform(node) if node.op == "uniform" else self.printer.text(node)

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

    def _load(self, node: Node, pending: Sequence[Node]) -> Statement:
        """The load of a node; of both halves at once where they lie side by side in memory."""
        tensor: str = node.attrs["tensor"]
        pair = self._pair(node, pending)
        fixed = _digits(node)
        places = self._places(node)
        halves = [node]
        if pair is not None:
            halves = [part for _, part in sorted(pair.items())]
            places[-1] = (places[-1][0], None, "0")
        name = self.free(node.name or tensor) if not fixed or node.name else ""
        for half in halves:
            own = name if name and pair is None else self.free(f"{tensor}_{_digits(half)}")
            self.bind(half, own)
            self.loaded[half] = None
        stored = self.graph.operand(tensor).stored
        known = self._pair_strides(tensor, stored) if pair is not None else {}
        pointer = self.layout.address(tensor, places, known)
        mask = self.layout.mask(node.dims)
        if node.attrs.get("guarded"):
            guard = self.printer.text(node.args[-1], AND + 1)
            block = self.layout.block(node.dims)
            if block and is_scalar(node.args[-1]):
                # A block as the pointer is: the interpreter cannot mix masks with scalars.
                guard = f"(tl.where({guard}, {block}, -1) >= 0)"
            mask = f"{mask} & {guard}" if mask else guard
        step = self.layout.stride(tensor, places[-1][0]) if pair is not None else ""
        return Statement(
            "load" if pair is None else "pair",
            ", ".join(self.names[half] for half in halves),
            pointer=pointer, mask=mask, other=self._other(node) if mask else "", step=step,
            policy=self.policies.get(tensor, ""), real=node.dtype is types.real,
            whole=node in self.widened and self.graph.operand(tensor).dtype.bits < 32,
        )  # fmt: skip

    def _places(self, node: Node) -> list[tuple[str, Node | None, str]]:
        """Where a load goes along each dimension: its own position, or a computed one."""
        places: list[tuple[str, Node | None, str]] = []
        for dim, arg in zip(node.attrs["dims"], node.args, strict=False):
            plain = arg.op == "index" and arg.dims == (dim,)
            text = "" if plain else self._position(arg)
            places.append((dim, None, "") if plain else (dim, arg, text))
        return places

    def _position(self, arg: Node) -> str:
        """A computed position, in the type of offsets."""
        if arg.op == "const":
            return self.printer.text(arg)
        return f"tl.cast({self.printer.text(arg)}, INT)"

    def _pair(self, node: Node, pending: Sequence[Node]) -> dict[int, Node] | None:
        """The two loads that take both halves of an innermost dimension of size two."""
        dims: tuple[str, ...] = node.attrs["dims"]
        if (
            not dims
            or self.graph.dims[dims[-1]].size != 2
            or node.args[len(dims) - 1].op != "const"
        ):
            return None
        found: dict[int, Node] = {}
        for other in pending:
            if other.op == "load" and other.attrs == node.attrs:
                half = other.args[len(dims) - 1]
                rest = other.args[: len(dims) - 1] + other.args[len(dims) :]
                mine = node.args[: len(dims) - 1] + node.args[len(dims) :]
                if half.op == "const" and rest == mine:
                    found[half.attrs["value"]] = other
        return found if sorted(found) == [0, 1] else None

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
            text = text if fill == "0" else f"({text}).to(tl.int64)"
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
        for axis in range(min(len(self.columns), 2), 0, -1):
            text = monoid.registers.format(x=text, axis=axis)
        return text

    def _states(self, node: Node) -> Statement:
        """A reduction to several states, each of which becomes a variable."""
        monoid = online.TABLE[node.attrs["monoid"]]
        finals = tuple(map(self.free, monoid.finals))
        for part in self.graph.nodes:
            if part.op == "state" and part.args[0] is node:
                self.bind(part, finals[part.attrs["position"]])
        x = self.operand_of(node, monoid.identity)
        text = monoid.registers.format(x=x, axes=min(len(self.columns), 2))
        return Statement("assign", ", ".join(finals), text, comment=self.comments.of(node))

    def _uniform(self, node: Node) -> str:
        seed, *positions = node.args
        dims: tuple[str, ...] = node.attrs["dims"]
        text = ""
        for dim, position in zip(dims, positions, strict=True):
            here = self.printer.text(position, POWER)
            text = f"({text}) * {self.layout.size(dim)} + {here}" if text else here
        place = self._row_major(dims, positions) or text
        if place == "offsets":
            return f"uniform_line({self.printer.text(seed)}, start, BLOCK)"
        return f"uniform({self.printer.text(seed)}, {place})"

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
        value = output.value
        pair = value.op == "stack" and len(value.args) == 2
        if pair and value.attrs["dim"] == output.dims[-1] and value.args[0].op != "stack":
            return [self._pair_store(output, value, alone)]
        return [self._store(output, places, part, alone) for places, part in output_places(output)]

    def _pair_store(self, output: Output, value: Node, alone: str) -> Statement:
        """Both halves of an innermost dimension of size two, side by side."""
        *rest, last = output.dims
        places: list[tuple[str, Node | None, str]] = [(dim, None, "") for dim in rest]
        halves = ", ".join(self.printer.text(part) for part in value.args)
        known = self._pair_strides(output.name, output.stored)
        statement = self._store(output, [*places, (last, None, "0")], value.args[0], alone, known)
        text = f"narrow(tl.join({halves}), {output.name}_ptr.dtype.element_ty)"
        step = self.layout.stride(output.name, last)
        return replace(statement, kind="join", value=text, step=step)

    def _pair_strides(self, tensor: str, stored: tuple[tuple[str, ...], ...]) -> dict[str, str]:
        """The stride of the dimension outside a pair, where both are one stored dimension.

        It is twice the pair's, and saying so lets the compiler see that pairs lie side by side.
        """
        *_, group = stored
        if len(group) < 2:
            return {}
        return {group[-2]: f"2 * {self.layout.stride(tensor, group[-1])}"}

    def _store(
        self,
        output: Output,
        places: list[tuple[str, Node | None, str]],
        value: Node,
        alone: str,
        known: Mapping[str, str] | None = None,
    ) -> Statement:
        pointer = self.layout.address(output.name, places, known or {})
        if not output.dims and self.layout.shaped:
            pointer = f"{pointer} + {self.layout.shaped}"
        masks = [text for text in (self.layout.mask(output.dims), alone) if text]
        mask = " & ".join(f"({text})" if "=" in text else text for text in masks)
        text = self.printer.text(value)
        if output.dtype.kind == "float" or value.dtype.kind == "float":
            text = f"narrow({text}, {output.name}_ptr.dtype.element_ty)"
        comment = self.comments.of(value)
        return Statement(
            "store", value=text, pointer=pointer, mask=mask, comment=comment, when=needed(output)
        )

    def values(self, outputs: Sequence[Output]) -> list[Node]:
        """What the stores of these outputs need."""
        return [value for output in outputs for _, value in output_places(output)]


def _digits(node: Node) -> str:
    """The constant positions of a load, as part of a name."""
    values = (str(arg.attrs["value"]) for arg in node.args if arg.op == "const")
    return "_".join(values).replace("-", "minus_")


def _wish(node: Node) -> str:
    """The name that suits a node's variable."""
    if node.op == "reduce" and not node.name:
        return f"row_{node.attrs['monoid']}"
    if node.op == "div" and node.args[0].op == "const":
        return node.name or "reciprocal"
    return node.name or WISHES.get(node.op, "value")
