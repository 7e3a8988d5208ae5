"""An elementwise op: each element of a result depends on one place of each input.

Change it, then run `tilegen build` on it again.
"""

# Dimensions are names. Equal names are equal sizes, and names do the broadcasting: a tensor that
# lacks a dimension is used again along it.
from tilegen import M, N, Tensor, Value, elementwise, sigmoid


# The oracle is optional: an expression in PyTorch that `tilegen check` compares with, besides the
# spec itself run eagerly in fp64.
@elementwise(oracle="scale * x * torch.sigmoid(x + bias)")
def starter(x: Tensor[M, N], bias: Tensor[N], scale: float = 1.0) -> Value:
    """Say in one line what the op computes; the generated module repeats it."""
    # Locals keep their names in the kernel, and each line stands above the code it became.
    gate = sigmoid(x + bias)
    return scale * x * gate
