"""What users of the management cluster and tenants of workers do in a simulated fleet, right or wrong."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any

import msgspec

from jobrelay.kube import AlreadyExists, Client, KubeError, Object, merge_patch
from jobrelay.kube.client import Propagation
from jobrelay.kube.objects import decode_object
from jobrelay.kube.resource import JOBS, NAMESPACES
from jobrelay.relay.names import CLUSTERS, FENCING
from jobrelay.simulation.cluster import SimulatedCluster
from jobrelay.simulation.fleet import BOUNDS, SimulatedFleet
from jobrelay.simulation.promises import TENANT, Promises
from jobrelay.simulation.schedules import Incident, JobPlan
from jobrelay.workloads.names import ASSIGNMENT, EPOCH, ORIGIN, ORIGIN_NAME, ORIGIN_UID, RELAY

FLOOD = "flood"
"""The namespace on workers in which a tenant floods the relay."""
_MANY, _LARGE = BOUNDS.max_mirrors + 20, BOUNDS.max_object_bytes + 1024
_FORGED = 10**9
"""By how much a user raises an epoch that he makes up."""
_ATTEMPTS = 60
_RESUME = merge_patch({"spec": {"suspend": False}})


class People:
    """Users and tenants. What a server refuses them, they leave be."""

    def __init__(self, fleet: SimulatedFleet, random: Random, promises: Promises, tell: Callable[[str], None]) -> None:
        self._fleet, self._random, self._promises, self._tell = fleet, random, promises, tell
        self._plans: dict[str, JobPlan] = {}
        self.actions: dict[str, Callable[[Incident], Awaitable[None]]] = {
            "delete-original": self._delete_original,
            "recreate-original": self._recreate_original,
            "suspend": self._suspend,
            "touch": self._touch,
            "forget-assignment": self._forget_assignment,
            "forge-assignment": self._forge_assignment,
            "replace-original": self._replace_original,
            "delete-mirror": self._delete_mirror,
            "orphan-mirror": self._orphan_mirror,
            "edit-mirror": self._edit_mirror,
            "unmark-mirror": self._unmark_mirror,
            "look-alike": self._look_alike,
            "flood": self._flood,
        }

    # Users

    async def submit(self, plan: JobPlan) -> None:
        """Create a Job when its time has come, and keep trying."""
        await asyncio.sleep(plan.at)
        self._plans[plan.name] = plan
        client = self._fleet.client()
        while True:
            try:
                made = await _created(client, _manifest(plan))
            except KubeError:
                await asyncio.sleep(1)
                continue
            self._promises.created(made.uid, plan)
            self._tell(f"{plan.name} is created ({'fenced, ' if plan.fenced else ''}{plan.seconds:g} s)")
            return

    async def _original(self, client: Client) -> Object | None:
        jobs = (await client.list(JOBS)).items
        return self._random.choice(jobs) if jobs else None

    async def _delete_original(self, incident: Incident) -> None:
        client = self._fleet.client()
        with suppress(KubeError):
            if (job := await self._original(client)) is not None:
                self._tell(f"{job.name} is deleted by its user")
                await client.delete(JOBS, job.name, job.namespace, propagation="Background", uid=job.uid)

    async def _recreate_original(self, incident: Incident) -> None:
        client = self._fleet.client()
        with suppress(KubeError):
            if (job := await self._original(client)) is not None:
                self._tell(f"{job.name} is deleted by its user, who creates it anew")
                await client.delete(JOBS, job.name, job.namespace, propagation="Background", uid=job.uid)
                made = await client.create(JOBS, _manifest(self._plans[job.name]))
                self._promises.created(made.uid, self._plans[job.name])

    async def _suspend(self, incident: Incident) -> None:
        client = self._fleet.client()
        with suppress(KubeError):
            if (job := await self._original(client)) is None:
                return
            await client.patch(JOBS, job.name, merge_patch({"spec": {"suspend": True}}), job.namespace)
            await asyncio.sleep(incident.seconds)
            await self._again(lambda: client.patch(JOBS, job.name, _RESUME, job.namespace))

    async def _touch(self, incident: Incident) -> None:
        client, until = self._fleet.client(), self._fleet.loop.time() + incident.seconds
        while self._fleet.loop.time() < until:
            with suppress(KubeError):
                for job in (await client.list(JOBS)).items:
                    change = {"metadata": {"labels": {"touched": f"{self._random.getrandbits(20)}"}}}
                    await client.patch(JOBS, job.name, merge_patch(change), job.namespace)
            await asyncio.sleep(self._random.uniform(0.05, 2.0))

    async def _forget_assignment(self, incident: Incident) -> None:
        client = self._fleet.client()
        with suppress(KubeError):
            if (job := await self._original(client)) is not None:
                change = {"metadata": {"annotations": {ASSIGNMENT: None}}}
                await client.patch(JOBS, job.name, merge_patch(change), job.namespace)

    async def _forge_assignment(self, incident: Incident) -> None:
        client = self._fleet.client()
        with suppress(KubeError):
            if (job := await self._original(client)) is None:
                return
            epoch = _epoch(job) + self._random.choice((1, _FORGED))
            forged = {"cluster": self._random.choice(list(self._fleet.workers)), "epoch": epoch}
            self._promises.forged(job.uid, epoch)
            self._tell(f"a user assigns {job.name} to {forged['cluster']} as run {epoch}")
            change = {"metadata": {"annotations": {ASSIGNMENT: msgspec.json.encode(forged).decode()}}}
            await client.patch(JOBS, job.name, merge_patch(change), job.namespace)

    async def _replace_original(self, incident: Incident) -> None:
        client = self._fleet.client()
        with suppress(KubeError):
            if (job := await self._original(client)) is not None:
                body = job.decode()
                body["metadata"].pop("resourceVersion")
                body["metadata"].get("annotations", {}).pop(ASSIGNMENT, None)
                await client.update(JOBS, body)

    # Tenants of workers

    def _tenant(self, incident: Incident) -> Client:
        return self._fleet.client("tenant", self._fleet.workers[incident.target])

    async def _mirror(self, client: Client) -> Object | None:
        found = (await client.list(JOBS, label_selector=ORIGIN)).items
        mirrors = [job for job in found if job.namespace not in (TENANT, FLOOD)]
        return self._random.choice(mirrors) if mirrors else None

    async def _delete_mirror(self, incident: Incident) -> None:
        await self._deleted(incident, self._random.choice(("Background", "Foreground")))

    async def _orphan_mirror(self, incident: Incident) -> None:
        await self._deleted(incident, "Orphan")

    async def _deleted(self, incident: Incident, propagation: Propagation) -> None:
        client = self._tenant(incident)
        with suppress(KubeError):
            if (mirror := await self._mirror(client)) is not None:
                self._tell(f"the mirror of {mirror.name} on {incident.target} is deleted ({propagation})")
                await client.delete(JOBS, mirror.name, mirror.namespace, propagation=propagation)

    async def _edit_mirror(self, incident: Incident) -> None:
        client, change = self._tenant(incident), self._random.choice(({"suspend": True}, {"parallelism": 0}))
        with suppress(KubeError):
            if (mirror := await self._mirror(client)) is not None:
                await client.patch(JOBS, mirror.name, merge_patch({"spec": change}), mirror.namespace)

    async def _unmark_mirror(self, incident: Incident) -> None:
        client = self._tenant(incident)
        with suppress(KubeError):
            if (mirror := await self._mirror(client)) is None:
                return
            await client.patch(JOBS, mirror.name, _origin(mirror, None), mirror.namespace)
            await asyncio.sleep(incident.seconds)
            origin = _origin(mirror, mirror.metadata.labels[ORIGIN])
            await self._again(lambda: client.patch(JOBS, mirror.name, origin, mirror.namespace))

    async def _look_alike(self, incident: Incident) -> None:
        """A copy of a mirror in another namespace, with an epoch that is as high or higher."""
        client = self._tenant(incident)
        with suppress(KubeError):
            if (mirror := await self._mirror(client)) is None:
                return
            await client.create(NAMESPACES, {"metadata": {"name": TENANT}})
            await client.create(JOBS, self._copy(mirror.decode()))

    def _copy(self, mirror: dict[str, Any]) -> dict[str, Any]:
        old = mirror["metadata"]["annotations"]
        epoch = int(old.get(EPOCH, "1")) + self._random.choice((0, 1, 5))
        marks = {ORIGIN_UID: old[ORIGIN_UID], ORIGIN_NAME: old.get(ORIGIN_NAME, ""), EPOCH: f"{epoch}"}
        template = mirror["spec"]["template"] | {"metadata": {}}
        return {
            "metadata": {
                "name": mirror["metadata"]["name"],
                "namespace": TENANT,
                "labels": {ORIGIN: mirror["metadata"]["labels"][ORIGIN]},
                "annotations": marks,
            },
            "spec": {"template": template},
        }

    async def _flood(self, incident: Incident) -> None:
        client = self._tenant(incident)
        self._promises.unreachable(incident.target, math.inf)
        many = self._random.random() < 0.5
        with suppress(KubeError):
            await client.create(NAMESPACES, {"metadata": {"name": FLOOD}})
        for number in range(_MANY if many else 1):
            with suppress(KubeError):
                await client.create(JOBS, self._inflated(number, 10 if many else _LARGE))
        await asyncio.sleep(incident.seconds)
        self._check_held()
        await self._end_flood(client)

    def _inflated(self, number: int, size: int) -> dict[str, Any]:
        """A Job with our label and so many bytes, which no controller looks at."""
        container = {"name": "main", "image": "none", "command": ["x" * size]}
        return {
            "metadata": {
                "name": f"flood-{number}",
                "namespace": FLOOD,
                "labels": {ORIGIN: self._fleet.settings.origin},
            },
            "spec": {
                "managedBy": "example.com/nobody",
                "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
            },
        }

    def _check_held(self) -> None:
        """Look at how much each relay holds of each worker."""
        for replica in self._fleet.relays.values():
            for name, worker in replica.relay.registry.workers.items() if replica.relay is not None else ():
                held = [obj for cache in worker.mirrors.values() for part in cache.parts for obj in part]
                self._promises.check_held(name, [len(obj.raw) for obj in held], BOUNDS)

    async def clean_up(self) -> None:
        """Do what the relay asks people for, until there is no more to do.

        They end floods, delete mirrors of forged runs, put labels back that a backup does not have, and resume Jobs
        that a backup has suspended.
        """
        for job in self._fleet.management.read("jobs.batch"):
            if job["spec"].get("suspend"):
                resume = partial(self._fleet.client().patch, JOBS, job["metadata"]["name"], _RESUME)
                await self._again(partial(resume, job["metadata"]["namespace"]))
        for _ in range(_ATTEMPTS):
            done = [await self._clean_up(worker) for worker in self._fleet.workers.values()]
            if not any(done):
                return
            await asyncio.sleep(1)

    async def _clean_up(self, worker: SimulatedCluster) -> bool:
        """Do what is to be done on one worker now; whether there was something."""
        originals = [decode_object(msgspec.json.encode(job)) for job in self._fleet.management.read("jobs.batch")]
        newest = {original.uid: _epoch(original) for original in originals}
        client, done = self._fleet.client("tenant", worker), False
        for job in worker.read("jobs.batch"):
            metadata = job["metadata"]
            marks, name, namespace = metadata.get("annotations", {}), metadata["name"], metadata["namespace"]
            forged = int(marks.get(EPOCH, "0")) >= _FORGED > newest.get(marks.get(ORIGIN_UID, ""), 0)
            if forged or namespace == FLOOD:
                with suppress(KubeError):
                    await client.delete(JOBS, name, namespace, propagation="Background", uid=metadata["uid"])
                done = True
            elif ORIGIN_UID in marks and ORIGIN not in metadata.get("labels", {}):
                origin = merge_patch({"metadata": {"labels": {ORIGIN: self._fleet.settings.origin}}})
                await self._again(partial(client.patch, JOBS, name, origin, namespace))
        return done

    async def _end_flood(self, client: Client) -> None:
        for _ in range(_ATTEMPTS):
            with suppress(KubeError):
                left = (await client.list(JOBS, FLOOD)).items
                if not left:
                    return
                for job in left:
                    await client.delete(JOBS, job.name, FLOOD, propagation="Background")
            await asyncio.sleep(1)

    async def _again(self, attempt: Callable[[], Awaitable[Object]]) -> None:
        """Try until a server accepts it: what was done is to be undone."""
        for _ in range(_ATTEMPTS):
            try:
                await attempt()
            except KubeError:
                await asyncio.sleep(1)
            else:
                return


async def _created(client: Client, manifest: dict[str, Any]) -> Object:
    """Create a Job, or find the one whose creation was not answered."""
    try:
        return await client.create(JOBS, manifest)
    except AlreadyExists:
        return await client.get(JOBS, manifest["metadata"]["name"], manifest["metadata"]["namespace"])


def _manifest(plan: JobPlan) -> dict[str, Any]:
    script = {"jobrelay.dev/run-seconds": f"{plan.seconds:g}", "jobrelay.dev/stop-seconds": f"{plan.stop:g}"}
    wishes = ({FENCING: "true"} if plan.fenced else {}) | ({CLUSTERS: ",".join(plan.clusters)} if plan.clusters else {})
    container = {"name": "main", "image": "none", "command": ["true"]}
    template = {"metadata": {"annotations": script}, "spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": plan.name,
            "namespace": "default",
            "annotations": wishes,
        },
        "spec": {"managedBy": RELAY, "backoffLimit": 1, "template": template},
    }


def _origin(mirror: Object, value: str | None) -> Any:
    return merge_patch({"metadata": {"uid": mirror.uid, "labels": {ORIGIN: value}}})


def _epoch(job: Object) -> int:
    """The epoch of the assignment of an original; 0 if it has none."""
    text = job.metadata.annotations.get(ASSIGNMENT)
    return int(msgspec.json.decode(text)["epoch"]) if text else 0
