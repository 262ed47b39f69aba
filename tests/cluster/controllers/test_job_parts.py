"""The parts of a decision: delays, ranks, pods to create, counting, conditions."""

from __future__ import annotations

import datetime as dt

import pytest

from jobrelay.cluster.controllers.job.backoff import Backoff
from jobrelay.cluster.controllers.job.podfailurepolicy import judge
from jobrelay.cluster.controllers.job.pods import completion_index, finish_time
from jobrelay.cluster.controllers.job.ranking import first_to_go
from jobrelay.cluster.controllers.job.situation import Memory
from jobrelay.cluster.controllers.job.template import new_pod
from jobrelay.cluster.controllers.job.tracking import Done, close, count_released, report
from jobrelay.cluster.controllers.job.views import Pod, Status
from jobrelay.kinds.batch.job.views import Uncounted

from .job_objects import FAILURES, INDEX, NOW, ago, decision, job, pod, status


@pytest.mark.parametrize(("failures", "delay"), [(0, 0), (1, 10), (2, 20), (3, 40), (6, 320), (7, 600), (100, 600)])
def test_each_failure_doubles_the_delay(failures: int, delay: float) -> None:
    assert Backoff(failures, NOW).remaining(NOW) == delay
    assert Backoff(failures, NOW).remaining(NOW + dt.timedelta(seconds=700)) == 0


def test_a_success_resets_what_failed_before_it() -> None:
    failed = [pod("a", "Failed", finished=30), pod("b", "Failed", finished=10)]
    assert Backoff(5, NOW).after([pod("c", "Succeeded", finished=20)], failed) == Backoff(1, finish_time(failed[1]))
    assert Backoff(5, NOW).after([pod("c", "Succeeded", finished=5)], failed) == Backoff()


def test_failures_add_up_without_a_success() -> None:
    assert Backoff(2, NOW).after([], [pod("a", "Failed", finished=3)]).failures == 3


def test_a_pod_without_container_ends_is_over_when_it_is_deleted() -> None:
    assert finish_time(pod("a", deleting=True)) == NOW
    assert finish_time(pod("a", age=30)) == NOW - dt.timedelta(seconds=30)


@pytest.mark.parametrize(("text", "index"), [("3", 3), ("-1", -1), ("x", -1), ("", -1), ("-7", -1)])
def test_an_index_is_a_natural_number(text: str, index: int) -> None:
    from msgspec.structs import replace

    base = pod("a")
    changed = replace(base, metadata=replace(base.metadata, annotations={INDEX: text}))
    assert completion_index(changed) == index


def test_pods_that_lost_least_go_first() -> None:
    pods = [
        pod("old", ready=True, age=90), pod("young", ready=True, age=20), pod("restarted", restarts=3),
        pod("running"), pod("pending", "Pending"), pod("unbound", "Pending", node=""),
    ]  # fmt: skip
    names = [one.name for one in first_to_go(pods)]
    assert names == ["unbound", "pending", "restarted", "running", "young", "old"]


def test_a_new_pod_has_owner_and_finalizer() -> None:
    made = new_pod(job())
    owner = made["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["controller"], owner["blockOwnerDeletion"]) == ("Job", True, True)
    assert made["metadata"]["finalizers"] == ["batch.kubernetes.io/job-tracking"]
    assert made["metadata"]["generateName"] == "j-"


def test_an_indexed_pod_knows_its_index() -> None:
    made = new_pod(job(completionMode="Indexed"), 7)
    assert made["metadata"]["labels"][INDEX] == made["metadata"]["annotations"][INDEX] == "7"
    assert (made["metadata"]["generateName"], made["spec"]["hostname"]) == ("j-7-", "j-7")
    (variable,) = made["spec"]["containers"][0]["env"]
    assert variable["valueFrom"]["fieldRef"]["fieldPath"] == f"metadata.labels['{INDEX}']"


def test_a_replacement_takes_over_the_failures_of_its_index() -> None:
    per_index = job(completionMode="Indexed", backoffLimitPerIndex=3)
    made = new_pod(per_index, 0, pod("a", "Failed", index=0, failures=1))
    assert made["metadata"]["annotations"][FAILURES] == "2"


def test_ignored_failures_are_carried_apart() -> None:
    policy = {"rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [9]}}]}
    per_index = job(completionMode="Indexed", backoffLimitPerIndex=3, podFailurePolicy=policy)
    annotations = new_pod(per_index, 0, pod("a", "Failed", index=0, failures=1, code=9))["metadata"]["annotations"]
    assert (annotations[FAILURES], annotations["batch.kubernetes.io/job-index-ignored-failure-count"]) == ("1", "1")


def _verdict(rules: list[dict[str, object]], failed: Pod) -> tuple[bool, str, str | None]:
    return judge(job(podFailurePolicy={"rules": rules}), failed)


def test_the_first_matching_rule_decides() -> None:
    rules: list[dict[str, object]] = [
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [0]}},
    ]
    assert _verdict(rules, pod("a", "Failed", conditions=("DisruptionTarget",)))[:2] == (False, "Ignore")
    message = "Container c for pod ns/a failed with exit code 3 matching FailJob rule at index 1"
    assert _verdict(rules, pod("a", "Failed", code=3)) == (True, "FailJob", message)
    assert _verdict(rules, pod("a", "Failed", code=0)) == (True, "", None)


def test_a_condition_is_named_in_the_message() -> None:
    rules: list[dict[str, object]] = [
        {"action": "FailJob", "onPodConditions": [{"type": "ConfigIssue", "status": "True"}]}
    ]
    message = "Pod ns/a has condition ConfigIssue matching FailJob rule at index 0"
    assert _verdict(rules, pod("a", "Failed", conditions=("ConfigIssue",)))[2] == message


def test_pods_are_listed_before_they_are_counted() -> None:
    first = status(decision(job(completions=2), pod("a", "Succeeded")))
    assert (first.uncounted.succeeded, first.succeeded) == (("a",), 0)
    counted = count_released(first, ())
    assert counted is not None
    assert (counted.uncounted, counted.succeeded) == (Uncounted(), 1)


def test_a_pod_whose_finalizer_is_known_to_be_off_is_not_counted_again() -> None:
    made = decision(
        job({"succeeded": 1}, completions=2), pod("a", "Succeeded"), memory=Memory(removing=frozenset({"a"}))
    )
    assert (status(made).uncounted, made.removals) == (Uncounted(), ())


def test_at_most_500_pods_are_listed_at_once() -> None:
    pods = [pod(f"p{number}", "Succeeded") for number in range(700)]
    made = decision(job(completions=700, parallelism=700), *pods)
    assert (len(status(made).uncounted.succeeded), len(made.removals), made.outcome.ending) == (500, 500, None)


def test_at_most_500_pods_are_created_at_once() -> None:
    assert len(decision(job(completions=700, parallelism=700)).creates) == 500


def test_the_end_waits_for_terminating_pods() -> None:
    made = decision(job(backoffLimit=0, completions=2, parallelism=2), pod("a", "Failed"), pod("b"))
    closing = close(made.outcome, {"a", "b"}, NOW)
    assert (closing.finished, closing.status.failed, closing.status.terminating) == (None, 2, 1)


def test_the_end_waits_for_every_count() -> None:
    made = decision(job(), pod("a", "Succeeded"))
    assert close(made.outcome, set(), NOW).finished is None
    closing = close(made.outcome, {"a"}, NOW)
    assert [one.type for one in closing.status.conditions] == ["SuccessCriteriaMet", "Complete"]
    assert closing.status.completion_time == NOW


def test_a_fate_is_not_announced_before_all_pods_are_deleted() -> None:
    made = decision(job(backoffLimit=0, completions=2, parallelism=2), pod("a", "Failed"), pod("b"))
    reported = report(made.facts, made.plan, Done())
    assert (reported.ending, reported.status.conditions) == (None, ())


def test_nothing_is_done_while_earlier_work_is_not_visible() -> None:
    made = decision(job(completions=3, parallelism=3), memory=Memory(satisfied=False))
    assert (made.creates, made.deletes) == ([], ())


def test_a_resumed_job_starts_anew() -> None:
    suspended = {"type": "Suspended", "status": "True", "reason": "JobSuspended", "message": "Job suspended"}
    assert status(decision(job({"conditions": [suspended]}))).start_time == NOW


def test_a_status_is_written_as_the_api_wants_it() -> None:
    import msgspec

    first = status(decision(job({"startTime": None})))
    assert msgspec.json.decode(msgspec.json.encode(first)) == {
        "startTime": ago(0), "active": 1, "ready": 0, "terminating": 0, "uncountedTerminatedPods": {},
    }  # fmt: skip
    assert msgspec.json.encode(Status()) == b"{}"
