"""Which kinds a cluster serves, followed by one watch of metadata, or by discovery."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

from jobrelay.cluster import Cluster
from jobrelay.kube import Client, FakeClock, Resource
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS, JOBS
from jobrelay.relay.workers.served_kinds import ServedKinds, Serving
from tests.relay.kinds.renders import RENDERS, definition

from .support import Recording, advance, running, settle


@asynccontextmanager
async def followed(
    clock: FakeClock, *resources: Resource, groups: tuple[str, ...] = ("system:masters",)
) -> AsyncIterator[tuple[ServedKinds, Client, Recording, list[int]]]:
    """The kinds of a fresh cluster, the way to change it, what was asked, and how often something changed."""
    async with Cluster(controllers="none") as cluster:
        seen = Recording(cluster.transport("somebody", ["system:authenticated", *groups]))
        changes: list[int] = []
        served = ServedKinds(
            Client(seen, clock=clock), resources, lambda: changes.append(1), clock=clock, random=Random(1),
            idle_timeout=150.0,
        )  # fmt: skip
        async with running(served.run()):
            await settle(clock)
            yield served, cluster.client(), seen, changes


async def test_without_custom_kinds_nothing_is_asked(clock: FakeClock) -> None:
    async with followed(clock, JOBS) as (served, _, seen, changes):
        await advance(clock, 120, 10)
        assert served.state(JOBS) is Serving.SERVED
        assert (seen.requests, changes) == ([], [])


async def test_definitions_come_and_go(clock: FakeClock) -> None:
    async with followed(clock, JOBS, RENDERS) as (served, outside, _, changes):
        assert served.state(RENDERS) is Serving.ABSENT
        await outside.create(CUSTOMRESOURCEDEFINITIONS, definition())
        await advance(clock, 3)
        assert served.state(RENDERS) is Serving.SERVED
        await outside.delete(CUSTOMRESOURCEDEFINITIONS, str(RENDERS))
        await advance(clock, 3)
        assert served.state(RENDERS) is Serving.ABSENT
        assert len(changes) <= 4


async def test_a_definition_without_the_version_is_not_absent(clock: FakeClock) -> None:
    async with followed(clock, RENDERS) as (served, outside, _, _):
        await outside.create(CUSTOMRESOURCEDEFINITIONS, definition(served=False))
        await advance(clock, 3)
        assert served.state(RENDERS) is Serving.UNSERVED


async def test_other_definitions_cost_nothing_but_their_metadata(clock: FakeClock) -> None:
    async with followed(clock, RENDERS) as (_, outside, seen, changes):
        before = len(changes)
        asked = seen.count("GET /apis?") + seen.count("GET /apis/film")
        await outside.create(CUSTOMRESOURCEDEFINITIONS, definition(Resource("a.example.com", "v1", "others", "Other")))
        await advance(clock, 3)
        assert (len(changes), seen.count("GET /apis?") + seen.count("GET /apis/film")) == (before, asked)
        watches = [each for each in seen.requests if "customresourcedefinitions" in each.path]
        assert all("as=PartialObjectMetadata" in each.headers["Accept"] for each in watches)


async def test_discovery_is_polled_ever_less_often_where_definitions_may_not_be_read(clock: FakeClock) -> None:
    async with followed(clock, RENDERS, groups=()) as (served, outside, seen, _):
        assert served.state(RENDERS) is Serving.UNSERVED
        await advance(clock, 120, 5)
        before = len(seen.requests)
        await advance(clock, 120, 5)
        assert len(seen.requests) - before <= 10
        await outside.create(CUSTOMRESOURCEDEFINITIONS, definition())
        await advance(clock, 31)
        assert served.state(RENDERS) is Serving.SERVED
        await outside.delete(CUSTOMRESOURCEDEFINITIONS, str(RENDERS))
        await advance(clock, 31)
        assert served.state(RENDERS) is Serving.UNSERVED
