"""Compiles small kernels for GPUs that are not here; prints one JSON object.

A script, not a test module: Triton must compile in a process without TRITON_INTERPRET.
usage: probe.py '[["cuda", 80, 32, "fp8e4nv"], ...]'
"""

import json
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

TYPES = {"fp8e4nv": tl.float8e4nv, "fp8e5": tl.float8e5, "bf16": tl.bfloat16}
TILE = {"BM": 128, "BN": 64, "BK": 64}
STAGES = 3


@triton.jit
def narrow(x, y, n, TO: tl.constexpr):
    i = tl.program_id(0) * 256 + tl.arange(0, 256)
    tl.store(y + i, tl.load(x + i, mask=i < n).to(TO), mask=i < n)


@triton.jit
def widen(x, y, n):
    i = tl.program_id(0) * 256 + tl.arange(0, 256)
    tl.store(y + i, tl.load(x + i, mask=i < n).to(tl.float32), mask=i < n)


@triton.jit
def product(
    a, b, c, k, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, S: tl.constexpr
):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    i = tl.arange(0, BK)
    pa = a + m[:, None] * sa + i[None, :]
    pb = b + i[:, None] * sb + n[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in tl.range(0, k, BK, num_stages=S):
        acc = tl.dot(tl.load(pa), tl.load(pb), acc)
        pa += BK
        pb += BK * sb
    tl.store(c + m[:, None] * sc + n[None, :], acc)


def converts(target: GPUTarget, dtype: str) -> bool:
    """Whether Triton compiles a store and a load of that dtype."""
    there = ASTSource(
        fn=narrow,
        signature={"x": "*bf16", "y": f"*{dtype}", "n": "i32", "TO": "constexpr"},
        constexprs={"TO": TYPES[dtype]},
    )
    back = ASTSource(fn=widen, signature={"x": f"*{dtype}", "y": "*fp32", "n": "i32"})
    worked = []
    for source in (there, back):
        try:
            triton.compile(source, target=target)
            worked.append(True)
        except triton.CompilationError as error:
            # Any other mistake of this script must not read as "rejected".
            if "not supported in this architecture" not in str(error.__cause__ or error):
                raise
            worked.append(False)
    assert worked[0] == worked[1], (target, dtype, worked)
    return worked[0]


def shared(target: GPUTarget) -> int:
    """Shared memory of a pipelined bf16 product of TILE, bytes."""
    names = ("k", "sa", "sb", "sc")
    signature = {"a": "*bf16", "b": "*bf16", "c": "*fp32"} | dict.fromkeys(names, "i32")
    source = ASTSource(
        fn=product,
        signature=signature | dict.fromkeys((*TILE, "S"), "constexpr"),
        constexprs={**TILE, "S": STAGES},
        attrs={(i,): [["tt.divisibility", 16]] for i in range(len(signature))},
    )
    return int(triton.compile(source, target=target, options={"num_warps": 4}).metadata.shared)


def main() -> None:
    answers = []
    for backend, arch, warp, question in json.loads(sys.argv[1]):
        target = GPUTarget(backend, arch, warp)
        answers.append(shared(target) if question == "shared" else converts(target, question))
    print(json.dumps({"answers": answers, "tile": TILE, "stages": STAGES}))


if __name__ == "__main__":
    main()
