"""The form of a rule of the verifier, and the dimensions and types that rules share."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tilegen.ir import types
from tilegen.ir.graph import Graph, Node
from tilegen.ir.types import DType


@dataclass(frozen=True, slots=True)
class Check:
    """Something that holds for a node, and what is said if it does not."""

    says: str
    holds: Callable[[Node, Graph], bool]


@dataclass(frozen=True, slots=True)
class Rule:
    """What the nodes of one op must be.

    Attributes:
        arity: the number of arguments, or None if the checks say it.
        dims: the dimensions that the node must have.
        dtype: the type that it must have.
        attrs: the attributes that it must have, and their types.
        premises: checks without which the others make no sense; the first that fails is told.
        checks: everything else.
    """

    arity: int | None
    dims: Callable[[Node, Graph], Iterable[str]]
    dtype: Callable[[Node, Graph], DType]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    premises: tuple[Check, ...] = ()
    checks: tuple[Check, ...] = ()


def scalar(node: Node, graph: Graph) -> Iterable[str]:
    """No dimensions."""
    return ()


def own(node: Node, graph: Graph) -> Iterable[str]:
    """Whatever dimensions the node has."""
    return node.dims


def first(node: Node, graph: Graph) -> Iterable[str]:
    """The first argument's dimensions."""
    return node.args[0].dims


def union(node: Node, graph: Graph) -> set[str]:
    """The dimensions of all arguments."""
    return {dim for arg in node.args for dim in arg.dims}


def reduced(node: Node, graph: Graph) -> Iterable[str]:
    """The arguments' dimensions without those that are reduced."""
    return union(node, graph) - set(node.attrs["over"])


def gathered(node: Node, graph: Graph) -> Iterable[str]:
    """The position's dimensions in place of the one that it addresses."""
    x, position = node.args
    return {*(dim for dim in x.dims if dim != node.attrs["dim"]), *position.dims}


def always(dtype: DType) -> Callable[[Node, Graph], DType]:
    """One type, whatever the arguments."""
    return lambda node, graph: dtype


def of_first(node: Node, graph: Graph) -> DType:
    """The first argument's type."""
    return node.args[0].dtype


def of_attr(attr: str) -> Callable[[Node, Graph], DType]:
    """The type in which a kernel computes with what this attribute names."""
    return lambda node, graph: types.computed(node.attrs[attr])
