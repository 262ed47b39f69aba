"""The API for users, through the API server of the management cluster: what a plain user sees, and what not."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from jobrelay.kube import BadRequest, Client, Forbidden, NotFound, ServerTimeout
from jobrelay.kube.resource import JOBS
from jobrelay.relay.api.names import BASE
from tests.relay import fleets
from tests.relay.api import serving_fleet, talking
from tests.relay.fleets import MakeFleet, job

OWN = f"{BASE}/namespaces/default"


async def asked(client: Client, path: str, **query: Any) -> Any:
    return json.loads(await client.call("GET", path, query))


async def test_a_plain_user_sees_their_workloads_and_why_each_is_where_it_is(fleet: MakeFleet) -> None:
    async with serving_fleet(fleet) as served, served.user() as ann:
        await ann.create(JOBS, job(seconds=1000))
        worker = await served.it.known_to_run()
        listed = await asked(ann, f"{OWN}/workloads")
        assert [(each["metadata"]["name"], each["status"]["cluster"]) for each in listed["items"]] == [
            ("job:train", worker)
        ]
        found = (await asked(ann, f"{OWN}/workloads/job:train"))["status"]
        assert (found["stage"], len(found["workers"]), found["pods"]) == ("Running", 2, {"Running": 1})
        assert found["runs"][0] == {**found["runs"][0], "cluster": worker, "run": 1, "present": True}


async def test_a_neighbour_s_workloads_cannot_be_seen(fleet: MakeFleet) -> None:
    async with serving_fleet(fleet) as served, served.user() as ann, served.user("bob", "other") as bob:
        await served.it.submit(seconds=1000)
        await served.it.runs()
        for path in ("workloads", "overview", "workloads/job:train", "workloads/job:train/log"):
            with pytest.raises(Forbidden):
                await bob.call("GET", f"{OWN}/{path}")
            if "log" not in path:
                await ann.call("GET", f"{OWN}/{path}")
        with pytest.raises(Forbidden):
            await ann.call("GET", f"{BASE}/workloads")
        assert (await asked(bob, f"{BASE}/namespaces/other/workloads"))["items"] == []


async def test_the_overview_counts_stages_and_names_workers_without_their_details(fleet: MakeFleet) -> None:
    async with serving_fleet(fleet) as served, served.user() as ann:
        await ann.create(JOBS, job(seconds=1000))
        worker = await served.it.known_to_run()
        found = await asked(ann, f"{OWN}/overview")
        assert found["stages"] == {"Running": 1}
        assert {"name": worker, "connected": True, "state": "open", "jobs": 1} in found["workers"]
        with pytest.raises(Forbidden):
            await ann.call("GET", f"{BASE}/workers")
        assert "version" in (await asked(served.it.client, f"{BASE}/workers"))["items"][0]


async def test_logs_are_read_and_followed_to_the_end() -> None:
    async with serving_fleet(fleets.fleet) as served, served.user() as ann:
        await ann.create(JOBS, talking(2))
        await served.it.runs()
        async with asyncio.timeout(30), ann.stream(f"{OWN}/workloads/train/log", {"follow": "true"}) as chunks:
            followed = b"".join([chunk async for chunk in chunks])
        await served.it.finished()
        assert followed == await ann.call("GET", f"{OWN}/workloads/jobs.batch:train/log")
        last = await ann.call("GET", f"{OWN}/workloads/job:train/log", {"tailLines": 1, "prefix": "true"})
        assert followed == b"hello\nbye\n"
        assert (last.startswith(b"[train-"), last.endswith(b"/main] bye\n")) == (True, True)


async def test_logs_of_one_index_are_chosen() -> None:
    async with serving_fleet(fleets.fleet) as served, served.user() as ann:
        await ann.create(JOBS, talking(completions=2, parallelism=2, completionMode="Indexed"))
        await served.it.finished()
        found = await ann.call("GET", f"{OWN}/workloads/job:train/log", {"index": 1, "prefix": "true"})
        assert found.startswith(b"[train-1-")
        with pytest.raises(BadRequest, match="no pod of Job default/train has started"):
            await ann.call("GET", f"{OWN}/workloads/job:train/log", {"index": 2})
        with pytest.raises(BadRequest, match="has a container 'nix'"):
            await ann.call("GET", f"{OWN}/workloads/job:train/log", {"container": "nix"})


async def test_events_come_from_both_clusters(fleet: MakeFleet) -> None:
    async with serving_fleet(fleet) as served, served.user() as ann:
        await ann.create(JOBS, job(seconds=1000))
        worker = await served.it.runs()

        async def told() -> bool:
            found = (await asked(ann, f"{OWN}/workloads/job:train/events"))["items"]
            return {("Placed", ""), ("SuccessfulCreate", worker)} <= {(e["reason"], e["cluster"]) for e in found}

        await served.it.until(told)


async def test_what_there_is_not_is_told_only_to_who_may_know(fleet: MakeFleet) -> None:
    async with serving_fleet(fleet) as served, served.user() as ann, served.user("bob", "other") as bob:
        with pytest.raises(NotFound, match="there is no Job default/nix"):
            await ann.call("GET", f"{OWN}/workloads/job:nix")
        with pytest.raises(NotFound, match="the relay knows no kind 'pod'"):
            await ann.call("GET", f"{OWN}/workloads/pod:nix")
        with pytest.raises(Forbidden):
            await bob.call("GET", f"{OWN}/workloads/job:nix")


async def test_who_may_use_the_api_but_not_see_jobs_sees_none(fleet: MakeFleet) -> None:
    async with serving_fleet(fleet) as served:
        await served.it.submit(seconds=1000)
        await served.it.runs()
        token = await served.token("eve", "default", "jobrelay-user")
        async with served.as_token(token) as eve:
            for path in ("workloads", "overview", "workloads/job:train", "workloads/job:train/log"):
                with pytest.raises(Forbidden, match="jobs"):
                    await eve.call("GET", f"{OWN}/{path}")


async def test_a_lost_worker_is_told_and_nothing_hangs() -> None:
    async with serving_fleet(fleets.fleet) as served, served.user() as ann:
        await ann.create(JOBS, job(seconds=1000))
        worker = await served.it.runs()
        served.it.links[worker].partition()

        async def lost() -> bool:
            return "podsUnknown" in (await asked(ann, f"{OWN}/workloads/job:train"))["status"]

        await served.it.until(lost)
        with pytest.raises(ServerTimeout, match=f"worker {worker} cannot be reached"):
            await ann.call("GET", f"{OWN}/workloads/job:train/log")
