"""The catalogue's ops: `tilegen.kernels` of an installed tilegen, `generated` of a checkout."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

_PACKAGE = "tilegen.kernels" if find_spec("tilegen.kernels") else "generated"


def _op(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(import_module(f"{_PACKAGE}.{name}"), name)
    return function


cross_entropy = _op("cross_entropy")
geglu = _op("geglu")
gelu_erf = _op("gelu_erf")
gelu_tanh = _op("gelu_tanh")
groupnorm = _op("groupnorm")
kl_div = _op("kl_div")
layernorm = _op("layernorm")
log_softmax = _op("log_softmax")
mse_loss = _op("mse_loss")
rmsnorm = _op("rmsnorm")
rmsnorm_llama = _op("rmsnorm_llama")
rope = _op("rope")
silu = _op("silu")
softmax = _op("softmax")
swiglu = _op("swiglu")
