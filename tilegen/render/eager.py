"""The eager reference of a spec: its graph, before any pass, as PyTorch text.

It computes what the spec says, op by op, in whatever type it is asked for. Tensors are kept in
the graph's order of dimensions, so that broadcasting only ever inserts axes.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from tilegen.ir import types
from tilegen.ir.autodiff import softmax_of
from tilegen.ir.derivatives import is_number
from tilegen.ir.graph import Graph, Node, Operand, Output, Param, Span
from tilegen.ir.integers import widened
from tilegen.ir.ops import CALL, MULTIPLY, TABLE, UNARY
from tilegen.render.products import product
from tilegen.render.sizes import Line, Sizes

REDUCTIONS = {
    "sum": "{x}.sum({axes})",
    "mean": "{x}.mean({axes})",
    "max": "{x}.amax({axes})",
    "min": "{x}.amin({axes})",
    "argmax": "{x}.argmax({axes})",
    "argmin": "{x}.argmin({axes})",
    "any": "torch.any({x}, {axes})",
    "all": "torch.all({x}, {axes})",
    "logsumexp": "torch.logsumexp({x}, {axes})",
}


@dataclass(frozen=True, slots=True)
class Reference:
    """The body of a reference and what it returns."""

    lines: tuple[Line, ...]
    results: tuple[str, ...]


def reference(graph: Graph, params: tuple[Param, ...], line_of: Callable[[Span], str]) -> Reference:
    """The reference of one traced variant."""
    printer = _Printer(graph, params, line_of)
    printer.declare()
    for node in graph.nodes:
        printer.visit(node)
    results = tuple(printer.result(output) for output in graph.outputs)
    return Reference(tuple(printer.sizes.lines() + printer.lines), results)


class _Printer:
    """Prints a graph node by node."""

    def __init__(
        self, graph: Graph, params: tuple[Param, ...], line_of: Callable[[Span], str]
    ) -> None:
        self.graph, self.line_of = graph, line_of
        self.sizes = Sizes(graph, params)
        self.widened = widened(tuple(output.value for output in graph.outputs))
        self.lines: list[Line] = []
        self.names: dict[Node, str] = {}
        self.taken = {o.name for o in graph.operands} | {p.name for p in params} | set(graph.dims)
        self.taken |= {"torch", "compute"}
        self.said: set[str] = set()
        self.uses: dict[Node, int] = {}
        for node in graph.nodes:
            for arg in node.args:
                self.uses[arg] = self.uses.get(arg, 0) + 1
        users = {arg: node for node in graph.nodes for arg in node.args if node.op != "state"}
        self.hidden = {n for n in graph.nodes if n.op == "reduce" and n not in users}
        self.hidden -= {output.value for output in graph.outputs}
        self.device = f"{graph.operands[0].name}.device"

    def declare(self) -> None:
        """Widen the operands and bring them into the graph's order."""
        liked = {n.attrs["to"].like for n in self.graph.nodes if n.op == "cast"} - {""}
        self.lines += [Line(f"{name}_dtype", f"{name}.dtype") for name in sorted(liked)]
        narrowed = {n.attrs["to"] for n in self.graph.nodes if n.op == "narrow"}
        held = [_held_in(to) for to in sorted(narrowed, key=str) if to.kind == "float"]
        self.lines += held
        self.taken |= {line.target for line in held}
        loads = {node.attrs["tensor"]: node for node in self.graph.nodes if node.op == "load"}
        for operand in self.graph.operands:
            load = loads.get(operand.name)
            if load is None:
                continue  # its shape and type alone are needed
            text = self._arranged(operand, load)
            if load.dtype is types.real:
                text = f"widen({text}, compute)"
            elif load in self.widened and operand.dtype.bits < 32:
                text = f"at_least_int32({text})"
            if text != operand.name:
                self.lines.append(Line(operand.name, text))
            self.names[load] = operand.name

    def _arranged(self, operand: Operand, load: Node) -> str:
        text = operand.name
        axis = 0
        for group in operand.stored:
            if len(group) > 1:
                shape = ", ".join(self.sizes(dim) for dim in group)
                text += f".unflatten({axis}, ({shape}))"
            axis += len(group)
        for place, dim in reversed(list(enumerate(operand.dims))):
            if dim not in load.dims:
                text += f".squeeze({place})"  # an upstream gradient along One
        have = tuple(dim for dim in operand.dims if dim in load.dims)
        return text + _permuted(have, load.dims)

    def visit(self, node: Node) -> None:
        """Make a statement of a node that has a name or several uses."""
        if node in self.names or node.op in ("const", "param", "size", "index"):
            return
        if not node.name and self.uses.get(node, 0) < 2 and node.op not in ("reduce", "take"):
            return
        if node.op == "reduce" and not node.name and self.uses.get(node, 0) < 2:
            return
        if node in self.hidden:
            return
        text = self.text(node)
        wish = name = node.name or "value"
        count = 2
        while name in self.taken:
            name, count = f"{wish}_{count}", count + 1
        self.taken.add(name)
        self.names[node] = name
        self.lines.append(Line(name, text, self._comment(node)))

    def _comment(self, node: Node) -> str:
        line = self.line_of(node.span) if node.span else ""
        if line in self.said:
            return ""
        self.said.add(line)
        return line

    def text(self, node: Node, level: int = 0) -> str:
        """The expression of a node, in parentheses if it binds looser than `level`."""
        text, own = self._expression(node)
        return f"({text})" if own < level else text

    def _expression(self, node: Node) -> tuple[str, int]:
        if node in self.names:
            return self.names[node], CALL
        special = {
            "const": self._const, "param": lambda n: n.attrs["param"],
            "size": lambda n: self.sizes(n.attrs["dim"]), "index": self._index,
            "take": self._take, "stack": self._stack, "reduce": self._reduce,
            "state": self._state, "cast": self._cast, "narrow": self._narrow,
            "uniform": self._uniform,
            "detach": lambda n: f"{self.text(n.args[0], CALL)}.detach()",
            "expand": self._expand,
            "where": self._where, "maximum": self._bound, "minimum": self._bound,
            "clamp": self._clamp,
        }  # fmt: skip
        if node.op in special:
            negative = node.op == "const" and self._const(node).startswith("-")
            return special[node.op](node), UNARY if negative else CALL
        if node.op == "contract":
            return product(node, self.text)
        softmax = self._softmax(node)
        if softmax:
            return softmax, CALL
        row = TABLE[node.op]
        if row.level == CALL:
            args = [self._tensor(arg, node.dims) for arg in node.args]
            return row.torch.format(*args), CALL
        if row.arity == 1:
            return row.torch.format(self.aligned(node.args[0], node.dims, row.level)), row.level
        left, right = node.args
        levels = (row.level, row.level + 1)
        args = [self.aligned(left, node.dims, levels[0]), self.aligned(right, node.dims, levels[1])]
        return row.torch.format(*args), row.level

    def aligned(self, node: Node, dims: tuple[str, ...], level: int = 0) -> str:
        """A value with axes of size one where it lacks a dimension of `dims`."""
        if not node.dims or not _inner_missing(node.dims, dims):
            return self.text(node, level)
        return self.text(node, CALL) + _inserted(node.dims, dims)

    def _tensor(self, node: Node, dims: tuple[str, ...]) -> str:
        """A value that PyTorch wants as a tensor, even if it is a number here."""
        if is_number(node):
            return f"scalar_tensor({self.text(node)}, {self.device}, compute)"
        return self.aligned(node, dims)

    def _const(self, node: Node) -> str:
        value = node.attrs["value"]
        if isinstance(value, float) and not math.isfinite(value):
            return {math.inf: "torch.inf", -math.inf: "-torch.inf"}.get(value, "torch.nan")
        return repr(value)

    def _index(self, node: Node) -> str:
        return f"torch.arange({self.sizes(node.dims[0])}, device={self.device})"

    def _where(self, node: Node) -> str:
        condition, a, b = node.args
        parts = [self._tensor(condition, node.dims)]
        parts += [self.aligned(part, node.dims) for part in (a, b)]
        if is_number(a) and is_number(b):
            parts[1] = self._tensor(a, node.dims)
        return f"torch.where({', '.join(parts)})"

    def _bound(self, node: Node) -> str:
        a, b = node.args
        if is_number(a):
            a, b = b, a
        if is_number(b) and not is_number(a):
            bound = "min" if node.op == "maximum" else "max"
            return f"{self.text(a, CALL)}.clamp({bound}={self.text(b)})"
        return f"torch.{node.op}({self._tensor(a, node.dims)}, {self._tensor(b, node.dims)})"

    def _clamp(self, node: Node) -> str:
        x, low, high = node.args
        if is_number(low) and is_number(high):
            return f"{self.text(x, CALL)}.clamp({self.text(low)}, {self.text(high)})"
        return f"torch.clamp({', '.join(self._tensor(part, node.dims) for part in node.args)})"

    def _expand(self, node: Node) -> str:
        sizes = ", ".join(self.sizes(dim) for dim in node.dims)
        return f"{self._tensor(node.args[0], node.dims)}.expand({sizes})"

    def _take(self, node: Node) -> str:
        x, position = node.args
        dim: str = node.attrs["dim"]
        if position.op == "const" and self.graph.dims[dim].size is not None:
            return f"{self.text(x, CALL)}.select({x.dims.index(dim)}, {position.attrs['value']})"
        source = self.text(x, CALL)
        place = x.dims.index(dim)
        if place != len(x.dims) - 1:
            source += f".movedim({place}, -1)"
        # The last axis by a name of its own: the result may have the dimension again.
        source += _inserted((*(d for d in x.dims if d != dim), "along"), (*node.dims, "along"))
        at = self.aligned(position, node.dims) if position.dims else self.text(position)
        return f"take_last({source}, {at})"

    def _stack(self, node: Node) -> str:
        dims = tuple(dim for dim in node.dims if dim != node.attrs["dim"])
        parts = ", ".join(self.aligned(arg, dims) for arg in node.args)
        if any(arg.dims != dims for arg in node.args):
            parts = f"*torch.broadcast_tensors({parts})"
        return f"torch.stack(({parts},), {node.dims.index(node.attrs['dim'])})".replace(",,", ",")

    def _axes(self, x: Node, over: tuple[str, ...]) -> str:
        places = [x.dims.index(dim) for dim in over]
        if len(places) == 1:
            return "-1" if places[0] == len(x.dims) - 1 else str(places[0])
        return f"({', '.join(map(str, sorted(places)))})"

    def _reduce(self, node: Node) -> str:
        x = node.args[0]
        axes = self._axes(x, node.attrs["over"])
        monoid = node.attrs["monoid"]
        if monoid == "variance":
            return f"{self.text(x, CALL)}.var({axes}, correction={node.attrs['correction']})"
        method = REDUCTIONS[monoid].startswith("{x}")
        return REDUCTIONS[monoid].format(x=self.text(x, CALL if method else 0), axes=axes)

    def _state(self, node: Node) -> str:
        reduction = node.args[0]
        x, over = reduction.args[0], reduction.attrs["over"]
        text = f"finite_max({self.text(x)}, {self._axes(x, over)})"
        if node.attrs["position"] == 0:
            return text
        top = text[:-1] + ", keepdim=True)"
        return f"torch.exp({self.text(x, MULTIPLY)} - {top}).sum({self._axes(x, over)})"

    def _softmax(self, node: Node) -> str:
        """PyTorch's softmax, where a row has something visible and runs over one dimension."""
        reduction = softmax_of(node)
        if reduction is None or node.args[1].op != "state" or len(reduction.attrs["over"]) > 1:
            return ""
        x = reduction.args[0]
        return f"torch.softmax({self.text(x)}, {self._axes(x, reduction.attrs['over'])})"

    def _cast(self, node: Node) -> str:
        source, to = node.args[0], node.attrs["to"]
        if to is types.real and is_number(source):
            return f"float({self.text(source)})"
        if to is types.real:
            return f"widen({self._tensor(source, source.dims)}, compute or torch.float32)"
        if to is types.integer:
            return f"{self.text(source, CALL)}.long()"
        storage = f"{to.like}_dtype" if to.like else f"torch.{to.torch}"
        text = f"convert({self._tensor(source, source.dims)}, {storage})"
        if to.kind == "float":
            return f"widen({text}, compute)"
        return f"at_least_int32({text})" if node in self.widened else text

    def _narrow(self, node: Node) -> str:
        """What the operands of a product are rounded to; fp64 stays, as it is the truth."""
        source, to = self._tensor(node.args[0], node.args[0].dims), node.attrs["to"]
        if to.kind == "float":
            return f"widen(convert({source}, {_held_in(to).target}), compute)"
        text = f"convert({source}, torch.{to.torch})"
        return f"at_least_int32({text})" if node in self.widened else text

    def _uniform(self, node: Node) -> str:
        seed = node.args[0]
        shape = ", ".join(self.sizes(dim) for dim in node.attrs["dims"])
        text = f"uniform_reference({self.text(seed)}, positions({self.device}, {shape}))"
        text += _permuted(node.attrs["dims"], node.dims)
        return f"{text}.to(compute or torch.float32)"

    def result(self, output: Output) -> str:
        """An output in its stored dimensions."""
        value = output.value
        missing = [dim for dim in output.dims if dim not in value.dims]
        wanted = self.graph.ordered(output.dims)
        calls = ""
        if missing:
            calls = f".expand({', '.join(self.sizes(dim) for dim in wanted)})"
        calls += _permuted(wanted, output.dims)
        for axis, group in enumerate(output.stored):
            if len(group) > 1:
                calls += f".flatten({axis}, {axis + len(group) - 1})"
            if group == ("One",):
                calls += f".unsqueeze({axis})"
        if is_number(value):
            return self._tensor(value, value.dims) + calls
        return self.aligned(value, wanted, CALL if calls else 0) + calls


def _held_in(to: types.DType) -> Line:
    """The type that holds what a kernel narrows to this one."""
    name, dtype = (to.like, to.name) if to.like else (to.name, f"torch.{to.torch}")
    return Line(f"{name}_held", f"compute if compute == torch.float64 else {dtype}")


def _permuted(have: tuple[str, ...], want: tuple[str, ...]) -> str:
    have = tuple(dim for dim in have if dim != "One")
    if have == want:
        return ""
    return f".permute({', '.join(str(have.index(dim)) for dim in want)})"


def _inner_missing(have: tuple[str, ...], want: tuple[str, ...]) -> bool:
    """Whether broadcasting `have` to `want` takes more than leading axes."""
    return bool(have) and want[len(want) - len(have) :] != have


def _inserted(have: tuple[str, ...], want: tuple[str, ...]) -> str:
    """An index that inserts axes of size one for what is missing."""
    if not _inner_missing(have, want):
        return ""
    first = want.index(have[0])
    return f"[{', '.join(':' if dim in have else 'None' for dim in want[first:])}]"
