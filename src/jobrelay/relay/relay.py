"""The relay as a whole: caches, workers and both sides, put together and run.

Everything that watches runs in every replica; what writes runs only in the one that holds the lease. Nothing is begun
without a look at the lease. A leader that could not renew it gives up before another may begin, and what it was in the
middle of is broken off within that spare time, so its last write is over before its successor's first.
"""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from jobrelay.control import Group, Manager
from jobrelay.kube import Cache, Client, Clock, Connection, EventRecorder, LeaderElection, Resource, SystemClock
from jobrelay.kube.resource import NAMESPACES
from jobrelay.relay.counting import Counting
from jobrelay.relay.explain import Explanation, explain
from jobrelay.relay.hands import ASSIGNED, Hands, assigned_cluster
from jobrelay.relay.knowledge import Kind, Knowledge
from jobrelay.relay.metrics import Metrics
from jobrelay.relay.originals import Originals, Task
from jobrelay.relay.placement import DEFAULT_POLICY, Placer
from jobrelay.relay.policies import NamespacePolicies
from jobrelay.relay.settings import Settings
from jobrelay.relay.telling import Telling
from jobrelay.relay.workers import Connect, ObjectSource, Registry, Source, Timing, Way, over_network, trimmed
from jobrelay.relay.workers.renewal import Renewal
from jobrelay.relay.workers.timing import PATIENT
from jobrelay.workloads import Adapter, load_adapters

__all__ = ["Relay", "find_origin"]

log = structlog.get_logger(__name__)

REQUEST_TIMEOUT = 15.0
GRACE = 5.0
"""How long work that has begun may take to end when the relay is stopped, if nobody else takes over."""

SILENCE = 150.0
"""How long the management cluster may say nothing on a watch; it sends a bookmark about every minute."""


async def find_origin(client: Client) -> str:
    """A name for the management cluster that no other has: workers may be shared by several."""
    system = await client.get(NAMESPACES, "kube-system")
    return f"jobrelay-{system.uid[:13]}"


class Relay:
    """Runs delegated workloads of the management cluster that `client` reaches on the workers that `source` names.

    `namespace` on the management cluster holds what the relay has to remember. `connect` opens the way to a worker.
    """

    def __init__(
        self,
        client: Client,
        source: Source,
        settings: Settings,
        *,
        namespace: str = "jobrelay-system",
        connect: Connect = over_network,
        timing: Timing = PATIENT,
        adapters: Sequence[Adapter] | None = None,
        policy: str = DEFAULT_POLICY,
        election: LeaderElection | None = None,
        identity: str = "jobrelay",
        clock: Clock | None = None,
    ) -> None:
        clock = clock or SystemClock()
        adapters = load_adapters() if adapters is None else adapters
        self._election = election
        self.metrics = metrics = Metrics()
        client = Client(Counting(client.transport, "management", metrics), clock=clock, timeout=REQUEST_TIMEOUT)
        self.registry = Registry(
            client,
            source,
            resources=[adapter.resource for adapter in adapters],
            pod_owner=lambda pod: next(filter(None, (adapter.pod_owner(pod) for adapter in adapters)), ""),
            origin=settings.origin,
            namespace=namespace,
            connect=lambda way: Counting(connect(way), _name_of(way, source), metrics),
            clock=clock,
            timing=timing,
            writes=self.leads,
        )
        self.manager = Manager(election=election, clock=clock)

        def cache(resource: Resource) -> Cache:
            return Cache(client, resource, clock=clock, keep=trimmed, silence=SILENCE)

        namespaces = cache(NAMESPACES)
        kinds = {str(each.resource): Kind(each, cache(each.resource)) for each in adapters}
        placer = Placer()
        policies = NamespacePolicies(namespaces, placer.parse, policy)
        self.knowledge = Knowledge(settings, self.registry, kinds, placer, policies, clock)
        recorder = EventRecorder(client, "jobrelay.dev/relay", identity, clock=clock)
        self._telling = Telling(recorder, clock)
        grace = GRACE if election is None else min(GRACE, election.spare / 2)
        self.hands = Hands(self.knowledge, self._telling, self.metrics, leads=self.leads, grace=grace)
        self.originals = Originals(
            self.knowledge,
            client,
            self._telling,
            self.metrics,
            nudge=self.hands.nudge,
            probe=self.hands.probe,
            leads=self.leads,
            grace=grace,
        )
        self.hands.join(self.originals)
        self.knowledge.backlog = self.hands.backlog
        for kind in kinds.values():
            kind.originals.add_index(ASSIGNED, assigned_cluster)
            self.manager.add(kind.originals, Group.CACHES)
        self.manager.add(namespaces, Group.CACHES)
        self.manager.add(self.registry, Group.CACHES)
        if isinstance(source, ObjectSource):
            renewal = Renewal(client, source.secret, self.registry.links, metrics, clock=clock, writes=self.leads)
            self.manager.add(renewal, Group.LEADER)
        for part in (recorder, self._telling, self.hands, self.originals.controller):
            self.manager.add(part, Group.LEADER)

    def leads(self) -> bool:
        """Whether this replica may write at this very moment."""
        return self._election is None or self._election.is_leader

    async def run(self) -> None:
        """Run until cancelled; raises LeadershipLost when another replica has taken over."""
        await self.manager.run()

    def metrics_text(self) -> bytes:
        """All metrics in Prometheus' text format."""
        metrics = self.metrics
        metrics.queue_depth.labels("originals").set(len(self.originals.controller.queue))
        metrics.queue_depth.labels("waiting").set(len(self.originals.waiting))
        for worker in self.knowledge.workers():
            metrics.queue_depth.labels(worker.name).set(worker.backlog)
            metrics.connected.labels(worker.name).set(worker.connected)
            metrics.live.labels(worker.name).set(worker.live)
        return metrics.text()

    def explain(self, task: Task) -> Explanation | None:
        """Why a workload is where it is; None if there is no such original."""
        found = self.originals.decision(task)
        return explain(*found) if found is not None else None


def _name_of(connection: Connection, source: Source) -> str:
    """The worker that a connection leads to."""
    for name, spec in source.workers.items():
        if isinstance(spec.access, Way) and spec.access.connection is connection:
            return name
    return connection.server
