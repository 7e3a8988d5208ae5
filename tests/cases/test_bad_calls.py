"""Calls with a wrong argument, over all ops: the error names it, what came and what was expected."""

from typing import Any

import pytest
import torch
from cases_ops import OPS, arguments, function, inputs, of

from tilegen.ir.graph import Operand
from tilegen.toolchain.subject import Subject


def with_argument(name: str, which: str, value: Any) -> list[Any]:
    """Benign arguments, with one exchanged (an optional one is given for that)."""
    op = of(name)
    given = inputs(name, op.traced.variants[-1])
    values = arguments(name, given)
    values[op.traced.order.index(which)] = value
    return values


def tensor_of(name: str, which: str) -> torch.Tensor:
    op = of(name)
    given = inputs(name, op.traced.variants[-1])
    return arguments(name, given)[op.traced.order.index(which)]


def operands(name: str) -> tuple[Operand, ...]:
    return of(name).traced.variants[-1].graph.operands


def refused(error: type[Exception], text: str, name: str, which: str, value: Any) -> None:
    with pytest.raises(error, match=rf"^{name}: .*{text}") as found:
        function(name)(*with_argument(name, which, value))
    assert which in str(found.value)
    with pytest.raises(error):  # and again, when a call like it was prepared
        function(name)(*with_argument(name, which, value))


@pytest.mark.parametrize("name", OPS)
def test_no_tensor(name: str) -> None:
    for operand in operands(name):
        for value in (1.5, [1.0], "x"):
            refused(
                TypeError,
                f"must be a tensor, got {type(value).__name__}",
                name,
                operand.name,
                value,
            )
        if not operand.optional:
            refused(TypeError, "must be a tensor, got NoneType", name, operand.name, None)


@pytest.mark.parametrize("name", OPS)
def test_wrong_dtype(name: str) -> None:
    for operand in operands(name):
        tensor = tensor_of(name, operand.name)
        kinds = {"float": (torch.int64, torch.bool, torch.complex64),
                 "int": (torch.float32, torch.bool), "bool": (torch.float32, torch.int64)}  # fmt: skip
        for dtype in kinds[operand.dtype.kind]:
            refused(TypeError, f"is {dtype}, expected ", name, operand.name, tensor.to(dtype))


@pytest.mark.parametrize("name", OPS)
def test_wrong_device(name: str) -> None:
    if len(operands(name)) == 1:
        return
    for operand in operands(name)[1:]:
        tensor = tensor_of(name, operand.name)
        refused(TypeError, "is on meta, but .* is on cpu", name, operand.name, tensor.to("meta"))


@pytest.mark.parametrize("name", OPS)
def test_wrong_rank(name: str) -> None:
    op = of(name)
    for operand in operands(name):
        tensor = tensor_of(name, operand.name)
        if tensor.dim():
            refused(
                TypeError, r"has \d dims? .*, expected", name, operand.name, tensor.flatten()[0]
            )
        if op.op.fold not in operand.dims:
            refused(
                TypeError, r"has \d dims? .*, expected", name, operand.name, tensor.unsqueeze(0)
            )


def told_elsewhere(op: Subject, operand: Operand, axis: int) -> bool:
    """Whether another tensor, a param or the spec tells the size of this axis."""
    group = operand.stored[axis]
    others = {
        dim for o in op.traced.variants[-1].graph.operands if o is not operand for dim in o.dims
    }
    params = {param.dim for param in op.traced.params if param.kind == "size"}
    return set(group) <= others | params | set(op.static)


@pytest.mark.parametrize("name", OPS)
def test_wrong_size(name: str) -> None:
    op = of(name)
    for operand in operands(name):
        tensor = tensor_of(name, operand.name)
        for axis in range(tensor.dim()):
            if not told_elsewhere(op, operand, axis):
                continue
            more = torch.cat((tensor, tensor.narrow(axis, 0, 1)), axis)
            with pytest.raises(ValueError, match=rf"^{name}: .*{more.shape[axis]}") as found:
                function(name)(*with_argument(name, operand.name, more))
            assert f"{operand.name} " in str(found.value)
            assert any(dim in str(found.value) for dim in operand.stored[axis])


@pytest.mark.parametrize("name", OPS)
def test_wrong_params(name: str) -> None:
    for param in of(name).traced.params:
        word = {"float": "a float", "int": "an int", "size": "an int", "static": "an int"}
        if param.kind == "literal":
            refused(ValueError, "is 'no such', expected one of ", name, param.name, "no such")
            continue
        text = f"must be {word.get(param.kind, 'a bool')}, got str"
        refused(TypeError, text, name, param.name, "1")
        if param.kind == "size":
            refused(ValueError, "expected a size of at least 1", name, param.name, 0)


@pytest.mark.parametrize("name", OPS)
def test_wrong_backend(name: str) -> None:
    values = arguments(name, inputs(name, of(name).traced.variants[0]))
    with pytest.raises(ValueError, match=f"^{name}: backend is 'cuda', expected"):
        function(name)(*values, backend="cuda")
