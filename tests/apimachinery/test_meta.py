from __future__ import annotations

from typing import Any

import pytest

from jobrelay.apimachinery.field import Path
from jobrelay.apimachinery.meta import (
    validate_conditions,
    validate_immutable_field,
    validate_label_selector,
    validate_object_meta,
    validate_object_meta_update,
)
from jobrelay.apimachinery.names import name_is_dns_subdomain

GOOD: dict[str, Any] = {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1", "generation": 2}


def created(**fields: Any) -> list[str]:
    metadata = {"name": "a", "namespace": "n", **fields}
    return [e.text() for e in validate_object_meta(metadata, namespaced=True, name_fn=name_is_dns_subdomain)]


def updated(old: dict[str, Any] | None = None, **fields: Any) -> list[str]:
    return [e.text() for e in validate_object_meta_update(GOOD | fields, GOOD | (old or {}))]


def test_a_plain_object_is_fine() -> None:
    assert created(labels={"a": "b"}, annotations={"X/Y": "z"}, finalizers=["example.com/f"]) == []
    assert updated() == []


def test_name_and_namespace_are_required() -> None:
    assert created(name="", namespace="") == [
        "metadata.name: Required value: name or generateName is required",
        "metadata.namespace: Required value",
    ]


def test_cluster_objects_have_no_namespace() -> None:
    errors = validate_object_meta({"name": "a", "namespace": "n"}, namespaced=False, name_fn=name_is_dns_subdomain)
    assert [e.text() for e in errors] == ["metadata.namespace: Forbidden: not allowed on this type"]


def test_annotations_have_a_limit() -> None:
    assert created(annotations={"a": "x" * 262144}) == [
        "metadata.annotations: Too long: may not be more than 262144 bytes"
    ]


def test_only_one_owner_controls() -> None:
    owners = [{"apiVersion": "v1", "kind": k, "name": "x", "uid": "1", "controller": True} for k in "AB"]
    (text,) = created(ownerReferences=owners)
    assert text.startswith(
        'metadata.ownerReferences: Invalid value: [{"apiVersion":"v1","kind":"A","name":"x","uid":"1",'
    )
    assert text.endswith('Found "true" in references for A/x and B/x')


def test_finalizers_without_a_domain_must_be_known() -> None:
    assert created(finalizers=["orphan"]) == []
    assert created(finalizers=["mine"]) == [
        'metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified'
    ]


def test_no_finalizer_is_added_to_an_object_that_goes() -> None:
    gone = {"deletionTimestamp": "2024-01-01T00:00:00Z"}
    assert updated(gone, finalizers=["x/y"], **gone) == [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted,"
        ' found new finalizers []string{"x/y"}'
    ]


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("name", "b", 'metadata.name: Invalid value: "b": field is immutable'),
        ("uid", "v", 'metadata.uid: Invalid value: "v": field is immutable'),
        ("resourceVersion", "", 'metadata.resourceVersion: Invalid value: "": must be specified for an update'),
        ("generation", 1, "metadata.generation: Invalid value: 1: must not be decremented"),
    ],
)
def test_what_an_update_may_not_change(field: str, value: Any, text: str) -> None:
    assert updated(**{field: value}) == [text]


def test_managed_fields_are_checked() -> None:
    assert created(managedFields=[{"operation": "X", "fieldsType": "Y", "manager": "a\n"}]) == [
        'metadata.managedFields[0].operation: Invalid value: "X": must be `Apply` or `Update`',
        'metadata.managedFields[0].fieldsType: Invalid value: "Y": must be `FieldsV1`',
        'metadata.managedFields[0].manager: Invalid value: "a\\n": invalid character U+000A (at position 1)',
    ]


def test_empty_values_are_the_same() -> None:
    assert validate_immutable_field([], None, Path("x")) == []
    assert validate_immutable_field(0, None, Path("x")) != []


def test_selectors() -> None:
    selector = {"matchExpressions": [{"key": "a", "operator": "In"}, {"key": "-", "operator": "Like", "values": ["-"]}]}
    texts = [e.text() for e in validate_label_selector(selector, Path("s"))]
    assert (
        texts[0] == "s.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"
    )
    assert texts[1] == 's.matchExpressions[1].operator: Invalid value: "Like": not a valid selector operator'
    assert len(texts) == 4


def test_conditions() -> None:
    condition = {"type": "Ready", "status": "Maybe", "reason": "1x"}
    reasons = [e.reason for e in validate_conditions([condition, condition], Path("c"))]
    assert reasons.count("FieldValueNotSupported") == 2
    assert reasons.count("FieldValueDuplicate") == 1
    assert reasons.count("FieldValueRequired") == 2
