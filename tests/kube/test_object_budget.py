"""Whatever way objects come into a cache, its budget holds."""

from __future__ import annotations

import asyncio

from jobrelay.kube import Cache, Client, FakeClock
from jobrelay.kube.object_budget import ObjectBudget
from jobrelay.kube.resource import CONFIGMAPS

from .scripted import ScriptedTransport, configmap, event
from .test_cache import initial, reply


def cache_of_two(script: ScriptedTransport, clock: FakeClock) -> Cache:
    budget = ObjectBudget("objects", max_objects=2, max_bytes=10_000, max_object_bytes=1000)
    return Cache(Client(script, clock=clock), CONFIGMAPS, "default", clock=clock, budget=budget)


def held(cache: Cache) -> list[str]:
    return [f"{obj.name}@{obj.resource_version}" for obj in cache]


async def test_the_reply_to_a_write_is_left_to_the_watch_where_there_is_no_room(clock: FakeClock) -> None:
    cache = cache_of_two(ScriptedTransport(), clock)
    for number, name in enumerate("abc", 1):
        cache.observe(reply(name, str(number)))
    assert held(cache) == ["a@1", "b@2"]
    cache.observe(reply("a", "9"))
    assert held(cache) == ["a@9", "b@2"]


async def test_a_state_counts_together_with_own_writes_that_it_lacks(clock: FakeClock) -> None:
    state = initial(event("ADDED", configmap("a", "5")), event("ADDED", configmap("b", "6")))
    cache = cache_of_two(ScriptedTransport(state.response), clock)
    cache.observe(reply("new", "15"))
    task = asyncio.create_task(cache.run())
    await clock.settle()
    task.cancel()
    await asyncio.wait({task})
    assert (held(cache), cache.connected) == (["new@15"], False)
