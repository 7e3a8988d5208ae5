"""What every process of a group checks: ops on sharded tensors against ops on whole ones.

A tensor's axes are named by letters ("BSN"); a check says which letter each axis of the mesh
splits. Sizes divide by nothing, so that shares differ, and on four processes some are empty.
"""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.debug import CommDebugMode

SIZES = {"B": 5, "S": 6, "H": 5, "N": 7, "V": 9, "P": 6, "D": 8, "d": 4}

#: The tensors of each op: the axes of floats, or the largest integer plus one and the axes.
TENSORS: dict[str, tuple[str | tuple[int, str], ...]] = {
    "rmsnorm": ("BSN", "N"),
    "layernorm": ("BSN", "N", "N"),
    "softmax": ("BSN",),
    "cross_entropy": ("BSV", (9, "BS")),
    "swiglu": ("BSN", "BSN"),
    "add_rmsnorm": ("BSN", "BSN", "N"),
    "rope": ("BSHD", "Pd", "Pd", (6, "BS")),
    "qk_norm_rope": ("BSHD", "D", "Pd", "Pd", (6, "BS")),
    "adaln_modulate": ("BSN", "BN", "BN"),
    "bias_gelu": ("BSN", "N"),
    "kl_div": ("BSN", "BSN"),
    "vector_add": ("BSN", "BSN"),
}

#: Tensors that have no gradient, by op.
CONSTANT = {"rope": (1, 2), "qk_norm_rope": (2, 3)}


@dataclass
class Case:
    """An op and its tensors, whole."""

    name: str
    function: Callable[..., Any]
    axes: list[str]
    tensors: list[torch.Tensor]

    def placements(self, at: int, split: Sequence[str]) -> list[Any]:
        """How a tensor lies on a mesh whose axes split these letters."""
        axes = self.axes[at]
        return [Shard(axes.index(s)) if s and s in axes else Replicate() for s in split]

    def differentiable(self, at: int) -> bool:
        """Whether a tensor has a gradient."""
        return self.tensors[at].is_floating_point() and at not in CONSTANT.get(self.name, ())

    def whole(self) -> list[torch.Tensor]:
        """The tensors, to be differentiated."""
        return [
            t.clone().requires_grad_(self.differentiable(i)) for i, t in enumerate(self.tensors)
        ]

    def sharded(self, mesh: DeviceMesh, split: Sequence[str]) -> list[DTensor]:
        """The tensors on a mesh, to be differentiated."""
        return [
            distribute_tensor(t, mesh, self.placements(i, split)).requires_grad_(
                self.differentiable(i)
            )
            for i, t in enumerate(self.tensors)
        ]


def case(name: str, **sizes: int) -> Case:
    """An op with tensors of these sizes; the same in every process."""
    torch.manual_seed(0)
    axes: list[str] = []
    tensors: list[torch.Tensor] = []
    for given in TENSORS[name]:
        axes.append(given if isinstance(given, str) else given[1])
        shape = [(SIZES | sizes)[letter] for letter in axes[-1]]
        if isinstance(given, str):
            tensors.append(torch.randn(shape, dtype=torch.float64))
        else:
            tensors.append(torch.randint(given[0], shape))
    if name == "kl_div":
        tensors = [tensors[0].log_softmax(-1), tensors[1].softmax(-1)]
    function = getattr(importlib.import_module(f"generated.{name}"), name)
    return Case(name, function, axes, tensors)


def results(made: Any) -> list[Any]:
    """The results of a call, as a list."""
    return [made] if isinstance(made, torch.Tensor) else list(made)


def upstream(made: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """A gradient for each result; where it is sharded, in the result's placements."""
    torch.manual_seed(1)
    found: list[torch.Tensor] = []
    for result in made:
        grad = torch.randn(result.shape, dtype=result.dtype)
        if isinstance(result, DTensor):
            kept = [Replicate() if p.is_partial() else p for p in result.placements]
            grad = distribute_tensor(grad, result.device_mesh, kept)
        found.append(grad)
    return found


def run(function: Callable[..., Any], tensors: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The results of a call and the gradients of its tensors."""
    made = results(function(*tensors))
    torch.autograd.backward(made, upstream(made))
    return made, [tensor.grad for tensor in tensors if tensor.requires_grad]


def assert_same(given: Sequence[Any], wanted: Sequence[Any]) -> None:
    """Compare sharded tensors with whole ones."""
    full = [tensor.full_tensor() for tensor in given]
    torch.testing.assert_close(full, list(wanted), rtol=1e-10, atol=1e-10)


def check(mesh: DeviceMesh, name: str, *split: str, talks: bool = False, **sizes: int) -> None:
    """Run an op forward and backward on shares; no process may hear from another unless it talks."""
    item = case(name, **sizes)
    made, gradients = run(item.function, item.whole())
    tensors = item.sharded(mesh, split)
    with CommDebugMode() as forward:
        shared = results(item.function(*tensors))
    above = upstream(shared)
    with CommDebugMode() as backward:
        torch.autograd.backward(shared, above)
    shared_gradients = [tensor.grad for tensor in tensors if tensor.requires_grad]
    if not talks:
        for traffic in (forward, backward):
            assert traffic.get_total_counts() == 0, traffic.get_comm_counts()
        for at, tensor in enumerate(tensors):
            assert tensor.grad is None or all(
                have == want or (want.is_replicate() and have.is_partial())
                for have, want in zip(
                    tensor.grad.placements, item.placements(at, split), strict=True
                )
            )
    assert_same(shared, made)
    assert_same(shared_gradients, gradients)


def check_partial_upstream(mesh: DeviceMesh) -> None:
    """An upstream gradient of which each process has a term."""
    item = case("rmsnorm")
    x, weight = item.whole()
    (out,) = results(item.function(x, weight))
    out.backward(torch.ones_like(out))
    tensors = item.sharded(mesh, "B" * mesh.ndim)
    (shared,) = results(item.function(*tensors))
    term = torch.ones_like(out) / mesh.size()
    shared.backward(DTensor.from_local(term, mesh, [Partial()] * mesh.ndim))
    assert_same([tensor.grad for tensor in tensors], [x.grad, weight.grad])


def check_what_is_wanted_changes(mesh: DeviceMesh) -> None:
    """Calls that differ in nothing but what they save, or in which gradients they want."""
    item = case("layernorm")
    with torch.no_grad():
        assert_same(
            results(item.function(*item.sharded(mesh, "S" * mesh.ndim))),
            results(item.function(*item.whole())),
        )
    for wanted in ((0,), (1, 2), (0, 1, 2), (2,)):
        found = []
        for tensors in (item.sharded(mesh, "S" * mesh.ndim), item.whole()):
            for at, tensor in enumerate(tensors):
                tensor.requires_grad_(at in wanted)
            found.append(run(item.function, tensors))
        for shared, whole in zip(*found, strict=True):
            assert_same(shared, whole)


def check_a_result_without_gradient(mesh: DeviceMesh) -> None:
    """The backward of a call of which one result went nowhere."""
    item = case("add_rmsnorm")
    found = []
    for tensors in (item.sharded(mesh, "B" * mesh.ndim), item.whole()):
        first, _ = item.function(*tensors)
        first.backward(*upstream([first]))
        found.append([tensor.grad for tensor in tensors])
    assert_same(*found)


def check_the_registered_op(mesh: DeviceMesh) -> None:
    """A call that does not go through the public function."""
    item = case("swiglu")
    registered = importlib.import_module("generated.swiglu").OP.overload
    tensors = item.sharded(mesh, "N" * mesh.ndim)
    shared = registered(*tensors)
    assert shared.placements == tensors[0].placements
    assert_same([shared], [registered(*item.whole())])


def check_compiled(mesh: DeviceMesh, name: str, *split: str) -> None:
    """One graph forward and one backward, in which no process hears from another."""
    graphs: list[str] = []

    def record(graph: torch.fx.GraphModule, example: Any) -> Any:
        graphs.append(graph.code)
        return make_boxed_func(graph.forward)

    item = case(name)
    made, gradients = run(item.function, item.whole())
    torch._dynamo.reset()
    compiled = torch.compile(
        item.function, fullgraph=True, backend=aot_autograd(fw_compiler=record)
    )
    shared, shared_gradients = run(compiled, item.sharded(mesh, split))
    assert len(graphs) == 2
    assert all("tilegen" in code and "c10d" not in code for code in graphs), "\n".join(graphs)
    assert_same(shared, made)
    assert_same(shared_gradients, gradients)


def checks(world: int) -> dict[str, Callable[[], None]]:
    """All checks of a group, by name, in order."""
    line = init_device_mesh("cpu", (world,))
    found: dict[str, Callable[[], None]] = {}

    def add(name: str, function: Callable[..., None], *args: Any, **kwargs: Any) -> None:
        found[name] = lambda: function(*args, **kwargs)

    for name in TENSORS:
        for split in "BS":
            add(f"{name} along {split}", check, line, name, split)
    for name, split in (("swiglu", "N"), ("adaln_modulate", "N"), ("bias_gelu", "N"),
                        ("rope", "H"), ("qk_norm_rope", "H"), ("kl_div", "N")):  # fmt: skip
        add(f"{name} along {split}", check, line, name, split)
    add("fewer rows than processes", check, line, "rmsnorm", "B", talks=True, B=1)
    for name, split in (("rmsnorm", "N"), ("softmax", "N"), ("cross_entropy", "V")):
        add(f"{name} along {split}, which is reduced", check, line, name, split, talks=True)
    add("a partial upstream gradient", check_partial_upstream, line)
    add("what is wanted changes", check_what_is_wanted_changes, line)
    add("a result without gradient", check_a_result_without_gradient, line)
    add("the registered op", check_the_registered_op, line)
    for name, split in (("rmsnorm", "S"), ("swiglu", "N"), ("cross_entropy", "B")):
        add(f"{name} compiled along {split}", check_compiled, line, name, split)
    if world == 4:
        square = init_device_mesh("cpu", (2, 2))
        for name in TENSORS:
            add(f"{name} along B and S", check, square, name, "B", "S")
        add("swiglu along B and N", check, square, "swiglu", "B", "N")
        add("rmsnorm along S twice", check, square, "rmsnorm", "S", "S")
        add("rmsnorm along S and N", check, square, "rmsnorm", "S", "N", talks=True)
        add("rmsnorm compiled along B and S", check_compiled, square, "rmsnorm", "B", "S")
    return found
