"""The API for users, through the API server of the management cluster: what a plain user sees, and what not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jobrelay.kube import Client, Forbidden
from jobrelay.kube.resource import JOBS
from jobrelay.relay.api.names import BASE
from tests.relay.api import serving_fleet
from tests.relay.fleets import MakeFleet, job

OWN = f"{BASE}/namespaces/default"
ECHO = {"jobrelay.dev/log": "hello from the pod"}


async def asked(client: Client, path: str, **query: Any) -> Any:
    return json.loads(await client.call("GET", path, query))


async def test_a_plain_user_sees_their_workloads_and_why_each_is_where_it_is(fleet: MakeFleet) -> None:
    async with serving_fleet(fleet) as served, served.user() as ann:
        await ann.create(JOBS, job(seconds=1000))
        worker = await served.it.runs()
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
