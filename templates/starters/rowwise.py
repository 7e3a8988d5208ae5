"""A rowwise op: reductions over a dimension, whose rows a program keeps to itself.

Change it, then run `tilegen build` on it again.
"""

# Dimensions are names. Equal names are equal sizes, and names do the broadcasting: a tensor that
# lacks a dimension is used again along it.
from tilegen import M, N, Tensor, Value, mean, rowwise, rsqrt


# The oracle is optional: an expression in PyTorch that `tilegen check` compares with, besides the
# spec itself run eagerly in fp64.
@rowwise(oracle="weight * F.rms_norm(x, (x.shape[-1],), None, eps)")
def starter(x: Tensor[M, N], weight: Tensor[N], eps: float = 1e-6) -> Value:
    """Say in one line what the op computes; the generated module repeats it."""
    # Locals keep their names in the kernel, and each line stands above the code it became.
    # A reduction is over the last dimension unless `over` names one or several: mean(x, M).
    rstd = rsqrt(mean(x * x) + eps)
    # Arithmetic is fp32; the result is stored in x's type. Leading dimensions of a call fold into
    # the first dimension, here M.
    return x * rstd * weight
