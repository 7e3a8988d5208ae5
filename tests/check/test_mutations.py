"""Broken kernels must fail their check: each mutation is one mistake that a code generator can make."""

import random
import re
import shutil
import warnings
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from tilegen.spec.load import load_folder
from tilegen.toolchain.check import Record, check_gradients, check_variant
from tilegen.toolchain.subject import Subject, subject

ROOT = Path(__file__).parents[2]
LOADED = {item.spec.name: item for item in load_folder(ROOT / "specs")[0]}


@dataclass(frozen=True)
class Mutation:
    """A mistake: what it is, in which op, and the text of the kernels that it changes.

    Attributes:
        kernel: the ending of the only kernel that is changed; all of them if empty.
        key: the variant that is checked; the first if None.
        backward: whether it is in kernels of the backward.
    """

    what: str
    op: str
    pattern: str
    replacement: str
    kernel: str = ""
    key: tuple[object, ...] | None = None
    backward: bool = False


def gradient(what: str, op: str, pattern: str, replacement: str, kernel: str = "",
             key: tuple[object, ...] | None = None) -> Mutation:  # fmt: skip
    """A mistake in a backward."""
    return Mutation(what, op, pattern, replacement, kernel, key, backward=True)


MUTATIONS = (
    Mutation("padded lanes are no longer -inf", "softmax", r'other=float\("-inf"\)', "other=0.0", "loop"),
    Mutation("no maximum is subtracted", "softmax", r"exp\(x - row_top\)", "exp(x)", "block"),
    Mutation("one partial state is not joined", "softmax", r"splits < SPLITS", "splits < SPLITS - 1", "finish"),
    Mutation("the last column is left out", "softmax", r"below\(cols, N, \w+\)", "(cols < N - 1)"),
    Mutation("one column too many is stored", "rmsnorm", r"below\(cols, N, \w+\)", "(cols <= N)", "block"),
    Mutation("the last row is left out", "rmsnorm", r"below\(rows, M, \w+\)", "(rows < M - 1)", "block"),
    Mutation("eps is dropped", "rmsnorm", r" \+ eps\)", ")", "loop"),
    Mutation("the weight is dropped", "rmsnorm", r"narrow\(x \* rstd \* weight", "narrow(x * rstd"),
    Mutation("a sum in place of a mean", "rmsnorm", r"row_sum / N", "row_sum", "finish"),
    Mutation("the cast to x's dtype is dropped", "rmsnorm_llama",
             r"narrow\(x \* rstd, x_ptr\.dtype\.element_ty\)\.to\(FLOAT\)", "x * rstd"),
    Mutation("padded lanes enter the variance", "layernorm",
             r"tl\.where\(in_cols, centred, 0\.0\)", "centred", "block"),
    Mutation("the mean of squares less the square of the mean", "layernorm",
             r"rough_mean = row_sum / N", "rough_mean = 0.0 * row_sum", "block"),
    Mutation("the rotation turns the other way", "rope", r"x_0 \* c - x_1 \* s", "x_0 * c + x_1 * s"),
    Mutation("positions are not guarded", "rope", r"position < P", "position <= P"),
    Mutation("a position past the end reads the last row", "rope", r"& valid", "& (position >= 0)"),
    Mutation("the ignored label is not ignored", "cross_entropy", r"target == ignore_index", "target != target"),
    Mutation("z_loss is dropped", "cross_entropy", r" \+ z_loss \* lse \* lse", ""),
    Mutation("the softcap is applied once", "cross_entropy", r"softcap \* tanh\(logits / softcap\)",
             "softcap * tanh(logits)", key=(False, True)),
    Mutation("the causal mask starts a column late", "scaled_masked_softmax",
             r"(visible = .*)<=", r"\1<", "block", (False, True)),
    Mutation("values are truncated, not rounded", "row_quant_int8", r"round_even\((x / scale)\)", r"\1"),
    Mutation("the scale is 1/128", "row_quant_int8", r"127\.0", "128.0"),
    Mutation("a block leaves its last element", "vector_add", r"below\(offsets, NUMEL, \w+\)", "(offsets < NUMEL - 1)", "flat"),
    Mutation("two strides are swapped", "vector_add", r"y_ptr \+ axis_0 \* y_0", "y_ptr + axis_0 * y_1", "tiled"),
    Mutation("what is kept is not scaled up", "dropout_residual_add", r" / \(1\.0 - rate\)", ""),
    Mutation("the mean is not subtracted", "groupnorm", r"\(x - row_mean\)", "x"),
    Mutation("what is saved is another statistic", "rmsnorm", r"rstd_rows, narrow\(rstd,",
             "rstd_rows, narrow(row_sum,", "finish"),
    gradient("the sum is not subtracted", "softmax", r"\(grad_out - row_sum\)", "grad_out", "block"),
    gradient("one partial state is not joined", "softmax", r"splits < SPLITS", "splits < SPLITS - 1", "finish"),
    gradient("the term through rstd has the wrong sign", "rmsnorm", r"-0\.5", "0.5", "stage_2_loop"),
    gradient("a mean became a sum", "rmsnorm", r" / N\)", ")", "stage_2_block"),
    gradient("sums lack the last row", "rmsnorm", r"below\(rows, M, \w+\)", "(rows < M - 1)", "sums"),
    gradient("sums start anew at each tile", "rmsnorm", r"= grad_weight \+", "=", "columns"),
    gradient("one part of a sum is not joined", "rmsnorm", r"parts < PARTS", "parts < PARTS - 1", "stage_1_join"),
    gradient("the term through the mean is dropped", "layernorm", r" \+ row_sum / N", "", "stage_2_block"),
    gradient("the weight's gradient is not scaled", "layernorm", r"\(value \* rstd\)", "value", "sums"),
    gradient("a term of the product rule is dropped", "swiglu",
             r" \+ value \* gate \* \(value_2 \* \(1\.0 - value_2\)\)", "", "flat"),
    gradient("what is not wanted is written", "swiglu", r"if NEEDS_GRAD_UP:", "if True:", "flat"),
    gradient("z_loss counts once", "cross_entropy", r" \+ value \* lse \* z_loss", ""),
    gradient("an upstream gradient is dropped", "cross_entropy", r"= grad_lse \+", "= 0.0 +"),
    gradient("the slope of the softcap is dropped", "cross_entropy", r" \* \(1\.0 - value_2 \* value_2\)",
             "", key=(False, True)),
    gradient("the bias has the upstream gradient", "bias_gelu", r"in_rows, grad_x,", "in_rows, grad_out,"),
    gradient("the rotation turns the same way", "rope", r"-grad_out_0 \* s", "grad_out_0 * s"),
    gradient("the scale is dropped", "scaled_masked_softmax", r"grad_score \* scale", "grad_score", "loop"),
)  # fmt: skip


def mutated(mutation: Mutation, folder: Path) -> Subject:
    """The op with its kernels changed; the plans and the reference stay as they are."""
    shutil.copy(ROOT / "generated" / "_runtime.py", folder)
    text = (ROOT / "generated" / f"{mutation.op}.py").read_text()
    kernels = re.split(r"(?=^@triton\.jit$|^def _plan)", text, flags=re.MULTILINE)
    changed = 0
    for at, kernel in enumerate(kernels):
        name = re.match(r"@triton\.jit\ndef (\w+)", kernel)
        here = name and ("_backward_" in name[1]) == mutation.backward
        if name and here and name[1].endswith(mutation.kernel):
            kernels[at], count = re.subn(mutation.pattern, mutation.replacement, kernel)
            changed += count
    assert changed, f"no kernel of {mutation.op} has {mutation.pattern}"
    (folder / f"{mutation.op}.py").write_text("".join(kernels))
    return subject(LOADED[mutation.op], folder)


def first_failure(
    op: Subject, key: tuple[object, ...] | None, backward: bool = False
) -> Record | None:
    check = check_gradients if backward else check_variant
    variants = [v for v in op.traced.variants if key in (None, v.key)]
    random.seed(0)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        records = check(op, variants[0], torch.device("cpu"), full=False, seed=0)
        return next((record for record in records if not record.ok), None)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: f"{m.op}: {m.what}")
def test_the_check_fails(mutation: Mutation, tmp_path: Path) -> None:
    failure = first_failure(mutated(mutation, tmp_path), mutation.key, mutation.backward)
    assert failure is not None
    assert failure.launch != "oracle"


def test_the_oracle_finds_what_was_traced_wrong(tmp_path: Path) -> None:
    """A wrong spec gives kernel and reference alike; only the oracle knows better."""
    shutil.copy(ROOT / "generated" / "_runtime.py", tmp_path)
    text = (ROOT / "generated" / "silu.py").read_text()
    wrong = re.sub(r"torch\.sigmoid\(x\)", "torch.sigmoid(1.001 * x)", text)
    assert wrong != text
    (tmp_path / "silu.py").write_text(wrong)
    failure = first_failure(subject(LOADED["silu"], tmp_path), None)
    assert failure is not None
    assert failure.launch == "oracle"
