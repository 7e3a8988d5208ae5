import itertools
import math
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st


def addresses(sizes, strides):
    return [
        sum(i * s for i, s in zip(index, strides, strict=True))
        for index in itertools.product(*map(range, sizes))
    ]


layout = st.integers(0, 4).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(1, 4), min_size=n, max_size=n),
        st.lists(
            st.lists(st.sampled_from((0, 1, 2, 3, 4, 6, 8, 12, 24)), min_size=n, max_size=n),
            min_size=1,
            max_size=3,
        ),
    )
)


@settings(max_examples=200, deadline=None)
@given(layout)
def test_merged_axes_enumerate_the_same_addresses(runtime, case):
    sizes, columns = case
    axes = list(zip(sizes, zip(*columns, strict=True), strict=True))
    merged = runtime.merge_axes(axes)
    assert math.prod(size for size, _ in merged) == math.prod(sizes)
    for at, strides in enumerate(columns):
        ours = addresses([size for size, _ in merged], [steps[at] for _, steps in merged])
        assert ours == addresses(sizes, strides)


@settings(max_examples=200, deadline=None)
@given(layout)
def test_merging_leaves_nothing_to_merge(runtime, case):
    sizes, columns = case
    merged = runtime.merge_axes(list(zip(sizes, zip(*columns, strict=True), strict=True)))
    assert runtime.merge_axes(merged) == merged
    assert all(size != 1 for size, _ in merged)


def test_contiguous_axes_merge_into_one(runtime):
    axes = [(2, (60, 0)), (3, (20, 0)), (4, (5, 0)), (5, (1, 0))]
    assert runtime.merge_axes(axes) == [(120, (1, 0))]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.integers(1, 4), min_size=0, max_size=3),
    st.lists(st.integers(0, 9), min_size=3, max_size=3),
)
def test_internal_overlap_is_exact(runtime, sizes, strides):
    strides = strides[: len(sizes)]
    found = addresses(sizes, strides)
    assert runtime.has_internal_overlap(sizes, strides) == (len(set(found)) < len(found))


view = st.tuples(
    st.lists(st.integers(0, 4), min_size=0, max_size=3),
    st.lists(st.integers(0, 9), min_size=3, max_size=3),
    st.integers(0, 30),
    st.sampled_from((torch.uint8, torch.int16, torch.float32)),
)


@settings(max_examples=400, deadline=None)
@given(view, view)
def test_shared_elements_are_exact(runtime, one, other):
    memory = torch.zeros(4096, dtype=torch.uint8)

    def make(sizes, strides, offset, dtype):
        typed = memory.view(dtype)
        return typed.as_strided(sizes, strides[: len(sizes)], offset)

    def touched(tensor):
        base, width = tensor.data_ptr(), tensor.element_size()
        return {
            base + width * offset + byte
            for offset in addresses(tensor.shape, tensor.stride())
            for byte in range(width)
        }

    first, second = make(*one), make(*other)
    assert runtime.shares_element(first, second) == bool(touched(first) & touched(second))


def test_the_search_is_short_for_large_slices(runtime):
    columns = torch.empty(1 << 15, 1 << 12, dtype=torch.bfloat16, device="cpu")
    assert not runtime.shares_element(columns[:, ::2], columns[:, 1::2])
    assert not runtime.shares_element(columns[:, :2048], columns[:, 2048:])
    assert runtime.shares_element(columns[:, :2049], columns[:, 2048:])
    assert runtime.shares_element(columns, columns.T)


@given(st.lists(st.integers(0, 5), max_size=4))
def test_contiguous_strides_are_those_of_pytorch(runtime, shape):
    assert runtime.contiguous_strides(shape) == torch.empty(shape).stride()


def test_strides_by_dim(runtime):
    binding = runtime.Binding({"M": 6, "G": 3, "R": 4}, {"M": (2, 3), "G": (3,), "R": (4,)})
    strides = runtime.axis_strides(("M", "One", ("G", "R")), (100, 40, 7, 2), binding, "M")
    assert strides == {"M": (100, 40), "G": (8,), "R": (2,)}


def test_strides_of_a_flat_dim_that_folds(runtime):
    binding = runtime.Binding({"M": 6, "R": 4}, {"M": (2, 3), "R": (4,)})
    assert runtime.axis_strides((("M", "R"),), (5,), binding, "M") == {"M": (60, 20), "R": (5,)}


@pytest.mark.parametrize(
    ("tensors", "like"),
    [
        ([torch.empty(3, 4, 5)], torch.empty(3, 4, 5)),
        ([torch.empty(5, 4, 3).permute(2, 1, 0)] * 2, torch.empty(5, 4, 3).permute(2, 1, 0)),
        ([torch.empty(3, 4, 5), torch.empty(5, 4, 3).permute(2, 1, 0)], torch.empty(3, 4, 5)),
        ([torch.empty(3, 4, 10)[..., ::2]], torch.empty(3, 4, 5)),
        ([torch.empty(3, 1, 5).permute(2, 1, 0)], torch.empty(3, 1, 5).permute(2, 1, 0)),
        ([torch.empty(4, 5).expand(3, 4, 5)], torch.empty(3, 4, 5)),
    ],
)
def test_outputs_take_the_dense_strides_that_operands_share(runtime, tensors, like):
    operands = [runtime.Operand(f"x{at}", ("A", "B", "C")) for at in range(len(tensors))]
    op = SimpleNamespace(
        name="op", inputs=operands, params=(), static_sizes={}, fold=None, preserve_strides=True,
        results=[runtime.Output("y", ("A", "B", "C"), like="x0")],
    )  # fmt: skip
    (found,) = runtime.output_layouts(op, tensors, runtime.bind(op, tensors, ()))
    assert found.shape == like.shape
    larger = [at for at, size in enumerate(like.shape) if size > 1]
    assert [found.strides[at] for at in larger] == [like.stride(at) for at in larger]


@pytest.mark.parametrize(
    ("output", "dtypes", "expected"),
    [
        ({"like": "b"}, (torch.float32, torch.bfloat16), torch.bfloat16),
        ({"dtype": "float"}, (torch.float16, torch.bfloat16), torch.float32),
        ({"dtype": "float"}, (torch.float16, torch.float64), torch.float64),
        ({"dtype": torch.int64}, (torch.float16, torch.float64), torch.int64),
    ],
)
def test_dtypes_of_outputs(runtime, output, dtypes, expected):
    op = SimpleNamespace(
        name="op", params=(), static_sizes={}, fold=None, preserve_strides=False,
        inputs=[runtime.Operand("a", ("N",)), runtime.Operand("b", ("N",))],
        results=[runtime.Output("y", ("One", "N"), **output)],
    )  # fmt: skip
    tensors = [torch.empty(3, dtype=dtype) for dtype in dtypes]
    (found,) = runtime.output_layouts(op, tensors, runtime.bind(op, tensors, ()))
    assert found == ((1, 3), (3, 1), expected)
