"""Every kind that the relay knows can be queued."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from jobrelay.kube import Object, Resource
from jobrelay.kube.objects import decode_object
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS
from jobrelay.operate.crds import make_definitions as project_definitions
from jobrelay.queueing.integrations.building import make_workload
from jobrelay.queueing.integrations.podsets import pod_sets
from jobrelay.queueing.priorities import Priority
from jobrelay.queueing.reading import read_pod_set
from jobrelay.queueing.resources import CLUSTER_QUEUES, WORKLOADS
from jobrelay.queueing.views import PodSetView, WorkloadView
from jobrelay.workloads import Adapter, load_adapters
from jobrelay.workloads.names import MULTIKUEUE
from tests.queueing.fleets import QUEUE, queue_fleet, quota_queue
from tests.relay.kinds.cases import CASES

JOBSETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
ADAPTERS = [each for each in load_adapters() if str(each.resource) in CASES]


def original(adapter: Adapter) -> Object:
    body = CASES[str(adapter.resource)].body(adapter)
    body["metadata"] |= {"uid": "u", "labels": {QUEUE: "main"}}
    return decode_object(msgspec.json.encode(body))


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda each: each.resource.kind)
def test_the_workload_of_a_kind_has_its_pods_and_is_valid(adapter: Adapter) -> None:
    obj = original(adapter)
    sets = pod_sets(adapter, obj)
    demand = adapter.demand(obj).pod_sets
    read = [read_pod_set(msgspec.convert(each, PodSetView), each["template"]["spec"]) for each in sets]
    if demand:
        assert [each.count for each in read] == [each.count for each in demand]
        assert sum(each.requests.get("cpu", 0) * each.count for each in read) == sum(
            each.requests.get("cpu", 0) * 1000 * each.count for each in demand
        )
    assert len({each.name for each in read}) == len(read) >= 1
    assert 1 <= len(sets) <= 18
    assert make_workload(adapter.resource, obj, "main", sets, Priority())["spec"]["podSets"] == sets


async def test_a_delegated_jobset_waits_for_quota_before_it_is_placed() -> None:
    async with queue_fleet(1) as it:
        for client in (it.client, it.it.on("worker-1")):
            for each in project_definitions("jobset"):
                await client.create(CUSTOMRESOURCEDEFINITIONS, each)
        await it.make_queue(cpu=0)
        body = CASES["jobsets.jobset.x-k8s.io"].body(next(each for each in ADAPTERS if each.resource.kind == "JobSet"))
        body["metadata"]["labels"] = {QUEUE: "main"}

        async def created() -> bool:
            await it.client.create(JOBSETS, body)
            return True

        await it.it.until(created)
        await it.until_condition("train", "QuotaReserved", status=False)
        assert (await it.it.on("worker-1").list(JOBSETS, "default")).items == ()
        await it.patch(CLUSTER_QUEUES, "cluster-queue", {"spec": quota_queue(cpu=8)["spec"]})

        async def mirrored() -> bool:
            return bool((await it.it.on("worker-1").list(JOBSETS, "default")).items)

        await it.it.until(mirrored)


def test_pod_sets_are_named_as_kueue_names_them() -> None:
    by_kind = {each.resource.kind: each for each in ADAPTERS}
    found = {kind: [each["name"] for each in pod_sets(by_kind[kind], original(by_kind[kind]))] for kind in by_kind}
    assert found["Job"] == ["main"]
    assert found["RayCluster"] == ["head", "w"]
    assert set(found["PyTorchJob"]) <= {"master", "worker"}


def runtime_job(name: str, cpu: str, step: str) -> dict[str, Any]:
    pod = {"containers": [{"name": "node", "image": "any", "resources": {"requests": {"cpu": cpu}}}]}
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": step}
    return {"name": name, "template": {"metadata": {"labels": labels}, "spec": {"template": {"spec": pod}}}}


async def test_a_trainjob_takes_quota_for_the_pods_of_its_runtime() -> None:
    trainjobs = Resource("trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob")
    runtimes = Resource(
        "trainer.kubeflow.org", "v1alpha1", "clustertrainingruntimes", "ClusterTrainingRuntime", namespaced=False
    )
    async with queue_fleet(1) as it:
        for each in project_definitions("trainer"):
            await it.client.create(CUSTOMRESOURCEDEFINITIONS, each)
        await it.make_queue(cpu=20)
        jobs = [runtime_job("init", "1", "dataset-initializer"), runtime_job("node", "4", "trainer")]
        spec = {"mlPolicy": {"numNodes": 3}, "template": {"spec": {"replicatedJobs": jobs}}}
        adapter = next(each for each in ADAPTERS if each.resource == trainjobs)
        body = CASES[str(trainjobs)].body(adapter, MULTIKUEUE)
        body["metadata"]["labels"] = {QUEUE: "main"}
        body["spec"].pop("trainer")

        async def created() -> bool:
            await it.create(runtimes, {"metadata": {"name": "torch"}, "spec": spec})
            await it.client.create(trainjobs, body)
            return True

        async def admitted() -> list[Any] | None:
            found = (await it.client.list(WORKLOADS, "default")).items
            admission = found[0].decode(WorkloadView).status.admission if found else None
            return list(admission.pod_set_assignments) if admission is not None else None

        await it.it.until(created)
        usage = await it.it.until(admitted)
        assert [(each.count, each.resource_usage["cpu"]) for each in usage] == [(1, "1"), (3, "12")]
