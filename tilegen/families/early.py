"""Loads ahead of what they wait for: latencies overlap where a program has nothing else to do."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tilegen.families.lower import Lowering
from tilegen.families.program import EARLY, Statement
from tilegen.ir.graph import Node, Output, topological

#: Up to so many columns, what follows the reductions is loaded ahead of them: rows of 4096 take 2.0
#: instead of 2.2 us on an H200. Wider rows lack the registers (layernorm of 8192 columns: 0.95 of
#: the copy rate against 0.97).
MOST_COLUMNS = 4096


def ready(nodes: Iterable[Node]) -> list[Node]:
    """The loads among these that wait for no reduction."""
    loads = [node for node in nodes if node.op == "load"]
    return [n for n in loads if not any(part.op == "reduce" for part in topological((n,)))]


def loads_first(low: Lowering, outputs: Sequence[Output]) -> list[Statement]:
    """The loads that wait for no reduction: those that give the address of others, then the rest.

    What has columns and only follows the reductions is loaded here where EARLY holds, in its
    storage type, and widened at each use.
    """
    nodes = topological(tuple(low.values(outputs)))
    reduces = {node for node in nodes if node.op == "reduce"}
    reduced = set(topological(tuple(arg for node in reduces for arg in node.args)))
    below = {n: set(topological(n.args)) for n in nodes if n.op == "load"}
    loads = ready(nodes)
    giving = {part for parts in below.values() for part in parts}

    def order(node: Node) -> tuple[bool, bool, bool]:
        return node not in giving, node not in reduced, bool(below[node] & below.keys())

    loads.sort(key=order)
    lines = low.emit(loads, keep=loads)
    last = [node for node in loads if node not in giving and node not in reduced]
    wide = [node for node in last if not set(node.dims).isdisjoint(low.columns)]
    late = {low.names[node]: node for node in wide} if reduces else {}
    return [_unwidened(low, late[s.target], s) if s.target in late else s for s in lines]


def _unwidened(low: Lowering, node: Node, line: Statement) -> Statement:
    low.bind(node, line.widened(line.target))
    return replace(line, real=False, whole=False, when=EARLY)


def or_late(body: Sequence[Statement]) -> list[Statement]:
    """The same with each load that is EARLY once more, where not EARLY: just before its first use.

    That is before the first store at the latest, which may overwrite the tensor.
    """
    waiting = {line.target: line for line in body if line.early}
    lines: list[Statement] = []
    for line in body:
        if not line.early:
            used = set(re.findall(r"[A-Za-z_]\w*", f"{line.value} {line.pointer} {line.mask}"))
            due = waiting if line.kind in ("store", "join") else waiting.keys() & used
            for name in [name for name in waiting if name in due]:
                lines.append(replace(waiting.pop(name), when="not EARLY", comment=""))
        lines.append(line)
    return lines
