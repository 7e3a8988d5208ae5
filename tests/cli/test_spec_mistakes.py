"""Mistakes in specs: each said with its place and a hint, all together, and nothing written.

The texts are golden files in tests/golden/errors. Where Python words part of a message, in its own
way in each version, the test holds our part only.
"""

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from golden import Golden
from product_mistakes import MISTAKES

from tilegen.spec import load

Run = Callable[..., Any]

SPECS = {
    "unknown_dimension": """
        @rowwise
        def op(x: Tensor[M, N]) -> Value:
            return mean(x, K)
    """,
    "unknown_dimension_of_an_index": """
        @elementwise
        def op(x: Tensor[M, N]) -> Value:
            return x * index(K)
    """,
    "mismatched_dimensions": """
        @elementwise
        def op(x: Tensor[M, N]) -> Out[M]:
            y = x * 2.0
            return y
    """,
    "reduction_in_an_elementwise_op": """
        @elementwise
        def op(x: Tensor[M, N]) -> Value:
            return x / sum(x)
    """,
    "no_reduction_in_a_rowwise_op": """
        @rowwise
        def op(x: Tensor[M, N]) -> Value:
            return x + 1.0
    """,
    "if_on_a_value": """
        @elementwise
        def op(x: Tensor[M, N]) -> Value:
            if x > 0.0:
                return x
            return 0.0 * x
    """,
    "if_on_a_float_parameter": """
        @elementwise
        def op(x: Tensor[M, N], alpha: float = 1.0) -> Value:
            return x if alpha == 1.0 else alpha * x
    """,
    "chained_comparison": """
        @elementwise
        def op(x: Tensor[M, N]) -> Value:
            return where(0.0 <= x < 1.0, x, 0.0)
    """,
    "builtin_max": """
        import builtins


        @elementwise
        def op(x: Tensor[M, N], y: Tensor[M, N]) -> Value:
            return builtins.max(x, y)
    """,
    "builtin_sum": """
        import builtins


        @rowwise
        def op(x: Tensor[M, N]) -> Value:
            return builtins.sum(x)
    """,
    "function_of_the_standard_library": """
        import math


        @elementwise
        def op(x: Tensor[M, N]) -> Value:
            return math.exp(x)
    """,
    "function_that_raises": """
        @elementwise
        def op(x: Tensor[M, N]) -> Value:
            y = x * 2.0
            raise RuntimeError("not yet")
    """,
    "parameter_without_annotation": """
        @elementwise
        def op(x: Tensor[M, N], y) -> Value:
            return x + y
    """,
    "result_without_annotation": """
        @elementwise
        def op(x: Tensor[M, N]):
            return x * 2.0
    """,
    "strange_annotation": """
        @elementwise
        def op(x: Tensor[M, N], name: str = "x") -> Value:
            return x * 2.0
    """,
    "dimension_that_is_none": """
        @elementwise
        def op(x: Tensor[int, N]) -> Value:
            return x * 2.0
    """,
    "two_outputs_of_one_name": """
        @elementwise
        def op(x: Tensor[M, N]) -> tuple[Value, Value]:
            y = x * 2.0
            return y, y
    """,
    "output_without_a_name": """
        @elementwise
        def op(x: Tensor[M, N]) -> tuple[Value, Value]:
            y = x * 2.0
            return y, y + 1.0
    """,
    "output_named_as_a_parameter": """
        @elementwise
        def op(x: Tensor[M, N], scale: float = 2.0) -> tuple[Value, Value]:
            y = x * scale
            scale = y + 1.0
            return y, scale
    """,
    "fewer_results_than_annotated": """
        @elementwise
        def op(x: Tensor[M, N]) -> tuple[Value, Value]:
            y = x * 2.0
            return y
    """,
    "no_return": """
        @elementwise
        def op(x: Tensor[M, N]) -> Value:
            y = x * 2.0
    """,
    "result_that_is_no_value": """
        @elementwise
        def op(x: Tensor[M, N]) -> Value:
            return 2.0
    """,
    "repeated_dimension": """
        @elementwise
        def op(x: Tensor[M, M]) -> Value:
            return x * 2.0
    """,
    "repeated_dimension_in_a_flat_one": """
        @elementwise
        def op(x: Tensor[M, Flat[N, M]]) -> Value:
            return x * 2.0
    """,
    "two_dimensions_of_one_name": """
        from tilegen import Dim

        mine = type("N", (Dim,), {})


        @elementwise
        def op(x: Tensor[M, N], y: Tensor[mine]) -> Value:
            return x * 2.0
    """,
    "unused_parameter": """
        @elementwise
        def op(x: Tensor[M, N], y: Tensor[N]) -> Value:
            return x * 2.0
    """,
    "no_tensor": """
        @elementwise
        def op(x: float = 1.0) -> Value:
            return x
    """,
    "option_that_names_no_parameter": """
        @elementwise(domain={"z": "> 0"})
        def op(x: Tensor[M, N]) -> Value:
            return x * 2.0
    """,
    "domain_that_is_none": """
        @elementwise(domain={"x": "positive"})
        def op(x: Tensor[M, N]) -> Value:
            return x * 2.0
    """,
    "domain_up_to_an_unknown_dimension": """
        @elementwise(domain={"x": "in [0, K)"})
        def op(x: Tensor[M, N]) -> Value:
            return x * 2.0
    """,
    "integer_op_on_floats": """
        @elementwise
        def op(x: Tensor[M, N]) -> Value:
            return x << 1
    """,
    "op_of_a_reserved_name": """
        @elementwise
        def narrow(x: Tensor[M, N]) -> Value:
            return x * 2.0
    """,
    "op_named_as_a_builtin": """
        @elementwise
        def max(x: Tensor[M, N]) -> Value:
            return x * 2.0
    """,
    "parameter_of_a_reserved_name": """
        @elementwise
        def op(x: Tensor[M, N], backend: float = 1.0) -> Value:
            return x * backend
    """,
    "decorated_lambda": """
        op = elementwise(lambda x: x)
    """,
    "decorated_coroutine": """
        @elementwise
        async def op(x: Tensor[M, N]) -> Value:
            return x * 2.0
    """,
    "two_families": """
        @elementwise
        @rowwise
        def op(x: Tensor[M, N]) -> Value:
            return x / sum(x)
    """,
    "too_long_a_chain": """
        @elementwise
        def op(x: Tensor[M, N]) -> Value:
            for _ in range(2000):
                x = x * 1.5 + 1.0
            return x
    """,
    "default_of_a_float": """
        @elementwise
        def op(x: Tensor[M, N], scale: float = "x") -> Value:
            return x * scale
    """,
    "default_of_a_literal": """
        from typing import Literal


        @elementwise
        def op(x: Tensor[M, N], mode: Literal["up", "down"] = "left") -> Value:
            return x * (2.0 if mode == "up" else 0.5)
    """,
    "default_of_a_tensor": """
        @elementwise
        def op(x: Tensor[M, N] = 1.0) -> Value:
            return x * 2.0
    """,
    "too_many_variants": """
        @elementwise
        def op(
            x: Tensor[M, N], a: bool = True, b: bool = True, c: bool = True, d: bool = True, e: bool = True
        ) -> Value:
            return x * (1.0 if a and b and c and d and e else 2.0)
    """,
    "results_that_differ_between_variants": """
        @rowwise
        def op(x: Tensor[M, N], whole: bool = False) -> Value:
            y = x * 2.0
            total = sum(x)
            return total if whole else y - total
    """,
}

HEAD = """\
from tilegen import (
    Flat, Index, K, M, N, Out, Tensor, Value, dot, elementwise, index, matmul, mean, rowwise, sum, where,
)  # fmt: skip

"""


def spec(name: str) -> str:
    """The text of a faulty spec file."""
    lines = {**SPECS, **MISTAKES}[name].strip("\n").splitlines()
    return HEAD + "\n".join(line.removeprefix("    " * 2) for line in lines).rstrip() + "\n"


def test_an_awkward_docstring_is_no_mistake(project: Any, tilegen: Run) -> None:
    text = project.read("specs/scale.py")
    for doc in (r"A \alpha of \"\"\" x.", r"It ends in \"quotes\"", "Grösse \\u03b1"):
        project.write("specs/scale.py", text.replace("Scale each column.", doc))
        ran = tilegen("build", "specs")
        assert (ran.status, ran.err) == (0, "")
        module = ast.parse(project.read("generated/scale.py"))
        spec = ast.parse(project.read("specs/scale.py"))
        assert (ast.get_docstring(module) or "").startswith(
            ast.get_docstring(spec.body[-1]) or "?"  # type: ignore[arg-type]
        )


@pytest.mark.parametrize("name", [*SPECS, *MISTAKES])
def test_a_mistake_is_said_with_its_place(
    project: Any, tilegen: Run, golden: Golden, name: str
) -> None:
    project.write("faulty/op.py", spec(name))
    ran = tilegen("build", "faulty")
    assert ran.status == 1
    assert ran.err.startswith("faulty/op.py:"), ran.err
    assert "^" in ran.err
    assert not (project.folder / "generated").exists()
    golden.check(f"errors/{name}.txt", ran.err)


def test_the_mistakes_of_all_specs_are_said_together(built: Any, tilegen: Run) -> None:
    before = built.contents()
    built.write("specs/first.py", spec("no_return"))
    built.write("specs/second.py", spec("repeated_dimension"))
    built.write("specs/third.py", "import nothing_of_that_name\n")
    built.write("specs/total.py", built.read("specs/total.py").replace("up.", "up, twice."))
    for options in ((), ("--force",), ("--check",)):
        ran = tilegen("build", "specs", *options)
        assert ran.status == 1
        for place in ("specs/first.py:", "specs/second.py:", "specs/third.py:"):
            assert place in ran.err
        assert "total" not in ran.err
        assert built.contents() == before


def test_two_specs_of_one_name(project: Any, tilegen: Run, golden: Golden) -> None:
    project.write("specs/zoom.py", project.read("specs/scale.py"))
    ran = tilegen("build", "specs")
    assert ran.status == 1
    golden.check("errors/two_specs_of_one_name.txt", ran.err)


# ---- files that cannot be loaded ----------------------------------------------------------------

FILES = {
    "raises": (
        "LIMIT = 1\nassert LIMIT > 1, 'too small'\n",
        ":2:1\n", "AssertionError: too small",
    ),
    "imports_something_missing": (
        "from tilegen import M\nimport nothing_of_that_name\n",
        ":2:1\n", "ModuleNotFoundError: No module named 'nothing_of_that_name'",
    ),
    "imports_a_name_that_is_missing": (
        "from tilegen import M, convolve\n", ":1:1\n", "cannot import name 'convolve'",
    ),
    "exits": ("import sys\nsys.exit(0)\n", ":2:1\n", "SystemExit: 0"),
    "syntax_error": (
        "from tilegen import M\n\ndef op(x:\n", ":3:", "syntax error:",
    ),
    "no_spec": ("LIMIT = 1\n", ":1:1\n", "no spec in this file"),
    "unknown_option": (
        "from tilegen import elementwise\n\n@elementwise(speed='high')\ndef op(): ...\n",
        ":3:", "speed",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_cannot_be_loaded(project: Any, tilegen: Run, name: str) -> None:
    text, place, message = FILES[name]
    project.write("faulty/op.py", text)
    ran = tilegen("build", "faulty")
    assert ran.status == 1
    assert ran.err.startswith(f"faulty/op.py{place}"), ran.err
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_a_file_that_hangs(project: Any, tilegen: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "PATIENCE", 1)
    project.write("faulty/op.py", "x = 0\nwhile True:\n    x = 1 - x\n")
    project.write("faulty/other.py", spec("no_return"))
    ran = tilegen("build", "faulty")
    assert ran.status == 1
    assert "importing it took more than 1 s" in ran.err
    assert ran.err.startswith(("faulty/op.py:2:", "faulty/op.py:3:"))
    assert "faulty/other.py:" in ran.err


def test_a_file_that_is_no_text(project: Any, tilegen: Run) -> None:
    (project.folder / "specs/bytes.py").write_bytes(b"x = '\xff\xfe'\n")
    ran = tilegen("build", "specs")
    assert ran.status == 1
    assert ran.err.startswith("specs/bytes.py:1:")
    assert "Traceback" not in ran.err


def test_entries_that_are_no_files(project: Any, tilegen: Run) -> None:
    (project.folder / "specs/folder.py").mkdir()
    Path("specs/link.py").symlink_to("nowhere.py")
    ran = tilegen("build", "specs")
    assert ran.status == 1
    assert "specs/folder.py:1:1" in ran.err
    assert "IsADirectoryError" in ran.err
    assert "specs/link.py:1:1" in ran.err
    assert "FileNotFoundError" in ran.err


def test_a_file_that_is_no_python(project: Any, tilegen: Run) -> None:
    project.write("notes.txt", "x")
    ran = tilegen("build", "notes.txt")
    assert ran.status == 1
    assert "this is no Python file" in ran.err
