"""The relay is killed at every write that it makes, before and after it took effect; its successor finishes the work.

The story of each test is played once for every write: the n-th is trapped, the relay is killed there, and a new one is
started that knows nothing. At the end the world must be as if nothing had happened.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from jobrelay.kube import NotFound, Request, Response, Transport, merge_patch
from jobrelay.kube.resource import JOBS, PODS
from jobrelay.relay.worker_assignment import assignment_of, epoch_of
from tests.relay.fleets import Fleet, MakeFleet

AT_ONCE = 6


@pytest.fixture(autouse=True)
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is killed does not finish what was begun."""
    monkeypatch.setattr("jobrelay.relay.relay.GRACE", 0.0)


class Trap:
    """Holds the n-th write of a relay for ever, before it is carried out or after."""

    def __init__(self, number: int, *, after: bool) -> None:
        self.caught = asyncio.Event()
        self._left, self._after = number, after
        self.write = ""

    def around(self, inner: Transport) -> _Trapped:
        return _Trapped(inner, self)

    async def pass_through(self, inner: Transport, request: Request) -> Response:
        if not _is_write(request):
            return await inner.send(request)
        self._left -= 1
        if self._left != -1:
            return await inner.send(request)
        self.write = str(request)
        if self._after:
            async with await inner.send(request) as response:
                await response.read()
        self.caught.set()
        await asyncio.Event().wait()
        raise AssertionError("unreachable")


class _Trapped:
    def __init__(self, inner: Transport, trap: Trap) -> None:
        self._inner, self._trap = inner, trap

    async def send(self, request: Request) -> Response:
        return await self._trap.pass_through(self._inner, request)


def _is_write(request: Request) -> bool:
    """Events, leases and the record of losses are not what is at stake."""
    return request.method != "GET" and "/jobs" in request.path


Story = Callable[[Fleet], Awaitable[None]]
Check = Callable[[Fleet], Awaitable[None]]


async def play(
    fleet: MakeFleet, number: int, story: Story, check: Check, over: asyncio.Event, *, after: bool, **settings: Any
) -> bool:
    """Plays the story with a crash at one write; whether there was that many."""
    async with fleet(2, start=False, **settings) as it:
        if over.is_set():
            return False
        trap = Trap(number, after=after)
        whole = it.home, dict(it.links)
        it.home = trap.around(whole[0])  # type: ignore[assignment]
        it.links = {name: trap.around(link) for name, link in whole[1].items()}  # type: ignore[misc]
        await it.start()
        telling = asyncio.ensure_future(_tell(it, story, check))
        caught = asyncio.ensure_future(trap.caught.wait())
        await asyncio.wait({telling, caught}, return_when=asyncio.FIRST_COMPLETED)
        if caught.done():
            await it.kill()
            it.home, it.links = whole
            await it.start()
        caught.cancel()
        try:
            await telling
        except Exception as error:
            raise AssertionError(f"after a crash {'after' if after else 'before'} {trap.write}: {error!r}") from error
        if not trap.caught.is_set():
            over.set()
        return trap.caught.is_set()


async def _tell(it: Fleet, story: Story, check: Check) -> None:
    await story(it)
    await check(it)


async def at_every_write(fleet: MakeFleet, story: Story, check: Check, *, after: bool, **settings: Any) -> int:
    """Plays the story until it has fewer writes than the crash waits for; how many there were."""
    first, over = 0, asyncio.Event()
    while True:
        numbers = range(first, first + AT_ONCE)
        plays = [play(fleet, number, story, check, over, after=after, **settings) for number in numbers]
        caught = await asyncio.gather(*plays)
        if not all(caught):
            return first + caught.index(False)
        first += AT_ONCE


async def only_pod(it: Fleet) -> None:
    """All that ran is one pod, on the worker that the assignment names, for its epoch."""
    pods = [(name, pod) for name in it.workers for pod in (await it.on(name).list(PODS, "default")).items]
    original = await it.client.get(JOBS, "train", "default")
    to = assignment_of(original)
    assert to is not None
    assert [name for name, _ in pods] in ([], [to.cluster])
    for mirror in (await it.mirrors()).values():
        assert epoch_of(mirror) == to.epoch


@pytest.mark.parametrize("after", [False, True])
async def test_a_job_runs_once_and_leaves_nothing_behind(fleet: MakeFleet, after: bool) -> None:
    async def story(it: Fleet) -> None:
        await it.submit(seconds=0.3)
        status = await it.finished()
        assert (status["succeeded"], status.get("failed", 0)) == (1, 0)
        await only_pod(it)

    async def nothing_left(it: Fleet) -> None:
        await it.until(lambda: gone(it))
        await only_pod(it)

    writes = await at_every_write(fleet, story, nothing_left, after=after, keep_finished=0.2)
    assert writes >= 5  # a dry run, the commit, the mirror, a status or two, the removal


@pytest.mark.parametrize("after", [False, True])
async def test_a_deleted_job_takes_its_mirror_along(fleet: MakeFleet, after: bool) -> None:
    async def story(it: Fleet) -> None:
        await it.submit(seconds=1000)
        await it.runs()
        await it.client.delete(JOBS, "train", "default", propagation="Background")

    async def nothing_left(it: Fleet) -> None:
        await it.until(lambda: gone(it))
        with pytest.raises(NotFound):
            await it.job()

    assert await at_every_write(fleet, story, nothing_left, after=after) >= 4


@pytest.mark.parametrize("after", [False, True])
async def test_a_suspended_job_stops_and_runs_again(fleet: MakeFleet, after: bool) -> None:
    async def story(it: Fleet) -> None:
        await it.submit(seconds=1000)
        await it.runs()
        await it.client.patch(JOBS, "train", merge_patch({"spec": {"suspend": True}}), "default")
        await it.until(lambda: idle(it))
        await it.client.patch(JOBS, "train", merge_patch({"spec": {"suspend": False}}), "default")
        await it.runs()

    async def one_mirror(it: Fleet) -> None:
        assert list(await it.mirrors()) == [await it.place()]

    assert await at_every_write(fleet, story, one_mirror, after=after) >= 6


async def gone(it: Fleet) -> bool:
    return not await it.mirrors()


async def idle(it: Fleet) -> bool:
    status = (await it.job())["status"]
    return any(one["type"] == "Suspended" and one["status"] == "True" for one in status.get("conditions", ()))
