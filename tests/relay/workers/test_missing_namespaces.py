from __future__ import annotations

from jobrelay.kube import FakeClock
from jobrelay.kube.fault_injection import AnswerStatus
from jobrelay.kube.resource import NAMESPACES

from .support import Worker, advance, settle, worker

WATCH = "GET /api/v1/namespaces?"
TEAM = {"metadata": {"name": "team"}}


def heard_of(w: Worker) -> list[str]:
    found: list[str] = []
    w.link.missing_namespaces.found.subscribe(found.append)
    return found


async def test_nothing_is_watched_while_none_is_missing(clock: FakeClock) -> None:
    async with worker(clock) as w:
        await advance(clock, 60)
        assert w.seen.count(WATCH) == 0


async def test_a_namespace_that_is_created_is_found_at_once(clock: FakeClock) -> None:
    async with worker(clock) as w:
        found = heard_of(w)
        w.link.missing_namespaces.missed("team")
        await settle(clock)
        await w.client.create(NAMESPACES, {"metadata": {"name": "other"}})
        assert found == []
        await w.client.create(NAMESPACES, TEAM)
        await settle(clock)
        assert found == ["team"]


async def test_one_that_was_created_meanwhile_is_found_too(clock: FakeClock) -> None:
    async with worker(clock) as w:
        found = heard_of(w)
        await w.client.create(NAMESPACES, TEAM)
        w.link.missing_namespaces.missed("team")
        await settle(clock)
        assert found == ["team"]


async def test_the_watch_ends_when_nothing_has_missed_it_for_some_time(clock: FakeClock) -> None:
    async with worker(clock) as w:
        found = heard_of(w)
        w.link.missing_namespaces.missed("team")
        await advance(clock, 200, step=10)
        watched = w.seen.count(WATCH)
        assert watched > 0
        await w.client.create(NAMESPACES, TEAM)
        await advance(clock, 400, step=10)
        assert (found, w.seen.count(WATCH)) == ([], watched)


async def test_where_namespaces_may_not_be_watched_that_is_tried_every_five_minutes(clock: FakeClock) -> None:
    async with worker(clock) as w:
        w.faults.add(AnswerStatus(403, "Forbidden"), "GET /api/v1/namespaces[?]*", times=None)
        w.link.missing_namespaces.missed("team")
        await settle(clock)
        once = w.faults.injected
        await advance(clock, 290, step=10)
        assert w.faults.injected == once
        w.link.missing_namespaces.missed("team")
        await advance(clock, 20, step=10)
        assert (w.link.connected, w.faults.injected) == (True, 2 * once)
