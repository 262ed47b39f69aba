"""The relay's small HTTP server: for probes, for Prometheus, and for our own commands."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from jobrelay.kube.resource import JOBS
from jobrelay.relay.endpoint import RelayEndpoint
from jobrelay.workloads.names import RELAY
from tests.relay.fleets import Fleet, MakeFleet, job


@asynccontextmanager
async def answering(fleet: MakeFleet) -> AsyncIterator[tuple[Fleet, RelayEndpoint]]:
    async with fleet() as it, RelayEndpoint() as endpoint:
        assert it.relay is not None
        await it.relay.manager.ready.wait()
        with endpoint.serving(it.relay):
            yield it, endpoint


async def asked(endpoint: RelayEndpoint, path: str) -> tuple[int, Any]:
    async with aiohttp.ClientSession() as session, session.get(endpoint.url + path) as answer:
        return answer.status, await (answer.json() if answer.content_type == "application/json" else answer.text())


async def test_it_listens_on_the_loopback_device_only() -> None:
    async with RelayEndpoint() as endpoint:
        assert endpoint.url.startswith("http://127.0.0.1:")


async def test_what_is_advertised_can_differ_from_what_is_listened_on() -> None:
    async with RelayEndpoint("0.0.0.0", advertise="10.1.2.3") as endpoint:
        assert endpoint.url.startswith("http://10.1.2.3:")


async def test_without_a_relay_it_is_alive_but_not_ready() -> None:
    async with RelayEndpoint() as endpoint:
        assert await asked(endpoint, "/healthz") == (200, "ok")
        assert await asked(endpoint, "/readyz") == (503, "the relay is not ready yet")
        assert (await asked(endpoint, "/workers"))[0] == 503


async def test_workers_are_listed_with_their_room(fleet: MakeFleet) -> None:
    async with answering(fleet) as (_, endpoint):
        status, workers = await asked(endpoint, "/workers")
        assert (status, [each["name"] for each in workers]) == (200, ["worker-1", "worker-2"])
        assert all(each["connected"] and each["state"] == "open" and each["jobs"] == 0 for each in workers)
        assert (await asked(endpoint, "/readyz")) == (200, "ok")


async def test_workloads_are_listed_and_can_be_chosen_by_namespace(fleet: MakeFleet) -> None:
    async with answering(fleet) as (it, endpoint):
        await it.submit()
        await it.submit("standard", managed_by=None)
        await it.finished()
        _, found = await asked(endpoint, "/workloads")
        assert [(each["name"], each["stage"], each["epoch"]) for each in found] == [("train", "Finished", 1)]
        assert await asked(endpoint, "/workloads?namespace=other") == (200, [])


async def test_one_workload_is_explained_under_any_name_of_its_kind(fleet: MakeFleet) -> None:
    async with answering(fleet) as (it, endpoint):
        await it.submit(seconds=1000)
        worker = await it.runs()
        for kind in ("job", "Job", "jobs", "jobs.batch"):
            status, found = await asked(endpoint, f"/explain/default/{kind}/train")
            assert (status, found["cluster"], len(found["workers"])) == (200, worker, 2)


async def test_what_there_is_not_is_told(fleet: MakeFleet) -> None:
    async with answering(fleet) as (_, endpoint):
        assert await asked(endpoint, "/explain/default/job/nix") == (404, {"error": "there is no job default/nix"})
        status, found = await asked(endpoint, "/explain/default/pod/nix")
        assert (status, found["error"]) == (404, "the relay does not know the kind 'pod'")


async def test_metrics_are_for_prometheus(fleet: MakeFleet) -> None:
    async with answering(fleet) as (it, endpoint):
        await it.submit()
        await it.finished()
        status, text = await asked(endpoint, "/metrics")
        assert status == 200
        assert 'jobrelay_placements_total{result="placed"' in text


async def test_metrics_say_how_long_workloads_wait_and_how_they_end(fleet: MakeFleet) -> None:
    async with answering(fleet) as (it, endpoint):
        await it.submit()
        await it.finished()

        async def counted() -> str:
            """The relay counts when the answer to its write has come."""
            _, text = await asked(endpoint, "/metrics")
            return (
                text if 'jobrelay_finished_total{namespace="default",result="succeeded",worker="worker-' in text else ""
            )

        assert 'jobrelay_wait_seconds_count{namespace="default"} 1.0' in await it.until(counted, 60)


async def test_metrics_say_how_many_workloads_wait(fleet: MakeFleet) -> None:
    async with answering(fleet) as (it, endpoint):
        await it.submit(annotations={"jobrelay.dev/clusters": "nowhere"})

        async def shown() -> bool:
            return 'jobrelay_waiting_workloads{namespace="default"} 1.0' in (await asked(endpoint, "/metrics"))[1]

        await it.until(shown)


async def test_what_would_be_decided_about_an_object_can_be_asked_without_creating_it(fleet: MakeFleet) -> None:
    async with answering(fleet) as (it, endpoint), aiohttp.ClientSession() as session:
        async with session.post(f"{endpoint.url}/preview/jobs.batch", json=job()) as answer:
            found = await answer.json()
        assert (answer.status, [each["ok"] for each in found["workers"]]) == (200, [True, True])
        async with session.post(f"{endpoint.url}/preview/jobs.batch", data=b"{") as answer:
            assert answer.status == 400
        for template in (5, {"spec": 5}, {"spec": {"containers": [5]}}):
            broken = {"metadata": {"name": "a"}, "spec": {"managedBy": RELAY, "template": template}}
            async with session.post(f"{endpoint.url}/preview/jobs.batch", json=broken) as answer:
                assert answer.status == 400
        async with session.post(f"{endpoint.url}/preview/pods", json=job()) as answer:
            assert answer.status == 404
        assert not (await it.client.list(JOBS, "default")).items
