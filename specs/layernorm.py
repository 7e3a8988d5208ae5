from tilegen import M, N, Tensor, Value, mean, rowwise, rsqrt, variance


@rowwise(oracle="F.layer_norm(x, (x.shape[-1],), weight, bias, eps)")
def layernorm(
    x: Tensor[M, N], weight: Tensor[N], bias: Tensor[N] | None = None, eps: float = 1e-5
) -> Value:
    """Normalise each row to mean 0 and variance 1 (Ba et al., arXiv:1607.06450)."""
    rstd = rsqrt(variance(x) + eps)
    y = (x - mean(x)) * rstd * weight
    if bias is not None:
        y = y + bias
    return y
