"""``_runtime.py``: the parts in ``templates/runtime`` as one module.

Each part is Python that could stand alone but for the names of earlier parts; only the first needs
jinja2, for the table of GPUs. Parts keep their own imports, so that each says what it needs; here
they become one sorted block.
"""

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from tilegen.render.environment import environment

PARTS: Final = (
    "targets",
    "declarations",
    "binding",
    "layouts",
    "outs",
    "axes",
    "reference",
    "launches",
    "planning",
    "tuning",
    "autograd",
    "sharding",
    "library",
    "ops",
    "math",
    "narrowing",
    "random",
    "reductions",
    "eager",
    "costs",
)
"""In order: the first holds the docstring, and each uses only what stands before it at import."""

RUNTIME: Final = "_runtime.py"

MODEL: Final = Path(__file__).parents[1] / "schedule" / "predict.py"
"""The cost model, whose functions are a part of ``_runtime.py`` as well."""

THIRD_PARTY: Final = frozenset(("torch", "triton"))
"""All that ``_runtime.py`` imports besides the standard library."""


def render_runtime(targets: Sequence[Mapping[str, Any]], templates: Path) -> str:
    """Return the text of ``_runtime.py``.

    Args:
        targets: facts per GPU, with at least the keys that ``targets.py.jinja`` lists.
        templates: the folder ``templates`` of a checkout or of the wheel.

    Raises:
        jinja2.UndefinedError: a row lacks a key.
    """
    known = environment(templates)
    facts = {"targets": targets, "model": cost_model()}
    texts = [known.get_template(f"runtime/{part}.py.jinja").render(facts) for part in PARTS]
    parts = [_split(text) for text in texts]
    imports = [statement for _, statements, _ in parts for statement in statements]
    head = parts[0][0] + "\n\n" + _import_block(imports)
    return "\n\n\n".join((head, *(body for _, _, body in parts))) + "\n"


@cache
def cost_model() -> str:
    """The predicted times as the search ranks by them: one source for both."""
    return _split(MODEL.read_text(encoding="utf-8"))[2]


def _split(text: str) -> tuple[str, list[ast.Import | ast.ImportFrom], str]:
    """Return the docstring (as written), the imports and the rest of a part."""
    lines = text.splitlines()
    docstring = ""
    imports = []
    end = 0
    for node in ast.parse(text).body:
        last = node.end_lineno or node.lineno
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.append(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and not end:
            docstring = "\n".join(lines[node.lineno - 1 : last])
        else:
            break
        end = last
    return docstring, imports, "\n".join(lines[end:]).strip("\n")


def _import_block(imports: Iterable[ast.Import | ast.ImportFrom]) -> str:
    """Return imports merged and sorted as ruff sorts them: standard library, then the others."""
    modules: set[str] = set()
    members: dict[str, set[str]] = {}
    for statement in imports:
        if isinstance(statement, ast.Import):
            modules.update(ast.unparse(alias) for alias in statement.names)
        else:
            names = {ast.unparse(alias) for alias in statement.names}
            members.setdefault(statement.module or "", set()).update(names)
    sections = []
    for third_party in (False, True):
        lines = [
            f"import {name}" for name in sorted(modules) if _is_third_party(name) == third_party
        ]
        lines += [
            f"from {module} import {', '.join(sorted(names, key=_member_order))}"
            for module, names in sorted(members.items())
            if _is_third_party(module) == third_party
        ]
        sections.append("\n".join(lines))
    return "\n\n".join(sections)


def _is_third_party(module: str) -> bool:
    return module.split(" ")[0].split(".")[0] in THIRD_PARTY


def _member_order(name: str) -> tuple[int, str]:
    """Constants first, then classes, then the rest, as ruff's order-by-type."""
    return (0 if name.isupper() else 1 if name[:1].isupper() else 2), name


@cache
def public_names(templates: Path) -> frozenset[str]:
    """The names that a module may import from ``_runtime.py``."""
    names = set()
    texts = [(templates / "runtime" / f"{part}.py.jinja").read_text() for part in PARTS]
    for text in (*texts, cost_model()):
        names.update(re.findall(r"^(?:def|class) ([A-Za-z]\w*)", text, re.MULTILINE))
    return frozenset(names)
