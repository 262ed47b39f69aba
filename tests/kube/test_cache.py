from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from random import Random

import msgspec
import pytest

from jobrelay.kube import Cache, Client, Expired, FakeClock, Forbidden, Key, Object, Response, Transport, TransportError
from jobrelay.kube.objects import decode_object
from jobrelay.kube.resource import CONFIGMAPS

from .miniserver import MiniServer
from .scripted import ScriptedTransport, Stream, answer, bookmark, configmap, event, refusal
from .test_object_index import Recorder


def path(name: str) -> str:
    return f"/api/v1/namespaces/default/configmaps/{name}"


@asynccontextmanager
async def running(transport: Transport, clock: FakeClock) -> AsyncIterator[tuple[Cache, Recorder]]:
    cache = Cache(Client(transport, clock=clock), CONFIGMAPS, "default", clock=clock, random=Random(1))
    recorder = Recorder(cache)
    task = asyncio.create_task(cache.run())
    await clock.settle()
    try:
        yield cache, recorder
    finally:
        task.cancel()
        await asyncio.wait({task})


def initial(*objects: bytes, version: str = "10") -> Stream:
    return Stream(*objects, bookmark(version, initial_end=True))


def newest(version: str) -> Response:
    """The answer to the question for a server's newest version."""
    return answer({"metadata": {"resourceVersion": version}, "items": []})


async def test_the_first_state_comes_over_the_watch(clock: FakeClock) -> None:
    script = ScriptedTransport(initial(event("ADDED", configmap("a", "5"))).response)
    async with running(script, clock) as (cache, recorder):
        assert cache.synced.is_set()
        assert cache.connected
        assert recorder.seen == [">a@5"]
        assert cache.resource_version == "10"
    query = script.query()
    assert query["sendInitialEvents"] == "true"
    assert query["resourceVersionMatch"] == "NotOlderThan"
    assert 300 <= int(query["timeoutSeconds"]) <= 600


async def test_nothing_is_told_before_the_first_state_is_complete(clock: FakeClock) -> None:
    stream = Stream(event("ADDED", configmap("a", "5")))
    async with running(ScriptedTransport(stream.response), clock) as (cache, recorder):
        assert not cache.synced.is_set()
        assert recorder.seen == []
        stream.send(bookmark("6", initial_end=True))
        await clock.settle()
        assert recorder.seen == [">a@5"]


@pytest.mark.parametrize(("code", "reason"), [(422, "Invalid"), (400, "BadRequest")])
async def test_a_server_without_initial_events_is_listed(clock: FakeClock, code: int, reason: str) -> None:
    listed = {"metadata": {"resourceVersion": "10"}, "items": [configmap("a", "5")]}
    script = ScriptedTransport(refusal(code, reason), answer(listed), Stream().response)
    async with running(script, clock) as (cache, recorder):
        assert cache.synced.is_set()
        assert recorder.seen == [">a@5"]
    assert script.query()["resourceVersion"] == "10"
    assert "sendInitialEvents" not in script.query()


async def test_changes_are_followed(clock: FakeClock) -> None:
    server = MiniServer()
    server.put(path("a"), configmap("a"))
    async with running(server, clock) as (cache, recorder):
        server.put(path("a"), configmap("a"))
        server.put(path("b"), configmap("b"))
        server.remove(path("a"))
        await clock.settle()
        assert recorder.seen == [">a@101", "a@101>a@102", ">b@103", "a@104>"]
        assert cache.resource_version == "104"


async def test_a_watch_that_ends_is_continued_at_once_where_it_was(clock: FakeClock) -> None:
    server = MiniServer()
    async with running(server, clock) as (cache, recorder):
        server.put(path("a"), configmap("a"))
        await clock.advance(300)
        server.end_watches()
        server.put(path("b"), configmap("b"))
        await clock.settle(100)
        assert recorder.seen == [">a@101", ">b@102"]
        assert (cache.watches, cache.lists, cache.last_error) == (2, 1, None)


async def test_bookmarks_move_the_place_to_continue(clock: FakeClock) -> None:
    stream = initial(version="10")
    script = ScriptedTransport(stream.response)
    async with running(script, clock) as (_, _):
        stream.send(bookmark("77"))
        stream.end()
        await clock.settle()
        assert script.query()["resourceVersion"] == "77"


async def test_repeated_and_stale_events_are_dropped(clock: FakeClock) -> None:
    stream = initial(version="10")
    async with running(ScriptedTransport(stream.response), clock) as (cache, recorder):
        stream.send(event("ADDED", configmap("a", "11")) * 2)
        stream.send(event("DELETED", configmap("a", "12")))
        stream.send(event("ADDED", configmap("a", "11")))
        await clock.settle()
        assert recorder.seen == [">a@11", "a@12>"]
        assert len(cache) == 0


async def test_an_expired_version_leads_to_a_relist_that_tells_differences(clock: FakeClock) -> None:
    server = MiniServer()
    for name in ("kept", "gone", "changed"):
        server.put(path(name), configmap(name))
    async with running(server, clock) as (cache, recorder):
        recorder.seen.clear()
        await clock.advance(400)
        server.end_watches()
        server.remove(path("gone"))
        server.put(path("changed"), configmap("changed"))
        server.compact()
        await clock.advance(5)
        assert recorder.seen == ["gone@102>", "changed@103>changed@105"]
        assert cache.lists == 2
        assert cache.connected


async def test_an_error_event_expires_like_an_answer(clock: FakeClock) -> None:
    stream = initial()
    script = ScriptedTransport(stream.response, initial(version="50").response)
    async with running(script, clock) as (cache, _):
        stream.send(event("ERROR", {"kind": "Status", "reason": "Expired", "code": 410}))
        await clock.settle()
        assert isinstance(cache.last_error, Expired)
        await clock.advance(5)
        assert cache.resource_version == "50"


async def test_an_object_recreated_while_away_is_deleted_and_added(clock: FakeClock) -> None:
    server = MiniServer()
    server.put(path("a"), configmap("a"))
    async with running(server, clock) as (_, recorder):
        await clock.advance(400)
        server.end_watches()
        server.remove(path("a"))
        server.put(path("a"), configmap("a"))
        server.compact()
        await clock.advance(5)
        assert recorder.seen == [">a@101", "a@101>", ">a@103"]


async def test_failures_are_retried_later_and_later(clock: FakeClock) -> None:
    script = ScriptedTransport(*[TransportError("down") for _ in range(4)])
    moments: list[float] = []
    async with running(script, clock) as (cache, _):
        for _ in range(400):
            if len(script.requests) > len(moments):
                moments.append(clock.monotonic())
            await clock.advance(0.05)
        assert not cache.connected
        assert cache.disconnected_since == 0
    pauses = [after - before for before, after in pairwise(moments)]
    assert all(0.4 * 2**n <= pause <= 0.8 * 2**n + 0.1 for n, pause in enumerate(pauses))
    assert len(pauses) == 4


async def test_a_watch_that_ends_at_once_and_empty_is_a_failure(clock: FakeClock) -> None:
    script = ScriptedTransport(initial().end().response, Stream().end().response, Stream().response)
    async with running(script, clock) as (cache, _):
        assert len(script.requests) == 2
        assert not cache.connected
        await clock.advance(1)
        assert len(script.requests) == 3


async def test_a_watch_on_a_dead_connection_is_given_up(clock: FakeClock) -> None:
    stream = initial()
    script = ScriptedTransport(stream.response, newest("10"), Stream().response)
    async with running(script, clock) as (_, _):
        await clock.advance(int(script.query()["timeoutSeconds"]) + 35)
        assert stream.closed
        assert len(script.requests) == 3


async def test_stopping_closes_the_watch(clock: FakeClock) -> None:
    stream = initial()
    async with running(ScriptedTransport(stream.response), clock) as (cache, _):
        assert cache.get(Key("default", "a")) is None
    assert stream.closed


def reply(name: str, version: str, **more: str) -> Object:
    return decode_object(msgspec.json.encode(configmap(name, version, **more)))


async def test_an_own_write_is_read_at_once_and_not_taken_back(clock: FakeClock) -> None:
    stream = initial(event("ADDED", configmap("a", "5")))
    async with running(ScriptedTransport(stream.response), clock) as (cache, recorder):
        cache.observe(reply("a", "15"))
        stream.send(event("MODIFIED", configmap("a", "12")))
        stream.send(event("MODIFIED", configmap("a", "15")))
        stream.send(event("MODIFIED", configmap("a", "17")))
        await clock.settle()
        assert recorder.seen == [">a@5", "a@5>a@15", "a@15>a@17"]
        assert cache.resource_version == "17"


async def test_the_end_of_a_predecessor_does_not_remove_an_own_creation(clock: FakeClock) -> None:
    stream = initial()
    async with running(ScriptedTransport(stream.response), clock) as (cache, recorder):
        cache.observe(reply("a", "15", uid="second"))
        stream.send(event("ADDED", configmap("a", "12", uid="first")))
        stream.send(event("DELETED", configmap("a", "13", uid="first")))
        await clock.settle()
        assert recorder.seen == [">a@15"]
        stream.send(event("DELETED", configmap("a", "16", uid="second")))
        await clock.settle()
        assert len(cache) == 0


async def test_a_reply_that_the_watch_has_overtaken_is_ignored(clock: FakeClock) -> None:
    stream = initial()
    async with running(ScriptedTransport(stream.response), clock) as (cache, recorder):
        stream.send(event("ADDED", configmap("a", "12")))
        stream.send(event("DELETED", configmap("a", "13")))
        await clock.settle()
        cache.observe(reply("a", "12"))
        assert len(cache) == 0
        assert recorder.seen == [">a@12", "a@13>"]


async def test_an_own_write_that_leaves_the_selection_is_gone_when_the_watch_says_so(clock: FakeClock) -> None:
    stream = initial(event("ADDED", configmap("a", "5")))
    async with running(ScriptedTransport(stream.response), clock) as (cache, _):
        cache.observe(reply("a", "15"))
        stream.send(event("DELETED", configmap("a", "15")))
        await clock.settle()
        assert len(cache) == 0


async def test_a_fresh_state_does_not_take_back_an_own_write(clock: FakeClock) -> None:
    stream = initial(event("ADDED", configmap("a", "5")), event("ADDED", configmap("gone", "6")))
    fresh = initial(event("ADDED", configmap("a", "12")), version="20")
    async with running(ScriptedTransport(stream.response, fresh.response), clock) as (cache, recorder):
        cache.observe(reply("a", "21"))
        cache.observe(reply("new", "22"))
        recorder.seen.clear()
        stream.send(event("ERROR", {"kind": "Status", "reason": "Expired", "code": 410}))
        await clock.advance(5)
        assert cache.lists == 2
        assert recorder.seen == ["gone@6>"]
        assert sorted(obj.resource_version for obj in cache) == ["21", "22"]


async def test_a_server_that_begins_again_is_believed_after_starting_over(clock: FakeClock) -> None:
    stream = initial(event("ADDED", configmap("a", "9")))
    again = initial(event("ADDED", configmap("a", "2", uid="other")), version="3")
    async with running(ScriptedTransport(stream.response, again.response), clock) as (cache, recorder):
        cache.start_over()
        stream.fail(TransportError("down"))
        await clock.advance(5)
        assert recorder.seen == [">a@9", "a@9>", ">a@2"]
        assert cache.resource_version == "3"


async def test_a_server_restored_from_a_backup_is_noticed_and_read_anew(clock: FakeClock) -> None:
    stream = initial(event("ADDED", configmap("a", "9")), event("ADDED", configmap("gone", "10")))
    again = initial(event("ADDED", configmap("a", "5")), version="6")
    script = ScriptedTransport(stream.response, newest("6"), again.response)
    async with running(script, clock) as (_, recorder):
        recorder.seen.clear()
        stream.fail(TransportError("restored"))
        await clock.advance(5)
        assert recorder.seen == ["a@9>", "gone@10>", ">a@5"]
        assert script.query(1) == {"limit": "1"}
        assert "resourceVersion" not in script.query(2)
        again.send(event("MODIFIED", configmap("a", "7")))
        await clock.settle()
        assert recorder.seen[-1] == "a@5>a@7"


async def test_a_server_that_is_still_the_same_is_watched_from_where_it_was(clock: FakeClock) -> None:
    stream = initial(event("ADDED", configmap("a", "9")))
    script = ScriptedTransport(stream.response, newest("10"), Stream().response)
    async with running(script, clock) as (cache, recorder):
        stream.fail(TransportError("down"))
        await clock.advance(5)
        assert (cache.lists, recorder.seen) == (1, [">a@9"])
        assert script.query()["resourceVersion"] == "10"


async def test_a_silent_watch_is_asked_about_too(clock: FakeClock) -> None:
    script = ScriptedTransport(initial(version="10").response, newest("3"), initial(version="3").response)
    cache = Cache(Client(script, clock=clock), CONFIGMAPS, clock=clock, random=Random(1), idle_timeout=100)
    task = asyncio.create_task(cache.run())
    await clock.advance(101)
    assert (cache.lists, cache.resource_version) == (2, "3")
    task.cancel()
    await asyncio.wait({task})


async def test_the_newest_version_is_asked_for_until_it_is_known(clock: FakeClock) -> None:
    stream = initial()
    script = ScriptedTransport(stream.response, refusal(503), newest("4"), initial(version="4").response)
    async with running(script, clock) as (cache, _):
        stream.fail(TransportError("restored"))
        await clock.advance(10)
        assert (len(script.requests), cache.resource_version) == (4, "4")


async def test_only_what_is_worth_keeping_is_held(clock: FakeClock) -> None:
    def keep(obj: Object) -> Object:
        return Object(obj.metadata, b"{}")

    stream = initial(event("ADDED", configmap("a", "5", text="long")))
    client = Client(ScriptedTransport(stream.response), clock=clock)
    cache = Cache(client, CONFIGMAPS, "default", clock=clock, random=Random(1), transform=keep)
    task = asyncio.create_task(cache.run())
    stream.send(event("ADDED", configmap("b", "11", text="long")))
    await clock.settle()
    cache.observe(reply("c", "12", text="long"))
    assert [(obj.name, obj.raw) for obj in cache] == [("a", b"{}"), ("b", b"{}"), ("c", b"{}")]
    task.cancel()
    await asyncio.wait({task})


async def test_a_final_failure_ends_the_run_and_is_told(clock: FakeClock) -> None:
    script = ScriptedTransport(refusal(403, "Forbidden"), initial().response)
    told: list[bool] = []
    client = Client(script, clock=clock)
    cache = Cache(
        client,
        CONFIGMAPS,
        clock=clock,
        terminal=(Forbidden,),
        on_connection_change=lambda: told.append(cache.connected),
    )
    with pytest.raises(Forbidden):
        await cache.run()
    task = asyncio.create_task(cache.run())
    await clock.settle()
    assert cache.connected
    assert (told[0], told[-1]) == (False, True)
    task.cancel()
    await asyncio.wait({task})


async def test_a_server_that_asks_for_patience_gets_it(clock: FakeClock) -> None:
    script = ScriptedTransport(refusal(429, "TooManyRequests", Retry_After="7"), initial().response)
    cache = Cache(Client(script, clock=clock, retries=0), CONFIGMAPS, clock=clock)
    task = asyncio.create_task(cache.run())
    await clock.advance(6.9)
    assert len(script.requests) == 1
    await clock.advance(0.2)
    assert cache.connected
    task.cancel()
    await asyncio.wait({task})


async def test_watches_that_end_as_soon_as_they_begin_are_not_hurried_after(clock: FakeClock) -> None:
    steps = [Stream(event("ADDED", configmap("a", str(version)))).end().response for version in range(11, 60)]
    script = ScriptedTransport(initial().end().response, *steps)
    async with running(script, clock) as (cache, _):
        await clock.settle(500)
        assert len(script.requests) == 4
        assert not cache.connected


async def test_an_event_without_a_version_is_nonsense(clock: FakeClock) -> None:
    stream = initial()
    async with running(ScriptedTransport(stream.response), clock) as (cache, _):
        stream.send(event("ADDED", configmap("a", "")))
        await clock.settle()
        assert "without a resourceVersion" in str(cache.last_error)
        assert cache.resource_version == "10"


async def test_pauses_grow_while_watches_open_but_bring_nothing(clock: FakeClock) -> None:
    steps = [Stream(b"nonsense\n").response for _ in range(100)]
    script = ScriptedTransport(*steps)
    async with running(script, clock) as (_, _):
        await clock.advance(60)
        assert len(script.requests) < 12


async def test_a_watch_that_is_quiet_for_too_long_is_opened_anew_without_a_failure(clock: FakeClock) -> None:
    stream, second = initial(), Stream()
    script = ScriptedTransport(stream.response, newest("12"), second.response)
    cache = Cache(Client(script, clock=clock), CONFIGMAPS, clock=clock, random=Random(1), idle_timeout=100)
    task = asyncio.create_task(cache.run())
    await clock.advance(90)
    stream.send(bookmark("12"))
    await clock.advance(90)
    assert len(script.requests) == 1
    await clock.advance(15)
    assert stream.closed
    assert script.query()["resourceVersion"] == "12"
    assert cache.connected
    task.cancel()
    await asyncio.wait({task})
