"""Random specs through the whole pipeline: the kernels, under every schedule, against fp64."""

import hashlib
import random
import re
import sys
import warnings
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from drawn_specs import DrawnSpec, elementwise_specs, rowwise_specs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tilegen.build import build_op
from tilegen.paths import template_folder
from tilegen.render.runtime import render_runtime
from tilegen.spec.load import load_folder
from tilegen.spec.trace import trace
from tilegen.targets import TARGETS
from tilegen.toolchain import check, matrix
from tilegen.toolchain.inputs import LAYOUTS, Draw, draw
from tilegen.toolchain.shapes import shape
from tilegen.toolchain.subject import Subject, load_module

CPU = torch.device("cpu")
CHECKED = settings(
    derandomize=True, deadline=None, database=None, print_blob=False,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where modules are written, with the one runtime that they share."""
    made = tmp_path_factory.mktemp("drawn")
    text = render_runtime([asdict(target) for target in TARGETS], template_folder())
    (made / "_runtime.py").write_text(text)
    return made


def built(spec: DrawnSpec, folder: Path, *, gradients: bool = False) -> Subject:
    """The spec, written, traced and built; its module, not formatted, is imported."""
    text = spec.text
    if not gradients:
        text = re.sub(r"^@(\w+)$", r"@\1(grad=False)", text, flags=re.MULTILINE)
    name = "drawn_" + hashlib.sha256(text.encode()).hexdigest()[:12]
    file = folder / f"spec_{name}.py"
    file.write_text(text.replace("def drawn(", f"def {name}("))
    loaded, mistakes = load_folder(file)
    assert not mistakes, mistakes[0]
    (folder / f"{name}.py").write_text(build_op(loaded[0], TARGETS[:1]).text)
    return Subject(trace(loaded[0].spec, loaded[0].source), load_module(folder, name))


def wrong(op: Subject, seed: int, dtype: torch.dtype) -> list[str]:
    """What the rule finds wrong for one set of inputs, under every schedule."""
    chance = random.Random(seed)
    (variant,) = op.traced.variants
    item = shape(op, chance.choice((1, 3, 17, 33, 70)), chance, 6)
    layout = "contiguous" if seed % 3 == 0 else f"mixed {seed % len(LAYOUTS)}"
    how = Draw(item, dtype, layout=layout, seed=seed, defaults=seed % 2 == 0)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        inputs = draw(op, variant, how, CPU)
        launches = [matrix.Launching(), *matrix.launchings(op, inputs, "small", seed)]
        records = list(check.check_draw(op, variant, how, launches, CPU))
    sys.modules.pop(op.module.__name__, None)
    assert len(records) >= 2
    return [str(record) for record in records if not record.ok]


dtypes = st.sampled_from((torch.float32, torch.bfloat16, torch.float16, torch.float64))


@settings(CHECKED, max_examples=30)
@given(elementwise_specs(), st.integers(0, 20), dtypes)
def test_elementwise(folder: Path, spec: DrawnSpec, seed: int, dtype: torch.dtype) -> None:
    assert wrong(built(spec, folder), seed, dtype) == []


@settings(CHECKED, max_examples=30)
@given(rowwise_specs(), st.integers(0, 20), dtypes)
def test_rowwise(folder: Path, spec: DrawnSpec, seed: int, dtype: torch.dtype) -> None:
    assert wrong(built(spec, folder), seed, dtype) == []


def wrong_gradients(op: Subject, seed: int) -> list[str]:
    """What the rule finds wrong of the gradients, through autograd."""
    (variant,) = op.traced.variants
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        records = list(check.check_autograd(op, variant, random.Random(seed), CPU))
    sys.modules.pop(op.module.__name__, None)
    return [str(record) for record in records if not record.ok]


@settings(CHECKED, max_examples=8)
@given(st.one_of(elementwise_specs(), rowwise_specs()), st.integers(0, 20))
def test_gradients(folder: Path, spec: DrawnSpec, seed: int) -> None:
    assert wrong_gradients(built(spec, folder, gradients=True), seed) == []
