"""The sampled check on a GPU: about a minute of compilations an op, and nothing left out."""

import warnings
from pathlib import Path

import pytest
from compilations import compilations, launches

from tilegen.spec.load import load_folder
from tilegen.toolchain import check
from tilegen.toolchain.subject import Backward, Subject, subject

ROOT = Path(__file__).parents[2]
LOADED = {item.spec.name: item for item in load_folder(ROOT / "specs")[0]}
#: Kernels compiled by one op's check, at about a second each; the limit for one with four variants,
#: and that for a backward, of which a launch is up to four kernels.
MOST, MOST_OF_FOUR, MOST_BACKWARD = 66, 76, 130

check.prepare()


def of(name: str) -> Subject:
    return subject(LOADED[name], ROOT / "generated")


@pytest.mark.parametrize(
    "name", ["vector_add", "softmax", "cross_entropy", "scaled_masked_softmax"]
)
def test_the_sample_is_compiled_in_about_a_minute(name: str) -> None:
    op = of(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {key for inputs, one in launches(op) for key in compilations(op, inputs, one)}
    assert len(found) <= (MOST_OF_FOUR if len(op.traced.variants) == 4 else MOST)


@pytest.mark.parametrize("name", ["swiglu", "layernorm", "scaled_masked_softmax"])
def test_the_sample_of_gradients_takes_two_more(name: str) -> None:
    op = of(name)
    backward = Backward(op.traced, op.module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = list(launches(backward))
        found = {key for inputs, one in made for key in compilations(backward, inputs, one)}
    assert len(found) <= MOST_BACKWARD
    kernels = {kernel for kernel in vars(op.module) if "_backward_" in kernel and kernel[0] == "_"}
    plans = {kernel for kernel in kernels if kernel.startswith("_plan")}
    assert {key[0] for key in found} == kernels - plans  # type: ignore[index]


@pytest.mark.parametrize("name", ["layernorm", "scaled_masked_softmax"])
def test_every_kernel_and_config_is_in_the_sample(name: str) -> None:
    op = of(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = list(launches(op))
        kernels = {key[0] for inputs, one in made for key in compilations(op, inputs, one)}
    types = {tensor.dtype for inputs, _ in made for tensor in inputs.tensors if tensor is not None}
    assert len(types) >= 6
    endings = ("_block", "_loop", "_partial", "_finish")
    own = {kernel for kernel in vars(op.module) if "_backward_" not in kernel}
    assert kernels == {kernel for kernel in own if kernel.endswith(endings)}
    chosen = {one.schedule for _, one in made}
    assert chosen == {"block", "loop", "split", None}
    tables = {"block": "BLOCK_CONFIGS", "loop": "LOOP_CONFIGS", "split": "LOOP_CONFIGS"}
    architecture = op.runtime.TARGETS[0].architecture
    for schedule, table in tables.items():
        wanted = set(vars(op.module)[table][architecture, 4])
        assert wanted <= {c for _, one in made if one.schedule == schedule for c in one.configs}
