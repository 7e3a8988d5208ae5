"""A spec's parameters and results, read from its annotations."""

import inspect
import types as python_types
import typing
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tilegen import errors
from tilegen.ir import types
from tilegen.ir.graph import Operand, Param, Span
from tilegen.spec.defaults import check_default
from tilegen.spec.dims import DimType, parts
from tilegen.spec.domains import FORMS, Domain
from tilegen.spec.families import Spec
from tilegen.spec.source import SpecSource
from tilegen.spec.tensors import Index, Mask, Size, Tensor

KINDS = {Tensor: types.real, Index: types.integer, Mask: types.bool_}


@dataclass(frozen=True)
class Signature:
    """A spec's parameters, read from its annotations."""

    spec: Spec[..., Any]
    source: SpecSource
    operands: tuple[Operand, ...]
    params: tuple[Param, ...]
    dims: dict[str, DimType]
    order: tuple[str, ...]
    returns: Any

    @classmethod
    def read(cls, spec: Spec[..., Any], source: SpecSource) -> "Signature":
        """Read the annotations of a spec's function.

        Raises:
            SpecError: the first annotation that is missing or means nothing.
        """
        hints = _hints(spec, source)
        operands: list[Operand] = []
        params: list[Param] = []
        dims: dict[str, DimType] = {}
        for parameter in inspect.signature(spec.fn).parameters.values():
            span = source.parameter(parameter.name)
            if parameter.name not in hints:
                raise errors.MissingAnnotation(
                    f"parameter {parameter.name!r} has no annotation", span
                )
            if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
                raise errors.BadAnnotation(
                    f"parameter {parameter.name!r} is {parameter.kind.description}", span,
                    "write plain parameters: the function of the module takes each by name too",
                )  # fmt: skip
            with _located(span):
                item = _parameter(parameter, hints[parameter.name], spec, span)
                check_default(parameter, item, span)
            if isinstance(item, Operand):
                operands.append(item)
                for dim in _stored_dims(hints[parameter.name]):
                    _declare(dims, dim, span)
            else:
                params.append(item)
        if "return" not in hints:
            raise errors.MissingAnnotation(
                "the result has no annotation", source.span,
                "annotate -> Value, or tuple[Value, Value] for two; Out[M, One] says how it lies",
            )  # fmt: skip
        if not operands:
            raise errors.BadAnnotation("a spec needs at least one tensor", source.span)
        _check_options(spec, source, operands, params)
        _check_domains(spec, source, dims)
        order = tuple(inspect.signature(spec.fn).parameters)
        return cls(spec, source, tuple(operands), tuple(params), dims, order, hints["return"])

    @property
    def specialising(self) -> tuple[str, ...]:
        """The parameters of whose values each gives a variant, in signature order."""
        names = {o.name for o in self.operands if o.optional}
        names |= {p.name for p in self.params if p.optional or p.kind in ("bool", "literal")}
        return tuple(name for name in self.order if name in names)

    def choices(self, name: str) -> tuple[Any, ...]:
        """The values of a specialising parameter."""
        param = next((p for p in self.params if p.name == name), None)
        if param is None or param.optional:
            return (False, True)
        return (False, True) if param.kind == "bool" else param.choices

    def fold(self) -> str | None:
        """The dimension that leading ones fold into: the declared one, else the first."""
        declared = [name for name, dim in self.dims.items() if dim.fold]
        if declared:
            return declared[0]
        first = next((o for o in self.operands if o.stored), None)
        return first.stored[0][0] if first and len(first.stored[0]) == 1 else None


def _hints(spec: Spec[..., Any], source: SpecSource) -> dict[str, Any]:
    try:
        return typing.get_type_hints(spec.fn, include_extras=True)
    except Exception as error:
        raise errors.BadAnnotation(f"{type(error).__name__}: {error}", source.span) from error


def _unwrap(hint: Any) -> tuple[Any, bool]:
    """The annotation without `| None`, and whether it had it."""
    if typing.get_origin(hint) in (typing.Union, python_types.UnionType):
        inner = [arg for arg in typing.get_args(hint) if arg is not type(None)]
        if len(inner) != 1:
            raise errors.BadAnnotation("a union of several types", hint="X or X | None")
        return inner[0], True
    return hint, False


def _stored_dims(hint: Any) -> Iterator[DimType]:
    for stored in tensor_args(_unwrap(hint)[0]):
        yield from parts(stored)


def tensor_args(hint: Any) -> tuple[Any, ...]:
    """The stored dimensions of an annotation such as `Tensor[M, N]`."""
    args = typing.get_args(hint)
    return () if args == ((),) else args


def _parameter(
    parameter: inspect.Parameter, hint: Any, spec: Spec[..., Any], span: Span | None
) -> Operand | Param:
    kind, optional = _unwrap(hint)
    origin = typing.get_origin(kind) or kind
    name = parameter.name
    if origin in KINDS:
        stored = tuple(names_of(parts(item)) for item in tensor_args(kind))
        flat = [dim for group in stored for dim in group]
        repeated = next((dim for dim in flat if flat.count(dim) > 1), None)
        if repeated:
            raise errors.RepeatedDimension(f"{name!r} has {repeated} twice", span)
        return Operand(name, stored, spec.dtypes.get(name, KINDS[origin]), optional, span)
    required = parameter.default is parameter.empty
    param = Param(name, "", None if required else parameter.default, required, optional)
    if origin is typing.Literal:
        choices = typing.get_args(kind)
        if not all(isinstance(choice, str | int) for choice in choices):
            raise errors.BadAnnotation(
                f"{name!r} is a Literal of {choices!r}", span, "it takes strings and integers"
            )
        return replace(param, kind="literal", choices=choices)
    if origin is typing.Annotated:
        if required:
            raise errors.BadAnnotation(f"{name!r} is static and has no default", span)
        return replace(param, kind="static")
    if origin is Size:
        return replace(param, kind="size", dim=typing.get_args(kind)[0].__name__)
    if origin is bool and optional:
        raise errors.BadAnnotation(
            f"{name!r} is bool | None", span, "Literal has as many values as you like"
        )
    if origin in (float, int, bool):
        return replace(param, kind=origin.__name__)
    raise errors.BadAnnotation(
        f"parameter {name!r} is annotated {hint!r}", span,
        "Tensor[...], Index[...], Mask[...], float, int, bool, Literal, Static[int] or Size[G]",
    )  # fmt: skip


def names_of(dims: tuple[DimType, ...]) -> tuple[str, ...]:
    """The names of dimensions."""
    return tuple(dim.__name__ for dim in dims)


def _declare(dims: dict[str, DimType], dim: DimType, span: Span | None) -> None:
    known = dims.setdefault(dim.__name__, dim)
    if known is not dim:
        raise errors.RepeatedDimension(f"two dimensions are named {dim.__name__}", span)


def _check_options(
    spec: Spec[..., Any], source: SpecSource, operands: list[Operand], params: list[Param]
) -> None:
    names = {operand.name for operand in operands} | {param.name for param in params}
    for option in ("grad", "domain", "dtypes"):
        for name in getattr(spec, option) or ():
            if name not in names:
                raise errors.BadOption(
                    f"{option}= names {name!r}, which is no parameter", source.span,
                    f"the parameters are {', '.join(sorted(names))}",
                )  # fmt: skip


def _check_domains(spec: Spec[..., Any], source: SpecSource, dims: dict[str, DimType]) -> None:
    for name, text in (spec.domain or {}).items():
        try:
            Domain.parse(text, dims)
        except ValueError as error:
            raise errors.BadOption(
                f"domain= gives {text!r} to {name!r}: {error}", source.span, f"write {FORMS}"
            ) from error


class _located:
    """Gives a place to spec errors that have none."""

    def __init__(self, span: Span | None) -> None:
        self.span = span

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, errors.SpecError) and error.span is None:
            error.span = self.span
        elif isinstance(error, TypeError):
            raise errors.BadAnnotation(str(error), self.span) from error
