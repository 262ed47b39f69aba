"""Kueue's objects on the management cluster, watched while it serves them.

Where Kueue's definitions are not installed, or Workloads may not be read, there is nothing to queue by: `in_place` is
False. The definitions are watched, so Kueue may be installed later.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final

from jobrelay.kube import Cache, Client, Clock, KubeError, Object
from jobrelay.kube.clock import sleep
from jobrelay.kube.objects import Key, OwnerReference
from jobrelay.logs import get_logger
from jobrelay.relay.multikueue.views import (
    CHECKS,
    CONFIGS,
    WORKLOADS,
    MultiKueueCheckView,
    QueuedWorkload,
    read_check,
    read_workload,
)
from jobrelay.relay.signal import Changes
from jobrelay.relay.workers.management_cache import management_cache
from jobrelay.relay.workers.multikueue import listed_clusters
from jobrelay.relay.workers.served_kinds import REFUSALS, ServedKinds, Serving
from jobrelay.relay.workers.tasks import until_first

log = get_logger(__name__)

_OWNER: Final = "owner"
_KINDS: Final = (WORKLOADS, CHECKS, CONFIGS)
_RETRY: Final = 60.0


class KueueObjects:
    """The caches of Workloads, AdmissionChecks and MultiKueueConfigs."""

    def __init__(self, client: Client, *, clock: Clock, random: Random, silence: float) -> None:
        self._clock = clock
        self._changes = Changes()
        self._refused = ""
        self._served = ServedKinds(
            client, _KINDS, self._changes.notify, clock=clock, random=random, idle_timeout=silence
        )
        self.workloads, self.checks, self.configs = (
            management_cache(
                client,
                resource,
                clock=clock,
                random=random,
                idle_timeout=silence,
                terminal=REFUSALS,
                on_connection_change=self._changes.notify,
            )
            for resource in _KINDS
        )
        self.workloads.add_index(_OWNER, _owners)

    @property
    def caches(self) -> tuple[Cache, ...]:
        return self.workloads, self.checks, self.configs

    @property
    def known(self) -> bool:
        """Whether it is known which objects there are, or that there can be none."""
        return self.in_place or bool(self._refused) or self._is_unserved

    @property
    def in_place(self) -> bool:
        """Whether Kueue's objects are there and have been read."""
        return all(cache.synced.is_set() for cache in self.caches) and not self._is_unserved

    @property
    def _is_unserved(self) -> bool:
        return any(self._served.state(each) in (Serving.ABSENT, Serving.UNSERVED) for each in _KINDS)

    @property
    def _is_served(self) -> bool:
        return all(self._served.state(each) is Serving.SERVED for each in _KINDS)

    async def wait_synced(self) -> None:
        await self._changes.until(lambda: self.known)

    async def run(self) -> None:
        """Follow the objects until cancelled."""
        await until_first(self._served.run(), self._follow())

    async def _follow(self) -> None:
        while True:
            await self._changes.until(lambda: self._is_served)
            try:
                unserved = self._changes.until(lambda: not self._is_served)
                await until_first(*(cache.run() for cache in self.caches), self._announce(), unserved)
            except REFUSALS as error:
                await self._pause(error)
                continue
            for cache in self.caches:
                cache.start_over()

    async def _announce(self) -> None:
        """Say that all has been read; returns never, but is cancelled."""
        for cache in self.caches:
            await cache.wait_synced()
        self._refused = ""
        self._changes.notify()
        await self._changes.until(lambda: False)

    async def _pause(self, error: KubeError) -> None:
        if not self._refused:
            log.warning("Kueue's objects cannot be read; queues are ignored", reason=str(error))
        self._refused = str(error)
        self._changes.notify()
        await sleep(self._clock, _RETRY)

    def workload_of(self, original: Object) -> tuple[Object, QueuedWorkload] | None:
        """The Workload that queues an original; the newest one, if there are several."""
        found = [obj for obj in self.workloads.by_index(_OWNER, original.uid) if not obj.deleting]
        for obj in sorted(found, key=lambda each: each.metadata.creation_timestamp or "", reverse=True):
            if (view := read_workload(obj)) is not None:
                return obj, view
        return None

    def check(self, name: str) -> MultiKueueCheckView:
        """An AdmissionCheck by its name; an empty one if there is none."""
        found = self.checks.get(Key("", name))
        return read_check(found) if found is not None else MultiKueueCheckView()

    def clusters(self, config: str) -> tuple[str, ...] | None:
        """The workers that a MultiKueueConfig names, in its order; None if there is no such object."""
        found = self.configs.get(Key("", config)) if config else None
        return listed_clusters(found) if found is not None else None


def owner_of(workload: Object) -> OwnerReference | None:
    """The object that a Workload queues: its controller, or else its first owner."""
    return workload.metadata.controller or next(iter(workload.metadata.owner_references), None)


def _owners(workload: Object) -> Iterator[str]:
    owner = owner_of(workload)
    if owner is not None:
        yield owner.uid
