"""Minimal HTTP connections, so that the load costs less than what it measures.

Requests are byte strings prepared in advance. Only the status and the length of an answer are read, or the last chunk
if it is chunked.
"""

from __future__ import annotations

import asyncio
import base64
import json
import pathlib
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import urlsplit

from jobrelay.kube.credentials import Certificate
from jobrelay.kube.tls import client_ssl_context

_END: Final = b"\r\n\r\n"
_LAST_CHUNK: Final = b"\r\n0\r\n\r\n"
_CHUNKED: Final = b"transfer-encoding: chunked"


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


@dataclass(frozen=True, slots=True)
class Access:
    """Where an API server is, and the admin's credential: a certificate in the context, or a header with a token."""

    host: str
    port: int
    context: ssl.SSLContext
    header: bytes = b""

    def sign(self, request: bytes) -> bytes:
        """The request with the credential."""
        return request.replace(b"\r\n", b"\r\n" + self.header, 1) if self.header else request


def access(url: str, kubeconfig: str) -> Access:
    """The only cluster and user of a kubeconfig in JSON."""
    where = urlsplit(url)
    assert where.hostname is not None
    assert where.port is not None
    config: dict[str, Any] = json.loads(pathlib.Path(kubeconfig).read_text())
    user, cluster = config["users"][0]["user"], config["clusters"][0]["cluster"]
    ca = base64.b64decode(cluster["certificate-authority-data"])
    if "token" in user:
        header = f"Authorization: Bearer {user['token']}\r\n".encode()
        return Access(where.hostname, where.port, client_ssl_context(ca), header)
    pair = [base64.b64decode(user[part]) for part in ("client-certificate-data", "client-key-data")]
    return Access(where.hostname, where.port, client_ssl_context(ca, Certificate(*pair)))


class Unchunked:
    """Removes the chunk framing from a streamed answer; `ended` is set after the last chunk."""

    def __init__(self) -> None:
        self.ended = False
        self._rest, self._head = b"", True

    def feed(self, data: bytes) -> bytes:
        """The content of the chunks that are complete so far."""
        data, at, whole = self._rest + data, 0, []
        if self._head:
            at = data.find(_END) + 4
            self._head = at < 4
        while not self._head and (line := data.find(b"\r\n", at)) >= 0:
            end = line + 2 + int(data[at:line], 16)
            if end + 2 > len(data):
                break
            whole.append(data[line + 2 : end])
            self.ended = end == line + 2
            at = end + 2
        self._rest = data[at:] if not self._head else data
        return b"".join(whole)


class Sender(asyncio.Protocol):
    """Sends requests one after the other, each as soon as the answer to the one before is complete."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._requests: Iterator[bytes] = iter(())
        self._wanted = b""
        self._done: asyncio.Future[int] | None = None
        self._buffer, self._missing, self._answered = b"", -1, 0
        self._chunked = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def restart(self, requests: Iterator[bytes], wanted: bytes) -> asyncio.Future[int]:
        """Starts to send other requests; the future gets the number of answers."""
        self._requests, self._wanted, self._answered = requests, b"HTTP/1.1 " + wanted, 0
        done = self._done = asyncio.get_running_loop().create_future()
        self._next()
        return done

    def _next(self) -> None:
        request = next(self._requests, None)
        if request is None:
            self._finish(None)
        else:
            self._transport.write(self._access.sign(request))

    def data_received(self, data: bytes) -> None:
        if self._chunked:
            self._chunks(data)
        elif self._missing < 0:
            self._begin(data)
        else:
            self._missing -= len(data)
        if self._missing == 0:
            self._missing, self._chunked = -1, False
            self._answered += 1
            self._next()

    def _begin(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(_END)
        if end < 0:
            return
        if not self._buffer.startswith(self._wanted):
            self._fail(self._buffer[:2000])
            return
        head, rest, self._buffer = self._buffer[:end].lower(), self._buffer[end + 2 :], b""
        if _CHUNKED in head:
            self._chunked = True
            self._chunks(rest)
        else:
            self._missing = _length(head) + 2 - len(rest)

    def _chunks(self, data: bytes) -> None:
        """Nothing else in an answer looks like its last chunk: JSON has no line ends of its own."""
        self._buffer = (self._buffer + data)[-len(_LAST_CHUNK) :]
        if self._buffer == _LAST_CHUNK:
            self._missing, self._buffer = 0, b""

    def close(self) -> None:
        self._transport.close()

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
    at = head.index(b"content-length:") + 15
    return int(head[at:].split(b"\r\n", 1)[0])


async def connect(where: Access) -> Sender:
    loop = asyncio.get_running_loop()
    _, sender = await loop.create_connection(lambda: Sender(where), where.host, where.port, ssl=where.context)
    return sender
