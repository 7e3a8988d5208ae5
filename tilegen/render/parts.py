"""The forward and the backward of each variant, as the templates see them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilegen.families.program import Program
from tilegen.ir.graph import Graph, Output, Param
from tilegen.ir.saving import Saving
from tilegen.render.eager import Reference
from tilegen.render.fields import output_text


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
        return [output_text(output, self._served(output.name)) for output in self.internal]

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
