"""A cluster that lives on a clock of ours: what takes hours is over in moments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobrelay.apimachinery.times import format_time
from jobrelay.cluster import Cluster, NodeSettings
from jobrelay.kube import Client, FakeClock
from jobrelay.kube.resource import JOBS


def job(seconds: int, **spec: Any) -> Mapping[str, Any]:
    template = {
        "metadata": {"annotations": {"jobrelay.dev/run-seconds": str(seconds)}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]},
    }
    return {"metadata": {"name": "train", "namespace": "default"}, "spec": {"template": template, **spec}}


async def status(client: Client) -> dict[str, Any]:
    return dict((await client.get(JOBS, "train", "default")).decode()["status"])


async def pass_time(clock: FakeClock, seconds: int) -> None:
    """In steps, each with a moment for what follows from it."""
    for _ in range(10):
        await clock.advance(seconds / 10)
        await clock.settle(1000)


async def test_a_job_of_a_day_ends_after_a_day_of_the_clusters_own_time() -> None:
    clock = FakeClock()
    async with Cluster(nodes=NodeSettings(runtime="scripted"), clock=clock) as cluster:
        client = cluster.client()
        await client.create(JOBS, job(86_400))
        await pass_time(clock, 10)
        assert (await status(client))["active"] == 1
        await pass_time(clock, 86_400)
        found = await status(client)
        assert found["succeeded"] == 1
        assert found["completionTime"] <= format_time(clock.now())
        assert found["completionTime"].startswith("2026-01-02")


async def test_a_deadline_is_kept_in_the_clusters_own_time() -> None:
    clock = FakeClock()
    async with Cluster(nodes=NodeSettings(runtime="scripted"), clock=clock) as cluster:
        client = cluster.client()
        await client.create(JOBS, job(86_400, activeDeadlineSeconds=3600))
        await pass_time(clock, 10)
        await pass_time(clock, 7200)
        assert (await status(client))["conditions"][-1]["reason"] == "DeadlineExceeded"
