"""The client behind all calls, by aiohttp. Its exceptions do not leave this package."""

from __future__ import annotations

import asyncio
import functools
import ssl
from collections.abc import Mapping
from typing import Final, NamedTuple

import aiohttp
from yarl import URL

from jobrelay.cluster.apiserver.outbound.certificates import explained, issued_in_its_own_name
from jobrelay.cluster.apiserver.outbound.failures import FAILURES, OutboundError
from jobrelay.cluster.apiserver.outbound.services import ServiceEndpoint, resolve
from jobrelay.cluster.apiserver.outbound.targets import CallTarget
from jobrelay.cluster.store import Store
from jobrelay.kube.errors import ConfigError
from jobrelay.kube.tls import client_ssl_context

_IDLE_SECONDS: Final = 90.0
LARGEST: Final = 64 * 1024 * 1024
"""Of answers, in bytes: room for a converted list, but not for one without end."""
_HEADERS: Final = {
    "Accept": "application/json, */*", "Content-Type": "application/json", "User-Agent": "kube-apiserver-admission",
}  # fmt: skip


class OutboundAnswer(NamedTuple):
    status: int
    body: bytes
    headers: Mapping[str, str] = {}


class Outbound:
    """Calls targets over kept connections; to be closed after use. It needs no running loop before its first call."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._session: aiohttp.ClientSession | None = None
        self.closed = False

    async def send(
        self, target: CallTarget, body: bytes, *, seconds: float, query: str = "",
        headers: Mapping[str, str] = _HEADERS, method: str = "POST",
    ) -> OutboundAnswer:  # fmt: skip
        """The answer to one request, read whole; raises OutboundError. It takes at most `seconds`."""
        url = f"{target.url}?{query}" if query else target.url
        shown = f'{method.capitalize()} "{url}": '
        endpoint = None
        try:
            endpoint = resolve(self._store, target)
            async with asyncio.timeout(seconds):
                return await self._exchange(method, target, endpoint, url, body, headers)
        except OutboundError as error:
            raise OutboundError(f"{shown}{error}") from None
        except FAILURES as error:
            assert endpoint is not None
            raise OutboundError(shown + await explained(error, endpoint)) from error

    async def _exchange(
        self,
        method: str,
        target: CallTarget,
        endpoint: ServiceEndpoint,
        url: str,
        body: bytes,
        headers: Mapping[str, str],
    ) -> OutboundAnswer:
        context = _context(target.ca)
        request = functools.partial(
            self._open().request,
            method,
            URL(f"https://{endpoint}{url.removeprefix(target.origin)}", encoded=True),
            data=body,
            headers={**headers, "Host": target.origin.partition("://")[2]},
            ssl=context,
            server_hostname=endpoint.host,
            allow_redirects=False,
        )
        try:
            answer = await request()
        except aiohttp.ServerDisconnectedError:  # of a kept connection, which the other side may close at any time
            answer = await request()
        except aiohttp.ClientConnectorCertificateError as error:
            if not (accepted := await issued_in_its_own_name(error, endpoint, target.ca)):
                raise
            context.load_verify_locations(cadata=accepted)  # for all calls that trust these CAs: it is asked once
            answer = await request()
        return OutboundAnswer(answer.status, await _read(answer), answer.headers)

    def _open(self) -> aiohttp.ClientSession:
        if self.closed:
            raise OutboundError("the server is stopping")
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS, use_dns_cache=False),
                timeout=aiohttp.ClientTimeout(total=None),
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("Accept-Encoding",),
            )
        return self._session

    async def close(self) -> None:
        """Ends calls that are under way; later ones fail."""
        self.closed = True
        session, self._session = self._session, None
        if session is not None:
            await session.close()


async def _read(answer: aiohttp.ClientResponse) -> bytes:
    """The whole body; raises OutboundError if it is too large."""
    chunks, size = [], 0
    async for chunk in answer.content.iter_any():
        size += len(chunk)
        if size > LARGEST:
            answer.close()
            raise OutboundError(f"the answer has more than {LARGEST} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


@functools.lru_cache(64)
def _context(ca: bytes) -> ssl.SSLContext:
    try:
        return client_ssl_context(ca or None)
    except ConfigError:
        raise OutboundError("unable to load root certificates: unable to parse bytes as PEM block") from None
