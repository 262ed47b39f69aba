"""The controllers of CustomResourceDefinitions: they accept names, serve resources and clean up after deletion.

The definition's own controllers, run straight after each commit of a definition instead of as loops: a CRD is
established within a tick of its creation. The objects of a deleted CRD are deleted before it is removed.
"""

from __future__ import annotations

import asyncio

from jobrelay.apimachinery.times import format_time
from jobrelay.cluster.apiserver import represent, storage
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.custom import conversion_webhook, served_versions
from jobrelay.cluster.apiserver.ownership import track
from jobrelay.cluster.apiserver.watch import Watches
from jobrelay.cluster.store import Change
from jobrelay.kinds.apiextensions.naming import CLEANUP_FINALIZER, accepted_status, is_established, terminating_status
from jobrelay.kinds.strategy import Obj

KEY = "customresourcedefinitions.apiextensions.k8s.io"


class CrdControllers:
    """Keeps the table of resources in step with the definitions in the store."""

    def __init__(self, server: ServerContext, watches: Watches) -> None:
        self._server, self._watches = server, watches
        self._served: dict[str, Obj] = {}
        self._claims: dict[str, Obj] = {}
        server.store.subscribe(KEY, self._changed)
        for item in server.store.snapshot(KEY).walk(""):
            crd = represent.stored(item.raw)
            self._claims[item.name] = _claim(crd)
            self._serve(crd)

    def _changed(self, change: Change) -> None:
        item = change.after or change.before
        assert item is not None
        asyncio.get_running_loop().call_soon(self._settle, item.name)

    def _settle(self, name: str) -> None:
        item = self._server.store.get(KEY, "", name)
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
        """Reconciles definitions whose names were taken by this one."""
        for other in self._others(name):
            if not is_established(other) and not other["metadata"].get("deletionTimestamp"):
                asyncio.get_running_loop().call_soon(self._settle, other["metadata"]["name"])

    def _others(self, name: str) -> list[Obj]:
        return [claim for other, claim in self._claims.items() if other != name]

    def _now(self) -> str:
        return format_time(self._server.now())

    def _put(self, crd: Obj, old: Obj) -> None:
        """Stores a new status as the controllers of a real server do."""
        served = self._server.resources.get("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        assert served is not None
        track(served, old, crd, manager="kube-apiserver", now=self._now(), subresource="status")
        storage.put(self._server.store, KEY, "", crd["metadata"]["name"], crd)

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
        for served in served_versions(_changeable(crd), conversion_webhook(self._server, crd["spec"])):
            self._server.resources.add(served)
        self._served[name] = crd["spec"]

    def _stop_serving(self, name: str) -> None:
        spec = self._served.pop(name, None)
        if spec is None:
            return
        group, plural = spec["group"], spec["names"]["plural"]
        for served in list(self._server.resources):
            if served.group == group and served.plural == plural:
                self._watches.close_resource(served)
        self._server.resources.remove_custom(group, plural)

    # Deletion.

    def _clean_up(self, crd: Obj) -> None:
        """Deletes the objects of a definition that is being deleted, then removes the definition."""
        old, crd = crd, _changeable(crd)
        metadata = crd["metadata"]
        if CLEANUP_FINALIZER not in (metadata.get("finalizers") or []):
            return
        for served in self._server.resources:
            if served.key == metadata["name"] and served.custom is not None:
                served.terminating = True
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
        storage.remove(self._server.store, KEY, "", metadata["name"], crd)

    def _delete_objects(self, crd: Obj) -> int:
        """Deletes all objects, or marks those with finalizers; returns how many are left."""
        key, store = f"{crd['spec']['names']['plural']}.{crd['spec']['group']}", self._server.store
        left = 0
        for item in list(store.snapshot(key).walk("")):
            obj = represent.stored(item.raw)
            metadata = obj["metadata"]
            kept = bool(metadata.get("finalizers"))
            left += kept
            if kept and metadata.get("deletionTimestamp"):
                continue
            if kept:
                metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"] = self._now(), 0
            (storage.put if kept else storage.remove)(store, key, item.namespace, item.name, obj)
        return left


def _claim(crd: Obj) -> Obj:
    """The part of a definition that decides name conflicts: its group and accepted names, without its schemas."""
    return {"metadata": crd["metadata"], "spec": {"group": crd["spec"]["group"]}, "status": crd.get("status")}


def _changeable(crd: Obj) -> Obj:
    """A copy whose metadata and status may be changed; the spec is shared and never changed."""
    return {**crd, "metadata": dict(crd["metadata"])}


def begin_deletion(crd: Obj, now: str) -> None:
    """Marks a definition as being deleted: its objects are deleted first."""
    metadata = crd["metadata"]
    metadata["deletionTimestamp"] = now
    if CLEANUP_FINALIZER not in (metadata.get("finalizers") or []):
        metadata["finalizers"] = [*(metadata.get("finalizers") or []), CLEANUP_FINALIZER]
    message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    crd["status"] = terminating_status(crd, "InstanceDeletionPending", message, now)
