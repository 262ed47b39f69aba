"""The event stream of a page: that something has changed, and the log of the workload that is shown.

    event: changed    something is now of this version, a JSON text; a page that was made of another is out of date
    event: begins     the log of a run begins
    event: log        the next part of it, as a JSON text
    event: waits      why there is no log yet, as a JSON text
    event: ended      the workload has ended, and its log with it

One stream per page carries both, since browsers open few connections to one host.
"""

from __future__ import annotations

import asyncio
import codecs
from functools import partial
from typing import Final

import msgspec
from aiohttp import web

from jobrelay.apimachinery.gojson import UNREADABLE
from jobrelay.kube import Clock, Forbidden, KubeError, NotFound, Unauthorized
from jobrelay.kube.clock import sleep
from jobrelay.relay.signal import Changes
from jobrelay.web.backend import DashboardBackend

_AGAIN: Final = 5.0
_ALIVE: Final = 15.0
_FINAL: Final = (Forbidden, NotFound, Unauthorized)


async def send_events(
    request: web.Request, backend: DashboardBackend, namespace: str, log: str, clock: Clock
) -> web.StreamResponse:
    """Send until the browser has gone, or what is shown may not be seen any more; `log` is NAMESPACE/NAME."""
    answer = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
    await answer.prepare(request)
    stream = _Stream(answer, backend, clock)
    tasks = [stream.follow_changes(namespace), stream.keep_alive()]
    where, slash, name = log.partition("/")
    if slash:
        tasks.append(stream.follow_log(where, name))
    running = [asyncio.ensure_future(each) for each in tasks]
    try:
        await asyncio.wait(running, return_when=asyncio.FIRST_EXCEPTION)
        for task in running:
            if task.done() and not task.cancelled():
                task.result()
    except (ConnectionError, *_FINAL):
        return answer
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    return answer


class _Meta(msgspec.Struct, rename="camel"):
    resource_version: str = ""


class _Changed(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)


class _Event(msgspec.Struct):
    object: _Changed = msgspec.field(default_factory=_Changed)


def version_of(events: bytes) -> str:
    """The version in the last event of a watch; empty if it has none."""
    try:
        return msgspec.json.decode(events.strip().rpartition(b"\n")[2], type=_Event).object.metadata.resource_version
    except UNREADABLE:
        return ""


class _Stream:
    """Writes events of several sources, one at a time."""

    def __init__(self, answer: web.StreamResponse, backend: DashboardBackend, clock: Clock) -> None:
        self._answer, self._backend, self._clock = answer, backend, clock
        self._turn, self._changes = asyncio.Lock(), Changes()
        self._seen = 0

    async def _send(self, event: str, data: object = "") -> None:
        async with self._turn:
            await self._answer.write(b"event: %s\ndata: %s\n\n" % (event.encode(), msgspec.json.encode(data)))

    async def keep_alive(self) -> None:
        """Keeps proxies from closing the stream, and detects that the client has gone."""
        while True:
            await sleep(self._clock, _ALIVE)
            async with self._turn:
                await self._answer.write(b": alive\n\n")

    async def follow_changes(self, namespace: str) -> None:
        """An event for each change; the watch is opened again when it ends, and after a while when it fails."""
        while True:
            try:
                async with self._backend.changes(namespace) as chunks:
                    async for chunk in chunks:
                        await self._changed(version_of(chunk))
            except _FINAL:
                raise
            except KubeError:
                await sleep(self._clock, _AGAIN)
                await self._changed()

    async def _changed(self, version: str = "") -> None:
        self._seen += 1
        self._changes.notify()
        await self._send("changed", version)

    async def follow_log(self, namespace: str, name: str) -> None:
        """The log until the workload has ended. While nothing has started, and after a run that was not the last, it
        is tried again after each change."""
        while True:
            seen = self._seen
            try:
                await self._copy_log(namespace, name)
                if await self._backend.has_ended(namespace, name):
                    await self._send("ended")
                    return
            except _FINAL:
                raise
            except KubeError as error:
                await self._send("waits", str(error))
            await self._changes.until(partial(self._has_changed, seen))

    def _has_changed(self, seen: int) -> bool:
        return self._seen != seen

    async def _copy_log(self, namespace: str, name: str) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        async with self._backend.log(namespace, name, follow=True) as chunks:
            await self._send("begins")
            async for chunk in chunks:
                if text := decoder.decode(chunk):
                    await self._send("log", text)
