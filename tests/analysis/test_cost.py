"""Closed forms against counts made one element at a time."""

import itertools
from math import prod

import pytest
from analysis_ops import op

from tilegen.analysis.cost import cost, element, floor, plain, traffic, value
from tilegen.analysis.eager import eager
from tilegen.analysis.facts import facts
from tilegen.ir.graph import Graph, Node
from tilegen.ir.ops import TABLE
from tilegen.targets import TARGETS, get

SMALL = {
    "M": 3,
    "N": 5,
    "V": 7,
    "B": 2,
    "S": 3,
    "T": 4,
    "H": 2,
    "D": 3,
    "Two": 2,
    "P": 9,
    "G": 2,
    "C": 3,
    "HW": 4,
}
EVERY = (
    "vector_add", "swiglu", "bias_gelu", "adaln_modulate", "dyt", "rope", "rope_interleaved",
    "softmax", "rmsnorm", "add_layernorm", "groupnorm", "qk_norm_rope", "cross_entropy",
    "scaled_masked_softmax", "kl_div", "rmsnorm_quant_fp8", "row_quant_int8", "mse_loss",
)  # fmt: skip


def sizes(graph: Graph) -> dict[str, int]:
    return {dim.name: dim.size or SMALL[dim.name] for dim in graph.dims.values()}


def elements_read(graph: Graph, tensor: str) -> set[tuple[int, ...]]:
    """Every element that a load touches, where indices are all different."""
    here = sizes(graph)
    found = set()
    for node in graph.nodes:
        if node.op != "load" or node.attrs["tensor"] != tensor:
            continue
        walked = sorted({d for arg in node.args for d in arg.dims})
        for point in itertools.product(*(range(here[d]) for d in walked)):
            at = dict(zip(walked, point, strict=True))
            found.add(
                tuple(
                    place(dim, arg, at, here)
                    for dim, arg in zip(node.attrs["dims"], node.args, strict=False)
                )
            )
    return found


def place(dim: str, arg: Node, at: dict[str, int], here: dict[str, int]) -> int:
    if arg.op == "index" and arg.dims == (dim,):
        return at[dim]
    if arg.op == "const":
        return int(arg.attrs["value"])
    line = 0
    for name in arg.dims:
        line = line * here[name] + at[name]
    return line % here[dim]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("size", [2, 4])
def test_traffic_is_each_touched_element_once(name: str, size: int) -> None:
    graph = op(name).variants[0].graph
    here = sizes(graph)
    read = sum(
        len(elements_read(graph, o.name)) * value(element(o.name, o.dtype), {}, size)
        for o in graph.operands
    )
    assert value(traffic(graph)[0], here, size) == read


def test_written_bytes_follow_the_outputs_types() -> None:
    graph = op("rmsnorm_quant_fp8").variants[0].graph
    assert str(plain(traffic(graph)[1])) == "M*N + 4*M"  # fp8, and one fp32 scale a row
    graph = op("cross_entropy").variants[0].graph
    assert str(plain(traffic(graph)[1])) == "8*M"  # two fp32


@pytest.mark.parametrize("name", ["vector_add", "swiglu", "silu", "gelu_erf", "rope", "dyt"])
def test_flops_of_elementwise_ops_are_those_of_their_nodes(name: str) -> None:
    """The statements of the kernel are counted; the graph's nodes must come to the same."""
    variant = op(name).variants[0]
    here = sizes(variant.graph)
    inner = {variant.programs[0].rows[-1]}
    nodes = [n for n in variant.graph.nodes if n.op in TABLE and inner <= set(n.dims)]
    # Nodes over fewer dimensions are computed for each element of the tile all the same.
    each = prod(here[dim] for dim in variant.programs[0].rows)
    found = cost(variant.programs[0], variant.programs[0].schedules[0])
    assert value(found.flops, here, 2) == sum(TABLE[n.op].flops for n in nodes) * each
    assert value(found.special, here, 2) == sum(TABLE[n.op].special for n in nodes) * each


def test_rmsnorm_in_closed_form() -> None:
    variant = op("rmsnorm").variants[0]
    block, loop, split = (
        cost(variant.programs[0], schedule) for schedule in variant.programs[0].schedules
    )
    assert str(plain(block.traffic)) == "2*M*N*e + N*e"
    assert str(plain(block.flops)) == "4*M*N + 3*M"
    assert (block.passes, str(block.again)) == (1, "0")
    assert (loop.passes, str(plain(loop.again))) == (2, "M*N*e")
    assert str(split.workspace) == "8*M*splits"  # one fp32 a program, written and read


def test_a_vector_shares_one_rescaling() -> None:
    """Online softmax: (K + 1) / K exponentials to take an element in, one to give it out."""
    (program,) = op("softmax").variants[0].programs
    loop = cost(program, next(one for one in program.schedules if one.kind == "loop"))
    per_element = value(loop.special, {"M": 1, "N": 2**20}, 2) / 2**20
    assert per_element == pytest.approx((8 + 2) / 8 + 1, rel=1e-4)  # one of 8 rescales, and joins


def test_cost_grows_with_every_size() -> None:
    variant = op("cross_entropy").variants[0]
    here = sizes(variant.graph)
    for schedule in variant.programs[0].schedules:
        found = cost(variant.programs[0], schedule)
        for dim in ("M", "V"):
            more = here | {dim: here[dim] + 1}
            for expression in (found.traffic, found.flops, found.special):
                assert value(expression, more, 2) > value(expression, here, 2)


def test_eager_counts_one_kernel_an_op() -> None:
    """x * x, its mean, + eps, rsqrt, x * rstd, * weight."""
    found = eager(op("rmsnorm").traced.variants[0].graph)
    assert found.kernels == 6
    m, n, e = 3, 5, 2
    row, full = m * e, m * n * e
    by_hand = (
        (2 * full + full) + (full + row) + 2 * row + 2 * row + (2 * full + row) + (2 * full + n * e)
    )
    assert value(found.bytes, {"M": m, "N": n}, e) == by_hand


def test_views_are_free_in_eager() -> None:
    """Six products and sums, two gathers, one stack; the halves of x are views."""
    assert eager(op("rope").traced.variants[0].graph).kernels == 9


def test_what_bounds_an_op() -> None:
    target = get("h200")
    assert floor(4.27e12, 0, 0, target).seconds == pytest.approx(1.0)
    assert floor(1e9, 0, 1e12, target).bound == "special functions"
    assert floor(1e9, 1e15, 0, target).bound == "flops"
    unmeasured = get("a100")
    assert floor(1e9, 0, 0, unmeasured).memory == floor(1e9, 0, 0, unmeasured).datasheet


def test_heads_of_modules() -> None:
    lines = facts(
        op("rmsnorm").variants[0].programs, op("rmsnorm").traced.variants[0].graph, TARGETS
    )
    assert lines == [
        "Traffic: 2*M*N*e + N*e bytes (e: bytes of an element)",
        "Work: 4*M*N + 3*M flops, 2*M of them exponentials, roots and quotients",
        "Bound: memory on every target",
        "Eager PyTorch: 6 kernels, 4.0 times the bytes",
    ]
    assert all(line in op("rmsnorm").text for line in lines)
