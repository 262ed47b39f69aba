"""What every controller of the kit runs on: caches, a lease, events, metrics and a writer of statuses."""

from __future__ import annotations

from typing import TypedDict

from jobrelay.control import ControllerContext, Group
from jobrelay.control.probe_server import ProbeServer
from jobrelay.kinds.batch.job.names import BUILT_IN_CONTROLLER
from jobrelay.kinds.batch.job.validation import managed_by_errors
from jobrelay.kit.writer import StatusWriter
from jobrelay.kube import Cache, Client, Key, LeaderElection
from jobrelay.kube.clock import Clock, SystemClock
from jobrelay.kube.leader_election import new_identity
from jobrelay.kube.metrics import MetricCollector, exposition
from jobrelay.kube.resource import JOBS

__all__ = ["ControllerRuntime", "RuntimeOptions"]


class RuntimeOptions(TypedDict, total=False):
    """The options that all controllers of the kit have; see `JobController`."""

    namespace: str | None
    lease: Key | None
    listen: tuple[str, int] | None
    clock: Clock | None


class ControllerRuntime:
    """Runs a controller for one value of `.spec.managedBy`; what it does is up to the class that is built on it."""

    def __init__(
        self,
        client: Client,
        managed_by: str,
        *,
        namespace: str | None = None,
        lease: Key | None = None,
        listen: tuple[str, int] | None = None,
        clock: Clock | None = None,
    ) -> None:
        _check_managed_by(managed_by)
        self.managed_by = managed_by
        self.name = managed_by.replace("/", "-")
        self._clock = clock or SystemClock()
        self._context = ControllerContext(
            client.transport,
            program=self.name,
            clock=self._clock,
            namespace=namespace,
            election=self._election(client, lease),
        )
        self.client: Client = self._context.client
        self.jobs: Cache = self._context.cache(JOBS)
        self.status: StatusWriter = StatusWriter(self.client, clock=self._clock, written=self.jobs.observe)
        self._context.add_collector(self.status)
        self.endpoint: ProbeServer | None = None
        if listen is not None:
            self.endpoint = ProbeServer(*listen, ready=self._context.manager.ready.is_set, metrics=self.metrics_text)
            self._context.manager.add(self.endpoint, Group.SERVERS)

    def _election(self, client: Client, lease: Key | None) -> LeaderElection | None:
        if lease is None:
            return None
        return LeaderElection(client, lease.name, lease.namespace, new_identity(), clock=self._clock)

    @property
    def collectors(self) -> tuple[MetricCollector, ...]:
        """The controller's metrics, for a registry of prometheus_client."""
        return self._context.collectors

    def metrics_text(self) -> bytes:
        """The metrics in Prometheus' text format."""
        return exposition(self.collectors)

    async def wait_ready(self) -> None:
        """Return when the caches are filled; Jobs are then reconciled, or another process leads."""
        await self._context.manager.ready.wait()

    async def run(self) -> None:
        """Reconcile Jobs until cancelled; raises LeadershipLost if the lease could not be renewed."""
        await self._context.manager.run()


def _check_managed_by(value: str) -> None:
    """Raise ValueError for a value that the API server refuses, or that is the built-in controller's."""
    if errors := managed_by_errors(value):
        raise ValueError(f"{value!r} cannot be a controller's name: {errors[0].detail or errors[0].body()}")
    if value == BUILT_IN_CONTROLLER:
        raise ValueError(f"{value!r} is the cluster's own Job controller; choose a name such as example.com/jobs")
