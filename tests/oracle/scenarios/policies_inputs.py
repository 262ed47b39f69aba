"""What the expressions of ValidatingAdmissionPolicies see: parameters, the request, objects, permissions."""

from __future__ import annotations

from collections.abc import Iterator

from ..model import JSON_PATCH, Scenario, Step, apply, as_user, delete, get, patch, post, put
from ._objects import CONFIGMAPS, CORE, DEPLOYMENTS, PODS, Object, configmap, deployment, metadata, pod
from ._policies import Stage, about, create, rule, said, staged

KEYS = "{}.map(k, k).sort().join(' ')"
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/{{ns}}"
RBAC = "rbac.authorization.k8s.io"


def _params(stage: Stage) -> Iterator[Step]:
    """Parameters of a built-in kind.

    A real server that has run this once finds none the next time: it ends its informer with the last policy that uses
    the kind, and does not start it again.
    """
    for name, n in (("one", "1"), ("two", "2")):
        yield post(CONFIGMAPS, metadata(configmap(f"param-{name}", n=n), labels={"set": "params"}))
    limit = {
        "expression": "object.data.n == params.data.n",
        "messageExpression": "params.data.n + params.metadata.name + ' ' + params.kind + ' ' + params.apiVersion",
    }
    deny, allow = {"parameterNotFoundAction": "Deny"}, {"parameterNotFoundAction": "Allow"}
    maps: Object = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
    spaces: Object = {"paramKind": {"apiVersion": "v1", "kind": "Namespace"}}
    unknown: Object = {"paramKind": {"apiVersion": "example.com/v1", "kind": "Nothing"}}
    one = {"name": "param-one", **deny}
    selected = {"selector": {"matchLabels": {"set": "params"}}, **deny}
    unselected = {"selector": {"matchLabels": {"set": "none"}}, **deny}
    wide = {"resourceRules": [rule("namespaces", resourceNames=["wide-{{run}}"])], "namespaceSelector": {}}
    seen = said("params.metadata.name + ' ' + string(has(params.metadata.managedFields))")
    made = {
        "named": stage.named("named", limit, ref=one, **maps),
        "there": stage.named("there", limit, ref={**one, "namespace": "{{ns}}"}, **maps),
        "elsewhere": stage.named("elsewhere", limit, ref={**one, "namespace": "default"}, **maps),
        "allowed": stage.named("allowed", limit, ref={"name": "absent", **allow}, **maps),
        "denied": stage.named("denied", limit, ref={"name": "absent", **deny}, **maps),
        "lenient": stage.named("lenient", limit, ref={"name": "absent", **deny}, failurePolicy="Ignore", **maps),
        "unselected": stage.named("unselected", limit, ref=unselected, **maps),
        "unbound": stage.named("unbound", "params != null", **maps),
        "surplus": stage.named("surplus", {"expression": "false", "message": "no params"}, ref=one),
        "unknown": stage.named("unknown", limit, ref=one, **unknown),
        "whole": stage.named("whole", seen, ref={"name": "{{ns}}", **deny}, **spaces),
        "misplaced": stage.named("misplaced", limit, ref={"name": "{{ns}}", "namespace": "default", **deny}, **spaces),
    }
    each = stage.named("selected", "object.data.n != params.data.n", ref=selected, actions=["Warn"], **maps)
    yield from stage.force(
        *(obj for pair in made.values() for obj in pair),
        *each,
        *stage.bound("wide", limit, match=wide, ref=one, **maps),
    )
    for name in made:
        yield create(name, n="3")
    yield create("selected", n="2")
    yield create("named", n="1")
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "wide-{{run}}"}}
    yield post("/api/v1/namespaces?dryRun=All", namespace)


def _request(stage: Stage) -> Iterator[Step]:
    shown: list[Object | str] = [
        said("request.operation + ' ' + request.name + ' ' + request.namespace"),
        said("request.kind.group + '/' + request.kind.version + ' ' + request.kind.kind"),
        said("request.resource.group + '/' + request.resource.version + ' ' + request.resource.resource"),
        said("'sub ' + (has(request.subResource) ? request.subResource : '-')"),
        said("request.userInfo.username + ' ' + request.userInfo.groups.join(',')"),
        said("'dry ' + string(request.dryRun)"),
        said("'options ' + " + KEYS.format("request.options")),
        said("'kind ' + request.options.kind + ' ' + request.options.apiVersion"),
        said("has(request.options.fieldManager) ? 'manager ' + request.options.fieldManager : 'no manager'"),
        said("'object ' + (object == null ? 'null' : " + KEYS.format("object") + ")"),
        said("'metadata ' + (object == null ? 'null' : " + KEYS.format("object.metadata") + ")"),
        said("'old ' + (oldObject == null ? 'null' : " + KEYS.format("oldObject") + ")"),
        said("'old metadata ' + (oldObject == null ? 'null' : " + KEYS.format("oldObject.metadata") + ")"),
        said("'namespace ' + namespaceObject.metadata.name + ' ' + " + KEYS.format("namespaceObject.metadata.labels")),
        said("namespaceObject.status.phase + namespaceObject.spec.finalizers[0]"),
        said("has(request.options.gracePeriodSeconds) ? 'grace ' + string(request.options.gracePeriodSeconds) : ''"),
        "namespaceObject.metadata.creationTimestamp > timestamp('2020-01-01T00:00:00Z')",
        "request.userInfo.extra.size() == 0",
        "request.userInfo.uid == ''",
    ]
    every = {"resourceRules": [rule("configmaps", "pods", operations=["*"])]}
    steps = [*stage.force(*stage.bound("all", *shown, match=every, actions=["Warn"])), *_each_operation()]
    yield from (as_user(step, "system:admin", "system:masters") for step in steps)


def _each_operation() -> Iterator[Step]:
    yield create()
    yield post(f"{CONFIGMAPS}?fieldManager=me&fieldValidation=Strict&dryRun=All", configmap("dry"))
    yield post(CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "made-"}})
    yield put(f"{CONFIGMAPS}/cm?fieldManager=me", configmap("cm", a="b"))
    yield patch(f"{CONFIGMAPS}/cm?fieldManager=me&fieldValidation=Warn", {"data": {"c": "d"}})
    yield patch(f"{CONFIGMAPS}/cm", [{"op": "add", "path": "/data/x", "value": "y"}], JSON_PATCH)
    yield apply(f"{CONFIGMAPS}/applied", configmap("applied"))
    yield apply(f"{CONFIGMAPS}/applied", configmap("applied", n="m"), force=True)
    yield delete(f"{CONFIGMAPS}/cm?dryRun=All&propagationPolicy=Background")
    yield delete(f"{CONFIGMAPS}/cm", {"propagationPolicy": "Foreground", "gracePeriodSeconds": 5})
    yield post(PODS, pod(terminationGracePeriodSeconds=7))
    yield delete(f"{PODS}/p?dryRun=All")
    yield delete(f"{PODS}/p?gracePeriodSeconds=3&dryRun=All")
    yield delete(f"{PODS}/p?gracePeriodSeconds=0")


def _operations(stage: Stage) -> Iterator[Step]:
    match = {"resourceRules": [rule("configmaps", operations=["UPDATE", "DELETE"])]}
    message = "request.operation + ' of ' + oldObject.metadata.name"
    check = {"expression": "oldObject.data.k != 'v'", "messageExpression": message}
    yield create()
    yield create("other")
    yield from stage.force(*stage.bound("all", check, match=match))
    yield put(f"{CONFIGMAPS}/cm", configmap(a="b"))
    yield patch(f"{CONFIGMAPS}/cm", {"data": {"a": "b"}})
    yield patch(f"{CONFIGMAPS}/cm", [{"op": "remove", "path": "/data"}], JSON_PATCH)
    yield apply(f"{CONFIGMAPS}/cm", configmap(a="b"))
    yield put(f"{CONFIGMAPS}/cm", configmap())
    yield delete(f"{CONFIGMAPS}/cm")
    yield delete(f"{CONFIGMAPS}/cm?dryRun=All")
    yield delete(f"{CONFIGMAPS}?fieldSelector=metadata.name=cm")
    yield delete(f"{CONFIGMAPS}/none")
    yield get(f"{CONFIGMAPS}/cm")
    yield create("cm")


def _namespaces(stage: Stage) -> Iterator[Step]:
    name = "policy-space-{{run}}"
    shown: list[Object | str] = [
        said("request.operation + ' ' + request.name + ' ' + request.namespace"),
        "namespaceObject == null",
        "namespaceObject.metadata.name == 'x'",
        "has(namespaceObject.metadata)",
    ]
    rules = [rule("namespaces", operations=["*"], resourceNames=[name], scope="Cluster")]
    labelled = {"namespaceSelector": {"matchLabels": {"seen": "yes"}}, "resourceRules": rules}
    yield from stage.force(*stage.bound("all", *shown, match=labelled, actions=["Warn"]))
    space: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    yield post("/api/v1/namespaces?dryRun=All", space)
    yield post("/api/v1/namespaces", metadata(space, labels={"seen": "yes"}))
    yield patch(f"/api/v1/namespaces/{name}", {"metadata": {"annotations": {"a": "b"}}})
    yield delete(f"/api/v1/namespaces/{name}?dryRun=All")
    yield delete(f"/api/v1/namespaces/{name}", pick=(("metadata", "name"),))
    stage.cleanup.append(f"/api/v1/namespaces/{name}")


def _subresources(stage: Stage) -> Iterator[Step]:
    command = "(object.command == null ? 'null' : object.command.join(' '))"
    shown: list[Object | str] = [
        said("request.operation + ' ' + request.resource.resource + '/' + request.subResource + ' ' + request.name"),
        said("request.kind.group + '/' + request.kind.version + ' ' + request.kind.kind"),
        said("'object ' + " + KEYS.format("object")),
        said("object.kind + ' ' + object.apiVersion"),
        said("'metadata ' + " + KEYS.format("object.metadata")),
        said("'spec ' + " + KEYS.format("object.spec")),
        said("'old ' + (oldObject == null ? 'null' : " + KEYS.format("oldObject") + ")"),
        said(f"has(object.command) ? 'command ' + {command} : 'no command'"),
        said("request.options == null ? 'no options' : 'options ' + request.options.kind"),
        said("has(object.ports) ? 'ports ' + string(object.ports[0]) : 'no ports'"),
        said("has(object.stdin) ? 'stdin ' + string(object.stdin) : 'no stdin'"),
        said("has(object.stdout) ? 'stdout ' + string(object.stdout) : 'no stdout'"),
    ]
    subresources = ("exec", "attach", "portforward", "binding", "eviction", "status", "ephemeralcontainers")
    core = rule(*(f"pods/{each}" for each in subresources), "serviceaccounts/token", operations=["*"])
    scale = rule("deployments/scale", group="apps", operations=["*"])
    refused = {"expression": "request.operation != 'CONNECT'", "message": "no connections"}
    yield post(PODS, pod())
    yield post(DEPLOYMENTS, deployment(replicas=0))
    yield from stage.force(
        *stage.bound("all", *shown, match={"resourceRules": [core, scale]}, actions=["Warn"]),
        *stage.bound("deny", refused, match={"resourceRules": [core]}),
    )
    yield post(f"{PODS}/p/exec?command=ls&command=-l&stdin=true&container=c", None)
    yield post(f"{PODS}/p/exec?command=ls&stdout=false", None)
    yield get(f"{PODS}/p/exec")
    yield post(f"{PODS}/p/attach?stdin=1", None)
    yield post(f"{PODS}/p/attach?stdout=true&tty=true", None)
    yield post(f"{PODS}/p/portforward?ports=80", None)
    yield post(f"{PODS}/none/exec?command=ls", None)
    yield patch(f"{PODS}/p/status", {"status": {"message": "x"}})
    yield patch(f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 0}})
    target = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    yield post(f"{PODS}/p/binding?dryRun=All", target)
    yield post(
        f"{PODS}/p/eviction?dryRun=All", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    )
    token = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": ["a"]}}
    yield post(f"{CORE}/serviceaccounts/default/token", token, pick=(("kind",),))


def _authorizer(stage: Stage) -> Iterator[Step]:
    role = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": {"name": "r"}}
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]
    bound = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "r"},
        "subjects": [
            {"apiGroup": RBAC, "kind": "User", "name": "u-{{run}}"},
            {"kind": "ServiceAccount", "name": "acc", "namespace": "{{ns}}"},
        ],
    }
    yield post(f"{ROLES}/roles", {**role, "rules": rules})
    yield post(f"{ROLES}/rolebindings", bound)
    here = "authorizer.group('').resource('{}').namespace('{{{{ns}}}}')"
    maps, pods = here.format("configmaps"), here.format("pods")
    of_account = maps.replace("authorizer.", "authorizer.serviceAccount('{{ns}}', 'acc').")
    of = "group('').resource('pods').check('get').allowed()"
    checks = [
        f"{maps}.check('create').allowed()",
        f"!{maps}.check('create').allowed()",
        f"{pods}.check('create').allowed()",
        f"{pods}.check('create').reason() == '-'",
        f"{maps}.check('create').reason() == '-'",
        f"{maps}.check('create').reason().startsWith('RBAC: allowed by RoleBinding')",
        f"{maps}.check('create').errored()",
        f"{maps}.check('create').error() == '-'",
        f"{maps}.name('x').subresource('y').check('get').allowed()",
        f"{of_account}.check('create').allowed()",
        f"{of_account}.check('create').allowed() == {maps}.check('create').allowed()",
        "authorizer.requestResource.check('create').allowed()",
        "authorizer.requestResource.check('delete').allowed()",
        "authorizer.path('/healthz').check('get').allowed()",
        "authorizer.path('/nowhere').check('get').allowed()",
        "authorizer.path(' ').check('get').allowed()",
        "authorizer.group('').resource(' ').check('get').allowed()",
        f"authorizer.serviceAccount('Bad_', 'x').{of}",
        f"authorizer.serviceAccount('ok', 'Bad_').{of}",
        f"{maps}.fieldSelector('metadata.name=x').check('list').allowed()",
        f"{maps}.labelSelector('a in (b').check('list').allowed()",
        f"{maps}.check('a').allowed() && {maps}.check('b').allowed() && {maps}.check('c').allowed()",
    ]
    half = len(checks) // 2
    for at, part in enumerate((checks[:half], checks[half:])):
        yield from stage.force(*stage.bound(f"part{at}", *part, match=about(f"cm{at}"), actions=["Warn"]))
        yield as_user(create(f"cm{at}"), "u-{{run}}")
        yield post(f"{CONFIGMAPS}?dryRun=All", configmap(f"cm{at}"))


def _custom(stage: Stage) -> Iterator[Step]:
    """Policies about custom resources: in another version, their status and scale."""
    group = "{{run}}.policies.example.com"
    count = {"type": "integer", "default": 1}
    parts = {"type": "object", "properties": {"replicas": count, "name": {"type": "string"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": parts, "status": parts}}}
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    served = {"served": True, "schema": schema, "subresources": {"status": {}, "scale": scale}}
    versions = [{"name": "v1", "storage": True, **served}, {"name": "v2", "storage": False, **served}]
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": versions},
    }
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    stage.cleanup.append(f"{crds}/things.{group}")
    yield post(crds, crd)
    shown: list[Object | str] = [
        said("request.operation + ' ' + object.apiVersion + ' ' + object.kind"),
        said("'spec ' + " + KEYS.format("object.spec")),
        said("'metadata ' + " + KEYS.format("object.metadata")),
        said("'old ' + oldObject.apiVersion + ' ' + " + KEYS.format("oldObject")),
        said("request.kind.version + request.resource.version + request.requestKind.version"),
        said("has(request.subResource) ? 'sub ' + request.subResource : ''"),
    ]
    rules = [rule("things", "things/*", group=group, operations=["*"])]
    yield from stage.force(*stage.bound("all", *shown, match={"resourceRules": rules}, actions=["Warn"]))
    for version in ("v1", "v2"):
        path, name = f"/apis/{group}/{version}/namespaces/{{{{ns}}}}/things", f"t-{version}"
        thing = {"apiVersion": f"{group}/{version}", "kind": "Thing", "metadata": {"name": name}, "spec": {}}
        yield post(path, thing, until=201)
        yield patch(f"{path}/{name}", {"spec": {"name": "x"}})
        yield apply(f"{path}/{name}", {**thing, "spec": {"replicas": 2}})
        yield patch(f"{path}/{name}/status", {"status": {"name": "x"}})
        yield patch(f"{path}/{name}/scale", {"spec": {"replicas": 3}})
        yield delete(f"{path}/{name}")


def scenarios() -> Iterator[Scenario]:
    yield from staged([
        ("params", _params), ("request", _request), ("operations", _operations), ("namespaces", _namespaces),
        ("subresources", _subresources), ("authorizer", _authorizer), ("custom", _custom),
    ])  # fmt: skip
