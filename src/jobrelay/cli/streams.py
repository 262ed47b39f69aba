"""The streams of a command that runs elsewhere: this process's stdin, stdout and stderr, and its terminal.

stdin is read by a thread of its own, since files, pipes and terminals cannot all be waited for in an event loop. The
thread does not keep the process from ending. A terminal is raw while the command has it, so that every key, Ctrl-C too,
goes to the command; it is restored whatever ends the command.
"""

from __future__ import annotations

import asyncio
import io
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Final

import click

from jobrelay.cli.errors import Failure
from jobrelay.kube.remote_command import CLOSE, STATUS, STDERR, STDIN, STDOUT, V5, resize_message

if TYPE_CHECKING:
    from aiohttp import ClientWebSocketResponse

__all__ = ["CommandStreams"]

_PIECE: Final = 32 * 1024


class CommandStreams:
    """Copies between this process and a command's socket."""

    def __init__(self, socket: ClientWebSocketResponse, *, stdin: bool, tty: bool) -> None:
        self._socket, self._stdin, self._tty = socket, stdin, tty
        self._sending: set[asyncio.Task[None]] = set()

    async def run(self) -> bytes:
        """Copy until the command ends; its result. Raises Failure if the connection ends before."""
        with self._terminal() if self._tty else nullcontext():
            if self._stdin:
                threading.Thread(target=self._copy_stdin, args=(asyncio.get_running_loop(),), daemon=True).start()
            status = await self._copy_output()
        if status is None:
            raise Failure(
                "the connection ended before the command did", "look with `jobrelay get` whether it still runs"
            )
        return status

    async def _copy_output(self) -> bytes | None:
        async for message in self._socket:
            if not isinstance(message.data, bytes) or not message.data:
                continue
            channel, data = message.data[0], message.data[1:]
            if channel == STATUS:
                return data
            if channel in (STDOUT, STDERR):
                stream = sys.stdout.buffer if channel == STDOUT else sys.stderr.buffer
                stream.write(data)
                stream.flush()
        return None

    def _copy_stdin(self, loop: asyncio.AbstractEventLoop) -> None:
        """In a thread: send what is read, each piece when the one before was sent, then that it has ended."""
        read = _reader()
        with suppress(OSError, RuntimeError, CancelledError):
            while data := read(_PIECE):
                self._send_from_thread(bytes([STDIN]) + data, loop)
            if self._socket.protocol == V5:
                self._send_from_thread(bytes([CLOSE, STDIN]), loop)

    def _send_from_thread(self, message: bytes, loop: asyncio.AbstractEventLoop) -> None:
        if loop.is_closed():
            raise RuntimeError("the command has ended")
        asyncio.run_coroutine_threadsafe(self._socket.send_bytes(message), loop).result()

    @contextmanager
    def _terminal(self) -> Iterator[None]:
        """Raw, if it is read; its size is sent now and when it changes."""
        loop, this = asyncio.get_running_loop(), asyncio.current_task()
        assert this is not None
        ended_by: list[int] = []

        def end(number: int) -> None:
            ended_by.append(number)
            this.cancel()

        loop.add_signal_handler(signal.SIGWINCH, self._send_size)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, end, number)
        self._send_size()
        try:
            with _raw(sys.stdin.fileno()) if self._stdin else nullcontext():
                yield
        except asyncio.CancelledError:
            if not ended_by:
                raise
            raise click.exceptions.Exit(128 + ended_by[0]) from None
        finally:
            for number in (signal.SIGWINCH, signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(number)

    def _send_size(self) -> None:
        task = asyncio.ensure_future(self._send(resize_message(*_size())))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _send(self, message: bytes) -> None:
        with suppress(ConnectionError):
            await self._socket.send_bytes(message)


def _size() -> tuple[int, int]:
    for descriptor in (0, 1, 2):
        with suppress(OSError):
            return os.get_terminal_size(descriptor)
    return shutil.get_terminal_size()


def _reader() -> Callable[[int], bytes]:
    """Reads from stdin what there is. Not by its buffer: a thread that waits in it would hold a lock at exit."""
    try:
        descriptor = sys.stdin.fileno()
    except io.UnsupportedOperation:
        return sys.stdin.buffer.read
    return lambda most: os.read(descriptor, most)


@contextmanager
def _raw(descriptor: int) -> Iterator[None]:
    import termios
    import tty

    before = termios.tcgetattr(descriptor)
    tty.setraw(descriptor)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
