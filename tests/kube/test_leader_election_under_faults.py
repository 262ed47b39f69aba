"""Whatever happens to the links of the candidates, at most one leads; and when the links are well again, one does."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from jobrelay.kube import FakeClock
from jobrelay.kube.fault_injection import AnswerStatus, Delay, Fault, Hang, LoseReply, RefuseConnection

from .miniserver import MiniServer
from .test_leader_election import Candidate

FAULTS: list[Fault] = [RefuseConnection(), LoseReply(), Hang(), Delay(3), Delay(12), AnswerStatus(500, "InternalError")]
STEPS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.one_of(st.sampled_from(["partition", "heal", "restart"]), st.sampled_from(FAULTS)),
        st.sampled_from([0.5, 2, 7]),
    ),
    max_size=15,
)


class Fleet:
    """Three candidates for one lease."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._server = MiniServer()
        self.members = [Candidate(self._server, clock, f"candidate-{number}") for number in range(3)]

    async def disturb(self, number: int, what: str | Fault) -> None:
        member = self.members[number]
        if what == "partition":
            member.link.partition()
        elif what == "heal":
            member.link.heal()
        elif isinstance(what, str):
            await self.restart(number)
        else:
            member.link.add(what)

    async def restart(self, number: int) -> None:
        await self.stop(number)
        self.members[number] = Candidate(self._server, self._clock, f"candidate-{number}")

    async def stop(self, number: int) -> None:
        stopping = asyncio.create_task(self.members[number].stop())
        await self._clock.advance(11)
        await stopping

    async def wait(self, seconds: float) -> None:
        for _ in range(int(seconds * 4)):
            await self._clock.advance(0.25)
            assert sum(member.leading for member in self.members) <= 1
            assert sum(member.election.is_leader for member in self.members) <= 1


@settings(max_examples=40, deadline=None)
@given(steps=STEPS)
async def test_at_most_one_leads_and_in_the_end_one_does(steps: list[tuple[int, str | Fault, float]]) -> None:
    clock = FakeClock()
    fleet = Fleet(clock)
    for number, what, seconds in steps:
        await fleet.disturb(number, what)
        await fleet.wait(seconds)
    for number in range(3):
        fleet.members[number].link.heal()
        fleet.members[number].link.clear()
        if fleet.members[number].task.done():
            await fleet.restart(number)
    await fleet.wait(40)
    assert sum(member.leading for member in fleet.members) == 1
    for number in range(3):
        await fleet.stop(number)
