from __future__ import annotations

import asyncio

import pytest

from jobrelay.kube import (
    AlreadyExists,
    Client,
    Conflict,
    FakeClock,
    Headers,
    Patch,
    ProtocolError,
    Response,
    TooManyRequests,
    TransportTimeout,
    apply_patch,
    json_patch,
    merge_patch,
    strategic_patch,
)
from jobrelay.kube.resource import CONFIGMAPS, JOBS, NAMESPACES

from .scripted import ScriptedTransport, Stream, answer, bookmark, configmap, event, refusal

GONE = {"kind": "Status", "apiVersion": "v1", "status": "Success"}


async def test_get_reads_one_object() -> None:
    script = ScriptedTransport(answer(configmap("a")))
    found = await Client(script).get(CONFIGMAPS, "a", "default")
    assert found.name == "a"
    assert str(script.last) == "GET /api/v1/namespaces/default/configmaps/a"
    assert script.last.headers["Accept"] == "application/json"


async def test_list_follows_continue_tokens() -> None:
    first = {"metadata": {"resourceVersion": "9", "continue": "c/1"}, "items": [configmap("a")]}
    second = {"metadata": {"resourceVersion": "9"}, "items": [configmap("b")]}
    script = ScriptedTransport(answer(first), answer(second))
    found = await Client(script, page_size=1).list(CONFIGMAPS, label_selector="a in (b,c)", resource_version="5")
    assert [item.name for item in found.items] == ["a", "b"]
    assert script.query(0) == {"labelSelector": "a in (b,c)", "resourceVersion": "5", "limit": "1"}
    assert script.query(1) == {"labelSelector": "a in (b,c)", "continue": "c/1", "limit": "1"}


async def test_create_finds_the_namespace_in_the_body() -> None:
    script = ScriptedTransport(answer(configmap("a"), 201))
    await Client(script).create(CONFIGMAPS, configmap("a"), field_manager="me", dry_run=True)
    assert script.last.path == "/api/v1/namespaces/default/configmaps?fieldManager=me&dryRun=All"
    assert script.last.headers["Content-Type"] == "application/json"


async def test_create_of_a_cluster_scoped_object_has_no_namespace() -> None:
    script = ScriptedTransport(answer({"metadata": {"name": "ns"}}, 201))
    await Client(script).create(NAMESPACES, {"metadata": {"name": "ns"}})
    assert script.last.path == "/api/v1/namespaces"


async def test_update_is_addressed_by_its_body() -> None:
    script = ScriptedTransport(answer(configmap("a", "2")))
    await Client(script).update(CONFIGMAPS, configmap("a"))
    assert str(script.last) == "PUT /api/v1/namespaces/default/configmaps/a"


async def test_replace_status_goes_to_the_subresource() -> None:
    script = ScriptedTransport(answer(configmap("a", "2")))
    await Client(script).replace_status(JOBS, configmap("a"))
    assert script.last.path == "/apis/batch/v1/namespaces/default/jobs/a/status"


@pytest.mark.parametrize(
    ("patch", "kind"),
    [
        (merge_patch({}), "application/merge-patch+json"),
        (json_patch([]), "application/json-patch+json"),
        (strategic_patch({}), "application/strategic-merge-patch+json"),
        (apply_patch({}, field_manager="me"), "application/apply-patch+yaml"),
    ],
)
async def test_each_patch_has_its_media_type(patch: Patch, kind: str) -> None:
    script = ScriptedTransport(answer(configmap("a")))
    await Client(script).patch(CONFIGMAPS, "a", patch, "default")
    assert script.last.method == "PATCH"
    assert script.last.headers["Content-Type"] == kind


async def test_apply_names_its_manager() -> None:
    script = ScriptedTransport(answer(configmap("a")))
    await Client(script).apply(CONFIGMAPS, configmap("a"), field_manager="me", force=True)
    assert script.query() == {"fieldManager": "me", "force": "true"}


async def test_delete_sends_its_preconditions() -> None:
    script = ScriptedTransport(answer(GONE))
    gone = await Client(script).delete(JOBS, "a", "ns", propagation="Background", uid="u", grace_period=0)
    assert gone is None
    assert script.body() == {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "propagationPolicy": "Background",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "u"},
    }


async def test_delete_shows_an_object_that_still_has_finalizers() -> None:
    held = configmap("a")
    held["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    left = await Client(ScriptedTransport(answer(held))).delete(CONFIGMAPS, "a", "default")
    assert left is not None
    assert left.deleting


async def test_delete_collection_takes_selectors() -> None:
    script = ScriptedTransport(answer(GONE))
    await Client(script).delete_collection(JOBS, "ns", label_selector="a=b")
    assert str(script.last) == "DELETE /apis/batch/v1/namespaces/ns/jobs?labelSelector=a%3Db"


async def test_refusals_are_raised_as_what_they_are() -> None:
    script = ScriptedTransport(refusal(409, "AlreadyExists"), refusal(409, "Conflict"))
    client = Client(script)
    with pytest.raises(AlreadyExists):
        await client.create(CONFIGMAPS, configmap())
    with pytest.raises(Conflict):
        await client.update(CONFIGMAPS, configmap())


async def test_429_is_tried_again_when_the_server_says(clock: FakeClock) -> None:
    script = ScriptedTransport(refusal(429, "TooManyRequests", Retry_After="2"), answer(configmap("a")))
    task = asyncio.create_task(Client(script, clock=clock).get(CONFIGMAPS, "a", "default"))
    await clock.advance(1.9)
    assert len(script.requests) == 1
    await clock.advance(0.2)
    assert (await task).name == "a"


async def test_patience_is_bounded_in_tries(clock: FakeClock) -> None:
    script = ScriptedTransport(*[refusal(429, "TooManyRequests", Retry_After="1") for _ in range(9)])
    task = asyncio.create_task(Client(script, clock=clock, retries=2).get(CONFIGMAPS, "a", "default"))
    await clock.advance(60)
    with pytest.raises(TooManyRequests):
        await task
    assert len(script.requests) == 3


async def test_patience_is_bounded_in_time(clock: FakeClock) -> None:
    script = ScriptedTransport(refusal(429, "TooManyRequests", Retry_After="3600"))
    with pytest.raises(TooManyRequests) as caught:
        await Client(script, clock=clock).get(CONFIGMAPS, "a", "default")
    assert caught.value.retry_after == 3600


async def test_a_refusal_without_retry_after_is_final(clock: FakeClock) -> None:
    script = ScriptedTransport(refusal(429, "TooManyRequests"))
    with pytest.raises(TooManyRequests):
        await Client(script, clock=clock).get(CONFIGMAPS, "a", "default")


async def test_no_answer_in_time_is_a_timeout(clock: FakeClock) -> None:
    task = asyncio.create_task(Client(ScriptedTransport(), clock=clock).get(CONFIGMAPS, "a", "default"))
    await clock.advance(29)
    assert not task.done()
    await clock.advance(2)
    with pytest.raises(TransportTimeout, match=r"GET /api/v1.* within 30 s"):
        await task


async def test_nonsense_is_a_protocol_error() -> None:
    client = Client(ScriptedTransport(Response(200, {}, b"<html>"), Response(200, {}, b"<html>")))
    with pytest.raises(ProtocolError):
        await client.get(CONFIGMAPS, "a", "default")
    with pytest.raises(ProtocolError):
        await client.delete(CONFIGMAPS, "a", "default")


async def test_watch_yields_events_and_closes_its_stream() -> None:
    stream = Stream(event("ADDED", configmap("a", "5")), bookmark("6"))
    script = ScriptedTransport(stream.response)
    async with Client(script).watch(CONFIGMAPS, resource_version="4", timeout_seconds=60) as events:
        seen = [await anext(events), await anext(events)]
    assert [(one.type, one.object.resource_version) for one in seen] == [("ADDED", "5"), ("BOOKMARK", "6")]
    assert stream.closed
    assert script.query() == {
        "watch": "true",
        "resourceVersion": "4",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "60",
    }


async def test_logs_come_as_chunks() -> None:
    script = ScriptedTransport(Stream(b"one\n", b"two\n").end().response)
    async with Client(script).logs("p", "ns", follow=True, tail_lines=5) as chunks:
        assert [chunk async for chunk in chunks] == [b"one\n", b"two\n"]
    assert script.last.path == "/api/v1/namespaces/ns/pods/p/log?follow=true&tailLines=5"


async def test_warnings_are_passed_on() -> None:
    heard: list[str] = []
    headers = Headers([("Warning", r'299 - "unknown field \"spec.a\""'), ("Warning", '299 - "deprecated, really"')])
    granted = Response(200, headers, b'{"metadata":{"name":"a"}}')
    await Client(ScriptedTransport(granted), on_warning=heard.append).get(CONFIGMAPS, "a", "default")
    assert heard == ['unknown field "spec.a"', "deprecated, really"]
