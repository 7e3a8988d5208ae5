"""Ops of the catalogue and their searches, made once a process."""

from functools import cache
from pathlib import Path

from tilegen.build import BuiltOp, build_files
from tilegen.schedule.demand import Demand, demands
from tilegen.schedule.search import Key
from tilegen.schedule.space import keys
from tilegen.targets import TARGETS

SPECS = Path(__file__).parents[2] / "specs"
KEYS = keys(TARGETS)
NAMES = (
    "vector_add",
    "rope",
    "softmax",
    "add_layernorm",
    "groupnorm",
    "cross_entropy",
    "top_p_sample",
)


@cache
def op(name: str) -> BuiltOp:
    return build_files([SPECS / f"{name}.py"], TARGETS)[0]


@cache
def asked(name: str) -> dict[str, Demand]:
    return demands(op(name).programs)


def key_of(architecture: str, size: int) -> Key:
    """The key of a class and an element size."""
    return next(k for k in KEYS if (k.target.architecture, k.size) == (architecture, size))
