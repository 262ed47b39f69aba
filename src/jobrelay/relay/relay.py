"""The relay as a whole: its parts, constructed in the order of their dependencies, and run.

What watches runs in every replica; what writes runs only in the leader, which checks its lease before each write. A
leader that could not renew its lease stops before another replica may start: running work is cancelled within the spare
time of the lease, so its last write is over before its successor's first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from secrets import token_bytes

from jobrelay.control import Group, Manager, Runnable, RunnablesCollector
from jobrelay.kube import Cache, Client, Clock, EventRecorder, LeaderElection, Object, SystemClock
from jobrelay.kube.resource import NAMESPACES
from jobrelay.relay.copying.sources import CopySources
from jobrelay.relay.dispatcher import Dispatcher
from jobrelay.relay.explain import Explanation, explain, not_followed
from jobrelay.relay.followed_kinds import FollowedKinds
from jobrelay.relay.leader_transport import LeaderTransport
from jobrelay.relay.metrics import MeteredTransport, RelayMetrics
from jobrelay.relay.original_controller import OriginalController
from jobrelay.relay.placement import DEFAULT_POLICY, Placer
from jobrelay.relay.policies import NamespacePolicies
from jobrelay.relay.settings import Settings
from jobrelay.relay.snapshot_builder import SnapshotBuilder
from jobrelay.relay.state import RelayState
from jobrelay.relay.worker_controllers import WorkerControllers
from jobrelay.relay.workers import Connect, Registry, Timing, WorkerSource, over_network, strip_managed_fields
from jobrelay.relay.workers.bounds import DEFAULT_BOUNDS, Bounds
from jobrelay.relay.workers.proof_secret import ProofSecret
from jobrelay.relay.workers.proving import Proofs
from jobrelay.relay.workers.timing import DEFAULT_TIMING
from jobrelay.relay.workload_kind import WorkloadRef
from jobrelay.workloads import Adapter, load_adapters

REQUEST_TIMEOUT = 15.0
GRACE = 5.0
"""How long running work may take to end when the relay is stopped and no other replica takes over."""

EVENTS_PER_SECOND = 20.0
"""Above this rate, what happened to one workload is written as one Event."""

SILENCE = 150.0
"""How long a watch of the management cluster may be silent; it sends a bookmark about every minute."""


async def find_origin(client: Client) -> str:
    """A name for the management cluster that no other one has, since several may share workers."""
    system = await client.get(NAMESPACES, "kube-system")
    return f"jobrelay-{system.uid[:13]}"


class Relay:
    """Runs delegated workloads of the management cluster that `client` reaches on the workers that `source` names.

    `namespace` on the management cluster must exist: it holds the record of losses and the keys of proofs. `connect`
    opens the transport to a worker, `bounds` limit what is held of each. `random` jitters pauses, `new_key` returns so
    many bytes that nobody can guess.
    """

    def __init__(
        self,
        client: Client,
        source: WorkerSource,
        settings: Settings,
        *,
        namespace: str = "jobrelay-system",
        connect: Connect = over_network,
        timing: Timing = DEFAULT_TIMING,
        bounds: Bounds = DEFAULT_BOUNDS,
        adapters: Sequence[Adapter] | None = None,
        policy: str = DEFAULT_POLICY,
        election: LeaderElection | None = None,
        identity: str = "jobrelay",
        clock: Clock | None = None,
        random: Random | None = None,
        new_key: Callable[[int], bytes] = token_bytes,
    ) -> None:
        clock, random = clock or SystemClock(), random or Random()
        adapters = load_adapters() if adapters is None else adapters
        self._election = election
        self.metrics = metrics = RelayMetrics()
        own = LeaderTransport(MeteredTransport(client.transport, "management", metrics), self.leads)
        client = Client(own, clock=clock, timeout=REQUEST_TIMEOUT)

        namespaces = Cache(
            client, NAMESPACES, clock=clock, random=random, transform=strip_managed_fields, idle_timeout=SILENCE
        )
        placer = Placer()
        policies = NamespacePolicies(namespaces, placer.parse, policy)
        self.kinds = FollowedKinds(adapters, client, clock=clock, random=random, silence=SILENCE)
        proofs = Proofs(settings.origin)
        secret = ProofSecret(client, namespace, proofs, clock=clock, writes=self.leads, random=random, new_key=new_key)
        self.registry = Registry(
            client,
            source,
            resources=[adapter.resource for adapter in adapters],
            in_use=self.kinds.in_use,
            pod_owner=self.kinds.pod_owner,
            proofs=proofs,
            namespace=namespace,
            connect=lambda worker, connection: LeaderTransport(
                MeteredTransport(connect(worker, connection), worker, metrics), self.leads
            ),
            clock=clock,
            random=random,
            timing=timing,
            bounds=bounds,
            writes=self.leads,
        )
        self.state = RelayState(self.kinds.kinds, settings, clock, self.registry.owners)
        self.dispatcher = Dispatcher(self.state)
        self.snapshots = SnapshotBuilder(self.state, self.registry, placer, policies, self.dispatcher.backlog)
        recorder = EventRecorder(
            client, "jobrelay.dev/relay", identity, clock=clock, random=random, rate=EVENTS_PER_SECOND
        )
        grace = GRACE if election is None else min(GRACE, election.spare / 2)
        self.originals = OriginalController(
            self.state, self.snapshots, self.dispatcher, client, recorder, metrics, leads=self.leads, grace=grace
        )
        self.workers = WorkerControllers(
            self.state,
            self.snapshots,
            self.dispatcher,
            self.registry,
            recorder,
            metrics,
            CopySources(client, clock),
            leads=self.leads,
            grace=grace,
            random=random,
        )
        self.manager = Manager(election=election, clock=clock)
        watches: list[Runnable] = [secret, self.kinds, namespaces, self.registry]
        writers: list[Runnable] = [recorder, self.workers, self.originals.controller]
        writers += source.leader_runnables(client, self.registry.workers, metrics, self.leads)
        for group, runnables in ((Group.CACHES, watches), (Group.LEADER, writers)):
            for runnable in runnables:
                self.manager.add(runnable, group)
        metrics.registry.register(RunnablesCollector(lambda: (*self.kinds.caches, *self.manager.members)))

    def leads(self) -> bool:
        """Whether this replica may write at present."""
        return self._election is None or self._election.is_leader

    async def run(self) -> None:
        """Run until cancelled; raises LeadershipLost when another replica has taken over."""
        await self.manager.run()

    def metrics_text(self) -> bytes:
        """All metrics in Prometheus' text format."""
        metrics = self.metrics
        metrics.queue_depth.labels("originals").set(len(self.dispatcher.originals))
        metrics.queue_depth.labels("waiting").set(len(self.dispatcher.pending))
        for worker in self.snapshots.workers():
            metrics.queue_depth.labels(worker.name).set(worker.backlog)
            metrics.connected.labels(worker.name).set(worker.connected)
            metrics.live.labels(worker.name).set(worker.live)
            metrics.lookalikes.labels(worker.name).set(self.registry.workers[worker.name].mirrors.unproven)
        return metrics.text()

    def preview(self, kind: str, original: Object) -> Explanation:
        """What would be decided about an object of a kind (`jobs.batch`) if it were created as it is."""
        return explain(*self.originals.preview(self.kinds.kinds[kind], original))

    def explain(self, ref: WorkloadRef) -> Explanation | None:
        """Why a workload is where it is; None if there is no such original."""
        found = self.originals.decision(ref)
        if found is not None:
            return explain(*found)
        kind = self.kinds.kinds[ref.kind]
        problem = self.kinds.problem(kind)
        return not_followed(kind.adapter.resource.kind, ref.key, problem) if problem else None
