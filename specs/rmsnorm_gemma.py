from tilegen import M, N, Tensor, Value, mean, rowwise, rsqrt


@rowwise(oracle="F.rms_norm(x, (x.shape[-1],), 1.0 + weight, eps)")
def rmsnorm_gemma(x: Tensor[M, N], weight: Tensor[N], eps: float = 1e-6) -> Value:
    """RMSNorm as in Gemma's model code: weights are stored less 1, and only y rounds."""
    rstd = rsqrt(mean(x * x) + eps)
    return x * rstd * (1.0 + weight)
