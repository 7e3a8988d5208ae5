"""From a decorated function to graphs: bind symbolic values, run it, store its results.

A parameter that specialises (`bool`, `Literal`, `X | None`) is traced once for each of its
values; each combination is a `Variant` with a graph of its own.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tilegen import errors
from tilegen.ir import types
from tilegen.ir.graph import DimInfo, Graph, Node, Operand, Param, topological
from tilegen.spec.dims import DimType
from tilegen.spec.families import Spec
from tilegen.spec.results import outputs_of, positional
from tilegen.spec.signature import Signature
from tilegen.spec.source import SpecSource
from tilegen.spec.value import RECORDER, Recorder, Value, constant

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
    signature = Signature.read(spec, source)
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


def _trace_variant(signature: Signature, chosen: Mapping[str, Any]) -> Graph:
    values, operands, params = _arguments(signature, chosen)
    recorder = Recorder(operands)
    token = RECORDER.set(recorder)
    try:
        with _foreign(signature):
            result = signature.spec.fn(**values)
        names = recorder.finish()
    finally:
        RECORDER.reset(token)
    outputs = outputs_of(signature, result, operands, names)
    used = {node.attrs.get("tensor") for output in outputs for node in topological((output.value,))}
    folds = signature.fold()
    indexed = positional(outputs)
    dims = {
        name: DimInfo(name, dim.size, fold=name == folds and name not in indexed)
        for name, dim in signature.dims.items()
    }
    for output in outputs:
        for node in topological((output.value,)):
            if node.op == "stack":
                name = node.attrs["dim"]
                dims.setdefault(name, DimInfo(name, len(node.args)))
    _check_sizes(dims, operands, params)
    graph = Graph(signature.spec.name, dims, operands, params, outputs)
    unused = [operand for operand in operands if operand.name not in used]
    if unused:
        raise errors.BadResult(
            f"parameter {unused[0].name!r} is not used", unused[0].span, "remove it from the spec"
        )
    return _ordered(graph, names)


def _check_sizes(
    dims: Mapping[str, DimInfo], operands: tuple[Operand, ...], params: tuple[Param, ...]
) -> None:
    """Every size follows from the arguments: a flat dimension tells one that is not known yet.

    Raises:
        UnknownDimension: two sizes of a flat dimension are unknown.
    """
    known = {name for name, dim in dims.items() if dim.size is not None}
    known |= {param.dim for param in params if param.kind == "size"}
    groups = [(group, operand) for operand in operands for group in operand.stored]
    known |= {group[0] for group, _ in groups if len(group) == 1}
    while True:
        missing = [(set(group) - known, operand) for group, operand in groups]
        solved = [names for names, _ in missing if len(names) == 1]
        if not solved:
            break
        known.update(*solved)
    for names, operand in missing:
        if names:
            either = sorted(names)
            raise errors.UnknownDimension(
                f"the sizes of {' and '.join(either)} do not follow from the arguments",
                operand.span, f"take one as an argument: {either[0].lower()}: Size[{either[0]}]",
            )  # fmt: skip


def _arguments(
    signature: Signature, chosen: Mapping[str, Any]
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


class _foreign:
    """Turns what a spec's own code raises into spec errors with a place."""

    def __init__(self, signature: Signature) -> None:
        self.source = signature.source

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: Any) -> None:
        if error is None or not isinstance(error, Exception):
            return
        if isinstance(error, errors.SpecError):
            error.span = error.span or self.source.deepest(trace)
            return
        span = self.source.deepest(trace)
        said = f"{type(error).__name__}: {error}"
        axes = any(f"'{word}'" in said for word in ("dim", "axis", "keepdim", "keepdims"))
        hint = "reductions take names of dimensions: mean(x) or mean(x, N)" if axes else ""
        raise errors.UnsupportedFunction(said, span, hint) from error
