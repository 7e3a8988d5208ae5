from tilegen import Index, N, Tensor, Value, elementwise, uniform, where


@elementwise
def dropout_residual_add(
    x: Tensor[N], residual: Tensor[N], seed: Index[()], rate: float = 0.1
) -> Value:
    """Drop elements with probability rate, scale up the rest, add the residual.

    The mask is a function of the seed and the position alone, so that a backward can draw it again.
    """
    keep = uniform(seed, N) >= rate
    kept = where(keep, x / (1.0 - rate), 0.0)
    return residual + kept
