"""What the module template reads, gathered from a traced spec and its programs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tilegen import errors
from tilegen.analysis.sharding import shards
from tilegen.families.layout import positional
from tilegen.families.program import Program
from tilegen.ir import types
from tilegen.ir.graph import Graph, Node, Operand, Output, Param
from tilegen.ir.saving import Saving
from tilegen.render.eager import Reference
from tilegen.schedule.space import Space
from tilegen.spec.trace import TracedSpec


@dataclass(frozen=True)
class RenderedPart:
    """The forward or the backward of one variant, as the templates see it.

    Attributes:
        graph: what it computes, after the passes.
        suffix: tells it from the other parts and variants in names.
        programs: its kernels, stage by stage.
        internal: what a stage leaves in memory for a later one.
        reference: it in eager PyTorch.
    """

    graph: Graph
    suffix: str
    programs: tuple[Program, ...]
    internal: tuple[Output, ...]
    reference: Reference

    @property
    def handed(self) -> tuple[str, ...]:
        """What stages read of earlier ones: internal results, or outputs."""
        given = {operand.name for operand in self.graph.operands}
        read = [o.name for program in self.programs for o in program.graph.operands]
        return tuple(dict.fromkeys(name for name in read if name not in given))

    @property
    def internals(self) -> list[str]:
        """`internal` as the module declares it."""
        return [_output(output, self._served(output.name)) for output in self.internal]

    def returned(self, names: Sequence[str]) -> str:
        """What its reference returns: these results, None for those that other variants have."""
        own = {
            o.name: text for o, text in zip(self.graph.outputs, self.reference.results, strict=True)
        }
        return ", ".join(own.get(name, "None") for name in names)

    def _served(self, name: str) -> tuple[str, ...]:
        """The results that are made of what a stage hands on, where a call may do without some."""
        if not any(output.optional for output in self.graph.outputs):
            return ()
        found: dict[str, None] = {}
        for program in self.programs:
            if name in {operand.name for operand in program.graph.operands}:
                for output in program.graph.outputs:
                    later = (
                        (output.name,)
                        if output.name in self._results
                        else self._served(output.name)
                    )
                    found |= dict.fromkeys(later)
        return tuple(found)

    @property
    def _results(self) -> set[str]:
        return {output.name for output in self.graph.outputs}

    def optional(self, program: Program) -> tuple[str, ...]:
        """The results of a stage if a call may do without all of them; else nothing."""
        names = tuple(output.name for output in program.graph.outputs)
        always = {o.name for o in self.graph.outputs if not o.optional}
        some = any(output.optional for output in self.graph.outputs)
        return names if some and not always & set(names) and not self._serves(names, always) else ()

    def _serves(self, names: Sequence[str], always: set[str]) -> bool:
        """Whether a result that every call wants is made of one of these."""
        return any(not always.isdisjoint(self._served(name)) for name in names)


@dataclass(frozen=True)
class RenderedVariant(RenderedPart):
    """The forward of one variant, and what belongs to it.

    Attributes:
        key: the specialising arguments that lead to it.
        backward: its gradient; None if there is none, or it is made of upstream gradients alone.
        saving: what the forward saves for it; None if there is no gradient.
    """

    key: tuple[Any, ...]
    backward: RenderedPart | None = None
    saving: Saving | None = None

    @property
    def parts(self) -> tuple[RenderedPart, ...]:
        """Forward and backward."""
        return (self, self.backward) if self.backward else (self,)

    @property
    def gradients(self) -> dict[str, str]:
        """For each input that has a gradient, the name of it."""
        if self.saving is None:
            return {}
        return {name: of for name, of in self.saving.gradient.results.items() if of}


def variant_suffix(
    specialising: Sequence[str], key: tuple[Any, ...], params: Sequence[Param]
) -> str:
    """A name for one combination of specialising arguments."""
    literal = {p.name: p.choices for p in params if p.kind == "literal" and not p.optional}
    parts = []
    for name, value in zip(specialising, key, strict=True):
        if name in literal:
            words = [re.sub(r"\W", "_", str(choice)) for choice in literal[name]]
            place = literal[name].index(value)
            alone = words.count(words[place]) == 1
            parts.append(words[place] if alone else f"{words[place]}_{place}")
        elif value:
            parts.append(name)
    return "".join(f"_{part}" for part in parts)


def module_context(
    traced: TracedSpec, variants: Sequence[RenderedVariant], spaces: Sequence[Space]
) -> dict[str, Any]:
    """Everything about the op itself; the writer adds versions and hashes."""
    first = variants[0].graph
    public = _public(first)
    _check_alike(traced, variants)
    return {
        "name": traced.name,
        "doc": traced.source.quotable_doc or traced.name,
        "summary": (traced.source.quotable_doc or traced.name).splitlines()[0],
        "variants": variants,
        "parts": [part for variant in variants for part in variant.parts],
        "spaces": spaces,
        "operands": [_operand(operand) for operand in traced.operands],
        "params": [_param(param) for param in traced.params],
        "outputs": [_output(output) for output in _public(first)],
        "saved": list(_saved(variants).values()),
        "result_names": [*(output.name for output in public), *_saved(variants)],
        "backward": _backward(traced, variants),
        "fold": next((dim.name for dim in first.dims.values() if dim.fold), None),
        "static_sizes": {d.name: d.size for d in first.dims.values() if d.size is not None},
        "specialize": traced.specialising,
        "inplace": _inplace(variants),
        "preserve_strides": _preserves_strides(variants),
        "nonempty": _nonempty(traced),
        "shards": shards(variant.graph for variant in variants),
        "operand_names": [operand.name for operand in traced.operands],
        "param_names": [param.name for param in traced.params],
        "reference_signature": ", ".join(
            [*(o.name for o in traced.operands), *(p.name for p in traced.params), "*", "compute"]
        ),
        "public_signature": _public_signature(traced),
        "public_doc": _public_doc(traced, first),
        "result_type": "torch.Tensor" if len(public) == 1 else _tuple_type(public),
    }


def _public(graph: Graph) -> tuple[Output, ...]:
    """The results that a caller sees."""
    return tuple(output for output in graph.outputs if output.public)


def _saved(variants: Sequence[RenderedVariant]) -> dict[str, str]:
    """The statistics that some variant saves, as the module declares them."""
    return {o.name: _output(o) for v in variants for o in v.graph.outputs if not o.public}


def _backward(traced: TracedSpec, variants: Sequence[RenderedVariant]) -> dict[str, Any] | None:
    """What the module says about the gradient; None if there is none."""
    made = [(v, v.saving) for v in variants if v.saving is not None]
    if not made:
        return None
    upstream = {k: name for _, saving in made for k, name in saving.gradient.upstream.items()}
    alike = dict.fromkeys(name for _, saving in made for name in saving.alike)
    parts = [(variant, variant.backward) for variant in variants if variant.backward]
    counts: dict[str, int] = {}
    operands: dict[str, Operand] = {}
    outputs: dict[str, str] = {}
    for _, part in parts:
        for operand in part.graph.operands:
            counts[operand.name] = counts.get(operand.name, 0) + 1
            operands.setdefault(operand.name, operand)
        outputs |= {output.name: _output(output) for output in part.graph.outputs}
    order = [*(o.name for o in traced.operands), *operands]
    ordered = sorted(operands.values(), key=lambda o: order.index(o.name))
    declared = [
        _operand(replace(o, optional=o.optional or counts[o.name] < len(variants))) for o in ordered
    ]
    return {
        "upstream": upstream,
        "alike": tuple(name for name in alike if name in operands),
        "operands": declared,
        "outputs": list(outputs.values()),
        "result_names": list(outputs),
        "variants": parts,
        "shards": shards(part.graph for _, part in parts),
        "signature": ", ".join(
            [*(o.name for o in ordered), *(p.name for p in traced.params), "*", "compute"]
        ),
    }


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
    plain = all(len(g) == 1 for v in variants for o in _public(v.graph) for g in o.stored)
    return plain and not any(positional(v.graph) or p.columns for v in variants for p in v.programs)


def _check_alike(traced: TracedSpec, variants: Sequence[RenderedVariant]) -> None:
    """All variants of a spec must return the same outputs."""
    shapes = {
        tuple((o.name, o.stored, o.dtype.name) for o in _public(variant.graph))
        for variant in variants
    }
    if len(shapes) > 1:
        raise errors.BadResult(
            "the results differ between values of a specialising parameter",
            traced.source.returns, "return the same names, dimensions and types in every branch",
        )  # fmt: skip


def _tuple_type(outputs: Sequence[Output]) -> str:
    return f"tuple[{', '.join('torch.Tensor' for _ in outputs)}]"


def _stored(stored: tuple[tuple[str, ...], ...]) -> str:
    names = [repr(group[0]) if len(group) == 1 else repr(group) for group in stored]
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"


def _operand(operand: Operand) -> str:
    parts = [repr(operand.name), _stored(operand.stored)]
    if operand.dtype.bits and operand.dtype is not types.bool_:
        parts.append(f'kind="{operand.dtype.kind}", dtypes=(torch.{operand.dtype.torch},)')
    elif operand.dtype.kind != "float":
        parts.append(f'kind="{operand.dtype.kind}"')
    if operand.optional:
        parts.append("optional=True")
    return f"Operand({', '.join(parts)})"


def _param(param: Param) -> str:
    parts = [repr(param.name), repr(param.kind)]
    if not param.required:
        parts.append(repr(param.default))
    if param.dim:
        parts.append(f"dim={param.dim!r}")
    if param.choices:
        parts.append(f"choices={param.choices!r}")
    if param.optional:
        parts.append("optional=True")
    return f"Param({', '.join(parts)})"


def _output(output: Output, serves: tuple[str, ...] = ()) -> str:
    dtype = output.dtype
    if dtype.like:
        said = f"like={dtype.like!r}"
    elif dtype is types.real:
        said = 'dtype="float"'
    else:
        said = f"dtype=torch.{dtype.torch}"
    said += f", serves={serves}" if serves else ""
    return f"Output({output.name!r}, {_stored(output.stored)}, {said})"


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


def _default(param: Param) -> str:
    return "" if param.required else f" = {param.default!r}"


def _public_signature(traced: TracedSpec) -> str:
    operands = {operand.name: operand for operand in traced.operands}
    params = {param.name: param for param in traced.params}
    parts = []
    for name in traced.order:
        if name in operands:
            optional = operands[name].optional
            parts.append(f"{name}: torch.Tensor" + (" | None = None" if optional else ""))
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
    names = ", ".join(output.name for output in _public(graph))
    lines += [
        f"    out: where to write {names}.",
        '    backend: "triton", "torch" (the eager reference) or "auto".',
        "    autotune: time the configs of the schedule at hand, and remember the fastest.",
        "",
        "Returns:",
    ]  # fmt: skip
    for output in _public(graph):
        lines.append(f"    {output.name}: {_shape(output.stored)}, {_dtype_text(output)}.")
    fold = next((dim.name for dim in graph.dims.values() if dim.fold), None)
    if fold:
        lines.append(f"    {fold} may stand for several dimensions.")
    return "\n".join(lines).replace("\n", "\n    ").replace("\n    \n", "\n\n") + "\n    "


def _dtype_text(output: Output) -> str:
    if output.dtype.like:
        return f"the type of {output.dtype.like}"
    return "fp32 (fp64 for fp64 inputs)" if output.dtype is types.real else output.dtype.name
