"""Named dimensions. A dimension is a class: names do the broadcasting, never positions."""

from typing import Generic, TypeVarTuple, get_args, get_origin

Names = TypeVarTuple("Names")


class Dim:
    """A named dimension; subclass it for names of your own.

    `class Head(Dim, size=8)` fixes the size, `class HW(Dim, fold=True)` lets a call pass several
    dimensions in its place.
    """

    size: int | None = None
    fold: bool = False

    def __init_subclass__(cls, *, size: int | None = None, fold: bool = False) -> None:
        super().__init_subclass__()
        cls.size, cls.fold = size, fold


class Flat(Dim, Generic[*Names]):
    """`Flat[A, B]`: one stored dimension that is the row-major product of A and B."""


class One(Dim, size=1):
    """A stored dimension of size one, as `keepdim` leaves it."""


DimType = type[Dim]
Over = DimType | tuple[DimType, ...]


def parts(stored: object) -> tuple[DimType, ...]:
    """The named dimensions inside one stored dimension: those of a `Flat`, or the one itself."""
    if get_origin(stored) is Flat:
        return tuple(get_args(stored))
    if isinstance(stored, type) and issubclass(stored, Dim):
        return (stored,)
    raise TypeError(f"{stored!r} is not a dimension")


class Two(Dim, size=2):
    """A pair."""


class A(Dim): ...  # noqa: D101


class B(Dim): ...  # noqa: D101


class C(Dim): ...  # noqa: D101


class D(Dim): ...  # noqa: D101


class E(Dim): ...  # noqa: D101


class F(Dim): ...  # noqa: D101


class G(Dim): ...  # noqa: D101


class H(Dim): ...  # noqa: D101


class J(Dim): ...  # noqa: D101


class K(Dim): ...  # noqa: D101


class L(Dim): ...  # noqa: D101


class M(Dim): ...  # noqa: D101


class N(Dim): ...  # noqa: D101


class P(Dim): ...  # noqa: D101


class Q(Dim): ...  # noqa: D101


class R(Dim): ...  # noqa: D101


class S(Dim): ...  # noqa: D101


class T(Dim): ...  # noqa: D101


class U(Dim): ...  # noqa: D101


class V(Dim): ...  # noqa: D101


class W(Dim): ...  # noqa: D101


class X(Dim): ...  # noqa: D101


class Y(Dim): ...  # noqa: D101


class Z(Dim): ...  # noqa: D101
