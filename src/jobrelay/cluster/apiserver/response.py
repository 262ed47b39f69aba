"""An answer: a status code and either a whole body or a stream that pushes its chunks itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol


class Sink(Protocol):
    """Where a stream writes to: one client."""

    def write(self, data: bytes) -> None:
        """Sends a piece; never blocks."""

    def backlog(self) -> int:
        """How many bytes wait to be sent."""

    def end(self) -> None:
        """Ends the answer."""


class Stream(Protocol):
    """The body of a watch or a followed log."""

    def start(self, sink: Sink) -> None: ...

    def stop(self) -> None:
        """The client has gone."""


@dataclass(slots=True)
class ApiResponse:
    code: int
    body: bytes = b""
    media: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    stream: Stream | None = None
    upgrade: Callable[[Any], Awaitable[Any]] | None = None
    pending: Callable[[], ApiResponse] | None = None
    """What makes the answer, where that takes long: it is then called beside the loop."""

    def fields(self) -> list[tuple[str, str]]:
        """The header fields, with one `Warning` for each warning."""
        found = {"Cache-Control": "no-cache, private"} | self.headers
        if self.media:
            found["Content-Type"] = self.media
        return [*found.items(), *(("Warning", f'299 - "{_quoted(text)}"') for text in _shortened(self.warnings))]


_ALL_WARNINGS: Final = 4 * 1024  # characters; beyond that each is cut
_ONE_WARNING: Final = 256


def _shortened(warnings: list[str]) -> list[str]:
    """The warnings to send: if all together are too long, each is cut, and those past the limit are dropped."""
    if sum(map(len, warnings)) <= _ALL_WARNINGS:
        return warnings
    kept, size = [], 0
    for text in warnings:
        if size >= _ALL_WARNINGS:
            break
        kept.append(text[:_ONE_WARNING])
        size += len(kept[-1])
    return kept


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
