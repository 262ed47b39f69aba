"""The security headers of every response: load nothing from elsewhere, no inline scripts, no frames.

The one script and the one style sheet are files of this package. Requests that would change something do not exist,
except for signing in and out; these are refused if a page of another origin sends them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Final

from aiohttp import hdrs, web

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """For `on_response_prepare`, so that refusals and streams have them too."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers.popall(hdrs.SERVER, None)


def hosts_of(port: int) -> frozenset[str]:
    """The hosts of a local server's own pages. Others are names that somebody made to point at this machine."""
    return frozenset(f"{host}:{port}" for host in ("127.0.0.1", "localhost", "[::1]"))


def only_hosts(hosts: Callable[[], Collection[str]]) -> Callable[..., Awaitable[web.StreamResponse]]:
    """A middleware that answers requests for these hosts alone."""

    @web.middleware
    async def check(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if request.headers.get(hdrs.HOST, "").lower() not in hosts():
            return web.Response(status=421, text="this server answers only for 127.0.0.1 and localhost\n")
        return await handler(request)

    return check


def is_same_origin(request: web.Request) -> bool:
    """Whether a form was sent by a page of this server: by its Origin, or if there is none, as the browser says."""
    origin = request.headers.get("Origin", "")
    if origin and origin != "null":
        return origin.partition("://")[2].lower() == request.headers.get(hdrs.HOST, "").lower()
    return request.headers.get("Sec-Fetch-Site", "") in ("same-origin", "none")
