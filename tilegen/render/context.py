"""What the module template reads, gathered from a traced spec and its programs."""

from collections.abc import Mapping, Sequence
from typing import Any

from tilegen import errors
from tilegen.ir import types
from tilegen.ir.graph import Graph, Operand, Output, Param
from tilegen.render.declaration import backward, forward, public
from tilegen.render.fields import tuple_text
from tilegen.render.parts import RenderedVariant
from tilegen.schedule.space import Space
from tilegen.spec.trace import TracedSpec


def module_context(
    traced: TracedSpec, variants: Sequence[RenderedVariant], spaces: Sequence[Space]
) -> dict[str, Any]:
    """Everything about the op itself; the writer adds versions and hashes."""
    _check_alike(traced, variants)
    results = public(variants[0].graph)
    doc = traced.source.quotable_doc or traced.name
    parts = [part for variant in variants for part in variant.parts]
    schedules = [one for part in parts for program in part.programs for one in program.schedules]
    kernels = [kernel for schedule in schedules for kernel in schedule.kernels]
    return {
        "name": traced.name,
        "doc": doc,
        "summary": doc.splitlines()[0],
        "variants": variants,
        "parts": parts,
        "kernels": list({kernel.name: kernel for kernel in kernels}.values()),
        "spaces": spaces,
        "forward": forward(traced, variants),
        "backward": backward(traced, variants),
        "operands": tuple_text([operand.name for operand in traced.operands]),
        "params": tuple_text([param.name for param in traced.params]),
        "public_signature": _public_signature(traced),
        "public_doc": _public_doc(traced, variants[0].graph),
        "result_type": "torch.Tensor" if len(results) == 1 else _tuple_type(results),
    }


def _check_alike(traced: TracedSpec, variants: Sequence[RenderedVariant]) -> None:
    """All variants of a spec must return the same outputs."""
    shapes = {
        tuple((o.name, o.stored, o.dtype.name) for o in public(variant.graph))
        for variant in variants
    }
    if len(shapes) > 1:
        raise errors.BadResult(
            "the results differ between values of a specialising parameter",
            traced.source.returns, "return the same names, dimensions and types in every branch",
        )  # fmt: skip


def _tuple_type(outputs: Sequence[Output]) -> str:
    return f"tuple[{', '.join('torch.Tensor' for _ in outputs)}]"


def _default(param: Param) -> str:
    return "" if param.required else f" = {param.default!r}"


def _has_default(operands: Mapping[str, Operand], params: Mapping[str, Param], name: str) -> bool:
    return operands[name].optional if name in operands else not params[name].required


def _public_signature(traced: TracedSpec) -> str:
    operands = {operand.name: operand for operand in traced.operands}
    params = {param.name: param for param in traced.params}
    parts = []
    required = [name for name in traced.order if not _has_default(operands, params, name)]
    last = traced.order.index(required[-1]) if required else -1
    for at, name in enumerate(traced.order):
        if name in operands:
            optional = " | None" if operands[name].optional else ""
            default = " = None" if optional and at > last else ""
            parts.append(f"{name}: torch.Tensor{optional}{default}")
        else:
            param = params[name]
            kinds = sorted({type(choice).__name__ for choice in param.choices})
            hint = {"size": "int", "static": "int", "literal": " | ".join(kinds)}.get(
                param.kind, param.kind
            )
            hint += " | None" if param.optional else ""
            parts.append(f"{name}: {hint}{_default(param)}")
    count = len(traced.variants[0].graph.outputs)
    out = "torch.Tensor" if count == 1 else _tuple_type(traced.variants[0].graph.outputs)
    parts += ["*", f"out: {out} | None = None", 'backend: str = "auto"', "autotune: bool = False"]
    return ", ".join(parts)


def _shape(stored: tuple[tuple[str, ...], ...]) -> str:
    return (
        "[" + ", ".join(" * ".join(group) if group != ("One",) else "1" for group in stored) + "]"
    )


def _public_doc(traced: TracedSpec, graph: Graph) -> str:
    kinds: Mapping[str, str] = {"float": "floats", "int": "integers", "bool": "booleans"}
    lines = [traced.source.quotable_doc or traced.name, "", "Args:"]
    for operand in traced.operands:
        what = operand.dtype.name if operand.dtype.bits else kinds[operand.dtype.kind]
        absent = ", or None" if operand.optional else ""
        lines.append(f"    {operand.name}: {_shape(operand.stored)}, {what}{absent}.")
    for param in traced.params:
        what = f"the size of {param.dim}" if param.kind == "size" else param.kind
        what = " or ".join(map(repr, param.choices)) if param.choices else what
        lines.append(f"    {param.name}: {what}{', or None' if param.optional else ''}.")
    names = ", ".join(output.name for output in public(graph))
    lines += [
        f"    out: where to write {names}.",
        '    backend: "triton", "torch" (the eager reference) or "auto".',
        "    autotune: time the configs of the schedule at hand, and remember the fastest.",
        "",
        "Returns:",
    ]  # fmt: skip
    for output in public(graph):
        lines.append(f"    {output.name}: {_shape(output.stored)}, {_dtype_text(output)}.")
    if graph.fold:
        lines.append(f"    {graph.fold} may stand for several dimensions.")
    return "\n".join(lines).replace("\n", "\n    ").replace("\n    \n", "\n\n") + "\n    "


def _dtype_text(output: Output) -> str:
    if output.dtype.like:
        return f"the type of {output.dtype.like}"
    return "fp32 (fp64 for fp64 inputs)" if output.dtype is types.real else output.dtype.name
