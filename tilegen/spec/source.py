"""The text of a spec: its statements, comments and places, for errors and generated comments."""

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

from tilegen.errors import BrokenFile
from tilegen.ir.graph import Span


@dataclass(frozen=True)
class SpecSource:
    """A spec's function in its file.

    Attributes:
        file: as it is shown to people.
        text: the whole file.
        tree: the function's syntax tree.
        doc: its docstring, dedented; empty if there is none.
    """

    file: str
    text: str
    tree: ast.FunctionDef
    doc: str

    @classmethod
    def of(cls, fn: Callable[..., Any]) -> "SpecSource":
        """Find the source of a function that was defined in a file."""
        file = inspect.getsourcefile(fn) or fn.__code__.co_filename
        text = Path(file).read_text(encoding="utf-8")
        line = fn.__code__.co_firstlineno
        found = (
            node
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef)
            and node.name == fn.__name__
            and _starts(node, line)
        )
        tree = next(found, None)
        if tree is None:
            raise BrokenFile(
                f"the definition of {fn.__name__!r} was not found", Span(file, line, 0, line, 1),
                "use a plain def, with no decorator but the family's",
            )  # fmt: skip
        return cls(file, text, tree, inspect.cleandoc(fn.__doc__ or ""))

    @property
    def quotable_doc(self) -> str:
        """The docstring as it may stand between triple quotes."""
        return (
            self.doc.replace("\\", "\\\\").replace('"', '\\"') if _awkward(self.doc) else self.doc
        )

    @property
    def span(self) -> Span:
        """The function's name."""
        line = self.tree.lineno
        column = self.tree.col_offset + len("def ")
        return Span(self.file, line, column, line, column + len(self.tree.name))

    @property
    def returns(self) -> Span:
        """Its first return statement, or its name if it has none."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Return):
                return _span(self.file, node)
        return self.span

    def parameter(self, name: str) -> Span:
        """A parameter in the signature."""
        args = self.tree.args
        for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs):
            if arg.arg == name:
                return _span(self.file, arg)
        return self.span

    def deepest(self, trace: TracebackType | None) -> Span:
        """The innermost place of a traceback that lies in this spec's file."""
        found = self.span
        while trace is not None:
            frame = trace.tb_frame
            if frame.f_code.co_filename == self.file:
                positions = list(frame.f_code.co_positions())[trace.tb_lasti // 2]
                line, end_line, column, end_column = positions
                if None not in (line, end_line, column, end_column):
                    found = Span(self.file, *map(int, (line, column, end_line, end_column)))  # type: ignore[arg-type]
            trace = trace.tb_next
        return found


def _awkward(doc: str) -> bool:
    return "\\" in doc or '"""' in doc or doc.endswith('"')


def _starts(node: ast.FunctionDef, line: int) -> bool:
    return line in (node.lineno, *(decorator.lineno for decorator in node.decorator_list))


def _span(file: str, node: ast.stmt | ast.arg) -> Span:
    end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
    return Span(file, node.lineno, node.col_offset, end_line, end_column)


def statements(text: str) -> Callable[[Span], str]:
    """A function that gives the statement of `text` around a span, on one line."""
    nodes = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]

    def statement(span: Span) -> str:
        best: ast.stmt | None = None
        for node in nodes:
            if node.lineno <= span.line and (node.end_lineno or node.lineno) >= span.end_line:
                best = node if best is None or node.lineno >= best.lineno else best
        return quoted(best) if best is not None else ""

    @cache
    def quoted(node: ast.stmt) -> str:
        segment = ast.get_source_segment(text, node) or ""
        return " ".join(line.strip() for line in segment.splitlines())

    return statement
