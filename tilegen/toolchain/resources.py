"""What a compiled kernel needs, and what its assembly says: registers, spills, widths of accesses.

ptxas ships in the Triton wheel and needs no GPU; on AMD the numbers stand in the assembly's
metadata.
"""

import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final


@dataclass(frozen=True)
class Usage:
    """Resources of one kernel.

    Attributes:
        shared: bytes of shared memory of a program.
        registers: 32-bit registers of a thread (AMD: vector registers).
        spill: bytes of a thread that are stored to local memory for want of registers.
    """

    shared: int
    registers: int
    spill: int


def usage(assembly: Mapping[str, Any], shared: int, architecture: str) -> Usage:
    """Return the resources of a compiled kernel from its ``asm`` and its shared memory.

    Raises:
        RuntimeError: ptxas refuses the PTX, with what it says.
    """
    if "amdgcn" in assembly:
        return amd_usage(str(assembly["amdgcn"]), shared)
    return ptxas_usage(ptxas_log(str(assembly["ptx"]), architecture), shared)


def ptxas_log(ptx: str, architecture: str) -> str:
    """Return what ``ptxas -v`` prints for a PTX text."""
    from triton.backends.nvidia.compiler import get_ptxas, sm_arch_from_capability

    number = int(architecture.removeprefix("sm_"))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernel.ptx"
        source.write_text(ptx, encoding="utf-8")
        command = [
            get_ptxas(number).path,
            "-v",
            f"--gpu-name={sm_arch_from_capability(number)}",
            str(source),
            "-o",
            str(source.with_suffix(".o")),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"ptxas: {done.stderr.strip()[:300]}")
    return done.stderr


def ptxas_usage(log: str, shared: int) -> Usage:
    """Return the resources that a ``ptxas -v`` log tells."""
    spills = re.findall(r"(\d+) bytes spill stores", log)
    registers = re.findall(r"Used (\d+) registers", log)
    if not registers:
        raise RuntimeError(f"ptxas tells no registers: {log.strip()[:300]}")
    return Usage(shared, max(map(int, registers)), max(map(int, spills), default=0))


def amd_usage(assembly: str, shared: int) -> Usage:
    """Return the resources that AMD's metadata tells; a spilled register has 4 bytes."""
    spill = 4 * (_metadata(assembly, "vgpr_spill_count") + _metadata(assembly, "sgpr_spill_count"))
    return Usage(shared, _metadata(assembly, "vgpr_count"), spill)


def _metadata(assembly: str, name: str) -> int:
    found = re.findall(rf"^\s*\.{name}:\s*(\d+)", assembly, re.MULTILINE)
    if not found:
        raise RuntimeError(f"the AMD assembly has no .{name}")
    return max(map(int, found))


_GLOBAL: Final = re.compile(r"\b(ld|st)\.(?:\w+::)?(?:volatile\.|relaxed\.\w+\.)?global([\w.:]*)")
_BITS: Final = re.compile(r"\.([bufs])(\d+)$")


def ptx_statistics(ptx: str) -> dict[str, int]:
    """Count what decides over speed in a PTX text.

    Returns:
        wide_loads, narrow_loads, wide_stores, narrow_stores: global accesses of 16 bytes a thread
        or more, and of less; mma: matrix instructions (mma, wgmma, tcgen05); async_copies:
        cp.async and bulk (TMA) copies; f64: instructions on doubles; local: accesses of local
        memory, which are spills and arrays.
    """
    counts = dict.fromkeys(
        ("wide_loads", "narrow_loads", "wide_stores", "narrow_stores", "mma", "async_copies"), 0
    )
    counts |= {"f64": 0, "local": 0}
    for instruction in _instructions(ptx):
        opcode = instruction.split(None, 1)[0]
        if access := _GLOBAL.match(opcode):
            kind = "loads" if access[1] == "ld" else "stores"
            counts[f"{'wide' if _width(opcode) >= 128 else 'narrow'}_{kind}"] += 1
        counts["mma"] += bool(re.match(r"(wgmma\.mma_async|mma\.sync|tcgen05\.mma)", opcode))
        counts["async_copies"] += bool(
            re.match(r"cp\.(async|reduce\.async)(?!\.\w*(wait|commit))", opcode)
        )
        counts["f64"] += ".f64" in opcode
        counts["local"] += bool(re.match(r"(ld|st)\.local", opcode))
    return counts


def _instructions(ptx: str) -> Iterator[str]:
    """Yield instructions without predicates, comments, directives and labels."""
    for line in ptx.splitlines():
        text = re.sub(r"//.*", "", line).strip()
        text = re.sub(r"^@!?%?\w+\s+", "", text.lstrip("{ ").strip())
        if text and text[0].isalpha():
            yield text


def _width(opcode: str) -> int:
    """Return the bits that an access moves: ``ld.global.v4.b32`` moves 128."""
    vector = re.search(r"\.v(\d+)\b", opcode)
    bits = _BITS.search(opcode)
    return (int(vector[1]) if vector else 1) * (int(bits[2]) if bits else 0)
