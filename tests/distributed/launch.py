"""``python launch.py WORLD STORE REPORT``: a group of gloo processes that all run the checks.

REPORT becomes a JSON object: what went wrong in the first process, by name of the check; null
where nothing did. The processes are forks of one that has imported everything.
"""

import json
import multiprocessing
import os
import sys
import traceback
from datetime import timedelta
from pathlib import Path

import checks
import torch
import torch.distributed as dist


def work(rank: int, world: int, store: str, report: Path) -> None:
    """One process of the group."""
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", f"file://{store}", rank=rank, world_size=world, timeout=timedelta(seconds=60)
    )
    found: dict[str, str | None] = {}
    for name, check in checks.checks(world).items():
        found[name] = None
        try:
            check()
        except Exception:
            found[name] = traceback.format_exc()
    said: list[dict[str, str | None]] = [{}] * world
    dist.all_gather_object(said, found)
    worst = {name: next((s[name] for s in said if s[name]), None) for name in found}
    if rank == 0:
        report.write_text(json.dumps(worst), encoding="utf-8")
    dist.destroy_process_group()


def main() -> None:
    """Start the processes and wait for them."""
    world, store, report = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    context = multiprocessing.get_context("fork")
    group = [context.Process(target=work, args=(r, world, store, report)) for r in range(world)]
    for process in group:
        process.start()
    for process in group:
        process.join()
    os._exit(any(process.exitcode for process in group))


if __name__ == "__main__":
    main()
