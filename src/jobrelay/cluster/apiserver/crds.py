"""Custom resource definitions at work: names are accepted, resources served, and taken away again.

The definition's own controllers, run straight after each commit of a definition instead of as loops: a CRD is established
within a tick of its creation. A deleted CRD takes its objects with it before it goes.
"""

from __future__ import annotations

import asyncio

from jobrelay.apimachinery.times import format_time
from jobrelay.cluster.apiserver import represent
from jobrelay.cluster.apiserver.custom import served_versions
from jobrelay.cluster.apiserver.ownership import track
from jobrelay.cluster.apiserver.services import Services
from jobrelay.cluster.apiserver.watch import Watches
from jobrelay.cluster.apiserver.writer import stored_json
from jobrelay.cluster.store import Change
from jobrelay.kinds.apiextensions.naming import CLEANUP_FINALIZER, accepted_status, is_established, terminating_status
from jobrelay.kinds.strategy import Obj

KEY = "customresourcedefinitions.apiextensions.k8s.io"


class Definitions:
    """Keeps the table of resources in step with the definitions in the store."""

    def __init__(self, services: Services, watches: Watches) -> None:
        self._services, self._watches = services, watches
        self._served: dict[str, Obj] = {}
        self._claims: dict[str, Obj] = {}
        services.store.subscribe(KEY, self._changed)
        for item in services.store.snapshot(KEY).walk(""):
            crd = represent.stored(item.raw)
            self._claims[item.name] = _claim(crd)
            self._serve(crd)

    def _changed(self, change: Change) -> None:
        asyncio.get_running_loop().call_soon(self._settle, (change.after or change.before).name)  # type: ignore[union-attr]

    def _settle(self, name: str) -> None:
        item = self._services.store.get(KEY, "", name)
        if item is None:
            self._claims.pop(name, None)
            self._stop_serving(name)
            self._settle_others(name)
            return
        crd = represent.stored(item.raw)
        self._claims[name] = _claim(crd)
        if crd["metadata"].get("deletionTimestamp"):
            self._clean_up(crd)
            return
        new = _changeable(crd)
        new["status"] = accepted_status(crd, self._others(name), self._now())
        self._serve(new)
        if new["status"] != crd.get("status"):
            self._claims[name] = _claim(new)
            self._put(new, crd)
            self._settle_others(name)

    def _settle_others(self, name: str) -> None:
        """Names that were taken may be free now."""
        for other in self._others(name):
            if not is_established(other) and not other["metadata"].get("deletionTimestamp"):
                asyncio.get_running_loop().call_soon(self._settle, other["metadata"]["name"])

    def _others(self, name: str) -> list[Obj]:
        return [claim for other, claim in self._claims.items() if other != name]

    def _now(self) -> str:
        return format_time(self._services.now())

    def _put(self, crd: Obj, old: Obj) -> None:
        """Stores a new status as the controllers of a real server do."""
        served = self._services.resources.get("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        assert served is not None
        track(served, old, crd, manager="kube-apiserver", now=self._now(), subresource="status")
        crd["metadata"]["resourceVersion"] = str(self._services.store.next_version())
        name = crd["metadata"]["name"]
        self._services.store.put(KEY, "", name, stored_json(crd))

    # Serving.

    def _serve(self, crd: Obj) -> None:
        if not is_established(crd):
            return
        name = crd["metadata"]["name"]
        known = self._served.get(name)
        if known is not None and known == crd["spec"]:
            return
        if known is not None:
            self._stop_serving(name)
        for served in served_versions(_changeable(crd)):
            self._services.resources.add(served)
        self._served[name] = crd["spec"]

    def _stop_serving(self, name: str) -> None:
        spec = self._served.pop(name, None)
        if spec is None:
            return
        group, plural = spec["group"], spec["names"]["plural"]
        for served in list(self._services.resources):
            if served.group == group and served.plural == plural:
                self._watches.close_resource(served)
        self._services.resources.remove_custom(group, plural)

    # Deletion.

    def _clean_up(self, crd: Obj) -> None:
        """Deletes the objects of a definition that is being deleted, then lets it go."""
        old, crd = crd, _changeable(crd)
        metadata = crd["metadata"]
        if CLEANUP_FINALIZER not in (metadata.get("finalizers") or []):
            return
        for served in self._services.resources:
            if served.key == metadata["name"] and served.custom is not None:
                served.custom.terminating = True
        if self._delete_objects(crd):
            reason, message = "InstanceDeletionInProgress", "CustomResource deletion is in progress"
            status = terminating_status(crd, reason, message, self._now())
            if status != crd.get("status"):
                crd["status"] = status
                self._put(crd, old)
            asyncio.get_running_loop().call_later(0.2, self._settle, metadata["name"])
            return
        reason, message = "InstanceDeletionCompleted", "removed all instances"
        if not is_established(crd):
            reason, message = "NeverEstablished", "resource was never established"
        crd["status"] = terminating_status(crd, reason, message, self._now(), active=False)
        metadata["finalizers"] = [name for name in metadata["finalizers"] if name != CLEANUP_FINALIZER]
        if metadata["finalizers"]:
            self._put(crd, old)
            return
        del metadata["finalizers"]
        metadata["resourceVersion"] = str(self._services.store.next_version())
        self._services.store.delete(KEY, "", metadata["name"], stored_json(crd))

    def _delete_objects(self, crd: Obj) -> int:
        """Deletes all objects, or marks those with finalizers; tells how many are left."""
        key, store = f"{crd['spec']['names']['plural']}.{crd['spec']['group']}", self._services.store
        left = 0
        for item in list(store.snapshot(key).walk("")):
            obj = represent.stored(item.raw)
            metadata = obj["metadata"]
            kept = bool(metadata.get("finalizers"))
            left += kept
            if kept and metadata.get("deletionTimestamp"):
                continue
            metadata["resourceVersion"] = str(store.next_version())
            if kept:
                metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"] = self._now(), 0
                store.put(key, item.namespace, item.name, stored_json(obj))
            else:
                store.delete(key, item.namespace, item.name, stored_json(obj))
        return left


def _claim(crd: Obj) -> Obj:
    """What others have to know of a definition: its group and the names that it has, without its large schemas."""
    return {"metadata": crd["metadata"], "spec": {"group": crd["spec"]["group"]}, "status": crd.get("status")}


def _changeable(crd: Obj) -> Obj:
    """A copy whose metadata and status may be changed; the spec is shared, nobody changes it."""
    return {**crd, "metadata": dict(crd["metadata"])}


def begin_deletion(crd: Obj, now: str) -> None:
    """The first deletion of a definition only marks it: its objects have to go first."""
    metadata = crd["metadata"]
    metadata["deletionTimestamp"] = now
    if CLEANUP_FINALIZER not in (metadata.get("finalizers") or []):
        metadata["finalizers"] = [*(metadata.get("finalizers") or []), CLEANUP_FINALIZER]
    message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    crd["status"] = terminating_status(crd, "InstanceDeletionPending", message, now)
