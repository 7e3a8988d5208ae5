from tilegen import N, Tensor, Value, elementwise, relu


@elementwise(oracle="F.relu(x).square()")
def relu_squared(x: Tensor[N]) -> Value:
    """Squared ReLU (So et al., Primer, arXiv:2109.08668)."""
    positive = relu(x)
    return positive * positive
