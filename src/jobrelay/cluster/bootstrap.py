"""The objects of a new cluster: namespaces, RBAC policy, priority classes, the API server's own Service.

They are prepared by the same steps as a client's objects, but only once per process: further clusters get copies with
their own uids and times, so that many clusters start fast.
"""

from __future__ import annotations

import copy
import functools
from typing import Any

from jobrelay.apimachinery.times import format_time
from jobrelay.cluster.apiserver import represent, storage
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.ownership import track
from jobrelay.cluster.apiserver.resources import ResourceTable
from jobrelay.kinds import bootstrap as facts
from jobrelay.kinds.core.serviceaddresses import ServiceAllocator, begin_create

Obj = dict[str, Any]
FRONT_PROXY = "front-proxy-client"
_LATER = "set when the object is copied into a cluster"


def bootstrap(services: ServerContext, port: int) -> None:
    """Creates the objects that do not exist yet."""
    now = format_time(services.now())
    for key, prepared in _prepared(port):
        metadata = prepared["metadata"]
        namespace = metadata.get("namespace", "")
        if services.store.get(key, namespace, metadata["name"]) is not None:
            continue
        made = {**prepared, "metadata": copy.deepcopy(metadata)}
        made["metadata"] |= {"uid": services.uid(), "creationTimestamp": now}
        for entry in made["metadata"].get("managedFields") or ():
            entry["time"] = now
        storage.put(services.store, key, namespace, metadata["name"], made)


def publish_authentication(services: ServerContext, client_ca: bytes, front_proxy_ca: bytes) -> None:
    """Tells aggregated API servers, in a ConfigMap, whose identities to trust."""
    data = {
        "client-ca-file": client_ca.decode(),
        "requestheader-allowed-names": f'["{FRONT_PROXY}"]',
        "requestheader-client-ca-file": front_proxy_ca.decode(),
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-username-headers": '["X-Remote-User"]',
    }
    namespace, name, now = "kube-system", "extension-apiserver-authentication", format_time(services.now())
    item = services.store.get("configmaps", namespace, name)
    old = represent.stored(item.raw) if item is not None else None
    if old is not None and old.get("data") == data:
        return
    served = services.resources.get("", "v1", "configmaps")
    assert served is not None
    metadata = {"name": name, "namespace": namespace, "uid": services.uid(), "creationTimestamp": now}
    new = {**(old or {}), "metadata": dict(old["metadata"]) if old is not None else metadata, "data": data}
    track(served, old, new, manager="kube-apiserver", now=now)
    storage.put(services.store, "configmaps", namespace, name, new)


@functools.lru_cache(1)
def _prepared(port: int) -> list[tuple[str, Obj]]:
    """All objects as they are stored, with their storage keys."""
    table = ResourceTable()
    return [_prepare(table, entry) for entry in facts.bootstrap(port)]


def _prepare(table: ResourceTable, entry: facts.BootstrapObject) -> tuple[str, Obj]:
    given = entry.object
    served = table.by_kind(given["apiVersion"], given["kind"])
    assert served is not None, given["kind"]
    made = served.decode(given, None)
    served.strategy.default(made)
    track(served, None, made, manager=entry.manager, now=_LATER)
    metadata = made["metadata"]
    metadata["uid"] = metadata["creationTimestamp"] = ""
    if served.key == "services":
        begin_create(made, ServiceAllocator())
    kept = made.get("status")
    served.strategy.prepare_create(made)
    if given.get("status"):
        made["status"] = kept
    if entry.status:
        made["status"] = entry.status
        before = copy.deepcopy(made)
        before.pop("status")
        track(served, before, made, manager=entry.status_manager, now=_LATER, subresource="status")
    return served.key, made
