"""JSON, merge and strategic merge patches: what they do and how they fail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..model import JSON_PATCH, MERGE, STRATEGIC, Scenario, Step, get, patch, post, scenario
from ._objects import CONFIGMAPS, CORE, DEPLOYMENTS, JOBS, PODS, configmap, deployment, having, job, metadata, pod

CM = f"{CONFIGMAPS}/cm"


def op(name: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": name, "path": path, **({"from": more.pop("origin")} if "origin" in more else {}), **more}


JSON_PATCHES: list[Any] = [
    [op("add", "/data/a", value="1")],
    [op("add", "/data/a", value="2")],
    [op("replace", "/data/a", value="3")],
    [op("replace", "/data/none", value="3")],
    [op("remove", "/data/a")],
    [op("remove", "/data/none")],
    [op("test", "/data/k", value="v")],
    [op("test", "/data/k", value="w")],
    [op("test", "/data/none", value=None)],
    [op("copy", "/data/c", origin="/data/k")],
    [op("move", "/data/m", origin="/data/c")],
    [op("move", "/data/m", origin="/data/none")],
    [op("copy", "/data/x", origin="/data/none")],
    [op("add", "/metadata/labels/a", value="b")],
    [op("add", "/metadata/labels", value={"a~b/c": "d"})],
    [op("add", "/metadata/labels", value={"a": "d", "e.io/f": "g"})],
    [op("remove", "/metadata/labels/e.io~1f")],
    [op("replace", "/metadata/name", value="other")],
    [op("replace", "/kind", value="Job")],
    [op("remove", "/metadata")],
    [op("remove", "/metadata/name")],
    [op("add", "", value={})],
    [op("replace", "", value={"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "cm"}})],
    [op("add", "/data/n", value=5)],
    [op("add", "/data", value=[])],
    [op("add", "data/x", value="y")],
    [op("bad", "/data/x", value="y")],
    [op("add", "/data/x")],
    [op("add", "/a/b/c", value="y")],
    [{}],
    [{"op": "add"}],
    [{"path": "/data/x", "value": "y"}],
    [],
    {},
    "x",
    [1],
    [[]],
    [op("add", "/metadata/finalizers", value=["example.com/a"])],
    [op("add", "/metadata/finalizers/-", value="example.com/b")],
    [op("add", "/metadata/finalizers/0", value="example.com/c")],
    [op("add", "/metadata/finalizers/9", value="example.com/d")],
    [op("remove", "/metadata/finalizers/1")],
    [op("remove", "/metadata/finalizers/7")],
    [op("remove", "/metadata/finalizers/-1")],
    [op("replace", "/metadata/finalizers/0", value="bad")],
    [op("test", "/metadata/finalizers", value=["example.com/c", "example.com/b"])],
    [op("remove", "/metadata/finalizers")],
    [op("test", "/metadata/resourceVersion", value="1"), op("add", "/data/z", value="z")],
    [op("add", "/data/one", value="1"), op("remove", "/data/none")],
    [op("add", "/data/~0t", value="1")],
    [op("add", "/data/~2", value="1")],
    [op("add", "/data/", value="1")],
    [op("add", "/data/a b", value="1")],
    [op("ADD", "/data/q", value="1")],
    [{"op": "add", "path": "/data/q", "value": "1", "extra": 1}],
    [{"op": "add", "path": 5, "value": "1"}],
    [{"op": 1, "path": "/data/q"}],
    [op("replace", "/metadata/resourceVersion", value="")],
    [op("remove", "/metadata/managedFields")],
    [op("replace", "/metadata/managedFields", value=[{}])],
    [op("add", "/immutable", value=True)],
    [op("add", "/data/late", value="x")],
    [op("remove", "/immutable")],
]
MERGES: list[Any] = [
    {},
    {"data": {"a": "1"}},
    {"data": {"a": None}},
    {"data": None},
    {"data": {"a": "1", "b": None}},
    {"data": {"n": 5}},
    {"data": []},
    {"data": "x"},
    [],
    "x",
    5,
    None,
    {"metadata": None},
    {"metadata": {}},
    {"metadata": {"name": None}},
    {"metadata": {"labels": {"a": "b"}}},
    {"metadata": {"labels": {"a": None}}},
    {"metadata": {"labels": {}}},
    {"kind": "Job"},
    {"kind": None},
    {"apiVersion": "v2"},
    {"apiVersion": None},
    {"kind": "", "apiVersion": ""},
    {"unknown": {"a": {"b": None}}},
    {"metadata": {"finalizers": ["example.com/a", "example.com/b"]}},
    {"metadata": {"finalizers": ["example.com/b"]}},
    {"metadata": {"finalizers": []}},
    {"data": {"$patch": "replace", "x": "y"}},
    {"binaryData": {"b": "aGk="}},
    {"data": {"b": "dup"}},
    {"immutable": False},
    {"metadata": {"creationTimestamp": "bad"}},
    {"metadata": {"labels": {"a": 1}}},
]
MALFORMED = ["", "{", "null", "[]", "x", '{"a": }', "{}{}", '"s"', "# c"]

CONTAINERS = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}}}


def _inner(**fields: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": fields}}}


STRATEGIC_PATCHES: list[Any] = [
    CONTAINERS,
    _inner(containers=[{"name": "d", "image": "i:3"}]),
    _inner(containers=[{"name": "d", "$patch": "delete"}]),
    _inner(containers=[{"name": "none", "$patch": "delete"}]),
    _inner(containers=[{"name": "c", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}]),
    _inner(containers=[{"name": "c", "env": [{"name": "A", "value": "3"}]}]),
    _inner(containers=[{"name": "c", "env": [{"name": "B", "$patch": "delete"}]}]),
    _inner(containers=[{"name": "c", "env": [{"$patch": "replace"}, {"name": "Z", "value": "1"}]}]),
    _inner(containers=[{"name": "c", "ports": [{"containerPort": 80}]}]),
    _inner(containers=[{"name": "c", "ports": [{"containerPort": 80, "name": "web"}, {"containerPort": 81}]}]),
    _inner(containers=[{"name": "c", "ports": [{"containerPort": 81, "protocol": "UDP"}]}]),
    _inner(containers=[{"name": "c", "args": ["a", "b"]}]),
    _inner(containers=[{"name": "c", "args": ["c"]}]),
    _inner(containers=[{"image": "x"}]),
    _inner(containers=[{"$patch": "replace"}, {"name": "n", "image": "i"}]),
    _inner(containers=[{"name": "e", "image": "i"}], **{"$setElementOrder/containers": [{"name": "e"}, {"name": "n"}]}),
    _inner(**{"$setElementOrder/containers": [{"name": "n"}, {"name": "e"}]}),
    _inner(**{"$setElementOrder/containers": [{"name": "n"}]}),
    _inner(containers=[{"name": "n", "image": "j"}], **{"$setElementOrder/containers": [{"name": "e"}]}),
    _inner(volumes=[{"name": "v", "emptyDir": {}}]),
    _inner(volumes=[{"name": "v", "hostPath": {"path": "/x"}}]),
    _inner(volumes=[{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}]),
    _inner(volumes=[{"name": "v", "$retainKeys": ["name"], "hostPath": {"path": "/x"}}]),
    _inner(volumes=None),
    _inner(nodeSelector={"a": "b"}),
    _inner(nodeSelector={"$patch": "replace", "c": "d"}),
    _inner(nodeSelector={"$patch": "delete"}),
    _inner(nodeSelector={"c": None}),
    _inner(tolerations=[{"key": "a", "operator": "Exists"}]),
    _inner(tolerations=[{"key": "b", "operator": "Exists"}]),
    _inner(imagePullSecrets=[{"name": "a"}]),
    _inner(imagePullSecrets=[{"name": "b"}]),
    _inner(imagePullSecrets=[{"name": "a", "$patch": "delete"}]),
    _inner(hostAliases=[{"ip": "1.1.1.1", "hostnames": ["a"]}]),
    _inner(hostAliases=[{"ip": "1.1.1.1", "hostnames": ["b"]}]),
    _inner(topologySpreadConstraints=[{"topologyKey": "t", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]),
    _inner(topologySpreadConstraints=[{"topologyKey": "t", "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule"}]),
    {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}},
    {"spec": {"strategy": {"type": "RollingUpdate"}}},
    {"spec": {"$patch": "replace", "replicas": 2}},
    {"metadata": {"finalizers": ["example.com/a"]}},
    {"metadata": {"finalizers": ["example.com/b"]}},
    {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}},
    {"metadata": {"$deleteFromPrimitiveList/finalizers": ["none"]}},
    {"metadata": {"$setElementOrder/finalizers": ["example.com/b", "example.com/c"], "finalizers": ["example.com/c"]}},
    {"metadata": {"$deleteFromPrimitiveList/finalizers": "x"}},
    {"metadata": {"finalizers": None}},
    {"metadata": {"ownerReferences": [{"apiVersion": "example.com/v1", "kind": "Thing", "name": "o", "uid": "u1"}]}},
    {"metadata": {"ownerReferences": [{"uid": "u1", "name": "o2"}]}},
    {"metadata": {"ownerReferences": [{"$patch": "delete", "uid": "u1"}]}},
    {"metadata": {"labels": {"a": "b"}, "annotations": {"x": None}}},
    {"metadata": {"labels": None}},
    {"spec": {"replicas": "x"}},
    {"spec": {"replicas": None}},
    {"spec": {"template": None}},
    {"spec": {"template": {"spec": {"containers": {}}}}},
    {"spec": {"template": {"spec": {"containers": "x"}}}},
    {"spec": {"template": {"spec": {"containers": None}}}},
    {"$patch": "replace"},
    {"$patch": "delete"},
    {"$patch": "bad"},
    {"spec": {"$patch": "bad"}},
    _inner(containers=[{"name": "c", "$patch": "bad"}]),
    {"$retainKeys": ["metadata"]},
    {"spec": {"$retainKeys": "x"}},
    {"unknown": {"a": 1}},
    _inner(containers=[{"name": "c", "image": "i", "unknown": 1}]),
    {"spec": {"selector": {"matchLabels": {"x": "y"}}}},
    _inner(**{"$setElementOrder/containers": "x"}),
    _inner(**{"$setElementOrder/nodeSelector": []}),
    {"metadata": {"uid": "x"}},
    _inner(**{"$deleteFromPrimitiveList/containers": ["x"]}),
    _inner(containers=["x"]),
    _inner(containers=[None]),
    _inner(containers=[{"name": 5}]),
    [],
    "x",
    None,
]


def _strategic() -> Iterator[Step]:
    yield post(DEPLOYMENTS, deployment())
    for body in STRATEGIC_PATCHES:
        yield patch(f"{DEPLOYMENTS}/d", body, STRATEGIC)


def _services() -> Iterator[Step]:
    path = f"{CORE}/services/s"
    yield post(
        f"{CORE}/services",
        {
            "metadata": {"name": "s"},
            "spec": {"clusterIP": "None", "ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]},
        },
    )
    for ports in (
        [{"port": 80, "targetPort": 8080}],
        [{"port": 82, "name": "c"}],
        [{"port": 81, "$patch": "delete"}],
        [{"$patch": "replace"}, {"port": 90}],
        [{"port": 90, "protocol": "UDP", "name": "u"}],
    ):
        yield patch(path, {"spec": {"ports": ports}}, STRATEGIC)
    yield post(PODS, pod())
    yield patch(f"{PODS}/p/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, STRATEGIC)
    yield patch(
        f"{PODS}/p/status",
        {
            "status": {
                "conditions": [{"type": "Other", "status": "False"}],
                "podIPs": [{"ip": "1.1.1.1"}],
                "podIP": "1.1.1.1",
            }
        },
        STRATEGIC,
    )
    yield patch(
        f"{PODS}/p/status",
        {
            "status": {
                "conditions": [{"type": "Ready", "status": "False"}],
                "$setElementOrder/conditions": [{"type": "Other"}, {"type": "Ready"}],
            }
        },
        STRATEGIC,
    )
    yield patch(f"{PODS}/p/status", {"status": {"conditions": [{"type": "Ready", "$patch": "delete"}]}}, STRATEGIC)
    yield patch(
        f"{PODS}/p",
        {"metadata": {"labels": {"x": "y"}}, "spec": {"containers": [{"name": "c", "image": "new"}]}},
        STRATEGIC,
    )
    yield patch(f"{PODS}/p", {"spec": {"containers": [{"name": "c", "command": ["x"]}]}}, STRATEGIC)
    yield patch(f"{PODS}/p", {"spec": {"containers": [{"name": "d", "image": "x"}]}}, STRATEGIC)
    yield patch(f"{PODS}/p", {"spec": {"tolerations": [{"key": "k", "operator": "Exists"}]}}, STRATEGIC)


def scenarios() -> Iterator[Scenario]:
    yield scenario(
        "patch-json", [post(CONFIGMAPS, configmap()), *(patch(CM, body, JSON_PATCH) for body in JSON_PATCHES), get(CM)]
    )
    yield scenario(
        "patch-json-malformed",
        [
            post(CONFIGMAPS, configmap()),
            *(patch(CM, text, JSON_PATCH) for text in MALFORMED),
            patch(f"{CONFIGMAPS}/none", "[]", JSON_PATCH),
            patch(CM, [op("add", "/data/a", value="b")] * 10001, JSON_PATCH),
            patch(CM, "[" + '{"op":"add","path":"/data/a","value":"' + "x" * 10 + '"}]', JSON_PATCH),
        ],
    )
    yield scenario(
        "patch-merge",
        [
            post(CONFIGMAPS, configmap()),
            *(patch(CM, "null" if body is None else body, MERGE) for body in MERGES),
            get(CM),
        ],
    )
    yield scenario(
        "patch-malformed",
        [
            post(CONFIGMAPS, configmap()),
            *(patch(CM, text, media) for media in (MERGE, STRATEGIC) for text in MALFORMED),
            patch(f"{CONFIGMAPS}/none", {}, MERGE),
            patch(f"{CONFIGMAPS}/none", {}, STRATEGIC),
            patch(CM, None, MERGE),
        ],
    )
    yield scenario("patch-strategic", _strategic())
    yield scenario("patch-strategic-others", _services())
    strategic_cm = [body for body in MERGES if isinstance(body, dict)]
    yield scenario(
        "patch-strategic-configmap",
        [post(CONFIGMAPS, configmap()), *(patch(CM, body, STRATEGIC) for body in strategic_cm)],
    )
    yield scenario(
        "patch-locking",
        [
            post(CONFIGMAPS, configmap(), capture={"rv": "metadata.resourceVersion", "uid": "metadata.uid"}),
            patch(CM, {"data": {"a": "1"}}),
            *(
                patch(CM, body, media)
                for media in (MERGE, STRATEGIC)
                for body in (
                    {"metadata": {"resourceVersion": "{{rv}}"}, "data": {"b": "1"}},
                    {"metadata": {"resourceVersion": ""}, "data": {"b": "2"}},
                    {"metadata": {"resourceVersion": None}, "data": {"b": "3"}},
                    {"metadata": {"uid": "{{uid}}"}, "data": {"b": "4"}},
                    {"metadata": {"uid": "other"}},
                    {"metadata": {"resourceVersion": "x"}},
                    {"metadata": {"resourceVersion": 5}},
                    {"metadata": {"name": "other"}},
                    {"metadata": {"namespace": "other"}},
                    {"metadata": {"namespace": None}},
                )
            ),
            *(
                patch(f"{CM}?{query}", {"data": {"q": "1"}})
                for query in (
                    "dryRun=All",
                    "dryRun=bad",
                    "force=true",
                    "force=bad",
                    "fieldManager=fm",
                    "fieldManager=" + "x" * 200,
                    "fieldValidation=x",
                    "pretty=1",
                )
            ),
            patch(JOBS + "/none", having(job(), 1, "spec", "parallelism")),
            patch(CM, metadata(configmap(), generateName="x-")),
        ],
    )
