from tilegen import M, N, Tensor, Value, abs, cast, f32, i8, max, maximum, round, rowwise


@rowwise(
    grad=False,
    oracle=(
        "(torch.round(x / (s := (x.abs().amax(-1).clamp_min(1e-12) / 127).float())[..., None])"
        ".to(torch.int8), s)"
    ),
)
def row_quant_int8(x: Tensor[M, N]) -> tuple[Value, Value]:
    """Symmetric int8 with one scale a row (Dettmers et al., arXiv:2208.07339).

    x is about q * scale.
    """
    # A row of zeros must not divide by 0; q is made with the scale as it is stored.
    scale = cast(maximum(max(abs(x)), 1e-12) / i8.max, f32)
    q = cast(round(x / scale), i8)
    return q, scale
