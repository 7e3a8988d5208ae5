"""Every name that a kernel's template or helper uses is kept from a spec's locals."""

import re

import pytest

from tilegen.families.names import RESERVED
from tilegen.paths import template_folder

KERNELS = sorted((template_folder() / "kernels").glob("*.jinja"))
HELPERS = ("math", "narrowing", "random", "reductions")


def words(text: str) -> set[str]:
    """Identifiers outside of jinja tags, docstrings and attributes."""
    text = re.sub(r'\{[%{#].*?[%}#]\}|""".*?"""|#.*?$', " ", text, flags=re.DOTALL | re.MULTILINE)
    return set(re.findall(r"(?<![\w.])[A-Za-z]\w*", text))


@pytest.mark.parametrize("template", KERNELS, ids=lambda path: path.name.split(".")[0])
def test_names_of_templates_are_reserved(template):
    keywords = {"mask", "other", "axis", "keep_dims", "num_stages"}
    missing = words(template.read_text()) - RESERVED - {"jit", "constexpr", "next_"} - keywords
    assert not {name for name in missing if not name.startswith(("partial_", "_"))}


@pytest.mark.parametrize("part", HELPERS)
def test_helpers_are_reserved(part):
    text = (template_folder() / "runtime" / f"{part}.py.jinja").read_text()
    jitted = set(re.findall(r"@triton\.jit\ndef ([a-z]\w*)", text))
    assert jitted
    assert jitted <= RESERVED
