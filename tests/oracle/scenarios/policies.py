"""ValidatingAdmissionPolicies: what matches, what expressions see, what follows from them.

A real server takes a moment until policies are in force. Each scenario ends its preparations with a policy of its own
that refuses one ConfigMap: when that is refused, everything before it is in force too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..model import JSON_PATCH, Scenario, Step, apply, as_user, delete, get, patch, post, put, scenario
from ._objects import CONFIGMAPS, CORE, DEPLOYMENTS, PODS, Object, configmap, deployment, metadata, pod

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{REGISTRATION}/validatingadmissionpolicies"
BINDINGS = f"{REGISTRATION}/validatingadmissionpolicybindings"
HERE = {"matchLabels": {"kubernetes.io/metadata.name": "{{ns}}"}}
SCALERS = "/apis/autoscaling/{version}/namespaces/{{{{ns}}}}/horizontalpodautoscalers"


def rule(*resources: str, group: str = "", version: str = "v1", operations: Sequence[str] = ("CREATE",), **more: Any) -> Object:
    found = {"apiGroups": [group], "apiVersions": [version], "operations": list(operations), "resources": list(resources)}
    return {**found, **more}


def policy(tag: str, *validations: Object | str, match: Object | None = None, **spec: Any) -> Object:
    """A policy about ConfigMaps of this scenario's namespace, unless told otherwise."""
    constraints = {"namespaceSelector": HERE, "resourceRules": [rule("configmaps")], **(match or {})}
    checks = [{"expression": each} if isinstance(each, str) else each for each in validations]
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": f"{tag}-{{{{run}}}}"},
        "spec": {"matchConstraints": constraints, "validations": checks, **spec},
    }


def binding(tag: str, *actions: str, name: str = "", **spec: Any) -> Object:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": f"{name or tag}-{{{{run}}}}"},
        "spec": {"policyName": f"{tag}-{{{{run}}}}", "validationActions": list(actions or ("Deny",)), **spec},
    }


class Stage:
    """Makes the steps of one scenario, and remembers what is to be removed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.cleanup: list[str] = []
        self._turns = 0

    def tag(self, text: str = "") -> str:
        return f"{self.name}-{text}" if text else self.name

    def force(self, *objects: Object) -> Iterator[Step]:
        """Creates policies and bindings, and waits until they are in force."""
        self._turns += 1
        turn = self.tag(f"turn{self._turns}")
        last = policy(turn, {"expression": "false", "message": "in force"})
        last["spec"]["matchConstraints"]["resourceRules"] = [rule("configmaps", resourceNames=[turn])]
        for obj in (*objects, last, binding(turn)):
            kind = POLICIES if obj["kind"] == "ValidatingAdmissionPolicy" else BINDINGS
            self.cleanup.append(f"{kind}/{obj['metadata']['name']}")
            yield post(kind, obj)
        yield post(f"{CONFIGMAPS}?dryRun=All", configmap(turn), until=422)

    def made(self, steps: Iterator[Step]) -> Scenario:
        listed = tuple(steps)
        return scenario(self.name, listed, self.cleanup)


def said(expression: str) -> Object:
    """A validation that always fails, and says the value of an expression."""
    return {"expression": "false", "messageExpression": expression}


def create(name: str = "cm", **data: str) -> Step:
    return post(CONFIGMAPS, configmap(name, **data))


def _messages(stage: Stage) -> Iterator[Step]:
    when = "!('t' in object.data) || object.data.t != '{}'"
    long = "'" + "x" * 4000 + "' + '" + "y" * 2000 + "'"
    checks = [
        {"expression": f"  {when.format('plain')}  "},
        {"expression": when.format("message"), "message": "  told so "},
        {"expression": when.format("forbidden"), "message": "no", "reason": "Forbidden"},
        {"expression": when.format("large"), "message": "no", "reason": "RequestEntityTooLarge"},
        {"expression": when.format("invalid"), "message": "no", "reason": "Invalid"},
        {"expression": when.format("expressed"), "messageExpression": "' name ' + object.metadata.name", "message": "m"},
        {"expression": when.format("lines"), "messageExpression": "'a\\nb'", "message": "m"},
        {"expression": when.format("blank"), "messageExpression": "'  '", "message": "m"},
        {"expression": when.format("long"), "messageExpression": long, "message": "m"},
        {"expression": when.format("broken"), "messageExpression": "object.none", "message": "m"},
        {"expression": when.format("broken-alone"), "messageExpression": "object.none"},
        {"expression": when.format("error") + " || object.none == 'x'", "message": "m", "reason": "Forbidden"},
        {"expression": when.format("twice"), "message": "first"},
        {"expression": when.format("twice"), "message": "second", "reason": "Forbidden"},
    ]
    yield from stage.force(policy(stage.name, *checks), binding(stage.name))
    for text in (
        "plain", "message", "forbidden", "large", "invalid", "expressed", "lines", "blank", "long", "broken",
        "broken-alone", "error", "twice",
    ):  # fmt: skip
        yield create(t=text)
    yield post(CONFIGMAPS, {**configmap(t="plain"), "metadata": {"generateName": "made-"}})
    yield create("fine")


def _actions(stage: Stage) -> Iterator[Step]:
    for actions in (("Warn",), ("Audit",), ("Deny", "Audit"), ("Warn", "Audit")):
        tag = stage.tag("-".join(actions).lower())
        when = f"!('t' in object.data) || object.data.t != '{'-'.join(actions)}'"
        checks = [{"expression": when, "message": "one"}, {"expression": when, "message": "two", "reason": "Forbidden"}]
        yield from stage.force(policy(tag, *checks), binding(tag, *actions))
        yield create(f"{'-'.join(actions).lower()}", t="-".join(actions))
    yield create("other")


def _matches(stage: Stage) -> Iterator[Step]:
    tag = stage.tag
    labelled = {"objectSelector": {"matchLabels": {"pick": "me"}}}
    yield from stage.force(
        policy(tag("names"), "false", match={"resourceRules": [rule("configmaps", resourceNames=["named"])]}),
        binding(tag("names")),
        policy(
            tag("out"),
            "false",
            match={
                "resourceRules": [rule("secrets")],
                "excludeResourceRules": [rule("secrets", operations=["*"], resourceNames=["spared"])],
            },
        ),
        binding(tag("out")),
        policy(tag("label"), "false", match={**labelled, "resourceRules": [rule("configmaps", operations=["CREATE", "UPDATE"])]}),
        binding(tag("label")),
        policy(tag("bound"), "false", match={"resourceRules": [rule("services")]}),
        binding(tag("bound"), matchResources={"objectSelector": {"matchExpressions": [{"key": "b", "operator": "Exists"}]}}),
        policy(tag("scope"), "false", match={"resourceRules": [rule("serviceaccounts", scope="Cluster")]}),
        binding(tag("scope")),
        policy(tag("else"), "false", match={"namespaceSelector": {"matchLabels": {"none": "x"}}, "resourceRules": [rule("*")]}),
        binding(tag("else")),
        policy(tag("loose"), "false", match={"resourceRules": [rule("endpoints")]}),
    )  # fmt: skip
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "other"}}
    yield create("named")
    yield create("unnamed")
    yield post(f"{CORE}/secrets", secret)
    yield post(f"{CORE}/secrets", metadata(secret, name="spared"))
    yield post(CONFIGMAPS, metadata(configmap("picked"), labels={"pick": "me"}))
    yield patch(f"{CONFIGMAPS}/unnamed", {"metadata": {"labels": {"pick": "me"}}})
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    yield post(f"{CORE}/services", metadata(service, labels={"b": ""}))
    yield post(f"{CORE}/services?dryRun=All", service)
    yield post(f"{CORE}/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}})
    yield post(f"{CORE}/endpoints", {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "e"}})


def _scaler(version: str) -> Object:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    return {
        "apiVersion": f"autoscaling/{version}",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h"},
        "spec": {"scaleTargetRef": target, "maxReplicas": 3},
    }


def _equivalents(stage: Stage) -> Iterator[Step]:
    tag = stage.tag
    shown = [
        said("object.apiVersion + ' ' + object.kind"),
        said("request.kind.version + ' ' + request.requestKind.version"),
        said("request.resource.version + ' ' + request.requestResource.version"),
        said("object.spec.map(k, k).join(' ').size() > 0 ? string(has(object.spec.metrics)) : ''"),
    ]
    of_v1 = [rule("horizontalpodautoscalers", group="autoscaling", version="v1", operations=["*"])]
    of_v2 = [rule("horizontalpodautoscalers", group="autoscaling", version="v2", operations=["*"])]
    yield from stage.force(
        policy(tag("same"), *shown, match={"resourceRules": of_v1, "matchPolicy": "Equivalent"}),
        binding(tag("same"), "Warn"),
        policy(tag("exact"), *shown, match={"resourceRules": of_v2, "matchPolicy": "Exact"}),
        binding(tag("exact"), "Warn"),
    )
    for version in ("v1", "v2"):
        path = SCALERS.format(version=version)
        yield post(path, _scaler(version))
        yield patch(f"{path}/h", {"spec": {"maxReplicas": 4}})
        yield delete(f"{path}/h")


def _conditions(stage: Stage) -> Iterator[Step]:
    tag, check = stage.tag, {"expression": "false", "message": "reached"}
    kept = {"name": "kept", "expression": "has(object.data.c)"}
    bad = [{"name": "bad", "expression": "object.none == 'x'"}, {"name": "worse", "expression": "object.data.zz == 'y'"}]
    only = {"name": "mine", "expression": "object.data.t == '{}'"}

    def when(text: str) -> Object:
        return {**only, "expression": only["expression"].format(text)}

    namespaced = {"name": "ns", "expression": "namespaceObject == null"}
    resource = {"name": "res", "expression": "request.resource.resource == 'configmaps' && authorizer.group('').resource('pods').check('create').allowed()"}
    yield from stage.force(
        policy(tag("true"), check, matchConditions=[when("true"), kept]),
        binding(tag("true")),
        policy(tag("fail"), check, matchConditions=[when("fail"), *bad]),
        binding(tag("fail")),
        policy(tag("one"), check, matchConditions=[when("one"), bad[0]]),
        binding(tag("one")),
        policy(tag("ignore"), check, matchConditions=[when("ignore"), *bad], failurePolicy="Ignore"),
        binding(tag("ignore")),
        policy(tag("warn"), check, matchConditions=[when("warn"), *bad]),
        binding(tag("warn"), "Warn"),
        policy(tag("see"), check, matchConditions=[when("see"), namespaced, resource]),
        binding(tag("see")),
    )  # fmt: skip
    for text in ("fail", "one", "ignore", "warn", "see"):
        yield create(text, t=text)
    yield create(t="true", c="x")
    yield create(t="true")
    yield create(c="x", t="y")


def _variables(stage: Stage) -> Iterator[Step]:
    variables = [
        {"name": "size", "expression": "object.data.size()"},
        {"name": "double", "expression": "variables.size * 2"},
        {"name": "broken", "expression": "object.none.x"},
        {"name": "onBroken", "expression": "variables.broken == 'x'"},
        {"name": "items", "expression": "object.data.map(k, k)"},
        {"name": "user", "expression": "request.userInfo"},
        {"name": "amount", "expression": "quantity('2Gi')"},
        {"name": "may", "expression": "authorizer.requestResource.check('create').allowed()"},
        {"name": "costly", "expression": "[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, true))))))"},
    ]  # fmt: skip
    checks = [
        said("'size ' + string(variables.size) + ' ' + string(variables.double)"),
        "variables.size == 2",
        "variables.broken == 'x'",
        "variables.onBroken",
        "has(variables.broken)",
        "has(variables.size)",
        "variables.size == 1 || variables.broken == 'x'",
        said("variables.items.join(',')"),
        "variables.user.username == 'nobody'",
        "variables.amount.isGreaterThan(quantity('3Gi'))",
        "!variables.may",
        "!variables.costly",
        "variables.size == 5",
    ]
    yield from stage.force(policy(stage.name, *checks, variables=variables), binding(stage.name, "Warn"))
    yield create()
    yield create("two", a="1", b="2")


def _failures(stage: Stage) -> Iterator[Step]:
    tag, broken = stage.tag, {"expression": "object.none == 'x'", "message": "m", "reason": "Forbidden"}
    when = [{"name": "mine", "expression": "object.data.t == '{}'"}]

    def mine(text: str) -> list[Object]:
        return [{**each, "expression": each["expression"].format(text)} for each in when]

    yield from stage.force(
        policy(tag("fail"), broken, matchConditions=mine("fail")),
        binding(tag("fail")),
        policy(tag("ignore"), broken, {"expression": "false", "message": "but"}, failurePolicy="Ignore", matchConditions=mine("ignore")),
        binding(tag("ignore")),
        policy(tag("all"), broken, failurePolicy="Ignore", matchConditions=mine("all")),
        binding(tag("all")),
        policy(tag("types"), "object.data.t == 1 || object.data.t > 2", "object.data[0] == 'x'", "object.data.t.x == 1",
               "object.data.t.startsWith(1)", "object.metadata.labels['x'] == 'y'", "object.data.t + 1 == 2",
               "object.items[0] == 1", "object.data.all(k, object.data[k] == 1 || k == 2)", matchConditions=mine("types")),
        binding(tag("types"), "Warn"),
    )  # fmt: skip
    for text in ("fail", "ignore", "all", "types"):
        yield create(text, t=text)


PARAMS = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
LIMIT = {
    "expression": "object.data.n == params.data.n",
    "messageExpression": "'n must be ' + params.data.n + ' as in ' + params.metadata.name + ' ' + params.kind + ' ' + params.apiVersion",
}


def _params(stage: Stage) -> Iterator[Step]:
    tag, mine = stage.tag, {"matchConditions": [{"name": "mine", "expression": "has(object.data.n)"}]}
    for name, n in (("one", "1"), ("two", "2")):
        yield post(CONFIGMAPS, metadata(configmap(f"param-{name}", n=n), labels={"set": "params"}))
    named = {"name": "param-one", "parameterNotFoundAction": "Deny"}
    match = {"resourceRules": [rule("configmaps", resourceNames=["{}"])]}

    def about(name: str) -> Object:
        return {"resourceRules": [rule("configmaps", resourceNames=[name])]}

    assert match
    absent = {"name": "absent"}
    cluster = {"paramKind": {"apiVersion": "v1", "kind": "Namespace"}}
    yield from stage.force(
        policy(tag("named"), LIMIT, match=about("named"), **PARAMS, **mine),
        binding(tag("named"), paramRef=named),
        policy(tag("there"), LIMIT, match=about("there"), **PARAMS),
        binding(tag("there"), paramRef={**named, "namespace": "{{ns}}"}),
        policy(tag("elsewhere"), LIMIT, match=about("elsewhere"), **PARAMS),
        binding(tag("elsewhere"), paramRef={**named, "namespace": "default"}),
        policy(tag("allowed"), LIMIT, match=about("allowed"), **PARAMS),
        binding(tag("allowed"), paramRef={**absent, "parameterNotFoundAction": "Allow"}),
        policy(tag("denied"), LIMIT, match=about("denied"), **PARAMS),
        binding(tag("denied"), paramRef={**absent, "parameterNotFoundAction": "Deny"}),
        policy(tag("lenient"), LIMIT, match=about("lenient"), failurePolicy="Ignore", **PARAMS),
        binding(tag("lenient"), paramRef={**absent, "parameterNotFoundAction": "Deny"}),
        policy(tag("selected"), "object.data.n != params.data.n", match=about("selected"), **PARAMS),
        binding(tag("selected"), "Warn", paramRef={"selector": {"matchLabels": {"set": "params"}}, "parameterNotFoundAction": "Deny"}),
        policy(tag("unselected"), LIMIT, match=about("unselected"), **PARAMS),
        binding(tag("unselected"), paramRef={"selector": {"matchLabels": {"set": "none"}}, "parameterNotFoundAction": "Deny"}),
        policy(tag("unbound"), "params != null", match=about("unbound"), **PARAMS),
        binding(tag("unbound")),
        policy(tag("surplus"), {"expression": "false", "message": "no params"}, match=about("surplus")),
        binding(tag("surplus"), paramRef=named),
        policy(tag("unknown"), LIMIT, match=about("unknown"), paramKind={"apiVersion": "example.com/v1", "kind": "Nothing"}),
        binding(tag("unknown"), paramRef=named),
        policy(tag("whole"), said("params.metadata.name + ' ' + string(has(params.metadata.managedFields))"), match=about("whole"), **cluster),
        binding(tag("whole"), paramRef={"name": "{{ns}}", "parameterNotFoundAction": "Deny"}),
        policy(tag("misplaced"), LIMIT, match=about("misplaced"), **cluster),
        binding(tag("misplaced"), paramRef={"name": "{{ns}}", "namespace": "default", "parameterNotFoundAction": "Deny"}),
        policy(tag("wide"), LIMIT, match={"resourceRules": [rule("namespaces", resourceNames=["wide-{{run}}"])], "namespaceSelector": {}}, **PARAMS),
        binding(tag("wide"), paramRef=named),
    )  # fmt: skip
    for name in (
        "named", "there", "elsewhere", "allowed", "denied", "lenient", "unselected", "unbound", "surplus",
        "unknown", "whole", "misplaced",
    ):  # fmt: skip
        yield create(name, n="3")
    yield create("selected", n="2")
    yield create("named", n="1")
    wide = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "wide-{{run}}"}}
    yield post("/api/v1/namespaces?dryRun=All", wide)


def _request(stage: Stage) -> Iterator[Step]:
    keys = "{}.map(k, k).sort().join(' ')"
    shown = [
        said("request.operation + ' ' + request.name + ' ' + request.namespace"),
        said("request.kind.group + '/' + request.kind.version + ' ' + request.kind.kind"),
        said("request.resource.group + '/' + request.resource.version + ' ' + request.resource.resource"),
        said("'sub ' + (has(request.subResource) ? request.subResource : '-')"),
        said("request.userInfo.username + ' ' + request.userInfo.groups.join(',')"),
        said("'dry ' + string(request.dryRun)"),
        said("'options ' + " + keys.format("request.options")),
        said("'kind ' + request.options.kind + ' ' + request.options.apiVersion"),
        said("has(request.options.fieldManager) ? 'manager ' + request.options.fieldManager : 'no manager'"),
        said("'object ' + (object == null ? 'null' : " + keys.format("object") + ")"),
        said("'metadata ' + (object == null ? 'null' : " + keys.format("object.metadata") + ")"),
        said("'old ' + (oldObject == null ? 'null' : " + keys.format("oldObject") + ")"),
        said("'old metadata ' + (oldObject == null ? 'null' : " + keys.format("oldObject.metadata") + ")"),
        said("'namespace ' + namespaceObject.metadata.name + ' ' + " + keys.format("namespaceObject.metadata.labels")),
        said("has(namespaceObject.status.phase) ? namespaceObject.status.phase + namespaceObject.spec.finalizers[0] : ''"),
        said("has(request.options.gracePeriodSeconds) ? 'grace ' + string(request.options.gracePeriodSeconds) : ''"),
        "namespaceObject.metadata.creationTimestamp > timestamp('2020-01-01T00:00:00Z')",
        "request.userInfo.extra.size() == 0",
        "request.userInfo.uid == ''",
    ]
    every = {"resourceRules": [rule("configmaps", "pods", operations=["*"])]}
    yield from stage.force(policy(stage.name, *shown, match=every), binding(stage.name, "Warn"))
    yield create()
    yield post(f"{CONFIGMAPS}?fieldManager=me&fieldValidation=Strict&dryRun=All", configmap("dry"))
    yield post(CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "made-"}})
    yield as_user(post(f"{CONFIGMAPS}?dryRun=All", configmap("dry")), "system:admin", "system:masters")
    yield put(f"{CONFIGMAPS}/cm?fieldManager=me", configmap("cm", a="b"))
    yield patch(f"{CONFIGMAPS}/cm?fieldManager=me&fieldValidation=Warn", {"data": {"c": "d"}})
    yield patch(f"{CONFIGMAPS}/cm", [{"op": "add", "path": "/data/x", "value": "y"}], JSON_PATCH)
    yield apply(f"{CONFIGMAPS}/applied", configmap("applied"))
    yield apply(f"{CONFIGMAPS}/applied", configmap("applied", n="m"), force=True)
    yield delete(f"{CONFIGMAPS}/cm?dryRun=All&propagationPolicy=Background")
    yield delete(f"{CONFIGMAPS}/cm", {"preconditions": {}, "propagationPolicy": "Foreground", "gracePeriodSeconds": 5})
    yield post(PODS, pod(terminationGracePeriodSeconds=7))
    yield delete(f"{PODS}/p?dryRun=All")
    yield delete(f"{PODS}/p?gracePeriodSeconds=3&dryRun=All")
    yield delete(f"{PODS}/p?gracePeriodSeconds=0")


def _operations(stage: Stage) -> Iterator[Step]:
    match = {"resourceRules": [rule("configmaps", operations=["UPDATE", "DELETE"])]}
    check = {"expression": "oldObject.data.k != 'v' || request.operation == 'X'", "messageExpression": "request.operation + ' of ' + oldObject.metadata.name"}
    yield create()
    yield create("other")
    yield from stage.force(policy(stage.name, check, match=match), binding(stage.name))
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


def _subresources(stage: Stage) -> Iterator[Step]:
    shown = [
        said("request.operation + ' ' + request.resource.resource + '/' + request.subResource + ' ' + request.name"),
        said("request.kind.group + '/' + request.kind.version + ' ' + request.kind.kind"),
        said("'object ' + object.map(k, k).sort().join(' ')"),
        said("object.kind + ' ' + object.apiVersion"),
        said("'metadata ' + object.metadata.map(k, k).sort().join(' ')"),
        said("'spec ' + object.spec.map(k, k).sort().join(' ')"),
        said("'old ' + (oldObject == null ? 'null' : oldObject.map(k, k).sort().join(' '))"),
        said("has(object.command) ? 'command ' + (object.command == null ? 'null' : object.command.join(' ')) : 'no command'"),
        said("request.options == null ? 'no options' : 'options ' + request.options.kind"),
        said("has(object.ports) ? 'ports ' + string(object.ports[0]) : 'no ports'"),
        said("has(object.stdin) ? 'stdin ' + string(object.stdin) : 'no stdin'"),
        said("has(object.stdout) ? 'stdout ' + string(object.stdout) : 'no stdout'"),
    ]
    core = rule("*/*", operations=["*"])
    core["resources"] = ["pods/exec", "pods/attach", "pods/portforward", "pods/binding", "pods/eviction",
                         "pods/status", "serviceaccounts/token", "pods/ephemeralcontainers"]  # fmt: skip
    scale = rule("deployments/scale", group="apps", operations=["*"])
    yield post(PODS, pod())
    yield post(DEPLOYMENTS, deployment(replicas=0))
    denied = [{"expression": "request.operation != 'CONNECT'", "message": "no connections"}]
    yield from stage.force(
        policy(stage.name, *shown, match={"resourceRules": [core, scale]}),
        binding(stage.name, "Warn"),
        policy(stage.tag("deny"), *denied, match={"resourceRules": [core]}),
        binding(stage.tag("deny")),
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
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    yield post(f"{PODS}/p/eviction?dryRun=All", eviction)


def _authorizer(stage: Stage) -> Iterator[Step]:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "r"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}],
    }
    user = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "u-{{run}}"}
    account = {"kind": "ServiceAccount", "name": "acc", "namespace": "{{ns}}"}
    bound = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [user, account],
    }
    roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/{{ns}}"
    yield post(f"{roles}/roles", role)
    yield post(f"{roles}/rolebindings", bound)
    here = "authorizer.group('').resource('{}').namespace('{{{{ns}}}}')"
    maps, pods = here.format("configmaps"), here.format("pods")
    of_account = maps.replace("authorizer.", "authorizer.serviceAccount('{{ns}}', 'acc').")
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
        "authorizer.serviceAccount('Bad_', 'x').group('').resource('pods').check('get').allowed()",
        "authorizer.serviceAccount('ok', 'Bad_').group('').resource('pods').check('get').allowed()",
        f"{maps}.fieldSelector('metadata.name=x').check('list').allowed()",
        f"{maps}.labelSelector('a in (b').check('list').allowed()",
        f"{maps}.check('a').allowed() && {maps}.check('b').allowed() && {maps}.check('c').allowed()",
    ]
    half = len(checks) // 2
    for at, part in enumerate((checks[:half], checks[half:])):
        tag = stage.tag(f"part{at}")
        match = {"resourceRules": [rule("configmaps", resourceNames=[f"cm{at}"])]}
        yield from stage.force(policy(tag, *part, match=match), binding(tag, "Warn"))
        yield as_user(create(f"cm{at}"), "u-{{run}}")
        yield post(f"{CONFIGMAPS}?dryRun=All", configmap(f"cm{at}"))


def _costs(stage: Stage) -> Iterator[Step]:
    tag = stage.tag
    tens = "[1,2,3,4,5,6,7,8,9,10]"

    def loops(depth: int) -> str:
        inner = "true"
        for at in range(depth):
            inner = f"{tens}.all(v{at}, {inner})"
        return inner

    def about(name: str) -> Object:
        return {"resourceRules": [rule("configmaps", resourceNames=[name])]}

    costly = f"{loops(5)} && {loops(4)}"
    yield from stage.force(
        policy(tag("call"), loops(6), match=about("call")),
        binding(tag("call")),
        policy(tag("lenient"), loops(6), match=about("lenient"), failurePolicy="Ignore"),
        binding(tag("lenient")),
        policy(tag("budget"), *[costly] * 40, match=about("budget")),
        binding(tag("budget")),
        policy(tag("fits"), *[costly] * 10, match=about("fits")),
        binding(tag("fits")),
        policy(tag("ignored"), *[costly] * 40, match=about("ignored"), failurePolicy="Ignore"),
        binding(tag("ignored")),
        policy(tag("message"), *[{"expression": "false", "messageExpression": f"{costly} ? 'a' : 'b'"}] * 40, match=about("message")),
        binding(tag("message")),
        policy(tag("conditions"), "false", match=about("conditions"), matchConditions=[{"name": f"c{at}", "expression": costly} for at in range(20)]),
        binding(tag("conditions")),
        policy(tag("variables"), *["variables.a == 'x' || variables.b"] * 2, match=about("variables"),
               variables=[{"name": "a", "expression": f"{costly} ? 'x' : 'y'"}, {"name": "b", "expression": costly}]),
        binding(tag("variables")),
    )  # fmt: skip
    for name in ("call", "lenient", "budget", "fits", "ignored", "message", "conditions", "variables"):
        yield create(name)


def _annotations(stage: Stage) -> Iterator[Step]:
    tag = stage.tag

    def about(name: str) -> Object:
        return {"resourceRules": [rule("configmaps", resourceNames=[name])]}

    def annotated(name: str, expression: str, **more: Any) -> Iterator[Object]:
        given = [{"key": "k", "valueExpression": expression}]
        yield policy(tag(name), match=about(name), auditAnnotations=given, **more)
        yield binding(tag(name), "Audit")

    yield from stage.force(
        *annotated("fine", "'value ' + object.metadata.name"),
        *annotated("null", "null"),
        *annotated("error", "object.none"),
        *annotated("text", "'x' + object.none"),
        *annotated("lenient", "'x' + object.none", failurePolicy="Ignore"),
        *annotated("asks", "authorizer.group('').resource('pods').check('get').allowed() ? 'a' : 'b'"),
    )
    for name in ("fine", "null", "error", "text", "lenient", "asks"):
        yield create(name)


def _exempt(stage: Stage) -> Iterator[Step]:
    target = stage.tag("target")
    names = [f"{target}-{{{{run}}}}"]
    every = rule("*", "*/*", operations=["*"], resourceNames=names)
    match = {"namespaceSelector": {}, "resourceRules": [{**every, "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}]}
    yield from stage.force(policy(stage.name, "false", match=match), binding(stage.name))
    stage.cleanup += [f"{POLICIES}/{names[0]}", f"{BINDINGS}/{names[0]}"]
    yield post(POLICIES, policy(target, "true"))
    yield post(BINDINGS, binding(target))
    yield delete(f"{BINDINGS}/{names[0]}")
    yield delete(f"{POLICIES}/{names[0]}")
    webhook = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": names[0]}}
    yield post(f"{REGISTRATION}/validatingwebhookconfigurations", webhook)
    yield post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": names[0]}})
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview", "metadata": {"name": names[0]}}
    yield post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)


def _changes(stage: Stage) -> Iterator[Step]:
    """A policy that changes, and one that goes."""
    first = policy(stage.name, {"expression": "false", "message": "first"}, match={"resourceRules": [rule("configmaps", resourceNames=["cm"])]})
    yield from stage.force(first, binding(stage.name))
    yield create()
    path = f"{POLICIES}/{stage.name}-{{{{run}}}}"
    yield patch(path, {"spec": {"validations": [{"expression": "false", "message": "second"}]}})
    yield from stage.force()
    yield create()
    yield delete(f"{BINDINGS}/{stage.name}-{{{{run}}}}")
    yield from stage.force()
    yield create()


def scenarios() -> Iterator[Scenario]:
    for name, steps in (
        ("policy-messages", _messages), ("policy-actions", _actions), ("policy-matches", _matches),
        ("policy-equivalents", _equivalents), ("policy-conditions", _conditions), ("policy-variables", _variables),
        ("policy-failures", _failures), ("policy-params", _params), ("policy-request", _request),
        ("policy-operations", _operations), ("policy-subresources", _subresources),
        ("policy-authorizer", _authorizer), ("policy-costs", _costs), ("policy-annotations", _annotations),
        ("policy-exempt", _exempt), ("policy-changes", _changes),
    ):  # fmt: skip
        stage = Stage(name)
        yield stage.made(steps(stage))
