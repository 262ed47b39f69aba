"""Decoding the stream of a watch.

A watch is one response with one JSON document per line. Chunks end anywhere, so lines are assembled first, with a bound
on their size. An ERROR event is raised as the exception of its Status, so an old resourceVersion is `Expired` here as
well as in a 410 response. A stream that ends between lines has ended normally.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from enum import StrEnum

import msgspec

from jobrelay.apimachinery.gojson import UNREADABLE

from .errors import ProtocolError, Status, TransportError, error_from_status
from .objects import Object, decode_object

__all__ = ["INITIAL_EVENTS_END", "MAX_LINE", "EventType", "WatchEvent", "decode_event", "read_events", "split_lines"]

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""The annotation of the bookmark that ends the initial events of a watch with `sendInitialEvents`."""

MAX_LINE = 16 * 1024 * 1024


class EventType(StrEnum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """A change of an object, and the object after it (for DELETED its last state)."""

    type: EventType
    object: Object

    @property
    def ends_initial_events(self) -> bool:
        """Whether this is the bookmark after the initial events."""
        return self.type is EventType.BOOKMARK and self.object.metadata.annotations.get(INITIAL_EVENTS_END) == "true"


class _RawEvent(msgspec.Struct, gc=False):
    type: EventType
    object: msgspec.Raw


_HEAD, _MIDDLE = b'{"type":"', b'","object":'
_KINDS = {kind.value.encode(): kind for kind in EventType if kind is not EventType.ERROR}
_event_decoder = msgspec.json.Decoder(_RawEvent)
_status_decoder = msgspec.json.Decoder(Status)


async def split_lines(chunks: AsyncIterator[bytes], limit: int = MAX_LINE) -> AsyncIterator[bytes]:
    """The lines of a stream, without newlines and empty lines."""
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
    """Decode one line; an ERROR event is raised as an exception."""
    if (usual := _usual_event(line)) is not None:
        return usual
    try:
        event = _event_decoder.decode(line)
        if event.type is EventType.ERROR:
            raise error_from_status(_status_decoder.decode(event.object))
    except UNREADABLE as error:
        raise ProtocolError(f"not a watch event: {error}") from error
    return WatchEvent(event.type, decode_object(event.object))


def _usual_event(line: bytes) -> WatchEvent | None:
    """Decode an event in the form in which API servers write it without decoding it twice; None for any other form."""
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
