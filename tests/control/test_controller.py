from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from jobrelay.control import Controller, Result, TerminalError
from jobrelay.kube import Cache, Client, Conflict, FakeClock, Key, Object, Status
from jobrelay.kube.resource import CONFIGMAPS
from jobrelay.kube.transport import Request, Response


class Silent:
    """A server that never answers."""

    async def send(self, request: Request) -> Response:
        await asyncio.get_running_loop().create_future()
        raise AssertionError


class Reconciler:
    """Plays a list of outcomes, then succeeds."""

    def __init__(self, *outcomes: Result | Exception) -> None:
        self.outcomes = list(outcomes)
        self.calls: list[str] = []

    async def __call__(self, key: str) -> Result | None:
        self.calls.append(key)
        outcome = self.outcomes.pop(0) if self.outcomes else None
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


@asynccontextmanager
async def running(controller: Controller[str], clock: FakeClock) -> AsyncIterator[None]:
    task = asyncio.create_task(controller.run())
    await clock.settle()
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_a_key_is_reconciled(clock: FakeClock) -> None:
    reconciler = Reconciler()
    controller = Controller("test", reconciler, clock=clock)
    async with running(controller, clock):
        controller.queue.add("a")
        await clock.settle()
    assert reconciler.calls == ["a"]
    assert controller.metrics.succeeded == 1


async def test_requeue_after_looks_again(clock: FakeClock) -> None:
    reconciler = Reconciler(Result(requeue_after=60))
    controller = Controller("test", reconciler, clock=clock)
    async with running(controller, clock):
        controller.queue.add("a")
        await clock.advance(59)
        assert reconciler.calls == ["a"]
        await clock.advance(2)
        assert reconciler.calls == ["a", "a"]
    assert controller.metrics.requeued == 1


async def test_failures_are_retried_until_they_pass(clock: FakeClock) -> None:
    reconciler = Reconciler(RuntimeError("one"), Conflict(Status(code=409)))
    controller = Controller("test", reconciler, clock=clock)
    async with running(controller, clock):
        controller.queue.add("a")
        await clock.advance(1)
    assert reconciler.calls == ["a"] * 3
    assert (controller.metrics.failed, controller.metrics.conflicts, controller.metrics.succeeded) == (1, 1, 1)
    assert controller.queue.failures("a") == 0


async def test_terminal_errors_are_not_retried(clock: FakeClock) -> None:
    reconciler = Reconciler(TerminalError("hopeless"))
    controller = Controller("test", reconciler, clock=clock)
    async with running(controller, clock):
        controller.queue.add("a")
        await clock.advance(1000)
    assert reconciler.calls == ["a"]
    assert controller.metrics.terminal == 1


async def test_one_key_is_never_reconciled_twice_at_once(clock: FakeClock) -> None:
    active: list[str] = []

    async def reconcile(key: str) -> None:
        assert key not in active
        active.append(key)
        await clock_sleep(clock)
        active.remove(key)

    controller: Controller[str] = Controller("test", reconcile, workers=4, clock=clock)
    async with running(controller, clock):
        for _ in range(5):
            controller.queue.add("a")
            controller.queue.add("b")
            await clock.advance(0.4)
        await clock.advance(10)
    assert controller.metrics.failed == 0
    assert controller.metrics.succeeded >= 4


async def clock_sleep(clock: FakeClock) -> None:
    event = asyncio.Event()
    clock.call_later(1, event.set)
    await event.wait()


async def test_a_reconcile_that_takes_too_long_fails(clock: FakeClock) -> None:
    async def reconcile(key: str) -> None:
        await asyncio.Event().wait()

    controller: Controller[str] = Controller("test", reconcile, clock=clock, timeout=5, grace=0)
    async with running(controller, clock):
        controller.queue.add("a")
        await clock.advance(5)
        assert controller.metrics.failed == 1


async def test_stopping_lets_running_work_finish(clock: FakeClock) -> None:
    finished: list[str] = []

    async def reconcile(key: str) -> None:
        await clock_sleep(clock)
        finished.append(key)

    controller: Controller[str] = Controller("test", reconcile, workers=1, clock=clock)
    task = asyncio.create_task(controller.run())
    controller.queue.add("a")
    controller.queue.add("b")
    await clock.settle()
    task.cancel()
    await clock.advance(2)
    assert finished == ["a"]
    assert task.cancelled()


async def test_stopping_cuts_off_work_after_its_grace(clock: FakeClock) -> None:
    async def reconcile(key: str) -> None:
        await asyncio.Event().wait()

    controller: Controller[str] = Controller("test", reconcile, clock=clock, grace=3)
    task = asyncio.create_task(controller.run())
    controller.queue.add("a")
    await clock.settle()
    task.cancel()
    await clock.advance(2.9)
    assert not task.done()
    await clock.advance(0.2)
    with pytest.raises(asyncio.CancelledError):
        await task


def put(cache: Cache, name: str) -> None:
    from jobrelay.kube.objects import decode_object, encode

    metadata = {"name": name, "namespace": "ns", "uid": name, "resourceVersion": "1"}
    cache.put(decode_object(encode({"metadata": metadata})))


async def test_watching_queues_the_object_itself(clock: FakeClock) -> None:
    cache = Cache(Client(Silent()), CONFIGMAPS)
    controller: Controller[Key] = Controller("test", Reconciler(), clock=clock)  # type: ignore[arg-type]
    controller.watch(cache)
    put(cache, "a")
    assert await controller.queue.get() == Key("ns", "a")


async def test_a_mapper_chooses_other_keys(clock: FakeClock) -> None:
    def owners(old: Object | None, new: Object | None) -> list[str]:
        return ["owner-1", "owner-2"]

    cache = Cache(Client(Silent()), CONFIGMAPS)
    controller = Controller("test", Reconciler(), clock=clock)
    controller.watch(cache, owners)
    put(cache, "a")
    assert len(controller.queue) == 2


async def test_news_overtakes_what_was_already_there(clock: FakeClock) -> None:
    cache = Cache(Client(Silent()), CONFIGMAPS)
    controller: Controller[Key] = Controller("test", Reconciler(), clock=clock)  # type: ignore[arg-type]
    controller.watch(cache)
    put(cache, "old")
    cache.synced.set()
    put(cache, "new")
    assert (await controller.queue.get()).name == "new"
