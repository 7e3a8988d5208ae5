"""What a tile may be: each budget of a GPU as a bound on the tile, derived once, with sympy.

A budget is an inequality that is linear in the tile symbol T: what a config needs is at most what
the GPU has. `bound` turns it around, symbolically, into the largest T; the search then only puts
numbers in. Symbols: T elements of a tile, W warps, S threads of a warp, R registers of an SM, H
words held for an element, B bytes of an element, A bytes of a word of arithmetic.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import sympy

from tilegen.analysis.statements import VECTOR_BYTES
from tilegen.schedule.demand import Demand
from tilegen.schedule.predict import (
    MOST_REGISTERS,
    OWN_REGISTERS,
    SPARE,
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


#: The largest tile by each budget, in closed form.
WIDEST_BY_REGISTERS = bound(REGISTERS, MOST)
WIDEST_BY_JOIN = bound(BLOCK_SHARED, sympy.Symbol("M", positive=True))
WIDEST_BY_SHARED_ROW = bound(SHARED_ROW, sympy.Symbol("M", positive=True))
WIDEST_BY_LANES = bound(LANE_SHARED, sympy.Symbol("M", positive=True))


@cache
def _numbers(name: str) -> Callable[..., float]:
    """A bound as a function of numbers."""
    memory = sympy.Symbol("M", positive=True)
    rows: dict[str, tuple[sympy.Expr, tuple[sympy.Symbol, ...]]] = {
        "registers": (WIDEST_BY_REGISTERS, (W, S, R, H)),
        "join": (WIDEST_BY_JOIN, (S, B, A, memory)),
        "row": (WIDEST_BY_SHARED_ROW, (A, memory)),
        "lanes": (WIDEST_BY_LANES, (B, A, memory)),
    }
    expression, symbols = rows[name]
    function: Callable[..., float] = sympy.lambdify(symbols, expression, "math")
    return function


@dataclass(frozen=True, slots=True)
class Limits:
    """The largest tiles of a number of warps, and what bounds them."""

    registers: float
    shared: float
    most_registers: int


def limits(demand: Demand, target: Target, size: int, warps: int) -> Limits:
    """The largest tiles that a GPU allows, by registers and by shared memory."""
    work, use = demand.work, demand.kind.shared
    threads = warps * target.warp_size
    held = max(1.0, work.held if size < 4 else work.held_wide * (size / 4))
    registers = _numbers("registers")(warps, target.warp_size, target.registers_per_sm, held)
    most = target.shared_per_program
    if use == "join":
        shared = _numbers("join")(target.warp_size, size, word_of(size), most)
        if demand.shared_row:
            shared = min(shared, _numbers("row")(word_of(size), most))
    elif use == "lanes":
        shared = _numbers("lanes")(size, word_of(size), most)
    else:
        shared = float("inf")
    return Limits(registers, shared, min(MOST_REGISTERS, target.registers_per_sm // threads))


def word_of(size: int) -> int:
    """Bytes of a word of arithmetic: fp64 for 8-byte floats, else fp32."""
    return 8 if size == 8 else 4


def shared_bytes(
    demand: Demand, target: Target, size: int, tile: int, warps: int, stages: int = 0
) -> int:
    """Shared memory of a config, by the formulas above, at least the join of one row.

    The compiler needs no more (tests compare), and less where a row lies in one warp.
    """
    word, use = word_of(size), demand.kind.shared
    if not use:
        return 0
    if use == "stages":
        # A buffer for each tile in flight; what joins threads comes on top.
        buffers = stages if stages > 1 else 0
        return word * warps + int(buffers * tile * size * demand.work.reads)
    if use == "crossed":
        return word * tile  # what a tensor contiguous along the other axis goes through
    if use == "join":
        rows = word * tile * size // (target.warp_size * VECTOR_BYTES)
        return max(word * warps, rows, word * tile // 2 if demand.shared_row else 0)
    lanes = word * tile * size // VECTOR_BYTES  # one state may change its layout
    return max(word * warps, lanes)


def registers(demand: Demand, target: Target, size: int, tile: int, warps: int) -> int:
    """Registers of a thread."""
    elements = tile / (warps * target.warp_size)
    return int(registers_needed(demand.work, elements, size))
