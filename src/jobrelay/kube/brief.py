"""HTTP/1.1 by the standard library, for programs that send a few requests and end.

Importing aiohttp takes longer than all that most commands do. What a Kubernetes client needs of HTTP is little: a
request whose body is known, and a response with a length, in chunks, or up to the end of the connection. So commands
use this transport, and programs that run for long, or need a proxy, the one in `network`.

A connection is used again once its response was read to the end. If the server has closed it meanwhile, a request that
changes nothing is sent once more on a new one.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from .connected_transport import ConnectedTransport
from .connection import Connection
from .credentials import Certificate, Credential
from .errors import ConfigError, ConnectError, ProtocolError, TransportError
from .tls import connection_ssl_context
from .transport import Headers, Request, Response

__all__ = ["BriefTransport"]

_SMALL: Final = 256 * 1024
_PIECE: Final = 64 * 1024
_LONGEST_HEAD: Final = 1024 * 1024
_WITHOUT_BODY: Final = frozenset({204, 304})


@dataclass(slots=True, eq=False)
class _Channel:
    """One connection to the server; `used` says that a response has come over it before."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    certificate: Certificate | None
    used: bool = False

    @property
    def usable(self) -> bool:
        return not self.reader.at_eof() and not self.writer.is_closing()

    def abort(self) -> None:
        """A TLS shutdown would have to be waited for."""
        self.writer.transport.abort()


class _Unanswered(TransportError):
    """A connection ended before anything of the response had come."""


class BriefTransport(ConnectedTransport):
    """Sends requests to the API server of a `Connection` without a proxy; to be closed after use."""

    def __init__(self, connection: Connection, *, connect_timeout: float = 10.0) -> None:
        super().__init__(connection)
        self._timeout = connect_timeout
        url = urlsplit(connection.server)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ConfigError(f"{connection.server!r} is not the address of a server\nhint: write https://HOST:PORT")
        self._secure = url.scheme == "https"
        self._host, self._port = url.hostname, url.port or (443 if self._secure else 80)
        self._authority, self._prefix = url.netloc.rpartition("@")[2], url.path
        self._idle: list[_Channel] = []
        self._open: set[_Channel] = set()
        self._closed = False

    async def close(self) -> None:
        self._closed = True
        for channel in self._open:
            channel.abort()
        self._idle.clear()
        self._open.clear()
        await asyncio.sleep(0)  # sockets are closed by the event loop

    async def _send(self, request: Request, credential: Credential) -> Response:
        channel = await self._channel(request, credential.certificate)
        try:
            return await self._exchange(channel, request, credential)
        except _Unanswered:
            if not channel.used or request.method != "GET":
                raise
        return await self._exchange(await self._connect(request, credential.certificate), request, credential)

    async def _channel(self, request: Request, certificate: Certificate | None) -> _Channel:
        while self._idle:
            channel = self._idle.pop()
            if channel.usable and channel.certificate == certificate:
                return channel
            self._drop(channel)
        return await self._connect(request, certificate)

    async def _connect(self, request: Request, certificate: Certificate | None) -> _Channel:
        if self._closed:
            raise ConnectError(f"{request}: the transport is closed")
        tls = connection_ssl_context(self.connection, certificate) if self._secure else None
        name = (self.connection.tls_server_name or self._host) if tls is not None else None
        try:
            async with asyncio.timeout(self._timeout):
                reader, writer = await asyncio.open_connection(
                    self._host, self._port, ssl=tls, server_hostname=name, limit=_LONGEST_HEAD
                )
        except (OSError, TimeoutError) as error:
            raise self._not_connected(error, request) from error
        channel = _Channel(reader, writer, certificate)
        if self._closed:
            channel.abort()
            raise ConnectError(f"{request}: the transport is closed")
        self._open.add(channel)
        return channel

    def _not_connected(self, error: OSError | TimeoutError, request: Request) -> ConnectError:
        where = f"{request}: cannot connect to {self._authority}"
        if isinstance(error, ssl.SSLCertVerificationError):
            hint = "does certificate-authority in the kubeconfig belong to this server?"
            return ConnectError(f"{where}: {error.verify_message or error}\nhint: {hint}")
        if isinstance(error, TimeoutError) and not error.strerror:
            return ConnectError(f"{where} within {self._timeout:g} s")
        return ConnectError(f"{where}: {error.strerror or error}")

    async def _exchange(self, channel: _Channel, request: Request, credential: Credential) -> Response:
        """Sends a request over a connection; the response gives the connection back."""
        done = False
        try:
            if request.guard is not None:
                request.guard()
            channel.writer.write(self._head(request, credential) + (request.body or b""))
            await channel.writer.drain()
            status, headers = await _read_head(channel, request)
            body = self._body(channel, request, status, headers)
            length = headers.get("Content-Length", "")
            if status in _WITHOUT_BODY or (length.isdecimal() and int(length) <= _SMALL):
                response = Response(status, headers, b"".join([piece async for piece in body]))
            else:
                response = Response(status, headers, body, on_close=lambda: self._leave(channel))
            done = True
            return response
        except (OSError, asyncio.IncompleteReadError) as error:
            raise TransportError(f"{request}: {error}") from error
        finally:
            if not done:
                self._drop(channel)

    def _head(self, request: Request, credential: Credential) -> bytes:
        fields = [("Host", self._authority), *request.headers.items()]
        for name, values in self.connection.headers.items():
            fields += [(name, value) for value in ([values] if isinstance(values, str) else values)]
        if credential.authorization and not any(name.lower() == "authorization" for name, _ in fields):
            fields.append(("Authorization", credential.authorization))
        if request.body is not None:
            fields.append(("Content-Length", str(len(request.body))))
        lines = [f"{request.method} {self._prefix}{request.path} HTTP/1.1", *(f"{name}: {it}" for name, it in fields)]
        if any("\r" in line or "\n" in line for line in lines):
            raise ProtocolError(f"{request.method}: a line of the request's head has a line break in it")
        return "\r\n".join([*lines, "", ""]).encode()

    async def _body(self, channel: _Channel, request: Request, status: int, headers: Headers) -> AsyncIterator[bytes]:
        """The body as it arrives; at its end the connection can be used again, if the server keeps it."""
        keep = headers.get("Connection", "").lower() != "close"
        try:
            if status in _WITHOUT_BODY:
                pass
            elif headers.get("Transfer-Encoding", "").lower() == "chunked":
                while size := await _chunk_size(channel.reader, request):
                    async for piece in _exactly(channel.reader, size, request):
                        yield piece
                    await channel.reader.readexactly(2)
                while await channel.reader.readuntil(b"\r\n") != b"\r\n":
                    pass
            elif "Content-Length" in headers:
                async for piece in _exactly(channel.reader, _number(headers["Content-Length"], 10, request), request):
                    yield piece
            else:
                keep = False
                while piece := await channel.reader.read(_PIECE):
                    yield piece
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            raise TransportError(f"{request}: the response broke off: {error}") from error
        channel.used = True
        if keep and channel.usable and not self._closed:
            self._idle.append(channel)
        else:
            self._drop(channel)

    async def _leave(self, channel: _Channel) -> None:
        """A response was closed; if it was not read to the end, nothing else can come over its connection."""
        if channel not in self._idle:
            self._drop(channel)

    def _drop(self, channel: _Channel) -> None:
        self._open.discard(channel)
        channel.abort()


async def _read_head(channel: _Channel, request: Request) -> tuple[int, Headers]:
    """The status and the headers of the response; interim ones (1xx) are skipped."""
    while True:
        try:
            head = await channel.reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError as error:
            raise ProtocolError(f"{request}: the head of the response is too long") from error
        except (asyncio.IncompleteReadError, OSError) as error:
            if isinstance(error, asyncio.IncompleteReadError) and error.partial:
                raise TransportError(f"{request}: the response broke off") from error
            raise _Unanswered(f"{request}: the server closed the connection without a response") from error
        status, headers = _parse_head(head, request)
        if status >= 200:
            return status, headers


def _parse_head(head: bytes, request: Request) -> tuple[int, Headers]:
    first, *lines = head.decode("utf-8", "surrogateescape").split("\r\n")
    version, _, rest = first.partition(" ")
    if not version.startswith("HTTP/1.") or not rest[:3].isdecimal():
        raise ProtocolError(f"{request}: not a response by HTTP/1.1: {first[:80]!r}")
    pairs = (line.partition(":") for line in lines if line)
    headers = Headers([(name, value.strip()) for name, _, value in pairs])
    if headers.get("Content-Encoding", "identity") != "identity":
        raise ProtocolError(f"{request}: the response is compressed, which was not asked for")
    return int(rest[:3]), headers


async def _chunk_size(reader: asyncio.StreamReader, request: Request) -> int:
    line = await reader.readuntil(b"\r\n")
    return _number(line.partition(b";")[0].decode("latin-1").strip(), 16, request)


def _number(text: str, base: int, request: Request) -> int:
    try:
        found = int(text, base)
    except ValueError:
        found = -1
    if found < 0:
        raise ProtocolError(f"{request}: {text[:20]!r} is no length")
    return found


async def _exactly(reader: asyncio.StreamReader, size: int, request: Request) -> AsyncIterator[bytes]:
    while size:
        piece = await reader.read(min(size, _PIECE))
        if not piece:
            raise TransportError(f"{request}: the response broke off")
        size -= len(piece)
        yield piece
