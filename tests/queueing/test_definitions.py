"""Our definitions of Kueue's kinds: names, columns, defaults and rules, and Kueue's own manifests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jobrelay.cluster import Cluster
from jobrelay.kube import Client, Invalid, Resource, SystemClock, merge_patch, serves
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS
from jobrelay.queueing.definitions import ensure_definitions, make_definitions
from jobrelay.queueing.resources import CLUSTER_QUEUES, KINDS, LOCAL_QUEUES, RESOURCE_FLAVORS, WORKLOADS
from tests.queueing.fleets import quota_queue


async def create(client: Client, resource: Resource, body: dict[str, Any]) -> dict[str, Any]:
    made = await client.create(resource, {"apiVersion": resource.api_version, "kind": resource.kind, **body})
    return made.decode()


async def test_all_kinds_are_served_and_defaults_are_kueues() -> None:
    async with Cluster("m") as cluster:
        client = cluster.client()
        assert len(await ensure_definitions(client, SystemClock())) == len(KINDS)
        assert await ensure_definitions(client, SystemClock()) == []
        spec = (await create(client, CLUSTER_QUEUES, quota_queue()))["spec"]
        assert (spec["queueingStrategy"], spec["stopPolicy"]) == ("BestEffortFIFO", "None")
        assert spec["flavorFungibility"] == {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"}
        assert spec["preemption"] == {
            "borrowWithinCohort": {"policy": "Never"},
            "reclaimWithinCohort": "Never",
            "withinClusterQueue": "Never",
        }


async def test_rules_refuse_with_kueues_messages() -> None:
    async with Cluster("m") as cluster:
        client = cluster.client()
        await ensure_definitions(client, SystemClock())
        preemption = {"reclaimWithinCohort": "Never", "borrowWithinCohort": {"policy": "LowerPriority"}}
        with pytest.raises(Invalid, match=r"reclaimWithinCohort=Never and borrowWithinCohort\.Policy!=Never"):
            await create(client, CLUSTER_QUEUES, quota_queue(preemption=preemption))
        borrowing = quota_queue()
        borrowing["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["borrowingLimit"] = 1
        with pytest.raises(Invalid, match="borrowingLimit must be nil when cohort is empty"):
            await create(client, CLUSTER_QUEUES, borrowing)
        flavor = {"metadata": {"name": "a"}, "spec": {"topologyName": "default"}}
        with pytest.raises(Invalid, match="at least one nodeLabel is required when topology is set"):
            await create(client, RESOURCE_FLAVORS, flavor)


async def test_a_local_queue_keeps_its_cluster_queue() -> None:
    async with Cluster("m") as cluster:
        client = cluster.client()
        await ensure_definitions(client, SystemClock())
        body = {"metadata": {"name": "main", "namespace": "default"}, "spec": {"clusterQueue": "a"}}
        await create(client, LOCAL_QUEUES, body)
        with pytest.raises(Invalid, match="field is immutable"):
            await client.patch(LOCAL_QUEUES, "main", merge_patch({"spec": {"clusterQueue": "b"}}), "default")


async def test_kinds_that_differ_are_served_as_v1beta2_only_where_nothing_converts() -> None:
    async with Cluster("m") as cluster:
        client = cluster.client()
        await ensure_definitions(client, SystemClock())
        served = {each.kind for each in KINDS if await serves(client, replace(each, version="v1beta1"))}
        assert {each.kind for each in KINDS} - served == {"ClusterQueue", "LocalQueue", "Workload"}


async def test_a_workload_is_selected_by_the_queue_that_it_holds_quota_of() -> None:
    async with Cluster("m") as cluster:
        client = cluster.client()
        await ensure_definitions(client, SystemClock())
        found = await client.list(WORKLOADS, field_selector="status.admission.clusterQueue=a")
        assert found.items == ()


async def test_kueues_own_definitions_are_left_as_they_are() -> None:
    async with Cluster("m") as cluster:
        client = cluster.client()
        other = make_definitions()[0]
        other["metadata"]["labels"] = {"app.kubernetes.io/name": "kueue"}
        await client.create(CUSTOMRESOURCEDEFINITIONS, other)
        assert other["metadata"]["name"] not in await ensure_definitions(client, SystemClock())
        kept = await client.get(CUSTOMRESOURCEDEFINITIONS, other["metadata"]["name"])
        assert kept.metadata.labels == {"app.kubernetes.io/name": "kueue"}
