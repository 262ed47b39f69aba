"""The client of the supervisor: starts and signals programs, and receives their exit codes.

The supervisor is started when the first pod needs it, so that a cluster without pods costs nothing. If it dies, all of
its processes end, and another is started to make sure of that.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import pathlib
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from jobrelay.cluster.node.process.security import ProcessUser
from jobrelay.logs import get_logger

log = get_logger(__name__)
_PROGRAM: Final = pathlib.Path(__file__).with_name("supervisor.py")
_START_TIMEOUT: Final = 10.0
_CONCURRENT_SPAWNS: Final = 32  # the kernel limits how many descriptors may be in flight
_STOPPING: Final = "the node is stopping"
_LOST: Final = 9  # the signal reported for processes whose supervisor died


class StartError(Exception):
    """A program could not be started; the message says why."""


class BindMount(NamedTuple):
    """What is mounted where: a folder or file, or a path below it that must not lead out of it."""

    source: str
    target: str
    read_only: bool = False
    sub_path: str = ""

    @property
    def path(self) -> str:
        return f"{self.source}/{self.sub_path}" if self.sub_path else self.source


@dataclass(slots=True)
class Program:
    """A program to start, with its environment and root."""

    argv: Sequence[str]
    env: dict[str, str]
    cwd: str = "/"
    program: str = ""  # what is executed, if not argv[0]
    root: str = ""  # an empty folder that becomes the root; needs mounts
    binds: Sequence[BindMount] = ()
    join: int = 0  # the process whose mounts are used instead
    within: int = 0  # the id of the process that it ends with
    tty: bool = False
    user: ProcessUser | None = None  # None for the current user
    cpus: int = 0  # how many it may use; 0 for all
    no_new_privileges: bool = False

    def encode(self) -> bytes:
        found = {
            "program": self.program or self.argv[0], "argv": list(self.argv), "env": self.env, "cwd": self.cwd,
            "root": self.root, "binds": list(self.binds), "join": self.join, "tty": self.tty,
            "within": self.within,
            "user": self.user, "cpus": self.cpus, "no_new_privileges": self.no_new_privileges,
        }  # fmt: skip
        return json.dumps(found).encode()


@dataclass(slots=True)
class Process:
    """A program that was started."""

    id: int
    pid: int
    exited: asyncio.Future[int] = field(repr=False)
    """Its exit code; 128 plus the signal's number if a signal ended it."""


class Launcher:
    """Starts programs through a supervisor, which it starts itself."""

    def __init__(self, mark: str, *, may_mount: bool = True) -> None:
        self._mark, self._may_mount = mark, may_mount
        self._numbers = itertools.count(1)
        self._control: socket.socket | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._starting: dict[int, asyncio.Future[int]] = {}
        self._running: dict[int, asyncio.Future[int]] = {}
        self._outbox: deque[tuple[bytes, Sequence[int]]] = deque()
        self._slots = asyncio.Semaphore(_CONCURRENT_SPAWNS)
        self._hello: asyncio.Future[str] | None = None
        self._ready: asyncio.Task[None] | None = None
        self._closed = False
        self.mounts = ""
        """How containers get their own mounts: as `root`, in a `user` namespace, or not at all (empty)."""

    async def ready(self) -> None:
        """Returns when programs can be started and `mounts` is known. Raises StartError."""
        if self._closed:
            raise StartError(_STOPPING)
        if self._ready is None:
            self._ready = asyncio.create_task(self._start())
        try:
            await asyncio.shield(self._ready)
        except (OSError, TimeoutError) as error:
            self._ready = None
            raise StartError(f"the supervisor of the node's processes did not start: {error!r}") from error

    async def _start(self) -> None:
        if self._child is not None:
            await asyncio.to_thread(self._child.wait)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-S", "-E", "-s", str(_PROGRAM), str(theirs.fileno()), self._mark]
        self._child = subprocess.Popen(  # noqa: ASYNC220  (forks without waiting)
            command, pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            start_new_session=True, cwd="/",
        )  # fmt: skip
        theirs.close()
        ours.setblocking(False)
        self._control = ours
        loop = asyncio.get_running_loop()
        self._hello = loop.create_future()
        loop.add_reader(ours.fileno(), self._readable)
        async with asyncio.timeout(_START_TIMEOUT):
            mounts = await self._hello
            self.mounts = mounts if self._may_mount else ""

    async def spawn(self, program: Program, stdin: int, stdout: int, stderr: int) -> Process:
        """Starts a program on these descriptors, which the caller still has to close. Raises StartError."""
        await self.ready()
        async with self._slots:
            file = os.memfd_create("program")
            try:
                os.write(file, program.encode())
                return await self._spawn([file, stdin, stdout, stderr])
            finally:
                os.close(file)

    async def _spawn(self, descriptors: Sequence[int]) -> Process:
        if self._control is None:
            raise StartError("the supervisor of the node's processes has died")
        id = next(self._numbers)
        loop = asyncio.get_running_loop()
        self._starting[id] = started = loop.create_future()
        self._running[id] = exited = loop.create_future()
        message = json.dumps({"op": "spawn", "id": id}).encode(), descriptors
        self._send(*message)
        try:
            return Process(id, await started, exited)
        except StartError:
            self._running.pop(id, None)
            raise
        finally:
            self._starting.pop(id, None)
            with contextlib.suppress(ValueError):
                self._outbox.remove(message)

    def signal(self, process: Process, number: int) -> None:
        """Signals a program and its process group."""
        if self._control is not None and not process.exited.done():
            self._send(json.dumps({"op": "kill", "id": process.id, "signal": int(number)}).encode())

    def _send(self, data: bytes, descriptors: Sequence[int] = ()) -> None:
        """Sends a message, or queues it until the socket is writable."""
        self._outbox.append((data, descriptors))
        if len(self._outbox) == 1:
            self._flush()

    def _flush(self) -> None:
        if self._control is None:
            return
        loop, fd = asyncio.get_running_loop(), self._control.fileno()
        try:
            while self._outbox:
                data, descriptors = self._outbox[0]
                socket.send_fds(self._control, [data], list(descriptors))
                self._outbox.popleft()
            loop.remove_writer(fd)
        except BlockingIOError:
            loop.add_writer(fd, self._flush)
        except OSError as error:
            log.error("sending to the supervisor of the node's processes failed", error=str(error))
            self._replace()

    async def stop(self) -> None:
        """Ends all processes; nothing can be started any more."""
        self._closed = True
        if self._ready is not None:
            self._ready.cancel()
        if self._control is None or self._child is None:
            return
        self._disconnect()
        child, self._child = self._child, None
        await asyncio.to_thread(child.wait)

    def _readable(self) -> None:
        while self._control is not None:
            try:
                data = self._control.recv(65536)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._replace()
                return
            self._handle(json.loads(data))

    def _replace(self) -> None:
        """Replaces a supervisor that died, unless it failed to start; the new one ends the processes that are left."""
        log.error("the supervisor of the node's processes has died")
        worked = self._hello is not None and self._hello.done()
        self._disconnect()
        if worked:
            self._ready = asyncio.create_task(self._start())

    def _handle(self, message: dict[str, Any]) -> None:
        id = message.get("id", 0)
        if message["op"] == "hello" and self._hello is not None:
            self._hello.set_result(message["mounts"])
        elif message["op"] == "spawned":
            started = self._starting.get(id)
            if started is not None and not started.done():
                if "error" in message:
                    started.set_exception(StartError(message["error"]))
                else:
                    started.set_result(message["pid"])
        elif message["op"] == "exit":
            exited = self._running.pop(id, None)
            if exited is not None and not exited.done():
                exited.set_result(_code(message["status"]))

    def _disconnect(self) -> None:
        control, self._control = self._control, None
        if control is not None:
            loop = asyncio.get_running_loop()
            loop.remove_reader(control.fileno())
            loop.remove_writer(control.fileno())
            control.close()
            self._outbox.clear()
        self._ready = None
        if self._hello is not None and not self._hello.done():
            self._hello.set_exception(ConnectionResetError("it ended at once"))
        for started in self._starting.values():
            if not started.done():
                started.set_exception(StartError(_STOPPING))
        for exited in self._running.values():
            if not exited.done():
                exited.set_result(128 + _LOST)
        self._running.clear()


def _code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code
