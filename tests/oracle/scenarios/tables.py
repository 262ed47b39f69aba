"""Tables of objects in many states, as `kubectl get` and `get -o wide` show them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..model import TABLE, Scenario, Step, get, patch, post, scenario
from ._objects import (
    CORE,
    CRONJOBS,
    DEPLOYMENTS,
    JOBS,
    PODS,
    SERVICES,
    cases,
    container,
    cronjob,
    deployment,
    job,
    metadata,
    pod,
    service,
)

KUBECTL = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)
T1, T2 = "2024-01-01T00:00:00Z", "2024-01-01T01:10:05Z"


def _true(*types: str) -> list[dict[str, Any]]:
    return [{"type": t, "status": "True"} for t in types]


def _jobs() -> Iterator[Step]:
    done = {
        "startTime": T1,
        "completionTime": T2,
        "succeeded": 3,
        "conditions": _true("SuccessCriteriaMet", "Complete"),
    }
    statuses: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({}, {}),
        ({"completions": 3}, {"startTime": T1, "active": 2}),
        ({"completions": 3, "parallelism": 2}, done),
        ({"parallelism": 3}, {"succeeded": 1}),
        ({"parallelism": 1}, {}),
        ({"suspend": True}, {"conditions": _true("Suspended")}),
        ({}, {"startTime": T1, "failed": 1, "conditions": _true("FailureTarget", "Failed")}),
        ({}, {"startTime": T1, "conditions": _true("FailureTarget")}),
        ({}, {"startTime": T1, "conditions": _true("SuccessCriteriaMet")}),
        ({"completionMode": "Indexed", "completions": 4}, {"completedIndexes": "0,2", "succeeded": 2}),
        ({"completions": 0}, {}),
        ({}, {"terminating": 1, "startTime": T1}),
    ]
    for number, (spec, status) in enumerate(statuses):
        yield post(JOBS, job(f"j{number:02}", **spec))
        if status:
            yield patch(f"{JOBS}/j{number:02}/status", {"status": status})
    two = [container(name="a", image="x:1"), container(name="b", image="y:2")]
    yield post(JOBS, job("two", template={"spec": {"containers": two, "restartPolicy": "Never"}}))
    yield get(f"{JOBS}?limit=500", KUBECTL)
    yield get(f"{JOBS}/j02", KUBECTL)
    yield get(f"{JOBS}?includeObject=None", TABLE)
    yield get(f"{JOBS}?includeObject=Object&limit=2", TABLE)
    yield get("/apis/batch/v1/jobs?labelSelector=none=x", TABLE)


def _pods() -> Iterator[Step]:
    def status(name: str, **state: Any) -> dict[str, Any]:
        return {"name": name, "ready": False, "restartCount": 0, "image": "i", "imageID": "", "state": state}

    terminated = {"exitCode": 1, "finishedAt": T2}
    cases: list[dict[str, Any]] = [
        {
            "phase": "Running",
            "containerStatuses": [
                {
                    **status("c", running={"startedAt": T1}),
                    "ready": True,
                    "restartCount": 3,
                    "lastState": {"terminated": terminated},
                }
            ],
            "podIP": "1.2.3.4",
            "podIPs": [{"ip": "1.2.3.4"}],
        },
        {"phase": "Pending", "containerStatuses": [status("c", waiting={"reason": "ContainerCreating"})]},
        {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]},
        {"phase": "Failed", "reason": "Evicted"},
        {"phase": "Failed", "containerStatuses": [status("c", terminated={**terminated, "reason": "OOMKilled"})]},
        {"phase": "Failed", "containerStatuses": [status("c", terminated={"exitCode": 0, "signal": 9})]},
        {"phase": "Failed", "containerStatuses": [status("c", terminated={"exitCode": 7})]},
        {"phase": "Succeeded", "containerStatuses": [status("c", terminated={"exitCode": 0, "reason": "Completed"})]},
        {"phase": "Pending", "initContainerStatuses": [status("i", waiting={"reason": "CrashLoopBackOff"})]},
        {"phase": "Pending", "initContainerStatuses": [status("i", running={"startedAt": T1})]},
        {"phase": "Pending", "initContainerStatuses": [status("i", terminated={"exitCode": 2})]},
        {
            "phase": "Running",
            "nominatedNodeName": "nom",
            "conditions": [{"type": "Ready", "status": "True"}, {"type": "a.b/gate", "status": "True"}],
            "containerStatuses": [status("c", running={"startedAt": T1})],
        },
        {"phase": "Unknown"},
        {"phase": "Odd"},
        {"reason": "NodeLost"},
    ]
    for number, one in enumerate(cases):
        init = {"initContainers": [container(name="i")]} if "initContainerStatuses" in one else {}
        gates = {"readinessGates": [{"conditionType": "a.b/gate"}]} if "nominatedNodeName" in one else {}
        yield post(PODS, pod(f"p{number:02}", nodeName="n-{{run}}", restartPolicy="Never", **init, **gates))
        yield patch(f"{PODS}/p{number:02}/status", {"status": one})
        yield get(f"{PODS}/p{number:02}?includeObject=None", TABLE)
    yield get(f"{PODS}?limit=500&includeObject=None", KUBECTL)


def _others() -> Iterator[Step]:
    yield post(CRONJOBS, cronjob("a", timeZone="Europe/Berlin"))
    yield patch(f"{CRONJOBS}/a/status", {"status": {"lastScheduleTime": T1}})
    yield get(CRONJOBS, KUBECTL)
    yield post(DEPLOYMENTS, deployment(replicas=3))
    yield patch(
        f"{DEPLOYMENTS}/d/status",
        {"status": {"replicas": 3, "readyReplicas": 2, "updatedReplicas": 1, "availableReplicas": 2}},
    )
    yield patch(f"{DEPLOYMENTS}/d/status", {"status": {"readyReplicas": 5}})
    yield patch(f"{DEPLOYMENTS}/d/status", {"status": {"replicas": -1}})
    yield patch(f"{DEPLOYMENTS}/d/status", {"status": {"conditions": [{"type": "Available", "status": "True"}]}})
    yield get(DEPLOYMENTS, KUBECTL)
    for plural, kind, status in (
        ("replicasets", "ReplicaSet", {"replicas": 2, "readyReplicas": 1}),
        ("statefulsets", "StatefulSet", {"replicas": 2, "readyReplicas": 1}),
        (
            "daemonsets",
            "DaemonSet",
            {
                "desiredNumberScheduled": 3,
                "currentNumberScheduled": 2,
                "numberReady": 1,
                "numberAvailable": 1,
                "updatedNumberScheduled": 1,
                "numberMisscheduled": 0,
            },
        ),
    ):
        path = f"/apis/apps/v1/namespaces/{{{{ns}}}}/{plural}"
        yield post(path, {**deployment("w"), "kind": kind})
        yield patch(f"{path}/w/status", {"status": status})
        yield patch(f"{path}/w/status", {"status": dict.fromkeys(status, -1)})
        yield get(path, KUBECTL)
    for number, spec in enumerate(
        cases(
            {},
            {"clusterIP": "None"},
            {"type": "ExternalName", "externalName": "a.b", "ports": None},
            {"externalIPs": ["4.3.2.1"]},
            {"ports": [{"port": 80, "name": "a"}, {"port": 53, "name": "b", "protocol": "UDP"}]},
            {"selector": None},
        )
    ):
        yield post(SERVICES, service(f"s{number}", **spec))
    yield get(SERVICES, KUBECTL)
    yield post(f"{CORE}/secrets", {"metadata": {"name": "s"}, "stringData": {"a": "1", "b": "2"}})
    yield get(f"{CORE}/secrets", KUBECTL)
    yield get(f"{CORE}/serviceaccounts", KUBECTL)
    yield get(f"{CORE}/configmaps", KUBECTL)
    yield post(
        f"{CORE}/endpoints",
        {
            "metadata": {"name": "e"},
            "subsets": [
                {
                    "addresses": [{"ip": "1.1.1.1"}, {"ip": "1.1.1.2"}, {"ip": "1.1.1.3"}, {"ip": "1.1.1.4"}],
                    "ports": [{"port": 80}],
                }
            ],
        },
    )
    yield get(f"{CORE}/endpoints", KUBECTL)
    yield post(
        "/apis/networking.k8s.io/v1/namespaces/{{ns}}/ingresses",
        {
            "metadata": {"name": "i"},
            "spec": {
                "ingressClassName": "c",
                "tls": [{"hosts": ["a.b"]}],
                "rules": [
                    {
                        "host": "a.b",
                        "http": {
                            "paths": [
                                {
                                    "path": "/",
                                    "pathType": "Prefix",
                                    "backend": {"service": {"name": "s", "port": {"number": 80}}},
                                }
                            ]
                        },
                    },
                    {"host": "c.d"},
                ],
            },
        },
    )
    yield get("/apis/networking.k8s.io/v1/namespaces/{{ns}}/ingresses", KUBECTL)
    yield post(
        "/apis/networking.k8s.io/v1/namespaces/{{ns}}/networkpolicies",
        {"metadata": {"name": "n"}, "spec": {"podSelector": {"matchLabels": {"a": "b"}}}},
    )
    yield get("/apis/networking.k8s.io/v1/namespaces/{{ns}}/networkpolicies", KUBECTL)
    yield post(
        "/apis/rbac.authorization.k8s.io/v1/namespaces/{{ns}}/rolebindings",
        {
            "metadata": {"name": "r"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "x"},
            "subjects": [
                {"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"},
                {"kind": "ServiceAccount", "name": "sa", "namespace": "n"},
                {"kind": "Group", "name": "g", "apiGroup": "rbac.authorization.k8s.io"},
            ],
        },
    )
    yield get("/apis/rbac.authorization.k8s.io/v1/namespaces/{{ns}}/rolebindings", KUBECTL)
    yield post(
        f"{CORE}/events",
        metadata(
            {
                "involvedObject": {
                    "kind": "Pod",
                    "name": "p",
                    "namespace": "{{ns}}",
                    "fieldPath": "spec.containers{c}",
                },
                "reason": "R",
                "message": "  spaced\nm ",
                "type": "Warning",
                "source": {"component": "c", "host": "h"},
                "count": 4,
                "firstTimestamp": T1,
                "lastTimestamp": T2,
            },
            name="e1",
        ),
    )
    ours = "fieldSelector=metadata.name=e1"  # a real server repairs the addresses of services now and then, and says so
    yield get(f"{CORE}/events?limit=500&{ours}", KUBECTL)
    yield get(f"/apis/events.k8s.io/v1/namespaces/{{{{ns}}}}/events?{ours}", KUBECTL)
    yield get("/api/v1/componentstatuses", KUBECTL)
    yield get("/apis/scheduling.k8s.io/v1/priorityclasses?labelSelector=none=x", KUBECTL)
    for path in (
        "/api/v1/namespaces/{{ns}}/replicationcontrollers",
        "/api/v1/namespaces/{{ns}}/resourcequotas",
        "/api/v1/namespaces/{{ns}}/persistentvolumeclaims",
        "/api/v1/namespaces/{{ns}}/podtemplates",
        "/apis/policy/v1/namespaces/{{ns}}/poddisruptionbudgets",
        "/apis/autoscaling/v2/namespaces/{{ns}}/horizontalpodautoscalers",
    ):
        yield get(path, KUBECTL)
    for name in ("system-node-critical", "system-cluster-critical"):
        yield get(f"/apis/scheduling.k8s.io/v1/priorityclasses/{name}")
        yield get(f"/apis/scheduling.k8s.io/v1/priorityclasses/{name}", TABLE)


def scenarios() -> Iterator[Scenario]:
    yield scenario("tables-jobs", _jobs())
    yield scenario("tables-pods", _pods())
    yield scenario("tables-others", _others())
