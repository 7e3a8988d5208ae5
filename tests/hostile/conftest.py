"""Builds the specs of a test module, its `SPECS`, in a process of its own."""

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")
def op(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Any]]:
    """Gives the public function of a spec."""
    specs = request.module.SPECS
    folder = tmp_path_factory.mktemp(specs.stem)
    build = ["build", str(specs), "--out", str(folder / f"{specs.stem}_kernels")]
    subprocess.run([sys.executable, "-m", "tilegen", *build], check=True, capture_output=True)
    sys.path.insert(0, str(folder))
    yield lambda name: getattr(importlib.import_module(f"{specs.stem}_kernels.{name}"), name)
    sys.path.remove(str(folder))
