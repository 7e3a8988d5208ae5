"""`tilegen explain`, as the command line passes it on."""

import json
from collections.abc import Callable
from typing import Any

Run = Callable[..., Any]


def test_explain_takes_sizes_and_a_target(project: Any, tilegen: Run) -> None:
    ran = tilegen(
        "explain", "total", "--size", "N=4096", "--size", "M=8", "--target", "l4", "--json"
    )
    assert (ran.status, ran.err) == (0, "")
    found = json.loads(ran.out)
    assert (found["op"], found["target"]) == ("total", "l4")
    assert found["sizes"] == {"M": 8, "N": 4096}
    # Each row is read once in bf16 and gives one fp32 sum.
    assert found["traffic"] == 8 * 4096 * 2 + 8 * 4


def test_explain_shows_rejected_configs_on_request(project: Any, tilegen: Run) -> None:
    short, full = tilegen("explain", "total"), tilegen("explain", "total", "--all")
    assert (short.status, full.status) == (0, 0)
    assert len(full.out) > len(short.out)


def test_explain_refuses(project: Any, tilegen: Run) -> None:
    for arguments, message in (
        (("totals",), "error: specs has no op 'totals'; it has scale, total"),
        (("total", "--size", "N"), "error: --size N: write it as N=4096"),
        (("total", "--size", "K=3"), "error: total: no size K = 3; its dimensions are M, N"),
        (("total", "--target", "h20"), 'error: unknown GPU "h20". Did you mean "h200"?'),
        (("total", "--variant", "3"), "error: total has the variants 0 to 0"),
    ):
        ran = tilegen("explain", *arguments)
        assert ran.status == 1
        assert ran.err.startswith(message)


def test_a_mistake_in_the_spec_is_shown_with_its_place(project: Any, tilegen: Run) -> None:
    project.write("specs/total.py", project.read("specs/total.py").replace("sum(x)", "sum(x, x)"))
    ran = tilegen("explain", "total")
    assert ran.status == 1
    assert ran.err.startswith("specs/total.py:7:12\n")
