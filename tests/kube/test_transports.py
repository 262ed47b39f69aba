"""One behaviour over every transport: in the process, over the network, and through a wrapper without faults."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from jobrelay.kube import (
    AlreadyExists,
    Cache,
    Client,
    Conflict,
    Connection,
    FaultyTransport,
    Key,
    NotFound,
    merge_patch,
)
from jobrelay.kube.brief import BriefTransport
from jobrelay.kube.network import NetworkTransport
from jobrelay.kube.resource import CONFIGMAPS

from .miniserver import MiniServer
from .scripted import Json
from .serving import over_http, serving


@pytest.fixture(params=["in-process", "network", "brief", "wrapped"])
async def client(request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    server = MiniServer()
    match request.param:
        case "network":
            async with serving(over_http(server)) as url, NetworkTransport(Connection(url)) as transport:
                yield Client(transport)
        case "brief":
            async with serving(over_http(server)) as url, BriefTransport(Connection(url)) as transport:
                yield Client(transport)
        case "wrapped":
            yield Client(FaultyTransport(server))
        case _:
            yield Client(server)


def thing(name: str = "a", **data: str) -> Json:
    return {"metadata": {"name": name, "namespace": "default"}, "data": data}


async def test_an_object_lives_and_dies(client: Client) -> None:
    created = await client.create(CONFIGMAPS, thing(x="1"))
    await client.patch(CONFIGMAPS, "a", merge_patch({"data": {"x": "2"}}), "default")
    found = await client.get(CONFIGMAPS, "a", "default")
    assert (found.uid, found.decode()["data"]) == (created.uid, {"x": "2"})
    assert await client.delete(CONFIGMAPS, "a", "default") is None
    with pytest.raises(NotFound):
        await client.get(CONFIGMAPS, "a", "default")


async def test_refusals_come_through(client: Client) -> None:
    stale = await client.create(CONFIGMAPS, thing())
    with pytest.raises(AlreadyExists):
        await client.create(CONFIGMAPS, thing())
    await client.update(CONFIGMAPS, thing())
    with pytest.raises(Conflict):
        await client.update(CONFIGMAPS, stale.raw)


async def test_a_list_shows_everything(client: Client) -> None:
    for name in "abc":
        await client.create(CONFIGMAPS, thing(name))
    found = await client.list(CONFIGMAPS, "default")
    assert [item.name for item in found.items] == ["a", "b", "c"]


async def test_a_cache_follows(client: Client) -> None:
    await client.create(CONFIGMAPS, thing("a"))
    cache = Cache(client, CONFIGMAPS, "default")
    seen = asyncio.Event()
    cache.subscribe(lambda old, new: seen.set() if new is not None and new.name == "b" else None)
    running = asyncio.create_task(cache.run())
    await cache.wait_synced()
    await client.create(CONFIGMAPS, thing("b"))
    await seen.wait()
    assert Key("default", "a") in cache
    running.cancel()
    await asyncio.wait({running})


async def test_a_watch_can_be_left_while_it_waits(client: Client) -> None:
    async with client.watch(CONFIGMAPS, "default", send_initial_events=True) as events:
        assert (await anext(events)).ends_initial_events
        waiting = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait({waiting})
    assert (await client.list(CONFIGMAPS, "default")).items == ()
