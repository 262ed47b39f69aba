"""A real HTTP server on a free local port, for what only the network can show."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from jobrelay.kube import Request, Transport

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """Answer every request by `handler`; yields the address."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def over_http(inner: Transport) -> Handler:
    """Expose a transport to the network."""

    async def handle(request: web.Request) -> web.StreamResponse:
        body = await request.read() or None
        async with await inner.send(Request(request.method, request.raw_path, request.headers, body)) as response:
            answer = web.StreamResponse(status=response.status, headers=dict(response.headers))
            await answer.prepare(request)
            async for chunk in response.chunks():
                await answer.write(chunk)
        return answer

    return handle
