"""The namespace controller: fills new namespaces, and empties deleted ones.

It reacts to the store's commits. A new namespace gets its `default` service account and the CA certificate at once. The
content of a deleted one is deleted five seconds later, as on Kubernetes, and then every second until nothing is left;
objects with finalizers are marked for deletion and waited for. Pods are deleted first, with their grace period, and
everything else only after they are gone, because they may still use it.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from jobrelay.cluster.apiserver import represent, storage
from jobrelay.cluster.apiserver.body import ProposedObject
from jobrelay.cluster.apiserver.calls import BackgroundWrites
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.deletion import Deleter
from jobrelay.cluster.apiserver.errors import ApiError
from jobrelay.cluster.apiserver.options import DeleteOptions, WriteOptions
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.cluster.apiserver.writes import WriteRequest, create
from jobrelay.cluster.controllers.internal import internal_request
from jobrelay.cluster.store import Change, Item

KEY: Final = "namespaces"
DELAY: Final = 5.0
RETRY: Final = 1.0
ROOT_CA: Final = "kube-root-ca.crt"
_DESCRIPTION: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of "
    "Kubernetes clusters."
)


class NamespaceController:
    """Fills new namespaces and empties deleted ones."""

    def __init__(self, services: ServerContext, authority: bytes, *, delay: float = DELAY) -> None:
        self._services, self._authority, self._delay = services, authority.decode(), delay
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._writes = BackgroundWrites(services.outbound, lambda key: self._sync(key[1]))

    def start(self) -> None:
        self._services.store.subscribe(KEY, self._changed)
        for item in self._services.store.snapshot(KEY).walk(""):
            self._sync(item.name)

    def stop(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._writes.stop()

    def _changed(self, change: Change) -> None:
        if change.after is not None:
            asyncio.get_running_loop().call_soon(self._sync, change.after.name)

    def _sync(self, name: str) -> None:
        item = self._services.store.get(KEY, "", name)
        if item is None:
            return
        namespace = represent.stored(item.raw)
        if not namespace["metadata"].get("deletionTimestamp"):
            self._fill(name)
        elif name not in self._timers:
            self._timers[name] = asyncio.get_running_loop().call_later(self._delay, self._empty, name)

    # New namespaces.

    def _fill(self, name: str) -> None:
        self._ensure(name, "serviceaccounts", {"metadata": {"name": "default", "namespace": name}})
        metadata = {"name": ROOT_CA, "namespace": name, "annotations": {"kubernetes.io/description": _DESCRIPTION}}
        self._ensure(name, "configmaps", {"metadata": metadata, "data": {"ca.crt": self._authority}})

    def _ensure(self, namespace: str, plural: str, obj: dict[str, Any]) -> None:
        if self._services.store.get(plural, namespace, obj["metadata"]["name"]) is not None:
            return
        served = self._services.resources.get("", "v1", plural)
        assert served is not None
        made = served.decode(obj, None)
        served.strategy.default(made)
        write = WriteRequest(self._services, internal_request(namespace), served, WriteOptions())
        self._writes.carry_out((plural, namespace), create(write, ProposedObject(made)))

    # Deleted namespaces.

    def _empty(self, name: str) -> None:
        self._timers.pop(name, None)
        item = self._services.store.get(KEY, "", name)
        if item is None:
            return
        pods = self._services.resources.get("", "v1", "pods")
        assert pods is not None
        left = self._delete_all(name, pods) or sum(self._delete_all(name, served) for served in self._namespaced())
        if left:
            self._timers[name] = asyncio.get_running_loop().call_later(RETRY, self._empty, name)
            return
        self._finalize(name)

    def _namespaced(self) -> list[ServedResource]:
        """The namespaced resources, each in one version, and custom ones as they are stored."""
        found = {
            served.key: served for served in self._services.resources if served.namespaced and "list" in served.verbs
        }
        return [served.unconverted if served.custom is not None else served for served in found.values()]

    def _delete_all(self, name: str, served: ServedResource) -> int:
        """Deletes all objects of a resource; returns how many are left."""
        deleter = Deleter(self._services, internal_request(name), served, DeleteOptions(propagation="Background"))
        items = list(self._services.store.snapshot(served.key).walk(name))
        return sum(not self._is_deleted(deleter, item) for item in items)

    def _is_deleted(self, deleter: Deleter, item: Item) -> bool:
        key = (deleter.served.key, item.namespace, item.name)
        try:
            done = self._writes.carry_out(key, deleter.delete(item.namespace, item.name))
        except ApiError:  # refused by admission, perhaps not for ever
            return False
        return done is not None and done[0]

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
