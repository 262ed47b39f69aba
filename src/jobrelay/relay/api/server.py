"""The requests of the API: who asks, whether they may, and the answer.

A caller is known by the front proxy of the API server, or by a token if they call the relay directly. The API server
has asked RBAC about the API's own group before it sends a request on; of a direct caller that is asked here. About the
originals themselves the relay asks in any case (`reading`). Every replica answers, from caches of its own; those that
do not lead hold the same.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime
from typing import Final

import msgspec
from aiohttp import hdrs, web

from jobrelay.kube import Client, Clock, KubeError, StatusError
from jobrelay.logs import get_logger
from jobrelay.relay.api.activity import Activity
from jobrelay.relay.api.callers import Caller, caller_of
from jobrelay.relay.api.discovery import GROUP_DOCUMENT, GROUPS, RESOURCES
from jobrelay.relay.api.events import event_list
from jobrelay.relay.api.failures import NOT_STARTED, ApiFailure, not_found, unanswered, unauthorized, unavailable
from jobrelay.relay.api.following import FollowedWorkload
from jobrelay.relay.api.front_proxy import FrontProxy
from jobrelay.relay.api.logs import LogRequest, WorkloadLog, Write, kept_choice, parse_log_request
from jobrelay.relay.api.names import API_VERSION, BASE, GROUP
from jobrelay.relay.api.openapi import document_v2, document_v3
from jobrelay.relay.api.paging import parse_page_request
from jobrelay.relay.api.reading import Reading
from jobrelay.relay.api.reviews import AccessReviews, ResourceAttributes
from jobrelay.relay.api.sessions import Sessions, parse_exec_request
from jobrelay.relay.api.workloads import Found, workload_list, workload_table
from jobrelay.relay.kept_logs.kept import KeptLog, chosen_lines
from jobrelay.relay.kept_logs.reading import kept_notice
from jobrelay.relay.overview import worker_views
from jobrelay.relay.relay import RelayManager

log = get_logger(__name__)

_MOST_FOLLOWED: Final = 500
"""Logs that are followed at the same time."""
_MOST_WATCHED: Final = 2000
"""Watches of activity that are open at the same time."""
_DOCUMENTS: Final[dict[str, Callable[[], object]]] = {
    "/apis": lambda: GROUPS,
    f"/apis/{GROUP}": lambda: GROUP_DOCUMENT,
    BASE: lambda: RESOURCES,
    "/openapi/v2": document_v2,
    "/openapi/v3": lambda: {"paths": {BASE[1:]: {"serverRelativeURL": f"/openapi/v3{BASE}"}}},
    f"/openapi/v3{BASE}": document_v3,
}
Answer = Callable[[web.Request, Caller], Awaitable[web.StreamResponse]]


class RelayApi:
    """Answers requests about the relay that `relay` gives, None while none is ready.

    `client` reaches the management cluster, and sends reviews in every replica. `routes` are served beside the API, and
    authenticate nobody.
    """

    def __init__(
        self,
        client: Client,
        relay: Callable[[], RelayManager | None],
        proxy: FrontProxy,
        activity: Activity,
        *,
        clock: Clock,
        routes: Sequence[web.RouteDef] = (),
    ) -> None:
        self._client, self._relay, self._proxy, self._clock = client, relay, proxy, clock
        self._activity, self._routes = activity, routes
        self._reviews = AccessReviews(client, clock)
        self._sessions = Sessions(clock)
        self._followed = self._watched = 0

    def application(self, pages: tuple[str, web.Application] | None = None) -> web.Application:
        """All routes, and an application for people below a path of its own."""
        app = web.Application(middlewares=[_failures])
        for path in ("/healthz", "/livez"):
            app.router.add_get(path, _healthy)
        app.router.add_get("/readyz", self._ready)
        app.router.add_routes(self._routes)
        for path in _DOCUMENTS:
            app.router.add_get(path, self._known(self._document))
        for scope in (BASE, f"{BASE}/namespaces/{{namespace}}"):
            app.router.add_get(f"{scope}/activity", self._allowed("list", "activity", self._now))
            app.router.add_get(f"{scope}/overview", self._allowed("list", "overview", self._overview))
            app.router.add_get(f"{scope}/workloads", self._allowed("list", "workloads", self._workloads))
        app.router.add_get(f"{BASE}/workers", self._allowed("list", "workers", self._workers))
        previews = f"{BASE}/namespaces/{{namespace}}/previews"
        app.router.add_post(previews, self._allowed("create", "previews", self._preview))
        one = f"{BASE}/namespaces/{{namespace}}/workloads/{{name}}"
        app.router.add_get(one, self._allowed("get", "workloads", self._workload))
        app.router.add_get(f"{one}/events", self._allowed("get", "workloads/events", self._events))
        app.router.add_get(f"{one}/exec", self._allowed("get", "workloads/exec", self._exec))
        app.router.add_get(f"{one}/log", self._allowed("get", "workloads/log", self._log))
        if pages is not None:
            app.add_subapp(*pages)
        app.router.add_route("*", "/{path:.*}", self._known(_nothing))
        return app

    def _known(self, answer: Answer) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """For authenticated callers."""

        async def handle(request: web.Request) -> web.StreamResponse:
            return await answer(request, await self._authenticate(request))

        return handle

    def _allowed(
        self, verb: str, resource: str, answer: Answer
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """For callers that RBAC lets do this in the API's own group."""

        async def handle(request: web.Request) -> web.StreamResponse:
            caller = await self._authenticate(request)
            if caller.direct:
                plural, _, part = resource.partition("/")
                named = request.match_info
                asked = "watch" if verb == "list" and _watches(request) else verb
                wanted = ResourceAttributes(
                    asked, GROUP, plural, named.get("namespace", ""), named.get("name", ""), part
                )
                await self._reviews.require(caller, wanted)
            return await answer(request, caller)

        return handle

    async def _authenticate(self, request: web.Request) -> Caller:
        """Who calls; raises ApiFailure. Identity headers count only over a connection of the front proxy."""
        found = request.transport.get_extra_info("ssl_object") if request.transport is not None else None
        connection: ssl.SSLObject | None = found
        if self._proxy.vouches(connection):
            assert self._proxy.headers is not None
            caller = caller_of(request.headers.items(), self._proxy.headers)
            if caller is not None:
                return caller
        scheme, _, token = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
        if scheme.lower() == "bearer" and token.strip():
            return await self._reviews.caller(token.strip())
        if self._proxy.outdated(connection):
            raise unauthorized("the front proxy's authority has changed since this connection was opened")
        raise unauthorized("neither the API server's front proxy nor a token says who is calling")

    def _reading(self, caller: Caller) -> Reading:
        return Reading(self._ready_relay(), caller, self._reviews, self._client, self._activity)

    def _ready_relay(self) -> RelayManager:
        relay = self._relay()
        if relay is None:
            raise unavailable("the relay is not ready yet")
        return relay

    async def _ready(self, request: web.Request) -> web.Response:
        self._ready_relay()
        return web.Response(text="ok")

    async def _document(self, request: web.Request, caller: Caller) -> web.Response:
        return _json(_DOCUMENTS[request.path]())

    async def _overview(self, request: web.Request, caller: Caller) -> web.Response:
        return _json(await self._reading(caller).overview(request.match_info.get("namespace", "")))

    async def _workers(self, request: web.Request, caller: Caller) -> web.Response:
        items = [msgspec.to_builtins(each) for each in worker_views(self._ready_relay())]
        return _json({"apiVersion": API_VERSION, "kind": "WorkerList", "metadata": {}, "items": items})

    async def _now(self, request: web.Request, caller: Caller) -> web.StreamResponse:
        reading, namespace = self._reading(caller), request.match_info.get("namespace", "")
        if not _watches(request):
            return _json(await reading.activity(namespace))
        await reading.seen_kinds(namespace)
        if self._watched >= _MOST_WATCHED:
            raise ApiFailure(429, "TooManyRequests", f"{_MOST_WATCHED} watches are open at present; try again later")
        self._watched += 1
        try:
            return await _send_versions(request, self._activity.versions(namespace))
        finally:
            self._watched -= 1

    async def _workloads(self, request: web.Request, caller: Caller) -> web.Response:
        namespace, asked = request.match_info.get("namespace", ""), parse_page_request(request.query)
        if asked is not None:
            metadata = {"resourceVersion": str(self._activity.version(namespace))}
            items, page, unseen = await self._reading(caller).page(namespace, asked)
            more = {"metadata": metadata, "total": page.chosen, "statuses": dict(sorted(page.statuses.items()))}
            return _json(workload_list(items, unseen) | more)
        found, unseen = await self._reading(caller).workloads(namespace)
        if "as=Table" in request.headers.get(hdrs.ACCEPT, ""):
            return _json(workload_table(found, self._clock.now()))
        return _json(workload_list(found, unseen))

    async def _preview(self, request: web.Request, caller: Caller) -> web.Response:
        asked = await request.read()
        return _json(await self._reading(caller).preview(request.match_info["namespace"], asked), 201)

    async def _workload(self, request: web.Request, caller: Caller) -> web.Response:
        asked, changes = request.match_info, request.query.getall("if", [])
        found = await self._reading(caller).workload(asked["namespace"], asked["name"], changes)
        if "as=Table" in request.headers.get(hdrs.ACCEPT, ""):
            return _json(workload_table([found], self._clock.now()))
        return _json(found)

    async def _events(self, request: web.Request, caller: Caller) -> web.Response:
        asked = request.match_info
        return _json(event_list(await self._reading(caller).events(asked["namespace"], asked["name"])))

    async def _log(self, request: web.Request, caller: Caller) -> web.StreamResponse:
        asked, reading = parse_log_request(request.query), self._reading(caller)
        found = await reading.find(request.match_info["namespace"], request.match_info["name"])
        if self._followed >= _MOST_FOLLOWED:
            raise ApiFailure(429, "TooManyRequests", f"{_MOST_FOLLOWED} logs are read at present; try again later")
        self._followed += 1
        try:
            return await self._send_log(request, reading, found, asked)
        except ApiFailure as failure:
            kept = await reading.kept(found, follow=asked.follow) if failure.cause == NOT_STARTED else None
            if kept is None:
                raise
            return await _send_kept(request, kept, asked, self._clock.now())
        finally:
            self._followed -= 1

    async def _exec(self, request: web.Request, caller: Caller) -> web.StreamResponse:
        """Run a command in a pod. A websocket is opened by GET, for which RBAC is asked about `get` alone: so `create`
        is asked here, of the API's own group and of pods in the namespace of the original."""
        namespace, name = request.match_info["namespace"], request.match_info["name"]
        asked, reading = parse_exec_request(request.query, request.headers), self._reading(caller)
        for wanted in (
            ResourceAttributes("create", GROUP, "workloads", namespace, name, "exec"),
            ResourceAttributes("create", "", "pods", namespace, subresource="exec"),
        ):
            await self._reviews.require(caller, wanted)
        found = await reading.find(namespace, name)
        with self._sessions.admitted(caller):
            worker, connection, chosen = await reading.pod_of(found, asked)
            log.info(
                "command in a pod", user=caller.name, workload=found.described, worker=worker, pod=chosen.pod.name,
                container=chosen.container,
            )  # fmt: skip
            return await self._sessions.serve(request, asked, worker, connection, chosen)

    async def _send_log(
        self, request: web.Request, reading: Reading, found: Found, asked: LogRequest
    ) -> web.StreamResponse:
        """Send a log as it comes; an error after its start becomes its last line."""
        relay = self._relay()
        async with reading.pods(found) as pods:
            source = WorkloadLog(pods, asked, found.described)
            await source.started()
            if not asked.follow:
                return await _send(request, source.copy)

        async def follow(write: Write) -> None:
            await FollowedWorkload(reading, found, asked, write, lambda: self._relay() is relay).run()

        return await _send(request, follow)


def _watches(request: web.Request) -> bool:
    return request.query.get("watch", "") in ("true", "1")


async def _send_versions(request: web.Request, versions: AsyncIterator[int]) -> web.StreamResponse:
    """A watch whose events say only that something has changed; clients read again what they show."""
    answer = web.StreamResponse(headers={"Content-Type": "application/json", "Cache-Control": "no-store"})
    answer.enable_chunked_encoding()
    await answer.prepare(request)
    async for version in versions:
        changed = {"apiVersion": API_VERSION, "kind": "Activity", "metadata": {"resourceVersion": str(version)}}
        await answer.write(msgspec.json.encode({"type": "MODIFIED", "object": changed}) + b"\n")
    await answer.write_eof()
    return answer


async def _send(request: web.Request, source: Callable[[Write], Awaitable[None]]) -> web.StreamResponse:
    answer = web.StreamResponse(headers={"Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store"})
    answer.enable_chunked_encoding()
    await answer.prepare(request)
    try:
        await source(answer.write)
    except (KubeError, ApiFailure) as error:
        await answer.write(f"jobrelay: the log ends here: {error}\n".encode())
    await answer.write_eof()
    return answer


async def _send_kept(request: web.Request, kept: KeptLog, asked: LogRequest, now: datetime) -> web.StreamResponse:
    """Send the kept part of a log, after a line that says so."""

    async def copy(write: Write) -> None:
        await write(f"jobrelay: {kept_notice(kept)}\n".encode())
        for log, line in chosen_lines(kept, kept_choice(asked, now)):
            lead = f"[{log.pod}/{log.container}] " if asked.prefix else ""
            await write(f"{lead}{line}".encode())

    return await _send(request, copy)


@web.middleware
async def _failures(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Turns refusals, and what clusters refuse the relay, into Status objects."""
    try:
        return await handler(request)
    except ApiFailure as failure:
        answer = _json(failure.status(), failure.code)
        if failure.code == 401:
            answer.force_close()
        return answer
    except StatusError as error:
        log.warning("a cluster refused a request for a user of the API", path=request.path, error=str(error))
        return _json(ApiFailure(502, "BadGateway", f"a cluster refused the relay: {error}").status(), 502)
    except KubeError as error:
        return _json(unanswered(f"a cluster did not answer the relay: {error}").status(), 504)


async def _healthy(request: web.Request) -> web.Response:
    return web.Response(text="ok")


async def _nothing(request: web.Request, caller: Caller) -> web.Response:
    raise not_found(f"the relay's API does not serve {request.method} {request.path}")


def _json(value: object, status: int = 200) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), status=status, content_type="application/json")
