"""What a fresh cluster holds before anyone asks: namespaces and the system's own objects.

Written once, straight into the store: these objects are facts, not requests.
"""

from __future__ import annotations

from typing import Any

from jobrelay.cluster.apiserver.resources import Served
from jobrelay.cluster.apiserver.services import Services
from jobrelay.cluster.apiserver.writer import stored_json
from jobrelay.kinds.times import format_time

Obj = dict[str, Any]


def bootstrap(services: Services, authority: bytes) -> None:
    """Creates what is missing; an existing object is left as it is."""
    for obj in _namespaces():
        ensure(services, "v1", "Namespace", obj)


def ensure(services: Services, api_version: str, kind: str, obj: Obj) -> None:
    served = services.resources.by_kind(api_version, kind)
    assert served is not None, kind
    metadata = obj["metadata"]
    namespace = metadata.get("namespace", "")
    if services.store.get(served.key, namespace, metadata["name"]) is None:
        services.store.put(served.key, namespace, metadata["name"], _complete(services, served, obj))


def _complete(services: Services, served: Served, obj: Obj) -> bytes:
    made = served.decode(obj, None)
    served.strategy.default(made)
    made["metadata"] |= {
        "uid": services.uid(),
        "creationTimestamp": format_time(services.now()),
        "resourceVersion": str(services.store.next_version()),
    }
    return stored_json(made)


def _namespaces() -> list[Obj]:
    return [
        {
            "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        }
        for name in ("default", "kube-system", "kube-public", "kube-node-lease")
    ]
