"""Watches Jobs and records which of them have their Complete condition.

Events are not decoded. A line that has the condition is counted under the name of its Job.
"""

from __future__ import annotations

import asyncio
import re
from typing import Final, cast

from bench import jobs
from bench.connection import Access

_COMPLETE: Final = re.compile(rb'"type":"Complete","status":"True"')
_NAME: Final = re.compile(rb'"metadata":\{"name":"([^"]+)"')


class Finishes(asyncio.Protocol):
    """`await finishes.wait(names)` returns once all of these Jobs are complete."""

    def __init__(self) -> None:
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.names: set[bytes] = set()
        self._rest = b""
        self._wanted: set[bytes] = set()
        self._done: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        path = f"{jobs.PATH}?watch=1&resourceVersion=0"
        cast("asyncio.Transport", transport).write(jobs.request("GET", path))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_exception(ConnectionError(f"the watch has ended: {exc}"))

    def data_received(self, data: bytes) -> None:
        if not self.opened.done():
            self.opened.set_result(None)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if _COMPLETE.search(line) and (found := _NAME.search(line)):
                self._note(found[1])

    def _note(self, name: bytes) -> None:
        self.names.add(name)
        self._wanted.discard(name)
        if not self._wanted and self._done is not None and not self._done.done():
            self._done.set_result(None)

    async def wait(self, names: list[str]) -> None:
        self._wanted = {name.encode() for name in names} - self.names
        if self._wanted:
            self._done = asyncio.get_running_loop().create_future()
            await self._done


async def follow(where: Access) -> Finishes:
    loop = asyncio.get_running_loop()
    _, finishes = await loop.create_connection(Finishes, where.host, where.port, ssl=where.context)
    await finishes.opened
    return finishes
