"""The network transport, by aiohttp.

Each transport has its own pool of connections, so that a slow cluster can exhaust only its own. A client certificate
belongs to a connection, so a new certificate replaces the pool. aiohttp's exceptions do not leave this module.

Small responses are read whole, since their bytes usually come together with the headers. Responses are not compressed
unless `compress` is set, because in a local network gzip costs more time than it saves.
"""

from __future__ import annotations

import io
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from urllib.parse import urlsplit

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from .connected_transport import ConnectedTransport
from .connection import Connection
from .credentials import Certificate, Credential
from .errors import ConfigError, ConnectError, ProtocolError, TransportError, TransportTimeout
from .proxies import proxy_for
from .tls import connection_ssl_context
from .transport import Headers, Request, Response

__all__ = ["NetworkTransport"]

_LARGE = 256 * 1024


class NetworkTransport(ConnectedTransport):
    """Sends requests to the API server of a `Connection`; to be closed after use."""

    def __init__(
        self,
        connection: Connection,
        *,
        connect_timeout: float = 10.0,
        max_connections: int = 128,
        compress: bool = False,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        super().__init__(connection)
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect_timeout)
        self._max_connections = max_connections
        self._compress = compress
        self._proxy = connection.proxy_url or proxy_for(connection.server, environ)
        if self._proxy and urlsplit(self._proxy).scheme not in ("http", "https"):
            raise ConfigError(f"proxy {self._proxy!r} is not supported\nhint: use an http:// or https:// proxy")
        self._session: aiohttp.ClientSession | None = None
        self._closed = False
        self._certificate: Certificate | None = None

    async def close(self) -> None:
        self._closed = True
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _send(self, request: Request, credential: Credential) -> Response:
        session = await self._session_for(credential.certificate)
        if session is None or session.closed:
            raise ConnectError(f"{request}: the transport is closed")
        if request.guard is not None:
            request.guard()
        try:
            answer = await session.request(
                request.method,
                URL(self.connection.server + request.path, encoded=True),
                data=_payload(request.body),
                headers=self._headers(request, credential),
                proxy=self._proxy,
                server_hostname=self.connection.tls_server_name,
                allow_redirects=False,
            )
            headers = Headers(list(answer.headers.items()))
            if not self._compress and answer.headers.get("Content-Encoding", "identity") != "identity":
                answer.close()
                raise ProtocolError(f"{request}: the response is compressed, which was not asked for")
            if answer.content_length is not None and answer.content_length <= _LARGE and not self._compress:
                return Response(answer.status, headers, await answer.read())
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _translated(error, request) from error
        return Response(answer.status, headers, _chunks(answer, request), _closer(answer))

    def _headers(self, request: Request, credential: Credential) -> CIMultiDict[str]:
        headers = CIMultiDict(request.headers)
        for name, values in self.connection.headers.items():
            headers.extend((name, value) for value in ([values] if isinstance(values, str) else values))
        if credential.authorization and "Authorization" not in headers:
            headers["Authorization"] = credential.authorization
        return headers

    async def _session_for(self, certificate: Certificate | None) -> aiohttp.ClientSession | None:
        if self._closed or (self._session is not None and certificate == self._certificate):
            return self._session
        connector = aiohttp.TCPConnector(
            ssl=connection_ssl_context(self.connection, certificate) or True,
            limit=self._max_connections,
            ttl_dns_cache=60,
        )
        fresh = aiohttp.ClientSession(
            connector=connector,
            timeout=self._timeout,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=() if self._compress else ("Accept-Encoding",),
            auto_decompress=self._compress,
            read_bufsize=256 * 1024,
        )
        outdated, self._session, self._certificate = self._session, fresh, certificate
        if outdated is not None:
            await outdated.close()
        return fresh


def _payload(body: bytes | None) -> bytes | io.BytesIO | None:
    """Large bodies are sent in pieces, so that they do not block the event loop."""
    return io.BytesIO(body) if body is not None and len(body) > _LARGE else body


async def _chunks(answer: aiohttp.ClientResponse, request: Request) -> AsyncIterator[bytes]:
    try:
        async for chunk in answer.content.iter_any():
            yield chunk
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise _translated(error, request) from error


def _closer(answer: aiohttp.ClientResponse) -> Callable[[], Awaitable[None]]:
    async def close() -> None:
        if answer.content.at_eof():
            answer.release()
            return
        connection = answer.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()  # a TLS shutdown would have to be waited for
        answer.close()

    return close


def _translated(error: BaseException, request: Request) -> TransportError:
    text = f"{request}: {error or type(error).__name__}"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return ConnectError(f"{text}\nhint: does certificate-authority in the kubeconfig belong to this server?")
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
        return ConnectError(text)
    return TransportTimeout(text) if isinstance(error, TimeoutError) else TransportError(text)
