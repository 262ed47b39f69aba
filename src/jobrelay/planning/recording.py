"""Traces from a living relay: what the Jobs on a management cluster say about their creation, start and end."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from jobrelay.apimachinery.times import format_time
from jobrelay.kube import Object
from jobrelay.planning.fleet import GPU
from jobrelay.relay.names import CLUSTER_SELECTOR, CLUSTERS, PREFERRED
from jobrelay.relay.worker_assignment import assignment_of
from jobrelay.workloads.job import JobAdapter

_adapter = JobAdapter()


def record_jobs(jobs: Iterable[Object]) -> tuple[list[dict[str, Any]], int]:
    """The lines of a trace for delegated Jobs that have ended, in the order of their creation; how many have not."""
    delegated = [job for job in jobs if _adapter.read(job).managed_by in _adapter.managers]
    rows = [row for job in delegated if (row := _row(job)) is not None]
    return sorted(rows, key=lambda row: (row["submit"], row["namespace"], row["name"])), len(delegated) - len(rows)


def _row(job: Object) -> dict[str, Any] | None:
    """One line; None for a Job that did not run to its end."""
    found, (pods,) = _adapter.read(job), _adapter.demand(job).pod_sets
    created = job.metadata.creation_timestamp
    if found.end is None or found.end.at is None or found.started is None or not created or not pods.count:
        return None
    completions = job.decode()["spec"].get("completions") or pods.count
    lasted, to = (found.end.at - found.started).total_seconds(), assignment_of(job)
    annotations = job.metadata.annotations
    return {
        "submit": created,
        "duration": f"{max(lasted, 0.0) / math.ceil(completions / pods.count):g}",
        "namespace": job.namespace,
        "name": job.name,
        "cpu": _amount(pods.requests.get("cpu")),
        "memory": _amount(pods.requests.get("memory")),
        "gpu": _amount(pods.requests.get(GPU)),
        "pods": pods.count,
        "completions": completions,
        "clusters": annotations.get(CLUSTERS, ""),
        "preferred": annotations.get(PREFERRED, ""),
        "selector": annotations.get(CLUSTER_SELECTOR, ""),
        "worker": to.cluster if to is not None else "",
        "started": format_time(found.started),
        "ended": format_time(found.end.at),
    }


def _amount(number: Fraction | None) -> str:
    """A quantity, in thousandths where it is not whole."""
    if number is None:
        return "0"
    return str(number) if number.denominator == 1 else f"{math.ceil(number * 1000)}m"
