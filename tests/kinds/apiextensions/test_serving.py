"""Serving custom resources: strategies, field selectors, scale, conversion, OpenAPI."""

from __future__ import annotations

import pytest

from jobrelay.kinds.apiextensions.openapi import model_name, openapi_list_schema, openapi_schema
from jobrelay.kinds.apiextensions.paths import ObjectPathError
from jobrelay.kinds.apiextensions.scale import ScaleError, crd_apply_scale, crd_scale_of
from jobrelay.kinds.apiextensions.strategy import CustomKind, version_priority
from jobrelay.kinds.apiextensions.versions import VersionForm

from .cases import definition, kind_of, rig

SCALE = {
    "specReplicasPath": ".spec.count",
    "statusReplicasPath": ".status.count",
    "labelSelectorPath": ".status.selector",
}
COUNTED = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"count": {"type": "integer"}, "colour": {"type": "string"}}},
        "status": {"type": "object", "properties": {"count": {"type": "integer"}, "selector": {"type": "string"}}},
    },
}


def test_the_scale_of_an_object() -> None:
    obj = rig(
        {"count": 3}, status={"count": 2, "selector": "a=b"}, metadata={"name": "a", "uid": "u", "labels": {"x": "y"}}
    )
    assert crd_scale_of(obj, SCALE) == {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {"name": "a", "uid": "u"},
        "spec": {"replicas": 3},
        "status": {"replicas": 2, "selector": "a=b"},
    }


def test_no_scale_without_the_spec_path() -> None:
    with pytest.raises(ScaleError, match=r'the spec replicas field "\.spec\.count" does not exist'):
        crd_scale_of(rig({}), SCALE)


def test_a_wrong_type_on_the_way_is_explained() -> None:
    with pytest.raises(ObjectPathError, match=r"\.spec\.count accessor error: x is of the type string, expected int64"):
        crd_scale_of(rig({"count": "x"}), SCALE)


def test_a_scale_is_written_into_the_object() -> None:
    obj = rig({})
    crd_apply_scale(obj, {"metadata": {"resourceVersion": "7"}, "spec": {"replicas": 5}}, SCALE)
    assert obj["spec"] == {"count": 5}
    assert obj["metadata"]["resourceVersion"] == "7"


def test_replicas_are_checked_on_create() -> None:
    kind = kind_of(COUNTED, subresources={"scale": SCALE})
    texts = [error.text() for error in kind.validate_create(rig({"count": -1}))]
    assert texts == [".spec.count: Invalid value: -1: should be a non-negative integer"]


def test_selectable_fields() -> None:
    crd = definition(COUNTED, selectableFields=[{"jsonPath": ".spec.colour"}, {"jsonPath": ".spec.count"}])
    strategy = CustomKind(crd, "v1").strategy
    assert strategy.fields(rig({"count": 3})) == {"metadata.name": "a", "spec.colour": "", "spec.count": "3"}
    assert strategy.field_labels == {"metadata.name", "spec.colour", "spec.count"}
    assert strategy.unsupported_field is not None
    assert strategy.unsupported_field("spec.x", "Rig") == "field label not supported: spec.x"


def test_subresources_follow_the_definition() -> None:
    plain, full = (
        CustomKind(definition(COUNTED), "v1").strategy,
        CustomKind(definition(COUNTED, subresources={"status": {}, "scale": SCALE}), "v1").strategy,
    )
    assert (set(plain.subresources), plain.reset_fields) == (set(), {})
    assert set(full.subresources) == {"status", "scale"}
    assert full.reset_fields == {"": (("status",),), "status": (("spec",),)}


def test_finalizers_without_a_domain_are_warned_about() -> None:
    strategy = CustomKind(definition(COUNTED), "v1").strategy
    texts = strategy.warn_create(rig({}, metadata={"name": "a", "finalizers": ["a.b/c", "a.b", "orphan"]}))
    hint = (
        "prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with "
        "other finalizer writers"
    )
    assert texts == [f'metadata.finalizers: "a.b": {hint}']


def test_versions_are_converted_through_the_storage_version() -> None:
    crd = definition(COUNTED)
    newer = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"shape": {"type": "string", "default": "round"}}}},
    }
    crd["spec"]["versions"].append(
        {"name": "v2", "served": True, "storage": False, "schema": {"openAPIV3Schema": newer}}
    )
    old, new = CustomKind(crd, "v1"), CustomKind(crd, "v2")
    assert VersionForm(new, old, "v1").write(rig({"shape": "flat", "count": 3}))["spec"] == {"count": 3}
    unnamed = {"metadata": {"name": "a"}, "spec": {"count": 3}}
    assert VersionForm(new, new, "v2").read(unnamed)["spec"] == {"shape": "round"}
    shown = VersionForm(new, old, "v1").read(unnamed)
    assert (shown["apiVersion"], shown["spec"]) == ("a.example.com/v2", {})


def test_an_object_is_read_by_the_version_that_it_was_stored_in() -> None:
    crd = definition(COUNTED)
    crd["spec"]["versions"].append({**crd["spec"]["versions"][0], "name": "v2"})
    old, new = CustomKind(crd, "v1"), CustomKind(crd, "v2")
    stored = VersionForm(old, old, "v1").write(rig({"count": 3}))
    shown = VersionForm(new, new, "v2").with_conversion(lambda obj, to: {**obj, "apiVersion": to, "spec": {"count": 4}})
    assert shown.read(stored)["spec"]["count"] == 4
    assert "storedAs" not in shown.read(stored)["metadata"]


def test_deprecated_versions_point_to_the_best_other_one() -> None:
    crd = definition(COUNTED)
    for name, more in (
        ("v1alpha1", {"deprecated": True}),
        ("v1beta1", {"deprecated": True, "deprecationWarning": "use v1"}),
        ("v2beta1", {}),
    ):
        crd["spec"]["versions"].append({"name": name, "served": True, "storage": False, **more})
    texts = [CustomKind(crd, name).deprecation for name in ("v1", "v1alpha1", "v1beta1")]
    assert texts == ["", "a.example.com/v1alpha1 Rig is deprecated; use a.example.com/v1 Rig", "use v1"]


def test_versions_are_ordered_by_maturity() -> None:
    names = ["foo", "v1alpha1", "v2", "v10", "v1beta2", "v11alpha2", "v3beta1", "bar"]
    assert sorted(names, key=version_priority, reverse=True) == [
        "v10",
        "v2",
        "v3beta1",
        "v1beta2",
        "v11alpha2",
        "v1alpha1",
        "bar",
        "foo",
    ]


def test_published_schema_has_metadata_and_identity() -> None:
    made = openapi_schema(definition(COUNTED), "v1")
    assert made["properties"]["metadata"]["allOf"] == [
        {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
    ]
    assert made["x-kubernetes-group-version-kind"] == [{"group": "a.example.com", "kind": "Rig", "version": "v1"}]
    assert made["properties"]["spec"] == COUNTED["properties"]["spec"]  # type: ignore[index]
    assert model_name("a.example.com", "v1", "Rig") == "com.example.a.v1.Rig"


def test_version_2_leaves_out_what_it_cannot_say() -> None:
    schema = {
        "type": "object",
        "properties": {
            "n": {"type": "string", "nullable": True, "default": "x"},
            "any": {"type": "string", "anyOf": [{"minLength": 1}]},
            "ios": {"x-kubernetes-int-or-string": True},
        },
    }
    properties = openapi_schema(definition(schema), "v1", v2=True)["properties"]
    assert (properties["n"], properties["any"], properties["ios"]) == (
        {},
        {"type": "string"},
        {"x-kubernetes-int-or-string": True},
    )
    assert openapi_schema(definition(schema), "v1")["properties"]["ios"]["anyOf"] == [
        {"type": "integer"},
        {"type": "string"},
    ]


def test_published_list() -> None:
    made = openapi_list_schema(definition(COUNTED), "v1")
    assert made["description"] == "RigList is a list of Rig"
    assert made["properties"]["items"]["items"] == {"$ref": "#/components/schemas/com.example.a.v1.Rig"}
