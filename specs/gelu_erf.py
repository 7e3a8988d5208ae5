from tilegen import N, Tensor, Value, elementwise, gelu


@elementwise(oracle="F.gelu(x)")
def gelu_erf(x: Tensor[N]) -> Value:
    """GELU by the error function (Hendrycks and Gimpel, arXiv:1606.08415)."""
    return gelu(x)
