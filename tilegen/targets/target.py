"""The row type: what tilegen knows about one GPU, with units."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Backend = Literal["cuda", "hip"]
"""The backend name that Triton's ``GPUTarget`` takes."""

MatrixUnit = Literal["mma", "wgmma", "tcgen05", "mfma"]
"""The instruction family that ``tl.dot`` becomes."""

Buffers = Literal["stages", "stages - 1"]
"""How many tiles of each pipelined operand are alive in shared memory at once."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """Facts about one GPU (one die, where a package holds several devices).

    "SM" stands for a streaming multiprocessor (NVIDIA) or a compute unit (AMD).

    Attributes:
        name: key on the command line, for example ``"h200"``.
        device_names: parts of ``torch.cuda.get_device_properties(...).name``. Compare without case
            and as whole words: ``"NVIDIA L4"`` is a prefix of ``"NVIDIA L40S"``.
        backend: Triton's backend.
        architecture: class that configs are grouped by (``sm_90``, ``gfx942``).
        capability: (major, minor) as torch reports it; on AMD, the digits of gfx.
        multiprocessors: SMs.
        registers_per_sm: 32-bit registers of one SM (AMD: vector and accumulation registers).
        shared_per_program: most dynamic shared memory that one program may use, bytes.
        shared_per_sm: shared memory of one SM, bytes.
        max_threads_per_sm: resident threads.
        max_threads_per_program: threads of one program.
        warp_size: threads of a warp (AMD: wavefront).
        l2_bytes: L2 cache of the whole device, bytes. HIP reports that of a single XCD.
        memory_bytes: device memory, bytes, nominal; a driver reports one to three percent less.
        bandwidth: of device memory, bytes/s, datasheet.
        measured_copy: copy rate (bytes read + written)/s, where measured; otherwise None.
        peak: dense operations per second of a product, keyed by the operands' dtype and with the
            accumulator that tilegen uses (fp32; int32 for i8). ``f32`` and ``f64`` are the vector
            units', without tf32. Where Triton widens a dtype to f16 before the product, as it does
            fp8 on sm_80 and gfx942, this is the rate of f16. Integers other than i8 are absent.
        special_per_clock: exponentials and the like, per SM and clock.
        clock_hz: highest boost clock, Hz. Matrix peaks may assume a lower one.
        dtypes: what Triton loads, stores and converts, in the names of the spec language. It says
            nothing of ``tl.dot``, which takes no u8 anywhere.
        async_copy: cp.async (AMD: direct loads into LDS), as Triton emits it.
        tma: descriptors become TMA instructions.
        matrix_unit: instruction family of ``tl.dot``.
        pipeline_buffers: buffers of a pipelined load whose loop has that many ``stages``.
        pipeline_extra: bytes that a pipelined product needs besides the buffers (barriers).
        vector_bytes: widest load or store of one thread, bytes.
        sources: where the figures come from, in short.
    """

    name: str
    device_names: tuple[str, ...]
    backend: Backend
    architecture: str
    capability: tuple[int, int]
    multiprocessors: int
    registers_per_sm: int
    shared_per_program: int
    shared_per_sm: int
    max_threads_per_sm: int
    max_threads_per_program: int
    warp_size: int
    l2_bytes: int
    memory_bytes: int
    bandwidth: float
    measured_copy: float | None = None
    peak: Mapping[str, float] = field(hash=False)
    special_per_clock: int
    clock_hz: float
    dtypes: frozenset[str]
    async_copy: bool
    tma: bool
    matrix_unit: MatrixUnit
    pipeline_buffers: Buffers
    pipeline_extra: int = 0
    vector_bytes: int = 16
    sources: tuple[str, ...]
