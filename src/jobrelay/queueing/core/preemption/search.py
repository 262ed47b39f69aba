"""The search for preemption that a cycle uses: classic or fair, for whole assignments and for single resources."""

from __future__ import annotations

from collections.abc import Collection

from jobrelay.queueing.core.config import Config
from jobrelay.queueing.core.decisions import Assignment, Mode, Target
from jobrelay.queueing.core.model import FlavorResource, Usage, WorkloadInfo
from jobrelay.queueing.core.snapshot import Snapshot
from jobrelay.queueing.core.tree import QueueNode

from .attempt import Attempt
from .classic import classic_targets
from .fair import fair_targets


class PreemptionSearch:
    """Finds workloads to preempt on one snapshot."""

    def __init__(self, snapshot: Snapshot, config: Config) -> None:
        self._snapshot, self._fair = snapshot, config.fair_sharing

    def targets(self, queue: QueueNode, workload: WorkloadInfo, assignment: Assignment) -> list[Target]:
        """The workloads to preempt so that an assignment fits."""
        needed = {
            (flavor, resource)
            for each in assignment.pod_sets
            for resource, flavor in each.flavors.items()
            if each.modes[resource].preempts
        }
        usage = {each: amount for each, amount in assignment.usage.items() if amount}
        return self._find(queue, workload, needed, usage)

    def possibility(
        self, queue: QueueNode, workload: WorkloadInfo, each: FlavorResource, amount: int
    ) -> tuple[Mode, int]:
        """Whether one quota could be freed, from whom, and from how far up the tree it would come then."""
        targets = self._find(queue, workload, (each,), {each: amount})
        if not targets:
            return Mode.NO_CANDIDATES, queue.level(each, amount)[0]
        queues = self._snapshot.queues
        for target in targets:
            self._snapshot.take_back(queues[target.workload.cluster_queue], target.workload.usage)
        level, _ = queue.level(each, amount)
        for target in targets:
            self._snapshot.use(queues[target.workload.cluster_queue], target.workload.usage)
        own = any(target.workload.cluster_queue == queue.name for target in targets)
        return Mode.PREEMPT if own else Mode.RECLAIM, level

    def _find(
        self, queue: QueueNode, workload: WorkloadInfo, needed: Collection[FlavorResource], usage: Usage
    ) -> list[Target]:
        attempt = Attempt(self._snapshot, queue, workload, needed, usage)
        if self._fair is not None:
            return fair_targets(attempt, self._fair.strategies)
        return classic_targets(attempt)
