"""Requests in the order and form in which kubectl and common clients send them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..model import (
    APPLY,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    Scenario,
    Step,
    delete,
    get,
    patch,
    post,
    put,
    request,
    scenario,
)
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

LAST = "kubectl.kubernetes.io/last-applied-configuration"
AGENT = {"User-Agent": "kubectl/v1.35.4 (linux/amd64) kubernetes/abc"}
CREATE = "fieldManager=kubectl-create&fieldValidation=Strict"


def _applied(body: dict[str, Any]) -> dict[str, Any]:
    return metadata(body, annotations={LAST: json.dumps(body) + "\n"})


def _client_side_apply() -> Iterator[Step]:
    query = "fieldManager=kubectl-client-side-apply&fieldValidation=Strict"
    body = deployment(replicas=1)
    yield get(f"{DEPLOYMENTS}/d", headers=AGENT)
    yield post(f"{DEPLOYMENTS}?{query}", _applied(body), headers=AGENT)
    yield get(f"{DEPLOYMENTS}/d", headers=AGENT)
    change = {
        "metadata": {"annotations": {LAST: "x\n"}},
        "spec": {
            "replicas": 2,
            "template": {
                "spec": {
                    "$setElementOrder/containers": [{"name": "c"}],
                    "containers": [{"name": "c", "image": "img:2"}],
                }
            },
        },
    }
    yield patch(f"{DEPLOYMENTS}/d?{query}", change, STRATEGIC, headers=AGENT)
    yield patch(
        f"{DEPLOYMENTS}/d?fieldManager=kubectl-label", {"metadata": {"labels": {"a": "b"}}}, MERGE, headers=AGENT
    )
    yield patch(
        f"{DEPLOYMENTS}/d?fieldManager=kubectl-annotate",
        {"metadata": {"annotations": {"n": "1"}}},
        MERGE,
        headers=AGENT,
    )
    yield patch(
        f"{DEPLOYMENTS}/d?fieldManager=kubectl-rollout",
        {
            "spec": {
                "template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "2024-01-01T00:00:00Z"}}}
            }
        },
        STRATEGIC,
        headers=AGENT,
    )
    yield patch(
        f"{DEPLOYMENTS}/d?fieldManager=kubectl-set",
        {
            "spec": {
                "template": {
                    "spec": {
                        "$setElementOrder/containers": [{"name": "c"}],
                        "containers": [{"image": "img:3", "name": "c"}],
                    }
                }
            }
        },
        STRATEGIC,
        headers=AGENT,
    )
    yield patch(f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 4}}, MERGE, headers=AGENT)
    yield request(
        "PATCH",
        f"{DEPLOYMENTS}/d?fieldManager=kubectl&fieldValidation=Strict&force=false",
        json.dumps(body),
        APPLY,
        headers=AGENT,
        unordered=True,
    )
    yield request(
        "PATCH",
        f"{DEPLOYMENTS}/d?fieldManager=kubectl&fieldValidation=Strict&force=true",
        json.dumps(body),
        APPLY,
        headers=AGENT,
    )
    yield request(
        "PATCH",
        f"{DEPLOYMENTS}/d?dryRun=All&fieldManager=kubectl&fieldValidation=Strict&force=false",
        json.dumps(deployment(replicas=9)),
        APPLY,
        headers=AGENT,
    )
    yield patch(
        f"{DEPLOYMENTS}/d?fieldManager=kubectl-edit&fieldValidation=Strict",
        {"spec": {"replicas": 6}},
        STRATEGIC,
        headers=AGENT,
    )
    yield patch(
        f"{DEPLOYMENTS}/d?fieldManager=kubectl-client-side-apply",
        [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}],
        JSON_PATCH,
        headers=AGENT,
    )
    yield delete(f"{DEPLOYMENTS}/d", {"propagationPolicy": "Background"}, headers=AGENT)


def _creates() -> Iterator[Step]:
    yield post(f"{JOBS}?{CREATE}", metadata(job("hi"), creationTimestamp=None) | {"status": {}}, headers=AGENT)
    yield post(f"{JOBS}?{CREATE}&dryRun=All", {**job("dry"), "spec": {**job()["spec"], "colour": 1}}, headers=AGENT)
    yield post(f"{CRONJOBS}?{CREATE}", {**cronjob("hi"), "status": {}}, headers=AGENT)
    yield post(f"{CONFIGMAPS}?{CREATE}", metadata(configmap("hi"), creationTimestamp=None), headers=AGENT)
    yield post(
        f"{CORE}/secrets?{CREATE}",
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "hi", "creationTimestamp": None},
            "type": "Opaque",
            "data": {"a": "Yg=="},
        },
        headers=AGENT,
    )
    yield post(
        f"{CORE}/serviceaccounts?{CREATE}",
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "hi", "creationTimestamp": None}},
        headers=AGENT,
    )
    yield post(
        f"/apis/rbac.authorization.k8s.io/v1/namespaces/{{{{ns}}}}/roles?{CREATE}",
        {
            "metadata": {"name": "hi", "creationTimestamp": None},
            "rules": [{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}],
        },
        headers=AGENT,
    )
    yield post(
        f"/apis/rbac.authorization.k8s.io/v1/namespaces/{{{{ns}}}}/rolebindings?{CREATE}",
        {
            "metadata": {"name": "hi"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "hi"},
            "subjects": [{"kind": "ServiceAccount", "name": "hi", "namespace": "{{ns}}"}],
        },
        headers=AGENT,
    )
    yield post(
        f"{CORE}/serviceaccounts/hi/token",
        {
            "spec": {"audiences": None, "expirationSeconds": 3600, "boundObjectRef": None},
            "status": {"token": "", "expirationTimestamp": None},
        },
        headers=AGENT,
    )
    yield post(f"{PODS}?fieldManager=kubectl-run", {**pod("hi"), "status": {}}, headers=AGENT)
    yield post(
        f"{CORE}/services?fieldManager=kubectl-expose",
        {
            "metadata": {"name": "hi"},
            "spec": {"ports": [{"port": 80, "targetPort": 80}], "selector": {"a": "b"}},
            "status": {"loadBalancer": {}},
        },
        headers=AGENT,
    )
    yield get(
        f"{CORE}/events?fieldSelector=involvedObject.name%3Dhi%2CinvolvedObject.namespace%3D{{{{ns}}}}"
        "%2CinvolvedObject.kind%3DJob&limit=500",
        headers=AGENT,
    )
    yield get(f"{JOBS}?fieldSelector=metadata.name%3Dhi&limit=1", headers=AGENT)
    yield get(
        f"{JOBS}?allowWatchBookmarks=true&fieldSelector=metadata.name%3Dhi"
        "&timeoutSeconds=1&watch=true&resourceVersion=0",
        headers=AGENT,
    )
    yield patch(f"{JOBS}/hi?fieldManager=kubectl-patch", {"spec": {"suspend": True}}, MERGE, headers=AGENT)
    yield delete(f"{JOBS}/hi", {"propagationPolicy": "Background"}, headers=AGENT)
    yield delete(f"{PODS}/hi", {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}, headers=AGENT)


def _python_client() -> Iterator[Step]:
    agent = {"User-Agent": "OpenAPI-Generator/35.0.0/python"}
    yield post(JOBS, job("py"), "", headers=agent)
    yield get(f"{JOBS}/py", headers={**agent, "Content-Type": "application/json", "Accept": "application/json"})
    yield put(f"{JOBS}/py", job("py", parallelism=2), "", headers=agent)
    yield patch(f"{JOBS}/py", {"spec": {"parallelism": 2}}, JSON_PATCH, headers=agent)
    yield patch(f"{JOBS}/py", {"spec": {"parallelism": 2}}, MERGE, headers=agent)
    yield get(f"{JOBS}?watch=True&timeoutSeconds=1", headers={**agent, "Accept": "application/json;stream=watch"})
    yield get(f"{JOBS}?limit=1&pretty=true", headers=agent)
    yield get(f"{JOBS}/py/status", headers=agent)
    yield delete(f"{JOBS}/py?propagationPolicy=Background&gracePeriodSeconds=0", headers=agent)
    yield delete(f"{JOBS}/py?propagationPolicy=Background", headers=agent)


def _operators() -> Iterator[Step]:
    j = f"{JOBS}/op"
    yield post(JOBS, job("op", suspend=True), capture={"rv": "metadata.resourceVersion", "uid": "metadata.uid"})
    yield patch(
        j,
        [
            {"op": "test", "path": "/metadata/resourceVersion", "value": "{{rv}}"},
            {"op": "add", "path": "/metadata/finalizers", "value": ["kopf.dev/x"]},
        ],
        JSON_PATCH,
        capture={"rv": "metadata.resourceVersion"},
    )
    yield patch(
        j,
        [
            {"op": "test", "path": "/metadata/resourceVersion", "value": "1"},
            {"op": "remove", "path": "/metadata/finalizers"},
        ],
        JSON_PATCH,
    )
    yield patch(
        f"{j}/status",
        {
            "metadata": {"resourceVersion": "{{rv}}"},
            "status": {
                "startTime": "2024-01-01T00:00:00Z",
                "active": 1,
                "conditions": [
                    {
                        "type": "Suspended",
                        "status": "False",
                        "lastProbeTime": None,
                        "lastTransitionTime": "2024-01-01T00:00:00Z",
                    }
                ],
            },
        },
    )
    yield patch(f"{j}/status", {"metadata": {"resourceVersion": "{{rv}}"}, "status": {"active": 2}})
    yield patch(j, {"metadata": {"uid": "{{uid}}", "ownerReferences": [{"$patch": "delete", "uid": "zzz"}]}}, STRATEGIC)
    yield patch(j, {"metadata": {"uid": "{{uid}}", "$deleteFromPrimitiveList/finalizers": ["kopf.dev/x"]}}, STRATEGIC)
    yield patch(
        j,
        {
            "spec": {
                "suspend": False,
                "template": {"metadata": {"labels": {"q": "r"}}, "spec": {"nodeSelector": {"a": "b"}}},
            }
        },
    )
    yield patch(
        f"{j}/status",
        {
            "status": {
                "active": None,
                "succeeded": 1,
                "completionTime": "2024-01-01T00:05:00Z",
                "conditions": [
                    {
                        "type": t,
                        "status": "True",
                        "lastProbeTime": "2024-01-01T00:05:00Z",
                        "lastTransitionTime": "2024-01-01T00:05:00Z",
                        "reason": "CompletionsReached",
                        "message": "m",
                    }
                    for t in ("SuccessCriteriaMet", "Complete")
                ],
            }
        },
    )
    yield patch(f"{j}/status", {"status": {"active": 1}})
    yield get(j)
    yield delete(j, {"preconditions": {"uid": "{{uid}}"}, "propagationPolicy": "Background"})


def scenarios() -> Iterator[Scenario]:
    yield scenario("flows-client-side-apply", _client_side_apply())
    yield scenario("flows-kubectl-creates", _creates())
    yield scenario("flows-python-client", _python_client())
    yield scenario("flows-operators", _operators())
