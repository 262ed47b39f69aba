"""What a Job's status and pods amount to: its numbers, its indexes, and its fate if that is sealed.

A pod that has ended is in one of three places: in the Job's counters, in `uncountedTerminatedPods`, or still new. It is new
while it has its finalizer and is in neither list; one whose finalizer was already taken off, although the cache does not
show it yet, is not looked at again. That is what makes every pod count once.

The order of judgements is fixed, since several can hold at once: an outcome that was already announced, then failures, then
the success policy. Reaching the completions is judged after pods were created and deleted, see `tracking`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from jobrelay.cluster.controllers.job import conditions
from jobrelay.cluster.controllers.job.backoff import NEVER_FAILED, Backoff
from jobrelay.cluster.controllers.job.deadline import restarted_too_often, until_deadline
from jobrelay.cluster.controllers.job.podfailurepolicy import fail_job_message, judge
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


@dataclass(frozen=True, slots=True)
class Memory:
    """What the controller knows beyond the objects.

    `removing` are the pods whose finalizer it has taken off already; `satisfied` says that everything else it did to pods
    is visible; `began` is when it started a Job whose status does not say so yet. A controller that was restarted remembers
    nothing, and loses nothing but its delays.
    """

    backoff: Backoff = NEVER_FAILED
    removing: frozenset[str] = frozenset()
    satisfied: bool = True
    began: Time | None = None


@dataclass(frozen=True, slots=True)
class Situation:
    job: Job
    pods: tuple[Pod, ...]
    memory: Memory
    now: Time
    start: Time | None
    active: tuple[Pod, ...]
    ready: int
    terminating: int
    succeeded: int
    failed: int
    backoff: Backoff
    counted_indexes: Indexes = NONE
    """Succeeded indexes that the status already names."""
    succeeded_indexes: Indexes = NONE
    failed_indexes: Indexes | None = None
    awaiting: dict[int, Pod] = field(default_factory=dict)
    """Per index, the failed pod that waits for its replacement, which takes over its failure count."""
    fate: Condition | None = None
    deadline: float | None = None
    """Seconds until the active deadline, if the Job lives to see it."""

    def open_pods(self) -> list[Pod]:
        """Pods that have their finalizer, as far as known."""
        return [pod for pod in self.pods if is_tracked(pod) and pod.uid not in self.memory.removing]


def assess(job: Job, pods: Iterable[Pod], memory: Memory, now: Time) -> Situation:
    """Take stock of a Job and the pods that are its own."""
    pods = tuple(pod for pod in pods if is_tracked(pod) or not is_succeeded(pod))
    active = tuple(pod for pod in pods if is_active(pod))
    uncounted = job.status.uncounted
    new_succeeded = _new(job, pods, memory, uncounted.succeeded, succeeded=True)
    new_failed = _new(job, pods, memory, uncounted.failed, succeeded=False)
    counting = sum(judge(job, pod).counts for pod in new_failed)
    start = job.status.start_time
    if start is None and not job.spec.suspend:
        start = memory.began or now
    situation = Situation(
        job=job,
        pods=pods,
        memory=memory,
        now=now,
        start=start,
        active=active,
        ready=sum(is_ready(pod) for pod in active),
        terminating=sum(is_terminating(pod) for pod in pods),
        succeeded=job.status.succeeded + len(new_succeeded) + len(uncounted.succeeded),
        failed=job.status.failed + counting + len(uncounted.failed),
        backoff=memory.backoff.after(new_succeeded, new_failed),
    )
    return _judged(situation)


def _new(job: Job, pods: tuple[Pod, ...], memory: Memory, listed: tuple[str, ...], *, succeeded: bool) -> list[Pod]:
    """Pods that ended and are in no list yet."""
    known = {*listed, *memory.removing}
    ended = is_succeeded if succeeded else (lambda pod: is_failed(pod, job))
    return [
        pod for pod in pods if is_tracked(pod) and pod.uid not in known and ended(pod) and has_valid_index(pod, job)
    ]


def _judged(facts: Situation) -> Situation:
    job, now = facts.job, facts.now
    fate, deadline = _announced(facts), None
    if fate is None:
        message = fail_job_message(job, facts.pods)
        if message is not None:
            fate = conditions.failure("PodFailurePolicy", message, now)
    if fate is None:
        fate, deadline = _exhausted(facts)
    if not job.indexed:
        return replace(facts, fate=fate, deadline=deadline)
    facts = _with_indexes(facts)
    if fate is None:
        fate = _judged_by_indexes(facts)
    return replace(facts, fate=fate, deadline=deadline)


def _announced(facts: Situation) -> Condition | None:
    """The outcome that is already in the status, whoever wrote it."""
    success = facts.job.status.true_condition(SUCCESS_CRITERIA_MET)
    if success is not None:
        return success
    failure = facts.job.status.true_condition(FAILURE_TARGET)
    return conditions.terminal(failure, facts.now) if failure is not None else None


def _exhausted(facts: Situation) -> tuple[Condition | None, float | None]:
    """Failure by too many failures or too much time; otherwise the time that is left."""
    job = facts.job
    if facts.failed > job.spec.backoff_limit or restarted_too_often(job, facts.pods):
        message = "Job has reached the specified backoff limit"
        return conditions.failure("BackoffLimitExceeded", message, facts.now), None
    left = until_deadline(job, facts.start, facts.now)
    if left is not None and left <= 0:
        message = "Job was active longer than specified deadline"
        return conditions.failure("DeadlineExceeded", message, facts.now), None
    return None, left


def _with_indexes(facts: Situation) -> Situation:
    job = facts.job
    tracked = [pod for pod in facts.pods if is_tracked(pod) and has_valid_index(pod, job)]
    counted = Indexes.parse(job.status.completed_indexes, job.completions)
    succeeded = counted | Indexes.of(completion_index(pod) for pod in tracked if is_succeeded(pod))
    facts = replace(facts, counted_indexes=counted, succeeded_indexes=succeeded, succeeded=len(succeeded))
    if not job.per_index:
        return facts
    failed = Indexes.parse(job.status.failed_indexes or "", job.completions)
    failed |= Indexes.of(completion_index(pod) for pod in tracked if _fails_index(job, pod))
    facts = replace(facts, failed_indexes=failed)
    return replace(facts, awaiting=_awaiting(facts, failed))


def _fails_index(job: Job, pod: Pod) -> bool:
    """Whether a pod's failure is the last that its index may have."""
    if not is_failed(pod, job):
        return False
    verdict = judge(job, pod)
    if verdict.action == "FailIndex":
        return True
    return verdict.counts and index_failures(pod) >= (job.spec.backoff_limit_per_index or 0)


def _awaiting(facts: Situation, failed: Indexes) -> dict[int, Pod]:
    busy = {completion_index(pod) for pod in facts.active}
    found: dict[int, Pod] = {}
    for pod in facts.open_pods():
        index = completion_index(pod)
        if not has_valid_index(pod, facts.job) or not is_failed(pod, facts.job):
            continue
        if index in busy or index in facts.succeeded_indexes or index in failed:
            continue
        known = found.get(index)
        if known is None or (_failures(known) <= _failures(pod) and finish_time(pod) >= finish_time(known)):
            found[index] = pod
    return found


def _failures(pod: Pod) -> int:
    return index_failures(pod) + index_ignored_failures(pod)


def _judged_by_indexes(facts: Situation) -> Condition | None:
    job = facts.job
    if facts.failed_indexes is not None:
        failed, limit = len(facts.failed_indexes), job.spec.max_failed_indexes
        if limit is not None and failed > limit:
            message = "Job has exceeded the specified maximal number of failed indexes"
            return conditions.failure("MaxFailedIndexesExceeded", message, facts.now)
        if failed > 0 and failed + len(facts.succeeded_indexes) >= job.completions:
            return conditions.failure("FailedIndexes", "Job has failed indexes", facts.now)
    rule = matched_rule(job, facts.succeeded_indexes)
    if rule is None:
        return None
    return conditions.condition(SUCCESS_CRITERIA_MET, "SuccessPolicy", rule, facts.now)
