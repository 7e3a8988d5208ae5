from typing import Literal

from tilegen import N, Tensor, Value, elementwise, gelu


@elementwise(oracle="F.gelu(gate, approximate=approximate) * up")
def geglu(gate: Tensor[N], up: Tensor[N], approximate: Literal["none", "tanh"] = "tanh") -> Value:
    """GEGLU after its two products (Shazeer, arXiv:2002.05202).

    gate and up may be the halves of one tensor: strides are free.
    """
    return gelu(gate, approximate=approximate) * up
