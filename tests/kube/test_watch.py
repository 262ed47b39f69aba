from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.kube import Expired, ProtocolError, TransportError
from jobrelay.kube.watch import decode_event, read_events, split_lines

from .scripted import bookmark, configmap, event

GONE = {"kind": "Status", "status": "Failure", "reason": "Expired", "code": 410, "message": "too old"}


async def chunked(data: bytes, cuts: list[int]) -> AsyncIterator[bytes]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for start, end in pairwise(edges):
        yield data[start:end]


@given(cuts=st.lists(st.integers(0, 10_000), max_size=8))
async def test_events_survive_any_chunking(cuts: list[int]) -> None:
    data = event("ADDED", configmap("a", "1", text="ü\\n")) + b"\n" + event("DELETED", configmap("b", "2"))
    seen = [one async for one in read_events(chunked(data, cuts))]
    assert [(one.type, one.object.name) for one in seen] == [("ADDED", "a"), ("DELETED", "b")]


async def test_a_line_without_end_is_bounded() -> None:
    with pytest.raises(ProtocolError, match="longer than 10 bytes"):
        [line async for line in split_lines(chunked(b"x" * 50, [5, 9, 20]), limit=10)]


async def test_a_stream_cut_inside_an_event_is_an_error() -> None:
    with pytest.raises(TransportError, match="middle of an event"):
        [one async for one in read_events(chunked(event("ADDED", configmap())[:-5], []))]


def test_an_error_event_is_raised_as_its_status() -> None:
    with pytest.raises(Expired, match="too old"):
        decode_event(msgspec.json.encode({"type": "ERROR", "object": GONE}))


@pytest.mark.parametrize("line", [b"nonsense", b'{"type":"ODD","object":{}}', b'{"type":"ADDED","object":{}}'])
def test_what_is_not_an_event_is_refused(line: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_event(line)


def test_the_end_of_initial_events_is_told_by_an_annotation() -> None:
    assert decode_event(bookmark("5", initial_end=True)).ends_initial_events
    assert not decode_event(bookmark("5")).ends_initial_events


def test_an_event_of_endless_depth_is_nonsense() -> None:
    with pytest.raises(ProtocolError):
        decode_event(b'{"type":"ADDED","object":' + b'{"a":' * 100_000)
