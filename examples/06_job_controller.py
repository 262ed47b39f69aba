"""A Job controller: Jobs with `managedBy: example.com/instant` complete after a second, without any pod.

    python examples/06_job_controller.py

Kubernetes' own Job controller leaves Jobs alone that name another manager. `JobController` calls `reconcile` with each
Job that changes, and turns what it reports into a status that the API server accepts. The cluster is embedded; for a
real one, take the client from `jobrelay.kube.connect()`.
"""

from __future__ import annotations

import asyncio
from typing import Any

from jobrelay.cluster import Cluster
from jobrelay.kit import JobController, JobReport, ManagedJob, Result, Succeeded
from jobrelay.kube import Client, Key
from jobrelay.kube.resource import JOBS

MANAGER = "example.com/instant"
RUN_SECONDS = 1.0


async def reconcile(job: ManagedJob) -> Result | None:
    """Makes the status of a Job what it should be; it is safe to call this at any time."""
    if job.suspended:
        await job.report(JobReport())
        return None
    if (left := RUN_SECONDS - job.running_seconds) > 0:
        await job.report(JobReport(active=job.parallelism))
        return Result(requeue_after=left)
    await job.report(JobReport(succeeded=job.completions, outcome=Succeeded()))
    job.event("Completed", "Job completed")
    return None


def instant_job(name: str) -> dict[str, Any]:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    metadata = {"name": name, "namespace": "default"}
    return {"metadata": metadata, "spec": {"managedBy": MANAGER, "template": {"spec": pod}}}


async def wait_complete(client: Client, names: set[str]) -> None:
    async with client.watch(JOBS, "default") as events:
        async for event in events:
            if event.object.name in names and event.object.decode().get("status", {}).get("completionTime"):
                print(f"{event.object.name} is complete")
                names.remove(event.object.name)
                if not names:
                    return


async def main() -> None:
    async with Cluster() as cluster:
        client = cluster.client()
        controller = JobController(client, MANAGER, reconcile, lease=Key("default", "instant"), listen=("127.0.0.1", 0))
        running = asyncio.create_task(controller.run())
        for number in range(3):
            await client.create(JOBS, instant_job(f"instant-{number}"))
        await wait_complete(client, {f"instant-{number}" for number in range(3)})
        running.cancel()
        await asyncio.wait({running})


if __name__ == "__main__":
    asyncio.run(main())
