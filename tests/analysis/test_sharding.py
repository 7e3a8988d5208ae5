"""Which dims may be split over processes, and which results are terms of a sum then."""

import pytest
from analysis_ops import op

from tilegen import (
    B,
    Flat,
    G,
    Index,
    M,
    N,
    Size,
    Tensor,
    V,
    Value,
    cast,
    elementwise,
    exp,
    i32,
    index,
    matmul,
    max,
    mean,
    rowwise,
    size,
    sum,
    take,
    uniform,
)  # fmt: skip
from tilegen.analysis.sharding import shards
from tilegen.spec.source import SpecSource
from tilegen.spec.trace import trace


@rowwise
def sums(x: Tensor[M, N], y: Tensor[M]) -> tuple[Value, Value]:
    total = sum(x) * y
    scaled = -sum(x * x) / 3.0
    return total, scaled


@rowwise
def square_of_a_sum(x: Tensor[M, N]) -> Value:
    return sum(x) * sum(x)


@rowwise
def sum_beside_a_whole(x: Tensor[M, N], y: Tensor[M]) -> Value:
    return sum(x) + y


@rowwise
def sum_along_its_dim(x: Tensor[M, N]) -> Value:
    return x - sum(x)


@rowwise
def rounded_sum(x: Tensor[M, N]) -> Value:
    return cast(sum(x), i32)


@rowwise
def largest_sum(x: Tensor[B, M, N]) -> Value:
    return max(sum(x), M)


@rowwise
def mean_of_a_sum(x: Tensor[B, M, N]) -> Value:
    return mean(sum(x), M)


@rowwise
def reduced(x: Tensor[M, N]) -> tuple[Value, Value]:
    largest = max(x)
    grown = exp(x)
    return largest, grown


@elementwise
def position(x: Tensor[M, N]) -> Value:
    return x * cast(index(N), i32)


@elementwise
def divided(x: Tensor[M, N]) -> Value:
    return x / size(N)


@elementwise
def gathered(table: Tensor[V, N], at: Index[M]) -> Value:
    return take(table, at, V)


@elementwise
def drawn(x: Tensor[B, M, N], seed: int) -> Value:
    return x * uniform(seed, M, N)


@elementwise
def grouped(x: Tensor[M, Flat[G, N]], scale: Tensor[G], groups: Size[G]) -> Value:
    return x * scale


@elementwise
def optional(x: Tensor[M, N], shift: Tensor[N] | None = None) -> Value:
    return x if shift is None else x + index(N) * shift


@matmul
def linear(x: Tensor[M, N], w: Tensor[V, N]) -> tuple[Value, Value]:
    y = x @ w.T
    z = y * 2.0
    return y, z


@matmul
def two_layers(x: Tensor[M, N], w: Tensor[V, N], down: Tensor[V, N]) -> Value:
    return exp(x @ w.T) @ down


CASES = (
    (sums, {"M": (), "N": ("total", "scaled")}),
    (square_of_a_sum, {"M": ()}),
    (sum_beside_a_whole, {"M": ()}),
    (sum_along_its_dim, {"M": ()}),
    (rounded_sum, {"M": ()}),
    (largest_sum, {"B": ()}),
    (mean_of_a_sum, {"B": (), "N": ("out",)}),
    (reduced, {"M": ()}),
    (position, {"M": ()}),
    (divided, {"M": ()}),
    (gathered, {"M": (), "N": ()}),
    (drawn, {"B": ()}),
    (grouped, {"M": ()}),
    (optional, {"M": ()}),
    (linear, {"M": (), "N": ("y", "z"), "V": ()}),
    (two_layers, {"M": (), "V": ("out",)}),
)


@pytest.mark.parametrize(("spec", "wanted"), CASES, ids=[spec.name for spec, _ in CASES])
def test_what_may_be_split(spec, wanted):
    traced = trace(spec, SpecSource.of(spec.fn))
    assert shards(variant.graph for variant in traced.variants) == wanted


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("rmsnorm", {"M": ("grad_weight",)}),
        ("layernorm", {"M": ("grad_weight", "grad_bias")}),
        ("bias_gelu", {"M": ("grad_bias",), "N": ()}),
        ("adaln_modulate", {"B": (), "S": ("grad_scale", "grad_shift"), "N": ()}),
        ("qk_norm_rope", dict.fromkeys("BSH", ("grad_weight",))),
        ("groupnorm", {"B": ("grad_weight", "grad_bias")}),
        ("kl_div", {"M": (), "N": ()}),
        ("cross_entropy", {"M": ()}),
    ],
)
def test_gradients_of_what_is_shared_are_terms(name, wanted):
    backward = [v.backward.graph for v in op(name).variants if v.backward]
    assert shards(backward) == wanted
