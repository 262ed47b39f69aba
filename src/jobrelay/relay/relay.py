"""The relay as a whole: its parts, constructed in the order of their dependencies, and run.

What watches runs in every replica; what writes runs only in the leader, which checks its lease before each write. A
leader that could not renew its lease stops before another replica may start: running work is cancelled within the spare
time of the lease, so its last write is over before its successor's first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from random import Random
from secrets import token_bytes

from jobrelay.control import Group, Manager, Runnable, RunnablesCollector
from jobrelay.kube import (
    Client,
    Clock,
    ConnectError,
    Connection,
    EventRecorder,
    LeaderElection,
    Object,
    Resource,
    SystemClock,
)
from jobrelay.kube.clock import deadline
from jobrelay.kube.metrics import MetricCollector, exposition
from jobrelay.kube.resource import NAMESPACES
from jobrelay.relay.admission import AdmissionGate, GateAfterQueues, OpenGate
from jobrelay.relay.copying.sources import CopySources
from jobrelay.relay.dispatcher import Dispatcher
from jobrelay.relay.explain import Explanation, explain, not_followed
from jobrelay.relay.followed_kinds import FollowedKinds
from jobrelay.relay.gate import AdmissionParts, MakeGate, QueueGate
from jobrelay.relay.kept_logs.keeper import LogStore
from jobrelay.relay.kept_logs.sweep import KeptLogSweep
from jobrelay.relay.leader_transport import LeaderTransport
from jobrelay.relay.line_view import LinePlace, line_places
from jobrelay.relay.metrics import MeteredTransport, RelayMetrics
from jobrelay.relay.mirror_pods.inspector import InspectedMirror, PodInspector
from jobrelay.relay.mirror_pods.observed import PodInspection
from jobrelay.relay.multikueue.dispatching import Dispatching
from jobrelay.relay.multikueue.leader import LeaderContext
from jobrelay.relay.multikueue.multikueue import MultiKueue, MultiKueueGate
from jobrelay.relay.original_controller import OriginalController
from jobrelay.relay.placement import DEFAULT_POLICY, Placer
from jobrelay.relay.policies import NamespacePolicies
from jobrelay.relay.priorities import PriorityClasses
from jobrelay.relay.settings import Settings
from jobrelay.relay.snapshot_builder import SnapshotBuilder
from jobrelay.relay.state import RelayState
from jobrelay.relay.what_if import WORKER, place_with_changes
from jobrelay.relay.worker_controllers import WorkerControllers
from jobrelay.relay.workers import (
    Connect,
    Registry,
    Timing,
    UsableKubeconfig,
    WorkerSource,
    over_network,
)
from jobrelay.relay.workers.bounds import DEFAULT_BOUNDS, Bounds
from jobrelay.relay.workers.management_cache import management_cache
from jobrelay.relay.workers.multikueue import WORKLOADS
from jobrelay.relay.workers.proof_secret import ProofSecret
from jobrelay.relay.workers.proving import Proofs
from jobrelay.relay.workers.timing import DEFAULT_TIMING
from jobrelay.relay.workload_kind import WorkloadRef
from jobrelay.workloads import Adapter, load_adapters

REQUEST_TIMEOUT = 15.0
READ_TIMEOUT = 5.0
"""How long a worker may take to answer what a user has asked."""
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


class RelayManager:
    """Runs delegated workloads of the management cluster that `client` reaches on the workers that `source` names.

    `namespace` on the management cluster must exist: it holds the record of losses and the keys of proofs. `connect`
    opens the transport to a worker, `bounds` limit what is held of each. `gate` makes queues that admit workloads, and
    with `multikueue` Kueue admits, where it runs; all are admitted if there is neither. `random` jitters pauses,
    `new_key` returns that many unpredictable bytes.
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
        gate: MakeGate | None = None,
        election: LeaderElection | None = None,
        identity: str = "jobrelay",
        clock: Clock | None = None,
        random: Random | None = None,
        new_key: Callable[[int], bytes] = token_bytes,
        multikueue: Dispatching | None = None,
    ) -> None:
        clock, random = clock or SystemClock(), random or Random()
        adapters = load_adapters() if adapters is None else adapters
        self._election, self._connect, self._clock = election, connect, clock
        self.namespace = namespace
        self.metrics = metrics = RelayMetrics()
        own = LeaderTransport(MeteredTransport(client.transport, "management", metrics), self.leads)
        client = Client(own, clock=clock, timeout=REQUEST_TIMEOUT)

        namespaces = management_cache(client, NAMESPACES, clock=clock, random=random, idle_timeout=SILENCE)
        placer = Placer()
        policies = NamespacePolicies(namespaces, placer.parse, policy)
        self.kinds = FollowedKinds(adapters, client, clock=clock, random=random, silence=SILENCE)
        if multikueue is not None:
            self.kinds.in_use.update(WORKLOADS, sought=True, used=True)
        proofs = Proofs(settings.origin)
        secret = ProofSecret(client, namespace, proofs, clock=clock, writes=self.leads, random=random, new_key=new_key)
        self.registry = Registry(
            client,
            source,
            resources=[*(adapter.resource for adapter in adapters), *([WORKLOADS] if multikueue is not None else [])],
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
        kueue = None
        if multikueue is not None:
            kueue = MultiKueueGate(
                client, self.kinds.kinds, self.registry.workers, multikueue, clock=clock, random=random, silence=SILENCE
            )
        self.state = RelayState(self.kinds.kinds, settings, clock, self.registry.owners)
        self.dispatcher = Dispatcher(self.state)
        grace = GRACE if election is None else min(GRACE, election.spare / 2)
        answers: AdmissionGate = kueue.gate if kueue is not None else OpenGate()
        self.gate: QueueGate | None = None
        if gate is not None:
            originals = {kind.adapter.resource: (kind.adapter, kind.originals) for kind in self.state.kinds.values()}
            self.gate = gate(
                AdmissionParts(
                    client, originals, namespaces, self.leads, clock, random, self._verdict_changed, identity, grace
                )
            )
            answers = GateAfterQueues(self.gate.verdict, answers)
        answers.subscribe(self.dispatcher.admission_changed)
        priorities = PriorityClasses(client, clock=clock, random=random, silence=SILENCE)
        self.inspector = PodInspector(self.reach, clock)
        self.snapshots = SnapshotBuilder(
            self.state,
            self.registry,
            placer,
            policies,
            self.dispatcher.backlog,
            answers,
            self.dispatcher.pending,
            priorities.value,
            self.inspector,
        )
        recorder = EventRecorder(
            client, "jobrelay.dev/relay", identity, clock=clock, random=random, rate=EVENTS_PER_SECOND
        )
        self.originals = OriginalController(
            self.state,
            self.snapshots,
            self.dispatcher,
            client,
            recorder,
            metrics,
            leads=self.leads,
            ask=answers.ask,
            grace=grace,
        )
        self.workers = WorkerControllers(
            self.state,
            self.snapshots,
            self.dispatcher,
            self.registry,
            recorder,
            metrics,
            CopySources(client, clock),
            LogStore(client, namespace, settings.keep_logs) if settings.keep_logs else None,
            reach=self.reach,
            leads=self.leads,
            grace=grace,
            random=random,
        )
        self.manager = Manager(election=election, clock=clock)
        watches: list[Runnable] = [secret, self.kinds, namespaces, priorities, self.registry]
        writers: list[Runnable] = [recorder, self.workers, self.originals.controller]
        if settings.keep_logs:
            total, age = settings.keep_logs_total, settings.keep_logs_for
            sweep = KeptLogSweep(client, namespace, total, age, self._may_exist, clock)
            for kind in self.kinds.kinds.values():
                kind.originals.subscribe(sweep.original_changed)
            writers.append(sweep)
        if kueue is not None:
            checks = MultiKueue(
                kueue, self.kinds.kinds.values(), self.registry, self.snapshots,
                LeaderContext(client, recorder, clock, self.leads, grace),
            )  # fmt: skip
            self.dispatcher.subscribe(checks.worker_changed)
            watches, writers = [*watches, kueue.objects], [*writers, *checks.runnables]
        writers += source.leader_runnables(client, self.registry.workers, metrics, self.leads)
        if self.gate is not None:
            watches += self.gate.watches()
            writers += self.gate.writers()
        for group, runnables in ((Group.CACHES, watches), (Group.LEADER, writers)):
            for runnable in runnables:
                self.manager.add(runnable, group)
        runnables_collector = RunnablesCollector(lambda: (*self.kinds.caches, *self.manager.members))
        queue_collectors = self.gate.collectors() if self.gate is not None else ()
        self._collectors: tuple[MetricCollector, ...] = (metrics, *queue_collectors, runnables_collector)

    def leads(self) -> bool:
        """Whether this replica may write at present."""
        return self._election is None or self._election.is_leader

    def _may_exist(self, uid: str) -> bool:
        """Whether there may be an original with this uid."""
        kinds = [kind for kind in self.kinds.kinds.values() if not kind.undefined]
        return any(not kind.known or kind.original_with(uid) is not None for kind in kinds)

    def _verdict_changed(self, resource: Resource, original: Object) -> None:
        """The gate may answer otherwise about an original."""
        self.dispatcher.admission_changed(WorkloadRef(str(resource), original.key))

    async def run(self) -> None:
        """Run until cancelled; raises LeadershipLost when another replica has taken over."""
        await self.manager.run()

    @asynccontextmanager
    async def reach(self, worker: str) -> AsyncIterator[Client]:
        """A client of a worker with a connection of its own, so that how long it takes to answer, as a log without
        output does, says nothing about its health; raises ConnectError if the worker is not connected."""
        transport = self._connect(worker, self.connection_to(worker))
        reads = LeaderTransport(MeteredTransport(transport, worker, self.metrics), lambda: False)
        try:
            yield Client(reads, clock=self._clock, timeout=READ_TIMEOUT, retries=0)
        finally:
            await reads.close()

    def connection_to(self, worker: str) -> Connection:
        """How a worker is reached as the relay; raises ConnectError if the worker is not connected."""
        known = self.registry.workers.get(worker)
        if known is None or not known.connected or not isinstance(known.spec.access, UsableKubeconfig):
            raise ConnectError(known.reason if known is not None else "it is not registered")
        return known.spec.access.connection

    async def inspect_pods(self, ref: WorkloadRef) -> PodInspection | None:
        """An inspection of the pods of a workload's present run; None if it has no mirror. Raises KubeError, and
        TimeoutError if its worker takes too long."""
        found = self.originals.decision(ref)
        mirror = found[0].mirror if found is not None else None
        if found is None or mirror is None:
            return None
        async with deadline(self._clock, READ_TIMEOUT):
            return await self.inspector.inspect_one(InspectedMirror(mirror.worker, found[0].adapter, mirror.obj))

    def metrics_text(self) -> bytes:
        """All metrics in Prometheus' text format."""
        metrics = self.metrics
        metrics.queue_depth.labels("originals").set(len(self.dispatcher.originals))
        metrics.queue_depth.labels("waiting").set(len(self.dispatcher.pending))
        metrics.waiting.clear()
        for namespace, count in Counter(ref.key.namespace for ref in self.dispatcher.pending).items():
            metrics.waiting.labels(namespace).set(count)
        for worker in self.snapshots.workers():
            metrics.queue_depth.labels(worker.name).set(worker.backlog)
            metrics.connected.labels(worker.name).set(worker.connected)
            metrics.live.labels(worker.name).set(worker.live)
            metrics.lookalikes.labels(worker.name).set(self.registry.workers[worker.name].mirrors.unproven)
        return exposition(self._collectors)

    def preview(self, kind: str, original: Object) -> Explanation:
        """What would be decided about an object of a kind (`jobs.batch`) if it were created as it is."""
        return explain(*self.originals.preview(self.kinds.kinds[kind], original))

    def line_places(self) -> dict[WorkloadRef, LinePlace]:
        """The workloads that wait for a worker, in the order in which they are to start."""
        return line_places(self.state, self.dispatcher.pending, self.snapshots.workers())

    def explain(self, ref: WorkloadRef, changes: Sequence[str] = ()) -> Explanation | None:
        """Why a workload is where it is; None if there is no such original.

        Of one in a queue also its place there. With `changes`, of quotas or of workers, as it would be after them;
        raises ValueError for one that cannot be read.
        """
        found = self.originals.decision(ref)
        if found is not None:
            snapshot, of_workers = found[0], [each for each in changes if each.startswith(WORKER)]
            quotas = [each for each in changes if each not in of_workers]
            queue = self.gate.explain(snapshot.adapter, snapshot.original, quotas) if self.gate is not None else None
            supposed = place_with_changes(snapshot, of_workers) if of_workers else None
            return explain(*found, self.line_places().get(ref), queue, supposed)
        kind = self.kinds.kinds[ref.kind]
        problem = self.kinds.problem(kind)
        return not_followed(kind.adapter.resource.kind, ref.key, problem) if problem else None
