"""The webhooks of queues on API servers, embedded and real: their configurations are accepted, and asked by."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from jobrelay.kube import Client, Forbidden, KubeError, NotFound, Resource, SystemClock, merge_patch, serves
from jobrelay.kube.resource import JOBS, MUTATINGWEBHOOKCONFIGURATIONS, VALIDATINGWEBHOOKCONFIGURATIONS
from jobrelay.queueing.definitions import ensure_definitions
from jobrelay.queueing.resources import CLUSTER_QUEUES, GROUP, WORKLOADS
from jobrelay.queueing.webhooks.configurations import NAME
from jobrelay.queueing.webhooks.converting import ConversionRegistration
from jobrelay.queueing.webhooks.defaults import QueueLookup
from jobrelay.queueing.webhooks.registration import WebhookRegistration
from jobrelay.queueing.webhooks.reviews import AdmissionReviews
from jobrelay.queueing.webhooks.serving import webhook_routes
from jobrelay.relay.api.serving import ApiServing
from jobrelay.relay.workers import ensure_namespace
from jobrelay.workloads import JobAdapter
from tests.queueing.fleets import QUEUE, queued_job, quota_queue
from tests.relay.fleets import NAMESPACE, AnyCluster

QUEUES = QueueLookup(
    lambda adapter, obj: obj.metadata.labels.get(QUEUE), lambda namespace: False, lambda namespace, queue: False
)


@asynccontextmanager
async def webhooks(client: Client) -> AsyncIterator[None]:
    """Definitions, and webhooks that are served and registered."""
    await ensure_namespace(client, NAMESPACE)
    await ensure_definitions(client, SystemClock())
    routes = webhook_routes(lambda: AdmissionReviews({JOBS: JobAdapter()}, QUEUES))
    async with ApiServing(
        client, lambda: None, ("127.0.0.1", 0), namespace=NAMESPACE, host="localhost", routes=routes
    ) as serving:
        registrations = (
            WebhookRegistration(client, serving.registered, [JOBS], admits=True, clock=SystemClock()),
            ConversionRegistration(client, serving.registered, clock=SystemClock()),
        )
        keeping = {asyncio.create_task(each.run()) for each in registrations}
        try:
            async with asyncio.timeout(60):
                await asyncio.gather(*(each.registered.wait() for each in registrations))
            yield
        finally:
            for task in keeping:
                task.cancel()
            await asyncio.wait(keeping)
            for kind in (MUTATINGWEBHOOKCONFIGURATIONS, VALIDATINGWEBHOOKCONFIGURATIONS):
                with suppress(NotFound):
                    await client.delete(kind, NAME)


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """An API server takes up new webhooks after a while."""
    async with asyncio.timeout(60):
        while not await holds():
            await asyncio.sleep(0.05)


async def refused(client: Client, body: dict[str, Any]) -> bool:
    """Whether a queue is refused; one that is not is removed again."""
    whole = {"apiVersion": CLUSTER_QUEUES.api_version, "kind": CLUSTER_QUEUES.kind, **body}
    try:
        await client.create(CLUSTER_QUEUES, whole)
    except Forbidden as error:
        return 'admission webhook "vclusterqueue.kb.io" denied the request: spec.resourceGroups[0]' in str(error)
    await client.delete(CLUSTER_QUEUES, body["metadata"]["name"])
    return False


async def suspended(client: Client, body: dict[str, Any]) -> bool:
    """Whether a Job is created suspended; it is removed again."""
    made = await client.create(JOBS, body)
    await client.delete(JOBS, made.name, made.namespace)
    return made.decode()["spec"].get("suspend") is True


async def test_an_api_server_asks_about_queues_jobs_and_workloads(any_cluster: AnyCluster) -> None:
    client = any_cluster.client()
    async with webhooks(client):
        await until(lambda: refused(client, quota_queue(cpu=-1)))
        assert not await refused(client, quota_queue(cpu=1))
        await until(lambda: suspended(client, _generated(queued_job("train", managed_by=None))))
        pods = [{"name": "main", "count": 2, "template": {"spec": {"containers": [_container({"pods": "1"})]}}}]
        workload = {"metadata": {"name": "w", "namespace": "default"}, "spec": {"podSets": pods}}
        with pytest.raises(Forbidden, match="the key is reserved for internal kueue use"):
            await client.create(WORKLOADS, {"apiVersion": WORKLOADS.api_version, "kind": "Workload", **workload})


OLD_QUEUES = Resource(GROUP, "v1beta1", "clusterqueues", "ClusterQueue", namespaced=False)
OLD_WORKLOADS = Resource(GROUP, "v1beta1", "workloads", "Workload")


async def create(client: Client, resource: Resource, body: dict[str, Any]) -> dict[str, Any]:
    made = await client.create(resource, {"apiVersion": resource.api_version, "kind": resource.kind, **body})
    return made.decode()


async def spec_of(client: Client, resource: Resource, name: str) -> dict[str, Any]:
    spec: dict[str, Any] = (await client.get(resource, name)).decode()["spec"]
    return spec


async def test_a_queue_has_the_names_of_the_version_that_it_is_read_in(any_cluster: AnyCluster) -> None:
    client = any_cluster.client()
    async with webhooks(client):
        await until(lambda: serves(client, OLD_QUEUES))
        fungibility = {"whenCanBorrow": "Borrow"}
        old = quota_queue(cohort="team", admissionChecks=["provision"], flavorFungibility=fungibility)
        await create(client, OLD_QUEUES, old)
        spec = await spec_of(client, CLUSTER_QUEUES, "cluster-queue")
        assert (spec["cohortName"], spec["flavorFungibility"]["whenCanBorrow"]) == ("team", "MayStopSearch")
        assert spec["admissionChecksStrategy"] == {"admissionChecks": [{"name": "provision"}]}
        await client.patch(CLUSTER_QUEUES, "cluster-queue", merge_patch({"spec": {"cohortName": "other"}}))
        spec = await spec_of(client, OLD_QUEUES, "cluster-queue")
        assert (spec["cohort"], "cohortName" in spec) == ("other", False)
        (shown,) = (await client.list(OLD_QUEUES)).items
        assert shown.decode()["spec"]["cohort"] == "other"


async def test_a_client_of_v1beta1_takes_nothing_away_from_a_workload(any_cluster: AnyCluster) -> None:
    client = any_cluster.client()
    async with webhooks(client):
        await until(lambda: serves(client, OLD_WORKLOADS))
        request = {"podsetSliceRequiredTopologyConstraints": [{"topology": "rack", "size": 2}]}
        pods = {"name": "main", "count": 2, "template": {"spec": {"containers": [_container({"cpu": "1"})]}}}
        spec = {"podSets": [{**pods, "topologyRequest": request}], "preemptionGates": [{"name": "a.example/b"}]}
        made = await create(client, WORKLOADS, {"metadata": {"name": "w", "namespace": "default"}, "spec": spec})
        seen = (await client.get(OLD_WORKLOADS, "w", "default")).decode()
        assert "preemptionGates" not in seen["spec"]
        seen["metadata"]["labels"] = {"touched": "yes"}
        await client.update(OLD_WORKLOADS, seen)
        kept = (await client.get(WORKLOADS, "w", "default")).decode()
        assert (kept["metadata"]["labels"], kept["spec"]) == ({"touched": "yes"}, made["spec"])
        assert not kept["metadata"].get("annotations")


async def test_while_the_relay_is_away_v1beta2_is_read_and_v1beta1_refused(any_cluster: AnyCluster) -> None:
    client = any_cluster.client()
    async with webhooks(client):
        await until(lambda: serves(client, OLD_QUEUES))
        await create(client, OLD_QUEUES, quota_queue(cohort="team"))
    assert (await spec_of(client, CLUSTER_QUEUES, "cluster-queue"))["cohortName"] == "team"
    with pytest.raises(KubeError, match=r"conversion webhook for kueue\.x-k8s\.io/v1beta2, Kind=ClusterQueue failed"):
        await client.get(OLD_QUEUES, "cluster-queue")
    written = await client.patch(CLUSTER_QUEUES, "cluster-queue", merge_patch({"spec": {"cohortName": "other"}}))
    assert written.decode()["spec"]["cohortName"] == "other"
    assert "managedFields" not in written.decode()["metadata"]  # those of v1beta1 cannot be compared


def _generated(body: dict[str, Any]) -> dict[str, Any]:
    """An object that gets a new name each time."""
    metadata = {key: value for key, value in body["metadata"].items() if key != "name"}
    return {**body, "metadata": {**metadata, "generateName": "train-"}}


def _container(requests: dict[str, str]) -> dict[str, Any]:
    return {"name": "main", "image": "x", "resources": {"requests": requests}}
