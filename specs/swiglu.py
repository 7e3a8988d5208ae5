from tilegen import N, Tensor, Value, elementwise, silu


@elementwise(oracle="F.silu(gate) * up")
def swiglu(gate: Tensor[N], up: Tensor[N]) -> Value:
    """SwiGLU after its two products (Shazeer, arXiv:2002.05202).

    gate and up may be the halves of one tensor: strides are free.
    """
    return silu(gate) * up
