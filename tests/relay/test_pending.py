"""The line of waiting workloads: who is tried when, and who may claim a worker."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.kube import FakeClock
from jobrelay.relay.claims import PATIENCE, SHARE, TIMES_TYPICAL, Claims, LineRank
from jobrelay.relay.model import Claimant
from jobrelay.relay.pending import PendingWorkloads


class Line:
    """A line on fake time, with room for some workloads of each group."""

    def __init__(self, workers: int = 1) -> None:
        self.clock, self.tried, self.room = FakeClock(), list[str](), dict[str, int]()
        self.pending: PendingWorkloads[str] = PendingWorkloads(self.clock, self._try, Claims(lambda: workers))
        self.known: dict[str, tuple[str, LineRank]] = {}
        self.queue: list[str] = []

    def add(self, name: str, group: str = "a", priority: int = 0, since: float = 0.0) -> None:
        self.known[name] = group, LineRank(-priority, since)
        self.pending.add(name, *self.known[name])

    def _try(self, name: str) -> None:
        self.queue.append(name)

    async def retry(self, **room: int) -> list[str]:
        """Have the line tried with room for so many of each group; those that are placed, in their order."""
        placed, self.tried = [], []
        self.pending.retry_soon()
        await self.clock.advance(1)
        while self.queue:
            name = self.queue.pop(0)
            self.tried.append(name)
            group = self.known[name][0]
            if room.get(group, 0):
                room[group] -= 1
                placed.append(name)
                self.pending.placed(name)
            else:
                self.pending.add(name, *self.known[name])
        return placed

    def turn(self, name: str, group: str = "a", priority: int = 0, since: float = 99.0) -> bool:
        return self.pending.turn(name, group, LineRank(-priority, since)).now


async def test_workloads_are_placed_by_priority_and_then_by_age() -> None:
    line = Line()
    line.add("new", "a", since=3)
    line.add("old", "b", since=1)
    line.add("urgent", "c", priority=5, since=9)
    line.add("middle", "a", since=2)
    assert list(line.pending) == ["urgent", "old", "middle", "new"]
    assert await line.retry(a=2, b=1, c=1) == ["urgent", "old", "middle", "new"]
    assert len(line.pending) == 0


async def test_of_many_alike_one_is_tried_in_vain() -> None:
    line = Line()
    for number in range(100):
        line.add(f"{number:02}", since=number)
    assert await line.retry(a=2) == ["00", "01"]
    assert line.tried == ["00", "01", "02"]


async def test_one_that_finds_no_room_does_not_stop_those_of_other_groups() -> None:
    line = Line()
    line.add("large", "large", since=1)
    line.add("small", "small", since=2)
    assert await line.retry(small=1) == ["small"]
    assert list(line.pending) == ["large"]


def test_whoever_comes_later_waits_behind_those_that_need_the_same() -> None:
    line = Line()
    assert line.turn("first")
    line.add("first", since=1)
    assert not line.turn("second", since=2)
    assert line.turn("second", priority=1, since=2)
    assert line.turn("other", "b", since=2)


def test_while_a_retry_is_due_everybody_behind_waits_for_it() -> None:
    line = Line()
    line.add("first", since=1)
    line.pending.retry_soon()
    assert not line.turn("other", "b", since=2)
    assert line.turn("urgent", "b", priority=1, since=2)


def test_the_turn_says_how_many_are_ahead() -> None:
    line = Line()
    for name, group, since in (("one", "a", 1), ("two", "b", 2), ("three", "a", 3)):
        line.add(name, group, since=since)
    turn = line.pending.turn("three", "a", LineRank(0, 3))
    assert (turn.now, turn.ahead, turn.alike) == (False, 2, 1)


async def test_a_round_goes_on_if_the_one_that_is_tried_is_deleted() -> None:
    line = Line()
    line.add("gone", "a", since=1)
    line.add("next", "b", since=2)
    line.pending.retry_soon()
    await line.clock.advance(1)
    assert line.queue == ["gone"]
    line.pending.discard("gone")
    assert line.queue == ["gone", "next"]


async def test_a_round_goes_on_without_one_that_gets_no_answer() -> None:
    line = Line()
    line.add("silent", "a", since=1)
    line.pending.retry_soon()
    await line.clock.advance(1)
    await line.clock.advance(5)
    line.pending.retry_soon()
    await line.clock.advance(1)
    assert line.queue == ["silent", "silent"]


async def test_while_a_worker_is_asked_about_one_the_others_wait_for_a_moment() -> None:
    line = Line()
    line.add("asked", "a", since=1)
    line.pending.add("asked", *line.known["asked"], asking=True)
    assert not line.turn("other", "b", since=2)
    line.add("other", "b", since=2)
    await line.clock.advance(0.5)
    assert line.queue == []
    await line.clock.advance(1)
    assert line.queue == ["asked"]


async def test_whoever_joins_while_one_is_tried_is_tried_after_it() -> None:
    line = Line()
    line.add("asked", "a", since=1)
    line.pending.add("asked", *line.known["asked"], asking=True)
    line.add("other", "b", since=2)
    line.pending.placed("asked")
    assert line.queue == ["other"]


async def test_a_change_during_a_round_leads_to_another_one() -> None:
    line = Line()
    line.add("one", since=1)
    line.pending.retry_soon()
    await line.clock.advance(0.2)
    line.pending.retry_soon()
    await line.clock.advance(0.2)
    line.pending.add("one", *line.known["one"])
    await line.clock.advance(0.2)
    assert line.queue == ["one", "one"]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.integers(0, 5)), max_size=12), st.data())
async def test_nobody_is_placed_before_another_of_its_group_with_a_better_place(
    jobs: list[tuple[str, int, int]], data: st.DataObject
) -> None:
    line = Line()
    for number, (group, priority, since) in enumerate(jobs):
        line.add(f"{number}", group, priority, since)
    order, room = list(line.pending), {group: data.draw(st.integers(0, 4)) for group in "abc"}
    placed = await line.retry(**room)
    for group in "abc":
        alike = [name for name in order if line.known[name][0] == group]
        assert [name for name in placed if line.known[name][0] == group] == alike[: room[group]]


async def waits_long(line: Line, name: str = "large", seconds: float = PATIENCE + 1) -> bool:
    line.add(name, "large", since=1)
    await line.clock.advance(seconds)
    return line.pending.turn(name, *line.known[name]).may_claim


@pytest.mark.parametrize(("seconds", "may"), [(PATIENCE - 1, False), (PATIENCE + 1, True)])
async def test_a_workload_may_claim_a_worker_after_a_time_in_line(seconds: float, may: bool) -> None:
    assert await waits_long(Line(), seconds=seconds) is may


async def test_it_also_waits_several_times_as_long_as_others_do() -> None:
    line = Line()
    for _ in range(5000):
        line.pending.claims.placed(PATIENCE)
    assert not await waits_long(line, seconds=(TIMES_TYPICAL - 1) * PATIENCE)
    await line.clock.advance(2 * PATIENCE)
    assert line.pending.turn("large", *line.known["large"]).may_claim


async def test_a_claim_ends_with_the_placement_and_then_there_is_none_for_a_while() -> None:
    line = Line(workers=2)
    await waits_long(line)
    await waits_long(line, "next", 0)
    line.pending.claim("large", Claimant("u", "large"), "w")
    assert (line.pending.claims.on("w"), line.pending.claims.of("large")) == (Claimant("u", "large"), "w")
    await line.clock.advance(1000)
    line.pending.placed("large")
    assert line.pending.claims.on("w") is None
    claims, rank = line.pending.claims, LineRank(0, 2)
    now = line.clock.monotonic()
    pause = 1000 * (SHARE / 2 - 1)
    assert [claims.may_claim("next", rank, 9e9, now + more) for more in (pause - 1, pause + 1)] == [False, True]


async def test_the_claim_of_a_lower_priority_gives_way() -> None:
    line = Line()
    await waits_long(line)
    line.pending.claim("large", Claimant("u", "large"), "w")
    line.add("urgent", "b", priority=1)
    await line.clock.advance(PATIENCE)
    assert line.pending.turn("urgent", *line.known["urgent"]).may_claim
    line.pending.claim("urgent", Claimant("v", "urgent", 1), "x")
    assert (line.pending.claims.of("large"), line.pending.claims.of("urgent")) == ("", "x")
