"""Workloads of any kind that can be delegated, as tables show them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from jobrelay.kinds.tables.ages import since
from jobrelay.kube import Object
from jobrelay.relay.worker_assignment import assignment_of
from jobrelay.sdk.workloads import workload_status
from jobrelay.workloads import Adapter

__all__ = ["workload_row"]


def workload_row(adapter: Adapter, obj: Object, now: datetime) -> dict[str, Any]:
    """One workload, as the management cluster has it."""
    to = assignment_of(obj)
    return {
        "namespace": obj.namespace,
        "kind": adapter.resource.kind,
        "name": obj.name,
        "cluster": to.cluster if to is not None else None,
        "run": to.epoch if to is not None else None,
        "status": workload_status(adapter.read(obj)),
        "age": since(obj.metadata.creation_timestamp, now),
    }
