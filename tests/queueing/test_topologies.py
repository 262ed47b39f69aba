"""Topologies: whether queues are active with them, and what becomes of pods that ask for one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from jobrelay.kube.objects import decode_object
from jobrelay.kube.resource import JOBS
from jobrelay.queueing.names import IN_USE
from jobrelay.queueing.queue_conditions import QueueParts, cluster_queue_activity
from jobrelay.queueing.reading import topology_refusal
from jobrelay.queueing.resources import CLUSTER_QUEUES, RESOURCE_FLAVORS, TOPOLOGIES
from jobrelay.queueing.views import ClusterQueueView, PodSetView
from tests.queueing.fleets import queue_fleet, queued_job, quota_queue

REQUIRED = "kueue.x-k8s.io/podset-required-topology"
RACK = "cloud.provider.com/topology-rack"
MISSING = (("tas", "racks"),)


def activity(parts: QueueParts) -> tuple[bool, str, str]:
    body = {"apiVersion": CLUSTER_QUEUES.api_version, "kind": CLUSTER_QUEUES.kind, **quota_queue()}
    body["metadata"]["uid"] = "u"
    found = cluster_queue_activity(decode_object(msgspec.json.encode(body), CLUSTER_QUEUES), parts)
    return found.active, found.reason, found.message


@pytest.mark.parametrize(
    ("parts", "reason", "text"),
    [
        (
            QueueParts(missing_topologies=MISSING),
            "TopologyNotFound",
            'there is no Topology "racks" for TAS flavor "tas"',
        ),
        (
            QueueParts(multikueue_checks=("a", "b")),
            "MultipleMultiKueueAdmissionChecks",
            "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: a,b",
        ),
        (
            QueueParts(multikueue_checks=("a",), multikueue_checks_per_flavor=("a",)),
            "MultiKueueAdmissionCheckAppliedPerFlavor",
            "Cannot specify MultiKueue AdmissionCheck per flavor, found: a",
        ),
        (
            QueueParts(multikueue_checks=("a",), provisioning_checks=("p",)),
            "MultiKueueWithProvisioningRequest",
            "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: a, p",
        ),
        (
            QueueParts(missing_flavors=("f",), multikueue_checks=("a",), missing_topologies=MISSING),
            "FlavorNotFound",
            'references missing ResourceFlavor(s): f, there is no Topology "racks" for TAS flavor "tas"',
        ),
    ],
)
def test_a_queue_that_cannot_be_meant_is_inactive_with_kueues_text(parts: QueueParts, reason: str, text: str) -> None:
    assert activity(parts) == (False, reason, f"Can't admit new workloads: {text}.")


def test_the_topologies_of_a_queue_for_other_clusters_are_theirs() -> None:
    parts = QueueParts(multikueue_checks=("a",), missing_topologies=MISSING)
    assert activity(parts) == (True, "Ready", "Can admit new workloads")


@pytest.mark.parametrize(
    "pods",
    [
        PodSetView(template={"metadata": {"annotations": {REQUIRED: RACK}}}),
        PodSetView(template={"metadata": {"annotations": {"kueue.x-k8s.io/podset-slice-required-topology": RACK}}}),
        PodSetView(topology_request={"required": RACK}),
        PodSetView(topology_request={"podSetSliceRequiredTopology": RACK}),
    ],
)
def test_pods_that_have_to_be_together_are_not_admitted(pods: PodSetView) -> None:
    assert topology_refusal([PodSetView(), pods]).startswith(f"pod set main requires topology {RACK}, and pods are not")


def test_pods_that_would_rather_be_together_are_admitted() -> None:
    annotations = {"kueue.x-k8s.io/podset-preferred-topology": RACK}
    assert topology_refusal([PodSetView(template={"metadata": {"annotations": annotations}})]) == ""


async def test_a_required_topology_is_the_reason_to_wait_and_holds_up_nobody_else() -> None:
    async with queue_fleet() as it:
        await it.make_queue(cpu=1)
        body: dict[str, Any] = queued_job("tas")
        body["spec"]["template"].setdefault("metadata", {})["annotations"] = {REQUIRED: RACK}
        await it.client.create(JOBS, body)
        found = await it.until_condition("tas", "QuotaReserved", status=False)
        assert found.message.startswith(f"pod set main requires topology {RACK}")
        await it.client.create(JOBS, queued_job("plain"))
        await it.until_condition("plain", "Admitted")


async def test_a_queue_becomes_active_when_its_topology_comes() -> None:
    async with queue_fleet() as it:
        await it.make_queue(flavor={"nodeLabels": {"pool": "gpu"}, "topologyName": "racks"})

        async def is_active(wanted: str) -> bool:
            queue = await it.client.get(CLUSTER_QUEUES, "cluster-queue")
            conditions = queue.decode(ClusterQueueView).status.conditions
            return [(each.holds, each.reason) for each in conditions] == [(wanted == "Ready", wanted)]

        await it.it.until(lambda: is_active("TopologyNotFound"))
        await it.create(TOPOLOGIES, {"metadata": {"name": "racks"}, "spec": {"levels": [{"nodeLabel": RACK}]}})
        await it.it.until(lambda: is_active("Ready"))


async def test_a_topology_that_a_flavor_names_is_not_removed() -> None:
    async with queue_fleet() as it:
        await it.create(TOPOLOGIES, {"metadata": {"name": "racks"}, "spec": {"levels": [{"nodeLabel": RACK}]}})
        spec = {"nodeLabels": {"pool": "gpu"}, "topologyName": "racks"}
        await it.create(RESOURCE_FLAVORS, {"metadata": {"name": "tas"}, "spec": spec})

        async def is_kept() -> bool:
            return IN_USE in (await it.client.get(TOPOLOGIES, "racks")).metadata.finalizers

        await it.it.until(is_kept)
        await it.client.delete(TOPOLOGIES, "racks")
        assert await is_kept()
        await it.client.delete(RESOURCE_FLAVORS, "tas")
        await it.absent(TOPOLOGIES, "racks")
