"""Connections as light as they get, so that the load costs less than what it measures.

Requests are whole byte strings made beforehand. Of an answer only the status and the length are looked at.
"""

from __future__ import annotations

import asyncio
import base64
import json
import pathlib
import ssl
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

_END: Final = b"\r\n\r\n"


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def tls(kubeconfig: str) -> ssl.SSLContext:
    """The admin's side of TLS: the cluster's authority and a client certificate."""
    config: dict[str, Any] = json.loads(pathlib.Path(kubeconfig).read_text())
    user, cluster = config["users"][0]["user"], config["clusters"][0]["cluster"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=authority)
    with tempfile.NamedTemporaryFile() as pair:
        for part in ("client-certificate-data", "client-key-data"):
            pair.write(base64.b64decode(user[part]) + b"\n")
        pair.flush()
        context.load_cert_chain(pair.name)
    return context


class Sender(asyncio.Protocol):
    """Sends requests one after the other, each as soon as the answer to the one before is complete."""

    def __init__(self) -> None:
        self._requests: Iterator[bytes] = iter(())
        self._wanted = b""
        self._done: asyncio.Future[int] | None = None
        self._buffer, self._missing, self._answered = b"", -1, 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def restart(self, requests: Iterator[bytes], wanted: bytes) -> asyncio.Future[int]:
        """Begins with other requests; the future tells how many were answered."""
        self._requests, self._wanted, self._answered = requests, b"HTTP/1.1 " + wanted, 0
        done = self._done = asyncio.get_running_loop().create_future()
        self._next()
        return done

    def _next(self) -> None:
        request = next(self._requests, None)
        if request is None:
            self._finish(None)
        else:
            self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        if self._missing < 0:
            self._buffer += data
            end = self._buffer.find(_END)
            if end < 0:
                return
            if not self._buffer.startswith(self._wanted):
                self._fail(self._buffer[:2000])
                return
            self._missing = _length(self._buffer[:end]) + end + 4 - len(self._buffer)
            self._buffer = b""
        else:
            self._missing -= len(data)
        if self._missing == 0:
            self._missing = -1
            self._answered += 1
            self._next()

    def _fail(self, answer: bytes) -> None:
        self._finish(RuntimeError(f"unexpected answer: {answer!r}"))
        self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._finish(ConnectionError(f"the server closed the connection: {exc}"))

    def _finish(self, error: Exception | None) -> None:
        done, self._done = self._done, None
        if done is None:
            return
        if error is None:
            done.set_result(self._answered)
        else:
            done.set_exception(error)


def _length(head: bytes) -> int:
    lower = head.lower()
    at = lower.index(b"content-length:") + 15
    return int(lower[at:].split(b"\r\n", 1)[0])


async def connect(host: str, port: int, context: ssl.SSLContext) -> Sender:
    loop = asyncio.get_running_loop()
    _, sender = await loop.create_connection(Sender, host, port, ssl=context)
    return sender
