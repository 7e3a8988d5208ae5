from tilegen import M, N, Tensor, Value, mean, rowwise


@rowwise(oracle="F.mse_loss(x, target)")
def mse_loss(x: Tensor[M, N], target: Tensor[M, N]) -> Value:
    """Mean squared error over all elements, one scalar."""
    error = x - target
    return mean(error * error, (M, N))
