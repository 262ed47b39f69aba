"""Builds `WorkloadSnapshot`s from the relay's state, the workers' connections, namespaces and the clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from jobrelay.kube import Object
from jobrelay.relay.admission import AdmissionGate
from jobrelay.relay.fencing import NO_STOPS
from jobrelay.relay.mirror_pods.inspector import PodInspector
from jobrelay.relay.mirror_pods.observed import NOTHING_OBSERVED, ObservedPods, observed_pods
from jobrelay.relay.model import Refusal, WorkerFacts
from jobrelay.relay.pending import PendingWorkloads
from jobrelay.relay.placement import PlacementPolicy, Placer
from jobrelay.relay.runs import NO_RUNS
from jobrelay.relay.snapshot import Mirror, WorkloadSnapshot
from jobrelay.relay.state import RelayState
from jobrelay.relay.worker_assignment import assignment_of, epoch_of
from jobrelay.relay.workers import Registry, WorkerConnection
from jobrelay.relay.workload_kind import WorkloadKind, WorkloadRef

Policies = Callable[[str], tuple[PlacementPolicy, Mapping[str, str]]]
"""From a namespace to its placement policy and its annotations."""
_NO_REFUSALS: Mapping[str, Refusal] = {}
_MOST_PODS: Final = 200
"""How many pods of one mirror are looked through."""


def _no_pods(mirror: Mirror) -> ObservedPods:
    return NOTHING_OBSERVED


class _LazyFacts(Mapping[str, WorkerFacts]):
    """The workers at one moment; the facts of each are made when they are first read."""

    def __init__(
        self, workers: Mapping[str, WorkerConnection], make: Callable[[WorkerConnection], WorkerFacts]
    ) -> None:
        self._workers, self._make = workers, make
        self._made: dict[str, WorkerFacts] = {}

    def __getitem__(self, name: str) -> WorkerFacts:
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = self._make(self._workers[name])
        return made

    def __contains__(self, name: object) -> bool:
        return name in self._workers

    def __iter__(self) -> Iterator[str]:
        return iter(self._workers)

    def __len__(self) -> int:
        return len(self._workers)


class SnapshotBuilder:
    """Joins all that is known about one workload.

    `backlog` says how many mirrors of a worker wait in its queue, `priority_of` what a PriorityClass is worth. `looks`
    are inspections of pods that were made on request.
    """

    def __init__(
        self,
        state: RelayState,
        registry: Registry,
        placer: Placer,
        policies: Policies,
        backlog: Callable[[str], int],
        gate: AdmissionGate,
        line: PendingWorkloads[WorkloadRef],
        priority_of: Callable[[str], int],
        inspector: PodInspector,
    ) -> None:
        self._gate, self._inspector = gate, inspector
        self._state, self._registry, self._backlog = state, registry, backlog
        self._placer, self._policies, self._line, self._priority_of = placer, policies, line, priority_of

    def snapshot(self, kind: WorkloadKind, original: Object, *, pods: bool = False) -> WorkloadSnapshot:
        """Everything about one original, now; what is known of its pods only if that is asked for."""
        state, adapter, clock = self._state, kind.adapter, self._state.clock
        record, to = state.find_record(original.uid), assignment_of(original)
        policy, annotations = self._policies(original.namespace)
        since = record.status_held_since if record is not None else None
        return WorkloadSnapshot(
            adapter,
            original,
            adapter.read(original),
            to,
            {worker: self._mirror(kind, worker, mirror) for worker, mirror in kind.mirrors(original.uid).items()},
            _LazyFacts(self._registry.workers, self._facts),
            self._registry.removed,
            state.settings,
            self._placer,
            policy,
            clock.now(),
            record.refusals if record is not None else _NO_REFUSALS,
            state.shapes,
            annotations,
            clock.monotonic() - since if since is not None else 0.0,
            record.last_error if record is not None else "",
            self._registry.owners,
            self._registry.known_since,
            state.is_inherited(original.uid),
            record.runs if record is not None else NO_RUNS,
            record.assignment if record is not None else None,
            record.committing if record is not None else False,
            record.why_not_gone if record is not None else "",
            record.lease_stops if record is not None else NO_STOPS,
            self._led(),
            self._registry.proofs.keys,
            kind.lookalikes.of(original.uid),
            state.dependencies.known,
            state.dependencies.definitions,
            self._gate.admission(adapter, original),
            self._priority_of,
            self._line.turn,
            self._pods_of if pods else _no_pods,
        )

    def _mirror(self, kind: WorkloadKind, worker: str, mirror: Object) -> Mirror:
        facts = kind.adapter.read(mirror)
        if facts.end is not None and facts.end.at is None:
            facts = replace(facts, end=replace(facts.end, at=self._state.ended_at(worker, mirror.uid)))
        return Mirror(worker, mirror, facts, epoch_of(mirror))

    def _pods_of(self, mirror: Mirror) -> ObservedPods:
        worker = self._registry.workers.get(mirror.worker)
        if worker is None:
            return NOTHING_OBSERVED
        pods, now = worker.pods_of(mirror.obj.uid)[:_MOST_PODS], worker.time or self._state.clock.now()
        return observed_pods(mirror.facts, pods, self._inspector.known(mirror.obj), now)

    def _led(self) -> datetime:
        """When this replica began to lead, as its clock shows it now."""
        clock = self._state.clock
        return clock.now() - timedelta(seconds=clock.monotonic() - self._state.leading_since)

    def workers(self) -> list[WorkerFacts]:
        """The facts of all registered workers, in their order."""
        return [self._facts(worker) for worker in self._registry.workers.values()]

    def _facts(self, worker: WorkerConnection) -> WorkerFacts:
        state, name = self._state, worker.name
        stale, backlog, kept_for = state.stale_mirrors(name), self._backlog(name), self._line.claims.on(name)
        return worker.facts(state.live(name), state.reserved(name), stale, backlog, kept_for)
