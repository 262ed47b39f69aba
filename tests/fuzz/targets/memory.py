"""Connections to a server without a socket: bytes are handed to its protocol, and its answers collected."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from jobrelay.cluster.apiserver import heavy, server

_TURNS = 400  # of the loop, in which a connection that was closed must have ended


class MemoryTransport(asyncio.Transport):
    """The server's side of a connection."""

    def __init__(self, loop: asyncio.AbstractEventLoop, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self._loop, self._protocol, self._closing = loop, protocol, False
        self.written = bytearray()

    def write(self, data: Any) -> None:
        if not self._closing:
            self.written += data

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._loop.call_soon(self._protocol.connection_lost, None)

    def abort(self) -> None:
        self.close()

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        assert isinstance(protocol, asyncio.Protocol)
        self._protocol = protocol

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def can_write_eof(self) -> bool:
        return False


async def converse(make: Callable[[], asyncio.Protocol], *pieces: bytes) -> bytes:
    """What a server answers to some bytes; the client then closes the connection, and all its tasks must end."""
    loop = asyncio.get_running_loop()
    before = asyncio.all_tasks()
    protocol = make()
    transport = MemoryTransport(loop, protocol)
    protocol.connection_made(transport)
    for piece in pieces:
        if not transport.is_closing():
            transport.get_protocol().data_received(piece)  # type: ignore[attr-defined]
        await _turns(20)
    if not transport.is_closing():
        protocol.eof_received()
    transport.close()
    await _ended(before)
    return bytes(transport.written)


async def _turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def _ended(before: set[asyncio.Task[Any]]) -> None:
    for _ in range(_TURNS):
        if not asyncio.all_tasks() - before:
            return
        await asyncio.sleep(0)
    left = asyncio.all_tasks() - before
    await asyncio.wait(left, timeout=5)  # large requests are answered beside the loop
    assert all(task.done() for task in left), f"after its connection was closed, there still is {left}"


@contextlib.contextmanager
def strict_runner() -> Iterator[asyncio.Runner]:
    """A loop on which an error that nobody handles is a finding."""
    problems: list[dict[str, Any]] = []
    with asyncio.Runner() as runner:
        runner.get_loop().set_exception_handler(lambda loop, context: problems.append(context))
        yield runner
        assert not problems, problems


@contextlib.contextmanager
def quiet(name: str) -> Iterator[None]:
    """Keeps a logger from telling of each bad request."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextlib.contextmanager
def on_the_loop() -> Iterator[None]:
    """Has large requests computed where they can be traced, on the loop, and no exception kept from us."""

    async def here(compute: Callable[[], Any]) -> Any:
        return compute()

    with mock.patch.object(heavy, "beside", here), mock.patch.object(server, "log", _RaisingLog()):
        yield


class _RaisingLog:
    """The log of the API server: an exception that it would log becomes the finding."""

    def exception(self, event: str, **fields: Any) -> None:
        raise
