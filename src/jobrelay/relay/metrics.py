"""The relay's metrics, by worker and result, in a registry of their own."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

__all__ = ["RelayMetrics"]

_LAG = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class RelayMetrics:
    """All names begin with `jobrelay_`."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.placements = Counter(
            "jobrelay_placements_total", "Assignments written", ["worker", "result"], registry=registry
        )
        self.mirrors = Counter(
            "jobrelay_mirrors_total", "What was done to mirrors", ["worker", "action", "result"], registry=registry
        )
        self.statuses = Counter(
            "jobrelay_statuses_returned_total", "Statuses written back", ["worker"], registry=registry
        )
        self.status_lag = Histogram(
            "jobrelay_status_lag_seconds",
            "From seeing a change on a worker to having written it back",
            ["worker"],
            buckets=_LAG,
            registry=registry,
        )
        self.losses = Counter(
            "jobrelay_worker_losses_total", "Connections to workers lost", ["worker"], registry=registry
        )
        self.redispatches = Counter(
            "jobrelay_redispatches_total", "Workloads started again elsewhere", ["worker"], registry=registry
        )
        self.sweeps = Counter(
            "jobrelay_sweeps_total", "Mirrors removed because nothing needs them", ["worker"], registry=registry
        )
        self.refusals = Counter(
            "jobrelay_refusals_total", "Mirrors that a worker did not take", ["worker", "reason"], registry=registry
        )
        self.defects = Counter(
            "jobrelay_status_defects_total", "Statuses that the API server refused", registry=registry
        )
        self.renewals = Counter(
            "jobrelay_token_renewals_total", "Tokens of workers renewed", ["worker", "result"], registry=registry
        )
        self.calls = Counter(
            "jobrelay_api_calls_total", "Requests sent", ["cluster", "verb", "code"], registry=registry
        )

        self.queue_depth = Gauge("jobrelay_queue_depth", "Workloads in a queue", ["queue"], registry=registry)
        self.connected = Gauge("jobrelay_worker_connected", "Whether a worker answers", ["worker"], registry=registry)
        self.live = Gauge("jobrelay_live_workloads", "Unfinished workloads by worker", ["worker"], registry=registry)

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
