"""What the statements of a kernel do, counted: work, loads and stores, values held at once.

A value has one of four shapes: one for the program (a scalar), one for a row, one for a lane (a
row's partial state, shared by a thread's vector of columns) or one for an element of the tile.
Statements are read in order, as the kernel runs them, and each operation counts at the shape of
its result; so what a sweep computes again is counted again.
"""

import ast
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache

from tilegen.families.program import Kernel, Statement, Sweep
from tilegen.ir.graph import Operand
from tilegen.ir.ops import TABLE


class Shape(IntEnum):
    """How many there are of a value; an operation has the largest shape of its arguments."""

    ONE = 0
    ROW = 1
    LANE = 2
    ELEMENT = 3


@dataclass(frozen=True, slots=True)
class Access:
    """A load or store: of which tensor, and at which shape."""

    tensor: str
    shape: Shape
    store: bool


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass over the data.

    Attributes:
        flops: operations, by the shape that they count for.
        special: those of them that the special-function unit does.
        accesses: loads and stores in order.
        held: tile values in registers at once, in words of 4 bytes for an element, by element
            size in bytes of the op's floats.
        reductions: joins over the threads of a program.
        loops: whether it goes over a row block by block.
        ahead: whether it loads each block while it works on the one before.
    """

    flops: Mapping[Shape, int]
    special: Mapping[Shape, int]
    accesses: tuple[Access, ...]
    held: Mapping[int, float]
    reductions: int
    loops: bool
    ahead: bool


#: Helpers of the runtime that are no row of the op table: (shape, flops, special functions) each.
#: A lane takes the maximum of a vector once and rescales once, so the second line of a step
#: counts once for each lane.
_HELPERS: dict[str, tuple[tuple[Shape, int, int], ...]] = {
    "logsumexp_step": ((Shape.ELEMENT, 4, 1), (Shape.LANE, 5, 1)),
    "logsumexp_end": ((Shape.LANE, 4, 1),),
    # A square and its sum are one instruction.
    "deviations": ((Shape.ELEMENT, 2, 0),),
    "moments_step": ((Shape.ELEMENT, 3, 0), (Shape.LANE, 3, 0)),
    "moments_end": ((Shape.LANE, 3, 0), (Shape.ROW, 5, 1)),
    "moments_join": ((Shape.LANE, 7, 0), (Shape.ROW, 1, 1)),
    # Philox 4x32: ten rounds of two wide products, two sums and four xors make four words.
    "uniform": ((Shape.ELEMENT, 110, 0),),
    "uniform_line": ((Shape.ELEMENT, 30, 0),),
}

#: Joins of values along a row.
_REDUCTIONS: dict[str, int] = {
    "tl.sum": 1, "tl.max": 1, "tl.min": 1, "nan_max": 1, "nan_min": 1, "arg_max": 2, "arg_min": 2,
    "logsumexp_end": 1, "moments_end": 1, "moments_join": 1, "deviations": 1,
}  # fmt: skip

_LOADS = {"load", "pair"}
_STORES = {"store", "join"}
_CASTS = ("narrow", "tl.cast", "to")
_MASKS = {"in_cols", "in_cols_0", "in_cols_1", "in_rows", "inside"}
_SHAPES: dict[str, Shape] = {
    **dict.fromkeys(("cols", "cols_1", "in_cols", "in_cols_1", "offsets", "inside"), Shape.ELEMENT),
    # The outer of two axes of columns: few positions of it in a tile, or in a lane.
    **dict.fromkeys(("cols_0", "in_cols_0"), Shape.LANE),
    **dict.fromkeys(("axis_2", "axis_3"), Shape.ELEMENT),  # a tensor may be contiguous in either
    **dict.fromkeys(("rows", "row_0", "row_1", "row_2", "in_rows"), Shape.ROW),
}
#: The element sizes that a table of configs has rows for.
ELEMENT_SIZES = (1, 2, 4, 8)
VECTOR_BYTES = 16


@cache
def passes(kernel: Kernel, operands: tuple[Operand, ...]) -> tuple[Pass, ...]:
    """The passes of a kernel, in order; a sweep that was not needed is left out.

    A kernel that adds up partial sums has none: what it costs does not grow with the tensors.
    """
    if kernel.template == "row_join":
        return ()
    reader = _Reader(kernel, {operand.name: operand for operand in operands})
    looping = kernel.template == "row_sweeps"
    found = [reader.read(sweep, looping) for sweep in kernel.sweeps]
    return tuple(one for one in found if one.accesses or any(one.flops.values()))


class _Reader:
    """Reads statements, remembering the shape and the size of each variable."""

    def __init__(self, kernel: Kernel, operands: Mapping[str, Operand]) -> None:
        self.kernel, self.operands = kernel, operands
        self.bases = {offset.name: offset.pointer for offset in kernel.offsets}
        self.shapes = dict(_SHAPES)
        rowwise = kernel.template.startswith("row_")
        self.shapes |= dict.fromkeys(self.bases, Shape.ROW if rowwise else Shape.ONE)
        groups = kernel.facts.get("groups")
        if isinstance(groups, tuple) and groups:
            self.shapes |= dict.fromkeys(groups[-2].names, Shape.ROW)
            names = groups[-1].names
            pairs = (f"{name}_pairs" for name in names)
            self.shapes |= dict.fromkeys((*names, *pairs), Shape.ELEMENT)
        joins = kernel.facts.get("joins")
        for state in joins if isinstance(joins, tuple) else ():
            self.shapes[state.name] = Shape.ROW
        self.words: dict[str, tuple[float, float]] = {}

    def read(self, sweep: Sweep, looping: bool) -> Pass:
        """Count one sweep, as it is for wide rows."""
        # A load is counted where it is late, and not what only a backward wants.
        saves = self.kernel.facts.get("saves")
        left_out = ("EARLY", *(saves if isinstance(saves, tuple) else ()))
        body, after = (
            tuple(line for line in lines if line.when not in left_out)
            for lines in (sweep.body, sweep.after)
        )
        sweep = replace(sweep, body=body, after=after)
        self.flops: Counter[Shape] = Counter()
        self.special: Counter[Shape] = Counter()
        self.reductions = 0
        self.accesses: list[Access] = []
        self.looping = looping and bool(sweep.body)
        carrying = self.kernel.template == "row_sums"
        for state in sweep.accumulators:
            wide = carrying and state.shape != "(BLOCK_M, 1)"
            self.shapes[state.name] = (
                Shape.ELEMENT if wide else Shape.LANE if looping else Shape.ROW
            )
            self.words[state.name] = (1.0, 0.0)
        carried = {state.name for state in sweep.accumulators}
        for statement in (*sweep.before, *sweep.ahead):
            self._statement(statement)
        # A sample is a small part of the row; what it gives belongs to the row.
        self.shapes |= {s.target: Shape.ROW for s in sweep.sample}
        self.reductions += bool(sweep.sample)
        for statement in sweep.arrived:  # the conversion belongs to the load ahead
            self.shapes[statement.target] = self._shape_of(statement.value)
            self.words[statement.target] = (0.0, 0.25)
        for statement in sweep.body:
            self._statement(statement)
        # A block loaded ahead takes the registers of the one before: compiled, it adds none.
        body = (*sweep.ahead, *sweep.arrived, *sweep.body)
        if carrying:
            sweep = replace(sweep, after=())  # no part of a step
        elif not self.looping:
            body = (*sweep.before, *sweep.body, *sweep.after)
        held = {size: self._pressure(body, carried, size) for size in ELEMENT_SIZES}
        self.looping = False
        for statement in sweep.after:
            self._statement(statement)
        return Pass(
            dict(self.flops), dict(self.special), tuple(self.accesses), held, self.reductions,
            looping and bool(sweep.body), bool(sweep.ahead),
        )  # fmt: skip

    def _statement(self, statement: Statement) -> None:
        targets = statement.target.split(", ")
        if statement.kind in _LOADS | _STORES:
            shape = self._shape_of(f"{statement.pointer} {statement.mask}")
            tensor = self._tensor(statement.pointer)
            access = Access(tensor, shape, statement.kind in _STORES)
            self.accesses += [access] * (2 if statement.kind in ("pair", "join") else 1)
            if statement.kind in _LOADS:
                self.shapes |= dict.fromkeys(targets, shape)
                self.words |= dict.fromkeys(targets, self._loaded(tensor, statement.real))
        if statement.kind in _STORES:
            self._count(_inner(_parsed(statement.value)))
        elif statement.kind not in _LOADS:
            tree = _parsed(statement.value)
            shape = self._count(tree)
            boolean = isinstance(tree, ast.Compare)
            for name in targets:
                self.shapes[name] = shape
                self.words[name] = (0.0, 0.0) if boolean else (1.0, 0.0)

    def _loaded(self, tensor: str, real: bool) -> tuple[float, float]:
        """Words of a loaded value: fixed ones, and those for each byte of the op's floats."""
        dtype = self.operands[tensor].dtype if tensor in self.operands else None
        if dtype is None or real or (dtype.kind == "float" and not dtype.bits):
            return 0.0, 0.25
        return (dtype.bits or 64) / 32, 0.0

    def _tensor(self, pointer: str) -> str:
        name = pointer.split(" ", 1)[0]
        while name in self.bases:
            name = self.bases[name]
        return name.removesuffix("_ptr")

    def _shape_of(self, text: str) -> Shape:
        return max((self.shapes.get(name, Shape.ONE) for name in _names(text)), default=Shape.ONE)

    def _pressure(self, body: Sequence[Statement], carried: set[str], size: int) -> float:
        """The most words an element needs: what lives through a statement, and what it makes.

        A statement takes elements one by one, so what dies in it makes room for its result.
        """
        last: dict[str, int] = dict.fromkeys(carried, len(body))
        for at, statement in enumerate(body):
            for name in _names(f"{statement.value} {statement.pointer} {statement.mask}"):
                last[name] = max(at, last.get(name, 0))
        alive: dict[str, float] = {name: self._size(name, size) for name in carried}
        most = sum(alive.values())
        for at, statement in enumerate(body):
            stays = sum(words for name, words in alive.items() if last.get(name, 0) > at)
            dies = sum(alive.values()) - stays
            targets = [name for name in statement.target.split(", ") if name]
            born = {name: self._size(name, size) for name in targets}
            made = sum(born.values()) if born else 0.0
            if statement.kind in _STORES and not _inner_name(statement.value):
                made = 1.0 if size < 8 else 2.0
            most = max(most, stays + max(dies, made))
            alive = {n: w for n, w in alive.items() if last.get(n, 0) > at} | born
        return most

    def _size(self, name: str, size: int) -> float:
        """Words of a variable for one element of the tile."""
        shape = self.shapes.get(name, Shape.ONE)
        if shape < Shape.LANE:
            return 0.0
        fixed, raw = self.words.get(name, (1.0, 0.0))
        wide = 2.0 if size == 8 and fixed == 1.0 else 1.0
        share = min(1.0, size / VECTOR_BYTES) if shape is Shape.LANE else 1.0
        return (fixed * wide + raw * size) * share

    def _count(self, node: ast.expr) -> Shape:
        """Count an expression, and give its shape."""
        if isinstance(node, ast.Name):
            return self.shapes.get(node.id, Shape.ONE)
        if isinstance(node, ast.Call):
            return self._call(node)
        parts = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        shape = max((self._count(part) for part in parts), default=Shape.ONE)
        row = _operator(node)
        if row:
            self._add(shape, *row)
        return shape

    def _call(self, node: ast.Call) -> Shape:
        name = ast.unparse(node.func)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "to":
            if ast.unparse(node.args[0]) == "FLOAT":
                return self._count(node.func.value)  # belongs to the load
            name, arguments = "to", [node.func.value]
        else:
            arguments = list(node.args)
        if name == "lowest_padded":
            return self._count(node.args[0])  # belongs to the load
        if name == "tl.where" and _names(ast.unparse(node.args[0])) <= _MASKS:
            arguments = arguments[1:]  # padding, not work
            return max(self._count(part) for part in arguments)
        shape = max((self._count(part) for part in arguments), default=Shape.ONE)
        if name in _REDUCTIONS and name not in _HELPERS:
            self._add(shape, _REDUCTIONS[name], 0)
            across = not self.looping
            self.reductions += across
            return Shape.ROW if across else Shape.LANE
        if name in _HELPERS:
            for at, flops, special in _HELPERS[name]:
                self._add(at, flops, special)
            axes = ast.literal_eval(arguments[1]) if name == "deviations" else 1
            self.reductions += axes * (name in _REDUCTIONS)
            step = name.endswith("_step")
            if name.startswith("uniform"):
                return Shape.ELEMENT
            return Shape.LANE if step else Shape.ROW if name in _REDUCTIONS else shape
        if name in _CASTS:
            self._add(shape, 1, 0)
        elif name in _functions():
            self._add(shape, *_functions()[name])
        return shape

    def _add(self, shape: Shape, flops: int, special: int) -> None:
        self.flops[shape] += flops
        self.special[shape] += special


@cache
def _names(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"(?<![\w.\"])[A-Za-z_]\w*", text))


@cache
def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _inner(node: ast.expr) -> ast.expr:
    """What a store narrows: the conversion belongs to the store."""
    narrows = isinstance(node, ast.Call) and ast.unparse(node.func) == "narrow"
    return node.args[0] if narrows and isinstance(node, ast.Call) else node


def _inner_name(text: str) -> bool:
    return isinstance(_inner(_parsed(text)), ast.Name)


@cache
def _functions() -> dict[str, tuple[int, int]]:
    """Flops and special functions by the name that a kernel calls."""
    found: dict[str, tuple[int, int]] = {}
    for op in TABLE.values():
        match = re.match(r"([\w.]+)\(", op.triton)
        if match:
            found.setdefault(match[1], (op.flops, op.special))
    return found


_BINARY: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "shl",
    ast.RShift: "shr", ast.USub: "neg", ast.Invert: "not",
}  # fmt: skip


def _operator(node: ast.expr) -> tuple[int, int] | None:
    """Flops and special functions of an operator."""
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        # A constant with a sign is a constant.
        if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
            return None
        op = TABLE[_BINARY[type(node.op)]]
        return op.flops, op.special
    return (1, 0) if isinstance(node, ast.Compare) else None
