"""GELU, SiLU, the softmaxes, and the gated units that follow two products."""

import torch
from torch import nn

from tilegen.integrations import catalogue
from tilegen.integrations.nn.base import KernelModule, checked, in_fp32_list, takes


class GELU(KernelModule, nn.GELU):
    """`torch.nn.GELU` by the ops gelu_erf ("none") and gelu_tanh ("tanh"); any shape."""

    def __init__(self, approximate: str = "none", *, backend: str = "auto") -> None:
        super().__init__(approximate)
        self.backend = checked(backend)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Return x Phi(x), elementwise."""
        op = {"none": catalogue.gelu_erf, "tanh": catalogue.gelu_tanh}.get(self.approximate)
        if op is None or input.dim() == 0 or not takes(input):
            return super().forward(input)
        y: torch.Tensor = op(input, backend=self.backend)
        return y


class SiLU(KernelModule, nn.SiLU):
    """`torch.nn.SiLU` by the op silu; any shape. `inplace=True` runs torch's own."""

    def __init__(self, inplace: bool = False, *, backend: str = "auto") -> None:
        super().__init__(inplace)
        self.backend = checked(backend)

    @classmethod
    def refuses(cls, module: nn.Module) -> str | None:
        """Refuse one that works in place."""
        return "it works in place" if getattr(module, "inplace", False) else None

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Return x sigmoid(x), elementwise."""
        if self.inplace or input.dim() == 0 or not takes(input):
            return super().forward(input)
        y: torch.Tensor = catalogue.silu(input, backend=self.backend)
        return y


class Softmax(KernelModule, nn.Softmax):
    """`torch.nn.Softmax` by the op softmax; any shape. A dim that is not the last is torch's."""

    def __init__(self, dim: int | None = None, *, backend: str = "auto") -> None:
        super().__init__(dim)
        self.backend = checked(backend)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Return the softmax over `dim`."""
        if not (_is_last(self.dim, input) and takes(input)):
            return super().forward(input)
        x = in_fp32_list(input)
        y: torch.Tensor = catalogue.softmax(_with_rows(x), backend=self.backend)
        return y.reshape(x.shape)


class LogSoftmax(KernelModule, nn.LogSoftmax):
    """`torch.nn.LogSoftmax` by the op log_softmax; any shape. A dim that is not the last is torch's."""

    def __init__(self, dim: int | None = None, *, backend: str = "auto") -> None:
        super().__init__(dim)
        self.backend = checked(backend)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Return the logarithm of the softmax over `dim`."""
        if not (_is_last(self.dim, input) and takes(input)):
            return super().forward(input)
        x = in_fp32_list(input)
        y: torch.Tensor = catalogue.log_softmax(_with_rows(x), backend=self.backend)
        return y.reshape(x.shape)


class SwiGLU(KernelModule):
    """SiLU of a gate times a second input (Shazeer, arXiv:2002.05202), by the op swiglu.

    Called with two tensors of one shape, or with one whose last dim holds both halves, the gate
    first, as a fused projection gives them (the halves are read in place). It has no parameters:
    the products before it are layers of their own.

    >>> import torch
    >>> SwiGLU()(torch.ones(2, 6)).shape
    torch.Size([2, 3])
    """

    def __init__(self, *, backend: str = "auto") -> None:
        super().__init__()
        self.backend = checked(backend)

    def forward(self, gate: torch.Tensor, up: torch.Tensor | None = None) -> torch.Tensor:
        """Return silu(gate) * up.

        Raises:
            ValueError: one input with an odd last dim, or shapes that differ.
        """
        y: torch.Tensor = catalogue.swiglu(*_pair(gate, up), backend=self.backend)
        return y


class GEGLU(KernelModule):
    """GELU of a gate times a second input (Shazeer, arXiv:2002.05202), by the op geglu.

    Called as `SwiGLU` is; `approximate` is that of `torch.nn.GELU`.
    """

    def __init__(self, approximate: str = "none", *, backend: str = "auto") -> None:
        super().__init__()
        self.approximate = approximate
        self.backend = checked(backend)

    def forward(self, gate: torch.Tensor, up: torch.Tensor | None = None) -> torch.Tensor:
        """Return gelu(gate) * up.

        Raises:
            ValueError: one input with an odd last dim, shapes that differ, or an `approximate` that
                is neither "none" nor "tanh".
        """
        y: torch.Tensor = catalogue.geglu(*_pair(gate, up), self.approximate, backend=self.backend)
        return y

    def extra_repr(self) -> str:
        """Return the fields."""
        return ", ".join(filter(None, (f"approximate={self.approximate!r}", super().extra_repr())))


def _pair(gate: torch.Tensor, up: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
    if up is not None:
        return gate, up
    size = gate.shape[-1] if gate.dim() else 1
    if size % 2:
        raise ValueError(f"the last dim holds a gate and its partner: {size} is odd")
    return gate[..., : size // 2], gate[..., size // 2 :]


def _is_last(dim: int | None, x: torch.Tensor) -> bool:
    return dim is not None and x.dim() > 0 and dim in (-1, x.dim() - 1)


def _with_rows(x: torch.Tensor) -> torch.Tensor:
    return x if x.dim() > 1 else x.unsqueeze(0)
