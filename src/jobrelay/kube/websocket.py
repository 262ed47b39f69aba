"""Websockets to an API server, by aiohttp, with the credentials, TLS and proxy of a `Connection`.

Each has an HTTP session of its own. A server that refuses says why in a Status, which aiohttp does not pass on; so the
body of the answer is read as soon as there is one. At the end the connection is dropped, since a TLS shutdown would
have to be waited for.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urlencode

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from .connection import Connection
from .credentials import Credential
from .errors import ConnectError, ProtocolError, TransportError, Unauthorized, error_from_response
from .proxies import proxy_for
from .tls import connection_ssl_context
from .transport import Headers, Response

__all__ = ["open_websocket"]

_HEARTBEAT: Final = 30.0
_LONGEST_REFUSAL: Final = 64 * 1024


@asynccontextmanager
async def open_websocket(
    connection: Connection,
    path: str,
    query: Iterable[tuple[str, str]],
    *,
    protocols: Sequence[str],
    largest: int,
    within: float = 30.0,
) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """A websocket by one of the protocols, whose messages have at most `largest` bytes; the server has to accept it
    `within` so many seconds. Raises StatusError if it refuses, and other KubeErrors."""
    target = f"{path}?{urlencode(list(query))}"
    credential = await connection.credentials.current()
    try:
        session, socket, answer = await _open(connection, credential, target, protocols, largest, within)
    except Unauthorized:
        if not connection.credentials.refused(credential):
            raise
        credential = await connection.credentials.current()
        session, socket, answer = await _open(connection, credential, target, protocols, largest, within)
    try:
        if socket.protocol not in protocols:
            raise ProtocolError(f"GET {path}: the server speaks none of {', '.join(protocols)}")
        yield socket
    finally:
        await socket.close()
        answer.abort()
        await session.close()


class _Answer:
    """The answer of a server: the connection over which it came, and if it is a refusal, all of it."""

    def __init__(self) -> None:
        self.refusal: Response | None = None
        self._transport: asyncio.WriteTransport | None = None
        self.tracing = aiohttp.TraceConfig()
        self.tracing.on_request_end.append(self._keep)
        self.tracing.on_request_redirect.append(_no_redirect)

    async def _keep(self, session: object, context: object, ended: aiohttp.TraceRequestEndParams) -> None:
        answer = ended.response
        self._transport = answer.connection.transport if answer.connection is not None else None
        if answer.status != 101:
            body = b""
            while len(body) < _LONGEST_REFUSAL and (piece := await answer.content.read(_LONGEST_REFUSAL)):
                body += piece
            self.refusal = Response(answer.status, Headers(list(answer.headers.items())), body)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()


async def _no_redirect(session: object, context: object, params: object) -> None:
    """Redirects are refused: an API server sends none, and no other server may get the credentials."""
    raise aiohttp.ClientError("the server redirects")


async def _open(
    connection: Connection, credential: Credential, target: str, protocols: Sequence[str], largest: int, within: float
) -> tuple[aiohttp.ClientSession, aiohttp.ClientWebSocketResponse, _Answer]:
    answered = _Answer()
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=connection_ssl_context(connection, credential.certificate) or True),
        timeout=aiohttp.ClientTimeout(total=within),
        cookie_jar=aiohttp.DummyCookieJar(),
        trace_configs=[answered.tracing],
    )
    try:
        socket = await session.ws_connect(
            URL(connection.server + target, encoded=True),
            protocols=protocols,
            headers=_headers(connection, credential),
            proxy=connection.proxy_url or proxy_for(connection.server, os.environ),
            server_hostname=connection.tls_server_name,
            heartbeat=_HEARTBEAT,
            max_msg_size=largest,
        )
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        answered.abort()
        await session.close()
        path = target.partition("?")[0]
        if answered.refusal is not None:
            raise await error_from_response(answered.refusal) from error
        if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
            raise ConnectError(f"GET {path}: {error}") from error
        raise TransportError(f"GET {path}: {error or type(error).__name__}") from error
    except BaseException:
        await session.close()
        raise
    return session, socket, answered


def _headers(connection: Connection, credential: Credential) -> CIMultiDict[str]:
    headers = CIMultiDict({"User-Agent": "jobrelay"})
    for name, values in connection.headers.items():
        headers.extend((name, value) for value in ([values] if isinstance(values, str) else values))
    if credential.authorization and "Authorization" not in headers:
        headers["Authorization"] = credential.authorization
    return headers
