"""The order of preemption under fair sharing: from the root down to the child with the largest share."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from jobrelay.queueing.core.decisions import PreemptionReason
from jobrelay.queueing.core.model import AdmittedWorkload
from jobrelay.queueing.core.shares import LEAST, Share, share
from jobrelay.queueing.core.tree import CohortNode, QueueNode, QuotaNode

from .attempt import Attempt
from .candidates import order


class FairOrder:
    """Queues with candidates, the next to be preempted first. Shares are computed when it is asked.

    They are remembered until `take` changes them: those of the candidate's queue and of the cohorts above it.
    """

    def __init__(self, attempt: Attempt, candidates: Iterable[AdmittedWorkload]) -> None:
        self._attempt = attempt
        self._ancestors = [*attempt.queue.ancestors()]
        self.waiting: dict[str, deque[AdmittedWorkload]] = {}
        """Candidates by queue, in their order."""
        self._done: set[QuotaNode] = set()
        self._shares: dict[QuotaNode, Share] = {}
        for each in candidates:
            self.waiting.setdefault(each.cluster_queue, deque()).append(each)

    def next(self) -> QueueNode | None:
        """The queue that is preempted next; None if there is none left."""
        own = self._attempt.queue
        if not self._ancestors:
            return own if self.waiting.get(own.name) and own not in self._done else None
        root = self._ancestors[-1]
        while root not in self._done:
            found = self._below(root)
            if found is not None:
                return found
        return None

    def share(self, node: QuotaNode) -> Share:
        """The share of a node now."""
        found = self._shares.get(node)
        if found is None:
            found = self._shares[node] = share(node)
        return found

    def take(self, node: QueueNode, candidate: AdmittedWorkload, reason: PreemptionReason) -> None:
        """Suppose that a candidate of a queue is gone."""
        self._attempt.take(candidate, reason)
        for each in (node, *node.ancestors()):
            self._shares.pop(each, None)

    def drop(self, node: QueueNode) -> None:
        """Leave a queue out from now on."""
        self._done.add(node)

    def compared(self, node: QueueNode) -> tuple[QuotaNode, QuotaNode]:
        """The two children of the lowest common cohort: the one of the preemptor, and the one of this queue."""
        common = next(each for each in node.ancestors() if each in self._ancestors)
        return _child_towards(self._attempt.queue, common), _child_towards(node, common)

    def share_without(self, node: QueueNode, compared: QuotaNode, candidate: AdmittedWorkload) -> Share:
        """The share that the candidate's side would have without it."""
        snapshot = self._attempt.snapshot
        snapshot.take_back(node, candidate.usage)
        found = share(compared)
        snapshot.use(node, candidate.usage)
        return found

    def _below(self, cohort: CohortNode) -> QueueNode | None:
        queue, of_queue = self._queue(cohort)
        child, of_child = self._child(cohort)
        if queue is None and child is None:
            self._done.add(cohort)
            return None
        if child is not None and of_child.key >= of_queue.key:
            return self._below(child)
        return queue

    def _queue(self, cohort: CohortNode) -> tuple[QueueNode | None, Share]:
        best, best_share = None, LEAST
        for node in cohort.queues:
            if node in self._done:
                continue
            found = self.share(node)
            if (not found.borrowed and node is not self._attempt.queue) or not self.waiting.get(node.name):
                self._done.add(node)
            elif best is None or found.key > best_share.key:
                best, best_share = node, found
            elif found.key == best_share.key and self._first(node) < self._first(best):
                best = node
        return best, best_share

    def _child(self, cohort: CohortNode) -> tuple[CohortNode | None, Share]:
        best, best_share = None, LEAST
        for node in cohort.cohorts:
            if node in self._done:
                continue
            found = self.share(node)
            if not found.borrowed and node not in self._ancestors:
                self._done.add(node)
            elif found.key >= best_share.key:
                best, best_share = node, found
        return best, best_share

    def _first(self, node: QueueNode) -> tuple[bool, bool, int, float, str]:
        return order(self.waiting[node.name][0], self._attempt.queue.name)


def _child_towards(node: QuotaNode, ancestor: CohortNode) -> QuotaNode:
    at = node
    while at.parent is not None and at.parent is not ancestor:
        at = at.parent
    return at
