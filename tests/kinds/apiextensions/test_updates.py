"""Updates of custom resources: what was already wrong is forgiven, transition rules compare with the stored object."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from .cases import causes, kind_of, recorded, rig, spec_kind

ANSWERS = recorded("updates")
KIND = kind_of(ANSWERS["schema"], kind="Upd", subresources={"status": {}})


def stored(case: dict[str, Any]) -> dict[str, Any]:
    meta = {
        "name": case["name"],
        "uid": "u",
        "resourceVersion": "5",
        "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    return {"apiVersion": "a.example.com/v1", "kind": "Upd", "metadata": meta, **case["old"]}


@pytest.mark.parametrize(
    "case", ANSWERS["cases"], ids=lambda case: json.dumps(case.get("spec", case.get("status")))[:50]
)
def test_an_update_is_judged_as_by_the_real_server(case: dict[str, Any]) -> None:
    old = stored(case)
    part = "spec" if "spec" in case else "status"
    new, _ = KIND.decode({**copy.deepcopy(old), part: case[part]})
    update, validate, warn = (
        (KIND.prepare_update, KIND.validate_update, KIND.warn_update)
        if part == "spec"
        else (KIND.prepare_status, KIND.validate_status, KIND.warn_status)
    )
    update(new, old)
    assert causes(validate(new, old)) == case["causes"]
    if not case["causes"]:
        assert sorted(warn(new, old)) == case["warnings"]


def test_generation_counts_changes_outside_metadata_and_status() -> None:
    kind = kind_of({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, subresources={"status": {}})
    old = rig({"a": 1}, metadata={"name": "a", "generation": 3}, status={"x": 1})
    labelled = {**copy.deepcopy(old), "metadata": {"name": "a", "labels": {"x": "y"}}, "status": {"x": 2}}
    kind.prepare_update(labelled, old)
    assert (labelled["metadata"]["generation"], labelled["status"]) == (3, {"x": 1})
    changed = {**copy.deepcopy(old), "spec": {"a": 2}}
    kind.prepare_update(changed, old)
    assert changed["metadata"]["generation"] == 4


def test_a_status_write_changes_nothing_else() -> None:
    kind = kind_of({"type": "object"}, subresources={"status": {}})
    old = rig({"a": 1}, metadata={"name": "a", "labels": {"k": "v"}})
    new = rig({"a": 2}, metadata={"name": "a", "managedFields": [{"manager": "m"}]}, status={"phase": "A"})
    kind.prepare_status(new, old)
    assert new["spec"] == {"a": 1}
    assert new["metadata"] == {"name": "a", "labels": {"k": "v"}, "managedFields": [{"manager": "m"}]}
    assert new["status"] == {"phase": "A"}


def test_without_a_status_subresource_status_is_a_field() -> None:
    kind = spec_kind()
    new, old = rig({}, status={"x": 1}), rig({}, metadata={"name": "a", "generation": 1})
    kind.prepare_update(new, old)
    assert (new["status"], new["metadata"]["generation"]) == ({"x": 1}, 2)


def test_list_duplicates_are_told_only_when_new() -> None:
    kind = spec_kind(s={"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"})
    meta = {"name": "a", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z", "uid": "u"}
    bad, good = rig({"s": ["a", "a"]}, metadata=meta), rig({"s": ["a"]}, metadata=meta)
    assert [e.text() for e in kind.validate_update(bad, good)] == ['spec.s[1]: Duplicate value: "a"']
    assert kind.validate_update(rig({"s": ["a", "a", "b"]}, metadata=meta), bad) == []


def test_null_is_no_known_item_of_a_map() -> None:
    items = {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}
    kind = spec_kind(
        m={"type": "array", "items": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    )
    meta = {"name": "a", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z", "uid": "u"}
    errors = kind.validate_update(rig({"m": [None]}, metadata=meta), rig({"m": [{"k": "a"}]}, metadata=meta))
    assert [error.text() for error in errors] == [
        'spec.m[0]: Invalid value: "null": spec.m[0] in body must be of type object: "null"'
    ]
