"""The text of one spec's module."""

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from tilegen.analysis.facts import facts
from tilegen.paths import template_folder
from tilegen.render.context import module_context
from tilegen.render.environment import environment
from tilegen.render.parts import RenderedVariant
from tilegen.render.runtime import public_names
from tilegen.schedule.space import spaces
from tilegen.spec.load import LoadedSpec
from tilegen.spec.trace import TracedSpec
from tilegen.targets import Target
from tilegen.version import VERSION


def render_module(
    loaded: LoadedSpec,
    traced: TracedSpec,
    variants: Sequence[RenderedVariant],
    targets: Sequence[Target],
) -> str:
    """The module of one op, before it is formatted and before its configs are proven."""
    folder = template_folder()
    parts = [part for variant in variants for part in variant.parts]
    programs = [program for part in parts for program in part.programs]
    context: dict[str, Any] = module_context(traced, variants, spaces(programs, targets))
    context |= {
        "version": VERSION,
        "spec_path": loaded.shown,
        "spec_hash": short_hash(traced.source.text),
        "template_hash": template_hash(folder),
        "facts": facts(variants[0].programs, traced.variants[0].graph, targets),
    }
    text = environment(folder).get_template("module.py.jinja").render(context)
    return _import_names(text, folder)


def short_hash(text: str) -> str:
    """Eight hexadecimal digits that change with the text."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


@cache
def template_hash(folder: Path) -> str:
    """A hash over all templates."""
    files = sorted(folder.rglob("*.jinja"))
    return short_hash("\0".join(f"{f.relative_to(folder)}\0{f.read_text()}" for f in files))


#: What holds words that are no names: comments, and strings, of which modules format none.
_TEXT: Final = re.compile(r'"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#.*')
#: A name where it is used: no attribute, and no keyword of a call.
_NAME: Final = re.compile(r"(?<![\w.])[A-Za-z_]\w*+(?! ?=[^=])")
#: A name that a function has for itself.
_LOCAL: Final = re.compile(r"^ +(\w+) = ", re.MULTILINE)


def _import_names(text: str, folder: Path) -> str:
    """The text with the names of `_runtime.py` that it uses in its import line."""
    code = _TEXT.sub("", text)
    used = set(_NAME.findall(code)) - set(_LOCAL.findall(code))
    names = sorted(used & public_names(folder))
    return text.replace("from ._runtime import *", f"from ._runtime import ({', '.join(names)})")
