"""Lists of indexes as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.kinds.job import IndexesError, format_indexes, parse_indexes
from jobrelay.kinds.job.indexes import count_indexes, first_overlap


def test_intervals_are_read_in_order() -> None:
    assert parse_indexes("0,2-4,+9", 10) == [(0, 0), (2, 4), (9, 9)]
    assert parse_indexes("", 10) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a", 'cannot convert string to integer for index: "a"'),
        ("1,", 'cannot convert string to integer for index: ""'),
        ("1-2-3", "the fragment \"1-2-3\" violates the requirement that an index interval can have at most two parts "
                  "separated by '-'"),
        ("5", 'too large index: "5"'),
        ("1-9", 'too large index: "9"'),
        ("3-1", "non-increasing order, previous: 3, current: 1"),
        ("2-2", "non-increasing order, previous: 2, current: 2"),
        ("0,2,1", "non-increasing order, previous: 2, current: 1"),
        ("99999999999999999999", 'cannot convert string to integer for index: "99999999999999999999"'),
    ],
)  # fmt: skip
def test_bad_lists_are_told_in_the_servers_words(text: str, problem: str) -> None:
    with pytest.raises(IndexesError) as caught:
        parse_indexes(text, 5)
    assert str(caught.value) == problem


def test_runs_of_two_stay_apart() -> None:
    assert format_indexes([0, 1, 3, 4, 5, 9]) == "0,1,3-5,9"


@given(st.sets(st.integers(0, 60)))
def test_formatting_and_parsing_are_inverse(indexes: set[int]) -> None:
    intervals = parse_indexes(format_indexes(sorted(indexes)), 61)
    assert [i for first, last in intervals for i in range(first, last + 1)] == sorted(indexes)
    assert count_indexes(intervals) == len(indexes)


@given(st.sets(st.integers(0, 20)), st.sets(st.integers(0, 20)))
def test_first_overlap_is_the_smallest_common_index(left: set[int], right: set[int]) -> None:
    found = first_overlap(format_indexes(sorted(left)), format_indexes(sorted(right)), 21)
    assert found == min(left & right, default=None)


def test_unreadable_intervals_do_not_hide_an_overlap() -> None:
    assert first_overlap("x,3", "99,3", 5) == 3
