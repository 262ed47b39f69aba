"""The rights that `jobrelay install` gives are enough to admit by queues."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jobrelay.kube import Forbidden, SystemClock, connect
from jobrelay.kube.resource import JOBS, LEASES, VALIDATINGWEBHOOKCONFIGURATIONS
from jobrelay.queueing.definitions import ensure_definitions
from jobrelay.queueing.gate import QueueingGate
from jobrelay.queueing.names import KUEUE_LEASE
from jobrelay.queueing.resources import CLUSTER_QUEUES, RESOURCE_FLAVORS
from jobrelay.queueing.webhooks.configurations import NAME
from jobrelay.queueing.webhooks.registration import WebhookRegistration
from jobrelay.relay.api.registration import Registered
from tests.operate.fleets import install, installed_relay, joined
from tests.queueing.fleets import QueueFleet, queued_job
from tests.relay.fleets import fleet


async def test_an_installed_relay_admits_starts_and_stops_jobs_and_writes_statuses() -> None:
    async with fleet(1, start=False) as base:
        await base.open_namespace("team-a", "worker-1")
        await ensure_definitions(base.client, SystemClock())
        it = QueueFleet(base)
        await it.make_queue(flavor={"nodeLabels": {"pool": "a"}})
        async with joined(base), installed_relay(base, QueueingGate):
            await it.client.create(JOBS, queued_job("train", managed_by=None, suspend=True))
            await it.until_condition("train", "Admitted")
            await base.until(lambda: _counted(it))
            await it.patch(CLUSTER_QUEUES, "cluster-queue", {"spec": {"stopPolicy": "HoldAndDrain"}})
            await it.until_condition("train", "QuotaReserved", status=False)
            await base.until(lambda: _restored(it))
            assert (await it.client.get(RESOURCE_FLAVORS, "default")).metadata.finalizers


async def _counted(it: QueueFleet) -> bool:
    status: dict[str, Any] = (await it.client.get(CLUSTER_QUEUES, "cluster-queue")).decode().get("status", {})
    return status.get("admittedWorkloads") == 1


async def _restored(it: QueueFleet) -> bool:
    spec = (await it.it.job("train"))["spec"]
    return bool(spec["suspend"]) and "nodeSelector" not in spec["template"]["spec"]


async def test_an_installed_relay_sees_whether_kueues_manager_leads_and_no_other_lease() -> None:
    async with fleet(1, start=False) as base, connect(await install(base)) as client:
        found = await client.list(LEASES, field_selector=f"metadata.name={KUEUE_LEASE}")
        assert found.items == ()
        with pytest.raises(Forbidden):
            await client.list(LEASES)


async def test_an_installed_relay_fills_the_configurations_of_its_webhooks_and_creates_none() -> None:
    async with fleet(1, start=False) as base, connect(await install(base)) as client:
        registered = Registered("jobrelay-system", b"authority")
        registration = WebhookRegistration(client, registered, [JOBS], admits=True, clock=SystemClock())
        keeping = asyncio.create_task(registration.run())
        try:
            async with asyncio.timeout(60):
                await registration.registered.wait()
        finally:
            keeping.cancel()
            await asyncio.wait({keeping})
        found = (await base.client.get(VALIDATINGWEBHOOKCONFIGURATIONS, NAME)).decode()
        assert "vjob.kb.io" in [each["name"] for each in found["webhooks"]]
        with pytest.raises(Forbidden):
            await client.create(VALIDATINGWEBHOOKCONFIGURATIONS, {**found, "metadata": {"name": "another"}})
