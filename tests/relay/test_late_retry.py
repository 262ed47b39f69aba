"""A retry is looked at afresh: a leader that has lost its lease sends none, nor one for a Job that has gone
meanwhile."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from jobrelay.kube import FaultyTransport, Request, Response
from jobrelay.kube.fault_injection import AnswerStatus
from jobrelay.kube.resource import JOBS
from jobrelay.relay.leader_transport import LeaderTransport, NotLeading
from tests.relay.fleets import Fleet, MakeFleet

BUSY = AnswerStatus(429, "TooManyRequests", retry_after=1)
COMMIT = "PATCH */jobs/train?fieldManager=jobrelay"
CREATE = "POST */jobs?fieldManager=jobrelay"


def lease_of(it: Fleet) -> Any:
    """The lease of the running relay, for a test to take away."""
    assert it.relay is not None
    lease = SimpleNamespace(is_leader=True)
    it.relay._election = lease  # type: ignore[assignment]
    return lease


async def injected(link: FaultyTransport) -> None:
    async with asyncio.timeout(10):
        while not link.injected:
            await asyncio.sleep(0.01)


async def test_the_commit_of_a_leader_that_was_paused_is_not_sent_again(fleet: MakeFleet) -> None:
    async with fleet(1) as it:
        lease = lease_of(it)
        it.home.add(BUSY, COMMIT)
        await it.submit()
        await injected(it.home)
        lease.is_leader = False
        await asyncio.sleep(1.7)
        assert await it.place() == ""
        lease.is_leader = True
        assert (await it.finished())["succeeded"] == 1


async def test_the_creation_of_a_leader_that_was_paused_is_not_sent_again(fleet: MakeFleet) -> None:
    async with fleet(1) as it:
        lease = lease_of(it)
        it.links["worker-1"].add(BUSY, CREATE)
        await it.submit(seconds=30)
        await injected(it.links["worker-1"])
        lease.is_leader = False
        await asyncio.sleep(1.7)
        assert await it.mirrors() == {}


async def test_the_creation_for_a_job_that_has_gone_is_not_sent_again(fleet: MakeFleet) -> None:
    async with fleet(1) as it:
        sent: list[str] = []
        link, connected = it.links["worker-1"], it.on("worker-1")
        it.links["worker-1"].add(BUSY, CREATE)
        inner = link._inner

        class Counting:
            async def send(self, request: Request) -> Response:
                sent.append(str(request))
                return await inner.send(request)

        link._inner = Counting()
        await it.submit(seconds=30)
        await injected(link)
        await it.client.delete(JOBS, "train", "default", propagation="Background")
        await asyncio.sleep(1.7)
        assert not [each for each in sent if each.startswith("POST") and "/jobs" in each and "dryRun" not in each]
        assert not (await connected.list(JOBS, "default")).items


async def test_a_busy_worker_is_asked_again_after_the_time_that_it_named(fleet: MakeFleet) -> None:
    async with fleet(1) as it:
        it.links["worker-1"].add(BUSY, CREATE)
        started = asyncio.get_running_loop().time()
        await it.submit()
        assert (await it.finished())["succeeded"] == 1
        assert asyncio.get_running_loop().time() - started >= 1.0


class Slow:
    """Obtains its credentials for a while, as the network does, and then asks the request whether it is still due."""

    def __init__(self, meanwhile: SimpleNamespace) -> None:
        self.meanwhile, self.sent = meanwhile, 0

    async def send(self, request: Request) -> Response:
        self.meanwhile.leads = False
        if request.guard is not None:
            request.guard()
        self.sent += 1
        return Response(200)


@pytest.mark.parametrize(("method", "sent"), [("POST", 0), ("PUT", 0), ("PATCH", 0), ("DELETE", 0), ("GET", 1)])
async def test_a_write_carries_the_check_to_the_moment_of_sending(method: str, sent: int) -> None:
    lease = SimpleNamespace(leads=True)
    slow = Slow(lease)
    transport = LeaderTransport(slow, lambda: lease.leads)
    if sent:
        await transport.send(Request(method, "/x"))
    else:
        with pytest.raises(NotLeading):
            await transport.send(Request(method, "/x"))
    assert slow.sent == sent
