from tilegen import B, H, S, T, Tensor, Value, index, rowwise, size, softmax


@rowwise(
    # A row in which the causal mask leaves nothing is 0; _safe_softmax is PyTorch's name for that.
    oracle=(
        "(torch._safe_softmax if causal else torch.softmax)("
        "x * scale"
        " + (0 if mask is None else mask.unsqueeze(-3))"
        " + (x.new_full(x.shape[-2:], -torch.inf).triu(x.shape[-1] - x.shape[-2] + 1)"
        " if causal else 0)"
        ", -1)"
    ),
)
def scaled_masked_softmax(
    x: Tensor[B, H, S, T],
    mask: Tensor[B, S, T] | None = None,
    scale: float = 1.0,
    causal: bool = False,
) -> Value:
    """Softmax of scaled attention scores, under an additive mask that the heads share.

    The causal mask is aligned bottom-right: the last query sees every key.
    """
    score = x * scale
    if mask is not None:
        score = score + mask
    visible = index(T) <= index(S) + size(T) - size(S) if causal else None
    return softmax(score, where=visible)
