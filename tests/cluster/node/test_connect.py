"""Messages of exec and attach that only a broken client sends."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import termios
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import WSMessage, WSMsgType

from jobrelay.cluster.node.process.connect import receive
from jobrelay.cluster.node.process.stdio import StdinWriter


class Socket:
    """A websocket with these messages."""

    def __init__(self, *messages: bytes) -> None:
        self._messages = messages

    async def __aiter__(self) -> AsyncIterator[WSMessage]:
        for data in self._messages:
            yield WSMessage(WSMsgType.BINARY, data, None)


async def size_after(*messages: bytes) -> tuple[int, int]:
    """Width and height of a terminal."""
    ours, theirs = pty.openpty()
    writer: Any = StdinWriter(os.dup(ours))
    try:
        await receive(Socket(*messages), writer, writer.close)  # type: ignore[arg-type]
        height, width = struct.unpack("HHHH", fcntl.ioctl(theirs, termios.TIOCGWINSZ, bytes(8)))[:2]
        return width, height
    finally:
        writer.close()
        os.close(ours)
        os.close(theirs)


async def test_a_terminal_gets_its_size() -> None:
    assert await size_after(b'\x04{"Width":120,"Height":30}') == (120, 30)


@pytest.mark.parametrize(
    "odd", [b"\x04", b"\x04[", b"\x04null", b"\x04\xff", b'\x04{"Width":99999}', b'\x04{"Width":"a"}']
)
async def test_a_size_that_is_none_is_ignored(odd: bytes) -> None:
    assert await size_after(odd, b'\x04{"Width":80,"Height":24}') == (80, 24)
