"""`kubectl exec` and `attach`: a container's streams over a websocket; the first byte of each message is the channel.

Channel 0 is stdin, 1 stdout, 2 stderr, 3 the final Status, 4 the terminal size. Version 5 adds 255, which closes
another channel.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pty
import signal
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final

import msgspec
from aiohttp import WSMsgType, web

from jobrelay.apimachinery.gojson import UNREADABLE
from jobrelay.cluster.apiserver import errors
from jobrelay.cluster.apiserver.request import ApiRequest, flag
from jobrelay.cluster.apiserver.response import ApiResponse
from jobrelay.cluster.node.process.container import Container
from jobrelay.cluster.node.process.launcher import Process, StartError
from jobrelay.cluster.node.process.stdio import StdinWriter, open_reader

PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")
STDIN, STDOUT, STDERR, STATUS, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
_PIECE: Final = 32 * 1024
_DRAIN: Final = 2.0
_Cells = Annotated[int, msgspec.Meta(ge=0, le=65_535)]


def connect(container: Container, request: ApiRequest) -> ApiResponse:
    """The answer to an exec or attach request: an upgrade to a websocket."""
    if request.header("upgrade").lower() != "websocket":
        raise errors.bad_request("Upgrade request required: this server speaks websockets (v5.channel.k8s.io)")
    if request.info.subresource not in ("attach", "exec"):
        raise errors.bad_request("port forwarding is not supported: pods listen on this machine's own ports")
    session = _Attach if request.info.subresource == "attach" else _Exec
    return ApiResponse(101, upgrade=lambda raw: _serve(raw, lambda socket: session(container, request, socket).run()))


async def _serve(
    raw: web.BaseRequest, work: Callable[[web.WebSocketResponse], Awaitable[dict[str, Any]]]
) -> web.WebSocketResponse:
    socket = web.WebSocketResponse(protocols=PROTOCOLS, heartbeat=30.0)
    await socket.prepare(raw)
    status = await work(socket)
    with contextlib.suppress(ConnectionError):
        await socket.send_bytes(bytes([STATUS]) + json.dumps(status).encode())
        await socket.close()
    return socket


def final_status(code: int) -> dict[str, Any]:
    """How a command ended, as a Status."""
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {}, "status": "Failure", "reason": "NonZeroExitCode",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }  # fmt: skip


class _Exec:
    """One command in a container."""

    def __init__(self, container: Container, request: ApiRequest, socket: web.WebSocketResponse) -> None:
        self._container, self._socket = container, socket
        self._argv = request.query.get("command") or []
        self._tty, self._stdin = flag(request.query, "tty"), flag(request.query, "stdin")
        self._input: StdinWriter | None = None

    async def run(self) -> dict[str, Any]:
        try:
            process, outputs = await (self._on_terminal() if self._tty else self._on_pipes())
        except StartError as error:
            return {"metadata": {}, "status": "Failure", "reason": "InternalError", "message": str(error), "code": 500}
        sending = [asyncio.create_task(self._send(channel, fd)) for channel, fd in outputs]
        receiving = asyncio.create_task(self._receive(process))
        try:
            code = await asyncio.shield(process.exited)
            await asyncio.wait(sending, timeout=_DRAIN)
        finally:
            for task in (*sending, receiving):
                task.cancel()
            await asyncio.wait([*sending, receiving])
            self._container.pod.host.launcher.signal(process, signal.SIGKILL)
            self._end_input()
        return final_status(code)

    async def _on_terminal(self) -> tuple[Process, list[tuple[int, int]]]:
        ours, theirs = pty.openpty()
        try:
            process = await self._container.spawn(self._argv, theirs, theirs, theirs, tty=True)
        finally:
            os.close(theirs)
        self._input = StdinWriter(os.dup(ours))
        return process, [(STDOUT, ours)]

    async def _on_pipes(self) -> tuple[Process, list[tuple[int, int]]]:
        out, err, into = os.pipe(), os.pipe(), os.pipe()
        self._input = StdinWriter(into[1])
        try:
            process = await self._container.spawn(self._argv, into[0], out[1], err[1])
        finally:
            for fd in (into[0], out[1], err[1]):
                os.close(fd)
        if not self._stdin:
            self._end_input()
        return process, [(STDOUT, out[0]), (STDERR, err[0])]

    async def _send(self, channel: int, fd: int) -> None:
        reader, transport = await open_reader(fd)
        try:
            with contextlib.suppress(OSError):  # a terminal whose last process has exited
                while data := await reader.read(_PIECE):
                    await self._socket.send_bytes(bytes([channel]) + data)
        finally:
            transport.close()

    async def _receive(self, process: Process) -> None:
        """Feeds the command's input; when the client disconnects, the command is killed."""
        await receive(self._socket, self._input, self._end_input)
        self._container.pod.host.launcher.signal(process, signal.SIGKILL)

    def _end_input(self) -> None:
        if self._input is not None:
            self._input.close()


async def receive(socket: web.WebSocketResponse, into: StdinWriter | None, ended: Callable[[], None]) -> None:
    """Handles the client's messages until it disconnects; `ended` is called when it closes its input."""
    async for message in socket:
        if message.type is not WSMsgType.BINARY or not message.data:
            continue
        channel, data = message.data[0], message.data[1:]
        if channel == STDIN and into is not None:
            await into.write(data)
        elif channel == RESIZE and into is not None:
            if (size := _terminal_size(data)) is not None:
                into.resize(*size)
        elif channel == CLOSE and data[:1] == bytes([STDIN]):
            ended()


class _TerminalSize(msgspec.Struct):
    width: _Cells = msgspec.field(name="Width", default=0)
    height: _Cells = msgspec.field(name="Height", default=0)


def _terminal_size(data: bytes) -> tuple[int, int] | None:
    """The width and height in a message of the terminal's size; None if it is none: like a kubelet, such is ignored."""
    try:
        size = msgspec.json.decode(data, type=_TerminalSize)
    except UNREADABLE:
        return None
    return size.width, size.height


class _Attach:
    """A container's own streams, until it ends or the client disconnects, which does not affect the container."""

    def __init__(self, container: Container, request: ApiRequest, socket: web.WebSocketResponse) -> None:
        assert container.stdio is not None
        self._stdio, self._socket = container.stdio, socket
        self._stdin = flag(request.query, "stdin")
        self._wanted = {name for name in ("stdout", "stderr") if flag(request.query, name)}

    async def run(self) -> dict[str, Any]:
        pieces: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue()
        stop_listening = self._stdio.listen(lambda stream, data: pieces.put_nowait((stream, data)))
        into = self._stdio.input if self._stdin else None
        tasks = {
            asyncio.create_task(self._send(pieces)),
            asyncio.create_task(receive(self._socket, into, self._stdio.client_left)),
        }
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop_listening()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            if self._stdin:
                self._stdio.client_left()
        return final_status(0)

    async def _send(self, pieces: asyncio.Queue[tuple[str, bytes]]) -> None:
        with contextlib.suppress(ConnectionError):
            while (piece := await pieces.get())[0]:
                stream, data = piece
                if stream in self._wanted:
                    await self._socket.send_bytes(bytes([STDERR if stream == "stderr" else STDOUT]) + data)
