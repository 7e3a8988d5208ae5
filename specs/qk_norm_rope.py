from tilegen import (
    B,
    D,
    Flat,
    H,
    Index,
    P,
    S,
    Tensor,
    Two,
    Value,
    mean,
    rowwise,
    rsqrt,
    stack,
    take,
    unstack,
)


@rowwise(
    grad=("x", "weight"),
    domain={"position": "in [0, P)"},
    # A pair times cos + i sin.
    oracle=(
        "torch.cat(((z := torch.complex("
        "*F.rms_norm(x, (x.shape[-1],), weight, eps).chunk(2, -1))"
        " * torch.complex(cos, sin)[position].unsqueeze(-2)).real, z.imag), -1)"
    ),
)
def qk_norm_rope(
    x: Tensor[B, S, H, Flat[Two, D]],
    weight: Tensor[Flat[Two, D]],
    cos: Tensor[P, D],
    sin: Tensor[P, D],
    position: Index[B, S],
    eps: float = 1e-6,
) -> Value:
    """RMS-normalise each head of the queries or the keys, then rotate its halves.

    As in Qwen3; the rotation is that of rope (Su et al., arXiv:2104.09864).
    """
    rstd = rsqrt(mean(x * x, (Two, D)) + eps)
    first, second = unstack(x * rstd * weight, Two)
    c = take(cos, position, P)
    s = take(sin, position, P)
    return stack(first * c - second * s, second * c + first * s, dim=Two)
