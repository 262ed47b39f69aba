from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import msgspec

from jobrelay.kube import Client, EventNote, EventRecorder, FakeClock, FaultyTransport, ObjectReference
from jobrelay.kube.fault_injection import AnswerStatus, LoseReply, RefuseConnection
from jobrelay.kube.objects import decode_object, encode

from .miniserver import MiniServer
from .scripted import Json, configmap

JOB = ObjectReference("batch/v1", "Job", "sim", "ns", "u1")


class World:
    def __init__(self, clock: FakeClock, burst: int, rate: float | None) -> None:
        self.server = MiniServer()
        self.link = FaultyTransport(self.server, clock=clock)
        client = Client(self.link, clock=clock)
        self.recorder = EventRecorder(
            client, "jobrelay.dev/relay", "me", clock=clock, random=Random(1), burst=burst, rate=rate
        )

    @property
    def events(self) -> list[Json]:
        return list(self.server.objects.values())


@asynccontextmanager
async def running(clock: FakeClock, burst: int = 25, rate: float | None = None) -> AsyncIterator[World]:
    world = World(clock, burst, rate)
    task = asyncio.create_task(world.recorder.run())
    await clock.settle()
    try:
        yield world
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_an_event_says_what_the_server_requires(clock: FakeClock) -> None:
    async with running(clock) as world:
        world.recorder.event(JOB, "Normal", "Placed", "on worker a", action="Place")
        await clock.settle()
        [event] = world.events
    metadata = event.pop("metadata")
    assert metadata["name"].startswith("sim.")
    assert metadata["namespace"] == "ns"
    assert event == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "type": "Normal",
        "reason": "Placed",
        "action": "Place",
        "note": "on worker a",
        "regarding": {"apiVersion": "batch/v1", "kind": "Job", "namespace": "ns", "name": "sim", "uid": "u1"},
        "reportingController": "jobrelay.dev/relay",
        "reportingInstance": "me",
    }


async def test_objects_can_be_regarded_as_they_are(clock: FakeClock) -> None:
    async with running(clock) as world:
        subject = decode_object(encode(configmap("a")))
        world.recorder.event(subject, "Warning", "Odd", "x", related=JOB)
        await clock.settle()
        assert world.events[0]["regarding"]["kind"] == "ConfigMap"
        assert world.events[0]["related"]["name"] == "sim"


async def test_repeats_become_one_series_written_rarely(clock: FakeClock) -> None:
    async with running(clock) as world:
        for _ in range(100):
            world.recorder.event(JOB, "Warning", "Lost", "worker a")
            await clock.advance(1)
        await clock.advance(60)
        assert [event["series"]["count"] for event in world.events] == [100]
        assert len(world.server.requests) <= 6


async def test_a_message_after_long_silence_is_a_new_event(clock: FakeClock) -> None:
    async with running(clock) as world:
        world.recorder.event(JOB, "Normal", "Placed", "x")
        await clock.advance(400)
        world.recorder.event(JOB, "Normal", "Placed", "x")
        await clock.settle()
        assert len(world.events) == 2


async def test_one_object_cannot_flood(clock: FakeClock) -> None:
    async with running(clock, burst=3) as world:
        for number in range(10):
            world.recorder.event(JOB, "Normal", "Flap", f"time {number}")
        world.recorder.event(JOB._replace(name="other"), "Normal", "Fine", "x")
        await clock.settle(200)
        assert len(world.events) == 4
        assert world.recorder.dropped == 7
        await clock.advance(300)
        world.recorder.event(JOB, "Normal", "Flap", "again")
        await clock.settle()
        assert len(world.events) == 5


async def test_an_unreachable_server_is_tried_again(clock: FakeClock) -> None:
    async with running(clock) as world:
        world.link.add(RefuseConnection(), times=3)
        world.recorder.event(JOB, "Normal", "Placed", "x")
        await clock.advance(30)
        assert len(world.events) == 1
        assert world.recorder.dropped == 0


async def test_a_lost_reply_does_not_double_the_event(clock: FakeClock) -> None:
    async with running(clock) as world:
        world.link.add(LoseReply())
        world.recorder.event(JOB, "Normal", "Placed", "x")
        await clock.advance(30)
        assert len(world.events) == 1


async def test_a_refused_event_is_dropped_and_the_next_goes_on(clock: FakeClock) -> None:
    async with running(clock) as world:
        world.link.add(AnswerStatus(403, "Forbidden"))
        world.recorder.event(JOB, "Normal", "One", "x")
        world.recorder.event(JOB, "Normal", "Two", "x")
        await clock.settle()
        assert [event["reason"] for event in world.events] == ["Two"]
        assert world.recorder.dropped == 1


async def test_a_series_whose_event_expired_starts_anew(clock: FakeClock) -> None:
    async with running(clock) as world:
        world.recorder.event(JOB, "Normal", "Placed", "x")
        await clock.settle()
        world.server.objects.clear()
        world.recorder.event(JOB, "Normal", "Placed", "x")
        await clock.advance(60)
        assert world.events[0]["series"]["count"] == 2


async def test_notes_are_cut_to_what_the_server_takes(clock: FakeClock) -> None:
    async with running(clock) as world:
        world.recorder.event(JOB, "Normal", "Long", "ü" * 1000)
        await clock.settle()
        assert len(world.events[0]["note"].encode()) <= 1024


async def test_what_cannot_be_referred_to_is_ignored(clock: FakeClock) -> None:
    async with running(clock) as world:
        broken = msgspec.structs.replace(decode_object(encode(configmap("a"))), raw=b"?")
        world.recorder.event(broken, "Normal", "X", "x")
        await clock.settle()
        assert world.events == []


async def test_below_the_rate_each_note_is_an_event(clock: FakeClock) -> None:
    async with running(clock, rate=10.0) as world:
        world.recorder.record(JOB, [EventNote("Placed", "on a"), EventNote("Started", "on a")])
        await clock.settle()
        assert [event["reason"] for event in world.events] == ["Placed", "Started"]


async def test_above_the_rate_what_waits_about_one_object_is_one_event(clock: FakeClock) -> None:
    async with running(clock, rate=1.0) as world:
        world.recorder.record(JOB, [EventNote("Created", ""), EventNote("Queued", ""), EventNote("Placed", "on a")])
        world.recorder.record(JOB._replace(name="other"), [EventNote("Placed", "on b")])
        world.recorder.record(JOB, [EventNote("Refused", "by a", "Warning"), EventNote("Finished", "on b")])
        await clock.advance(0.9)
        assert [event["reason"] for event in world.events] == ["Created", "Queued"]
        await clock.advance(0.1)
        told = [(event["type"], event["reason"], event["note"]) for event in world.events[2:]]
        assert told == [("Warning", "Finished", "on a; by a; on b")]
        await clock.advance(1)
        assert world.events[3]["regarding"]["name"] == "other"


async def test_a_waiting_event_is_bounded_by_what_the_server_takes(clock: FakeClock) -> None:
    async with running(clock, rate=1.0) as world:
        world.recorder.record(JOB, [EventNote("Long", "x" * 600)] * 5)
        await clock.advance(5)
        assert max(len(event["note"]) for event in world.events) == 1024


async def test_names_sort_by_time(clock: FakeClock) -> None:
    async with running(clock) as world:
        for number in range(20):
            world.recorder.event(JOB, "Normal", "Step", str(number))
        await clock.settle(200)
        assert [event["note"] for event in sorted(world.events, key=lambda event: event["metadata"]["name"])] == [
            str(number) for number in range(20)
        ]
