"""Which nodes belong to which loop.

A region lists no nodes: a node belongs to the innermost loop whose parameters it depends on, so
that what a loop does not change stands outside it by itself.
"""

from collections.abc import Iterable, Mapping

from tilegen.ir.graph import Node, Region, references, walk


def free_parameters(order: Iterable[Node]) -> Mapping[Node, frozenset[Node]]:
    """For each node, the region parameters that it depends on and that it does not bind.

    Args:
        order: nodes after what they refer to, as `walk` gives them.
    """
    free: dict[Node, frozenset[Node]] = {}
    for node in order:
        found = frozenset[Node]().union(*(free[used] for used in references(node)))
        if node.op == "parameter":
            found |= {node}
        region = node.attrs.get("region")
        free[node] = found - set(region.parameters) if isinstance(region, Region) else found
    return free


def bodies(roots: tuple[Node, ...]) -> Mapping[Node | None, tuple[Node, ...]]:
    """The nodes of each loop's body, and under None those outside all loops, arguments first."""
    order = walk(roots)
    free = free_parameters(order)
    place = {node: position for position, node in enumerate(order)}
    owner = {
        parameter: node
        for node in order
        if node.op == "loop"
        for parameter in node.attrs["region"].parameters
    }
    found: dict[Node | None, list[Node]] = {None: []}
    for node in order:
        # An inner loop comes before the loop around it.
        home = min((owner[p] for p in free[node]), key=place.__getitem__, default=None)
        found.setdefault(home, []).append(node)
    return {home: tuple(nodes) for home, nodes in found.items()}
