from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.apimachinery.selectors import (
    SelectorError,
    parse_field_selector,
    parse_label_selector,
    selector_from_labels,
    selector_from_object,
)


@pytest.mark.parametrize(
    ("text", "matching", "other"),
    [
        ("a", {"a": ""}, {}),
        ("!a", {}, {"a": ""}),
        ("a=b", {"a": "b"}, {"a": "c"}),
        ("a==b,c!=d", {"a": "b"}, {"a": "b", "c": "d"}),
        ("a in (b, c)", {"a": "c"}, {"a": "d"}),
        ("a notin (b)", {}, {"a": "b"}),
        ("a>5", {"a": "6"}, {"a": "x"}),
        ("a<5", {"a": "-4"}, {"a": "5"}),
        ("a=", {"a": ""}, {"a": "b"}),
        ("in in (in)", {"in": "in"}, {}),
    ],
)
def test_label_selectors(text: str, matching: dict[str, str], other: dict[str, str]) -> None:
    selector = parse_label_selector(text)
    assert selector.matches(matching)
    assert not selector.matches(other)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("=", "found '=', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        (
            "a<x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value "
            "must be an integer",
        ),
    ],
)
def test_bad_label_selectors(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_label_selector(text)
    assert str(caught.value) == message


def test_a_bad_key_has_no_field() -> None:
    with pytest.raises(
        SelectorError, match=r'^unable to parse requirement: <nil>: Invalid value: "-a": name part must'
    ):
        parse_label_selector("-a=b")


def test_selectors_print_sorted() -> None:
    assert str(parse_label_selector("b in (y,x),!c,a==1")) == "a==1,b in (x,y),!c"


@given(st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), st.from_regex(r"[a-z]{0,5}", fullmatch=True)))
def test_a_map_selects_itself(labels: dict[str, str]) -> None:
    selector = selector_from_labels(labels)
    assert selector.matches(labels)
    assert parse_label_selector(str(selector)).matches(labels)


def test_no_selector_matches_nothing_and_an_empty_one_everything() -> None:
    assert not selector_from_object(None).matches({"a": "b"})
    assert selector_from_object({}).matches(None)
    assert selector_from_object({}).empty


def test_selector_objects() -> None:
    selector = selector_from_object(
        {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "NotIn", "values": ["d"]}]}
    )
    assert str(selector) == "a=b,c notin (d)"
    with pytest.raises(SelectorError, match='"Like" is not a valid label selector operator'):
        selector_from_object({"matchExpressions": [{"key": "c", "operator": "Like"}]})


def test_selectors_of_the_same_requirements_are_equal() -> None:
    one, other = (selector_from_object({"matchLabels": {"a": "b"}}) for _ in range(2))
    assert (one, hash(one)) == (other, hash(other))
    assert one != selector_from_object({"matchLabels": {"a": "c"}})
    assert selector_from_object({}) != selector_from_object(None)


def test_field_selectors() -> None:
    assert parse_field_selector("b!=2,a==1,") == [("a", "=", "1"), ("b", "!=", "2")]
    assert parse_field_selector(r"a=x\,y\=\\") == [("a", "=", "x,y=\\")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", "invalid selector: 'a'; can't understand 'a'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        ("a=\\x", "invalid field selector: invalid escape sequence: \\x"),
        ("a=\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_bad_field_selectors(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_field_selector(text)
    assert str(caught.value) == message
