"""What `reduce` nodes may say: the table of monoids, as the verifier needs them.

How a monoid is computed, in registers or online, is the families' business.
"""

from dataclasses import dataclass

from tilegen.ir import types
from tilegen.ir.ops import ALL, NUMBERS, REALS
from tilegen.ir.types import DType, Kind


@dataclass(frozen=True, slots=True)
class Reduction:
    """One monoid.

    Attributes:
        name: as `reduce` nodes have it.
        takes: kinds of the reduced value.
        result: type of the result; None for that of the reduced value.
        states: names of the states that `state` nodes may read, where there is a tuple of them.
        single: whether it runs over one dimension only.
        attrs: attributes of the `reduce` node, besides the monoid and the dimensions.
    """

    name: str
    takes: tuple[Kind, ...]
    result: DType | None = None
    states: tuple[str, ...] = ()
    single: bool = False
    attrs: tuple[str, ...] = ()


MONOIDS: dict[str, Reduction] = {
    row.name: row
    for row in (
        Reduction("sum", NUMBERS),
        Reduction("mean", REALS),
        Reduction("max", ALL),
        Reduction("min", ALL),
        Reduction("argmax", ALL, types.integer, single=True),
        Reduction("argmin", ALL, types.integer, single=True),
        Reduction("any", ("bool",)),
        Reduction("all", ("bool",)),
        Reduction("variance", REALS, states=("mean", "m2"), attrs=("correction",)),
        Reduction("deviations", REALS, states=("rest", "squares")),
        Reduction("logsumexp", REALS, states=("m", "l")),
    )
}
