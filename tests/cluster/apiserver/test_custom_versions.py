"""Custom resources in several versions, and definitions that change, collide and go."""

from __future__ import annotations

from typing import Any

from .serving import APPLY, MERGE, Obj, Server
from .test_custom_resources import CRDS, WIDGETS, define, definition, widget

OLD = "/apis/x.example/v1beta1/namespaces/default/widgets"
DEFINITION = f"{CRDS}/widgets.x.example"


def version(name: str, *, storage: bool = False, **more: Any) -> Obj:
    spec = {"type": "object", "properties": {name: {"type": "string", "default": name}, "shared": {"type": "string"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {"name": name, "served": True, "storage": storage, "schema": schema, **more}


async def define_two(server: Server, **old: Any) -> None:
    body = definition()
    body["spec"]["versions"] = [version("v1", storage=True), version("v1beta1", **old)]
    await server.ok("POST", CRDS, body)
    await server.settle()


def old(**spec: str) -> Obj:
    return {**widget(), "apiVersion": "x.example/v1beta1", "spec": spec}


async def test_each_version_shows_what_its_schema_knows(server: Server) -> None:
    await define_two(server)
    made = await server.ok("POST", OLD, old(shared="s"))
    assert (made["apiVersion"], made["spec"]) == ("x.example/v1beta1", {"shared": "s"})
    assert (await server.ok("GET", f"{WIDGETS}/w"))["spec"] == {"shared": "s", "v1": "v1"}


async def store_in(server: Server, name: str) -> Obj:
    """Makes a version the storage version; returns the definition's new status."""
    versions = (await server.ok("GET", DEFINITION))["spec"]["versions"]
    for each in versions:
        each["storage"] = each["name"] == name
    changed = await server.ok("PATCH", DEFINITION, {"spec": {"versions": versions}}, media=MERGE)
    await server.settle()
    status: Obj = changed["status"]
    return status


async def test_a_new_storage_version_is_on_record(server: Server) -> None:
    await define_two(server)
    assert (await store_in(server, "v1beta1"))["storedVersions"] == ["v1", "v1beta1"]
    status = {"status": {"storedVersions": ["v1beta1"]}}
    await server.ok("PATCH", f"{DEFINITION}/status", status, media=MERGE)
    assert (await store_in(server, "v1beta1"))["storedVersions"] == ["v1beta1"]


async def test_objects_stay_in_the_version_that_they_were_stored_in_until_they_are_written(server: Server) -> None:
    await define_two(server)
    await server.ok("POST", WIDGETS, widget(v1="x", shared="s"))
    await store_in(server, "v1beta1")
    assert (await server.ok("GET", f"{WIDGETS}/w"))["spec"] == {"v1": "x", "shared": "s"}
    await server.ok("PATCH", f"{WIDGETS}/w", {}, media=MERGE)
    assert (await server.ok("GET", f"{WIDGETS}/w"))["spec"] == {"shared": "s"}


async def test_the_first_version_of_a_definition_is_that_of_its_oldest_objects(server: Server) -> None:
    await define(server)
    await server.ok("POST", WIDGETS, widget(colour="red"))
    versions = definition()["spec"]["versions"]
    versions = [{**versions[0], "storage": False}, version("v2", storage=True)]
    await server.ok("PATCH", DEFINITION, {"spec": {"versions": versions}}, media=MERGE)
    await server.settle()
    assert (await server.ok("GET", f"{WIDGETS}/w"))["spec"]["colour"] == "red"


async def test_only_metadata_shows_nothing_of_how_an_object_is_stored(server: Server) -> None:
    await define_two(server)
    await server.ok("POST", WIDGETS, widget())
    accept = {"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
    assert "storedAs" not in (await server.ok("GET", f"{WIDGETS}/w", headers=accept))["metadata"]


async def test_a_field_that_another_manager_s_version_does_not_have(server: Server) -> None:
    await define_two(server)
    await server.ok("PATCH", f"{OLD}/w?fieldManager=old", old(shared="s"), media=APPLY)
    answer = await server.call("PATCH", f"{WIDGETS}/w?fieldManager=new", widget(v1="x"), media=APPLY)
    assert (answer.code, answer.message) == (500, ".spec.v1: field not declared in schema")


async def test_deprecated_versions_warn(server: Server) -> None:
    await define_two(server, deprecated=True)
    answer = await server.call("GET", OLD)
    assert answer.warnings == ["x.example/v1beta1 Widget is deprecated; use x.example/v1 Widget"]


async def test_objects_follow_a_changed_schema(server: Server) -> None:
    await define(server)
    await server.ok("POST", WIDGETS, widget(colour="red"))
    changed = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"new": {"type": "string", "default": "n"}}}},
    }
    body = definition(schema={"openAPIV3Schema": changed})
    await server.ok("PATCH", DEFINITION, {"spec": {"versions": body["spec"]["versions"]}}, media=MERGE)
    await server.settle()
    assert (await server.ok("GET", f"{WIDGETS}/w"))["spec"] == {"new": "n"}


async def test_names_that_are_taken_wait_until_they_are_free(server: Server) -> None:
    await define(server)
    other = definition()
    other["metadata"]["name"] = "gizmos.x.example"
    other["spec"]["names"] = {"plural": "gizmos", "kind": "Widget"}
    await server.ok("POST", CRDS, other)
    await server.settle()
    path = WIDGETS.replace("widgets", "gizmos")
    assert (await server.call("GET", path)).code == 404
    await server.ok("DELETE", DEFINITION)
    await server.settle()
    assert (await server.call("GET", path)).code == 200


async def test_a_definition_goes_after_its_objects(server: Server) -> None:
    await define(server)
    await server.ok("POST", WIDGETS, {**widget(), "metadata": {"name": "w", "finalizers": ["x.example/f"]}})
    marked = await server.ok("DELETE", DEFINITION)
    assert marked["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    await server.settle()
    answer = await server.call("POST", WIDGETS, widget("late"))
    assert (answer.code, answer.message.endswith("while custom resource definition is terminating")) == (403, True)
    assert "deletionTimestamp" in (await server.ok("GET", f"{WIDGETS}/w"))["metadata"]


async def test_watches_of_a_removed_kind_end(server: Server) -> None:
    await define(server)
    watcher = await server.watch(WIDGETS)
    await server.ok("DELETE", DEFINITION)
    await server.settle()
    assert watcher.ended
    assert (await server.call("GET", WIDGETS)).raw == b"404 page not found\n"


async def test_the_status_belongs_to_the_server(server: Server) -> None:
    await define(server)
    managers = (await server.ok("GET", DEFINITION))["metadata"]["managedFields"]
    assert ("kube-apiserver", "status") in [(entry["manager"], entry.get("subresource")) for entry in managers]


async def test_the_last_event_of_an_object_shows_it_as_it_was_stored(server: Server) -> None:
    await define(server)
    await server.ok("POST", WIDGETS, {**widget(), "metadata": {"name": "w", "finalizers": ["x.example/f"]}})
    watcher = await server.watch(
        f"{WIDGETS}?resourceVersion={(await server.ok('GET', WIDGETS))['metadata']['resourceVersion']}"
    )
    await server.ok("DELETE", f"{WIDGETS}/w")
    await server.ok("PATCH", f"{WIDGETS}/w", {"metadata": {"finalizers": None}}, media=MERGE)
    await server.settle()
    last = watcher.events[-1]
    assert (last["type"], last["object"]["metadata"]["finalizers"]) == ("DELETED", ["x.example/f"])


async def test_objects_that_the_schema_cannot_type_are_not_tracked(server: Server) -> None:
    await define(server, subresources={"status": {}})
    made = await server.ok("POST", WIDGETS, {**widget(size=1), "status": {"ready": "text"}})
    assert "managedFields" not in made["metadata"]
