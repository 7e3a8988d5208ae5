"""What the nodes of a graph may be: a table of rules, which `verify` goes through.

A rule says how many arguments a node has, which attributes, what its dimensions and its type
must be, and what else must hold. `premises` are what the later checks of the node stand on.

| op | arguments | attributes | is |
|---|---|---|---|
| a row of the op table | its arity | | pointwise; dims: union of the arguments' |
| const | | value | a number |
| param | | param | a run-time parameter |
| size, index | | dim; its one dim | a size, a position |
| load | an index for each stored dim, a guard | tensor, dims, guarded | an element (0 unless guard) |
| take | x, i | dim | x at i along dim, 0 out of range |
| stack | the parts | dim | the parts along a new dim |
| cast, narrow | x | to | x converted; x rounded to a storage type |
| detach | x | | x without a gradient |
| expand | x | | x along further dims too; dims: more than those of x |
| reduce | x | monoid, over | a reduction |
| state | a reduce | position | one of the states behind a reduction |
| uniform | seed, an index for each dim | dims | random numbers in [0, 1) |
| contract | a, b | over, operand, accumulator | a sum of products |
| loop | initial values | region, extent, carried | the last carried values, a tuple |
| item | a loop | position | one of a loop's values |
| parameter | | | of a region: the induction variable, then the carried values |

An extent with dimensions is the number of steps for each of their elements. Initial values
broadcast to their parameters. What is computed from no parameter of a region is outside it.
"""

from collections.abc import Iterable
from typing import Any

from tilegen.ir import types
from tilegen.ir.graph import Graph, Node, Region
from tilegen.ir.ops import TABLE, Op
from tilegen.ir.reductions import MONOIDS
from tilegen.ir.rule import (
    Check,
    Rule,
    always,
    first,
    gathered,
    of_attr,
    of_first,
    own,
    reduced,
    scalar,
    union,
)
from tilegen.ir.types import DType

# ---- types and checks -------------------------------------------------------------------------


def _of_monoid(node: Node, graph: Graph) -> DType:
    return MONOIDS[node.attrs["monoid"]].result or node.args[0].dtype


def _of_pointwise(node: Node, graph: Graph) -> DType:
    results = {"real": types.real, "bool": types.bool_, "same": _common(node)}
    return results[TABLE[node.op].result]


def _integers(nodes: Iterable[Node]) -> bool:
    return all(node.dtype == types.integer for node in nodes)


def _chosen(node: Node) -> tuple[Node, ...]:
    """The arguments that have one type together: of `where`, the two that it chooses from."""
    return node.args[1:] if node.op == "where" else node.args


def _common(node: Node) -> DType:
    kinds = {arg.dtype.kind for arg in _chosen(node)}
    return types.real if "float" in kinds else types.integer if "int" in kinds else types.bool_


def _unmixed(node: Node, graph: Graph) -> bool:
    kinds = {arg.dtype.kind for arg in _chosen(node)}
    return "float" not in kinds or kinds == {"float"}


def _condition(node: Node, graph: Graph) -> bool:
    return node.op != "where" or node.args[0].dtype == types.bool_


def _taken(node: Node, graph: Graph) -> bool:
    return _common(node).kind in TABLE[node.op].takes


def _param_kind(name: str, graph: Graph) -> str:
    return next((param.kind for param in graph.params if param.name == name), "")


def _operands(graph: Graph) -> dict[str, tuple[str, ...]]:
    return {operand.name: operand.dims for operand in graph.operands}


def _places(node: Node) -> tuple[Node, ...]:
    return node.args[: len(node.attrs["dims"])]


def _guards(node: Node) -> tuple[Node, ...]:
    return node.args[len(node.attrs["dims"]) :]


def _within(position: int, items: tuple[Any, ...]) -> bool:
    return 0 <= position < len(items)


def _over(node: Node) -> bool:
    """Whether the reduced dimensions are some, each once, and of every argument."""
    over = node.attrs["over"]
    distinct = len(set(over)) == len(over) > 0
    return distinct and all(set(over) <= set(arg.dims) for arg in node.args)


def _monoid_attrs(node: Node, graph: Graph) -> bool:
    wanted = {"monoid", "over", *MONOIDS[node.attrs["monoid"]].attrs}
    return set(node.attrs) == wanted


def _has_states(node: Node, graph: Graph) -> bool:
    arg = node.args[0]
    monoid = MONOIDS.get(arg.attrs.get("monoid", "")) if arg.op == "reduce" else None
    return monoid is not None and _within(node.attrs["position"], monoid.states)


def _rounds(dtype: DType) -> bool:
    """Whether a computed value must be rounded to be held in this type."""
    return dtype.bits != 0 or dtype.like != ""


def is_held(node: Node, dtype: DType) -> bool:
    """Whether a value is in a storage type: loaded, or narrowed to this one."""
    if node.op in ("narrow", "cast"):
        return bool(node.attrs.get("to") == dtype)
    if node.op in ("take", "detach"):
        return is_held(node.args[0], dtype)
    return node.op == "load"


def _narrowed(node: Node, graph: Graph) -> bool:
    operand = node.attrs["operand"]
    return (
        operand == types.f32 or not _rounds(operand) or all(is_held(a, operand) for a in node.args)
    )


def _multiplied(node: Node, graph: Graph) -> bool:
    return all(arg.dtype.kind == node.attrs["operand"].kind for arg in node.args)


_ACCUMULATORS = {
    "float": (types.real, types.f32, types.f64),
    "int": (types.integer, types.i32, types.i64),
    "bool": (),
}


def _carried(node: Node) -> tuple[Node, ...]:
    """The carried values' parameters."""
    parameters: tuple[Node, ...] = node.attrs["region"].parameters
    return parameters[1:]


def _counts_agree(node: Node, graph: Graph) -> bool:
    region: Region = node.attrs["region"]
    counts = (len(node.args), len(region.results), len(region.parameters) - 1)
    return set(counts) == {node.attrs["carried"]} and node.attrs["carried"] > 0


def _broadcasts(node: Node, graph: Graph) -> bool:
    pairs = zip(node.args, _carried(node), strict=True)
    return all(a.dtype == b.dtype and set(a.dims) <= set(b.dims) for a, b in pairs)


def _returns(node: Node, graph: Graph) -> bool:
    pairs = zip(node.attrs["region"].results, _carried(node), strict=True)
    return all(a.dtype == b.dtype and a.dims == b.dims for a, b in pairs)


def _parameters(node: Node, graph: Graph) -> bool:
    return all(item.op == "parameter" for item in node.attrs["region"].parameters)


def _induction(node: Node, graph: Graph) -> bool:
    first = node.attrs["region"].parameters[0]
    return first.dtype == types.integer and not first.dims


def _stepped(node: Node, graph: Graph) -> bool:
    return all(set(node.attrs["extent"].dims) <= set(item.dims) for item in _carried(node))


def _read_by_item(node: Node, graph: Graph) -> bool:
    region = node.attrs.get("region")
    inside = (node.attrs["extent"], *region.results) if isinstance(region, Region) else ()
    read = inside if node.op == "item" else (*node.args, *inside)
    return all(item.op != "loop" for item in read)


def _known_types(node: Node, graph: Graph) -> bool:
    likes = {value.like for value in node.attrs.values() if isinstance(value, DType)}
    return likes <= {"", *_operands(graph)}


# ---- the table ---------------------------------------------------------------------------------

_KNOWN_DIM = Check("the graph has no such dim", lambda n, g: n.attrs["dim"] in g.dims)

_STRUCTURAL: dict[str, Rule] = {
    "const": Rule(
        0, scalar,
        lambda n, g: (
            types.bool_ if isinstance(n.attrs["value"], bool)
            else types.integer if isinstance(n.attrs["value"], int) else types.real
        ),
        {"value": (bool, int, float)},
    ),
    "param": Rule(
        0, scalar,
        lambda n, g: (
            types.real if _param_kind(n.attrs["param"], g) == "float" else types.integer
        ),
        {"param": str},
        (Check(
            "no run-time parameter has this name",
            lambda n, g: _param_kind(n.attrs["param"], g) in ("float", "int"),
        ),),
    ),
    "size": Rule(0, scalar, always(types.integer), {"dim": str}, checks=(_KNOWN_DIM,)),
    "index": Rule(
        0, own, always(types.integer),
        checks=(Check("a position has one dim", lambda n, g: len(n.dims) == 1),),
    ),
    "load": Rule(
        None, union,
        lambda n, g: types.computed(g.operand(n.attrs["tensor"]).dtype),
        {"tensor": str, "dims": tuple},
        (
            Check("no operand has this name", lambda n, g: n.attrs["tensor"] in _operands(g)),
            Check(
                "its dims are not the operand's",
                lambda n, g: n.attrs["dims"] == _operands(g)[n.attrs["tensor"]],
            ),
            Check(
                "it wants an index for each stored dim, and a guard if it is guarded",
                lambda n, g: len(n.args) == len(n.attrs["dims"]) + n.attrs.get("guarded", False),
            ),
        ),
        (
            Check("an index is no integer", lambda n, g: _integers(_places(n))),
            Check(
                "the guard is no boolean",
                lambda n, g: all(arg.dtype == types.bool_ for arg in _guards(n)),
            ),
        ),
    ),
    "take": Rule(
        2, gathered, of_first, {"dim": str},
        checks=(
            Check("its value lacks the dim", lambda n, g: n.attrs["dim"] in n.args[0].dims),
            Check("the position is no integer", lambda n, g: _integers(n.args[1:])),
        ),
    ),
    "stack": Rule(
        None, lambda n, g: {*union(n, g), n.attrs["dim"]}, of_first, {"dim": str},
        (_KNOWN_DIM, Check("it stacks nothing", lambda n, g: bool(n.args))),
        (
            Check(
                "the dim's size is not the number of parts",
                lambda n, g: g.dims[n.attrs["dim"]].size == len(n.args),
            ),
            Check("a part has the dim", lambda n, g: n.attrs["dim"] not in union(n, g)),
            Check("the parts differ in type", lambda n, g: len({a.dtype for a in n.args}) == 1),
        ),
    ),
    "cast": Rule(1, first, of_attr("to"), {"to": DType}),
    "narrow": Rule(
        1, first, of_first, {"to": DType},
        checks=(
            Check("it narrows to no storage type", lambda n, g: _rounds(n.attrs["to"])),
            Check(
                "it narrows to a type of another kind",
                lambda n, g: n.attrs["to"].kind == n.args[0].dtype.kind,
            ),
        ),
    ),
    "detach": Rule(1, first, of_first),
    "expand": Rule(
        1, own, of_first,
        checks=(Check("it lacks a dim of its value", lambda n, g: set(n.args[0].dims) < set(n.dims)),),
    ),
    "reduce": Rule(
        1, reduced, _of_monoid, {"monoid": str, "over": tuple},
        (Check("no monoid has this name", lambda n, g: n.attrs["monoid"] in MONOIDS),),
        (
            Check("it wants dims of its argument, each once", lambda n, g: _over(n)),
            Check(
                "the monoid does not take values of this type",
                lambda n, g: n.args[0].dtype.kind in MONOIDS[n.attrs["monoid"]].takes,
            ),
            Check(
                "the monoid runs over one dim",
                lambda n, g: not MONOIDS[n.attrs["monoid"]].single or len(n.attrs["over"]) == 1,
            ),
            Check("the attributes are not the monoid's", _monoid_attrs),
        ),
    ),
    "state": Rule(
        1, first, always(types.real), {"position": int},
        checks=(Check("it reads no state of a reduction", _has_states),),
    ),
    "uniform": Rule(
        None, union, always(types.real), {"dims": tuple},
        checks=(
            Check(
                "it wants a seed and an index for each dim",
                lambda n, g: len(n.args) == 1 + len(n.attrs["dims"]),
            ),
            Check("the seed or an index is no integer", lambda n, g: _integers(n.args)),
            Check("the graph has no such dim", lambda n, g: set(n.attrs["dims"]) <= set(g.dims)),
        ),
    ),
    "contract": Rule(
        2, reduced, of_attr("accumulator"),
        {"over": tuple, "operand": DType, "accumulator": DType},
        checks=(
            Check("it wants dims of both arguments, each once", lambda n, g: _over(n)),
            Check("an argument is not of the operands' kind", _multiplied),
            Check("a computed argument is not narrowed to the operands' type", _narrowed),
            Check(
                "no accumulator for these operands",
                lambda n, g: n.attrs["accumulator"] in _ACCUMULATORS[n.attrs["operand"].kind],
            ),
        ),
    ),
    "parameter": Rule(0, own, lambda n, g: n.dtype),
    "loop": Rule(
        None, scalar, always(types.integer),
        {"region": Region, "extent": Node, "carried": int},
        (
            Check("it wants as many initial values, parameters and results", _counts_agree),
            Check("its region has parameters that are none", _parameters),
        ),
        (
            Check("the induction variable is no scalar integer", _induction),
            Check("an initial value does not fit its parameter", _broadcasts),
            Check("a result differs from its parameter in dims or type", _returns),
            Check("its extent is no integer", lambda n, g: _integers((n.attrs["extent"],))),
            Check("a carried value lacks a dim of the extent", _stepped),
        ),
    ),
    "item": Rule(
        1,
        lambda n, g: _carried(n.args[0])[n.attrs["position"]].dims,
        lambda n, g: _carried(n.args[0])[n.attrs["position"]].dtype,
        {"position": int},
        (
            Check("it reads no loop", lambda n, g: isinstance(n.args[0].attrs.get("region"), Region)),
            Check(
                "the loop has no such value",
                lambda n, g: _within(n.attrs["position"], _carried(n.args[0])),
            ),
        ),
    ),
}  # fmt: skip


def _pointwise(row: Op) -> Rule:
    return Rule(
        row.arity, union, _of_pointwise,
        checks=(
            Check("it does not take arguments of this type", _taken),
            Check("real arguments are mixed with others", _unmixed),
            Check("its condition is no boolean", _condition),
        ),
    )  # fmt: skip


#: The rule of every op.
RULES: dict[str, Rule] = {
    **_STRUCTURAL,
    **{name: _pointwise(row) for name, row in TABLE.items()},
}

#: What holds for every node.
EVERYWHERE: tuple[Check, ...] = (
    Check(
        "its dims are not the graph's, in the graph's order",
        lambda n, g: n.dims == g.ordered(n.dims),
    ),
    Check("only item reads a loop", _read_by_item),
    Check("it names the type of a tensor that is none", _known_types),
)
