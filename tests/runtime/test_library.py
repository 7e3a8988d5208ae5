"""The registered PyTorch op, on the CPU through the interpreter."""

import pytest
import torch


@pytest.fixture(scope="module")
def rmsnorm(sample):
    return sample("rmsnorm").rmsnorm


@pytest.fixture(scope="module")
def vector_add(sample):
    return sample("vector_add").vector_add


@pytest.fixture(scope="module")
def grouped(sample):
    return sample("grouped").grouped


def compiled(function):
    torch._dynamo.reset()
    return torch.compile(function, fullgraph=True, backend="aot_eager")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("rmsnorm_3fa2c1d0", lambda: (torch.randn(4, 8), torch.randn(8), 1e-6)),
        ("rmsnorm_3fa2c1d0", lambda: (torch.randn(2, 8, 3).mT, torch.randn(8), 1e-6)),
        ("rmsnorm_3fa2c1d0", lambda: (torch.randn(0, 8), torch.randn(8), 1e-6)),
        ("vector_add_0a1b2c3d", lambda: (torch.randn(4, 8).T, torch.randn(4, 8).T)),
        (
            "grouped_77777777",
            lambda: (torch.randn(4, 8), torch.randn(2), 2.0, 3, "mul", True, 2, 7),
        ),
        ("grouped_77777777", lambda: (torch.randn(4, 8), None, 2.0, 3, "add", False, 2, 7)),
    ],
)
def test_opcheck(sample, name, arguments):
    for module in ("rmsnorm", "vector_add", "grouped"):
        sample(module)
    torch.library.opcheck(getattr(torch.ops.tilegen, name).default, arguments())


def test_schemas(sample):
    for module in ("rmsnorm", "grouped"):
        sample(module)
    assert str(torch.ops.tilegen.rmsnorm_3fa2c1d0.default._schema) == (
        "tilegen::rmsnorm_3fa2c1d0(Tensor x, Tensor weight, float eps) -> Tensor"
    )
    assert str(torch.ops.tilegen.grouped_77777777.default._schema) == (
        "tilegen::grouped_77777777(Tensor x, Tensor? bias, float scale, SymInt seed, str mode, "
        "bool drop, SymInt groups, SymInt fixed) -> (Tensor, Tensor)"
    )


def test_torch_compile_keeps_one_graph(rmsnorm, grouped, runtime):
    x, weight = torch.randn(2, 4, 8), torch.randn(8)

    @compiled
    def function(x, weight):
        y, total = grouped(rmsnorm(x * 2, weight), weight[:4], groups=4, mode="mul")
        return y + 1, total

    y, total = grouped(rmsnorm(x * 2, weight), weight[:4], groups=4, mode="mul")
    runtime.LAUNCHES.clear()
    result = function(x, weight)
    assert runtime.last_launch().path == "interpreter"
    torch.testing.assert_close(result, (y + 1, total))


def test_torch_compile_with_dynamic_sizes(rmsnorm):
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    torch._dynamo.reset()
    function = torch.compile(lambda x, w: rmsnorm(x, w), fullgraph=True, backend=counter)
    weight = torch.randn(8)
    for rows in (4, 5, 6, 7, 9, 12):
        x = torch.randn(rows, 8)
        torch.testing.assert_close(function(x, weight), rmsnorm(x, weight))
    assert counter.frame_count == 2


def test_torch_compile_of_other_arguments(rmsnorm, vector_add, grouped):
    x, y = torch.randn(8, 4).T, torch.randn(8, 4).T
    out = torch.empty(4, 8)
    weight = torch.randn(8)
    result = compiled(lambda x, y: vector_add(x, y))(x, y)
    torch.testing.assert_close(result, x + y)
    assert result.stride() == x.stride()
    compiled(lambda: rmsnorm(x, weight, out=out))()
    torch.testing.assert_close(out, rmsnorm(x, weight))
    result = compiled(lambda: rmsnorm(x, weight, backend="torch"))()
    torch.testing.assert_close(result, rmsnorm(x, weight, backend="torch"))
    result = compiled(lambda: grouped(x, None, seed=5, drop=True, groups=2))()
    torch.testing.assert_close(result, grouped(x, None, seed=5, drop=True, groups=2))


def test_inference_mode_and_compile(rmsnorm):
    x, weight = torch.randn(4, 8), torch.randn(8)
    with torch.inference_mode():
        result = compiled(lambda: rmsnorm(x, weight))()
    torch.testing.assert_close(result, rmsnorm(x, weight))


def test_errors_under_torch_compile(rmsnorm):
    x, weight = torch.randn(4, 8), torch.randn(7)
    with pytest.raises(Exception, match="weight has N = 7, but x has N = 8"):
        compiled(lambda: rmsnorm(x, weight))()


def test_fake_tensors_give_the_layout(rmsnorm, grouped):
    with torch._subclasses.FakeTensorMode():
        x, weight = torch.empty(2, 4, 8, dtype=torch.bfloat16), torch.empty(8, dtype=torch.float32)
        result = rmsnorm(x, weight)
        assert (result.shape, result.dtype) == ((2, 4, 8), torch.bfloat16)
        y, total = grouped(x, None, groups=2)
        assert (y.shape, y.dtype) == ((2, 4, 8), torch.bfloat16)
        assert (total.shape, total.dtype) == ((2, 4), torch.float32)


def test_tensor_subclasses_and_modes_see_the_op(rmsnorm):
    x, weight = torch.randn(4, 8), torch.randn(8)
    graph = torch.fx.experimental.proxy_tensor.make_fx(lambda *tensors: rmsnorm(*tensors))(
        x, weight
    )
    targets = [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]
    assert targets == ["tilegen.rmsnorm_3fa2c1d0.default"]


def test_vmap(rmsnorm):
    x, weight = torch.randn(3, 4, 8), torch.randn(8)
    result = torch.vmap(lambda row: rmsnorm(row, weight))(x)
    torch.testing.assert_close(result, rmsnorm(x, weight))


def test_each_of_two_equal_specs_has_an_op_of_its_own(runtime, sample):
    op = sample("rmsnorm").OP
    assert op.overload is torch.ops.tilegen.rmsnorm_3fa2c1d0.default
    second, third = (runtime.register(op, "rmsnorm_3fa2c1d0") for _ in range(2))
    assert second is torch.ops.tilegen.rmsnorm_3fa2c1d0_2.default
    assert third is torch.ops.tilegen.rmsnorm_3fa2c1d0_3.default
