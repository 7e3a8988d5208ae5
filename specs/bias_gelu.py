from typing import Literal

from tilegen import M, N, Tensor, Value, elementwise, gelu


@elementwise(oracle="F.gelu(x + bias, approximate=approximate)")
def bias_gelu(
    x: Tensor[M, N], bias: Tensor[N], approximate: Literal["none", "tanh"] = "tanh"
) -> Value:
    """Add a linear layer's bias, then GELU (Hendrycks and Gimpel, arXiv:1606.08415)."""
    return gelu(x + bias, approximate=approximate)
