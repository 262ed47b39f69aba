"""What objects use of a quota, and which quotas they are charged to."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from jobrelay.kinds.core.quota.amounts import as_texts
from jobrelay.kinds.core.quota.check import QuotaRefused, QuotaWrite, check
from jobrelay.kinds.core.quota.registry import evaluator_of, evaluators_of

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
Obj = dict[str, Any]


def container(name: str = "c", requests: Obj | None = None, limits: Obj | None = None, **more: Any) -> Obj:
    return {"name": name, "resources": {"requests": requests or {}, "limits": limits or {}}, **more}


def pod(*containers: Obj, status: Obj | None = None, metadata: Obj | None = None, **spec: Any) -> Obj:
    return {"metadata": metadata or {}, "spec": {"containers": list(containers), **spec}, "status": status or {}}


def usage(key: str, obj: Obj) -> dict[str, str]:
    evaluator = evaluator_of(key)
    assert evaluator is not None
    return as_texts(evaluator.usage(obj, NOW))


def test_a_pod_uses_what_its_containers_request() -> None:
    made = pod(container("a", {"cpu": "1"}, {"cpu": "2"}), container("b", {"cpu": "500m", "memory": "1Gi"}))
    assert usage("pods", made) == {
        "count/pods": "1", "pods": "1", "cpu": "1500m", "requests.cpu": "1500m", "limits.cpu": "2", "memory": "1Gi",
        "requests.memory": "1Gi",
    }  # fmt: skip


def test_a_large_init_container_counts_and_a_sidecar_is_added() -> None:
    first, sidecar = container("i", {"cpu": "3"}), container("s", {"cpu": "1"}, restartPolicy="Always")
    assert usage("pods", pod(container("a", {"cpu": "1"}), initContainers=[first]))["cpu"] == "3"
    assert usage("pods", pod(container("a", {"cpu": "1"}), initContainers=[sidecar]))["cpu"] == "2"


def test_overhead_is_added_to_limits_that_there_are() -> None:
    made = pod(container("a", {"cpu": "1"}, {"cpu": "1"}), overhead={"cpu": "250m", "memory": "1Mi"})
    used = usage("pods", made)
    assert (used["cpu"], used["limits.cpu"], used["memory"]) == ("1250m", "1250m", "1Mi")
    assert "limits.memory" not in used


def test_what_is_set_for_the_whole_pod_counts_instead() -> None:
    made = pod(container("a", {"cpu": "1"}), resources={"requests": {"cpu": "2"}, "limits": {"cpu": "4"}})
    used = usage("pods", made)
    assert (used["cpu"], used["limits.cpu"]) == ("2", "4")


def test_extended_resources_and_huge_pages_have_names_of_their_own() -> None:
    used = usage("pods", pod(container("a", {"example.com/gpu": "2", "hugepages-2Mi": "4Mi"})))
    assert used == {
        "count/pods": "1", "pods": "1", "requests.example.com/gpu": "2", "hugepages-2Mi": "4Mi",
        "requests.hugepages-2Mi": "4Mi",
    }  # fmt: skip


@pytest.mark.parametrize(("infeasible", "expected"), [(False, "3"), (True, "2")])
def test_a_resize_that_has_not_come_through_counts_at_its_most(infeasible: bool, expected: str) -> None:
    one = {"name": "a", "resources": {"requests": {"cpu": "2"}}, "allocatedResources": {"cpu": "1"}}
    conditions = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}] if infeasible else []
    made = pod(container("a", {"cpu": "3"}), status={"containerStatuses": [one], "conditions": conditions})
    assert usage("pods", made)["cpu"] == expected


@pytest.mark.parametrize(
    ("change", "charged"),
    [
        ({"status": {"phase": "Running"}}, True),
        ({"status": {"phase": "Failed"}}, False),
        ({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}}, True),
        ({"metadata": {"deletionTimestamp": "2025-12-31T23:59:00Z", "deletionGracePeriodSeconds": 30}}, False),
    ],
)
def test_a_pod_that_has_ended_is_only_an_object(change: Obj, charged: bool) -> None:
    assert ("pods" in usage("pods", pod(container(), **change))) == charged


@pytest.mark.parametrize(
    ("spec", "ports", "balancers"),
    [
        ({"type": "ClusterIP", "ports": [{}]}, "0", "0"),
        ({"type": "NodePort", "ports": [{}, {}]}, "2", "0"),
        ({"type": "LoadBalancer", "ports": [{}]}, "1", "1"),
        (
            {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False, "ports": [{}, {"nodePort": 30000}]},
            "1", "1",
        ),
    ],
)  # fmt: skip
def test_services_use_ports_and_balancers(spec: Obj, ports: str, balancers: str) -> None:
    used = usage("services", {"spec": spec})
    assert (used["services.nodeports"], used["services.loadbalancers"]) == (ports, balancers)


def test_claims_use_storage_of_their_class_in_whole_bytes() -> None:
    spec = {"resources": {"requests": {"storage": "1500m"}}, "storageClassName": "gold"}
    used = usage("persistentvolumeclaims", {"metadata": {}, "spec": spec})
    by_class = "gold.storageclass.storage.k8s.io/"
    assert (used["requests.storage"], used[f"{by_class}requests.storage"]) == ("2", "2")
    assert used[f"{by_class}persistentvolumeclaims"] == "1"


def test_a_claim_that_was_given_more_uses_that() -> None:
    spec, status = {"resources": {"requests": {"storage": "1Gi"}}}, {"allocatedResources": {"storage": "2Gi"}}
    used = usage("persistentvolumeclaims", {"metadata": {}, "spec": spec, "status": status})
    assert used["requests.storage"] == "2Gi"


def test_device_claims_use_the_most_that_they_may_get() -> None:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2}
    either = [{"deviceClassName": "gpu", "allocationMode": "All"}, exactly]
    requests = [{"name": "a", "exactly": exactly}, {"name": "b", "firstAvailable": either}]
    used = usage("resourceclaims.resource.k8s.io", {"spec": {"devices": {"requests": requests}}})
    assert used["gpu.deviceclass.resource.k8s.io/devices"] == "34"


def test_names_lead_to_the_resources_they_are_about() -> None:
    names = ["requests.cpu", "secrets", "count/jobs.batch", "gold.storageclass.storage.k8s.io/requests.storage"]
    keys = [evaluator.key for evaluator in evaluators_of(names)]
    assert keys == ["jobs.batch", "persistentvolumeclaims", "pods", "secrets"]
    assert evaluator_of("events") is None


def quota(hard: Obj, used: Obj, *scopes: Obj) -> Obj:
    spec = {"hard": hard, "scopeSelector": {"matchExpressions": list(scopes)}}
    return {"metadata": {"name": "q"}, "spec": spec, "status": {"hard": hard, "used": used}}


def charged(key: str, limits: Obj, new: Obj, old: Obj | None = None) -> list[dict[str, str]]:
    evaluator = evaluator_of(key)
    assert evaluator is not None
    write = QuotaWrite("UPDATE" if old else "CREATE", "", new, old or {})
    return [charge.used for charge in check([limits], evaluator, write, NOW)]


def test_an_update_that_uses_less_is_not_charged() -> None:
    large, small = ({"spec": {"type": "NodePort", "ports": [{}] * count}} for count in (3, 1))
    limits = quota({"services.nodeports": "3"}, {"services.nodeports": "3"})
    assert charged("services", limits, small, large) == []
    assert charged("services", quota({"services.nodeports": "5"}, {"services.nodeports": "3"}), large, small) == [
        {"services.nodeports": "5"}
    ]


def test_an_object_that_comes_into_a_scope_is_charged_in_full() -> None:
    scope = {"scopeName": "Terminating", "operator": "Exists"}
    old, new = pod(container()), pod(container(), activeDeadlineSeconds=5)
    assert charged("pods", quota({"pods": "1"}, {"pods": "0"}, scope), new, old) == [{"pods": "1"}]


def test_a_quota_that_is_exceeded_already_lets_pass_what_does_not_use_it() -> None:
    limits = quota({"requests.cpu": "1", "pods": "5"}, {"requests.cpu": "2", "pods": "1"})
    free = container("a", {"cpu": "0"})
    assert charged("pods", limits, pod(free)) == [{"pods": "2", "requests.cpu": "2"}]
    with pytest.raises(QuotaRefused, match=r"exceeded quota: q, requested: requests\.cpu=1m, used: requests\.cpu=2"):
        charged("pods", limits, pod(container("a", {"cpu": "1m"})))


@pytest.mark.parametrize(
    ("operator", "values", "name", "inside"),
    [
        ("In", ["a"], "a", True),
        ("In", ["a"], "", False),
        ("NotIn", ["a"], "b", True),
        ("NotIn", ["a"], "", True),
        ("Exists", [], "a", True),
        ("Exists", [], "", False),
        ("DoesNotExist", [], "", True),
    ],
)
def test_priority_classes_select_pods(operator: str, values: list[str], name: str, inside: bool) -> None:
    scope = {"scopeName": "PriorityClass", "operator": operator, "values": values}
    made = pod(container(), **({"priorityClassName": name} if name else {}))
    assert bool(charged("pods", quota({"pods": "1"}, {"pods": "0"}, scope), made)) == inside


def test_attributes_classes_select_claims() -> None:
    scope = {"scopeName": "VolumeAttributesClass", "operator": "In", "values": ["fast"]}
    limits = quota({"persistentvolumeclaims": "5"}, {"persistentvolumeclaims": "0"}, scope)
    made = {"metadata": {}, "spec": {}, "status": {"currentVolumeAttributesClassName": "fast"}}
    assert charged("persistentvolumeclaims", limits, made) == [{"persistentvolumeclaims": "1"}]
    assert charged("persistentvolumeclaims", limits, {"metadata": {}, "spec": {}}) == []
