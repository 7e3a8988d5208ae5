"""Each spec of `hostile_specs.py`, interpreted and in its reference, against PyTorch."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tilegen import errors
from tilegen.build import build_files
from tilegen.targets import TARGETS

SPECS = Path(__file__).with_name("hostile_specs.py")


def numbers(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def bytes_of(*shape: int, dtype: torch.dtype = torch.uint8) -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randint(0, 120, shape).to(dtype)


def shifted(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.pad(x, (0, 0, 1, 0))[:, :-1]


def rotated(x: torch.Tensor) -> torch.Tensor:
    a, b, c = x.unbind(-1)
    return torch.stack([b * c, c - a, a + b], -1)


def unpacked(packed: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    whole = packed.int()
    return torch.stack([(whole & 15) - 8, (whole >> 4) - 8], -1).flatten(1) * scale[:, None]


def row_named(x: torch.Tensor) -> torch.Tensor:
    held = x - x.mean(-1, keepdim=True) * 2.0
    return held * 3 - held.sum(-1, keepdim=True)


Right = Callable[..., Any]
CASES: dict[str, tuple[Right, list[tuple[Any, ...]]]] = {
    "first_and_last": (
        lambda x: (x[0], torch.zeros(x.shape[1])), [(numbers(3, 17),), (numbers(1, 1),)],
    ),
    "token_shift": (lambda x: x - shifted(x), [(numbers(2, 5, 17),), (numbers(1, 1, 3),)]),
    "all_and_spread": (
        lambda x: ((x > -1).all(-1).all(-1), x.var((1, 2))),
        [(numbers(3, 5, 7),), (numbers(3, 7, 5).mT,)],
    ),
    "rotate_three": (rotated, [(numbers(17, 3),), (numbers(3, 17).T,)]),
    "unpack": (unpacked, [(bytes_of(3, 17), numbers(3))]),
    "extremes": (
        lambda i: (i.amax(-1), i.amin(-1), i.amax(-1).int() * 6),
        [
            (bytes_of(3, 17, dtype=dtype),)
            for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
        ],
    ),
    "first_true": (lambda p: p.int().argmax(-1), [(numbers(5, 17) > 0.5,)]),
    "parts": (
        lambda x, p: (x * 2, torch.where(p, 1, 2)),
        [(numbers(m, 3), torch.tensor([True, False, True])) for m in (0, 2)],
    ),
    "mixed_stack": (
        lambda x, i: torch.stack([i.float().expand_as(x), x]), [(numbers(3, 5), torch.arange(5))],
    ),
    "remainder": (lambda i: (i + 3000000000) % 7, [(torch.arange(17) * 2**33,)]),
    "increment": (lambda x, i: (x * 2, i + 1), [(numbers(), torch.tensor(4))]),
    "four_groups": (
        lambda x, b, c: (x * c[:, None] + b[:, None]).permute(3, 0, 2, 1),
        [(numbers(2, 3, 4, 5), numbers(3, 5), numbers(4))],
    ),
    "alike": (
        lambda x, mode: x * 2 if mode == "a-b" else x + 1,
        [(numbers(5), "a-b"), (numbers(5), "a_b")],
    ),
    "named": (lambda x, b: x * 2 + b * 3, [(numbers(3, 17), numbers(17))]),
    "one_column": (
        lambda x, k: (x - x.mean(-1, keepdim=True), x[:, k] if k >= 0 else torch.zeros(len(x))),
        [(numbers(3, 17), 2), (numbers(3, 17), -1)],
    ),
    "named_rows": (row_named, [(numbers(3, 17),)]),
    "both_ways": (
        lambda x: (x.sum(1), x.amax(0), x - x.sum(1, keepdim=True) - x.amax(0)),
        [(numbers(3, 17),), (numbers(17, 3).T,), (numbers(1, 1),)],
    ),
    "sinkhorn": (lambda x: x.log_softmax(1).softmax(0), [(numbers(5, 17),), (numbers(17, 5).T,)]),
    "last_best": (
        lambda x: ((x.argmax(1) == x.shape[1] - 1).sum(), (x < 0).all(1).any()),
        [(numbers(40, 3),), (-numbers(2, 3).abs(),)],
    ),
    "outer": (lambda x, b: x.sum(1, keepdim=True) * b, [(numbers(3, 17), numbers(5))]),
    "three_biases": (
        lambda x, a, b, c: (
            (x + a[:, None, None] * b[:, None] + c).flatten(1).softmax(1).view(x.shape)
        ),
        [
            (numbers(2, 3, 5, 7), numbers(3), numbers(5), numbers(7)),
            (numbers(2, 7, 3, 5).permute(0, 2, 3, 1), numbers(3), numbers(5), numbers(7)),
        ],
    ),
    "looked_up": (  # rows of more than 4096 columns load late
        lambda x, at, table: (
            (x - x.mean(1, keepdim=True)) * table[at.long()], (at.int() * 2 - 1).to(at.dtype)
        ),
        [
            (numbers(2, n), bytes_of(2, n, dtype=dtype), numbers(120))
            for n in (17, 5000) for dtype in (torch.uint8, torch.int64)
        ],
    ),
    "next_of": (
        lambda x: (
            (s := (x * 2).logsumexp(1) + x.logsumexp(1)), x * 2 - s[:, None]
        ),
        [(numbers(2, 17),), (numbers(2, 40000),)],
    ),
    "partial_of": (
        lambda x, partial_total, partial_row: (
            x * partial_row[:, None] - (x * partial_total).sum(1, keepdim=True)
        ),
        [(numbers(2, n), numbers(n), numbers(2)) for n in (17, 70000)],
    ),
    "pairs_of": (
        lambda x, d: torch.stack(
            [(x[..., 1] - x[..., 0]) * d, (x[..., 0] + x[..., 1]) * d], -1
        ),
        [(numbers(3, 17, 2), numbers(3, 17)), (numbers(17, 3, 2).mT.mT, numbers(17, 3))],
    ),
    "balance": (lambda x: x.softmax(1).mean(0), [(numbers(5, 17),), (numbers(300, 3),)]),
    "kept_dims": (
        lambda x: (x.sum(1, keepdim=True), (x - x.sum(1, keepdim=True)).amax(0)),
        [(numbers(5, 17),), (numbers(17, 5).T,)],
    ),
    "six_vectors": (
        lambda x, a, b, c, d, h, w: (
            x + (a[:, None] * b)[..., None, None, None, None]
            + (c[:, None] * d)[..., None, None] + h[:, None] * w
        ),
        [(numbers(2, 3, 2, 3, 2, 5), *(numbers(n) for n in (2, 3, 2, 3, 2, 5)))],
    ),
}  # fmt: skip


@pytest.mark.parametrize("backend", ["triton", "torch"])
@pytest.mark.parametrize("name", CASES)
def test_op(op: Any, name: str, backend: str) -> None:
    right, calls = CASES[name]
    for arguments in calls:
        expected = right(*arguments)
        results = op(name)(*arguments, backend=backend)
        if isinstance(expected, torch.Tensor):
            expected, results = (expected,), (results,)
        for result, wanted in zip(results, expected, strict=True):
            torch.testing.assert_close(result, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("columns", [17, 5000])
def test_an_operand_is_read_before_it_is_overwritten(op: Any, columns: int) -> None:
    x, w = numbers(1, columns), numbers(2, columns)[1:]
    old = w.clone()
    _, z = op("overwritten")(x, w, out=(w, torch.empty_like(x)), backend="triton")
    assert torch.equal(z, old)
    torch.testing.assert_close(w, x - x.mean(1, keepdim=True), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["ROWS", "LANES", "NUMEL"])
def test_dimensions_leave_the_names_of_kernels_alone(tmp_path: Path, name: str) -> None:
    spec = tmp_path / "refused.py"
    spec.write_text(
        "from tilegen import Dim, N, Tensor, Value, rowwise, sum\n\n\n"
        f"class {name}(Dim):\n    pass\n\n\n"
        f'@rowwise\ndef refused(x: Tensor[{name}, N]) -> Value:\n    """Sum."""\n'
        "    return sum(x)\n"
    )
    with pytest.raises(errors.BuildFailed, match=f"a dimension cannot be called '{name}'"):
        build_files([spec], TARGETS)


REFUSED = {
    "sizes of B and S do not follow": "x: Tensor[Flat[B, S], N]",
    "is a Literal of": "x: Tensor[B, S, N], scale: Literal[0.5, 2.0] = 0.5",
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_cannot_be_built_says_so(tmp_path: Path, said: str) -> None:
    spec = tmp_path / "refused.py"
    spec.write_text(
        "from typing import Literal\n"
        "from tilegen import B, Flat, N, S, Tensor, Value, rowwise, softmax\n\n\n"
        f'@rowwise\ndef refused({REFUSED[said]}) -> Value:\n    """Softmax."""\n'
        "    return softmax(x, S)\n"
    )
    with pytest.raises(errors.BuildFailed, match=said):
        build_files([spec], TARGETS)
