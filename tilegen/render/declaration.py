"""What a module declares of its ops, `Op(...)`, forward and backward."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from tilegen.analysis.sharding import shards
from tilegen.families.layout import positional
from tilegen.ir.graph import Graph, Node, Operand, Output
from tilegen.render.fields import operand_text, output_text, param_text, tuple_text
from tilegen.render.parts import RenderedPart, RenderedVariant
from tilegen.spec.trace import TracedSpec

#: The arguments of `Op(...)` in the order in which a module prints them.
FIELDS: Final = (
    "inputs", "params", "outputs", "saved", "fold", "static_sizes", "specialize", "inplace",
    "nonempty", "preserve_strides", "positional", "shards", "gradients", "partial",
)  # fmt: skip


@dataclass(frozen=True)
class Declaration:
    """One op of a module.

    Attributes:
        fields: the arguments of `Op(...)` and their texts, but for names and variants.
        variants: for each its key, what computes it, and the gradient of each input.
        results: names.
        signature: that of its references.
    """

    fields: Mapping[str, str]
    variants: tuple[tuple[tuple[Any, ...], RenderedPart, Mapping[str, str]], ...]
    results: tuple[str, ...]
    signature: str


def public(graph: Graph) -> tuple[Output, ...]:
    """The results that a caller sees."""
    return tuple(output for output in graph.outputs if output.public)


def forward(traced: TracedSpec, variants: Sequence[RenderedVariant]) -> Declaration:
    """The op itself."""
    results = public(variants[0].graph)
    saved = {o.name: output_text(o) for v in variants for o in v.graph.outputs if not o.public}
    fields = _shared(traced, variants[0].graph) | {
        "inputs": tuple_text([operand_text(operand) for operand in traced.operands]),
        "outputs": tuple_text([output_text(output) for output in results]),
        "saved": tuple_text([*saved.values()]),
        "inplace": repr(_inplace(variants)),
        "nonempty": repr(_nonempty(traced)),
        "preserve_strides": "True" * _preserves_strides(variants),
        "positional": "True" * _counts_fold(variants),
        "shards": repr(shards(variant.graph for variant in variants)),
        "gradients": _gradients(variants),
    }
    return Declaration(
        _said(fields), tuple((variant.key, variant, variant.gradients) for variant in variants),
        (*(output.name for output in results), *saved), _signature(traced, traced.operands),
    )  # fmt: skip


def backward(traced: TracedSpec, variants: Sequence[RenderedVariant]) -> Declaration | None:
    """Its gradient; None if there is none, or it is made of upstream gradients alone."""
    parts = [(variant.key, variant.backward) for variant in variants if variant.backward]
    if not parts:
        return None
    outputs = {o.name: output_text(o) for _, part in parts for o in part.graph.outputs}
    operands = _operands(traced, [part.graph for _, part in parts], len(variants))
    fields = _shared(traced, variants[0].graph) | {
        "inputs": tuple_text([operand_text(operand) for operand in operands]),
        "outputs": tuple_text([*outputs.values()]),
        "shards": repr(shards(part.graph for _, part in parts)),
        "partial": "True",
    }
    return Declaration(
        _said(fields), tuple((key, part, {}) for key, part in parts),
        tuple(outputs), _signature(traced, operands),
    )  # fmt: skip


def _said(fields: Mapping[str, str]) -> dict[str, str]:
    """The fields that differ from their defaults, in order."""
    said = {name: fields.get(name, "") for name in FIELDS}
    return {name: text for name, text in said.items() if text not in ("", "()", "{}", "''")}


def _shared(traced: TracedSpec, graph: Graph) -> dict[str, str]:
    """What forward and backward have in common."""
    sizes = {dim.name: dim.size for dim in graph.dims.values() if dim.size is not None}
    return {
        "params": tuple_text([param_text(param) for param in traced.params]),
        "fold": repr(graph.fold),
        "static_sizes": repr(sizes),
        "specialize": repr(traced.specialising),
    }


def _signature(traced: TracedSpec, operands: Iterable[Operand]) -> str:
    return ", ".join(
        [*(o.name for o in operands), *(p.name for p in traced.params), "*", "compute"]
    )


def _operands(traced: TracedSpec, graphs: Sequence[Graph], variants: int) -> tuple[Operand, ...]:
    """What the gradients of all variants take: optional unless each of them does."""
    found = {operand.name: operand for graph in reversed(graphs) for operand in graph.operands}
    taken = [operand.name for graph in graphs for operand in graph.operands]
    order = [*(operand.name for operand in traced.operands), *taken]
    return tuple(
        replace(o, optional=o.optional or taken.count(o.name) < variants)
        for o in sorted(found.values(), key=lambda o: order.index(o.name))
    )


def _gradients(variants: Sequence[RenderedVariant]) -> str:
    """How the op is differentiated; nothing if it is not."""
    made = [variant.saving for variant in variants if variant.saving is not None]
    if not made:
        return ""
    upstream = {k: name for saving in made for k, name in saving.gradient.upstream.items()}
    taken = {o.name for v in variants if v.backward for o in v.backward.graph.operands}
    alike = dict.fromkeys(name for saving in made for name in saving.alike if name in taken)
    said = [repr(upstream)]
    said += ["BACKWARD"] * any(variant.backward for variant in variants)
    said += [f"alike={tuple(alike)}"] * bool(alike)
    return f"Gradients({', '.join(said)})"


def _nonempty(traced: TracedSpec) -> tuple[str, ...]:
    """Dimensions that a reduction without an identity runs over, as the spec was written."""
    graphs = [variant.graph for variant in traced.variants]
    found = {
        dim
        for graph in graphs
        for node in graph.nodes
        if node.op == "reduce" and node.attrs["monoid"] in ("max", "min", "argmax", "argmin")
        for dim in node.attrs["over"]
    }
    return graphs[0].ordered(found)


def _preserves_strides(variants: Sequence[RenderedVariant]) -> bool:
    """Whether results may lie in memory as their operands do, transposed or not."""
    plain = all(len(g) == 1 for v in variants for o in public(v.graph) for g in o.stored)
    return plain and not any(positional(v.graph) or p.columns for v in variants for p in v.programs)


def _counts_fold(variants: Sequence[RenderedVariant]) -> bool:
    """Whether a value depends on positions along the dimension that leading ones fold into."""
    return any(
        positional(variant.graph, {variant.graph.fold})
        or any(n.op == "size" and n.attrs["dim"] == variant.graph.fold for n in variant.graph.nodes)
        for variant in variants
    )


def _inplace(variants: Sequence[RenderedVariant]) -> tuple[str, ...]:
    """Operands that each program reads only where it writes."""
    found: set[str] | None = None
    for variant in variants:
        if len(variant.programs) > 1:
            return ()  # a later stage reads what an earlier one may have overwritten
        (program,) = variant.programs
        full = set(program.rows) | set(program.columns)
        wide = {node.attrs["tensor"] for node in variant.graph.nodes if node.op == "load"}
        for node in variant.graph.nodes:
            if node.op == "load" and not _own_place(node, full):
                wide.discard(node.attrs["tensor"])
        found = wide if found is None else found & wide
    order = [operand.name for operand in variants[0].graph.operands]
    return tuple(name for name in order if name in (found or set()))


def _own_place(node: Node, full: set[str]) -> bool:
    dims: tuple[str, ...] = node.attrs["dims"]
    plain = all(
        (arg.op == "index" and arg.dims == (dim,)) or arg.op == "const"
        for dim, arg in zip(dims, node.args, strict=False)
    )
    return plain and set(node.dims) == full and not node.attrs.get("guarded")
