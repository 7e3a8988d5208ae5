from tilegen import (
    M,
    N,
    Tensor,
    Value,
    abs,
    cast,
    f32,
    fp8e4m3,
    max,
    maximum,
    mean,
    rowwise,
    rsqrt,
)


@rowwise(
    grad=False,
    oracle=(
        "(((y := F.rms_norm(x, (x.shape[-1],), weight, eps))"
        " / (s := (y.abs().amax(-1).clamp_min(1e-12) / 448).float())[..., None])"
        ".to(torch.float8_e4m3fn), s)"
    ),
)
def rmsnorm_quant_fp8(x: Tensor[M, N], weight: Tensor[N], eps: float = 1e-6) -> tuple[Value, Value]:
    """RMSNorm, then e4m3 (Micikevicius et al., arXiv:2209.05433) with one scale a row.

    The normalised row is about q * scale.
    """
    y = x * rsqrt(mean(x * x) + eps) * weight
    # A row of zeros must not divide by 0; q is made with the scale as it is stored.
    scale = cast(maximum(max(abs(y)), 1e-12) / fp8e4m3.max, f32)
    q = cast(y / scale, fp8e4m3)
    return q, scale
