"""Where integers of eight bits need more, because arithmetic on them would wrap."""

from tilegen.ir.graph import Node, topological
from tilegen.ir.ops import TABLE

COMPARISONS = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))


def widened(roots: tuple[Node, ...]) -> set[Node]:
    """Loads and roundings of narrow integers that something computes with.

    The language knows one kind of integer. Positions and what is only compared, stored or multiplied
    by a product stay as they are.
    """
    found: set[Node] = set()
    for node in topological(roots):
        if node.op in TABLE and not _only_compares(node):
            found |= {source for arg in node.args if (source := _narrow_source(arg)) is not None}
    return found


def _narrow_source(node: Node) -> Node | None:
    """The load, cast or narrowing that a value comes from as it is, if that may be narrow."""
    while node.op == "take" or (node.op == "reduce" and node.attrs["monoid"] in ("max", "min")):
        node = node.args[0]
    if (
        node.op in ("cast", "narrow")
        and 0 < node.attrs["to"].bits < 32
        and node.dtype.kind == "int"
    ):
        return node
    return node if node.op == "load" and node.dtype.kind == "int" else None


def _only_compares(node: Node) -> bool:
    """Whether a node compares, and with nothing that a narrow type might lack."""
    numbers = [arg.attrs["value"] for arg in node.args if arg.op == "const"]
    return node.op in COMPARISONS and all(number == 0 for number in numbers)
