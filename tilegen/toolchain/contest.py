"""One case of the bench as a race: who takes part, whether they are right, how fast they are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import torch

from tilegen.toolchain import planning
from tilegen.toolchain.timing import (
    Call,
    Clock,
    DeviceClock,
    GraphClock,
    HostClock,
    Timing,
    capture,
    interleave,
    repeats_for,
    restored,
)
from tilegen.toolchain.verdict import Verdict

GRAPH_CALLS: Final = 20
PEERS: Final = ("eager", "compile", "liger", "helion")


@dataclass(frozen=True)
class Settings:
    """How long and what.

    Attributes:
        seconds: after that, cases that were not begun are listed as not run.
        rounds: turns of each contestant.
        budget: milliseconds of one turn.
        peers: of ``PEERS``.
    """

    seconds: float = 360.0
    rounds: int = 5
    budget: float = 15.0
    peers: tuple[str, ...] = PEERS


@dataclass
class Contestant:
    """One entry of a case; ``complaint`` says why it has no time."""

    name: str
    call: Call | None = None
    error: float | None = None
    complaint: str = ""
    record: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Race:
    """The contestants of a case, ours first.

    Attributes:
        judge: of a contestant's name and results.
        recorded: what our own last call ran, for the JSON.
        bytes: that must move.
    """

    contestants: Sequence[Contestant]
    judge: Callable[[str, Sequence[torch.Tensor]], Verdict]
    recorded: Callable[[], dict[str, Any]]
    bytes: int


def ready(name: str, make: Callable[[], Call | None]) -> Contestant:
    """Build a contestant; a peer that is missing or has no such kernel says so."""
    try:
        call = make()
    except ImportError as error:
        return Contestant(name, complaint=f"not installed: {error}")
    except Exception as error:
        return Contestant(name, complaint=said(error))
    return Contestant(name, call, complaint="" if call else "has no such kernel")


def said(error: Exception) -> str:
    """Return an error as one line; an error that leaves the GPU unusable ends the run instead."""
    text = f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
    if any(sign in text for sign in ("illegal memory", "unspecified launch", "misaligned address")):
        raise error
    return text


def check(race: Race) -> None:
    """Call each contestant once; one that fails or is wrong loses its call, so it is not timed."""
    for entry in race.contestants:
        if entry.call is None:
            continue
        try:
            results = planning.poisoned_call(restored(entry.call))
            with torch.no_grad():
                verdict = race.judge(entry.name, results)
        except Exception as error:
            entry.call, entry.complaint = None, said(error)
            continue
        entry.error = verdict.error
        if verdict.complaint:
            entry.call, entry.complaint = None, f"wrong: {verdict.complaint}"
        if entry.name == "tilegen":
            entry.record = race.recorded()


def timings(
    suite: str, contestants: Sequence[Contestant], device: torch.device, settings: Settings
) -> dict[str, Timing]:
    """Time the contestants that are left, as the suite wants it."""
    calls: dict[str, Call] = {}
    graphs = []  # a graph must outlive its replays
    # autograd takes the CPU longer than a launch does: the GPU waits for twice as long
    clock: Clock = DeviceClock(device, waits=2 if suite == "backward" else 1)
    if suite == "small":
        clock = GraphClock(clock, GRAPH_CALLS)
    elif suite == "host":
        clock = HostClock()
    for entry in contestants:
        if entry.call is None:
            continue
        try:
            for _ in range(3):
                entry.call()
            if suite == "small":
                graphs.append(capture(entry.call, GRAPH_CALLS))
                calls[entry.name] = graphs[-1].replay
            else:
                calls[entry.name] = entry.call
        except Exception as error:
            entry.complaint = said(error)
    if suite == "host":
        return interleave(clock, calls, 2 * settings.rounds, dict.fromkeys(calls, 3))
    repeats = {
        name: repeats_for(sorted(clock.times(call, 5))[2] + 0.1, settings.budget)
        for name, call in calls.items()
    }
    return interleave(clock, calls, settings.rounds, repeats)


def entry(contestant: Contestant, timing: Timing | None) -> dict[str, Any]:
    """Return what the JSON says of one contestant."""
    found: dict[str, Any] = {
        "name": contestant.name,
        "error": contestant.error,
        "complaint": contestant.complaint,
    }
    found |= {"path": contestant.name} | contestant.record
    if timing is not None:
        found |= {"ms": timing.ms, "rounds": list(timing.rounds), "spread": timing.spread}
    return found
