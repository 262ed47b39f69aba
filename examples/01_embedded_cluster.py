"""A Kubernetes API for the time of a `with` block: no Docker, no binaries, nothing left behind.

python examples/01_embedded_cluster.py
"""

from __future__ import annotations

import asyncio

from jobrelay.cluster import Cluster
from jobrelay.kube.resource import JOBS

JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "hello", "namespace": "default"},
    "spec": {
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}},
    },
}


async def main() -> None:
    async with Cluster() as cluster:
        client = cluster.client()
        await client.create(JOBS, JOB)
        for job in (await client.list(JOBS, "default")).items:
            print(job.name, job.decode()["spec"]["backoffLimit"])


if __name__ == "__main__":
    asyncio.run(main())
