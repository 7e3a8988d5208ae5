"""Ops inside torch.compile, torch.export, torch.vmap, checkpoints and autocast, with their gradients."""

import functools
import shutil
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from generated import (
    _runtime,
    add_rmsnorm,
    cross_entropy,
    dropout_residual_add,
    groupnorm,
    layernorm,
    mse_loss,
    rmsnorm,
    rope,
    row_quant_int8,
    scaled_masked_softmax,
    silu,
    swiglu,
    vector_add,
)

#: Two kinds of backend: gradients through PyTorch's own functions, and through compiled code.
BACKENDS = ("aot_eager", *(("inductor",) if shutil.which("g++") else ()))

randn = torch.randn


def leaf(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, dtype=dtype, requires_grad=True)


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


# ---- opcheck -----------------------------------------------------------------------------------

#: For each: the module, and its arguments. They are those of any module: several outputs or one, an
#: optional tensor or none, saved statistics or none, integers, other strides, empty, no gradient.
CHECKED: list[tuple[str, Any, Callable[[], tuple[Any, ...]]]] = [
    ("rmsnorm", rmsnorm, lambda: (leaf(2, 3, 8), leaf(8), 1e-6, True)),
    ("rmsnorm-fixed", rmsnorm, lambda: (randn(4, 8), randn(8), 1e-6, False)),
    ("rmsnorm-empty", rmsnorm, lambda: (leaf(0, 8), leaf(8), 1e-6, True)),
    ("layernorm-bias", layernorm, lambda: (leaf(8, 4), randn(4), leaf(4), 1e-5, True)),
    ("layernorm", layernorm, lambda: (leaf(4, 8).mT, leaf(4), None, 1e-5, True)),
    ("add_rmsnorm", add_rmsnorm, lambda: (leaf(4, 8), leaf(4, 8), leaf(8), 1e-6, True)),
    ("cross_entropy", cross_entropy,
     lambda: (leaf(4, 9), torch.tensor([0, 8, -100, 3]), -100, 0.1, 1e-3, 30.0)),
    ("mse_loss", mse_loss, lambda: (leaf(4, 8), leaf(4, 8))),
    ("groupnorm", groupnorm, lambda: (leaf(2, 6, 5), leaf(6), leaf(6), 3, 1e-5, True)),
    ("rope", rope, lambda: (leaf(2, 3, 2, 8), randn(5, 4), randn(5, 4), torch.ones(2, 3).long())),
    ("scaled_masked_softmax", scaled_masked_softmax,
     lambda: (leaf(1, 2, 3, 5), leaf(1, 3, 5), 0.5, True)),
    ("dropout_residual_add", dropout_residual_add,
     lambda: (leaf(12), leaf(12), torch.tensor(3), 0.5)),
    ("swiglu", swiglu, lambda: (leaf(8, 4).T, leaf(8, 4).T)),
    ("vector_add", vector_add, lambda: (leaf(8), leaf(8))),
    ("row_quant_int8", row_quant_int8, lambda: (leaf(4, 8),)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("module", "arguments"), [c[1:] for c in CHECKED], ids=[c[0] for c in CHECKED]
)
def test_opcheck(module: Any, arguments: Callable[[], tuple[Any, ...]]) -> None:
    torch.library.opcheck(module.OP.overload, arguments())


class Listening(torch.utils._python_dispatch.TorchDispatchMode):
    """Remembers the arguments of one op."""

    def __init__(self, overload: Any) -> None:
        super().__init__()
        self.overload, self.heard = overload, []

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if function is self.overload:
            self.heard.append(args)
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    ("module", "arguments"),
    [c[1:] for c in CHECKED if hasattr(c[1], "BACKWARD")],
    ids=[c[0] for c in CHECKED if hasattr(c[1], "BACKWARD")],
)
def test_opcheck_of_the_backward(module: Any, arguments: Callable[[], tuple[Any, ...]]) -> None:
    """With the arguments that the forward gives it."""
    given = arguments()
    if not any(isinstance(a, torch.Tensor) and a.requires_grad for a in given):
        return
    with Listening(module.BACKWARD.overload) as mode:
        results = module.OP.overload(*given)
        results = (results,) if isinstance(results, torch.Tensor) else results
        differentiable = [t for t in results if t.requires_grad]
        torch.autograd.backward(differentiable, [randn(t.shape) for t in differentiable])
    (heard,) = mode.heard
    detached = [a.detach() if isinstance(a, torch.Tensor) else a for a in heard]
    torch.library.opcheck(module.BACKWARD.overload, tuple(detached))


# ---- compiled ----------------------------------------------------------------------------------


class Block(nn.Module):
    """A small transformer layer without attention, and a loss."""

    def __init__(self, eps: float = 1e-3) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(randn(8)), eps
        self.table = nn.Parameter(randn(8, 8))

    def forward(self, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        y, h = add_rmsnorm.add_rmsnorm(x, x.flip(-1), self.weight, self.eps)
        y = swiglu.swiglu(y, h) @ self.table
        loss, _ = cross_entropy.cross_entropy(y, target, label_smoothing=0.1)
        return loss.mean()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_compiled_model_trains_as_the_eager_one(backend: str) -> None:
    model, x, target = Block(), leaf(2, 3, 8), torch.randint(0, 8, (2, 3))
    compiled = torch.compile(model, fullgraph=True, backend=backend)
    wanted = (x, *model.parameters())
    ours = torch.autograd.grad(compiled(x, target), wanted)
    right = torch.autograd.grad(model(x, target), wanted)
    torch.testing.assert_close(ours, right, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_8_a_scalar_argument_keeps_its_bits_when_compiled(backend: str) -> None:
    """0.1 is another number in fp32: a scalar that came as one would show in fp64."""

    def norm(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
        return rmsnorm.rmsnorm(x, weight, eps)

    compiled = torch.compile(norm, fullgraph=True, backend=backend)
    for dtype in (torch.float64, torch.bfloat16):
        x, weight, upstream = leaf(4, 8, dtype=dtype), leaf(8, dtype=dtype), randn(4, 8).to(dtype)
        for eps in (0.1, 1e-6):
            y, right = compiled(x, weight, eps), norm(x, weight, eps)
            assert torch.equal(y, right)
            gradients = (torch.autograd.grad(t, (x, weight), upstream) for t in (y, right))
            assert all(map(torch.equal, *gradients))


def test_the_compiled_reference_records_gradients() -> None:
    def norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return rmsnorm.rmsnorm(x, weight, backend="torch")

    x, weight = leaf(4, 8), leaf(8)
    compiled = torch.compile(norm, fullgraph=True, backend="aot_eager")
    ours, right = (torch.autograd.grad(f(x, weight).sum(), (x, weight)) for f in (compiled, norm))
    torch.testing.assert_close(ours, right)


class Counting:
    """A backend that counts the graphs of forwards and of backwards, and runs them as they are."""

    def __init__(self) -> None:
        self.forwards = self.backwards = 0

    def __call__(self, graph: Any, inputs: Any) -> Any:
        def counted(name: str, graph: Any, inputs: Any) -> Any:
            setattr(self, name, getattr(self, name) + 1)
            return torch._functorch.compilers.nop(graph, inputs)

        return torch._dynamo.backends.common.aot_autograd(
            fw_compiler=functools.partial(counted, "forwards"),
            bw_compiler=functools.partial(counted, "backwards"),
        )(graph, inputs)


@pytest.mark.parametrize("marked", [False, True])
def test_sizes_that_change_compile_at_most_twice(marked: bool) -> None:
    counting = Counting()

    def run(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return silu.silu(layernorm.layernorm(x, weight)) + rmsnorm.rmsnorm(x, weight)

    compiled = torch.compile(run, fullgraph=True, backend=counting)
    weight = leaf(8)
    for rows in (4, 5, 6, 7, 9, 12):
        x = leaf(rows, 8)
        if marked:
            torch._dynamo.mark_dynamic(x, 0)
        ours = torch.autograd.grad(compiled(x, weight).square().sum(), (x, weight))
        right = torch.autograd.grad(run(x, weight).square().sum(), (x, weight))
        torch.testing.assert_close(ours, right)
    assert counting.forwards == counting.backwards == (1 if marked else 2)


def test_columns_that_change_compile_at_most_twice() -> None:
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(
        lambda x, weight: rmsnorm.rmsnorm(x, weight), fullgraph=True, backend=counter
    )
    for columns in (8, 9, 16, 33, 64, 70):
        x, weight = leaf(3, columns), leaf(columns)
        y = compiled(x, weight)
        y.sum().backward()
        torch.testing.assert_close(y, F.rms_norm(x, (columns,), weight, 1e-6))
    assert counter.frame_count <= 2


def test_a_spec_without_gradients_compiles() -> None:
    compiled = torch.compile(row_quant_int8.row_quant_int8, fullgraph=True, backend="aot_eager")
    x = leaf(4, 8)
    q, scale = compiled(x)
    assert not q.requires_grad
    assert not scale.requires_grad
    assert torch.equal(q, row_quant_int8.row_quant_int8(x)[0])


@pytest.mark.parametrize("dynamic", [False, True])
def test_export(dynamic: bool) -> None:
    model, x, target = Block(), randn(4, 8), torch.randint(0, 8, (4,))
    rows = torch.export.Dim("rows")
    shapes = ({0: rows}, {0: rows}) if dynamic else None
    program = torch.export.export(model, (x, target), dynamic_shapes=shapes)
    names = {str(n.target) for n in program.graph.nodes if "tilegen" in str(n.target)}
    assert names == {
        str(module.OP.overload) for module in (add_rmsnorm, swiglu, cross_entropy)
    }  # fmt: skip
    if dynamic:
        x, target = randn(7, 8), torch.randint(0, 8, (7,))
    ours, right = program.module()(x, target), model(x, target)
    torch.testing.assert_close(ours, right)
    ours.backward()
    program.run_decompositions()


# ---- vmap --------------------------------------------------------------------------------------


def test_vmap_of_rows_is_one_call_with_one_more_dim() -> None:
    x, weight = randn(4, 3, 8), randn(8)
    _runtime.LAUNCHES.clear()
    y = torch.vmap(lambda x: rmsnorm.rmsnorm(x, weight), in_dims=1, out_dims=1)(x)
    assert len(_runtime.LAUNCHES.calls) == 1
    torch.testing.assert_close(y, F.rms_norm(x, (8,), weight, 1e-6))
    _, lse = torch.vmap(cross_entropy.cross_entropy)(x, torch.randint(0, 8, (4, 3)))
    torch.testing.assert_close(lse, x.logsumexp(-1))


def test_vmap_over_weights_is_a_loop() -> None:
    x, weights = randn(3, 4, 8), randn(5, 8)
    y = torch.vmap(lambda weight: rmsnorm.rmsnorm(x, weight))(weights)
    torch.testing.assert_close(y, torch.stack([rmsnorm.rmsnorm(x, w) for w in weights]))
    y = torch.vmap(lambda x, weight: layernorm.layernorm(x, weight))(x, weights[:3])
    torch.testing.assert_close(y, torch.stack([*map(layernorm.layernorm, x, weights)]))


@pytest.mark.parametrize("needs", [(True, True), (True, False), (False, True)])
def test_vmap_keeps_gradients(needs: tuple[bool, bool]) -> None:
    """A batched tensor says that it requires no gradient, whatever it holds."""
    x, weight = randn(3, 4, 8).requires_grad_(needs[0]), randn(8).requires_grad_(needs[1])
    given = [t for t in (x, weight) if t.requires_grad]
    y = torch.vmap(lambda x: rmsnorm.rmsnorm(x, weight))(x)
    right = F.rms_norm(x, (8,), weight, 1e-6)
    gradients = [torch.autograd.grad(t.square().sum(), given) for t in (y, right)]
    torch.testing.assert_close(*gradients, rtol=1e-5, atol=1e-5)


def test_a_batch_of_upstream_gradients() -> None:
    x, weight, upstream = leaf(4, 8), leaf(8), randn(3, 4, 8)
    y = rmsnorm.rmsnorm(x, weight)
    batch = torch.autograd.grad(y, (x, weight), upstream, is_grads_batched=True, retain_graph=True)
    each = [torch.autograd.grad(y, (x, weight), u, retain_graph=True) for u in upstream]
    torch.testing.assert_close(batch, tuple(map(torch.stack, zip(*each, strict=True))))


# ---- checkpoints and autocast ------------------------------------------------------------------


@pytest.mark.parametrize("reentrant", [False, True])
def test_10_checkpoint(reentrant: bool) -> None:
    model, x, target = Block(), leaf(4, 8), torch.randint(0, 8, (4,))
    wanted = (x, *model.parameters())
    checkpoint(model, x, target, use_reentrant=reentrant).backward()
    ours = [t.grad for t in wanted]
    right = torch.autograd.grad(model(x, target), wanted)
    assert all(map(torch.equal, ours, right))


@pytest.mark.parametrize("around", ["eager", "checkpoint", "aot_eager"])
def test_10_autocast_with_fp32_weights(around: str) -> None:
    """Autocast casts nothing of an op: it computes in fp32, and each result has its own rule.

    So what came in bf16 leaves in bf16, losses and statistics are fp32, weights have fp32 gradients.
    """
    linear, model = nn.Linear(8, 8), Block()
    x, target = randn(4, 8), torch.randint(0, 8, (4,))
    seen = []

    def run(x: torch.Tensor) -> torch.Tensor:
        h = linear(x)
        y, _ = add_rmsnorm.add_rmsnorm(h, h, model.weight)
        logits = y @ model.table
        loss, _ = cross_entropy.cross_entropy(logits, target)
        seen.extend((h.dtype, y.dtype, logits.dtype, loss.dtype))
        return loss.sum()

    around_of = {
        "eager": run,
        "checkpoint": lambda x: checkpoint(run, x, use_reentrant=False),
        "aot_eager": torch.compile(run, fullgraph=True, backend="aot_eager"),
    }
    with torch.autocast("cpu", torch.bfloat16):
        loss = around_of[around](x)
    loss.backward()
    assert seen[:4] == [torch.bfloat16] * 3 + [torch.float32]
    ours = [t.grad for t in (linear.weight, model.weight, model.table)]
    assert {g.dtype for g in ours} == {torch.float32}
    linear.zero_grad()
    model.zero_grad()
    run(x).backward()
    for gradient, right in zip(ours, (linear.weight, model.weight, model.table), strict=True):
        assert (gradient - right.grad).norm() < 0.05 * right.grad.norm()
