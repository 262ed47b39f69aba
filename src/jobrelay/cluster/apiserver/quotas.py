"""The status of resource quotas: admission charges it, and the quota controller puts it right."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.times import format_time
from jobrelay.cluster.apiserver import ownership, storage
from jobrelay.cluster.apiserver.context import ServerContext

KEY: Final = "resourcequotas"


def write_status(server: ServerContext, quota: dict[str, Any], status: dict[str, Any], manager: str) -> None:
    """Stores a quota with a new status."""
    served = server.resources.get("", "v1", KEY)
    assert served is not None
    old = {"kind": served.kind, "apiVersion": served.api_version, **quota}
    new = {**old, "metadata": dict(quota["metadata"]), "status": status}
    ownership.track(served, old, new, manager=manager, now=format_time(server.now()), subresource="status")
    storage.put(server.store, KEY, new["metadata"]["namespace"], new["metadata"]["name"], new)
