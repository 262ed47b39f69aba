"""Watch and list together never miss a change and never show one twice.

Writers write at any moment; watchers list and then watch, from any version they have seen, with any selector. Each
keeps the state that it was told. In the end every one of them must know exactly what a list shows, and the events of
each object must have followed one another as they can. A short history makes some of them start too late: they hear 410
and begin again.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from .serving import CONFIGMAPS, MERGE, Server, Watcher, config

NAMES = st.sampled_from("abc")
COLOURS = st.sampled_from(["red", "blue", ""])
SELECTORS = st.sampled_from(
    [
        "",
        "labelSelector=colour=red",
        "labelSelector=colour!=red",
        "labelSelector=!colour",
        "fieldSelector=metadata.name=a",
    ]
)
WRITES = st.tuples(st.sampled_from(["put", "delete", "patch"]), NAMES, COLOURS)
PAUSES = st.tuples(st.just("pause"), st.just(""), st.just(""))
LOOKS = st.tuples(st.sampled_from(["list", "initial", "again"]), SELECTORS, st.just(""))
SCRIPTS = st.lists(st.lists(WRITES | LOOKS | PAUSES, min_size=1, max_size=12), min_size=1, max_size=3)
INITIAL = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


@dataclass
class Follower:
    """A client that lists and watches, as informers do: the versions it knows, by name."""

    server: Server
    selector: str
    known: dict[str, str] = field(default_factory=dict)
    version: str = ""
    watcher: Watcher | None = None
    read: int = 0
    expired: int = 0

    def target(self, query: str) -> str:
        return f"{CONFIGMAPS}?" + "&".join(filter(None, (self.selector, query)))

    async def list(self) -> None:
        answer = await self.server.call("GET", self.target("limit=2"))
        items = answer.body["items"]
        while token := answer.body["metadata"].get("continue"):
            answer = await self.server.call("GET", self.target(f"limit=2&continue={token}"))
            if answer.code == 410:
                await self.list()
                return
            items += answer.body["items"]
        self.known = {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in items}
        self.version = answer.version
        await self.watch(f"resourceVersion={self.version}")

    async def watch(self, query: str) -> None:
        if self.watcher is not None:
            self.watcher.stream.stop()
        self.watcher, self.read = await self.server.watch(self.target(query)), 0

    async def begin(self, kind: str) -> None:
        if kind == "initial":
            self.known = {}
            await self.watch(INITIAL)
        elif kind == "again" and self.version:
            self.take()
            await self.watch(f"resourceVersion={self.version}")
        else:
            await self.list()

    def take(self) -> bool:
        """Takes in what the watch has sent; tells whether it has to begin again."""
        assert self.watcher is not None
        events = self.watcher.events
        for event in events[self.read :]:
            self.read += 1
            if event["type"] == "ERROR":
                assert event["object"]["code"] == 410
                return True
            self._take(event["type"], event["object"]["metadata"])
        return False

    def _take(self, kind: str, metadata: dict[str, str]) -> None:
        version = metadata["resourceVersion"]
        if kind == "BOOKMARK":
            self.version = version
            return
        name = metadata["name"]
        assert (kind == "ADDED") == (name not in self.known), f"{kind} {name} at {version}, known {self.known}"
        assert int(version) > int(self.known.get(name, 0))
        self.version = str(max(int(version), int(self.version or 0)))
        if kind == "DELETED":
            del self.known[name]
        else:
            self.known[name] = version

    async def check(self) -> None:
        while self.take():
            self.expired += 1
            await self.list()
        listed = await self.server.call("GET", self.target(""))
        assert self.known == {
            item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in listed.body["items"]
        }


async def write(server: Server, kind: str, name: str, colour: str) -> None:
    if kind == "delete":
        await server.call("DELETE", f"{CONFIGMAPS}/{name}")
    elif kind == "patch":
        await server.call("PATCH", f"{CONFIGMAPS}/{name}", {"data": {"k": colour}}, media=MERGE)
    else:
        body = config(name, {"colour": colour} if colour else None)
        if (await server.call("PUT", f"{CONFIGMAPS}/{name}", body)).code == 404:
            await server.call("POST", CONFIGMAPS, body)


async def client(server: Server, script: list[tuple[str, str, str]], followers: list[Follower]) -> None:
    mine: Follower | None = None
    for kind, what, colour in script:
        await asyncio.sleep(0)
        if kind in ("put", "delete", "patch"):
            await write(server, kind, what, colour)
        elif kind == "again" and mine is not None:
            await mine.begin(kind)
        elif kind != "pause":
            mine = Follower(server, what)
            followers.append(mine)
            await mine.begin(kind)


async def run(scripts: list[list[tuple[str, str, str]]], history: int) -> list[Follower]:
    server = Server(history=history)
    followers: list[Follower] = []
    await asyncio.gather(*(client(server, script, followers) for script in scripts))
    await server.settle()
    for follower in followers:
        await follower.check()
    server.api.watches.close()
    return followers


@pytest.mark.parametrize("history", [10_000, 2])
@settings(max_examples=40)
@given(scripts=SCRIPTS)
def test_followers_know_what_a_list_shows(history: int, scripts: list[list[tuple[str, str, str]]]) -> None:
    asyncio.run(run(scripts, history))


async def test_a_follower_that_comes_too_late_begins_again() -> None:
    writes = [("put", "a", colour) for colour in ("red", "blue", "", "red", "blue")]
    (follower,) = await run([[("list", "", ""), *writes, ("pause", "", "")]], 2)
    assert follower.expired == 0
    server = Server(history=2)
    late = Follower(server, "")
    await late.list()
    assert late.watcher is not None
    late.watcher.stream.stop()
    for kind, name, colour in writes:
        await write(server, kind, name, colour)
    await late.begin("again")
    await late.check()
    assert (late.expired, "a" in late.known) == (1, True)
