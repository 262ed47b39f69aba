"""The load of ten kinds on a fleet: creates workloads, and writes statuses on workers as their controllers would.

python -m bench.kindload KUBECONFIG WORKER_KUBECONFIG [...]
{"prefix": "a", "count": 300, "rate": 30, "kinds": 10}    so many a second of the first so many kinds in turn,
                                                          until all have ended
->  {"seconds": 9.1, "statuses": 3.0}                     status writes on workers for each, apart from those for Jobs

Before it answers for the first time, the clusters have all definitions.
"""

from __future__ import annotations

import asyncio
import json
import pathlib
import sys
import time
from contextlib import AsyncExitStack
from typing import Any, Final

from bench.connection import loop_factory
from bench.kindmix import MIX, PROJECTS, RUNTIME, RUNTIMES, MixedKind, pod
from jobrelay.apimachinery.times import format_time
from jobrelay.kube import Cache, Client, NotFound, Object, SystemClock, find_connection, merge_patch
from jobrelay.kube.network import NetworkTransport
from jobrelay.kube.resource import PODS
from jobrelay.operate.crds import install_definitions, read_definitions
from jobrelay.workloads import Adapter, load_adapters
from jobrelay.workloads.names import ORIGIN

_PATIENCE: Final = 300.0
_AT_ONCE: Final = 8
"""Requests to one cluster, so that a busy machine is not busy with new connections."""
_CLOCK: Final = SystemClock()


class Operator:
    """Stands for the controller of one kind on one worker: a pod and three statuses for each mirror."""

    def __init__(self, client: Client, kind: MixedKind, turns: asyncio.Semaphore) -> None:
        self._client, self._kind, self._turns = client, kind, turns
        self.cache = Cache(client, kind.resource, label_selector=ORIGIN)
        self.written = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self.cache.subscribe(self._changed)

    def _changed(self, old: Object | None, new: Object | None) -> None:
        if old is None and new is not None:
            task = asyncio.get_running_loop().create_task(self._play(new))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _play(self, mirror: Object) -> None:
        resource = self._kind.resource
        async with self._turns:
            await self._create_pod(mirror)
        for status in self._kind.statuses(format_time(_CLOCK.now())):
            patch = merge_patch({"status": status})
            async with self._turns:
                await self._client.patch(resource, mirror.name, patch, mirror.namespace, subresource="status")
            self.written += 1

    async def _create_pod(self, mirror: Object) -> None:
        resource = self._kind.resource
        owner = {"apiVersion": resource.api_version, "kind": resource.kind, "name": mirror.name, "uid": mirror.uid}
        await self._client.create(PODS, pod(mirror.name, owner), mirror.namespace)


class Load:
    """Creates workloads on the management cluster, and sees them end there."""

    def __init__(self, client: Client, operators: list[Operator]) -> None:
        self._client, self._operators, self._turns = client, operators, asyncio.Semaphore(_AT_ONCE)
        adapters: dict[str, Adapter] = {str(each.resource): each for each in load_adapters(())}
        self._ended: set[str] = set()
        self.caches = [self._watch(adapters[str(each.resource)]) for each in MIX]

    def _watch(self, adapter: Adapter) -> Cache:
        def changed(old: Object | None, new: Object | None) -> None:
            if new is not None and adapter.read(new).end is not None:
                self._ended.add(new.name)

        cache = Cache(self._client, adapter.resource)
        cache.subscribe(changed)
        return cache

    async def run(self, order: dict[str, Any]) -> dict[str, float]:
        begin, before = time.perf_counter(), sum(each.written for each in self._operators)
        kinds, count = MIX[: order["kinds"]], order["count"]
        names = [f"{order['prefix']}-{number:05d}" for number in range(count)]
        async with asyncio.TaskGroup() as group:
            for number, name in enumerate(names):
                await asyncio.sleep(begin + number / order["rate"] - time.perf_counter())
                group.create_task(self._create(kinds[number % len(kinds)], name))
        while not self._ended.issuperset(names):
            if time.perf_counter() - begin > _PATIENCE:
                raise RuntimeError(f"not ended: {sorted(set(names) - self._ended)[:10]}")
            await asyncio.sleep(0.1)
        played = sum(number % len(kinds) > 0 for number in range(count))
        written = sum(each.written for each in self._operators) - before
        return {"seconds": time.perf_counter() - begin, "statuses": written / max(played, 1)}

    async def _create(self, kind: MixedKind, name: str) -> None:
        async with self._turns:
            await self._client.create(kind.resource, kind.body(name))


def _operators(worker: Client) -> list[Operator]:
    turns = asyncio.Semaphore(_AT_ONCE)
    return [Operator(worker, kind, turns) for kind in MIX[1:]]


async def _define(client: Client) -> None:
    await install_definitions(client, read_definitions(PROJECTS).found)
    try:
        await client.get(RUNTIMES, RUNTIME["metadata"]["name"])
    except NotFound:
        await client.create(RUNTIMES, RUNTIME)


async def main(*kubeconfigs: str) -> None:
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        ways = [NetworkTransport(find_connection(pathlib.Path(each))) for each in kubeconfigs]
        clients = [Client(await stack.enter_async_context(each)) for each in ways]
        for client in clients:
            await _define(client)
        management, *workers = clients
        operators = [each for worker in workers for each in _operators(worker)]
        load = Load(management, operators)
        watches = [group.create_task(each.run()) for each in (*load.caches, *(one.cache for one in operators))]
        for cache in load.caches:
            await cache.wait_synced()
        print(json.dumps({"ready": True}), flush=True)
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            print(json.dumps(await load.run(json.loads(line))), flush=True)
        for watch in watches:
            watch.cancel()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(main(*sys.argv[1:]))
