"""The resource quota controller: sets the status of new and changed quotas, and gives back what is not used any more.

Admission charges quotas for writes; this controller counts all objects of a namespace anew when one of its quotas is
new or has other limits, when an object is deleted or an update uses less (a pod has ended), at the start, and every
five minutes. Counting again soon after is put off in proportion to the number of objects, so that a namespace in which
many pods end costs a bounded share of the time.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from jobrelay.cluster.apiserver import represent
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.quotas import KEY, write_status
from jobrelay.cluster.controllers.internal import MANAGER
from jobrelay.cluster.store import Change
from jobrelay.kinds.core.quota.amounts import as_texts, equal
from jobrelay.kinds.core.quota.evaluator import Evaluator, Fields
from jobrelay.kinds.core.quota.registry import evaluator_of
from jobrelay.kinds.core.quota.usage import used_of

RESYNC: Final = 300.0
PAUSE: Final = 0.0001  # seconds per object that was counted


class ResourceQuotaController:
    def __init__(self, services: ServerContext) -> None:
        self._services, self._store = services, services.store
        self._quotas: Counter[str] = Counter()  # by namespace
        self._pauses: dict[str, float] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._resync: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._store.subscribe_all(self._changed)
        self._quotas.update(item.namespace for item in self._store.snapshot(KEY).walk(""))
        self._count_all()

    def stop(self) -> None:
        for timer in (*self._timers.values(), *filter(None, (self._resync,))):
            timer.cancel()
        self._timers.clear()

    def _count_all(self) -> None:
        for namespace in self._quotas:
            self._schedule(namespace)
        self._resync = asyncio.get_running_loop().call_later(RESYNC, self._count_all)

    # What happens in the cluster.

    def _changed(self, resource: str, change: Change) -> None:
        item = change.after or change.before
        assert item is not None
        if resource == KEY:
            self._quota_changed(item.namespace, change)
        elif item.namespace in self._quotas and self._releases(resource, change):
            self._schedule(item.namespace)

    def _quota_changed(self, namespace: str, change: Change) -> None:
        if change.before is None:
            self._quotas[namespace] += 1
        elif change.after is None:
            self._quotas[namespace] -= 1
            if not self._quotas[namespace]:
                del self._quotas[namespace]
                self._pauses.pop(namespace, None)
        elif equal(_hard(change.before.raw), _hard(change.after.raw)):
            return
        self._schedule(namespace)

    def _releases(self, resource: str, change: Change) -> bool:
        """Whether an object was deleted or changed what it uses in a way that admission does not charge."""
        if change.before is None:
            return False
        if change.after is None:
            return True
        evaluator = evaluator_of(resource)
        if evaluator is None or evaluator.counts_only:
            return False
        before, after = (represent.stored(item.raw) for item in (change.before, change.after))
        return evaluator.changed(before, after, self._services.now())

    def _schedule(self, namespace: str) -> None:
        if namespace not in self._timers:
            pause = self._pauses.get(namespace, 0.0)
            self._timers[namespace] = asyncio.get_running_loop().call_later(pause, self._sync, namespace)

    # Counting.

    def _sync(self, namespace: str) -> None:
        """Puts the status of all quotas of a namespace right."""
        del self._timers[namespace]
        objects: dict[str, Sequence[Fields] | None] = {}
        for item in list(self._store.snapshot(KEY).walk(namespace)):
            self._sync_quota(represent.stored(item.raw), objects)
        if namespace in self._quotas:
            self._pauses[namespace] = PAUSE * sum(len(found or ()) for found in objects.values())

    def _sync_quota(self, quota: dict[str, Any], objects: dict[str, Sequence[Fields] | None]) -> None:
        """Counts what is used of a quota; `objects` are those that were read already, by resource."""
        namespace, status = quota["metadata"]["namespace"], quota.get("status") or {}

        def read(evaluator: Evaluator) -> Sequence[Fields] | None:
            if evaluator.key not in objects:
                objects[evaluator.key] = self._objects(evaluator, namespace)
            return objects[evaluator.key]

        hard = quota["spec"].get("hard") or {}
        kept = {name: amount for name, amount in (status.get("used") or {}).items() if name in hard}
        used = kept | as_texts(used_of(quota, read, self._services.now()))
        if not equal(status.get("hard"), hard) or not equal(status.get("used"), used):
            counted = {"hard": dict(hard), "used": dict(sorted(used.items()))}
            write_status(self._services, quota, {key: value for key, value in counted.items() if value}, MANAGER)

    def _objects(self, evaluator: Evaluator, namespace: str) -> Sequence[Fields] | None:
        """The objects of a resource; only their number matters where they are only counted."""
        if not any(served.key == evaluator.key for served in self._services.resources):
            return None
        items = list(self._store.snapshot(evaluator.key).walk(namespace))
        return [{}] * len(items) if evaluator.counts_only else [represent.stored(item.raw) for item in items]


def _hard(raw: bytes) -> dict[str, str] | None:
    hard: dict[str, str] | None = represent.stored(raw)["spec"].get("hard")
    return hard
