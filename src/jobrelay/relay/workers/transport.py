"""The transport to one worker.

All requests to one worker go through one `WorkerTransport`. It records when the worker last answered, so that
heartbeats are sent only after silence, which requests are unanswered, and what time it is there. It limits the size of
what is read: of a whole response, or of one event of a watch. And it allows the transport below to be replaced: after a
rotation of credentials new requests use the new transport, while open watches stay on the old one, which is closed
after the last of them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

from jobrelay.kube import Clock, ConnectError, ProtocolError, Request, Response, Transport
from jobrelay.relay.workers.timing import DEFAULT_TIMING
from jobrelay.relay.workers.unanswered import UnansweredRequests
from jobrelay.relay.workers.worker_clock import WorkerClock

MAX_SIZE = 8 * 1024 * 1024


class _Inner:
    """A transport below, and how many of its responses are still being read."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.reading = 0
        self.retired = False

    async def retire(self) -> None:
        """Close it after its last response."""
        self.retired = True
        if self.reading == 0:
            await self.close()

    async def release(self) -> None:
        self.reading -= 1
        if self.retired and self.reading == 0:
            await self.close()

    async def close(self) -> None:
        close: Callable[[], Awaitable[None]] | None = getattr(self.transport, "close", None)
        if close is not None:
            await close()


class WorkerTransport:
    """Sends requests over the current transport below."""

    def __init__(
        self,
        clock: Clock,
        *,
        max_size: int = MAX_SIZE,
        suspect_after: float = DEFAULT_TIMING.suspect,
        on_suspect: Callable[[], None] = lambda: None,
    ) -> None:
        self._clock = clock
        self.unanswered = UnansweredRequests(clock, suspect_after, on_suspect)
        self.worker_clock = WorkerClock(clock)
        self._max_size = max_size
        self._inner: _Inner | None = None
        self._retired: list[_Inner] = []
        self.heard_at = 0.0
        """When the worker last sent something, in monotonic time."""

    async def switch(self, transport: Transport) -> None:
        """Send requests over another transport from now on."""
        before, self._inner = self._inner, _Inner(transport)
        if before is not None:
            self._retired = [inner for inner in self._retired if inner.reading] + [before]
            await before.retire()

    async def close(self) -> None:
        """Close all transports, even with responses that are still being read."""
        self.unanswered.close()
        inners, self._inner, self._retired = [*self._retired, *([self._inner] if self._inner else ())], None, []
        for inner in inners:
            await inner.close()

    async def send(self, request: Request) -> Response:
        inner = self._inner
        if inner is None:
            raise ConnectError(f"{request}: there is no connection to this worker")
        inner.reading += 1
        self.unanswered.sent()
        sent = self._clock.monotonic()
        try:
            response = await inner.transport.send(request)
        except BaseException:
            self.unanswered.ended()
            await inner.release()
            raise
        self.unanswered.ended()
        if response.status < 500:
            self._heard()
            self.worker_clock.answered(response.headers.get("date", ""), sent)
        if response.whole is not None and len(response.whole) <= self._max_size:
            await inner.release()
            return response
        return Response(response.status, response.headers, self._read(request, response), _closer(inner, response))

    def _heard(self) -> None:
        self.heard_at = self._clock.monotonic()
        self.unanswered.heard()

    async def _read(self, request: Request, response: Response) -> AsyncIterator[bytes]:
        path, _, query = request.path.partition("?")
        by_line = "watch=true" in query
        bounded = by_line or not path.endswith("/log")
        size = 0
        async for chunk in response.chunks():
            self._heard()
            size = _open_line(size, chunk) if by_line else size + len(chunk)
            if bounded and size > self._max_size:
                what = "an event" if by_line else "an answer"
                raise ProtocolError(f"{request.method} {path}: {what} of more than {self._max_size} bytes")
            yield chunk


def _open_line(size: int, chunk: bytes) -> int:
    """The length of the line that has not ended yet."""
    end = chunk.rfind(b"\n")
    return size + len(chunk) if end < 0 else len(chunk) - end - 1


def _closer(inner: _Inner, response: Response) -> Callable[[], Awaitable[None]]:
    async def close() -> None:
        try:
            await response.close()
        finally:
            await inner.release()

    return close
