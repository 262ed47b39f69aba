"""Requests to aggregated APIs: sent on to the server behind an APIService, its answers passed back as they come.

The other server trusts the identity that the request's headers name because of this one's client certificate, which is
signed by the cluster's front proxy authority. Headers of that kind that the caller has sent are dropped.
"""

from __future__ import annotations

import asyncio
import functools
import ssl
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote, urlencode

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from jobrelay.cluster.apiserver.aggregation.apis import RemoteApi
from jobrelay.cluster.apiserver.aggregation.tunnel import tunnel
from jobrelay.cluster.apiserver.outbound import FAILURES, OutboundError, ServiceEndpoint, explained, resolve
from jobrelay.cluster.apiserver.request import ApiRequest, UserInfo
from jobrelay.cluster.apiserver.response import ApiResponse, Sink
from jobrelay.cluster.store import Store
from jobrelay.kube.credentials import Certificate
from jobrelay.kube.tls import client_ssl_context

Fields = list[tuple[str, str]]
_PLAIN: Final = "text/plain; charset=utf-8"
_HOP_BY_HOP: Final = frozenset({
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade", "content-length", "host",
})  # fmt: skip
_DROPPED: Final = ("x-remote-user", "x-remote-uid", "x-remote-group", "authorization")
_PREFIXES: Final = ("x-remote-extra-", "impersonate-")
_KEPT_BACKLOG: Final = 1 << 20
_SAFE: Final = "!#$&'*+.^_`|~-"


class Proxy:
    """Sends requests on; to be closed after use."""

    def __init__(self, store: Store, identity: Certificate | None) -> None:
        self._store, self._identity = store, identity
        self._session: aiohttp.ClientSession | None = None
        self._streams: set[_PassedStream] = set()
        self.context = functools.lru_cache(64)(self._context)

    async def forward(self, request: ApiRequest, api: RemoteApi) -> ApiResponse:
        """The answer of the other server, or why there is none."""
        if not api.available:
            return _unavailable("service unavailable")
        try:
            endpoint = resolve(self._store, api.target)
        except OutboundError:
            return _unavailable("service unavailable")
        fields = [*_passed(request), *identity_fields(request.user), ("X-Forwarded-For", "127.0.0.1")]
        target = quote(request.path, safe="/:@!$&'()*+,;=-._~") + _query(request)
        tls = self.context(api.target.ca, api.insecure)
        if request.header("upgrade") and "upgrade" in request.header("connection").lower():
            head = [*fields, ("Connection", "Upgrade"), ("Upgrade", request.header("upgrade")), _host(api)]
            return ApiResponse(101, upgrade=functools.partial(tunnel, request.method, target, head, endpoint, tls))
        try:
            answer = await self.send(request.method, target, [*fields, _host(api)], request.body, endpoint, tls)
            return await self._answered(answer)
        except FAILURES as error:
            return _unavailable(f"error trying to reach service: {await explained(error, endpoint)}")

    async def send(
        self, method: str, target: str, fields: Fields, body: bytes, endpoint: ServiceEndpoint, tls: ssl.SSLContext
    ) -> aiohttp.ClientResponse:
        """The head of an answer; its body is still to be read. Raises what aiohttp does."""
        return await self._open().request(
            method, URL(f"https://{endpoint}{target}", encoded=True), headers=CIMultiDict(fields), data=body or None,
            ssl=tls, server_hostname=endpoint.host, allow_redirects=False,
        )  # fmt: skip

    async def _answered(self, answer: aiohttp.ClientResponse) -> ApiResponse:
        """An answer: whole if its length is known, else as a stream."""
        headers: dict[str, str] = {}
        for name, value in answer.headers.items():
            if name.lower() not in _HOP_BY_HOP and name.lower() != "content-type":
                headers[name] = f"{headers[name]}, {value}" if name in headers else value
        media = answer.headers.get("Content-Type", "")
        if answer.content_length is not None or answer.status in (204, 304):
            return ApiResponse(answer.status, await answer.read(), media, headers)
        stream = _PassedStream(answer, self._streams)
        return ApiResponse(answer.status, media=media, headers=headers, stream=stream)

    def _context(self, ca: bytes, insecure: bool) -> ssl.SSLContext:
        return client_ssl_context(ca or None, self._identity, insecure=insecure)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, use_dns_cache=False),
                timeout=aiohttp.ClientTimeout(total=None),
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("Accept-Encoding", "User-Agent", "Content-Type", "Accept"),
                auto_decompress=False,
            )
        return self._session

    async def close(self) -> None:
        for stream in list(self._streams):
            stream.stop()
        session, self._session = self._session, None
        if session is not None:
            await session.close()


def _host(api: RemoteApi) -> tuple[str, str]:
    return "Host", api.target.origin.partition("://")[2]


def _query(request: ApiRequest) -> str:
    return f"?{urlencode(sorted(request.query.items()), doseq=True)}" if request.query else ""


def _passed(request: ApiRequest) -> Iterator[tuple[str, str]]:
    """The caller's headers, without those about this connection and about identities."""
    for name, values in request.headers.items():
        if name not in _HOP_BY_HOP and name not in _DROPPED and not name.startswith(_PREFIXES):
            yield from ((name, value) for value in values)


def identity_fields(user: UserInfo) -> Fields:
    """A user as headers."""
    fields = [("X-Remote-User", user.name), *(("X-Remote-Group", group) for group in user.groups)]
    fields += [("X-Remote-Uid", user.uid)] if user.uid else []
    for key, values in user.extra.items():
        fields += [(f"X-Remote-Extra-{quote(key, safe=_SAFE)}", value) for value in values]
    return fields


def _unavailable(text: str) -> ApiResponse:
    return ApiResponse(503, f"{text}\n".encode(), _PLAIN, {"X-Content-Type-Options": "nosniff"})


class _PassedStream:
    """Passes the pieces of an answer on as they come, no faster than the client takes them."""

    def __init__(self, answer: aiohttp.ClientResponse, running: set[_PassedStream]) -> None:
        self._answer, self._running = answer, running
        self._task: asyncio.Task[None] | None = None
        self._sink: Sink | None = None

    def start(self, sink: Sink) -> None:
        self._sink = sink
        self._running.add(self)
        self._task = asyncio.get_running_loop().create_task(self._run(sink))

    def stop(self) -> None:
        """Ends both sides."""
        self._running.discard(self)
        self._answer.close()
        if self._sink is not None:
            self._sink.end()
        if self._task is not None:
            self._task.cancel()

    async def _run(self, sink: Sink) -> None:
        try:
            async for piece in self._answer.content.iter_any():
                if piece:
                    sink.write(piece)
                while sink.backlog() > _KEPT_BACKLOG:  # noqa: ASYNC110 - a sink does not tell when it is empty
                    await asyncio.sleep(0.01)
        except (aiohttp.ClientError, OSError):
            pass  # the client sees an answer that ends early
        self.stop()
