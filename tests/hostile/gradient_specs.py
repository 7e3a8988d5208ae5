"""Specs whose gradients went wrong once: ill-conditioned, padded, saved, counted."""

from tilegen import (
    Index,
    K,
    M,
    Mask,
    N,
    Tensor,
    Value,
    abs,
    elementwise,
    exp,
    log,
    logsumexp,
    max,
    maximum,
    mean,
    minimum,
    rowwise,
    rsqrt,
    sigmoid,
    softmax,
    sqrt,
    sum,
    take,
    variance,
    where,
)


@rowwise
def largest_of_output(x: Tensor[M, N]) -> tuple[Value, Value]:
    """An output and its maximum."""
    y = exp(x)
    m = max(y)
    return y, m


@elementwise
def log_of_rest(x: Tensor[N]) -> tuple[Value, Value]:
    """Sigmoid and the log of the rest."""
    y = sigmoid(x)
    l = log(1 - y)
    return y, l


@rowwise
def entropy(x: Tensor[M, N]) -> tuple[Value, Value]:
    """Entropy."""
    p = softmax(x)
    h = -sum(p * log(p))
    return p, h


@rowwise
def entropy_alone(x: Tensor[M, N]) -> Value:
    """Entropy."""
    p = softmax(x)
    return -sum(p * log(p))


@rowwise
def signs(x: Tensor[M, N], eps: float = 0.0) -> Value:
    """Sum of signs."""
    return sum(x / (abs(x) + eps))


@elementwise
def ratio_of_ratio(x: Tensor[M, N], s: Tensor[M]) -> Value:
    """A case of a gradient."""
    return (x / s) / x


@rowwise
def nested(x: Tensor[M, N], w: Tensor[N]) -> Value:
    """A case of a gradient."""
    return x * rsqrt(variance(softmax(x / (1.5 + sigmoid(w)) + x, N) + x, N) + 0.1)


@rowwise
def softmax_and_lse(x: Tensor[M, N]) -> tuple[Value, Value]:
    """A case of a gradient."""
    y = softmax(x)
    l = logsumexp(x)
    return y, l


@rowwise
def distilled(x: Tensor[M, N], t: Tensor[M, N]) -> Value:
    """A case of a gradient."""
    p = softmax(x)
    return sum(p * t) + sum(t * (x - logsumexp(x)))


@rowwise
def gathered(x: Tensor[M, N], i: Index[K]) -> Value:
    """A case of a gradient."""
    return sum(take(x, i, N), K)


@rowwise
def tangle(x: Tensor[M, N], y: Tensor[M, N], w: Tensor[N], r: Tensor[M]) -> tuple[Value, Value]:
    """A case of a gradient."""
    a = (
        sqrt(0.5 + abs(maximum((w + r), (r * w)) + sqrt(0.5 + abs((w + r) + (x / (1.5 + abs(r)))))))
        + w * r * y
        + x
    )
    b = (
        minimum((a * sum(y + x, N)), (a - mean(x * x, N)) * rsqrt(variance(w + x, N) + 0.1))
        + sum(x * x) * y
    )
    return a, b


@elementwise
def powered(x: Tensor[N], n: float = 3.0) -> Value:
    """A case of a gradient."""
    return x**n


@rowwise
def counted(x: Tensor[M, N], p: Mask[N]) -> Value:
    """A case of a gradient."""
    n = sum(where(p, 1.0, 0.0))
    return sum(where(p, x * x, 0.0)) / n


@elementwise
def crossed(x: Tensor[M, N], w: Tensor[N, M]) -> Value:
    """A case of a gradient."""
    return x * w
