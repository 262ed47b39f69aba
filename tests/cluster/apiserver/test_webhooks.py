"""Admission webhooks: who is asked, what they are told, and what becomes of their answers."""

from __future__ import annotations

import pytest

from .serving import CONFIGMAPS, JOBS, MERGE, PODS, Obj, Server, config, job, pod
from .test_custom_resources import WIDGETS, define, widget
from .webhooks import GROUP, Webhooks, allow, deny, patch, rule, set_data, warn

# Answers.


async def test_a_mutating_webhook_changes_what_is_stored(server: Server, webhooks: Webhooks) -> None:
    await webhooks.mutating(set_data("b", "2"))
    made = await server.ok("POST", CONFIGMAPS, config(a="1"))
    assert made["data"] == {"a": "1", "b": "2"}
    assert (await server.ok("GET", f"{CONFIGMAPS}/a"))["data"] == {"a": "1", "b": "2"}


async def test_what_a_webhook_adds_has_no_manager(server: Server, webhooks: Webhooks) -> None:
    await webhooks.mutating(set_data("b", "2"))
    made = await server.ok("POST", CONFIGMAPS, config(a="1"))
    (entry,) = made["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:data": {".": {}, "f:a": {}}}


async def test_what_a_webhook_changes_is_validated(server: Server, webhooks: Webhooks) -> None:
    await webhooks.mutating(set_data("a~1b", "2"))
    answer = await server.call("POST", CONFIGMAPS, config(a="1"))
    assert (answer.code, answer.reason) == (422, "Invalid")


async def test_a_denied_request(server: Server, webhooks: Webhooks) -> None:
    await webhooks.validating(deny("not today", 451))
    answer = await server.call("POST", CONFIGMAPS, config())
    assert answer.code == 451
    assert answer.message == 'admission webhook "hook.example.com" denied the request: not today'
    assert (await server.call("GET", f"{CONFIGMAPS}/a")).code == 404


async def test_the_first_refusal_is_told(server: Server, webhooks: Webhooks) -> None:
    hooks = [webhooks.hook(deny(name), name) for name in ("one", "two", "three")]
    await webhooks.register("Validating", *hooks)
    gate = webhooks.hold("one")
    gate.set()
    assert (await server.call("POST", CONFIGMAPS, config())).message.endswith("request: one")


async def test_warnings_are_passed_on(server: Server, webhooks: Webhooks) -> None:
    await webhooks.mutating(warn("mind", "the gap\n", "mind"))
    assert (await server.call("POST", CONFIGMAPS, config())).warnings == ["mind"]


async def test_a_failing_webhook_refuses_or_is_ignored(server: Server, webhooks: Webhooks) -> None:
    def broken(name: str, policy: str) -> Obj:
        return webhooks.hook(lambda request: {"uid": "other"}, name, failurePolicy=policy)

    await webhooks.register("Mutating", broken("ignored", "Ignore"))
    await server.ok("POST", CONFIGMAPS, config())
    await webhooks.register("Validating", broken("strict", "Fail"))
    answer = await server.call("POST", CONFIGMAPS, config("b"))
    uid = webhooks.last["uid"]
    assert answer.code == 500
    assert answer.message == (
        'Internal error occurred: failed calling webhook "strict.example.com": received invalid webhook response: '
        f'expected response.uid="{uid}", got "other"'
    )


async def test_a_patch_that_does_not_fit(server: Server, webhooks: Webhooks) -> None:
    await webhooks.mutating(patch({"op": "add", "path": "/x/y", "value": 1}))
    answer = await server.call("POST", CONFIGMAPS, config())
    why = 'add operation does not apply: doc is missing path: "/x/y": missing value'
    assert (answer.code, answer.message) == (500, f"Internal error occurred: {why}")


async def test_invalid_managed_fields_are_not_kept(server: Server, webhooks: Webhooks) -> None:
    await webhooks.mutating(patch({"op": "replace", "path": "/metadata/managedFields", "value": [{"operation": "x"}]}))
    answer = await server.call("POST", CONFIGMAPS, config(a="1"))
    assert answer.body["metadata"]["managedFields"][0]["operation"] == "Update"
    assert answer.warnings[0].startswith(".metadata.managedFields was in an invalid state after admission")


# What webhooks are told.


async def test_a_create_is_told(server: Server, webhooks: Webhooks) -> None:
    await webhooks.mutating(allow)
    await server.ok("POST", f"{CONFIGMAPS}?fieldManager=me", config(a="1"))
    told = webhooks.last
    assert told["kind"] == told["requestKind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert told["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert (told["operation"], told["name"], told["namespace"]) == ("CREATE", "a", "default")
    assert (told["object"]["data"], told["oldObject"], told["dryRun"]) == ({"a": "1"}, None, False)
    assert told["userInfo"] == {"username": "admin", "groups": ["system:masters", "system:authenticated"]}
    assert told["options"] == {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "me"}


async def test_a_generated_name_is_told_to_validating_webhooks_only(server: Server, webhooks: Webhooks) -> None:
    await webhooks.register("Mutating", webhooks.hook(allow, "before"))
    await webhooks.register("Validating", webhooks.hook(allow, "after"))
    made = await server.ok("POST", CONFIGMAPS, {**config(), "metadata": {"generateName": "g-"}})
    assert [told.get("name") for _, told in webhooks.told] == [None, made["metadata"]["name"]]


async def test_an_update_is_told_with_the_old_object(server: Server, webhooks: Webhooks) -> None:
    await server.ok("POST", CONFIGMAPS, config(a="1"))
    await webhooks.validating(allow)
    await server.ok("PATCH", f"{CONFIGMAPS}/a", {"data": {"a": "2"}}, media=MERGE)
    assert (webhooks.last["oldObject"]["data"], webhooks.last["object"]["data"]) == ({"a": "1"}, {"a": "2"})
    assert webhooks.last["options"]["kind"] == "UpdateOptions"


async def test_a_scale_is_told_and_changed(server: Server, webhooks: Webhooks) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    labels = {"a": "b"}
    template = {"metadata": {"labels": labels}, "spec": pod()["spec"]}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    await server.ok("POST", path, {"metadata": {"name": "d"}, "spec": spec})
    more = patch({"op": "replace", "path": "/spec/replicas", "value": 7})
    await webhooks.mutating(more, rules=[rule("deployments/scale")])
    scaled = await server.ok("PATCH", f"{path}/d/scale", {"spec": {"replicas": 3}}, media=MERGE)
    assert webhooks.last["object"]["kind"] == "Scale"
    assert (webhooks.last["kind"]["group"], webhooks.last["subResource"]) == ("autoscaling", "scale")
    assert scaled["spec"]["replicas"] == (await server.ok("GET", f"{path}/d"))["spec"]["replicas"] == 7


async def test_another_version_is_told_as_the_one_that_is_asked_for(server: Server, webhooks: Webhooks) -> None:
    path = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"
    spec = {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}
    v1 = {**rule("horizontalpodautoscalers"), "apiVersions": ["v1"]}
    fewer = patch({"op": "add", "path": "/spec/targetCPUUtilizationPercentage", "value": 50})
    await webhooks.mutating(fewer, rules=[v1])
    made = await server.ok("POST", path.format("v2"), {"metadata": {"name": "h"}, "spec": spec})
    assert (webhooks.last["kind"]["version"], webhooks.last["requestKind"]["version"]) == ("v1", "v2")
    assert webhooks.last["object"]["apiVersion"] == "autoscaling/v1"
    assert made["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] == 50


async def test_exactly_the_version_of_a_rule_is_asked_about(server: Server, webhooks: Webhooks) -> None:
    path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    spec = {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}
    v1 = {**rule("horizontalpodautoscalers"), "apiVersions": ["v1"]}
    await webhooks.mutating(deny(), rules=[v1], matchPolicy="Exact")
    await server.ok("POST", path, {"metadata": {"name": "h"}, "spec": spec})


async def test_connections_are_told(server: Server, webhooks: Webhooks) -> None:
    await server.ok("POST", PODS, pod())
    await webhooks.validating(deny(), rules=[rule("pods/exec", operations=["CONNECT"])])
    answer = await server.call("POST", f"{PODS}/p/exec?command=ls&stdout=true")
    assert answer.code == 403
    assert webhooks.last["object"] == {
        "kind": "PodExecOptions", "apiVersion": "v1", "stdout": True, "command": ["ls"],
    }  # fmt: skip


async def test_bindings_and_evictions_are_told(server: Server, webhooks: Webhooks) -> None:
    await server.ok("POST", PODS, pod())
    await webhooks.validating(allow, rules=[rule("pods/binding", "pods/eviction"), rule("pods", operations=["DELETE"])])
    await server.ok("POST", f"{PODS}/p/binding", {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}})
    assert (webhooks.last["kind"]["kind"], webhooks.last["operation"]) == ("Binding", "CREATE")
    await server.ok("POST", f"{PODS}/p/eviction", {"apiVersion": "policy/v1", "metadata": {"name": "p"}})
    assert [told["kind"]["kind"] for _, told in webhooks.told] == ["Binding", "Eviction"]  # and not the pod's deletion


async def test_v1beta1_is_told_where_it_is_preferred(server: Server, webhooks: Webhooks) -> None:
    await webhooks.mutating(allow, admissionReviewVersions=["v1beta1", "v1"])
    await server.ok("POST", CONFIGMAPS, config())
    assert '"admission.k8s.io/v1beta1"' in webhooks.loopback.requests[-1]


# Deletes.


async def test_a_delete_can_be_denied(server: Server, webhooks: Webhooks) -> None:
    await server.ok("POST", CONFIGMAPS, config())
    await webhooks.validating(deny(), rules=[rule("configmaps", operations=["DELETE"])])
    assert (await server.call("DELETE", f"{CONFIGMAPS}/a")).code == 403
    assert (webhooks.last["object"], webhooks.last["oldObject"]["kind"]) == (None, "ConfigMap")
    await server.ok("GET", f"{CONFIGMAPS}/a")


async def test_a_collection_is_deleted_one_by_one(server: Server, webhooks: Webhooks) -> None:
    for name in "abc":
        await server.ok("POST", CONFIGMAPS, config(name))

    def only_b(request: Obj) -> Obj:
        return {"allowed": request["oldObject"]["metadata"]["name"] != "b"}

    await webhooks.validating(only_b, rules=[rule("configmaps", operations=["DELETE"])])
    assert (await server.call("DELETE", CONFIGMAPS)).code == 400
    left = (await server.call("GET", CONFIGMAPS)).names
    assert "a" not in left
    assert {"b", "c"} <= set(left)


async def test_a_webhook_cannot_change_what_is_deleted(server: Server, webhooks: Webhooks) -> None:
    await server.ok("POST", CONFIGMAPS, config())
    await webhooks.mutating(set_data("b", "2"))
    answer = await server.call("DELETE", f"{CONFIGMAPS}/a")
    assert answer.message.endswith("attempted to modify the object, which is not supported for this operation")


# Who is asked.


@pytest.mark.parametrize(
    ("rules", "asked"),
    [
        ([rule("configmaps", operations=["CREATE"])], True),
        ([rule("configmaps", operations=["UPDATE"])], False),
        ([rule("*")], True),
        ([rule("*/*")], True),
        ([rule("*/status")], False),
        ([rule("configmaps/*")], True),
        ([rule("configmaps", scope="Namespaced")], True),
        ([rule("configmaps", scope="Cluster")], False),
        ([{**rule("configmaps"), "apiGroups": ["apps"]}], False),
        ([rule("secrets"), rule("configmaps")], True),
    ],
)
async def test_rules(server: Server, webhooks: Webhooks, rules: list[Obj], asked: bool) -> None:
    await webhooks.mutating(allow, rules=rules)
    await server.ok("POST", CONFIGMAPS, config())
    assert bool(webhooks.told) is asked


async def test_labels_of_the_object_or_its_predecessor_select(server: Server, webhooks: Webhooks) -> None:
    await webhooks.mutating(allow, objectSelector={"matchLabels": {"a": "b"}})
    await server.ok("POST", CONFIGMAPS, config())
    assert not webhooks.told
    for labels in ({"a": "b"}, {"a": None}):
        await server.ok("PATCH", f"{CONFIGMAPS}/a", {"metadata": {"labels": labels}}, media=MERGE)
    assert len(webhooks.told) == 2


async def test_labels_of_the_namespace_select(server: Server, webhooks: Webhooks) -> None:
    await webhooks.mutating(
        allow, rules=[rule("configmaps", "namespaces")], namespaceSelector={"matchLabels": {"a": "b"}}
    )
    await server.ok("POST", CONFIGMAPS, config())
    assert not webhooks.told
    await server.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "n", "labels": {"a": "b"}}})
    assert (webhooks.last["name"], webhooks.last["namespace"]) == ("n", "n")
    await server.ok("POST", "/api/v1/namespaces/n/configmaps", config())
    assert webhooks.last["namespace"] == "n"


async def test_conditions(server: Server, webhooks: Webhooks) -> None:
    def when(expression: str, name: str) -> Obj:
        return webhooks.hook(allow, name, matchConditions=[{"name": "c", "expression": expression}])

    await webhooks.register(
        "Mutating",
        when("request.userInfo.username == 'admin' && object.data.a == '1'", "yes"),
        when("oldObject != null", "no"),
        when("authorizer.requestResource.check('create').allowed()", "may"),
        {**when("object.nope == 1", "ignored"), "failurePolicy": "Ignore"},
    )
    await server.ok("POST", CONFIGMAPS, config(a="1"))
    assert webhooks.paths == ["/yes", "/may"]


async def test_a_condition_that_fails(server: Server, webhooks: Webhooks) -> None:
    await webhooks.mutating(allow, matchConditions=[{"name": "c", "expression": "object.nope == 1"}])
    answer = await server.call("POST", CONFIGMAPS, config())
    assert answer.code == 403
    assert "expression 'object.nope == 1' resulted in error: no such key: nope" in answer.message


async def test_configurations_are_nobodys_business(server: Server, webhooks: Webhooks) -> None:
    await webhooks.validating(deny(), rules=[rule("*")])
    await server.ok("DELETE", f"{GROUP}/validatingwebhookconfigurations/hooks")
    await server.ok("POST", CONFIGMAPS, config())
    assert not webhooks.told


async def test_a_dry_run_needs_a_webhook_without_side_effects(server: Server, webhooks: Webhooks) -> None:
    await webhooks.mutating(allow, sideEffects="NoneOnDryRun")
    await server.ok("POST", f"{CONFIGMAPS}?dryRun=All", config())
    assert webhooks.last["dryRun"] is True
    (item,) = server.store.snapshot("mutatingwebhookconfigurations.admissionregistration.k8s.io").walk("")
    raw = item.raw.replace(b'"NoneOnDryRun"', b'"Some"')
    server.store.put("mutatingwebhookconfigurations.admissionregistration.k8s.io", "", "hooks", raw)
    await server.settle()
    answer = await server.call("POST", f"{CONFIGMAPS}?dryRun=All", config())
    why = 'admission webhook "hook.example.com" does not support dry run'
    assert (answer.code, answer.message) == (400, why)


# Order.


async def test_webhooks_are_asked_in_the_order_of_their_configurations(server: Server, webhooks: Webhooks) -> None:
    await webhooks.register("Mutating", webhooks.hook(allow, "c"), webhooks.hook(allow, "d"), name="second")
    await webhooks.register("Mutating", webhooks.hook(allow, "b"), webhooks.hook(allow, "a"), name="first")
    await webhooks.register("Validating", webhooks.hook(allow, "last"))
    await server.ok("POST", CONFIGMAPS, config())
    assert webhooks.paths == ["/b", "/a", "/c", "/d", "/last"]


async def test_a_webhook_sees_what_earlier_ones_have_changed(server: Server, webhooks: Webhooks) -> None:
    await webhooks.register("Mutating", webhooks.hook(set_data("b", "2"), "a"), webhooks.hook(allow, "b"))
    await server.ok("POST", CONFIGMAPS, config(a="1"))
    assert webhooks.last["object"]["data"] == {"a": "1", "b": "2"}


async def test_webhooks_may_ask_to_see_later_changes(server: Server, webhooks: Webhooks) -> None:
    again = webhooks.hook(allow, "again", reinvocationPolicy="IfNeeded")
    changing = webhooks.hook(set_data("b", "2"), "change")
    await webhooks.register("Mutating", again, webhooks.hook(allow, "once"), changing)
    await server.ok("POST", CONFIGMAPS, config(a="1"))
    assert webhooks.paths == ["/again", "/once", "/change", "/again"]


async def test_nobody_is_asked_again_without_a_change(server: Server, webhooks: Webhooks) -> None:
    await webhooks.register("Mutating", webhooks.hook(allow, "a", reinvocationPolicy="IfNeeded"), webhooks.hook(allow))
    await server.ok("POST", CONFIGMAPS, config())
    assert webhooks.paths == ["/a", "/hook"]


async def test_plugins_complete_what_a_webhook_has_added(server: Server, webhooks: Webhooks) -> None:
    sidecar = {"name": "side", "image": "image"}
    await webhooks.mutating(patch({"op": "add", "path": "/spec/containers/-", "value": sidecar}), rules=[rule("pods")])
    made = await server.ok("POST", PODS, pod())
    main, side = made["spec"]["containers"]
    assert side["terminationMessagePath"] == main["terminationMessagePath"]
    assert side["volumeMounts"] == main["volumeMounts"]


async def test_metrics(server: Server, webhooks: Webhooks) -> None:
    await webhooks.validating(deny())
    await server.call("POST", CONFIGMAPS, config())
    text = (await server.call("GET", "/metrics")).raw.decode()
    labels = 'name="hook.example.com",operation="CREATE",rejected="true",type="validating"'
    assert f"apiserver_admission_webhook_admission_duration_seconds_count{{{labels}}} 1.0" in text
    assert 'apiserver_admission_webhook_rejection_count{error_type="no_error",name="hook.example.com"' in text


async def test_large_writes_are_told_too(server: Server, webhooks: Webhooks) -> None:
    await webhooks.mutating(set_data("b", "2"))
    made = await server.ok("POST", CONFIGMAPS, config(a="x" * 100_000))
    assert made["data"]["b"] == "2"


async def test_other_kinds_are_told(server: Server, webhooks: Webhooks) -> None:
    await webhooks.mutating(patch({"op": "add", "path": "/spec/suspend", "value": True}), rules=[rule("jobs")])
    assert (await server.ok("POST", JOBS, job()))["spec"]["suspend"] is True


# Custom resources.


async def test_custom_resources_with_rules_are_told_and_changed(server: Server, webhooks: Webhooks) -> None:
    await define(server)
    larger = patch({"op": "replace", "path": "/spec/size", "value": 7}, {"op": "add", "path": "/spec/odd", "value": 1})
    await webhooks.mutating(larger, rules=[rule("widgets")])
    made = await server.ok("POST", WIDGETS, widget(size=1))
    assert made["spec"] == {"size": 7}
    assert webhooks.last["kind"] == {"group": "x.example", "version": "v1", "kind": "Widget"}
    assert webhooks.paths == ["/hook"]


async def test_rules_see_what_a_webhook_has_made(server: Server, webhooks: Webhooks) -> None:
    await define(server)
    await webhooks.mutating(patch({"op": "replace", "path": "/spec/size", "value": "x"}), rules=[rule("widgets")])
    assert (await server.call("POST", WIDGETS, widget(size=1))).code == 422
