"""The pipeline, from a folder of specs to a folder of modules.

`build` reads as the list of its steps. Everything is rendered and formatted before anything is
written, and a mistake in one spec leaves the folder as it was.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilegen import errors
from tilegen.families import programs
from tilegen.families.partition import partition
from tilegen.families.program import Program
from tilegen.ir.passes import simplify
from tilegen.ir.verify import verify
from tilegen.paths import template_folder
from tilegen.render.context import RenderedVariant, variant_suffix
from tilegen.render.eager import reference
from tilegen.render.module import render_module
from tilegen.render.reserved import check_names
from tilegen.spec.load import LoadedSpec, load_folder
from tilegen.spec.source import statements
from tilegen.spec.trace import TracedSpec, Variant, trace
from tilegen.targets import Target

Watch = Callable[[Sequence[LoadedSpec]], Iterator[LoadedSpec]]
"""Wraps the iteration over the specs of a build, for one who shows its progress."""


@dataclass(frozen=True)
class BuiltOp:
    """One op, all the way to the text of its module."""

    loaded: LoadedSpec
    traced: TracedSpec
    variants: tuple[RenderedVariant, ...]
    text: str

    @property
    def programs(self) -> tuple[Program, ...]:
        """Those of all variants."""
        return tuple(program for variant in self.variants for program in variant.programs)


def build_ops(specs: Path, targets: Sequence[Target], watch: Watch = iter) -> tuple[BuiltOp, ...]:
    """Build all specs of a folder (or one file), in memory and not yet formatted.

    Raises:
        BuildFailed: at least one mistake; all mistakes of all specs are in it.
    """
    loaded, mistakes = load_folder(specs)
    built: list[BuiltOp] = []
    for item in watch(loaded):
        try:
            built.append(build_op(item, targets))
        except errors.SpecError as mistake:
            mistakes.append(mistake)
        except RecursionError:
            mistakes.append(_too_deep(item))
    mistakes += _twice(loaded)
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
    variants = tuple(lower(traced, variant, line_of) for variant in traced.variants)
    return BuiltOp(loaded, traced, variants, render_module(loaded, traced, variants, targets))


def lower(traced: TracedSpec, variant: Variant, line_of: Callable[..., str]) -> RenderedVariant:
    """One traced variant as programs of kernels, and its reference."""
    verify(variant.graph)
    graph = simplify(variant.graph)
    verify(graph)
    suffix = variant_suffix(traced.specialising, variant.key, traced.params)
    with errors.located(traced.source.span):
        stages = partition(traced.spec.family, graph)
        made = programs(stages, suffix, line_of)
    internal = tuple(output for stage in stages for output in stage.internal)
    run = reference(variant.graph, traced.params, line_of)
    return RenderedVariant(graph, suffix, made, internal, variant.key, run)


def _too_deep(item: LoadedSpec) -> errors.SpecError:
    """Passes walk a graph recursively: a chain of a thousand operations is beyond them."""
    return errors.Unschedulable(
        "a chain of operations is too long", item.source.span, "unroll the loop fewer times"
    )


def _twice(loaded: Iterable[LoadedSpec]) -> list[errors.SpecError]:
    """Specs of one name in one folder would overwrite each other."""
    seen: dict[str, Any] = {}
    found: list[errors.SpecError] = []
    for item in loaded:
        if item.spec.name in seen:
            found.append(
                errors.BadResult(
                    f"two specs are named {item.spec.name!r}: the other is in "
                    f"{seen[item.spec.name]}",
                    item.source.span,
                    "rename one of them",
                )
            )
        seen[item.spec.name] = item.shown
    return found
