"""Kueue, played by a test: its definitions without their schemas, its objects, and the statuses that it writes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from jobrelay.kube import Client, NotFound, Object, Resource, merge_patch
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS, JOBS
from jobrelay.relay.multikueue.dispatching import DEFAULT_DISPATCHING, Dispatching
from jobrelay.relay.multikueue.views import CHECKS, CONFIGS, CONTROLLER, QUEUE_NAME, WORKLOADS
from jobrelay.workloads.names import MULTIKUEUE
from tests.relay.fleets import Fleet, fleet, job

AT = "2026-01-01T12:00:00Z"


def definition(plural: str, kind: str, scope: str) -> dict[str, Any]:
    """A definition like Kueue's, which accepts everything."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1beta2", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": plural, "singular": plural[:-1], "kind": kind, "listKind": f"{kind}List"}
    group = "kueue.x-k8s.io"
    spec = {"group": group, "scope": scope, "names": names, "versions": [{**version, "subresources": {"status": {}}}]}
    return {"metadata": {"name": f"{plural}.{group}"}, "spec": spec}


DEFINITIONS = (
    definition("workloads", "Workload", "Namespaced"),
    definition("admissionchecks", "AdmissionCheck", "Cluster"),
    definition("multikueueconfigs", "MultiKueueConfig", "Cluster"),
)


class PlayedKueue:
    """Kueue on one cluster: a test says what it does."""

    def __init__(self, fleet: Fleet, client: Client) -> None:
        self.fleet, self.client = fleet, client

    async def install(self) -> None:
        for each in DEFINITIONS:
            await self.client.create(CUSTOMRESOURCEDEFINITIONS, each)

    async def configure(self, *clusters: str, check: str = "mk") -> None:
        """A check with a MultiKueueConfig that names some clusters."""
        parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "all"}
        await self.client.create(
            CONFIGS, of(CONFIGS) | {"metadata": {"name": "all"}, "spec": {"clusters": list(clusters)}}
        )
        spec = {"controllerName": CONTROLLER, "parameters": parameters}
        await self.client.create(CHECKS, of(CHECKS) | {"metadata": {"name": check}, "spec": spec})

    async def submit(self, name: str = "train", managed_by: str | None = MULTIKUEUE, **more: Any) -> None:
        """A queued Job, suspended as Kueue's webhook leaves it, and its Workload."""
        body = job(name, managed_by=managed_by, suspend=True, **more)
        body["metadata"]["labels"] = {QUEUE_NAME: "team"}
        made = await self.client.create(JOBS, body)
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": made.uid, "controller": True}
        metadata = {"name": f"job-{name}", "namespace": "default", "ownerReferences": [owner]}
        await self.client.create(WORKLOADS, of(WORKLOADS) | {"metadata": metadata, "spec": {"queueName": "team"}})

    async def write(self, name: str = "train", **status: Any) -> None:
        patch = merge_patch({"status": status})
        await self.client.patch(WORKLOADS, f"job-{name}", patch, "default", subresource="status")

    async def reserve(self, name: str = "train", checks: Sequence[str] = ("mk",), at: str = AT) -> None:
        states = [{"name": each, "state": "Pending", "message": "", "lastTransitionTime": at} for each in checks]
        await self.write(name, conditions=[condition("QuotaReserved", at=at)], admissionChecks=states)

    async def suspend(self, name: str = "train", *, suspend: bool) -> None:
        await self.client.patch(JOBS, name, merge_patch({"spec": {"suspend": suspend}}), "default")

    async def admit(self, name: str = "train") -> None:
        """The check is ready: the Workload is admitted, the Job resumed."""
        held = (await self.workload(name))["status"]["conditions"]
        await self.write(name, conditions=[*held, condition("Admitted")])
        await self.suspend(name, suspend=False)

    async def evict(self, name: str = "train") -> None:
        """Suspend the Job, wait until nothing runs, and take the quota back, as Kueue does."""
        held = (await self.workload(name))["status"]["conditions"]
        stats = {"evictions": [{"reason": "Preempted", "count": 1}]}
        states = (await self.workload(name))["status"]["admissionChecks"]
        pending = [each | {"state": "Pending", "message": "Reset to Pending after eviction"} for each in states]
        evicted = [*(one for one in held if one["type"] != "Evicted"), condition("Evicted")]
        await self.write(name, conditions=evicted, admissionChecks=pending, schedulingStats=stats)
        await self.suspend(name, suspend=True)
        await self.fleet.until(lambda: self.idle(name))
        await self.write(name, conditions=[condition("QuotaReserved", "False"), condition("Evicted")])

    async def idle(self, name: str) -> bool:
        return not (await self.fleet.job(name)).get("status", {}).get("active")

    async def workload(self, name: str = "train") -> dict[str, Any]:
        return (await self.client.get(WORKLOADS, f"job-{name}", "default")).decode()

    async def check(self, name: str = "train") -> dict[str, Any]:
        return dict((await self.workload(name))["status"]["admissionChecks"][0])

    async def ready(self, name: str = "train") -> str:
        """Wait until the check is ready; the name of the worker."""

        async def found() -> str:
            status = (await self.workload(name)).get("status", {})
            states = [each["state"] for each in status.get("admissionChecks", ())]
            return str(status.get("clusterName", "")) if "Ready" in states else ""

        return str(await self.fleet.until(found))

    async def state(self, wanted: str, name: str = "train") -> dict[str, Any]:
        """Wait until the check has a state; the check."""

        async def found() -> dict[str, Any] | None:
            check = await self.check(name)
            return check if check["state"] == wanted else None

        return dict(await self.fleet.until(found))

    async def active(self, check: str = "mk") -> dict[str, Any]:
        """Wait until the check has a condition; it."""

        async def found() -> Any:
            status = (await self.client.get(CHECKS, check)).decode().get("status", {})
            return next(iter(status.get("conditions", ())), None)

        return dict(await self.fleet.until(found))


def of(resource: Resource) -> dict[str, Any]:
    return {"apiVersion": resource.api_version, "kind": resource.kind}


def condition(type_: str, status: str = "True", at: str = AT) -> dict[str, Any]:
    return {"type": type_, "status": status, "reason": "Played", "message": "", "lastTransitionTime": at}


async def found(client: Client, name: str, namespace: str = "default") -> Object | None:
    try:
        return await client.get(JOBS, name, namespace)
    except NotFound:
        return None


@asynccontextmanager
async def beside_kueue(
    workers: int = 2, how: Dispatching = DEFAULT_DISPATCHING, **settings: Any
) -> AsyncIterator[tuple[Fleet, PlayedKueue]]:
    """A fleet whose management cluster has Kueue's objects, with a check for all workers, and a relay."""
    async with fleet(workers, start=False, **settings) as it:
        kueue = PlayedKueue(it, it.client)
        await kueue.install()
        await kueue.configure(*it.workers)
        it.multikueue = how
        await it.start()
        yield it, kueue
