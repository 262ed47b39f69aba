"""A webhook that allows everything, as cheaply as it can.

python -m bench.hook  ->  {"port": 40123, "ca": "LS0t..."}      and then it serves until its input ends
"""

from __future__ import annotations

import asyncio
import base64
import json
import pathlib
import re
import ssl
import sys
import tempfile
from typing import Final, cast

from bench.connection import loop_factory
from jobrelay.kube.pki import Authority, make_authority

_LENGTH: Final = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_UID: Final = re.compile(rb'"uid":"([^"]+)"')
_HEAD: Final = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"


class Hook(asyncio.Protocol):
    """Answers one request after the other on a connection."""

    def __init__(self) -> None:
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head = self._buffer.find(b"\r\n\r\n")
        length = _LENGTH.search(self._buffer, 0, head) if head >= 0 else None
        if length is None or len(self._buffer) < head + 4 + int(length[1]):
            return
        uid = _UID.search(self._buffer, head)
        assert uid is not None
        self._buffer = b""
        response = {"uid": uid[1].decode(), "allowed": True}
        body = json.dumps(
            {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        ).encode()
        self._transport.write(_HEAD.format(len(body)).encode() + body)


def _context(authority: Authority) -> ssl.SSLContext:
    pair = authority.server(("127.0.0.1",))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "pair.pem"
        path.write_bytes(pair.certificate + pair.key)
        context.load_cert_chain(path)
    return context


async def main() -> None:
    authority, loop = Authority(make_authority("bench-hook")), asyncio.get_running_loop()
    server = await loop.create_server(Hook, "127.0.0.1", 0, ssl=_context(authority))
    ca = base64.b64encode(authority.pair.certificate).decode()
    print(json.dumps({"port": server.sockets[0].getsockname()[1], "ca": ca}), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(main())
