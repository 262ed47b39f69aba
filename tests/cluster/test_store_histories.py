"""Whatever clients do at the same time, and whatever commits fail, there is one order that explains what each of them
saw.

Every write is numbered by the store, so the order to test is at hand: it must respect real time, reads must fit into
it, and what failed must have no place in it. Watchers that list first and follow from there must end with the state of
the store, having heard of each change once.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field

import hypothesis.strategies as st
from hypothesis import given, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from jobrelay.cluster.store import Change, Store, StoreFailure

from .stores import RESOURCE, KeptInMemory, committed, delete, put

NAMES = st.sampled_from("abc")
STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "delete", "read", "list_all"]), NAMES, st.integers(0, 2)), min_size=1, max_size=10
)


@dataclass
class Write:
    began: int
    ended: int
    name: str
    version: int
    deleted: bool


@dataclass
class Read:
    began: int
    ended: int
    seen: dict[str, int]
    only: str = ""


@dataclass
class History:
    """What clients did and saw, on one clock of steps."""

    store: Store
    time: int = 0
    writes: list[Write] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)

    def tick(self) -> int:
        self.time += 1
        return self.time

    async def client(self, steps: list[tuple[str, str, int]]) -> None:
        for kind, name, pause in steps:
            for _ in range(pause):
                await asyncio.sleep(0)
            await getattr(self, kind)(name)

    async def put(self, name: str) -> None:
        began, version = self.tick(), put(self.store, name)
        await self._settle(began, name, version, deleted=False)

    async def delete(self, name: str) -> None:
        if self.store.get(RESOURCE, "default", name) is not None:
            began, version = self.tick(), delete(self.store, name)
            await self._settle(began, name, version, deleted=True)

    async def _settle(self, began: int, name: str, version: int, *, deleted: bool) -> None:
        try:
            await self.store.settled()
        except StoreFailure:
            return
        self.writes.append(Write(began, self.tick(), name, version, deleted))

    async def read(self, name: str) -> None:
        began = self.tick()
        item = self.store.read(RESOURCE, "default", name)
        self.reads.append(Read(began, self.tick(), {name: item.version} if item else {}, only=name))

    async def list_all(self, name: str) -> None:
        began = self.tick()
        self.reads.append(Read(began, self.tick(), committed(self.store)))

    def state_at(self, version: int) -> dict[str, int]:
        state: dict[str, int] = {}
        for write in sorted(self.writes, key=lambda write: write.version):
            if write.version <= version:
                state.pop(write.name, None)
                if not write.deleted:
                    state[write.name] = write.version
        return state

    def check(self) -> None:
        ordered = sorted(self.writes, key=lambda write: write.version)
        assert len({write.version for write in ordered}) == len(ordered)
        for index, write in enumerate(ordered):
            assert all(later.ended > write.began for later in ordered[index:])
        for read in self.reads:
            assert any(self._explains(version, read) for version in self._places(read)), read

    def _places(self, read: Read) -> list[int]:
        """The versions after which a read may stand: no earlier than what had ended, no later than what had begun."""
        lowest = max((write.version for write in self.writes if write.ended < read.began), default=0)
        begun = [write.version for write in self.writes if write.began < read.ended]
        return [version for version in (0, *begun) if version >= lowest]

    def _explains(self, version: int, read: Read) -> bool:
        state = self.state_at(version)
        return {n: v for n, v in state.items() if not read.only or n == read.only} == read.seen


@settings(max_examples=200)
@given(st.lists(STEPS, min_size=2, max_size=4), st.lists(st.booleans(), min_size=8, max_size=20))
def test_histories_are_linearisable(scripts: list[list[tuple[str, str, int]]], failures: list[bool]) -> None:
    async def run() -> None:
        backend = KeptInMemory()
        fates = iter(failures)
        history = History(Store(backend))
        working = asyncio.gather(*(history.client(script) for script in scripts))
        while not working.done():
            backend.failures = int(next(fates, False))
            await asyncio.sleep(0)
        await working
        history.check()

    loop = asyncio.new_event_loop()
    loop.run_until_complete(run())
    loop.close()


@dataclass
class Follower:
    """Lists, then follows: the state that it knows, and the versions that it heard of."""

    known: dict[str, int]
    start: int
    heard: list[int] = field(default_factory=list)

    def take(self, change: Change) -> None:
        self.heard.append(change.version)
        item = change.after or change.before
        assert item is not None
        if change.after is None:
            del self.known[item.name]
        else:
            self.known[item.name] = change.version


ACTIONS = st.lists(st.tuples(st.sampled_from(["put", "delete", "follow"]), NAMES), max_size=6)


class WatchAndList(RuleBasedStateMachine):
    """Clients that list and watch at any moment of a tick, while writes come, commits fail, and the process dies."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.backend = KeptInMemory()
        self.highest = 0
        self.open()

    def open(self) -> None:
        self.store = Store(self.backend)
        self.followers: list[Follower] = []
        self.changes: list[int] = []
        self.store.subscribe(RESOURCE, lambda change: self.changes.append(change.version))

    def teardown(self) -> None:
        self.loop.close()

    @rule(actions=ACTIONS, broken=st.booleans())
    def one_tick(self, actions: list[tuple[str, str]], broken: bool) -> None:
        self.backend.failures = int(broken)
        self.loop.run_until_complete(self.act(actions))
        self.backend.failures = 0

    @rule(actions=ACTIONS)
    def death_within_a_tick(self, actions: list[tuple[str, str]]) -> None:
        left = self.backend.copy()
        self.loop.run_until_complete(self.act(actions))
        self.backend = left
        self.open()

    async def act(self, actions: list[tuple[str, str]]) -> None:
        for kind, name in actions:
            match kind:
                case "put":
                    put(self.store, name)
                case "delete" if self.store.get(RESOURCE, "default", name) is not None:
                    delete(self.store, name)
                case "follow":
                    self.follow()
            self.highest = max(self.highest, self.store.committed)
        with suppress(StoreFailure):
            await self.store.settled()

    def follow(self) -> None:
        follower = Follower(committed(self.store), self.store.committed)
        self.store.subscribe(RESOURCE, follower.take)
        self.followers.append(follower)

    @invariant()
    def versions_never_go_back(self) -> None:
        assert self.store.committed >= self.highest

    @invariant()
    def followers_know_the_state(self) -> None:
        for follower in self.followers:
            assert follower.known == committed(self.store)
            assert follower.heard == [version for version in self.changes if version > follower.start]


TestWatchAndList = WatchAndList.TestCase
TestWatchAndList.settings = settings(max_examples=50, stateful_step_count=30)
