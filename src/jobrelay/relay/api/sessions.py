"""Commands in the pods of workloads: which are asked for, how many run at once, and their websockets.

The worker is asked first, so that what it refuses is an ordinary answer. After that messages go both ways as they are,
until one side ends, or nothing has been said for long. The protocol is that of a pod's own exec, so its clients work.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Final

import msgspec
from aiohttp import ClientWebSocketResponse, WSMsgType, hdrs, web
from multidict import MultiMapping

from jobrelay.kube import Connection, Forbidden
from jobrelay.kube.clock import Clock, idle_deadline
from jobrelay.kube.remote_command import LARGEST_MESSAGE, PROTOCOLS, STATUS, command_query
from jobrelay.kube.resource import PODS
from jobrelay.kube.websocket import open_websocket
from jobrelay.relay.api.callers import Caller
from jobrelay.relay.api.failures import ApiFailure, bad_request, not_found, not_started
from jobrelay.relay.api.logs import flag, number
from jobrelay.relay.mirror_pods.choosing import Chosen, NotChosen, PodProblem, worker_forbids

MOST_SESSIONS: Final = 100
"""Commands that run at the same time through one replica."""
MOST_OF_ONE_CALLER: Final = 20
IDLE_SECONDS: Final = 4 * 3600.0
"""After so long without a message a command is ended, as kubelets do by default."""
_LARGEST_COMMAND: Final = 64 * 1024
_HEARTBEAT: Final = 30.0

Socket = web.WebSocketResponse | ClientWebSocketResponse


class ExecRequest(msgspec.Struct, frozen=True):
    """Which command is to run, where, and with which streams."""

    command: tuple[str, ...]
    container: str = ""
    pod: str = ""
    index: str = ""
    stdin: bool = False
    tty: bool = False
    protocols: tuple[str, ...] = ()
    """Those of the client that are understood here."""


def parse_exec_request(query: MultiMapping[str], headers: MultiMapping[str]) -> ExecRequest:
    """The parameters, named as those of a pod's exec where there are such; raises ApiFailure."""
    command = tuple(query.getall("command", []))
    if not command or not command[0]:
        raise bad_request("there is no command: give each word of it as a parameter `command`")
    if sum(map(len, command)) > _LARGEST_COMMAND:
        raise bad_request(f"the command has more than {_LARGEST_COMMAND} characters")
    offered = [name.strip() for line in headers.getall(hdrs.SEC_WEBSOCKET_PROTOCOL, []) for name in line.split(",")]
    understood = tuple(name for name in PROTOCOLS if name in offered)
    if headers.get(hdrs.UPGRADE, "").lower() != "websocket" or not understood:
        raise bad_request(f"exec needs an upgrade to a websocket that speaks {' or '.join(PROTOCOLS)}")
    index = number(query, "index")
    return ExecRequest(
        command,
        query.get("container", ""),
        query.get("pod", ""),
        "" if index is None else str(index),
        flag(query, "stdin"),
        flag(query, "tty"),
        understood,
    )


def failure_of(found: NotChosen) -> ApiFailure:
    """The answer where no pod can be chosen."""
    match found.problem:
        case PodProblem.NONE_RUNS:
            return not_started(found.message)
        case PodProblem.NOT_THERE:
            return not_found(found.message)
    return bad_request(f"{found.message}; choose one by the parameter pod or index")


class Sessions:
    """The commands that run at present; one that has said nothing for `idle` seconds is ended."""

    def __init__(self, clock: Clock, idle: float = IDLE_SECONDS) -> None:
        self._clock, self._idle = clock, idle
        self._of: Counter[str] = Counter()

    @contextmanager
    def admitted(self, caller: Caller) -> Iterator[None]:
        """Counts a command while it runs; raises ApiFailure if there are too many."""
        if self._of.total() >= MOST_SESSIONS or self._of[caller.name] >= MOST_OF_ONE_CALLER:
            running = f"{self._of[caller.name]} commands of {caller.name!r} run at present, {self._of.total()} of all"
            most = f"at most {MOST_OF_ONE_CALLER} and {MOST_SESSIONS} may; end one, or try again later"
            raise ApiFailure(429, "TooManyRequests", f"{running}: {most}")
        self._of[caller.name] += 1
        try:
            yield
        finally:
            self._of[caller.name] -= 1
            self._of += Counter()

    async def serve(
        self, request: web.Request, asked: ExecRequest, worker: str, connection: Connection, chosen: Chosen
    ) -> web.WebSocketResponse:
        """Run a command to its end; raises ApiFailure and KubeError if it cannot begin."""
        async with _on_worker(connection, worker, asked, chosen) as there:
            here = web.WebSocketResponse(
                protocols=(there.protocol or "",), heartbeat=_HEARTBEAT, max_msg_size=LARGEST_MESSAGE
            )
            await here.prepare(request)
            with suppress(ConnectionError):
                await self._join(here, there, worker)
        return here

    async def _join(self, here: web.WebSocketResponse, there: ClientWebSocketResponse, worker: str) -> None:
        """Pass messages on until either side has ended; what the worker has said last is passed on before that."""
        last, problem, ended = self._clock.monotonic(), f"the connection to its worker {worker} broke", False

        async def pass_on(source: Socket, target: Socket) -> None:
            nonlocal last, ended
            with suppress(ConnectionError):
                async for message in source:
                    if message.type is WSMsgType.BINARY:
                        last = self._clock.monotonic()
                        await target.send_bytes(message.data)
                        ended = ended or (source is there and message.data[:1] == bytes([STATUS]))

        tasks = [asyncio.create_task(pass_on(*way)) for way in ((here, there), (there, here))]
        try:
            async with idle_deadline(self._clock, self._idle, lambda: last):
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            problem = f"nothing was said for {self._idle:g} s"
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        if not ended:
            await here.send_bytes(bytes([STATUS]) + _broken(problem))
        await here.close()


def _broken(problem: str) -> bytes:
    """The last message about a command whose end is not known."""
    message = f"the command was left: {problem}"
    return msgspec.json.encode({"metadata": {}, "status": "Failure", "reason": "InternalError", "message": message})


@asynccontextmanager
async def _on_worker(
    connection: Connection, worker: str, asked: ExecRequest, chosen: Chosen
) -> AsyncIterator[ClientWebSocketResponse]:
    pod = chosen.pod
    query = command_query(list(asked.command), chosen.container, stdin=asked.stdin, tty=asked.tty)
    try:
        async with open_websocket(
            connection,
            PODS.path(pod.namespace, pod.name, "exec"),
            query,
            protocols=asked.protocols,
            largest=LARGEST_MESSAGE,
        ) as socket:
            yield socket
    except Forbidden as error:
        message, hint = worker_forbids(worker, pod.namespace, str(error))
        raise ApiFailure(403, "Forbidden", f"{message}\nhint: {hint}") from error
