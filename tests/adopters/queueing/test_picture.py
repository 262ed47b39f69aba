"""What is shown of objects, and what is not because it differs between runs."""

from __future__ import annotations

from typing import Any

from jobrelay.kube import Resource
from jobrelay.relay.multikueue.claims import MARK

from .objects import Names
from .picture import Facts, Reservation, picture

UID = "0f7dbb3c-1111-2222-3333-444444444444"
NAMES = Names("s123456")


class _Still:
    """A stage whose objects are given."""

    def __init__(self, **objects: list[dict[str, Any]]) -> None:
        self._objects = objects

    def objects(self, resource: Resource, slug: str) -> list[dict[str, Any]]:
        assert slug == NAMES.slug
        return self._objects.get(resource.plural, [])


def shown(*reserved: Reservation, **objects: list[dict[str, Any]]) -> Facts:
    return picture(_Still(**objects), NAMES, reserved=reserved)


def workload(name: str = "a", uid: str = UID, **status: Any) -> dict[str, Any]:
    pod = {"spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}}
    return {
        "metadata": {
            "name": f"job-{name}-0a1b2", "namespace": "s123456", "uid": uid, "ownerReferences": [{"name": name}],
        },
        "spec": {"queueName": "q", "priority": 0, "podSets": [{"name": "main", "count": 2, "template": pod}]},
        "status": status,
    }  # fmt: skip


def test_a_workload_is_called_as_its_job() -> None:
    assert shown(workloads=[workload()]) == {"workload a: spec": "queue q, priority 0, main 2 x cpu=1"}


def test_a_workload_on_a_worker_is_called_as_its_job_before_that_is_there() -> None:
    clone = workload(clusterName="one", nominatedClusterNames=["one", "two"])
    del clone["metadata"]["ownerReferences"]
    clone["metadata"]["labels"] = {"kueue.x-k8s.io/multikueue-origin": "multikueue"}
    found = shown(workloads=[clone])
    assert found["workload a: nominated"] == "one two"
    assert found["workload a: cluster"] == "one"
    assert found["workload a: origin"] == "multikueue"


def test_a_job_that_runs_for_another_cluster_shows_its_pods() -> None:
    annotations = {"kueue.x-k8s.io/prebuilt-workload-name": "job-a-0a1b2"}
    labels = {"kueue.x-k8s.io/multikueue-origin": "multikueue"}
    metadata = {"name": "a", "namespace": "s123456", "uid": UID, "labels": labels, "annotations": annotations}
    job = {"metadata": metadata, "spec": {"template": {"spec": {}}}, "status": {"active": 2, "failed": 0}}
    found = shown(jobs=[job], workloads=[workload()])
    assert found["job a: pods"] == "active=2"
    assert found["job a: prebuilt"] == "job-a"
    assert found["job a: origin"] == "multikueue"


def test_of_a_check_of_multikueue_it_is_not_shown_whose_it_is() -> None:
    active = {"type": "Active", "status": "True", "reason": "Active", "message": f"ready; {MARK}"}
    checks = [
        {
            "metadata": {"name": f"s123456-{name}", "uid": UID},
            "spec": {"controllerName": by},
            "status": {"conditions": [active]},
        }
        for name, by in (("k", "kueue.x-k8s.io/multikueue"), ("l", "example.com/script"))
    ]
    assert shown(admissionchecks=checks) == {"check k: Active": "True Active", "check k: Active message": "ready"}


def test_a_condition_and_its_message_are_two_facts() -> None:
    text = f"preempted by (UID: {UID}) of job-a-0a1b2 in s123456-q since 2026-01-02T03:04:05Z"
    found = shown(
        workloads=[workload(conditions=[{"type": "Evicted", "status": "True", "reason": "R", "message": text}])]
    )
    assert found["workload a: Evicted"] == "True R"
    assert found["workload a: Evicted message"] == "preempted by (UID: a) of job-a in q since TIME"


def test_an_admission_shows_flavors_and_counts() -> None:
    assignment = {"name": "main", "count": 2, "flavors": {"cpu": "s123456-x"}, "resourceUsage": {"cpu": "2"}}
    found = shown(workloads=[workload(admission={"clusterQueue": "s123456-q", "podSetAssignments": [assignment]})])
    assert found["workload a: admission"] == "q: main 2 x cpu=2@x"


def test_a_queue_shows_what_is_used() -> None:
    used = [
        {
            "name": "s123456-x",
            "resources": [{"name": "cpu", "total": "3", "borrowed": "1"}, {"name": "m", "total": "0"}],
        }
    ]
    queue = {"metadata": {"name": "s123456-q", "uid": UID}, "status": {"pendingWorkloads": 1, "flavorsUsage": used}}
    found = shown(clusterqueues=[queue])
    assert found["queue q: usage"] == "x cpu 3 borrowed 1"
    assert found["queue q: workloads"] == "pending 1 reserving 0 admitted 0"


def test_the_order_of_several_reservations_is_a_fact() -> None:
    other = UID.replace("1111", "5555")
    both = [workload(), workload("b", other)]
    first, then = Reservation(1.0, "s123456-q", other), Reservation(2.0, "s123456-q", UID)
    assert shown(first, then, workloads=both)["order q"] == "b a"
    assert shown(first, then._replace(when=1.1), workloads=both)["order q"] == "a+b"
    assert "order q" not in shown(then, workloads=both)


def test_an_error_is_a_fact_without_dumps() -> None:
    error = {"code": 422, "message": 'spec: Invalid value: {"a":{"b":1}}: field is immutable'}
    assert picture(_Still(), NAMES, error) == {"error": "422 spec: Invalid value: {...}: field is immutable"}
