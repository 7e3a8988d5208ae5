"""Gives the modules of a model the catalogue's kernels, and takes them out again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType

from torch import nn

from tilegen.integrations import nn as kernel_nn
from tilegen.integrations.nn.base import KernelModule, checked

Replacements = Mapping[type[nn.Module], type[KernelModule]]

#: The modules of torch.nn, and what each becomes.
TORCH: Replacements = {
    nn.CrossEntropyLoss: kernel_nn.CrossEntropyLoss,
    nn.GELU: kernel_nn.GELU,
    nn.GroupNorm: kernel_nn.GroupNorm,
    nn.KLDivLoss: kernel_nn.KLDivLoss,
    nn.LayerNorm: kernel_nn.LayerNorm,
    nn.LogSoftmax: kernel_nn.LogSoftmax,
    nn.MSELoss: kernel_nn.MSELoss,
    nn.RMSNorm: kernel_nn.RMSNorm,
    nn.SiLU: kernel_nn.SiLU,
    nn.Softmax: kernel_nn.Softmax,
}


@dataclass(frozen=True)
class Report:
    """What a swap did.

    Attributes:
        swapped: the class that each module had, by its path in the model.
        left: why a module of a kind that has kernels stayed as it was, by its path.
    """

    swapped: dict[str, str] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"{path or 'the model'}: {name}" for path, name in self.swapped.items()]
        lines += [f"{path or 'the model'}: left, {why}" for path, why in self.left.items()]
        return "\n".join(lines) or "nothing to swap: no module of a kind that has kernels"


def swap(
    model: nn.Module,
    *,
    backend: str = "auto",
    only: Callable[[str, nn.Module], bool] | None = None,
) -> Report:
    """Give the modules of `model` the catalogue's kernels, in place.

    A module keeps everything but its class: parameters (an optimizer goes on), buffers, hooks, mode
    and device. Of torch.nn those in `tilegen.integrations.nn` are swapped; of transformers the norms,
    MLPs and rotary embeddings of Llama, Qwen2 and Qwen3, and the loss of causal language models.
    Subclasses and modules whose forward was replaced are left alone, and so are modules whose options
    no kernel has. Code that calls torch's functions instead of modules is not touched. A second call
    changes the backend. Call it before torch.compile, or compile again.

    Args:
        model: any module; it may be one of those swapped.
        backend: "auto", "triton" or "torch", for all of them.
        only: asked with a path and a module; False leaves that one out, without a word.

    Raises:
        TypeError: `model` is no module.
        ValueError: an unknown backend.
    """
    checked(backend)
    if not isinstance(model, nn.Module):
        raise TypeError(f"swap takes a torch.nn.Module, got {type(model).__name__}")
    report = Report()
    blocks = _transformers(model)
    table = {**TORCH, **(blocks.MODULES if blocks else {})}
    for path, module in model.named_modules():
        if only is not None and not only(path, module):
            continue
        if blocks and blocks.swap_loss(module, backend):
            report.swapped[f"{path}.loss_function".lstrip(".")] = "ForCausalLMLoss"
        kernel = table.get(type(module))
        if isinstance(module, KernelModule):
            module.backend = backend
        elif kernel is None:
            known = next((kind for kind in table if isinstance(module, kind)), None)
            if known is not None:
                report.left[path] = f"{type(module).__name__} is a subclass of {known.__name__}"
        elif reason := _reason(kernel, module):
            report.left[path] = reason
        else:
            report.swapped[path] = type(module).__name__
            module.__class__ = kernel
            module.backend = backend
    return report


def restore(model: nn.Module) -> None:
    """Undo `swap`: every module that stands in for another becomes that again.

    Modules that were built from `tilegen.integrations.nn` do as well; `SwiGLU` and `GEGLU`, which
    stand in for nothing, stay.
    """
    blocks = _transformers(model)
    table = {**TORCH, **(blocks.MODULES if blocks else {})}
    kinds: dict[type[nn.Module], type[nn.Module]] = {made: kind for kind, made in table.items()}
    for module in model.modules():
        if blocks:
            blocks.restore_loss(module)
        kind = kinds.get(type(module))
        if kind is not None:
            module.__class__ = kind
            vars(module).pop("backend", None)


def _reason(kernel: type[KernelModule], module: nn.Module) -> str | None:
    if "forward" in vars(module):
        return "its forward was replaced"
    return kernel.refuses(module)


def _transformers(model: nn.Module) -> ModuleType | None:
    """The part for transformers if the model has modules of that; it is not imported otherwise."""
    kinds = {kind for module in model.modules() for kind in type(module).__mro__}
    if any(kind.__module__.startswith("transformers.") for kind in kinds):
        return import_module("tilegen.integrations.transformers")
    return None
