from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone

import pytest

from jobrelay.apimachinery.times import format_micro_time, format_time
from jobrelay.kube.clock import FakeClock, SystemClock, deadline, sleep


async def test_fake_clock_fires_timers_in_order_at_their_own_moment(clock: FakeClock) -> None:
    seen: list[float] = []
    for seconds in (3, 1, 2):
        clock.call_later(seconds, lambda: seen.append(clock.monotonic()))
    await clock.advance(5)
    assert seen == [1, 2, 3]
    assert clock.monotonic() == 5


async def test_a_chain_of_sleeps_plays_out_within_one_advance(clock: FakeClock) -> None:
    async def nap() -> float:
        await sleep(clock, 1)
        await sleep(clock, 1)
        return clock.monotonic()

    task = asyncio.create_task(nap())
    await clock.advance(10)
    assert await task == 2


async def test_a_cancelled_sleep_leaves_no_timer(clock: FakeClock) -> None:
    task = asyncio.create_task(sleep(clock, 60))
    await clock.settle()
    assert clock.next_timer == 60
    task.cancel()
    await clock.settle()
    assert clock.next_timer is None


async def test_deadline_raises_when_the_time_is_up(clock: FakeClock) -> None:
    async def wait() -> None:
        async with deadline(clock, 5):
            await sleep(clock, 60)

    task = asyncio.create_task(wait())
    await clock.advance(4.9)
    assert not task.done()
    await clock.advance(0.2)
    with pytest.raises(TimeoutError):
        await task


async def test_deadline_does_not_touch_what_is_quick(clock: FakeClock) -> None:
    async with deadline(clock, 5):
        await clock.advance(4)
    assert clock.next_timer is None


async def test_system_clock_sleeps_and_reads_utc() -> None:
    clock = SystemClock()
    before = clock.monotonic()
    await sleep(clock, 0.001)
    assert clock.monotonic() > before
    assert clock.now().tzinfo is UTC


def test_no_timer_of_uvloop_fires_before_its_time() -> None:
    uvloop = pytest.importorskip("uvloop")

    async def early() -> list[float]:
        clock, found = SystemClock(), []
        for seconds in (0.0006, 0.0014, 0.0026) * 5:
            due = clock.monotonic() + seconds
            await sleep(clock, seconds)
            found.append(clock.monotonic() - due)
        return [late for late in found if late < 0]

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(early()) == []


def test_times_are_written_as_kubernetes_reads_them() -> None:
    moment = datetime(2026, 1, 2, 4, 4, 5, tzinfo=timezone(timedelta(hours=1)))
    assert format_time(moment) == "2026-01-02T03:04:05Z"
    assert format_micro_time(moment) == "2026-01-02T03:04:05.000000Z"
