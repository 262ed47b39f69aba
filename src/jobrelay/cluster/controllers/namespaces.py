"""The namespace controller: fills new namespaces, and empties deleted ones.

It reacts to the store's commits. The content of a deleted namespace is deleted five seconds later, as on Kubernetes,
and then every second until nothing is left; objects with finalizers are marked for deletion and waited for. Pods are
deleted first, with their grace period, and everything else only after they are gone, because they may still use it. The
namespace's conditions say what keeps it from going.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from jobrelay.apimachinery.times import format_time, parse_time
from jobrelay.cluster.apiserver import represent, storage
from jobrelay.cluster.apiserver.calls import BackgroundWrites
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.deletion import Deleter
from jobrelay.cluster.apiserver.errors import ApiError
from jobrelay.cluster.apiserver.options import DeleteOptions
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.cluster.controllers.internal import edit, internal_request
from jobrelay.cluster.controllers.namespacedefaults import NamespaceDefaults
from jobrelay.cluster.store import Change, Item
from jobrelay.kinds.core.namespacedeletion import Remaining, conditions, grace_left, unexpected
from jobrelay.kinds.strategy import Obj

KEY: Final = "namespaces"
DELAY: Final = 5.0
RETRY: Final = 1.0


class NamespaceController:
    """Fills new namespaces and empties deleted ones."""

    def __init__(self, services: ServerContext, authority: bytes, *, delay: float = DELAY) -> None:
        self._services, self._delay = services, delay
        self._defaults = NamespaceDefaults(services, authority.decode())
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._writes = BackgroundWrites(services.outbound, lambda key: self._sync(key[1]))

    def start(self) -> None:
        self._services.store.subscribe(KEY, self._changed)
        self._defaults.start()
        for item in self._services.store.snapshot(KEY).walk(""):
            self._sync(item.name)

    def stop(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._writes.stop()
        self._defaults.stop()

    def _changed(self, change: Change) -> None:
        if change.after is not None:
            asyncio.get_running_loop().call_soon(self._sync, change.after.name)

    def _sync(self, name: str) -> None:
        item = self._services.store.get(KEY, "", name)
        if item is None:
            return
        namespace = represent.cached(item.raw)
        if not namespace["metadata"].get("deletionTimestamp"):
            self._defaults.fill(name)
        elif name not in self._timers:
            self._timers[name] = asyncio.get_running_loop().call_later(self._delay, self._empty, name)

    def _empty(self, name: str) -> None:
        self._timers.pop(name, None)
        item = self._services.store.get(KEY, "", name)
        if item is None:
            return
        left = self._delete_content(name, represent.stored(item.raw))
        self._write_conditions(name, left)
        if left.nothing:
            self._finalize(name)
        else:
            self._timers[name] = asyncio.get_running_loop().call_later(RETRY, self._empty, name)

    def _delete_content(self, name: str, namespace: Obj) -> Remaining:
        left = Remaining()
        pods = self._services.resources.get("", "v1", "pods")
        assert pods is not None
        found = [represent.stored(item.raw) for item in self._items(name, pods)]
        age = (self._services.now() - parse_time(namespace["metadata"]["deletionTimestamp"])).total_seconds()
        left.pods = len(self._delete_all(name, pods, left, patient=grace_left(found, age)))
        if not left.pods:
            for served in self._namespaced():
                self._delete_others(name, served, left)
        return left

    def _namespaced(self) -> list[ServedResource]:
        """The namespaced resources, each in one version, and custom ones as they are stored."""
        found = {
            served.key: served for served in self._services.resources if served.namespaced and "list" in served.verbs
        }
        return [served.unconverted if served.custom is not None else served for served in found.values()]

    def _items(self, name: str, served: ServedResource) -> list[Item]:
        return list(self._services.store.snapshot(served.key).walk(name))

    def _delete_others(self, name: str, served: ServedResource, left: Remaining) -> None:
        if kept := self._delete_all(name, served, left, patient=False):
            left.objects[f"{served.plural}.{served.group}"] = len(kept)
            for metadata in kept:
                left.finalizers.update(metadata.get("finalizers") or ())

    def _delete_all(self, name: str, served: ServedResource, left: Remaining, *, patient: bool) -> list[dict[str, Any]]:
        """Deletes all objects of a resource; returns the metadata of those that are left.

        If some are, one must have a finalizer, unless there is a reason to be `patient`.
        """
        deleter = Deleter(self._services, internal_request(name), served, DeleteOptions(propagation="Background"))
        for item in self._items(name, served):
            try:
                done = self._writes.carry_out((served.key, name, item.name), deleter.delete(item.namespace, item.name))
            except ApiError as error:
                left.failures.append(error.message)
                patient = True
            else:
                patient = patient or done is None  # webhooks are asked
        kept = [represent.stored(item.raw)["metadata"] for item in self._items(name, served)]
        if kept and not patient and not any(metadata.get("finalizers") for metadata in kept):
            left.failures.append(unexpected(name, served.api_version, served.plural))
        return kept

    def _write_conditions(self, name: str, left: Remaining) -> None:
        """Puts what is left into the conditions of a namespace."""
        served = self._services.resources.get("", "v1", KEY)
        assert served is not None

        def change(namespace: Obj) -> None:
            status = namespace["status"]
            now = format_time(self._services.now())
            namespace["status"] = {**status, "conditions": conditions(status.get("conditions") or [], left, now)}

        steps = edit(self._services, served, "", name, change, subresource="status")
        self._writes.carry_out((KEY, name, "status"), steps)

    def _finalize(self, name: str) -> None:
        item = self._services.store.get(KEY, "", name)
        assert item is not None
        namespace = represent.stored(item.raw)
        before = (namespace.get("spec") or {}).get("finalizers") or []
        finalizers = [f for f in before if f != "kubernetes"]
        if finalizers == before and (finalizers or _has_finalizers(namespace)):
            return
        namespace["spec"] = {"finalizers": finalizers} if finalizers else {}
        write = storage.put if finalizers or _has_finalizers(namespace) else storage.remove
        write(self._services.store, KEY, "", name, namespace)


def _has_finalizers(namespace: dict[str, Any]) -> bool:
    return bool(namespace["metadata"].get("finalizers"))
