"""Whatever happens to the connection, handlers hear a story that adds up to the server's state."""

from __future__ import annotations

import asyncio
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from jobrelay.kube import Cache, Client, FakeClock, FaultyTransport, Key, Object
from jobrelay.kube.fault_injection import AnswerStatus, CutStream, Fault, LoseReply, RefuseConnection, RepeatChunks
from jobrelay.kube.resource import CONFIGMAPS

from .miniserver import MiniServer
from .scripted import configmap

FAULTS: list[Fault] = [
    RefuseConnection(),
    LoseReply(),
    AnswerStatus(500, "InternalError"),
    CutStream(1),
    CutStream(2, clean=True),
    RepeatChunks(),
]
STEPS = st.one_of(
    st.tuples(st.just("put"), st.sampled_from("abc")),
    st.tuples(st.just("remove"), st.sampled_from("abc")),
    st.tuples(st.just("lapse"), st.sampled_from("abc")),
    st.tuples(st.just("fault"), st.sampled_from(FAULTS)),
    st.tuples(st.sampled_from(["compact", "end", "partition", "heal"]), st.none()),
    st.tuples(st.just("wait"), st.sampled_from([0, 1, 60])),
)


class Replay:
    """Rebuilds state from what handlers are told, checking that each change fits and is new."""

    def __init__(self) -> None:
        self.state: dict[Key, Object] = {}
        self.told: set[str] = set()

    def __call__(self, old: Object | None, new: Object | None) -> None:
        key = (new or old).key  # type: ignore[union-attr]
        held = self.state.pop(key, None)
        assert (held is None) == (old is None)
        if new is not None:
            assert new.resource_version not in self.told
            self.told.add(new.resource_version)
            self.state[key] = new


async def perform(step: str, value: object, server: MiniServer, faulty: FaultyTransport, clock: FakeClock) -> None:
    path = f"/api/v1/namespaces/default/configmaps/{value}"
    match step:
        case "put":
            server.put(path, configmap(str(value)))
        case "remove" if path in server.objects:
            server.remove(path)
        case "fault":
            faulty.add(value)  # type: ignore[arg-type]
        case "lapse":
            faulty.partition()
            server.put(path, configmap(str(value)))
            server.compact()
            faulty.heal()
        case "compact":
            server.compact()
        case "end":
            server.end_watches()
        case "partition":
            faulty.partition()
        case "heal":
            faulty.heal()
        case "wait":
            await clock.advance(float(str(value)))
    await clock.settle()


@settings(max_examples=100, deadline=None)
@given(steps=st.lists(STEPS, min_size=5, max_size=30), watch_list=st.booleans(), seed=st.integers(0, 1000))
async def test_the_story_adds_up(steps: list[tuple[str, object]], watch_list: bool, seed: int) -> None:
    clock = FakeClock()
    server = MiniServer(watch_list=watch_list)
    faulty = FaultyTransport(server, clock=clock)
    cache = Cache(Client(faulty, clock=clock), CONFIGMAPS, "default", clock=clock, random=Random(seed))
    replay = Replay()
    cache.subscribe(replay)
    task = asyncio.create_task(cache.run())
    try:
        for step, value in steps:
            await perform(step, value, server, faulty, clock)
        faulty.heal()
        faulty.clear()
        await clock.advance(2000)
        expected = {obj["metadata"]["name"]: obj["metadata"]["resourceVersion"] for obj in server.objects.values()}
        assert {obj.name: obj.resource_version for obj in cache} == expected
        assert {obj.name: obj.resource_version for obj in replay.state.values()} == expected
    finally:
        task.cancel()
        await asyncio.wait({task})
