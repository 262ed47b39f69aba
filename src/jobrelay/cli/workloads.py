"""Workloads of any kind that can be delegated, as tables show them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from jobrelay.kinds.tables.ages import since
from jobrelay.kube import Object
from jobrelay.relay.assignment import assignment_of
from jobrelay.sdk.workloads import workload_status
from jobrelay.workloads import Adapter

__all__ = ["workload_row"]


def workload_row(adapter: Adapter, obj: Object, now: datetime, sentence: str = "") -> dict[str, Any]:
    """One workload; `sentence` is the relay's explanation. `why` is empty if it runs on a worker or has finished."""
    facts, to = adapter.read(obj), assignment_of(obj)
    word = workload_status(facts)
    return {
        "namespace": obj.namespace,
        "kind": adapter.resource.kind,
        "name": obj.name,
        "cluster": to.cluster if to is not None else None,
        "run": to.epoch if to is not None else None,
        "status": word,
        "age": since(obj.metadata.creation_timestamp, now),
        "why": "" if facts.end is not None or (word == "Running" and to is not None) else sentence,
        "sentence": sentence,
    }
