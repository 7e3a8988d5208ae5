"""Annotations of a spec's parameters and results.

For a type checker they are aliases of `Value` (so `x = x + bias` checks); at run time they are
generic classes that hold the dimensions.
"""

from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar, TypeVarTuple

Dims = TypeVarTuple("Dims")
Item = TypeVar("Item")

if TYPE_CHECKING:
    from typing_extensions import TypeAliasType

    from tilegen.spec.value import Value

    Tensor = TypeAliasType("Tensor", Value, type_params=(Dims,))
    Index = TypeAliasType("Index", Value, type_params=(Dims,))
    Mask = TypeAliasType("Mask", Value, type_params=(Dims,))
    Out = TypeAliasType("Out", Value, type_params=(Dims,))
    Size = TypeAliasType("Size", int, type_params=(Item,))
    Static = TypeAliasType("Static", Item, type_params=(Item,))
    Scalar = Value
else:

    class Tensor(Generic[*Dims]):
        """A tensor of floats with these stored dimensions, in this order."""

    class Index(Generic[*Dims]):
        """A tensor of integers."""

    class Mask(Generic[*Dims]):
        """A tensor of booleans."""

    class Out(Generic[*Dims]):
        """A result with these stored dimensions, in this order."""

    class Size(Generic[Item]):
        """An argument that gives the size of a dimension."""

    Static = Annotated[Item, "static"]
    Scalar: Any = Tensor[()]
