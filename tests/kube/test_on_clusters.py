"""The client, watches, caches, leases and events on whole clusters, embedded and real."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from jobrelay.kube import (
    AlreadyExists,
    Cache,
    Client,
    Conflict,
    EventRecorder,
    FaultyTransport,
    Invalid,
    LeaderElection,
    NotFound,
    apply_patch,
    json_patch,
    merge_patch,
    server_version,
    serves,
    strategic_patch,
)
from jobrelay.kube.backoff import Backoff
from jobrelay.kube.fault_injection import AnswerStatus, CutStream, LoseReply, RefuseConnection, RepeatChunks
from jobrelay.kube.resource import CONFIGMAPS, EVENTS_CORE, JOBS, LEASES, Resource
from tests.relay.fleets import AnyCluster, job

HERE = "default"


@pytest.fixture
def client(any_cluster: AnyCluster) -> Client:
    return any_cluster.client()


def thing(name: str = "a", labels: dict[str, str] | None = None, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": HERE, "labels": labels or {}}, "data": data}


async def until(what: Callable[[], Awaitable[Any]], seconds: float = 20.0) -> Any:
    async with asyncio.timeout(seconds):
        while not (found := await what()):
            await asyncio.sleep(0.02)
    return found


@asynccontextmanager
async def running(work: Coroutine[Any, Any, Any]) -> AsyncIterator[None]:
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_an_object_lives_and_dies(client: Client) -> None:
    made = await client.create(CONFIGMAPS, thing(x="1"))
    changed = made.decode() | {"data": {"x": "2"}}
    await client.update(CONFIGMAPS, changed)
    found = await client.get(CONFIGMAPS, "a", HERE)
    assert (found.uid, found.decode()["data"]) == (made.uid, {"x": "2"})
    await client.delete(CONFIGMAPS, "a", HERE, uid=made.uid)
    with pytest.raises(NotFound):
        await client.get(CONFIGMAPS, "a", HERE)


async def test_every_kind_of_patch_is_taken(client: Client) -> None:
    await client.create(CONFIGMAPS, thing(a="1"))
    await client.patch(CONFIGMAPS, "a", merge_patch({"data": {"b": "2"}}), HERE)
    await client.patch(CONFIGMAPS, "a", strategic_patch({"data": {"c": "3"}}), HERE)
    await client.patch(CONFIGMAPS, "a", json_patch([{"op": "add", "path": "/data/d", "value": "4"}]), HERE)
    whole = {"apiVersion": "v1", "kind": "ConfigMap", **thing(e="5")}
    found = await client.patch(CONFIGMAPS, "a", apply_patch(whole, field_manager="tests"), HERE)
    assert found.decode()["data"] == {"a": "1", "b": "2", "c": "3", "d": "4", "e": "5"}


async def test_refusals_are_told_apart(client: Client) -> None:
    stale = await client.create(CONFIGMAPS, thing())
    with pytest.raises(AlreadyExists):
        await client.create(CONFIGMAPS, thing())
    await client.update(CONFIGMAPS, stale.decode() | {"data": {"x": "1"}})
    with pytest.raises(Conflict):
        await client.update(CONFIGMAPS, stale.raw)
    with pytest.raises(Conflict):
        await client.delete(CONFIGMAPS, "a", HERE, uid="another")
    with pytest.raises(Invalid):
        await client.create(CONFIGMAPS, thing("Not A Name"))
    with pytest.raises(NotFound):
        await client.create(CONFIGMAPS, thing() | {"metadata": {"name": "a", "namespace": "nowhere"}})


async def test_a_status_has_a_door_of_its_own(client: Client) -> None:
    await client.create(JOBS, job(managed_by="example.com/tests"))
    await client.patch(JOBS, "train", merge_patch({"status": {"active": 5}}), HERE)
    assert (await client.get(JOBS, "train", HERE)).decode()["status"] == {}
    change = {"status": {"active": 1, "startTime": "2026-01-01T00:00:00Z"}}
    found = await client.patch(JOBS, "train", merge_patch(change), HERE, subresource="status")
    assert found.decode()["status"]["active"] == 1


async def test_a_dry_run_leaves_nothing(client: Client) -> None:
    assert (await client.create(CONFIGMAPS, thing(), dry_run=True)).name == "a"
    with pytest.raises(NotFound):
        await client.get(CONFIGMAPS, "a", HERE)


async def test_lists_are_chosen_by_labels_and_read_in_pages(any_cluster: AnyCluster) -> None:
    client = Client(any_cluster.transport(), page_size=3)
    for number in range(7):
        await client.create(CONFIGMAPS, thing(f"m-{number}", {"odd": str(number % 2)}))
    odd = await client.list(CONFIGMAPS, HERE, label_selector="odd=1")
    assert [each.name for each in odd.items] == ["m-1", "m-3", "m-5"]
    pages = [page async for page in client.pages(CONFIGMAPS, HERE, label_selector="odd")]
    assert [[each.name for each in page.items] for page in pages] == [
        ["m-0", "m-1", "m-2"],
        ["m-3", "m-4", "m-5"],
        ["m-6"],
    ]


async def test_a_watch_continues_where_a_list_was(client: Client) -> None:
    version = (await client.list(LEASES, HERE)).resource_version
    lease = await client.create(LEASES, {"metadata": {"name": "a", "namespace": HERE}, "spec": {}})
    await client.delete(LEASES, "a", HERE)
    async with client.watch(LEASES, HERE, resource_version=version) as events:
        seen = [await anext(events), await anext(events)]
    assert [str(each.type) for each in seen] == ["ADDED", "DELETED"]
    assert {each.object.uid for each in seen} == {lease.uid}


async def test_what_is_served_can_be_asked(client: Client) -> None:
    assert (await server_version(client)).git_version == "v1.35.4"
    assert await serves(client, JOBS)
    assert not await serves(client, Resource("example.com", "v1", "things", "Thing"))


async def test_a_cache_ends_where_the_server_is_whatever_happens_to_the_link(any_cluster: AnyCluster) -> None:
    """Some dozens of changes, with faults between them; what handlers heard adds up to what is there."""
    random, link = Random(7), FaultyTransport(any_cluster.transport())
    client = any_cluster.client()
    cache = Cache(Client(link), CONFIGMAPS, HERE, label_selector="odd", random=random, backoff=Backoff(0.01, 0.05))
    told: dict[str, str] = {}

    def hear(old: Any, new: Any) -> None:
        name = (new or old).name
        assert (told.pop(name, None) is None) == (old is None)
        if new is not None:
            told[name] = new.resource_version

    cache.subscribe(hear)
    faults = (
        RefuseConnection(),
        LoseReply(),
        AnswerStatus(500, "InternalError"),
        CutStream(1),
        CutStream(2, clean=True),
        RepeatChunks(),
    )
    async with running(cache.run()):
        await cache.wait_synced()
        for number in range(60):
            if random.random() < 0.3:
                link.add(random.choice(faults))
            if random.random() < 0.2:
                link.partition()
                link.heal()
            await change(client, f"m-{random.randrange(8)}", str(number), random)
            await asyncio.sleep(0.03)

        async def same() -> bool:
            found = await client.list(CONFIGMAPS, HERE, label_selector="odd")
            there, held = ({each.name: each.resource_version for each in part} for part in (found.items, cache))
            return there == told == held

        await until(same, 60)
    assert link.injected > 0


async def change(client: Client, name: str, value: str, random: Random) -> None:
    try:
        if random.random() < 0.3:
            await client.delete(CONFIGMAPS, name, HERE)
        else:
            await client.patch(CONFIGMAPS, name, merge_patch({"data": {"x": value}}), HERE)
    except NotFound:
        await client.create(CONFIGMAPS, thing(name, {"odd": "1"}))


async def test_a_lease_passes_on_when_it_is_given_up(client: Client) -> None:
    times: dict[str, Any] = {"lease_duration": 6.0, "renew_deadline": 4.0, "retry_period": 0.2}
    one, two = (LeaderElection(client, "lead", HERE, identity, **times) for identity in ("one", "two"))
    led: list[str] = []

    async def lead(name: str) -> None:
        led.append(name)
        await asyncio.Event().wait()

    async with running(two.run(lambda: lead("two"))):
        await until(lambda: _is(led, ["two"]))
        first = asyncio.create_task(one.run(lambda: lead("one")))
        await one.known.wait()
        assert (one.leader, led) == ("two", ["two"])
    await until(lambda: _is(led, ["two", "one"]))
    assert (await client.get(LEASES, "lead", HERE)).decode()["spec"]["holderIdentity"] == "one"
    first.cancel()
    await asyncio.wait({first})


async def _is(found: list[str], wanted: list[str]) -> bool:
    return found == wanted


async def test_events_are_written_and_counted(client: Client) -> None:
    subject = await client.create(JOBS, job(managed_by="example.com/tests"))
    recorder = EventRecorder(client, "tests", "here")
    async with running(recorder.run()):
        recorder.event(subject, "Normal", "Tried", "it was tried", action="Trying")

        async def told() -> list[dict[str, Any]]:
            found = await client.list(EVENTS_CORE, HERE, field_selector="involvedObject.name=train,reason=Tried")
            return [each.decode() for each in found.items]

        (event,) = await until(told)
    assert (event["message"], event["involvedObject"]["uid"]) == ("it was tried", subject.uid)
