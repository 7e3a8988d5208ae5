"""What the modules share: their backend, and which inputs a kernel takes."""

import torch
from torch import nn

_BACKENDS = ("auto", "triton", "torch")
_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_HALVES = (torch.float16, torch.bfloat16)


class KernelModule(nn.Module):
    """A module that runs an op of the catalogue.

    It has no state of its own: the module that it stands in for becomes one by its class alone.

    Attributes:
        backend: "auto", "triton" or "torch"; read at each call.
    """

    backend: str = "auto"

    @classmethod
    def refuses(cls, module: nn.Module) -> str | None:
        """Return why torch's `module` had better stay what it is; None if it may become this class."""
        return None

    def extra_repr(self) -> str:
        """Return the fields of torch's module, then the backend unless that is "auto"."""
        fields = super().extra_repr()
        own = "" if self.backend == "auto" else f"backend={self.backend}"
        return ", ".join(filter(None, (fields, own)))


def checked(backend: str) -> str:
    """Return `backend`.

    Raises:
        ValueError: it is none of the three.
    """
    if backend not in _BACKENDS:
        raise ValueError(f'backend is {backend!r}, expected "auto", "triton" or "torch"')
    return backend


def takes(x: torch.Tensor, *parameters: torch.Tensor | None) -> bool:
    """Whether a kernel takes x with these parameters, and gives what torch would give."""
    if x.dtype not in _DTYPES or x.numel() == 0:
        return False
    if x.device.type != "cuda" and autocasts(x):
        return False
    narrow = x.dtype in _HALVES
    return all(
        p is None or p.dtype == x.dtype or (narrow and p.dtype == torch.float32) for p in parameters
    )


def autocasts(x: torch.Tensor) -> bool:
    """Whether autocast is on for the device of x."""
    kind = x.device.type
    return torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)


def in_fp32_list(x: torch.Tensor) -> torch.Tensor:
    """Return x as an op of autocast's fp32 list gets it."""
    return x.float() if x.dtype in _HALVES and autocasts(x) else x
