from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.control import QueueClosed, WorkQueue
from jobrelay.kube import FakeClock


@pytest.fixture
async def queue(clock: FakeClock) -> WorkQueue[str]:
    return WorkQueue(clock=clock)


async def take(queue: WorkQueue[str], count: int) -> list[str]:
    """Take and finish keys, one after the other."""
    taken = []
    for _ in range(count):
        key = await queue.get()
        queue.done(key)
        taken.append(key)
    return taken


async def test_keys_come_once_and_in_order(queue: WorkQueue[str]) -> None:
    for key in "abab":
        queue.add(key)
    assert len(queue) == 2
    assert await take(queue, 2) == ["a", "b"]
    assert len(queue) == 0


async def test_a_key_added_while_worked_on_comes_back_after(queue: WorkQueue[str]) -> None:
    queue.add("a")
    key = await queue.get()
    queue.add("a")
    queue.add("a")
    assert len(queue) == 0
    queue.done(key)
    assert len(queue) == 1
    assert await take(queue, 1) == ["a"]
    assert len(queue) == 0


async def test_done_without_news_forgets_the_key(queue: WorkQueue[str]) -> None:
    queue.add("a")
    queue.done(await queue.get())
    assert (len(queue), queue.processing) == (0, 0)


async def test_higher_priority_first(queue: WorkQueue[str]) -> None:
    queue.add("low", priority=-100)
    queue.add("normal")
    queue.add("high", priority=5)
    assert await take(queue, 3) == ["high", "normal", "low"]


async def test_a_second_add_only_raises_priority(queue: WorkQueue[str]) -> None:
    queue.add("a", priority=5)
    queue.add("a", priority=1)
    queue.add("b", priority=3)
    queue.add("c")
    queue.add("c", priority=9)
    assert await take(queue, 3) == ["c", "a", "b"]


async def test_priority_given_while_worked_on_is_kept(queue: WorkQueue[str]) -> None:
    queue.add("a")
    key = await queue.get()
    queue.add("a", priority=9)
    queue.add("b")
    queue.done(key)
    assert await take(queue, 2) == ["a", "b"]


async def test_urgent_keys_do_not_starve_the_rest(clock: FakeClock) -> None:
    queue: WorkQueue[str] = WorkQueue(clock=clock, fairness=4)
    queue.add("patient", priority=-1)
    taken = []
    for number in range(8):
        queue.add(f"urgent-{number}", priority=9)
        taken += await take(queue, 1)
    assert "patient" in taken[:4]


async def test_delayed_keys_come_when_due(queue: WorkQueue[str], clock: FakeClock) -> None:
    queue.add_after("late", 10)
    queue.add_after("soon", 5)
    await clock.advance(4.9)
    assert (len(queue), queue.delayed) == (0, 2)
    await clock.advance(0.2)
    assert await take(queue, 1) == ["soon"]
    await clock.advance(5)
    assert await take(queue, 1) == ["late"]


async def test_the_earlier_time_wins(queue: WorkQueue[str], clock: FakeClock) -> None:
    queue.add_after("a", 60)
    queue.add_after("a", 5)
    queue.add_after("a", 30)
    await clock.advance(5)
    assert await take(queue, 1) == ["a"]
    await clock.advance(100)
    assert len(queue) == 0


async def test_adding_now_replaces_waiting(queue: WorkQueue[str], clock: FakeClock) -> None:
    queue.add_after("a", 60)
    queue.add("a")
    assert queue.delayed == 0
    assert await take(queue, 1) == ["a"]
    await clock.advance(100)
    assert len(queue) == 0


async def test_a_key_due_while_worked_on_waits_for_done(queue: WorkQueue[str], clock: FakeClock) -> None:
    queue.add("a")
    key = await queue.get()
    queue.add_after("a", 1)
    await clock.advance(2)
    assert len(queue) == 0
    queue.done(key)
    assert len(queue) == 1


async def test_failures_wait_longer_each_time(clock: FakeClock) -> None:
    queue: WorkQueue[str] = WorkQueue(clock=clock, base_delay=1, max_delay=5)
    delays = []
    for _ in range(4):
        delays.append(queue.add_failed("a"))
        await clock.advance(10)
        await take(queue, 1)
    assert delays == [1, 2, 4, 5]
    queue.forget("a")
    assert queue.failures("a") == 0
    assert queue.add_failed("a") == 1


async def test_thousands_of_failures_do_not_overflow(queue: WorkQueue[str]) -> None:
    queue._failures["a"] = 5000
    assert queue.add_failed("a") == 300


async def test_get_waits_for_a_key(queue: WorkQueue[str], clock: FakeClock) -> None:
    getter = asyncio.create_task(queue.get())
    await clock.settle()
    queue.add("a")
    assert await getter == "a"


async def test_a_cancelled_getter_passes_its_turn_on(queue: WorkQueue[str], clock: FakeClock) -> None:
    first, second = asyncio.create_task(queue.get()), asyncio.create_task(queue.get())
    await clock.settle()
    queue.add("a")
    first.cancel()
    assert await second == "a"


async def test_closing_ends_all_getters_and_takes_no_more(queue: WorkQueue[str], clock: FakeClock) -> None:
    getters = [asyncio.create_task(queue.get()) for _ in range(3)]
    await clock.settle()
    queue.add_after("later", 5)
    queue.close()
    queue.add("a")
    for getter in getters:
        with pytest.raises(QueueClosed):
            await getter
    with pytest.raises(QueueClosed):
        await queue.get()
    assert clock.next_timer is None


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from("abcd"), st.integers(-2, 2)),
        st.tuples(st.just("after"), st.sampled_from("abcd"), st.integers(1, 9)),
        st.tuples(st.sampled_from(["get", "done", "tick"]), st.just(""), st.just(0)),
    ),
    max_size=60,
)


@given(steps=STEPS)
async def test_no_key_is_lost_or_held_twice(steps: list[tuple[str, str, int]]) -> None:
    clock = FakeClock()
    queue: WorkQueue[str] = WorkQueue(clock=clock)
    wanted: set[str] = set()
    held: list[str] = []
    for step, key, number in steps:
        if step == "add":
            queue.add(key, priority=number)
            wanted.add(key)
        elif step == "after":
            queue.add_after(key, number)
            wanted.add(key)
        elif step == "get" and len(queue):
            taken = await queue.get()
            assert taken not in held
            held.append(taken)
            wanted.discard(taken)
        elif step == "done" and held:
            queue.done(held.pop(0))
        elif step == "tick":
            await clock.advance(1)
    for key in held:
        queue.done(key)
    await clock.advance(10)
    assert set(await take(queue, len(queue))) == wanted


async def test_a_delay_that_a_server_asked_for_is_not_shortened(clock: FakeClock) -> None:
    queue: WorkQueue[str] = WorkQueue(clock=clock)
    queue.add("a")
    assert await queue.get() == "a"
    queue.add("a")
    assert queue.add_failed("a", at_least=5.0) == 5.0
    queue.done("a")
    queue.add("a", priority=10)
    queue.add_after("a", 1.0)
    await clock.advance(4.9)
    assert len(queue) == 0
    await clock.advance(0.2)
    assert await queue.get() == "a"
    queue.forget("a")
    queue.done("a")
    queue.add("a")
    assert len(queue) == 1
