"""GPUs as rows of facts.

A target is one frozen row: what the chip has, what Triton makes of it, and where each figure comes
from. Schedules divide budgets by these figures, the roofline divides work by them, and nothing here
decides anything. Adding a GPU is adding a row to ``nvidia.py`` or ``amd.py``.

- Rows are written out in full. Those of one architecture repeat each other, and a test holds them
  together; a base row with overrides would be shorter, and would hide what a GPU inherits.
- A row holds what a compiler cannot be asked on a machine without the GPU. Shared memory and
  registers of a given kernel are the compiler's to tell (``generated/compiled``).
- Peaks are dense, with the accumulator that tilegen uses: GeForce cards halve their matrix rate
  with fp32 accumulation. They are what ``tl.dot`` can reach, not what the silicon could: on gfx942
  an OCP fp8 product runs as f16.
- ``dtypes`` speaks of loads, stores and conversions. Products take less, whatever the target: no u8
  (Triton 3.6 and 3.9), and no f64 on sm_100 and gfx942 in Triton 3.6.
- One row stands for a family of boards. Its figures are those of the largest common board, named in
  ``sources``; a laptop or PCIe variant finds the row by name and has fewer SMs, so whoever launches
  reads the SM count from the driver.
- ``capability`` alone does not identify a GPU: gfx90a and sm_90 are both (9, 0). Compare the
  backend.

This package imports neither torch nor triton.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from tilegen.targets.amd import AMD
from tilegen.targets.nvidia import NVIDIA
from tilegen.targets.target import Backend, Buffers, MatrixUnit, Target

__all__ = ["TARGETS", "Backend", "Buffers", "MatrixUnit", "Target", "architectures", "get"]

TARGETS: Final[tuple[Target, ...]] = NVIDIA + AMD
"""All known GPUs, in the order of the documentation."""


def get(name: str) -> Target:
    """Return the row with that ``name`` (lower case, for example ``"h200"``).

    Raises:
        ValueError: no such row; the text lists the known names and suggests the closest.
    """
    rows = {target.name: target for target in TARGETS}
    if name in rows:
        return rows[name]
    close = get_close_matches(name.lower().replace(" ", ""), rows, n=1, cutoff=0.5)
    hint = f' Did you mean "{close[0]}"?' if close else ""
    raise ValueError(f'unknown GPU "{name}".{hint} Known: {", ".join(rows)}.')


def architectures(targets: Iterable[Target]) -> tuple[str, ...]:
    """Return the architecture classes of ``targets``, each once, in order of appearance."""
    return tuple(dict.fromkeys(target.architecture for target in targets))
