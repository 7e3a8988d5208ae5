from tilegen import N, Tensor, Value, elementwise, gelu


@elementwise(oracle="F.gelu(x, approximate='tanh')")
def gelu_tanh(x: Tensor[N]) -> Value:
    """GELU in its tanh approximation (Hendrycks and Gimpel, arXiv:1606.08415)."""
    return gelu(x, approximate="tanh")
