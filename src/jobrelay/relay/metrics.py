"""The relay's metrics, by worker and result, in a registry of their own, and a transport that counts requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric

from jobrelay.apimachinery.times import parse_time
from jobrelay.kube import KubeError, Object, Request, Response, Transport
from jobrelay.workloads import Workload

_LAG_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_WAIT_BUCKETS = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3_600.0, 14_400.0, 86_400.0)


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
        self.waiting = gauge("waiting_workloads", "Workloads that no worker can take at present", "namespace")
        self.finished = counter("finished_total", "Workloads that have ended", "namespace", "worker", "result")

        def histogram(name: str, text: str, label: str, buckets: tuple[float, ...]) -> Histogram:
            return Histogram(f"jobrelay_{name}", text, [label], buckets=buckets, registry=registry)

        lag, wait = "From seeing a change on a worker to having written it back", "From creation to the first start"
        self.status_lag = histogram("status_lag_seconds", lag, "worker", _LAG_BUCKETS)
        self.wait = histogram("wait_seconds", wait, "namespace", _WAIT_BUCKETS)

    def placed(self, worker: str, *, again: bool) -> None:
        self.placements.labels(worker, "redispatched" if again else "placed").inc()
        if again:
            self.redispatches.labels(worker).inc()

    def returned(self, worker: str, lag: float | None) -> None:
        self.statuses.labels(worker).inc()
        if lag is not None:
            self.status_lag.labels(worker).observe(lag)

    def progressed(self, worker: str, before: Workload, after: Workload, original: Object) -> None:
        """The status of an original was written, and may say for the first time that it has started or ended."""
        namespace, created = original.namespace, original.metadata.creation_timestamp
        if before.started is None and after.started is not None and created is not None:
            self.wait.labels(namespace).observe(max((after.started - parse_time(created)).total_seconds(), 0.0))
        if before.end is None and after.end is not None:
            self.finished.labels(namespace, worker, "succeeded" if after.end.succeeded else "failed").inc()

    def collect(self) -> Iterable[Metric]:
        """The present metrics."""
        return self.registry.collect()


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
