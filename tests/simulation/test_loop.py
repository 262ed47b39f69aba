"""Virtual time passes only when nothing can run, and processes can be paused and ended between any two steps."""

from __future__ import annotations

import asyncio
import gc
import weakref
from random import Random

import pytest

from jobrelay.simulation.loop import SimulatedProcess, VirtualLoop, garbage_kept


async def count(seen: list[float], seconds: float = 1.0) -> None:
    while True:
        await asyncio.sleep(seconds)
        seen.append(asyncio.get_running_loop().time())


def played(loop: VirtualLoop, until: float, *actions: tuple[float, object]) -> None:
    async def main() -> None:
        for at, action in actions:
            await asyncio.sleep(at - loop.time())
            assert callable(action)
            action()
        await asyncio.sleep(until - loop.time())

    loop.run(main())


def test_hours_pass_in_moments() -> None:
    loop, seen = VirtualLoop(Random(0)), list[float]()
    loop.start(SimulatedProcess("a"), count(seen, 3600))
    played(loop, 4 * 3600 + 1)
    assert seen == [3600, 7200, 10800, 14400]


def test_a_paused_process_stands_still_and_goes_on_late() -> None:
    loop, process, seen = VirtualLoop(Random(0)), SimulatedProcess("a"), list[float]()
    loop.start(process, count(seen))
    played(loop, 12.5, (2.5, lambda: loop.pause(process)), (10.25, lambda: loop.resume(process)))
    assert seen == [1, 2, 10.25, 11.25, 12.25]


def test_a_killed_process_does_not_clean_up() -> None:
    loop, process, seen = VirtualLoop(Random(0)), SimulatedProcess("a"), list[str]()

    async def work() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            seen.append(f"cleaned up at {loop.time():g}")

    loop.start(process, work())
    played(loop, 50, (1, lambda: loop.kill(process)), (2, lambda: seen.append("later")))
    assert seen[0] == "later"


def test_a_failure_does_not_go_unnoticed() -> None:
    loop = VirtualLoop(Random(0))

    async def fail() -> None:
        raise ValueError("broken")

    loop.start(SimulatedProcess("a"), fail())
    played(loop, 1)
    assert [str(error) for error in loop.failures] == ["broken"]


def test_a_timer_that_fell_due_can_still_be_cancelled() -> None:
    loop, seen = VirtualLoop(Random(0)), list[str]()

    async def main() -> None:
        loop.call_later(1, lambda: second.cancel())
        second = loop.call_later(1, seen.append, "second")
        await asyncio.sleep(2)
        assert second.cancelled()

    loop.run(main())
    assert seen == []


def test_a_callback_that_fails_does_not_end_the_run() -> None:
    loop, told = VirtualLoop(Random(0)), list[object]()
    loop.set_exception_handler(lambda _, context: told.append(context["exception"]))
    loop.call_later(1, lambda: 1 // 0)
    played(loop, 2)
    assert [type(error) for error in told] == [ZeroDivisionError]


def test_ending_what_is_left_counts_neither_as_steps_nor_as_time() -> None:
    loop = VirtualLoop(Random(0))
    loop.start(SimulatedProcess("a"), asyncio.sleep(100))
    played(loop, 50)
    assert loop.time() == 50
    assert loop.steps < 20


def test_garbage_is_looked_for_once_afterwards() -> None:
    with garbage_kept():
        assert not gc.isenabled()
        cycle = SimulatedProcess("a")
        cycle.name = cycle  # type: ignore[assignment]
        gone = weakref.ref(cycle)
        del cycle
        assert gone() is not None
    assert gone() is None
    assert gc.isenabled()


def test_waiting_for_nothing_is_an_error() -> None:
    loop = VirtualLoop(Random(0))
    with pytest.raises(RuntimeError, match="for ever"):
        loop.run_until_complete(loop.create_future())
    loop.close()


@pytest.mark.parametrize("seed", range(5))
def test_the_order_between_processes_is_drawn_and_within_one_kept(seed: int) -> None:
    loop, seen = VirtualLoop(Random(seed)), list[str]()
    for name in ("a", "b"):
        loop.start(SimulatedProcess(name), _say(seen, name))
    played(loop, 1)
    assert [text for text in seen if text[0] == "a"] == ["a0", "a1", "a2"]
    assert [text for text in seen if text[0] == "b"] == ["b0", "b1", "b2"]


async def _say(seen: list[str], name: str) -> None:
    for number in range(3):
        seen.append(f"{name}{number}")
        await asyncio.sleep(0)
