"""The corpus on real connections with TLS: after all of it the server still answers, and nothing of it is left."""

from __future__ import annotations

import asyncio
import contextlib
import ssl

from jobrelay.cluster import Cluster

from .targets import TARGETS


async def dial(cluster: Cluster) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    trust = ssl.create_default_context()
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    return await asyncio.open_connection("127.0.0.1", int(cluster.url.rpartition(":")[2]), ssl=trust)


async def send(cluster: Cluster, *pieces: bytes) -> None:
    """Sends pieces, waits for the first answer if there is one, and leaves without a word."""
    reader, writer = await dial(cluster)
    for piece in pieces:
        writer.write(piece)
        await asyncio.sleep(0)
    with contextlib.suppress(TimeoutError, ConnectionError):
        async with asyncio.timeout(0.05):
            await reader.read(1)
    writer.transport.abort()


async def ended(cluster: Cluster, before: set[asyncio.Task[object]]) -> None:
    """Returns when the server has neither a connection nor a task of one."""
    assert cluster._http is not None
    async with asyncio.timeout(10):
        while cluster._http._server.connections or asyncio.all_tasks() - before:
            await asyncio.sleep(0.01)


async def test_the_server_outlives_the_corpus_and_keeps_nothing_of_it() -> None:
    async with Cluster(controllers="none") as cluster:
        before = asyncio.all_tasks()
        for data in TARGETS["connection"].seeds().values():
            await send(cluster, *data.split(b"\xfe"))
        await ended(cluster, before)
        reader, writer = await dial(cluster)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
        writer.close()
        await writer.wait_closed()


async def test_bytes_that_are_no_tls_are_refused() -> None:
    async with Cluster(controllers="none") as cluster:
        before = asyncio.all_tasks()
        for data in TARGETS["connection"].seeds().values():
            _, writer = await asyncio.open_connection("127.0.0.1", int(cluster.url.rpartition(":")[2]))
            writer.write(data)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
        await ended(cluster, before)
        await send(cluster, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        await ended(cluster, before)
