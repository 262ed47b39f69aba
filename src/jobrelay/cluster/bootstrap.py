"""What a fresh cluster holds before anyone asks: namespaces, policy, priorities, the API server's own service.

The objects go through the same steps as a client's, but only once per process: further clusters get the same objects with
uids and times of their own, so a fleet starts fast.
"""

from __future__ import annotations

import copy
import functools
from typing import Any

from jobrelay.apimachinery.times import format_time
from jobrelay.cluster.apiserver.ownership import track
from jobrelay.cluster.apiserver.resources import ResourceTable
from jobrelay.cluster.apiserver.services import Services
from jobrelay.cluster.apiserver.writer import stored_json
from jobrelay.kinds import bootstrap as facts
from jobrelay.kinds.core.serviceaddresses import Pool, begin_create

Obj = dict[str, Any]
_LATER = "set when a cluster takes the object"


def bootstrap(services: Services, port: int) -> None:
    """Creates what is missing; an object that is there is left as it is."""
    now = format_time(services.now())
    for key, prepared in _prepared(port):
        metadata = prepared["metadata"]
        namespace = metadata.get("namespace", "")
        if services.store.get(key, namespace, metadata["name"]) is not None:
            continue
        made = {**prepared, "metadata": copy.deepcopy(metadata)}
        made["metadata"] |= {
            "uid": services.uid(),
            "creationTimestamp": now,
            "resourceVersion": str(services.store.next_version()),
        }
        for entry in made["metadata"].get("managedFields") or ():
            entry["time"] = now
        services.store.put(key, namespace, metadata["name"], stored_json(made))


@functools.lru_cache(1)
def _prepared(port: int) -> list[tuple[str, Obj]]:
    """Every object as it would be stored, with its storage key."""
    table = ResourceTable()
    return [_prepare(table, entry) for entry in facts.bootstrap(port)]


def _prepare(table: ResourceTable, entry: facts.Bootstrap) -> tuple[str, Obj]:
    given = entry.object
    served = table.by_kind(given["apiVersion"], given["kind"])
    assert served is not None, given["kind"]
    made = served.decode(given, None)
    served.strategy.default(made)
    track(served, None, made, manager=entry.manager, now=_LATER)
    metadata = made["metadata"]
    metadata["uid"] = metadata["creationTimestamp"] = ""
    if served.key == "services":
        begin_create(made, Pool())
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
