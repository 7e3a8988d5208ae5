from tilegen import M, N, Tensor, Value, elementwise


@elementwise(oracle="torch.addcmul(residual, x, scale)")
def scale_residual_add(x: Tensor[M, N], residual: Tensor[M, N], scale: Tensor[N]) -> Value:
    """LayerScale: a branch, scaled per channel, onto the residual (Touvron, arXiv:2103.17239)."""
    return residual + scale * x
