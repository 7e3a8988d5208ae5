"""What a tile may be: each budget of a GPU as a bound on the tile, derived once, with sympy.

A budget is an inequality that is linear in the tile symbol T: what a config needs is at most what
the GPU has. `bound` turns it around, symbolically, into the largest T; the search then only puts
numbers in. Symbols: T elements of a tile, W warps, S threads of a warp, R registers of an SM, H
words held for an element, B bytes of an element, A bytes of a word of arithmetic.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import sympy

from tilegen.analysis.statements import VECTOR_BYTES
from tilegen.schedule.predict import (
    MOST_REGISTERS,
    OWN_REGISTERS,
    SPARE,
    Work,
    registers_needed,
)
from tilegen.targets import Target

T, W, S, R, H, B, A = sympy.symbols("T W S R H B A", positive=True)

#: What a thread needs: its own registers, and what it holds of the tile.
REGISTERS = OWN_REGISTERS + T / (W * S) * SPARE * H
#: What a thread may have.
MOST = sympy.Min(MOST_REGISTERS, R / (W * S))
#: Shared memory of a program that joins its threads: a word for each row and warp, which is one
#: for each group of S vectors; and a row of statistics or weights in another layout.
BLOCK_SHARED = A * T * B / (S * VECTOR_BYTES)
#: Where several rows share a tensor without rows, it changes its layout once: at most half a tile.
SHARED_ROW = A * T / 2
#: One state of each lane may change its layout at the end of a sweep.
LANE_SHARED = A * T * B / VECTOR_BYTES


def bound(need: sympy.Expr, most: sympy.Expr) -> sympy.Expr:
    """The largest T for which `need`, which grows linearly with it, is at most `most`."""
    slope = sympy.diff(need, T)
    return (most - need.subs(T, 0)) / slope


#: Bytes of shared memory that a program may have.
M = sympy.Symbol("M", positive=True)
#: The largest tile by each budget, in closed form.
WIDEST_BY_REGISTERS = bound(REGISTERS, MOST)
WIDEST_BY_JOIN = bound(BLOCK_SHARED, M)
WIDEST_BY_SHARED_ROW = bound(SHARED_ROW, M)
WIDEST_BY_LANES = bound(LANE_SHARED, M)

#: The same as functions of numbers.
_widest_by_registers = sympy.lambdify((W, S, R, H), WIDEST_BY_REGISTERS, "math")
_widest_by_join = sympy.lambdify((S, B, A, M), WIDEST_BY_JOIN, "math")
_widest_by_shared_row = sympy.lambdify((A, M), WIDEST_BY_SHARED_ROW, "math")
_widest_by_lanes = sympy.lambdify((B, A, M), WIDEST_BY_LANES, "math")


class Tile(NamedTuple):
    """A tile of a kernel on a GPU, as its budgets see it.

    Attributes:
        work: for one of its elements.
        target: the GPU.
        size: bytes of an element.
        warps: of the program that has it.
        elements: how many it has; 0 where the largest is asked for.
        stages: of loads in flight.
        shared_row: whether its rows share a tensor, which may change its layout.
    """

    work: Work
    target: Target
    size: int
    warps: int
    elements: int = 0
    stages: int = 0
    shared_row: bool = False

    @property
    def threads(self) -> int:
        """Of the program."""
        return self.warps * self.target.warp_size

    @property
    def word(self) -> int:
        """Bytes of a word of arithmetic: fp64 for 8-byte floats, else fp32."""
        return 8 if self.size == 8 else 4


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """What a kind of kernel needs shared memory for.

    The compiler needs no more (tests compare), and less where a row lies in one warp.

    Attributes:
        need: bytes of a program, at least the join of one row.
        widest: the largest tile that fits, where that has a closed form.
    """

    need: Callable[[Tile], int]
    widest: Callable[[Tile], float] = lambda tile: float("inf")


def _joined(tile: Tile) -> int:
    rows = tile.word * tile.elements * tile.size // (tile.target.warp_size * VECTOR_BYTES)
    crossed = tile.word * tile.elements // 2 if tile.shared_row else 0
    return max(tile.word * tile.warps, rows, crossed)


def _widest_joined(tile: Tile) -> float:
    most = tile.target.shared_per_program
    widest: float = _widest_by_join(tile.target.warp_size, tile.size, tile.word, most)
    return min(widest, _widest_by_shared_row(tile.word, most)) if tile.shared_row else widest


def _of_lanes(tile: Tile) -> int:
    return max(tile.word * tile.warps, tile.word * tile.elements * tile.size // VECTOR_BYTES)


def _widest_of_lanes(tile: Tile) -> float:
    widest: float = _widest_by_lanes(tile.size, tile.word, tile.target.shared_per_program)
    return widest


def _staged(tile: Tile) -> int:
    ahead = max(0, tile.stages - 1)
    moved = tile.work.reads + tile.work.rereads
    tiles = int(ahead * (tile.elements * tile.size * moved + 512))
    sums = tile.threads * VECTOR_BYTES // tile.size * tile.word
    return tile.word * tile.warps + max(tiles, min(sums, tile.word * tile.elements))


#: For nothing.
NONE: Final = SharedMemory(lambda tile: 0)
#: A tensor that is contiguous along the other axis goes through it.
CROSSED: Final = SharedMemory(lambda tile: tile.word * tile.elements)
#: The threads of a program join what they reduced.
JOINED: Final = SharedMemory(_joined, _widest_joined)
#: One state of each lane may change its layout at the end of a sweep.
LANES: Final = SharedMemory(_of_lanes, _widest_of_lanes)
#: A buffer for each tile that is loaded ahead, and half a KiB for what rows have; once the loop is
#: done, a vector of sums from each thread.
STAGED: Final = SharedMemory(_staged)


@dataclass(frozen=True, slots=True)
class Limits:
    """The largest tiles of a number of warps, and what bounds them."""

    registers: float
    shared: float
    most_registers: int


def limits(shared: SharedMemory, tile: Tile) -> Limits:
    """The largest tiles that a GPU allows, by registers and by shared memory."""
    work, target, size = tile.work, tile.target, tile.size
    held = max(1.0, work.held if size < 4 else work.held_wide * (size / 4))
    widest = _widest_by_registers(tile.warps, target.warp_size, target.registers_per_sm, held)
    most = min(MOST_REGISTERS, target.registers_per_sm // tile.threads)
    return Limits(widest, shared.widest(tile), most)


def registers(tile: Tile) -> int:
    """Registers of a thread."""
    return int(registers_needed(tile.work, tile.elements / tile.threads, tile.size))
