"""Follows everything on a cluster that a script may be about, and tells when a script's objects have come to rest.

At rest is a script none of whose objects has changed for a while (`quiet`), within which the manager has served others
(`Probe`). Controllers batch what they write, so the while is longer than their batches. Nothing is polled: a wait ends
with the next event or with the while.

There is no kubelet: pods that are being deleted are removed as one would.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final

from jobrelay.kube import Cache, Client, Object, Resource
from jobrelay.kube.errors import StatusError
from jobrelay.kube.resource import JOBS, PODS
from jobrelay.relay.signal import Changes

from .objects import CHECKS, CLUSTERQUEUES, COHORTS, FLAVORS, LOCALQUEUES, WORKLOADS, Obj
from .picture import Reservation
from .probe import Probe, probing

FOLLOWED: Final = (WORKLOADS, LOCALQUEUES, CLUSTERQUEUES, COHORTS, FLAVORS, CHECKS, JOBS, PODS)
AT_MOST: Final = 90.0


class Stage:
    """One cluster, its caches, and what has happened on it by slug."""

    def __init__(self, client: Client, quiet: float, followed: Sequence[Resource] = FOLLOWED) -> None:
        self.client, self.quiet = client, quiet
        self.probe: Probe | None = None
        self.caches = {resource: Cache(client, resource) for resource in followed}
        self.changes: dict[str, Changes] = defaultdict(Changes)
        self._last: dict[str, float] = {}
        self._reserved: dict[str, list[Reservation]] = defaultdict(list)
        self._kubelet: set[asyncio.Task[None]] = set()
        for resource, cache in self.caches.items():
            cache.subscribe(partial(self._note, resource))

    def objects(self, resource: Resource, slug: str) -> list[Obj]:
        """All objects of a kind that belong to a script."""
        return [each.decode() for each in self.caches.get(resource, ()) if slug_of(each) == slug]

    def reserved(self, slug: str) -> list[Reservation]:
        """The reservations since this was last asked."""
        return self._reserved.pop(slug, [])

    def stir(self, slug: str) -> None:
        """Something was done to a script's objects."""
        self._last[slug] = time.monotonic()

    async def rest(self, slug: str) -> None:
        """Wait as long as a script's objects would have to stay as they are now."""
        await asyncio.sleep(max(self._last[slug] + self.quiet - time.monotonic(), 0))
        if self.probe is not None:
            await self.probe.changes.until(lambda: self._served(slug))

    def at_rest(self, slug: str) -> bool:
        return self._last[slug] + self.quiet <= time.monotonic() and self._served(slug)

    def _served(self, slug: str) -> bool:
        return self.probe is None or self.probe.begun > self._last[slug]

    async def until(self, slug: str, holds: Callable[[], bool]) -> bool:
        """Wait until something holds, which is looked at after each event; false if it never does."""
        with suppress(TimeoutError):
            async with asyncio.timeout(AT_MOST):
                await self.changes[slug].until(holds)
                return True
        return False

    def _note(self, resource: Resource, old: Object | None, new: Object | None) -> None:
        obj = new or old
        assert obj is not None
        slug = slug_of(obj)
        self.stir(slug)
        if resource == WORKLOADS and new is not None:
            self._note_reservation(slug, old, new)
        if resource == PODS and new is not None and new.deleting:
            self._remove(new)
        self.changes[slug].notify()

    def _note_reservation(self, slug: str, old: Object | None, new: Object) -> None:
        admission = new.decode().get("status", {}).get("admission")
        if admission and not (old and old.decode().get("status", {}).get("admission")):
            self._reserved[slug].append(Reservation(time.monotonic(), admission["clusterQueue"], new.uid))

    def _remove(self, pod: Object) -> None:
        task = asyncio.create_task(self._kill(pod))
        self._kubelet.add(task)
        task.add_done_callback(self._kubelet.discard)

    async def _kill(self, pod: Object) -> None:
        with suppress(StatusError):
            await self.client.delete(PODS, pod.name, pod.namespace, grace_period=0, uid=pod.uid)


async def settled(stages: Sequence[Stage], slug: str) -> bool:
    """Wait until a script's objects are at rest on all its clusters; false if they never are."""
    for stage in stages:
        stage.stir(slug)
    with suppress(TimeoutError):
        async with asyncio.timeout(AT_MOST):
            while not all(stage.at_rest(slug) for stage in stages):
                for stage in stages:
                    await stage.rest(slug)
            return True
    return False


def slug_of(obj: Object) -> str:
    return (obj.namespace or obj.name).partition("-")[0]


@asynccontextmanager
async def staged(
    client: Client, quiet: float, *, probed: bool = True, followed: Sequence[Resource] = FOLLOWED
) -> AsyncIterator[Stage]:
    """Follow a cluster while the block runs; one whose Jobs would stand in others' way is not probed."""
    stage = Stage(client, quiet, followed)
    tasks = [asyncio.create_task(cache.run()) for cache in stage.caches.values()]
    try:
        for cache in stage.caches.values():
            await cache.wait_synced()
        if not probed:
            yield stage
            return
        async with probing(client, stage.caches[CLUSTERQUEUES]) as stage.probe:
            yield stage
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
