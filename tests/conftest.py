"""Without a GPU the suite runs kernels in Triton's interpreter: the variable must be set before triton is imported.

Tests that compile start subprocesses without it (see ``compile_environment``).
"""

import os

import pytest
import torch

from tilegen.toolchain.interpreter import prepare

ON_GPU = prepare().type == "cuda"

pytest_plugins = ("golden_plugin",)


@pytest.fixture(scope="session")
def compile_environment() -> dict[str, str]:
    """Return the environment of a subprocess that compiles kernels."""
    return {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}


@pytest.fixture(autouse=True)
def same_draws() -> None:
    """Give each test the same random numbers, whatever ran before it."""
    torch.manual_seed(0)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave tests that need a GPU out where there is none, instead of skipping them."""
    if not ON_GPU:
        items[:] = [item for item in items if item.get_closest_marker("gpu") is None]
