"""What is read from other clusters and from files that name them: watches, lists, errors, kubeconfigs, credentials."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Final

from jobrelay.kube import Client, KubeError, Request, Response
from jobrelay.kube.brief import BriefTransport
from jobrelay.kube.connection import Connection
from jobrelay.kube.discovery import server_version, serves
from jobrelay.kube.exec_plugin import ExecConfig, ExecPlugin
from jobrelay.kube.kubeconfig import Kubeconfig
from jobrelay.kube.network import NetworkTransport
from jobrelay.kube.resource import JOBS
from jobrelay.kube.tls import client_ssl_context
from jobrelay.kube.watch import read_events

from ..target import Check, Target, plain
from .documents import JSON_WORDS

_OBJECT_WORDS: Final = (
    *JSON_WORDS, b'{"type":"ADDED","object":', b'{"type":"ERROR","object":', b'"metadata":', b'"resourceVersion":"1"',
    b'"kind":"Status"', b'"code":410', b'"reason":"Expired"', b'"items":[', b'"annotations":{', b'"ownerReferences":[',
    b'"details":{', b'"retryAfterSeconds":', b'"gitVersion":', b'"resources":[', b'"continue":"x"',
)  # fmt: skip
_CONFIG_WORDS: Final = (
    b"apiVersion: v1\n", b"clusters:\n", b"- name: a\n", b"  cluster:\n", b"    server: https://127.0.0.1:1\n",
    b"    certificate-authority-data: ", b"users:\n", b"  user:\n", b"    token: t\n", b"    client-key-data: ",
    b"contexts:\n", b"  context: {cluster: a, user: a}\n", b"current-context: a\n", b"    exec:\n",
    b"      command: x\n",
    b"    proxy-url: ", b"http://[", b"    tokenFile: x\n", b"null", b"{}", b"[]", b"LQ==",
)  # fmt: skip
_CREDENTIAL_WORDS: Final = (
    *JSON_WORDS, b'"kind":"ExecCredential"', b'"apiVersion":"client.authentication.k8s.io/v1"', b'"status":{',
    b'"token":"t"', b'"expirationTimestamp":"2024-01-01T00:00:00Z"', b'"clientCertificateData":"x"',
)  # fmt: skip


class _Answering:
    """A transport that answers every request with the same bytes; the first one decides the status."""

    def __init__(self, data: bytes) -> None:
        self._status, self._body = (200, 200, 404, 410, 500, 200)[data[0] % 6] if data else 200, data[1:]

    async def send(self, request: Request) -> Response:
        return Response(self._status, {"Retry-After": self._body[:3].decode("latin-1")}, self._body)


async def _read_answers(data: bytes) -> None:
    client = Client(_Answering(data))
    with contextlib.suppress(KubeError):
        (await client.get(JOBS, "a", "default")).decode()
    for call in (client.list, functools.partial(serves, client), lambda _: server_version(client)):
        with contextlib.suppress(KubeError):
            await call(JOBS)


async def _read_watch(data: bytes) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(data), 7):
            yield data[start : start + 7]

    async for event in read_events(chunks(), limit=100_000):
        assert event.ends_initial_events in (True, False)
        event.object.decode()


@contextlib.contextmanager
def looped(check: Any) -> Iterator[Check]:
    """A check that is a coroutine function, on a loop of its own."""
    with asyncio.Runner() as runner:
        yield lambda data: runner.run(check(data))


def _kubeconfig(data: bytes) -> None:
    config = Kubeconfig.inline(data, exec_allowed=frozenset({"x"}))
    for context in (None, *config.contexts):
        connection = config.connection(context)
        config.entries(context)
        client_ssl_context(connection.ca, None, insecure=connection.insecure)
        NetworkTransport(connection, environ={})


async def _exec_credential(data: bytes) -> None:
    plugin = ExecPlugin(
        ExecConfig(command="x", api_version="client.authentication.k8s.io/v1", interactive_mode="Never")
    )
    plugin._read(data)


@contextlib.contextmanager
def _network(opens: Callable[[Connection], NetworkTransport | BriefTransport]) -> Iterator[Check]:
    """A worker that answers with any bytes at all, on a real connection."""
    with asyncio.Runner() as runner:
        sent = b""

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await reader.readuntil(b"\r\n\r\n")
                writer.write(sent)
                writer.close()
                await writer.wait_closed()

        server = runner.run(asyncio.start_server(answer, "127.0.0.1", 0))
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

        async def ask() -> None:
            async with opens(Connection(url)) as transport:
                await Client(transport).list(JOBS)

        def check(data: bytes) -> None:
            nonlocal sent
            sent = data
            try:
                runner.run(ask())
            finally:
                left = {task for task in asyncio.all_tasks(runner.get_loop()) if not task.done()}
                runner.run(_ended(left))

        try:
            yield check
        finally:
            server.close()
            runner.run(server.wait_closed())


async def _ended(tasks: set[asyncio.Task[Any]]) -> None:
    if tasks:
        _, left = await asyncio.wait(tasks, timeout=5)
        assert not left, "a task has not ended"


_HTTP_WORDS: Final = (
    b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 404 Not Found\r\n", b"HTTP/1.0 ", b"Content-Length: ",
    b"Transfer-Encoding: chunked\r\n",
    b"Content-Type: application/json\r\n", b"\r\n\r\n", b"\r\n", b"0\r\n\r\n", b"5\r\n", b"Content-Encoding: gzip\r\n",
    b"Location: /x\r\n", b"Connection: close\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", b"Retry-After: 1\r\n",
)  # fmt: skip

CLIENT: Final = (
    Target("answers", lambda: looped(_read_answers), (), _OBJECT_WORDS),
    Target(
        "network-answers", lambda: _network(lambda it: NetworkTransport(it, environ={})), (KubeError,),
        (*_HTTP_WORDS, *_OBJECT_WORDS),
    ),
    Target("brief-answers", lambda: _network(BriefTransport), (KubeError,), (*_HTTP_WORDS, *_OBJECT_WORDS)),
    Target("watch-stream", lambda: looped(_read_watch), (KubeError,), (*_OBJECT_WORDS, b"\n",
    b'{"type":"BOOKMARK","object":')),
    Target("kubeconfig", plain(_kubeconfig), (KubeError,), _CONFIG_WORDS),
    Target("exec-credential", lambda: looped(_exec_credential), (KubeError,), _CREDENTIAL_WORDS),
)  # fmt: skip
