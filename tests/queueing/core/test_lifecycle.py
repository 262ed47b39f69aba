"""Times and stops: back-offs, deadlines, stop policies, admission checks."""

from __future__ import annotations

import pytest

from jobrelay.queueing.core import WaitForPodsReady
from jobrelay.queueing.core.amounts import UNLIMITED, amount, format_amount
from jobrelay.queueing.core.checks import CheckOutcome, CheckState, outcome
from jobrelay.queueing.core.lifecycle import (
    Deactivation,
    Eviction,
    Inadmissible,
    RequeueState,
    execution_deadline,
    execution_timeout,
    order_timestamp,
    pods_ready_deadline,
    pods_ready_eviction,
    requeue_after_timeout,
    stopped,
)
from jobrelay.queueing.core.model import StopPolicy

WAIT = WaitForPodsReady(timeout=300.0, backoff_limit=3)


def test_the_wait_doubles_until_the_limit_deactivates() -> None:
    assert [requeue_after_timeout(count, 100.0, WAIT) for count in range(3)] == [
        RequeueState(1, 160.0),
        RequeueState(2, 220.0),
        RequeueState(3, 340.0),
    ]
    last = requeue_after_timeout(3, 100.0, WAIT)
    assert isinstance(last, Deactivation)
    assert last.eviction == (
        "DeactivatedDueToRequeuingLimitExceeded",
        "The workload is deactivated due to exceeding the maximum number of re-queuing retries",
    )


def test_the_wait_has_a_maximum() -> None:
    assert requeue_after_timeout(500, 0.0, WaitForPodsReady()) == RequeueState(501, 3600.0)


def test_pods_have_a_time_to_start_and_one_to_recover() -> None:
    assert pods_ready_deadline(100.0, None, WAIT) == 400.0
    assert pods_ready_deadline(100.0, 500.0, WAIT) == 800.0
    assert pods_ready_deadline(100.0, 500.0, WaitForPodsReady(recovery_timeout=10.0)) == 510.0
    assert pods_ready_eviction("ns/a", 400.0, 399.0) is None
    assert pods_ready_eviction("ns/a", 400.0, 400.0) == Eviction(
        "PodsReadyTimeout", "Exceeded the PodsReady timeout ns/a"
    )


def test_execution_time_counts_over_evictions() -> None:
    assert execution_deadline(None, 0, 100.0) is None
    assert execution_deadline(60, 20, 100.0) == 140.0
    assert execution_timeout(140.0, 139.0) is None
    ended = execution_timeout(140.0, 140.0)
    assert ended is not None
    assert ended.reason == "MaximumExecutionTimeExceeded"


@pytest.mark.parametrize(
    ("reason", "timestamp", "expected"),
    [
        ("PodsReadyTimeout", "Eviction", 5.0),
        ("PodsReadyTimeout", "Creation", 1.0),
        ("AdmissionCheck", "Creation", 5.0),
        ("Preempted", "Eviction", 1.0),
    ],
)
def test_some_evictions_send_a_workload_to_the_back(reason: str, timestamp: str, expected: float) -> None:
    config = WaitForPodsReady(timestamp=timestamp)  # type: ignore[arg-type]
    assert order_timestamp(1.0, 5.0, reason, config) == expected
    assert order_timestamp(1.0, None, "", config) == 1.0


@pytest.mark.parametrize(
    ("policy", "admitted", "expected"),
    [
        ("None", True, None),
        ("Hold", True, None),
        ("Hold", False, Inadmissible("LocalQueue lq is stopped")),
        ("HoldAndDrain", False, Inadmissible("LocalQueue lq is stopped")),
        ("HoldAndDrain", True, Eviction("LocalQueueStopped", "The LocalQueue is stopped")),
    ],
)
def test_a_stopped_queue_holds_back_and_drains(policy: StopPolicy, admitted: bool, expected: object) -> None:
    assert stopped("LocalQueue", "lq", policy, admitted=admitted) == expected


def test_checks_admit_when_all_are_ready() -> None:
    ready, pending = CheckState("Ready"), CheckState()
    assert outcome(["a", "b"], {"a": ready, "b": ready}, 0.0) == CheckOutcome("admit")
    assert outcome(["a", "b"], {"a": ready, "b": pending}, 0.0) == CheckOutcome("wait")
    assert outcome(["a"], {}, 0.0) == CheckOutcome("wait")
    assert outcome([], {}, 0.0) == CheckOutcome("admit")


def test_a_retry_keeps_the_quota_for_its_delay() -> None:
    states = {"a": CheckState("Retry", "busy", 10.0, 30.0)}
    assert outcome(["a"], states, 39.0) == CheckOutcome("wait", at=40.0)
    told = 'Evicted due to AdmissionCheck in Retry state: "a" (busy)'
    assert outcome(["a"], states, 40.0) == CheckOutcome("evict", told)


def test_a_rejection_deactivates_whatever_the_others_say() -> None:
    states = {"b": CheckState("Rejected"), "a": CheckState("Rejected", "no"), "c": CheckState("Retry")}
    told = 'AdmissionChecks in Rejected state: "a" (no); "b"'
    assert outcome(["b", "a", "c"], states, 0.0) == CheckOutcome("deactivate", told)


@pytest.mark.parametrize(
    ("name", "text", "number", "shown"),
    [
        ("cpu", "1500m", 1500, "1500m"),
        ("cpu", "2", 2000, "2"),
        ("cpu", "0.1m", 1, "1m"),
        ("memory", "1Gi", 2**30, "1Gi"),
        ("memory", "1500", 1500, "1500"),
        ("memory", "1G", 10**9, "1G"),
        ("memory", "80M", 80 * 10**6, "78125Ki"),
        ("nvidia.com/gpu", "3", 3, "3"),
        ("nvidia.com/gpu", "2000", 2000, "2k"),
    ],
)
def test_amounts_are_whole_numbers(name: str, text: str, number: int, shown: str) -> None:
    assert amount(name, text) == number
    assert format_amount(name, number) == shown


def test_an_amount_beyond_64_bits_is_unlimited() -> None:
    assert amount("memory", "9000000Ei") == UNLIMITED
