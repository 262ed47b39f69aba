"""One search for workloads to preempt: what is needed, and what was taken out of the snapshot for it so far."""

from __future__ import annotations

from collections.abc import Collection

from jobrelay.queueing.core.decisions import PreemptionReason, Target
from jobrelay.queueing.core.model import AdmittedWorkload, FlavorResource, Usage, WorkloadInfo
from jobrelay.queueing.core.snapshot import Snapshot
from jobrelay.queueing.core.tree import QueueNode


class Attempt:
    """Targets that are taken out of the snapshot's usage until `restore`."""

    def __init__(
        self,
        snapshot: Snapshot,
        queue: QueueNode,
        workload: WorkloadInfo,
        needed: Collection[FlavorResource],
        usage: Usage,
    ) -> None:
        self.snapshot, self.queue, self.workload, self.needed, self.usage = snapshot, queue, workload, needed, usage
        self.targets: list[Target] = []

    def take(self, candidate: AdmittedWorkload, reason: PreemptionReason) -> None:
        """Suppose that a workload is gone."""
        self.snapshot.take_back(self.snapshot.queues[candidate.cluster_queue], candidate.usage)
        self.targets.append(Target(candidate, reason))

    def fits(self, *, borrowing: bool) -> bool:
        """Whether there is room now, within the queue's own quota unless it may borrow."""
        queue = self.queue
        for each, amount in self.usage.items():
            if not borrowing and queue.borrows(each, amount):
                return False
            if amount > max(0, queue.available(each)):
                return False
        return True

    def give_back(self, *, borrowing: bool) -> None:
        """Keep only targets that are needed: the last is, each earlier one only if there is no room beside it."""
        kept = self.targets[-1:]
        for target in reversed(self.targets[:-1]):
            self._put(target)
            if not self.fits(borrowing=borrowing):
                self.snapshot.take_back(self.snapshot.queues[target.workload.cluster_queue], target.workload.usage)
                kept.append(target)
        self.targets = kept[::-1]

    def restore(self) -> None:
        """Put all targets back; they remain in `targets`."""
        for target in self.targets:
            self._put(target)

    def _put(self, target: Target) -> None:
        self.snapshot.use(self.snapshot.queues[target.workload.cluster_queue], target.workload.usage)
