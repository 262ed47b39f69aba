"""Jobs that Kueue queues, on workers that run Kueue too: both are played by the test."""

from __future__ import annotations

import asyncio
from typing import Any

from jobrelay.kube import NotFound, merge_patch
from jobrelay.kube.resource import JOBS
from jobrelay.relay.multikueue.dispatching import DispatcherName, Dispatching
from jobrelay.relay.multikueue.views import CONFIGS, WORKLOADS
from jobrelay.workloads.names import KUEUE_ORIGIN, PREBUILT
from tests.relay.fleets import ORIGIN, Fleet
from tests.relay.multikueue.kueue import PlayedKueue, beside_kueue, condition

ALL = Dispatching(DispatcherName.ALL_AT_ONCE)


async def with_kueue(it: Fleet, *workers: str) -> dict[str, PlayedKueue]:
    """Let some workers run Kueue; returns it for each."""
    played = {name: PlayedKueue(it, it.on(name)) for name in workers}
    for name, each in played.items():
        await each.install()
        await it.until(lambda name=name: knows_kueue(it, name))
    return played


async def knows_kueue(it: Fleet, worker: str) -> bool:
    assert it.relay is not None
    return it.relay.registry.workers[worker].mirrors.kueue is True


async def clone(it: Fleet, worker: str, name: str = "train") -> dict[str, Any] | None:
    try:
        return (await it.on(worker).get(WORKLOADS, f"job-{name}", "default")).decode()
    except NotFound:
        return None


async def clones(it: Fleet, name: str = "train") -> list[str]:
    return [worker for worker in it.workers if await clone(it, worker, name) is not None]


async def let_in(it: Fleet, played: PlayedKueue, worker: str, name: str = "train") -> None:
    """The worker's Kueue admits a clone."""
    await it.until(lambda: clone(it, worker, name))
    await played.write(name, conditions=[condition("QuotaReserved"), condition("Admitted")])


async def running(it: Fleet, kueue: PlayedKueue, played: dict[str, PlayedKueue], worker: str) -> None:
    """A Job that is admitted on both sides and runs on a worker."""
    await kueue.submit(seconds=1000)
    await kueue.reserve()
    await let_in(it, played[worker], worker)
    assert await kueue.ready() == worker
    await kueue.admit()
    await it.until(lambda: has_mirror(it, worker))
    await played[worker].suspend(suspend=False)
    await it.runs()


async def has_mirror(it: Fleet, worker: str) -> bool:
    return worker in await it.mirrors()


async def test_a_worker_with_kueue_gets_the_workload_and_the_job_that_refers_to_it() -> None:
    async with beside_kueue(1) as (it, kueue):
        played = await with_kueue(it, "worker-1")
        await kueue.submit(seconds=1)
        await kueue.reserve()
        found = await it.until(lambda: clone(it, "worker-1"))
        assert found["spec"] == (await kueue.workload())["spec"]
        assert found["metadata"]["labels"][KUEUE_ORIGIN] == ORIGIN
        assert await it.mirrors() == {}
        await let_in(it, played["worker-1"], "worker-1")
        await it.until(lambda: has_mirror(it, "worker-1"))
        mirror = (await it.mirrors())["worker-1"]
        assert (mirror.metadata.labels[PREBUILT], mirror.metadata.annotations[PREBUILT]) == ("job-train", "job-train")
        assert mirror.decode()["spec"]["suspend"] is True
        assert await kueue.ready() == "worker-1"
        await kueue.admit()
        await played["worker-1"].suspend(suspend=False)
        assert (await it.finished())["succeeded"] == 1


async def test_the_first_worker_that_admits_it_wins_and_the_others_lose_their_copies() -> None:
    async with beside_kueue(3, ALL) as (it, kueue):
        played = await with_kueue(it, "worker-1", "worker-2", "worker-3")
        await kueue.submit()
        await kueue.reserve()
        await it.until(lambda: are(clones(it), ["worker-1", "worker-2", "worker-3"]))
        assert (await kueue.workload())["status"]["nominatedClusterNames"] == ["worker-1", "worker-2", "worker-3"]
        await let_in(it, played["worker-2"], "worker-2")
        assert await kueue.ready() == "worker-2"
        await it.until(lambda: are(clones(it), ["worker-2"]))


async def test_who_waits_is_asked_for_where_the_config_says_by_now() -> None:
    async with beside_kueue(2, ALL) as (it, kueue):
        await with_kueue(it, "worker-1", "worker-2")
        await kueue.submit()
        await kueue.reserve()
        await it.until(lambda: are(clones(it), ["worker-1", "worker-2"]))
        await it.client.patch(CONFIGS, "all", merge_patch({"spec": {"clusters": ["worker-2"]}}))
        await it.until(lambda: are(clones(it), ["worker-2"]))
        await it.client.patch(CONFIGS, "all", merge_patch({"spec": {"clusters": ["worker-1", "worker-2"]}}))
        await it.until(lambda: are(clones(it), ["worker-1", "worker-2"]))


async def test_one_worker_is_asked_and_the_next_when_it_has_no_quota() -> None:
    async with beside_kueue(2) as (it, kueue):
        played = await with_kueue(it, "worker-1", "worker-2")
        await kueue.submit()
        await kueue.reserve()
        [first] = await it.until(lambda: clones(it))
        await played[first].write(conditions=[condition("QuotaReserved", "False")])
        await it.until(lambda: are(clones(it), ["worker-1", "worker-2"]))
        second = next(name for name in it.workers if name != first)
        await let_in(it, played[second], second)
        assert await kueue.ready() == second
        await it.until(lambda: are(clones(it), [second]))


async def test_plain_workers_and_workers_with_kueue_serve_side_by_side() -> None:
    async with beside_kueue(2) as (it, kueue):
        played = await with_kueue(it, "worker-1")
        for number in range(16):  # which worker gets one is up to its uid
            await kueue.submit(f"train-{number}")
            await kueue.reserve(f"train-{number}")
        asked = await it.until(lambda: asked_and_placed(it, kueue, 16))
        assert {where for where in asked.values() if where} == {"worker-2"}
        for name in (name for name, where in asked.items() if not where):
            await let_in(it, played["worker-1"], "worker-1", name)
            assert await kueue.ready(name) == "worker-1"


async def asked_and_placed(it: Fleet, kueue: PlayedKueue, number: int) -> dict[str, str]:
    """By Job: the worker that it is placed on, empty while worker-1 is asked; nothing before all are there."""
    found = {}
    for each in range(number):
        name = f"train-{each}"
        where = (await kueue.workload(name))["status"].get("clusterName", "")
        if where or await clone(it, "worker-1", name):
            found[name] = where
    return found if len(found) == number else {}


async def test_an_eviction_on_the_worker_has_the_check_retried() -> None:
    async with beside_kueue(1) as (it, kueue):
        played = await with_kueue(it, "worker-1")
        await running(it, kueue, played, "worker-1")
        await played["worker-1"].write(conditions=[condition("QuotaReserved", "False"), condition("Evicted")])
        await played["worker-1"].suspend(suspend=True)
        message = (await kueue.state("Retry"))["message"]
        assert message == (
            'Workload evicted on worker cluster: "worker-1", resetting for re-admission. Previously: "Ready"'
        )
        await kueue.evict()
        await it.until(lambda: are(clones(it), []))
        await it.until(lambda: are(mirrors(it), []))
        await kueue.reserve(at="2026-01-01T12:00:09Z")
        await let_in(it, played["worker-1"], "worker-1")
        assert await kueue.ready() == "worker-1"


async def test_an_eviction_on_the_management_cluster_reaches_the_worker() -> None:
    async with beside_kueue(1) as (it, kueue):
        played = await with_kueue(it, "worker-1")
        await running(it, kueue, played, "worker-1")
        eviction = asyncio.create_task(kueue.evict())
        told = await it.until(lambda: deactivated(it))
        assert told["reason"] == "EvictedOnManagerCluster"
        await played["worker-1"].suspend(suspend=True)
        await eviction
        await it.until(lambda: are(clones(it), []))


async def deactivated(it: Fleet) -> dict[str, Any] | None:
    found = await clone(it, "worker-1")
    conditions = (found or {}).get("status", {}).get("conditions", ())
    return next((one for one in conditions if one["type"] == "DeactivationTarget"), None)


async def test_a_clone_that_is_deleted_on_the_worker_has_the_check_retried() -> None:
    async with beside_kueue(1) as (it, kueue):
        played = await with_kueue(it, "worker-1")
        await running(it, kueue, played, "worker-1")
        await it.on("worker-1").delete(WORKLOADS, "job-train", "default")
        message = 'Admitting remote no longer exists, Previously: "Ready"'
        assert (await kueue.state("Retry"))["message"] == message


async def test_a_job_of_a_lost_worker_moves_and_what_is_left_there_is_removed_when_it_returns() -> None:
    async with beside_kueue(3, lost_timeout=1.0, freeze_window=0.0) as (it, kueue):
        played = await with_kueue(it, "worker-1", "worker-2", "worker-3")
        await kueue.submit(seconds=1000)
        await kueue.reserve()
        [lost] = await it.until(lambda: clones(it))
        await let_in(it, played[lost], lost)
        await kueue.ready()
        await kueue.admit()
        await it.until(lambda: has_mirror(it, lost))
        it.links[lost].partition()
        assert (await kueue.state("Retry"))["message"] == 'Admitting remote lost, Previously: "Ready"'
        await kueue.evict()
        await kueue.reserve(at="2026-01-01T12:00:09Z")
        [other] = await it.until(lambda: without(clones(it), lost))
        await let_in(it, played[other], other)
        assert await kueue.ready() == other
        it.links[lost].heal()
        await it.until(lambda: are(clones(it), [other]))
        await it.until(lambda: are(mirrors(it), [other]))


async def without(found: Any, name: str) -> list[str]:
    return [each for each in await found if each != name]


async def test_a_changed_priority_is_forwarded() -> None:
    async with beside_kueue(1) as (it, kueue):
        await with_kueue(it, "worker-1")
        await kueue.submit()
        await kueue.reserve()
        await it.until(lambda: clone(it, "worker-1"))
        await it.client.patch(WORKLOADS, "job-train", merge_patch({"spec": {"priority": 7}}), "default")

        async def forwarded() -> bool:
            found = await clone(it, "worker-1")
            return found is not None and found["spec"].get("priority") == 7

        await it.until(forwarded)


async def test_clones_of_workloads_that_are_gone_are_removed_also_after_a_restart() -> None:
    async with beside_kueue(1) as (it, kueue):
        await with_kueue(it, "worker-1")
        await kueue.submit()
        await kueue.reserve()
        await it.until(lambda: clone(it, "worker-1"))
        await it.kill()
        await it.client.delete(JOBS, "train", "default", propagation="Background")
        await it.start()
        await it.until(lambda: are(clones(it), []))


async def mirrors(it: Fleet) -> list[str]:
    return list(await it.mirrors())


async def are(found: Any, wanted: list[str]) -> bool:
    return bool(await found == wanted)
