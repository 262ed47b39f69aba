"""Resource quotas: what is counted, what is refused with which words, and what is given back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..model import STRATEGIC, Scenario, Step, apply, delete, get, patch, post, put, scenario
from ._objects import (
    CONFIGMAPS,
    CORE,
    DEPLOYMENTS,
    JOBS,
    PODS,
    SECRETS,
    SERVICES,
    Object,
    configmap,
    container,
    deployment,
    job,
    metadata,
    pod,
    service,
)

QUOTAS = f"{CORE}/resourcequotas"
CLAIMS = f"{CORE}/persistentvolumeclaims"
CONTROLLERS = f"{CORE}/replicationcontrollers"
NOW = "?gracePeriodSeconds=0"


def quota(name: str = "q", scopes: list[str] | None = None, select: list[Object] | None = None, **hard: str) -> Object:
    """A quota; `__` in names of resources stands for a dot."""
    spec: Object = {"hard": {key.replace("__", "."): text for key, text in hard.items()}}
    if scopes is not None:
        spec["scopes"] = scopes
    if select is not None:
        spec["scopeSelector"] = {"matchExpressions": select}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}, "spec": spec}


def named(name: str = "q", **hard: str) -> Object:
    """A quota whose names of resources are given as they are."""
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}, "spec": {"hard": hard}}


def ready(resource: str, used: str = "0", name: str = "q") -> Step:
    """The quota, once it shows that this much is used."""
    return get(f"{QUOTAS}/{name}", shows=(f"status.used.{resource}", used))


def sized(name: str = "p", requests: Object | None = None, limits: Object | None = None, **spec: Any) -> Object:
    resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value is not None}
    return pod(name, **{"containers": [container(resources=resources)], **spec})


def claim(name: str, size: str = "1Gi", **spec: Any) -> Object:
    body = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": body}


def _pods() -> Iterator[Step]:
    yield post(QUOTAS, quota(pods="2"))
    yield ready("pods")
    yield post(PODS, pod("a"))
    yield ready("pods", "1")
    yield post(f"{PODS}?dryRun=All", pod("b"))
    yield get(f"{QUOTAS}/q")
    yield post(PODS, pod("b"))
    yield post(PODS, pod("c"))
    yield post(f"{PODS}?dryRun=All", pod("c"))
    yield post(PODS, metadata(pod(""), generateName="gen-", name=None))
    yield post(PODS, pod("b"))
    yield apply(f"{PODS}/d", pod("d"))
    yield get(f"{QUOTAS}/q")
    yield patch(f"{PODS}/b", {"metadata": {"labels": {"a": "b"}}})
    yield patch(f"{PODS}/a/status", {"status": {"phase": "Succeeded"}})
    yield ready("pods", "1")
    yield post(PODS, pod("c"))
    yield delete(f"{PODS}/b{NOW}")
    yield ready("pods", "1")
    yield delete(PODS + NOW)
    yield ready("pods", "0")
    yield patch(f"{QUOTAS}/q", {"spec": {"hard": {"pods": "1", "count/pods": "1"}}})
    yield ready("count/pods", "0")
    yield post(PODS, pod("a"))
    yield patch(f"{PODS}/a/status", {"status": {"phase": "Failed"}})
    yield ready("pods", "0")
    yield post(PODS, pod("b"))
    yield patch(f"{QUOTAS}/q", {"spec": {"hard": {"count/pods": None}}})
    yield get(f"{QUOTAS}/q", shows=("status.used.count/pods", ""))
    yield post(PODS, pod("b"))
    yield post(PODS, pod("c"))


def _counted() -> Iterator[Step]:
    hard = {
        "configmaps": "2",
        "secrets": "1",
        "count/secrets": "5",
        "replicationcontrollers": "1",
        "resourcequotas": "1",
    }
    hard |= {"count/jobs.batch": "1", "count/deployments.apps": "1", "count/things.example.com": "1"}
    yield post(QUOTAS, named(**hard))
    yield ready("configmaps", "1")
    yield post(CONFIGMAPS, configmap("a"))
    yield post(CONFIGMAPS, configmap("b"))
    yield put(f"{CONFIGMAPS}/b", configmap("b"))
    yield apply(f"{CONFIGMAPS}/b", configmap("b"))
    yield patch(f"{CONFIGMAPS}/a", {"data": {"more": "data"}})
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "b"}}
    yield post(SECRETS, secret)
    yield post(SECRETS, metadata(secret, name="t"))
    yield post(JOBS, job("a"))
    yield post(JOBS, job("b"))
    yield post(DEPLOYMENTS, deployment("a"))
    yield post(DEPLOYMENTS, deployment("b"))
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod()["spec"]}
    replicated = {"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "r"}}
    replicated["spec"] = {"replicas": 0, "selector": {"a": "b"}, "template": template}  # type: ignore[assignment]
    yield post(CONTROLLERS, replicated)
    yield post(CONTROLLERS, metadata(replicated, name="r2"))
    yield post(QUOTAS, quota("other", pods="1"))
    yield get(f"{QUOTAS}/q")
    yield delete(f"{CONFIGMAPS}/a")
    yield ready("configmaps", "1")
    yield delete(f"{SECRETS}/s")
    yield ready("secrets", "0")


def _services() -> Iterator[Step]:
    yield post(QUOTAS, quota(services="3", services__nodeports="2", services__loadbalancers="1"))
    yield ready("services")
    yield post(SERVICES, service("a"))
    yield post(SERVICES, service("b", type="NodePort", ports=[{"name": f"p{n}", "port": n} for n in range(80, 83)]))
    yield post(SERVICES, service("b", type="NodePort"))
    yield post(SERVICES, service("c", type="LoadBalancer"))
    yield get(f"{QUOTAS}/q")
    yield post(SERVICES, service("d"))
    yield patch(f"{SERVICES}/a", {"spec": {"type": "LoadBalancer"}})
    yield patch(f"{SERVICES}/a", {"spec": {"type": "NodePort"}})
    yield patch(f"{SERVICES}/c", {"spec": {"type": "ClusterIP"}})
    yield get(f"{QUOTAS}/q", shows=("status.used.services", "3"), pick=(("status", "used", "services"),))
    yield delete(f"{SERVICES}/c")
    yield ready("services", "2")
    yield post(SERVICES, service("e", type="LoadBalancer", allocateLoadBalancerNodePorts=False))
    yield post(SERVICES, service("f", type="LoadBalancer"))
    yield get(f"{QUOTAS}/q")


def _storage() -> Iterator[Step]:
    by_class = ".storageclass.storage.k8s.io/"
    hard = {"persistentvolumeclaims": "3", "requests.storage": "4Gi", f"gold{by_class}requests.storage": "2Gi"}
    yield post(QUOTAS, named(**hard, **{f"gold{by_class}persistentvolumeclaims": "1"}))
    yield ready("persistentvolumeclaims")
    yield post(CLAIMS, claim("a", storageClassName="silver"))
    yield post(CLAIMS, claim("big", "5Gi", storageClassName="silver"))
    yield post(CLAIMS, claim("g", "3Gi", storageClassName="gold"))
    yield post(CLAIMS, claim("g", "1.5Gi", storageClassName="gold"))
    yield post(CLAIMS, claim("h", "1Mi", storageClassName="gold"))
    yield get(f"{QUOTAS}/q")
    yield post(CLAIMS, claim("i", "1500m", storageClassName=""))
    yield post(CLAIMS, claim("j", "1Mi", storageClassName=""))
    yield get(f"{QUOTAS}/q")
    yield delete(f"{CLAIMS}/a")
    yield ready("persistentvolumeclaims", "2")


def _compute() -> Iterator[Step]:
    hard = {"requests__cpu": "1", "requests__memory": "1Gi", "limits__cpu": "2", "limits__memory": "2Gi", "pods": "4"}
    yield post(QUOTAS, quota(**hard))
    yield ready("pods")
    yield post(PODS, pod("none"))
    yield post(PODS, sized("half", {"cpu": "100m"}, {"memory": "1Gi"}))
    both = [container(), {**container(), "name": "d"}]
    yield post(PODS, pod("two", containers=both, initContainers=[{**container(), "name": "i"}]))
    one = {"cpu": "400m", "memory": "256Mi"}
    yield post(PODS, sized("a", one, {"cpu": "1", "memory": "512Mi"}))
    yield get(f"{QUOTAS}/q")
    yield post(PODS, sized("b", {"cpu": "700m", "memory": "2Gi"}, {"cpu": "1500m", "memory": "3Gi"}))
    yield post(PODS, sized("c", None, {"cpu": "500m", "memory": "0.5Gi"}))
    heavy = {"cpu": "600m", "memory": "64Mi"}
    first = {**container(resources={"requests": heavy, "limits": heavy}), "name": "i"}
    yield post(PODS, sized("d", {"cpu": "1m", "memory": "1Mi"}, {"cpu": "1m", "memory": "1Mi"}, initContainers=[first]))
    level = {"requests": {"cpu": "50m", "memory": "1Mi"}, "limits": {"cpu": "100m", "memory": "2Mi"}}
    yield post(PODS, pod("level", resources=level))
    yield get(f"{QUOTAS}/q")
    yield delete(f"{PODS}/a{NOW}")
    yield ready("pods", "2")
    resize = {"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "3"}, "requests": {"cpu": "3"}}}]}}
    yield patch(f"{PODS}/c/resize", resize, STRATEGIC)
    resize = {"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "600m"}}}]}}
    yield patch(f"{PODS}/c/resize", resize, STRATEGIC)
    yield get(f"{QUOTAS}/q")


def _aliases() -> Iterator[Step]:
    yield post(QUOTAS, named(cpu="1", memory="1Gi", **{"ephemeral-storage": "1Gi", "limits.ephemeral-storage": "2Gi"}))
    yield ready("cpu")
    yield post(PODS, pod("none"))
    yield post(PODS, sized("a", {"cpu": "1", "memory": "100M"}))
    yield post(PODS, sized("b", {"cpu": "1m", "memory": "1e3", "ephemeral-storage": "2Gi"}))
    yield get(f"{QUOTAS}/q")
    yield delete(f"{PODS}/a{NOW}")
    yield ready("cpu", "0")
    storage = {"ephemeral-storage": "1Gi"}
    yield post(PODS, sized("c", {"cpu": "0", "memory": "0", **storage}, storage))
    yield get(f"{QUOTAS}/q")


def _extended() -> Iterator[Step]:
    hard = {"requests.example.com/gpu": "2", "hugepages-2Mi": "8Mi", "requests.hugepages-2Mi": "6Mi"}
    yield post(QUOTAS, named(**hard, pods="9"))
    yield ready("pods")
    yield post(PODS, pod("none"))
    yield post(PODS, sized("a", {"example.com/gpu": "1"}, {"example.com/gpu": "1"}))
    yield post(PODS, sized("b", None, {"example.com/gpu": "2"}))
    pages = {"hugepages-2Mi": "4Mi", "cpu": "1"}
    yield post(PODS, sized("c", pages, pages))
    yield post(PODS, sized("d", pages, pages))
    yield get(f"{QUOTAS}/q")


def _scopes() -> Iterator[Step]:
    yield post(QUOTAS, quota("ending", ["Terminating"], pods="1"))
    yield post(QUOTAS, quota("lasting", ["NotTerminating"], pods="1"))
    yield post(QUOTAS, quota("best", ["BestEffort"], pods="1"))
    yield post(QUOTAS, quota("better", ["NotBestEffort"], pods="1", requests__cpu="1"))
    for name in ("ending", "lasting", "best", "better"):
        yield ready("pods", "0", name)
    yield post(PODS, pod("a"))
    yield post(PODS, pod("b", activeDeadlineSeconds=60))
    yield post(PODS, sized("b", {"memory": "1Mi"}, activeDeadlineSeconds=60))
    yield post(PODS, sized("b", {"cpu": "1m"}, activeDeadlineSeconds=60))
    yield patch(f"{PODS}/a", {"spec": {"activeDeadlineSeconds": 5}})
    yield get(QUOTAS)
    yield delete(f"{PODS}/b{NOW}")
    yield ready("pods", "0", "ending")
    yield patch(f"{PODS}/a", {"spec": {"activeDeadlineSeconds": 5}})
    yield ready("pods", "1", "ending")
    yield ready("pods", "0", "lasting")


def _selectors() -> Iterator[Step]:
    def of(operator: str, *values: str) -> list[Object]:
        return [{"scopeName": "PriorityClass", "operator": operator, **({"values": list(values)} if values else {})}]

    yield post(QUOTAS, quota("in", select=of("In", "system-node-critical", "other"), pods="0"))
    yield post(QUOTAS, quota("notin", select=of("NotIn", "system-node-critical"), pods="1"))
    yield post(QUOTAS, quota("exists", select=of("Exists"), pods="5"))
    yield post(QUOTAS, quota("missing", select=of("DoesNotExist"), pods="5"))
    across = [{"scopeName": "CrossNamespacePodAffinity", "operator": "Exists"}]
    yield post(QUOTAS, quota("across", select=across, pods="0"))
    for name in ("in", "notin", "exists", "missing", "across"):
        yield ready("pods", "0", name)
    yield post(PODS, pod("a", priorityClassName="system-node-critical"))
    yield post(PODS, pod("b", priorityClassName="system-cluster-critical"))
    yield post(PODS, pod("c"))
    yield get(QUOTAS)
    yield delete(f"{PODS}/b{NOW}")
    yield ready("pods", "0", "exists")
    term: Object = {"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": "zone"}
    for field in ({"namespaces": ["x"]}, {"namespaceSelector": {}}, {}):
        required = {"requiredDuringSchedulingIgnoredDuringExecution": [{**term, **field}]}
        yield post(PODS, pod("d", affinity={"podAffinity": required}))
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]}
    yield post(PODS, pod("e", affinity={"podAntiAffinity": preferred}))
    yield get(QUOTAS)


def _several() -> Iterator[Step]:
    yield post(QUOTAS, quota("a", pods="5", requests__cpu="1"))
    yield ready("pods", "0", "a")
    yield post(QUOTAS, quota("b", pods="1"))
    yield ready("pods", "0", "b")
    yield post(PODS, sized("x", {"cpu": "500m"}))
    yield post(PODS, sized("y", {"cpu": "500m"}))
    yield get(QUOTAS)
    yield patch(f"{QUOTAS}/b", {"spec": {"hard": {"pods": "2"}}})
    yield get(f"{QUOTAS}/b", shows=("status.hard.pods", "2"))
    yield post(PODS, sized("y", {"cpu": "500m"}))
    yield delete(f"{QUOTAS}/b")
    yield post(PODS, sized("z", {"cpu": "1m"}))
    yield patch(f"{QUOTAS}/a/status", {"status": {"used": {"pods": "0", "requests.cpu": "0"}}})
    yield post(PODS, sized("z", {"cpu": "1m"}))
    yield get(QUOTAS)


def _classes() -> Iterator[Step]:
    def of(operator: str, *values: str) -> list[Object]:
        requirement: Object = {"scopeName": "VolumeAttributesClass", "operator": operator}
        return [{**requirement, **({"values": list(values)} if values else {})}]

    yield post(
        QUOTAS, quota("in", select=of("In", "gold", "silver"), persistentvolumeclaims="1", requests__storage="2Gi")
    )
    yield post(QUOTAS, quota("exists", select=of("Exists"), persistentvolumeclaims="2"))
    for name in ("in", "exists"):
        yield ready("persistentvolumeclaims", "0", name)
    yield post(CLAIMS, claim("a", storageClassName="x"))
    yield post(CLAIMS, claim("b", "3Gi", storageClassName="x", volumeAttributesClassName="gold"))
    yield post(CLAIMS, claim("b", storageClassName="x", volumeAttributesClassName="gold"))
    yield post(CLAIMS, claim("c", storageClassName="x", volumeAttributesClassName="silver"))
    yield post(CLAIMS, claim("d", storageClassName="x", volumeAttributesClassName="bronze"))
    yield get(QUOTAS)
    yield patch(f"{CLAIMS}/d/status", {"status": {"currentVolumeAttributesClassName": "silver"}})
    yield ready("persistentvolumeclaims", "2", "in")
    yield delete(f"{CLAIMS}/b")
    yield ready("persistentvolumeclaims", "1", "in")


def _devices() -> Iterator[Step]:
    claims = "/apis/resource.k8s.io/v1/namespaces/{{ns}}/resourceclaims"
    yield post(
        QUOTAS, named(**{"count/resourceclaims.resource.k8s.io": "3", "gpu.deviceclass.resource.k8s.io/devices": "4"})
    )

    def asking(name: str, *requests: Object) -> Object:
        spec = {"devices": {"requests": list(requests)}}
        return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name}, "spec": spec}

    def exactly(name: str, count: int, device: str = "gpu") -> Object:
        return {"name": name, "exactly": {"deviceClassName": device, "count": count}}

    yield post(claims, asking("z", exactly("r", 9)), until=403)
    yield post(claims, asking("a", exactly("r", 3), exactly("s", 7, "other")))
    every = {"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}}
    yield post(claims, asking("b", every))
    either = [{"name": f"o{n}", "deviceClassName": "gpu", "count": n} for n in (1, 2)]
    yield post(claims, asking("b", {"name": "r", "firstAvailable": either}))
    yield post(claims, asking("b", {"name": "r", "firstAvailable": either[:1]}))
    yield post(claims, asking("c", exactly("r", 1, "other")))
    yield post(claims, asking("d", exactly("r", 1, "other")))
    yield get(f"{QUOTAS}/q")


def scenarios() -> list[Scenario]:
    return [
        scenario("quota-pods", _pods()),
        scenario("quota-counted", _counted()),
        scenario("quota-services", _services()),
        scenario("quota-storage", _storage()),
        scenario("quota-compute", _compute()),
        scenario("quota-aliases", _aliases()),
        scenario("quota-extended", _extended()),
        scenario("quota-scopes", _scopes()),
        scenario("quota-selectors", _selectors()),
        scenario("quota-several", _several()),
        scenario("quota-classes", _classes()),
        scenario("quota-devices", _devices()),
    ]
