"""Products: the types in which they multiply, the passes, and what is saved for their gradients."""

from typing import Any

import product_specs as specs
import pytest
import torch
from ir_running import drawn, evaluate, function, sizes_of, value_of

from tilegen import (
    Index,
    K,
    M,
    N,
    R,
    Tensor,
    Value,
    errors,
    gelu,
    matmul,
    sigmoid,
    sum,
    take,
    tanh,
    where,
)
from tilegen.build import differentiate
from tilegen.ir import types
from tilegen.ir.autodiff import differentiable, gradient
from tilegen.ir.graph import Graph, Node
from tilegen.ir.integers import widened
from tilegen.ir.passes import simplify
from tilegen.ir.saving import Saving
from tilegen.ir.verify import verify
from tilegen.render.eager import reference
from tilegen.spec.families import Spec
from tilegen.spec.source import SpecSource
from tilegen.spec.trace import TracedSpec, trace


def traced(spec: Spec[..., Any]) -> TracedSpec:
    return trace(spec, SpecSource.of(spec.fn))


def graph_of(spec: Spec[..., Any]) -> Graph:
    graph = traced(spec).variants[0].graph
    verify(graph)
    return graph


def products(graph: Graph) -> list[Node]:
    return [node for node in graph.nodes if node.op == "contract"]


def said(product: Node) -> str:
    """Operands, the types that they are narrowed to, and the type of the product."""
    sides = [str(arg.attrs["to"]) if arg.op == "narrow" else arg.op for arg in product.args]
    return f"{sides[0]} @ {sides[1]} in {product.attrs['operand']}"


# ---- types ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        (specs.linear_gelu, ["load @ load in x.dtype"]),
        (specs.lora, ["load @ load in x.dtype", "load @ load in x.dtype", "b.dtype @ load in b.dtype"]),
        (specs.of_computed, ["x.dtype @ x.dtype in x.dtype"]),
        (specs.triangular, ["y.dtype @ load in y.dtype"]),
        (specs.looked_up, ["take @ load in table.dtype"]),
        (specs.kept_wide, ["cast @ f32 in f32"]),
        (specs.rounded_by_hand, ["cast @ bf16 in bf16"]),
        (specs.widened_by_hand, ["load @ cast in x.dtype"]),
        (specs.wider_of_two, ["load @ bf16 in bf16"]),
        (specs.two_of_8_bits, ["f16 @ f16 in f16"]),
        (specs.two_of_16_bits, ["f32 @ f32 in f32"]),
        (specs.fixed_and_free, ["load @ load in bf16"]),
        (specs.integers, ["load @ load in i8"]),
        (specs.nibbles, ["load @ x.dtype in x.dtype"]),
        (specs.low_nibbles, ["load @ i8 in i8"]),
        (specs.counted, ["w.dtype @ load in w.dtype"]),
    ],
    ids=lambda item: item.name if isinstance(item, Spec) else "",
)  # fmt: skip
def test_operands_are_in_one_storage_type(spec: Spec[..., Any], wanted: list[str]) -> None:
    assert [said(product) for product in products(graph_of(spec))] == wanted


def test_sums_of_integers_are_int32() -> None:
    graph = graph_of(specs.integers)
    (product,) = products(graph)
    assert product.attrs["accumulator"] == graph.outputs[0].dtype == types.i32
    assert product.dtype == types.integer
    assert graph_of(specs.scaled_integers).outputs[0].dtype.name == "x_scale.dtype"


@pytest.mark.parametrize("spec", [specs.norm_linear, specs.linear_gelu, specs.lora])
def test_a_result_is_stored_in_the_type_of_the_first_input(spec: Spec[..., Any]) -> None:
    assert graph_of(spec).outputs[0].dtype.name == "x.dtype"


def test_a_statistic_of_a_product_is_fp32() -> None:
    assert {output.dtype for output in graph_of(specs.scores_by_row).outputs} == {types.real}


# ---- the reference ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (specs.linear_residual, "x @ w + residual"),
        (specs.swiglu_up, "value * torch.sigmoid(value) * (x @ w_up)"),
        (specs.several_dims, 'torch.relu(torch.einsum("mhd,hdn->mn", x, w))'),
        (specs.vector, "x @ w * 2.0"),
        (specs.integers, "(x.double() @ w.double()).int()"),
        (specs.wider_of_two, "x @ widen(convert(w, bf16_held), compute)"),
    ],
    ids=lambda item: item.name if isinstance(item, Spec) else "",
)
def test_the_reference_is_readable(spec: Spec[..., Any], text: str) -> None:
    assert reference(graph_of(spec), (), lambda span: "").results == (text,)


def test_the_reference_rounds_operands_as_kernels_do_but_not_in_fp64() -> None:
    graph = graph_of(specs.of_computed)
    run = function(graph, ())
    x, y, s = (torch.rand(shape).bfloat16() for shape in ((3, 6), (6, 7), (6,)))
    exact = (x.double() * s.double()) @ y.double().exp()
    torch.testing.assert_close(run(x, y, s, torch.float64)[0], exact)
    rounded = (x * s).float() @ y.float().exp().bfloat16().float()
    torch.testing.assert_close(run(x, y, s, torch.float32)[0], rounded)
    torch.testing.assert_close(run(x, y, s, None)[0], (x * s) @ y.exp())


def test_integers_are_multiplied_exactly() -> None:
    x, w = (torch.randint(-128, 128, shape, dtype=torch.int8) for shape in ((3, 6), (7, 6)))
    (found,) = function(graph_of(specs.integers), ())(x, w, None)
    assert found.dtype == torch.int32
    assert torch.equal(found, x.int() @ w.int().T)
    (found,) = function(graph_of(specs.low_nibbles), ())(x, w, None)
    assert torch.equal(found, x.int() @ ((w.int() & 15) - 8).T)


# ---- passes -----------------------------------------------------------------------------------


@matmul
def taken(x: Tensor[M, K], w: Tensor[N, K], rows: Index[R]) -> Value:
    return take(gelu(x @ w.T), rows, M)


@matmul
def taken_apart(x: Tensor[M, K], w: Tensor[N, K], columns: Index[M]) -> Value:
    return take(x @ w.T, columns, N)


SIMPLIFIED = [spec for spec in specs.PRODUCTS if spec.name != "scores_by_row"]


@pytest.mark.parametrize(
    "spec",
    [*SIMPLIFIED, taken, taken_apart, specs.nibbles, specs.pairs_of_nibbles],
    ids=lambda spec: spec.name,
)
def test_passes_keep_what_a_product_is(spec: Spec[..., Any]) -> None:
    op = traced(spec)
    graph = op.variants[0].graph
    simple = simplify(graph)
    verify(simple)
    sizes = sizes_of(graph)
    tensors = {o.name: drawn(o, sizes, seed) for seed, o in enumerate(graph.operands)}
    values = [value_of(param) for param in op.params]
    wanted = function(graph, op.params)(*tensors.values(), *values, torch.float64)
    numbers = {param.name: value for param, value in zip(op.params, values, strict=True)}
    found = evaluate(simple, tensors, numbers)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other.detach(), rtol=1e-6, atol=1e-9, check_dtype=False)


def test_a_take_reaches_the_tensors_of_a_product() -> None:
    (product,) = products(simplify(graph_of(taken)))
    assert product.dims == ("N", "R")
    assert [arg.op for arg in product.args] == ["load", "load"]


def test_a_product_over_a_dimension_that_is_taken_apart_is_a_sum() -> None:
    parts = products(simplify(graph_of(specs.rotated)))
    assert [part.attrs["over"] for part in parts] == [("K",), ("K",)]


def test_integers_that_are_multiplied_one_by_one_are_widened() -> None:
    whole, apart = graph_of(specs.low_nibbles), simplify(graph_of(specs.pairs_of_nibbles))
    for graph, wide in ((whole, 0), (apart, 2)):
        found = widened(tuple(output.value for output in graph.outputs))
        assert len([node for node in found if node.op == "narrow"]) == wide


@matmul
def positions_along_the_sum(x: Tensor[M, K], w: Tensor[N, K], rows: Index[K]) -> Value:
    return take(x @ w.T, rows, M)


def test_no_take_at_positions_along_what_is_summed() -> None:
    """Moved inside the sum, each of its terms would be taken at a position of its own."""
    with pytest.raises(errors.Unschedulable, match="at positions that differ along it"):
        simplify(graph_of(positions_along_the_sum))


# ---- gradients --------------------------------------------------------------------------------


def test_upstream_gradients_are_narrowed_to_what_they_multiply() -> None:
    graph = graph_of(specs.wider_of_two)
    made = gradient(graph, differentiable(graph)).graph
    assert [said(product) for product in products(made)] == ["bf16 @ bf16 in bf16", "bf16 @ load in bf16"]  # fmt: skip


def test_gradients_are_not_rounded_to_8_bits() -> None:
    graph = graph_of(specs.of_8_bits)
    made = gradient(graph, differentiable(graph)).graph
    assert {product.attrs["operand"] for product in products(made)} == {types.bf16}


def saved(spec: Spec[..., Any]) -> Saving:
    op = traced(spec)
    found = differentiate(op, op.variants[0])
    assert found is not None
    return found


@matmul
def one_of_few_columns(x: Tensor[M, specs.Few], w: Tensor[N, specs.Few]) -> Value:
    """The product is had for less than the bytes of a pre-activation."""
    return gelu(x @ w.T)


@matmul
def returned_too(x: Tensor[M, K], w: Tensor[N, K]) -> tuple[Value, Value]:
    h = x @ w.T
    y = gelu(h)
    return h, y


@matmul
def ends_in_tanh(x: Tensor[M, K], w: Tensor[N, K], bias: Tensor[N]) -> Value:
    return tanh(x @ w.T + bias)


@matmul
def gated(x: Tensor[M, K], w: Tensor[N, K], y: Tensor[M, N]) -> Value:
    """One minus the sigmoid, as it is rounded, would lose what the gradient is made of."""
    return sigmoid(2.0 * (x @ w.T)) * y


@matmul
def in_a_range(x: Tensor[M, K], w: Tensor[N, K]) -> Value:
    h = x @ w.T
    return where((h > 0.0) & ~(h > 6.0), h * h, 0.0)


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        (specs.linear_gelu, {"product": "x.dtype"}),  # with its bias
        (specs.linear_residual, {}),
        (specs.swiglu_up, {"product": "x.dtype", "product_2": "x.dtype"}),
        (specs.lora, {"low": "b.dtype"}),
        (specs.norm_linear, {"row_value": "real"}),
        (specs.scores_by_row, {"logits": "x.dtype", "lse": "real"}),
        (specs.best_of_row, {"h": "real", "row_max": "real"}),  # equal to its maximum, or not
        (specs.alike_upstream, {"row_sum": "real"}),  # all that is needed of the product
        (specs.scaled_integers, {"product": "i32"}),
        (ends_in_tanh, {"out": "x.dtype"}),
        (gated, {"product": "x.dtype"}),
        (in_a_range, {"h": "x.dtype"}),
        (one_of_few_columns, {}),
        (returned_too, {"h": "x.dtype"}),
    ],
    ids=lambda item: item.name if isinstance(item, Spec) else "",
)
def test_pre_activations_are_saved(spec: Spec[..., Any], what: dict[str, str]) -> None:
    found = saved(spec)
    verify(found.forward)
    verify(found.gradient.graph)
    outputs = {output.name: output for output in found.forward.outputs}
    assert {name: str(outputs[name].dtype) for name in found.saved} == what
    private = [o for o in found.forward.outputs if not o.public]
    assert all(output.optional for output in private)
    assert len(found.forward.outputs) - len(private) == len(graph_of(spec).outputs)


def test_nothing_is_saved_where_the_spec_says_so() -> None:
    found = saved(matmul(save=())(specs.linear_gelu.fn))
    assert found.saved == ()
    assert len(products(found.gradient.graph)) == 3


def test_a_pre_activation_is_named() -> None:
    spec = matmul(save=("h",))(returned_too.fn)
    assert saved(spec).saved == ("h",)
    with pytest.raises(errors.BadOption) as raised:
        saved(matmul(save=("h",))(specs.linear_gelu.fn))
    assert raised.value.hint == "what it can: product"


@pytest.mark.parametrize("spec", specs.PRODUCTS, ids=lambda spec: spec.name)
def test_gradients_from_what_was_saved(spec: Spec[..., Any]) -> None:
    op = traced(spec)
    found = saved(spec)
    sizes = sizes_of(op.variants[0].graph)
    tensors = {o.name: drawn(o, sizes, seed) for seed, o in enumerate(op.operands)}
    values = [value_of(param) for param in op.params]
    results = function(found.forward, op.params)(*tensors.values(), *values, torch.float64)
    left = {o.name: r for o, r in zip(found.forward.outputs, results, strict=True)}
    upstream = {of: torch.randn_like(left[name]) for name, of in found.gradient.upstream.items()}
    wanted = [name for name in found.gradient.results if found.gradient.results[name]]
    right = torch.autograd.grad(
        [left[name] for name in found.gradient.upstream],
        [tensors[name] for name in wanted], list(upstream.values()),
    )  # fmt: skip
    given = {**tensors, **left, **upstream}
    graph = found.gradient.graph
    arguments = [given[operand.name].detach() for operand in graph.operands]
    made = function(graph, op.params)(*arguments, *values, torch.float64)
    own = upstream | {o.name: value for o, value in zip(graph.outputs, made, strict=True)}
    for name, one in zip(wanted, right, strict=True):
        rtol = 1e-5 if spec.name == "kept_wide" else 1e-10
        torch.testing.assert_close(own[found.gradient.results[name]], one, rtol=rtol, atol=1e-12)


@matmul
def summed_rows(x: Tensor[M, K], w: Tensor[N, K]) -> Value:
    return sum(gelu(x @ w.T))


def test_what_is_saved_is_no_statistic_of_an_input() -> None:
    assert saved(summed_rows).saved == ("product",)
