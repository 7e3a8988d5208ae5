"""The kinds of schedule: all in which one differs from another, a row for each.

Tables of configs are named for kinds: a module has `BLOCK_CONFIGS` for its forward, and, where the
backward has kernels of that kind too, `BACKWARD_BLOCK_CONFIGS`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tilegen.schedule.budgets import CROSSED, JOINED, LANES, NONE, STAGED, SharedMemory
from tilegen.schedule.config import Config
from tilegen.schedule.predict import (
    Work,
    block_cost,
    columns_cost,
    flat_cost,
    loop_cost,
    split_cost,
    sums_cost,
)
from tilegen.targets import Target

Cost = Callable[[Config, Target, Work, int, int, int], float]
"""Predicted seconds: of a config, for work on elements of a size, at rows and columns."""


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """One kind of schedule, compared by identity: there is one of each.

    Attributes:
        name: of the schedule.
        kernel: how the name of its first kernel ends.
        cost: the model of its time.
        doc: what its table of configs is of; empty where it takes that of another kind.
        symbols: the parts of a config in the order in which a module prints them, and what the
            search tries of each: TILE elements, PROGRAMS on an SM and all of them at once,
            num_warps, and num_stages of loads in flight, which lie in shared memory. One tile ahead
            is not enough to be worth its place (rmsnorm backward: 1.03 to 1.10 of the time with
            two).
        shapes: (rows, columns) at which configs are compared: what models do, from one token to a
            full batch, narrow heads to wide vocabularies. Elementwise kinds count elements.
        shared: what a program needs shared memory for.
        elements: of a tile that a thread works on, at most: 0 for one vector.
        whole: rows are whole in registers, padded to a power of two along each dimension.
        rows: whether shapes are of rows and columns, not of elements.
        sole: an op without another kind refuses rows that no config holds.
        lacks: registers that the threads of a program may lack together for rows that no config
            holds otherwise: to spill them costs less than to read the rows again, stage by stage
            (layernorm backward of 8192x16384 on an H200: 0.349 ms; in one pass 0.270 with 8 warps,
            which lack 11,000, 0.287 with 16 and 14,000, but 0.391 with 32 and 19,000).
    """

    name: str
    kernel: str
    cost: Cost
    doc: str = ""
    symbols: tuple[tuple[str, tuple[int, ...]], ...] = ()
    shapes: tuple[tuple[int, int], ...] = ()
    shared: SharedMemory = NONE
    elements: int = 0
    whole: bool = False
    rows: bool = True
    sole: bool = False
    lacks: int = 0

    def tried(self, symbol: str) -> tuple[int, ...]:
        """What the search tries of a part of a config; nothing if its configs have no such part."""
        return dict(self.symbols).get(symbol, ())

    @property
    def pipelined(self) -> bool:
        """Whether its kernels have a loop whose loads are in flight ahead of it."""
        return bool(self.tried("num_stages"))


def _tiles(
    warps: tuple[int, ...], tiles: tuple[int, ...],
    programs: tuple[int, ...] = (), stages: tuple[int, ...] = (),
) -> tuple[tuple[str, tuple[int, ...]], ...]:  # fmt: skip
    """The symbols of kernels that work on tiles of TILE elements."""
    symbols = (
        ("TILE", tiles),
        ("PROGRAMS", programs),
        ("num_warps", warps),
        ("num_stages", stages),
    )
    return tuple((name, values) for name, values in symbols if values)


def powers(first: int, last: int) -> tuple[int, ...]:
    """Powers of two from 2**first to 2**last."""
    return tuple(2**n for n in range(first, last + 1))


def _elements_cost(
    config: Config, target: Target, work: Work, size: int, rows: int, columns: int
) -> float:
    return flat_cost(config, target, work, size, rows * columns)


#: Elements of a tile that a thread works on: 64 did not spill when measured, 128 did; and what a
#: thread does one after the other, other warps cannot hide. Without a reduction, one vector is best
#: (gelu: 1.01 to 1.04 of its time with two to four of them).
MOST_ELEMENTS: Final = 64

_ELEMENTS: Final = ((1, 2**14), (1, 2**19), (1, 2**23), (1, 2**28))

KINDS: Final[dict[str, Kind]] = {
    kind.name: kind
    for kind in (
        Kind(
            "flat", "flat", _elements_cost,
            "Neighbouring elements of contiguous tensors, TILE to a program",
            _tiles(powers(0, 3), powers(9, 13)), _ELEMENTS, rows=False,
        ),
        Kind(
            "tiled", "tiled", _elements_cost, "Tiles of TILE elements over strided axes",
            _tiles(powers(0, 3), powers(10, 13)), _ELEMENTS, CROSSED, MOST_ELEMENTS, rows=False,
        ),
        Kind(
            "block", "block", block_cost, "Whole rows in registers, TILE elements to a program",
            _tiles(powers(0, 5), powers(9, 15)),
            (
                (2**19, 128), (32768, 1024), (4096, 4096), (16384, 8192), (8192, 16384),
                (4096, 32768), (16, 4096),
            ),
            JOINED, MOST_ELEMENTS, whole=True, sole=True,
        ),
        Kind(
            "loop", "loop", loop_cost, "Sweeps over one row, TILE elements at a time",
            _tiles(powers(2, 5), powers(11, 15)),
            ((16384, 8192), (8192, 16384), (4096, 32768), (2048, 131072), (64, 65536)),
            LANES, MOST_ELEMENTS,
        ),
        Kind("split", "partial", split_cost),
        Kind(
            "sums", "sums", sums_cost,
            "Whole rows in registers, TILE elements at a time, in PROGRAMS programs an SM",
            _tiles(powers(2, 5), powers(11, 15), (1, 2, 4), (1, 3)),
            ((2**19, 128), (32768, 1024), (4096, 4096), (16384, 8192), (8192, 16384)),
            STAGED, MOST_ELEMENTS, whole=True, lacks=2**14,
        ),
        Kind(
            "columns", "columns", columns_cost,
            "Tiles of TILE elements over rows and columns, in PROGRAMS programs an SM",
            _tiles(powers(2, 4), powers(11, 12), (1, 2, 4), (1, 3)),
            ((2**19, 128), (32768, 1024), (4096, 4096), (16384, 8192), (8192, 32768)),
            STAGED, MOST_ELEMENTS,
        ),
    )
}  # fmt: skip
"""In the order in which a module prints their tables."""
