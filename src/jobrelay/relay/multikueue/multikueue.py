"""All parts by which the relay is the controller of MultiKueue's checks, constructed and run together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random

from jobrelay.control import Runnable
from jobrelay.kube import Client, Clock, Key
from jobrelay.relay.model import State
from jobrelay.relay.multikueue.checks import CheckController
from jobrelay.relay.multikueue.claims import CheckClaims
from jobrelay.relay.multikueue.clone_controllers import CloneController, CloneControllers
from jobrelay.relay.multikueue.controller import MultiKueueController
from jobrelay.relay.multikueue.dispatching import Dispatching
from jobrelay.relay.multikueue.gate import KueueGate
from jobrelay.relay.multikueue.leader import LeaderContext
from jobrelay.relay.multikueue.objects import KueueObjects
from jobrelay.relay.snapshot_builder import SnapshotBuilder
from jobrelay.relay.workers import Registry, WorkerConnection
from jobrelay.relay.workload_kind import WorkloadKind


class MultiKueueGate:
    """What answers for originals: the objects that are watched, whose the checks are, and the gate itself."""

    def __init__(
        self,
        client: Client,
        kinds: Mapping[str, WorkloadKind],
        workers: Mapping[str, WorkerConnection],
        how: Dispatching,
        *,
        clock: Clock,
        random: Random,
        silence: float,
    ) -> None:
        self.objects = KueueObjects(client, clock=clock, random=random, silence=silence)
        self.claims = CheckClaims(clock)
        self.gate = KueueGate(self.objects, kinds, self.claims, workers, how)


class MultiKueue:
    """What the leader runs: the controllers of checks and of Workloads."""

    def __init__(
        self,
        answers: MultiKueueGate,
        kinds: Iterable[WorkloadKind],
        registry: Registry,
        snapshots: SnapshotBuilder,
        leader: LeaderContext,
    ) -> None:
        self._workers, self._gate = registry.workers, answers.gate
        self._seen: dict[str, tuple[bool, State]] = {}

        def clones(worker: WorkerConnection) -> CloneController:
            return CloneController(
                worker, answers.objects, answers.gate, answers.claims, registry, self._clone_changed, leader
            )

        self._clones = CloneControllers(registry, clones)
        self._workloads = MultiKueueController(
            answers.objects, answers.gate, answers.claims, snapshots, self._clones.add, leader
        )
        self._checks = CheckController(answers.objects, answers.claims, self._connected, self._claims_changed, leader)
        answers.objects.configs.subscribe(lambda old, new: self._workloads.all_changed())
        for kind in kinds:
            kind.originals.subscribe(self._workloads.original_changed)

    @property
    def runnables(self) -> tuple[Runnable, ...]:
        return self._workloads.controller, self._checks.controller, self._clones

    def _clone_changed(self, key: Key) -> None:
        self._workloads.add(key)

    def worker_changed(self) -> None:
        """Something about a worker changed: if it is its connection or its state, queue everything again."""
        now = {name: (worker.connected, worker.spec.state) for name, worker in self._workers.items()}
        if now != self._seen:
            self._seen = now
            self._checks.workers_changed()
            self._workloads.all_changed()

    def _connected(self) -> Mapping[str, bool]:
        return {name: worker.connected for name, worker in self._workers.items()}

    def _claims_changed(self) -> None:
        self._gate.all_changed()
        self._workloads.all_changed()
