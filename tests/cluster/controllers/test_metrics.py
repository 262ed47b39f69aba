"""What controllers tell whoever asks the API server for metrics."""

from __future__ import annotations

import asyncio

from jobrelay.cluster import Cluster
from jobrelay.kube import Client
from jobrelay.kube.resource import JOBS

CONTAINER = {"name": "main", "image": "example.com/a"}
SPEC = {"template": {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}}


async def shown(client: Client, sample: str) -> str:
    """The metrics once they have a sample."""
    async with asyncio.timeout(20):
        while sample not in (text := (await client.call("GET", "/metrics")).decode()):
            await asyncio.sleep(0)
    return text


async def test_jobs_of_other_controllers_are_counted_once_each() -> None:
    async with Cluster("a") as cluster:
        client = cluster.client()
        for name in ("a", "b"):
            body = {"metadata": {"name": name}, "spec": {**SPEC, "managedBy": "example.com/c"}}
            await client.create(JOBS, body, "default")
        await shown(client, 'job_controller_jobs_by_external_controller_total{controller_name="example.com/c"} 2.0')


async def test_syncs_pods_and_queues_are_counted() -> None:
    async with Cluster("a") as cluster:
        client = cluster.client()
        await client.create(JOBS, {"metadata": {"name": "a"}, "spec": SPEC}, "default")
        text = await shown(client, "job_controller_job_sync_duration_seconds_bucket{")
        assert 'job_controller_job_pods_creation_total{reason="new",status="succeeded"} 1.0' in text
        assert 'workqueue_adds_total{name="job-controller"} ' in text
        assert 'controller_runtime_reconcile_total{controller="job-controller",result="success"} ' in text
        assert 'reflector_lists_total{name="jobs.batch",namespace=""} 1.0' in text
