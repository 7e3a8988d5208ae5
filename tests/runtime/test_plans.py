"""What a plan sees: axes, strides, the choice of a config; and the copies that strides may need."""

import itertools
import math
import warnings
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

DIMS = ("A", "B", "C", "D")


@pytest.fixture(scope="module")
def planned(runtime):
    """Run a plan function on tensors, each with its dims; return the Plan and what it returned."""

    def run(function, operands, output=DIMS, *, out=None, fold=None, preserve=False, choices=None):
        op = SimpleNamespace(
            name="op", params=(), static_sizes={}, fold=fold, preserve_strides=preserve,
            inputs=tuple(runtime.Operand(name, dims) for name, (dims, _) in operands.items()),
            outputs=(runtime.Output("y", output, dtype=torch.float32),),
        )  # fmt: skip
        op.results = op.outputs
        op.operand = lambda name: next(o for o in op.inputs if o.name == name)
        inputs = [tensor for _, tensor in operands.values()]
        binding = runtime.bind(op, inputs, ())
        layouts = runtime.output_layouts(op, inputs, binding)
        variant = runtime.Variant(function, None)
        plan = runtime.Plan(op, variant, binding, inputs, layouts, out and (out,))
        return plan, plan.launch(choices or runtime.Choices())

    return run


def elements(tensor, sizes, strides):
    """Return the elements that axes address, in order."""
    if 0 in sizes:
        return []
    storage = tensor.as_strided((tensor.untyped_storage().nbytes() // 4,), (1,), 0).tolist()
    return [
        storage[tensor.storage_offset() + sum(i * s for i, s in zip(index, strides, strict=True))]
        for index in itertools.product(*map(range, sizes))
    ]


operand = st.tuples(
    st.permutations(DIMS).flatmap(lambda dims: st.integers(1, 4).map(lambda n: tuple(dims[:n]))),
    st.permutations(range(4)),
    st.tuples(*[st.integers(1, 2)] * 4),
    st.booleans(),
)


def make(dims, order, steps, expanded, sizes):
    """Return a tensor of numbered elements with dims in any order, sliced, perhaps expanded."""
    count = len(dims)
    order = [at for at in order if at < count]
    shape = [sizes[dims[at]] * step for at, step in zip(order, steps, strict=False)]
    tensor = torch.arange(math.prod(shape), dtype=torch.float32).reshape(shape)
    tensor = tensor[tuple(slice(None, None, step) for step in steps[:count])]
    tensor = tensor.permute([order.index(at) for at in range(count)])
    return tensor[:1].expand(tensor.shape) if expanded else tensor


@settings(max_examples=150, deadline=None)
@given(
    st.tuples(*[st.sampled_from((1, 2, 3, 3, 0))] * 4),
    st.lists(operand, min_size=1, max_size=3),
    st.integers(1, 4),
    st.booleans(),
)
def test_axes_address_the_same_elements_after_any_copies(planned, sizes, drawn, limit, preserve):
    size_of = dict(zip(DIMS, sizes, strict=True))
    drawn = [(DIMS, range(4), (1, 1, 1, 1), False), *drawn]
    operands = {
        f"x{at}": (dims, make(dims, order, steps, expanded, size_of))
        for at, (dims, order, steps, expanded) in enumerate(drawn)
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan, axes = planned(lambda call: call.axes(DIMS, limit), operands, preserve=preserve)
    assert len(axes.sizes) == limit
    assert axes.total == math.prod(sizes)
    for name, (dims, tensor) in operands.items():
        taken = tensor
        if name in plan.copies:
            taken = tensor.as_strided(*plan.copies[name], tensor.storage_offset()).contiguous()
        view = tensor.permute(sorted(range(len(dims)), key=lambda at: dims[at]))
        for at, dim in enumerate(DIMS):
            view = view if dim in dims else view.unsqueeze(at)
        expected = view.expand(sizes).flatten().tolist()
        assert elements(taken, axes.sizes, axes.strides(name)) == expected
    if limit == 4:
        assert not plan.copies


def test_reordered_axes_follow_the_output(planned):
    x = torch.empty(2, 3, 4, 5).permute(3, 1, 0, 2)
    operands = {"x": (DIMS, x), "z": (DIMS, x)}
    _, axes = planned(lambda call: call.axes(DIMS, 2, reorder=True), operands, preserve=True)
    assert axes.sizes == (1, 120)
    assert axes.strides("x") == axes.strides("y") == (0, 1)


def test_fold_axes_are_padded_in_front(planned):
    x = torch.empty(2, 3, 5, 8)[..., :7]
    operands = {"x": (("M", "N"), x), "w": (("N",), torch.empty(7))}
    plan = lambda call: (call.axes(("M",), 3), call.axes(("N",), 1))  # noqa: E731
    _, (rows, columns) = planned(plan, operands, ("M", "N"), fold="M")
    assert (rows.sizes, rows.total, rows.strides("x")) == ((1, 1, 30), 30, (0, 0, 8))
    assert (rows.strides("w"), rows.strides("y")) == ((0, 0, 0), (0, 0, 7))
    assert (columns.sizes, columns.strides("w")) == ((7,), (1,))
    assert columns.strides("nothing") == (0,)


def test_what_a_call_tells(planned, runtime):
    operands = {
        "x": (("M", ("G", "R")), torch.empty(2, 5, 24, dtype=torch.bfloat16)),
        "w": (("G",), torch.empty(6, dtype=torch.float32)),
    }

    def plan(call):
        assert call.sizes == {"M": 10, "G": 6, "R": 4}
        assert (call.stride("x", "G"), call.stride("x", "R"), call.stride("w", "R")) == (4, 1, 0)
        assert call.float == torch.float32
        assert call.element_size == 2  # that of x, which most of the traffic is
        assert call.target is runtime.TARGETS[0]
        assert call.stride("x", "M") == 24

    planned(plan, operands, ("M", "G"), fold="M")


def test_a_fold_dim_of_several_strides_is_copied_where_one_is_needed(planned):
    x = torch.empty(3, 5, 24)[:, :4]
    with pytest.warns(UserWarning, match="op: x is copied"):
        plan, step = planned(
            lambda call: call.stride("x", "M"), {"x": (("M", "N"), x)}, ("M", "N"), fold="M"
        )
    assert step == 24
    assert plan.copies == {"x": ((3, 4, 24), (120, 24, 1))}


def test_dims_that_no_copy_helps(planned):
    """Only an output that is stored in another order than the axes can be in the way for good."""
    operands = {"x": (("A", "B"), torch.empty(3, 4))}
    with pytest.raises(RuntimeError, match=r"op: .* are in another order in memory"):
        planned(lambda call: call.axes(("A", "B"), 1), operands, ("B", "A"))


def test_the_choice_of_a_config(runtime):
    Config = runtime.Config
    space = {
        ("sm_90", 2): (Config(TILE=1, num_warps=4), Config(TILE=2, num_warps=8), Config(TILE=3)),
        ("sm_80", 2): (Config(TILE=10),),
        ("sm_80", 4): (Config(TILE=11),),
        ("gfx942", 2): (Config(TILE=20),),
    }
    rows = {row.architecture: row for row in runtime.TARGETS}

    def choose(architecture, element_size, cost, choices=None):
        choices = choices or runtime.Choices()
        binding = runtime.Binding({}, {})
        dtype = {1: torch.float8_e5m2, 2: torch.float16, 4: torch.float32, 8: torch.float64}
        dtypes = {"x": dtype[element_size]}
        call = runtime.Call(None, binding, {}, dtypes, rows[architecture], choices)
        return call.choose(space, cost)["TILE"]

    assert choose("sm_90", 2, lambda config: -config["TILE"]) == 3
    assert choose("sm_90", 2, lambda config: 1.0) == 1
    assert choose("sm_90", 4, lambda config: config["TILE"]) == 1
    assert choose("sm_86", 4, lambda config: 1.0) == 11
    assert choose("sm_86", 8, lambda config: 1.0) == 11
    assert choose("sm_120", 1, lambda config: 1.0) == 1
    assert choose("gfx90a", 4, lambda config: 1.0) == 20
    refused = frozenset({Config(TILE=1, num_warps=4)})
    assert choose("sm_90", 2, lambda c: c["TILE"], runtime.Choices((), refused)) == 2
    assert choose("sm_90", 2, lambda c: 1.0, runtime.Choices([Config(TILE=9)])) == 9
    with pytest.raises(RuntimeError, match="no config fits this GPU"):
        choose("sm_80", 2, lambda c: 1.0, runtime.Choices((), frozenset({Config(TILE=10)})))


def test_configs(runtime):
    config = runtime.Config(TILE=4096, num_warps=8, num_stages=3)
    assert (config["TILE"], config["num_warps"]) == (4096, 8)
    assert config.options == {"num_warps": 8, "num_stages": 3}
    assert repr(config) == "Config(TILE=4096, num_warps=8, num_stages=3)"
    assert config == runtime.Config(num_warps=8, num_stages=3, TILE=4096)
    assert len({config, runtime.Config(num_warps=8, num_stages=3, TILE=4096)}) == 1


@pytest.mark.parametrize(("n", "power"), [(0, 1), (1, 1), (2, 2), (3, 4), (4, 4), (4097, 8192)])
def test_next_power_of_2(runtime, n, power):
    assert runtime.next_power_of_2(n) == power


def test_cdiv(runtime):
    assert [runtime.cdiv(n, 4) for n in (0, 1, 4, 5, 2**40)] == [0, 1, 1, 2, 2**38]


@pytest.mark.parametrize(
    ("device", "capability", "shared", "hip", "row"),
    [
        ("NVIDIA H200", (9, 0), 232_448, None, "h200"),
        ("NVIDIA L4", (8, 9), 101_376, None, "l4"),
        ("NVIDIA L40S", (8, 9), 101_376, None, "l40s"),
        ("NVIDIA A100-SXM4-80GB", (8, 0), 166_912, None, "a100"),
        ("NVIDIA Unheard-of", (9, 0), 232_448, None, "h100"),
        ("NVIDIA Unheard-of", (8, 7), 166_912, None, "rtx3090"),
    ],
)
def test_the_row_of_a_gpu(runtime, monkeypatch, device, capability, shared, hip, row):
    properties = SimpleNamespace(
        name=device, major=capability[0], minor=capability[1], multi_processor_count=77,
        shared_memory_per_block_optin=shared,
    )  # fmt: skip
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
    found = runtime.target_of(torch.device("cuda", 0))
    assert (found.name, found.multiprocessors) == (row, 77)


@pytest.mark.parametrize(
    ("dtype", "row", "name"),
    [
        (torch.float8_e4m3fn, "a100", "fp8e4m3 is not supported on sm_80 (a100)"),
        (torch.float8_e4m3fn, "rtx3090", "fp8e4m3 is not supported on sm_86 (rtx3090)"),
        (torch.float8_e4m3fn, "h200", None),
        (torch.float8_e5m2, "a100", None),
        (torch.bfloat16, "a100", None),
    ],
)
def test_a_type_that_the_gpu_lacks_is_a_clear_error(planned, runtime, dtype, row, name):
    def plan(call):
        return runtime.Launch()

    x = torch.zeros(2, 2, dtype=dtype)
    made, _ = planned(plan, {"x": (("A", "B"), x)}, output=("A", "B"))
    made.prepare(runtime.Choices())  # on a CPU every type is there
    made.device = torch.device("cuda", 0)
    made.target = next(target for target in runtime.TARGETS if target.name == row)
    if name is None:
        made.prepare(runtime.Choices())
        return
    with pytest.raises(TypeError) as raised:
        made.prepare(runtime.Choices())
    assert f"op: x is torch.float8_e4m3fn, but {name}" in str(raised.value)
