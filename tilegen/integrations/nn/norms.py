"""RMSNorm, LayerNorm and GroupNorm."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from tilegen.integrations.catalogue import groupnorm, layernorm, rmsnorm
from tilegen.integrations.nn.base import KernelModule, checked, in_fp32_list, takes


class RMSNorm(KernelModule, nn.RMSNorm):
    """`torch.nn.RMSNorm` by the op rmsnorm.

    Input and output: [*, *normalized_shape]. Several normalized dims are folded into one, which
    copies an input that is not contiguous there. Without a weight the kernel reads a one.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        backend: str = "auto",
    ) -> None:
        shape: Any = normalized_shape
        super().__init__(shape, eps, elementwise_affine, device, dtype)
        self.backend = checked(backend)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalise the last dims of x by their root mean square."""
        if not (takes(x, self.weight) and _ends_in(x, self.normalized_shape)):
            return super().forward(x)
        x = in_fp32_list(x)
        eps = self.eps
        if eps is None:
            eps = torch.finfo(torch.float64 if x.dtype == torch.float64 else torch.float32).eps
        rows, weight = _rows(x, self.normalized_shape), _flat(self.weight)
        if weight is None:
            weight = _constant(rows, 1.0, rows.shape[-1])
        y: torch.Tensor = rmsnorm(rows, weight, eps, backend=self.backend)
        return y.reshape(x.shape)


class LayerNorm(KernelModule, nn.LayerNorm):
    """`torch.nn.LayerNorm` by the op layernorm.

    Input and output: [*, *normalized_shape]. Several normalized dims are folded into one, which
    copies an input that is not contiguous there. Without a weight the kernel reads a one.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        backend: str = "auto",
    ) -> None:
        shape: Any = normalized_shape
        super().__init__(shape, eps, elementwise_affine, bias, device, dtype)
        self.backend = checked(backend)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Normalise the last dims of the input to mean 0 and variance 1."""
        if not (takes(input, self.weight, self.bias) and _ends_in(input, self.normalized_shape)):
            return super().forward(input)
        x = in_fp32_list(input)
        rows, weight = _rows(x, self.normalized_shape), _flat(self.weight)
        if weight is None:
            weight = _constant(rows, 1.0, rows.shape[-1])
        y: torch.Tensor = layernorm(rows, weight, _flat(self.bias), self.eps, backend=self.backend)
        return y.reshape(x.shape)


class GroupNorm(KernelModule, nn.GroupNorm):
    """`torch.nn.GroupNorm` by the op groupnorm.

    Input and output: [N, num_channels, *]. Without a weight or a bias the kernel reads a one or a zero.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
        backend: str = "auto",
    ) -> None:
        newer: Any = {} if bias else {"bias": bias}  # not in every torch that pyproject.toml admits
        super().__init__(num_groups, num_channels, eps, affine, device, dtype, **newer)
        self.backend = checked(backend)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Normalise each group of channels of each sample to mean 0 and variance 1."""
        parameters: tuple[torch.Tensor | None, ...] = (self.weight, self.bias)
        if not (takes(input, *parameters) and self._fits(input)):
            return super().forward(input)
        x = in_fp32_list(input)
        weight, bias = (
            _constant(x, value, self.num_channels) if parameter is None else parameter
            for parameter, value in zip(parameters, (1.0, 0.0), strict=True)
        )
        images = x if x.dim() > 2 else x.unsqueeze(-1)
        y: torch.Tensor = groupnorm(
            images, weight, bias, self.num_groups, self.eps, backend=self.backend
        )
        return y.reshape(x.shape)

    def _fits(self, x: torch.Tensor) -> bool:
        """Whether the channels are right and a group has more than one value, as torch demands."""
        return x.dim() > 1 and x.shape[1] == self.num_channels and x.numel() != self.num_groups


def _ends_in(x: torch.Tensor, shape: tuple[int, ...]) -> bool:
    return 0 < len(shape) <= x.dim() and tuple(x.shape[-len(shape) :]) == shape


def _rows(x: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """Return x, [*, *shape], as [..., N] with at least one leading dim."""
    rows = x.flatten(-len(shape)) if len(shape) > 1 else x
    return rows if rows.dim() > 1 else rows.unsqueeze(0)


def _flat(parameter: torch.Tensor | None) -> torch.Tensor | None:
    return None if parameter is None else parameter.flatten()


def _constant(x: torch.Tensor, value: float, size: int) -> torch.Tensor:
    """Return [size] of one value, which takes the memory of one."""
    return x.new_full((), value).expand(size)
