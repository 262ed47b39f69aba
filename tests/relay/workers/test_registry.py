from __future__ import annotations

import asyncio
from datetime import timedelta
from fractions import Fraction
from pathlib import Path

import pytest

from jobrelay.kube import FakeClock, merge_patch
from jobrelay.kube.resource import JOBS, SECRETS
from jobrelay.relay.model import RemovedWorker, State
from jobrelay.relay.workers import FlagSource, Registry, RejectedKubeconfig, parse_flag
from jobrelay.workloads import JobAdapter
from tests.relay.proofs import known_proofs

from .fleet import MKC, NAMESPACE, fleet, registered, server
from .support import ORIGIN_HERE, advance, kubeconfig, running, settle


async def test_registered_workers_are_connected(clock: FakeClock) -> None:
    async with registered(clock, "w1", "w2") as (_, registry):
        await registry.wait_ready(5)
        assert {name: link.connected for name, link in registry.workers.items()} == {"w1": True, "w2": True}
        assert [link.spec.order for link in registry.workers.values()] == [0, 1]


async def test_workers_come_and_go(clock: FakeClock) -> None:
    async with registered(clock, "w1", "w2") as (made, registry):
        told: list[str] = []
        registry.subscribe(told.append)
        link = registry.workers["w2"]
        await made.outside.delete(MKC, "w2")
        await advance(clock, 1)
        assert list(registry.workers) == ["w1"]
        when = clock.now() - timedelta(seconds=1)
        assert registry.removed["w2"] == registry.removed[link.facts().identity] == RemovedWorker(when, when)
        await made.register("w2")
        await advance(clock, 2)
        assert registry.workers["w2"].connected
        assert registry.workers["w2"] is not link
        assert not registry.removed
        assert told == ["w2", "w2"]


async def test_what_is_written_on_the_object_counts(clock: FakeClock) -> None:
    async with registered(clock, "w1") as (made, registry):
        link = registry.workers["w1"]
        await made.annotate("w1", state="cordoned", cost="2.5", weight="3")
        await made.outside.patch(MKC, "w1", merge_patch({"metadata": {"labels": {"zone": "a"}}}))
        await settle(clock)
        assert registry.workers["w1"] is link
        assert (link.spec.state, link.spec.cost, link.spec.weight) == (State.CORDONED, Fraction(5, 2), Fraction(3))
        assert link.spec.labels == {"zone": "a"}
        assert link.connected


async def test_a_rotated_secret_is_used_at_once_without_a_loss(clock: FakeClock) -> None:
    async with registered(clock, "w1") as (made, registry):
        link, seen = registry.workers["w1"], []
        link.subscribe(lambda: seen.append(link.lost_since))
        await made.secret("w1", token="second")
        await settle(clock)
        credential = await made.connected[-1].credentials.current()
        assert credential.authorization == "Bearer second"
        assert len(made.connected) == 2
        assert registry.workers["w1"] is link
        assert link.connected
        assert not any(seen)


async def test_a_cluster_that_is_registered_twice_is_used_once(clock: FakeClock) -> None:
    async with registered(clock, "w2") as (made, registry):
        await made.secret("w1", kubeconfig({"server": server("w2")}))
        await made.register("w1")
        await advance(clock, 5)
        assert {name: link.connected for name, link in registry.workers.items()} == {"w1": True, "w2": False}
        assert registry.workers["w2"].reason == "it is registered twice: it is the same cluster as worker w1"
        await made.outside.delete(MKC, "w1")
        await advance(clock, 40)
        assert registry.workers["w2"].connected


async def test_a_moved_worker_is_found_again(clock: FakeClock) -> None:
    async with registered(clock, "w1", "w2") as (made, registry):
        await made.outside.delete(MKC, "w2")
        await made.secret("w1", kubeconfig({"server": server("w2")}))
        await advance(clock, 5)
        assert registry.workers["w1"].connected
        assert registry.workers["w1"].last_loss is not None
        assert "another cluster" in registry.workers["w1"].last_loss.reason


async def test_a_config_chooses_and_orders(clock: FakeClock) -> None:
    async with registered(clock, "w1", "w2", "w3", config="mine") as (made, registry):
        assert not registry.workers
        await made.config("mine", "w3", "unknown", "w1")
        await advance(clock, 2)
        assert {name: link.spec.order for name, link in registry.workers.items()} == {"w3": 0, "w1": 1}
        await made.config("mine", "w1", "w3")
        await settle(clock)
        assert {name: link.spec.order for name, link in registry.workers.items()} == {"w3": 1, "w1": 0}


async def test_the_management_cluster_can_be_a_worker(clock: FakeClock) -> None:
    async with fleet(clock, "w1") as made:
        await made.secret("management")
        for name in ("management", "w1"):
            await made.register(name)
        registry = made.registry()
        async with running(registry.run()):
            await advance(clock, 3)
            assert {name: link.is_self for name, link in registry.workers.items()} == {"management": True, "w1": False}


async def test_a_missing_secret_is_waited_for(clock: FakeClock) -> None:
    async with registered(clock, "w1") as (made, registry):
        await made.outside.delete(SECRETS, "w1-secret", NAMESPACE)
        await advance(clock, 8)
        link = registry.workers["w1"]
        assert not link.connected
        assert link.reason == "load client config failed: there is no Secret 'w1-secret' in namespace 'jobrelay-system'"
        active = (await made.conditions("w1"))["Active"]
        assert (active["status"], active["reason"], active["message"]) == ("False", "BadKubeConfig", link.reason)
        await made.secret("w1")
        await advance(clock, 8)
        assert link.connected
        assert (await made.conditions("w1"))["Active"]["reason"] == "Active"


async def test_a_loss_counts_on_after_a_restart_and_ends_with_an_answer(clock: FakeClock) -> None:
    async with registered(clock, "w1") as (made, first):
        made.ways[server("w1")].partition()
        await advance(clock, 20)
        lost = first.workers["w1"].lost_since
        second = made.registry()
        async with running(second.run()):
            await advance(clock, 20)
            assert second.workers["w1"].lost_since == lost == clock.now() - timedelta(seconds=40)
            made.ways[server("w1")].heal()
            await advance(clock, 35)
            assert second.workers["w1"].connected
        third = made.registry()
        made.ways[server("w1")].partition()
        async with running(third.run()):
            await advance(clock, 10)
            assert third.workers["w1"].lost_since != lost


async def test_a_worker_removed_before_a_restart_is_still_known_as_removed(clock: FakeClock) -> None:
    async with registered(clock, "w1", "w2") as (made, first):
        await made.outside.delete(MKC, "w2")
        await advance(clock, 10)
        removed = {name: each.since for name, each in first.removed.items()}
        second = made.registry()
        async with running(second.run()):
            await advance(clock, 2)
            assert {name: each.since for name, each in second.removed.items()} == removed
            assert "w2" in removed
            assert second.removed["w2"].silent_since > removed["w2"]


async def test_a_kubeconfig_in_a_file_is_followed(clock: FakeClock, tmp_path: Path) -> None:
    path = tmp_path / "w1.kubeconfig"
    async with registered(clock, "w1") as (made, registry):
        source = {"kubeConfig": {"location": str(path), "locationType": "Path"}}
        await made.outside.patch(MKC, "w1", merge_patch({"spec": {"clusterSource": source}}))
        await advance(clock, 1)
        assert (
            registry.workers["w1"].reason == f"load client config failed: cannot read {path}: No such file or directory"
        )
        path.write_bytes(kubeconfig({"server": server("w1")}))
        await advance(clock, 4)
        assert registry.workers["w1"].connected
        path.write_bytes(kubeconfig({"server": server("w1")}, {"tokenFile": "/etc/passwd"}))
        await advance(clock, 4)
        assert isinstance(registry.workers["w1"].spec.access, RejectedKubeconfig)


async def test_nothing_ready_is_not_waited_for_forever(clock: FakeClock) -> None:
    async with fleet(clock) as made:
        registry = made.registry()
        waiting = asyncio.create_task(registry.wait_ready(5))
        await advance(clock, 6)
        assert waiting.done()


async def test_flags_name_workers_and_their_files_are_read_again(clock: FakeClock, tmp_path: Path) -> None:
    path = tmp_path / "w1"
    path.write_bytes(kubeconfig({"server": server("w1")}))
    async with fleet(clock, "w1") as made:
        source = FlagSource({"w1": path, "gone": tmp_path / "gone"}, clock=clock)
        registry = Registry(
            made.client,
            source,
            resources=[JOBS],
            pod_owner=JobAdapter().pod_owner,
            proofs=known_proofs(ORIGIN_HERE),
            connect=made.connect,
            clock=clock,
        )
        async with running(registry.run()):
            await settle(clock)
            await registry.wait_ready(5)
            assert {name: link.connected for name, link in registry.workers.items()} == {"w1": True, "gone": False}
            path.write_bytes(kubeconfig({"server": server("w1")}, {"token": "rotated"}))
            await advance(clock, 3)
            assert len(made.connected) == 2
            assert registry.workers["w1"].connected


@pytest.mark.parametrize("text", ["w1", "w1=", "=x", "W_1=x"])
def test_flags_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"worker|KUBECONFIG"):
        parse_flag(text)


def test_a_flag_is_a_name_and_a_file() -> None:
    assert parse_flag("w1=/a=b") == ("w1", Path("/a=b"))
