"""The order of the statements of one step of a loop, so that few values live at once.

The compiler keeps what is computed before a join of threads (a reduction) in registers until it is
used, however cheap it was; it moves nothing across. Where loads are pipelined they cost no latency
when they are used, so that the right place for a load is there.
"""

import re
from collections.abc import Sequence

from tilegen.families.program import Statement

#: Calls after which all threads of a program have met.
_JOINS = re.compile(r"\b(tl\.sum|tl\.max|tl\.min|nan_max|nan_min|arg_max|arg_min|deviations)\(")


def once_known(step: Statement, body: Sequence[Statement]) -> list[Statement]:
    """The body with a step into a sum as early as may be.

    What it takes in need not live until a later reduction: of an RMS norm's gradient in rows of
    8192, 8 warps, a thread then holds 178 registers, not 210.
    """
    used = _used(step)
    known = [at for at, line in enumerate(body) if used & _targets(line)]
    place = known[-1] + 1 if known else 0
    return [*body[:place], step, *body[place:]]


def late(body: Sequence[Statement]) -> list[Statement]:
    """The body with each value as near to its first use as nothing lives longer for it.

    Loads go all the way. The same gradient then holds 128 registers.
    """
    lines = list(body)
    named = [name for line in lines for name in _targets(line)]
    once = {name for name in named if named.count(name) == 1}
    for at in reversed(range(len(lines))):
        line = lines[at]
        if line.kind not in ("load", "pair", "assign") or _JOINS.search(line.value):
            continue
        own = _used(line) & set(named)
        if not (_targets(line) | own) <= once or _targets(line) & own:
            continue
        place = _latest(lines, at, own)
        lines[at:place] = [*lines[at + 1 : place], line]
    return lines


def _latest(lines: Sequence[Statement], at: int, own: set[str]) -> int:
    """Ahead of which line a statement goes: its first use, or the last of one of its operands."""
    rest = range(at + 1, len(lines))
    uses = [place for place in rest if _targets(lines[at]) & _used(lines[place])]
    places = uses[:1] or [at + 1]
    for name in own:
        others = [place for place in rest if name in _used(lines[place])]
        places.append(others[-1] if others else at + 1)
    return min(places)


def _targets(line: Statement) -> set[str]:
    return {name for name in line.target.split(", ") if name}


def _used(line: Statement) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", f"{line.value} {line.pointer} {line.mask}"))
