"""What happens to a Workload with time, by its checks, and when its queues are stopped."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from jobrelay.queueing import changes, core, names
from jobrelay.queueing.conditions import find, with_condition
from jobrelay.queueing.lifecycle import QueueFacts, WorkloadStep, next_step
from jobrelay.queueing.views import WorkloadView

START = datetime(2026, 1, 1, tzinfo=UTC)
QUEUES = QueueFacts("main", "cq")
CHECKED = QueueFacts("main", "cq", checks=(core.AdmissionCheckRule("provision"),))
ADMISSION = core.Admission("cq", (core.PodSetAssignment("main", 1, {"cpu": "default"}, {"cpu": 1000}),))


def patched(view: WorkloadView, change: dict[str, Any]) -> WorkloadView:
    """A Workload with a merge patch of its status applied."""
    status = {**msgspec.to_builtins(view.status), **change}
    kept = {key: value for key, value in status.items() if value is not None}
    return msgspec.convert({"spec": msgspec.to_builtins(view.spec), "status": kept}, WorkloadView)


def admitted(checks: tuple[str, ...] = (), **spec: Any) -> WorkloadView:
    view = msgspec.convert({"spec": {"queueName": "main", **spec}}, WorkloadView)
    return patched(view, changes.reserved(view.status, ADMISSION, checks, "Quota reserved", START))


def step(view: WorkloadView, after: float = 0.0, queues: QueueFacts = QUEUES, **config: Any) -> WorkloadStep:
    ready = core.WaitForPodsReady(**config)
    return next_step(view, "default/w", queues, core.Config(None, ready), START + timedelta(seconds=after))


def condition(found: WorkloadStep, type_: str) -> tuple[str, str]:
    assert found.status is not None
    shown = msgspec.convert({"status": found.status}, WorkloadView).status
    one = find(shown.conditions, type_)
    assert one is not None
    return one.status, one.reason


def test_an_admitted_workload_is_left_alone_until_its_pods_should_be_ready() -> None:
    found = step(admitted(), timeout=300)
    assert found.status is None
    assert found.requeue_after == 300


def test_pods_that_are_not_ready_in_time_are_evicted_and_wait_longer_each_time() -> None:
    late = step(admitted(), after=300, timeout=300)
    assert condition(late, "Evicted") == ("True", "PodsReadyTimeout")
    assert late.status is not None
    assert late.status["requeueState"] == {"count": 1, "requeueAt": "2026-01-01T00:06:00Z"}


def test_beyond_the_limit_of_requeues_it_is_deactivated() -> None:
    late = step(admitted(), after=300, timeout=300, backoff_limit=0)
    assert condition(late, "DeactivationTarget") == ("True", "RequeuingLimitExceeded")
    assert late.status is not None
    target = step(patched(admitted(), late.status))
    assert target.spec == {"active": False}


def test_the_cause_of_a_deactivation_is_in_the_reason_of_the_eviction() -> None:
    view = admitted(maximumExecutionTimeSeconds=60)
    over = step(view, after=60)
    assert condition(over, "DeactivationTarget") == ("True", "MaximumExecutionTimeExceeded")
    assert over.status is not None
    inactive = msgspec.structs.replace(view.spec, active=False)
    evicted = step(msgspec.structs.replace(patched(view, over.status), spec=inactive), after=60)
    assert condition(evicted, "Evicted") == ("True", "DeactivatedDueToMaximumExecutionTimeExceeded")


@pytest.mark.parametrize(
    ("state", "type_", "reason"),
    [
        ("Ready", "Admitted", "Admitted"),
        ("Retry", "Evicted", "AdmissionCheck"),
        ("Rejected", "DeactivationTarget", "AdmissionCheck"),
    ],
)  # fmt: skip
def test_checks_admit_evict_or_deactivate(state: str, type_: str, reason: str) -> None:
    view = admitted(("provision",))
    assert step(view, queues=CHECKED).status is None
    check = {"name": "provision", "state": state, "lastTransitionTime": "2026-01-01T00:00:00Z", "message": ""}
    found = step(patched(view, {"admissionChecks": [check]}), queues=CHECKED)
    assert condition(found, type_) == ("True", reason)


def states(found: WorkloadStep) -> dict[str, str]:
    assert found.status is not None
    return {each["name"]: f"{each['state']} {each['message']}".strip() for each in found.status["admissionChecks"]}


def test_a_waiting_workload_is_told_which_checks_are_for_all_flavors() -> None:
    some = core.AdmissionCheckRule("some", frozenset({"other"}))
    queues = QueueFacts("main", "cq", checks=(*CHECKED.checks, some), flavors=frozenset({"default", "other"}))
    new = msgspec.convert({"spec": {"queueName": "main"}}, WorkloadView)
    assert step(new, queues=queues).status is None
    waits = changes.pending(new.status, "Pending", "no room", START)
    assert waits is not None
    assert states(step(patched(new, waits), queues=queues)) == {"provision": "Pending"}


def test_a_check_that_is_taken_away_is_not_waited_for_and_one_that_comes_is() -> None:
    view = admitted(("provision",))
    without = step(view)
    assert without.status == {"admissionChecks": []}
    assert condition(step(patched(view, without.status)), "Admitted") == ("True", "Admitted")
    assert states(step(admitted(), queues=CHECKED)) == {"provision": "Pending"}


def test_checks_are_passed_again_after_an_eviction() -> None:
    check = {"name": "provision", "state": "Ready", "lastTransitionTime": "2026-01-01T00:00:00Z", "message": "go"}
    view = patched(admitted(("provision",)), {"admissionChecks": [check]})
    view = patched(view, changes.admitted(view.status, START))
    view = patched(view, changes.evicted(view.status, "Preempted", "for another", START))
    released = WorkloadStep(status=changes.released(view.status, START))
    assert states(released) == {"provision": "Pending Reset to Pending after eviction. Previously: Ready"}
    assert condition(released, "Admitted") == ("False", "NoReservationUnsatisfiedChecks")
    view = patched(view, released.status or {})
    again = WorkloadStep(status=changes.reserved(view.status, ADMISSION, ("provision",), "Quota reserved", START))
    assert states(again) == states(released)


def test_a_gated_workload_says_so() -> None:
    view = msgspec.convert({"metadata": {"annotations": {names.ADMISSION_GATED_BY: "a.b/c"}}}, WorkloadView)
    found = step(view)
    assert condition(found, "QuotaReserved") == ("False", "AdmissionGated")
    assert found.status is not None
    assert found.status["conditions"][0]["message"] == "Admission is gated by: a.b/c"


def deactivated(view: WorkloadView) -> WorkloadView:
    """A Workload that was deactivated and has stopped, and is active again."""
    inactive = msgspec.structs.replace(view, spec=msgspec.structs.replace(view.spec, active=False))
    evicted = patched(inactive, step(inactive).status or {})
    released = patched(evicted, changes.released(evicted.status, START)) if evicted.status.admission else evicted
    return msgspec.structs.replace(released, spec=view.spec)


def test_a_workload_that_is_active_again_is_queued_and_keeps_its_history() -> None:
    again = step(deactivated(admitted()))
    assert condition(again, "Requeued") == ("True", "Reactivated")
    assert condition(again, "Evicted") == ("True", "Deactivated")
    waiting = msgspec.convert({"spec": {"queueName": "main"}}, WorkloadView)
    assert step(deactivated(waiting)).status is None


def test_after_a_deactivation_only_the_eviction_tells_what_for() -> None:
    late = step(admitted(), after=300, timeout=300, backoff_limit=0)
    view = deactivated(patched(admitted(), {**(late.status or {}), "requeueState": {"count": 1}}))
    assert find(view.status.conditions, "DeactivationTarget") is None
    assert view.status.requeue_state is None
    evicted = find(view.status.conditions, "Evicted")
    assert evicted is not None
    assert evicted.reason == "DeactivatedDueToRequeuingLimitExceeded"


def test_a_workload_over_its_time_is_deactivated_again_whenever_it_is_activated() -> None:
    over = step(admitted(maximumExecutionTimeSeconds=60), after=60)
    view = deactivated(patched(admitted(maximumExecutionTimeSeconds=60), over.status or {}))
    assert step(view, after=60).spec == {"active": False}


@pytest.mark.parametrize(
    ("queues", "reason"),
    [
        (QueueFacts("main", "cq", stop_policy="HoldAndDrain", active=False), "ClusterQueueStopped"),
        (QueueFacts("main", "cq", local_stop_policy="HoldAndDrain"), "LocalQueueStopped"),
    ],
)
def test_a_drained_queue_evicts_and_its_restart_requeues(queues: QueueFacts, reason: str) -> None:
    evicted = step(admitted(), queues=queues)
    assert condition(evicted, "Evicted") == ("True", reason)
    assert evicted.status is not None
    view = patched(admitted(), evicted.status)
    view = patched(view, changes.released(view.status, START))
    assert condition(step(view, queues=queues), "QuotaReserved") == ("False", "Inadmissible")
    assert condition(step(view), "Requeued") == ("True", reason.replace("Stopped", "Restarted"))


def test_a_restarted_local_queue_requeues_though_the_cluster_queue_is_still_stopped() -> None:
    both = QueueFacts("main", "cq", stop_policy="Hold", active=False, local_stop_policy="HoldAndDrain")
    evicted = step(admitted(), queues=both).status
    assert evicted is not None
    view = patched(admitted(), evicted)
    view = patched(view, changes.released(view.status, START))
    cluster_only = QueueFacts("main", "cq", stop_policy="Hold", active=False)
    requeued = step(view, queues=cluster_only)
    assert condition(requeued, "Requeued") == ("True", "LocalQueueRestarted")
    assert requeued.status is not None
    assert condition(step(patched(view, requeued.status), queues=cluster_only), "QuotaReserved")[1] == "Inadmissible"


def test_one_that_was_told_of_a_stopped_queue_is_told_anew_when_it_is_restarted() -> None:
    view = msgspec.convert({"spec": {"queueName": "main"}}, WorkloadView)
    told = step(view, queues=QueueFacts("main", "cq", active=False))
    assert told.status is not None
    assert not told.tell_again
    assert step(patched(view, told.status)).tell_again
    assert not step(view).tell_again


def test_a_held_queue_takes_quota_back_from_who_is_not_admitted_yet() -> None:
    held = step(admitted(("provision",)), queues=QueueFacts("main", "cq", stop_policy="Hold", active=False))
    assert condition(held, "QuotaReserved") == ("False", "Inadmissible")
    assert held.status is not None
    assert held.status["admission"] is None


@pytest.mark.parametrize(
    ("queues", "message"),
    [
        (QueueFacts("main"), "LocalQueue main doesn't exist"),
        (QueueFacts("main", "cq", exists=False), "ClusterQueue cq doesn't exist"),
        (QueueFacts("main", "cq", active=False), "ClusterQueue cq is inactive"),
        (QueueFacts("main", "cq", stop_policy="Hold", active=False), "ClusterQueue cq is inactive"),
    ],
)
def test_why_queues_take_nothing_is_written(queues: QueueFacts, message: str) -> None:
    view = msgspec.convert({"spec": {"queueName": "main"}}, WorkloadView)
    found = step(view, queues=queues)
    assert found.status is not None
    assert found.status["conditions"][0]["message"] == message
    assert step(patched(view, found.status), queues=queues).status is None


def test_pods_of_a_waiting_object_are_said_to_be_not_ready() -> None:
    owned = msgspec.convert({"metadata": {"ownerReferences": [{"name": "job"}]}}, WorkloadView)
    for view, there in ((owned, True), (msgspec.convert({}, WorkloadView), False)):
        found = step(view, queues=QueueFacts("main")).status
        assert found is not None
        assert ("PodsReady" in [each["type"] for each in found["conditions"]]) is there


def test_after_a_back_off_a_workload_is_queued_again() -> None:
    late = step(admitted(), after=300, timeout=300)
    assert late.status is not None
    view = patched(admitted(), late.status)
    view = patched(view, changes.released(view.status, START))
    assert step(view, after=301).requeue_after == 59
    assert condition(step(view, after=360), "Requeued") == ("True", "BackoffFinished")


def test_the_time_of_a_run_counts_after_an_eviction() -> None:
    view = patched(admitted(), changes.evicted(admitted().status, "Preempted", "for another", START))
    change = changes.released(view.status, START + timedelta(seconds=90))
    assert change["accumulatedPastExecutionTimeSeconds"] == 90
    assert change["admission"] is None


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    first = with_condition((), "Active", True, "Ready", "a", START)
    later = with_condition(first, "Active", True, "Ready", "b", START + timedelta(hours=1))
    assert later[0].last_transition_time == first[0].last_transition_time
    assert with_condition(later, "Active", True, "Ready", "b", START) is later
