"""Admission webhooks: whom a server asks about what, what it tells them, and what becomes of their answers.

Each scenario registers webhooks for its own namespace, and then waits until a marker among them is asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..hooks import says
from ..model import JSON_PATCH, STRATEGIC, Scenario, Step, apply, as_user, delete, get, patch, post, put, scenario
from ._objects import CONFIGMAPS, CORE, DEPLOYMENTS, PODS, pod
from .crds import CRDS, NAME, SCHEMA, WIDGETS, _ready, _version, crd, widget
from .crds import GROUP as WIDGET_GROUP

GROUP = "/apis/admissionregistration.k8s.io/v1"
READY = 418
Obj = dict[str, Any]


def rule(*resources: str, operations: Iterable[str] = ("*",), groups: Iterable[str] = ("*",), **more: Any) -> Obj:
    return {
        "operations": list(operations), "apiGroups": list(groups), "apiVersions": ["*"], "resources": list(resources),
        **more,
    }  # fmt: skip


def hook(name: str, path: str, *rules: Obj, **more: Any) -> Obj:
    """A webhook for the scenario's namespace; by default for ConfigMaps."""
    return {
        "name": f"{name}.example.com",
        "clientConfig": {"url": f"https://{{{{hooks}}}}{path}", "caBundle": "{{hooks_ca}}"},
        "rules": list(rules) or [rule("configmaps")],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "{{ns}}"}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **more,
    }


def _marker(kind: str) -> Obj:
    path = says(response={"allowed": False, "status": {"code": READY}})
    labels = {"matchLabels": {"marker": kind.lower()}}
    return hook(f"marker-{kind.lower()}", path, rule("secrets", operations=["CREATE"]), objectSelector=labels)


def registered(kind: str, *hooks: Obj, name: str = "x") -> list[Step]:
    """Registers webhooks; they are in force afterwards."""
    body = {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": f"{name}-{{{{run}}}}"}, "webhooks": [_marker(kind), *hooks],
    }  # fmt: skip
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "m", "labels": {"marker": kind.lower()}}}
    text = json.dumps(body).replace('"{{hooks_port}}"', "{{hooks_port}}")
    return [
        post(_path(kind), text, pick=(("kind",),)),
        post(f"{CORE}/secrets?dryRun=All", secret, until=READY, pick=(("kind",),)),
    ]


def _path(kind: str) -> str:
    return f"{GROUP}/{kind.lower()}webhookconfigurations"


CLEANUP = [f"{_path(kind)}/{name}-{{{{run}}}}" for kind in ("Mutating", "Validating") for name in ("x", "y")]


def metadata(name: str, **more: Any) -> Obj:
    return {"name": name, **more}


def config(name: str = "a", **more: Any) -> Obj:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(name, **more), "data": {"a": "1"}}


def one(name: str, kind: str, hooks: Iterable[Obj], steps: Iterable[Step]) -> Scenario:
    return scenario(f"webhooks-{name}", [*registered(kind, *hooks), *steps], CLEANUP)


def by_alice(step: Step) -> Step:
    """As a user that is the same on both servers, since webhooks are told who asks."""
    return as_user(step, "alice", "system:masters")


# What webhooks are told.

TELL = says(response={"allowed": False}, echo={"message": []})


def _told() -> Iterable[Scenario]:
    everything = hook("tell", TELL, rule("*/*"), objectSelector={"matchLabels": {"tell": "yes"}})
    always = hook("tell", TELL, rule("pods/*", "deployments/*", operations=["*"]))
    labels = {"labels": {"tell": "yes"}}
    for kind in ("Mutating", "Validating"):
        yield one(
            f"told-{kind.lower()}", kind, [everything],
            map(by_alice, [
                post(CONFIGMAPS, config(**labels)),
                post(f"{CONFIGMAPS}?fieldManager=m&fieldValidation=Strict&dryRun=All", config(**labels)),
                post(CONFIGMAPS, {**config(**labels), "metadata": {"generateName": "gen-", **labels}}),
                post(PODS, {**pod("p"), "metadata": metadata("p", **labels)}),
                post(CONFIGMAPS, config("old")),
                put(f"{CONFIGMAPS}/old", config("old", **labels)),
                patch(f"{CONFIGMAPS}/old", {"metadata": labels}),
                patch(f"{CONFIGMAPS}/old", {"metadata": labels}, STRATEGIC),
                patch(f"{CONFIGMAPS}/old?fieldManager=p&dryRun=All", {"metadata": labels}),
                apply(f"{CONFIGMAPS}/old", config("old", **labels), force=True),
                apply(f"{CONFIGMAPS}/new", config("new", **labels)),
                post(PODS, pod("kept")),
                get(f"{CONFIGMAPS}/old"),
            ]),
        )  # fmt: skip
        deletions = hook("tell", TELL, rule("configmaps", "pods", operations=["DELETE"]))
        yield one(
            f"told-deletes-{kind.lower()}", kind, [deletions],
            map(by_alice, [
                post(CONFIGMAPS, config("old")),
                post(PODS, pod("p")),
                delete(f"{CONFIGMAPS}/old"),
                delete(f"{CONFIGMAPS}/old?propagationPolicy=Orphan&dryRun=All"),
                delete(f"{CONFIGMAPS}/old", {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 5}),
                delete(f"{CONFIGMAPS}/old", {"propagationPolicy": "Foreground"}),
                delete(f"{CONFIGMAPS}/old", {"preconditions": {"resourceVersion": "1"}}),
                delete(f"{PODS}/p"),
                delete(f"{PODS}/p?gracePeriodSeconds=7"),
                delete(CONFIGMAPS + "?fieldSelector=metadata.name%3Dold"),
                delete(CONFIGMAPS + "?labelSelector=none%3Dsuch"),
                get(f"{CONFIGMAPS}/old"),
            ]),
        )  # fmt: skip
        yield one(
            f"told-subresources-{kind.lower()}", kind, [always],
            map(by_alice, [
                post(PODS, pod("p")),
                patch(f"{PODS}/p/status", {"status": {"message": "x"}}),
                put(f"{PODS}/p/status", pod("p")),
                post(f"{PODS}/p/binding", {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}),
                post(f"{PODS}/p/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}),
                post(f"{PODS}/p/exec?command=a&command=b&stdin=true&stdout=1&container=main&tty=false", None),
                post(f"{PODS}/p/attach?stdout=true", None),
                post(f"{PODS}/p/portforward?ports=80&ports=81", None),
                post(DEPLOYMENTS, _deployment()),
                put(f"{DEPLOYMENTS}/d/scale", _scale(3)),
                patch(f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 2}}),
                patch(f"{DEPLOYMENTS}/d/status", {"status": {"replicas": 2}}),
            ]),
        )  # fmt: skip


def _deployment() -> Obj:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]}
    spec = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template, "paused": True}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata("d"), "spec": spec}


def _scale(replicas: int) -> Obj:
    return {
        "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d", "namespace": "{{ns}}"},
        "spec": {"replicas": replicas},
    }  # fmt: skip


# What becomes of answers.

DENIALS: dict[str, Obj] = {
    "plain": {"allowed": False},
    "message": {"allowed": False, "status": {"message": "no"}},
    "reason": {"allowed": False, "status": {"reason": "Forbidden"}},
    "code": {"allowed": False, "status": {"code": 403, "message": "no", "reason": "Forbidden"}},
    "low-code": {"allowed": False, "status": {"code": 200, "status": "Success"}},
    "details": {"allowed": False, "status": {"details": {"name": "x", "causes": [{"field": "a", "message": "b"}]}}},
    "warned": {"allowed": False, "warnings": ["one", "two"]},
}
BROKEN: dict[str, Obj] = {
    "uid": {"response": {"uid": "other"}},
    "no-uid": {"response": {"uid": None}},
    "absent": {"review": {"response": None}},
    "no-kind": {"review": {"kind": "", "apiVersion": ""}},
    "only-kind": {"review": {"apiVersion": ""}},
    "other-kind": {"review": {"kind": "Pod", "apiVersion": "v1"}},
    "status-kind": {"review": {"kind": "Status", "apiVersion": "v1"}},
    "other-version": {"review": {"apiVersion": "admission.k8s.io/v1beta1"}},
    "unknown-version": {"review": {"apiVersion": "admission.k8s.io/v7"}},
    "wrong-type": {"response": {"allowed": "yes"}},
    "wrong-warnings": {"response": {"warnings": "yes"}},
    "wrong-status": {"response": {"allowed": False, "status": "no"}},
    "empty": {"body": ""},
    "text": {"body": "hello", "media": "text/plain"},
    "list": {"body": "[]"},
    "null": {"body": "null"},
    "truncated": {"body": '{"kind": "AdmissionReview"'},
    "close": {"close": True},
    **{f"http-{code}": {"status": code, "body": "why not", "media": "text/plain"}
       for code in (201, 204, 300, 400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 429, 500, 502, 503, 504)},
    "http-json": {"status": 500, "body": '{"a": 1}'},
    "http-status": {
        "status": 403,
        "body": '{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no", "code": 403}',
    },
}  # fmt: skip
PATCHED: dict[str, Obj] = {
    "added": {"patch": [{"op": "add", "path": "/data/b", "value": "2"}]},
    "labels": {"patch": [{"op": "add", "path": "/metadata/labels", "value": {"x": "y"}}]},
    "none": {"patch": []},
    "same": {"patch": [{"op": "replace", "path": "/data/a", "value": "1"}]},
    "missing": {"patch": [{"op": "add", "path": "/x/y", "value": "2"}]},
    "missing-key": {"patch": [{"op": "remove", "path": "/data/nothing"}]},
    "replaced-key": {"patch": [{"op": "replace", "path": "/x/nothing", "value": 1}]},
    "tested": {"patch": [{"op": "test", "path": "/data/a", "value": "3"}]},
    "moved": {"patch": [{"op": "move", "from": "/x/y", "path": "/data/c"}]},
    "copied": {"patch": [{"op": "copy", "from": "/data/a", "path": "/data/c"}]},
    "copied-from": {"patch": [{"op": "copy", "from": "/x/y", "path": "/data/c"}]},
    "unknown-op": {"patch": [{"op": "change", "path": "/data/c"}]},
    "no-path": {"patch": [{"op": "add", "value": 1}]},
    "no-operations": {"patch": {"op": "add"}},
    "texts": {"patch": ["add"]},
    "wrong-value": {"patch": [{"op": "add", "path": "/data/b", "value": 7}]},
    "unknown-field": {"patch": [{"op": "add", "path": "/unknown", "value": 7}]},
    "renamed": {"patch": [{"op": "replace", "path": "/metadata/name", "value": "renamed"}]},
    "moved-away": {"patch": [{"op": "replace", "path": "/metadata/namespace", "value": "elsewhere"}]},
    "invalid": {"patch": [{"op": "add", "path": "/data/b~1c", "value": "2"}]},
    "other-kind": {"patch": [{"op": "replace", "path": "/kind", "value": "Secret"}]},
    "managed": {"patch": [{"op": "remove", "path": "/metadata/managedFields"}]},
    "mismanaged": {"patch": [{"op": "replace", "path": "/metadata/managedFields", "value": [{"operation": "x"}]}]},
    "owners": {"patch": [{"op": "add", "path": "/metadata/ownerReferences", "value": [
        {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}] * 2}]},
    "no-type": {"patch": [{"op": "add", "path": "/data/b", "value": "2"}], "response": {"patchType": None}},
    "other-type": {"patch": [{"op": "add", "path": "/data/b", "value": "2"}], "response": {"patchType": "Merge"}},
    "empty-type": {"patch": [{"op": "add", "path": "/data/b", "value": "2"}], "response": {"patchType": ""}},
    "only-type": {"response": {"patchType": "JSONPatch"}},
    "not-base64": {"response": {"patch": "!!", "patchType": "JSONPatch"}},
    "not-json": {"response": {"patch": "e30x", "patchType": "JSONPatch"}},
}  # fmt: skip


def _cases(name: str, kind: str, cases: dict[str, Obj], **more: Any) -> Iterable[Scenario]:
    """One webhook for each case, which is asked about objects with the case's label, in a few scenarios."""
    names = sorted(cases)
    for at in range(0, len(names), 14):
        some = names[at : at + 14]
        hooks = [
            hook(case, says(**cases[case]), objectSelector={"matchLabels": {"case": case}}, **more) for case in some
        ]
        steps = [post(f"{CONFIGMAPS}", config(f"c-{case}", labels={"case": case})) for case in some]
        yield one(f"{name}-{at // 14}", kind, hooks, steps)


def _answers() -> Iterable[Scenario]:
    for kind in ("Mutating", "Validating"):
        denials = {case: {"response": response} for case, response in DENIALS.items()}
        yield from _cases(f"denials-{kind.lower()}", kind, denials)
        yield from _cases(f"broken-{kind.lower()}", kind, BROKEN)
    yield from _cases("broken-ignored", "Validating", BROKEN, failurePolicy="Ignore")
    yield from _cases("broken-v1beta1", "Mutating", BROKEN, admissionReviewVersions=["v1beta1"])
    yield from _cases("patches", "Mutating", PATCHED)
    yield from _cases("patches-v1beta1", "Mutating", PATCHED, admissionReviewVersions=["v9", "v1beta1", "v1"])
    yield from _cases("patches-validating", "Validating", PATCHED)


# Who is asked.


def _unreachable() -> Iterable[Scenario]:
    def case(name: str, config: Obj, **more: Any) -> Obj:
        return {**hook(name, "/", objectSelector={"matchLabels": {"case": name}}, **more), "clientConfig": config}

    service = {"namespace": "{{ns}}", "name": "none", "path": "/x"}
    ca = "{{hooks_ca}}"
    slow = hook("slow", says(seconds=3), timeoutSeconds=1, objectSelector={"matchLabels": {"case": "slow"}})
    hooks = [
        case("refused", {"url": "https://127.0.0.1:1/x/y/", "caBundle": ca}),
        case("root", {"url": "https://127.0.0.1:1", "caBundle": ca}),
        case("ignored", {"url": "https://127.0.0.1:1", "caBundle": ca}, failurePolicy="Ignore"),
        case("untrusted", {"url": "https://{{hooks}}/x"}),
        case("no-service", {"service": service, "caBundle": ca}),
        case("no-port", {"service": {**service, "name": "svc", "port": 8}, "caBundle": ca}),
        slow,
        hook("patient", says(seconds=2), objectSelector={"matchLabels": {"case": "patient"}}),
    ]
    cases = ("refused", "root", "ignored", "untrusted", "no-service", "no-port", "slow")
    ports = [{"port": 443}]
    svc = {"apiVersion": "v1", "kind": "Service", "metadata": metadata("svc"), "spec": {"ports": ports}}
    steps = [post(CONFIGMAPS, config(f"c-{name}", labels={"case": name})) for name in cases]
    steps.append(post(f"{CONFIGMAPS}?timeout=1s", config("c-patient", labels={"case": "patient"})))
    for kind in ("Mutating", "Validating"):
        yield one(
            f"unreachable-{kind.lower()}", kind, hooks, [post(f"{CORE}/services", svc, pick=(("kind",),)), *steps]
        )


def _services() -> Iterable[Scenario]:
    """By an ExternalName, which needs no proxy on a real server."""
    path = says(response={"allowed": False, "status": {"message": "by service"}})
    reference = {"namespace": "{{ns}}", "name": "hook", "path": path, "port": "{{hooks_port}}"}
    asked = {**hook("by-service", "/"), "clientConfig": {"service": reference, "caBundle": "{{hooks_ca}}"}}
    external = {"type": "ExternalName", "externalName": "localhost"}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata("hook"), "spec": external}
    selector = {"matchLabels": {"case": "misnamed"}}
    misnamed = {**asked, "name": "misnamed.example.com", "objectSelector": selector}
    misnamed["clientConfig"] = {"service": {**reference, "name": "other"}, "caBundle": "{{hooks_ca}}"}
    asked = {**asked, "objectSelector": {"matchLabels": {"case": "asked"}}}
    yield one("services", "Validating", [asked, misnamed], [
        post(f"{CORE}/services", service),
        post(f"{CORE}/services", {**service, "metadata": metadata("other")}),
        post(CONFIGMAPS, config(labels={"case": "asked"})),
        post(CONFIGMAPS, config(labels={"case": "misnamed"})),
    ])  # fmt: skip


def _custom() -> Iterable[Scenario]:
    """Custom resources, in both of their versions."""
    told = says(echo={"warning": ["kind", "requestKind", "object", "oldObject", "subResource"]})
    v1 = {**rule("widgets", "widgets/*", groups=[WIDGET_GROUP]), "apiVersions": ["v1"]}
    changes = says(patch=[
        {"op": "add", "path": "/spec/size", "value": 7}, {"op": "add", "path": "/spec/unknown", "value": 7},
    ])  # fmt: skip
    wrong = says(patch=[{"op": "add", "path": "/spec/size", "value": "large"}])
    selector = {"matchLabels": {"case": "wrong"}}
    v2 = WIDGETS.replace("/v1/", "/v1beta1/")
    subresources = {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.count"}}
    definition = crd(
        _version(SCHEMA, subresources=subresources),
        _version(SCHEMA, "v1beta1", storage=False, subresources=subresources),
    )
    hooks = [
        hook("changes", changes, {**v1, "resources": ["widgets"], "operations": ["CREATE"]}),
        hook("wrong", wrong, v1, objectSelector=selector),
        hook("told", told, v1),
    ]
    yield replace(
        one("custom", "Mutating", hooks, [
            post(CRDS, definition, pick=(("kind",),)), *_ready(),
            post(WIDGETS, widget("a", spec={"size": 3})),
            post(v2, widget("b", "v1beta1", spec={"size": 4})),
            patch(f"{v2}/a", {"spec": {"name": "abc"}}),
            patch(f"{WIDGETS}/a/status", {"status": {"phase": "x"}}),
            patch(f"{WIDGETS}/a/scale", {"spec": {"replicas": 2}}),
            patch(f"{v2}/a", {"metadata": {"labels": {"case": "wrong"}}}),
            delete(f"{v2}/b"),
            get(f"{WIDGETS}/a"),
        ]),
        cleanup=(*CLEANUP, f"{CRDS}/{NAME}"),
    )  # fmt: skip


def _pods() -> Iterable[Scenario]:
    """A sidecar that is injected: plugins complete it."""
    sidecar = {"name": "side", "image": "x"}
    inject = says(patch=[{"op": "add", "path": "/spec/containers/-", "value": sidecar}])
    yield one("pods", "Mutating", [hook("inject", inject, rule("pods", operations=["CREATE"]))], [
        post(PODS, pod("p")),
        get(f"{PODS}/p"),
        post(f"{CORE}/serviceaccounts/default/token", {"spec": {"expirationSeconds": 600}}),
    ])  # fmt: skip
    tell = hook("tell", TELL, rule("serviceaccounts/token", "localsubjectaccessreviews"))
    review = {"spec": {"user": "x", "resourceAttributes": {"namespace": "{{ns}}", "verb": "get", "resource": "pods"}}}
    review |= {"apiVersion": "authorization.k8s.io/v1", "kind": "LocalSubjectAccessReview"}
    yield one("reviews", "Validating", [tell], map(by_alice, [
        post(f"{CORE}/serviceaccounts/default/token", {"spec": {"expirationSeconds": 600}}),
        post("/apis/authorization.k8s.io/v1/namespaces/{{ns}}/localsubjectaccessreviews", review),
    ]))  # fmt: skip


def _matching() -> Iterable[Scenario]:
    def told(name: str, *rules: Obj, **more: Any) -> Obj:
        path = says(echo={"warning": ["kind", "resource", "requestKind", "requestResource", "subResource", "name"]})
        return hook(name, path, *rules, **more)

    hpa = {
        "metadata": metadata("h"),
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}},
    }
    v1 = rule("horizontalpodautoscalers", groups=["autoscaling"], apiVersions=["v1"])
    for kind in ("Mutating", "Validating"):
        hooks = [told("exact", v1, matchPolicy="Exact"), told("equivalent", v1, matchPolicy="Equivalent")]
        path = "/apis/autoscaling/{}/namespaces/{{{{ns}}}}/horizontalpodautoscalers"
        yield one(f"match-policy-{kind.lower()}", kind, hooks, [
            post(path.format("v1"), {**hpa, "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler"}),
            patch(path.format("v2") + "/h", {"spec": {"maxReplicas": 4}}),
            patch(path.format("v2") + "/h/status", {"status": {"currentReplicas": 4}}),
            delete(path.format("v2") + "/h"),
        ])  # fmt: skip
    scoped = [
        told("namespaced", rule("configmaps", scope="Namespaced")),
        told("cluster", rule("configmaps", scope="Cluster")),
        told("status", rule("*/status")),
        told("creates", rule("configmaps", operations=["CREATE", "DELETE"])),
        told("all", rule("*")),
        told("none", rule("secrets", groups=["apps"])),
        told("labelled", rule("configmaps"), objectSelector={"matchLabels": {"a": "b"}}),
    ]
    yield one("rules", "Mutating", scoped, [
        post(CONFIGMAPS, config("a")),
        patch(f"{CONFIGMAPS}/a", {"data": {"b": "2"}}),
        patch(f"{CONFIGMAPS}/a", {"metadata": {"labels": {"a": "b"}}}),
        patch(f"{CONFIGMAPS}/a", {"metadata": {"labels": {"a": None}}}),
        post(PODS, pod("p")),
        patch(f"{PODS}/p/status", {"status": {"message": "x"}}),
        delete(f"{CONFIGMAPS}/a"),
    ])  # fmt: skip
    yield _namespaces()
    yield _conditions()


def _namespaces() -> Scenario:
    path = says(echo={"warning": ["name", "namespace", "operation"]})
    asked = hook("namespaces", path, rule("namespaces"), namespaceSelector={"matchLabels": {"run": "{{run}}"}})
    name, labels = "w-{{run}}", {"labels": {"run": "{{run}}"}}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, **labels}}
    path = f"/api/v1/namespaces/{name}"
    return replace(
        one("namespaces", "Mutating", [asked], [
            post("/api/v1/namespaces", space, pick=(("kind",),)),
            patch(path, {"metadata": {"labels": {"x": "y"}}}, pick=(("kind",),)),
            patch(path, {"metadata": {"labels": {"run": None}}}, pick=(("kind",),)),
            patch(path, {"metadata": {"labels": {"run": "{{run}}"}}}, pick=(("kind",),)),
            delete(path, pick=(("kind",),)),
        ]),
        cleanup=(*CLEANUP, path),
    )  # fmt: skip


CONDITIONS = {
    "true": ["true"], "false": ["false"], "object": ["object.metadata.name == 'c-object'"],
    "error": ["object.nope == 1"],
    "error-and-false": ["object.nope == 1", "false"], "errors": ["object.nope == 1", "object.no == 2"],
    "old": ["oldObject == null"], "request": ["request.operation == 'CREATE' && request.userInfo.username == 'alice'"],
    "kind": ["request.kind.kind == 'ConfigMap'"], "name": ["request.name.startsWith('c-')"],
    "options": ["request.options.kind == 'CreateOptions'"], "dry-run": ["!request.dryRun"],
    "authorizer": ["authorizer.group('').resource('pods').namespace('default').check('create').allowed()"],
}  # fmt: skip


def _conditions() -> Scenario:
    hooks = []
    for case, expressions in CONDITIONS.items():
        conditions = [{"name": f"c{at}", "expression": text} for at, text in enumerate(expressions)]
        path = says(response={"warnings": [f"{case} was asked"]})
        selector = {"matchLabels": {"case": case}}
        hooks.append(hook(case, path, objectSelector=selector, matchConditions=conditions))
        hooks.append(
            hook(f"{case}-i", path, objectSelector=selector, matchConditions=conditions, failurePolicy="Ignore")
        )
    steps = [by_alice(post(CONFIGMAPS, config(f"c-{case}", labels={"case": case}))) for case in CONDITIONS]
    return one("conditions", "Mutating", hooks, steps)


# Order, repetition, side effects.


def _order() -> Iterable[Scenario]:
    def adds(name: str, text: str, **more: Any) -> Obj:
        operations = [{"op": "replace", "path": "/data/a", "value": text}]
        return hook(name, says(patch=operations, counts=name, echo={"warning": ["object"]}), **more)

    both = [adds("one", "1x", reinvocationPolicy="IfNeeded"), adds("two", "2x"), adds("three", "3x")]
    yield scenario(
        "webhooks-order",
        [
            *registered("Mutating", *both, name="y"),
            *registered("Mutating", adds("earlier", "0x", reinvocationPolicy="IfNeeded")),
            *registered("Validating", hook("late", says(response={"warnings": ["late"]}, counts="late"))),
            post(CONFIGMAPS, config("a")),
            patch(f"{CONFIGMAPS}/a", {"data": {"b": "2"}}),
            patch(f"{CONFIGMAPS}/a", {"data": {"b": "2"}, "metadata": {"resourceVersion": "1"}}),
            put(f"{CONFIGMAPS}/a", {**config("a"), "data": {"c": "3"}}),
            patch(f"{CONFIGMAPS}/a", [{"op": "add", "path": "/data/d", "value": "4"}], JSON_PATCH),
            apply(f"{CONFIGMAPS}/a", {**config("a"), "data": {"e": "5"}}),
            apply(f"{CONFIGMAPS}/fresh", {**config("fresh"), "data": {"e": "5"}}),
            delete(f"{CONFIGMAPS}/a"),
        ],
        CLEANUP,
    )
    counted = hook("counted", says(counts="deletes"), rule("configmaps", operations=["DELETE"]))
    asked = hook(
        "asked", says(response={"warnings": ["asked"]}), rule("pods", operations=["DELETE"])
    )  # two or three times
    finalized = config("b", finalizers=["example.com/x"])
    yield one("delete-calls", "Validating", [counted, asked], [
        post(CONFIGMAPS, config("a")), post(CONFIGMAPS, finalized), post(PODS, pod("p")),
        delete(f"{CONFIGMAPS}/a"), delete(f"{CONFIGMAPS}/b"), delete(f"{CONFIGMAPS}/b"),
        patch(f"{CONFIGMAPS}/b", {"metadata": {"finalizers": None}}),
        delete(f"{PODS}/p?dryRun=All", pick=(("kind",),)), delete(f"{PODS}/p", pick=(("kind",),)),
        delete(CONFIGMAPS, pick=(("kind",),)),
        post(CONFIGMAPS, config("c")), delete(f"{CONFIGMAPS}/c?propagationPolicy=Foreground", pick=(("kind",),)),
    ])  # fmt: skip
    long = hook("long", says(response={"warnings": ["x" * 300, "y" * 5000, 'quote " \\ \n ünï', *map(str, range(40))]}))
    yield one("warnings", "Validating", [long], [post(CONFIGMAPS, config("a"))])


def scenarios() -> list[Scenario]:
    return [*_told(), *_answers(), *_unreachable(), *_services(), *_custom(), *_pods(), *_matching(), *_order()]
