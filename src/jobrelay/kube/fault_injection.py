"""A transport that misbehaves on purpose.

`FaultyTransport` wraps another and lets a script decide which requests go wrong and how. Faults are values; rules are
tried in the order they were added, the first that matches a request and is not used up decides, and any chance comes
from an injected random generator: the same script over the same requests always does the same.

The faults tell apart what matters to correctness: `RefuseConnection` fails before the request has any effect, `LoseReply` after
it had its effect, and `CutStream` in the middle of a stream. `partition()` is the whole link failing until `heal()`.
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
    "AnswerStatus",
    "CutStream",
    "Delay",
    "Fault",
    "FaultyTransport",
    "Hang",
    "LoseReply",
    "RefuseConnection",
    "RepeatChunks",
]


@dataclass(frozen=True, slots=True)
class RefuseConnection:
    """The connection is refused: the request has no effect."""


@dataclass(frozen=True, slots=True)
class LoseReply:
    """The request is carried out, but its answer is lost."""


@dataclass(frozen=True, slots=True)
class Delay:
    """The request sets off late."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hang:
    """No answer ever comes; the request has no effect."""


@dataclass(frozen=True, slots=True)
class AnswerStatus:
    """The server answers with a Status instead of doing anything."""

    status: int
    reason: str = ""
    message: str = "injected"
    retry_after: int | None = None


@dataclass(frozen=True, slots=True)
class CutStream:
    """The body ends after `chunks` chunks: by an error, or `clean` as if complete."""

    chunks: int = 0
    clean: bool = False


@dataclass(frozen=True, slots=True)
class RepeatChunks:
    """Every chunk of the body arrives twice: events are repeated."""


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
    """Passes requests on to `inner`, except where a rule says otherwise."""

    def __init__(self, inner: Transport, *, clock: Clock | None = None, random: Random | None = None) -> None:
        self._inner = inner
        self._clock = clock or SystemClock()
        self._random = random or Random(0)
        self._rules: list[_Rule] = []
        self._severed = asyncio.Event()
        self.injected = 0

    def add(self, fault: Fault, match: str = "*", *, times: int | None = 1, chance: float = 1.0) -> None:
        """Inject `fault` into requests that look like `match`, a glob over `METHOD path`, that many `times`."""
        self._rules.append(_Rule(fault, match, times, chance))

    def clear(self) -> None:
        """Forget all rules."""
        self._rules.clear()

    def partition(self) -> None:
        """Break the link: open streams break, new requests are refused."""
        self._severed.set()

    def heal(self) -> None:
        """Mend the link; what broke stays broken."""
        if self._severed.is_set():
            self._severed = asyncio.Event()

    async def send(self, request: Request) -> Response:
        if self._severed.is_set():
            raise ConnectError(f"{request}: injected partition")
        rule = next((rule for rule in self._rules if rule.applies(request, self._random)), None)
        if rule is None:
            return self._severable(await self._inner.send(request))
        self.injected += 1
        return await self._misbehave(rule.fault, request)

    async def _misbehave(self, fault: Fault, request: Request) -> Response:
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
        return self._severable(response)

    def _severable(self, response: Response) -> Response:
        return _wrap(response, _until(response.chunks(), self._severed))


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


async def _until(chunks: AsyncIterator[bytes], severed: asyncio.Event) -> AsyncIterator[bytes]:
    """Pass chunks on until the link is severed, which also wakes a reader that waits for the next one."""
    cut = asyncio.ensure_future(severed.wait())
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
