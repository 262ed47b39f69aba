"""A transport that injects faults, for tests.

`FaultyTransport` wraps another transport. Rules say which requests get which fault. They are tried in the order in
which they were added, and the first that matches and is not used up applies. Randomness comes from an injected
generator, so the same rules over the same requests give the same faults.

`RefuseConnection` fails before the request has an effect, `LoseReply` after it, and `CutStream` in the middle of a
stream. `partition()` fails everything until `heal()`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from random import Random
from typing import TypeAlias

import msgspec

from .clock import Clock, SystemClock, sleep
from .errors import ConnectError, TransportError
from .transport import Request, Response, Transport

__all__ = [
    "AnswerStatus", "CutStream", "Delay", "Fault", "FaultyTransport", "Hang", "LoseReply", "RefuseConnection",
    "RepeatChunks",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class RefuseConnection:
    """The connection is refused; the request has no effect."""


@dataclass(frozen=True, slots=True)
class LoseReply:
    """The request has its effect, but the response is lost."""


@dataclass(frozen=True, slots=True)
class Delay:
    """The request is sent after some seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hang:
    """There is never a response; the request has no effect."""


@dataclass(frozen=True, slots=True)
class AnswerStatus:
    """The response is an error Status; the request has no effect."""

    status: int
    reason: str = ""
    message: str = "injected"
    retry_after: int | None = None


@dataclass(frozen=True, slots=True)
class CutStream:
    """The body ends after `chunks` chunks: with an error, or with `clean` as if it were complete."""

    chunks: int = 0
    clean: bool = False


@dataclass(frozen=True, slots=True)
class RepeatChunks:
    """Each chunk of the body arrives twice, so that events are repeated."""


Fault: TypeAlias = RefuseConnection | LoseReply | Delay | Hang | AnswerStatus | CutStream | RepeatChunks


@dataclass(slots=True)
class _Rule:
    fault: Fault
    match: str
    times: int | None
    chance: float

    def applies(self, request: Request, random: Random) -> bool:
        if self.times == 0 or not fnmatchcase(str(request), self.match):
            return False
        if self.chance < 1 and random.random() >= self.chance:
            return False
        if self.times is not None:
            self.times -= 1
        return True


class FaultyTransport:
    """Passes requests on to `inner`, with the faults that rules inject."""

    def __init__(self, inner: Transport, *, clock: Clock | None = None, random: Random | None = None) -> None:
        self._inner = inner
        self._clock = clock or SystemClock()
        self._random = random or Random(0)
        self._rules: list[_Rule] = []
        self._partitioned = asyncio.Event()
        self.injected = 0

    def add(self, fault: Fault, match: str = "*", *, times: int | None = 1, chance: float = 1.0) -> None:
        """Inject `fault` into the first `times` requests that match a glob over `METHOD path`; None is all of them."""
        self._rules.append(_Rule(fault, match, times, chance))

    def clear(self) -> None:
        """Remove all rules."""
        self._rules.clear()

    def partition(self) -> None:
        """Disconnect: open streams fail and new requests are refused."""
        self._partitioned.set()

    def heal(self) -> None:
        """Connect again; streams that have failed stay failed."""
        if self._partitioned.is_set():
            self._partitioned = asyncio.Event()

    async def send(self, request: Request) -> Response:
        if self._partitioned.is_set():
            raise ConnectError(f"{request}: injected partition")
        rule = next((rule for rule in self._rules if rule.applies(request, self._random)), None)
        if rule is None:
            return self._until_partition(await self._inner.send(request))
        self.injected += 1
        return await self._inject(rule.fault, request)

    async def _inject(self, fault: Fault, request: Request) -> Response:
        match fault:
            case RefuseConnection():
                raise ConnectError(f"{request}: injected refusal")
            case Hang():
                await asyncio.get_running_loop().create_future()
            case AnswerStatus():
                return _answer(fault)
            case Delay(seconds):
                await sleep(self._clock, seconds)
        response = await self._inner.send(request)
        match fault:
            case LoseReply():
                await response.close()
                raise TransportError(f"{request}: injected loss of the reply")
            case CutStream(chunks, clean):
                response = _wrap(response, _cut(response.chunks(), chunks, clean))
            case RepeatChunks():
                response = _wrap(response, _repeat(response.chunks()))
        return self._until_partition(response)

    def _until_partition(self, response: Response) -> Response:
        return _wrap(response, _until(response.chunks(), self._partitioned))


def _wrap(response: Response, body: AsyncIterator[bytes]) -> Response:
    return Response(response.status, response.headers, body, response.close)


def _answer(fault: AnswerStatus) -> Response:
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": fault.message,
        "reason": fault.reason,
        "code": fault.status,
    }
    headers = {"Content-Type": "application/json"}
    if fault.retry_after is not None:
        headers["Retry-After"] = str(fault.retry_after)
    return Response(fault.status, headers, msgspec.json.encode(status))


async def _cut(chunks: AsyncIterator[bytes], keep: int, clean: bool) -> AsyncIterator[bytes]:
    left = keep
    async for chunk in chunks:
        if left == 0:
            break
        left -= 1
        yield chunk
    if not clean:
        raise TransportError(f"injected cut after {keep} chunks")


async def _repeat(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        yield chunk
        yield chunk


async def _until(chunks: AsyncIterator[bytes], partitioned: asyncio.Event) -> AsyncIterator[bytes]:
    """Pass chunks on until a partition, which also interrupts a reader that waits for the next one."""
    cut = asyncio.ensure_future(partitioned.wait())
    try:
        while True:
            reading = asyncio.ensure_future(_next(chunks))
            try:
                await asyncio.wait({cut, reading}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                reading.cancel()
                await asyncio.wait({reading})
            if reading.cancelled():
                raise TransportError("injected partition")
            chunk = reading.result()
            if chunk is None:
                return
            yield chunk
    finally:
        cut.cancel()


async def _next(chunks: AsyncIterator[bytes]) -> bytes | None:
    return await anext(chunks, None)
