"""Inputs that broke kernels, of any family: rows 1 and 3 to 8 of the list, and the kind behind each."""

import warnings

import pytest
import torch
from cases_ops import (
    OPS,
    arguments,
    call,
    function,
    gpu,
    inputs,
    needs_gpu,
    of,
    same,
    sizes,
    variants,
)  # fmt: skip

from tilegen.spec.trace import Variant
from tilegen.toolchain.inputs import LAYOUTS
from tilegen.toolchain.shapes import Shape


@gpu
@needs_gpu
@pytest.mark.parametrize("name", ["rmsnorm", "softmax", "layernorm", "silu", "logsumexp"])
def test_1_offsets_past_2_to_the_31(name: str) -> None:
    x = torch.zeros(2**23 + 16, 256, dtype=torch.bfloat16, device="cuda")
    x[-1] = torch.randn(256, device="cuda")
    weights = [torch.ones(256, dtype=x.dtype, device="cuda")] * (len(of(name).op.inputs) - 1)
    weights = [w for w, o in zip(weights, of(name).op.inputs[1:], strict=True) if not o.optional]
    result = function(name)(x, *weights)
    small = function(name)(x[-5:].clone(), *weights)
    assert torch.equal(result[-5:], small)


@pytest.mark.parametrize(("name", "variant"), variants())
def test_1_64_bit_offsets_give_the_same(
    name: str, variant: Variant, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = of(name).runtime
    given = inputs(name, variant)
    expected = call(name, given)
    monkeypatch.setattr(runtime, "_INT32_SPAN", 0)
    runtime.LAUNCHES.clear()
    results = call(name, given)
    runtime.LAUNCHES.clear()
    assert all(map(same, results, expected))


@pytest.mark.parametrize("name", OPS)
def test_3_any_strides_give_what_contiguous_copies_give(name: str) -> None:
    variant = of(name).traced.variants[-1]
    item = sizes(name, 7)
    if of(name).op.fold is not None:
        item = Shape(item.sizes, (2, 1))
    for layout in (*LAYOUTS[1:], "mixed 0", "mixed 3"):
        given = inputs(name, variant, item, layout)
        copies = [t if t is None else t.contiguous() for t in given.tensors]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = of(name).op(given.tensors, given.params)
        expected = of(name).op(copies, given.params)
        if isinstance(results, torch.Tensor):
            results, expected = (results,), (expected,)
        for result, right in zip(results, expected, strict=True):
            assert result.dtype == right.dtype
            # Another schedule may add up in another order.
            torch.testing.assert_close(result.double(), right.double(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", OPS)
def test_4_a_second_call_is_not_the_first(name: str) -> None:
    """Other sizes, dtypes and strides in between; then the first again, with the same bits."""
    of(name).runtime.LAUNCHES.clear()
    variant = of(name).traced.variants[0]
    cases = [
        inputs(name, variant, sizes(name, inner), layout, dtype, seed)
        for inner, layout, dtype, seed in [
            (19, "contiguous", torch.float32, 0),
            (33, "contiguous", torch.float32, 2),
            (19, "contiguous", torch.bfloat16, 0),
            (19, "transposed", torch.float32, 2),
            (16, "offset 1", torch.float16, 1),
        ]
    ]
    first = [call(name, case) for case in cases]
    again = [call(name, case) for case in reversed(cases)][::-1]
    for one, two, case in zip(first, again, cases, strict=True):
        assert all(map(same, one, two))
        for result, right in zip(one, call(name, case, backend="torch"), strict=True):
            # Coarse: what is looked for is a result of another call.
            torch.testing.assert_close(result.double(), right.double(), rtol=2e-1, atol=2e-1)


@pytest.mark.parametrize("name", OPS)
def test_5_no_rows_and_no_columns(name: str) -> None:
    """The right shape; what has an identity gives it, and what has none says so."""
    op = of(name)
    variant = op.traced.variants[0]
    item = sizes(name)
    sized = {param.dim for param in op.traced.params if param.kind == "size"}
    for dim in item.sizes.keys() - op.static.keys() - sized:
        empty = inputs(name, variant, Shape({**item.sizes, dim: 0}))
        try:
            expected = call(name, empty, backend="torch")
        except Exception:
            with pytest.raises(ValueError, match=rf"{name}: .*{dim}"):
                call(name, empty)
            continue
        for result, right in zip(call(name, empty), expected, strict=True):
            assert result.shape == right.shape
            assert same(result, right), dim


@gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="fewer than two GPUs")
@pytest.mark.parametrize("name", ["rmsnorm", "silu", "cross_entropy"])
def test_6_tensors_on_the_second_gpu_while_the_first_is_current(name: str) -> None:
    given = inputs(name, of(name).traced.variants[0])
    values = [a.to("cuda:1") if isinstance(a, torch.Tensor) else a for a in arguments(name, given)]
    with torch.cuda.device(0):
        results = function(name)(*values)
        right = function(name)(*values, backend="torch")
    for result, expected in zip(
        results if isinstance(results, tuple) else (results,),
        right if isinstance(right, tuple) else (right,), strict=True,
    ):  # fmt: skip
        assert result.device == torch.device("cuda:1")
        torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-5)


@gpu
@needs_gpu
@pytest.mark.parametrize("name", ["softmax", "rmsnorm", "swiglu", "cross_entropy", "groupnorm"])
def test_7_a_cuda_graph_replays_new_contents(name: str) -> None:
    given = inputs(name, of(name).traced.variants[0])
    values = [a.cuda() if isinstance(a, torch.Tensor) else a for a in arguments(name, given)]
    run = function(name)
    run(*values)  # compiles
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = run(*values)
    for value in values:
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            value.copy_(torch.randn_like(value))
    graph.replay()
    torch.cuda.synchronize()
    right = run(*values)
    for one, two in zip(
        captured if isinstance(captured, tuple) else (captured,),
        right if isinstance(right, tuple) else (right,), strict=True,
    ):  # fmt: skip
        assert torch.equal(one, two)


@pytest.mark.parametrize("name", ["rmsnorm", "layernorm", "l2norm", "dropout_residual_add"])
def test_8_compiled_with_a_scalar_it_gives_the_bits_of_eager(name: str) -> None:
    variant = of(name).traced.variants[0]
    run = function(name)
    torch._dynamo.reset()
    compiled = torch.compile(run, fullgraph=True, backend="aot_eager")
    for seed, scalar in enumerate((1e-6, 1e-3, 0.25)):
        given = inputs(name, variant, seed=seed)
        values = [scalar if isinstance(a, float) else a for a in arguments(name, given)]
        assert same(compiled(*values), run(*values))


@gpu
@needs_gpu
@pytest.mark.parametrize("name", ["rmsnorm", "layernorm", "l2norm", "dropout_residual_add"])
def test_8_a_scalar_brings_no_fp64_to_the_kernel(name: str) -> None:
    module = of(name).module
    given = inputs(name, of(name).traced.variants[0])
    values = [a.cuda() if isinstance(a, torch.Tensor) else a for a in arguments(name, given)]
    compiled = torch.compile(getattr(module, name), fullgraph=True)
    assert torch.equal(compiled(*values), getattr(module, name)(*values))
    kernels = [value for value in vars(module).values() if hasattr(value, "device_caches")]
    found = [
        binary.asm["ptx"]
        for kernel in kernels
        for caches in kernel.device_caches.values()
        for binary in caches[0].values()
    ]
    assert found
    assert not any(".f64" in text for text in found)
