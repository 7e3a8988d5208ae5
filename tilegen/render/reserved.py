"""Names that a spec may not give, because the generated module needs them itself.

Locals of a spec are renamed where they collide. The op and its arguments are what callers write,
so they keep their names, or the build says why they cannot.
"""

import builtins
from collections.abc import Iterable
from itertools import permutations
from pathlib import Path

from tilegen import errors
from tilegen.families.names import RESERVED
from tilegen.render.runtime import public_names
from tilegen.spec.trace import TracedSpec

#: What a module defines or imports besides the names of `_runtime.py`.
MODULE = frozenset(("OP", "BACKWARD", "reference", "reference_backward", "torch", "triton", "tl"))

#: What the public function and the reference take or use besides a spec's own arguments.
ARGUMENTS = frozenset(("out", "backend", "autotune", "compute", "tensors", "params"))


def is_reserved(name: str, templates: Path) -> bool:
    """Whether no op may have this name."""
    needed = name in MODULE | public_names(templates) or hasattr(builtins, name)
    return name.startswith("_") or needed


def check_names(traced: TracedSpec, templates: Path) -> None:
    """Refuse an op, an argument or a dimension whose name the module or its kernels need.

    Raises:
        ReservedName: the first such name.
    """
    module = MODULE | public_names(templates)
    if is_reserved(traced.name, templates):
        raise errors.ReservedName(f"an op cannot be called {traced.name!r}", traced.source.span)
    for argument in _names(traced):
        if argument in module | ARGUMENTS:
            raise errors.ReservedName(
                f"a parameter cannot be called {argument!r}", traced.source.parameter(argument)
            )
    dims = {dim for variant in traced.variants for dim in variant.graph.dims}
    joined = {"_".join(pair) for pair in permutations(dims, 2)}  # names of merged dimensions
    for dim in sorted(dims & (RESERVED | joined)):
        raise errors.ReservedName(f"a dimension cannot be called {dim!r}", traced.source.span)


def _names(traced: TracedSpec) -> Iterable[str]:
    yield from (operand.name for operand in traced.operands)
    yield from (param.name for param in traced.params)
