"""What a check looks at: a spec, traced, and the module that was built from it."""

import hashlib
import importlib
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from tilegen import errors
from tilegen.ir import types
from tilegen.ir.graph import Graph, Node
from tilegen.schedule.kinds import KINDS
from tilegen.spec.load import LoadedSpec, load_folder
from tilegen.spec.trace import TracedSpec, Variant, trace

#: Name endings of a schedule's first kernel.
SCHEDULES = {kind.name: kind.kernel for kind in KINDS.values()}


class MissingModule(errors.TilegenError):
    """A spec has no module in the folder that is checked, or a name no spec."""


@dataclass(frozen=True)
class Subject:
    """One op: its traced spec and its module.

    The module's own `OP` and its `_runtime` are reached through it, so that what is checked is
    what was emitted, and not what would be emitted now.
    """

    traced: TracedSpec
    module: ModuleType

    @property
    def name(self) -> str:
        """The op's name."""
        return self.traced.name

    @property
    def op(self) -> Any:
        """The module's declaration of the op."""
        return self.module.OP

    @property
    def results(self) -> tuple[str, ...]:
        """Names of all results, those among them that only a backward sees."""
        return tuple(output.name for output in self.op.results)

    def kinds(self, variant: Variant) -> tuple[str, ...]:
        """How each result is compared; see `kinds`."""
        statistics = ("exact" if o.dtype == torch.int64 else "float" for o in self.op.saved)
        return (*kinds(variant.graph), *statistics)

    @cached_property
    def runtime(self) -> Any:
        """The `_runtime.py` beside the module."""
        return importlib.import_module("._runtime", self.module.__package__)

    @cached_property
    def family(self) -> str:
        """Elementwise or rowwise."""
        return self.traced.spec.family

    @cached_property
    def static(self) -> dict[str, int]:
        """Dimensions whose size the spec fixes."""
        dims = self.traced.variants[0].graph.dims.values()
        return {dim.name: dim.size for dim in dims if dim.size is not None}

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The dimensions that its reductions run over; for an elementwise op the innermost ones."""
        graph = self.traced.variants[0].graph
        over = {dim for n in graph.nodes if n.op == "reduce" for dim in n.attrs["over"]}
        if over:
            return graph.ordered(over)
        first = max(graph.operands, key=lambda operand: len(operand.dims))
        return first.stored[-1] if first.stored else ()

    @cached_property
    def gathered(self) -> frozenset[str]:
        """Dimensions that are only indexed into: no output has them."""
        graph = self.traced.variants[0].graph
        taken = {n.attrs["dim"] for n in graph.nodes if n.op == "take"}
        walked = {dim for n in graph.nodes if n.op not in ("load", "index") for dim in n.dims}
        return frozenset(taken - walked)


@dataclass(frozen=True)
class Backward(Subject):
    """The backward of an op, as an op: its reference is autograd through the forward's."""

    @property
    def op(self) -> Any:
        """The module's declaration of the backward."""
        return self.module.BACKWARD

    @property
    def forward(self) -> Subject:
        """The op whose gradient this is; shapes and inputs are drawn for it."""
        return Subject(self.traced, self.module)

    def present(self, variant: Variant) -> tuple[str, ...]:
        """The results that a variant has: no gradient of an optional input that is not there."""
        held = set(self.forward.op.variants[variant.key].gradients.values())
        return tuple(name for name in self.results if name in held)

    def kinds(self, variant: Variant) -> tuple[str, ...]:
        """Gradients are floats, whatever rounds in the forward."""
        return ("float",) * len(self.op.results)


def backward_of(subject: Subject, variant: Variant) -> Backward | None:
    """The backward of a variant; None if the module has none, or passes gradients on as they are."""
    op = getattr(subject.module, "BACKWARD", None)
    known = op is not None and variant.key in subject.op.variants
    return Backward(subject.traced, subject.module) if known else None


def subjects(
    specs: Path, folder: Path, names: Iterable[str] = ()
) -> tuple[list[Subject], list[errors.SpecError]]:
    """The ops of a folder of specs (or one file) with their modules in `folder`.

    Args:
        specs: a folder of specs or one spec file.
        folder: where they were built to.
        names: only these ops; all if empty.

    Raises:
        MissingModule: a spec was not built, or there is no op of that name.
    """
    loaded, mistakes = load_folder(specs)
    wanted = tuple(names)
    unknown = sorted(set(wanted) - {item.spec.name for item in loaded})
    if unknown:
        raise MissingModule(f"{specs} has no spec named {', '.join(unknown)}")
    chosen = [item for item in loaded if not wanted or item.spec.name in wanted]
    return [subject(item, folder) for item in chosen], mistakes


def subject(loaded: LoadedSpec, folder: Path) -> Subject:
    """One spec with its module.

    Raises:
        MissingModule: there is none.
    """
    return Subject(trace(loaded.spec, loaded.source), load_module(folder, loaded.spec.name))


def load_module(folder: Path, name: str) -> ModuleType:
    """Import a generated module from any folder, under a package name made from the path.

    Raises:
        MissingModule: the folder has no such module.
    """
    if not (folder / f"{name}.py").is_file():
        raise MissingModule(f"{folder} has no module {name}.py: build the spec first")
    digest = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:8]
    package = f"tilegen_checked_{digest}"
    if package not in sys.modules:
        holder = ModuleType(package)
        holder.__path__ = [str(folder.resolve())]
        sys.modules[package] = holder
    importlib.invalidate_caches()
    return importlib.import_module(f"{package}.{name}")


# ---- what the rule needs to know of a graph -----------------------------------------------------


def kinds(graph: Graph) -> tuple[str, ...]:
    """How each output is compared: float, rounded (by a cast), exact, index or quantised."""
    return tuple(_kind(output.value) for output in graph.outputs)


def _kind(value: Node) -> str:
    if value.op == "reduce" and value.attrs["monoid"] in ("argmax", "argmin"):
        return "index"
    if value.op == "cast":
        to = value.attrs["to"]
        if value.args[0].dtype.kind == "float" and (to.kind == "int" or to.bits == 8):
            return "quantised"
        if to.kind == "float" and to is not types.real:
            return "rounded"
    return "float" if value.dtype.kind == "float" else "exact"


def has_softcap(graph: Graph) -> bool:
    """Whether scores pass through `cap * tanh(scores / cap)`, which loses digits in any type."""
    return any(
        node.op == "tanh" and node.args[0].op == "div" and node.args[0].args[1].op == "param"
        for node in graph.nodes
    )


def factor(variant: Variant) -> float:
    """How many times eager PyTorch's error a result may have."""
    return 3.0 if has_softcap(variant.graph) else 2.0


def casts_to_fp8(graph: Graph) -> bool:
    """Whether the spec rounds values to fp8."""
    return any(
        node.op == "cast" and node.attrs["to"].kind == "float" and node.attrs["to"].bits == 8
        for node in graph.nodes
    )


def variant_name(subject: Subject, variant: Variant) -> str:
    """The specialising arguments of a variant, as reports show them."""
    names: Sequence[str] = subject.traced.specialising
    return ", ".join(f"{name}={value}" for name, value in zip(names, variant.key, strict=True))
