"""The dashboard as an application: its pages, its two files, and the checks before them."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Final
from urllib.parse import urlencode

from aiohttp import web

from jobrelay.kube import Client, Clock, Connection
from jobrelay.web.access import DashboardAccess, LocalAccess, TokenAccess
from jobrelay.web.pages import Pages
from jobrelay.web.security import add_headers, hosts_of, only_hosts

BASE: Final = "/dashboard"
"""Where the pages are inside a relay."""
_FILES: Final = {"style.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}


def add_dashboard(app: web.Application, access: DashboardAccess, clock: Clock) -> None:
    """Add the pages and files to an application."""
    for name, media in _FILES.items():
        app.router.add_get(f"/static/{name}", _file(name, media))
    Pages(access, clock).add_routes(app)


def _file(name: str, media: str) -> Callable[[web.Request], Awaitable[web.Response]]:
    body = files("jobrelay.web").joinpath("static", name).read_bytes()

    async def send(request: web.Request) -> web.Response:
        return web.Response(body=body, content_type=media, charset="utf-8")

    return send


def relay_dashboard(connection: Connection, clock: Clock) -> web.Application:
    """The dashboard inside a relay, to be added below `BASE`, for people with tokens of the management cluster that
    `connection` leads to."""
    app = web.Application()
    app.on_response_prepare.append(add_headers)
    add_dashboard(app, TokenAccess(connection, BASE, clock), clock)
    return app


@asynccontextmanager
async def local_dashboard(
    client: Client, namespace: str, port: int, clock: Clock, *, first: str = ""
) -> AsyncIterator[str]:
    """Serves on the loopback device as the owner of a kubeconfig; gives the URL to open. Raises OSError.

    `namespace` is shown where the owner may not see all, `first` if it is given.
    """
    token = secrets.token_urlsafe(24)
    own: list[int] = []
    app = web.Application(middlewares=[only_hosts(lambda: hosts_of(own[0]) if own else ())])
    app.on_response_prepare.append(add_headers)
    add_dashboard(app, LocalAccess(client, namespace, token, clock), clock)
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        own.append(runner.addresses[0][1])
        query = {"token": token, **({"namespace": first} if first else {})}
        yield f"http://127.0.0.1:{own[0]}/?{urlencode(query)}"
    finally:
        await runner.cleanup()
