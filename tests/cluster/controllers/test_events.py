"""Events: repeated, combined, and held back as client-go does it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from jobrelay.kube import CORE_V1, EventRecorder, FaultyTransport, ObjectReference
from jobrelay.kube.fault_injection import LoseReply, RefuseConnection

from .running import World

SUBJECT = ObjectReference("batch/v1", "Job", "j", "default", "u")
EVENTS = "/api/v1/namespaces/default/events"
Obj = dict[str, Any]


async def written(messages: list[str], *, fault: Any = None) -> list[Obj]:
    w = World()
    client = w.context.client
    if fault is not None:
        faulty = FaultyTransport(client.transport, clock=w.clock)
        faulty.add(fault, "POST */events")
        client.transport = faulty
    recorder = EventRecorder(client, "tester", api=CORE_V1, clock=w.clock)
    running = asyncio.create_task(recorder.run())
    for message in messages:
        recorder.event(SUBJECT, "Normal", "Happened", message, version="7")
        await w.pass_(0.001)
    await w.pass_(30)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    items: list[Obj] = (await w.get(EVENTS))["items"]
    return items


async def test_an_event_names_its_object_and_source() -> None:
    (event,) = await written(["it"])
    about = {
        "kind": "Job",
        "namespace": "default",
        "name": "j",
        "uid": "u",
        "apiVersion": "batch/v1",
        "resourceVersion": "7",
    }
    assert event["involvedObject"] == about
    assert (event["source"], event["reportingComponent"], event["count"]) == ({"component": "tester"}, "tester", 1)


async def test_the_same_again_is_a_count() -> None:
    (event,) = await written(["it"] * 3)
    assert (event["message"], event["count"]) == ("it", 3)


async def test_from_the_tenth_on_similar_events_are_combined() -> None:
    events = await written([f"pod {number}" for number in range(14)])
    combined = [event for event in events if event["message"].startswith("(combined")]
    assert len(events) == 10
    assert [(event["message"], event["count"]) for event in combined] == [("(combined from similar events): pod 13", 5)]


async def test_an_object_may_say_25_things() -> None:
    events = await written([f"pod {number}" for number in range(60)])
    assert sum(event["count"] for event in events) == 25


async def test_an_event_is_tried_again_when_nobody_answers() -> None:
    assert [event["message"] for event in await written(["a", "b"], fault=RefuseConnection())] == ["a", "b"]


async def test_an_event_whose_answer_was_lost_is_not_written_twice() -> None:
    assert [event["message"] for event in await written(["a"], fault=LoseReply())] == ["a"]
