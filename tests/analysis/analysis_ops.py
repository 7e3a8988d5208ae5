"""Ops of the catalogue, built once a process."""

from functools import cache
from pathlib import Path

from tilegen.build import BuiltOp, build_files
from tilegen.targets import TARGETS

SPECS = Path(__file__).parents[2] / "specs"


@cache
def op(name: str) -> BuiltOp:
    return build_files([SPECS / f"{name}.py"], TARGETS)[0]
