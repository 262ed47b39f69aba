"""Changes of a Workload's status, one function for each thing that happens to it.

Each returns what a merge patch of the status has to contain. Lists are written whole, so every patch names the version
that it was made from: one that was outpaced is refused, and decided anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from jobrelay.apimachinery.times import format_time
from jobrelay.queueing import core, names
from jobrelay.queueing.conditions import Conditions, find, holds, with_condition
from jobrelay.queueing.core.amounts import format_amount
from jobrelay.queueing.core.lifecycle import Deactivation, RequeueState
from jobrelay.queueing.views import CheckStateView, NamedCount, WorkloadStatusView

Change = dict[str, Any]
"""A merge patch of a status."""

_REQUEUED_AT_ONCE: Final = frozenset({"Preempted", "NodeFailures"})
"""Reasons of an eviction after which a workload is queued again without a condition for it."""
NOT_READY: Final = "Not all pods are ready or succeeded"
RECOVERING: Final = "At least one pod has failed, waiting for recovery"
EXECUTION_TIME: Final = "MaximumExecutionTimeExceeded"
READY: Final = "All pods reached readiness and the workload is running"


def reserved(
    status: WorkloadStatusView,
    admission: core.Admission,
    checks: Iterable[str],
    message: str,
    now: datetime,
    *,
    owned: bool = True,
) -> Change:
    """It gets quota, and without checks it is admitted at once; one that is `owned` has pods that are not ready yet."""
    conditions = with_condition(status.conditions, names.QUOTA_RESERVED, True, names.QUOTA_RESERVED, message, now)
    for type_ in (names.EVICTED, names.PREEMPTED):
        before = find(conditions, type_)
        if before is not None and before.holds:
            text = f"Previously: {before.message}"
            conditions = with_condition(conditions, type_, False, names.QUOTA_RESERVED, text, now)
    states = _states(status, checks, now)
    if all(each.state == "Ready" for each in states):
        conditions = _admitted(conditions, now)
    if owned:
        conditions = _not_started(conditions, now)
    change: Change = {"admission": _admission(admission), "conditions": _encoded(conditions)}
    if states or status.admission_checks:
        change["admissionChecks"] = _encoded(states)
    return change


def _states(status: WorkloadStatusView, checks: Iterable[str], now: datetime) -> tuple[CheckStateView, ...]:
    """The states of checks: as they are known, or pending."""
    known = {each.name: each for each in status.admission_checks}
    return tuple(known.get(each) or CheckStateView(each, "Pending", format_time(now), "") for each in checks)


def checked(status: WorkloadStatusView, checks: Iterable[str], now: datetime) -> Change | None:
    """It has to pass these checks; None if it has just these already."""
    wanted = set(checks)
    if wanted == {each.name for each in status.admission_checks}:
        return None
    return {"admissionChecks": _encoded(_states(status, sorted(wanted), now))}


def _reset(check: CheckStateView, now: datetime) -> CheckStateView:
    """A check that has to be passed again; one that is pending stays as it is."""
    if check.state == "Pending":
        return check
    message = f"Reset to Pending after eviction. Previously: {check.state}"
    return CheckStateView(check.name, "Pending", format_time(now), message)


def _admitted(conditions: Conditions, now: datetime) -> Conditions:
    return with_condition(conditions, names.ADMITTED, True, names.ADMITTED, "The workload is admitted", now)


def _admission(admission: core.Admission) -> dict[str, Any]:
    return {
        "clusterQueue": admission.cluster_queue,
        "podSetAssignments": [
            {
                "name": each.name,
                "count": each.count,
                "flavors": dict(each.flavors),
                "resourceUsage": {name: format_amount(name, value) for name, value in each.usage.items()},
            }
            for each in admission.pod_sets
        ],
    }


def admitted(status: WorkloadStatusView, now: datetime) -> Change:
    """All its checks are ready."""
    return {"conditions": _encoded(_admitted(status.conditions, now))}


def pending(
    status: WorkloadStatusView, reason: str, message: str, now: datetime, *, owned: bool = True
) -> Change | None:
    """It gets no quota now, and why; None if that is written already. Pods of one that is `owned` are not ready yet."""
    conditions = with_condition(status.conditions, names.QUOTA_RESERVED, False, reason, message, now)
    if owned and find(conditions, names.PODS_READY) is None:
        conditions = _not_started(conditions, now)
    return {"conditions": _encoded(conditions)} if conditions is not status.conditions else None


def not_started(status: WorkloadStatusView, now: datetime) -> Change:
    """It waits in line, and nothing is known about it but that its pods are not ready."""
    return {"conditions": _encoded(_not_started(status.conditions, now))}


def _not_started(conditions: Conditions, now: datetime) -> Conditions:
    return with_condition(conditions, names.PODS_READY, False, "WaitForStart", NOT_READY, now)


def evicted(status: WorkloadStatusView, reason: str, message: str, now: datetime, preempted: str = "") -> Change:
    """It is to give its quota back; `preempted` is the reason of condition Preempted, if it is preempted."""
    conditions = with_condition(status.conditions, names.EVICTED, True, reason, message, now)
    if preempted:
        conditions = with_condition(conditions, names.PREEMPTED, True, preempted, message, now)
    return {"conditions": _encoded(conditions)}


def requeue_state(backoff: RequeueState) -> dict[str, Any]:
    """`requeueState` of a workload that is queued again after a pause."""
    return {"count": backoff.count, "requeueAt": format_time(datetime.fromtimestamp(backoff.requeue_at, UTC))}


def deactivation(status: WorkloadStatusView, why: Deactivation, now: datetime) -> Change:
    """It is to be deactivated; what for survives in this condition until it is."""
    conditions = with_condition(status.conditions, names.DEACTIVATION_TARGET, True, why.reason, why.message, now)
    return {"conditions": _encoded(conditions)}


def released(status: WorkloadStatusView, now: datetime) -> Change:
    """It was evicted and has stopped: it gives its quota back."""
    evicted_for = find(status.conditions, names.EVICTED)
    assert evicted_for is not None
    text = evicted_for.message
    conditions = with_condition(status.conditions, names.QUOTA_RESERVED, False, names.PENDING, text, now)
    was = find(status.conditions, names.ADMITTED)
    if was is not None:
        reason, no_reservation = names.NO_RESERVATION, "The workload has no reservation"
        if status.admission_checks:
            reason, no_reservation = f"{reason}UnsatisfiedChecks", f"{no_reservation} and not all checks ready"
        conditions = with_condition(conditions, names.ADMITTED, False, reason, no_reservation, now)
    if holds(conditions, names.PODS_READY):
        conditions = with_condition(conditions, names.PODS_READY, False, "WaitForStart", NOT_READY, now)
    again = evicted_for.reason in _REQUEUED_AT_ONCE
    conditions = with_condition(conditions, names.REQUEUED, again, evicted_for.reason, text, now)
    change: Change = {"admission": None, "conditions": _encoded(conditions), "clusterName": None}
    if status.admission_checks:
        change["admissionChecks"] = _encoded(tuple(_reset(each, now) for each in status.admission_checks))
    if was is not None and was.holds:
        ran = max(0, int((now - was.since).total_seconds()))
        change["accumulatedPastExecutionTimeSeconds"] = status.accumulated_past_execution_time_seconds + ran
    return change


def unreserved(status: WorkloadStatusView, message: str, now: datetime) -> Change:
    """It had quota and was not admitted yet: it gives that back without an eviction, since nothing of it runs."""
    conditions = with_condition(status.conditions, names.QUOTA_RESERVED, False, names.INADMISSIBLE, message, now)
    change: Change = {"admission": None, "conditions": _encoded(conditions)}
    if status.admission_checks:
        change["admissionChecks"] = _encoded(tuple(_reset(each, now) for each in status.admission_checks))
    return change


def requeued(status: WorkloadStatusView, reason: str, message: str, now: datetime) -> Change:
    """What it waited for is over: it is queued again."""
    return {"conditions": _encoded(with_condition(status.conditions, names.REQUEUED, True, reason, message, now))}


def deactivated(status: WorkloadStatusView, reason: str, message: str, now: datetime) -> Change:
    """It is not active any more, and gives its quota back. The condition Evicted says why from now on.

    One that was over its time stays marked as such, so that it is deactivated again whenever it is activated.
    """
    change = evicted(status, reason, message, now)
    if not reason.endswith(EXECUTION_TIME):
        change["conditions"] = [each for each in change["conditions"] if each["type"] != names.DEACTIVATION_TARGET]
    return change if status.requeue_state is None else {**change, "requeueState": None}


def reactivated(status: WorkloadStatusView, now: datetime) -> Change:
    """It was deactivated, and is active again: it is queued."""
    message = "The workload was reactivated"
    return {
        "conditions": _encoded(with_condition(status.conditions, names.REQUEUED, True, "Reactivated", message, now))
    }


def pods_ready(status: WorkloadStatusView, ready: bool, now: datetime) -> Change | None:
    """Whether all its pods are ready; None if that is written already."""
    before = find(status.conditions, names.PODS_READY)
    if before is not None and before.holds == ready:
        return None
    recovering = before is not None and (before.holds or before.reason == "WaitForRecovery")
    if ready:
        reason, message = "Recovered" if recovering else "Started", READY
    else:
        reason, message = ("WaitForRecovery", RECOVERING) if recovering else ("WaitForStart", NOT_READY)
    return {"conditions": _encoded(with_condition(status.conditions, names.PODS_READY, ready, reason, message, now))}


def finished(status: WorkloadStatusView, reason: str, message: str, now: datetime) -> Change:
    """Its object has ended."""
    return {"conditions": _encoded(with_condition(status.conditions, names.FINISHED, True, reason, message, now))}


def reclaimable(pods: tuple[NamedCount, ...]) -> Change:
    """Some of its pods need no quota any more."""
    return {"reclaimablePods": _encoded(pods)}


def _encoded(values: tuple[msgspec.Struct, ...]) -> list[Any]:
    return [msgspec.to_builtins(each) for each in values]
