"""A small HTTP server for liveness and readiness probes and for Prometheus.

    /healthz     the process answers
    /readyz      it is ready: its caches are synced
    /metrics     Prometheus' text format

It is read-only, and listens on the loopback device by default. The HTTP library is imported when it starts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aiohttp import web

__all__ = ["ProbeServer", "serving"]

Handler: TypeAlias = "Callable[[web.Request], Awaitable[web.Response]]"
_ANYWHERE: Final = ("0.0.0.0", "::", "")


@asynccontextmanager
async def serving(
    host: str,
    port: int,
    routes: Mapping[str, Handler],
    advertise: str = "",
    *,
    posts: Mapping[str, Handler] = MappingProxyType({}),
) -> AsyncIterator[str]:
    """Serve GET requests, and POST requests of the paths in `posts`.

    Gives the server's URL, with the host `advertise` if that is set. Raises OSError."""
    from aiohttp import web

    app = web.Application()
    for path, handler in routes.items():
        app.router.add_get(path, handler)
    for path, handler in posts.items():
        app.router.add_post(path, handler)
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        shown = advertise or ("127.0.0.1" if host in _ANYWHERE else host)
        yield f"http://{f'[{shown}]' if ':' in shown else shown}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


class ProbeServer:
    """Serves probes and metrics while it runs; `url` is known once `wait_synced` has returned."""

    def __init__(self, host: str, port: int, *, ready: Callable[[], bool], metrics: Callable[[], bytes]) -> None:
        self.url = ""
        self._host, self._port = host, port
        self._is_ready, self._metrics_text = ready, metrics
        self._started = asyncio.Event()

    async def wait_synced(self) -> None:
        """Return once requests are answered."""
        await self._started.wait()

    async def run(self) -> None:
        """Serve until cancelled; raises OSError if the address cannot be used."""
        routes = {"/healthz": self._healthy, "/readyz": self._ready, "/metrics": self._metrics}
        async with serving(self._host, self._port, routes) as self.url:
            self._started.set()
            await asyncio.Event().wait()

    async def _healthy(self, request: web.Request) -> web.Response:
        return _text(b"ok")

    async def _ready(self, request: web.Request) -> web.Response:
        return _text(b"ok") if self._is_ready() else _text(b"not ready yet", 503)

    async def _metrics(self, request: web.Request) -> web.Response:
        return _text(self._metrics_text(), content_type="text/plain; version=0.0.4")


def _text(body: bytes, status: int = 200, content_type: str = "text/plain; charset=utf-8") -> web.Response:
    from aiohttp import web

    return web.Response(body=body, status=status, headers={"Content-Type": content_type})
