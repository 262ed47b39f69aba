"""A server that was restored from a backup may have got further than what was seen, and then only its state tells."""

from __future__ import annotations

import asyncio
from random import Random

from jobrelay.kube import Cache, Client, FakeClock, TransportError
from jobrelay.kube.resource import CONFIGMAPS

from .scripted import ScriptedTransport, Stream, configmap, event
from .test_cache import initial, newest, reply, running


async def interrupt(stream: Stream, clock: FakeClock) -> None:
    stream.fail(TransportError("restored"))
    await clock.advance(5)


async def test_after_an_interruption_the_state_is_read_again(clock: FakeClock) -> None:
    stream, watch = initial(event("ADDED", configmap("a", "9")), event("ADDED", configmap("gone", "8"))), Stream()
    again = initial(event("ADDED", configmap("a", "9")), event("ADDED", configmap("new", "12")), version="20")
    script = ScriptedTransport(stream.response, newest("15"), watch.response, newest("20"), again.response)
    async with running(script, clock) as (cache, recorder):
        await clock.advance(300)
        await interrupt(stream, clock)
        recorder.seen.clear()
        assert script.query()["resourceVersion"] == "10"
        assert 15 <= int(script.query()["timeoutSeconds"]) <= 60
        await clock.advance(60)
        watch.end()
        await clock.settle()
        assert recorder.seen == ["gone@8>", ">new@12"]
        assert (cache.lists, cache.connected) == (2, True)


async def test_the_state_is_read_again_at_most_every_five_minutes(clock: FakeClock) -> None:
    stream, watch = initial(), Stream()
    script = ScriptedTransport(stream.response, newest("15"), watch.response)
    async with running(script, clock) as (_, _):
        await clock.advance(10)
        await interrupt(stream, clock)
        assert 280 <= int(script.query()["timeoutSeconds"]) <= 300


async def test_an_older_version_of_what_is_held_proves_another_history(clock: FakeClock) -> None:
    stream, watch = initial(event("ADDED", configmap("a", "9", text="lost")), version="10"), Stream()
    again = initial(event("ADDED", configmap("a", "5", text="kept")), version="20")
    script = ScriptedTransport(stream.response, newest("15"), watch.response, newest("20"), again.response)
    async with running(script, clock) as (_, recorder):
        await clock.advance(300)
        await interrupt(stream, clock)
        recorder.seen.clear()
        await clock.advance(60)
        watch.end()
        await clock.settle()
        assert recorder.seen == ["a@9>", ">a@5"]


async def test_a_reply_from_before_a_restore_is_not_kept(clock: FakeClock) -> None:
    stream, restored = initial(), initial(version="6")
    script = ScriptedTransport(
        stream.response, newest("6"), restored.response, newest("8"), initial(version="8").response
    )
    async with running(script, clock) as (cache, _):
        await interrupt(stream, clock)
        cache.observe(reply("late", "11"))
        await clock.advance(60)
        restored.end()
        await clock.settle()
        assert (cache.lists, list(cache), cache.resource_version) == (3, [], "8")


async def test_a_run_that_was_cancelled_is_an_interruption(clock: FakeClock) -> None:
    script = ScriptedTransport(initial(version="10").response, newest("3"), initial(version="3").response)
    cache = Cache(Client(script, clock=clock), CONFIGMAPS, clock=clock, random=Random(1))
    for _ in range(2):
        task = asyncio.create_task(cache.run())
        await clock.settle()
        task.cancel()
        await asyncio.wait({task})
    assert (cache.lists, cache.resource_version) == (2, "3")
