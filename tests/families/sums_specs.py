"""Gradients as a user may write them: results with the shape of a row, and sums over rows."""

from tilegen import (
    B,
    D,
    Flat,
    H,
    M,
    N,
    S,
    Tensor,
    Value,
    argmax,
    cast,
    f16,
    index,
    max,
    mean,
    rowwise,
    rsqrt,
    sigmoid,
    sum,
    tanh,
    where,
)


@rowwise
def weighted(
    x: Tensor[M, N], weight: Tensor[N], grad: Tensor[M, N], eps: float = 1e-6
) -> tuple[Value, Value]:
    """Gradients of an RMS norm: whole rows, and one sum over them."""
    rstd = rsqrt(mean(x * x, N) + eps)
    unit = x * rstd
    grad_unit = grad * weight
    grad_x = (grad_unit - unit * mean(grad_unit * unit, N)) * rstd
    grad_weight = sum(grad * unit, M)
    return grad_x, grad_weight


@rowwise
def scaled_and_shifted(
    x: Tensor[B, S, N], scale: Tensor[B, N], weight: Tensor[N], grad: Tensor[B, S, N]
) -> tuple[Value, Value, Value, Value, Value]:
    """Sums that keep an outer dimension, one that does not, one number, and a row's statistic."""
    centre = mean(x, N)
    unit = (x - centre) * weight
    grad_scale = sum(grad * unit, S)
    grad_weight = sum(grad * (x - centre) * scale, (B, S))
    total = sum(grad * unit, (B, S, N))
    result = unit * grad * (1.0 + scale)
    return result, grad_scale, grad_weight, total, centre


@rowwise
def biased(x: Tensor[M, N], bias: Tensor[N], grad: Tensor[M, N]) -> tuple[Value, Value]:
    """No reduction along rows: blocks of columns."""
    inner = grad * sigmoid(x + bias)
    grad_bias = sum(inner, M)
    return inner, grad_bias


@rowwise
def squashed(
    x: Tensor[M, N], weight: Tensor[N], alpha: Tensor[()], grad: Tensor[M, N]
) -> tuple[Value, Value, Value, Value]:
    """A weight, a bias and one number for all."""
    t = tanh(alpha * x)
    inner = grad * weight * (1.0 - t * t)
    grad_x = alpha * inner
    grad_weight = sum(grad * t, M)
    grad_bias = sum(grad, M)
    grad_alpha = sum(inner * x, (M, N))
    return grad_x, grad_weight, grad_bias, grad_alpha


@rowwise
def folded(
    x: Tensor[M, Flat[H, D]], weight: Tensor[D], grad: Tensor[M, Flat[H, D]]
) -> tuple[Value, Value, Value]:
    """Rows of two dimensions, and a weight that heads share as well."""
    largest = max(x, D)
    result = (x - largest) * grad
    grad_weight = sum(result * weight, (M, H))
    return result, grad_weight, largest


@rowwise
def counted(x: Tensor[M, N]) -> tuple[Value, Value]:
    """An integer sum, and a mean that a function follows."""
    best = argmax(x, N)
    count = sum(where(index(N) == best, 1, 0), M)
    level = tanh(mean(x, M))
    return count, level


@rowwise
def columns_alone(x: Tensor[B, M, N]) -> Value:
    """Column sums of a stack of matrices, rounded."""
    return cast(sum(x, M), f16)


@rowwise
def across(x: Tensor[S, B, N], scale: Tensor[B, N], grad: Tensor[S, B, N]) -> tuple[Value, Value]:
    """The outer dimension lies between the rows and the columns."""
    grad_x = grad * scale
    grad_scale = sum(grad * x, S)
    return grad_x, grad_scale
