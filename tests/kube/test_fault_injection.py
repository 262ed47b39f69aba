from __future__ import annotations

import asyncio
from random import Random

import pytest

from jobrelay.kube import ConnectError, FakeClock, FaultyTransport, Request, TransportError
from jobrelay.kube.errors import error_from_response
from jobrelay.kube.fault_injection import (
    AnswerStatus,
    CutStream,
    Delay,
    Hang,
    LoseReply,
    RefuseConnection,
    RepeatChunks,
)

from .scripted import ScriptedTransport, Stream, answer

GET = Request("GET", "/api/v1/pods")
POST = Request("POST", "/api/v1/pods", body=b"{}")


async def test_without_rules_everything_passes() -> None:
    response = await FaultyTransport(ScriptedTransport(answer({"a": 1}))).send(GET)
    assert await response.read() == b'{"a":1}'


async def test_a_refused_request_has_no_effect() -> None:
    script = ScriptedTransport(answer({}))
    faulty = FaultyTransport(script)
    faulty.add(RefuseConnection())
    with pytest.raises(ConnectError):
        await faulty.send(POST)
    assert script.requests == []


async def test_a_lost_reply_leaves_its_effect() -> None:
    script = ScriptedTransport(answer({}))
    faulty = FaultyTransport(script)
    faulty.add(LoseReply())
    with pytest.raises(TransportError):
        await faulty.send(POST)
    assert script.requests == [POST]


async def test_rules_match_and_are_used_up() -> None:
    faulty = FaultyTransport(ScriptedTransport(*[answer({}) for _ in range(3)]))
    faulty.add(RefuseConnection(), "POST */pods", times=1)
    await faulty.send(GET)
    with pytest.raises(ConnectError):
        await faulty.send(POST)
    await faulty.send(POST)
    assert faulty.injected == 1


async def test_an_injected_answer_is_a_status() -> None:
    faulty = FaultyTransport(ScriptedTransport())
    faulty.add(AnswerStatus(429, "TooManyRequests", retry_after=3))
    error = await error_from_response(await faulty.send(GET))
    assert (error.code, error.reason, error.retry_after) == (429, "TooManyRequests", 3)


async def test_delay_takes_the_clocks_time(clock: FakeClock) -> None:
    faulty = FaultyTransport(ScriptedTransport(answer({})), clock=clock)
    faulty.add(Delay(5))
    task = asyncio.create_task(faulty.send(GET))
    await clock.advance(4)
    assert not task.done()
    await clock.advance(1)
    assert (await task).status == 200


async def test_hang_never_answers(clock: FakeClock) -> None:
    faulty = FaultyTransport(ScriptedTransport(answer({})), clock=clock)
    faulty.add(Hang())
    task = asyncio.create_task(faulty.send(GET))
    await clock.advance(3600)
    assert not task.done()
    task.cancel()


async def test_a_stream_is_cut_after_some_chunks() -> None:
    faulty = FaultyTransport(ScriptedTransport(Stream(b"a", b"b", b"c").response))
    faulty.add(CutStream(2))
    chunks = (await faulty.send(GET)).chunks()
    assert [await anext(chunks), await anext(chunks)] == [b"a", b"b"]
    with pytest.raises(TransportError):
        await anext(chunks)


async def test_a_clean_cut_looks_like_an_end() -> None:
    faulty = FaultyTransport(ScriptedTransport(Stream(b"a", b"b").response))
    faulty.add(CutStream(1, clean=True))
    assert await (await faulty.send(GET)).read() == b"a"


async def test_repeat_doubles_chunks() -> None:
    faulty = FaultyTransport(ScriptedTransport(Stream(b"a", b"b").end().response))
    faulty.add(RepeatChunks())
    assert await (await faulty.send(GET)).read() == b"aabb"


async def test_a_partition_breaks_open_streams_and_refuses_new_requests(clock: FakeClock) -> None:
    faulty = FaultyTransport(ScriptedTransport(Stream(b"a").response, answer({})), clock=clock)
    reading = asyncio.create_task((await faulty.send(GET)).read())
    await clock.settle()
    faulty.partition()
    with pytest.raises(TransportError):
        await reading
    with pytest.raises(ConnectError):
        await faulty.send(GET)
    faulty.heal()
    assert (await faulty.send(GET)).status == 200


async def test_healing_a_sound_link_changes_nothing(clock: FakeClock) -> None:
    faulty = FaultyTransport(ScriptedTransport(Stream(b"a").response), clock=clock)
    reading = asyncio.create_task((await faulty.send(GET)).read())
    await clock.settle()
    faulty.heal()
    faulty.partition()
    with pytest.raises(TransportError):
        await reading


async def test_chance_is_decided_by_the_given_generator() -> None:
    async def outcome(seed: int) -> list[bool]:
        faulty = FaultyTransport(ScriptedTransport(*[answer({}) for _ in range(20)]), random=Random(seed))
        faulty.add(AnswerStatus(500), times=None, chance=0.5)
        return [(await faulty.send(GET)).status == 500 for _ in range(20)]

    assert await outcome(1) == await outcome(1)
    assert 0 < sum(await outcome(1)) < 20
