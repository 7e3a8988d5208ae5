from tilegen import M, N, Tensor, Value, mean, rowwise, rsqrt, variance


@rowwise(oracle="(F.layer_norm(x + residual, (x.shape[-1],), weight, bias, eps), x + residual)")
def add_layernorm(
    x: Tensor[M, N],
    residual: Tensor[M, N],
    weight: Tensor[N],
    bias: Tensor[N] | None = None,
    eps: float = 1e-5,
) -> tuple[Value, Value]:
    """Add the residual stream, then layer-normalise each row.

    y normalises the unrounded sum; h is that sum as it is stored, rounded.
    """
    h = x + residual
    rstd = rsqrt(variance(h) + eps)
    y = (h - mean(h)) * rstd * weight
    if bias is not None:
        y = y + bias
    return y, h
