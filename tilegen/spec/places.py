"""Where in the user's source an op of the language was called."""

import inspect
from types import FrameType

from tilegen.ir.graph import Span

PACKAGE = __name__.split(".")[0] + "."


def user_frames() -> list[FrameType]:
    """The frames of user code above this call, innermost first, down to the tracer."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith(PACKAGE):
        frame = frame.f_back
    frames = []
    while frame is not None and not frame.f_globals.get("__name__", "").startswith(PACKAGE):
        frames.append(frame)
        frame = frame.f_back
    return frames


def span_of(frame: FrameType) -> Span | None:
    """The source text of the instruction that `frame` is running."""
    positions = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    line, end_line, column, end_column = positions
    if line is None or end_line is None or column is None or end_column is None:
        return None
    return Span(frame.f_code.co_filename, line, column, end_line, end_column)


def here() -> Span | None:
    """Where user code called into the language."""
    frames = user_frames()
    return span_of(frames[0]) if frames else None
