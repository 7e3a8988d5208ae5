"""What `domain=` says of an argument: the interval that its values lie in."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

#: What a domain may be, by example.
FORMS: Final = '"<= 0", "> 1", "in [0, 1)", "in [0, N)", "probability", "log-probability"'

_NUMBER: Final = r"-?\d+(?:\.\d+)?"
_BOUND: Final = re.compile(rf"([<>])(=?) ({_NUMBER})")
_INTERVAL: Final = re.compile(rf"in ([\[(])({_NUMBER}|\w+), ({_NUMBER}|\w+)([\])])")


@dataclass(frozen=True, slots=True)
class Domain:
    """An interval; without ends, all numbers.

    Attributes:
        low: its lower end: a number, or the dimension whose size it is; None if there is none.
        high: its upper end, likewise.
        above: whether values lie above the lower end, never on it.
        below: whether they lie below the upper end.
        rows: "probability" where each row adds up to 1, "log-probability" where its exponentials do.
    """

    low: float | str | None = None
    high: float | str | None = None
    above: bool = False
    below: bool = False
    rows: str = ""

    @classmethod
    def parse(cls, text: str, dims: Collection[str]) -> "Domain":
        """Read what a spec says, which may name its dimensions.

        Raises:
            ValueError: it is none of FORMS, or names no dimension; with what is wrong.
        """
        if not text:
            return cls()
        if text == "probability":
            return cls(0.0, 1.0, rows=text)
        if text == "log-probability":
            return cls(high=0.0, rows=text)
        if bound := _BOUND.fullmatch(text):
            side, equal, value = bound.groups()
            if side == "<":
                return cls(high=float(value), below=not equal)
            return cls(low=float(value), above=not equal)
        if (interval := _INTERVAL.fullmatch(text)) is None:
            raise ValueError("it is no domain")
        left, low, high, right = interval.groups()
        found = cls(_end(low, dims), _end(high, dims), left == "(", right == ")")
        if not isinstance(found.low, str) and not isinstance(found.high, str):
            low_value, high_value = found.ends({})
            if low_value is None or high_value is None or low_value >= high_value:
                raise ValueError("it has no values inside")
        return found

    def ends(self, sizes: Mapping[str, int]) -> tuple[float | None, float | None]:
        """Both ends as numbers, with these sizes of the dimensions."""
        low = sizes[self.low] if isinstance(self.low, str) else self.low
        return low, sizes[self.high] if isinstance(self.high, str) else self.high


def _end(text: str, dims: Collection[str]) -> float | str:
    if re.fullmatch(_NUMBER, text):
        return float(text)
    if text not in dims:
        raise ValueError(f"{text} is no dimension")
    return text
