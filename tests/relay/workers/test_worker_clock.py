"""What a worker's answers tell about its clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from jobrelay.kube import FakeClock
from jobrelay.relay.workers.worker_clock import WorkerClock

START = datetime(2026, 1, 1, tzinfo=UTC)


class Answers:
    """A worker whose clock differs from this machine's by some seconds."""

    def __init__(self, ahead: float) -> None:
        self.clock, self.ahead = FakeClock(START), ahead
        self.found = WorkerClock(self.clock)

    @property
    def time(self) -> datetime:
        return self.clock.now() + timedelta(seconds=self.ahead)

    async def answer(self, there: float = 0.01, back: float = 0.01) -> None:
        sent = self.clock.monotonic()
        await self.clock.advance(there)
        date = format_datetime(self.time, usegmt=True)
        await self.clock.advance(back)
        self.found.answered(date, sent)

    def check(self) -> float:
        """The worker's time is within the reading; how uncertain that is."""
        reading = self.found.reading
        assert reading is not None
        assert reading.earliest <= self.time <= reading.earliest + timedelta(seconds=reading.uncertain)
        return reading.uncertain


def test_it_is_unknown_before_the_first_answer_with_a_date() -> None:
    clock = WorkerClock(FakeClock())
    clock.answered("", 0.0)
    clock.answered("yesterday", 0.0)
    assert clock.reading is None


@pytest.mark.parametrize("ahead", [0.0, 120.0, -60.3, 1e7])
async def test_one_answer_tells_it_to_a_second_and_the_way(ahead: float) -> None:
    it = Answers(ahead)
    await it.answer(0.2, 0.3)
    assert it.check() == pytest.approx(1.5)


async def test_more_answers_tell_it_better() -> None:
    it = Answers(33.3)
    for _ in range(20):
        await it.answer()
        await it.clock.advance(1.13)
    assert it.check() < 0.3


async def test_a_slow_answer_does_not_make_it_worse() -> None:
    it = Answers(5.0)
    await it.answer()
    await it.answer(10.0, 4.0)
    assert it.check() < 1.1


async def test_it_grows_uncertain_with_time() -> None:
    it = Answers(0.0)
    await it.answer()
    await it.clock.advance(1000)
    assert it.check() == pytest.approx(3.02, abs=0.01)


@pytest.mark.parametrize("jump", [90.0, -90.0])
async def test_a_jump_is_noticed_and_the_new_time_known(jump: float) -> None:
    it = Answers(0.0)
    await it.answer()
    it.ahead += jump
    await it.clock.advance(5)
    await it.answer()
    await it.clock.advance(7)
    it.check()
    reading = it.found.reading
    assert reading is not None
    assert reading.jump == pytest.approx(jump, abs=1.5)
    assert reading.steady == pytest.approx(7)


async def test_nothing_is_kept_of_another_cluster() -> None:
    it = Answers(0.0)
    await it.answer()
    it.found.start_over()
    assert it.found.reading is None
    it.ahead = 500.0
    await it.answer()
    it.check()
    assert it.found.reading is not None
    assert it.found.reading.jump == 0
