import tilegen
from tilegen import M, N, Tensor, Value, rowwise


@rowwise(oracle="torch.logsumexp(x, -1)")
def logsumexp(x: Tensor[M, N]) -> Value:
    """Natural logarithm of the sum of the exponentials of each row."""
    return tilegen.logsumexp(x)
