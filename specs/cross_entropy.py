from tilegen import Index, M, Tensor, V, Value, logsumexp, mean, rowwise, take, tanh, where


@rowwise(
    domain={"target": "in [0, V)"},
    oracle=(
        "(F.cross_entropy("
        "(z := logits if softcap is None else softcap * torch.tanh(logits / softcap))"
        ".flatten(0, -2), target.flatten().long(), ignore_index=ignore_index,"
        " label_smoothing=label_smoothing or 0.0, reduction='none').view_as(target)"
        " + torch.where(target == ignore_index, 0.0, z_loss * z.logsumexp(-1).square()),"
        " z.logsumexp(-1))"
    ),
)
def cross_entropy(
    logits: Tensor[M, V],
    target: Index[M],
    ignore_index: int = -100,
    label_smoothing: float | None = None,
    z_loss: float = 0.0,
    softcap: float | None = None,
) -> tuple[Value, Value]:
    """Cross entropy of each row with its label, plus z_loss * lse^2 (PaLM, arXiv:2204.02311).

    A row with the label ignore_index costs 0; softcap is Gemma 2's (arXiv:2408.00118).
    """
    if softcap is not None:
        logits = softcap * tanh(logits / softcap)
    lse = logsumexp(logits)
    label = take(logits, target)
    if label_smoothing is not None:
        # 0.0 times the mean of a row with a logit of -inf would be NaN.
        smooth = where(label_smoothing > 0.0, mean(logits), 0.0)
        label = (1.0 - label_smoothing) * label + label_smoothing * smooth
    # Chosen last, so that an ignored row costs 0 whatever it holds.
    loss = where(target == ignore_index, 0.0, lse - label + z_loss * lse * lse)
    return loss, lse
