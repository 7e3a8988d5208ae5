"""What a check runs: which inputs, and for each of them which schedules and configs."""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from tilegen.schedule.kinds import KINDS
from tilegen.spec.trace import Variant
from tilegen.toolchain import planning
from tilegen.toolchain.inputs import FLOATS, LAYOUTS, VALUES, Draw, Inputs, draw
from tilegen.toolchain.shapes import Shape, around, shape, shapes, subsets
from tilegen.toolchain.subject import SCHEDULES, Backward, Subject, casts_to_fp8

#: Tiles that put the edges of small shapes where those of real ones are, for the interpreter.
SMALL_TILES = (32, 64)


@dataclass(frozen=True)
class Launching:
    """How a call is launched: a schedule and its configs, or the plan's own choice."""

    schedule: str | None = None
    configs: tuple[Any, ...] = ()

    def __str__(self) -> str:
        if self.schedule is None:
            return "as chosen"
        return f"{self.schedule} {', '.join(map(repr, self.configs))}"

    def run(
        self, subject: Subject, inputs: Inputs, outs: tuple[torch.Tensor, ...] | None
    ) -> Sequence[torch.Tensor]:
        """The outputs, in `outs` if they are given."""
        if self.schedule is None:
            wanted = _wanted(subject, inputs, outs)
            results = subject.op.launch(
                inputs.tensors, inputs.params, outs, "triton", False, wanted
            )
            return (results,) if isinstance(results, torch.Tensor) else tuple(results)
        choices = subject.runtime.Choices(self.configs, schedule=self.schedule)
        call = plan(subject, inputs, outs).prepare(choices)
        pointers = [None if t is None else t.data_ptr() for t in (*inputs.tensors, *(outs or ()))]
        results = call(inputs.tensors, pointers, inputs.params, outs)
        return tuple(results)


def plan(subject: Subject, inputs: Inputs, outs: tuple[torch.Tensor, ...] | None) -> Any:
    """The plan of a call, from which it is prepared with any choices."""
    given = planning.Arguments(tuple(inputs.tensors), tuple(inputs.params))
    wanted = _wanted(subject, inputs, outs)
    return planning.make_plan(subject.op, subject.runtime, given, outs, wanted=wanted)


def _wanted(
    subject: Subject, inputs: Inputs, outs: tuple[torch.Tensor, ...] | None
) -> tuple[bool, ...] | None:
    """What is asked for: of a forward all it can save, unless `out` is given, which saves nothing."""
    if inputs.wanted is None and subject.op.saved and outs is None:
        return (True,) * len(subject.op.results)
    return inputs.wanted


def schedules(subject: Subject, inputs: Inputs) -> dict[str, tuple[tuple[Any, ...], ...]]:
    """The schedules that these inputs can have, each with its configs: a space for each stage."""
    found: dict[str, tuple[tuple[Any, ...], ...]] = {}
    for schedule, ending in SCHEDULES.items():
        choices = subject.runtime.Choices(schedule=schedule)
        try:
            launch = plan(subject, inputs, None).launch(choices)
        except ValueError:
            continue
        if any(step.kernel.__name__.endswith(f"_{ending}") for step in launch.steps):
            found[schedule] = tuple(choices.spaces)
    return found


def launchings(
    subject: Subject, inputs: Inputs, configs: str = "first", turn: int = 0
) -> list[Launching]:
    """Every schedule that fits, with the first config that does, all of them, or a small tile."""
    found = []
    for schedule, spaces in schedules(subject, inputs).items():
        if configs == "small":
            tile = _small_tile(subject, inputs, schedule, turn)
            small = tuple(shrunk(subject, space[0], tile, turn % 2 == 0) for space in spaces)
            found.append(Launching(schedule, small))
            continue
        fitting = [[c for c in space if fits(schedule, c, inputs, subject)] for space in spaces]
        if any(fitting):
            taken = [some or space for some, space in zip(fitting, spaces, strict=True)]
            most = max(map(len, taken)) if configs == "all" else 1
            # Stages go through their spaces side by side.
            sets = (tuple(space[at % len(space)] for space in taken) for at in range(most))
            found += [Launching(schedule, chosen) for chosen in sets]
    return found


def _small_tile(subject: Subject, inputs: Inputs, schedule: str, turn: int) -> int:
    """A tile that the interpreter is done with soon.

    A block holds one row or four, so that it is full or not; a row splits in two or three, and
    an elementwise op takes some ten programs.
    """
    if KINDS[schedule].whole:
        return _width(subject, inputs) * (4, 1)[turn % 2]
    least = max(SMALL_TILES[turn % 2], 2 * 16 // element_size(inputs))
    binding = subject.runtime.bind(subject.op, inputs.tensors, inputs.params)
    dims = subject.columns if subject.family == "rowwise" else tuple(binding.sizes)
    elements = math.prod(binding.sizes.get(d, 1) for d in dims if d not in subject.gathered)
    parts = {"split": (2, 4), "loop": (64, 64)}.get(schedule, (8, 8))[turn % 2]
    tile: int = max(least, subject.runtime.next_power_of_2(elements) // parts)
    return tile


def _width(subject: Subject, inputs: Inputs) -> int:
    """Lanes that a row takes in a block kernel."""
    binding = subject.runtime.bind(subject.op, inputs.tensors, inputs.params)
    lanes = (subject.runtime.next_power_of_2(binding.sizes.get(d, 1)) for d in subject.columns)
    return math.prod(lanes)


def element_size(inputs: Inputs) -> int:
    """Bytes of the widest floating tensor."""
    sizes = [t.element_size() for t in inputs.tensors if t is not None and t.is_floating_point()]
    return max(sizes, default=1)


def shrunk(subject: Subject, config: Any, tile: int, alone: bool) -> Any:
    """A config with a small tile in place of its own.

    A program that is `alone` goes over all tiles where others would share them: a few rows would
    give each a tile at most.
    """
    values = {**config.values, "TILE": tile}
    if alone and "PROGRAMS" in values:
        values["PROGRAMS"] = 0
    return subject.runtime.Config(**values)


def fits(schedule: str, config: Any, inputs: Inputs, subject: Subject) -> bool:
    """Whether a plan could choose the config: one that holds rows whole holds at least one."""
    return not KINDS[schedule].whole or bool(config["TILE"] >= _width(subject, inputs))


# ---- inputs -------------------------------------------------------------------------------------


def dtypes_of(subject: Subject, device: torch.device) -> tuple[torch.dtype, ...]:
    """The floating types that an op is checked with; fp8 e4m3 needs a GPU that has it."""
    if all(
        operand.dtype.kind != "float" or operand.dtype.bits for operand in subject.traced.operands
    ):
        return (torch.float32,)
    if device.type == "cuda" and torch.cuda.get_device_capability(device) < (8, 9):
        return tuple(dtype for dtype in FLOATS if dtype != torch.float8_e4m3fn)
    return FLOATS


def draws(
    subject: Subject, variant: Variant, device: torch.device, *, full: bool, chance: random.Random
) -> Iterator[tuple[Draw, Sequence[Launching]]]:
    """The inputs of a check, each with its launches.

    In the sampled matrix the edges, dtypes, values, layouts and schedules turn at different rates.
    Variants after the first get a third of it. Compiled, each launch may cost a compilation, so
    there the variants share it: every edge and structure once for the op, with one schedule.
    """
    made = Matrix(subject, variant, device, full, chance)
    yield from made.edges()
    yield from made.structures()
    yield from made.configs()
    yield from made.subsets()


@dataclass(frozen=True)
class Matrix:
    """The matrix of one variant."""

    subject: Subject
    variant: Variant
    device: torch.device
    full: bool
    chance: random.Random

    @property
    def _interpreted(self) -> bool:
        return self.device.type != "cuda"

    @property
    def _brief(self) -> bool:
        """Whether this is a variant after the first in the sampled matrix."""
        return not self.full and self.variant is not self.subject.traced.variants[0]

    @property
    def _economic(self) -> bool:
        """Whether launches are counted: some of them, compiled."""
        return not self.full and not self._interpreted

    def _share(self, start: int) -> slice:
        """Which of the edges (or structures) this variant takes."""
        variants = self.subject.traced.variants
        if self._economic:
            return slice(variants.index(self.variant), None, len(variants))
        return slice(start % 3, None, 3) if self._brief else slice(None)

    @property
    def _pace(self) -> int:
        """Every how many edges one is taken: of a backward a launch is several kernels."""
        return 2 if isinstance(self.subject, Backward) and not self.full else 1

    def _edge_share(self, start: int) -> slice:
        """Which of the edges this variant takes."""
        share = self._share(start)
        first = share.start or start % self._pace
        return slice(first, None, self._pace * (share.step or 1))

    @property
    def _rows(self) -> int:
        """Rows of a shape at most: the interpreter takes some 20 ms for each program."""
        if not self._interpreted:
            return 24
        return 6 if self.subject.family == "rowwise" else 8

    def edges(self) -> Iterator[tuple[Draw, Sequence[Launching]]]:
        """Sizes around every edge, as the plan chooses and under every schedule."""
        types = dtypes_of(self.subject, self.device)
        tiles = (
            SMALL_TILES if self._interpreted else _tiles(self.subject, self.variant, self.device)
        )
        if self._economic:
            tiles = tiles[:: max(1, len(tiles) - 1)]
        made = list(shapes(self.subject, around(tiles), self.chance, self._rows))
        start = self.chance.randrange(1000)
        taken = [(item, types[at // self._pace % len(types)]) for at, item in enumerate(made)]
        cases = taken[self._edge_share(start)]
        if self.full:
            cases = [(item, dtype) for item in made for dtype in types]
        for at, (item, dtype) in enumerate(cases, start):
            how = self._drawable(_rotated(item, dtype, at))
            inputs = draw(self.subject, self.variant, how, self.device)
            configs = "small" if self._interpreted else "first"
            found = launchings(self.subject, inputs, configs, at)
            yield how, found if self.full else self._sampled(found, at)

    def _sampled(self, found: list[Launching], at: int) -> list[Launching]:
        """The first schedule, the others in turn, and now and then what the plan chooses."""
        if not found:  # rows that no schedule takes
            return []
        if self._economic:
            return [_in_turn([*found, Launching()], at)]
        first, others = found[:1], found[1:]
        chosen = [Launching()] if at % 3 == 0 else []
        return [*chosen, *first, *(others[at % len(others)] for _ in others[:1])]

    def structures(self) -> Iterator[tuple[Draw, Sequence[Launching]]]:
        """Every structure of values and every layout, the schedules taking turns."""
        types = dtypes_of(self.subject, self.device)
        item = shape(self.subject, 45, self.chance, self._rows)
        hows = [Draw(item, torch.float32, values, defaults=False) for values in VALUES]
        # As many axes as a kernel takes: four, of which a row is one.
        leading = (2, 1, 2) if self.subject.family == "rowwise" else (2, 2, 2)
        item = shape(self.subject, 45, self.chance, self._rows, leading)
        hows += [Draw(item, torch.float32, layout=layout) for layout in LAYOUTS[1:]]
        for at, how in list(enumerate(hows))[self._share(0)]:
            for dtype in types if self.full else (types[at % len(types)],):
                one = self._drawable(replace(how, dtype=dtype, seed=at))
                inputs = draw(self.subject, self.variant, one, self.device)
                configs = "small" if self._interpreted else "first"
                found = launchings(self.subject, inputs, configs, at)
                yield one, found if self.full else [_in_turn(found, at)]

    def configs(self) -> Iterator[tuple[Draw, Sequence[Launching]]]:
        """Every config of every schedule, not just the winner.

        In the sampled matrix each runs once, on the widest rows that it holds.
        """
        types = dtypes_of(self.subject, self.device)
        rows = 2 if self._interpreted else 24
        for at, dtype in enumerate(types if self.full else types[:1]):
            done: set[str] = set()
            for inner in (33,) if self._interpreted else (5000, 1000, 100):
                item = shape(self.subject, inner, self.chance, rows, ())
                how = Draw(item, dtype, seed=at, defaults=at % 2 == 1)
                inputs = draw(self.subject, self.variant, how, self.device)
                found = launchings(self.subject, inputs, "first" if self._brief else "all")
                if self._brief:
                    found = [one for one in found if one.schedule not in done]
                elif not self.full:
                    found = [one for one in found if str(one) not in done]
                done |= {str(one) for one in found} | {one.schedule or "" for one in found}
                if found:
                    yield how, found

    def subsets(self) -> Iterator[tuple[Draw, Sequence[Launching]]]:
        """Each gradient of a backward without the others, the schedules taking turns."""
        if not isinstance(self.subject, Backward):
            return
        for at, wanted in enumerate(_parts(self.subject, self.variant, self.chance)):
            item = shape(self.subject, 45, self.chance, self._rows)
            layout = f"mixed {at}" if at % 2 else "contiguous"
            how = Draw(item, torch.float32, layout=layout, seed=at, wanted=wanted)
            inputs = draw(self.subject, self.variant, how, self.device)
            found = launchings(self.subject, inputs, "small" if self._interpreted else "first", at)
            yield how, found if self.full else [_in_turn(found, at), Launching()]

    def _drawable(self, how: Draw) -> Draw:
        """The interpreter reads NaN and infinities of fp8 as numbers: none there."""
        small = how.dtype.itemsize == 1 or casts_to_fp8(self.variant.graph)
        if small and self._interpreted and how.values == "special":
            return replace(how, values="normal")
        return how


def _parts(backward: Backward, variant: Variant, chance: random.Random) -> list[tuple[str, ...]]:
    """The subsets of results that lack one: all are asked for everywhere else."""
    return subsets(backward.present(variant), chance.randrange(9))[1:]


def _in_turn(found: list[Launching], at: int) -> Launching:
    """One of the launches, at another pace than dtypes take turns."""
    return found[(at + at // len(FLOATS)) % len(found)]


def _rotated(item: Shape, dtype: torch.dtype, at: int) -> Draw:
    layout = "contiguous" if at % 3 == 0 else f"mixed {at % len(LAYOUTS)}"
    return Draw(
        item, dtype, VALUES[(at + at // len(FLOATS)) % len(VALUES)], layout, seed=at,
        defaults=at % 2 == 0,
        mixed=at % 5 == 4 and dtype.itemsize <= 2,
    )  # fmt: skip


def _tiles(subject: Subject, variant: Variant, device: torch.device) -> tuple[int, ...]:
    """The tiles of the real configs, by which shapes on a GPU are chosen."""
    how = Draw(shape(subject, 64, random.Random(0)), torch.float32)
    spaces = schedules(subject, draw(subject, variant, how, device)).values()
    configs = [config for stages in spaces for space in stages for config in space]
    tiles = {v for config in configs for k, v in config.values.items() if k.isupper()}
    chosen = sorted(tile for tile in tiles if tile >= 32)
    return tuple(chosen[:: max(1, len(chosen) // 3)]) or (1024,)
