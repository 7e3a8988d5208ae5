"""What an op must move and compute, in closed form over its dimensions and element sizes.

Symbols: a dimension is a positive integer named as in the spec; `e_x` is the bytes of an element
of tensor x, where its type is known only at the call, and `i_x` those of an index. `plain` folds
them into one `e` and one `i`, for the reader.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import prod

import sympy

from tilegen.analysis.statements import VECTOR_BYTES, Access, Pass, Shape, passes
from tilegen.families.program import Program, Schedule, Workspace
from tilegen.ir.graph import Graph, Node, Operand, Output
from tilegen.ir.types import DType
from tilegen.targets import Target

ZERO = sympy.Integer(0)


@dataclass(frozen=True, slots=True)
class Cost:
    """One schedule of a program.

    Attributes:
        kind: a row of `schedule.kinds`.
        read: bytes that must be read: each element that is touched, once.
        written: bytes of the results.
        again: bytes that later passes read once more: from L2 where rows in flight fit there.
        workspace: bytes of partial states, written and then read (`splits` programs share a row,
            `programs` all rows).
        flops: operations on floats, integers and booleans.
        special: of them, those of the special-function unit.
        passes: sweeps over the rows.
    """

    kind: str
    read: sympy.Expr
    written: sympy.Expr
    again: sympy.Expr
    workspace: sympy.Expr
    flops: sympy.Expr
    special: sympy.Expr
    passes: int

    @property
    def traffic(self) -> sympy.Expr:
        """Bytes that must move between memory and the GPU."""
        return self.read + self.written


@dataclass(frozen=True, slots=True)
class Floor:
    """The least time of a call on one GPU, by what bounds it.

    Attributes:
        memory: seconds to move its bytes at the measured copy rate, or else the datasheet's.
        datasheet: the same at the datasheet's rate.
        flops: seconds of its arithmetic on the vector units.
        special: seconds of its special functions.
    """

    memory: float
    datasheet: float
    flops: float
    special: float

    @property
    def seconds(self) -> float:
        """The largest of them."""
        return max(self.memory, self.flops, self.special)

    @property
    def bound(self) -> str:
        """What it is bound by."""
        if self.memory >= max(self.flops, self.special):
            return "memory"
        return "special functions" if self.special > self.flops else "flops"


def floor(traffic: float, flops: float, special: float, target: Target) -> Floor:
    """The roofline of one call. Peaks count a fused product and sum as two flops, as ops do."""
    units = target.multiprocessors * target.special_per_clock * target.clock_hz
    return Floor(
        traffic / (target.measured_copy or target.bandwidth), traffic / target.bandwidth,
        flops / target.peak["f32"], special / units,
    )  # fmt: skip


@cache
def dimension(name: str) -> sympy.Symbol:
    """The symbol of a dimension."""
    return sympy.Symbol(name, positive=True, integer=True)


@cache
def element(name: str, dtype: DType) -> sympy.Expr:
    """Bytes of an element of a tensor."""
    if dtype.bits:
        return sympy.Rational(dtype.bits, 8)
    if dtype.kind == "bool":
        return sympy.Integer(1)
    prefix = "e" if dtype.kind == "float" else "i"
    return sympy.Symbol(f"{prefix}_{dtype.like or name}", positive=True, integer=True)


def count(graph: Graph, dims: Iterable[str]) -> sympy.Expr:
    """How many elements these dimensions have."""
    return prod(
        (
            dimension(dim) if size is None else sympy.Integer(size)
            for dim in dims
            if dim != "One"
            for size in (graph.dims[dim].size,)
        ),
        start=sympy.Integer(1),
    )


def touched(graph: Graph, operand: Operand) -> sympy.Expr:
    """Distinct elements of a tensor that the op reads; an upper bound where indices may repeat."""
    places = {
        _footprint(node)
        for node in graph.nodes
        if node.op == "load" and node.attrs["tensor"] == operand.name
    }
    whole = count(graph, operand.dims)
    if any(not fixed and not gathered for _, fixed, gathered, _ in places):
        return whole
    found = ZERO
    for plain, _, gathered, by in sorted(places):
        at_most = sympy.Min(count(graph, gathered), count(graph, by)) if gathered else 1
        found += count(graph, plain) * at_most
    return found


Footprint = tuple[tuple[str, ...], tuple[tuple[str, int], ...], tuple[str, ...], tuple[str, ...]]


def _footprint(node: Node) -> Footprint:
    """Dimensions that a load runs over, fixed ones, gathered ones, and those that gather."""
    pairs = list(zip(node.attrs["dims"], node.args, strict=False))
    plain = tuple(d for d, arg in pairs if arg.op == "index" and arg.dims == (d,))
    fixed = tuple((d, int(arg.attrs["value"])) for d, arg in pairs if arg.op == "const")
    rest = [(d, arg) for d, arg in pairs if d not in plain and arg.op != "const"]
    by = {dim for _, arg in rest for dim in arg.dims} - set(plain)
    return plain, fixed, tuple(d for d, _ in rest), tuple(sorted(by))


def traffic(graph: Graph) -> tuple[sympy.Expr, sympy.Expr]:
    """Bytes that must be read, and written; what only a backward wants does not count."""
    read = sum((touched(graph, o) * element(o.name, o.dtype) for o in graph.operands), ZERO)
    outputs = [output for output in graph.outputs if output.public or not output.optional]
    return sympy.expand(read), sympy.expand(sum((_stored(graph, o) for o in outputs), ZERO))


def _stored(graph: Graph, output: Output) -> sympy.Expr:
    real = output.dtype.kind == "float" and not output.dtype.bits and not output.dtype.like
    size = sympy.Integer(4) if real else element(output.name, output.dtype)
    return count(graph, output.dims) * size


@cache
def cost(program: Program, schedule: Schedule) -> Cost:
    """The cost of one schedule; the statements of its kernels are counted as they run."""
    graph = program.graph
    rows = count(graph, program.rows if program.columns else ())
    total = count(graph, (*program.rows, *program.columns))
    found = [one for kernel in schedule.kernels for one in passes(kernel, graph.operands)]
    lanes = _size(graph) / VECTOR_BYTES
    read, written = traffic(graph)
    again = ZERO
    seen: set[str] = set()
    for one in found:
        loads = dict.fromkeys(a.tensor for a in _wide_loads(one))
        for name in loads:
            operand = graph.operand(name)
            if name in seen and set(program.columns) <= set(operand.dims):
                again += count(graph, operand.dims) * element(name, operand.dtype)
        seen |= set(loads)
    return Cost(
        schedule.kind, read, written, sympy.expand(again),
        sum((_handed(graph, space) for space in schedule.workspaces), ZERO),
        sympy.expand(sum((_work(one.flops, total, rows, lanes) for one in found), ZERO)),
        sympy.expand(sum((_work(one.special, total, rows, lanes) for one in found), ZERO)),
        max(1, sum(one.loops for one in found)),
    )  # fmt: skip


def _handed(graph: Graph, space: Workspace) -> sympy.Expr:
    """Bytes of a workspace, written and then read."""
    parts = sympy.Symbol(space.parts, positive=True, integer=True)
    return 2 * (8 if space.dtype == "int64" else 4) * count(graph, space.dims) * parts


def least(programs: Sequence[Program]) -> Cost:
    """The cost of an op at least: of each of its stages, that of the simplest schedule."""
    fused = [program for program in programs if program.stages]
    costs = [cost(program, program.simplest) for program in fused or programs]
    names = ("read", "written", "again", "workspace", "flops", "special", "passes")
    first, *others = costs
    for one in others:
        first = replace(
            first, **{name: getattr(first, name) + getattr(one, name) for name in names}
        )
    return first


def _wide_loads(one: Pass) -> list[Access]:
    return [a for a in one.accesses if a.shape is Shape.ELEMENT and not a.store]


def _size(graph: Graph) -> sympy.Expr:
    """Bytes of an element of the first floating tensor: a lane takes 16 bytes of them."""
    floats = [o for o in graph.operands if o.dtype.kind == "float"]
    return element(floats[0].name, floats[0].dtype) if floats else sympy.Integer(4)


def _work(
    counts: Mapping[Shape, int], total: sympy.Expr, rows: sympy.Expr, lanes: sympy.Expr
) -> sympy.Expr:
    return (
        counts.get(Shape.ELEMENT, 0) * total
        + counts.get(Shape.LANE, 0) * total * lanes
        + counts.get(Shape.ROW, 0) * rows
    )


def plain(expression: sympy.Expr) -> sympy.Expr:
    """One `e` for the element sizes of all floats, one `i` for those of all indices."""
    names = {
        symbol: sympy.Symbol(symbol.name[0], positive=True, integer=True)
        for symbol in expression.free_symbols
        if symbol.name[:2] in ("e_", "i_")
    }
    return sympy.expand(expression.xreplace(names))


def value(expression: sympy.Expr, sizes: Mapping[str, int], size: int, index: int = 8) -> float:
    """The number that an expression is, for sizes by dimension and bytes of an element."""
    numbers = {
        symbol: sympy.Integer(
            size if symbol.name[:2] == "e_" else index if symbol.name[:2] == "i_"
            else sizes[symbol.name]
        )
        for symbol in sympy.sympify(expression).free_symbols
    }  # fmt: skip
    return float(sympy.sympify(expression).xreplace(numbers))
