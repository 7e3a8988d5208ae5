"""One file a family: how a graph of that family becomes kernels.

A family is a row of `FAMILIES`: a function from a graph to a `Program`, which is data (kernels,
arguments, schedules). Templates print it; nothing here joins lines of code, except for the
expressions inside them.
"""

from collections.abc import Callable

from tilegen.families import elementwise, rowwise
from tilegen.families.lower import LineOf
from tilegen.families.program import Program
from tilegen.ir.graph import Graph

FAMILIES: dict[str, Callable[[Graph, str, LineOf], Program]] = {
    "elementwise": elementwise.plan,
    "rowwise": rowwise.plan,
}
