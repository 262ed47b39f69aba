"""What would be: previews of workloads that are not created, and what another worker would change, for plain users."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jobrelay.kube import BadRequest, Client, Forbidden, StatusError
from jobrelay.kube.resource import JOBS
from jobrelay.relay.api.names import BASE
from tests.relay.api import ApiFleet, serving_fleet
from tests.relay.fleets import MakeFleet, job

OWN = f"{BASE}/namespaces/default"


def workload(**changes: Any) -> dict[str, Any]:
    made = {"apiVersion": "batch/v1", "kind": "Job"} | job("planned")
    made["metadata"]["namespace"] = "default"
    return made | changes


async def previewed(client: Client, body: Any, namespace: str = "default") -> Any:
    text = json.dumps(body).encode()
    return json.loads(await client.call("POST", f"{BASE}/namespaces/{namespace}/previews", body=text))


async def until_previews(served: ApiFleet, client: Client, namespace: str = "default") -> None:
    """Aggregated roles take a moment to be, each for itself."""

    async def allowed() -> bool:
        try:
            await previewed(client, {}, namespace)
        except Forbidden:
            return False
        except BadRequest:
            return True
        return False

    await served.it.until(allowed)


async def test_a_plain_user_asks_which_workers_could_take_a_workload(fleet: MakeFleet) -> None:
    async with serving_fleet(fleet) as served, served.user() as ann:
        await until_previews(served, ann)
        found = await previewed(ann, {"spec": {"workload": workload()}})
        assert (found["kind"], found["metadata"]) == ("Preview", {"namespace": "default", "name": "planned"})
        assert {each["worker"]: each["ok"] for each in found["status"]["workers"]} == {
            "worker-1": True,
            "worker-2": True,
        }
        assert (await ann.list(JOBS, "default")).items == ()


async def test_who_may_not_create_workloads_may_not_ask(embedded_fleet: MakeFleet) -> None:
    async with serving_fleet(embedded_fleet) as served, served.user("bob", "other") as bob:
        await until_previews(served, bob, "other")
        with pytest.raises(Forbidden):
            await previewed(bob, {"spec": {"workload": workload()}})
        async with served.user("eve", "other", "view") as eve:
            with pytest.raises(Forbidden):
                await previewed(eve, {"spec": {"workload": workload()}}, "other")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ([], "not a Preview"),
        ({"spec": {"workload": workload(spec=7)}}, "not a Job that an API server would accept"),
        ({"spec": {"workload": workload(kind="Pod", apiVersion="v1")}}, "does not run Pods of v1"),
        ({"spec": {"workload": workload(metadata={"name": "x", "namespace": "other"})}}, "in namespace 'other'"),
    ],
    ids=["no preview", "malformed", "another kind", "another namespace"],
)
async def test_what_cannot_be_decided_about_is_refused(embedded_fleet: MakeFleet, body: Any, why: str) -> None:
    async with serving_fleet(embedded_fleet) as served:
        with pytest.raises(BadRequest, match=why):
            await previewed(served.it.client, body)


@pytest.mark.parametrize("brackets", [1_000, 400_000])
async def test_brackets_without_end_are_refused(embedded_fleet: MakeFleet, brackets: int) -> None:
    async with serving_fleet(embedded_fleet) as served:
        body = b'{"spec":{"workload":{"apiVersion":"batch/v1","kind":"Job","metadata":{"namespace":"default"},"spec":'
        with pytest.raises(StatusError) as refused:
            await served.it.client.call(
                "POST", f"{OWN}/previews", body=body + b"[" * brackets + b"]" * brackets + b"}}}"
            )
        assert refused.value.code in (400, 413)


async def test_what_another_worker_would_change_is_told_to_a_plain_user(embedded_fleet: MakeFleet) -> None:
    async with serving_fleet(embedded_fleet) as served, served.user() as ann:
        large = workload()
        requests = {"requests": {"cpu": "5000"}}
        large["spec"]["template"]["spec"]["containers"][0]["resources"] = requests
        await ann.create(JOBS, large)
        path = f"{OWN}/workloads/job:planned"

        async def seen() -> bool:
            return bool(json.loads(await ann.call("GET", path))["status"].get("workers"))

        await served.it.until(seen)
        found = json.loads(await ann.call("GET", path, {"if": "worker=w9:cpu=9000"}))["status"]
        assert found["supposed"]["placed"] == "w9"
        with pytest.raises(BadRequest, match="is not a change of a worker"):
            await ann.call("GET", path, {"if": "worker=w9"})
