"""Owns what changes: the snapshot, the pending workloads, and which trees have to be considered.

`settle` runs cycles until they bring nothing new. A cycle takes the first workload of each queue, lets `schedule`
decide, and applies its decisions: whoever gets quota holds it from then on, whoever is preempted is marked as leaving,
the rest goes back to its queue. Cohorts that have no root in common do not touch each other, so only trees in which
something has changed are looked at: a push, quota given back, another quota.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from .config import Config
from .decisions import Decisions, Head, Requeue, Reservation
from .model import AdmittedWorkload, ClusterQueueSpec, CohortSpec, FlavorSpec, WorkloadInfo
from .pending import PendingQueue
from .schedule import schedule
from .snapshot import Snapshot
from .tree import QueueNode


class Scheduler:
    """Admission over time. All its state follows from the calls so far: it has no clock and no tasks of its own."""

    def __init__(self, snapshot: Snapshot | None = None, config: Config | None = None) -> None:
        self.snapshot = snapshot or Snapshot()
        self.config = config or Config()
        self._queues = {name: PendingQueue(node.spec) for name, node in self.snapshot.queues.items()}
        self._homeless: dict[str, WorkloadInfo] = {}
        """Pending workloads whose queue is not there."""
        self._queue_of: dict[str, str] = {}
        self._stirred: set[str] = set()
        """Queues in whose trees something has changed since they were last considered."""
        self._freed: set[str] = set()
        """Queues that were given quota back since then."""
        self._cycle = 0

    def push(self, workload: WorkloadInfo, now: float) -> None:
        """A workload waits for quota, or waits in another way than before."""
        if self._queue_of.get(workload.key, workload.cluster_queue) != workload.cluster_queue:
            self.forget(workload.key)
        queue = self._queues.get(workload.cluster_queue)
        self._queue_of[workload.key] = workload.cluster_queue
        if queue is None:
            self._homeless[workload.key] = workload
        elif queue.push(workload, now):
            self._stirred.add(workload.cluster_queue)

    def forget(self, key: str) -> None:
        """A workload waits no more."""
        self._homeless.pop(key, None)
        queue = self._queues.get(name := self._queue_of.pop(key, ""))
        if queue is not None and queue.remove(key) is not None:
            self._stirred.add(name)

    def hold(self, workload: AdmittedWorkload) -> None:
        """A workload holds quota, or holds it in another way: with fewer pods or another priority, evicted, ready."""
        before = self.snapshot.holder(workload.key)
        if before is not None and int(before.reserved_at) == int(workload.reserved_at):
            workload = replace(workload, reserved_at=before.reserved_at)  # a status has whole seconds
        self.forget(workload.key)
        self.snapshot.hold(workload)
        if before is not None and (before.usage, before.priority) != (workload.usage, workload.priority):
            self._freed.add(workload.cluster_queue)
        elif before is not None and before.pods_ready != workload.pods_ready:
            self._stirred |= self._queues.keys()

    def release(self, key: str) -> None:
        """A workload gives its quota back."""
        workload = self.snapshot.release(key)
        if workload is None:
            return
        self._freed.add(workload.cluster_queue)
        if not workload.pods_ready and self.config.wait_for_pods_ready.block_admission:
            self._stirred |= self._queues.keys()

    def set_queue(self, spec: ClusterQueueSpec) -> None:
        """Add or change a ClusterQueue."""
        known = self.snapshot.queues.get(spec.name)
        if known is not None and known.spec == spec:
            return
        before = [*self._trees([spec.name])]
        self.snapshot.set_queue(spec)
        queue = self._queues.setdefault(spec.name, PendingQueue(spec))
        queue.strict = spec.strategy == "StrictFIFO"
        for workload in [one for one in self._homeless.values() if one.cluster_queue == spec.name]:
            del self._homeless[workload.key]
            queue.push(workload, float("-inf"))
        self._wake_trees([*before, spec.name])

    def remove_queue(self, name: str) -> None:
        """Forget a ClusterQueue; its workloads wait for it to come back."""
        before = [*self._trees([name])]
        self.snapshot.remove_queue(name)
        queue = self._queues.pop(name, None)
        if queue is not None:
            self._homeless |= {workload.key: workload for workload in queue.ordered()}
        self._wake_trees(before)

    def set_cohort(self, spec: CohortSpec) -> None:
        before = self._members(spec.name)
        self.snapshot.set_cohort(spec)
        self._wake_trees([*before, *self._members(spec.name)])

    def remove_cohort(self, name: str) -> None:
        before = self._members(name)
        self.snapshot.remove_cohort(name)
        self._wake_trees([*before, *self._members(name)])

    def set_flavor(self, spec: FlavorSpec) -> None:
        self.snapshot.set_flavor(spec)
        self._wake_trees(self._with_flavor(spec.name))

    def remove_flavor(self, name: str) -> None:
        self.snapshot.remove_flavor(name)
        self._wake_trees(self._with_flavor(name))

    def set_namespace(self, name: str, labels: Mapping[str, str] | None) -> None:
        """The labels of a namespace; None if it is gone."""
        self.snapshot.set_namespace(name, labels)
        self._wake_trees({queue for key, queue in self._queue_of.items() if key.startswith(f"{name}/")})

    def settle(self, now: float) -> Iterator[Decisions]:
        """Run cycles until one repeats what was decided before; each cycle's decisions, as soon as they are applied."""
        for name, queue in self._queues.items():
            if queue.due(now):
                self._stirred.add(name)
        seen: set[frozenset[tuple[str, str]]] = set()
        queues: dict[str, PendingQueue] = {}
        while True:
            self._wake()
            if self._stirred:
                seen.clear()
                queues |= self._trees(self._stirred)
                self._stirred.clear()
            heads = [head for queue in queues.values() if (head := queue.head()) is not None]
            if not heads:
                return
            decisions = self._run(heads, now)
            yield decisions
            state = frozenset(map(_verdict, decisions.requeues))
            if state in seen and not self._stirred and not self._freed:
                return
            seen.add(state)

    def next_due(self) -> float | None:
        """When a back-off ends next: `settle` should be called then."""
        return min((due for queue in self._queues.values() if (due := queue.next_due()) is not None), default=None)

    def pending(self, queue: str) -> list[WorkloadInfo]:
        """The workloads that wait in a queue, in its order."""
        found = self._queues.get(queue)
        return [*found.ordered()] if found else [one for one in self._homeless.values() if one.cluster_queue == queue]

    def verdict(self, key: str) -> Requeue | None:
        """Why a workload got no quota that was not decided on itself, since another one of its shape got none."""
        queue = self._queues.get(self._queue_of.get(key, ""))
        return queue.verdict(key) if queue is not None else None

    def counts(self, queue: str) -> tuple[int, int]:
        """How many workloads of a queue are active, and how many are inadmissible for now."""
        found = self._queues.get(queue)
        return found.counts() if found else (0, len(self.pending(queue)))

    def _run(self, heads: list[Head], now: float) -> Decisions:
        self._cycle += 1
        decisions = schedule(self.snapshot, heads, now, self.config, self._cycle)
        for reservation in decisions.reservations:
            self.forget(reservation.workload.key)
            self.snapshot.hold(holding(reservation, now))
        for preemption in decisions.preemptions:
            self.snapshot.hold(replace(preemption.target, evicted=True))
            self._stirred.add(preemption.preemptor.cluster_queue)
        for requeue in decisions.requeues:
            self._queues[requeue.workload.cluster_queue].requeue(requeue)
        return decisions

    def _wake(self) -> None:
        """Wake what might fit, in all trees in which quota has become free."""
        fair = self.config.fair_sharing is not None
        for name, queue in self._trees(self._freed).items():
            queue.wake(self.snapshot.queues[name], fair=fair)
        self._stirred |= self._freed
        self._freed.clear()

    def _wake_trees(self, names: Iterable[str]) -> None:
        """Something has changed that anybody in the trees of some queues may have waited for."""
        woken = self._trees(names)
        for name, queue in woken.items():
            queue.wake(self.snapshot.queues[name], fair=True, all_of_them=True)
        self._stirred |= woken.keys()

    def _members(self, cohort: str) -> list[str]:
        """The queues below a cohort."""
        nodes = self.snapshot.queues.items()
        return [name for name, node in nodes if any(each.name == cohort for each in node.ancestors())]

    def _with_flavor(self, flavor: str) -> list[str]:
        """The queues that have quota of a flavor."""
        nodes = self.snapshot.queues.items()
        return [
            name for name, node in nodes if any(flavor == one.flavor for g in node.spec.groups for one in g.flavors)
        ]

    def _trees(self, names: Iterable[str]) -> dict[str, PendingQueue]:
        """All queues of the trees that these belong to."""
        found: dict[str, PendingQueue] = {}
        for name in sorted(names):
            node = self.snapshot.queues.get(name)
            if node is not None and name not in found:
                found |= {each.name: self._queues[each.name] for each in _tree(node)}
        return found


def _verdict(requeue: Requeue) -> tuple[str, str]:
    return requeue.workload.key, str(requeue.progress.tried) if requeue.progress else ""


def holding(reservation: Reservation, now: float) -> AdmittedWorkload:
    """The workload of a reservation, as one that holds quota since now."""
    workload = reservation.workload
    return AdmittedWorkload(
        workload.key,
        workload.uid,
        reservation.admission.cluster_queue,
        reservation.admission.usage(),
        workload.priority,
        workload.queued_at,
        now,
        pods_ready=False,
    )


def _tree(node: QueueNode) -> Iterable[QueueNode]:
    root = next(reversed([*node.ancestors()]), None)
    return (node,) if root is None else root.members()
