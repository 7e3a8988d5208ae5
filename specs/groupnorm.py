from tilegen import B, C, Dim, Flat, G, Size, Tensor, Value, mean, rowwise, rsqrt, variance


class HW(Dim, fold=True):
    """The positions of an image, in any number of dimensions."""


@rowwise(oracle="F.group_norm(x, groups, weight, bias, eps)")
def groupnorm(
    x: Tensor[B, Flat[G, C], HW],
    weight: Tensor[Flat[G, C]],
    bias: Tensor[Flat[G, C]],
    groups: Size[G] = 32,
    eps: float = 1e-5,
) -> Value:
    """Normalise groups of channels over all positions (Wu and He, arXiv:1803.08494)."""
    rstd = rsqrt(variance(x, (C, HW)) + eps)
    normed = (x - mean(x, (C, HW))) * rstd
    return normed * weight + bias
