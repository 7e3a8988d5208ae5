from tilegen import M, N, Tensor, Value, log, rowwise, sum, where


@rowwise(
    domain={"log_q": "log-probability", "p": "probability"},
    oracle="F.kl_div(log_q, p, reduction='none').sum(-1)",
)
def kl_div(log_q: Tensor[M, N], p: Tensor[M, N]) -> Value:
    """Kullback-Leibler divergence KL(p || q) of each row; q is given by its logarithms."""
    # 0 log 0 is 0, also where q is 0.
    term = where(p == 0.0, 0.0, p * (log(p) - log_q))
    return sum(term)
