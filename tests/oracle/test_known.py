"""The list of known differences: what it is checked for, and that the page made from it is up to date."""

from __future__ import annotations

from collections import Counter

from tools import differences as table

from . import known
from .known import Differing, KnownDifference, KnownRequest
from .scenarios import load

MOST = 0.003
"""The largest share of all requests that may be on the list."""
ENTRY = KnownDifference("a", "b", requests=[KnownRequest("s", "GET /x", [".a*", "code"])])
PLAYED = {"s"}


def found(*paths: str, scenario: str = "s", request: str = "GET /x") -> Differing:
    return Differing(scenario, request, list(paths))


def test_a_known_difference_is_no_problem() -> None:
    assert known.problems([ENTRY], [found(".a.b", "code")], PLAYED) == []


def test_a_difference_that_is_not_on_the_list_is_told() -> None:
    expected = ["not on the list: s: GET /y differs in .a"]
    assert known.problems([], [found(".a", request="GET /y")], PLAYED) == expected


def test_another_field_of_a_known_request_is_told() -> None:
    assert known.problems([ENTRY], [found(".a", "code", ".b")], PLAYED) == [
        "not on the list: s: GET /x differs in .a, code, .b",
        "no longer differs: remove s: GET /x of the entry 'a' from known_differences.yaml",
    ]


def test_an_entry_that_no_longer_differs_is_to_be_removed() -> None:
    expected = ["no longer differs: remove s: GET /x of the entry 'a' from known_differences.yaml"]
    assert known.problems([ENTRY], [], PLAYED) == expected
    assert known.problems([ENTRY], [], {"another"}) == []


def test_a_field_that_no_longer_differs_is_told() -> None:
    expected = ["no longer differs in code: correct s: GET /x of the entry 'a' in known_differences.yaml"]
    assert known.problems([ENTRY], [found(".a")], PLAYED) == expected


def test_the_number_of_requests_is_checked() -> None:
    expected = ["differs 2 times, not 1: correct s: GET /x of the entry 'a' in known_differences.yaml"]
    assert known.problems([ENTRY], [found(".a", "code")] * 2, PLAYED) == expected


def test_the_list_names_requests_that_there_are() -> None:
    there = Counter((s.name, known.request_text(step.method, step.path)) for s in load() for step in s.steps)
    listed = [request for entry in known.load() for request in entry.requests]
    assert [each for each in listed if there[each.scenario, each.request] < each.times] == []


def test_nearly_all_requests_are_not_on_the_list() -> None:
    assert known.share_known(known.load(), {s.name: len(s.steps) for s in load()}) <= MOST


def test_the_page_is_up_to_date() -> None:
    text = table.PAGE.read_text()
    assert text == table.page(text), "run `make reference`"
