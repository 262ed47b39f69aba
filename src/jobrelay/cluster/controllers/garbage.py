"""The garbage collector: deletes objects when all of their owners are gone.

It keeps an index from owners to dependents and back, updated from the store's commits. Three events cause work: an
owner is gone (its dependents are checked); an owner is being deleted with the finalizer `foregroundDeletion` (its
dependents are deleted first, and the finalizer is removed when none blocks any more) or `orphan` (its dependents lose
the reference); an object is created whose owner does not exist. Checking an object again is always safe, because every
step starts from the current content of the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec

from jobrelay.cluster.apiserver.calls import BackgroundWrites
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.deletion import FOREGROUND, ORPHAN, Deleter
from jobrelay.cluster.apiserver.errors import ApiError
from jobrelay.cluster.apiserver.options import DeleteOptions
from jobrelay.cluster.apiserver.ownership import set_or_remove
from jobrelay.cluster.controllers.internal import edit, internal_request, served_as_stored
from jobrelay.cluster.store import Change, Item
from jobrelay.kinds.strategy import Obj
from jobrelay.logs import get_logger

log = get_logger(__name__)
RETRY: Final = 10.0  # seconds after which something that was refused is tried again


class Ref(NamedTuple):
    """Where an object is stored."""

    resource: str
    namespace: str
    name: str


class _Owner(msgspec.Struct, rename="camel", gc=False):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    block_owner_deletion: bool = False


class _Metadata(msgspec.Struct, rename="camel"):
    uid: str = ""
    owner_references: list[_Owner] = []
    finalizers: list[str] = []
    deletion_timestamp: str = ""


class _Thin(msgspec.Struct):
    metadata: _Metadata


_THIN = msgspec.json.Decoder(_Thin)


def _thin(raw: bytes) -> _Metadata:
    return _THIN.decode(raw).metadata


def _is_waiting(metadata: _Metadata) -> bool:
    return bool(metadata.deletion_timestamp) and FOREGROUND in metadata.finalizers


class GarbageCollector:
    def __init__(self, services: ServerContext) -> None:
        self._services, self._store = services, services.store
        self._dependents: dict[str, set[Ref]] = {}
        self._owners: dict[Ref, list[_Owner]] = {}
        self._queue: dict[Ref, None] = {}
        self._scheduled = False
        self._writes = BackgroundWrites(services.outbound, self._again)

    def start(self) -> None:
        self._store.subscribe_all(self._changed)
        for resource in self._store.resources():
            for item in list(self._store.snapshot(resource).walk("")):
                self._index(Ref(resource, item.namespace, item.name), item)
        self._schedule()

    def stop(self) -> None:
        """There is nothing to end: what is queued is worked off within a tick."""

    # The index.

    def _changed(self, resource: str, change: Change) -> None:
        item = change.after or change.before
        assert item is not None
        self._index(Ref(resource, item.namespace, item.name), change.after)
        if change.after is None:
            self._deleted(item.namespace, _thin(change.raw))
        self._schedule()

    def _index(self, ref: Ref, after: Item | None) -> None:
        known = self._owners.get(ref, [])
        raw = after.raw if after is not None else b""
        # An object without these bytes has no owners and is not being deleted, so it need not be decoded.
        relevant = b'"ownerReferences"' in raw or b'"deletionTimestamp"' in raw
        metadata = _thin(raw) if relevant else _Metadata()
        owners = metadata.owner_references
        if owners != known:
            self._relate(ref, known, owners)
            self._queue_owners(ref.namespace, [owner for owner in known if owner not in owners])
        elif not metadata.deletion_timestamp:
            return  # neither its owners nor its deletion have changed
        if owners or {ORPHAN, FOREGROUND} & set(metadata.finalizers):
            self._queue[ref] = None

    def _relate(self, ref: Ref, before: list[_Owner], after: list[_Owner]) -> None:
        for owner in before:
            self._dependents.get(owner.uid, set()).discard(ref)
        for owner in after:
            self._dependents.setdefault(owner.uid, set()).add(ref)
        if after:
            self._owners[ref] = after
        else:
            del self._owners[ref]

    def _deleted(self, namespace: str, metadata: _Metadata) -> None:
        """After an object is gone: checks its dependents, and its owners, which may have waited for it."""
        self._queue.update(dict.fromkeys(self._dependents.pop(metadata.uid, ())))
        self._queue_owners(namespace, metadata.owner_references)

    def _queue_owners(self, namespace: str, owners: list[_Owner]) -> None:
        """Checks owners that an object in a namespace may no longer block."""
        for owner in owners:
            served = self._services.resources.by_kind(owner.api_version, owner.kind)
            if served is not None:
                self._queue[Ref(served.key, namespace if served.namespaced else "", owner.name)] = None

    def _schedule(self) -> None:
        if self._queue and not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._work)

    def _work(self) -> None:
        self._scheduled = False
        waiting, self._queue = self._queue, {}
        for ref in waiting:
            try:
                self._check(ref)
            except ApiError as error:
                log.warning("garbage collection failed", object="/".join(ref), error=error.message)
                asyncio.get_running_loop().call_later(RETRY, self._again, ref)

    def _again(self, ref: Ref) -> None:
        if not self._services.outbound.closed:
            self._queue[ref] = None
            self._schedule()

    # One object.

    def _check(self, ref: Ref) -> None:
        item = self._store.get(*ref)
        if item is None:
            return
        metadata = _thin(item.raw)
        if metadata.deletion_timestamp:
            if ORPHAN in metadata.finalizers:
                self._orphan(ref, metadata)
            elif FOREGROUND in metadata.finalizers:
                self._foreground(ref, metadata)
        elif metadata.owner_references:
            self._check_owners(ref, metadata)

    def _orphan(self, ref: Ref, metadata: _Metadata) -> None:
        dependents = list(self._dependents.get(metadata.uid, ()))
        waiting = [dependent for dependent in dependents if not self._drop_owners(dependent, {metadata.uid})]
        if waiting:  # for webhooks
            asyncio.get_running_loop().call_later(RETRY, self._again, ref)
            return
        self._dependents.pop(metadata.uid, None)
        self._drop_finalizer(ref, ORPHAN)

    def _foreground(self, ref: Ref, metadata: _Metadata) -> None:
        blocked = False
        for dependent in list(self._dependents.get(metadata.uid, ())):
            item = self._store.get(*dependent)
            if item is None:
                continue
            theirs = _thin(item.raw)
            blocked |= any(o.uid == metadata.uid and o.block_owner_deletion for o in theirs.owner_references)
            if not theirs.deletion_timestamp:
                self._check_owners(dependent, theirs)
        if not blocked:
            self._drop_finalizer(ref, FOREGROUND)

    def _check_owners(self, ref: Ref, metadata: _Metadata) -> None:
        owners = [(owner.uid, self._state(ref, owner)) for owner in metadata.owner_references]
        states = {state for _, state in owners}
        if "unknown" in states:
            return
        if "solid" not in states:
            dependents = self._dependents.get(metadata.uid) if "waiting" in states else None
            if dependents and any(map(self._waits, dependents)):
                self._unblock_owners(ref)
            self._delete(ref, metadata, foreground=bool(dependents))
        elif len(states) > 1:
            self._drop_owners(ref, {uid for uid, state in owners if state != "solid"})

    def _state(self, ref: Ref, owner: _Owner) -> str:
        """Whether an owner is solid, absent, waiting for its dependents, or of an unknown kind."""
        served = self._services.resources.by_kind(owner.api_version, owner.kind)
        if served is None or (served.namespaced and not ref.namespace):
            return "unknown"
        item = self._store.get(served.key, ref.namespace if served.namespaced else "", owner.name)
        if item is None:
            return "absent"
        metadata = _thin(item.raw)
        if metadata.uid != owner.uid:
            return "absent"
        return "waiting" if _is_waiting(metadata) else "solid"

    def _waits(self, ref: Ref) -> bool:
        """Whether an object is deleted after its dependents. A dependent of theirs that waits closes a circle."""
        item = self._store.get(*ref)
        return item is not None and _is_waiting(_thin(item.raw))

    # Writes.

    def _delete(self, ref: Ref, metadata: _Metadata, *, foreground: bool) -> None:
        if ORPHAN in metadata.finalizers:
            policy = "Orphan"
        else:
            policy = "Foreground" if foreground or FOREGROUND in metadata.finalizers else "Background"
        served = served_as_stored(self._services, *ref)
        if served is not None:
            options = DeleteOptions(propagation=policy, uid=metadata.uid)
            deleter = Deleter(self._services, internal_request(ref.namespace), served, options)
            self._writes.carry_out(ref, deleter.delete(ref.namespace, ref.name))

    def _drop_owners(self, ref: Ref, uids: set[str]) -> bool:
        return self._replace(
            ref, "ownerReferences", lambda entries: [each for each in entries if each["uid"] not in uids]
        )

    def _unblock_owners(self, ref: Ref) -> None:
        self._replace(
            ref, "ownerReferences", lambda entries: [{**each, "blockOwnerDeletion": False} for each in entries]
        )

    def _drop_finalizer(self, ref: Ref, finalizer: str) -> None:
        self._replace(ref, "finalizers", lambda entries: [each for each in entries if each != finalizer])

    def _replace(self, ref: Ref, key: str, replaced: Callable[[list[Any]], list[Any]]) -> bool:
        """Changes a list in an object's metadata; whether that is done already."""
        served = served_as_stored(self._services, *ref)
        if served is None or self._store.get(*ref) is None:
            return True

        def change(obj: Obj) -> None:
            set_or_remove(obj["metadata"], key, replaced(obj["metadata"].get(key) or []))

        steps = edit(self._services, served, ref.namespace, ref.name, change)
        return self._writes.carry_out(ref, steps) is not None
