from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from jobrelay.cluster import Cluster
from jobrelay.kube import FakeClock
from jobrelay.kube.fault_injection import AnswerStatus, Hang
from jobrelay.kube.resource import JOBS, NODES, PODS, SERVICEACCOUNTS, Resource
from jobrelay.relay.model import State
from jobrelay.relay.workers import Loss, RejectedKubeconfig, WorkerSpec

from .support import advance, job, kubeconfig_access, node, settle, worker


@asynccontextmanager
async def ended(task: asyncio.Task[object]) -> AsyncIterator[None]:
    """End a request that is not answered."""
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_it_connects_and_says_whom_it_found(clock: FakeClock) -> None:
    async with worker(clock) as w:
        assert w.link.connected
        assert w.link.lost_since is None
        assert w.link.version is not None
        assert w.link.version.minor == "35"
        assert not w.link.is_self
        assert w.link.facts(live=3, stale=1).live == 3


async def test_it_follows_its_own_mirrors_only(clock: FakeClock) -> None:
    async with worker(clock) as w:
        await w.client.create(JOBS, job("ours"))
        await w.client.create(JOBS, job("theirs", **{"jobrelay.dev/origin": "other"}))
        await settle(clock)
        mirrors = w.link.mirrors[JOBS]
        assert [obj.name for obj in mirrors] == ["ours"]
        assert not any(b"managedFields" in obj.raw for obj in mirrors)


async def test_nothing_is_asked_while_there_are_signs_of_life(clock: FakeClock) -> None:
    async with worker(clock) as w:
        before = len(w.seen.requests)
        for number in range(10):
            await w.client.create(JOBS, job(f"j{number}"))
            await advance(clock, 2)
        assert len(w.seen.requests) == before


async def test_a_silent_worker_without_mirrors_is_asked_4_times_a_minute(clock: FakeClock) -> None:
    async with worker(clock) as w:
        await advance(clock, 61)
        assert w.seen.count("GET /readyz") == 4
        assert w.link.connected


async def test_a_silent_worker_with_mirrors_is_asked_24_times_a_minute(clock: FakeClock) -> None:
    async with worker(clock) as w:
        await w.client.create(JOBS, job("ours"))
        await advance(clock, 1)
        await advance(clock, 60, step=0.5)
        assert w.seen.count("GET /readyz") == 24


async def test_a_worker_with_mirrors_that_hangs_is_suspicious_within_5_seconds_and_lost_within_8(
    clock: FakeClock,
) -> None:
    async with worker(clock) as w:
        await advance(clock, 14)
        await w.client.create(JOBS, job("ours"))
        await settle(clock)
        w.faults.add(Hang(), times=None)
        await advance(clock, 5, step=0.5)
        assert w.link.connected
        assert w.link.facts().unanswered >= 2
        await advance(clock, 3, step=0.5)
        assert not w.link.connected
        assert w.link.lost_since == clock.now() - timedelta(seconds=5.5)


async def test_a_worker_that_does_not_say_who_it_is_is_lost_after_4_seconds(clock: FakeClock) -> None:
    async with worker(clock) as w:
        w.faults.add(Hang(), "GET /api/v1/namespaces/kube-system", times=None)
        w.link.check_now()
        await advance(clock, 4.5, step=0.5)
        assert not w.link.connected


@pytest.mark.parametrize("outage", [60.0, 61.0, 62.0, 63.0])
async def test_a_worker_that_hung_is_followed_within_5_seconds_of_its_return(clock: FakeClock, outage: float) -> None:
    async with worker(clock) as w:
        w.faults.add(Hang(), times=None)
        await advance(clock, outage, step=0.5)
        assert not w.link.connected
        w.faults.clear()
        await advance(clock, 5, step=0.5)
        assert w.link.connected


async def test_a_hung_worker_without_mirrors_is_noticed_within_20_seconds(clock: FakeClock) -> None:
    async with worker(clock) as w:
        w.faults.add(Hang(), times=None)
        await advance(clock, 20.5)
        assert not w.link.connected
        assert w.link.lost_since == clock.now() - timedelta(seconds=5.5)
        assert w.link.reason.startswith("it does not answer in time")


async def test_a_hung_worker_is_noticed_by_a_request_that_it_does_not_answer(clock: FakeClock) -> None:
    async with worker(clock) as w:
        w.faults.add(Hang(), times=None)
        began = clock.now()
        async with ended(asyncio.create_task(w.link.client.create(JOBS, job("unanswered")))):
            await advance(clock, 1.9)
            assert w.link.facts().unanswered == 0
            assert w.seen.count("GET /readyz") == 0
            await advance(clock, 0.2)
            assert w.link.connected
            assert 2 <= w.link.facts().unanswered < 2.2
            await advance(clock, 5)
            assert not w.link.connected
            assert w.link.lost_since == began


async def test_a_worker_that_answers_another_request_does_not_hang(clock: FakeClock) -> None:
    async with worker(clock) as w:
        w.faults.add(Hang(), "POST *", times=None)
        told: list[float] = []
        w.link.subscribe(lambda: told.append(w.link.facts().unanswered))
        async with ended(asyncio.create_task(w.link.client.create(JOBS, job("unanswered")))):
            await advance(clock, 14)
            assert w.link.connected
            assert told
            assert told[-1] == 0
            assert 4 <= w.seen.count("GET /readyz") <= 7


async def test_a_cut_connection_is_noticed_at_once_and_the_loss_keeps_its_time(clock: FakeClock) -> None:
    async with worker(clock) as w:
        w.faults.partition()
        await settle(clock)
        assert not w.link.connected
        lost = w.link.lost_since
        await advance(clock, 300)
        assert w.link.lost_since == lost == clock.now() - timedelta(seconds=300)
        assert w.link.reason.startswith("it cannot be reached")
        assert 75 <= w.link.attempts <= 160


async def test_a_worker_that_returns_is_followed_again(clock: FakeClock) -> None:
    async with worker(clock) as w:
        w.faults.partition()
        await advance(clock, 60)
        await w.client.create(JOBS, job("meanwhile"))
        w.faults.heal()
        await advance(clock, 5)
        assert w.link.connected
        assert (w.link.lost_since, w.link.reason, w.link.attempts) == (None, "", 0)
        assert w.link.last_loss is not None
        assert w.link.last_loss.reason.startswith("it cannot be reached")
        assert [obj.name for obj in w.link.mirrors[JOBS]] == ["meanwhile"]
        assert w.link.facts().returned_from == w.link.last_loss.since
        await advance(clock, 61)
        assert w.link.facts().returned_from is None


async def test_a_loss_from_before_goes_on_until_the_worker_answers(clock: FakeClock) -> None:
    earlier = clock.now() - timedelta(hours=1)
    refused = WorkerSpec("w1", RejectedKubeconfig("BadKubeConfig", "load client config failed: no Secret"))
    async with worker(clock, spec=refused, loss=Loss(earlier, "gone")) as w:
        assert w.link.lost_since == earlier
        assert w.link.reason == "load client config failed: no Secret"
        w.link.update_spec(WorkerSpec("w1", kubeconfig_access()))
        await settle(clock)
        assert w.link.connected
        assert w.link.lost_since is None


async def test_silence_counts_from_when_this_process_could_not_reach_the_worker(clock: FakeClock) -> None:
    began = clock.now()
    refused = WorkerSpec("w1", RejectedKubeconfig("BadKubeConfig", "load client config failed: no Secret"))
    async with worker(clock, spec=refused, loss=Loss(began - timedelta(hours=1), "gone")) as w:
        await advance(clock, 30)
        assert w.link.facts().silent_since == began
        w.link.update_spec(WorkerSpec("w1", kubeconfig_access()))
        await settle(clock)
        assert w.link.facts().silent_since is None
        w.faults.add(Hang(), times=None)
        await advance(clock, 20.5)
        assert w.link.facts().silent_since == w.link.lost_since == clock.now() - timedelta(seconds=5.5)


async def test_the_time_there_is_known(clock: FakeClock) -> None:
    async with worker(clock) as w:
        found = w.link.facts().clock
        assert found is not None
        assert found.uncertain < 1.5


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (AnswerStatus(401, "Unauthorized"), "it does not accept our credentials (401)"),
        (AnswerStatus(429, "TooManyRequests", retry_after=1), "it is overloaded (429)"),
        (AnswerStatus(503, "ServiceUnavailable"), "it answers with 503"),
        (AnswerStatus(500, "InternalError"), "it answers with 500"),
        (AnswerStatus(410, "Expired"), "it no longer has the history"),
    ],
)
async def test_each_trouble_has_its_words_and_passes(clock: FakeClock, fault: AnswerStatus, words: str) -> None:
    async with worker(clock) as w:
        w.faults.add(fault, times=None)
        w.faults.partition()
        w.faults.heal()
        await advance(clock, 40)
        assert not w.link.connected
        assert w.link.reason.startswith(words)
        assert w.faults.injected < 40
        w.faults.clear()
        await advance(clock, 60)
        assert w.link.connected


async def test_new_credentials_are_used_without_letting_go(clock: FakeClock) -> None:
    told: list[bool] = []
    async with worker(clock) as w:
        w.link.subscribe(lambda: told.append(w.link.connected))
        watches = w.seen.count("GET /apis/batch")
        w.link.update_spec(WorkerSpec("w1", kubeconfig_access("2")))
        await settle(clock)
        assert all(told)
        assert w.seen.count("GET /readyz") == 1
        assert w.seen.count("GET /apis/batch") == watches


async def test_new_credentials_that_do_not_work_are_noticed_at_once(clock: FakeClock) -> None:
    async with worker(clock) as w:
        w.faults.add(AnswerStatus(401, "Unauthorized"), times=None)
        w.link.update_spec(WorkerSpec("w1", kubeconfig_access("2")))
        await settle(clock)
        assert not w.link.connected
        assert "(401)" in w.link.reason


async def test_a_revoked_kubeconfig_ends_the_connection(clock: FakeClock) -> None:
    async with worker(clock) as w:
        w.link.update_spec(WorkerSpec("w1", RejectedKubeconfig("BadKubeConfig", "load client config failed: gone")))
        await settle(clock)
        assert not w.link.connected
        before = len(w.seen.requests)
        await advance(clock, 60)
        assert len(w.seen.requests) == before


async def test_room_is_counted_from_nodes(clock: FakeClock) -> None:
    async with worker(clock) as w:
        assert w.link.facts().capacity.unknown == "it lists no nodes"
        await w.client.create(NODES, node())
        await advance(clock, 1)
        assert [found.name for found in w.link.facts().capacity.nodes] == ["n1"]
        assert not w.link.facts().capacity.unknown


async def test_room_that_may_not_be_seen_is_unknown_and_harmless(clock: FakeClock) -> None:
    async with worker(clock) as w:
        w.faults.add(AnswerStatus(403, "Forbidden", "nodes are secret"), "GET /api/v1/nodes*", times=None)
        w.link.update_spec(WorkerSpec("w1", kubeconfig_access("2", "https://other")))
        await advance(clock, 3)
        assert w.link.connected
        assert "nodes may not be read" in w.link.facts().capacity.unknown
        before = len(w.seen.requests)
        await advance(clock, 60)
        assert len(w.seen.requests) - before <= 5


async def test_a_kind_that_is_not_there_costs_only_itself(clock: FakeClock) -> None:
    rays = Resource("ray.io", "v1", "rayjobs", "RayJob")
    async with worker(clock, resources=[JOBS, rays]) as w:
        assert w.link.connected
        assert list(w.link.mirrors.unavailable) == [rays]


async def test_what_the_operator_wants_is_told(clock: FakeClock) -> None:
    told: list[State] = []
    async with worker(clock) as w:
        w.link.subscribe(lambda: told.append(w.link.spec.state))
        w.link.update_spec(WorkerSpec("w1", kubeconfig_access(), state=State.DRAINING, order=4))
        assert told == [State.DRAINING]
        assert (w.link.connected, w.link.spec.order) == (True, 4)


async def test_pods_of_our_mirrors_that_wait_for_a_node_are_counted(clock: FakeClock) -> None:
    async with worker(clock) as w:
        await w.client.create(SERVICEACCOUNTS, {"metadata": {"name": "default"}}, "default")
        ours = await w.client.create(JOBS, job("ours"))
        for owner in (ours.uid, ours.uid, "other"):
            metadata = {"generateName": "p-", "labels": {"batch.kubernetes.io/controller-uid": owner}}
            pod = {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i"}]}}
            await w.client.create(PODS, pod, "default")
        await advance(clock, 1)
        assert w.link.facts().pending == 2


async def test_another_cluster_at_the_same_address_is_not_mixed_up_with_the_first(clock: FakeClock) -> None:
    async with Cluster(controllers="none") as second, worker(clock) as w:
        for name in ("a", "b", "c"):
            await w.client.create(JOBS, job(name))
        await second.client().create(JOBS, job("a"))
        await advance(clock, 1)
        w.faults.partition()
        w.seen.inner = second.transport()
        w.faults.heal()
        await advance(clock, 10)
        assert w.link.connected
        assert [obj.name for obj in w.link.mirrors[JOBS]] == ["a"]
        await second.client().create(JOBS, job("d"))
        await advance(clock, 1)
        assert [obj.name for obj in w.link.mirrors[JOBS]] == ["a", "d"]
