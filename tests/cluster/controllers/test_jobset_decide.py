"""What is decided about a JobSet, case by case."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from jobrelay.apimachinery.times import parse_time
from jobrelay.cluster.controllers.jobset.decide import JobSetPlan, decide
from jobrelay.cluster.controllers.jobset.failure import UnsupportedAction
from jobrelay.cluster.controllers.jobset.jobs import InvalidChild

from .jobset_objects import NOW, child, jobset, replicated, view

Obj = dict[str, Any]
LATER = "2026-03-02T10:00:09Z"


def plan(body: Obj, *jobs: Obj, after: float = 0) -> JobSetPlan:
    return decide(view(body), jobs, parse_time(NOW) + dt.timedelta(seconds=after))


def created(found: JobSetPlan) -> list[str]:
    return [job["metadata"]["name"] for job in found.create_jobs]


def conditions(found: JobSetPlan) -> dict[str, tuple[str, str]]:
    assert found.status is not None
    return {each["type"]: (each["status"], each["reason"]) for each in found.status.get("conditions", ())}


def counters(found: JobSetPlan) -> list[dict[str, int]]:
    assert found.status is not None
    return [{k: v for k, v in each.items() if v and k != "name"} for each in found.status["replicatedJobsStatus"]]


def reasons(found: JobSetPlan) -> list[str]:
    return [event.reason for event in found.events]


def status(**fields: Any) -> Obj:
    return {"restarts": 0, **fields}


def condition(kind: str, value: str = "True", **more: Any) -> Obj:
    return {"type": kind, "status": value, "reason": "r", "message": "m", "lastTransitionTime": NOW, **more}


def test_a_new_one_gets_its_jobs_and_its_service() -> None:
    found = plan(jobset(replicated("a", 2), replicated("b")))
    assert created(found) == ["s-a-0", "s-a-1", "s-b-0"]
    assert found.service is not None
    assert found.status == {
        "restarts": 0,
        "replicatedJobsStatus": [
            {"name": name, "ready": 0, "succeeded": 0, "failed": 0, "active": 0, "suspended": 0} for name in ("b", "a")
        ],
    }
    assert found.events == []


def test_jobs_that_exist_are_not_created_again() -> None:
    body = jobset(replicated(replicas=2))
    assert created(plan(body, child(body))) == ["s-w-1"]


def test_a_large_one_is_made_in_several_steps() -> None:
    body = jobset(replicated(replicas=501))
    first = plan(body).create_jobs
    assert len(first) == 500
    assert created(plan(body, *first)) == ["s-w-500"]


def test_one_of_another_controller_is_left_alone() -> None:
    assert plan(jobset(managedBy="example.com/x")) == JobSetPlan()
    assert created(plan(jobset(managedBy="jobset.sigs.k8s.io/jobset-controller"))) == ["s-w-0"]


def test_one_that_is_being_deleted_is_left_alone() -> None:
    body = jobset()
    body["metadata"]["deletionTimestamp"] = NOW
    assert plan(body) == JobSetPlan()


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        ({"active": 1}, {"active": 1}),
        ({"active": 1, "ready": 1}, {"active": 1, "ready": 1}),
        ({"ready": 1}, {"ready": 1}),
        ({"succeeded": 1}, {"ready": 1}),
        ({"end": "Complete"}, {"succeeded": 1}),
        ({"spec": {"suspend": True}}, {"suspended": 1}),
        ({"ready": 1, "active": 2, "spec": {"parallelism": 2, "completions": 2}}, {"active": 1}),
        ({"ready": 1, "active": 1, "spec": {"parallelism": 4, "completions": 1}}, {"active": 1, "ready": 1}),
    ],
)
def test_jobs_are_counted(job: Obj, expected: dict[str, int]) -> None:
    body = jobset(replicated(replicas=2))
    assert counters(plan(body, child(body, **job))) == [expected]


def test_a_status_without_changes_is_not_written() -> None:
    body = jobset()
    first = plan(body)
    assert plan(jobset(status=first.status), child(body)).status is None


def test_all_jobs_succeed() -> None:
    body = jobset(replicated(replicas=2))
    assert conditions(plan(body, child(body, end="Complete"), child(body, 1, active=1))) == {}
    found = plan(body, child(body, end="Complete"), child(body, 1, end="Complete"))
    assert conditions(found) == {"Completed": ("True", "AllJobsCompleted")}
    assert found.status is not None
    assert found.status["terminalState"] == "Completed"
    assert reasons(found) == ["AllJobsCompleted"]


def test_any_job_of_a_target_is_enough() -> None:
    policy = {"operator": "Any", "targetReplicatedJobs": ["b"]}
    body = jobset(replicated("a"), replicated("b", 2), successPolicy=policy)
    assert conditions(plan(body, child(body, end="Complete"))) == {}
    assert "Completed" in conditions(plan(body, child(body, of=1, end="Complete")))


def test_all_jobs_of_a_target_are_enough() -> None:
    policy = {"operator": "All", "targetReplicatedJobs": ["b"]}
    body = jobset(replicated("a"), replicated("b"), successPolicy=policy)
    found = plan(body, child(body, active=1), child(body, of=1, end="Complete"))
    assert "Completed" in conditions(found)


def test_a_finished_one_loses_its_active_jobs() -> None:
    done = status(conditions=[condition("Completed")], terminalState="Completed")
    body = jobset(replicated(replicas=2), status=done)
    running = child(body, 1, active=1)
    found = plan(body, child(body, end="Complete"), running)
    assert found.delete_jobs == [running]
    assert created(found) == []


def test_a_failure_fails_it() -> None:
    body = jobset(replicated(replicas=2))
    found = plan(body, child(body, end="Failed", at=LATER), child(body, 1, end="Failed"))
    assert found.status is not None
    (failed,) = found.status["conditions"]
    assert failed["message"] == "jobset failed due to one or more job failures (first failed job: s-w-1)"
    assert (failed["reason"], found.status["terminalState"]) == ("FailedJobs", "Failed")
    assert [(event.type, event.reason) for event in found.events] == [("Warning", "FailedJobs")]


def test_a_failure_restarts_all_jobs() -> None:
    body = jobset(failurePolicy={"maxRestarts": 1})
    found = plan(body, child(body, end="Failed"))
    assert found.status is not None
    assert (found.status["restarts"], found.status["restartsCountTowardsMax"]) == (1, 1)
    assert conditions(found) == {"RestartingJobSet": ("True", "DefaultFailurePolicy")}
    assert reasons(found) == ["DefaultFailurePolicy", "RestartJobSetFailurePolicyAction"]
    assert created(found) == []


def test_after_a_restart_old_jobs_are_deleted_and_then_created_anew() -> None:
    body = jobset(failurePolicy={"maxRestarts": 1}, status=status(restarts=1, restartsCountTowardsMax=1))
    old = child(body, attempt=0, end="Failed")
    found = plan(body, old)
    assert (found.delete_jobs, created(found)) == ([old], [])
    again = plan(body)
    assert created(again) == ["s-w-0"]
    assert again.create_jobs[0]["metadata"]["labels"]["jobset.sigs.k8s.io/restart-attempt"] == "1"


def test_jobs_that_are_being_deleted_are_not_deleted_again() -> None:
    body = jobset(failurePolicy={"maxRestarts": 1}, status=status(restarts=1))
    old = child(body, attempt=0)
    old["metadata"]["deletionTimestamp"] = NOW
    assert plan(body, old).delete_jobs == []


@pytest.mark.parametrize(("strategy", "expected"), [("Recreate", ["s-w-1"]), ("BlockingRecreate", [])])
def test_a_blocking_restart_waits_for_the_last_old_job(strategy: str, expected: list[str]) -> None:
    policy = {"maxRestarts": 1, "restartStrategy": strategy}
    body = jobset(replicated(replicas=2), failurePolicy=policy, status=status(restarts=1))
    assert created(plan(body, child(body, attempt=0))) == expected


def test_too_many_restarts_fail_it() -> None:
    body = jobset(failurePolicy={"maxRestarts": 1}, status=status(restarts=1, restartsCountTowardsMax=1))
    assert conditions(plan(body, child(body, end="Failed"))) == {"Failed": ("True", "ReachedMaxRestarts")}


def test_when_all_jobs_are_ready_again_the_restart_is_over() -> None:
    restarting = status(restarts=1, conditions=[condition("RestartingJobSet")])
    body = jobset(failurePolicy={"maxRestarts": 2}, status=restarting)
    found = plan(body, child(body, active=1, ready=1))
    assert conditions(found) == {"RestartingJobSet": ("False", "JobsReady")}
    assert reasons(found) == ["JobsReady"]


@pytest.mark.parametrize(
    ("rule", "applies"),
    [
        ({"onJobFailureReasons": ["BackoffLimitExceeded"]}, True),
        ({"onJobFailureReasons": ["DeadlineExceeded"]}, False),
        ({"onJobFailureMessagePatterns": ["^it .*ed$"]}, True),
        ({"onJobFailureMessagePatterns": ["other", "("]}, False),
        ({"targetReplicatedJobs": ["w"]}, True),
        ({"targetReplicatedJobs": ["v"]}, False),
    ],
)
def test_a_rule_is_for_some_failures(rule: Obj, applies: bool) -> None:
    policy = {"maxRestarts": 1, "rules": [{"name": "r", "action": "FailJobSet", **rule}]}
    body = jobset(failurePolicy=policy)
    found = conditions(plan(body, child(body, end="Failed")))
    assert ("Failed" in found) == applies


def test_restarts_of_a_rule_need_not_count() -> None:
    policy = {"maxRestarts": 0, "rules": [{"action": "RestartJobSetAndIgnoreMaxRestarts"}]}
    body = jobset(failurePolicy=policy)
    found = plan(body, child(body, end="Failed"))
    assert found.status is not None
    assert (found.status["restarts"], "restartsCountTowardsMax" in found.status) == (1, False)
    assert conditions(found) == {"RestartingJobSet": ("True", "FailurePolicy_failurePolicyRule0")}


def test_what_needs_a_feature_gate_is_not_done() -> None:
    body = jobset(failurePolicy={"rules": [{"action": "RestartJob"}]})
    with pytest.raises(UnsupportedAction, match="RestartJob is not supported"):
        plan(body, child(body, end="Failed"))


def test_a_suspended_one_has_suspended_jobs() -> None:
    found = plan(jobset(suspend=True))
    assert [job["spec"]["suspend"] for job in found.create_jobs] == [True]
    assert conditions(found) == {"Suspended": ("True", "SuspendedJobs")}


def test_suspending_suspends_running_jobs() -> None:
    body = jobset(suspend=True)
    job = child(body, active=1, spec={"suspend": False})
    (updated,) = plan(body, job).update_jobs
    assert updated == {**job, "spec": {**job["spec"], "suspend": True}}


def test_resuming_resumes_jobs_with_what_was_changed_meanwhile() -> None:
    body = jobset(status=status(conditions=[condition("Suspended")]))
    job = child(body, spec={"suspend": True})
    gpu = {"key": "gpu", "operator": "Exists"}
    pod = body["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    pod["metadata"] = {"labels": {"added": "l"}, "annotations": {"added": "a"}}
    pod["spec"] |= {"nodeSelector": {"zone": "z"}, "tolerations": [gpu]}
    found = plan(body, job)
    assert conditions(found) == {"Suspended": ("False", "ResumeJobs")}
    (updated,) = found.update_jobs
    template = updated["spec"]["template"]
    assert updated["spec"]["suspend"] is False
    assert template["metadata"]["labels"].items() >= {"added": "l", "jobset.sigs.k8s.io/jobset-name": "s"}.items()
    assert template["metadata"]["annotations"]["added"] == "a"
    assert (template["spec"]["nodeSelector"], template["spec"]["tolerations"]) == ({"zone": "z"}, [gpu])


def test_one_that_was_never_suspended_has_no_condition() -> None:
    body = jobset()
    assert conditions(plan(body, child(body, active=1))) == {}


def test_in_order_the_next_jobs_wait_for_the_first() -> None:
    body = jobset(replicated("a"), replicated("b"), startupPolicy={"startupPolicyOrder": "InOrder"})
    found = plan(body)
    assert created(found) == ["s-a-0"]
    assert conditions(found) == {"StartupPolicyInProgress": ("True", "InOrderStartupPolicyInProgress")}
    assert created(plan(body, child(body, active=1))) == []
    assert created(plan(body, child(body, active=1, ready=1))) == ["s-b-0"]


def test_in_order_the_last_ends_the_start() -> None:
    starting = status(conditions=[condition("StartupPolicyInProgress")])
    order = {"startupPolicyOrder": "InOrder"}
    body = jobset(replicated("a"), replicated("b"), startupPolicy=order, status=starting)
    found = plan(body, child(body, ready=1), child(body, of=1, ready=1))
    assert conditions(found) == {
        "StartupPolicyInProgress": ("False", "r"),
        "StartupPolicyCompleted": ("True", "InOrderStartupPolicyCompleted"),
    }


def test_in_order_jobs_are_resumed_one_after_another() -> None:
    order = {"startupPolicyOrder": "InOrder"}
    body = jobset(replicated("a"), replicated("b"), startupPolicy=order)
    jobs = [child(body, of=of, spec={"suspend": True}) for of in (0, 1)]
    assert [job["metadata"]["name"] for job in plan(body, *jobs).update_jobs] == ["s-a-0"]


@pytest.mark.parametrize(
    ("wanted", "job", "met"),
    [
        ("Complete", {"end": "Complete"}, True),
        ("Complete", {"ready": 1, "active": 1}, False),
        ("Ready", {"ready": 1, "active": 1}, True),
        ("Ready", {"active": 1}, False),
    ],
)
def test_jobs_wait_for_what_they_depend_on(wanted: str, job: Obj, met: bool) -> None:
    body = jobset(replicated("a"), replicated("b", dependsOn=[{"name": "a", "status": wanted}]))
    assert ("s-b-0" in created(plan(body, child(body, **job)))) == met


def test_a_finished_one_is_deleted_in_time() -> None:
    done = status(conditions=[condition("Failed")], terminalState="Failed")
    body = jobset(status=done, ttlSecondsAfterFinished=60)
    assert (plan(body, after=20).requeue_after, plan(body, after=20).delete_self) == (40, False)
    assert plan(body, after=60).delete_self


def test_a_job_whose_label_was_changed_is_an_error() -> None:
    body = jobset()
    job = child(body)
    job["metadata"]["labels"]["jobset.sigs.k8s.io/restart-attempt"] = "x"
    with pytest.raises(InvalidChild, match="'x' is not a number"):
        plan(body, job)
