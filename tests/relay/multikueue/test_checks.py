"""The condition of MultiKueue's checks, and how it is found out who is their controller."""

from __future__ import annotations

from typing import Any

from jobrelay.kube import merge_patch
from jobrelay.kube.clock import FakeClock
from jobrelay.kube.resource import EVENTS
from jobrelay.relay.multikueue.checks import active_condition
from jobrelay.relay.multikueue.claims import MARK, SETTLE, CheckClaims
from jobrelay.relay.multikueue.views import CHECKS
from tests.relay.multikueue.kueue import PlayedKueue, beside_kueue

KUEUES = {
    "type": "Active",
    "status": "True",
    "reason": "Active",
    "message": "The admission check is active",
    "lastTransitionTime": "2026-01-01T12:00:00Z",
}


def test_the_condition_tells_which_clusters_can_be_used() -> None:
    def told(*clusters: str) -> tuple[str, str, str]:
        found = active_condition("all", clusters, {"a": True, "b": False})
        return found["status"], found["reason"], found["message"].removesuffix(f"; {MARK}")

    assert told("a") == ("True", "Active", "The admission check is active")
    assert told("a", "b", "c") == ("True", "SomeActiveClusters", "Missing clusters: [c], Inactive clusters: [b]")
    assert told("b") == ("False", "NoUsableClusters", "Inactive clusters: [b]")
    missing = active_condition("all", None, {})
    assert missing["reason"] == "BadConfig"
    assert 'MultiKueueConfig.kueue.x-k8s.io "all" not found' in missing["message"]


async def test_a_check_is_ours_when_our_text_has_stayed_for_a_while() -> None:
    clock = FakeClock()
    claims = CheckClaims(clock)
    claims.seen("mk", "The admission check is active")
    assert claims.may_write("mk")
    claims.written("mk")
    claims.seen("mk", f"active; {MARK}")
    assert not claims.is_ours("mk")
    await clock.advance(SETTLE)
    assert claims.is_ours("mk")


async def test_a_check_whose_text_is_replaced_is_left_alone_and_tried_much_later() -> None:
    clock = FakeClock()
    claims = CheckClaims(clock)
    claims.written("mk")
    claims.seen("mk", "The admission check is active")
    await clock.advance(60)
    assert (claims.is_ours("mk"), claims.may_write("mk")) == (False, False)
    await clock.advance(60)
    assert claims.may_write("mk")


def test_a_check_that_was_ours_before_a_restart_is_ours_at_once() -> None:
    claims = CheckClaims(FakeClock())
    claims.seen("mk", f"active; {MARK}")
    assert claims.is_ours("mk")


async def test_the_condition_of_a_check_is_written() -> None:
    async with beside_kueue() as (it, kueue):

        async def active() -> bool:
            return (await kueue.active())["reason"] == "Active"

        await it.until(active)
        assert (await kueue.active())["message"] == f"The admission check is active; {MARK}"


async def test_nothing_is_placed_while_kueues_own_controller_is_at_work() -> None:
    async with beside_kueue() as (it, kueue):
        await overwrite(kueue, await kueue.active())
        await kueue.submit()
        await kueue.reserve()

        async def stays_out() -> bool:
            events = await it.client.list(EVENTS, "default")
            return any(event.decode().get("reason") == "NotTheController" for event in events.items)

        await it.until(stays_out)
        assert await it.place() == ""
        assert (await kueue.check())["state"] == "Pending"


async def overwrite(kueue: PlayedKueue, before: dict[str, Any]) -> None:
    """Put Kueue's own text back, as its controller does."""
    assert before["message"].endswith(MARK)
    await kueue.client.patch(CHECKS, "mk", merge_patch({"status": {"conditions": [KUEUES]}}), subresource="status")
