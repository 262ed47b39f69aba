"""Whether a JSON text may have a key twice in one object, told without reading it twice."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.apimachinery.gojson import loads, may_repeat

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":2}',
        '{"a":1, "b":{"c":1,"c":1}}',
        '{"a\\\\":1,"b":1,"b":2}',
        '{"a":"\\":","a":1}',
        '[{"a":1,"\\u0061":2}]',
    ],
)
def test_repeated_keys_are_not_missed(text: str) -> None:
    assert may_repeat(text.encode(), loads(text.encode()))


@pytest.mark.parametrize("text", ['{"a":1}', '{"a": "x\\": y"}', '{"k:{\\"name\\":\\"a\\"}":{}}', '{ "a" : [1.0] }\n'])
def test_texts_without_them_are_not_read_again(text: str) -> None:
    assert not may_repeat(text.encode(), loads(text.encode()))


@given(VALUES, st.booleans())
def test_a_repeated_key_is_found_anywhere(value: object, compact: bool) -> None:
    separators = (",", ":") if compact else (", ", ": ")
    inner = json.dumps(value, separators=separators)
    text = f'{{"x":{inner},"y":{inner},"x":{inner}}}'.encode()
    assert may_repeat(text, loads(text))
