"""`tilegen new` and `tilegen list`."""

from collections.abc import Callable
from typing import Any

import pytest

from tilegen.starter import families

Run = Callable[..., Any]


def test_every_family_has_a_starter_spec() -> None:
    from tilegen.families import FAMILIES

    assert set(families()) == set(FAMILIES) - {"sums"}  # no decorator, a form that graphs take


@pytest.mark.parametrize("family", families())
def test_a_starter_spec_builds_as_it_is(project: Any, tilegen: Run, family: str) -> None:
    ran = tilegen("new", family, "my_op", "--out", "mine")
    assert ran.status == 0, ran.err
    assert ran.out == "mine/my_op.py written; build it with `tilegen build mine/my_op.py`\n"
    text = project.read("mine/my_op.py")
    assert f"@{family}" in text
    assert "starter" not in text
    built = tilegen("build", "mine/my_op.py")
    assert (built.status, built.err) == (0, "")
    assert "def my_op(" in project.read("generated/my_op.py")


@pytest.mark.parametrize(
    ("family", "name", "message"),
    [
        ("stencil", "op", "error: unknown family 'stencil': there are elementwise, rowwise\n"),
        ("rowwise", "my-op", "error: 'my-op' is no name for an op: use a Python identifier\n"),
        ("rowwise", "lambda", "error: 'lambda' is no name for an op: use a Python identifier\n"),
        ("rowwise", "../op", "error: '../op' is no name for an op: use a Python identifier\n"),
        ("rowwise", "_op", "error: '_op' is no name for an op: use a Python identifier\n"),
        (
            "rowwise",
            "sum",
            "error: an op cannot be called 'sum': modules need the name themselves\n",
        ),
        ("rowwise", "scale", "error: specs/scale.py exists: choose another name\n"),
    ],
)
def test_new_refuses(project: Any, tilegen: Run, family: str, name: str, message: str) -> None:
    before = project.contents("specs")
    ran = tilegen("new", family, name)
    assert (ran.status, ran.err) == (1, message)
    assert project.contents("specs") == before


def test_list_shows_each_op_on_a_line(project: Any, tilegen: Run) -> None:
    ran = tilegen("list")
    assert ran.status == 0
    scale, total = ran.out.splitlines()[1:]
    assert scale.split() == ["scale", "elementwise", "x,", "weight", "Scale", "each", "column."]
    assert total.split() == ["total", "rowwise", "x", "Add", "each", "row", "up."]


def test_list_shows_what_loads_and_says_what_does_not(project: Any, tilegen: Run) -> None:
    project.write("specs/broken.py", "import nothing_of_that_name\n")
    ran = tilegen("list", "specs")
    assert ran.status == 1
    assert "total" in ran.out
    assert "specs/broken.py:1:1" in ran.err
