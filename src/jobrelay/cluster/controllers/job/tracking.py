"""Counts every pod once, and finishes a Job only when all of its pods are counted.

A pod is counted in three steps, and a crash may follow each of them. First its uid is written to
`uncountedTerminatedPods` (an Indexed Job writes the index of a success instead, which cannot count twice). Then its
finalizer is removed. Then, with the next write, the uid leaves the list and the counter grows. `list_uncounted`
prepares the first write and chooses the finalizers to remove; `count_uncounted` prepares the second write, which may
also add the terminal condition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from msgspec.structs import replace

from jobrelay.cluster.controllers.job import conditions
from jobrelay.cluster.controllers.job.manage import PodPlan
from jobrelay.cluster.controllers.job.podfailurepolicy import match_failure
from jobrelay.cluster.controllers.job.pods import completion_index, has_valid_index, is_failed, is_ready, is_succeeded
from jobrelay.cluster.controllers.job.snapshot import JobSnapshot
from jobrelay.cluster.controllers.job.views import BatchJobStatus, Condition, Job, Pod, Time
from jobrelay.kinds.batch.job.conditions import with_condition
from jobrelay.kinds.batch.job.indexes import Indexes
from jobrelay.kinds.batch.job.names import COMPLETE, FAILURE_TARGET, SUCCESS_CRITERIA_MET
from jobrelay.kinds.batch.job.views import Uncounted

MOST_UNCOUNTED: Final = 500


class Event(NamedTuple):
    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class PlanOutcome:
    """The result of a plan: how many pods were created, and the uids of those that were deleted."""

    created: int = 0
    deleted: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class UncountedUpdate:
    """The first status write of a sync, which lists uncounted pods, and what follows it."""

    status: BatchJobStatus
    changed: bool
    removals: tuple[Pod, ...] = ()
    tracked: frozenset[str] = frozenset()
    finished_condition: Condition | None = None
    terminating: int = 0
    events: tuple[Event, ...] = ()
    policy_actions: Counter[str] = field(default_factory=Counter)

    def only_starts(self, job: Job) -> bool:
        """Whether the only news is that the Job has started."""
        starts = job.status.start_time is None and self.status.start_time is not None
        return starts and not (self.events or self.removals or self.finished_condition or self.status.conditions)


@dataclass(frozen=True, slots=True)
class CountedUpdate:
    """The second status write of a sync, which counts pods without finalizer and may finish the Job."""

    status: BatchJobStatus
    changed: bool
    finished_condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class _Numbers:
    active: int
    ready: int
    terminating: int


def list_uncounted(snapshot: JobSnapshot, plan: PodPlan, outcome: PlanOutcome) -> UncountedUpdate:
    numbers = _numbers(snapshot, plan, outcome)
    finished_condition, status = snapshot.finished_condition, snapshot.job.status
    events: tuple[Event, ...] = ()
    start = snapshot.start.replace(microsecond=0) if snapshot.start is not None else None
    status = replace(status, start_time=start, uncounted_terminated_pods=status.uncounted)
    suspension_changed = False
    if finished_condition is not None:
        if numbers.active != 0 or not snapshot.state.satisfied:
            finished_condition = None
    elif _complete(snapshot, numbers.active):
        finished_condition = conditions.completions_reached(snapshot.now)
    elif plan.managed:
        suspended = conditions.with_suspension(status, suspend=snapshot.job.spec.suspend, now=snapshot.now)
        if suspended is not None:
            suspension_changed, status = True, suspended
            word = "Suspended" if snapshot.job.spec.suspend else "Resumed"
            events = (Event("Normal", word, f"Job {word.lower()}"),)
    changed = suspension_changed or (status.active, status.ready, status.terminating) != (
        numbers.active, numbers.ready, numbers.terminating,
    )  # fmt: skip
    status = replace(status, active=numbers.active, ready=numbers.ready, terminating=numbers.terminating)
    return _tracked(snapshot, finished_condition, status, changed, numbers.terminating, events)


def _numbers(snapshot: JobSnapshot, plan: PodPlan, outcome: PlanOutcome) -> _Numbers:
    """Active, ready and terminating pods after the plan was carried out; none is active during a backoff delay."""
    gone = [pod for pod in plan.deletes if pod.uid in outcome.deleted]
    active = 0 if plan.backoff_delay is not None else len(snapshot.active) + outcome.created - len(gone)
    return _Numbers(active, snapshot.ready - sum(is_ready(pod) for pod in gone), snapshot.terminating + len(gone))


def _complete(snapshot: JobSnapshot, active: int) -> bool:
    completions = snapshot.job.spec.completions
    enough = snapshot.succeeded > 0 if completions is None else snapshot.succeeded >= completions
    return enough and active == 0


def _tracked(
    snapshot: JobSnapshot,
    finished_condition: Condition | None,
    status: BatchJobStatus,
    changed: bool,
    terminating: int,
    events: tuple[Event, ...],
) -> UncountedUpdate:
    tracked = frozenset(pod.uid for pod in snapshot.tracked_pods())
    counted = count_released(status, tracked)
    changed, status = changed or counted is not None, counted or status
    listing = _UncountedList(snapshot, finished_condition, status)
    for pod in _in_order(snapshot):
        if not listing.add(pod):
            break
    changed = changed or listing.changed
    status = replace(status, uncounted_terminated_pods=Uncounted(tuple(listing.succeeded), tuple(listing.failed)))
    if snapshot.job.indexed:
        before, status = status, _with_indexes(snapshot, status, listing.indexes)
        changed = changed or _indexes(before) != _indexes(status)
    if finished_condition is not None and finished_condition.type in (FAILURE_TARGET, SUCCESS_CRITERIA_MET):
        if status.true_condition(finished_condition.type) is None:
            status, changed = replace(status, conditions=(*status.conditions, finished_condition)), True
        finished_condition = conditions.terminal(finished_condition, snapshot.now)
    return UncountedUpdate(
        status=status,
        changed=changed,
        removals=tuple(listing.removals),
        tracked=tracked,
        finished_condition=None if listing.full else finished_condition,
        terminating=terminating,
        events=events,
        policy_actions=listing.actions,
    )


def _in_order(snapshot: JobSnapshot) -> list[Pod]:
    """Tracked pods, by index so that indexes complete in order."""
    pods = snapshot.tracked_pods()
    return sorted(pods, key=completion_index) if snapshot.job.indexed else pods


def _indexes(status: BatchJobStatus) -> tuple[str, str | None]:
    """The fields that are worth a write; the number of succeeded indexes is derived from them."""
    return status.completed_indexes, status.failed_indexes


def _with_indexes(snapshot: JobSnapshot, status: BatchJobStatus, new: Iterable[int]) -> BatchJobStatus:
    succeeded = snapshot.succeeded_indexes | Indexes.of(new)
    failed = None if snapshot.failed_indexes is None else str(snapshot.failed_indexes)
    return replace(status, succeeded=len(succeeded), completed_indexes=str(succeeded), failed_indexes=failed)


class _UncountedList:
    """Collects the tracked pods that have ended, until the lists are full."""

    def __init__(self, snapshot: JobSnapshot, finished_condition: Condition | None, status: BatchJobStatus) -> None:
        self.snapshot, self.job, self.finished_condition = snapshot, snapshot.job, finished_condition
        self.known = snapshot.job.status.uncounted
        self.succeeded = list(status.uncounted.succeeded)
        self.failed = list(status.uncounted.failed)
        self.indexes: list[int] = []
        self.removals: list[Pod] = []
        self.actions: Counter[str] = Counter()
        self.changed = False
        self.full = False

    def add(self, pod: Pod) -> bool:
        """Adds a pod if it has ended; returns False when the lists are full."""
        failed = is_failed(pod, self.job)
        if not self._is_due(pod, failed):
            return True
        self.removals.append(pod)
        if is_succeeded(pod) and pod.uid not in self.known.failed:
            self._list_success(pod)
        elif failed or self._fails_running_pods():
            self._list_failure(pod)
        self.full = len(self.indexes) + len(self.succeeded) + len(self.failed) >= MOST_UNCOUNTED
        return not self.full

    def _is_due(self, pod: Pod, failed: bool) -> bool:
        """Whether the finalizer of a pod can be removed."""
        if self.job.deleting or self.finished_condition is not None or is_succeeded(pod):
            return True
        waiting = self.snapshot.awaiting_replacement.get(completion_index(pod))
        return failed and (waiting is None or waiting.uid != pod.uid)

    def _fails_running_pods(self) -> bool:
        """Running pods of a Job that fails count as failed; those of a Job that succeeds do not."""
        return self.finished_condition is not None and self.finished_condition.type != SUCCESS_CRITERIA_MET

    def _list_success(self, pod: Pod) -> None:
        if self.job.indexed:
            index = completion_index(pod)
            if has_valid_index(pod, self.job) and index not in self.snapshot.counted_indexes:
                self.indexes.append(index)
                self.changed = True
        elif pod.uid not in self.known.succeeded:
            self.succeeded.append(pod.uid)
            self.changed = True

    def _list_failure(self, pod: Pod) -> None:
        if pod.uid in self.known.failed or not has_valid_index(pod, self.job):
            return
        matched = match_failure(self.job, pod)
        if matched.action:
            self.actions[matched.action] += 1
        if matched.counts:
            self.failed.append(pod.uid)
            self.changed = True


def count_released(status: BatchJobStatus, tracked: Collection[str]) -> BatchJobStatus | None:
    """Moves the uids of pods without finalizer from the lists to the counters; None if there are none."""
    listed = status.uncounted
    left = Uncounted(
        tuple(uid for uid in listed.succeeded if uid in tracked), tuple(uid for uid in listed.failed if uid in tracked)
    )
    if left == listed:
        return None
    return replace(
        status,
        succeeded=status.succeeded + len(listed.succeeded) - len(left.succeeded),
        failed=status.failed + len(listed.failed) - len(left.failed),
        uncounted_terminated_pods=left,
    )


def count_uncounted(update: UncountedUpdate, removed: Collection[str], now: Time) -> CountedUpdate:
    """The status after finalizers were removed; `removed` are the pods that lost theirs."""
    counted = count_released(update.status, update.tracked.difference(removed))
    status, changed = counted or update.status, counted is not None
    finished = update.finished_condition
    if finished is None or status.uncounted != Uncounted() or update.terminating > 0:
        return CountedUpdate(status, changed)
    final = with_condition(
        status.conditions, conditions.condition(finished.type, finished.reason, finished.message, now)
    )
    status = replace(status, conditions=final or status.conditions)
    if finished.type == COMPLETE:
        status = replace(status, completion_time=finished.last_transition_time)
    return CountedUpdate(status, True, finished)
