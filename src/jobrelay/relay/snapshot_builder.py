"""Builds `WorkloadSnapshot`s from the relay's state, the workers' connections, namespaces and the clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta

from msgspec.structs import replace

from jobrelay.kube import Object
from jobrelay.relay.admission import ADMITTED
from jobrelay.relay.assignment import assignment_of, epoch_of
from jobrelay.relay.fencing import NO_STOPS
from jobrelay.relay.gate import AdmissionGate
from jobrelay.relay.model import Refusal, WorkerFacts
from jobrelay.relay.placement import PlacementPolicy, Placer
from jobrelay.relay.runs import NO_RUNS
from jobrelay.relay.snapshot import Mirror, WorkloadSnapshot
from jobrelay.relay.state import RelayState
from jobrelay.relay.workers import Registry, WorkerConnection
from jobrelay.relay.workload_kind import WorkloadKind

Policies = Callable[[str], tuple[PlacementPolicy, Mapping[str, str]]]
"""From a namespace to its placement policy and its annotations."""
_NO_REFUSALS: Mapping[str, Refusal] = {}


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
    """Joins all that is known about one workload; `backlog` says how many mirrors of a worker wait in its queue."""

    def __init__(
        self,
        state: RelayState,
        registry: Registry,
        placer: Placer,
        policies: Policies,
        backlog: Callable[[str], int],
        gate: AdmissionGate | None = None,
    ) -> None:
        self._state, self._registry, self._backlog, self._gate = state, registry, backlog, gate
        self._placer, self._policies = placer, policies

    def snapshot(self, kind: WorkloadKind, original: Object) -> WorkloadSnapshot:
        """Everything about one original, now."""
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
            ADMITTED if self._gate is None else self._gate.verdict(adapter, original),
        )

    def _mirror(self, kind: WorkloadKind, worker: str, mirror: Object) -> Mirror:
        facts = kind.adapter.read(mirror)
        if facts.end is not None and facts.end.at is None:
            facts = replace(facts, end=replace(facts.end, at=self._state.ended_at(worker, mirror.uid)))
        return Mirror(worker, mirror, facts, epoch_of(mirror))

    def _led(self) -> datetime:
        """When this replica began to lead, as its clock shows it now."""
        clock = self._state.clock
        return clock.now() - timedelta(seconds=clock.monotonic() - self._state.leading_since)

    def workers(self) -> list[WorkerFacts]:
        """The facts of all registered workers, in their order."""
        return [self._facts(worker) for worker in self._registry.workers.values()]

    def _facts(self, worker: WorkerConnection) -> WorkerFacts:
        state, name = self._state, worker.name
        return worker.facts(state.live(name), state.reserved(name), state.stale_mirrors(name), self._backlog(name))
