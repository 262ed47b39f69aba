from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest

from jobrelay.kube import Client, FakeClock, FaultyTransport, LeaderElection, LeadershipLost
from jobrelay.kube.fault_injection import Hang, LoseReply, RefuseConnection

from .miniserver import MiniServer

PATH = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/lead"


class Candidate:
    """A leader election whose work only waits, and its own link to the server."""

    def __init__(self, server: MiniServer, clock: FakeClock, identity: str) -> None:
        self.link = FaultyTransport(server, clock=clock)
        self.lost = 0
        self.leading = False
        self.election = LeaderElection(
            Client(self.link, clock=clock),
            "lead",
            "ns",
            identity,
            clock=clock,
            random=Random(1),
            on_lost=self._count,
        )
        self.task = asyncio.create_task(self.election.run(self._lead))

    def _count(self) -> None:
        self.lost += 1

    async def _lead(self) -> None:
        self.leading = True
        try:
            await asyncio.Event().wait()
        finally:
            self.leading = False

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.wait({self.task})


def spec(server: MiniServer) -> dict[str, Any]:
    found: dict[str, Any] = server.objects[PATH]["spec"]
    return found


async def test_the_first_candidate_creates_the_lease_and_leads(clock: FakeClock) -> None:
    server = MiniServer()
    one = Candidate(server, clock, "one")
    await clock.settle()
    assert one.leading
    assert one.election.is_leader
    assert spec(server) == {
        "holderIdentity": "one",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-01T00:00:00.000000Z",
        "renewTime": "2026-01-01T00:00:00.000000Z",
        "leaseTransitions": 0,
    }
    await one.stop()


async def test_the_leader_renews_with_one_request_each(clock: FakeClock) -> None:
    server = MiniServer()
    one = Candidate(server, clock, "one")
    await clock.advance(10)
    assert [request.method for request in server.requests] == ["GET", "POST", *["PUT"] * 5]
    assert spec(server)["renewTime"] == "2026-01-01T00:00:10.000000Z"
    assert spec(server)["acquireTime"] == "2026-01-01T00:00:00.000000Z"
    await one.stop()


async def test_a_second_candidate_waits_while_the_lease_is_renewed(clock: FakeClock) -> None:
    server = MiniServer()
    one, two = Candidate(server, clock, "one"), Candidate(server, clock, "two")
    await clock.advance(120)
    assert (one.leading, two.leading) == (True, False)
    assert two.election.leader == "one"
    await one.stop()
    await two.stop()


async def test_a_clean_stop_hands_over_at_once(clock: FakeClock) -> None:
    server = MiniServer()
    one = Candidate(server, clock, "one")
    await clock.settle()
    two = Candidate(server, clock, "two")
    await clock.settle()
    await one.stop()
    assert spec(server)["holderIdentity"] == ""
    await clock.advance(2.5)
    assert two.leading
    assert spec(server)["leaseTransitions"] == 1
    await two.stop()


async def test_a_cut_off_leader_stops_before_another_starts(clock: FakeClock) -> None:
    server = MiniServer()
    one = Candidate(server, clock, "one")
    await clock.settle()
    two = Candidate(server, clock, "two")
    await clock.advance(4)
    one.link.partition()
    for _ in range(60):
        await clock.advance(0.5)
        assert not (one.leading and two.leading)
    assert (one.leading, two.leading, one.lost) == (False, True, 1)
    with pytest.raises(LeadershipLost):
        await one.task
    await two.stop()


async def test_a_hanging_server_costs_leadership_in_time(clock: FakeClock) -> None:
    one = Candidate(MiniServer(), clock, "one")
    await clock.settle()
    one.link.add(Hang(), times=None)
    await clock.advance(9.9)
    assert one.leading
    await clock.advance(0.2)
    assert not one.leading
    assert not one.election.is_leader


@pytest.mark.parametrize("fault", [RefuseConnection(), LoseReply()])
async def test_a_short_disturbance_is_survived(clock: FakeClock, fault: RefuseConnection | LoseReply) -> None:
    one = Candidate(MiniServer(), clock, "one")
    await clock.settle()
    one.link.add(fault, times=3)
    await clock.advance(60)
    assert one.leading
    await one.stop()


async def test_anothers_clock_does_not_matter(clock: FakeClock) -> None:
    server = MiniServer()
    old = {"holderIdentity": "other", "leaseDurationSeconds": 15, "renewTime": "1999-01-01T00:00:00.000000Z"}
    server.put(PATH, {"metadata": {"name": "lead", "namespace": "ns"}, "spec": old})
    one = Candidate(server, clock, "one")
    await clock.advance(14)
    assert not one.leading
    await clock.advance(4)
    assert one.leading
    await one.stop()


async def test_a_stolen_lease_ends_leadership(clock: FakeClock) -> None:
    server = MiniServer()
    one = Candidate(server, clock, "one")
    await clock.settle()
    server.put(PATH, server.objects[PATH] | {"spec": spec(server) | {"holderIdentity": "thief"}})
    await clock.advance(6)
    assert not one.leading
    assert spec(server)["holderIdentity"] == "thief"


async def test_work_that_ends_by_itself_releases_the_lease(clock: FakeClock) -> None:
    server = MiniServer()
    election = LeaderElection(Client(server, clock=clock), "lead", "ns", "one", clock=clock)

    async def work() -> None:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        await election.run(work)
    assert spec(server)["holderIdentity"] == ""


async def test_an_election_can_be_held_again(clock: FakeClock) -> None:
    server = MiniServer()
    election = LeaderElection(Client(server, clock=clock), "lead", "ns", "one", clock=clock)
    terms: list[int] = []

    async def work() -> None:
        terms.append(spec(server)["leaseTransitions"])

    await election.run(work)
    await clock.advance(60)
    await election.run(work)
    assert terms == [0, 1]


def test_times_must_leave_room_for_each_other() -> None:
    with pytest.raises(ValueError, match="renew_deadline"):
        LeaderElection(Client(MiniServer()), "lead", "ns", "one", renew_deadline=20)


async def test_the_leader_tells_how_to_reach_it_for_as_long_as_it_leads(clock: FakeClock) -> None:
    server = MiniServer()
    told = {"example.com/endpoint": "http://127.0.0.1:1"}
    client = Client(server, clock=clock)
    election = LeaderElection(client, "lead", "ns", "one", clock=clock, random=Random(1), annotations=told)
    task = asyncio.create_task(election.run(asyncio.Event().wait))  # type: ignore[arg-type]
    await clock.advance(5)
    assert server.objects[PATH]["metadata"]["annotations"] == told
    task.cancel()
    await asyncio.wait({task})
    assert not server.objects[PATH]["metadata"]["annotations"]
