"""Two checkouts are compared by the medians of their figures."""

from __future__ import annotations

from typing import Any

import pytest

from bench.compare import Comparison, compare, table


def figure(value: float, *, at_least: bool = False) -> dict[str, Any]:
    return {"what": "creates", "value": value, "unit": "/s", "at_least": at_least}


def test_medians_are_compared() -> None:
    before, after = [[figure(10)], [figure(90)], [figure(11)]], [[figure(12)], [figure(1)], [figure(13)]]
    assert compare(before, after) == [Comparison("creates", "/s", 11, 12, at_least=False)]


def test_a_figure_that_the_other_checkout_does_not_have_is_left_out() -> None:
    assert compare([[figure(10)]], [[figure(10), figure(5)]]) == [Comparison("creates", "/s", 10, 10, at_least=False)]


@pytest.mark.parametrize(
    ("before", "after", "at_least", "worse"),
    [(100, 110, False, 0.1), (110, 100, True, 0.1), (100, 80, False, -0.2), (0, 5, False, 0.0)],
)
def test_worse_follows_the_direction_of_the_target(before: float, after: float, at_least: bool, worse: float) -> None:
    assert Comparison("x", "", before, after, at_least).worse == pytest.approx(worse)


def test_only_what_exceeds_the_tolerance_is_marked() -> None:
    lines = table(
        [Comparison("a", "ms", 100, 104, at_least=False), Comparison("b", "ms", 100, 106, at_least=False)], 0.05
    )
    assert [line.endswith("WORSE") for line in lines.splitlines()] == [False, False, True]
