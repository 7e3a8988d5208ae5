from tilegen import B, N, S, Tensor, Value, elementwise


@elementwise(oracle="torch.addcmul(x + shift.unsqueeze(-2), x, scale.unsqueeze(-2))")
def adaln_modulate(x: Tensor[B, S, N], scale: Tensor[B, N], shift: Tensor[B, N]) -> Value:
    """Modulate normalised tokens by the condition of their sample (DiT, arXiv:2212.09748)."""
    return x * (1.0 + scale) + shift
