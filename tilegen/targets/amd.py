"""Rows for AMD GPUs.

Sizes are those of the "AMD GPU specifications" table of the ROCm documentation. A CU's 512 KiB of
vector registers include the accumulation registers; HIP reports half. 2048 threads per CU are what
HIP reports on MI300X, and special functions at a quarter of the 64 lanes are the usual rate of GCN
and CDNA; neither was checked for the other rows, but for the doubled rate of CDNA 4. Datasheets
were read in copies and quotations of them. dtypes, matrix units and pipeline buffers were found by
compiling, with Triton 3.6 and 3.9. They differ on gfx950: 3.6 keeps `stages - 1` buffers; 3.9
copies straight into LDS, keeps `stages` and pads them by 3.1% at most. The row has the larger
count, so that a config that fits it fits on both, but for the padding.

The fnuz fp8 types of CDNA 3 are not in the spec language; Triton 3.6 aborts the process when it
compiles them for gfx90a.
"""

from typing import Final

from tilegen.targets.target import Target

KIB: Final = 2**10
MIB: Final = 2**20
GIB: Final = 2**30

# The OCP fp8 types too: CDNA 2 and 3 convert them in software.
ALL: Final = frozenset(
    ("f64", "f32", "f16", "bf16", "fp8e4m3", "fp8e5m2", "i8", "u8", "i32", "i64", "bool_")
)

AMD: Final[tuple[Target, ...]] = (
    Target(
        name="mi250",
        device_names=("MI250",),
        backend="hip",
        architecture="gfx90a",
        capability=(9, 0),
        multiprocessors=104,
        registers_per_sm=131_072,
        shared_per_program=64 * KIB,
        shared_per_sm=64 * KIB,
        max_threads_per_sm=2048,
        max_threads_per_program=1024,
        warp_size=64,
        l2_bytes=8 * MIB,
        memory_bytes=64 * GIB,
        bandwidth=1.6384e12,
        peak={
            "f64": 22.6e12,
            "f32": 22.6e12,
            "f16": 181e12,
            "bf16": 181e12,
            "fp8e4m3": 181e12,
            "fp8e5m2": 181e12,
            "i8": 181e12,
        },
        special_per_clock=16,
        clock_hz=1.7e9,
        dtypes=ALL,
        async_copy=False,
        tma=False,
        matrix_unit="mfma",
        pipeline_buffers="stages - 1",
        sources=(
            "MI250 datasheet, halved: one device is one of the two GCDs",
            "ROCm GPU specifications table",
        ),
    ),
    Target(
        name="mi300x",
        device_names=("MI300X",),
        backend="hip",
        architecture="gfx942",
        capability=(9, 4),
        multiprocessors=304,
        registers_per_sm=131_072,
        shared_per_program=64 * KIB,
        shared_per_sm=64 * KIB,
        max_threads_per_sm=2048,
        max_threads_per_program=1024,
        warp_size=64,
        l2_bytes=32 * MIB,
        memory_bytes=192 * GIB,
        bandwidth=5.3e12,
        peak={
            "f64": 81.7e12,
            "f32": 163.4e12,
            "f16": 1307.4e12,
            "bf16": 1307.4e12,
            "fp8e4m3": 1307.4e12,
            "fp8e5m2": 1307.4e12,
            "i8": 2614.9e12,
        },
        special_per_clock=16,
        clock_hz=2.1e9,
        dtypes=ALL,
        async_copy=False,
        tma=False,
        matrix_unit="mfma",
        pipeline_buffers="stages - 1",
        sources=(
            "MI300X datasheet",
            "ROCm GPU specifications table",
            "hardware fp8 is fnuz (2614.9e12); Triton multiplies OCP fp8 as f16: compile probe",
        ),
    ),
    Target(
        name="mi355x",
        device_names=("MI355X",),
        backend="hip",
        architecture="gfx950",
        capability=(9, 5),
        multiprocessors=256,
        registers_per_sm=131_072,
        shared_per_program=160 * KIB,
        shared_per_sm=160 * KIB,
        max_threads_per_sm=2048,
        max_threads_per_program=1024,
        warp_size=64,
        l2_bytes=32 * MIB,
        memory_bytes=288 * GIB,
        bandwidth=8e12,
        peak={
            "f64": 78.6e12,
            "f32": 157.3e12,
            "f16": 2516.6e12,
            "bf16": 2516.6e12,
            "fp8e4m3": 5033.2e12,
            "fp8e5m2": 5033.2e12,
            "i8": 5033.2e12,
        },
        special_per_clock=32,
        clock_hz=2.4e9,
        dtypes=ALL,
        async_copy=True,
        tma=False,
        matrix_unit="mfma",
        pipeline_buffers="stages",
        sources=(
            "MI355X datasheet",
            "ROCm GPU specifications table",
            "CDNA 4 whitepaper: twice the rate of special functions of CDNA 3",
        ),
    ),
)
