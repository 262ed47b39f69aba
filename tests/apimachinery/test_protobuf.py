"""Protobuf bodies, read against a small encoder that knows nothing of the decoder."""

from __future__ import annotations

import contextlib
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.apimachinery.decode import decode
from jobrelay.apimachinery.protobuf import MAGIC, ProtobufError, decode_envelope, decode_message
from jobrelay.apimachinery.types import Type, type_for_kind, type_of

CRD = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
CORE = "io.k8s.api.core.v1."


def kind(api_version: str, name: str) -> Type:
    found = type_for_kind(api_version, name)
    assert found is not None
    return found


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def block(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def envelope(api_version: str, name: str, raw: bytes) -> bytes:
    return MAGIC + block(1, block(1, api_version) + block(2, name)) + block(2, raw) + block(3, "") + block(4, "")


def test_envelope_names_the_kind_and_holds_the_object() -> None:
    assert decode_envelope(envelope("batch/v1", "Job", b"\x01\x02")) == ("batch/v1", "Job", b"\x01\x02")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "empty data"),
        (b"{}", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (MAGIC, "empty body"),
        (MAGIC + b"\x0a\x05", "unexpected EOF"),
        (MAGIC + b"\x08\x01", "proto: wrong wireType = 0 for field TypeMeta"),
        (MAGIC + b"\xff" * 11, "proto: integer overflow"),
        (MAGIC + b"\x00\x00", "proto: Unknown: illegal tag 0 (wire type 0)"),
        (MAGIC + b"\x0c", "proto: Unknown: wiretype end group for non-group"),
        (MAGIC + b"\x0f", "proto: illegal wireType 7"),
    ],
)
def test_broken_envelopes_are_told_apart(body: bytes, text: str) -> None:
    with pytest.raises(ProtobufError) as caught:
        decode_envelope(body)
    assert str(caught.value) == text


def test_zero_values_are_kept_only_for_pointers() -> None:
    spec = number(1, 0) + number(10, 0) + block(6, block(1, b"") + block(2, block(3, "")))
    job = decode_message(block(1, block(1, "") + number(7, 0)) + block(2, spec), kind("batch/v1", "Job"))
    assert job == {
        "metadata": {},
        "spec": {"parallelism": 0, "suspend": False, "template": {"metadata": {}, "spec": {}}},
    }


def test_inlined_structs_are_flat_in_json() -> None:
    volume = block(1, "v") + block(2, block(19, block(1, block(1, "settings")) + number(3, 420)))
    assert decode_message(volume, type_of(CORE + "Volume")) == {
        "name": "v",
        "configMap": {"name": "settings", "defaultMode": 420},
    }


def test_negative_numbers_are_sign_extended() -> None:
    assert decode_message(number(1, -1), type_of("io.k8s.api.batch.v1.JobSpec")) == {"parallelism": -1}


def test_int_or_string_is_either() -> None:
    port = type_of(CORE + "ServicePort")
    assert decode_message(block(4, number(1, 0) + number(2, 8080) + block(3, "")), port) == {"targetPort": 8080}
    assert decode_message(block(4, number(1, 1) + number(2, 0) + block(3, "web")), port) == {"targetPort": "web"}


def test_times_are_seconds_or_microseconds() -> None:
    lease = type_of("io.k8s.api.coordination.v1.LeaseSpec")
    raw = block(4, number(1, 1_700_000_000) + number(2, 123_456_789))
    assert decode_message(raw, lease) == {"renewTime": "2023-11-14T22:13:20.123456Z"}
    meta = type_of("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
    assert decode_message(block(8, b"") + block(9, raw[2:]), meta) == {"deletionTimestamp": "2023-11-14T22:13:20Z"}


def test_maps_bytes_and_quantities() -> None:
    secret = block(2, block(1, "k") + block(2, b"\x00\xff")) + block(4, block(1, "t") + block(2, "text"))
    assert decode_message(secret, kind("v1", "Secret")) == {"data": {"k": "AP8="}, "stringData": {"t": "text"}}
    resources = type_of(CORE + "ResourceRequirements")
    limit = block(1, block(1, "cpu") + block(2, block(1, "100m")))
    assert decode_message(limit, resources) == {"limits": {"cpu": "100m"}}


def test_map_of_lists_as_in_user_info_extra() -> None:
    extra = block(5, block(1, "scopes") + block(2, block(1, "a") + block(1, "b")))
    spec = type_of("io.k8s.api.authorization.v1.SubjectAccessReviewSpec")
    assert decode_message(extra, spec) == {"extra": {"scopes": ["a", "b"]}}


def test_repeated_numbers_may_be_packed() -> None:
    context = type_of(CORE + "PodSecurityContext")
    assert decode_message(number(4, 1) + number(4, 2), context) == {"supplementalGroups": [1, 2]}
    assert decode_message(block(4, varint(1) + varint(-2)), context) == {"supplementalGroups": [1, -2]}


def test_raw_json_is_embedded() -> None:
    assert decode_message(block(2, block(1, '{"a":[1]}')), kind("apps/v1", "ControllerRevision"))["data"] == {"a": [1]}
    with pytest.raises(ProtobufError, match="invalid JSON"):
        decode_message(block(2, block(1, "{")), kind("apps/v1", "ControllerRevision"))


def test_schema_unions() -> None:
    schema = type_of(CRD + "JSONSchemaProps")
    text = block(5, "string")
    raw = block(24, block(1, text)) + block(30, number(1, 0)) + block(20, block(1, '"a"')) + block(8, block(1, "1"))
    raw += varint(9 << 3 | 1) + struct.pack("<d", 1.5) + block(33, number(1, 1) + block(2, text))
    assert decode_message(raw, schema) == {
        "items": {"type": "string"}, "additionalProperties": False, "enum": ["a"], "default": 1, "maximum": 1.5,
        "additionalItems": {"type": "string"},
    }  # fmt: skip


def test_unknown_fields_and_groups_are_skipped() -> None:
    unknown = varint(99 << 3 | 3) + number(1, 5) + varint(99 << 3 | 4) + varint(98 << 3 | 5) + b"abcd"
    assert decode_message(unknown + block(1, "n"), type_of(CORE + "Volume")) == {"name": "n"}


def test_wrong_wire_type_names_the_go_field() -> None:
    with pytest.raises(ProtobufError, match="proto: wrong wireType = 0 for field ObjectMeta"):
        decode_message(number(1, 1), kind("batch/v1", "Job"))


def test_deep_nesting_is_refused() -> None:
    raw = block(5, "object")
    for _ in range(200):
        raw = block(28, raw)
    with pytest.raises(ProtobufError, match="nested too deeply"):
        decode_message(raw, type_of(CRD + "JSONSchemaProps"))


def encode(value: Any, type_: Type) -> bytes:
    out = b""
    for field in type_.declared:
        if field.inline and field.number:
            out += block(field.number, encode(value, field.type))
        elif field.name in value:
            items = value[field.name] if field.type.kind == "list" else [value[field.name]]
            elem = field.type.elem if field.type.kind == "list" else field.type
            assert elem is not None
            for item in items:
                out += encode_one(field.number, item, elem)
    return out


def encode_one(field: int, value: Any, type_: Type) -> bytes:
    if type_.kind == "struct":
        return block(field, encode(value, type_))
    if type_.kind == "map":
        return b"".join(block(field, block(1, k) + block(2, v)) for k, v in value.items())
    return block(field, value) if isinstance(value, str) else number(field, int(value))


names = st.text(max_size=8)
containers = st.fixed_dictionaries(
    {"name": names, "resources": st.just({})},
    optional={"image": names, "command": st.lists(names, max_size=3), "stdin": st.booleans()},
)
pod_specs = st.fixed_dictionaries(
    {"containers": st.lists(containers, min_size=1, max_size=3)},
    optional={"nodeSelector": st.dictionaries(names, names, max_size=2), "priority": st.integers(-(2**31), 2**31 - 1)},
)


@given(pod_specs)
def test_what_is_encoded_is_read_back(spec: dict[str, Any]) -> None:
    pod_spec = type_of(CORE + "PodSpec")
    assert decode(decode_message(encode(spec, pod_spec), pod_spec), pod_spec) == decode(spec, pod_spec)


@given(
    st.binary(max_size=60),
    st.sampled_from(["batch/v1 Job", "v1 Pod", "apiextensions.k8s.io/v1 CustomResourceDefinition"]),
)
def test_any_bytes_decode_or_are_refused(raw: bytes, name: str) -> None:
    type_ = kind(*name.split())
    for body in (raw, block(1, raw), block(2, raw)):
        with contextlib.suppress(ProtobufError):
            assert isinstance(decode_message(body, type_), dict)
    with contextlib.suppress(ProtobufError):
        decode_envelope(MAGIC + raw)
