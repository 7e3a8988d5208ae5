from tilegen import M, N, Tensor, Value, mean, rowwise, rsqrt


@rowwise(oracle="(F.rms_norm(x + residual, (x.shape[-1],), weight, eps), x + residual)")
def add_rmsnorm(
    x: Tensor[M, N], residual: Tensor[M, N], weight: Tensor[N], eps: float = 1e-6
) -> tuple[Value, Value]:
    """Add the residual stream, then RMS-normalise each row.

    y normalises the unrounded sum; h is that sum as it is stored, rounded.
    """
    h = x + residual
    rstd = rsqrt(mean(h * h) + eps)
    y = h * rstd * weight
    return y, h
