"""A small HTTP server for probes, for Prometheus and for our own commands.

    /healthz  /readyz                  for probes; ready means that the caches are synced
    /metrics                           Prometheus' text format
    /workers                           the workers, as JSON
    /workloads[?namespace=NS]          all delegated workloads, as JSON
    /explain/NAMESPACE/KIND/NAME[?if=] why one workload is where it is, as JSON; `if` is a change of quotas to suppose
    /queues                            the queues and what waits in them, as JSON
    /preview/KIND                      what would be decided about the object in the body, by POST
    /copies                            what is copied to workers, as JSON: rules as the option --copy has them

It changes nothing. It listens on the loopback device by default, and its address is written to the relay's Lease, so
that clients that may read that Lease and are on the same machine or network find it. Replicas that do not lead answer
too, from the same caches.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from typing import Self

import msgspec
from aiohttp import web

from jobrelay.control.probe_server import serving
from jobrelay.kube.objects import Key, decode_object
from jobrelay.relay.api.previews import MALFORMED
from jobrelay.relay.names import ENDPOINT
from jobrelay.relay.overview import on_worker_of, worker_views, workload_views
from jobrelay.relay.relay import RelayManager
from jobrelay.relay.workload_kind import WorkloadRef

__all__ = ["ENDPOINT", "RelayEndpoint"]


class RelayEndpoint:
    """Listens within `async with`, and answers for the relay of the `with serving(relay)` block that is entered."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0, advertise: str = "") -> None:
        self._relay: RelayManager | None = None
        self.url = ""
        self._host, self._port, self._advertise = host, port, advertise
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        routes = {
            "/healthz": _healthy,
            "/readyz": self._ready,
            "/metrics": self._metrics,
            "/workers": self._workers,
            "/workloads": self._workloads,
            "/copies": self._copies,
            "/explain/{namespace}/{kind}/{name}": self._explain,
            "/queues": self._queues,
        }
        posts = {"/preview/{kind}": self._preview}
        self.url = await self._stack.enter_async_context(
            serving(self._host, self._port, routes, self._advertise, posts=posts)
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    @contextmanager
    def serving(self, relay: RelayManager) -> Iterator[None]:
        """Answer for this relay; before and after, requests are answered with 503."""
        self._relay = relay
        try:
            yield
        finally:
            self._relay = None

    async def _ready(self, request: web.Request) -> web.Response:
        self._ready_relay()
        return web.Response(text="ok")

    async def _metrics(self, request: web.Request) -> web.Response:
        relay = self._ready_relay()
        return web.Response(body=relay.metrics_text(), headers={"Content-Type": "text/plain; version=0.0.4"})

    async def _workers(self, request: web.Request) -> web.Response:
        return _json(worker_views(self._ready_relay()))

    async def _copies(self, request: web.Request) -> web.Response:
        return _json(self._ready_relay().state.settings.copies.texts())

    async def _queues(self, request: web.Request) -> web.Response:
        gate = self._ready_relay().gate
        return _json(gate.overview()) if gate is not None else _error(404, "this relay does not admit workloads")

    async def _workloads(self, request: web.Request) -> web.Response:
        namespace = request.query.get("namespace", "")
        return _json([each async for each in workload_views(self._ready_relay(), namespace)])

    async def _explain(self, request: web.Request) -> web.Response:
        relay, asked = self._ready_relay(), request.match_info
        kind = _kind(relay, asked["kind"])
        if kind is None:
            return _error(404, f"the relay does not know the kind {asked['kind']!r}")
        ref = WorkloadRef(kind, Key(asked["namespace"], asked["name"]))
        try:
            on_worker = await on_worker_of(relay, ref)
            found = relay.explain(ref, request.query.getall("if", []))
        except ValueError as error:
            return _error(400, str(error))
        if found is None:
            return _error(404, f"there is no {asked['kind']} {asked['namespace']}/{asked['name']}")
        return _json({**msgspec.to_builtins(found), **on_worker})

    async def _preview(self, request: web.Request) -> web.Response:
        relay, asked = self._ready_relay(), request.match_info["kind"]
        kind = _kind(relay, asked)
        if kind is None:
            return _error(404, f"the relay does not know the kind {asked!r}")
        try:
            found = relay.preview(kind, decode_object(await request.read()))
        except MALFORMED as error:
            return _error(400, f"not a {asked} that an API server would accept: {error}")
        return _json(found)

    def ready_relay(self) -> RelayManager | None:
        """The relay, if its caches are synced."""
        return self._relay if self._relay is not None and self._relay.manager.ready.is_set() else None

    def _ready_relay(self) -> RelayManager:
        relay = self.ready_relay()
        if relay is None:
            raise web.HTTPServiceUnavailable(text="the relay is not ready yet")
        return relay


def _kind(relay: RelayManager, asked: str) -> str | None:
    """The kind that a path names as in kubectl."""
    kinds = {
        alias: name
        for name, kind in relay.state.kinds.items()
        for alias in (name, kind.adapter.resource.plural, kind.adapter.resource.kind.lower())
    }
    return kinds.get(asked.lower())


async def _healthy(request: web.Request) -> web.Response:
    return web.Response(text="ok")


def _json(value: object, status: int = 200) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), status=status, content_type="application/json")


def _error(status: int, message: str) -> web.Response:
    return _json({"error": message}, status)
