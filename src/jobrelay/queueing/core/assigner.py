"""The search for flavors: for each pod set and resource group, the first flavor that is good enough, or the best.

Quota that earlier pod sets of the same workload would take is counted as used. Where quota is lacking, the search for
preemption is asked whether it could be freed, resource by resource; which workloads are really preempted is decided for
the whole assignment afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .config import Config
from .decisions import Assignment, FlavorAttempt, Mode, PodSetDecision, Progress, QuotaCheck
from .flavors import mismatch
from .fungibility import BEST, WORST, Quality, goes_on, preferred
from .model import PODS, FlavorResource, PodSetInfo, ResourceGroup, WorkloadInfo
from .preemption import PreemptionSearch
from .snapshot import Snapshot
from .tree import QueueNode


class _Found(NamedTuple):
    """The best flavor of one resource group."""

    checks: Sequence[QuotaCheck]
    """Of each resource in that flavor; empty if none fits."""
    attempts: list[FlavorAttempt]
    fits: bool
    tried: int
    """Where the search stopped, -1 for the end of the list."""


class Assigner:
    """Finds flavors in one cycle."""

    def __init__(self, snapshot: Snapshot, config: Config, search: PreemptionSearch, cycle: int) -> None:
        self._snapshot, self._search, self._cycle = snapshot, search, cycle
        self._ignores_undeclared = config.ignore_undeclared_resources
        self._fair = config.fair_sharing is not None

    def assign(
        self, queue: QueueNode, workload: WorkloadInfo, shape: str, counts: Sequence[int], progress: Progress | None
    ) -> Assignment:
        """The flavors of a workload with these numbers of pods in its pod sets."""
        usage: dict[FlavorResource, int] = {}
        decided: list[PodSetDecision] = []
        tried: list[dict[str, int]] = []
        borrowing = 0
        for index, pods in enumerate(workload.pod_sets):
            last = progress.tried[index] if progress and index < len(progress.tried) else {}
            one, level = self._pod_set(queue, workload, pods, counts[index], usage, last, tried)
            decided.append(one)
            borrowing = max(borrowing, level)
            for resource, flavor in one.flavors.items():
                usage[flavor, resource] = usage.get((flavor, resource), 0) + one.requests[resource]
            if one.mode == Mode.NO_FIT and one.requests:
                break
        mode = min((each.mode for each in decided), default=Mode.NO_FIT)
        made = Progress(tuple(tried), queue.generation, self._cycle, shape)
        return Assignment(tuple(decided), usage, borrowing, mode, made)

    def _pod_set(
        self,
        queue: QueueNode,
        workload: WorkloadInfo,
        pods: PodSetInfo,
        count: int,
        usage: Mapping[FlavorResource, int],
        last: Mapping[str, int],
        tried: list[dict[str, int]],
    ) -> tuple[PodSetDecision, int]:
        requests = {name: each * count for name, each in pods.requests.items()}
        if PODS in queue.group_of:
            requests[PODS] = count
        chosen: dict[str, QuotaCheck] = {}
        indexes: dict[str, int] = {}
        attempts: list[FlavorAttempt] = []
        blamed: list[FlavorAttempt] = []
        tried.append(indexes)
        for resource in sorted(requests):
            group = queue.group_of.get(resource)
            if resource in chosen or (group is None and (requests[resource] == 0 or self._ignores_undeclared)):
                continue
            if group is None:
                return PodSetDecision(pods.name, count, {}, {}, requests, missing=resource, fits=False), 0
            found = self._group(queue, workload, pods, group, requests, usage, last.get(resource, -1) + 1)
            attempts += found.attempts
            if not found.checks:
                why = tuple(found.attempts)
                indexes.clear()
                return PodSetDecision(pods.name, count, {}, {}, requests, tuple(attempts), why, fits=False), 0
            chosen |= {check.resource: check for check in found.checks}
            indexes |= {check.resource: found.tried for check in found.checks}
            blamed += [] if found.fits else found.attempts
        flavors = {name: check.flavor for name, check in chosen.items()}
        modes = {name: check.mode for name, check in chosen.items()}
        level = max((check.borrowing for check in chosen.values()), default=0)
        decision = PodSetDecision(
            pods.name, count, flavors, modes, requests, tuple(attempts), tuple(blamed), fits=not blamed
        )
        return decision, level

    def _group(
        self,
        queue: QueueNode,
        workload: WorkloadInfo,
        pods: PodSetInfo,
        group: ResourceGroup,
        requests: Mapping[str, int],
        usage: Mapping[FlavorResource, int],
        start: int,
    ) -> _Found:
        names = sorted(name for name in group.resources if name in requests)
        policy, last = queue.spec.fungibility, -1
        attempts: list[FlavorAttempt] = []
        best: list[QuotaCheck] = []
        best_quality = WORST
        for index in range(start, len(group.flavors)):
            last, flavor = index, group.flavors[index].flavor
            if text := mismatch(flavor, self._snapshot.flavors.get(flavor), pods):
                attempts.append(FlavorAttempt(flavor, Mode.NO_FIT, mismatch=text))
                continue
            checks = [self._check(queue, workload, (flavor, name), usage, requests[name]) for name in names]
            quality = _worst(checks, queue)
            borrowing = max(check.borrowing for check in checks)
            attempts.append(FlavorAttempt(flavor, quality[0], borrowing, tuple(checks)))
            enough = not goes_on(quality, policy)
            if enough or preferred(quality, best_quality, policy):
                best, best_quality = checks, quality
            if enough:
                break
        tried = -1 if last == len(group.flavors) - 1 else last
        return _Found(best, attempts, best_quality[0] == Mode.FIT, tried)

    def _check(
        self,
        queue: QueueNode,
        workload: WorkloadInfo,
        each: FlavorResource,
        usage: Mapping[FlavorResource, int],
        requested: int,
    ) -> QuotaCheck:
        assumed = usage.get(each, 0)
        total, available, capacity = assumed + requested, max(0, queue.available(each)), queue.capacity(each)
        if total > capacity:
            mode, level = Mode.NO_FIT, 0
        else:
            level, may_reclaim = queue.level(each, total)
            if total <= available:
                mode = Mode.FIT
            elif queue.nominal(each) >= total or may_reclaim or self._preempts_while_borrowing(queue):
                mode, level = self._search.possibility(queue, workload, each, total)
            else:
                mode = Mode.NO_FIT
        return QuotaCheck(each[0], each[1], assumed, requested, available, capacity, mode, level)

    def _preempts_while_borrowing(self, queue: QueueNode) -> bool:
        policy = queue.spec.preemption
        return policy.borrow_within_cohort != "Never" or (self._fair and policy.reclaim_within_cohort != "Never")


def _worst(checks: Sequence[QuotaCheck], queue: QueueNode) -> Quality:
    """How well the flavor fits as a whole: as its worst resource."""
    worst = BEST
    for check in checks:
        quality = (check.mode, check.borrowing)
        if preferred(worst, quality, queue.spec.fungibility):
            worst = quality
    return worst
