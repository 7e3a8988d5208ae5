"""Reductions as monoids: the form in registers, and the online form over a tuple of states.

In registers a row is one axis of a tile. Online, each of many lanes (axis 0 of a column) carries
the states of what it has seen; `step` takes in a block of values, `end` joins the lanes. The
same `end` joins the partial states of programs that share a row.
"""

import math
from dataclasses import dataclass

#: The lowest fp32: a start for running maxima for which (start - start) is no NaN.
LOWEST = -3.4028234663852886e38


@dataclass(frozen=True, slots=True)
class Monoid:
    """One reduction.

    Attributes:
        name: in `reduce` nodes.
        identity: what padded lanes hold.
        registers: text over {x} and {axis} for a row in registers, or over {x} and {axes} (how
            many there are) if it gives several states; empty for composites.
        states: names of the online states.
        starts: their values before the first block.
        step: text over the states and {x} (a block): the new states. With a `sample`, also over
            that and {valid} (the mask of the block), and {x} is not padded with the identity.
        end: text over the states: the states of all lanes together.
        finals: names of the states of a whole row.
        dtype: of the states, as a kernel writes it; empty for that of the operand.
        sample: name of a value that the first block gives, and its text over {x} and {valid}.
        parts: names of the partial states that programs hand to one another, if they are not
            those of the lanes; each starts at 0.
        join: text over the parts: all of them together; `end` if they are the lanes' states.
    """

    name: str
    identity: float
    registers: str
    states: tuple[str, ...]
    starts: tuple[float, ...]
    step: str
    end: str
    finals: tuple[str, ...] = ()
    dtype: str = ""
    sample: tuple[str, str] = ("", "")
    parts: tuple[str, ...] = ()
    join: str = ""

    @property
    def handed(self) -> tuple[tuple[str, float], ...]:
        """The partial states that programs hand to one another, with their starts."""
        if self.parts:
            return tuple((part, 0.0) for part in self.parts)
        return tuple(zip(self.states, self.starts, strict=True))


TABLE: dict[str, Monoid] = {
    monoid.name: monoid
    for monoid in (
        Monoid(
            "sum", 0.0, "tl.sum({x}, axis={axis}, keep_dims=True)",
            ("total",), (0.0,),
            "{total} + tl.sum({x}, axis=1, keep_dims=True)",
            "tl.sum({total}, axis=0, keep_dims=True)", ("row_sum",),
        ),
        Monoid(
            "max", -math.inf, "nan_max({x}, {axis})",
            ("largest",), (-math.inf,),
            "maximum({largest}, nan_max({x}, 1))", "nan_max({largest}, 0)", ("row_max",),
        ),
        Monoid(
            "min", math.inf, "nan_min({x}, {axis})",
            ("smallest",), (math.inf,),
            "minimum({smallest}, nan_min({x}, 1))", "nan_min({smallest}, 0)", ("row_min",),
        ),
        Monoid(
            "any", 0.0, "(tl.max(({x}).to(tl.int32), axis={axis}, keep_dims=True) > 0)",
            ("found",), (0.0,),
            "tl.maximum({found}, tl.max(({x}).to(tl.int32), axis=1, keep_dims=True))",
            "(tl.max({found}, axis=0, keep_dims=True) > 0)", ("row_any",), "tl.int32",
        ),
        Monoid(
            "all", 1.0, "(tl.min(({x}).to(tl.int32), axis={axis}, keep_dims=True) > 0)",
            ("kept",), (1.0,),
            "tl.minimum({kept}, tl.min(({x}).to(tl.int32), axis=1, keep_dims=True))",
            "(tl.min({kept}, axis=0, keep_dims=True) > 0)", ("row_all",), "tl.int32",
        ),
        Monoid("argmax", -math.inf, "arg_max({x}, {index}, {axis})", (), (), "", ""),
        Monoid("argmin", math.inf, "arg_min({x}, {index}, {axis})", (), (), "", ""),
        Monoid(
            "variance", 0.0, "",
            ("total", "squares", "count"), (0.0, 0.0, 0.0),
            "moments_step({total}, {squares}, {count}, {x}, {shift}, {valid}, EVEN)",
            "moments_end({shift}, {total}, {squares}, {count})",
            ("row_mean", "row_spread", "row_count"),
            sample=("shift", "block_mean({x}, {valid}, EVEN)"),
            parts=("mean", "spread", "count"),
            join="moments_join({mean}, {spread}, {count})",
        ),
        Monoid(
            "deviations", 0.0, "deviations({x}, {axes})",
            (), (), "", "", ("row_rest", "row_squares"),
        ),
        Monoid(
            "logsumexp", -math.inf, "",
            ("top", "total"), (LOWEST, 0.0),
            "logsumexp_step({top}, {total}, {x})", "logsumexp_end({top}, {total})",
            ("row_top", "row_total"),
        ),
    )
}  # fmt: skip
