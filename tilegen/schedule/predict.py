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

#: Each step of a program, from its loads to its stores: fitted to all sweeps.
LATENCY: Final = 0.4e-6
#: What each warp but the first adds to a join of a row: the last one had to wait for its turn
#: (layernorm of 8192 columns: with 4 warps 0.96 of copy, with 16 only 0.73).
JOIN: Final = 0.06e-6
#: How much less it is without other programs on the SM (a guess).
ALONE: Final = 0.95
#: An SM starts no more than one program in this time (gelu in tiles of 512: 81 ns).
DISPATCH: Final = 0.08e-6
#: Between two kernels of one stream.
LAUNCH: Final = 2e-6
#: Registers of a thread besides its share of the tile: addresses, sizes, statistics.
OWN_REGISTERS: Final = 12
#: What the compiler keeps besides the live values, as a share of them. With both, most compiled
#: kernels of whole rows lie between 0.6 and 1.1 of the prediction.
SPARE: Final = 1.15
#: Registers that an instruction can name.
MOST_REGISTERS: Final = 255
#: Programs that one SM runs at once, whatever their size.
MOST_PROGRAMS: Final = 32
#: Bytes that one SM takes in a clock, when it has the memory for itself.
SM_BYTES_PER_CLOCK: Final = 64
#: A warp issues on one of the four schedulers of an SM; half of that its own loads and stores hide.
ISSUE: Final = 2
#: Instructions for each element loaded or stored: conversion, mask, share of the address.
OVERHEAD: Final = 1
#: How much deeper a block loaded ahead makes the loads in flight.
AHEAD: Final = 0.25
#: Rows in flight on an SM, in units of its shared memory (which is L1 as well; on AMD a guess):
#: above the first share some are read again from L2, at the second all (softmax of 32000 columns:
#: 2 rows in flight 1.00 of the best time, 5 rows 1.24).
L1_KEEPS, L1_MISSES = 0.25, 2.0
#: Rate of the L2 cache, in that of memory.
L2_RATE: Final = 2.0
#: The same for the rows in flight on all SMs, in L2 (softmax of 131072 columns: two programs an SM,
#: 1.15 of L2, missed nearly all).
L2_KEEPS, L2_MISSES = 0.6, 1.2
#: Wide rows in registers against a sweep that is alike otherwise: 1.02 to 1.05 from 8192 columns on,
#: nothing at 4096. A sweep whose tile is wider than the row is taken to lose as much.
BLOCK_MARGIN, WIDE = 1.05, 8192
#: Seconds that a config which spills counts for, besides its own: more than another of its table
#: takes (1), or another schedule (2).
SPILLED: Final = (0.0, 1e3, 1e6)
#: Programs for each SM that splitting rows aims at.
SPLIT_PROGRAMS: Final = 4
#: Bytes of a row that a tile of rows by columns takes at most: one 16-byte access for each lane of two
#: warps. What all rows share, such as a bias, is then loaded once for several (bias_gelu: 0.89 to 0.98
#: of copy).
TILE_BYTES: Final = 1024
#: What a step of a loop over pipelined tiles takes besides its arithmetic, and each join of threads
#: in it: by the latencies of barriers and shuffles (rmsnorm backward, one row of 1024 a step in one
#: program an SM: 0.53 us).
STEP, JOINED = 0.15e-6, 0.15e-6
#: Instructions of such a loop, if it joins threads, for each that is counted: copies to shared memory and from it, and their
#: addresses (rmsnorm backward of 32768x1024: 0.19 us for each 1024 elements of a step).
ISSUED: Final = 1.75
#: What each row of a tile adds to that: loads, results and joins of its own (rmsnorm backward, a step of
#: 8192 elements: 1.6 us as one row, 1.9 us as eight).
ROW: Final = 0.04e-6
#: How sharply a walk turns from what it moves to what it computes.
WALK_BEND: Final = 12
#: What each warp but the first adds to a join in such a loop, where barriers of all warps follow each
#: other (rmsnorm backward 8192x16384: 8 warps 0.210 ms, 16 0.212, 32 0.214).
LOOP_JOIN: Final = 3e-9
#: Where warps outnumber the vectors of a row, they lie side by side over several rows, and what rows
#: have for themselves is converted to a layout that copies it to all of them. By the square of warps
#: side by side times rows, up to the most that was measured (rmsnorm backward of 32768x1024, tiles of
#: 8192: 8 warps 0.061 ms, 16 0.065, 32 0.105; of 16384: 8 warps 0.063, 16 0.080, 32 0.174).
BESIDE, MOST_BESIDE = 0.3e-9, 128
#: What such warps cost besides where no loads are ahead: each step waits for its conversions as well
#: (32768x1024, tiles of 4096 in 4 programs: 4 warps 0.063 ms, 8 0.099; of 8192 in 2: 0.071, 0.114).
UNSTAGED: Final = 2.0
#: Adding up partial sums: each step of it waits for L2 with nothing beside it, and they are written
#: and read at this share of the memory's rate, when nothing else is under way (rmsnorm backward of
#: 16384x8192: each further program an SM, 8.6 MB of sums, takes 7 us; of 32768x1024 2 to 6 us).
JOIN_STEP, PARTIAL_RATE = 1e-6, 0.5
#: How many times as fast what all programs read comes from L2: it adds little to what moves (a guess).
SHARED_RATE: Final = 8.0
#: Bytes that a lane takes at once.
LANE_BYTES: Final = 16
#: Columns of partial sums that a program adds up, and how many of them a thread holds.
JOIN_COLUMNS, JOIN_ELEMENTS = 32, 32
#: How sharply the rate bends where the bytes in flight just suffice (softmax of 4096x32000 in one
#: program an SM: 0.77 of copy; of 16384x8192 in four: 0.94).
BEND: Final = 4


class Work(NamedTuple):
    """What a kernel does for one element of its tile.

    Attributes:
        reads: tensors read from memory, in elements of the op's widest float.
        rereads: those read again by later passes, from L1 or L2 where the row still is there.
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
    flops: float, special: float, joins: int, ahead: float = 0,
) -> float:  # fmt: skip
    """Seconds for ``programs``, each of which moves ``moved`` bytes in ``steps`` alike.

    A program waits LATENCY in each step, for its joins and for its arithmetic; in the rest it moves
    bytes. The r - 1 others on its SM hide its arithmetic, and are in the way of its joins. With d
    tiles of each in flight, an SM asks for u = r * d * transfer / (transfer + waiting) of its share
    of the memory, and gets u / (1 + u ** BEND) ** (1 / BEND). Flops and special functions are bounds
    of their own.
    """
    sms = target.multiprocessors
    busy = programs if programs < sms else sms
    bandwidth = target.measured_copy or 0.9 * target.bandwidth
    rate = min(bandwidth / busy, SM_BYTES_PER_CLOCK * target.clock_hz)
    lanes = target.peak["f32"] / sms / 2
    here = share(programs, resident, sms)
    issue = ISSUE * (flops + special) / lanes / warps
    join = JOIN * (warps - 1) * (1 - ALONE / here)
    waiting = LATENCY * steps + issue / here + join * joins
    transfer = (moved or 1.0) / rate
    asked = here * (1 + AHEAD * ahead) * transfer / (transfer + waiting)
    got = asked / math.pow(1 + asked**BEND, 1 / BEND)
    uneven = max(1.0, cdiv(programs, sms) * busy / programs) if programs < resident * sms else 1.0
    memory = moved * programs / (busy * rate * got) * uneven
    units = target.special_per_clock * target.clock_hz
    arithmetic = max(flops / lanes, special / units) * programs / busy * uneven
    return LAUNCH + max(memory, arithmetic, DISPATCH * programs / sms)


def share(programs: int, resident: int, sms: int) -> float:
    """Programs on an SM at once, where there are fewer than it could run; at least one."""
    return min(float(resident), max(1.0, programs / sms))


def flat_cost(config: Config, target: Target, work: Work, size: int, elements: int) -> float:
    """Predicted seconds of an elementwise config for ``elements`` of ``size`` bytes."""
    elements = next_power_of_2(elements)
    tile, warps = config["TILE"], config["num_warps"]
    return run_time(
        target, cdiv(elements, tile), resident(config, target, work, size, tile), warps, 1,
        min(tile, elements) * size * (work.reads + work.writes),
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
    return (BLOCK_MARGIN if width >= WIDE else 1.0) * run_time(
        target, cdiv(rows, tall), resident(config, target, work, size, tile), warps, 1,
        tile * size * (work.reads + work.writes),
        tile * (work.flops + OVERHEAD * (work.reads + work.writes)), tile * work.special,
        work.joins,
    )  # fmt: skip


def loop_cost(
    config: Config, target: Target, work: Work, size: int, rows: int, columns: int
) -> float:
    """Predicted seconds of sweeping over rows, one a program.

    What a later pass reads again comes from L1 or L2 as far as the rows in flight lie there.
    """
    rows, columns = next_power_of_2(rows), next_power_of_2(columns)
    tile, warps = config["TILE"], config["num_warps"]
    most = resident(config, target, work, size, tile)
    again = columns * size * work.rereads
    row = again / max(1, work.passes - 1) * share(rows, most, target.multiprocessors)
    from_l2 = between(row / target.shared_per_sm, L1_KEEPS, L1_MISSES)
    missed = between(row * min(rows, target.multiprocessors) / target.l2_bytes, L2_KEEPS, L2_MISSES)
    missed = min(missed, from_l2)
    steps, elements = cdiv(columns, tile), max(columns, tile)
    return (BLOCK_MARGIN if columns < tile else 1.0) * run_time(
        target, rows, most, warps, work.passes * steps,
        columns * size * (work.reads + work.writes) + again * (missed + (from_l2 - missed) / L2_RATE),
        elements * (work.flops + OVERHEAD * (work.reads + work.rereads + work.writes)),
        elements * work.special, work.joins, min(work.ahead, steps - 1),
    )  # fmt: skip


def between(value: float, low: float, high: float) -> float:
    """How far a value is on the way from ``low``, 0, to ``high``, 1."""
    return min(1.0, max(0.0, (value - low) / (high - low)))


def resident(config: Config, target: Target, work: Work, size: int, tile: int) -> int:
    """Programs of a config that one SM runs at once, with ``tile`` elements each.

    By the registers that the compiler took, where its config says so: with those that are predicted,
    add_rmsnorm of 16384 columns was taken for two programs of 108 registers where it is one of 138.
    """
    threads = config["num_warps"] * target.warp_size
    needed = registers_needed(work, max(1.0, tile / threads), size)
    return programs_resident(target, threads, config.get("registers", needed), 0)


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
    steps, again = chunk // config["TILE"], chunk * size * work.rereads
    missed = min(1.0, rows * columns * size * work.rereads / target.l2_bytes)
    flops = chunk * (work.flops + OVERHEAD * (work.reads + work.rereads + work.writes))
    return LAUNCH + LATENCY + run_time(
        target, rows * splits, resident(config, target, work, size, config["TILE"]),
        config["num_warps"], steps * work.passes,
        chunk * size * (work.reads + work.writes) + again * (missed + (1 - missed) / L2_RATE),
        flops, chunk * work.special, work.joins + 1, min(work.ahead, steps - 1),
    )  # fmt: skip


def split_row(target: Target, rows: int, columns: int, tile: int) -> tuple[int, int]:
    """Return how many programs share a row, and how many columns each takes."""
    wanted = max(1, SPLIT_PROGRAMS * target.multiprocessors // next_power_of_2(rows))
    chunk = tile * max(1, cdiv(next_power_of_2(columns), wanted * tile))
    return cdiv(columns, chunk), chunk


def sums_cost(
    config: Config, target: Target, work: Work, size: int, rows: int, width: int, places: int = 1
) -> float:
    """Predicted seconds of carrying sums over rows of ``width`` columns, held whole in registers.

    The sums are of ``rows`` rows at each of ``places``; infinity if the rows do not fit.
    """
    if width > config["TILE"]:
        return math.inf
    rows = next_power_of_2(rows)
    tall = min(config["TILE"] // width, rows)
    return _carrying(config, target, work, size, (tall, width), rows, width, places)


def columns_cost(
    config: Config, target: Target, work: Work, size: int, rows: int, columns: int, places: int = 1
) -> float:
    """Predicted seconds of carrying sums over rows in blocks of columns."""
    rows, columns = next_power_of_2(rows), next_power_of_2(columns)
    tile = tile_shape(False, rows, columns, config["TILE"], size)
    return _carrying(config, target, work, size, tile, rows, columns, places)


def _carrying(
    config: Config, target: Target, work: Work, size: int, tile: tuple[int, int], rows: int,
    columns: int, places: int,
) -> float:  # fmt: skip
    """Seconds of programs that go over tiles of rows, and of the kernel that adds up their sums.

    With s stages, s tiles of a program are in flight; but it works on one after the other, and is
    never done before that. Other programs on its SM hide what it waits for, not what it issues.
    """
    tall, wide = tile
    steps, blocks = cdiv(rows, tall), places * cdiv(columns, wide)
    sharing = programs_of(config, target, steps, blocks)
    steps, warps, elements = cdiv(steps, sharing), config["num_warps"], tall * wide
    ahead = config["num_stages"] - 1
    shared = int(ahead * elements * size * (work.reads + work.rereads))
    threads = warps * target.warp_size
    needed = config.get("registers", registers_needed(work, max(1.0, elements / threads), size))
    operations = work.flops + OVERHEAD * (work.reads + work.rereads + work.writes)
    here = max(1.0, sharing * blocks / target.multiprocessors)
    lanes = target.peak["f32"] / target.multiprocessors / 2 * min(1.0, here * warps / 4)
    vectors = wide * size / (LANE_BYTES * target.warp_size)
    beside = min(MOST_BESIDE, tall * max(1.0, warps / vectors)) if tall > 1 else 1.0
    waiting = STEP + work.joins * (JOINED + LOOP_JOIN * (warps - 1))
    issuing = elements * operations / lanes
    if work.joins:
        issuing = ISSUED * issuing + ROW * tall + BESIDE * beside * beside
    alone = steps * (waiting + here * issuing)
    if work.joins and not ahead and tall > 1 and warps > vectors:
        alone *= UNSTAGED
    stored = work.writes / (work.reads + work.writes or 1.0)  # no step waits for it
    moving = run_time(
        target, sharing * blocks, programs_resident(target, threads, needed, shared), warps, steps,
        steps * elements * size * (work.reads + work.writes + work.rereads / SHARED_RATE),
        steps * elements * operations, steps * elements * work.special, steps * work.joins,
        (ahead + stored) / AHEAD,
    )  # fmt: skip
    walk = math.pow(moving**WALK_BEND + alone**WALK_BEND, 1 / WALK_BEND)
    height, _ = join_tile(config, sharing, columns)
    partial = 8.0 * sharing * blocks * wide / (PARTIAL_RATE * target.bandwidth)
    return walk + LAUNCH + JOIN_STEP * cdiv(sharing, height) + partial


def programs_of(config: Config, target: Target, tiles: int, apart: int) -> int:
    """Return how many programs share tiles of rows that there are ``apart`` times.

    All run at once: PROGRAMS on each SM.
    """
    return max(1, min(tiles, config["PROGRAMS"] * target.multiprocessors // max(1, apart)))


def join_tile(config: Config, parts: int, columns: int) -> tuple[int, int]:
    """Return how many of ``parts`` partial sums a program takes at once, of how many columns."""
    wide = min(JOIN_COLUMNS, next_power_of_2(columns))
    most = 32 * JOIN_ELEMENTS * config["num_warps"] // wide
    return min(most, next_power_of_2(parts)), wide


def fits(seconds: float) -> bool:
    """Return whether a config holds a row and hardly spills: what its predicted time tells."""
    return seconds < SPILLED[2]


def tile_shape(
    crossed: bool, height: int, length: int, elements: int, size: int
) -> tuple[int, int]:
    """Return the sizes of a tile of about ``elements`` of ``size`` bytes over two axes.

    Where a tensor is contiguous along the first of the two (``crossed``), tiles are square, so
    that its accesses too cover whole cache lines.
    """
    widest = math.isqrt(elements) if crossed else min(elements, TILE_BYTES // size)
    block_1 = min(next_power_of_2(length), next_power_of_2(max(1, widest)))
    return min(next_power_of_2(height), max(1, elements // block_1)), block_1
