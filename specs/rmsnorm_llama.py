from tilegen import M, N, Tensor, Value, cast, mean, rowwise, rsqrt


@rowwise(oracle="F.rms_norm(x, (x.shape[-1],), weight, eps)")
def rmsnorm_llama(x: Tensor[M, N], weight: Tensor[N], eps: float = 1e-6) -> Value:
    """RMSNorm as in Llama's model code: the row rounds to x's dtype before the weight."""
    rstd = rsqrt(mean(x * x) + eps)
    normed = cast(x * rstd, x.dtype)
    return normed * weight
