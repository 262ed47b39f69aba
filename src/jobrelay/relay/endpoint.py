"""A small HTTP server for probes, for Prometheus and for our own commands.

    /healthz  /readyz                  for probes; ready means that the caches are synced
    /metrics                           Prometheus' text format
    /workers                           the workers, as JSON
    /workloads[?namespace=NS]          all delegated workloads, as JSON
    /explain/NAMESPACE/KIND/NAME       why one workload is where it is, as JSON

It is read-only. It listens on the loopback device by default, and its address is written to the relay's Lease, so that
whoever may read that Lease and is on the same machine or network finds it. Replicas that do not lead answer too, from
the same caches.
"""

from __future__ import annotations

from typing import Final, Self

import msgspec
from aiohttp import web

from jobrelay.kube.objects import Key
from jobrelay.relay.overview import worker_views, workload_views
from jobrelay.relay.relay import Relay
from jobrelay.relay.workload_kind import WorkloadRef

ENDPOINT: Final = "jobrelay.dev/endpoint"
"""Annotation on the Lease: the address of the leading relay."""
_ANYWHERE: Final = ("0.0.0.0", "::", "")


class Endpoint:
    """Serves within `async with`. `relay` is the relay that is served; None while there is none."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0, advertise: str = "") -> None:
        self.relay: Relay | None = None
        self.url = ""
        self._host, self._port, self._advertise = host, port, advertise
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_get("/healthz", _healthy)
        app.router.add_get("/readyz", self._ready)
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/workers", self._workers)
        app.router.add_get("/workloads", self._workloads)
        app.router.add_get("/explain/{namespace}/{kind}/{name}", self._explain)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._host, self._port).start()
        except OSError:
            await self._runner.cleanup()
            raise
        port = self._runner.addresses[0][1]
        host = self._advertise or ("127.0.0.1" if self._host in _ANYWHERE else self._host)
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _ready(self, request: web.Request) -> web.Response:
        self._ready_relay()
        return web.Response(text="ok")

    async def _metrics(self, request: web.Request) -> web.Response:
        relay = self._ready_relay()
        return web.Response(body=relay.metrics_text(), headers={"Content-Type": "text/plain; version=0.0.4"})

    async def _workers(self, request: web.Request) -> web.Response:
        return _json(worker_views(self._ready_relay()))

    async def _workloads(self, request: web.Request) -> web.Response:
        namespace = request.query.get("namespace", "")
        return _json([each async for each in workload_views(self._ready_relay(), namespace)])

    async def _explain(self, request: web.Request) -> web.Response:
        relay, asked = self._ready_relay(), request.match_info
        kinds = {
            alias: name
            for name, kind in relay.state.kinds.items()
            for alias in (name, kind.adapter.resource.plural, kind.adapter.resource.kind.lower())
        }
        kind = kinds.get(asked["kind"].lower())
        if kind is None:
            return _error(404, f"the relay does not know the kind {asked['kind']!r}")
        found = relay.explain(WorkloadRef(kind, Key(asked["namespace"], asked["name"])))
        if found is None:
            return _error(404, f"there is no {asked['kind']} {asked['namespace']}/{asked['name']}")
        return _json(found)

    def _ready_relay(self) -> Relay:
        """The relay, if its caches are synced."""
        if self.relay is None or not self.relay.manager.ready.is_set():
            raise web.HTTPServiceUnavailable(text="the relay is not ready yet")
        return self.relay


async def _healthy(request: web.Request) -> web.Response:
    return web.Response(text="ok")


def _json(value: object, status: int = 200) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), status=status, content_type="application/json")


def _error(status: int, message: str) -> web.Response:
    return _json({"error": message}, status)
