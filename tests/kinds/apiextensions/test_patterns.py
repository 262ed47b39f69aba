"""Patterns and formats of schemas: Go's regular expressions, and the formats that are enforced."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.apimachinery.formats import format_check
from jobrelay.apimachinery.regex import RegexError, compile_go
from jobrelay.kinds.apiextensions.fieldpaths import FieldPathError, resolve
from jobrelay.kinds.apiextensions.structural import Node


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("^a$", "a\n", False), ("a", "xax", True), ("^(?i)abc$", "ABC", True), ("^(a|b(?i)c|d)$", "D", True), ("^[[:alpha:]_]+$", "ab_", True),
        (r"^\p{L}+$", "é", True), (r"^\pL+$", "1", False), (r"\z", "", True), (r"^\Qa.b\E$", "a.b", True), (r"^\x{41}$", "A", True),
        (r"^[^[\]]+$", "ab", True), ("^a{2,3}$", "aaaa", False), ("^{$", "{", True), (r"^\d+$", "٣", False), ("(?P<x>a)(?<y>b)", "ab", True),
        ("(?s)^a.b$", "a\nb", True), ("a|b|", "", True), (r"[\d-]+", "1-2", True), ("^[a&&b]+$", "a&b", True),
    ],
)  # fmt: skip
def test_patterns_mean_what_go_means(pattern: str, text: str, matches: bool) -> None:
    assert (compile_go(pattern).search(text) is not None) is matches


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(", "missing closing ): `(`"), ("a)", "unexpected ): `a)`"), ("[a", "missing closing ]: `[a`"), ("*", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"), ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"), (r"\1", r"invalid escape sequence: `\1`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"), ("a{1001}", "invalid repeat count: `{1001}`"), (r"\p{Foo}", r"invalid character class range: `\p{Foo}`"),
    ],
)  # fmt: skip
def test_what_go_refuses_is_refused_in_its_words(pattern: str, message: str) -> None:
    with pytest.raises(RegexError) as error:
        compile_go(pattern)
    assert str(error.value) == f"error parsing regexp: {message}"


@given(st.text(alphabet="ab()[]{}*+?|\\^$.-:,1dw", max_size=12))
def test_any_pattern_compiles_or_is_refused(pattern: str) -> None:
    try:
        found = compile_go(pattern).search("ab")
    except RegexError as error:
        assert str(error).startswith("error parsing regexp: ")  # noqa: PT017
    else:
        assert found is None or found.group() in ("", "a", "b", "ab")


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date-time", "2026-01-02T03:04:05.5+01:00", "2026-01-02 03:04:05Z"), ("date", "2026-02-28", "2026-02-30"), ("duration", "3 days", "soon"),
        ("ipv4", "1.2.3.4", "1.2.3"), ("ipv6", "::1", "1.2.3.4"), ("cidr", "10.0.0.0/8", "10.0.0.0/33"), ("uri", "https://a/b", "a b"),
        ("email", "a@b", "a"), ("hostname", "a.example", "a..b"), ("uuid4", "123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"),
        ("mac", "00:00:5e:00:53:01", "00:00"), ("byte", "YQ==", "a"), ("isbn10", "0321751043", "0321751044"), ("isbn13", "978-0321751041", "978-0321751042"),
        ("creditcard", "4111 1111 1111 1111", "4111 1111 1111 1112"), ("ssn", "111-22-3333", "111223333"), ("hexcolor", "#ff0000", "red"),
        ("rgbcolor", "rgb(1,2,3)", "rgb(256,1,1)"), ("bsonobjectid", "507f1f77bcf86cd799439011", "x"), ("k8s-short-name", "a-b", "a.b"), ("k8s-long-name", "a.b", "A"),
    ],
)  # fmt: skip
def test_formats(name: str, good: str, bad: str) -> None:
    check = format_check(name)
    assert check is not None
    assert (check(good), check(bad)) == (True, False)


def test_other_formats_are_ignored() -> None:
    assert [format_check(name) for name in ("int32", "int64", "float", "foo")] == [None] * 4


def test_field_paths_lead_to_places() -> None:
    node = Node({"properties": {"m": {"additionalProperties": {"properties": {"x": {"type": "string"}}}}}})
    path, found, first = resolve(".m['a/b'].x", node)
    assert (str(path), found.type, first) == ("m[a/b].x", "string", "m")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("m", "expected [ or . but got: m"), (".x", "does not refer to a valid field"), (".", "unexpected end of JSON path"),
        (".m[a]", "expected single quoted string but got a"), (".m['a'", "unexpected end of JSON path"),
    ],
)  # fmt: skip
def test_bad_field_paths_are_explained(path: str, message: str) -> None:
    with pytest.raises(FieldPathError) as error:
        resolve(path, Node({"properties": {"m": {"additionalProperties": {"type": "string"}}}}))
    assert str(error.value) == message
