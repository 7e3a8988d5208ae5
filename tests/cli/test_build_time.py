"""How long a build of the whole catalogue takes: processor time, which a busy machine distorts less."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def seconds(*arguments: str) -> float:
    """Processor seconds of a run of the command line and all that it started."""
    script = (
        "import resource, subprocess, sys\n"
        "subprocess.run([sys.executable, '-m', 'tilegen', *sys.argv[1:]], check=True)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(used.ru_utime + used.ru_stime)"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    return float(run.stdout.splitlines()[-1])


def test_the_catalogue_builds_in_seconds_and_again_in_less_than_one(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    # Of all processes together: on two cores it is less than 5 by the clock.
    assert seconds("build", "specs", "--out", out) < 8.0
    assert seconds("build", "specs", "--out", out) < 1.0
