"""The family decorators. A family is an assertion about the graph, not a dialect."""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from tilegen.errors import BadOption
from tilegen.ir.types import DType

Params = ParamSpec("Params")
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Spec(Generic[Params, Result]):
    """A decorated spec; calling it inside another spec inlines it.

    Attributes:
        fn: the user's function.
        family: elementwise, rowwise or matmul.
        oracle: a Python expression over the parameters, `torch` and `F`, that gives the right
            result independently of the spec.
        grad: the inputs that get gradients; None for every floating one, () for none.
        save: what the backward keeps, in place of the cost model's choice.
        domain: how a check draws inputs, by parameter.
        dtypes: storage types that a parameter is pinned to.
    """

    fn: Callable[Params, Result]
    family: str
    oracle: str | None = None
    grad: tuple[str, ...] | None = None
    save: tuple[str, ...] | None = None
    domain: dict[str, str] = field(default_factory=dict)
    dtypes: dict[str, DType] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The op's name."""
        return self.fn.__name__

    def __call__(self, *args: Params.args, **kwargs: Params.kwargs) -> Result:
        """The spec inlined into another one."""
        return self.fn(*args, **kwargs)


@overload
def elementwise(fn: Callable[Params, Result], /) -> Spec[Params, Result]: ...
@overload
def elementwise(
    *,
    oracle: str | None = None,
    grad: tuple[str, ...] | bool | None = None,
    save: tuple[str, ...] | None = None,
    domain: dict[str, str] | None = None,
    dtypes: dict[str, DType] | None = None,
) -> Callable[[Callable[Params, Result]], Spec[Params, Result]]: ...
def elementwise(fn: Any = None, /, **options: Any) -> Any:
    """An op without reductions: each element of a result depends on one place of each input."""
    return _decorate("elementwise", fn, options)


@overload
def rowwise(fn: Callable[Params, Result], /) -> Spec[Params, Result]: ...
@overload
def rowwise(
    *,
    oracle: str | None = None,
    grad: tuple[str, ...] | bool | None = None,
    save: tuple[str, ...] | None = None,
    domain: dict[str, str] | None = None,
    dtypes: dict[str, DType] | None = None,
) -> Callable[[Callable[Params, Result]], Spec[Params, Result]]: ...
def rowwise(fn: Any = None, /, **options: Any) -> Any:
    """An op with reductions over the same dimensions: a program keeps whole rows to itself."""
    return _decorate("rowwise", fn, options)


@overload
def matmul(fn: Callable[Params, Result], /) -> Spec[Params, Result]: ...
@overload
def matmul(
    *,
    oracle: str | None = None,
    grad: tuple[str, ...] | bool | None = None,
    save: tuple[str, ...] | None = None,
    domain: dict[str, str] | None = None,
    dtypes: dict[str, DType] | None = None,
) -> Callable[[Callable[Params, Result]], Spec[Params, Result]]: ...
def matmul(fn: Any = None, /, **options: Any) -> Any:
    """An op with products, `a @ b` or `dot`; what comes before and after them is fused."""
    return _decorate("matmul", fn, options)


def _decorate(family: str, fn: Any, options: dict[str, Any]) -> Any:
    given = {key: value for key, value in options.items() if value is not None}
    if given.get("grad") is False:
        given["grad"] = ()
    elif given.get("grad") is True:
        del given["grad"]

    def decorate(function: Any) -> Any:
        if not isinstance(function, FunctionType) or function.__name__ == "<lambda>":
            raise BadOption(f"@{family} on what is no function with a name", hint="use it on a def")
        return cast(Any, Spec)(function, family, **given)

    return decorate if fn is None else decorate(fn)
