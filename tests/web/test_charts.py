"""Charts: points within the picture, scales that hold every value, rates of the last minutes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.web.charts import HEIGHT, WIDTH, line_chart, rates_of, samples_of, scale_top

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def sample(minutes: float, **counts: int) -> dict[str, object]:
    time = (NOW - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"time": time, "waiting": 0, "running": 0, "complete": 0, "failed": 0, **counts}


def test_a_chart_ends_now_and_says_what_it_shows() -> None:
    history = [sample(10, running=4), sample(5, running=8)]
    made = line_chart("Running", samples_of(history, "running"), NOW)
    assert made.line == "0.0,60.0 300.0,0.0 600.0,0.0"
    assert made.area == "0.0,120 0.0,60.0 300.0,0.0 600.0,0.0 600,120"
    assert (made.top, made.span, made.sentence) == (8, "10m", "Running: 8 now, at most 8 in the last 10m")


def test_a_chart_of_nothing_is_empty() -> None:
    made = line_chart("Waiting", [], NOW)
    assert (made.line, made.area, made.sentence) == ("", "", "Waiting: 0 now, at most 0 in the last 5m")


@given(st.lists(st.tuples(st.integers(0, 3600), st.integers(0, 10**6)), max_size=20))
def test_all_points_are_within_the_picture(values: list[tuple[int, int]]) -> None:
    samples = [(NOW - timedelta(seconds=ago), value) for ago, value in sorted(values, reverse=True)]
    made = line_chart("Running", samples, NOW)
    points = [tuple(map(float, each.split(","))) for each in made.line.split()]
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points)


@pytest.mark.parametrize(("most", "top"), [(0, 1), (1, 1), (7, 8), (9, 10), (12, 20), (601, 800), (50_000, 50_000)])
def test_scales_end_at_round_numbers(most: int, top: int) -> None:
    assert scale_top(most) == top


def test_rates_count_what_ended_in_the_last_minutes() -> None:
    history = [sample(20, complete=100), sample(14, complete=27, failed=1), sample(1, complete=2)]
    found = rates_of(history, NOW)
    assert (found.complete, found.failed, found.per_minute) == (29, 1, 2.0)
