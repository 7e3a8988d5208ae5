"""What a spec returns, as outputs: their names, their dimensions in memory, their types."""

import typing
from typing import Any

from tilegen import errors
from tilegen.ir import types
from tilegen.ir.graph import Node, Operand, Output, topological
from tilegen.spec.dims import One, parts
from tilegen.spec.signature import Signature, names_of, tensor_args
from tilegen.spec.source import SpecSource
from tilegen.spec.tensors import Out
from tilegen.spec.value import Value


def outputs_of(
    signature: Signature, result: Any, operands: tuple[Operand, ...], names: dict[Node, str]
) -> tuple[Output, ...]:
    """The outputs that a spec's return value stands for; `names` are those of its locals.

    Raises:
        SpecError: nothing is returned, or something that cannot be stored.
    """
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
        outputs.append(Output(name, value.node, stored, _storage(value.node, operands)))
    return tuple(outputs)


def _result(item: Any, source: SpecSource) -> Value:
    if isinstance(item, Value):
        return item
    raise errors.BadResult(
        f"the spec returns {type(item).__name__}",
        source.returns,
        "return values computed from tensors",
    )


def _result_hints(signature: Signature, count: int) -> tuple[Any, ...]:
    hint = signature.returns
    hints = typing.get_args(hint) if typing.get_origin(hint) is tuple else (hint,)
    if len(hints) != count:
        raise errors.BadResult(
            f"{count} results, but the annotation says {len(hints)}", signature.source.returns,
            f"annotate -> {_annotation(count)}",
        )  # fmt: skip
    return hints


def _annotation(count: int) -> str:
    return "Value" if count == 1 else f"tuple[{', '.join(['Value'] * count)}]"


def _stored(signature: Signature, value: Value, hint: Any) -> tuple[tuple[str, ...], ...]:
    """The dimensions of a result in memory: as annotated, else in the signature's order."""
    have = set(names_of(value.dims))
    if typing.get_origin(hint) is Out:
        stored = tuple(names_of(parts(item)) for item in tensor_args(hint))
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


def _in_order(groups: list[tuple[str, ...]], signature: Signature) -> tuple[tuple[str, ...], ...]:
    order = list(signature.dims)
    return tuple(sorted(groups, key=lambda group: order.index(group[0])))


def _storage(node: Node, operands: tuple[Operand, ...]) -> types.DType:
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
        if any(part.op == "contract" for part in topological((node,))):
            return types.i32
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
    """Whether a value has lost a dimension to a reduction, other than to a product."""
    reduced: dict[Node, frozenset[str]] = {}
    for part in topological((node,)):
        below = frozenset[str]().union(*(reduced[arg] for arg in part.args))
        over = frozenset(part.attrs.get("over", ()))
        reduced[part] = below - over if part.op == "contract" else below | over
    return bool(reduced[node] - set(node.dims))


def positional(outputs: tuple[Output, ...]) -> set[str]:
    """Dimensions whose positions are used or gathered at: leading dimensions may not fold there."""
    found: set[str] = set()
    for node in topological(tuple(output.value for output in outputs)):
        if node.op == "uniform":
            continue
        if node.op == "take":
            found.add(node.attrs["dim"])
        if node.op != "load":
            found |= {arg.dims[0] for arg in node.args if arg.op == "index"}
    return found
