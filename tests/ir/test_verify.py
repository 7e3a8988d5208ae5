from dataclasses import replace
from typing import Any

import ir_graphs
import pytest
from ir_making import Maker

from tilegen.errors import InvalidGraph
from tilegen.ir import types
from tilegen.ir.graph import DimInfo, Graph, Node, Operand, Output, Param, Region, Span
from tilegen.ir.rules import EVERYWHERE, RULES
from tilegen.ir.types import bool_, integer, real
from tilegen.ir.verify import verify

MAKE = Maker("M N P Two")
M, N, P = (MAKE.index(dim) for dim in "MNP")
X = MAKE.load("x", "M N", M, N)
Y = MAKE.load("y", "N P", N, P)
I = MAKE.load("i", "M", M, dtype=integer)
MASK = MAKE.load("mask", "M", M, dtype=bool_)
EPS = Node("param", dtype=real, attrs={"param": "eps"})
LIKE_X = types.like("x", "float")
LOGSUMEXP = MAKE.reduce("logsumexp", X, "N")
STEP = MAKE.parameter("step", dtype=integer)
TOTAL = MAKE.parameter("total", "M")
LOOP: dict[str, Any] = {
    "region": Region((STEP, TOTAL), (MAKE.op("add", TOTAL, 1.0),)),
    "extent": I,
    "carried": 1,
}


def node(
    op: str, *args: Node, dims: str = "", dtype: types.DType = real, **attrs: Any
) -> Node:  # fmt: skip
    return Node(op, args, tuple(dims.split()), dtype=dtype, attrs=attrs)


def graph(*values: Node) -> Graph:
    operands = (
        Operand("x", (("M",), ("N",)), real),
        Operand("y", (("N", "P"),), real),
        Operand("i", (("M",),), integer),
        Operand("mask", (("M",),), bool_),
    )
    params = (Param("eps", "float"), Param("causal", "bool"), Param("p", "size", dim="P"))
    kinds = {"float": types.f32, "int": types.i64, "bool": bool_}
    outputs = tuple(
        Output(f"out{i}", value, tuple((dim,) for dim in value.dims), kinds[value.dtype.kind])
        for i, value in enumerate(values)
    )
    dims = {name: DimInfo(name, 2 if name == "Two" else None) for name in MAKE.order}
    return Graph("g", dims, operands, params, outputs)


def loop(*args: Node, position: int = 0, dims: str = "M", dtype=real, **attrs: Any) -> Node:
    made = node("loop", *(args or (EPS,)), dtype=integer, **{**LOOP, **attrs})
    return node("item", made, dims=dims, dtype=dtype, position=position)


def carrying(*results: Node, parameters: tuple[Node, ...] = (STEP, TOTAL)) -> Region:
    return Region(parameters, results)


def contract(a: Node, b: Node, dims: str = "M P", **attrs: Any) -> Node:
    given = {"over": ("N",), "operand": LIKE_X, "accumulator": types.f32, **attrs}
    return node("contract", a, b, dims=dims, **given)


VALID = {
    "bits": MAKE.op("and", MASK, MAKE.op("lt", I, 3)),
    "chosen": MAKE.op("where", MASK, X, EPS),
    "constant": MAKE.const(True),
    "contract": contract(MAKE.narrow(MAKE.op("exp", X), LIKE_X), Y),
    "contract cast": contract(node("cast", X, dims="M N", to=LIKE_X), Y),
    "contract fp32": contract(MAKE.op("exp", X), Y, operand=real),
    "contract taken": contract(
        node("take", Y, I, dims="M N", dim="P"), X, dims="N", over=("M",)
    ),
    "detach": node("detach", X, dims="M N"),
    "expand": node("expand", EPS, dims="M N"),
    "guarded load": MAKE.load("x", "M N", I, N, MASK),
    "item": loop(),
    "loaded extent": loop(extent=I),
    "square load": MAKE.load("x", "M N", M, I),
    "size": MAKE.size("P"),
    "stack": node("stack", X, X, dims="M N Two", dim="Two"),
    "state": node("state", LOGSUMEXP, dims="M", position=1),
    "take": node("take", X, I, dims="M", dim="N"),
    "uniform": Node(
        "uniform", (MAKE.const(1), M, MAKE.const(0)), ("M",), dtype=real,
        attrs={"dims": ("M", "N")},
    ),
    "variance": node(
        "reduce", X, dims="M", monoid="variance", over=("N",), correction=1
    ),
}  # fmt: skip


@pytest.mark.parametrize("value", VALID.values(), ids=VALID.keys())
def test_what_is_right_passes(value: Node) -> None:
    verify(graph(value))


@pytest.mark.parametrize("name", ["x", "i", "mask"])
def test_every_kind_is_stored(name: str) -> None:
    verify(graph({"x": X, "i": I, "mask": MASK}[name]))


def uniform(*args: Node, dims: str = "", over: tuple[str, ...] = ("M",)) -> Node:
    return Node("uniform", args, tuple(dims.split()), dtype=real, attrs={"dims": over})


def load(
    *args: Node, dims: str = "M N", tensor: str = "x", said: str = "M N", **attrs: Any
) -> Node:
    attrs = {"tensor": tensor, "dims": tuple(said.split()), **attrs}
    return Node("load", args, tuple(dims.split()), dtype=real, attrs=attrs)


def reduce(x: Node, monoid: str = "sum", over: tuple[str, ...] = ("N",), **keywords: Any) -> Node:
    return node("reduce", x, **{"dims": "M", "monoid": monoid, "over": over, **keywords})


WRONG_PARAMETER = MAKE.parameter("total", "M", dtype=integer)

#: What is said, and a value of which it is said.
BROKEN: list[tuple[str, Node]] = [
    ("there is no such op", node("fma", X, X, X, dims="M N")),
    # The shape of a node.
    ("it has 1 arguments, not 2", node("add", X, dims="M N")),
    ("it has 1 arguments, not 0", node("const", X, value=1.0)),
    ("its attribute value is missing", node("const")),
    ("its attribute value is missing", node("const", value="1")),
    ("its attribute dim is missing", node("size", dtype=integer)),
    ("its attribute to is missing", node("cast", X, dims="M N", to="f32")),
    ("its attribute extent is missing", loop(extent=3)),
    # Dimensions and types, everywhere and by rule.
    ("its dims are not the graph's", node("mul", X, X, dims="N M")),
    ("its dims are not the graph's", node("index", dims="K", dtype=integer)),
    ("its dims are not the graph's", node("add", X, X, dims="M N N")),
    ("its dims must be [M, N]", node("mul", X, X, dims="M")),
    ("its dims must be [M, N]", node("exp", X, dims="M")),
    ("its dims must be []", node("const", value=1.0, dims="M")),
    ("its dims must be []", node("param", param="eps", dims="M")),
    ("its dims must be []", node("size", dim="M", dims="M", dtype=integer)),
    ("its dims must be [M]", load(M, M)),
    ("its dims must be [M]", node("take", X, I, dims="M N", dim="N")),
    ("its dims must be [M, N, Two]", node("stack", X, X, dims="M N", dim="Two")),
    ("its dims must be [M, N]", node("cast", X, dims="M", to=types.f32)),
    ("its dims must be [M, N]", node("detach", X, dims="N")),
    ("its dims must be [M, N]", node("narrow", X, dims="N", to=types.f16)),
    ("its dims must be [M]", reduce(X, dims="M N")),
    ("its dims must be [M]", node("state", LOGSUMEXP, position=0)),
    ("its dims must be [M]", uniform(I, M, dims="M N")),
    ("its dims must be [M, P]", contract(X, Y, dims="M N P")),
    ("its dims must be [M]", loop(dims="")),
    ("its dims must be []", replace(loop(), args=(replace(loop().args[0], dims=("M",)),))),
    ("its type must be real, not integer", node("add", X, X, dims="M N", dtype=integer)),
    ("its type must be bool_, not real", node("lt", X, X, dims="M N")),
    ("its type must be integer, not real", node("add", I, I, dims="M")),
    ("its type must be real, not integer", node("const", value=1.0, dtype=integer)),
    ("its type must be integer, not real", node("const", value=1)),
    ("its type must be bool_, not real", node("const", value=True)),
    ("its type must be real, not integer", node("param", param="eps", dtype=integer)),
    ("its type must be integer, not real", node("size", dim="M")),
    ("its type must be integer, not real", node("index", dims="M")),
    ("its type must be integer, not real", load(M, dims="M", tensor="i", said="M")),
    ("its type must be integer, not real", node("cast", X, dims="M N", to=types.i8)),
    ("its type must be real, not integer", node("detach", X, dims="M N", dtype=integer)),
    ("its type must be integer, not real", reduce(X, "argmax")),
    ("its type must be real, not integer", reduce(X, "max", dtype=integer)),
    ("its type must be real, not integer", replace(uniform(I, M, dims="M"), dtype=integer)),
    ("its type must be real, not integer", loop(dtype=integer)),
    ("its type must be integer, not real", replace(loop(), args=(replace(loop().args[0], dtype=real),))),
    ("it names the type of a tensor", node("cast", X, dims="M N", to=types.like("z", "float"))),
    ("only item reads a loop", node("neg", loop().args[0], dtype=integer)),
    ("only item reads a loop", loop(region=carrying(loop().args[0]))),
    # Pointwise.
    ("it does not take arguments of this type", node("and", X, X, dims="M N")),
    ("it does not take arguments of this type", node("add", MASK, MASK, dims="M", dtype=bool_)),
    ("it does not take arguments of this type", node("exp", I, dims="M")),
    ("real arguments are mixed with others", node("add", X, I, dims="M N")),
    ("real arguments are mixed with others", node("where", MASK, X, I, dims="M N")),
    ("its condition is no boolean", node("where", I, X, X, dims="M N")),
    # Leaves.
    ("no run-time parameter has this name", node("param", param="gamma")),
    ("no run-time parameter has this name", node("param", param="causal", dtype=bool_)),
    ("the graph has no such dim", node("size", dim="K", dtype=integer)),
    ("a position has one dim", node("index", dims="M N", dtype=integer)),
    # Loads and gathers.
    ("no operand has this name", load(M, N, tensor="z")),
    ("its dims are not the operand's", load(N, M, said="N M")),
    ("it wants an index for each stored dim", load(M, dims="M")),
    ("it wants an index for each stored dim", load(M, N, MASK)),
    ("it wants an index for each stored dim", load(M, N, guarded=True)),
    ("an index is no integer", load(M, X)),
    ("the guard is no boolean", load(M, N, I, guarded=True)),
    ("it lacks a dim of its value", node("expand", X, dims="M")),
    ("its value lacks the dim", node("take", X, I, dims="M N", dim="P")),
    ("the position is no integer", node("take", X, EPS, dims="M", dim="N")),
    ("it stacks nothing", node("stack", dims="Two", dim="Two")),
    ("the graph has no such dim", node("stack", X, X, dims="M N", dim="K")),
    ("the dim's size is not the number of parts", node("stack", X, dims="M N Two", dim="Two")),
    ("the dim's size is not the number of parts", node("stack", X, X, dims="M N P", dim="P")),
    ("a part has the dim", node("stack", X, X, dims="M N", dim="N")),
    ("the parts differ in type", node("stack", X, I, dims="M N Two", dim="Two")),
    # Conversions.
    ("it narrows to no storage type", node("narrow", X, dims="M N", to=real)),
    ("it narrows to a type of another kind", node("narrow", X, dims="M N", to=types.i8)),
    # Reductions.
    ("no monoid has this name", reduce(X, "median")),
    ("it wants dims of its argument", reduce(X, over=(), dims="M N")),
    ("it wants dims of its argument", reduce(X, over=("N", "N"))),
    ("it wants dims of its argument", reduce(X, over=("P",), dims="M N")),
    ("the monoid does not take values", reduce(MASK, "sum", ("M",), dims="", dtype=bool_)),
    ("the monoid does not take values", reduce(X, "any", dtype=real)),
    ("the monoid runs over one dim", reduce(X, "argmax", ("M", "N"), dims="", dtype=integer)),
    ("the attributes are not the monoid's", reduce(X, "variance")),
    ("the attributes are not the monoid's", reduce(X, "sum", correction=0)),
    ("it reads no state of a reduction", node("state", X, dims="M N", position=0)),
    ("it reads no state of a reduction", node("state", MAKE.reduce("sum", X, "N"), dims="M", position=0)),
    ("it reads no state of a reduction", node("state", LOGSUMEXP, dims="M", position=2)),
    # Random numbers.
    ("it wants a seed and an index for each dim", uniform(I, dims="M")),
    ("it wants a seed and an index for each dim", uniform(over=())),
    ("the seed or an index is no integer", uniform(EPS, M, dims="M")),
    ("the graph has no such dim", uniform(I, M, dims="M", over=("K",))),
    # Products.
    ("it wants dims of both arguments", contract(X, Y, dims="M N P", over=())),
    ("it wants dims of both arguments", contract(X, Y, dims="N P", over=("M",))),
    ("an argument is not of the operands' kind", contract(X, Y, operand=types.i8, accumulator=types.i32)),
    ("a computed argument is not narrowed", contract(MAKE.op("exp", X), Y)),
    ("a computed argument is not narrowed", contract(MAKE.narrow(X, types.f16), Y)),
    ("no accumulator for these operands", contract(X, Y, accumulator=types.f16)),
    # Loops.
    ("it wants as many initial values", loop(EPS, EPS)),
    ("it wants as many initial values", loop(carried=2)),
    ("it wants as many initial values", loop(region=carrying(TOTAL, TOTAL))),
    ("its region has parameters that are none", loop(region=carrying(TOTAL, parameters=(STEP, X)))),
    ("the induction variable is no scalar integer", loop(region=carrying(TOTAL, parameters=(MAKE.parameter("s"), TOTAL)))),
    ("an initial value does not fit its parameter", loop(X)),
    ("an initial value does not fit its parameter", loop(MAKE.const(0))),
    ("a result differs from its parameter", loop(region=carrying(MAKE.const(1.0)))),
    ("a result differs from its parameter", loop(region=carrying(TOTAL, parameters=(STEP, WRONG_PARAMETER)))),
    ("its extent is no integer", loop(extent=EPS)),
    ("a carried value lacks a dim of the extent", loop(extent=N)),
    ("it reads no loop", node("item", X, position=0)),
    ("the loop has no such value", loop(position=1)),
]  # fmt: skip


@pytest.mark.parametrize(("said", "value"), BROKEN)
def test_what_is_wrong_is_told(said: str, value: Node) -> None:
    with pytest.raises(InvalidGraph) as caught:
        verify(graph(value))
    assert said in str(caught.value)


def test_every_check_has_a_test_that_breaks_it() -> None:
    said = [text for text, _ in BROKEN]
    checks = {
        check.says
        for rule in RULES.values()
        for check in (*rule.premises, *rule.checks)
    } | {check.says for check in EVERYWHERE}  # fmt: skip
    assert not {check for check in checks if not any(check.startswith(text) for text in said)}


def test_all_violations_are_listed_each_with_its_node() -> None:
    span = Span("specs/a.py", 7, 4, 7, 9)
    wrong = Node("exp", (I,), ("M", "N"), dtype=integer, name="h", span=span)
    with pytest.raises(InvalidGraph) as caught:
        verify(graph(wrong, node("index", dims="M N", dtype=integer)))
    assert str(caught.value).splitlines() == [
        "the graph of g breaks 4 rules:",
        "  exp h[M, N] (specs/a.py:7): it does not take arguments of this type",
        "  exp h[M, N] (specs/a.py:7): its dims must be [M]",
        "  exp h[M, N] (specs/a.py:7): its type must be real, not integer",
        "  index[M, N]: a position has one dim",
    ]


def broken(text: str, wrong: Graph) -> None:
    with pytest.raises(InvalidGraph) as caught:
        verify(wrong)
    assert text in str(caught.value)


# ---- the graph as a whole ----------------------------------------------------------------------


def test_declarations() -> None:
    right = graph(X)
    broken("dim M: it is declared as N", replace(right, dims={**right.dims, "M": DimInfo("N")}))
    twice = Operand("eps", (), real)
    broken("two parameters have this name", replace(right, operands=(*right.operands, twice)))
    other = Operand("z", (("K",),), real)
    broken("operand z: the graph lacks", replace(right, operands=(*right.operands, other)))
    square = Operand("z", (("M",), ("M",)), real)
    broken("operand z: it has a dim twice", replace(right, operands=(*right.operands, square)))
    size = Param("k", "size", dim="K")
    broken("the size of a dim that the graph lacks", replace(right, params=(*right.params, size)))


def test_outputs() -> None:
    (right,) = graph(X).outputs

    def stored(**changes: Any) -> Graph:
        return replace(graph(X), outputs=(replace(right, **changes),))

    verify(stored(stored=(("N",), ("One",), ("M",))))
    verify(stored(stored=(("M", "N"),), dtype=LIKE_X))
    broken("output out0: it stores [M]", stored(stored=(("M",),)))
    broken("output out0: it stores [M, N, P]", stored(stored=(("M",), ("N",), ("P",))))
    broken("output out0: it stores [M, M, N]", stored(stored=(("M",), ("M",), ("N",))))
    broken("output out0: it stores i32, its value is real", stored(dtype=types.i32))
    broken("type of z, which is no operand", stored(dtype=types.like("z", "float")))
    broken("two outputs have this name", replace(graph(X), outputs=(right, right)))
    broken("its value is a whole loop", graph(loop().args[0]))


def test_parameters_stay_in_their_region() -> None:
    inside = LOOP["region"].results[0]
    broken("parameter total[M] escapes its region", graph(inside))
    broken("parameter total[M] escapes its region", graph(MAKE.op("add", loop(), inside)))
    broken("starts from a parameter of its own region", graph(loop(inside)))
    broken("starts from a parameter of its own region", graph(loop(extent=STEP)))
    broken("it is a parameter of two regions", graph(loop(), loop(MAKE.const(3.0))))
    double = (STEP, TOTAL, TOTAL)
    region = carrying(TOTAL, TOTAL, parameters=double)
    broken("has a parameter twice", graph(loop(EPS, EPS, region=region, carried=2)))


def test_a_parameter_of_a_neighbour_escapes() -> None:
    step, total = MAKE.parameter("step", dtype=integer), MAKE.parameter("other", "M")
    region = Region((step, total), (MAKE.op("add", total, TOTAL),))
    broken("parameter total[M] escapes", graph(loop(), loop(region=region)))


def test_inner_regions_see_outer_ones_only() -> None:
    verify(ir_graphs.nested())
    wrong = ir_graphs.nested()
    _, region = ir_graphs.loop_of(wrong)
    inner = region.results[0].args[0]
    _, parameter = inner.attrs["region"].parameters
    result = replace(wrong.outputs[0], value=MAKE.op("add", wrong.outputs[0].value, parameter))
    broken("parameter inner[] escapes its region", replace(wrong, outputs=(result,)))


def test_cycles_are_found() -> None:
    circle = node("neg", X, dims="M N")
    object.__setattr__(circle, "args", (MAKE.op("exp", circle),))
    broken("it is made of itself", graph(circle))
    item = loop()
    attrs = dict(item.args[0].attrs)
    around = node("loop", EPS, dtype=integer)
    object.__setattr__(around, "attrs", attrs)
    attrs["region"] = carrying(node("item", around, dims="M", position=0))
    broken("it is made of itself", graph(replace(item, args=(around,))))


@pytest.mark.parametrize("build", [ir_graphs.attention, ir_graphs.gated_delta])
def test_a_mistake_inside_a_region_is_found(build) -> None:
    right = build()
    loop_node, region = ir_graphs.loop_of(right)
    wrong = replace(region.results[0], dtype=bool_)
    inside = Region(region.parameters, (wrong, *region.results[1:]))
    changed = replace(loop_node, attrs={**loop_node.attrs, "region": inside})
    item = node("item", changed, dims=" ".join(wrong.dims), position=0)
    output = replace(right.outputs[0], value=item, stored=tuple((dim,) for dim in item.dims))
    broken(f"{wrong.op} {wrong.name}", replace(right, outputs=(output,)))
