"""A controller: Jobs with `managedBy: example.com/instant` complete after a second, without any pod.

    python examples/06_job_controller.py

Kubernetes' own Job controller leaves Jobs alone that name another manager. A `Cache` follows the Jobs, a `Controller`
reconciles each Job that changes, and a `Manager` starts and stops both in order. The cluster is embedded; for a real
one, take the client from `jobrelay.kube.connect()`.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

from jobrelay.cluster import Cluster
from jobrelay.control import Controller, Group, Manager, Result
from jobrelay.kube import Cache, Client, Key, Object, merge_patch
from jobrelay.kube.resource import JOBS

MANAGER = "example.com/instant"
RUN_SECONDS = 1.0


class InstantJobs:
    """Makes the status of each Job what it should be; it is safe to call `reconcile` at any time, for any Job."""

    def __init__(self, client: Client, jobs: Cache) -> None:
        self._client, self._jobs = client, jobs

    async def reconcile(self, key: Key) -> Result | None:
        job = self._jobs.get(key)
        if job is None or job.decode()["spec"].get("managedBy") != MANAGER:
            return None
        status = job.decode().get("status") or {}
        if status.get("completionTime"):
            return None
        if not status.get("startTime"):
            await self._write(job, {"startTime": now(), "active": 1})
            return Result(requeue_after=RUN_SECONDS)
        if (left := RUN_SECONDS - seconds_since(status["startTime"])) > 0:
            return Result(requeue_after=left)
        await self._write(job, completed(job.decode()["spec"].get("completions", 1)))
        return None

    async def _write(self, job: Object, status: dict[str, Any]) -> None:
        patch = merge_patch({"metadata": {"resourceVersion": job.resource_version}, "status": status})
        written = await self._client.patch(JOBS, job.name, patch, job.namespace, subresource="status")
        self._jobs.observe(written)  # so that the next reconcile does not see the old status


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_since(timestamp: str) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(timestamp)).total_seconds()


def completed(succeeded: int) -> dict[str, Any]:
    """The status that the API server accepts for a complete Job."""
    at = now()
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": at, "lastProbeTime": at}
        for kind in ("SuccessCriteriaMet", "Complete")
    ]
    return {"active": None, "succeeded": succeeded, "completionTime": at, "conditions": conditions}


def instant_job(name: str) -> dict[str, Any]:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"managedBy": MANAGER, "template": {"spec": pod}},
    }


async def wait_complete(client: Client, names: set[str]) -> None:
    async with client.watch(JOBS, "default") as events:
        async for event in events:
            if event.object.decode().get("status", {}).get("completionTime"):
                print(f"{event.object.name} is complete")
                names.discard(event.object.name)
                if not names:
                    return


async def main() -> None:
    async with Cluster() as cluster:
        client = cluster.client()
        jobs = Cache(client, JOBS)
        controller = Controller("instant-jobs", InstantJobs(client, jobs).reconcile)
        controller.watch(jobs)
        manager = Manager()
        manager.add(jobs, Group.CACHES)
        manager.add(controller)
        running = asyncio.create_task(manager.run())
        await manager.ready.wait()
        for number in range(3):
            await client.create(JOBS, instant_job(f"instant-{number}"))
        await wait_complete(client, {f"instant-{number}" for number in range(3)})
        running.cancel()
        await asyncio.wait({running})


if __name__ == "__main__":
    asyncio.run(main())
