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
FP8 = (
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2fnuz,
)
INTEGERS = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)


@pytest.fixture(scope="module")
def helpers(sample):
    return sample("helpers")


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


def narrow(helpers, x, dtype):
    y = torch.empty(x.shape, dtype=dtype)
    helpers.map_narrow[(1,)](x, y, x.numel(), BLOCK=1 << (x.numel() - 1).bit_length())
    return y


def codes(dtype):
    """Return all finite values of a format of up to 16 bits, sorted and each once, as fp64."""
    bits = 8 * dtype.itemsize
    raw = torch.arange(1 << bits, dtype=torch.int32)
    values = raw.to(torch.uint8 if bits == 8 else torch.uint16).view(dtype).double()
    return values[values.isfinite()].unique()


def bits_of(tensor):
    return tensor.view(
        {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.itemsize]
    )


def nearest_even(x, dtype):
    """Round by search among all values of the format: an implementation without any bit tricks."""
    values = codes(dtype)
    high = torch.searchsorted(values, x.double()).clamp(1, len(values) - 1)
    low = high - 1
    below, above = x.double() - values[low], values[high] - x.double()
    low_is_even = (bits_of(values[low].to(dtype)).int() & 1) == 0
    take_low = (below < above) | ((below == above) & low_is_even)
    return torch.where(take_low, values[low], values[high])


def skip_unknown(dtype):
    """Triton 3.6's interpreter does not know the fnuz types."""
    if "fnuz" in str(dtype) and triton.__version__ < "3.7":
        pytest.skip("unknown to this interpreter")


@pytest.mark.parametrize("dtype", FP8)
def test_fp8_rounds_at_every_boundary(helpers, dtype):
    """Each value, each midpoint between neighbours, and the fp32 next to both, of both signs."""
    skip_unknown(dtype)
    values = codes(dtype)
    middles = (values[1:] + values[:-1]) / 2
    points = torch.cat([values, middles]).float()
    x = torch.cat([points, *(torch.nextafter(points, torch.tensor(end)) for end in (INF, -INF))])
    assert torch.equal(narrow(helpers, x, dtype).double(), nearest_even(x, dtype))


@pytest.mark.parametrize("dtype", FP8)
def test_fp8_saturates_and_keeps_nan(helpers, dtype):
    skip_unknown(dtype)
    most = codes(dtype).max().item()
    x = torch.tensor([INF, -INF, 1e30, -1e30, most * 1.01, NAN, 0.0, -0.0, 1e-45, -1e-45])
    result = narrow(helpers, x, dtype)
    assert result.double()[:5].tolist() == [most, -most, most, -most, most]
    assert result.float()[5].isnan()
    assert torch.equal(result.float()[6:], torch.zeros(4))
    signed = dtype in (torch.float8_e4m3fn, torch.float8_e5m2)
    assert torch.signbit(result.float())[6:].tolist() == [False, signed, False, signed]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("source", [torch.float32, torch.float64])
def test_halves_round_to_nearest_even(helpers, dtype, source):
    values = codes(dtype)[::37].to(source)
    up = torch.nextafter(values.to(dtype), torch.tensor(INF, dtype=dtype)).to(source)
    middles = (values + up) / 2
    middles = middles[middles.isfinite()]
    near = (middles * (1 + 2.0**-20), middles * (1 - 2.0**-20))
    edges = torch.tensor([0.0, -0.0, INF, -INF, NAN, 1e-45, 1e-40, 3.4e38, 65519.0, 65520.0])
    x = torch.cat([values, middles, *near, edges.to(source), torch.randn(500).to(source)])
    result, expected = narrow(helpers, x, dtype), x.to(dtype)
    assert torch.equal(result.isnan(), expected.isnan())
    numbers = ~expected.isnan()
    assert torch.equal(bits_of(result)[numbers], bits_of(expected)[numbers])


@pytest.mark.parametrize("source", [torch.float32, torch.float64])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_saturate_and_truncate(helpers, dtype, source):
    info = torch.iinfo(dtype)
    bounds = torch.tensor([info.min, info.max], dtype=source)
    near = [torch.nextafter(bounds, torch.tensor(end, dtype=source)) for end in (INF, -INF)]
    rest = torch.tensor(
        [0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 0.999, -0.999, 1e30, -1e30, INF, -INF, NAN]
    )
    rest = torch.cat([rest.to(source), torch.randn(50, dtype=source) * info.max])
    x = torch.cat([bounds, bounds + 1, bounds - 1, bounds + 0.5, bounds - 0.5, *near, rest])

    def exact(value):
        if math.isnan(value):
            return 0
        return (
            int(min(max(value, info.min), info.max))
            if not math.isinf(value)
            else (info.max if value > 0 else info.min)
        )

    expected = [min(max(exact(value), info.min), info.max) for value in x.tolist()]
    assert narrow(helpers, x, dtype).tolist() == expected


def test_other_narrowings(helpers):
    x = torch.tensor([0.0, -0.0, 0.1, NAN, INF, -3.0])
    assert narrow(helpers, x, torch.bool).tolist() == x.bool().tolist()
    assert narrow(helpers, x.double(), torch.float32).nan_to_num(7).tolist() == (
        x.double().float().nan_to_num(7).tolist()
    )
    whole = torch.tensor([0, 1, -1, 127, 128, 300, -300, 2**31 - 1, -(2**31)], dtype=torch.int32)
    for dtype in (
        torch.int8,
        torch.uint8,
        torch.int64,
        torch.float32,
        torch.bfloat16,
        torch.float64,
    ):
        assert narrow(helpers, whole, dtype).tolist() == whole.to(dtype).tolist()
    assert narrow(helpers, whole, torch.float8_e4m3fn).float()[:5].tolist() == [0, 1, -1, 128, 128]
    truth = torch.tensor([True, False])
    for dtype in (torch.bool, torch.float32, torch.int8, torch.bfloat16):
        assert torch.equal(narrow(helpers, truth, dtype), truth.to(dtype))


def philox(counter, key):
    """Philox 4x32-10 on Python integers, from the definition in the paper."""
    word, key = list(counter), list(key)
    mask = 0xFFFFFFFF
    for _ in range(10):
        first, second = word[0] * 0xD2511F53, word[2] * 0xCD9E8D57
        word = [
            (second >> 32) ^ word[1] ^ key[0], second & mask,
            (first >> 32) ^ word[3] ^ key[1], first & mask,
        ]  # fmt: skip
        key = [(key[0] + 0x9E3779B9) & mask, (key[1] + 0xBB67AE85) & mask]
    return word


KNOWN_ANSWERS = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    (
        (0xFFFFFFFF,) * 4,
        (0xFFFFFFFF,) * 2,
        (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
    ),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
"""Random123's kat_vectors, philox4x32 with 10 rounds."""


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN_ANSWERS)
def test_philox_gives_the_known_answers(runtime, counter, key, expected):
    assert tuple(philox(counter, key)) == expected
    words = runtime._philox(tuple(torch.tensor([word]) for word in counter), key[0] | key[1] << 32)
    assert tuple(word.item() for word in words) == expected


@pytest.mark.parametrize("seed", [0, 1, -1, 16, 2**31, 2**32 + 5, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("start", [0, 3, 2**31 - 8, 2**34 + 1, 2**40])
def test_uniform(helpers, runtime, seed, start):
    positions = torch.arange(start, start + 16)
    key = (seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF)
    expected = [
        (philox((p // 4 & 0xFFFFFFFF, p // 4 >> 32, 0, 0), key)[p % 4] >> 8) * 2.0**-24
        for p in positions.tolist()
    ]
    y = torch.empty(16)
    helpers.draw[(1,)](y, seed, start, BLOCK=16, INT=tl.int64)
    assert y.tolist() == expected
    assert runtime.uniform_reference(seed, positions).tolist() == expected


def test_uniform_is_uniform(runtime):
    draws = runtime.uniform_reference(7, torch.arange(1 << 16).view(256, 256))
    assert draws.shape == (256, 256)
    assert draws.dtype == torch.float32
    assert draws.min() >= 0.0
    assert draws.max() < 1.0
    assert abs(draws.mean().item() - 0.5) < 0.005
    assert abs(draws.var().item() - 1 / 12) < 0.002
