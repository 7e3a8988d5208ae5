"""One error class per mistake a spec can hold, each with its place and a hint.

Every class names its mistake in `title` and gives a standing hint; the message says what was
wrong in this spec. `format_error` underlines the spot.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tilegen.ir.graph import Span


class TilegenError(Exception):
    """What every error of tilegen derives from."""


class SpecError(TilegenError):
    """A mistake in a spec.

    Args:
        message: what is wrong, in this spec's own names.
        span: where; filled in by the tracer if None.
        hint: what to write instead; the class's own hint if empty.
    """

    title = "mistake in a spec"
    standing_hint = ""

    def __init__(self, message: str, span: Span | None = None, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.hint = hint or self.standing_hint


class UnknownDimension(SpecError):
    """A dimension that no parameter has, or that a value lacks."""

    title = "unknown dimension"
    standing_hint = "use a dimension that a tensor of the signature has"


class MismatchedDimensions(SpecError):
    """Dimensions that do not go together."""

    title = "mismatched dimensions"


class RepeatedDimension(SpecError):
    """One name twice in one tensor."""

    title = "repeated dimension"
    standing_hint = "give each dimension a name of its own; two names may have the same size"


class FamilyMismatch(SpecError):
    """A graph that is not what its decorator asserts."""

    title = "not of this family"


class SymbolicCondition(SpecError):
    """A Python condition, loop or conversion on a symbolic value."""

    title = "a symbolic value has no truth value"
    standing_hint = (
        "write where(condition, a, b); & and | in place of and, or; maximum(a, b) in place of "
        "max(a, b); two comparisons joined by & in place of a < b < c"
    )


class UnsupportedFunction(SpecError):
    """A function that does not take symbolic values."""

    title = "unsupported function"
    standing_hint = "use the functions that tilegen exports; plain Python helpers of them are fine"


class MissingAnnotation(SpecError):
    """A parameter or result without a type."""

    title = "missing annotation"
    standing_hint = "annotate it: Tensor[M, N], Index[M], Mask[M], float, int, bool, Size[G] ..."


class BadAnnotation(SpecError):
    """An annotation that says nothing sensible."""

    title = "bad annotation"


class BadResult(SpecError):
    """Results that cannot be stored: none, two of one name, none of a local's name."""

    title = "bad result"


class BadType(SpecError):
    """An operation on values of the wrong type."""

    title = "wrong type"


class BadOption(SpecError):
    """An option of a decorator that means nothing."""

    title = "bad option"


class ReservedName(SpecError):
    """A name that the generated module needs itself."""

    title = "reserved name"
    standing_hint = "generated modules use this name themselves: choose another"


class Unschedulable(SpecError):
    """A graph for which no kernel is known."""

    title = "no kernel for this"


class BrokenFile(SpecError):
    """A spec file that could not be loaded."""

    title = "the spec file could not be loaded"


class InvalidGraph(TilegenError):
    """The verifier found a graph that breaks a rule: an error of tilegen, not of a spec."""


class BuildFailed(TilegenError):
    """A build that stopped; `errors` holds all mistakes of all specs."""

    def __init__(self, errors: Iterable[SpecError]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n\n".join(format_error(error) for error in self.errors))


@contextmanager
def located(span: Span | None) -> Iterator[None]:
    """Give a place to spec errors raised inside that have none."""
    try:
        yield
    except SpecError as error:
        error.span = error.span or span
        raise


def format_error(error: SpecError) -> str:
    """The error as people read it: place, message, the line with the spot underlined, hint."""
    lines = [f"{error.title}: {error.message}"]
    if error.span is not None:
        span = error.span
        lines.insert(0, f"{_shown(span.file)}:{span.line}:{span.column + 1}")
        lines += _excerpt(span)
    if error.hint:
        lines.append(f"hint: {error.hint}")
    return "\n".join(lines)


def _shown(file: str) -> str:
    """A path relative to the working folder where it lies inside."""
    path = Path(file)
    inside = path.is_relative_to(Path.cwd())
    return str(path.relative_to(Path.cwd()) if inside else path)


def _excerpt(span: Span) -> list[str]:
    try:
        lines = Path(span.file).read_text(encoding="utf-8", errors="replace").splitlines()
        text = lines[span.line - 1]
    except (OSError, IndexError):
        return []
    end = span.end_column if span.end_line == span.line else len(text)
    number = f"{span.line:>5} | "
    marker = " " * (len(number) + span.column) + "^" * max(1, end - span.column)
    return [number + text, marker]
