"""A readable listing of a graph, for people and for golden files.

One line a node, numbered in the order of the listing. Every attribute is shown: in the place
that `FORMS` gives it, or in braces. A loop's body is indented under it.
"""

import string
from collections.abc import Iterator
from typing import Any

from tilegen.ir.graph import DimInfo, Graph, Node, Operand, Output, Param, Region
from tilegen.ir.regions import bodies
from tilegen.ir.types import DType

#: How the arguments and attributes of an op are written; `{args}` are all arguments.
FORMS: dict[str, str] = {
    "const": "{value}",
    "param": "{param}",
    "size": "{dim}",
    "load": "{tensor}[{args}]",
    "take": "{args} along {dim}",
    "stack": "{args} along {dim}",
    "cast": "{args} to {to}",
    "narrow": "{args} to {to}",
    "reduce": "{monoid} of {args} over {over}",
    "state": "{position} of {args}",
    "item": "{position} of {args}",
    "uniform": "{args} over {dims}",
    "contract": "{args} over {over} as {operand} into {accumulator}",
    "loop": "{extent} times from {args}",
}

#: Attributes that are seen elsewhere in the listing.
_ELSEWHERE = {"load": {"dims", "guarded"}, "loop": {"region", "carried"}}


def dump(graph: Graph) -> str:
    """List a graph.

    Dimensions, operands and parameters come first, the outputs last. The same graph gives the
    same text.
    """
    lines = [f"graph {graph.name}"]
    lines += (f"dim {_dim(info)}" for info in graph.dims.values())
    lines += (f"operand {_operand(operand)}" for operand in graph.operands)
    lines += (f"param {_param(param)}" for param in graph.params)
    lines += _Listing(graph).lines(None, "")
    return "\n".join(lines) + "\n"


class _Listing:
    """Numbers the nodes of a graph as it writes them."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.bodies = bodies(tuple(output.value for output in graph.outputs))
        self.numbers: dict[Node, int] = {}

    def lines(self, loop: Node | None, indent: str) -> Iterator[str]:
        """The body of a loop, or what is outside all loops."""
        for node in self.bodies.get(loop, ()):
            self.numbers[node] = len(self.numbers)
            yield indent + self.line(node)
            if node.op == "loop":
                yield from self.lines(node, indent + "    ")
        if loop is None:
            yield from (self.output(output) for output in self.graph.outputs)
        else:
            region: Region = loop.attrs["region"]
            yield f"{indent}next {self.arguments(region.results)}"

    def line(self, node: Node) -> str:
        """`%3 = mul %1, %2 : real[M, N]   # h  (line 6)`."""
        text = f"%{self.numbers[node]} = {node.op} {self.operation(node)}".rstrip()
        if node.op != "loop":
            text += f" : {_typed(node.dtype, node.dims)}"
        place = f"(line {node.span.line})" if node.span else ""
        comment = "  ".join(part for part in (node.name, place) if part)
        return f"{text}   # {comment}" if comment else text

    def operation(self, node: Node) -> str:
        """Arguments and attributes."""
        form = FORMS.get(node.op, "{args}")
        shown = {name for _, name, _, _ in string.Formatter().parse(form) if name}
        values = {name: self.value(item) for name, item in node.attrs.items()}
        guard = node.args[-1:] if node.attrs.get("guarded") else ()
        args = node.args[: len(node.args) - len(guard)]
        text = form.format_map({"args": self.arguments(args), **values})
        text += f" if {self.arguments(guard)}" if guard else ""
        rest = (name for name in node.attrs if name not in shown | _ELSEWHERE.get(node.op, set()))
        extra = ", ".join(f"{name}={values[name]}" for name in rest)
        return f"{text} {{{extra}}}" if extra else text

    def arguments(self, nodes: tuple[Node, ...]) -> str:
        """References to nodes."""
        return ", ".join(f"%{self.numbers[node]}" for node in nodes)

    def value(self, item: Any) -> str:
        """An attribute."""
        if isinstance(item, Node):
            return f"%{self.numbers[item]}"
        if isinstance(item, tuple):
            return f"[{', '.join(str(part) for part in item)}]"
        return repr(item) if isinstance(item, float) else str(item)

    def output(self, output: Output) -> str:
        """`output y: x.dtype[M, N] = %7`."""
        kept = "" if output.public else " (internal)"
        stored = _typed(output.dtype, _groups(output.stored))
        return f"output {output.name}: {stored} = %{self.numbers[output.value]}{kept}"


def _dim(info: DimInfo) -> str:
    size = f" = {info.size}" if info.size is not None else ""
    return info.name + size + (" (leading dims fold into it)" if info.fold else "")


def _operand(operand: Operand) -> str:
    optional = " (optional)" if operand.optional else ""
    return f"{operand.name}: {_typed(operand.dtype, _groups(operand.stored))}{optional}"


def _param(param: Param) -> str:
    kind = f"size of {param.dim}" if param.kind == "size" else param.kind
    if param.choices:
        kind += f" of {', '.join(repr(choice) for choice in param.choices)}"
    default = "" if param.required else f" = {param.default!r}"
    return f"{param.name}: {kind}{default}" + (" (optional)" if param.optional else "")


def _groups(stored: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    """Stored dimensions, a `Flat` one as `(G, C)`."""
    return tuple(group[0] if len(group) == 1 else f"({', '.join(group)})" for group in stored)


def _typed(dtype: DType, dims: tuple[str, ...]) -> str:
    return f"{dtype}[{', '.join(dims)}]" if dims else str(dtype)
