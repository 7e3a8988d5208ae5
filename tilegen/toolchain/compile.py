"""Compile every config of every generated kernel, without a GPU, and record what it needs.

Worker processes plan and compile (see `worker`): a process that has TRITON_INTERPRET set, as one
that runs tests, cannot compile. Only what changed since the last record is compiled. What a config
is compiled for is in `entries`; what a record then means for a build, in `schedule.proof`.
"""

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tilegen import records
from tilegen.analysis.statements import ELEMENT_SIZES
from tilegen.errors import TilegenError
from tilegen.targets import Target

Found = dict[str, dict[str, Any]]
Watch = Callable[[int, int, str], None]
"""Called with the requests done, the requests in all, and the op that was done last."""

ROOT: Final = Path(__file__).parents[2]


class NothingToCompile(TilegenError):
    """The folder has no such module."""


@dataclass
class Summary:
    """What a run of `compile` did, in entries.

    Attributes:
        spilling: names of entries that spill, with their bytes.
        errors: of whole ops: a plan that fails, a compiler that dies.
    """

    compiled: int = 0
    kept: int = 0
    rejected: int = 0
    failed: list[str] = field(default_factory=list)
    spilling: dict[str, int] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)


def main_compile(
    out: Path,
    targets: Sequence[Target],
    ops: Iterable[str] = (),
    jobs: int | None = None,
    watch: Watch = lambda done, total, op: None,
    python: str = sys.executable,
) -> Summary:
    """Compile the modules in ``out`` and write ``out / "compiled"``.

    Args:
        out: the folder of the generated modules.
        targets: GPUs; those of one architecture class share their records.
        ops: only these; all if empty.
        jobs: processes; by default one for each core.
        watch: hears of progress.
        python: the interpreter of the workers, which decides the version of Triton.

    Raises:
        NothingToCompile: there is no module, or none of a name in ``ops``.
    """
    # Large modules first: a worker that gets one last would keep all others waiting.
    names = sorted(modules_in(out, ops), key=lambda name: -_module(out, name).stat().st_size)
    by_architecture = {target.architecture: target for target in targets}
    stored = {architecture: records.read(out, architecture) for architecture in by_architecture}
    requests = [
        request(name, target, stored[architecture], element_sizes=[size])
        for name in names
        for architecture, target in by_architecture.items()
        for size in ELEMENT_SIZES
    ]
    for of_architecture in stored.values():
        _forget(out, of_architecture)
    summary = Summary()
    changed: set[str] = set()
    done = 0
    for asked, found, end in _answers(out, requests, jobs, python):
        done += 1
        architecture, op = asked["architecture"], asked["op"]
        watch(done, len(requests), op)
        if "error" in end:
            summary.errors.append(f"{op} for {architecture}: {end['error']}")
            continue
        of_version = stored[architecture].setdefault(end["triton"], {})
        of_version[op] = _settle(of_version.get(op, {}), found, summary, architecture)
        # What is done is kept, should the rest take too long.
        if records.write(out, architecture, stored[architecture]):
            changed.add(architecture)
    summary.written += [f"{records.FOLDER}/{name}.json" for name in stored if name in changed]
    return summary


def ptx_records(
    out: Path,
    op: str,
    target: Target,
    element_size: int = 2,
    only: Sequence[str] = (),
    python: str = sys.executable,
) -> Found:
    """Compile an op and return its records with the counts of `resources.ptx_statistics`.

    Args:
        out: the folder of the generated modules.
        op: the op; it is compiled whether or not it changed, and nothing is written.
        target: the GPU; AMD ones have no PTX, and get no counts.
        element_size: bytes of the widest floating input.
        only: entries ("_softmax_block 2 TILE=4096 num_warps=4"); all if empty.
        python: as for `main_compile`.

    Raises:
        NothingToCompile: there is no such module, or it cannot be planned or compiled for.
    """
    (name,) = modules_in(out, [op])
    more = {"ptx": True, "element_sizes": [element_size], "only": list(only)}
    worker = start_worker(out, python)
    try:
        found, end = ask(worker, request(name, target, {}, **more))
    finally:
        worker.communicate()
    if "error" in end:
        raise NothingToCompile(f"{op} for {target.name}: {end['error']}")
    return found


def modules_in(out: Path, ops: Iterable[str]) -> list[str]:
    """Return the ops that ``out`` has modules of, or those of them that are asked for.

    Raises:
        NothingToCompile: none, or not all that are asked for.
    """
    there = sorted(path.stem for path in out.glob("*.py") if not path.stem.startswith("_"))
    wanted = list(ops)
    missing = [op for op in wanted if op not in there]
    if missing or not there:
        known = f"; it has {', '.join(there)}" if there else ": build the specs first"
        raise NothingToCompile(f"{out} has no module of {', '.join(missing) or 'any op'}{known}")
    return wanted or there


def request(op: str, target: Target, stored: records.Records, **more: Any) -> dict[str, Any]:
    """Return what a worker is asked for one op; known keys are those of every version of Triton."""
    known: dict[str, list[str]] = {}
    for version in stored.values():
        for name, record in version.get(op, {}).items():
            if "failed" not in record:  # it may have been the machine
                known.setdefault(name, []).append(record["key"])
    return {
        "op": op,
        "architecture": target.architecture,
        "dtypes": sorted(target.dtypes),
        "known": known,
    } | more


def _module(out: Path, name: str) -> Path:
    return out / f"{name}.py"


def _forget(out: Path, stored: records.Records) -> None:
    """Drop the records of modules that are gone, and of kernels that are gone or changed.

    Others stay, of configs that are in no table too: they may be why.
    """
    runtime = _module(out, "_runtime").read_text(encoding="utf-8")
    there = modules_in(out, ())
    for version in stored.values():
        for op in list(version):
            if op not in there:
                del version[op]
                continue
            text = _module(out, op).read_text(encoding="utf-8")
            hashes = records.kernel_hashes(text, runtime)
            version[op] = {
                name: record
                for name, record in version[op].items()
                if records.holds(record, hashes.get(name.split()[0]))
            }


def _settle(old: Found, found: Mapping[str, Any], summary: Summary, architecture: str) -> Found:
    """Return the records of one op: new ones, and old ones."""
    new: Found = dict(old)
    for name, record in found.items():
        if record is None:
            summary.kept += 1
        else:
            summary.compiled += 1
        new[name] = old[name] if record is None else record
        place = f"{architecture} {name}"
        summary.rejected += "rejected" in new[name]
        if "failed" in new[name]:
            summary.failed.append(f"{place}: {new[name]['failed']}")
        if new[name].get("spill"):
            summary.spilling[place] = new[name]["spill"]
    return new


# ---- processes ----------------------------------------------------------------------------------


Answer = tuple[Mapping[str, Any], dict[str, Any], Mapping[str, Any]]
"""A request, the records of its entries, and the last line: version or error."""


def _answers(
    out: Path, requests: Sequence[Mapping[str, Any]], jobs: int | None, python: str
) -> Iterable[Answer]:
    """Yield the answers to requests, in the order in which workers finish them.

    They share a cache that goes with them: thousands of binaries that nobody will run.
    """
    with tempfile.TemporaryDirectory() as cache:
        yield from _served(out, requests, jobs, python, cache)


def _served(
    out: Path,
    requests: Sequence[Mapping[str, Any]],
    jobs: int | None,
    python: str,
    cache: str,
) -> Iterator[Answer]:
    count = max(1, min(jobs or os.cpu_count() or 1, len(requests)))
    waiting: queue.SimpleQueue[Mapping[str, Any] | None] = queue.SimpleQueue()
    answered: queue.SimpleQueue[Answer] = queue.SimpleQueue()
    for asked in (*requests, *([None] * count)):
        waiting.put(asked)
    threads = [
        threading.Thread(target=_serve, args=(out, waiting, answered, python, cache), daemon=True)
        for _ in range(count)
    ]
    for thread in threads:
        thread.start()
    for _ in requests:
        yield answered.get()
    for thread in threads:
        thread.join()


def _serve(
    out: Path,
    waiting: "queue.SimpleQueue[Mapping[str, Any] | None]",
    answered: "queue.SimpleQueue[Answer]",
    python: str,
    cache: str,
) -> None:
    """Send requests to one worker after the other; a worker that dies is replaced."""
    worker = None
    while (asked := waiting.get()) is not None:
        if worker is None or worker.poll() is not None:
            worker = start_worker(out, python, cache)
        found, end = ask(worker, asked)
        answered.put((asked, found, end))
    if worker is not None:
        worker.communicate()  # ends its input


def start_worker(
    out: Path, python: str = sys.executable, cache: str = ""
) -> "subprocess.Popen[str]":
    """Start a process that compiles the modules in ``out``."""
    environment = {name: v for name, v in os.environ.items() if name != "TRITON_INTERPRET"}
    if cache:
        environment["TRITON_CACHE_DIR"] = cache
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, (str(ROOT), environment.get("PYTHONPATH")))
    )
    return subprocess.Popen(
        [python, "-m", "tilegen.toolchain.worker", str(out.resolve())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )


def ask(
    worker: "subprocess.Popen[str]", asked: Mapping[str, Any]
) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Send one request and return the records by entry, and the last line of the answer."""
    found: dict[str, Any] = {}
    if worker.stdin is None or worker.stdout is None:
        raise ValueError("a worker needs pipes")
    try:
        worker.stdin.write(json.dumps(asked) + "\n")
        worker.stdin.flush()
    except BrokenPipeError:
        return found, {"error": "the worker did not start"}
    for line in worker.stdout:
        answer = json.loads(line)
        if "done" in answer:
            return found, answer
        found[answer["name"]] = answer["record"]
    last = next(reversed(found), "the first entry")
    worker.wait()
    return found, {
        "error": f"the compiler's process died (status {worker.returncode}) after {last}"
    }
