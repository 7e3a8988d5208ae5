"""Timing that is fair to all contestants: interleaved rounds, medians, a cold L2.

The clock is a parameter, so that the logic is tested without a GPU.
"""

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol

import torch

Call = Callable[[], object]

FLUSH_BYTES: Final = 256 * 2**20
"""What is written before each timing: more than twice the L2 of any GPU in the table."""


@dataclass(frozen=True)
class Restored:
    """A call that overwrites what it reads: ``restore`` runs before each, outside of its time."""

    call: Call
    restore: Call

    def __call__(self) -> object:
        """Call without restoring."""
        return self.call()


def restored(call: Call) -> Call:
    """Return a call that restores first what it overwrites, if anything."""
    if not isinstance(call, Restored):
        return call

    def restoring() -> object:
        call.restore()
        return call.call()

    return restoring


class Clock(Protocol):
    """Measures calls, in milliseconds each."""

    def times(self, call: Call, repeats: int) -> list[float]:
        """Return the milliseconds of each of ``repeats`` calls."""
        ...


@dataclass(frozen=True)
class Timing:
    """The times of one contestant in milliseconds: a median for each round."""

    rounds: tuple[float, ...]

    @property
    def ms(self) -> float:
        """The median of the rounds."""
        return statistics.median(self.rounds)

    @property
    def spread(self) -> float:
        """(slowest - fastest) / median of the rounds."""
        return (max(self.rounds) - min(self.rounds)) / self.ms if self.ms else 0.0


def interleave(
    clock: Clock, contestants: Mapping[str, Call], rounds: int, repeats: Mapping[str, int]
) -> dict[str, Timing]:
    """Time contestants in turns, so that a drift of the clocks meets all alike.

    Each round starts with another one. The result has the order of ``contestants``.
    """
    names = list(contestants)
    found: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(rounds):
        at = turn % max(1, len(names))
        for name in names[at:] + names[:at]:
            times = clock.times(contestants[name], repeats[name])
            found[name].append(statistics.median(times))
    return {name: Timing(tuple(times)) for name, times in found.items()}


def repeats_for(milliseconds: float, budget: float, least: int = 5, most: int = 100) -> int:
    """Return how many calls of ``milliseconds`` fill ``budget`` milliseconds."""
    return max(least, min(most, int(budget / max(milliseconds, 1e-3))))


class DeviceClock:
    """CUDA events around single calls; before each the L2 is overwritten.

    A pause of the GPU in front lets the CPU run ahead, so that a slow launcher leaves no gaps.
    """

    def __init__(
        self, device: torch.device, flush_bytes: int = FLUSH_BYTES, waits: int = 1
    ) -> None:
        self.buffer = torch.empty(flush_bytes // 4, dtype=torch.int32, device=device)
        self.pause = 200_000 * waits  # cycles a call: 0.1 ms each

    def times(self, call: Call, repeats: int) -> list[float]:
        """Return the milliseconds of each of ``repeats`` calls on the GPU."""
        cuda: Any = torch.cuda  # partly untyped
        starts = [cuda.Event(enable_timing=True) for _ in range(repeats)]
        ends = [cuda.Event(enable_timing=True) for _ in range(repeats)]
        cuda.synchronize()
        cuda._sleep(self.pause * repeats)
        for start, end in zip(starts, ends, strict=True):
            if isinstance(call, Restored):
                call.restore()
            self.buffer.zero_()
            start.record()
            call()
            end.record()
        torch.cuda.synchronize()
        return [start.elapsed_time(end) for start, end in zip(starts, ends, strict=True)]


class GraphClock:
    """Replays of CUDA graphs: a call here is a replay, and its time is that of one of its calls."""

    def __init__(self, inner: Clock, calls: int) -> None:
        self.inner = inner
        self.calls = calls

    def times(self, call: Call, repeats: int) -> list[float]:
        """Return milliseconds per captured call."""
        return [time / self.calls for time in self.inner.times(call, repeats)]


class HostClock:
    """CPU time between calls that follow each other without waiting for the GPU."""

    def __init__(self, calls: int = 300) -> None:
        self.calls = calls

    def times(self, call: Call, repeats: int) -> list[float]:
        """Return the mean milliseconds of a call, ``repeats`` times."""
        found = []
        with _no_collection():
            for _ in range(repeats):
                torch.cuda.synchronize()
                begin = time.perf_counter()
                for _ in range(self.calls):
                    call()
                found.append((time.perf_counter() - begin) * 1e3 / self.calls)
        torch.cuda.synchronize()
        return found


def capture(call: Call, calls: int) -> torch.cuda.CUDAGraph:
    """Return a CUDA graph of ``calls`` calls in a row, after three to warm up."""
    cuda: Any = torch.cuda  # partly untyped
    stream = cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            call()
    return graph


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep Python's garbage collector out of a timing."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
