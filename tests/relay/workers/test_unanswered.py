from __future__ import annotations

from jobrelay.kube import FakeClock
from jobrelay.relay.workers.unanswered import UnansweredRequests


def requests(clock: FakeClock) -> tuple[UnansweredRequests, list[float]]:
    found: list[float] = []
    made = UnansweredRequests(clock, 2.0, lambda: found.append(clock.monotonic()))
    return made, found


async def test_silence_counts_from_the_first_unanswered_request(clock: FakeClock) -> None:
    made, found = requests(clock)
    made.sent()
    await clock.advance(1.5)
    made.sent()
    await clock.advance(1.0)
    assert (made.suspicious, made.silence, found) == (True, 2.5, [2.0])
    await clock.advance(2.0)
    assert found == [2.0, 4.0]


async def test_any_sign_of_life_ends_it(clock: FakeClock) -> None:
    made, found = requests(clock)
    made.sent()
    made.sent()
    await clock.advance(1.5)
    made.ended()
    made.heard()
    await clock.advance(1.0)
    assert (made.suspicious, made.silence, found) == (False, 1.0, [])
    made.ended()
    made.heard()
    await clock.advance(10)
    assert (made.silence, found) == (0.0, [])


async def test_a_request_that_was_given_up_is_still_unanswered(clock: FakeClock) -> None:
    made, found = requests(clock)
    made.sent()
    await clock.advance(1.0)
    made.ended()
    await clock.advance(1.0)
    assert (made.silence, found) == (2.0, [2.0])


async def test_time_in_which_the_relay_itself_was_stopped_does_not_count(clock: FakeClock) -> None:
    made, found = requests(clock)
    made.sent()
    clock._elapsed += 60  # the timers have not run
    assert (made.suspicious, made.silence) == (False, 0.0)
    await clock.advance(1.9)
    assert found == []
    await clock.advance(0.2)
    assert found == [62.0]


async def test_a_relay_that_runs_late_now_and_then_still_notices(clock: FakeClock) -> None:
    made, found = requests(clock)
    made.sent()
    for _ in range(4):
        clock._elapsed += 5  # the timers have not run
        assert found == []
        await clock.advance(0.5)
    assert found == [22.0]
