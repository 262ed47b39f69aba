"""Updating Jobs: what is immutable, what a suspended Job allows, generation, optimistic locking."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..model import JSON_PATCH, STRATEGIC, Scenario, Step, get, patch, post, put, scenario
from ._objects import JOBS, cases, having, job, metadata, pod_spec

J = f"{JOBS}/j"
GATES = {"schedulingGates": [{"name": "example.com/g"}]}
AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}]
        }
    }
}
POD_AFFINITY = {
    "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "k", "labelSelector": {}}]}
}


def _template(**spec: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": spec}}}


TEMPLATE_CHANGES = [
    _template(nodeSelector={"a": "b"}),
    _template(tolerations=[{"key": "k", "operator": "Exists"}]),
    _template(affinity=AFFINITY),
    _template(affinity=POD_AFFINITY),
    _template(affinity=None),
    {"spec": {"template": {"metadata": {"annotations": {"a": "b"}}}}},
    {"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}},
    _template(schedulingGates=[]),
    _template(schedulingGates=[{"name": "example.com/h"}]),
    _template(containers=[{"name": "c", "image": "img:2"}]),
    _template(priorityClassName="x"),
    _template(terminationGracePeriodSeconds=5),
    _template(containers=[{"name": "c", "image": "img:1", "resources": {"requests": {"cpu": "1"}}}]),
    _template(restartPolicy="OnFailure"),
]
SPEC_CHANGES: list[dict[str, Any]] = [
    {"parallelism": 5},
    {"parallelism": None},
    {"parallelism": -1},
    {"suspend": True},
    {"suspend": False},
    {"activeDeadlineSeconds": 9},
    {"activeDeadlineSeconds": None},
    {"ttlSecondsAfterFinished": 9},
    {"backoffLimit": 9},
    {"backoffLimit": None},
    {"maxFailedIndexes": 1},
    {"podReplacementPolicy": "Failed"},
    {"manualSelector": True},
    {"manualSelector": None},
    {"completions": 2},
    {"completions": None},
    {"completionMode": "Indexed"},
    {"selector": None},
    {"selector": {"matchLabels": {"x": "y"}}},
    {"managedBy": "b.io/y"},
    {"managedBy": None},
    {"managedBy": ""},
    {"podFailurePolicy": {"rules": []}},
    {"backoffLimitPerIndex": 1},
    {"successPolicy": {"rules": [{"succeededCount": 1}]}},
    {"template": None},
    {"suspend": "yes"},
    {"parallelism": "5"},
    {"parallelism": 1.5},
]


def _metadata_changes() -> Iterator[Step]:
    for change in cases(
        {"labels": {"a": "b"}},
        {"labels": None},
        {"annotations": {"a": "b"}},
        {"annotations": {"a": None}},
        {"name": "other"},
        {"namespace": "other"},
        {"uid": "u"},
        {"generation": 50},
        {"resourceVersion": "1"},
        {"resourceVersion": ""},
        {"resourceVersion": "abc"},
        {"creationTimestamp": None},
        {"creationTimestamp": "2020-01-01T00:00:00Z"},
        {"deletionTimestamp": "2020-01-01T00:00:00Z"},
        {"finalizers": ["bad"]},
        {"finalizers": ["example.com/f"]},
        {"finalizers": None},
        {"finalizers": ["orphan", "foregroundDeletion"]},
        {"labels": {"bad key": "x"}},
        {"labels": {"k": "x" * 64}},
        {"annotations": {"bad key": "x"}},
        {"ownerReferences": [{}]},
        {"generateName": "x-"},
        {"managedFields": []},
        {"managedFields": None},
        {
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True},
                {"apiVersion": "v1", "kind": "Pod", "name": "q", "uid": "w", "controller": True},
            ]
        },
    ):
        yield patch(J, {"metadata": change})


def _puts() -> Iterator[Step]:
    yield post(JOBS, job(), capture={"uid": "metadata.uid", "rv": "metadata.resourceVersion"})
    yield put(J, job())
    yield put(J, job(parallelism=2))
    full = having(
        job(parallelism=3), {"matchLabels": {"batch.kubernetes.io/controller-uid": "{{uid}}"}}, "spec", "selector"
    )
    full["spec"]["template"] = {
        "spec": pod_spec(restartPolicy="Never"),
        "metadata": {
            "labels": {
                "batch.kubernetes.io/controller-uid": "{{uid}}",
                "batch.kubernetes.io/job-name": "j",
                "controller-uid": "{{uid}}",
                "job-name": "j",
            }
        },
    }
    yield put(J, full, capture={"rv2": "metadata.resourceVersion"})
    yield put(J, full)
    for change in (
        {"resourceVersion": "{{rv}}"},
        {"resourceVersion": "{{rv2}}"},
        {"resourceVersion": "abc"},
        {"uid": "u"},
        {"uid": "{{uid}}"},
        {"resourceVersion": "0"},
        {"namespace": "other"},
        {"name": "other"},
        {"name": ""},
    ):
        yield put(J, metadata(full, **change))
    yield put(J + "?dryRun=All", having(full, 7, "spec", "parallelism"))
    yield put(J, {**full, "status": {"active": 4}})
    yield put(J, "null")
    yield put(J, {})
    yield put(JOBS, full)
    yield put(f"{JOBS}/missing", metadata(full, name="missing"))


def scenarios() -> Iterator[Scenario]:
    yield scenario(
        "jobs-update-spec", [post(JOBS, job()), *(patch(J, {"spec": change}) for change in SPEC_CHANGES), get(J)]
    )
    yield scenario("jobs-update-metadata", [post(JOBS, job()), *_metadata_changes(), get(J)])
    yield scenario("jobs-update-put", _puts())
    suspended = job(suspend=True, template={"spec": pod_spec(restartPolicy="Never", **GATES)})
    yield scenario(
        "jobs-update-template-running", [post(JOBS, job()), *(patch(J, c, STRATEGIC) for c in TEMPLATE_CHANGES)]
    )
    yield scenario(
        "jobs-update-template-suspended", [post(JOBS, suspended), *(patch(J, c, STRATEGIC) for c in TEMPLATE_CHANGES)]
    )
    started = {"status": {"startTime": "2024-01-01T00:00:00Z"}}
    yield scenario(
        "jobs-update-template-resuspended",
        [post(JOBS, suspended), patch(J + "/status", started), *(patch(J, c, STRATEGIC) for c in TEMPLATE_CHANGES)],
    )
    indexed = job(completionMode="Indexed", completions=3, parallelism=3, backoffLimitPerIndex=1)
    yield scenario(
        "jobs-update-indexed",
        [
            post(JOBS, indexed),
            *(
                patch(J, {"spec": change})
                for change in (
                    {"completions": 4},
                    {"completions": 4, "parallelism": 4},
                    {"completions": 2, "parallelism": 3},
                    {"parallelism": 2},
                    {"completions": None},
                    {"completions": None, "parallelism": None},
                    {"maxFailedIndexes": 2},
                    {"maxFailedIndexes": 9},
                    {"backoffLimitPerIndex": 2},
                    {"backoffLimitPerIndex": None},
                    {"completionMode": "NonIndexed"},
                    {"completions": 2, "parallelism": 2},
                    {"completions": 2147483647, "parallelism": 2147483647},
                )
            ),
        ],
    )
    yield scenario(
        "jobs-update-resume",
        [
            post(JOBS, suspended),
            patch(J, {"spec": {"suspend": False, "template": {"metadata": {"annotations": {"x": "y"}}}}}),
            patch(J, {"spec": {"suspend": True, "template": {"metadata": {"annotations": {"x": "z"}}}}}),
            patch(J, [{"op": "replace", "path": "/spec/suspend", "value": True}], JSON_PATCH),
            patch(J, {"spec": {"template": {"metadata": {"annotations": {"x": "z"}}}}}),
            patch(J, {"spec": {"suspend": False, "template": {"spec": {"nodeSelector": {"k": "v"}}}}}),
        ],
    )
