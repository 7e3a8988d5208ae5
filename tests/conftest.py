"""The whole suite runs kernels in Triton's interpreter: the variable must be set before triton is imported.

Tests that compile start subprocesses without it (see ``compile_environment``).
"""

import os

os.environ["TRITON_INTERPRET"] = "1"

import pytest

pytest_plugins = ("golden_plugin",)


@pytest.fixture(scope="session")
def compile_environment() -> dict[str, str]:
    """Return the environment of a subprocess that compiles kernels."""
    return {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
