"""Kinds around Jobs: namespaces, events, leases, secrets, services, claims and volumes, quotas, scale, nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..model import JSON_PATCH, STRATEGIC, TABLE, Scenario, Step, apply, delete, get, patch, post, put, scenario
from ._objects import (
    CONFIGMAPS,
    CORE,
    DEPLOYMENTS,
    JOBS,
    LEASES,
    PODS,
    SECRETS,
    SERVICES,
    cases,
    configmap,
    deployment,
    having,
    job,
    metadata,
    pod,
    pod_spec,
    service,
    variants,
)

NAMESPACES = "/api/v1/namespaces"
EVENTS = f"{CORE}/events"
NEW_EVENTS = "/apis/events.k8s.io/v1/namespaces/{{ns}}/events"
CLAIMS = f"{CORE}/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"


def _namespaces() -> Iterator[Step]:
    name = "cmp-{{run}}-b"
    path = f"{NAMESPACES}/{name}"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    yield post(NAMESPACES, body)
    yield post(NAMESPACES, body)
    for bad in ("Bad_", "a" * 64, "a.b", "", "-a"):
        yield post(NAMESPACES, metadata(body, name=bad))
    yield post(NAMESPACES, {**metadata(body, name=name + "2"), "spec": {"finalizers": ["example.com/x"]}})
    yield post(NAMESPACES, {**metadata(body, name=name + "3"), "spec": {"finalizers": ["bad"]}})
    yield post(NAMESPACES, {**metadata(body, name=name + "4"), "status": {"phase": "Terminating"}})
    yield get(path, TABLE)
    yield patch(path, {"metadata": {"labels": {"kubernetes.io/metadata.name": "other"}}})
    yield patch(path, {"metadata": {"labels": {"kubernetes.io/metadata.name": None, "x": "y"}}})
    yield patch(path, {"spec": {"finalizers": []}})
    yield patch(path + "/status", {"status": {"phase": "Terminating"}})
    yield patch(path + "/status", {"status": {"conditions": [{"type": "X", "status": "True"}]}})
    yield put(path + "/finalize", {**body, "spec": {"finalizers": ["kubernetes", "example.com/y"]}})
    yield put(path + "/finalize", {**body, "spec": {"finalizers": ["bad"]}})
    yield put(path + "/finalize", {**body, "spec": {"finalizers": ["kubernetes"]}})
    yield patch(path + "/finalize", {})
    yield get(path + "/finalize")
    yield post(f"{path}/configmaps", configmap())
    yield delete(path + "?dryRun=All")
    yield delete(path)
    yield get(path)
    yield get(path, TABLE)
    yield post(f"{path}/configmaps", configmap("late"))
    yield post(f"{path}/pods", pod())
    yield apply(f"{path}/configmaps/late", {**configmap("late")})
    yield patch(f"{path}/configmaps/cm", {"data": {"x": "y"}})
    yield post(NAMESPACES, body)
    yield patch(path, {"metadata": {"labels": {"late": "x"}}})
    for reserved in ("default", "kube-system", "kube-public", "kube-node-lease"):
        yield get(f"{NAMESPACES}/{reserved}", TABLE)
        if reserved != "kube-node-lease":
            yield delete(f"{NAMESPACES}/{reserved}")
    yield delete(NAMESPACES)


def _event(**fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "{{ns}}"},
        "reason": "R",
        "message": "m",
        "type": "Normal",
        **fields,
    }


def _new_event(**fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "eventTime": "2024-01-01T00:00:00.000000Z",
        "action": "A",
        "reason": "R",
        "note": "m",
        "type": "Normal",
        "reportingController": "example.com/c",
        "reportingInstance": "i",
        "regarding": {"kind": "Pod", "name": "p", "namespace": "{{ns}}"},
        **fields,
    }


def _events() -> Iterator[Step]:
    for number, fields in enumerate(
        cases(
            {},
            {"type": "Odd"},
            {"involvedObject": {}},
            {"involvedObject": {"kind": "Node", "name": "n"}},
            {"involvedObject": {"namespace": "other"}},
            {"reason": ""},
            {"message": "x" * 2000},
            {"eventTime": "2024-01-01T00:00:00.000000Z"},
            {
                "firstTimestamp": "2024-01-01T00:00:00Z",
                "lastTimestamp": "2024-01-01T00:01:00Z",
                "count": 3,
                "source": {"component": "c", "host": "h"},
            },
            {"series": {"count": 2, "lastObservedTime": "2024-01-01T00:00:00.000000Z"}},
            {
                "eventTime": "2024-01-01T00:00:00.000000Z",
                "action": "A",
                "reportingComponent": "example.com/c",
                "reportingInstance": "i",
            },
            {"reportingComponent": "Bad Name", "eventTime": "2024-01-01T00:00:00.000000Z"},
            {"metadata": {"name": "Bad_"}},
        )
    ):
        yield post(EVENTS, {**metadata(_event(), name=f"e{number}"), **fields})
    for number, fields in enumerate(
        cases(
            {},
            {"type": "Odd"},
            {"note": "x" * 1025},
            {"action": ""},
            {"reason": ""},
            {"reportingController": ""},
            {"reportingInstance": "x" * 129},
            {"reportingInstance": ""},
            {"eventTime": None},
            {"regarding": {}},
            {"series": {"count": 1, "lastObservedTime": "2024-01-01T00:00:00.000000Z"}},
            {"series": {"count": 2, "lastObservedTime": "2024-01-01T00:00:00.000000Z"}},
            {"deprecatedCount": 5},
            {"deprecatedSource": {"component": "x"}},
            {"action": "x" * 129},
            {"reason": "x" * 129},
            {"reportingController": "Bad Name"},
            {"related": {"kind": "Node", "name": "n"}},
        )
    ):
        yield post(NEW_EVENTS, {**metadata(_new_event(), name=f"n{number}"), **fields})
    yield get(f"{NEW_EVENTS}/e0")
    yield get(f"{NEW_EVENTS}/e8")
    yield get(f"{EVENTS}/n0")
    yield get(EVENTS, TABLE)
    yield get(NEW_EVENTS, TABLE)
    yield patch(
        f"{NEW_EVENTS}/n0", {"series": {"count": 2, "lastObservedTime": "2024-01-01T00:00:00.000000Z"}}, STRATEGIC
    )
    yield patch(
        f"{NEW_EVENTS}/n0", {"series": {"count": 3, "lastObservedTime": "2024-01-01T00:01:00.000000Z"}}, STRATEGIC
    )
    yield patch(f"{NEW_EVENTS}/n0", {"note": "changed"})
    yield patch(f"{EVENTS}/e0", {"count": 2, "message": "new"})
    yield patch(f"{EVENTS}/n0", {"message": "new"})
    yield get(EVENTS + "?fieldSelector=involvedObject.kind=Pod,reason=R,type=Normal&limit=2")
    yield get(
        EVENTS
        + "?fieldSelector=involvedObject.name=none,source=c,reportingComponent=x,involvedObject.uid=u,"
        + "involvedObject.apiVersion=v,involvedObject.resourceVersion=1,involvedObject.fieldPath=x,"
        + "involvedObject.namespace=y"
    )
    yield get(NEW_EVENTS + "?fieldSelector=regarding.name=p&limit=1")
    yield delete(f"{NEW_EVENTS}/e0")
    yield delete(EVENTS + "?fieldSelector=reason=R")


def _leases() -> Iterator[Step]:
    t = "2024-01-01T00:00:00.000000Z"
    for number, spec in enumerate(
        (
            {},
            {
                "holderIdentity": "a",
                "leaseDurationSeconds": 15,
                "acquireTime": t,
                "renewTime": t,
                "leaseTransitions": 0,
            },
            {"leaseDurationSeconds": 0},
            {"leaseDurationSeconds": -1},
            {"leaseTransitions": -1},
            {"strategy": "OldestEmulationVersion"},
            {"strategy": "Bad"},
            {"preferredHolder": "x"},
            {"preferredHolder": "x", "strategy": "OldestEmulationVersion"},
            {"holderIdentity": ""},
        )
    ):
        yield post(LEASES, {"metadata": {"name": f"l{number}"}, "spec": spec})
    yield get(LEASES, TABLE)
    yield put(f"{LEASES}/l1", {"metadata": {"name": "l1"}, "spec": {"holderIdentity": "b"}})
    yield get(f"{LEASES}/l1?timeout=1.5s", capture={"rv": "metadata.resourceVersion"})
    yield put(
        f"{LEASES}/l1?timeout=5s",
        {
            "metadata": {"name": "l1", "resourceVersion": "{{rv}}"},
            "spec": {"holderIdentity": "b", "renewTime": "2024-01-01T00:00:01.5Z"},
        },
    )
    yield put(
        f"{LEASES}/l1?timeout=5s",
        {
            "metadata": {"name": "l1", "resourceVersion": "{{rv}}"},
            "spec": {"holderIdentity": "b", "renewTime": "2024-01-01T00:00:01.500000Z"},
        },
    )
    yield put(
        f"{LEASES}/l1", {"metadata": {"name": "l1", "resourceVersion": "{{rv}}"}, "spec": {"holderIdentity": "c"}}
    )
    yield put(f"{LEASES}/fresh", {"metadata": {"name": "fresh"}, "spec": {"holderIdentity": "c"}})
    yield patch(f"{LEASES}/l1", {"spec": {"renewTime": "2024-01-01T00:00:02.000000Z"}})
    yield patch(f"{LEASES}/l1", {"spec": None})


def _secrets() -> Iterator[Step]:
    for number, body in enumerate(
        cases(
            {},
            {"type": "Opaque", "data": {"a": "Yg=="}},
            {"stringData": {"a": "b", "": "c"}},
            {"data": {"bad key": "Yg=="}},
            {"data": {"..": "Yg=="}},
            {"data": {"a": "Yg=="}, "stringData": {"a": "z"}},
            {"type": "kubernetes.io/dockercfg"},
            {"type": "kubernetes.io/dockercfg", "stringData": {".dockercfg": "{}"}},
            {"type": "kubernetes.io/dockercfg", "stringData": {".dockercfg": "x"}},
            {"type": "kubernetes.io/dockerconfigjson"},
            {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "[]"}},
            {"type": "kubernetes.io/basic-auth"},
            {"type": "kubernetes.io/basic-auth", "stringData": {"username": "u"}},
            {"type": "kubernetes.io/ssh-auth"},
            {"type": "kubernetes.io/tls"},
            {"type": "kubernetes.io/tls", "stringData": {"tls.crt": "a", "tls.key": "b"}},
            {"type": "bootstrap.kubernetes.io/token"},
            {"type": "kubernetes.io/service-account-token"},
            {"type": "example.com/any"},
            {"immutable": True, "data": {"a": "Yg=="}},
            {"type": "Bad Type"},
        )
    ):
        yield post(SECRETS, {"metadata": {"name": f"s{number}"}, **body})
    yield get(SECRETS, TABLE)
    yield patch(f"{SECRETS}/s1", {"type": "other"})
    yield patch(f"{SECRETS}/s1", {"stringData": {"x": "y"}})
    yield patch(f"{SECRETS}/s1", {"data": {"a": None}})
    yield patch(f"{SECRETS}/s19", {"data": {"a": "eg=="}})
    yield patch(f"{SECRETS}/s19", {"immutable": None})
    yield patch(f"{SECRETS}/s19", {"metadata": {"labels": {"a": "b"}}})
    yield patch(f"{SECRETS}/s1", {"immutable": True, "data": {"z": "eg=="}})
    yield put(f"{SECRETS}/s0", {"metadata": {"name": "s0"}, "stringData": {"n": "m"}})
    yield put(f"{SECRETS}/s0", {"metadata": {"name": "s0"}, "type": "x/y"})
    yield get(SECRETS + "?fieldSelector=type=kubernetes.io/tls")
    for number, body in enumerate(
        cases(
            {"data": {"bad key": "x"}},
            {"data": {"a": "b"}, "binaryData": {"a": "Yg=="}},
            {"data": {"..x": "b"}},
            {"data": {"": "b"}},
            {"immutable": True},
            {"data": {"a" * 254: "b"}},
            {"binaryData": {"bin": "AAE="}},
        )
    ):
        yield post(CONFIGMAPS, {"metadata": {"name": f"c{number}"}, **body})
    yield patch(f"{CONFIGMAPS}/c4", {"data": {"a": "b"}})
    yield patch(f"{CONFIGMAPS}/c4", {"immutable": False})
    yield get(CONFIGMAPS + "?fieldSelector=metadata.name=c6", TABLE)


SERVICE_CASES: list[tuple[tuple[str | int, ...], Any]] = [
    (("spec", *path.split(".")), value)
    for path, value in (
        ("type", "NodePort"),
        ("type", "LoadBalancer"),
        ("type", "ExternalName"),
        ("type", "Bad"),
        ("clusterIP", "None"),
        ("clusterIP", "bad"),
        ("clusterIP", "1.2.3.4"),
        ("ports", []),
        ("ports", [{}]),
        ("ports", [{"port": 0}]),
        ("ports", [{"port": 80}, {"port": 81}]),
        ("ports", [{"port": 80, "name": "a"}, {"port": 80, "name": "b"}]),
        ("ports", [{"port": 80, "name": "a"}, {"port": 81, "name": "a"}]),
        ("ports", [{"port": 80, "protocol": "Bad"}]),
        ("ports", [{"port": 80, "targetPort": "http"}]),
        ("ports", [{"port": 80, "targetPort": "Bad_"}]),
        ("ports", [{"port": 80, "targetPort": 0}]),
        ("ports", [{"port": 80, "nodePort": 30080}]),
        ("ports", [{"port": 80, "appProtocol": "x y"}]),
        ("sessionAffinity", "ClientIP"),
        ("sessionAffinity", "Bad"),
        ("sessionAffinityConfig", {"clientIP": {"timeoutSeconds": 5}}),
        ("externalName", "x.y"),
        ("externalIPs", ["1.2.3.4"]),
        ("externalIPs", ["x"]),
        ("externalTrafficPolicy", "Local"),
        ("internalTrafficPolicy", "Local"),
        ("internalTrafficPolicy", "Bad"),
        ("ipFamilies", ["IPv4"]),
        ("ipFamilies", ["IPv6"]),
        ("ipFamilyPolicy", "RequireDualStack"),
        ("ipFamilyPolicy", "PreferDualStack"),
        ("selector", {"bad key": "x"}),
        ("selector", {}),
        ("publishNotReadyAddresses", True),
        ("loadBalancerIP", "1.2.3.4"),
        ("trafficDistribution", "PreferClose"),
        ("trafficDistribution", "Bad"),
        ("allocateLoadBalancerNodePorts", False),
        ("healthCheckNodePort", 5),
    )
]


def _services() -> Iterator[Step]:
    yield from (post(SERVICES, body) for body in variants(service(), SERVICE_CASES))
    yield post(SERVICES, {"metadata": {"name": "ext"}, "spec": {"type": "ExternalName", "externalName": "a.b"}})
    yield post(SERVICES, {"metadata": {"name": "ext2"}, "spec": {"type": "ExternalName", "externalName": "Bad_"}})
    yield post(SERVICES, {"metadata": {"name": "1bad"}, "spec": {"ports": [{"port": 80}]}})
    yield post(SERVICES, {"metadata": {"name": "a.b"}, "spec": {"ports": [{"port": 80}]}})
    yield post(SERVICES, {"metadata": {"name": "headless"}, "spec": {"clusterIP": "None", "selector": {"a": "b"}}})
    yield get(f"{SERVICES}/headless", TABLE)
    yield get(f"{SERVICES}/v0", TABLE)
    yield get(f"{SERVICES}/ext", TABLE)
    for body in (
        {"spec": {"type": "NodePort"}},
        {"spec": {"type": "ClusterIP"}},
        {"spec": {"clusterIP": "None"}},
        {"spec": {"clusterIP": ""}},
        {"spec": {"ports": [{"port": 99}]}},
        {"spec": {"type": "ExternalName", "externalName": "x.y"}},
        {"status": {"loadBalancer": {"ingress": [{"ip": "1.1.1.1"}]}}},
    ):
        yield patch(f"{SERVICES}/v14", body)
    yield patch(f"{SERVICES}/v1/status", {"status": {"loadBalancer": {"ingress": [{"ip": "1.1.1.1"}]}}})
    yield patch(f"{SERVICES}/v1/status", {"status": {"loadBalancer": {"ingress": [{"ip": "x"}]}}})


def _storage() -> Iterator[Step]:
    claim = {
        "metadata": {"name": "c"},
        "spec": {
            "storageClassName": "none",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    yield post(CLAIMS, claim)
    for number, (path, value) in enumerate(
        (
            (("spec",), {}),
            (("spec", "accessModes"), []),
            (("spec", "accessModes"), ["Bad"]),
            (("spec", "resources"), {}),
            (("spec", "resources"), {"requests": {"storage": "0"}}),
            (("spec", "storageClassName"), ""),
            (("spec", "storageClassName"), "x"),
            (("spec", "storageClassName"), "Bad_"),
            (("spec", "volumeMode"), "Block"),
            (("spec", "volumeMode"), "Bad"),
            (("spec", "selector"), {"matchLabels": {"a": "b"}}),
            (("spec", "dataSource"), {"kind": "PersistentVolumeClaim", "name": "x"}),
            (("spec", "dataSource"), {"kind": "Bad", "name": "x"}),
            (("spec", "volumeName"), "pv"),
            (("spec", "accessModes"), ["ReadWriteOncePod", "ReadWriteOnce"]),
            (("spec", "resources"), {"requests": {"storage": "1.5Gi"}, "limits": {"storage": "2000Mi"}}),
        )
    ):
        yield post(CLAIMS, having(metadata(claim, name=f"c{number}"), value, *path))
    for body in (
        {"spec": {"resources": {"requests": {"storage": "2Gi"}}}},
        {"spec": {"storageClassName": "y"}},
        {"spec": {"volumeName": "pv"}},
        {"spec": {"volumeName": "other"}},
        {"spec": {"accessModes": ["ReadOnlyMany"]}},
        {"metadata": {"labels": {"a": "b"}}},
    ):
        yield patch(f"{CLAIMS}/c", body)
    yield patch(
        f"{CLAIMS}/c/status",
        {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}},
    )
    yield get(f"{CLAIMS}/c", TABLE)
    yield delete(f"{CLAIMS}/c")
    volume = {
        "metadata": {"name": "cmp-{{run}}-v"},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}},
    }
    yield post(VOLUMES, volume)
    for number, (path, value) in enumerate(
        (
            (("spec",), {}),
            (("spec", "capacity"), {}),
            (("spec", "capacity"), {"cpu": "1"}),
            (("spec", "accessModes"), []),
            (("spec", "persistentVolumeReclaimPolicy"), "Bad"),
            (("spec", "persistentVolumeReclaimPolicy"), "Recycle"),
            (("spec", "nfs"), {"server": "s", "path": "/x"}),
            (("spec", "hostPath", "path"), "/.."),
            (("spec", "nodeAffinity"), {}),
            (("spec", "volumeMode"), "Bad"),
        )
    ):
        yield post(VOLUMES, having(metadata(volume, name=f"cmp-{{{{run}}}}-v{number}"), value, *path))
    yield patch(f"{VOLUMES}/cmp-{{{{run}}}}-v", {"spec": {"hostPath": {"path": "/y"}}})
    yield patch(f"{VOLUMES}/cmp-{{{{run}}}}-v", {"spec": {"persistentVolumeReclaimPolicy": "Delete"}})
    yield patch(f"{VOLUMES}/cmp-{{{{run}}}}-v/status", {"status": {"phase": "Bound"}})
    yield get(f"{VOLUMES}/cmp-{{{{run}}}}-v", TABLE)
    yield delete(f"{VOLUMES}/cmp-{{{{run}}}}-v")


def _quotas() -> Iterator[Step]:
    quotas, ranges = f"{CORE}/resourcequotas", f"{CORE}/limitranges"
    for number, spec in enumerate(
        (
            {},
            {"hard": {"pods": "5", "requests.cpu": "1"}},
            {"hard": {"pods": "-1"}},
            {"hard": {"bad": "1"}},
            {"hard": {"pods": "1.5"}},
            {"hard": {"count/jobs.batch": "5"}},
            {"hard": {"pods": "1"}, "scopes": ["BestEffort"]},
            {"hard": {"requests.cpu": "1"}, "scopes": ["BestEffort"]},
            {"hard": {"pods": "1"}, "scopes": ["Bad"]},
            {"hard": {"pods": "1"}, "scopes": ["BestEffort", "NotBestEffort"]},
            {
                "hard": {"pods": "1"},
                "scopeSelector": {
                    "matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["x"]}]
                },
            },
            {
                "hard": {"pods": "1"},
                "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Bad"}]},
            },
            {"hard": {"requests.storage": "1Gi", "x.storageclass.storage.k8s.io/requests.storage": "1Gi"}},
        )
    ):
        yield post(f"{quotas}?dryRun=All", {"metadata": {"name": f"q{number}"}, "spec": spec})
    for number, limits in enumerate(
        (
            [],
            [{}],
            [{"type": "Container", "default": {"cpu": "1"}}],
            [{"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "2"}}],
            [{"type": "Container", "default": {"cpu": "3"}, "max": {"cpu": "1"}}],
            [{"type": "Pod", "default": {"cpu": "1"}}],
            [{"type": "Bad Type"}],
            [{"type": "example.com/x"}],
            [{"type": "Pod"}, {"type": "Pod"}],
            [{"type": "PersistentVolumeClaim"}],
            [{"type": "Container", "maxLimitRequestRatio": {"cpu": "0.5"}}],
            [{"type": "Container", "defaultRequest": {"cpu": "2"}, "default": {"cpu": "1"}}],
            [{"type": "Container", "max": {"cpu": "2", "memory": "1Gi"}, "min": {"cpu": "1"}}],
        )
    ):
        yield post(f"{ranges}?dryRun=All", {"metadata": {"name": f"r{number}"}, "spec": {"limits": limits}})


def _scales() -> Iterator[Step]:
    scale = f"{DEPLOYMENTS}/d/scale"
    yield post(DEPLOYMENTS, deployment(replicas=2), capture={"rv": "metadata.resourceVersion", "uid": "metadata.uid"})
    yield get(scale, capture={"srv": "metadata.resourceVersion"})
    body = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "d", "namespace": "{{ns}}"},
        "spec": {"replicas": 3},
    }
    yield put(scale, body)
    yield put(scale, body, "")
    yield put(scale, having(body, -1, "spec", "replicas"))
    yield put(scale, metadata(body, resourceVersion="{{rv}}"))
    yield put(scale, metadata(body, name="other"))
    yield put(scale, metadata(body, uid="wrong"))
    yield put(scale, {"metadata": {"name": "d"}, "spec": {}})
    yield put(scale, {**body, "apiVersion": "apps/v1"})
    yield put(scale, "{")
    yield put(scale + "?dryRun=All", having(body, 9, "spec", "replicas"))
    yield patch(scale, {"spec": {"replicas": 4}})
    yield patch(scale, {"spec": {"replicas": "x"}})
    yield patch(scale, {"spec": {"replicas": 5}, "colour": 1})
    yield patch(scale, [{"op": "replace", "path": "/spec/replicas", "value": 6}], JSON_PATCH)
    yield patch(scale, {"spec": {"replicas": 7}}, STRATEGIC)
    yield apply(
        scale, {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}, "spec": {"replicas": 8}}
    )
    yield apply(
        scale,
        {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}, "spec": {"replicas": 8}},
        force=True,
    )
    yield get(f"{DEPLOYMENTS}/d")
    yield get(scale, TABLE)
    yield get(f"{DEPLOYMENTS}/none/scale")
    yield delete(scale)
    yield post(scale, body)
    for plural, kind in (("replicasets", "ReplicaSet"), ("statefulsets", "StatefulSet")):
        path = f"/apis/apps/v1/namespaces/{{{{ns}}}}/{plural}"
        yield post(
            path,
            {
                **deployment("w"),
                "kind": kind,
                "spec": {
                    **deployment("w")["spec"],
                    "replicas": 1,
                    **({"serviceName": "s"} if kind == "StatefulSet" else {}),
                },
            },
        )
        yield get(f"{path}/w/scale")
        yield patch(f"{path}/w/scale", {"spec": {"replicas": 2}})
    yield post(
        f"{CORE}/replicationcontrollers",
        {
            "metadata": {"name": "rc"},
            "spec": {"replicas": 0, "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod_spec()}},
        },
    )
    yield get(f"{CORE}/replicationcontrollers/rc/scale")
    yield patch(f"{CORE}/replicationcontrollers/rc/scale", {"spec": {"replicas": 1}})


def _metadata() -> Iterator[Step]:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}
    cases: list[dict[str, Any]] = [
        {"name": "UPPER"},
        {"name": "a_b"},
        {"name": "-a"},
        {"name": "a."},
        {"name": "a" * 254},
        {"name": "a" * 253},
        {"name": "a..b"},
        {"name": ".."},
        {"name": "a/b"},
        {"name": "a%b"},
        {"name": "ü"},
        {"generateName": "Bad_"},
        {"generateName": "g-"},
        {"generateName": "x" * 300},
        {"name": "n1", "labels": {"a": "b"}},
        {"name": "n2", "labels": {"a" * 64: "b"}},
        {"name": "n3", "labels": {"a": "b" * 64}},
        {"name": "n4", "labels": {"a.b/c": "", "": "x"}},
        {"name": "n5", "labels": {"A.b/c": "x"}},
        {"name": "n6", "labels": {"a": "-b"}},
        {"name": "n7", "annotations": {"a b": "c"}},
        {"name": "n8", "annotations": {"A.B/c": "c"}},
        {"name": "n9", "ownerReferences": [owner]},
        {"name": "n10", "ownerReferences": [{}]},
        {"name": "n11", "ownerReferences": [{**owner, "apiVersion": ""}]},
        {"name": "n12", "ownerReferences": [{**owner, "kind": ""}]},
        {"name": "n13", "ownerReferences": [{**owner, "uid": ""}]},
        {"name": "n14", "ownerReferences": [{**owner, "apiVersion": "a/b/c"}]},
        {"name": "n15", "ownerReferences": [{**owner, "apiVersion": "v1", "kind": "Event"}]},
        {"name": "n16", "ownerReferences": [{**owner, "controller": True}, {**owner, "uid": "v", "controller": True}]},
        {"name": "n17", "ownerReferences": [owner, owner]},
        {"name": "n18", "finalizers": ["x"]},
        {"name": "n19", "finalizers": ["a.b/c"]},
        {"name": "n20", "finalizers": ["bad key/x"]},
        {"name": "n21", "finalizers": [""]},
        {"name": "n22", "finalizers": ["orphan", "foregroundDeletion"]},
        {"name": "n23", "finalizers": ["kubernetes"]},
        {"name": "n24", "namespace": ""},
        {"name": "n25", "namespace": "Bad_"},
        {"name": "n26", "selfLink": "x", "uid": "y"},
        {"name": "n27", "generation": -5},
        {"name": 5},
        {
            "name": "n28",
            "labels": {"bad key": "bad value!", "ok": "-"},
            "annotations": {"bad key": ""},
            "finalizers": ["bad key"],
        },
        {"name": "n29", "creationTimestamp": "2020-01-01T00:00:00Z", "deletionTimestamp": "2020-01-01T00:00:00Z"},
        {"name": "n30", "ownerReferences": [{**owner, "blockOwnerDeletion": True}]},
    ]
    for fields in cases:
        yield post(f"{CONFIGMAPS}?dryRun=All", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": fields})
    for fields in cases[:9]:
        yield post(f"{JOBS}?dryRun=All", {**job(), "metadata": fields})
        yield post(f"{CORE}/serviceaccounts?dryRun=All", {"metadata": fields})
    yield post(CONFIGMAPS, {"metadata": {"generateName": "g-"}})
    yield post(CONFIGMAPS, {"metadata": {"generateName": "g-", "name": "given"}})
    yield post(PODS, {**pod(), "metadata": {"generateName": "p-"}})


def _nodes() -> Iterator[Step]:
    nodes = "/api/v1/nodes"
    name = "cmp-{{run}}-n"
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    path = f"{nodes}/{name}"
    yield post(nodes, {**node, "spec": {"podCIDR": "bad"}})
    yield post(nodes, {**node, "spec": {"taints": [{"key": "a", "effect": "Bad"}]}})
    yield post(
        nodes,
        {**node, "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}]}},
    )
    yield post(nodes, {**node, "status": {"capacity": {"cpu": "4"}}})
    yield patch(
        path + "/status",
        {
            "status": {
                "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
                "allocatable": {"cpu": "4"},
                "conditions": [{"type": "Ready", "status": "True"}],
                "nodeInfo": {"kubeletVersion": "v1.35.4"},
                "addresses": [{"type": "InternalIP", "address": "1.2.3.4"}],
            }
        },
        STRATEGIC,
    )
    yield get(path, TABLE)
    yield patch(path, {"spec": {"unschedulable": True, "providerID": "x"}})
    yield patch(path, {"spec": {"providerID": "y"}})
    yield patch(path, {"spec": {"podCIDR": "10.1.0.0/24"}})
    yield patch(path, {"metadata": {"labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "x"}}})
    yield get(path, TABLE)
    yield get(nodes + f"?fieldSelector=spec.unschedulable=true,metadata.name={name}")
    yield delete(path)


def _pod_security() -> Iterator[Step]:
    level, version = "pod-security.kubernetes.io/enforce", "pod-security.kubernetes.io/enforce-version"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "cmp-{{run}}-s"}}
    for bad in ({level: "strict"}, {version: "1.30"}, {"pod-security.kubernetes.io/warn": "", version: "v1.x"}):
        yield post(NAMESPACES, metadata(body, labels=bad))
    for name in ("p1", "p2"):
        yield post(PODS, pod(name, hostPID=True))
    yield post(PODS, pod("p3"))
    for labels in (
        {level: "strict"},
        {level: "baseline"},
        {"x": "y"},
        {level: "restricted", version: "v1.30"},
        {level: "baseline"},
        {version: "latest"},
        {level: "privileged", version: None},
        {level: None},
    ):
        yield patch(CORE, {"metadata": {"labels": labels}})


def scenarios() -> Iterator[Scenario]:
    yield scenario(
        "companions-namespaces", _namespaces(), [f"{NAMESPACES}/cmp-{{{{run}}}}-b{n}" for n in ("2", "3", "4")]
    )
    yield scenario("companions-pod-security", _pod_security(), [f"{NAMESPACES}/cmp-{{{{run}}}}-s"])
    yield scenario("companions-events", _events())
    yield scenario("companions-leases", _leases())
    yield scenario("companions-secrets", _secrets())
    yield scenario("companions-services", _services())
    yield scenario("companions-storage", _storage(), [f"{VOLUMES}/cmp-{{{{run}}}}-v{n}" for n in range(10)])
    yield scenario("companions-quotas", _quotas())
    yield scenario("companions-scales", _scales())
    yield scenario("companions-metadata", _metadata())
    yield scenario("companions-nodes", _nodes(), ["/api/v1/nodes/cmp-{{run}}-n"])
