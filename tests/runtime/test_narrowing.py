"""Narrowing to storage types, and random numbers, in the interpreter: against independent ones."""

import math

import pytest
import torch
import triton
import triton.language as tl

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, for nan and overflow

INF, NAN = float("inf"), float("nan")
FP8 = (
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2fnuz,
)
INTEGERS = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)


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
