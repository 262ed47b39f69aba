"""The next step for one queued Job, as a function of the Job, its Workload and the flavors."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from jobrelay.kube import Object
from jobrelay.kube.objects import decode_object
from jobrelay.queueing import changes, core, names
from jobrelay.queueing.integrations.decide import (
    CreateWorkload,
    DeleteWorkload,
    ObjectAction,
    PatchObject,
    PatchWorkload,
    PatchWorkloadStatus,
    QueuedObject,
    next_step,
)
from jobrelay.queueing.integrations.podsets import pod_sets
from jobrelay.queueing.priorities import Priority, find_priority
from jobrelay.queueing.views import PriorityClassRef, WorkloadView
from jobrelay.workloads import JobAdapter
from tests.queueing.fleets import queued_job
from tests.queueing.test_lifecycle import ADMISSION, patched

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ADAPTER = JobAdapter()
GPU = core.FlavorSpec("default", {"pool": "gpu"}, tolerations=({"key": "gpu", "operator": "Exists"},))


def a_job(status: dict[str, Any] | None = None, **more: Any) -> Object:
    made = queued_job("train", **{"managed_by": None, **more})
    made["metadata"] |= {"uid": "u", "resourceVersion": "1"}
    return decode_object(msgspec.json.encode({**made, "status": status or {}}))


def workload_of(job: Object, *applied: Any, **spec: Any) -> Object:
    """The Workload of a Job, after changes of its status."""
    step = next_step(queued(a_job(suspend=True) if spec.pop("fresh", False) else job))
    body = step.action.body if isinstance(step.action, CreateWorkload) else _made(job)
    view = msgspec.convert({"spec": body["spec"] | spec}, WorkloadView)
    for change in applied:
        view = patched(view, change(view.status))
    status = msgspec.to_builtins(view.status)
    return decode_object(msgspec.json.encode({**body, "spec": body["spec"] | spec, "status": status}))


def _made(job: Object) -> dict[str, Any]:
    body = next_step(queued(a_job(suspend=True))).action
    assert isinstance(body, CreateWorkload)
    return body.body


def queued(job: Object, workload: Object | None = None, **more: Any) -> QueuedObject:
    return QueuedObject(ADAPTER, job, "main", pod_sets(ADAPTER, job), Priority(), NOW, workload, **more)


def reserved(status: Any) -> dict[str, Any]:
    return changes.reserved(status, ADMISSION, (), "Quota reserved", NOW)


def evicted(status: Any) -> dict[str, Any]:
    return changes.evicted(status, "Preempted", "for another", NOW)


def action(found: QueuedObject) -> ObjectAction | None:
    return next_step(found).action


def test_a_running_job_is_suspended_before_its_workload_is_made() -> None:
    assert action(queued(a_job())) == PatchObject({"spec": {"suspend": True}})
    made = action(queued(a_job(suspend=True)))
    assert isinstance(made, CreateWorkload)
    assert made.body["spec"]["queueName"] == "main"


def test_a_delegated_job_is_not_suspended_to_wait() -> None:
    assert isinstance(action(queued(a_job(managed_by="jobrelay.dev/relay"))), CreateWorkload)


def test_an_admitted_job_starts_with_what_its_flavor_stands_for() -> None:
    job = a_job(suspend=True)
    found = action(queued(job, workload_of(job, reserved), flavors={"default": GPU}))
    assert isinstance(found, PatchObject)
    template = found.patch["spec"]["template"]
    assert found.patch["spec"]["suspend"] is False
    assert template["spec"]["nodeSelector"] == {"pool": "gpu"}
    assert template["metadata"]["labels"]["kueue.x-k8s.io/podset"] == "main"


def test_a_job_that_has_run_before_forgets_that_to_get_its_labels() -> None:
    job = a_job({"startTime": "2026-01-01T00:00:00Z"}, suspend=True)
    forgotten = action(queued(job, workload_of(job, reserved), flavors={"default": core.FlavorSpec("default")}))
    assert forgotten == PatchObject({"status": {"startTime": None}}, "status")


def test_a_selector_that_contradicts_the_flavor_cannot_start() -> None:
    job = a_job(suspend=True)
    spec = job.decode()
    spec["spec"]["template"]["spec"]["nodeSelector"] = {"pool": "cpu"}
    job = decode_object(msgspec.json.encode(spec))
    found = action(queued(job, workload_of(job, reserved), flavors={"default": GPU}))
    assert isinstance(found, PatchWorkloadStatus)
    assert found.status["conditions"][-1]["reason"] == "FailedToStart"


def test_an_evicted_job_is_stopped_then_gives_its_quota_back_when_no_pod_runs() -> None:
    job = a_job({"active": 1})
    held = workload_of(job, reserved, evicted)
    assert action(queued(job, held)) == PatchObject({"spec": {"suspend": True}})
    assert action(queued(a_job({"active": 1}, suspend=True), held)) is None
    released = action(queued(a_job(suspend=True), held))
    assert isinstance(released, PatchWorkloadStatus)
    assert released.status["admission"] is None


def test_a_delegated_job_gives_its_quota_back_when_its_runs_are_gone() -> None:
    job = a_job(managed_by="jobrelay.dev/relay", suspend=True)
    held = workload_of(job, reserved, evicted)
    assert action(queued(job, held, has_runs=True)) is None
    assert isinstance(action(queued(job, held)), PatchWorkloadStatus)


def test_a_waiting_workload_follows_its_job() -> None:
    job = a_job(suspend=True, parallelism=3)
    assert action(queued(job, workload_of(job, fresh=True))) == PatchWorkload({"podSets": pod_sets(ADAPTER, job)})


def test_the_priority_of_a_workload_follows_its_object_also_while_it_runs() -> None:
    job, high = a_job(), PriorityClassRef("kueue.x-k8s.io", "WorkloadPriorityClass", "high")
    found = next_step(replace(queued(job, workload_of(job, reserved)), priority=Priority(100, high)))
    ref = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}
    assert found.action == PatchWorkload({"priority": 100, "priorityClassRef": ref})


def test_an_object_whose_priority_class_is_missing_is_not_queued_until_it_is_there() -> None:
    job = a_job(suspend=True, labels={"kueue.x-k8s.io/priority-class": "none"})
    found = next_step(replace(queued(job), priority=None))
    assert found.action is None
    assert [each.note for each in found.events] == ["WorkloadPriorityClass none does not exist"]
    assert action(replace(queued(job, workload_of(job)), priority=None)) is None


def gated(gates: str | None, **more: Any) -> Object:
    made = a_job(suspend=True, **more).decode()
    made["metadata"]["annotations"] = {names.ADMISSION_GATED_BY: gates} if gates else {}
    return decode_object(msgspec.json.encode(made))


def test_the_gates_of_an_object_are_those_of_its_workload() -> None:
    made = action(queued(gated("a.b/c")))
    assert isinstance(made, CreateWorkload)
    assert made.body["metadata"]["annotations"] == {names.ADMISSION_GATED_BY: "a.b/c"}
    held = decode_object(msgspec.json.encode(made.body))
    assert action(queued(gated(None), held)) == PatchWorkload({}, {names.ADMISSION_GATED_BY: None})
    assert action(queued(gated("a.b/c"), held)) is None


def test_a_job_that_is_given_another_size_is_stopped_restored_and_queued_anew() -> None:
    held = workload_of(a_job(), reserved)
    resized = {"parallelism": 3, "completions": 3}
    assert action(queued(a_job({"active": 1}, **resized), held)) == PatchObject({"spec": {"suspend": True}})
    assert action(queued(a_job({"active": 1}, suspend=True, **resized), held)) is None
    injected = a_job(suspend=True, **resized).decode()
    injected["spec"]["template"]["metadata"]["labels"] = {"kueue.x-k8s.io/podset": "main"}
    restored = action(queued(decode_object(msgspec.json.encode(injected)), held))
    assert isinstance(restored, PatchObject)
    assert "parallelism" not in restored.patch["spec"]
    assert action(queued(a_job(suspend=True, **resized), held)) == DeleteWorkload()


def test_a_job_that_has_the_size_of_an_earlier_admission_is_not_queued_anew() -> None:
    made = a_job(suspend=True, parallelism=3, completions=3).decode()
    made["metadata"]["annotations"] = {names.MIN_PARALLELISM: "1"}
    made["spec"]["template"]["metadata"]["labels"] = {"kueue.x-k8s.io/podset": "main"}
    job = decode_object(msgspec.json.encode(made))
    found = action(queued(job, workload_of(a_job(), reserved)))
    assert isinstance(found, PatchObject)
    assert found.patch["spec"]["suspend"] is False


@pytest.mark.parametrize(("kind", "reason"), [("Complete", "Succeeded"), ("Failed", "Failed")])
def test_the_end_of_a_job_ends_its_workload(kind: str, reason: str) -> None:
    one = {"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z", "message": "over"}
    job = a_job({"conditions": [one]})
    found = action(queued(job, workload_of(a_job(suspend=True), reserved)))
    assert isinstance(found, PatchWorkloadStatus)
    last = found.status["conditions"][-1]
    assert (last["type"], last["reason"], last["message"]) == ("Finished", reason, "over")


def test_pods_that_have_ended_give_their_quota_back() -> None:
    job = a_job({"ready": 1, "succeeded": 3, "active": 1}, parallelism=2, completions=4)
    body = a_job(suspend=True, parallelism=2, completions=4)
    made = next_step(queued(body)).action
    assert isinstance(made, CreateWorkload)
    view = msgspec.convert({"spec": made.body["spec"]}, WorkloadView)
    status = msgspec.to_builtins(patched(view, reserved(view.status)).status)
    held = decode_object(msgspec.json.encode({**made.body, "status": status}))
    found = action(queued(job, held))
    assert found == PatchWorkloadStatus({"reclaimablePods": [{"name": "main", "count": 1}]})


def test_the_class_of_the_label_comes_before_that_of_the_pods() -> None:
    values = {("kueue.x-k8s.io", "urgent"): 10, ("scheduling.k8s.io", "high"): 5}
    job = a_job(labels={"kueue.x-k8s.io/priority-class": "urgent"})
    sets = [{"template": {"spec": {"priorityClassName": "high"}}}]
    assert find_priority(job, sets, lambda *key: values.get(key), Priority(1)).value == 10
    assert find_priority(a_job(), sets, lambda *key: values.get(key), Priority(1)).value == 5
    assert find_priority(a_job(), [], lambda *key: values.get(key), Priority(1)).value == 1
