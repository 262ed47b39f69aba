"""The API server's connections: who is refused before a body is read, what has a time limit, and how many there are."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import resource
import ssl
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator

import pytest

from jobrelay.cluster import Cluster
from jobrelay.cluster.apiserver import connections, http

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


OPENED: list[asyncio.StreamWriter] = []


@pytest.fixture(autouse=True)
async def _close_connections() -> AsyncIterator[None]:
    yield
    for writer in OPENED:
        writer.close()
    OPENED.clear()


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(controllers="none") as started:
        yield started


def trust(cluster: Cluster, *, admin: bool) -> ssl.SSLContext:
    found = json.loads(cluster.kubeconfig.read_bytes())
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if admin:
        user = found["users"][0]["user"]
        with tempfile.NamedTemporaryFile() as pair:
            pair.write(base64.b64decode(user["client-certificate-data"]) + b"\n")
            pair.write(base64.b64decode(user["client-key-data"]))
            pair.flush()
            context.load_cert_chain(pair.name)
    return context


async def dial(cluster: Cluster, *, admin: bool = False) -> Connection:
    port = int(cluster.url.rpartition(":")[2])
    made = await asyncio.open_connection("127.0.0.1", port, ssl=trust(cluster, admin=admin))
    OPENED.append(made[1])
    return made


def head(method: str, path: str, *more: str) -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", *more, "", ""]).encode()


async def code(reader: asyncio.StreamReader) -> int:
    async with asyncio.timeout(5):
        return int((await reader.readline()).split()[1])


async def ended(reader: asyncio.StreamReader) -> bytes:
    """What comes until the server closes the connection."""
    async with asyncio.timeout(5):
        return await reader.read()


@pytest.mark.parametrize(("credentials", "expected"), [((), 403), (("Authorization: Bearer wrong",), 401)])
async def test_a_caller_without_rights_is_refused_before_the_body_is_read(
    cluster: Cluster, credentials: tuple[str, ...], expected: int
) -> None:
    reader, writer = await dial(cluster)
    writer.write(head("POST", CONFIGMAPS, "Content-Length: 3000000", *credentials))
    assert await code(reader) == expected
    assert b"Connection: close" in await ended(reader)


async def test_a_small_body_that_was_not_asked_for_leaves_the_connection_open(cluster: Cluster) -> None:
    reader, writer = await dial(cluster)
    for _ in range(2):
        writer.write(head("POST", CONFIGMAPS, "Content-Length: 2"))
        assert await code(reader) == 403
        writer.write(b"{}")
        while (await reader.readline()).strip():
            pass
        await reader.readuntil(b"}\n")


async def test_a_body_that_takes_too_long_is_refused(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "BODY_SECONDS", 0.05)
    reader, writer = await dial(cluster, admin=True)
    writer.write(head("POST", CONFIGMAPS, "Content-Length: 3000000") + b"{")
    assert await code(reader) == 504
    assert b"the body was not received within" in await ended(reader)


async def test_a_compressed_body_is_not_decompressed(cluster: Cluster) -> None:
    body = gzip.compress(b'{"metadata":{"name":"a"}}')
    reader, writer = await dial(cluster, admin=True)
    writer.write(head("POST", CONFIGMAPS, "Content-Encoding: gzip", f"Content-Length: {len(body)}") + body)
    assert await code(reader) == 400


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nHost:"])
async def test_a_head_that_takes_too_long_closes_the_connection(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.1)
    async with Cluster(controllers="none") as cluster:
        reader, writer = await dial(cluster)
        writer.write(sent)
        assert await ended(reader) == b""


async def test_the_time_of_a_later_head_counts_from_its_first_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)
    async with Cluster(controllers="none") as cluster:
        reader, writer = await dial(cluster)
        for _ in range(3):
            writer.write(head("GET", "/healthz"))
            assert await code(reader) == 200
            await reader.readuntil(b"\r\n\r\nok")
            await asyncio.sleep(0.25)
        writer.write(b"GET /healthz")
        assert await ended(reader) == b""


async def test_idle_connections_are_closed_and_watches_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.2)
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.1)
    monkeypatch.setattr(http, "BODY_SECONDS", 0.1)
    async with Cluster(controllers="none") as cluster:
        idle, asking = await dial(cluster)
        asking.write(head("GET", "/healthz"))
        watching, asking = await dial(cluster, admin=True)
        asking.write(head("GET", f"{CONFIGMAPS}?watch=true&timeoutSeconds=1"))
        assert await ended(idle)
        assert await code(watching) == 200
        before = asyncio.get_running_loop().time()
        assert (await watching.readuntil(b"0\r\n\r\n")).endswith(b"0\r\n\r\n")
        assert asyncio.get_running_loop().time() - before > 0.5


async def test_a_connection_that_takes_one_of_the_last_files_is_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "last_file", lambda: 0)
    async with Cluster(controllers="none") as cluster:
        reader, _ = await dial(cluster)
        assert await code(reader) == 429
        assert b"Retry-After: 1" in await ended(reader)


def test_some_files_are_left_for_others() -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft == resource.RLIM_INFINITY or connections.last_file() < soft


CROWD = """
import asyncio, resource, ssl, sys
from jobrelay.cluster import Cluster
from jobrelay.cli.loop import _loop_factory

async def main():
    async with Cluster(controllers="none") as cluster:
        port = int(cluster.url.rpartition(":")[2])
        opened = await asyncio.create_subprocess_exec(sys.executable, "-c", CLIENT, str(port), stdout=-1)
        await opened.stdout.readline()
        used = resource.getrusage(resource.RUSAGE_SELF)
        await asyncio.sleep(1)
        spent = resource.getrusage(resource.RUSAGE_SELF).ru_utime - used.ru_utime
        assert spent < 0.5, f"accepting spins: {spent}"
        await opened.wait()
        trust = ssl.create_default_context()
        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
        while True:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust)
                break
            except OSError:  # the dead connections are still being accepted
                await asyncio.sleep(0.1)
        writer.write(b"GET /healthz HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
        print(await reader.readline())

CLIENT = '''
import resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
opened = []
for _ in range(300):
    opened.append(socket.create_connection(("127.0.0.1", int(sys.argv[1]))))
print("opened", flush=True)
time.sleep(1.5)
'''
resource.setrlimit(resource.RLIMIT_NOFILE, (100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
with asyncio.Runner(loop_factory=_loop_factory() if sys.argv[1] == "fast" else None) as runner:
    runner.run(main())
"""


@pytest.mark.parametrize("loop", ["plain", "fast"])
def test_a_process_without_free_files_neither_spins_nor_ends(loop: str) -> None:
    done = subprocess.run([sys.executable, "-c", CROWD, loop], capture_output=True, text=True, timeout=60, check=False)
    assert "200 OK" in done.stdout, done.stderr[-2000:]
