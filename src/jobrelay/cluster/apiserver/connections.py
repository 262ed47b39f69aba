"""The connections of the network server, and their limits.

The time limits are those of Kubernetes: for the head of a request, and for a connection between two requests. A request
that is being answered, such as a watch, has none. The number of connections is limited by the process's open files: a
connection whose file descriptor is among the last few is answered with 429 and closed, so that there are always some
left for the store and for pods.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
from collections.abc import Awaitable, Callable
from typing import Any, Final

from aiohttp import web

from jobrelay.cluster.apiserver.response import Sink

MAX_HEADER: Final = 65_536
HANDSHAKE_SECONDS: Final = 10.0
HEAD_SECONDS: Final = 32.0
IDLE_SECONDS: Final = 90.0
_LINGER_SECONDS: Final = 1.0  # for the rest of a body that is not read, so that its client sees the answer
_SPARE_FILES: Final = 256
_FULL_TEXT: Final = b"Too many requests, please try again later."
_FULL: Final = (
    b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nConnection: close\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n\r\n%b" % (len(_FULL_TEXT), _FULL_TEXT)
)


class Connections(web.Server):
    """Tracks the stream of each connection, so that a stream ends as soon as its client disconnects."""

    def __init__(self, handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]) -> None:
        # Bodies are not decompressed: Kubernetes does not either, and it would be work for unknown callers.
        super().__init__(
            handler, access_log=None, max_line_size=MAX_HEADER, max_field_size=MAX_HEADER, auto_decompress=False,
            keepalive_timeout=IDLE_SECONDS, lingering_time=_LINGER_SECONDS,
        )  # fmt: skip
        self.streams: dict[web.RequestHandler, Sink] = {}
        self.head_seconds = HEAD_SECONDS
        self.last_file = last_file()

    def __call__(self) -> web.RequestHandler:
        return _Connection(self, loop=self._loop, **self._kwargs)

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        super().connection_lost(handler, exc)
        if (sink := self.streams.get(handler)) is not None:
            sink.end()


def last_file() -> int:
    """The highest file descriptor that a connection may have."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2**31 if soft == resource.RLIM_INFINITY else soft - min(_SPARE_FILES, soft // 4)


class _Connection(web.RequestHandler):
    """One connection. A head that has begun and is not complete in time closes it."""

    __slots__ = ("_connections", "_late")

    def __init__(self, connections: Connections, **options: Any) -> None:
        super().__init__(connections, **options)
        self._connections = connections
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if _file(transport) > self._connections.last_file:
            assert isinstance(transport, asyncio.Transport)
            transport.write(_FULL)
            self.force_close()
        else:
            self._expect_head()

    def data_received(self, data: bytes) -> None:
        known = self._request_count
        super().data_received(data)
        if self._request_count != known:
            self._head_complete()
        elif self._late is None and self._waiter is not None and not self._waiter.done():
            self._expect_head()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._head_complete()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        self._late = self._loop.call_later(self._connections.head_seconds, self.force_close)

    def _head_complete(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


def _file(transport: asyncio.BaseTransport) -> int:
    socket = transport.get_extra_info("socket")
    with contextlib.suppress(OSError):
        return int(socket.fileno()) if socket is not None else -1
    return -1
