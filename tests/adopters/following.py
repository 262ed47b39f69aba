"""Follows the objects of some kinds on one cluster, and keeps every status that was seen."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from jobrelay.kube import Cache, Client, Object, Resource
from jobrelay.relay.signal import Changes

from .managers import Obj
from .steps import without_nulls
from .story import NAMESPACE

SECONDS: Final = 180.0
"""Generous: other programs may have the machine."""


@dataclass(frozen=True)
class Seen:
    """One version of an object; None stands for its absence after a deletion."""

    obj: Object | None

    @property
    def status(self) -> Obj:
        status: Obj = without_nulls(self.obj.decode().get("status") or {}) if self.obj is not None else {}
        return status


class Following:
    """What was seen of objects by kind and name. `where` is the name of the cluster, for messages; `changes` tells of
    each event, here and on other clusters."""

    def __init__(self, where: str, client: Client, changes: Changes) -> None:
        self.where, self.client, self._changes = where, client, changes
        self._seen: dict[tuple[Resource, str], list[Seen]] = {}

    def note(self, resource: Resource, old: Object | None, new: Object | None) -> None:
        known = new or old
        assert known is not None
        self._seen.setdefault((resource, known.name), []).append(Seen(new))
        self._changes.notify()

    def all(self, resource: Resource, name: str) -> list[Seen]:
        return self._seen.get((resource, name), [])

    def present(self, resource: Resource, name: str) -> Object | None:
        seen = self.all(resource, name)
        return seen[-1].obj if seen else None

    def statuses(self, resource: Resource, name: str) -> list[Obj]:
        """All statuses of an object that was not being deleted; the same one after another is one."""
        found: list[Obj] = []
        for each in self.all(resource, name):
            if each.obj is not None and not each.obj.deleting and each.status and found[-1:] != [each.status]:
                found.append(each.status)
        return found

    async def until(self, resource: Resource, name: str, reached: Callable[[Object], bool], what: str) -> Object:
        """Wait for an object that is as it is to be."""

        def there() -> bool:
            found = self.present(resource, name)
            return found is not None and reached(found)

        await self.wait(there, partial(self._told, resource, name, what))
        found = self.present(resource, name)
        assert found is not None
        return found

    async def gone(self, resource: Resource, name: str) -> None:
        await self.wait(lambda: self.present(resource, name) is None, partial(self._told, resource, name, "gone"))

    async def wait(self, holds: Callable[[], bool], told: Callable[[], str]) -> None:
        try:
            async with asyncio.timeout(SECONDS):
                await self._changes.until(holds)
        except TimeoutError:
            raise AssertionError(told()) from None

    def _told(self, resource: Resource, name: str, what: str) -> str:
        found = self.present(resource, name)
        return f"{resource.kind} {name} on {self.where} is not {what}: {told(found)}"


def told(obj: Object | None) -> str:
    """An object in a message."""
    whole = obj.decode() if obj is not None else {}
    metadata = {key: value for key, value in whole.get("metadata", {}).items() if key != "managedFields"}
    return json.dumps(whole | {"metadata": metadata}) if obj is not None else "not there"


@asynccontextmanager
async def following(
    where: str, client: Client, resources: Iterable[Resource], changes: Changes
) -> AsyncIterator[Following]:
    """Follow kinds in the namespace of the stories while the block runs."""
    found = Following(where, client, changes)
    caches = [Cache(client, resource, NAMESPACE) for resource in resources]
    for cache in caches:
        cache.subscribe(partial(found.note, cache.resource))
    tasks = [asyncio.create_task(cache.run()) for cache in caches]
    try:
        for cache in caches:
            await cache.wait_synced()
        yield found
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
