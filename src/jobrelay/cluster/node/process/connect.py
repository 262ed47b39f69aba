"""`kubectl exec` and `attach`: a container's streams over a websocket, one byte of channel before each message.

Channel 0 is stdin, 1 stdout, 2 stderr, 3 the final Status, 4 terminal sizes; version 5 adds 255, which closes another channel.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import pty
import signal
import struct
import termios
from collections.abc import Awaitable, Callable
from typing import Any, Final

from aiohttp import WSMsgType, web

from jobrelay.cluster.apiserver import errors
from jobrelay.cluster.apiserver.request import ApiRequest, flag
from jobrelay.cluster.apiserver.response import ApiResponse
from jobrelay.cluster.node.process.container import Container
from jobrelay.cluster.node.process.launcher import Process, StartError

PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")
STDIN, STDOUT, STDERR, STATUS, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
_PIECE: Final = 32 * 1024
_DRAIN: Final = 2.0


def connect(container: Container, request: ApiRequest) -> ApiResponse:
    """The answer to an exec or attach request: an upgrade to a websocket."""
    if request.header("upgrade").lower() != "websocket":
        raise errors.bad_request("Upgrade request required: this server speaks websockets (v5.channel.k8s.io)")
    if request.info.subresource == "attach":
        return ApiResponse(101, upgrade=lambda raw: _serve(raw, lambda socket: _attach(container, socket)))
    if request.info.subresource != "exec":
        raise errors.bad_request("port forwarding is not supported: pods listen on this machine's own ports")
    return ApiResponse(101, upgrade=lambda raw: _serve(raw, lambda socket: _Exec(container, request, socket).run()))


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
        self._input = -1

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
            self._close_input()
        return final_status(code)

    async def _on_terminal(self) -> tuple[Process, list[tuple[int, int]]]:
        ours, theirs = pty.openpty()
        try:
            process = await self._container.spawn(self._argv, theirs, theirs, theirs, tty=True)
        finally:
            os.close(theirs)
        self._input = os.dup(ours)
        return process, [(STDOUT, ours)]

    async def _on_pipes(self) -> tuple[Process, list[tuple[int, int]]]:
        out, err, into = os.pipe(), os.pipe(), os.pipe()
        self._input = into[1]
        try:
            process = await self._container.spawn(self._argv, into[0], out[1], err[1])
        finally:
            for fd in (into[0], out[1], err[1]):
                os.close(fd)
        if not self._stdin:
            self._close_input()
        return process, [(STDOUT, out[0]), (STDERR, err[0])]

    async def _send(self, channel: int, fd: int) -> None:
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(fd, "rb", 0)
        )
        try:
            with contextlib.suppress(OSError):  # a terminal whose last user has gone
                while data := await reader.read(_PIECE):
                    await self._socket.send_bytes(bytes([channel]) + data)
        finally:
            transport.close()

    async def _receive(self, process: Process) -> None:
        """Carries what the client sends; a client that leaves takes the command with it."""
        async for message in self._socket:
            if message.type is not WSMsgType.BINARY or not message.data:
                continue
            channel, data = message.data[0], message.data[1:]
            if channel == STDIN and self._input >= 0 and data:
                with contextlib.suppress(BrokenPipeError):
                    await asyncio.to_thread(os.write, self._input, data)
            elif channel == RESIZE and self._tty and self._input >= 0:
                size = json.loads(data)
                packed = struct.pack("HHHH", size.get("Height", 24), size.get("Width", 80), 0, 0)
                fcntl.ioctl(self._input, termios.TIOCSWINSZ, packed)
            elif channel == CLOSE and data[:1] == bytes([STDIN]):
                self._close_input()
        self._container.pod.host.launcher.signal(process, signal.SIGKILL)

    def _close_input(self) -> None:
        if self._input >= 0:
            os.close(self._input)
            self._input = -1


async def _attach(container: Container, socket: web.WebSocketResponse) -> dict[str, Any]:
    """Sends a container's output from now on, until it ends."""
    if container.log is None:
        return final_status(0)
    lines: asyncio.Queue[bytes | None] = asyncio.Queue()
    leave = container.log.listen(lines.put_nowait)
    try:
        while (record := await lines.get()) is not None:
            _, stream, kind, line = record.split(b" ", 3)
            channel = STDERR if stream == b"stderr" else STDOUT
            await socket.send_bytes(bytes([channel]) + (line if kind == b"F" else line.removesuffix(b"\n")))
    except ConnectionError:
        pass
    finally:
        leave()
    code = await asyncio.shield(container.process.exited) if container.process is not None else 0
    return final_status(code)
