"""`tilegen check`, `tilegen tour` and `tilegen bench`, as the command line passes them on."""

import json
from collections.abc import Callable
from typing import Any

Run = Callable[..., Any]


def damage(project: Any) -> None:
    """A kernel that computes something else."""
    text = project.read("generated/scale.py")
    assert text.count("narrow(x * weight,") > 0
    project.write("generated/scale.py", text.replace("narrow(x * weight,", "narrow(x + weight,"))


def test_check_passes_what_is_right(built: Any, tilegen: Run) -> None:
    ran = tilegen("check", "--op", "scale", "--json", "report.json")
    assert (ran.status, ran.err) == (0, "")
    assert "scale" in ran.out
    assert "total" not in ran.out
    assert json.loads(built.read("report.json"))["ok"]


def test_check_fails_what_is_wrong(built: Any, tilegen: Run) -> None:
    damage(built)
    assert tilegen("check", "--op", "scale").status == 1


def test_check_names_an_op_that_is_not_there(built: Any, tilegen: Run) -> None:
    ran = tilegen("check", "--op", "scales")
    assert (ran.status, ran.err) == (1, "error: specs has no spec named scales\n")


def test_the_tour_shows_every_op(built: Any, tilegen: Run) -> None:
    ran = tilegen("tour")
    assert (ran.status, ran.err) == (0, "")
    head, scale, total, last = ran.out.splitlines()
    assert head.split() == ["op", "tensors", "against", "max", "error"]
    assert scale.split()[0] == "scale"
    assert float(scale.split()[-1]) < 1e-6
    assert total.split()[0] == "total"
    assert last == "2 ops on Triton's interpreter on the CPU, none wrong"


def test_the_tour_says_what_is_wrong(built: Any, tilegen: Run) -> None:
    damage(built)
    ran = tilegen("tour")
    assert ran.status == 1
    assert "output 0: relative error" in ran.out
    assert "1 wrong" in ran.out


def test_the_tour_needs_a_build(project: Any, tilegen: Run) -> None:
    ran = tilegen("tour")
    assert (ran.status, ran.err) == (
        1, "error: generated has no module scale.py: build the spec first\n",
    )  # fmt: skip


def test_bench_takes_its_own_options(tilegen: Run) -> None:
    assert "--suite" in tilegen("bench", "--help").out


def test_compile_needs_a_build(project: Any, tilegen: Run) -> None:
    ran = tilegen("compile", "--out", "nowhere")
    assert ran.status == 1
    assert ran.err == "error: nowhere has no module of any op: build the specs first\n"
