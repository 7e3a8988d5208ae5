import itertools
import warnings

import pytest
import torch

SHAPES = [(4, 37), (1, 1), (3, 64), (2, 3, 5), (2, 3, 4, 17), (0, 8), (5, 0)]
DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.float64]


@pytest.fixture(scope="module")
def rmsnorm(sample):
    return sample("rmsnorm").rmsnorm


@pytest.fixture(scope="module")
def vector_add(sample):
    return sample("vector_add").vector_add


@pytest.fixture(scope="module")
def grouped(sample):
    return sample("grouped").grouped


def random(*shape, dtype=torch.float32):
    return torch.randn(shape, dtype=torch.float64).to(dtype)


def layouts(shape, dtype=torch.float32):
    """Yield tensors of one shape in several layouts: dense, sliced, transposed, offset, expanded."""
    yield random(*shape, dtype=dtype)
    yield random(*shape[:-1], 2 * shape[-1], dtype=dtype)[..., ::2]
    yield random(*reversed(shape), dtype=dtype).permute(*reversed(range(len(shape))))
    yield random(*shape[:-1], shape[-1] + 1, dtype=dtype)[..., 1:]
    yield random(shape[-1], dtype=dtype).expand(shape)


def close(result, expected):
    assert result.shape == expected.shape
    assert result.dtype == expected.dtype
    tolerance = 2 * torch.finfo(expected.dtype).eps
    torch.testing.assert_close(result, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_rmsnorm(rmsnorm, runtime, shape, dtype):
    weight = random(shape[-1], dtype=dtype)
    for x in layouts(shape, dtype):
        result = rmsnorm(x, weight, 1e-3)
        assert runtime.last_launch().path == "interpreter"
        close(result, rmsnorm(x, weight, 1e-3, backend="torch"))
        assert result.is_contiguous()


def test_vector_add_in_every_layout(vector_add, runtime):
    shape = (3, 4, 5)
    for x, y in itertools.product(layouts(shape), repeat=2):
        result = vector_add(x, y)
        assert torch.equal(result, x + y)
        if x.stride() == y.stride():
            assert result.stride() == (x + y).stride()


def test_transposed_dense_tensors_are_flat(vector_add, runtime):
    x, y = (random(5, 4, 3).permute(2, 0, 1) for _ in range(2))
    assert torch.equal(vector_add(x, y), x + y)
    assert runtime.last_launch().kernels == ("_vector_add_flat",)
    vector_add(x, y.contiguous())
    assert runtime.last_launch().kernels == ("_vector_add_strided",)


def test_an_alternating_sequence_of_calls(rmsnorm, vector_add):
    """Every call repeats with other shapes, dtypes, strides and alignments in between."""
    cases = []
    for dtype, shape in itertools.product((torch.float32, torch.bfloat16), [(4, 8), (8, 4)]):
        cases += [(x, random(shape[-1], dtype=dtype)) for x in layouts(shape, dtype)]
    for _ in range(2):
        for x, weight in cases:
            close(rmsnorm(x, weight), rmsnorm(x, weight, backend="torch"))
            close(vector_add(x, x), x + x)


def test_the_cache_tells_calls_apart_by_all_that_compiles(rmsnorm, runtime):
    weight = random(8)
    rmsnorm(random(4, 8), weight)
    rmsnorm(random(4, 8), weight, 1e-3)  # a run-time float
    assert len(runtime.LAUNCHES.calls) == 1
    memory = random(100)
    variations = [
        (random(2, 8), weight),
        (random(4, 16)[:, ::2], weight),
        (random(4, 8, dtype=torch.float64), weight),
        (memory[1:33].view(4, 8), weight),
        (random(4, 8), memory[1:9]),
        (random(1, 4, 8), weight),
    ]
    for at, (x, scale) in enumerate(variations, 2):
        rmsnorm(x, scale)
        assert len(runtime.LAUNCHES.calls) == at
    rmsnorm(random(4, 8), weight, backend="torch")
    rmsnorm(random(4, 8), weight, out=torch.empty(4, 8))
    assert len(runtime.LAUNCHES.calls) == len(variations) + 3


def test_the_cache_starts_over_when_full(rmsnorm, runtime, monkeypatch):
    monkeypatch.setattr(runtime, "_MOST_CALLS", 3)
    for rows in range(1, 9):
        rmsnorm(random(rows, 8), random(8))
        assert 1 <= len(runtime.LAUNCHES.calls) <= 3


def test_last_launch(rmsnorm, runtime):
    assert runtime.last_launch() is None
    rmsnorm(random(4, 8), random(8))
    record = runtime.last_launch()
    assert record[:3] == ("rmsnorm", "interpreter", ("_rmsnorm_block",))
    assert record.config["TILE"] in (4096, 8192)
    rmsnorm(random(4, 8), random(8), backend="torch")
    assert runtime.last_launch() == ("rmsnorm", "torch", (), ())
    assert runtime.last_launch().config is None


def test_empty_tensors_launch_nothing(rmsnorm, runtime):
    assert rmsnorm(random(0, 8), random(8)).shape == (0, 8)
    assert runtime.last_launch().kernels == ()
    assert rmsnorm(random(4, 0), random(0)).shape == (4, 0)


def test_reduction_over_nothing(grouped):
    y, total = grouped(random(3, 0), None, groups=2)
    assert y.shape == (3, 0)
    assert torch.equal(total, torch.zeros(3))


VARIANTS = list(itertools.product((False, True), ("add", "mul"), (False, True)))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_variants(grouped, runtime, variant, dtype):
    has_bias, mode, drop = variant
    bias = random(3, dtype=dtype) if has_bias else None
    for x, seed in itertools.product(
        (random(2, 5, 12, dtype=dtype), random(12, 4).T.to(dtype)), (1, -(2**40))
    ):
        arguments = {"scale": 0.1, "seed": seed, "mode": mode, "drop": drop, "groups": 3}
        y, total = grouped(x, bias, **arguments)
        assert runtime.last_launch().kernels == ("_grouped_map", "_grouped_finish")
        expected, expected_total = grouped(x, bias, **arguments, backend="torch")
        close(y, expected)
        torch.testing.assert_close(total, expected_total)
        assert total.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)


def test_fp64_parameters_keep_their_bits(grouped):
    x = torch.ones(1, 2, dtype=torch.float64)
    for scale in (0.1, 1.0, 0.0, -1 / 3, 5e-324, float("inf")):
        y, _ = grouped(x, None, scale=scale, groups=1)
        assert y[0, 0].item() == scale


def test_params_of_other_number_types(grouped):
    x = torch.ones(1, 2)
    for scale in (2, True, torch.ones(1).numpy()[0]):
        y, _ = grouped(x, None, scale=scale, groups=1)
        assert y[0, 0].item() == float(scale)


def test_wrong_arguments_are_wrong_on_every_call(rmsnorm, grouped):
    for _ in range(2):
        with pytest.raises(ValueError, match="rmsnorm: weight has N = 7, but x has N = 8"):
            rmsnorm(random(4, 8), random(7))
        with pytest.raises(TypeError, match="rmsnorm: x must be a tensor, got list"):
            rmsnorm([1.0], random(7))
        with pytest.raises(TypeError, match="rmsnorm: x must be a tensor, got NoneType"):
            rmsnorm(None, random(7))
        with pytest.raises(TypeError, match="rmsnorm: eps must be a float, got str"):
            rmsnorm(random(4, 8), random(8), "1")
        with pytest.raises(ValueError, match="grouped: fixed = 8, but this build fixed it at 7"):
            grouped(random(4, 8), None, groups=2, fixed=8)
        with pytest.raises(ValueError, match="grouped: mode is 'sub'"):
            grouped(random(4, 8), None, mode="sub", groups=2)
        with pytest.raises(ValueError, match="which is no multiple of G = 3"):
            grouped(random(4, 8), None, groups=3)
        with pytest.raises(ValueError, match="backend is 'cuda', expected \"auto\""):
            rmsnorm(random(4, 8), random(8), backend="cuda")


def test_offsets_are_int64_when_a_span_needs_it(vector_add, runtime, monkeypatch):
    seen = []
    launch = runtime.Kernel.launch

    def spy(self, tensors, scalars):
        seen.append(str(self.constants["INT"]))
        launch(self, tensors, scalars)

    monkeypatch.setattr(runtime.Kernel, "launch", spy)
    monkeypatch.setattr(runtime, "_INT32_SPAN", 50)
    x = random(49)
    assert torch.equal(vector_add(x, x), x + x)
    x = random(99)[::2]
    assert torch.equal(vector_add(x, x), x + x)
    x = random(1).expand(50)
    assert torch.equal(vector_add(x, x), x + x)
    assert seen == ["int32", "int64", "int64"]


def awkward(*shape):
    """Return a tensor none of whose axes merge."""
    wide = random(*(size + 1 for size in shape))
    return wide[tuple(slice(size) for size in shape)]


def test_more_axes_than_a_kernel_takes_are_copied_with_a_warning(vector_add, rmsnorm):
    x, y = awkward(2, 3, 2, 3, 2), random(2, 3, 2, 3, 2)
    with pytest.warns(UserWarning, match="vector_add: x is copied in each such call"):
        assert torch.equal(vector_add(x, y), x + y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = awkward(2, 3, 2, 3, 2)
        assert torch.equal(vector_add(again, y), again + y)
    x, weight = awkward(2, 3, 2, 3, 8), random(8)
    with pytest.warns(UserWarning, match="rmsnorm: x is copied"):
        close(rmsnorm(x, weight), rmsnorm(x, weight, backend="torch"))


def test_an_out_with_more_axes_than_a_kernel_takes(vector_add):
    x, y, out = random(2, 3, 2, 3, 2), random(2, 3, 2, 3, 2), awkward(2, 3, 2, 3, 2)
    for _ in range(2):
        assert vector_add(x, y, out=out) is out
        assert torch.equal(out, x + y)


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 2, 0, 1, 3)])
def test_everything_awkward(vector_add, order):
    x, y, out = awkward(2, 3, 2, 3, 4), awkward(2, 3, 2, 3, 4), awkward(2, 3, 2, 3, 4)
    x, out = x.permute(order), random(2, 3, 2, 3, 4).permute(order)
    y = awkward(*x.shape)
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            vector_add(x, y, out=out)
        assert torch.equal(out, x + y)


def test_out(vector_add, rmsnorm, grouped):
    x, y = random(4, 6), random(4, 6)
    for out in (torch.empty(4, 6), torch.empty(6, 4).T, torch.empty(4, 12)[:, ::2]):
        for backend in ("auto", "torch"):
            out.fill_(7.0)
            assert vector_add(x, y, out=out, backend=backend) is out
            assert torch.equal(out, x + y)
    both = (torch.empty(4, 6), torch.empty(4))
    result = grouped(x, None, groups=2, out=both)
    assert result[0] is both[0]
    assert result[1] is both[1]
    assert torch.equal(both[0], x)


def test_out_may_be_the_view_that_is_read(vector_add):
    x, y = random(4, 6), random(4, 6)
    expected = x + y
    assert torch.equal(vector_add(x, y, out=x), expected)
    x = random(4, 12)
    expected = x[:, ::2] + x[:, 1::2]
    vector_add(x[:, ::2], x[:, 1::2], out=x[:, ::2])
    assert torch.equal(x[:, ::2], expected)
    memory = random(4, 12)
    expected = memory[:, :6] + y
    vector_add(memory[:, :6], y, out=memory[:, 6:])
    assert torch.equal(memory[:, 6:], expected)


def test_wrong_outs(vector_add, rmsnorm, grouped):
    x, weight = random(6, 6), random(6)
    memory = random(100)
    cases = [
        (torch.empty(6, 5), r"out is \[6, 5\], expected \[6, 6\]"),
        (torch.empty(6, 6, dtype=torch.float16), "out is torch.float16, expected torch.float32"),
        (torch.empty(6, 6, device="meta"), "out is meta, expected cpu"),
        (torch.empty(6).expand(6, 6), r"elements of out share memory \(shape \[6, 6\]"),
        (x, "out for y shares memory with x, which is still read when y is written"),
        (x.T, "out for y shares memory with x"),
        ((torch.empty(6, 6), torch.empty(6)), "out has 2 tensors, expected y"),
    ]
    for _ in range(2):
        for out, text in cases:
            with pytest.raises(ValueError, match=f"rmsnorm: {text}"):
                rmsnorm(x, weight, out=out)
        with pytest.raises(TypeError, match="rmsnorm: out for y must be a tensor, got str"):
            rmsnorm(x, weight, out=("y",))
        with pytest.raises(ValueError, match="x, but is another view; only the very same view"):
            vector_add(x, x, out=x.T)
        with pytest.raises(ValueError, match="out for total shares memory with out for y"):
            grouped(x, None, groups=2, out=(memory[:36].view(6, 6), memory[35:41]))


def test_aliases_are_checked_when_a_prepared_call_is_reused(rmsnorm):
    memory, weight = random(200), random(8)
    x = memory[:32].view(4, 8)
    rmsnorm(x, weight, out=memory[32:64].view(4, 8))
    with pytest.raises(ValueError, match="shares memory with x"):
        rmsnorm(x, weight, out=memory[16:48].view(4, 8))


def test_inference_mode(rmsnorm):
    x, weight = random(4, 8), random(8)
    with torch.inference_mode():
        result = rmsnorm(x, weight)
    assert result.is_inference()
    close(result, rmsnorm(x, weight))


@pytest.mark.parametrize("backend", ["auto", "torch"])
def test_an_op_without_gradients_gives_constants(rmsnorm, backend):
    x, weight = random(4, 8), torch.nn.Parameter(random(8))
    result = rmsnorm(x, weight, backend=backend)
    assert not result.requires_grad
    close(result, rmsnorm(x, weight.detach()))


def test_forward_mode_is_refused(rmsnorm):
    x, weight = random(4, 8), random(8)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
        with pytest.raises(NotImplementedError, match="rmsnorm has no forward-mode gradient"):
            rmsnorm(dual, weight)
        close(rmsnorm(x, weight), rmsnorm(x, weight, backend="torch"))


def test_autotune_in_the_interpreter_takes_the_first_cost(rmsnorm, runtime):
    x, weight = random(4, 8), random(8)
    close(rmsnorm(x, weight, autotune=True), rmsnorm(x, weight))
    assert runtime.LAUNCHES.tuned == {}


def test_a_reference_that_returns_its_input_is_copied(runtime):
    op = runtime.Op(
        name="same", spec_hash="00000000",
        inputs=(runtime.Operand("x", ("N",)),),
        outputs=(runtime.Output("y", ("N",), like="x"),),
        variants={(): runtime.Variant(None, lambda x, compute: x)},
    )  # fmt: skip
    x = random(5)
    result = op((x,), (), None, "torch")
    assert torch.equal(result, x)
    assert result.data_ptr() != x.data_ptr()
