"""CrossEntropyLoss, MSELoss and KLDivLoss."""

import torch
from torch import nn

from tilegen.integrations import catalogue
from tilegen.integrations.nn.base import KernelModule, checked, in_fp32_list, takes

_REDUCTIONS = ("none", "mean", "sum")


class CrossEntropyLoss(KernelModule, nn.CrossEntropyLoss):
    """`torch.nn.CrossEntropyLoss` by the op cross_entropy.

    Logits [C] or [N, C] with integer labels [] or [N]. Class weights, probabilities as targets and
    logits of more dims are torch's own. A label that is no class and not `ignore_index` raises on a
    CPU and stops a GPU, as with torch. The mean over no label is NaN, as with torch. The sum runs
    in fp32, and the loss is stored in the type of the logits.
    """

    def __init__(
        self,
        weight: torch.Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
        *,
        backend: str = "auto",
    ) -> None:
        super().__init__(weight, size_average, ignore_index, reduce, reduction, label_smoothing)
        self.backend = checked(backend)

    @classmethod
    def refuses(cls, module: nn.Module) -> str | None:
        """Refuse one with class weights."""
        return "it has class weights" if getattr(module, "weight", None) is not None else None

    def forward(self, input: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Return the loss: [N] or [] by `reduction`."""
        if not (takes(input) and self._fits(input, target)):
            return super().forward(input, target)
        logits = in_fp32_list(input)
        batch = input.dim() > 1
        rows, labels = (logits, target) if batch else (logits[None], target[None])
        losses = label_losses(
            rows, labels, self.ignore_index, self.label_smoothing, backend=self.backend
        )
        if self.reduction == "none":
            return losses.to(logits.dtype).reshape(target.shape)
        loss = losses.sum()
        if self.reduction == "mean":
            loss = loss / (labels != self.ignore_index).sum()
        return loss.to(logits.dtype)

    def _fits(self, logits: torch.Tensor, target: torch.Tensor) -> bool:
        return (
            self.weight is None
            and self.reduction in _REDUCTIONS
            and 0.0 <= self.label_smoothing <= 1.0
            and logits.dim() in (1, 2)
            and target.shape == logits.shape[:-1]
            and target.device == logits.device
            and target.dtype in (torch.int64, torch.int32)
        )


def label_losses(
    logits: torch.Tensor,
    target: torch.Tensor,
    ignore_index: int,
    label_smoothing: float = 0.0,
    *,
    backend: str = "auto",
) -> torch.Tensor:
    """Return the cross entropy of each row of logits [N, C] with its label [N], fp32 (fp64 for fp64).

    Raises:
        RuntimeError: on a CPU, a label that is no class and not `ignore_index`; a GPU stops.
    """
    known = (target >= 0) & (target < logits.shape[-1]) | (target == ignore_index)
    torch._assert_async(known.all(), "a label is no class and not ignore_index")
    losses: torch.Tensor = catalogue.cross_entropy(
        logits, target, ignore_index, label_smoothing or None, backend=backend
    )[0]
    return losses


class MSELoss(KernelModule, nn.MSELoss):
    """`torch.nn.MSELoss` by the op mse_loss.

    Two tensors of one shape and dtype, at least one dim, and `reduction="mean"`; the rest is
    torch's own.
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        *,
        backend: str = "auto",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.backend = checked(backend)

    @classmethod
    def refuses(cls, module: nn.Module) -> str | None:
        """Refuse one that takes no mean."""
        reduction = getattr(module, "reduction", None)
        return None if reduction == "mean" else f"its reduction is {reduction!r}"

    def forward(self, input: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Return the mean of the squared differences, a scalar."""
        if self.reduction != "mean" or not _are_alike(input, target):
            return super().forward(input, target)
        x, y = _rows(input), _rows(target)
        loss: torch.Tensor = catalogue.mse_loss(x, y, backend=self.backend)
        return loss.to(x.dtype)


class KLDivLoss(KernelModule, nn.KLDivLoss):
    """`torch.nn.KLDivLoss` by the op kl_div.

    Log-probabilities and probabilities of one shape and dtype, at least one dim, and any reduction
    but "none"; the rest, and `log_target=True`, is torch's own. torch warns that its "mean" is no
    divergence; this does not.
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
        *,
        backend: str = "auto",
    ) -> None:
        super().__init__(size_average, reduce, reduction, log_target)
        self.backend = checked(backend)

    @classmethod
    def refuses(cls, module: nn.Module) -> str | None:
        """Refuse one of logarithmic targets, or without a reduction."""
        if getattr(module, "log_target", False):
            return "its targets are logarithms"
        return "it does not reduce" if getattr(module, "reduction", None) == "none" else None

    def forward(self, input: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Return KL(target || exp(input)), reduced to a scalar."""
        parts = {"sum": 1, "mean": input.numel(), "batchmean": input.shape[0] if input.dim() else 1}
        fits = self.reduction in parts and not self.log_target
        if not (fits and _are_alike(input, target)):
            return super().forward(input, target)
        log_q, p = _rows(input), _rows(target)
        total: torch.Tensor = catalogue.kl_div(log_q, p, backend=self.backend).sum()
        return (total / parts[self.reduction]).to(log_q.dtype)


def _are_alike(x: torch.Tensor, target: torch.Tensor) -> bool:
    alike = x.dtype == target.dtype and x.device == target.device and x.shape == target.shape
    return alike and x.dim() > 0 and takes(x)


def _rows(x: torch.Tensor) -> torch.Tensor:
    """Return x as an op of autocast's fp32 list gets it, with at least two dims."""
    x = in_fp32_list(x)
    return x if x.dim() > 1 else x.unsqueeze(0)
