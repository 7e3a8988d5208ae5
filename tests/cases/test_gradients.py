"""Gradients of any family: rows 2, 3, 9, 11 and 12 of the list of inputs, and the kind behind each."""

import itertools
import warnings
from dataclasses import replace

import pytest
import torch
from cases_ops import (
    OPS,
    arguments,
    call,
    function,
    gpu,
    gradients,
    inputs,
    leaves,
    needs_gpu,
    of,
    sizes,
    upstream_of,
)

from tilegen.spec.trace import Variant
from tilegen.toolchain.inputs import LAYOUTS
from tilegen.toolchain.shapes import Shape

DIFFERENTIABLE = [
    pytest.param(name, variant, id=f"{name}-{'-'.join(map(str, variant.key))}".rstrip("-"))
    for name in OPS
    for variant in of(name).traced.variants[-1:]
    if of(name).op.variants[variant.key].gradients
]


def close(ours: tuple[torch.Tensor, ...], right: tuple[torch.Tensor, ...]) -> None:
    """Another schedule may add up in another order."""
    for one, other in zip(ours, right, strict=True):
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("name", "variant"), DIFFERENTIABLE)
def test_2_an_upstream_gradient_with_strides_of_zero(name: str, variant: Variant) -> None:
    given = inputs(name, variant)
    taken, wanted = leaves(name, variant, given)
    results = [result for result in call(name, taken) if result.requires_grad]
    ones = [torch.ones(result.shape, dtype=result.dtype) for result in results]
    summed = torch.autograd.grad(sum(result.sum() for result in results), wanted)
    close(summed, gradients(name, variant, given, ones))


@pytest.mark.parametrize(("name", "variant"), DIFFERENTIABLE)
def test_3_any_strides_have_the_gradients_of_contiguous_copies(name: str, variant: Variant) -> None:
    item = sizes(name, 7)
    if of(name).op.fold is not None:
        item = Shape(item.sizes, (2, 1))
    for layout in (*LAYOUTS[1:], "mixed 0", "mixed 3"):
        given = inputs(name, variant, item, layout)
        copies = [t if t is None else t.contiguous() for t in given.tensors]
        contiguous = replace(given, tensors=tuple(copies))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours = gradients(name, variant, given)
        close(ours, gradients(name, variant, contiguous))


def strided(tensor: torch.Tensor, how: str) -> torch.Tensor:
    """The same values at other places in memory."""
    if how == "transposed":
        dims = tuple(reversed(range(tensor.dim())))
        return tensor.permute(dims).contiguous().permute(dims)
    if how == "every second":
        wide = tensor.new_empty((*tensor.shape, 2))
        wide[..., 0] = tensor
        return wide[..., 0]
    start = int(how.split()[1])
    memory = tensor.new_empty(tensor.numel() + start)
    return memory[start:].view(tensor.shape).copy_(tensor)


@pytest.mark.parametrize(("name", "variant"), DIFFERENTIABLE)
def test_3_an_upstream_gradient_of_any_strides(name: str, variant: Variant) -> None:
    given = inputs(name, variant)
    upstream = upstream_of(call(name, leaves(name, variant, given)[0]))
    right = gradients(name, variant, given, upstream)
    for how in ("transposed", "every second", "offset 1", "offset 3"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            close(gradients(name, variant, given, [strided(u, how) for u in upstream]), right)


@pytest.mark.parametrize(("name", "variant"), DIFFERENTIABLE)
def test_5_gradients_over_nothing(name: str, variant: Variant) -> None:
    """They have the shapes of their tensors, and are 0."""
    op, item = of(name), sizes(name)
    sized = {param.dim for param in op.traced.params if param.kind == "size"}
    for dim in item.sizes.keys() - op.static.keys() - sized:
        taken, wanted = leaves(name, variant, inputs(name, variant, Shape({**item.sizes, dim: 0})))
        try:
            results = call(name, taken)
        except ValueError:
            continue  # the op has no value there
        differentiable = [result for result in results if result.requires_grad]
        found = torch.autograd.grad(
            differentiable, wanted, list(map(torch.ones_like, differentiable))
        )
        for gradient, tensor in zip(found, wanted, strict=True):
            assert gradient.shape == tensor.shape
            assert not gradient.any()


@pytest.mark.parametrize(("name", "variant"), DIFFERENTIABLE)
def test_9_each_subset_of_gradients_is_the_same_and_no_other_is_given(
    name: str, variant: Variant
) -> None:
    given = inputs(name, variant)
    right = gradients(name, variant, given)
    for needs in itertools.product((True, False), repeat=len(right)):
        taken, wanted = leaves(name, variant, given)
        for tensor, need in zip(wanted, needs, strict=True):
            tensor.requires_grad_(need)
        results = call(name, taken)
        if not any(needs):
            assert not any(result.requires_grad for result in results)
            continue
        differentiable = [result for result in results if result.requires_grad]
        torch.autograd.backward(differentiable, upstream_of(results))
        for tensor, need, gradient in zip(wanted, needs, right, strict=True):
            assert (tensor.grad is not None) == need
            if need:
                torch.testing.assert_close(tensor.grad, gradient, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("name", "variant"), DIFFERENTIABLE)
def test_11_a_graph_that_is_retained_gives_the_same_again(name: str, variant: Variant) -> None:
    taken, wanted = leaves(name, variant, inputs(name, variant))
    results = call(name, taken)
    upstream = upstream_of(results)
    differentiable = [result for result in results if result.requires_grad]
    first = torch.autograd.grad(differentiable, wanted, upstream, retain_graph=True)
    kept = [gradient.clone() for gradient in first]
    again = torch.autograd.grad(differentiable, wanted, upstream)
    assert all(map(torch.equal, first, kept))
    assert all(map(torch.equal, first, again))


@pytest.mark.parametrize("name", ["layernorm", "cross_entropy", "groupnorm", "scale_residual_add"])
def test_12_thirty_times_the_same_bits(name: str) -> None:
    variant = of(name).traced.variants[-1]
    given = inputs(name, variant)
    first = gradients(name, variant, given)
    for _ in range(29):
        assert all(map(torch.equal, gradients(name, variant, given), first))


@gpu
@needs_gpu
@pytest.mark.parametrize(("name", "variant"), DIFFERENTIABLE)
def test_12_thirty_times_the_same_bits_on_a_gpu(name: str, variant: Variant) -> None:
    """Large enough for many programs: their order is free, that of their sums is not."""
    given = inputs(name, variant, sizes(name, 1024))
    placed = [t if t is None else t.cuda() for t in given.tensors]
    given = replace(given, tensors=tuple(placed))
    upstream = [u.cuda() for u in upstream_of(call(name, leaves(name, variant, given)[0]))]
    first = gradients(name, variant, given, upstream)
    for _ in range(29):
        assert all(map(torch.equal, gradients(name, variant, given, upstream), first))


@gpu
@needs_gpu
@pytest.mark.parametrize("name", ["rmsnorm", "layernorm", "silu", "softmax"])
def test_1_gradients_past_2_to_the_31(name: str) -> None:
    """Only the last row is not 0; its gradient is that of the row alone."""
    x = torch.zeros(2**23 + 16, 256, dtype=torch.bfloat16, device="cuda")
    x[-1] = torch.randn(256, device="cuda")
    weights = [torch.ones(256, dtype=x.dtype, device="cuda")] * (len(of(name).op.inputs) - 1)
    upstream = torch.zeros_like(x)
    upstream[-1] = torch.randn(256, device="cuda")
    gradient = []
    for rows in (x, x[-1:].clone()):
        taken = rows.detach().requires_grad_()
        y = function(name)(taken, *weights)
        gradient += torch.autograd.grad(y, taken, upstream[-len(rows) :])
    assert torch.equal(gradient[0][-1:], gradient[1])


@gpu
@needs_gpu
@pytest.mark.parametrize("name", ["rmsnorm", "layernorm", "swiglu", "cross_entropy"])
def test_7_a_cuda_graph_of_forward_and_backward_replays(name: str) -> None:
    given = inputs(name, of(name).traced.variants[0])
    values = [a.cuda() if isinstance(a, torch.Tensor) else a for a in arguments(name, given)]
    floats = [a for a in values if isinstance(a, torch.Tensor) and a.is_floating_point()]
    for tensor in floats:
        tensor.requires_grad_()

    def step() -> tuple[torch.Tensor, ...]:
        results = function(name)(*values)
        first = results[0] if isinstance(results, tuple) else results
        return torch.autograd.grad(first.square().sum(), floats)

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        step()  # compiles
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        captured = step()
    with torch.no_grad():
        for tensor in floats:
            tensor.copy_(torch.randn_like(tensor))
    graph.replay()
    torch.cuda.synchronize()
    assert all(map(torch.equal, captured, step()))
