"""The copies on one worker: which there are, which are in use, and what is under way with them.

A copy is pinned from before it is looked for until the mirror that uses it is in the cache or was not created. What is
pinned is not removed, and a copy that is being removed is not used: it is made again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from jobrelay.kube import (
    AlreadyExists,
    Clock,
    Conflict,
    KubeError,
    NotFound,
    Object,
    StatusError,
    TooManyRequests,
    Unauthorized,
)
from jobrelay.kube.resource import SERVICEACCOUNTS
from jobrelay.logs import get_logger
from jobrelay.relay.dependencies.copies import Copy, CopyFailed, has_contents, is_copy, is_unchanged
from jobrelay.relay.metrics import RelayMetrics
from jobrelay.relay.proofs import cluster_binding
from jobrelay.relay.workers import WorkerConnection
from jobrelay.relay.workers.proving import Proofs
from jobrelay.workloads import ObjectName

log = get_logger(__name__)

_FIELD_MANAGER = "jobrelay"
_BELIEVED = 60.0
"""For how many seconds a copy counts as being there after it was created or compared."""


class _Held:
    """One copy."""

    def __init__(self, uid: str) -> None:
        self.uid = uid
        self.seen: float | None = None
        """When it was last compared with its source, in monotonic time."""
        self.unused_since: float | None = None


class HeldCopies:
    """What this process knows about the copies on one worker."""

    def __init__(self, worker: WorkerConnection, proofs: Proofs, clock: Clock, metrics: RelayMetrics) -> None:
        self._worker, self._proofs, self._clock, self._metrics = worker, proofs, clock, metrics
        self._held: dict[ObjectName, _Held] = {}
        self._pins: dict[ObjectName, int] = {}
        self._removing: dict[ObjectName, asyncio.Event] = {}

    def __iter__(self) -> Iterator[ObjectName]:
        return iter(list(self._held))

    def proven(self, found: Object, target: ObjectName) -> bool:
        """Whether an object there is a copy that we made."""
        name, identity = self._worker.name, self._worker.facts().identity
        clusters = dict.fromkeys((cluster_binding(name, identity), cluster_binding(name, "")))
        return is_copy(found, target, self._proofs.keys, self._proofs.origin, list(clusters))

    @contextmanager
    def pinned(self, target: ObjectName) -> Iterator[None]:
        """Keep a copy from being removed."""
        self._pins[target] = self._pins.get(target, 0) + 1
        try:
            yield
        finally:
            self._pins[target] -= 1
            if not self._pins[target]:
                del self._pins[target]

    async def ensure(self, copy: Copy) -> None:
        """Have a pinned copy there; raises CopyFailed if something else has its name."""
        target, now = copy.target, self._clock.monotonic()
        while (removal := self._removing.get(target)) is not None:
            await removal.wait()
        held = self._held.get(target)
        if held is not None and held.seen is not None and now - held.seen < _BELIEVED:
            return
        try:
            found = await self._worker.client.create(target.resource, copy.body, field_manager=_FIELD_MANAGER)
            self._count(target, "created")
        except AlreadyExists:
            found = await self._worker.client.get(target.resource, target.name, target.namespace or None)
            if not self._usable(found, copy):
                return
        except StatusError as error:
            if error.code >= 500 or isinstance(error, TooManyRequests | Unauthorized):
                raise
            raise CopyFailed(f"{target} cannot be created: {error}", target.resource.kind) from None
        self._keep(target, found.uid).seen = now

    def _usable(self, found: Object, copy: Copy) -> bool:
        """Whether an object that has the name of a copy is that copy; False if it is used without being ours."""
        ours = not found.deleting and self.proven(found, copy.target)
        if copy.target.resource == SERVICEACCOUNTS and not found.deleting:
            return ours  # one that somebody else made meanwhile is what the workload asks for, too
        if ours and has_contents(found, copy):
            return True
        why = f"there is a {copy.target} that is not our copy, or was changed; it is left alone"
        raise CopyFailed(why, copy.target.resource.kind)

    def listed(self, known_before: Iterable[ObjectName], found: dict[ObjectName, str]) -> None:
        """The copies there, with their uids, were listed; those of `known_before` that are not among them are gone."""
        for target in known_before:
            if target not in found:
                self._held.pop(target, None)
        for target, uid in found.items():
            self._keep(target, uid)

    def unused(self, used: set[ObjectName], grace: float) -> list[ObjectName]:
        """The copies that nothing has used for that many seconds, as observed by this process."""
        now, due = self._clock.monotonic(), []
        for target, held in self._held.items():
            if target in used or target in self._pins:
                held.unused_since = None
            elif held.unused_since is None:
                held.unused_since = now
            elif now - held.unused_since >= grace:
                due.append(target)
        return due

    def out_of_sight(self) -> None:
        """The mirrors there are not known at present, so it is not known what is in use."""
        for held in self._held.values():
            held.unused_since = None

    async def remove(self, target: ObjectName) -> None:
        """Delete a copy, unless it is used again, or is not what we made."""
        held = self._held.get(target)
        if held is None or target in self._pins:
            return
        self._removing[target] = asyncio.Event()
        try:
            await self._delete(target, held.uid)
        except (NotFound, Conflict):
            pass
        except KubeError:
            held.seen = None  # it may be gone
            raise
        finally:
            self._removing.pop(target).set()
        self._held.pop(target, None)

    async def _delete(self, target: ObjectName, uid: str) -> None:
        """Read it first: somebody may have put another object in its place, with our marks."""
        client, namespace, proofs = self._worker.client, target.namespace or None, self._proofs
        found = await client.get(target.resource, target.name, namespace)
        ours = found.uid == uid and self.proven(found, target)
        if not ours or not is_unchanged(found, target, proofs.keys, proofs.origin):
            log.warning("not a copy of ours: it is left alone", worker=self._worker.name, object=str(target))
            return
        version = found.resource_version
        await client.delete(target.resource, target.name, namespace, uid=uid, resource_version=version)
        self._count(target, "removed")

    def _keep(self, target: ObjectName, uid: str) -> _Held:
        held = self._held.get(target)
        if held is None or held.uid != uid:
            held = self._held[target] = _Held(uid)
        return held

    def _count(self, target: ObjectName, result: str) -> None:
        self._metrics.copies.labels(self._worker.name, target.resource.kind, result).inc()
