"""Predicted times, in closed form: the model that ranks configs, here and in every build's runtime.

What follows the imports is printed as it stands into `_runtime.py`, so that the launcher picks by
the same arithmetic that ranked the configs. It uses only the standard library, and `Config`,
`Target`, `cdiv` and `next_power_of_2`, which the runtime has too.
"""

import math
from typing import Final, NamedTuple

from tilegen.schedule.config import Config, cdiv, next_power_of_2
from tilegen.targets import Target

# --- Predicted times. Constants are seconds and bytes of an H200, from the probes in each line.

#: From a load to its data, under load: 40 KiB in flight in an SM keep the copy rate (Little's law).
LATENCY: Final = 0.6e-6
#: A join of the threads of a program, at 16 warps: barriers on both sides of shared memory.
JOIN: Final = 0.15e-6
#: To start a program, compute its addresses and retire it.
START: Final = 0.1e-6
#: An SM starts no more than one program in this time (a guess; it rules out tiny tiles).
DISPATCH: Final = 0.1e-6
#: Between two kernels of one stream.
LAUNCH: Final = 2e-6
#: Registers of a thread besides its share of the tile: addresses, sizes, statistics.
OWN_REGISTERS: Final = 12
#: What the compiler keeps besides the live values, as a share of them. With both, most compiled
#: kernels lie between 0.6 and 1.1 of the prediction (sweeps from 0.5).
SPARE: Final = 1.15
#: Registers that an instruction can name.
MOST_REGISTERS: Final = 255
#: Programs that one SM runs at once, whatever their size.
MOST_PROGRAMS: Final = 32
#: Bytes that one SM takes in a clock, when it has the memory for itself.
SM_BYTES_PER_CLOCK: Final = 64
#: Warps that keep all lanes of an SM issuing.
BUSY_WARPS: Final = 8
#: Instructions for each element loaded or stored: conversion, mask, share of the address.
OVERHEAD: Final = 1
#: How much of its arithmetic a program waits for, the rest overlapping its own loads and stores.
EXPOSED: Final = 0.5
#: Rate of the L2 cache, in that of memory.
L2_RATE: Final = 2.0
#: Rows in flight above the first share of L2 begin to miss when they are read again; at the second
#: all do (softmax of 131072 columns: two programs an SM, 1.15 of L2, missed nearly all).
L2_KEEPS, L2_MISSES = 0.6, 1.2
#: A loop must promise this much more than rows in registers: whether L2 keeps a row is a guess.
LOOP_MARGIN: Final = 1.03
#: Programs for each SM that splitting rows aims at.
SPLIT_PROGRAMS: Final = 4
#: How sharply the rate bends where the bytes in flight just suffice (softmax of 4096x32000 in one
#: program an SM: 0.72 of copy; of 16384x8192 in four: 0.95).
BEND: Final = 4


class Work(NamedTuple):
    """What a kernel does for one element of its tile.

    Attributes:
        reads: tensors read from memory, in elements of the op's widest float.
        rereads: those read again by later passes, from L2 where the row still is there.
        writes: tensors written.
        flops: operations on floats.
        special: of them, those of the special-function unit.
        joins: joins over the threads of a program.
        passes: sweeps over the row.
        ahead: blocks that a sweep loads ahead in registers.
        held: words of 4 bytes alive at once, where elements have 2 bytes or fewer.
        held_wide: the same where they have 4; with 8 it is twice as much.
    """

    reads: float
    writes: float
    flops: float
    special: float = 0.0
    rereads: float = 0.0
    joins: int = 0
    passes: int = 1
    ahead: int = 0
    held: float = 1.0
    held_wide: float = 1.0


def registers_needed(work: Work, elements: float, size: int) -> float:
    """Registers of a thread that holds ``elements`` of a tile: its own, and the live values.

    OWN_REGISTERS + elements * SPARE * max(1, held): packed halves are converted at once, so that no
    value takes less than a word for long.
    """
    held = work.held if size < 4 else work.held_wide * (size / 4)
    return OWN_REGISTERS + elements * SPARE * max(1.0, held)


def programs_resident(target: Target, threads: int, registers: float, shared: int) -> int:
    """Programs that one SM runs at once: by threads, registers, shared memory; at least one."""
    fit = min(
        target.max_threads_per_sm // threads,
        int(target.registers_per_sm // (min(registers, MOST_REGISTERS) * threads)),
        target.shared_per_sm // (shared + 1024),  # the driver keeps a KiB for itself
        MOST_PROGRAMS,
    )
    return max(1, fit)


def run_time(
    target: Target, programs: int, resident: int, warps: int, steps: int, moved: float,
    cached: float, flops: float, special: float, joins: int, ahead: int = 0,
) -> float:  # fmt: skip
    """Seconds for ``programs``, each of which moves ``moved`` bytes in ``steps`` alike.

    A program waits LATENCY in each step, and START, its joins and its own arithmetic once; in the
    rest it moves bytes. With r programs to an SM and d tiles of each in flight (that loaded ahead,
    and half of the next), an SM asks for
    u = r * d * transfer / (transfer + waiting) of its share of the memory, and gets
    u / (1 + u ** BEND) ** (1 / BEND). The last wave of programs costs half of what it leaves idle.
    ``cached`` bytes come from L2; flops and special functions are bounds of their own.
    """
    sms = target.multiprocessors
    busy = min(programs, sms)
    bandwidth = target.measured_copy or 0.9 * target.bandwidth
    rate = min(bandwidth / busy, SM_BYTES_PER_CLOCK * target.clock_hz)
    lanes = target.peak["f32"] / sms / 2
    issue = EXPOSED * (flops + special) / lanes * max(1.0, BUSY_WARPS / warps)
    waiting = LATENCY * steps + START + JOIN * joins * (0.5 + warps / 32) + issue
    depth = max(1.0, ahead + 0.5)
    here = min(float(resident), max(1.0, programs / sms))
    transfer = max(1.0, moved) / rate
    asked = here * depth * transfer / (transfer + waiting)
    got = asked / math.pow(1 + math.pow(asked, BEND), 1 / BEND)
    waves = programs / (resident * sms)
    uneven = (
        (math.ceil(waves) / waves + 1) / 2 if waves > 1 else cdiv(programs, sms) * busy / programs
    )
    memory = max(moved, (moved + cached) / L2_RATE) * programs / (busy * rate * got) * uneven
    units = target.special_per_clock * target.clock_hz
    arithmetic = max(flops / lanes, special / units) * programs / busy * uneven
    return LAUNCH + max(memory, arithmetic, DISPATCH * programs / sms)


def flat_cost(config: Config, target: Target, work: Work, size: int, elements: int) -> float:
    """Predicted seconds of an elementwise config for ``elements`` of ``size`` bytes."""
    elements = next_power_of_2(elements)
    tile, warps = config["TILE"], config["num_warps"]
    threads = warps * target.warp_size
    registers = registers_needed(work, tile / threads, size)
    return run_time(
        target, cdiv(elements, tile), programs_resident(target, threads, registers, 0), warps, 1,
        min(tile, elements) * size * (work.reads + work.writes), 0.0,
        tile * (work.flops + OVERHEAD * (work.reads + work.writes)), tile * work.special, 0,
    )  # fmt: skip


def block_cost(
    config: Config, target: Target, work: Work, size: int, rows: int, width: int
) -> float:
    """Predicted seconds of holding rows of ``width`` columns in registers; infinity if they do not fit."""
    rows = next_power_of_2(rows)
    if width > config["TILE"]:
        return math.inf
    tall = min(config["TILE"] // width, rows)
    tile, warps = tall * width, config["num_warps"]
    threads = warps * target.warp_size
    registers = registers_needed(work, max(1.0, tile / threads), size)
    return run_time(
        target, cdiv(rows, tall), programs_resident(target, threads, registers, 0), warps, 1,
        tile * size * (work.reads + work.writes), 0.0,
        tile * (work.flops + OVERHEAD * (work.reads + work.writes)), tile * work.special,
        work.joins,
    )  # fmt: skip


def loop_cost(
    config: Config, target: Target, work: Work, size: int, rows: int, columns: int, outer: int = 1
) -> float:
    """Predicted seconds of sweeping over rows, one a program: ``outer`` times ``columns`` columns.

    What a later pass reads again comes from L2 as far as the rows in flight lie there.
    """
    rows, columns, outer = next_power_of_2(rows), next_power_of_2(columns), next_power_of_2(outer)
    tile, warps = config["TILE"], config["num_warps"]
    resident = loop_programs(config, target, work, size)
    again = outer * columns * size * work.rereads
    in_flight = again * min(rows, resident * target.multiprocessors) / target.l2_bytes
    missed = again * min(1.0, max(0.0, (in_flight - L2_KEEPS) / (L2_MISSES - L2_KEEPS)))
    steps, elements = outer * cdiv(columns, tile), outer * max(columns, tile)
    return LOOP_MARGIN * run_time(
        target, rows, resident, warps, work.passes * steps,
        outer * columns * size * (work.reads + work.writes) + missed, again - missed,
        elements * (work.flops + OVERHEAD * (work.reads + work.rereads + work.writes)),
        elements * work.special, work.joins,
        min(work.ahead, steps - 1),
    )  # fmt: skip


def loop_programs(config: Config, target: Target, work: Work, size: int) -> int:
    """Programs of a loop config that one SM runs at once."""
    threads = config["num_warps"] * target.warp_size
    registers = registers_needed(work, config["TILE"] / threads, size)
    return programs_resident(target, threads, registers, 0)


def split_cost(
    config: Config, target: Target, work: Work, size: int, rows: int, columns: int
) -> float:
    """Predicted seconds of sharing each row: partial states, then their join; infinity for one part.

    The second kernel reads rows from L2 if all of them fit.
    """
    rows, columns = next_power_of_2(rows), next_power_of_2(columns)
    splits, chunk = split_row(target, rows, columns, config["TILE"])
    if splits == 1:
        return math.inf
    resident, programs = loop_programs(config, target, work, size), rows * splits
    steps, again = chunk // config["TILE"], chunk * size * work.rereads
    missed = again * min(1.0, rows * columns * size * work.rereads / target.l2_bytes)
    flops = chunk * (work.flops + OVERHEAD * (work.reads + work.rereads + work.writes))
    return LAUNCH + LATENCY + START + LOOP_MARGIN * run_time(
        target, programs, resident, config["num_warps"], steps * work.passes,
        chunk * size * (work.reads + work.writes) + missed, again - missed,
        flops, chunk * work.special, work.joins + 1,
        min(work.ahead, steps - 1),
    )  # fmt: skip


def split_row(target: Target, rows: int, columns: int, tile: int) -> tuple[int, int]:
    """Return how many programs share a row, and how many columns each takes."""
    wanted = max(1, SPLIT_PROGRAMS * target.multiprocessors // next_power_of_2(rows))
    chunk = tile * max(1, cdiv(next_power_of_2(columns), wanted * tile))
    return cdiv(columns, chunk), chunk
