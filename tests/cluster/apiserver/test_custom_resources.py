"""Custom resources from the definition to the last object; the rules of schemas are tested where they live."""

from __future__ import annotations

import asyncio

import pytest

from .serving import APPLY, MERGE, STRATEGIC, Obj, Server

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/x.example/v1/namespaces/default/widgets"
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "x-kubernetes-validations": [{"rule": "self.size <= 10", "message": "too big"}],
            "properties": {"size": {"type": "integer", "default": 1, "minimum": 0}, "colour": {"type": "string"}},
        },
        "status": {"type": "object", "properties": {"ready": {"type": "integer"}}},
    },
}


def definition(**version: object) -> Obj:
    served: Obj = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}, **version}
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"]}
    spec = {"group": "x.example", "scope": "Namespaced", "names": names, "versions": [served]}
    return {"metadata": {"name": "widgets.x.example"}, "spec": spec}


def widget(name: str = "w", **spec: object) -> Obj:
    return {"apiVersion": "x.example/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


async def define(server: Server, **version: object) -> None:
    await server.ok("POST", CRDS, definition(**version))
    await server.settle()


async def test_a_definition_is_established_within_a_tick(server: Server) -> None:
    await define(server)
    status = (await server.ok("GET", f"{CRDS}/widgets.x.example"))["status"]
    assert {c["type"]: c["status"] for c in status["conditions"]} == {"NamesAccepted": "True", "Established": "True"}
    assert (status["acceptedNames"]["kind"], status["storedVersions"]) == ("Widget", ["v1"])


async def test_what_is_defined_is_served_and_discovered(server: Server) -> None:
    assert (await server.call("GET", WIDGETS)).code == 404
    await define(server)
    assert (await server.call("GET", WIDGETS)).body["kind"] == "WidgetList"
    (resource,) = (await server.ok("GET", "/apis/x.example/v1"))["resources"]
    assert (resource["name"], resource["shortNames"]) == ("widgets", ["wd"])


async def test_objects_are_defaulted_pruned_and_checked(server: Server) -> None:
    await define(server)
    answer = await server.call("POST", WIDGETS, widget(unknown=1))
    assert (answer.code, answer.body["spec"], answer.warnings) == (201, {"size": 1}, ['unknown field "spec.unknown"'])
    answer = await server.call("POST", WIDGETS, widget("v", size=-1))
    assert (answer.code, "spec.size in body should be greater than or equal to 0" in answer.message) == (422, True)
    answer = await server.call("POST", WIDGETS, widget("v", size=11))
    assert (answer.code, answer.message) == (422, 'Widget.x.example "v" is invalid: spec: Invalid value: too big')


async def test_objects_need_their_kind(server: Server) -> None:
    await define(server)
    answer = await server.call("POST", WIDGETS, {"metadata": {"name": "w"}})
    assert (answer.code, "Object 'Kind' is missing" in answer.message) == (400, True)


async def test_objects_are_patched_and_applied(server: Server) -> None:
    await define(server)
    applied = await server.call("PATCH", f"{WIDGETS}/w?fieldManager=m", widget(colour="red"), media=APPLY)
    assert (applied.code, applied.body["spec"]) == (201, {"size": 1, "colour": "red"})
    assert (await server.ok("PATCH", f"{WIDGETS}/w", {"spec": {"colour": None}}, media=MERGE))["spec"] == {"size": 1}
    assert (await server.call("PATCH", f"{WIDGETS}/w", {}, media=STRATEGIC)).code == 415


async def test_labels_that_an_apply_no_longer_has_are_gone_from_the_metadata(server: Server) -> None:
    await define(server)
    path = f"{WIDGETS}/w?fieldManager=m"
    for labels in ({"a": "b"}, {}):
        applied = {**widget(size=3), "metadata": {"name": "w", "labels": labels}}
        answer = await server.call("PATCH", path, applied, media=APPLY)
    assert "labels" not in answer.body["metadata"]


async def test_an_update_needs_a_version(server: Server) -> None:
    await define(server)
    await server.ok("POST", WIDGETS, widget())
    answer = await server.call("PUT", f"{WIDGETS}/w", widget())
    assert (
        answer.message
        == 'widgets.x.example "w" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an '
        "update"
    )


async def test_status_and_scale_are_subresources_if_the_definition_says_so(server: Server) -> None:
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.ready"}
    await define(server, subresources={"status": {}, "scale": scale})
    made = await server.ok("POST", WIDGETS, {**widget(), "status": {"ready": 3}})
    assert "status" not in made
    await server.ok("PATCH", f"{WIDGETS}/w/status", {"status": {"ready": 3}, "spec": {"size": 7}}, media=MERGE)
    seen = await server.ok("GET", f"{WIDGETS}/w/scale")
    assert (seen["spec"], seen["status"]["replicas"]) == ({"replicas": 1}, 3)
    await server.ok("PATCH", f"{WIDGETS}/w/scale", {"spec": {"replicas": 4}}, media=MERGE)
    assert (await server.ok("GET", f"{WIDGETS}/w"))["spec"] == {"size": 4}


async def test_columns_of_the_definition_are_shown(server: Server) -> None:
    await define(server, additionalPrinterColumns=[{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}])
    await server.ok("POST", WIDGETS, widget())
    table = await server.ok("GET", WIDGETS, headers={"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"})
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Size"]
    assert table["rows"][0]["cells"] == ["w", 1]


async def test_selectable_fields_select(server: Server) -> None:
    await define(server, selectableFields=[{"jsonPath": ".spec.colour"}])
    for name, colour in (("a", "red"), ("b", "blue")):
        await server.ok("POST", WIDGETS, widget(name, colour=colour))
    assert (await server.call("GET", f"{WIDGETS}?fieldSelector=spec.colour=red")).names == ["a"]
    assert (
        await server.call("GET", f"{WIDGETS}?fieldSelector=spec.size=1")
    ).message == "field label not supported: spec.size"


async def test_a_changed_definition_is_in_force_at_once(server: Server) -> None:
    await define(server)
    crd = await server.ok("GET", f"{CRDS}/widgets.x.example")
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["weight"] = {
        "type": "string"
    }
    await server.ok("PUT", f"{CRDS}/widgets.x.example", crd)
    await server.settle()
    assert (await server.ok("POST", WIDGETS, widget(weight="1kg")))["spec"]["weight"] == "1kg"


async def test_a_second_definition_cannot_take_the_names(server: Server) -> None:
    await define(server)
    other = definition()
    other["metadata"]["name"], other["spec"]["names"] = "gadgets.x.example", {"plural": "gadgets", "kind": "Widget"}
    await server.ok("POST", CRDS, other)
    await server.settle()
    status = (await server.ok("GET", f"{CRDS}/gadgets.x.example"))["status"]
    assert {c["type"]: c["status"] for c in status["conditions"]}["NamesAccepted"] == "False"
    assert (await server.call("GET", WIDGETS.replace("widgets", "gadgets"))).code == 404


async def test_a_deleted_definition_takes_its_objects_with_it(server: Server) -> None:
    await define(server)
    await server.ok("POST", WIDGETS, widget())
    watcher = await server.watch(WIDGETS)
    await server.ok("DELETE", f"{CRDS}/widgets.x.example")
    await server.settle()
    assert watcher.seen == [("ADDED", "w"), ("DELETED", "w")]
    assert (watcher.ended, (await server.call("GET", f"{CRDS}/widgets.x.example")).code) == (True, 404)
    assert (await server.call("GET", WIDGETS)).code == 404
    await define(server)
    assert (await server.call("GET", WIDGETS)).names == []


@pytest.mark.looptime
async def test_a_definition_waits_for_the_finalizers_of_its_objects(server: Server) -> None:
    await define(server)
    sent = widget()
    sent["metadata"]["finalizers"] = ["x.example/y"]
    await server.ok("POST", WIDGETS, sent)
    await server.ok("DELETE", f"{CRDS}/widgets.x.example")
    await asyncio.sleep(5)
    assert (await server.call("GET", f"{CRDS}/widgets.x.example")).code == 200
    await server.ok("PATCH", f"{WIDGETS}/w", {"metadata": {"finalizers": None}}, media=MERGE)
    await asyncio.sleep(1)
    assert (await server.call("GET", f"{CRDS}/widgets.x.example")).code == 404


async def test_the_rules_are_evaluated_once_for_each_write(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    from jobrelay.kinds.apiextensions.rules import RuleTree

    evaluated: list[object] = []
    validate = RuleTree.validate

    def counted(rules: RuleTree, new: Obj, *others: object) -> object:
        evaluated.append(new["spec"]["size"])
        return validate(rules, new, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(RuleTree, "validate", counted)
    await define(server)
    made = await server.ok("POST", WIDGETS, widget(size=1))
    await server.ok("PUT", f"{WIDGETS}/w", {**made, "spec": {"size": 2}})
    await server.ok("PATCH", f"{WIDGETS}/w", {"spec": {"size": 3}}, media=MERGE)
    assert evaluated == [1, 2, 3]
