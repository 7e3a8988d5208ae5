"""Builds the package ``generated_sample``: the two sample modules beside a rendered runtime."""

import importlib
import shutil
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from tilegen.render.runtime import render_runtime
from tilegen.targets import TARGETS

ROOT = Path(__file__).parents[2]
SAMPLES = Path(__file__).parent / "samples"


def target_rows() -> list[dict[str, Any]]:
    return [{field.name: getattr(row, field.name) for field in fields(row)} for row in TARGETS]


@pytest.fixture(scope="session")
def runtime_text() -> str:
    return render_runtime(target_rows(), ROOT / "templates")


@pytest.fixture(scope="session")
def sample_folder(runtime_text: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples")
    package = folder / "generated_sample"
    shutil.copytree(SAMPLES, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "__init__.py").touch()
    (package / "_runtime.py").write_text(runtime_text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def sample(sample_folder: Path) -> Iterator[Any]:
    """Import modules of the package by name: ``sample("rmsnorm")``."""
    sys.path.insert(0, str(sample_folder))
    yield lambda name: importlib.import_module(f"generated_sample.{name}")
    sys.path.remove(str(sample_folder))


@pytest.fixture(scope="session")
def runtime(sample: Any) -> ModuleType:
    return sample("_runtime")


@pytest.fixture(autouse=True)
def fresh_start(runtime: ModuleType) -> None:
    runtime.LAUNCHES.clear()
    torch.manual_seed(0)


@pytest.fixture(scope="module")
def helpers(sample):
    """Return the module of small kernels around the helpers."""
    return sample("helpers")
