from tilegen import N, Tensor, Value, elementwise


@elementwise(oracle="torch.add(x, y)")
def vector_add(x: Tensor[N], y: Tensor[N]) -> Value:
    """Add two tensors of one shape."""
    return x + y
