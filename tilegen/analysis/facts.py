"""What the head of a module says of its op: traffic, work, and what bounds it."""

from collections.abc import Mapping, Sequence

from tilegen.analysis.cost import Cost, floor, least, plain, value
from tilegen.analysis.eager import eager
from tilegen.families.program import Program
from tilegen.ir.graph import Graph
from tilegen.targets import Target

#: The element size for which the head says what bounds an op.
USUAL_SIZE = 2


def facts(programs: Sequence[Program], traced: Graph, targets: Sequence[Target]) -> list[str]:
    """Two to four lines, for the first variant of an op."""
    first = least(programs)
    moved = plain(first.traffic)
    legend = [
        text
        for symbol, text in (("e", "e: bytes of an element"), ("i", "i: bytes of an index"))
        if any(s.name == symbol for s in moved.free_symbols)
    ]
    lines = [f"Traffic: {moved} bytes" + (f" ({', '.join(legend)})" if legend else "")]
    special = plain(first.special)
    lines.append(
        f"Work: {plain(first.flops)} flops"
        + (f", {special} of them exponentials, roots and quotients" if special else "")
    )
    by_op = eager(traced)
    sizes = representative(programs)
    ratio = value(by_op.bytes, sizes, USUAL_SIZE) / value(first.traffic, sizes, USUAL_SIZE)
    kernels = f"{by_op.kernels} kernels" if by_op.kernels != 1 else "one kernel"
    lines.append(f"Bound: {_bounds(first, sizes, targets)}")
    lines.append(f"Eager PyTorch: {kernels}, {ratio:.1f} times the bytes")
    return lines


def _bounds(first: Cost, sizes: Mapping[str, int], targets: Sequence[Target]) -> str:
    """What bounds an op on which GPUs."""
    moved, flops, special = (
        value(e, sizes, USUAL_SIZE) for e in (first.traffic, first.flops, first.special)
    )
    bounds: dict[str, list[str]] = {}
    for target in targets:
        bounds.setdefault(floor(moved, flops, special, target).bound, []).append(target.name)
    if len(bounds) == 1:
        return f"{next(iter(bounds))} on every target"
    return "; ".join(f"{what} on {', '.join(names)}" for what, names in bounds.items())


def representative(programs: Sequence[Program]) -> dict[str, int]:
    """Sizes to speak of where none are given: 16384 rows of 8192, or 2**27 elements."""
    program = max(programs, key=lambda one: len(one.rows) + len(one.columns))
    graph = program.graph
    sizes = {dim.name: dim.size or 4096 for dim in graph.dims.values()}
    columns = program.columns or program.rows[-1:]
    rows = [dim for dim in program.rows if dim not in columns]
    left = 8192
    for place, dim in enumerate(reversed(columns)):
        if graph.dims[dim].size is None:
            sizes[dim] = left if place == len(columns) - 1 else min(left, 1024)
        left = max(1, left // sizes[dim])
    left = 16384
    for place, dim in enumerate(reversed(rows)):
        if graph.dims[dim].size is None:
            sizes[dim] = left if place == len(rows) - 1 else min(left, 32)
        left = max(1, left // sizes[dim])
    if columns and not rows and not program.columns:
        sizes[columns[0]] = 2**27
    return sizes
