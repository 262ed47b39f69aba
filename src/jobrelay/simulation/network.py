"""The network of a simulated fleet: between every client and every server a link that can delay, lose, repeat and cut.

A request travels in the network, not in its sender: it arrives although the sender has given up or is gone, and the
answer of a server reaches nobody if the sender is. Both ways take time, so that an effect and the knowledge of it are
two moments. Watches are streams of chunks that arrive in order.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Protocol

import msgspec

from jobrelay.kube.errors import ConnectError, TransportError
from jobrelay.kube.transport import Headers, Request, Response, Transport
from jobrelay.simulation.loop import SimulatedProcess, VirtualLoop


class Cut(StrEnum):
    """How a link is cut: what is sent is refused at once, or vanishes without a word; or only answers vanish."""

    REFUSED = "refused"
    SILENT = "silent"
    UNANSWERED = "unanswered"


class Server(Protocol):
    """What answers at the other end of a link."""

    name: str
    process: SimulatedProcess

    def entrance(self, request: Request) -> Transport | None:
        """Where a request goes in; None while nothing listens."""
        ...


@dataclass(slots=True)
class Disturbance:
    """Chances, from 0 to 1, that something happens to a request on a link, and how late things may be."""

    lose_request: float = 0.0
    lose_answer: float = 0.0
    refuse: float = 0.0
    """The server answers 429 or 5xx and does nothing."""
    fail_after: float = 0.0
    """The server does what was asked, and a 5xx is answered."""
    repeat: float = 0.0
    """The request is delivered twice."""
    late: float = 0.0
    """The request or its answer takes up to `latest` seconds."""
    latest: float = 20.0
    break_stream: float = 0.0
    """A chunk of a watch is its last: the stream ends, fails, or falls silent for ever."""
    expire: float = 0.0
    """A watch is answered with 410."""
    deny: float = 0.0
    """The server answers 401: the credentials have expired."""
    failures: tuple[int, ...] = (500, 502, 504)
    """What is answered after an effect."""
    hold_writes: float = 0.0
    """For up to how many seconds a write is on its way to the disk."""
    hold_answers: float = 0.0
    """For how many seconds the answer to a write is held back."""
    hold_events: float = 0.0
    """For up to how many seconds a watch is behind."""
    busy: float = 0.0
    """A write, but not a dry run, is put off: 429, and it may be sent again after some seconds."""


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedRequest:
    """A request that somebody waits for: `sent` is set with the next one of this method that is no dry run."""

    method: str
    sent: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(slots=True, eq=False)
class Link:
    """One client's way to one server."""

    random: Random
    cut: Cut | None = None
    cuts: int = 0
    """How many incidents have cut it: it is joined again when the last of them is over."""
    disturbance: Disturbance | None = None
    streams: list[_Stream] = field(default_factory=list)
    writes: int = 0
    """How many writes have been sent, apart from the renewal of leases."""
    expected: ExpectedRequest | None = None
    """What somebody waits for."""

    def sever(self, how: Cut) -> None:
        """Cut the link; open streams fail, or fall silent."""
        self.cut, self.cuts = how, self.cuts + 1
        for stream in list(self.streams):
            if how is Cut.REFUSED or self.random.random() < 0.3:
                stream.fail()
            else:
                stream.freeze()

    def reset(self) -> None:
        """Every open stream fails; the link itself stays as it is."""
        for stream in list(self.streams):
            stream.fail()

    def mend(self) -> None:
        """Join it again. What was frozen goes on, or never does: a connection that only one end believes in."""
        self.cuts -= 1
        if self.cuts > 0:
            return
        self.cut = None
        for stream in list(self.streams):
            if self.random.random() < 0.5:
                stream.thaw()

    def chance(self, name: str) -> bool:
        found = getattr(self.disturbance, name) if self.disturbance is not None else 0.0
        return found > 0 and self.random.random() < found

    def held(self, name: str) -> float:
        """For how long something is held back: up to what the disturbance says."""
        longest = getattr(self.disturbance, name) if self.disturbance is not None else 0.0
        return self.random.uniform(longest / 2, longest) if longest else 0.0

    def delay(self) -> float:
        if self.disturbance is not None and self.chance("late"):
            return self.random.uniform(0.5, self.disturbance.latest)
        return self.random.uniform(0.0005, 0.01)


class Network:
    """All links. Everything in it belongs to a process of its own that never stops."""

    def __init__(self, loop: VirtualLoop, random: Random) -> None:
        self._loop, self._random = loop, random
        self._process = SimulatedProcess("network")
        self._closed = False
        self._links: dict[tuple[str, str], Link] = {}

    def link(self, client: str, server: str) -> Link:
        found = self._links.get((client, server))
        if found is None:
            found = self._links[client, server] = Link(Random(f"{client} {server} {self._random.random()}"))
        return found

    @property
    def closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        """Carry nothing more: the run is over."""
        self._closed = True

    def links(self) -> dict[tuple[str, str], Link]:
        return self._links

    def transport(self, client: str, server: Callable[[], Server]) -> Transport:
        """How a client reaches a server; `server` is asked for each request, since an address may be given to
        another."""
        return _Transport(self, client, server)

    def time(self) -> float:
        return self._loop.time()

    def later(self, seconds: float, callback: Callable[[], object]) -> None:
        """Have something happen in the network."""
        self._loop.call_later(seconds, callback, context=self._process.context)


class _Transport(Transport):
    def __init__(self, network: Network, client: str, server: Callable[[], Server]) -> None:
        self._network, self._client, self._server = network, client, server

    async def send(self, request: Request) -> Response:
        if request.guard is not None:
            request.guard()
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        answer: asyncio.Future[Response] = loop.create_future()
        _Exchange(self._network, loop, self._client, self._server(), request, answer).begin()
        return await answer


_TICK = 1e-6
_UNAVAILABLE = (429, 500, 502, 503, 504)


class _Exchange:
    """One request on its way, and the answer to it."""

    def __init__(
        self,
        network: Network,
        loop: VirtualLoop,
        client: str,
        server: Server,
        request: Request,
        answer: asyncio.Future[Response],
    ) -> None:
        self._network, self._loop, self._server = network, loop, server
        self._request, self._answer = request, answer
        self._link = network.link(client, server.name)
        self._writes = request.method != "GET"
        self._dry = "dryRun=" in request.path

    def begin(self) -> None:
        link = self._link
        link.writes += self._writes and "/leases/" not in self._request.path
        if link.expected is not None and self._request.method == link.expected.method and not self._dry:
            link.expected.sent.set()
        if link.cut is Cut.REFUSED or self._network.closed:
            self._fail(ConnectError(f"{self._request}: connection refused"))
        elif link.cut is Cut.SILENT or link.chance("lose_request"):
            return
        elif link.chance("refuse"):
            self._reply_later(_status(link.random.choice(_UNAVAILABLE)))
        elif link.chance("deny"):
            self._reply_later(_status(401))
        elif self._writes and not self._dry and link.chance("busy"):
            self._reply_later(_status(429, {"Retry-After": "5"}))
        else:
            self._network.later(link.delay() + (link.held("hold_writes") if self._writes else 0.0), self._arrive)
            if self._writes and link.chance("repeat"):
                self._network.later(link.delay(), self._arrive)

    def _arrive(self) -> None:
        if self._link.cut in (Cut.REFUSED, Cut.SILENT):
            return
        entrance = self._server.entrance(self._request)
        if entrance is None:
            self._fail(ConnectError(f"{self._request}: connection refused"))
            return
        self._loop.start(self._server.process, self._serve(entrance))

    async def _serve(self, entrance: Transport) -> None:
        link = self._link
        if "watch=true" in self._request.path and link.chance("expire"):
            self._reply_later(_status(410))
            return
        try:
            response = await entrance.send(self._request)
        except TransportError:
            self._network.later(0, lambda: self._fail(ConnectError(f"{self._request}: connection reset")))
            return
        if response.whole is not None:
            if self._writes and not self._dry and link.disturbance is not None and link.chance("fail_after"):
                response = _status(link.random.choice(link.disturbance.failures))
            if not link.chance("lose_answer"):
                self._reply_later(response)
            return
        stream = _Stream(self._network, link, response)
        link.streams.append(stream)
        self._reply_later(Response(response.status, response.headers, stream.chunks(), stream.close))
        await stream.pump()

    def _reply_later(self, response: Response) -> None:
        held = self._link.held("hold_answers") if self._writes else 0.0
        self._network.later(self._link.delay() + held, lambda: self._reply(response))

    def _reply(self, response: Response) -> None:
        if self._link.cut is None and not self._answer.done():
            self._answer.set_result(response)

    def _fail(self, error: TransportError) -> None:
        if not self._answer.done():
            self._answer.set_exception(error)


class _Stream:
    """The body of a watch: chunks in their order, each a little later than it was sent."""

    def __init__(self, network: Network, link: Link, response: Response) -> None:
        self._network, self._link, self._response = network, link, response
        self._held: deque[tuple[float, bytes | None]] = deque()
        """What is on its way, and when it arrives."""
        self._arrived: deque[bytes | None] = deque()
        self._waiting: asyncio.Future[None] | None = None
        """Where the client waits for news."""
        self._error: TransportError | None = None
        self._frozen = False
        self._pump: asyncio.Task[None] | None = None

    async def pump(self) -> None:
        """Runs in the server, until the body ends or the client has closed it."""
        self._pump = asyncio.current_task()
        async for chunk in self._response.chunks():
            if self._link.chance("break_stream"):
                self._break()
                return
            self._send(chunk)
        self._send(None)

    def _break(self) -> None:
        match self._link.random.randrange(3):
            case 0:
                self._send(None)
            case 1:
                self.fail()
            case _:
                self.freeze()

    def _send(self, chunk: bytes | None) -> None:
        due = self._network.time() + self._link.random.uniform(0.0005, 0.01) + self._link.held("hold_events")
        if self._held:
            due = max(due, self._held[-1][0])
        self._held.append((due, chunk))
        self._network.later(due - self._network.time(), self._arrive)

    def _arrive(self) -> None:
        while self._held and not self._frozen and self._held[0][0] <= self._network.time() + _TICK:
            self._arrived.append(self._held.popleft()[1])
            self._notify()

    def _notify(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def fail(self) -> None:
        self._error = TransportError("connection reset")
        self._notify()

    def freeze(self) -> None:
        self._frozen = True

    def thaw(self) -> None:
        self._frozen = False
        self._network.later(0, self._arrive)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Runs in the client."""
        while True:
            while self._arrived:
                chunk = self._arrived.popleft()
                if chunk is None:
                    return
                yield chunk
            if self._error is not None:
                raise self._error
            self._waiting = asyncio.get_running_loop().create_future()
            await self._waiting

    async def close(self) -> None:
        """The client has had enough; the server hears of it as it would by a closed connection."""
        if self in self._link.streams:
            self._link.streams.remove(self)
        if self._pump is not None:
            self._network.later(self._link.delay(), self._pump.cancel)


def _status(code: int, more: Mapping[str, str] | None = None) -> Response:
    reason = {401: "Unauthorized", 410: "Expired", 429: "TooManyRequests"}.get(code, "InternalError")
    status = {"kind": "Status", "apiVersion": "v1", "reason": reason, "code": code, "message": "injected"}
    return Response(code, Headers({"Content-Type": "application/json", **(more or {})}), msgspec.json.encode(status))
