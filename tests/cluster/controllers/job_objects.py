"""Jobs and pods in few words, for tests of the Job controller's decisions."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from typing import Any

import msgspec

from jobrelay.cluster.controllers.job import BatchJobStatus, Job, Pod, SyncState
from jobrelay.cluster.controllers.job.decision import JobDecision, decide
from jobrelay.cluster.controllers.job.manage import PodPlan
from jobrelay.cluster.controllers.job.tracking import PlanOutcome, UncountedUpdate, list_uncounted
from jobrelay.cluster.controllers.job.views import TRACKING_FINALIZER

NOW = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
INDEX = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"
_OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "job", "controller": True}


def ago(seconds: float) -> str:
    return (NOW - dt.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def job(status: dict[str, Any] | None = None, *, deleting: bool = False, **spec: Any) -> Job:
    """A Job that has started; `spec` in the API's own names."""
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"restartPolicy": "Never", "containers": [{"name": "c"}]}}
    metadata = {"name": "j", "namespace": "ns", "uid": "job", "resourceVersion": "1"}
    body = {
        "metadata": metadata | ({"deletionTimestamp": ago(0)} if deleting else {}),
        "spec": {"template": template, "selector": {"matchLabels": {"app": "x"}}, "completions": 1, **spec},
        "status": {"startTime": ago(60), **(status or {})},
    }
    return msgspec.json.decode(json.dumps(body), type=Job)


def pod(
    name: str,
    phase: str = "Running",
    *,
    index: int | None = None,
    failures: int | None = None,
    ready: bool = False,
    code: int | None = None,
    finished: float = 0,
    deleting: bool = False,
    tracked: bool = True,
    owned: bool = True,
    labels: dict[str, str] | None = None,
    node: str = "n",
    age: float = 30,
    restarts: int = 0,
    conditions: tuple[str, ...] = (),
) -> Pod:
    """A pod of the Job; its uid is its name, `finished` and `age` are seconds ago."""
    ended = phase in ("Succeeded", "Failed")
    code = code if code is not None else int(phase == "Failed")
    state = {"terminated": {"exitCode": code, "finishedAt": ago(finished)}} if ended else {"running": {}}
    annotations = {INDEX: str(index)} if index is not None else {}
    metadata = {
        "name": name, "namespace": "ns", "uid": name, "labels": {"app": "x"} if labels is None else labels,
        "annotations": annotations | ({FAILURES: str(failures)} if failures is not None else {}),
        "finalizers": [TRACKING_FINALIZER] if tracked else [], "ownerReferences": [_OWNER] if owned else [],
        "creationTimestamp": ago(age),
        **({"deletionTimestamp": ago(0), "deletionGracePeriodSeconds": 0} if deleting else {}),
    }  # fmt: skip
    shown = [{"type": one, "status": "True", "lastTransitionTime": ago(finished)} for one in conditions]
    if ready:
        shown.append({"type": "Ready", "status": "True", "lastTransitionTime": ago(age)})
    status = {
        "phase": phase, "conditions": shown,
        "containerStatuses": [{"name": "c", "restartCount": restarts, "state": state}],
    }  # fmt: skip
    body = {"metadata": metadata, "spec": {"nodeName": node}, "status": status}
    return msgspec.json.decode(json.dumps(body), type=Pod)


def decision(of: Job, *pods: Pod, state: SyncState | None = None) -> JobDecision:
    return decide(of, pods, state or SyncState(), NOW)


def creates(made: JobDecision) -> list[dict[str, Any]]:
    """The pods that a decision creates."""
    return list(made.plan.bodies(made.snapshot))


def outcome(plan: PodPlan) -> PlanOutcome:
    """The outcome of a plan when every request succeeds."""
    return PlanOutcome(len(plan.indexes), frozenset(pod.uid for pod in plan.deletes))


def first_write(made: JobDecision) -> UncountedUpdate:
    """The first status write if every request succeeds; it changes nothing while the Job is on hold."""
    update = list_uncounted(made.snapshot, made.plan, outcome(made.plan))
    return replace(update, changed=False, removals=()) if made.on_hold else update


def summary(made: JobDecision) -> dict[str, Any]:
    """What a decision leads to; empty parts are left out."""
    update = first_write(made)
    status = update.status if update.changed else None
    answer: dict[str, Any] = {
        "create": [one["metadata"].get("annotations", {}).get(INDEX, "pod") for one in creates(made)],
        "delete": [one.name for one in made.plan.deletes],
        "adopt": [one.name for one in made.claims.adopted],
        "release": [one.name for one in made.claims.released],
        "count": [one.name for one in update.removals],
        "again": made.requeue_after,
        "conditions": [f"{one.type}/{one.reason}" for one in status.conditions] if status else [],
        "events": [event.reason for event in update.events],
    }
    return {key: value for key, value in answer.items() if value}


def status(made: JobDecision) -> BatchJobStatus:
    update = first_write(made)
    assert update.changed
    return update.status
