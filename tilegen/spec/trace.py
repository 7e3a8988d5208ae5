"""From a decorated function to graphs: bind symbolic values, run it, store its results.

A parameter that specialises (`bool`, `Literal`, `X | None`) is traced once for each of its
values; each combination is a `Variant` with a graph of its own.
"""

import inspect
import itertools
import types as python_types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tilegen import errors
from tilegen.ir import types
from tilegen.ir.graph import DimInfo, Graph, Node, Operand, Output, Param, Span, topological
from tilegen.spec.defaults import check_default
from tilegen.spec.dims import DimType, One, parts
from tilegen.spec.families import Spec
from tilegen.spec.source import SpecSource
from tilegen.spec.tensors import Index, Mask, Out, Size, Tensor
from tilegen.spec.value import RECORDER, Recorder, Value, constant

KINDS = {Tensor: types.real, Index: types.integer, Mask: types.bool_}
MOST_VARIANTS = 16


@dataclass(frozen=True)
class Variant:
    """One combination of specialising arguments, and its graph.

    `key` holds, in signature order, a bool for each optional parameter (given or not) and the
    value of each bool or literal.
    """

    key: tuple[Any, ...]
    graph: Graph


@dataclass(frozen=True)
class TracedSpec:
    """A spec as the pipeline takes it: its text and the graphs of its variants."""

    spec: Spec[..., Any]
    source: SpecSource
    operands: tuple[Operand, ...]
    params: tuple[Param, ...]
    order: tuple[str, ...]
    specialising: tuple[str, ...]
    variants: tuple[Variant, ...]

    @property
    def name(self) -> str:
        """The op's name."""
        return self.spec.name


def trace(spec: Spec[..., Any], source: SpecSource) -> TracedSpec:
    """Trace all variants of a spec.

    Raises:
        SpecError: the first mistake found.
    """
    signature = _Signature.read(spec, source)
    choices = [signature.choices(name) for name in signature.specialising]
    count = 1
    for choice in choices:
        count *= len(choice)
    if count > MOST_VARIANTS:
        raise errors.BadAnnotation(
            f"{count} combinations of specialising parameters", source.span,
            f"at most {MOST_VARIANTS} kernels a spec: make some of them run-time floats or ints",
        )  # fmt: skip
    variants = tuple(
        Variant(key, _trace_variant(signature, dict(zip(signature.specialising, key, strict=True))))
        for key in itertools.product(*choices)
    )
    return TracedSpec(
        spec,
        source,
        signature.operands,
        signature.params,
        signature.order,
        signature.specialising,
        variants,
    )


@dataclass(frozen=True)
class _Signature:
    """A spec's parameters, read from its annotations."""

    spec: Spec[..., Any]
    source: SpecSource
    operands: tuple[Operand, ...]
    params: tuple[Param, ...]
    dims: dict[str, DimType]
    order: tuple[str, ...]
    returns: Any

    @classmethod
    def read(cls, spec: Spec[..., Any], source: SpecSource) -> "_Signature":
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
            if parameter.kind not in (
                parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY,
            ):  # fmt: skip
                raise errors.BadAnnotation(f"parameter {parameter.name!r} is variadic", span)
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
            raise errors.MissingAnnotation("the result has no annotation", source.span)
        if not operands:
            raise errors.BadAnnotation("a spec needs at least one tensor", source.span)
        _check_options(spec, source, operands, params)
        order = tuple(inspect.signature(spec.fn).parameters)
        return cls(spec, source, tuple(operands), tuple(params), dims, order, hints["return"])

    @property
    def specialising(self) -> tuple[str, ...]:
        names = {o.name for o in self.operands if o.optional}
        names |= {p.name for p in self.params if p.optional or p.kind in ("bool", "literal")}
        return tuple(name for name in self.order if name in names)

    def choices(self, name: str) -> tuple[Any, ...]:
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


def _trace_variant(signature: _Signature, chosen: Mapping[str, Any]) -> Graph:
    values, operands, params = _arguments(signature, chosen)
    recorder = Recorder()
    token = RECORDER.set(recorder)
    try:
        with _foreign(signature):
            result = signature.spec.fn(**values)
        names = recorder.finish()
    finally:
        RECORDER.reset(token)
    outputs = _outputs(signature, result, operands, names)
    used = {node.attrs.get("tensor") for output in outputs for node in topological((output.value,))}
    folds = signature.fold()
    indexed = _positional(outputs)
    dims = {
        name: DimInfo(name, dim.size, fold=name == folds and name not in indexed)
        for name, dim in signature.dims.items()
    }
    graph = Graph(signature.spec.name, dims, operands, params, outputs)
    unused = [operand for operand in operands if operand.name not in used]
    if unused:
        raise errors.BadResult(
            f"parameter {unused[0].name!r} is not used", unused[0].span, "remove it from the spec"
        )
    return _ordered(graph, names)


def _arguments(
    signature: _Signature, chosen: Mapping[str, Any]
) -> tuple[dict[str, Any], tuple[Operand, ...], tuple[Param, ...]]:
    """What the function is called with, and the parameters that this variant has."""
    values: dict[str, Any] = {}
    operands, params = [], []
    for operand in signature.operands:
        if operand.optional and not chosen[operand.name]:
            values[operand.name] = None
            continue
        operands.append(operand)
        values[operand.name] = _load(operand, signature.dims)
    for param in signature.params:
        if param.optional and not chosen[param.name]:
            values[param.name] = None
        elif param.kind in ("bool", "literal") and not param.optional:
            values[param.name] = chosen[param.name]
        elif param.kind == "static":
            values[param.name] = param.default
        else:
            params.append(param)
            values[param.name] = _param(param, signature.dims)
    return values, tuple(operands), tuple(params)


def _load(operand: Operand, dims: Mapping[str, DimType]) -> Value:
    kind = operand.dtype if not operand.dtype.bits else types.computed(operand.dtype)
    names = operand.dims
    positions = tuple(
        Node("index", dims=(name,), dtype=types.integer) for name in names
    )  # fmt: skip
    node = Node("load", positions, names, dtype=kind, attrs={"tensor": operand.name, "dims": names})
    return Value(node, tuple(dims[name] for name in names))


def _param(param: Param, dims: Mapping[str, DimType]) -> Value:
    if param.kind == "size":
        fixed = dims[param.dim].size if param.dim in dims else None
        if fixed is not None:
            return constant(fixed)
        return Value(Node("size", dtype=types.integer, attrs={"dim": param.dim}), ())
    dtype = types.real if param.kind == "float" else types.integer
    return Value(Node("param", dtype=dtype, attrs={"param": param.name}), ())


# ---- reading annotations -----------------------------------------------------------------------


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
    for stored in _tensor_args(_unwrap(hint)[0]):
        yield from parts(stored)


def _tensor_args(hint: Any) -> tuple[Any, ...]:
    args = typing.get_args(hint)
    return () if args == ((),) else args


def _parameter(
    parameter: inspect.Parameter, hint: Any, spec: Spec[..., Any], span: Span | None
) -> Operand | Param:
    kind, optional = _unwrap(hint)
    origin = typing.get_origin(kind) or kind
    name = parameter.name
    if origin in KINDS:
        stored = tuple(_names(parts(item)) for item in _tensor_args(kind))
        flat = [dim for group in stored for dim in group]
        repeated = next((dim for dim in flat if flat.count(dim) > 1), None)
        if repeated:
            raise errors.RepeatedDimension(f"{name!r} has {repeated} twice", span)
        return Operand(name, stored, spec.dtypes.get(name, KINDS[origin]), optional, span)
    required = parameter.default is parameter.empty
    param = Param(name, "", None if required else parameter.default, required, optional)
    if origin is typing.Literal:
        return replace(param, kind="literal", choices=typing.get_args(kind))
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


def _names(dims: tuple[DimType, ...]) -> tuple[str, ...]:
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


# ---- storing results ---------------------------------------------------------------------------


def _outputs(
    signature: _Signature, result: Any, operands: tuple[Operand, ...], names: dict[Node, str]
) -> tuple[Output, ...]:
    source = signature.source
    results = result if isinstance(result, tuple) else (result,)
    hints = _result_hints(signature, len(results))
    if not results or any(item is None for item in results):
        raise errors.BadResult("the spec returns nothing", source.span, "return its results")
    outputs: list[Output] = []
    for item, hint in zip(results, hints, strict=True):
        value = _result(item, source)
        name = names.get(value.node, "") if len(results) > 1 else names.get(value.node) or "out"
        if not name or name in {operand.name for operand in operands}:
            name = "out" if len(results) == 1 else name
        if not name:
            raise errors.BadResult(
                "a result among several has no name", value.node.span or source.span,
                "assign it to a local first: outputs are named by the locals that are returned",
            )  # fmt: skip
        if name in {output.name for output in outputs}:
            raise errors.BadResult(f"two outputs are named {name!r}", source.returns)
        if name in signature.order:
            raise errors.BadResult(
                f"output {name!r} has the name of a parameter", source.returns,
                "give the result a local name of its own",
            )  # fmt: skip
        stored = _stored(signature, value, hint)
        outputs.append(Output(name, value.node, stored, _storage(value.node, stored, operands)))
    return tuple(outputs)


def _result(item: Any, source: SpecSource) -> Value:
    if isinstance(item, Value):
        return item
    raise errors.BadResult(
        f"the spec returns {type(item).__name__}",
        source.returns,
        "return values computed from tensors",
    )


def _result_hints(signature: _Signature, count: int) -> tuple[Any, ...]:
    hint = signature.returns
    hints = typing.get_args(hint) if typing.get_origin(hint) is tuple else (hint,)
    if len(hints) != count:
        raise errors.BadResult(
            f"{count} results, but the annotation says {len(hints)}", signature.source.returns
        )
    return hints


def _stored(signature: _Signature, value: Value, hint: Any) -> tuple[tuple[str, ...], ...]:
    """The dimensions of a result in memory: as annotated, else in the signature's order."""
    have = set(_names(value.dims))
    if typing.get_origin(hint) is Out:
        stored = tuple(_names(parts(item)) for item in _tensor_args(hint))
        said = {name for group in stored for name in group} - {One.__name__}
        if have != said:
            raise errors.MismatchedDimensions(
                f"the result has [{', '.join(sorted(have))}], Out[...] says [{', '.join(sorted(said))}]",
                signature.source.returns,
            )  # fmt: skip
        return stored
    unknown = have - set(signature.dims)
    if unknown:
        raise errors.UnknownDimension(
            f"the result has dimension {sorted(unknown)[0]}, which no tensor of the signature has",
            value.node.span,
        )
    groups: list[tuple[str, ...]] = []
    for operand in signature.operands:
        for group in operand.stored:
            if set(group) <= have:
                groups.append(group)
                have -= set(group)
    for name in signature.dims:
        if name in have:
            groups.append((name,))
    return _in_order(groups, signature)


def _in_order(groups: list[tuple[str, ...]], signature: _Signature) -> tuple[tuple[str, ...], ...]:
    order = list(signature.dims)
    return tuple(sorted(groups, key=lambda group: order.index(group[0])))


def _storage(
    node: Node, stored: tuple[tuple[str, ...], ...], operands: tuple[Operand, ...]
) -> types.DType:
    """The storage type of an output (language rules 5 and 6, ruling 7 of the design)."""
    if node.op == "cast":
        to: types.DType = node.attrs["to"]
        if to is not types.real and to is not types.integer:
            return to
    if node.dtype.kind == "bool":
        return types.bool_
    if node.op == "reduce" and node.attrs["monoid"] in ("argmax", "argmin"):
        return types.i64
    if node.dtype.kind == "int":
        source = next((o for o in operands if types.computed(o.dtype).kind == "int"), None)
        if source is None:
            return types.i64
        return source.dtype if source.dtype.bits else types.like(source.name, "int")
    if _lacks_reduced(node):
        return types.real
    source = next((o for o in operands if types.computed(o.dtype).kind == "float"), None)
    if source is None:
        return types.f32
    return source.dtype if source.dtype.bits else types.like(source.name, "float")


def _lacks_reduced(node: Node) -> bool:
    reduced = {
        dim for part in topological((node,)) if part.op == "reduce" for dim in part.attrs["over"]
    }
    return bool(reduced - set(node.dims))


def _positional(outputs: tuple[Output, ...]) -> set[str]:
    """Dimensions whose positions are used: leading dimensions may not fold into them."""
    found: set[str] = set()
    for node in topological(tuple(output.value for output in outputs)):
        if node.op == "uniform":
            continue
        if node.op != "load":
            found |= {arg.dims[0] for arg in node.args if arg.op == "index"}
    return found


def _ordered(graph: Graph, names: dict[Node, str]) -> Graph:
    """The graph with every node's dimensions in the graph's order, and with its names."""
    done: dict[Node, Node] = {}
    for node in graph.nodes:
        unknown = set(node.dims) - set(graph.dims)
        if unknown:
            raise errors.UnknownDimension(
                f"no tensor of the signature has dimension {sorted(unknown)[0]}", node.span
            )
        name = "" if node.op in ("const", "param", "size") else names.get(node, "")
        done[node] = replace(
            node,
            args=tuple(done[arg] for arg in node.args),
            dims=graph.ordered(node.dims),
            name=name,
        )
    outputs = tuple(replace(output, value=done[output.value]) for output in graph.outputs)
    return replace(graph, outputs=outputs)


# ---- mistakes made in foreign code -------------------------------------------------------------


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


class _foreign:
    """Turns what a spec's own code raises into spec errors with a place."""

    def __init__(self, signature: _Signature) -> None:
        self.source = signature.source

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: Any) -> None:
        if error is None or not isinstance(error, Exception):
            return
        if isinstance(error, errors.SpecError):
            error.span = error.span or self.source.deepest(trace)
            return
        span = self.source.deepest(trace)
        raise errors.UnsupportedFunction(f"{type(error).__name__}: {error}", span) from error
