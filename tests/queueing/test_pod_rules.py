"""What becomes of a pod template in a namespace with limits, and when its pods would be refused."""

from __future__ import annotations

from typing import Any

import msgspec

from jobrelay.kube import Cache
from jobrelay.kube.objects import Key
from jobrelay.kube.resource import JOBS
from jobrelay.queueing.pod_rules import PodRules, filled, refusal, together
from jobrelay.queueing.resources import LIMIT_RANGES, RUNTIME_CLASSES
from jobrelay.queueing.views import LimitRangeView, WorkloadView
from jobrelay.workloads.requests import pod_requests
from tests.queueing.fleets import QueueFleet, queue_fleet, queued_job

AT = "spec.podSets[0].template.spec"


def rules(*limits: dict[str, Any]) -> PodRules:
    """Those of a namespace with a LimitRange for each of these."""
    return PodRules(together(msgspec.convert({"spec": {"limits": [each]}}, LimitRangeView) for each in limits))


def pod(requests: dict[str, str] | None = None, limits: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    return {"containers": [{"name": "main", "resources": {"requests": requests or {}, "limits": limits or {}}}], **more}


def requested(given: dict[str, Any], by: PodRules) -> dict[str, float]:
    return {name: float(each) for name, each in pod_requests(filled(given, by)).items()}


def test_containers_get_the_defaults_of_their_namespace() -> None:
    by = rules({"type": "Container", "defaultRequest": {"cpu": "500m"}, "default": {"cpu": "1", "memory": "1Ki"}})
    assert requested(pod(), by) == {"cpu": 0.5, "memory": 1024}
    assert requested(pod({"cpu": "2"}), by) == {"cpu": 2, "memory": 1024}


def test_a_pod_gets_the_overhead_of_its_runtime_class_unless_it_has_its_own() -> None:
    by = PodRules(overhead={"heavy": {"cpu": "500m"}}.__getitem__)
    assert requested(pod({"cpu": "1"}, runtimeClassName="heavy"), by) == {"cpu": 1.5}
    assert requested(pod({"cpu": "1"}, runtimeClassName="heavy", overhead={"cpu": "2"}), by) == {"cpu": 3}


def test_of_several_limit_ranges_the_narrowest_bounds_and_the_first_defaults_count() -> None:
    (found,) = rules(
        {"type": "Pod", "max": {"cpu": "2"}, "min": {"cpu": "100m"}, "default": {"cpu": "1"}},
        {"type": "Pod", "max": {"cpu": "1500m"}, "min": {"cpu": "10m"}, "default": {"cpu": "3"}},
    ).limits.values()
    assert (found.max, found.min, found.default) == ({"cpu": "1500m"}, {"cpu": "100m"}, {"cpu": "1"})


def test_requests_beyond_limits_are_refused_in_kueues_words() -> None:
    text = (
        f'resources validation failed: {AT}.containers[0]: Invalid value: ["cpu"]: requests must not exceed its limits'
    )
    assert refusal([pod({"cpu": "2"}, {"cpu": "1"})], PodRules()) == text
    assert refusal([pod({"cpu": "1", "memory": "5"}, {"cpu": "1"})], PodRules()) == ""


def test_pods_outside_of_the_bounds_of_their_namespace_are_refused() -> None:
    by = rules({"type": "Pod", "min": {"cpu": "500m"}, "max": {"cpu": "1"}})
    start = f'resources didn\'t satisfy LimitRange constraints: {AT}: Invalid value: ["cpu"]: requests must not be '
    assert refusal([pod({"cpu": "2"})], by) == f"{start}above the limitRange max"
    assert refusal([pod({"cpu": "100m"})], by) == f"{start}below the limitRange min"
    assert refusal([pod({"cpu": "1"}), pod({"memory": "1"})], by) == ""


def test_containers_outside_of_the_bounds_are_all_named() -> None:
    by = rules({"type": "Container", "max": {"cpu": "1"}})
    found = refusal([{"initContainers": pod({"cpu": "2"})["containers"], **pod({}, {"cpu": "3"})}], by)
    assert f"{AT}.initContainers[0]" in found
    assert f"{AT}.containers[0]" in found


async def until_seen(it: QueueFleet, cache: Cache, key: Key) -> None:
    """Wait until admission has an object in its cache."""

    async def seen() -> bool:
        return key in cache

    await it.it.until(seen)


async def until_usage(it: QueueFleet, name: str, usage: dict[str, str]) -> None:
    await it.until_condition(name, "Admitted")
    found = await it.workload(name)
    assert found is not None
    admission = found.decode(WorkloadView).status.admission
    assert admission is not None
    assert admission.pod_set_assignments[0].resource_usage == usage


async def test_a_job_waits_until_the_limits_of_its_namespace_let_it_start() -> None:
    async with queue_fleet(1) as it:
        await it.make_queue(cpu=4)
        spec = {"limits": [{"type": "Pod", "max": {"cpu": "1"}}]}
        await it.create(LIMIT_RANGES, {"metadata": {"name": "small", "namespace": "default"}, "spec": spec})
        await until_seen(it, it.gate.objects.limit_ranges, Key("default", "small"))
        await it.client.create(JOBS, queued_job("wide", cpu="2", seconds=1000))
        refused = await it.until_condition("wide", "QuotaReserved", status=False)
        assert refused.message.endswith("requests must not be above the limitRange max")
        await it.client.delete(LIMIT_RANGES, "small", "default")
        await until_usage(it, "wide", {"cpu": "2"})


async def test_the_overhead_of_a_runtime_class_counts_against_quota() -> None:
    async with queue_fleet(1) as it:
        await it.make_queue(cpu=4)
        overhead = {"podFixed": {"cpu": "500m"}}
        await it.create(RUNTIME_CLASSES, {"metadata": {"name": "heavy"}, "handler": "heavy", "overhead": overhead})
        await until_seen(it, it.gate.objects.runtime_classes, Key("", "heavy"))
        job = queued_job("one", cpu="1", seconds=1000)
        job["spec"]["template"]["spec"]["runtimeClassName"] = "heavy"
        await it.client.create(JOBS, job)
        await until_usage(it, "one", {"cpu": "1500m"})
