"""The runs of a workload as users see them: worker, from, to, and why it moved. They are read from its assignment."""

from __future__ import annotations

from typing import Any

from jobrelay.relay.worker_assignment import WorkerAssignment


def run_history(to: WorkerAssignment | None) -> list[dict[str, Any]]:
    """The runs that an assignment records, the latest first: the present one, earlier ones, and those that may still
    exist somewhere."""
    if to is None:
        return []
    runs: dict[int, dict[str, Any]] = {}
    if to.previous and not to.waiting:
        runs[to.epoch - 1] = {"cluster": to.previous, "run": to.epoch - 1}
    for past in to.earlier:
        told = {"since": past.since, "until": past.until, "why": past.why}
        runs[past.epoch] = {"cluster": past.cluster, "run": past.epoch, **{k: v for k, v in told.items() if v}}
    for run in to.held:
        runs[run.epoch] = runs.get(run.epoch, {"cluster": run.cluster, "run": run.epoch}) | {"mayExist": True}
    if not to.waiting:
        runs[to.epoch] = {"cluster": to.cluster, "run": to.epoch, "since": to.since, "present": True}
    return [run for _, run in sorted(runs.items(), reverse=True)]


def past_run_text(run: dict[str, Any]) -> str:
    """`run 1 on west from 2026-01-01T12:00:00Z to 2026-01-01T12:30:00Z: west is draining`."""
    times = f" from {run['since']} to {run['until']}" if run.get("since") and run.get("until") else ""
    why = f": {run['why']}" if run.get("why") else ""
    may = " (it may still exist)" if run.get("mayExist") else ""
    return f"run {run['run']} on {run['cluster']}{times}{may}{why}"
