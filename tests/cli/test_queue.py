"""`jobrelay queue`, and what `explain` says of queued Jobs; the example on a fleet of processes."""

from __future__ import annotations

import json
import pathlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import yaml

from jobrelay.kube import Client, Forbidden, connect
from jobrelay.kube.resource import JOBS, VALIDATINGWEBHOOKCONFIGURATIONS
from jobrelay.queueing.conditions import holds
from jobrelay.queueing.resources import CLUSTER_QUEUES, KINDS, LOCAL_QUEUES, WORKLOADS
from jobrelay.queueing.views import ClusterQueueView, LocalQueueView, WorkloadView
from jobrelay.queueing.webhooks.configurations import NAME
from tests.queueing.fleets import QueueFleet, queue_fleet, queued_job, quota_queue
from tests.relay.fleets import Fleet

from .command import ROOT
from .fleets import answering_fleet, call
from .test_fleet import eventually_async, up

EXAMPLE = ROOT / "examples" / "queues"


@asynccontextmanager
async def waiting_fleet() -> AsyncIterator[Fleet]:
    """A relay that can be asked, with one Job that runs and one that waits for its quota."""

    @asynccontextmanager
    async def make(nodes: Any = None) -> AsyncIterator[Fleet]:
        async with queue_fleet(1) as it:
            await it.make_queue(cpu=1)
            yield it.it

    async with answering_fleet(make) as it:  # type: ignore[arg-type]
        await it.client.create(JOBS, queued_job("first", seconds=1000))
        await it.runs("first")
        await it.client.create(JOBS, queued_job("second", seconds=1000))
        await QueueFleet(it).until_condition("second", "QuotaReserved", status=False)
        yield it


async def test_queues_are_listed_with_what_they_hold_and_who_waits() -> None:
    async with waiting_fleet() as it:
        shown = (await call(it, "queue", "list")).stdout.splitlines()
        assert shown[0].split() == ["NAME", "COHORT", "STRATEGY", "ACTIVE", "PENDING", "ADMITTED", "USED"]
        assert shown[1].split()[:6] == ["cluster-queue", "-", "BestEffortFIFO", "yes", "1", "1"]
        found = json.loads((await call(it, "queue", "list", "-o", "json")).stdout)
        assert [(each["position"], each["object"]) for each in found[0]["pending"]] == [(1, "job/second")]
        described = (await call(it, "queue", "describe", "cluster-queue")).stdout
        assert "1 more needed" in described
        assert "there is no ClusterQueue other" in (await call(it, "queue", "describe", "other")).stderr


async def test_without_the_relay_queues_are_shown_by_their_objects() -> None:
    async with waiting_fleet() as it:
        result = await call(it, "queue", "list", "--lease-name", "another")
        assert "note: showing the objects alone" in result.stderr
        assert result.stdout.splitlines()[1].split()[4:7] == ["1", "1", "cpu"]


async def test_a_queue_is_held_and_resumed() -> None:
    async with waiting_fleet() as it:
        await call(it, "queue", "hold", "cluster-queue", "--drain")
        queue = (await it.client.get(CLUSTER_QUEUES, "cluster-queue")).decode(ClusterQueueView)
        assert queue.spec.stop_policy == "HoldAndDrain"
        await call(it, "queue", "resume", "cq/cluster-queue")
        await call(it, "queue", "hold", "lq/main", "-n", "default")
        local = (await it.client.get(LOCAL_QUEUES, "main", "default")).decode(LocalQueueView)
        assert local.spec.stop_policy == "Hold"
        assert "there is no LocalQueue other" in (await call(it, "queue", "resume", "lq/other")).stderr


async def test_explain_tells_the_place_in_the_queue_and_what_another_quota_would_change() -> None:
    async with waiting_fleet() as it:
        shown = (await call(it, "explain", "job/second", "--if", "quota.cpu=+1")).stdout
        assert "queue     main of cluster-queue, place 1 of 1, priority 0" in shown
        assert "quota     cpu in default: 1 requested, 0 available: does not fit" in shown
        assert "with quota.cpu=+1: it would be admitted" in shown
        small = (await call(it, "explain", "job/second", "--if", "quota.cpu=+500m")).stdout
        assert "with quota.cpu=+500m: it would still wait" in small
        more = (await call(it, "explain", "job/second", "--if", "worker=w4:cpu=64")).stdout
        assert "with worker=w4:cpu=64: " in more
        wrong = (await call(it, "explain", "job/second", "--if", "quota.gpu=+1")).stderr
        assert "ClusterQueue cluster-queue has no quota of gpu" in wrong


async def test_the_example_runs_on_a_fleet_of_processes(tmp_path: pathlib.Path) -> None:
    with up("--dir", tmp_path, "--memory", "--workers", 1, "--cpu", 4, "--runtime", "scripted", "--queueing", "on"):
        async with connect(tmp_path / "management.kubeconfig") as client:
            for name in ("queues.yaml", "jobs.yaml"):
                await create_all(client, EXAMPLE / name)

            async def finished() -> bool:
                views = [each.decode(WorkloadView) for each in (await client.list(WORKLOADS, "default")).items]
                return len(views) == 3 and all(holds(view.status.conditions, "Finished") for view in views)

            await eventually_async(finished)


async def test_the_relay_of_a_fleet_answers_its_webhooks(tmp_path: pathlib.Path) -> None:
    with up("--dir", tmp_path, "--memory", "--workers", 1, "--runtime", "scripted", "--queueing", "on"):
        async with connect(tmp_path / "management.kubeconfig") as client:

            async def registered() -> bool:
                found = (await client.list(VALIDATINGWEBHOOKCONFIGURATIONS)).items
                return any(each.name == NAME and each.decode().get("webhooks") for each in found)

            await eventually_async(registered)
            queue = {"apiVersion": CLUSTER_QUEUES.api_version, "kind": "ClusterQueue", **quota_queue(cpu=-1)}
            with pytest.raises(Forbidden, match=r'"vclusterqueue\.kb\.io" denied the request'):
                await client.create(CLUSTER_QUEUES, queue)
            made = await client.create(JOBS, queued_job("train", managed_by=None))
            assert made.decode()["spec"]["suspend"] is True


async def create_all(client: Client, path: pathlib.Path) -> None:
    kinds = {each.kind: each for each in (JOBS, *KINDS)}
    for body in yaml.safe_load_all(path.read_text()):
        await client.create(kinds[body["kind"]], body)
