"""Statistics of rows: what a gradient needs of the forward that takes reductions, and is small."""

from tilegen.ir.autodiff import Gradient
from tilegen.ir.graph import Node, topological

_SUMS = ("reduce", "contract")


def statistics(gradient: Gradient) -> list[Node]:
    """The values of whole rows that need reductions, where the rest of the backward takes over.

    Either the last such values, or the reductions themselves, if those are fewer.
    """
    own = forward_nodes(gradient)
    below: dict[Node, frozenset[str]] = {}
    for node in gradient.graph.nodes:
        over = frozenset(node.attrs.get("over", ()))
        inner = frozenset[str]().union(*(below[arg] for arg in node.args))
        below[node] = inner - over if node.op == "contract" else inner | over
    narrow = {
        node for node in own
        if below[node] and not below[node] & set(node.dims) and node.dtype.kind != "bool"
    }  # fmt: skip
    ends = {output.value for output in gradient.graph.outputs}
    used = ends | {arg for node in gradient.graph.nodes if node not in narrow for arg in node.args}
    last = [node for node in gradient.graph.nodes if node in narrow & used]
    last = [node for node in last if not _follows(node, set(last) - {node})]
    beneath = topological(tuple(last))
    reductions = [node for node in beneath if node.op in ("reduce", "state") and node in narrow]
    whole = {node.args[0] for node in reductions if node.op == "state"}
    reductions = [node for node in reductions if node not in whole]
    return reductions if len(reductions) < len(last) else last


def _follows(node: Node, known: set[Node]) -> bool:
    """Whether a value is made of known ones without a further reduction or product."""
    if node in known:
        return True
    return node.op not in _SUMS and all(_follows(arg, known) for arg in node.args if _reduced(arg))


def _reduced(node: Node) -> bool:
    return any(part.op in _SUMS for part in topological((node,)))


def forward_nodes(gradient: Gradient) -> set[Node]:
    """The nodes of a gradient that depend on no upstream gradient."""
    upstream = set(gradient.upstream.values())
    found: set[Node] = set()
    for node in gradient.graph.nodes:
        if node.attrs.get("tensor") not in upstream and all(arg in found for arg in node.args):
            found.add(node)
    return found
