"""What a forward saves for its gradient: chosen by bytes, or as the spec says."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tilegen import M, N, Tensor, Value, errors, mean, rowwise, rsqrt
from tilegen.build import build_op, differentiate
from tilegen.ir.saving import Saving
from tilegen.spec.families import Spec
from tilegen.spec.load import load_folder
from tilegen.spec.source import SpecSource
from tilegen.spec.trace import trace

SPECS = {item.spec.name: item for item in load_folder(Path(__file__).parents[2] / "specs")[0]}


def norm(x: Tensor[M, N], weight: Tensor[N], eps: float = 1e-6) -> Value:
    """An RMS norm."""
    rstd = rsqrt(mean(x * x) + eps)
    return x * rstd * weight


def saved(spec: Spec[..., object]) -> Saving:
    traced = trace(spec, SpecSource.of(spec.fn))
    found = differentiate(traced, traced.variants[0])
    assert found is not None
    return found


def read(saving: Saving) -> list[str]:
    return [operand.name for operand in saving.gradient.graph.operands]


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("rmsnorm", ["rstd"]),
        ("layernorm", ["row_mean", "rstd"]),
        ("softmax", ["out"]),
        ("add_rmsnorm", ["h", "rstd"]),
        ("cross_entropy", ["lse"]),
        ("swiglu", []),
        ("mse_loss", []),
    ],
)
def test_what_reads_the_fewest_bytes(name: str, what: list[str]) -> None:
    assert list(saved(SPECS[name].spec).saved) == what


def test_a_saved_result_stands_for_the_inputs_that_it_is_made_of() -> None:
    assert read(saved(SPECS["add_rmsnorm"].spec)) == ["weight", "h", "rstd", "grad_y", "grad_h"]


def test_a_statistic_is_stored_unrounded_and_only_for_a_gradient() -> None:
    (rstd,) = (o for o in saved(SPECS["rmsnorm"].spec).forward.outputs if o.name == "rstd")
    assert (rstd.dtype.name, rstd.public, rstd.optional) == ("real", False, True)


def test_nothing_but_inputs() -> None:
    found = saved(rowwise(save=())(norm))
    assert found.saved == ()
    assert read(found) == ["x", "weight", "grad_out"]


def test_what_cannot_be_saved() -> None:
    with pytest.raises(errors.BadOption, match="save= names 'weight'"):
        saved(rowwise(save=("weight",))(norm))


def test_gradients_of_what_has_none() -> None:
    with pytest.raises(errors.BadOption, match="grad= names 'eps'"):
        saved(rowwise(grad=("eps",))(norm))


@pytest.mark.parametrize(("grad", "wanted"), [(("weight",), ["grad_weight"]), (False, None)])
def test_the_inputs_that_get_gradients(
    grad: Sequence[str] | bool, wanted: list[str] | None
) -> None:
    spec = rowwise(grad=tuple(grad) if grad else False)(norm)
    traced = trace(spec, SpecSource.of(spec.fn))
    found = differentiate(traced, traced.variants[0])
    results = found and [output.name for output in found.gradient.graph.outputs]
    assert results == wanted


def test_an_op_whose_gradient_is_that_of_its_result_has_no_kernel_for_it() -> None:
    (variant,) = build_op(SPECS["vector_add"], ()).variants
    assert variant.backward is None
    assert variant.gradients == {"x": "grad_out", "y": "grad_out"}
