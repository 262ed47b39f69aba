"""Objects of a custom resource against what a real server answered: decoding, pruning, defaults, validation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jobrelay.kinds.apiextensions.objects import CustomDecodeError, type_problem, unrecognized, version_problem

from .cases import causes, create_texts, kind_of, made, recorded, rig, spec_kind

ANSWERS = recorded("objects")
KIND = kind_of(ANSWERS["schema"], **ANSWERS["version"])


@pytest.mark.parametrize("case", ANSWERS["cases"], ids=lambda case: json.dumps(case["spec"])[:60])
def test_an_object_is_judged_as_by_the_real_server(case: dict[str, Any]) -> None:
    if "bad" in case:
        with pytest.raises(CustomDecodeError) as error:
            KIND.decode(rig(case["spec"]))
        assert str(error.value) == case["bad"]
        return
    obj = made(KIND, rig(case["spec"]))
    assert causes(KIND.validate_create(obj)) == case["causes"]
    assert KIND.decode(rig(case["spec"]))[1] == case.get("unknown", [])
    if not case["causes"]:
        assert obj.get("spec") == case["made"]


def test_metadata_is_decoded_as_for_built_in_kinds() -> None:
    with pytest.raises(
        CustomDecodeError, match=r"cannot unmarshal number into Go struct field ObjectMeta.name of type string"
    ):
        KIND.decode({**rig({"size": 1}), "metadata": {"name": 5}})


def test_unknown_fields_of_metadata_come_first() -> None:
    obj = {**rig({"size": 1, "zz": 1}), "metadata": {"name": "a", "colour": "red"}}
    assert KIND.decode(obj)[1] == ["metadata.colour", "spec.zz"]


def test_the_request_is_not_changed() -> None:
    obj = rig({"size": 1, "zz": 1})
    KIND.decode(obj)
    assert obj["spec"] == {"size": 1, "zz": 1}


def test_another_kind_is_refused_alone() -> None:
    obj = made(KIND, {**rig({"size": "x"}), "kind": "Other"})
    assert [e.text() for e in KIND.validate_create(obj)] == ['kind: Invalid value: "Other": must be Rig']


def test_a_body_without_kind_is_unrecognized() -> None:
    body = b'{"metadata":{"name":"a"},"spec":{"size":1}}'
    reason = type_problem(json.loads(body), body)
    assert reason == """Object 'Kind' is missing in '{"metadata":{"name":"a"},"spec":{"size":1}}'"""
    assert unrecognized("Rig", reason, body).endswith('({"metadata":{"name":"a"},"spec ...)')


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"null", "Object 'Kind' is missing in 'null' (6e756c6c)"),
        (b"{}", "Object 'Kind' is missing in '{}' ({})"),
        (b'{"kind":5}', 'json: cannot unmarshal number into Go struct field .kind of type string ({"kind":5})'),
        (b"[]", 'Kind string "json:\\"kind,omitempty\\"" } (5b5d)'),
    ],
)
def test_a_body_of_the_wrong_shape_is_explained(body: bytes, text: str) -> None:
    assert unrecognized("Rig", type_problem(json.loads(body), body), body).endswith(text)


def test_another_version_is_refused_before_validation() -> None:
    text = "the API version in the data (b/v1) does not match the expected API version (a.example.com/v1)"
    assert version_problem({"apiVersion": "b/v1"}, "a.example.com/v1") == text
    assert version_problem({"apiVersion": "a.example.com/v1"}, "a.example.com/v1") == ""


def test_unknown_fields_below_preserved_ones_stay() -> None:
    kind = spec_kind(pu={"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    assert made(kind, rig({"pu": {"a": {"b": [1]}}}))["spec"] == {"pu": {"a": {"b": [1]}}}


def test_a_default_fills_defaults_inside_it() -> None:
    inner = {"type": "object", "default": {}, "properties": {"y": {"type": "integer", "default": 3}}}
    assert made(spec_kind(x=inner), rig({}))["spec"] == {"x": {"y": 3}}


def test_whole_floats_are_integers() -> None:
    assert create_texts(spec_kind(n={"type": "integer"}), {"n": 4.0}) == []


def test_a_forbidden_property_is_named() -> None:
    kind = spec_kind(m={"type": "object", "additionalProperties": False, "x-kubernetes-preserve-unknown-fields": True})
    assert create_texts(kind, {"m": {"a": 1}}) == [
        'spec.m: Invalid value: "a": spec.m.a in body is a forbidden property'
    ]
