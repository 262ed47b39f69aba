"""Server-side apply: ownership, conflicts, force, removal, lists as maps, mixes with other writes, refusals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..model import (
    APPLY,
    JSON_PATCH,
    STRATEGIC,
    Scenario,
    Step,
    apply,
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
    DEPLOYMENTS,
    JOBS,
    PODS,
    SECRETS,
    cases,
    configmap,
    deployment,
    having,
    job,
    metadata,
    pod,
    pod_spec,
)

CM = f"{CONFIGMAPS}/cm"
D = f"{DEPLOYMENTS}/d"


def _config(**data: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm"}, "data": data}


def _basics() -> Iterator[Step]:
    yield apply(CM, _config(a="1", b="2"))
    yield apply(CM, _config(a="1", b="2"))
    yield apply(CM, _config(a="1"))
    yield apply(CM, _config(a="2"), "other")
    yield apply(CM, _config(a="2"), "other", False)
    yield apply(CM, _config(a="2"), "other", True)
    yield apply(CM, _config(a="1"))
    yield apply(CM, _config(c="3"))
    yield apply(CM, _config(a="2", c="3"), "third")
    yield apply(CM, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm"}}, "third")
    yield apply(CM, {"apiVersion": "v1", "kind": "ConfigMap"}, "third")
    yield apply(CM, metadata(_config(), labels={"x": "y"}, annotations={"p": "q"}), "labels")
    yield apply(CM, metadata(_config(), labels={"x": "z"}, annotations={"p": "q"}), "labels2")
    yield apply(CM, metadata(_config(), labels={"x": "y", "n": "m"}), "labels")
    yield get(CM)
    yield apply(CM + "?dryRun=All", _config(z="9"), "dry")
    yield put(CM, configmap("cm", a="9", k="8"))
    yield apply(CM, _config(a="1"))
    yield patch(CM, {"data": {"a": "5"}})
    yield apply(CM, _config(a="1", k="7", c="3"))
    yield apply(CM, _config(a="1", k="7", c="3"), force=True)
    yield patch(CM, {"data": {"a": None}})
    yield apply(CM, _config(a="1", k="7", c="3"))
    yield patch(CM, {"metadata": {"managedFields": []}})
    yield patch(CM, {"metadata": {"managedFields": [{}]}})
    yield apply(CM, _config(a="4"))
    yield apply(CM, _config(a="4"), force=True)
    yield delete(CM)
    yield apply(CM, _config(a="4"), force=True)


def _refused() -> Iterator[Step]:
    body = _config(a="1")
    yield request("PATCH", CM, body, APPLY)
    yield request("PATCH", CM + "?fieldManager=", body, APPLY)
    yield request("PATCH", CM + "?fieldManager=x&force=bad", body, APPLY)
    yield request("PATCH", CM + "?fieldManager=" + "x" * 129, body, APPLY)
    yield request("PATCH", CM + "?fieldManager=a%0Ab", body, APPLY)
    for text in (
        "",
        "null",
        "[]",
        "5",
        "x",
        "{",
        "a: b: c",
        "{}",
        "kind: ConfigMap",
        "apiVersion: v1",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: cm}",
        "apiVersion: v2\nkind: ConfigMap\nmetadata: {name: cm}",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm, namespace: other}",
        "apiVersion: batch/v1\nkind: ConfigMap",
        "apiVersion: v1\nkind: Nothing",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: x",
        "apiVersion: v1\nkind: ConfigMap\ndata: x",
        "apiVersion: v1\nkind: ConfigMap\ndata: {a: 5}",
        "apiVersion: v1\nkind: ConfigMap\ndata: [a]",
        "apiVersion: v1\nkind: ConfigMap\ncolour: red",
        "apiVersion: v1\nkind: ConfigMap\ndata: null",
        "apiVersion: v1\nkind: ConfigMap\ndata: {a: null}",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {colour: red}",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {managedFields: [{manager: x}]}",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm, managedFields: []}",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {resourceVersion: '1'}",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {uid: u}",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {a: 1}}",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {'bad key': x}}",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: x-}",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {creationTimestamp: null}\ndata: {ok: 'yes'}",
    ):
        yield apply(CM, text)
    for spec in cases(
        {"colour": 1},
        {"parallelism": "x"},
        {"parallelism": 1.5},
        {"template": []},
        {"template": {"spec": {"containers": {}}}},
        {"template": {"spec": {"containers": [{"image": "x"}]}}},
        {"template": {"spec": {"containers": [{"name": "a"}, {"name": "a"}]}}},
        {"template": {"spec": {"containers": [{"name": "a", "ports": [{"containerPort": 1}, {"containerPort": 1}]}]}}},
        {"template": {"spec": {"containers": [{"name": "a", "env": [{"name": "A"}, {"name": "A"}]}]}}},
        {"suspend": "x"},
        {"selector": 5},
        {"template": {"spec": {"containers": ["x"]}}},
        {"backoffLimit": None},
    ):
        yield apply(f"{JOBS}/j", {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec})
    yield apply(
        f"{JOBS}/j",
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "j", "finalizers": ["a.b/c", "a.b/c"]},
            "spec": {},
        },
    )
    yield apply(f"{JOBS}/Bad_Name", {**job("Bad_Name")})


def _jobs() -> Iterator[Step]:
    j = f"{JOBS}/j"
    minimal = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
    yield apply(j, job(suspend=True))
    yield apply(j, job(suspend=True, parallelism=2))
    yield apply(j, job(suspend=True))
    yield apply(j, {**minimal, "spec": {"suspend": False}}, "other")
    yield apply(j, {**minimal, "spec": {"suspend": True}}, "other")
    yield apply(j, {**minimal, "spec": {"suspend": False}}, "other", True)
    yield apply(j, {**minimal, "spec": {"template": {"metadata": {"annotations": {"x": "y"}}}}}, "ann")
    yield apply(j, {**minimal, "spec": {"completions": 3}}, "comp")
    yield apply(j, {**minimal, "spec": {"managedBy": "other.io/x"}}, "comp")
    yield apply(j, {**minimal, "status": {"active": 1}}, "statusy")
    yield apply(j + "/status", {**minimal, "spec": {"parallelism": 5}, "status": {"active": 1}}, "statusy")
    yield apply(j, job(suspend=True))
    yield get(j)
    yield apply(f"{JOBS}/nolabels", {**job("nolabels"), "metadata": {"name": "nolabels"}})
    yield apply(
        f"{JOBS}/tl", job("tl", template={"metadata": {"labels": {"a": "b"}}, "spec": pod_spec(restartPolicy="Never")})
    )
    yield apply(f"{JOBS}/bad", job("bad", parallelism=-1))
    yield post(JOBS, job("made"))
    yield apply(f"{JOBS}/made", job("made"))
    yield apply(f"{JOBS}/made", job("made", backoffLimit=3))
    yield apply(f"{JOBS}/made", job("made", backoffLimit=3), force=True)


def _deployment(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return having(deployment(**spec), list(containers), "spec", "template", "spec", "containers")


def _lists() -> Iterator[Step]:
    minimal = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
    c: dict[str, Any] = {"name": "c", "image": "i:1"}

    def only(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
        return {**minimal, "spec": {"template": {"spec": {"containers": list(containers), **spec}}}}

    yield apply(D, _deployment(c))
    yield apply(D, only({"name": "side", "image": "s:1"}), "side")
    yield apply(D, only({"name": "c", "env": [{"name": "A", "value": "1"}]}), "env")
    yield apply(D, only({"name": "c", "env": [{"name": "A", "value": "2"}]}), "env2")
    yield apply(D, only({"name": "c", "env": [{"name": "B", "value": "2"}]}), "env2")
    yield apply(
        D,
        only(
            {
                "name": "c",
                "env": [
                    {"name": "A", "value": "1"},
                    {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                ],
            }
        ),
        "env",
    )
    yield apply(D, only({"name": "c", "env": [{"name": "C", "value": "x"}]}), "env")
    yield apply(D, only({"name": "c", "ports": [{"containerPort": 80}]}), "ports")
    yield apply(
        D,
        only(
            {
                "name": "c",
                "ports": [
                    {"containerPort": 80, "protocol": "TCP", "name": "web"},
                    {"containerPort": 80, "protocol": "UDP"},
                ],
            }
        ),
        "ports",
    )
    yield apply(D, only({"name": "c", "args": ["a"]}), "args")
    yield apply(D, only({"name": "c", "args": ["b"]}), "args2")
    yield apply(D, only({"name": "c", "args": ["a"]}), "args2")
    yield apply(D, only({"name": "c", "resources": {"limits": {"cpu": "1"}}}), "res")
    yield apply(D, only({"name": "c", "resources": {"limits": {"cpu": "1000m", "memory": "1Gi"}}}), "res")
    yield apply(D, only({"name": "c", "resources": {"limits": {"cpu": "1000m"}}}), "res2")
    yield apply(D, only({"name": "new", "image": "n"}, {"name": "side", "image": "s:2"}), "side")
    yield apply(D, only(), "side")
    yield apply(D, only(volumes=[{"name": "v", "emptyDir": {}}]), "vol")
    yield apply(D, only(volumes=[{"name": "v", "configMap": {"name": "x"}}]), "vol")
    yield apply(D, only(tolerations=[{"key": "a", "operator": "Exists"}], nodeSelector={"a": "b"}), "tol")
    yield apply(D, only(tolerations=[{"key": "b", "operator": "Exists"}], nodeSelector={"a": "c"}), "tol2")
    yield apply(D, {**minimal, "spec": {"replicas": 3}}, "scaler")
    yield apply(D, {**minimal, "spec": {"replicas": 4}}, "scaler2")
    yield apply(D, {**minimal, "spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}}}, "strategy")
    yield apply(D, {**minimal, "spec": {"selector": {"matchLabels": {"x": "y"}}}}, "sel", True)
    yield patch(D, {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i:9"}]}}}}, STRATEGIC)
    yield apply(D, _deployment(c))
    yield apply(D, _deployment(c), force=True)
    yield patch(D, [{"op": "replace", "path": "/spec/replicas", "value": 9}], JSON_PATCH)
    yield apply(D, {**minimal, "spec": {"replicas": 4}}, "scaler2")
    yield put(D, _deployment(c, replicas=2))
    yield apply(
        D,
        {
            **minimal,
            "metadata": {"name": "d", "ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "1"}]},
        },
        "owner",
    )
    yield apply(
        D,
        {
            **minimal,
            "metadata": {"name": "d", "ownerReferences": [{"apiVersion": "v1", "kind": "Y", "name": "y", "uid": "2"}]},
        },
        "owner2",
    )
    yield apply(D, {**minimal, "metadata": {"name": "d", "finalizers": ["a.b/c"]}}, "fin")
    yield apply(D, {**minimal, "metadata": {"name": "d", "finalizers": ["a.b/d"]}}, "fin2")
    yield apply(D, minimal, "fin2")
    yield apply(D, minimal, "fin")


def _others() -> Iterator[Step]:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    yield apply(f"{SECRETS}/s", {**secret, "stringData": {"a": "b"}})
    yield apply(f"{SECRETS}/s", {**secret, "data": {"a": "Yw=="}}, "other")
    yield apply(f"{SECRETS}/s", {**secret, "stringData": {"a": "d"}, "type": "Opaque"})
    yield apply(f"{SECRETS}/s", {**secret, "data": {"a": "!"}}, "other")
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    yield apply(f"{CORE}/services/s", {**service, "spec": {"ports": [{"port": 80}]}})
    yield apply(
        f"{CORE}/services/s", {**service, "spec": {"ports": [{"port": 81, "name": "b"}, {"port": 80, "name": "a"}]}}
    )
    yield apply(
        f"{CORE}/services/s", {**service, "spec": {"ports": [{"port": 81, "name": "b", "protocol": "TCP"}]}}, "two"
    )
    yield apply(f"{CORE}/services/s", {**service, "spec": {"selector": {"a": "b"}}}, "sel")
    yield apply(f"{CORE}/services/s", {**service, "spec": {"selector": {"a": "c"}}}, "sel2")
    yield apply(f"{PODS}/p", pod())
    yield apply(f"{PODS}/p", having(pod(), "img:2", "spec", "containers", 0, "image"))
    yield apply(f"{PODS}/p", having(pod(), ["x"], "spec", "containers", 0, "command"))
    yield apply(
        f"{PODS}/p/status",
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p"},
            "status": {"conditions": [{"type": "A", "status": "True"}]},
        },
    )
    yield apply(
        f"{PODS}/p/status",
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p"},
            "status": {"conditions": [{"type": "B", "status": "True"}]},
        },
        "b",
    )
    yield apply(
        f"{PODS}/p/status",
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p"},
            "status": {"conditions": [{"type": "A", "status": "False"}]},
        },
        "b",
    )
    yield apply(
        f"{CORE}/serviceaccounts/sa",
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "sa"},
            "secrets": [{"name": "a"}],
            "imagePullSecrets": [{"name": "b"}],
        },
    )
    yield apply(
        f"{CORE}/serviceaccounts/sa",
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "sa"}, "imagePullSecrets": [{"name": "c"}]},
        "two",
    )
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}}
    path = "/apis/rbac.authorization.k8s.io/v1/namespaces/{{ns}}/roles/r"
    yield apply(path, {**role, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]})
    yield apply(path, {**role, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]}, "two")
    yield apply(CM, metadata(_config(a="1"), managedFields=None))
    yield apply(CM, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\ndata:\n  a: '1'\n  b: yes\n", "yaml")
    yield apply(CM, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\nbinaryData:\n  z: aGk=\n", "yaml")


def _managers() -> Iterator[Step]:
    yield post(CONFIGMAPS + "?fieldManager=creator", configmap())
    for number in range(13):
        yield patch(f"{CM}?fieldManager=m{number:02}", {"data": {f"k{number}": "v"}})
    yield get(CM)
    yield patch(CM, {"data": {"ua": "1"}}, headers={"User-Agent": "some-tool/v1.2 (linux) x"})
    yield patch(CM, {"data": {"ua": "2"}}, headers={"User-Agent": "nöslash"})
    yield patch(CM, {"data": {"ua": "3"}}, headers={"User-Agent": "x" * 200 + "/1"})
    yield patch(CM, {"data": {"ua": "4"}}, headers={"User-Agent": ""})
    yield patch(
        CM,
        {
            "metadata": {
                "managedFields": [
                    {
                        "manager": "me",
                        "operation": "Update",
                        "apiVersion": "v1",
                        "fieldsType": "FieldsV1",
                        "fieldsV1": {"f:data": {"f:k": {}}},
                    }
                ]
            }
        },
    )
    yield patch(CM, {"metadata": {"managedFields": [{"manager": "me", "operation": "Bad"}]}})
    yield patch(
        CM,
        {
            "metadata": {
                "managedFields": [{"manager": "me", "operation": "Update", "apiVersion": "v1", "fieldsType": "Bad"}]
            }
        },
    )
    yield patch(
        CM,
        {
            "metadata": {
                "managedFields": [
                    {
                        "manager": "me",
                        "operation": "Update",
                        "apiVersion": "v1",
                        "fieldsType": "FieldsV1",
                        "fieldsV1": {"data": {}},
                    }
                ]
            }
        },
    )
    yield patch(
        CM,
        {
            "metadata": {
                "managedFields": [
                    {
                        "manager": "x" * 200,
                        "operation": "Update",
                        "apiVersion": "v1",
                        "fieldsType": "FieldsV1",
                        "fieldsV1": {},
                    }
                ]
            }
        },
    )
    yield get(CM)


def scenarios() -> Iterator[Scenario]:
    yield scenario("apply-basics", _basics())
    yield scenario("apply-refused", _refused())
    yield scenario("apply-jobs", _jobs())
    yield scenario("apply-lists", _lists())
    yield scenario("apply-others", _others())
    yield scenario("apply-managers", _managers())
