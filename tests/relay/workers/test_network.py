"""The registry over real sockets, with the kubeconfigs that embedded clusters write."""

from __future__ import annotations

import asyncio
from pathlib import Path

from jobrelay.cluster import Cluster
from jobrelay.kube.resource import JOBS
from jobrelay.relay.workers import FlagSource, Registry, WorkerConnection
from jobrelay.workloads import JobAdapter
from tests.relay.proofs import known_proofs

from .support import ORIGIN_HERE, job, running


async def _until(link: WorkerConnection, connected: bool) -> None:
    """Wait for news from a link, without looking at the clock."""
    news = asyncio.Event()
    stop = link.subscribe(news.set)
    async with asyncio.timeout(30):
        while link.connected is not connected:
            news.clear()
            await news.wait()
    stop()


async def test_a_worker_is_lost_and_found_over_https(tmp_path: Path) -> None:
    management = Cluster(controllers="none")
    first = Cluster("w1", tmp_path, controllers="none")
    await first.start()
    port = int(first.url.rpartition(":")[2])
    async with management:
        source = FlagSource({"w1": Path(first.kubeconfig), "self": Path(management.kubeconfig)})
        registry = Registry(
            management.client(),
            source,
            resources=[JOBS],
            pod_owner=JobAdapter().pod_owner,
            proofs=known_proofs(ORIGIN_HERE),
            namespace="default",
        )
        async with running(registry.run()):
            await asyncio.sleep(0)
            await registry.wait_ready(20)
            link = registry.workers["w1"]
            assert link.connected
            assert (link.is_self, registry.workers["self"].is_self) == (False, True)
            await first.client().create(JOBS, job("before"))
            await first.stop()
            await _until(link, connected=False)
            second = Cluster("w1", tmp_path, controllers="none", port=port)
            async with second:
                await second.client().create(JOBS, job("after"))
                await _until(link, connected=True)
                assert [obj.name for obj in link.mirrors[JOBS]] == ["before", "after"]
