"""The interface between the client and what carries its requests.

A `Transport` has one method. It may be the network, an embedded cluster in the same process, a script in a test, or
another transport with injected faults. It returns a `Response` for every HTTP status and raises `TransportError` only
if there is no response. This module imports only the standard library.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, Self

__all__ = ["Headers", "Request", "Response", "Transport"]


class Headers(Mapping[str, str]):
    """Header fields by case-insensitive name.

    For a field that was sent several times, such as `Warning`, `get_all` returns each value, and indexing returns them
    joined by commas. They are sorted by name when one is first read: for most responses that never happens.
    """

    __slots__ = ("_pairs", "_sorted")

    def __init__(self, fields: Mapping[str, str] | list[tuple[str, str]] | None = None) -> None:
        self._pairs = list(fields.items()) if isinstance(fields, Mapping) else fields or []
        self._sorted: dict[str, list[str]] | None = None

    @property
    def _fields(self) -> dict[str, list[str]]:
        if self._sorted is None:
            self._sorted = {}
            for name, value in self._pairs:
                self._sorted.setdefault(name.lower(), []).append(value)
        return self._sorted

    def __getitem__(self, name: str) -> str:
        return ", ".join(self._fields[name.lower()])

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._fields

    def __repr__(self) -> str:
        return f"Headers({dict(self)!r})"

    def get_all(self, name: str) -> list[str]:
        """Every value of a repeated field, in the order sent."""
        return list(self._fields.get(name.lower(), ()))


_NO_HEADERS = Headers()


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request: `path` starts with a slash and includes the encoded query."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    guard: Callable[[], None] | None = None
    """Called right before each time that the request is sent; raises if it must not be sent any more."""

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    def guarded(self, guard: Callable[[], None]) -> Request:
        """The same request with a guard; written out, since `dataclasses.replace` takes many times as long."""
        return Request(self.method, self.path, self.headers, self.body, guard)


class Response:
    """One HTTP response, whose body may still be arriving.

    The body can be read once, with `read()` or `chunks()`. The receiver has to close the response
    (`async with response:`); reading it to the end closes it too.
    """

    __slots__ = ("_body", "_on_close", "headers", "status")

    def __init__(
        self,
        status: int,
        headers: Mapping[str, str] | None = None,
        body: bytes | AsyncIterator[bytes] = b"",
        on_close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.status = status
        self.headers = headers if type(headers) is Headers else Headers(headers) if headers else _NO_HEADERS
        self._body = body
        self._on_close = on_close

    @property
    def whole(self) -> bytes | None:
        """The whole body if it has arrived and nothing has to be closed, else None."""
        return self._body if isinstance(self._body, bytes) and self._on_close is None else None

    async def read(self) -> bytes:
        """The whole body."""
        if isinstance(self._body, bytes):
            return self._body
        return b"".join([chunk async for chunk in self.chunks()])

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives, in pieces of any size."""
        if isinstance(self._body, bytes):
            if self._body:
                yield self._body
            return
        try:
            async for chunk in self._body:
                yield chunk
        finally:
            await self.close()

    async def close(self) -> None:
        """Release the connection; may be called twice."""
        body, self._body = self._body, b""
        on_close, self._on_close = self._on_close, None
        aclose = getattr(body, "aclose", None)
        if aclose is not None:
            await aclose()
        if on_close is not None:
            await on_close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class Transport(Protocol):
    """Sends requests to one API server."""

    async def send(self, request: Request) -> Response:
        """Send a request and return once the status and headers of the response are known."""
        ...
