"""List, then watch from there: whatever is written meanwhile, no change is missed and none is shown twice.

With a selector, objects come and go as their labels change; a watcher must see that as ADDED and DELETED.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from jobrelay.cluster import Cluster
from jobrelay.kube import AlreadyExists, Client, EventType, NotFound, merge_patch
from jobrelay.kube.resource import CONFIGMAPS, NAMESPACES

Step = tuple[str, str, int]
STEPS = st.lists(
    st.tuples(st.sampled_from(["create", "label", "unlabel", "delete"]), st.sampled_from("abc"), st.integers(0, 2)),
    min_size=1,
    max_size=8,
)
FOLLOWERS = st.lists(st.tuples(st.sampled_from(["", "x=1"]), st.integers(0, 8), st.booleans()), min_size=1, max_size=4)


@dataclass
class Place:
    """A running cluster, its event loop, and namespaces that nobody has used."""

    loop: asyncio.AbstractEventLoop
    cluster: Cluster
    numbers: Iterator[int] = field(default_factory=itertools.count)


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    loop = asyncio.new_event_loop()
    cluster = Cluster()
    loop.run_until_complete(cluster.start())
    yield Place(loop, cluster)
    loop.run_until_complete(cluster.stop())
    loop.close()


async def write(client: Client, namespace: str, steps: list[Step]) -> None:
    for kind, name, pause in steps:
        for _ in range(pause):
            await asyncio.sleep(0)
        with suppress(AlreadyExists, NotFound):
            match kind:
                case "create":
                    body = {"metadata": {"name": name, "namespace": namespace, "labels": {"x": "1"}}}
                    await client.create(CONFIGMAPS, body)
                case "delete":
                    await client.delete(CONFIGMAPS, name, namespace)
                case _:
                    patch = merge_patch({"metadata": {"labels": {"x": "1" if kind == "label" else None}}})
                    await client.patch(CONFIGMAPS, name, patch, namespace)


@dataclass
class Follower:
    """A client that begins after a while and follows until a certain object appears.

    It lists and watches from there, or it lets the watch begin with what there is (`sendInitialEvents`).
    """

    namespace: str
    selector: str
    pause: int
    initial_events: bool
    known: dict[str, int] = field(default_factory=dict)
    heard: list[int] = field(default_factory=list)
    began: bool = False

    async def run(self, client: Client) -> None:
        for _ in range(self.pause):
            await asyncio.sleep(0)
        version = "" if self.initial_events else await self.list(client)
        async with client.watch(
            CONFIGMAPS,
            self.namespace,
            label_selector=self.selector,
            resource_version=version,
            send_initial_events=self.initial_events,
        ) as events:
            self.began = True
            async for event in events:
                assert event.object is not None
                self.take(event.type, event.object.name, int(event.object.metadata.resource_version))
                if event.object.name == "end":
                    return

    async def list(self, client: Client) -> str:
        found = await client.list(CONFIGMAPS, self.namespace, label_selector=self.selector)
        self.known = {item.name: int(item.metadata.resource_version) for item in found.items}
        self.heard.append(int(found.resource_version))
        return found.resource_version

    def take(self, kind: EventType, name: str, version: int) -> None:
        if kind == EventType.BOOKMARK:
            self.heard = [version]
            return
        self.heard.append(version)
        match kind:
            case EventType.ADDED:
                assert name not in self.known
                self.known[name] = version
            case EventType.MODIFIED:
                assert name in self.known
                self.known[name] = version
            case _:
                del self.known[name]


async def follow_writes(place: Place, scripts: list[list[Step]], followers: list[tuple[str, int, bool]]) -> None:
    client, namespace = place.cluster.client(), f"n{next(place.numbers)}"
    await client.create(NAMESPACES, {"metadata": {"name": namespace}})
    made = [Follower(namespace, *options) for options in followers]
    following = [asyncio.ensure_future(follower.run(client)) for follower in made]
    await asyncio.gather(*(write(client, namespace, steps) for steps in scripts))
    while not all(follower.began for follower in made):
        await asyncio.sleep(0)
    last = {"metadata": {"name": "end", "namespace": namespace, "labels": {"x": "1"}}}
    await client.create(CONFIGMAPS, last)
    await asyncio.gather(*following)
    for follower in made:
        found = await client.list(CONFIGMAPS, namespace, label_selector=follower.selector)
        assert follower.known == {item.name: int(item.metadata.resource_version) for item in found.items}
        assert follower.heard == sorted(set(follower.heard))


def test_lists_and_watches_fit_together(place: Place) -> None:
    @settings(max_examples=60)
    @given(st.lists(STEPS, min_size=1, max_size=3), FOLLOWERS)
    def whatever_is_written(scripts: list[list[Step]], followers: list[tuple[str, int, bool]]) -> None:
        place.loop.run_until_complete(follow_writes(place, scripts, followers))

    whatever_is_written()
