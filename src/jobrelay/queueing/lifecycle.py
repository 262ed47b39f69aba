"""What happens to a Workload besides getting quota: the next step by its own status, its queues and the time.

`next_step` is a pure function. At most one change results; its own event leads to the next one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, cast

from jobrelay.apimachinery.times import parse_time
from jobrelay.kube import EventNote
from jobrelay.queueing import changes, core, names
from jobrelay.queueing.changes import Change
from jobrelay.queueing.conditions import Conditions, find, holds
from jobrelay.queueing.core.checks import CheckPhase, CheckState, outcome
from jobrelay.queueing.core.lifecycle import (
    Deactivation,
    Eviction,
    Stop,
    execution_deadline,
    execution_timeout,
    pods_ready_deadline,
    pods_ready_eviction,
    requeue_after_timeout,
    stopped,
)
from jobrelay.queueing.core.model import StopPolicy
from jobrelay.queueing.views import CheckStateView, WorkloadView

_DUE_TO: Final = "DeactivatedDueTo"


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """The queues of a Workload at a moment."""

    local_queue: str
    cluster_queue: str = ""
    """Empty if there is no such LocalQueue."""
    exists: bool = True
    """Whether the ClusterQueue does."""
    active: bool = True
    """Whether the ClusterQueue can give quota: everything that it names exists, and it is not stopped."""
    stop_policy: StopPolicy = "None"
    """That of the ClusterQueue."""
    local_stop_policy: StopPolicy = "None"
    checks: tuple[core.AdmissionCheckRule, ...] = ()
    """Those of the ClusterQueue that are waited for."""
    flavors: frozenset[str] = frozenset()
    """All flavors of the ClusterQueue."""

    @property
    def stopped(self) -> bool:
        return self.stop_policy != "None"

    @property
    def local_stopped(self) -> bool:
        return self.local_stop_policy != "None"

    @property
    def problem(self) -> str:
        """Why nothing can be admitted through them, in Kueue's words; empty if it can."""
        if not self.cluster_queue:
            return f"LocalQueue {self.local_queue} doesn't exist"
        if not self.exists:
            return f"ClusterQueue {self.cluster_queue} doesn't exist"
        if self.local_stopped:
            return f"LocalQueue {self.local_queue} is inactive"
        return "" if self.active and not self.stopped else f"ClusterQueue {self.cluster_queue} is inactive"

    def required_checks(self, view: WorkloadView) -> tuple[str, ...]:
        """The checks for the flavors that a Workload has; before it has any, those that are for all flavors."""
        admission = view.status.admission
        if admission is None:
            everywhere = (each for each in self.checks if not each.on_flavors or each.on_flavors >= self.flavors)
            return tuple(each.name for each in everywhere)
        return core.required_checks(
            self.checks, {flavor for each in admission.pod_set_assignments for flavor in each.flavors.values()}
        )

    def stop(self, *, admitted: bool) -> Stop:
        """What a stopped queue of a Workload does to it."""
        local = stopped("LocalQueue", self.local_queue, self.local_stop_policy, admitted=admitted)
        return local or stopped("ClusterQueue", self.cluster_queue, self.stop_policy, admitted=admitted)


@dataclass(frozen=True, slots=True)
class WorkloadStep:
    """A change of the status or of the spec, the events to record, and when to reconcile again without an event."""

    status: Change | None = None
    spec: dict[str, Any] | None = None
    events: tuple[EventNote, ...] = ()
    requeue_after: float | None = None
    tell_again: bool = False
    """Why it waits is written, and is not true any more: its queues were stopped or missing, and are not."""


NOTHING: Final = WorkloadStep()


def next_step(view: WorkloadView, key: str, queues: QueueFacts, config: core.Config, now: datetime) -> WorkloadStep:
    """The next step for a Workload; `key` is its namespace and name."""
    status = view.status
    if holds(status.conditions, names.FINISHED):
        return NOTHING
    evicted = find(status.conditions, names.EVICTED)
    if not view.spec.active:
        return _deactivated(view, now)
    target = find(status.conditions, names.DEACTIVATION_TARGET)
    if target is not None and target.holds:
        return WorkloadStep(spec={"active": False})
    if status.admission is None and (gates := view.annotations.get(names.ADMISSION_GATED_BY)):
        message = f"Admission is gated by: {gates}"
        return WorkloadStep(status=changes.pending(status, names.ADMISSION_GATED, message, now, owned=view.owned))
    if evicted is not None and evicted.holds:
        return _after_eviction(view, queues, now)
    if status.admission is None:
        step = _waiting(view, queues, now)
        return step if step.status is not None else replace(step, status=_check(view, queues, now))
    return _holding(view, key, queues, config, now)


def _deactivated(view: WorkloadView, now: datetime) -> WorkloadStep:
    status = view.status
    target, evicted = (find(status.conditions, type_) for type_ in (names.DEACTIVATION_TARGET, names.EVICTED))
    if evicted is not None and evicted.holds and evicted.reason.startswith(names.DEACTIVATED):
        return NOTHING
    reason, message = names.DEACTIVATED, "The workload is deactivated"
    if target is not None and target.holds:
        reason, message = f"{_DUE_TO}{target.reason}", f"{message} due to {target.message}"
    told = (EventNote(f"EvictedDueTo{reason}", message),)
    return WorkloadStep(status=changes.deactivated(status, reason, message, now), events=told)


def _was_deactivated(view: WorkloadView) -> bool:
    """Whether it lost its quota when it was deactivated, and is not queued again yet."""
    requeued = find(view.status.conditions, names.REQUEUED)
    return requeued is not None and not requeued.holds and requeued.reason.startswith(names.DEACTIVATED)


def _after_eviction(view: WorkloadView, queues: QueueFacts, now: datetime) -> WorkloadStep:
    """It gives its quota back when its object has stopped; then it may wait before it is queued again."""
    status = view.status
    if status.admission is not None:
        return NOTHING
    if _was_deactivated(view):
        return WorkloadStep(status=changes.reactivated(status, now))
    return _waiting(view, queues, now)


def _waiting(view: WorkloadView, queues: QueueFacts, now: datetime) -> WorkloadStep:
    status = view.status
    requeued = find(status.conditions, names.REQUEUED)
    waits = requeued is not None and not requeued.holds
    step = _requeue(view, requeued.reason, queues, now) if requeued is not None and waits else NOTHING
    if step.status is not None:
        return step
    if queues.problem:
        change = changes.pending(status, names.INADMISSIBLE, queues.problem, now, owned=view.owned)
        return replace(step, status=change)
    return replace(step, tell_again=not waits and is_outdated(status.conditions))


def is_outdated(conditions: Conditions) -> bool:
    """Whether the status of a Workload says that its queues cannot be used, although they can."""
    told = find(conditions, names.QUOTA_RESERVED)
    return told is not None and told.reason == names.INADMISSIBLE


def _check(view: WorkloadView, queues: QueueFacts, now: datetime) -> Change | None:
    """The checks that it has to pass, if these are not those that it has. Most get theirs together with quota."""
    if not queues.exists or find(view.status.conditions, names.QUOTA_RESERVED) is None:
        return None
    return changes.checked(view.status, queues.required_checks(view), now)


def _requeue(view: WorkloadView, reason: str, queues: QueueFacts, now: datetime) -> WorkloadStep:
    status = view.status
    if reason == names.CLUSTER_QUEUE_STOPPED:
        if queues.stopped or not queues.exists:
            return NOTHING
        message = "The ClusterQueue was restarted after being stopped"
        return WorkloadStep(status=changes.requeued(status, "ClusterQueueRestarted", message, now))
    if reason == names.LOCAL_QUEUE_STOPPED:
        if queues.local_stopped or not queues.cluster_queue:
            return NOTHING
        message = "The LocalQueue was restarted after being stopped"
        return WorkloadStep(status=changes.requeued(status, "LocalQueueRestarted", message, now))
    at = status.requeue_state.requeue_at if status.requeue_state is not None else None
    left = (parse_time(at) - now).total_seconds() if at else 0.0
    if left > 0:
        return WorkloadStep(requeue_after=left)
    return WorkloadStep(status=changes.requeued(status, "BackoffFinished", "The workload backoff was finished", now))


def _holding(view: WorkloadView, key: str, queues: QueueFacts, config: core.Config, now: datetime) -> WorkloadStep:
    """Whether a Workload that holds quota may keep it."""
    status = view.status
    admitted = find(status.conditions, names.ADMITTED)
    runs = admitted is not None and admitted.holds
    stop = queues.stop(admitted=runs)
    if isinstance(stop, Eviction):
        return _evict(view, stop, now)
    if stop is not None:
        return WorkloadStep(status=changes.unreserved(status, stop.message, now))
    if (change := _check(view, queues, now)) is not None:
        return WorkloadStep(status=change)
    states = {each.name: _state(each) for each in status.admission_checks}
    found = outcome(states, states, now.timestamp())
    if found.action == "deactivate":
        told = (EventNote("AdmissionCheckRejected", found.message, "Warning"),)
        change = changes.deactivation(status, Deactivation("AdmissionCheck", found.message), now)
        return WorkloadStep(status=change, events=told)
    if found.action == "evict":
        return _evict(view, Eviction("AdmissionCheck", found.message), now)
    if admitted is not None and admitted.holds:
        return _running(view, key, admitted.since, config, now)
    if found.action == "admit":
        return WorkloadStep(status=changes.admitted(status, now))
    return WorkloadStep(requeue_after=found.at - now.timestamp()) if found.at is not None else NOTHING


def _state(check: CheckStateView) -> CheckState:
    since = parse_time(check.last_transition_time).timestamp()
    phase = cast("CheckPhase", check.state)
    return CheckState(phase, check.message, since, check.requeue_after_seconds)


def _running(view: WorkloadView, key: str, since: datetime, config: core.Config, now: datetime) -> WorkloadStep:
    """It is admitted: whether its time is over, or its pods take too long."""
    status, settings, at = view.status, config.wait_for_pods_ready, now.timestamp()
    past = status.accumulated_past_execution_time_seconds
    ends = execution_deadline(view.spec.maximum_execution_time_seconds, past, since.timestamp())
    if (over := execution_timeout(ends, at)) is not None:
        return WorkloadStep(status=changes.deactivation(status, over, now))
    times = [] if ends is None else [ends]
    ready = find(status.conditions, names.PODS_READY)
    if ready is None or not ready.holds:
        lost = ready.since.timestamp() if ready is not None and ready.reason == "WaitForRecovery" else None
        deadline = pods_ready_deadline(since.timestamp(), lost, settings)
        if (late := pods_ready_eviction(key, deadline, at)) is not None:
            return _back_off(view, late, settings, now)
        times.append(deadline)
    times = [each for each in times if each != float("inf")]
    return WorkloadStep(requeue_after=min(times) - at) if times else NOTHING


def _back_off(view: WorkloadView, late: Eviction, settings: core.WaitForPodsReady, now: datetime) -> WorkloadStep:
    """It is evicted, and queued again only after a pause that grows with each time; or it is to be deactivated."""
    status = view.status
    count = status.requeue_state.count if status.requeue_state is not None else 0
    found = requeue_after_timeout(count, now.timestamp(), settings)
    if isinstance(found, Deactivation):
        return WorkloadStep(status=changes.deactivation(status, found, now))
    step = _evict(view, late, now)
    return replace(step, status={**(step.status or {}), "requeueState": changes.requeue_state(found)})


def _evict(view: WorkloadView, why: Eviction, now: datetime) -> WorkloadStep:
    told = (EventNote(f"EvictedDueTo{why.reason}", why.message),)
    return WorkloadStep(status=changes.evicted(view.status, why.reason, why.message, now), events=told)
