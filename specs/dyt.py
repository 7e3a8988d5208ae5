from tilegen import M, N, Scalar, Tensor, Value, elementwise, tanh


@elementwise(oracle="torch.addcmul(bias, weight, torch.tanh(alpha * x))")
def dyt(x: Tensor[M, N], alpha: Scalar, weight: Tensor[N], bias: Tensor[N]) -> Value:
    """Dynamic tanh, which stands in for a norm; alpha is learned (Zhu et al., arXiv:2503.10622)."""
    return weight * tanh(alpha * x) + bias
