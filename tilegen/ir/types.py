"""Data types: what is stored in memory, and what a kernel computes in.

A value inside a kernel is `real` (fp32, or fp64 where an input is fp64), `integer` or `bool_`;
the other rows are storage types, met in loads, stores and casts.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["float", "int", "bool"]


@dataclass(frozen=True, slots=True)
class DType:
    """One data type.

    Attributes:
        name: as specs and dumps write it.
        kind: float, int or bool.
        bits: size of one element; 0 if it is known only at the call.
        max: largest finite value (0 if that is known only at the call).
        torch: attribute of the torch module.
        triton: attribute of triton.language.
        like: the tensor parameter whose storage type this is; empty for a fixed type.
    """

    name: str
    kind: Kind
    bits: int
    max: float
    torch: str = ""
    triton: str = ""
    like: str = ""

    def __str__(self) -> str:
        return self.name


f64 = DType("f64", "float", 64, 1.7976931348623157e308, "float64", "float64")
f32 = DType("f32", "float", 32, 3.4028234663852886e38, "float32", "float32")
f16 = DType("f16", "float", 16, 65504.0, "float16", "float16")
bf16 = DType("bf16", "float", 16, 3.3895313892515355e38, "bfloat16", "bfloat16")
fp8e4m3 = DType("fp8e4m3", "float", 8, 448.0, "float8_e4m3fn", "float8e4nv")
fp8e5m2 = DType("fp8e5m2", "float", 8, 57344.0, "float8_e5m2", "float8e5")
i8 = DType("i8", "int", 8, 127.0, "int8", "int8")
u8 = DType("u8", "int", 8, 255.0, "uint8", "uint8")
i32 = DType("i32", "int", 32, 2147483647.0, "int32", "int32")
i64 = DType("i64", "int", 64, 9223372036854775807.0, "int64", "int64")
bool_ = DType("bool_", "bool", 8, 1.0, "bool", "int1")

#: What kernels compute in. `real` is the constant FLOAT of a kernel.
real = DType("real", "float", 0, 0.0)
integer = DType("integer", "int", 0, 0.0)

STORAGE: tuple[DType, ...] = (f64, f32, f16, bf16, fp8e4m3, fp8e5m2, i8, u8, i32, i64, bool_)


def like(tensor: str, kind: Kind) -> DType:
    """The storage type of a tensor parameter, known at the call."""
    return DType(f"{tensor}.dtype", kind, 0, 0.0, like=tensor)


def computed(dtype: DType) -> DType:
    """The type in which a kernel holds a value that memory stores as `dtype`."""
    return {"float": real, "int": integer, "bool": bool_}[dtype.kind]
