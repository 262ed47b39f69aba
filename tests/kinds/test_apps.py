"""apps/v1: defaults, counters, immutable parts, and the scale view."""

from __future__ import annotations

from typing import Any

import pytest

from jobrelay.apimachinery.decode import DecodeError
from jobrelay.kinds.apps.scale import apply_scale, scale_of, validate_scale
from jobrelay.kinds.strategy import Obj

from .workloads import create, hooks, read, texts, update, workload

TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
ROLLBACK = "deprecated.deployment.rollback.to"


def test_deployment_defaults() -> None:
    spec = read("Deployment", workload())["spec"]
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}
    assert (spec["replicas"], spec["revisionHistoryLimit"], spec["progressDeadlineSeconds"]) == (1, 10, 600)


def test_deployment_annotations_count_a_generation_and_labels_do_not() -> None:
    made, _ = create("Deployment", workload())
    assert update("Deployment", made, {"metadata": {"annotations": {"a": "b"}}})[0]["metadata"]["generation"] == 2
    assert update("Deployment", made, {"metadata": {"labels": {"a": "b"}}})[0]["metadata"]["generation"] == 1


def test_deployment_status_writes_keep_labels() -> None:
    made, _ = create("Deployment", workload())
    new, _ = update("Deployment", made, {"metadata": {"labels": {"a": "b"}}, "status": {"replicas": 1}}, "status")
    assert "labels" not in new["metadata"]
    assert new["status"]["replicas"] == 1


def test_rollback_annotation_is_a_number_or_gone() -> None:
    body = workload()
    body["metadata"]["annotations"] = {ROLLBACK: ""}
    assert "annotations" not in read("Deployment", body)["metadata"]
    body["metadata"]["annotations"] = {ROLLBACK: "+7"}
    assert read("Deployment", body)["metadata"]["annotations"] == {ROLLBACK: "7"}
    body["metadata"]["annotations"] = {ROLLBACK: "x"}
    with pytest.raises(DecodeError, match="failed to parse annotation"):
        read("Deployment", body)


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "DaemonSet"])
def test_selectors_are_immutable(kind: str) -> None:
    made, _ = create(kind, workload())
    changes = {"spec": {"selector": {"matchLabels": {"c": "d"}}, "template": {"metadata": {"labels": {"c": "d"}}}}}
    problem = 'spec.selector: Invalid value: {"matchLabels":{"a":"b","c":"d"}}: field is immutable'
    assert texts(update(kind, made, changes)[1]) == [problem]


def test_counters_that_show_when_zero() -> None:
    assert create("Deployment", workload())[0]["status"] == {}
    assert create("ReplicaSet", workload())[0]["status"] == {"replicas": 0}
    assert create("StatefulSet", workload())[0]["status"] == {"replicas": 0, "availableReplicas": 0}
    shown = {"currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0, "numberReady": 0}
    assert create("DaemonSet", workload())[0]["status"] == shown


def test_collision_count_only_grows() -> None:
    made, _ = create("Deployment", workload())
    made["status"] = {"collisionCount": 2}
    problem = "status.collisionCount: Invalid value: 1: cannot be decremented"
    assert texts(update("Deployment", made, {"status": {"collisionCount": 1}}, "status")[1]) == [problem]
    assert update("Deployment", made, {"status": {"collisionCount": None}}, "status")[1]


def test_daemon_sets_count_template_generations() -> None:
    made, _ = create("DaemonSet", workload())
    assert made["metadata"]["annotations"] == {TEMPLATE_GENERATION: "1"}
    changes: Obj = {
        "spec": {"template": {"spec": {"priority": 1}}},
        "metadata": {"annotations": {TEMPLATE_GENERATION: "9"}},
    }
    new, errors = update("DaemonSet", made, changes)
    assert not errors
    assert (new["metadata"]["annotations"][TEMPLATE_GENERATION], new["metadata"]["generation"]) == ("2", 2)


def test_stateful_set_defaults() -> None:
    claim = {"metadata": {"name": "v"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    spec = read("StatefulSet", workload(volumeClaimTemplates=[claim]))["spec"]
    assert spec["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    assert spec["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Retain", "whenScaled": "Retain"}
    made = spec["volumeClaimTemplates"][0]
    assert (made["kind"], made["apiVersion"]) == ("PersistentVolumeClaim", "v1")
    assert (made["spec"]["volumeMode"], made["status"]) == ("Filesystem", {"phase": "Pending"})


def test_stateful_set_drops_max_unavailable() -> None:
    made, _ = create(
        "StatefulSet", workload(updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}})
    )
    assert made["spec"]["updateStrategy"]["rollingUpdate"] == {"partition": 0}


@pytest.mark.parametrize(("changes", "allowed"), [({"replicas": 3}, True), ({"serviceName": "s"}, False)])
def test_most_of_a_stateful_set_is_fixed(changes: dict[str, Any], allowed: bool) -> None:
    made, _ = create("StatefulSet", workload())
    errors = update("StatefulSet", made, {"spec": changes})[1]
    assert [error.reason for error in errors] == ([] if allowed else ["FieldValueForbidden"])


def test_volumes_of_claims_may_be_mounted() -> None:
    body = workload(volumeClaimTemplates=[{"metadata": {"name": "v"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}])  # fmt: skip
    body["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/v"}]
    assert not create("StatefulSet", body)[1]


def test_negative_history_of_a_stateful_set_warns() -> None:
    made, errors = create("StatefulSet", workload(revisionHistoryLimit=-1))
    assert not errors
    assert (
        hooks("StatefulSet").warn_create(made)[-1].startswith("spec.revisionHistoryLimit: a negative value retains all")
    )


def test_revision_data_is_an_object_for_ever() -> None:
    made, errors = create("ControllerRevision", {"metadata": {"name": "x"}, "revision": 1, "data": {"b": 1, "a": 2}})
    assert not errors
    problem = 'data: Invalid value: {"b":3,"a":2}: field is immutable'
    assert texts(update("ControllerRevision", made, {"data": {"b": 3}})[1]) == [problem]


def test_scale_shows_replicas_and_the_selector_as_text() -> None:
    made, _ = create("Deployment", workload(replicas=2))
    made["status"] = {"replicas": 1}
    scale = scale_of(made)
    assert (scale["spec"], scale["status"]) == ({"replicas": 2}, {"replicas": 1, "selector": "a=b"})


def test_scale_of_a_replication_controller_has_plain_labels() -> None:
    controller = {"metadata": {"name": "x"}, "spec": {"replicas": 0, "selector": {"c": "d", "a": "b"}}}
    scale = scale_of(controller)
    assert (scale["spec"], scale["status"]) == ({}, {"replicas": 0, "selector": "a=b,c=d"})


def test_scaling_writes_replicas_and_the_version_to_match() -> None:
    made, _ = create("Deployment", workload(replicas=2))
    scale = scale_of(made)
    scale["spec"], scale["metadata"]["resourceVersion"] = {"replicas": 5}, "7"
    apply_scale(made, scale)
    assert (made["spec"]["replicas"], made["metadata"]["resourceVersion"]) == (5, "7")


def test_negative_scale() -> None:
    scale = {"metadata": {"name": "x", "namespace": "n"}, "spec": {"replicas": -1}}
    assert texts(validate_scale(scale)) == ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet"])
def test_scaling_is_an_update_of_the_object(kind: str) -> None:
    made, _ = create(kind, workload(replicas=2))
    new, errors = update(kind, made, {"spec": {"replicas": 3}}, "scale")
    assert not errors
    assert (new["spec"]["replicas"], new["metadata"]["generation"]) == (3, 2)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({}, []),
        ([], ["data must be a valid JSON object"]),
        (None, ["data is mandatory"]),
        (0, ["data must be a valid JSON object"]),
    ],
)
def test_revision_data_may_be_empty_but_is_an_object(data: object, problem: list[str]) -> None:
    _, errors = create("ControllerRevision", {"metadata": {"name": "x"}, "revision": 1, "data": data})
    assert [error.detail for error in errors] == problem
