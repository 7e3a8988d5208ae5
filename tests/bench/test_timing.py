"""The order, the medians and the repeats of timings, with a clock that only says what it is told."""

import pytest

from tilegen.toolchain.timing import GraphClock, Timing, interleave, repeats_for


class ToldClock:
    """Returns the next times of a call's list and writes down who was called."""

    def __init__(self, times):
        self.told = {name: iter(rounds) for name, rounds in times.items()}
        self.asked = []

    def times(self, call, repeats):
        name = call()
        self.asked.append((name, repeats))
        return next(self.told[name])


def test_rounds_take_turns_and_begin_with_another_contestant_each():
    names = ("a", "b", "c")
    clock = ToldClock({name: [[1.0]] * 4 for name in names})
    interleave(clock, {name: lambda name=name: name for name in names}, 4, dict.fromkeys(names, 7))
    order = "".join(name for name, _ in clock.asked)
    assert order == "abcbcacababc"
    assert {repeats for _, repeats in clock.asked} == {7}


def test_a_time_is_the_median_of_the_medians_of_rounds():
    # One slow round, as another process makes it, and one slow call in each round.
    clock = ToldClock({"a": [[1.0, 9.0, 1.0], [50.0, 60.0, 70.0], [2.0, 2.0, 90.0]]})
    (timing,) = interleave(clock, {"a": lambda: "a"}, 3, {"a": 3}).values()
    assert timing.rounds == (1.0, 60.0, 2.0)
    assert timing.ms == 2.0
    assert timing.spread == pytest.approx(59.0 / 2.0)


def test_the_result_keeps_the_order_of_the_contestants():
    clock = ToldClock({"b": [[1.0]] * 2, "a": [[1.0]] * 2})
    timings = interleave(clock, {"b": lambda: "b", "a": lambda: "a"}, 2, {"a": 1, "b": 1})
    assert list(timings) == ["b", "a"]


def test_a_graph_holds_several_calls():
    clock = GraphClock(ToldClock({"graph": [[2.0, 4.0]]}), calls=20)
    assert clock.times(lambda: "graph", 2) == [0.1, 0.2]


@pytest.mark.parametrize(
    ("milliseconds", "repeats"), [(0.1, 100), (1.0, 20), (100.0, 5), (0.0, 100)]
)
def test_repeats_fill_the_budget(milliseconds, repeats):
    assert repeats_for(milliseconds, 20.0) == repeats


def test_no_round_has_no_spread():
    assert Timing((0.0, 0.0)).spread == 0.0
