"""Which dims of an op may be split over processes, so that each runs the op on its own share.

Where the tensors with some dim are split along it and all others are whole, a value of the graph,
as one process computes it, is one of three things:

- true: what it should be, or the process's share of that;
- a term: the terms of all processes add up to what it should be, as a sum over the dim is a sum of
  sums over shares;
- wrong: it needs the size of the dim, a position along it, a reduction over it that is no sum, or
  a function of a term that is not linear.

A dim may be split if every result is true or a term. The gradient of a weight is a term where rows
are split. A row's mean is wrong where columns are: it divides by their number.
"""

from collections.abc import Iterable, Mapping
from enum import Enum

from tilegen.ir.graph import Graph, Node


class Share(Enum):
    """What a process has of a value."""

    TRUE = "true"
    TERM = "term"
    WRONG = "wrong"


def shards(graphs: Iterable[Graph]) -> dict[str, tuple[str, ...]]:
    """The dims that may be split, each with the results that are terms then.

    The graphs are the variants of one op; they must agree on what a result is.
    """
    graphs = tuple(graphs)
    found: dict[str, tuple[str, ...]] = {}
    for dim in dict.fromkeys(dim for graph in graphs for dim in graph.dims):
        if not all(_splits(graph, dim) for graph in graphs):
            continue
        results = [item for graph in graphs for item in _results(graph, dim).items()]
        true = {name for name, share in results if share is Share.TRUE}
        terms = {name: None for name, share in results if share is Share.TERM}
        if all(share is not Share.WRONG for _, share in results) and true.isdisjoint(terms):
            found[dim] = tuple(terms)
    return found


def _splits(graph: Graph, dim: str) -> bool:
    """Whether a share of the dim may have a size of its own, in every tensor."""
    fixed = dim in graph.dims and graph.dims[dim].size is not None
    told = any(param.kind == "size" and param.dim == dim for param in graph.params)
    stored = [tensor.stored for tensor in graph.operands] + [out.stored for out in graph.outputs]
    flat = any(dim in group for groups in stored for group in groups if len(group) > 1)
    return not (fixed or told or flat)


def _results(graph: Graph, dim: str) -> dict[str, Share]:
    shares: dict[Node, Share] = {}
    for node in graph.nodes:
        shares[node] = _share(node, dim, shares)
    found = {}
    for output in graph.outputs:
        share = shares[output.value]
        found[output.name] = Share.WRONG if share is Share.TERM and dim in output.dims else share
    return found


def _share(node: Node, dim: str, shares: Mapping[Node, Share]) -> Share:
    if _knows(node, dim):
        return Share.WRONG
    made_of = {shares[arg] for arg in node.args if node.op != "load" or not _position(arg, dim)}
    if Share.WRONG in made_of:
        return Share.WRONG
    if Share.TERM in made_of:
        return Share.TERM if dim not in node.dims and _linear(node, shares) else Share.WRONG
    if dim not in node.attrs.get("over", ()):
        return Share.TRUE
    summed = node.op == "contract" or node.attrs["monoid"] == "sum"
    return Share.TERM if summed else Share.WRONG


def _knows(node: Node, dim: str) -> bool:
    """Whether a value depends on the size of the dim or on where along it something is."""
    if node.op == "load":
        places = zip(node.attrs["dims"], node.args, strict=False)
        return any((name == dim) != _position(place, dim) for name, place in places)
    if node.op in ("size", "take", "stack"):
        return bool(node.attrs["dim"] == dim)
    return _position(node, dim) or node.op in ("loop", "item")


def _position(node: Node, dim: str) -> bool:
    return node.op == "index" and node.dims == (dim,)


def _linear(node: Node, shares: Mapping[Node, Share]) -> bool:
    """Whether a value is linear in those of its arguments that are terms."""
    terms = [shares[arg] is Share.TERM for arg in node.args]
    if node.op in ("cast", "narrow"):
        return node.attrs["to"].kind == "float" and node.args[0].dtype.kind == "float"
    if node.op == "reduce":
        return node.attrs["monoid"] in ("sum", "mean")
    if node.op in ("mul", "contract"):
        return terms.count(True) == 1
    if node.op == "div":
        return terms == [True, False]
    return node.op in ("neg", "add", "sub", "detach", "expand", "stack") and all(terms)
