"""Conversion webhooks: what they are asked, what their answers become, and what happens when they fail."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import web

from tests.loopback import LoopbackServer

from .serving import APPLY, MERGE, Obj, Server
from .test_custom_resources import CRDS

GROUP = "x.example"
V1 = f"/apis/{GROUP}/v1/namespaces/default/widgets"
V2 = f"/apis/{GROUP}/v2/namespaces/default/widgets"
DEFINITION = f"{CRDS}/widgets.{GROUP}"
SHOWN = f"conversion webhook for {GROUP}/v2, Kind=Widget"


def renamed(obj: Obj, to: str) -> Obj:
    """v1 has spec.size, v2 has spec.width."""
    old, new = ("size", "width") if to.endswith("v2") else ("width", "size")
    spec = dict(obj.get("spec") or {})
    if old in spec:
        spec[new] = spec.pop(old)
    return {**obj, "apiVersion": to, "spec": spec}


class Webhook:
    """Converts widgets; `change` is what a test does to its answers."""

    def __init__(self) -> None:
        self.asked: list[Obj] = []
        self.change: Callable[[Obj], Any] = lambda review: review

    async def answer(self, request: web.Request) -> web.StreamResponse:
        review = await request.json()
        self.asked.append(review["request"])
        to = review["request"]["desiredAPIVersion"]
        objects = [renamed(obj, to) for obj in review["request"]["objects"]]
        review["response"] = {
            "uid": review["request"]["uid"], "result": {"status": "Success"}, "convertedObjects": objects
        }  # fmt: skip
        changed = self.change(review)
        return changed if isinstance(changed, web.StreamResponse) else web.json_response(changed)


@pytest.fixture
def webhook() -> Webhook:
    return Webhook()


@pytest.fixture
async def converting(server: Server, webhook: Webhook) -> AsyncIterator[Server]:
    """A server whose widgets are stored in v2 and converted by the webhook."""
    async with LoopbackServer(webhook.answer) as hook:
        body = definition(hook.client_config("/convert"))
        await server.ok("POST", CRDS, body)
        await server.settle()
        yield server
        await server.services.outbound.close()


def definition(client: Obj, storage: str = "v2", reviews: tuple[str, ...] = ("v1", "v1beta1")) -> Obj:
    def version(name: str, field: str) -> Obj:
        spec = {"type": "object", "properties": {field: {"type": "integer"}, "replicas": {"type": "integer"}}}
        schema = {"type": "object", "properties": {"spec": spec, "status": {"type": "object"}}}
        schema["properties"]["status"]["x-kubernetes-preserve-unknown-fields"] = True
        scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
        return {
            "name": name, "served": True, "storage": name == storage, "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}, "scale": scale}, "selectableFields": [{"jsonPath": f".spec.{field}"}],
            "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": f".spec.{field}"}],
        }  # fmt: skip

    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": list(reviews)}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{GROUP}"},
        "spec": {
            "group": GROUP, "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version("v1", "size"), version("v2", "width")], "conversion": conversion,
        },
    }  # fmt: skip


def widget(version: str = "v1", name: str = "w", **spec: Any) -> Obj:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Widget", "metadata": metadata, "spec": spec}


async def test_a_write_is_stored_in_the_storage_version(converting: Server) -> None:
    made = await converting.ok("POST", V1, widget(size=1))
    assert (made["apiVersion"], made["spec"]) == (f"{GROUP}/v1", {"size": 1})
    item = converting.store.get("widgets.x.example", "default", "w")
    assert item is not None
    assert json.loads(item.raw)["spec"] == {"width": 1}


async def test_each_version_shows_the_same_object(converting: Server) -> None:
    made = await converting.ok("POST", V1, widget(size=1))
    seen = await converting.ok("GET", f"{V2}/w")
    assert seen["spec"] == {"width": 1}
    assert {**seen["metadata"], "managedFields": None} == {**made["metadata"], "managedFields": None}


async def test_the_storage_version_needs_no_webhook(converting: Server, webhook: Webhook) -> None:
    await converting.ok("POST", V2, widget("v2", width=1))
    await converting.ok("GET", f"{V2}/w")
    await converting.ok("GET", V2)
    assert webhook.asked == []


async def test_a_list_is_one_call(converting: Server, webhook: Webhook) -> None:
    for name in ("a", "b", "c"):
        await converting.ok("POST", V2, widget("v2", name, width=1))
    listed = await converting.ok("GET", V1)
    assert [item["spec"] for item in listed["items"]] == [{"size": 1}] * 3
    assert [len(asked["objects"]) for asked in webhook.asked] == [3]


async def test_a_list_is_converted_once(converting: Server, webhook: Webhook) -> None:
    await converting.ok("POST", V2, widget("v2", width=1))
    await converting.ok("GET", V1)
    await converting.ok("GET", V1)
    assert len(webhook.asked) == 1


async def test_fields_are_selected_in_the_version_of_the_request(converting: Server) -> None:
    await converting.ok("POST", V2, widget("v2", "a", width=1))
    await converting.ok("POST", V2, widget("v2", "b", width=2))
    assert (await converting.call("GET", f"{V1}?fieldSelector=spec.size=2")).names == ["b"]


async def test_tables_show_the_converted_object(converting: Server) -> None:
    await converting.ok("POST", V2, widget("v2", width=7))
    accept = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    assert (await converting.ok("GET", V1, headers=accept))["rows"][0]["cells"] == ["w", 7]


async def test_a_patch_meets_the_object_in_its_version(converting: Server) -> None:
    await converting.ok("POST", V2, widget("v2", width=1))
    assert (await converting.ok("PATCH", f"{V1}/w", {"spec": {"size": 5}}, media=MERGE))["spec"] == {"size": 5}
    assert (await converting.ok("GET", f"{V2}/w"))["spec"] == {"width": 5}


async def test_an_update_in_another_version(converting: Server) -> None:
    made = await converting.ok("POST", V2, widget("v2", width=1))
    new = {**widget(size=3), "metadata": made["metadata"]}
    assert (await converting.ok("PUT", f"{V1}/w", new))["spec"] == {"size": 3}
    assert (await converting.ok("GET", f"{V2}/w"))["metadata"]["generation"] == 2


async def test_applies_of_two_versions_conflict_on_the_same_field(converting: Server) -> None:
    await converting.ok("PATCH", f"{V1}/w?fieldManager=old", widget(size=1), media=APPLY)
    answer = await converting.call("PATCH", f"{V2}/w?fieldManager=new", widget("v2", width=2), media=APPLY)
    assert answer.code == 409
    assert answer.body["details"]["causes"][0]["field"] == ".spec.size"


async def test_status_and_scale_in_another_version(converting: Server) -> None:
    await converting.ok("POST", V2, widget("v2", width=1, replicas=2))
    status = {"status": {"phase": "Fine"}}
    assert (await converting.ok("PATCH", f"{V1}/w/status", status, media=MERGE))["status"] == {"phase": "Fine"}
    assert (await converting.ok("GET", f"{V1}/w/scale"))["spec"] == {"replicas": 2}
    scaled = await converting.ok("PATCH", f"{V1}/w/scale", {"spec": {"replicas": 4}}, media=MERGE)
    assert scaled["spec"] == {"replicas": 4}


async def test_deletion_in_another_version(converting: Server) -> None:
    held = widget("v2", width=1)
    held["metadata"]["finalizers"] = ["x.example/hold"]
    await converting.ok("POST", V2, held)
    marked = await converting.ok("DELETE", f"{V1}/w")
    assert marked["spec"] == {"size": 1}
    await converting.ok("PATCH", f"{V1}/w", {"metadata": {"finalizers": None}}, media=MERGE)
    assert (await converting.call("GET", f"{V1}/w")).code == 404


async def test_a_collection_is_deleted_in_another_version(converting: Server) -> None:
    for name in ("a", "b"):
        await converting.ok("POST", V2, widget("v2", name, width=1))
    gone = await converting.ok("DELETE", V1)
    assert [item["spec"] for item in gone["items"]] == [{"size": 1}] * 2
    assert (await converting.call("GET", V2)).names == []


async def test_a_dry_run_is_converted_and_not_stored(converting: Server) -> None:
    assert (await converting.ok("POST", f"{V1}?dryRun=All", widget(size=1)))["spec"] == {"size": 1}
    assert (await converting.call("GET", f"{V1}/w")).code == 404


async def test_a_watch_shows_converted_objects_in_order(converting: Server) -> None:
    await converting.ok("POST", V2, widget("v2", width=1))
    watcher = await converting.watch(V1)
    for width in (2, 3):
        await converting.ok("PATCH", f"{V2}/w", {"spec": {"width": width}}, media=MERGE)
    await converting.ok("DELETE", f"{V2}/w")
    await until(converting, lambda: len(watcher.events) == 4)
    assert [(event["type"], event["object"]["spec"]["size"]) for event in watcher.events] == [
        ("ADDED", 1), ("MODIFIED", 2), ("MODIFIED", 3), ("DELETED", 3)
    ]  # fmt: skip


async def test_a_change_is_converted_once_for_all_watchers(converting: Server, webhook: Webhook) -> None:
    watchers = [await converting.watch(V1) for _ in range(3)]
    await converting.ok("POST", V2, widget("v2", width=1))
    await until(converting, lambda: all(watcher.events for watcher in watchers))
    assert len(webhook.asked) == 1


async def test_a_watch_ends_with_the_failure_of_its_webhook(converting: Server, webhook: Webhook) -> None:
    watcher = await converting.watch(V1)
    webhook.change = lambda review: web.Response(status=500, text="broken")
    await converting.ok("POST", V2, widget("v2", width=1))
    await until(converting, lambda: watcher.ended)
    assert watcher.events[-1]["type"] == "ERROR"


async def test_objects_of_an_earlier_storage_version(converting: Server) -> None:
    await converting.ok("POST", V1, widget(size=1))
    await converting.ok("POST", V2, widget("v2", "other", width=2))
    versions = (await converting.ok("GET", DEFINITION))["spec"]["versions"]
    for version in versions:
        version["storage"] = version["name"] == "v1"
    changed = await converting.ok("PATCH", DEFINITION, {"spec": {"versions": versions}}, media=MERGE)
    assert changed["status"]["storedVersions"] == ["v2", "v1"]
    await converting.settle()
    assert [item["spec"] for item in (await converting.ok("GET", V1))["items"]] == [{"size": 2}, {"size": 1}]


async def until(server: Server, done: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not done():
            await server.settle()
            await asyncio.sleep(0.001)


def respond(**changes: Any) -> Callable[[Obj], Obj]:
    return lambda review: {**review, "response": {**review["response"], **changes}}


def objects(change: Callable[[Obj], Obj]) -> Callable[[Obj], Obj]:
    """Changes each converted object."""

    def changed(review: Obj) -> Obj:
        return respond(convertedObjects=[change(obj) for obj in review["response"]["convertedObjects"]])(review)

    return changed


def metadata(**changes: Any) -> Callable[[Obj], Obj]:
    return objects(lambda obj: {**obj, "metadata": {**obj["metadata"], **changes}})


FAILURES: list[tuple[Callable[[Obj], Any], str]] = [
    (lambda review: {**review, "response": None}, f"{SHOWN} failed: no response provided"),
    (respond(result={"status": "Failure", "message": "no way"}), f"{SHOWN} failed: no way"),
    (respond(result={}), f"{SHOWN} failed: response.result.status was '', not 'Success'"),
    (respond(convertedObjects=[]), f"{SHOWN} returned 0 objects, expected 1"),
    (
        lambda review: {**review, "apiVersion": "apiextensions.k8s.io/v1beta1"},
        f"{SHOWN} failed: converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion",
    ),
    (
        objects(lambda obj: {**obj, "apiVersion": f"{GROUP}/v2"}),
        f"{SHOWN} returned invalid object at index 0: invalid groupVersion (expected {GROUP}/v1, received {GROUP}/v2)",
    ),
    (
        objects(lambda obj: {**obj, "kind": "Gadget"}),
        f"{SHOWN} returned invalid object at index 0: invalid kind (expected Widget, received Gadget)",
    ),
    (metadata(name="other"), f"{SHOWN} returned invalid object: must have the same name: w != other"),
    (
        metadata(labels={"a": 1}),
        f"{SHOWN} returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object",
    ),
    (
        lambda review: web.Response(status=500, text="broken"),
        f'{SHOWN} failed: an error on the server ("broken") has prevented the request from succeeding',
    ),
    (lambda review: web.Response(status=404), f"{SHOWN} failed: the server could not find the requested resource"),
]


@pytest.mark.parametrize(("change", "message"), FAILURES)
async def test_wrong_answers_are_refused(
    converting: Server, webhook: Webhook, change: Callable[[Obj], Any], message: str
) -> None:
    await converting.ok("POST", V2, widget("v2", width=1))
    webhook.change = change
    answer = await converting.call("GET", f"{V1}/w")
    assert answer.code == 500
    assert answer.message.startswith(message)


async def test_labels_may_change_and_other_metadata_may_not(converting: Server, webhook: Webhook) -> None:
    await converting.ok("POST", V2, widget("v2", width=1))
    webhook.change = metadata(labels={"a": "b"}, generation=7)
    seen = await converting.ok("GET", f"{V1}/w")
    assert (seen["metadata"]["labels"], seen["metadata"]["generation"]) == ({"a": "b"}, 1)


async def test_a_get_asks_each_time(converting: Server, webhook: Webhook) -> None:
    await converting.ok("POST", V2, widget("v2", width=1))
    await converting.ok("GET", f"{V1}/w")
    await converting.ok("GET", f"{V1}/w")
    assert len(webhook.asked) == 2


async def test_a_webhook_that_cannot_be_reached(server: Server) -> None:
    async with LoopbackServer(Webhook().answer) as hook:
        config = hook.client_config("/convert")
    await server.ok("POST", CRDS, definition(config))
    await server.settle()
    answer = await server.call("POST", V1, widget(size=1))
    await server.services.outbound.close()
    address = f"127.0.0.1:{hook.port}"
    assert (answer.code, answer.message) == (
        500,
        f"conversion webhook for {GROUP}/v1, Kind=Widget failed: "
        f'Post "https://{address}/convert?timeout=30s": dial tcp {address}: connect: connection refused',
    )


async def test_concurrent_patches_lose_nothing(converting: Server) -> None:
    await converting.ok("POST", V2, widget("v2", width=1))
    patches = [
        converting.ok("PATCH", f"{path}/w", {"metadata": {"labels": {f"l{number}": "x"}}}, media=MERGE)
        for number, path in enumerate([V1, V2] * 8)
    ]
    await asyncio.gather(*patches)
    labels = (await converting.ok("GET", f"{V2}/w"))["metadata"]["labels"]
    assert labels == {f"l{number}": "x" for number in range(16)}


async def test_an_update_of_an_older_object_conflicts(converting: Server) -> None:
    made = await converting.ok("POST", V1, widget(size=1))
    await converting.ok("PATCH", f"{V2}/w", {"spec": {"width": 2}}, media=MERGE)
    answer = await converting.call("PUT", f"{V1}/w", {**made, "spec": {"size": 3}})
    assert (answer.code, answer.reason) == (409, "Conflict")


class Admission:
    """A validating webhook that allows everything; `seen` are the objects that it was asked about."""

    def __init__(self) -> None:
        self.seen: list[Obj] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        review = await request.json()
        self.seen.append(review["request"]["object"])
        return web.json_response({**review, "response": {"uid": review["request"]["uid"], "allowed": True}})


def validating(client: Obj, version: str) -> Obj:
    rule = {"operations": ["CREATE"], "apiGroups": [GROUP], "apiVersions": [version], "resources": ["widgets"]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "hook"},
        "webhooks": [
            {
                "name": "hook.x.example", "clientConfig": client, "rules": [rule], "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }
        ],
    }  # fmt: skip


@pytest.mark.parametrize(("version", "spec"), [("v1", {"size": 1}), ("v2", {"width": 1})])
async def test_admission_sees_the_version_that_it_asks_for_once(converting: Server, version: str, spec: Obj) -> None:
    admission = Admission()
    async with LoopbackServer(admission.answer) as hook:
        path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        await converting.ok("POST", path, validating(hook.client_config(), version))
        await converting.ok("POST", V1, widget(size=1))
    assert [obj["spec"] for obj in admission.seen] == [spec]
