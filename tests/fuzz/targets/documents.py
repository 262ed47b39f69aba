"""Documents: JSON, YAML, protobuf, and their decoding into the built-in types."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from jobrelay.apimachinery import gojson, protobuf, yaml
from jobrelay.apimachinery.decode import DecodeError, Notes, decode
from jobrelay.apimachinery.types import Type, type_for_kind
from tests.cluster.apiserver.noise import JSON_TEXTS, YAML_TEXTS
from tests.cluster.apiserver.protobuf import encoded

from ..target import Target, plain

KINDS: Final = ("batch/v1 Job", "v1 Pod", "apiextensions.k8s.io/v1 CustomResourceDefinition", "v1 Secret")
JSON_WORDS: Final = (
    b"{", b"}", b"[", b"]", b":", b",", b'"', b"null", b"true", b"false", b'"a":', b'"a":{"b":', b"\\u00e9", b"\\ud800",
    b"\\udc00", b"\\\\", b'\\"', b" ", b"\n", b"\t", b'""',
)  # fmt: skip
_YAML_WORDS: Final = (
    b": ", b"- ", b"\n", b"\n  ", b"&a ", b"*a", b"<<: *a\n", b"!!binary ", b"!!int ", b"!!float ", b"!!str ", b"!x ",
    b"|\n", b">-\n", b"? ", b"---\n", b"...\n", b"%YAML 1.2\n", b"'", b'"', b"# ", b"~", b"y", b"off", b".inf", b".nan",
    b"0o14", b"0b1", b"1:30", b"2024-01-01", b"{", b"}", b"[", b"]", b",", b"\t",
)  # fmt: skip
_FIELDS: Final = tuple(
    f'"{name}":'.encode()
    for name in (
        "apiVersion", "kind", "metadata", "name", "labels", "annotations", "managedFields", "fieldsV1", "spec",
        "template", "containers", "resources", "limits", "env", "ports", "creationTimestamp", "schema",
        "openAPIV3Schema", "properties", "items", "default", "enum", "additionalProperties", "data", "parallelism",
        "maxUnavailable", "ownerReferences", "status",
    )
)  # fmt: skip


def _json(data: bytes) -> None:
    """Values survive being written and read; Python's own reader agrees on what is JSON."""
    try:
        value = gojson.loads(data)
    except gojson.JsonError:
        if (text := _text(data)) is not None and _nesting(text) < gojson.MAX_DEPTH:
            assert not _python_reads(text), "refused, but it is JSON"
        raise
    kept = gojson.loads_keeping_repeats(data)
    gojson.repeated(kept)
    again = gojson.plain(kept)
    if (text := _text(data)) is not None:
        assert _python_reads(text), "accepted, but it is no JSON"
    if not _has_infinity(value):
        for each in (value, again):
            assert gojson.loads(_written(each)) == each


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _nesting(text: str) -> int:
    return max(text.count("["), text.count("{"))


def _python_reads(text: str) -> bool:
    try:
        json.loads(text, parse_constant=_refuse, parse_int=float)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(name: str) -> None:
    raise ValueError(name)


def _written(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _has_infinity(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_infinity, value.values()))
    if isinstance(value, list):
        return any(map(_has_infinity, value))
    return isinstance(value, float) and not math.isfinite(value)


def _yaml(data: bytes) -> None:
    """What was read is JSON, and reads the same as YAML."""
    duplicates: list[str] = []
    value = yaml.load(data, duplicates)
    written = msgspec.json.encode(value)
    assert yaml.load(written) == value
    assert yaml.load(b" " + written) == value, "read by libyaml it is something else"


def _type(name: str) -> Type:
    found = type_for_kind(*name.split())
    assert found is not None
    return found


def _decode(data: bytes) -> None:
    """A canonical object is what decoding it again gives. The first byte chooses the kind."""
    type_ = _type(KINDS[data[0] % len(KINDS)]) if data else _type(KINDS[0])
    notes = Notes()
    made = decode(gojson.loads_keeping_repeats(data[1:]), type_, notes)
    notes.settle()
    again = gojson.loads(msgspec.json.encode(made))
    assert decode(again, type_) == made


def _protobuf(data: bytes) -> None:
    """A message becomes an object that can be written as JSON. The first byte chooses the kind."""
    type_ = _type(KINDS[data[0] % len(KINDS)]) if data else _type(KINDS[0])
    version, kind, raw = protobuf.decode_envelope(data[1:])
    assert isinstance(version, str) == isinstance(kind, str)
    made = decode(protobuf.decode_message(raw, type_), type_)
    msgspec.json.encode(made)


def _both_forms(data: bytes) -> None:
    """An object in JSON and the same object in protobuf are the same."""
    made = decode(gojson.loads(data), type_ := _type(KINDS[0]))
    version, kind, raw = protobuf.decode_envelope(encoded(made, type_))
    read = protobuf.decode_message(raw, type_) | ({"kind": kind} if kind else {})
    assert decode(read | ({"apiVersion": version} if version else {}), type_) == made


def _raw(texts: Iterable[str]) -> list[bytes]:
    return [text.encode("utf-8", "surrogatepass") for text in texts]


DOCUMENTS: Final = (
    Target("json", plain(_json), (gojson.JsonError,), (*JSON_WORDS, *_raw(JSON_TEXTS))),
    Target("yaml", plain(_yaml), (yaml.YamlError,), (*_YAML_WORDS, *_raw(YAML_TEXTS))),
    Target("decode", plain(_decode), (gojson.JsonError, DecodeError), (*JSON_WORDS, *_FIELDS)),
    Target("protobuf", plain(_protobuf), (protobuf.ProtobufError, DecodeError), (b"k8s\0", b"\x0a", b"\x12", b"\x0b",
    b"\x0c", b"\x7f")),
    Target("protobuf-and-json", plain(_both_forms), (gojson.JsonError, DecodeError), (*JSON_WORDS, *_FIELDS)),
)  # fmt: skip
