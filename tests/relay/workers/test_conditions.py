from __future__ import annotations

from jobrelay.kube import FakeClock

from .fleet import fleet, registered, server
from .support import advance, running


async def test_a_connected_worker_is_active(clock: FakeClock) -> None:
    async with registered(clock, "w1") as (made, _):
        await advance(clock, 2)
        found = await made.conditions("w1")
        active = found["Active"]
        assert (active["status"], active["reason"], active["message"]) == ("True", "Active", "Connected")
        assert found["Connected"]["status"] == "True"
        assert found["Connected"]["message"].startswith("Kubernetes v1.35")


async def test_a_loss_is_told_with_attempts_and_afterwards(clock: FakeClock) -> None:
    async with registered(clock, "w1") as (made, registry):
        await advance(clock, 10)
        made.ways[server("w1")].partition()
        await advance(clock, 60)
        found = await made.conditions("w1")
        assert (found["Active"]["status"], found["Active"]["reason"]) == ("False", "ClientConnectionFailed")
        assert "it cannot be reached" in found["Active"]["message"]
        told = found["Connected"]["message"]
        assert told.startswith("no contact since 2026-01-01T00:00:1")
        assert "failed attempts; next at 2026" in told
        made.ways[server("w1")].heal()
        await advance(clock, 40)
        assert registry.workers["w1"].connected
        assert "last loss from 2026" in (await made.conditions("w1"))["Connected"]["message"]


async def test_nothing_is_written_while_nothing_changes(clock: FakeClock) -> None:
    async with registered(clock, "w1") as (made, _):
        await advance(clock, 5)
        before = made.seen.count("PATCH")
        assert before == 1
        await advance(clock, 120)
        assert made.seen.count("PATCH") == before


async def test_a_flapping_worker_is_not_written_down_each_time(clock: FakeClock) -> None:
    async with registered(clock, "w1") as (made, _):
        await advance(clock, 5)
        before = made.seen.count("PATCH /apis")
        for _ in range(20):
            made.ways[server("w1")].partition()
            await advance(clock, 1.5)
            made.ways[server("w1")].heal()
            await advance(clock, 1.5)
        assert made.seen.count("PATCH /apis") - before <= 13


async def test_a_lost_worker_costs_few_writes(clock: FakeClock) -> None:
    async with registered(clock, "w1") as (made, _):
        await advance(clock, 5)
        before = made.seen.count("PATCH /apis")
        made.ways[server("w1")].partition()
        await advance(clock, 300)
        assert made.seen.count("PATCH /apis") - before <= 12


async def test_who_does_not_lead_does_not_write(clock: FakeClock) -> None:
    async with fleet(clock, "w1") as made:
        await made.register("w1")
        async with running(made.registry(writes=lambda: False).run()):
            await advance(clock, 20)
        assert made.seen.count("PATCH") == 0
        assert await made.conditions("w1") == {}


async def test_what_is_not_understood_is_remarked_on(clock: FakeClock) -> None:
    async with registered(clock, "w1") as (made, _):
        await made.annotate("w1", state="cordonned")
        await advance(clock, 40)
        assert "jobrelay.dev/state is 'cordonned'" in (await made.conditions("w1"))["Connected"]["message"]


async def test_an_unsafe_kubeconfig_is_refused_in_the_condition(clock: FakeClock) -> None:
    async with registered(clock, "w1") as (made, _):
        await made.secret("w1", b'{"current-context":"c"}')
        await advance(clock, 8)
        assert (await made.conditions("w1"))["Active"]["reason"] == "BadKubeConfig"
        await made.secret("w1", username="u", password="p")
        await advance(clock, 8)
        active = (await made.conditions("w1"))["Active"]
        assert active["reason"] == "InsecureKubeConfig"
        assert active["message"].startswith("load client config failed: basic authentication")
