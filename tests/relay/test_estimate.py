"""When waiting workloads will start, by the durations of earlier runs."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from jobrelay.relay.durations import DurationRange, RunDurations
from jobrelay.relay.estimate import LineWork, StartRange, estimate_starts


def work(cpu: int, low: float | None = None, high: float | None = None) -> LineWork:
    takes = DurationRange(low, high if high is not None else low) if low is not None else None
    return LineWork({"cpu": Fraction(cpu)}, takes)


def free(cpu: int) -> dict[str, Fraction]:
    return {"cpu": Fraction(cpu)}


def test_it_starts_when_enough_of_what_runs_has_ended() -> None:
    assert estimate_starts(free(0), [work(2, 10, 20), work(2, 30, 60)], [work(4, 5)]) == [StartRange(30, 60)]


def test_those_ahead_take_their_room_first() -> None:
    line = [work(2, 10, 20), work(2, 10, 20), work(4, 1)]
    assert estimate_starts(free(0), [work(2, 5)], line) == [StartRange(5, 5), StartRange(15, 25), None]


def test_what_runs_for_an_unknown_time_allows_no_estimate() -> None:
    assert estimate_starts(free(0), [work(2), work(1, 9)], [work(1, 5), work(2, 5)]) == [StartRange(9, 9), None]


SECONDS = st.integers(0, 50)
WORK = st.builds(lambda cpu, low, more: work(cpu, low, low + more), st.integers(1, 4), SECONDS, SECONDS)


@given(st.lists(WORK, max_size=6), st.lists(WORK, max_size=6))
def test_ranges_are_ranges_and_nobody_starts_before_those_ahead(running: list[LineWork], line: list[LineWork]) -> None:
    starts = [each for each in estimate_starts(free(1), running, line) if each is not None]
    assert all(each.earliest <= each.latest for each in starts)
    assert starts == sorted(starts)


def test_a_range_needs_a_few_runs_and_follows_the_last_ones() -> None:
    durations = RunDurations()
    for seconds in (10, 20):
        durations.add("shape", seconds)
    assert durations.of("shape") is None
    durations.add("shape", 30)
    assert durations.of("shape") == DurationRange(10, 30)
    for _ in range(32):
        durations.add("shape", 60)
    assert durations.of("shape") == DurationRange(60, 60)


def test_a_run_that_takes_long_already_may_take_as_long_again() -> None:
    assert DurationRange(10, 30).left(20) == DurationRange(0, 10)
    assert DurationRange(10, 30).left(100) == DurationRange(0, 100)
