"""The intermediate representation: a graph of values with named dimensions.

A `Node` is one value: the op that makes it, the values it is made of, its dimensions (a set of
names, kept in the graph's order) and its type. Nodes are immutable and compared by identity; a
`Graph` is reached from its outputs. Loads carry an index expression for each stored dimension,
so that affine, gathered and paged accesses are one thing. A `loop` node holds a `Region` whose
parameters are the induction variable and the loop-carried values; what is outside the region
may be used inside it, not the reverse.

Why a graph by reference and not a list of instructions: rewriting is then a function from old
node to new node, and dead code cannot exist.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from tilegen.ir.types import DType


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a spec file. Lines count from 1, columns from 0."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Node:
    """One value of a graph; `op` names a row of the op table or a structural op (see verify)."""

    op: str
    args: tuple["Node", ...] = ()
    dims: tuple[str, ...] = ()
    dtype: DType = field(kw_only=True)
    attrs: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    name: str = field(default="", kw_only=True)
    span: Span | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        return f"<{self.op} {self.name}[{', '.join(self.dims)}]>"


@dataclass(frozen=True, slots=True)
class Region:
    """The body of a loop: `parameters` are `parameter` nodes, `results` the values carried on."""

    parameters: tuple[Node, ...]
    results: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class DimInfo:
    """A named dimension of a graph: a fixed size or None, and whether leading dims fold into it."""

    name: str
    size: int | None = None
    fold: bool = False


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor parameter. `stored` lists its dimensions in memory, a `Flat` one as a tuple."""

    name: str
    stored: tuple[tuple[str, ...], ...]
    dtype: DType
    optional: bool = False
    span: Span | None = None

    @property
    def dims(self) -> tuple[str, ...]:
        """The elementary dimensions, in memory order."""
        return tuple(name for group in self.stored for name in group)


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter that is no tensor.

    Attributes:
        kind: float or int (run time), bool or literal (specialises), static (fixed at build),
            size (gives the size of `dim`).
        default: its default, or None.
        required: it has no default.
        optional: `None` may be passed, which specialises.
        choices: the values of a literal.
        dim: the dimension of a size.
    """

    name: str
    kind: str
    default: Any = None
    required: bool = False
    optional: bool = False
    choices: tuple[Any, ...] = ()
    dim: str = ""


@dataclass(frozen=True, slots=True)
class Output:
    """A result: its name, its value, its dimensions in memory and its storage type.

    Attributes:
        public: whether a caller sees it.
        optional: whether a call may do without it: a statistic that only a backward wants, or a
            gradient of an input that needs none.
    """

    name: str
    value: Node
    stored: tuple[tuple[str, ...], ...]
    dtype: DType
    public: bool = True
    optional: bool = False

    @property
    def dims(self) -> tuple[str, ...]:
        """The elementary dimensions, in memory order (`One` left out)."""
        return tuple(name for group in self.stored for name in group if name != "One")


@dataclass(frozen=True, slots=True)
class Graph:
    """One traced variant of a spec."""

    name: str
    dims: Mapping[str, DimInfo]
    operands: tuple[Operand, ...]
    params: tuple[Param, ...]
    outputs: tuple[Output, ...]

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes, each after those it is made of; regions are not entered."""
        return topological(tuple(output.value for output in self.outputs))

    @property
    def arguments(self) -> tuple[Operand, ...]:
        """The operands of which a kernel needs the address: those that it reads or rounds to."""
        nodes = self.nodes
        named = {node.attrs["tensor"] for node in nodes if node.op == "load"}
        named |= {node.attrs["to"].like for node in nodes if node.op in ("cast", "narrow")}
        return tuple(operand for operand in self.operands if operand.name in named)

    @property
    def fold(self) -> str:
        """The dimension that leading ones fold into; empty if there is none."""
        return next((dim.name for dim in self.dims.values() if dim.fold), "")

    def operand(self, name: str) -> Operand:
        """The tensor parameter of that name."""
        return next(operand for operand in self.operands if operand.name == name)

    def ordered(self, dims: Iterable[str]) -> tuple[str, ...]:
        """These dimensions in the graph's order."""
        wanted = set(dims)
        return tuple(name for name in self.dims if name in wanted)


def references(node: Node) -> tuple[Node, ...]:
    """All nodes that a node refers to: its arguments and, for a loop, its extent and region."""
    region, extent = node.attrs.get("region"), node.attrs.get("extent")
    if not isinstance(region, Region) or not isinstance(extent, Node):
        return node.args
    return (*node.args, extent, *region.parameters, *region.results)


@lru_cache(maxsize=256)
def topological(roots: tuple[Node, ...]) -> tuple[Node, ...]:
    """All nodes that `roots` are made of, arguments first, in a fixed order."""
    return _postorder(roots, lambda node: node.args)


def walk(roots: tuple[Node, ...]) -> tuple[Node, ...]:
    """As `topological`, entering regions: a loop comes after its extent and its body."""
    return _postorder(roots, references)


def _postorder(
    roots: tuple[Node, ...], edges: Callable[[Node], tuple[Node, ...]]
) -> tuple[Node, ...]:
    order: dict[Node, None] = {}
    stack = list(reversed(roots))
    entered: set[Node] = set()
    while stack:
        node = stack[-1]
        if node in order:
            stack.pop()
        elif node in entered:
            order[stack.pop()] = None
        else:
            entered.add(node)
            stack += [edge for edge in reversed(edges(node)) if edge not in order]
    return tuple(order)


def rewrite(graph: Graph, rule: Callable[[Node], Node | None]) -> Graph:
    """Rebuild a graph bottom-up, regions included.

    `rule` sees each node with its arguments already rewritten and returns what stands in its
    place, or None to keep it. A name that the old node had goes to the new one if that has none, and
    stands for nothing else yet.
    """
    done: dict[Node, Node] = {}
    placed: set[Node] = set()
    for old in walk(tuple(output.value for output in graph.outputs)):
        node = _renewed(old, done)
        new = rule(node) or node
        if old.name and not new.name and new.op not in ("load", "const") and new not in placed:
            new = replace(new, name=old.name, span=old.span)
        done[old] = new
        placed.add(new)
    outputs = tuple(replace(output, value=done[output.value]) for output in graph.outputs)
    return replace(graph, outputs=outputs)


def _renewed(old: Node, done: Mapping[Node, Node]) -> Node:
    """`old` with what it refers to replaced by what stands there now."""
    if all(done[node] is node for node in references(old)):
        return old
    args = tuple(done[arg] for arg in old.args)
    if old.op != "loop":
        return replace(old, args=args)
    region: Region = old.attrs["region"]
    inside = Region(
        tuple(done[node] for node in region.parameters),
        tuple(done[node] for node in region.results),
    )
    attrs = {**old.attrs, "region": inside, "extent": done[old.attrs["extent"]]}
    return replace(old, args=args, attrs=attrs)
