"""Every row of the op table through the whole pipeline: its Triton text against its torch text."""

import itertools
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch

from tilegen import targets
from tilegen.build import BuiltOp, build_op
from tilegen.folder import build_folder
from tilegen.ir.ops import TABLE, Op
from tilegen.paths import template_folder
from tilegen.render.runtime import render_runtime
from tilegen.spec.load import load_folder
from tilegen.toolchain.compile import main_compile
from tilegen.toolchain.subject import load_module

INF, NAN = math.inf, math.nan
#: How a spec writes the rows that are no functions of its language.
OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>",
    "lt": "<", "le": "<=", "eq": "==", "ne": "!=", "gt": ">", "ge": ">=",
}  # fmt: skip
PREFIXES = {"neg": "-a", "not": "~a"}
ANNOTATIONS = {"float": "Tensor", "int": "Index", "bool": "Mask"}

FLOATS = (
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.0, -3.0, INF, -INF, NAN, 1e-30, 1e30,
    -1e30, 1e-9, -1e-9, 9.0, 20.0, -20.0, 88.0, -88.0, 0.1, 7.0, -7.0, 3e-5, 100.0, -104.0, 16777217.0,
)  # fmt: skip
INTEGERS = (0, 1, -1, 2, 3, -3, 5, -7, 31, 1000, -1000, 2**31 - 1, -(2**31))
BOOLEANS = (False, True)
VALUES: dict[str, tuple[Any, ...]] = {"float": FLOATS, "int": INTEGERS, "bool": BOOLEANS}
#: Relative errors allowed in units of the last place; the other rows are exact. The exponential of
#: fp32 is a power of two, whose argument rounds: at 88 that is 14 units.
ULPS = {
    "div": 1, "mod": 1, "exp": 16, "exp2": 4, "expm1": 4, "log": 4, "log1p": 4, "log2": 4,
    "sqrt": 1, "rsqrt": 2, "tanh": 4, "sigmoid": 4, "erf": 4, "gelu": 1, "sin": 4, "cos": 4,
    "pow": 8,
}  # fmt: skip
#: Their errors are relative to the argument: 1 + erf(x) is a difference below 0.
CANCELLING = ("gelu",)
ROWS = [(op, kind) for op in TABLE.values() for kind in op.takes]
IDS = [f"{op.name}-{kind}" for op, kind in ROWS]


def expression(op: Op) -> str:
    if op.name in OPERATORS:
        return f"a {OPERATORS[op.name]} b"
    return PREFIXES.get(op.name) or f"{op.name}({', '.join('abc'[: op.arity])})"


def parameters(op: Op, kind: str) -> list[tuple[str, str]]:
    """Names and kinds; a condition is boolean."""
    names = "abc"[: op.arity]
    return [(n, "bool" if op.name == "where" and n == "a" else kind) for n in names]


def spec_text(name: str, lines: list[str], given: list[tuple[str, str]], results: list[str]) -> str:
    """An elementwise spec of these statements."""
    arguments = ", ".join(f"{n}: {ANNOTATIONS[kind]}[N]" for n, kind in given)
    returns = "Value" if len(results) == 1 else f"tuple[{', '.join(['Value'] * len(results))}]"
    body = "\n".join(f"    {line}" for line in lines)
    return (
        f"from tilegen import *\nfrom tilegen import abs, round\n\n\n@elementwise(grad=False)\n"
        f"def {name}({arguments}) -> {returns}:\n{body}\n    return {', '.join(results)}\n"
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("rows")
    text = render_runtime([asdict(target) for target in targets.TARGETS], template_folder())
    (made / "_runtime.py").write_text(text)
    return made


def built(op: Op, kind: str, folder: Path) -> tuple[BuiltOp, Any]:
    """The one-op spec of a row, and its module."""
    name = f"row_{op.name}_{kind}"
    file = folder / f"spec_{name}.py"
    lines = [f"result = {expression(op)}"]
    file.write_text(spec_text(name, lines, parameters(op, kind), ["result"]))
    loaded, mistakes = load_folder(file)
    assert not mistakes, mistakes[0]
    made = build_op(loaded[0], targets.TARGETS[:1])
    (folder / f"{name}.py").write_text(made.text)
    return made, load_module(folder, name)


def edge_values(op: Op, kind: str, dtype: torch.dtype) -> list[torch.Tensor]:
    """All combinations of edge values; integers so that PyTorch defines the result."""
    columns = [VALUES[of] for _, of in parameters(op, kind)]
    if op.arity == 3:
        columns = [c[:16] for c in columns]
    rows = list(itertools.product(*columns))
    if op.name in ("floordiv", "mod") and kind == "int":
        rows = [row for row in rows if row[1] != 0]
    if op.name in ("shl", "shr"):
        rows = [row for row in rows if 0 <= row[1] < 31]
    if op.name in ("floordiv", "mod") and kind == "float":
        # PyTorch's vectorised remainder is NaN for quotients that no float holds exactly.
        rows = [(a, b) for a, b in rows if not 0 < abs(b) < abs(a) * 2**-24 or math.isinf(a)]
    if op.name == "clamp":
        rows = [row for row in rows if not row[1] > row[2]]
    kinds = {"float": dtype, "int": torch.int64, "bool": torch.bool}
    return [
        torch.tensor(column, dtype=kinds[of])
        for column, (_, of) in zip(zip(*rows, strict=True), parameters(op, kind), strict=True)
    ]


def disagreement(
    op: Op, given: list[torch.Tensor], ours: torch.Tensor, theirs: torch.Tensor
) -> torch.Tensor:
    """Where the kernel's values are not those of PyTorch."""
    if not ours.dtype.is_floating_point:
        return ours != theirs.to(ours.dtype)
    facts = torch.finfo(ours.dtype)
    units = ULPS.get(op.name, 0)
    if op.name == "pow" and ours.dtype == torch.float64:
        units = 512  # an exponent of two near 1000 has no more digits after its point
    size = (given[0] if op.name in CANCELLING else theirs).abs()
    near = units * facts.eps * size + facts.smallest_normal
    close = ((ours - theirs).abs() <= near) & theirs.isfinite()
    same = (ours == theirs) | (ours.isnan() & theirs.isnan()) | close
    return ~same


@pytest.mark.parametrize(("op", "kind"), ROWS, ids=IDS)
def test_triton_and_torch_texts_agree(op: Op, kind: str, folder: Path) -> None:
    made, module = built(op, kind, folder)
    graph = made.traced.variants[0].graph
    assert op.name in {node.op for node in graph.nodes}
    for dtype in (torch.float32, torch.float64) if kind == "float" else (torch.float32,):
        given = edge_values(op, kind, dtype)
        run = getattr(module, f"row_{op.name}_{kind}")
        ours = run(*given)
        # In fp64: PyTorch's fp32 differs between CPUs (on some, gelu(inf) is NaN).
        exact = [g.double() if g.is_floating_point() else g for g in given]
        theirs = run(*exact, backend="torch").to(ours.dtype)
        wrong = disagreement(op, given, ours, theirs)
        found = [(*(g[at].item() for g in given), ours[at].item(), theirs[at].item())
                 for at in wrong.nonzero().flatten()[:5].tolist()]  # fmt: skip
        assert not found, f"{dtype}: arguments, ours, theirs: {found}"


def test_all_rows_compile_without_a_gpu(tmp_path: Path) -> None:
    """Kernels of eight rows each, on both vendors' GPUs."""
    specs = tmp_path / "specs"
    specs.mkdir()
    batches = [
        (kind, ops[at : at + 8])
        for kind in ANNOTATIONS
        for ops in [[op for op in TABLE.values() if kind in op.takes]]
        for at in range(0, len(ops), 8)
    ]
    for number, (kind, ops) in enumerate(batches):
        given = [(name, kind) for name in "bcd"] + [("condition", "bool")]
        lines = []
        for op in ops:
            text = expression(op).replace("where(a, b, c)", "where(condition, b, c)")
            text = text if op.name == "where" else _renamed(text)
            lines.append(f"r_{op.name} = {text}")
        results = [f"r_{op.name}" for op in ops]
        used = " ".join(lines).replace("(", " ").replace(")", " ").replace(",", " ").split()
        given = [(name, of) for name, of in given if name in used]
        name = f"all_{number}"
        (specs / f"{name}.py").write_text(spec_text(name, lines, given, results))
    out = tmp_path / "generated"
    gpus = (targets.get("h100"), targets.get("mi300x"))
    build_folder(specs, out, gpus)
    for file in out.glob("all_*.py"):
        file.write_text(file.read_text() + ONE_CONFIG)
    summary = main_compile(out, gpus, jobs=2)
    assert summary.errors == summary.failed == []
    assert summary.compiled >= 2 * len(batches)


def _renamed(text: str) -> str:
    """The expression over b, c and d."""
    words = {"a": "b", "b": "c", "c": "d"}
    tokens = text.replace("(", " ( ").replace(")", " ) ").replace(",", " , ").replace("~", "~ ")
    tokens = tokens.replace("-a", "- a")
    return " ".join(words.get(token, token) for token in tokens.split())


ONE_CONFIG = """

for _name in [name for name in globals() if name.endswith("_CONFIGS")]:
    _table = globals()[_name]
    _size = 4 if 4 in {size for _, size in _table} else 1
    globals()[_name] = {key: configs[:1] for key, configs in _table.items() if key[1] == _size}
"""
