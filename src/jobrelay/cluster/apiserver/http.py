"""The API server on the network, on top of aiohttp's low-level server.

aiohttp parses and keeps connections alive; there is no routing or middleware of its own in between. Whole answers go
out as one response. Streams are chunked by hand straight onto the transport, because a watch with thousands of clients
must not need a task and several awaits per event.
"""

from __future__ import annotations

import asyncio
import functools
import socket
import ssl
from typing import Any, Final

from aiohttp import StreamReader, web
from multidict import CIMultiDict

from jobrelay.cluster.apiserver import errors
from jobrelay.cluster.apiserver.body import BODY_LIMIT
from jobrelay.cluster.apiserver.connections import HANDSHAKE_SECONDS, Connections
from jobrelay.cluster.apiserver.request import UserInfo, received
from jobrelay.cluster.apiserver.response import ApiResponse, Sink
from jobrelay.cluster.apiserver.server import ApiServer

BODY_SECONDS: Final = 60.0  # for a whole body
_SKIPPED: Final = 256 * 1024  # a body that was not asked for is skipped up to this length; else its connection ends


class HttpServer:
    """Serves one ApiServer on one address with TLS."""

    def __init__(self, api: ApiServer, tls: ssl.SSLContext) -> None:
        self._api, self._tls = api, tls
        self._server = Connections(self._handle)
        self._listener: asyncio.Server | None = None

    async def start(self, listening: socket.socket) -> None:
        """Takes over a listening socket."""
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(
            self._server, sock=listening, ssl=self._tls, backlog=1024, ssl_handshake_timeout=HANDSHAKE_SECONDS
        )

    async def stop(self) -> None:
        if self._listener is not None:
            self._listener.close()
        self._api.watches.close()
        await self._server.shutdown(timeout=2)

    async def _handle(self, raw: web.BaseRequest) -> web.StreamResponse:
        target = _valid(raw.path_qs if raw.raw_path.startswith("/") else raw.raw_path)
        read = functools.partial(_read, raw) if raw.body_exists else None
        answer = await self._api.handle(received(raw.method, target, _headers(raw), peer=_peer(raw)), read)
        if answer.upgrade is not None:
            upgraded: web.StreamResponse = await answer.upgrade(raw)
            return upgraded
        if answer.stream is not None:
            return await _stream(raw, answer, self._server.streams)
        response = web.Response(status=answer.code, body=answer.body, headers=CIMultiDict(answer.fields()))
        if read is not None and not raw.content.is_eof() and not 0 <= (raw.content_length or -1) <= _SKIPPED:
            response.force_close()
        return response


def _headers(raw: web.BaseRequest) -> dict[str, list[str]]:
    """The headers: all values by lower-case name."""
    found: dict[str, list[str]] = {}
    for key, value in raw.headers.items():
        found.setdefault(key.lower(), []).append(_valid(value))
    return found


def _valid(text: str) -> str:
    """A text of the head; bytes that are no UTF-8, which aiohttp lets through as surrogates, are shown as Go does."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


async def _read(raw: web.BaseRequest) -> bytes:
    """The body; raises ApiError. Reading stops past the accepted length: the server refuses such a body by its
    length."""
    if raw.content.is_eof():
        return raw.content.read_nowait()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await _collect(raw.content)
    except TimeoutError:
        raise errors.timeout(f"the body was not received within {BODY_SECONDS:.0f} seconds") from None
    except (ConnectionError, web.RequestPayloadError) as error:
        raise errors.bad_request(f"the body could not be read: {error}") from None


async def _collect(content: StreamReader) -> bytes:
    pieces, size = [], 0
    async for piece in content.iter_any():
        pieces.append(piece)
        size += len(piece)
        if size > BODY_LIMIT:
            break
    return b"".join(pieces)


def _peer(raw: web.BaseRequest) -> UserInfo | None:
    """The user that a verified client certificate names: CN is the name, O are the groups."""
    certificate: Any = raw.transport.get_extra_info("peercert") if raw.transport is not None else None
    return _named(certificate.get("subject", ())) if certificate else None


@functools.lru_cache(1024)
def _named(subject: tuple[tuple[tuple[str, str], ...], ...]) -> UserInfo | None:
    names = [pair for part in subject for pair in part]
    common = next((value for key, value in names if key == "commonName"), "")
    groups = tuple(value for key, value in names if key == "organizationName")
    return UserInfo(common, groups) if common else None


class _ChunkedSink:
    """Writes a stream's pieces as HTTP chunks, straight to the transport."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.done = asyncio.get_running_loop().create_future()

    def write(self, data: bytes) -> None:
        if self._transport.is_closing():
            self.end()
        else:
            self._transport.write(b"%x\r\n%b\r\n" % (len(data), data))

    def backlog(self) -> int:
        return 0 if self._transport.is_closing() else self._transport.get_write_buffer_size()

    def end(self) -> None:
        if not self.done.done():
            self.done.set_result(None)


async def _stream(
    raw: web.BaseRequest, answer: ApiResponse, streams: dict[web.RequestHandler, Sink]
) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.code, headers=CIMultiDict(answer.fields()))
    response.enable_chunked_encoding()
    assert answer.stream is not None
    try:
        await response.prepare(raw)
        await response.write(b"")
    except ConnectionError:  # the client did not wait for it
        answer.stream.stop()
        return response
    transport: Any = raw.transport
    if transport is None:
        answer.stream.stop()
        return response
    streams[raw.protocol] = sink = _ChunkedSink(transport)
    try:
        answer.stream.start(sink)
        await sink.done
    finally:
        del streams[raw.protocol]
        answer.stream.stop()
    return response
