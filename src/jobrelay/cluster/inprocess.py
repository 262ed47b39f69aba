"""A transport to a cluster in the same process: requests are function calls, watches are queues, and no socket is
opened.

It carries the same requests to the same `ApiServer.handle` as the network does, so clients work the same on both.
The user is fixed when the transport is made; without one, the request's headers authenticate.
"""

from __future__ import annotations

import asyncio
import functools
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from email.utils import formatdate

from jobrelay.cluster.apiserver.request import UserInfo, received
from jobrelay.cluster.apiserver.response import ApiResponse, Stream
from jobrelay.cluster.apiserver.server import ApiServer
from jobrelay.kube.errors import ConnectError
from jobrelay.kube.transport import Headers, Request, Response


class InProcessTransport:
    """Carries requests to the API server that `serving` returns; None means that it is not running."""

    def __init__(self, serving: Callable[[], ApiServer | None], user: UserInfo | None) -> None:
        self._serving, self._user = serving, user

    async def send(self, request: Request) -> Response:
        await asyncio.sleep(0)  # as the network would: others get their turn, and a cancelled caller stops here
        api = self._serving()
        if api is None:
            raise ConnectError(f"{request}: the embedded cluster is not running")
        headers = _all_values(request.headers)
        answer = await api.handle(received(request.method, request.path, headers, request.body or b"", self._user))
        date = _http_date(int(api.server.now().timestamp()))
        if answer.headers or answer.warnings:
            fields = Headers([*answer.fields(), ("Date", date)])
        else:
            fields = _usual_fields(answer.media, date)
        if answer.stream is None:
            return Response(answer.code, fields, b"" if request.method == "HEAD" else answer.body)
        sink = _QueueSink()
        answer.stream.start(sink)
        return Response(answer.code, fields, sink.chunks(), _closer(answer.stream))


class _QueueSink:
    """A sink that queues what its reader has not taken yet."""

    def __init__(self) -> None:
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._ended = False
        self._news = asyncio.Event()

    def write(self, data: bytes) -> None:
        self._waiting.append(data)
        self._size += len(data)
        self._news.set()

    def backlog(self) -> int:
        return self._size

    def end(self) -> None:
        self._ended = True
        self._news.set()

    async def chunks(self) -> AsyncIterator[bytes]:
        while True:
            while self._waiting:
                data = self._waiting.popleft()
                self._size -= len(data)
                yield data
            if self._ended:
                return
            self._news.clear()
            await self._news.wait()


def _closer(stream: Stream) -> Callable[[], Awaitable[None]]:
    async def close() -> None:
        stream.stop()

    return close


def _all_values(headers: Mapping[str, str]) -> dict[str, Sequence[str]]:
    """The headers in the server's form: all values by lower-case name."""
    if type(headers) is Headers:
        return {name: headers.get_all(name) for name in headers}
    return {name.lower(): (value,) for name, value in headers.items()}


@functools.lru_cache(64)
def _usual_fields(media: str, date: str) -> Headers:
    """The header fields of an answer without warnings or headers of its own."""
    return Headers([*ApiResponse(200, media=media).fields(), ("Date", date)])


@functools.lru_cache(64)
def _http_date(seconds: int) -> str:
    """A time in the format of the HTTP Date header."""
    return formatdate(seconds, usegmt=True)
