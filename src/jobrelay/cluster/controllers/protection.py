"""Protection of storage objects in use: deleted claims, volumes and attributes classes stay until nothing uses them.

Admission gives each of them a finalizer; the controllers here remove it from deleted objects that are not in use, and
give it to objects that lack it.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Final

from jobrelay.cluster.apiserver import represent
from jobrelay.cluster.apiserver.calls import BackgroundWrites
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.errors import ApiError
from jobrelay.cluster.apiserver.ownership import set_or_remove
from jobrelay.cluster.controllers.internal import edit, served_as_stored
from jobrelay.cluster.store import Change, Item
from jobrelay.kinds.core import claims, volumes
from jobrelay.kinds.core.admission import attributes_classes
from jobrelay.kinds.storage import classes
from jobrelay.kinds.strategy import Obj
from jobrelay.logs import get_logger

log = get_logger(__name__)
_CLAIMS: Final = "persistentvolumeclaims"
_VOLUMES: Final = "persistentvolumes"
_Key = tuple[str, str]


class Protection(ABC):
    """Removes one finalizer from deleted objects of one resource once they are not in use."""

    key: ClassVar[str]
    finalizer: ClassVar[str]
    users: ClassVar[tuple[str, ...]] = ()
    """The resources whose objects may use the protected ones."""

    def __init__(self, services: ServerContext) -> None:
        self._services, self._store = services, services.store
        self._kept: set[_Key] = set()  # deleted objects that are in use
        self._queue: dict[_Key, None] = {}
        self._scheduled = False
        self._writes = BackgroundWrites(services.outbound, self._enqueue)

    def start(self) -> None:
        self._store.subscribe(self.key, self._changed)
        for resource in self.users:
            self._store.subscribe(resource, self._user_changed)
        for item in self._store.snapshot(self.key).walk(""):
            self._enqueue((item.namespace, item.name))

    def stop(self) -> None:
        self._writes.stop()

    @abstractmethod
    def in_use(self, obj: Obj) -> bool:
        """Whether something uses an object that is being deleted."""

    def may_release(self, change: Change) -> bool:
        """Whether a change of a user may end its use."""
        return True

    def _changed(self, change: Change) -> None:
        if change.after is not None:
            self._enqueue((change.after.namespace, change.after.name))
        elif change.before is not None:
            self._kept.discard((change.before.namespace, change.before.name))

    def _user_changed(self, change: Change) -> None:
        if self._kept and change.before is not None and self.may_release(change):
            for key in self._kept:
                if key[0] in ("", change.before.namespace):
                    self._enqueue(key)

    def _enqueue(self, key: _Key) -> None:
        self._queue[key] = None
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._work)

    def _work(self) -> None:
        self._scheduled = False
        waiting, self._queue = self._queue, {}
        for key in waiting:
            item = self._store.get(self.key, *key)
            if item is not None:
                self._check(item)

    def _check(self, item: Item) -> None:
        obj, key = represent.stored(item.raw), (item.namespace, item.name)
        held = self.finalizer in (obj["metadata"].get("finalizers") or ())
        deleting = "deletionTimestamp" in obj["metadata"]
        if held and deleting and self.in_use(obj):
            self._kept.add(key)
        elif held == deleting:
            self._kept.discard(key)
            self._change(item, held=not held)

    def _change(self, item: Item, *, held: bool) -> None:
        served = served_as_stored(self._services, self.key, item.namespace, item.name)
        assert served is not None

        def change(obj: Obj) -> None:
            others = [each for each in obj["metadata"].get("finalizers") or () if each != self.finalizer]
            set_or_remove(obj["metadata"], "finalizers", [*others, self.finalizer] if held else others)

        try:
            steps = edit(self._services, served, item.namespace, item.name, change)
            self._writes.carry_out((item.namespace, item.name), steps)
        except ApiError as error:
            log.warning("finalizer not changed", object=f"{self.key}/{item.name}", error=error.message)


class ClaimProtection(Protection):
    """A claim is in use while a pod with a node names it."""

    key = _CLAIMS
    finalizer = claims.PROTECTION
    users = ("pods",)

    def may_release(self, change: Change) -> bool:
        return change.after is None or b'"deletionTimestamp"' in change.after.raw

    def in_use(self, obj: Obj) -> bool:
        metadata = obj["metadata"]
        name = metadata["name"].encode()
        candidates = (item.raw for item in self._store.snapshot("pods").walk(metadata["namespace"]))
        return any(
            _uses(represent.stored(raw), obj) for raw in candidates if b'"nodeName"' in raw and _may_name(raw, name)
        )


def _may_name(raw: bytes, claim: bytes) -> bool:
    """Whether a pod may name a claim, without decoding it. Claims of ephemeral volumes have composed names."""
    return claim in raw or b'"ephemeral"' in raw


def _uses(pod: Obj, claim: Obj) -> bool:
    spec, name = pod["spec"], claim["metadata"]["name"]
    if not spec.get("nodeName"):
        return False
    for volume in spec.get("volumes") or ():
        if (volume.get("persistentVolumeClaim") or {}).get("claimName") == name:
            return True
        composed = f"{pod['metadata']['name']}-{volume['name']}" if volume.get("ephemeral") is not None else ""
        if composed == name and not _is_shut_down(pod) and _owns(pod, claim):
            return True
    return False


def _is_shut_down(pod: Obj) -> bool:
    metadata = pod["metadata"]
    return bool(metadata.get("deletionTimestamp")) and metadata.get("deletionGracePeriodSeconds") == 0


def _owns(pod: Obj, claim: Obj) -> bool:
    owners: list[dict[str, Any]] = claim["metadata"].get("ownerReferences") or []
    return any(owner.get("controller") and owner["uid"] == pod["metadata"]["uid"] for owner in owners)


class VolumeProtection(Protection):
    """A volume is in use while it is bound."""

    key = _VOLUMES
    finalizer = volumes.PROTECTION

    def in_use(self, obj: Obj) -> bool:
        return bool((obj.get("status") or {}).get("phase") == "Bound")


class AttributesClassProtection(Protection):
    """An attributes class is in use while a volume or a claim names it."""

    key = "volumeattributesclasses.storage.k8s.io"
    finalizer = classes.PROTECTION
    users = (_CLAIMS, _VOLUMES)

    def in_use(self, obj: Obj) -> bool:
        name = obj["metadata"]["name"]
        found = (represent.stored(item.raw) for item in self._store.snapshot(_VOLUMES).walk(""))
        if any(volume["spec"].get("volumeAttributesClassName") == name for volume in found):
            return True
        made = (represent.stored(item.raw) for item in self._store.snapshot(_CLAIMS).walk(""))
        return any(name in attributes_classes(claim) for claim in made)
