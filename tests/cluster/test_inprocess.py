"""One behaviour over both ways to an embedded cluster: function calls in the process, and HTTPS."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import pytest

from jobrelay.cluster import Cluster
from jobrelay.kube import (
    AlreadyExists,
    Cache,
    Client,
    Conflict,
    ConnectError,
    Forbidden,
    Invalid,
    Key,
    Kubeconfig,
    NotFound,
    Request,
    Transport,
    TransportError,
    merge_patch,
)
from jobrelay.kube.network import NetworkTransport
from jobrelay.kube.resource import CONFIGMAPS, JOBS, NAMESPACES
from jobrelay.kube.transport import Headers

Json = dict[str, object]


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster() as cluster:
        yield cluster


@pytest.fixture(params=["in-process", "https"])
async def transport(request: pytest.FixtureRequest, cluster: Cluster) -> AsyncIterator[Transport]:
    if request.param == "in-process":
        yield cluster.transport()
        return
    connection = Kubeconfig.load([cluster.kubeconfig]).connection()
    async with NetworkTransport(connection) as network:
        yield network


@pytest.fixture
def client(transport: Transport) -> Client:
    return Client(transport)


def config(name: str = "a", **data: str) -> Json:
    return {"metadata": {"name": name, "namespace": "default"}, "data": data}


def job(**spec: object) -> Json:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x"}]}
    metadata = {"name": "j", "namespace": "default"}
    return {"metadata": metadata, "spec": {"template": {"spec": pod}, **spec}}


async def test_an_object_lives_and_dies(client: Client) -> None:
    created = await client.create(CONFIGMAPS, config(x="1"))
    await client.patch(CONFIGMAPS, "a", merge_patch({"data": {"x": "2"}}), "default")
    found = await client.get(CONFIGMAPS, "a", "default")
    assert (found.uid, found.decode()["data"]) == (created.uid, {"x": "2"})
    await client.delete(CONFIGMAPS, "a", "default")
    with pytest.raises(NotFound):
        await client.get(CONFIGMAPS, "a", "default")


async def test_refusals_come_with_their_reasons(client: Client) -> None:
    stale = await client.create(CONFIGMAPS, config())
    with pytest.raises(AlreadyExists):
        await client.create(CONFIGMAPS, config())
    await client.update(CONFIGMAPS, config(x="1"))
    with pytest.raises(Conflict):
        await client.update(CONFIGMAPS, stale.raw)
    with pytest.raises(Invalid, match=r"spec\.managedBy"):
        await client.create(JOBS, job(managedBy="not a path"))


async def test_every_answer_tells_the_time(transport: Transport) -> None:
    for path in ("/readyz", "/apis/batch/v1/jobs", "/nowhere"):
        async with await transport.send(Request("GET", path)) as response:
            told = parsedate_to_datetime(response.headers["date"])
            assert abs((datetime.now(UTC) - told).total_seconds()) < 60


async def test_warnings_come_through(transport: Transport) -> None:
    heard: list[str] = []
    client = Client(transport, on_warning=heard.append)
    await client.call("POST", "/api/v1/namespaces/default/configmaps", None, b'{"metadata": {"name": "a"}, "dta": {}}')
    assert heard == ['unknown field "dta"']


async def test_lists_come_in_pages(transport: Transport) -> None:
    client = Client(transport, page_size=2)
    for name in "abc":
        await client.create(CONFIGMAPS, config(name))
    pages = [[item.name for item in page.items] async for page in client.pages(CONFIGMAPS, "default")]
    assert [name for page in pages for name in page if name in "abc"] == ["a", "b", "c"]
    assert max(map(len, pages)) <= 2


async def test_a_watch_shows_each_change_once(client: Client) -> None:
    version = (await client.list(CONFIGMAPS, "default")).resource_version
    async with client.watch(CONFIGMAPS, "default", resource_version=version) as events:
        await client.create(CONFIGMAPS, config())
        await client.update(CONFIGMAPS, config(x="1"))
        await client.delete(CONFIGMAPS, "a", "default")
        seen = [(await anext(events)).type for _ in range(3)]
    assert seen == ["ADDED", "MODIFIED", "DELETED"]


async def test_a_watch_ends_when_its_time_is_over(client: Client) -> None:
    async with client.watch(NAMESPACES, resource_version="0", bookmarks=False, timeout_seconds=1) as events:
        names = [event.object.name async for event in events if event.object is not None]
    assert "default" in names


async def test_a_watch_can_be_left_while_it_waits(client: Client, cluster: Cluster) -> None:
    async with client.watch(CONFIGMAPS, "default", send_initial_events=True) as events:
        while not (await anext(events)).ends_initial_events:
            pass
        waiting = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait({waiting})
    await client.create(CONFIGMAPS, config())
    assert "a" in [item.name for item in (await client.list(CONFIGMAPS, "default")).items]


async def test_a_cache_follows(client: Client) -> None:
    await client.create(CONFIGMAPS, config("a"))
    cache = Cache(client, CONFIGMAPS, "default")
    seen = asyncio.Event()
    cache.subscribe(lambda old, new: seen.set() if new is not None and new.name == "b" else None)
    running = asyncio.create_task(cache.run())
    await cache.wait_synced()
    await client.create(CONFIGMAPS, config("b"))
    await seen.wait()
    assert Key("default", "a") in cache
    running.cancel()
    await asyncio.wait({running})


async def test_a_head_request_has_no_body(transport: Transport) -> None:
    async with await transport.send(Request("HEAD", "/version")) as response:
        assert (response.status, await response.read()) == (200, b"")


async def test_a_body_that_is_too_long_is_refused(transport: Transport) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    request = Request("POST", path, {"Content-Type": "application/json"}, b" " * (4 * 1024 * 1024))
    async with await transport.send(request) as response:
        assert response.status == 413


async def test_a_header_may_be_sent_twice(transport: Transport) -> None:
    headers = Headers([("Accept", "application/yaml"), ("Accept", "text/html")])
    async with await transport.send(Request("GET", "/api/v1/namespaces", headers)) as response:
        assert (response.status, response.headers["Content-Type"]) == (200, "application/yaml")


async def test_a_stopped_cluster_does_not_answer(cluster: Cluster, client: Client) -> None:
    await client.list(NAMESPACES)
    await cluster.stop()
    with pytest.raises(TransportError):
        await client.list(NAMESPACES)


async def test_stopping_ends_watches(cluster: Cluster, client: Client) -> None:
    async with client.watch(CONFIGMAPS, "default", resource_version="0") as events:
        reading = asyncio.ensure_future(_all(events))
        await client.create(CONFIGMAPS, config())
        await cluster.stop()
        assert "a" in await asyncio.wait_for(reading, 10)


async def _all(events: AsyncIterator[object]) -> list[str]:
    return [event.object.name async for event in events if event.object is not None]  # type: ignore[attr-defined]


async def test_a_user_has_only_their_own_rights(cluster: Cluster) -> None:
    with pytest.raises(Forbidden, match='User "alice" cannot list resource "namespaces"'):
        await cluster.client("alice").list(NAMESPACES)
    await cluster.client("alice", ["system:masters"]).list(NAMESPACES)


async def test_anonymous_sees_the_version_and_little_else(cluster: Cluster) -> None:
    anonymous = cluster.client("system:anonymous")
    await anonymous.call("GET", "/version")
    with pytest.raises(Forbidden, match='User "system:anonymous"'):
        await anonymous.list(NAMESPACES)


async def test_no_connection_is_made_to_a_cluster_that_never_ran() -> None:
    with pytest.raises(ConnectError, match="not running"):
        await Cluster().client().list(NAMESPACES)


async def test_clusters_of_one_process_do_not_meet() -> None:
    async with Cluster("one") as one, Cluster("two") as two:
        await one.client().create(CONFIGMAPS, config())
        with pytest.raises(NotFound):
            await two.client().get(CONFIGMAPS, "a", "default")
