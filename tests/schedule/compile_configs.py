"""Compiles kernels of a built folder with configs of their tables; prints shared memory as JSON.

A script, not a test module: Triton must compile in a process without TRITON_INTERPRET.
usage: compile_configs.py FOLDER ARCHITECTURE '[["softmax", "_softmax_block 2 TILE=4096 num_warps=4"], ...]'
"""

import json
import sys
from pathlib import Path

from tilegen.toolchain.worker import records


def main() -> None:
    folder, architecture, wanted = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
    found = {}
    for op in dict.fromkeys(name for name, _ in wanted):
        only = [entry for name, entry in wanted if name == op]
        request = {
            "op": op,
            "architecture": architecture,
            "dtypes": DTYPES,
            "known": {},
            "only": only,
        }
        found |= {name: record["shared"] for name, record in records(request, folder) if record}
    print(json.dumps(found))


DTYPES = ("bf16", "f32", "i64", "bool_")

if __name__ == "__main__":
    main()
