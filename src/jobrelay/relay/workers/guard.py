"""What stands between the relay and a worker that it cannot trust to be well.

Everything sent to one worker goes through one `Guard`. It notes every sign of life, so that a heartbeat is sent only into
silence. It bounds what is read: a whole answer, or one event of a watch. And it lets the transport below be changed under
the clients above: after a rotation of credentials new requests take the new way, while open watches stay on the old one
until they end; only then is that closed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

from jobrelay.kube import Clock, ConnectError, ProtocolError, Request, Response, Transport

__all__ = ["LARGEST", "Guard"]

LARGEST = 8 * 1024 * 1024


class _Way:
    """One transport, and how many of its answers are still being read."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.reading = 0
        self.left = False

    async def leave(self) -> None:
        """Use it no more; it is closed with its last answer."""
        self.left = True
        if self.reading == 0:
            await self.close()

    async def release(self) -> None:
        self.reading -= 1
        if self.left and self.reading == 0:
            await self.close()

    async def close(self) -> None:
        close: Callable[[], Awaitable[None]] | None = getattr(self.transport, "close", None)
        if close is not None:
            await close()


class Guard:
    """A transport to one worker, over whichever transport leads there at present."""

    def __init__(self, clock: Clock, *, largest: int = LARGEST) -> None:
        self._clock = clock
        self._largest = largest
        self._way: _Way | None = None
        self._left: list[_Way] = []
        self.heard_at = 0.0
        """When the worker last gave a sign of life, in monotonic time."""

    async def lead(self, transport: Transport) -> None:
        """Send requests this way from now on."""
        before, self._way = self._way, _Way(transport)
        if before is not None:
            self._left = [way for way in self._left if way.reading] + [before]
            await before.leave()

    async def close(self) -> None:
        """Close every way, with whatever is still being read there."""
        ways, self._way, self._left = [*self._left, *([self._way] if self._way else ())], None, []
        for way in ways:
            await way.close()

    async def send(self, request: Request) -> Response:
        way = self._way
        if way is None:
            raise ConnectError(f"{request}: there is no way to this worker")
        way.reading += 1
        try:
            response = await way.transport.send(request)
        except BaseException:
            await way.release()
            raise
        if response.status < 500:
            self._hear()
        if response.whole is not None and len(response.whole) <= self._largest:
            await way.release()
            return response
        return Response(response.status, response.headers, self._read(request, response), _closer(way, response))

    def _hear(self) -> None:
        self.heard_at = self._clock.monotonic()

    async def _read(self, request: Request, response: Response) -> AsyncIterator[bytes]:
        path, _, query = request.path.partition("?")
        by_line = "watch=true" in query
        bounded = by_line or not path.endswith("/log")
        size = 0
        async for chunk in response.chunks():
            self._hear()
            size = _after(size, chunk) if by_line else size + len(chunk)
            if bounded and size > self._largest:
                what = "an event" if by_line else "an answer"
                raise ProtocolError(f"{request.method} {path}: {what} of more than {self._largest} bytes")
            yield chunk


def _after(size: int, chunk: bytes) -> int:
    """How long the line is that has not ended yet."""
    end = chunk.rfind(b"\n")
    return size + len(chunk) if end < 0 else len(chunk) - end - 1


def _closer(way: _Way, response: Response) -> Callable[[], Awaitable[None]]:
    async def close() -> None:
        try:
            await response.close()
        finally:
            await way.release()

    return close
