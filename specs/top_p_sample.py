from tilegen import (
    Index,
    M,
    Tensor,
    V,
    Value,
    argmax,
    log,
    max,
    rowwise,
    softmax,
    sum,
    uniform,
    where,
)


@rowwise(grad=False, domain={"top_p": "> 0"})
def top_p_sample(
    logits: Tensor[M, V], seed: Index[()], top_p: Tensor[M], temperature: float = 1.0
) -> Value:
    """Sample among the likeliest tokens that reach top_p together (Holtzman, arXiv:1904.09751).

    They are those above a threshold found by bisection, and one is drawn by the Gumbel maximum.
    """
    z = logits / temperature
    p = softmax(z)
    # Each step halves the range of the threshold: after 24 it is exact to fp32.
    high = max(p)
    low = 0.0 * high
    for _ in range(24):
        middle = 0.5 * (low + high)
        enough = sum(where(p >= middle, p, 0.0)) >= top_p
        low, high = where(enough, middle, low), where(enough, high, middle)
    gumbel = -log(-log(uniform(seed, M, V)))
    return argmax(where(p >= low, z + gumbel, -float("inf")))
