"""Every kind of trouble with a worker or the management cluster: what the user sees, and what is written where.

Each row injects one trouble, submits a Job, and says where it must have ended, which events must have told of it, and
what the API servers must have been asked for.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from jobrelay.kube import Client, FaultyTransport, LeaderElection, LeadershipLost, Request, Response
from jobrelay.kube.fault_injection import (
    AnswerStatus,
    CutStream,
    Delay,
    Fault,
    Hang,
    LoseReply,
    RefuseConnection,
    RepeatChunks,
)
from jobrelay.kube.resource import EVENTS_CORE, JOBS
from jobrelay.relay.model import State
from jobrelay.relay.relay import RelayManager
from jobrelay.relay.workers import Timing
from tests.relay import fleets
from tests.relay.fleets import Fleet, MakeFleet

CREATE = "POST *jobs[?]*"
REAL_CREATE = "POST *jobs[?]fieldManager=jobrelay"
DRY_RUN = "POST *jobs[?]*dryRun=All*"
COMMIT = "PATCH */jobs/train[?]*"
STATUS = "PATCH */jobs/train/status[?]*"
WATCH_JOBS = "GET *jobs[?]*watch=true*"
ALL = "*"
ONE, TWO, HOME = "worker-1", "worker-2", "management"
IMPATIENT = Timing(quiet=1.0, idle_quiet=1.0, answer=0.5, sync=3.0, unavailable=1.0, longest_pause=0.2)


@dataclass(frozen=True)
class Trouble:
    """What goes wrong, and what must come of it."""

    name: str
    where: str
    fault: Fault
    match: str
    times: int | None = 1
    ends_on: str | None = ONE
    """The worker that it must end on; None for any."""
    told: frozenset[str] = frozenset()
    pinned: str = ONE
    """It prefers this worker, so that the trouble meets it."""
    copies: int = field(default=1)
    """How many mirrors may have run."""
    counted: bool = True
    """Whether the counts must have come back too."""


FORBIDDEN = AnswerStatus(403, "Forbidden", 'admission webhook "policy.example.com" denied the request: no')
QUOTA = AnswerStatus(403, "Forbidden", "exceeded quota: jobs, requested: count/jobs.batch=1, used: 5, limited: 5")
MISSING = AnswerStatus(404, "NotFound", 'namespaces "default" not found')
BROKEN = AnswerStatus(500, "InternalError", "etcdserver: request timed out")
BUSY = AnswerStatus(429, "TooManyRequests", "please try again later", retry_after=1)
EXPIRED = AnswerStatus(401, "Unauthorized", "Unauthorized")
ILLEGAL = AnswerStatus(422, "Invalid", 'Job.batch "train" is invalid: status.active: Invalid value: -1')
CONFLICT = AnswerStatus(409, "Conflict", "the object has been modified")
GONE = AnswerStatus(410, "Expired", "too old resource version")
MOVED = frozenset({"Refused"})

TABLE = [
    Trouble("a slow worker", ONE, Delay(0.3), "* /apis/batch/*", times=None),
    Trouble("a worker that asks for patience", ONE, BUSY, CREATE),
    Trouble("an error of the worker that passes", ONE, BROKEN, REAL_CREATE, times=2),
    Trouble("an error of the worker that stays", ONE, BROKEN, REAL_CREATE, times=None, ends_on=TWO, told=MOVED),
    Trouble("a webhook that refuses the dry run", ONE, FORBIDDEN, DRY_RUN, times=None, ends_on=TWO, told=MOVED),
    Trouble("a webhook that refuses the mirror", ONE, FORBIDDEN, REAL_CREATE, times=None, ends_on=TWO, told=MOVED),
    Trouble("a quota", ONE, QUOTA, REAL_CREATE, times=None, ends_on=TWO, told=MOVED),
    Trouble("a missing namespace", ONE, MISSING, DRY_RUN, times=None, ends_on=TWO, told=MOVED),
    Trouble("a lost request for the mirror", ONE, RefuseConnection(), REAL_CREATE),
    Trouble("a lost reply about the mirror", ONE, LoseReply(), REAL_CREATE),
    Trouble("a lost request for the dry run", ONE, RefuseConnection(), DRY_RUN, ends_on=None),
    Trouble("a lost request for the commit", HOME, RefuseConnection(), COMMIT),
    Trouble("a lost reply about the commit", HOME, LoseReply(), COMMIT),
    Trouble("a conflict at the commit", HOME, CONFLICT, COMMIT),
    Trouble("a lost request for the status", HOME, RefuseConnection(), STATUS),
    Trouble("a lost reply about the status", HOME, LoseReply(), STATUS),
    Trouble("a conflict at the status", HOME, CONFLICT, STATUS),
    Trouble("a status that is refused", HOME, ILLEGAL, STATUS, told=frozenset({"StatusRefused"}), counted=False),
    Trouble("an error of the management cluster", HOME, BROKEN, STATUS, times=2),
    Trouble("a watch of the worker that is cut", ONE, CutStream(1), WATCH_JOBS, times=3, ends_on=None),
    Trouble("a watch of the worker that expired", ONE, GONE, WATCH_JOBS, times=1, ends_on=None),
    Trouble("events that come twice", ONE, RepeatChunks(), WATCH_JOBS, times=None),
    Trouble("a watch of the management cluster that is cut", HOME, CutStream(1), WATCH_JOBS, times=3),
    Trouble("expired credentials", ONE, EXPIRED, ALL, times=None, ends_on=TWO),
    Trouble("a worker that is not there", ONE, RefuseConnection(), ALL, times=None, ends_on=TWO),
    Trouble("a worker that hangs", ONE, Hang(), ALL, times=None, ends_on=TWO),
]


@pytest.mark.parametrize("trouble", TABLE, ids=lambda trouble: trouble.name.replace(" ", "-"))
async def test_trouble(trouble: Trouble, fleet: MakeFleet) -> None:
    async with fleet(start=False, timing=IMPATIENT) as it:
        link = it.home if trouble.where == HOME else it.links[trouble.where]
        link.add(trouble.fault, trouble.match, times=trouble.times)
        await it.start()
        await it.submit(annotations={"jobrelay.dev/preferred-clusters": trouble.pinned})
        status = await it.finished()
        assert status["conditions"][-1]["type"] == "Complete"
        assert not trouble.counted or (status["succeeded"], status.get("failed", 0)) == (1, 0)
        assert link.injected > 0
        if trouble.ends_on is not None:
            assert await it.place() == trouble.ends_on
        assert len(await it.mirrors()) == trouble.copies
        if trouble.told:
            await it.until(lambda: told(it, trouble.told))


async def told(it: Fleet, wanted: frozenset[str]) -> bool:
    found = await it.client.list(EVENTS_CORE, "default", field_selector="involvedObject.name=train")
    notes = [each.decode() for each in found.items]
    return wanted <= {each["reason"] for each in notes}


async def test_refused_by_all_it_waits_says_why_and_is_asked_again(fleet: MakeFleet) -> None:
    async with fleet(start=False, ask_again=1.0) as it:
        for link in it.links.values():
            link.add(QUOTA, DRY_RUN, times=1)
        await it.start()
        await it.submit()
        assert (await it.finished())["succeeded"] == 1
        await it.until(lambda: told(it, frozenset({"Refused", "NotPlaced", "Placed"})))


async def test_a_status_that_is_refused_in_every_form_is_not_told_and_is_tried_again(fleet: MakeFleet) -> None:
    async with fleet(1, start=False, ask_again=0.1) as it:
        it.home.add(ILLEGAL, STATUS, times=None)
        await it.start()
        await it.submit()
        await it.until(lambda: told(it, frozenset({"StatusRefused"})))
        await it.until(lambda: _mirror_complete(it))
        tried = it.home.injected
        await it.until(lambda: _injected(it.home, tried + 20))
        assert not await told(it, frozenset({"Started"}))
        assert not await told(it, frozenset({"Finished"}))
        it.home.clear()
        assert (await it.finished())["succeeded"] == 1
        await it.until(lambda: told(it, frozenset({"Started", "Finished"})))


async def _mirror_complete(it: Fleet) -> bool:
    found = (await it.mirrors()).values()
    return any(one["type"] == "Complete" for each in found for one in each.decode()["status"].get("conditions", ()))


async def _injected(link: FaultyTransport, wanted: int) -> bool:
    return link.injected >= wanted


async def test_an_end_that_is_refused_is_not_told_although_counts_are_written(fleet: MakeFleet) -> None:
    async with fleet(1, start=False, ask_again=0.1) as it:
        home, refusing = it.home._inner, FaultyTransport(it.home._inner)
        refusing.add(ILLEGAL, times=None)

        class RefusesEnds:
            async def send(self, request: Request) -> Response:
                ends = b'"Complete"' in (request.body or b"") and "/jobs/train/status" in str(request)
                return await (refusing if ends else home).send(request)

        it.home._inner = RefusesEnds()
        await it.start()
        await it.submit()
        await it.until(lambda: _injected(refusing, 20))
        assert (await it.job())["status"]["succeeded"] == 1
        assert not await told(it, frozenset({"Finished"}))
        refusing.clear()
        await it.finished()
        await it.until(lambda: told(it, frozenset({"Finished"})))


async def test_a_hung_worker_does_not_hold_up_the_others(fleet: MakeFleet) -> None:
    async with fleet(3, start=False) as it:
        await it.start()
        await it.submit("warm")
        await it.finished("warm")
        it.links[ONE].add(Hang(), "POST *", times=None)
        for number in range(30):
            await it.submit(f"job-{number}")

        async def done() -> list[str]:
            return [f"job-{number}" for number in range(30) if await _complete(it, f"job-{number}")]

        await it.until(lambda: _at_least(done, 15))
        for name in await done():
            assert await it.place(name) != ONE


async def _complete(it: Fleet, name: str) -> bool:
    conditions = (await it.job(name)).get("status", {}).get("conditions", ())
    return any(one["type"] == "Complete" for one in conditions)


async def _at_least(count: Callable[[], Any], wanted: int) -> bool:
    return len(await count()) >= wanted


async def test_nothing_is_read_from_workers_in_steady_state(fleet: MakeFleet) -> None:
    async with fleet() as it:
        await it.submit("first")
        await it.finished("first")
        seen: list[str] = []
        for link in it.links.values():
            _listen(link, seen)
        await it.submit()
        await it.finished()
        assert [each for each in seen if each.startswith("GET") and "watch=true" not in each] == []


def _listen(link: FaultyTransport, seen: list[str]) -> None:
    inner = link._inner

    class Listening:
        async def send(self, request: Any) -> Any:
            seen.append(str(request))
            return await inner.send(request)

    link._inner = Listening()


@pytest.mark.parametrize(("fencing", "most"), [(False, 5), (True, 7)])
async def test_a_finished_job_costs_at_most_five_writes_or_seven_if_it_is_fenced(
    fencing: bool, most: int, fleet: MakeFleet
) -> None:
    async with fleet(keep_finished=0.5, fencing=fencing) as it:
        for number in range(8):  # so that a worker has most likely accepted that shape
            await it.submit(f"job-{number}", seconds=0.5)
        for number in range(8):
            await it.finished(f"job-{number}")
        seen: list[str] = []
        for link in (it.home, *it.links.values()):
            _listen(link, seen)
        await it.submit(seconds=0.5)
        await it.finished()

        async def removed() -> bool:
            return not await it.mirrors()

        await it.until(removed)
        writes = [
            each
            for each in seen
            if ((not each.startswith("GET") and "train" in each) or ("POST" in each and "/jobs" in each))
            and "dryRun" not in each  # once for each shape and worker, and nothing is written
        ]
        assert len([each for each in writes if "/events" not in each]) <= most, writes


async def test_a_release_that_the_worker_refuses_is_told_and_tried_again(fleet: MakeFleet) -> None:
    async with fleet(1, fencing=True, ask_again=0.5) as it:
        it.links[ONE].add(FORBIDDEN, "PATCH *", times=2)
        await it.submit(seconds=0.1)
        assert (await it.finished())["succeeded"] == 1
        await it.until(lambda: told(it, frozenset({"ForwardRefused"})))


async def test_a_cordoned_worker_gets_nothing_new(fleet: MakeFleet) -> None:
    async with fleet() as it:
        specs = it.source.specs
        it.source.change(specs | {ONE: dataclasses.replace(specs[ONE], state=State.CORDONED)})
        for number in range(6):
            await it.submit(f"job-{number}")
        for number in range(6):
            await it.finished(f"job-{number}")
            assert await it.place(f"job-{number}") == TWO


async def test_two_relays_with_a_lease_never_both_act_and_the_second_takes_over(fleet: MakeFleet) -> None:
    async with fleet(start=False) as it:
        relays, tasks = [], []
        for number in range(2):
            lease = {"lease_duration": 3.0, "renew_deadline": 2.0, "retry_period": 0.5}
            election = LeaderElection(Client(it.home), "jobrelay", fleets.NAMESPACE, f"relay-{number}", **lease)
            relay = RelayManager(
                Client(it.home), it.source, it.settings, connect=it.connect, timing=it.timing, election=election
            )
            relays.append(relay)
            tasks.append(asyncio.create_task(relay.run()))
            await asyncio.sleep(0.1)
        await it.submit("first")
        await it.finished("first")
        assert [relay.leads() for relay in relays].count(True) == 1
        leader = next(number for number, relay in enumerate(relays) if relay.leads())
        tasks[leader].cancel()
        await asyncio.wait({tasks[leader]})
        await it.submit("second")
        assert (await it.finished("second"))["succeeded"] == 1
        assert relays[1 - leader].leads()
        tasks[1 - leader].cancel()
        await asyncio.wait({tasks[1 - leader]})


async def test_a_deposed_leader_breaks_off_what_it_has_begun_before_another_begins(fleet: MakeFleet) -> None:
    """Its request for the mirror sets off so late that the lease has passed on by then: it must not set off at all."""
    lease = {"lease_duration": 3.0, "renew_deadline": 2.0, "retry_period": 0.5}
    async with fleet(1, start=False) as it:
        way_to_lease = FaultyTransport(it.home)
        election = LeaderElection(Client(way_to_lease), "jobrelay", fleets.NAMESPACE, "first", **lease)
        relay = RelayManager(
            Client(it.home), it.source, it.settings, connect=it.connect, timing=it.timing, election=election
        )
        running = asyncio.create_task(relay.run())
        seen: list[str] = []
        _listen(it.links[ONE], seen)
        it.links[ONE].add(Delay(4.0), REAL_CREATE, times=None)
        await it.submit()
        await it.until(lambda: _assigned(it))
        way_to_lease.partition()
        ended, _ = await asyncio.wait({running}, timeout=10)
        assert isinstance(next(iter(ended)).exception(), LeadershipLost)
        await asyncio.sleep(2.0)  # longer than the rest of the delay
        assert [each for each in seen if each.startswith("POST") and "dryRun" not in each] == []


async def _assigned(it: Fleet) -> bool:
    return bool(await it.place())


async def test_jobs_are_found_by_their_uid_and_not_by_their_name(fleet: MakeFleet) -> None:
    """A mirror of an earlier Job of that name is removed before the new one's is made."""
    async with fleet(1) as it:
        await it.submit(seconds=1000)
        await it.runs()
        await it.kill()
        await it.client.delete(JOBS, "train", "default", propagation="Background")
        fresh = await it.submit()
        await it.start()
        assert (await it.finished())["succeeded"] == 1
        assert (await it.mirrors())[ONE].metadata.annotations["jobrelay.dev/origin-uid"] == fresh.uid
