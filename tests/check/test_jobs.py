"""Several processes find what one finds."""

from pathlib import Path

from tilegen.spec.load import load_folder
from tilegen.toolchain import check
from tilegen.toolchain.subject import subject

ROOT = Path(__file__).parents[2]
LOADED = {item.spec.name: item for item in load_folder(ROOT / "specs")[0]}
NAMES = ("vector_add", "relu_squared")


def test_the_report_of_two_processes_is_that_of_one() -> None:
    told: list[str] = []
    apart = check.run_apart(ROOT / "specs", ROOT / "generated", NAMES, 2, progress=told.append)
    one = check.run_check([subject(LOADED[name], ROOT / "generated") for name in NAMES])
    assert apart.records == one.records
    assert tuple(apart.seconds) == NAMES
    assert sorted(told) == sorted(NAMES)


def test_the_command_takes_the_number_of_processes(tmp_path: Path) -> None:
    for name in ("vector_add", "relu_squared"):
        (tmp_path / f"{name}.py").write_text((ROOT / "specs" / f"{name}.py").read_text())
    lines: list[str] = []
    status = check.main_check(tmp_path, ROOT / "generated", jobs=2, say=lines.append)
    assert status == 0
    assert [line.split(":")[0] for line in lines] == ["relu_squared", "vector_add"]
