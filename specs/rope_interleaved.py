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
    elementwise,
    stack,
    take,
    unstack,
)


@elementwise(
    grad=("x",),
    domain={"position": "in [0, P)"},
    # A pair times cos + i sin.
    oracle=(
        "torch.view_as_real(torch.complex(x[..., ::2], x[..., 1::2])"
        " * torch.complex(cos, sin)[position].unsqueeze(-2)).flatten(-2)"
    ),
)
def rope_interleaved(
    x: Tensor[B, S, H, Flat[D, Two]], cos: Tensor[P, D], sin: Tensor[P, D], position: Index[B, S]
) -> Value:
    """Rotary embedding that pairs neighbours, as in the paper (Su et al., arXiv:2104.09864).

    Row p of cos and sin belongs to position p.
    """
    c = take(cos, position, P)
    s = take(sin, position, P)
    even, odd = unstack(x, Two)
    return stack(even * c - odd * s, odd * c + even * s, dim=Two)
