"""The pages, each rendered for one request from what its viewer may read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final

from aiohttp import web

from jobrelay import __version__
from jobrelay.kube import BadRequest, Clock, Forbidden, KubeError, NotFound, ProtocolError, Unauthorized
from jobrelay.operate.errors import OperateError
from jobrelay.operate.relay_client import NotServed, NotStarted
from jobrelay.relay.workload_status import RUNNING, STATUSES, WAITING
from jobrelay.web.access import DashboardAccess
from jobrelay.web.backend import DashboardBackend, together
from jobrelay.web.charts import line_chart, rates_of, samples_of
from jobrelay.web.listing import heads_of, pages_of, parse_list
from jobrelay.web.rendering import clock_text, percent, render
from jobrelay.web.streaming import send_events

Show = Callable[[web.Request, DashboardBackend], Awaitable[web.StreamResponse]]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_ONE: Final = "/workloads/{namespace}/{name}"


class Pages:
    """All pages, for viewers that `access` authenticates."""

    def __init__(self, access: DashboardAccess, clock: Clock) -> None:
        self._access, self._clock = access, clock

    def add_routes(self, app: web.Application) -> None:
        shown: dict[str, Show] = {
            "/": self._overview,
            "/workloads": self._workloads,
            _ONE: self._workload,
            f"{_ONE}/log": self._log,
            "/workers": self._workers,
            "/queues": self._queues,
            "/stream": self._stream,
        }
        for path, show in shown.items():
            app.router.add_get(path, self._for(show))
        self._access.add_routes(app)

    def _for(self, show: Show) -> Handler:
        """For authenticated viewers; errors become pages too."""

        async def handle(request: web.Request) -> web.StreamResponse:
            refused = self._access.refusal(request)
            if refused is not None:
                return refused
            try:
                async with self._access.backend(request) as backend:
                    return await show(request, backend)
            except (KubeError, OperateError, ValueError) as error:
                return self._problem(request, error)

        return handle

    async def _page(
        self, backend: DashboardBackend, template: str, here: str, namespace: str, **values: Any
    ) -> web.Response:
        now = self._clock.now()
        has_queues, namespaces = await together(backend.has_queues(), backend.namespaces())
        text = render(
            template, **self._frame(here, namespace), has_queues=has_queues, namespaces=namespaces, now=now,
            time=clock_text(now), **values,
        )  # fmt: skip
        return web.Response(text=text, content_type="text/html")

    def _frame(self, here: str, namespace: str) -> dict[str, Any]:
        return {
            "base": self._access.base,
            "signs_in": self._access.signs_in,
            "here": here,
            "namespace": namespace,
            "version": __version__,
        }

    def _problem(self, request: web.Request, error: Exception) -> web.Response:
        status, title, hint = _described(error)
        namespace = request.query.get("namespace", "")
        text = render(
            "problem.html", **self._frame("", namespace), has_queues=False, namespaces=[], title=title, hint=hint,
            message=str(error).partition("\nhint: ")[0], time=clock_text(self._clock.now()),
        )  # fmt: skip
        return web.Response(status=status, text=text, content_type="text/html")

    async def _overview(self, request: web.Request, backend: DashboardBackend) -> web.Response:
        asked = request.query.get("namespace", "")
        namespace, now = await backend.scope(asked), self._clock.now()
        found = await backend.activity(namespace)
        history, statuses = found["history"], found["statuses"]
        charts = [
            line_chart(name, [*samples_of(history, name.lower()), (now, statuses.get(name, 0))], now)
            for name in (RUNNING, WAITING)
        ]
        return await self._page(
            backend, "overview.html", "overview", asked, shown=namespace, of_version=_version(found), found=found,
            charts=charts, statuses=STATUSES, rates=rates_of(history, now), room=_room(found["workers"]),
            percent=percent,
        )  # fmt: skip

    async def _workloads(self, request: web.Request, backend: DashboardBackend) -> web.Response:
        asked = parse_list(request.query)
        namespace = await backend.scope(asked.namespace)
        found, activity = await together(backend.page(namespace, asked.api_query()), backend.activity(namespace))
        return await self._page(
            backend, "workloads.html", "workloads", asked.namespace, shown=namespace, asked=asked, found=found,
            pages=pages_of(asked.page, found["total"]), heads=heads_of(asked), filtered=asked.filtered,
            statuses=STATUSES, of_version=_version(found), workers=[each["name"] for each in activity["workers"]],
            kinds=activity["kinds"],
        )  # fmt: skip

    async def _workload(self, request: web.Request, backend: DashboardBackend) -> web.Response:
        namespace, name = request.match_info["namespace"], request.match_info["name"]
        details = await backend.workload(namespace, name)
        return await self._page(
            backend, "workload.html", "workloads", request.query.get("namespace", ""), shown=namespace, name=name,
            details=details, view=details.found["status"],
        )  # fmt: skip

    async def _log(self, request: web.Request, backend: DashboardBackend) -> web.StreamResponse:
        """The whole log as text."""
        answer = web.StreamResponse(headers={"Content-Type": "text/plain; charset=utf-8"})
        async with backend.log(request.match_info["namespace"], request.match_info["name"], follow=False) as chunks:
            await answer.prepare(request)
            async for chunk in chunks:
                await answer.write(chunk)
        await answer.write_eof()
        return answer

    async def _workers(self, request: web.Request, backend: DashboardBackend) -> web.Response:
        asked = request.query.get("namespace", "")
        namespace = await backend.scope(asked)
        found = await backend.activity(namespace)
        return await self._page(
            backend, "workers.html", "workers", asked, shown=namespace, of_version=_version(found),
            workers=found["workers"], percent=percent,
        )  # fmt: skip

    async def _queues(self, request: web.Request, backend: DashboardBackend) -> web.Response:
        asked = request.query.get("namespace", "")
        namespace = await backend.scope(asked)
        found = await backend.queues(namespace)
        return await self._page(backend, "queues.html", "queues", asked, shown=namespace, found=found)

    async def _stream(self, request: web.Request, backend: DashboardBackend) -> web.StreamResponse:
        namespace = await backend.scope(request.query.get("namespace", ""))
        return await send_events(request, backend, namespace, request.query.get("log", ""), self._clock)


def _version(found: dict[str, Any]) -> str:
    """The version that a page is made of."""
    return str(found["metadata"].get("resourceVersion", ""))


def _room(workers: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """What all workers together have and use of each resource, as far as the viewer may know."""
    found: dict[str, dict[str, float]] = {}
    for name in ("cpu", "memory"):
        known = [each[name] for each in workers if each.get(name) and each["connected"]]
        if known:
            found[name] = {part: sum(each[part] for each in known) for part in ("used", "allocatable")}
    return found


def _described(error: Exception) -> tuple[HTTPStatus, str, str]:
    """The status of an answer, its title, and what to do."""
    match error:
        case Unauthorized():
            return HTTPStatus.UNAUTHORIZED, "The management cluster does not know you", "sign in again"
        case Forbidden():
            hint = "choose a namespace in which you may list Jobs, or ask for the role jobrelay-user there"
            return HTTPStatus.FORBIDDEN, "You may not see this", hint
        case NotFound():
            return HTTPStatus.NOT_FOUND, "There is no such workload", "it may have been deleted since"
        case NotStarted():
            return HTTPStatus.NOT_FOUND, "There is no log yet", "the page of the workload says what it waits for"
        case NotServed():
            hint = "start the relay with --api-listen, as `jobrelay up` and the manifests of `jobrelay install` do"
            return HTTPStatus.SERVICE_UNAVAILABLE, "The relay does not answer", hint
        case OperateError():
            return HTTPStatus.NOT_FOUND, "There is no such workload", error.hint
        case BadRequest():
            return HTTPStatus.BAD_REQUEST, "This cannot be shown", "check the address of the page"
        case ValueError():
            return HTTPStatus.NOT_FOUND, "There is no such page", ""
        case ProtocolError():
            return HTTPStatus.BAD_GATEWAY, "An answer cannot be understood", "check what serves the relay's API"
    return HTTPStatus.BAD_GATEWAY, "The management cluster does not answer", "check the connection to it"
