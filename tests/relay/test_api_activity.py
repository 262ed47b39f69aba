"""Activity and pages of workloads through the API server, as a plain user and as an administrator."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from jobrelay.kube import BadRequest, Client, Forbidden
from jobrelay.kube.resource import JOBS
from jobrelay.relay.api.names import BASE
from tests.relay.api import serving_fleet
from tests.relay.fleets import MakeFleet, job

OWN = f"{BASE}/namespaces/default"


async def asked(client: Client, path: str, **query: Any) -> Any:
    return json.loads(await client.call("GET", path, query))


async def test_activity_counts_workloads_and_says_how_old_the_news_of_workers_is(fleet: MakeFleet) -> None:
    async with serving_fleet(fleet) as served, served.user() as ann:
        await ann.create(JOBS, job(seconds=1000))
        worker = await served.it.runs()
        await ann.create(JOBS, job("held", annotations={"jobrelay.dev/clusters": "nowhere"}))
        await served.it.until(lambda: _statuses(ann, {"Running": 1, "Waiting": 1}))
        found = await asked(ann, f"{OWN}/activity")
        assert found["oldestWaiting"] | {"created": ""} == {"name": "job:held", "namespace": "default", "created": ""}
        assert [each["jobs"] for each in found["workers"] if each["name"] == worker] == [1]
        assert all(each["heard"] and "version" not in each for each in found["workers"])
        assert set(found["history"][0]) == {"time", "waiting", "running", "complete", "failed"}
        assert all("version" in each for each in (await asked(served.it.client, f"{BASE}/activity"))["workers"])


async def _statuses(client: Client, wanted: dict[str, int]) -> bool:
    return bool((await asked(client, f"{OWN}/activity"))["statuses"] == wanted)


async def test_pages_have_what_is_decided_about_each_workload(fleet: MakeFleet) -> None:
    async with serving_fleet(fleet) as served, served.user() as ann:
        for name in ("a", "b", "c"):
            await ann.create(JOBS, job(name, seconds=1000, suspend=name == "b"))
        await served.it.until(lambda: _statuses(ann, {"Running": 2, "Suspended": 1}))
        found = await asked(ann, f"{OWN}/workloads", page=1, pageSize=2, sort="name")
        assert [(each["metadata"]["name"], each["summary"]["status"]) for each in found["items"]] == [
            ("job:a", "Running"), ("job:b", "Suspended"),
        ]  # fmt: skip
        assert (found["total"], found["statuses"]) == (3, {"Running": 2, "Suspended": 1})
        assert found["items"][1]["status"]["stage"] == "Suspended"
        last = await asked(ann, f"{OWN}/workloads", page=2, pageSize=2, sort="name", search="C", status="running")
        assert (last["items"], last["total"]) == ([], 1)
        with pytest.raises(BadRequest, match="sort='uid' is none of"):
            await asked(ann, f"{OWN}/workloads", page=1, sort="uid")


async def test_a_neighbour_may_neither_read_nor_watch(fleet: MakeFleet) -> None:
    async with serving_fleet(fleet) as served, served.user("bob", "other") as bob:
        for query in ({}, {"watch": "true"}):
            for path in (f"{OWN}/activity", f"{BASE}/activity"):
                with pytest.raises(Forbidden):
                    await bob.call("GET", path, query)
        with pytest.raises(Forbidden):
            await bob.call("GET", f"{OWN}/workloads", {"page": 1})


async def test_a_watch_tells_of_changes_in_its_namespace(fleet: MakeFleet) -> None:
    async with (
        asyncio.timeout(120),
        serving_fleet(fleet) as served,
        served.user() as ann,
        ann.stream(f"{OWN}/activity", {"watch": "true"}) as chunks,
    ):
        first = json.loads(await anext(chunks))
        await ann.create(JOBS, job(seconds=1000))
        second = json.loads(await anext(chunks))
    assert (first["type"], first["object"]["kind"]) == ("MODIFIED", "Activity")
    assert int(second["object"]["metadata"]["resourceVersion"]) > int(first["object"]["metadata"]["resourceVersion"])
