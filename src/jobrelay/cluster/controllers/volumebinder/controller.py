"""The volume binder: carries out what is decided about each claim and each volume.

Both are decided on whenever one of them changes. A write that others were faster with is a conflict, after which the
decision is made again; so a volume is never bound to two claims. Users may create claims without end: a change makes
only those be reconciled again that it may concern, one at a time, and what they are compared with is decoded once.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterable, Mapping
from typing import Any, Final

from jobrelay.cluster.controllers.volumebinder.decisions import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    Bind,
    Provision,
    SetPhase,
    Unbind,
    UseClass,
    decide_claim,
    decide_volume,
    has_annotation,
)
from jobrelay.cluster.controllers.volumebinder.matching import names_claim, storage_class
from jobrelay.control import Controller, ControllerContext
from jobrelay.kube import Cache, EventNote, Key, NotFound, Object, Resource
from jobrelay.kube.resource import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, STORAGECLASSES

Obj = dict[str, Any]
_NAME: Final = "persistentvolume-binder-controller"
_VOLUMES: Final = "persistentvolume-binder-controller-volumes"
_UNBOUND: Final = "unbound"
_PROVISIONERS: Final = ("volume.beta.kubernetes.io/storage-provisioner", "volume.kubernetes.io/storage-provisioner")


def set_up(context: ControllerContext) -> None:
    """Adds the controller, named as in kube-controller-manager."""
    binder = VolumeBinder(context)
    context.manager.add(binder.claims)
    context.manager.add(binder.volumes)


class VolumeBinder:
    def __init__(self, context: ControllerContext) -> None:
        self._client, self._recorder = context.client, context.recorder("persistentvolume-controller")
        self._claims = context.cache(PERSISTENTVOLUMECLAIMS)
        self._volumes, self._classes = context.cache(PERSISTENTVOLUMES), context.cache(STORAGECLASSES)
        self._claims.add_index(_UNBOUND, _unbound)
        self._known_volumes = _follow(self._volumes)
        self._known_classes = _follow(self._classes)
        self.claims: Controller[Key] = Controller(_NAME, self._sync_claim, workers=1, clock=context.clock)
        self.volumes: Controller[Key] = Controller(_VOLUMES, self._sync_volume, workers=1, clock=context.clock)
        self.claims.watch(self._claims)
        self.claims.watch(self._volumes, self._claims_of_volume)
        self.claims.watch(self._classes, self._claims_of_class)
        self.volumes.watch(self._volumes)
        self.volumes.watch(self._claims, _volume_of_claim)

    def _claims_of_volume(self, old: Object | None, new: Object | None) -> Iterable[Key]:
        """The claims that a volume names, those that name it, and those that may take it."""
        volumes = [obj.decode() for obj in (old, new) if obj is not None]
        named = {key for volume in volumes if (key := _claim_key(volume))}
        free = [volume for volume in volumes[-1:] if new is not None and not volume["spec"].get("claimRef")]
        wanted = [f"volume {volume['metadata']['name']}" for volume in volumes[-1:]]
        return named | self._waiting(*wanted, *(f"class {storage_class(volume)}" for volume in free))

    def _claims_of_class(self, old: Object | None, new: Object | None) -> Iterable[Key]:
        """The claims that wait for a volume of a class, or for a default class."""
        return self._waiting("class ", *(f"class {obj.name}" for obj in (old, new) if obj is not None))

    def _waiting(self, *values: str) -> set[Key]:
        return {claim.key for value in values for claim in self._claims.by_index(_UNBOUND, value)}

    async def _sync_claim(self, key: Key) -> None:
        await asyncio.sleep(0)  # most claims need no write, and others have to get their turn
        if (found := self._claims.get(key)) is None:
            return
        claim = found.decode()
        match decide_claim(claim, self._known_volumes, self._known_classes):
            case Bind(volume):
                await self._bind(copy.deepcopy(volume), claim)
            case SetPhase(phase, event, once):
                changes = (claim.get("status") or {}).get("phase") != phase
                await self._write_status(PERSISTENTVOLUMECLAIMS, claim, {"phase": phase})
                self._record_event(found, event if changes or not once else None)
            case Provision(provisioner):
                await self._ask_provisioner(found, claim, provisioner)
            case UseClass(name):
                claim["spec"]["storageClassName"] = name
                await self._client.update(PERSISTENTVOLUMECLAIMS, claim)

    async def _bind(self, volume: Obj, claim: Obj) -> None:
        volume = await self._claim_volume(volume, claim)
        await self._write_status(PERSISTENTVOLUMES, volume, _volume_status(volume, "Bound"))
        claim = await self._name_volume(claim, volume["metadata"]["name"])
        await self._write_status(PERSISTENTVOLUMECLAIMS, claim, _bound_status(claim, volume))

    async def _claim_volume(self, volume: Obj, claim: Obj) -> Obj:
        """The volume, which names the claim."""
        metadata = claim["metadata"]
        reference = volume["spec"].get("claimRef") or {}
        if reference.get("uid") == metadata["uid"]:
            return volume
        if not names_claim(volume, claim):
            volume["metadata"].setdefault("annotations", {}).setdefault(BOUND_BY_CONTROLLER, "yes")
        volume["spec"]["claimRef"] = {
            "apiVersion": "v1", "kind": PERSISTENTVOLUMECLAIMS.kind, "namespace": metadata["namespace"],
            "name": metadata["name"], "uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"],
        }  # fmt: skip
        return (await self._client.update(PERSISTENTVOLUMES, volume)).decode()

    async def _name_volume(self, claim: Obj, volume: str) -> Obj:
        """The claim, which names the volume."""
        named = claim["spec"].get("volumeName") == volume
        if named and has_annotation(claim, BIND_COMPLETED):
            return claim
        annotations = claim["metadata"].setdefault("annotations", {})
        if not named:
            claim["spec"]["volumeName"] = volume
            annotations.setdefault(BOUND_BY_CONTROLLER, "yes")
        annotations[BIND_COMPLETED] = "yes"
        return (await self._client.update(PERSISTENTVOLUMECLAIMS, claim)).decode()

    async def _ask_provisioner(self, found: Object, claim: Obj, provisioner: str) -> None:
        annotations = claim["metadata"].setdefault("annotations", {})
        if any(annotations.get(name) != provisioner for name in _PROVISIONERS):
            annotations |= dict.fromkeys(_PROVISIONERS, provisioner)
            await self._client.update(PERSISTENTVOLUMECLAIMS, claim)
        text = (
            f"Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the "
            "system administrator. If volume creation is delayed, please verify that the provisioner is running and "
            "correctly registered."
        )
        self._record_event(found, EventNote("ExternalProvisioning", text))

    async def _sync_volume(self, key: Key) -> None:
        if (found := self._volumes.get(key)) is None:
            return
        volume = found.decode()
        match decide_volume(volume, await self._claim_named_by(volume)):
            case SetPhase(phase, event):
                if (volume.get("status") or {}).get("phase") != phase:
                    text = event.note if event is not None else ""
                    await self._write_status(PERSISTENTVOLUMES, volume, _volume_status(volume, phase, text))
                    self._record_event(found, event)
            case Unbind():
                await self._unbind(volume)

    async def _claim_named_by(self, volume: Obj) -> Obj | None:
        """The claim of the name that a volume has, as the server knows it where the cache has another one or none."""
        if (key := _claim_key(volume)) is None:
            return None
        cached = self._claims.get(key)
        if cached is not None and cached.uid == volume["spec"]["claimRef"].get("uid"):
            return cached.decode()
        try:
            return (await self._client.get(PERSISTENTVOLUMECLAIMS, key.name, key.namespace)).decode()
        except NotFound:
            return None

    async def _unbind(self, volume: Obj) -> None:
        if has_annotation(volume, BOUND_BY_CONTROLLER):
            del volume["spec"]["claimRef"], volume["metadata"]["annotations"][BOUND_BY_CONTROLLER]
        else:  # the user reserved it
            volume["spec"]["claimRef"].pop("uid")
        await self._client.update(PERSISTENTVOLUMES, volume)

    async def _write_status(self, resource: Resource, obj: Obj, status: Obj) -> None:
        if (obj.get("status") or {}) != status:
            await self._client.replace_status(resource, obj | {"status": status})

    def _record_event(self, about: Object, event: EventNote | None) -> None:
        if event is not None:
            self._recorder.event(about, event.type, event.reason, event.note, version=about.resource_version)


def _volume_status(volume: Obj, phase: str, message: str = "") -> Obj:
    old = {name: value for name, value in (volume.get("status") or {}).items() if name != "message"}
    if old.get("phase") == phase:
        return volume.get("status") or {}
    return old | {"phase": phase} | ({"message": message} if message else {})


def _bound_status(claim: Obj, volume: Obj) -> Obj:
    """The status of a bound claim; what the volume holds and its class are taken over once, when it is bound."""
    old, spec = claim.get("status") or {}, volume["spec"]
    new = old | {"phase": "Bound", "accessModes": spec.get("accessModes") or []}
    if old.get("phase") != "Bound":
        new["capacity"] = spec.get("capacity") or {}
    if old.get("phase") == "Pending" and (attributes := spec.get("volumeAttributesClassName")):
        new["currentVolumeAttributesClassName"] = attributes
    return new


def _claim_key(volume: Obj) -> Key | None:
    reference = volume["spec"].get("claimRef")
    return Key(reference.get("namespace", ""), reference.get("name", "")) if reference else None


def _volume_of_claim(old: Object | None, new: Object | None) -> Iterable[Key]:
    names = {claim.decode()["spec"].get("volumeName") for claim in (old, new) if claim is not None}
    return [Key("", name) for name in names if name]


def _unbound(claim: Object) -> Iterable[str]:
    """The index of claims that wait: by the volume that they name, or by their class."""
    if BIND_COMPLETED in claim.metadata.annotations:
        return ()
    obj = claim.decode()
    name = obj["spec"].get("volumeName")
    return (f"volume {name}" if name else f"class {storage_class(obj)}",)


def _follow(cache: Cache) -> Mapping[str, Obj]:
    """What a cache holds, decoded, by name; not to be changed."""
    known: dict[str, Obj] = {}

    def changed(old: Object | None, new: Object | None) -> None:
        if new is not None:
            known[new.name] = new.decode()
        elif old is not None:
            known.pop(old.name, None)

    cache.subscribe(changed)
    return known
