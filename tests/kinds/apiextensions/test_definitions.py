"""CustomResourceDefinitions against what a real server answered, and what writes do to them."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from jobrelay.apimachinery.decode import decode
from jobrelay.apimachinery.types import type_for_kind
from jobrelay.kinds.apiextensions import definition as crds
from jobrelay.kinds.apiextensions.definition import STRATEGIES
from jobrelay.kinds.apiextensions.naming import accepted_status, is_established, terminating_status

from .cases import causes, definition, recorded

NOW = "2026-01-02T03:04:05Z"


def decoded(crd: dict[str, Any]) -> dict[str, Any]:
    type_ = type_for_kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    assert type_ is not None
    made: dict[str, Any] = decode(crd, type_)
    crds.default(made)
    return made


def created(crd: dict[str, Any]) -> dict[str, Any]:
    made = decoded(crd)
    crds.prepare_create(made)
    return made


def object_with(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


def established(crd: dict[str, Any]) -> dict[str, Any]:
    made = created(crd)
    made["metadata"] |= {"resourceVersion": "1", "uid": "u", "creationTimestamp": NOW}
    made["status"] = accepted_status(made, [], NOW)
    return made


@pytest.mark.parametrize(
    "case", recorded("definitions")["cases"], ids=lambda case: json.dumps(case["spec"]["versions"])[:80]
)
def test_a_definition_is_judged_as_by_the_real_server(case: dict[str, Any]) -> None:
    crd = created({"kind": "CustomResourceDefinition", "metadata": case["metadata"], "spec": case["spec"]})
    assert causes(crds.validate_create(crd)) == case["causes"]
    if not case["causes"]:
        assert sorted(crds.warn_create(crd)) == case.get("warnings", [])


def test_a_list_of_schemas_without_any_is_no_schema_for_items() -> None:
    crd = created(definition(object_with(tags={"type": "array", "items": []})))
    assert "Required value: must be specified" in str(causes(crds.validate_create(crd)))


def test_names_and_conversion_are_defaulted() -> None:
    crd = definition({"type": "object"})
    crd["spec"]["names"] = {"plural": "rigs", "kind": "Rig"}
    spec = decoded(crd)["spec"]
    assert spec["names"] == {"plural": "rigs", "kind": "Rig", "singular": "rig", "listKind": "RigList"}
    assert spec["conversion"] == {"strategy": "None"}


def test_a_new_definition_has_an_empty_status_but_knows_its_storage_version() -> None:
    crd = definition({"type": "object"})
    crd["status"] = {"storedVersions": ["v9"], "conditions": [], "acceptedNames": {"plural": "x", "kind": "X"}}
    made = created(crd)
    assert made["status"] == {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]}
    assert made["metadata"]["generation"] == 1


def test_an_update_keeps_status_and_remembers_every_storage_version() -> None:
    old = established(definition({"type": "object"}))
    new = copy.deepcopy(old)
    new["spec"]["versions"][0]["storage"] = False
    new["spec"]["versions"].append({**old["spec"]["versions"][0], "name": "v2"})
    crds.prepare_update(new, old)
    assert new["status"]["storedVersions"] == ["v1", "v2"]
    assert new["metadata"]["generation"] == 2


def test_a_stored_version_cannot_go() -> None:
    old = established(definition({"type": "object"}))
    new = copy.deepcopy(old)
    new["spec"]["versions"][0]["name"] = "v2"
    crds.prepare_update(new, old)
    texts = [error.text() for error in crds.validate_update(new, old)]
    assert len(texts) == 1
    assert texts[0].startswith(
        'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously'
    )


def test_scope_and_kind_are_immutable_once_established() -> None:
    old = established(definition({"type": "object"}))
    new = copy.deepcopy(old)
    new["spec"]["scope"] = "Namespaced"
    new["spec"]["names"]["kind"] = "Other"
    assert [e.field for e in crds.validate_update(new, old)] == ["spec.scope", "spec.names.kind"]
    old["status"]["conditions"] = None
    assert crds.validate_update(new, old) == []


def test_an_update_may_keep_rules_that_became_too_expensive() -> None:
    rule = {"rule": "self.all(x, self.all(y, x == y))"}
    schema = object_with(a={"type": "array", "items": {"type": "string"}, "x-kubernetes-validations": [rule]})
    old = established(definition(schema))
    new = copy.deepcopy(old)
    new["metadata"]["labels"] = {"a": "b"}
    assert {e.field for e in crds.validate_update(new, old)} == {
        "spec.validation.openAPIV3Schema",
        "spec.validation.openAPIV3Schema.properties[spec].properties[a].x-kubernetes-validations[0].rule",
    }


def test_names_are_accepted_and_established() -> None:
    status = accepted_status(created(definition({"type": "object"})), [], NOW)
    assert status["acceptedNames"] == {"plural": "rigs", "kind": "Rig", "singular": "rig", "listKind": "RigList"}
    assert status["conditions"] == [
        {"type": "NamesAccepted", "status": "True", "lastTransitionTime": NOW, "reason": "NoConflicts", "message": "no conflicts found"},
        {
            "type": "Established",
            "status": "True",
            "lastTransitionTime": NOW,
            "reason": "InitialNamesAccepted",
            "message": "the initial names have been accepted",
        },
    ]  # fmt: skip


def test_a_kind_that_is_taken_is_not_accepted() -> None:
    first = established(definition({"type": "object"}))
    second = created(definition({"type": "object"}, kind="Rigg"))
    second["spec"]["names"]["kind"] = "Rig"
    status = accepted_status(second, [first], NOW)
    assert [(c["type"], c["status"], c["reason"], c["message"]) for c in status["conditions"]] == [
        ("NamesAccepted", "False", "KindConflict", '"Rig" is already in use'),
        ("Established", "False", "NotAccepted", "not all names are accepted"),
    ]
    assert status["acceptedNames"]["plural"] == "riggs"
    assert status["acceptedNames"]["kind"] == ""
    assert not is_established({"status": status})


def test_short_names_of_another_group_are_free() -> None:
    first = established(definition({"type": "object"}))
    first["status"]["acceptedNames"]["shortNames"] = ["rg"]
    first["spec"]["group"] = "other.example.com"
    second = created(definition({"type": "object"}))
    second["spec"]["names"]["shortNames"] = ["rg"]
    assert accepted_status(second, [first], NOW)["acceptedNames"]["shortNames"] == ["rg"]


def test_only_new_unknown_formats_are_warned_about_on_update() -> None:
    old = established(definition(object_with(a={"type": "string", "format": "foo"})))
    new = established(
        definition(object_with(a={"type": "string", "format": "foo"}, b={"type": "string", "format": "bar"}))
    )
    assert crds.warn_update(new, old) == ['unrecognized format "bar"']


def test_the_strategy_demands_a_resource_version() -> None:
    strategy = STRATEGIES[("apiextensions.k8s.io", "customresourcedefinitions")]
    assert not strategy.unconditional_update
    assert strategy.reset_fields["status"] == (("metadata",), ("spec",))


def test_a_protected_group_shows_its_approval() -> None:
    crd = created(definition({"type": "object"}))
    crd["spec"]["group"] = "a.k8s.io"
    crd["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, a test"}
    first = accepted_status(crd, [], NOW)["conditions"][0]
    assert (first["type"], first["status"], first["reason"]) == (
        "KubernetesAPIApprovalPolicyConformant",
        "False",
        "UnapprovedAnnotation",
    )
    assert first["message"] == 'not approved: "unapproved, a test"'


def test_deletion_shows_in_a_condition() -> None:
    crd = established(definition({"type": "object"}))
    crd["status"] = terminating_status(crd, "InstanceDeletionPending", "soon", NOW)
    done = terminating_status(
        crd, "InstanceDeletionCompleted", "removed all instances", "2026-01-02T03:05:00Z", active=False
    )
    assert [(c["type"], c["status"]) for c in crd["status"]["conditions"]][-1] == ("Terminating", "True")
    assert (done["conditions"][-1]["status"], done["conditions"][-1]["lastTransitionTime"]) == (
        "False",
        "2026-01-02T03:05:00Z",
    )
