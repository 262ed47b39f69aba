"""The relay's metrics, by worker and result, in a registry of their own, and a transport that counts requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from jobrelay.kube import KubeError, Request, Response, Transport

_LAG_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class RelayMetrics:
    """All names begin with `jobrelay_`."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"jobrelay_{name}", text, labels, registry=registry)

        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(f"jobrelay_{name}", text, labels, registry=registry)

        self.placements = counter("placements_total", "Assignments written", "worker", "result")
        self.mirrors = counter("mirrors_total", "Writes of mirrors", "worker", "action", "result")
        self.statuses = counter("statuses_returned_total", "Statuses written back", "worker")
        self.losses = counter("worker_losses_total", "Connections to workers lost", "worker")
        self.redispatches = counter("redispatches_total", "Workloads started again elsewhere", "worker")
        self.sweeps = counter("sweeps_total", "Mirrors removed because nothing needs them", "worker")
        self.copies = counter("copies_total", "Copies of objects that workloads need", "worker", "kind", "result")
        self.refusals = counter("refusals_total", "Mirrors that a worker did not accept", "worker", "reason")
        self.defects = counter("status_defects_total", "Statuses that the API server refused")
        self.renewals = counter("token_renewals_total", "Tokens of workers renewed", "worker", "result")
        self.calls = counter("api_calls_total", "Requests sent", "cluster", "verb", "code")
        self.queue_depth = gauge("queue_depth", "Workloads in a queue", "queue")
        self.connected = gauge("worker_connected", "Whether a worker answers", "worker")
        self.live = gauge("live_workloads", "Unfinished workloads by worker", "worker")
        self.lookalikes = gauge("lookalikes", "Objects that look like mirrors, but are not proven to be", "worker")
        self.status_lag = Histogram(
            "jobrelay_status_lag_seconds",
            "From seeing a change on a worker to having written it back",
            ["worker"],
            buckets=_LAG_BUCKETS,
            registry=registry,
        )

    def placed(self, worker: str, *, again: bool) -> None:
        self.placements.labels(worker, "redispatched" if again else "placed").inc()
        if again:
            self.redispatches.labels(worker).inc()

    def returned(self, worker: str, lag: float | None) -> None:
        self.statuses.labels(worker).inc()
        if lag is not None:
            self.status_lag.labels(worker).observe(lag)

    def text(self) -> bytes:
        """In Prometheus' text format."""
        return generate_latest(self.registry)


class MeteredTransport:
    """Forwards requests and counts them by cluster, verb and status code."""

    def __init__(self, inner: Transport, cluster: str, metrics: RelayMetrics) -> None:
        self._inner, self._cluster, self._calls = inner, cluster, metrics.calls
        self._counters: dict[tuple[str, int | str], Counter] = {}

    async def send(self, request: Request) -> Response:
        verb = "WATCH" if "watch=true" in request.path else request.method
        try:
            response = await self._inner.send(request)
        except KubeError:
            self._counter(verb, "none").inc()
            raise
        self._counter(verb, response.status).inc()
        return response

    def _counter(self, verb: str, code: int | str) -> Counter:
        """The counter of these labels, which takes long to look up in the metric itself."""
        found = self._counters.get((verb, code))
        if found is None:
            found = self._counters[verb, code] = self._calls.labels(self._cluster, verb, str(code))
        return found

    async def close(self) -> None:
        close: Callable[[], Awaitable[None]] | None = getattr(self._inner, "close", None)
        if close is not None:
            await close()
