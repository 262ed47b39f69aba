"""Connections of aggregated APIs that change their protocol: after the heads, bytes go both ways as they are."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Iterable
from typing import Any, Final

from aiohttp import web

from jobrelay.cluster.apiserver.outbound import ServiceEndpoint, explained

_PIECE: Final = 64 * 1024


async def tunnel(
    method: str, target: str, fields: Iterable[tuple[str, str]], endpoint: ServiceEndpoint, tls: ssl.SSLContext,
    raw: web.BaseRequest,
) -> web.StreamResponse:  # fmt: skip
    """Joins a caller's connection with one to the other server until one of them ends."""
    try:
        reader, writer = await asyncio.open_connection(
            endpoint.address, endpoint.port, ssl=tls, server_hostname=endpoint.host
        )
    except OSError as error:
        text = f"error trying to reach service: {await explained(error, endpoint)}\n"
        return web.Response(status=503, text=text)
    head = f"{method} {target} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields)
    writer.write(f"{head}\r\n".encode())
    transport: Any = raw.transport
    try:
        answer = await reader.readuntil(b"\r\n\r\n")
        transport.write(answer)
        parser: Any = _Forward(writer)
        raw.protocol.set_parser(parser)
        while piece := await reader.read(_PIECE):
            transport.write(piece)
            await raw.protocol._drain_helper()
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        pass  # either side has ended: so does the other
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            transport.close()
    return web.Response()


class _Forward:
    """Takes a connection's bytes, in place of a parser."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        self._writer.write(data)
        return False, b""

    def feed_eof(self) -> None:
        self._writer.close()
