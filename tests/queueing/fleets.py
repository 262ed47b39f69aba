"""A fleet whose relay admits by queues, and the objects of queues."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

from jobrelay.kube import Client, NotFound, Object, Resource, SystemClock, merge_patch
from jobrelay.kube.resource import MUTATINGWEBHOOKCONFIGURATIONS as MUTATING
from jobrelay.kube.resource import VALIDATINGWEBHOOKCONFIGURATIONS as VALIDATING
from jobrelay.queueing.conditions import StatusCondition, find
from jobrelay.queueing.configuration import Configuration
from jobrelay.queueing.definitions import ensure_definitions
from jobrelay.queueing.gate import QueueingGate
from jobrelay.queueing.resources import CLUSTER_QUEUES, LOCAL_QUEUES, RESOURCE_FLAVORS, WORKLOADS
from jobrelay.queueing.views import WorkloadView
from jobrelay.queueing.webhooks.configurations import NAME
from jobrelay.queueing.webhooks.converting import ConversionRegistration
from jobrelay.queueing.webhooks.registration import WebhookRegistration
from jobrelay.queueing.webhooks.serving import webhook_routes
from jobrelay.relay.api.serving import ApiServing
from tests.relay.fleets import NAMESPACE, Fleet, fleet, job

QUEUE = "kueue.x-k8s.io/queue-name"


def quota_queue(name: str = "cluster-queue", cpu: Any = 2, flavor: str = "default", **spec: Any) -> dict[str, Any]:
    """A ClusterQueue with one flavor and some CPU."""
    resources = [{"name": "cpu", "nominalQuota": cpu}]
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": flavor, "resources": resources}]}]
    return {"metadata": {"name": name}, "spec": {"namespaceSelector": {}, "resourceGroups": groups, **spec}}


def queued_job(
    name: str, *, cpu: str = "1", queue: str = "main", labels: Mapping[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    """A Job in a queue whose pod requests some CPU."""
    made = job(name, **more)
    made["metadata"]["labels"] = {QUEUE: queue, **(labels or {})}
    made["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    return made


class QueueFleet:
    """A fleet with one LocalQueue, `main`, of ClusterQueue `cluster-queue`."""

    def __init__(self, it: Fleet) -> None:
        self.it, self.client = it, it.client

    @property
    def gate(self) -> QueueingGate:
        assert self.it.relay is not None
        assert isinstance(self.it.relay.gate, QueueingGate)
        return self.it.relay.gate

    async def make_queue(self, cpu: Any = 2, flavor: Mapping[str, Any] | None = None, **spec: Any) -> None:
        await self.create(RESOURCE_FLAVORS, {"metadata": {"name": "default"}, "spec": dict(flavor or {})})
        await self.create(CLUSTER_QUEUES, quota_queue(cpu=cpu, **spec))
        await self.local_queue("main")

    async def local_queue(self, name: str, cluster_queue: str = "cluster-queue") -> None:
        body = {"metadata": {"name": name, "namespace": "default"}, "spec": {"clusterQueue": cluster_queue}}
        await self.create(LOCAL_QUEUES, body)

    async def create(self, resource: Resource, body: Mapping[str, Any]) -> Object:
        whole = {"apiVersion": resource.api_version, "kind": resource.kind, **body}
        return await self.client.create(resource, whole)

    async def workload(self, name: str) -> Object | None:
        """The Workload of a Job."""
        for each in (await self.client.list(WORKLOADS, "default")).items:
            owner = each.metadata.controller
            if owner is not None and owner.name == name:
                return each
        return None

    async def condition(self, name: str, type_: str) -> StatusCondition | None:
        found = await self.workload(name)
        return find(found.decode(WorkloadView).status.conditions, type_) if found is not None else None

    async def until_condition(self, name: str, type_: str, status: bool = True, reason: str = "") -> StatusCondition:
        """Wait for a condition of the Workload of a Job."""

        async def holds() -> StatusCondition | None:
            found = await self.condition(name, type_)
            return found if found and found.holds == status and reason in ("", found.reason) else None

        result: StatusCondition = await self.it.until(holds)
        return result

    async def patch(
        self, resource: Any, name: str, change: dict[str, Any], namespace: str | None = None, **more: Any
    ) -> Object:
        return await self.client.patch(resource, name, merge_patch(change), namespace, **more)

    async def absent(self, resource: Any, name: str, namespace: str | None = None) -> None:
        async def gone() -> bool:
            try:
                await self.client.get(resource, name, namespace)
            except NotFound:
                return True
            return False

        await self.it.until(gone)


@asynccontextmanager
async def queue_fleet(
    workers: int = 1, configuration: Configuration | None = None, *, webhooks: bool = False, **settings: Any
) -> AsyncIterator[QueueFleet]:
    """A running fleet whose relay admits by queues; with `webhooks` it also answers those of its API server."""
    async with fleet(workers, start=False, **settings) as it, AsyncExitStack() as stack:
        await ensure_definitions(it.client, SystemClock())
        it.gate = lambda parts: QueueingGate(parts, configuration)
        await it.start()
        made = QueueFleet(it)
        if webhooks:
            await stack.enter_async_context(serving_webhooks(made))
        yield made


@asynccontextmanager
async def serving_webhooks(fleet: QueueFleet) -> AsyncIterator[None]:
    """Serve the webhooks of a fleet's relay, and register them."""
    it = fleet.it
    assert it.relay is not None
    await it.relay.manager.ready.wait()
    routes = webhook_routes(lambda: fleet.gate.reviews)
    async with ApiServing(
        Client(it.home), lambda: it.relay, ("127.0.0.1", 0), namespace=NAMESPACE, host="localhost", routes=routes
    ) as serving:
        queued = [kind.adapter.resource for kind in it.relay.state.kinds.values()]
        registrations = (
            WebhookRegistration(it.client, serving.registered, queued, admits=True, clock=SystemClock()),
            ConversionRegistration(it.client, serving.registered, clock=SystemClock()),
        )
        keeping = {asyncio.create_task(each.run()) for each in registrations}
        try:
            await asyncio.gather(*(each.registered.wait() for each in registrations))
            yield
        finally:
            for task in keeping:
                task.cancel()
            await asyncio.wait(keeping)
            for kind in (MUTATING, VALIDATING):
                with suppress(NotFound):
                    await it.client.delete(kind, NAME)
