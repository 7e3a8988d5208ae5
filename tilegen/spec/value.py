"""The symbolic value that a spec computes with while it is traced."""

from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from types import FrameType
from typing import Any, NoReturn

from tilegen import errors
from tilegen.ir import types
from tilegen.ir.graph import Node, Operand
from tilegen.ir.ops import TABLE
from tilegen.ir.types import DType
from tilegen.spec.dims import DimType, Over
from tilegen.spec.places import here, span_of, user_frames
from tilegen.spec.products import factors

Number = float | int | bool


class Recorder:
    """What is known while a spec runs: its tensors, and the locals that held its values.

    A local is seen at the next op that its function runs, or, for the last ones, when the
    function has returned: a frame that is kept alive keeps its locals.
    """

    def __init__(self, tensors: Sequence[Operand] = ()) -> None:
        self.tensors = tuple(tensors)
        self.names: dict[Node, str] = {}
        self._frames: dict[FrameType, None] = {}

    def observe(self, frames: Iterable[FrameType]) -> None:
        """Look at the locals of these frames, innermost first: outer names win."""
        for frame in frames:
            self._frames[frame] = None
            for name, value in frame.f_locals.items():
                if isinstance(value, Value) and not name.startswith("_"):
                    self.names[value.node] = name

    def finish(self) -> dict[Node, str]:
        """All names, after the spec has returned."""
        self.observe(reversed(list(self._frames)))
        return self.names


RECORDER: ContextVar[Recorder | None] = ContextVar("recorder", default=None)


class Value:
    """A value with named dimensions: what every expression of a spec gives.

    `dims` is the order that `.T` and "the last dimension" speak of; the node holds the set.
    """

    def __init__(self, node: Node, dims: tuple[DimType, ...]) -> None:
        self.node = node
        self.dims = dims

    @property
    def dtype(self) -> DType:
        """The storage type of a tensor parameter (known at the call), else fp32."""
        if self.node.op == "load":
            operand: str = self.node.attrs["tensor"]
            return types.like(operand, self.node.dtype.kind)
        return self.node.attrs["to"] if self.node.op == "cast" else self.node.dtype

    @property
    def T(self) -> "Value":
        """The last two dimensions swapped; names decide what a product contracts."""
        if len(self.dims) < 2:
            raise errors.MismatchedDimensions(f".T of a value with {len(self.dims)} dimensions")
        return Value(self.node, (*self.dims[:-2], self.dims[-1], self.dims[-2]))

    def __add__(self, other: "Value | Number") -> "Value":
        return pointwise("add", self, other)

    def __radd__(self, other: Number) -> "Value":
        return pointwise("add", other, self)

    def __sub__(self, other: "Value | Number") -> "Value":
        return pointwise("sub", self, other)

    def __rsub__(self, other: Number) -> "Value":
        return pointwise("sub", other, self)

    def __mul__(self, other: "Value | Number") -> "Value":
        return pointwise("mul", self, other)

    def __rmul__(self, other: Number) -> "Value":
        return pointwise("mul", other, self)

    def __truediv__(self, other: "Value | Number") -> "Value":
        return pointwise("div", self, other)

    def __rtruediv__(self, other: Number) -> "Value":
        return pointwise("div", other, self)

    def __floordiv__(self, other: "Value | int") -> "Value":
        return pointwise("floordiv", self, other)

    def __rfloordiv__(self, other: int) -> "Value":
        return pointwise("floordiv", other, self)

    def __mod__(self, other: "Value | int") -> "Value":
        return pointwise("mod", self, other)

    def __rmod__(self, other: int) -> "Value":
        return pointwise("mod", other, self)

    def __pow__(self, other: "Value | Number") -> "Value":
        if isinstance(other, int) and 2 <= other <= 4:
            square = self * self
            return {2: square, 3: square * self, 4: square * square}[other]
        return pointwise("pow", self, other)

    def __rpow__(self, other: Number) -> "Value":
        return pointwise("pow", other, self)

    def __neg__(self) -> "Value":
        return pointwise("neg", self)

    def __rshift__(self, other: "Value | int") -> "Value":
        return pointwise("shr", self, other)

    def __rrshift__(self, other: int) -> "Value":
        return pointwise("shr", other, self)

    def __lshift__(self, other: "Value | int") -> "Value":
        return pointwise("shl", self, other)

    def __rlshift__(self, other: int) -> "Value":
        return pointwise("shl", other, self)

    def __and__(self, other: "Value | int | bool") -> "Value":
        return pointwise("and", self, other)

    def __rand__(self, other: int | bool) -> "Value":
        return pointwise("and", other, self)

    def __or__(self, other: "Value | int | bool") -> "Value":
        return pointwise("or", self, other)

    def __ror__(self, other: int | bool) -> "Value":
        return pointwise("or", other, self)

    def __xor__(self, other: "Value | int | bool") -> "Value":
        return pointwise("xor", self, other)

    def __rxor__(self, other: int | bool) -> "Value":
        return pointwise("xor", other, self)

    def __invert__(self) -> "Value":
        return pointwise("not", self)

    def __lt__(self, other: "Value | Number") -> "Value":
        return pointwise("lt", self, other)

    def __le__(self, other: "Value | Number") -> "Value":
        return pointwise("le", self, other)

    def __gt__(self, other: "Value | Number") -> "Value":
        return pointwise("gt", self, other)

    def __ge__(self, other: "Value | Number") -> "Value":
        return pointwise("ge", self, other)

    def __eq__(self, other: object) -> "Value":  # type: ignore[override]
        return pointwise("eq", self, other)

    def __ne__(self, other: object) -> "Value":  # type: ignore[override]
        return pointwise("ne", self, other)

    __hash__ = None  # type: ignore[assignment]

    def __matmul__(self, other: "Value") -> "Value":
        if not self.dims:
            raise errors.MismatchedDimensions(
                "@ of a value without dimensions", here(), "write s * x"
            )
        if isinstance(other, Value) and self.dims[-1] not in other.dims:
            raise errors.MismatchedDimensions(
                f"@ contracts {self.dims[-1].__name__}, which [{_listed(other)}] lacks", here(),
                _contractable(self, other),
            )  # fmt: skip
        return dot(self, other, self.dims[-1])

    def __bool__(self) -> bool:
        raise errors.SymbolicCondition("a Python condition on a symbolic value", here())

    def __iter__(self) -> NoReturn:
        raise errors.SymbolicCondition(
            "Python iterates over a symbolic value",
            here(),
            "the builtin sum, max and min do not work on values: import tilegen's; unstack(x, d) "
            "gives the parts of x along d",
        )

    def __float__(self) -> float:
        raise _conversion("float")

    def __int__(self) -> int:
        raise _conversion("int")

    def __index__(self) -> int:
        raise _conversion("int")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise errors.UnsupportedFunction(f"a symbolic value has no attribute {name!r}", here())

    def __getitem__(self, key: object) -> NoReturn:
        raise errors.UnsupportedFunction(
            "indexing a symbolic value with []", here(), "take(x, i, d) reads x at position i of d"
        )


def _conversion(target: str) -> errors.SymbolicCondition:
    return errors.SymbolicCondition(
        f"Python converts a symbolic value to {target}",
        here(),
        "functions of math and NumPy want numbers: use tilegen's; a parameter that steers "
        "Python's control flow is Static[int], bool or Literal",
    )


def build(
    op: str,
    args: Sequence[Node],
    dims: tuple[DimType, ...],
    dtype: DType,
    /,
    **attrs: Any,
) -> Value:
    """A new value, with the place of the user's call."""
    frames = user_frames()
    recorder = RECORDER.get()
    if recorder is not None:
        recorder.observe(frames)
    span = span_of(frames[0]) if frames else None
    names = tuple(dim.__name__ for dim in dims)
    return Value(Node(op, tuple(args), names, dtype=dtype, attrs=attrs, span=span), dims)


def constant(number: Number, dtype: DType | None = None) -> Value:
    """A number as a value."""
    if dtype is None:
        dtype = (
            types.bool_
            if isinstance(number, bool)
            else types.integer
            if isinstance(number, int)
            else types.real
        )
    return Value(Node("const", dtype=dtype, attrs={"value": number}), ())


def as_value(item: object) -> Value:
    """The value that a Python number or a value stands for.

    Raises:
        BadType: for anything else.
    """
    if isinstance(item, Value):
        return item
    if isinstance(item, bool | int | float):
        return constant(item)
    raise errors.BadType(f"{type(item).__name__} in an expression of values", here())


def union(values: Iterable[Value]) -> tuple[DimType, ...]:
    """The dimensions of a broadcast result: those of the widest value first."""
    order: dict[DimType, None] = {}
    for value in sorted(values, key=lambda value: -len(value.dims)):
        order.update(dict.fromkeys(value.dims))
    return tuple(order)


def common(values: Sequence[Value]) -> DType:
    """The type that these values have together: real over integer over bool."""
    kinds = {value.node.dtype.kind for value in values}
    return types.real if "float" in kinds else types.integer if "int" in kinds else types.bool_


def pointwise(op: str, *items: object) -> Value:
    """Apply a row of the op table, broadcasting by name.

    Raises:
        BadType: real values where the op wants integers or booleans.
    """
    row = TABLE[op]
    values = [as_value(item) for item in items]
    if op in ("and", "or", "xor", "not", "shl", "shr") and common(values).kind == "float":
        shift = "shift integers: cast(x, i32) makes one"
        raise errors.BadType(
            f"{op!r} of real values", here(),
            shift if op in ("shl", "shr") else "combine comparisons: (a < b) & (b < c)",
        )  # fmt: skip
    if op == "where":
        if values[0].node.dtype.kind != "bool":
            values[0] = pointwise("ne", values[0], 0)
        shared = common(values[1:])
        values[1:] = alike(values[1:])
    else:
        shared = common(values)
        if shared.kind not in row.takes:
            shared = types.integer if "int" in row.takes and shared.kind == "bool" else types.real
        values = [_match(value, shared) for value in values]
    dtype = {"real": types.real, "bool": types.bool_, "same": shared}[row.result]
    chosen = (*values[1:], values[0]) if op == "where" else values  # not as the condition lies
    return build(op, [value.node for value in values], union(chosen), dtype)


def dot(a: Value, b: Value, over: Over) -> Value:
    """The sum of the products of a and b over one or several dimensions that both have.

    Other dimensions that both have are batch dimensions. Operands are multiplied in the types in
    which they are stored; one that was computed is rounded to that of the other.

    Raises:
        BadType: a or b is a number, or types that do not go together.
        MismatchedDimensions: no dimension to contract, or one twice.
        UnknownDimension: a or b lacks one.
    """
    if not isinstance(a, Value) or not isinstance(b, Value):
        raise errors.BadType("a product of a tensor and a number", here(), "write x * 2.0")
    dims = over if isinstance(over, tuple) else (over,)
    if not dims or len(set(dims)) < len(dims):
        raise errors.MismatchedDimensions(
            f"dot over [{', '.join(dim.__name__ for dim in dims)}]", here(),
            "name the dimensions to contract, each once; a * b contracts none",
        )  # fmt: skip
    for dim in dims:
        for value in (a, b):
            if dim not in value.dims:
                raise errors.UnknownDimension(
                    f"dot over {dim.__name__}, which [{_listed(value)}] lacks", here(),
                    _contractable(a, b),
                )  # fmt: skip
    recorder = RECORDER.get()
    made = factors(a.node, b.node, recorder.tensors if recorder else ())
    order = dict.fromkeys((*a.dims, *b.dims))
    return build(
        "contract", made.nodes, tuple(dim for dim in order if dim not in dims),
        types.computed(made.accumulator), over=tuple(dim.__name__ for dim in dims),
        operand=made.operand, accumulator=made.accumulator,
    )  # fmt: skip


def _listed(value: Value) -> str:
    return ", ".join(dim.__name__ for dim in value.dims)


def _contractable(a: Value, b: Value) -> str:
    """A hint: what these two could contract."""
    shared = [dim.__name__ for dim in a.dims if dim in b.dims]
    if not shared:
        return "give the dimension that both sum over one name"
    return f"both have {' and '.join(shared)}: dot(a, b, {shared[-1]}) contracts {shared[-1]}"


def alike(values: Sequence[Value]) -> list[Value]:
    """These values in the type that they have together."""
    shared = common(values)
    return [_match(value, shared) for value in values]


def _match(value: Value, shared: DType) -> Value:
    """`value` in the type that its neighbours share."""
    order = ("bool", "int", "float")
    if order.index(value.node.dtype.kind) >= order.index(shared.kind):
        return value
    if value.node.op == "const":
        number = value.node.attrs["value"]
        return constant(float(number) if shared.kind == "float" else int(number), shared)
    return build("cast", [value.node], value.dims, shared, to=shared)
