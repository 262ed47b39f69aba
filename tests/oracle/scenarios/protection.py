"""Objects that may not go or change: storage in use, immutable Secrets and ConfigMaps, pods with a budget."""

from __future__ import annotations

from collections.abc import Iterator

from ..model import JSON_PATCH, STRATEGIC, Scenario, Step, apply, delete, get, patch, post, put, scenario
from ._objects import CONFIGMAPS, CORE, PODS, SECRETS, Object, configmap, metadata, pod
from .quota import claim

CLAIMS = f"{CORE}/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
BUDGETS = "/apis/policy/v1/namespaces/{{ns}}/poddisruptionbudgets"
VOLUME = "cmp-{{run}}"
NODE = "cmp-{{run}}"
NODES = "/api/v1/nodes"
NOW = "?gracePeriodSeconds=0"


def _node() -> Step:
    """A node of the scenario's own: pods of nodes that do not exist are collected after a while."""
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}}
    return post(NODES, body, pick=(("kind",),))


def _claims() -> Iterator[Step]:
    yield _node()
    yield post(CLAIMS, claim("a", storageClassName="x"))
    yield delete(f"{CLAIMS}/a")
    yield get(f"{CLAIMS}/a", until=404)
    yield post(CLAIMS, claim("b", storageClassName="x"))
    mounted = [{"name": "v", "persistentVolumeClaim": {"claimName": "b"}}]
    yield post(PODS, pod("waiting", volumes=mounted))
    yield delete(f"{CLAIMS}/b")
    yield get(f"{CLAIMS}/b", until=404)
    yield post(CLAIMS, claim("b", storageClassName="x"))
    yield post(PODS, pod("bound", volumes=mounted, nodeName=NODE))
    yield delete(f"{CLAIMS}/b")
    yield get(f"{CLAIMS}/b")
    yield delete(f"{CLAIMS}/b")
    yield patch(f"{PODS}/bound/status", {"status": {"phase": "Succeeded"}})
    yield get(f"{CLAIMS}/b", pick=(("metadata", "finalizers"),))
    yield delete(f"{PODS}/bound{NOW}")
    yield get(f"{CLAIMS}/b", until=404)
    yield post(CLAIMS, metadata(claim("c", storageClassName="x"), finalizers=["kubernetes.io/pvc-protection"]))
    yield post(CLAIMS, metadata(claim("d", storageClassName="x"), finalizers=["example.com/x"]))
    yield patch(f"{CLAIMS}/c", {"metadata": {"finalizers": None}})
    yield get(f"{CLAIMS}/c", shows=("metadata.finalizers.0", "kubernetes.io/pvc-protection"))
    yield delete(f"{CLAIMS}/d")
    yield get(f"{CLAIMS}/d", shows=("metadata.finalizers.1", ""))
    yield patch(f"{CLAIMS}/d", {"metadata": {"finalizers": None}})
    yield get(f"{CLAIMS}/d")


def _volumes() -> Iterator[Step]:
    spec: Object = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/tmp"}}
    body = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": VOLUME}, "spec": spec}
    yield post(VOLUMES, body)
    yield delete(f"{VOLUMES}/{VOLUME}")
    yield get(f"{VOLUMES}/{VOLUME}", until=404)
    yield post(VOLUMES, body)
    yield patch(f"{VOLUMES}/{VOLUME}/status", {"status": {"phase": "Bound"}})
    yield delete(f"{VOLUMES}/{VOLUME}")
    yield get(f"{VOLUMES}/{VOLUME}")
    yield patch(f"{VOLUMES}/{VOLUME}/status", {"status": {"phase": "Released"}})
    yield get(f"{VOLUMES}/{VOLUME}", until=404)


def _secret(name: str = "s", **fields: object) -> Object:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, **fields}


def _string_data() -> Iterator[Step]:
    yield post(SECRETS, _secret(stringData={"a": "one"}, data={"a": "dHdv", "b": "dHdv"}))
    yield patch(f"{SECRETS}/s", {"stringData": {"c": "three"}})
    yield patch(f"{SECRETS}/s", {"stringData": {"d": "four"}}, STRATEGIC)
    yield patch(f"{SECRETS}/s", [{"op": "add", "path": "/stringData", "value": {"e": "five"}}], JSON_PATCH)
    yield patch(f"{SECRETS}/s", [{"op": "add", "path": "/stringData/f", "value": "six"}], JSON_PATCH)
    yield patch(f"{SECRETS}/s", {"stringData": {"c": None}})
    yield patch(f"{SECRETS}/s", {"stringData": None, "data": {"b": None}})
    yield apply(f"{SECRETS}/s", _secret(stringData={"a": "applied"}))
    yield apply(f"{SECRETS}/s", _secret(stringData={"a": "applied"}), force=True)
    yield apply(f"{SECRETS}/s", _secret(stringData={"g": "seven"}), force=True)
    yield apply(f"{SECRETS}/s", _secret(data={"g": "ODg="}), force=True)
    yield apply(f"{SECRETS}/new", _secret("new", stringData={"a": "b"}, data={"a": "eA==", "c": "eA=="}))
    yield apply(f"{SECRETS}/new", _secret("new", stringData={"z": "b"}), "other")
    yield put(f"{SECRETS}/s", _secret(stringData={"a": "put"}))
    yield put(f"{SECRETS}/s", _secret(stringData={"bad key": "put"}))
    yield patch(f"{SECRETS}/s?dryRun=All", {"stringData": {"dry": "run"}})
    yield get(f"{SECRETS}/s")
    yield get(f"{SECRETS}/new")


def _immutable() -> Iterator[Step]:
    for path, body in ((CONFIGMAPS, configmap("i", a="b")), (SECRETS, _secret("i", data={"a": "Yg=="}))):
        value = "Yw==" if path == SECRETS else "c"
        yield post(path, {**body, "immutable": True})
        yield put(f"{path}/i", {**body, "data": {"a": value}, "immutable": True})
        yield put(f"{path}/i", body)
        yield put(f"{path}/i", {**metadata(body, labels={"x": "y"}), "immutable": True})
        yield patch(f"{path}/i", {"data": {"b": value}})
        yield patch(f"{path}/i", {"data": {"a": value}}, STRATEGIC)
        yield patch(f"{path}/i", {"immutable": False})
        yield patch(f"{path}/i", {"immutable": None})
        yield patch(f"{path}/i", [{"op": "remove", "path": "/data/a"}], JSON_PATCH)
        yield patch(f"{path}/i", {"metadata": {"labels": {"p": "q"}}})
        yield apply(f"{path}/i", {**body, "data": {"a": value}}, force=True)
        yield apply(f"{path}/i", {**body, "data": {"n": value}})
        yield apply(f"{path}/i", {**metadata(body, annotations={"x": "y"})})
        yield patch(f"{path}/i?dryRun=All", {"data": {"a": value}})
        yield delete(f"{path}/i")
    yield patch(f"{CONFIGMAPS}/kube-root-ca.crt", {"immutable": True})
    yield post(SECRETS, _secret("t", stringData={"a": "b"}, immutable=True))
    yield patch(f"{SECRETS}/t", {"stringData": {"a": "b"}})
    yield patch(f"{SECRETS}/t", {"stringData": {"a": "c"}})
    yield patch(f"{SECRETS}/t", {"type": "other"})
    yield post(CONFIGMAPS, {**configmap("bin"), "binaryData": {"x": "AAA="}, "immutable": True})
    yield patch(f"{CONFIGMAPS}/bin", {"binaryData": {"x": "AAE="}})


def _eviction(name: str, version: str = "policy/v1", **fields: object) -> Object:
    return {"apiVersion": version, "kind": "Eviction", "metadata": {"name": name, "namespace": "{{ns}}"}, **fields}


def _evictions() -> Iterator[Step]:
    yield _node()
    for name in "abcdefg":
        yield post(PODS, metadata(pod(name, nodeName=NODE), labels={"app": "x"}))
    yield post(f"{PODS}/a/eviction", _eviction("b"))
    yield post(f"{PODS}/none/eviction", _eviction("none"))
    yield post(f"{PODS}/a/eviction?dryRun=All", _eviction("a"))
    yield post(f"{PODS}/a/eviction", _eviction("a", deleteOptions={"dryRun": ["All"]}))
    wrong = {"preconditions": {"uid": "11111111-1111-1111-1111-111111111111"}}
    yield post(f"{PODS}/a/eviction", _eviction("a", deleteOptions=wrong))
    yield post(f"{PODS}/a/eviction", _eviction("a", deleteOptions={"gracePeriodSeconds": 0}))
    yield get(f"{PODS}/a")
    yield post(f"{PODS}/b/eviction", _eviction("b", "policy/v1beta1", deleteOptions={"gracePeriodSeconds": 5}))
    yield get(f"{PODS}/b")
    yield post(f"{PODS}/b/eviction", _eviction("b"))
    typed = {"kind": "DeleteOptions", "apiVersion": "policy/v1", "gracePeriodSeconds": 3}
    yield post(f"{PODS}/c/eviction", _eviction("c", deleteOptions=typed))
    yield get(f"{PODS}/c")
    yield post(f"{PODS}/d/eviction", _eviction("d", "v1"))
    yield post(f"{PODS}/d/eviction", _eviction("d", "policy/v2"))
    yield post(f"{PODS}/d/eviction", {**_eviction("d"), "kind": "Other"})
    yield post(f"{PODS}/d/eviction", {"metadata": {"name": "d"}})
    for options in (
        {"ignoreStoreReadErrorWithClusterBreakingPotential": True},
        {"dryRun": ["All", "All"]},
        {"dryRun": ["x"]},
        {"propagationPolicy": "x"},
        {"orphanDependents": True, "propagationPolicy": "Orphan"},
        {"gracePeriodSeconds": -1},
        {"preconditions": {"resourceVersion": "1"}},
        {"unknown": 1},
    ):
        yield post(f"{PODS}/e/eviction?dryRun=All", _eviction("e", deleteOptions=options))
    yield post(f"{PODS}/f/eviction", _eviction("f", deleteOptions={"orphanDependents": True}))
    yield get(f"{PODS}/f", pick=(("metadata", "deletionGracePeriodSeconds"),))
    yield get(f"{PODS}/d/eviction")
    yield delete(f"{PODS}/d/eviction")
    yield put(f"{PODS}/d/eviction", _eviction("d"))


def _budgets() -> Iterator[Step]:
    """No controller acts on budgets of the embedded cluster: they are given the status that a real one computes."""
    yield _node()
    for name in "abcdef":
        yield post(PODS, metadata(pod(name, nodeName=NODE), labels={"app": "x"}))
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    yield patch(f"{PODS}/a/status", {"status": ready})
    yield patch(f"{PODS}/b/status", {"status": {"phase": "Running"}})
    yield patch(f"{PODS}/c/status", {"status": {"phase": "Succeeded"}})
    yield patch(f"{PODS}/e/status", {"status": ready})
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "x"}}
    spec = {"minAvailable": 2, "selector": {"matchLabels": {"app": "x"}}}
    yield post(BUDGETS, {**budget, "spec": spec})
    healthy = {"observedGeneration": 1, "currentHealthy": 2, "desiredHealthy": 2, "expectedPods": 6}
    yield patch(f"{BUDGETS}/x/status", {"status": healthy}, pick=(("kind",),))
    yield post(f"{PODS}/a/eviction", _eviction("a"))
    yield post(f"{PODS}/a/eviction?dryRun=All", _eviction("a"))
    yield post(f"{PODS}/c/eviction", _eviction("c"))
    yield post(f"{PODS}/d/eviction", _eviction("d"))
    yield post(f"{PODS}/b/eviction?dryRun=All", _eviction("b"))
    yield post(BUDGETS, {**metadata(budget, name="y"), "spec": spec})
    yield post(f"{PODS}/a/eviction", _eviction("a"))
    yield delete(f"{BUDGETS}/y", pick=(("kind",),))
    yield delete(f"{BUDGETS}/x", pick=(("kind",),))
    yield post(f"{PODS}/a/eviction", _eviction("a"))


def _awaited(path: str, place: str, text: str) -> Iterator[Step]:
    """The object, once it shows a text; a namespace is emptied only some seconds after its deletion."""
    for _ in range(4):
        yield get(path, shows=(place, text), pick=(("kind",),))
    yield get(path, shows=(place, text))


def _namespaces() -> Iterator[Step]:
    name = "cmp-{{run}}-x"
    path = f"/api/v1/namespaces/{name}"
    yield post("/api/v1/namespaces", {"metadata": {"name": name}})
    held = ["example.com/x", "example.com/y"]
    yield post(f"{path}/configmaps", metadata(configmap("a"), finalizers=held))
    yield post(f"{path}/configmaps", metadata(configmap("b"), finalizers=held[:1]))
    yield post(f"{path}/secrets", metadata(_secret(), finalizers=held[:1]))
    yield delete(path)
    yield from _awaited(path, "status.conditions.3.status", "True")
    yield get(f"{path}/configmaps/a")
    yield patch(f"{path}/configmaps/a", {"metadata": {"finalizers": None}})
    yield patch(f"{path}/configmaps/b", {"metadata": {"finalizers": None}})
    yield patch(f"{path}/secrets/s", {"metadata": {"finalizers": None}})


def _namespace_pods() -> Iterator[Step]:
    yield _node()
    name = "cmp-{{run}}-z"
    path = f"/api/v1/namespaces/{name}"
    yield post("/api/v1/namespaces", {"metadata": {"name": name}})
    yield get(f"{path}/serviceaccounts/default", until=200, pick=(("kind",),))
    yield post(f"{path}/configmaps", configmap("a"))
    yield post(f"{path}/pods", metadata(pod("held", nodeName=NODE), finalizers=["example.com/x"]))
    yield delete(path)
    yield from _awaited(path, "status.conditions.0.status", "False")
    yield get(f"{path}/configmaps/a")
    yield get(f"{path}/pods/held", pick=(("metadata", "deletionGracePeriodSeconds"),))
    yield patch(f"{path}/pods/held", {"metadata": {"finalizers": None}})
    yield delete(f"{path}/pods/held{NOW}")


def _root_certificate() -> Iterator[Step]:
    path = f"{CONFIGMAPS}/kube-root-ca.crt"
    yield get(path)
    yield patch(path, {"data": {"ca.crt": "other", "more": "x"}}, pick=(("kind",),))
    yield get(path, shows=("data.more", ""))
    yield patch(path, {"metadata": {"annotations": None}}, pick=(("kind",),))
    yield get(path, until=200, pick=(("kind",),))
    yield delete(path)
    yield get(path, until=200)
    yield delete(f"{CORE}/serviceaccounts/default")
    yield get(f"{CORE}/serviceaccounts/default", until=200)


def scenarios() -> list[Scenario]:
    return [
        scenario("protection-claims", _claims(), [f"{NODES}/{NODE}"]),
        scenario("protection-volumes", _volumes(), [f"{VOLUMES}/{VOLUME}"]),
        scenario("protection-string-data", _string_data()),
        scenario("protection-immutable", _immutable()),
        scenario("protection-evictions", _evictions(), [f"{NODES}/{NODE}"]),
        scenario("protection-budgets", _budgets(), [f"{NODES}/{NODE}"]),
        scenario("protection-namespaces", _namespaces()),
        scenario("protection-namespace-pods", _namespace_pods(), [f"{NODES}/{NODE}"]),
        scenario("protection-root-certificate", _root_certificate()),
    ]
