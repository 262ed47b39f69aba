"""Watches: what they begin with, what they show of each change, and how they end."""

from __future__ import annotations

import asyncio

import pytest

from jobrelay.cluster.apiserver import watch

from .serving import CONFIGMAPS, Server, config

TABLE = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
METADATA = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
MINE = f"{CONFIGMAPS}?fieldSelector=metadata.name!=kube-root-ca.crt"


async def test_changes_after_a_version_come_in_order(server: Server) -> None:
    version = (await server.call("GET", CONFIGMAPS)).version
    await server.ok("POST", CONFIGMAPS, config())
    watcher = await server.watch(f"{CONFIGMAPS}?resourceVersion={version}")
    await server.ok("PUT", f"{CONFIGMAPS}/a", config(k="v"))
    await server.ok("DELETE", f"{CONFIGMAPS}/a")
    await server.settle()
    assert watcher.seen == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


@pytest.mark.parametrize("query", ["", "&resourceVersion=0"])
async def test_a_watch_of_no_version_begins_with_what_there_is(server: Server, query: str) -> None:
    for name in "ba":
        await server.ok("POST", CONFIGMAPS, config(name))
    watcher = await server.watch(MINE + query)
    assert watcher.seen == [("ADDED", "a"), ("ADDED", "b")]


async def test_the_object_of_a_deletion_has_the_version_of_the_deletion(server: Server) -> None:
    created = await server.ok("POST", CONFIGMAPS, config())
    watcher = await server.watch(f"{CONFIGMAPS}?resourceVersion={created['metadata']['resourceVersion']}")
    await server.ok("DELETE", f"{CONFIGMAPS}/a")
    await server.settle()
    gone = watcher.events[0]["object"]["metadata"]
    assert int(gone["resourceVersion"]) > int(created["metadata"]["resourceVersion"])
    assert gone["uid"] == created["metadata"]["uid"]


async def test_objects_come_and_go_as_they_match(server: Server) -> None:
    watcher = await server.watch(f"{CONFIGMAPS}?labelSelector=x=y")
    await server.ok("POST", CONFIGMAPS, config("a"))
    await server.ok("PUT", f"{CONFIGMAPS}/a", config("a", {"x": "y"}))
    await server.ok("PUT", f"{CONFIGMAPS}/a", config("a", {"x": "y"}, k="v"))
    changed = await server.ok("PUT", f"{CONFIGMAPS}/a", config("a", {"x": "z"}))
    await server.ok("DELETE", f"{CONFIGMAPS}/a")
    await server.settle()
    assert watcher.seen == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    last = watcher.events[-1]["object"]["metadata"]
    assert (last["labels"], last["resourceVersion"]) == ({"x": "y"}, changed["metadata"]["resourceVersion"])


async def test_a_namespace_hears_only_of_its_own(server: Server) -> None:
    await server.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "other"}})
    version = (await server.call("GET", CONFIGMAPS)).version
    here = await server.watch(f"{CONFIGMAPS}?resourceVersion={version}")
    everywhere = await server.watch(f"/api/v1/configmaps?resourceVersion={version}")
    await server.ok("POST", "/api/v1/namespaces/other/configmaps", config("b"))
    await server.settle()
    assert (here.seen, everywhere.seen) == ([], [("ADDED", "b")])


async def test_one_object_is_watched_by_its_old_path(server: Server) -> None:
    for name in "ab":
        await server.ok("POST", CONFIGMAPS, config(name))
    watcher = await server.watch("/api/v1/watch/namespaces/default/configmaps/a")
    assert watcher.seen == [("ADDED", "a")]


async def test_the_initial_events_end_with_a_bookmark(server: Server) -> None:
    await server.ok("POST", CONFIGMAPS, config())
    query = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    watcher = await server.watch(MINE + query)
    assert watcher.seen == [("ADDED", "a"), ("BOOKMARK", "")]
    bookmark = watcher.events[-1]["object"]
    assert bookmark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert bookmark["metadata"]["resourceVersion"] == str(server.store.committed)
    assert (bookmark["kind"], bookmark["apiVersion"]) == ("ConfigMap", "v1")


@pytest.mark.looptime
async def test_bookmarks_come_once_a_minute_to_those_who_want_them(server: Server) -> None:
    version = (await server.call("GET", CONFIGMAPS)).version
    keen = await server.watch(f"{CONFIGMAPS}?resourceVersion={version}&allowWatchBookmarks=true")
    other = await server.watch(f"{CONFIGMAPS}?resourceVersion={version}")
    await server.ok("POST", "/api/v1/namespaces/default/secrets", {"metadata": {"name": "s"}})
    await asyncio.sleep(61)
    assert [event["type"] for event in keen.events] == ["BOOKMARK"]
    assert keen.events[0]["object"]["metadata"]["resourceVersion"] == str(server.store.committed)
    assert other.events == []


@pytest.mark.looptime
async def test_a_watch_ends_when_its_time_is_over(server: Server) -> None:
    watcher = await server.watch(f"{MINE}&timeoutSeconds=7")
    await asyncio.sleep(6)
    assert not watcher.ended
    await server.ok("POST", CONFIGMAPS, config())
    await asyncio.sleep(2)
    assert (watcher.ended, watcher.seen, len(server.api.watches.open)) == (True, [("ADDED", "a")], 0)


async def test_a_watch_from_a_forgotten_version_hears_that_it_is_expired() -> None:
    server = Server(history=2)
    version = (await server.ok("POST", CONFIGMAPS, config()))["metadata"]["resourceVersion"]
    for value in "1234":
        await server.ok("PUT", f"{CONFIGMAPS}/a", config(k=value))
    watcher = await server.watch(f"{CONFIGMAPS}?resourceVersion={version}")
    assert [event["type"] for event in watcher.events] == ["ERROR"]
    status = watcher.events[0]["object"]
    assert (status["code"], status["reason"], watcher.ended) == (410, "Expired", True)
    assert status["message"].startswith(f"too old resource version: {version} (")


@pytest.mark.looptime
async def test_the_initial_state_at_a_version_of_the_future_is_given_up(server: Server) -> None:
    query = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    watcher = await server.watch(f"{MINE}&resourceVersion=999999{query}")
    error = watcher.events[0]["object"]
    assert (watcher.seen[0][0], error["code"], error["reason"]) == ("ERROR", 504, "Timeout")
    assert error["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert watcher.ended


@pytest.mark.looptime
async def test_a_watch_from_a_version_of_the_future_is_silent_until_then(server: Server) -> None:
    version = int((await server.call("GET", CONFIGMAPS)).version)
    watcher = await server.watch(f"{CONFIGMAPS}?resourceVersion={version + 1}&allowWatchBookmarks=true")
    await asyncio.sleep(watch.BOOKMARK_SECONDS + 1)
    await server.ok("POST", CONFIGMAPS, config("a"))
    await server.settle()
    assert watcher.seen == []
    await server.ok("POST", CONFIGMAPS, config("b"))
    await server.settle()
    assert watcher.seen == [("ADDED", "b")]


async def test_a_slow_watcher_is_cut_off(server: Server) -> None:
    watcher = await server.watch(MINE)
    watcher.waiting = watch.MAX_BACKLOG + 1
    await server.ok("POST", CONFIGMAPS, config())
    await server.settle()
    assert [event["object"].get("code") for event in watcher.events] == [410]
    assert (watcher.ended, len(server.api.watches.open)) == (True, 0)


async def test_watches_are_not_unlimited(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "MAX_WATCHES", 1)
    await server.watch(MINE)
    answer = await server.call("GET", f"{MINE}&watch=true")
    assert (answer.code, answer.reason, answer.headers["Retry-After"]) == (429, "TooManyRequests", "1")


async def test_a_client_that_goes_leaves_nothing_behind(server: Server) -> None:
    watcher = await server.watch(MINE)
    watcher.stream.stop()
    await server.ok("POST", CONFIGMAPS, config())
    await server.settle()
    assert (watcher.events, len(server.api.watches.open)) == ([], 0)


async def test_a_watch_of_rows_sends_the_columns_once(server: Server) -> None:
    for name in "ab":
        await server.ok("POST", CONFIGMAPS, config(name))
    watcher = await server.watch(MINE, headers=TABLE)
    first, second = (event["object"] for event in watcher.events)
    assert [column["name"] for column in first["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert (second["columnDefinitions"], second["rows"][0]["cells"][0]) == (None, "b")


async def test_a_watch_of_metadata_has_no_data(server: Server) -> None:
    await server.ok("POST", CONFIGMAPS, config(k="v"))
    watcher = await server.watch(MINE, headers=METADATA)
    shown = watcher.events[0]["object"]
    assert (shown["kind"], shown["apiVersion"], "data" in shown) == ("PartialObjectMetadata", "meta.k8s.io/v1", False)


@pytest.mark.parametrize(
    ("query", "code", "text"),
    [
        ("resourceVersion=abc", 500, 'resourceVersion: Invalid value: "abc"'),
        ("sendInitialEvents=true", 422, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
        (
            "resourceVersionMatch=Exact",
            422,
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ),
        ("fieldSelector=a=b", 400, "is not a known field selector"),
    ],
)
async def test_wrong_options_of_a_watch(server: Server, query: str, code: int, text: str) -> None:
    answer = await server.call("GET", f"{CONFIGMAPS}?watch=1&{query}")
    assert (answer.code, text in answer.message) == (code, True), answer.message
