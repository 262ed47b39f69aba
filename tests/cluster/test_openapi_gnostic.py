"""OpenAPI documents in protobuf."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.cluster.apiserver.openapi import gnostic, gnostic_v2, gnostic_v3
from jobrelay.cluster.apiserver.openapi.documents import document_v2
from jobrelay.cluster.apiserver.resources import ResourceTable
from tests.cluster.openapi_tools import Obj, part, read_message

SCALARS = st.fixed_dictionaries(
    {},
    optional={
        "description": st.text(min_size=1), "format": st.text(min_size=1), "maximum": st.floats(1, 1e9),
        "maxLength": st.integers(1, 2**62),
        "uniqueItems": st.just(True), "required": st.lists(st.text(), min_size=1),
        "enum": st.lists(st.text() | st.integers(), min_size=1),
        "x-kubernetes-list-type": st.sampled_from(["atomic", "set"]),
    },
)  # fmt: skip
SCHEMAS = st.recursive(
    SCALARS,
    lambda inner: st.fixed_dictionaries(
        {}, optional={"items": inner, "properties": st.dictionaries(st.text(), inner), "additionalProperties": inner}
    ),
    max_leaves=8,
)
NAMES = {number: name for name, (number, _) in gnostic_v2.MESSAGES["Schema"][0].items()}


def read_any(data: bytes) -> Any:
    return msgspec.json.decode(dict(read_message(data))[2])


def read_schema(data: bytes) -> Obj:
    """The schema that a message means."""
    made: Obj = {}
    for number, value in read_message(data):
        if number == 31:
            name, extension = (piece for _, piece in read_message(value))
            made[name.decode()] = read_any(extension)
            continue
        key = NAMES[number]
        if key == "enum":
            made.setdefault(key, []).append(read_any(value))
        elif key == "required":
            made.setdefault(key, []).append(value.decode())
        elif key in ("items", "additionalProperties"):
            made[key] = read_schema(dict(read_message(value))[1])
        elif key == "properties":
            made[key] = read_schemas(value)
        elif key == "uniqueItems":
            made[key] = bool(value)
        else:
            made[key] = value.decode() if isinstance(value, bytes) else value
    return made


def read_schemas(data: bytes) -> Obj:
    pairs = [read_message(named) for _, named in read_message(data)]
    return {name.decode(): read_schema(schema) for (_, name), (_, schema) in pairs}


@given(schema=SCHEMAS)
def test_schemas_survive(schema: Obj) -> None:
    message = read_message(gnostic_v2.encode({"definitions": {"a": schema}}))
    assert read_schemas(dict(message)[9]) == {"a": schema}


@pytest.fixture(scope="module")
def message() -> dict[int, bytes]:
    return dict(read_message(gnostic_v2.encode(document_v2([part(ResourceTable(), "batch", "v1")]))))


def test_the_head_of_a_document(message: dict[int, bytes]) -> None:
    assert message[1] == b"2.0"
    assert read_message(message[2]) == [(1, b"Kubernetes"), (2, b"1.35")]


def test_kinds_are_found_by_their_extension(message: dict[int, bytes]) -> None:
    definitions = {name: schema for (_, name), (_, schema) in (read_message(d) for _, d in read_message(message[9]))}
    extensions = [
        read_message(value) for number, value in read_message(definitions[b"io.k8s.api.batch.v1.Job"]) if number == 31
    ]
    assert [(name, read_any(value)) for (_, name), (_, value) in extensions] == [
        (b"x-kubernetes-group-version-kind", [{"group": "batch", "kind": "Job", "version": "v1"}])
    ]


def test_methods_have_their_own_fields(message: dict[int, bytes]) -> None:
    paths = {name: item for (_, name), (_, item) in (read_message(p) for _, p in read_message(message[8]))}
    item = read_message(paths[b"/apis/batch/v1/namespaces/{namespace}/jobs/{name}"])
    assert [number for number, _ in item] == [2, 3, 5, 8, 9, 9, 9]
    assert (5, b"patchBatchV1NamespacedJob") in read_message(dict(item)[8])


@pytest.mark.parametrize(("value", "data"), [(0, b"\0"), (300, b"\xac\x02"), (-1, b"\xff" * 9 + b"\x01")])
def test_varints(value: int, data: bytes) -> None:
    assert gnostic.varint(value) == data


def test_zero_is_left_out() -> None:
    message = read_message(gnostic_v2.encode({"definitions": {"a": {"minLength": 0, "maxLength": 0}}}))
    assert read_schemas(dict(message)[9]) == {"a": {}}


@pytest.mark.parametrize(
    ("default", "data"), [("", b"\x1a\0"), (False, b"\x10\0"), (0, b"\x09" + bytes(8)), ("x", b"\x1a\x01x"), ({}, b"")]
)
def test_defaults_of_version_3_show_zero(default: Any, data: bytes) -> None:
    encoded = gnostic_v3.encode({"components": {"schemas": {"a": {"default": default}}}})
    schema = gnostic.piece(1, gnostic.piece(33, data))
    assert encoded == gnostic.piece(5, gnostic.piece(1, gnostic.piece(1, gnostic.named("a", schema))))


def test_references_of_version_3_are_messages() -> None:
    encoded = gnostic_v3.encode({"components": {"schemas": {"a": {"$ref": "#/b"}}}})
    reference = gnostic.piece(2, gnostic.text(1, "#/b"))
    assert encoded == gnostic.piece(5, gnostic.piece(1, gnostic.piece(1, gnostic.named("a", reference))))
