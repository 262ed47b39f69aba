"""An HTTPS server on loopback for tests, whose answers the test decides."""

from __future__ import annotations

import base64
import functools
import pathlib
import ssl
import tempfile
from collections.abc import Awaitable, Callable
from typing import Any, Self

from aiohttp import web

from jobrelay.kube.pki import Authority, make_authority

HOSTS = ("127.0.0.1", "localhost", "hook.default.svc")
Respond = Callable[[web.Request], Awaitable[web.StreamResponse]]


@functools.cache
def authority() -> Authority:
    return Authority(make_authority("loopback-ca"))


@functools.cache
def server_context(*hosts: str) -> ssl.SSLContext:
    """The context of a server that is known by the usual names and these."""
    pair = authority().server((*HOSTS, *hosts))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "pair.pem"
        path.write_bytes(pair.certificate + pair.key)
        context.load_cert_chain(path)
    return context


def ca_bundle() -> str:
    """The CA of all these servers, as a clientConfig has it."""
    return base64.b64encode(authority().pair.certificate).decode()


class LoopbackServer:
    """Serves all paths by `respond`; `requests` are the bodies that it got, as text."""

    def __init__(self, respond: Respond, tls: ssl.SSLContext | None = None) -> None:
        self._respond, self._tls = respond, tls or server_context()
        self.requests: list[str] = []
        self.connections = 0
        self.port = 0

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 << 20)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._tls)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(await request.text())
        return await self._respond(request)

    def client_config(self, path: str = "/", **more: Any) -> dict[str, Any]:
        return {"url": f"https://127.0.0.1:{self.port}{path}", "caBundle": ca_bundle(), **more}
