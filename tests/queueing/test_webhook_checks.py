"""What is refused when queues and queued objects are written: pure checks, with Kueue's texts."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from jobrelay.apimachinery.field import FieldError
from jobrelay.kube.objects import decode_object
from jobrelay.queueing.webhooks.flavors import check_resource_flavor
from jobrelay.queueing.webhooks.jobs import WrittenObject, check_object
from jobrelay.queueing.webhooks.quotas import check_cluster_queue, check_cohort
from jobrelay.queueing.webhooks.workloads import check_workload
from jobrelay.workloads import JobAdapter
from jobrelay.workloads.names import RELAY
from tests.queueing.fleets import QUEUE, queued_job, quota_queue

GATE = "kueue.x-k8s.io/admission-gated-by"
MINIMUM = "kueue.x-k8s.io/job-min-parallelism"
EQUAL = "kueue.x-k8s.io/job-completions-equal-parallelism"
TIME = "kueue.x-k8s.io/max-exec-time-seconds"
PRIORITY = "kueue.x-k8s.io/priority-class"
RESERVED = {"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved", "lastTransitionTime": "now"}


def texts(errors: list[FieldError]) -> list[str]:
    return [each.text() for each in errors]


def groups(**quota: Any) -> list[dict[str, Any]]:
    resources = [{"name": "cpu", "nominalQuota": "4", **quota}]
    return [{"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": resources}]}]


QUOTA = "spec.resourceGroups[0].flavors[0].resources[0]"


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"resourceGroups": groups(nominalQuota=-1)}, f'{QUOTA}.nominalQuota: Invalid value: "-1": must be greater'),
        ({"resourceGroups": groups(lendingLimit=1)}, f'{QUOTA}.lendingLimit: Invalid value: "1": must be nil when coh'),
        (
            {"resourceGroups": groups(lendingLimit=5), "cohortName": "c"},
            f'{QUOTA}.lendingLimit: Invalid value: "5": mu',
        ),
        (
            {"resourceGroups": groups(name="memory")},
            f'{QUOTA}.name: Invalid value: "memory": must match the name in co',
        ),
        (
            {"fairSharing": {"weight": "-1"}},
            'spec.fairSharing: Invalid value: "-1": must be greater than or equal to 0',
        ),
        (
            {"fairSharing": {"weight": "1n"}},
            'spec.fairSharing: Invalid value: "1n": When not 0, weight must be > 10e-9',
        ),
        (
            {"admissionChecksStrategy": {"admissionChecks": [{"name": "k", "onFlavors": ["y"]}]}},
            'spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]: Unsupported value: "y": supported values: "',
        ),
    ],
)
def test_a_cluster_queue_is_refused_with_kueues_text(spec: dict[str, Any], text: str) -> None:
    queue = quota_queue(**{"resourceGroups": groups(), **spec})
    [found] = texts(check_cluster_queue(queue, None))
    assert found.startswith(text)


def test_resources_and_flavors_are_in_one_group() -> None:
    found = texts(check_cluster_queue(quota_queue(resourceGroups=[*groups(), *groups()]), None))
    assert found == [
        'spec.resourceGroups[1].coveredResources[0]: Duplicate value: "cpu"',
        'spec.resourceGroups[1].flavors[0].name: Duplicate value: "default"',
    ]


def test_too_many_flavors_are_counted_over_all_groups() -> None:
    flavors = [{"name": f"f{number}", "resources": []} for number in range(257)]
    queue = quota_queue(resourceGroups=[{"coveredResources": ["cpu"], "flavors": flavors}])
    assert "total number of flavors across all resourceGroups must be ≤ 256, got 257" in texts(
        check_cluster_queue(queue, None)
    ).pop(0)


def test_a_restriction_of_a_check_that_was_accepted_before_stays_so() -> None:
    strategy = {"admissionChecks": [{"name": "k", "onFlavors": ["gone"]}]}
    queue = quota_queue(admissionChecksStrategy=strategy)
    assert check_cluster_queue(queue, queue) == []


def test_a_cohort_without_a_parent_has_no_limits() -> None:
    assert texts(check_cohort({"spec": {"resourceGroups": groups(borrowingLimit=1)}}, None)) == [
        f'{QUOTA}.borrowingLimit: Invalid value: "1": must be nil when parent is empty'
    ]
    lending = groups(lendingLimit=9)
    assert check_cohort({"spec": {"resourceGroups": lending, "parentName": "up"}}, None) == []


def test_a_flavors_labels_taints_and_tolerations_are_names() -> None:
    taint = {"key": "a", "value": "b", "effect": "NoSchedule"}
    spec = {"nodeLabels": {"a b": "c"}, "nodeTaints": [taint, taint], "tolerations": [{"key": "x y"}]}
    found = texts(check_resource_flavor({"spec": spec}, None))
    assert [each.split(": ")[0] for each in found] == [
        "spec.nodeLabels",
        "spec.nodeTaints[1]",
        "spec.tolerations[0].key",
    ]
    assert found[1].endswith("taints must be unique by key and effect pair")


def a_workload(status: dict[str, Any] | None = None, **pod_set: Any) -> dict[str, Any]:
    container = {"name": "c", "resources": {"requests": pod_set.pop("requests", {"cpu": "1"})}}
    sets = [{"name": "main", "count": 2, "template": {"spec": {"containers": [container]}}, **pod_set}]
    return {"metadata": {"name": "w"}, "spec": {"podSets": sets}, "status": status or {}}


def reserved(queue: str = "q", **status: Any) -> dict[str, Any]:
    assigned = [{"name": "main", "count": 2, "resourceUsage": {"cpu": "2"}, "flavors": {"cpu": "default"}}]
    admission = {"clusterQueue": queue, "podSetAssignments": assigned}
    return {"conditions": [RESERVED], "admission": admission, **status}


def test_a_workload_may_not_request_pods_or_less_than_nothing() -> None:
    found = texts(check_workload(a_workload(requests={"pods": "1", "cpu": "-1"}), None))
    where = "spec.podSets[0].template.spec.containers[0].resources.requests"
    assert found == [
        f'{where}[pods]: Invalid value: "pods": the key is reserved for internal kueue use',
        f'{where}[cpu]: Invalid value: "-1": must be greater than or equal to 0',
    ]


def test_one_pod_set_of_a_workload_may_shrink() -> None:
    two = a_workload(minCount=1)
    two["spec"]["podSets"] *= 2
    assert texts(check_workload(two, None)) == ["spec.podSets: Invalid value: 2: at most one podSet can use minCount"]
    assert check_workload(a_workload(minCount=1), None) == []


def test_an_admission_fits_the_workload() -> None:
    odd = reserved()
    odd["admission"]["podSetAssignments"][0] |= {"name": "other", "resourceUsage": {"cpu": "1m"}}
    assert texts(check_workload(a_workload(odd), None)) == [
        'status.admission.podSetAssignments[0].name: Not found: "other"',
        'status.admission.podSetAssignments[0].resourceUsage[cpu]: Invalid value: "1m": is not a multiple of 2',
    ]
    assert texts(check_workload(a_workload({"conditions": [RESERVED]}), None)) == [
        "status.admission: Required value: must be set while the QuotaReserved condition is true"
    ]


def test_what_has_quota_does_not_change() -> None:
    old = a_workload(reserved())
    assert texts(check_workload(a_workload(reserved("other")), old))[0].startswith("status.admission: Invalid value: {")
    larger = texts(check_workload(a_workload(reserved(), count=3), old))
    assert larger[0].startswith("spec.podSets.0: Invalid value: {")
    assert check_workload(a_workload({}), old) == []


def test_pods_that_were_given_back_stay_so() -> None:
    old = a_workload(reserved(reclaimablePods=[{"name": "main", "count": 1}]))
    assert texts(check_workload(a_workload(reserved(reclaimablePods=[])), old)) == [
        "status.reclaimablePods[main]: Required value: cannot be removed"
    ]
    fewer = a_workload(reserved(reclaimablePods=[{"name": "main", "count": 0}]))
    assert texts(check_workload(fewer, old)) == [
        "status.reclaimablePods[main].count: Invalid value: 0: cannot be less than 1"
    ]
    assert texts(check_workload(a_workload(reserved(reclaimablePods=[{"name": "x", "count": 3}])), None)) == [
        'status.reclaimablePods[x].name: Unsupported value: "x": supported values: "main"'
    ]


def test_what_a_ready_check_wants_to_be_changed_is_settled() -> None:
    def ready(**update: Any) -> dict[str, Any]:
        updates = [{"name": "main", **update}]
        return a_workload({"admissionChecks": [{"name": "k", "state": "Ready", "podSetUpdates": updates}]})

    assert check_workload(ready(labels={"a": "b"}), ready(labels={"a": "b"})) == []
    [found] = texts(check_workload(ready(labels={"a": "c"}), ready(labels={"a": "b"})))
    assert found.startswith("status.admissionChecks[0].podSetUpdates: Invalid value:")


def written(
    labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None, **more: Any
) -> WrittenObject:
    made = queued_job("train", labels=labels, **{"managed_by": None, **more})
    made["metadata"]["annotations"] = annotations or {}
    return WrittenObject(JobAdapter(), decode_object(msgspec.json.encode(made)))


@pytest.mark.parametrize(
    ("labels", "annotations", "text"),
    [
        ({TIME: "0"}, {}, f"metadata.labels[{TIME}]: Invalid value: 0: should be greater than 0"),
        ({TIME: "soon"}, {}, f'metadata.labels[{TIME}]: Invalid value: "soon": strconv.Atoi: parsing "soon": invalid'),
        ({TIME: "9" * 30}, {}, f'metadata.labels[{TIME}]: Invalid value: "{"9" * 30}": strconv.Atoi: parsing'),
        ({QUEUE: "Not_one"}, {}, f'metadata.labels[{QUEUE}]: Invalid value: "Not_one": a lowercase RFC 1123 subdomain'),
        ({}, {MINIMUM: "2"}, f"metadata.annotations[{MINIMUM}]: Invalid value: 2: should be between 0 and 1"),
        ({}, {MINIMUM: "x"}, f'metadata.annotations[{MINIMUM}]: Invalid value: "x": strconv.Atoi: parsing "x": inv'),
        ({}, {EQUAL: "maybe"}, f'metadata.annotations[{EQUAL}]: Invalid value: "maybe": strconv.ParseBool: parsing'),
        ({}, {EQUAL: "true"}, f'metadata.annotations[{EQUAL}]: Invalid value: "true": should not be enabled for Non'),
        ({}, {GATE: "nodomain"}, f'metadata.annotations[{GATE}]: Invalid value: "nodomain": must be a domain-prefix'),
        ({}, {GATE: "a.b/c,a.b/c"}, f'metadata.annotations[{GATE}]: Invalid value: "a.b/c,a.b/c": duplicate gate na'),
    ],
)
def test_a_queued_job_is_refused_with_kueues_text(
    labels: dict[str, str], annotations: dict[str, str], text: str
) -> None:
    [found] = texts(check_object(written(labels, annotations, parallelism=2, completions=2), None))
    assert found.startswith(text)


def test_a_running_job_keeps_its_queue_its_time_and_its_class() -> None:
    old, new = written({TIME: "5"}), written({QUEUE: "other", TIME: "6", PRIORITY: "high"})
    assert texts(check_object(new, old)) == [
        f'metadata.labels[{QUEUE}]: Invalid value: "other": field is immutable',
        f'metadata.labels[{TIME}]: Invalid value: "6": field is immutable',
        f'metadata.labels[{PRIORITY}]: Invalid value: "high": WorkloadPriorityClass cannot be added to a non-suspended '
        "workload",
    ]


@pytest.mark.parametrize("waiting", [{"suspend": True}, {"managed_by": RELAY}])
def test_a_waiting_job_may_change_them(waiting: dict[str, Any]) -> None:
    old, new = written({TIME: "5"}, **waiting), written({QUEUE: "other", TIME: "6", PRIORITY: "high"}, **waiting)
    assert check_object(new, old) == []
    assert texts(check_object(old, new)) == [
        f'metadata.labels[{PRIORITY}]: Invalid value: "": WorkloadPriorityClass cannot be removed from a workload'
    ]


def test_a_running_job_that_may_shrink_keeps_its_size() -> None:
    least = {MINIMUM: "1"}
    old, new = written({}, least, parallelism=3), written({}, least, parallelism=2)
    assert texts(check_object(new, old)) == [
        "spec.parallelism: Forbidden: cannot change when partial admission is enabled and the job is not suspended"
    ]


def test_gates_are_removed_and_never_added() -> None:
    none, one, two = written(), written({}, {GATE: "a.b/c"}), written({}, {GATE: "a.b/c,a.b/d"})
    assert check_object(one, two) == check_object(none, one) == []
    assert texts(check_object(one, none)) == [
        f"metadata.annotations[{GATE}]: Forbidden: cannot add admission gate after creation"
    ]
    assert texts(check_object(two, one)) == [
        f"metadata.annotations[{GATE}]: Forbidden: can only remove gates, not add new ones"
    ]
