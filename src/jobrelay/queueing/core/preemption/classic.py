"""The classic search: quota that others have borrowed is reclaimed, and lower priorities are preempted.

Candidates of other queues are of two sorts. Where the workload fits into the quota of a subtree, whoever borrows from
that subtree from outside has to give it back (*reclaim by hierarchy*). Everybody else is preempted for priority, if the
queue's policies allow it: without borrowing oneself, or by `borrowWithinCohort` while borrowing. A queue, or a cohort
on the way to it, that is within its own quota again loses nothing more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from jobrelay.queueing.core.decisions import PreemptionReason, Target
from jobrelay.queueing.core.model import AdmittedWorkload, FlavorResource
from jobrelay.queueing.core.prospects import reachable, unbounded
from jobrelay.queueing.core.tree import CohortNode, QueueNode, QuotaNode

from .attempt import Attempt
from .candidates import members, order


class _Candidate(NamedTuple):
    workload: AdmittedWorkload
    reason: PreemptionReason
    below: CohortNode | None
    """The lowest cohort that it has in common with the preemptor; None in the preemptor's own queue."""
    while_borrowing: bool
    """Whether it may be preempted if the preemptor's queue borrows."""


def classic_targets(attempt: Attempt) -> list[Target]:
    """The workloads to preempt; none if that does not help."""
    if _hopeless(attempt):
        return []
    own = [
        _Candidate(each, "InClusterQueue", None, True)
        for each in members(
            attempt.queue, attempt.queue.spec.preemption.within_cluster_queue, attempt.workload, attempt.needed
        )
    ]
    entitled, others = _outside(attempt)
    if not (own or entitled or others):
        return []
    ordered = _ordered(attempt.queue.name, entitled, others, own)
    for borrowing in _ways(attempt, entitled, others):
        if found := _try(attempt, ordered, borrowing=borrowing):
            return found
    return []


def _hopeless(attempt: Attempt) -> bool:
    """Whether preemption can never free enough, as far as is known without going through workloads one by one."""
    queue, priority = attempt.queue, attempt.workload.priority
    if unbounded(queue, fair=False):
        return False
    return any(attempt.usage[each] > reachable(queue, each, priority) for each in attempt.needed)


def _try(attempt: Attempt, candidates: Iterable[_Candidate], *, borrowing: bool) -> list[Target]:
    attempt.targets = []
    for candidate in candidates:
        if not _valid(attempt, candidate, borrowing=borrowing):
            continue
        attempt.take(candidate.workload, candidate.reason)
        if attempt.fits(borrowing=borrowing):
            attempt.give_back(borrowing=borrowing)
            attempt.restore()
            return attempt.targets
    attempt.restore()
    return []


def _ways(attempt: Attempt, entitled: list[_Candidate], others: list[_Candidate]) -> tuple[bool, ...]:
    """Whether to try with borrowing, without, or both in which order."""
    forbidden = attempt.queue.spec.preemption.borrow_within_cohort == "Never"
    if not entitled and not others:
        return (True,)
    if forbidden and not _under_nominal(attempt.queue, attempt.needed):
        return (True,)
    return (False, True) if forbidden and not entitled else (True, False)


def _under_nominal(queue: QueueNode, needed: Iterable[FlavorResource]) -> bool:
    return all(queue.usage.get(each, 0) < queue.nominal(each) for each in needed)


def _valid(attempt: Attempt, candidate: _Candidate, *, borrowing: bool) -> bool:
    """Whether its queue still has something to give back."""
    if candidate.below is None:
        return True
    if borrowing and not candidate.while_borrowing:
        return False
    node: QuotaNode = attempt.snapshot.queues[candidate.workload.cluster_queue]
    while node is not candidate.below:
        if node.within_nominal(attempt.needed):
            return False
        assert node.parent is not None
        node = node.parent
    return True


def _ordered(queue: str, *sorts: list[_Candidate]) -> list[_Candidate]:
    """Those on their way out first, of whatever sort; then sort by sort."""
    lists = [sorted(each, key=lambda one: order(one.workload, queue)) for each in sorts]
    leaving = [one for each in lists for one in each if one.workload.evicted]
    return leaving + [one for each in lists for one in each if not one.workload.evicted]


def _outside(attempt: Attempt) -> tuple[list[_Candidate], list[_Candidate]]:
    """Candidates of other queues: by hierarchy, and by priority."""
    entitled: list[_Candidate] = []
    others: list[_Candidate] = []
    queue = attempt.queue
    if queue.spec.preemption.reclaim_within_cohort == "Never":
        return entitled, others
    advantage, rest = _fits_in_quota(queue, dict(attempt.usage))
    skipped: CohortNode | None = None
    for cohort in queue.ancestors():
        found = entitled if advantage else others
        for node in _borrowers(cohort, attempt, skipped):
            found += _of_queue(node, cohort, attempt, advantage=advantage)
        fits, rest = _fits_in_quota(cohort, rest)
        advantage, skipped = advantage or fits, cohort
    return entitled, others


def _fits_in_quota(node: QuotaNode, usage: dict[FlavorResource, int]) -> tuple[bool, dict[FlavorResource, int]]:
    """Whether a node's quota holds it all, and what goes beyond its local quota."""
    fits = not any(node.exceeds(each, amount) for each, amount in usage.items())
    return fits, {each: max(0, amount - node.local_available(each)) for each, amount in usage.items()}


def _borrowers(cohort: CohortNode, attempt: Attempt, skipped: CohortNode | None) -> Iterator[QueueNode]:
    """Queues below a cohort that borrow what is needed, without those already considered for a lower cohort."""
    for child in cohort.cohorts:
        if child is not skipped and not child.within_nominal(attempt.needed):
            yield from _borrowers(child, attempt, skipped)
    for node in cohort.queues:
        if node is not attempt.queue and node.workloads and not node.within_nominal(attempt.needed):
            yield node


def _of_queue(node: QueueNode, below: CohortNode, attempt: Attempt, *, advantage: bool) -> Iterator[_Candidate]:
    policy, preemptor = attempt.queue.spec.preemption, attempt.workload
    threshold = policy.max_priority_threshold
    limit = preemptor.priority if threshold is None else min(preemptor.priority, threshold + 1)
    for each in members(node, policy.reclaim_within_cohort, preemptor, attempt.needed):
        if advantage:
            yield _Candidate(each, "InCohortReclamation", below, True)
        elif policy.borrow_within_cohort == "LowerPriority" and each.priority < limit:
            yield _Candidate(each, "InCohortReclaimWhileBorrowing", below, True)
        else:
            yield _Candidate(each, "InCohortReclamation", below, False)
