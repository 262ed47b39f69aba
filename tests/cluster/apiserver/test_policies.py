"""ValidatingAdmissionPolicies: which requests they refuse, and in which words."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from jobrelay.cluster.apiserver import heavy
from jobrelay.cluster.apiserver.admission.policies import evaluation
from jobrelay.cluster.controllers.namespaces import NamespaceController

from .serving import APPLY, MERGE, Answer, Server

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{REGISTRATION}/validatingadmissionpolicies"
BINDINGS = f"{REGISTRATION}/validatingadmissionpolicybindings"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
Obj = dict[str, Any]


def rule(*resources: str, operations: tuple[str, ...] = ("CREATE",), group: str = "", **more: Any) -> Obj:
    found = {"apiGroups": [group], "apiVersions": ["*"], "operations": [*operations], "resources": [*resources]}
    return {**found, **more}


def policy(*validations: Obj | str, rules: list[Obj] | None = None, name: str = "p", **spec: Any) -> Obj:
    checks = [{"expression": each} if isinstance(each, str) else each for each in validations]
    match = {"resourceRules": rules or [rule("configmaps")]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {"matchConstraints": match, "validations": checks, **spec},
    }


def binding(*actions: str, name: str = "b", policy: str = "p", **spec: Any) -> Obj:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": policy, "validationActions": [*(actions or ("Deny",))], **spec},
    }


def configmap(name: str = "c", **data: str) -> Obj:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


async def enforce(server: Server, made: Obj, *bindings: Obj) -> None:
    await server.ok("POST", POLICIES, made)
    for each in bindings or (binding(policy=made["metadata"]["name"]),):
        await server.ok("POST", BINDINGS, each)


async def create(server: Server, obj: Obj | None = None) -> Answer:
    return await server.call("POST", CONFIGMAPS, obj or configmap())


async def test_a_denied_request_is_answered_in_the_words_of_a_real_server(server: Server) -> None:
    await enforce(server, policy({"expression": "object.data.n == '1'", "message": "n must be 1"}))
    answer = await create(server, configmap(n="2"))
    text = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: n must be 1"
    assert answer.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f'configmaps "c" is forbidden: {text}',
        "reason": "Invalid",
        "details": {"name": "c", "kind": "configmaps", "causes": [{"message": text}]},
        "code": 422,
    }
    assert (await create(server, configmap(n="1"))).code == 201


@pytest.mark.parametrize(("reason", "code"), [("Forbidden", 403), ("RequestEntityTooLarge", 413), ("Invalid", 422)])
async def test_the_reason_decides_the_code(server: Server, reason: str, code: int) -> None:
    await enforce(server, policy({"expression": "false", "reason": reason}))
    answer = await create(server)
    assert (answer.code, answer.reason) == (code, reason)
    assert answer.message.endswith("denied request: failed expression: false")


async def test_a_policy_without_a_binding_does_nothing(server: Server) -> None:
    await server.ok("POST", POLICIES, policy("false"))
    assert (await create(server)).code == 201


async def test_a_binding_that_warns_refuses_nothing(server: Server) -> None:
    await enforce(server, policy("false", {"expression": "false", "message": "two"}), binding("Warn", "Audit"))
    answer = await create(server)
    failed = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': "
    assert answer.code == 201
    assert answer.warnings == [f"{failed}failed expression: false", f"{failed}two"]


async def test_changes_of_policies_and_bindings_take_effect_at_once(server: Server) -> None:
    await enforce(server, policy("false"))
    assert (await create(server)).code == 422
    await server.ok("PATCH", f"{POLICIES}/p", {"spec": {"validations": [{"expression": "true"}]}}, media=MERGE)
    assert (await create(server)).code == 201
    await server.ok("PATCH", f"{POLICIES}/p", {"spec": {"validations": [{"expression": "false"}]}}, media=MERGE)
    assert (await create(server, configmap("d"))).code == 422
    await server.ok("DELETE", f"{BINDINGS}/b")
    assert (await create(server, configmap("d"))).code == 201


async def test_match_conditions_are_evaluated_before_anything_else(server: Server) -> None:
    conditions = [{"name": "big", "expression": "has(object.data) && has(object.data.big)"}]
    await enforce(server, policy("object.none == 'x'", matchConditions=conditions))
    assert (await create(server)).code == 201
    assert (await create(server, configmap("d", big="1"))).code == 422


async def test_variables_are_evaluated_when_they_are_used(server: Server) -> None:
    variables = [
        {"name": "broken", "expression": "object.none"},
        {"name": "size", "expression": "object.data.size()"},
        {"name": "twice", "expression": "variables.size * 2"},
    ]
    check = {"expression": "variables.twice == 2", "messageExpression": "'twice is ' + string(variables.twice)"}
    await enforce(server, policy(check, variables=variables))
    assert (await create(server, configmap(a="1"))).code == 201
    assert "twice is 4" in (await create(server, configmap("d", a="1", b="2"))).message


async def test_errors_fail_a_request_unless_the_policy_ignores_them(server: Server) -> None:
    await enforce(server, policy("object.none == 'x'"))
    expected = "expression 'object.none == 'x'' resulted in error: no such key: none"
    assert (await create(server)).message.endswith(expected)
    await server.ok("PATCH", f"{POLICIES}/p", {"spec": {"failurePolicy": "Ignore"}}, media=MERGE)
    assert (await create(server)).code == 201


async def test_too_costly_expressions_are_errors(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "BUDGET", 5)
    await enforce(server, policy("[1, 2, 3].all(n, n > 0)"))
    expected = "validation failed due to running out of cost budget, no further validation rules will be run"
    assert (await create(server)).message.endswith(expected)


async def test_parameters_are_looked_up_in_the_namespace_of_the_request(server: Server) -> None:
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    await server.ok("POST", CONFIGMAPS, configmap("limits", n="1"))
    check = {"expression": "object.data.n == params.data.n", "messageExpression": "'n must be ' + params.data.n"}
    reference = {"name": "limits", "parameterNotFoundAction": "Deny"}
    await enforce(server, policy(check, paramKind=kind), binding(paramRef=reference))
    assert (await create(server, configmap(n="2"))).message.endswith("denied request: n must be 1")
    assert (await create(server, configmap(n="1"))).code == 201
    await server.ok("DELETE", f"{CONFIGMAPS}/limits")
    assert (await create(server, configmap("d", n="1"))).message.endswith(
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    )


async def test_each_selected_parameter_is_evaluated(server: Server) -> None:
    for name in ("one", "two"):
        made = configmap(name, n=name)
        made["metadata"]["labels"] = {"set": "x"}
        await server.ok("POST", CONFIGMAPS, made)
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    reference = {"selector": {"matchLabels": {"set": "x"}}, "parameterNotFoundAction": "Deny"}
    check = {"expression": "false", "messageExpression": "'n is ' + params.data.n"}
    await enforce(server, policy(check, paramKind=kind), binding("Warn", paramRef=reference))
    answer = await create(server)
    assert [text.rpartition(" ")[2] for text in answer.warnings] == ["one", "two"]


async def test_custom_resources_are_parameters_too(server: Server) -> None:
    from .test_custom_resources import WIDGETS, define, widget

    await define(server)
    crd = await server.ok("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
    spec = crd["items"][0]["spec"]
    version = f"{spec['group']}/{spec['versions'][0]['name']}"
    await server.ok("POST", WIDGETS, widget("w", size=3))
    check = {"expression": "object.data.size() < params.spec.size", "messageExpression": "string(params.spec.size)"}
    kind = {"apiVersion": version, "kind": spec["names"]["kind"]}
    reference = {"name": "w", "parameterNotFoundAction": "Deny"}
    await enforce(server, policy(check, paramKind=kind), binding(paramRef=reference))
    assert (await create(server, configmap(a="", b="", c=""))).message.endswith("denied request: 3")


async def test_a_kind_of_parameters_that_is_not_served_fails_the_request(server: Server) -> None:
    kind = {"apiVersion": "example.com/v1", "kind": "None"}
    await enforce(server, policy("true", paramKind=kind))
    assert (await create(server)).message.endswith(
        "ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: "
        "failed to find resource referenced by paramKind: 'example.com/v1, Kind=None'"
    )


async def test_updates_patches_and_deletes_are_admitted(server: Server) -> None:
    await server.ok("POST", CONFIGMAPS, configmap())
    rules = [rule("configmaps", operations=("UPDATE", "DELETE"))]
    check = {"expression": "oldObject.metadata.name != 'c'", "messageExpression": "request.operation"}
    await enforce(server, policy(check, rules=rules))
    for method, body, media in (
        ("PUT", configmap(n="1"), "application/json"),
        ("PATCH", {"data": {"n": "1"}}, MERGE),
        ("PATCH", configmap(n="1"), APPLY),
    ):
        path = f"{CONFIGMAPS}/c" + ("?fieldManager=m" if media == APPLY else "")
        assert (await server.call(method, path, body, media=media)).message.endswith("denied request: UPDATE")
    assert (await server.call("DELETE", f"{CONFIGMAPS}/c")).message.endswith("denied request: DELETE")
    assert (await server.call("DELETE", CONFIGMAPS)).message.startswith('configmaps "Unknown" is forbidden')
    assert (await server.ok("GET", f"{CONFIGMAPS}/c"))["metadata"]["name"] == "c"


async def test_what_a_policy_lets_through_is_stored_with_its_version(server: Server) -> None:
    await enforce(server, policy("true", rules=[rule("configmaps", operations=("*",))]))
    made = (await create(server)).body
    changed = await server.ok("PATCH", f"{CONFIGMAPS}/c", {"data": {"n": "1"}}, media=MERGE)
    assert int(made["metadata"]["resourceVersion"]) < int(changed["metadata"]["resourceVersion"])
    deleted = await server.ok("DELETE", f"{CONFIGMAPS}/c")
    assert deleted["status"] == "Success"
    assert (await server.call("GET", f"{CONFIGMAPS}/c")).code == 404


async def test_subresources_are_matched_by_their_own_name(server: Server) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    await server.ok("POST", PODS, pod)
    rules = [rule("pods/exec", "pods/eviction", "pods/binding", operations=("*",))]
    check = {"expression": "false", "messageExpression": "request.operation + ' ' + request.subResource + object.kind"}
    await enforce(server, policy(check, rules=rules))
    assert (await server.call("POST", f"{PODS}/p/exec?command=ls")).message.endswith("CONNECT execPodExecOptions")
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    assert (await server.call("POST", f"{PODS}/p/eviction", eviction)).message.endswith("CREATE evictionEviction")
    target = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    assert (await server.call("POST", f"{PODS}/p/binding", target)).message.endswith("CREATE bindingBinding")


async def test_an_eviction_is_not_a_delete(server: Server) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    await server.ok("POST", PODS, pod)
    await enforce(server, policy("false", rules=[rule("pods", operations=("DELETE",))]))
    assert (await server.call("DELETE", f"{PODS}/p")).code == 422
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    assert (await server.call("POST", f"{PODS}/p/eviction", eviction)).code == 201


async def test_the_scale_of_an_object_is_what_a_policy_sees(server: Server) -> None:
    labels = {"app": "d"}
    container = {"name": "c", "image": "i"}
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
    }
    deployments = "/apis/apps/v1/namespaces/default/deployments"
    await server.ok(
        "POST",
        deployments,
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec},
    )
    check = {"expression": "object.spec.replicas < 3", "messageExpression": "object.kind + request.kind.group"}
    rules = [rule("deployments/scale", group="apps", operations=("UPDATE",))]
    await enforce(server, policy(check, rules=rules))
    answer = await server.call("PATCH", f"{deployments}/d/scale", {"spec": {"replicas": 3}}, media=MERGE)
    assert answer.message.endswith("denied request: Scaleautoscaling")


async def test_the_permissions_of_the_user_can_be_asked_for(server: Server) -> None:
    check = "authorizer.requestResource.check('delete').allowed() && !authorizer.path('/x').check('get').allowed()"
    await enforce(server, policy(check))
    assert (await create(server)).message.endswith(f"failed expression: {check}")
    one = "authorizer.serviceAccount('default', 'x').group('').resource('pods').check('get').allowed()"
    await server.ok("PATCH", f"{POLICIES}/p", {"spec": {"validations": [{"expression": f"!{one}"}]}}, media=MERGE)
    assert (await create(server)).code == 201


async def test_policies_do_not_apply_to_policies(server: Server) -> None:
    rules = [{**rule("*", operations=("*",)), "apiGroups": ["*"]}]
    await enforce(server, policy("false", rules=rules))
    assert (await create(server)).code == 422
    assert (await server.call("DELETE", f"{BINDINGS}/b")).code == 200


async def test_a_policy_about_another_version_sees_the_object_converted(server: Server) -> None:
    rules = [{**rule("horizontalpodautoscalers", group="autoscaling"), "apiVersions": ["v1"]}]
    check = {"expression": "false", "messageExpression": "object.apiVersion + ' ' + request.requestKind.version"}
    await enforce(server, policy(check, rules=rules))
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h"},
        "spec": {"maxReplicas": 2, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}},
    }
    path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    assert (await server.call("POST", path, scaler)).message.endswith("denied request: autoscaling/v1 v2")


async def test_a_policy_about_one_version_of_a_custom_resource_sees_all_of_them(server: Server) -> None:
    from .test_custom_versions import OLD, define_two, old

    await define_two(server)
    rules = [{**rule("widgets", group="x.example"), "apiVersions": ["v1"]}]
    check = {"expression": "false", "messageExpression": "object.apiVersion + ' ' + object.spec.shared"}
    await enforce(server, policy(check, rules=rules))
    assert (await server.call("POST", OLD, old(shared="s"))).message.endswith("denied request: x.example/v1 s")


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the threads that evaluate policies; those for ConfigMaps named `slow` take more than a moment."""
    names: list[str] = []
    evaluate, clock = evaluation.PolicyEvaluator.evaluate, [0.0]

    def noted(self: evaluation.PolicyEvaluator, params: Obj | None) -> evaluation.PolicyDecision:
        names.append(threading.current_thread().name.partition("_")[0])
        clock[0] += 2 * heavy.MOMENT if self._inputs.get("object")["metadata"]["name"] == "slow" else 0
        return evaluate(self, params)

    monkeypatch.setattr(evaluation.PolicyEvaluator, "evaluate", noted)
    monkeypatch.setattr("time.thread_time", lambda: clock[0])
    return names


async def test_policies_are_evaluated_beside_the_loop(server: Server, threads: list[str]) -> None:
    await enforce(server, policy("true"))
    await create(server)
    assert threads == ["large-requests"]


async def test_policies_that_take_long_have_a_thread_of_their_own(server: Server, threads: list[str]) -> None:
    await enforce(server, policy("true"))
    assert (await create(server, configmap("slow"))).code == 201
    assert threads == ["large-requests", "long-rules"]


async def test_a_write_that_no_policy_is_about_is_computed_at_once(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any) -> None:
        raise AssertionError

    await enforce(server, policy("true", rules=[rule("secrets")]))
    monkeypatch.setattr(heavy, "perform_with_rules", fail)
    assert (await create(server)).code == 201


async def test_a_namespace_waits_for_what_a_policy_refuses_to_delete(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobrelay.cluster.controllers.namespaces.RETRY", 0.0)
    controller = NamespaceController(server.services, b"authority", delay=0)
    controller.start()
    await server.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
    await server.ok("POST", "/api/v1/namespaces/team/configmaps", configmap())
    check = "oldObject.metadata.name != 'c'"
    await enforce(server, policy(check, rules=[rule("configmaps", operations=("DELETE",))]))
    await server.ok("DELETE", "/api/v1/namespaces/team")
    await asyncio.sleep(0.01)
    assert (await server.call("GET", "/api/v1/namespaces/team/configmaps")).names == ["c"]
    await server.ok("DELETE", f"{BINDINGS}/b")
    while (await server.call("GET", "/api/v1/namespaces/team")).code == 200:
        await asyncio.sleep(0)
    controller.stop()


async def test_a_namespace_is_filled_when_no_policy_refuses_it_any_longer(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobrelay.cluster.controllers.namespaces.RETRY", 0.0)
    controller = NamespaceController(server.services, b"authority")
    controller.start()
    await enforce(server, policy("false"))
    await server.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
    assert (await server.call("GET", "/api/v1/namespaces/team/configmaps")).names == []
    await server.ok("DELETE", f"{BINDINGS}/b")
    while (await server.call("GET", "/api/v1/namespaces/team/configmaps/kube-root-ca.crt")).code == 404:
        await asyncio.sleep(0)
    controller.stop()
