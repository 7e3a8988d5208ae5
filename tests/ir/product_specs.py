"""Specs with products: named dims, before and after, several, batched, over several dims."""

from tilegen import (
    B,
    D,
    Dim,
    E,
    Flat,
    G,
    H,
    Index,
    K,
    M,
    Mask,
    N,
    P,
    R,
    S,
    T,
    Tensor,
    Two,
    V,
    Value,
    bf16,
    cast,
    dot,
    exp,
    f16,
    f32,
    fp8e4m3,
    fp8e5m2,
    gelu,
    i8,
    index,
    logsumexp,
    matmul,
    max,
    mean,
    relu,
    rsqrt,
    silu,
    stack,
    sum,
    take,
    where,
)


class Few(Dim, size=16): ...


@matmul
def linear_gelu(x: Tensor[M, K], w: Tensor[N, K], bias: Tensor[N]) -> Value:
    return gelu(x @ w.T + bias, "tanh")


@matmul
def linear_residual(x: Tensor[M, K], w: Tensor[K, N], residual: Tensor[M, N]) -> Value:
    return x @ w + residual


@matmul
def swiglu_up(x: Tensor[M, K], w_gate: Tensor[N, K], w_up: Tensor[N, K]) -> Value:
    return silu(x @ w_gate.T) * (x @ w_up.T)


@matmul
def batched(q: Tensor[B, H, S, D], k: Tensor[B, H, T, D], scale: Tensor[H]) -> Value:
    return exp(q @ k.T * scale)


@matmul
def grouped(q: Tensor[B, Flat[G, R], S, D], k: Tensor[B, G, T, D], v: Tensor[B, G, T, E]) -> Value:
    return relu(q @ k.T) @ v


@matmul
def several_dims(x: Tensor[M, H, D], w: Tensor[N, H, D]) -> Value:
    return relu(dot(x, w, over=(H, D)))


@matmul
def of_computed(x: Tensor[M, K], y: Tensor[K, N], s: Tensor[K]) -> Value:
    return (x * s) @ exp(y)


@matmul
def norm_linear(x: Tensor[M, K], g: Tensor[K], w: Tensor[N, K], eps: float = 1e-6) -> Value:
    return (x * rsqrt(mean(x * x) + eps) * g) @ w.T


@matmul
def lora(
    x: Tensor[M, K], w: Tensor[N, K], a: Tensor[R, K], b: Tensor[N, R], s: float = 0.5
) -> Value:
    low = x @ a.T
    return x @ w.T + s * (low @ b.T)


@matmul
def vector(x: Tensor[M, K], w: Tensor[K]) -> Value:
    return x @ w * 2.0


@matmul
def vectors(x: Tensor[M], y: Tensor[N], w: Tensor[M, N]) -> Value:
    return x @ w @ y


@matmul
def triangular(x: Tensor[S, T], y: Tensor[T, N]) -> Value:
    return where(index(T) <= index(S), x, 0.0) @ y


@matmul
def scores_by_row(x: Tensor[M, K], w: Tensor[V, K], target: Index[M]) -> tuple[Value, Value]:
    logits = x @ w.T
    lse = logsumexp(logits)
    loss = lse - take(logits, target)
    return loss, lse


@matmul
def alike_upstream(x: Tensor[M, K], w: Tensor[N, K], b: Tensor[M]) -> Value:
    """The gradient of each product is the same along N, and of the last along M too."""
    return sum(x @ w.T) * b + sum(x @ w.T, (M, N))


@matmul
def batch_alike(q: Tensor[B, S, D], k: Tensor[B, T, D]) -> Value:
    return sum(q @ k.T, (B, S, T))


@matmul
def two_layers(x: Tensor[M, K], up: Tensor[N, K], down: Tensor[K, N]) -> Value:
    h = relu(x @ up.T)
    return x + h @ down.T


@matmul
def best_of_row(x: Tensor[M, K], w: Tensor[N, K]) -> Value:
    h = x @ w.T
    return max(h) * h


@matmul
def rotated(x: Tensor[M, K, Two], w: Tensor[N, K, Two], c: Tensor[M, K]) -> Value:
    first, second = take(x, 0, Two), take(x, 1, Two)
    return dot(stack(first * c, second - first, dim=Two), w, over=(K, Two))


@matmul
def looked_up(table: Tensor[P, K], at: Index[M], w: Tensor[N, K]) -> Value:
    return take(table, at, P) @ w.T


@matmul
def kept_wide(x: Tensor[M, K], w: Tensor[N, K]) -> Value:
    return cast(x * 0.1, f32) @ w.T


#: Each has a gradient by autograd, through its reference.
PRODUCTS = (
    linear_gelu, linear_residual, swiglu_up, batched, grouped, several_dims, of_computed,
    norm_linear, lora, vector, vectors, triangular, scores_by_row, alike_upstream, batch_alike,
    two_layers, best_of_row, rotated, looked_up, kept_wide,
)  # fmt: skip


@matmul(dtypes={"x": i8, "w": i8})
def integers(x: Index[M, K], w: Index[N, K]) -> Value:
    return x @ w.T


@matmul(dtypes={"x": i8, "w": i8})
def scaled_integers(
    x: Index[M, K], w: Index[N, K], x_scale: Tensor[M], w_scale: Tensor[N]
) -> Value:
    return x @ w.T * x_scale * w_scale


@matmul(dtypes={"packed": i8}, grad=False)
def nibbles(x: Tensor[M, Flat[K, Two]], packed: Index[N, K], scale: Tensor[N]) -> Value:
    nibble = ((packed >> (4 * index(Two))) & 15) - 8
    return dot(x, nibble * scale, over=(K, Two))


@matmul(dtypes={"x": bf16, "w": fp8e4m3})
def wider_of_two(x: Tensor[M, K], w: Tensor[N, K]) -> Value:
    return x @ w.T


@matmul(dtypes={"w": bf16})
def fixed_and_free(x: Tensor[M, K], w: Tensor[N, K]) -> Value:
    return x @ w.T


@matmul(dtypes={"x": fp8e4m3, "w": fp8e5m2})
def two_of_8_bits(x: Tensor[M, K], w: Tensor[N, K]) -> Value:
    return x @ w.T


@matmul(dtypes={"x": fp8e4m3, "w": fp8e4m3})
def of_8_bits(x: Tensor[M, K], w: Tensor[N, K]) -> Value:
    return x @ w.T


@matmul(dtypes={"x": bf16, "w": f16})
def two_of_16_bits(x: Tensor[M, K], w: Tensor[N, K]) -> Value:
    return x @ w.T


@matmul
def rounded_by_hand(x: Tensor[M, K], w: Tensor[N, K]) -> Value:
    return cast(exp(x), bf16) @ exp(w).T


@matmul(dtypes={"w": i8})
def widened_by_hand(x: Tensor[M, K], w: Index[N, K]) -> Value:
    return x @ cast(w, x.dtype).T


@matmul
def counted(shown: Mask[M, K], w: Tensor[N, K]) -> Value:
    return shown @ w.T


@matmul(dtypes={"x": i8, "w": i8})
def low_nibbles(x: Index[M, K], w: Index[N, K]) -> Value:
    return x @ ((w & 15) - 8).T


@matmul(dtypes={"x": i8, "w": i8})
def pairs_of_nibbles(x: Index[M, Two], w: Index[N]) -> Value:
    return dot(x, stack(w & 15, (w >> 4) & 15, dim=Two), over=Two)
