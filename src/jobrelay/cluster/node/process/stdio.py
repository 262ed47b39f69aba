"""The standard streams of one run of a container: output goes to its log, input comes from attach.

Attached clients get bytes as they come, not lines, so that prompts show. A container without `stdin` reads nothing.
With `stdinOnce`, the first attached client that disconnects closes its input.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import struct
import termios
from collections.abc import Callable, Mapping
from typing import Any

from jobrelay.cluster.node.process.logs import LineSplitter, LogFile

Listener = Callable[[str, bytes], None]  # the stream's name and data; both are empty at the end


async def open_reader(fd: int) -> tuple[asyncio.StreamReader, asyncio.ReadTransport]:
    """A reader of a pipe or terminal; closing the transport closes the descriptor."""
    reader, loop = asyncio.StreamReader(), asyncio.get_running_loop()
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(fd, "rb", 0))
    return reader, transport


class StdinWriter:
    """The writing end of a pipe or terminal. Only the writer waits for a slow reader."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        os.set_blocking(fd, False)

    async def write(self, data: bytes) -> None:
        while data and self._fd >= 0:
            try:
                data = data[os.write(self._fd, data) :]
            except BlockingIOError:
                await self._writable()
            except OSError:  # the reader is gone
                return

    async def _writable(self) -> None:
        loop, ready, fd = asyncio.get_running_loop(), asyncio.Event(), self._fd
        loop.add_writer(fd, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_writer(fd)

    def resize(self, width: int, height: int) -> None:
        """Sets the window size of a terminal."""
        packed = struct.pack("HHHH", height, width, 0, 0)
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                fcntl.ioctl(self._fd, termios.TIOCSWINSZ, packed)

    def close(self) -> None:
        if self._fd >= 0:
            asyncio.get_running_loop().remove_writer(self._fd)
            os.close(self._fd)
            self._fd = -1


class Stdio:
    """The streams of one run. `open` returns the program's ends; `release` closes ours of those once it was started."""

    def __init__(self, log: LogFile, spec: Mapping[str, Any]) -> None:
        self._log = log
        self.tty, self._stdin, self._once = bool(spec.get("tty")), bool(spec.get("stdin")), bool(spec.get("stdinOnce"))
        self.input: StdinWriter | None = None
        self._theirs: set[int] = set()
        self._splitters: list[LineSplitter] = []
        self._reading: list[asyncio.ReadTransport] = []
        self._listeners: set[Listener] = set()

    async def open(self) -> tuple[int, int, int]:
        """Standard input, output and error of the program."""
        if self.tty:
            ours, theirs = pty.openpty()
            self._theirs = {theirs}
            if self._stdin:
                self.input = StdinWriter(os.dup(ours))
            await self._read(ours, "stdout")
            return theirs, theirs, theirs
        ends = []
        for name in ("stdout", "stderr"):
            reading, writing = os.pipe()
            self._theirs.add(writing)
            ends.append(writing)
            await self._read(reading, name)
        if self._stdin:
            reading, writing = os.pipe()
            self.input = StdinWriter(writing)
        else:
            reading = os.open(os.devnull, os.O_RDONLY)
        self._theirs.add(reading)
        return reading, ends[0], ends[1]

    async def _read(self, fd: int, name: str) -> None:
        splitter = LineSplitter(self._log, name, self._received)
        self._splitters.append(splitter)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: splitter, os.fdopen(fd, "rb", 0))
        self._reading.append(transport)

    def release(self) -> None:
        for fd in self._theirs:
            os.close(fd)
        self._theirs = set()

    async def drained(self) -> None:
        """Returns when all output has been read."""
        await asyncio.gather(*(splitter.ended for splitter in self._splitters))

    def end(self) -> None:
        """The run is over."""
        if self.input is not None:
            self.input.close()
        for transport in self._reading:
            transport.close()
        for listener in tuple(self._listeners):
            listener("", b"")

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Calls `listener` with all further output; returns a function that ends this."""
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    def client_left(self) -> None:
        """A client that was connected to the input has left."""
        if self._once and self.input is not None:
            self.input.close()

    def _received(self, stream: str, data: bytes) -> None:
        for listener in tuple(self._listeners):
            listener(stream, data)
