"""The snapshot of a Job in one sync: its pods, counts and indexes, and the condition with which it finishes, if any.

A pod that has ended is in the Job's counters, in `uncountedTerminatedPods`, or new. It is new while it has its
finalizer and is in neither list. A pod whose finalizer was already removed is ignored, even if the cache still shows
the finalizer. So every pod counts once.

Several finish conditions can hold at once. They are checked in a fixed order: an outcome that is already in the status,
then failures, then the success policy. Whether the completions are reached is checked after pods were created and
deleted, see `tracking`.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from jobrelay.cluster.controllers.job import conditions
from jobrelay.cluster.controllers.job.backoff import NEVER_FAILED, BackoffRecord
from jobrelay.cluster.controllers.job.deadline import restarted_too_often, until_deadline
from jobrelay.cluster.controllers.job.podfailurepolicy import fail_job_message, match_failure
from jobrelay.cluster.controllers.job.pods import (
    completion_index,
    finish_time,
    has_valid_index,
    index_failures,
    index_ignored_failures,
    is_active,
    is_failed,
    is_ready,
    is_succeeded,
    is_terminating,
    is_tracked,
)
from jobrelay.cluster.controllers.job.successpolicy import matched_rule
from jobrelay.cluster.controllers.job.views import Condition, Job, Pod, Time
from jobrelay.kinds.batch.job.indexes import NONE, Indexes
from jobrelay.kinds.batch.job.names import FAILURE_TARGET, SUCCESS_CRITERIA_MET


class SyncState(msgspec.Struct, frozen=True):
    """What the controller knows beyond the caches.

    `removing` are the pods whose finalizer it has already removed; `satisfied` says that the cache shows all of its
    creates and deletes; `started_at` is when a Job started whose status has no start time yet. A restarted controller
    knows nothing of this, and loses only backoff delays.
    """

    backoff: BackoffRecord = NEVER_FAILED
    removing: frozenset[str] = frozenset()
    satisfied: bool = True
    started_at: Time | None = None


class JobSnapshot(msgspec.Struct, frozen=True):
    """A Job and its pods at the time of a sync."""

    job: Job
    pods: tuple[Pod, ...]
    state: SyncState
    now: Time
    start: Time | None
    active: tuple[Pod, ...]
    ready: int
    terminating: int
    succeeded: int
    failed: int
    backoff: BackoffRecord
    counted_indexes: Indexes = NONE
    """Succeeded indexes that are already in the status."""
    succeeded_indexes: Indexes = NONE
    failed_indexes: Indexes | None = None
    awaiting_replacement: dict[int, Pod] = {}
    """By index, the failed pod that waits for its replacement, which inherits its failure count."""
    finished_condition: Condition | None = None
    deadline: float | None = None
    """Seconds until the active deadline."""

    def tracked_pods(self) -> list[Pod]:
        """Pods that still have their finalizer, as far as known."""
        return [pod for pod in self.pods if is_tracked(pod) and pod.uid not in self.state.removing]


def take_snapshot(job: Job, pods: Iterable[Pod], state: SyncState, now: Time) -> JobSnapshot:
    """Takes the snapshot of a Job; `pods` are its own."""
    pods = tuple(pod for pod in pods if is_tracked(pod) or not is_succeeded(pod))
    active = tuple(pod for pod in pods if is_active(pod))
    uncounted = job.status.uncounted
    new_succeeded = _new(job, pods, state, uncounted.succeeded, succeeded=True)
    new_failed = _new(job, pods, state, uncounted.failed, succeeded=False)
    counting = sum(match_failure(job, pod).counts for pod in new_failed)
    start = job.status.start_time
    if start is None and not job.spec.suspend:
        start = state.started_at or now
    snapshot = JobSnapshot(
        job=job,
        pods=pods,
        state=state,
        now=now,
        start=start,
        active=active,
        ready=sum(is_ready(pod) for pod in active),
        terminating=sum(is_terminating(pod) for pod in pods),
        succeeded=job.status.succeeded + len(new_succeeded) + len(uncounted.succeeded),
        failed=job.status.failed + counting + len(uncounted.failed),
        backoff=state.backoff.after(new_succeeded, new_failed),
    )
    return _with_finished_condition(snapshot)


def _new(job: Job, pods: tuple[Pod, ...], state: SyncState, listed: tuple[str, ...], *, succeeded: bool) -> list[Pod]:
    """Pods that have ended and are not listed as uncounted yet."""
    known = {*listed, *state.removing}
    ended = is_succeeded if succeeded else (lambda pod: is_failed(pod, job))
    return [
        pod for pod in pods if is_tracked(pod) and pod.uid not in known and ended(pod) and has_valid_index(pod, job)
    ]


def _with_finished_condition(snapshot: JobSnapshot) -> JobSnapshot:
    job, now = snapshot.job, snapshot.now
    finished_condition, deadline = _already_decided(snapshot), None
    if finished_condition is None:
        message = fail_job_message(job, snapshot.pods)
        if message is not None:
            finished_condition = conditions.failure("PodFailurePolicy", message, now)
    if finished_condition is None:
        finished_condition, deadline = _failed_by_limits(snapshot)
    if not job.indexed:
        return replace(snapshot, finished_condition=finished_condition, deadline=deadline)
    snapshot = _with_indexes(snapshot)
    if finished_condition is None:
        finished_condition = _finished_by_indexes(snapshot)
    return replace(snapshot, finished_condition=finished_condition, deadline=deadline)


def _already_decided(snapshot: JobSnapshot) -> Condition | None:
    """The outcome that is already in the status."""
    success = snapshot.job.status.true_condition(SUCCESS_CRITERIA_MET)
    if success is not None:
        return success
    failure = snapshot.job.status.true_condition(FAILURE_TARGET)
    return conditions.terminal(failure, snapshot.now) if failure is not None else None


def _failed_by_limits(snapshot: JobSnapshot) -> tuple[Condition | None, float | None]:
    """Failure by the backoff limit or the active deadline; otherwise the seconds until the deadline."""
    job = snapshot.job
    if snapshot.failed > job.spec.backoff_limit or restarted_too_often(job, snapshot.pods):
        message = "Job has reached the specified backoff limit"
        return conditions.failure("BackoffLimitExceeded", message, snapshot.now), None
    left = until_deadline(job, snapshot.start, snapshot.now)
    if left is not None and left <= 0:
        message = "Job was active longer than specified deadline"
        return conditions.failure("DeadlineExceeded", message, snapshot.now), None
    return None, left


def _with_indexes(snapshot: JobSnapshot) -> JobSnapshot:
    job = snapshot.job
    tracked = [pod for pod in snapshot.pods if is_tracked(pod) and has_valid_index(pod, job)]
    counted = Indexes.parse(job.status.completed_indexes, job.completions)
    succeeded = counted | Indexes.of(completion_index(pod) for pod in tracked if is_succeeded(pod))
    snapshot = replace(snapshot, counted_indexes=counted, succeeded_indexes=succeeded, succeeded=len(succeeded))
    if not job.per_index:
        return snapshot
    failed = Indexes.parse(job.status.failed_indexes or "", job.completions)
    failed |= Indexes.of(completion_index(pod) for pod in tracked if _fails_index(job, pod))
    snapshot = replace(snapshot, failed_indexes=failed)
    return replace(snapshot, awaiting_replacement=_awaiting_replacement(snapshot, failed))


def _fails_index(job: Job, pod: Pod) -> bool:
    """Whether the failure of a pod makes its index fail."""
    if not is_failed(pod, job):
        return False
    matched = match_failure(job, pod)
    if matched.action == "FailIndex":
        return True
    return matched.counts and index_failures(pod) >= (job.spec.backoff_limit_per_index or 0)


def _awaiting_replacement(snapshot: JobSnapshot, failed: Indexes) -> dict[int, Pod]:
    busy = {completion_index(pod) for pod in snapshot.active}
    found: dict[int, Pod] = {}
    for pod in snapshot.tracked_pods():
        index = completion_index(pod)
        if not has_valid_index(pod, snapshot.job) or not is_failed(pod, snapshot.job):
            continue
        if index in busy or index in snapshot.succeeded_indexes or index in failed:
            continue
        known = found.get(index)
        if known is None or (_failures(known) <= _failures(pod) and finish_time(pod) >= finish_time(known)):
            found[index] = pod
    return found


def _failures(pod: Pod) -> int:
    return index_failures(pod) + index_ignored_failures(pod)


def _finished_by_indexes(snapshot: JobSnapshot) -> Condition | None:
    job = snapshot.job
    if snapshot.failed_indexes is not None:
        failed, limit = len(snapshot.failed_indexes), job.spec.max_failed_indexes
        if limit is not None and failed > limit:
            message = "Job has exceeded the specified maximal number of failed indexes"
            return conditions.failure("MaxFailedIndexesExceeded", message, snapshot.now)
        if failed > 0 and failed + len(snapshot.succeeded_indexes) >= job.completions:
            return conditions.failure("FailedIndexes", "Job has failed indexes", snapshot.now)
    rule = matched_rule(job, snapshot.succeeded_indexes)
    if rule is None:
        return None
    return conditions.condition(SUCCESS_CRITERIA_MET, "SuccessPolicy", rule, snapshot.now)
