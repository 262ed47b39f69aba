"""YAML as Kubernetes reads it: values, refusals, and documents that want to break the reader."""

from __future__ import annotations

import json
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from jobrelay.apimachinery import yaml

TOO_DEEP = "yaml: exceeded max depth of 10000"
TEXTS = st.text(st.characters(max_codepoint=0xA0), max_size=8)
SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6)


@settings(max_examples=60)
@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_json_is_read_as_the_yaml_that_it_is(value: dict[str, Any]) -> None:
    text = json.dumps(value, ensure_ascii=False)
    try:
        slowly = yaml.load("# not JSON\n" + text)
    except yaml.YamlError:
        return
    assert yaml.load(text) == slowly


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2001-01-01", "2001-01-01"),
        ("12:30:45", "12:30:45"),
        ("0o17", 15),
        ("017", 15),
        ("0x10", 16),
        ("1_000", 1000),
        ("y", True),
        ("Off", False),
        ("1e3", 1000),
        ("1e400", "1e400"),
        ("1" + "0" * 400, "1" + "0" * 400),
        ("0xfffffffffffffffffffff", "0xfffffffffffffffffffff"),
        ("!!str 5", "5"),
        ("!!int '5'", 5),
        ("!!timestamp 2001-01-01", "2001-01-01"),
        ("!!map x", "x"),
        ("!!map [x]", ["x"]),
        ("!!seq {x: z}", {"x": "z"}),
        ("!mine {x: z}", {"x": "z"}),
        ("!!binary eA==", "x"),
    ],
)
def test_values(text: str, value: object) -> None:
    assert yaml.load(f"a: {text}") == {"a": value}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: !!int x", "yaml: cannot decode !!str `x` as a !!int"),
        ("a: !!bool x", "yaml: cannot decode !!str `x` as a !!bool"),
        ("a: !!null x", "yaml: cannot decode !!str `x` as a !!null"),
        ("a: !!timestamp 2001-13-45", "yaml: cannot decode !!str `2001-13-45` as a !!timestamp"),
        ("a: .inf", "json: unsupported value: +Inf"),
        ("<<: [1]", "yaml: map merge requires map or sequence of maps as the value"),
        ("[" * 100_000, TOO_DEEP),
        ('{"a":' * 100_000, TOO_DEEP),
        ("- " * 100_000, TOO_DEEP),
        ("\n".join(" " * depth * 3 + "- - " for depth in range(2000)), "yaml: line 200: exceeded max depth of 10000"),
        ("# " + "]" * 100_000 + "\na: " + "[" * 80_000, "yaml: line 2: exceeded max depth of 10000"),
        ("a: *nowhere", "yaml: unknown anchor 'nowhere' referenced"),
        ("a: &x\n  b: *x", "yaml: anchor 'x' value contains itself"),
        ("a: &x {<<: *x}", "yaml: anchor 'x' value contains itself"),
        ("a: !!binary '*'", "yaml: !!binary value contains invalid base64 data"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(yaml.YamlError) as caught:
        yaml.load(text)
    assert str(caught.value) == message


def test_a_few_aliases_do_not_fill_the_memory() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    with pytest.raises(yaml.YamlError, match="yaml: document contains excessive aliasing"):
        yaml.load("\n".join(lines))


def test_aliases_are_fine_in_moderation() -> None:
    assert yaml.load("a: &x [1]\nb: *x") == {"a": [1], "b": [1]}


def test_merge_keys_do_not_multiply() -> None:
    lines = ["a: &a {x: 1}"]
    for name, before in zip("bcdefghijklmnop", "abcdefghijklmno", strict=True):
        lines.append(f"{name}: &{name} {{<<: [{', '.join([f'*{before}'] * 9)}]}}")
    with pytest.raises(yaml.YamlError, match="yaml: document contains excessive aliasing"):
        yaml.load("\n".join(lines))


@pytest.mark.parametrize(
    ("text", "value", "duplicates"),
    [
        ("a: &x {b: 1}\nc:\n  b: 2\n  <<: *x", {"a": {"b": 1}, "c": {"b": 1}}, ['line 1: key "b" already set in map']),
        ("a: &x {b: 1}\nc:\n  <<: *x\n  b: 2", {"a": {"b": 1}, "c": {"b": 2}}, ['line 4: key "b" already set in map']),
        ("e: {<<: [{b: 1, c: 3}, {b: 5}]}", {"e": {"b": 1, "c": 3}}, ['line 1: key "b" already set in map']),
        ("'<<': {a: 1}", {"<<": {"a": 1}}, []),
        ("y: 1\ny: 2", {"true": 2}, ["line 2: key true already set in map"]),
        ("x: 1\nx:\n  z: 2", {"x": {"z": 2}}, ['line 3: key "x" already set in map']),
    ],
)
def test_merged_and_repeated_keys(text: str, value: dict[str, Any], duplicates: list[str]) -> None:
    found: list[str] = []
    assert yaml.load(text, found) == value
    assert found == duplicates
