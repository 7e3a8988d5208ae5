"""Modules that run the catalogue's kernels, with the names, defaults and state of torch.nn.

Each is a subclass of its namesake in torch.nn; `SwiGLU` and `GEGLU`, which torch lacks, are modules
of their own. All take a keyword `backend`: "auto" runs a kernel on a GPU and the eager reference on
a CPU, "triton" insists on the kernel, "torch" runs the reference.

What no kernel takes goes to torch's own code, and so does what is wrong, for torch's error: other
dtypes than fp16, bf16, fp32 and fp64, parameters wider than their input (other than fp32 ones of a
half-precision input), empty inputs, and what a class says of itself. Under autocast on a GPU norms,
softmaxes and losses run and return fp32, as torch's do; under autocast on a CPU torch's own code
runs. Kernels have no gradient of a gradient and no forward-mode gradient: those need
`backend="torch"`.
"""

from tilegen.integrations.nn.activations import GEGLU, GELU, LogSoftmax, SiLU, Softmax, SwiGLU
from tilegen.integrations.nn.base import KernelModule
from tilegen.integrations.nn.losses import CrossEntropyLoss, KLDivLoss, MSELoss
from tilegen.integrations.nn.norms import GroupNorm, LayerNorm, RMSNorm

__all__ = [
    "GEGLU",
    "GELU",
    "CrossEntropyLoss",
    "GroupNorm",
    "KLDivLoss",
    "KernelModule",
    "LayerNorm",
    "LogSoftmax",
    "MSELoss",
    "RMSNorm",
    "SiLU",
    "Softmax",
    "SwiGLU",
]
