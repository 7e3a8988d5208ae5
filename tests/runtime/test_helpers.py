"""The jit helpers in the interpreter, against PyTorch in fp64 and independent implementations."""

import itertools
import math

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, for nan and overflow

INF, NAN = float("inf"), float("nan")
ON_GPU = torch.cuda.is_available()
BLOCK = 1024 if ON_GPU else 65536


def unary(helpers, name, x):
    y = torch.empty_like(x)
    helpers.map_unary[(1,)](x, y, x.numel(), NAME=name, BLOCK=1 << (x.numel() - 1).bit_length())
    return y


@triton.jit
def map_function(x_ptr, y_ptr, N, FUNCTION: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < N
    tl.store(y_ptr + offsets, FUNCTION(tl.load(x_ptr + offsets, mask=mask, other=0.0)), mask=mask)


def mapped(function, x):
    """Return the jit function of one argument at each element of ``x``."""
    x = x.cuda() if ON_GPU else x
    y = torch.empty_like(x)
    map_function[(-(-x.numel() // BLOCK),)](x, y, x.numel(), FUNCTION=function, BLOCK=BLOCK)
    return y.cpu()


def units_off(result, exact):
    """Return the error in units of the last place of ``exact`` (rounded to the result's dtype)."""
    info = torch.finfo(result.dtype)
    exact = exact.double()
    place = torch.floor(torch.log2(exact.abs().clamp(min=info.tiny)))
    error = (result.double() - exact).abs() / (2.0**place * info.eps)
    same = (result.double() == exact) | (result.isnan() & exact.isnan())
    return torch.where(same | (result == exact.to(result.dtype)), 0.0, error)


EDGES = (0.0, -0.0, 1.0, -1.0, 1e-45, -1e-45, 1e-38, 1e-20, -1e-20, 1e-7, -1e-7, 0.1, -0.1, 0.5)
EDGES += (-0.5, 0.549, 2.0, -2.0, 9.0, -9.0, 17.0, -17.5, 40.0, 88.0, 88.72, 88.73, 100.0, -100.0)
EDGES += (-104.0, 1e10, 3e38, -3e38, INF, -INF, NAN, -0.99999994, 8388607.5)


UNITS = {"tanh": 2.5, "expm1": 2.0, "log1p": 1.0}


@pytest.mark.parametrize("name", UNITS)
def test_fp32_functions_are_precise(helpers, name):
    spread = torch.randn(4000) * 10 ** torch.empty(4000).uniform_(-9, 2)
    x = torch.cat([torch.tensor(EDGES), spread, torch.linspace(-3, 3, 2000)])
    result, exact = unary(helpers, name, x), getattr(torch, name)(x.double())
    assert units_off(result, exact).max() <= UNITS[name]
    zeros = result == 0
    assert torch.equal(torch.signbit(result[zeros]), torch.signbit(exact[zeros]))


#: Errors in units of the last place that the fp32 functions of a few instructions may have; the
#: chip's exponentials and roots are less precise than the interpreter's.
SHORT = {"erf": 4.0, "tanh": 4.0} if ON_GPU else {"erf": 1.75, "tanh": 2.0}
#: Where their polynomials end, and where they are 1.
KNEES = {"erf": (0.95, 3.9195), "tanh": (1.0, 9.0109)}


@pytest.mark.parametrize("name", SHORT)
def test_short_functions_are_precise_everywhere(runtime, name):
    """Every binade, both sides of every knee, and a fine grid between."""
    knees = torch.tensor([*KNEES[name], 2 * KNEES[name][1]])
    around = (
        (knees.view(torch.int32)[:, None] + torch.arange(-4000, 4000)).int().view(torch.float32)
    )
    binades = 2.0 ** torch.linspace(-125, 127, 30000, dtype=torch.float64)
    size = torch.cat([torch.linspace(0, 10, 300001), around.flatten(), binades.float()])
    x = torch.cat([size, -size])
    result, exact = mapped(getattr(runtime, name), x), getattr(torch, name)(x.double())
    assert units_off(result, exact).max() <= SHORT[name]
    assert (result.abs() <= 1).all()
    assert torch.equal(torch.signbit(result), torch.signbit(x))


@pytest.mark.parametrize("name", SHORT)
def test_short_functions_are_as_good_as_eager(runtime, name):
    """The largest error is at most twice that of eager fp32 and a rounding, on narrow ranges too."""
    for low, high in ((-0.1, 0.1), (0.3, 0.9), (-2.0, -0.9), (1.5, 3.0), (-6.0, -3.0), (-3.0, 3.0)):
        x = torch.linspace(low, high, 50001)
        exact = getattr(torch, name)(x.double())
        ours, eager = (
            (y.double() - exact).abs().max()
            for y in (mapped(getattr(runtime, name), x), getattr(torch, name)(x))
        )
        assert ours <= 2 * eager + 2.0**-24 * exact.abs().max()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", SHORT)
def test_short_functions_at_the_ends(runtime, name, dtype):
    x = torch.tensor([INF, -INF, 3e38, -3e38, 40.0, -40.0, 0.0, -0.0, NAN], dtype=dtype)
    result = mapped(getattr(runtime, name), x)
    assert result[:8].tolist() == [1, -1, 1, -1, 1, -1, 0, 0]
    assert torch.equal(torch.signbit(result[:8]), torch.signbit(x[:8]))
    assert result[8].isnan()


def composed_gelu(x):
    """Return the exact GELU in eager, op by op: it is closer than that of `torch.nn.functional`."""
    return 0.5 * x * (1.0 + torch.erf(x * math.sqrt(0.5)))


def gelu_errors(runtime, x):
    """Return the exact GELU in fp64 and the errors of the helper and of eager in fp32."""
    exact = torch.nn.functional.gelu(x.double())
    ours, eager = mapped(runtime.exact_gelu, x), composed_gelu(x)
    return exact, (ours.double() - exact).abs(), (eager.double() - exact).abs()


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (-20, 20), (-14, -8), (-8, -6), (-6, -3), (-4, -3), (-3, -2), (-2, -1), (-1, 0),
        (-0.1, 0.1), (-1e-3, 1e-3), (0, 1), (1, 3), (3, 6), (6, 20),
    ],
)  # fmt: skip
def test_exact_gelu_is_as_good_as_eager(runtime, low, high):
    """The largest error is at most twice that of eager fp32 and a rounding, on narrow ranges too."""
    exact, ours, eager = gelu_errors(runtime, torch.linspace(low, high, 200001))
    assert ours.max() <= 2 * eager.max() + 2.0**-24 * exact.abs().max()


#: Lower ends of x, and the relative errors of the exact GELU above them, up to the next.
GELU_RELATIVE = {-3.0: 1e-5, -2.0: 2e-6, -1.0: 4e-7, 0.0: 2e-7}


@pytest.mark.parametrize("low", GELU_RELATIVE)
def test_exact_gelu_is_precise_where_it_is_not_tiny(runtime, low):
    """A fine grid, and from 0 on every binade as well."""
    grid = torch.linspace(low, low + 1, 200001)
    if low == 0.0:
        binades = 2.0 ** torch.linspace(-124, 127, 30000, dtype=torch.float64)
        grid = torch.cat([torch.linspace(0, 20, 400001), binades.float(), -binades[:14000].float()])
    exact, ours, _ = gelu_errors(runtime, grid)
    assert (ours <= GELU_RELATIVE[low] * (2 if ON_GPU else 1) * exact.abs()).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_exact_gelu_at_the_ends(runtime, dtype):
    x = torch.tensor([INF, -INF, NAN, 3e38, -3e38, 40.0, -40.0, -16.0, 0.0, -0.0], dtype=dtype)
    # In fp32, PyTorch's gelu of +inf is NaN on some CPUs.
    result, expected = mapped(runtime.exact_gelu, x), torch.nn.functional.gelu(x.double())
    assert result[:3].nan_to_num(7.0, INF).tolist() == [INF, 7.0, 7.0]
    assert expected[:3].nan_to_num(7.0, INF).tolist() == [INF, 7.0, 7.0]
    assert result[3:].tolist() == x[3:].clamp(min=0).tolist()
    # Without a sign where PyTorch's vectors have none either; in fp64 it has one.
    signs = torch.signbit(result[8:]).tolist()
    assert signs == ([False, True] if dtype == torch.float64 else [False, False])


def test_exact_gelu_never_grows_again(runtime):
    """Neither does the polynomial turn, nor does the power come back, for any negative x."""
    x = -(2.0 ** torch.linspace(4, 127.9, 100000, dtype=torch.float64)).float()
    assert (mapped(runtime.exact_gelu, x) == 0).all()
    x = torch.linspace(-16, -0.76, 200001)
    y = mapped(runtime.exact_gelu, x)
    assert (y <= 0).all()
    assert (y.diff() <= 3e-8).all()


def test_exact_gelu_in_fp64(runtime):
    x = torch.cat([torch.linspace(-40, 40, 60001), torch.randn(4000) * 1e-9]).double()
    off = (mapped(runtime.exact_gelu, x) - torch.nn.functional.gelu(x)).abs()
    assert (off <= torch.finfo(torch.float64).eps * x.abs()).all()


@pytest.mark.parametrize("name", UNITS)
def test_fp64_functions_are_precise(helpers, name):
    """Against numpy in 80-bit floats, where there are any."""
    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("long double is no wider than double here")
    edges = (*EDGES, 709.78, 709.79, 745.0, 1e-310, 5e-324)
    spread = torch.randn(3000, dtype=torch.float64) * 10 ** torch.empty(3000).uniform_(-16, 2)
    x = torch.cat([torch.tensor(edges, dtype=torch.float64), spread.double()])
    result = unary(helpers, name, x).numpy()
    exact = getattr(np, name)(x.numpy().astype(np.longdouble))
    rounded = exact.astype(np.float64)
    same = (result == rounded) | (np.isnan(result) & np.isnan(rounded))
    place = np.spacing(np.maximum(np.abs(rounded[~same]), np.finfo(np.float64).tiny))
    assert np.max(np.abs(result[~same] - exact[~same]) / place, initial=0) <= UNITS[name]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_round_even(helpers, dtype):
    halves = torch.arange(-20, 20, dtype=dtype) + 0.5
    big = torch.tensor([2.0**22 + 0.5, 2.0**23 - 0.5, 2.0**23 + 1, 2.0**52 + 1, 1e30], dtype=dtype)
    edges = torch.tensor([0.0, -0.0, 0.49999997, -0.3, INF, -INF, NAN, 1e-45], dtype=dtype)
    x = torch.cat([halves, big, -big, edges, torch.randn(100, dtype=dtype) * 1000])
    result, expected = unary(helpers, "round_even", x), torch.round(x)
    assert torch.equal(result.nan_to_num(7.0), expected.nan_to_num(7.0))
    assert torch.equal(torch.signbit(result), torch.signbit(expected))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32])
def test_maximum_and_minimum(helpers, dtype):
    values = [0, 1, -1, 7] if dtype == torch.int32 else [0.0, 1.5, -2.0, INF, -INF, NAN]
    a, b = (
        torch.tensor(v, dtype=dtype) for v in zip(*itertools.product(values, values), strict=True)
    )
    a, b = (torch.nn.functional.pad(t, (0, 64 - t.numel())) for t in (a, b))
    for larger, function in ((True, torch.maximum), (False, torch.minimum)):
        y = torch.empty_like(a)
        helpers.map_binary[(1,)](a, b, y, LARGER=larger, BLOCK=64)
        assert torch.equal(y.nan_to_num(9), function(a, b).nan_to_num(9))
        assert torch.equal(y.isnan(), a.isnan() | b.isnan())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.int64])
def test_reductions_propagate_nan_and_take_the_first(helpers, dtype):
    rows = torch.randint(-3, 4, (32, 16)).to(dtype)  # with ties
    if dtype.is_floating_point:
        rows[1, 5] = rows[2, 0] = rows[2, 7] = rows[3, 15] = NAN
        rows[4], rows[5], rows[6] = -INF, INF, NAN
    for larger, reduce in ((True, torch.max), (False, torch.min)):
        y, where = torch.empty(32, dtype=dtype), torch.empty(32, dtype=torch.int64)
        helpers.reduce_rows[(1,)](rows, y, where, LARGER=larger, M=32, N=16)
        expected = reduce(rows, 1).values
        assert torch.equal(y.nan_to_num(9), expected.nan_to_num(9))
        hit = torch.where(expected.isnan()[:, None], rows.isnan(), rows == expected[:, None])
        assert torch.equal(where, hit.int().argmax(1))


@pytest.mark.parametrize("value", [0.1, 1.0, 0.0, -0.0, 5e-324, INF, -1 / 3, 1e300])
def test_scalars_keep_their_bits(helpers, runtime, value):
    wide, narrow = torch.empty(1, dtype=torch.float64), torch.empty(1)
    (bits,) = runtime._with_bits([value], [True])
    helpers.store_scalar[(1,)](wide, bits, FLOAT=tl.float64)
    helpers.store_scalar[(1,)](narrow, value, FLOAT=tl.float32)
    assert wide.view(torch.int64).item() == torch.tensor(value).double().view(
        torch.int64
    ).item() or (wide.item() == value)
    assert narrow.item() == torch.tensor(value, dtype=torch.float32).item()
