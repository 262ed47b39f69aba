"""Kinds and corners that other scenarios pass by: older versions of a group, second requests, cross-namespace paths."""

from __future__ import annotations

from collections.abc import Iterator

from ..model import (
    JSON_PATCH,
    MERGE,
    PARTIAL,
    PARTIAL_LIST,
    TABLE,
    Scenario,
    Step,
    apply,
    as_user,
    delete,
    get,
    patch,
    post,
    put,
    scenario,
)
from ._kinds import EVERY, NAMESPACED, Kind
from ._objects import (
    CONFIGMAPS,
    CORE,
    CRONJOBS,
    DEPLOYMENTS,
    JOBS,
    PODS,
    configmap,
    cronjob,
    deployment,
    job,
    metadata,
    pod,
)


def _locking(kind: Kind) -> Iterator[Step]:
    """Optimistic locking, conflicts and preconditions are the same machinery for every kind, with names of its own."""
    yield post(kind.collection, kind.body, capture={"uid": "metadata.uid", "rv": "metadata.resourceVersion"})
    yield patch(kind.path, {"metadata": {"annotations": {"n": "1"}}})
    yield put(kind.path, metadata(kind.body, resourceVersion="{{rv}}"))
    yield put(kind.path, metadata(kind.body, uid="other"))
    yield patch(kind.path, {"metadata": {"resourceVersion": "{{rv}}", "labels": {"x": "y"}}})
    yield patch(kind.path, {"metadata": {"uid": "other"}})
    yield patch(kind.path, {"metadata": {"name": "other"}})
    yield patch(kind.path, {"spec": "text", "data": "text", "rules": "text", "webhooks": "text", "subsets": "text"})
    yield patch(kind.path, [{"op": "test", "path": "/metadata/name", "value": "no"}], JSON_PATCH)
    yield delete(kind.path, {"preconditions": {"uid": "other"}})
    yield delete(kind.path, {"preconditions": {"resourceVersion": "{{rv}}"}})
    yield patch(kind.path, {"metadata": {"finalizers": ["a.b/c"]}})
    yield delete(kind.path, {"propagationPolicy": "Background"})
    yield post(kind.collection, kind.body)
    yield patch(kind.path, {"metadata": {"finalizers": ["a.b/c", "d.e/f"]}})
    yield get(kind.path, TABLE)
    yield patch(kind.path, {"metadata": {"finalizers": None}})
    yield get(kind.path)


def _refusals(kind: Kind) -> Iterator[Step]:
    for step in (
        get(kind.collection),
        get(kind.path),
        post(kind.collection, kind.body),
        delete(kind.path),
        get(f"{kind.path}/status"),
    ):
        yield as_user(step, "nobody-{{run}}")
    yield post(kind.collection, {**kind.body, "kind": "Wrong"})
    yield post(kind.collection, "{")
    yield get(f"{kind.collection}?fieldSelector=spec.none=1")
    yield get(f"{kind.collection}?labelSelector=none%3Dx", PARTIAL_LIST)
    yield get(f"{kind.collection}?labelSelector=none%3Dx&limit=1", TABLE)
    yield delete(f"{kind.collection}?labelSelector=none%3Dx")
    yield put(f"{kind.path}/status", kind.body)
    yield patch(f"{kind.path}/status", {"status": {}})
    yield apply(f"{kind.path}/status", kind.body)


def _generated() -> Iterator[Step]:
    for kind in NAMESPACED:
        if kind.controlled:
            continue
        body = {**kind.body, "metadata": {"generateName": "gen-"}}
        yield post(f"{kind.collection}?dryRun=All", body)


def _autoscaling() -> Iterator[Step]:
    v1, v2 = (f"/apis/autoscaling/{v}/namespaces/{{{{ns}}}}/horizontalpodautoscalers" for v in ("v1", "v2"))
    spec = {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}}
    yield post(v1, {"metadata": {"name": "a"}, "spec": {**spec, "targetCPUUtilizationPercentage": 50}})
    yield get(f"{v2}/a")
    yield get(f"{v1}/a")
    yield patch(
        f"{v2}/a",
        {
            "spec": {
                "metrics": [
                    {
                        "type": "Resource",
                        "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 60}},
                    }
                ]
            }
        },
    )
    yield get(f"{v1}/a")
    yield get(v1, TABLE)
    yield apply(
        f"{v1}/a",
        {
            "apiVersion": "autoscaling/v1",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "a"},
            "spec": {"minReplicas": 2},
        },
        force=True,
    )


def _ownership_through_the_life_of_a_job() -> Iterator[Step]:
    j = f"{JOBS}/j"
    head = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
    yield post(f"{JOBS}?fieldManager=creator", job(suspend=True))
    yield apply(j, {**head, "metadata": {"name": "j", "labels": {"q": "1"}}}, "queue")
    yield patch(f"{j}?fieldManager=resumer", {"spec": {"suspend": False}}, MERGE)
    yield patch(f"{j}/status?fieldManager=ctl", {"status": {"startTime": "2024-01-01T00:00:00Z", "active": 1}}, MERGE)
    yield apply(f"{j}/status", {**head, "status": {"active": 1, "ready": 1}}, "ctl2")
    yield apply(f"{j}/status", {**head, "status": {"active": 1}}, "ctl2")
    yield apply(f"{j}/status", {**head, "status": {"active": 0}}, "ctl2", True)
    yield apply(j, {**head, "spec": {"suspend": False}}, "queue")
    yield apply(j, {**head, "spec": {"parallelism": 1}}, "queue")
    yield apply(j, head, "queue")
    yield put(
        f"{j}/status?fieldManager=putter", {**job(), "status": {"startTime": "2024-01-01T00:00:00Z", "active": 2}}
    )
    yield patch(
        f"{j}?fieldManager=creator", {"metadata": {"annotations": {"a": "b"}}, "spec": {"backoffLimit": 9}}, MERGE
    )
    yield patch(f"{j}?fieldManager=creator", {"metadata": {"annotations": None}}, MERGE)
    yield get(j, PARTIAL)
    yield get(j)


def _cluster_wide() -> Iterator[Step]:
    yield post(CONFIGMAPS, metadata(configmap("a"), labels={"run": "{{run}}"}))
    yield post(JOBS, metadata(job("a"), labels={"run": "{{run}}"}))
    yield post(CRONJOBS, metadata(cronjob("a"), labels={"run": "{{run}}"}))
    yield post(DEPLOYMENTS, metadata(deployment("a"), labels={"run": "{{run}}"}))
    yield post(PODS, metadata(pod("a"), labels={"run": "{{run}}"}), capture={"rv": "metadata.resourceVersion"})
    for path in (
        "/api/v1/configmaps",
        "/apis/batch/v1/jobs",
        "/apis/batch/v1/cronjobs",
        "/apis/apps/v1/deployments",
        "/api/v1/pods",
    ):
        yield get(f"{path}?labelSelector=run%3D{{{{run}}}}")
        yield get(f"{path}?labelSelector=run%3D{{{{run}}}}", TABLE)
        yield get(f"{path}?labelSelector=run%3D{{{{run}}}}&watch=1&timeoutSeconds=1")
        yield get(
            f"{path}?labelSelector=run%3D{{{{run}}}}&fieldSelector=metadata.namespace%3D{{{{ns}}}}&limit=1",
            PARTIAL_LIST,
        )
        yield delete(path)
    yield get("/api/v1/watch/pods?labelSelector=run%3D{{run}}&timeoutSeconds=1&resourceVersion=0")
    yield get(f"{CORE}")
    yield get(f"{CORE}/")
    yield get(f"{CORE}/status")


def _revision_with_spaces() -> Iterator[Step]:
    """A real server keeps the text of `data`, but a patch reads and writes it without spaces."""
    path = "/apis/apps/v1/namespaces/{{ns}}/controllerrevisions"
    yield post(path, '{"metadata": {"name": "x"}, "revision": 1, "data": {"a": 1}}')
    yield patch(f"{path}/x", {"revision": 2})


def scenarios() -> Iterator[Scenario]:
    for kind in EVERY:
        group = str(kind.body["apiVersion"]).rpartition("/")[0].split(".")[0] or "core"
        yield scenario(f"more-refusals-{group}-{kind.plural}", _refusals(kind))
        if not kind.controlled and kind.plural != "namespaces":
            yield scenario(f"more-locking-{group}-{kind.plural}", _locking(kind), [kind.path] if kind.cluster else [])
    yield scenario("more-generated-names", _generated())
    yield scenario("more-autoscaling-versions", _autoscaling())
    yield scenario("more-job-ownership", _ownership_through_the_life_of_a_job())
    yield scenario("more-cluster-wide", _cluster_wide())
    yield scenario("more-revision-with-spaces", _revision_with_spaces())
