"""Gradients of whole graphs: in fp64, each equals what torch.autograd makes of the reference."""

from pathlib import Path
from typing import Any

import pytest
import torch
from ir_running import drawn, function, sizes_of, value_of
from product_specs import PRODUCTS

from tilegen import (
    Dim,
    Index,
    M,
    N,
    One,
    Out,
    S,
    Tensor,
    Two,
    V,
    Value,
    abs,
    cast,
    clamp,
    detach,
    elementwise,
    exp,
    f32,
    i32,
    index,
    max,
    maximum,
    mean,
    min,
    minimum,
    relu,
    rowwise,
    size,
    stack,
    sum,
    take,
    unstack,
    variance,
    where,
)  # fmt: skip
from tilegen.errors import Unschedulable
from tilegen.ir.autodiff import differentiable, gradient
from tilegen.ir.graph import Param
from tilegen.ir.passes import simplify
from tilegen.ir.verify import verify
from tilegen.spec.load import load_folder
from tilegen.spec.source import SpecSource
from tilegen.spec.trace import Variant, trace

SPECS = Path(__file__).parents[2] / "specs"


class P(Dim):
    """Positions of a table."""


@rowwise
def user_softmax(x: Tensor[M, N]) -> Value:
    e = exp(x - max(x))
    return e / sum(e)


@rowwise
def extremes(x: Tensor[M, N], y: Tensor[N]) -> tuple[Value, Value]:
    largest = max(x * y)
    smallest = min(x + y, (M, N))
    return largest, smallest


@rowwise
def corrected(x: Tensor[M, N]) -> Value:
    return variance(x, correction=1) * x


@rowwise
def broadcast_sum(x: Tensor[M, N], s: Tensor[M]) -> Value:
    """The gradient of s is the same along N, and N times as large."""
    return sum(s + 0.0 * x + x * x)


@rowwise
def outer_sum(x: Tensor[M], y: Tensor[N]) -> Value:
    return sum(x * y + x, (M, N))


@elementwise
def kinks(x: Tensor[N], y: Tensor[N]) -> Value:
    z = relu(x) + abs(y) + maximum(x, y) + minimum(x, 0.0) * maximum(y, -1.0)
    return z + clamp(x, -1.0, 1.0) + clamp(x, y, 2.0 * y) + where(x > y, x * x, y)


@elementwise
def stopped(x: Tensor[N], y: Tensor[N]) -> Value:
    return detach(x) * y + cast(x, i32) * y + cast(x * y, f32)


@elementwise
def powers(x: Tensor[N], y: Tensor[N]) -> Value:
    return abs(x) ** y + x**2 + x**3 + x % y + (x * x) ** 0.5


@rowwise
def lookup(x: Tensor[M, N], table: Tensor[P, N], at: Index[M]) -> Value:
    row = take(table, at, P)
    return sum(row * x) + take(x, at, N)


@elementwise
def halves(x: Tensor[N, Two]) -> Value:
    a, b = unstack(x, Two)
    return stack(a * b, a - b, dim=Two)


@rowwise
def columns(x: Tensor[M, N]) -> Out[M, One]:
    return mean(x * x)


@rowwise
def both_ways(x: Tensor[M, N]) -> tuple[Value, Value]:
    down = mean(x * x, M)
    scaled = x * down / (1.0 + sum(x * x, N))
    return down, scaled


@elementwise
def positions(x: Tensor[S, N]) -> Value:
    return where(index(S) > index(N), x, 0.0) * size(N)


@elementwise
def shifted(x: Tensor[S, N], by: Index[N], s: Tensor[S]) -> tuple[Value, Value]:
    """Out of range is 0; the upstream gradient of the last is the same along N."""
    token = x - take(x, index(S) - 1, S) * take(x, size(S) - 1 - index(S), S)
    each = take(x, 2 - (by - index(S)), S) + take(s, -index(S) + 2, S)
    return token, each


@rowwise
def shifted_sum(x: Tensor[M, N]) -> Value:
    return sum(take(x, index(N) + 2, N))


@rowwise
def permuted(x: Tensor[M, V], at: Index[V]) -> Value:
    return sum(take(x, at, V))


OWN = (
    user_softmax, extremes, corrected, broadcast_sum, outer_sum, kinks, stopped, powers, lookup,
    halves, columns, both_ways, positions, shifted, shifted_sum, *PRODUCTS,
)  # fmt: skip


def catalogue() -> list[Any]:
    loaded, _ = load_folder(SPECS)
    return [
        pytest.param(traced.params, variant, id=f"{traced.name}-{variant.key}")
        for item in loaded
        if item.spec.grad != ()
        for traced in [trace(item.spec, item.source)]
        for variant in traced.variants
    ]


def own() -> list[Any]:
    return [
        pytest.param(traced.params, traced.variants[0], id=spec.name)
        for spec in OWN
        for traced in [trace(spec, SpecSource.of(spec.fn))]
    ]


@pytest.mark.parametrize(("params", "variant"), [*catalogue(), *own()])
def test_gradients_are_those_of_autograd(params: tuple[Param, ...], variant: Variant) -> None:
    graph = variant.graph
    made = gradient(graph, differentiable(graph))
    verify(made.graph)
    verify(simplify(made.graph))
    sizes = sizes_of(graph)
    tensors = {o.name: drawn(o, sizes, seed) for seed, o in enumerate(graph.operands)}
    values = [value_of(param) for param in params]
    results = function(graph, params)(*tensors.values(), *values, torch.float64)
    upstream = {
        made.upstream[output.name]: torch.randn_like(result)
        for output, result in zip(graph.outputs, results, strict=True)
        if output.name in made.upstream
    }
    wanted = [tensors[name] for name in made.results]
    floating = [result for result in results if result.dtype.is_floating_point]
    expected = torch.autograd.grad(
        floating, wanted, list(upstream.values()), materialize_grads=True
    )
    if made.graph.outputs:
        given = {**tensors, **upstream}
        arguments = [given[operand.name].detach() for operand in made.graph.operands]
        found = function(made.graph, params)(*arguments, *values, torch.float64)
        upstream |= {o.name: value for o, value in zip(made.graph.outputs, found, strict=True)}
    for result, right in zip(made.results.values(), expected, strict=True):
        own = upstream[result] if result else torch.zeros_like(right)
        # Through a cast to fp32, PyTorch's gradient is fp32 too.
        rtol = 1e-6 if graph.name in ("stopped", "kept_wide") else 1e-10
        torch.testing.assert_close(own, right, rtol=rtol, atol=1e-12, equal_nan=True)


def test_positions_along_the_dimension_that_is_taken() -> None:
    graph = trace(permuted, SpecSource.of(permuted.fn)).variants[0].graph
    with pytest.raises(Unschedulable, match="gradient of a take along V"):
        gradient(graph, ("x",))
