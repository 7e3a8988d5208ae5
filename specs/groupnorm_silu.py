from tilegen import B, C, Dim, Flat, G, Size, Tensor, Value, mean, rowwise, rsqrt, silu, variance


class HW(Dim, fold=True):
    """The positions of an image, in any number of dimensions."""


@rowwise(oracle="F.silu(F.group_norm(x, groups, weight, bias, eps))")
def groupnorm_silu(
    x: Tensor[B, Flat[G, C], HW],
    weight: Tensor[Flat[G, C]],
    bias: Tensor[Flat[G, C]],
    groups: Size[G] = 32,
    eps: float = 1e-5,
) -> Value:
    """Group norm (Wu and He, arXiv:1803.08494), then SiLU, as in a diffusion U-Net's blocks."""
    rstd = rsqrt(variance(x, (C, HW)) + eps)
    normed = (x - mean(x, (C, HW))) * rstd
    return silu(normed * weight + bias)
