"""The pipeline, from a folder of specs to a folder of modules.

`build` reads as the list of its steps. Everything is rendered and formatted before anything is
written, and a mistake in one spec leaves the folder as it was.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from tilegen import errors
from tilegen.families import check_family, named_alike, programs
from tilegen.families.lower import LineOf
from tilegen.families.partition import partition
from tilegen.families.program import Program
from tilegen.ir.autodiff import differentiable, gradient
from tilegen.ir.graph import Graph
from tilegen.ir.passes import simplify
from tilegen.ir.saving import Saving, saving
from tilegen.ir.verify import verify
from tilegen.paths import template_folder
from tilegen.render.eager import reference
from tilegen.render.module import render_module
from tilegen.render.parts import RenderedPart, RenderedVariant, variant_suffix
from tilegen.render.reserved import check_names
from tilegen.spec.load import LoadedSpec, load_files, load_folder
from tilegen.spec.source import statements
from tilegen.spec.trace import TracedSpec, Variant, trace
from tilegen.targets import Target


@dataclass(frozen=True)
class BuiltOp:
    """One op, all the way to the text of its module."""

    loaded: LoadedSpec
    traced: TracedSpec
    variants: tuple[RenderedVariant, ...]
    text: str

    @property
    def programs(self) -> tuple[Program, ...]:
        """Those of all variants, forward and backward."""
        parts = [part for variant in self.variants for part in variant.parts]
        return tuple(program for part in parts for program in part.programs)


def build_files(files: Sequence[Path], targets: Sequence[Target]) -> tuple[BuiltOp, ...]:
    """Build the specs of some files of a folder, in memory and not yet formatted.

    Raises:
        BuildFailed: at least one mistake; all mistakes of all specs are in it.
    """
    loaded, mistakes = load_files(files)
    built: list[BuiltOp] = []
    for item in loaded:
        try:
            built.append(build_op(item, targets))
        except errors.SpecError as mistake:
            mistakes.append(mistake)
        except RecursionError:
            mistakes.append(_too_deep(item))
    if mistakes:
        raise errors.BuildFailed(mistakes)
    return tuple(built)


def build_named(specs: Path, name: str, targets: Sequence[Target]) -> BuiltOp:
    """Build one op of a folder of specs (or one file); the others are only loaded.

    Raises:
        TilegenError: there is no such op; the message lists those that there are.
        SpecError: the first mistake in it.
    """
    loaded, mistakes = load_folder(specs)
    found = {item.spec.name: item for item in loaded}
    if name in found:
        return build_op(found[name], targets)
    if mistakes:
        raise errors.BuildFailed(mistakes)
    raise errors.TilegenError(f"{specs} has no op {name!r}; it has {', '.join(sorted(found))}")


def build_op(loaded: LoadedSpec, targets: Sequence[Target]) -> BuiltOp:
    """One spec through the pipeline.

    Raises:
        SpecError: the first mistake in it.
    """
    traced = trace(loaded.spec, loaded.source)
    check_names(traced, template_folder())
    line_of = statements(traced.source.text)
    kernels: dict[Hashable, str] = {}
    variants = tuple(lower(traced, variant, line_of, kernels) for variant in traced.variants)
    return BuiltOp(loaded, traced, variants, render_module(loaded, traced, variants, targets))


def lower(
    traced: TracedSpec, variant: Variant, line_of: LineOf, kernels: dict[Hashable, str]
) -> RenderedVariant:
    """One traced variant and its gradient as programs of kernels, and their references.

    `kernels` are the module's so far, by `families.named_alike`.
    """
    verify(variant.graph)
    suffix = variant_suffix(traced.specialising, variant.key, traced.params)
    with errors.located(traced.source.span):
        check_family(traced.spec.family, variant.graph)
        kept = differentiate(traced, variant)
        forward = kept.forward if kept else variant.graph
        own = _part(traced, forward, suffix, line_of, kernels)
        backward = None
        if kept and kept.gradient.graph.outputs:
            graph = kept.gradient.graph
            backward = _part(traced, graph, suffix, line_of, kernels, "backward")
    made = {field.name: getattr(own, field.name) for field in fields(own)}
    return RenderedVariant(**made, key=variant.key, backward=backward, saving=kept)


def differentiate(traced: TracedSpec, variant: Variant) -> Saving | None:
    """The gradient of a variant, and what the forward saves for it; None if there is none.

    Raises:
        BadOption: `grad=` or `save=` names what it cannot.
    """
    graph = variant.graph
    able = differentiable(graph)
    given = {operand.name for operand in graph.operands}
    wanted = able if traced.spec.grad is None else traced.spec.grad
    for name in wanted:
        if name not in able and name not in {o.name for o in traced.operands} - given:
            raise errors.BadOption(
                f"grad= names {name!r}, which is no floating tensor of the spec", None,
                f"those are {', '.join(able)}",
            )  # fmt: skip
    wanted = tuple(name for name in able if name in wanted)
    made = gradient(graph, wanted)
    if not wanted or not made.upstream:
        return None
    present = [name for name in traced.specialising if name in given]
    return saving(graph, made, traced.spec.save, present)


def _part(
    traced: TracedSpec, graph: Graph, variant: str, line_of: LineOf,
    kernels: dict[Hashable, str], part: str = "",
) -> RenderedPart:  # fmt: skip
    """The forward or the backward of a variant."""
    suffix = f"_{part}{variant}" if part else variant
    simple = simplify(graph)
    verify(simple)
    stages = partition(simple)
    made = named_alike(programs(stages, suffix, line_of, part), kernels)
    internal = tuple(output for stage in stages for output in stage.internal)
    run = reference(graph, traced.params, line_of)
    return RenderedPart(simple, suffix, made, internal, run)


def _too_deep(item: LoadedSpec) -> errors.SpecError:
    """Passes walk a graph recursively: a chain of a thousand operations is beyond them."""
    return errors.Unschedulable(
        "a chain of operations is too long", item.source.span, "unroll the loop fewer times"
    )
