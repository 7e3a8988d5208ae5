from tilegen import N, Tensor, Value, elementwise, sigmoid


@elementwise(oracle="F.silu(x)")
def silu(x: Tensor[N]) -> Value:
    """SiLU, also called swish: x gated by its own sigmoid (Elfwing et al., arXiv:1702.03118)."""
    return x * sigmoid(x)
