"""What is told of pods: whether they run, what is wrong with them, and when a closer look is worth its requests."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from jobrelay.kube import Object
from jobrelay.kube.objects import Key, decode_object
from jobrelay.relay.mirror_pods.observed import NOTHING_OBSERVED, ObservedPods, PodInspection, observed_pods
from jobrelay.relay.original_decision import Stage
from jobrelay.relay.reconcile_original import reconcile_original
from jobrelay.relay.workers.transforms import pod_for_capacity
from jobrelay.workloads import JobAdapter, Workload, WorkloadOutcome

from .snapshots import NOW, ago, job, mirror, running, snapshot, worker

CRASH = {
    "phase": "Running",
    "containerStatuses": [
        {
            "name": "main",
            "restartCount": 2,
            "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
            "lastState": {"terminated": {"exitCode": 3, "reason": "Error", "message": "bad input"}},
        }
    ],
}
CREATING = {
    "phase": "Pending",
    "containerStatuses": [{"name": "main", "state": {"waiting": {"reason": "ContainerCreating"}}}],
}
WELL = {"phase": "Running", "containerStatuses": [{"name": "main", "ready": True, "state": {"running": {}}}]}
LOOK = PodInspection({"Failed": 1}, ("pod train-0: container main ended with exit code 1",))


def pod(status: dict[str, Any], age: float = 60) -> Object:
    """A pod of a mirror as it is kept."""
    metadata = {"name": "train-0", "namespace": "team", "uid": "p", "creationTimestamp": ago(age).isoformat()}
    labels = {"labels": {"batch.kubernetes.io/controller-uid": "m1", "batch.kubernetes.io/job-completion-index": "0"}}
    whole = {"metadata": metadata | labels, "spec": {"containers": [{"name": "main"}]}, "status": status}
    return pod_for_capacity(decode_object(json.dumps(whole).encode()), JobAdapter().pod_owner)


def facts(**more: Any) -> Workload:
    return Workload(Key("team", "train"), "m1", started=more.pop("started", ago(60)), **more)


def test_a_pod_that_is_well_is_kept_without_its_containers() -> None:
    assert pod(WELL).decode()["status"] == {"phase": "Running"}
    assert observed_pods(facts(), [pod(WELL)], None, NOW) == NOTHING_OBSERVED


def test_a_pod_that_crashes_again_and_again_does_not_run() -> None:
    found = observed_pods(facts(ready=1), [pod(CRASH)], None, NOW)
    assert (found.idle, found.unclear) == (True, False)
    assert found.headline == (
        "pod train-0 (index 0): container main crashes again and again, 2 times so far; "
        "ended with exit code 3: bad input"
    )


def test_one_pod_that_runs_is_enough_to_run() -> None:
    found = observed_pods(facts(), [pod(WELL), pod(CRASH)], None, NOW)
    assert (found.idle, len(found.troubles)) == (False, 1)


@pytest.mark.parametrize(("ready", "idle"), [(0, True), (1, False), (None, False)])
def test_where_no_pods_are_seen_the_mirror_s_count_decides(ready: int | None, idle: bool) -> None:
    assert observed_pods(facts(ready=ready, active=1), [], None, NOW).idle is idle


@pytest.mark.parametrize(
    ("seen", "pods", "unclear"),
    [
        (facts(), [pod(CREATING)], True),
        (facts(), [pod(CREATING, age=1)], False),
        (facts(started=NOW - timedelta(seconds=1)), [pod(CREATING)], False),
        (facts(failed=1), [pod(WELL)], True),
        (facts(ready=0), [], True),
        (facts(ready=0, suspended=True), [], False),
        (facts(ready=0, end=WorkloadOutcome(True, NOW)), [], False),
        (facts(ready=0, end=WorkloadOutcome(False, NOW)), [], True),
    ],
)
def test_a_closer_look_is_worth_it_only_where_something_seems_wrong(
    seen: Workload, pods: list[Object], unclear: bool
) -> None:
    assert observed_pods(seen, pods, None, NOW).unclear is unclear
    assert observed_pods(seen, pods, LOOK, NOW).unclear is False


def test_failed_indexes_are_told_beside_what_a_look_has_shown() -> None:
    found = observed_pods(facts(failed_indexes="1,3-5"), [], LOOK, NOW)
    assert found.troubles == (*LOOK.troubles, "failed indexes: 1,3-5")
    assert found.headline == f"{LOOK.troubles[0]} (and 1 more)"


def told(seen: ObservedPods, **worker_facts: Any) -> tuple[Stage, str]:
    """What is decided about a Job on worker a whose pods are seen so."""
    workers, mirrors = [worker("a", **worker_facts)], {"a": mirror(status=running())}
    found = snapshot(job(cluster="a", status=running()), workers, mirrors)
    decision = reconcile_original(replace(found, pods_of=lambda mirror: seen))
    return decision.stage, decision.sentence


def test_a_job_whose_pods_do_not_run_is_not_said_to_run() -> None:
    since = "2026-01-01T11:59:00Z"
    assert told(ObservedPods()) == (Stage.RUNNING, f"It has been running on a since {since}.")
    assert told(ObservedPods(True)) == (
        Stage.NOT_RUNNING, f"None of its pods runs on a, where it was started at {since}."
    )  # fmt: skip
    assert told(ObservedPods(True, ("pod x: no",)))[1].endswith(f"was started at {since}: pod x: no.")
    assert (
        told(ObservedPods(False, ("pod x: no",)))[1]
        == f"It has been running on a since {since}, with trouble: pod x: no."
    )


def test_a_worker_that_has_just_stopped_answering_is_told_at_once() -> None:
    stage, sentence = told(ObservedPods(), unanswered=3.2)
    assert (stage, sentence.startswith("a has not answered for 3 s; ")) == (Stage.WORKER_LOST, True)
