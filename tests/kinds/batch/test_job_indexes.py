"""Lists of indexes as text, and sets of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.kinds.batch.job.indexes import Indexes, IndexesError, count_indexes, first_overlap, parse_indexes

INDEX_SETS = st.sets(st.integers(0, 30))


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
    assert str(Indexes.of([0, 1, 3, 4, 5, 9])) == "0,1,3-5,9"


@given(st.sets(st.integers(0, 60)))
def test_formatting_and_parsing_are_inverse(indexes: set[int]) -> None:
    intervals = parse_indexes(str(Indexes.of(indexes)), 61)
    assert [i for first, last in intervals for i in range(first, last + 1)] == sorted(indexes)
    assert count_indexes(intervals) == len(indexes)


@given(st.sets(st.integers(0, 20)), st.sets(st.integers(0, 20)))
def test_first_overlap_is_the_smallest_common_index(left: set[int], right: set[int]) -> None:
    found = first_overlap(str(Indexes.of(left)), str(Indexes.of(right)), 21)
    assert found == min(left & right, default=None)


def test_unreadable_intervals_do_not_hide_an_overlap() -> None:
    assert first_overlap("x,3", "99,3", 5) == 3


@given(INDEX_SETS, INDEX_SETS)
def test_index_sets_are_sets(left: set[int], right: set[int]) -> None:
    one, other = Indexes.of(left), Indexes.of(right)
    assert one | other == Indexes.of(left | right)
    assert one - other == Indexes.of(left - right)
    assert one.common(other) == len(left & right)
    assert list(one.missing(40)) == [index for index in range(40) if index not in left]
    assert [index for index in range(40) if index in one] == sorted(left)


@given(INDEX_SETS, st.integers(0, 31))
def test_what_lies_beyond_the_completions_is_forgotten(indexes: set[int], completions: int) -> None:
    kept = {index for index in indexes if index < completions}
    assert Indexes.parse(str(Indexes.of(indexes)), completions) == Indexes.of(kept)


@pytest.mark.parametrize(
    ("left", "right", "both", "rest"),
    [
        ("", "", "", ""), ("0", "", "0", "0"), ("0-4", "2", "0-4", "0,1,3,4"), ("0,1", "2", "0-2", "0,1"),
        ("5,6", "0-2", "0-2,5,6", "5,6"), ("0-2,6-8", "2-6", "0-8", "0,1,7,8"),
    ],
)  # fmt: skip
def test_sets_as_texts(left: str, right: str, both: str, rest: str) -> None:
    first, second = Indexes.parse(left, 10), Indexes.parse(right, 10)
    assert (str(first | second), str(first - second)) == (both, rest)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("0-99", "0-4"), ("4,5", "4"), ("7", ""), ("a", ""), ("3-1", ""), ("-1", ""), ("0,x,2-y,4", "0,4"), ("3,0-2,4", "3,4"),
    ],
)  # fmt: skip
def test_what_is_too_large_malformed_or_out_of_order_is_left_out(text: str, kept: str) -> None:
    assert str(Indexes.parse(text, 5)) == kept
