"""Shapes around every edge: of tiles, of powers of two, of one; and subsets of gradients."""

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tilegen.toolchain.subject import Subject

SMALL = (1, 2, 3, 17)
PRIMES = (31, 97)


@dataclass(frozen=True)
class Shape:
    """Sizes by dimension; `leading` are the leading dimensions of the one that they fold into."""

    sizes: dict[str, int]
    leading: tuple[int, ...] = ()

    def __str__(self) -> str:
        sizes = ", ".join(f"{dim}={size}" for dim, size in self.sizes.items())
        return f"{sizes}, leading {list(self.leading)}" if self.leading else sizes


def around(tiles: Iterable[int]) -> tuple[int, ...]:
    """Sizes at the edges of tiles, small ones, primes, and one wider than any tile."""
    tiles = sorted(set(tiles))
    edges = {edge for tile in tiles for edge in (tile - 1, tile, tile + 1)}
    wide = 3 * max(tiles, default=32) + 5
    return tuple(sorted({*SMALL, *PRIMES, *edges, wide} - {0}))


def shapes(
    subject: Subject, edges: Sequence[int], chance: random.Random, most_rows: int
) -> Iterator[Shape]:
    """One shape for each edge: so many elements in a row (or in the innermost dimensions)."""
    for edge in edges:
        yield shape(subject, edge, chance, most_rows)


def shape(
    subject: Subject,
    inner: int,
    chance: random.Random,
    most_rows: int = 6,
    leading: tuple[int, ...] | None = None,
) -> Shape:
    """A shape with `inner` elements in the reduced (or innermost) dimensions, in few rows.

    Where several dimensions are reduced their product is at least `inner`, and close to it.
    Leading dimensions are drawn unless they are given; an op that folds none gets none.
    """
    if subject.op.fold is None:
        leading = ()
    elif leading is None:
        leading = chance.choice(((), (), (2,), (1, 2)))
    sizes = dict(subject.static)
    columns = [dim for dim in subject.columns if dim not in sizes]
    rest = inner
    for dim in columns[:-1]:
        sizes[dim] = min(chance.choice((1, 2, 3)), rest)
        rest = math.ceil(rest / sizes[dim])
    for dim in columns[-1:]:
        sizes[dim] = rest
    rows = math.prod(leading)
    for dim in subject.traced.variants[0].graph.dims:
        if dim in sizes:
            continue
        if dim in subject.gathered:
            sizes[dim] = chance.choice((1, 2, 5, 9))
            continue
        sizes[dim] = chance.choice([n for n in (1, 2, 3, 5, 17) if n * rows <= most_rows] or [1])
        rows *= sizes[dim]
    return Shape(sizes, leading)


def subsets(names: Sequence[str], seed: int) -> list[tuple[str, ...]]:
    """What may need a gradient: all, each alone, and one more of the others."""
    found = [tuple(names), *((name,) for name in names)]
    if len(names) > 2:
        left = seed % len(names)
        found.append(tuple(name for at, name in enumerate(names) if at != left))
    return list(dict.fromkeys(found))
