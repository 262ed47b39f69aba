"""The light client reads answers however the network cuts them."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any, cast

import pytest

from bench.connection import Access, Sender, Unchunked

CHUNKED = b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab\nc\n\r\n3\r\nd\ne\r\n"
END = b"0\r\n\r\n"
SIZED = b"HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\nbody"


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_chunks_are_joined(size: int) -> None:
    body = Unchunked()
    assert b"".join(body.feed(part) for part in cut(CHUNKED, size)) == b"ab\nc\nd\ne"
    assert not body.ended
    assert body.feed(END) == b""
    assert body.ended


class Wire:
    """Keeps what is written."""

    def __init__(self) -> None:
        self.written: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def close(self) -> None:
        self.written.clear()


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("answer", [SIZED, CHUNKED + END])
async def test_the_next_request_follows_the_whole_answer(answer: bytes, size: int) -> None:
    sender, wire = Sender(Access("127.0.0.1", 1, cast("ssl.SSLContext", None), b"Token: x\r\n")), Wire()
    sender.connection_made(cast("Any", wire))
    done = sender.restart(iter([b"POST /1 HTTP/1.1\r\n\r\n", b"POST /2 HTTP/1.1\r\n\r\n"]), b"201")
    for number in (1, 2):
        assert len(wire.written) == number
        for part in cut(answer, size):
            sender.data_received(part)
    async with asyncio.timeout(1):
        assert await done == 2
    assert wire.written[0] == b"POST /1 HTTP/1.1\r\nToken: x\r\n\r\n"


async def test_another_status_is_an_error() -> None:
    sender = Sender(Access("127.0.0.1", 1, cast("ssl.SSLContext", None)))
    sender.connection_made(cast("Any", Wire()))
    done = sender.restart(iter([b"GET / HTTP/1.1\r\n\r\n"]), b"200")
    sender.data_received(SIZED)
    with pytest.raises(RuntimeError, match="201 Created"):
        await done
