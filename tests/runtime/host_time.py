"""Measure the Python part of calls: a compiled kernel that does nothing stands in for a real one.

Usage: python tests/runtime/host_time.py [GENERATED], the folder that holds the package. It runs
without TRITON_INTERPRET and without a GPU: tensors are on the CPU, and the calls to the driver that
a CPU has no answer to (current device, current stream) are replaced by functions as cheap as they.
The launcher is the base; the other lines are what the public function and PyTorch add to it.
"""

import importlib
import sys
import timeit
from pathlib import Path
from types import SimpleNamespace

import torch
import triton
from triton.runtime.jit import JITFunction

sys.path.insert(0, sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).parents[2]))
runtime = importlib.import_module("generated._runtime")
rmsnorm = importlib.import_module("generated.rmsnorm")
vector_add = importlib.import_module("generated.vector_add")
cross_entropy = importlib.import_module("generated.cross_entropy")


class FakeCompiled:
    """What ``JITFunction.warmup`` returns, with a ``run`` that takes anything."""

    function = 1
    packed_metadata = ()

    @staticmethod
    def run(*arguments):
        return None


def least_op():
    """Register the least op of a tensor and a weight: what PyTorch itself takes, there and back."""
    library = torch.library.Library("host_time", "FRAGMENT")
    library.define("least(Tensor x, Tensor weight, float eps, bool save) -> (Tensor, Tensor)")
    library.define("back(Tensor x, Tensor weight, Tensor g) -> (Tensor, Tensor)")

    def least(x, weight, eps, save):
        return torch.empty_like(x), torch.empty_like(weight)

    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], inputs[1])
        ctx.mark_non_differentiable(output[1])

    def back(ctx, gradient, _):
        grads = torch.ops.host_time.back(*ctx.saved_tensors, gradient)
        return (*grads, None, None)

    library.impl("least", least, "CPU")
    library.impl("back", lambda x, w, g: (torch.empty_like(x), torch.empty_like(w)), "CPU")
    torch.library.register_autograd("host_time::least", back, setup_context=setup, lib=library)
    return library, torch.ops.host_time.least.default


def microseconds(function, number=10):
    function()
    # The least of many short runs: whatever else the machine does is in the others.
    return min(timeit.repeat(function, number=number, repeat=2_000)) / number * 1e6


def within(context, function):
    """Return the microseconds of a call inside a context, which is entered once."""
    with context():
        return microseconds(function)


def there_and_back(function, *inputs):
    """Return the microseconds of a call that records, and of its backward."""
    y = function(*inputs)
    y = y[0] if isinstance(y, tuple) else y
    upstream = torch.randn_like(y)
    wanted = [t for t in inputs if t.requires_grad]
    back = microseconds(lambda: torch.autograd.grad(y, wanted, upstream, retain_graph=True))
    return microseconds(lambda: function(*inputs)), back


def main():
    JITFunction.warmup = lambda *arguments, **options: FakeCompiled()
    triton.runtime.driver = SimpleNamespace(
        active=SimpleNamespace(get_current_stream=lambda index: 0)
    )
    runtime._current_device = lambda: None
    runtime.Op._runs_reference = lambda *arguments: False
    x, weight, out = torch.randn(64, 128), torch.randn(128), torch.empty(64, 128)
    target = torch.zeros(64, dtype=torch.long)
    op = rmsnorm.OP
    arguments = ((x, weight), (1e-6,), None, "auto", False)
    launcher = microseconds(lambda: op.launch(*arguments))
    saving = microseconds(lambda: op.launch(*arguments, (True, True)))
    x_leaf, weight_leaf = (t.clone().requires_grad_() for t in (x, weight))
    recording, backward = there_and_back(rmsnorm.rmsnorm, x_leaf, weight_leaf)
    _library, least = least_op()  # the op vanishes with its library
    bare, bare_back = there_and_back(lambda *t: least(*t, 1e-6, True), x_leaf, weight_leaf)
    loss, loss_back = there_and_back(lambda x: cross_entropy.cross_entropy(x, target), x_leaf)
    passed, passed_back = there_and_back(vector_add.vector_add, x_leaf, x_leaf)

    def registered():
        return op.overload(x, weight, 1e-6, False)

    given = (x, weight, torch.randn(64), x), (1e-6,), None, "auto", False, (True, True)
    backward_alone = microseconds(lambda: rmsnorm.BACKWARD.launch(*given))
    rows = [
        ("launcher of rmsnorm", launcher, None),
        ("  that saves the statistics", saving, launcher),
        ("rmsnorm(x, weight)", microseconds(lambda: rmsnorm.rmsnorm(x, weight)), launcher),
        ("rmsnorm(x, weight, out=out)", microseconds(lambda: rmsnorm.rmsnorm(x, weight, out=out)),
         launcher),
        ("  of that what the least registered op takes, inference mode",
         within(torch.inference_mode, lambda: least(x, weight, 1e-6, False)), None),
        ("registered, inference mode", within(torch.inference_mode, registered), launcher),
        ("registered, no_grad", within(torch.no_grad, registered), launcher),
        ("rmsnorm(x, weight), recording", recording, launcher),
        ("  of that what the least registered op takes", bare, None),
        ("launcher of its backward", backward_alone, None),
        ("backward of rmsnorm", backward, backward_alone),
        ("  of that what the least registered op takes", bare_back, None),
        ("cross_entropy(logits, target), recording", loss, None),
        ("backward of cross_entropy", loss_back, None),
        ("vector_add(x, y), recording", passed, None),
        ("backward of vector_add", passed_back, None),
    ]  # fmt: skip
    for name, time, base in rows:
        more = "" if base is None else f"  (+{time - base:.2f})"
        print(f"{time:7.2f} us  {name}{more}")


if __name__ == "__main__":
    main()
