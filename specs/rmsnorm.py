from tilegen import M, N, Tensor, Value, mean, rowwise, rsqrt


@rowwise(oracle="F.rms_norm(x, (x.shape[-1],), weight, eps)")
def rmsnorm(x: Tensor[M, N], weight: Tensor[N], eps: float = 1e-6) -> Value:
    """Divide each row by its root mean square (Zhang and Sennrich, arXiv:1910.07467)."""
    rstd = rsqrt(mean(x * x) + eps)
    return x * rstd * weight
