"""ValidatingAdmissionPolicies: what they match, what their expressions evaluate to, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator

from ..model import Scenario, Step, as_user, delete, patch, post
from ._objects import CONFIGMAPS, CORE, Object, configmap, metadata
from ._policies import BINDINGS, POLICIES, REGISTRATION, Stage, about, binding, create, policy, rule, said, staged

SCALERS = "/apis/autoscaling/{version}/namespaces/{{{{ns}}}}/horizontalpodautoscalers"
WHEN = "!('t' in object.data) || object.data.t != '{}'"
TENS = "[1,2,3,4,5,6,7,8,9,10]"


def _messages(stage: Stage) -> Iterator[Step]:
    long = "'" + "x" * 4000 + "' + '" + "y" * 2000 + "'"
    no: Object = {"message": "no"}
    told: Object = {"message": "m"}
    checks: dict[str, Object] = {
        "plain": {},
        "message": {"message": "  told so "},
        "forbidden": {**no, "reason": "Forbidden"},
        "large": {**no, "reason": "RequestEntityTooLarge"},
        "invalid": {**no, "reason": "Invalid"},
        "expressed": {**told, "messageExpression": "' name ' + object.metadata.name"},
        "lines": {**told, "messageExpression": "'a\\nb'"},
        "blank": {**told, "messageExpression": "'  '"},
        "long": {**told, "messageExpression": long},
        "broken": {**told, "messageExpression": "'x' + object.none"},
        "broken-alone": {"messageExpression": "'x' + object.none"},
        "twice": {"message": "first"},
    }
    made = [{"expression": f"  {WHEN.format(text)}  ", **more} for text, more in checks.items()]
    made.append({"expression": WHEN.format("twice"), "message": "second", "reason": "Forbidden"})
    made.append({"expression": WHEN.format("error") + " || object.none == 'x'", "message": "m", "reason": "Forbidden"})
    yield from stage.force(*stage.bound("all", *made))
    for text in (*checks, "error"):
        yield create(t=text)
    yield post(CONFIGMAPS, {**configmap(t="plain"), "metadata": {"generateName": "made-"}})
    yield create("fine")


def _actions(stage: Stage) -> Iterator[Step]:
    for actions in (("Warn",), ("Audit",), ("Deny", "Audit"), ("Warn", "Audit")):
        name = "-".join(actions).lower()
        second = {"expression": "false", "message": "two", "reason": "Forbidden"}
        yield from stage.force(*stage.named(name, {"expression": "false", "message": "one"}, second, actions=actions))
        yield create(name)
    yield create("other")


def _matches(stage: Stage) -> Iterator[Step]:
    all_but_spared = {
        "resourceRules": [rule("secrets")],
        "excludeResourceRules": [rule("secrets", operations=["*"], resourceNames=["spared"])],
    }
    labelled = {
        "objectSelector": {"matchLabels": {"pick": "me"}},
        "resourceRules": [rule("configmaps", operations=["CREATE", "UPDATE"])],
    }
    elsewhere = {"namespaceSelector": {"matchLabels": {"none": "x"}}, "resourceRules": [rule("*")]}
    exists = {"objectSelector": {"matchExpressions": [{"key": "b", "operator": "Exists"}]}}
    yield from stage.force(
        *stage.named("named", "false"),
        *stage.bound("out", "false", match=all_but_spared),
        *stage.bound("label", "false", match=labelled),
        policy("policy-matches-service", "false", match={"resourceRules": [rule("services")]}),
        binding("policy-matches-service", matchResources=exists),
        *stage.bound("scope", "false", match={"resourceRules": [rule("serviceaccounts", scope="Cluster")]}),
        *stage.bound("else", "false", match=elsewhere),
        policy("policy-matches-loose", "false", match={"resourceRules": [rule("endpoints")]}),
    )
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


def _scaler(version: str, name: str) -> Object:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    return {
        "apiVersion": f"autoscaling/{version}",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name},
        "spec": {"scaleTargetRef": target, "maxReplicas": 3},
    }


def _equivalents(stage: Stage) -> Iterator[Step]:
    shown = [
        said("object.apiVersion + ' ' + object.kind"),
        said("request.kind.version + ' ' + request.requestKind.version"),
        said("request.resource.version + ' ' + request.requestResource.version"),
        said("string(has(object.spec.metrics))"),
    ]
    for match, version in (("Equivalent", "v1"), ("Exact", "v2")):
        name = match.lower()
        rules = [rule("horizontalpodautoscalers", group="autoscaling", version=version, operations=["*"])]
        rules[0]["resourceNames"] = [name]
        constraints = {"resourceRules": rules, "matchPolicy": match}
        yield from stage.force(*stage.bound(name, *shown, match=constraints, actions=["Warn"]))
        for sent in ("v1", "v2"):
            path = SCALERS.format(version=sent)
            yield post(path, _scaler(sent, name))
            yield patch(f"{path}/{name}", {"spec": {"maxReplicas": 4}})
            yield delete(f"{path}/{name}")


def _conditions(stage: Stage) -> Iterator[Step]:
    check = {"expression": "false", "message": "reached"}
    bad = [
        {"name": "bad", "expression": "object.none == 'x'"},
        {"name": "worse", "expression": "object.data.zz == 'y'"},
    ]
    seen = "request.resource.resource == 'configmaps' && authorizer.requestResource.check('create').allowed()"
    conditions: dict[str, list[Object]] = {
        "kept": [{"name": "kept", "expression": "has(object.data.c)"}],
        "fail": bad,
        "one": bad[:1],
        "see": [{"name": "ns", "expression": "namespaceObject == null"}, {"name": "r", "expression": seen}],
        "decided": [*bad, {"name": "no", "expression": "false"}],
    }
    made = [stage.named(name, check, matchConditions=given) for name, given in conditions.items()]
    made.append(stage.named("ignore", check, matchConditions=bad, failurePolicy="Ignore"))
    made.append(stage.named("warn", check, matchConditions=bad, actions=["Warn"]))
    yield from stage.force(*(obj for pair in made for obj in pair))
    for name in (*conditions, "ignore", "warn"):
        yield create(name)
    yield create("kept", c="x")
    yield create("other", c="x")


def _variables(stage: Stage) -> Iterator[Step]:
    variables = {
        "size": "object.data.size()",
        "double": "variables.size * 2",
        "broken": "object.none.x",
        "onBroken": "variables.broken == 'x'",
        "items": "object.data.map(k, k)",
        "user": "request.userInfo",
        "amount": "quantity('2Gi')",
        "may": "authorizer.requestResource.check('create').allowed()",
        "costly": _loops(6),
    }
    checks: list[Object | str] = [
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
    given = [{"name": name, "expression": expression} for name, expression in variables.items()]
    yield from stage.force(*stage.bound("all", *checks, variables=given, actions=["Warn"]))
    yield create()
    yield create("two", a="1", b="2")


def _failures(stage: Stage) -> Iterator[Step]:
    broken = {"expression": "object.none == 'x'", "message": "m", "reason": "Forbidden"}
    types = [
        "object.data.k == 1 || object.data.k > 2",
        "object.data[0] == 'x'",
        "object.data.k.x == 1",
        "object.data.k.startsWith(dyn(1))",
        "has(object.data.k.x)",
        "object.data.k['x'] == 1",
        "object.data.k[0] == 1",
        "object.metadata.managedFields.x == 1",
        "has(object.metadata.managedFields.x)",
        "object.metadata.managedFields['x'] == 1",
        "object.metadata.managedFields[7].x == 1",
        "has(object.metadata.managedFields[7].x)",
        "oldObject.x == 1",
        "has(oldObject.x.y)",
        "oldObject['x'] == 1",
        "oldObject.?x.y.orValue(1) == 2",
        "object.?data.k.x.orValue(1) == 2",
        "object.data.k in object.data.k",
        "object.data.k in oldObject",
        "size(oldObject) == 1",
        "oldObject.all(x, x == 1)",
        "object.data.k.all(x, x == 1)",
        "-object.data.k == 1",
        "!object.data.k",
        "object.data.k ? true : false",
        "oldObject > 1",
        "object.data + object.data == 1",
        "object.metadata.managedFields - 1 == 1",
        "-oldObject == 1",
        "!oldObject",
        "object.kind % 2 == 1 || oldObject * 2 == 1",
        "object.data.k.all(i, x, x == 1)",
        "int(object.data.k) == 1",
        "timestamp(object.data.k) == timestamp(object.metadata.creationTimestamp)",
        "timestamp(object.metadata.creationTimestamp) < timestamp('2020-01-01T00:00:00Z')",
        "request.kind == request.kind && request == null",
        "type(object) == map && type(oldObject) == null_type && type(request) == map",
        "type(namespaceObject) == string",
        "object.data.map(k, k) == ['k'] && object.data == {'k': 'x'}",
        "object.metadata.labels['x'] == 'y'",
        "object.data.k + 1 == 2",
        "object.items[0] == 1",
        "object.data.all(k, object.data[k] == 1 || k == 2)",
    ]
    but = {"expression": "false", "message": "but"}
    yield from stage.force(
        *stage.named("fail", broken),
        *stage.named("ignore", broken, but, failurePolicy="Ignore"),
        *stage.named("all", broken, failurePolicy="Ignore"),
        *stage.named("types", *types[:20], actions=["Warn"]),
        *stage.named("more-types", *types[20:], actions=["Warn"]),
    )
    for name in ("fail", "ignore", "all", "types", "more-types"):
        yield create(name)


def _loops(depth: int) -> str:
    inner = "true"
    for at in range(depth):
        inner = f"{TENS}.all(v{at}, {inner})"
    return inner


def _costs(stage: Stage) -> Iterator[Step]:
    """A check of a permission costs 350,000, an expression may cost 1,000,000, and all of a policy 10,000,000."""
    check = "authorizer.requestResource.check('create').allowed()"
    costly = f"{check} && {check}"
    told = {"expression": f"!({costly})", "messageExpression": f"{_loops(4)} ? 'a' : 'b'"}
    conditions = [{"name": f"c{at}", "expression": costly} for at in range(4)]
    variables = [{"name": name, "expression": costly} for name in "abcdefghijklmno"]
    each = [f"variables.{name}" for name in "abcdefghijklmno"]
    made = {
        "loops": stage.named("loops", _loops(6)),
        "call": stage.named("call", f"{costly} && {check}"),
        "lenient": stage.named("lenient", f"{costly} && {check}", failurePolicy="Ignore"),
        "fits": stage.named("fits", *[costly] * 14),
        "budget": stage.named("budget", *[costly] * 15),
        "ignored": stage.named("ignored", *[costly] * 15, failurePolicy="Ignore"),
        "message": stage.named("message", *[told] * 14),
        "conditions": stage.named("conditions", "false", matchConditions=conditions),
        "met": stage.named("met", "false", matchConditions=conditions[:3]),
        "variables": stage.named("variables", *each, variables=variables),
        "shared": stage.named("shared", *["variables.a"] * 20, variables=variables[:1]),
    }
    yield from stage.force(*(obj for pair in made.values() for obj in pair))
    for name in made:
        yield create(name)


def _annotations(stage: Stage) -> Iterator[Step]:
    asks = "authorizer.group('').resource('pods').check('get').allowed() ? 'a' : 'b'"
    expressions = {
        "fine": "'value ' + object.metadata.name",
        "null": "null",
        "error": "'y' + object.none.x",
        "text": "'x' + object.none",
        "asks": asks,
    }
    made = [
        stage.named(name, auditAnnotations=[{"key": "k", "valueExpression": expression}], actions=["Audit"])
        for name, expression in expressions.items()
    ]
    broken = [{"key": "k", "valueExpression": "'x' + object.none"}]
    made.append(stage.named("lenient", auditAnnotations=broken, failurePolicy="Ignore", actions=["Audit"]))
    yield from stage.force(*(obj for pair in made for obj in pair))
    for name in (*expressions, "lenient"):
        yield create(name)


def _exempt(stage: Stage) -> Iterator[Step]:
    """Policies and reviews are not subject to policies; webhook configurations are."""
    target = "policy-exempt-target"
    name = f"{target}-{{{{run}}}}"
    every = rule("*/*", operations=["*"], resourceNames=[name])
    every |= {"apiGroups": ["*"], "apiVersions": ["*"]}
    yield from stage.force(*stage.bound("all", "false", match={"namespaceSelector": {}, "resourceRules": [every]}))
    stage.cleanup += [f"{POLICIES}/{name}", f"{BINDINGS}/{name}"]
    yield post(POLICIES, policy(target, "true"))
    yield post(BINDINGS, binding(target))
    yield delete(f"{BINDINGS}/{name}")
    yield delete(f"{POLICIES}/{name}")
    webhook = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    yield post(f"{REGISTRATION}/validatingwebhookconfigurations", {**webhook, "metadata": {"name": name}})
    yield post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview", "metadata": {"name": name}}
    reviewed = post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
    yield as_user(reviewed, "system:admin", "system:masters")


def _changes(stage: Stage) -> Iterator[Step]:
    """A policy that changes, and one that is no longer bound."""
    first = policy(stage.name, {"expression": "false", "message": "first"}, match=about("cm"))
    yield from stage.force(first, binding(stage.name))
    yield create()
    second = {"spec": {"validations": [{"expression": "false", "message": "second"}]}}
    yield patch(f"{POLICIES}/{stage.name}-{{{{run}}}}", second)
    yield from stage.force()
    yield create()
    yield delete(f"{BINDINGS}/{stage.name}-{{{{run}}}}")
    yield from stage.force()
    yield create()


def scenarios() -> Iterator[Scenario]:
    yield from staged([
        ("messages", _messages), ("actions", _actions), ("matches", _matches), ("equivalents", _equivalents),
        ("conditions", _conditions), ("variables", _variables), ("failures", _failures), ("costs", _costs),
        ("annotations", _annotations), ("exempt", _exempt), ("changes", _changes),
    ])  # fmt: skip
