"""Reading a watch: bytes in, events out.

A watch is one endless answer with one JSON document per line. Chunks respect no boundary, so lines are put together
first, with a bound on their size (a server that never ends a line must not fill our memory). An ERROR event is raised
as the exception its Status stands for; too old a resourceVersion thus arrives as `Expired`, exactly as when the server
answers 410 straight away. A stream that ends between lines ended normally: servers close watches every few minutes.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from enum import StrEnum

import msgspec

from .errors import ProtocolError, Status, TransportError, error_from_status
from .objects import Object, decode_object

__all__ = ["INITIAL_EVENTS_END", "MAX_LINE", "EventType", "WatchEvent", "decode_event", "read_events", "split_lines"]

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""Annotation on the bookmark that ends the initial state of a watch with `sendInitialEvents`."""

MAX_LINE = 16 * 1024 * 1024


class EventType(StrEnum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """What happened, and the object as it was right after (for DELETED: as it last was)."""

    type: EventType
    object: Object

    @property
    def ends_initial_events(self) -> bool:
        """Whether everything that existed has now been sent."""
        return self.type is EventType.BOOKMARK and self.object.metadata.annotations.get(INITIAL_EVENTS_END) == "true"


class _RawEvent(msgspec.Struct, gc=False):
    type: EventType
    object: msgspec.Raw


_HEAD, _MIDDLE = b'{"type":"', b'","object":'
_KINDS = {kind.value.encode(): kind for kind in EventType if kind is not EventType.ERROR}
_event_decoder = msgspec.json.Decoder(_RawEvent)
_status_decoder = msgspec.json.Decoder(Status)


async def split_lines(chunks: AsyncIterator[bytes], limit: int = MAX_LINE) -> AsyncIterator[bytes]:
    """Lines without their newline; empty ones are skipped."""
    parts: list[bytes] = []
    size = 0
    async for chunk in chunks:
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            line = b"".join((*parts, end)) if parts else end
            parts.clear()
            size = 0
            if line:
                yield line
        if rest:
            parts.append(rest)
            size += len(rest)
        if size > limit:
            raise ProtocolError(f"a line of the watch is longer than {limit} bytes")
    if parts:
        raise TransportError("the watch was cut in the middle of an event")


def decode_event(line: bytes) -> WatchEvent:
    """Read one line, raising what an ERROR event stands for."""
    if (usual := _usual_event(line)) is not None:
        return usual
    try:
        event = _event_decoder.decode(line)
        if event.type is EventType.ERROR:
            raise error_from_status(_status_decoder.decode(event.object))
    except (msgspec.DecodeError, RecursionError) as error:
        raise ProtocolError(f"not a watch event: {error}") from error
    return WatchEvent(event.type, decode_object(event.object))


def _usual_event(line: bytes) -> WatchEvent | None:
    """An event written the way API servers write it, in one reading; None for any other."""
    end = line.find(b'"', len(_HEAD))
    kind = _KINDS.get(line[len(_HEAD) : end])
    if kind is None or not (line.startswith(_HEAD) and line.startswith(_MIDDLE, end) and line.endswith(b"}")):
        return None
    try:
        return WatchEvent(kind, decode_object(line[end + len(_MIDDLE) : -1]))
    except ProtocolError:
        return None


async def read_events(chunks: AsyncIterator[bytes], limit: int = MAX_LINE) -> AsyncGenerator[WatchEvent, None]:
    """The events of a watch stream, until it ends."""
    async for line in split_lines(chunks, limit):
        yield decode_event(line)
