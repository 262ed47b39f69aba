"""One workload kind in the relay: its adapter, the cache of its originals, and an index of their mirrors.

A mirror belongs to an original by the uid that it carries. A mirror of an earlier object of the same name has another
uid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from typing import NamedTuple

from jobrelay.kube import Cache, Object
from jobrelay.kube.objects import Key
from jobrelay.kube.resource import is_built_in as is_built_in
from jobrelay.relay.lookalikes import LookAlikes
from jobrelay.relay.signal import Signal
from jobrelay.relay.worker_assignment import assignment_of
from jobrelay.workloads import Adapter
from jobrelay.workloads.names import ORIGIN_NAME, ORIGIN_UID

_ASSIGNED = "assigned"
_UID = "uid"
_LONGEST_NAME = 63
_NO_MIRRORS: Mapping[str, Object] = {}


class WorkloadRef(NamedTuple):
    """Names one workload: its kind (`jobs.batch`) and the key of its original. The item of all work queues."""

    kind: str
    key: Key


def origin_key(mirror: Object) -> Key:
    """The key of the original that a mirror names."""
    return Key(mirror.namespace, mirror.metadata.annotations.get(ORIGIN_NAME) or mirror.name)


def origin_uid(mirror: Object) -> str:
    """The uid of the original that a mirror names; empty if it names none."""
    return mirror.metadata.annotations.get(ORIGIN_UID, "")


def mirror_name(key: Key, *, own_cluster: bool) -> str:
    """The name of a workload's mirror; on the management cluster itself the original has its own name already."""
    if not own_cluster:
        return key.name
    suffix = f"-relay-{sha256(str(key).encode()).hexdigest()[:8]}"
    return key.name[: _LONGEST_NAME - len(suffix)].rstrip("-.") + suffix


class WorkloadKind:
    """The originals of one kind, their mirrors by uid and worker, and look-alikes; only `RelayState` changes these."""

    def __init__(self, adapter: Adapter, originals: Cache) -> None:
        self.name, self.adapter, self.originals = str(adapter.resource), adapter, originals
        self._mirrors: dict[str, dict[str, Object]] = {}
        self.lookalikes = LookAlikes()
        self.undefined = False
        """Whether the management cluster has no definition of it; changed by `FollowedKinds`."""
        self._known: Signal[[]] = Signal()
        self._found: Signal[[]] = Signal()
        originals.add_index(_ASSIGNED, _assigned_worker)
        originals.add_index(_UID, lambda original: (original.uid,))

    @property
    def known(self) -> bool:
        """Whether all originals are known: before that, no mirror can be said to have none."""
        return self.originals.synced.is_set()

    def originals_known(self) -> None:
        """All originals are known from now on; called by `FollowedKinds`."""
        self._known()

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Have `callback` called when the originals have become known; returns how to unsubscribe."""
        return self._known.subscribe(callback)

    @property
    def has_mirrors(self) -> bool:
        """Whether there is a mirror of it on any worker."""
        return bool(self._mirrors)

    def subscribe_found(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Have `callback` called when the first mirror was found; returns how to unsubscribe."""
        return self._found.subscribe(callback)

    def mirrors(self, uid: str) -> Mapping[str, Object]:
        """The mirrors of an original, by worker."""
        return self._mirrors.get(uid, _NO_MIRRORS)

    def assigned_to(self, worker: str) -> Iterator[WorkloadRef]:
        """The workloads whose assignment names a worker, or the uid of its cluster, for this run or an earlier one."""
        for original in self.originals.by_index(_ASSIGNED, worker):
            yield WorkloadRef(self.name, original.key)

    def original_of(self, mirror: Object) -> Object | None:
        """The original that a mirror names, if it still exists with that uid."""
        found = self.originals.get(origin_key(mirror))
        return found if found is not None and found.uid == mirror.metadata.annotations.get(ORIGIN_UID) else None

    def original_with(self, uid: str) -> Object | None:
        """The original with this uid, if there is one."""
        return next(iter(self.originals.by_index(_UID, uid)), None)

    def index_mirror(self, worker: str, old: Object | None, new: Object | None) -> None:
        """Apply one change of a worker's mirrors."""
        if old is not None and (new is None or origin_uid(old) != origin_uid(new)):
            self._drop(origin_uid(old), worker)
        if new is not None:
            first = not self._mirrors
            self._mirrors.setdefault(origin_uid(new), {})[worker] = new
            if first:
                self._found()

    def forget_worker(self, worker: str) -> None:
        """Remove all mirrors of a worker that is no longer registered."""
        self.lookalikes.forget_worker(worker)
        for uid in [uid for uid, held in self._mirrors.items() if worker in held]:
            self._drop(uid, worker)

    def _drop(self, uid: str, worker: str) -> None:
        held = self._mirrors.get(uid)
        if held is not None:
            held.pop(worker, None)
            if not held:
                del self._mirrors[uid]


def _assigned_worker(original: Object) -> Iterator[str]:
    to = assignment_of(original)
    if to is not None:
        yield from {name: None for run in (to.run, *to.held) for name in (run.cluster, run.uid) if name}
