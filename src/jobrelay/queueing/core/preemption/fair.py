"""The search of fair sharing: the queue with the largest share of what is borrowed is preempted first.

Shares are compared between the two children of the lowest common cohort that lead to the preemptor and to the
candidate, with the preemptor's usage added. A workload is preempted if the first strategy allows it. If that does not
make enough room, the second one, which is less strict, is asked once for each queue.
"""

from __future__ import annotations

from jobrelay.queueing.core.config import FairStrategy
from jobrelay.queueing.core.decisions import Target
from jobrelay.queueing.core.model import AdmittedWorkload
from jobrelay.queueing.core.shares import Share
from jobrelay.queueing.core.tree import QueueNode

from .attempt import Attempt
from .candidates import members, order
from .fairorder import FairOrder


def fair_targets(attempt: Attempt, strategies: tuple[FairStrategy, ...]) -> list[Target]:
    """The workloads to preempt; none if that does not help."""
    candidates = _candidates(attempt)
    if not candidates:
        return []
    attempt.targets = []
    attempt.snapshot.use(attempt.queue, attempt.usage)
    enough, refused = _first(attempt, candidates, strategies[0])
    if not enough and len(strategies) > 1:
        enough = _second(attempt, refused)
    attempt.snapshot.take_back(attempt.queue, attempt.usage)
    if enough:
        attempt.give_back(borrowing=True)
    attempt.restore()
    return attempt.targets if enough else []


def _candidates(attempt: Attempt) -> list[AdmittedWorkload]:
    queue, policy = attempt.queue, attempt.queue.spec.preemption
    found = list(members(queue, policy.within_cluster_queue, attempt.workload, attempt.needed))
    if queue.parent is not None and policy.reclaim_within_cohort != "Never":
        for node in [*queue.ancestors()][-1].members():
            if node is not queue and any(node.borrows(each) for each in attempt.needed):
                found += members(node, policy.reclaim_within_cohort, attempt.workload, attempt.needed)
    return sorted(found, key=lambda one: order(one, queue.name))


def _has_room(attempt: Attempt) -> bool:
    attempt.snapshot.take_back(attempt.queue, attempt.usage)
    enough = attempt.fits(borrowing=True)
    attempt.snapshot.use(attempt.queue, attempt.usage)
    return enough


def _first(
    attempt: Attempt, candidates: list[AdmittedWorkload], strategy: FairStrategy
) -> tuple[bool, list[AdmittedWorkload]]:
    """Whether there is room after preempting by the first strategy, and whom it has spared."""
    ordering = FairOrder(attempt, candidates)
    within_nominal = not any(attempt.queue.borrows(each) for each in attempt.needed)
    refused: list[AdmittedWorkload] = []
    while (node := ordering.next()) is not None:
        waiting = ordering.waiting[node.name]
        if node is attempt.queue:
            ordering.take(node, waiting.popleft(), "InClusterQueue")
        elif within_nominal:
            ordering.take(node, waiting.popleft(), "InCohortReclamation")
        else:
            chosen = _choose(ordering, node, strategy, refused)
            if chosen is None:
                continue
            ordering.take(node, chosen, "InCohortFairSharing")
        if _has_room(attempt):
            return True, []
    return False, refused


def _choose(
    ordering: FairOrder, node: QueueNode, strategy: FairStrategy, refused: list[AdmittedWorkload]
) -> AdmittedWorkload | None:
    """The first candidate of a queue that a strategy allows; those before it are added to the refused ones."""
    mine, theirs = ordering.compared(node)
    new, before = ordering.share(mine), ordering.share(theirs)
    waiting = ordering.waiting[node.name]
    if before.key < new.key:  # no strategy allows any of them
        refused += waiting
        waiting.clear()
    while waiting:
        candidate = waiting.popleft()
        if _allows(strategy, new, before, ordering.share_without(node, theirs, candidate)):
            return candidate
        refused.append(candidate)
    return None


def _second(attempt: Attempt, candidates: list[AdmittedWorkload]) -> bool:
    """Whether there is room after preempting the first of each queue that has a larger share than the preemptor."""
    ordering = FairOrder(attempt, candidates)
    while (node := ordering.next()) is not None:
        mine, theirs = ordering.compared(node)
        candidate = ordering.waiting[node.name].popleft()
        ordering.drop(node)
        if ordering.share(mine).key < ordering.share(theirs).key:
            ordering.take(node, candidate, "InCohortFairSharing")
            if _has_room(attempt):
                return True
    return False


def _allows(strategy: FairStrategy, mine: Share, before: Share, after: Share) -> bool:
    if strategy == "LessThanInitialShare":
        return mine.key < before.key
    return mine.key <= after.key
