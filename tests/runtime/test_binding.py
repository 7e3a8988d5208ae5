import pytest
import torch


@pytest.fixture(scope="module")
def bind(runtime):
    """Bind shapes (or tensors) to operands given as ``name=dims``."""

    def run(operands, shapes, *, fold=None, params=(), values=(), static_sizes=None):
        op = make_op(runtime, operands, fold=fold, params=params, static_sizes=static_sizes)
        tensors = [s if isinstance(s, torch.Tensor | None) else torch.zeros(s) for s in shapes]
        return runtime.bind(op, tensors, values)

    return run


def make_op(runtime, operands, **options):
    """Return what ``bind`` reads of an op, without registering one."""

    class Stub:
        name = "op"
        inputs = tuple(
            dims if isinstance(dims, runtime.Operand) else runtime.Operand(name, dims)
            for name, dims in operands.items()
        )
        fold = options.get("fold")
        params = options.get("params", ())
        static_sizes = options.get("static_sizes") or {}

    return Stub


def test_sizes_come_from_all_operands(bind):
    binding = bind({"x": ("M", "K"), "w": ("N", "K")}, [(4, 8), (3, 8)])
    assert binding.sizes == {"M": 4, "K": 8, "N": 3}


def test_leading_dims_fold(bind):
    binding = bind({"x": ("M", "N"), "w": ("N",)}, [(2, 3, 5, 7), (7,)], fold="M")
    assert binding.sizes == {"M": 30, "N": 7}
    assert binding.extents == {"M": (2, 3, 5), "N": (7,)}


def test_leading_dims_fold_where_the_dim_stands(bind):
    binding = bind({"x": ("A", "M", "N")}, [(9, 2, 3, 7)], fold="M")
    assert binding.extents == {"A": (9,), "M": (2, 3), "N": (7,)}


def test_flat_dims_solve_for_one_unknown(bind):
    binding = bind({"q": (("G", "R"), "D"), "k": ("G", "D")}, [(12, 8), (3, 8)])
    assert binding.sizes == {"G": 3, "D": 8, "R": 4}


def test_flat_dims_solve_in_any_order(bind):
    shapes = [(24,), (12,), (3,)]
    binding = bind({"a": (("A", "B"),), "b": (("B", "C"),), "c": ("C",)}, shapes)
    assert binding.sizes == {"C": 3, "B": 4, "A": 6}


def test_flat_dims_of_size_zero(bind):
    assert bind({"a": (("A", "B"),), "b": ("B",)}, [(0,), (0,)]).sizes == {"B": 0, "A": 0}


def test_a_size_param_binds_its_dim(bind, runtime):
    params = (runtime.Param("groups", "size", dim="G"),)
    binding = bind({"x": (("G", "R"),)}, [(12,)], params=params, values=(4,))
    assert binding.sizes == {"G": 4, "R": 3}


def test_static_sizes(bind):
    sizes = bind({"x": ("N", "Two")}, [(3, 2)], static_sizes={"Two": 2}).sizes
    assert sizes == {"Two": 2, "N": 3}


def test_an_absent_operand_binds_nothing(bind, runtime):
    operands = {"x": ("N",), "b": runtime.Operand("b", ("K",), optional=True)}
    assert bind(operands, [(3,), None]).sizes == {"N": 3}


TWO = {"x": ("M", "N"), "weight": ("N",)}
FLAT = {"q": (("G", "R"),), "k": ("G",)}


@pytest.mark.parametrize(
    ("operands", "shapes", "text"),
    [
        (
            TWO,
            [(4, 8), (7,)],
            "op: weight has N = 7, but x has N = 8 (x is [4, 8], stored as [M, N])",
        ),
        (
            TWO,
            [(4, 8), (1,)],
            "op: weight has N = 1, but x has N = 8 (x is [4, 8], stored as [M, N]); "
            "a stored size of 1 does not broadcast: expand it",
        ),
        (
            FLAT,
            [(10,), (4,)],
            "op: q has Flat[G, R] = 10, which is no multiple of G = 4 "
            "(q is [10], stored as [Flat[G, R]])",
        ),
        (
            {"q": (("G", "R"),), "k": ("G", "R")},
            [(10,), (4, 2)],
            "op: q has Flat[G, R] = 10, which is not G = 4 * R = 2 "
            "(q is [10], stored as [Flat[G, R]])",
        ),
        (
            {"q": (("G", "R"),)},
            [(10,)],
            "op: q has Flat[G, R] = 10, and nothing tells G from R",
        ),
    ],
)
def test_wrong_sizes(bind, operands, shapes, text):
    with pytest.raises(ValueError, match="op: ") as error:
        bind(operands, shapes)
    assert str(error.value) == text


def test_wrong_static_size(bind):
    with pytest.raises(ValueError, match="x has Two = 3, but the spec has Two = 2"):
        bind({"x": ("Two",)}, [(3,)], static_sizes={"Two": 2})


def test_wrong_leading_dims(bind):
    operands = {"x": ("M", "N"), "y": ("M", "N")}
    with pytest.raises(ValueError, match=r"y has leading dims \[6\], but x has \[2, 3\]"):
        bind(operands, [(2, 3, 4, 5), (6, 4, 5)], fold="M")
    with pytest.raises(ValueError, match="leading dims do not broadcast"):
        bind(operands, [(2, 4, 5), (4, 5)], fold="M")


@pytest.mark.parametrize(
    ("shapes", "text"),
    [
        ([(4,), (4,)], "op: x has 1 dims ([4]), expected at least 2 ([M, N])"),
        ([(2, 4), (2, 4)], "op: weight has 2 dims ([2, 4]), expected 1 ([N])"),
        ([[1.0], (4,)], "op: x must be a tensor, got list"),
        ([None, (4,)], "op: x must be a tensor, got NoneType"),
        (
            [torch.zeros(2, 4, dtype=torch.int32), (4,)],
            "op: x is torch.int32, expected a floating dtype",
        ),
        (
            [torch.zeros(2, 4, dtype=torch.complex64), (4,)],
            "op: x is torch.complex64, expected a floating dtype",
        ),
        (
            [torch.zeros(2, 4), torch.zeros(4, device="meta")],
            "op: weight is on meta, but x is on cpu",
        ),
        (
            [torch.zeros(2, 4).to_sparse(), (4,)],
            "op: x is torch.sparse_coo, expected torch.strided",
        ),
    ],
)
def test_wrong_tensors(runtime, shapes, text):
    op = make_op(runtime, TWO, fold="M")
    tensors = [torch.zeros(s) if isinstance(s, tuple) else s for s in shapes]
    with pytest.raises(TypeError) as error:
        runtime.bind(op, tensors, ())
    assert str(error.value) == text


@pytest.mark.parametrize(
    ("options", "dtype", "accepted"),
    [
        ({"kind": "float"}, torch.float8_e4m3fn, True),
        ({"kind": "float"}, torch.bool, False),
        ({"kind": "int"}, torch.uint8, True),
        ({"kind": "int"}, torch.bool, False),
        ({"kind": "int"}, torch.float32, False),
        ({"kind": "bool"}, torch.bool, True),
        ({"kind": "bool"}, torch.uint8, False),
        ({"dtypes": (torch.uint8,)}, torch.uint8, True),
        ({"dtypes": (torch.uint8,)}, torch.int8, False),
    ],
)
def test_dtypes(bind, runtime, options, dtype, accepted):
    operands = {"x": runtime.Operand("x", ("N",), **options)}
    if accepted:
        bind(operands, [torch.zeros(3, dtype=dtype)])
    else:
        with pytest.raises(TypeError, match="op: x is torch"):
            bind(operands, [torch.zeros(3, dtype=dtype)])


@pytest.mark.parametrize(
    ("param", "value", "error", "text"),
    [
        (("eps", "float"), "1", TypeError, "eps must be a float, got str"),
        (("eps", "float"), torch.tensor(1.0), TypeError, "eps must be a float, got Tensor"),
        (("n", "int"), 1.5, TypeError, "n must be an int, got float"),
        (("causal", "bool"), "yes", TypeError, "causal must be a bool, got str"),
        (("groups", "size"), 0, ValueError, "groups = 0, expected a size of at least 1"),
        (("window", "static", 4), 5, ValueError, "window = 5, but this build fixed it at 4"),
        (("eps", "float"), None, TypeError, "eps must be a float, got NoneType"),
    ],
)
def test_wrong_params(runtime, param, value, error, text):
    dim = "N" if param[1] == "size" else None
    op = make_op(runtime, {"x": ("N",)}, params=(runtime.Param(*param, dim=dim),))
    with pytest.raises(error, match=f"op: {text}"):
        runtime.bind(op, [torch.zeros(4)], (value,))


def test_wrong_literal(runtime):
    param = runtime.Param("approximate", "literal", "tanh", choices=("none", "tanh"))
    op = make_op(runtime, {"x": ("N",)}, params=(param,))
    with pytest.raises(ValueError, match="approximate is 'erf', expected one of 'none', 'tanh'"):
        runtime.bind(op, [torch.zeros(4)], ("erf",))
