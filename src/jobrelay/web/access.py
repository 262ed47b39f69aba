"""Who may view the pages: the owner of a kubeconfig on their own machine, or a user who signs in with a token.

Both give each request a `DashboardBackend` with the rights of that person. The local server is opened by a URL with a
random token, which becomes a cookie that pages of other sites cannot send, so that these and other users of the machine
get nothing. Inside a relay a person gives a token that the management cluster knows. It is kept in a cookie of their
browser and nowhere else, so every replica can answer. A request with an Authorization header, as proxies that sign
people in do, needs no cookie.
"""

from __future__ import annotations

import hmac
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from http import HTTPStatus
from typing import Final, Protocol

from aiohttp import hdrs, web

from jobrelay.kube import Client, Clock, Connection, connect
from jobrelay.kube.credentials import Credential, StaticCredentials, bearer
from jobrelay.web.backend import DashboardBackend
from jobrelay.web.rendering import render
from jobrelay.web.security import is_same_origin

_LONGEST_TOKEN: Final = 3800
"""Browsers keep cookies of 4 KiB."""


class DashboardAccess(Protocol):
    """How viewers are authenticated; `base` is the path below which the pages are."""

    base: str
    signs_in: bool

    def refusal(self, request: web.Request) -> web.Response | None:
        """The response for a viewer who is not authenticated; None if they are."""
        ...

    def backend(self, request: web.Request) -> AbstractAsyncContextManager[DashboardBackend]:
        """The backend that reads as the viewer who sent an authenticated request."""
        ...

    def add_routes(self, app: web.Application) -> None:
        """Add the routes for signing in and out."""
        ...


class LocalAccess:
    """Everybody who has the token is the owner of the kubeconfig that `client` was made of."""

    base, signs_in = "", False

    def __init__(self, client: Client, namespace: str, token: str, clock: Clock) -> None:
        self._token, self._backend = token, DashboardBackend(client, namespace, clock)

    def refusal(self, request: web.Request) -> web.Response | None:
        given = request.query.get("token", "")
        if given and hmac.compare_digest(given.encode(), self._token.encode()):
            query = {name: value for name, value in request.query.items() if name != "token"}
            answer = web.Response(
                status=HTTPStatus.SEE_OTHER, headers={hdrs.LOCATION: str(request.rel_url.with_query(query))}
            )
            answer.set_cookie(_cookie(request), self._token, httponly=True, samesite="Strict", path="/")
            return answer
        if hmac.compare_digest(request.cookies.get(_cookie(request), "").encode(), self._token.encode()):
            return None
        return _page(HTTPStatus.UNAUTHORIZED, render("locked.html", base=self.base))

    @asynccontextmanager
    async def backend(self, request: web.Request) -> AsyncIterator[DashboardBackend]:
        yield self._backend

    def add_routes(self, app: web.Application) -> None:
        """None: the token is taken on every page."""


def _cookie(request: web.Request) -> str:
    """Browsers send a cookie to all ports of a host, so several dashboards need several."""
    port = request.headers.get(hdrs.HOST, "").rpartition(":")[2]
    return f"jobrelay-{port}"


class TokenAccess:
    """People are known by tokens of the management cluster, which `connection` leads to."""

    signs_in = True
    _COOKIE: Final = "__Secure-jobrelay"

    def __init__(self, connection: Connection, base: str, clock: Clock) -> None:
        self.base, self._connection, self._clock = base, connection, clock

    def refusal(self, request: web.Request) -> web.Response | None:
        if self._token(request):
            return None
        return self._form(request, HTTPStatus.UNAUTHORIZED)

    def _form(self, request: web.Request, status: HTTPStatus, problem: str = "") -> web.Response:
        return _page(status, render("signin.html", base=self.base, problem=problem))

    def _token(self, request: web.Request) -> str:
        scheme, _, token = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
        found = token.strip() if scheme.lower() == "bearer" else request.cookies.get(self._COOKIE, "")
        return found if _is_token(found) else ""

    @asynccontextmanager
    async def backend(self, request: web.Request) -> AsyncIterator[DashboardBackend]:
        """With a connection of its own, since its rights are those of one person."""
        credentials = StaticCredentials(Credential(bearer(self._token(request))))
        async with connect(replace(self._connection, credentials=credentials, headers={})) as client:
            yield DashboardBackend(client, "", self._clock)

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/sign-in", self._sign_in)
        app.router.add_post("/sign-out", self._sign_out)

    async def _sign_in(self, request: web.Request) -> web.Response:
        if not is_same_origin(request):
            return self._form(request, HTTPStatus.FORBIDDEN, "The form was sent by a page of another site.")
        token = str((await request.post()).get("token", "")).strip()
        if not _is_token(token):
            return self._form(request, HTTPStatus.BAD_REQUEST, "This is not a token.")
        answer = self._back()
        answer.set_cookie(self._COOKIE, token, httponly=True, secure=True, samesite="Strict", path=self.base)
        return answer

    async def _sign_out(self, request: web.Request) -> web.Response:
        if not is_same_origin(request):
            return self._form(request, HTTPStatus.FORBIDDEN, "The form was sent by a page of another site.")
        answer = self._back()
        answer.del_cookie(self._COOKIE, httponly=True, secure=True, samesite="Strict", path=self.base)
        return answer

    def _back(self) -> web.Response:
        return web.Response(status=HTTPStatus.SEE_OTHER, headers={hdrs.LOCATION: f"{self.base}/"})


def _is_token(text: str) -> bool:
    """Whether a text can be a bearer token: nothing else may get into a header."""
    return 0 < len(text) <= _LONGEST_TOKEN and text.isascii() and text.isprintable() and not set(text) & set(' ";,\\')


def _page(status: HTTPStatus, text: str) -> web.Response:
    return web.Response(status=status, text=text, content_type="text/html")
