"""The autotune space of one schedule, as a module prints it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConfigText:
    """One config and what its comment says."""

    text: str
    note: str


@dataclass(frozen=True, slots=True)
class SpaceRow:
    """The configs of one architecture class and element size."""

    key: str
    configs: tuple[ConfigText, ...]


@dataclass(frozen=True, slots=True)
class Space:
    """The table of one schedule."""

    name: str
    doc: str
    rows: tuple[SpaceRow, ...]
