"""What the Job controller decides: (Job, pods) -> decision, case by case.

`create` shows the indexes of new pods (`pod` without index), `count` the pods that lose their finalizer because they
are counted, `again` the seconds until time alone changes the decision.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from jobrelay.cluster.controllers.job import Job, Pod

from .job_objects import ago, decision, job, pod, status, summary


class Case(NamedTuple):
    what: str
    job: Job
    pods: tuple[Pod, ...]
    decision: dict[str, Any]


INDEXED: dict[str, Any] = {"completionMode": "Indexed"}
PER_INDEX: dict[str, Any] = {**INDEXED, "backoffLimitPerIndex": 1, "backoffLimit": 2**31 - 1}
EXIT_42: dict[str, Any] = {
    "podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]}
}
IGNORE_42: dict[str, Any] = {
    "podFailurePolicy": {"rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [42]}}]}
}
ONE_IS_ENOUGH: dict[str, Any] = {**INDEXED, "successPolicy": {"rules": [{"succeededCount": 1}]}}
SUSPENDED: dict[str, Any] = {
    "conditions": [{"type": "Suspended", "status": "True", "reason": "JobSuspended", "message": "Job suspended"}]
}
REACHED = ["SuccessCriteriaMet/CompletionsReached"]
LIMIT = ["FailureTarget/BackoffLimitExceeded"]

CASES = [
    # How many pods.
    Case("starts with as many as may run at once", job(completions=5, parallelism=2), (), {"create": ["pod", "pod"]}),
    Case("never more than are left to do", job({"succeeded": 4}, completions=5, parallelism=3), (),
         {"create": ["pod"]}),
    Case("makes up for what is missing", job(completions=5, parallelism=2), (pod("a"),), {"create": ["pod"]}),
    Case("removes what is too much, unbound first", job(completions=5, parallelism=1),
         (pod("a"), pod("b", node="")), {"delete": ["b"]}),
    Case("a work queue starts all its workers", job(completions=None, parallelism=2), (), {"create": ["pod", "pod"]}),
    Case("a work queue with a success winds down", job({"succeeded": 1}, completions=None, parallelism=3),
         (pod("a"),), {}),
    Case("no completions are reached at once", job(completions=0), (), {"conditions": REACHED}),
    Case("a Job being deleted creates nothing", job(deleting=True), (), {}),
    # Counting.
    Case("a success is counted and ends the Job", job(), (pod("a", "Succeeded"),),
         {"count": ["a"], "conditions": REACHED}),
    Case("a success that is counted needs no pod", job({"succeeded": 1}, completions=2),
         (pod("a", "Succeeded", tracked=False),),
         {"create": ["pod"]}),
    Case("a fresh failure delays its replacement", job(), (pod("a", "Failed"),), {"count": ["a"], "again": 10.0}),
    Case("an old failure does not", job(), (pod("a", "Failed", finished=11),), {"create": ["pod"], "count": ["a"]}),
    Case("a failure over the limit fails the Job", job(backoffLimit=0), (pod("a", "Failed"),),
         {"count": ["a"], "conditions": LIMIT}),
    Case("and takes the others along", job(backoffLimit=0, completions=2, parallelism=2),
         (pod("a", "Failed"), pod("b")),
         {"delete": ["b"], "count": ["a", "b"], "conditions": LIMIT}),
    Case("a pod being deleted has failed", job(), (pod("a", deleting=True),), {"count": ["a"], "again": 10.0}),
    Case("unless only failed pods are replaced", job(podReplacementPolicy="Failed"), (pod("a", deleting=True),), {}),
    Case("a failure beside a ready pod waits with everything", job(completions=2, parallelism=2),
         (pod("a", "Failed"), pod("b", ready=True)), {"again": 10.0}),
    Case("restarts in place use up the limit", job(backoffLimit=2, template={"spec": {"restartPolicy": "OnFailure"}}),
         (pod("a", restarts=2),), {"delete": ["a"], "count": ["a"], "conditions": LIMIT}),
    # Time.
    Case("a deadline is kept in mind", job(activeDeadlineSeconds=100), (pod("a"),), {"again": 40.0}),
    Case("a deadline may be endless", job(activeDeadlineSeconds=2**63 - 1), (pod("a"),), {"again": 2.0**63}),
    Case("a deadline that is over fails the Job", job(activeDeadlineSeconds=60), (pod("a"),),
         {"delete": ["a"], "count": ["a"], "conditions": ["FailureTarget/DeadlineExceeded"]}),
    Case("a suspended Job has no deadline", job(SUSPENDED, activeDeadlineSeconds=60, suspend=True), (),
         {"conditions": ["Suspended/JobSuspended"]}),
    # Suspension.
    Case("suspending deletes without counting", job(suspend=True), (pod("a"),),
         {"delete": ["a"], "conditions": ["Suspended/JobSuspended"], "events": ["Suspended"]}),
    Case("resuming starts again", job(SUSPENDED), (),
         {"create": ["pod"], "conditions": ["Suspended/JobResumed"], "events": ["Resumed"]}),
    Case("suspended with nothing to do is complete", job(completions=0, suspend=True), (), {"conditions": REACHED}),
    # Indexes.
    Case("the lowest free indexes are next",
         job({"completedIndexes": "1", "succeeded": 1}, completions=5, parallelism=3, **INDEXED),
         (pod("a", index=0),), {"create": ["2", "3"]}),
    Case("one pod per index", job(completions=2, parallelism=2, **INDEXED),
         (pod("a", index=0), pod("b", index=0, age=10), pod("c", index=1)), {"delete": ["b"]}),
    Case("pods without or beyond an index are of no use", job(completions=2, parallelism=2, **INDEXED),
         (pod("a"), pod("b", index=2)), {"delete": ["a", "b"]}),
    Case("shrinking forgets indexes", job({"completedIndexes": "0,3", "succeeded": 2}, completions=1, **INDEXED), (),
         {"conditions": REACHED}),
    # Limits per index.
    Case("a failed pod waits for its replacement", job(completions=2, parallelism=2, **PER_INDEX),
         (pod("a", "Failed", index=0, failures=0), pod("b", index=1)), {"again": 10.0}),
    Case("and is counted when it exists", job(completions=2, parallelism=2, **PER_INDEX),
         (pod("a", "Failed", index=0, failures=0), pod("b", index=1), pod("c", index=0, failures=1)), {"count": ["a"]}),
    Case("an index that failed too often is over", job(completions=2, parallelism=2, **PER_INDEX),
         (pod("a", "Failed", index=0, failures=1), pod("b", index=1)), {"count": ["a"]}),
    Case("all indexes done, some failed", job({"failedIndexes": "0"}, completions=2, parallelism=2, **PER_INDEX),
         (pod("b", "Succeeded", index=1),), {"count": ["b"], "conditions": ["FailureTarget/FailedIndexes"]}),
    Case("too many failed indexes",
         job({"failedIndexes": "0-1"}, completions=4, parallelism=4, maxFailedIndexes=1, **PER_INDEX),
         (pod("c", index=2),),
         {"delete": ["c"], "count": ["c"], "conditions": ["FailureTarget/MaxFailedIndexesExceeded"]}),
    # Policies.
    Case("an exit code fails the Job", job(**EXIT_42), (pod("a", "Failed", code=42),),
         {"count": ["a"], "conditions": ["FailureTarget/PodFailurePolicy"]}),
    Case("an ignored failure still delays", job(backoffLimit=0, **IGNORE_42), (pod("a", "Failed", code=42),),
         {"count": ["a"], "again": 10.0}),
    Case("one success is enough", job(completions=3, parallelism=3, **ONE_IS_ENOUGH),
         (pod("a", "Succeeded", index=0), pod("b", index=1)),
         {"delete": ["b"], "count": ["a", "b"], "conditions": ["SuccessCriteriaMet/SuccessPolicy"]}),
    Case("what was announced is carried out",
         job({"conditions": [{"type": "FailureTarget", "status": "True", "reason": "R"}]}),
         (pod("a"),), {"delete": ["a"], "count": ["a"], "conditions": ["FailureTarget/R"]}),
    # Ownership.
    Case("takes in pods that nobody owns", job(), (pod("a", owned=False),), {"adopt": ["a"]}),
    Case("but none that is being deleted", job(), (pod("a", owned=False, deleting=True),), {"create": ["pod"]}),
    Case("lets go of pods it no longer selects", job(), (pod("a", labels={}),), {"release": ["a"], "create": ["pod"]}),
    Case("keeps them while it is deleted itself", job(deleting=True), (pod("a", labels={}),), {}),
    Case("a Job being deleted releases its pods", job(deleting=True), (pod("a"),), {"count": ["a"]}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.what for case in CASES])
def test_decision(case: Case) -> None:
    assert summary(decision(case.job, *case.pods)) == case.decision


def test_a_job_that_starts_has_a_start_time() -> None:
    start = status(decision(job({"startTime": None}))).start_time
    assert start is not None
    assert start.isoformat() == ago(0).replace("Z", "+00:00")
