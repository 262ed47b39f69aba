"""Computations that may need answers from elsewhere: writes, which webhooks may have a say in.

A write is computed by a generator (`Steps`). Where it needs answers, it yields its calls, all at once, and is sent
their results. Most writes need none: their first step is their last, and nothing is waited for. Who drives the steps
decides how to wait: a request does (`finished`), a controller that works within a tick does not (`BackgroundWrites`).
A write that has waited, and finds that what it builds on has been changed meanwhile, raises `Outdated`: it is to be
computed again.
"""

from __future__ import annotations

import asyncio
import functools
import math
import time
from collections.abc import Awaitable, Callable, Generator, Hashable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from jobrelay.cluster.apiserver import errors
from jobrelay.cluster.apiserver.outbound import CallTarget, Outbound, OutboundAnswer, OutboundError
from jobrelay.logs import get_logger

log = get_logger(__name__)
REQUEST_SECONDS: Final = 34.0
_RETRY_SECONDS: Final = 1.0
_LATE: Final = "request did not complete within requested timeout - context deadline exceeded"


class OutboundCall(NamedTuple):
    """A request to a target, with its time limit in seconds."""

    target: CallTarget
    body: bytes
    seconds: int


class CallResult(NamedTuple):
    """What became of a call, and how long it took."""

    answer: OutboundAnswer | OutboundError
    seconds: float = 0.0


_T = TypeVar("_T")
Calls: TypeAlias = Sequence[OutboundCall]
Results: TypeAlias = Sequence[CallResult]
Steps: TypeAlias = Generator[Calls, Results, _T]


_NONE: Final[Results] = ()


class Outdated(Exception):
    """What a write builds on has been changed while it waited."""


def check_time(begin: float) -> None:
    """Refuses to go on with a request that began too long ago, by time.monotonic()."""
    if time.monotonic() - begin > REQUEST_SECONDS:
        raise errors.timeout(_LATE)


class _Done(NamedTuple):
    value: Any


def _advance(steps: Steps[_T], results: Results) -> Calls | _Done:
    """The next calls, or the end."""
    try:
        return steps.send(results) if results else next(steps)
    except StopIteration as end:
        return _Done(end.value)


def at_once(steps: Steps[_T]) -> _T:
    """The outcome of steps that cannot have calls to make."""
    found = _advance(steps, ())
    if not isinstance(found, _Done):
        steps.close()
        raise RuntimeError("this write has to wait for webhooks")
    value: _T = found.value
    return value


Run: TypeAlias = Callable[[Callable[[], Any]], Awaitable[Any]]


async def finished(outbound: Outbound, steps: Steps[_T], run: Run | None = None) -> _T:
    """The outcome of steps, whose calls are made when they are due. `run` computes elsewhere than on the loop."""
    begin, results = 0.0, _NONE
    while True:
        if run is None:
            found = _advance(steps, results)
        else:
            found = await run(functools.partial(_advance, steps, results))
        if isinstance(found, _Done):
            value: _T = found.value
            return value
        begin = begin or time.monotonic()
        results = await _made(outbound, found, begin + REQUEST_SECONDS - time.monotonic())
        check_time(begin)


async def _made(outbound: Outbound, calls: Calls, left: float) -> Results:
    """The results of calls that are made side by side."""
    if len(calls) == 1:
        return (await _make(outbound, calls[0], left),)
    return await asyncio.gather(*(_make(outbound, call, left) for call in calls))


async def _make(outbound: Outbound, call: OutboundCall, left: float) -> CallResult:
    start, seconds = time.monotonic(), min(call.seconds, left)
    answer: OutboundAnswer | OutboundError
    try:
        answer = await outbound.send(call.target, call.body, seconds=seconds, query=f"timeout={math.ceil(seconds)}s")
    except OutboundError as error:
        answer = error
    return CallResult(answer, time.monotonic() - start)


class BackgroundWrites:
    """Writes of controllers that work within a tick: those that have to wait go on in the background.

    A key names what is written: it is not written again while a write of it waits. What was refused or outdated is
    reported to `retry` a moment later.
    """

    def __init__(self, outbound: Outbound, retry: Callable[[Any], None]) -> None:
        self._outbound, self._retry = outbound, retry
        self._waiting: dict[Hashable, asyncio.Task[None]] = {}

    def carry_out(self, key: Hashable, steps: Steps[_T]) -> _T | None:
        """The outcome, or None if it has to be waited for; raises ApiError."""
        if key in self._waiting:
            steps.close()
            return None
        found = _advance(steps, ())
        if isinstance(found, _Done):
            value: _T = found.value
            return value
        self._waiting[key] = asyncio.ensure_future(self._finish(key, steps, found))
        return None

    async def _finish(self, key: Hashable, steps: Steps[Any], calls: Calls) -> None:
        try:
            while not isinstance(found := _advance(steps, await _made(self._outbound, calls, REQUEST_SECONDS)), _Done):
                calls = found
        except (errors.ApiError, Outdated) as error:
            log.info("a write will be tried again", object=str(key), error=str(error))
            asyncio.get_running_loop().call_later(_RETRY_SECONDS, self._again, key)
        finally:
            del self._waiting[key]

    def _again(self, key: Hashable) -> None:
        if not self._outbound.closed:
            self._retry(key)

    def stop(self) -> None:
        for task in self._waiting.values():
            task.cancel()
