"""One cycle of admission: a pure function of what is used, who waits and the time.

Flavors are found for every head on the snapshot as it is. Then the heads are decided on in order, each with the usage
that those before it have added: a head that fitted alone may not fit any more. Whoever needs preemption holds the quota
that it will get, so that no other workload takes it in the same cycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from .assigner import Assigner
from .checks import required_checks
from .config import Config
from .decisions import (
    Assignment,
    Decisions,
    Head,
    Mode,
    Preemption,
    Progress,
    Requeue,
    RequeueReason,
    Reservation,
    Target,
)
from .entries import Entry
from .model import Admission, PodSetAssignment, Usage, WorkloadInfo
from .order import classic_order, fair_order
from .partial import fewer_pods
from .preemption import PreemptionSearch
from .snapshot import Snapshot
from .tree import QueueNode

_OVERLAP = "Workload has overlapping preemption targets with another workload"
_NO_LONGER = "Workload no longer fits after processing another workload"
_PODS_READY = "waiting for all admitted workloads to be in PodsReady condition"


def schedule(
    snapshot: Snapshot, heads: Sequence[Head], now: float, config: Config | None = None, cycle: int = 0
) -> Decisions:
    """Decide about the heads of all queues, at most one for each queue.

    The snapshot is used to try things out, and is the same afterwards. `cycle` is the number of this cycle, which tells
    whether the progress of a head's search is that of the cycle before. Heads that hold quota already are left out.
    """
    return _Cycle(snapshot, config or Config(), now, cycle).run(heads)


class _Cycle:
    def __init__(self, snapshot: Snapshot, config: Config, now: float, cycle: int) -> None:
        self._snapshot, self._config, self._now, self._number = snapshot, config, now, cycle
        self._search = PreemptionSearch(snapshot, config)
        self._assigner = Assigner(snapshot, config, self._search, cycle)
        self._added: list[tuple[QueueNode, Usage]] = []
        self._preempted: dict[str, Target] = {}
        self._requeues: list[Requeue] = []
        self._preemptions: list[Preemption] = []
        self._waits_for_pods = config.wait_for_pods_ready.block_admission and bool(snapshot.not_ready)

    def run(self, heads: Sequence[Head]) -> Decisions:
        entries = [entry for entry in map(self._nominate, heads) if entry is not None]
        decided = []
        for entry in fair_order(entries) if self._config.fair_sharing is not None else classic_order(entries):
            self._decide(entry)
            decided.append(entry)
        for queue, usage in self._added:
            self._snapshot.take_back(queue, usage)
        self._requeues += [_requeue(entry) for entry in decided if not entry.admitted]
        reservations = tuple(_reservation(entry) for entry in decided if entry.admitted)
        return Decisions(reservations, tuple(self._preemptions), tuple(self._requeues))

    def _nominate(self, head: Head) -> Entry | None:
        workload = head.workload
        if self._snapshot.holder(workload.key) is not None:
            return None
        queue = self._snapshot.queues.get(workload.cluster_queue)
        text, reason = self._obstacle(workload, queue)
        if text or queue is None:
            self._requeues.append(Requeue(workload, reason, text=text))
            return None
        progress = head.progress
        if progress is not None and self._outdated(progress, workload, queue):
            progress = None
        assignment, targets = self._assign(queue, workload, progress)
        return Entry(workload, queue, assignment, targets, assignment.progress)

    def _obstacle(self, workload: WorkloadInfo, queue: QueueNode | None) -> tuple[str, RequeueReason]:
        """What keeps a workload from being considered, whatever the quota."""
        if workload.requeue_at is not None and workload.requeue_at > self._now:
            return "The workload waits for its back-off", ""
        if workload.failed_checks:
            return "The workload has failed admission checks", ""
        if queue is None:
            return f"ClusterQueue {workload.cluster_queue} not found", ""
        if not queue.active:
            return f"ClusterQueue {workload.cluster_queue} is inactive", ""
        selector = queue.spec.namespace_selector
        if not selector.empty:
            labels = self._snapshot.namespaces.get(workload.namespace)
            if labels is None:
                name = workload.namespace
                return f'workload namespace "{name}" does not exist: namespaces "{name}" not found', ""
            if not selector.matches(labels):
                return "workload namespace doesn't match ClusterQueue selector", "NamespaceMismatch"
        return workload.problem, ""

    def _outdated(self, progress: Progress, workload: WorkloadInfo, queue: QueueNode) -> bool:
        if progress.shape != workload.shape():
            return True
        return self._number - progress.cycle > 1 and queue.generation > progress.generation

    def _assign(
        self, queue: QueueNode, workload: WorkloadInfo, progress: Progress | None
    ) -> tuple[Assignment, list[Target]]:
        """The flavors of a workload and whom it has to preempt, with fewer pods if it does not fit with all."""
        shape = workload.shape()

        def attempt(counts: Sequence[int]) -> tuple[Assignment, list[Target]]:
            found = self._assigner.assign(queue, workload, shape, counts, progress)
            return found, self._search.targets(queue, workload, found) if found.mode.preempts else []

        def partial(counts: Sequence[int]) -> tuple[Assignment, list[Target]] | None:
            found = attempt(counts)
            return found if found[0].mode == Mode.FIT or found[1] else None

        full = attempt(workload.counts())
        if full[0].mode == Mode.FIT or full[1]:
            return full
        return fewer_pods(workload.pod_sets, partial) or full

    def _decide(self, entry: Entry) -> None:
        mode, queue, usage = entry.assignment.mode, entry.queue, entry.assignment.usage
        if mode == Mode.NO_FIT:
            entry.reason = "NoFit"
        elif mode != Mode.FIT and not entry.targets:
            entry.reason = "PreemptionNoCandidates"
            if queue.reserves:
                self._add(queue, _reserved(entry))
        elif any(target.workload.key in self._preempted for target in entry.targets):
            entry.skip(_OVERLAP)
        elif not self._fits(queue, usage, entry.targets):
            entry.skip(_NO_LONGER)
        elif mode == Mode.FIT:
            self._add(queue, usage)
            self._admit(entry)
        else:
            self._add(queue, usage)
            self._preempt(entry)

    def _admit(self, entry: Entry) -> None:
        if self._waits_for_pods:
            entry.reason, entry.waits_for_pods, entry.text = "FailedAfterNomination", True, _PODS_READY
            return
        entry.admitted = True
        self._waits_for_pods = self._config.wait_for_pods_ready.block_admission

    def _preempt(self, entry: Entry) -> None:
        entry.reason, entry.preempting, entry.progress = "PendingPreemption", len(entry.targets), None
        path = entry.queue.path()
        for target in entry.targets:
            self._preempted[target.workload.key] = target
            if not target.workload.evicted:
                of_target = self._snapshot.queues[target.workload.cluster_queue].path()
                made = Preemption(target.workload, entry.workload, target.reason, path, of_target)
                self._preemptions.append(made)

    def _fits(self, queue: QueueNode, usage: Usage, targets: Iterable[Target]) -> bool:
        """Whether there is room once all that are preempted in this cycle are gone."""
        gone = [target.workload for target in (*self._preempted.values(), *targets)]
        for each in gone:
            self._snapshot.take_back(self._snapshot.queues[each.cluster_queue], each.usage)
        fits = all(amount <= max(0, queue.available(each)) for each, amount in usage.items())
        for each in gone:
            self._snapshot.use(self._snapshot.queues[each.cluster_queue], each.usage)
        return fits

    def _add(self, queue: QueueNode, usage: Usage) -> None:
        self._snapshot.use(queue, usage)
        self._added.append((queue, usage))


def _reserved(entry: Entry) -> Usage:
    """The quota that is reserved for a workload that would need preemption and finds no candidates.

    Without borrowing that is what is left of the queue's own quota, with borrowing what its limit leaves.
    """
    queue, reserved = entry.queue, {}
    for each, amount in entry.assignment.usage.items():
        limit = queue.quotas[each].borrowing_limit if each in queue.quotas else None
        left = queue.nominal(each) - queue.usage.get(each, 0)
        if entry.assignment.borrowing:
            reserved[each] = amount if limit is None else max(0, min(amount, left + limit))
        else:
            reserved[each] = max(0, min(amount, left))
    return reserved


def _requeue(entry: Entry) -> Requeue:
    condition: Literal["Pending", "Waiting"] = "Waiting" if entry.waits_for_pods else "Pending"
    return Requeue(
        entry.workload, entry.reason, condition, entry.text, entry.assignment, entry.preempting, entry.progress
    )


def _reservation(entry: Entry) -> Reservation:
    pod_sets = tuple(
        PodSetAssignment(each.name, each.count, each.flavors, {name: each.requests[name] for name in each.flavors})
        for each in entry.assignment.pod_sets
    )
    admission = Admission(entry.queue.name, pod_sets)
    used = {flavor for each in pod_sets for flavor in each.flavors.values()}
    return Reservation(entry.workload, admission, required_checks(entry.queue.spec.checks, used), entry.assignment)
