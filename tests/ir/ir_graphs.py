"""What later families need of the IR: one attention op and one affine step, built by hand."""

import math

from ir_making import Maker

from tilegen.ir import types
from tilegen.ir.graph import DimInfo, Graph, Node, Operand, Output, Region

BLOCK = 64


def like(tensor: str) -> types.DType:
    return types.like(tensor, "float")


def attention() -> Graph:
    """Causal flash attention of grouped heads, over as many keys as each sample has."""
    make = Maker("B G R S D T E J")
    samples, groups, heads, queries = (make.index(dim) for dim in "BGRS")
    length = make.load("lengths", "B", samples, dtype=types.integer)
    extent = make.op("floordiv", make.op("add", length, BLOCK - 1), BLOCK)
    q = make.load("q", "B G R S D", samples, groups, heads, queries, make.index("D"))
    scale = make.op("rsqrt", make.real(make.size("D")))

    block = make.parameter("block", dtype=types.integer)
    m = make.parameter("m", "B G R S")
    l = make.parameter("l", "B G R S")
    acc = make.parameter("acc", "B G R S E")
    key = make.op("add", make.op("mul", block, BLOCK), make.index("J"), name="key")
    inside = make.op("lt", key, length)
    k = make.load("k", "B G T D", samples, groups, key, make.index("D"), inside)
    v = make.load("v", "B G T E", samples, groups, key, make.index("E"), inside)
    score = make.op("mul", make.contract(q, k, "D", like("q")), scale, name="score")
    age = make.op("sub", make.op("add", queries, length), make.size("S"))
    age = make.op("sub", age, key, name="age")
    visible = make.op("and", inside, make.op("ge", age, 0))
    score = make.op("where", visible, score, -math.inf)
    top = make.op("maximum", m, make.reduce("max", score, "J"), name="top")
    # A row that has seen no key yet must not compute inf - inf.
    base = make.op("where", make.op("eq", top, -math.inf), 0.0, top)
    keep = make.op("exp", make.op("sub", m, base), name="keep")
    p = make.op("exp", make.op("sub", score, base), name="p")
    total = make.op("add", make.op("mul", l, keep), make.reduce("sum", p, "J"))
    product = make.contract(make.narrow(p, like("v")), v, "J", like("v"))
    joined = make.op("add", make.op("mul", acc, keep), product)

    m, l, acc = make.loop(
        extent,
        (make.const(-math.inf), make.const(0.0), make.const(0.0)),
        (block, m, l, acc),
        (top, total, joined),
    )
    o = make.op("div", acc, make.op("where", make.op("eq", l, 0.0), 1.0, l), name="o")
    lse = make.op("add", m, make.op("log", l), name="lse")
    heads_stored = (("B",), ("G", "R"), ("S",))
    return Graph(
        "attention",
        {name: DimInfo(name, BLOCK if name == "J" else None) for name in make.order},
        (
            Operand("q", (*heads_stored, ("D",)), types.real),
            Operand("k", (("B",), ("G",), ("T",), ("D",)), types.real),
            Operand("v", (("B",), ("G",), ("T",), ("E",)), types.real),
            Operand("lengths", (("B",),), types.integer),
        ),
        (),
        (
            Output("o", o, (*heads_stored, ("E",)), like("q")),
            Output("lse", lse, heads_stored, types.f32, public=False),
        ),
    )


def gated_delta() -> Graph:
    """The gated delta rule, a step a token; o is filled in at the token's position."""
    make = Maker("B S H D E")
    samples, tokens, heads, keys, values = (make.index(dim) for dim in make.order)
    start = make.load("state", "B H D E", samples, heads, keys, values)
    scale = make.op("rsqrt", make.real(make.size("D")))

    t = make.parameter("t", dtype=types.integer)
    state = make.parameter("state", "B H D E")
    out = make.parameter("out", "B S H E")
    q = make.load("q", "B S H D", samples, t, heads, keys)
    k = make.load("k", "B S H D", samples, t, heads, keys)
    v = make.load("v", "B S H E", samples, t, heads, values)
    g = make.load("g", "B S H", samples, t, heads)
    beta = make.load("beta", "B S H", samples, t, heads)
    decayed = make.op("mul", make.op("exp", g), state, name="decayed")
    read = make.contract(k, decayed, "D", types.real)
    delta = make.op("mul", beta, make.op("sub", v, read), name="delta")
    updated = make.op("add", decayed, make.op("mul", k, delta), name="updated")
    o = make.op("mul", make.contract(q, updated, "D", types.real), scale, name="o")
    filled = make.op("where", make.op("eq", tokens, t), o, out)

    last, o = make.loop(
        make.size("S"), (start, make.const(0.0)), (t, state, out), (updated, filled)
    )  # fmt: skip
    per_head = (("B",), ("S",), ("H",))
    return Graph(
        "gated_delta",
        {name: DimInfo(name) for name in make.order},
        (
            Operand("state", (("B",), ("H",), ("D",), ("E",)), types.real),
            Operand("q", (*per_head, ("D",)), types.real),
            Operand("k", (*per_head, ("D",)), types.real),
            Operand("v", (*per_head, ("E",)), types.real),
            Operand("g", per_head, types.real),
            Operand("beta", per_head, types.real),
        ),
        (),
        (
            Output("state", last, (("B",), ("H",), ("D",), ("E",)), like("state")),
            Output("o", o, (*per_head, ("E",)), like("q")),
        ),
    )


def nested() -> Graph:
    """A loop in a loop: the sum over i < n and j <= i of x at j, plus i."""
    make = Maker("N")
    i = make.parameter("i", dtype=types.integer)
    outer = make.parameter("outer")
    j = make.parameter("j", dtype=types.integer)
    inner = make.parameter("inner")
    x = make.load("x", "N", j)
    step = make.op("add", inner, make.op("add", x, make.real(i)))
    (total,) = make.loop(make.op("add", i, 1), (outer,), (j, inner), (step,))
    (result,) = make.loop(make.size("N"), (make.const(0.0),), (i, outer), (total,))
    return Graph(
        "nested",
        {"N": DimInfo("N")},
        (Operand("x", (("N",),), types.real),),
        (),
        (Output("result", result, (), types.f32),),
    )


def loop_of(graph: Graph) -> tuple[Node, Region]:
    """The outermost loop of one of these graphs."""
    loop = next(node for node in reversed(graph.nodes) if node.op == "loop")
    return loop, loop.attrs["region"]
