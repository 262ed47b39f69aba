"""JSON with Go's error texts, also of texts that only a fuzzer writes."""

from __future__ import annotations

import pytest

from jobrelay.apimachinery.decode import DecodeError, decode
from jobrelay.apimachinery.gojson import Float, JsonError, Pairs, loads, loads_keeping_repeats
from jobrelay.apimachinery.types import type_for_kind


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "unexpected end of JSON input"),
        (b'{"a":1', "unexpected end of JSON input"),
        (b"{x", "invalid character 'x' looking for beginning of object key string"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1]', "invalid character ']' after object key:value pair"),
        (b"[1}", "invalid character '}' after array element"),
        (b"[1]x", "invalid character 'x' after top-level value"),
        (b"[1,]", "invalid character ']' looking for beginning of value"),
        (b"[-x]", "invalid character 'x' in numeric literal"),
        (b"[1.x]", "invalid character 'x' after decimal point in numeric literal"),
        (b"[1e-x]", "invalid character 'x' in exponent of numeric literal"),
        (b"[1e5e6]", "invalid character 'e' after array element"),
        (b"[1.5.6]", "invalid character '.' after array element"),
        (b"[trux]", "invalid character 'x' in literal true (expecting 'e')"),
        (b'["\x07"]', "invalid character '\\a' in string literal"),
        (b"\xff", "invalid character '\u00ff' looking for beginning of value"),
        ("é".encode(), "invalid character '\u00c3' looking for beginning of value"),
        ("[1\u0661]".encode(), "invalid character '\u00d9' after array element"),
        (b"[" * 10_001, "invalid character '[' exceeded max depth"),
    ],
)
def test_texts_that_are_no_json(raw: bytes, message: str) -> None:
    with pytest.raises(JsonError) as error:
        loads(raw)
    assert str(error.value) == message


def test_a_deep_text_that_ends_early_has_no_other_error_than_that() -> None:
    with pytest.raises(JsonError, match="unexpected end of JSON input"):
        loads(b"[" * 5000)


def test_half_a_surrogate_pair_is_replaced_beside_a_repeated_key_too() -> None:
    found = loads_keeping_repeats(rb'{"a":1,"a":"\udc00"}')
    assert isinstance(found, Pairs)
    assert found.pairs == [("a", 1), ("a", "\ufffd")]


def test_an_integer_of_any_length_is_a_number() -> None:
    found = loads(b"9" * 5000)
    assert isinstance(found, Float)
    assert found.text == "9" * 5000


def test_objects_nested_too_deeply_are_refused_while_they_are_decoded() -> None:
    type_ = type_for_kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    assert type_ is not None
    default: list[object] = []
    for _ in range(2000):
        default = [default]
    schema = {"openAPIV3Schema": {"default": default}}
    with pytest.raises(DecodeError, match="exceeded max depth"):
        decode({"spec": {"versions": [{"name": "v1", "schema": schema}]}}, type_)


@pytest.mark.parametrize("text", ["9" * 400, "-" + "9" * 400, "1e999"])
def test_a_number_that_fits_in_no_float_is_refused_as_one(text: str) -> None:
    type_ = type_for_kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    assert type_ is not None
    schema = loads(f'{{"openAPIV3Schema":{{"multipleOf":{text}}}}}'.encode())
    with pytest.raises(DecodeError, match=f"cannot unmarshal number {text} into Go struct field"):
        decode({"spec": {"versions": [{"name": "v1", "schema": schema}]}}, type_)
