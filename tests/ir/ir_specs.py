"""Specs whose traced graphs are golden. Their lines are in the golden files."""

from tilegen import (
    B,
    D,
    Dim,
    Flat,
    Index,
    M,
    N,
    P,
    S,
    Size,
    Tensor,
    Two,
    Value,
    argmax,
    cast,
    elementwise,
    f32,
    i8,
    index,
    mean,
    round,
    rowwise,
    rsqrt,
    size,
    softmax,
    stack,
    take,
    uniform,
    unstack,
    variance,
    where,
)


class HW(Dim, fold=True): ...


class G(Dim): ...


class C(Dim): ...


@rowwise
def add_rmsnorm(
    x: Tensor[M, N], residual: Tensor[M, N], weight: Tensor[N] | None = None, eps: float = 1e-6
) -> tuple[Value, Value]:
    h = x + residual
    y = h * rsqrt(mean(h * h) + eps)
    if weight is not None:
        y = y * weight
    return y, h


@rowwise
def causal_softmax(x: Tensor[M, S, N]) -> Value:
    return softmax(x, where=index(N) <= index(S) + size(N) - size(S))


@rowwise
def groupnorm(
    x: Tensor[B, Flat[G, C], HW], groups: Size[G] = 32, eps: float = 1e-5
) -> Value:  # fmt: skip
    return (x - mean(x, (C, HW))) * rsqrt(variance(x, (C, HW)) + eps)


@elementwise
def rope(x: Tensor[B, S, Flat[D, Two]], cos: Tensor[P, D], position: Index[B, S]) -> Value:
    even, odd = unstack(x, Two)
    c = take(cos, position, P)
    return stack(even * c, odd * c, dim=Two)


@rowwise(grad=False)
def sample(x: Tensor[M, N], seed: Index[()], rate: float = 0.5) -> tuple[Value, Value]:
    kept = where(uniform(seed, M, N) >= rate, x, 0.0)
    best = argmax(kept)
    q = cast(round(cast(kept, f32) * 3), i8)
    return best, q
