from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from jobrelay.kube import ConnectError, FakeClock, ProtocolError, Request, Response
from jobrelay.relay.workers.transport import WorkerTransport

WATCH = Request("GET", "/apis/batch/v1/jobs?watch=true")
LIST = Request("GET", "/apis/batch/v1/jobs")
LOG = Request("GET", "/api/v1/namespaces/default/pods/p/log?follow=true")


class Canned:
    """Answers everything with the same chunks."""

    def __init__(self, *chunks: bytes, status: int = 200) -> None:
        self.chunks, self.status, self.closed = chunks, status, False

    async def send(self, request: Request) -> Response:
        return Response(self.status, {}, self._body())

    async def _body(self) -> AsyncIterator[bytes]:
        for chunk in self.chunks:
            yield chunk

    async def close(self) -> None:
        self.closed = True


async def guard(clock: FakeClock, *chunks: bytes, status: int = 200) -> WorkerTransport:
    made = WorkerTransport(clock, max_size=10)
    await made.switch(Canned(*chunks, status=status))
    return made


async def test_an_answer_that_is_too_large_is_nonsense(clock: FakeClock) -> None:
    response = await (await guard(clock, b"12345", b"678901")).send(LIST)
    with pytest.raises(ProtocolError, match="an answer of more than 10 bytes"):
        await response.read()
    await response.close()


async def test_a_watch_may_be_long_but_not_an_event(clock: FakeClock) -> None:
    response = await (await guard(clock, b"1234567\n1234567\n", b"12345678\n", b"1234567\n")).send(WATCH)
    assert len(await response.read()) == 33
    response = await (await guard(clock, b"1\n12345678", b"901")).send(WATCH)
    with pytest.raises(ProtocolError, match="an event of more than 10 bytes"):
        await response.read()
    await response.close()


async def test_a_log_may_be_endless(clock: FakeClock) -> None:
    response = await (await guard(clock, b"12345678901234567890")).send(LOG)
    assert len(await response.read()) == 20


async def test_signs_of_life_are_noted(clock: FakeClock) -> None:
    made = await guard(clock, b"a", b"b")
    await clock.advance(5)
    response = await made.send(LIST)
    assert made.heard_at == 5
    await clock.advance(5)
    await response.read()
    assert made.heard_at == 10


async def test_an_error_of_a_gateway_is_no_sign_of_life(clock: FakeClock) -> None:
    made = await guard(clock, status=502)
    await clock.advance(5)
    await (await made.send(LIST)).close()
    assert made.heard_at == 0


async def test_the_time_there_is_read_from_answers_but_not_from_those_of_a_gateway(clock: FakeClock) -> None:
    class Dated(Canned):
        async def send(self, request: Request) -> Response:
            return Response(self.status, {"Date": "Thu, 01 Jan 2026 00:02:00 GMT"}, b"{}")

    made = WorkerTransport(clock)
    await made.switch(Dated(status=502))
    await made.send(LIST)
    assert made.worker_clock.reading is None
    await made.switch(Dated())
    await made.send(LIST)
    assert made.worker_clock.reading is not None
    assert made.worker_clock.reading.earliest == clock.now() + timedelta(seconds=120)


async def test_a_way_is_closed_when_its_last_answer_was_read(clock: FakeClock) -> None:
    made, before, after = WorkerTransport(clock), Canned(b"a", b"b"), Canned()
    await made.switch(before)
    response = await made.send(WATCH)
    await made.switch(after)
    assert not before.closed
    assert await response.read() == b"ab"
    assert before.closed
    assert not after.closed


async def test_a_closed_guard_closes_every_way(clock: FakeClock) -> None:
    made, before, after = WorkerTransport(clock), Canned(b"a"), Canned()
    await made.switch(before)
    await made.send(WATCH)
    await made.switch(after)
    await made.close()
    assert before.closed
    assert after.closed
    with pytest.raises(ConnectError):
        await made.send(LIST)
