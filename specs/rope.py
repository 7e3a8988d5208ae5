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
        "torch.cat(((z := torch.complex(*x.chunk(2, -1))"
        " * torch.complex(cos, sin)[position].unsqueeze(-2)).real, z.imag), -1)"
    ),
)
def rope(
    x: Tensor[B, S, H, Flat[Two, D]], cos: Tensor[P, D], sin: Tensor[P, D], position: Index[B, S]
) -> Value:
    """Rotary embedding (Su et al., arXiv:2104.09864) that pairs the two halves of a head.

    This is the layout of Llama and GPT-NeoX; row p of cos and sin belongs to position p.
    """
    c = take(cos, position, P)
    s = take(sin, position, P)
    first, second = unstack(x, Two)
    return stack(first * c - second * s, second * c + first * s, dim=Two)
