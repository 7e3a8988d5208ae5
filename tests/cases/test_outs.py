"""`out=`: any layout, an input's own memory where that is safe, and an error where it is not."""

import pytest
import torch
from cases_ops import CPU, OPS, call, inputs, of, same, sizes, variants

from tilegen.spec.trace import Variant
from tilegen.toolchain.inputs import LAYOUTS, Inputs, blank
from tilegen.toolchain.shapes import Shape


@pytest.mark.parametrize(("name", "variant"), variants())
def test_out_is_written_whole_in_any_layout(name: str, variant: Variant) -> None:
    given = inputs(name, variant)
    expected = call(name, given)
    for layout in LAYOUTS:
        if layout == "expanded":
            continue
        outs = tuple(blank(t.shape, t.dtype, layout, CPU)[0] for t in expected)
        results = call(name, given, out=outs if len(outs) > 1 else outs[0])
        for out, result, right in zip(outs, results, expected, strict=True):
            assert result is out
            assert result.shape == right.shape
            torch.testing.assert_close(
                result.double(), right.double(), rtol=1e-6, atol=1e-6, equal_nan=True
            )


def fits(
    name: str, at: int, operand: int, given: Inputs, expected: tuple[torch.Tensor, ...]
) -> bool:
    tensor = given.tensors[operand]
    return tensor is not None and (tensor.shape, tensor.dtype) == (
        expected[at].shape, expected[at].dtype,
    )  # fmt: skip


@pytest.mark.parametrize("name", OPS)
def test_out_may_be_an_input_only_where_each_program_reads_first(name: str) -> None:
    """Either the very same result, or an error that names both: never a wrong result."""
    op = of(name)
    variant = op.traced.variants[0]
    item = Shape(sizes(name, 300).sizes)
    expected = call(name, inputs(name, variant, item))
    for at, output in enumerate(op.op.outputs):
        for operand, declared in enumerate(op.op.inputs):
            given = inputs(name, variant, item)
            if not fits(name, at, operand, given, expected):
                continue
            outs = [torch.empty_like(t) for t in expected]
            outs[at] = given.tensors[operand]
            out = tuple(outs) if len(outs) > 1 else outs[0]
            if declared.name in op.op.inplace:
                assert all(map(same, call(name, given, out=out), expected))
            else:
                with pytest.raises(ValueError, match=f"{name}: .*{output.name}.*{declared.name}"):
                    call(name, given, out=out)


@pytest.mark.parametrize("name", OPS)
def test_a_wrong_out_is_refused(name: str) -> None:
    op = of(name)
    given = inputs(name, op.traced.variants[0])
    expected = call(name, given)
    right = [torch.empty_like(t) for t in expected]
    for at, output in enumerate(op.op.outputs):
        wrong = [
            (right[at].new_empty((*right[at].shape, 2)), ValueError),
            (right[at].to(torch.complex64), ValueError),
            (right[at].to("meta"), ValueError),
            ("nothing", TypeError),
        ]
        if right[at].numel() > 1:
            wrong.append((right[at].new_empty(1).expand(right[at].shape), ValueError))
        for out, error in wrong:
            outs = (*right[:at], out, *right[at + 1 :])
            which = f"out for {output.name}" if len(right) > 1 else "out"
            with pytest.raises(error, match=f"^{name}: .*{which}"):
                call(name, given, out=outs)
    with pytest.raises(ValueError, match=f"^{name}: out has {len(right) + 1} tensors, expected"):
        call(name, given, out=(*right, right[0]))
