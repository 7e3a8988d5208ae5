"""Which graphs one pass over memory computes although they reduce rows and sum over rows.

The gradient of a weight that all rows share is a sum over rows of what each row gives. A program
that goes over many rows can carry such sums along while it computes what else there is of a row;
a second kernel adds up what the programs had. `find` says whether a graph is of that form.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from tilegen.families.layout import membership, output_places, walked
from tilegen.ir.graph import Graph, Node, Output, topological

#: What no value may be made of that is computed once the sums are known: it has a place in a row.
_PLACED = frozenset(["load", "index", "uniform"])


@dataclass(frozen=True, slots=True)
class Summed:
    """The parts that dimensions play where sums run over rows.

    Attributes:
        rows: the dimensions that all sums run over, and no other reduction.
        outer: those left: a program keeps to one place in them.
        columns: the dimensions of a row: those that all other reductions run over; where there is
            none, the innermost one.
        sums: the reductions over rows.
        whole: there are other reductions, so that a program needs whole rows.
    """

    rows: tuple[str, ...]
    outer: tuple[str, ...]
    columns: tuple[str, ...]
    sums: tuple[Node, ...]
    whole: bool

    def keeps_outer(self, node: Node) -> bool:
        """Whether a sum has a result for each place in the outer dimensions."""
        return set(self.outer) <= set(node.dims)

    def keeps_columns(self, node: Node) -> bool:
        """Whether a sum has a result for each column."""
        return set(self.columns) <= set(node.dims)

    def after(self, output: Output) -> bool:
        """Whether an output is made of sums over rows."""
        return any(node in self.sums for node in topological((output.value,)))


def find(graph: Graph) -> Summed | None:
    """The form of a graph whose sums one pass can carry along; None if it has another."""
    reduces = [node for node in graph.nodes if node.op == "reduce"]
    needed = set(_needed(graph, reduces))
    overs = {graph.ordered(node.attrs["over"]) for node in needed}
    sums = tuple(n for n in reduces if graph.ordered(n.attrs["over"]) not in overs)
    if len(overs) > 1 or not sums:
        return None
    columns = next(iter(overs)) if overs else _innermost(graph, sums)
    rows = set(sums[0].attrs["over"]).intersection(*(n.attrs["over"] for n in sums)) - set(columns)
    left = set(walked(graph)) - rows - set(columns)
    form = Summed(graph.ordered(rows), graph.ordered(left), columns, sums, bool(overs))
    return form if rows and columns and _fits(graph, form) else None


def _needed(graph: Graph, reduces: Sequence[Node]) -> Iterator[Node]:
    """The reductions that another one needs, or a result with a place in a row."""
    for node in reduces:
        yield from (part for part in topological(node.args) if part.op == "reduce")
    for output in graph.outputs:
        for _, value in output_places(output):
            above, ends = _above(value)
            if any(node.op in _PLACED for node in above):
                yield from ends


def _above(value: Node) -> tuple[list[Node], list[Node]]:
    """What a value is made of down to reductions, and these."""
    above: dict[Node, None] = {}
    ends: dict[Node, None] = {}
    stack = [value]
    while stack:
        node = stack.pop()
        if node.op == "reduce":
            ends[node] = None
        elif node not in above:
            above[node] = None
            stack.extend(node.args)
    return list(above), list(ends)


def _innermost(graph: Graph, sums: Sequence[Node]) -> tuple[str, ...]:
    """The dimension along which the widest tensor behind some sums lies in memory."""
    known = set(walked(graph))
    read = {node.attrs["tensor"] for node in topological(tuple(sums)) if node.op == "load"}
    operands = [operand for operand in graph.operands if operand.name in read]
    widest = max(operands, key=lambda operand: len(operand.dims), default=None)
    own = [dim for dim in widest.dims if dim in known] if widest else []
    return (own[-1],) if own else ()


def _fits(graph: Graph, form: Summed) -> bool:
    """Whether programs that each keep to some rows can compute all results."""
    if len(form.columns) > 1:
        # Several columns are one axis, which only tensors with all of them have.
        alike = len(membership(graph, form.columns)) == 1
        if not alike or any(_tells_position(node) for node in graph.nodes):
            return False
    numbers = not form.whole and not any(node.dims for node in form.sums)
    if numbers and all(form.after(output) for output in graph.outputs):
        return False  # the reduction of one giant row
    return all(_carried(node, form) for node in form.sums) and all(
        _stored(output, form) for output in graph.outputs
    )


def _tells_position(node: Node) -> bool:
    return node.op == "reduce" and node.attrs["monoid"] in ("argmax", "argmin")


def _carried(node: Node, form: Summed) -> bool:
    """Whether a program can carry a sum, and a kernel after it add up those of all programs."""
    if node.attrs["monoid"] not in ("sum", "mean") or node.dtype.kind == "bool":
        return False
    over, own = set(node.attrs["over"]), set(node.args[0].dims)
    if not own.issuperset(form.outer) or _part(over, form.outer) or _part(over, form.columns):
        return False
    if form.whole:
        return not _part(own, form.columns)
    return own.issuperset(form.columns) and (form.keeps_columns(node) or not node.dims)


def _part(dims: Collection[str], whole: Sequence[str]) -> bool:
    """Whether these are some of the others, but not all."""
    return 0 < len(set(whole) & set(dims)) < len(whole)


def _stored(output: Output, form: Summed) -> bool:
    """Whether programs with rows of their own can store a result, or the kernel after them."""
    if not form.after(output):
        wanted = {*form.rows, *form.outer, *(() if form.whole else form.columns)}
        return wanted <= set(output.dims)
    classes = set()
    for _, value in output_places(output):
        _, ends = _above(value)
        if not set(ends) <= set(form.sums):
            return False
        classes |= {(form.keeps_outer(node), form.keeps_columns(node)) for node in ends}
    return len(classes) == 1
