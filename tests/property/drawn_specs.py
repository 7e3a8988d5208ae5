"""Random specs, as text: what a user could have written, in the order simplest first."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import strategies as st

import tilegen

UNARY = (
    "abs({0})", "-({0})", "2.0 * ({0})", "relu({0})", "({0}) * ({0})", "tanh({0})", "sigmoid({0})",
    "exp(-abs({0}))", "sqrt(abs({0}))", "log(1.0 + abs({0}))", "sin({0})", "silu({0})", "gelu({0})",
    "rsqrt(1.0 + ({0}) * ({0}))", "clamp({0}, -1.0, 1.0)", "cast({0}, bf16)", "cast({0}, f16)",
    "exp2(-abs({0}))", "scale * ({0})", "softplus({0})", "detach({0})",
)  # fmt: skip
BINARY = (
    "({0} + {1})", "({0} - {1})", "({0} * {1})", "maximum({0}, {1})", "minimum({0}, {1})",
    "({0}) / (1.0 + abs({1}))",
)  # fmt: skip
REDUCTIONS = ("sum", "mean", "max", "min", "variance", "logsumexp")
JOINS = ("({0} - {1})", "({0} * {1})", "({0}) / (1.0 + abs({1}))", "maximum({0}, {1})")
DIMS = ("M", "N", "K")


class DrawnSpec(NamedTuple):
    """A spec's text, and what is drawn for its check."""

    text: str
    name: str

    def __repr__(self) -> str:
        return f"\n{self.text}"


class Tensors(NamedTuple):
    """Candidates for parameters: stored dims by name. `x` has all dims."""

    dims: tuple[str, ...]
    stored: dict[str, tuple[str, ...]]
    flat: bool


@st.composite
def tensors(draw: st.DrawFn) -> Tensors:
    dims = DIMS[: draw(st.integers(1, 3))]
    stored = {"x": dims}
    for name in ("y", "z"):
        subset = draw(st.lists(st.sampled_from(dims), unique=True, min_size=1, max_size=len(dims)))
        stored[name] = tuple(subset)
    return Tensors(dims, stored, len(dims) > 1 and draw(st.booleans()))


def masks(given: Tensors) -> st.SearchStrategy[str]:
    """Boolean expressions whose value no rounding changes: of positions, and of loaded values."""
    one, last = given.dims[0], given.dims[-1]
    found = [f"index({last}) < 3", "x > 0.25", f"index({last}) % 2 == 0", "(x < y) & (y > -1.0)"]
    if one != last:
        found.append(f"index({last}) <= index({one}) + size({last}) - size({one})")
    return st.sampled_from(found)


def expressions(given: Tensors, depth: int) -> st.SearchStrategy[str]:
    leaf = st.sampled_from(["x", "y", "z", "0.5", f"take(y, at, {given.stored['y'][-1]})"])
    if not depth:
        return leaf
    inner = expressions(given, depth - 1)
    return st.one_of(
        leaf,
        st.builds(lambda form, a: form.format(a), st.sampled_from(UNARY), inner),
        st.builds(lambda form, a, b: form.format(a, b), st.sampled_from(BINARY), inner, inner),
        st.builds(lambda m, a, b: f"where({m}, {a}, {b})", masks(given), inner, inner),
    )


def finished(kind: str, given: Tensors, lines: Sequence[str], result: str) -> DrawnSpec:
    """The whole text: the parameters that are used, and the imports."""
    body = "\n".join([*(f"    {line}" for line in lines), f"    return {result}"])
    words = set(re.findall(r"\w+", body))
    parameters = []
    for name in given.stored:
        if name in words:
            parameters.append(f"{name}: Tensor[{_stored(given, name, words)}]")
    if "at" in words:
        kept = [dim for dim in given.dims if dim != given.stored["y"][-1]] or ["B"]
        parameters.append(f"at: Index[{kept[0]}]")
    if "scale" in words:
        parameters.append("scale: float = 1.5")
    domain = f'domain={{"at": "in [0, {given.stored["y"][-1]})"}}' if "at" in words else ""
    text = f"@{kind}({domain})\ndef drawn({', '.join(parameters)}) -> Value:\n{body}\n"
    names = sorted(set(re.findall(r"\w+", text)) & set(tilegen.__all__))
    return DrawnSpec(f"from tilegen import {', '.join(names)}\n\n\n{text}", "drawn")


def _stored(given: Tensors, name: str, words: set[str]) -> str:
    """Dims as a signature writes them; x may store its last two flat if another tells one."""
    dims = given.stored[name]
    told = {dim for other in ("y", "z") if other in words for dim in given.stored[other]}
    if name == "x" and given.flat and told & set(dims[-2:]):
        return ", ".join((*dims[:-2], f"Flat[{dims[-2]}, {dims[-1]}]"))
    return ", ".join(dims)


@st.composite
def elementwise_specs(draw: st.DrawFn) -> DrawnSpec:
    given = draw(tensors())
    first = draw(expressions(given, 2))
    lines = [f"a = {first} + x"]
    if draw(st.booleans()):
        lines.append(f"b = {draw(expressions(given, 1))}")
        lines.append(f"c = {draw(st.sampled_from(BINARY)).format('a', 'b')}")
        return finished("elementwise", given, lines, draw(st.sampled_from(("c", "c * a"))))
    return finished("elementwise", given, lines, draw(st.sampled_from(("a", "cast(a, f16)"))))


@st.composite
def rowwise_specs(draw: st.DrawFn) -> DrawnSpec:
    given = draw(tensors())
    count = draw(st.integers(1, min(2, len(given.dims))))
    over = given.dims[-count:] if draw(st.booleans()) else given.dims[:count]
    dims = over[0] if count == 1 else f"({', '.join(over)})"
    lines = [f"a = {draw(expressions(given, 2))} + x"]
    form = draw(st.sampled_from(("reduce", "join", "softmax", "twice", "masked", "index")))
    if form == "index" and count == 1:
        best = draw(st.sampled_from(("argmax", "argmin")))
        return finished("rowwise", given, lines, f"{best}(a, {dims})")
    if form == "softmax" or form == "index":
        return finished("rowwise", given, lines, f"softmax(a, {dims})")
    if form == "masked":
        kind = draw(st.sampled_from(("softmax", "logsumexp")))
        return finished("rowwise", given, lines, f"{kind}(a, {dims}, where={draw(masks(given))})")
    lines.append(f"r = {draw(st.sampled_from(REDUCTIONS))}(a, {dims})")
    if form == "reduce":
        return finished("rowwise", given, lines, draw(st.sampled_from(("r", "tanh(r)"))))
    lines.append(f"b = {draw(st.sampled_from(JOINS)).format('a', 'r')}")
    if form == "join":
        return finished("rowwise", given, lines, f"{draw(st.sampled_from(UNARY)).format('b')} + x")
    lines.append(f"s = {draw(st.sampled_from(REDUCTIONS))}(b, {dims})")
    return finished("rowwise", given, lines, draw(st.sampled_from(("s", "b - s", "b * tanh(s)"))))
